"""Looking while calls come in: intervals and p values that stay valid however often one looks.

The hedged betting confidence sequence of Waudby-Smith and Ramdas 2024 (doi:10.1093/jrsssb/qkad009): for each mean that
could be true, one gambler bets on higher and one on lower observations; a mean against which either has grown rich is
left out, for good.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from voirdire.lines import CONFIDENCE, EQUIVALENCE_LEVEL
from voirdire.model import Estimate
from voirdire.stats.checked import Vector, finite_vector, proper_level, unit_vector

GRID = 2_001
"""Candidate means from 0 to 1: bounds are known to 0.0005, and rounded outwards."""

_BOLDEST = 0.5
"""No bet risks more than this share of the capital on one observation."""


@dataclass(frozen=True)
class ConfidencePath:
    """Bounds after each observation, shape (n,), narrowing only. `low` above `high`: no constant mean fits."""

    low: Vector
    high: Vector


def confidence_path(
    observations: ArrayLike, *, level: float = CONFIDENCE, points: int = GRID, outwards: bool = True
) -> ConfidencePath:
    """Return the bounds after each observation, all of them valid together at `level`.

    observations: in the order in which they came, shape (n,), n >= 1, each in [0, 1], with a constant mean given the
    past. `points`: candidate means on the grid. `outwards`: step to the first mean that is left out, so that nothing
    between grid points is lost; False gives the last mean that is still in.
    """
    values = unit_vector(observations, name="observations")
    grid = np.linspace(0.0, 1.0, points)
    bar = math.log(1 / (1 - proper_level(level)))
    step = 1 if outwards else 0
    alive = np.ones(points, dtype=bool)
    low, high = np.empty(len(values)), np.empty(len(values))
    for at, wealth in enumerate(_hedged_log_wealth(values, grid, level=level)):
        alive &= wealth < bar
        inside = np.flatnonzero(alive)
        if len(inside) == 0:
            low[at:], high[at:] = 1.0, 0.0
            break
        low[at], high[at] = grid[max(inside[0] - step, 0)], grid[min(inside[-1] + step, points - 1)]
    return ConfidencePath(low=low, high=high)


def betting_sequence(
    observations: ArrayLike, *, null: float | None = None, level: float = CONFIDENCE, unit: str = "call"
) -> Estimate:
    """Return the mean of bounded observations with an interval that is valid at every look.

    observations: as for `confidence_path`. `null`: a mean in [0, 1] to test; its p value (one over the gamblers' best
    wealth so far) is valid at every look too. The value is the plain mean; where scores drifted so much that it
    left its own sequence, or no mean fits every look, there is no interval and the note says so.
    """
    values = unit_vector(observations, name="observations")
    value = float(values.mean())
    outer, inner = (confidence_path(values, level=of) for of in (level, EQUIVALENCE_LEVEL))
    steady = inner.low[-1] <= value <= inner.high[-1] and outer.low[-1] <= value <= outer.high[-1]
    return Estimate(
        value=value,
        low=float(outer.low[-1]) if steady else None,
        high=float(outer.high[-1]) if steady else None,
        level=level,
        n=len(values),
        unit=unit,
        method="mean; hedged betting confidence sequence, valid at every look",
        inner_low=float(inner.low[-1]) if steady else None,
        inner_high=float(inner.high[-1]) if steady else None,
        p_value=None if null is None else anytime_p(values, null=null, level=level),
        note="" if steady else "the scores drift with time: no constant mean fits all looks",
    )


def superiority_sequence(base: ArrayLike, variant: ArrayLike, *, level: float = CONFIDENCE) -> Estimate:
    """Return P(superiority) with bounds that are valid at every look, from scores in the order they came.

    base, variant: scores of shape (n,) and (m,), any unit. The k-th base score meets the k-th variant score: a win of
    the variant is 1, a tie 1/2, a loss 0; scores without a partner wait, and the note counts them. It uses n pairs
    where `probability_of_superiority` uses n * m, the price of looking at will. Raises DataError for an empty arm.
    """
    low_arm, high_arm = finite_vector(base, name="base"), finite_vector(variant, name="variant")
    pairs = min(len(low_arm), len(high_arm))
    first, second = low_arm[:pairs], high_arm[:pairs]
    wins = (second > first) + 0.5 * (second == first)
    estimate = betting_sequence(wins, null=0.5, level=level, unit="pair of repeats")
    waiting = len(low_arm) + len(high_arm) - 2 * pairs
    if not waiting:
        return estimate
    note = "; ".join(filter(None, [estimate.note, f"{waiting} scores wait for a partner"]))
    return replace(estimate, note=note)


def anytime_p(observations: ArrayLike, *, null: float, level: float = CONFIDENCE) -> float:
    """Return a two-sided p value of a mean of `null` in [0, 1] that is valid at every look, in (0, 1].

    Bets are sized for a test at 1 - `level`. One over the best wealth so far (Ville's inequality).
    """
    values = unit_vector(observations, name="observations")
    grid = unit_vector([null], name="null")
    best = max(float(wealth[0]) for wealth in _hedged_log_wealth(values, grid, level=level))
    return max(min(1.0, math.exp(-best)), math.ulp(0.0))


def _hedged_log_wealth(values: Vector, grid: Vector, *, level: float) -> Iterator[Vector]:
    """Yield, after each observation, the log of the better gambler's half of the capital, by candidate mean."""
    with np.errstate(divide="ignore"):
        boldest_up, boldest_down = _BOLDEST / grid, _BOLDEST / (1 - grid)
    up, down = np.zeros(len(grid)), np.zeros(len(grid))
    for value, bet in zip(values.tolist(), _bets(values, level=level), strict=True):
        up = up + np.log1p(np.minimum(bet, boldest_up) * (value - grid))
        down = down + np.log1p(-np.minimum(bet, boldest_down) * (value - grid))
        yield np.maximum(up, down) - math.log(2)


def _bets(values: Vector, *, level: float) -> list[float]:
    """Return the size of each bet, from what came before it: larger where observations vary little."""
    bets = []
    total, squares = 0.0, 0.25
    for before, value in enumerate(values.tolist()):
        bets.append(math.sqrt(2 * math.log(2 / (1 - level)) / (squares * math.log(2 + before))))
        total += value
        mean = (0.5 + total) / (before + 2)
        squares += (value - mean) ** 2
    return bets
