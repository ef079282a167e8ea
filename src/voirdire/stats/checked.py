"""What a statistic accepts: vectors of finite numbers, levels between 0 and 1, counts. All else is a DataError."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from voirdire.errors import DataError

Vector = NDArray[np.float64]


def finite_vector(values: ArrayLike, *, name: str, at_least: int = 1) -> Vector:
    """Return `values` as a float vector of shape (n,), n >= `at_least`; a missing answer (nan) is not a number."""
    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"'{name}' holds something that is not a number", hint="pass numbers; count missing answers apart"
        ) from error
    if vector.ndim != 1:
        raise DataError(f"'{name}' has shape {vector.shape}, not one dimension", hint="pass one flat list")
    if len(vector) < at_least:
        needed = (
            "it is empty" if not len(vector) else f"it holds {len(vector)} of at least {at_least} numbers"
        )
        raise DataError(f"'{name}': {needed}", hint="an estimate needs answers that could be read")
    if not np.isfinite(vector).all():
        raise DataError(
            f"'{name}' holds {int((~np.isfinite(vector)).sum())} values that are not finite",
            hint="leave missing answers out and count them apart",
        )
    return vector


def unit_vector(values: ArrayLike, *, name: str, at_least: int = 1) -> Vector:
    """Return `values` as a float vector whose members all lie in [0, 1]."""
    vector = finite_vector(values, name=name, at_least=at_least)
    if len(vector) and (vector.min() < 0 or vector.max() > 1):
        raise DataError(
            f"'{name}' reaches from {vector.min():g} to {vector.max():g}, outside 0 to 1",
            hint="rescale the scores to 0 to 1 first",
        )
    return vector


def proper_level(level: float) -> float:
    """Return a confidence level, which lies strictly between 0 and 1."""
    if not 0 < level < 1:
        raise DataError(f"a confidence level of {level:g} is none", hint="choose one such as 0.95")
    return level


def count(value: int, *, name: str, at_least: int = 0) -> int:
    """Return a count: a whole number of at least `at_least`."""
    if value != int(value) or value < at_least:
        raise DataError(
            f"'{name}' is {value}, not a count of at least {at_least}", hint="pass a whole number"
        )
    return int(value)


def cluster_index(clusters: ArrayLike, units: int) -> NDArray[np.intp]:
    """Return for each of `units` rows the number of its cluster, 0 to G - 1; labels may be of any kind."""
    labels = np.asarray(clusters)
    if labels.shape != (units,):
        raise DataError(
            f"'clusters' has shape {labels.shape} for {units} units",
            hint="name the cluster of every unit once",
        )
    return np.unique(labels, return_inverse=True)[1].astype(np.intp)
