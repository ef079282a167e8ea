"""Writes patches: a diff of two sets of texts, or a patch that was read or changed, with headers that are right."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from voirdire.edits.patch import NOTHING, FilePatch, Hunk, Patch, quoted_name, split_lines

CONTEXT = 3
"""Lines of context around a change, as everywhere."""

COSTLIEST = 2_000_000
"""Pairs of equal lines up to which a shortest difference is looked for; beyond, the changed middle is replaced."""

Change = tuple[int, int, int, int]
"""Lines of the old text from one index to another, replaced by lines of the new one from one to another."""


def diff(before: Mapping[str, str], after: Mapping[str, str], *, context: int = CONTEXT) -> str:
    """Return the diff that turns the files `before` (path to text) into those `after`, files in order of their names.

    `apply(parse(diff(a, b)), a).files == b` for all texts. Renames are written as a deletion and a new file.
    """
    return text_of(difference(before, after, context=context))


def difference(before: Mapping[str, str], after: Mapping[str, str], *, context: int = CONTEXT) -> Patch:
    """Return the same as a patch."""
    names = sorted({*before, *after})
    return Patch(
        tuple(
            _file_patch(name, before.get(name), after.get(name), context)
            for name in names
            if before.get(name) != after.get(name)
        )
    )


def text_of(patch: Patch) -> str:
    """Return a patch as text, in git's form. Counts and starting lines of the new side are made from the lines."""
    return "".join(piece for file in patch.files for piece in _file_text(file))


# --- differences --------------------------------------------------------------------------------------


def _file_patch(name: str, old: str | None, new: str | None, context: int) -> FilePatch:
    hunks = _hunks(split_lines(old or ""), split_lines(new or ""), context)
    return FilePatch(
        None if old is None else name,
        None if new is None else name,
        tuple(hunks),
        old_mode=None if new is not None else "100644",
        new_mode=None if old is not None else "100644",
    )


def _hunks(old: Sequence[str], new: Sequence[str], context: int) -> Iterator[Hunk]:
    for group in _grouped(_changes(old, new), context):
        yield _hunk(old, new, group, context)


def _hunk(old: Sequence[str], new: Sequence[str], group: Sequence[Change], context: int) -> Hunk:
    start = max(0, group[0][0] - context)
    end = min(len(old), group[-1][1] + context)
    lines: list[str] = []
    at = start
    for old_from, old_to, new_from, new_to in group:
        lines += [f" {line}" for line in old[at:old_from]]
        lines += [f"-{line}" for line in old[old_from:old_to]]
        lines += [f"+{line}" for line in new[new_from:new_to]]
        at = old_to
    lines += [f" {line}" for line in old[at:end]]
    shift = group[0][2] - group[0][0]
    has_old = any(line[0] != "+" for line in lines)
    has_new = any(line[0] != "-" for line in lines)
    return Hunk(start + has_old, start + shift + has_new, tuple(lines))


def _grouped(changes: Sequence[Change], context: int) -> Iterator[list[Change]]:
    """Yield the changes that share a hunk: those whose context would touch."""
    group: list[Change] = []
    for change in changes:
        if group and change[0] - group[-1][1] > 2 * context:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _changes(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    if not middle_old and not middle_new:
        return []
    if _cost(middle_old, middle_new) > COSTLIEST:
        return [(head, head + len(middle_old), head, head + len(middle_new))]
    matcher = SequenceMatcher(None, middle_old, middle_new, autojunk=len(middle_new) > 2_000)
    return [
        (head + old_from, head + old_to, head + new_from, head + new_to)
        for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes()
        if tag != "equal"
    ]


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many lines both begin with."""
    count = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        count += 1
    return count


def _cost(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many pairs of equal lines there are, which is what the search takes time for."""
    ours, theirs = Counter(old), Counter(new)
    return sum(count * theirs[line] for line, count in ours.items())


# --- text ---------------------------------------------------------------------------------------------


def _file_text(file: FilePatch) -> Iterator[str]:
    old, new = file.old if file.old is not None else file.path, file.path
    yield f"diff --git {quoted_name(f'a/{old}')} {quoted_name(f'b/{new}')}\n"
    yield from _modes(file)
    if file.renamed or file.copied:
        verb = "copy" if file.copied else "rename"
        yield f"{verb} from {quoted_name(old)}\n{verb} to {quoted_name(new)}\n"
    if file.binary:
        yield f"Binary files {_side('a/', file.old)} and {_side('b/', file.new)} differ\n"
    if file.hunks:
        yield f"--- {_ended(_side('a/', file.old))}\n+++ {_ended(_side('b/', file.new))}\n"
        for hunk in _renumbered(file.hunks):
            yield from _hunk_text(hunk)


def _modes(file: FilePatch) -> Iterator[str]:
    if file.old is None:
        yield f"new file mode {file.new_mode or '100644'}\n"
    elif file.new is None:
        yield f"deleted file mode {file.old_mode or '100644'}\n"
    elif file.old_mode and file.new_mode and file.old_mode != file.new_mode:
        yield f"old mode {file.old_mode}\nnew mode {file.new_mode}\n"


def _side(prefix: str, name: str | None) -> str:
    return NOTHING if name is None else quoted_name(prefix + name)


def _ended(name: str) -> str:
    """Return the name with the tab after it that git writes where it holds a blank, so that its end is clear."""
    return f"{name}\t" if " " in name and not name.startswith('"') else name


def _renumbered(hunks: Sequence[Hunk]) -> Iterator[Hunk]:
    shift = 0
    for hunk in hunks:
        old, new = len(hunk.old), len(hunk.new)
        begin = hunk.old_start - 1 if old else hunk.old_start
        yield replace(hunk, new_start=max(0, begin + shift + (1 if new else 0)))
        shift += new - old


def _hunk_text(hunk: Hunk) -> Iterator[str]:
    heading = hunk.heading if not hunk.heading or hunk.heading.startswith(" ") else f" {hunk.heading}"
    old, new = _range(hunk.old_start, len(hunk.old)), _range(hunk.new_start, len(hunk.new))
    yield f"@@ -{old} +{new} @@{heading}\n"
    for line in hunk.lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _range(start: int, count: int) -> str:
    return str(start) if count == 1 else f"{start},{count}"
