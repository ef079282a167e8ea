"""A program as a judge: `command:PROGRAM ARGUMENTS`, one JSON object a line on its standard input and output.

In: `{"id", "repeat", "messages", "parts", "questions", "reader"}` (and "sampling" where the judge file has one). Out, one
line for each: `{"id", "text"}` with text for the judge's reader, or `{"id", "answers": {question id: {"value": ...}}}` in the typed
form, or `{"id", "error"}` for a call that failed and is to be asked again in the next run. `served`, a text beside
them, names the snapshot that answered. Standard error is free for messages.

The program is started when first needed, without a shell, in the judge file's folder or the current one, and kept; the
option `processes` says how many may run at once. One that dies is started again for the next attempt; one that prints
anything but the line asked for, or is cut off by the time limit, is killed with its children, so that an answer can
never be taken for another request's. Option `deterministic`: it promises the same answer to the same request.

Its identity is the argument list and the SHA-256 of each argument that is a file, and, of a Python file or of what
follows `-m`, of all files beside it that it imports, directly or not. What a shell script or another program calls is
not seen: a judge that depends on more names its state in the option `version`.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import shlex
import signal
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from voirdire.errors import JudgeError, TryAgain, UsageError
from voirdire.judges._plain import (
    PlainBodies,
    check_options,
    existing_program,
    file_digest,
    folder_of,
    source_digests,
    switch,
    typed_answer,
    whole_number,
)
from voirdire.judges._prompted import Backend, Rendered
from voirdire.model import Answer, Asking, JudgeSpec, Request

OPTIONS = frozenset({"processes", "deterministic", "version"})

LONGEST_LINE = 64 * 1024 * 1024
"""Bytes of one answer line beyond which a program is taken to have gone wild."""

_STDERR_KEPT = 4000
"""Bytes kept of standard error, and of a line that could not be understood."""


def open_backend(spec: JudgeSpec) -> Backend:
    """Check that the program exists; nothing is started yet."""
    check_options(spec, OPTIONS)
    try:
        argv = shlex.split(spec.model)
    except ValueError as error:
        raise UsageError(f"'{spec.model}': {str(error).lower()}", hint="close every quotation mark") from None
    if not argv:
        raise UsageError("command: names no program", hint="write command:PROGRAM ARGUMENTS")
    folder = folder_of(spec)
    program = existing_program(argv[0], folder, spec)
    return CommandBackend(
        argv=(program, *argv[1:]),
        folder=folder,
        processes=whole_number(spec, "processes", default=1, least=1),
        settings={
            "backend": "command",
            "argv": argv,
            "files_sha256": _digests(argv, folder),
            "sampling": dict(spec.sampling),
            "options": {name: value for name, value in spec.options.items() if name != "processes"},
        },
        deterministic=switch(spec, "deterministic"),
        bodies=PlainBodies(sampling=dict(spec.sampling)),
    )


def _digests(argv: Sequence[str], folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file that the arguments name and, where it is Python, of what it imports."""
    named = [folder / name for name in argv if (folder / name).is_file()]
    for flag, name in itertools.pairwise(argv):
        if flag == "-m":
            base = folder.joinpath(*name.split("."))
            named += [file for file in (base.with_suffix(".py"), base / "__main__.py") if file.is_file()]
    found: dict[str, str] = {}
    for place, file in enumerate(named):
        one = source_digests(file, [folder]) if file.suffix == ".py" else {file.name: file_digest(file)}
        found |= {f"{place}/{name}": digest for name, digest in one.items()}
    return found


class CommandBackend:
    """A few copies of one program, each asked one thing at a time."""

    def __init__(
        self,
        *,
        argv: tuple[str, ...],
        folder: Path,
        processes: int,
        settings: Mapping[str, object],
        deterministic: bool,
        bodies: PlainBodies,
    ) -> None:
        self.argv = argv
        self.folder = folder
        self.processes = processes
        self.settings = settings
        self.deterministic = deterministic
        self._bodies = bodies
        self._loop: asyncio.AbstractEventLoop | None = None
        self._free = asyncio.Semaphore(processes)
        self._idle: list[_Running] = []
        self._started: list[_Running] = []
        weakref.finalize(self, _kill_all, self._started)

    def prepare(self, item_id: str, messages: Rendered, parts: Mapping[str, str], asking: Asking) -> Request:
        """Return the request; its body is the line sent, without id and repeat."""
        return self._bodies.request(item_id, messages, parts, asking)

    async def send(self, request: Request, *, repeat: int) -> Answer:
        """Ask one copy. Raises TryAgain where it ended or fell out of step, JudgeError where it cannot be started."""
        free = self._slots()
        await free.acquire()
        running: _Running | None = None
        in_step = False
        try:
            running = self._idle.pop() if self._idle else await self._start()
            name = f"{request.digest[:16]}-{repeat}"
            line = await running.asked(_line(request, name, repeat))
            said = _object_in(line)
            if said is not None and said.get("id") != name:
                raise TryAgain("another id: the program answered something else")
            in_step = said is not None
            return _stated(said, line) if said is not None else _not_a_line(line)
        except _EndedError as ended:
            raise TryAgain(f"program {ended}") from None
        finally:
            if running is not None and in_step:
                self._idle.append(running)
            elif running is not None:
                running.kill()
            free.release()

    async def close(self) -> None:
        """Kill every copy with its children, and wait for them."""
        here = self._loop is asyncio.get_running_loop()
        for running in self._started:
            running.kill()
            if here:
                await running.gone()
        self._forget()

    def _slots(self) -> asyncio.Semaphore:
        """Return the slots of the running loop; copies made under an earlier loop cannot be talked to any more."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            for running in self._started:
                running.kill()
            self._forget()
            self._loop, self._free = loop, asyncio.Semaphore(self.processes)
        return self._free

    def _forget(self) -> None:
        self._loop = None
        self._idle.clear()
        self._started.clear()

    async def _start(self) -> _Running:
        await self._bury()
        try:
            process = await asyncio.create_subprocess_exec(
                *self.argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=self.folder,
                start_new_session=True,
                limit=LONGEST_LINE,
            )
        except OSError as error:
            raise JudgeError(
                f"cannot start {self.argv[0]}: {(error.strerror or str(error)).lower()}",
                hint="start it by hand in the same folder",
            ) from None
        running = _Running(process)
        self._started.append(running)
        return running

    async def _bury(self) -> None:
        """Wait for the copies that were killed since the last start."""
        dead = [running for running in self._started if running.killed]
        for running in dead:
            self._started.remove(running)
            await running.gone()


class _EndedError(Exception):
    """The program ended instead of answering; the text says how."""


class _Running:
    """One started copy, the leader of a process group of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.killed = False
        self._process = process
        self._stderr = bytearray()
        self._listening = asyncio.create_task(self._listen())

    async def asked(self, line: bytes) -> bytes:
        """Write one line and return the next line; _EndedError where the program is gone."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(line)
            await self._process.stdin.drain()
            return await self._process.stdout.readuntil(b"\n")
        except (ConnectionError, asyncio.IncompleteReadError):
            raise _EndedError(await self._how_it_ended()) from None
        except asyncio.LimitOverrunError:
            return b"a line without end"

    def kill(self) -> None:
        """Kill the program and every child in its group; harmless when done twice."""
        if not self.killed:
            self.killed = True
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def gone(self) -> None:
        """Wait until the process is no more, and let go of its pipes."""
        await self._process.wait()
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)
        if self._process.stdin is not None:
            self._process.stdin.close()

    async def _listen(self) -> None:
        """Keep the end of standard error, so that a program is never stuck for want of a reader."""
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(65536):
            self._stderr += chunk
            del self._stderr[:-_STDERR_KEPT]

    async def _how_it_ended(self) -> str:
        """Say how, once it has; a program that only closed its output is killed after a moment."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), timeout=1)
        self.kill()
        code = await self._process.wait()
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._listening), timeout=1)
        said = self._stderr.decode("utf-8", "replace").strip().splitlines()
        how = f"ended with signal {-code}" if code < 0 else f"ended with exit code {code}"
        return f"{how}: {said[-1].strip()}" if said else how


def _line(request: Request, name: str, repeat: int) -> bytes:
    line = f'{{"id":{json.dumps(name)},"repeat":{repeat},{request.body[1:]}\n'
    try:
        return line.encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8, but it has an escape
        return (json.dumps(json.loads(line)) + "\n").encode("ascii")


def _object_in(line: bytes) -> dict[str, object] | None:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


def _not_a_line(line: bytes) -> Answer:
    reason = (
        "not a JSON object on one line: standard output is for answers, messages belong on standard error"
    )
    return Answer(raw=_shown(line), missing_because=reason)


def _stated(said: Mapping[str, object], line: bytes) -> Answer:
    served = said.get("served")
    served = served if isinstance(served, str) else None
    kinds = [key for key in ("text", "answers", "error") if said.get(key) is not None]
    match kinds, said.get(kinds[0]) if kinds else None:
        case ["error"], error:
            return Answer(missing_because=f"program reported an error: {error}", failed=True, served=served)
        case ["text"], str(text):
            return Answer(raw=text, served=served)
        case ["answers"], dict(answers):
            return typed_answer(answers, served=served)
        case _:
            reason = "wrong form: an answer has one of text, answers and error"
            return Answer(raw=_shown(line), missing_because=reason, served=served)


def _shown(line: bytes) -> str:
    return line[:_STDERR_KEPT].decode("utf-8", "replace").rstrip("\r\n")


def _kill_all(started: list[_Running]) -> None:
    for running in started:
        running.kill()
