"""A file system for candidates: the interpreter and the system's libraries, read-only, and nothing else of the host."""

import contextlib
import os

from voirdire.execution.jail import kernel

_SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix/store",
    "/etc/ld.so.cache",
    "/etc/alternatives",
)
_DEVICES = ("null", "zero", "full", "random", "urandom")
_OLD = "/old"
_BASE = "/tmp"


def enter(roots: tuple[str, ...]) -> None:
    """Exchange the root of this mount namespace for a small one that shows `roots` and the system's libraries.

    Raises OSError where the kernel does not allow it.
    """
    kernel.mount("none", "/", flags=kernel.RECURSIVE | kernel.SLAVE)
    kernel.mount(
        "voirdire", _BASE, kind="tmpfs", flags=kernel.NO_SUID, options="mode=0755,size=1m,nr_inodes=4096"
    )
    os.mkdir(_BASE + _OLD)
    os.chdir(_BASE)
    kernel.pivot_root(_BASE, _BASE + _OLD)
    os.chdir("/")
    for path in _SYSTEM:
        _show(path)
    for path in sorted({*roots}, key=len):
        if not os.path.lexists(path):
            _show(path)
    os.makedirs("/dev", exist_ok=True)
    for name in _DEVICES:
        _show(f"/dev/{name}")
    for name in ("proc", "scratch"):
        os.mkdir(f"/{name}")
    with contextlib.suppress(FileExistsError):
        os.symlink("/scratch/box", "/tmp")
    kernel.unmount(_OLD)
    os.rmdir(_OLD)
    kernel.mount("none", "/", flags=kernel.BIND | kernel.REMOUNT | kernel.READ_ONLY | kernel.NO_SUID)


def mount_scratch(path: str, *, size: int, owner: int) -> None:
    """Mount an empty file system of at most `size` bytes for candidates to write in."""
    options = f"mode=0711,size={size},nr_inodes=4096,uid={owner},gid={owner}"
    kernel.mount("voirdire", path, kind="tmpfs", flags=kernel.NO_SUID | kernel.NO_DEVICES, options=options)


def mount_processes() -> None:
    """Show the processes of this process namespace; where the kernel does not allow it, show none."""
    with contextlib.suppress(OSError):
        kernel.mount(
            "proc", "/proc", kind="proc", flags=kernel.NO_SUID | kernel.NO_DEVICES | kernel.READ_ONLY
        )


def _show(path: str) -> None:
    old = _OLD + path
    if os.path.islink(old):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.symlink(os.readlink(old), path)
        return
    if not os.path.exists(old):
        return
    if os.path.isdir(old):
        os.makedirs(path, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o644))
    kernel.mount(old, path, flags=kernel.BIND | kernel.RECURSIVE)
    if not path.startswith("/dev/"):
        kernel.make_read_only(path)
