"""Applies patches with the `git` program, to compare with."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

GIT = shutil.which("git")


def environment(folder: Path) -> dict[str, str]:
    """Return an environment in which git sees no settings and no repository above `folder`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    ours = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C"}
    return {**kept, **ours, "GIT_CEILING_DIRECTORIES": str(folder.parent)}


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def files_in(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_bytes().decode()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def applied_by_git(
    patch: str, files: Mapping[str, str], folder: Path, *options: str
) -> dict[str, str] | None:
    """Return the files after `git apply`; None where it refuses."""
    assert GIT is not None
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    write_files(folder, files)
    done = subprocess.run(
        [GIT, "apply", "--whitespace=nowarn", *options, "-"],
        input=patch.encode(),
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        check=False,
    )
    return files_in(folder) if done.returncode == 0 else None
