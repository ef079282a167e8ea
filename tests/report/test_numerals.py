"""Numbers as they are printed."""

import math

import pytest

from voirdire.report import numerals


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.15, "0.150"),
        (-0.0004, "0.000"),
        (-0.25, "−0.250"),
        (61, "61"),
        (412_300, "412,300"),
        (-3, "−3"),
        (12.345, "12.3"),
        (12_345.6, "12,346"),
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "–"),
    ],
)
def test_number(value: float | None, text: str) -> None:
    assert numerals.number(value) == text


def test_probability_is_never_an_exact_zero() -> None:
    assert [numerals.probability(p) for p in (0.0, 0.0004, 0.05, 1.0, None)] == [
        "< 0.001",
        "< 0.001",
        "0.050",
        "1.000",
        "–",
    ]


def test_money_says_where_no_price_is_known() -> None:
    assert [numerals.dollars(m) for m in (None, 0.0, 0.4132, 0.00042)] == [
        "no price known",
        "$0.00",
        "$0.41",
        "$0.00042",
    ]


def test_time_has_the_units_that_fit() -> None:
    assert [numerals.duration(s) for s in (0.4, 94.2, 7_260)] == ["0.4 s", "1 min 34 s", "2 h 1 min"]


def test_words() -> None:
    assert numerals.listing([]) == ""
    assert numerals.listing(["a", "b", "c"]) == "a, b and c"
    assert numerals.counted(1, "case") == "1 case"
    assert numerals.counted(2, "case") == "2 cases"
    assert numerals.share(1, 3) == "33.3 %"
    assert numerals.share(0, 0) == "–"
    assert numerals.interval(0.1, None) == "–"


def test_a_moment_is_told_to_the_minute_and_anything_else_as_it_stands() -> None:
    assert numerals.moment("2026-11-30T23:33:40+00:00") == "2026-11-30 23:33 UTC"
    assert numerals.moment("2026-11-30T23:33:40") == "2026-11-30 23:33"
    assert numerals.moment("last week") == "last week"
    assert numerals.moment("") == ""
