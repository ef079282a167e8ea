"""Claude Code sessions: a run's native JSON lines to an ATIF trajectory and to the log that a judge reads.

Also what `claude -p --output-format stream-json` prints. What is left out is counted; nothing is repaired in
silence.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from voirdire.edits.run_log import Actor, Place, RunLog
from voirdire.errors import DataError
from voirdire.importers._files import read_bytes
from voirdire.importers._session import Intake, Line, Ordered, blocks_of, lines_of, ordered
from voirdire.importers.atif import Call, Result, Step, Text, Trajectory, log_of, origin_of
from voirdire.model import Item

AGENT = "claude-code"
UNKNOWN = "unknown"
SUMMARY = "summary of the run so far"
NOT_TEXT = "[{kind}, not shown]"

_MARKS = ('"parentUuid"', '"sessionId"', '"session_id"')


@dataclass(frozen=True)
class Session:
    """A session file read.

    Its lines as they are, the run as ATIF, the log, and the account of what was left out.
    """

    lines: tuple[Line, ...]
    trajectory: Trajectory
    log: RunLog
    intake: Intake


def sniff(head: str) -> bool:
    """Whether a file that begins with this text is a Claude Code session."""
    start = head.lstrip("\ufeff \t\r\n")
    return start.startswith("{") and '"type"' in start and any(mark in start for mark in _MARKS)


def read_items(path: Path) -> list[Item]:
    """Return the run as one item with the part `log`."""
    session = read_session(path)
    log = session.log.text(numbered=True)
    return [Item(id=path.name.split(".")[0], parts={"log": log}, origin=origin_of(session.trajectory))]


def read_session(path: Path) -> Session:
    """Read a session file, plain or gzip, and the files of its sub-agents beside it.

    Raises UsageError where there is no file, DataError where no line of it is part of a run.
    """
    found = tuple(_subagent(one) for one in sorted(_subagent_folder(path).glob("agent-*.jsonl")))
    return session_of_lines(lines_of(read_bytes(path)), where=str(path), subagents=found)


def session_of(data: bytes, *, where: str) -> Session:
    """Read a session from the bytes of its file (unpacked)."""
    return session_of_lines(lines_of(data), where=where)


def session_of_lines(
    lines: tuple[Line, ...], *, where: str, subagents: tuple[Trajectory, ...] = ()
) -> Session:
    """Read a session from its lines; `subagents` were found in files of their own."""
    sorted_lines = ordered(lines)
    if not any(line.type in ("user", "assistant") for line in sorted_lines.run):
        said = " ".join(sorted_lines.intake.sentences())
        raise DataError(
            f"{where}: there is no message in it. {said}", hint="give a Claude Code session (JSON lines)"
        )
    build = _Build()
    for line in sorted_lines.run:
        build.take(line)
    trajectory = _trajectory(sorted_lines, build, subagents)
    log = log_of(trajectory)
    if not log.steps:
        raise DataError(
            f"{where}: its messages hold no text", hint="give a session in which something was said"
        )
    return Session(lines, trajectory, log, build.account(sorted_lines.intake))


def _subagent_folder(path: Path) -> Path:
    return path.parent / path.name.split(".")[0] / "subagents"


def _subagent(path: Path) -> Trajectory:
    found = session_of(read_bytes(path), where=str(path)).trajectory
    return replace(found, trajectory_id=path.stem.removeprefix("agent-"))


# --- lines to steps ---------------------------------------------------------------------------------


@dataclass
class _Draft:
    """A step while its lines come in."""

    source: Actor
    message: list[Text] = field(default_factory=list)
    reasoning: list[Text] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    model: str | None = None
    timestamp: str | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""

    def step(self) -> Step:
        return Step(
            source=self.source,
            message=tuple(self.message),
            reasoning=tuple(self.reasoning),
            calls=tuple(self.calls),
            results=tuple(self.results),
            model=self.model,
            timestamp=self.timestamp,
            metrics=_metrics(self.usage),
            label=self.label,
            lines=tuple(self.lines),
        )

    @property
    def empty(self) -> bool:
        return not (self.message or self.reasoning or self.calls or self.results)


class _Build:
    """Takes the lines of a run in order, and gathers steps and counts."""

    def __init__(self) -> None:
        self.drafts: list[_Draft] = []
        self.responses: dict[str, _Draft] = {}
        self.callers: dict[str, _Draft] = {}
        self.answered: set[str] = set()
        self.counts: Counter[str] = Counter()
        self.others: Counter[str] = Counter()
        self.totals: Mapping[str, Any] = {}

    def take(self, line: Line) -> None:
        """Add what one line says."""
        if line.type == "assistant":
            self._take_response(line)
        elif line.type == "user":
            self._take_user(line)
        elif line.type == "result":
            self.totals = line.data or {}
        else:
            content = str((line.data or {}).get("content"))
            self._new(Actor.SYSTEM, line).message.append(
                Text(content, Place(line.number, "/content", line.uuid))
            )

    def steps(self) -> tuple[Step, ...]:
        """Return the steps that hold anything."""
        return tuple(draft.step() for draft in self.drafts if not draft.empty)

    def account(self, intake: Intake) -> Intake:
        """Return the account with what was met inside the lines."""
        return replace(
            intake,
            merged=self.counts["merged"],
            meta=self.counts["meta"],
            summaries=self.counts["summaries"],
            empty_thinking=self.counts["empty thinking"],
            results_without_call=self.counts["results without call"],
            calls_without_result=len(self.callers.keys() - self.answered),
            other_blocks=dict(self.others),
        )

    def _new(self, source: Actor, line: Line) -> _Draft:
        stamp = (line.data or {}).get("timestamp")
        draft = _Draft(source, lines=[line.number], timestamp=stamp if isinstance(stamp, str) else None)
        self.drafts.append(draft)
        return draft

    def _take_response(self, line: Line) -> None:
        response = line.message.get("id")
        draft = self.responses.get(response) if isinstance(response, str) else None
        if draft is None:
            draft = self._new(Actor.AGENT, line)
        else:
            draft.lines.append(line.number)
            self.counts["merged"] += 1
        if isinstance(response, str):
            self.responses[response] = draft
        model, usage = line.message.get("model"), line.message.get("usage")
        draft.model = model if isinstance(model, str) else draft.model
        draft.usage = usage if isinstance(usage, Mapping) else draft.usage
        for pointer, block in blocks_of(line):
            self._take_block(draft, line, pointer, block)

    def _take_block(self, draft: _Draft, line: Line, pointer: str, block: Mapping[str, Any]) -> None:
        kind = str(block.get("type"))
        if kind in ("text", "bare"):
            draft.message += self._said(line, pointer, block, "text")
        elif kind == "thinking":
            said = self._said(line, pointer, block, "thinking")
            draft.reasoning += said
            self.counts["empty thinking"] += not said
        elif kind == "redacted_thinking":
            self.counts["empty thinking"] += 1
        elif kind == "tool_use":
            self._take_call(draft, line, pointer, block)
        else:
            draft.message.append(self._not_text(kind, line, pointer))

    def _take_call(self, draft: _Draft, line: Line, pointer: str, block: Mapping[str, Any]) -> None:
        given = block.get("input")
        arguments = dict(given) if isinstance(given, Mapping) else {} if given is None else {"input": given}
        call_id = str(block.get("id") or f"line-{line.number}")
        place = Place(line.number, f"{pointer}/input", line.uuid)
        draft.calls.append(Call(call_id, str(block.get("name") or "tool"), arguments, place))
        self.callers[call_id] = draft

    def _take_user(self, line: Line) -> None:
        draft: _Draft | None = None
        for pointer, block in blocks_of(line):
            kind = str(block.get("type"))
            if kind == "tool_result":
                self._take_result(line, pointer, block)
                continue
            if draft is None:
                draft = self._new_message(line)
            said = (
                self._said(line, pointer, block, "text")
                if kind in ("text", "bare")
                else [self._not_text(kind, line, pointer)]
            )
            draft.message += said

    def _new_message(self, line: Line) -> _Draft:
        """Return a step for a user's message; what the harness put in the user's mouth is the system's."""
        data = line.data or {}
        if data.get("isCompactSummary"):
            self.counts["summaries"] += 1
            draft = self._new(Actor.SYSTEM, line)
            draft.label = SUMMARY
            return draft
        if data.get("isMeta"):
            self.counts["meta"] += 1
            return self._new(Actor.SYSTEM, line)
        return self._new(Actor.USER, line)

    def _take_result(self, line: Line, pointer: str, block: Mapping[str, Any]) -> None:
        call_id = block.get("tool_use_id")
        caller = self.callers.get(call_id) if isinstance(call_id, str) else None
        result = Result(
            call_id=call_id if caller is not None and isinstance(call_id, str) else None,
            content=tuple(self._returned(line, pointer, block.get("content"))),
            failed=block.get("is_error") is True,
            subagents=_subagents_of(line),
        )
        if caller is None:
            self.counts["results without call"] += 1
            caller = self._new(Actor.SYSTEM, line)
        elif isinstance(call_id, str):
            self.answered.add(call_id)
            caller.lines.append(line.number)
        caller.results.append(result)

    def _returned(self, line: Line, pointer: str, content: object) -> Iterator[Text]:
        if isinstance(content, str):
            yield Text(content, Place(line.number, f"{pointer}/content", line.uuid))
        elif isinstance(content, list):
            for number, block in enumerate(content):
                at = f"{pointer}/content/{number}"
                if isinstance(block, Mapping) and isinstance(block.get("text"), str):
                    yield Text(block["text"], Place(line.number, f"{at}/text", line.uuid))
                else:
                    kind = block.get("type") if isinstance(block, Mapping) else type(block).__name__
                    yield self._not_text(str(kind), line, at)

    def _said(self, line: Line, pointer: str, block: Mapping[str, Any], key: str) -> list[Text]:
        said = block.get(key)
        if not isinstance(said, str) or not said.strip():
            return []
        stands = pointer if pointer == "/message/content" or block["type"] == "bare" else f"{pointer}/{key}"
        return [Text(said, Place(line.number, stands, line.uuid))]

    def _not_text(self, kind: str, line: Line, pointer: str) -> Text:
        self.others[kind] += 1
        return Text(NOT_TEXT.format(kind=kind), Place(line.number, pointer, line.uuid))


def _metrics(usage: Mapping[str, Any]) -> dict[str, int]:
    """Return a response's usage by ATIF's names.

    Prompt tokens include those written to and read from the cache.
    """
    count = {name: value for name, value in usage.items() if isinstance(value, int)}
    if not count:
        return {}
    written, cached = count.get("cache_creation_input_tokens", 0), count.get("cache_read_input_tokens", 0)
    return {
        "prompt_tokens": count.get("input_tokens", 0) + written + cached,
        "completion_tokens": count.get("output_tokens", 0),
        "cached_tokens": cached,
    }


def _subagents_of(line: Line) -> tuple[str, ...]:
    detail = (line.data or {}).get("toolUseResult")
    agent = detail.get("agentId") if isinstance(detail, Mapping) else None
    return (agent,) if isinstance(agent, str) and agent else ()


# --- the trajectory ---------------------------------------------------------------------------------


def _trajectory(found: Ordered, build: _Build, subagents: tuple[Trajectory, ...]) -> Trajectory:
    steps = build.steps()
    known = {one.trajectory_id for one in subagents}
    inline = tuple(one for one in _inline_subagents(found.sidechain) if one.trajectory_id not in known)
    models = Counter(step.model for step in steps if step.model and not step.model.startswith("<"))
    return _linked(
        Trajectory(
            agent=AGENT,
            agent_version=_first(found.run, "version") or UNKNOWN,
            model=models.most_common(1)[0][0] if models else _first(found.run, "model"),
            session_id=_first(found.run, "sessionId") or _first(found.run, "session_id"),
            trajectory_id=_first(found.run, "sessionId") or _first(found.run, "session_id"),
            steps=steps,
            subagents=(*subagents, *inline),
            final_metrics=_totals(steps, build.totals),
            extra={"models": dict(models)} if len(models) > 1 else {},
        )
    )


def _first(lines: Sequence[Line], key: str) -> str | None:
    found = ((line.data or {}).get(key) for line in lines)
    return next((value for value in found if isinstance(value, str) and value), None)


def _totals(steps: Sequence[Step], reported: Mapping[str, Any]) -> dict[str, Any]:
    totals: dict[str, Any] = {
        f"total_{name}": sum(step.metrics.get(name, 0) for step in steps)
        for name in ("prompt_tokens", "completion_tokens", "cached_tokens")
    }
    cost = reported.get("total_cost_usd")
    if isinstance(cost, int | float):
        totals["total_cost_usd"] = cost
    return {**totals, "total_steps": len(steps)}


def _inline_subagents(lines: Sequence[Line]) -> Iterator[Trajectory]:
    """Give the runs of sub-agents that stand in the session's own file, by agent or by their first line."""
    groups: dict[str, list[Line]] = {}
    root_of: dict[str, str] = {}
    for line in lines:
        data = line.data or {}
        parent = str(data.get("parentUuid") or "")
        named = data.get("agentId") or data.get("parent_tool_use_id")
        group = str(named or root_of.get(parent) or f"sidechain-{line.number}")
        root_of[line.uuid] = group
        groups.setdefault(group, []).append(line)
    for name, members in groups.items():
        build = _Build()
        for line in members:
            if line.type in ("user", "assistant"):
                build.take(line)
        steps = build.steps()
        if steps:
            yield Trajectory(AGENT, _first(members, "version") or UNKNOWN, steps, trajectory_id=name)


def _linked(trajectory: Trajectory) -> Trajectory:
    """Return the trajectory with references only to sub-agents that are in it: a file may be missing."""
    known = {one.trajectory_id for one in trajectory.subagents}
    steps = tuple(
        replace(
            step,
            results=tuple(
                replace(result, subagents=tuple(one for one in result.subagents if one in known))
                for result in step.results
            ),
        )
        for step in trajectory.steps
    )
    return replace(trajectory, steps=steps)
