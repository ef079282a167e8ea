"""SWE-bench Pro files: groups counted from the results of the tests against two lists of Python literals."""

import json
import shutil
from pathlib import Path

import pytest

from tests.importers._code_files import FIXTURES, head
from voirdire.importers.swe_bench_pro import read_items, read_outcomes, sniff
from voirdire.model import FileFaultKind, GroundTruth, TestGroup, TruthStatus

FOLDER = FIXTURES / "swe_bench_pro"
INSTANCE = "instance_acme__calc-" + "a" * 40 + "-v" + "b" * 40


def only_truth(folder: Path) -> GroundTruth | None:
    (item,) = read_items(folder / "patches.json")
    return item.truth


@pytest.fixture
def run(tmp_path: Path) -> Path:
    shutil.copytree(FOLDER, tmp_path / "run")
    return tmp_path / "run"


def set_tests(run: Path, *tests: tuple[str, str]) -> None:
    rows = [{"name": name, "status": status} for name, status in tests]
    (run / INSTANCE / "model-a_output.json").write_text(json.dumps({"tests": rows}))


def test_groups_are_counted_from_lists_in_texts() -> None:
    found = only_truth(FOLDER)
    assert found is not None
    assert found.status is TruthStatus.FAILED
    assert found.groups == {"FAIL_TO_PASS": TestGroup(0, 1), "PASS_TO_PASS": TestGroup(1, 1)}


def test_all_of_both_lists_must_pass(run: Path) -> None:
    set_tests(run, ("tests/test_sub.py | test_sub", "PASSED"), ("tests/test_add.py | test_add", "PASSED"))
    passed = only_truth(run)
    set_tests(run, ("tests/test_sub.py | test_sub", "PASSED"), ("tests/test_add.py | test_add", "SKIPPED"))
    skipped = only_truth(run)
    assert passed is not None
    assert skipped is not None
    assert (passed.status, skipped.status) == (TruthStatus.PASSED, TruthStatus.FAILED)
    assert skipped.groups["PASS_TO_PASS"] == TestGroup(0, 1)


def test_false_without_results_may_be_a_failure_or_no_run(run: Path) -> None:
    shutil.rmtree(run / INSTANCE)
    found = only_truth(run)
    assert found is not None
    assert (found.status, dict(found.groups)) == (TruthStatus.NOT_RUN, {})
    (run / "eval_results.json").write_text(json.dumps({INSTANCE: True}))
    passed = only_truth(run)
    assert passed is not None
    assert passed.status is TruthStatus.PASSED
    (run / "eval_results.json").unlink()
    assert only_truth(run) is None


@pytest.mark.parametrize("literal", ["__import__('os').system('x')", "[1]", "[", "'a'"])
def test_a_list_that_is_no_list_of_texts_is_named_and_never_run(run: Path, literal: str) -> None:
    row = json.loads((run / "raw_sample.jsonl").read_text())
    (run / "raw_sample.jsonl").write_text(json.dumps({**row, "fail_to_pass": literal}) + "\n")
    read = read_outcomes(run / "patches.json")
    assert read.items == ()
    assert [(fault.where, fault.kind) for fault in read.faults] == [("entry 1", FileFaultKind.NOT_READABLE)]
    assert "list of test ids" in read.faults[0].message


def test_an_empty_patch_was_not_applied(run: Path) -> None:
    (run / "patches.json").write_text(json.dumps([{"instance_id": INSTANCE, "patch": "", "prefix": "m"}]))
    found = only_truth(run)
    assert found is not None
    assert found.status is TruthStatus.NOT_APPLIED


def test_the_item_holds_task_and_system() -> None:
    (item,) = read_items(FOLDER / "patches.json")
    assert item.id == f"model-a/{INSTANCE}"
    assert item["task"] == "sub() returns the wrong sign"


def test_sniff_knows_patches() -> None:
    assert sniff(head("swe_bench_pro/patches.json"))
    assert not sniff(head("swe_bench_pro/raw_sample.jsonl"))
    assert not sniff(head("swe_bench_pro/eval_results.json"))
    assert not sniff(head("swe_bench/preds_alpha.jsonl"))
