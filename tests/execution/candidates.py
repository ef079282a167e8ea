"""Small tasks and samples that several tests use."""

from collections.abc import Sequence

from voirdire.execution.run import execute
from voirdire.execution.tasks import Isolation, Limits, Proof, Result, Sample, Task, TestKind, Tests

SHORT = Limits(cpu_seconds=1, wall_seconds=5, memory_mb=256, processes=24, file_mb=8, output_bytes=100_000)


def program(tests: str, *, entry: str = "f", proof: Proof | None = None, prompt: str = "") -> Task:
    """Return a task whose tests are a program."""
    return Task("task", entry, Tests(TestKind.PROGRAM, code=tests), prompt=prompt, proof=proof)


def run_all(task: Task, codes: Sequence[str], *, isolation: Isolation | None = None) -> list[Result]:
    """Run samples in one worker and return their results in order."""
    samples = [Sample(str(place), task.task_id, "system", code) for place, code in enumerate(codes)]
    results = list(execute([task], samples, limits=SHORT, workers=1, isolation=isolation))
    return sorted(results, key=lambda result: int(result.sample_id))


def run_one(task: Task, code: str) -> Result:
    """Run one sample."""
    return run_all(task, [code])[0]
