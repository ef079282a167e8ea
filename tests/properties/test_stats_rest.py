"""Laws of adjusted p values, proportions, agreement, resampling, sequences and plans."""

from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from voirdire.stats.agreement import cohen_kappa, gwet_ac1, raw_agreement
from voirdire.stats.bootstrap import BootstrapInterval, bootstrap_means, draw, resampled_means
from voirdire.stats.effect import cohens_d
from voirdire.stats.equivalence import units_needed, unmoved_units_needed
from voirdire.stats.multiplicity import benjamini_hochberg, benjamini_yekutieli, holm
from voirdire.stats.paired import paired_mean
from voirdire.stats.proportion import clopper_pearson, rule_of_three, wilson
from voirdire.stats.quantiles import t_critical
from voirdire.stats.sequence import anytime_p, confidence_path

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=12)
tables = st.lists(st.lists(st.integers(0, 20), min_size=3, max_size=3), min_size=3, max_size=3)


@given(p_values)
def test_adjusted_p_values_rank_as_the_raw_ones_and_are_never_below_them(raw: list[float]) -> None:
    for adjust in (holm, benjamini_hochberg, benjamini_yekutieli):
        adjusted = adjust(raw)
        assert all(q >= p * (1 - 1e-12) for p, q in zip(raw, adjusted, strict=True))
        assert max(adjusted) <= 1
        by_raw = [q for _, q in sorted(zip(raw, adjusted, strict=True))]
        assert by_raw == sorted(by_raw)


@given(p_values)
def test_holm_lies_between_hochberg_and_bonferroni(raw: list[float]) -> None:
    for low, middle, p in zip(benjamini_hochberg(raw), holm(raw), raw, strict=True):
        assert low <= middle * (1 + 1e-12)
        if p == min(raw):
            assert middle == pytest.approx(min(1.0, p * len(raw)))


@given(p_values, st.randoms(use_true_random=False))
def test_adjustment_follows_its_p_value_through_any_order(raw: list[float], random: Random) -> None:
    order = list(range(len(raw)))
    random.shuffle(order)
    moved = holm([raw[at] for at in order])
    assert moved == pytest.approx([holm(raw)[at] for at in order])


@given(st.integers(1, 200), st.data())
def test_proportions_mirror_nest_and_keep_a_width(n: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, n))
    for interval in (wilson, clopper_pearson):
        one, other = interval(successes, n), interval(n - successes, n)
        ends = (one.low, one.inner_low, one.value, one.inner_high, one.high)
        known = [end for end in ends if end is not None]
        assert len(known) == 5
        assert known == sorted(known)
        assert 0 <= known[0] < known[-1] <= 1
        assert (other.low, other.high) == pytest.approx((1 - known[-1], 1 - known[0]))


@given(st.integers(1, 10_000))
def test_rule_of_three_is_the_upper_end_of_a_one_sided_exact_interval(n: int) -> None:
    assert rule_of_three(n, level=0.975) == pytest.approx(clopper_pearson(0, n).high or 0.0)
    assert rule_of_three(n) <= 3 / n


@given(tables)
def test_agreement_is_symmetric_and_at_most_raw(table: list[list[int]]) -> None:
    assume(np.sum(table) > 1)
    raw = raw_agreement(table).value
    assert raw is not None
    for coefficient in (cohen_kappa, gwet_ac1):
        value, swapped = coefficient(table).value, coefficient(np.transpose(table)).value
        assert (value is None) is (swapped is None)
        if value is not None:
            assert value == pytest.approx(swapped)
            assert -1 - 1e-9 <= value <= raw + 1e-9


@given(tables)
def test_ac1_variance_agrees_with_the_jackknife(table: list[list[int]]) -> None:
    counts = np.array(table)
    assume(counts.sum() >= 60 and np.trace(counts) < counts.sum() and np.trace(counts) > 0)
    found = gwet_ac1(counts)
    left_out, weights = [], []
    for i, j in zip(*np.nonzero(counts), strict=True):
        less = counts.copy()
        less[i, j] -= 1
        left_out.append(gwet_ac1(less).value or 0.0)
        weights.append(counts[i, j])
    n = int(counts.sum())
    mean = np.average(left_out, weights=weights)
    variance = (n - 1) / n * float(np.dot(weights, (np.array(left_out) - mean) ** 2))
    assert found.value is not None
    assert found.low is not None
    assume(found.low > -1)
    reach = t_critical(0.95, n - 1) * variance**0.5
    assert found.value - found.low == pytest.approx(reach, rel=0.15)


@given(st.lists(st.floats(-5, 5), min_size=3, max_size=15), st.sampled_from(BootstrapInterval))
def test_resampling_is_reproducible_and_moves_with_the_data(
    values: list[float], interval: BootstrapInterval
) -> None:
    resampling = draw(len(values), seed=3, resamples=400)
    (one,) = bootstrap_means(values, resampling, interval=interval)
    assert (one,) == bootstrap_means(values, draw(len(values), seed=3, resamples=400), interval=interval)
    assume(one.low is not None and np.ptp(values) > 0.01)
    (moved,) = bootstrap_means(np.array(values) + 100, resampling, interval=interval)
    assert one.low is not None
    assert one.high is not None
    assert (moved.low, moved.high) == pytest.approx((one.low + 100, one.high + 100))


@given(st.integers(1, 12), st.integers(1, 4))
def test_only_whole_clusters_are_drawn(clusters: int, size: int) -> None:
    labels = np.repeat(range(clusters), size)
    resampling = draw(clusters * size, seed=1, resamples=50, clusters=labels)
    assert (resampling.counts.sum(axis=1) == clusters).all()
    for weights in resampling.weights():
        assert (weights.reshape(len(weights), clusters, size) == weights[:, ::size, None]).all()
    means = resampled_means(labels.astype(float), resampling)[:, 0]
    assert means == pytest.approx(resampling.counts @ np.arange(clusters) / clusters)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_sequences_only_narrow_and_levels_nest(observations: list[float]) -> None:
    wide = confidence_path(observations, level=0.95, points=101)
    assert (np.diff(wide.low) >= 0).all()
    assert (np.diff(wide.high) <= 0).all() or (wide.low > wide.high).any()
    mirrored = confidence_path([1 - value for value in observations], level=0.95, points=101)
    assert mirrored.low == pytest.approx(1 - wide.high, abs=0.0101)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0, 1))
def test_anytime_p_is_a_chance_that_only_falls(observations: list[float], null: float) -> None:
    longer = anytime_p(observations, null=null)
    assert 0 < longer <= anytime_p(observations[: len(observations) // 2 + 1], null=null) <= 1


@given(st.floats(0.01, 10), st.floats(0.05, 5), st.sampled_from([0.9, 0.95]))
def test_units_needed_are_enough_and_one_less_is_not(sd: float, margin: float, level: float) -> None:
    needed = units_needed(sd, margin, level)
    assert needed is not None
    assert t_critical(level, needed - 1) * sd < margin * needed**0.5
    if needed > 2:
        assert t_critical(level, needed - 2) * sd >= margin * (needed - 1) ** 0.5


@given(st.floats(0.02, 0.9))
def test_unmoved_units_needed_put_the_bound_inside(margin: float) -> None:
    needed = unmoved_units_needed(1.0, margin)
    assume(needed > 2)
    enough, short = (paired_mean(np.zeros(n), span=1.0) for n in (needed, needed - 1))
    assert enough.inner_high is not None
    assert short.inner_high is not None
    assert enough.inner_high < margin
    assert short.inner_high >= margin * (1 - 1e-9)


@given(
    st.lists(st.integers(1, 7), min_size=2, max_size=12), st.lists(st.integers(1, 7), min_size=2, max_size=12)
)
def test_d_mirrors_and_lies_in_its_interval(base: list[int], variant: list[int]) -> None:
    one, other = cohens_d(base, variant), cohens_d(variant, base)
    if one.value is None or one.low is None or one.high is None:
        assert len(set(base)) == len(set(variant)) == 1
        return
    assert other.value == pytest.approx(-one.value)
    assert (other.low, other.high) == pytest.approx((-one.high, -one.low), abs=1e-6)
    assert one.low < one.value < one.high
