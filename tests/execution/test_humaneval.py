"""Right candidates keep their credit, also on a machine that has other work to do."""

import pytest

from tests.execution.busy import busy_processors, failures, references
from voirdire.execution.calibrate import calibrate
from voirdire.execution.humaneval import humaneval_tasks
from voirdire.execution.tasks import Proof


def test_every_reference_passes_with_its_tests_apart_while_the_processors_are_busy() -> None:
    with busy_processors():
        assert failures(references()) == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_reference_passes_ten_times_in_a_row_while_the_processors_are_busy() -> None:
    with busy_processors():
        assert [failures(references()) for _ in range(10)] == [[]] * 10


@pytest.mark.slow
def test_calibration_finds_every_task_sound() -> None:
    calibration = calibrate(humaneval_tasks())
    assert len(calibration.tasks) == 164
    assert calibration.excluded == {}
    assert {task.proof for task in calibration.tasks} == {Proof.SEPARATE}
    assert sum(task.total or 0 for task in calibration.tasks) == 1534
