"""Finds what stands in a room: one file per thing, the file's name is its public name.

Another package adds to a room through an entry point of the group `voirdire.probes`, `voirdire.judges` and
so on. Listing imports nothing; a thing is imported when it is used.
"""

from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from types import ModuleType

from voirdire.errors import UsageError

ROOMS = ("probes", "audits", "remedies", "judges", "importers", "readers", "studies", "cli")


def names(room: str) -> list[str]:
    """Return the sorted public names in a room, ours and those of other packages."""
    own = {
        entry.name.removesuffix(".py")
        for entry in files(f"voirdire.{room}").iterdir()
        if entry.name.endswith(".py") and not entry.name.startswith("_")
    }
    return sorted(own | set(_foreign(room)))


def load(room: str, name: str) -> ModuleType:
    """Import and return what stands under `name`; UsageError with the names there are where it does not exist."""
    foreign = _foreign(room)
    if name in foreign:
        loaded: ModuleType = foreign[name].load()
        return loaded
    if name not in names(room):
        raise UsageError(
            f"there is no {room.removesuffix('s')} '{name}'",
            hint=f"choose one of: {', '.join(names(room))}",
        )
    return import_module(f"voirdire.{room}.{name}")


def summary(room: str, name: str) -> str:
    """Return the first line of the module's docstring, without its full stop."""
    return (load(room, name).__doc__ or "").strip().splitlines()[0].rstrip(".")


def _foreign(room: str) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=f"voirdire.{room}")}
