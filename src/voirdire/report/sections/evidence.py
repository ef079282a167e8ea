"""The evidence: one part per finding, with all that its ruling rests on, grouped by judge where there are several."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from voirdire.blocks import TableBlock
from voirdire.lines import MISSING_GAP, Line
from voirdire.model import Estimate, Examination, Finding
from voirdire.report.evidence_blocks import block_markup
from voirdire.report.numerals import counted, interval, number, probability, share
from voirdire.report.paper import Paper, subject_of, title_of
from voirdire.report.scales import axis_of, on_own_range
from voirdire.report.sections.overview import point
from voirdire.report.tables import ShownTable, shown_table

PLACE = 40

OPEN_LIMIT = 12
"""With more findings than this, what lies under each finding's sentence is folded."""


@dataclass(frozen=True)
class Part:
    """One finding, ready for the template."""

    finding: Finding
    anchor: str
    strips: Sequence[Markup]
    facts: Sequence[tuple[str, str]]
    missing: ShownTable | None
    gap: bool
    blocks: Sequence[Markup]


def section(examination: Examination, paper: Paper) -> Markup | None:
    """Return all findings; None where there is none."""
    if not examination.findings:
        return None
    judges = list(dict.fromkeys(finding.judge for finding in examination.findings))
    groups = [
        (paper.judge_name(judge), [_part(f, paper) for f in examination.findings if f.judge == judge])
        for judge in judges
    ]
    return paper.fill(
        "evidence.html", groups=groups, several=len(groups) > 1, folded=len(examination.findings) > OPEN_LIMIT
    )


def _part(finding: Finding, paper: Paper) -> Part:
    estimate = finding.estimate
    return Part(
        finding=finding,
        anchor=paper.anchor(finding),
        strips=list(_strips(finding, paper)),
        facts=list(_facts(finding)),
        missing=_missing(finding),
        gap=estimate is not None and missing_gap(estimate) > MISSING_GAP,
        blocks=[
            block_markup(on_own_range(block, paper.ranges(finding.judge)), paper) for block in finding.blocks
        ],
    )


def missing_gap(estimate: Estimate) -> float:
    """Return the largest difference between the missing shares of two arms."""
    shares = [estimate.missing.get(arm, 0) / asked for arm, asked in estimate.asked.items() if asked]
    return max(shares) - min(shares) if shares else 0.0


def _strips(finding: Finding, paper: Paper) -> Iterator[Markup]:
    """Draw the estimate, its check and its control: together where they share a line's quantity, else apart."""
    if paper.draftsman is None:
        return
    ruling = finding.ruling.value if finding.ruling else None
    measured = [
        ("effect", finding.estimate, finding.line, ruling),
        ("check: was it read?", finding.check, finding.check_line, None),
        ("control: must move", finding.control, finding.control_line, None),
    ]
    by_scale: dict[tuple[float, float, float | None], list[tuple[str, Estimate, Line, str | None]]] = {}
    for name, estimate, line, how in measured:
        if estimate is not None and estimate.value is not None and line is not None:
            by_scale.setdefault((line.null, line.leak, line.margin), []).append((name, estimate, line, how))
    for group in by_scale.values():
        rows = [point(name, estimate, how) for name, estimate, _, how in group]
        axis = axis_of(
            group[0][2], rows, title=" / ".join(dict.fromkeys(line.quantity for _, _, line, _ in group))
        )
        yield paper.draftsman.strip(rows, axis, title=f"{title_of(finding)}, {subject_of(finding)}")


def _facts(finding: Finding) -> Iterator[tuple[str, str]]:
    """Yield the numbers of a finding as name and text, in reading order."""
    estimate, line = finding.estimate, finding.line
    if estimate is not None:
        yield (line.quantity if line else "estimate"), _value(estimate)
        if estimate.inner_low is not None:
            yield "90 % interval", interval(estimate.inner_low, estimate.inner_high)
        yield "n", estimate.counted
        if finding.p_adjusted is not None:
            yield (
                "p, adjusted",
                f"{probability(finding.p_adjusted)} (unadjusted {probability(estimate.p_value)})",
            )
        if estimate.bounds:
            yield "bounds", f"{interval(*estimate.bounds)} with all missing answers at their worst and best"
    if line is not None:
        yield "line", f"{number(line.leak)} or more from {number(line.null)}: {line.reason}"
        yield "margin", "none, so nothing can be said to hold" if line.margin is None else _margin(line)
    yield from _others(finding)
    if estimate is not None and estimate.method:
        yield "method", estimate.method
    if estimate is not None and estimate.note:
        yield "note", estimate.note
    if finding.family:
        yield "family", f"{finding.family}, {counted(finding.family_size, 'contrast')}"


def _others(finding: Finding) -> Iterator[tuple[str, str]]:
    if finding.control is not None:
        what = f" ({finding.control_line.quantity})" if finding.control_line else ""
        yield "control", f"{_value(finding.control)}{what}"
    elif finding.ruling is not None and finding.kind.value == "probe":
        yield "control", "none that could be read"
    if finding.check is not None:
        yield (
            "check",
            f"{_value(finding.check)}{f' ({finding.check_line.quantity})' if finding.check_line else ''}",
        )


def _margin(line: Line) -> str:
    margin = line.margin or 0.0
    return f"the 90 % interval must lie within {interval(line.null - margin, line.null + margin)}"


def _value(estimate: Estimate) -> str:
    if estimate.value is None:
        return "no estimate"
    if estimate.exact:
        return f"{number(estimate.value)}, exact"
    if estimate.low is None:
        return f"{number(estimate.value)}, no interval"
    return f"{number(estimate.value)}  {interval(estimate.low, estimate.high)} ({100 * estimate.level:g} %)"


def _missing(finding: Finding) -> ShownTable | None:
    arms = [
        (where, estimate)
        for where, estimate in (
            ("effect", finding.estimate),
            ("check", finding.check),
            ("control", finding.control),
        )
        if estimate is not None and estimate.asked
    ]
    rows = [
        (where, arm, asked, estimate.missing.get(arm, 0), share(estimate.missing.get(arm, 0), asked))
        for where, estimate in arms
        for arm, asked in estimate.asked.items()
    ]
    if not any(row[3] for row in rows):
        return None
    return shown_table(
        TableBlock("Missing answers by arm", ["measured", "arm", "asked", "missing", "share"], rows)
    )
