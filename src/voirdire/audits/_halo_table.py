"""The table of a halo audit: who wrote which answer, what the judge said of it, what came of running it.

An answer fails with tests that pass, or with none: the second kind is where a judge's score can only follow style. What
never ran as it was meant (does not apply, does not parse, does not import, a broken environment) is set apart by name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from voirdire.errors import DataError
from voirdire.model import VerdictTable

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

NEEDS = ("system", "task", "judge", "value", "truth_status")
"""Besides: author (the model), harness, sample, repository, reason, missing_because, label_chance, text, language; and how
many tests passed: target_passed, target_total (those that had to start passing), tests_passed, tests_total (all)."""

RANKED_FROM = 20
"""Zero-pass answers below which a system is listed, not ranked."""

NEVER_RAN = ("not_run",)
NEAR_MISSES = {
    "not_applied": "does not apply",
    "unparsable": "does not parse",
    "no_entry_point": "does not define what is called",
    "infrastructure": "infrastructure",
}
"""Statuses of answers that failed for a mechanical reason."""

DOES_NOT_IMPORT = "does not import"
IMPORT_ERRORS = r"^(ImportError|ModuleNotFoundError|NameError)\b"
"""How the reason of a failure begins where a program could not be loaded."""


class Zero(StrEnum):
    """The two definitions of passing nothing."""

    TARGET = "no test passes that had to start passing"
    ANY = "no test passes at all"


class Stratum(StrEnum):
    """Which answers are looked at."""

    ALL = "all"
    FAILED = "failed"
    ZERO_TARGET = "zero_target"
    ZERO_ANY = "zero_any"


STRATUM_OF = {Zero.TARGET: Stratum.ZERO_TARGET, Zero.ANY: Stratum.ZERO_ANY}


class Grouping(StrEnum):
    """What is compared: column of the table by which answers are grouped."""

    SYSTEM = "system"
    MODEL = "author"
    HARNESS = "harness"

    @property
    def noun(self) -> str:
        """What one group is called."""
        return {"system": "system", "author": "model", "harness": "harness"}[self.value]

    @property
    def plural(self) -> str:
        """What several groups are called."""
        return "harnesses" if self is Grouping.HARNESS else f"{self.noun}s"


@dataclass(frozen=True)
class HaloOptions:
    """What a halo audit is told. `scale`: ends of the judges' scale; None: 0 to 1. `scales`: of judges with their own.

    `everywhere`: pairs of systems outside the resolution limit are corrected too. `labels_drawn`: executed answers are taken
    as drawn at random whatever their scores look like. `execute_next`: how many further answers are named for execution.
    """

    scale: tuple[float, float] | None = None
    everywhere: bool = False
    labels_drawn: bool = False
    execute_next: int = 50
    seed: int = 0
    scales: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Answers:
    """The answers that one judge was asked about, one row each, with the strata as further columns.

    `scored` holds those with a score. Scores lie between 0 and 1.
    """

    judge: str
    frame: "pl.DataFrame"

    @cached_property
    def scored(self) -> "pl.DataFrame":
        """The answers that have a score."""
        return self.frame.filter(self.frame["value"].is_not_null())

    def stratum(self, stratum: Stratum, *, near_misses: bool = True) -> "pl.DataFrame":
        """Return the scored answers of a stratum, with or without mechanical near-misses."""
        import polars as pl

        found = self.scored.filter(pl.col(stratum.value))
        return found if near_misses else found.filter(pl.col("near_miss").is_null())

    def missing(self, grouping: Grouping = Grouping.SYSTEM) -> dict[str, int]:
        """Return by group how many answers have no score."""
        gone = self.frame.filter(self.frame["value"].is_null())
        counts = dict(gone.group_by(grouping.value).len().iter_rows())
        return {name: int(counts.get(name, 0)) for name in self.asked(grouping)}

    def asked(self, grouping: Grouping = Grouping.SYSTEM) -> dict[str, int]:
        """Return by group how many answers there are."""
        counts = self.frame.group_by(grouping.value).len().sort(grouping.value)
        return {str(name): int(n) for name, n in counts.iter_rows()}

    def groupings(self) -> list[Grouping]:
        """Return what can be compared: at least two groups, and not the same as the systems."""
        found = [Grouping.SYSTEM]
        for one in (Grouping.MODEL, Grouping.HARNESS):
            named = self.frame[one.value]
            if 1 < named.n_unique() < self.frame["system"].n_unique() and not named.null_count():
                found.append(one)
        return found

    def of_model(self, model: str) -> "Answers":
        """Return the answers of one model, whatever the harness."""
        return Answers(self.judge, self.frame.filter(self.frame["author"] == model))

    def models_with_harnesses(self) -> list[str]:
        """Return the models that were run in two harnesses or more."""
        import polars as pl

        known = self.frame.filter(pl.col("author").is_not_null() & pl.col("harness").is_not_null())
        counts = known.group_by("author").agg(pl.col("harness").n_unique()).sort("author")
        return [str(name) for name, harnesses in counts.iter_rows() if harnesses > 1]


def answers_of(table: VerdictTable, options: HaloOptions | None = None) -> list[Answers]:
    """Return the answers by judge, in the order of the table.

    Scores are brought to 0 to 1 from the scales that the options give. Raises DataError for columns that
    are not there, no score at all, one outside the scale, an answer scored twice, or truth that contradicts itself.
    """
    import polars as pl

    table.require(*NEEDS)
    frame = _completed(table.frame)
    _check_twice(frame)
    frame = _scaled(frame, options or HaloOptions())
    _check_truth(frame)
    frame = _with_strata(frame)
    judged = frame.filter(pl.col("judge").is_not_null())
    if not judged["value"].is_not_null().any():
        raise DataError(
            "no answer has a score",
            hint="add a column `score` with `judge`, or give recorded verdicts with --scores",
        )
    return [
        Answers(str(part["judge"][0]), part) for part in judged.partition_by("judge", maintain_order=True)
    ]


def plain_answers(table: VerdictTable) -> Answers:
    """Return the answers alone, each once, with truth and strata but without any judge."""
    table.require("system", "task", "truth_status")
    import polars as pl

    frame = _completed(table.frame).with_columns(
        pl.lit(None, dtype=pl.String).alias("judge"), pl.lit(None, dtype=pl.Float64).alias("value")
    )
    frame = frame.unique(["system", "task", "sample"], keep="first", maintain_order=True)
    _check_truth(frame)
    return Answers("", _with_strata(frame))


def _completed(frame: "pl.DataFrame") -> "pl.DataFrame":
    """Return the columns used, with their kinds; those that are not there are empty."""
    import polars as pl

    kinds: dict[str, pl.DataType] = {
        **dict.fromkeys(("item", "system", "task", "author", "harness", "judge", "repository"), pl.String()),
        **dict.fromkeys(("truth_status", "reason", "missing_because", "text", "language"), pl.String()),
        **dict.fromkeys(("value", "label_chance"), pl.Float64()),
        **dict.fromkeys(
            ("sample", "target_passed", "target_total", "tests_passed", "tests_total"), pl.Int64()
        ),
        "truth_passed": pl.Boolean(),
    }
    absent = {name: pl.lit(None, dtype=kind) for name, kind in kinds.items() if name not in frame.columns}
    filled = frame.with_columns(**absent).select(pl.col(name).cast(kind) for name, kind in kinds.items())
    return filled.with_columns(
        pl.col("sample").fill_null(0),
        pl.col("truth_passed").fill_null(
            pl.when(pl.col("truth_status").is_not_null()).then(pl.col("truth_status") == "passed")
        ),
        pl.col("item").fill_null(pl.format("{}/{}", "system", "task")),
    )


def _check_twice(frame: "pl.DataFrame") -> None:
    import polars as pl

    twice = frame.filter(pl.struct("judge", "system", "task", "sample").is_duplicated())
    if twice.height:
        row = twice.row(0, named=True)
        raise DataError(
            f"system '{row['system']}', task '{row['task']}', sample {row['sample']}: it stands there twice"
            + (f" for judge '{row['judge']}'" if row["judge"] else ""),
            hint="number the samples of a system on one task from 0 in a column `sample`",
        )


def _scaled(frame: "pl.DataFrame", options: HaloOptions) -> "pl.DataFrame":
    import polars as pl

    for one in (options.scale, *options.scales.values()):
        if one is not None and not one[0] < one[1]:
            raise DataError(
                f"a scale from {one[0]:g} to {one[1]:g} is none",
                hint="give its low end first, as in --scale 0,10",
            )
    low, high = options.scale or (0.0, 1.0)
    own = {judge: ends for judge, ends in options.scales.items() if judge in set(frame["judge"].to_list())}
    ends = [
        pl.col("judge")
        .replace_strict(
            {judge: one[end] for judge, one in own.items()}, default=None, return_dtype=pl.Float64
        )
        .fill_null(other)
        .alias(name)
        for end, other, name in ((0, low, "scale_low"), (1, high, "scale_high"))
    ]
    frame = frame.with_columns(*ends) if own else frame.with_columns(scale_low=low, scale_high=high)
    value = pl.col("value")
    strange = frame.filter((value < pl.col("scale_low")) | (value > pl.col("scale_high")) | value.is_nan())
    if strange.height:
        row = strange.row(0, named=True)
        raise DataError(
            f"system '{row['system']}', task '{row['task']}': the score is {row['value']:g}, "
            f"outside {row['scale_low']:g} to {row['scale_high']:g}",
            hint="say the ends of the judge's scale, as in --scale 0,10",
        )
    span = pl.col("scale_high") - pl.col("scale_low")
    return frame.with_columns((value - pl.col("scale_low")) / span).drop("scale_low", "scale_high")


def _check_truth(frame: "pl.DataFrame") -> None:
    import polars as pl

    wrong = frame.filter((pl.col("truth_status") == "passed") != pl.col("truth_passed"))
    if wrong.height:
        row = wrong.row(0, named=True)
        raise DataError(
            f"system '{row['system']}', task '{row['task']}': status '{row['truth_status']}', but passed is "
            f"{str(row['truth_passed']).lower()}",
            hint="correct one of the two",
        )


def _with_strata(frame: "pl.DataFrame") -> "pl.DataFrame":
    import polars as pl

    status = pl.col("truth_status")
    broken = pl.col("reason").str.contains(IMPORT_ERRORS) & status.is_in(["failed", "error"])
    near = status.replace_strict(NEAR_MISSES, default=None, return_dtype=pl.String)
    frame = frame.with_columns(
        pl.when(broken.fill_null(False)).then(pl.lit(DOES_NOT_IMPORT)).otherwise(near).alias("near_miss")
    )
    ran = status.is_not_null() & ~status.is_in(NEVER_RAN).fill_null(False)
    failed = (ran & ~pl.col("truth_passed")).fill_null(False)
    mechanical = pl.col("near_miss").is_not_null()
    nothing = {
        name: failed & (mechanical | (pl.col(f"{tests}_passed") == 0).fill_null(False))
        for name, tests in (("zero_target", "target"), ("zero_any", "tests"))
    }
    known = ran & (status != "infrastructure").fill_null(False)
    return frame.with_columns(
        known.alias("known"), pl.lit(True).alias("all"), failed.alias("failed"), **nothing
    )


# --- arrays -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Columns:
    """Columns of some answers as arrays, all of one length."""

    group: Sequence[str]
    task: "NDArray[np.str_]"
    value: "NDArray[np.float64]"


def columns(frame: "pl.DataFrame", grouping: Grouping, *, value: str = "value") -> Columns:
    """Return group, task and a number of each answer."""
    import numpy as np
    import polars as pl

    return Columns(
        group=frame[grouping.value].to_list(),
        task=np.asarray(frame["task"].to_list(), dtype=np.str_),
        value=frame[value].cast(pl.Float64).to_numpy(),
    )


def ranked_groups(frame: "pl.DataFrame", grouping: Grouping) -> list[str]:
    """Return the groups with enough answers in a stratum to be ranked, sorted."""
    import polars as pl

    counts = frame.group_by(grouping.value).len().filter(pl.col("len") >= RANKED_FROM)
    return sorted(str(name) for name in counts[grouping.value])
