import pytest

from tests.readers._ask import BETTER, BOTH, LIST, PROCESS, SOLVED, only_reason
from voirdire.errors import UsageError
from voirdire.readers import exact

VERDICT = {"words": {"CORRECT": 1, "INCORRECT": 0}}


def test_the_whole_answer_is_the_word() -> None:
    assert exact.read(" CORRECT\n", [SOLVED], VERDICT)["solved"].value == 1.0
    assert exact.read("INCORRECT", [SOLVED], VERDICT)["solved"].value == 0.0


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("", "empty answer"),
        ("COR", "not one of CORRECT, INCORRECT"),
        ("correct", "not one of CORRECT, INCORRECT"),
        ("CORRECT.", "not one of CORRECT, INCORRECT"),
        ("NOT CORRECT", "not one of CORRECT, INCORRECT"),
        ("CORRECT INCORRECT", "not one of CORRECT, INCORRECT"),
        ("CORRECT\nINCORRECT", "not one of CORRECT, INCORRECT"),
        ("The answer is CORRECT", "not one of CORRECT, INCORRECT"),
        ("I won't grade this answer.", "refusal"),
    ],
)
def test_missing_with_a_reason(raw: str, reason: str) -> None:
    assert only_reason(exact.read(raw, [SOLVED], VERDICT)) == reason


def test_incorrect_is_never_read_as_correct() -> None:
    only_correct = {"words": {"CORRECT": 1, "WRONG": 0}}
    assert only_reason(exact.read("INCORRECT", [SOLVED], only_correct)) == "not one of CORRECT, WRONG"


def test_case_and_a_full_stop_only_where_the_options_say_so() -> None:
    options = {**VERDICT, "case_sensitive": False, "trailing_period": True}
    assert exact.read("Incorrect.", [SOLVED], options)["solved"].value == 0.0
    assert exact.read("correct", [SOLVED], options)["solved"].value == 1.0
    assert only_reason(exact.read("correct..", [SOLVED], options)).startswith("not one of")


def test_words_default_to_what_the_question_offers() -> None:
    assert exact.read("tie", [BETTER], {})["better"].value == "tie"
    assert exact.read("yes", [SOLVED], {})["solved"].value == 1.0
    assert exact.read("10", [PROCESS], {})["process"].value == 10.0
    assert only_reason(exact.read("11", [PROCESS], {})).startswith("not one of 0, 1")
    assert only_reason(exact.read("1 0", [PROCESS], {})).startswith("not one of 0, 1")


def test_words_may_stand_for_options() -> None:
    letters = {"words": {"A": "first", "B": "second", "C": "tie"}}
    assert exact.read("B", [BETTER], letters)["better"].value == "second"


@pytest.mark.parametrize(
    ("questions", "options", "message"),
    [
        (BOTH, {}, "one word as the answer to one question"),
        ([LIST], {}, "one word as the answer to one question"),
        ([SOLVED], {"words": {"yes": 2, "no": 0}}, "out of range: 2 is not 0 to 1"),
        ([BETTER], {"words": {"A": "third", "B": "first"}}, "not an option: 'third'"),
        ([SOLVED], {"words": {"yes": 1}}, "two or more distinct words"),
        ([SOLVED], {"words": {"yes": 1, "Yes": 0}, "case_sensitive": False}, "two or more distinct words"),
        ([SOLVED], {"case_sensitiv": True}, "no option 'case_sensitiv'"),
        ([SOLVED], {"trailing_period": "yes"}, "neither true nor false"),
    ],
)
def test_options_that_cannot_read_the_question_are_refused(
    questions: list[object], options: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        exact.check(questions, options)  # type: ignore[arg-type]
