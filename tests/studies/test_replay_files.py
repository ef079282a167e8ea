"""Files of a replay: names of checkpoints and passes, accounts of what is wrong, verdicts and results."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from voirdire.errors import DataError, UsageError
from voirdire.model import CodeSample
from voirdire.studies._replay_files import (
    Source,
    read_results,
    read_sets,
    read_tasks,
    source_of,
)
from voirdire.studies._replay_table import SampleSet, Truth
from voirdire.studies._replay_verdicts import read_verdicts

TASKS = [
    {
        "task_id": f"HumanEval/{number}",
        "prompt": f"def f{number}(x):\n",
        "entry_point": f"f{number}",
        "canonical_solution": "    return x\n",
        "test": f"def check(candidate):\n    assert candidate({number}) == {number}\n",
    }
    for number in range(3)
]


def lines(path: Path, rows: Sequence[object]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def tasks_file(folder: Path) -> Path:
    return lines(folder / "tasks.jsonl", TASKS)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("base=a.jsonl", Source(Path("a.jsonl"), "base", "")),
        ("base@first run=a=b.jsonl", Source(Path("a=b.jsonl"), "base", "first run")),
        ("a.jsonl", Source(Path("a.jsonl"))),
    ],
)
def test_how_samples_are_named(text: str, source: Source) -> None:
    assert source_of(text) == source


@pytest.mark.parametrize("text", ["=a.jsonl", "base="])
def test_a_name_or_a_file_alone_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="names no samples"):
        source_of(text)


def test_a_file_with_everything_wrong_is_read_as_far_as_it_can_be(tmp_path: Path) -> None:
    good = [
        json.dumps({"task_id": f"HumanEval/{number}", "completion": "    return x\n"}) for number in range(3)
    ]
    bad = [
        json.dumps({"task_id": "HumanEval/99", "completion": "x"}),
        json.dumps({"task_id": "HumanEval/0"}),
        '{"task_id": "HumanEval/1", "completion": "caf\xe9"}',
    ]
    raw = "\n".join([*good, *bad, '{"task_id": "HumanEval/2", "comp']).encode("latin-1")
    path = tmp_path / "samples.jsonl"
    path.write_bytes(raw)
    tasks = read_tasks([tasks_file(tmp_path)])
    (found,) = read_sets([source_of(f"base={path}")], tasks)
    assert [sample.task for sample in found.samples] == ["HumanEval/0", "HumanEval/1", "HumanEval/2"]
    account = "\n".join(found.account)
    assert account.startswith("samples.jsonl: 7 entries, 3 samples")
    for said in ("unknown task: line 4", "no answer: line 5", "not UTF-8: line 6", "cut off: line 7"):
        assert said in account


def test_every_bad_line_is_named_and_a_packed_file_that_breaks_off_is_read_so_far(tmp_path: Path) -> None:
    good = json.dumps({"task_id": "HumanEval/0", "completion": "    return x\n"})
    lines = ["nothing" if 3 <= number <= 9 or number == 12 else good for number in range(1, 300)]
    path = tmp_path / "samples.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode(), compresslevel=0)[:5000])
    (found,) = read_sets([source_of(str(path))], read_tasks([tasks_file(tmp_path)]))
    account = "\n".join(found.account)
    assert len(found.samples) > 30
    assert "line 7: not JSON: Expecting value: line 1 column 1 (char 0); and 3 more: lines 8-9, 12" in account
    assert "the last line is cut off" in account
    assert "no sample: HumanEval/1, HumanEval/2" in account


def test_a_file_without_any_sample_still_has_its_account(tmp_path: Path) -> None:
    path = tasks_file(tmp_path)
    (found,) = read_sets([source_of(str(path))], read_tasks([path]))
    assert found.samples == ()
    assert "no answer: line 1: 'HumanEval/0' has no completion" in "\n".join(found.account)


def test_a_file_without_a_name_gives_a_set_for_each_of_its_systems(tmp_path: Path) -> None:
    rows = [{"task_id": "HumanEval/0", "system": system, "code": "x = 1"} for system in ("a", "b", "b")]
    path = lines(tmp_path / "two.jsonl", rows)
    tasks = read_tasks([tasks_file(tmp_path)])
    assert [(one.author, len(one.samples)) for one in read_sets([Source(path)], tasks)] == [
        ("a", 1),
        ("b", 2),
    ]
    with pytest.raises(DataError, match="holds samples of 2 systems: a, b"):
        read_sets([Source(path, "base")], tasks)


def test_a_checkpoint_cannot_stand_in_two_files_of_one_pass(tmp_path: Path) -> None:
    path = lines(tmp_path / "one.jsonl", [{"task_id": "HumanEval/0", "completion": "    return x\n"}])
    tasks = read_tasks([tasks_file(tmp_path)])
    with pytest.raises(DataError, match="checkpoint 'base' stands in two files"):
        read_sets([Source(path, "base"), Source(path, "base")], tasks)
    assert len(read_sets([Source(path, "base", "1"), Source(path, "base", "2")], tasks)) == 2


def test_a_word_in_a_later_line_is_not_taken_for_a_key(tmp_path: Path) -> None:
    rows = [*TASKS[:2], {**TASKS[2], "prompt": 'def f2(x):\n    """"solution" "completion" """\n'}]
    assert len(read_tasks([lines(tmp_path / "tasks.jsonl", rows)])) == 3


def test_an_unknown_form_is_named(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    with pytest.raises(DataError, match="no known form of tasks"):
        read_tasks([path])
    with pytest.raises(UsageError, match="there is no file"):
        read_tasks([tmp_path / "absent.jsonl"])
    with pytest.raises(DataError, match="is in another file too"):
        read_tasks([tasks_file(tmp_path), tasks_file(tmp_path)])


# --- verdicts and results -----------------------------------------------------------------------------

BASE = SampleSet("base", "", (CodeSample("HumanEval/0", 0, "x"), CodeSample("HumanEval/0", 1, "y")))
BOTH = [BASE, SampleSet("trained", "", BASE.samples)]


def test_verdicts_are_one_zero_or_missing_with_a_reason(tmp_path: Path) -> None:
    rows = [
        {"task_id": "HumanEval/0", "sample": 0, "verdict": "1"},
        {"task_id": "HumanEval/0", "sample": 1, "verdict": None, "missing_because": "timeout"},
    ]
    found = read_verdicts(lines(tmp_path / "strong.jsonl", rows), "", [BASE]).frame
    assert found.select("author", "judge", "value", "missing_because").rows() == [
        ("base", "strong", 1.0, None),
        ("base", "strong", None, "timeout"),
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"task": "HumanEval/0", "sample": 0, "value": 2}, "the verdict is 2"),
        ({"task": "HumanEval/0", "value": 1}, "no column 'sample'"),
        ({"task": "HumanEval/0", "sample": 0, "value": 1, "author": "other"}, "no samples of 'other'"),
    ],
)
def test_verdicts_that_cannot_be_right_are_refused(
    tmp_path: Path, row: dict[str, object], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read_verdicts(lines(tmp_path / "v.jsonl", [row]), "strong", [BASE])


def test_bad_rows_of_verdicts_are_named_with_their_line_and_the_rest_is_read(tmp_path: Path) -> None:
    good = {"task": "HumanEval/0", "sample": 0, "value": 1}
    rows = [
        good,
        {**good, "value": 0},
        {**good, "sample": 1, "value": "yes"},
        {**good, "sample": 7},
        {**good, "task": "X/1"},
    ]
    path = lines(tmp_path / "v.jsonl", rows)
    path.write_text(path.read_text() + '{"task": "HumanEv')
    found = read_verdicts(path, "strong", [BASE])
    assert found.frame.select("sample", "value", "missing_because").rows() == [
        (0, 1.0, None),
        (1, None, "'yes' is neither 1 nor 0"),
    ]
    assert found.account == (
        "v.jsonl, 1 cut off: line 6: the last line is cut off",
        "v.jsonl, 1 duplicate: line 2: sample 0 of 'HumanEval/0' is on line 1, which counts",
        "v.jsonl, 2 unknown task: line 4: there is no sample 7 of 'HumanEval/0' among the samples; "
        "line 5: there is no task 'X/1' among the samples",
        "v.jsonl, 1 missing, no verdict: line 3: 'yes' is neither 1 nor 0",
    )


def test_verdicts_as_a_table_are_placed_by_their_row(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text("task,sample,value\nHumanEval/0,0,1\nHumanEval/0,0,1\nHumanEval/0,1,\n")
    found = read_verdicts(path, "strong", [BASE])
    assert found.frame["value"].to_list() == [1.0, None]
    assert found.account == (
        "v.csv, 1 duplicate: row 2: sample 0 of 'HumanEval/0' is on row 1, which counts",
    )


def test_verdicts_on_several_checkpoints_must_say_whose_they_are(tmp_path: Path) -> None:
    path = lines(tmp_path / "v.jsonl", [{"task": "HumanEval/0", "sample": 0, "value": 1}])
    with pytest.raises(DataError, match="does not say whose samples it judges"):
        read_verdicts(path, "strong", BOTH)


def test_results_of_execute_are_read_back_by_set(tmp_path: Path) -> None:
    rows = [
        {
            "task_id": "HumanEval/0",
            "sample": 0,
            "system": name,
            "status": status,
            "passed": passed,
            "passed_renamed": True,
        }
        for name, status, passed in (("base", "passed", True), ("trained", "no_entry_point", False))
    ]
    path = tmp_path / "results.parquet"
    pl.DataFrame(rows).write_parquet(path)
    assert read_results(path, BOTH[1]) == {
        ("trained", "", "HumanEval/0", 0): Truth("no_entry_point", passed=False, renamed=True, apart=False)
    }
    with pytest.raises(UsageError, match=r"the form '\.txt' is not known"):
        read_results(tmp_path / "results.txt", BASE)


def test_same_texts_are_one_line_of_the_account(tmp_path: Path) -> None:
    rows = [{"task_id": "HumanEval/0", "sample": n, "completion": "    return x\n"} for n in range(9)]
    path = lines(tmp_path / "s.jsonl", rows)
    (found,) = read_sets([Source(path, "base")], read_tasks([tasks_file(tmp_path)]))
    assert len(found.samples) == 9
    (said,) = [line for line in found.account if "(kept)" in line]
    assert said == "s.jsonl, same text as another sample (kept): 8, the first on line 2"
