"""Questions: what cannot be asked is refused when it is written down."""

import pytest

from voirdire.errors import UsageError
from voirdire.questions import Checklist, ChecklistItem, Choice, Predicate, QuestionKind, Score, as_data


@pytest.mark.parametrize("options", [(), ("one",), ("same", "same")])
def test_a_choice_needs_two_distinct_options(options: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="at least two distinct options"):
        Choice("q", "Which?", options)


@pytest.mark.parametrize(("low", "high"), [(0, 0), (5, 1)])
def test_a_score_needs_a_range(low: int, high: int) -> None:
    with pytest.raises(UsageError, match="is empty"):
        Score("q", "How good?", low, high)


def test_levels_name_every_level_once() -> None:
    assert Score("q", "How good?", 1, 3, ("bad", "fair", "good")).levels == ("bad", "fair", "good")
    with pytest.raises(UsageError, match="2 levels for the range 1 to 3"):
        Score("q", "How good?", 1, 3, ("bad", "good"))


@pytest.mark.parametrize("weight", [0.0, -1.0, float("nan")])
def test_a_checklist_needs_weights_above_zero(weight: float) -> None:
    with pytest.raises(UsageError, match="weight above zero"):
        Checklist("q", "Is it done?", (ChecklistItem("a", "Tests pass?", weight),))
    with pytest.raises(UsageError, match="needs items"):
        Checklist("q", "Is it done?", ())


def test_as_data_holds_all_that_is_asked() -> None:
    asked = as_data([Predicate("p", "Is it?"), Choice("c", "Which?", ("a", "b"), {"a": "the first"})])
    assert asked == [
        {"id": "p", "text": "Is it?", "kind": QuestionKind.PREDICATE},
        {
            "id": "c",
            "text": "Which?",
            "options": ("a", "b"),
            "descriptions": {"a": "the first"},
            "kind": QuestionKind.CHOICE,
        },
    ]
