"""Style offsets and corrected solve rates from few executed answers, and which further ones to execute.

The executed answers must have been drawn at random, or with chances that the table gives. Where the scores of executed
answers show that they were not, and no chances are given, nothing is corrected, and the page says so.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from voirdire.audits._halo_resolution import Limit
from voirdire.audits._halo_table import Answers, HaloOptions
from voirdire.blocks import Block, Cell, FigureBlock, TableBlock, TextBlock
from voirdire.errors import DataError
from voirdire.model import Finding, FindingKind

if TYPE_CHECKING:
    import polars as pl

    from voirdire.stats.calibrated_rates import CalibratedRates

NAME = "calibration"
NOT_AT_RANDOM = 2.576
"""Standard errors by which scores of executed answers may differ from those of the others: 1 %, two sided."""

HELD_OUT_SHARES = (0.1, 0.3)
HELD_OUT_DRAWS = 40
MOST_NAMED = 30
"""Rows of the table of what to execute next; the file that the command writes has all."""

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Rows:
    """One row per system and task: mean score, whether and how it passed (nan: not executed), its chance of being executed.

    `chance` None: the table does not say.
    """

    system: tuple[str, ...]
    task: tuple[str, ...]
    score: Vector
    passed: Vector
    chance: Vector | None

    @property
    def executed(self) -> NDArray[np.bool_]:
        """Return which rows were executed."""
        return ~np.isnan(self.passed)

    def of(self, keep: NDArray[np.bool_], passed: Vector | None = None) -> "Rows":
        """Return some of the rows, with other truth if given."""
        places = np.flatnonzero(keep)
        return Rows(
            tuple(self.system[place] for place in places),
            tuple(self.task[place] for place in places),
            self.score[keep],
            (self.passed if passed is None else passed)[keep],
            None if self.chance is None else self.chance[keep],
        )


def rows_of(answers: Answers) -> Rows:
    """Return the scored answers, samples of one system on one task as their mean.

    Raises DataError where only some rows have a chance.
    """
    import polars as pl

    scored = answers.scored.with_columns(
        pl.when(pl.col("known")).then(pl.col("truth_passed").cast(pl.Float64)).alias("passed")
    )
    by_task = (
        scored.group_by("system", "task", maintain_order=True)
        .agg(
            pl.col("value").mean(),
            pl.when(pl.col("passed").null_count() == 0).then(pl.col("passed").mean()).alias("passed"),
            pl.col("label_chance").min(),
        )
        .sort("system", "task")
    )
    unknown = by_task["label_chance"].null_count()
    if 0 < unknown < by_task.height:
        row = by_task.filter(pl.col("label_chance").is_null()).row(0, named=True)
        raise DataError(
            f"system '{row['system']}', task '{row['task']}': no 'label_chance', which other rows have",
            hint="give every answer, executed or not, its chance of being executed",
        )
    return Rows(
        tuple(by_task["system"].to_list()),
        tuple(by_task["task"].to_list()),
        by_task["value"].to_numpy(),
        by_task["passed"].fill_null(math.nan).to_numpy(),
        None if unknown else by_task["label_chance"].to_numpy(),
    )


def not_at_random(rows: Rows) -> float:
    """Return by how many standard errors executed answers score above the others of their system, clustered by task."""
    names, at = np.unique(rows.system, return_inverse=True)
    sizes = np.bincount(at, minlength=len(names))
    drawn = rows.executed.astype(np.float64)
    off_score = rows.score - (np.bincount(at, rows.score) / sizes)[at]
    off_drawn = drawn - (np.bincount(at, drawn) / sizes)[at]
    tasks = np.unique(rows.task, return_inverse=True)[1]
    by_task = np.bincount(tasks, off_score * off_drawn)
    error = math.sqrt(float(by_task @ by_task))
    return float(by_task.sum()) / error if error > 0 else 0.0


def calibrated(rows: Rows) -> "CalibratedRates":
    """Return the corrected rates; DataError where nothing can be calibrated."""
    from voirdire.stats.calibrated_rates import calibrated_rates

    return calibrated_rates(rows.system, np.asarray(rows.task), rows.score, rows.passed, chance=rows.chance)


# --- findings -----------------------------------------------------------------------------------------


def findings(answers: Answers, limit: Limit | str, options: HaloOptions) -> list[Finding]:
    """Return the correction of one judge's averages, or why there is none; where all is executed, how well it would do."""
    try:
        rows = rows_of(answers)
        sentence, blocks = _told(rows, limit, options)
    except DataError as error:
        sentence, blocks = f"No correction: {error}.", ()
    return [
        Finding(
            id=f"{NAME}/judge/{answers.judge}",
            kind=FindingKind.AUDIT,
            name=NAME,
            subject="judge",
            judge=answers.judge,
            sentence=sentence,
            blocks=blocks,
        )
    ]


def _told(rows: Rows, limit: Limit | str, options: HaloOptions) -> tuple[str, tuple[Block, ...]]:
    executed = int(rows.executed.sum())
    if executed == 0:
        raise DataError("no answer has executed tests")
    refused = refusal(rows, options)
    if refused:
        return f"No correction: {refused}.", _next_blocks(None, rows, options)
    found = calibrated(rows)
    blocks: list[Block] = [
        _offsets_table(found, rows),
        _offsets_figure(found),
        _pairs_table(found, limit, options),
    ]
    if executed == len(rows.score):
        held = held_out(rows, seed=options.seed)
        blocks.append(_held_out_table(held))
        return _held_out_sentence(held, found), tuple(blocks)
    blocks += _next_blocks(found, rows, options)
    return _sentence(found, rows, executed), tuple(blocks)


def refusal(rows: Rows, options: HaloOptions) -> str:
    """Return why executed answers cannot be taken as drawn at random, or '' where they can."""
    if rows.chance is not None or options.labels_drawn or rows.executed.all():
        return ""
    distance = not_at_random(rows)
    if abs(distance) < NOT_AT_RANDOM:
        return ""
    way = "higher" if distance > 0 else "lower"
    return (
        f"the judge scores executed answers {way} than the others of their system ({abs(distance):.1f} standard errors), so they "
        "were not drawn at random, and the table has no column 'label_chance' with the known chances"
    )


def _sentence(found: "CalibratedRates", rows: Rows, executed: int) -> str:
    most = max(found.systems, key=lambda name: found.offset(name).value or 0.0)
    least = min(found.systems, key=lambda name: found.offset(name).value or 0.0)
    how = "with known chances" if rows.chance is not None else "taken as drawn at random"
    return (
        f"From {executed:,} executed of {len(rows.score):,} answers ({how}), style is worth {found.offset(most).value or 0:+.3f} "
        f"score points to {most} and {found.offset(least).value or 0:+.3f} to {least}."
    )


def _offsets_table(found: "CalibratedRates", rows: Rows) -> TableBlock:
    lines: list[list[Cell]] = []
    passed, executed = rows.passed, rows.executed
    systems = np.asarray(rows.system)
    for name in sorted(found.systems, key=lambda one: -(found.rate(one).value or 0.0)):
        at = found.systems.index(name)
        rate, offset = found.rate(name), found.offset(name)
        own = passed[(systems == name) & executed]
        lines.append(
            [
                *(name, int(found.rows[at]), int(found.labels[at]), float(found.scores[at])),
                float(own.mean()) if len(own) else None,
                *(rate.value, rate.low, rate.high),
                *(offset.value, offset.low, offset.high),
                rate.note,
            ]
        )
    return TableBlock(
        title="Style offsets and corrected solve rates",
        columns=(
            *("system", "tasks", "executed", "mean score", "solved of executed"),
            *("corrected solve rate", "low", "high", "style offset", "offset, low", "offset, high", "note"),
        ),
        rows=lines,
        note=(
            "The offset is what the judge gives the system beyond what its corrected rate explains, in score points, with the mean "
            f"over systems at 0; a pass is worth {found.gap:.3f} points. Systems' levels are shrunk toward each other where few of "
            "their answers were executed. "
            + (
                "Weighted by the known chances of being executed."
                if rows.chance is not None
                else "Executed answers are taken as drawn at random within their system: nothing in their scores says otherwise."
            )
        ),
    )


def _offsets_figure(found: "CalibratedRates") -> FigureBlock:
    rows: list[Mapping[str, Cell]] = [
        {
            "label": name,
            "value": one.value,
            "low": one.value if one.low is None else one.low,
            "high": one.value if one.high is None else one.high,
        }
        for name in found.systems
        for one in (found.offset(name),)
    ]
    return FigureBlock(
        title="Style offsets",
        kind="intervals",
        rows=rows,
        options={
            "lines": [0.0],
            "x_title": "score points beyond what the corrected rate explains",
        },
    )


def _pairs_table(found: "CalibratedRates", limit: Limit | str, options: HaloOptions) -> TableBlock:
    tie = math.inf if isinstance(limit, str) else limit.tie
    rows = [
        _pair_row(found, one, other, tie, everywhere=options.everywhere)
        for one, other in combinations(found.systems, 2)
    ]
    return TableBlock(
        title="Pairs of systems: what the scores say, and what the correction says",
        columns=(
            *("system", "less system", "difference in score", "within the limit"),
            *("corrected difference", "low", "high", "told apart"),
            *("executed, the fewer", "executed needed"),
        ),
        rows=rows,
        note=(
            (
                "The limit is not known: every pair counts as within it. "
                if math.isinf(tie)
                else f"The limit: {tie:.3f} score points. "
            )
            + (
                "All pairs are corrected, as asked. "
                if options.everywhere
                else "Only pairs within it are corrected; `--everywhere` corrects the others too. "
            )
            + "Executed needed: how many answers of each of the two tell them apart if the difference stays what it is; empty where "
            "no number does, as the tasks themselves are too few."
        ),
    )


def _pair_row(found: "CalibratedRates", one: str, other: str, tie: float, *, everywhere: bool) -> list[Cell]:
    first, second = found.systems.index(one), found.systems.index(other)
    scored = float(found.scores[first] - found.scores[second])
    within = abs(scored) < tie
    fewer = int(min(found.labels[first], found.labels[second]))
    if not (within or everywhere):
        return [one, other, scored, within, None, None, None, None, fewer, None]
    difference = found.difference(one, other)
    apart = (
        difference.low is not None
        and difference.high is not None
        and not difference.low <= 0 <= difference.high
    )
    return [
        *(one, other, scored, within, difference.value, difference.low, difference.high, apart),
        *(fewer, found.labels_to_separate(one, other)),
    ]


# --- what to execute next -----------------------------------------------------------------------------


def to_execute(answers: Answers, options: HaloOptions) -> "pl.DataFrame":
    """Return all answers with the chance with which each is to be executed, so that about `execute_next` further ones are.

    Columns: system, task, score, executed (already), chance (to execute it with now; null where executed), drawn (a draw with
    that chance, by the seed), label_chance (what to write into the table when the drawn ones were executed: the chance of having
    been executed then or before). The likeliest stand first. Raises DataError as `rows_of`.
    """
    import polars as pl

    rows = rows_of(answers)
    chance, before = _chances(rows, options), _chances_so_far(rows)
    executed = rows.executed
    drawn = (np.random.default_rng(options.seed).random(len(chance)) < chance) & ~executed
    return pl.DataFrame(
        {
            "system": rows.system,
            "task": rows.task,
            "score": rows.score,
            "executed": executed,
            "chance": [None if done else float(one) for one, done in zip(chance, executed, strict=True)],
            "drawn": drawn,
            "label_chance": np.minimum(1.0, before + (1 - before) * chance),
        },
        schema_overrides={"chance": pl.Float64},
    ).sort("executed", "chance", "system", "task", descending=[False, True, False, False])


def _chances_so_far(rows: Rows) -> Vector:
    """Return the chance with which each row was executed: as given, else its system's share of executed rows."""
    if rows.chance is not None:
        return rows.chance
    names, at = np.unique(rows.system, return_inverse=True)
    return np.asarray((np.bincount(at, rows.executed, len(names)) / np.bincount(at))[at])


def _chances(rows: Rows, options: HaloOptions) -> Vector:
    """Return the chance of each row to be executed next; of those that were, the chance they would have had."""
    from voirdire.stats.calibrated_rates import chances_to_label

    open_ = ~rows.executed
    wanted = min(options.execute_next, int(open_.sum()))
    predicted = _predicted(rows, options)
    chance = np.zeros(len(predicted))
    if not wanted:
        return chance
    chance[open_] = chances_to_label(predicted[open_], labels=wanted)
    size = np.sqrt(predicted * (1 - predicted))
    sized = open_ & (chance < 1) & (size > 0)
    rate = float(np.median(chance[sized] / size[sized])) if sized.any() else 1.0
    chance[~open_] = np.clip(rate * size[~open_], chance[open_].min(), 1.0)
    return chance


def _predicted(rows: Rows, options: HaloOptions) -> Vector:
    """Return each row's chance of passing; one half for all where nothing is known of it yet."""
    try:
        if not refusal(rows, options):
            return calibrated(rows).predicted
    except DataError:
        pass
    return np.full(len(rows.score), 0.5)


def _next_blocks(found: "CalibratedRates | None", rows: Rows, options: HaloOptions) -> tuple[Block, ...]:
    open_ = ~rows.executed
    if not open_.any():
        return ()
    chances = _chances(rows, options)[open_]
    order = np.argsort(-chances, kind="stable")[:MOST_NAMED]
    places = np.flatnonzero(open_)
    lines: list[list[Cell]] = [
        [
            *(rows.system[places[at]], rows.task[places[at]], float(rows.score[places[at]])),
            float(found.predicted[places[at]]) if found is not None else None,
            float(chances[at]),
        ]
        for at in order.tolist()
    ]
    return (
        TableBlock(
            title="What to execute next",
            columns=("system", "task", "score", "chance that it passes", "chance to execute it with"),
            rows=lines,
            note=(
                f"Execute each answer with its chance (about {min(options.execute_next, int(open_.sum()))} in all), whatever its score "
                "seems to say: chosen by hand they would say nothing. "
                f"The {len(lines)} likeliest are shown; to_execute.csv has all, with a draw already made and the column "
                "'label_chance' that belongs into the table then."
            ),
        ),
    )


# --- held-out test ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HeldOut:
    """What correction does on tasks that were not executed, over random draws of tasks to execute.

    Shares of pairs in the right order, ties half; errors are root mean squares of the differences from held-out solve rates,
    each centred over systems, so that a judge that scores all too high is not blamed. `draws`: how many could be calibrated.
    """

    share: float
    draws: int
    raw: float
    labels: float
    corrected: float
    raw_error: float
    labels_error: float
    corrected_error: float

    @property
    def recovered(self) -> float | None:
        """Return the share of the accuracy lost to style that comes back; None where nothing was lost."""
        return (self.corrected - self.raw) / (1 - self.raw) if self.raw < 1 else None


def held_out(rows: Rows, *, seed: int = 0, draws: int = HELD_OUT_DRAWS) -> list[HeldOut]:
    """Return the held-out test at several shares of executed tasks; only tasks are drawn, with all their answers."""
    generator = np.random.default_rng(seed)
    return [one for share in HELD_OUT_SHARES if (one := _held_out(rows, share, generator, draws)) is not None]


def _held_out(rows: Rows, share: float, generator: np.random.Generator, draws: int) -> HeldOut | None:
    names, tasks = np.unique(rows.task, return_inverse=True)
    systems, at_system = np.unique(rows.system, return_inverse=True)
    got: list[list[float]] = []
    for _ in range(draws):
        drawn = generator.random(len(names)) < share
        executed = drawn[tasks]
        if min(np.bincount(at_system[~executed], minlength=len(systems))) == 0:
            continue
        try:
            found = calibrated(
                Rows(rows.system, rows.task, rows.score, np.where(executed, rows.passed, math.nan), None)
            )
        except DataError:
            continue
        means = [
            _by_system(at_system[~executed], values[~executed], len(systems))
            for values in (rows.passed, rows.score, found.predicted)
        ]
        labelled = _by_system(at_system[executed], rows.passed[executed], len(systems))
        truth, raw, corrected = means
        sides = (raw, np.nan_to_num(labelled, nan=float(rows.passed[executed].mean())), corrected)
        got.append([*(_order(truth, one) for one in sides), *(_error(truth, one) for one in sides)])
    if not got:
        return None
    table = np.array(got)
    order, errors = table[:, :3].mean(axis=0), np.sqrt((table[:, 3:] ** 2).mean(axis=0))
    return HeldOut(share, len(got), *(float(one) for one in (*order, *errors)))


def _by_system(at_system: NDArray[np.intp], values: Vector, systems: int) -> Vector:
    sizes = np.bincount(at_system, minlength=systems).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.bincount(at_system, values, systems) / sizes)


def _order(truth: Vector, other: Vector) -> float:
    first, second = np.triu_indices(len(truth), 1)
    true = np.sign(truth[first] - truth[second])
    said = np.sign(other[first] - other[second])
    return float(((true * said)[true != 0].mean() + 1) / 2) if (true != 0).any() else 1.0


def _error(truth: Vector, other: Vector) -> float:
    off = (other - other.mean()) - (truth - truth.mean())
    return math.sqrt(float((off**2).mean()))


def _held_out_sentence(held: Sequence[HeldOut], found: "CalibratedRates") -> str:
    if not held:
        return f"All answers were executed: there is nothing to correct among {len(found.systems)} systems."
    one = held[0]
    back = one.recovered
    said = "none was lost to style" if back is None else f"{100 * back:.0f} % of what style cost"
    return (
        f"Held out: by mean score {100 * one.raw:.0f} % of pairs of systems are in the right order; with {100 * one.share:.0f} % of "
        f"tasks executed the corrected rates reach {100 * one.corrected:.0f} % ({said}), executed tasks alone {100 * one.labels:.0f} %."
    )


def _held_out_table(held: Sequence[HeldOut]) -> Block:
    if not held:
        return TextBlock(
            "No draw of tasks could be calibrated: passes and failures are too few.", title="Held-out test"
        )
    return TableBlock(
        title="Held-out test: what executing some tasks recovers on the others",
        columns=(
            *("tasks executed", "draws", "order by score", "order by executed tasks", "order corrected"),
            *("recovered", "error by score", "error by executed tasks", "error corrected"),
        ),
        rows=[
            [
                *(one.share, one.draws, one.raw, one.labels, one.corrected),
                *(one.recovered, one.raw_error, one.labels_error, one.corrected_error),
            ]
            for one in held
        ],
        note=(
            "Tasks are drawn at random and executed; orders of all pairs of systems and errors of their solve rates (centred over "
            "systems) are taken on the tasks that were not. Recovered: the share of wrongly ordered pairs that the correction puts right."
        ),
    )
