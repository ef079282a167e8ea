"""Best of N: does taking the highest scored answer to a task follow style, or what passes?

Sets of N answers to one task are compared with chance (any of the N) and with the oracle (one that passes, if there is one).
Offsets of systems, by which style is followed, come from other tasks than the one that is chosen in.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from voirdire.audits._halo_table import RANKED_FROM, Answers, Grouping, Stratum, columns
from voirdire.blocks import Block, Cell, FigureBlock, TableBlock
from voirdire.errors import DataError
from voirdire.model import Estimate, Finding, FindingKind

if TYPE_CHECKING:
    import polars as pl

NAME = "best_of_n"
FOLDS = 5
MOST = 8
FEWEST_TASKS = 8

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Choice:
    """What choosing by score among N answers gives. Shares of tasks solved, and what they differ by; n counts tasks.

    `style`: mean offset of the chosen answer's system less that of all, in score points, where nothing among the N passes or
    all do not differ: None where offsets are not known.
    """

    n: int
    chosen: Estimate
    chance: Estimate
    oracle: Estimate
    gain: Estimate
    style: Estimate | None

    @property
    def recovered(self) -> float | None:
        """Return the share of the way from chance to the oracle; None where there is no way."""
        chosen, chance, oracle = self.chosen.value, self.chance.value, self.oracle.value
        if chosen is None or chance is None or oracle is None or oracle - chance < 1e-12:
            return None
        return (chosen - chance) / (oracle - chance)


def choices(answers: Answers, *, seed: int = 0) -> list[Choice]:
    """Return what choosing gives for every N that enough tasks have answers for, from 2."""
    frame = answers.scored.filter(answers.scored["known"]).sort("task", "system", "sample")
    sizes = frame.group_by("task").len()["len"].to_numpy() if frame.height else np.zeros(0)
    offsets = offsets_by_row(answers, frame, seed=seed)
    enough = [n for n in range(2, MOST + 1) if int((sizes >= n).sum()) >= FEWEST_TASKS]
    return [_choice(n, frame, offsets) for n in enough]


def _choice(n: int, frame: "pl.DataFrame", offsets: Vector | None) -> Choice:
    from voirdire.stats.best_of_n import best_of
    from voirdire.stats.paired import paired_mean
    from voirdire.stats.shares import mean_share

    task, score = frame["task"].to_numpy(), frame["value"].to_numpy()
    passed = frame["truth_passed"].cast(float).to_numpy()
    got = best_of(n, task, score, passed)
    return Choice(
        n=n,
        chosen=mean_share(got.chosen, unit="tasks"),
        chance=mean_share(got.chance, unit="tasks"),
        oracle=mean_share(got.oracle, unit="tasks"),
        gain=paired_mean(got.chosen - got.chance, span=1.0, unit="tasks"),
        style=_style(n, frame, offsets),
    )


def _style(n: int, frame: "pl.DataFrame", offsets: Vector | None) -> Estimate | None:
    """Return how far the choice leans to systems with high offsets, among answers that fail: there is nothing else to choose by."""
    from voirdire.stats.best_of_n import best_of
    from voirdire.stats.paired import paired_mean

    if offsets is None:
        return None
    failing = ~frame["truth_passed"].to_numpy() & ~np.isnan(offsets)
    got = best_of(n, frame["task"].to_numpy()[failing], frame["value"].to_numpy()[failing], offsets[failing])
    if got.tasks < FEWEST_TASKS:
        return None
    return paired_mean(got.chosen - got.chance, unit="tasks")


def offsets_by_row(answers: Answers, frame: "pl.DataFrame", *, seed: int = 0) -> Vector | None:
    """Return for each row of `frame` its system's offset where nothing passes, from other tasks; nan where not known.

    None: no offsets can be had at all.
    """
    from voirdire.stats.system_effects import within_task_effects

    stratum = answers.stratum(Stratum.ZERO_TARGET, near_misses=False)
    counts = stratum.group_by("system").len()
    ranked = counts.filter(counts["len"] >= RANKED_FROM)["system"].to_list()
    zero = stratum.filter(stratum["system"].is_in(ranked))
    tasks = sorted(set(frame["task"].to_list()))
    if len(ranked) < 2 or not tasks:
        return None
    folds = dict(zip(tasks, np.random.default_rng(seed).integers(0, FOLDS, len(tasks)).tolist(), strict=True))
    fold = np.array([folds[task] for task in frame["task"].to_list()])
    found = np.full(frame.height, np.nan)
    systems = frame["system"].to_list()
    for one in range(FOLDS):
        others = zero.filter([folds.get(task) != one for task in zero["task"].to_list()])
        given = columns(others, Grouping.SYSTEM)
        try:
            effects = within_task_effects(given.group, given.task, given.value)
        except DataError:
            return None
        known = dict(zip(effects.systems, effects.effects.tolist(), strict=True))
        for place in np.flatnonzero(fold == one).tolist():
            found[place] = known.get(systems[place], np.nan)
    return found


# --- findings -----------------------------------------------------------------------------------------


def findings(answers: Answers, *, seed: int = 0) -> list[Finding]:
    """Return one finding: what choosing within a task gets, by N."""
    found = choices(answers, seed=seed)
    blocks: tuple[Block, ...] = (_table(found), _figure(found)) if found else ()
    return [
        Finding(
            id=f"{NAME}/judge/{answers.judge}",
            kind=FindingKind.AUDIT,
            name=NAME,
            subject="judge",
            judge=answers.judge,
            sentence=_sentence(found),
            estimate=found[-1].gain if found else None,
            blocks=blocks,
        )
    ]


def _sentence(found: list[Choice]) -> str:
    if not found:
        return f"Best of N cannot be said: fewer than {FEWEST_TASKS} tasks have two scored answers with known truth."
    one = found[-1]
    back = one.recovered
    said = (
        f"Taking the highest scored of {one.n} answers to a task solves {_percent(one.chosen)} (any of them {_percent(one.chance)}, "
        f"the oracle {_percent(one.oracle)})"
    )
    gained = "" if back is None else f": {100 * back:.0f} % of the way"
    return f"{said}{gained}; {_leaning(found[0].style)}."


def _leaning(style: Estimate | None) -> str:
    if style is None or style.value is None:
        return "whether the choice follows style is not known"
    if style.low is None or style.high is None or style.low <= 0 <= style.high:
        return "between two answers that fail, the choice was not shown to follow style"
    way = "follows" if style.value > 0 else "goes against"
    return (
        f"between two answers that fail, the choice {way} style ({style.value:+.3f} score points of offset)"
    )


def _percent(one: Estimate) -> str:
    return "?" if one.value is None else f"{100 * one.value:.1f} %"


def _table(found: list[Choice]) -> TableBlock:
    rows: list[list[Cell]] = []
    for one in found:
        style = one.style or Estimate(None)
        rows.append(
            [
                *(one.n, one.chosen.n, one.chosen.value, one.chance.value, one.oracle.value),
                *(one.gain.value, one.gain.low, one.gain.high, one.recovered),
                *(style.value, style.low, style.high, style.n or None),
            ]
        )
    return TableBlock(
        title="Best of N: the highest scored answer to a task",
        columns=(
            *("N", "tasks", "solved by choice", "by chance", "by the oracle"),
            *("gain", "low", "high", "way to the oracle"),
            *("style followed", "style, low", "style, high", "tasks with N that fail"),
        ),
        rows=rows,
        note=(
            "Every set of N answers to a task is counted, whichever systems they come from. Style followed: offset of the chosen "
            "answer's system less the mean offset, among N answers that all fail; offsets come from other tasks. Near 0 means that "
            "choosing within a task is safe where comparing averages over tasks is not."
        ),
    )


def _figure(found: list[Choice]) -> FigureBlock:
    rows: list[dict[str, Cell]] = []
    for one in found:
        for group, estimate in (("by score", one.chosen), ("by chance", one.chance), ("oracle", one.oracle)):
            rows.append(
                {
                    "x": one.n,
                    "y": estimate.value,
                    "low": estimate.value if estimate.low is None else estimate.low,
                    "high": estimate.value if estimate.high is None else estimate.high,
                    "group": group,
                }
            )
    return FigureBlock(
        title="Tasks solved by taking one of N answers",
        kind="curve",
        rows=rows,
        options={"x_title": "N", "y_title": "share of tasks solved", "x_ticks": [one.n for one in found]},
    )
