"""Tables of judged answers: three forms, the names people use, truth in its several shapes, and every complaint's place."""

import gzip
import json
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from voirdire.errors import DataError, UsageError, VoirdireError
from voirdire.importers.verdict_tables import (
    joined,
    read_scores,
    read_verdicts,
    repository_of,
    sniff,
    table_of_items,
    table_of_samples,
)
from voirdire.model import (
    CodeSample,
    GroundTruth,
    Item,
    Origin,
    TestGroup,
    TruthSource,
    TruthStatus,
)

SHARED = Path(__file__).parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the data sets are not beside the repository")


def lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def one(tmp_path: Path, **row: object) -> dict[str, object]:
    """Return the one row that a table of one row gives."""
    path = lines(tmp_path / "t.jsonl", {"system": "s", "task": "t", **row})
    return read_verdicts(path).frame.row(0, named=True)


def test_the_three_forms_say_the_same(tmp_path: Path) -> None:
    rows = [
        {"system": "a", "task": "t1", "score": 0.5, "passed": True, "judge": "j"},
        {"system": "b", "task": "t1", "score": None, "passed": False, "judge": "j"},
    ]
    text = lines(tmp_path / "t.jsonl", *rows)
    table = tmp_path / "t.csv"
    table.write_text("system,task,score,passed,judge\na,t1,0.5,true,j\nb,t1,,false,j\n", encoding="utf-8")
    parquet = tmp_path / "t.parquet"
    pl.DataFrame(rows).write_parquet(parquet)
    packed = tmp_path / "t.jsonl.gz"
    packed.write_bytes(gzip.compress(text.read_bytes()))
    frames = [read_verdicts(path).frame for path in (text, table, parquet, packed)]
    assert all(frame.equals(frames[0]) for frame in frames)
    assert frames[0]["value"].to_list() == [0.5, None]
    assert frames[0]["missing_because"].to_list() == [None, "not judged"]
    assert frames[0]["truth_status"].to_list() == ["passed", "failed"]


def test_model_and_harness_make_the_system(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "t.jsonl",
        {"model": "m", "harness": "h", "instance_id": "django__django-11", "resolved": 1},
    )
    row = read_verdicts(path).frame.row(0, named=True)
    assert (row["system"], row["author"], row["harness"]) == ("m+h", "m", "h")
    assert row["repository"] == "django/django"
    assert row["item"] == "m+h/django__django-11"
    assert row["truth_passed"] is True


def test_groups_of_tests_stay_apart(tmp_path: Path) -> None:
    row = one(tmp_path, status="failed", f2p_passed=0, f2p_total=2, p2p_passed=7, p2p_total=9)
    assert (row["target_passed"], row["target_total"]) == (0, 2)
    assert (row["tests_passed"], row["tests_total"]) == (7, 11)
    nested = one(
        tmp_path,
        truth={
            "status": "failed",
            "groups": {"FAIL_TO_PASS": {"passed": 0, "total": 2}, "PASS_TO_PASS": {"passed": 7, "total": 9}},
        },
    )
    assert nested == row


@pytest.mark.parametrize(
    ("row", "status"),
    [
        ({"passed": True}, "passed"),
        ({"passed": "false"}, "failed"),
        ({"passed": False, "parses": False}, "unparsable"),
        ({"passed": False, "applied": False}, "not_applied"),
        ({"passed": False, "error": "killed"}, "timeout"),
        ({"status": "empty_patch"}, "not_applied"),
        ({"status": "infra"}, "infrastructure"),
        ({"status": "unresolved"}, "failed"),
        ({"truth": "timeout"}, "timeout"),
        ({"f2p_passed": 1, "f2p_total": 1}, "passed"),
        ({"f2p_passed": 0, "f2p_total": 1}, "failed"),
        ({}, None),
    ],
)
def test_what_came_of_it(tmp_path: Path, row: dict[str, object], status: str | None) -> None:
    assert one(tmp_path, **row)["truth_status"] == status


def test_a_row_of_several_runs_gives_one_answer_each(tmp_path: Path) -> None:
    path = lines(tmp_path / "t.jsonl", {"instance_id": "x", "resolved": {"a": True, "b": False, "c": None}})
    assert read_verdicts(path).frame.select("system", "truth_passed").rows() == [("a", True), ("b", False)]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"score": "high"}, "line 2, column 'score': \"high\" is no number"),
        ({"score": True}, "column 'score': true is no number"),
        ({"passed": "maybe"}, "column 'passed': \"maybe\" is neither true nor false"),
        ({"status": "fine"}, "column 'status': 'fine' is no status"),
        ({"sample": -1}, "column 'sample': -1 is no count"),
        ({"sample": 1.5}, "column 'sample': 1.5 is no count"),
        ({"label_chance": 0}, "column 'label_chance': a chance of 0"),
        ({"label_chance": 1.2}, "column 'label_chance': a chance of 1.2"),
        ({"f2p_passed": 3, "f2p_total": 2}, "line 2: 3 of 2 tests of FAIL_TO_PASS passed"),
        (
            {"passed": True, "f2p_passed": 0, "f2p_total": 2},
            "line 2: the answer passed, but only 0 of 2 tests of FAIL_TO_PASS did",
        ),
        ({"code": 5}, "column 'code': a text was expected"),
        ({"system": None}, "line 2: there is no column 'system'"),
        ({"task": ""}, "line 2: there is no column 'task'"),
        ({"judge": ["x"]}, "column 'judge': a text was expected"),
    ],
)
def test_a_value_that_is_none_is_named_with_its_place(
    tmp_path: Path, row: dict[str, object], said: str
) -> None:
    good = {"system": "s", "task": "t", "score": 0.1}
    path = lines(tmp_path / "t.jsonl", good, {**good, **row})
    with pytest.raises(DataError) as caught:
        read_verdicts(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_csv_and_parquet_rows_are_named_too(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("system,task,score\na,t,0.5\nb,t,much\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 3, column 'score'"):
        read_verdicts(table)
    table.write_text("system,task,score\na,t,0.5,9\n", encoding="utf-8")
    with pytest.raises(DataError, match="more fields than the header"):
        read_verdicts(table)
    parquet = tmp_path / "t.parquet"
    pl.DataFrame({"system": ["a"], "task": ["t"], "passed": ["x"]}).write_parquet(parquet)
    with pytest.raises(DataError, match="row 1, column 'passed'"):
        read_verdicts(parquet)


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("t.xlsx", b"", UsageError),
        ("t.jsonl", b"", DataError),
        ("t.jsonl", b"[1]\n", DataError),
        ("t.csv", b"system,task\n\xff,\xfe\n", DataError),
        ("t.parquet", b"PAR1 nothing", DataError),
    ],
)
def test_a_file_that_is_no_table_is_refused(
    tmp_path: Path, name: str, content: bytes, kind: type[VoirdireError]
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(kind):
        read_verdicts(tmp_path / name)
    with pytest.raises(UsageError, match="no file"):
        read_verdicts(tmp_path / f"missing-{name.replace('xlsx', 'csv')}")


def test_half_characters_and_long_texts_are_held(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"system": "s", "task": "t", "code": "\\ud800x"}\n', encoding="utf-8")
    assert read_verdicts(tmp_path / "t.jsonl").frame["text"][0] == "\\ud800x"


@pytest.mark.parametrize(
    ("task", "name"),
    [
        ("django__django-11099", "django/django"),
        ("scikit-learn__scikit-learn-1", "scikit-learn/scikit-learn"),
        ("instance_NodeBB__NodeBB-00c70ce7-vnan", "NodeBB/NodeBB"),
        ("HumanEval/3", None),
        ("t1", None),
    ],
)
def test_the_repository_of_an_id(task: str, name: str | None) -> None:
    assert repository_of(task) == name


def test_sniffing() -> None:
    assert sniff('{"task": "t", "system": "s", "score": 1}')
    assert not sniff('{"task_id": "t", "completion": "x"}')
    assert not sniff("")


# --- recorded scores ----------------------------------------------------------------------------------


def answers(tmp_path: Path) -> Path:
    rows = [{"system": s, "task": t, "passed": s == "a"} for s in "ab" for t in ("t1", "t2")]
    return lines(tmp_path / "answers.jsonl", *rows)


def test_scores_are_joined_by_system_task_and_sample(tmp_path: Path) -> None:
    scores = lines(
        tmp_path / "mine.jsonl",
        {"system": "a", "task": "t1", "score": 0.9},
        {"system": "b", "task": "t1", "score": None, "missing_because": "refused"},
    )
    frame = joined(read_verdicts(answers(tmp_path)), [read_scores(scores)]).frame
    assert frame["judge"].unique().to_list() == ["mine"]
    assert frame["value"].to_list() == [0.9, None, None, None]
    assert frame["missing_because"].to_list() == [None, "not judged", "refused", "not judged"]


def test_scores_are_joined_by_item_and_by_judge(tmp_path: Path) -> None:
    scores = lines(
        tmp_path / "two.jsonl",
        {"item": "a/t1", "judge": "x", "score": 0.1},
        {"item": "a/t1", "judge": "y", "score": 0.2},
        {"item": "b/t2", "judge": "y", "score": 0.3},
    )
    frame = joined(read_verdicts(answers(tmp_path)), [read_scores(scores, "unused")]).frame
    assert Counter(frame["judge"].to_list()) == {"x": 4, "y": 4}
    assert frame.filter(frame["judge"] == "y")["value"].to_list() == [0.2, None, None, 0.3]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [{"system": "a", "task": "t9", "score": 1}],
            "are about no answer in the table, first system 'a', task 't9'",
        ),
        ([{"system": "a", "task": "t1", "score": 1}] * 2, "scored system 'a', task 't1', sample '0' twice"),
        ([{"system": "a", "task": "t1"}], "no column 'score'"),
    ],
)
def test_scores_that_fit_no_answer_are_refused(tmp_path: Path, rows: list[object], said: str) -> None:
    table = read_verdicts(answers(tmp_path))
    with pytest.raises(DataError) as caught:
        joined(table, [read_scores(lines(tmp_path / "s.jsonl", *rows))])
    assert said in str(caught.value)


# --- other importers' answers -------------------------------------------------------------------------


def test_items_and_samples_become_answers() -> None:
    truth = GroundTruth(
        TruthSource.TESTS,
        TruthStatus.FAILED,
        {"FAIL_TO_PASS": TestGroup(0, 2), "PASS_TO_PASS": TestGroup(3, 3)},
    )
    item = Item(
        "sys/astropy__astropy-1", {"response": "diff"}, Origin(task="astropy__astropy-1", author="sys"), truth
    )
    row = table_of_items([item]).frame.row(0, named=True)
    assert (row["system"], row["task"], row["text"], row["target_passed"]) == (
        "sys",
        "astropy__astropy-1",
        "diff",
        0,
    )
    sample = CodeSample("t", 1, "x = 1", system="m", truth=GroundTruth(TruthSource.TESTS, TruthStatus.PASSED))
    row = table_of_samples([sample]).frame.row(0, named=True)
    assert (row["item"], row["sample"], row["truth_passed"], row["tests_passed"]) == ("m/t#1", 1, True, None)


# --- real tables --------------------------------------------------------------------------------------


@needs_shared
def test_published_solve_rates_come_out() -> None:
    pro = read_verdicts(SHARED / "swe-bench-pro" / "outcomes.jsonl").frame
    counts = {
        str(name): (int(passed), int(n))
        for name, passed, n in pro.group_by("system").agg(pl.col("truth_passed").sum(), pl.len()).iter_rows()
    }
    assert counts["claude-45sonnet-10132025"] == (319, 730)
    assert counts["gpt-4o-paper"] == (36, 619)
    assert counts["kimi-k2-instruct-10132025"] == (202, 729)
    verified = read_verdicts(SHARED / "swe-bench-verified-100" / "claude_code_vexp_opus45.jsonl").frame
    assert (int(verified["truth_passed"].sum()), verified.height) == (73, 100)
    assert int(((verified["target_passed"] == 0) & ~verified["truth_passed"]).sum()) == 16
    java = read_verdicts(SHARED / "multi-swe-bench-java" / "submissions.jsonl.gz").frame
    solved = dict(java.group_by("author").agg(pl.col("truth_passed").sum()).iter_rows())
    assert solved == {"gpt-4o-2024-05-13": 6, "deepseek-chat-v2": 9, "gpt-4o-mini-2024-07-18": 2}


@needs_shared
def test_programs_of_six_models_in_seven_harnesses_come_out() -> None:
    frame = read_verdicts(SHARED / "code-samples" / "ldb_reflexion.jsonl.gz").frame
    assert frame["author"].n_unique() == 6
    assert frame["harness"].n_unique() == 7
    assert int(((frame["target_passed"] == 0) & ~frame["truth_passed"]).sum()) == 1020
    one = frame.filter((frame["author"] == "gpt-3.5-turbo-0613") & (frame["repository"] == "humaneval"))
    rates = dict(one.group_by("harness").agg(pl.col("truth_passed").sum()).iter_rows())
    assert rates == {
        "direct": 121,
        "ldb-function": 131,
        "ldb-line": 132,
        "ldb-block": 136,
        "reflexion+ldb": 156,
    }
