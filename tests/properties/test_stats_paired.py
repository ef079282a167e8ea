"""Laws of paired means, paired proportions and the general ruling over cases."""

from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from voirdire.stats.cases import superiority_over_cases
from voirdire.stats.equivalence import tost_mean_p
from voirdire.stats.paired import (
    mcnemar_exact_p,
    mcnemar_mid_p,
    paired_bounds,
    paired_mean,
    paired_proportion,
    sign_flip_p,
)

halves = st.integers(-4, 4).map(lambda steps: steps / 2)
differences = st.lists(halves, min_size=2, max_size=24)
reals = st.lists(st.floats(-3, 3), min_size=2, max_size=12)
counts = st.integers(0, 40)


@given(st.one_of(differences, reals))
def test_swapping_base_and_variant_mirrors_everything(values: list[float]) -> None:
    one, other = paired_mean(values, span=3), paired_mean([-value for value in values], span=3)
    assert one.value is not None
    assert one.low is not None
    assert one.high is not None
    assert other.value == -one.value
    assert (other.low, other.high) == pytest.approx((-one.high, -one.low))
    assert other.p_value == pytest.approx(one.p_value)


@given(st.one_of(differences, reals), st.booleans())
def test_no_interval_leaves_the_span(values: list[float], clustered: bool) -> None:
    clusters = [number // 2 for number in range(len(values))] if clustered else None
    found = paired_mean(values, span=3, clusters=clusters)
    ends = (found.low, found.inner_low, found.inner_high, found.high)
    assert all(end is None or -3 <= end <= 3 for end in ends)


@given(st.one_of(differences, reals))
def test_intervals_contain_the_value_nest_and_have_a_width(values: list[float]) -> None:
    found = paired_mean(values, span=3)
    ends = [found.low, found.inner_low, found.value, found.inner_high, found.high]
    known = [end for end in ends if end is not None]
    assert len(known) == 5
    assert known == sorted(known)
    assert known[0] < known[-1]


@given(st.one_of(differences, reals))
def test_p_value_is_a_chance_and_never_0(values: list[float]) -> None:
    assert 0 < sign_flip_p(values).p_value <= 1


@given(differences, st.randoms(use_true_random=False))
def test_the_order_of_units_does_not_matter(values: list[float], random: Random) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)
    assert sign_flip_p(shuffled).p_value == pytest.approx(sign_flip_p(values).p_value)
    before, after = paired_mean(values, span=3), paired_mean(shuffled, span=3)
    assert (after.low, after.high) == pytest.approx((before.low, before.high))


@given(differences)
def test_clusters_of_one_unit_are_no_clusters(values: list[float]) -> None:
    plain = paired_mean(values, span=3)
    alone = paired_mean(values, span=3, clusters=[f"unit {n}" for n in range(len(values))])
    assert (alone.low, alone.high) == pytest.approx((plain.low, plain.high))
    assert (alone.inner_low, alone.inner_high) == pytest.approx((plain.inner_low, plain.inner_high))
    assert alone.p_value == pytest.approx(plain.p_value)


@given(differences)
def test_copies_within_a_cluster_add_nothing(values: list[float]) -> None:
    plain = paired_mean(values, span=3)
    copied = paired_mean(np.repeat(values, 5), span=3, clusters=np.repeat(range(len(values)), 5))
    assert (copied.low, copied.high) == pytest.approx((plain.low, plain.high))
    assert copied.p_value == pytest.approx(plain.p_value)


@given(st.lists(halves.filter(bool), min_size=1, max_size=11))
def test_counting_listing_and_brute_force_agree(values: list[float]) -> None:
    patterns = np.array(np.meshgrid(*[[-1, 1]] * len(values))).reshape(len(values), -1)
    sums = np.array(values) @ patterns
    brute = float((np.abs(sums) >= abs(sum(values)) - 1e-9).mean())
    assert sign_flip_p(values).p_value == pytest.approx(brute)
    many = [*values, *[0.0] * 30]
    assert sign_flip_p(many).p_value == pytest.approx(brute)


@given(st.lists(halves.filter(bool), min_size=33, max_size=48))
def test_drawn_patterns_come_near_the_counted_ones(values: list[float]) -> None:
    counted = sign_flip_p(values)
    moved = sign_flip_p(np.array(values) * np.pi)
    assert counted.method == "exact sign-flip p"
    assert "drawn" in moved.method
    chance = counted.p_value
    assert moved.p_value == pytest.approx(chance, abs=5 * (chance * (1 - chance) / 9_999) ** 0.5 + 2e-4)


@given(differences)
def test_two_one_sided_tests_reject_exactly_where_the_inner_interval_lies_inside(values: list[float]) -> None:
    assume(len(set(values)) > 1)
    found = paired_mean(values)
    assert found.inner_low is not None
    assert found.inner_high is not None
    inside = found.inner_low > -1 and found.inner_high < 1
    assert (tost_mean_p(values, margin=1) < 0.05) is inside


@given(st.lists(halves, max_size=12), st.integers(1, 5), st.floats(-3, 3))
def test_bounds_hold_whatever_the_missing_pairs_were(
    values: list[float], missing: int, filler: float
) -> None:
    low, high = paired_bounds(values, missing=missing, span=3)
    assert low - 1e-12 <= (sum(values) + filler * missing) / (len(values) + missing) <= high + 1e-12


@given(counts, counts, counts)
def test_paired_proportions_mirror_nest_and_keep_a_width(plus: int, minus: int, zero: int) -> None:
    assume(plus + minus + zero > 0)
    one, other = paired_proportion(plus, minus, zero), paired_proportion(minus, plus, zero)
    known = [end for end in (one.low, one.inner_low, one.value, one.inner_high, one.high) if end is not None]
    assert len(known) == 5
    assert known == sorted(known)
    assert -1 <= known[0] < known[-1] <= 1
    assert (other.low, other.high) == pytest.approx((-known[-1], -known[0]))
    assert other.p_value == one.p_value


@given(counts, counts)
def test_mid_p_is_never_above_the_exact_p(plus: int, minus: int) -> None:
    assert 0 < mcnemar_mid_p(plus, minus) <= mcnemar_exact_p(plus, minus) <= 1


@given(counts, counts, counts)
def test_the_sign_flip_test_of_ternary_data_is_mcnemars_exact_test(plus: int, minus: int, zero: int) -> None:
    assume(plus + minus + zero > 0)
    ternary = [1.0] * plus + [-1.0] * minus + [0.0] * zero
    assert sign_flip_p(ternary).p_value == pytest.approx(mcnemar_exact_p(plus, minus))


@given(st.lists(st.floats(0, 1), min_size=2, max_size=12))
def test_cases_mirror_and_stay_between_0_and_1(superiorities: list[float]) -> None:
    one = superiority_over_cases(superiorities)
    other = superiority_over_cases([1 - value for value in superiorities])
    known = [end for end in (one.low, one.inner_low, one.value, one.inner_high, one.high) if end is not None]
    assert len(known) == 5
    assert known == sorted(known)
    assert 0 <= known[0] < known[-1] <= 1
    assert (other.low, other.high) == pytest.approx((1 - known[-1], 1 - known[0]))
