"""Corrected rates from few executed tests: small planted worlds, laws, edges and errors."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from voirdire.errors import DataError
from voirdire.stats.calibrated_rates import CalibratedRates, calibrated_rates, chances_to_label

RATES = np.array([0.2, 0.35, 0.3, 0.45])
STYLES = np.array([0.12, -0.05, 0.0, 0.02])
TASKS = 150
Vector = NDArray[np.float64]


class World:
    """Four systems on shared tasks: what passed, what the judge said, what was executed, with which chance."""

    def __init__(self, seed: int, share: float = 0.15, *, chosen: bool = False, gap: float = 0.35) -> None:
        rng = np.random.default_rng(seed)
        hard = rng.normal(size=TASKS)
        trouble = math.sqrt(0.5) * (hard + rng.normal(size=(4, TASKS)))
        limits = np.quantile(np.random.default_rng(9).normal(size=100_000), RATES)
        self.passed = (trouble < limits[:, None]).astype(float)
        noise = 0.12 * rng.normal(size=self.passed.shape)
        self.score = 0.3 + gap * self.passed + STYLES[:, None] + noise
        self.chance = np.full(self.passed.shape, share)
        if chosen:
            self.chance = np.where(self.score > np.median(self.score), 0.35, 0.05)
        self.executed = rng.random(self.passed.shape) < self.chance

    def calibrated(self, *, weighted: bool = False) -> CalibratedRates:
        truth = np.where(self.executed, self.passed, np.nan)
        system = [f"s{k}" for k in range(4) for _ in range(TASKS)]
        tasks = np.tile(np.arange(TASKS), 4)
        chance = self.chance.ravel() if weighted else None
        return calibrated_rates(system, tasks, self.score.ravel(), truth.ravel(), chance=chance)


def worlds(number: int = 40, **how: object) -> list[World]:
    return [World(seed, **how) for seed in range(number)]  # type: ignore[arg-type]


def errors(found: Sequence[CalibratedRates]) -> Vector:
    return np.array([one.rates - RATES for one in found])


def covered(found: Sequence[CalibratedRates]) -> float:
    hits = []
    for one in found:
        for name, rate in zip(one.systems, RATES, strict=True):
            estimate = one.rate(name)
            assert estimate.low is not None
            assert estimate.high is not None
            hits.append(estimate.low <= rate <= estimate.high)
    return float(np.mean(hits))


# --- planted worlds -----------------------------------------------------------------------------------


def test_it_is_nearer_than_labels_alone_and_than_subtracting_offsets() -> None:
    made = worlds()
    ours = np.sqrt((errors([one.calibrated() for one in made]) ** 2).mean())
    labels = [[one.passed[k][one.executed[k]].mean() for k in range(4)] for one in made]
    rule = [
        [one.score[k].mean() - (one.score[k] - one.passed[k])[one.executed[k]].mean() for k in range(4)]
        for one in made
    ]
    assert ours < 0.75 * np.sqrt(((np.array(labels) - RATES) ** 2).mean())
    assert ours < 0.95 * np.sqrt(((np.array(rule) - RATES) ** 2).mean())
    assert covered([one.calibrated() for one in made]) > 0.90


def test_chosen_labels_are_put_right_by_their_chances_and_biased_without() -> None:
    made = worlds(chosen=True)
    weighted = errors([one.calibrated(weighted=True) for one in made])
    ignored = errors([one.calibrated() for one in made])
    assert abs(weighted.mean()) < 0.02
    assert covered([one.calibrated(weighted=True) for one in made]) > 0.90
    assert np.abs(weighted.mean(axis=0)).max() < np.abs(ignored.mean(axis=0)).max() + 0.02


def test_planted_styles_are_recovered_with_their_intervals() -> None:
    planted = STYLES - STYLES.mean()
    found = [one.calibrated() for one in worlds(share=0.3)]
    offsets = [[one.offset(name) for name in one.systems] for one in found]
    off = np.array([[each.value for each in row] for row in offsets], dtype=float) - planted
    assert np.abs(off.mean(axis=0)).max() < 0.012
    hits = [
        (each.low or 0.0) <= style <= (each.high or 0.0)
        for row in offsets
        for each, style in zip(row, planted, strict=True)
    ]
    assert np.mean(hits) > 0.90
    assert np.mean([one.gap for one in found]) == pytest.approx(0.35, abs=0.03)


def test_a_style_that_is_paid_for_does_not_turn_the_order_round() -> None:
    found = [one.calibrated() for one in worlds(20, share=0.3)]
    raw = np.mean([one.scores[0] > one.scores[1] for one in found])
    assert raw == 1.0
    assert np.mean([one.rates[0] < one.rates[1] for one in found]) > 0.9


def test_with_every_label_the_rates_are_those_observed() -> None:
    one = World(3, share=1.0)
    found = one.calibrated()
    assert found.rates == pytest.approx(one.passed.mean(axis=1), abs=0.01)
    assert found.labels.tolist() == [TASKS] * 4
    alone = one.passed.std(axis=1, ddof=1) / math.sqrt(TASKS)
    assert np.sqrt(np.diag(found.covariance)) == pytest.approx(alone, rel=0.12)


# --- laws ---------------------------------------------------------------------------------------------


def rows(seed: int = 0) -> tuple[list[str], list[str], Vector, Vector]:
    one = World(seed, share=0.3)
    truth = np.where(one.executed, one.passed, np.nan).ravel()
    system = [f"s{k}" for k in range(4) for _ in range(TASKS)]
    task = [f"t{t}" for _ in range(4) for t in range(TASKS)]
    return system, task, one.score.ravel(), truth


def same(found: CalibratedRates, other: CalibratedRates, order: Sequence[int] = (0, 1, 2, 3)) -> None:
    places = list(order)
    assert other.rates[places] == pytest.approx(found.rates, abs=1e-9)
    assert other.covariance[np.ix_(places, places)] == pytest.approx(found.covariance, abs=1e-9)


def test_the_order_of_rows_does_not_matter() -> None:
    system, task, score, truth = rows()
    mixed = np.random.default_rng(1).permutation(len(score))
    again = calibrated_rates([system[i] for i in mixed], [task[i] for i in mixed], score[mixed], truth[mixed])
    same(calibrated_rates(system, task, score, truth), again)


def test_names_of_systems_and_tasks_do_not_matter() -> None:
    system, task, score, truth = rows()
    renamed = {"s0": "zebra", "s1": "ape", "s2": "cat", "s3": "dog"}
    again = calibrated_rates([renamed[name] for name in system], [f"x{name}!" for name in task], score, truth)
    assert again.systems == ("ape", "cat", "dog", "zebra")
    same(calibrated_rates(system, task, score, truth), again, order=(3, 0, 1, 2))


@pytest.mark.parametrize(("times", "plus"), [(1.0, 5.0), (1.0, -100.0), (10.0, 0.0), (0.01, 3.0)])
def test_the_unit_of_the_scores_does_not_matter(times: float, plus: float) -> None:
    system, task, score, truth = rows()
    plain = calibrated_rates(system, task, score, truth)
    again = calibrated_rates(system, task, times * score + plus, truth)
    assert again.rates == pytest.approx(plain.rates, abs=1e-6)
    value = plain.offset("s0").value
    assert value is not None
    assert again.offset("s0").value == pytest.approx(times * value, rel=1e-5)


def test_equal_chances_change_nothing() -> None:
    system, task, score, truth = rows()
    chance = np.full(len(score), 0.3)
    same(
        calibrated_rates(system, task, score, truth),
        calibrated_rates(system, task, score, truth, chance=chance),
    )


def test_a_difference_and_its_mirror_agree() -> None:
    found = calibrated_rates(*rows())
    one, other = found.difference("s0", "s1"), found.difference("s1", "s0")
    assert one.value == pytest.approx(-(other.value or 0.0))
    assert one.low == pytest.approx(-(other.high or 0.0))
    assert one.p_value == pytest.approx(other.p_value)
    assert one.n == 2 * TASKS


def test_offsets_sum_to_nothing() -> None:
    found = calibrated_rates(*rows())
    assert sum(found.offset(name).value or 0.0 for name in found.systems) == pytest.approx(0, abs=1e-12)


# --- edges --------------------------------------------------------------------------------------------


def test_a_system_with_few_labels_has_a_rate_without_interval() -> None:
    system, task, score, truth = rows()
    own = np.flatnonzero((np.asarray(system) == "s2") & ~np.isnan(truth))
    truth[own[2:]] = np.nan
    rate = calibrated_rates(system, task, score, truth).rate("s2")
    assert rate.value is not None
    assert rate.low is None
    assert "2 labels" in rate.note


def test_a_system_without_labels_leans_on_the_others() -> None:
    system, task, score, truth = rows()
    truth[np.asarray(system) == "s3"] = np.nan
    found = calibrated_rates(system, task, score, truth)
    assert 0 < found.rates[3] < 1
    assert found.labels[3] == 0


def test_systems_may_have_other_tasks() -> None:
    system, task, score, truth = rows()
    keep = [not (name == "s0" and int(where[1:]) % 2) for name, where in zip(system, task, strict=True)]
    found = calibrated_rates(
        [name for name, here in zip(system, keep, strict=True) if here],
        [name for name, here in zip(task, keep, strict=True) if here],
        score[keep],
        truth[keep],
    )
    assert found.rows.tolist() == [TASKS // 2, TASKS, TASKS, TASKS]


def test_a_score_that_never_moves_leaves_the_labels() -> None:
    one = World(1, share=1.0)
    one.score = np.full(one.score.shape, 0.5)
    assert one.calibrated().rates == pytest.approx(one.passed.mean(axis=1), abs=0.02)


def test_a_score_that_separates_ends_well() -> None:
    one = World(1, share=0.2)
    one.score = one.passed.copy()
    found = one.calibrated()
    assert found.rates == pytest.approx(one.passed.mean(axis=1), abs=0.03)
    assert np.isfinite(found.covariance).all()


def test_no_gap_without_passes_and_failures_of_one_system() -> None:
    found = calibrated_rates(
        ["a", "a", "b", "b"], ["x", "y", "x", "y"], [0.9, 0.8, 0.1, 0.3], [1.0, 1.0, 0.0, 0.0]
    )
    assert math.isnan(found.gap)
    assert found.offset("a").value is None
    assert "not known" in found.offset("a").note


def test_the_labels_that_separate_a_pair() -> None:
    found = World(2, share=0.15).calibrated()
    near, far = found.labels_to_separate("s1", "s2"), found.labels_to_separate("s0", "s3")
    assert far is not None
    assert near is None or near >= far
    assert far <= TASKS


def test_as_many_labels_as_told_do_separate() -> None:
    """What is promised from 15 % is about what it takes: with so many labels most such pairs are told apart."""
    told, tried = 0, 0
    for seed in range(25):
        found = World(seed, share=0.15).calibrated()
        needed = found.labels_to_separate("s0", "s3")
        if needed is None:
            continue
        tried += 1
        low = World(seed, share=min(1.0, needed / TASKS)).calibrated().difference("s3", "s0").low
        told += low is not None and low > 0
    assert tried >= 20
    assert told / tried > 0.7


# --- what to execute next -----------------------------------------------------------------------------


def test_chances_sum_to_the_labels_wanted_and_go_where_least_is_known() -> None:
    chance = chances_to_label([0.5, 0.5, 0.99, 0.01, 0.2], labels=2)
    assert chance.sum() == pytest.approx(2)
    assert chance[0] == chance[1] > chance[4] > chance[2] == pytest.approx(chance[3])
    assert (chance > 0).all()


def test_chances_are_at_most_one() -> None:
    chance = chances_to_label([0.5, 0.5, 0.99, 0.99], labels=3)
    assert chance.max() == 1.0
    assert chance.sum() == pytest.approx(3)
    assert chances_to_label([0.5, 0.4], labels=5).tolist() == [1.0, 1.0]


def test_certain_predictions_share_evenly() -> None:
    assert chances_to_label([0.0, 1.0, 1.0, 0.0], labels=2).tolist() == [0.5] * 4


# --- errors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"passed": [np.nan] * 4}, "no row has executed tests"),
        ({"passed": [1.0, np.nan, 1.0, np.nan]}, "all 2 executed rows have the same outcome, 1"),
        ({"passed": [1.0, 2.0, 0.0, 1.0]}, "outside 0 to 1"),
        ({"passed": [1.0, 0.0]}, "shape"),
        ({"score": [0.1, np.nan, 0.3, 0.2]}, "not finite"),
        ({"system": ["a", "a", "a", "a"], "task": ["w", "x", "y", "z"]}, "1 systems on 4 tasks"),
        ({"task": ["x", "x", "x", "x"], "system": ["a", "b", "c", "d"]}, "4 systems on 1 tasks"),
        ({"task": ["x", "x", "x", "y"]}, "system 'a' has two rows on one task"),
        ({"chance": [0.5, 0.5, 0.0, 0.5]}, "not within \\(0, 1\\]"),
        ({"chance": [0.5, 0.5, 1.5, 0.5]}, "not within \\(0, 1\\]"),
        ({"chance": [0.5, 0.5]}, "'chance' has shape"),
    ],
)
def test_what_cannot_be_calibrated_is_said(change: dict[str, object], said: str) -> None:
    given: dict[str, object] = {
        "system": ["a", "a", "b", "b"],
        "task": ["x", "y", "x", "y"],
        "score": [0.2, 0.8, 0.4, 0.6],
        "passed": [0.0, 1.0, np.nan, 1.0],
        **change,
    }
    with pytest.raises(DataError, match=said):
        calibrated_rates(**given)  # type: ignore[arg-type]


def test_an_unknown_system_is_named_with_those_there_are() -> None:
    with pytest.raises(DataError, match="no system 'x'") as caught:
        World(0).calibrated().rate("x")
    assert "s0, s1" in caught.value.hint
