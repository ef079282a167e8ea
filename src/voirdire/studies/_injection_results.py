"""What the answers of an injection study say: shifts by arm, item, language and dose, and crossings of the threshold."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from voirdire.blocks import Block, Cell, DiffBlock, FigureBlock, TableBlock
from voirdire.engine.advice import settle_by_items
from voirdire.lines import INJECTION, INJECTION_CONTROL, too_few
from voirdire.model import (
    Asking,
    Estimate,
    Expectation,
    Measurement,
    StatedRule,
    Unit,
    Verdict,
    canonical_json,
)
from voirdire.questions import Checklist, Predicate, Question, Score
from voirdire.readers import json as json_reader
from voirdire.readers import typed as typed_reader
from voirdire.stats.paired import paired_mean
from voirdire.studies._injection_material import Arm, Material, Subject

UNCHANGED = "unchanged, judged again"
EMPTIED = "emptied functions"

Answers = Sequence[Sequence[Verdict]]
"""The answers to one version: per repeat, one verdict per question."""


@dataclass(frozen=True)
class Answered:
    """All answers. `base`, `again`, `emptied`: by item; `variants`: by item and arm. `again`: the same patch once more."""

    base: Mapping[str, Answers]
    again: Mapping[str, Answers]
    emptied: Mapping[str, Answers]
    variants: Mapping[tuple[str, Arm], Answers]


@dataclass(frozen=True)
class Rubric:
    """How a verdict becomes a number from 0 to 1, overall and by rubric item.

    `question`: the one whose score is compared; `items`: names of the rubric items, with whether each is about scope.
    """

    question: Question
    asking: Asking
    items: Mapping[str, bool]

    @staticmethod
    def of(asking: Asking, wanted: str = "") -> "Rubric | None":
        """Return the rubric of a judge: its checklist or else its first numeric question; None where it has neither."""
        numeric = [one for one in asking.questions if isinstance(one, Checklist | Score | Predicate)]
        chosen = next(
            (one for one in numeric if one.id == wanted),
            next((one for one in numeric if isinstance(one, Checklist)), numeric[0] if numeric else None),
        )
        if chosen is None:
            return None
        items = (
            {item.id: item.scope for item in chosen.items}
            if isinstance(chosen, Checklist)
            else {one.id: False for one in numeric if one is not chosen}
        )
        return Rubric(chosen, asking, items)

    def score(self, answers: Answers) -> list[float | None]:
        """Return the score of each repeat on the scale from 0 to 1; None where it could not be read."""
        return [_scaled(self.question, _on(answer, self.question.id)) for answer in answers]

    def item(self, answers: Answers, name: str) -> list[float | None]:
        """Return what each repeat says of one rubric item, from 0 to 1."""
        if not isinstance(self.question, Checklist):
            asked = next(one for one in self.asking.questions if one.id == name)
            return [_scaled(asked, _on(answer, name)) for answer in answers]
        text = next(one.text for one in self.question.items if one.id == name)
        return [self._stated(_on(answer, self.question.id), Predicate(name, text)) for answer in answers]

    def _stated(self, verdict: Verdict | None, item: Predicate) -> float | None:
        """Return what a verdict says of an item of its checklist; verdicts keep the whole answer."""
        if verdict is None or verdict.value is None:
            return None
        reader = typed_reader if self.asking.reader.name == "typed" else json_reader
        entry = _entry(verdict.raw, self.question.id, typed=reader is typed_reader)
        if not isinstance(entry, Mapping) or item.id not in entry:
            return None
        alone = {item.id: entry[item.id]}
        raw = canonical_json({"answers": alone} if reader is typed_reader else alone)
        value = reader.read(raw, (item,), self.asking.reader.options)[item.id].value
        return float(value) if isinstance(value, float | int) else None


def _entry(raw: str, question: str, *, typed: bool) -> object:
    import json

    start, end = raw.find("{"), raw.rfind("}")
    try:
        data = json.loads(raw[start : end + 1])
        found: object = data["answers"][question]["items"] if typed else data[question]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return found


def _on(answer: Sequence[Verdict], question: str) -> Verdict | None:
    return next((verdict for verdict in answer if verdict.question_id == question), None)


def _scaled(question: Question, verdict: Verdict | None) -> float | None:
    if verdict is None or not isinstance(verdict.value, int | float):
        return None
    if isinstance(question, Score):
        return (verdict.value - question.low) / (question.high - question.low)
    return float(verdict.value)


# --- shifts -----------------------------------------------------------------------------------------------

Values = Callable[[Answers], list[float | None]]


@dataclass(frozen=True)
class Pair:
    """One item's two versions, read: the values of each repeat. `task`: what the item shares with others."""

    item: str
    task: str
    language: str
    base: Sequence[float | None]
    variant: Sequence[float | None]

    @property
    def means(self) -> tuple[float, float] | None:
        """Return the mean of either side; None where one of them could not be read at all."""
        base = [value for value in self.base if value is not None]
        variant = [value for value in self.variant if value is not None]
        return (sum(base) / len(base), sum(variant) / len(variant)) if base and variant else None

    def ends(self, base: float, variant: float) -> float:
        """Return the shift with every missing answer at one end of the scale."""
        filled = [
            [fill if value is None else value for value in side]
            for side, fill in ((self.base, base), (self.variant, variant))
        ]
        return sum(filled[1]) / len(filled[1]) - sum(filled[0]) / len(filled[0])


def pairs_of(
    subjects: Sequence[Subject], base: Mapping[str, Answers], other: Mapping[str, Answers], read: Values
) -> list[Pair]:
    """Return the pairs of the items that have both versions."""
    return [
        Pair(
            subject.item.id,
            (subject.item.origin.task if subject.item.origin else None) or subject.item.id,
            subject.language,
            read(base[subject.item.id]),
            read(other[subject.item.id]),
        )
        for subject in subjects
        if subject.item.id in base and subject.item.id in other
    ]


def shift(pairs: Sequence[Pair], *, names: tuple[str, str] = ("base", "variant")) -> Estimate:
    """Return the mean shift from base to variant; patches to one task count as one cluster. Missing answers by version."""
    both = [(pair, pair.means) for pair in pairs]
    read = [(pair, means) for pair, means in both if means is not None]
    missing = {
        names[0]: sum(value is None for pair in pairs for value in pair.base),
        names[1]: sum(value is None for pair in pairs for value in pair.variant),
    }
    asked = {names[0]: sum(len(one.base) for one in pairs), names[1]: sum(len(one.variant) for one in pairs)}
    counted = {
        "missing": missing,
        "asked": asked,
        "by_unit": {pair.item: None if means is None else means[1] - means[0] for pair, means in both},
    }
    if not read:
        return Estimate(None, unit="items", note="no item could be read in both versions", **counted)  # type: ignore[arg-type]
    tasks = [pair.task for pair, _ in read]
    clusters = tasks if len(set(tasks)) < len(tasks) else None
    estimate = paired_mean(
        [means[1] - means[0] for _, means in read], clusters=clusters, span=1.0, unit="items"
    )
    return replace(estimate, bounds=_bounds(pairs), **counted)  # type: ignore[arg-type]


def _bounds(pairs: Sequence[Pair]) -> tuple[float, float]:
    lows = [pair.ends(1.0, 0.0) for pair in pairs]
    highs = [pair.ends(0.0, 1.0) for pair in pairs]
    return sum(lows) / len(lows), sum(highs) / len(highs)


def crossings(pairs: Sequence[Pair], threshold: float) -> tuple[int, int]:
    """Return how many items go from below the threshold to it or above, and how many the other way."""
    read = [means for pair in pairs if (means := pair.means) is not None]
    up = sum(base < threshold <= variant for base, variant in read)
    down = sum(variant < threshold <= base for base, variant in read)
    return up, down


# --- measurements -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Results:
    """Everything measured on one judge."""

    material: Material
    answered: Answered
    rubric: Rubric
    threshold: float
    rule: StatedRule | None = None

    def pairs(
        self, arm: Arm | None, read: Values | None = None, *, subjects: Sequence[Subject] | None = None
    ) -> list[Pair]:
        """Return the pairs of an arm; of the unchanged control group for None."""
        other = (
            self.answered.again
            if arm is None
            else {item: answers for (item, one), answers in self.answered.variants.items() if one == arm}
        )
        chosen = self.material.subjects if subjects is None else subjects
        return pairs_of(chosen, self.answered.base, other, read or self.rubric.score)

    def members(self, arm: Arm) -> list[Subject]:
        """Return the patches that have a variant in this arm."""
        return [one for one in self.material.subjects if (one.item.id, arm) in self.answered.variants]

    def control(self) -> Estimate:
        """Return by how much emptied functions move the score."""
        pairs = pairs_of(self.material.subjects, self.answered.base, self.answered.emptied, self.rubric.score)
        return shift(pairs, names=("base", "emptied"))


def measurements(results: Results, references: tuple[str, ...]) -> list[Measurement]:
    """Return one measurement for each arm, and one for the unchanged control group."""
    control = results.control()
    arms: list[Arm | None] = [*results.material.arms, None]
    return [_measurement(results, arm, control, references) for arm in arms]


def _measurement(
    results: Results, arm: Arm | None, control: Estimate, references: tuple[str, ...]
) -> Measurement:
    estimate = shift(results.pairs(arm), names=("base", "variant" if arm else "again"))
    return replace(
        measured(arm.name if arm else UNCHANGED, estimate, control),
        rule=results.rule,
        blocks=tuple(_arm_blocks(results, arm)) if arm else (),
        references=references,
    )


def measured(subject: str, estimate: Estimate, control: Estimate) -> Measurement:
    """Return what is ruled on: a shift beside the control that must move the score."""
    return Measurement(
        probe="injection",
        subject=subject,
        estimate=estimate,
        line=INJECTION,
        unit=Unit.ITEM,
        control=control,
        control_line=INJECTION_CONTROL,
        control_expect=Expectation.LOWER,
        withheld=too_few(estimate.n, "patches"),
        settles=settle_by_items(estimate, INJECTION),
    )


def _arm_blocks(results: Results, arm: Arm) -> Iterator[Block]:
    members = results.members(arm)
    rows = [_row("all", results, arm, members)]
    languages = sorted({one.language for one in members})
    if len(languages) > 1:
        rows += [
            _row(name, results, arm, [one for one in members if one.language == name]) for name in languages
        ]
    yield TableBlock(
        title=f"{arm.name}: beside the unchanged control group",
        columns=_COLUMNS,
        rows=rows,
        note=f"Shifts of a score from 0 to 1; solved from {results.threshold:g} on. 'Unchanged' are the same patches, judged again as they were.",
    )
    if results.rubric.items:
        yield TableBlock(
            title=f"{arm.name}: by rubric item",
            columns=(
                "item",
                "about scope",
                "shift",
                "low",
                "high",
                "unchanged, shift",
                "read in both",
                "missing",
            ),
            rows=[_item_row(results, arm, name, scope) for name, scope in results.rubric.items.items()],
        )
    example = next(iter(results.material.of(arm).values()))
    before = next(one for one in members if one.item.id == example.item).item["patch"]
    yield DiffBlock(
        f"{arm.name}: one example, {example.item}", before, example.patch.patch, "patch", "edited patch"
    )


_COLUMNS = (
    *(
        "language",
        "patches",
        "places",
        "lines added",
        "shift",
        "low",
        "high",
        "unchanged, shift",
        "low ",
        "high ",
    ),
    *("crossed up", "crossed down", "unchanged up", "unchanged down", "missing, base", "missing, variant"),
)


def _row(name: str, results: Results, arm: Arm, members: Sequence[Subject]) -> list[Cell]:
    pairs = results.pairs(arm, subjects=members)
    same = results.pairs(None, subjects=members)
    moved, still = shift(pairs), shift(same)
    made = [
        one.patch for item, one in results.material.of(arm).items() if item in {s.item.id for s in members}
    ]
    return [
        *(name, len(pairs), _mean([one.places for one in made]), _mean([one.lines_added for one in made])),
        *(moved.value, moved.low, moved.high, still.value, still.low, still.high),
        *crossings(pairs, results.threshold),
        *crossings(same, results.threshold),
        *(moved.missing["base"], moved.missing["variant"]),
    ]


def _item_row(results: Results, arm: Arm, name: str, scope: bool) -> list[Cell]:
    def read(answers: Answers) -> list[float | None]:
        return results.rubric.item(answers, name)

    moved = shift(results.pairs(arm, read))
    still = shift(results.pairs(None, read, subjects=results.members(arm)))
    return [
        name,
        scope,
        moved.value,
        moved.low,
        moved.high,
        still.value,
        moved.n,
        sum(moved.missing.values()),
    ]


def _mean(values: Sequence[int]) -> float | None:
    return sum(values) / len(values) if values else None


def overview(results: Results) -> tuple[Block, ...]:
    """Return the figure of all arms, the doses of each kind, and what was left out."""
    arms = results.material.arms
    estimates = [(arm.name, shift(results.pairs(arm))) for arm in arms]
    estimates += [(UNCHANGED, shift(results.pairs(None))), (EMPTIED, results.control())]
    rows: list[Mapping[str, Cell]] = [
        {"label": name, "value": one.value, "low": one.low, "high": one.high}
        for name, one in estimates
        if one.value is not None
    ]
    figure = FigureBlock(
        title="Shift of the score by what was injected",
        kind="intervals",
        rows=rows,
        options={"lines": [-INJECTION.leak, 0.0, INJECTION.leak], "x_title": "shift of a score from 0 to 1"},
        caption="The outer rules mark the line on both sides of no shift.",
    )
    return (figure, *_doses(results), left_out(results.material))


def _doses(results: Results) -> tuple[Block, ...]:
    arms = results.material.arms
    if len({arm.dose for arm in arms}) < 2:
        return ()
    rows: list[Mapping[str, Cell]] = []
    for arm in arms:
        one = shift(results.pairs(arm))
        if one.value is not None:
            rows.append(
                {"x": arm.dose, "y": one.value, "low": one.low, "high": one.high, "group": arm.kind.value}
            )
    return (
        FigureBlock(
            title="Shift by dose",
            kind="curve",
            rows=rows,
            options={"x_title": "places at most", "y_title": "shift of a score from 0 to 1"},
        ),
    )


def left_out(material: Material) -> TableBlock:
    """Return what could not be edited or was not proved, counted by reason."""
    rows: list[list[Cell]] = [
        ["the whole patch", reason, count] for reason, count in material.refused().most_common()
    ]
    for arm in dict.fromkeys(one.arm for one in material.dropped if one.arm is not None):
        rows += [[arm.name, reason, count] for reason, count in material.lost(arm).most_common()]
    return TableBlock(
        title="What was left out",
        columns=("of", "because", "patches"),
        rows=rows,
        note="Left out before anything was asked; none of it counts as an answer.",
    )
