"""LiveCodeBench files: codes by question, grades, and results by test beside them."""

import json
import shutil
from pathlib import Path

import pytest

from tests.importers._code_files import FIXTURES, head, write_lines
from voirdire.errors import DataError
from voirdire.importers.livecodebench import read_samples, read_tasks, sniff
from voirdire.model import FileFaultKind, TestGroup, TestStyle, TruthStatus

FOLDER = FIXTURES / "livecodebench"
GRADED = "custom_outputs_codegeneration_output_eval_all.json"


def test_results_by_test_are_read_from_the_file_beside() -> None:
    first, second = read_samples(FOLDER / GRADED).samples
    assert first.truth is not None
    assert second.truth is not None
    assert (first.task, first.number, second.number) == ("abc_1", 0, 1)
    assert (first.truth.status, first.truth.groups) == (TruthStatus.PASSED, {"tests": TestGroup(2, 2)})
    assert (second.truth.status, second.truth.groups) == (TruthStatus.FAILED, {"tests": TestGroup(1, 2)})
    assert "Wrong Answer" in (second.truth.label or "")
    assert "up to the first test" in (second.truth.label or "")


def test_without_that_file_only_the_grade_is_known(tmp_path: Path) -> None:
    shutil.copy(FOLDER / GRADED, tmp_path)
    _, second = read_samples(tmp_path / GRADED).samples
    assert second.truth is not None
    assert (second.truth.status, dict(second.truth.groups)) == (TruthStatus.FAILED, {})


@pytest.mark.parametrize(
    ("code", "status"),
    [(-1, TruthStatus.TIMEOUT), (-2, TruthStatus.FAILED), (-3, TruthStatus.TIMEOUT), (-4, TruthStatus.ERROR)],
)
def test_the_codes_say_why_a_sample_failed(tmp_path: Path, code: int, status: TruthStatus) -> None:
    row = {"question_id": "q", "code_list": ["x"], "graded_list": [False]}
    path = tmp_path / "m_eval_all.json"
    path.write_text(json.dumps([{**row, "metadata": [json.dumps({"error_code": code})]}]))
    (by_metadata,) = read_samples(path).samples
    (tmp_path / "m_eval.json").write_text(json.dumps([{}, {"0": [[True, code]]}, []]))
    (by_test,) = read_samples(path).samples
    assert by_metadata.truth is not None
    assert by_test.truth is not None
    assert by_metadata.truth.status is by_test.truth.status is status
    assert by_test.truth.groups == {"tests": TestGroup(1, 2)}


def test_custom_outputs_have_no_truth() -> None:
    read = read_samples(FOLDER / "custom_outputs.json", system="me")
    assert [(one.number, one.system, one.truth) for one in read.samples] == [(0, "me", None), (1, "me", None)]


def test_what_cannot_be_read_is_named_by_entry_and_code(tmp_path: Path) -> None:
    path = tmp_path / "o.json"
    rows = [{"question_id": "q", "code_list": ["x", None]}, {"question_id": "r"}, 5]
    path.write_text(json.dumps(rows))
    read = read_samples(path)
    assert {(fault.where, fault.kind) for fault in read.faults} == {
        ("entry 1, code 1", FileFaultKind.MISSING_ANSWER),
        ("entry 2", FileFaultKind.NOT_READABLE),
        ("entry 3", FileFaultKind.NOT_READABLE),
    }
    assert read.account["entries"] == 4


def test_questions_about_whole_programs_are_tasks(tmp_path: Path) -> None:
    row = {
        "question_id": "abc_1",
        "question_content": "Print a minus b.",
        "starter_code": "",
        "public_test_cases": json.dumps([{"input": "3 1\n", "output": "2\n", "testtype": "stdin"}]),
        "private_test_cases": "never opened",
    }
    (task,) = read_tasks(write_lines(tmp_path / "q.jsonl", [row]))
    assert (task.style, json.loads(task.tests)) == (TestStyle.STDIO, [["3 1\n", "2\n"]])
    with pytest.raises(DataError, match="asks for a function"):
        read_tasks(write_lines(tmp_path / "f.jsonl", [{**row, "starter_code": "class Solution:"}]))
    with pytest.raises(DataError, match="list of cases"):
        read_tasks(write_lines(tmp_path / "g.jsonl", [{**row, "public_test_cases": "{"}]))


def test_sniff_knows_outputs_and_grades() -> None:
    assert sniff(head("livecodebench/custom_outputs.json"))
    assert sniff(head(f"livecodebench/{GRADED}"))
    assert not sniff(head("livecodebench/custom_outputs_codegeneration_output_eval.json"))
