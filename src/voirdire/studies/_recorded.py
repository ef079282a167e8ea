"""Recorded verdicts of hosted judges, which ship with the package: every judge ruled on, a few shown one by one.

Nobody is asked. Each judge whose finding is shown has an identity of its own: model, prompt and source, as recorded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from voirdire.audits import outcome_ratings, position
from voirdire.blocks import Cell, TableBlock
from voirdire.engine.advice import settle_by_cases, settle_by_items
from voirdire.engine.conclude import conclude
from voirdire.model import Finding, FindingKind, Identity, Measurement
from voirdire.studies import _material

PROMPT = "Vanilla"
"""The prompt of the LLMBar judges that are shown one by one; the others are rows of a table."""

RATING = "study 1, Negligent"
"""The ratings that are shown one by one: of the act itself, without an expert's word before."""


@dataclass(frozen=True)
class Recorded:
    """Findings about recorded judges, and the identities of the judges they name."""

    findings: tuple[Finding, ...]
    judges: tuple[Identity, ...]


@dataclass(frozen=True)
class _Shown:
    """A judge that is shown by itself, and what its finding is about, beside the judge."""

    identity: Identity
    subject: str


def recorded_findings() -> Recorded:
    """Audit the shipped verdicts: slots on LLMBar, luck in outcome ratings.

    Corrected over all comparisons of an audit's families, whether they are shown one by one or not.
    """
    slots, luck = _slots(), _luck()
    return Recorded((*slots.findings, *luck.findings), (*slots.judges, *luck.judges))


def _slots() -> Recorded:
    table = _material.llmbar_verdicts()
    shown = {
        tally.judge: _Shown(_identity(tally.model, PROMPT, source="LLMBar judgments"), "LLMBar pairs")
        for tally in position.tallies(table)
        if tally.judge == f"{tally.model} {PROMPT}"
    }
    families = position.families(table, settle=settle_by_items)
    return _audited(position.audit(table), families, shown, corrected="over all judges of the record")


def _luck() -> Recorded:
    table = _material.outcome_ratings()
    shown = {
        f"{judge}, {RATING}": _Shown(_identity(judge, "", source="outcome-bias ratings"), RATING)
        for judge in dict.fromkeys(one.judge for one in outcome_ratings.comparisons(table))
    }
    families = {
        f"comparisons of {judge}": family
        for judge, family in outcome_ratings.families(table, settle=settle_by_cases).items()
    }
    return _audited(
        outcome_ratings.audit(table), families, shown, corrected="over the comparisons of each judge"
    )


def _identity(model: str, prompt: str, *, source: str) -> Identity:
    fields = {"backend": {"backend": "recorded", "model": model, "source": source}}
    if not prompt:
        return Identity(model, fields)
    return Identity(f"{model} {prompt}", {**fields, "prompt": prompt})


def _audited(
    overview: Sequence[Finding],
    families: Mapping[str, Sequence[Measurement]],
    shown: Mapping[str, _Shown],
    *,
    corrected: str,
) -> Recorded:
    """Return the findings that are shown, each of its own judge, and the overview with every ruling in a table."""
    ruled = [
        finding
        for name, family in families.items()
        for finding in conclude(family, judge="", family=name, kind=FindingKind.AUDIT)
    ]
    table = TableBlock(
        title="Rulings on the recorded judges",
        columns=("judge", "ruling", "estimate", "low", "high", "corrected p", "n"),
        rows=[_ruling_row(finding) for finding in ruled],
        note=f"Corrected (Holm) {corrected}.",
    )
    own = [_of_judge(finding, shown[finding.subject]) for finding in ruled if finding.subject in shown]
    together = [replace(one, judge="", blocks=(table, *one.blocks)) for one in overview]
    return Recorded((*own, *together), tuple(one.identity for one in shown.values()))


def _of_judge(finding: Finding, shown: _Shown) -> Finding:
    fingerprint = shown.identity.fingerprint
    return replace(
        finding,
        id=f"{finding.name}/{shown.subject}/{fingerprint[:12]}",
        judge=fingerprint,
        subject=shown.subject,
    )


def _ruling_row(finding: Finding) -> tuple[Cell, ...]:
    estimate = finding.estimate
    return (
        finding.subject,
        finding.ruling.value if finding.ruling else "",
        estimate.value if estimate else None,
        estimate.low if estimate else None,
        estimate.high if estimate else None,
        finding.p_adjusted,
        estimate.n if estimate else 0,
    )
