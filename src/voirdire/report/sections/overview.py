"""All findings at a glance: each estimate on its line, one figure per quantity, and a table that leads to them."""

from collections.abc import Sequence
from dataclasses import replace

from markupsafe import Markup

from voirdire.model import Estimate, Examination, Finding
from voirdire.report._svg import COLOUR
from voirdire.report.figures import ROW_LIMIT, RULING_SHAPES, Row
from voirdire.report.numerals import interval, listing, number, probability
from voirdire.report.paper import Paper, subject_of, title_of
from voirdire.report.scales import axis_of
from voirdire.report.tables import ShownCell, ShownTable, shown_cell

PLACE = 30


def section(examination: Examination, paper: Paper) -> Markup | None:
    """Return the overview; None where there is no finding."""
    if not examination.findings:
        return None
    several = len({finding.judge for finding in examination.findings}) > 1
    return paper.fill(
        "overview.html",
        figures=_figures(examination.findings, paper, several),
        table=_index(examination.findings, paper, several),
    )


def point(label: str, estimate: Estimate, ruling: str | None) -> Row:
    """Return one row of an interval figure: the estimate, with the colour and the shape of its ruling."""
    return {
        "label": label,
        "value": estimate.value,
        "low": estimate.value if estimate.low is None else estimate.low,
        "high": estimate.value if estimate.high is None else estimate.high,
        "colour": COLOUR[ruling or "accent"],
        "shape": RULING_SHAPES.get(ruling or "", "circle"),
    }


def _figures(findings: Sequence[Finding], paper: Paper, several: bool) -> list[Markup]:
    if paper.draftsman is None:
        return []
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.line and finding.estimate and finding.estimate.value is not None:
            groups.setdefault(finding.line.quantity, []).append(finding)
    return [_figure(quantity, group, paper, several) for quantity, group in groups.items()]


def _figure(quantity: str, group: Sequence[Finding], paper: Paper, several: bool) -> Markup:
    assert paper.draftsman is not None
    names = {finding.name: title_of(finding) for finding in group}
    pairs = [(finding, finding.estimate) for finding in group[:ROW_LIMIT]]
    rows = [
        point(
            _label(finding, paper, several, len(names) > 1), estimate, finding.ruling and finding.ruling.value
        )
        for finding, estimate in pairs
        if estimate is not None
    ]
    lines = {finding.line for finding in group if finding.line}
    axis = axis_of(next(iter(lines)) if len(lines) == 1 else None, rows)
    drawing = paper.draftsman.intervals(rows, replace(axis, title=""), title=f"All findings: {quantity}")
    title = f"{listing(list(names.values())[:3])}: {quantity}"
    return paper.macro("figure", title, "", drawing, None, max(0, len(group) - ROW_LIMIT))


def _label(finding: Finding, paper: Paper, several_judges: bool, several_names: bool) -> str:
    subject = "in general" if finding.subject == "judge" else subject_of(finding)
    judge = [paper.judge_name(finding.judge)] if several_judges else []
    name = [title_of(finding)] if several_names else []
    return " · ".join([*judge, *name, subject])


def _index(findings: Sequence[Finding], paper: Paper, several: bool) -> ShownTable:
    """Return one row per finding, the ruling first: what a narrow screen shows without scrolling."""
    columns = ["ruling", "finding", "about", "estimate", "95 % interval", "n", "p adjusted"]
    rows = [_index_row(finding, paper) for finding in findings]
    numeric = [False, False, False, True, False, True, True]
    if several:
        columns, numeric = ["ruling", "judge", *columns[1:]], [False, *numeric]
        names = [shown_cell(paper.judge_name(finding.judge)) for finding in findings]
        rows = [[row[0], name, *row[1:]] for name, row in zip(names, rows, strict=True)]
    return ShownTable("One by one", columns, numeric, rows, header=columns.index("finding"))


def _index_row(finding: Finding, paper: Paper) -> list[ShownCell]:
    estimate = finding.estimate or Estimate(None)
    link = Markup('<a href="#{}">{}</a>').format(paper.anchor(finding), title_of(finding))
    reach = shown_cell(Markup(interval(estimate.low, estimate.high)))
    return [
        shown_cell(paper.macro("badge", finding.ruling)),
        shown_cell(link),
        shown_cell(subject_of(finding)),
        _numeric(number(estimate.value), estimate.value),
        shown_cell("exact")
        if estimate.exact
        else ShownCell(reach.markup, "" if estimate.low is None else repr(estimate.low)),
        _numeric(f"{estimate.n:,}" if estimate.n else "–", estimate.n or None),
        _numeric(probability(finding.p_adjusted), finding.p_adjusted),
    ]


def _numeric(text: str, value: float | None) -> ShownCell:
    return (
        ShownCell(Markup(text), "" if value is None else repr(value))
        if value is not None
        else shown_cell(None)
    )
