"""Simultaneous ranks and letters: reference values, laws, and how often an order is claimed that is not there."""

import numpy as np
import pytest

from voirdire.errors import DataError
from voirdire.stats.rank_sets import letters, rank_sets

THETA = [1657.0, 1560.0, 1550.0, 1480.0, 1400.0]
VARIANCE = np.array([20.0, 25.0, 25.0, 22.0, 30.0]) ** 2


def test_the_reference_values() -> None:
    found = rank_sets(THETA, VARIANCE, draws=400_000)
    assert found.critical == pytest.approx(2.729, abs=0.01)
    assert found.sets == ((1, 1), (2, 4), (2, 4), (2, 5), (4, 5))
    assert found.letters == ("a", "b", "b", "bc", "c")
    assert found.tiers == ((0,), (1, 2, 3, 4))


def test_a_matrix_and_its_diagonal_say_the_same() -> None:
    one, other = rank_sets(THETA, np.diag(VARIANCE)), rank_sets(THETA, VARIANCE)
    assert one.sets == other.sets
    assert one.critical == other.critical


def test_shared_tasks_make_differences_sharper() -> None:
    shared = np.diag(VARIANCE * 0.05) + 400 * np.ones((5, 5))
    assert rank_sets(THETA, shared).sets[3] == (4, 4)


def test_what_is_below_the_tie_is_no_order() -> None:
    found = rank_sets(THETA, VARIANCE * 1e-6, tie=75.0)
    assert found.sets == ((1, 1), (2, 3), (2, 4), (3, 4), (5, 5))
    assert found.letters == ("a", "b", "bc", "c", "d")
    assert rank_sets(THETA, VARIANCE * 1e-6, tie=float("inf")).sets == ((1, 5),) * 5


def test_values_without_error_stand_as_they_are() -> None:
    found = rank_sets([3.0, 1.0, 1.0], np.zeros(3))
    assert found.sets == ((1, 1), (2, 3), (2, 3))
    assert found.letters == ("a", "b", "b")


def test_sharing_a_letter_means_not_told_apart() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        values = rng.normal(size=7)
        apart = np.abs(values[:, None] - values[None]) > rng.uniform(0.2, 1.5)
        given = letters(apart, values)
        for one in range(7):
            for other in range(one):
                assert bool(set(given[one]) & set(given[other])) is not bool(apart[one, other])


def test_an_order_that_is_not_there_is_seldom_claimed() -> None:
    rng = np.random.default_rng(1)
    covariance = np.diag([1.0, 2.0, 0.5, 1.0, 3.0]) + 0.3
    critical = rank_sets(np.zeros(5), covariance).critical
    drawn = rng.multivariate_normal(np.zeros(5), covariance, size=2000)
    claimed = sum(bool(rank_sets(one, covariance, critical=critical).above.any()) for one in drawn)
    assert 0.03 < claimed / 2000 < 0.07


@pytest.mark.parametrize(
    ("values", "covariance"), [([1.0], [1.0]), ([1.0, 2.0], [1.0]), ([1.0, 2.0], [[1.0, np.nan], [0, 1]])]
)
def test_shapes_that_do_not_fit_are_refused(values: list[float], covariance: list[float]) -> None:
    with pytest.raises(DataError):
        rank_sets(values, covariance)
