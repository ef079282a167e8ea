import pytest
from scipy import stats as oracle
from statsmodels.stats.proportion import proportion_confint

from voirdire.errors import DataError
from voirdire.stats.proportion import binomial_p, clopper_pearson, rule_of_three, wilson

SEEN = [(0, 12), (1, 12), (6, 12), (12, 12), (70, 100)]


@pytest.mark.parametrize(("successes", "n"), SEEN)
def test_wilson_is_statsmodels(successes: int, n: int) -> None:
    estimate = wilson(successes, n)
    assert (estimate.low, estimate.high) == pytest.approx(
        proportion_confint(successes, n, method="wilson"), abs=1e-12
    )
    assert (estimate.inner_low, estimate.inner_high) == pytest.approx(
        proportion_confint(successes, n, alpha=0.10, method="wilson"), abs=1e-12
    )


@pytest.mark.parametrize(("successes", "n"), SEEN)
def test_clopper_pearson_is_scipys(successes: int, n: int) -> None:
    estimate = clopper_pearson(successes, n)
    expected = oracle.binomtest(successes, n).proportion_ci(0.95, method="exact")
    assert (estimate.low, estimate.high) == pytest.approx((expected.low, expected.high))


def test_p_value_against_one_half_is_the_binomial_tests() -> None:
    for successes in range(13):
        expected = oracle.binomtest(successes, 12, 0.5).pvalue
        assert wilson(successes, 12, null=0.5).p_value == pytest.approx(expected)


def test_p_value_doubles_the_smaller_tail() -> None:
    expected = 2 * oracle.binom.sf(4, 10, 0.2)
    assert binomial_p(5, 10, null=0.2) == pytest.approx(expected)


def test_without_a_null_nothing_is_tested() -> None:
    assert wilson(3, 9).p_value is None


def test_rule_of_three() -> None:
    assert rule_of_three(100) == pytest.approx(1 - 0.05**0.01)
    assert rule_of_three(1) == pytest.approx(0.95)


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(DataError, match="'n' is 0"):
        wilson(0, 0)
    with pytest.raises(DataError, match="4 successes in 3 trials"):
        clopper_pearson(4, 3)
    with pytest.raises(DataError, match=r"'successes' is 1\.5"):
        wilson(1.5, 3)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="cannot be tested"):
        wilson(1, 3, null=1.0)
