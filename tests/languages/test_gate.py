"""The gate: what cannot be accepted, under every reading, and what it does to verdicts and truths."""

import pytest

from voirdire.errors import UsageError
from voirdire.languages.fences import Reading
from voirdire.languages.gate import (
    compare_readings,
    contradicts,
    gate,
    gate_all,
    gated,
    kinds,
    truth_with_parse,
)
from voirdire.languages.parsing import parse
from voirdire.model import GroundTruth, TruthSource, TruthStatus

ANSWERS = [
    "```python\nx = 1\n```",
    "```python\nx = 1\n```\nOutput:\n```\nthe result: 1\n```",
    "```python\nx = 1)\n```",
    "no code at all",
    "```python\n\n```",
]


def test_empty_code_and_code_that_does_not_parse_cannot_be_accepted() -> None:
    assert [one.accepted for one in gate_all(ANSWERS)] == [True, False, False, False, False]
    assert [one.accepted for one in gate_all(ANSWERS, reading=Reading.ANY)] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert [one.accepted for one in gate_all(ANSWERS, reading=Reading.LAST_TAGGED)] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_a_refusal_says_why_with_its_line() -> None:
    refused = gate("x = 1\ny = 2)\n", reading=Reading.WHOLE)
    assert refused.why == "extra closing bracket, line 2: y = 2)"
    assert gate("x = 1", reading=Reading.WHOLE).why == ""
    assert gate("", reading=Reading.WHOLE).why == "empty"


def test_the_gate_lets_pass_what_parses_and_could_not_run() -> None:
    assert gate("return 1", reading=Reading.WHOLE).accepted
    assert gate("import nothing_of_this_name", reading=Reading.WHOLE).accepted


def test_readings_are_compared_on_the_same_answers() -> None:
    shares = compare_readings(ANSWERS)
    assert shares.n == 5
    assert dict(shares.parsing) == {Reading.LAST: 1, Reading.LAST_TAGGED: 2, Reading.FIRST: 2, Reading.ANY: 2}
    assert shares.changed[Reading.ANY] == 1
    assert shares.differing == (1,)


def test_verdicts_behind_the_gate() -> None:
    assert gated([1.0, 1.0, 0.0, None, None], [True, False, True, True, False]) == [1.0, 0.0, 0.0, None, 0.0]
    with pytest.raises(UsageError, match="2 verdicts for 1"):
        gated([1.0, 0.0], [True])


def test_kinds_are_counted_most_frequent_first() -> None:
    said = [parse(code) for code in ("x", "x)", "y)", "")]
    assert next(iter(kinds(said).items())) == ("extra closing bracket", 2)


def test_a_failure_of_what_does_not_parse_is_unparsable_and_a_pass_is_a_contradiction() -> None:
    broken, good = parse("x = ("), parse("x = 1")
    failed, passed = (
        GroundTruth(TruthSource.TESTS, status) for status in (TruthStatus.FAILED, TruthStatus.PASSED)
    )
    changed = truth_with_parse(failed, broken)
    assert changed is not None
    assert changed.status is TruthStatus.UNPARSABLE
    assert truth_with_parse(failed, good) == failed
    assert truth_with_parse(passed, broken) == passed
    assert truth_with_parse(None, broken) is None
    assert contradicts(passed, broken)
    assert not contradicts(failed, broken)
    assert not contradicts(passed, good)
