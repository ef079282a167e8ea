"""BigCodeBench files: samples named after their model, and results that list only what failed."""

import json
from pathlib import Path

import pytest

from tests.importers._code_files import FIXTURES, head, write_lines
from voirdire.errors import DataError
from voirdire.importers.bigcodebench import read_samples, read_tasks, sniff
from voirdire.model import FileFaultKind, TestGroup, TestStyle, TruthStatus

FOLDER = FIXTURES / "bigcodebench"
SAMPLES = FOLDER / "model-a--bigcodebench-instruct--openai-0.2-1-sanitized_calibrated.jsonl"

TASK = {
    "task_id": "BigCodeBench/0",
    "complete_prompt": "def task_func(path):\n",
    "canonical_solution": "    return 1\n",
    "entry_point": "task_func",
    "test": "import unittest\nclass TestCases(unittest.TestCase):\n"
    "    def test_missing_file(self): pass\n    def test_other(self): pass\n",
}


def test_the_model_is_in_the_name_of_the_file() -> None:
    (sample,) = read_samples(SAMPLES).samples
    assert (sample.system, sample.task, sample.number) == ("model-a", "BigCodeBench/0", 0)
    assert sample.code.startswith("def task_func(path):")


def test_without_the_tasks_the_total_is_unknown() -> None:
    (sample,) = read_samples(FOLDER / "eval_results.json").samples
    assert sample.truth is not None
    assert (sample.truth.status, dict(sample.truth.groups)) == (TruthStatus.FAILED, {})
    assert sample.truth.label == "test_missing_file"


def test_with_the_tasks_the_tests_are_counted(tmp_path: Path) -> None:
    tasks = {task.id: task for task in read_tasks(write_lines(tmp_path / "tasks.jsonl", [TASK]))}
    task = tasks["BigCodeBench/0"]
    assert (task.style, task.reference) == (TestStyle.UNITTEST, "def task_func(path):\n    return 1\n")
    (sample,) = read_samples(FOLDER / "eval_results.json", tasks).samples
    assert sample.truth is not None
    assert sample.truth.groups == {"tests": TestGroup(1, 2)}


def test_a_time_out_has_no_counts_and_an_unknown_status_is_named(tmp_path: Path) -> None:
    tasks = {task.id: task for task in read_tasks(write_lines(tmp_path / "tasks.jsonl", [TASK]))}
    rows = [
        {"solution": "a", "status": "timeout", "details": {"ALL": "timed out"}},
        {"solution": "b", "status": "pass", "details": {}},
        {"solution": "c", "status": "odd", "details": {}},
        {"status": "pass"},
        3,
    ]
    path = tmp_path / "x_eval_results.json"
    path.write_text(json.dumps({"eval": {"BigCodeBench/0": rows}}))
    read = read_samples(path, tasks)
    first, second = (one.truth for one in read.samples)
    assert first is not None
    assert second is not None
    assert (first.status, dict(first.groups)) == (TruthStatus.TIMEOUT, {})
    assert second.groups == {"tests": TestGroup(2, 2)}
    assert [(fault.where, fault.kind) for fault in read.faults] == [
        ("BigCodeBench/0, sample 2", FileFaultKind.NOT_READABLE),
        ("BigCodeBench/0, sample 3", FileFaultKind.MISSING_ANSWER),
        ("BigCodeBench/0, sample 4", FileFaultKind.NOT_READABLE),
    ]


def test_a_file_of_rates_is_no_file_of_results() -> None:
    assert not sniff(head("bigcodebench/pass_at_k.json"))
    with pytest.raises(DataError, match="no 'eval'"):
        read_samples(FOLDER / "pass_at_k.json")


def test_sniff_knows_samples_results_and_tasks() -> None:
    assert sniff(head(f"bigcodebench/{SAMPLES.name}"))
    assert sniff(head("bigcodebench/eval_results.json"))
    assert sniff(json.dumps(TASK))
    assert not sniff(head("evalplus/samples.jsonl"))
