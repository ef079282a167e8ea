"""The JSON schema of `check.json`, published as `data/schemas/check.schema.json`."""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from voirdire.engine.compare import Aspect, Change
from voirdire.model import Ruling
from voirdire.report.scorer import Kind
from voirdire.studies._check_texts import SCHEMA
from voirdire.studies.check import Verdict

_TEXT: Mapping[str, object] = {"type": "string"}
_TEXTS: Mapping[str, object] = {"type": "array", "items": _TEXT}
_COUNT: Mapping[str, object] = {"type": "integer", "minimum": 0}
_NUMBER: Mapping[str, object] = {"type": "number"}
_MAYBE_NUMBER: Mapping[str, object] = {"type": ["number", "null"]}
_YES_OR_NO: Mapping[str, object] = {"type": "boolean"}


def json_schema() -> dict[str, object]:
    """Return the JSON schema (draft 2020-12) of what a check writes."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:voirdire:check:1",
        "title": "A check of a scorer against its baseline",
        **_record(
            {
                "schema": {"const": SCHEMA},
                "verdict": _one_of(Verdict),
                "failures": _TEXTS,
                "gaps": _TEXTS,
                "judge": {"oneOf": [_identity(), _record({})]},
                "baseline": {"oneOf": [_identity({"made": _TEXT, "version": _TEXT}), {"type": "null"}]},
                "examined": _YES_OR_NO,
                "changed": _list(_record({"kind": _one_of(Kind), "lines": _TEXTS})),
                "findings": _list(_comparison()),
                "drift": _list(_drift()),
                "notes": _TEXTS,
            }
        ),
    }


def _identity(further: Mapping[str, object] | None = None) -> dict[str, object]:
    fingerprint = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
    return _record({"name": _TEXT, "fingerprint": fingerprint, **(further or {})})


def _comparison() -> dict[str, object]:
    return _record(
        {
            "name": _TEXT,
            "subject": _TEXT,
            "change": _one_of(Change),
            "before": _one_of(Ruling, None),
            "now": _one_of(Ruling, None),
            "why": _TEXT,
            "differences": _list(_difference()),
            "lacking": _TEXTS,
            "further": _TEXTS,
        }
    )


def _difference() -> dict[str, object]:
    return _record(
        {
            "aspect": _one_of(Aspect),
            "quantity": _TEXT,
            "before": _NUMBER,
            "now": _NUMBER,
            "change": _MAYBE_NUMBER,
            "low": _MAYBE_NUMBER,
            "high": _MAYBE_NUMBER,
            "n": _COUNT,
            "exact": _YES_OR_NO,
            "p": _MAYBE_NUMBER,
            "p_adjusted": _MAYBE_NUMBER,
            "method": _TEXT,
            "established": _YES_OR_NO,
        }
    )


def _drift() -> dict[str, object]:
    return _record({"name": _TEXT, "rang": _YES_OR_NO, "runs": _COUNT, "anchors": _COUNT, "sentence": _TEXT})


def _one_of(words: Iterable[StrEnum], *further: None) -> dict[str, object]:
    return {"enum": [*(word.value for word in words), *further]}


def _list(of: Mapping[str, object]) -> dict[str, object]:
    return {"type": "array", "items": of}


def _record(properties: Mapping[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
