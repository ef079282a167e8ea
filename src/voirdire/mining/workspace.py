"""A repository for one attempt: the base commit checked out, nothing later in it; and the diff that came of it.

What a harness gets is a repository of its own with its own objects: those of the base commit and of a number of
commits before it, and no other. No later commit, tag, branch, reflog or object is in it, and nothing in it names the
place that it came from. What it has done is read from outside, with an index and an object store of ours: settings,
hooks, attributes and nested repositories that it may have left behind are never obeyed.
"""

import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from voirdire.mining.git import PLAIN_ATTRIBUTES, GitFailed, Mirror, run_git

BRANCH = "main"

DEEPEST = 200
"""Folders in folders that are unlocked before they are removed."""

SMALLEST_PART = 100
"""Bytes that a diff has at least for each changed file."""


class TooLarge(Exception):
    """The change has more bytes than may be captured. `size`: how many it has at least."""

    def __init__(self, size: int) -> None:
        super().__init__(f"{size:,} bytes")
        self.size = size


@dataclass(frozen=True)
class Captured:
    """What a harness changed. `diff`: in git's form, its bytes being those of `diff.encode(encoding)`.

    `not_captured`: paths that could not be, with the reason: nested repositories, unreadable files, devices.
    """

    diff: str
    encoding: str
    not_captured: Mapping[str, str]


@dataclass(frozen=True)
class Workspace:
    """One attempt's folder: `tree` is the harness's work tree, `private` holds our index and objects."""

    mirror: Mirror
    base: str
    tree: Path
    private: Path

    def make(self, *, history: int) -> None:
        """Write the repository with the base commit checked out and `history` commits in all (0: all there are).

        Raises GitFailed where objects are missing.
        """
        self.tree.mkdir(parents=True)
        self.private.mkdir(parents=True)
        (self.private / "objects").mkdir()
        own = self.tree / ".git"
        form = f"--object-format={self.mirror.object_format}"
        run_git(["init", "--quiet", "--template=", form, str(self.tree)])
        self._bring_objects(own, history)
        (own / "info").mkdir(exist_ok=True)
        (own / "info" / "attributes").write_text(PLAIN_ATTRIBUTES, encoding="ascii")
        for name, value in (("user.name", "harness"), ("user.email", "harness@localhost"), ("gc.auto", "0")):
            run_git(["config", "--file", str(own / "config"), name, value])
        git = [f"--git-dir={own}", f"--work-tree={self.tree}", "-c", "core.logAllRefUpdates=false"]
        run_git([*git, "update-ref", f"refs/heads/{BRANCH}", self.base], folder=self.tree)
        run_git([*git, "symbolic-ref", "HEAD", f"refs/heads/{BRANCH}"], folder=self.tree)
        run_git([*git, "read-tree", "--reset", "-u", "HEAD"], folder=self.tree)

    def _bring_objects(self, own: Path, history: int) -> None:
        """Copy the objects that the kept commits reach, and no other, as one pack."""
        ends = self._ends(history)
        asked = "".join(f"--shallow {end}\n" for end in ends) + f"{self.base}\n"
        (own / "objects" / "pack").mkdir(parents=True, exist_ok=True)
        words = [
            "pack-objects",
            "--revs",
            "--quiet",
            "--delta-base-offset",
            str(own / "objects" / "pack" / "pack"),
        ]
        self.mirror.git(*words, given=asked.encode("ascii"))
        if ends:
            (own / "shallow").write_text("".join(f"{end}\n" for end in ends), encoding="ascii")

    def _ends(self, history: int) -> list[str]:
        """Return the commits that are kept but whose parents are not all."""
        if history <= 0:
            return self._ends_of_source()
        listed = self.mirror.git("rev-list", "--topo-order", "--parents", f"--max-count={history}", self.base)
        rows = [line.split() for line in listed.decode("ascii").splitlines()]
        kept = {row[0] for row in rows}
        cut = [row[0] for row in rows if any(parent not in kept for parent in row[1:])]
        return sorted({*cut, *(end for end in self._ends_of_source() if end in kept)})

    def _ends_of_source(self) -> list[str]:
        shallow = self.mirror.folder / "shallow"
        return shallow.read_text(encoding="ascii").split() if shallow.exists() else []

    # --- what came of it ------------------------------------------------------------------------------

    def capture(self, *, largest: int) -> Captured:
        """Return the difference between the base commit and the work tree, untracked files included, ignored ones not.

        Raises TooLarge where changed files or the diff have more than `largest` bytes, GitFailed.
        """
        self._git("read-tree", self.base)
        self._git("update-index", "-q", "--refresh", "--really-refresh", may_fail=True)
        changed = {*self._listed("--modified", "--deleted"), *self._listed("--others", "--exclude-standard")}
        takeable, not_captured = self._sorted_out(sorted(changed))
        self._refuse_large(takeable, largest)
        self._git(
            "update-index", "-z", "--add", "--remove", "--replace", "--stdin", given=b"\0".join(takeable)
        )
        after = self._git("write-tree").strip().decode("ascii")
        raw = self._diff(after, largest)
        try:
            return Captured(raw.decode("utf-8"), "utf-8", not_captured)
        except UnicodeDecodeError:
            return Captured(raw.decode("latin-1"), "latin-1", not_captured)

    def _listed(self, *words: str) -> list[bytes]:
        return [path for path in self._git("ls-files", "-z", *words).split(b"\0") if path]

    def _sorted_out(self, paths: Iterable[bytes]) -> tuple[list[bytes], dict[str, str]]:
        """Part the changed paths into those that git can take in and those it cannot, with the reason."""
        takeable: list[bytes] = []
        refused: dict[str, str] = {}
        for path in paths:
            why = self._why_not(path)
            if why is None:
                takeable.append(path)
            else:
                refused[path.decode("utf-8", "backslashreplace")] = why
        return takeable, refused

    def _why_not(self, path: bytes) -> str | None:
        place = os.path.join(os.fsencode(self.tree), path)
        try:
            mode = os.lstat(place).st_mode
        except OSError:
            return None  # deleted
        if path.endswith(b"/") or stat.S_ISDIR(mode):
            return "a repository inside the repository"
        if stat.S_ISLNK(mode):
            return None
        if not stat.S_ISREG(mode):
            return "neither file nor link"
        return None if os.access(place, os.R_OK) else "not readable"

    def _refuse_large(self, paths: Sequence[bytes], largest: int) -> None:
        """Raise TooLarge where the changed files are so large that their diff must be larger than is allowed."""
        least = SMALLEST_PART * len(paths)
        if least > largest:
            raise TooLarge(least)
        sizes = (self._growth(path) for path in paths)
        total = sum(size for size in sizes if size is not None)
        if total > largest:
            raise TooLarge(total)

    def _growth(self, path: bytes) -> int | None:
        """Return the bytes by which a file is larger than its base: a diff has at least as many; None: it is gone."""
        try:
            size = os.lstat(os.path.join(os.fsencode(self.tree), path)).st_size
        except OSError:
            return None
        return max(0, size - self._base_size(path)) if size > 1 << 16 else 0

    def _base_size(self, path: bytes) -> int:
        found = self._git("ls-tree", "-l", "-z", self.base, "--", os.fsdecode(path), may_fail=True)
        size = found.partition(b"\t")[0].split()[-1:] or [b"0"]
        return int(size[0]) if size[0].isdigit() else 0

    def _diff(self, after: str, largest: int) -> bytes:
        words = [
            "diff-tree",
            "-r",
            "-p",
            "-U3",
            "-M50%",
            "-l400",
            "--full-index",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--src-prefix=a/",
            "--dst-prefix=b/",
            self.base,
            after,
        ]
        raw = self.mirror.git(*words, extra=self._stores(), at_most=largest + 1)
        if len(raw) > largest:
            raise TooLarge(len(raw))
        return raw

    def _git(self, *words: str, given: bytes = b"", may_fail: bool = False) -> bytes:
        extra = {**self._stores(), "GIT_INDEX_FILE": str(self.private / "index")}
        options = [f"--git-dir={self.mirror.folder}", f"--work-tree={self.tree}", "-c", "core.bare=false"]
        try:
            return run_git([*options, *words], folder=self.tree, given=given, extra=extra)
        except GitFailed:
            if may_fail:
                return b""
            raise

    def _stores(self) -> dict[str, str]:
        """Return where objects are written to and what else they are read from."""
        return {
            "GIT_OBJECT_DIRECTORY": str(self.private / "objects"),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(self.mirror.folder / "objects"),
        }

    def remove(self) -> None:
        """Take everything away, also what the harness has locked."""
        for folder in (self.tree, self.private):
            _unlock(folder)
            shutil.rmtree(folder, ignore_errors=True)


def _unlock(folder: Path) -> None:
    for path in _folders(folder, DEEPEST):
        try:
            os.chmod(path, 0o700)
        except OSError:
            continue


def _folders(folder: Path, depth: int) -> Iterator[Path]:
    """Yield a folder and those in it, each before it is looked into; links are not followed."""
    yield folder
    if depth == 0:
        return
    try:
        inside = [Path(entry.path) for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    for one in inside:
        yield from _folders(one, depth - 1)
