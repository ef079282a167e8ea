"""The halo study: tables and recorded scores to one page; outcomes alone; real tables where they stand beside."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.audits.halo_tables import STYLED, frame
from voirdire.audits._halo_table import HaloOptions
from voirdire.errors import DataError, UsageError
from voirdire.model import Ruling
from voirdire.report.findings_file import from_data, to_data
from voirdire.studies.halo import NOBODY_JUDGED, Read, examine_halo, of_judges, read_tables

SHARED = Path(__file__).parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the data sets are not beside the repository")


def written(folder: Path, table: pl.DataFrame, name: str = "table.parquet") -> Path:
    path = folder / name
    table.rename({"target_passed": "f2p_passed", "target_total": "f2p_total"}).drop(
        "tests_passed", "tests_total"
    ).write_parquet(path)
    return path


def test_one_table_with_its_scores(tmp_path: Path) -> None:
    read = read_tables([written(tmp_path, frame(STYLED))])
    audited = examine_halo(read, HaloOptions())
    names = [one.name for one in audited.examination.findings]
    assert names == [
        *("zero_pass", "zero_pass", "zero_pass"),
        *("resolution", "rank_sets", "calibration", "halo_correlates", "best_of_n", "outcomes"),
    ]
    assert audited.examination.findings[0].ruling is Ruling.LEAKS
    assert audited.next is None
    data = to_data(audited.examination)
    assert to_data(from_data(data)) == data


def test_answers_and_scores_of_two_judges_in_files_of_their_own(tmp_path: Path) -> None:
    table = frame(STYLED)
    answers = written(tmp_path, table.drop("judge", "value"))
    files = []
    for judge, shift in (("strict", -0.1), ("mild", 0.0)):
        path = tmp_path / f"{judge}.csv"
        table.select("system", "task", (pl.col("value") + shift).clip(0, 1).alias("score")).write_csv(path)
        files.append((judge if judge == "strict" else "", path))
    read = read_tables([answers], files)
    assert read.table.frame["judge"].unique().sort().to_list() == ["mild", "strict"]
    found = examine_halo(read, HaloOptions())
    assert [one.name for one in found.examination.judges] == ["strict (recorded)", "mild (recorded)"]
    beside = next(one for one in found.examination.findings if one.name == "halo_judges")
    assert beside.sentence.startswith("2 judges of the same answers: the scores of 2 follow")
    judged = {one.judge for one in found.examination.findings}
    assert judged == {one.fingerprint for one in found.examination.judges} | {""}
    only = of_judges(read.table, ["mild"])
    assert only.frame["judge"].unique().to_list() == ["mild"]
    with pytest.raises(UsageError, match="no scores of 'other'"):
        of_judges(read.table, ["other"])


def test_own_scores_stay_beside_joined_ones(tmp_path: Path) -> None:
    table = frame(STYLED)
    scores = tmp_path / "second.csv"
    table.select("system", "task", pl.col("value").alias("score")).write_csv(scores)
    read = read_tables([written(tmp_path, table)], [("", scores)])
    assert read.table.frame["judge"].unique().sort().to_list() == ["second", "simulated"]
    assert read.table.frame.height == 2 * table.height


def test_outcomes_alone_are_told_without_a_judge(tmp_path: Path) -> None:
    read = read_tables([written(tmp_path, frame().drop("judge", "value"))])
    audited = examine_halo(read, HaloOptions())
    assert [one.name for one in audited.examination.findings] == ["outcomes"]
    assert audited.examination.findings[0].flags[0] == NOBODY_JUDGED
    assert not audited.examination.judges


def test_predictions_are_read_with_what_the_harness_left(tmp_path: Path) -> None:
    rows = [
        {"instance_id": f"a__b-{n}", "model_name_or_path": "m", "model_patch": "diff" if n else ""}
        for n in range(3)
    ]
    path = tmp_path / "preds.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, rows[0]]), encoding="utf-8")
    (tmp_path / "m.run.json").write_text(
        json.dumps({"resolved_ids": ["a__b-1"], "unresolved_ids": ["a__b-2"]}), encoding="utf-8"
    )
    read = read_tables([path])
    assert read.table.frame["truth_status"].to_list() == ["not_applied", "passed", "failed"]
    assert read.table.frame["repository"].to_list() == ["a/b"] * 3
    assert "1 entries with faults" in read.notes[0]


def test_code_is_taken_out_of_prose(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    answer = "Here you are:\n```python\nx = 1\n```\n"
    path.write_text(
        json.dumps({"task_id": "t", "system": "m", "answer": answer, "passed": False}) + "\n", "utf-8"
    )
    row = read_tables([path]).table.frame.row(0, named=True)
    assert (row["text"], row["system"], row["truth_status"]) == ("x = 1\n", "m", "failed")


def test_what_is_left_to_execute_is_handed_on(tmp_path: Path) -> None:
    drawn = pl.Series(np.random.default_rng(0).random(480) < 0.3)
    names = ("truth_status", "target_passed", "target_total")
    table = frame(STYLED).with_columns(*(pl.when(drawn).then(pl.col(name)).alias(name) for name in names))
    audited = examine_halo(read_tables([written(tmp_path, table)]), HaloOptions(execute_next=25))
    assert audited.next is not None
    assert audited.next.filter(~pl.col("executed"))["chance"].sum() == pytest.approx(25)


def test_no_table_and_contradictions_between_tables(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no table"):
        read_tables([])
    path = written(tmp_path, frame())
    with pytest.raises(DataError, match="stands there twice"):
        examine_halo(read_tables([path, path]), HaloOptions())


# --- real tables --------------------------------------------------------------------------------------


def length_scores(table: pl.DataFrame) -> pl.DataFrame:
    """Return a stand-in for a judge: longer programs score higher, and so do those that pass."""
    size = 1 - (pl.col("text").str.len_chars() / -800.0).exp()
    return table.with_columns(
        judge=pl.lit("length"), value=0.5 * size + 0.2 * pl.col("truth_passed").cast(pl.Float64)
    )


@needs_shared
def test_programs_of_six_models_and_seven_harnesses_are_audited_whole() -> None:
    read = read_tables([SHARED / "code-samples" / "ldb_reflexion.jsonl.gz"])
    table = length_scores(read.table.frame)
    audited = examine_halo(Read(of_judges(type(read.table)(table), [])), HaloOptions())
    zero = audited.examination.findings[0]
    assert zero.estimate is not None
    assert zero.estimate.n > 200
    assert (zero.estimate.value or 0.0) > 0.02
    outcomes = audited.examination.findings[-1]
    assert "4,497 of 6,487 that were run pass, 1,020 pass nothing" in outcomes.sentence


@needs_shared
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("swe-bench-pro/outcomes.jsonl", "1,657 of 6,606 that were run pass, 0 pass nothing"),
        ("multi-swe-bench-java/submissions.jsonl.gz", "17 of 256 that were run pass, 236 pass nothing"),
        (
            "swe-bench-verified-100/claude_code_vexp_opus45.jsonl",
            "73 of 100 that were run pass, 16 pass nothing",
        ),
    ],
)
def test_tables_of_patches_say_what_can_be_concluded(name: str, said: str) -> None:
    audited = examine_halo(read_tables([SHARED / name]), HaloOptions())
    assert said in audited.examination.findings[0].sentence
    assert audited.examination.findings[0].flags[0] == NOBODY_JUDGED
