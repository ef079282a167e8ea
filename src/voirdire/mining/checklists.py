"""Checklist files: what a right solution of each task must do, what must not change, what is out of scope.

JSON lines after a header line that says who wrote them:

    {"schema": "voirdire.checklists/1", "generator": {"name": "by hand", "fingerprint": null}}
    {"task": "0123456789abcdef", "base": "...", "missing_because": null, "items": [
      {"id": "discount", "kind": "does", "text": "The total takes a discount in percent.", "weight": 3,
       "evidence": [{"path": "shop.py", "first": 1, "last": 2, "quote": "def total(prices):"}]}]}

A task whose checklist was refused has no items and says why in `missing_because`: an empty checklist there is not.
`fingerprint`: 64 hexadecimal digits that tell one way of writing checklists from any other; null: it is made from the
checklists themselves. An error names the file, the line and the key.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from voirdire.errors import DataError, UsageError
from voirdire.mining.base_tree import BaseTree, CannotShow, LeftPath
from voirdire.model import canonical_json
from voirdire.questions import Checklist, ChecklistItem

SCHEMA = "voirdire.checklists/1"

MOST_ITEMS = 26
"""Items of a checklist at most: a judge answers all of them about one patch, in one answer."""

WIDEST_QUOTE = 40
"""Lines that one piece of evidence may span."""


class ItemKind(StrEnum):
    """What an item asks of a patch."""

    DOES = "does"
    """Something that a right solution must do."""
    KEEPS = "keeps"
    """Something that must not change."""
    SCOPE = "scope"
    """Staying within the task."""


@dataclass(frozen=True)
class Evidence:
    """Lines of the base commit that an item rests on: `first` to `last`, from 1, and what stands there."""

    path: str
    first: int
    last: int
    quote: str


@dataclass(frozen=True)
class WrittenItem:
    """One item: a statement that is true of a right patch."""

    id: str
    kind: ItemKind
    text: str
    weight: float
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class TaskChecklist:
    """The checklist of one task. `missing_because`: why there is none; it then has no items."""

    task: str
    base: str
    items: tuple[WrittenItem, ...] = ()
    missing_because: str | None = None

    @property
    def question(self) -> Checklist:
        """Return it as a typed question; UsageError where there is no checklist."""
        items = tuple(
            ChecklistItem(one.id, one.text, one.weight, scope=one.kind is ItemKind.SCOPE)
            for one in self.items
        )
        return Checklist("checklist", "Which of these statements are true of the patch?", items)


@dataclass(frozen=True)
class Generator:
    """Who wrote the checklists, and the fingerprint that becomes part of the judge's identity.

    `settings`: what made them, as plain data (model, prompt, budget, ...).
    """

    name: str
    fingerprint: str
    settings: Mapping[str, object] = field(default_factory=dict)

    def as_data(self) -> dict[str, object]:
        """Return what stands in an identity."""
        return {"name": self.name, "fingerprint": self.fingerprint, "settings": dict(self.settings)}


@dataclass(frozen=True)
class ChecklistFile:
    """What a checklist file holds, by task."""

    generator: Generator
    checklists: Mapping[str, TaskChecklist]

    @property
    def written(self) -> list[TaskChecklist]:
        """The checklists that there are."""
        return [one for one in self.checklists.values() if one.missing_because is None]


def read_checklists(path: Path) -> ChecklistFile:
    """Return what a checklist file holds.

    Raises UsageError where there is no such file, DataError, naming file, line and key, for anything that is not exactly
    a checklist file.
    """
    try:
        lines = [raw for raw in path.read_bytes().split(b"\n") if raw.strip()]
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read: {(error.strerror or str(error)).lower()}",
            hint="`voirdire mine checklists TASKS --explorer JUDGE` writes a checklist file",
        ) from None
    header = _header(lines[0] if lines else b"", f"{path}:1")
    found: dict[str, TaskChecklist] = {}
    for number, raw in enumerate(lines[1:], start=2):
        one = _checked(raw, f"{path}:{number}")
        if one.task in found:
            raise DataError(f"{path}:{number}: the task '{one.task}' stands there twice", hint="keep one")
        found[one.task] = one
    return ChecklistFile(_generator(header, found), found)


def write_checklists(path: Path, generator: Generator, checklists: Iterable[TaskChecklist]) -> None:
    """Write a checklist file; it appears under its name only when it is whole. UsageError where it cannot be."""
    unfinished = path.with_name(f".{path.name}.part")
    rows: list[Mapping[str, object]] = [
        {"schema": SCHEMA, "generator": generator.as_data()},
        *(asdict(one) for one in checklists),
    ]
    try:
        unfinished.write_text(
            "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows),
            encoding="utf-8",
            newline="\n",
        )
        unfinished.replace(path)
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be written: {(error.strerror or str(error)).lower()}",
            hint="name a file in a folder that exists and can be written",
        ) from None
    finally:
        unfinished.unlink(missing_ok=True)


class Invalid(Exception):
    """A checklist that cannot be taken; `str()` names the key and what is wrong with it."""


def items_of(data: object) -> tuple[WrittenItem, ...]:
    """Return the items that plain data (from JSON) states. Raises Invalid, naming the key."""
    from pydantic import ValidationError

    from voirdire.mining._checklist_record import ItemsLine

    try:
        found: tuple[WrittenItem, ...] = ItemsLine.model_validate_json(json.dumps(data)).as_items()
    except ValidationError as error:
        raise Invalid(_first_fault(error)) from None
    return found


def check_evidence(items: Sequence[WrittenItem], tree: BaseTree, *, wanted: bool) -> None:
    """Raise Invalid where a quoted text does not stand at the place given, or the path is none.

    `wanted`: every item but those about scope must have evidence.
    """
    for item in items:
        if wanted and item.kind is not ItemKind.SCOPE and not item.evidence:
            raise Invalid(f"item '{item.id}' has no evidence")
        for one in item.evidence:
            if not _stands(one, tree, item.id):
                place = f"{one.path}, lines {one.first} to {one.last}"
                raise Invalid(f"item '{item.id}': the text quoted from {place} does not stand there")


def _stands(one: Evidence, tree: BaseTree, item: str) -> bool:
    try:
        lines = tree.text(one.path).split("\n")
    except (CannotShow, LeftPath) as why:
        raise Invalid(f"item '{item}': evidence from a file that cannot be read: {why}") from None
    there = _bare("\n".join(lines[one.first - 1 : one.last]))
    return one.last <= len(lines) and _bare(one.quote) in there


def _bare(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\r\n").split("\n"))


def json_schema() -> dict[str, object]:
    """Return the JSON schema of one line of a checklist file: the header or a task's checklist."""
    from voirdire.mining._checklist_record import HeaderLine, TaskLine

    header, task = (
        model.model_json_schema(ref_template="#/$defs/{model}", by_alias=True)
        for model in (HeaderLine, TaskLine)
    )
    definitions = {**header.pop("$defs", {}), **task.pop("$defs", {})}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"One line of a checklist file ({SCHEMA})",
        "oneOf": [header, task],
        "$defs": definitions,
    }


def _header(raw: bytes, place: str) -> Any:
    from voirdire.mining._checklist_record import HeaderLine

    data = _parsed(raw, place) if raw else None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise DataError(
            f"{place}: the header line of a checklist file is missing",
            hint=f'begin with {{"schema": "{SCHEMA}", "generator": {{"name": "by hand"}}}}',
        )
    return _validated(HeaderLine, data, place)


def _checked(raw: bytes, place: str) -> TaskChecklist:
    from voirdire.mining._checklist_record import TaskLine

    found: TaskChecklist = _validated(TaskLine, _parsed(raw, place), place).as_checklist()
    return found


def _validated(model: Any, data: object, place: str) -> Any:
    from pydantic import ValidationError

    try:
        return model.model_validate_json(json.dumps(data))
    except ValidationError as error:
        raise DataError(
            f"{place}: {_first_fault(error)}", hint="`voirdire init --schemas` writes the schema"
        ) from None


def _first_fault(error: Any) -> str:
    first = error.errors()[0]
    where = ".".join(str(step) for step in first["loc"]) or "the whole"
    return f"'{where}': {first['msg'].removeprefix('Value error, ')}"


def _parsed(raw: bytes, place: str) -> object:
    try:
        return json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        raise DataError(
            f"{place}: not a whole line of JSON", hint="write one JSON object on each line"
        ) from None


def _generator(header: Any, checklists: Mapping[str, TaskChecklist]) -> Generator:
    given = header.generator
    fingerprint = given.fingerprint or digest_of(checklists.values())
    return Generator(given.name, fingerprint, given.settings)


def digest_of(checklists: Iterable[TaskChecklist]) -> str:
    """Return 64 hexadecimal digits that tell these checklists from any others: what stands for a writer by hand."""
    rows = sorted(canonical_json(asdict(one)) for one in checklists)
    return hashlib.sha256("\n".join(rows).encode("utf-8", "surrogatepass")).hexdigest()
