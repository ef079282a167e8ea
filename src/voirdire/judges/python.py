"""A Python function as a judge: `python:package.module:function` or `path/to/file.py:function`.

The function gets one dict `{"messages", "parts", "questions", "reader", "repeat"}` (and "sampling" where the judge file
has one); "reader" is the name and the options of the reader of a text answer.
Or it takes parts by name: a function whose required parameters are all names of parts that the prompt shows gets
these texts (`def judge(task, response)`); it may also ask for any key of the dict by name. It may be `async`.

It returns text, which the judge's reader reads; or values: one number or option where one question is asked, or a
dict by question id of numbers, options or `{"probabilities": {...}}`. One number for several questions ends the run,
unless the function has answered them otherwise before. None is an answer that is missing. An exception
is a call that failed: missing now, asked again in the next run. A TryAgain, QuotaError or JudgeError that it raises
itself is obeyed. A function that is not async runs in a thread of its own, which the time limit does not stop but
abandons.

Its identity is the function's name and the SHA-256 of the file that defines it and of all files beside it that this
one imports, directly or not. Installed packages, data files and what is loaded in another way are not seen, so a judge
that depends on them names its state in the option `version`. Option `deterministic`: it promises the same answer to
the same request. What the function prints goes to standard error.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import inspect
import json
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

from voirdire.errors import JudgeError, UsageError
from voirdire.judges._plain import PlainBodies, check_options, folder_of, source_digests, switch, typed_answer
from voirdire.judges._prompted import Backend, Rendered
from voirdire.model import Answer, Asking, JudgeSpec, Request

OPTIONS = frozenset({"deterministic", "version"})

JudgeFunction = Callable[..., Any]

NOT_SHOWN = "the judge needs a part"
"""How the reason begins where a function wants a part that is not shown, and is not called."""

USUAL_PARTS = frozenset(
    {
        "task", "response", "log", "outcome", "rule", "reference", "rubric", "answer", "first", "second",
        "response_a", "response_b", "order",
    }
)  # fmt: skip
"""Names that mean a part even where the prompt at hand shows no part (a question about the judge's own rule)."""


def open_backend(spec: JudgeSpec) -> Backend:
    """Import the function; UsageError where there is none to call."""
    check_options(spec, OPTIONS)
    where, separator, name = spec.model.rpartition(":")
    if not separator or not where or not name:
        raise UsageError(
            f"'{spec.model}' does not name a function",
            hint="write path/to/file.py:function or python:package.module:function",
        )
    with _CONTAINED:
        module = (
            _from_file(folder_of(spec) / where)
            if where.endswith(".py")
            else _from_package(where, folder_of(spec))
        )
    function = _function(module, name, spec.model)
    return PythonBackend(
        function=function,
        settings={
            "backend": "python",
            "function": f"{Path(where).name if where.endswith('.py') else where}:{name}",
            "source_sha256": _source_digests(function, folder_of(spec)),
            "sampling": dict(spec.sampling),
            "options": dict(spec.options),
        },
        deterministic=switch(spec, "deterministic"),
        bodies=PlainBodies(sampling=dict(spec.sampling)),
    )


@dataclass(frozen=True)
class PythonBackend:
    """Calls the function, once per request."""

    function: JudgeFunction
    settings: Mapping[str, object]
    deterministic: bool
    bodies: PlainBodies
    fitting: set[tuple[str, ...]] = field(default_factory=set, compare=False)
    """Questions, by their ids, to which the function was seen to return something else than one bare value."""

    def prepare(self, item_id: str, messages: Rendered, parts: Mapping[str, str], asking: Asking) -> Request:
        """Return the request; its body is what the function gets, without the repeat."""
        return self.bodies.request(item_id, messages, parts, asking)

    async def send(self, request: Request, *, repeat: int) -> Answer:
        """Call the function and make an Answer of what it returns.

        Raises UsageError where the first thing that it returns to several questions is one bare value.
        """
        call = {**json.loads(request.body), "repeat": repeat}
        try:
            arguments = _arguments(self.function, call)
        except _NotShownError as not_shown:
            return Answer(missing_because=str(not_shown))
        try:
            with _CONTAINED:
                returned = await _called(self.function, arguments)
        except JudgeError:
            raise
        except (Exception, SystemExit) as error:
            return Answer(missing_because=_raised(error), failed=True)
        asked = tuple(question["id"] for question in call["questions"])
        if len(asked) > 1 and isinstance(_plain(returned), int | float):
            if asked not in self.fitting:
                raise self._one_value_for(asked)
        elif returned is not None:
            self.fitting.add(asked)
        return _answer(returned, call["questions"], text_is_read=call["reader"][0] != "typed")

    def _one_value_for(self, asked: Sequence[str]) -> UsageError:
        by_id = ", ".join(f'"{name}": ...' for name in asked)
        return UsageError(
            f"{self.settings['function']}: returned one value, but is asked {len(asked)} questions: {', '.join(asked)}",
            hint=f"return {{{by_id}}}",
        )

    async def close(self) -> None:
        """Hold nothing."""


# --- finding the function ---------------------------------------------------------------------------


def _from_file(path: Path) -> ModuleType:
    """Import one file under a name of its own; its folder is searched for what it imports."""
    if not path.is_file():
        raise UsageError(
            f"there is no file {path}", hint="give the path to a Python file, then a colon and a function"
        )
    path = path.resolve()
    name = f"voirdire_judge_{sha256(str(path).encode()).hexdigest()[:12]}_{path.stem}"
    _search(path.parent)
    description = importlib.util.spec_from_file_location(name, path)
    if description is None or description.loader is None:
        raise UsageError(f"cannot import {path}", hint="give a Python file")
    module = importlib.util.module_from_spec(description)
    sys.modules[name] = module
    try:
        description.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise _import_error(str(path), error) from error
    return module


def _from_package(name: str, folder: Path) -> ModuleType:
    _search(folder)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name + ".").startswith(error.name + "."):
            raise _import_error(name, error) from error
        raise UsageError(
            f"there is no module '{error.name}'",
            hint="install the package, or run where it can be imported from",
        ) from None
    except (Exception, SystemExit) as error:
        raise _import_error(name, error) from error


def _search(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _import_error(what: str, error: BaseException) -> UsageError:
    return UsageError(
        f"cannot import {what}: {type(error).__name__}: {error}",
        hint="make the file importable on its own first",
    )


def _function(module: ModuleType, name: str, address: str) -> JudgeFunction:
    found: Any = module
    for step in name.split("."):
        found = getattr(found, step, None)
    if not callable(found):
        callables = sorted(
            key
            for key, value in vars(module).items()
            if inspect.isfunction(value) and not key.startswith("_") and value.__module__ == module.__name__
        )
        raise UsageError(
            f"'{address}': there is no function '{name}'",
            hint=f"functions there: {', '.join(callables)}" if callables else "define it in that file",
        )
    return found  # type: ignore[no-any-return]  # any callable will do


def _source_digests(function: JudgeFunction, folder: Path) -> dict[str, str] | None:
    """Return the SHA-256 of the file that defines the function and of what it imports; None without a source file."""
    plain = inspect.unwrap(function)
    if not (inspect.isroutine(plain) or inspect.isclass(plain)):
        plain = type(plain)
    try:
        source = inspect.getsourcefile(plain)
    except TypeError:
        return None
    return source_digests(Path(source), [folder]) if source and Path(source).is_file() else None


# --- calling it -------------------------------------------------------------------------------------


class _Contained:
    """While any judge's function runs, what it prints goes to standard error, and `os._exit` does not end us.

    Counted, since calls overlap. A process that the function forks may end itself as it likes.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._stdout: TextIO | None = None
        self._exit = os._exit
        self._process = 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._stdout, self._exit, self._process = sys.stdout, os._exit, os.getpid()
                sys.stdout, os._exit = sys.stderr, self._refuse  # type: ignore[assignment]
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside and self._stdout is not None:
                sys.stdout, os._exit = self._stdout, self._exit

    def _refuse(self, status: int) -> None:
        if os.getpid() != self._process:
            self._exit(status)
        raise SystemExit(f"os._exit({status})")


_CONTAINED = _Contained()


@dataclass(frozen=True)
class _Arguments:
    positional: tuple[object, ...]
    by_name: Mapping[str, object]


class _NotShownError(Exception):
    """The function wants a part that this prompt does not show."""


def _arguments(function: JudgeFunction, call: Mapping[str, Any]) -> _Arguments:
    """Return the arguments: the whole call, or the parts that the function names."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return _Arguments((call,), {})
    offered: dict[str, object] = {**call, **call["parts"]}
    required = [each for each in parameters if each.default is each.empty and each.kind not in _VARIABLE]
    if _wants_whole_call(required, offered):
        return _Arguments((call,), {})
    named = [each for each in parameters if each.kind not in _VARIABLE]
    for each in required:
        if each.name not in offered or each.kind is each.POSITIONAL_ONLY:
            raise _NotShownError(f"{NOT_SHOWN} '{each.name}' that this question does not show")
    chosen = {each.name: offered[each.name] for each in named if each.name in offered}
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        chosen = {**call["parts"], **chosen}
    return _Arguments((), chosen)


_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _wants_whole_call(required: Sequence[inspect.Parameter], offered: Mapping[str, object]) -> bool:
    """Whether the only required parameter is the call itself: it is no part, here or usually, and no text."""
    if len(required) != 1 or required[0].kind is inspect.Parameter.KEYWORD_ONLY:
        return False
    only = required[0]
    is_part = only.name in offered or only.name in USUAL_PARTS or only.annotation in (str, "str")
    return only.kind is only.POSITIONAL_ONLY or not is_part


async def _called(function: JudgeFunction, arguments: _Arguments) -> object:
    """Return what the function returns, awaited where it is async."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
        return await function(*arguments.positional, **arguments.by_name)
    returned = await _in_a_thread(lambda: function(*arguments.positional, **arguments.by_name))
    return await returned if inspect.isawaitable(returned) else returned


async def _in_a_thread(work: Callable[[], object]) -> object:
    """Run `work` in a daemon thread: one that hangs neither holds up other calls nor the end of the program."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[object] = loop.create_future()

    def settle(value: object, error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(value)
        else:
            done.set_exception(error)

    def run() -> None:
        value: object = None
        error: BaseException | None = None
        try:
            value = work()
        except (Exception, SystemExit) as raised:
            error = RuntimeError("StopIteration") if isinstance(raised, StopIteration) else raised
        except BaseException as raised:
            error = RuntimeError(type(raised).__name__)
        try:
            loop.call_soon_threadsafe(settle, value, error)
        except RuntimeError:
            return  # nobody waits any more: the loop is closed

    threading.Thread(target=run, name="voirdire-judge", daemon=True).start()
    return await done


# --- what it returned -------------------------------------------------------------------------------


def _raised(error: BaseException) -> str:
    said = str(error).strip().partition("\n")[0]
    return f"judge raised {type(error).__name__}: {said}" if said else f"judge raised {type(error).__name__}"


def _answer(returned: object, questions: Sequence[Mapping[str, Any]], *, text_is_read: bool) -> Answer:
    """Return text as it is, values in the typed form, and anything else as missing.

    Where no reader of text was chosen, text that is no JSON is the option that it names.
    """
    if returned is None:
        return Answer(missing_because="judge returned None")
    if isinstance(returned, str) and (text_is_read or returned.lstrip().startswith("{")):
        return Answer(raw=returned)
    returned = _plain(returned)
    if isinstance(returned, Mapping):
        by_id = returned["answers"] if set(returned) == {"answers"} else returned
        return _typed(by_id, questions)
    if not isinstance(returned, bool | int | float | str):
        return Answer(missing_because=f"judge returned a {type(returned).__name__}")
    if len(questions) != 1:
        return Answer(missing_because=f"judge returned one value for {len(questions)} questions")
    return _typed({questions[0]["id"]: returned}, questions)


def _typed(by_id: object, questions: Sequence[Mapping[str, Any]]) -> Answer:
    if not isinstance(by_id, Mapping):
        return Answer(missing_because="judge returned answers that are not a table")
    kinds = {question["id"]: question["kind"] for question in questions}
    try:
        return typed_answer({str(key): _entry(value, kinds.get(key)) for key, value in by_id.items()})
    except (TypeError, ValueError, RecursionError) as error:
        return Answer(missing_because=f"judge returned what is not plain data: {error}")


_ENTRY_KEYS = frozenset(
    {"value", "probabilities", "items", "missing_because", "label_mass", "probability_source"}
)


def _entry(value: object, kind: str | None) -> object:
    """Return one answer in the typed form."""
    value = _plain(value)
    if value is None:
        return {"missing_because": "judge returned None"}
    if not isinstance(value, Mapping):
        return {"value": value}
    if kind == "checklist" and not _ENTRY_KEYS & set(value):
        return {"items": {str(key): _entry(each, None) for key, each in value.items()}}
    return {str(key): _all_plain(each) for key, each in value.items()}


def _all_plain(value: object) -> object:
    value = _plain(value)
    return (
        {str(key): _all_plain(each) for key, each in value.items()} if isinstance(value, Mapping) else value
    )


def _plain(value: object) -> object:
    """Return a number of another library (numpy, Decimal, Fraction) as one of Python's own."""
    if isinstance(value, bool | int | float | str | Mapping) or value is None:
        return value
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "shape", None) == ():
        return item()
    return float(value) if hasattr(value, "__float__") else value
