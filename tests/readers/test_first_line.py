import pytest

from tests.readers._ask import BETTER, BOTH, LIST, PROCESS, SOLVED, only_reason
from voirdire.errors import UsageError
from voirdire.readers import first_line

LABELS = {"labels": {"process": "PROCESS", "damage": "DAMAGE"}}
NO_LINE = "no line 'PROCESS <integer> DAMAGE <integer>'"


@pytest.mark.parametrize(
    "raw",
    [
        "PROCESS 3 DAMAGE 5",
        "PROCESS: 3, DAMAGE: 5",
        "PROCESS=3; DAMAGE=5",
        "DAMAGE 5 | PROCESS 3",
        "PROCESS [[3]] DAMAGE [[ 5 ]]",
        "\n\n  PROCESS 3\tDAMAGE 5.  \r\nThe step was skipped.",
        "PROCESS 3 DAMAGE 5\nThe whole PROCESS was hasty; a PROCESS 7 would need the snapshot.",
        "PROCESS 3 DAMAGE 5\nPROCESS: 3, because the step was skipped.\n**DAMAGE:** 5",
    ],
)
def test_accepted(raw: str) -> None:
    readings = first_line.read(raw, BOTH, LABELS)
    assert {name: reading.value for name, reading in readings.items()} == {"process": 3.0, "damage": 5.0}
    assert all(reading.missing_because is None for reading in readings.values())


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("", "empty answer"),
        (" \n\t\n", "empty answer"),
        ("PROCESS 3 DAM", NO_LINE),
        ("PROCESS 3", NO_LINE),
        ("PROCESS 3 DAMAGE", NO_LINE),
        ("PROCESS 85 DAMAGE 5", "out of range: 85 is not 0 to 10"),
        ("PROCESS [[ 85 ]] DAMAGE 5", "out of range: 85 is not 0 to 10"),
        ("PROCESS -1 DAMAGE 5", "out of range: -1 is not 0 to 10"),
        ("PROCESS 3.5 DAMAGE 5", "not an integer: 3.5"),
        ("PROCESS 3 4 DAMAGE 5", NO_LINE),
        ("PROCESS 3 PROCESS 3 DAMAGE 5", NO_LINE),
        ("PROCESS 3 DAMAGE 5 DAMAGE 5", NO_LINE),
        ("PROCESS 3/10 DAMAGE 5/10", NO_LINE),
        ("PROCESS 3-4 DAMAGE 5", NO_LINE),
        ("PROCESS 3 or 4, DAMAGE 5", NO_LINE),
        ("PROCESS 3 DAMAGE 5 overall", NO_LINE),
        ("My scores: PROCESS 3 DAMAGE 5", NO_LINE),
        ("Let me think.\nPROCESS 3 DAMAGE 5", NO_LINE),
        ("process 3 damage 5", NO_LINE),
        ("PROCESS3 DAMAGE5", NO_LINE),
        ("PROCESS ٣ DAMAGE 5", NO_LINE),
        ("PROCESS +3 DAMAGE 5", NO_LINE),
        ("PROCESS 1e1 DAMAGE 5", NO_LINE),
        ("PROCESS three DAMAGE 5", NO_LINE),
        ("I'm sorry, but I can't rate this log.", "refusal"),
        ("I cannot assess an agent's decisions.", "refusal"),
        ("I cannot see any harm. 3 and 5", NO_LINE),
    ],
)
def test_missing_with_a_reason(raw: str, reason: str) -> None:
    assert only_reason(first_line.read(raw, BOTH, LABELS)) == reason


@pytest.mark.parametrize(
    "later", ["PROCESS: 7", "PROCESS 7", "- **PROCESS:** 7", "On reflection, PROCESS: 7 DAMAGE: 5"]
)
def test_a_later_line_that_contradicts_makes_it_missing(later: str) -> None:
    raw = f"PROCESS 3 DAMAGE 5\nReasons.\n{later}\n"
    reason = only_reason(first_line.read(raw, BOTH, LABELS))
    assert reason == "contradiction: PROCESS has two values, the second is '7'"


def test_a_number_too_long_for_an_integer_is_out_of_range() -> None:
    reason = only_reason(first_line.read(f"PROCESS {'9' * 5000} DAMAGE 5", BOTH, LABELS))
    assert reason.startswith("out of range: '999")
    assert len(reason) < 120


def test_labels_default_to_the_ids_in_capitals() -> None:
    assert first_line.read("PROCESS 3 DAMAGE 5", BOTH, {}) == first_line.read(
        "PROCESS 3 DAMAGE 5", BOTH, LABELS
    )


def test_an_empty_label_reads_the_value_alone() -> None:
    alone = {"labels": {"process": ""}}
    assert first_line.read("[[ 8 ]]\nbecause", [PROCESS], alone)["process"].value == 8.0
    assert only_reason(first_line.read("[[ 85 ]]", [PROCESS], alone)) == "out of range: 85 is not 0 to 10"
    assert only_reason(first_line.read("8 7", [PROCESS], alone)) == "no line '<integer>'"
    assert only_reason(first_line.read("8\n7", [PROCESS], alone)).startswith("contradiction")


def test_words_for_predicates_and_choices() -> None:
    readings = first_line.read("SOLVED: No, BETTER: second", [SOLVED, BETTER], {})
    assert readings["solved"].value == 0.0
    assert readings["better"].value == "second"
    assert only_reason(first_line.read("SOLVED: Nope, BETTER: second", [SOLVED, BETTER], {})).startswith(
        "no line"
    )
    assert only_reason(first_line.read("SOLVED: No, BETTER: seconds", [SOLVED, BETTER], {})).startswith(
        "no line"
    )


def test_options_that_cannot_read_the_questions_are_refused() -> None:
    first_line.check(BOTH, LABELS)
    with pytest.raises(UsageError, match="no option 'label'") as caught:
        first_line.check(BOTH, {"label": {}})
    assert caught.value.hint == "did you mean 'labels'?"
    with pytest.raises(UsageError, match="question 'proces' that is not asked"):
        first_line.check(BOTH, {"labels": {"proces": "PROCESS"}})
    with pytest.raises(UsageError, match="do not tell the questions apart"):
        first_line.check(BOTH, {"labels": {"process": "X", "damage": "X"}})
    with pytest.raises(UsageError, match="do not tell the questions apart"):
        first_line.check(BOTH, {"labels": {"process": ""}})
    with pytest.raises(UsageError, match="cannot read a checklist"):
        first_line.check([LIST], {})
