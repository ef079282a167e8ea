"""Paired means and proportions.

Means: 40 problems with 20 samples each, Pass@5 differences, by scipy 1.17 and arch 8.0. Proportions: McNemar by
statsmodels 0.15; Tango's interval for two data sets of Fagerland, Lydersen and Laake, Statistical Analysis of
Contingency Tables (2017), chapter 8, as their R package prints them.
"""

from math import comb

import numpy as np
import pytest

from voirdire.stats.bootstrap import BootstrapInterval, bootstrap_means, draw
from voirdire.stats.equivalence import tost_mean_p
from voirdire.stats.paired import (
    McNemarTest,
    mcnemar_exact_p,
    mcnemar_mid_p,
    paired_mean,
    paired_proportion,
    paired_proportion_interval,
)
from voirdire.stats.quantiles import t_critical

# fmt: off
FIRST = [16, 4, 0, 8, 5, 8, 9, 20, 0, 9, 14, 0, 12, 20, 18, 1, 2, 5, 2, 11,
         16, 8, 14, 13, 0, 13, 1, 11, 14, 11, 0, 11, 2, 0, 1, 8, 6, 3, 0, 18]
SECOND = [16, 0, 0, 4, 5, 8, 3, 17, 0, 8, 10, 0, 13, 19, 12, 0, 0, 4, 0, 10,
          16, 6, 14, 10, 0, 12, 0, 11, 6, 12, 0, 7, 3, 0, 0, 5, 6, 0, 0, 19]
# fmt: on
PASS_AT_5 = [1 - comb(20 - right, 5) / comb(20, 5) for right in range(21)]
DIFFERENCES = np.array([PASS_AT_5[a] - PASS_AT_5[b] for a, b in zip(FIRST, SECOND, strict=True)])
HALF_POINTS = np.array([0, 0, 1, 0, -1, 0, 0, 1, 0, 0, 0, -1, 0, 0, 0, 0, 0, 1, 0, 0]) * 0.5


def test_t_interval() -> None:
    estimate = paired_mean(DIFFERENCES)
    assert estimate.value == pytest.approx(0.0995485, abs=5e-8)
    assert (estimate.low, estimate.high) == pytest.approx((0.0402912, 0.1588058), abs=5e-8)
    assert estimate.value is not None
    assert estimate.high is not None
    assert (estimate.high - estimate.value) / t_critical(0.95, 39) == pytest.approx(0.02929627, abs=5e-9)


def test_cluster_standard_error() -> None:
    estimate = paired_mean(DIFFERENCES, clusters=np.repeat(np.arange(10), 4))
    assert estimate.value is not None
    assert estimate.high is not None
    assert (estimate.high - estimate.value) / t_critical(0.95, 9) == pytest.approx(0.02671675, abs=5e-9)
    assert estimate.unit == "item in 10 clusters"


@pytest.mark.parametrize(
    ("interval", "low", "high", "within"),
    [
        (BootstrapInterval.PERCENTILE, 0.0466, 0.1596, 0.002),
        (BootstrapInterval.BASIC, 0.0395, 0.1525, 0.002),
        (BootstrapInterval.BCA, 0.0535, 0.1710, 0.002),
        (BootstrapInterval.STUDENTIZED, 0.0501, 0.1806, 0.005),
    ],
)
def test_bootstrap_intervals(interval: BootstrapInterval, low: float, high: float, within: float) -> None:
    (estimate,) = bootstrap_means(DIFFERENCES, draw(40, seed=1, resamples=20_000), interval=interval)
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=within)


def test_two_one_sided_tests() -> None:
    assert tost_mean_p(DIFFERENCES, margin=0.15) == pytest.approx(0.04648615, abs=5e-9)
    assert tost_mean_p(HALF_POINTS, margin=0.3) == pytest.approx(5.96e-05, abs=5e-8)


def test_mcnemar_5_against_14() -> None:
    assert mcnemar_exact_p(5, 14) == pytest.approx(0.06356812, abs=5e-9)
    assert mcnemar_mid_p(5, 14) == pytest.approx(0.04138947, abs=5e-9)
    assert paired_proportion(5, 14, 101).p_value == mcnemar_mid_p(5, 14)
    assert paired_proportion(5, 14, 101, test=McNemarTest.EXACT).p_value == mcnemar_exact_p(5, 14)


def test_complete_response_before_and_after_treatment() -> None:
    estimate = paired_proportion(6, 16, 139)
    assert estimate.value == pytest.approx(-0.0621, abs=5e-5)
    assert (estimate.low, estimate.high) == pytest.approx((-0.1240, -0.0054), abs=5e-5)
    assert estimate.p_value == pytest.approx(0.034690, abs=5e-7)


def test_airway_hyper_responsiveness_before_and_after_transplantation() -> None:
    assert paired_proportion_interval(1, 7, 21, level=0.95) == pytest.approx((-0.517, -0.026), abs=5e-4)
