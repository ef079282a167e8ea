"""Counts of a replay table by arm and problem: what every figure of the replay audit is computed from.

A replay table has one row per sample and judge. Here it becomes, once, one row per problem with counts of samples:
nothing that follows looks at a sample again, so that half a million verdicts take no longer than a few thousand.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from voirdire.errors import DataError
from voirdire.model import VerdictTable

if TYPE_CHECKING:
    import polars as pl

Counts = NDArray[np.int64]

NEEDS = ("task", "author", "pass", "sample", "parses")
"""Besides: `judge` with `value` (1 accepted, 0 not, null missing) and `missing_because`; `suite`; `truth_passed` and
`truth_passed_renamed` (null: not run); `truth_apart` (passed with its tests apart; null: not known); `truth_status`; `parse_kind`, `evidence`, `truncated`, `edits_away`;
`parses_tagged`, `parses_first`, `parses_any`; `length`, `balanced`."""

SAMPLE = ("author", "pass", "task", "sample")


class Reading(StrEnum):
    """What counts as a success of one sample."""

    JUDGE = "judge"
    GATED = "judge and gate"
    EXECUTION = "execution"
    APART = "execution, tests apart alone"
    RENAMED = "execution, function renamed"
    PARSING = "parsing alone"


OF_A_JUDGE = frozenset({Reading.JUDGE, Reading.GATED})


@dataclass(frozen=True, order=True)
class Arm:
    """The samples of one checkpoint in one pass. `run` is '' where there is only one."""

    author: str
    run: str = ""

    def __str__(self) -> str:
        return f"{self.author}, {self.run}" if self.run else self.author


@dataclass(frozen=True)
class Successes:
    """Successes among the samples of each problem that have an answer. `n`, `c`: shape (N,), problems in order.

    `asked`: samples there are, `missing`: those without an answer, `lost`: problems of which none has one.
    """

    tasks: tuple[str, ...]
    n: Counts
    c: Counts
    asked: int = 0
    missing: int = 0
    lost: int = 0

    @property
    def most(self) -> int:
        """Return the largest k that every problem has samples for; 0 where there is no problem."""
        return int(self.n.min()) if len(self.n) else 0

    @property
    def rate(self) -> float | None:
        """Return the mean share of successes over problems, which is Pass@1; None without a problem."""
        return float((self.c / self.n).mean()) if len(self.n) else None

    def on(self, tasks: Sequence[str]) -> "Successes":
        """Return the counts of some of the problems, in the order given."""
        place = {task: index for index, task in enumerate(self.tasks)}
        chosen = np.array([place[task] for task in tasks], dtype=np.intp)
        return Successes(tuple(tasks), self.n[chosen], self.c[chosen], self.asked, self.missing, self.lost)


@dataclass(frozen=True)
class Tally:
    """Two counts and their problems: how many of which. `tasks`: shape (N,) names; problems without any are left out."""

    tasks: tuple[str, ...]
    hits: Counts
    of: Counts

    @property
    def share(self) -> float | None:
        """Return all hits over all of them; None where there are none."""
        total = int(self.of.sum())
        return int(self.hits.sum()) / total if total else None


@dataclass(frozen=True)
class Replay:
    """A replay table, checked and counted. Arms, judges and suites stand in the order in which the table names them."""

    samples: "pl.DataFrame"
    verdicts: "pl.DataFrame"
    arms: tuple[Arm, ...]
    judges: tuple[str, ...]
    suites: tuple[str, ...]
    _by_problem: Mapping[Arm, "pl.DataFrame"] = field(default_factory=dict)
    _by_judge: Mapping[tuple[str, Arm], "pl.DataFrame"] = field(default_factory=dict)

    @property
    def authors(self) -> tuple[str, ...]:
        """Return the checkpoints."""
        return tuple(dict.fromkeys(arm.author for arm in self.arms))

    @property
    def runs(self) -> tuple[str, ...]:
        """Return the passes."""
        return tuple(dict.fromkeys(arm.run for arm in self.arms))

    @cached_property
    def executed(self) -> bool:
        """Whether any sample has an execution result."""
        return bool(self.samples["truth_passed"].is_not_null().any())

    @cached_property
    def renamed(self) -> bool:
        """Whether any sample has a result with its function renamed."""
        return bool(self.samples["truth_passed_renamed"].is_not_null().any())

    @cached_property
    def beside(self) -> bool:
        """Whether any sample passed tests that ran beside it, where known forgeries earn credit."""
        samples = self.samples
        return bool((samples["truth_passed"] & ~samples["truth_apart"]).any())

    def readings(self, judge: str | None) -> list[Reading]:
        """Return the readings that the table allows, those of the judge first."""
        of_judge = [Reading.JUDGE, Reading.GATED] if judge is not None else []
        run = [Reading.EXECUTION] if self.executed else []
        apart = [Reading.APART] if self.beside else []
        return [*of_judge, *run, *apart, *([Reading.RENAMED] if self.renamed else [])]

    def problems(self, arm: Arm) -> "pl.DataFrame":
        """Return one row per problem of an arm: n, parsing, known, passed and so on."""
        return self._by_problem[arm]

    def successes(self, arm: Arm, reading: Reading, judge: str | None = None) -> Successes:
        """Return successes by problem under one reading; the readings of a judge need its name.

        Judge, and judge and gate, are over the same samples, those with a verdict, so that their difference is the gate
        alone. A sample that does not parse is refused by the gate without a verdict too; counted under the gate only,
        it would make an average over other samples than the judge's.
        """
        if reading in OF_A_JUDGE:
            n, c = ("read", "accepted" if reading is Reading.JUDGE else "parsing_accepted")
            counted = self._of_judge(judge, arm)
        else:
            n, c = {
                Reading.EXECUTION: ("known", "passed"),
                Reading.APART: ("known_apart", "passed_apart"),
                Reading.RENAMED: ("known_renamed", "passed_renamed"),
                Reading.PARSING: ("n", "parsing"),
            }[reading]
            counted = self._by_problem[arm]
        return _successes(counted, n, c)

    def tally(self, arm: Arm, hits: str, of: str, judge: str | None = None) -> Tally:
        """Return two columns of counts, by problem, without problems that have none to count."""
        counted = self._of_judge(judge, arm) if judge is not None else self._by_problem[arm]
        kept = counted.filter(counted[of] > 0)
        return Tally(tuple(kept["task"].to_list()), kept[hits].to_numpy(), kept[of].to_numpy())

    def total(self, arm: Arm, column: str, judge: str | None = None) -> int:
        """Return the sum of one column of counts."""
        counted = self._of_judge(judge, arm) if judge is not None else self._by_problem[arm]
        return int(counted[column].sum())

    def has(self, judge: str, arm: Arm) -> bool:
        """Whether a judge was asked about an arm at all."""
        return (judge, arm) in self._by_judge

    def _of_judge(self, judge: str | None, arm: Arm) -> "pl.DataFrame":
        if judge is None or (judge, arm) not in self._by_judge:
            raise DataError(
                f"judge '{judge}' was asked nothing about {arm}", hint="choose another judge or arm"
            )
        return self._by_judge[judge, arm]


def replay_of(table: VerdictTable) -> Replay:
    """Check a replay table and count it.

    Raises DataError where a column of NEEDS is not there, `parses` is unknown for a sample, a value is neither 0, 1
    nor null, or a judge stands twice on one sample.
    """
    table.require(*NEEDS)
    frame = _completed(table.frame)
    _check(frame)
    samples = frame.unique(subset=SAMPLE, keep="first", maintain_order=True)
    verdicts = frame.filter(frame["judge"].is_not_null())
    arms = tuple(
        Arm(*row) for row in samples.select("author", "pass").unique(maintain_order=True).iter_rows()
    )
    return Replay(
        samples=samples,
        verdicts=verdicts,
        arms=arms,
        judges=tuple(verdicts["judge"].unique(maintain_order=True).to_list()),
        suites=tuple(samples["suite"].unique(maintain_order=True).to_list()),
        _by_problem=_parts(_by_problem(samples), ("author", "pass")),
        _by_judge={
            (judge, Arm(author, run)): part
            for (judge, author, run), part in _keyed(_by_judge(verdicts), ("judge", "author", "pass"))
        },
    )


# --- the table ----------------------------------------------------------------------------------------


def _completed(frame: "pl.DataFrame") -> "pl.DataFrame":
    """Return the columns used, those that are not there filled with what stands for unknown."""
    import polars as pl

    unknown = {
        "suite": pl.lit(""),
        "judge": pl.lit(None, dtype=pl.String),
        "value": pl.lit(None, dtype=pl.Float64),
        "missing_because": pl.lit(None, dtype=pl.String),
        "truth_passed": pl.lit(None, dtype=pl.Boolean),
        "truth_passed_renamed": pl.lit(None, dtype=pl.Boolean),
        "truth_apart": pl.lit(None, dtype=pl.Boolean),
        "truth_status": pl.lit(None, dtype=pl.String),
        "parse_kind": pl.lit(None, dtype=pl.String),
        "evidence": pl.lit(None, dtype=pl.String),
        "truncated": pl.lit(None, dtype=pl.Boolean),
        "edits_away": pl.lit(None, dtype=pl.Int64),
    }
    absent = {name: to for name, to in unknown.items() if name not in frame.columns}
    filled = frame.with_columns(**absent)
    names = ("author", "pass", "task", "suite", "judge")
    empty = [
        pl.col(name).cast(pl.String)
        for name, kind in filled.schema.items()
        if kind == pl.Null and name in names
    ]
    return filled.with_columns(
        *empty, pl.col("pass").cast(pl.String).fill_null(""), pl.col("value").cast(pl.Float64)
    )


def _check(frame: "pl.DataFrame") -> None:
    import polars as pl

    if frame.height == 0:
        raise DataError("the replay table holds no sample", hint="give samples of at least one checkpoint")
    if frame["parses"].null_count():
        row = frame.filter(pl.col("parses").is_null()).row(0, named=True)
        raise DataError(f"{_place(row)}: not known whether it parses", hint="parse every sample first")
    strange = frame.filter((pl.col("value") != 0) & (pl.col("value") != 1))
    if strange.height:
        row = strange.row(0, named=True)
        raise DataError(
            f"{_place(row)}, judge '{row['judge']}': the value is {row['value']}",
            hint="a verdict of this audit is 1 (accepted), 0 (not accepted) or missing",
        )
    twice = frame.filter(pl.struct(*SAMPLE, "judge").is_duplicated())
    if twice.height:
        row = twice.row(0, named=True)
        raise DataError(
            f"{_place(row)}: it stands there twice for judge {row['judge']!r}",
            hint="keep one row per sample and judge",
        )


def _place(row: Mapping[str, object]) -> str:
    run = f", pass '{row['pass']}'" if row["pass"] else ""
    return f"checkpoint '{row['author']}'{run}, task '{row['task']}', sample {row['sample']}"


# --- counting -----------------------------------------------------------------------------------------


def _by_problem(samples: "pl.DataFrame") -> "pl.DataFrame":
    import polars as pl

    parses, passed, renamed = pl.col("parses"), pl.col("truth_passed"), pl.col("truth_passed_renamed")
    return samples.group_by("author", "pass", "suite", "task", maintain_order=True).agg(
        n=pl.len().cast(pl.Int64),
        parsing=_count(parses),
        known=_count(passed.is_not_null()),
        passed=_count(passed),
        known_apart=_count(passed.is_not_null() & pl.col("truth_apart").is_not_null()),
        passed_apart=_count(passed & pl.col("truth_apart")),
        known_renamed=_count(renamed.is_not_null()),
        passed_renamed=_count(renamed),
        broken_passed=_count(~parses & (passed | renamed.fill_null(value=False))),
    )


def _by_judge(verdicts: "pl.DataFrame") -> "pl.DataFrame":
    import polars as pl

    parses, read, accepted = pl.col("parses"), pl.col("value").is_not_null(), pl.col("value") == 1
    passed = pl.col("truth_passed")
    return verdicts.group_by("judge", "author", "pass", "suite", "task", maintain_order=True).agg(
        n=pl.len().cast(pl.Int64),
        read=_count(read),
        accepted=_count(accepted),
        parsing_read=_count(parses & read),
        parsing_accepted=_count(parses & accepted),
        broken_read=_count(~parses & read),
        broken_accepted=_count(~parses & accepted),
        wrong_read=_count(~passed & read),
        wrong_accepted=_count(~passed & accepted),
        right_read=_count(passed & read),
        right_accepted=_count(passed & accepted),
    )


def _count(condition: "pl.Expr") -> "pl.Expr":
    import polars as pl

    return condition.sum().cast(pl.Int64)


def _keyed(frame: "pl.DataFrame", keys: Sequence[str]) -> list[tuple[tuple[str, ...], "pl.DataFrame"]]:
    parts = frame.partition_by(*keys, maintain_order=True, as_dict=True)
    return [(tuple(str(word) for word in key), part) for key, part in parts.items()]


def _parts(frame: "pl.DataFrame", keys: Sequence[str]) -> dict[Arm, "pl.DataFrame"]:
    return {Arm(*key): part for key, part in _keyed(frame, keys)}


def _successes(counted: "pl.DataFrame", n: str, c: str) -> Successes:
    kept = counted.filter(counted[n] > 0)
    asked = int(counted["n"].sum())
    return Successes(
        tasks=tuple(kept["task"].to_list()),
        n=kept[n].to_numpy(),
        c=kept[c].to_numpy(),
        asked=asked,
        missing=asked - int(counted[n].sum()),
        lost=counted.height - kept.height,
    )
