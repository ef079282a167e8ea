"""findings.json: an examination as plain data, and back; the page and a gate read nothing else.

The JSON schema is published as `data/schemas/findings.schema.json`; `json_schema()` makes it.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from voirdire.errors import DataError
from voirdire.model import Examination, Identity
from voirdire.report._codec import decode, encode, schema_of_record

SCHEMA = "voirdire.findings/1"

_VERSION = re.compile(r"voirdire\.findings/(\d+)")
_SURROGATE = re.compile("[\ud800-\udfff]")


def to_data(examination: Examination) -> dict[str, Any]:
    """Return the examination as plain data: enums as words, mappings sorted, no NaN and no infinity.

    Raises DataError where a value has no plain form, naming its place.
    """
    data: dict[str, Any] = encode(examination, Examination)
    for identity, written in zip(examination.judges, data["judges"], strict=True):
        _refuse_another_identity(identity, written["fields"])
        written["fingerprint"] = identity.fingerprint
    return {"schema": SCHEMA, **data}


def from_data(data: object) -> Examination:
    """Return the examination that `data` holds; DataError where it is not ours, newer, or changed."""
    if not isinstance(data, Mapping) or not _VERSION.fullmatch(str(data.get("schema"))):
        raise DataError(
            "this is not a findings file: it does not say 'schema': 'voirdire.findings/1'",
            hint="give the findings.json that voirdire wrote",
        )
    if data["schema"] != SCHEMA:
        raise DataError(
            f"the findings are in the form '{data['schema']}', and this release reads '{SCHEMA}'",
            hint="upgrade voirdire to the release that wrote the file",
        )
    body = {key: value for key, value in data.items() if key != "schema"}
    written = body.get("judges")
    fingerprints = _fingerprints(written)
    if isinstance(written, list):
        body["judges"] = [_without_fingerprint(judge) for judge in written]
    examination: Examination = decode(body, Examination)
    for identity, fingerprint in zip(examination.judges, fingerprints, strict=True):
        if identity.fingerprint != fingerprint:
            raise DataError(
                f"judge '{identity.name}': its fingerprint does not belong to its fields",
                hint="the file was changed after the run; write it again from the ledger",
            )
    return examination


def to_text(examination: Examination) -> str:
    """Return the text of findings.json: two spaces a level, one final newline, lone surrogates as escapes."""
    text = json.dumps(to_data(examination), ensure_ascii=False, allow_nan=False, indent=2)
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def read_data(path: Path) -> object:
    """Return the plain data in a findings file; DataError where it cannot be read or is not JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except OSError as error:
        raise DataError(
            f"{path}: {error.strerror}", hint="give the findings.json that voirdire wrote"
        ) from error
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{path} is not JSON: {error}", hint="give the findings.json that voirdire wrote"
        ) from error


def json_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of a findings file."""
    definitions: dict[str, Any] = {}
    body = schema_of_record(Examination, definitions)
    judge = definitions["Identity"]
    judge["properties"]["fingerprint"] = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
    judge["required"].append("fingerprint")
    body["properties"] = {"schema": {"const": SCHEMA}, **body["properties"]}
    body["required"] = ["schema", *body["required"]]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:voirdire:findings:1",
        "title": "Findings of voirdire",
        **body,
        "$defs": dict(sorted(definitions.items())),
    }


def _refuse_another_identity(identity: Identity, fields: Mapping[str, object]) -> None:
    if Identity(identity.name, fields).fingerprint != identity.fingerprint:
        raise DataError(
            f"judge '{identity.name}': its fields cannot be written without changing its fingerprint",
            hint="use finite numbers, text keys, lists and mappings in the judge's settings",
        )


def _fingerprints(judges: object) -> list[object]:
    if not isinstance(judges, list):
        return []
    return [judge.get("fingerprint") if isinstance(judge, Mapping) else None for judge in judges]


def _without_fingerprint(judge: object) -> object:
    if not isinstance(judge, Mapping):
        return judge
    return {key: value for key, value in judge.items() if key != "fingerprint"}


def _refuse_constant(word: str) -> float:
    raise ValueError(f"it holds {word}")
