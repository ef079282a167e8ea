"""Anchor tables from JSON lines, CSV and Parquet, and what is wrong in them."""

from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from voirdire.errors import DataError, UsageError
from voirdire.importers.anchors import read_verdicts, sniff


def written(tmp_path: Path, name: str, text: str) -> Path:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / name


def times(path: Path) -> list[str]:
    return [str(time) for time in read_verdicts(path).frame["time"].unique().sort().to_list()]


def test_runs_with_names_stand_in_the_order_of_their_first_row(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "item,run,value\na,week 9,1\na,week 10,2\nb,week 9,\n")
    frame = read_verdicts(path).frame
    assert times(path) == ["week 9", "week 10"]
    assert frame["value"].to_list() == [1.0, 2.0, None]


@pytest.mark.parametrize(
    ("rows", "ordered"),
    [
        (["10", "9", "9.5"], ["9", "9.5", "10"]),
        (
            ["2026-10-01", "2026-09-01T10:00:00+02:00", "2026-09-01"],
            ["2026-09-01", "2026-09-01T10:00:00+02:00", "2026-10-01"],
        ),
    ],
)
def test_times_are_put_in_order(rows: list[str], ordered: list[str], tmp_path: Path) -> None:
    text = "".join(f'{{"item": "a", "time": "{time}", "value": 1}}\n' for time in rows)
    assert times(written(tmp_path, "a.jsonl", text)) == ordered


def test_parquet_with_real_dates(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "item": ["a", "a"],
            "time": [datetime(2026, 2, 1), datetime(2026, 1, 1)],
            "value": [1, None],
            "judge": ["j", None],
        }
    )
    frame.write_parquet(tmp_path / "a.parquet")
    assert times(tmp_path / "a.parquet") == ["2026-01-01T00:00:00", "2026-02-01T00:00:00"]
    assert read_verdicts(tmp_path / "a.parquet").frame["judge"].to_list() == ["j", ""]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item,time,value\na,soon,1\n", "a.csv, row 1: 'time' is 'soon'"),
        ("item,time,value\na,1,1\nb,2,much\n", "a.csv, row 2: 'value' is 'much', not a number"),
        ("item,time,value\na,1,nan\n", "'value' is 'nan', not a number"),
        ("item,time,value\n,1,1\n", "there is no 'item'"),
        ("item,value\na,1\n", "there is no 'run'"),
        ("item,time\na,1\n", "there is no 'value'"),
        ("item,time,value\na,1,1\nb,2026-01-01,1\n", "named in different ways"),
        ("item,time,value\n", "no rows"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read_verdicts(written(tmp_path, "a.csv", text))
    assert message in str(caught.value)
    assert caught.value.hint


def test_no_file_and_another_kind_of_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file"):
        read_verdicts(tmp_path / "none.csv")
    with pytest.raises(UsageError, match="no table"):
        read_verdicts(written(tmp_path, "a.txt", "item"))


@pytest.mark.parametrize(
    ("head", "ours"),
    [
        ("item,run,value,judge\n", True),
        ('{"item": "a", "time": 1, "value": 2}\n', True),
        ('{"item": "a", "value": 2}\n', False),
        ("task,score\n", False),
        ("", False),
    ],
)
def test_its_own_files_are_known_by_their_beginning(head: str, ours: bool) -> None:
    assert sniff(head) is ours
