import asyncio
import random
import time
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.judges._kit import DAMAGE, ITEM, PROCESS, RULE_ITEM, ask, ask_once, asking, spec
from voirdire.engine.forms import Form, asking_in_form
from voirdire.errors import JudgeError, UsageError
from voirdire.judges import open_judge, read_spec
from voirdire.judges._prompted import PromptedJudge, read_answer
from voirdire.judges.planted import planted_judge, speak
from voirdire.model import Asking, Item, Message, ReaderSpec, Request
from voirdire.questions import Checklist, ChecklistItem, Choice, Predicate, Question

LETTERS = ReaderSpec("exact", {"words": {"A": "first", "B": "second"}})
BETTER = Choice("better", "Which?", ("first", "second"))
PAIR = Item(
    "p", {"task": "sort the list", "response_a": "sort the list", "response_b": "boats", "order": "ab"}
)
PAIR_PROMPT = "{{task}} {{first}} {{second}}"
HARM = ITEM.with_part("outcome", "8,412 people got the wrong e-mail")
DONE = ITEM.with_part("log", "the agent sent the test e-mail first")


def uniform(parts: Mapping[str, str], question: str, rng: random.Random) -> float | str | None:
    return float(rng.randint(0, 10))


def raws(judge: PromptedJudge, repeats: list[int], item: Item = ITEM) -> list[str]:
    async def run() -> list[str]:
        return [(await ask(judge, item, repeat))[0].raw for repeat in repeats]

    return asyncio.run(run())


@pytest.mark.parametrize("form", list(Form))
@given(process=st.integers(0, 10), damage=st.integers(0, 10))
def test_speaking_is_the_inverse_of_reading_in_every_form(form: Form, process: int, damage: int) -> None:
    what = asking_in_form([Message("user", "{{log}}")], (PROCESS, DAMAGE), form)
    values = {"process": float(process), "damage": float(damage)}
    for probabilities in (False, True):
        said = read_answer(speak(what, values, probabilities=probabilities), what)
        assert {name: reading.value for name, reading in said.items()} == pytest.approx(values)


@given(st.floats(-5, 15), st.floats(-1, 2), st.sampled_from(["first", "second"]))
def test_probabilities_give_the_value_between_the_ends(score: float, share: float, option: str) -> None:
    what = asking(questions=(PROCESS, Predicate("solved", "?"), BETTER))
    said = read_answer(
        speak(what, {"process": score, "solved": share, "better": option}, probabilities=True), what
    )
    assert said["process"].value == pytest.approx(min(10.0, max(0.0, score)))
    assert said["solved"].value == pytest.approx(min(1.0, max(0.0, share)))
    assert said["better"].value == option
    assert all(reading.probabilities for reading in said.values())


@pytest.mark.parametrize("form", list(Form))
def test_a_text_answer_holds_whole_levels_and_the_ends_of_the_scale(form: Form) -> None:
    what = asking_in_form([Message("user", "{{log}}")], (PROCESS, DAMAGE), form)
    said = read_answer(speak(what, {"process": 6.5, "damage": 99.0}), what)
    assert said["process"].value == (6.5 if form is Form.TYPED else 7.0)
    assert said["damage"].value == 10.0


@pytest.mark.parametrize(
    ("question", "value", "raw"),
    [(BETTER, "second", "B"), (Choice("better", "?", ("second", "first")), "first", "A")],
)
def test_words_are_those_of_the_reader(question: Question, value: str, raw: str) -> None:
    assert speak(Asking((), (question,), LETTERS), {"better": value}) == raw


def test_a_checklist_is_spoken_as_a_number() -> None:
    question = Checklist("list", "?", (ChecklistItem("a", "?"), ChecklistItem("b", "?")))
    for reader in ("json", "typed"):
        what = asking(reader, (question,))
        assert read_answer(speak(what, {"list": 0.25}), what)["list"].value == 0.25


@pytest.mark.parametrize("reader", ["first_line", "json", "exact"])
def test_none_refuses_the_whole_text_answer(reader: str) -> None:
    questions = (PROCESS,) if reader == "exact" else (PROCESS, DAMAGE)
    what = asking(reader, questions)
    said = read_answer(
        speak(what, {"process": None, **({"damage": 3.0} if len(questions) > 1 else {})}), what
    )
    assert {reading.missing_because for reading in said.values()} == {"refusal"}


def test_none_refuses_one_typed_question_alone() -> None:
    said = read_answer(speak(asking(), {"process": None, "damage": 3.0}), asking())
    assert said["process"].missing_because == "refusal"
    assert said["damage"].value == 3.0


def test_answers_do_not_depend_on_what_was_asked_before() -> None:
    first = planted_judge("uniform", asking("first_line"), uniform, seed=1)
    forwards = raws(first, list(range(50)))
    second = planted_judge("uniform", asking("first_line"), uniform, seed=1)
    backwards = raws(second, list(reversed(range(50))))
    assert forwards == list(reversed(backwards))
    assert len(set(forwards)) > 20


def test_another_seed_item_repeat_or_question_is_another_draw() -> None:
    def drawn(seed: int, item: Item = ITEM, prompt: str = "{{log}} {{outcome}}") -> list[str]:
        return raws(planted_judge("u", asking(prompt=prompt), uniform, seed=seed), list(range(20)), item)

    all_of_them = [drawn(1), drawn(2), drawn(1, HARM), drawn(1, prompt="{{log}} {{outcome}}!")]
    assert len({tuple(each) for each in all_of_them}) == 4


def test_draws_are_uniform_over_repeats_and_over_items() -> None:
    judge = planted_judge("uniform", asking(questions=(PROCESS,)), uniform, seed=3)

    async def run() -> list[float]:
        values = [(await ask(judge, ITEM, repeat))[0].value for repeat in range(3000)]
        values += [(await ask(judge, ITEM.with_part("log", str(k))))[0].value for k in range(3000)]
        return [float(value or 0.0) for value in values]

    values = asyncio.run(run())
    for half in (values[:3000], values[3000:]):
        assert abs(sum(half) / 3000 - 5.0) < 5 * (10**0.5) / 3000**0.5
        assert {float(level) for level in range(11)} == set(half)


def test_a_deterministic_one_repeats_itself_with_probabilities() -> None:
    judge = planted_judge("d", asking(), uniform, seed=1, deterministic=True)
    assert judge.deterministic
    assert len(set(raws(judge, list(range(5))))) == 1
    verdict = asyncio.run(ask(judge))[0]
    assert verdict.probabilities is not None
    assert verdict.label_mass == 1.0


def test_the_policy_is_asked_about_the_rule_too() -> None:
    def policy(parts: Mapping[str, str], question: str, rng: random.Random) -> str:
        assert not parts
        return {"rule": "no"}[question]

    rule = asking("exact", (Choice("rule", "?", ("yes", "no")),), "May it move?")
    judge = planted_judge("leaks", asking(), lambda *_: 3.0, seed=1)
    assert asyncio.run(ask(planted_judge("x", rule, policy, seed=1), RULE_ITEM))[0].value == "no"
    assert judge.reasking(rule).identity.fingerprint != judge.identity.fingerprint


def test_name_seed_and_determinism_are_its_identity() -> None:
    prints = {
        planted_judge(name, asking(), uniform, seed=seed, deterministic=deterministic).identity.fingerprint
        for name in "ab"
        for seed in (1, 2)
        for deterministic in (False, True)
    }
    assert len(prints) == 8


def test_a_foreign_request_is_refused() -> None:
    judge = planted_judge("u", asking(), uniform, seed=1)
    with pytest.raises(JudgeError, match="did not prepare"):
        asyncio.run(judge.backend.send(Request("x", "{}"), repeat=0))


@pytest.mark.parametrize("form", list(Form))
def test_an_answer_takes_less_than_fifty_microseconds(form: Form) -> None:
    what = asking_in_form([Message("user", "{{log}} {{outcome}}")], (PROCESS, DAMAGE), form)
    judge = planted_judge("u", what, uniform, seed=1)
    request = judge.render(ITEM.with_part("log", "a long log " * 2000))

    async def cpu_seconds_of(count: int) -> float:
        start = time.process_time()
        for repeat in range(count):
            await judge.backend.send(request, repeat=repeat)
        return (time.process_time() - start) / count

    async def best() -> float:
        return min([await cpu_seconds_of(300) for _ in range(10)])

    assert asyncio.run(best()) < 50e-6


# --- built-in ones, as `planted:NAME` ---------------------------------------------------------------


def built_in(name: str, item: Item, what: Asking | None = None, repeats: int = 1) -> list[object]:
    return [
        verdict.value
        for repeat in range(repeats)
        for verdict in ask_once(
            read_spec(f"planted:{name}"), what or asking("first_line"), item, repeat
        ).values()
    ]


def pairs(reader: str = "exact") -> Asking:
    return asking(reader, (BETTER,), PAIR_PROMPT)


SWAPPED = PAIR.with_part("order", "ba")


def test_built_in_judges_of_pairs() -> None:
    for item in (PAIR, SWAPPED):
        assert built_in("always_first", item, pairs()) == ["first"]
        assert built_in("leaks", item, pairs()) == ["first"]
        assert built_in("always_second", item, pairs()) == ["second"]
        assert built_in("refuses", item, pairs()) == [None]
    assert built_in("fair", PAIR, pairs()) == ["first"]
    assert built_in("fair", SWAPPED, pairs()) == ["second"]
    for name in ("coin", "random"):
        assert set(built_in(name, PAIR, pairs(), repeats=40)) == {"first", "second"}


def test_built_in_judges_of_outcomes() -> None:
    assert built_in("fair", ITEM) == [5.0, 1.0]
    assert built_in("fair", HARM) == [5.0, 8.0]
    assert built_in("fair", DONE) == [9.0, 1.0]
    assert built_in("leaks", ITEM) == [5.0, 1.0]
    assert built_in("leaks", HARM) == [0.0, 8.0]
    assert built_in("deterministic", HARM) == [0.0, 8.0]
    for name in ("never_moves", "constant"):
        assert {tuple(built_in(name, item)) for item in (ITEM, HARM, DONE)} == {(5.0, 5.0)}
    noisy = built_in("noisy", ITEM, asking("first_line", (PROCESS,)), repeats=60)
    assert len(set(noisy)) > 3
    assert 4 < sum(float(str(value)) for value in noisy) / 60 < 6


@pytest.mark.parametrize(
    "name", ["fair", "leaks", "noisy", "random", "coin", "constant", "always_first", "deterministic"]
)
def test_every_built_in_judge_answers_every_kind_of_question(name: str) -> None:
    questions = (
        PROCESS,
        Predicate("solved", "?"),
        BETTER,
        Checklist("list", "?", (ChecklistItem("a", "?"),)),
    )
    assert None not in built_in(name, ITEM, asking("typed", questions))


def test_only_the_deterministic_one_promises_to_repeat_itself() -> None:
    assert open_judge(spec("planted", "deterministic"), asking()).deterministic
    assert not open_judge(spec("planted", "leaks"), asking()).deterministic


def test_an_unknown_name_lists_those_there_are() -> None:
    with pytest.raises(UsageError, match="no planted judge 'leak'") as caught:
        open_judge(spec("planted", "leak"), asking())
    assert "never_moves" in caught.value.hint
    with pytest.raises(UsageError, match="no option 'sed'"):
        open_judge(spec("planted", "leaks", sed=3), asking())
    with pytest.raises(UsageError, match="'seed' is not a whole number"):
        open_judge(spec("planted", "leaks", seed=1.5), asking())
