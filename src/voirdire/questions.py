"""What is asked: typed questions, as the Decisions APIs type them.

`Predicate` asks for P(yes), `Choice` for one of named options, `Score` for an ordered level or an integer,
`Checklist` for weighted predicates whose weighted mean is the score.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

from voirdire.errors import UsageError


class QuestionKind(StrEnum):
    """The four kinds of question, by the word used in a judge file."""

    PREDICATE = "predicate"
    CHOICE = "choice"
    SCORE = "score"
    CHECKLIST = "checklist"


@dataclass(frozen=True)
class Predicate:
    """A yes-no question. Its value is P(yes) in [0, 1], or 1.0 and 0.0 where a judge answers in words."""

    id: str
    text: str
    kind: QuestionKind = QuestionKind.PREDICATE


@dataclass(frozen=True)
class Choice:
    """One of named options. Its value is the option's name; `descriptions` may explain an option."""

    id: str
    text: str
    options: tuple[str, ...]
    descriptions: Mapping[str, str] | None = None
    kind: QuestionKind = QuestionKind.CHOICE

    def __post_init__(self) -> None:
        if len(set(self.options)) != len(self.options) or len(self.options) < 2:
            raise UsageError(
                f"question '{self.id}': a choice needs at least two distinct options, not {list(self.options)}",
                hint="list each option once under `options`",
            )


@dataclass(frozen=True)
class Score:
    """An integer from `low` to `high`, both included; `levels` may name each (level 0 of the list is `low`).

    Its value is the integer, or the expectation over levels where a judge gives probabilities.
    """

    id: str
    text: str
    low: int = 0
    high: int = 10
    levels: tuple[str, ...] = ()
    kind: QuestionKind = QuestionKind.SCORE

    def __post_init__(self) -> None:
        if self.high <= self.low:
            raise UsageError(
                f"question '{self.id}': the range {self.low} to {self.high} is empty",
                hint="give `range = [low, high]` with low below high",
            )
        if self.levels and len(self.levels) != self.high - self.low + 1:
            raise UsageError(
                f"question '{self.id}': {len(self.levels)} levels for the range {self.low} to {self.high}",
                hint="name every level once, the lowest first",
            )


@dataclass(frozen=True)
class ChecklistItem:
    """One weighted predicate of a checklist; `scope` marks those about staying within the task."""

    id: str
    text: str
    weight: float = 1.0
    scope: bool = False


@dataclass(frozen=True)
class Checklist:
    """Weighted predicates. Its value is the weighted mean of P(yes), in [0, 1]."""

    id: str
    text: str
    items: tuple[ChecklistItem, ...]
    kind: QuestionKind = QuestionKind.CHECKLIST

    def __post_init__(self) -> None:
        if not self.items or any(not item.weight > 0 for item in self.items):
            raise UsageError(
                f"checklist '{self.id}': it needs items, each with a weight above zero",
                hint="remove items without weight",
            )


Question = Predicate | Choice | Score | Checklist


def as_data(questions: Sequence[Question]) -> list[dict[str, object]]:
    """Return the questions as plain data, for fingerprints and files."""
    return [asdict(question) for question in questions]
