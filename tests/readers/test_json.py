import pytest

from tests.readers._ask import BETTER, BOTH, LIST, PROCESS, SOLVED, only_reason
from voirdire.errors import UsageError
from voirdire.questions import Score
from voirdire.readers import json as json_reader

GOOD = '{"process": 3, "damage": 5}'


@pytest.mark.parametrize(
    "raw",
    [
        GOOD,
        f"\n{GOOD}\n",
        f"```json\n{GOOD}\n```",
        f"```json\r\n{GOOD}\n```\n",
        '{"damage": 5.0, "why": "it skipped {the step}", "process": 3}',
    ],
)
def test_accepted(raw: str) -> None:
    readings = json_reader.read(raw, BOTH, {})
    assert {name: reading.value for name, reading in readings.items()} == {"process": 3.0, "damage": 5.0}


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("", "empty answer"),
        ('{"process": 3, "dama', "broken JSON"),
        ('{"process": 3, "damage": 5', "broken JSON"),
        ('{"process": 3}', "no field: '/damage'"),
        ('{"process": 3, "damage": null}', "null: '/damage'"),
        ('{"process": 3, "damage": 85}', "out of range: 85 is not 0 to 10"),
        ('{"process": 3, "damage": 5.5}', "not an integer: 5.5"),
        ('{"process": 3, "damage": "5"}', "wrong type: '5' is text, not a number"),
        ('{"process": true, "damage": 5}', "wrong type: bool, not a number"),
        ('{"process": [3, 4], "damage": 5}', "wrong type: list, not a number"),
        ('{"process": NaN, "damage": 5}', "not a finite number: NaN"),
        ('{"process": -Infinity, "damage": 5}', "not a finite number: -Infinity"),
        ('{"process": 1e999, "damage": 5}', "not a finite number: inf"),
        ('{"process": 3, "damage": 5, "process": 7}', "a key given twice"),
        (f"{GOOD}\n{GOOD}", "not one JSON object alone: it is followed by"),
        (f"{GOOD} is my answer", "not one JSON object alone: it is followed by 'is my answer'"),
        (f"My answer: {GOOD}", "not one JSON object alone"),
        (f"The rubric says to answer as `{GOOD}`.", "not one JSON object alone"),
        ('{"tool": "submit", "arguments": {"process": 3, "damage": 5}}', "no field: '/process'"),
        ('{"role": "tool", "content": "{\\"process\\": 3, \\"damage\\": 5}"}', "no field: '/process'"),
        (f"[{GOOD}]", "not one JSON object alone"),
        (f"```\n{GOOD}\n```", "not one JSON object alone"),
        (f"```json\n{GOOD}\n```\n```json\n{GOOD}\n```", "not one JSON object alone"),
        (f"Here:\n```json\n{GOOD}\n```", "not one JSON object alone"),
        ("3", "not one JSON object alone"),
        ("{'process': 3, 'damage': 5}", "broken JSON"),
        ('{"process": 3, "damage": 5,}', "broken JSON"),
        ('{"process": ' + "9" * 5000 + ', "damage": 5}', "broken JSON: a number too long to be one"),
        ('{"a":' * 100_000, "broken JSON: too deep"),
        ("I'm sorry, I can't help with that.", "refusal"),
    ],
)
def test_missing_with_a_reason(raw: str, reason: str) -> None:
    assert only_reason(json_reader.read(raw, BOTH, {})).startswith(reason)


def test_pointers_lead_into_the_object() -> None:
    options = {"pointer": {"process": "/scores/0/value", "damage": "/a~1b/~0"}}
    raw = '{"scores": [{"value": 3}], "a/b": {"~": 5}}'
    assert json_reader.read(raw, BOTH, options)["damage"].value == 5.0
    raw = '{"scores": [], "a/b": {"~": 5}}'
    assert only_reason(json_reader.read(raw, BOTH, options)) == "no field: '/scores/0/value'"


def test_one_pointer_for_one_question() -> None:
    assert json_reader.read('{"rating": 4}', [PROCESS], {"pointer": "/rating"})["process"].value == 4.0


@pytest.mark.parametrize("said", ["true", '"pass"', '"Passed"'])
def test_score_and_pass_that_agree(said: str) -> None:
    raw = f'{{"process": 7, "pass": {said}}}'
    assert json_reader.read(raw, [PROCESS], {"pass_at": 7})["process"].value == 7.0


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ('{"process": 9, "pass": false}', "contradiction: process 9 and fail, but the line is 7"),
        ('{"process": 2, "pass": true}', "contradiction: process 2 and pass, but the line is 7"),
        ('{"process": 2, "pass": "maybe"}', "wrong type: 'maybe' is neither pass nor fail"),
        ('{"process": 2, "pass": null}', "null: '/pass'"),
        ('{"process": 2}', "no field: '/pass'"),
    ],
)
def test_score_and_pass_that_contradict_are_missing(raw: str, reason: str) -> None:
    assert only_reason(json_reader.read(raw, [PROCESS], {"pass_at": 7})) == reason


def test_other_kinds_of_question() -> None:
    raw = '{"solved": true, "better": "tie", "list": {"runs": "yes", "tidy": 0}}'
    readings = json_reader.read(raw, [SOLVED, BETTER, LIST], {})
    assert [readings[name].value for name in ("solved", "better", "list")] == [1.0, "tie", 0.75]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ('{"solved": 1.5, "better": "tie", "list": 1}', "out of range: 1.5 is not 0 to 1"),
        ('{"solved": "perhaps", "better": "tie", "list": 1}', "wrong type: 'perhaps' is neither yes nor no"),
        ('{"solved": true, "better": "Tie", "list": 1}', "not an option: 'Tie'"),
        ('{"solved": true, "better": 1, "list": 1}', "wrong type: int, not an option"),
        ('{"solved": true, "better": "tie", "list": {"runs": 1}}', "no answer to checklist item: 'tidy'"),
        (
            '{"solved": true, "better": "tie", "list": {"runs": 1, "tidy": 1, "x": 1}}',
            "unknown checklist item: 'x'",
        ),
    ],
)
def test_other_kinds_of_question_missing(raw: str, reason: str) -> None:
    assert only_reason(json_reader.read(raw, [SOLVED, BETTER, LIST], {})) == reason


def test_a_level_may_be_named() -> None:
    clarity = Score("clarity", "How clear?", 1, 3, ("murky", "fair", "clear"))
    assert json_reader.read('{"clarity": "clear"}', [clarity], {})["clarity"].value == 3.0
    assert only_reason(json_reader.read('{"clarity": "Clear"}', [clarity], {})).startswith("wrong type")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pointers": {}}, "no option 'pointers'"),
        ({"pointer": "/x"}, "one pointer for 2 questions"),
        ({"pointer": {"process": "x"}}, "'x' is not a JSON pointer"),
        ({"pointer": {"harm": "/x"}}, "question 'harm' that is not asked"),
        ({"pointer": {"process": "/x", "damage": "/x"}}, "read the same field"),
        ({"pointer": {"process": "/x", "damage": "/x/y"}}, "lies inside"),
        ({"pointer": 3}, "not a table"),
        ({"pass_at": 7}, "needs one score to compare, and there are 2"),
        ({"pass_at": "7", "pass_question": "process"}, "`pass_at` is not a number"),
    ],
)
def test_options_that_cannot_read_the_questions_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        json_reader.check(BOTH, options)
