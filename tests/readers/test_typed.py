import json
from typing import Any

import pytest

from tests.readers._ask import BETTER, BOTH, LIST, PROCESS, SOLVED, only_reason
from voirdire.errors import UsageError
from voirdire.model import Reading
from voirdire.questions import Choice, Question, Score
from voirdire.readers import typed

GRADE = Score("grade", "How good?", 0, 2)


def read_one(question: Question, entry: Any) -> Reading:
    raw = json.dumps({"answers": {question.id: entry}})
    return typed.read(raw, [question], {})[question.id]


def test_a_predicate_is_p_yes() -> None:
    reading = read_one(SOLVED, {"probabilities": {"no": 0.25, "yes": 0.75}, "label_mass": 0.9})
    assert reading.value == 0.75
    assert reading.label_mass == 0.9
    assert list(reading.probabilities or {}) == ["yes", "no"]


def test_a_score_is_the_expectation_over_levels_in_order() -> None:
    reading = read_one(
        GRADE, {"probabilities": {"2": 0.5, "0": 0.25, "1": 0.25}, "probability_source": "logits"}
    )
    assert reading.value == 1.25
    assert list(reading.probabilities or {}) == ["0", "1", "2"]
    assert reading.probability_source == "logits"


def test_a_choice_is_its_most_likely_option_and_a_tie_is_missing() -> None:
    assert read_one(BETTER, {"probabilities": {"first": 0.2, "second": 0.5, "tie": 0.3}}).value == "second"
    tied = read_one(BETTER, {"probabilities": {"first": 0.4, "second": 0.4, "tie": 0.2}})
    assert tied.value is None
    assert tied.missing_because == "tie between first and second"


def test_rounded_probabilities_are_divided_by_their_sum() -> None:
    reading = read_one(SOLVED, {"probabilities": {"yes": 0.66, "no": 0.33}})
    assert reading.value == pytest.approx(2 / 3)
    assert reading.probabilities == {"yes": 0.66, "no": 0.33}


def test_plain_values() -> None:
    assert read_one(PROCESS, {"value": 7.25}).value == 7.25
    assert read_one(SOLVED, {"value": True}).value == 1.0
    assert read_one(BETTER, {"value": "tie"}).value == "tie"
    assert read_one(LIST, {"value": 0.5}).value == 0.5


def test_a_checklist_is_the_weighted_mean_of_its_items() -> None:
    reading = read_one(
        LIST, {"items": {"runs": {"value": 1}, "tidy": {"probabilities": {"yes": 0.2, "no": 0.8}}}}
    )
    assert reading.value == pytest.approx((3 * 1 + 0.2) / 4)
    assert read_one(LIST, {"items": {"runs": {"value": 1}}}).missing_because == "no answer: 'tidy'"
    extra = {"items": {"runs": {"value": 1}, "tidy": {"value": 1}, "more": {"value": 1}}}
    assert read_one(LIST, extra).missing_because == "unknown checklist item: 'more'"


@pytest.mark.parametrize(("data", "option"), [(1, "1"), (0, "0"), (1.0, "1"), (True, "1"), (False, "0")])
def test_a_number_is_the_option_of_its_name_where_the_options_are_one_and_zero(
    data: object, option: str
) -> None:
    assert read_one(Choice("accepts", "Is it right?", ("1", "0")), {"value": data}).value == option


@pytest.mark.parametrize(
    ("question", "entry", "reason"),
    [
        (PROCESS, None, "no answer: 'process'"),
        (PROCESS, 7, "wrong type: the answer to 'process' is not an object"),
        (PROCESS, {}, "null: 'process' has no value"),
        (PROCESS, {"value": None}, "null: 'process' has no value"),
        (PROCESS, {"value": 85}, "out of range: 85 is not 0 to 10"),
        (PROCESS, {"value": 10**30}, "out of range: a number of more than 15 digits is not 0 to 10"),
        (PROCESS, {"value": True}, "wrong type: bool, not a number"),
        (PROCESS, {"value": "7"}, "wrong type: '7' is text, not a number"),
        (PROCESS, {"missing_because": "refusal"}, "refusal"),
        (BETTER, {"value": 1}, "wrong type: int, not an option"),
        (Choice("accepts", "Is it right?", ("1", "0")), {"value": 2}, "wrong type: int, not an option"),
        (BETTER, {"value": "third"}, "not an option: 'third'"),
        (SOLVED, {"probabilities": {"yes": 0.5}}, "wrong labels: 'solved' has the labels 'yes, no'"),
        (
            SOLVED,
            {"probabilities": {"Yes": 0.5, "No": 0.5}},
            "wrong labels: 'solved' has the labels 'yes, no'",
        ),
        (SOLVED, {"probabilities": {"yes": 0.5, "no": 0.1}}, "probabilities do not add up: their sum is 0.6"),
        (SOLVED, {"probabilities": {"yes": 1.5, "no": -0.5}}, "not a probability: '1.5'"),
        (SOLVED, {"probabilities": {"yes": True, "no": 0.0}}, "not a probability: 'True'"),
        (SOLVED, {"value": 0.1, "probabilities": {"yes": 0.9, "no": 0.1}}, "contradiction"),
        (BETTER, {"value": "tie", "probabilities": {"first": 0.9, "second": 0.1, "tie": 0}}, "contradiction"),
        (GRADE, {"value": 0, "probabilities": {"0": 0.1, "1": 0.1, "2": 0.8}}, "contradiction"),
    ],
)
def test_missing_with_a_reason(question: Question, entry: object, reason: str) -> None:
    reading = read_one(question, entry)
    assert reading.value is None
    assert (reading.missing_because or "").startswith(reason)


def test_a_score_may_state_its_likeliest_level_or_its_expectation() -> None:
    probabilities = {"0": 0.1, "1": 0.1, "2": 0.8}
    assert read_one(GRADE, {"value": 2, "probabilities": probabilities}).value == pytest.approx(1.7)
    assert read_one(GRADE, {"value": 1.7, "probabilities": probabilities}).value == pytest.approx(1.7)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("", "empty answer"),
        ('{"answers": {"process": {"value": 3}', "broken JSON"),
        ('{"answers": {"process": {"value": NaN}}}', "not a finite number: NaN"),
        ('{"process": 3}', "no field: '/answers'"),
        ('{"answers": [3]}', "no field: '/answers'"),
        ('{"answers": {}} {"answers": {}}', "not one JSON object alone"),
        ("PROCESS 3 DAMAGE 5", "not one JSON object alone"),
    ],
)
def test_what_is_not_well_formed_is_missing_as_a_whole(raw: str, reason: str) -> None:
    assert only_reason(typed.read(raw, BOTH, {})).startswith(reason)


def test_each_question_is_answered_or_missing_for_itself() -> None:
    readings = typed.read('{"answers": {"process": {"value": 3}}}', BOTH, {})
    assert readings["process"].value == 3.0
    assert readings["damage"].missing_because == "no answer: 'damage'"


def test_it_has_no_options() -> None:
    typed.check(BOTH, {})
    with pytest.raises(UsageError, match="no option 'labels'"):
        typed.check(BOTH, {"labels": {}})
