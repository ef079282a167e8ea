"""The change of one case's P(superiority) between two runs."""

import numpy as np
import pytest

from voirdire.errors import DataError
from voirdire.stats.proportion import clopper_pearson_interval
from voirdire.stats.two_runs import superiority_change


def test_the_value_is_the_difference_of_the_two_p() -> None:
    found = superiority_change(([1, 2], [1, 2, 3]), ([1, 2], [3, 3]))
    assert found.value == pytest.approx((4 + 1) / 6 - 0.5)
    assert found.n == 2


def test_where_nothing_could_come_out_otherwise_there_is_no_test() -> None:
    assert superiority_change(([3] * 10, [3] * 10), ([5] * 10, [5] * 10)).p_value is None
    assert superiority_change(([3, 5], [3, 5]), ([5, 3], [5, 3])).p_value == 1.0


def test_opposite_runs_have_a_small_p() -> None:
    turned = superiority_change(([3] * 10, [5] * 10), ([5] * 10, [3] * 10))
    assert turned.value == -1.0
    assert turned.p_value is not None
    assert turned.p_value <= 0.001


def test_a_judge_that_is_stricter_all_round_has_not_changed_its_shift() -> None:
    found = superiority_change(([5, 6, 7] * 4, [2, 3, 4] * 4), ([5, 6, 7] * 4, [2, 3, 4] * 4))
    assert found.value == 0.0
    assert found.p_value == 1.0


def test_no_change_is_rejected_about_as_often_as_it_should() -> None:
    generator = np.random.default_rng(5)
    runs = 150
    rejected = sum(
        (superiority_change(*generator.integers(2, 8, size=(2, 2, 10))).p_value or 1.0) <= 0.05
        for _ in range(runs)
    )
    low, _ = clopper_pearson_interval(rejected, runs, level=0.999)
    assert low <= 0.05
    assert rejected > 0


def test_an_empty_arm_is_refused() -> None:
    with pytest.raises(DataError, match="variant"):
        superiority_change(([1], [2]), ([1], []))
