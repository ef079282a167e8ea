import json
import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.judges._kit import DAMAGE, ITEM, PROCESS, asking, spec
from voirdire.errors import UsageError
from voirdire.judges import open_judge
from voirdire.judges._prompted import (
    KEPT_OF_LONGER,
    LONGEST_READ,
    PromptedJudge,
    bounded,
    fill,
    placeholders,
)
from voirdire.judges.planted import planted_judge
from voirdire.model import Answer, Asking, Item, Message, ReaderSpec, canonical_json
from voirdire.questions import Choice, Predicate, Question, Score

BASE = Asking(
    (Message("system", "Be fair."), Message("user", "{{log}} {{outcome}}")),
    (PROCESS, DAMAGE),
    ReaderSpec("first_line", {"labels": {"process": "PROCESS", "damage": "DAMAGE"}}),
)


def fingerprint(what: Asking, sampling: Mapping[str, object] | None = None, **changes: Any) -> str:
    of = replace(spec("planted", "fair"), sampling=sampling or {}, **changes)
    return open_judge(of, what).identity.fingerprint


CHANGES: Mapping[str, Asking] = {
    "one character of the prompt": replace(
        BASE, messages=(BASE.messages[0], Message("user", "{{log}}  {{outcome}}"))
    ),
    "a message more": replace(BASE, messages=(*BASE.messages, Message("user", "Go."))),
    "a role": replace(BASE, messages=(Message("user", "Be fair."), BASE.messages[1])),
    "a question's text": replace(BASE, questions=(replace(PROCESS, text="How good?"), DAMAGE)),
    "a question's id": replace(
        BASE, questions=(replace(PROCESS, id="proc"), DAMAGE), reader=ReaderSpec("typed")
    ),
    "a question less": replace(BASE, questions=(PROCESS,), reader=ReaderSpec("typed")),
    "the order of the questions": replace(BASE, questions=(DAMAGE, PROCESS)),
    "the scale": replace(BASE, questions=(replace(PROCESS, high=9), DAMAGE)),
    "the names of levels": replace(BASE, questions=(replace(PROCESS, levels=tuple("abcdefghijk")), DAMAGE)),
    "the kind of question": replace(BASE, questions=(Predicate("process", PROCESS.text), DAMAGE)),
    "the reader": replace(BASE, reader=ReaderSpec("json")),
    "a label of the reader": replace(
        BASE, reader=ReaderSpec("first_line", {"labels": {"process": "P", "damage": "D"}})
    ),
}


@pytest.mark.parametrize("what", CHANGES.values(), ids=CHANGES.keys())
def test_every_change_of_what_is_asked_is_another_judge(what: Asking) -> None:
    assert fingerprint(what) != fingerprint(BASE)


def test_every_two_changes_are_two_judges() -> None:
    all_of_them = [fingerprint(what) for what in (BASE, *CHANGES.values())]
    assert len(set(all_of_them)) == len(all_of_them)


def test_backend_model_sampling_and_remedies_are_part_of_the_judge() -> None:
    base = fingerprint(BASE)
    others = [
        fingerprint(BASE, sampling={"temperature": 0.0}),
        fingerprint(BASE, sampling={"temperature": 0.1}),
        fingerprint(BASE, model="noisy"),
        fingerprint(BASE, options={"seed": 1}),
        fingerprint(BASE, remedies=({"name": "swap"},)),
        fingerprint(BASE, remedies=({"name": "swap", "trials": 4},)),
    ]
    assert len({base, *others}) == len(others) + 1


def test_the_name_is_for_people_and_equal_judges_have_one_fingerprint() -> None:
    assert fingerprint(BASE, name="another name") == fingerprint(BASE) == fingerprint(replace(BASE))


def test_reasking_is_another_judge_on_the_same_backend() -> None:
    judge = open_judge(spec("planted", "fair"), BASE)
    other = judge.reasking(CHANGES["the scale"], name="other")
    assert other.identity.fingerprint == fingerprint(CHANGES["the scale"])
    assert other.identity.name == "other"
    assert judge.identity.fingerprint == fingerprint(BASE)


@given(st.text(), st.text())
def test_a_part_is_filled_once_and_never_again(log: str, outcome: str) -> None:
    assert fill("{{log}}|{{ outcome }}", {"log": log + "{{outcome}}", "outcome": outcome}) == (
        f"{log}{{{{outcome}}}}|{outcome}"
    )
    assert placeholders("{{log}}|{{ outcome }}") == ["log", "outcome"]


def test_a_prompt_that_names_an_absent_part_is_a_usage_error() -> None:
    judge = open_judge(spec("planted", "fair"), BASE)
    with pytest.raises(UsageError, match="names 'outcome', but item 'x' has only") as caught:
        judge.render(Item("x", {"log": "l"}))
    assert "outcome" in caught.value.hint


def test_only_named_parts_are_in_the_request() -> None:
    judge = open_judge(spec("planted", "fair"), BASE)
    with_author = judge.render(ITEM.with_part("author", "a famous one"))
    assert with_author.body == judge.render(ITEM).body
    assert "famous" not in with_author.body


def test_the_body_of_a_plain_backend_is_canonical_json() -> None:
    body = open_judge(spec("planted", "fair"), BASE).render(ITEM).body
    assert body == canonical_json(json.loads(body))
    assert sorted(json.loads(body)) == ["messages", "parts", "questions", "reader"]


def test_a_missing_answer_is_missing_for_every_question_with_its_raw_text() -> None:
    judge = open_judge(spec("planted", "fair"), BASE)
    request = judge.render(ITEM)
    verdicts = judge.read(request, Answer(raw="PROCESS 3", missing_because="truncated"), repeat=4)
    assert [(v.value, v.missing_because, v.raw, v.repeat) for v in verdicts] == [
        (None, "truncated", "PROCESS 3", 4)
    ] * 2


def test_typed_values_are_read_where_text_was_asked() -> None:
    judge = open_judge(spec("planted", "fair"), BASE)
    request = judge.render(ITEM)
    raw = '{"answers":{"process":{"value":3},"damage":{"value":5}}}'
    typed = judge.read(request, Answer(raw=raw, extra={"form": "typed"}), repeat=0)
    assert [verdict.value for verdict in typed] == [3.0, 5.0]
    as_text = judge.read(request, Answer(raw=raw), repeat=0)
    assert all(verdict.value is None for verdict in as_text)


@pytest.mark.parametrize(
    ("reader", "questions", "message"),
    [
        (ReaderSpec("first_lin"), (PROCESS,), "there is no reader 'first_lin'"),
        (ReaderSpec("first_line", {"label": {}}), (PROCESS,), "no option 'label'"),
        (ReaderSpec("exact"), (PROCESS, DAMAGE), "one word as the answer to one question"),
    ],
)
def test_a_reader_that_cannot_read_is_refused_when_the_judge_is_opened(
    reader: ReaderSpec, questions: tuple[Question, ...], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        open_judge(spec("planted", "fair"), replace(BASE, questions=questions, reader=reader))


def test_a_judge_that_nobody_says_what_to_ask_is_refused() -> None:
    with pytest.raises(UsageError, match="does not say what it is asked"):
        open_judge(spec("planted", "fair"))


def test_confidence_is_ours_for_each_kind_of_question() -> None:
    questions = (Choice("c", "?", ("a", "b", "d")), Predicate("p", "?"), Score("s", "?", 0, 2))

    def policy(parts: Mapping[str, str], question: str, rng: random.Random) -> float | str | None:
        values: Mapping[str, float | str] = {"c": "a", "p": 0.75, "s": 1.0}
        return values[question]

    judge: PromptedJudge = planted_judge(
        "sure", asking(questions=questions), policy, seed=1, deterministic=True
    )
    request = judge.render(ITEM)
    import asyncio

    answer = asyncio.run(judge.backend.send(request, repeat=0))
    verdicts = judge.read(request, answer, repeat=0)
    assert [verdict.confidence for verdict in verdicts] == [1.0, 0.5, 1.0]


def test_an_answer_beyond_all_measure_is_missing_and_only_its_beginning_is_kept() -> None:
    longest = Answer(raw="x" * LONGEST_READ)
    assert bounded(longest) is longest
    cut = bounded(Answer(raw="x" * (LONGEST_READ + 1)))
    assert cut.raw == "x" * KEPT_OF_LONGER
    assert cut.missing_because == (
        "too long to be read: 1,000,001 characters; the first 20,000 characters are kept"
    )
    assert not cut.failed


def test_what_stands_beside_an_answer_has_an_end_too() -> None:
    endless = "y" * 5000
    cut = bounded(
        Answer(missing_because=endless, failed=True, served=endless, extra={"message": endless, "n": 3})
    )
    assert cut.missing_because == cut.served == cut.extra["message"] == "y" * 1000
    assert (cut.failed, cut.extra["n"]) == (True, 3)
