"""LiveCodeBench: `*_eval_all.json` with codes and grades, the results by test beside it, and custom outputs.

Evaluation stops at the first test that fails, so counts of passed tests are lower bounds of what was reached, and the
total is what ran. Results by test are read from `*_eval.json` where it stands beside `*_eval_all.json`.
"""

import json
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
    rows_or_list,
    status_of,
    system_of,
    task_id,
)
from voirdire.importers._samples import read_tasks as read_task_rows
from voirdire.model import CodeTask, GroundTruth, SampleFile, TestGroup, TestStyle, TruthSource, TruthStatus

CODES = {
    -1: TruthStatus.TIMEOUT,
    -2: TruthStatus.FAILED,
    -3: TruthStatus.TIMEOUT,
    -4: TruthStatus.ERROR,
}
"""What a test's negative result says: hang, wrong answer, time limit, an error while compiling or running."""

FAILED_EARLY = "counted up to the first test that failed"


def sniff(head: str) -> bool:
    """Whether a file that begins with this text holds LiveCodeBench questions, custom outputs or graded ones."""
    first = first_object(head)
    return '"question_id"' in first and any(
        f'"{key}"' in first for key in ("code_list", "question_content", "question_title")
    )


def read_tasks(path: Path) -> list[CodeTask]:
    """Return the questions of a file with their public tests, as programs that read and print.

    Private tests come packed in a form that runs code when it is opened: they are left alone. A question that asks
    for a function (it has starter code) is no program; DataError says so.
    """
    return read_task_rows(path, _task)


def read_samples(path: Path, tasks: Tasks | None = None, *, system: str = "") -> SampleFile:
    """Return the samples of a file of custom outputs or of graded ones; the n-th code of a question is sample n.

    `system`: who wrote them; by default the file's name.
    """
    gathering = Gathering(path, tasks)
    by_test = _results_by_test(path)
    for at, row in enumerate(rows_or_list(path, gathering)):
        try:
            question, codes = task_id(row, "question_id"), _listed(row, "code_list")
        except DataError as error:
            message = str(error)
            gathering.add(f"entry {row.line}", partial(_raise, message))
            continue
        for number in range(len(codes)):
            gathering.add(
                f"entry {row.line}, code {number}",
                partial(_sample, row, question, number, by_test.get(str(at)), system or system_of(path)),
            )
    return gathering.done()


def _raise(message: str) -> Candidate:
    raise DataError(message)


def _sample(row: Row, question: str, number: int, results: Any, system: str) -> Candidate:
    code = _listed(row, "code_list")[number]
    if not isinstance(code, str):
        raise NoAnswerError(f"code {number} of '{question}' is missing")
    outputs = _listed(row, "output_list") if "output_list" in row.data else []
    raw = outputs[number] if number < len(outputs) and isinstance(outputs[number], str) else code
    by_test = results[number] if isinstance(results, list) and number < len(results) else None
    truth = _truth(row, number, by_test)
    return Candidate(question, program=code, text=raw, number=number, system=system, truth=truth)


def _truth(row: Row, number: int, by_test: Any) -> GroundTruth | None:
    graded = _listed(row, "graded_list") if "graded_list" in row.data else []
    passed = graded[number] if number < len(graded) else None
    if not isinstance(passed, bool):
        return None
    message, code = _said(row, number)
    groups = {}
    if isinstance(by_test, list) and by_test:
        good = sum(one is True for one in by_test)
        groups = {"tests": TestGroup(good, len(by_test))}
        code = next((one for one in by_test if isinstance(one, int) and one is not True and one < 0), code)
    status = status_of(True) if passed else CODES.get(code or -2, TruthStatus.FAILED)
    label = "; ".join(part for part in (message, FAILED_EARLY if groups and not passed else "") if part)
    return GroundTruth(TruthSource.TESTS, status, groups, label=label or None)


def _said(row: Row, number: int) -> tuple[str, int | None]:
    """Return the message and code that the evaluation left for one code, a JSON text within the JSON."""
    listed = row.data.get("metadata")
    raw = listed[number] if isinstance(listed, list) and number < len(listed) else None
    try:
        said = json.loads(raw) if isinstance(raw, str) else raw
    except ValueError:
        return "", None
    if not isinstance(said, dict):
        return "", None
    code = said.get("error_code")
    return str(said.get("error_message") or ""), code if isinstance(code, int) else None


def _results_by_test(path: Path) -> dict[str, Any]:
    """Return the results by test, by the number of the question as text; {} where no such file is there."""
    stem = path.name.removesuffix(".json")
    beside = path.with_name(f"{stem.removesuffix('_all')}.json")
    if not stem.endswith("_eval_all") or not beside.is_file():
        return {}
    document = document_of(beside)
    found = document[1] if isinstance(document, list) and len(document) > 1 else None
    if not isinstance(found, dict):
        raise DataError(f"{beside}: there are no results by test in it", hint="remove it, or write it again")
    return found


def _listed(row: Row, key: str) -> list[Any]:
    value = row.data.get(key)
    if not isinstance(value, list):
        raise row.wrong(f"'{key}' must be a list")
    return value


def _task(row: Row) -> CodeTask:
    if row.data.get("starter_code"):
        raise row.wrong(
            "this question asks for a function", hint="only questions about whole programs can be read"
        )
    cases = row.data.get("public_test_cases")
    try:
        listed = json.loads(cases) if isinstance(cases, str) else cases
    except ValueError:
        listed = None
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise row.wrong("'public_test_cases' must be a list of cases")
    pairs = [[str(one.get("input", "")), str(one.get("output", ""))] for one in listed]
    return CodeTask(
        id=task_id(row, "question_id"),
        prompt=row.text("question_content"),
        tests=json.dumps(pairs),
        style=TestStyle.STDIO,
    )
