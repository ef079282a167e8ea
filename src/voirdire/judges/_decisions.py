"""Typed questions as next-token decisions: how each is worded, and which single token stands for which answer.

A yes-no question is answered by Yes or No; a choice and a score by a letter, A for the first option or the lowest
level. Letters for scores, since '10' is two tokens; measured on the embedded model, letters A to K hold four times
as much of its probability as numbers do (0.79 against 0.18), in one read-out instead of two. A checklist is its
predicates. What the letters stand for comes before the question: questions with the same scale then share it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from voirdire.errors import UsageError
from voirdire.questions import Checklist, Choice, Predicate, Question, Score

YES_NO = "{text}\nAnswer Yes or No."
LETTERS = "{text}\nAnswer with one letter."
OPTION = "{letter}: {option}"
DESCRIBED = "{letter}: {option}: {description}"

WORDING: Mapping[str, object] = {
    "yes_no": YES_NO,
    "letters": LETTERS,
    "option": OPTION,
    "described": DESCRIBED,
    "labels": ["Yes", "No", ascii_uppercase],
}
"""Part of the judge's identity."""


@dataclass(frozen=True)
class Decision:
    """One read-out: the text that asks for it, the label that stands for each answer. `item`: of a checklist.

    `scale` says what letters stand for and is shown before `text`; empty where the labels need no explanation.
    """

    question: str
    item: str | None
    scale: str
    text: str
    labels: Mapping[str, str]
    """From the answer's name, as the reader `typed` knows it, to the text of one token."""

    def as_data(self) -> list[object]:
        """Return the decision as plain data, for a request's body."""
        return [self.question, self.item, self.scale, self.text, [list(pair) for pair in self.labels.items()]]

    @classmethod
    def from_data(cls, data: Sequence[Any]) -> "Decision":
        """Return the decision that `as_data` wrote."""
        question, item, scale, text, labels = data
        return cls(question, item, scale, text, dict(labels))

    @property
    def shown(self) -> str:
        """Return all that is shown for it."""
        return f"{self.scale}\n\n{self.text}" if self.scale else self.text


def decisions(questions: Sequence[Question]) -> list[Decision]:
    """Return the read-outs that answer the questions, in order; UsageError for one that letters cannot answer."""
    return [decision for question in questions for decision in _decisions(question)]


def _decisions(question: Question) -> list[Decision]:
    match question:
        case Predicate():
            return [_yes_no(question.id, None, question.text)]
        case Checklist():
            return [_yes_no(question.id, item.id, item.text) for item in question.items]
        case Choice():
            descriptions = question.descriptions or {}
            described = [(option, descriptions.get(option, "")) for option in question.options]
            return [_by_letter(question, question.options, described)]
        case Score():
            levels = [str(level) for level in range(question.low, question.high + 1)]
            named = question.levels or ("",) * len(levels)
            return [_by_letter(question, levels, list(zip(levels, named, strict=True)))]


def _yes_no(question: str, item: str | None, text: str) -> Decision:
    return Decision(question, item, "", YES_NO.format(text=text), {"yes": "Yes", "no": "No"})


def _by_letter(question: Question, answers: Sequence[str], shown: Sequence[tuple[str, str]]) -> Decision:
    if len(answers) > len(ascii_uppercase):
        raise UsageError(
            f"question '{question.id}' has {len(answers)} answers, and a local model decides between 26 letters",
            hint="ask on a coarser scale, or read its text with another reader (`first_line`, `exact`)",
        )
    lines = [
        (DESCRIBED if description else OPTION).format(letter=letter, option=option, description=description)
        for letter, (option, description) in zip(ascii_uppercase, shown, strict=False)
    ]
    return Decision(
        question.id,
        None,
        "\n".join(lines),
        LETTERS.format(text=question.text),
        dict(zip(answers, ascii_uppercase, strict=False)),
    )


def shared_scale(asked: Sequence[Decision]) -> str:
    """Return the scale that all read-outs have in common, or an empty text."""
    scales = {each.scale for each in asked}
    return scales.pop() if len(scales) == 1 else ""
