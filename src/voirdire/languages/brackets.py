"""Brackets of a text outside its strings and comments: which one is wrong, and the nearest text that parses.

An edit deletes, inserts or replaces one bracket token. Offsets are characters from 0.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import islice
from typing import NamedTuple

CLOSER_OF = {"(": ")", "[": "]", "{": "}"}
OPENER_OF = {closer: opener for opener, closer in CLOSER_OF.items()}
ALL = "()[]{}"

MOST_EDITS = 3
"""Edits after which the search for a parsing text gives up."""

MOST_PARSES = 2_000
"""Texts that the search may try to parse."""

MOST_BRACKETS = 500
"""A text with more brackets is not searched."""

_AT_ONCE = 64
_FRONTIER = 8


class Bracket(NamedTuple):
    """One bracket and where it stands."""

    char: str
    offset: int


class Fault(StrEnum):
    """The first thing that is wrong with the brackets of a text, read from the left."""

    UNMATCHED = "closes nothing"
    MISMATCHED = "closes another kind"
    NEVER_CLOSED = "never closed"


class Faulty(NamedTuple):
    """A fault, the place of the bracket among all at fault, and of the opening one that a mismatched bracket meets."""

    fault: Fault
    place: int
    opener: int | None = None


@dataclass(frozen=True)
class Scan:
    """The brackets of a text that count, where its tokens end, and where a string begins that never ends."""

    brackets: tuple[Bracket, ...]
    ends: tuple[int, ...]
    open_string: int | None


@dataclass(frozen=True)
class Repair:
    """The nearest text that parses. `edits` None: none was found within the limits.

    `exact`: no text with fewer edits parses (all of one edit were tried); else `edits` is an upper bound. `tried`:
    how many texts were parsed on the way.
    """

    edits: int | None
    text: str | None
    exact: bool
    tried: int


def scan(code: str, skip: re.Pattern[str]) -> Scan:
    """Return the brackets outside of what `skip` matches as a whole."""
    pattern = _tokens(skip.pattern, skip.flags)
    brackets: list[Bracket] = []
    ends: list[int] = []
    at, open_string = 0, None
    while (match := pattern.search(code, at)) is not None:
        at = match.end()
        if match["open"]:
            open_string = match.start() if open_string is None else open_string
            at = _end_of_open(code, match)
        elif match["bracket"]:
            brackets.append(Bracket(match["bracket"], match.start()))
        ends.append(at)
    return Scan(tuple(brackets), tuple(ends), open_string)


def first_fault(brackets: Sequence[str]) -> Faulty | None:
    """Return what is wrong first, read from the left; None where all brackets match."""
    stack: list[int] = []
    for index, char in enumerate(brackets):
        if char in CLOSER_OF:
            stack.append(index)
        elif not stack:
            return Faulty(Fault.UNMATCHED, index)
        elif CLOSER_OF[brackets[stack[-1]]] != char:
            return Faulty(Fault.MISMATCHED, index, stack[-1])
        else:
            stack.pop()
    return Faulty(Fault.NEVER_CLOSED, stack[-1]) if stack else None


def nearest(
    code: str,
    skip: re.Pattern[str],
    *,
    parses: Callable[[Sequence[str]], Sequence[bool]],
    near: int = 0,
    most_edits: int = MOST_EDITS,
    most_parses: int = MOST_PARSES,
) -> Repair:
    """Return the nearest parsing text by edits of single brackets. `near`: the offset to look at first.

    Every text of one edit is tried; from two edits on only the likeliest first edits are followed.
    """
    seen = _Seen(parses, most_parses)
    frontier = [code]
    for edits in range(1, most_edits + 1):
        found = next(filter(None, (seen.parsing(_balancing(text, skip, near)) for text in frontier)), None)
        if found is not None:
            return Repair(
                edits, found, exact=edits == 1 or (edits == 2 and seen.whole_first), tried=seen.tried
            )
        if edits == 1:
            seen.whole_first = seen.tried < most_parses
        if seen.tried >= most_parses:
            break
        frontier = _likeliest(frontier, skip, near)
    return Repair(None, None, exact=False, tried=seen.tried)


class _Seen:
    """Tries texts with the parser, a few at once, each once, and not more than allowed."""

    def __init__(self, parses: Callable[[Sequence[str]], Sequence[bool]], most: int) -> None:
        self._parses = parses
        self._most = most
        self._texts: set[str] = set()
        self.tried = 0
        self.whole_first = False

    def parsing(self, texts: Iterator[str]) -> str | None:
        fresh = (text for text in texts if text not in self._texts)
        while self.tried < self._most:
            some = list(dict.fromkeys(islice(fresh, min(_AT_ONCE, self._most - self.tried))))
            if not some:
                return None
            self._texts.update(some)
            self.tried += len(some)
            for text, parses in zip(some, self._parses(some), strict=True):
                if parses:
                    return text
        return None


# --- edits ------------------------------------------------------------------------------------------


class _Edit(NamedTuple):
    """Replace `length` characters at `offset` by `new`; `at` is the bracket's index, or the one it comes before."""

    offset: int
    length: int
    new: str
    at: int

    @property
    def kind(self) -> tuple[int, int, str]:
        """What it does to the sequence of brackets: inserting anywhere between the same two is of one kind."""
        return self.at, self.length, self.new


def _balancing(code: str, skip: re.Pattern[str], near: int) -> Iterator[str]:
    """Yield the texts of one edit in which all brackets match: a bracket less, another one, one more; the nearest first."""
    found = scan(code, skip)
    if len(found.brackets) > MOST_BRACKETS:
        return
    core = _core([bracket.char for bracket in found.brackets])
    edits = sorted(_edits(found, core), key=lambda one: (len(one.new) - one.length, abs(one.offset - near)))
    fits = {
        edit.kind: first_fault(core.edited(edit)) is None
        for edit in {one.kind: one for one in edits}.values()
    }
    yield from (_applied(code, edit) for edit in edits if fits[edit.kind])


def _likeliest(texts: Sequence[str], skip: re.Pattern[str], near: int) -> list[str]:
    """Return the texts of one more edit whose brackets are then the least wrong."""
    ranked: list[tuple[int, int, str]] = []
    for text in texts:
        found = scan(text, skip)
        if len(found.brackets) > MOST_BRACKETS:
            continue
        core = _core([bracket.char for bracket in found.brackets])
        last_of_kind = {edit.kind: edit for edit in _edits(found, core)}.values()
        ranked.extend(
            (_faults(core.edited(edit)), abs(edit.offset - near), _applied(text, edit))
            for edit in last_of_kind
        )
    return list(dict.fromkeys(text for *_, text in sorted(ranked)))[:_FRONTIER]


@dataclass(frozen=True)
class _Core:
    """The brackets between `first` and `last`, where an edit can help, after what is open and before what closes it."""

    first: int
    last: int
    chars: tuple[str, ...]
    opened: int

    def edited(self, edit: _Edit) -> list[str]:
        at = edit.at - self.first + self.opened
        return [*self.chars[:at], *edit.new, *self.chars[at + edit.length :]]


def _core(chars: Sequence[str]) -> _Core:
    """Return where the brackets fail from the left and from the right, and what lies between."""
    left, right = first_fault(chars), first_fault(_mirrored(chars))
    last = len(chars) if left is None or left.fault is Fault.NEVER_CLOSED else left.place
    first = 0 if right is None or right.fault is Fault.NEVER_CLOSED else len(chars) - 1 - right.place
    opened = _left_open(chars[:first])
    closing = _mirrored(_left_open(_mirrored(chars[last + 1 :])))
    return _Core(first, last, (*opened, *chars[first : last + 1], *closing), len(opened))


def _mirrored(chars: Sequence[str]) -> list[str]:
    return [CLOSER_OF.get(char) or OPENER_OF[char] for char in reversed(chars)]


def _left_open(chars: Sequence[str]) -> list[str]:
    stack: list[str] = []
    for char in chars:
        if char in CLOSER_OF:
            stack.append(char)
        elif stack:
            stack.pop()
    return stack


def _edits(found: Scan, core: _Core) -> Iterator[_Edit]:
    """Yield every edit of one bracket within the core; a bracket is inserted where a token ends."""
    for index, bracket in enumerate(found.brackets[core.first : core.last + 1], start=core.first):
        yield _Edit(bracket.offset, 1, "", index)
        yield from (_Edit(bracket.offset, 1, char, index) for char in ALL if char != bracket.char)
    offsets = [bracket.offset for bracket in found.brackets]
    at = 0
    for end in (0, *found.ends):
        while at < len(offsets) and offsets[at] < end:
            at += 1
        if core.first <= at <= core.last:
            yield from (_Edit(end, 0, char, at) for char in ALL)


def _applied(code: str, edit: _Edit) -> str:
    return code[: edit.offset] + edit.new + code[edit.offset + edit.length :]


def _faults(chars: Sequence[str]) -> int:
    """Return how many brackets are wrong, as read from the left with each wrong one passed over."""
    stack: list[str] = []
    wrong = 0
    for char in chars:
        if char in CLOSER_OF:
            stack.append(char)
        elif stack and CLOSER_OF[stack[-1]] == char:
            stack.pop()
        else:
            wrong += 1
    return wrong + len(stack)


# --- scanning ---------------------------------------------------------------------------------------


@cache
def _tokens(skip: str, flags: int) -> re.Pattern[str]:
    return re.compile(rf"{skip}|(?P<bracket>[()\[\]{{}}])|\w+|[^\w\s]", flags)


def _end_of_open(code: str, match: re.Match[str]) -> int:
    """Return where a string ends that never ends: at the end of its line, or of the text where it may span lines."""
    if len(match["open"]) > 1 or match["open"] == "`":
        return len(code)
    end = code.find("\n", match.end())
    return len(code) if end < 0 else end
