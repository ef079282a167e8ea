"""P(superiority): how often a variant's score beats a base's score, ties counted half.

The same number is known as the Mann-Whitney U over the number of pairs, the area under the ROC curve and Vargha and
Delaney's A. 0.5 means no shift, 1 that every variant score lies above every base score.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from voirdire.errors import DataError
from voirdire.lines import CONFIDENCE, EQUIVALENCE_LEVEL
from voirdire.model import Estimate
from voirdire.stats.checked import Vector, count, finite_vector, proper_level
from voirdire.stats.quantiles import normal_critical, t_two_sided

EXACT_SCORES = 60
"""Up to so many scores in both arms together the permutation test is exact; its counts then fit 64 bits."""

SPLITS_DRAWN = 9_999
"""Random splits where the exact test would be too large: p is then known to about 0.002 at 0.05."""

LEVELS_DRAWN_TOGETHER = 64
"""Up to so many distinct scores a split is drawn as one count per score; with more, scores are shuffled."""

Counts = NDArray[np.int64]


class SuperiorityInterval(StrEnum):
    """Which interval is given. SCORE: Newcombe's method 5. LOGIT: of DeLong's standard error, on the logit scale."""

    SCORE = "score"
    LOGIT = "logit"


class SuperiorityTest(StrEnum):
    """Which test gives the p value. BRUNNER_MUNZEL allows the arms different spreads; it needs some overlap."""

    PERMUTATION = "permutation"
    BRUNNER_MUNZEL = "brunner-munzel"


@dataclass(frozen=True)
class Missing:
    """Answers that could not be read, by arm, and the ends of the scale that they might have reached."""

    base: int = 0
    variant: int = 0
    lowest: float | None = None
    highest: float | None = None


@dataclass(frozen=True)
class StudentizedTest:
    """A test statistic with its degrees of freedom and its two-sided p value."""

    statistic: float
    df: float
    p_value: float


def probability_of_superiority(
    base: ArrayLike,
    variant: ArrayLike,
    *,
    seed: int = 0,
    level: float = CONFIDENCE,
    interval: SuperiorityInterval = SuperiorityInterval.SCORE,
    test: SuperiorityTest = SuperiorityTest.PERMUTATION,
    missing: Missing | None = None,
    unit: str = "repeat",
) -> Estimate:
    """Return the chance that a random variant score beats a random base score; ties count half.

    base, variant: scores of shape (n,) and (m,), any unit, the same unit in both. Scores tie where they are equal as
    floats. The value lies in [0, 1]; 0.5 means no shift. `n` counts the scores of both arms. The SCORE interval never
    collapses, not even at 0 or 1; LOGIT is undefined there, and the score interval is then given and noted. The
    default p value is exact (all splits of the pooled scores) up to 60 scores, beyond that a seeded draw of splits.
    `missing` fills `missing`, `asked` and, where it names the scale, `bounds`. Raises DataError if an arm is empty.
    Vargha and Delaney 2000, doi:10.3102/10769986025002101; Newcombe 2006, doi:10.1002/sim.2324.
    """
    low_arm, high_arm = finite_vector(base, name="base"), finite_vector(variant, name="variant")
    proper_level(level)
    value = _superiority(low_arm, high_arm)
    (low, high), (inner_low, inner_high), interval_name, interval_note = _intervals(
        low_arm, high_arm, value=value, kind=interval, level=level
    )
    p_value, test_name, test_note = _p_value(low_arm, high_arm, kind=test, seed=seed)
    lost = missing or Missing()
    return Estimate(
        value=value,
        low=low,
        high=high,
        level=level,
        n=len(low_arm) + len(high_arm),
        unit=unit,
        method=f"P(superiority), ties half; {interval_name}; {test_name}",
        inner_low=inner_low,
        inner_high=inner_high,
        p_value=p_value,
        missing={"base": lost.base, "variant": lost.variant},
        asked={"base": len(low_arm) + lost.base, "variant": len(high_arm) + lost.variant},
        bounds=_bounds_if_known(low_arm, high_arm, lost),
        note="; ".join(note for note in (interval_note, test_note) if note),
    )


def superiority_of_distributions(base_probabilities: ArrayLike, variant_probabilities: ArrayLike) -> Estimate:
    """Return P(superiority) of two answer distributions over the same ordered levels: exact, without interval.

    Both: probabilities of shape (k,), lowest level first, each in [0, 1], with a sum of 1 within 0.001 (rounded
    figures are scaled to 1). Ties count half. Raises DataError where shapes differ or a sum is off.
    """
    base = _distribution(base_probabilities, name="base_probabilities")
    variant = _distribution(variant_probabilities, name="variant_probabilities")
    if base.shape != variant.shape:
        raise DataError(
            f"{len(base)} base levels against {len(variant)} variant levels",
            hint="give both distributions over the same levels, absent ones as 0",
        )
    strictly_below = np.cumsum(base) - base
    value = float(np.clip(variant @ (strictly_below + base / 2), 0.0, 1.0))
    return Estimate(
        value=value,
        n=1,
        unit="pair of distributions",
        method="P(superiority), ties half, of two answer distributions",
        exact=True,
        note="computed from the judge's own probabilities: repeats would add nothing",
    )


def missing_bounds(
    base: ArrayLike,
    variant: ArrayLike,
    *,
    base_missing: int,
    variant_missing: int,
    lowest: float,
    highest: float,
) -> tuple[float, float]:
    """Return the lowest and highest P(superiority) that the missing answers could have led to.

    base, variant: the scores that were read, of shape (n,) and (m,), possibly empty. Lowest: every missing base answer
    at the top of the scale and every missing variant answer at its bottom; highest: the reverse. Raises DataError
    where an arm was never asked, or a score lies outside `lowest` to `highest`.
    """
    arms = (finite_vector(base, name="base", at_least=0), finite_vector(variant, name="variant", at_least=0))
    lost = (count(base_missing, name="base_missing"), count(variant_missing, name="variant_missing"))
    for name, arm, absent in zip(("base", "variant"), arms, lost, strict=True):
        if len(arm) + absent == 0:
            raise DataError(f"'{name}': nothing was asked", hint="an arm without answers has no bounds")
        if len(arm) and (arm.min() < lowest or arm.max() > highest):
            raise DataError(
                f"'{name}' reaches from {arm.min():g} to {arm.max():g}, outside {lowest:g} to {highest:g}",
                hint="give the ends of the scale that the judge was told",
            )
    worst = _superiority(_filled(arms[0], lost[0], highest), _filled(arms[1], lost[1], lowest))
    best = _superiority(_filled(arms[0], lost[0], lowest), _filled(arms[1], lost[1], highest))
    return worst, best


def superiority_interval(value: float, n_base: int, n_variant: int, *, level: float) -> tuple[float, float]:
    """Return Newcombe's method 5 interval of a P(superiority) seen on `n_base` against `n_variant` scores.

    The ends are the values whose distance from `value` is z standard errors, the standard error taken at that end
    and with both arms' sizes averaged; ties are not used, which makes it wide rather than narrow for tied scores.
    Ends in [0, 1]; at least one pair must be known. Newcombe 2006, doi:10.1002/sim.2324.
    """
    z = normal_critical(proper_level(level))
    upper = _score_upper_end(value, n_base, n_variant, z=z)
    lower = 1 - _score_upper_end(1 - value, n_base, n_variant, z=z)
    return max(0.0, min(lower, value)), min(1.0, max(upper, value))


def exact_permutation_p(base: ArrayLike, variant: ArrayLike) -> float:
    """Return the share of all splits of the pooled scores that lie at least as far from 0.5, in (0, 1].

    base, variant: scores of shape (n,) and (m,) with n + m of at most 60; ties keep their midranks. No split is
    listed: splits are counted by their sum of ranks. Raises DataError for an empty arm or more scores.
    """
    low_arm, high_arm = finite_vector(base, name="base"), finite_vector(variant, name="variant")
    if len(low_arm) + len(high_arm) > EXACT_SCORES:
        raise DataError(
            f"{len(low_arm) + len(high_arm)} scores are too many to count every split",
            hint=f"use at most {EXACT_SCORES}, or drawn splits",
        )
    smaller, larger = sorted((low_arm, high_arm), key=len)
    ties, placed = _tie_counts(smaller, larger)
    extreme, total = _splits_at_least_as_far(ties, len(smaller), int(placed @ _doubled_midranks(ties)))
    return extreme / total


def drawn_permutation_p(
    base: ArrayLike, variant: ArrayLike, *, seed: int, splits: int = SPLITS_DRAWN
) -> float:
    """Return (b + 1) / (B + 1): b of B random splits lie at least as far from 0.5 as the one seen.

    base, variant: scores of shape (n,) and (m,), not empty. Seeded; in (0, 1].
    """
    low_arm, high_arm = finite_vector(base, name="base"), finite_vector(variant, name="variant")
    smaller, larger = sorted((low_arm, high_arm), key=len)
    ties, placed = _tie_counts(smaller, larger)
    ranks = _doubled_midranks(ties)
    centre = len(smaller) * (int(ties.sum()) + 1)
    sums = _drawn_rank_sums(ties, len(smaller), generator=np.random.default_rng(seed), splits=splits)
    extreme = np.abs(sums - centre) >= abs(int(placed @ ranks) - centre)
    return (int(extreme.sum()) + 1) / (splits + 1)


def brunner_munzel_test(base: ArrayLike, variant: ArrayLike) -> StudentizedTest | None:
    """Return the studentized rank test of P(superiority) = 0.5; None where no score has any spread in placement.

    base, variant: scores of shape (n,) and (m,), at least two each. The statistic is above 0 where the variant's
    scores are higher. Brunner and Munzel 2000, doi:10.1002/(SICI)1521-4036(200001)42:1<17::AID-BIMJ17>3.0.CO;2-U.
    """
    low_arm = finite_vector(base, name="base", at_least=2)
    high_arm = finite_vector(variant, name="variant", at_least=2)
    parts = _placement_variances(low_arm, high_arm)
    variance = sum(parts)
    if variance == 0:
        return None
    statistic = (_superiority(low_arm, high_arm) - 0.5) / math.sqrt(variance)
    df = variance**2 / (parts[0] ** 2 / (len(low_arm) - 1) + parts[1] ** 2 / (len(high_arm) - 1))
    return StudentizedTest(statistic=statistic, df=df, p_value=t_two_sided(statistic, df))


def delong_standard_error(base: ArrayLike, variant: ArrayLike) -> float:
    """Return the standard error of P(superiority) by placements; 0 where the arms do not overlap.

    base, variant: scores of shape (n,) and (m,), at least two each. DeLong et al. 1988, doi:10.2307/2531595.
    """
    low_arm = finite_vector(base, name="base", at_least=2)
    high_arm = finite_vector(variant, name="variant", at_least=2)
    return math.sqrt(sum(_placement_variances(low_arm, high_arm)))


# --- the value --------------------------------------------------------------------------------------


def _superiority(base: Vector, variant: Vector) -> float:
    ordered = np.sort(base)
    wins_and_ties = np.searchsorted(ordered, variant, "left") + np.searchsorted(ordered, variant, "right")
    return float(int(wins_and_ties.sum()) / (2 * len(base) * len(variant)))


def _placement_variances(base: Vector, variant: Vector) -> tuple[float, float]:
    of_base = _placements(base, among=variant).var(ddof=1) / len(base)
    of_variant = _placements(variant, among=base).var(ddof=1) / len(variant)
    return float(of_base), float(of_variant)


def _placements(scores: Vector, *, among: Vector) -> Vector:
    """Return for each score the share of `among` below it, ties half."""
    ordered = np.sort(among)
    twice = np.searchsorted(ordered, scores, "left") + np.searchsorted(ordered, scores, "right")
    return np.asarray(twice / (2 * len(among)), dtype=np.float64)


def _distribution(probabilities: ArrayLike, *, name: str) -> Vector:
    vector = finite_vector(probabilities, name=name)
    total = float(vector.sum())
    if vector.min() < 0 or abs(total - 1) > 1e-3:
        raise DataError(
            f"'{name}' is no distribution: lowest {vector.min():g}, sum {total:g}",
            hint="give one probability per level, with a sum of 1",
        )
    return vector / total


def _filled(arm: Vector, absent: int, value: float) -> Vector:
    return np.concatenate([arm, np.full(absent, value)])


def _bounds_if_known(base: Vector, variant: Vector, lost: Missing) -> tuple[float, float] | None:
    if lost.lowest is None or lost.highest is None or lost.base + lost.variant == 0:
        return None
    return missing_bounds(
        base,
        variant,
        base_missing=lost.base,
        variant_missing=lost.variant,
        lowest=lost.lowest,
        highest=lost.highest,
    )


# --- its interval -----------------------------------------------------------------------------------

Ends = tuple[float, float]


def _intervals(
    base: Vector, variant: Vector, *, value: float, kind: SuperiorityInterval, level: float
) -> tuple[Ends, Ends, str, str]:
    """Return the interval, the inner one, the method's name and a note."""
    if kind is SuperiorityInterval.LOGIT:
        enough = min(len(base), len(variant)) >= 2
        error = delong_standard_error(base, variant) if enough else 0.0
        if 0 < value < 1 and error > 0:
            ends = [_logit_interval(value, error, level=of) for of in (level, EQUIVALENCE_LEVEL)]
            return ends[0], ends[1], "logit interval of the DeLong standard error", ""
    ends = [
        superiority_interval(value, len(base), len(variant), level=of) for of in (level, EQUIVALENCE_LEVEL)
    ]
    asked_otherwise = kind is SuperiorityInterval.LOGIT
    note = "the logit interval is undefined here, the score interval stands in" if asked_otherwise else ""
    return ends[0], ends[1], "score interval (Newcombe, method 5)", note


def _logit_interval(value: float, error: float, *, level: float) -> Ends:
    centre = math.log(value / (1 - value))
    reach = normal_critical(level) * error / (value * (1 - value))
    return _logistic(centre - reach), _logistic(centre + reach)


def _logistic(x: float) -> float:
    return 0.5 * (1 + math.tanh(x / 2))


@lru_cache(maxsize=4096)
def _score_upper_end(value: float, n_base: int, n_variant: int, *, z: float) -> float:
    """Halve the stretch above `value` until the end that lies z standard errors away is found."""
    if value >= 1:
        return 1.0
    inside, outside = value, 1.0
    while True:
        middle = (inside + outside) / 2
        if not inside < middle < outside:
            return outside
        if (middle - value) ** 2 <= z * z * _score_variance(middle, n_base, n_variant):
            inside = middle
        else:
            outside = middle


def _score_variance(theta: float, n_base: int, n_variant: int) -> float:
    mean_size = (n_base + n_variant) / 2 - 1
    growth = 1 + mean_size * ((1 - theta) / (2 - theta) + theta / (1 + theta))
    return theta * (1 - theta) * growth / (n_base * n_variant)


# --- its test ---------------------------------------------------------------------------------------


def _p_value(base: Vector, variant: Vector, *, kind: SuperiorityTest, seed: int) -> tuple[float, str, str]:
    """Return the p value, the test's name and a note."""
    note = ""
    if kind is SuperiorityTest.BRUNNER_MUNZEL:
        enough = min(len(base), len(variant)) >= 2
        studentized = brunner_munzel_test(base, variant) if enough else None
        if studentized:
            return studentized.p_value, "Brunner-Munzel p", ""
        note = "Brunner-Munzel is undefined without overlap, the permutation test stands in"
    if len(base) + len(variant) <= EXACT_SCORES:
        return exact_permutation_p(base, variant), "exact permutation p", note
    drawn = drawn_permutation_p(base, variant, seed=seed)
    return drawn, f"permutation p of {SPLITS_DRAWN:,} drawn splits, seed {seed}", note


def _tie_counts(smaller: Vector, larger: Vector) -> tuple[Counts, Counts]:
    """Return, per distinct score in rising order, how many scores have it, and how many of the smaller arm."""
    levels, which = np.unique(np.concatenate([smaller, larger]), return_inverse=True)
    ties = np.bincount(which, minlength=len(levels)).astype(np.int64)
    placed = np.bincount(which[: len(smaller)], minlength=len(levels)).astype(np.int64)
    return ties, placed


def _doubled_midranks(ties: Counts) -> Counts:
    """Return twice the midrank of each distinct score: whole numbers whatever ties."""
    return 2 * np.cumsum(ties) - ties + 1


def _splits_at_least_as_far(ties: Counts, chosen: int, doubled_rank_sum: int) -> tuple[int, int]:
    """Return how many splits have a rank sum as far from its mean as the one seen, and how many there are."""
    sums, splits = _rank_sum_splits(tuple(ties.tolist()), chosen)
    centre = chosen * (int(ties.sum()) + 1)
    extreme = np.abs(sums - centre) >= abs(doubled_rank_sum - centre)
    return int(splits[extreme].sum()), int(splits.sum())


def _drawn_rank_sums(ties: Counts, chosen: int, *, generator: np.random.Generator, splits: int) -> Counts:
    """Return the doubled rank sum of `chosen` scores in random splits: by level where many tie, else by score."""
    ranks = _doubled_midranks(ties)
    if len(ties) <= LEVELS_DRAWN_TOGETHER:
        return np.asarray(generator.multivariate_hypergeometric(ties, chosen, size=splits) @ ranks)
    of_scores = np.repeat(ranks, ties)
    at_once = max(1, 2_000_000 // len(of_scores))
    sums = [
        generator.permuted(np.tile(of_scores, (min(at_once, splits - start), 1)), axis=1)[:, :chosen].sum(
            axis=1
        )
        for start in range(0, splits, at_once)
    ]
    return np.concatenate(sums)


@lru_cache(maxsize=512)
def _rank_sum_splits(ties: tuple[int, ...], chosen: int) -> tuple[Counts, Counts]:
    """Return each doubled rank sum that `chosen` scores can have, and in how many splits they have it.

    Scores are admitted one by one: splits[k, s] counts the choices of k scores so far whose reduced ranks add up to
    s. Ranks are reduced (shifted to start at 0, divided by their common factor), so that ties keep the table small.
    """
    tied = np.array(ties, dtype=np.int64)
    ranks = np.repeat(_doubled_midranks(tied), tied)
    lowest = int(ranks[0])
    factor = max(1, int(np.gcd.reduce(ranks - lowest)))
    reduced = (ranks - lowest) // factor
    splits = np.zeros((chosen + 1, int(reduced[len(reduced) - chosen :].sum()) + 1), dtype=np.int64)
    splits[0, 0] = 1
    for rank in reduced.tolist():
        width = splits.shape[1] - rank
        if width > 0:
            splits[1:, rank:] += splits[:-1, :width].copy()
    reached = np.flatnonzero(splits[chosen])
    return reached * factor + chosen * lowest, splits[chosen, reached]
