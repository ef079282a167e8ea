"""The few system calls that Python does not offer, through the C library."""

import ctypes
import os
import struct
import sys
from typing import NamedTuple

NEW_MOUNTS = 0x00020000
NEW_CGROUP = 0x02000000
NEW_UTS = 0x04000000
NEW_IPC = 0x08000000
NEW_USER = 0x10000000
NEW_PIDS = 0x20000000
NEW_NETWORK = 0x40000000

READ_ONLY = 1
NO_SUID = 2
NO_DEVICES = 4
REMOUNT = 32
BIND = 4096
RECURSIVE = 16384
SLAVE = 1 << 19
DETACH = 2

DIE_WITH_PARENT = 1
SET_DUMPABLE = 4
KEEP_CAPABILITIES = 8
SET_SECCOMP = 22
SET_SUBREAPER = 36
NO_NEW_PRIVILEGES = 38

READ_EVERYTHING = 1 << 2
"""CAP_DAC_READ_SEARCH, as a bit of the first capability word."""

_CAPABILITY_VERSION = 0x20080522
_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_ATTRIBUTE_READ_ONLY = 1

_libc = ctypes.CDLL(None, use_errno=True)


class Machine(NamedTuple):
    """Numbers that differ between processors: the audit word of seccomp and system calls without a C function."""

    audit: int
    pivot_root: int
    capset: int


MACHINES = {
    "x86_64": Machine(audit=0xC000003E, pivot_root=155, capset=126),
    "aarch64": Machine(audit=0xC00000B7, pivot_root=41, capset=91),
}
MOUNT_SETATTR = 442


def processor() -> str:
    """Return the processor's name, as the kernel gives it."""
    return os.uname().machine


def is_linux() -> bool:
    """Return whether namespaces and the like can exist here at all."""
    return sys.platform.startswith("linux")


def machine() -> Machine | None:
    """Return this processor's numbers; None where they are not known."""
    return MACHINES.get(processor())


def unshare(flags: int) -> None:
    """Leave the namespaces that `flags` name. Raises OSError."""
    _checked(_libc.unshare(flags), "unshare")


def mount(source: str, target: str, *, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount `source` on `target`. Raises OSError naming the target."""
    done = _libc.mount(
        source.encode(), target.encode(), kind.encode() or None, flags, options.encode() or None
    )
    _checked(done, f"mount {target}")


def unmount(target: str) -> None:
    """Take `target` out of sight at once; it goes when nobody uses it. Raises OSError."""
    _checked(_libc.umount2(target.encode(), DETACH), f"unmount {target}")


def pivot_root(new: str, old: str) -> None:
    """Make `new` the root and show the former one under `old`. Raises OSError."""
    numbers = machine()
    if numbers is None:
        raise OSError(f"no system call numbers for {processor()}")
    _checked(_libc.syscall(numbers.pivot_root, new.encode(), old.encode()), "pivot_root")


def make_read_only(target: str) -> None:
    """Make a mount and what is mounted below it read-only. Raises OSError."""
    attributes = struct.pack("=QQQQ", _ATTRIBUTE_READ_ONLY, 0, 0, 0)
    done = _libc.syscall(
        MOUNT_SETATTR, _AT_FDCWD, target.encode(), _AT_RECURSIVE, attributes, len(attributes)
    )
    if done != 0:
        mount("none", target, flags=BIND | REMOUNT | READ_ONLY | NO_SUID)


def control(option: int, value: int = 0) -> None:
    """Set one property of this process (prctl). Raises OSError."""
    _checked(_libc.prctl(option, value, 0, 0, 0), f"prctl {option}")


def install_filter(program: bytes) -> None:
    """Install a seccomp filter for this process and its children. Raises OSError."""
    length = len(program) // 8
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", length, ctypes.addressof(buffer))
    _checked(_libc.prctl(SET_SECCOMP, 2, header, 0, 0), "seccomp")


def keep_only(capabilities: int) -> None:
    """Drop every capability but those in the first word `capabilities`. Raises OSError."""
    numbers = machine()
    if numbers is None:
        raise OSError(f"no system call numbers for {processor()}")
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    data = struct.pack("=IIIIII", capabilities, capabilities, 0, 0, 0, 0)
    _checked(_libc.syscall(numbers.capset, header, data), "capset")


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
