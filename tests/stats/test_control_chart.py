"""The drift chart: its scores are standard normal, its sums are Page's, its run length is the one that theory gives."""

import math

import numpy as np
import pytest
from scipy import stats as oracle

from voirdire.errors import DataError
from voirdire.lines import DRIFT_ALLOWANCE, DRIFT_LIMIT
from voirdire.stats.control_chart import Direction, control_chart, cusum, self_starting_scores
from voirdire.stats.proportion import clopper_pearson_interval


def run_length_in_theory(allowance: float, limit: float, *, cells: int = 400) -> float:
    """Return the mean run length of a two-sided chart of standard normal scores by Brook and Evans's Markov chain.

    Brook and Evans 1972, doi:10.1093/biomet/59.3.539. Two equal sides ring half as late as one.
    """
    width = 2 * limit / (2 * cells - 1)
    middles = width * np.arange(cells)
    high = oracle.norm.cdf(middles[None, :] + width / 2 - middles[:, None] + allowance)
    low = oracle.norm.cdf(middles[None, :] - width / 2 - middles[:, None] + allowance)
    moves = high - low
    moves[:, 0] = high[:, 0]
    return float(np.linalg.solve(np.eye(cells) - moves, np.ones(cells))[0]) / 2


def test_the_declared_chart_rings_once_in_465_runs_in_theory() -> None:
    assert run_length_in_theory(DRIFT_ALLOWANCE, DRIFT_LIMIT) == pytest.approx(465, abs=1)
    assert run_length_in_theory(0.5, 4.0) == pytest.approx(168, abs=1)


def test_simulated_steady_series_ring_as_often_as_theory_says() -> None:
    generator = np.random.default_rng(7)
    runs, series = 60, 1000
    rang = sum(
        control_chart(generator.normal(3, 2, size=runs), limit=3.0).alarm is not None for _ in range(series)
    )
    # the first two runs cannot ring; from rest, a chart with a mean run length of L is nearly geometric
    expected = 1 - math.exp(-(runs - 2 - 3) / run_length_in_theory(0.5, 3.0))
    low, high = clopper_pearson_interval(rang, series, level=0.999)
    assert low < expected < high


def test_scores_are_standard_normal_from_the_third_run_on() -> None:
    generator = np.random.default_rng(1)
    scores = np.array([self_starting_scores(generator.normal(5, 3, size=8)) for _ in range(2000)])
    assert not scores[:, :2].any()
    for run in range(2, 8):
        assert oracle.kstest(scores[:, run], "norm").pvalue > 0.001
    assert abs(np.corrcoef(scores[:, 4], scores[:, 5])[0, 1]) < 0.08


def test_scores_do_not_depend_on_unit_or_origin() -> None:
    series = [3.0, 4.0, 3.5, 5.0, 2.0]
    assert self_starting_scores(series) == pytest.approx(self_starting_scores([10 * x + 7 for x in series]))


def test_a_score_by_hand() -> None:
    statistic = math.sqrt(2 / 3) * (6.0 - 3.0) / math.sqrt(2)
    expected = oracle.norm.ppf(oracle.t.cdf(statistic, 1))
    assert self_starting_scores([2.0, 4.0, 6.0])[2] == pytest.approx(expected)


def test_sums_by_hand() -> None:
    assert cusum([1.0, -2.0, 0.7, 2.0], allowance=0.5) == pytest.approx([0.5, 0.0, 0.2, 1.7])


@pytest.mark.parametrize(("shift", "direction"), [(3.0, Direction.UP), (-3.0, Direction.DOWN)])
def test_a_shift_is_seen_on_its_side_and_its_beginning_told(shift: float, direction: Direction) -> None:
    generator = np.random.default_rng(4)
    series = generator.normal(size=40)
    series[30:] += shift
    alarm = control_chart(series).alarm
    assert alarm is not None
    assert alarm.direction is direction
    assert alarm.at in (31, 32, 33)
    assert alarm.began in (29, 30, 31)


def test_scores_that_never_vary_never_ring_and_one_odd_run_is_no_alarm() -> None:
    assert control_chart([0.3] * 50).alarm is None
    assert control_chart([0.1 + 0.2, 0.3] * 25).alarm is None
    assert control_chart([5.0, 5.0, 5.1, 5.0, 5.0, 5.0]).alarm is None


def test_scores_that_never_varied_and_then_stay_elsewhere_ring() -> None:
    alarm = control_chart([5.0] * 10 + [5.2] * 10).alarm
    assert alarm is not None
    assert (alarm.direction, alarm.began) == (Direction.UP, 10)


@pytest.mark.parametrize("values", [[], [1.0, 2.0], [1.0, math.nan, 2.0]])
def test_too_few_runs_and_missing_means_are_refused(values: list[float]) -> None:
    with pytest.raises(DataError):
        control_chart(values)


@pytest.mark.parametrize(("allowance", "limit"), [(-0.1, 5.0), (0.5, 0.0)])
def test_a_chart_without_sense_is_refused(allowance: float, limit: float) -> None:
    with pytest.raises(DataError, match="make no chart"):
        control_chart([1.0, 2.0, 3.0], allowance=allowance, limit=limit)
