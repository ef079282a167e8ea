"""The audit of outcome ratings on tables whose truth is planted."""

from collections.abc import Callable

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.audits.outcome_ratings import (
    audit,
    by_scenario,
    comparisons,
    measurements,
    over_scenarios,
    pooled_superiority,
    standardised_difference,
)
from voirdire.blocks import FigureBlock, TableBlock
from voirdire.engine.conclude import conclude
from voirdire.errors import DataError
from voirdire.model import Ruling, Unit, VerdictTable

Rater = Callable[[int, str, int], float | None]
"""Scenario, outcome and completion to a rating."""


def table(rate: Rater, *, scenarios: int = 10, question: str = "Negligent", judge: str = "J") -> VerdictTable:
    rows = [
        {
            "judge": judge,
            "study": 1,
            "task": f"s{scenario}",
            "outcome": outcome,
            "question": question,
            "value": rate(scenario, outcome, completion),
            "repeat": completion,
        }
        for scenario in range(scenarios)
        for outcome in ("no_harm", "harm")
        for completion in range(3)
    ]
    return VerdictTable(pl.DataFrame(rows, schema_overrides={"value": pl.Float64}))


def leaking(scenario: int, outcome: str, completion: int) -> float:
    return 2.0 + scenario % 3 + 2 * (outcome == "harm") + (completion == 2)


def fair(scenario: int, outcome: str, completion: int) -> float:
    return 2.0 + scenario % 3 + (completion + (outcome == "harm")) % 3


def lenient_after_harm(scenario: int, outcome: str, completion: int) -> float:
    return 6.0 - leaking(scenario, outcome, completion) / 2


@given(st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=2, max_size=10))
def test_no_interval_leaves_the_range_that_is_possible(pairs: list[tuple[int, int]]) -> None:
    rated = table(
        lambda scenario, outcome, _: float(pairs[scenario][outcome == "harm"]), scenarios=len(pairs)
    )
    (comparison,) = comparisons(rated)
    for estimate in (
        over_scenarios(comparison),
        *by_scenario(comparison).values(),
        pooled_superiority(comparison),
    ):
        ends = (estimate.low, estimate.inner_low, estimate.value, estimate.inner_high, estimate.high)
        known = [end for end in ends if end is not None]
        assert known[0] >= 0.0
        assert known[-1] <= 1.0
        assert known == sorted(known)


def constant(scenario: int, outcome: str, completion: int) -> float:
    return 4.0


@pytest.mark.parametrize(
    ("rate", "p", "ruling"),
    [
        (leaking, 1.0, Ruling.LEAKS),
        (lenient_after_harm, 0.0, Ruling.LEAKS),
        (fair, 0.5, Ruling.UNRESOLVED),
        (constant, 0.5, Ruling.UNRESOLVED),
    ],
)
def test_a_planted_judge_gets_its_ruling(rate: Rater, p: float, ruling: Ruling) -> None:
    (finding,) = conclude(measurements(table(rate)), judge="recorded", family="test")
    assert finding.estimate is not None
    assert finding.estimate.value == pytest.approx(p)
    assert finding.ruling is ruling, finding.sentence


def test_without_a_control_nothing_is_said_to_hold() -> None:
    (finding,) = conclude(measurements(table(fair, scenarios=40)), judge="recorded", family="test")
    assert "there is no readable control" in finding.sentence


def test_the_unit_is_the_scenario_and_seven_are_too_few() -> None:
    (one,) = measurements(table(leaking, scenarios=7))
    assert one.unit is Unit.CASE
    assert (one.estimate.n, one.estimate.unit) == (7, "scenarios")
    assert "needs at least 8 scenarios, and 7 could be read" in one.withheld
    (finding,) = conclude([one], judge="recorded", family="test")
    assert finding.ruling is Ruling.UNRESOLVED


def test_scenarios_of_different_levels_blur_the_pooled_share_only() -> None:
    (one,) = comparisons(table(lambda scenario, outcome, _: float(scenario) + (outcome == "harm")))
    assert over_scenarios(one).value == 1.0
    assert (pooled_superiority(one).value or 0) < 0.7
    assert (standardised_difference(one).value or 0) < 0.5


def test_three_against_three_ratings_tie_half() -> None:
    (one,) = comparisons(table(lambda _, outcome, completion: float(completion + (outcome == "harm"))))
    assert {scenario: estimate.value for scenario, estimate in by_scenario(one).items()}[
        "s0"
    ] == pytest.approx(7 / 9)


def test_missing_ratings_are_counted_by_ending() -> None:
    def rate(scenario: int, outcome: str, completion: int) -> float | None:
        return None if outcome == "harm" and scenario < 2 else leaking(scenario, outcome, completion)

    (one,) = comparisons(table(rate))
    general = over_scenarios(one)
    assert general.n == 8
    assert general.missing == {"no harm": 0, "harm": 6}
    assert general.asked == {"no harm": 30, "harm": 30}


def test_a_judge_that_never_answered_is_unresolved() -> None:
    (finding,) = conclude(measurements(table(lambda *_: None)), judge="recorded", family="test")
    assert finding.ruling is Ruling.UNRESOLVED
    assert "no scenario has ratings of both endings" in finding.sentence


@pytest.mark.parametrize(("scale", "flagged"), [("Blame", True), ("Punish", True), ("Negligent", False)])
def test_what_should_follow_is_told_from_what_was_done(scale: str, flagged: bool) -> None:
    (one,) = measurements(table(leaking, question=scale))
    assert any("by some norms" in flag for flag in one.flags) is flagged


def test_the_overview_shows_judges_and_scenarios() -> None:
    both = VerdictTable(pl.concat([table(fair, judge="fair").frame, table(leaking).frame]))
    (finding,) = audit(both)
    tables = [block for block in finding.blocks if isinstance(block, TableBlock)]
    (figure,) = [block for block in finding.blocks if isinstance(block, FigureBlock)]
    assert [row[0] for row in tables[0].rows] == ["J", "fair"]
    assert len(tables[1].rows) == len(figure.rows) == 20
    assert {row["group"] for row in figure.rows} == {"J", "fair"}
    assert finding.ruling is None
    assert "from 0.50 (fair, study 1, Negligent) to 1.00 (J, study 1, Negligent)" in finding.sentence


def test_an_unknown_ending_is_refused() -> None:
    frame = table(fair).frame.with_columns(outcome=pl.lit("bad"))
    with pytest.raises(DataError, match="outcome is 'bad'"):
        comparisons(VerdictTable(frame))


def test_scales_that_were_not_asked_are_named() -> None:
    with pytest.raises(DataError, match=r"no rating on .*, only on \['Warmth'\]"):
        comparisons(table(fair, question="Warmth"))


def test_a_table_without_a_study_is_one_study() -> None:
    (one,) = comparisons(VerdictTable(table(fair).frame.drop("study")))
    assert one.name == "J, Negligent"
