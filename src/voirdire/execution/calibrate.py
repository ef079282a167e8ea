"""Runs the reference solution of each task before anyone is judged by its tests.

A task whose own reference fails, or is too slow, says nothing about a candidate: it is excluded and named. Calibration
also decides which side runs the tests: apart from the candidate where the reference passes so, else beside it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from voirdire.execution.levels import IMAGE
from voirdire.execution.run import execute
from voirdire.execution.tasks import Isolation, Limits, Proof, Result, Sample, Task
from voirdire.model import TruthStatus

REPEATS = 3
"""Runs of each reference: one that fails now and then would fail candidates now and then."""

REFERENCE = "reference"


@dataclass(frozen=True)
class Calibration:
    """tasks: those that can be used, with the proof they allow and their number of tests. excluded: reason by task id.

    unchecked: task ids without a reference, used as they are.
    """

    tasks: tuple[Task, ...]
    excluded: Mapping[str, str] = field(default_factory=dict)
    unchecked: tuple[str, ...] = ()


def calibrate(
    tasks: Iterable[Task],
    *,
    limits: Limits | None = None,
    isolation: Isolation | None = None,
    workers: int | None = None,
    unsafe: bool = False,
    repeats: int = REPEATS,
    image: str = IMAGE,
    on_result: Callable[[Result], None] | None = None,
) -> Calibration:
    """Run every reference `repeats` times, first with the tests apart from it, then beside it where that fails.

    The arguments are those of `execute`, so that candidates later meet what the reference met.
    """

    def run(chosen: Sequence[Task]) -> dict[str, list[Result]]:
        samples = [
            Sample(f"{task.task_id}#{number}", task.task_id, REFERENCE, task.reference)
            for task in chosen
            for number in range(repeats)
        ]
        found: dict[str, list[Result]] = {task.task_id: [] for task in chosen}
        for result in execute(
            chosen,
            samples,
            limits=limits,
            isolation=isolation,
            workers=workers,
            unsafe=unsafe,
            image=image,
            on_result=on_result,
        ):
            found[result.task_id].append(result)
        return found

    known = list(tasks)
    checked = [task for task in known if task.reference]
    first = run(checked)
    failing = [task for task in checked if not _all_passed(first[task.task_id])]
    second = run([replace(task, proof=Proof.SHARED) for task in failing if task.proof is None])
    results = {**first, **{name: found for name, found in second.items() if _all_passed(found)}}
    return Calibration(
        tasks=tuple(_settled(task, results.get(task.task_id)) for task in known if _usable(task, results)),
        excluded={
            task.task_id: _reason(first[task.task_id]) for task in failing if not _usable(task, results)
        },
        unchecked=tuple(task.task_id for task in known if not task.reference),
    )


def _usable(task: Task, results: Mapping[str, Sequence[Result]]) -> bool:
    return not task.reference or _all_passed(results[task.task_id])


def _all_passed(results: Sequence[Result]) -> bool:
    return bool(results) and all(result.truth.status == TruthStatus.PASSED for result in results)


def _settled(task: Task, results: Sequence[Result] | None) -> Task:
    if not results:
        return task
    return replace(task, proof=results[0].proof, total=results[0].truth.groups["tests"].total)


def _reason(results: Sequence[Result]) -> str:
    """Say how often the reference passed, and what most of its other runs came to."""
    failed = [result for result in results if result.truth.status != TruthStatus.PASSED]
    status, _ = Counter(str(result.truth.status) for result in failed).most_common(1)[0]
    error = next(result.error for result in failed if str(result.truth.status) == status)
    return f"its reference passed {len(results) - len(failed)} of {len(results)} runs ({status}: {error})"
