"""Rates of success from a judge's scores on all rows and executed tests on few of them.

A row is one system on one task. One logistic regression over all labelled rows predicts success from the row's score,
from what the other systems scored on the same task (which tells how hard it is), and from who wrote it. The systems'
intercepts are shrunk toward each other, which matters where a system has few labels and vanishes where it has many.
The mean prediction over all its rows is the system's rate; what was drawn, and what the intervals count, is the task.

Logistic calibration: Platt 1999. Weights by known chances of being labelled: Horvitz and Thompson 1952,
doi:10.1080/01621459.1952.10483446. Standard errors: sandwich clustered by task, with leverage corrected residuals as
in MacKinnon and White 1985 (HC3), doi:10.1016/0304-4076(85)90158-7.
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
from voirdire.stats.checked import Vector, cluster_index, finite_vector, proper_level, unit_vector
from voirdire.stats.quantiles import normal_critical, t_critical, t_two_sided

SCORE_PENALTY = 0.05
"""Precision of the prior of the score's slope, in logits a standard deviation of scores: weak, ends separation."""

OTHERS_PENALTY = 0.3
"""The same for the mean score of the other systems on the task."""

SYSTEM_PENALTY = 0.1
"""The same for a system's distance from the common intercept: a standard deviation of about 3 logits."""

_FREE = 1e-6
_LEVERAGE = 0.8
"""Leverage beyond which a residual is enlarged no further."""

_STEPS = 100

LABELS_FOR_INTERVAL = 3
"""Labels of a system below which its rate has no interval."""

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class CalibratedRates:
    """The rates of S systems, found together.

    `systems`: their names in the order of all arrays. `rates`: shape (S,), in [0, 1]. `scores`: their mean scores.
    `labels`, `rows`: counts, shape (S,). `influence`: shape (S, T), what each task contributes to each rate; its rows
    sum to about zero. `score_influence`: the same for the mean scores. `drawn`: the part of `influence` that more tasks
    would lower and more labels would not, shape (S, T). `gap`: score points between failing and passing rows of one system
    on tasks alike, nan where labels do not tell; `gap_influence`: what each task contributes to it, shape (T,).
    `predicted`: the chance of success of each row.
    """

    systems: tuple[str, ...]
    rates: Vector
    scores: Vector
    labels: NDArray[np.int64]
    rows: NDArray[np.int64]
    influence: Matrix
    score_influence: Matrix
    drawn: Matrix
    gap: float
    gap_influence: Vector
    predicted: Vector

    @cached_property
    def covariance(self) -> Matrix:
        """Return the covariance of the rates, shape (S, S): rows of `influence` multiplied, clustered by task."""
        return _product(self.influence, self.influence)

    def rate(self, system: str, *, level: float = CONFIDENCE) -> Estimate:
        """Return the system's rate of success. Its interval uses Student's t on one less than its labels."""
        at = self._place(system)
        return self._estimate(
            float(self.rates[at]),
            float(self.covariance[at, at]),
            int(self.labels[at]),
            level,
            n=int(self.rows[at]),
            farthest=(0.0, 1.0),
        )

    def difference(self, first: str, second: str, *, level: float = CONFIDENCE) -> Estimate:
        """Return the rate of `first` minus that of `second`, with a test of no difference; tasks are shared."""
        one, other = self._place(first), self._place(second)
        contrast = self.influence[one] - self.influence[other]
        return self._estimate(
            float(self.rates[one] - self.rates[other]),
            float(_product(contrast[None], contrast[None])[0, 0]),
            int(min(self.labels[one], self.labels[other])),
            level,
            n=int(self.rows[one] + self.rows[other]),
            farthest=(-1.0, 1.0),
            tested=True,
        )

    def offset(self, system: str, *, level: float = CONFIDENCE) -> Estimate:
        """Return what the judge gives the system beyond what its rate explains, in score points; the mean over systems is 0.

        Positive: its style is paid for. A rate that is higher by one explains `gap` points. Value None where labels do not
        tell the gap.
        """
        at = self._place(system)
        if not math.isfinite(self.gap):
            note = "no system has passes and failures among its labels: what a pass is worth is not known"
            return Estimate(
                value=None, level=proper_level(level), n=int(self.rows[at]), unit="rows", note=note
            )
        above = self.scores - self.gap * self.rates
        moved = self.score_influence - self.gap * self.influence
        moved = moved - (self.rates - self.rates.mean())[:, None] * self.gap_influence
        contrast = moved[at] - moved.mean(axis=0)
        return self._estimate(
            float(above[at] - above.mean()),
            float(_product(contrast[None], contrast[None])[0, 0]),
            int(self.labels[at]),
            level,
            n=int(self.rows[at]),
            farthest=(-math.inf, math.inf),
            tested=True,
        )

    def labels_to_separate(self, first: str, second: str, *, level: float = CONFIDENCE) -> int | None:
        """Return how many labels each of the two needs for their difference to be told from none, as it stands now.

        None where no number does, since the tasks themselves are too few for a difference of this size.
        """
        one, other = self._place(first), self._place(second)
        contrast = self.influence[one] - self.influence[other]
        now = float(_product(contrast[None], contrast[None])[0, 0])
        still = self.drawn[one] - self.drawn[other]
        fixed = min(now, float(_product(still[None], still[None])[0, 0]))
        wanted = (float(self.rates[one] - self.rates[other]) / normal_critical(level)) ** 2
        have = int(min(self.labels[one], self.labels[other]))
        if now <= wanted:
            return have
        if wanted <= fixed:
            return None
        needed = math.ceil(have * (now - fixed) / (wanted - fixed))
        return needed if needed <= min(self.rows[one], self.rows[other]) else None

    def _place(self, system: str) -> int:
        if system not in self.systems:
            raise DataError(f"there is no system '{system}'", hint=f"choose one of {', '.join(self.systems)}")
        return self.systems.index(system)

    def _estimate(
        self,
        value: float,
        variance: float,
        labels: int,
        level: float,
        *,
        n: int,
        farthest: tuple[float, float],
        tested: bool = False,
    ) -> Estimate:
        method = "logistic regression on scores, systems shrunk toward each other; sandwich by task"
        plain = Estimate(value=value, level=proper_level(level), n=n, unit="rows", method=method)
        if labels < LABELS_FOR_INTERVAL:
            return replace(plain, note=f"{labels} labels: too few for an interval")
        error = math.sqrt(max(0.0, variance))
        reach, inner = (t_critical(of, labels - 1) * error for of in (level, EQUIVALENCE_LEVEL))
        least, most = farthest
        return replace(
            plain,
            low=max(least, value - reach),
            high=min(most, value + reach),
            inner_low=max(least, value - inner),
            inner_high=min(most, value + inner),
            p_value=t_two_sided(value / error, labels - 1) if tested and error else None,
            method=f"{method}, t on {labels - 1} degrees of freedom",
        )


def calibrated_rates(
    system: Sequence[str],
    task: ArrayLike,
    score: ArrayLike,
    passed: ArrayLike,
    *,
    chance: ArrayLike | None = None,
) -> CalibratedRates:
    """Return the rate of success of every system.

    One row per system and task, shape (n,): `system` and `task` name it, `score` is the judge's in any unit, `passed`
    1 or 0 (or a share in between) where tests were executed, nan elsewhere. `chance`: the known chance, in (0, 1], with
    which each row's tests were to be executed; None: each row of a system had the same chance. Raises DataError where
    labels were not drawn so that anything can be said: none at all, or all the same, fewer than two systems or
    tasks, a system twice on a task, or a chance that is not in (0, 1].
    """
    rows = _checked(system, task, score, passed, chance)
    design, penalty = _design(rows)
    coefficients = _fitted(design[rows.labelled], rows.passed[rows.labelled], rows.weight, penalty)
    predicted = _expit(design @ coefficients)
    return _rates(rows, design, penalty, predicted)


def chances_to_label(predicted: ArrayLike, *, labels: int) -> Vector:
    """Return the chance with which each row's tests should be executed so that about `labels` of them are.

    predicted: chance of success of each row that is not executed yet, shape (n,). Rows of which the score says least are
    executed most often: the chance goes with the standard deviation of the outcome (Neyman 1934), and none is below a
    tenth of the mean, so that no row is left out for good. Keep the chances: `calibrated_rates` needs them.
    """
    values = unit_vector(predicted, name="predicted")
    spread = np.sqrt(values * (1 - values))
    size = np.maximum(spread, 0.1 * spread.mean()) if spread.mean() > 0 else np.ones_like(values)
    chance: Vector = np.minimum(1.0, size * labels / size.sum())
    for _ in range(len(values)):
        open_ = chance < 1
        left = labels - np.count_nonzero(~open_)
        if left <= 0 or not open_.any():
            break
        scaled = np.where(open_, size * left / size[open_].sum(), 1.0)
        if np.allclose(np.minimum(scaled, 1.0), chance):
            break
        chance = np.minimum(scaled, 1.0)
    return chance


# --- inside -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Rows:
    systems: tuple[str, ...]
    at_system: NDArray[np.intp]
    at_task: NDArray[np.intp]
    score: Vector
    passed: Vector
    labelled: NDArray[np.bool_]
    weight: Vector
    """Of labelled rows; sums to their number."""

    @property
    def tasks(self) -> int:
        return int(self.at_task.max()) + 1


def _checked(
    system: Sequence[str], task: ArrayLike, score: ArrayLike, passed: ArrayLike, chance: ArrayLike | None
) -> _Rows:
    scores = finite_vector(score, name="score", at_least=2)
    n = len(scores)
    at_system, at_task = cluster_index(list(system), n), cluster_index(task, n)
    systems = tuple(str(name) for name in np.unique(np.asarray(list(system))))
    truth = np.asarray(passed, dtype=np.float64)
    if truth.shape != (n,):
        raise DataError(f"'passed' has shape {truth.shape} for {n} rows", hint="give nan where nothing ran")
    labelled = ~np.isnan(truth)
    known = unit_vector(truth[labelled], name="passed", at_least=0)
    if len(known) == 0:
        raise DataError("no row has executed tests", hint="execute the tests of a random sample first")
    if known.min() == known.max():
        raise DataError(
            f"all {len(known)} executed rows have the same outcome, {known[0]:g}",
            hint="execute more: scores cannot be calibrated without passes and failures",
        )
    if len(systems) < 2 or at_task.max() < 1:
        raise DataError(
            f"{len(systems)} systems on {at_task.max() + 1} tasks cannot be compared",
            hint="calibration needs two systems and two tasks at least",
        )
    pairs = at_system * (int(at_task.max()) + 1) + at_task
    if len(np.unique(pairs)) < n:
        twice = int(np.flatnonzero(np.bincount(pairs) > 1)[0])
        name = systems[twice // (int(at_task.max()) + 1)]
        raise DataError(
            f"system '{name}' has two rows on one task", hint="take the mean over its samples first"
        )
    return _Rows(systems, at_system, at_task, scores, truth, labelled, _weights(chance, labelled))


def _weights(chance: ArrayLike | None, labelled: NDArray[np.bool_]) -> Vector:
    drawn = int(labelled.sum())
    if chance is None:
        return np.ones(drawn)
    chances = finite_vector(chance, name="chance")
    if chances.shape != labelled.shape:
        raise DataError(
            f"'chance' has shape {chances.shape} for {len(labelled)} rows", hint="give one per row"
        )
    if chances.min() <= 0 or chances.max() > 1:
        raise DataError(
            f"'chance' reaches from {chances.min():g} to {chances.max():g}, not within (0, 1]",
            hint="a row that could never be executed says nothing: leave its stratum out",
        )
    weights = 1 / chances[labelled]
    return np.asarray(weights * drawn / weights.sum())


def _design(rows: _Rows) -> tuple[Matrix, Vector]:
    """Return the regressors, shape (n, 3 + S), and the precision of each coefficient's prior around zero."""
    systems = len(rows.systems)
    centred = rows.score - _means(rows.score, rows.at_system, systems)[rows.at_system]
    total = np.bincount(rows.at_task, centred, rows.tasks)[rows.at_task]
    beside = np.bincount(rows.at_task, minlength=rows.tasks)[rows.at_task] - 1
    others = (total - centred) / np.maximum(beside, 1)
    indicator = np.zeros((len(rows.score), systems))
    indicator[np.arange(len(rows.score)), rows.at_system] = 1
    columns = np.column_stack([np.ones(len(rows.score)), _standard(rows.score), _standard(others), indicator])
    return columns, np.array([_FREE, SCORE_PENALTY, OTHERS_PENALTY, *[SYSTEM_PENALTY] * systems])


def _standard(values: Vector) -> Vector:
    spread = float(values.std())
    return np.asarray((values - values.mean()) / spread) if spread > 0 else np.zeros_like(values)


def _means(values: Vector, groups: NDArray[np.intp], n: int) -> Vector:
    return np.asarray(np.bincount(groups, values, n) / np.bincount(groups, minlength=n))


def _expit(logits: Vector) -> Vector:
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -35, 35))))


def _fitted(design: Matrix, passed: Vector, weight: Vector, penalty: Vector) -> Vector:
    """Return the coefficients of the penalised logistic regression, by Newton's method with halved steps."""

    def loss(at: Vector) -> float:
        logits = design @ at
        likelihood = weight * (passed * logits - np.logaddexp(0, logits))
        return float(penalty @ (at * at) / 2 - likelihood.sum())

    found = np.zeros(design.shape[1])
    lost = loss(found)
    for _ in range(_STEPS):
        chance = _expit(design @ found)
        slope = design.T @ (weight * (passed - chance)) - penalty * found
        step = np.linalg.solve(_curvature(design, weight * chance * (1 - chance), penalty), slope)
        size = 1.0
        while loss(found + size * step) > lost + 1e-12 and size > 1e-8:
            size /= 2
        found = found + size * step
        lost, before = loss(found), lost
        if before - lost < 1e-10 * (1 + abs(lost)):
            return found
    return found


def _curvature(design: Matrix, weight: Vector, penalty: Vector) -> Matrix:
    return np.asarray((design * weight[:, None]).T @ design + np.diag(penalty))


def _rates(rows: _Rows, design: Matrix, penalty: Vector, predicted: Vector) -> CalibratedRates:
    n_systems, n_tasks = len(rows.systems), rows.tasks
    sizes = np.bincount(rows.at_system, minlength=n_systems)
    rates = _means(predicted, rows.at_system, n_systems)
    variance = predicted * (1 - predicted)
    on = rows.labelled
    curvature = _curvature(design[on], rows.weight * variance[on], penalty)
    leverage = np.einsum("ij,ij->i", design[on] @ np.linalg.inv(curvature), design[on])
    leverage = leverage * rows.weight * variance[on]
    residual = rows.weight * (rows.passed[on] - predicted[on]) / (1 - np.minimum(leverage, _LEVERAGE))
    moved = np.stack([_means(variance * column, rows.at_system, n_systems) for column in design.T], axis=1)
    pull = np.linalg.solve(curvature, moved.T).T @ design[on].T * residual
    fitted = np.zeros((n_systems, n_tasks))
    np.add.at(fitted.T, rows.at_task[on], pull.T)
    drawn = _spread_over(predicted - rates[rows.at_system], rows, sizes)
    scores = _means(rows.score, rows.at_system, n_systems)
    gap, gap_influence = _gap(rows, design)
    return CalibratedRates(
        systems=rows.systems,
        rates=rates,
        scores=scores,
        labels=np.bincount(rows.at_system[on], minlength=n_systems),
        rows=sizes,
        influence=fitted + drawn,
        score_influence=_spread_over(rows.score - scores[rows.at_system], rows, sizes),
        drawn=drawn,
        gap=gap,
        gap_influence=gap_influence,
        predicted=predicted,
    )


def _gap(rows: _Rows, design: Matrix) -> tuple[float, Vector]:
    """Return the slope of the score on passing among labelled rows, beside systems and what others score on the task."""
    on = rows.labelled
    root = np.sqrt(rows.weight)
    beside = np.delete(design[on], 1, axis=1) * root[:, None]
    off = [
        values - beside @ np.linalg.lstsq(beside, values, rcond=1e-10)[0]
        for values in (rows.passed[on] * root, rows.score[on] * root)
    ]
    square = float(off[0] @ off[0])
    if square <= 1e-9 * len(root):
        return math.nan, np.zeros(rows.tasks)
    gap = float(off[0] @ off[1]) / square
    pull = off[0] * (off[1] - gap * off[0]) / square
    return gap, np.asarray(np.bincount(rows.at_task[on], pull, rows.tasks), dtype=np.float64)


def _spread_over(deviation: Vector, rows: _Rows, sizes: NDArray[np.int64]) -> Matrix:
    """Return what each task contributes to each system's mean, shape (S, T)."""
    matrix = np.zeros((len(rows.systems), rows.tasks))
    np.add.at(matrix, (rows.at_system, rows.at_task), deviation / sizes[rows.at_system])
    return matrix


def _product(one: Matrix, other: Matrix) -> Matrix:
    tasks = one.shape[1]
    return np.asarray(one @ other.T * tasks / max(1, tasks - 1))
