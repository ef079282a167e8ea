"""Which ruling the numbers allow: every branch, and the corrections over a page."""

from dataclasses import replace
from typing import Any

import pytest

from voirdire.engine.conclude import Movement, conclude, decide, least_units, movement
from voirdire.lines import CONTROL, DAMAGE, OUTCOME, POSITION, POSITION_CONTROL
from voirdire.model import Estimate, Expectation, Measurement, Ruling, StatedRule

FORBIDS = StatedRule(permits=False, agree=10, asked=10, missing=0)
PERMITS = StatedRule(permits=True, agree=10, asked=10, missing=0)
NO_RULE = StatedRule(permits=None, agree=5, asked=10, missing=0, note="inconsistent")


def estimate(value: float, reach: float = 0.1, p: float = 0.5, **more: Any) -> Estimate:
    inner = reach * 0.8
    plain = Estimate(
        value,
        low=value - reach,
        high=value + reach,
        n=10,
        unit="repeats",
        inner_low=value - inner,
        inner_high=value + inner,
        p_value=p,
    )
    return replace(plain, **more)


MOVED = estimate(1.0, p=1e-5)
STILL = estimate(0.5)
OPEN = estimate(0.5, reach=0.5)


def measurement(
    main: Estimate, control: Estimate | None = MOVED, check: Estimate | None = MOVED
) -> Measurement:
    return Measurement(
        probe="outcome",
        subject="support",
        estimate=main,
        line=OUTCOME,
        control=control,
        control_line=CONTROL,
        control_expect=Expectation.HIGHER,
        check=check,
        check_line=DAMAGE,
        check_expect=Expectation.HIGHER,
        settles="more",
    )


@pytest.mark.parametrize(
    ("main", "p", "expected"),
    [
        (estimate(0.0), 1e-4, Ruling.LEAKS),
        (estimate(0.2), 0.01, Ruling.LEAKS),
        (estimate(0.8), 0.01, Ruling.LEAKS),
        (estimate(0.21, reach=0.3), 0.01, Ruling.UNRESOLVED),
        (estimate(0.1, reach=0.5), 0.06, Ruling.UNRESOLVED),
        (estimate(0.45), 0.5, Ruling.HOLDS),
        (estimate(0.4), 0.001, Ruling.HOLDS),
        (estimate(0.5, reach=0.5), 1.0, Ruling.UNRESOLVED),
    ],
)
def test_the_main_estimate_decides_when_control_and_check_moved(
    main: Estimate, p: float, expected: Ruling
) -> None:
    assert decide(measurement(main), p).ruling is expected


@pytest.mark.parametrize(
    ("control", "check", "expected"),
    [
        (MOVED, MOVED, Ruling.HOLDS),
        (STILL, MOVED, Ruling.BLIND),
        (OPEN, MOVED, Ruling.UNRESOLVED),
        (None, MOVED, Ruling.UNRESOLVED),
        (replace(MOVED, value=0.0), MOVED, Ruling.UNRESOLVED),
        (MOVED, STILL, Ruling.UNRESOLVED),
        (MOVED, OPEN, Ruling.UNRESOLVED),
        (MOVED, None, Ruling.UNRESOLVED),
    ],
)
def test_holds_needs_a_control_and_a_check_that_moved(
    control: Estimate | None, check: Estimate | None, expected: Ruling
) -> None:
    assert decide(measurement(estimate(0.5), control, check), 1.0).ruling is expected


def test_a_leak_outranks_a_control_that_did_not_move() -> None:
    assert decide(measurement(estimate(0.0), STILL), 1e-4).ruling is Ruling.LEAKS


@pytest.mark.parametrize(
    ("rule", "expected", "words"),
    [
        (FORBIDS, Ruling.LEAKS, "own stated rule"),
        (PERMITS, Ruling.PERMITTED, "own rule allows"),
        (NO_RULE, Ruling.LEAKS, "norm of this probe"),
        (None, Ruling.LEAKS, "norm of this probe"),
    ],
)
def test_the_stated_rule_decides_between_leak_and_permitted(
    rule: StatedRule | None, expected: Ruling, words: str
) -> None:
    decision = decide(replace(measurement(estimate(0.0)), rule=rule), 1e-4)
    assert decision.ruling is expected
    assert words in decision.why


def test_an_exact_difference_needs_no_test() -> None:
    exact = Estimate(0.0, n=1, exact=True)
    assert decide(measurement(exact), None).ruling is Ruling.LEAKS
    assert decide(measurement(replace(exact, value=0.4)), None).ruling is Ruling.HOLDS
    assert decide(measurement(replace(exact, value=0.5)), None).ruling is Ruling.HOLDS


def test_without_a_margin_nothing_holds() -> None:
    unbounded = replace(measurement(estimate(0.5)), line=replace(OUTCOME, margin=None))
    assert decide(unbounded, 1.0).ruling is Ruling.UNRESOLVED


def test_nothing_readable_is_unresolved_with_its_reason() -> None:
    decision = decide(measurement(Estimate(None, note="all refused")), None)
    assert decision.ruling is Ruling.UNRESOLVED
    assert decision.why == "all refused"


@pytest.mark.parametrize(
    ("n", "unit", "said"),
    [
        (1, "cases", "1 case"),
        (3, "cases", "3 cases"),
        (1, "repeats of each version", "1 repeat of each version"),
        (1, "pair of answers", "1 pair of answers"),
        (1000, "items", "1,000 items"),
        (0, "items", "0 items"),
    ],
)
def test_one_unit_is_named_in_the_singular(n: int, unit: str, said: str) -> None:
    [finding] = conclude([measurement(estimate(0.5, n=n, unit=unit))], judge="j", family="page")
    assert f"n = {said};" in finding.sentence


def test_too_few_cases_withhold_the_ruling_whatever_the_numbers() -> None:
    decision = decide(replace(measurement(estimate(0.0)), withheld="needs at least 8"), 1e-9)
    assert decision.ruling is Ruling.UNRESOLVED
    assert decision.why == "needs at least 8"


def test_unevenly_missing_answers_undo_a_ruling_that_they_could_overturn() -> None:
    uneven: dict[str, Any] = {"missing": {"base": 0, "variant": 5}, "asked": {"base": 10, "variant": 10}}
    leak = estimate(0.1, bounds=(0.05, 0.55), **uneven)
    hold = estimate(0.5, bounds=(0.1, 0.9), **uneven)
    assert decide(measurement(leak), 1e-4).ruling is Ruling.UNRESOLVED
    assert decide(measurement(hold), 1.0).ruling is Ruling.UNRESOLVED
    safe = estimate(0.1, bounds=(0.05, 0.3), **uneven)
    assert decide(measurement(safe), 1e-4).ruling is Ruling.LEAKS
    finding = conclude([measurement(safe)], judge="f" * 64, family="test")[0]
    assert "5 of 10 variant" in finding.flags[0]
    assert "0.05 to 0.30" in finding.flags[0]


def test_evenly_missing_answers_are_not_flagged() -> None:
    even: dict[str, Any] = {"missing": {"base": 5, "variant": 5}, "asked": {"base": 10, "variant": 10}}
    one = measurement(estimate(0.1, p=1e-4, bounds=(0.0, 1.0), **even))
    finding = conclude([one], judge="f" * 64, family="test")[0]
    assert finding.ruling is Ruling.LEAKS
    assert finding.flags == ()


def test_holm_runs_over_the_whole_page() -> None:
    borderline = measurement(estimate(0.1, p=0.03))
    assert conclude([borderline], judge="j", family="page")[0].ruling is Ruling.LEAKS
    findings = conclude([borderline, measurement(estimate(0.5, p=1.0))], judge="j", family="page")
    assert findings[0].p_adjusted == pytest.approx(0.06)
    assert findings[0].ruling is Ruling.UNRESOLVED
    assert {finding.family_size for finding in findings} == {2}


def test_exact_differences_take_no_share_of_the_correction() -> None:
    exact = measurement(Estimate(0.0, n=1, exact=True))
    findings = conclude([measurement(estimate(0.1, p=0.03)), exact], judge="j", family="page")
    assert findings[0].p_adjusted == pytest.approx(0.03)
    assert findings[1].p_adjusted is None


@pytest.mark.parametrize(
    ("main", "p", "expected"),
    [
        (estimate(1.0), 1e-4, Ruling.HOLDS),
        (estimate(0.0), 1e-4, Ruling.LEAKS),
        (estimate(0.5), 1.0, Ruling.LEAKS),
        (estimate(0.6, reach=0.4), 0.3, Ruling.UNRESOLVED),
    ],
)
def test_a_contrast_that_must_move_holds_only_when_it_moves(
    main: Estimate, p: float, expected: Ruling
) -> None:
    assert decide(replace(measurement(main), expect=Expectation.HIGHER), p).ruling is expected


def test_movement_needs_direction_and_distance() -> None:
    assert movement(MOVED, CONTROL, Expectation.HIGHER) is Movement.MOVED
    assert movement(MOVED, CONTROL, Expectation.LOWER) is Movement.UNKNOWN
    assert movement(estimate(0.6, p=0.001), CONTROL, Expectation.HIGHER) is Movement.STILL
    assert movement(None, CONTROL, Expectation.HIGHER) is Movement.ABSENT


def test_the_sentence_names_subject_ruling_number_and_reason() -> None:
    finding = conclude([measurement(estimate(0.05, p=1e-4))], judge="j", family="page")[0]
    assert finding.sentence.startswith("outcome, support: leaks.")
    assert "P(superiority) of the harm version 0.05 [-0.05, 0.15], n = 10 repeats" in finding.sentence


def test_only_an_open_finding_says_what_would_settle_it() -> None:
    findings = conclude([measurement(estimate(0.5)), measurement(OPEN)], judge="j", family="page")
    assert [finding.settles for finding in findings] == ["", "more"]


def test_few_items_cannot_show_that_nothing_moves_however_narrow_the_interval() -> None:
    narrow = Estimate(
        0.0, low=-0.01, high=0.01, n=21, inner_low=-0.01, inner_high=0.01, p_value=1.0, unit="items"
    )
    control = Estimate(-0.5, low=-0.6, high=-0.4, n=21, inner_low=-0.6, inner_high=-0.4, p_value=1e-6)
    one = Measurement(
        probe="position",
        subject="judge",
        estimate=narrow,
        line=POSITION,
        control=control,
        control_line=POSITION_CONTROL,
        control_expect=Expectation.LOWER,
    )
    assert least_units(POSITION) == 22
    decision = decide(one, 1.0)
    assert decision.ruling is Ruling.UNRESOLVED
    assert "fewer than 22 items" in decision.why
    assert decide(replace(one, estimate=replace(narrow, n=22)), 1.0).ruling is Ruling.HOLDS


def test_a_control_on_few_items_is_not_called_still() -> None:
    still = Estimate(0.0, low=-0.01, high=0.01, n=10, inner_low=-0.01, inner_high=0.01, p_value=1.0)
    assert movement(still, POSITION_CONTROL, Expectation.LOWER) is Movement.UNKNOWN
    assert movement(replace(still, n=30), POSITION_CONTROL, Expectation.LOWER) is Movement.STILL
