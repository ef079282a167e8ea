import numpy as np
import pytest
from scipy import stats as oracle

from voirdire.errors import DataError
from voirdire.lines import OUTCOME
from voirdire.stats.cases import superiority_over_cases
from voirdire.stats.equivalence import Equivalence, equivalence

LEAKING = [0.4, 0.15, 0.0, 0.05, 0.25, 0.0, 0.0, 0.5]


def test_mean_and_t_interval_are_over_cases() -> None:
    found = superiority_over_cases(LEAKING)
    expected = oracle.ttest_1samp(LEAKING, 0.5).confidence_interval(0.90)
    assert found.value == pytest.approx(np.mean(LEAKING))
    assert (found.inner_low, found.inner_high) == pytest.approx((expected.low, expected.high))
    assert (found.n, found.unit) == (8, "case")


def test_no_interval_reaches_beyond_0_or_1() -> None:
    found = superiority_over_cases([0.0, 0.0, 0.0, 0.3])
    assert found.low == 0.0
    assert superiority_over_cases([1.0, 1.0, 1.0, 0.7]).high == 1.0


def test_the_test_flips_cases_about_one_half() -> None:
    assert superiority_over_cases(LEAKING).p_value == 2 / 2**7
    assert superiority_over_cases([0.4, 0.6, 0.45, 0.55]).p_value == 1.0


def test_eight_cases_without_any_shift_hold_but_not_with_certainty() -> None:
    found = superiority_over_cases([0.5] * 8)
    assert (found.value, found.p_value) == (0.5, 1.0)
    assert found.high == pytest.approx(0.5 + 0.5 * (1 - 0.05 ** (1 / 8)))
    assert equivalence(found, null=OUTCOME.null, margin=OUTCOME.margin or 0) is Equivalence.INSIDE
    two = superiority_over_cases([0.5] * 2)
    assert equivalence(two, null=OUTCOME.null, margin=OUTCOME.margin or 0) is Equivalence.UNDECIDED


def test_cases_that_all_leak_alike_are_rejected() -> None:
    found = superiority_over_cases([0.0] * 8)
    assert (found.value, found.low, found.p_value) == (0.0, 0.0, 2 / 2**8)
    assert found.high == pytest.approx(1 - 0.05 ** (1 / 8))


def test_cases_of_one_source_count_once() -> None:
    found = superiority_over_cases([0.0, 0.1] * 4, clusters=["a", "a", "b", "b", "c", "c", "d", "d"])
    assert found.p_value == 2 / 2**4


def test_one_case_says_nothing_of_others() -> None:
    found = superiority_over_cases([0.1])
    assert found.value == pytest.approx(0.1)
    assert (found.low, found.high, found.p_value) == (None, None, 1.0)


def test_what_is_no_superiority_is_refused() -> None:
    with pytest.raises(DataError, match="it is empty"):
        superiority_over_cases([])
    with pytest.raises(DataError, match="outside 0 to 1"):
        superiority_over_cases([0.2, 1.2])
