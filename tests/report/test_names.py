"""What judges are called: never two the same."""

from dataclasses import replace

from voirdire.model import Account, Examination, Identity
from voirdire.report.names import called, judge_names


def _names(*judges: Identity) -> list[str]:
    return list(judge_names(Examination("t", judges, (), Account())).values())


def test_name_is_enough_where_it_is_alone() -> None:
    assert _names(Identity("a", {"k": 1}), Identity("b", {"k": 1, "q": 2})) == ["a", "b"]


def test_same_name_is_told_apart_by_what_is_asked() -> None:
    asked = [Identity("a", {"questions": [{"id": name}]}) for name in ("process", "winner")]
    assert _names(*asked) == ["a (process)", "a (winner)"]


def test_same_name_and_questions_are_told_apart_by_the_fingerprint() -> None:
    twins = [Identity("a", {"questions": [{"id": "q"}], "temperature": t}) for t in (0, 1)]
    assert _names(*twins) == [f"a (q) {twin.fingerprint[:8]}" for twin in twins]


def test_unknown_judge_is_called_what_the_finding_says() -> None:
    assert called("gpt-4 on\nLLMBar", {}) == "gpt-4 on ⏎ LLMBar"
    unknown = replace(Identity("a", {"k": 1})).fingerprint
    assert called(unknown, {}) == unknown[:12]
    assert called(unknown, {unknown: "a"}) == "a"
