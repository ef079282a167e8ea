"""human-eval: problems, `samples.jsonl`, and the results file that its evaluation leaves beside them.

A sample is a completion: the program is the prompt and the completion together. A result is one bit and a text; no
tests are counted. A failure whose text looks like a syntax error stays a failure: only the parse gate says what parses.

Problems of HumanEval-X and HumanEvalPack are read too: the same in several languages, which the id names
(`JavaScript/0`) or `language` does. Their tests are code that stands behind the program.
"""

import re
from functools import partial
from pathlib import Path

from voirdire.errors import UsageError
from voirdire.importers._json_lines import Row
from voirdire.importers._samples import (
    Candidate,
    Gathering,
    Tasks,
    first_object,
    lines_of,
    optional_flag,
    optional_integer,
    optional_reference,
    optional_text,
    status_of,
    system_of,
    task_id,
    with_text,
)
from voirdire.importers._samples import read_tasks as read_task_rows
from voirdire.languages.language import language_named
from voirdire.model import CodeTask, GroundTruth, SampleFile, TestStyle, TruthSource, TruthStatus


def sniff(head: str) -> bool:
    """Whether a file that begins with this text holds human-eval problems or samples."""
    first = first_object(head)
    if '"task_id"' not in first or any(
        other in first for other in ('"BigCodeBench/', '"MBPP/', '"solution"')
    ):
        return False
    named = '"entry_point"' in first or '"canonical_solution"' in first
    return '"completion"' in first or ('"prompt"' in first and named)


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
    name, prompt, tests = task_id(row), row.text("prompt"), row.text("test")
    language = _language(row, name)
    if not language:
        return CodeTask(
            id=name,
            prompt=prompt,
            tests=tests,
            style=TestStyle.CHECK,
            entry_point=row.text("entry_point"),
            reference=optional_reference(row, "canonical_solution", prompt=prompt),
        )
    called = _CALL.search(tests)
    if language == "go" and not _PACKAGE.search(prompt):
        prompt = f"package main\n\n{prompt}"
    return CodeTask(
        id=name,
        prompt=prompt,
        tests="\n".join(part for part in (optional_text(row, "test_setup"), tests) if part),
        style=TestStyle.ASSERTS,
        entry_point=optional_text(row, "entry_point") or (called[1] if called else None),
        reference=optional_reference(row, "canonical_solution", prompt=prompt),
        language=language,
    )


_IN_IDS = frozenset(("python", "javascript", "typescript", "go", "java", "rust", "cpp"))
_CALL = re.compile(r"^check\((\w+)\)\s*\Z", re.MULTILINE)
_PACKAGE = re.compile(r"^package \w+", re.MULTILINE)


def _language(row: Row, name: str) -> str:
    """Return the language of a problem that says it; '' for one of HumanEval itself."""
    said = optional_text(row, "language")
    if said:
        try:
            return language_named(said).name
        except UsageError as error:
            raise row.wrong(str(error), hint=error.hint) from None
    before = name.partition("/")[0].lower()
    return before if before in _IN_IDS else ""


def _sample(row: Row, system: str) -> Candidate:
    task = task_id(row)
    completion = optional_text(row, "completion")
    number = optional_integer(row, ("sample",))
    candidate = Candidate(task, completion=completion, number=number, system=system, truth=_truth(row))
    if completion is not None:
        return candidate
    return with_text(candidate, row, missing=f"'{task}' has no completion")


def _truth(row: Row) -> GroundTruth | None:
    passed = optional_flag(row, "passed")
    if passed is None:
        return None
    result = optional_text(row, "result") or ""
    status = TruthStatus.TIMEOUT if result == "timed out" else status_of(passed)
    said = result.removeprefix("failed:").strip() if not passed else ""
    return GroundTruth(TruthSource.TESTS, status, label=said or None)
