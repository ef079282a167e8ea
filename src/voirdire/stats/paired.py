"""Paired comparisons: the mean of differences between two versions of the same units.

A unit is what was drawn (an item, a case, a problem), never a row. Where units come in clusters that share a source
(a repository, a template), the cluster is what was drawn.
"""

import math
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from voirdire.errors import DataError
from voirdire.lines import CONFIDENCE, EQUIVALENCE_LEVEL
from voirdire.model import Estimate
from voirdire.stats.checked import Vector, cluster_index, count, finite_vector, proper_level
from voirdire.stats.quantiles import normal_critical, t_critical

LISTED_UNITS = 32
"""Up to so many units that differ every pattern of signs is looked at, as two lists of at most 2 ** 16 sums."""

LATTICE_STEPS = 200
"""Differences that are whole multiples of 1/1, 1/2, ... 1/200 have their sign patterns counted, not listed."""

LATTICE_WORK = 20_000_000
"""Additions beyond which sign patterns are drawn, not counted."""

PATTERNS_DRAWN = 9_999
"""Random sign patterns where the exact test would be too large."""

_SAME = 1e-12
"""Differences closer than this, relative to the largest, are the same number computed in another order."""


class McNemarTest(StrEnum):
    """Which p value a paired comparison of yes and no gets. MID_P is the sharper and hardly ever too small."""

    EXACT = "exact"
    MID_P = "mid-p"


@dataclass(frozen=True)
class SignFlipTest:
    """A two-sided sign-flip p value and how it was found."""

    p_value: float
    method: str


def paired_mean(
    differences: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    span: float | None = None,
    level: float = CONFIDENCE,
    seed: int = 0,
    unit: str = "item",
) -> Estimate:
    """Return the mean difference with its t interval and a sign-flip p value.

    differences: variant minus base, one per unit, shape (n,), n >= 1, any unit. `clusters`: shape (n,), the cluster of
    each unit; the interval then counts clusters, and whole clusters flip. `span`: the largest |difference| there can
    be, in the same unit. A difference of 0 is a tie: it weighs in the mean, and no flip changes it. The 95 % interval
    uses Student's t on n - 1 (with clusters G - 1); with one unit there is none. Where nothing varies, the interval
    is not of zero width: it allows for the share of units that could differ without having been seen yet (at most
    1 - alpha**(1/n), the exact form of the rule of three), each by as much as `span` permits; without `span` there is
    none. Intervals end at +- `span`, beyond which no mean lies: cutting there loses no coverage. Raises DataError for
    empty input, or a difference beyond `span`. Miller 2024, arXiv:2411.00640, section 2.2.
    """
    values = finite_vector(differences, name="differences")
    proper_level(level)
    _check_span(values, span)
    sums, sizes = _cluster_sums(values, clusters)
    value = math.fsum(values) / len(values)
    residuals = sums - value * sizes
    spread = _spread(residuals, scale=_largest(values))
    units = len(sums)
    test = sign_flip_p(sums, seed=seed)
    plain = Estimate(
        value=value,
        level=level,
        n=len(values),
        unit=unit if clusters is None else f"{unit} in {units} clusters",
        method=f"mean difference; {test.method}",
        p_value=test.p_value,
    )
    if spread == 0:
        return _without_spread(plain, value, span=span, units=units)
    error = math.sqrt(spread * units / (units - 1)) / len(values)
    reach, inner = (t_critical(of, units - 1) * error for of in (level, EQUIVALENCE_LEVEL))
    kind = "t interval" if clusters is None else "cluster t interval"
    farthest = math.inf if span is None else span
    return replace(
        plain,
        low=max(-farthest, value - reach),
        high=min(farthest, value + reach),
        inner_low=max(-farthest, value - inner),
        inner_high=min(farthest, value + inner),
        method=f"mean difference; {kind} on {units - 1} degrees of freedom; {test.method}",
    )


def paired_bounds(differences: ArrayLike, *, missing: int, span: float) -> tuple[float, float]:
    """Return the mean difference with every missing pair at -`span`, and with every missing pair at +`span`.

    differences: the pairs that were read, shape (n,), possibly empty; `missing`: pairs that were not. Raises DataError
    where there are neither.
    """
    values = finite_vector(differences, name="differences", at_least=0)
    _check_span(values, span)
    absent = count(missing, name="missing")
    pairs = len(values) + absent
    if pairs == 0:
        raise DataError("'differences': nothing was asked", hint="a comparison without pairs has no bounds")
    total = math.fsum(values)
    return (total - absent * span) / pairs, (total + absent * span) / pairs


def paired_proportion(
    plus: int,
    minus: int,
    zero: int,
    *,
    level: float = CONFIDENCE,
    test: McNemarTest = McNemarTest.MID_P,
    unit: str = "item",
) -> Estimate:
    """Return the difference of two paired proportions: (plus - minus) over all pairs.

    plus, minus: pairs in which only the variant, or only the base, is a success; zero: pairs in which both agree. At
    least one pair. The value lies in [-1, 1]; the interval is Tango's score interval, which keeps a width where no
    pair differs. The p value is McNemar's, exact or mid-p; the other one stands in the note. Raises DataError for no
    pair or a count below 0. Tango 1998, PMID 9595618; Fagerland et al. 2013, doi:10.1186/1471-2288-13-91.
    """
    won, lost = count(plus, name="plus"), count(minus, name="minus")
    pairs = won + lost + count(zero, name="zero")
    if pairs == 0:
        raise DataError("no pair was compared", hint="an estimate needs pairs of which both could be read")
    low, high = paired_proportion_interval(won, lost, pairs, level=level)
    inner_low, inner_high = paired_proportion_interval(won, lost, pairs, level=EQUIVALENCE_LEVEL)
    both = {McNemarTest.EXACT: mcnemar_exact_p(won, lost), McNemarTest.MID_P: mcnemar_mid_p(won, lost)}
    other = next(kind for kind in McNemarTest if kind is not test)
    return Estimate(
        value=(won - lost) / pairs,
        low=low,
        high=high,
        level=level,
        n=pairs,
        unit=unit,
        method=f"difference of paired proportions; Tango's score interval; McNemar {test} p",
        inner_low=inner_low,
        inner_high=inner_high,
        p_value=both[test],
        note=f"{won} against {lost} of {pairs} pairs differ; McNemar {other} p {both[other]:.4g}",
    )


def paired_proportion_interval(plus: int, minus: int, pairs: int, *, level: float) -> tuple[float, float]:
    """Return Tango's score interval of (plus - minus) / pairs, ends in [-1, 1]."""
    z = normal_critical(proper_level(level))
    upper = _tango_upper_end(plus, minus, pairs, z=z)
    lower = -_tango_upper_end(minus, plus, pairs, z=z)
    return lower, upper


def mcnemar_exact_p(plus: int, minus: int) -> float:
    """Return the two-sided binomial p value of `plus` against `minus` discordant pairs; 1 where there are none."""
    from scipy.special import bdtr

    fewer, pairs = min(plus, minus), plus + minus
    return min(1.0, 2 * float(bdtr(fewer, pairs, 0.5))) if pairs else 1.0


def mcnemar_mid_p(plus: int, minus: int) -> float:
    """Return McNemar's mid-p: the exact p with half of the observed outcome's probability on each side; 1 for a tie.

    Fagerland et al. 2013, doi:10.1186/1471-2288-13-91.
    """
    from scipy.special import bdtr

    fewer, pairs = min(plus, minus), plus + minus
    if plus == minus:
        return 1.0
    below = float(bdtr(fewer - 1, pairs, 0.5)) if fewer else 0.0
    return float(bdtr(fewer, pairs, 0.5)) + below


def sign_flip_p(differences: ArrayLike, *, seed: int = 0) -> SignFlipTest:
    """Return the two-sided p value of a mean of 0 when the sign of each difference is a fair coin.

    differences: shape (n,), n >= 1, one per independent unit. Zeros change nothing. Exact for at most 32 units that
    differ, and for more where the differences lie on a lattice (multiples of 1/2, 1/200, ...); else
    (b + 1) / (B + 1) of seeded random patterns. In (0, 1]; 1 where nothing differs.
    """
    values = finite_vector(differences, name="differences")
    moving = values[np.abs(values) > _SAME * _largest(values)]
    if len(moving) == 0:
        return SignFlipTest(1.0, "exact sign-flip p")
    if len(moving) <= LISTED_UNITS:
        return SignFlipTest(_listed_p(moving), "exact sign-flip p")
    steps = _on_lattice(moving)
    if steps is not None:
        return SignFlipTest(_counted_p(steps), "exact sign-flip p")
    drawn = _drawn_p(moving, seed=seed)
    return SignFlipTest(drawn, f"sign-flip p of {PATTERNS_DRAWN:,} drawn patterns, seed {seed}")


# --- means ------------------------------------------------------------------------------------------


def _check_span(values: Vector, span: float | None) -> None:
    if span is None:
        return
    if not (math.isfinite(span) and span > 0):
        raise DataError(
            f"a span of {span:g} is none", hint="give the largest difference that the scale allows"
        )
    largest = _largest(values)
    if largest > span * (1 + _SAME):
        raise DataError(
            f"a difference of {largest:g} is larger than the span of {span:g}",
            hint="give the largest difference that the scale allows",
        )


def _largest(values: Vector) -> float:
    return float(np.abs(values).max(initial=0.0))


def _cluster_sums(values: Vector, clusters: ArrayLike | None) -> tuple[Vector, Vector]:
    """Return the sum of differences and the number of units, by cluster."""
    if clusters is None:
        return values, np.ones(len(values))
    index = cluster_index(clusters, len(values))
    sums = np.bincount(index, weights=values).astype(np.float64)
    return sums, np.bincount(index).astype(np.float64)


def _spread(residuals: Vector, *, scale: float) -> float:
    """Return the sum of squared residuals; 0 where they are rounding, or come from one unit alone."""
    if len(residuals) < 2 or _largest(residuals) <= _SAME * scale:
        return 0.0
    return float(residuals @ residuals)


def _without_spread(plain: Estimate, value: float, *, span: float | None, units: int) -> Estimate:
    if units == 1:
        return replace(plain, note="one unit shows no spread: no interval")
    if span is None:
        return replace(plain, note=f"all {units} units moved alike: no interval without a largest difference")
    low, high = zero_spread_interval(value, units, span=span, level=plain.level)
    inner_low, inner_high = zero_spread_interval(value, units, span=span, level=EQUIVALENCE_LEVEL)
    return replace(
        plain,
        low=low,
        high=high,
        inner_low=inner_low,
        inner_high=inner_high,
        method=plain.method.replace(";", "; exact binomial bound on units not seen;", 1),
        note=f"all {units} units moved alike: the interval allows for units that were not drawn",
    )


def zero_spread_interval(value: float, units: int, *, span: float, level: float) -> tuple[float, float]:
    """Return what the mean can be when `units` independent units all showed `value`, each within +- `span`.

    At `level`, a share of at most 1 - (1 - level)**(1 / units) of all units differs from `value` (about 3 / units at
    95 %), each by at most the way to -`span` or +`span`.
    """
    unseen = 1 - (1 - proper_level(level)) ** (1 / units)
    return value - unseen * (span + value), value + unseen * (span - value)


# --- sign flips -------------------------------------------------------------------------------------


def _listed_p(moving: Vector) -> float:
    """List the sums of each half of the units, and count which pairs of them reach as far as what was seen."""
    reached = abs(math.fsum(moving)) - 1e-9 * float(np.abs(moving).sum())
    if reached <= 0:
        return 1.0
    half = len(moving) // 2
    one, other = _signed_sums(moving[:half]), np.sort(_signed_sums(moving[half:]))
    above = len(one) * len(other) - int(np.searchsorted(other, reached - one, "left").sum())
    return 2 * above / (len(one) * len(other))


def _signed_sums(values: Vector) -> Vector:
    """Return the sum of `values` under every pattern of signs, shape (2 ** n,)."""
    sums = np.zeros(1)
    for value in values.tolist():
        sums = np.concatenate([sums + value, sums - value])
    return sums


def _on_lattice(moving: Vector) -> NDArray[np.int64] | None:
    """Return the differences as whole numbers of a common step; None where there is none that is cheap enough."""
    for parts in range(1, LATTICE_STEPS + 1):
        scaled = moving * parts
        steps = np.rint(scaled)
        if np.abs(scaled - steps).max() <= 1e-9 * parts:
            whole = steps.astype(np.int64)
            reduced = whole // max(1, int(np.gcd.reduce(whole)))
            affordable = len(reduced) * int(np.abs(reduced).sum()) <= LATTICE_WORK
            return reduced if affordable else None
    return None


def _counted_p(steps: NDArray[np.int64]) -> float:
    """Count patterns by the sum of those differences whose sign is positive: each is so with chance 1/2."""
    sizes = np.abs(steps)
    total = int(sizes.sum())
    chance = np.zeros(total + 1)
    chance[0] = 1.0
    for size in sizes.tolist():
        moved = chance[: total + 1 - size].copy()
        chance *= 0.5
        chance[size:] += 0.5 * moved
    sums = 2 * np.arange(total + 1) - total
    extreme = np.abs(sums) >= abs(int(steps.sum()))
    return max(min(1.0, float(chance[extreme].sum())), math.ulp(0.0))


def _drawn_p(moving: Vector, *, seed: int) -> float:
    generator = np.random.default_rng(seed)
    observed = abs(math.fsum(moving)) - 1e-9 * float(np.abs(moving).sum())
    extreme, left = 0, PATTERNS_DRAWN
    at_once = max(1, 4_000_000 // len(moving))
    while left:
        drawn = min(at_once, left)
        signs = generator.integers(0, 2, size=(drawn, len(moving)), dtype=np.int8) * 2 - 1
        extreme += int((np.abs(signs @ moving) >= observed).sum())
        left -= drawn
    return (extreme + 1) / (PATTERNS_DRAWN + 1)


# --- paired proportions -----------------------------------------------------------------------------


def _tango_upper_end(plus: int, minus: int, pairs: int, *, z: float) -> float:
    """Halve the stretch above the estimate until the difference that lies z standard errors away is found."""
    estimate = (plus - minus) / pairs
    if estimate >= 1:
        return 1.0
    inside, outside = estimate, 1.0
    while True:
        middle = (inside + outside) / 2
        if not inside < middle < outside:
            return outside
        distance = pairs * middle - (plus - minus)
        if distance**2 <= z * z * _tango_variance(middle, plus, minus, pairs):
            inside = middle
        else:
            outside = middle


def _tango_variance(difference: float, plus: int, minus: int, pairs: int) -> float:
    """Return the variance of plus - minus at a true `difference`, the share of losses at its likeliest."""
    slope = (2 * pairs - plus + minus) * difference - plus - minus
    constant = -minus * difference * (1 - difference)
    losses = (math.sqrt(max(slope**2 - 8 * pairs * constant, 0.0)) - slope) / (4 * pairs)
    return pairs * (2 * losses + difference * (1 - difference))
