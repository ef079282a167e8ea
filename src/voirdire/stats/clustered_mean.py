"""The mean of answers that come in clusters: many answers to one task are not many tasks."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from voirdire.lines import CONFIDENCE, EQUIVALENCE_LEVEL
from voirdire.model import Estimate
from voirdire.stats.checked import cluster_index, finite_vector, proper_level
from voirdire.stats.quantiles import t_critical


def clustered_mean(
    values: ArrayLike,
    clusters: ArrayLike,
    *,
    within: tuple[float, float] = (-math.inf, math.inf),
    level: float = CONFIDENCE,
    unit: str = "answers",
) -> Estimate:
    """Return the mean of all values with a t interval that counts clusters.

    values, clusters: one entry per answer, shape (n,), possibly empty (value None). `within`: the ends of the scale, beyond
    which no interval reaches. One cluster, or clusters that do not vary, give no interval, and the note says so.
    Cochran 1977, section 9.2.
    """
    given = finite_vector(values, name="values", at_least=0)
    proper_level(level)
    if not len(given):
        return Estimate(value=None, level=level, unit=unit, note="there are no such answers")
    index = cluster_index(clusters, len(given))
    value = float(given.mean())
    groups = int(index.max()) + 1
    plain = Estimate(
        value=value,
        level=level,
        n=len(given),
        unit=unit,
        method=f"mean; cluster t interval over {groups} tasks",
    )
    off = np.bincount(index, given - value)
    error = math.sqrt(float(off @ off) * groups / max(1, groups - 1)) / len(given)
    if groups < 2 or error < 1e-12 * max(1.0, abs(value)):
        return replace(plain, note="nothing varies between tasks: no interval")
    least, most = within
    reach, inner = (t_critical(of, groups - 1) * error for of in (level, EQUIVALENCE_LEVEL))
    return replace(
        plain,
        low=max(least, value - reach),
        high=min(most, value + reach),
        inner_low=max(least, value - inner),
        inner_high=min(most, value + inner),
    )
