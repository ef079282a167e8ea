"""Drift: do a judge's scores of an anchor set, asked again and again, leave where they were?

Reads one row per anchor and run. Each run's mean over the anchors that every run could read is put on a two-sided,
self-starting CUSUM chart, which rings by chance once in 465 steady runs on average.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from voirdire.blocks import Block, Cell, FigureBlock, TableBlock
from voirdire.errors import DataError
from voirdire.lines import DRIFT_ALLOWANCE, DRIFT_LIMIT, DRIFT_WARM_UP
from voirdire.model import Estimate, Finding, FindingKind, VerdictTable

if TYPE_CHECKING:
    import polars as pl

    from voirdire.stats.control_chart import ControlChart

NEEDS = ("item", "time", "value")
"""`time` orders the runs. Besides: `judge` and `question`, each pair of which gets a chart of its own."""

RUNS_BETWEEN_ALARMS = 465
"""Steady runs until a chart with the declared allowance and limit rings by chance, on average."""


@dataclass(frozen=True)
class Drift:
    """One chart. `times` and `means`: of every run, oldest first; `chart` None: there is none, and `sentence` says why.

    `anchors`: how many items every run could read; `left_out`: items that some run could not, or did not ask about.
    `missing`: answers without a value.
    """

    judge: str
    question: str
    times: tuple[str, ...]
    means: tuple[float, ...]
    anchors: int
    left_out: tuple[str, ...]
    missing: int
    chart: "ControlChart | None"
    sentence: str

    @property
    def name(self) -> str:
        """What the chart is of."""
        return ", ".join(part for part in (self.judge, self.question) if part) or "anchors"

    @property
    def rang(self) -> bool:
        """Whether the chart rang."""
        return self.chart is not None and self.chart.alarm is not None

    @property
    def readable(self) -> bool:
        """Whether there is a chart at all."""
        return self.chart is not None


def drifts(
    table: VerdictTable, *, allowance: float = DRIFT_ALLOWANCE, limit: float = DRIFT_LIMIT
) -> list[Drift]:
    """Return one chart per judge and question, in the order of the table.

    Values of one item in one run are averaged; a null value is missing. Raises DataError where a column is not there or
    no row is, and as `control_chart`.
    """
    import polars as pl

    table.require(*NEEDS)
    frame = table.frame
    if not frame.height:
        raise DataError("the table of anchors has no rows", hint="give one row per anchor and run")
    for name in ("judge", "question"):
        if name not in frame.columns:
            frame = frame.with_columns(pl.lit("").alias(name))
    frame = frame.with_columns(pl.col("judge", "question").cast(pl.String).fill_null(""))
    parts = frame.partition_by("judge", "question", maintain_order=True, as_dict=True)
    return [
        _drift(str(judge), str(question), part, allowance, limit) for (judge, question), part in parts.items()
    ]


def _drift(judge: str, question: str, frame: "pl.DataFrame", allowance: float, limit: float) -> Drift:
    from voirdire.stats.control_chart import control_chart

    times = frame["time"].unique().sort().to_list()
    by_item: dict[str, dict[object, list[float]]] = {}
    missing = 0
    for item, time, value in frame.select("item", "time", "value").iter_rows():
        read = by_item.setdefault(str(item), {})
        if value is None:
            missing += 1
        else:
            read.setdefault(time, []).append(float(value))
    whole = [item for item, read in by_item.items() if len(read) == len(times)]
    means = tuple(
        sum(sum(by_item[item][time]) / len(by_item[item][time]) for item in whole) / len(whole)
        for time in (times if whole else ())
    )
    chart = control_chart(means, allowance=allowance, limit=limit) if len(means) >= DRIFT_WARM_UP else None
    names = tuple(str(time) for time in times)
    found = Drift(
        judge=judge,
        question=question,
        times=names,
        means=means,
        anchors=len(whole),
        left_out=tuple(item for item in by_item if item not in set(whole)),
        missing=missing,
        chart=chart,
        sentence="",
    )
    return replace(found, sentence=_sentence(found))


def _sentence(found: Drift) -> str:
    lead = f"drift, {found.name}:"
    if not found.anchors:
        return f"{lead} no chart; no anchor could be read in every one of the {len(found.times)} runs."
    if found.chart is None:
        return (
            f"{lead} no chart; {len(found.times)} runs are too few, since the first that can be compared is number "
            f"{DRIFT_WARM_UP}."
        )
    alarm = found.chart.alarm
    runs = f"{len(found.times)} runs of {found.anchors} anchors"
    if alarm is None:
        return f"{lead} no alarm in {runs}; the chart rings by chance once in {_between(found)} runs."
    return (
        f"{lead} the chart rang in run {alarm.at + 1} of {len(found.times)} ({found.times[alarm.at]}): the scores went "
        f"{alarm.direction.value}, from about run {alarm.began + 1} ({found.times[alarm.began]}) on, over "
        f"{found.anchors} anchors."
    )


def _between(found: Drift) -> str:
    chart = found.chart
    declared = chart is not None and (chart.allowance, chart.limit) == (DRIFT_ALLOWANCE, DRIFT_LIMIT)
    return f"{RUNS_BETWEEN_ALARMS}" if declared else "an unknown number of"


# --- findings -------------------------------------------------------------------------------------------


def audit(table: VerdictTable) -> list[Finding]:
    """Return one finding per judge and question, described by its chart, without a ruling."""
    return [finding_of(one) for one in drifts(table)]


def finding_of(found: Drift) -> Finding:
    """Return a chart as a finding: the size of the change where it rang, the figure, and the numbers."""
    return Finding(
        id=f"drift/{found.name}",
        kind=FindingKind.AUDIT,
        name="drift",
        subject=found.name,
        judge=found.judge,
        sentence=found.sentence,
        estimate=_size(found),
        flags=_flags(found),
        blocks=_blocks(found),
        references=(
            "Page 1954, Continuous inspection schemes, doi:10.1093/biomet/41.1-2.100",
            "Hawkins 1987, Self-starting Cusum charts for location and scale, doi:10.2307/2348827",
        ),
    )


def _size(found: Drift) -> Estimate | None:
    """Return the mean from where the change began to the alarm, less the mean before; None without an alarm."""
    alarm = found.chart.alarm if found.chart else None
    if alarm is None or not alarm.began:
        return None
    after, before = found.means[alarm.began : alarm.at + 1], found.means[: alarm.began]
    return Estimate(
        value=sum(after) / len(after) - sum(before) / len(before),
        n=found.anchors,
        unit="anchors",
        method="mean of the runs from where the sum began to grow to the alarm, less the mean of the runs before",
        note="read off where a chart rang, a change looks larger than it is: no interval",
    )


def _flags(found: Drift) -> tuple[str, ...]:
    said = []
    if found.left_out:
        said.append(
            f"{len(found.left_out)} anchors are not on the chart, since not every run could read them: "
            f"{', '.join(found.left_out[:5])}{', ...' if len(found.left_out) > 5 else ''}"
        )
    if found.missing:
        said.append(f"{found.missing} answers have no value")
    return tuple(said)


def _blocks(found: Drift) -> tuple[Block, ...]:
    chart = found.chart
    if chart is None:
        return ()
    limits = {"limit": chart.limit, "limit, downward": -chart.limit}
    rows = [
        *[_point(run, y, "sum upward") for run, y in enumerate(chart.upper.tolist(), 1)],
        *[_point(run, -y, "sum downward") for run, y in enumerate(chart.lower.tolist(), 1)],
        *[_point(run, y, name) for name, y in limits.items() for run in (1, len(found.times))],
    ]
    figure = FigureBlock(
        title=f"Drift chart: {found.name}",
        kind="curve",
        rows=rows,
        options={"x_title": "run", "y_title": "sum, in standard deviations of a run"},
        caption=(
            f"Two-sided self-starting CUSUM, allowance {chart.allowance:g}, limit {chart.limit:g}; a sum beyond a limit is "
            "an alarm. A run is compared with all runs before it."
        ),
    )
    table = TableBlock(
        title=f"Every run: {found.name}",
        columns=("run", "time", "mean score", "standardised", "sum upward", "sum downward"),
        rows=_rows(found, chart),
    )
    return (figure, table)


def _point(run: int, y: float, group: str) -> Mapping[str, Cell]:
    return {"x": run, "y": y, "group": group}


def _rows(found: Drift, chart: "ControlChart") -> Sequence[Sequence[Cell]]:
    return [
        [run + 1, found.times[run], found.means[run], *map(float, sums)]
        for run, sums in enumerate(zip(chart.scores, chart.upper, chart.lower, strict=True))
    ]
