from dataclasses import replace

from tests.execution.candidates import SHORT, program
from voirdire.execution.calibrate import calibrate
from voirdire.execution.run import execute
from voirdire.execution.tasks import Proof, Sample
from voirdire.model import TestGroup

SOUND = replace(
    program("assert f(1) == 1\nassert f(2) == 2\n"), task_id="sound", reference="def f(n): return n"
)
WRONG = replace(SOUND, task_id="wrong", reference="def f(n): return 1")
SLOW = replace(SOUND, task_id="slow", reference="def f(n):\n  while True: pass")
BESIDE = replace(
    program("assert str(f()) == 'me'\n"),
    task_id="beside",
    reference="class Me:\n  def __str__(self): return 'me'\ndef f(): return Me()",
)
BARE = replace(SOUND, task_id="bare", reference="")
FLAKY = replace(
    SOUND,
    task_id="flaky",
    reference="import time\ndef f(n): return n if n == 1 or int(time.time() * 1e6) % 2 else 0",
)


def test_a_task_whose_reference_fails_or_is_too_slow_is_excluded_and_named() -> None:
    calibration = calibrate([SOUND, WRONG, SLOW, BESIDE, BARE], limits=SHORT, repeats=2)
    assert [task.task_id for task in calibration.tasks] == ["sound", "beside", "bare"]
    assert set(calibration.excluded) == {"wrong", "slow"}
    assert "0 of 2 runs (failed" in calibration.excluded["wrong"]
    assert "timeout" in calibration.excluded["slow"]
    assert calibration.unchecked == ("bare",)


def test_a_reference_that_uses_most_of_the_time_is_near_the_limit_and_excluded() -> None:
    spins = "import time\ndef f(n):\n  while time.process_time() < {}: pass\n  return n"
    near, far = (
        replace(SOUND, task_id=name, reference=spins.format(seconds))
        for name, seconds in (("near", 1.4), ("far", 0.2))
    )
    limits = replace(SHORT, cpu_seconds=2.0, wall_seconds=30.0)
    calibration = calibrate([near, far], limits=limits, repeats=2)
    assert [task.task_id for task in calibration.tasks] == ["far"]
    assert calibration.excluded["near"].startswith("its reference is near the limit: it used 1.")
    assert calibration.excluded["near"].endswith(" of 2 CPU seconds")


def test_calibration_settles_the_proof_and_the_number_of_tests() -> None:
    tasks = {task.task_id: task for task in calibrate([SOUND, BESIDE], limits=SHORT, repeats=1).tasks}
    assert (tasks["sound"].proof, tasks["sound"].total) == (Proof.SEPARATE, 2)
    assert (tasks["beside"].proof, tasks["beside"].total) == (Proof.SHARED, 1)


def test_the_number_of_tests_is_known_even_where_they_never_ran() -> None:
    calibration = calibrate([SOUND], limits=SHORT, repeats=1)
    samples = [Sample("s", "sound", "x", "def f(n): raise SystemExit")]
    (result,) = execute(calibration.tasks, samples, limits=SHORT, workers=1)
    assert result.truth.groups["tests"] == TestGroup(0, 2)


def test_a_reference_that_fails_now_and_then_is_excluded() -> None:
    assert set(calibrate([FLAKY], limits=SHORT, repeats=20).excluded) == {"flaky"}
