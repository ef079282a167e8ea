"""Fenced code in an answer, by the rules of CommonMark, and the readings of which block is the code.

Followed: fences of backticks or tildes of any length, closed by one at least as long; up to three spaces of
indentation, taken off the content; info strings; list items and block quotes around a fence, which end it where they
end; a fence that is never closed runs to the end. Not followed, on purpose: an HTML tag alone on a line does not hide
the fence below it. A block of Markdown (`markdown`, `md`) is an answer within the answer and is read in turn.

Several readings stand beside each other, so that extraction cannot pass for a finding. An answer without any fence is
its own code under every reading: plain code is read as such, and prose does not parse.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from voirdire.errors import UsageError

MARKDOWN = frozenset({"markdown", "md"})
"""Info strings of a block that holds a whole answer."""

MOST_WRAPPINGS = 3
"""Answers within answers that are read; deeper ones stay one block."""

_FENCE = re.compile(r"(?P<fence>`{3,}(?=[^`]*\Z)|~{3,})(?P<info>.*)\Z", re.DOTALL)
_HEADING = re.compile(r"#{1,6}(?=[ \t]|\Z)")
_ITEM = re.compile(r"(?:[-+*]|\d{1,9}[.)])(?=[ \t]|\Z)")
_LINES = re.compile(r"\r\n|\n|\r")
_TAG = re.compile(r"\{?\s*\.?([^\s,;:{}]+)")


class Reading(StrEnum):
    """Which text of an answer is taken for the code."""

    LAST = "last fenced block"
    LAST_TAGGED = "last block tagged with the language"
    FIRST = "first fenced block"
    ANY = "any fenced block that parses"
    WHOLE = "the whole answer"


@dataclass(frozen=True)
class Block:
    """One fenced block. `info`: what stands behind the opening fence; `tag`: its first word in lower case, or ''.

    `closed`: False where the answer ended before the fence did. `line`: of the opening fence, from 1.
    """

    code: str
    info: str
    tag: str
    closed: bool
    line: int


@dataclass(frozen=True)
class Extraction:
    """What an answer holds, under every reading.

    Without any block the whole answer is the code; a reading that finds none of its own among others gives '', which
    never parses.
    """

    answer: str
    blocks: tuple[Block, ...]
    tags: frozenset[str]

    def code(self, reading: Reading) -> str:
        """Return the code under one reading; UsageError for ANY, which needs a parser: see `candidates`."""
        if reading is Reading.ANY:
            raise UsageError(
                "which block parses is not known before parsing",
                hint="parse `candidates`, the first that does counts",
            )
        found = self.candidates(reading)
        return found[0] if found else ""

    def candidates(self, reading: Reading) -> tuple[str, ...]:
        """Return the texts that a reading considers, the preferred one first; of ANY, the last block first."""
        if reading is Reading.WHOLE or not self.blocks:
            return (self.answer,)
        if reading is Reading.FIRST:
            return self._codes[:1]
        if reading is Reading.ANY:
            return self._codes[::-1]
        if reading is Reading.LAST_TAGGED:
            tagged = [block.code for block in self.blocks if block.tag in self.tags]
            return tuple(tagged[-1:])
        return self._codes[-1:]

    def taken(self, reading: Reading) -> Reading:
        """Return the reading that a code comes from: WHOLE where there is no block, else the one asked for."""
        return reading if self.blocks else Reading.WHOLE

    @property
    def differ(self) -> bool:
        """Whether it matters how the answer is read: first, last and last tagged block are not the same text."""
        read = {self.code(reading) for reading in (Reading.LAST, Reading.LAST_TAGGED, Reading.FIRST)}
        return len(read) > 1

    @cached_property
    def _codes(self) -> tuple[str, ...]:
        return tuple(block.code for block in self.blocks)


def extract(answer: str, *, tags: Sequence[str]) -> Extraction:
    """Return the blocks of an answer. `tags`: the words of an info string that name the language, in lower case."""
    return Extraction(answer, blocks(answer), frozenset(tags))


def blocks(answer: str) -> tuple[Block, ...]:
    """Return the fenced blocks of an answer in order, those within a block of Markdown in its place.

    A fence at the end that is followed by nothing is no block: it is the closing fence of a wrapping that the rules
    had ended before.
    """
    found = list(_blocks(_LINES.split(answer), first_line=1, depth=0))
    if found and not found[-1].closed and not found[-1].code.strip():
        found.pop()
    return tuple(found)


# --- lines ------------------------------------------------------------------------------------------


class _Line(NamedTuple):
    """What is left of a line, and the column that it begins at, which tells how far a tab reaches."""

    text: str
    column: int = 0

    @property
    def indent(self) -> int:
        """Return the columns of white space in front."""
        column = self.column
        for char in self.text:
            if char not in " \t":
                break
            column += 1 if char == " " else 4 - column % 4
        return column - self.column

    @property
    def bare(self) -> str:
        return self.text.lstrip(" \t")

    def without(self, columns: int) -> "_Line":
        """Return the line without so many columns of white space, or without all that there are."""
        goal = self.column + columns
        column, at = self.column, 0
        while at < len(self.text) and column < goal and self.text[at] in " \t":
            column += 1 if self.text[at] == " " else 4 - column % 4
            at += 1
        return _Line(" " * max(column - goal, 0) + self.text[at:], min(column, goal))

    def after(self, characters: int) -> "_Line":
        """Return the line without its white space in front and so many characters after it."""
        return _Line(self.bare[characters:], self.column + self.indent + characters)


@dataclass(frozen=True)
class _Container:
    """A block quote, or a list item whose content begins `indent` columns in; `empty`: it has no content yet."""

    indent: int
    quote: bool = False
    empty: bool = False


@dataclass(frozen=True)
class _Open:
    """A fence that is open: its character and length, its indentation, where it stands and in how many containers."""

    mark: str
    length: int
    indent: int
    info: str
    line: int
    depth: int


class _Outline:
    """The containers that are open at a line, and whether a paragraph is: it decides what a line may begin."""

    def __init__(self) -> None:
        self.containers: list[_Container] = []
        self._in_paragraph = False

    def within(self, line: _Line) -> tuple[int, _Line]:
        """Return how many of the open containers a line goes on in, and what stands within them."""
        for kept, container in enumerate(self.containers):
            if container.quote:
                if line.indent > 3 or not line.bare.startswith(">"):
                    return kept, line
                line = _after_quote(line)
            elif container.empty if not line.bare else line.indent < container.indent:
                return kept, line
            else:
                line = line.without(container.indent)
        return len(self.containers), line

    def enter(self, kept: int, line: _Line) -> _Line:
        """Close the containers a line does not go on in, open those it begins, and return what stands within them."""
        found, rest = self._entered(self.containers[:kept], line)
        begins = bool(
            len(found) > kept or _FENCE.match(rest.bare) or _is_rule(rest.bare) or _HEADING.match(rest.bare)
        )
        lazy = self._in_paragraph and rest.bare and (not begins or rest.indent > 3) and len(found) == kept
        if not lazy:
            self.containers = [replace(one, empty=one.empty and not rest.bare) for one in found]
        self._in_paragraph = bool(rest.bare) and (
            bool(lazy) or (rest.indent <= 3 and not self._is_block(rest))
        )
        return rest

    def leave_paragraph(self) -> None:
        """Say that what came was no paragraph."""
        self._in_paragraph = False

    def _entered(self, open_ones: list[_Container], line: _Line) -> tuple[list[_Container], _Line]:
        found = list(open_ones)
        while line.indent <= 3:
            if line.bare.startswith(">"):
                found.append(_Container(0, quote=True))
                line = _after_quote(line)
                continue
            item = _ITEM.match(line.bare)
            if item is None or _is_rule(line.bare) or not self._may_begin(item, line, len(found)):
                break
            indent, within = line.indent, line.after(item.end())
            step = within.indent if 1 <= within.indent <= 4 and within.bare else 1
            found.append(_Container(indent + item.end() + step, empty=not within.bare))
            line = within.without(step)
        return found, line

    def _may_begin(self, item: "re.Match[str]", line: _Line, depth: int) -> bool:
        """Whether a list item may begin here: in a paragraph only with content, and numbered only from 1."""
        if not self._in_paragraph or depth < len(self.containers) or depth > len(self.containers):
            return True
        return bool(line.bare[item.end() :].strip()) and (item[0] in "-*+" or item[0][:-1] == "1")

    def _is_block(self, line: _Line) -> bool:
        return bool(_is_rule(line.bare) or _HEADING.match(line.bare))


def _blocks(lines: Sequence[str], *, first_line: int, depth: int) -> Iterator[Block]:
    outline = _Outline()
    fence: _Open | None = None
    content: list[str] = []
    for number, text in enumerate(lines, start=first_line):
        kept, line = outline.within(_Line(text))
        if fence is not None and kept >= fence.depth and not _closes(line, fence):
            content.append(line.without(fence.indent).text)
            continue
        if fence is not None:
            yield from _finished(fence, content, closed=True, depth=depth)
            ended_by_fence = kept >= fence.depth
            fence, content = None, []
            if ended_by_fence:
                continue
        fence = _opening(outline.enter(kept, line), number, outline)
    if fence is not None:
        yield from _finished(fence, content, closed=False, depth=depth)


def _is_rule(text: str) -> bool:
    """Whether a line is a thematic break, which may begin like a list item."""
    marks = text.replace(" ", "").replace("\t", "")
    return len(marks) >= 3 and marks[0] in "-*_" and set(marks) == {marks[0]}


def _after_quote(line: _Line) -> _Line:
    rest = line.after(1)
    return rest.without(1) if rest.indent else rest


# --- fences -----------------------------------------------------------------------------------------


def _opening(line: _Line, number: int, outline: _Outline) -> _Open | None:
    match = _FENCE.match(line.bare) if line.indent <= 3 else None
    if match is None:
        return None
    outline.leave_paragraph()
    fence = match["fence"]
    return _Open(fence[0], len(fence), line.indent, match["info"].strip(), number, len(outline.containers))


def _closes(line: _Line, fence: _Open) -> bool:
    text = line.text.strip(" \t")
    return line.indent <= 3 and len(text) >= fence.length and set(text) == {fence.mark}


def _finished(fence: _Open, content: Sequence[str], *, closed: bool, depth: int) -> Iterator[Block]:
    """Yield the block, or those within it where it is an answer of its own."""
    tag = _TAG.match(fence.info)
    word = tag[1].lower() if tag else ""
    if word in MARKDOWN and depth < MOST_WRAPPINGS:
        inner = list(_blocks(content, first_line=fence.line + 1, depth=depth + 1))
        if inner:
            yield from inner
            return
    code = "".join(f"{line}\n" for line in content)
    yield Block(code, fence.info, word, closed, fence.line)
