"""The resolution limit: reference values, simulation, mixtures that agree with the formula."""

import math

import numpy as np
import pytest

from voirdire.errors import DataError
from voirdire.model import Estimate
from voirdire.stats.resolution import (
    Arm,
    chance_of_right_order,
    limit_by_mixtures,
    limit_by_pairs,
    limit_estimate,
    resampled_limit,
    resolution_floor,
    resolution_limit,
)


def test_the_reference_values() -> None:
    assert resolution_limit(0.03, 0.35, 217, gap=0.7) == pytest.approx(0.12717, abs=5e-6)
    assert resolution_floor(0.03, gap=0.7) == pytest.approx(0.0997, abs=5e-5)
    assert resolution_limit(0.06, 0.3, 217) == pytest.approx(0.14739, abs=5e-6)


def test_at_the_limit_a_simulated_judge_is_right_as_often_as_said() -> None:
    limit = resolution_limit(0.03, 0.35, 217, gap=0.7)
    rng = np.random.default_rng(0)
    judged = 0.7 * limit + 0.03 * math.sqrt(2) * rng.normal(size=200_000)
    judged += 0.35 * math.sqrt(2 / 217) * rng.normal(size=200_000)
    assert (judged > 0).mean() == pytest.approx(0.95, abs=0.003)


def style(value: float, low: float, high: float) -> Estimate:
    return Estimate(value, low, high, level=0.975)


def test_the_interval_takes_the_ends_of_style_and_gap() -> None:
    found = limit_estimate(style(0.05, 0.03, 0.1), style(0.5, 0.4, 0.6), noise=0.3, tasks=200)
    assert found.value == pytest.approx(resolution_limit(0.05, 0.3, 200, gap=0.5))
    assert found.low == pytest.approx(resolution_limit(0.03, 0.3, 200, gap=0.6))
    assert found.high == pytest.approx(resolution_limit(0.1, 0.3, 200, gap=0.4))
    assert found.level == pytest.approx(0.95)
    points = limit_estimate(
        style(0.05, 0.03, 0.1), style(0.5, 0.4, 0.6), noise=0.3, tasks=200, in_points=True
    )
    assert points.value == pytest.approx(0.5 * (found.value or 0.0))


def test_a_judge_without_a_gap_has_no_limit() -> None:
    found = limit_estimate(style(0.05, 0.03, 0.1), style(0.02, -0.01, 0.05), noise=0.3, tasks=200)
    assert found.value is None
    assert "no limit" in found.note


def arms(styles: list[float], *, gap: float = 0.35, error: float = 0.0) -> list[Arm]:
    return [Arm(0.4 + gap + one, 0.4 + one, error, error, 0.2, 0.2) for one in styles]


def test_mixtures_agree_with_the_formula() -> None:
    styles = (0.05 * np.random.default_rng(3).normal(size=40)).tolist()
    spread = float(np.std(styles, ddof=1))
    noise = math.sqrt(0.2**2 + 0.25 * 0.35**2)
    expected = resolution_limit(spread, noise, 200, gap=0.35)
    assert limit_by_mixtures(arms(styles), tasks=200) == pytest.approx(expected, rel=0.12)


def test_mixtures_take_sampling_out_of_the_styles() -> None:
    rng = np.random.default_rng(4)
    noisy = arms((0.06 * rng.normal(size=200)).tolist(), error=0.06)
    clean = arms([0.0] * 200)
    found, plain = limit_by_mixtures(noisy, tasks=200), limit_by_mixtures(clean, tasks=200)
    assert found is not None
    assert plain is not None
    assert found < 1.4 * plain


def test_mixtures_are_right_more_often_the_farther_they_lie_apart() -> None:
    chances = chance_of_right_order(arms([0.0, 0.1, -0.05]), differences=[0.0, 0.2, 0.5, 1.0], tasks=100)
    assert chances[0] == pytest.approx(0.5)
    assert (np.diff(chances) > 0).all()


def test_no_mixture_is_enough_where_style_outweighs_passing() -> None:
    assert limit_by_mixtures(arms([0.0, 0.9, -0.9]), tasks=500) is None


def test_pairs_that_follow_a_probit_give_its_limit() -> None:
    rng = np.random.default_rng(5)
    true = rng.uniform(0.01, 0.4, size=4000)
    judged = true / 0.1 + rng.normal(size=4000)
    assert limit_by_pairs(true, judged) == pytest.approx(0.1 * 1.6449, rel=0.1)
    assert limit_by_pairs(-true, -judged) == pytest.approx(0.1 * 1.6449, rel=0.1)


def test_pairs_all_wrong_and_all_right() -> None:
    assert limit_by_pairs([0.1, 0.2], [-0.1, -0.3]) is None
    assert limit_by_pairs([0.0], [0.4]) is None
    few, many = limit_by_pairs([0.2] * 3, [1.0] * 3), limit_by_pairs([0.2] * 30, [1.0] * 30)
    assert few is not None
    assert many is not None
    assert many < few


def test_resampling_systems_counts_those_without_a_limit() -> None:
    low, high, none = resampled_limit(lambda drawn: float(len(set(drawn.tolist()))), 5, seed=0)
    assert low is not None
    assert high is not None
    assert 2 <= low <= high <= 5
    assert none == 0
    _, endless, lost = resampled_limit(lambda drawn: None, 5, seed=0)
    assert endless is None
    assert lost > 390


@pytest.mark.parametrize(("spread", "gap", "right"), [(-1.0, 1.0, 0.95), (0.1, 0.0, 0.95), (0.1, 1.0, 0.4)])
def test_what_is_no_limit_is_refused(spread: float, gap: float, right: float) -> None:
    with pytest.raises(DataError):
        resolution_limit(spread, 0.1, 10, gap=gap, right=right)
