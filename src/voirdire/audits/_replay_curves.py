"""Pass@k for every k, and its differences between two arms problem by problem, under every reading.

The unit is the problem: intervals say what other problems like these would show. The t interval is the default for
means; the percentile interval of 10,000 resamples stands beside it, from draws shared by all differences over the same
number of problems.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from voirdire.audits._replay_counts import Arm, Counts, Reading, Replay, Successes
from voirdire.audits._replay_rulings import three_over
from voirdire.lines import CONFIDENCE
from voirdire.stats.bootstrap import Resampling, draw, resampled_means
from voirdire.stats.passk import pass_table, saturation_ceiling
from voirdire.stats.quantiles import t_critical

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

COLUMNS_AT_ONCE = 512
"""Columns resampled by one product: as floats, 10,000 resamples of them take 40 MB."""

SEED = 20
"""Seed of the shared resamples."""


@dataclass(frozen=True)
class Curve:
    """Pass@k of one arm under one reading for k = 1, 2, ..., K. `low`, `high`: t interval over problems, shape (K,)."""

    arm: Arm
    reading: Reading
    judge: str | None
    value: Vector
    low: Vector
    high: Vector
    counted: Successes

    def at(self, k: int) -> float | None:
        """Return Pass@k; None where not every problem has k samples."""
        return float(self.value[k - 1]) if k <= len(self.value) else None


@dataclass(frozen=True)
class Difference:
    """Base minus variant in Pass@k for each of `ks`, over the problems of both. All vectors have shape (K,).

    `low`, `high`: paired t interval; where no problem differs, -3/N and 3/N (`still`). `drawn_low`, `drawn_high`: the
    percentile interval; nan where there is none. `problems`: N.
    """

    base: Arm
    variant: Arm
    reading: Reading
    judge: str | None
    ks: Counts
    value: Vector
    low: Vector
    high: Vector
    drawn_low: Vector
    drawn_high: Vector
    still: NDArray[np.bool_]
    problems: int
    by_problem: Matrix = field(repr=False)


def curve(replay: Replay, arm: Arm, reading: Reading, judge: str | None = None) -> Curve | None:
    """Return Pass@k of one arm; None where no problem has an answer."""
    counted = replay.successes(arm, reading, judge)
    if not counted.most:
        return None
    by_problem = pass_at_every_k(counted.n, counted.c)
    mean, reach = _t_interval(by_problem)
    low, high = np.clip(mean - reach, 0, 1), np.clip(mean + reach, 0, 1)
    return Curve(arm, reading, judge, value=mean, low=low, high=high, counted=counted)


def ceiling(replay: Replay, arm: Arm, judge: str, most: int) -> Vector | None:
    """Return what Pass@k by the judge would be if every sample were wrong: 1 - mean (1 - f)^k, k = 1, ..., `most`.

    f: the share of a problem's wrong samples that the judge accepts. None where no wrong sample was judged.
    """
    wrong = replay.tally(arm, "wrong_accepted", "wrong_read", judge)
    if not wrong.tasks:
        return None
    return saturation_ceiling(wrong.hits / wrong.of, range(1, most + 1))


def pairs(replay: Replay) -> list[tuple[Arm, Arm]]:
    """Return the comparisons: checkpoints within each pass, then each checkpoint between passes."""
    within = [
        pair
        for run in replay.runs
        for pair in combinations([arm for arm in replay.arms if arm.run == run], 2)
    ]
    between = [
        pair
        for author in replay.authors
        for pair in combinations([arm for arm in replay.arms if arm.author == author], 2)
    ]
    return [*within, *between]


def difference(
    replay: Replay,
    base: Arm,
    variant: Arm,
    reading: Reading,
    judge: str | None = None,
    *,
    ks: Callable[[int], Sequence[int]] | None = None,
) -> Difference | None:
    """Return base minus variant over the problems that both have answers for; None where none is shared.

    `ks`: chooses k up to the largest that all shared problems have samples for; None: all. The percentile interval is
    added by `with_resampled`.
    """
    one, other = (replay.successes(arm, reading, judge) for arm in (base, variant))
    known = set(other.tasks)
    shared = [task for task in one.tasks if task in known]
    if not shared:
        return None
    one, other = one.on(shared), other.on(shared)
    most = min(one.most, other.most)
    chosen = np.arange(1, most + 1) if ks is None else np.array(ks(most), dtype=np.int64)
    moved = (pass_at_every_k(one.n, one.c, most=most) - pass_at_every_k(other.n, other.c, most=most))[
        :, chosen - 1
    ]
    mean, reach = _t_interval(moved)
    still = np.asarray(np.abs(moved).max(axis=0) == 0)
    reach = np.where(still, three_over(len(shared)), reach)
    none = np.full(len(chosen), np.nan)
    return Difference(
        base=base,
        variant=variant,
        reading=reading,
        judge=judge,
        ks=chosen,
        value=mean,
        low=np.maximum(mean - reach, -1),
        high=np.minimum(mean + reach, 1),
        drawn_low=none,
        drawn_high=none,
        still=still,
        problems=len(shared),
        by_problem=moved,
    )


def differences(replay: Replay) -> list[Difference]:
    """Return every pair under every reading and every k, of every judge that was asked about both arms."""
    found = [
        difference(replay, base, variant, reading, judge)
        for base, variant in pairs(replay)
        for reading, judge in _readings(replay, base, variant)
    ]
    return with_resampled([one for one in found if one is not None])


def with_resampled(found: Sequence[Difference]) -> list[Difference]:
    """Return the differences with their percentile intervals, all over one number of problems from the same draws."""
    done: dict[int, Difference] = {}
    for problems in dict.fromkeys(one.problems for one in found):
        batch: list[int] = []
        for place in [place for place, one in enumerate(found) if one.problems == problems]:
            batch.append(place)
            if sum(len(found[each].ks) for each in batch) >= COLUMNS_AT_ONCE:
                done |= _resampled(found, batch)
                batch = []
        done |= _resampled(found, batch)
    return [done[place] for place in range(len(found))]


def _resampled(found: Sequence[Difference], places: Sequence[int]) -> dict[int, Difference]:
    if not places:
        return {}
    low, high = _percentiles(np.hstack([found[place].by_problem for place in places]))
    ends = np.cumsum([len(found[place].ks) for place in places])[:-1]
    return {
        place: replace(
            found[place],
            drawn_low=np.where(found[place].still, np.nan, one),
            drawn_high=np.where(found[place].still, np.nan, other),
        )
        for place, one, other in zip(places, np.split(low, ends), np.split(high, ends), strict=True)
    }


def curves(replay: Replay) -> list[Curve]:
    """Return every arm under every reading."""
    found = [
        curve(replay, arm, reading, judge)
        for arm in replay.arms
        for reading, judge in _readings(replay, arm, arm)
    ]
    return [one for one in found if one is not None]


def pass_at_every_k(n: Counts, c: Counts, *, most: int | None = None) -> Matrix:
    """Return the unbiased Pass@k of every problem for k = 1, ..., `most` (None: the smallest n), shape (N, K)."""
    ks = range(1, (int(n.min()) if most is None else most) + 1)
    values = np.empty((len(n), len(ks)))
    for size in np.unique(n):
        rows = n == size
        values[rows] = pass_table(int(size), ks)[c[rows]]
    return values


def chosen_ks(most: int) -> list[int]:
    """Return the k shown in tables: 1, 2, 4, ... and the largest."""
    powers = [2**power for power in range(20) if 2**power < most]
    return [*powers, most] if most else []


def _readings(replay: Replay, one: Arm, other: Arm) -> list[tuple[Reading, str | None]]:
    asked = [judge for judge in replay.judges if replay.has(judge, one) and replay.has(judge, other)]
    of_judges: list[tuple[Reading, str | None]] = [
        (reading, judge) for judge in asked for reading in (Reading.JUDGE, Reading.GATED)
    ]
    return [*of_judges, *((reading, None) for reading in replay.readings(None))]


def _t_interval(columns: Matrix) -> tuple[Vector, Vector]:
    """Return the mean of each column and how far its 95 % t interval reaches, infinite for one row."""
    rows = len(columns)
    mean = columns.mean(axis=0)
    if rows < 2:
        return mean, np.full(columns.shape[1], np.inf)
    error = columns.std(axis=0, ddof=1) / np.sqrt(rows)
    return mean, t_critical(CONFIDENCE, rows - 1) * error


def _percentiles(columns: Matrix) -> tuple[Vector, Vector]:
    drawn = resampled_means(columns, _resampling(len(columns)))
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(drawn, (tail, 1 - tail), axis=0)
    return np.asarray(low), np.asarray(high)


@cache
def _resampling(rows: int) -> Resampling:
    return draw(rows, seed=SEED)


def shown_pairs(replay: Replay) -> Sequence[tuple[Arm, Arm]]:
    """Return the comparisons that get a ruling: the first checkpoint against each other, and each between passes."""
    first = replay.authors[0]
    return [
        (base, variant)
        for base, variant in pairs(replay)
        if base.author == first or base.author == variant.author
    ]
