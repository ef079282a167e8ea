"""Starts a worker: the process that holds tests and the one that forks candidates, each away from the host.

The launcher itself stays where it is and runs nothing but this. The three stay together: when one ends, or the driver
does, all end.
"""

import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from importlib import import_module
from typing import NoReturn

from voirdire.execution.jail import frames, kernel, rootfs, syscall_filter, zygote
from voirdire.execution.jail.settings import Settings

READY = b"ready"
START_OF_RANDOM = 0
PATIENCE_MS = 500


def main(arguments: list[str]) -> NoReturn:
    """Run a worker. arguments: the settings, the descriptors that read from the driver and write to it."""
    settings = Settings.from_text(arguments[0])
    reads, writes = (os.dup(int(fd)) for fd in arguments[1:3])
    null = os.open(os.devnull, os.O_RDWR)
    for fd in {0, 1, *map(int, arguments[1:3])}:
        os.dup2(null, fd)
    os.close(null)
    os.umask(0o022)
    try:
        _preload(settings.preload)
        _start(settings, frames.Ends(reads, writes))
    except OSError as error:
        _say(error)
        os._exit(1)


def _preload(names: tuple[str, ...]) -> None:
    """Import modules once for all forks; `random` starts at one place in each, so that a candidate's runs are alike.

    Its own hook would draw a new place at every fork, for a tenth of a millisecond.
    """
    register, os.register_at_fork = os.register_at_fork, lambda **_hooks: None
    try:
        import random

        random.seed(START_OF_RANDOM)
    finally:
        os.register_at_fork = register
    for name in names:
        import_module(name)


def _start(settings: Settings, driver: frames.Ends) -> NoReturn:
    testers_end, zygotes_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    tester_pid = _child(lambda: _be_tester(settings, driver, testers_end, zygotes_end))
    zygote_pid = _child(lambda: _lead_zygote(settings, driver, testers_end, zygotes_end))
    testers_end.close()
    zygotes_end.close()
    os.close(driver.writes)
    _stay_together([tester_pid, zygote_pid], driver.reads)


def _child(run: Callable[[], NoReturn]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            kernel.control(kernel.DIE_WITH_PARENT, signal.SIGKILL)
            run()
        except OSError as error:
            _say(error)
        finally:
            os._exit(1)
    return pid


def _be_tester(
    settings: Settings, driver: frames.Ends, testers_end: socket.socket, zygotes_end: socket.socket
) -> NoReturn:
    from voirdire.execution.jail import tester, unittests  # noqa: F401  (not to be seen from within)

    zygotes_end.close()
    if settings.namespaces:
        users = _Users(settings, count=1)
        own = os.getpid()
        helper = _child(lambda: _admit(users, own))
        _leave_host(settings)
        users.enter()
        os.waitpid(helper, 0)
        kernel.keep_only(0)
    kernel.control(kernel.NO_NEW_PRIVILEGES, 1)
    kernel.control(kernel.DIE_WITH_PARENT, signal.SIGKILL)
    if testers_end.recv(16) != READY:
        os._exit(1)
    tester.Tester(driver, testers_end, settings).serve()


def _lead_zygote(
    settings: Settings, driver: frames.Ends, testers_end: socket.socket, zygotes_end: socket.socket
) -> NoReturn:
    """Fork the zygote, as the first process of a process namespace where there are namespaces, and end with it."""
    testers_end.close()
    for fd in {*driver}:
        os.close(fd)
    if not settings.namespaces:
        _be_zygote(settings, zygotes_end)
    users = _Users(settings, count=2)
    _leave_host(settings)
    kernel.unshare(kernel.NEW_PIDS)
    pid = _child(lambda: _be_first(settings, zygotes_end, users))
    zygotes_end.close()
    users.admit(pid)
    os.waitpid(pid, 0)
    os._exit(1)


def _admit(users: "_Users", pid: int) -> NoReturn:
    users.admit(pid)
    os._exit(0)


def _be_first(settings: Settings, control: socket.socket, users: "_Users") -> NoReturn:
    owner = settings.user - 1 if _is_root() else os.geteuid()
    kernel.unshare(kernel.NEW_MOUNTS)
    rootfs.mount_processes()
    rootfs.mount_scratch(settings.scratch, size=settings.files, owner=owner)
    users.enter()
    kernel.control(kernel.DIE_WITH_PARENT, signal.SIGKILL)
    _be_zygote(settings, control)


def _be_zygote(settings: Settings, control: socket.socket) -> NoReturn:
    user = _user_of_candidates(settings)
    reads_all = user is not None and not settings.namespaces and not _anyone_reads(sys.base_prefix)
    kernel.control(kernel.NO_NEW_PRIVILEGES, 1)
    kernel.control(kernel.SET_DUMPABLE, 0)
    program = syscall_filter.program(kernel.processor())
    if program:
        kernel.install_filter(program)
    if not settings.namespaces:
        kernel.control(kernel.SET_SUBREAPER, 1)
    control.send(READY)
    os.dup2(0, 2)
    zygote.Zygote(control, settings, user=user, reads_all=reads_all).serve()


def _user_of_candidates(settings: Settings) -> int | None:
    if settings.namespaces:
        return 1 if os.geteuid() == 0 else None
    return settings.user if _is_root() else None


def _is_root() -> bool:
    return os.geteuid() == 0


def _leave_host(settings: Settings) -> None:
    """Leave the host's namespaces but that of processes, and see the small root only. Raises OSError."""
    if not _is_root():
        user, group = os.geteuid(), os.getegid()
        kernel.unshare(kernel.NEW_USER)
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"1000 {user} 1")
        _write("/proc/self/gid_map", f"1000 {group} 1")
    kernel.unshare(
        kernel.NEW_MOUNTS | kernel.NEW_NETWORK | kernel.NEW_IPC | kernel.NEW_UTS | kernel.NEW_CGROUP
    )
    rootfs.enter(settings.roots)


class _Users:
    """The way of a root process into a user namespace whose users are throwaway ids of the host, 0 the first of them.

    Only who stays outside may say which these are, and only the host's /proc takes it: both are held from before the
    process leaves. For anyone but root nothing is to be done.
    """

    def __init__(self, settings: Settings, *, count: int) -> None:
        self._settings = settings
        self._count = count
        self._needed = _is_root()
        if self._needed:
            self._processes = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
            self._asked, self._asks = os.pipe()
            self._told, self._tells = os.pipe()

    def admit(self, pid: int) -> None:
        """From outside: wait until the process asks, then give it its users."""
        if not self._needed:
            return
        os.close(self._asks)
        if os.read(self._asked, 1):
            for name in ("uid_map", "gid_map"):
                fd = os.open(f"{pid}/{name}", os.O_WRONLY, dir_fd=self._processes)
                os.write(fd, f"0 {self._settings.user - 1} {self._count}".encode())
                os.close(fd)
            os.write(self._tells, b"!")
        for fd in (self._processes, self._asked, self._told, self._tells):
            os.close(fd)

    def enter(self) -> None:
        """From the process itself: become the first user of a namespace of its own. Raises OSError."""
        if not self._needed:
            return
        for fd in (self._processes, self._tells):
            os.close(fd)
        kernel.unshare(kernel.NEW_USER)
        os.write(self._asks, b"!")
        admitted = os.read(self._told, 1)
        for fd in (self._asked, self._asks, self._told):
            os.close(fd)
        if not admitted:
            raise PermissionError(1, "the users of a user namespace could not be set")
        os.setgroups([])
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)


def _anyone_reads(folder: str) -> bool:
    """Return whether every user may look into `folder`."""
    while True:
        if not os.stat(folder).st_mode & 0o001:
            return False
        parent = os.path.dirname(folder)
        if parent == folder:
            return True
        folder = parent


def _stay_together(children: list[int], driver: int) -> NoReturn:
    """End everything as soon as one child, or the driver, has ended: each on its own, or else by force."""
    poll = select.poll()
    poll.register(driver, 0)
    handles = {pid: os.pidfd_open(pid) for pid in children}
    for handle in handles.values():
        poll.register(handle, select.POLLIN)
    poll.poll()
    poll.unregister(driver)
    for pid, handle in handles.items():
        if not _ends_within(handle, milliseconds=PATIENCE_MS):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    os._exit(0)


def _ends_within(handle: int, *, milliseconds: int) -> bool:
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(milliseconds))


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY)
    os.write(fd, text.encode())
    os.close(fd)


def _say(error: OSError) -> None:
    os.write(2, f"{error.strerror or error}\n".encode())
