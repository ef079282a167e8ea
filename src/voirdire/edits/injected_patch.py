"""Injections into patches: the files are edited as the patch leaves them, and the patch is written anew.

What comes out is proved three times: each file does the same (by its language's proof), the new patch still applies to
the same base and gives exactly the edited files, and but for added lines it is the old patch, line by line. What cannot be
proved so is not used, and has a reason that can be counted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from voirdire.edits.injection import (
    LANGUAGES,
    Injected,
    InjectionKind,
    NotInjected,
    Proof,
    Wanted,
    injector_for,
)
from voirdire.edits.patch import FilePatch, Hunk, Patch, parse, split_lines
from voirdire.edits.patch_apply import apply, occurrences
from voirdire.edits.patch_make import text_of
from voirdire.languages.code_style import SUFFIXES

NO_BASE = "no base file"


@dataclass(frozen=True)
class PatchedFile:
    """One file that a patch leaves behind: its language, its text, and the numbers of the lines that were added."""

    path: str
    language: str
    source: str
    added: frozenset[int]


@dataclass(frozen=True)
class PatchedBase:
    """A patch with the base it applies to, and the files that can be edited."""

    patch: Patch
    base: Mapping[str, str]
    after: Mapping[str, str]
    files: tuple[PatchedFile, ...]

    @property
    def languages(self) -> tuple[str, ...]:
        """Return the languages that can be edited here, in the order of the patch."""
        return tuple(dict.fromkeys(file.language for file in self.files))


@dataclass(frozen=True)
class InjectedPatch:
    """An edited patch. `edits`: by path, what was done; `proofs`: by path, how it was shown to do the same."""

    patch: str
    kind: InjectionKind
    edits: Mapping[str, Injected]
    proofs: Mapping[str, Proof]

    @property
    def places(self) -> int:
        """Return how many places were changed in all files."""
        return sum(edit.places for edit in self.edits.values())

    @property
    def lines_added(self) -> int:
        """Return how many lines the patch adds more than before."""
        return sum(edit.lines_added for edit in self.edits.values())


def patched(patch: str, base: Mapping[str, str] | None) -> PatchedBase | NotInjected:
    """Return a patch with its base applied, or why that cannot be.

    `base`: path to text of the files that the patch changes; None, or without one of them: "no base file".
    """
    read = parse(patch)
    if read.faults:
        return NotInjected(f"the patch cannot be read: {read.faults[0].kind.value}")
    if not read.files:
        return NotInjected("the patch is empty")
    needed = {file.old for file in read.files if file.old is not None}
    if base is None or not needed <= base.keys():
        return NotInjected(NO_BASE)
    applied = apply(read, base)
    if applied.files is None:
        return NotInjected(f"the patch does not apply: {applied.faults[0].kind.value}")
    files = tuple(
        PatchedFile(file.path, language, applied.files[file.path], _added(file))
        for file in read.files
        if (language := language_of(file.path)) is not None
        and file.new is not None
        and not any(path == file.path for path, _ in applied.moved)
    )
    if not files:
        return NotInjected("no file in a language that can be edited")
    return PatchedBase(read, base, applied.files, files)


def language_of(path: str) -> str | None:
    """Return the language of a file that can be edited, by its name; None for any other."""
    language = SUFFIXES.get(PurePosixPath(path).suffix)
    return language if language in LANGUAGES else None


def inject(made: PatchedBase, wanted: Wanted) -> InjectedPatch | NotInjected:
    """Return the patch with one kind of change on its added lines, proved; or why there is none.

    `wanted.lines` is not looked at: the added lines of each file are what may be touched. The dose is that of the whole
    patch. Raises UsageError or MissingExtraError where a language's library is missing.
    """
    edits: dict[str, Injected] = {}
    reasons: list[str] = []
    left = wanted.dose
    for file in made.files:
        if left <= 0:
            break
        if wanted.kind not in injector_for(file.language).kinds:
            reasons.append(f"no such change in {file.language}")
            continue
        done = injector_for(file.language).inject(file.source, replace(wanted, lines=file.added, dose=left))
        if isinstance(done, NotInjected):
            reasons.append(done.reason)
        else:
            edits[file.path] = done
            left -= done.places
    if not edits:
        return NotInjected(reasons[0] if reasons else "no place")
    return proved(made, edits, wanted.kind)


def proved(
    made: PatchedBase, edits: Mapping[str, Injected], kind: InjectionKind
) -> InjectedPatch | NotInjected:
    """Return the patch that leaves the edited files, if everything about it can be proved; whoever made the edits."""
    proofs: dict[str, Proof] = {}
    by_path = {file.path: file for file in made.files}
    for path, edit in edits.items():
        file = by_path[path]
        proof = injector_for(file.language).prove(file.source, edit.source, kind)
        if not proof.holds:
            return NotInjected(f"not proved: {proof.why_not}")
        proofs[path] = proof
    patch = rewritten(made, {path: edit.source for path, edit in edits.items()})
    if isinstance(patch, NotInjected):
        return patch
    return InjectedPatch(patch, kind, edits, proofs)


def emptied(made: PatchedBase, *, seed: int) -> str | NotInjected:
    """Return the patch with the bodies of added functions emptied, or where there is none without what it adds: the control.

    It applies to the same base and leaves other files. Not a text for users: what it does is wrong on purpose.
    """
    sources: dict[str, str] = {}
    for file in made.files:
        wanted = Wanted(InjectionKind.NEUTRAL_COMMENTS, dose=1, seed=seed, lines=file.added)
        done = injector_for(file.language).stub(file.source, wanted)
        if isinstance(done, Injected):
            sources[file.path] = done.source
    if sources:
        return rewritten(made, sources)
    return rewritten(made, {file.path: _without_added(file) for file in made.files if file.added})


def _without_added(file: PatchedFile) -> str:
    return "".join(
        line for number, line in enumerate(split_lines(file.source), 1) if number not in file.added
    )


# --- the patch, written anew ----------------------------------------------------------------------------


def rewritten(made: PatchedBase, edited: Mapping[str, str]) -> str | NotInjected:
    """Return the patch that leaves the edited files: the old one, but for its added lines.

    Verified by applying it: it gives exactly the edited files, and it removes the same lines of the base as the old one.
    """
    files: list[FilePatch] = []
    for file in made.patch.files:
        if file.path not in edited:
            files.append(file)
            continue
        hunks = _with_additions(file, made.after[file.path], edited[file.path])
        if hunks is None:
            return NotInjected("more than added lines would change")
        files.append(replace(file, hunks=tuple(hunk for hunk in hunks if hunk.added or hunk.removed)))
    if not any(file.hunks for file in files):
        return NotInjected("nothing of the patch would be left")
    text = text_of(Patch(tuple(files)))
    again = parse(text)
    applied = apply(again, made.base)
    if applied.files != {**made.after, **edited}:
        return NotInjected("the edited patch does not apply as it should")
    if _removals(again) != _removals(made.patch):
        return NotInjected("more than added lines would change")
    return text


def _removals(patch: Patch) -> list[object]:
    """Return what a patch takes away: by file, the numbers and texts of the lines that are removed."""
    return [
        (file.old, file.new, [gone for hunk in file.hunks for gone in _gone(hunk)]) for file in patch.files
    ]


def _gone(hunk: Hunk) -> Iterator[tuple[int, str]]:
    old = (line for line in hunk.lines if line[0] != "+")
    for number, line in enumerate(old, hunk.old_start):
        if line[0] == "-":
            yield number, line


def _added(file: FilePatch) -> frozenset[int]:
    """Return the numbers of the lines of the file afterwards that the patch adds."""
    numbers: set[int] = set()
    shift = 0
    for hunk in file.hunks:
        at = _new_start(hunk, shift)
        for line in hunk.lines:
            if line[0] == "+":
                numbers.add(at)
            at += line[0] != "-"
        shift += len(hunk.new) - len(hunk.old)
    return frozenset(numbers)


def _new_start(hunk: Hunk, shift: int) -> int:
    """Return the number of a hunk's first line afterwards; `shift`: by how much earlier hunks moved it."""
    return (hunk.old_start if hunk.old else hunk.old_start + 1) + shift


@dataclass(frozen=True)
class _Runs:
    """A file afterwards as runs of lines, in turn kept and added; the first and last are kept ones, maybe empty."""

    kept: list[list[str]]
    added: list[list[str]]


def _with_additions(file: FilePatch, after: str, edited: str) -> tuple[Hunk, ...] | None:
    """Return the hunks with other added lines, such that they leave `edited`; None where that cannot be."""
    runs = _runs(split_lines(after), _added(file))
    found = _fitted(runs, split_lines(edited))
    if found is None:
        return None
    rest = iter(found)
    return tuple(_refilled(hunk, rest) for hunk in file.hunks)


def _runs(lines: Sequence[str], added: frozenset[int]) -> _Runs:
    kept: list[list[str]] = [[]]
    more: list[list[str]] = []
    inside = False
    for number, line in enumerate(lines, 1):
        if number in added:
            if not inside:
                more.append([])
            more[-1].append(line)
        else:
            if inside:
                kept.append([])
            kept[-1].append(line)
        inside = number in added
    return _Runs([*kept, []] if inside else kept, more)


def _fitted(runs: _Runs, edited: Sequence[str]) -> list[list[str]] | None:
    """Return what stands in the place of each added run, where the kept ones stand as they did; the nearest in length."""
    if not runs.added:
        return None
    head, tail = runs.kept[0], runs.kept[-1]
    end = len(edited) - len(tail)
    if list(edited[: len(head)]) != head or end < len(head) or list(edited[end:]) != tail:
        return None
    best: dict[int, tuple[int, list[list[str]]]] = {len(head): (0, [])}
    for run, kept in zip(runs.added, runs.kept[1:-1], strict=False):
        reached: dict[int, tuple[int, list[list[str]]]] = {}
        for start, (cost, so_far) in best.items():
            for at in occurrences(edited[start:end], kept):
                total = cost + abs(at - len(run))
                place = start + at + len(kept)
                if place not in reached or total < reached[place][0]:
                    reached[place] = (total, [*so_far, list(edited[start : start + at])])
        best = dict(sorted(reached.items(), key=lambda one: one[1][0])[:REACHED])
    last = runs.added[-1]
    ends = [
        (cost + abs(end - at - len(last)), [*so_far, list(edited[at:end])])
        for at, (cost, so_far) in best.items()
    ]
    return min(ends, key=lambda one: one[0])[1] if ends else None


REACHED = 64
"""Ways to place the kept lines that are followed at once; the nearest to the old lengths first."""


def _refilled(hunk: Hunk, runs: Iterator[list[str]]) -> Hunk:
    lines: list[str] = []
    inside = False
    for line in hunk.lines:
        if line[0] == "+":
            if not inside:
                lines += [f"+{one}" for one in next(runs)]
            inside = True
            continue
        if line[0] == " ":
            inside = False
        lines.append(line)
    return replace(hunk, lines=tuple(lines))
