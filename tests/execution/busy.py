"""A machine with other work to do, and the HumanEval references on it: for the tests and `tools/busy_machine.py`."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

from voirdire.execution.humaneval import humaneval_tasks
from voirdire.execution.run import execute
from voirdire.execution.tasks import Limits, Proof, Result, Sample

LIMITS = Limits(cpu_seconds=3)


@contextlib.contextmanager
def busy_processors() -> Iterator[None]:
    """Have one process per processor compute without pause."""
    burners = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)
    ]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def references() -> list[Result]:
    """Run the reference solution of every HumanEval problem once."""
    tasks = humaneval_tasks()
    samples = [Sample(task.task_id, task.task_id, "reference", task.reference) for task in tasks]
    return list(execute(tasks, samples, limits=LIMITS))


def failures(results: list[Result]) -> list[tuple[str, str, str]]:
    """Return those that did not pass with their tests apart, each with its status and error."""
    return [
        (result.sample_id, str(result.truth.status), result.error)
        for result in results
        if str(result.truth.status) != "passed" or result.proof is not Proof.SEPARATE
    ]
