"""The command `halo`: from tables to the page, findings and what to execute next, and every refusal with a hint."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.audits.halo_tables import STYLED, frame
from voirdire.cli import _main as cli


def table(folder: Path, *, executed: float = 1.0) -> Path:
    drawn = pl.Series(np.random.default_rng(0).random(480) < executed)
    names = ("truth_status", "target_passed", "target_total")
    hidden = [pl.when(drawn).then(pl.col(name)).alias(name) for name in names]
    path = folder / "table.csv"
    frame(STYLED).with_columns(*hidden).rename(
        {"target_passed": "f2p_passed", "target_total": "f2p_total"}
    ).drop("tests_passed", "tests_total").write_csv(path)
    return path


def test_a_table_becomes_a_page_and_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert cli.run(["halo", str(table(tmp_path)), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "zero_pass, the judge in general: leaks" in " ".join(said.split())
    page = (out / "report.html").read_text("utf-8")
    assert "Solve rate against mean score, by system" in page
    assert "What goes with over-scoring where nothing passes" in page
    found = json.loads((out / "findings.json").read_text("utf-8"))
    assert found["findings"][0]["ruling"] == "leaks"
    assert not (out / "to_execute.csv").exists()


def test_json_stands_alone_on_standard_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = [
        "halo",
        str(table(tmp_path, executed=0.3)),
        "--json",
        "--next",
        "20",
        "--out",
        str(tmp_path / "out"),
    ]
    assert cli.run(given) == 0
    streams = capsys.readouterr()
    assert json.loads(streams.out)["findings"]
    assert "to execute next" in streams.err
    plan = pl.read_csv(tmp_path / "out" / "to_execute.csv")
    assert plan.filter(~pl.col("executed"))["chance"].sum() == pytest.approx(20)


def test_the_same_table_gives_the_same_findings(tmp_path: Path) -> None:
    path = str(table(tmp_path))
    for name in ("one", "two"):
        assert cli.run(["halo", path, "--out", str(tmp_path / name)]) == 0
    one, two = (json.loads((tmp_path / name / "findings.json").read_text("utf-8")) for name in ("one", "two"))
    assert one["findings"] == two["findings"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--scale", "ten"], "--scale: 'ten' is no scale"),
        (["--scale", "0,1,2"], "is no scale"),
        (["--scale", "1,0"], "a scale from 1 to 0 is none"),
        (["--scale", "0,0.1"], "outside 0 to 0.1"),
        (["--judge", "nobody"], "there are no scores of 'nobody'"),
        (["--scores", "nowhere.csv"], "there is no file"),
    ],
)
def test_what_cannot_be_done_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], said: str
) -> None:
    assert cli.run(["halo", str(table(tmp_path)), "--out", str(tmp_path / "out"), *more]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert said in told
    assert "hint:" in told


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = table(tmp_path)
    assert cli.run(["halo", str(path), "--out", str(path)]) == 2
    assert "--out" in capsys.readouterr().err
    assert cli.run(["halo", str(tmp_path / "none.jsonl"), "--out", str(tmp_path / "out")]) == 2
