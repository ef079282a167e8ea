"""The drift audit: which anchors are charted, what is said, what the page shows."""

import random

import polars as pl
import pytest

from voirdire.audits.drift import audit, drifts
from voirdire.blocks import FigureBlock, TableBlock
from voirdire.errors import DataError
from voirdire.model import VerdictTable

Row = tuple[str, int, float | None]


def table(rows: list[Row], **more: str) -> VerdictTable:
    frame = pl.DataFrame(
        rows, schema={"item": pl.String, "time": pl.Int64, "value": pl.Float64}, orient="row"
    )
    return VerdictTable(frame.with_columns(**{name: pl.lit(value) for name, value in more.items()}))


def runs(n: int, *, shift: float = 0.0, at: int = 0, seed: int = 3) -> list[Row]:
    generator = random.Random(seed)
    return [
        (f"a{item}", run, 5 + 0.3 * item + generator.gauss(0, 0.8) + (shift if run >= at else 0.0))
        for run in range(n)
        for item in range(10)
    ]


def test_a_drift_is_found_with_its_run_its_side_and_its_size() -> None:
    found = audit(table(runs(30, shift=-0.8, at=20), judge="my judge"))[0]
    assert found.subject == "my judge"
    assert "the chart rang in run 2" in found.sentence
    assert "the scores went down" in found.sentence
    assert found.ruling is None
    assert found.estimate is not None
    assert -1.3 < (found.estimate.value or 0) < -0.5


def test_steady_anchors_ring_no_alarm_and_the_false_alarm_rate_is_told() -> None:
    found = audit(table(runs(30)))[0]
    assert "no alarm in 30 runs of 10 anchors; the chart rings by chance once in 465 runs" in found.sentence
    assert found.estimate is None


def test_the_page_gets_the_chart_with_its_limits_and_every_run() -> None:
    figure, numbers = audit(table(runs(12)))[0].blocks
    assert isinstance(figure, FigureBlock)
    assert isinstance(numbers, TableBlock)
    assert {row["group"] for row in figure.rows} == {"sum upward", "sum downward", "limit", "limit, downward"}
    assert {row["y"] for row in figure.rows if str(row["group"]).startswith("limit")} == {5.0, -5.0}
    assert len(numbers.rows) == 12
    assert "allowance 0.5, limit 5" in figure.caption


def test_an_anchor_that_a_run_could_not_read_is_left_out_and_named() -> None:
    rows = [(item, run, None if (item, run) == ("a3", 4) else value) for item, run, value in runs(10)]
    found = drifts(table(rows))[0]
    assert (found.anchors, found.left_out, found.missing) == (9, ("a3",), 1)
    flags = audit(table(rows))[0].flags
    assert "a3" in flags[0]
    assert "1 answers have no value" in flags[1]


def test_repeats_of_a_run_are_averaged() -> None:
    rows: list[Row] = [("a", run, value) for run in range(4) for value in (1.0, 3.0)]
    assert drifts(table(rows))[0].means == (2.0, 2.0, 2.0, 2.0)


def test_too_few_runs_and_no_common_anchor_give_no_chart() -> None:
    few = drifts(table(runs(2)))[0]
    assert not few.readable
    assert "2 runs are too few" in few.sentence
    apart = drifts(table([("a", 0, 1.0), ("b", 1, 1.0), ("c", 2, 1.0)]))[0]
    assert "no anchor could be read in every one of the 3 runs" in apart.sentence


def test_each_judge_and_question_has_a_chart_of_its_own() -> None:
    both = pl.concat([table(runs(5), judge=name, question="q").frame for name in ("one", "two")])
    assert [one.name for one in drifts(VerdictTable(both))] == ["one, q", "two, q"]


def test_a_table_without_rows_or_columns_is_refused() -> None:
    with pytest.raises(DataError, match="no rows"):
        drifts(table([]))
    with pytest.raises(DataError, match="no column 'time'"):
        drifts(VerdictTable(table(runs(3)).frame.drop("time")))
