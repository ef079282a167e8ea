"""Multiplicity (statsmodels 0.15), equivalence planning (normal approximation) and confidence sequences."""

import pytest

from voirdire.stats.equivalence import scores_needed_for_superiority_margin
from voirdire.stats.multiplicity import benjamini_hochberg, benjamini_yekutieli, holm
from voirdire.stats.proportion import clopper_pearson
from voirdire.stats.sequence import betting_sequence, confidence_path

RAW = [0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216]
THREE_OF_FOUR = [1, 1, 0, 1] * 50


def test_holm() -> None:
    assert holm(RAW) == pytest.approx([0.01, 0.072, *[0.312] * 5, *[0.615] * 3])


def test_benjamini_hochberg() -> None:
    expected = [0.01, 0.04, 0.084, 0.084, 0.084, 0.1, 0.10571429, 0.216, 0.216, 0.216]
    assert benjamini_hochberg(RAW) == pytest.approx(expected, abs=5e-9)


def test_benjamini_yekutieli() -> None:
    assert benjamini_yekutieli(RAW)[0] == pytest.approx(0.0292897, abs=5e-8)


@pytest.mark.parametrize(
    ("margin", "tied", "scores"),
    [(0.1, 0.0, 143), (0.05, 0.0, 571), (0.2, 0.0, 36), (0.3, 0.0, 16), (0.1, 0.5, 72)],
)
def test_scores_a_side(margin: float, tied: float, scores: int) -> None:
    assert scores_needed_for_superiority_margin(margin, tied=tied) == scores


def test_confidence_sequence_on_a_grid_of_501() -> None:
    path = confidence_path(THREE_OF_FOUR, points=501, outwards=False)
    bounds = [(path.low[looked - 1], path.high[looked - 1]) for looked in (20, 50, 100, 200)]
    expected = [(0.454, 0.962), (0.566, 0.912), (0.614, 0.874), (0.650, 0.846)]
    for found, published in zip(bounds, expected, strict=True):
        assert found == pytest.approx(published, abs=1e-9)


def test_published_bounds_lie_within_a_grid_step_of_ours() -> None:
    estimate = betting_sequence(THREE_OF_FOUR)
    assert (estimate.low, estimate.high) == pytest.approx((0.650, 0.846), abs=0.0025)


def test_clopper_pearson_150_of_200() -> None:
    estimate = clopper_pearson(150, 200)
    assert (estimate.low, estimate.high) == pytest.approx((0.684, 0.808), abs=5e-4)
