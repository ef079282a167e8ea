"""Position: what recorded pairwise verdicts in both orders say about accuracy, agreement and slot preference.

Reads verdicts on pairs that were shown in both orders. A response that wins more often when it stands first is
preferred for its slot; what was drawn is the instance, so every interval counts instances.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from voirdire.blocks import Block, Cell, FigureBlock, TableBlock, TextBlock
from voirdire.errors import DataError
from voirdire.lines import BETTER, POSITION, Line, too_few
from voirdire.model import (
    Estimate,
    Expectation,
    Finding,
    FindingKind,
    Measurement,
    StatedRule,
    Unit,
    VerdictTable,
)

if TYPE_CHECKING:
    import polars as pl

NEEDS = ("item", "judge", "value", "order")
"""Besides: `truth_label` ('a' or 'b', the better response), `subset`, `model`, `slots`, `repeat`."""

WIN_OF_FIRST: Mapping[str, float] = {"first": 1.0, "tie": 0.5, "second": 0.0}
"""What a verdict gives the response shown first."""

KNOWN: Mapping[str, Sequence[str]] = {
    "value": tuple(WIN_OF_FIRST),
    "order": ("ab", "ba"),
    "truth_label": ("a", "b"),
}
"""What the columns may hold besides null."""

RECORDED = StatedRule(
    permits=None, agree=0, asked=0, missing=0, note="recorded verdicts: the judge cannot be asked"
)

Settle = Callable[[Estimate, Line], str]
"""Says what would settle an unresolved estimate."""


@dataclass(frozen=True)
class Pair:
    """One instance asked in both orders: what response a won with a first and with b first; None: missing.

    `better` is the response known to be better; None: not known.
    """

    item: str
    ab: float | None
    ba: float | None
    better: str | None

    @property
    def advantage(self) -> float | None:
        """What a wins when it stands first, less what it wins when it stands second: -1 to 1."""
        return None if self.ab is None or self.ba is None else self.ab - self.ba

    @property
    def right(self) -> tuple[float | None, float | None]:
        """What the better response won in each order."""
        return self._of_better(self.ab), self._of_better(self.ba)

    def _of_better(self, win: float | None) -> float | None:
        return win if win is None or self.better == "a" else 1 - win


@dataclass(frozen=True)
class Tally:
    """One judge's pairs (in one subset, or in all: ''). `slots` False: responses were never shown together."""

    judge: str
    subset: str
    pairs: Sequence[Pair] = field(repr=False)
    unpaired: int
    slots: bool
    model: str

    @cached_property
    def both_read(self) -> list[Pair]:
        """The pairs of which both orders could be read."""
        return [pair for pair in self.pairs if pair.advantage is not None]

    @cached_property
    def labelled(self) -> list[Pair]:
        """The pairs of which the better response is known."""
        return [pair for pair in self.pairs if pair.better is not None]

    @cached_property
    def slot_preference(self) -> Estimate:
        """The first-slot advantage: a response's win share shown first less its win share shown second.

        In [-1, 1]; above 0 the first slot wins. With winners only, the interval is Tango's and the p value the exact
        sign test among the inconsistent pairs; with ties or repeats a t interval and a sign-flip test.
        """
        return _mean_shift(self, [pair.advantage or 0.0 for pair in self.both_read])

    @cached_property
    def better_preference(self) -> Estimate:
        """The win share of the better response less that of the other, in [-1, 1]; by instance, over both orders."""
        known = [pair for pair in self.both_read if pair.better is not None]
        return _mean_shift(self, [sum(right or 0.0 for right in pair.right) - 1 for pair in known])

    @cached_property
    def missing(self) -> Mapping[str, int]:
        """How many verdicts are missing, by order."""
        return {
            "a first": sum(pair.ab is None for pair in self.pairs),
            "b first": sum(pair.ba is None for pair in self.pairs),
        }

    @cached_property
    def asked(self) -> Mapping[str, int]:
        """How many verdicts there are, by order."""
        return {"a first": len(self.pairs), "b first": len(self.pairs)}


# --- shares: percentages as published, and as we count ------------------------------------------------


@dataclass(frozen=True)
class Published:
    """The statistics as LLMBar publishes them, in percent: a missing winner is wrong, two missing ones agree."""

    correct_ab: float
    correct_ba: float
    correct_average: float
    correct_both: float
    equal: float


def as_published(tally: Tally) -> Published | None:
    """Return the source's own statistics; None where no better response is known."""
    rights = [pair.right for pair in tally.labelled]
    if not rights:
        return None
    ab, ba = (_percent(right[order] or 0.0 for right in rights) for order in (0, 1))
    return Published(
        correct_ab=ab,
        correct_ba=ba,
        correct_average=(ab + ba) / 2,
        correct_both=_percent(float(right == (1.0, 1.0)) for right in rights),
        equal=_percent(float(pair.ab == pair.ba) for pair in tally.pairs),
    )


def _percent(values: Iterable[float]) -> float:
    listed = list(values)
    return 100 * sum(listed) / len(listed)


def accuracy(tally: Tally) -> Estimate:
    """Return the share of readable verdicts that name the better response, both orders averaged by instance.

    Counts instances of which both orders could be read; ties half. The value lies in [0, 1].
    """
    shift = tally.better_preference
    return replace(
        shift,
        value=_share(shift.value),
        low=_share(shift.low),
        high=_share(shift.high),
        inner_low=_share(shift.inner_low),
        inner_high=_share(shift.inner_high),
        bounds=None,
        method=f"half of one plus: {shift.method}",
    )


def _share(shift: float | None) -> float | None:
    return None if shift is None else (1 + shift) / 2


def agreement(tally: Tally) -> Estimate:
    """Return the share of instances with the same winner in both orders, of those where both could be read."""
    from voirdire.stats.proportion import wilson
    from voirdire.stats.shares import mean_share

    same = [1 - abs(pair.advantage or 0.0) for pair in tally.both_read]
    if not same:
        return _nothing_read(tally)
    if all(value in (0.0, 1.0) for value in same):
        estimate = wilson(int(sum(same)), len(same), unit="instances")
    else:
        estimate = mean_share(same, unit="instances")
    return replace(estimate, missing=tally.missing, asked=tally.asked)


# --- shifts -------------------------------------------------------------------------------------------


def _mean_shift(tally: Tally, shifts: Sequence[float]) -> Estimate:
    from voirdire.stats.paired import McNemarTest, paired_bounds, paired_mean, paired_proportion

    if not shifts:
        return _nothing_read(tally)
    if all(shift in (-1.0, 0.0, 1.0) for shift in shifts):
        plus, minus = shifts.count(1.0), shifts.count(-1.0)
        zero = len(shifts) - plus - minus
        estimate = paired_proportion(plus, minus, zero, test=McNemarTest.EXACT, unit="instances")
    else:
        estimate = paired_mean(shifts, span=1.0, unit="instances")
    lost = len(tally.pairs) - len(tally.both_read)
    bounds = paired_bounds(shifts, missing=lost, span=1.0) if lost else None
    return replace(estimate, missing=tally.missing, asked=tally.asked, bounds=bounds)


def _nothing_read(tally: Tally) -> Estimate:
    return Estimate(
        value=None,
        unit="instances",
        missing=tally.missing,
        asked=tally.asked,
        note="no instance of which both orders could be read and counted",
    )


# --- from the table -----------------------------------------------------------------------------------


def tallies(table: VerdictTable, *, by_subset: bool = False) -> list[Tally]:
    """Return one tally per judge, or per judge and subset, in the order of the table.

    Repeats of an instance become one pair, of their means. An instance asked in one order only is counted as
    `unpaired`. Raises DataError for a value or an order that no pairwise verdict has, and for a verdict twice.
    """
    import polars as pl

    table.require(*NEEDS)
    frame = _completed(table.frame)
    _check(frame)
    first = pl.col("value").replace_strict(WIN_OF_FIRST, return_dtype=pl.Float64)
    of_a = pl.when(pl.col("order") == "ab").then(first).otherwise(1 - first)
    by_pair = (
        frame.with_columns(win=of_a)
        .group_by("judge", "subset", "item", maintain_order=True)
        .agg(
            *(pl.col("win").filter(order=order).mean().alias(order) for order in ("ab", "ba")),
            pl.col("order").n_unique().alias("orders"),
            pl.col("truth_label", "slots", "model").first(),
        )
    )
    keys = ["judge", "subset"] if by_subset else ["judge"]
    groups = by_pair.partition_by(*keys, maintain_order=True)
    return [_tally(group, by_subset=by_subset) for group in groups]


def _completed(frame: "pl.DataFrame") -> "pl.DataFrame":
    """Return the columns used, those that are not there filled with what stands for unknown."""
    import polars as pl

    standing_for_unknown = {
        "subset": pl.lit(""),
        "model": pl.col("judge"),
        "truth_label": pl.lit(None, dtype=pl.String),
        "slots": pl.lit(True),
        "repeat": pl.lit(0),
        "question": pl.lit(""),
    }
    absent = {name: to for name, to in standing_for_unknown.items() if name not in frame.columns}
    filled = frame.with_columns(**absent).select(*NEEDS, *standing_for_unknown)
    return filled.with_columns(pl.col(pl.Null).cast(pl.String))


def _check(frame: "pl.DataFrame") -> None:
    import polars as pl

    if frame["question"].n_unique() > 1:
        raise DataError(
            f"verdicts on several questions: {sorted(frame['question'].unique().to_list())}",
            hint="keep the rows of the question which response is better",
        )
    for column, known in KNOWN.items():
        if frame.schema[column] != pl.String:
            raise DataError(
                f"column '{column}' holds {frame.schema[column]}, not text", hint=f"known: {', '.join(known)}"
            )
        strange = frame.filter(~pl.col(column).is_in(known).fill_null(column != "order"))
        if strange.height:
            row = strange.row(0, named=True)
            raise DataError(
                f"item '{row['item']}', judge '{row['judge']}': {column} is '{row[column]}'",
                hint=f"known: {', '.join(known)}",
            )
    twice = frame.filter(pl.struct("judge", "item", "order", "repeat").is_duplicated())
    if twice.height:
        row = twice.row(0, named=True)
        raise DataError(
            f"item '{row['item']}', judge '{row['judge']}', order {row['order']}: repeat {row['repeat']} stands there twice",
            hint="number repeats from 0, or keep one of the rows",
        )


def _tally(group: "pl.DataFrame", *, by_subset: bool) -> Tally:
    paired = group.filter(orders=2)
    pairs = [Pair(*row) for row in paired.select("item", "ab", "ba", "truth_label").iter_rows()]
    return Tally(
        judge=group["judge"][0],
        subset=group["subset"][0] if by_subset else "",
        pairs=pairs,
        unpaired=group.height - len(pairs),
        slots=bool(group["slots"].all()),
        model=group["model"][0],
    )


# --- what is handed on --------------------------------------------------------------------------------


def measurements(table: VerdictTable, *, settle: Settle | None = None) -> list[Measurement]:
    """Return one measurement per judge that saw both responses together: slot preference, ready for a ruling.

    Sorted by falling advantage. The control is that the response known to be better wins more than the other one.
    `settle` writes what would settle an unresolved ruling.
    """
    judges = sorted(tallies(table), key=_by_advantage)
    return [_measurement(tally, settle) for tally in judges if tally.slots]


def families(table: VerdictTable, *, settle: Settle | None = None) -> dict[str, list[Measurement]]:
    """Return the measurements by the family in which they are to be corrected: one, of all judges in the record."""
    return {"recorded judges": measurements(table, settle=settle)}


def _measurement(tally: Tally, settle: Settle | None) -> Measurement:
    estimate = tally.slot_preference
    return Measurement(
        probe="position",
        subject=tally.judge,
        estimate=estimate,
        line=POSITION,
        expect=Expectation.INVARIANT,
        unit=Unit.ITEM,
        control=tally.better_preference if tally.labelled else None,
        control_line=BETTER,
        control_expect=Expectation.HIGHER,
        withheld="" if estimate.value is None else too_few(estimate.n, "instances"),
        settles=settle(estimate, POSITION) if settle else "",
        rule=RECORDED,
        flags=_unpaired(tally),
    )


def _unpaired(tally: Tally) -> tuple[str, ...]:
    if not tally.unpaired:
        return ()
    said = "1 instance was" if tally.unpaired == 1 else f"{tally.unpaired:,} instances were"
    return (f"{said} asked in one order only and left out",)


def audit(table: VerdictTable) -> list[Finding]:
    """Return one descriptive finding: all judges side by side, without a ruling (see `measurements`)."""
    judges = sorted(tallies(table), key=_by_advantage)
    blocks: tuple[Block, ...] = (
        *_figure(judges),
        _judges_table(judges),
        *_subsets_table(table),
        *_about_slots(judges),
    )
    return [
        Finding(
            id="position/overview",
            kind=FindingKind.AUDIT,
            name="position",
            subject=f"{len(judges)} judges",
            judge="recorded",
            sentence=_sentence(judges),
            line=POSITION,
            flags=tuple(f"{tally.judge}: {flag}" for tally in judges for flag in _unpaired(tally)),
            blocks=blocks,
        )
    ]


def _by_advantage(tally: Tally) -> tuple[bool, float, str]:
    """Sort by falling advantage; judges without slots come last."""
    value = tally.slot_preference.value
    unknown = not tally.slots or value is None
    return unknown, -(value or 0.0), tally.judge


def _sentence(judges: Sequence[Tally]) -> str:
    verdicts = sum(sum(tally.asked.values()) for tally in judges)
    ranked = [tally for tally in judges if tally.slots and tally.both_read]
    if not ranked:
        return f"{len(judges)} judges, {verdicts:,} verdicts: none can have a preference for a slot."
    most, least = ranked[0], ranked[-1]
    return (
        f"{len(judges)} judges, {verdicts:,} verdicts in both orders: the first-slot advantage reaches from "
        f"{least.slot_preference.value:+.2f} ({least.judge}) to {most.slot_preference.value:+.2f} ({most.judge})."
    )


JUDGE_COLUMNS = (
    "judge",
    "instances",
    "accuracy, missing is wrong",
    "accuracy of both read",
    "same winner, two missing agree",
    "same winner of both read",
    "first-slot advantage",
    "low",
    "high",
    "p (sign test)",
    "first both times",
    "second both times",
    "missing, a first",
    "missing, b first",
)


def _judges_table(judges: Sequence[Tally]) -> TableBlock:
    return TableBlock(
        title="Both orders, judge by judge",
        columns=JUDGE_COLUMNS,
        rows=[_judge_row(tally) for tally in judges],
        note=(
            "Sorted by advantage. Accuracy and agreement stand twice: as the source counts them (a missing winner is "
            "wrong, two missing ones agree), and over the instances of which both orders could be read."
        ),
    )


def _judge_row(tally: Tally) -> list[Cell]:
    published, slot = as_published(tally), tally.slot_preference
    shifts = [pair.advantage for pair in tally.both_read]
    missing = tally.missing
    numbers = [
        published.correct_average / 100 if published else None,
        accuracy(tally).value,
        published.equal / 100 if published else None,
        agreement(tally).value,
    ]
    preference = [slot.value, slot.low, slot.high, slot.p_value] if tally.slots else [None] * 4
    counts = [shifts.count(1.0), shifts.count(-1.0)] if tally.slots else [None] * 2
    return [
        tally.judge,
        len(tally.pairs),
        *numbers,
        *preference,
        *counts,
        missing["a first"],
        missing["b first"],
    ]


def _subsets_table(table: VerdictTable) -> tuple[TableBlock, ...]:
    parts = tallies(table, by_subset=True)
    if len({tally.subset for tally in parts}) < 2:
        return ()
    rows = [
        [tally.subset, *_judge_row(tally)]
        for tally in sorted(parts, key=lambda t: (t.subset, *_by_advantage(t)))
    ]
    columns = ("subset", *JUDGE_COLUMNS)
    return (TableBlock(title="Both orders, by subset and judge", columns=columns, rows=rows),)


def _figure(judges: Sequence[Tally]) -> tuple[FigureBlock, ...]:
    shown = [(tally, tally.slot_preference) for tally in judges if tally.slots and tally.both_read]
    rows = [
        {"label": tally.judge, "value": slot.value, "low": slot.low, "high": slot.high, "group": tally.model}
        for tally, slot in shown
    ]
    if not rows:
        return ()
    figure = FigureBlock(
        title="Slot preference by judge",
        kind="intervals",
        rows=rows,
        options={
            "lines": [-POSITION.leak, POSITION.null, POSITION.leak],
            "x_title": "win share shown first less win share shown second",
            "domain": [-1.0, 1.0],
        },
        caption="Right of 0 the first slot wins, left of it the second. 95 % intervals over instances.",
    )
    return (figure,)


def _about_slots(judges: Sequence[Tally]) -> tuple[TextBlock, ...]:
    without = [tally.judge for tally in judges if not tally.slots]
    if not without:
        return ()
    text = (
        f"{', '.join(without)} rated one response at a time, so there was no slot to prefer. Their two orders differ "
        "only where both ratings were equal and the order decided, always for the second: that lowers their agreement."
    )
    return (TextBlock(title="Judges without slots", text=text),)
