"""One line of a checklist file as it is checked at the door."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from voirdire.mining.checklists import (
    MOST_ITEMS,
    WIDEST_QUOTE,
    Evidence,
    ItemKind,
    TaskChecklist,
    WrittenItem,
)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _one_line(text: str) -> str:
    if not text.isprintable() or not text.strip():
        raise ValueError("one line of printable characters is expected")
    return text


Line = Annotated[str, Field(min_length=1, max_length=600), AfterValidator(_one_line)]


class EvidenceLine(_Strict):
    """Lines of the base commit that an item rests on."""

    path: str = Field(min_length=1, max_length=1000)
    first: int = Field(ge=1, description="number of the first line, from 1")
    last: int = Field(ge=1, description=f"number of the last line; at most {WIDEST_QUOTE} lines")
    quote: str = Field(min_length=1, max_length=8000, description="text that stands on these lines")

    @model_validator(mode="after")
    def _in_order(self) -> "EvidenceLine":
        if not self.first <= self.last < self.first + WIDEST_QUOTE:
            raise ValueError(f"lines {self.first} to {self.last} are not 1 to {WIDEST_QUOTE} lines")
        if not self.quote.strip():
            raise ValueError("an empty quote stands everywhere")
        return self


class ItemLine(_Strict):
    """One item: a statement that is true of a right patch."""

    id: str = Field(pattern="^[a-z][a-z0-9_]{0,39}$")
    kind: ItemKind = Field(
        description="does: must be done; keeps: must not change; scope: stays within the task"
    )
    text: Line = Field(description="a statement about the patch that a judge answers with yes or no")
    weight: float = Field(1.0, gt=0, le=100, allow_inf_nan=False)
    evidence: tuple[EvidenceLine, ...] = Field((), max_length=8)

    def as_item(self) -> WrittenItem:
        """Return the item that this holds."""
        evidence = tuple(Evidence(**dict(one)) for one in self.evidence)
        return WrittenItem(self.id, self.kind, self.text, self.weight, evidence)


class ItemsLine(_Strict):
    """The items of one checklist: at least one says what must be done."""

    items: tuple[ItemLine, ...] = Field(min_length=1, max_length=MOST_ITEMS)

    @model_validator(mode="after")
    def _sound(self) -> "ItemsLine":
        ids = [one.id for one in self.items]
        twice = next((name for name in ids if ids.count(name) > 1), None)
        if twice:
            raise ValueError(f"the id '{twice}' stands there twice")
        if not any(one.kind is ItemKind.DOES for one in self.items):
            raise ValueError("no item of the kind 'does' says what must be done")
        return self

    def as_items(self) -> tuple[WrittenItem, ...]:
        """Return the items that this holds."""
        return tuple(one.as_item() for one in self.items)


class TaskLine(_Strict):
    """The checklist of one task, or why there is none."""

    task: str = Field(min_length=1)
    base: str = Field("", pattern="^([0-9a-f]{40}|[0-9a-f]{64})?$", description="the commit that it is about")
    items: tuple[ItemLine, ...] = ()
    missing_because: str | None = Field(None, min_length=1)

    @model_validator(mode="after")
    def _one_of_both(self) -> "TaskLine":
        if self.missing_because is None:
            ItemsLine(items=self.items)
        elif self.items:
            raise ValueError("there are items, and 'missing_because' says that there are none")
        return self

    def as_checklist(self) -> TaskChecklist:
        """Return the checklist that this holds."""
        items = tuple(one.as_item() for one in self.items)
        return TaskChecklist(self.task, self.base, items, self.missing_because)


class GeneratorLine(_Strict):
    """Who wrote the checklists."""

    name: Line
    fingerprint: str | None = Field(
        None, pattern="^[0-9a-f]{64}$", description="null: made from the checklists"
    )
    settings: dict[str, Any] = Field(default_factory=dict, description="what made them")


class HeaderLine(_Strict):
    """The first line."""

    schema_: Literal["voirdire.checklists/1"] = Field(alias="schema")
    generator: GeneratorLine
