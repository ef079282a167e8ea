"""How far systems lie apart in their mean scores: effects of systems on tasks, and the spread between them.

A row is one answer of one system to one task. What was drawn is the task: every variance counts tasks. Answers that
share a task are exchanged with one another to see how far chance alone spreads systems.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from voirdire.errors import DataError
from voirdire.lines import CONFIDENCE, EQUIVALENCE_LEVEL
from voirdire.model import Estimate
from voirdire.stats.checked import Vector, cluster_index, count, finite_vector, proper_level
from voirdire.stats.quantiles import t_critical, t_two_sided

PERMUTATIONS = 1_999
"""Exchanges of answers within tasks: the smallest p value is then 0.0005."""

_AT_ONCE = 400_000

Matrix = NDArray[np.float64]
Operator = NDArray[np.float64]
"""Shape (S, n): what each row contributes to each system's effect."""


@dataclass(frozen=True)
class SystemEffects:
    """The effects of S systems, centred at zero, in the unit of the scores.

    `influence`: shape (S, T), what each task contributes to each effect's error. `rows`: answers by system. `residual`:
    what is left of each score, shape (n,). `apart`: systems that no chain of shared tasks joins to the others, left out.
    """

    systems: tuple[str, ...]
    effects: Vector
    influence: Matrix
    rows: NDArray[np.int64]
    operator: Operator
    at_task: NDArray[np.intp]
    score: Vector
    residual: Vector
    apart: tuple[str, ...] = ()

    @property
    def tasks(self) -> int:
        """Return T."""
        return int(self.influence.shape[1])

    @cached_property
    def covariance(self) -> Matrix:
        """Return the covariance of the effects, shape (S, S), clustered by task."""
        return np.asarray(self.influence @ self.influence.T * self.tasks / max(1, self.tasks - 1))

    def difference(self, one: int, other: int, *, level: float = CONFIDENCE) -> Estimate:
        """Return the effect at place `one` less that at `other`, with a t interval over tasks."""
        value = float(self.effects[one] - self.effects[other])
        off = self.influence[one] - self.influence[other]
        bearing = int(np.count_nonzero(off))
        plain = Estimate(
            value=value,
            level=proper_level(level),
            n=bearing,
            unit="tasks",
            method="difference of effects; cluster t interval over tasks",
        )
        if bearing < 2:
            return replace(plain, note="nothing varies between tasks: no interval")
        error = math.sqrt(float(off @ off) * bearing / (bearing - 1))
        reach, inner = (t_critical(of, bearing - 1) * error for of in (level, EQUIVALENCE_LEVEL))
        return replace(
            plain,
            low=value - reach,
            high=value + reach,
            inner_low=value - inner,
            inner_high=value + inner,
            p_value=t_two_sided(value / error, bearing - 1),
        )

    def exchanged(self, *, seed: int, permutations: int = PERMUTATIONS) -> Matrix:
        """Return the effects after answers were exchanged at random within tasks, shape (B, S)."""
        generator = np.random.default_rng(seed)
        order = np.argsort(self.at_task, kind="stable")
        score, operator, task = self.score[order], self.operator[:, order].T, self.at_task[order]
        left = count(permutations, name="permutations", at_least=1)
        drawn = []
        while left:
            at_once = min(left, max(1, _AT_ONCE // len(score)))
            mixed = np.argsort(task + generator.random((at_once, len(score))), axis=1)
            drawn.append(score[mixed] @ operator)
            left -= at_once
        return np.concatenate(drawn)


@dataclass(frozen=True)
class Spread:
    """How far systems lie apart. `widest`: maximum less minimum; `widest_by_chance`: its mean under exchange.

    `deviation`: the standard deviation between systems without the part that sampling adds, with the p value of the
    exchange. `explained`: score points a point of the covariate, 0 where there is none or it does not rise with it.
    """

    widest: float
    widest_by_chance: float
    deviation: Estimate
    explained: float
    systems: int
    tasks: int
    rows: int


def mean_effects(system: Sequence[str], task: ArrayLike, score: ArrayLike) -> SystemEffects:
    """Return each system's mean score less the mean of these, whatever tasks it has answers for.

    One row per answer, shape (n,). Raises DataError for fewer than two systems.
    """
    named, at_system, at_task, scores = _checked(system, task, score)
    sizes = np.bincount(at_system, minlength=len(named))
    operator = np.zeros((len(named), len(scores)))
    operator[at_system, np.arange(len(scores))] = 1 / sizes[at_system]
    residual = scores - (operator @ scores)[at_system]
    return _effects(named, at_system, at_task, scores, operator, residual)


def within_task_effects(system: Sequence[str], task: ArrayLike, score: ArrayLike) -> SystemEffects:
    """Return the effects of systems beside those of tasks: least squares with one level for every task.

    Arguments as for `mean_effects`. Tasks with answers of one system only say nothing about systems and are left out.
    Where no chain of shared tasks joins all systems, the largest group that is joined is kept and the others are named
    in `apart`. Raises DataError where no task has answers of two systems.
    """
    named, at_system, at_task, scores = _checked(system, task, score)
    kept = _shared(at_system, at_task)
    if not kept.any():
        raise DataError(
            "no task has answers of two systems",
            hint="systems can be compared within tasks only where they share some",
        )
    joined = _largest_group(at_system[kept], at_task[kept], len(named))
    kept &= np.isin(at_system, joined)
    kept[kept] = _shared(at_system[kept], at_task[kept])
    present = np.unique(at_system[kept])
    apart = tuple(name for place, name in enumerate(named) if place not in set(present.tolist()))
    return replace(
        _fixed_effects(
            tuple(named[place] for place in present),
            np.searchsorted(present, at_system[kept]),
            np.unique(at_task[kept], return_inverse=True)[1].astype(np.intp),
            scores[kept],
        ),
        apart=apart,
    )


def spread_of(
    found: SystemEffects,
    *,
    covariate: ArrayLike | None = None,
    seed: int = 0,
    permutations: int = PERMUTATIONS,
    level: float = CONFIDENCE,
) -> Spread:
    """Return how far the systems lie apart beyond what goes up with a covariate.

    covariate: one number per system in the order of `found.systems`, such as its solve rate; None: the whole spread. A
    slope on it is taken off only where it is positive: what falls with quality cannot be quality. The standard deviation is
    that of the effects less what sampling adds to it (which may leave nothing: 0 is an answer); its interval inverts the
    generalised Q statistic (Viechtbauer 2007, doi:10.1002/sim.2514). The p value is the share of exchanges within
    tasks that spread the systems at least as far. Raises DataError for a covariate of another length.
    """
    proper_level(level)
    given = None if covariate is None else _covariate(covariate, len(found.systems))
    left, slope = _beyond(found.effects[None], given)
    basis = _basis(len(found.systems), given if slope[0] > 0 else None)
    drawn = found.exchanged(seed=seed, permutations=permutations)
    drawn_left = _beyond(drawn, given)[0]
    observed = float((left**2).sum())
    extreme = int(((drawn_left**2).sum(axis=1) >= observed * (1 - 1e-12)).sum())
    varies = observed > 1e-24
    p = (extreme + 1) / (permutations + 1) if varies else 1.0
    deviation = _deviation(found, basis, level=level)
    return Spread(
        widest=float(np.ptp(left)),
        widest_by_chance=float(np.ptp(drawn_left, axis=1).mean()),
        deviation=replace(deviation, p_value=None if deviation.value is None else p),
        explained=float(slope[0]),
        systems=len(found.systems),
        tasks=found.tasks,
        rows=len(found.score),
    )


def slope_beside(
    system: Sequence[str],
    task: ArrayLike,
    regressor: ArrayLike,
    score: ArrayLike,
    *,
    level: float = CONFIDENCE,
) -> Estimate:
    """Return by how much the score rises with a regressor, beside the levels of tasks and systems.

    One row per answer, shape (n,). With 1 for passing and 0 for failing, it is the gap between them. The t interval counts
    tasks. Value None where the regressor does not vary beside tasks and systems. Raises as `within_task_effects`.
    """
    of_score = within_task_effects(system, task, score)
    of_regressor = within_task_effects(system, task, regressor)
    plain = Estimate(
        value=None,
        level=proper_level(level),
        n=of_score.tasks,
        unit="tasks",
        method="least squares beside tasks and systems; cluster t interval over tasks",
    )
    given = of_regressor.residual
    square = float(given @ given)
    if square <= 1e-12 * len(given):
        return replace(plain, note="it does not vary beside tasks and systems")
    value = float(given @ of_score.residual) / square
    off = np.bincount(of_score.at_task, given * (of_score.residual - value * given))
    tasks = of_score.tasks
    error = math.sqrt(float(off @ off) * tasks / max(1, tasks - 1)) / square
    if tasks < 2 or error == 0:
        return replace(plain, value=value, note="nothing varies between tasks: no interval")
    reach, inner = (t_critical(of, tasks - 1) * error for of in (level, EQUIVALENCE_LEVEL))
    return replace(
        plain,
        value=value,
        low=value - reach,
        high=value + reach,
        inner_low=value - inner,
        inner_high=value + inner,
    )


# --- inside -------------------------------------------------------------------------------------------


def _checked(
    system: Sequence[str], task: ArrayLike, score: ArrayLike
) -> tuple[tuple[str, ...], NDArray[np.intp], NDArray[np.intp], Vector]:
    scores = finite_vector(score, name="score", at_least=2)
    names = np.asarray([str(name) for name in system])
    at_system, at_task = cluster_index(names, len(scores)), cluster_index(task, len(scores))
    named = tuple(str(name) for name in np.unique(names))
    if len(named) < 2:
        raise DataError(
            f"there is one system, '{named[0]}'", hint="a spread between systems needs two at least"
        )
    return named, at_system, at_task, scores


def _shared(at_system: NDArray[np.intp], at_task: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return by row whether its task has answers of two systems or more."""
    pairs = np.unique(np.stack([at_task, at_system]), axis=1)
    systems = np.bincount(pairs[0], minlength=int(at_task.max(initial=-1)) + 1)
    return np.asarray(systems[at_task] >= 2)


def _largest_group(at_system: NDArray[np.intp], at_task: NDArray[np.intp], systems: int) -> NDArray[np.intp]:
    """Return the systems of the largest group joined by shared tasks."""
    meets = np.zeros((systems, int(at_task.max()) + 1))
    meets[at_system, at_task] = 1
    beside = (meets @ meets.T) > 0
    reached = beside | np.eye(systems, dtype=bool)
    for _ in range(systems.bit_length()):
        reached = (reached.astype(np.float64) @ reached) > 0
    answers = np.bincount(at_system, minlength=systems)
    first = max(range(systems), key=lambda one: (int(answers[reached[one]].sum()), -one))
    return np.flatnonzero(reached[first] & (answers > 0))


def _fixed_effects(
    named: tuple[str, ...], at_system: NDArray[np.intp], at_task: NDArray[np.intp], scores: Vector
) -> SystemEffects:
    indicator = np.zeros((len(scores), len(named)))
    indicator[np.arange(len(scores)), at_system] = 1
    sizes = np.bincount(at_task)
    levels = np.zeros((len(sizes), len(named)))
    np.add.at(levels, at_task, indicator)
    design = indicator - (levels / sizes[:, None])[at_task]
    operator = np.linalg.pinv(design.T @ design, rcond=1e-10, hermitian=True) @ design.T
    left = scores - (np.bincount(at_task, scores) / sizes)[at_task]
    residual = left - design @ (operator @ scores)
    return _effects(named, at_system, at_task, scores, operator, residual)


def _effects(
    named: tuple[str, ...],
    at_system: NDArray[np.intp],
    at_task: NDArray[np.intp],
    scores: Vector,
    operator: Operator,
    residual: Vector,
) -> SystemEffects:
    centred = operator - operator.mean(axis=0)
    influence = np.zeros((len(named), int(at_task.max()) + 1))
    np.add.at(influence.T, at_task, (centred * residual).T)
    return SystemEffects(
        systems=named,
        effects=np.asarray(centred @ scores),
        influence=influence,
        rows=np.bincount(at_system, minlength=len(named)),
        operator=centred,
        at_task=at_task,
        score=scores,
        residual=residual,
    )


def _covariate(values: ArrayLike, systems: int) -> Vector:
    given = finite_vector(values, name="covariate")
    if len(given) != systems:
        raise DataError(f"{len(given)} values of a covariate for {systems} systems", hint="give one a system")
    return np.asarray(given - given.mean())


def _beyond(effects: Matrix, covariate: Vector | None) -> tuple[Matrix, Vector]:
    """Return the effects, shape (B, S), without their rise with the covariate, and the slopes, shape (B,)."""
    if covariate is None or not float(covariate @ covariate) > 0:
        return effects, np.zeros(len(effects))
    slope = np.maximum(0.0, effects @ covariate / float(covariate @ covariate))
    return effects - slope[:, None] * covariate, slope


def _basis(systems: int, covariate: Vector | None) -> Matrix:
    """Return an orthonormal basis of what is left of S effects without their mean and the slope, shape (S, df)."""
    known = [np.ones(systems)] if covariate is None else [np.ones(systems), covariate]
    full = np.linalg.qr(np.column_stack([*known, np.eye(systems)]))[0]
    return np.asarray(full[:, len(known) : systems])


def _deviation(found: SystemEffects, basis: Matrix, *, level: float) -> Estimate:
    plain = Estimate(
        value=None,
        level=level,
        n=found.tasks,
        unit="tasks",
        method="standard deviation between systems, sampling taken off; Q-profile interval; exchange within tasks",
    )
    left = basis.shape[1]
    if left == 0:
        return replace(plain, note="too few systems: nothing is left beside what goes up with the solve rate")
    noise, turn = np.linalg.eigh(basis.T @ found.covariance @ basis)
    squares = (turn.T @ (basis.T @ found.effects)) ** 2
    noise = np.maximum(noise, 0.0)
    value = math.sqrt(max(0.0, float(squares.sum() - noise.sum()) / left))
    if left == 1:
        return replace(plain, value=value, note="one difference shows no spread of differences: no interval")
    (low, high), (inner_low, inner_high) = (
        _q_profile(squares, noise, level=of) for of in (level, EQUIVALENCE_LEVEL)
    )
    return replace(
        plain,
        value=value,
        low=min(low, value),
        high=max(high, value),
        inner_low=min(inner_low, value),
        inner_high=max(inner_high, value),
    )


def _q_profile(squares: Vector, noise: Vector, *, level: float) -> tuple[float, float]:
    """Return the standard deviations at which Q has a chance of (1 - level) / 2 to be as large, or as small."""
    from scipy.special import chdtri

    tail = (1 - level) / 2
    return tuple(  # type: ignore[return-value]
        _deviation_with(squares, noise, float(chdtri(len(squares), chance))) for chance in (tail, 1 - tail)
    )


def _deviation_with(squares: Vector, noise: Vector, wanted: float) -> float:
    """Return the deviation between systems at which Q is `wanted`; 0 where Q is smaller without any."""

    def q(variance: float) -> float:
        return float((squares / np.maximum(noise + variance, 1e-300)).sum())

    if q(0.0) <= wanted:
        return 0.0
    most = float(squares.sum()) / wanted
    below, above = 0.0, max(most, 1e-300)
    for _ in range(200):
        middle = (below + above) / 2
        if not below < middle < above:
            break
        below, above = (middle, above) if q(middle) > wanted else (below, middle)
    return math.sqrt(above)
