"""Walks through a git history, newest first, and makes a task of each commit that is chosen.

It streams: git lists the commits, and three git processes are asked about one commit after the other. What is cheap
to know is looked at first (message, then names of files), so that most commits never have their diff made; of a diff
no more is read than may be kept. The same repository at the same commit gives the same tasks.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from voirdire.edits.patch import FilePatch, Patch, parse
from voirdire.errors import DataError
from voirdire.mining.brief import brief_of, is_trivial
from voirdire.mining.choice import Choice, Globs, Reason, Unit
from voirdire.mining.git import BIG_FILE, GitFailed, Mirror, Pipe, PipeClosed, is_object
from voirdire.mining.redaction import redacted_diff, redacted_text
from voirdire.mining.tasks import ChangedFile, MinedTask, TaskPatch

ID_LENGTH = 16
"""Digits of a commit's name that make a task's id: not the shortest that are clear, which change as a history grows."""

LARGEST_COMMIT = 1 << 18
"""Bytes of a commit object that are read: a longer message is no brief."""

MOST_ENTRIES = 20_000
"""Changed files of one commit that are looked at by name."""

_WALKS = {
    Unit.COMMITS: ("--no-merges",),
    Unit.MERGES: ("--first-parent", "--merges"),
    Unit.MAINLINE: ("--first-parent",),
}

_DIFF = (
    "diff-tree",
    "--stdin",
    "-r",
    "--no-commit-id",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--ignore-submodules=none",
)
_NAMES = (*_DIFF, "--raw", "-z", "--no-abbrev", "--no-renames")
_PATCH = (
    *_DIFF,
    "-p",
    "-U3",
    "--full-index",
    "-M50%",
    "-l400",
    "--diff-algorithm=myers",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--submodule=short",
)
_STOP = "voirdire: next"
"""Not an object's name: `git diff-tree --stdin` says it again and flushes, which shows where an answer ends."""

_BOT = re.compile(rb"\[bot\]|\bbot@|dependabot|renovate|greenkeeper|pre-commit-ci", re.IGNORECASE)


@dataclass(frozen=True)
class LeftOut:
    """A commit that is no task, and why."""

    commit: str
    reason: Reason


def count_commits(mirror: Mirror, head: str, after: str | None, choice: Choice) -> int:
    """Return how many commits `mine` will look at, at most."""
    try:
        return int(mirror.git("rev-list", "--count", *_WALKS[choice.unit], *_range(head, after)))
    except GitFailed:
        raise _damaged(mirror) from None


def mine(
    mirror: Mirror, head: str, choice: Choice, *, after: str | None = None
) -> Iterator[MinedTask | LeftOut]:
    """Yield every commit that `head` reaches and `after` does not, newest first, as a task or as left out.

    `head`, `after`: whole names of commits. Ends once `choice.limit` tasks are there.
    """
    made = 0
    with _Asking(mirror) as asking:
        chooser = _Chooser(asking, choice)
        for commit, parents in _walk(mirror, head, after, choice.unit):
            if choice.limit is not None and made >= choice.limit:
                return
            found = chooser.task(commit, parents)
            made += isinstance(found, MinedTask)
            yield found


def _walk(mirror: Mirror, head: str, after: str | None, unit: Unit) -> Iterator[tuple[str, list[str]]]:
    """Yield commits with their parents."""
    with mirror.pipe("rev-list", "--topo-order", "--parents", *_WALKS[unit], *_range(head, after)) as listed:
        try:
            while not listed.at_end():
                commit, *parents = listed.until(b"\n").decode("ascii").split()
                yield commit, parents
        except PipeClosed:
            raise _damaged(mirror) from None


def _damaged(mirror: Mirror) -> DataError:
    return DataError(
        f"{mirror.source}: git cannot read its history to the end: commits are missing or damaged",
        hint="`git fsck` in it names them; or mine only what is newer than the damage with --after",
    )


def _range(head: str, after: str | None) -> list[str]:
    names = [head, *([after] if after else [])]
    if not all(is_object(name) for name in names):
        raise ValueError(f"not whole names of commits: {names}")
    return [head, *([f"^{after}"] if after else [])]


# --- asking git -----------------------------------------------------------------------------------------


class _Entry(NamedTuple):
    """One changed file by name: its modes before and after, and its path."""

    old_mode: str
    new_mode: str
    path: str


@dataclass(frozen=True)
class _Segment:
    """What a diff says about one file. `whole`: nothing was cut away."""

    raw: bytes
    whole: bool


@dataclass
class _Asking:
    """Three git processes that answer about commits; one that ends is started anew."""

    mirror: Mirror
    _pipes: dict[tuple[str, ...], Pipe] = field(default_factory=dict)

    def __enter__(self) -> "_Asking":
        return self

    def __exit__(self, *exception: object) -> None:
        for pipe in self._pipes.values():
            pipe.close()

    def restart(self) -> None:
        """End all processes; each is started anew when it is next asked."""
        for pipe in self._pipes.values():
            pipe.close()
        self._pipes.clear()

    def commit(self, name: str) -> bytes | None:
        """Return a commit object; None where it is larger than any that is read. Raises PipeClosed."""
        pipe = self._pipe("cat-file", "--batch")
        pipe.send(f"{name}\n")
        told = pipe.until(b"\n").split()
        if len(told) != 3:
            raise PipeClosed
        size = int(told[2])
        if size > LARGEST_COMMIT:
            pipe.skip(size + 1)
            return None
        return pipe.exactly(size + 1)[:-1]

    def entries(self, commit: str, base: str) -> list[_Entry]:
        """Return the files that differ, at most one more than MOST_ENTRIES. Raises PipeClosed."""
        pipe = self._asked(_NAMES, commit, base)
        found: list[_Entry] = []
        while pipe.first_byte() == b":":
            modes = pipe.until(b"\0").decode("ascii").split()
            path = pipe.until(b"\0", at_most=1 << 14)[:-1].decode("utf-8", "surrogateescape")
            if len(found) <= MOST_ENTRIES:
                found.append(_Entry(modes[0][1:], modes[1], path))
        pipe.until(b"\n")
        return found

    def segments(self, commit: str, base: str, *, at_most: int) -> Iterator[_Segment]:
        """Yield the diff file by file, of each file at most `at_most` bytes. Raises PipeClosed."""
        pipe = self._asked(_PATCH, commit, base)
        kept = bytearray()
        whole = True
        while (line := pipe.until(b"\n", at_most=BIG_FILE + 2)) != f"{_STOP}\n".encode():
            if line.startswith(b"diff --git ") and kept:
                yield _Segment(bytes(kept), whole)
                kept.clear()
                whole = True
            whole = whole and len(kept) + len(line) <= at_most
            if whole:
                kept += line
        if kept:
            yield _Segment(bytes(kept), whole)

    def _asked(self, words: tuple[str, ...], commit: str, base: str) -> Pipe:
        pipe = self._pipe(*words)
        pipe.send(f"{commit} {base}\n{_STOP}\n")
        return pipe

    def _pipe(self, *words: str) -> Pipe:
        if words not in self._pipes:
            self._pipes[words] = self.mirror.pipe(*words)
        return self._pipes[words]


# --- choosing -------------------------------------------------------------------------------------------


class _No(Exception):
    """This commit is no task."""

    def __init__(self, reason: Reason) -> None:
        self.reason = reason


@dataclass(frozen=True)
class _Commit:
    """What a commit object says. `made`: the committer's time, in seconds since 1970."""

    message: str
    made: int
    by: bytes


@dataclass(frozen=True)
class _Change:
    """A commit's diff in its two parts, before anything is taken out of it."""

    reference: str
    test_patch: str
    files: tuple[ChangedFile, ...]
    left_out: tuple[str, ...]


class _Chooser:
    def __init__(self, asking: _Asking, choice: Choice) -> None:
        self._asking = asking
        self._choice = choice
        self._excluded = Globs(choice.exclude)
        self._tests = Globs(choice.tests)
        self._seen: set[bytes | str] = set()

    def task(self, commit: str, parents: Sequence[str]) -> MinedTask | LeftOut:
        """Return the task that a commit makes, or why it makes none."""
        try:
            if not parents:
                raise _No(Reason.ROOT)
            return self._task(commit, parents[0])
        except _No as no:
            return LeftOut(commit, no.reason)
        except PipeClosed:
            self._asking.restart()
            return LeftOut(commit, Reason.DAMAGED)

    def _task(self, commit: str, base: str) -> MinedTask:
        said = self._said(commit)
        brief, trailers = self._brief(said)
        self._check_names(self._asking.entries(commit, base))
        change = self._change(commit, base)
        self._check_size(change)
        reference, test_patch = _clean(change.reference), _clean(change.test_patch)
        self._check_new(change.reference, commit[:ID_LENGTH])
        cleaned = redacted_text(brief)
        removed = {**cleaned.removed, **({"trailer": trailers} if trailers else {})}
        return MinedTask(
            id=commit[:ID_LENGTH],
            commit=commit,
            base=base,
            made=said.made,
            brief=cleaned.text,
            reference=reference,
            test_patch=test_patch,
            files=change.files,
            left_out=change.left_out,
            brief_removed=removed,
        )

    def _said(self, commit: str) -> _Commit:
        raw = self._asking.commit(commit)
        if raw is None:
            raise _No(Reason.MESSAGE_LONG)
        return _read_commit(raw)

    def _brief(self, said: _Commit) -> tuple[str, int]:
        if not self._choice.bots and _BOT.search(said.by):
            raise _No(Reason.BOT)
        brief = brief_of(said.message)
        if is_trivial(brief.text):
            raise _No(Reason.TRIVIAL)
        if len(brief.text) < self._choice.shortest:
            raise _No(Reason.MESSAGE_SHORT)
        if len(brief.text) > self._choice.longest:
            raise _No(Reason.MESSAGE_LONG)
        return brief.text, brief.trailers

    def _check_names(self, entries: Sequence[_Entry]) -> None:
        counted = [entry for entry in entries if entry.path not in self._excluded]
        if len(entries) > MOST_ENTRIES:
            raise _No(Reason.FILES)
        if not counted:
            raise _No(Reason.EMPTY)
        modes = {mode for entry in counted for mode in (entry.old_mode, entry.new_mode)}
        if "160000" in modes:
            raise _No(Reason.SUBMODULE)
        if "120000" in modes:
            raise _No(Reason.LINK)
        plain = sum(entry.path not in self._tests for entry in counted)
        if not plain:
            raise _No(Reason.ONLY_TESTS)
        if self._choice.with_tests and plain == len(counted):
            raise _No(Reason.NO_TESTS)
        if plain > 2 * self._choice.files:  # a renamed file stands there twice
            raise _No(Reason.FILES)

    def _change(self, commit: str, base: str) -> _Change:
        """Return the diff in its parts. All of it is read, or the next answer would begin with its rest."""
        pieces: tuple[list[str], list[str]] = ([], [])
        files: list[ChangedFile] = []
        left_out: list[str] = []
        size = 0
        reason: Reason | None = None
        for segment in self._asking.segments(commit, base, at_most=self._choice.size):
            if reason is not None:
                continue
            patch = _read_segment(segment)
            if patch is None:
                reason = Reason.DAMAGED if segment.whole else Reason.BYTES
                continue
            if all(name in self._excluded for name in _names(patch)):
                left_out.append(_encodable(patch.path))
                continue
            size += len(segment.raw)
            reason = _unfit(segment, patch)
            if not segment.whole or size > self._choice.size:
                reason = Reason.BYTES
            elif reason is None:
                is_test = all(name in self._tests for name in _names(patch))
                pieces[is_test].append(segment.raw.decode("utf-8"))
                files.append(_changed_file(patch, is_test=is_test))
        if reason is not None:
            raise _No(reason)
        return _Change("".join(pieces[False]), "".join(pieces[True]), tuple(files), tuple(left_out))

    def _check_size(self, change: _Change) -> None:
        plain = [file for file in change.files if not file.test]
        lines = sum(file.added + file.removed for file in plain)
        if not plain:
            raise _No(Reason.ONLY_TESTS)
        if self._choice.with_tests and len(plain) == len(change.files):
            raise _No(Reason.NO_TESTS)
        if len(plain) > self._choice.files:
            raise _No(Reason.FILES)
        if lines < self._choice.fewest:
            raise _No(Reason.FEW_LINES)
        if lines > self._choice.lines:
            raise _No(Reason.MANY_LINES)

    def _check_new(self, reference: str, task_id: str) -> None:
        """Refuse a change that a newer commit makes too: picked onto another branch, or made again."""
        changed = (line for line in reference.split("\n") if line[:1] in ("+", "-"))
        digest = hashlib.sha256("\n".join(changed).encode()).digest()[:16]
        if digest in self._seen or task_id in self._seen:
            raise _No(Reason.DUPLICATE)
        self._seen |= {digest, task_id}


def _read_commit(raw: bytes) -> _Commit:
    """Read a commit object. The message is in the encoding that it names, else UTF-8, else latin-1."""
    head, _, message = raw.partition(b"\n\n")
    pairs = (line.partition(b" ") for line in head.split(b"\n"))
    fields = {key: value for key, _, value in pairs if key}
    committer = fields.get(b"committer", b"")
    made = re.search(rb"> (\d{1,15}) [+-]\d{4}\Z", committer)
    author = fields.get(b"author", b"")
    return _Commit(_decoded(message, fields.get(b"encoding", b"")), int(made[1]) if made else 0, author)


def _decoded(message: bytes, encoding: bytes) -> str:
    for name in (encoding.decode("ascii", "replace")[:40], "utf-8"):
        try:
            text = message.decode(name) if name else None
        except (LookupError, UnicodeError, ValueError):
            continue
        if isinstance(text, str) and not any("\ud800" <= letter <= "\udfff" for letter in text):
            return text
    return message.decode("latin-1")


def _read_segment(segment: _Segment) -> FilePatch | None:
    """Return one file's part of a diff, without hunks where it was cut; None where it cannot be read."""
    text = segment.raw.decode("utf-8", "surrogateescape")
    patch = parse(text if segment.whole else text.partition("\n@@ ")[0] + "\n")
    return patch.files[0] if len(patch.files) == 1 and not patch.faults else None


def _unfit(segment: _Segment, patch: FilePatch) -> Reason | None:
    if patch.binary:
        return Reason.BINARY
    try:
        segment.raw.decode("utf-8")
    except UnicodeDecodeError:
        return Reason.ENCODING
    return None


def _names(patch: FilePatch) -> list[str]:
    return [name for name in (patch.old, patch.new) if name is not None]


def _encodable(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _changed_file(patch: FilePatch, *, is_test: bool) -> ChangedFile:
    counted = Patch((patch,))
    return ChangedFile(
        path=patch.path,
        before=patch.old if patch.renamed else None,
        added=counted.added,
        removed=counted.removed,
        test=is_test,
    )


def _clean(diff: str) -> TaskPatch:
    found = redacted_diff(diff)
    if found is None:
        raise _No(Reason.SECRET_NAME)
    return TaskPatch(found.text, found.removed, found.applies)


def with_repository(task: MinedTask, name: str | None) -> MinedTask:
    """Return the task with the name of its repository, which begins its id."""
    return task if name is None else replace(task, id=f"{name}/{task.id}", repository=name)
