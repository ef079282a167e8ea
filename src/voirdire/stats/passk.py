"""Pass@k: the chance that at least one of k samples is right, by execution, by a judge, and by a judge's choice.

Of one problem n samples were drawn and c of them are hits. The unbiased estimate of 1 - (1 - p)**k is
1 - C(n-c, k) / C(n, k), the share of all draws of k samples without replacement that hold a hit (Chen et al. 2021,
arXiv:2107.03374). What was drawn is the problem: samples of one problem are never resampled.

Three quantities with three names. *Judge-accept Pass@k* puts accepted samples in the place of right ones; *gated*
Pass@k those that are accepted and parse (count them with `tally` and use `pass_at_k`); *judge-selected Pass@1 of k* is
how often the sample that the judge likes best among k is right. The first reaches 1 through false acceptances alone:
see `saturation_ceiling`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from voirdire.errors import DataError
from voirdire.lines import CONFIDENCE, EQUIVALENCE_LEVEL
from voirdire.model import Estimate
from voirdire.stats.bootstrap import Resampling, bootstrap_means
from voirdire.stats.checked import Vector, cluster_index, proper_level, unit_vector
from voirdire.stats.paired import zero_spread_interval
from voirdire.stats.quantiles import normal_critical, t_critical, t_two_sided

Matrix = NDArray[np.float64]
Counts = NDArray[np.int64]

CORRECTION_BOUND = 0.05
"""A corrected Pass@k whose standard error is larger says nothing that its judge-accept value does not: withheld."""

_SAME = 1e-12
"""Differences no larger than this are rounding."""


class Problems(StrEnum):
    """What an interval is about. The second contains the first: the two are never added."""

    THESE = "these problems"
    LIKE_THESE = "problems like these"


@dataclass(frozen=True)
class Tally:
    """Hits by problem. `totals`, `hits`: shape (N,), in the order of `problems`. `missing`: samples without an answer.

    Problems none of whose samples has an answer are in `unanswered`, with their number of samples, and nowhere else.
    """

    problems: tuple[str, ...]
    totals: Counts
    hits: Counts
    missing: Counts
    unanswered: Mapping[str, int] = field(default_factory=dict)

    @property
    def fewest(self) -> int:
        """Return the smallest number of samples of a problem: the largest k there is."""
        return int(self.totals.min())


def tally(problems: Sequence[str], hits: ArrayLike) -> Tally:
    """Return the hits by problem, in the order in which the problems first occur.

    problems: R names, one per sample; hits: shape (R,), 1 or 0, nan where there is no answer: such a sample counts
    neither way and is counted apart. Raises DataError for no sample, another value, or no answer at all.
    """
    values = np.asarray(hits, dtype=np.float64)
    if values.shape != (len(problems),) or not len(problems):
        raise DataError(
            f"'hits' has shape {values.shape} for {len(problems)} samples", hint="give one value per sample"
        )
    answered = ~np.isnan(values)
    if not np.isin(values[answered], (0.0, 1.0)).all():
        raise DataError("'hits' holds something else than 1, 0 and nan", hint="say of each sample yes or no")
    number = {name: index for index, name in enumerate(dict.fromkeys(problems))}
    index = np.fromiter((number[name] for name in problems), dtype=np.intp, count=len(problems))
    counted = [
        np.bincount(index, weights=of.astype(np.float64), minlength=len(number)).astype(np.int64)
        for of in (answered, np.where(answered, values, 0.0), ~answered)
    ]
    kept = counted[0] > 0
    if not kept.any():
        raise DataError("no sample has an answer", hint="there is nothing to estimate from")
    names = np.array(list(number), dtype=object)
    totals, found, missing = (of[kept] for of in counted)
    unanswered = dict(zip(names[~kept].tolist(), counted[2][~kept].tolist(), strict=True))
    return Tally(tuple(names[kept]), totals, found, missing, unanswered)


# --- one problem ------------------------------------------------------------------------------------


def pass_at_k_of_counts(n: int, c: int, k: int) -> float:
    """Return 1 - C(n-c, k) / C(n, k) for one problem, by its product form. Errors as for `pass_table`."""
    return float(pass_table(n, (k,))[_hits(c, n), 0])


def pass_at_k_exactly(n: int, c: int, k: int) -> Fraction:
    """Return the same as a fraction: the check of the product form."""
    _check_k(k, n)
    return 1 - Fraction(math.comb(n - _hits(c, n), k), math.comb(n, k))


def pass_table(n: int, ks: Sequence[int]) -> Matrix:
    """Return Pass@k for every count of hits c = 0 to n and each k, shape (n + 1, K), each in [0, 1].

    Raises DataError for a k that is not between 1 and n: Pass@k of fewer than k samples is not 1, it is unknown.
    """
    return 1 - _all_miss(n, tuple(ks))


def within_problem_variance(n: int, c: int, k: int) -> float | None:
    """Return an unbiased estimate of the variance of one problem's Pass@k over new samples; None where 2k > n.

    (C(n-c, k) / C(n, k))**2 - C(n-c, 2k) / C(n, 2k), never negative: the square of the estimate less an unbiased
    estimate of the square. Beyond n / 2 no unbiased estimate exists.
    """
    _check_k(k, n)
    if 2 * k > n:
        return None
    c = _hits(c, n)
    once, twice = (Fraction(math.comb(n - c, m), math.comb(n, m)) for m in (k, 2 * k))
    return float(once * once - twice)


# --- several problems -------------------------------------------------------------------------------


def pass_by_problem(of: Tally, ks: Sequence[int]) -> Matrix:
    """Return each problem's Pass@k from its own number of samples, shape (N, K).

    Raises DataError for a k beyond the fewest samples that a problem has, naming the problem.
    """
    for k in ks:
        if k > of.fewest:
            poorest = of.problems[int(of.totals.argmin())]
            raise DataError(
                f"Pass@{k} needs {k} samples of every problem, and '{poorest}' has {of.fewest}",
                hint=f"ask for k up to {of.fewest}, or leave problems with fewer samples out",
            )
    values = np.empty((len(of.totals), len(ks)))
    for n in np.unique(of.totals):
        rows = of.totals == n
        values[rows] = pass_table(int(n), ks)[of.hits[rows]]
    return values


def pass_at_k(
    of: Tally,
    ks: Sequence[int],
    *,
    about: Problems = Problems.LIKE_THESE,
    name: str = "Pass",
    level: float = CONFIDENCE,
) -> tuple[Estimate, ...]:
    """Return Pass@k over all problems for each k, with an interval about these problems or about problems like them.

    Missing answers are counted, and `bounds` holds the value with all of them misses and
    all of them hits. `name`: what the hits are, as it is printed: 'Pass', 'judge-accept Pass', 'gated judge Pass'. LIKE_THESE uses
    Student's t over problems, whose spread already holds the chance of the samples. THESE uses the variance within
    problems alone, for 2k up to the fewest samples; beyond, the estimate has no such interval and a note says so.
    Where all problems agree the interval allows for what was not drawn. Raises DataError for k beyond the samples.
    """
    proper_level(level)
    values = pass_by_problem(of, ks)
    return tuple(
        replace(
            _mean_over_problems(values[:, at], unit="problem", level=level, lowest=0.0, highest=1.0)
            if about is Problems.LIKE_THESE
            else _of_these(of, values[:, at], k, level=level),
            method=f"{name}@{k}, {about}; {_how(about, of, k)}",
            missing={"samples": _missing(of), "problems": len(of.unanswered)},
            asked={
                "samples": int(of.totals.sum()) + _missing(of),
                "problems": len(of.problems) + len(of.unanswered),
            },
            bounds=_bounds(of, k) if _missing(of) else None,
        )
        for at, k in enumerate(ks)
    )


@dataclass(frozen=True)
class PassDifference:
    """Pass@k of one checkpoint less that of another on the same problems: the t interval, and the resampled one beside it."""

    k: int
    t: Estimate
    percentile: Estimate


def pass_at_k_differences(
    base: Tally,
    variant: Tally,
    ks: Sequence[int],
    *,
    resampling: Resampling,
    clusters: ArrayLike | None = None,
    level: float = CONFIDENCE,
) -> tuple[PassDifference, ...]:
    """Return variant minus base, in [-1, 1], for every k at once, paired by problem.

    Only problems in both are compared; n may differ between the two (32 against 128) and between problems.
    `resampling`: draws for as many rows as there are common problems, made once for a whole report; `clusters`: of
    each common problem in the order of `base`, shape (N,); draw the resampling for the same clusters. Where every
    difference is zero the interval is about +- 3 / N, never of no width. Raises DataError where no problem is common.
    """
    proper_level(level)
    common = [name for name in base.problems if name in set(variant.problems)]
    if not common:
        raise DataError("the two have no problem in common", hint="compare runs over the same problems")
    values = [pass_by_problem(_only(of, common), ks) for of in (base, variant)]
    differences = values[1] - values[0]
    resampled = bootstrap_means(differences, resampling, level=level, unit="problem")
    left_out = {
        "base only": len(base.problems) - len(common),
        "variant only": len(variant.problems) - len(common),
    }
    found = []
    for at, k in enumerate(ks):
        t = _mean_over_problems(
            differences[:, at], unit="problem", level=level, lowest=-1.0, highest=1.0, clusters=clusters
        )
        t = replace(t, method=f"difference of Pass@{k}, paired by problem; {t.method}", missing=left_out)
        found.append(PassDifference(k, t, _never_without_width(resampled[at], t)))
    return tuple(found)


# --- a judge's choice -------------------------------------------------------------------------------


def selected_pass_at_1(scores: ArrayLike, passed: ArrayLike, ks: Sequence[int]) -> Vector:
    """Return for one problem how often the sample a judge likes best among k is right, for each k, shape (K,).

    scores: shape (n,), the judge's score of each sample (1 and 0 for yes and no); passed: shape (n,), 1 or 0. Exact
    over all draws of k of the n samples; among equal scores each sample is chosen equally often. Raises DataError for
    k beyond n.
    """
    values = np.asarray(scores, dtype=np.float64)
    right = unit_vector(passed, name="passed")
    if values.shape != right.shape or np.isnan(values).any():
        raise DataError("'scores' and 'passed' do not match", hint="give one score per sample, none missing")
    n = len(values)
    levels, members = np.unique(values, return_inverse=True)
    sizes = np.bincount(members, minlength=len(levels))
    shares = np.bincount(members, weights=right, minlength=len(levels)) / sizes
    up_to = np.concatenate([[0], np.cumsum(sizes)])
    found = []
    for k in ks:
        _check_k(k, n)
        none_above = 1 - pass_table(n, (k,))[n - up_to, 0]
        found.append(float(np.diff(none_above) @ shares))
    return np.array(found)


def saturation_ceiling(false_positive_rates: ArrayLike, ks: Sequence[int]) -> Vector:
    """Return the judge-accept Pass@k that false acceptances alone would give: 1 - mean((1 - f)**k), shape (K,).

    false_positive_rates: shape (N,), by problem the share of wrong samples that the judge accepts, each in [0, 1].
    """
    rates = unit_vector(false_positive_rates, name="false_positive_rates")
    return np.array([1 - float(np.mean((1 - rates) ** k)) for k in ks])


def corrected_pass_at_k(
    accepted: Tally,
    k: int,
    *,
    sensitivity: float,
    specificity: float,
    largest_error: float = CORRECTION_BOUND,
    level: float = CONFIDENCE,
) -> Estimate:
    """Return Pass@k behind a judge of known sensitivity and specificity, unbiased where both are right.

    1 - J**-k sum_j C(k, j) C(n-a, j) / C(n, j) (-(1-Se))**(k-j) with J = Se + Sp - 1, from a accepted of n samples.
    Its noise grows like J**-k: where the standard error over problems exceeds `largest_error` no value is given and
    the note says so. The value may lie outside 0 to 1, as unbiased values do. Raises DataError for J <= 0, or rates
    outside 0 to 1: then acceptance says nothing.
    """
    rates = unit_vector([sensitivity, specificity], name="rates")
    if rates.sum() <= 1:
        raise DataError(
            f"sensitivity {sensitivity:g} and specificity {specificity:g} are no better than chance",
            hint="such a judge's acceptance carries no information to correct",
        )
    pass_by_problem(accepted, (k,))
    tables = {n: _corrected_table(n, k, sensitivity, specificity) for n in set(accepted.totals.tolist())}
    pairs = zip(accepted.totals.tolist(), accepted.hits.tolist(), strict=True)
    values = np.array([tables[n][a] for n, a in pairs])
    found = _mean_over_problems(values, unit="problem", level=level, lowest=None, highest=None)
    found = replace(
        found,
        method=f"Pass@{k} corrected for sensitivity {sensitivity:g}, specificity {specificity:g}; {found.method}",
    )
    error = float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.inf
    if error <= largest_error:
        return found
    note = f"withheld: its standard error of {error:.3g} is above the bound of {largest_error:g}"
    return replace(
        found, value=None, low=None, high=None, inner_low=None, inner_high=None, p_value=None, note=note
    )


# --- means over problems ----------------------------------------------------------------------------


def _mean_over_problems(
    values: Vector,
    *,
    unit: str,
    level: float,
    lowest: float | None,
    highest: float | None,
    clusters: ArrayLike | None = None,
) -> Estimate:
    """Return the mean with its t interval, kept within what is possible; p of a mean of 0 for differences."""
    index = np.arange(len(values)) if clusters is None else cluster_index(clusters, len(values))
    units = int(index.max()) + 1
    mean = math.fsum(values) / len(values)
    sums = np.bincount(index, weights=values - mean, minlength=units)
    plain = Estimate(
        value=mean,
        level=level,
        n=len(values),
        unit=unit if clusters is None else f"{unit} in {units} clusters",
        method="t interval over problems" if clusters is None else "cluster t interval over problems",
    )
    if units == 1:
        return replace(plain, note=f"one {unit} shows no spread: no interval")
    if float(np.abs(sums).max()) <= _SAME:
        return _all_alike(plain, mean, units, lowest=lowest, highest=highest)
    error = math.sqrt(float(sums @ sums) * units / (units - 1)) / len(values)
    low, high = _clipped(mean, t_critical(level, units - 1) * error, lowest, highest)
    inner_low, inner_high = _clipped(mean, t_critical(EQUIVALENCE_LEVEL, units - 1) * error, lowest, highest)
    p = t_two_sided(mean / error, units - 1) if lowest == -1.0 else None
    return replace(plain, low=low, high=high, inner_low=inner_low, inner_high=inner_high, p_value=p)


def _clipped(mean: float, reach: float, lowest: float | None, highest: float | None) -> tuple[float, float]:
    low, high = mean - reach, mean + reach
    return (low if lowest is None else max(low, lowest)), (high if highest is None else min(high, highest))


def _all_alike(
    plain: Estimate, mean: float, units: int, *, lowest: float | None, highest: float | None
) -> Estimate:
    """Give an interval where no problem differs from another: a share of about 3 / N could, without being seen."""
    note = f"all {units} units are alike: the interval allows for those that were not drawn"
    if lowest is None or highest is None:
        return replace(plain, note=f"all {units} units are alike: no interval")
    centre, span = (lowest + highest) / 2, (highest - lowest) / 2
    (low, high), (inner_low, inner_high) = (
        zero_spread_interval(mean - centre, units, span=span, level=of)
        for of in (plain.level, EQUIVALENCE_LEVEL)
    )
    return replace(
        plain,
        low=centre + low,
        high=centre + high,
        inner_low=centre + inner_low,
        inner_high=centre + inner_high,
        p_value=1.0 if lowest == -1.0 and mean == 0 else None,
        method=plain.method.replace("t interval", "exact binomial bound"),
        note=note,
    )


def _never_without_width(resampled: Estimate, t: Estimate) -> Estimate:
    """Give the resampled mean the bound of the other where no resample can move it."""
    if resampled.low is not None:
        return resampled
    return replace(
        resampled, low=t.low, high=t.high, inner_low=t.inner_low, inner_high=t.inner_high, note=t.note
    )


def _of_these(of: Tally, values: Vector, k: int, *, level: float) -> Estimate:
    """Return the mean with an interval over new samples of the same problems."""
    plain = Estimate(value=math.fsum(values) / len(values), level=level, n=len(values), unit="problem")
    if 2 * k > of.fewest:
        return replace(plain, note=f"no interval about these problems: it needs {2 * k} samples of each")
    known: Mapping[tuple[int, int], float] = {
        pair: within_problem_variance(*pair, k) or 0.0
        for pair in set(zip(of.totals.tolist(), of.hits.tolist(), strict=True))
    }
    pairs = zip(of.totals.tolist(), of.hits.tolist(), strict=True)
    error = math.sqrt(math.fsum(known[pair] for pair in pairs)) / len(values)
    low, high = _clipped(plain.value or 0.0, normal_critical(level) * error, 0.0, 1.0)
    inner_low, inner_high = _clipped(plain.value or 0.0, normal_critical(EQUIVALENCE_LEVEL) * error, 0.0, 1.0)
    note = "" if error else "no problem's samples disagree: new samples could still differ"
    if not error:
        return replace(plain, note=note)
    return replace(plain, low=low, high=high, inner_low=inner_low, inner_high=inner_high)


def _how(about: Problems, of: Tally, k: int) -> str:
    if about is Problems.LIKE_THESE:
        return "t interval over problems"
    return "no unbiased variance" if 2 * k > of.fewest else "variance within problems, normal interval"


def _missing(of: Tally) -> int:
    return int(of.missing.sum()) + sum(of.unanswered.values())


def _bounds(of: Tally, k: int) -> tuple[float, float]:
    """Return Pass@k with every missing sample a miss, and with every one a hit."""
    totals = np.concatenate([of.totals + of.missing, np.array([*of.unanswered.values()], dtype=np.int64)])
    names = (*of.problems, *of.unanswered)
    none = np.zeros_like(totals)
    worst = np.concatenate([of.hits, none[len(of.hits) :]])
    best = np.concatenate([of.hits + of.missing, totals[len(of.hits) :]])
    low, high = (
        float(pass_by_problem(Tally(names, totals, hits, none), (k,)).mean()) for hits in (worst, best)
    )
    return low, high


def _only(of: Tally, names: Sequence[str]) -> Tally:
    number = {name: index for index, name in enumerate(of.problems)}
    kept = np.array([number[name] for name in names], dtype=np.intp)
    return Tally(tuple(names), of.totals[kept], of.hits[kept], of.missing[kept])


# --- tables -----------------------------------------------------------------------------------------


@cache
def _all_miss(n: int, ks: tuple[int, ...]) -> Matrix:
    """Return C(n-c, k) / C(n, k) for c = 0 to n, shape (n + 1, K): the product of (n-c-i) / (n-i) over i < k."""
    table = np.zeros((n + 1, len(ks)))
    left = np.arange(n, -1, -1, dtype=np.float64)
    chance = np.ones(n + 1)
    wanted = {k: [at for at, one in enumerate(ks) if one == k] for k in ks}
    for k in ks:
        _check_k(k, n)
    for drawn in range(max(ks, default=0)):
        chance = chance * np.maximum(left - drawn, 0) / (n - drawn)
        for at in wanted.get(drawn + 1, ()):
            table[:, at] = chance
    table.setflags(write=False)
    return table


@cache
def _corrected_table(n: int, k: int, sensitivity: float, specificity: float) -> tuple[float, ...]:
    """Return the corrected Pass@k for a = 0 to n accepted, summed exactly: the terms alternate and grow."""
    missed, informed = (
        1 - Fraction(str(sensitivity)),
        Fraction(str(sensitivity)) + Fraction(str(specificity)) - 1,
    )
    weights = [math.comb(k, j) * (-missed) ** (k - j) / math.comb(n, j) / informed**k for j in range(k + 1)]
    return tuple(
        float(1 - sum((weights[j] * math.comb(n - a, j) for j in range(k + 1)), Fraction(0)))
        for a in range(n + 1)
    )


def _check_k(k: int, n: int) -> None:
    if k != int(k) or not 1 <= k <= n:
        raise DataError(
            f"Pass@{k} cannot be estimated from {n} samples",
            hint="k lies between 1 and the number of samples",
        )


def _hits(c: int, n: int) -> int:
    if c != int(c) or not 0 <= c <= n:
        raise DataError(f"{c} hits among {n} samples", hint="count hits and samples of the same problem")
    return int(c)
