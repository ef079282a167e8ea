import itertools
import math

import numpy as np
import pytest
from scipy import stats as oracle

from voirdire.errors import DataError
from voirdire.lines import OUTCOME
from voirdire.stats.equivalence import Equivalence, equivalence
from voirdire.stats.superiority import (
    EXACT_SCORES,
    Missing,
    SuperiorityInterval,
    SuperiorityTest,
    brunner_munzel_test,
    drawn_permutation_p,
    exact_permutation_p,
    missing_bounds,
    probability_of_superiority,
    superiority_interval,
    superiority_of_distributions,
)

GENERATOR = np.random.default_rng(20)


def test_a_variant_that_scores_higher_is_above_one_half() -> None:
    assert probability_of_superiority([1, 2], [3, 4]).value == 1.0
    assert probability_of_superiority([3, 4], [1, 2]).value == 0.0
    assert probability_of_superiority([5, 5], [5, 5, 5]).value == 0.5


def test_value_is_mann_whitneys_u_over_the_pairs() -> None:
    base, variant = GENERATOR.integers(0, 11, 17), GENERATOR.integers(0, 11, 23)
    u = oracle.mannwhitneyu(variant, base).statistic
    assert probability_of_superiority(base, variant).value == pytest.approx(u / (17 * 23))


def test_neither_interval_nor_p_collapses_where_no_score_overlaps() -> None:
    estimate = probability_of_superiority([2] * 10, [1] * 10)
    assert estimate.value == 0.0
    assert estimate.low == 0.0
    assert estimate.high == pytest.approx(0.1998, abs=5e-5)
    assert estimate.p_value == pytest.approx(2 / 184_756)


def test_identical_answers_in_both_arms_are_no_certainty() -> None:
    estimate = probability_of_superiority([7] * 10, [7] * 10)
    assert (estimate.value, estimate.p_value) == (0.5, 1.0)
    assert (estimate.low, estimate.high) == pytest.approx((0.2735, 0.7265), abs=5e-5)


@pytest.mark.parametrize("shift", [0.15, 0.05, 0.0])
def test_ten_repeats_reject_what_the_protocol_calls_a_leak(shift: float) -> None:
    wins = round(shift * 100)
    variant = [1 if wins >= 10 * (k + 1) else 0 for k in range(10)]
    remainder = wins - 10 * sum(variant)
    base = [0.5] * 10
    if remainder:
        variant[-1] = 0.5  # type: ignore[call-overload]
    estimate = probability_of_superiority(base, variant)
    assert estimate.value == pytest.approx(shift)
    assert estimate.p_value is not None
    assert estimate.p_value < 0.05


def test_ten_repeats_near_one_half_can_show_that_the_rule_holds() -> None:
    estimate = probability_of_superiority([2, 3] * 5, [2, 3] * 4 + [2, 2])
    assert equivalence(estimate, null=OUTCOME.null, margin=OUTCOME.margin or 0) is Equivalence.INSIDE


@pytest.mark.parametrize(("n", "m", "top"), [(4, 5, 3), (1, 7, 9), (6, 6, 2), (3, 3, 100)])
def test_exact_p_is_the_share_of_all_splits(n: int, m: int, top: int) -> None:
    base, variant = GENERATOR.integers(0, top, n), GENERATOR.integers(0, top, m)
    ranks = oracle.rankdata(np.concatenate([base, variant]))
    centre = m * (n + m + 1) / 2
    sums = np.array([ranks[list(chosen)].sum() for chosen in itertools.combinations(range(n + m), m)])
    extreme = np.abs(sums - centre) >= abs(ranks[n:].sum() - centre) - 1e-9
    assert exact_permutation_p(base, variant) == pytest.approx(extreme.mean())


def test_exact_p_without_ties_is_scipys() -> None:
    base, variant = GENERATOR.normal(size=9), GENERATOR.normal(loc=1, size=12)
    expected = oracle.mannwhitneyu(variant, base, method="exact").pvalue
    assert exact_permutation_p(base, variant) == pytest.approx(expected)


def test_exact_p_counts_every_split_of_sixty_scores() -> None:
    base, variant = GENERATOR.normal(size=30), GENERATOR.normal(loc=0.5, size=30)
    expected = oracle.mannwhitneyu(variant, base, method="exact").pvalue
    assert exact_permutation_p(base, variant) == pytest.approx(expected, rel=1e-9)
    with pytest.raises(DataError, match="61 scores are too many"):
        exact_permutation_p(base, np.append(variant, 0))


@pytest.mark.parametrize("levels", [11, 10_000])
def test_more_scores_get_drawn_splits(levels: int) -> None:
    base, variant = GENERATOR.integers(0, levels, 80), GENERATOR.integers(0, levels, 70) + levels // 8
    estimate = probability_of_superiority(base, variant, seed=5)
    expected = oracle.mannwhitneyu(variant, base, method="asymptotic").pvalue
    assert estimate.p_value == pytest.approx(expected, abs=0.01)
    assert estimate.p_value == drawn_permutation_p(base, variant, seed=5)
    assert estimate.p_value != drawn_permutation_p(base, variant, seed=6)
    assert "seed 5" in estimate.method


def test_the_smallest_drawn_p_is_never_0() -> None:
    estimate = probability_of_superiority(np.zeros(50), np.ones(50))
    assert estimate.p_value == 1 / 10_000


def test_brunner_munzel_is_scipys() -> None:
    base, variant = GENERATOR.integers(0, 6, 15), GENERATOR.integers(0, 8, 12)
    found = brunner_munzel_test(base, variant)
    expected = oracle.brunnermunzel(base, variant)
    assert found is not None
    assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))


def test_what_is_undefined_without_overlap_is_replaced_and_said() -> None:
    estimate = probability_of_superiority(
        [1, 1, 1], [2, 2], interval=SuperiorityInterval.LOGIT, test=SuperiorityTest.BRUNNER_MUNZEL
    )
    assert (estimate.low, estimate.high) == superiority_interval(1.0, 3, 2, level=0.95)
    assert estimate.p_value == exact_permutation_p([1, 1, 1], [2, 2])
    assert "logit interval is undefined" in estimate.note
    assert "Brunner-Munzel is undefined" in estimate.note


def test_score_interval_ends_lie_z_standard_errors_away() -> None:
    low, high = superiority_interval(0.3, 8, 14, level=0.90)
    mean_size, z = (8 + 14) / 2 - 1, oracle.norm.ppf(0.95)
    for end in (low, high):
        growth = 1 + mean_size * (1 - end) / (2 - end) + mean_size * end / (1 + end)
        assert (0.3 - end) ** 2 == pytest.approx(z**2 * end * (1 - end) * growth / (8 * 14))


def test_missing_answers_are_counted_and_bounded() -> None:
    estimate = probability_of_superiority(
        [4, 5], [6], missing=Missing(base=1, variant=2, lowest=0, highest=10)
    )
    assert estimate.missing == {"base": 1, "variant": 2}
    assert estimate.asked == {"base": 3, "variant": 3}
    assert estimate.bounds == pytest.approx((2 / 9, 9 / 9))
    assert estimate.n == 3


def test_nothing_missing_needs_no_bounds() -> None:
    assert probability_of_superiority([4], [6], missing=Missing(lowest=0, highest=10)).bounds is None
    assert probability_of_superiority([4], [6], missing=Missing(base=1)).bounds is None


def test_bounds_without_a_single_readable_answer_are_everything() -> None:
    bounds = missing_bounds([], [], base_missing=3, variant_missing=3, lowest=0, highest=10)
    assert bounds == (0.0, 1.0)


def test_bounds_refuse_an_arm_that_was_not_asked_and_a_score_off_the_scale() -> None:
    with pytest.raises(DataError, match="'base': nothing was asked"):
        missing_bounds([], [1], base_missing=0, variant_missing=1, lowest=0, highest=10)
    with pytest.raises(DataError, match=r"'variant' reaches from 1 to 11, outside 0 to 10"):
        missing_bounds([1], [1, 11], base_missing=1, variant_missing=1, lowest=0, highest=10)


def test_two_answer_distributions_are_compared_exactly() -> None:
    estimate = superiority_of_distributions([0.5, 0.5, 0.0], [0.25, 0.25, 0.5])
    assert estimate.value == pytest.approx(0.5 * 1 + 0.25 * (0.5 + 0.25) + 0.25 * 0.25)
    assert estimate.exact
    assert (estimate.low, estimate.p_value) == (None, None)


def test_rounded_distributions_are_scaled_and_others_refused() -> None:
    assert superiority_of_distributions(
        [0.333, 0.333, 0.333], [0.3335, 0.333, 0.3335]
    ).value == pytest.approx(0.5, abs=1e-3)
    with pytest.raises(DataError, match=r"sum 0\.9"):
        superiority_of_distributions([0.4, 0.5], [0.5, 0.5])
    with pytest.raises(DataError, match=r"lowest -0\.5"):
        superiority_of_distributions([-0.5, 1.5], [0.5, 0.5])
    with pytest.raises(DataError, match="2 base levels against 3"):
        superiority_of_distributions([0.5, 0.5], [0.2, 0.3, 0.5])


@pytest.mark.parametrize(
    ("base", "variant", "message"),
    [
        ([], [1.0], "'base': it is empty"),
        ([1.0], [], "'variant': it is empty"),
        ([1.0, float("nan")], [1.0], "'base' holds 1 values that are not finite"),
        ([[1.0]], [1.0], "not one dimension"),
        (["high"], [1.0], "not a number"),
    ],
)
def test_what_is_no_list_of_scores_is_refused(base: list[float], variant: list[float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        probability_of_superiority(base, variant)


def test_a_level_outside_0_to_1_is_refused() -> None:
    with pytest.raises(DataError, match="95 is none"):
        probability_of_superiority([1], [2], level=95)


def test_every_split_of_the_most_scores_fits_64_bits() -> None:
    assert math.comb(EXACT_SCORES, EXACT_SCORES // 2) < 2**63
