"""One case examined twice: did its P(superiority) change from the first run to the second?

Repeats of one case are no pairs, so the run that a score came from is what is shuffled, within each version: a judge
that scores both versions alike higher in the second run has changed its level, not its shift.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from voirdire.model import Estimate
from voirdire.stats.checked import Vector, finite_vector

RUNS_SHUFFLED = 9_999
"""Random splits of the scores into a first and a second run: the smallest p value is 0.0001."""

_SAME = 1e-12


def superiority_change(
    base: tuple[ArrayLike, ArrayLike], variant: tuple[ArrayLike, ArrayLike], *, seed: int = 0
) -> Estimate:
    """Return by how much P(superiority) rose from the first run to the second, with a permutation p value.

    base, variant: the scores of that version in the first and in the second run, each of shape (n,), n >= 1, the same
    unit throughout; numbers may differ. The value lies in [-1, 1]. The p value is (b + 1) / (B + 1) over seeded random
    splits of each version's scores into the two runs; None where no split could have given another value, so that there
    is nothing to test. There is no interval. Raises DataError where one of the four is empty.
    """
    bases = [finite_vector(scores, name="base") for scores in base]
    variants = [finite_vector(scores, name="variant") for scores in variant]
    wins = _wins(np.concatenate(bases), np.concatenate(variants))
    sizes = (len(bases[0]), len(variants[0]))
    observed = _change(wins, _first(len(wins), sizes[0]), _first(wins.shape[1], sizes[1]))
    generator = np.random.default_rng(seed)
    drawn = _change(
        wins,
        generator.permuted(np.repeat(_first(len(wins), sizes[0]), RUNS_SHUFFLED, axis=0), axis=1),
        generator.permuted(np.repeat(_first(wins.shape[1], sizes[1]), RUNS_SHUFFLED, axis=0), axis=1),
    )
    as_far = int((np.abs(drawn) >= abs(observed[0]) - _SAME).sum())
    fixed = bool((wins == wins[0, 0]).all())
    return Estimate(
        value=float(observed[0]),
        n=min(len(scores) for scores in (*bases, *variants)),
        unit="repeats of each version",
        method=f"change of P(superiority) between two runs; p of {RUNS_SHUFFLED:,} shuffles of runs, seed {seed}",
        p_value=None if fixed else (as_far + 1) / (RUNS_SHUFFLED + 1),
        note="repeats of one case: no interval",
    )


def _wins(base: Vector, variant: Vector) -> Vector:
    """Return for each pair of a base and a variant score 1, 0 or one half, shape (bases, variants)."""
    above = np.sign(variant[None, :] - base[:, None])
    return np.asarray((above + 1) / 2, dtype=np.float64)


def _first(scores: int, of_first: int) -> NDArray[np.float64]:
    """Return which scores belong to the first run, as a row of ones and zeros."""
    return (np.arange(scores) < of_first).astype(np.float64)[None, :]


def _change(wins: Vector, base: NDArray[np.float64], variant: NDArray[np.float64]) -> Vector:
    """Return P of the second run less that of the first, one per row of the two splits."""
    first = ((base @ wins) * variant).sum(axis=1) / (base.sum(axis=1) * variant.sum(axis=1))
    others, variants = 1 - base, 1 - variant
    second = ((others @ wins) * variants).sum(axis=1) / (others.sum(axis=1) * variants.sum(axis=1))
    return np.asarray(second - first, dtype=np.float64)
