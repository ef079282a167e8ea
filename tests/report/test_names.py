"""What judges are called: never two the same."""

from dataclasses import replace

from voirdire.model import Account, Examination, Identity
from voirdire.report.names import called, examined_judges, judge_names, judges_in_words


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


def _asked(name: str, question: str, *, model: str = "m", backend: str = "local") -> Identity:
    fields = {
        "backend": {"backend": backend, "model": model},
        "questions": [{"id": question}],
        "prompt": name,
    }
    return Identity(name, fields)


def _counted(*judges: Identity) -> list[str]:
    return [one.with_prompts for one in examined_judges(Examination("t", judges, (), Account()))]


def test_one_model_with_two_questions_is_one_judge_with_two_prompts() -> None:
    assert _counted(_asked("a", "process"), _asked("a", "better")) == ["a (2 prompts)"]


def test_same_question_in_two_wordings_is_two_judges() -> None:
    wordings = [replace(_asked("a", "q"), fields={**_asked("a", "q").fields, "messages": [m]}) for m in "xy"]
    assert len(_counted(*wordings)) == 2
    assert len(set(_counted(*wordings))) == 2


def test_another_model_or_name_is_another_judge() -> None:
    assert _counted(_asked("a", "p"), _asked("b", "q")) == ["a", "b"]
    assert len(_counted(_asked("a", "p"), _asked("a", "q", model="n"))) == 2


def test_head_of_the_page_names_few_judges_and_counts_many() -> None:
    asked = [_asked("a", "p"), _asked("a", "q")]
    recorded = [_asked(f"r{number}", "p", model=f"r{number}", backend="recorded") for number in range(4)]
    said = [
        judges_in_words(Examination("t", judges, (), Account()))
        for judges in ([], asked, [*asked, *recorded[:1]], [*asked, *recorded], recorded)
    ]
    assert said == [
        "",
        "a (2 prompts)",
        "a (2 prompts) and r0",
        "a (2 prompts) and 4 recorded judges",
        "4 recorded judges",
    ]


def test_unknown_judge_is_called_what_the_finding_says() -> None:
    assert called("gpt-4 on\nLLMBar", {}) == "gpt-4 on ⏎ LLMBar"
    unknown = replace(Identity("a", {"k": 1})).fingerprint
    assert called(unknown, {}) == unknown[:12]
    assert called(unknown, {unknown: "a"}) == "a"
