"""The two arms of a contrast: what was read from each version, what is missing, and their P(superiority)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from voirdire.model import Estimate, Measure, Side, number_of
from voirdire.questions import Question, Score
from voirdire.stats.sequence import superiority_sequence
from voirdire.stats.superiority import (
    missing_bounds,
    probability_of_superiority,
    superiority_of_distributions,
)

Span = tuple[float, float]
"""The lowest and the highest value that a measure can have."""


@dataclass(frozen=True)
class Arm:
    """The answers to one version, measured. `values` holds those that could be read, in the order of the repeats.

    `constant`: every raw answer is the same and was read. `distribution`: its probabilities, where it has any.
    """

    values: tuple[float, ...]
    asked: int
    reasons: tuple[str, ...]
    constant: bool
    distribution: Mapping[str, float] | None

    @property
    def missing(self) -> int:
        """Return how many answers could not be read."""
        return self.asked - len(self.values)

    @property
    def mean(self) -> float:
        """Return the mean of what was read."""
        return sum(self.values) / len(self.values)

    def mean_with(self, value: float) -> float:
        """Return the mean with `value` in the place of every missing answer."""
        return (sum(self.values) + self.missing * value) / self.asked


@dataclass(frozen=True)
class Compared:
    """Which answers are compared, and how they may be analysed.

    `look`: number of repeats at which a ruling was seen before, None: never.
    """

    question: str
    measure: Measure
    span: Span
    deterministic: bool
    look: int | None = None


def arm_of(side: Side, question: str, measured: Measure) -> Arm:
    """Return what was read from one version on one question."""
    verdicts = side.on(question)
    numbers = [measured(verdict, side.item) for verdict in verdicts]
    values = tuple(number for number in numbers if number is not None)
    reasons = sorted(
        {verdict.missing_because or "unreadable" for verdict in verdicts if verdict.value is None}
    )
    constant = len({verdict.raw for verdict in verdicts}) == 1 and len(values) == len(verdicts)
    distribution = verdicts[0].probabilities if constant and measured is number_of else None
    return Arm(values, len(verdicts), tuple(reasons), constant, distribution)


def span_of(questions: Sequence[Question], wanted: str) -> Span:
    """Return the ends of a question's scale: of a Score its range, else 0 to 1."""
    for question in questions:
        if question.id == wanted and isinstance(question, Score):
            return (float(question.low), float(question.high))
    return (0.0, 1.0)


def counted(estimate: Estimate, arms: Sequence[tuple[Arm, Arm]]) -> Estimate:
    """Return the estimate with the answers asked and missing, summed by arm."""
    return replace(
        estimate,
        missing={"base": sum(b.missing for b, _ in arms), "variant": sum(v.missing for _, v in arms)},
        asked={"base": sum(b.asked for b, _ in arms), "variant": sum(v.asked for _, v in arms)},
    )


def nothing_read(arms: Sequence[tuple[Arm, Arm]]) -> str:
    """Return why there is no estimate: the reasons of all missing answers."""
    reasons = sorted({reason for pair in arms for arm in pair for reason in arm.reasons})
    return f"no readable answers in one of the versions ({'; '.join(reasons[:4]) or 'nothing was asked'})"


def superiority(base: Side, variant: Side, compared: Compared) -> Estimate:
    """Return P(superiority) of the variant, from repeats, or exactly where a deterministic judge gave one answer each.

    Repeats added after a ruling was seen are analysed by a confidence sequence instead of a test made for one look.
    """
    low_arm = arm_of(base, compared.question, compared.measure)
    high_arm = arm_of(variant, compared.question, compared.measure)
    arms = [(low_arm, high_arm)]
    estimate = counted(_superiority(low_arm, high_arm, compared), arms)
    return replace(estimate, by_arm={"base": low_arm.values, "variant": high_arm.values})


def _superiority(low_arm: Arm, high_arm: Arm, compared: Compared) -> Estimate:
    if not low_arm.values or not high_arm.values:
        return Estimate(None, unit="repeats of each version", note=nothing_read([(low_arm, high_arm)]))
    if compared.deterministic and low_arm.constant and high_arm.constant:
        return _exact(low_arm, high_arm)
    pairs = min(len(low_arm.values), len(high_arm.values))
    sequential = compared.look is not None and compared.look < pairs
    compare = superiority_sequence if sequential else probability_of_superiority
    return replace(
        compare(low_arm.values, high_arm.values),
        bounds=missing_bounds(
            low_arm.values,
            high_arm.values,
            base_missing=low_arm.missing,
            variant_missing=high_arm.missing,
            lowest=compared.span[0],
            highest=compared.span[1],
        ),
        n=pairs,
        unit="repeats of each version",
    )


def _exact(base: Arm, variant: Arm) -> Estimate:
    if base.distribution and variant.distribution and base.distribution.keys() == variant.distribution.keys():
        levels = sorted(base.distribution, key=_level)
        estimate = superiority_of_distributions(
            [base.distribution[level] for level in levels], [variant.distribution[level] for level in levels]
        )
        return replace(estimate, unit="pair of answers")
    first, second = base.values[0], variant.values[0]
    value = 0.5 if first == second else float(second > first)
    method = "P(superiority) of the one answer that the judge gives to each version"
    return Estimate(value, n=1, unit="pair of answers", method=method, exact=True)


def _level(label: str) -> float:
    return float(label == "yes") if label in ("yes", "no") else float(label)
