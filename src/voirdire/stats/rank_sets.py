"""Which ranks are possible, all systems at once, and the letters that say who was not told apart.

Overlap of single intervals is no test of order. Here every difference between two systems is tested with one critical
value, so that with the stated confidence no order is claimed that is not there.
Mogstad, Romano, Shaikh and Wilhelm 2024, doi:10.1093/restud/rdad006; letters: Piepho 2004, doi:10.1198/1061860043515.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase

import numpy as np
from numpy.typing import ArrayLike, NDArray

from voirdire.errors import DataError
from voirdire.lines import CONFIDENCE
from voirdire.stats.checked import finite_vector, proper_level

DRAWS = 100_000
"""Draws of the largest difference under no difference: the critical value is then known to about 0.01."""

_AT_ONCE = 20_000

Matrix = NDArray[np.float64]
Pairs = NDArray[np.bool_]
"""Shape (S, S): `above[i, j]` says that i was shown to be above j."""


@dataclass(frozen=True)
class Ranks:
    """What is known of an order of S systems, in the order in which they came.

    `critical`: standard errors that a difference needs. `above`: who was shown to be above whom. `sets`: the first
    and last rank each system may have, 1 is the highest. `letters`: two systems share one if they were not told apart.
    """

    critical: float
    above: Pairs
    sets: tuple[tuple[int, int], ...]
    letters: tuple[str, ...]

    @property
    def tiers(self) -> tuple[tuple[int, ...], ...]:
        """Return the places in tiers: each member of a tier was shown to be above each of every later one."""
        left, tiers = set(range(len(self.sets))), []
        order = sorted(left, key=lambda one: self.sets[one])
        tier: list[int] = []
        for place in order:
            tier.append(place)
            left.discard(place)
            if all(self.above[one, other] for one in tier for other in left):
                tiers.append(tuple(tier))
                tier = []
        return tuple(tiers)


def rank_sets(
    values: ArrayLike,
    covariance: ArrayLike,
    *,
    level: float = CONFIDENCE,
    tie: float = 0.0,
    critical: float | None = None,
    seed: int = 0,
    draws: int = DRAWS,
) -> Ranks:
    """Return the simultaneous rank sets of S >= 2 values with their covariance, shape (S,) and (S, S).

    A shape (S,) covariance holds variances of independent values. `tie`: differences below it, in the unit of the
    values, are ties whatever the test says. `critical`: the critical value of the same covariance, where it was found before;
    None: it is drawn. Two values whose difference has no sampling error are ordered as they stand.
    Raises DataError where shapes do not fit.
    """
    given = finite_vector(values, name="values", at_least=2)
    matrix = _covariance(covariance, len(given))
    proper_level(level)
    differences = given[:, None] - given[None]
    spread = np.diag(matrix)[:, None] + np.diag(matrix)[None] - 2 * matrix
    error = np.sqrt(np.maximum(spread, 0.0))
    error[error < 1e-12 * max(1.0, float(np.abs(given).max()))] = 0.0
    if critical is None:
        critical = _critical(matrix, error, level=level, seed=seed, draws=draws)
    above = (differences > critical * error) & (differences >= tie) & (differences > 0)
    return Ranks(critical=critical, above=above, sets=_sets(above), letters=letters(above | above.T, given))


def letters(apart: Pairs, values: ArrayLike) -> tuple[str, ...]:
    """Return the letters of each system: sharing one means that the two were not told apart.

    apart: shape (S, S), symmetric. The letter a goes to the group that holds the highest of `values`.
    """
    given = finite_vector(values, name="values")
    groups: list[set[int]] = [set(range(len(given)))]
    for one, other in zip(*np.nonzero(np.triu(np.asarray(apart, dtype=bool), 1)), strict=True):
        groups = _without(_split(groups, int(one), int(other)))
    ranked = sorted(groups, key=lambda group: sorted((-given[place], place) for place in group))
    return tuple(
        "".join(_letter(number) for number, group in enumerate(ranked) if place in group)
        for place in range(len(given))
    )


def _split(groups: Sequence[set[int]], one: int, other: int) -> list[set[int]]:
    split: list[set[int]] = []
    for group in groups:
        split += [group - {one}, group - {other}] if {one, other} <= group else [group]
    return split


def _without(groups: Sequence[set[int]]) -> list[set[int]]:
    """Return the groups that no other one holds."""
    kept: list[set[int]] = []
    for group in sorted(groups, key=len, reverse=True):
        if not any(group <= other for other in kept):
            kept.append(group)
    return kept


def _letter(number: int) -> str:
    round_, place = divmod(number, len(ascii_lowercase))
    return ascii_lowercase[place] + (str(round_) if round_ else "")


def _covariance(covariance: ArrayLike, systems: int) -> Matrix:
    matrix = np.asarray(covariance, dtype=np.float64)
    matrix = np.diag(matrix) if matrix.ndim == 1 else matrix
    if matrix.shape != (systems, systems) or not np.isfinite(matrix).all():
        raise DataError(
            f"a covariance of shape {matrix.shape} for {systems} values",
            hint="give one row and column a value",
        )
    return matrix


def _critical(matrix: Matrix, error: Matrix, *, level: float, seed: int, draws: int) -> float:
    """Return the quantile of the largest standardised difference where there is none."""
    first, second = np.triu_indices(len(matrix), 1)
    known = error[first, second] > 0
    first, second = first[known], second[known]
    if not len(first):
        return 0.0
    values, vectors = np.linalg.eigh(matrix)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    generator = np.random.default_rng(seed)
    largest = []
    for start in range(0, draws, _AT_ONCE):
        noise = generator.standard_normal((min(_AT_ONCE, draws - start), len(matrix))) @ root.T
        reach = np.zeros(len(noise))
        for one, other in zip(first.tolist(), second.tolist(), strict=True):
            np.maximum(reach, np.abs(noise[:, one] - noise[:, other]) / error[one, other], out=reach)
        largest.append(reach)
    return float(np.quantile(np.concatenate(largest), level))


def _sets(above: Pairs) -> tuple[tuple[int, int], ...]:
    systems = len(above)
    return tuple(
        (1 + int(above[:, place].sum()), systems - int(above[place].sum())) for place in range(systems)
    )
