"""A chart that watches a mean over time: a self-starting, two-sided CUSUM.

Each run is compared with the mean and the spread of all runs before it, so that no separate period is needed in which
nothing may change; under a steady normal process these comparisons are independent and standard normal.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from voirdire.errors import DataError
from voirdire.lines import DRIFT_ALLOWANCE, DRIFT_LIMIT, DRIFT_WARM_UP
from voirdire.stats.checked import Vector, finite_vector

FARTHEST = 8.0
"""Standard deviations that one run can count for at most."""

_SAME = 1e-9
"""Differences smaller than this share of the largest value are rounding."""


class Direction(StrEnum):
    """To which side a chart rang."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True)
class Alarm:
    """Where a chart first passed its limit: the run, the side, and the run from which the sum had been growing."""

    at: int
    direction: Direction
    began: int


@dataclass(frozen=True)
class ControlChart:
    """One chart: a standardised score and two sums per run, and the first alarm (None: it never rang)."""

    scores: Vector
    upper: Vector
    lower: Vector
    allowance: float
    limit: float
    alarm: Alarm | None


def control_chart(
    values: ArrayLike, *, allowance: float = DRIFT_ALLOWANCE, limit: float = DRIFT_LIMIT
) -> ControlChart:
    """Return the chart of a series of means, oldest first.

    values: shape (n,), n >= 3, any unit. `allowance` and `limit` are in standard deviations of one run; with 0.5 and 5
    a steady normal series rings once in 465 runs on average. The sums go on after an alarm, but the runs that rang are
    by then part of what later ones are compared with. Raises DataError for fewer than three runs, and for an allowance
    below 0 or a limit not above 0. Page 1954, doi:10.1093/biomet/41.1-2.100; Hawkins 1987, doi:10.2307/2348827.
    """
    series = finite_vector(values, name="values", at_least=DRIFT_WARM_UP)
    if allowance < 0 or limit <= 0:
        raise DataError(
            f"an allowance of {allowance:g} and a limit of {limit:g} make no chart",
            hint="the allowance is 0 or more, the limit above 0",
        )
    scores = self_starting_scores(series)
    upper, lower = cusum(scores, allowance=allowance), cusum(-scores, allowance=allowance)
    return ControlChart(scores, upper, lower, allowance, limit, _alarm(upper, lower, limit))


def self_starting_scores(values: ArrayLike) -> Vector:
    """Return each value as a standard normal score against all before it, shape (n,); the first two are 0.

    Under independent values of one normal distribution the scores from the third on are independent and standard normal.
    Where nothing had varied before, a value that differs is the odd one of n, which by chance is the last with 1 in n.
    Hawkins 1987, doi:10.2307/2348827.
    """
    from scipy.special import ndtri, stdtr

    series = finite_vector(values, name="values")
    before = np.arange(len(series), dtype=np.float64)
    sums = np.cumsum(series) - series
    centre = sums / np.maximum(before, 1)
    spread = _spread_before(series)
    rounding = _SAME * float(np.abs(series).max())
    apart = np.where(np.abs(series - centre) <= rounding, 0.0, series - centre)
    still = spread <= rounding
    statistic = np.sqrt(before / (before + 1)) * apart / np.where(still, 1.0, spread)
    tail = np.where(still, 0.5 / (before + 1), stdtr(np.maximum(before - 1, 1), -np.abs(statistic)))
    scores = np.sign(apart) * np.minimum(-ndtri(np.maximum(tail, 1e-300)), FARTHEST)
    scores[: DRIFT_WARM_UP - 1] = 0.0
    return np.asarray(scores, dtype=np.float64)


def cusum(scores: ArrayLike, *, allowance: float) -> Vector:
    """Return the upper sum after each score: the larger of 0 and the sum before plus the score less the allowance."""
    sums, total = [], 0.0
    for score in finite_vector(scores, name="scores").tolist():
        total = max(0.0, total + score - allowance)
        sums.append(total)
    return np.asarray(sums, dtype=np.float64)


def _spread_before(series: Vector) -> Vector:
    """Return the standard deviation of all values before each one; 0 where there are fewer than two."""
    spread, mean, squares = [], 0.0, 0.0
    for count, value in enumerate(series.tolist()):
        spread.append((squares / (count - 1)) ** 0.5 if count > 1 else 0.0)
        step = value - mean
        mean += step / (count + 1)
        squares += step * (value - mean)
    return np.asarray(spread, dtype=np.float64)


def _alarm(upper: Vector, lower: Vector, limit: float) -> Alarm | None:
    rang = np.flatnonzero(np.maximum(upper, lower) > limit)
    if not len(rang):
        return None
    at = int(rang[0])
    sums, direction = (upper, Direction.UP) if upper[at] >= lower[at] else (lower, Direction.DOWN)
    at_rest = np.flatnonzero(sums[:at] == 0)
    return Alarm(at, direction, int(at_rest[-1]) + 1 if len(at_rest) else 0)
