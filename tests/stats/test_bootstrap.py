import numpy as np
import pytest
from scipy import stats as oracle

from voirdire.errors import DataError
from voirdire.stats.bootstrap import (
    BootstrapInterval,
    Matrix,
    Resampling,
    bootstrap_means,
    bootstrap_statistic,
    draw,
    replicate_interval,
    resampled_means,
)

GENERATOR = np.random.default_rng(22)
SKEWED = GENERATOR.exponential(size=60)


def test_every_resample_draws_as_many_units_as_there_are() -> None:
    resampling = draw(50, seed=1, resamples=3_000)
    assert resampling.counts.shape == (3_000, 50)
    assert (resampling.counts.sum(axis=1) == 50).all()
    assert resampling.counts.mean(axis=0) == pytest.approx(np.ones(50), abs=0.1)
    assert resampling.counts.var() == pytest.approx(1 - 1 / 50, abs=0.01)


def test_one_product_resamples_every_column() -> None:
    columns = GENERATOR.normal(size=(30, 4))
    resampling = draw(30, seed=2, resamples=20)
    by_hand = [np.repeat(columns, counts, axis=0).mean(axis=0) for counts in resampling.counts]
    assert resampled_means(columns, resampling) == pytest.approx(np.array(by_hand))


def test_clusters_of_unequal_size_keep_their_weight() -> None:
    values, clusters = np.array([1.0, 2.0, 3.0, 10.0]), ["a", "a", "a", "b"]
    resampling = draw(4, seed=3, resamples=200, clusters=clusters)
    means = resampled_means(values, resampling)[:, 0]
    possible = {(2, 0): 2.0, (1, 1): 4.0, (0, 2): 10.0}
    assert means.tolist() == [possible[a, b] for a, b in resampling.counts.tolist()]


@pytest.mark.parametrize("interval", ["percentile", "basic", "BCa"])
def test_intervals_are_scipys(interval: str) -> None:
    expected = oracle.bootstrap(
        (SKEWED,), np.mean, n_resamples=20_000, method=interval, rng=np.random.default_rng(1)
    ).confidence_interval
    (found,) = bootstrap_means(
        SKEWED, draw(60, seed=1, resamples=20_000), interval=BootstrapInterval(interval)
    )
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.012)


def test_studentized_interval_is_as_worked_by_hand() -> None:
    resampling = draw(60, seed=1, resamples=2_000)
    samples = [np.repeat(SKEWED, counts) for counts in resampling.counts]
    centre, error = SKEWED.mean(), SKEWED.std(ddof=1) / 60**0.5
    ratios = [(sample.mean() - centre) / (sample.std(ddof=0) / 59**0.5) for sample in samples]
    low, high = np.quantile(ratios, [0.025, 0.975])
    (found,) = bootstrap_means(SKEWED, resampling, interval=BootstrapInterval.STUDENTIZED)
    assert (found.low, found.high) == pytest.approx((centre - high * error, centre - low * error))


def test_a_column_without_variation_gets_its_point_alone() -> None:
    columns = np.column_stack([np.full(20, 0.3), GENERATOR.normal(size=20)])
    for interval in BootstrapInterval:
        still, moving = bootstrap_means(columns, draw(20, seed=1, resamples=200), interval=interval)
        assert still.value == pytest.approx(0.3)
        assert (still.low, still.high, still.inner_low) == (None, None, None)
        assert "resampling shows nothing" in still.note
        assert moving.low is not None


def test_resamples_without_spread_are_counted_not_used() -> None:
    (found,) = bootstrap_means(
        [0.0, 0.0, 1.0], draw(3, seed=1, resamples=2_000), interval=BootstrapInterval.STUDENTIZED
    )
    assert "of 2000 resamples have no spread and are left out" in found.note
    assert found.low is not None
    assert np.isfinite(found.low)


def test_any_weighted_statistic_can_be_resampled() -> None:
    x, y = GENERATOR.normal(size=(2, 80))

    def ratio(weights: Matrix) -> Matrix:
        return np.asarray((weights @ (y + 5)) / (weights @ (x + 5)))

    resampling = draw(80, seed=4, resamples=4_000)
    found = bootstrap_statistic(ratio, resampling)
    expected = oracle.bootstrap(
        (x, y),
        lambda a, b, axis=-1: (b + 5).mean(axis=axis) / (a + 5).mean(axis=axis),
        paired=True,
        n_resamples=4_000,
        method="percentile",
        rng=np.random.default_rng(2),
    ).confidence_interval
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.01)


def test_undefined_resamples_are_counted_and_undefined_data_refused() -> None:
    def undefined_without_the_first(weights: Matrix) -> Matrix:
        return np.where(weights[:, 0] > 0, weights @ np.arange(5.0), np.nan)

    found = bootstrap_statistic(undefined_without_the_first, draw(5, seed=1, resamples=500))
    assert "resamples, which are left out" in found.note
    with pytest.raises(DataError, match="undefined on the data"):
        bootstrap_statistic(lambda weights: np.full(len(weights), np.nan), draw(5, seed=1, resamples=5))


def test_statistics_that_are_not_means_have_two_kinds_of_interval() -> None:
    replicates = np.linspace(0, 1, 1_001)
    assert replicate_interval(0.4, replicates, interval=BootstrapInterval.BASIC, level=0.9) == pytest.approx(
        (-0.15, 0.75)
    )
    with pytest.raises(DataError, match="the BCa interval needs more than resampled values"):
        replicate_interval(0.4, replicates, interval=BootstrapInterval.BCA, level=0.9)


def test_draws_and_rows_must_match() -> None:
    resampling: Resampling = draw(5, seed=1, resamples=5)
    with pytest.raises(DataError, match=r"shape \(4, 1\) for draws of 5 rows"):
        resampled_means([1, 2, 3, 4], resampling)
    with pytest.raises(DataError, match="not finite"):
        resampled_means([1, 2, 3, 4, np.nan], resampling)
    with pytest.raises(DataError, match="'rows' is 0"):
        draw(0, seed=1)
    with pytest.raises(DataError, match="too many"):
        draw(70_000, seed=1, resamples=1)
