import pytest
from scipy import stats as oracle

from voirdire.errors import DataError
from voirdire.stats.shares import mean_share

SHARES = [1.0, 0.5, 0.75, 1.0, 0.9, 0.8]


def test_interval_is_the_t_interval_cut_at_1() -> None:
    found = mean_share(SHARES)
    expected = oracle.ttest_1samp(SHARES, 0).confidence_interval(0.90)
    assert (found.inner_low, found.inner_high) == pytest.approx((expected.low, expected.high))
    assert found.high == 1.0


def test_without_a_null_nothing_is_tested_or_named() -> None:
    found = mean_share(SHARES)
    assert found.p_value is None
    assert found.method == "mean share; t interval on 5 degrees of freedom"


def test_a_null_is_tested_by_flipping_signs_about_it() -> None:
    found = mean_share(SHARES, null=0.4)
    assert found.p_value == 2 / 2**6
    assert found.method == "mean share; t interval on 5 degrees of freedom; exact sign-flip p against 0.4"


@pytest.mark.parametrize("null", [None, 0.2, 0.5])
def test_equal_shares_reach_as_far_as_unseen_units_allow(null: float | None) -> None:
    found = mean_share([0.8] * 10, null=null)
    unseen = 1 - 0.05**0.1
    assert found.value == pytest.approx(0.8)
    assert found.low is not None
    assert found.low <= 0.8 - unseen * 0.8 + 1e-12
    assert found.high is not None
    assert found.high >= 0.8 + unseen * 0.2 - 1e-12


def test_one_share_has_no_interval() -> None:
    found = mean_share([0.3])
    assert found.value == pytest.approx(0.3)
    assert (found.low, found.method) == (None, "mean share")


def test_what_is_no_share_is_refused() -> None:
    with pytest.raises(DataError, match="'shares' reaches from -1 to 1"):
        mean_share([-1.0, 1.0])
    with pytest.raises(DataError, match="a mean of 1 cannot be tested"):
        mean_share([0.5], null=1.0)
