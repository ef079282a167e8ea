"""How strictly candidates are kept from the host, and what each level needs.

`process`: limits only, for trusted code. `namespace`: Linux namespaces of their own around a worker's candidates.
`bubblewrap`: the whole worker inside a bubblewrap sandbox, with namespaces inside. `container`: the whole worker inside a
container, candidates as another user than what watches them.
"""

import os
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from voirdire.errors import UsageError
from voirdire.execution.jail import kernel
from voirdire.execution.tasks import Isolation, Limits

TRUSTED_ONLY = "for trusted code only"
IMAGE = "python:3.11-slim"
SCRATCH = "/scratch"
_SOURCE = Path(__file__).resolve().parents[1]
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/etc/ld.so.cache")

BOOT = """
import sys, types
for name, folder in (("voirdire", {house!r}), ("voirdire.execution", {house!r} + "/execution")):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [folder]
from voirdire.execution.jail.launch import main
main(sys.argv[1:])
"""
"""Starts a worker without importing the house's front door, whatever that may import one day."""


@dataclass(frozen=True)
class Shell:
    """The command line before the worker's own arguments. `streams`: the driver is on standard input and output."""

    command: tuple[str, ...]
    streams: bool = False


def check_choice(isolation: Isolation, *, unsafe: bool) -> None:
    """Raise UsageError where the level cannot be used here, or is unsafe and not asked for as such."""
    if isolation == Isolation.PROCESS and not unsafe:
        raise UsageError(
            f"the isolation 'process' sets limits and hides nothing: it is {TRUSTED_ONLY}",
            hint="add --unsafe (`unsafe=True`) if you trust every sample, or choose another isolation",
        )
    if isolation != Isolation.CONTAINER and not kernel.is_linux():
        raise UsageError(
            f"the isolation '{isolation}' needs Linux, and this is {sys.platform}",
            hint="use --isolation container, with Docker or Podman",
        )
    if isolation == Isolation.BUBBLEWRAP and not shutil.which("bwrap"):
        raise UsageError(
            "the isolation 'bubblewrap' needs the program `bwrap`, which is not on the PATH",
            hint="install the package `bubblewrap`, or use --isolation namespace",
        )
    if isolation == Isolation.CONTAINER and _engine() is None:
        raise UsageError(
            "the isolation 'container' needs `docker` or `podman`, and neither is on the PATH",
            hint="install one of them, or use --isolation namespace",
        )


def shell_for(isolation: Isolation, *, limits: Limits, roots: Sequence[str], image: str) -> Shell:
    """Return how a worker of this level is started."""
    if isolation == Isolation.BUBBLEWRAP:
        return Shell((*_bubblewrap(roots), *_interpreter()))
    if isolation == Isolation.CONTAINER:
        return Shell(_container(limits, image), streams=True)
    return Shell(_interpreter())


def interpreter_roots() -> tuple[str, ...]:
    """Return the folders that hold this interpreter and the packages candidates may import."""
    paths = sysconfig.get_paths()
    folders = {
        sys.base_prefix,
        sys.prefix,
        paths["stdlib"],
        paths["platstdlib"],
        paths["purelib"],
        paths["platlib"],
    }
    return tuple(sorted(os.path.realpath(folder) for folder in folders if os.path.isdir(folder)))


def environment(scratch: str) -> dict[str, str]:
    """Return the environment of a worker: nothing of the caller's but what the loader of libraries needs.

    The seed of hashes is fixed, so that the order of a set is the same in calibration and after it.
    """
    box = f"{scratch}/box"
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    return {
        **kept,
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "HOME": box,
        "TMPDIR": box,
        "MPLBACKEND": "Agg",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


def _interpreter() -> tuple[str, ...]:
    return (sys.executable, "-s", "-P", "-c", BOOT.format(house=str(_SOURCE)))


def _bubblewrap(roots: Sequence[str]) -> tuple[str, ...]:
    command = [
        shutil.which("bwrap") or "bwrap",
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--uid",
        "1000",
        "--gid",
        "1000",
    ]
    for path in _SYSTEM:
        if os.path.islink(path):
            command += ["--symlink", os.readlink(path), path]
        elif os.path.exists(path):
            command += ["--ro-bind", path, path]
    command += ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--dir", SCRATCH]
    for root in sorted({*roots, str(_SOURCE)}, key=len):
        if not root.startswith(("/usr/", "/lib")):
            command += ["--ro-bind", root, root]
    return (*command, "--chdir", "/")


def _container(limits: Limits, image: str) -> tuple[str, ...]:
    engine = _engine() or "docker"
    rights = ("SETUID", "SETGID", "KILL", "CHOWN", "DAC_OVERRIDE", "FOWNER")
    settings = {key: value for key, value in environment(SCRATCH).items() if key != "LD_LIBRARY_PATH"}
    return (
        *(
            engine,
            "run",
            "--rm",
            "--interactive",
            "--network=none",
            "--ipc=none",
            "--read-only",
            "--cap-drop=ALL",
        ),
        *(f"--cap-add={right}" for right in rights),
        *("--security-opt=no-new-privileges", f"--pids-limit={limits.processes + 32}"),
        f"--memory={2 * limits.memory_mb + 1024}m",
        f"--tmpfs={SCRATCH}:rw,exec,nosuid,nodev,mode=0711,size={limits.file_mb}m,nr_inodes=4096",
        f"--volume={_SOURCE}:/voirdire:ro",
        *(f"--env={key}={value}" for key, value in settings.items()),
        *(image, "python", "-s", "-P", "-c", BOOT.format(house="/voirdire")),
    )


def _engine() -> str | None:
    return shutil.which("docker") or shutil.which("podman")
