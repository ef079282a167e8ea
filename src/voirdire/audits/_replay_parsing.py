"""What parses: shares by checkpoint, pass and suite, other readings of the same answers, kinds of fault, the alarm."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from voirdire.audits._replay_counts import Arm, Reading, Replay
from voirdire.audits._replay_rulings import counted, percent, ruled, three_over
from voirdire.blocks import Block, Cell, TableBlock, TextBlock
from voirdire.lines import CONFIDENCE, EXECUTION_CREDIT, PARSE_CHANGE
from voirdire.model import Estimate, Finding, FindingKind, Ruling
from voirdire.stats.equivalence import unmoved_units_needed
from voirdire.stats.paired import paired_mean
from voirdire.stats.proportion import clopper_pearson
from voirdire.stats.shares import mean_share

if TYPE_CHECKING:
    import polars as pl

SAMPLES = "samples"
"""What findings name as their judge that are about samples, whoever judged them."""

NAME = "parse_share"
READINGS = {
    "parses": "last block",
    "parses_tagged": "last block tagged with the language",
    "parses_first": "first block",
    "parses_any": "any block",
}
LEAST_DRAWN = 1e-4
"""Where the lower end of an interval reaches 0, which a log scale lacks, its band ends here."""

EXAMPLES = 40
"""Rows of the table of faults that carry an example."""


def findings(replay: Replay) -> list[Finding]:
    """Return the overview, one finding per checkpoint and two of its passes, and the check of the harness."""
    return [_overview(replay), *changes(replay), *_harness(replay)]


def parse_share(replay: Replay, arm: Arm) -> Estimate:
    """Return the share of samples that parse, the mean over problems with its interval over them."""
    counted = replay.successes(arm, Reading.PARSING)
    return mean_share(counted.c / counted.n, unit="problems")


def _overview(replay: Replay) -> Finding:
    blocks: tuple[Block, ...] = (
        _shares(replay),
        *_by_suite(replay),
        *_readings(replay),
        *_faults(replay),
        *_distances(replay),
    )
    worst = min(replay.arms, key=lambda arm: replay.successes(arm, Reading.PARSING).rate or 0.0)
    share = replay.successes(worst, Reading.PARSING).rate
    least = None if share is None else 1 - share
    return Finding(
        id=f"{NAME}/overview",
        kind=FindingKind.AUDIT,
        name=NAME,
        subject=counted(len(replay.arms), "set") + " of samples",
        judge=SAMPLES,
        sentence=(
            f"{counted(replay.samples.height, 'sample')} of {counted(len(replay.authors), 'checkpoint')} "
            f"in {counted(len(replay.runs), 'pass')}: "
            f"at worst {percent(least)} do not parse ({worst})."
        ),
        blocks=blocks,
    )


def _shares(replay: Replay) -> TableBlock:
    rows: list[list[Cell]] = []
    for arm in replay.arms:
        share = parse_share(replay, arm)
        n = replay.total(arm, "n")
        rows.append(
            [
                *(arm.author, arm.run, replay.problems(arm).height, n, n - replay.total(arm, "parsing")),
                *(share.value, share.low, share.high),
            ]
        )
    return TableBlock(
        title="Share of samples that parse",
        columns=("checkpoint", "pass", "problems", "samples", "not parsing", "parse share", "low", "high"),
        rows=rows,
        note="The mean over problems, with its 95 % interval over problems. Empty code does not parse.",
    )


def _by_suite(replay: Replay) -> list[TableBlock]:
    if len(replay.suites) < 2:
        return []
    rows: list[list[Cell]] = []
    for arm in replay.arms:
        for suite in replay.suites:
            part = replay.problems(arm)
            part = part.filter(part["suite"] == suite)
            n, parsing = int(part["n"].sum()), int(part["parsing"].sum())
            if n:
                rows.append([arm.author, arm.run, suite, part.height, n, n - parsing, 1 - parsing / n])
    columns = ("checkpoint", "pass", "suite", "problems", "samples", "not parsing", "share not parsing")
    return [TableBlock(title="Not parsing, by suite", columns=columns, rows=rows)]


def by_pass(replay: Replay) -> tuple[list[dict[str, Cell]], dict[str, object]]:
    """Return the rows and the options of the panel of shares that do not parse, by pass, on a log scale.

    Samples that all parse have no place on a log scale and are left out.
    """
    places = {run: place for place, run in enumerate(replay.runs, start=1)}
    rows: list[dict[str, Cell]] = []
    for arm in replay.arms:
        share = parse_share(replay, arm)
        if share.value is not None and share.value < 1:
            low = None if share.high is None else max(1 - share.high, LEAST_DRAWN)
            high = None if share.low is None else 1 - share.low
            row: dict[str, Cell] = {"x": places[arm.run], "y": 1 - share.value, "group": arm.author}
            rows.append({**row, "low": low, "high": high})
    order = ", ".join(f"{place}: {run or 'the only one'}" for run, place in places.items())
    return rows, {
        "x_title": f"pass ({order})",
        "x_ticks": list(places.values()),
        "y_title": "share not parsing, log scale",
        "log_y": True,
    }


def _readings(replay: Replay) -> list[TableBlock]:
    present = [name for name in READINGS if name in replay.samples.columns]
    if len(present) < 2:
        return []
    rows: list[list[Cell]] = []
    for arm in replay.arms:
        part = _of(replay, arm)
        shares = [part[name].mean() for name in present]
        changed = [int((part[name] != part["parses"]).sum()) for name in present[1:]]
        rows.append(
            [arm.author, arm.run, *(None if one is None else float(str(one)) for one in shares), *changed]
        )
    return [
        TableBlock(
            title="Parse share by how the code is taken from the answer",
            columns=(
                *("checkpoint", "pass"),
                *(READINGS[name] for name in present),
                *(f"changed: {READINGS[name]}" for name in present[1:]),
            ),
            rows=rows,
            note="The first reading counts in all that follows. Changed: samples that parse under one of the two only.",
        )
    ]


def _faults(replay: Replay) -> list[TableBlock]:
    """Return the kinds of fault by arm, with one line of evidence each."""
    import polars as pl

    broken = replay.samples.filter(~pl.col("parses"))
    if not broken.height or broken["parse_kind"].is_null().all():
        return []
    grouped = (
        broken.group_by("author", "pass", "parse_kind", maintain_order=True)
        .agg(
            pl.len().alias("samples"),
            pl.col("truncated").sum().alias("truncated"),
            pl.col("task").first().alias("of_task"),
            pl.col("sample").first().alias("of_sample"),
            pl.col("evidence").first(),
        )
        .sort("samples", descending=True, maintain_order=True)
    )
    totals = {arm: replay.total(arm, "n") - replay.total(arm, "parsing") for arm in replay.arms}
    rows: list[list[Cell]] = [
        [
            *(row["author"], row["pass"], row["parse_kind"], row["samples"]),
            row["samples"] / totals[Arm(row["author"], row["pass"])],
            row["truncated"],
            f"{row['of_task']}, sample {row['of_sample']}" if place < EXAMPLES else "",
            row["evidence"] if place < EXAMPLES else "",
        ]
        for place, row in enumerate(grouped.iter_rows(named=True))
    ]
    return [
        TableBlock(
            title="What is wrong with the code that does not parse",
            columns=(
                "checkpoint",
                "pass",
                "kind",
                "samples",
                "share",
                "break off",
                "for example",
                "its line at fault",
            ),
            rows=rows,
            note="Share: of the samples of that checkpoint and pass that do not parse. Break off: they read like a beginning.",
        )
    ]


def _distances(replay: Replay) -> list[TableBlock]:
    import polars as pl

    far = replay.samples.filter(pl.col("edits_away").is_not_null())
    if not far.height:
        return []
    counted = (
        far.group_by("author", "pass", "edits_away", maintain_order=True)
        .len()
        .sort("author", "pass", "edits_away")
    )
    rows = [[*row] for row in counted.iter_rows()]
    return [
        TableBlock(
            title="How many bracket edits away the nearest parsing text is",
            columns=("checkpoint", "pass", "edits", "samples looked at"),
            rows=rows,
            note="One edit inserts, deletes or replaces one bracket. Looked at: faults of brackets, a sample of them where many.",
        )
    ]


def _of(replay: Replay, arm: Arm) -> "pl.DataFrame":
    import polars as pl

    return replay.samples.filter((pl.col("author") == arm.author) & (pl.col("pass") == arm.run))


# --- the alarm ----------------------------------------------------------------------------------------


def changes(replay: Replay) -> list[Finding]:
    """Return one finding per checkpoint and two of its passes: whether its parse share changed between them."""
    found = []
    for author in replay.authors:
        for base, variant in combinations([arm for arm in replay.arms if arm.author == author], 2):
            estimate = change(replay, base, variant)
            if estimate is not None:
                found.append(_changed(replay, base, variant, estimate))
    return found


def change(replay: Replay, base: Arm, variant: Arm) -> Estimate | None:
    """Return the later parse share less the earlier one, over the problems of both; None where none is shared.

    The unit is the problem: its share in one pass against its share in the other, whatever the numbers of samples.
    """
    one, other = (replay.successes(arm, Reading.PARSING) for arm in (base, variant))
    shared = [task for task in one.tasks if task in set(other.tasks)]
    if not shared:
        return None
    one, other = one.on(shared), other.on(shared)
    return share_change(one.c / one.n, other.c / other.n)


def share_change(earlier: NDArray[np.float64], later: NDArray[np.float64]) -> Estimate:
    """Return the mean change of shares by problem, shape (N,) each, in the same order; 3/N where none changed."""
    moved = later - earlier
    estimate = paired_mean(moved, span=1.0, unit="problems")
    if np.any(moved):
        return estimate
    bound = three_over(len(moved))
    return replace(estimate, low=-bound, high=bound, note="no problem's share changed: 3/N is the bound")


def _changed(replay: Replay, base: Arm, variant: Arm, estimate: Estimate) -> Finding:
    ruling = ruled(estimate, PARSE_CHANGE)
    shares = [replay.successes(arm, Reading.PARSING).rate for arm in (base, variant)]
    said = {
        Ruling.LEAKS: "it changed, and scores before and after are not of the same thing",
        Ruling.HOLDS: "it changed by less than a point",
    }.get(ruling, "the problems do not settle whether it changed")
    return Finding(
        id=f"{NAME}/{base.author}/{base.run}/{variant.run}",
        kind=FindingKind.AUDIT,
        name=NAME,
        subject=f"{base.author}: {base.run} to {variant.run}",
        judge=SAMPLES,
        sentence=(
            f"Parse share of {base.author}, {base.run} to {variant.run}, {percent(shares[0])} to {percent(shares[1])} "
            f"over {estimate.n} problems: {said}."
        ),
        ruling=ruling,
        estimate=estimate,
        line=PARSE_CHANGE,
    )


# --- the check of the harness -------------------------------------------------------------------------


def _harness(replay: Replay) -> list[Finding]:
    """Return whether any sample that does not parse has execution credit, which would be a fault of the harness.

    One with credit is a fault. None: it holds where the 90 % interval lies inside the margin, else it is unresolved.
    """
    import polars as pl

    if not replay.executed:
        return []
    run = replay.samples.filter(~pl.col("parses") & pl.col("truth_passed").is_not_null())
    credited = sum(replay.total(arm, "broken_passed") for arm in replay.arms)
    examples = _credited(run) if credited else []
    share = clopper_pearson(credited, run.height, unit="samples") if run.height else None
    ruling, why = _harness_ruled(share)
    verb = "has" if credited == 1 else "have"
    said = f"{credited:,} {verb}" if credited else "none has"
    broken = f"{counted(run.height, 'executed sample')} that {'does' if run.height == 1 else 'do'} not parse"
    unchecked = "Every executed sample parses, so that none could show credit for code that does not."
    return [
        Finding(
            id="execution_check/overview",
            kind=FindingKind.AUDIT,
            name="execution_check",
            subject=counted(run.height, "sample"),
            judge=SAMPLES,
            sentence=f"Of {broken} {said} execution credit{why}." if run.height else unchecked,
            ruling=ruling,
            estimate=share,
            line=EXECUTION_CREDIT if share else None,
            settles=_settles(run.height) if ruling is Ruling.UNRESOLVED else "",
            blocks=(_check_note(), *examples),
        )
    ]


def _harness_ruled(share: Estimate | None) -> tuple[Ruling | None, str]:
    """Return the ruling on the share with credit, and what the sentence says after it; None where nothing was run."""
    if share is None or share.inner_high is None:
        return None, ""
    if share.value:
        return Ruling.LEAKS, ""
    could = f": at most {percent(share.inner_high, 4)} could have it at 95 %"
    if share.inner_high < (EXECUTION_CREDIT.margin or 0.0):
        return Ruling.HOLDS, could
    return Ruling.UNRESOLVED, f"{could}, and {_settles(share.n)}"


def _settles(have: int) -> str:
    """Return how many more samples without credit would put the 90 % interval inside the margin."""
    needed = unmoved_units_needed(
        EXECUTION_CREDIT.span or 1.0, EXECUTION_CREDIT.margin or 0.0, level=CONFIDENCE
    )
    return f"{counted(needed - have, 'more such sample')} without credit would settle it"


def _check_note() -> TextBlock:
    text = (
        "Code that does not parse cannot run. A sample that passed its tests all the same would show a harness that gives "
        "credit it should not, or code that was run and parsed in two versions of its language."
    )
    return TextBlock(title="A check of the harness", text=text)


def _credited(run: "pl.DataFrame") -> Sequence[TableBlock]:
    import polars as pl

    faulty = (
        run.filter(pl.col("truth_passed"))
        .head(20)
        .select("author", "pass", "task", "sample", "parse_kind", "evidence")
    )
    columns = ("checkpoint", "pass", "task", "sample", "kind", "line at fault")
    return [
        TableBlock(
            title="Samples with credit that do not parse",
            columns=columns,
            rows=[[*row] for row in faulty.iter_rows()],
        )
    ]
