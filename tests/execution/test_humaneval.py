"""Right candidates keep their credit, also on a machine that has other work to do."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from voirdire.execution.calibrate import calibrate
from voirdire.execution.humaneval import humaneval_tasks
from voirdire.execution.run import execute
from voirdire.execution.tasks import Limits, Proof, Sample


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


def failures() -> list[tuple[str, str, str]]:
    tasks = humaneval_tasks()
    samples = [Sample(task.task_id, task.task_id, "reference", task.reference) for task in tasks]
    return [
        (result.sample_id, str(result.truth.status), result.error)
        for result in execute(tasks, samples, limits=Limits(cpu_seconds=3))
        if str(result.truth.status) != "passed" or result.proof is not Proof.SEPARATE
    ]


def test_every_reference_passes_with_its_tests_apart_while_the_processors_are_busy() -> None:
    with busy_processors():
        assert failures() == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_reference_passes_ten_times_in_a_row_while_the_processors_are_busy() -> None:
    with busy_processors():
        assert [failures() for _ in range(10)] == [[]] * 10


@pytest.mark.slow
def test_calibration_finds_every_task_sound() -> None:
    calibration = calibrate(humaneval_tasks())
    assert len(calibration.tasks) == 164
    assert calibration.excluded == {}
    assert {task.proof for task in calibration.tasks} == {Proof.SEPARATE}
    assert sum(task.total or 0 for task in calibration.tasks) == 1534
