"""Best of N and correlations: every set listed, known numbers, edges."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from voirdire.errors import DataError
from voirdire.stats.best_of_n import best_of, chances_taken
from voirdire.stats.correlation import pearson, spearman


def listed(scores: list[float], n: int) -> list[float]:
    """Return the chance of each answer by listing every set; ties share."""
    taken, sets = [0.0] * len(scores), list(combinations(range(len(scores)), n))
    for chosen in sets:
        best = [one for one in chosen if scores[one] == max(scores[place] for place in chosen)]
        for one in best:
            taken[one] += 1 / len(best) / len(sets)
    return taken


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize(
    "scores", [[3.0, 1, 3, 2, 5, 0], [1.0] * 6, [1.0, 2, 3, 4, 5, 6], [0.0, 0, 1, 1, 1, 0]]
)
def test_chances_are_those_of_all_sets(scores: list[float], n: int) -> None:
    found = chances_taken(scores, n=n)
    assert found.tolist() == pytest.approx(listed(scores, n))
    assert found.sum() == pytest.approx(1)


def test_choice_chance_and_oracle_by_task() -> None:
    task = ["a"] * 3 + ["b"] * 2 + ["c"]
    found = best_of(2, task, [0.9, 0.5, 0.1, 0.2, 0.8, 0.4], [1, 0, 0, 1, 0, 1])
    assert found.tasks == 2
    assert found.chosen.tolist() == pytest.approx([2 / 3, 0.0])
    assert found.chance.tolist() == pytest.approx([1 / 3, 0.5])
    assert found.oracle.tolist() == pytest.approx([2 / 3, 1.0])


def test_one_of_one_is_chance() -> None:
    rng = np.random.default_rng(0)
    task, score, worth = rng.integers(0, 9, 60), rng.random(60), rng.integers(0, 2, 60).astype(float)
    found = best_of(1, task, score, worth)
    assert found.chosen == pytest.approx(found.chance)
    assert found.oracle == pytest.approx(found.chance)


def test_the_oracle_is_never_below_the_choice() -> None:
    rng = np.random.default_rng(1)
    task, score, worth = rng.integers(0, 9, 90), rng.random(90), rng.integers(0, 2, 90).astype(float)
    for n in (2, 3, 4):
        found = best_of(n, task, score, worth)
        assert (found.oracle >= found.chosen - 1e-12).all()
        assert found.oracle.max() <= 1.0


def test_nothing_to_choose_from() -> None:
    assert best_of(3, [], [], []).tasks == 0
    assert best_of(3, ["a", "a"], [1, 2], [0, 1]).tasks == 0
    with pytest.raises(DataError):
        best_of(0, ["a"], [1], [1])


def test_correlations_agree_with_scipy() -> None:
    rng = np.random.default_rng(2)
    one = rng.normal(size=9)
    other = one + rng.normal(size=9)
    other[3] = other[4]
    ours, theirs = pearson(one, other), pearsonr(one, other)
    assert ours.value == pytest.approx(theirs.statistic)
    assert ours.p_value == pytest.approx(theirs.pvalue)
    ends = theirs.confidence_interval(0.95)
    assert (ours.low, ours.high) == pytest.approx((ends.low, ends.high))
    ranked = spearman(one, other)
    assert ranked.value == pytest.approx(spearmanr(one, other).statistic)
    assert (ranked.low or 0.0) < (ranked.value or 0.0) < (ranked.high or 0.0)


def test_few_systems_have_no_interval_and_no_variation_no_value() -> None:
    assert pearson([1, 2, 3], [1, 2, 4]).low is None
    assert pearson([1, 1, 1], [1, 2, 4]).value is None
    perfect = pearson([1, 2, 3, 4], [2, 4, 6, 8])
    assert perfect.value == pytest.approx(1.0)
    with pytest.raises(DataError):
        pearson([1, 2], [1, 2, 3])
