"""Plain JSON lines of code samples: a task, a program or an answer, and what is known of it.

Read are `task_id` or `task`; one of `code`, `program` (whole), `completion` (continues the prompt), `answer`,
`response`, `output` (prose with fenced code); and, where they are there, `system` or `model`, `sample` or `attempt`,
`language`, and the result as `passed` with `parses`, `error`, `n_pass` and `n_run`.
"""

from functools import partial
from pathlib import Path

from voirdire.importers._json_lines import Row
from voirdire.importers._samples import (
    ANSWER,
    PROGRAM,
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
from voirdire.languages.fences import Reading
from voirdire.model import GroundTruth, SampleFile, TestGroup, TruthSource, TruthStatus

TASK = ("task_id", "task")

TIMED_OUT = ("timeout", "timed out", "killed")
"""What `error` says where the time limit ended a program."""


def sniff(head: str) -> bool:
    """Whether a file that begins with this text holds plain code samples."""
    first = first_object(head)
    if '"test_list"' in first or '"canonical_solution"' in first:
        return False
    return any(f'"{key}":' in first for key in TASK) and any(
        f'"{key}":' in first for key in (*PROGRAM, *ANSWER)
    )


def read_samples(
    path: Path, tasks: Tasks | None = None, *, system: str = "", reading: Reading = Reading.LAST
) -> SampleFile:
    """Return the samples of a file. `reading`: which fenced block of an answer is its code.

    `system`: who wrote those of which the file does not say it; by default the file's name.
    """
    gathering = Gathering(path, tasks, reading)
    for row in lines_of(path, gathering):
        gathering.add(f"line {row.line}", partial(_sample, row, system or system_of(path)), line=row.line)
    return gathering.done()


def _sample(row: Row, system: str) -> Candidate:
    task = task_id(row, next((key for key in TASK if key in row.data), TASK[0]))
    program, answer = _first(row, (*PROGRAM, "solution")), _first(row, ANSWER)
    completion = optional_text(row, "completion")
    if program is None and answer is None and completion is None:
        raise NoAnswerError(f"'{task}' has no {', '.join((*PROGRAM, 'completion', *ANSWER))}")
    return Candidate(
        task,
        program=program,
        completion=None if program is not None else completion,
        answer=None if program is not None or completion is not None else answer,
        text=answer,
        number=optional_integer(row, ("sample", "attempt", "sample_id")),
        system=_first(row, ("system", "model")) or system,
        language=optional_text(row, "language") or "",
        truth=_truth(row),
    )


def _first(row: Row, keys: tuple[str, ...]) -> str | None:
    return next((text for key in keys if (text := optional_text(row, key)) is not None), None)


def _truth(row: Row) -> GroundTruth | None:
    passed = optional_flag(row, "passed")
    if passed is None:
        return None
    error = optional_text(row, "error") or ""
    status = status_of(passed)
    if not passed and optional_flag(row, "parses") is False:
        status = TruthStatus.UNPARSABLE
    elif not passed and error in TIMED_OUT:
        status = TruthStatus.TIMEOUT
    right, run = (optional_integer(row, (key,)) for key in ("n_pass", "n_run"))
    groups = {"tests": TestGroup(right, run)} if right is not None and run else {}
    return GroundTruth(TruthSource.TESTS, status, groups, label=error or None)
