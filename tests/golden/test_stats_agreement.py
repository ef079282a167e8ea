"""Kappa and AC1: statsmodels 0.15, scikit-learn 1.9, and irrCAC's table of two abstractors (Gwet)."""

import pytest

from voirdire.stats.agreement import cohen_kappa, gwet_ac1, raw_agreement

ABSTRACTORS = [[13, 0, 0], [0, 20, 7], [0, 4, 56]]


def test_kappa() -> None:
    estimate = cohen_kappa([[20, 5], [10, 15]])
    assert estimate.value == pytest.approx(0.4)
    assert (estimate.low, estimate.high) == pytest.approx((0.1510923, 0.6489077), abs=5e-8)


def test_prevalence_paradox() -> None:
    table = [[90, 4], [5, 1]]
    assert raw_agreement(table).value == pytest.approx(0.91)
    assert cohen_kappa(table).value == pytest.approx(0.13461538, abs=5e-9)
    assert gwet_ac1(table).value == pytest.approx((0.91 - 0.10395) / (1 - 0.10395))


def test_ac1_of_two_abstractors() -> None:
    """Its table function divides by n where we divide by n - 1: half-widths differ by the root of 99/100."""
    estimate = gwet_ac1(ABSTRACTORS)
    assert estimate.value == pytest.approx(0.84933, abs=5e-6)
    assert estimate.value is not None
    assert estimate.high is not None
    published = (0.93508 - 0.76358) / 2
    assert (estimate.high - estimate.value) * (99 / 100) ** 0.5 == pytest.approx(published, abs=1e-5)
