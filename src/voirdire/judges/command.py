"""A program as a judge: `command:PROGRAM ARGUMENTS`, one JSON object a line on its standard input and output.

In: `{"id", "repeat", "messages", "parts", "questions"}` (and "sampling" where the judge file has one). Out, one line for
each: `{"id", "text"}` with text for the judge's reader, or `{"id", "answers": {question id: {"value": ...}}}` in the typed
form, or `{"id", "error"}` for a call that failed and is to be asked again in the next run. `served`, a text beside
them, names the snapshot that answered. Standard error is free for messages.

The program is started when first needed, without a shell, in the judge file's folder or the current one, and kept; the
option `processes` says how many may run at once. One that dies is started again for the next attempt; one that prints
anything but the line asked for, or is cut off by the time limit, is killed with its children, so that an answer can
never be taken for another request's. Option `deterministic`: it promises the same answer to the same request.

Its identity is the argument list and the SHA-256 of each argument that is a file.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import weakref
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from voirdire.errors import JudgeError, TryAgain, UsageError
from voirdire.judges._plain import (
    PlainBodies,
    check_options,
    existing_program,
    file_digest,
    folder_of,
    switch,
    typed_answer,
    whole_number,
)
from voirdire.judges._prompted import Backend, Rendered
from voirdire.model import Answer, Asking, JudgeSpec, Request

OPTIONS = frozenset({"processes", "deterministic"})

LONGEST_LINE = 64 * 1024 * 1024
"""Bytes of one answer line beyond which a program is taken to have gone wild."""

DEATHS_BEFORE_FIRST_ANSWER = 3
"""A program that ends so often without a single answer cannot be asked at all."""

_STDERR_KEPT = 4000


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
            "files_sha256": {name: file_digest(folder / name) for name in argv if (folder / name).is_file()},
            "sampling": dict(spec.sampling),
            "options": {name: value for name, value in spec.options.items() if name != "processes"},
        },
        deterministic=switch(spec, "deterministic"),
        bodies=PlainBodies(more={"sampling": dict(spec.sampling)} if spec.sampling else {}),
    )


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
        self._free: asyncio.Queue[_Running | None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._groups: set[int] = set()
        self._answered = False
        self._deaths = 0
        self._at_exit = weakref.finalize(self, _kill_groups, self._groups)

    def prepare(self, item_id: str, messages: Rendered, parts: Mapping[str, str], asking: Asking) -> Request:
        """Return the request; its body is the line sent, without id and repeat."""
        return self._bodies.request(item_id, messages, parts, asking)

    async def send(self, request: Request, *, repeat: int) -> Answer:
        """Ask one copy. Raises TryAgain where it ended, JudgeError where it never gets to answer."""
        free = self._slots()
        running = await free.get()
        keep: _Running | None = None
        try:
            if running is None or running.ended:
                await self._end(running)
                running = await self._start()
            name = f"{request.digest[:16]}-{repeat}"
            answer, in_step = _understood(await running.asked(_line(request, name, repeat)), name)
            if in_step:
                keep, self._answered = running, True
            return answer
        except _EndedError as ended:
            raise self._died(ended) from None
        finally:
            if keep is None and running is not None:
                self._kill(running)
            free.put_nowait(keep if keep is not None else running)

    async def close(self) -> None:
        """Kill every copy with its children, and wait for them."""
        if self._free is not None and self._loop is asyncio.get_running_loop():
            while not self._free.empty():
                await self._end(self._free.get_nowait())
        self._free = None
        _kill_groups(self._groups)

    def _slots(self) -> asyncio.Queue[_Running | None]:
        """Return the slots of the running loop; processes of an earlier loop cannot be talked to and are killed."""
        loop = asyncio.get_running_loop()
        if self._free is None or self._loop is not loop:
            _kill_groups(self._groups)
            self._loop = loop
            self._free = asyncio.Queue()
            for _ in range(self.processes):
                self._free.put_nowait(None)
        return self._free

    async def _start(self) -> _Running:
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
        self._groups.add(process.pid)
        return _Running(process)

    def _kill(self, running: _Running) -> None:
        _kill_group(running.process.pid)

    async def _end(self, running: _Running | None) -> None:
        if running is not None:
            self._kill(running)
            await running.gone()
            self._groups.discard(running.process.pid)

    def _died(self, ended: _EndedError) -> JudgeError:
        self._deaths += 1
        if not self._answered and self._deaths >= DEATHS_BEFORE_FIRST_ANSWER:
            return JudgeError(
                f"{shlex.join(self.argv)} never answered: it {ended}",
                hint="run it by hand and give it one line of JSON; see `voirdire doctor`",
            )
        return TryAgain(f"program {ended}")


class _EndedError(Exception):
    """The program ended instead of answering; the text says how."""


@dataclass
class _Running:
    """One started copy, with the end of what it wrote to standard error."""

    process: asyncio.subprocess.Process
    stderr: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self._listening = asyncio.create_task(self._listen())

    @property
    def ended(self) -> bool:
        return self.process.returncode is not None

    async def asked(self, line: bytes) -> bytes:
        """Write one line and return the next line; _EndedError where the program is gone."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(line)
            await self.process.stdin.drain()
            return await self.process.stdout.readuntil(b"\n")
        except (ConnectionError, asyncio.IncompleteReadError):
            raise _EndedError(await self._how_it_ended()) from None
        except asyncio.LimitOverrunError:
            return b"a line without end"

    async def gone(self) -> None:
        """Wait until the process is no more, and let go of its pipes."""
        await self.process.wait()
        self._listening.cancel()
        with suppress(asyncio.CancelledError):
            await self._listening
        if self.process.stdin is not None:
            self.process.stdin.close()

    async def _listen(self) -> None:
        assert self.process.stderr is not None
        while chunk := await self.process.stderr.read(65536):
            self.stderr += chunk
            del self.stderr[:-_STDERR_KEPT]

    async def _how_it_ended(self) -> str:
        _kill_group(self.process.pid, only_if_open=self.process.returncode is None)
        code = await self.process.wait()
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._listening), timeout=1)
        said = self.stderr.decode("utf-8", "replace").strip().splitlines()
        how = f"ended with signal {-code}" if code < 0 else f"ended with exit code {code}"
        return f"{how}: {said[-1].strip()}" if said else how


def _line(request: Request, name: str, repeat: int) -> bytes:
    line = f'{{"id":{json.dumps(name)},"repeat":{repeat},{request.body[1:]}\n'
    try:
        return line.encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8, but it has an escape
        return (json.dumps(json.loads(line)) + "\n").encode("ascii")


def _understood(line: bytes, name: str) -> tuple[Answer, bool]:
    """Return the answer in a line, and whether the program is still in step with the questions."""
    raw = line.decode("utf-8", "replace").rstrip("\r\n")
    try:
        said = json.loads(raw)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        reason = "not a JSON line: standard output is for answers alone, messages belong on standard error"
        return Answer(raw=raw[:_STDERR_KEPT], missing_because=reason), False
    if said.get("id") != name:
        return Answer(raw=raw[:_STDERR_KEPT], missing_because="another id: the program answered something else"), False
    return _stated(said, raw), True


def _stated(said: Mapping[str, object], raw: str) -> Answer:
    served = said.get("served")
    served = served if isinstance(served, str) else None
    kinds = [key for key in ("text", "answers", "error") if said.get(key) is not None]
    match kinds, said.get(kinds[0]) if kinds else None:
        case ["error"], error:
            return Answer(missing_because=f"program reported an error: {error}", failed=True, served=served)
        case ["text"], str(text):
            return Answer(raw=text, served=served)
        case ["answers"], dict(answers):
            typed = typed_answer(answers)
            return Answer(raw=typed.raw, extra=typed.extra, served=served)
    return Answer(
        raw=raw[:_STDERR_KEPT],
        missing_because="wrong form: an answer has one of text, answers and error",
        served=served,
    )


def _kill_group(group: int, *, only_if_open: bool = True) -> None:
    if only_if_open:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


def _kill_groups(groups: set[int]) -> None:
    for group in groups:
        _kill_group(group)
    groups.clear()
