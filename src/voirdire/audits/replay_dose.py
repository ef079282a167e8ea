"""Dose: samples of a healthy checkpoint are damaged in a known share, and the judge is asked again.

An extra closing bracket is the damage that style does not show; a cut, a deleted return and a renamed function are
things that must move a judge that reads code. The movement of Pass@k by the judge stands beside that of the parse share.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from voirdire.audits._replay_curves import pass_at_every_k
from voirdire.audits._replay_gate import ratio_over_problems
from voirdire.audits._replay_rulings import percent
from voirdire.blocks import Cell, FigureBlock, TableBlock
from voirdire.edits.corruptions import Corruption
from voirdire.errors import DataError
from voirdire.lines import CASES_FOR_GENERAL, DOSE_SEEN
from voirdire.model import Estimate, Finding, FindingKind, Ruling, VerdictTable

if TYPE_CHECKING:
    import polars as pl

NEEDS = ("task", "sample", "edit", "dose", "damaged", "parses", "judge", "value")
"""One row per sample, edit, dose and judge; the undamaged samples stand under the edit '' with dose 0. `dose`: the share
of samples that were drawn for damage; `damaged`: whether this one was damaged; `value`: 1, 0 or null."""

BRACKET = Corruption.EXTRA_BRACKET.value
"""The edit that only a parser, or a reader, notices."""


@dataclass(frozen=True)
class Level:
    """One edit at one dose for one judge: what parses, what is accepted, and what became of the approvals.

    `judged`: Pass@k by the judge for k = 1, ..., K. `kept`: share of the damaged samples' approvals that were given again.
    """

    edit: str
    dose: float
    samples: int
    damaged: int
    missing: int
    parsing: float
    judged: NDArray[np.float64]
    kept: Estimate


def audit(table: VerdictTable) -> list[Finding]:
    """Return one finding per judge and edit: whether approval falls when the code is damaged.

    Raises DataError where a column is missing or a judge has no undamaged samples to compare with.
    """
    table.require(*NEEDS)
    judges = [str(judge) for judge in table.frame["judge"].unique(maintain_order=True)]
    return [finding for judge in judges for finding in _findings(judge, levels(table, judge))]


def levels(table: VerdictTable, judge: str) -> list[Level]:
    """Return the undamaged samples as a level of dose 0, then every edit and dose in the order of the table."""
    import polars as pl

    frame = table.frame.filter(pl.col("judge") == judge).with_columns(pl.col("value").cast(pl.Float64))
    base = frame.filter(pl.col("edit") == "")
    if not base.height:
        raise DataError(
            f"judge '{judge}': no undamaged samples to compare with",
            hint="keep the rows whose `edit` is '' and whose `dose` is 0",
        )
    before = base.select("task", "sample", pl.col("value").alias("before"))
    parts = frame.partition_by("edit", "dose", maintain_order=True)
    found = [_level(part, before) for part in parts]
    return sorted(found, key=lambda one: one.edit != "")


def _level(part: "pl.DataFrame", before: "pl.DataFrame") -> Level:
    import polars as pl

    joined = part.join(before, on=["task", "sample"], how="left", maintain_order="left")
    by_problem = joined.group_by("task", maintain_order=True).agg(
        read=pl.col("value").is_not_null().sum().cast(pl.Int64),
        accepted=(pl.col("value") == 1).sum().cast(pl.Int64),
        had=(pl.col("damaged") & (pl.col("before") == 1) & pl.col("value").is_not_null()).sum(),
        kept=(pl.col("damaged") & (pl.col("before") == 1) & (pl.col("value") == 1)).sum(),
    )
    read = by_problem.filter(pl.col("read") > 0)
    had = by_problem.filter(pl.col("had") > 0)
    curves = (
        pass_at_every_k(read["read"].to_numpy(), read["accepted"].to_numpy())
        if read.height
        else np.zeros((1, 0))
    )
    return Level(
        edit=part["edit"][0],
        dose=float(part["dose"][0]),
        samples=part.height,
        damaged=int(part["damaged"].sum()),
        missing=int(part["value"].null_count()),
        parsing=int(part["parses"].sum()) / part.height,
        judged=np.asarray(curves.mean(axis=0)),
        kept=ratio_over_problems(
            had["kept"].to_numpy().astype(np.float64), had["had"].to_numpy().astype(np.float64)
        ),
    )


def _findings(judge: str, found: Sequence[Level]) -> list[Finding]:
    base, edited = found[0], [one for one in found if one.edit]
    edits = list(dict.fromkeys(one.edit for one in edited))
    if not edits:
        return []
    table, figures = _table(judge, found), _figures(found)
    return [
        _finding(
            judge, base, [one for one in edited if one.edit == edit], (table, *figures) if place == 0 else ()
        )
        for place, edit in enumerate(edits)
    ]


def _movement(base: Level, strongest: Level, most: int) -> str:
    """Say how far Pass@k by the judge moves at the largest k, and at one attempt where that is another."""
    if not most:
        return "nothing was judged"
    at_most, at_one = (strongest.judged[place] - base.judged[place] for place in (most - 1, 0))
    said = f"Pass@{most} by the judge moves by {at_most:+.4f}"
    return said if most == 1 else f"{said}, Pass@1 by {at_one:+.4f}"


def _finding(
    judge: str, base: Level, doses: Sequence[Level], blocks: tuple[TableBlock | FigureBlock, ...]
) -> Finding:
    strongest = max(doses, key=lambda one: one.dose)
    lost = _lost(strongest.kept, strongest)
    ruling, why = _ruled(lost)
    most = min(len(base.judged), len(strongest.judged))
    movement = _movement(base, strongest, most)
    return Finding(
        id=f"{_name(strongest.edit)}/{strongest.edit}/{judge}",
        kind=FindingKind.AUDIT,
        name=_name(strongest.edit),
        subject=strongest.edit,
        judge=judge,
        sentence=(
            f"{strongest.edit[:1].upper()}{strongest.edit[1:]} in {percent(strongest.dose, 0)} of the samples: the parse share goes "
            f"from {percent(base.parsing)} to {percent(strongest.parsing)}, {movement}; of the approvals that the damaged "
            f"samples had, {percent(strongest.kept.value)} are given again: {why}."
        ),
        ruling=ruling,
        estimate=lost,
        line=DOSE_SEEN,
        blocks=blocks,
    )


def _name(edit: str) -> str:
    return "brackets" if edit == BRACKET else "damage"


def _lost(kept: Estimate, level: Level) -> Estimate:
    """Return the share of approvals that were taken back."""

    def turned(share: float | None) -> float | None:
        return None if share is None else 1 - share

    return Estimate(
        value=turned(kept.value),
        low=turned(kept.high),
        high=turned(kept.low),
        inner_low=turned(kept.inner_high),
        inner_high=turned(kept.inner_low),
        n=kept.n,
        unit=kept.unit,
        method=kept.method,
        missing={"damaged": level.missing},
        asked={"damaged": level.samples},
        note=kept.note,
    )


def _ruled(lost: Estimate) -> tuple[Ruling, str]:
    line = DOSE_SEEN.null + DOSE_SEEN.leak
    if lost.value is None or lost.low is None or lost.high is None:
        return Ruling.UNRESOLVED, "too little was approved before to see it taken back"
    if lost.n < CASES_FOR_GENERAL:
        return (
            Ruling.UNRESOLVED,
            f"{lost.n} problems are fewer than the {CASES_FOR_GENERAL} that a ruling needs",
        )
    if lost.high < line:
        return Ruling.LEAKS, "the judge does not see it"
    if lost.low > line:
        return Ruling.HOLDS, "the judge sees it"
    return Ruling.UNRESOLVED, "the interval allows that it takes back most of them and that it does not"


# --- shown --------------------------------------------------------------------------------------------


def _table(judge: str, found: Sequence[Level]) -> TableBlock:
    base = found[0]
    rows: list[list[Cell]] = []
    for one in found:
        most = min(len(base.judged), len(one.judged))
        first, last = (float(one.judged[0]), float(one.judged[most - 1])) if most else (None, None)
        moved = None if last is None else last - float(base.judged[most - 1])
        rows.append(
            [
                *(
                    one.edit or "none",
                    one.dose,
                    one.samples,
                    one.damaged,
                    one.parsing,
                    one.parsing - base.parsing,
                ),
                *(first, most, last, moved, one.kept.value if one.edit else None, one.missing),
            ]
        )
    return TableBlock(
        title=f"What {judge} makes of damaged samples",
        columns=(
            *("edit", "dose", "samples", "damaged", "parse share", "its movement"),
            *(
                "Pass@1 by the judge",
                "k",
                "Pass@k by the judge",
                "its movement",
                "approvals given again",
                "missing answers",
            ),
        ),
        rows=rows,
        note="The same samples, a seeded share of them damaged; each damage of a bracket was verified to break parsing.",
    )


def _figures(found: Sequence[Level]) -> list[FigureBlock]:
    base = found[0]
    doses = [one for one in found if one.edit == BRACKET]
    if len(doses) < 2:
        return []
    most = min(len(one.judged) for one in (base, *doses))
    rows: list[dict[str, Cell]] = []
    for one in (base, *doses):
        rows.append({"x": one.dose, "y": one.parsing, "group": "parse share"})
        rows += [
            {"x": one.dose, "y": float(one.judged[k - 1]), "group": f"Pass@{k} by the judge"}
            for k in (sorted({1, most}) if most else ())
        ]
    return [
        FigureBlock(
            title="Dose of extra brackets",
            kind="curve",
            rows=rows,
            options={"x_title": "share of samples with an extra closing bracket", "y_title": "share"},
            caption="A judge that reads code would fall with the parse share.",
        )
    ]
