"""A file of verdicts as a judge: `recorded:FILE` answers what was recorded and nothing else.

The file is JSON lines. The first line is the header `{"schema": "voirdire.verdicts/1"}`; it may hold `judge`, anything
that tells whose verdicts these are. Every other line is one verdict or one whole answer:

    {"item": "support-3", "parts": {"log": "...", "outcome": "..."}, "question": "process", "value": 3, "repeat": 0}
    {"item": "support-3", "parts_sha256": {"log": "9f...", "outcome": "c1..."}, "raw": "PROCESS 3 DAMAGE 5", "repeat": 1}

- `item`: the item's id; `repeat`: which repeat it is, from 0 (default 0).
- `parts` (texts) or `parts_sha256` (the SHA-256 of each text in UTF-8, hexadecimal): what the judge saw. The versions of
  an item share its id and differ in a part, so a verdict without its parts could be either's and is refused. A line
  answers a request when every part that the prompt names is there and equal; further parts are ignored. From
  `response_a`, `response_b` and `order` follow `first` and `second`, as in a prompt.
- With `question`: `value`, or `probabilities` by label, or `missing_because`; the others may be null. Without it: `raw`, the
  text of a whole answer, which the reader at hand reads. A verdict may carry its `raw` too; its value counts.

What is not there is missing with the reason 'not recorded'. Such a judge cannot be asked its own rule.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from voirdire.edits.pairs import shown
from voirdire.errors import DataError
from voirdire.judges._plain import (
    PlainBodies,
    check_options,
    file_digest,
    folder_of,
    text_lines,
    typed_answer,
)
from voirdire.judges._prompted import Backend, Rendered
from voirdire.model import Answer, Asking, JudgeSpec, Request

SCHEMA = "voirdire.verdicts/1"
OPTIONS: frozenset[str] = frozenset()

NOT_RECORDED = "not recorded"


def open_backend(spec: JudgeSpec) -> Backend:
    """Read the file; DataError with the line where it has another form."""
    check_options(spec, OPTIONS)
    path = folder_of(spec) / spec.model
    digest = file_digest(path)
    return RecordedBackend(
        settings={"backend": "recorded", "file_sha256": digest, "sampling": dict(spec.sampling)},
        answers=_answers(path),
    )


@dataclass
class _Recorded:
    """What was recorded for one version of an item at one repeat: a whole answer, or verdicts by question."""

    parts: Mapping[str, str]
    raw: str | None = None
    verdicts: dict[str, Mapping[str, object]] = field(default_factory=dict)


@dataclass(frozen=True)
class RecordedBackend:
    """Looks answers up by item, repeat and the parts that the prompt names."""

    settings: Mapping[str, object]
    answers: Mapping[tuple[str, int], list[_Recorded]]
    deterministic: bool = False
    bodies: PlainBodies = field(default_factory=PlainBodies)

    def prepare(self, item_id: str, messages: Rendered, parts: Mapping[str, str], asking: Asking) -> Request:
        """Return the request, which is only looked up."""
        return self.bodies.request(item_id, messages, parts, asking)

    async def send(self, request: Request, *, repeat: int) -> Answer:
        """Return the recorded answer, or one that is missing."""
        body = json.loads(request.body)
        seen = {name: _text_digest(text) for name, text in body["parts"].items()}
        found = [
            one
            for one in self.answers.get((request.item_id, repeat), ())
            if seen.items() <= one.parts.items()
        ]
        if not found or not seen:
            return Answer(missing_because=NOT_RECORDED)
        if len(found) > 1:
            return Answer(missing_because="recorded more than once: the prompt shows the same parts of both")
        if found[0].raw is not None and not found[0].verdicts:
            return Answer(raw=found[0].raw)
        asked = [question["id"] for question in body["questions"]]
        return typed_answer(
            {name: found[0].verdicts.get(name, {"missing_because": NOT_RECORDED}) for name in asked}
        )

    async def close(self) -> None:
        """Hold nothing."""


def _answers(path: Path) -> dict[tuple[str, int], list[_Recorded]]:
    """Return the recorded answers by item and repeat."""
    answers: dict[tuple[str, int], list[_Recorded]] = {}
    for place, row in _rows(path):
        key = (_text(row, "item", place), _repeat(row, place))
        parts = _parts(row, place)
        versions = answers.setdefault(key, [])
        one = next((each for each in versions if each.parts == parts), None)
        if one is None:
            one = _Recorded(parts)
            versions.append(one)
        _add(one, row, place)
    return answers


def _rows(path: Path) -> Iterator[tuple[str, dict[str, object]]]:
    """Give every verdict line with its place; DataError where the header is another."""
    header_seen = False
    for number, line in enumerate(text_lines(path), start=1):
        if not line.strip():
            continue
        place = f"{path}:{number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{place}: not JSON ({error})", hint="write one JSON object a line") from None
        if not isinstance(row, dict):
            raise DataError(f"{place}: not a JSON object", hint="write one JSON object a line")
        if header_seen:
            yield place, row
        elif row.get("schema") != SCHEMA:
            raise DataError(
                f"{place}: no header of a verdict file", hint=f'begin with {{"schema": "{SCHEMA}"}}'
            )
        header_seen = True
    if not header_seen:
        raise DataError(f"{path}: the file is empty", hint=f'begin with {{"schema": "{SCHEMA}"}}')


def _parts(row: Mapping[str, object], place: str) -> dict[str, str]:
    """Return the SHA-256 of each part that the judge saw, with `first` and `second` of a pair."""
    digests = _table_of_text(row.get("parts_sha256"), "parts_sha256", place)
    texts = _table_of_text(row.get("parts"), "parts", place)
    if not digests and not texts:
        raise DataError(
            f"{place}: the line says nothing of what the judge saw",
            hint="add `parts` or `parts_sha256`; versions of an item share its id",
        )
    return {
        **{name: digest.lower() for name, digest in digests.items()},
        **{name: _text_digest(text) for name, text in shown(texts).items()},
    }


def _add(one: _Recorded, row: Mapping[str, object], place: str) -> None:
    question = row.get("question")
    if question is None:
        if one.raw is not None or one.verdicts:
            raise DataError(f"{place}: this repeat is recorded twice", hint="give each repeat its own number")
        one.raw = _text(row, "raw", place)
        return
    if not isinstance(question, str) or question in one.verdicts or one.raw is not None:
        raise DataError(
            f"{place}: question {question!r} is recorded twice for this repeat, or is no text",
            hint="give each repeat its own number",
        )
    said = {
        key: row[key]
        for key in ("value", "probabilities", "label_mass", "missing_because")
        if row.get(key) is not None
    }
    if not {"value", "probabilities", "missing_because"} & said.keys():
        raise DataError(
            f"{place}: no value, probabilities or missing_because",
            hint="say why there is no value in `missing_because`",
        )
    one.verdicts[question] = said


def _text(row: Mapping[str, object], name: str, place: str) -> str:
    value = row.get(name)
    if not isinstance(value, str):
        raise DataError(f"{place}: '{name}' is missing or not text", hint=f"add `{name}` to the line")
    return value


def _repeat(row: Mapping[str, object], place: str) -> int:
    value = row.get("repeat", 0)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise DataError(
            f"{place}: 'repeat' is not a whole number from 0", hint="count the repeats 0, 1, 2, ..."
        )
    return value


def _table_of_text(data: object, name: str, place: str) -> Mapping[str, str]:
    if data is None:
        return {}
    if not isinstance(data, dict) or not all(isinstance(value, str) for value in data.values()):
        raise DataError(
            f"{place}: '{name}' is not a table of texts", hint=f'write "{name}": {{"part": "..."}}'
        )
    return data


def _text_digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
