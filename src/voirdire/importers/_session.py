"""The lines of a Claude Code session file: read leniently, put in order, and counted where they are left out.

The format is internal to its maker and undocumented; facts used here: entries name their parent by
`parentUuid`, one response is split over several lines with one `message.id`, parallel tool results fork the
tree, a compaction begins a new tree whose boundary names its `logicalParentUuid`, and resumed sessions repeat
lines.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

DEEPEST = 100
"""Nesting of a line beyond which it is not read: real ones stay below 20."""

_STRAY_BYTE = re.compile("[\udc80-\udcff]")

MESSAGES = ("user", "assistant")
CHAIN = (*MESSAGES, "system", "attachment", "progress")
STREAM = ("result",)


@dataclass(frozen=True)
class Line:
    """One line of the file. `raw` keeps bytes that are not UTF-8 as surrogates; `data` None: not an entry."""

    number: int
    raw: str
    data: Mapping[str, Any] | None = None
    fault: str = ""

    @property
    def uuid(self) -> str:
        """Return the entry's own id, or ''."""
        return _text(self.data, "uuid")

    @property
    def type(self) -> str:
        """Return the entry's type, or '(none)'."""
        return _text(self.data, "type") or "(none)"

    @property
    def message(self) -> Mapping[str, Any]:
        """Return the entry's message, or nothing where it has none."""
        found = (self.data or {}).get("message")
        return found if isinstance(found, Mapping) else {}

    @property
    def sidechain(self) -> bool:
        """Whether it belongs to a sub-agent."""
        data = self.data or {}
        return bool(data.get("isSidechain")) or isinstance(data.get("parent_tool_use_id"), str)


class Ordering(StrEnum):
    """How the entries of the run were put in order."""

    CHAIN = "chain of parents"
    FILE = "order of the file"


@dataclass(frozen=True)
class Intake:
    """An account of a session file: how many lines are in the run, and why the others are not.

    `broken`, `repeated`, `abandoned` (other branches), `sidechain` (sub-agents) and `not_shown` (by type) add
    up with `in_run` and `blank` to `lines`. The other numbers say what happened to content inside lines that
    are in the run.
    """

    lines: int = 0
    blank: int = 0
    in_run: int = 0
    broken: tuple[str, ...] = ()
    repeated: int = 0
    abandoned: int = 0
    sidechain: int = 0
    not_shown: Mapping[str, int] = field(default_factory=dict)
    ordering: Ordering = Ordering.CHAIN
    ordered_because: str = ""
    orphans: int = 0
    merged: int = 0
    meta: int = 0
    summaries: int = 0
    empty_thinking: int = 0
    results_without_call: int = 0
    calls_without_result: int = 0
    other_blocks: Mapping[str, int] = field(default_factory=dict)
    not_utf8: int = 0

    def sentences(self) -> list[str]:
        """Return what a reader should know, one sentence each, only about what did happen."""
        said = [f"{self.in_run} of {self.lines} lines are the run, in the {self.ordering}{_because(self)}."]
        counted = (
            ("Lines that could not be read", len(self.broken), "; ".join(self.broken[:3])),
            ("Lines that repeat an earlier one", self.repeated, ""),
            ("Lines on a branch that was given up", self.abandoned, ""),
            ("Lines of sub-agents", self.sidechain, ""),
            ("Lines with nothing to judge", sum(self.not_shown.values()), _by_name(self.not_shown)),
            ("Lines whose parent is not in the file, put after the line before them", self.orphans, ""),
            ("Lines with bytes that are not UTF-8", self.not_utf8, ""),
            ("Messages written by the harness", self.meta, ""),
            ("Summaries where the agent's memory was compacted", self.summaries, ""),
            ("Thinking that is empty or redacted", self.empty_thinking, ""),
            ("Tool results that answer no call in the file", self.results_without_call, ""),
            ("Tool calls without a result", self.calls_without_result, ""),
            ("Blocks that are no text", sum(self.other_blocks.values()), _by_name(self.other_blocks)),
        )
        return said + [
            f"{what}: {count}{f' ({names})' if names else ''}." for what, count, names in counted if count
        ]


def _because(intake: Intake) -> str:
    return f" ({intake.ordered_because})" if intake.ordered_because else ""


def _by_name(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))


@dataclass(frozen=True)
class Ordered:
    """The lines of the run in order, those of sub-agents, and the account so far."""

    run: tuple[Line, ...]
    sidechain: tuple[Line, ...]
    intake: Intake


def lines_of(data: bytes) -> tuple[Line, ...]:
    """Return every line of a session file, read where it can be. A byte-order mark belongs to no line."""
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    raws = text.split("\n")
    if raws[-1] == "":
        raws.pop()
    last = len(raws)
    return tuple(_line(number, raw, last=number == last) for number, raw in enumerate(raws, start=1))


def lines_again(raws: Sequence[str], known: Sequence[Line]) -> tuple[Line, ...]:
    """Return changed raw lines read; those that are known already are not read twice."""
    read = {line.raw: line for line in known}
    last = len(raws)
    return tuple(
        replace(read[raw], number=number) if raw in read else _line(number, raw, last=number == last)
        for number, raw in enumerate(raws, start=1)
    )


def raw_text(lines: Sequence[str]) -> bytes:
    """Return raw lines as a file's bytes."""
    return "".join(f"{raw}\n" for raw in lines).encode("utf-8", "surrogateescape")


def ordered(lines: Sequence[Line]) -> Ordered:
    """Put the lines of the run in order, and count the others by the reason why they are not in it."""
    fresh, repeated, conflict = _without_repeats([line for line in lines if line.data is not None])
    main, aside = _apart(fresh)
    chain = [line for line in main if line.type in CHAIN]
    why_not = _why_no_chain(chain, conflict=conflict)
    kept, orphans = ({line.number for line in chain}, 0) if why_not else _followed(chain)
    run = [line for line in main if _speaks(line) and (line.number in kept or line.type in STREAM)]
    others = [line for line in main if not (_speaks(line) and (line.number in kept or line.type in STREAM))]
    abandoned = [line for line in others if line.type in MESSAGES and _speaks(line)]
    return Ordered(
        run=tuple(run),
        sidechain=tuple(aside),
        intake=Intake(
            lines=len(lines),
            blank=sum(line.data is None and not line.fault for line in lines),
            in_run=len(run),
            broken=tuple(f"line {line.number} {line.fault}" for line in lines if line.fault),
            repeated=repeated,
            abandoned=len(abandoned),
            sidechain=len(aside),
            not_shown=dict(Counter(_silence(line) for line in others if line not in abandoned)),
            ordering=Ordering.FILE if why_not else Ordering.CHAIN,
            ordered_because=why_not,
            orphans=orphans,
            not_utf8=sum(_STRAY_BYTE.search(line.raw) is not None for line in lines),
        ),
    )


def blocks_of(line: Line) -> list[tuple[str, Mapping[str, Any]]]:
    """Return a message's blocks, each with the JSON pointer at which it stands in its line.

    A plain text is one block.
    """
    content = line.message.get("content")
    if isinstance(content, str):
        return [("/message/content", {"type": "text", "text": content})]
    if not isinstance(content, list):
        return []
    return [(f"/message/content/{number}", _block(block)) for number, block in enumerate(content)]


def _block(block: object) -> Mapping[str, Any]:
    if isinstance(block, Mapping):
        return block
    return {"type": "bare", "text": block} if isinstance(block, str) else {"type": type(block).__name__}


def _line(number: int, raw: str, *, last: bool) -> Line:
    if not raw.strip():
        return Line(number, raw)
    try:
        data = json.loads(raw)
    except RecursionError:
        return Line(number, raw, fault="is nested too deeply")
    except ValueError:
        return Line(number, raw, fault="breaks off" if last else "is not JSON")
    if not isinstance(data, dict):
        return Line(number, raw, fault=f"is no entry but {_kind(data)}")
    if raw.count("{") + raw.count("[") > DEEPEST and _deeper_than(data, DEEPEST):
        return Line(number, raw, fault="is nested too deeply")
    return Line(number, raw, data)


def _kind(data: object) -> str:
    return {str: "a text", list: "a list", bool: "a truth value", type(None): "null"}.get(
        type(data), "a number"
    )


def _deeper_than(data: object, most: int) -> bool:
    level: list[object] = [data]
    for _ in range(most):
        level = [child for one in level for child in _children(one)]
        if not level:
            return False
    return True


def _children(data: object) -> Iterator[object]:
    if isinstance(data, dict):
        yield from data.values()
    elif isinstance(data, list):
        yield from data


def _without_repeats(entries: Sequence[Line]) -> tuple[list[Line], int, bool]:
    """Return the entries without later copies, the number of copies, and whether ids cannot be trusted."""
    seen: dict[str, Line] = {}
    fresh: list[Line] = []
    conflict = False
    for line in entries:
        earlier = seen.get(line.uuid) if line.uuid else None
        if earlier is not None and (earlier.type, earlier.message) == (line.type, line.message):
            continue
        conflict = conflict or earlier is not None
        seen.setdefault(line.uuid, line)
        fresh.append(line)
    return fresh, len(entries) - len(fresh), conflict


def _apart(entries: Sequence[Line]) -> tuple[list[Line], list[Line]]:
    """Return the main run's entries and those of sub-agents; a sub-agent's own file is a main run."""
    if all(line.sidechain for line in entries if line.type in MESSAGES):
        return list(entries), []
    return [line for line in entries if not line.sidechain], [line for line in entries if line.sidechain]


def _why_no_chain(chain: Sequence[Line], *, conflict: bool) -> str:
    if conflict:
        return "one id names different lines"
    known = {line.uuid for line in chain if line.uuid}
    if not any(_named_parent(line) in known for line in chain):
        return "no line names a parent that is in the file"
    return ""


def _named_parent(line: Line) -> str:
    return _text(line.data, "parentUuid") or _text(line.data, "logicalParentUuid")


def _followed(chain: Sequence[Line]) -> tuple[set[int], int]:
    """Return the numbers of the lines from the last message back to the root, parallel ones gathered.

    And the orphans.
    """
    parents, lost = _parents(chain)
    spoken = [line for line in chain if line.type in MESSAGES and _speaks(line)]
    kept: set[int] = set()
    at: Line | None = spoken[-1] if spoken else None
    while at is not None and at.number not in kept:
        kept.add(at.number)
        at = parents.get(at.number)
    return kept | _gathered(chain, kept), len(kept & lost)


def _parents(chain: Sequence[Line]) -> tuple[dict[int, Line], set[int]]:
    by_uuid = {line.uuid: line for line in chain if line.uuid}
    parents: dict[int, Line] = {}
    lost: set[int] = set()
    before: Line | None = None
    for line in chain:
        named = _named_parent(line)
        unnamed = "parentUuid" not in (line.data or {})
        found = by_uuid.get(named) if named else before if unnamed else None
        if named and found is None:
            lost.add(line.number)
            found = before
        if found is not None:
            parents[line.number] = found
        before = line
    return parents, lost


def _gathered(chain: Sequence[Line], kept: set[int]) -> set[int]:
    """Return the lines of responses that are kept in part, and the results of every call in them."""
    responses = {_text(line.message, "id") for line in chain if line.number in kept} - {""}
    parts = [line for line in chain if line.number in kept or _text(line.message, "id") in responses]
    calls = {
        _text(block, "id")
        for line in parts
        for _, block in blocks_of(line)
        if block.get("type") == "tool_use"
    }
    answers = [line for line in chain if _answers(line) & calls]
    return {line.number for line in (*parts, *answers)}


def _answers(line: Line) -> set[str]:
    return {
        _text(block, "tool_use_id") for _, block in blocks_of(line) if block.get("type") == "tool_result"
    } - {""}


def _speaks(line: Line) -> bool:
    if line.type in MESSAGES:
        return bool(blocks_of(line))
    return line.type in STREAM or (line.type == "system" and bool(_text(line.data, "content")))


def _silence(line: Line) -> str:
    if line.type in MESSAGES:
        return f"{line.type} without a message"
    subtype = _text(line.data, "subtype")
    return f"{line.type}/{subtype}" if subtype else line.type


def _text(data: Mapping[str, Any] | None, key: str) -> str:
    found = (data or {}).get(key)
    return found if isinstance(found, str) else ""
