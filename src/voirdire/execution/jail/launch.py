"""Starts a worker: leaves the host, then forks the process that holds tests and the one that forks candidates.

The three stay together: when one ends, or the driver does, all end.
"""

import os
import platform
import select
import signal
import socket
import sys
from collections.abc import Callable
from importlib import import_module
from typing import NoReturn

from voirdire.execution.jail import kernel, rootfs, syscall_filter, tester, zygote
from voirdire.execution.jail.settings import Settings

READY = b"ready"


def main(arguments: list[str]) -> NoReturn:
    """Run a worker. arguments: the settings, the descriptors that read from the driver and write to it."""
    settings = Settings.from_text(arguments[0])
    driver = tester.Driver(*(os.dup(int(fd)) for fd in arguments[1:3]))
    null = os.open(os.devnull, os.O_RDWR)
    for fd in {0, 1, *map(int, arguments[1:3])}:
        os.dup2(null, fd)
    try:
        for name in settings.preload:
            import_module(name)
        _Launcher(settings, driver).run()
    except OSError as error:
        print(error.strerror or error, file=sys.stderr)
        os._exit(1)


class _Launcher:
    """Holds what the three processes of a worker are made from."""

    def __init__(self, settings: Settings, driver: tester.Driver) -> None:
        self._settings = settings
        self._driver = driver
        self._is_root = os.geteuid() == 0
        self._processes = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._ours, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def run(self) -> NoReturn:
        os.umask(0o022)
        if self._settings.namespaces:
            self._leave_host()
        children = [self._fork(self._be_tester, inner=1)]
        if self._settings.namespaces:
            kernel.unshare(kernel.NEW_PIDS)
        children.append(self._fork(self._be_zygote, inner=2))
        for end in (self._ours, self._theirs):
            end.close()
        os.close(self._driver.writes)
        _stay_together(children, self._driver.reads)

    def _leave_host(self) -> None:
        if not self._is_root:
            user, group = os.geteuid(), os.getegid()
            kernel.unshare(kernel.NEW_USER)
            _write("/proc/self/setgroups", "deny")
            _write("/proc/self/uid_map", f"1000 {user} 1")
            _write("/proc/self/gid_map", f"1000 {group} 1")
        kernel.unshare(
            kernel.NEW_MOUNTS | kernel.NEW_NETWORK | kernel.NEW_IPC | kernel.NEW_UTS | kernel.NEW_CGROUP
        )
        rootfs.enter(self._settings.roots)

    def _fork(self, run: Callable[[], NoReturn], *, inner: int) -> int:
        """Fork a child that runs `run`; as root, in a user namespace where it has `inner` users, none of the host's."""
        asks = self._is_root and self._settings.namespaces
        asked_in, asked_out = os.pipe()
        told_in, told_out = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.close(told_out)
                if run == self._be_zygote and self._settings.namespaces:
                    self._prepare_zygote()
                if asks:
                    kernel.unshare(kernel.NEW_USER)
                os.write(asked_out, b"!")
                os.read(told_in, 1)
                if asks:
                    os.setgroups([])
                    os.setresgid(0, 0, 0)
                    os.setresuid(0, 0, 0)
                for fd in (asked_in, asked_out, told_in, self._processes):
                    os.close(fd)
                run()
            except OSError as error:
                print(error.strerror or error, file=sys.stderr)
            finally:
                os._exit(1)
        os.close(asked_out)
        if os.read(asked_in, 1) and asks:
            for name in ("uid_map", "gid_map"):
                self._map(f"{pid}/{name}", inner)
        for fd in (asked_in, told_in, told_out):
            os.close(fd)
        return pid

    def _map(self, name: str, inner: int) -> None:
        fd = os.open(name, os.O_WRONLY, dir_fd=self._processes)
        os.write(fd, f"0 {self._settings.user - 1} {inner}".encode())
        os.close(fd)

    def _be_tester(self) -> NoReturn:
        self._theirs.close()
        kernel.control(kernel.NO_NEW_PRIVILEGES, 1)
        if self._settings.namespaces:
            kernel.keep_only(0)
        kernel.control(kernel.DIE_WITH_PARENT, signal.SIGKILL)
        if self._ours.recv(16) != READY:
            os._exit(1)
        tester.Tester(self._driver, self._ours, self._settings).serve()

    def _prepare_zygote(self) -> None:
        """Mount what belongs to the new process namespace, while that is still allowed."""
        kernel.unshare(kernel.NEW_MOUNTS)
        rootfs.mount_processes()
        owner = self._settings.user - 1 if self._is_root else os.geteuid()
        rootfs.mount_scratch(self._settings.scratch, size=self._settings.files, owner=owner)

    def _be_zygote(self) -> NoReturn:
        self._ours.close()
        self._driver.close()
        user = self._user_of_candidates()
        reads_all = user is not None and not self._settings.namespaces and not _anyone_reads(sys.base_prefix)
        kernel.control(kernel.NO_NEW_PRIVILEGES, 1)
        kernel.control(kernel.SET_DUMPABLE, 0)
        _install_filter()
        if not self._settings.namespaces:
            kernel.control(kernel.SET_SUBREAPER, 1)
        kernel.control(kernel.DIE_WITH_PARENT, signal.SIGKILL)
        self._theirs.send(READY)
        os.dup2(0, 2)
        zygote.Zygote(self._theirs, self._settings, user=user, reads_all=reads_all).serve()

    def _user_of_candidates(self) -> int | None:
        if not self._is_root:
            return None
        return 1 if self._settings.namespaces else self._settings.user


def _install_filter() -> None:
    program = syscall_filter.program(platform.machine())
    if program:
        kernel.install_filter(program)


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
    """End everything as soon as one child, or the driver, has ended."""
    poll = select.poll()
    poll.register(driver, 0)
    for pid in children:
        poll.register(os.pidfd_open(pid), select.POLLIN)
    poll.poll()
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    for pid in children:
        os.waitpid(pid, 0)
    os._exit(0)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
