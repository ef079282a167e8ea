"""P(superiority), worked by hand-checkable scripts on scipy 1.17 (permutation by listing all 184,756 splits)."""

import pytest

from voirdire.stats.superiority import (
    SuperiorityInterval,
    SuperiorityTest,
    brunner_munzel_test,
    delong_standard_error,
    probability_of_superiority,
    superiority_interval,
)

VARIANT = [1, 2, 1, 2, 1, 1, 2, 1, 2, 1]
BASE = [2, 2, 2, 3, 2, 2, 3, 2, 2, 2]


def test_the_worked_example() -> None:
    estimate = probability_of_superiority(BASE, VARIANT)
    assert estimate.value == 0.16
    assert (estimate.low, estimate.high) == pytest.approx((0.0535, 0.4148), abs=5e-5)
    assert estimate.p_value == pytest.approx(0.00535842, abs=5e-9)


def test_the_logit_interval_and_the_studentized_test() -> None:
    estimate = probability_of_superiority(
        BASE, VARIANT, interval=SuperiorityInterval.LOGIT, test=SuperiorityTest.BRUNNER_MUNZEL
    )
    assert (estimate.low, estimate.high) == pytest.approx((0.0637, 0.3477), abs=5e-5)
    assert delong_standard_error(BASE, VARIANT) == pytest.approx(0.07055337, abs=5e-9)
    studentized = brunner_munzel_test(BASE, VARIANT)
    assert studentized is not None
    assert studentized.statistic == pytest.approx(-4.819047, abs=5e-7)
    assert estimate.p_value == studentized.p_value == pytest.approx(0.00042782, abs=5e-9)


@pytest.mark.parametrize(
    ("value", "arm", "low", "high"),
    [
        (0.0, 10, 0.0, 0.1998),
        (0.15, 10, 0.0485, 0.4035),
        (0.5, 10, 0.2735, 0.7265),
        (0.5, 40, 0.3774, 0.6226),
        (0.5, 100, 0.4210, 0.5790),
    ],
)
def test_newcombe_method_5(value: float, arm: int, low: float, high: float) -> None:
    assert superiority_interval(value, arm, arm, level=0.95) == pytest.approx((low, high), abs=5e-5)
