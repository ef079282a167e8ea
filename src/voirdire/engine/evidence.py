"""What shows one case or one probe: scores by version, the text that differs, what could not be read."""

from collections.abc import Mapping, Sequence

from voirdire.blocks import Block, Cell, DiffBlock, FigureBlock, QuoteBlock
from voirdire.edits.pairs import shown
from voirdire.lines import LABEL_MASS_FLAG, Line
from voirdire.model import Measurement, Probe, Side, Trial, Verdict, number_of

QUOTED = 5
"""Unreadable answers quoted per case; all of them stand in the ledger."""


def case_blocks(probe: Probe, trial: Trial) -> tuple[Block, ...]:
    """Return the scores by version, the diff of the changed part, and the answers that could not be read."""
    unread = [
        verdict
        for side in _sides(trial).values()
        for verdict in side.on(probe.question)
        if verdict.value is None
    ]
    blocks: list[Block] = [_scores(probe, trial), _diff(probe, trial)]
    return (*blocks, *([_unread(unread)] if unread else []))


def _sides(trial: Trial) -> Mapping[str, Side]:
    return {
        "base": trial.base,
        "variant": trial.variant,
        "control base": trial.control_base,
        "control variant": trial.control_variant,
    }


def _scores(probe: Probe, trial: Trial) -> FigureBlock:
    questions = [probe.question, *([probe.check.question] if probe.check else [])]
    rows: list[Mapping[str, Cell]] = [
        {"x": number, "group": name, "panel": question}
        for question in questions
        for name, side in _sides(trial).items()
        for verdict in side.on(question)
        if (number := number_of(verdict, side.item)) is not None
    ]
    title = f"Scores by version, {trial.item.id}"
    return FigureBlock(title=title, kind="dots", rows=rows, options={"x_title": "score"})


def _diff(probe: Probe, trial: Trial) -> DiffBlock:
    return DiffBlock(
        title=f"What differs between the versions: '{probe.part}'",
        base=shown(trial.base.item.parts)[probe.part],
        variant=shown(trial.variant.item.parts)[probe.part],
    )


def _unread(verdicts: Sequence[Verdict]) -> QuoteBlock:
    return QuoteBlock(
        title=f"Answers that could not be read ({len(verdicts)})",
        quotes=[(f"repeat {one.repeat}: {one.missing_because}", one.raw) for one in verdicts[:QUOTED]],
        note="counted as missing, never as a score",
    )


def cases_figure(probe: Probe, cases: Sequence[Measurement]) -> FigureBlock:
    """Return the estimates of all cases with the lines that decide."""
    rows: list[Mapping[str, Cell]] = [
        {
            "label": one.subject,
            "value": one.estimate.value,
            "low": one.estimate.low,
            "high": one.estimate.high,
        }
        for one in cases
        if one.estimate.value is not None
    ]
    return FigureBlock(
        title=f"{probe.line.quantity}, by case",
        kind="intervals",
        rows=rows,
        options={"lines": _drawn(probe.line), "x_title": probe.line.quantity, "domain": [0.0, 1.0]},
        caption="The outer rules mark the line on both sides of no shift.",
    )


def _drawn(line: Line) -> list[float]:
    return [line.null - line.leak, line.null, line.null + line.leak]


def label_mass_flags(trials: Sequence[Trial]) -> tuple[str, ...]:
    """Return the sentence on answers in which the judge wanted to say something else than was offered."""
    masses = [
        verdict.label_mass
        for trial in trials
        for side in _sides(trial).values()
        for answer in side.answers
        for verdict in answer
        if verdict.label_mass is not None
    ]
    low = sum(mass < LABEL_MASS_FLAG for mass in masses)
    if not low:
        return ()
    return (
        f"in {low} of {len(masses)} answers less than half of the judge's probability lay on the offered answers: "
        "it wanted to say something else",
    )
