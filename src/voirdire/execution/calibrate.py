"""Runs the reference solution of each task before anyone is judged by its tests.

A task whose own reference fails, or is near the limit of CPU time, says nothing about a candidate: it is excluded and
named. Calibration also decides which side runs the tests: apart from the candidate where the reference passes so, else
beside it; no candidate can choose that afterwards.
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

NEAR_THE_LIMIT = 0.5
"""Share of the CPU limit that no run of a reference may pass: one that takes most of it would pass on one day and fail on
another, and right candidates that are a little slower would fail.
"""

CLOSE = "its reference is near the limit"
"""Begins the reason for which such a task is excluded."""

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
    allowed = (limits or Limits()).cpu_seconds
    reasons = {name: _why_excluded(found, allowed) for name, found in results.items()}
    excluded = {name: why for name, why in reasons.items() if why}
    return Calibration(
        tasks=tuple(
            _settled(task, results.get(task.task_id)) for task in known if task.task_id not in excluded
        ),
        excluded=excluded,
        unchecked=tuple(task.task_id for task in known if not task.reference),
    )


def _all_passed(results: Sequence[Result]) -> bool:
    return bool(results) and all(result.truth.status == TruthStatus.PASSED for result in results)


def _settled(task: Task, results: Sequence[Result] | None) -> Task:
    if not results:
        return task
    return replace(task, proof=results[0].proof, total=results[0].truth.groups["tests"].total)


def _why_excluded(results: Sequence[Result], allowed: float) -> str:
    """Return why a task cannot be used, '' where it can. `allowed`: CPU seconds of one run."""
    if not _all_passed(results):
        return _reason(results)
    most = max(result.cpu_seconds for result in results)
    if most <= NEAR_THE_LIMIT * allowed:
        return ""
    return f"{CLOSE}: it used {most:.1f} of {allowed:g} CPU seconds"


def _reason(results: Sequence[Result]) -> str:
    """Say how often the reference passed, and what most of its other runs came to."""
    failed = [result for result in results if result.truth.status != TruthStatus.PASSED]
    status, _ = Counter(str(result.truth.status) for result in failed).most_common(1)[0]
    error = next(result.error for result in failed if str(result.truth.status) == status)
    return f"its reference passed {len(results) - len(failed)} of {len(results)} runs ({status}: {error})"
