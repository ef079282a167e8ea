"""SWE-bench: predictions, with the reports and logs that its harness left beside them. Imported, never run.

The groups FAIL_TO_PASS and PASS_TO_PASS stay apart. A broken environment is no failure: it is `infrastructure`, though
the harness counts it as unresolved. Where only the bit is known, there are no groups.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from voirdire.errors import DataError
from voirdire.importers._files import read_bytes
from voirdire.importers._json_lines import Row
from voirdire.importers._patches import (
    FAIL_TO_PASS,
    PASS_TO_PASS,
    Ids,
    Patches,
    counted,
    dataset_beside,
    item_of,
    listed,
    truth_of_tests,
)
from voirdire.importers._samples import document_of, first_object
from voirdire.model import GroundTruth, Item, OutcomeFile, TestGroup, TruthStatus

DATASETS = ("dataset.jsonl", "dataset.jsonl.gz")
LOGS = Path("logs", "run_evaluation")

APPLY_FAILED = ">>>>> Patch Apply Failed"
TIMED_OUT = ">>>>> Tests Timed Out"

INFRASTRUCTURE = (
    (
        re.compile(r"Temporary failure in name resolution|Network is unreachable|Could not resolve host"),
        "network_unreachable",
    ),
    (re.compile(r"No space left on device"), "disk_full"),
    (re.compile(r"Cannot allocate memory|\boom-kill|Out of memory: Kill"), "out_of_memory"),
    (re.compile(r"Cannot connect to the Docker daemon|No such container"), "container_lost"),
    (
        re.compile(r"(?:chrome|chromium|browser) (?:not reachable|failed to start)", re.IGNORECASE),
        "browser_failed",
    ),
)
"""What a log says where the environment broke: our reading, for reports that do not classify it."""

_RESULT = re.compile(r"^(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (\S.*?)(?: - .*)?$", re.MULTILINE)


def sniff(head: str) -> bool:
    """Whether a file that begins with this text holds SWE-bench predictions."""
    return '"model_patch"' in first_object(head) or bool(
        re.match(r'\s*\{\s*"[^"]+__[^"]+"\s*:\s*\{\s*"', head)
    )


def read_items(path: Path) -> list[Item]:
    """Return the patches of a predictions file as items, with their truth; see `read_outcomes`."""
    return list(read_outcomes(path).items)


def read_outcomes(path: Path) -> OutcomeFile:
    """Return the patches of a predictions file (JSON lines, list or dict) with what the harness left beside it.

    Looked at, in the folder of the file: `logs/run_evaluation/RUN/MODEL/INSTANCE/` (report, test output), the run report
    `MODEL.RUN.json`, and `dataset.jsonl` for the texts of the tasks and the ids of the tests. Where several runs are
    there, the last by name counts. An item without anything beside it has no truth.
    """
    tasks = dataset_beside(path, DATASETS)
    runs: dict[str, _Run] = {}

    def item(row: Row) -> Item:
        instance, system = row.text("instance_id"), row.text("model_name_or_path")
        patch = row.data.get("model_patch")
        if patch is not None and not isinstance(patch, str):
            raise row.wrong("'model_patch' must be a text or null")
        run = runs.setdefault(system, _run_of(path.parent, system))
        task = tasks.get(instance)
        return item_of(
            instance, system, patch or "", truth=_truth(run, instance, patch or "", task), task=task
        )

    return Patches(path).read(item)


# --- what the harness left --------------------------------------------------------------------------


@dataclass(frozen=True)
class _Run:
    """One run's folder of logs for one system, and its run report; None and {} where they are not there."""

    logs: Path | None
    report: Mapping[str, Any] = field(default_factory=dict)

    def lists(self, key: str, instance: str) -> bool:
        """Whether the run report has the instance in one of its lists."""
        return instance in (self.report.get(key) or ())

    def reason(self, instance: str) -> str | None:
        """Return why the environment of an instance broke, as the run report says."""
        reasons = self.report.get("failure_reasons")
        found = reasons.get(instance) if isinstance(reasons, dict) else None
        return str(found) if found else None


def _run_of(folder: Path, system: str) -> _Run:
    """Return the last run, by name, of a system, whose `/` became `__` in the names of files."""
    name = system.replace("/", "__")
    logs = [one for one in sorted((folder / LOGS).glob("*/")) if (one / name).is_dir()]
    reports = sorted(one for one in folder.glob("*.json") if one.name.startswith(f"{name}."))
    if logs:
        reports = [one for one in reports if one.name == f"{name}.{logs[-1].name}.json"]
    report = document_of(reports[-1]) if reports else {}
    return _Run(logs[-1] / name if logs else None, report if isinstance(report, dict) else {})


def _truth(run: _Run, instance: str, patch: str, task: Mapping[str, Any] | None) -> GroundTruth | None:
    """Return what happened to one patch: from its own report, its log, or the run report, in this order."""
    folder = run.logs / instance if run.logs else None
    output = _text(folder / "test_output.txt") if folder else ""
    report = _report(folder / "report.json", instance) if folder else None
    if not patch.strip() or run.lists("empty_patch_ids", instance):
        return truth_of_tests(TruthStatus.NOT_APPLIED, label="empty patch")
    if report is not None:
        return _reported(report, output, run.reason(instance))
    if output and task is not None:
        return _from_log(output, _ids_of(task))
    if run.lists("infra_failure_ids", instance):
        return truth_of_tests(TruthStatus.INFRASTRUCTURE, label=run.reason(instance))
    if run.lists("resolved_ids", instance):
        return truth_of_tests(TruthStatus.PASSED)
    if run.lists("unresolved_ids", instance):
        return truth_of_tests(TruthStatus.FAILED)
    if run.lists("error_ids", instance) or (folder is not None and folder.is_dir()):
        return truth_of_tests(TruthStatus.ERROR, label="the harness left no report")
    return truth_of_tests(TruthStatus.NOT_RUN) if run.logs or run.report else None


def _reported(report: Mapping[str, Any], output: str, reason: str | None) -> GroundTruth:
    """Return what a report says; what it lumps together is told apart by the log."""
    status = report.get("tests_status")
    groups = _groups(status) if isinstance(status, dict) else {}
    if report.get("infra_failure"):
        why = report.get("infra_failure_reason")
        return truth_of_tests(TruthStatus.INFRASTRUCTURE, groups, str(why) if why else reason)
    if report.get("resolved"):
        return truth_of_tests(TruthStatus.PASSED, groups)
    if report.get("patch_successfully_applied") is False:
        return _not_started(report, output)
    broken = _infrastructure(output) if "infra_failure" not in report else None
    if broken and not any(group.passed for group in groups.values()):
        return truth_of_tests(TruthStatus.INFRASTRUCTURE, groups, broken)
    return truth_of_tests(TruthStatus.TIMEOUT if TIMED_OUT in output else TruthStatus.FAILED, groups)


def _not_started(report: Mapping[str, Any], output: str) -> GroundTruth:
    """Tell apart what 'not applied' covers: no patch, a time-out, a broken environment, a suite that never began."""
    if APPLY_FAILED in output or report.get("patch_is_None") or report.get("patch_exists") is False:
        return truth_of_tests(TruthStatus.NOT_APPLIED)
    if TIMED_OUT in output:
        return truth_of_tests(TruthStatus.TIMEOUT)
    broken = _infrastructure(output)
    if broken:
        return truth_of_tests(TruthStatus.INFRASTRUCTURE, label=broken)
    return truth_of_tests(TruthStatus.NOT_RUN, label="the suite never started, or its log cannot be read")


def _from_log(output: str, ids: Ids) -> GroundTruth:
    """Return the groups from a test log, for an instance without a report.

    A skipped test counts as failed where it had to start passing, and as kept where it had to go on. An id that was
    cut within its parameters matches every test that begins so.
    """
    if APPLY_FAILED in output:
        return truth_of_tests(TruthStatus.NOT_APPLIED)
    if TIMED_OUT in output:
        return truth_of_tests(TruthStatus.TIMEOUT)
    results = {name.strip(): status for status, name in _RESULT.findall(output)}
    broken = _infrastructure(output)
    if not results:
        status = TruthStatus.INFRASTRUCTURE if broken else TruthStatus.NOT_RUN
        return truth_of_tests(status, label=broken or "no test result in the log")

    def passed(group: str, test: str) -> bool:
        found = [
            status
            for name, status in results.items()
            if name == test or (_is_cut(test) and name.startswith(test))
        ]
        good = {"PASSED", "XFAIL"} | ({"SKIPPED"} if group == PASS_TO_PASS else set())
        return bool(found) and all(status in good for status in found)

    groups = counted(ids, passed)
    done = all(group.passed == group.total for group in groups.values())
    return truth_of_tests(TruthStatus.PASSED if done else TruthStatus.FAILED, groups, "read from the log")


def _is_cut(test: str) -> bool:
    """Whether a test's id ends within its parameters."""
    return test.count("[") > test.count("]")


def _groups(status: Mapping[str, Any]) -> dict[str, TestGroup]:
    groups = {}
    for group in (FAIL_TO_PASS, PASS_TO_PASS):
        said = status.get(group)
        if isinstance(said, dict):
            good, bad = (len(said.get(key) or ()) for key in ("success", "failure"))
            groups[group] = TestGroup(good, good + bad)
    return groups


def _ids_of(task: Mapping[str, Any]) -> Ids:
    return {group: listed(task.get(group), json.loads) for group in (FAIL_TO_PASS, PASS_TO_PASS)}


def _infrastructure(output: str) -> str | None:
    return next((name for pattern, name in INFRASTRUCTURE if pattern.search(output)), None)


def _report(path: Path, instance: str) -> Mapping[str, Any] | None:
    if not path.is_file():
        return None
    document = document_of(path)
    found = document.get(instance) if isinstance(document, dict) else None
    if not isinstance(found, dict):
        raise DataError(
            f"{path}: there is nothing about '{instance}' in it", hint="remove it, or write it again"
        )
    return found


def _text(path: Path) -> str:
    return read_bytes(path).decode(errors="replace") if path.is_file() else ""
