"""From measurements to findings: which ruling the numbers allow.

The rules stand in one place: a leak needs a corrected test and an estimate beyond the line; "holds" needs the 90 %
interval inside the margin, a control that moved and, where there is one, a check that moved; all else stays open.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from voirdire.lines import ALPHA, MISSING_GAP, Line
from voirdire.model import (
    Estimate,
    Expectation,
    Finding,
    FindingKind,
    Measurement,
    Ruling,
)
from voirdire.stats.equivalence import unmoved_units_needed
from voirdire.stats.multiplicity import holm


class Movement(StrEnum):
    """What an estimate that ought to move was shown to do."""

    MOVED = "moved"
    STILL = "still"
    UNKNOWN = "unknown"
    ABSENT = "absent"


@dataclass(frozen=True)
class _Decision:
    ruling: Ruling
    why: str


def conclude(
    measurements: Sequence[Measurement], *, judge: str, family: str, kind: FindingKind = FindingKind.PROBE
) -> list[Finding]:
    """Return one finding per measurement, in order.

    `judge` is a fingerprint. All measurements given are one family: Holm runs over every test in it (exact
    differences are not tests and take no share). A measurement withheld for too few cases keeps its estimate.
    """
    tested = [index for index, one in enumerate(measurements) if one.estimate.p_value is not None]
    adjusted = holm([float(measurements[index].estimate.p_value or 0.0) for index in tested])
    p_by_index = dict(zip(tested, adjusted, strict=True))
    return [
        _finding(one, p_by_index.get(index), judge=judge, family=family, size=len(measurements), kind=kind)
        for index, one in enumerate(measurements)
    ]


def _finding(
    one: Measurement, p: float | None, *, judge: str, family: str, size: int, kind: FindingKind
) -> Finding:
    decision = decide(one, p)
    return Finding(
        id=f"{one.probe}/{one.subject}/{judge[:12]}",
        kind=kind,
        name=one.probe,
        subject=one.subject,
        judge=judge,
        sentence=sentence(one, decision.ruling, decision.why),
        ruling=decision.ruling,
        estimate=one.estimate,
        line=one.line,
        control=one.control,
        control_line=one.control_line,
        check=one.check,
        check_line=one.check_line,
        p_adjusted=p,
        family=family,
        family_size=size,
        rule=one.rule,
        settles=one.settles if decision.ruling is Ruling.UNRESOLVED else "",
        flags=(*one.flags, *missing_flags(one.estimate)),
        blocks=one.blocks,
        references=one.references,
        expect=one.expect,
    )


def decide(one: Measurement, p: float | None) -> _Decision:
    """Return the ruling for one measurement, given its corrected p-value (None: exact, or not tested)."""
    if one.withheld:
        return _Decision(Ruling.UNRESOLVED, one.withheld)
    if one.estimate.value is None:
        return _Decision(Ruling.UNRESOLVED, one.estimate.note or "no readable answers on both sides")
    if one.expect is not Expectation.INVARIANT:
        return _must_move(one, p)
    if shifted(one.estimate, one.line, p) and _beyond(one.estimate, one.line):
        return _leak(one)
    control = movement(one.control, one.control_line, one.control_expect)
    if control is Movement.STILL:
        return _Decision(Ruling.BLIND, "the control, which must move the verdict, was shown not to move it")
    if not inside(one.estimate, one.line):
        return _Decision(Ruling.UNRESOLVED, _why_not_inside(one))
    return _holds(one, control)


def _why_not_inside(one: Measurement) -> str:
    if _beyond(one.estimate, one.line):
        return "the shift is past the line, but the corrected test does not reject chance"
    least = least_units(one.line)
    if one.estimate.n < least and not one.estimate.exact:
        return f"fewer than {least} {one.estimate.unit or 'units'} cannot show that nothing moves"
    return "the interval reaches beyond the margin"


def _leak(one: Measurement) -> _Decision:
    if _overturned(one, leak=True):
        return _Decision(Ruling.UNRESOLVED, "the missing answers could account for the whole shift")
    if one.rule is not None and one.rule.permits:
        return _Decision(Ruling.PERMITTED, "the judge's own rule allows this shift")
    if one.rule is not None and one.rule.permits is False:
        return _Decision(Ruling.LEAKS, "it breaks the judge's own stated rule")
    why = one.rule.note if one.rule is not None and one.rule.note else "the judge was not asked its own rule"
    return _Decision(Ruling.LEAKS, f"it moves against the norm of this probe ({why})")


def _holds(one: Measurement, control: Movement) -> _Decision:
    if control is not Movement.MOVED:
        said = (
            "there is no readable control"
            if control is Movement.ABSENT
            else "the control was not shown to move"
        )
        return _Decision(Ruling.UNRESOLVED, f"the shift lies inside the margin, but {said}")
    if one.check_line is not None:
        check = movement(one.check, one.check_line, one.check_expect)
        if check is not Movement.MOVED:
            return _Decision(
                Ruling.UNRESOLVED, "the shift lies inside the margin, but nothing shows that it was read"
            )
    if _overturned(one, leak=False):
        return _Decision(Ruling.UNRESOLVED, "the missing answers could hide a shift beyond the margin")
    return _Decision(Ruling.HOLDS, "the whole 90 % interval lies inside the margin, and the control moved")


def _must_move(one: Measurement, p: float | None) -> _Decision:
    """Rule on a contrast in which the verdict ought to rise or fall."""
    if shifted(one.estimate, one.line, p) and _beyond(one.estimate, one.line):
        if _direction(one.estimate, one.line) is one.expect:
            return _Decision(Ruling.HOLDS, "the verdict moves the way it must, at least as far as the line")
        return _Decision(Ruling.LEAKS, "the verdict moves the wrong way")
    if inside(one.estimate, one.line):
        return _Decision(Ruling.LEAKS, "the verdict was shown not to move although it must")
    return _Decision(Ruling.UNRESOLVED, "the interval allows both a move and none")


def shifted(estimate: Estimate, line: Line, p: float | None) -> bool:
    """Whether a shift is established: exactly known, or by the corrected test."""
    if estimate.value is None:
        return False
    if estimate.exact:
        return estimate.value != line.null
    return p is not None and p <= ALPHA


def inside(estimate: Estimate, line: Line) -> bool:
    """Whether the estimate is shown to lie within the margin: its 90 % interval does, or it is exact and does."""
    if line.margin is None or estimate.value is None:
        return False
    low, high = line.null - line.margin, line.null + line.margin
    if estimate.exact:
        return low < estimate.value < high
    if estimate.inner_low is None or estimate.inner_high is None or estimate.n < least_units(line):
        return False
    return low < estimate.inner_low and estimate.inner_high < high


def least_units(line: Line) -> int:
    """Return the fewest units that can show that something does not move: so many that all staying still would do.

    With fewer, a shift of a rare kind of unit may simply not have been drawn, however narrow the interval is.
    """
    if line.span is None or line.margin is None:
        return 1
    return unmoved_units_needed(line.span, line.margin)


def movement(estimate: Estimate | None, line: Line | None, expect: Expectation) -> Movement:
    """Return what a control or check did: moved as expected and beyond its line, stayed within it, or neither.

    Its own test is taken at 5 % without correction: it is a condition for `holds`, never a charge by itself.
    """
    if estimate is None or line is None or estimate.value is None:
        return Movement.ABSENT
    moved = shifted(estimate, line, estimate.p_value) and _beyond(estimate, line)
    if moved and _direction(estimate, line) is expect:
        return Movement.MOVED
    return Movement.STILL if inside(estimate, line) else Movement.UNKNOWN


def _beyond(estimate: Estimate, line: Line) -> bool:
    return estimate.value is not None and abs(estimate.value - line.null) >= line.leak - 1e-12


def _direction(estimate: Estimate, line: Line) -> Expectation:
    value = line.null if estimate.value is None else estimate.value
    return Expectation.HIGHER if value > line.null else Expectation.LOWER


def _overturned(one: Measurement, *, leak: bool) -> bool:
    """Whether the missing answers, all at their worst, would undo the ruling; asked only where arms differ."""
    if one.estimate.bounds is None or not uneven(one.estimate):
        return False
    low, high = one.estimate.bounds
    if leak:
        return low <= one.line.null <= high
    margin = one.line.margin or 0.0
    return low <= one.line.null - margin or high >= one.line.null + margin


def uneven(estimate: Estimate) -> bool:
    """Whether the arms lack different shares of their answers."""
    shares = [estimate.missing.get(arm, 0) / asked for arm, asked in estimate.asked.items() if asked]
    return bool(shares) and max(shares) - min(shares) > MISSING_GAP


def missing_flags(estimate: Estimate) -> tuple[str, ...]:
    """Return the sentence on unevenly missing answers, with the bounds, or nothing."""
    if not uneven(estimate):
        return ()
    counts = ", ".join(
        f"{estimate.missing.get(arm, 0)} of {asked} {arm}" for arm, asked in estimate.asked.items()
    )
    if estimate.bounds is None:
        return (f"answers are missing unevenly: {counts}",)
    low, high = estimate.bounds
    return (
        f"answers are missing unevenly ({counts}); at their worst and best the value is {low:.2f} to {high:.2f}",
    )


def sentence(one: Measurement, ruling: Ruling, why: str) -> str:
    """Return the finding in one plain sentence: subject, ruling, number, reason."""
    subject = "the judge in general" if one.subject == "judge" else one.subject
    return f"{one.probe}, {subject}: {ruling.value}. {numbers(one)}; {why}."


def numbers(one: Measurement) -> str:
    """Return the estimate in words: quantity, value, interval or exactness, n and unit."""
    estimate = one.estimate
    if estimate.value is None:
        return f"{one.line.quantity} could not be estimated"
    value = f"{one.line.quantity} {estimate.value:.2f}"
    if estimate.exact:
        return f"{value}, exact for a deterministic judge"
    if estimate.low is None or estimate.high is None:
        return f"{value}, n = {estimate.counted}"
    return f"{value} [{estimate.low:.2f}, {estimate.high:.2f}], n = {estimate.counted}"
