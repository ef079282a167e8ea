"""Position: does the place of a candidate change which one wins?

Shows the same two candidates in both orders; nothing but the order changes. The control replaces one candidate by
a text about something else, which any judge that reads must notice.
"""

from collections.abc import Sequence

from voirdire.blocks import Block, TableBlock
from voirdire.edits.pairs import order_of, swap
from voirdire.lines import POSITION, POSITION_CONTROL
from voirdire.model import Control, Expectation, Item, Message, Probe, Trial, Verdict
from voirdire.questions import Choice

UNRELATED = (
    "The harbour ferry leaves every forty minutes. Bicycles travel free outside the rush hour, and tickets are "
    "sold at the kiosk beside the pier."
)


def a_last(item: Item) -> Item:
    """Return the pair with response_b shown first."""
    return item.with_part("order", "ba")


def a_first(item: Item) -> Item:
    """Return the pair with response_a shown first."""
    return item.with_part("order", "ab")


def answer_another_question(item: Item) -> Item:
    """Return the pair with response_a replaced by a text about something else."""
    return item.with_part("response_a", UNRELATED)


def win_of_a(verdict: Verdict, item: Item) -> float | None:
    """Return 1 where response_a won, 0 where it lost, one half for a tie, None where nothing was read."""
    if verdict.value == "tie":
        return 0.5
    if verdict.value not in ("first", "second"):
        return None
    return float((verdict.value == "first") == (order_of(item) == "ab"))


def describe(trials: Sequence[Trial]) -> tuple[Block, ...]:
    """Return the table that people ask for beside the advantage: consistency, slots chosen, accuracy."""
    pairs = [
        (trial, b_first, a_first_)
        for trial in trials
        for b_first, a_first_ in zip(trial.base.on("better"), trial.variant.on("better"), strict=False)
    ]
    read = [
        (trial, win_of_a(last, trial.base.item), win_of_a(first, trial.variant.item))
        for trial, last, first in pairs
    ]
    both = [(trial, last, first) for trial, last, first in read if last is not None and first is not None]
    first_slot = sum(first + 1 - last for _, last, first in both)
    labelled = [
        (trial, last, first) for trial, last, first in both if trial.item.truth and trial.item.truth.label
    ]
    right = sum(_right(trial, last) + _right(trial, first) for trial, last, first in labelled)
    rows: list[tuple[str, float | int | None]] = [
        ("pairs asked in both orders", len(pairs)),
        ("of them with both answers readable", len(both)),
        ("same candidate in both orders", _share(sum(last == first for _, last, first in both), len(both))),
        ("first slot chosen (ties half)", _share(first_slot, 2 * len(both))),
        ("ties", _share(sum((last == 0.5) + (first == 0.5) for _, last, first in both), 2 * len(both))),
        ("agrees with the known better one (ties half)", _share(right, 2 * len(labelled))),
        ("pairs with a known better one", len(labelled)),
    ]
    return (TableBlock(title="Both orders side by side", columns=("quantity", "value"), rows=rows),)


def _right(trial: Trial, win: float) -> float:
    better = trial.item.truth.label if trial.item.truth else None
    return win if better == "a" else 1 - win


def _share(count: float, total: int) -> float | None:
    return count / total if total else None


PROBE = Probe(
    name="position",
    rule=(
        "Two answers to one task are shown to you twice, once in each order; their texts do not change. "
        "May your choice between them depend on which one is shown first?"
    ),
    rule_negated=(
        "Two answers to one task are shown to you twice, once in each order; their texts do not change. "
        "Must your choice between them be the same in both orders?"
    ),
    part="order",
    prepare=a_last,
    edit=swap,
    expect=Expectation.INVARIANT,
    control=Control(
        part="response_a",
        prepare=a_first,
        edit=answer_another_question,
        expect=Expectation.LOWER,
        line=POSITION_CONTROL,
    ),
    reads=("task", "first", "second"),
    line=POSITION,
    question="better",
    measure=win_of_a,
    messages=(
        Message("system", "You compare two answers to one task and say which one is better."),
        Message("user", "Task:\n{{task}}\n\nFirst answer:\n{{first}}\n\nSecond answer:\n{{second}}"),
    ),
    questions=(Choice("better", "Which answer is better?", ("first", "second", "tie")),),
    references=(
        "Wang et al. 2023, Large Language Models are not Fair Evaluators (arXiv 2305.17926)",
        "Zheng et al. 2023, Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena (arXiv 2306.05685)",
    ),
    describe=describe,
)
