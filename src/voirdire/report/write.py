"""Writes what a person gets: findings.json, then report.html from that file alone."""

import os
import tempfile
from pathlib import Path

from voirdire.errors import UsageError
from voirdire.model import Examination
from voirdire.report.findings_file import read_data, to_text

FINDINGS = "findings.json"
PAGE = "report.html"


def write(examination: Examination, out: Path) -> Path:
    """Write findings.json and report.html into the folder `out` and return the page's path.

    Each file is there whole or not at all. Raises UsageError where the folder cannot be written.
    """
    make_folder(out)
    write_whole(out / FINDINGS, to_text(examination))
    return write_page(out / FINDINGS, out)


def write_page(findings: Path, out: Path) -> Path:
    """Write report.html into the folder `out` from a findings file alone and return its path."""
    from voirdire.report.page import render

    page = render(read_data(findings))
    make_folder(out)
    write_whole(out / PAGE, page)
    return out / PAGE


def make_folder(out: Path) -> None:
    """Make a folder with all above it; UsageError where that cannot be done."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot make the folder {out}: {error.strerror}", hint="choose another folder with --out"
        ) from error


def write_whole(path: Path, text: str) -> None:
    """Write a file that is there whole or not at all; UsageError where its folder cannot be written into."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise UsageError(
            f"cannot write into {path.parent}: {error.strerror}", hint="choose another folder with --out"
        ) from error
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
