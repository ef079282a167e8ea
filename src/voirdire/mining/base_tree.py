"""A repository as it stood at one commit, to be looked at: list, read, search, and nothing else.

Everything comes out of git's objects by the name of the one commit: there is no folder to leave, no later commit to name,
and a link is its own text, which is never followed. A path that tries to leave the tree, or to reach into `.git`, is a
`LeftPath`; one that merely is not there, or cannot be shown, is a `CannotShow` with the reason.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from voirdire.errors import DataError, UsageError
from voirdire.mining.git import BIG_FILE, GitFailed, Mirror

MOST_FILES = 200_000
"""Files of a commit from which it is not looked at: its list alone would fill the memory."""

SEARCHED = 20_000_000
"""Bytes that one search reads at most; it says where it stopped."""

_LINK, _MODULE = "120000", "160000"


class LeftPath(Exception):
    """A path that leaves the tree, is absolute, or reaches into `.git`."""


class CannotShow(Exception):
    """A path or pattern for which there is nothing to show; `str()` says why."""


@dataclass(frozen=True)
class Entry:
    """One file of the commit: its mode ('100644', ...), object and size in bytes."""

    mode: str
    object: str
    size: int


@dataclass(frozen=True)
class Found:
    """One line that a search found; `line` counts from 1."""

    path: str
    line: int
    text: str


class BaseTree:
    """The files of one commit."""

    def __init__(self, mirror: Mirror, commit: str) -> None:
        self._mirror = mirror
        self.commit = commit
        self._texts: dict[str, str] = {}

    @cached_property
    def entries(self) -> Mapping[str, Entry]:
        """Every file by its path, in order. Raises UsageError where there is no such commit, DataError for too many files."""
        try:
            raw = self._mirror.git("ls-tree", "-r", "-l", "-z", "--full-tree", self.commit)
        except GitFailed:
            raise UsageError(
                f"{self._mirror.source}: the commit {self.commit} is not there",
                hint="name the repository that the tasks were mined from with --repo",
            ) from None
        rows = raw.decode("utf-8", "surrogateescape").split("\0")[:-1]
        if len(rows) > MOST_FILES:
            raise DataError(
                f"{self._mirror.source}: the commit {self.commit} has {len(rows):,} files",
                hint=f"at most {MOST_FILES:,} are looked at",
            )
        return dict(_entry(row) for row in rows)

    def listed(self, path: str) -> list[str]:
        """Return what stands in a folder ('' or '.': the whole tree's top), folders with a slash at their end.

        Raises LeftPath, CannotShow.
        """
        folder = inside(path)
        start = f"{folder}/" if folder else ""
        names = {name[len(start) :].partition("/") for name in self.entries if name.startswith(start)}
        if not names:
            what = "is a file" if folder in self.entries else "is not there"
            raise CannotShow(f"the folder '{folder}' {what}")
        return sorted({f"{head}{slash}" for head, slash, _ in names})

    def text(self, path: str) -> str:
        """Return a file's text. Raises LeftPath, CannotShow (a link, a submodule, binary, too large, not there)."""
        name = inside(path)
        if name not in self._texts:
            self._texts[name] = self._loaded(name)
        return self._texts[name]

    def bytes_of(self, path: str) -> bytes | None:
        """Return a file's bytes, of a link its target; None where it is not there, is too large or a submodule."""
        entry = self.entries.get(path)
        if entry is None or entry.mode == _MODULE or entry.size > BIG_FILE:
            return None
        return self._mirror.git("cat-file", "blob", entry.object)

    def search(self, pattern: str, path: str = "") -> Iterator[Found]:
        """Yield the lines that hold `pattern` (plain text, case counts) in the files below `path`, in their order.

        Raises LeftPath, CannotShow for an empty pattern or a path that is not there.
        """
        if not pattern.strip():
            raise CannotShow("an empty pattern is everywhere")
        start = inside(path)
        names = [name for name in self.entries if not start or name == start or name.startswith(f"{start}/")]
        if not names:
            raise CannotShow(f"'{start}' is not there")
        return self._matches(pattern, names)

    def _matches(self, pattern: str, names: Sequence[str]) -> Iterator[Found]:
        left = SEARCHED
        for name in names:
            left -= self.entries[name].size
            if left < 0:
                return
            try:
                lines = self.text(name).split("\n")
            except CannotShow:
                continue
            for number, line in enumerate(lines, start=1):
                if pattern in line:
                    yield Found(name, number, line)

    def _loaded(self, name: str) -> str:
        entry = self.entries.get(name)
        if entry is None:
            folder = any(other.startswith(f"{name}/") for other in self.entries) or not name
            raise CannotShow(f"'{name}' is {'a folder' if folder else 'not there'}")
        if entry.mode == _LINK:
            raise CannotShow(f"'{name}' is a link, and links are not followed")
        if entry.mode == _MODULE:
            raise CannotShow(f"'{name}' is another repository")
        if entry.size > BIG_FILE:
            raise CannotShow(f"'{name}' has {entry.size:,} bytes, which is too large")
        try:
            raw = self._mirror.git("cat-file", "blob", entry.object)
        except GitFailed as error:
            raise CannotShow(f"'{name}' cannot be read: {error.said}") from None
        if b"\0" in raw:
            raise CannotShow(f"'{name}' is binary")
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            raise CannotShow(f"'{name}' is not UTF-8") from None


def inside(path: str) -> str:
    """Return a path with its steps joined by single slashes, '' for the top. Raises LeftPath where it leaves the tree."""
    if "\0" in path or "\\" in path or path.startswith(("/", "~")) or re.match(r"[A-Za-z]:", path):
        raise LeftPath(f"{path!r} is no path inside the repository")
    steps = [step for step in path.split("/") if step not in ("", ".")]
    if ".." in steps:
        raise LeftPath(f"{path!r} leads out of the repository")
    if any(step.casefold() == ".git" for step in steps):
        raise LeftPath(f"{path!r} reaches into .git")
    return "/".join(steps)


def _entry(row: str) -> tuple[str, Entry]:
    about, _, path = row.partition("\t")
    mode, _, name, size = about.split()
    return path, Entry(mode, name, int(size) if size.isdigit() else 0)
