"""What does not fit together is refused before anything is planned, in a dry run as in a real one."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.engine.scripted import outcome_items, pair_items
from voirdire.engine.forms import Form, asking_in_form
from voirdire.engine.run import plan_probe
from voirdire.errors import DataError, UsageError, VoirdireError
from voirdire.judges.planted import planted_judge
from voirdire.model import Asking, Item, Message, Probe, ReaderSpec
from voirdire.probes.outcome import PROBE as OUTCOME
from voirdire.probes.position import PROBE as POSITION
from voirdire.questions import Choice, Predicate

PAIR = asking_in_form(POSITION.messages, POSITION.questions, Form.TEXT)
RUN = asking_in_form(OUTCOME.messages, OUTCOME.questions, Form.TYPED)


def planned(probe: Probe, asking: Asking, items: list[Item]) -> int:
    judge = planted_judge("any", asking, lambda *_: None, seed=0)
    return len(plan_probe(probe, judge, items).calls)


def choice(name: str, *options: str) -> Asking:
    return replace(PAIR, questions=(Choice(name, "Which is better?", options),))


def saying(text: str) -> Asking:
    return replace(PAIR, messages=(Message("user", text),))


@pytest.mark.parametrize(
    ("asking", "message", "hint"),
    [
        (choice("winner", "first", "second"), "compares the question 'better', but the judge answers winner", "the id better"),
        (choice("better", "A", "B"), "no option 'first' or 'second', only A, B", "first, second, tie"),
        (
            replace(PAIR, questions=(Predicate("better", "Is the first one better?"),)),
            "the question 'better' is a predicate, but the probe compares a choice",
            'kind = "choice"',
        ),
        (
            replace(PAIR, reader=ReaderSpec("exact", {"words": {"1": "first", "=": "tie"}})),
            "stands for 'second'",
            "add it to `words`",
        ),
        (saying("{{task}} {{first}}"), "does not see 'second': its prompt shows only first, task", "{{second}}"),
        (saying("{{response_a}}"), "does not see 'task' and 'first' and 'second'", "{{task}}, {{first}}, {{second}}"),
    ],
)  # fmt: skip
def test_a_judge_that_is_not_asked_what_the_probe_compares(asking: Asking, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as error:
        planned(POSITION, asking, pair_items(3))
    assert message in str(error.value)
    assert hint in error.value.hint


def test_the_outcome_probe_names_both_its_questions() -> None:
    with pytest.raises(
        UsageError, match="compares the question 'damage', but the judge answers process"
    ) as error:
        planned(OUTCOME, replace(RUN, questions=RUN.questions[:1]), outcome_items())
    assert "the id process and one with the id damage" in error.value.hint


@pytest.mark.parametrize(
    "asking",
    [
        PAIR,
        asking_in_form(POSITION.messages, POSITION.questions, Form.JSON),
        asking_in_form(POSITION.messages, POSITION.questions, Form.TYPED),
        choice("better", "second", "first"),
        choice("better", "first", "second", "tie", "neither"),
        replace(PAIR, reader=ReaderSpec("exact", {"words": {"1": "first", "2": "second", "=": "tie"}})),
    ],
)
def test_what_fits_is_planned(asking: Asking) -> None:
    assert planned(POSITION, asking, pair_items(3)) == 2 + 3 * 4


def copied(items: list[Item]) -> list[Item]:
    return [*items, replace(items[0], id="again")]


def equal(items: list[Item]) -> list[Item]:
    return [*items, items[0].with_part("response_b", items[0]["response_a"])]


def misordered(items: list[Item]) -> list[Item]:
    return [items[0], items[1].with_part("order", "zz")]


@pytest.mark.parametrize(
    ("spoil", "message", "hint"),
    [
        (copied, "item 'again' is a copy of 'pair-0'", "repeats of one item are made by --repeats"),
        (lambda items: equal(items)[-1:], "item 'pair-0': its two responses are equal", "remove it"),
        (misordered, "item 'pair-1': order is 'zz'", "use 'ab' or 'ba'"),
        (lambda items: [items[0], items[0]], "two items have the id 'pair-0'", "an id of its own"),
    ],
)
def test_items_that_cannot_be_compared(
    spoil: Callable[[list[Item]], list[Item]], message: str, hint: str
) -> None:
    with pytest.raises(DataError) as error:
        planned(POSITION, PAIR, spoil(pair_items(3)))
    assert message in str(error.value)
    assert hint in error.value.hint


def test_items_that_differ_only_in_what_is_not_shown_are_copies() -> None:
    [one] = pair_items(1)
    other = replace(one, id="other", parts={**one.parts, "remark": "not shown"})
    with pytest.raises(VoirdireError, match="'other' is a copy of 'pair-0'"):
        planned(POSITION, PAIR, [one, other])
