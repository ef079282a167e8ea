import numpy as np
import pytest

from voirdire.errors import DataError
from voirdire.stats.sequence import anytime_p, betting_sequence, confidence_path, superiority_sequence


def test_both_levels_come_and_nest() -> None:
    estimate = betting_sequence([1, 1, 0, 1] * 20)
    ends = [estimate.low, estimate.inner_low, estimate.value, estimate.inner_high, estimate.high]
    known = [end for end in ends if end is not None]
    assert len(known) == 5
    assert known == sorted(known)
    assert estimate.n == 80


def test_bounds_are_rounded_outwards() -> None:
    observations = [1, 1, 0, 1] * 25
    inner, outer = (confidence_path(observations, points=501, outwards=out) for out in (False, True))
    assert outer.low[-1] == pytest.approx(inner.low[-1] - 0.002)
    assert outer.high[-1] == pytest.approx(inner.high[-1] + 0.002)


def test_one_observation_says_nearly_nothing() -> None:
    path = confidence_path([1.0])
    assert path.low[0] == 0.0
    assert path.high[0] == 1.0


def test_identical_observations_leave_a_width() -> None:
    estimate = betting_sequence([0.5] * 10, null=0.5)
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.low < 0.5 < estimate.high
    assert estimate.p_value == 1.0


def test_the_p_value_and_the_interval_agree() -> None:
    observations = [1, 1, 0, 1] * 12
    for null in (0.3, 0.45, 0.5, 0.6, 0.9):
        estimate = betting_sequence(observations, null=null)
        path = confidence_path(observations, points=2_001, outwards=False)
        assert estimate.p_value is not None
        assert (estimate.p_value < 0.05) is not bool(path.low[-1] <= null <= path.high[-1])


def test_drifting_scores_are_said_to_drift() -> None:
    estimate = betting_sequence([1.0] * 150 + [0.0] * 150)
    assert estimate.value == 0.5
    assert (estimate.low, estimate.high, estimate.inner_low) == (None, None, None)
    assert "drift" in estimate.note


def test_the_kth_base_score_meets_the_kth_variant_score() -> None:
    estimate = superiority_sequence([2, 2, 3, 1], [1, 2, 4, 1, 9])
    assert estimate.value == (0 + 0.5 + 1 + 0.5) / 4
    assert estimate.n == 4
    assert estimate.p_value == 1.0
    assert estimate.note == "1 scores wait for a partner"


def test_a_large_effect_stops_early() -> None:
    found = [superiority_sequence([2] * n, [1] * n).p_value or 1.0 for n in range(1, 16)]
    assert found[-1] < 0.05
    assert found == sorted(found, reverse=True)
    assert sum(p >= 0.05 for p in found) >= 5


def test_a_null_at_the_end_of_the_scale_is_refuted_by_one_score() -> None:
    assert anytime_p([0.0] * 5, null=0.0) == 1.0
    assert anytime_p([0.0] * 30, null=1.0) < 1e-3


def test_scores_outside_0_to_1_are_refused() -> None:
    with pytest.raises(DataError, match="outside 0 to 1"):
        betting_sequence([0.2, 7.0])
    with pytest.raises(DataError, match="it is empty"):
        superiority_sequence([], [1.0])


def test_false_alarms_under_constant_looking_stay_rare() -> None:
    generator = np.random.default_rng(27)
    alarms = [anytime_p(generator.random(60) < 0.5, null=0.5) < 0.05 for _ in range(300)]
    assert np.mean(alarms) <= 0.05
