"""What the numbers of a replay allow to be said: rulings on audited samples, which cannot be asked again."""

from collections.abc import Sequence
from dataclasses import replace

from voirdire.lines import ALPHA, CASES_FOR_GENERAL, Line
from voirdire.model import Estimate, Finding, Ruling
from voirdire.stats.equivalence import Equivalence, equivalence
from voirdire.stats.multiplicity import holm

FAMILY = "all contrasts of this replay"


def corrected(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings with p values corrected by Holm over all of them, and those whose leak it undoes unresolved."""
    tested = [
        index for index, one in enumerate(findings) if one.estimate and one.estimate.p_value is not None
    ]
    adjusted = holm([findings[index].estimate.p_value or 0.0 for index in tested])  # type: ignore[union-attr]
    p_by_index = dict(zip(tested, adjusted, strict=True))
    return [
        _with_p(one, p_by_index[index], size=len(tested)) if index in p_by_index else one
        for index, one in enumerate(findings)
    ]


def _with_p(finding: Finding, p: float, *, size: int) -> Finding:
    undone = finding.ruling is Ruling.LEAKS and p > ALPHA
    return replace(
        finding,
        p_adjusted=p,
        family=FAMILY,
        family_size=size,
        ruling=Ruling.UNRESOLVED if undone else finding.ruling,
        sentence=f"{finding.sentence.rpartition(': ')[0]}: the corrected test does not reject."
        if undone
        else finding.sentence,
    )


def moved(estimate: Estimate, line: Line) -> bool:
    """Whether a shift was shown: the test rejects at 5 % and the estimate lies at or beyond the line."""
    if estimate.value is None or estimate.p_value is None:
        return False
    return estimate.p_value <= ALPHA and abs(estimate.value - line.null) >= line.leak - 1e-12


def stayed(estimate: Estimate, line: Line) -> bool:
    """Whether it was shown that nothing moved beyond the margin, in enough units to say so."""
    if line.margin is None or estimate.n < CASES_FOR_GENERAL:
        return False
    return equivalence(estimate, null=line.null, margin=line.margin) is Equivalence.INSIDE


def ruled(estimate: Estimate, line: Line) -> Ruling:
    """Return LEAKS for a shift that was shown, HOLDS for one shown to be small, else UNRESOLVED.

    Nothing is ruled about fewer than eight units.
    """
    if estimate.n >= CASES_FOR_GENERAL and moved(estimate, line):
        return Ruling.LEAKS
    return Ruling.HOLDS if stayed(estimate, line) else Ruling.UNRESOLVED


def above(estimate: Estimate, line: Line) -> Ruling:
    """Return LEAKS where the whole interval lies above the line, HOLDS where it lies below it, else UNRESOLVED."""
    if estimate.low is None or estimate.high is None or estimate.n < CASES_FOR_GENERAL:
        return Ruling.UNRESOLVED
    if estimate.low > line.null + line.leak:
        return Ruling.LEAKS
    high = estimate.inner_high if estimate.inner_high is not None else estimate.high
    return Ruling.HOLDS if high < line.null + (line.margin or 0.0) else Ruling.UNRESOLVED


def three_over(n: int) -> float:
    """Return 3 / n, at most 1: the bound shown where none of `n` >= 1 units differs.

    The rule of three, an approximation from above of the exact 1 - 0.05**(1 / n) at 95 %. Hanley and Lippman-Hand 1983,
    doi:10.1001/jama.1983.03330370053031.
    """
    return min(1.0, 3 / n)


def percent(share: float | None, digits: int = 2) -> str:
    """Return a share in percent, or 'unknown'."""
    return "unknown" if share is None else f"{100 * share:.{digits}f} %"


def counted(n: int, noun: str) -> str:
    """Return a number with its noun: '1 pass', '2 passes'."""
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{n:,} {noun if n == 1 else plural}"


def reach(estimate: Estimate, digits: int = 4) -> str:
    """Return an estimate with its interval, as text."""
    if estimate.value is None:
        return "no estimate"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.{digits}f}"
    return f"{estimate.value:.{digits}f} [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"
