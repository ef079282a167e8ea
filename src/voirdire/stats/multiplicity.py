"""Many tests at once: adjusted p values, in the order in which the raw ones came.

Holm keeps the chance of any false claim; Benjamini-Hochberg the expected share of false ones in a screening list,
under independence; Benjamini-Yekutieli the same under any dependence.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from voirdire.stats.checked import Vector, unit_vector


def holm(p_values: ArrayLike) -> tuple[float, ...]:
    """Return Holm's step-down adjusted p values, each at least its raw one, in the same order.

    p_values: shape (m,), each in [0, 1]; none gives none. Ties get the same value. DataError for a value outside.
    Holm 1979, Scandinavian Journal of Statistics 6, 65-70.
    """
    raw = unit_vector(p_values, name="p_values", at_least=0)
    order = np.argsort(raw, kind="stable")
    left = np.arange(len(raw), 0, -1)
    return _in_first_order(np.maximum.accumulate(raw[order] * left), order)


def benjamini_hochberg(p_values: ArrayLike) -> tuple[float, ...]:
    """Return step-up adjusted p values for the false discovery rate, arguments as for `holm`.

    Benjamini and Hochberg 1995, doi:10.1111/j.2517-6161.1995.tb02031.x.
    """
    return _step_up(unit_vector(p_values, name="p_values", at_least=0), penalty=1.0)


def benjamini_yekutieli(p_values: ArrayLike) -> tuple[float, ...]:
    """Return step-up adjusted p values that hold under any dependence, arguments as for `holm`.

    Benjamini and Yekutieli 2001, doi:10.1214/aos/1013699998.
    """
    raw = unit_vector(p_values, name="p_values", at_least=0)
    return _step_up(raw, penalty=float((1 / np.arange(1, len(raw) + 1)).sum()))


def _step_up(raw: Vector, *, penalty: float) -> tuple[float, ...]:
    order = np.argsort(raw, kind="stable")
    scaled = raw[order] * (len(raw) * penalty) / np.arange(1, len(raw) + 1)
    return _in_first_order(np.minimum.accumulate(scaled[::-1])[::-1], order)


def _in_first_order(adjusted: Vector, order: Sequence[int] | np.ndarray) -> tuple[float, ...]:
    first = np.empty(len(adjusted))
    first[order] = np.minimum(adjusted, 1.0)
    return tuple(first.tolist())
