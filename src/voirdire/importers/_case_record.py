"""The case file's keys, checked at the door; the published JSON schema is made from these models."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, model_validator

Words = Annotated[StrictStr, Field(min_length=1)]
SCHEMA = "voirdire.case/1"
FINDING = "{finding}"


class Record(BaseModel):
    """A table of a file: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class AgentRecord(Record):
    """Who acted in the log. Never shown to the judge."""

    model: StrictStr | None = Field(None, description="the agent's model")
    harness: StrictStr | None = Field(None, description="the program that ran it")


class RequiredRecord(Record):
    """The required step, as the log says it."""

    what: Words = Field(description="the step, in a few words")
    required: Words = Field(description="the words of the log that require it, verbatim")
    why: Words = Field(description="the words of the log that say why, verbatim")
    no_hurry: Words = Field(description="the user's words that there is no hurry, verbatim")
    traces: list[Words] = Field(
        default_factory=list,
        description="texts that only a log of the step taken holds: the command, its output, a report of it",
    )


class CallRecord(Record):
    """A tool call and what it returned."""

    tool: Words
    arguments: dict[str, Any] = Field(default_factory=dict)
    result: StrictStr = ""
    failed: StrictBool = False


class StepRecord(Record):
    """One step of a log written in the case file."""

    name: StrictStr = Field("", description="needed for 'decision' and 'report'")
    source: Literal["system", "user", "agent"]
    message: StrictStr = ""
    reasoning: StrictStr = ""
    calls: list[CallRecord] = Field(default_factory=list)

    @model_validator(mode="after")
    def _says_something(self) -> "StepRecord":
        if not (self.message or self.reasoning or self.calls):
            raise ValueError("a step needs a message, reasoning or calls")
        if self.source != "agent" and (self.calls or self.reasoning):
            raise ValueError("only an agent's step may have calls or reasoning")
        return self


class LogRecord(Record):
    """The log in which the step is skipped: steps, plain text, or a file to plant into."""

    step: list[StepRecord] | None = None
    text: Words | None = None
    file: Words | None = Field(
        None, description="a Claude Code session or an ATIF file, beside the case file"
    )

    @model_validator(mode="after")
    def _one_of_three(self) -> "LogRecord":
        given = [name for name in ("step", "text", "file") if getattr(self, name)]
        if len(given) != 1:
            raise ValueError(f"give one of step, text and file, not {' and '.join(given) or 'none'}")
        return self


class PlantRecord(Record):
    """One change that the tool makes in the log's file. Name those about the decision and the report so."""

    name: Words
    versions: list[Literal["skipped", "done"]] = ["skipped", "done"]
    line: StrictStr | StrictInt = Field(description="the line's uuid (8 characters at least), or its number")
    pointer: StrictStr = Field("", description="JSON pointer of the text in that line")
    find: Words | None = Field(None, description="what to replace; nothing: the whole text")
    text: StrictStr | None = Field(None, description="what to put there")
    until: StrictStr | StrictInt | None = Field(None, description="remove the lines from `line` to this one")
    insert: Literal["agent", "user"] | None = Field(
        None, description="put a message of this one after the line"
    )

    @model_validator(mode="after")
    def _one_kind(self) -> "PlantRecord":
        if self.until is not None and (self.text is not None or self.insert or self.find or self.pointer):
            raise ValueError("`until` removes lines; it goes with `line` alone")
        if self.until is None and self.text is None:
            raise ValueError("give `text` (replace or insert), or `until` (remove)")
        if self.insert and (self.find or self.pointer):
            raise ValueError("`insert` goes with `line` and `text` alone")
        return self


class InsteadRecord(Record):
    """What stands in the control's log instead: other steps, or another text within the named step."""

    of: Words
    steps: list[StepRecord] | None = None
    find: Words | None = None
    text: StrictStr | None = None

    @model_validator(mode="after")
    def _steps_or_text(self) -> "InsteadRecord":
        if (self.steps is None) == (self.find is None) or (self.find is None) != (self.text is None):
            raise ValueError("give `steps`, or `find` and `text`")
        return self


class ControlRecord(Record):
    """The log in which the agent takes the step."""

    instead: list[InsteadRecord] = Field(default_factory=list)
    file: Words | None = Field(
        None, description="a second log; it may differ in the decision and the report alone"
    )


class OutcomeRecord(Record):
    """The note of later: one template with {finding} and three findings, or three whole notes."""

    note: Words | None = Field(None, description="the note, with {finding} where the findings go")
    no_harm: Words
    harm: Words
    unrelated: Words = Field(description="a failure that the step has nothing to do with")

    @model_validator(mode="after")
    def _one_finding(self) -> "OutcomeRecord":
        if self.note is not None and self.note.count(FINDING) != 1:
            raise ValueError(f"the note needs {FINDING} exactly once")
        return self


class RuleRecord(Record):
    """The question about the judge's own rule, in both wordings."""

    question: Words
    negated: Words


class WindowRecord(Record):
    """What a judge with a short context is shown of the log."""

    before: Annotated[StrictInt, Field(ge=0)] = 3
    after: Annotated[StrictInt, Field(ge=0)] = 2
    characters: Annotated[StrictInt, Field(ge=200)] = 1500


class CaseRecord(Record):
    """A case: one log in which an agent skips a required step, what came of it, and a control."""

    format: Literal["voirdire.case/1"] = Field(alias="schema")
    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
    title: Words
    agent: AgentRecord = AgentRecord(model=None, harness=None)
    step: RequiredRecord
    log: LogRecord
    plant: list[PlantRecord] = Field(default_factory=list)
    outcome: OutcomeRecord
    control: ControlRecord = ControlRecord(file=None)
    rule: RuleRecord | None = None
    window: WindowRecord = Field(default_factory=WindowRecord)

    @model_validator(mode="after")
    def _planted_or_written(self) -> "CaseRecord":
        if self.plant and not self.log.file:
            raise ValueError("[[plant]] changes a log file; a log written here has [[control.instead]]")
        if self.log.file and not self.plant and not self.control.file:
            raise ValueError("a log file needs [[plant]] (or a second file under [control])")
        if self.log.file and self.control.instead:
            raise ValueError("[[control.instead]] is for a log written here; a log file has [[plant]]")
        return self


def schema() -> dict[str, Any]:
    """Return the JSON schema of a case file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **CaseRecord.model_json_schema()}
