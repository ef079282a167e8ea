import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa

from voirdire.errors import DataError
from voirdire.stats.agreement import (
    agreement,
    agreement_table,
    cohen_kappa,
    gwet_ac1,
    margins,
    raw_agreement,
)

FIRST = ["a", "a", "b", "b", "c", "c", "c", "tie", "tie", "a"]
SECOND = ["a", "b", "b", "c", "c", "c", "c", "tie", "a", "a"]


def test_kappa_is_scikit_learns() -> None:
    table = agreement_table(FIRST, SECOND, categories=["a", "b", "c", "tie"])
    assert cohen_kappa(table).value == pytest.approx(cohen_kappa_score(FIRST, SECOND))


def test_kappa_interval_is_statsmodels() -> None:
    table = np.random.default_rng(23).integers(1, 20, (4, 4))
    found, expected = cohen_kappa(table), cohens_kappa(table)
    assert (found.low, found.high) == pytest.approx((expected.kappa_low, expected.kappa_upp))


def test_everything_about_two_raters_comes_together() -> None:
    found = agreement([[90, 4], [5, 1]])
    assert (found.raw.value, found.raw.n) == (0.91, 100)
    assert found.kappa.value == pytest.approx(0.1346, abs=5e-5)
    assert found.ac1.value == pytest.approx(0.8996, abs=5e-5)
    assert found.margins.first == pytest.approx((0.94, 0.06))
    assert found.margins.second == pytest.approx((0.95, 0.05))


def test_one_category_alone_has_no_kappa() -> None:
    estimate = cohen_kappa([[30, 0], [0, 0]])
    assert (estimate.value, estimate.low, estimate.n) == (None, None, 30)
    assert "no variation" in estimate.note
    assert gwet_ac1([[30, 0], [0, 0]]).value == 1.0


@pytest.mark.parametrize("coefficient", [cohen_kappa, gwet_ac1])
def test_perfect_agreement_is_no_certainty(coefficient: object) -> None:
    assert callable(coefficient)
    estimate = coefficient([[15, 0], [0, 15]])
    assert estimate.value == pytest.approx(1)
    assert (estimate.low, estimate.high) == (None, None)
    assert "raw agreement has one" in estimate.note
    assert raw_agreement([[15, 0], [0, 15]]).low == pytest.approx(0.8865, abs=5e-5)


def test_intervals_end_at_1() -> None:
    assert cohen_kappa([[5, 0], [1, 5]]).high == 1.0
    assert gwet_ac1([[5, 0], [1, 5]]).high == 1.0


def test_one_unit_has_no_interval() -> None:
    assert gwet_ac1([[0, 1], [0, 0]]).low is None


def test_margins_are_shares() -> None:
    assert margins([[1, 1], [0, 2]]).second == (0.25, 0.75)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[0, 0], [0, 0]], "no unit was rated by both"),
        ([[1, 2, 3], [1, 2, 3]], r"shape \(2, 3\)"),
        ([[4]], "two categories or more"),
        ([[1, -1], [0, 2]], "not a count"),
        ([[0.5, 1], [0, 2]], "not a count"),
    ],
)
def test_what_is_no_table_of_counts_is_refused(table: list[list[float]], message: str) -> None:
    for coefficient in (cohen_kappa, gwet_ac1, raw_agreement):
        with pytest.raises(DataError, match=message):
            coefficient(table)


def test_a_category_that_was_not_named_is_refused() -> None:
    with pytest.raises(DataError, match="not among the categories: 'tie'"):
        agreement_table(FIRST, SECOND, categories=["a", "b", "c"])
    with pytest.raises(DataError, match="named twice"):
        agreement_table(["a"], ["a"], categories=["a", "a"])
    with pytest.raises(DataError, match="1 ratings against 2"):
        agreement_table(["a"], ["a", "b"], categories=["a", "b"])
