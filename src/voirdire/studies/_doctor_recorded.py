"""What a file of verdicts can be asked: only what it holds, so the questions are made from its own lines."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

from voirdire.judges._plain import folder_of, text_lines
from voirdire.model import Asking, Item, JudgeSpec, Message, ReaderSpec
from voirdire.questions import Choice, Question, Score


@dataclass(frozen=True)
class RecordedTrial:
    """One recorded answer, and the question that it answers."""

    asking: Asking
    item: Item
    repeat: int


def value_trial(spec: JudgeSpec) -> RecordedTrial | None:
    """Return the first recorded value as a typed question; None where no line has both texts and a value."""
    rows = [row for row in _rows(spec) if _value(row) is not None]
    if not rows:
        return None
    first = rows[0]
    values = [
        value for row in rows if row["question"] == first["question"] and (value := _value(row)) is not None
    ]
    shown = "\n".join(f"{{{{{name}}}}}" for name in first["parts"])
    asking = Asking((Message("user", shown),), (_question(first["question"], values),), ReaderSpec("typed"))
    return _trial(asking, first)


def own_trial(spec: JudgeSpec, named: Sequence[str]) -> RecordedTrial | None:
    """Return the judge file's own prompt on the first recorded item that has all parts it names, if any."""
    fitting = (row for row in _rows(spec) if {*named} <= {*row["parts"], *_slots(row["parts"])})
    first = next(fitting, None)
    return _trial(spec.asking, first) if spec.asking and first else None


def _trial(asking: Asking, row: Mapping[str, Any]) -> RecordedTrial:
    return RecordedTrial(asking, Item(row["item"], row["parts"]), row.get("repeat", 0))


def _rows(spec: JudgeSpec) -> Iterator[Mapping[str, Any]]:
    """Give the lines that hold texts which a prompt can name; the backend has checked the file."""
    lines = [line for line in text_lines(folder_of(spec) / spec.model) if line.strip()]
    for line in lines[1:]:
        row = json.loads(line)
        if row.get("parts") and all(name.isidentifier() for name in row["parts"]):
            yield row


def _slots(parts: Mapping[str, str]) -> tuple[str, ...]:
    return ("first", "second") if {"response_a", "response_b", "order"} <= parts.keys() else ()


def _value(row: Mapping[str, Any]) -> float | str | None:
    value = row.get("value") if row.get("question") else None
    return value if isinstance(value, int | float | str) and not isinstance(value, bool) else None


def _question(name: str, values: Sequence[float | str]) -> Question:
    """Return a question that the recorded values answer."""
    words = list(dict.fromkeys(value for value in values if isinstance(value, str)))
    if isinstance(values[0], str):
        return Choice(name, name, (*words, f"not {words[0]}"))
    numbers = [value for value in values if not isinstance(value, str)]
    low = floor(min(numbers))
    return Score(name, name, low, max(low + 1, ceil(max(numbers))))
