"""BigCodeBench: tasks, samples named after their model, and `*_eval_results.json`.

A result lists the test methods that failed; how many there are stands only in the task's tests. Without the tasks the
group counts no total, and none is given.
"""

import re
from functools import partial
from pathlib import Path
from typing import Any

from voirdire.errors import DataError
from voirdire.importers._json_lines import Row
from voirdire.importers._samples import (
    Candidate,
    Gathering,
    NoAnswerError,
    Tasks,
    document_of,
    first_object,
    lines_of,
    optional_reference,
    optional_text,
    system_of,
    task_id,
    with_text,
)
from voirdire.importers._samples import read_tasks as read_task_rows
from voirdire.model import CodeTask, GroundTruth, SampleFile, TestGroup, TestStyle, TruthSource, TruthStatus

STATUSES = {"pass": TruthStatus.PASSED, "fail": TruthStatus.FAILED, "timeout": TruthStatus.TIMEOUT}

_TEST_METHOD = re.compile(r"^\s+(?:async\s+)?def\s+(test\w*)\s*\(", re.MULTILINE)


def sniff(head: str) -> bool:
    """Whether a file that begins with this text holds BigCodeBench tasks, samples or results."""
    first = first_object(head)
    return '"BigCodeBench/' in first and any(
        f'"{key}"' in first for key in ("solution", "eval", "complete_prompt")
    )


def read_tasks(path: Path) -> list[CodeTask]:
    """Return the tasks of a file; DataError names the line that is not one."""
    return read_task_rows(path, _task)


def read_samples(path: Path, tasks: Tasks | None = None, *, system: str = "") -> SampleFile:
    """Return the samples of a file of samples or of a results file.

    `system`: who wrote them; by default the model that the file is named after.
    """
    gathering = Gathering(path, tasks)
    who = system or system_of(path).partition("--bigcodebench-")[0]
    if path.name.removesuffix(".gz").endswith(".json"):
        _read_results(path, gathering, who)
    else:
        for row in lines_of(path, gathering):
            gathering.add(f"line {row.line}", partial(_sample, row, who), line=row.line)
    return gathering.done()


def _task(row: Row) -> CodeTask:
    prompt = row.text("complete_prompt")
    return CodeTask(
        id=task_id(row),
        prompt=prompt,
        tests=row.text("test"),
        style=TestStyle.UNITTEST,
        entry_point=row.text("entry_point"),
        reference=optional_reference(row, "canonical_solution", prompt=prompt),
    )


def _sample(row: Row, system: str) -> Candidate:
    task = task_id(row)
    return with_text(Candidate(task, system=system), row, missing=f"'{task}' has no solution")


def _read_results(path: Path, gathering: Gathering, system: str) -> None:
    document = document_of(path)
    found = document.get("eval") if isinstance(document, dict) else None
    if not isinstance(found, dict):
        raise DataError(
            f"{path}: there is no 'eval' with results by task", hint="give a file `*_eval_results.json`"
        )
    for task, results in found.items():
        for number, result in enumerate(results if isinstance(results, list) else [results]):
            where = f"{task}, sample {number}"
            gathering.add(where, partial(_result, path, task, number, result, gathering.tasks, system))


def _result(path: Path, task: str, number: int, result: Any, tasks: Tasks | None, system: str) -> Candidate:
    if not isinstance(result, dict):
        raise DataError(f"the result of '{task}' is no object", hint="")
    row = Row(path, 0, result)
    program = optional_text(row, "solution")
    if program is None:
        raise NoAnswerError(f"'{task}' has no solution")
    truth = _truth(row, (tasks or {}).get(task))
    return Candidate(task, program=program, number=number, system=system, truth=truth)


def _truth(row: Row, task: CodeTask | None) -> GroundTruth:
    status = row.data.get("status")
    if status not in STATUSES:
        raise DataError(f"the status is {status!r}", hint=f"known are {', '.join(STATUSES)}")
    details = row.data.get("details")
    failed = sorted(details) if isinstance(details, dict) else []
    total = len(set(_TEST_METHOD.findall(task.tests))) if task else 0
    ran = status == "pass" or (status == "fail" and total >= len(failed) > 0)
    groups = {"tests": TestGroup(total - len(failed), total)} if total and ran else {}
    return GroundTruth(TruthSource.TESTS, STATUSES[status], groups, label=", ".join(failed) or None)
