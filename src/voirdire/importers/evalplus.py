"""EvalPlus: samples as whole programs or completions, in JSON lines or folders, and `*_eval_results.json`.

A result has two groups, `base` and `plus`, of which the file gives one bit each: they are counted as one test. A
sample has passed where both have (`base` alone in a run without the further tests).
"""

from functools import partial
from pathlib import Path
from typing import Any

from voirdire.errors import DataError
from voirdire.importers._files import read_bytes
from voirdire.importers._json_lines import Row
from voirdire.importers._samples import (
    Candidate,
    Gathering,
    NoAnswerError,
    Tasks,
    document_of,
    first_object,
    lines_of,
    optional_integer,
    optional_text,
    system_of,
    task_id,
    with_text,
)
from voirdire.model import FileFaultKind, GroundTruth, SampleFile, TestGroup, TruthSource, TruthStatus

STATUSES = {"pass": TruthStatus.PASSED, "fail": TruthStatus.FAILED, "timeout": TruthStatus.TIMEOUT}


def sniff(head: str) -> bool:
    """Whether a file that begins with this text holds EvalPlus samples or results."""
    first = first_object(head)
    if '"BigCodeBench/' in first:
        return False
    return ('"task_id"' in first and '"solution"' in first) or (
        '"eval"' in first and '"base_status"' in first
    )


def read_samples(path: Path, tasks: Tasks | None = None, *, system: str = "") -> SampleFile:
    """Return the samples of a file of samples, of a results file, or of a folder `HumanEval_0/0.py`, ...

    `tasks` by id: needed for completions. `system`: who wrote them; by default the name of the file or folder.
    """
    gathering = Gathering(path, tasks)
    who = system or system_of(path)
    if path.is_dir():
        _read_folder(path, gathering, who)
    elif path.name.removesuffix(".gz").endswith(".json"):
        _read_results(path, gathering, who)
    else:
        for row in lines_of(path, gathering):
            gathering.add(f"line {row.line}", partial(_sample, row, who), line=row.line)
    return gathering.done()


def _sample(row: Row, system: str) -> Candidate:
    task = task_id(row)
    candidate = Candidate(task, number=optional_integer(row, ("sample",)), system=system)
    return with_text(candidate, row, missing=f"'{task}' has neither solution nor completion, nor an answer")


def _read_folder(path: Path, gathering: Gathering, system: str) -> None:
    """Read `TASK/N.py`, whose folder is a task's id with `_` for `/`."""
    for file in sorted(path.glob("*/*.py"), key=lambda one: (one.parent.name, len(one.stem), one.stem)):
        where = f"{file.parent.name}/{file.name}"
        known = [name for name in gathering.tasks or () if name.replace("/", "_") == file.parent.name]
        task = known[0] if known else "/".join(file.parent.name.rsplit("_", 1))
        try:
            text = read_bytes(file).decode()
        except UnicodeDecodeError as error:
            gathering.entries += 1
            gathering.note(where, FileFaultKind.ENCODING, f"byte {error.start + 1} is not UTF-8")
            continue
        number = int(file.stem) if file.stem.isdecimal() else None
        candidate = Candidate(task, program=text, number=number, system=system)
        gathering.add(where, partial(_as_it_is, candidate))


def _as_it_is(candidate: Candidate) -> Candidate:
    return candidate


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
            gathering.add(where, partial(_result, path, task, number, result, system=system))


def _result(path: Path, task: str, number: int, result: Any, *, system: str) -> Candidate:
    """Read one result; those of older versions are lists [status, ...] of the two groups, without the program."""
    if not isinstance(result, dict):
        raise NoAnswerError(f"'{task}': a result of an older version, without its program")
    row = Row(path, 0, result)
    program = optional_text(row, "solution")
    if program is None:
        raise NoAnswerError(f"'{task}' has no solution")
    return Candidate(task, program=program, number=number, system=system, truth=_truth(row))


def _truth(row: Row) -> GroundTruth | None:
    said = {group: row.data.get(f"{group}_status") for group in ("base", "plus")}
    known = {group: STATUSES.get(str(status)) for group, status in said.items() if status is not None}
    if not known:
        return None
    if None in known.values():
        raise DataError(f"a status is {said}", hint=f"known are {', '.join(STATUSES)}")
    groups = {group: TestGroup(int(status is TruthStatus.PASSED), 1) for group, status in known.items()}
    worst = next(
        (status for status in known.values() if status is not TruthStatus.PASSED), TruthStatus.PASSED
    )
    return GroundTruth(TruthSource.TESTS, worst or TruthStatus.FAILED, groups)
