"""The outcome protocol's own reading of P, beside our ruling: leakage at 0.20 or less and at 0.80 or more."""

from collections.abc import Sequence
from dataclasses import replace

from voirdire.blocks import TableBlock
from voirdire.engine.measure import JUDGE
from voirdire.lines import OUTCOME
from voirdire.model import Finding

LEAKAGE, NO_LEAKAGE, UNKNOWN = "leakage", "no leakage", "not known"


def protocol_reading(superiority: float | None) -> str:
    """Return what the protocol, which fixed its lines beforehand and tests nothing, says of a P in [0, 1]."""
    if superiority is None:
        return UNKNOWN
    return LEAKAGE if abs(superiority - OUTCOME.null) >= OUTCOME.leak - 1e-12 else NO_LEAKAGE


def with_protocol(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings with a table of both readings, case by case, on each one about the judge in general."""
    return [
        replace(one, blocks=(*one.blocks, _readings([each for each in findings if each.name == one.name])))
        if one.subject == JUDGE and one.ruling is not None
        else one
        for one in findings
    ]


def _readings(findings: Sequence[Finding]) -> TableBlock:
    rows = [_row(one) for one in findings if one.subject != JUDGE and one.estimate is not None]
    return TableBlock(
        title="The protocol's reading and our ruling, by case",
        columns=("case", "P(superiority) of harm", "protocol", "ruling", "corrected p"),
        rows=rows,
        note="The protocol reads the value alone. Our ruling also asks for a corrected test, a control that moved, and "
        "for 'holds' a 90 % interval between the lines.",
    )


def _row(one: Finding) -> tuple[str, float | None, str, str, float | None]:
    value = one.estimate.value if one.estimate else None
    return (
        one.subject,
        value,
        protocol_reading(value),
        one.ruling.value if one.ruling else "",
        one.p_adjusted,
    )
