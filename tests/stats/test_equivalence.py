import numpy as np
import pytest
from statsmodels.stats.weightstats import ttost_paired

from voirdire.errors import DataError
from voirdire.lines import Line
from voirdire.model import Estimate
from voirdire.stats.equivalence import (
    Equivalence,
    equivalence,
    scores_needed_for_superiority_margin,
    settling,
    tost_mean_p,
    units_needed,
    unmoved_units_needed,
)
from voirdire.stats.paired import paired_mean

LINE = Line(quantity="shift", null=0.5, leak=0.3, margin=0.3, reason="for the test")


def seen(value: float, reach: float, *, n: int = 20) -> Estimate:
    inner = reach * 1.645 / 1.96
    return Estimate(
        value=value,
        low=value - reach,
        high=value + reach,
        n=n,
        inner_low=value - inner,
        inner_high=value + inner,
    )


@pytest.mark.parametrize(
    ("estimate", "expected"),
    [
        (seen(0.5, 0.2), Equivalence.INSIDE),
        (seen(0.5, 0.4), Equivalence.UNDECIDED),
        (seen(0.05, 0.1), Equivalence.BEYOND),
        (seen(0.95, 0.1), Equivalence.BEYOND),
        (seen(0.25, 0.1), Equivalence.UNDECIDED),
        (Estimate(value=0.6, exact=True), Equivalence.INSIDE),
        (Estimate(value=0.8, exact=True), Equivalence.BEYOND),
        (Estimate(value=0.5), Equivalence.UNDECIDED),
        (Estimate(value=None, exact=True), Equivalence.UNDECIDED),
    ],
)
def test_three_answers(estimate: Estimate, expected: Equivalence) -> None:
    assert equivalence(estimate, null=0.5, margin=0.3) is expected


def test_touching_the_margin_is_not_inside() -> None:
    touching = Estimate(value=0.0, inner_low=-0.1, inner_high=0.25)
    assert equivalence(touching, null=0.0, margin=0.25) is Equivalence.UNDECIDED


def test_tost_is_statsmodels() -> None:
    differences = np.random.default_rng(24).normal(0.1, 1, 40)
    expected, _, _ = ttost_paired(differences, np.zeros(40), -0.4, 0.4)
    assert tost_mean_p(differences, margin=0.4) == pytest.approx(expected)


def test_absence_of_significance_is_not_equivalence() -> None:
    few = [0.3, -0.4, 0.2, -0.1]
    assert (paired_mean(few).p_value or 0) > 0.5
    assert tost_mean_p(few, margin=0.1) > 0.25


def test_tost_needs_spread_and_a_margin() -> None:
    with pytest.raises(DataError, match="all differences are equal"):
        tost_mean_p([0.0, 0.0, 0.0], margin=0.1)
    with pytest.raises(DataError, match="a margin of 0 is none"):
        tost_mean_p([0.0, 1.0], margin=0.0)


def test_units_out_of_reach_are_none() -> None:
    assert units_needed(1.0, 1e-9) is None
    assert units_needed(0.0, 0.1) == 2
    assert units_needed(1.0, 0.2, 0.95) == 99


def test_thirty_unmoved_cases_hold_a_margin_of_a_tenth() -> None:
    assert unmoved_units_needed(1.0, 0.1) == 22
    assert unmoved_units_needed(1.0, 0.1, 0.95) == 29
    with pytest.raises(DataError, match="holds every difference"):
        unmoved_units_needed(0.2, 0.3)


def test_a_shift_inside_the_line_can_only_come_to_hold() -> None:
    found = settling(seen(0.4, 0.3), LINE)
    assert found.to_reject is None
    assert found.to_hold == int(20 * (0.3 * 1.645 / 1.96 / 0.2) ** 2) + 1
    assert found.further == found.to_hold - 20


def test_a_shift_beyond_the_line_can_only_come_to_be_rejected() -> None:
    found = settling(seen(0.1, 0.5), LINE)
    assert found.to_hold is None
    assert found.to_reject == int(20 * (0.5 / 0.4) ** 2) + 1
    family = settling(seen(0.1, 0.5), LINE, alpha=0.05 / 4)
    assert family.to_reject is not None
    assert family.to_reject > found.to_reject


def test_what_is_settled_already_needs_no_more() -> None:
    assert settling(seen(0.5, 0.1), LINE).further == 0


@pytest.mark.parametrize(
    "estimate", [Estimate(value=0.5, exact=True, n=5), Estimate(value=None, n=5), Estimate(value=0.5, n=5)]
)
def test_without_an_interval_nothing_is_known_of_more_units(estimate: Estimate) -> None:
    assert settling(estimate, LINE).further is None


def test_without_a_margin_nothing_can_come_to_hold() -> None:
    line = Line(quantity="shift", null=0.5, leak=0.3, margin=None, reason="for the test")
    assert settling(seen(0.4, 0.3), line).further is None


def test_the_number_given_does_settle_it() -> None:
    differences = np.random.default_rng(25).normal(0.02, 0.5, 30)
    line = Line(quantity="shift", null=0.0, leak=0.1, margin=0.1, reason="for the test")
    found = settling(paired_mean(differences), line)
    assert found.to_hold is not None
    more = np.tile(differences, found.to_hold // 30 + 2)
    assert equivalence(paired_mean(more), null=0.0, margin=0.1) is Equivalence.INSIDE


def test_impossible_plans_are_refused() -> None:
    with pytest.raises(DataError, match="make no plan"):
        scores_needed_for_superiority_margin(0.6)
    with pytest.raises(DataError, match="standard deviation of -1"):
        units_needed(-1.0, 0.1)
