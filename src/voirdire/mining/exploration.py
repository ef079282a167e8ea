"""A model looks at a repository step by step and writes a checklist; every step is checked, counted and recorded.

One exploration is a conversation: the model says one JSON object, `{"tool": "read", "path": ...}`, is shown what came of
it, and goes on until it writes the checklist or is refused. Nobody is asked here: whoever asks hands over each answer.
What stands in the repository is shown as data; whatever it says, the tools stay the same three that only look.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from voirdire.mining.base_tree import BaseTree, CannotShow, LeftPath
from voirdire.mining.checklists import Invalid, TaskChecklist, check_evidence, items_of
from voirdire.readers._reasons import Unreadable, quoted
from voirdire.readers.step import fields

UNREADABLE_TO_STOP = 3
"""Answers of one exploration that cannot be read as a step until it is refused."""

LINES_SHOWN = 200
FOUND_SHOWN = 50
BYTES_SHOWN = 12_000
"""What one step shows at most: lines of a file, matches of a search or names of a folder, bytes of any."""

LONGEST_LINE = 400


class Tool(StrEnum):
    """What a step can do. Only the last ends the exploration."""

    LIST = "list"
    READ = "read"
    SEARCH = "search"
    WRITE = "write"


ARGUMENTS: Mapping[Tool, frozenset[str]] = {
    Tool.LIST: frozenset({"path"}),
    Tool.READ: frozenset({"path", "first"}),
    Tool.SEARCH: frozenset({"text", "path"}),
    Tool.WRITE: frozenset({"items"}),
}


class Refusal(StrEnum):
    """Why a checklist is refused."""

    LEFT_PATH = "left its path"
    BUDGET = "over budget"
    EVIDENCE = "evidence that does not stand there"
    INVALID = "not a valid checklist"
    UNREADABLE = "steps that cannot be read"
    NO_ANSWER = "no answer"


@dataclass(frozen=True)
class Limits:
    """What one exploration may take. `steps` that look, `bytes` shown, `tokens` in and out over all its answers."""

    steps: int = 16
    bytes: int = 80_000
    tokens: int = 250_000

    def as_data(self) -> dict[str, int]:
        """Return them as plain data, for an identity."""
        return {"steps": self.steps, "bytes": self.bytes, "tokens": self.tokens}


@dataclass(frozen=True)
class Step:
    """One step as it is recorded. `asked`: the arguments; `shown`: bytes; `fault`: why nothing came of it, or None."""

    number: int
    tool: str | None
    asked: Mapping[str, object]
    shown: int
    tokens: int
    fault: str | None = None


@dataclass
class Exploration:
    """One exploration of one task. `turns`: what was said and what was shown in return, in order.

    `done`: the checklist, or why it is missing; None: it goes on.
    """

    task: str
    tree: BaseTree
    limits: Limits
    turns: list[tuple[str, str]] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    done: TaskChecklist | None = None
    refused: Refusal | None = None
    _shown: int = 0
    _tokens: int = 0
    _unreadable: int = 0

    @property
    def looked(self) -> int:
        """How many steps were taken."""
        return len(self.turns)

    def take(self, said: str, *, tokens: int) -> None:
        """Take one answer of the model; `tokens`: what it used, in and out."""
        try:
            data = fields(said)
            tool = _tool(data)
        except Unreadable as why:
            self.misread(said, why.reason, tokens=tokens)
            return
        self._tokens += tokens
        asked = {name: value for name, value in data.items() if name != "tool"}
        if self._tokens > self.limits.tokens:
            why_not = f"{self._tokens:,} tokens of {self.limits.tokens:,}"
            self._refuse(Refusal.BUDGET, why_not, tool, asked, tokens)
        elif tool is Tool.WRITE:
            self._write(asked, tokens)
        elif self.looked >= self.limits.steps:
            self._refuse(Refusal.BUDGET, f"more than {self.limits.steps} steps", tool, asked, tokens)
        elif self._shown >= self.limits.bytes:
            why_not = f"{self._shown:,} bytes were shown already, of {self.limits.bytes:,}"
            self._refuse(Refusal.BUDGET, why_not, tool, asked, tokens)
        else:
            self._look(said, tool, asked, tokens)

    def give_up(self, reason: str) -> None:
        """End it because there is no answer to go on with."""
        self._refuse(Refusal.NO_ANSWER, reason, None, {}, 0)

    def _look(self, said: str, tool: Tool, asked: Mapping[str, object], tokens: int) -> None:
        fault = None
        try:
            text = look(self.tree, tool, asked)
        except LeftPath as why:
            self._refuse(Refusal.LEFT_PATH, str(why), tool, asked, tokens)
            return
        except (CannotShow, Unreadable) as why:
            fault = str(why)
            text = f"Nothing to show: {fault}."
        text = _cut(text, min(BYTES_SHOWN, self.limits.bytes - self._shown))
        size = len(text.encode("utf-8", "surrogatepass"))
        self._shown += size
        self.steps.append(Step(len(self.steps) + 1, tool.value, asked, size, tokens, fault))
        self._answer(said, text)

    def _answer(self, said: str, text: str) -> None:
        steps, left = self.limits.steps - self.looked - 1, max(0, self.limits.bytes - self._shown)
        rest = (
            f"[left: {steps} steps, {left:,} bytes]"
            if steps > 0 and left
            else "[nothing is left to look at: write the checklist now]"
        )
        self.turns.append((said, f"{text}\n\n{rest}"))

    def misread(self, said: str, reason: str, *, tokens: int) -> None:
        """Take an answer that is no step (cut off, a refusal, prose) and ask for one; three of them end it."""
        self._tokens += tokens
        self._unreadable += 1
        if self._unreadable >= UNREADABLE_TO_STOP or self.looked >= self.limits.steps:
            self._refuse(
                Refusal.UNREADABLE, f"{self._unreadable} of them, the last: {reason}", None, {}, tokens
            )
            return
        self.steps.append(Step(len(self.steps) + 1, None, {}, 0, tokens, reason))
        self._answer(said, f"That was no step: {reason}. Answer with one JSON object and nothing else.")

    def _write(self, asked: Mapping[str, object], tokens: int) -> None:
        try:
            items = items_of(asked)
        except Invalid as why:
            self._refuse(Refusal.INVALID, str(why), Tool.WRITE, {}, tokens)
            return
        try:
            check_evidence(items, self.tree, wanted=True)
        except Invalid as why:
            self._refuse(Refusal.EVIDENCE, str(why), Tool.WRITE, {}, tokens)
            return
        self.steps.append(Step(len(self.steps) + 1, Tool.WRITE.value, {"items": len(items)}, 0, tokens))
        self.done = TaskChecklist(self.task, self.tree.commit, items)

    def _refuse(
        self, why: Refusal, detail: str, tool: Tool | None, asked: Mapping[str, object], tokens: int
    ) -> None:
        reason = f"{why.value}: {detail}"
        self.steps.append(Step(len(self.steps) + 1, tool.value if tool else None, asked, 0, tokens, reason))
        self.refused = why
        self.done = TaskChecklist(self.task, self.tree.commit, missing_because=reason)


def look(tree: BaseTree, tool: Tool, asked: Mapping[str, object]) -> str:
    """Return what a step that looks shows. Raises LeftPath, CannotShow, Unreadable for arguments of another type."""
    match tool:
        case Tool.LIST:
            return _lines(tree.listed(_text(asked, "path", default="")), FOUND_SHOWN * 4)
        case Tool.READ:
            return _read(tree, _text(asked, "path"), _first(asked))
        case _:
            found = tree.search(_text(asked, "text"), _text(asked, "path", default=""))
            lines = [f"{one.path}:{one.line}: {one.text.strip()[:LONGEST_LINE]}" for one in found]
            return _lines(lines, FOUND_SHOWN) if lines else "(no line holds it)"


def tokens_of(said: str, shown: str, counted: int | None) -> int:
    """Return the tokens of one answer: as the server counted them, else one for each four bytes."""
    if counted is not None:
        return counted
    return math.ceil((len(said.encode("utf-8", "replace")) + len(shown.encode("utf-8", "replace"))) / 4)


def _tool(data: Mapping[str, object]) -> Tool:
    named = data.get("tool")
    if not isinstance(named, str) or named not in list(Tool):
        raise Unreadable(f"no such tool: {quoted(str(named))}")
    tool = Tool(named)
    strange = sorted(data.keys() - {"tool"} - ARGUMENTS[tool])
    if strange:
        raise Unreadable(f"the tool '{tool}' takes no {quoted(strange[0])}")
    return tool


def _text(asked: Mapping[str, object], name: str, *, default: str | None = None) -> str:
    value = asked.get(name, default)
    if not isinstance(value, str):
        raise CannotShow(f"'{name}' is missing or no text")
    return value


def _first(asked: Mapping[str, object]) -> int:
    value = asked.get("first", 1)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise CannotShow("'first' is the number of a line, from 1")
    return value


def _read(tree: BaseTree, path: str, first: int) -> str:
    lines = tree.text(path).split("\n")
    if lines[-1] == "":
        lines.pop()
    shown = lines[first - 1 : first - 1 + LINES_SHOWN]
    if not shown:
        raise CannotShow(f"'{path}' has {len(lines):,} lines")
    rows = [f"{number:>5}  {line[:LONGEST_LINE]}" for number, line in enumerate(shown, start=first)]
    more = len(lines) - (first - 1 + len(shown))
    return "\n".join([*rows, *([f"(and {more:,} more lines)"] if more else [])])


def _lines(lines: list[str], most: int) -> str:
    more = len(lines) - most
    return "\n".join([*lines[:most], *([f"(and {more:,} more)"] if more > 0 else [])])


def _cut(text: str, most: int) -> str:
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= most:
        return text
    return raw[:most].decode("utf-8", "ignore") + "\n(cut here)"
