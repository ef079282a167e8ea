"""EvalPlus files: samples, folders, and results with two groups."""

import json
from pathlib import Path

import pytest

from tests.importers._code_files import FIXTURES, head, write_lines
from voirdire.errors import DataError
from voirdire.importers.evalplus import read_samples, sniff
from voirdire.model import CodeTask, FileFaultKind, TestGroup, TestStyle, TruthStatus

FOLDER = FIXTURES / "evalplus"


def test_samples_are_whole_programs() -> None:
    read = read_samples(FOLDER / "samples.jsonl")
    assert [(one.task, one.number) for one in read.samples] == [("HumanEval/900", 0), ("HumanEval/900", 1)]
    assert read.samples[0].code == "def sub(a, b):\n    return a - b\n"


def test_base_passes_and_plus_fails() -> None:
    """Groups stay apart, and the enormous inputs of the failing test are no trouble."""
    first, second = read_samples(FOLDER / "samples_eval_results.json").samples
    assert first.truth is not None
    assert second.truth is not None
    assert first.truth.status is TruthStatus.FAILED
    assert first.truth.groups == {"base": TestGroup(1, 1), "plus": TestGroup(0, 1)}
    assert second.truth.groups == {"base": TestGroup(0, 1), "plus": TestGroup(0, 1)}
    assert (first.number, second.number, first.system) == (0, 1, "samples")


def results(tmp_path: Path, *rows: object) -> Path:
    path = tmp_path / "m_eval_results.json"
    path.write_text(json.dumps({"date": "", "eval": {"HumanEval/1": rows}}).replace('"INF"', "Infinity"))
    return path


def test_base_only_time_outs_and_numbers_that_are_not_finite(tmp_path: Path) -> None:
    path = results(
        tmp_path,
        {"solution": "a", "base_status": "pass", "plus_status": None, "base_fail_tests": ["INF"]},
        {"solution": "b", "base_status": "timeout", "plus_status": "fail"},
        {"solution": "c", "base_status": "pass", "plus_status": "pass"},
    )
    truths = [one.truth for one in read_samples(path).samples]
    assert [truth.status for truth in truths if truth] == [
        TruthStatus.PASSED,
        TruthStatus.TIMEOUT,
        TruthStatus.PASSED,
    ]
    assert truths[0] is not None
    assert set(truths[0].groups) == {"base"}


def test_what_cannot_be_read_in_results_is_named_by_task_and_sample(tmp_path: Path) -> None:
    path = results(
        tmp_path,
        ["pass", []],
        {"solution": None, "base_status": "pass"},
        {"solution": "c", "base_status": "great"},
        {"solution": "d", "base_status": "pass"},
    )
    read = read_samples(path)
    assert [(fault.where, fault.kind) for fault in read.faults] == [
        ("HumanEval/1, sample 0", FileFaultKind.MISSING_ANSWER),
        ("HumanEval/1, sample 1", FileFaultKind.MISSING_ANSWER),
        ("HumanEval/1, sample 2", FileFaultKind.NOT_READABLE),
    ]
    assert [one.number for one in read.samples] == [3]


def test_a_folder_of_programs(tmp_path: Path) -> None:
    for number, name in enumerate(
        ["HumanEval_0/0.py", "HumanEval_0/1.py", "HumanEval_0/10.py", "Mbpp_2/0.py"]
    ):
        file = tmp_path / "model-x" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"x = {number}\n")
    (tmp_path / "model-x" / "Mbpp_2" / "1.py").write_bytes(b"\xff\xfe\xfa")
    read = read_samples(tmp_path / "model-x")
    assert [(one.task, one.number, one.system) for one in read.samples] == [
        ("HumanEval/0", 0, "model-x"),
        ("HumanEval/0", 1, "model-x"),
        ("HumanEval/0", 10, "model-x"),
        ("Mbpp/2", 0, "model-x"),
    ]
    assert [(fault.where, fault.kind) for fault in read.faults] == [("Mbpp_2/1.py", FileFaultKind.ENCODING)]


def test_completions_need_their_tasks(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "s.jsonl", [{"task_id": "t/1", "completion": " x"}, {"task_id": "t/1"}])
    task = CodeTask("t/1", "def f():", "", TestStyle.CHECK)
    read = read_samples(path, {"t/1": task})
    assert [one.code for one in read.samples] == ["def f(): x"]
    assert [fault.kind for fault in read.faults] == [FileFaultKind.MISSING_ANSWER]


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"results": 1}')
    with pytest.raises(DataError, match="no 'eval'"):
        read_samples(path)
    path.write_text('{"eval": ')
    with pytest.raises(DataError, match="not JSON"):
        read_samples(path)


def test_sniff_knows_samples_and_results() -> None:
    assert sniff(head("evalplus/samples.jsonl"))
    assert sniff(head("evalplus/samples_eval_results.json"))
    assert not sniff(head("bigcodebench/eval_results.json"))
    assert not sniff(head("human_eval/samples.jsonl"))
