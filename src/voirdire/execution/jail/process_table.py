"""What the processes of a sample use and who they are, read from /proc."""

import os
from collections.abc import Iterator
from typing import NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Use(NamedTuple):
    """CPU seconds (children that ended included) and bytes of memory in use."""

    cpu: float
    memory: int


def use_of(pids: Iterator[int], *, resident: int) -> Use:
    """Add up what these processes use; those that ended meanwhile count as nothing.

    resident: bytes that each shares with the process it was forked from, which are not counted.
    """
    ticks = memory = 0
    for pid in pids:
        fields = _stat(pid)
        if fields:
            ticks += sum(map(int, fields[11:15]))
            memory += max(0, int(fields[21]) * _PAGE - resident)
    return Use(cpu=ticks / _TICKS, memory=memory)


def own_memory() -> tuple[int, int]:
    """Return this process's address space and resident memory in bytes; zeros where they cannot be read."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            size, resident, *_ = file.read().split()
    except OSError:
        return 0, 0
    return int(size) * _PAGE, int(resident) * _PAGE


def others() -> Iterator[int]:
    """Yield every process in sight but the first: in a process namespace of our own, those of the sample."""
    return (pid for pid in _all() if pid != 1)


def descendants(ancestor: int) -> Iterator[int]:
    """Yield the processes below `ancestor`, at any depth."""
    children: dict[int, list[int]] = {}
    for pid in _all():
        fields = _stat(pid)
        if fields:
            children.setdefault(int(fields[1]), []).append(pid)
    pending = list(children.get(ancestor, ()))
    while pending:
        pid = pending.pop()
        pending.extend(children.get(pid, ()))
        yield pid


def threads_of_user(user: int) -> int:
    """Return how many threads this user runs, as the limit of processes counts them."""
    count = 0
    for pid in _all():
        try:
            if os.stat(f"/proc/{pid}").st_uid == user:
                count += len(os.listdir(f"/proc/{pid}/task"))
        except OSError:
            continue
    return count


def _all() -> Iterator[int]:
    try:
        names = os.listdir("/proc")
    except OSError:
        names = []
    return (int(name) for name in names if name.isdigit())


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the state on; [] where the process has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []
