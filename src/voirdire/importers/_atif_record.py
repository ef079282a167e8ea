"""ATIF's JSON, checked at the door: pydantic models of a trajectory and of what they cannot say alone."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, ValidationError

from voirdire.errors import DataError
from voirdire.importers._faults import explained

HINT = "see the ATIF documentation; keys of your own belong under `extra`"
AGENT_ONLY = (
    "model_name",
    "reasoning_effort",
    "reasoning_content",
    "tool_calls",
    "metrics",
    "llm_call_count",
)


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class PartRecord(_Record):
    """One part of a message: text, or an image that we do not read."""

    type: Literal["text", "image"]
    text: StrictStr | None = None
    source: Any = None


Content = StrictStr | list[PartRecord]


class CallRecord(_Record):
    """A tool call."""

    tool_call_id: StrictStr
    function_name: StrictStr
    arguments: dict[str, Any]
    extra: dict[str, Any] | None = None


class SubagentRecord(_Record):
    """A reference to the run of a sub-agent."""

    trajectory_id: StrictStr | None = None
    session_id: StrictStr | None = None
    trajectory_path: StrictStr | None = None
    extra: dict[str, Any] | None = None


class ResultRecord(_Record):
    """What a tool returned."""

    source_call_id: StrictStr | None = None
    content: Content | None = None
    subagent_trajectory_ref: list[SubagentRecord] | None = None
    extra: dict[str, Any] | None = None


class ObservationRecord(_Record):
    """The results of one step."""

    results: list[ResultRecord]


class StepRecord(_Record):
    """One step."""

    step_id: Annotated[StrictInt, Field(ge=1)]
    source: Literal["system", "user", "agent"]
    message: Content
    timestamp: StrictStr | None = None
    model_name: StrictStr | None = None
    reasoning_effort: StrictStr | float | None = None
    reasoning_content: StrictStr | None = None
    tool_calls: list[CallRecord] | None = None
    observation: ObservationRecord | None = None
    metrics: dict[str, Any] | None = None
    is_copied_context: StrictBool | None = None
    llm_call_count: StrictInt | None = None
    extra: dict[str, Any] | None = None


class AgentRecord(_Record):
    """Who acted."""

    name: Annotated[StrictStr, Field(min_length=1)]
    version: StrictStr
    model_name: StrictStr | None = None
    tool_definitions: list[dict[str, Any]] | None = None
    extra: dict[str, Any] | None = None


class TrajectoryRecord(_Record):
    """One run."""

    schema_version: Annotated[str, Field(pattern=r"^ATIF-v1\.[0-8]$")]
    agent: AgentRecord
    steps: Annotated[list[StepRecord], Field(min_length=1)]
    session_id: StrictStr | None = None
    trajectory_id: StrictStr | None = None
    notes: StrictStr | None = None
    final_metrics: dict[str, Any] | None = None
    continued_trajectory_ref: StrictStr | None = None
    subagent_trajectories: list["TrajectoryRecord"] | None = None
    extra: dict[str, Any] | None = None


def read_record(data: object, *, where: str) -> TrajectoryRecord:
    """Return the checked record; DataError with every fault's place (the first three)."""
    try:
        found = TrajectoryRecord.model_validate(data)
    except ValidationError as error:
        raise explained(error, where=where, hint=HINT) from None
    except RecursionError:
        raise DataError(f"{where}: nested too deeply", hint=HINT) from None
    faults = list(_faults(found, ""))
    if faults:
        raise DataError(f"{where}: {'; '.join(faults[:3])}", hint=HINT)
    return found


def _faults(found: TrajectoryRecord, at: str) -> Iterator[str]:
    known = {one.trajectory_id for one in found.subagent_trajectories or ()}
    for number, step in enumerate(found.steps):
        yield from _step_faults(step, number, f"{at}/steps/{number}", known)
    for number, one in enumerate(found.subagent_trajectories or ()):
        if one.trajectory_id is None:
            yield f"{at}/subagent_trajectories/{number}: it needs a trajectory_id"
        yield from _faults(one, f"{at}/subagent_trajectories/{number}")


def _step_faults(step: StepRecord, number: int, at: str, known: set[str | None]) -> Iterator[str]:
    if step.step_id != number + 1:
        due = f"steps are numbered from 1 without gaps, so {number + 1} is due"
        yield f"{at}/step_id: it is {step.step_id}, but {due}"
    if step.source != "agent":
        for name in AGENT_ONLY:
            if getattr(step, name) is not None:
                yield f"{at}/{name}: only an agent's step may have it, not one of '{step.source}'"
    calls = {call.tool_call_id for call in step.tool_calls or ()}
    for place, result in enumerate(step.observation.results if step.observation else ()):
        where = f"{at}/observation/results/{place}"
        if result.source_call_id is not None and result.source_call_id not in calls:
            yield f"{where}/source_call_id: no call of this step has the id {result.source_call_id!r}"
        for ref in result.subagent_trajectory_ref or ():
            if ref.trajectory_id and ref.trajectory_path is None and ref.trajectory_id not in known:
                yield f"{where}/subagent_trajectory_ref: there is no sub-agent {ref.trajectory_id!r} here"
