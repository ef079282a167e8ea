"""The rule file's keys, checked at the door; the published JSON schema is made from these models."""

from typing import Annotated, Any, Literal

from pydantic import Field, StrictInt, StrictStr, model_validator

from voirdire.importers._case_record import Record, Words

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
PartName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class EditRecord(Record):
    """A change of one part.

    A text for another that stands there once, something before or behind, or a whole text.
    """

    find: Words | None = Field(None, description="stands exactly once in the part")
    replace: StrictStr | None = Field(None, description="what to put there")
    before: Words | None = Field(None, description="put this before the part")
    behind: Words | None = Field(None, description="put this behind the part")
    text: Words | None = Field(None, description="the whole part")

    @model_validator(mode="after")
    def _one_form(self) -> "EditRecord":
        forms = [name for name in ("find", "before", "behind", "text") if getattr(self, name) is not None]
        if len(forms) != 1:
            raise ValueError(
                f"give one of find, before, behind and text, not {' and '.join(forms) or 'none'}"
            )
        if (self.find is None) != (self.replace is None):
            raise ValueError("`find` and `replace` go together")
        return self


class WordingRecord(Record):
    """The question about the judge's own rule.

    A yes to `question` permits the shift, a no to `negated` does.
    """

    question: Words
    negated: Words


class ControlRecord(Record):
    """A change that must move the verdict, in the same part or in another."""

    part: PartName | None = Field(None, description="the part it changes; nothing: that of the rule")
    expect: Literal["higher", "lower"]
    edit: EditRecord | None = Field(None, description="for items that bring no control of their own")


class LineRecord(Record):
    """Where a shift starts to count, as P(superiority): distance from 0.5."""

    leak: Annotated[float, Field(gt=0, le=0.5)] = 0.30
    margin: Annotated[float, Field(gt=0, le=0.5)] = 0.30
    reason: Words = "the lines of the outcome protocol"


class PromptRecord(Record):
    """What a judge without a prompt of its own is asked; {{name}} stands for a part."""

    system: Words
    user: Words


class QuestionRecord(Record):
    """The score that is compared."""

    id: PartName = "score"
    text: Words = "How good is this, given what is shown?"
    low: StrictInt = 0
    high: StrictInt = 10


class ItemRecord(Record):
    """One thing to be judged."""

    id: Words
    parts: Annotated[dict[PartName, StrictStr], Field(min_length=1)]
    edit: EditRecord | None = Field(None, description="this item's own change; nothing: the file's")
    control: EditRecord | None = Field(None, description="this item's own control; nothing: the file's")


class RuleRecord(Record):
    """A rule that a judge should keep, a change of one part that must not move the score, and a control."""

    format: Literal["voirdire.rule/1"] = Field(alias="schema")
    name: Name
    part: PartName
    expect: Literal["invariant", "higher", "lower"] = "invariant"
    reads: list[PartName] = Field(default_factory=list, description="parts that the judge must be shown")
    rule: WordingRecord
    edit: EditRecord | None = Field(None, description="for items that bring no change of their own")
    control: ControlRecord
    line: LineRecord = Field(default_factory=LineRecord)
    question: QuestionRecord = Field(default_factory=QuestionRecord)
    prompt: PromptRecord | None = None
    item: Annotated[list[ItemRecord], Field(min_length=1)]
    references: list[Words] = Field(default_factory=list)
    repeats: Annotated[StrictInt, Field(ge=1)] = 10


def schema() -> dict[str, Any]:
    """Return the JSON schema of a rule file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **RuleRecord.model_json_schema()}
