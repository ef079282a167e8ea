"""Standardised effects, for comparison with published tables."""

import math
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from voirdire.lines import CONFIDENCE, EQUIVALENCE_LEVEL
from voirdire.model import Estimate
from voirdire.stats.checked import Vector, finite_vector, proper_level
from voirdire.stats.quantiles import t_two_sided

_NODES = 200
"""Points of the quadrature: ends of the interval are then right to about six digits."""

_FAR = 10.0
"""Standard errors beyond which a normal share is 0 or 1."""


def cohens_d(
    base: ArrayLike, variant: ArrayLike, *, level: float = CONFIDENCE, unit: str = "score"
) -> Estimate:
    """Return Cohen's d: mean of the variant minus mean of the base, over their pooled standard deviation.

    base, variant: scores of shape (n,) and (m,), at least two each, the same unit; d itself has none. Above 0: the
    variant scores higher. The interval inverts the noncentral t distribution, the p value is the pooled t test's: both
    take scores as independent and normal, so that d is for comparison with tables, not for a ruling. Where no score
    varies within its arm d is undefined: value None, and the note says so. Raises DataError for a smaller arm.
    Cohen 1988, section 2.2; Cumming and Finch 2001, doi:10.1177/0013164401614002.
    """
    low_arm = finite_vector(base, name="base", at_least=2)
    high_arm = finite_vector(variant, name="variant", at_least=2)
    proper_level(level)
    n, df = len(low_arm) + len(high_arm), len(low_arm) + len(high_arm) - 2
    pooled = math.sqrt((_squares(low_arm) + _squares(high_arm)) / df)
    if pooled == 0:
        note = "no score varies within its arm: d is undefined"
        return Estimate(value=None, n=n, unit=unit, method="Cohen's d (pooled)", note=note)
    value = float(high_arm.mean() - low_arm.mean()) / pooled
    scale = math.sqrt(1 / len(low_arm) + 1 / len(high_arm))
    spreads = _spreads(df)
    (low, high), (inner_low, inner_high) = (
        _noncentral_interval(value / scale * spreads, scale=scale, level=of)
        for of in (level, EQUIVALENCE_LEVEL)
    )
    return Estimate(
        value=value,
        low=low,
        high=high,
        level=level,
        n=n,
        unit=unit,
        method="Cohen's d (pooled); noncentral t interval; pooled t test p",
        inner_low=inner_low,
        inner_high=inner_high,
        p_value=t_two_sided(value / scale, df),
    )


def _squares(arm: Vector) -> float:
    if arm.min() == arm.max():
        return 0.0
    deviations = arm - arm.mean()
    return float(deviations @ deviations)


def _noncentral_interval(scaled_t: Vector, *, scale: float, level: float) -> tuple[float, float]:
    """Return the effects at which a t as large, or as small, has a chance of (1 - level) / 2."""
    from scipy.optimize import brentq

    below, above = float(scaled_t.min()) - _FAR, float(scaled_t.max()) + _FAR

    def end(share: float) -> float:
        shift = brentq(lambda shift: _share_below(scaled_t - shift) - share, below, above, xtol=1e-12)
        return float(shift) * scale

    tail = (1 - level) / 2
    return end(1 - tail), end(tail)


def _spreads(df: int) -> Vector:
    """Return the spreads, in true standard deviations, that samples have at each node of the quadrature.

    Nodes stand on the scale of shares, so that the noncentral t, an average over spreads, is defined for every t.
    """
    from scipy.special import gammaincinv

    return np.asarray(np.sqrt(2 * gammaincinv(df / 2, _quadrature()[0]) / df))


def _share_below(z: Vector) -> float:
    from scipy.special import ndtr

    return float(ndtr(z) @ _quadrature()[1])


@cache
def _quadrature() -> tuple[Vector, Vector]:
    """Return Gauss-Legendre nodes in (0, 1) and their weights."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return np.asarray((nodes + 1) / 2), np.asarray(weights / 2)
