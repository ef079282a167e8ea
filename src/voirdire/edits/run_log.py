"""A run log as steps of passages: its text as a judge reads it, and where each passage stands in its file.

Content is indented by two spaces below a heading in the first column, so that no content can forge a heading.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

INDENT = "  "
LONGEST_NAME = 80
TOO_DEEP = "[nested too deeply to show]"

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


class Actor(StrEnum):
    """Who a step comes from, as ATIF names them."""

    SYSTEM = "system"
    USER = "user"
    AGENT = "agent"


@dataclass(frozen=True)
class Place:
    """Where a text stands.

    The line of its file (from 1), a JSON pointer in that line, the line's own id or ''.
    """

    line: int
    pointer: str
    uuid: str = ""

    def __str__(self) -> str:
        return f"line {self.line}, {self.pointer or 'the whole line'}"

    @property
    def key(self) -> tuple[str, str]:
        """Return what names this place however many lines stand before it."""
        return (self.uuid or str(self.line), self.pointer)


@dataclass(frozen=True)
class Passage:
    """One text of a step under its heading, such as 'agent calls Bash'; no heading: shown as it is."""

    heading: str
    text: str
    place: Place | None = None


@dataclass(frozen=True)
class LogStep:
    """What one actor said and did in one go, with what its tool calls returned."""

    source: Actor
    passages: tuple[Passage, ...]
    name: str = ""


@dataclass(frozen=True)
class Placed:
    """A passage and its characters in the log's text.

    `start` counts from its heading, `end` is behind its last.
    """

    step: int
    passage: Passage
    start: int
    end: int


@dataclass(frozen=True)
class RunLog:
    """The steps of one run, in order.

    `copied`: steps left out because they repeat an earlier run's context.
    """

    steps: tuple[LogStep, ...]
    copied: int = 0

    def text(self, *, numbered: bool = False) -> str:
        """Return the log as plain text: the same steps always give the same text.

        `numbered` puts each step's number before its headings. Versions that are compared go without, since
        one step more or less would change every number after it.
        """
        return "\n\n".join(shown for _, _, shown in self._shown(numbered=numbered))

    def placed(self, *, numbered: bool = False) -> tuple[Placed, ...]:
        """Return every passage with the characters it takes in `text`."""
        found: list[Placed] = []
        at = 0
        for step, passage, shown in self._shown(numbered=numbered):
            found.append(Placed(step, passage, at, at + len(shown)))
            at += len(shown) + 2
        return tuple(found)

    def passages(self) -> tuple[Passage, ...]:
        """Return all passages in order."""
        return tuple(passage for step in self.steps for passage in step.passages)

    def _shown(self, *, numbered: bool) -> Iterator[tuple[int, Passage, str]]:
        for number, step in enumerate(self.steps, start=1):
            for passage in step.passages:
                yield number, passage, show(passage, number if numbered else None)


def show(passage: Passage, number: int | None = None) -> str:
    """Return one passage as text: its heading in the first column, its content indented."""
    body = visible(passage.text)
    if not passage.heading:
        return body
    before = "" if number is None else f"{number}. "
    lines = "\n".join(f"{INDENT}{line}" if line else "" for line in body.split("\n"))
    return f"{before}{passage.heading}:\n{lines}"


def visible(text: str) -> str:
    """Return `text` with control characters as escapes (\\x1b); \\r\\n becomes \\n, a lone surrogate U+FFFD."""
    shown = _CONTROL.sub(_escaped, text.replace("\r\n", "\n"))
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", shown)


def one_line(name: str) -> str:
    """Return a foreign name fit for a heading: one line, no control characters, not too long."""
    shown = " ".join(visible(name).split())
    return shown if len(shown) <= LONGEST_NAME else f"{shown[: LONGEST_NAME - 1]}…"


def arguments_text(arguments: Mapping[str, object]) -> str:
    """Return the arguments of a tool call, one a line; texts as they are, all else as JSON."""
    return "\n".join(_argument(one_line(name), value) for name, value in arguments.items())


def _argument(name: str, value: object) -> str:
    if not isinstance(value, str):
        return f"{name}: {_json(value)}"
    if "\n" not in value:
        return f"{name}: {value}"
    return f"{name}:\n" + "\n".join(f"{INDENT}{line}" for line in value.split("\n"))


def _json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return TOO_DEEP


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
