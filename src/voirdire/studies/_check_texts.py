"""What a check leaves for people and for CI systems: plain text, a Markdown summary, JUnit XML, JSON.

Everything that a judge, an item or a file wrote is escaped for the form that it goes into.
"""

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

from voirdire.engine.advice import units
from voirdire.engine.compare import Change, Comparison, Difference
from voirdire.model import Finding, Identity
from voirdire.report.scorer import IdentityChange
from voirdire.studies.check import Gate, Verdict

SCHEMA = "voirdire.check/1"

COLUMNS = 80

ORDER = (
    Change.WORSE,
    Change.GONE,
    Change.NOT_COMPARED,
    Change.NEW,
    Change.BETTER,
    Change.MOVED,
    Change.SAME,
)
"""What a reader has to see first."""

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def in_order(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons, those that matter most first."""
    return sorted(comparisons, key=lambda one: ORDER.index(one.change))


# --- plain text -----------------------------------------------------------------------------------------


def plain_text(gate: Gate) -> str:
    """Return what a terminal shows: the verdict with its reasons, what changed, every finding, the notes."""
    lines = [f"{gate.verdict.value}: {headline(gate)}"]
    for change in gate.changed:
        lines += [f"changed: {change.kind.value}", *(f"    {line}" for line in change.lines)]
    for one in in_order(gate.comparisons):
        lines += _wrapped(f"{one.change.value:<12} ", f"{one.name}, {one.subject}: {one.why}.")
    lines += [line for drift in gate.drifts for line in _wrapped("", drift.sentence)]
    for said in (*gate.failures, *gate.gaps) if gate.verdict is not Verdict.PASSED else ():
        lines += _wrapped("because: ", f"{said.rstrip('.')}.")
    lines += [line for note in gate.notes for line in _wrapped("note: ", f"{note}.")]
    return "\n".join(lines)


def headline(gate: Gate) -> str:
    """Return the check in one line."""
    parts = (
        [f"{gate.judge.name} against the baseline of {gate.baseline.made or 'unknown date'}"]
        if gate.judge and gate.baseline
        else []
    )
    if gate.comparisons:
        counts = [f"{len(gate.became(change))} {change.value}" for change in ORDER if gate.became(change)]
        parts.append(f"{units(len(gate.comparisons), 'findings')}: {', '.join(counts)}")
    elif gate.baseline:
        same = (
            "the scorer is the baseline's"
            if not gate.changed
            else "the scorer changed and was not examined again"
        )
        parts.append(same)
    if gate.drifts:
        rang = sum(one.rang for one in gate.drifts)
        parts.append(f"{units(len(gate.drifts), 'charts of anchors')}, {rang} rang")
    return "; ".join(parts)


def _wrapped(lead: str, text: str) -> list[str]:
    return textwrap.wrap(text, COLUMNS, initial_indent=lead, subsequent_indent=" " * max(len(lead), 2))


# --- Markdown -------------------------------------------------------------------------------------------


def markdown(gate: Gate) -> str:
    """Return a summary for a pull request or a job's page."""
    lines = [f"## voirdire check: {gate.verdict.value}", "", _shown(headline(gate)), ""]
    if gate.verdict is not Verdict.PASSED:
        lines += [*(f"- **{_shown(said)}**" for said in (*gate.failures, *gate.gaps)), ""]
    if gate.changed:
        lines += ["### What changed in the scorer", ""]
        lines += [line for change in gate.changed for line in _change(change)]
    if gate.comparisons:
        lines += [
            "### Findings",
            "",
            "| change | finding | about | before | now | why |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        lines += [_row(one) for one in in_order(gate.comparisons)]
        lines.append("")
    if gate.drifts:
        lines += ["### Anchors", "", *(f"- {_shown(one.sentence)}" for one in gate.drifts), ""]
    lines += [f"_{_shown(note)}._" for note in gate.notes]
    return _legal("\n".join(lines).rstrip("\n") + "\n")


def _change(change: IdentityChange) -> list[str]:
    """Return one kind that changed, its lines in a block of code longer than any fence within."""
    longest = max((len(run) for line in change.lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"**{change.kind.value}**", "", f"{fence}diff", *change.lines, fence, ""]


def _row(one: Comparison) -> str:
    cells = (one.change.value, one.name, one.subject, ruling_of(one.before), ruling_of(one.now), one.why)
    return "| " + " | ".join(_shown(cell) for cell in cells) + " |"


def ruling_of(finding: Finding | None) -> str:
    """Return the ruling as a word; '' where there is none."""
    return finding.ruling.value if finding is not None and finding.ruling is not None else ""


def _shown(text: str) -> str:
    """Return text that Markdown shows as it is: no markup, no line break, no cell border."""
    flat = " ".join(text.split())
    return re.sub(r"([\\`*_\[\]<>|#~])", r"\\\1", flat)


# --- JUnit ----------------------------------------------------------------------------------------------


def junit(gate: Gate) -> str:
    """Return JUnit XML: one test case for the identity, one for each finding and for each drift chart.

    What got worse is a failure, what could not be compared an error; a new finding is skipped, with that reason. Only
    elements and attributes are used that Jenkins, GitLab and the GitHub reporters read.
    """
    cases = list(_cases(gate))
    counts = {kind: sum(f"<{kind}" in case for case in cases) for kind in ("failure", "error", "skipped")}
    attributes = f'tests="{len(cases)}" failures="{counts["failure"]}" errors="{counts["error"]}" skipped="{counts["skipped"]}"'
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<testsuites name="voirdire check" {attributes} time="0">',
            f'  <testsuite name="voirdire check" {attributes} time="0">',
            *cases,
            "  </testsuite>",
            "</testsuites>",
            "",
        ]
    )


def _cases(gate: Gate) -> Iterator[str]:
    if gate.baseline is not None:
        lines = [line for change in gate.changed for line in (f"{change.kind.value}:", *change.lines)]
        failed = bool(gate.changed) and not gate.examined
        said = "the scorer changed and was not examined again"
        yield _case("identity", "scorer", "failure" if failed else "", said, "\n".join(lines))
    for one in gate.comparisons:
        kind = _JUNIT.get(one.change, "")
        yield _case(one.name, one.subject, kind, f"{one.change.value}: {one.why}", _evidence(one))
    for drift in gate.drifts:
        kind = "failure" if drift.rang else "" if drift.readable else "error"
        yield _case("drift", drift.name, kind, drift.sentence, drift.sentence)
    others = [said for said in gate.gaps if not _told_by_a_case(gate, said)]
    if others:
        yield _case("completeness", "examination", "error", others[0], "\n".join(others))


_JUNIT: Mapping[Change, str] = {
    Change.WORSE: "failure",
    Change.GONE: "error",
    Change.NOT_COMPARED: "error",
    Change.NEW: "skipped",
}


def _told_by_a_case(gate: Gate, said: str) -> bool:
    own = [f"{one.name} ({one.subject}) was not compared: {one.why}" for one in gate.comparisons]
    return said in own or said in [one.sentence for one in gate.drifts]


def _case(suite: str, name: str, kind: str, message: str, text: str) -> str:
    opening = f'    <testcase classname={_attribute(f"voirdire.{suite}")} name={_attribute(name)} time="0"'
    if not kind:
        return f"{opening}/>"
    if kind == "skipped":
        return f"{opening}><skipped message={_attribute(message)}/></testcase>"
    return (
        f"{opening}><{kind} message={_attribute(message)} type={_attribute(f'voirdire.{kind}')}>"
        f"{escape(_legal(text))}</{kind}></testcase>"
    )


def _evidence(one: Comparison) -> str:
    """Return the sentences of the finding before and now."""
    both = (("before", one.before), ("now", one.now))
    return "\n".join([one.why, *(f"{when}: {finding.sentence}" for when, finding in both if finding)])


def _attribute(text: str) -> str:
    return quoteattr(_legal(text), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _legal(text: str) -> str:
    """Return text without what XML 1.0 cannot hold: such characters are shown as escapes."""
    return _NOT_XML.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


# --- JSON -----------------------------------------------------------------------------------------------


def to_data(gate: Gate) -> dict[str, object]:
    """Return the check as plain data."""
    return {
        "schema": SCHEMA,
        "verdict": gate.verdict.value,
        "failures": list(gate.failures),
        "gaps": list(gate.gaps),
        "judge": _identity(gate.judge),
        "baseline": None
        if gate.baseline is None
        else {**_identity(gate.baseline.judge), "made": gate.baseline.made, "version": gate.baseline.version},
        "examined": gate.examined,
        "changed": [{"kind": one.kind.value, "lines": list(one.lines)} for one in gate.changed],
        "findings": [_comparison(one) for one in gate.comparisons],
        "drift": [
            {
                "name": one.name,
                "rang": one.rang,
                "runs": len(one.times),
                "anchors": one.anchors,
                "sentence": one.sentence,
            }
            for one in gate.drifts
        ],
        "notes": list(gate.notes),
    }


def to_json(gate: Gate) -> str:
    """Return the check as JSON text, characters beyond ASCII as escapes."""
    return json.dumps(to_data(gate), indent=2, allow_nan=False) + "\n"


def _identity(identity: Identity | None) -> dict[str, object]:
    return {} if identity is None else {"name": identity.name, "fingerprint": identity.fingerprint}


def _comparison(one: Comparison) -> dict[str, object]:
    return {
        "name": one.name,
        "subject": one.subject,
        "change": one.change.value,
        "before": ruling_of(one.before) or None,
        "now": ruling_of(one.now) or None,
        "why": one.why,
        "differences": [_difference(each) for each in one.differences],
        "lacking": list(one.lacking),
        "further": list(one.further),
    }


def _difference(one: Difference) -> dict[str, object]:
    estimate = one.estimate
    return {
        "aspect": one.aspect.value,
        "quantity": one.line.quantity,
        "before": one.before,
        "now": one.now,
        "change": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "n": estimate.n,
        "exact": estimate.exact,
        "p": estimate.p_value,
        "p_adjusted": one.p_adjusted,
        "method": estimate.method,
        "established": one.established,
    }
