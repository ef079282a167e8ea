"""ATIF trajectories: the form in which every agent run is held, read from its JSON files too.

Facts about the format: `schema_version` ATIF-v1.0 to v1.8, steps numbered from 1 without gaps, tool results
on the step of their calls, no key beyond those named except inside `extra`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire.edits.run_log import Actor, LogStep, Passage, Place, RunLog, arguments_text, one_line
from voirdire.errors import DataError
from voirdire.importers._files import read_bytes
from voirdire.model import Item, Origin

if TYPE_CHECKING:
    from voirdire.importers import _atif_record as record

NEWEST = "ATIF-v1.8"
VERSIONS = tuple(f"ATIF-v1.{minor}" for minor in range(9))
NOTES = "voirdire"
"""Our own notes stand under this key of a step's `extra`."""


@dataclass(frozen=True)
class Text:
    """One block of text, and where it stands in the file it came from (None: written by us)."""

    text: str
    place: Place | None = None


@dataclass(frozen=True)
class Call:
    """One tool call. `arguments` as the agent gave them."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    place: Place | None = None


@dataclass(frozen=True)
class Result:
    """What a tool returned. `call_id` None: it answers no call we know. `subagents`: trajectory ids."""

    call_id: str | None
    content: tuple[Text, ...] = ()
    failed: bool = False
    subagents: tuple[str, ...] = ()


@dataclass(frozen=True)
class Step:
    """One step. `label` says what its source does not say, such as that a message is a summary of the run.

    `metrics`: token counts and cost by ATIF's names. `copied`: repeats the context of an earlier run. `name`:
    what a case file calls the step. `lines`: the lines of the file it came from.
    """

    source: Actor
    message: tuple[Text, ...] = ()
    reasoning: tuple[Text, ...] = ()
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()
    model: str | None = None
    timestamp: str | None = None
    metrics: Mapping[str, Any] = field(default_factory=dict)
    copied: bool = False
    label: str = ""
    name: str = ""
    lines: tuple[int, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Trajectory:
    """One agent run. `subagents`: the runs it started, found by their `trajectory_id`."""

    agent: str
    agent_version: str
    steps: tuple[Step, ...]
    model: str | None = None
    session_id: str | None = None
    trajectory_id: str | None = None
    subagents: tuple["Trajectory", ...] = ()
    final_metrics: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    version: str = NEWEST


# --- the log as a judge reads it --------------------------------------------------------------------


def log_of(trajectory: Trajectory) -> RunLog:
    """Return the run as a log: user, agent, tool calls, each with what it returned.

    Copied context is left out.
    """
    shown = [step for step in trajectory.steps if not step.copied]
    return RunLog(
        steps=tuple(step for step in map(_log_step, shown) if step.passages),
        copied=len(trajectory.steps) - len(shown),
    )


def _log_step(step: Step) -> LogStep:
    return LogStep(step.source, tuple(_passages(step)), name=step.name)


def _passages(step: Step) -> Iterator[Passage]:
    label = f" ({step.label})" if step.label else ""
    for text in step.reasoning:
        yield Passage(f"{step.source} thinks", text.text, text.place)
    for text in step.message:
        yield Passage(f"{step.source}{label}", text.text, text.place)
    answered: set[int] = set()
    for call in step.calls:
        name = one_line(call.name)
        yield Passage(f"{step.source} calls {name}", arguments_text(call.arguments), call.place)
        for number, result in enumerate(step.results):
            if result.call_id == call.id and number not in answered:
                answered.add(number)
                yield from _returned(name, result)
    for number, result in enumerate(step.results):
        if number not in answered:
            yield from _returned("tool", result)


def _returned(name: str, result: Result) -> Iterator[Passage]:
    heading = f"{name} {'fails' if result.failed else 'returns'}"
    content = result.content or (Text(""),)
    for text in content:
        yield Passage(heading, text.text or "(no output)", text.place)


# --- the file ---------------------------------------------------------------------------------------


def sniff(head: str) -> bool:
    """Whether a file that begins with this text is an ATIF trajectory."""
    return head.lstrip("\ufeff \t\r\n").startswith("{") and '"ATIF-v' in head


def read_items(path: Path) -> list[Item]:
    """Return the run as one item with the part `log`."""
    trajectory = read_trajectory(path)
    log = log_of(trajectory).text(numbered=True)
    return [Item(id=path.name.split(".")[0], parts={"log": log}, origin=origin_of(trajectory))]


def origin_of(trajectory: Trajectory) -> Origin:
    """Return who acted: the agent's model, and the harness with its version."""
    return Origin(author=trajectory.model, harness=f"{trajectory.agent} {trajectory.agent_version}".strip())


def read_trajectory(path: Path) -> Trajectory:
    """Read an ATIF file. Raises UsageError where there is none, DataError naming what is wrong in it."""
    return from_text(read_bytes(path).decode("utf-8-sig", "surrogateescape"), where=str(path))


def from_text(text: str, *, where: str) -> Trajectory:
    """Read an ATIF file's text."""
    try:
        data = json.loads(text)
    except RecursionError:
        raise DataError(f"{where}: nested too deeply", hint="give an ATIF trajectory") from None
    except ValueError as error:
        raise DataError(f"{where}: not JSON: {error}", hint="give one ATIF trajectory per file") from None
    return from_data(data, where=where)


def validate(data: object, *, where: str) -> None:
    """Raise DataError naming the first faults, each with its place, unless `data` is an ATIF trajectory."""
    _record(data, where)


def from_data(data: object, *, where: str) -> Trajectory:
    """Return plain data as a trajectory; DataError where it is none."""
    return _trajectory(_record(data, where), "")


def _record(data: object, where: str) -> "record.TrajectoryRecord":
    from voirdire.importers._atif_record import read_record

    return read_record(data, where=where)


def _trajectory(found: "record.TrajectoryRecord", at: str) -> Trajectory:
    return Trajectory(
        agent=found.agent.name,
        agent_version=found.agent.version,
        model=found.agent.model_name,
        session_id=found.session_id,
        trajectory_id=found.trajectory_id,
        steps=tuple(_step(step, f"{at}/steps/{number}") for number, step in enumerate(found.steps)),
        subagents=tuple(
            _trajectory(one, f"{at}/subagent_trajectories/{number}")
            for number, one in enumerate(found.subagent_trajectories or ())
        ),
        final_metrics=found.final_metrics or {},
        extra=found.extra or {},
        version=found.schema_version,
    )


def _step(found: "record.StepRecord", at: str) -> Step:
    extra = dict(found.extra or {})
    notes = extra.pop(NOTES, {})
    failed = set(notes.get("failed_results", ()))
    results = found.observation.results if found.observation else []
    return Step(
        source=Actor(found.source),
        message=_texts(found.message, f"{at}/message"),
        reasoning=_texts(found.reasoning_content, f"{at}/reasoning_content"),
        calls=tuple(
            Call(
                call.tool_call_id,
                call.function_name,
                call.arguments,
                Place(1, f"{at}/tool_calls/{number}/arguments"),
            )
            for number, call in enumerate(found.tool_calls or ())
        ),
        results=tuple(
            Result(
                call_id=result.source_call_id,
                content=_texts(result.content, f"{at}/observation/results/{number}/content"),
                failed=number in failed,
                subagents=tuple(ref.trajectory_id or "" for ref in result.subagent_trajectory_ref or ()),
            )
            for number, result in enumerate(results)
        ),
        model=found.model_name,
        timestamp=found.timestamp,
        metrics=found.metrics or {},
        copied=bool(found.is_copied_context),
        label=str(notes.get("label", "")),
        name=str(notes.get("name", "")),
        lines=tuple(notes.get("lines", ())),
        extra=extra,
    )


def _texts(content: "str | Sequence[record.PartRecord] | None", at: str) -> tuple[Text, ...]:
    if content is None or content == "":
        return ()
    if isinstance(content, str):
        return (Text(content, Place(1, at)),)
    return tuple(
        Text(part.text if part.text is not None else f"[{part.type}]", Place(1, f"{at}/{number}/text"))
        for number, part in enumerate(content)
    )


def to_data(trajectory: Trajectory) -> dict[str, Any]:
    """Return the trajectory as plain ATIF data; `from_data` gives it back, places excepted."""
    return _without_nothing(
        {
            "schema_version": trajectory.version,
            "session_id": trajectory.session_id,
            "trajectory_id": trajectory.trajectory_id,
            "agent": _without_nothing(
                {
                    "name": trajectory.agent,
                    "version": trajectory.agent_version,
                    "model_name": trajectory.model,
                }
            ),
            "steps": [_step_data(step, number) for number, step in enumerate(trajectory.steps, start=1)],
            "final_metrics": dict(trajectory.final_metrics),
            "subagent_trajectories": [to_data(one) for one in trajectory.subagents],
            "extra": dict(trajectory.extra),
        }
    )


def _step_data(step: Step, number: int) -> dict[str, Any]:
    data = _without_nothing(
        {
            "step_id": number,
            "timestamp": step.timestamp,
            "source": str(step.source),
            "model_name": step.model,
            "reasoning_content": "\n\n".join(text.text for text in step.reasoning),
            "tool_calls": [
                {"tool_call_id": call.id, "function_name": call.name, "arguments": dict(call.arguments)}
                for call in step.calls
            ],
            "observation": {"results": [_result_data(result) for result in step.results]}
            if step.results
            else None,
            "metrics": dict(step.metrics),
            "is_copied_context": step.copied or None,
            "extra": _extra_data(step),
        }
    )
    return {**data, "message": _content(step.message) or ""}


def _extra_data(step: Step) -> dict[str, Any]:
    notes = _without_nothing(
        {
            "label": step.label,
            "name": step.name,
            "lines": list(step.lines),
            "failed_results": [number for number, result in enumerate(step.results) if result.failed],
        }
    )
    return {**step.extra, NOTES: notes} if notes else dict(step.extra)


def _result_data(result: Result) -> dict[str, Any]:
    return _without_nothing(
        {
            "source_call_id": result.call_id,
            "content": _content(result.content),
            "subagent_trajectory_ref": [{"trajectory_id": one} for one in result.subagents],
        }
    )


def _content(texts: Sequence[Text]) -> str | list[dict[str, str]] | None:
    if not texts:
        return None
    if len(texts) == 1:
        return texts[0].text
    return [{"type": "text", "text": text.text} for text in texts]


def _without_nothing(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if value not in (None, "", [], {})}
