"""Resolution limit: the smallest true difference between two systems that a judge ranks rightly, most of the time.

A judge's difference between two systems is `gap` times their true difference, plus the difference of their styles,
plus what sampling tasks adds. No number of tasks removes the style.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from voirdire.errors import DataError
from voirdire.lines import CONFIDENCE
from voirdire.model import Estimate
from voirdire.stats.checked import Vector, count, finite_vector, proper_level
from voirdire.stats.quantiles import normal_quantile

RIGHT = 0.95
"""How often two systems are to be ranked rightly at the limit."""

STEPS = 100
"""True differences that are looked at between none and the largest there can be."""

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Arm:
    """One system's answers, those that passed apart from those that failed.

    `passed`, `failed`: their mean scores; `passed_error`, `failed_error`: standard errors of these; `passed_spread`,
    `failed_spread`: standard deviations of single scores; all in score points.
    """

    passed: float
    failed: float
    passed_error: float
    failed_error: float
    passed_spread: float
    failed_spread: float


def resolution_limit(
    style: float, noise: float, tasks: int, *, gap: float = 1.0, right: float = RIGHT
) -> float:
    """Return the true difference that is ranked rightly with chance `right`, as a share of success.

    style: standard deviation between systems of their offsets, score points, at least 0. noise: standard deviation of
    what one task adds to a system's score beyond that (for paired tasks: of a task's difference over sqrt(2)). gap:
    score points between passing and failing, above 0; with 1 the limit is in score points. Raises DataError for
    another range.
    """
    count(tasks, name="tasks", at_least=1)
    _proper(style, noise, gap, right)
    return normal_quantile(right) * math.sqrt(2 * style**2 + 2 * noise**2 / tasks) / gap


def resolution_floor(style: float, *, gap: float = 1.0, right: float = RIGHT) -> float:
    """Return the limit that is left with any number of tasks; arguments as for `resolution_limit`."""
    _proper(style, 0.0, gap, right)
    return normal_quantile(right) * math.sqrt(2) * style / gap


def limit_estimate(
    style: Estimate, gap: Estimate, *, noise: float, tasks: int, right: float = RIGHT, in_points: bool = False
) -> Estimate:
    """Return the limit with an interval from those of style and gap.

    `style` and `gap` carry intervals at a level of which both hold together at least at 1 - 2 (1 - level): the low end
    is the least style with the largest gap, the high end the other way. `in_points`: the limit in score points, which
    does not depend on the gap; else as a share of success. Value None, with a note, where the judge was not shown to score
    passing above failing: no difference is ranked rightly then.
    """
    plain = Estimate(
        value=None,
        level=1 - 2 * (1 - style.level),
        n=tasks,
        unit="tasks",
        method=f"normal formula at {right:.0%}: style and gap at both ends of their intervals",
    )
    if style.value is None:
        return replace(plain, note=style.note or "the spread of styles is not known")
    if not in_points and (gap.value is None or gap.low is None or gap.low <= 0 or gap.value <= 0):
        return replace(
            plain, note="the judge was not shown to score passing above failing: there is no limit"
        )

    def at(spread: float | None, points: float | None) -> float | None:
        if spread is None or points is None:
            return None
        return resolution_limit(spread, noise, tasks, gap=1.0 if in_points else points, right=right)

    return replace(
        plain, value=at(style.value, gap.value), low=at(style.low, gap.high), high=at(style.high, gap.low)
    )


def chance_of_right_order(arms: Sequence[Arm], *, differences: ArrayLike, tasks: int) -> Vector:
    """Return how often the better of two systems scores higher, for each true difference, shape (n,).

    Every ordered pair of arms is set to true rates that lie `difference` apart around the arms' middle: answers that
    passed and failed are mixed in these shares, `tasks` of them for each system, and their mean scores compared. The
    systems' own means for passing and failing are kept, drawn together so far that their spread is the true one without
    sampling. Raises DataError for fewer than two arms or a difference outside 0 to 1.
    """
    gaps = finite_vector(differences, name="differences")
    if gaps.min() < 0 or gaps.max() > 1:
        raise DataError("a true difference lies between 0 and 1", hint="give shares of success")
    if len(arms) < 2:
        raise DataError(f"{len(arms)} systems make no pair", hint="give two at least")
    count(tasks, name="tasks", at_least=1)
    passed = _drawn_together([arm.passed for arm in arms], [arm.passed_error for arm in arms])
    failed = _drawn_together([arm.failed for arm in arms], [arm.failed_error for arm in arms])
    spreads = np.array([[arm.passed_spread, arm.failed_spread] for arm in arms])
    one, other = (index.ravel() for index in np.indices((len(arms), len(arms))))
    one, other = one[one != other], other[one != other]
    high = _mixed(passed, failed, spreads, (1 + gaps) / 2)
    low = _mixed(passed, failed, spreads, (1 - gaps) / 2)
    shift = high[0][:, one] - low[0][:, other]
    error = np.sqrt((high[1][:, one] + low[1][:, other]) / tasks)
    return np.asarray(_chance_above(shift, error).mean(axis=1))


def limit_by_mixtures(arms: Sequence[Arm], *, tasks: int, right: float = RIGHT) -> float | None:
    """Return the smallest true difference from which on mixtures are ranked rightly with chance `right`.

    None: not even passing everything against failing everything is.
    """
    gaps = np.linspace(0.0, 1.0, STEPS + 1)
    chances = chance_of_right_order(arms, differences=gaps, tasks=tasks)
    short = np.flatnonzero(chances < right)
    if not len(short):
        return 0.0
    last = int(short[-1])
    if last == STEPS:
        return None
    rise = chances[last + 1] - chances[last]
    return float(gaps[last] + (right - chances[last]) / rise * (gaps[last + 1] - gaps[last]))


def resampled_limit(
    limit: Callable[[NDArray[np.intp]], float | None],
    systems: int,
    *,
    seed: int,
    resamples: int = 400,
    level: float = CONFIDENCE,
) -> tuple[float | None, float | None, int]:
    """Return the percentile interval of a limit over systems drawn with replacement, and how often there was none.

    `limit` takes the places of the systems drawn. An end is None where the limit there is more than any difference.
    """
    proper_level(level)
    generator = np.random.default_rng(seed)
    drawn: list[float] = []
    for _ in range(resamples):
        chosen = generator.integers(0, systems, size=systems)
        found = limit(chosen) if len(np.unique(chosen)) > 1 else None
        if found is not None or len(np.unique(chosen)) > 1:
            drawn.append(math.inf if found is None else found)
    none = sum(math.isinf(one) for one in drawn)
    if not drawn:
        return None, None, 0
    tails = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
    low, high = float(tails[0]), float(tails[1])
    return (low if math.isfinite(low) else None, high if math.isfinite(high) else None, none)


def limit_by_pairs(differences: ArrayLike, scored: ArrayLike, *, right: float = RIGHT) -> float | None:
    """Return the true difference ranked rightly with chance `right`, by a probit through one half at none.

    differences: true differences of pairs of systems, shape (n,), scored: the judge's, same order. Ties of the judge count
    half; pairs without a true difference say nothing. None: there is no rise, or no pair. Where every pair is right, the
    fit has no end and the smallest difference at which the pairs would still be so with even chance is taken.
    """
    true, judged = finite_vector(differences, name="differences"), finite_vector(scored, name="scored")
    if true.shape != judged.shape:
        raise DataError(
            f"{len(true)} true differences for {len(judged)} scored", hint="give both of every pair"
        )
    judged = judged * np.sign(true)
    keep = true != 0
    size, hit = np.abs(true[keep]), (np.sign(judged[keep]) + 1) / 2
    if not len(size):
        return None
    from scipy.special import log_ndtr

    def loss(log_slope: float) -> float:
        reach = math.exp(log_slope) * size
        return -float((hit * log_ndtr(reach) + (1 - hit) * log_ndtr(-reach)).sum())

    if hit.all():
        return _all_right(size, right)
    grid = np.linspace(math.log(1e-3 / size.max()), math.log(50 / size.min()), 60)
    reaches = np.exp(grid)[:, None] * size
    best = int(np.argmax(log_ndtr(reaches) @ hit + log_ndtr(-reaches) @ (1 - hit)))
    if best == 0:
        return None
    from scipy.optimize import minimize_scalar

    ends = (grid[best - 1], grid[min(best + 1, len(grid) - 1)])
    found = float(minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-6}).x)
    return normal_quantile(right) / math.exp(found)


def _all_right(size: Vector, right: float) -> float:
    """Return the limit at the least slope under which all pairs would be right with even chance."""
    from scipy.optimize import brentq
    from scipy.special import log_ndtr

    def excess(log_slope: float) -> float:
        return float(log_ndtr(math.exp(log_slope) * size).sum()) - math.log(0.5)

    low, high = math.log(1e-9 / size.max()), math.log(50 / size.min())
    if excess(low) >= 0:
        return normal_quantile(right) / math.exp(low)
    return normal_quantile(right) / math.exp(float(brentq(excess, low, high)))


def _proper(style: float, noise: float, gap: float, right: float) -> None:
    if not (math.isfinite(style) and style >= 0 and math.isfinite(noise) and noise >= 0):
        raise DataError("a standard deviation is a finite number of at least 0", hint="check what is passed")
    if not (math.isfinite(gap) and gap > 0):
        raise DataError(f"a gap of {gap:g} ranks nothing", hint="passing must score above failing")
    if not 0.5 < right < 1:
        raise DataError(f"a chance of {right:g} is no aim", hint="choose one such as 0.95")


def _drawn_together(means: Sequence[float], errors: Sequence[float]) -> Vector:
    """Return means with the spread that they have without sampling; their order and middle stay."""
    values, noise = np.array(means), np.array(errors) ** 2
    total = float(values.var(ddof=1))
    kept = math.sqrt(max(0.0, total - float(noise.mean())) / total) if total > 0 else 0.0
    return np.asarray(values.mean() + kept * (values - values.mean()))


def _mixed(passed: Vector, failed: Vector, spreads: Matrix, shares: Vector) -> tuple[Matrix, Matrix]:
    """Return mean and variance of one score of each system at each share of passing answers, shape (n, S)."""
    share = shares[:, None]
    mean = share * passed + (1 - share) * failed
    within = share * spreads[:, 0] ** 2 + (1 - share) * spreads[:, 1] ** 2
    return mean, within + share * (1 - share) * (passed - failed) ** 2


def _chance_above(shift: Matrix, error: Matrix) -> Matrix:
    from scipy.special import ndtr

    certain = np.where(shift > 0, 1.0, np.where(shift < 0, 0.0, 0.5))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(error > 0, ndtr(shift / np.where(error > 0, error, 1.0)), certain)
