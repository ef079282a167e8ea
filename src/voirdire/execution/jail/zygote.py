"""The process that forks candidates, watches what they use and ends them all; it holds no test and no result.

In a process namespace of its own it is process 1 there, so that one signal ends everything a sample left running.
"""

import array
import contextlib
import gc
import json
import os
import resource
import select
import signal
import socket
import time
from collections.abc import Iterator
from typing import NoReturn

from voirdire.execution.jail import candidate, kernel, process_table, scratch
from voirdire.execution.jail.settings import Settings

START, END = b"S", b"E"
COMMAND = b"C"
"""After START: the candidate becomes another program, whose address space says nothing about its memory."""

TICK_MS = 100
"""How often the use of a sample is looked at: that is what ends it at its limit of CPU time.

The kernel's own limit is twice as high and a mere backstop. It counts ticks of the clock, and where a machine is shared
with others, ticks that went elsewhere too: a third more than the time that was used has been seen.
"""

MOST_DESCRIPTORS = 1 << 16


class Ending:
    """How a sample's processes ended. `reason`: `cpu`, `wall` or `memory` where a limit was passed, else ''.

    `peak`: the most memory that one of them used, in bytes. cpu: seconds of all of them.
    """

    def __init__(
        self,
        reason: str = "",
        exit_code: int | None = None,
        killed_by: int | None = None,
        cpu: float = 0.0,
        peak: int = 0,
    ) -> None:
        self.reason = reason
        self.exit_code = exit_code
        self.killed_by = killed_by
        self.cpu = cpu
        self.peak = peak


class Zygote:
    """Serves one order at a time: fork a candidate, watch it, end it, report.

    user: whom candidates become; None: they stay who they are. reads_all: they keep the right to read every file,
    where an unprivileged user could not read the interpreter itself.
    """

    def __init__(
        self, control: socket.socket, settings: Settings, *, user: int | None, reads_all: bool
    ) -> None:
        self._control = control
        self._settings = settings
        self._user = user
        self._reads_all = reads_all
        self._preludes = {text: compile(text, "<prelude>", "exec") for text in settings.preludes}
        self._room, self._resident = process_table.own_memory()
        shared_count = user is None and not settings.namespaces
        already = process_table.threads_of_user(os.getuid()) if shared_count else 0
        self._processes = settings.processes + already

    def serve(self) -> NoReturn:
        """Serve until the other side is gone."""
        _limit_all(self._settings)
        gc.collect()
        gc.freeze()
        while True:
            message, fds = _order(self._control)
            if not message:
                self._kill_all(None)
                os._exit(0)
            if message[:1] == START:
                self._run(fds, message[1:])

    def _run(self, fds: list[int], kind: bytes) -> None:
        box = scratch.make_box(self._settings.scratch, self._user)
        started = time.monotonic()
        pid = os.fork()
        if pid == 0:
            self._become_candidate(fds, box, limits_memory=kind != COMMAND)
        for fd in fds:
            os.close(fd)
        ending = Ending(reason=self._watch(pid, started))
        self._kill_all(pid)
        self._reap(pid, ending)
        scratch.empty(self._settings.scratch)
        message, _ = _order(self._control)
        if not message:
            os._exit(0)
        self._control.send(json.dumps(vars(ending)).encode())

    def _become_candidate(self, fds: list[int], box: str, *, limits_memory: bool) -> NoReturn:
        try:
            os.setsid()
            for target, fd in enumerate(fds[1:]):
                os.dup2(fd, target)
            if fds[0] != candidate.CHANNEL:
                os.dup2(fds[0], candidate.CHANNEL)
            os.closerange(candidate.CHANNEL + 1, MOST_DESCRIPTORS)
            self._limit_candidate(limits_memory=limits_memory)
            if self._user is not None:
                _become(self._user, reads_all=self._reads_all)
            os.chdir(box)
            candidate.serve(self._preludes)
        finally:
            os._exit(70)

    def _limit_candidate(self, *, limits_memory: bool) -> None:
        cpu = 2 * int(self._settings.cpu) + 2
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
        resource.setrlimit(resource.RLIMIT_NPROC, (self._processes, self._processes))
        if limits_memory:
            room = self._settings.memory + self._room
            resource.setrlimit(resource.RLIMIT_AS, (room, room))

    def _watch(self, pid: int, started: float) -> str:
        """Wait until the tests are done with the candidate or it ended; return the limit it passed, or ''."""
        handle = os.pidfd_open(pid)
        try:
            poll = select.poll()
            poll.register(self._control, select.POLLIN)
            poll.register(handle, select.POLLIN)
            reason = ""
            while not reason and not poll.poll(TICK_MS):
                reason = self._passed_limit(started)
            return reason
        finally:
            os.close(handle)

    def _passed_limit(self, started: float) -> str:
        used = process_table.use_of(self._pids(), resident=self._resident)
        if used.cpu > self._settings.cpu:
            return "cpu"
        if used.memory > self._settings.memory:
            return "memory"
        return "wall" if time.monotonic() - started > self._settings.wall else ""

    def _pids(self) -> Iterator[int]:
        return process_table.others() if self._settings.namespaces else process_table.descendants(os.getpid())

    def _kill_all(self, pid: int | None) -> None:
        if self._settings.namespaces:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
            return
        if pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _reap(self, pid: int, ending: Ending) -> None:
        """Take leave of every process of the sample; outside namespaces, end those that fled to us meanwhile."""
        waits_for = -1 if self._settings.namespaces else pid
        while True:
            try:
                ended, status, used = os.wait4(
                    waits_for, 0 if waits_for == pid or self._settings.namespaces else os.WNOHANG
                )
            except ChildProcessError:
                break
            waits_for = -1
            if ended == 0:
                self._kill_descendants()
                continue
            ending.cpu += used.ru_utime + used.ru_stime
            ending.peak = max(ending.peak, used.ru_maxrss * 1024)
            if ended == pid:
                code = os.waitstatus_to_exitcode(status)
                ending.exit_code = code if code >= 0 else None
                ending.killed_by = -code if code < 0 else None
        self._explain(ending)

    def _kill_descendants(self) -> None:
        """End what fled from its group: its parents are gone, so that it is ours now."""
        if self._user is not None:
            _kill_all_of(self._user)
            return
        for pid in process_table.descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.001)

    def _explain(self, ending: Ending) -> None:
        """Name the limit behind a signal that the kernel or the C library sent on its own."""
        if ending.reason or ending.killed_by is None:
            return
        used_up = ending.killed_by == signal.SIGKILL and ending.cpu >= self._settings.cpu
        if used_up or ending.killed_by == signal.SIGXCPU:
            ending.reason = "cpu"
        elif ending.killed_by != signal.SIGKILL and ending.peak > 0.9 * self._settings.memory:
            ending.reason = "memory"


def _order(control: socket.socket) -> tuple[bytes, list[int]]:
    """Read one order and the descriptors that came with it; (b'', []) at the end."""
    space = socket.CMSG_SPACE(4 * array.array("i").itemsize)
    message, extras, _, _ = control.recvmsg(64, space)
    fds = array.array("i")
    for level, kind, data in extras:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    return message, list(fds)


def _limit_all(settings: Settings) -> None:
    """Set the limits that hold for this process as well as for candidates: they cost nothing per sample."""
    for limit, value in (
        (resource.RLIMIT_FSIZE, settings.files),
        (resource.RLIMIT_NOFILE, settings.open_files),
        (resource.RLIMIT_CORE, 0),
        (getattr(resource, "RLIMIT_MSGQUEUE", None), 0),
        (getattr(resource, "RLIMIT_MEMLOCK", None), 0),
        (getattr(resource, "RLIMIT_NICE", None), 0),
        (getattr(resource, "RLIMIT_RTPRIO", None), 0),
    ):
        if limit is not None:
            hard = resource.getrlimit(limit)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(limit, (value, value))


def _become(user: int, *, reads_all: bool) -> None:
    os.setgroups([])
    os.setresgid(user, user, user)
    if reads_all:
        kernel.control(kernel.KEEP_CAPABILITIES, 1)
    os.setresuid(user, user, user)
    if reads_all:
        kernel.keep_only(kernel.READ_EVERYTHING)


def _kill_all_of(user: int) -> None:
    """End every process of the throwaway user at once, as only that user can without naming them."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setresuid(user, user, user)
            os.kill(-1, signal.SIGKILL)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
