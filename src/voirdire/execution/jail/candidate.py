"""The process that holds a candidate: loads its code, then answers calls; it knows neither tests nor results.

What it sends is the candidate's word and nothing more. With `proof: shared` it runs the tests as well, and the number
that stands for its credit waits in the channel until they have ended.
"""

import builtins
import marshal
import os
import sys
import types
from collections.abc import Callable
from typing import Any, NoReturn

from voirdire.execution.jail import frames, plain
from voirdire.execution.jail.tally import CANDIDATE_FILE, Tally, Tests, described, one_line, run_tests

CHANNEL = 3

LOAD, CALL, NONCE = b"L", b"C", b"N"
RETURNED, RAISED, NOT_PLAIN, EXITED = b"R", b"X", b"P", b"Q"
UNPARSABLE, LOAD_RAISED, NO_ENTRY, TESTS_ENDED = b"U", b"E", b"M", b"D"

MOST_ORDER = 256_000_000


class _LoadFailed(Exception):
    def __init__(self, kind: bytes, words: list[str]) -> None:
        super().__init__(kind)
        self.kind = kind
        self.words = words


def serve(preludes: dict[str, types.CodeType]) -> NoReturn:
    """Read the order, load the candidate, do what is asked until the end; never returns."""
    try:
        _, _, body = frames.receive(CHANNEL, most=MOST_ORDER)
        order = marshal.loads(body)
        _MODES[order["mode"]](order, preludes)
    except _LoadFailed as failure:
        _tell(failure.kind, 0, *failure.words)
    except (SystemExit, KeyboardInterrupt) as error:
        _tell(EXITED, 0, described(error))
    except frames.Ended:
        pass
    finally:
        os._exit(0)


def _answer_calls(order: dict[str, Any], preludes: dict[str, types.CodeType]) -> None:
    module = _loaded(order, preludes, name=order["module"])
    entry = _entry(module, order["entry"])
    while True:
        _, number, body = frames.receive(CHANNEL, most=MOST_ORDER)
        _answer(entry, number, body)


def _answer(entry: Callable[..., object], number: int, body: bytes) -> None:
    given: Any = plain.decode_trusted(body)
    arguments, named = given
    try:
        value = entry(*arguments, **named)
        result = plain.encode(value)
    except plain.NotPlain as error:
        return _tell(NOT_PLAIN, number, str(error))
    except Exception as error:
        return _tell(RAISED, number, *_raised(error))
    changed = _changed(given, body)
    return frames.send(CHANNEL, RETURNED, number, len(result).to_bytes(4, "little") + result + changed)


def _changed(given: Any, body: bytes) -> bytes:
    """Return the arguments as they are after the call, or nothing where they are as before or cannot cross."""
    arguments, named = given
    if not named and all(type(value) in _UNCHANGING for value in arguments):
        return b""
    try:
        after = plain.encode_trusted(given)
    except Exception:
        return b""
    return plain.encode(given) if after != body else b""


_UNCHANGING = frozenset({str, int, float, bool, type(None)})


def _run_program(order: dict[str, Any], preludes: dict[str, types.CodeType]) -> None:
    """Run the candidate as a program with the standard streams it was given."""
    code = _compiled(order["code"])
    failure: list[str] | None = None
    try:
        _run(code, order, preludes, name="__main__")
    except SystemExit as error:
        if error.code not in (None, 0):
            failure = _raised(error)
    except _LoadFailed as failed:
        failure = failed.words
    sys.stdout.flush()
    if failure is None:
        _tell(TESTS_ENDED, 0)
    else:
        _tell(LOAD_RAISED, 0, *failure)


def _run_command(order: dict[str, Any], preludes: dict[str, types.CodeType]) -> NoReturn:  # noqa: ARG001
    """Write the candidate's files and become the command that runs them."""
    for name, text in order["files"].items():
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
    os.close(CHANNEL)
    os.execve(order["command"][0], order["command"], {**os.environ, **order["environment"]})


def _run_shared(order: dict[str, Any], preludes: dict[str, types.CodeType]) -> None:
    """Run tests and candidate in one interpreter; the nonce is read when the tests have ended."""
    module = _loaded(order, preludes, name=order["module"])
    entry = _entry(module, order["entry"])
    tests = Tests(
        code=marshal.loads(order["tests"]),
        kind=order["kind"],
        names=frozenset(),
        lines=tuple(order["lines"]),
    )
    tally = Tally()
    module.__dict__.setdefault("candidate", entry)
    run_tests(tests, module.__dict__, entry, tally)
    _, _, nonce = frames.receive(CHANNEL, most=1000)
    counts = (tally.passed, tally.run, tally.constant)
    _tell(
        TESTS_ENDED, 0, nonce.decode(), *map(str, counts), tally.cause, tally.first, str(int(tally.crashed))
    )


def _parse(order: dict[str, Any], preludes: dict[str, types.CodeType]) -> None:  # noqa: ARG001
    _compiled(order["code"])
    _tell(TESTS_ENDED, 0)


_MODES: dict[str, Callable[[dict[str, Any], dict[str, types.CodeType]], None]] = {
    "parse": _parse,
    "calls": _answer_calls,
    "shared": _run_shared,
    "program": _run_program,
    "command": _run_command,
}


def _loaded(order: dict[str, Any], preludes: dict[str, types.CodeType], *, name: str) -> types.ModuleType:
    return _run(_compiled(order["code"]), order, preludes, name=name)


def _compiled(text: str) -> types.CodeType:
    try:
        return compile(text, CANDIDATE_FILE, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise _LoadFailed(UNPARSABLE, [one_line(described(error))]) from None


def _run(
    code: types.CodeType, order: dict[str, Any], preludes: dict[str, types.CodeType], *, name: str
) -> types.ModuleType:
    module = types.ModuleType(name)
    sys.modules[name] = module
    prelude = order["prelude"]
    try:
        if prelude:
            exec(preludes.get(prelude) or compile(prelude, "<prelude>", "exec"), module.__dict__)
        exec(code, module.__dict__)
    except Exception as error:
        raise _LoadFailed(LOAD_RAISED, _raised(error)) from None
    return module


def _entry(module: types.ModuleType, path: str) -> Callable[..., Any]:
    """Return what the tests call: a function, or the method of a fresh instance for a name such as `Solution.sum`."""
    if not path:
        return lambda: None
    first, *rest = path.split(".")
    found = module.__dict__.get(first)
    if not rest:
        return _callable(found, module)
    if not isinstance(found, type) or not hasattr(found, rest[0]):
        raise _no_entry(module)
    kind: Callable[..., Any] = found
    return lambda *arguments, **named: getattr(kind(), rest[0])(*arguments, **named)


def _callable(found: object, module: types.ModuleType) -> Callable[..., Any]:
    if not callable(found):
        raise _no_entry(module)
    return found


def _no_entry(module: types.ModuleType) -> _LoadFailed:
    defined = [
        name
        for name, value in module.__dict__.items()
        if isinstance(value, types.FunctionType) and value.__code__.co_filename == CANDIDATE_FILE
    ]
    return _LoadFailed(NO_ENTRY, [one_line(name, most=100) for name in defined[:100]])


def _raised(error: BaseException) -> list[str]:
    """Return the nearest of Python's own exception types, whether memory ran out, and one line of text."""
    base = next((kind for kind in type(error).__mro__ if kind.__module__ == "builtins"), Exception)
    known = base.__name__ if getattr(builtins, base.__name__, None) is base else "Exception"
    return [known, one_line(described(error))]


def _tell(kind: bytes, number: int, *words: str) -> None:
    """Send words; none of them can hold the character between them, as each is one printable line."""
    frames.send(CHANNEL, kind, number, "\0".join(words).encode(errors="replace"))
