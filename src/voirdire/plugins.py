"""Finds what stands in a room: one file per thing, the file's name is its public name.

Another package adds to a room through an entry point of the group `voirdire.probes`, `voirdire.judges` and
so on. Listing imports nothing; a thing is imported when it is used.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from voirdire.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ROOMS = ("probes", "audits", "remedies", "judges", "importers", "readers", "studies", "cli")

HOUSE = os.path.dirname(__file__)


def names(room: str) -> list[str]:
    """Return the sorted public names in a room, ours and those of other packages; [] where there is no such room."""
    return sorted(_own(room) | set(_foreign(room)))


def load(room: str, name: str) -> ModuleType:
    """Import and return what stands under `name`; of two with one name ours is taken.

    Raises UsageError with the names there are where it does not exist, and where another package's cannot be imported.
    """
    if name in _own(room):
        return import_module(f"voirdire.{room}.{name}")
    foreign = _foreign(room)
    if name in foreign:
        return _imported(room, foreign[name])
    raise UsageError(
        f"there is no {_one_of(room)} '{name}'",
        hint=f"choose one of: {', '.join(names(room))}",
    )


def summary(room: str, name: str) -> str:
    """Return the first line of the module's docstring, without its full stop. Ours is read, not imported."""
    if name in _own(room):
        with open(os.path.join(HOUSE, room, f"{name}.py"), encoding="utf-8") as file:
            first = file.readline()
        return first.strip().removeprefix('"""').removesuffix('"""').rstrip(".")
    try:
        module = load(room, name)
    except UsageError as error:
        return str(error)
    return (module.__doc__ or "").strip().partition("\n")[0].rstrip(".")


def _imported(room: str, entry: EntryPoint) -> ModuleType:
    try:
        loaded: ModuleType = entry.load()
    except Exception as error:
        package = entry.dist.name if entry.dist else entry.value
        raise UsageError(
            f"the {_one_of(room)} '{entry.name}' of the package {package} cannot be loaded: {error}",
            hint=f"upgrade {package}, or remove it",
        ) from error
    return loaded


def _one_of(room: str) -> str:
    return {"cli": "command", "studies": "study", "remedies": "remedy"}.get(room, room.removesuffix("s"))


def _own(room: str) -> set[str]:
    folder = os.path.join(HOUSE, room)
    entries = os.listdir(folder) if os.path.isdir(folder) else []
    return {
        entry.removesuffix(".py") for entry in entries if entry.endswith(".py") and not entry.startswith("_")
    }


def _foreign(room: str) -> dict[str, EntryPoint]:
    if room not in _groups_of_others():
        return {}
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=f"voirdire.{room}")}


@cache
def _groups_of_others() -> frozenset[str]:
    """Return the rooms that some installed package adds to.

    The files are looked through by hand because `importlib.metadata` alone costs 0.08 s to import, as much as the
    whole of `voirdire --help`; it is used only once there is something to find.
    """
    found = {room for text in _entry_point_files() for room in ROOMS if f"[voirdire.{room}]" in text}
    return frozenset(found)


def _entry_point_files() -> Iterator[str]:
    for folder in sys.path:
        try:
            entries = os.listdir(folder or ".")
        except OSError:
            continue
        for entry in entries:
            if entry.endswith((".dist-info", ".egg-info")):
                yield _text_of(os.path.join(folder, entry, "entry_points.txt"))


def _text_of(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
