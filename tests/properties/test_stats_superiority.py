"""Laws of P(superiority) and of its interval and tests."""

from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.stats.superiority import (
    SuperiorityInterval,
    brunner_munzel_test,
    drawn_permutation_p,
    exact_permutation_p,
    missing_bounds,
    probability_of_superiority,
    superiority_interval,
    superiority_of_distributions,
)

scores = st.lists(st.integers(0, 10), min_size=1, max_size=12)
several = st.lists(st.integers(0, 10), min_size=2, max_size=12)
tallies = st.lists(st.integers(0, 5), min_size=4, max_size=4).filter(lambda tally: sum(tally) > 0)


@given(scores, scores)
def test_swapping_base_and_variant_mirrors_everything(base: list[int], variant: list[int]) -> None:
    one, other = probability_of_superiority(base, variant), probability_of_superiority(variant, base)
    assert one.value is not None
    assert one.low is not None
    assert one.high is not None
    assert one.inner_low is not None
    assert other.value == pytest.approx(1 - one.value)
    assert (other.low, other.high) == pytest.approx((1 - one.high, 1 - one.low))
    assert other.inner_high == pytest.approx(1 - one.inner_low)
    assert other.p_value == pytest.approx(one.p_value)


@given(scores, scores, st.sampled_from(SuperiorityInterval))
def test_intervals_contain_the_value_and_nest(
    base: list[int], variant: list[int], interval: SuperiorityInterval
) -> None:
    found = probability_of_superiority(base, variant, interval=interval)
    ends = [found.low, found.inner_low, found.value, found.inner_high, found.high]
    known = [end for end in ends if end is not None]
    assert len(known) == 5
    assert known == sorted(known)
    assert known[0] >= 0
    assert known[-1] <= 1
    assert found.low != found.high


@given(scores, scores)
def test_p_value_is_a_chance_and_never_0(base: list[int], variant: list[int]) -> None:
    p_value = probability_of_superiority(base, variant).p_value
    assert p_value is not None
    assert 0 < p_value <= 1


@given(scores, scores, st.randoms(use_true_random=False))
def test_the_order_of_scores_does_not_matter(base: list[int], variant: list[int], random: Random) -> None:
    shuffled = [list(base), list(variant)]
    for arm in shuffled:
        random.shuffle(arm)
    assert probability_of_superiority(*shuffled) == probability_of_superiority(base, variant)


@given(scores, scores, st.sampled_from([lambda x: 3 * x + 1, lambda x: x**3, lambda x: x - 50]))
def test_only_the_order_of_values_counts(
    base: list[int], variant: list[int], rescale: Callable[[int], int]
) -> None:
    rescaled = probability_of_superiority([rescale(x) for x in base], [rescale(x) for x in variant])
    assert rescaled == probability_of_superiority(base, variant)


@given(scores, scores, st.integers(0, 11))
def test_raising_one_variant_score_never_lowers_p(base: list[int], variant: list[int], at: int) -> None:
    raised = list(variant)
    raised[at % len(variant)] += 1
    before, after = (probability_of_superiority(base, arm) for arm in (variant, raised))
    for end in ("value", "low", "high", "inner_low", "inner_high"):
        assert getattr(after, end) >= getattr(before, end)


@given(several, several)
def test_studentized_and_exact_tests_point_the_same_way(base: list[int], variant: list[int]) -> None:
    value = probability_of_superiority(base, variant).value
    studentized = brunner_munzel_test(base, variant)
    assert value is not None
    if studentized is not None:
        assert np.sign(studentized.statistic) == np.sign(value - 0.5)


@given(st.floats(0, 1), st.integers(1, 200), st.integers(1, 200))
def test_more_scores_narrow_the_interval(value: float, n_base: int, n_variant: int) -> None:
    low, high = superiority_interval(value, n_base, n_variant, level=0.95)
    closer_low, closer_high = superiority_interval(value, 4 * n_base, 4 * n_variant, level=0.95)
    assert low <= closer_low <= value <= closer_high <= high


@given(scores, scores, st.integers(0, 5), st.integers(0, 5), st.integers(0, 10))
def test_bounds_hold_whatever_the_missing_answers_were(
    base: list[int], variant: list[int], base_missing: int, variant_missing: int, filler: int
) -> None:
    low, high = missing_bounds(
        base, variant, base_missing=base_missing, variant_missing=variant_missing, lowest=0, highest=10
    )
    filled = probability_of_superiority(
        [*base, *[filler] * base_missing], [*variant, *[10 - filler] * variant_missing]
    )
    assert filled.value is not None
    assert low - 1e-12 <= filled.value <= high + 1e-12


@given(tallies, tallies)
def test_distributions_agree_with_the_scores_they_stand_for(base: list[int], variant: list[int]) -> None:
    exact = superiority_of_distributions(np.array(base) / sum(base), np.array(variant) / sum(variant))
    drawn = probability_of_superiority(np.repeat(range(4), base), np.repeat(range(4), variant))
    assert exact.value == pytest.approx(drawn.value)


@given(scores, scores)
def test_drawn_splits_come_near_the_exact_p(base: list[int], variant: list[int]) -> None:
    exact = exact_permutation_p(base, variant)
    drawn = drawn_permutation_p(base, variant, seed=1, splits=4_000)
    assert drawn == pytest.approx(exact, abs=5 * (exact * (1 - exact) / 4_000) ** 0.5 + 1 / 4_000)
    assert drawn == drawn_permutation_p(base, variant, seed=1, splits=4_000)
