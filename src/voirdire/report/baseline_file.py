"""A baseline: the examination of one scorer identity, kept in a file that a later one is compared with.

It holds who scored, by kind; every finding with the value of each item or case, but without its evidence; and a digest
of each item's texts. The JSON schema is published as `data/schemas/baseline.schema.json`; `json_schema()` makes it.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from voirdire.errors import DataError, UsageError
from voirdire.model import Examination, Finding, Identity
from voirdire.report._codec import decode, encode, schema_of_record
from voirdire.report.findings_file import read_data
from voirdire.report.scorer import by_kind
from voirdire.report.write import write_whole

SCHEMA = "voirdire.baseline/1"

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Baseline:
    """The examination of one scorer identity. `identity`: who scored, by kind; `served`: answers by snapshot.

    `items`: the digest of each item's texts, by id.
    """

    title: str
    judge: Identity
    identity: Mapping[str, object]
    findings: Sequence[Finding]
    served: Mapping[str, int]
    items: Mapping[str, str]
    made: str = ""
    version: str = ""


def baseline_of(examination: Examination, *, judge: str | None = None) -> Baseline:
    """Return the baseline of one judge of an examination, named by name or fingerprint (None: there is but one).

    Raises UsageError where the run was incomplete, the judge is not told or not known, and where nothing was found
    that a later run could be compared with.
    """
    if examination.account.partial is not None:
        raise UsageError(
            f"the examination is incomplete: {examination.account.partial}",
            hint="run the same command again: it goes on where it stopped; then make the baseline",
        )
    identity = _one_judge(examination.judges, judge)
    findings = [
        replace(finding, blocks=())
        for finding in examination.findings
        if finding.judge == identity.fingerprint and finding.ruling is not None
    ]
    if not any(map(can_be_compared, findings)):
        raise UsageError(
            f"nothing about '{identity.name}' can be compared later: no finding has values by item or case",
            hint="make the baseline from what `voirdire probe` or `voirdire outcome` of this release wrote",
        )
    served = examination.account.served if len(examination.judges) == 1 else {}
    return Baseline(
        title=examination.title,
        judge=identity,
        identity=by_kind(identity, served),
        findings=findings,
        served=served,
        items=examination.items,
        made=examination.made,
        version=examination.version,
    )


def can_be_compared(finding: Finding) -> bool:
    """Whether a finding holds what it was made from: a value by item or case, or the scores of one case."""
    estimate = finding.estimate
    return estimate is not None and bool(estimate.by_unit or estimate.by_arm)


def _one_judge(judges: Sequence[Identity], named: str | None) -> Identity:
    if named is None and len(judges) == 1:
        return judges[0]
    there = ", ".join(f"{one.name} ({one.fingerprint[:12]})" for one in judges) or "none"
    found = [
        one
        for one in judges
        if named and (one.name == named or (len(named) >= 8 and one.fingerprint.startswith(named)))
    ]
    if len(found) == 1:
        return found[0]
    if named is None:
        message = f"a baseline is about one judge, and this examination has {len(judges)}"
    else:
        message = f"'{named}' names {len(found)} judges of this examination"
    raise UsageError(message, hint=f"name one with --judge, by name or fingerprint: {there}")


# --- the file -----------------------------------------------------------------------------------------


def to_text(baseline: Baseline) -> str:
    """Return the text of a baseline file: two spaces a level, one final newline."""
    data: dict[str, Any] = encode(baseline, Baseline)
    data["judge"]["fingerprint"] = baseline.judge.fingerprint
    text = json.dumps({"schema": SCHEMA, **data}, ensure_ascii=False, allow_nan=False, indent=2)
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def write_baseline(baseline: Baseline, path: Path) -> None:
    """Write the file, whole or not at all; UsageError where it cannot be written."""
    write_whole(path, to_text(baseline))


def read_baseline(path: Path) -> Baseline:
    """Return what a baseline file holds; DataError where it is none, of another release, or changed by hand."""
    return from_data(read_data(path), str(path))


def from_data(data: object, where: str = "the file") -> Baseline:
    """Return the baseline that `data` holds; raises as `read_baseline`."""
    schema = data.get("schema") if isinstance(data, Mapping) else None
    if not isinstance(data, Mapping) or not str(schema).startswith("voirdire.baseline/"):
        raise DataError(
            f"{where} is no baseline: it does not say 'schema': '{SCHEMA}'",
            hint="`voirdire baseline DIR` makes one from what `voirdire probe` or `voirdire outcome` wrote",
        )
    if schema != SCHEMA:
        raise DataError(
            f"{where}: the baseline is in the form '{schema}', and this release reads '{SCHEMA}'",
            hint="use the release that wrote it, or make a new baseline",
        )
    body = {key: value for key, value in data.items() if key != "schema"}
    fingerprint = None
    if isinstance(body.get("judge"), Mapping):
        fingerprint = body["judge"].get("fingerprint")
        body["judge"] = {key: value for key, value in body["judge"].items() if key != "fingerprint"}
    baseline: Baseline = decode(body, Baseline)
    if baseline.judge.fingerprint != fingerprint or baseline.identity != by_kind(
        baseline.judge, baseline.served
    ):
        raise DataError(
            f"{where}: who scored does not belong to its fingerprint",
            hint="the file was changed after it was made; make it again with `voirdire baseline`",
        )
    return baseline


def json_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of a baseline file."""
    definitions: dict[str, Any] = {}
    body = schema_of_record(Baseline, definitions)
    judge = definitions["Identity"]
    judge["properties"]["fingerprint"] = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
    judge["required"].append("fingerprint")
    body["properties"] = {"schema": {"const": SCHEMA}, **body["properties"]}
    body["required"] = ["schema", *body["required"]]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:voirdire:baseline:1",
        "title": "A baseline of voirdire",
        **body,
        "$defs": dict(sorted(definitions.items())),
    }
