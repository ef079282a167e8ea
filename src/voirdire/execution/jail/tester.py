"""The process that holds the tests and no candidate code: runs them against a candidate behind a pipe.

What a candidate sends is read as plain data of known types; its exceptions come as Python's own. Tests that cannot be
split so run beside the candidate, and their result carries `proof: shared`.
"""

import array
import ast
import builtins
import contextlib
import json
import marshal
import os
import re
import resource
import secrets
import select
import signal
import socket
import sys
import time
import types
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NoReturn

from voirdire.execution.jail import candidate, frames, plain, process_table, zygote
from voirdire.execution.jail.counting import compile_tests
from voirdire.execution.jail.outputs import same_output
from voirdire.execution.jail.settings import Settings
from voirdire.execution.jail.tally import (
    FromCandidate,
    Tally,
    Tests,
    described,
    one_line,
    run_tests,
)

HELLO, TASK, SAMPLE, RESULT = b"H", b"T", b"S", b"R"
MOST_MESSAGE = 512_000_000
MOST_SIGNALS_OF_PARSER = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS)


_ROOM_FOR_ANSWERS = 1 << 30


class Gone(BaseException):
    """The candidate's process is gone, or has broken the protocol: no test can go on."""


class TestsTooLong(BaseException):
    """The tests themselves used more time than any test may."""

    __test__ = False


@dataclass(frozen=True)
class Case:
    """What a program reads and what it must write."""

    given: str
    expected: str


@dataclass(frozen=True)
class TaskOrder:
    """A task as the driver sends it. `kind`: `check`, `program`, `unittest`, `streams` or `command`."""

    id: str
    kind: str
    entry: str
    module: str
    prompt: str
    prelude: str
    tests: str
    cases: tuple[Case, ...]
    command: dict[str, Any] | None

    @cached_property
    def compiled(self) -> Tests:
        """The tests, compiled so that they count; raises SyntaxError and the like."""
        return compile_tests(self.tests, self.kind)

    @cached_property
    def marshalled(self) -> bytes:
        """The compiled tests for the candidate's side."""
        return marshal.dumps(self.compiled.code)

    @cached_property
    def trusted(self) -> dict[str, Any]:
        """What the task itself defines: its prelude and the definitions in its prompt."""
        namespace: dict[str, Any] = {"__name__": "tests"}
        exec(compile(self.prelude, "<prelude>", "exec"), namespace)
        exec(_definitions(self.prompt), namespace)
        return namespace

    @cached_property
    def cannot_split(self) -> str:
        """Why the tests must run beside the candidate; '' where nothing speaks for it before they run."""
        known = {self.entry, "candidate"}
        unknown = sorted(
            name
            for name in (self.compiled.names | _imported_from(self.module, self.tests, self.kind)) - known
            if name not in self.trusted and not hasattr(builtins, name)
        )
        return (
            f"the tests use {', '.join(unknown[:3])}, which only the candidate can define" if unknown else ""
        )


def _imported_from(module: str, tests: str, kind: str) -> set[str]:
    """Return the names that unittest files take from the candidate's module."""
    if kind != "unittest":
        return set()
    taken = [node for node in ast.walk(ast.parse(tests)) if isinstance(node, ast.ImportFrom)]
    return {alias.name for node in taken if node.module == module for alias in node.names}


def _definitions(text: str) -> Any:
    """Return the imports and definitions of a prompt, compiled; nothing where it is prose."""
    kept = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)
    try:
        tree = ast.parse(text)
        tree.body = [node for node in tree.body if isinstance(node, kept)]
        return compile(tree, "<prompt>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return compile("", "<prompt>", "exec")


@dataclass
class Outcome:
    """What is known after a sample: the harness's own words, never the candidate's."""

    status: str
    error: str = ""
    passed: int = 0
    run: int = 0
    constant: int = 0
    proof: str = "separate"
    defined: list[str] = field(default_factory=list)
    cpu: float = 0.0
    retry_shared: bool = False


class Proxy:
    """The entry point as the tests see it: a function whose body is on the other side of the pipe."""

    def __init__(self, channel: int, most: int) -> None:
        self._channel = channel
        self._most = most
        self._number = 0
        self.heard = False
        self.told: tuple[bytes, list[str]] | None = None
        self.gone = ""
        self.not_split = False

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Return what the candidate returned. Raises what it raised, or Gone."""
        if self.gone or self.told:
            raise Gone
        given = [list(arguments), named]
        try:
            body = plain.encode_trusted(given)
        except plain.NotPlain as error:
            self.gone, self.not_split = f"was given {error}", True
            raise Gone from None
        self._number += 1
        kind, answer = self._exchange(body)
        if kind == candidate.RETURNED:
            return self._returned(answer, given)
        if kind == candidate.RAISED:
            raise _rebuilt(_words(answer))
        if kind == candidate.NOT_PLAIN:
            raise TypeError(f"the candidate returned {' '.join(_words(answer))}")
        return self._ended(kind, answer)

    def _exchange(self, body: bytes) -> tuple[bytes, bytes]:
        with contextlib.suppress(frames.Ended):  # it may have told why before it ended
            frames.send(self._channel, candidate.CALL, self._number, body)
        try:
            kind, number, answer = frames.receive(self._channel, most=self._most)
        except frames.Ended:
            self.gone = "ended"
            raise Gone from None
        except frames.Broken as error:
            self.gone = f"sent {error}"
            raise Gone from None
        if number not in (self._number, 0):
            self.gone = "answered a question that was not asked"
            raise Gone
        self.heard = True
        return kind, answer

    def _returned(self, answer: bytes, given: list[Any]) -> Any:
        length = int.from_bytes(answer[:4], "little")
        result, changed = answer[4 : 4 + length], answer[4 + length :]
        try:
            if changed:
                plain.update(given, plain.decode(changed))
            return plain.decode(result)
        except plain.Malformed as error:
            self.gone = f"sent what is no value ({one_line(str(error))})"
            raise Gone from None

    def _ended(self, kind: bytes, answer: bytes) -> NoReturn:
        known = (candidate.UNPARSABLE, candidate.LOAD_RAISED, candidate.NO_ENTRY, candidate.EXITED)
        if kind in known:
            self.told = (kind, _words(answer))
        else:
            self.gone = "sent what is no answer"
        raise Gone


def _words(answer: bytes) -> list[str]:
    """Return what a candidate's process said, as printable lines."""
    return [one_line(word) for word in answer[:100_000].decode(errors="replace").split("\0")]


def _rebuilt(words: list[str]) -> Exception:
    """Return an exception of the type of Python's own that the candidate's was, or derived from."""
    kind = getattr(builtins, words[0], None)
    text = words[-1]
    error: Exception = FromCandidate(text)
    if isinstance(kind, type) and issubclass(kind, Exception):
        try:
            error = kind(text)
        except TypeError:
            error = FromCandidate(text)
    error.from_candidate = True  # type: ignore[attr-defined]
    error.shown_as = "in the candidate"  # type: ignore[attr-defined]
    return error


class Tester:
    """Serves the driver: takes tasks, then samples, one at a time."""

    def __init__(self, driver: frames.Ends, control: socket.socket, settings: Settings) -> None:
        self._driver = driver
        self._control = control
        self._settings = settings
        self._tasks: dict[str, TaskOrder] = {}
        self._broken: dict[str, str] = {}

    def serve(self) -> NoReturn:
        """Serve until the driver is gone."""
        signal.signal(signal.SIGXCPU, _too_long)
        room = process_table.own_memory()[0] + 2 * self._settings.memory + _ROOM_FOR_ANSWERS
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
        frames.send(self._driver.writes, HELLO, 0, b"")
        try:
            while True:
                kind, number, body = frames.receive(self._driver.reads, most=MOST_MESSAGE)
                data = json.loads(body)
                if kind == TASK:
                    self._learn(data)
                else:
                    frames.send(self._driver.writes, RESULT, number, json.dumps(self._answer(data)).encode())
        except frames.Ended:
            os._exit(0)

    def _learn(self, data: dict[str, Any]) -> None:
        cases = tuple(Case(given, expected) for given, expected in data.pop("cases"))
        task = TaskOrder(**data, cases=cases)
        self._tasks[task.id] = task
        if task.kind not in ("streams", "command"):
            self._broken[task.id] = _why_broken(task)

    def _answer(self, data: dict[str, Any]) -> dict[str, Any]:
        started = time.monotonic()
        task = self._tasks[data["task"]]
        broken = self._broken.get(task.id)
        if broken:
            outcome = Outcome("infrastructure", error=broken)
        else:
            outcome = self._outcome(task, data["code"], data["proof"])
        outcome.error = one_line(outcome.error)
        return {**vars(outcome), "nonce": data["nonce"], "wall": time.monotonic() - started}

    def _outcome(self, task: TaskOrder, code: str, proof: str | None) -> Outcome:
        if task.kind in ("streams", "command"):
            return self._run_cases(task, code)
        if proof == "shared" or (proof is None and task.cannot_split):
            return self._run_shared(task, code)
        outcome = self._run_separate(task, code)
        if outcome.retry_shared and proof is None:
            return self._run_shared(task, code)
        return outcome

    # --- tests here, candidate there ----------------------------------------------------------------

    def _run_separate(self, task: TaskOrder, code: str) -> Outcome:
        channel = self._start(zygote.START)
        proxy = Proxy(channel, plain.MOST_BYTES)
        tally = Tally()
        try:
            self._load(channel, task, code, mode="calls")
            self._run_tests(task, proxy, tally)
        except (Gone, frames.Ended):
            pass
        except TestsTooLong:
            proxy.gone = proxy.gone or "gave the tests more than they could look through in time"
        finally:
            os.close(channel)
        ending = self._end()
        outcome = _with_counts(_judged(proxy, tally, ending), tally)
        outcome.cpu = ending.cpu
        if proxy.gone == "ended" and not proxy.heard and ending.killed_by in MOST_SIGNALS_OF_PARSER:
            return self._explain_crash(task, code, outcome)
        return outcome

    def _run_tests(self, task: TaskOrder, proxy: Proxy, tally: Tally) -> None:
        call = _named(proxy, task.entry)
        bound = {name: call for name in (task.entry, "candidate") if name.isidentifier()}
        namespace = {**task.trusted, **bound}
        module = types.ModuleType(task.module)
        module.__dict__.update(bound)
        sys.modules[task.module] = module
        allowed = int(time.process_time() + 2 * self._settings.cpu) + 2
        resource.setrlimit(resource.RLIMIT_CPU, (allowed, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        try:
            run_tests(task.compiled, namespace, call, tally)
        except (SystemExit, KeyboardInterrupt) as error:
            tally.ended_early(error)

    def _explain_crash(self, task: TaskOrder, code: str, outcome: Outcome) -> Outcome:
        """Tell a crash of the parser from one of the program: parse it once more, and nothing else."""
        channel = self._start(zygote.START)
        try:
            self._load(channel, task, code, mode="parse")
            kind, _, _ = frames.receive(channel, most=10_000)
        except (frames.Ended, frames.Broken):
            kind = b""
        finally:
            os.close(channel)
        ending = self._end()
        outcome.cpu += ending.cpu
        if not kind:
            return replace(
                outcome, status="unparsable", error=f"the parser crashed (signal {ending.killed_by})"
            )
        return outcome

    # --- tests beside the candidate -----------------------------------------------------------------

    def _run_shared(self, task: TaskOrder, code: str) -> Outcome:
        channel = self._start(zygote.START)
        nonce = secrets.token_hex(16)
        kind, told = b"", list[str]()
        try:
            extra = {"tests": task.marshalled, "kind": task.kind, "lines": task.compiled.lines}
            self._load(channel, task, code, mode="shared", **extra)
            frames.send(channel, candidate.NONCE, 0, nonce.encode())
            kind, _, body = frames.receive(channel, most=1_000_000)
            told = _words(body)
        except (frames.Ended, frames.Broken):
            kind = b""
        finally:
            os.close(channel)
        ending = self._end()
        outcome = _judged_shared(kind, told, nonce, ending)
        outcome.cpu, outcome.proof = ending.cpu, "shared"
        return outcome

    # --- whole programs ------------------------------------------------------------------------------

    def _run_cases(self, task: TaskOrder, code: str) -> Outcome:
        outcome = Outcome("passed", proof="shared" if task.kind == "command" else "separate")
        for place, case in enumerate(task.cases, start=1):
            one = self._run_case(task, code, case)
            outcome.run += 1
            outcome.cpu += one.cpu
            outcome.passed += one.status == "passed"
            if one.status != "passed" and outcome.status == "passed":
                outcome.status = one.status
                outcome.error = one.error if task.kind == "command" else f"case {place}: {one.error}"
            if one.status in ("timeout", "memory", "unparsable"):
                break
        return outcome

    def _run_case(self, task: TaskOrder, code: str, case: Case) -> Outcome:
        nonce = secrets.token_hex(16) if task.kind == "command" else ""
        given = os.memfd_create("given")
        os.write(given, (nonce or case.given).encode())
        os.lseek(given, 0, os.SEEK_SET)
        reads, writes = zip(os.pipe(), os.pipe(), strict=True)
        kind = zygote.START + (zygote.COMMAND if task.command else b"")
        channel = self._start(kind, given, *writes)
        for fd in (given, *writes):
            os.close(fd)
        with contextlib.suppress(frames.Ended):
            self._load(channel, task, code, mode="command" if task.command else "program")
        output, errors, over = _read_both(reads, self._settings.output)
        for fd in reads:
            os.close(fd)
        told = _last_word(channel)
        os.close(channel)
        ending = self._end()
        one = _judged_command(ending, output, errors) if task.command else _judged_program(told, ending)
        one.cpu = ending.cpu
        if over:
            return replace(one, status="failed", error=f"wrote more than {self._settings.output:,} bytes")
        if one.status == "passed" and not _is_right(output, nonce, case):
            wrong = (
                "ended before its tests" if nonce else f"wrote {output[:100]!r}, not {case.expected[:100]!r}"
            )
            return replace(one, status="failed", error=wrong)
        return one

    # --- orders --------------------------------------------------------------------------------------

    def _start(self, order: bytes, *streams: int) -> int:
        """Have a candidate's process forked; return our end of its channel."""
        ours, theirs = socket.socketpair()
        fds = array.array("i", [theirs.fileno(), *streams])
        self._control.sendmsg([order], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        theirs.close()
        return ours.detach()

    def _load(self, channel: int, task: TaskOrder, code: str, *, mode: str, **extra: object) -> None:
        order = {
            "mode": mode,
            "code": code,
            "prelude": task.prelude,
            "entry": task.entry,
            "module": task.module,
            **extra,
        }
        if mode == "command" and task.command:
            files = {name: text.replace(CODE, code) for name, text in task.command["files"].items()}
            order.update(
                files=files, command=task.command["command"], environment=task.command["environment"]
            )
        frames.send(channel, candidate.LOAD, 0, marshal.dumps(order))

    def _end(self) -> zygote.Ending:
        """Have all processes of the sample ended; return how they did."""
        try:
            self._control.send(zygote.END)
            report = self._control.recv(10_000)
        except OSError:
            report = b""
        if not report:
            os._exit(3)
        return zygote.Ending(**json.loads(report))


CODE = "\x00candidate\x00"
"""Stands for the candidate's code in the files of a command."""


def _judged(proxy: Proxy, tally: Tally, ending: zygote.Ending) -> Outcome:
    if proxy.told:
        return _judged_told(*proxy.told)
    if proxy.gone and proxy.gone != "ended":
        return Outcome("error", error=f"the candidate {proxy.gone}", retry_shared=proxy.not_split)
    if proxy.gone:
        return _judged_ending(ending)
    if tally.all_passed and not proxy.heard:
        return Outcome("failed", error="the tests never called the candidate")
    return _judged_tally(tally)


def _judged_told(kind: bytes, told: list[str]) -> Outcome:
    if kind == candidate.UNPARSABLE:
        return Outcome("unparsable", error=told[0])
    if kind == candidate.NO_ENTRY:
        names = [name for name in told if name]
        return Outcome(
            "no_entry_point", error=f"it defines {', '.join(names) or 'no function'}", defined=names
        )
    if kind == candidate.EXITED:
        return Outcome("error", error=f"the candidate ended its process ({told[0]})")
    return Outcome("memory" if told[0] == "MemoryError" else "error", error=told[-1])


def _judged_ending(ending: zygote.Ending) -> Outcome:
    """Judge a candidate that was gone before its tests were done."""
    limits = {
        "cpu": Outcome("timeout", error="used more CPU time than it may"),
        "wall": Outcome("timeout", error="was not done when the time was up"),
        "memory": Outcome("memory", error="used more memory than it may"),
    }
    if ending.reason:
        return limits[ending.reason]
    how = f"signal {ending.killed_by}" if ending.killed_by else f"exit code {ending.exit_code}"
    return Outcome("error", error=f"the candidate's process ended before its tests did ({how})")


def _judged_tally(tally: Tally) -> Outcome:
    if tally.all_passed:
        return Outcome("passed")
    if not tally.run and not tally.crashed:
        return Outcome("failed", error="no test ran")
    statuses = {"memory": "memory", "candidate": "error"}
    return Outcome(statuses.get(tally.cause, "failed"), error=tally.first)


def _with_counts(outcome: Outcome, tally: Tally) -> Outcome:
    return replace(outcome, passed=tally.passed, run=tally.run, constant=tally.constant)


def _judged_shared(kind: bytes, told: list[str], nonce: str, ending: zygote.Ending) -> Outcome:
    if not kind:
        return _judged_ending(ending)
    if kind != candidate.TESTS_ENDED:
        return _judged_told(kind, told)
    if len(told) != 7 or not secrets.compare_digest(told[0].encode(), nonce.encode()):
        return Outcome("error", error="the candidate sent what is no result")
    try:
        passed, run, constant, crashed = (int(told[place]) for place in (1, 2, 3, 6))
    except ValueError:
        return Outcome("error", error="the candidate sent what is no result")
    tally = Tally()
    tally.passed, tally.run, tally.constant, tally.crashed = passed, run, constant, bool(crashed)
    tally.cause, tally.first = told[4], told[5]
    return _with_counts(_judged_tally(tally), tally)


def _judged_program(told: tuple[bytes, list[str]] | None, ending: zygote.Ending) -> Outcome:
    if ending.reason or told is None:
        return _judged_ending(ending)
    return Outcome("passed") if told[0] == candidate.TESTS_ENDED else _judged_told(*told)


def _judged_command(ending: zygote.Ending, output: str, errors: str) -> Outcome:
    """Judge a program in another language by its exit code and by what it or its compiler wrote."""
    if ending.reason:
        return _judged_ending(ending)
    if ending.exit_code == 0:
        return Outcome("passed")
    how = f"signal {ending.killed_by}" if ending.killed_by else f"exit code {ending.exit_code}"
    status, line = _fault_of(output, errors)
    return Outcome(status, error=f"{how}{': ' if line else ''}{line}")


def _fault_of(output: str, errors: str) -> tuple[str, str]:
    """Return the status and the line that say what went wrong: of Node.js, of Go's compiler, or of a failed Go test."""
    if found := _ERROR_LINE.search(errors):
        return {"SyntaxError": "unparsable", "AssertionError": "failed"}.get(found[1], "error"), found[0]
    if found := _GO_COMPILER.search(errors):
        return "unparsable" if found[1] else "error", found[0]
    if found := _GO_FAILED_TEST.search(output):
        return "failed", found[0].strip()
    return "error", _last_line(errors)


_ERROR_LINE = re.compile(r"^(?:Uncaught )?(\w*Error|panic)\b.*$", re.MULTILINE)
_GO_COMPILER = re.compile(r"^(?:\./)?\w+\.go:\d+:\d+: (syntax error)?.*$", re.MULTILINE)
_GO_FAILED_TEST = re.compile(r"^ *--- FAIL: .*$", re.MULTILINE)


def _last_line(text: str) -> str:
    """Return the last line that says something of the program: Node.js ends with hints and its own version."""
    lines = [line.strip() for line in text.splitlines()]
    return next((line for line in reversed(lines) if line and not line.startswith(("Node.js v", "("))), "")


def _last_word(channel: int) -> tuple[bytes, list[str]] | None:
    try:
        kind, _, body = frames.receive(channel, most=1_000_000)
    except (frames.Ended, frames.Broken):
        return None
    return kind, _words(body)


def _is_right(output: str, nonce: str, case: Case) -> bool:
    return output.endswith(nonce) if nonce else same_output(case.expected, output)


def _read_both(reads: tuple[int, ...], most: int) -> tuple[str, str, bool]:
    """Read standard output and error to their ends, or to `most` bytes of output; return them and whether it was more."""
    parts: dict[int, list[bytes]] = {fd: [] for fd in reads}
    sizes = dict.fromkeys(reads, 0)
    poll = select.poll()
    for fd in reads:
        poll.register(fd, select.POLLIN)
    left = len(reads)
    while left and sizes[reads[0]] <= most:
        for fd, _ in poll.poll():
            data = os.read(fd, 65536)
            if not data:
                poll.unregister(fd)
                left -= 1
            elif sizes[fd] <= most:
                sizes[fd] += len(data)
                parts[fd].append(data)
    texts = [b"".join(parts[fd])[:most].decode(errors="replace") for fd in reads]
    return texts[0], texts[1], sizes[reads[0]] > most


def _named(proxy: Proxy, entry: str) -> Callable[..., Any]:
    def candidate_call(*arguments: Any, **named: Any) -> Any:
        return proxy(*arguments, **named)

    candidate_call.__name__ = entry.rpartition(".")[2] or "candidate"
    return candidate_call


def _why_broken(task: TaskOrder) -> str:
    """Return why the task's own code cannot run, '' where it can."""
    try:
        _ = task.cannot_split, task.marshalled
    except Exception as error:
        return one_line(f"the tests cannot be loaded: {described(error)}")
    return ""


def _too_long(_signal: int, _frame: object) -> None:
    raise TestsTooLong
