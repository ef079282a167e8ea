"""Item files: JSON lines of things to be judged, after a header line with the schema version.

    {"schema": "voirdire.items/1"}
    {"id": "a-1", "parts": {"task": "...", "response": "..."}, "origin": {...}, "truth": {...}}

`origin` and `truth` may be left out. Everything is checked before any item is handed out; an error names the file
and the line.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, ValidationError

from voirdire.errors import DataError
from voirdire.model import GroundTruth, Item, Origin, TestGroup, TruthSource, TruthStatus

SCHEMA = "voirdire.items/1"
HEADER = {"schema": SCHEMA}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class OriginLine(_Strict):
    """Where an item came from; never shown to the judge."""

    task: StrictStr | None = None
    author: StrictStr | None = Field(None, description="the model or person that wrote it")
    harness: StrictStr | None = None
    sample: StrictInt | None = Field(
        None, description="number of the sample among those of one author and task"
    )
    language: StrictStr | None = None


class GroupLine(_Strict):
    """How many tests of one group passed, of how many."""

    passed: StrictInt = Field(ge=0)
    total: StrictInt = Field(ge=0)


class TruthLine(_Strict):
    """What is known beside the judge."""

    source: TruthSource
    status: TruthStatus
    groups: dict[StrictStr, GroupLine] = Field(default_factory=dict)
    isolation: StrictStr | None = Field(None, description="isolation level that the tests ran under")
    label: StrictStr | None = None


class ItemLine(_Strict):
    """One thing to be judged, as named parts of text."""

    id: StrictStr = Field(min_length=1)
    parts: dict[StrictStr, StrictStr] = Field(min_length=1)
    origin: OriginLine | None = None
    truth: TruthLine | None = None


def sniff(head: str) -> bool:
    """Whether the beginning of a file looks like an item file's header."""
    return '"voirdire.items/' in head.lstrip("\ufeff").partition("\n")[0]


def read_items(path: Path) -> list[Item]:
    """Return the items of the file, in its order; [] where it holds only the header.

    Raises DataError, naming file and line, for anything that is not exactly an item file: no header or another
    version, text that is not UTF-8 or JSON, unknown or repeated keys, an item without id, an id used twice, a part
    that is not a string, a last line that was cut off.
    """
    lines = list(_numbered_lines(path))
    _check_header(path, lines)
    items: list[Item] = []
    places: dict[str, int] = {}
    for number, text in lines[1:]:
        item = _item_of(_parsed(path, number, text, last=number == lines[-1][0]), f"{path}:{number}")
        if item.id in places:
            raise DataError(
                f"{path}:{number}: the id '{item.id}' is taken by line {places[item.id]}",
                hint="give every item an id of its own; repeats of one item are made by `--repeats`",
            )
        places[item.id] = number
        items.append(item)
    return items


def write_items(items: Iterable[Item], path: Path) -> None:
    """Write the items as a file that `read_items` reads back; an existing file is replaced only once all is written.

    Raises DataError where two items share an id or a text cannot be written as UTF-8.
    """
    written = [_as_line(item) for item in items]
    (name, count), *_ = Counter(line["id"] for line in written).most_common(1) or [("", 0)]
    if count > 1:
        raise DataError(
            f"{path}: {count} items have the id '{name}'", hint="give every item an id of its own"
        )
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in (HEADER, *written))
    unfinished = path.with_name(path.name + ".part")
    try:
        unfinished.write_bytes(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise DataError(f"{path}: {_HALF_CHARACTER}", hint=_HALF_CHARACTER_HINT) from None
    os.replace(unfinished, path)


def json_schema() -> dict[str, object]:
    """Return the JSON schema of one line of an item file: the header or an item."""
    item = ItemLine.model_json_schema(ref_template="#/$defs/{model}")
    definitions = item.pop("$defs", {})
    header = {
        "type": "object",
        "description": "The first line.",
        "properties": {"schema": {"const": SCHEMA}},
        "required": ["schema"],
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"One line of an item file ({SCHEMA})",
        "oneOf": [header, item],
        "$defs": definitions,
    }


# --- lines ------------------------------------------------------------------------------------------


def _numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that hold something, with their numbers from 1."""
    text = _text_of(path)
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line


def _text_of(path: Path) -> str:
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise DataError(
            f"{path}: there is no such file", hint="check the path; `voirdire init` writes an example"
        ) from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise DataError(f"{path}: cannot be read: {reason}", hint="name a readable file") from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path}:{line}: byte {error.start} is not UTF-8", hint="save the file as UTF-8 and try again"
        ) from None


def _check_header(path: Path, lines: list[tuple[int, str]]) -> None:
    wanted = json.dumps(HEADER)
    if not lines:
        raise DataError(f"{path}: the file is empty", hint=f"begin it with the line {wanted}")
    number, text = lines[0]
    header = _parsed(path, number, text, last=False)
    found = header.get("schema") if isinstance(header, dict) else None
    if found is None:
        raise DataError(
            f"{path}:{number}: the header line is missing", hint=f"begin the file with the line {wanted}"
        )
    if found != SCHEMA:
        raise DataError(
            f"{path}:{number}: the schema is {found!r}",
            hint=f"this version reads '{SCHEMA}'; convert the file, or install the voirdire that wrote it",
        )
    if header != HEADER:
        raise DataError(
            f"{path}:{number}: the header holds more than the schema", hint=f"write it as {wanted}"
        )


def _parsed(path: Path, number: int, text: str, *, last: bool) -> object:
    place = f"{path}:{number}"
    try:
        return json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        if last and (error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")):
            raise DataError(
                f"{place}: the line is cut off",
                hint="write the file again, or remove its incomplete last line",
            ) from None
        raise DataError(
            f"{place}: not JSON at column {error.colno}: {error.msg.lower()}",
            hint="put one whole JSON object on each line",
        ) from None
    except RecursionError:
        raise DataError(f"{place}: nested too deeply", hint="an item needs three levels at most") from None
    except ValueError as error:
        raise DataError(f"{place}: {error}", hint="correct the line") from None


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key '{twice}' stands twice in one object")
    return found


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


# --- items ------------------------------------------------------------------------------------------

_HALF_CHARACTER = "a text holds half of a surrogate pair, which is no character"
_HALF_CHARACTER_HINT = "write the character itself, or both halves of its escape"


def _item_of(data: object, place: str) -> Item:
    if not isinstance(data, dict):
        raise DataError(
            f"{place}: an item is a JSON object, not {_kind(data)}", hint='write {"id": ..., "parts": {...}}'
        )
    try:
        line = ItemLine.model_validate(data)
    except ValidationError as error:
        raise _explained(error, place) from None
    if _has_half_character(data):
        raise DataError(f"{place}: {_HALF_CHARACTER}", hint=_HALF_CHARACTER_HINT)
    return Item(
        id=line.id,
        parts=line.parts,
        origin=Origin(**line.origin.model_dump()) if line.origin else None,
        truth=_truth_of(line.truth) if line.truth else None,
    )


def _truth_of(line: TruthLine) -> GroundTruth:
    return GroundTruth(
        source=line.source,
        status=line.status,
        groups={name: TestGroup(group.passed, group.total) for name, group in line.groups.items()},
        isolation=line.isolation,
        label=line.label,
    )


def _explained(error: ValidationError, place: str) -> DataError:
    """Return the first thing that is wrong, in our words."""
    first = error.errors()[0]
    where = ".".join(str(step) for step in first["loc"])
    kind = first["type"]
    if kind == "missing":
        return DataError(f"{place}: '{where}' is missing", hint='an item needs at least "id" and "parts"')
    if kind == "extra_forbidden":
        return DataError(
            f"{place}: there is no field '{where}'",
            hint="texts belong under 'parts'; an item has id, parts, origin and truth",
        )
    if kind == "string_type":
        return DataError(
            f"{place}: '{where}' is {_kind(first['input'])}, not a string",
            hint="write it as text in quotes; a part that is not known is left out",
        )
    if kind in ("string_too_short", "too_short"):
        return DataError(f"{place}: '{where}' is empty", hint="an item needs an id and at least one part")
    return DataError(f"{place}: '{where}': {first['msg'].lower()}", hint="correct the value")


def _kind(value: object) -> str:
    names: Mapping[type, str] = {
        type(None): "null",
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), type(value).__name__)


def _has_half_character(value: object) -> bool:
    if isinstance(value, str):
        return any("\ud800" <= letter <= "\udfff" for letter in value)
    if isinstance(value, dict):
        return any(_has_half_character(part) for pair in value.items() for part in pair)
    return False


def _as_line(item: Item) -> dict[str, object]:
    line: dict[str, object] = {"id": item.id, "parts": dict(item.parts)}
    if item.origin:
        line["origin"] = _without_none(asdict(item.origin))
    if item.truth:
        groups = {name: asdict(group) for name, group in item.truth.groups.items()}
        truth = _without_none({**vars(item.truth), "groups": groups})
        line["truth"] = {name: value for name, value in truth.items() if value != {}}
    return line


def _without_none(data: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in data.items() if value is not None}
