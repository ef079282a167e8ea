"""Agreement of two raters on categories: raw, Cohen's kappa and Gwet's AC1, with the margins beside them.

Kappa falls where one category is common even though raters agree almost always (the prevalence paradox): read it with
AC1 and the margins. All three take a square table: `table[i, j]` counts units that the first rater put in category i
and the second in category j.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from voirdire.errors import DataError
from voirdire.lines import CONFIDENCE, EQUIVALENCE_LEVEL
from voirdire.model import Estimate
from voirdire.stats.checked import Vector, proper_level
from voirdire.stats.proportion import wilson
from voirdire.stats.quantiles import normal_critical, t_critical

Table = NDArray[np.float64]


@dataclass(frozen=True)
class Margins:
    """The share of units that each rater put in each category; both in the order of the table."""

    first: tuple[float, ...]
    second: tuple[float, ...]


@dataclass(frozen=True)
class Agreement:
    """Everything to print about two raters: never one number alone."""

    raw: Estimate
    kappa: Estimate
    ac1: Estimate
    margins: Margins


def agreement(table: ArrayLike, *, level: float = CONFIDENCE, unit: str = "item") -> Agreement:
    """Return raw agreement, kappa, AC1 and margins of one table, shape (q, q)."""
    return Agreement(
        raw=raw_agreement(table, level=level, unit=unit),
        kappa=cohen_kappa(table, level=level, unit=unit),
        ac1=gwet_ac1(table, level=level, unit=unit),
        margins=margins(table),
    )


def agreement_table(
    first: Sequence[Hashable], second: Sequence[Hashable], *, categories: Sequence[Hashable]
) -> NDArray[np.int64]:
    """Return the (q, q) table of two raters' categories, one entry per unit in each list.

    `categories` names all that could have been given, each once, in the order of the table. Raises DataError for
    lists of different length or a category that was not named.
    """
    if len(first) != len(second):
        raise DataError(
            f"{len(first)} ratings against {len(second)}", hint="give both raters' category of every unit"
        )
    places = {category: place for place, category in enumerate(categories)}
    unknown = sorted({repr(given) for given in (*first, *second) if given not in places})
    if unknown or len(places) != len(categories):
        wrong = f"not among the categories: {', '.join(unknown)}" if unknown else "a category is named twice"
        raise DataError(wrong, hint="name each category once")
    table = np.zeros((len(places), len(places)), dtype=np.int64)
    for one, other in zip(first, second, strict=True):
        table[places[one], places[other]] += 1
    return table


def raw_agreement(table: ArrayLike, *, level: float = CONFIDENCE, unit: str = "item") -> Estimate:
    """Return the share of units in the same category, in [0, 1], with Wilson's interval; table of shape (q, q)."""
    counts = _square_table(table)
    return wilson(round(float(np.trace(counts))), round(float(counts.sum())), level=level, unit=unit)


def margins(table: ArrayLike) -> Margins:
    """Return each rater's share of each category; table of shape (q, q)."""
    shares = _shares(_square_table(table))
    return Margins(
        first=tuple(shares.sum(axis=1).tolist()),
        second=tuple(shares.sum(axis=0).tolist()),
    )


def cohen_kappa(table: ArrayLike, *, level: float = CONFIDENCE, unit: str = "item") -> Estimate:
    """Return Cohen's kappa: agreement beyond what the two margins give by chance, in [-1, 1].

    table: counts of shape (q, q), at least one unit. The interval is large-sample normal, cut at -1 and 1. Undefined
    where both raters used one and the same category only: value None, noted as no variation. Perfect agreement has no
    sampling spread: no interval is given, the one of raw agreement says what is known. Raises DataError for an empty
    or uneven table. Cohen 1960, doi:10.1177/001316446002000104; Fleiss, Cohen and Everitt 1969, doi:10.1037/h0028106.
    """
    counts = _square_table(table)
    shares, units = _shares(counts), int(counts.sum())
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    chance = float(rows @ columns)
    observed = float(np.trace(shares))
    method = "Cohen's kappa; large-sample interval"
    if math.isclose(chance, 1.0):
        return _undefined(units, unit=unit, level=level, method=method)
    value = (observed - chance) / (1 - chance)
    variance = _kappa_variance(shares, value=value, chance=chance) / units
    return _with_reach(
        value, variance, critical=normal_critical, units=units, level=level, unit=unit, method=method
    )


def gwet_ac1(table: ArrayLike, *, level: float = CONFIDENCE, unit: str = "item") -> Estimate:
    """Return Gwet's AC1: agreement beyond chance, where chance counts only units that are hard to place.

    table: counts of shape (q, q), q at least 2 with categories that nobody used included. In [-1, 1]; t interval on
    n - 1, cut there. Defined for one category alone (it is 1 then). Intervals and errors as for `cohen_kappa`.
    Gwet 2008, doi:10.1348/000711006X126600.
    """
    counts = _square_table(table)
    categories, units = len(counts), int(counts.sum())
    shares = _shares(counts)
    both = (shares.sum(axis=1) + shares.sum(axis=0)) / 2
    chance = float((both * (1 - both)).sum() / (categories - 1))
    value = (float(np.trace(shares)) - chance) / (1 - chance)
    variance = _ac1_variance(shares, both, value=value, chance=chance)
    method = "Gwet's AC1; t interval"
    if units == 1:
        return _without_spread(value, units=1, unit=unit, level=level, method=method)
    return _with_reach(
        value,
        variance / (units - 1),
        critical=lambda of: t_critical(of, units - 1),
        units=units,
        level=level,
        unit=unit,
        method=method,
    )


def _square_table(table: ArrayLike) -> Table:
    counts = np.asarray(table, dtype=np.float64)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1] or len(counts) < 2:
        raise DataError(
            f"a table of shape {counts.shape} is not square with two categories or more",
            hint="count every category for both raters, unused ones as 0",
        )
    if not np.isfinite(counts).all() or (counts < 0).any() or (counts != np.rint(counts)).any():
        raise DataError("the table holds something that is not a count", hint="pass whole numbers from 0")
    if counts.sum() == 0:
        raise DataError("the table is empty: no unit was rated by both", hint="agreement needs rated units")
    return counts


def _shares(counts: Table) -> Table:
    return np.asarray(counts / counts.sum())


def _kappa_variance(shares: Table, *, value: float, chance: float) -> float:
    """Return n times the large-sample variance (Fleiss, Cohen and Everitt 1969)."""
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    diagonal = np.diag(shares) @ (1 - (rows + columns) * (1 - value)) ** 2
    apart = (columns[:, None] + rows[None, :]) ** 2
    np.fill_diagonal(apart, 0.0)
    beside = (1 - value) ** 2 * float((shares * apart).sum())
    whole = float(diagonal) + beside - (value - chance * (1 - value)) ** 2
    return max(whole, 0.0) / (1 - chance) ** 2


def _ac1_variance(shares: Table, both: Vector, *, value: float, chance: float) -> float:
    """Return the variance over units of each unit's linear contribution to AC1, as a population."""
    agrees = np.eye(len(shares))
    by_chance = (1 - both) / (len(shares) - 1)
    unit_chance = (by_chance[:, None] + by_chance[None, :]) / 2
    contribution = (agrees - chance) / (1 - chance) - 2 * (1 - value) * (unit_chance - chance) / (1 - chance)
    centred = contribution - value
    return float((shares * centred**2).sum())


def _with_reach(
    value: float,
    variance: float,
    *,
    critical: Callable[[float], float],
    units: int,
    level: float,
    unit: str,
    method: str,
) -> Estimate:
    proper_level(level)
    error = math.sqrt(variance)
    if error < 1e-9:
        return _without_spread(value, units=units, unit=unit, level=level, method=method)
    outer, inner = critical(level) * error, critical(EQUIVALENCE_LEVEL) * error
    return Estimate(
        value=value,
        low=max(-1.0, value - outer),
        high=min(1.0, value + outer),
        level=level,
        n=units,
        unit=unit,
        method=method,
        inner_low=max(-1.0, value - inner),
        inner_high=min(1.0, value + inner),
    )


def _without_spread(value: float, *, units: int, unit: str, level: float, method: str) -> Estimate:
    seen = "one unit was" if units == 1 else f"all {units} units were"
    note = f"{seen} placed without any spread: no interval, raw agreement has one"
    return Estimate(value=value, level=level, n=units, unit=unit, method=method, note=note)


def _undefined(units: int, *, unit: str, level: float, method: str) -> Estimate:
    note = "no variation: both raters used one and the same category, kappa is undefined"
    return Estimate(value=None, level=level, n=units, unit=unit, method=method, note=note)
