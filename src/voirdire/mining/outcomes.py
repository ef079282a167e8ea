"""Outcome files: what came of running tests on attempts, and what the tests printed.

JSON lines after a header line; `key` is the attempt's, as `voirdire mine run` writes it:

    {"schema": "voirdire.outcomes/1"}
    {"key": "TASK/HARNESS/0", "status": "failed", "f2p_passed": 0, "f2p_total": 2, "output": "E   assert 27 == 30"}

Only `key` and `status` must be there. An error names the file, the line and the key.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voirdire.errors import DataError, UsageError
from voirdire.model import TruthStatus

SCHEMA = "voirdire.outcomes/1"


@dataclass(frozen=True)
class Outcome:
    """What came of one attempt. Counts of tests: None where they are not known. `output`: what the tests printed."""

    key: str
    status: TruthStatus
    f2p_passed: int | None = None
    f2p_total: int | None = None
    p2p_passed: int | None = None
    p2p_total: int | None = None
    output: str | None = None


def read_outcomes(path: Path) -> Mapping[str, Outcome]:
    """Return the outcomes of a file by the attempt's key.

    Raises UsageError where there is no such file, DataError for anything that is not exactly an outcome file.
    """
    try:
        lines = [raw for raw in path.read_bytes().split(b"\n") if raw.strip()]
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read: {(error.strerror or str(error)).lower()}",
            hint="write what came of the tests into it, one attempt a line",
        ) from None
    if not lines or _parsed(lines[0], f"{path}:1") != {"schema": SCHEMA}:
        raise DataError(
            f"{path}:1: the header line of an outcome file is missing",
            hint=f'begin with {{"schema": "{SCHEMA}"}}',
        )
    found: dict[str, Outcome] = {}
    for number, raw in enumerate(lines[1:], start=2):
        one = _outcome(_parsed(raw, f"{path}:{number}"), f"{path}:{number}")
        if one.key in found:
            raise DataError(f"{path}:{number}: '{one.key}' stands there twice", hint="keep one of the two")
        found[one.key] = one
    return found


def _outcome(data: object, place: str) -> Outcome:
    from pydantic import ValidationError

    from voirdire.mining._outcome_record import OutcomeLine

    try:
        return OutcomeLine.model_validate_json(json.dumps(data)).as_outcome()
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"]) or "the line"
        raise DataError(
            f"{place}: '{where}': {first['msg'].removeprefix('Value error, ')}",
            hint="`voirdire init --schemas` writes the schema",
        ) from None


def _parsed(raw: bytes, place: str) -> Any:
    try:
        return json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        raise DataError(
            f"{place}: not a whole line of JSON", hint="write one JSON object on each line"
        ) from None


def json_schema() -> dict[str, object]:
    """Return the JSON schema of one line of an outcome file: the header or an outcome."""
    from voirdire.mining._outcome_record import OutcomeLine

    outcome = OutcomeLine.model_json_schema(ref_template="#/$defs/{model}")
    definitions = outcome.pop("$defs", {})
    header = {
        "type": "object",
        "description": "The first line.",
        "properties": {"schema": {"const": SCHEMA}},
        "required": ["schema"],
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"One line of an outcome file ({SCHEMA})",
        "oneOf": [header, outcome],
        "$defs": definitions,
    }
