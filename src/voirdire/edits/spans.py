"""Spans of text: where two texts differ, and a change of one string in raw JSON that leaves all else.

Offsets are characters from 0, lines and columns count from 1.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from voirdire.edits.run_log import visible
from voirdire.errors import DataError

_UNIT = re.compile(r"[^\n.!?]*(?:[.!?]+(?=\s|$)[^\S\n]*|\n|[.!?]+|$)")
_SPACE = " \t\n\r"
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True)
class Position:
    """A character of a text, as people look for it."""

    offset: int
    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column} (offset {self.offset})"


@dataclass(frozen=True)
class Change:
    """One place where two texts differ: what stands there in each, and where."""

    base_at: Position
    variant_at: Position
    base: str
    variant: str

    def __str__(self) -> str:
        return f"{self.base_at}: {quoted(self.base)} / {self.variant_at}: {quoted(self.variant)}"


@dataclass(frozen=True)
class RawSpan:
    """A changed stretch of a raw JSON text: `raw` replaces the characters from `start` to `end`."""

    start: int
    end: int
    raw: str


def changes(base: str, variant: str) -> tuple[Change, ...]:
    """Return the places where two texts differ, in order; () where they are equal.

    Texts are compared by sentence and line. Differing sentences next to each other are one place, trimmed to
    the characters that differ; an equal sentence between two makes them two places.
    """
    return changes_by_unit(_units(base), _units(variant))


def changes_by_unit(left: Sequence[str], right: Sequence[str]) -> tuple[Change, ...]:
    """Return the places where two texts differ that are given as units, such as the passages of a log."""
    base, variant = "".join(left), "".join(right)
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    starts_left, starts_right = _starts(left), _starts(right)
    return tuple(
        _trimmed(base, variant, starts_left[i1], starts_left[i2], starts_right[j1], starts_right[j2])
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    )


def quoted(text: str, longest: int = 60) -> str:
    """Return a short quotation of foreign text, on one line and in quotes."""
    shown = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return visible(json.dumps(shown, ensure_ascii=False)) if shown else "nothing"


def position(text: str, offset: int) -> Position:
    """Return line and column of a character."""
    before = text[:offset]
    return Position(offset, before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1)


def occurrences(text: str, find: str) -> list[int]:
    """Return the offsets of every occurrence of `find`, overlapping ones too."""
    found, at = [], text.find(find)
    while at >= 0:
        found.append(at)
        at = text.find(find, at + 1)
    return found


def replace_once(text: str, find: str, new: str, *, where: str) -> str:
    """Replace the only occurrence of `find`; DataError with the places where there is none or several."""
    places = occurrences(text, find)
    if len(places) != 1:
        raise DataError(
            f"{where}: {quoted(find)} {_how_often(text, places)}",
            hint="quote more or less of the text, so that it is found exactly once",
        )
    return text[: places[0]] + new + text[places[0] + len(find) :]


def replace_in_json(document: str, pointer: str, find: str | None, new: str, *, where: str) -> RawSpan:
    """Return the span of raw JSON that puts `new` for `find` (None: all) in the string at `pointer`.

    Raises DataError where the pointer leads nowhere or to no string, or `find` is not there exactly once.
    """
    start, end = locate(document, pointer, where=where)
    if document[start] != '"':
        raise DataError(f"{where}: what stands at {pointer} is no text", hint="point at a text")
    text, offsets = _decoded(document, start, end)
    if find is None:
        return RawSpan(start + 1, end - 1, _encoded(new))
    replace_once(text, find, new, where=f"{where}, {pointer}")
    at = text.find(find)
    return RawSpan(offsets[at], offsets[at + len(find)], _encoded(new))


def apply_spans(document: str, spans: Sequence[RawSpan]) -> str:
    """Return the document with every span replaced; DataError where two overlap."""
    done = document
    behind = len(document) + 1
    for span in sorted(spans, key=lambda one: (one.start, one.end), reverse=True):
        if span.end > behind:
            raise DataError("two changes of one text overlap", hint="make one change of both")
        done = done[: span.start] + span.raw + done[span.end :]
        behind = span.start
    return done


def locate(document: str, pointer: str, *, where: str) -> tuple[int, int]:
    """Return start and end of the value at a JSON pointer in raw JSON, a string's quotes included."""
    at = _skip(document, 0)
    for token in _tokens(pointer, where):
        found = _member(document, at, token)
        if found is None:
            raise DataError(
                f"{where}: there is nothing at {pointer} ('{token}' is not there)", hint="check the pointer"
            )
        at = found
    return at, _end(document, at)


def _tokens(pointer: str, where: str) -> list[str]:
    if not pointer:
        return []
    if not pointer.startswith("/"):
        raise DataError(f"{where}: '{pointer}' is no JSON pointer", hint="a JSON pointer begins with '/'")
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/")]


def _member(document: str, at: int, token: str) -> int | None:
    """Return where the value of a key or an index begins.

    The last one where a key is given twice, as JSON is read.
    """
    opening, found, index = document[at], None, 0
    if opening not in "{[":
        return None
    at = _skip(document, at + 1)
    while document[at] not in "}]":
        name = str(index)
        if opening == "{":
            name, at = _DECODER.raw_decode(document, at)
            at = _skip(document, _skip(document, at) + 1)
        if name == token:
            found = at
        at = _skip(document, _end(document, at))
        index += 1
        if document[at] == ",":
            at = _skip(document, at + 1)
    return found


def _end(document: str, at: int) -> int:
    return _DECODER.raw_decode(document, at)[1]


def _skip(document: str, at: int) -> int:
    while at < len(document) and document[at] in _SPACE:
        at += 1
    return at


def _decoded(document: str, start: int, end: int) -> tuple[str, list[int]]:
    """Return a string literal's text, and for each of its characters (and its end) the raw offset."""
    text: str = _DECODER.raw_decode(document, start)[0]
    offsets, at = [], start + 1
    for character in text:
        offsets.append(at)
        at += _raw_length(document, at, character)
    return text, [*offsets, end - 1]


def _raw_length(document: str, at: int, character: str) -> int:
    if document[at] != "\\":
        return 1
    if document[at + 1] != "u":
        return 2
    return 12 if ord(character) > 0xFFFF else 6


def _encoded(text: str) -> str:
    return json.dumps(text)[1:-1]


def _units(text: str) -> list[str]:
    return [unit for unit in _UNIT.findall(text) if unit]


def _starts(units: Sequence[str]) -> list[int]:
    starts = [0]
    for unit in units:
        starts.append(starts[-1] + len(unit))
    return starts


def _trimmed(base: str, variant: str, start: int, end: int, start_v: int, end_v: int) -> Change:
    while start < end and start_v < end_v and base[start] == variant[start_v]:
        start, start_v = start + 1, start_v + 1
    while start < end and start_v < end_v and base[end - 1] == variant[end_v - 1]:
        end, end_v = end - 1, end_v - 1
    return Change(position(base, start), position(variant, start_v), base[start:end], variant[start_v:end_v])


def _how_often(text: str, places: Sequence[int]) -> str:
    if not places:
        return "is not there"
    shown = "; ".join(str(position(text, place)) for place in places[:5])
    return f"is there {len(places)} times: {shown}"
