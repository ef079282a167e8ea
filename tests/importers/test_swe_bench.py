"""SWE-bench files: groups apart, broken environments apart from failures, and every trap of the toy run."""

import json
import shutil
from pathlib import Path

import pytest

from tests.importers._code_files import FIXTURES, head, write_lines
from voirdire.errors import DataError
from voirdire.importers.swe_bench import read_items, read_outcomes, sniff
from voirdire.model import FileFaultKind, GroundTruth, TestGroup, TruthStatus

FOLDER = FIXTURES / "swe_bench"
F2P, P2P = "FAIL_TO_PASS", "PASS_TO_PASS"


def truths(path: Path) -> dict[str, GroundTruth | None]:
    return {item.id: item.truth for item in read_items(path)}


def truth(path: Path, item: str) -> GroundTruth:
    found = truths(path)[item]
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("item", "status", "f2p", "p2p"),
    [
        ("alpha-agent/acme__calc-101", TruthStatus.PASSED, TestGroup(2, 2), TestGroup(1, 1)),
        ("alpha-agent/acme__calc-102", TruthStatus.FAILED, TestGroup(0, 1), TestGroup(2, 2)),
        ("alpha-agent/acme__calc-103", TruthStatus.FAILED, TestGroup(0, 1), TestGroup(0, 1)),
        ("beta-agent/v2/acme__calc-101", TruthStatus.FAILED, TestGroup(1, 2), TestGroup(1, 1)),
    ],
)
def test_resolved_zero_with_regressions_intact_zero_of_everything_and_partial(
    item: str, status: TruthStatus, f2p: TestGroup, p2p: TestGroup
) -> None:
    file = "preds_alpha.jsonl" if item.startswith("alpha") else "preds_beta.json"
    found = truth(FOLDER / file, item)
    assert (found.status, found.groups[F2P], found.groups[P2P]) == (status, f2p, p2p)


def test_a_broken_environment_is_no_failure_though_the_harness_counts_it_unresolved() -> None:
    report = json.loads((FOLDER / "beta-agent__v2.demo.json").read_text())
    assert "acme__calc-102" in report["unresolved_ids"]
    found = truth(FOLDER / "preds_beta.json", "beta-agent/v2/acme__calc-102")
    assert (found.status, found.label) == (TruthStatus.INFRASTRUCTURE, "network_unreachable")


def test_an_empty_patch_was_not_applied() -> None:
    found = truth(FOLDER / "preds_beta.json", "beta-agent/v2/acme__calc-103")
    assert (found.status, found.label) == (TruthStatus.NOT_APPLIED, "empty patch")


def test_an_item_holds_the_task_the_patch_and_the_reference() -> None:
    item = read_items(FOLDER / "preds_alpha.jsonl")[0]
    assert item.origin is not None
    assert (item.origin.task, item.origin.author) == ("acme__calc-101", "alpha-agent")
    assert item["task"] == "sub() returns the wrong sign."
    assert item["response"].startswith("diff --git")
    assert item["reference"].startswith("diff --git")


# --- one run, changed -------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path) -> Path:
    shutil.copytree(FOLDER, tmp_path / "run")
    return tmp_path / "run"


def log_folder(run: Path, instance: str, system: str = "alpha-agent") -> Path:
    return run / "logs" / "run_evaluation" / "demo" / system / instance


def change_report(run: Path, instance: str, **changes: object) -> None:
    path = log_folder(run, instance) / "report.json"
    report = json.loads(path.read_text())
    for key, value in changes.items():
        report[instance].pop(key, None)
        if value is not None:
            report[instance][key] = value
    path.write_text(json.dumps(report))


def test_without_a_report_the_log_is_read_and_a_cut_id_matches_by_its_beginning(run: Path) -> None:
    for instance in ("acme__calc-101", "acme__calc-102", "acme__calc-103"):
        (log_folder(run, instance) / "report.json").unlink()
    (log_folder(run, "acme__calc-101", "beta-agent__v2") / "report.json").unlink()
    read = truths(run / "preds_alpha.jsonl")
    recorded = truths(FOLDER / "preds_alpha.jsonl")
    for item, found in read.items():
        expected = recorded[item]
        assert found is not None
        assert expected is not None
        assert (found.status, found.groups) == (expected.status, expected.groups)
    partial = truth(run / "preds_beta.json", "beta-agent/v2/acme__calc-101")
    assert (partial.groups[F2P], partial.label) == (TestGroup(1, 2), "read from the log")


def test_in_a_log_a_skipped_test_fails_to_start_passing_but_is_kept_where_it_passed(run: Path) -> None:
    folder = log_folder(run, "acme__calc-102")
    (folder / "report.json").unlink()
    log = (folder / "test_output.txt").read_text()
    log = log.replace(
        "FAILED tests/test_div.py::test_zero - ZeroDivisionError", "SKIPPED tests/test_div.py::test_zero"
    )
    (folder / "test_output.txt").write_text(
        log.replace("PASSED tests/test_add.py", "SKIPPED tests/test_add.py")
    )
    found = truth(run / "preds_alpha.jsonl", "alpha-agent/acme__calc-102")
    assert (found.groups[F2P], found.groups[P2P]) == (TestGroup(0, 1), TestGroup(2, 2))


@pytest.mark.parametrize(
    ("log", "status"),
    [
        (">>>>> Patch Apply Failed\n", TruthStatus.NOT_APPLIED),
        (">>>>> Applied Patch\n>>>>> Tests Timed Out\n", TruthStatus.TIMEOUT),
        (">>>>> Applied Patch\nNo space left on device\n", TruthStatus.INFRASTRUCTURE),
        (">>>>> Applied Patch\n", TruthStatus.NOT_RUN),
    ],
)
def test_what_not_applied_covers_is_told_apart_by_the_log(run: Path, log: str, status: TruthStatus) -> None:
    change_report(run, "acme__calc-103", patch_successfully_applied=False, tests_status=None)
    (log_folder(run, "acme__calc-103") / "test_output.txt").write_text(log)
    assert truth(run / "preds_alpha.jsonl", "alpha-agent/acme__calc-103").status is status
    (log_folder(run, "acme__calc-103") / "report.json").unlink()
    assert truth(run / "preds_alpha.jsonl", "alpha-agent/acme__calc-103").status is status


def test_an_older_report_that_classifies_nothing_is_read_with_its_log(run: Path) -> None:
    change_report(run, "acme__calc-103", infra_failure=None)
    output = log_folder(run, "acme__calc-103") / "test_output.txt"
    output.write_text(output.read_text() + "Temporary failure in name resolution\n")
    found = truth(run / "preds_alpha.jsonl", "alpha-agent/acme__calc-103")
    assert (found.status, found.label) == (TruthStatus.INFRASTRUCTURE, "network_unreachable")
    change_report(run, "acme__calc-103", infra_failure=False)
    assert truth(run / "preds_alpha.jsonl", "alpha-agent/acme__calc-103").status is TruthStatus.FAILED


def test_a_test_that_passed_shows_that_the_environment_worked(run: Path) -> None:
    change_report(run, "acme__calc-102", infra_failure=None)
    output = log_folder(run, "acme__calc-102") / "test_output.txt"
    output.write_text(output.read_text() + "Network is unreachable\n")
    assert truth(run / "preds_alpha.jsonl", "alpha-agent/acme__calc-102").status is TruthStatus.FAILED


def test_where_only_the_bit_is_known_there_are_no_groups(run: Path) -> None:
    change_report(run, "acme__calc-101", tests_status=None)
    found = truth(run / "preds_alpha.jsonl", "alpha-agent/acme__calc-101")
    assert (found.status, dict(found.groups)) == (TruthStatus.PASSED, {})


def test_a_run_report_alone_gives_the_bit(run: Path) -> None:
    shutil.rmtree(run / "logs")
    alpha = truths(run / "preds_alpha.jsonl")
    beta = truths(run / "preds_beta.json")
    assert [one.status for one in alpha.values() if one] == [
        TruthStatus.PASSED,
        TruthStatus.FAILED,
        TruthStatus.FAILED,
    ]
    assert [one.status for one in beta.values() if one] == [
        TruthStatus.FAILED,
        TruthStatus.INFRASTRUCTURE,
        TruthStatus.NOT_APPLIED,
    ]
    assert not any(one.groups for one in (*alpha.values(), *beta.values()) if one)


def test_a_folder_without_report_and_log_is_an_error_of_the_harness(run: Path) -> None:
    (run / "alpha-agent.demo.json").unlink()
    for name in ("report.json", "test_output.txt"):
        (log_folder(run, "acme__calc-101") / name).unlink()
    found = truth(run / "preds_alpha.jsonl", "alpha-agent/acme__calc-101")
    assert found.status is TruthStatus.ERROR
    shutil.rmtree(log_folder(run, "acme__calc-102"))
    assert truth(run / "preds_alpha.jsonl", "alpha-agent/acme__calc-102").status is TruthStatus.NOT_RUN


def test_predictions_alone_have_no_truth_and_no_task(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "preds_beta.json", tmp_path)
    items = read_items(tmp_path / "preds_beta.json")
    assert [item.truth for item in items][:2] == [None, None]
    assert set(items[0].parts) == {"response"}


def test_a_list_and_lines_and_a_dict_hold_the_same(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (FOLDER / "preds_alpha.jsonl").read_text().splitlines()]
    listed, by_instance = tmp_path / "list.json", tmp_path / "dict.json"
    listed.write_text(json.dumps(rows))
    by_instance.write_text(json.dumps({row.pop("instance_id"): row for row in [dict(row) for row in rows]}))
    lines = write_lines(tmp_path / "lines.jsonl", rows)
    assert read_items(listed) == read_items(by_instance) == read_items(lines)


def test_bad_predictions_are_named_and_the_rest_is_read(tmp_path: Path) -> None:
    good = json.loads((FOLDER / "preds_alpha.jsonl").read_text().splitlines()[0])
    rows = [good, {"instance_id": "x"}, good, {**good, "instance_id": "y", "model_patch": 3}, "{cut"]
    read = read_outcomes(write_lines(tmp_path / "p.jsonl", rows))
    assert len(read.items) == 1
    assert {(fault.where, fault.kind) for fault in read.faults} == {
        ("line 2", FileFaultKind.NOT_READABLE),
        ("line 3", FileFaultKind.DUPLICATE),
        ("line 4", FileFaultKind.NOT_READABLE),
        ("line 5", FileFaultKind.NOT_READABLE),
    }
    with pytest.raises(DataError, match="no predictions"):
        read_outcomes(write_lines(tmp_path / "e.jsonl", [""]))


def test_a_patch_that_is_null_is_empty(tmp_path: Path) -> None:
    row = {"instance_id": "x", "model_name_or_path": "m", "model_patch": None}
    found = truth(write_lines(tmp_path / "p.jsonl", [row]), "m/x")
    assert found.status is TruthStatus.NOT_APPLIED


def test_sniff_knows_predictions_in_both_shapes() -> None:
    assert sniff(head("swe_bench/preds_alpha.jsonl"))
    assert sniff(head("swe_bench/preds_beta.json"))
    assert not sniff(head("swe_bench/alpha-agent.demo.json"))
    assert not sniff(head("swe_bench/dataset.jsonl"))
    assert not sniff(head("swe_bench_pro/patches.json"))
