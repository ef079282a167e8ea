"""The form of a judge file, as pydantic models: the door at which outside data becomes ours.

Imports pydantic, so it is imported only where a judge file is read or its JSON schema is written.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1)]
Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class PromptTable(_Table):
    """The prompt: templates in which {{name}} stands for a part of the item."""

    system: str | None = Field(default=None, description="The system message; may name parts as {{name}}.")
    user: Name = Field(description="The user message; names at least one part as {{name}}.")


class ChecklistItemTable(_Table):
    """One weighted predicate of a checklist."""

    id: Name
    text: Name
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    scope: bool = Field(default=False, description="Whether it is about staying within the task.")


class QuestionTable(_Table):
    """One question. `kind` decides which of the other keys it has."""

    id: Name
    kind: Literal["predicate", "choice", "score", "checklist"]
    text: Name
    range: tuple[int, int] | None = Field(
        default=None, strict=False, description="Score: lowest and highest integer; default [0, 10]."
    )
    levels: list[Name] | None = Field(
        default=None, description="Score: a name for every level, the lowest first."
    )
    options: list[Name] | dict[Name, str] | None = Field(
        default=None, description="Choice: the options, or a table from each to its description."
    )
    items: list[ChecklistItemTable] | None = Field(
        default=None, description="Checklist: its weighted predicates."
    )


class ReaderTable(BaseModel):
    """The reader of a text answer; the other keys are its options."""

    model_config = ConfigDict(extra="allow", strict=True)

    name: Name


class RuleTable(_Table):
    """The wording in which this judge is asked its own rule about one probe, in place of the probe's."""

    text: Name = Field(description="A yes-no question whose yes permits the shift.")
    negated: Name = Field(description="The same, so that no permits it.")


class RemedyTable(BaseModel):
    """One remedy around the judge; the other keys are its options."""

    model_config = ConfigDict(extra="allow", strict=True)

    name: Name


class JudgeTable(_Table):
    """A judge: how it is reached, what it is asked and how its answer is read."""

    backend: Name = Field(
        description="How the judge is reached: local, openai, python, command, recorded, planted."
    )
    model: Name = Field(description="What the backend calls: a model's name, a function, a command, a file.")
    name: Name | None = Field(default=None, description="For people; default: the file's name.")
    base_url: Name | None = Field(default=None, description="Where the server is.")
    key_env: str | None = Field(
        default=None,
        pattern="^[A-Za-z_][A-Za-z0-9_]*$",
        description="Name of the environment variable that holds the key. The key itself never stands in a file.",
    )
    price_in: Price | None = Field(default=None, description="US dollars for a million input tokens.")
    price_out: Price | None = Field(default=None, description="US dollars for a million output tokens.")
    context: Count | None = Field(
        default=None, description="Tokens that fit into one request with its answer."
    )
    max_tokens: Count | None = Field(
        default=None, description="Most tokens of one answer; the same as in [sampling]."
    )
    prompt: PromptTable | None = None
    question: list[QuestionTable] | None = Field(default=None, min_length=1)
    reader: ReaderTable | None = None
    sampling: dict[str, Any] | None = Field(
        default=None, description="Sent to the model: temperature, seed, ..."
    )
    options: dict[str, Any] | None = Field(default=None, description="Further options of the backend.")
    rule: dict[Name, RuleTable] | None = Field(
        default=None, description="By probe: the wording in which this judge is asked its own rule."
    )
    remedy: list[RemedyTable] | None = None


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of a judge file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **JudgeTable.model_json_schema(),
        "title": "voirdire judge file",
    }
