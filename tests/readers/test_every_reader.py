"""What holds for every reader, over generated text: it never raises, never guesses, and reads what it can say."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.readers._ask import BETTER, BOTH, PROCESS, SOLVED
from voirdire import plugins
from voirdire.model import Reading
from voirdire.questions import Question

CASES: Sequence[tuple[str, Sequence[Question], Mapping[str, object]]] = [
    ("first_line", BOTH, {}),
    ("first_line", [PROCESS], {"labels": {"process": ""}}),
    ("first_line", [SOLVED, BETTER], {}),
    ("json", BOTH, {}),
    ("json", [PROCESS], {"pointer": "/scores/process", "pass_at": 7}),
    ("json", [SOLVED, BETTER], {}),
    ("exact", [SOLVED], {"words": {"CORRECT": 1, "INCORRECT": 0}}),
    ("exact", [BETTER], {"case_sensitive": False, "trailing_period": True}),
    ("exact", [PROCESS], {}),
    ("step", [BETTER], {}),
    ("typed", BOTH, {}),
    ("typed", [SOLVED, BETTER], {}),
]

PIECES = st.sampled_from(
    [
        "PROCESS", "DAMAGE", "process", "damage", "SOLVED", "BETTER", "first", "tie", "yes", "CORRECT", "INCORRECT",
        "3", "10", "11", "85", "-1", "0.5", "[[", "]]", ":", ",", " ", "\n", "```json\n", "\n```", "{", "}", '"', '"process"',
        '"damage"', '{"answers":', '"value"', "null", "NaN", ".", "\x00", "\ud800", "\u2028", "٣", "I'm sorry, I can't rate",
    ]
)  # fmt: skip
TEXT = st.one_of(st.text(), st.lists(PIECES, max_size=14).map("".join))


def read(
    name: str, raw: str, questions: Sequence[Question], options: Mapping[str, object]
) -> dict[str, Reading]:
    module: Any = plugins.load("readers", name)
    return dict(module.read(raw, questions, options))


@pytest.mark.parametrize("name", plugins.names("readers"))
def test_every_reader_is_tried_here(name: str) -> None:
    assert name in {case[0] for case in CASES}


@pytest.mark.parametrize(("name", "questions", "options"), CASES)
@given(raw=TEXT)
def test_any_text_gives_a_value_or_a_reason_for_every_question(
    name: str, questions: Sequence[Question], options: Mapping[str, object], raw: str
) -> None:
    readings = read(name, raw, questions, options)
    assert set(readings) == {question.id for question in questions}
    for reading in readings.values():
        assert (reading.value is None) == bool(reading.missing_because)
        assert "\n" not in (reading.missing_because or "")
        (reading.missing_because or "").encode("utf-8")


ACCEPTED = {
    "first_line": re.compile(
        r"\s*(PROCESS[ \t]*[:= \t][ \t]*(\[\[[ \t]*)?\d+([ \t]*\]\])?[ \t]*[,;| \t][ \t]*DAMAGE"
        r"|DAMAGE[ \t]*[:= \t][ \t]*(\[\[[ \t]*)?\d+([ \t]*\]\])?[ \t]*[,;| \t][ \t]*PROCESS)"
        r"[ \t]*[:= \t][ \t]*(\[\[[ \t]*)?\d+([ \t]*\]\])?[ \t]*\.?[ \t]*\r?(\n|\Z)"
    ),
    "json": re.compile(r"\s*(```json\s*\n\s*)?\{.*\}\s*(```)?\s*", re.DOTALL),
    "typed": re.compile(r'\s*\{.*"answers".*\}\s*', re.DOTALL),
}


@pytest.mark.parametrize("name", ["first_line", "json", "typed"])
@given(raw=TEXT)
def test_a_value_is_only_read_from_the_accepted_form(name: str, raw: str) -> None:
    readings = read(name, raw, BOTH, {})
    if any(reading.value is not None for reading in readings.values()):
        assert ACCEPTED[name].match(raw)
    if name != "typed":
        assert len({reading.value is None for reading in readings.values()}) == 1


@given(raw=TEXT)
def test_only_the_word_alone_is_the_word(raw: str) -> None:
    value = read("exact", raw, [SOLVED], {"words": {"CORRECT": 1, "INCORRECT": 0}})["solved"].value
    assert value == {"CORRECT": 1.0, "INCORRECT": 0.0}.get(raw.strip())


@pytest.mark.parametrize(("name", "questions", "options"), CASES)
@given(data=st.data())
def test_what_a_reader_says_it_reads(
    name: str, questions: Sequence[Question], options: Mapping[str, object], data: st.DataObject
) -> None:
    kinds: dict[str, st.SearchStrategy[float | str]] = {
        "score": st.integers(0, 10).map(float),
        "predicate": st.sampled_from([0.0, 1.0]),
        "choice": st.sampled_from(["first", "second", "tie"]),
    }
    values = {question.id: data.draw(kinds[question.kind]) for question in questions}
    module: Any = plugins.load("readers", name)
    raw = module.speak(values, questions, options)
    assert {key: reading.value for key, reading in read(name, raw, questions, options).items()} == values


@pytest.mark.parametrize(("name", "questions", "options"), CASES)
@pytest.mark.parametrize(
    "raw",
    [
        "\x00" * 1000,
        "\ud800\udfff{\ud83d",
        "\n" * 200_000,
        " " * 500_000 + "PROCESS",
        "PROCESS 3 DAMAGE 5\n" + "PROCESS " * 100_000,
        "PROCESS 3 DAMAGE 5\n" + "*" * 500_000,
        "{" * 500_000,
        '{"a":' * 50_000 + "1" + "}" * 50_000,
        "9" * 500_000,
        "I'm sorry" * 50_000,
        "PROCESS" + " " * 500_000 + "3",
    ],
    ids=lambda raw: ascii(raw[:12]),
)
def test_hostile_text_neither_raises_nor_hangs(
    name: str, questions: Sequence[Question], options: Mapping[str, object], raw: str
) -> None:
    import time

    start = time.process_time()
    read(name, raw, questions, options)
    assert time.process_time() - start < 2.0
