"""What a validity suite measures of a rubric judge, from the scores of its patches: one measurement a claim."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from voirdire.blocks import Cell, TableBlock
from voirdire.engine.advice import settle
from voirdire.lines import (
    CASES_FOR_GENERAL,
    DECOY_LOW,
    PASSED_ABOVE,
    REFERENCE_HIGH,
    RUBRIC_REPEATS,
    SYSTEMS_FOR_CORRELATE,
    TRACKS_SOLVE_RATE,
    Line,
    too_few,
)
from voirdire.model import Estimate, Expectation, Measurement
from voirdire.stats.bootstrap import Resampling, bootstrap_statistic, draw
from voirdire.stats.correlation import spearman
from voirdire.stats.paired import paired_bounds, paired_mean
from voirdire.studies._validity_material import Arm

SUBJECT = "judge"

DIGITS = 9
"""To which scores and means are compared: what lies beyond is rounding."""

PUBLISHED = "a published audit of a rubric judge found a rank correlation of 0.94 over its systems"


@dataclass(frozen=True)
class ArmScore:
    """The scores of one patch of the suite: one per repeat, None where it is missing."""

    task: str
    arm: Arm
    scores: tuple[float | None, ...]


@dataclass(frozen=True)
class AttemptScore:
    """The score of one attempt whose tests were run."""

    task: str
    system: str
    passed: bool
    score: float | None


@dataclass(frozen=True)
class Scores:
    """Everything that one judge said. `deterministic`: it promises to repeat itself."""

    arms: Sequence[ArmScore]
    attempts: Sequence[AttemptScore]
    deterministic: bool = False
    seed: int = 0

    def first(self, arm: Arm) -> dict[str, float | None]:
        """Return the first score of an arm, by task."""
        return {one.task: one.scores[0] for one in self.arms if one.arm is arm}


def measured(scores: Scores) -> list[Measurement]:
    """Return the claims that can be measured: references high, decoys low, repeats alike, passed above failed."""
    empty = _against_reference(scores, Arm.EMPTY)
    found = [
        _reference(scores),
        *(_decoy(scores, arm) for arm in (Arm.EMPTY, Arm.NO_OP, Arm.UNRELATED)),
        _repeats(scores, empty),
    ]
    if scores.attempts:
        found += [_passed_above(scores), _tracks(scores)]
    return found


# --- the patches of the suite -----------------------------------------------------------------------------


def _reference(scores: Scores) -> Measurement:
    by_task = scores.first(Arm.REFERENCE)
    read = {task: value for task, value in by_task.items() if value is not None}
    estimate = _mean(
        {task: value - 0.5 for task, value in read.items()},
        asked={Arm.REFERENCE.value: len(by_task)},
        missing={Arm.REFERENCE.value: len(by_task) - len(read)},
        span=0.5,
        seed=scores.seed,
    )
    return Measurement(
        probe="rubric_reference",
        subject=SUBJECT,
        estimate=_moved(estimate, 0.5),
        line=REFERENCE_HIGH,
        expect=Expectation.HIGHER,
        withheld=too_few(len(read), "tasks"),
        settles=_settles(_moved(estimate, 0.5), REFERENCE_HIGH),
        blocks=(_table(scores),),
    )


def _decoy(scores: Scores, arm: Arm) -> Measurement:
    estimate = _against_reference(scores, arm)
    return Measurement(
        probe=f"rubric_{arm.value.replace('-', '_')}",
        subject=SUBJECT,
        estimate=estimate,
        line=DECOY_LOW,
        expect=Expectation.LOWER,
        withheld=too_few(estimate.n, "tasks"),
        settles=_settles(estimate, DECOY_LOW),
    )


def _against_reference(scores: Scores, arm: Arm) -> Estimate:
    reference, decoy = scores.first(Arm.REFERENCE), scores.first(arm)
    both = {
        task: low - high
        for task, low in decoy.items()
        if low is not None and (high := reference.get(task)) is not None
    }
    return _mean(
        both,
        asked={arm.value: len(decoy), Arm.REFERENCE.value: len(reference)},
        missing={
            arm.value: sum(one is None for one in decoy.values()),
            Arm.REFERENCE.value: sum(one is None for one in reference.values()),
        },
        span=1.0,
        seed=scores.seed,
    )


def _repeats(scores: Scores, control: Estimate) -> Measurement:
    """Measure how far the score of the same patch moves: the mean over a task's patches is the task's."""
    by_task: dict[str, list[float]] = {}
    for one in scores.arms:
        first, *again = one.scores
        by_task.setdefault(one.task, []).extend(
            abs(later - first) for later in again if later is not None and first is not None
        )
    changes = {task: sum(moves) / len(moves) for task, moves in by_task.items() if moves}
    estimate = _mean(
        changes,
        asked={"tasks": len(by_task)},
        missing={"tasks": len(by_task) - len(changes)},
        span=1.0,
        seed=scores.seed,
    )
    if scores.deterministic and changes and not any(changes.values()):
        estimate = replace(estimate, exact=True)
    return Measurement(
        probe="rubric_repeats",
        subject=SUBJECT,
        estimate=estimate,
        line=RUBRIC_REPEATS,
        control=control,
        control_line=DECOY_LOW,
        control_expect=Expectation.LOWER,
        withheld=too_few(estimate.n, "tasks"),
        settles=_settles(estimate, RUBRIC_REPEATS),
    )


def _mean(
    by_unit: Mapping[str, float],
    *,
    asked: Mapping[str, int],
    missing: Mapping[str, int],
    span: float,
    seed: int,
) -> Estimate:
    if not by_unit:
        return Estimate(None, unit="tasks", asked=asked, missing=missing, note="no score could be read")
    values = [max(-span, min(span, value)) for value in by_unit.values()]
    estimate = paired_mean(values, span=span, seed=seed, unit="tasks")
    lost = max(asked.values()) - len(values)
    bounds = paired_bounds(values, missing=lost, span=span) if lost > 0 else None
    return replace(
        estimate,
        asked=asked,
        missing=missing,
        bounds=bounds,
        by_unit=dict(by_unit),
        read_by_unit=dict.fromkeys(by_unit, 1.0),
    )


def _settles(estimate: Estimate, line: Line) -> str:
    return settle(estimate, line, unit="tasks", least=CASES_FOR_GENERAL)


def _moved(estimate: Estimate, by: float) -> Estimate:
    """Return an estimate of a mean that was measured from another zero."""

    def shift(value: float | None) -> float | None:
        return None if value is None else value + by

    return replace(
        estimate,
        value=shift(estimate.value),
        low=shift(estimate.low),
        high=shift(estimate.high),
        inner_low=shift(estimate.inner_low),
        inner_high=shift(estimate.inner_high),
        bounds=None if estimate.bounds is None else (estimate.bounds[0] + by, estimate.bounds[1] + by),
        by_unit={name: shift(value) for name, value in estimate.by_unit.items()},
    )


def _table(scores: Scores) -> TableBlock:
    rows: list[tuple[Cell, ...]] = []
    for arm in Arm:
        values = [one for one in scores.first(arm).values() if one is not None]
        asked = len(scores.first(arm))
        mean = sum(values) / len(values) if values else None
        rows.append(
            (
                arm.value,
                asked,
                asked - len(values),
                mean,
                min(values, default=None),
                max(values, default=None),
            )
        )
    return TableBlock(
        title="Scores of patches whose worth is known",
        columns=("patch", "tasks", "missing", "mean score", "lowest", "highest"),
        rows=rows,
        note="No-op: a comment or an empty line at the end of a file. Unrelated: what was merged for another task.",
    )


# --- attempts whose tests were run ------------------------------------------------------------------------


def _passed_above(scores: Scores) -> Measurement:
    by_task = {
        task: value
        for task in dict.fromkeys(one.task for one in scores.attempts)
        if (value := _superiority([one for one in scores.attempts if one.task == task])) is not None
    }
    missing = sum(one.score is None for one in scores.attempts)
    estimate = _mean(
        {task: value - 0.5 for task, value in by_task.items()},
        asked={"attempts": len(scores.attempts)},
        missing={"attempts": missing},
        span=0.5,
        seed=scores.seed,
    )
    estimate = replace(
        _moved(estimate, 0.5),
        bounds=None,
        note=estimate.note or "mean over tasks of the chance within a task; ties count half",
    )
    if not by_task:
        estimate = replace(estimate, note="no task has both a patch that passes and one that fails")
    return Measurement(
        probe="rubric_passed",
        subject=SUBJECT,
        estimate=estimate,
        line=PASSED_ABOVE,
        expect=Expectation.HIGHER,
        withheld=too_few(len(by_task), "tasks with both"),
        settles=_settles(estimate, PASSED_ABOVE),
        blocks=(_pooled_table(scores),),
    )


def _superiority(attempts: Sequence[AttemptScore]) -> float | None:
    passed = np.array([one.score for one in attempts if one.passed and one.score is not None])
    failed = np.array([one.score for one in attempts if not one.passed and one.score is not None])
    if not len(passed) or not len(failed):
        return None
    return float(np.mean(_wins(passed, failed)))


def _wins(passed: np.ndarray, failed: np.ndarray) -> np.ndarray:
    above = np.round(passed[:, None] - failed[None, :], DIGITS)
    return np.where(above > 0, 1.0, np.where(above == 0, 0.5, 0.0))


def pooled_auc(scores: Scores) -> Estimate:
    """Return the same chance over all attempts, whatever their task, with an interval by resampling tasks."""
    read = [one for one in scores.attempts if one.score is not None]
    passed = np.array([one.passed for one in read], dtype=bool)
    if not passed.any() or passed.all():
        return Estimate(None, note="nothing passes, or nothing fails")
    value = np.array([one.score for one in read], dtype=np.float64)
    wins = _wins(value[passed], value[~passed])

    def statistic(weights: np.ndarray) -> np.ndarray:
        high, low = weights[:, passed], weights[:, ~passed]
        pairs = high.sum(axis=1) * low.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(((high @ wins) * low).sum(axis=1) / pairs)

    return bootstrap_statistic(statistic, _by_task([one.task for one in read], scores.seed), unit="attempts")


def _by_task(tasks: Sequence[str], seed: int) -> Resampling:
    return draw(len(tasks), clusters=tasks, resamples=2_000, seed=seed)


def _pooled_table(scores: Scores) -> TableBlock:
    pooled = pooled_auc(scores)
    passed = [one.score for one in scores.attempts if one.passed and one.score is not None]
    failed = [one.score for one in scores.attempts if not one.passed and one.score is not None]
    return TableBlock(
        title="Attempts that pass and that fail",
        columns=(
            *("passed", "failed", "mean of passed", "mean of failed"),
            *("chance over all attempts", "low", "high"),
        ),
        rows=[
            (
                *(len(passed), len(failed), _average(passed), _average(failed)),
                *(pooled.value, pooled.low, pooled.high),
            )
        ],
        note="Over all attempts the chance also follows which tasks are easy; the interval resamples tasks.",
    )


def _average(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _tracks(scores: Scores) -> Measurement:
    rows = []
    for system in sorted({one.system for one in scores.attempts}):
        own = [one for one in scores.attempts if one.system == system]
        failed = [one.score for one in own if not one.passed and one.score is not None]
        if failed:
            mean = round(sum(failed) / len(failed), DIGITS)
            rows.append((system, sum(one.passed for one in own) / len(own), mean, len(own)))
    estimate = (
        spearman([row[1] for row in rows], [row[2] for row in rows])
        if len(rows) > 1
        else Estimate(None, n=len(rows), unit="systems", note="fewer than two systems have failed patches")
    )
    withheld = (
        f"a ruling on what goes with the solve rate needs at least {SYSTEMS_FOR_CORRELATE} systems, and there are {len(rows)}"
        if len(rows) < SYSTEMS_FOR_CORRELATE
        else ""
    )
    return Measurement(
        probe="rubric_solve_rate",
        subject=SUBJECT,
        estimate=estimate,
        line=TRACKS_SOLVE_RATE,
        expect=Expectation.HIGHER,
        withheld=withheld,
        blocks=(
            TableBlock(
                title="Solve rate and mean score of failed patches",
                columns=("system", "solve rate", "mean score of failed patches", "attempts"),
                rows=rows,
                note=PUBLISHED[0].upper() + PUBLISHED[1:] + ".",
            ),
        ),
    )
