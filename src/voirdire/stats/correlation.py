"""Correlation over few systems: Pearson's and Spearman's, with intervals wide enough for their number."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from voirdire.errors import DataError
from voirdire.lines import CONFIDENCE, EQUIVALENCE_LEVEL
from voirdire.model import Estimate
from voirdire.stats.checked import Vector, finite_vector, proper_level
from voirdire.stats.quantiles import normal_critical, t_two_sided

FEWEST_FOR_INTERVAL = 4
"""Fisher's interval has a standard error of 1 / sqrt(n - 3)."""


def pearson(
    first: ArrayLike, second: ArrayLike, *, level: float = CONFIDENCE, unit: str = "systems"
) -> Estimate:
    """Return Pearson's correlation of n >= 2 pairs in [-1, 1], with Fisher's interval and the t test.

    first, second: shape (n,), any unit. Value None where one of them does not vary. With fewer than four pairs there is
    no interval. Raises DataError for different lengths. Fisher 1921.
    """
    one, other = _pairs(first, second)
    return _estimate(
        one, other, level=level, unit=unit, method="Pearson's r; Fisher's interval", widening=1.0
    )


def spearman(
    first: ArrayLike, second: ArrayLike, *, level: float = CONFIDENCE, unit: str = "systems"
) -> Estimate:
    """Return Spearman's rank correlation, ties with their mean rank; arguments as for `pearson`.

    The interval is Fisher's with the wider standard error of Bonett and Wright 2000, doi:10.1007/BF02294183.
    """
    one, other = (_ranks(values) for values in _pairs(first, second))
    value = _correlation(one, other)
    widening = 1.0 if value is None else math.sqrt(1 + value**2 / 2)
    method = "Spearman's rho; Bonett and Wright's interval"
    return _estimate(one, other, level=level, unit=unit, method=method, widening=widening)


def _pairs(first: ArrayLike, second: ArrayLike) -> tuple[Vector, Vector]:
    one = finite_vector(first, name="first", at_least=2)
    other = finite_vector(second, name="second", at_least=2)
    if one.shape != other.shape:
        raise DataError(f"{len(one)} values against {len(other)}", hint="give both of every pair")
    return one, other


def _ranks(values: Vector) -> Vector:
    _, inverse, sizes = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(sizes) - (sizes - 1) / 2)[inverse])


def _correlation(one: Vector, other: Vector) -> float | None:
    left, right = one - one.mean(), other - other.mean()
    scale = math.sqrt(float(left @ left) * float(right @ right))
    tiny = 1e-12 * max(1.0, float(np.abs(one).max())) * max(1.0, float(np.abs(other).max())) * len(one)
    return None if scale <= tiny else max(-1.0, min(1.0, float(left @ right) / scale))


def _estimate(
    one: Vector, other: Vector, *, level: float, unit: str, method: str, widening: float
) -> Estimate:
    proper_level(level)
    n = len(one)
    value = _correlation(one, other)
    plain = Estimate(value=value, level=level, n=n, unit=unit, method=method)
    if value is None:
        return replace(plain, note="one of the two does not vary: no correlation")
    if n < FEWEST_FOR_INTERVAL:
        return replace(plain, note=f"{n} {unit}: too few for an interval")
    centre = math.atanh(max(-1 + 1e-15, min(1 - 1e-15, value)))
    ends = [
        math.tanh(centre + side * normal_critical(of) * widening / math.sqrt(n - 3))
        for of in (level, EQUIVALENCE_LEVEL)
        for side in (-1, 1)
    ]
    statistic = value * math.sqrt((n - 2) / max(1e-300, 1 - value**2))
    return replace(
        plain,
        low=min(ends[0], value),
        high=max(ends[1], value),
        inner_low=min(ends[2], value),
        inner_high=max(ends[3], value),
        p_value=t_two_sided(statistic, n - 2),
    )
