"""The difference of two texts as rows: lines removed and added with their words marked, unchanged stretches folded.

Works on the whole texts, then shows what a page can hold: long lines are shortened in the middle, where they are the
same in both.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import groupby

CONTEXT = 3
"""Unchanged lines shown around a change."""

WORK = 1_000_000
"""Largest product of two lengths that is compared piece by piece; beyond it a stretch counts as replaced whole."""

ROWS = 400
"""Rows of one difference that the page shows."""

_LINE_LIMIT = 1_200
_KEPT_ENDS = 200
_TOKEN = re.compile(r"\w+|\s|[^\w\s]")


class Side(StrEnum):
    """Where a line stands: in both texts, only in the base, or only in the variant."""

    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"


@dataclass(frozen=True)
class Piece:
    """Part of a line; `changed` where it has no counterpart in the other text."""

    text: str
    changed: bool = False


@dataclass(frozen=True)
class Line:
    """One line of the difference; `same` is the number of unchanged lines that a fold holds."""

    side: Side
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Fold:
    """Unchanged lines, folded away: how many, and their text (shortened where it is long)."""

    count: int
    text: str


@dataclass(frozen=True)
class Difference:
    """All rows of a difference, the counts of changed lines, and how many rows were left out."""

    rows: tuple[Line | Fold, ...]
    removed: int
    added: int
    left_out: int


def difference(base: str, variant: str) -> Difference:
    """Return the difference from `base` to `variant`, by lines and then by words."""
    lines = list(_lines(base.split("\n"), variant.split("\n")))
    rows = list(_folded(lines))
    return Difference(
        rows=tuple(rows[:ROWS]),
        removed=sum(line.side is Side.REMOVED for line in lines),
        added=sum(line.side is Side.ADDED for line in lines),
        left_out=max(0, len(rows) - ROWS),
    )


def _lines(base: Sequence[str], variant: Sequence[str]) -> Iterator[Line]:
    for old, new, same in _stretches(base, variant):
        if same:
            yield from (Line(Side.SAME, (Piece(text),)) for text in old)
        else:
            yield from _replaced(old, new)


def _replaced(old: Sequence[str], new: Sequence[str]) -> Iterator[Line]:
    removed, added = _by_words("\n".join(old), "\n".join(new)) if old and new else (None, None)
    if removed is None or added is None:
        removed, added = [Piece("\n".join(old), changed=True)], [Piece("\n".join(new), changed=True)]
    if old:
        yield from _split(removed, Side.REMOVED)
    if new:
        yield from _split(added, Side.ADDED)


def _by_words(old: str, new: str) -> tuple[list[Piece], list[Piece]] | tuple[None, None]:
    """Return both sides with the changed words marked; None where too little is shared for that to help."""
    pieces = _joined(
        ("".join(a), "".join(b), same) for a, b, same in _stretches(_TOKEN.findall(old), _TOKEN.findall(new))
    )
    shared = sum(len(a.strip()) for a, _, same in pieces if same)
    if shared < 0.3 * min(len(old.strip()), len(new.strip())):
        return None, None
    return (
        [Piece(a, changed=not same) for a, _, same in pieces if a],
        [Piece(b, changed=not same) for _, b, same in pieces if b],
    )


def _joined(stretches: Iterable[tuple[str, str, bool]]) -> list[tuple[str, str, bool]]:
    """Join changes that only a few characters part: a comma or a blank in common is no common text."""
    joined: list[tuple[str, str, bool]] = []
    for a, b, same in stretches:
        if not same and len(joined) > 1 and _parts_little(joined[-1]) and not joined[-2][2]:
            between, before = joined.pop(), joined.pop()
            joined.append((before[0] + between[0] + a, before[1] + between[1] + b, False))
        else:
            joined.append((a, b, same))
    return joined


def _parts_little(stretch: tuple[str, str, bool]) -> bool:
    text, _, same = stretch
    return same and len(text) <= 4 and "\n" not in text


def _split(pieces: Sequence[Piece], side: Side) -> Iterator[Line]:
    line: list[Piece] = []
    for piece in pieces:
        first, *rest = piece.text.split("\n")
        line.append(Piece(first, piece.changed))
        for text in rest:
            yield _line(side, line)
            line = [Piece(text, piece.changed)]
    yield _line(side, line)


def _line(side: Side, pieces: Sequence[Piece]) -> Line:
    return Line(side, tuple(piece for piece in pieces if piece.text))


def _stretches(
    base: Sequence[str], variant: Sequence[str]
) -> Iterator[tuple[Sequence[str], Sequence[str], bool]]:
    """Yield (part of base, part of variant, whether they are equal), in order, covering both."""
    start = _common(base, variant)
    end = _common(base[start:][::-1], variant[start:][::-1])
    middle_base, middle_variant = base[start : len(base) - end], variant[start : len(variant) - end]
    if start:
        yield base[:start], variant[:start], True
    yield from _compared(middle_base, middle_variant)
    if end:
        yield base[len(base) - end :], variant[len(variant) - end :], True


def _compared(
    base: Sequence[str], variant: Sequence[str]
) -> Iterator[tuple[Sequence[str], Sequence[str], bool]]:
    if not base and not variant:
        return
    if len(base) * len(variant) > WORK:
        yield base, variant, False
        return
    matcher = SequenceMatcher(None, base, variant, autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        yield base[a:b], variant[c:d], tag == "equal"


def _common(base: Sequence[str], variant: Sequence[str]) -> int:
    for index, (a, b) in enumerate(zip(base, variant, strict=False)):
        if a != b:
            return index
    return min(len(base), len(variant))


def _folded(lines: Sequence[Line]) -> Iterator[Line | Fold]:
    runs = [(side, list(run)) for side, run in groupby(lines, key=lambda line: line.side)]
    for place, (side, run) in enumerate(runs):
        if side is not Side.SAME:
            yield from (_fitted(line) for line in run)
            continue
        head = CONTEXT if place > 0 else 0
        tail = CONTEXT if place < len(runs) - 1 else 0
        if len(run) <= head + tail + 2:
            yield from (_fitted(line) for line in run)
            continue
        yield from (_fitted(line) for line in run[:head])
        yield _fold(run[head : len(run) - tail])
        yield from (_fitted(line) for line in run[len(run) - tail :])


def _fold(lines: Sequence[Line]) -> Fold:
    text = "\n".join(piece.text for line in lines for piece in (line.pieces or (Piece(""),)))
    return Fold(count=len(lines), text=_middle_cut(text, 8_000, 3_500))


def _fitted(line: Line) -> Line:
    if sum(len(piece.text) for piece in line.pieces) <= _LINE_LIMIT:
        return line
    return Line(
        line.side,
        tuple(
            Piece(
                _middle_cut(piece.text, 3_000 if piece.changed else 2 * _KEPT_ENDS, _KEPT_ENDS), piece.changed
            )
            for piece in line.pieces
        ),
    )


def _middle_cut(text: str, limit: int, ends: int) -> str:
    if len(text) <= limit + 40:
        return text
    return f"{text[:ends]} […{len(text) - 2 * ends:,} characters…] {text[-ends:]}"
