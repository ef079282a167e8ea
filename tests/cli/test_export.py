"""`voirdire export`: every answer of a ledger in three formats."""

import csv
import json
from pathlib import Path

import polars as pl
import pytest

from voirdire.cli._main import FINE, USAGE, run
from voirdire.engine.ledger import Entry, Key, Ledger
from voirdire.model import Answer, Identity, Request, Usage

HOSTILE = 'a "quoted"\nanswer, with\ttabs and \u2028 and é'


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as open_ledger:
        number = open_ledger.identity_number(Identity("mine", {"model": "m"}))
        request = Request("item-1", '{"messages":[]}')
        keys = [Key(number, request.digest, repeat) for repeat in range(3)]
        open_ledger.lease().claim(dict.fromkeys(keys, request))
        open_ledger.record(
            [
                Entry(keys[0], request, Answer(HOSTILE, usage=Usage(7, 2), money=0.5, extra={"id": "r1"})),
                Entry(keys[1], request, Answer("half \ud83d", served="m-2026")),
                Entry(keys[2], request, Answer(missing_because="timeout", failed=True)),
            ]
        )
    return path


def exported(ledger: Path, out: Path, *options: str) -> int:
    return run(["export", str(out), "--ledger", str(ledger), *options])


def test_json_lines_hold_every_field_as_it_was(ledger: Path, tmp_path: Path) -> None:
    out = tmp_path / "all.jsonl"
    assert exported(ledger, out) == FINE
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").strip("\n").split("\n")]
    assert [row["raw"] for row in rows] == [HOSTILE, "half \ud83d", ""]
    assert rows[0]["input_tokens"] == 7
    assert rows[0]["extra"] == {"id": "r1"}
    assert rows[1]["served"] == "m-2026"
    assert (rows[2]["failed"], rows[2]["missing_because"]) == (True, "timeout")


def test_csv_is_read_back_by_the_csv_module(ledger: Path, tmp_path: Path) -> None:
    out = tmp_path / "all.csv"
    assert exported(ledger, out) == FINE
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["raw"] for row in rows] == [HOSTILE, "half \\ud83d", ""]
    assert rows[0]["judge_name"] == "mine"
    assert rows[0]["extra"] == '{"id": "r1"}'


def test_parquet_has_typed_columns(ledger: Path, tmp_path: Path) -> None:
    out = tmp_path / "all.parquet"
    assert exported(ledger, out, "--requests") == FINE
    frame = pl.read_parquet(out)
    assert frame["repeat"].to_list() == [0, 1, 2]
    assert frame["money"].to_list() == [0.5, None, None]
    assert frame["body"].to_list() == ['{"messages":[]}'] * 3
    assert frame.schema["failed"] == pl.Boolean


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_an_empty_ledger_gives_an_empty_file_of_the_same_kind(tmp_path: Path, ending: str) -> None:
    with Ledger(tmp_path / "empty.sqlite"):
        pass
    out = tmp_path / f"all.{ending}"
    assert exported(tmp_path / "empty.sqlite", out) == FINE
    assert out.exists()
    if ending == "parquet":
        assert pl.read_parquet(out).shape == (0, 16)


def test_the_account_as_json(ledger: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "all.csv"
    assert exported(ledger, out, "--json") == FINE
    assert json.loads(capsys.readouterr().out) == {"out": str(out), "answers": 3, "failed": 1, "judges": 1}


def test_a_ledger_that_is_not_there_is_not_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    absent = tmp_path / "none.sqlite"
    assert exported(absent, tmp_path / "all.csv") == USAGE
    assert "there is no ledger" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_format_is_told(ledger: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exported(ledger, tmp_path / "all.xlsx") == USAGE
    assert (
        "the format '.xlsx' is not known\n  hint: end it in .parquet, .csv or .jsonl"
        in capsys.readouterr().err
    )


def test_a_folder_that_is_not_there_is_told(
    ledger: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exported(ledger, tmp_path / "none" / "all.csv") == USAGE
    assert "cannot be written: no such file or directory" in capsys.readouterr().err


def test_the_ledger_may_be_named_by_the_environment(
    ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOIRDIRE_LEDGER", str(ledger))
    assert run(["export", str(tmp_path / "all.jsonl")]) == FINE
