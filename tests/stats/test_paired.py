import math

import numpy as np
import pytest
from scipy import optimize
from scipy import stats as oracle

from voirdire.errors import DataError
from voirdire.stats.paired import (
    McNemarTest,
    paired_bounds,
    paired_mean,
    paired_proportion,
    paired_proportion_interval,
    sign_flip_p,
    zero_spread_interval,
)

GENERATOR = np.random.default_rng(21)


def test_interval_is_the_plain_t_interval() -> None:
    differences = GENERATOR.normal(0.3, 1, 25)
    estimate = paired_mean(differences)
    expected = oracle.ttest_1samp(differences, 0)
    outer, inner = (expected.confidence_interval(level) for level in (0.95, 0.90))
    assert (estimate.low, estimate.high) == pytest.approx((outer.low, outer.high))
    assert (estimate.inner_low, estimate.inner_high) == pytest.approx((inner.low, inner.high))
    assert (estimate.n, estimate.unit) == (25, "item")


def test_sign_flip_p_is_the_permutation_tests() -> None:
    differences = GENERATOR.normal(0.5, 1, 11)
    expected = oracle.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf
    ).pvalue
    assert paired_mean(differences).p_value == pytest.approx(expected)


def test_many_units_on_a_lattice_are_counted_exactly() -> None:
    ternary = np.array([1.0] * 140 + [-1.0] * 100 + [0.0] * 60)
    found = sign_flip_p(ternary)
    assert found.p_value == pytest.approx(oracle.binomtest(140, 240).pvalue)
    assert found.method == "exact sign-flip p"


def test_what_lies_on_no_lattice_is_drawn_and_says_so() -> None:
    found = sign_flip_p(GENERATOR.normal(0.2, 1, 200), seed=4)
    assert found.method == "sign-flip p of 9,999 drawn patterns, seed 4"


def test_the_smallest_drawn_p_is_never_0() -> None:
    assert sign_flip_p(np.pi + np.sqrt(np.arange(200.0))).p_value == 1 / 10_000


def test_drawn_patterns_depend_on_the_seed_alone() -> None:
    differences = np.random.default_rng(3).normal(0.15, 1, 200)
    assert sign_flip_p(differences, seed=4) == sign_flip_p(differences, seed=4)
    assert sign_flip_p(differences, seed=4).p_value != sign_flip_p(differences, seed=5).p_value
    assert sign_flip_p(differences).p_value == pytest.approx(
        oracle.ttest_1samp(differences, 0).pvalue, abs=0.01
    )


def test_clusters_are_flipped_and_counted_whole() -> None:
    differences = np.repeat([1.0, 2.0, 3.0, 4.0], 6)
    estimate = paired_mean(differences, clusters=np.repeat(["a", "b", "c", "d"], 6))
    assert estimate.p_value == 2 / 2**4
    assert "cluster t interval on 3 degrees of freedom" in estimate.method
    plain = paired_mean(differences)
    assert estimate.high is not None
    assert plain.high is not None
    assert estimate.high - 2.5 > 3 * (plain.high - 2.5)


def test_no_difference_at_all_is_no_interval_of_zero_width() -> None:
    estimate = paired_mean(np.zeros(30), span=2)
    assert (estimate.value, estimate.p_value) == (0.0, 1.0)
    assert estimate.high is not None
    assert estimate.high == pytest.approx(2 * (1 - 0.05 ** (1 / 30)))
    assert estimate.inner_low == pytest.approx(-2 * (1 - 0.10 ** (1 / 30)))
    assert estimate.high < 2 * 3 / 30
    assert "moved alike" in estimate.note


def test_without_a_span_no_interval_is_made_up() -> None:
    estimate = paired_mean(np.zeros(30))
    assert (estimate.low, estimate.high, estimate.inner_low) == (None, None, None)
    assert "no interval" in estimate.note


def test_equal_shifts_reach_as_far_as_the_scale_allows() -> None:
    estimate = paired_mean([0.5] * 10, span=1)
    unseen = 1 - 0.05**0.1
    assert estimate.low == pytest.approx(0.5 - unseen * 1.5)
    assert estimate.high == pytest.approx(0.5 + unseen * 0.5)
    assert estimate.p_value == 2 / 2**10


def test_rounding_is_no_spread() -> None:
    estimate = paired_mean([0.1 + 0.2, 0.3, 0.3], span=1)
    assert estimate.high == pytest.approx(zero_spread_interval(0.3, 3, span=1, level=0.95)[1])


def test_the_bound_on_unseen_units_covers_by_the_binomial() -> None:
    share = 1 - 0.05 ** (1 / 12)
    assert oracle.binom.pmf(0, 12, share) == pytest.approx(0.05)
    assert zero_spread_interval(0.0, 12, span=1, level=0.95) == pytest.approx((-share, share))


def test_one_unit_or_one_cluster_has_no_interval() -> None:
    for estimate in (paired_mean([0.4], span=1), paired_mean([0.4, 0.6], span=1, clusters=["a", "a"])):
        assert (estimate.low, estimate.high) == (None, None)
        assert estimate.p_value == 1.0
        assert "one unit" in estimate.note


def test_wrong_input_is_refused() -> None:
    with pytest.raises(DataError, match="it is empty"):
        paired_mean([])
    with pytest.raises(DataError, match="a difference of 2 is larger than the span of 1"):
        paired_mean([0.0, -2.0], span=1)
    with pytest.raises(DataError, match="a span of 0 is none"):
        paired_mean([0.0], span=0)
    with pytest.raises(DataError, match=r"'clusters' has shape \(2,\) for 3 units"):
        paired_mean([1, 2, 3], clusters=["a", "b"])


def test_missing_pairs_are_bounded() -> None:
    assert paired_bounds([1.0, 0.0], missing=2, span=1) == (-0.25, 0.75)
    assert paired_bounds([], missing=2, span=1) == (-1.0, 1.0)
    with pytest.raises(DataError, match="nothing was asked"):
        paired_bounds([], missing=0, span=1)


def test_no_pair_that_differs_is_no_interval_of_zero_width() -> None:
    estimate = paired_proportion(0, 0, 40)
    z2 = oracle.norm.ppf(0.975) ** 2
    assert (estimate.value, estimate.p_value) == (0.0, 1.0)
    assert estimate.high == pytest.approx(z2 / (40 + z2))
    assert estimate.low == pytest.approx(-z2 / (40 + z2))


@pytest.mark.parametrize(("plus", "minus", "zero"), [(5, 14, 30), (0, 3, 12), (7, 7, 0), (1, 0, 9)])
def test_ends_of_the_score_interval_are_where_the_likeliest_variance_puts_z(
    plus: int, minus: int, zero: int
) -> None:
    pairs = plus + minus + zero
    for end in paired_proportion_interval(plus, minus, pairs, level=0.95):

        def unlikely(losses: float, difference: float = end) -> float:
            cells = ((plus, losses + difference), (minus, losses), (zero, 1 - 2 * losses - difference))
            return -sum(seen * math.log(max(chance, 1e-300)) for seen, chance in cells)

        inside = (max(0.0, -end), (1 - end) / 2)
        losses = optimize.minimize_scalar(
            unlikely, bounds=inside, method="bounded", options={"xatol": 1e-12}
        ).x
        error = math.sqrt((2 * losses + end - end**2) / pairs)
        assert abs((plus - minus) / pairs - end) / error == pytest.approx(oracle.norm.ppf(0.975), rel=1e-3)


def test_both_mcnemar_p_values_are_printed() -> None:
    estimate = paired_proportion(5, 14, 30, test=McNemarTest.EXACT)
    assert "5 against 14 of 49 pairs differ" in estimate.note
    assert "mid-p p 0.04139" in estimate.note


def test_paired_counts_are_counts() -> None:
    with pytest.raises(DataError, match="no pair was compared"):
        paired_proportion(0, 0, 0)
    with pytest.raises(DataError, match="'minus' is -1"):
        paired_proportion(1, -1, 0)


def test_thirty_units_off_any_lattice_are_still_exact() -> None:
    differences = np.random.default_rng(29).normal(0.3, 1, 30)
    found = sign_flip_p(differences)
    patterns = np.random.default_rng(30).integers(0, 2, (200_000, 30)) * 2 - 1
    drawn = (np.abs(patterns @ differences) >= abs(differences.sum())).mean()
    assert found.method == "exact sign-flip p"
    assert found.p_value == pytest.approx(drawn, abs=0.003)
