"""How often our intervals cover and our tests err, over thousands of simulated judges.

Every bound allows for three standard errors of the simulation itself.
"""

from math import comb

import numpy as np
import pytest

from voirdire.model import Estimate
from voirdire.stats.bootstrap import BootstrapInterval, bootstrap_means, draw
from voirdire.stats.cases import superiority_over_cases
from voirdire.stats.paired import paired_mean, paired_proportion
from voirdire.stats.proportion import clopper_pearson, wilson
from voirdire.stats.sequence import anytime_p, confidence_path
from voirdire.stats.superiority import probability_of_superiority, superiority_of_distributions

pytestmark = pytest.mark.slow

JUDGES = 2_000
SLACK = 3 * (0.05 * 0.95 / JUDGES) ** 0.5
"""0.0146: what a true rate of 0.05 may show by chance."""

SCALE = np.arange(11)
CALM, ROUGH, HIGH = (
    np.exp(-0.5 * ((SCALE - centre) / spread) ** 2) for centre, spread in ((4, 0.7), (4, 2.5), (6, 1.5))
)


def covers(found: Estimate, truth: float) -> bool:
    assert found.low is not None
    assert found.high is not None
    return found.low - 1e-9 <= truth <= found.high + 1e-9


def inner_covers(found: Estimate, truth: float) -> bool:
    assert found.inner_low is not None
    assert found.inner_high is not None
    return found.inner_low - 1e-9 <= truth <= found.inner_high + 1e-9


@pytest.mark.parametrize(("base", "variant"), [(CALM, CALM), (ROUGH, ROUGH), (CALM, HIGH), (ROUGH, HIGH)])
@pytest.mark.parametrize("repeats", [10, 30])
def test_superiority_of_repeats(base: np.ndarray, variant: np.ndarray, repeats: int) -> None:
    low_arm, high_arm = base / base.sum(), variant / variant.sum()
    truth = superiority_of_distributions(low_arm, high_arm).value
    assert truth is not None
    generator = np.random.default_rng(30)
    found = [
        probability_of_superiority(
            generator.choice(SCALE, repeats, p=low_arm), generator.choice(SCALE, repeats, p=high_arm)
        )
        for _ in range(JUDGES)
    ]
    assert np.mean([covers(estimate, truth) for estimate in found]) >= 0.95 - SLACK
    assert np.mean([inner_covers(estimate, truth) for estimate in found]) >= 0.90 - 0.02
    if base is variant:
        assert np.mean([(estimate.p_value or 1) <= 0.05 for estimate in found]) <= 0.05 + SLACK


@pytest.mark.parametrize("cases", [8, 20])
def test_superiority_over_cases_that_differ(cases: int) -> None:
    generator = np.random.default_rng(31)
    found = [superiority_over_cases(generator.beta(3, 3, cases)) for _ in range(JUDGES)]
    assert np.mean([covers(estimate, 0.5) for estimate in found]) >= 0.95 - SLACK
    assert np.mean([(estimate.p_value or 1) <= 0.05 for estimate in found]) <= 0.05 + SLACK


@pytest.mark.parametrize("moved", [0.0, 0.02, 0.05, 0.2, 0.5])
@pytest.mark.parametrize("units", [8, 30])
def test_rare_moves_are_not_missed_by_an_interval_of_zero_width(moved: float, units: int) -> None:
    """A share of units moves by the whole span, up three times as often as down; the rest never does."""
    generator = np.random.default_rng(32)
    truth = moved * 0.5
    signs = generator.choice([1.0, -1.0], p=[0.75, 0.25], size=(JUDGES, units))
    moves = (generator.random((JUDGES, units)) < moved) * signs
    means = [paired_mean(row, span=1.0) for row in moves]
    counts = [
        paired_proportion(int((row > 0).sum()), int((row < 0).sum()), int((row == 0).sum())) for row in moves
    ]
    assert np.mean([covers(estimate, truth) for estimate in counts]) >= 0.93 - SLACK
    assert np.mean([covers(estimate, truth) for estimate in means]) >= 0.93 - SLACK


def damaged_pass_at_8(units: int, generator: np.random.Generator) -> np.ndarray:
    """Differences in Pass@8 of 32 samples where 15 % of problems lose four fifths of their success rate."""
    solved = generator.beta(0.3, 0.7, units)
    kept = np.where(generator.random(units) < 0.15, solved * 0.2, solved)
    pass_at_8 = np.array([1 - comb(32 - right, 8) / comb(32, 8) for right in range(33)])
    return np.asarray(pass_at_8[generator.binomial(32, solved)] - pass_at_8[generator.binomial(32, kept)])


def test_t_interval_covers_where_the_bootstrap_falls_short() -> None:
    generator = np.random.default_rng(33)
    truth = float(damaged_pass_at_8(400_000, np.random.default_rng(99)).mean())
    judges = JUDGES // 2
    covered = dict.fromkeys(("t", "percentile"), 0)
    for judge in range(judges):
        differences = damaged_pass_at_8(30, generator)
        (resampled,) = bootstrap_means(
            differences,
            draw(30, seed=judge, resamples=1_000),
            interval=BootstrapInterval.PERCENTILE,
        )
        covered["t"] += covers(paired_mean(differences, span=1.0), truth)
        covered["percentile"] += covers(resampled, truth) if resampled.low is not None else 0
    assert covered["t"] / judges >= 0.95 - 3 * (0.05 * 0.95 / judges) ** 0.5
    assert covered["percentile"] / judges <= covered["t"] / judges - 0.015


def test_clusters_cover_where_single_units_do_not() -> None:
    generator = np.random.default_rng(34)
    clusters = np.repeat(np.arange(12), 6)
    clustered = plain = 0
    judges = JUDGES // 4
    for _ in range(judges):
        differences = np.repeat(generator.normal(0, 1, 12), 6) + generator.normal(0, 1, 72)
        clustered += covers(paired_mean(differences, clusters=clusters), 0.0)
        plain += covers(paired_mean(differences), 0.0)
    assert clustered / judges >= 0.95 - 0.03
    assert plain / judges < 0.80


@pytest.mark.parametrize("rate", [0.02, 0.3, 0.5])
def test_proportions(rate: float) -> None:
    hits = np.random.default_rng(35).binomial(40, rate, JUDGES).tolist()
    assert np.mean([covers(clopper_pearson(seen, 40), rate) for seen in hits]) >= 0.95 - SLACK
    assert np.mean([covers(wilson(seen, 40), rate) for seen in hits]) >= 0.93 - SLACK


@pytest.mark.parametrize("rate", [0.5, 0.8, 0.97])
def test_sequences_cover_at_every_look(rate: float) -> None:
    generator = np.random.default_rng(36)
    missed = rejected = 0
    for _ in range(500):
        observations = (generator.random(80) < rate).astype(float)
        path = confidence_path(observations, points=201)
        missed += bool((path.low > rate).any() or (path.high < rate).any())
        rejected += anytime_p(observations, null=rate) <= 0.05
    assert missed / 500 <= 0.05 + 0.03
    assert rejected / 500 <= 0.05 + 0.03


def test_a_leak_of_015_is_found_by_ten_repeats() -> None:
    generator = np.random.default_rng(37)
    rejected = sum(
        (
            probability_of_superiority(
                generator.choice([2, 3], 10, p=[0.8, 0.2]), generator.choice([1, 2], 10, p=[0.6, 0.4])
            ).p_value
            or 1
        )
        <= 0.05
        for _ in range(JUDGES)
    )
    assert rejected / JUDGES > 0.80
