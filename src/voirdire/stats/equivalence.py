"""Showing that nothing moved, and how much more it takes to tell.

Absence of significance is not equivalence: only an interval that lies wholly inside a margin, declared before, shows
that a shift is small. Two one-sided tests at 5 % are the same as the 90 % interval lying inside.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from numpy.typing import ArrayLike

from voirdire.errors import DataError
from voirdire.lines import ALPHA, EQUIVALENCE_LEVEL, Line
from voirdire.model import Estimate
from voirdire.stats.checked import finite_vector, proper_level
from voirdire.stats.quantiles import normal_quantile, t_critical, t_upper_tail

MOST_UNITS = 10_000_000
"""More units than this are said to be out of reach."""


class Equivalence(StrEnum):
    """What a 90 % interval says about a margin. BEYOND: wholly outside it; UNDECIDED: it crosses the margin."""

    INSIDE = "inside"
    BEYOND = "beyond"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Settling:
    """How many units in all would settle it if the present estimate stood; None: no number would.

    `to_reject`: no shift is then rejected, and the estimate is at or beyond the leak line. `to_hold`: the 90 %
    interval then lies inside the margin.
    """

    have: int
    to_reject: int | None
    to_hold: int | None

    @property
    def further(self) -> int | None:
        """Return how many more units settle it one way or the other; None where none are known to."""
        known = [total for total in (self.to_reject, self.to_hold) if total is not None]
        return max(0, min(known) - self.have) if known else None


def equivalence(estimate: Estimate, *, null: float, margin: float) -> Equivalence:
    """Return where the inner interval of an estimate lies: inside `null` +- `margin`, beyond it, or across.

    An exact estimate is its own interval; one without an interval is undecided. The margin, above 0 and in the
    estimate's unit, is itself outside: an interval that touches it crosses it. Schuirmann 1987, doi:10.1007/BF01068419.
    """
    _check_margin(margin)
    low, high = estimate.inner_low, estimate.inner_high
    if estimate.exact and estimate.value is not None:
        low = high = estimate.value
    if low is None or high is None:
        return Equivalence.UNDECIDED
    if null - margin < low and high < null + margin:
        return Equivalence.INSIDE
    return Equivalence.BEYOND if high <= null - margin or low >= null + margin else Equivalence.UNDECIDED


def tost_mean_p(differences: ArrayLike, *, margin: float, null: float = 0.0) -> float:
    """Return the p value of a mean at least `margin` away from `null`: the larger of two one-sided t tests, in (0, 1].

    differences: shape (n,), n >= 2, any unit; margin above 0 in the same unit. Below 0.05 exactly where the 90 % t
    interval lies inside. Raises DataError where all differences are equal: no t test is defined.
    """
    values = finite_vector(differences, name="differences", at_least=2)
    _check_margin(margin)
    mean = math.fsum(values) / len(values)
    deviations = values - mean
    error = math.sqrt(float(deviations @ deviations) / (len(values) - 1) / len(values))
    if error <= 1e-12 * max(abs(mean), margin):
        raise DataError(
            "all differences are equal: a t test is undefined",
            hint="use the bound of `paired_mean`, which needs the span of the scale",
        )
    df = len(values) - 1
    above_floor = t_upper_tail((mean - (null - margin)) / error, df)
    below_ceiling = t_upper_tail(((null + margin) - mean) / error, df)
    return max(above_floor, below_ceiling, math.ulp(0.0))


def scores_needed_for_superiority_margin(
    margin: float, *, tied: float = 0.0, power: float = 0.80, level: float = EQUIVALENCE_LEVEL
) -> int:
    """Return how many scores a side show P(superiority) = 0.5 inside 0.5 +- `margin` with chance `power`.

    margin: in (0, 0.5). `tied`: the sum of cubed shares of each level, 0 without ties, towards 1 where one level takes
    all; ties make scores less noisy. Large-sample normal, so for few scores a guide. 143 for 0.1, 16 for 0.3.
    """
    if not (0 < margin < 0.5 and 0 <= tied < 1 and 0 < power < 1):
        raise DataError(
            f"margin {margin:g}, tied {tied:g}, power {power:g} make no plan",
            hint="choose a margin in (0, 0.5), a tied share in [0, 1) and a power in (0, 1)",
        )
    reach = normal_quantile(0.5 + proper_level(level) / 2) + normal_quantile((1 + power) / 2)
    return math.ceil((1 - tied) / 6 * (reach / margin) ** 2)


def units_needed(sd: float, margin: float, level: float = EQUIVALENCE_LEVEL) -> int | None:
    """Return the fewest units whose t interval at `level` reaches less than `margin` to each side of the mean.

    sd: standard deviation over units, margin: above 0, both in one unit; at least 2. None: more than ten million.
    Take the margin minus the present shift, at 90 %, to learn when a shift will be shown to be inside; take the present
    shift, at 95 %, to learn when it will be told from 0.
    """
    _check_margin(margin)
    proper_level(level)
    if not (math.isfinite(sd) and sd >= 0):
        raise DataError(f"a standard deviation of {sd:g} is none", hint="pass the spread over units")

    def reaches_less(units: int) -> bool:
        return t_critical(level, units - 1) * sd < margin * math.sqrt(units)

    return _fewest(reaches_less, at_least=2)


def unmoved_units_needed(span: float, margin: float, level: float = EQUIVALENCE_LEVEL) -> int:
    """Return how many units that all show no shift at all put the bound of `paired_mean` inside `margin`.

    span: the largest |difference| the scale allows; margin in (0, span). Both in one unit.
    """
    _check_margin(margin)
    if not margin < span:
        raise DataError(
            f"a margin of {margin:g} holds every difference up to {span:g}",
            hint="declare a margin below the span",
        )
    needed = math.log(1 - proper_level(level)) / math.log1p(-margin / span)
    return math.floor(needed) + 1


def settling(estimate: Estimate, line: Line, *, alpha: float = ALPHA) -> Settling:
    """Return how many units in all would settle an undecided estimate, if it stood where it is now.

    Intervals are taken to shrink with the square root of n. `alpha`: what the p value must stay below, smaller where
    the claim is one of a family. An estimate at its present value is met half of the time, so this is a lower guide.
    Nothing is known for an exact estimate or one without interval: both numbers are None.
    """
    if estimate.value is None or estimate.low is None or estimate.high is None or estimate.exact:
        return Settling(have=estimate.n, to_reject=None, to_hold=None)
    shift = estimate.value - line.null
    return Settling(
        have=estimate.n,
        to_reject=_units_to_reject(estimate, shift, leak=line.leak, alpha=alpha),
        to_hold=_units_to_hold(estimate, shift, margin=line.margin),
    )


def _units_to_reject(estimate: Estimate, shift: float, *, leak: float, alpha: float) -> int | None:
    if abs(shift) < leak or shift == 0 or estimate.value is None:
        return None
    near = estimate.value - (estimate.low or 0.0) if shift > 0 else (estimate.high or 0.0) - estimate.value
    stricter = normal_quantile(1 - alpha / 2) / normal_quantile(0.5 + estimate.level / 2)
    return _scaled(estimate.n, near * stricter / abs(shift))


def _units_to_hold(estimate: Estimate, shift: float, *, margin: float | None) -> int | None:
    if margin is None or abs(shift) >= margin or estimate.value is None:
        return None
    if estimate.inner_low is None or estimate.inner_high is None:
        return None
    downwards = (estimate.value - estimate.inner_low) / (margin + shift)
    upwards = (estimate.inner_high - estimate.value) / (margin - shift)
    return _scaled(estimate.n, max(downwards, upwards))


def _scaled(have: int, ratio: float) -> int | None:
    """Return the n at which a reach that is `ratio` times too long has shrunk to fit."""
    total = have * ratio**2
    return None if total > MOST_UNITS else max(1, math.floor(total) + 1)


def _fewest(enough: Callable[[int], bool], *, at_least: int) -> int | None:
    """Return the smallest count from `at_least` on that is enough; whatever is enough stays so for more."""
    short, reached = at_least - 1, at_least
    while not enough(reached):
        short, reached = reached, reached * 2
        if reached > MOST_UNITS:
            return None
    while reached - short > 1:
        middle = (short + reached) // 2
        short, reached = (short, middle) if enough(middle) else (middle, reached)
    return reached


def _check_margin(margin: float) -> None:
    if not (math.isfinite(margin) and margin > 0):
        raise DataError(f"a margin of {margin:g} is none", hint="declare one above 0, in the estimate's unit")
