"""The one folder a candidate can write in: made fresh for each sample, emptied after it."""

import contextlib
import os
import stat

BOX = "box"


def make_box(scratch: str, owner: int | None) -> str:
    """Make an empty folder for one sample and return its path."""
    box = f"{scratch}/{BOX}"
    os.mkdir(box, 0o700)
    if owner is not None:
        os.chown(box, owner, owner)
    return box


def empty(scratch: str) -> None:
    """Remove all that stands in `scratch`, however deep and whatever its modes.

    Folders are brought up to the top one level at a time, so that no depth is too great and no path too long.
    """
    os.chmod(scratch, 0o711)
    counter = 0
    while names := os.listdir(scratch):
        for name in names:
            path = f"{scratch}/{name}"
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                os.unlink(path)
                continue
            os.chmod(path, 0o700)
            for child in os.listdir(path):
                counter += 1
                _bring_up(f"{path}/{child}", f"{scratch}/.{counter}")
            with contextlib.suppress(OSError):
                os.rmdir(path)


def _bring_up(path: str, target: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        os.chmod(path, 0o700)
    os.rename(path, target)
