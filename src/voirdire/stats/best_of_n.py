"""Best of N: what is got by taking the highest scored of N answers to one task.

All sets of N answers are counted, none drawn: the chance that an answer is taken follows from how many score lower.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from voirdire.errors import DataError
from voirdire.stats.checked import Vector, cluster_index, count, finite_vector

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class BestOfN:
    """By task with at least N answers, shape (T,): the worth of the answer taken by score, by chance, and of the best."""

    n: int
    chosen: Vector
    chance: Vector
    oracle: Vector

    @property
    def tasks(self) -> int:
        """Return T."""
        return len(self.chosen)


def best_of(n: int, task: ArrayLike, score: ArrayLike, worth: ArrayLike) -> BestOfN:
    """Return what taking the highest scored of `n` answers gives on each task that has so many.

    task, score, worth: one entry per answer, shape (m,). `worth` is what is compared: 1 for an answer that passes, or any
    other number. Equal scores share the choice evenly. Raises DataError for n below 1.
    """
    count(n, name="n", at_least=1)
    scores = finite_vector(score, name="score", at_least=0)
    values = finite_vector(worth, name="worth", at_least=0)
    if scores.shape != values.shape:
        raise DataError(f"{len(scores)} scores for {len(values)} answers", hint="give both of every answer")
    index = cluster_index(task, len(scores))
    chosen, chance, oracle = [], [], []
    for members in _groups(index):
        if len(members) < n:
            continue
        chosen.append(float(chances_taken(scores[members], n=n) @ values[members]))
        chance.append(float(values[members].mean()))
        oracle.append(float(chances_taken(values[members], n=n) @ values[members]))
    ends = (values.min(), values.max()) if len(values) else (0.0, 0.0)
    columns = (np.clip(np.array(column, dtype=np.float64), *ends) for column in (chosen, chance, oracle))
    return BestOfN(n, *columns)


def chances_taken(scores: ArrayLike, *, n: int) -> Vector:
    """Return for each of m answers the chance that it is taken out of a random set of n of them, shape (m,).

    It is taken if it is in the set and none in it scores higher; equal ones share. Sums to 1 for 1 <= n <= m.
    """
    given = finite_vector(scores, name="scores", at_least=n)
    answers = len(given)
    _, inverse, sizes = np.unique(given, return_inverse=True, return_counts=True)
    upto = np.cumsum(sizes)
    below = upto - sizes
    sets = math.comb(answers, n)
    taken = [
        (math.comb(int(here), n) - math.comb(int(under), n)) / sets
        for here, under in zip(upto, below, strict=True)
    ]
    return np.asarray((np.array(taken) / sizes)[inverse], dtype=np.float64)


def _groups(index: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    if not len(index):
        return []
    order = np.argsort(index, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(index[order])) + 1)
