"""Outcome ratings: do recorded ratings of the same act rise when it ends in harm?

Reads ratings of scenarios that exist in two versions, alike but for the ending. What was drawn is the scenario: a
judge's P(superiority) is found within each scenario, and the statement about the judge counts scenarios.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from voirdire.blocks import Block, Cell, FigureBlock, TableBlock
from voirdire.errors import DataError
from voirdire.lines import OUTCOME, Line, too_few
from voirdire.model import (
    Estimate,
    Expectation,
    Finding,
    FindingKind,
    Measurement,
    StatedRule,
    Unit,
    VerdictTable,
)

NEEDS = ("judge", "task", "question", "outcome", "value")
"""`task` is the scenario, `outcome` 'no_harm' or 'harm'. Besides: `study`, the setting in which it was asked."""

ACT = ("Negligent", "Reckless")
"""Ratings of the act itself, which was the same."""

RESPONSE = ("Blame", "Punish")
"""Ratings of what should follow, which by some norms may depend on the harm done."""

SCALES = (*ACT, *RESPONSE)

RECORDED = StatedRule(
    permits=None, agree=0, asked=0, missing=0, note="recorded ratings: the judge cannot be asked"
)

Settle = Callable[[Estimate, Line], str]
"""Says what would settle an unresolved estimate."""

Ratings = Mapping[str, Sequence[float]]
"""Scores by scenario."""


@dataclass(frozen=True)
class Comparison:
    """One judge's ratings on one scale in one study, by scenario and ending, and how many are missing by ending."""

    judge: str
    study: str
    question: str
    no_harm: Ratings = field(repr=False)
    harm: Ratings = field(repr=False)
    missing: Mapping[str, int]

    @property
    def name(self) -> str:
        """The comparison in words."""
        return ", ".join(part for part in (self.judge, self.study, self.question) if part)


# --- numbers ------------------------------------------------------------------------------------------


def by_scenario(comparison: Comparison) -> dict[str, Estimate]:
    """Return P(superiority) of harm within each scenario that has ratings of both endings."""
    from voirdire.stats.superiority import probability_of_superiority

    shared = [scenario for scenario in comparison.no_harm if scenario in comparison.harm]
    return {
        scenario: probability_of_superiority(
            comparison.no_harm[scenario], comparison.harm[scenario], unit="completions"
        )
        for scenario in shared
    }


def over_scenarios(comparison: Comparison) -> Estimate:
    """Return the mean P(superiority) over scenarios, with an interval and a test that count scenarios."""
    from voirdire.stats.cases import superiority_over_cases

    read = {"no harm": len(_all(comparison.no_harm)), "harm": len(_all(comparison.harm))}
    asked = {arm: count + comparison.missing[arm] for arm, count in read.items()}
    values = [one.value for one in by_scenario(comparison).values() if one.value is not None]
    if not values:
        note = "no scenario has ratings of both endings"
        return Estimate(None, unit="scenarios", note=note, missing=comparison.missing, asked=asked)
    general = superiority_over_cases(values, unit="scenarios")
    return replace(general, missing=comparison.missing, asked=asked)


def pooled_superiority(comparison: Comparison) -> Estimate:
    """Return P(superiority) over all pairs of completions, whatever their scenario: the published share."""
    from voirdire.stats.superiority import probability_of_superiority

    no_harm, harm = _all(comparison.no_harm), _all(comparison.harm)
    if not no_harm or not harm:
        return Estimate(None, unit="completions", note="no rating of one of the endings")
    return probability_of_superiority(no_harm, harm, unit="completions")


def standardised_difference(comparison: Comparison) -> Estimate:
    """Return Cohen's d, harm less no harm, over all completions: the published effect size."""
    from voirdire.stats.effect import cohens_d

    no_harm, harm = _all(comparison.no_harm), _all(comparison.harm)
    if min(len(no_harm), len(harm)) < 2:
        return Estimate(None, unit="completions", note="fewer than two ratings of one of the endings")
    return cohens_d(no_harm, harm, unit="completions")


def _all(ratings: Ratings) -> list[float]:
    return [score for scores in ratings.values() for score in scores]


# --- from the table -----------------------------------------------------------------------------------


def comparisons(table: VerdictTable, *, scales: Sequence[str] = SCALES) -> list[Comparison]:
    """Return one comparison per judge, study and scale, in the order of the table; scales not asked are left out.

    Raises DataError for an outcome that is neither 'no_harm' nor 'harm', and where no such scale was asked.
    """
    import polars as pl

    table.require(*NEEDS)
    frame = table.frame
    strange = frame.filter(~pl.col("outcome").is_in(["no_harm", "harm"]))
    if strange.height:
        raise DataError(f"outcome is '{strange['outcome'][0]}'", hint="known: no_harm, harm")
    asked = frame.filter(pl.col("question").is_in(scales))
    if not asked.height:
        raise DataError(
            f"no rating on {', '.join(scales)}, only on {sorted(frame['question'].unique().to_list())}",
            hint="name the scales that were asked",
        )
    if "study" not in asked.columns:
        asked = asked.with_columns(study=pl.lit(None))
    groups = asked.partition_by("judge", "study", "question", maintain_order=True, as_dict=True)
    return [_comparison(key, group.rows(named=True)) for key, group in groups.items()]


def _comparison(key: Sequence[object], rows: Sequence[Mapping[str, object]]) -> Comparison:
    arms: dict[str, dict[str, list[float]]] = {"no_harm": {}, "harm": {}}
    missing = {"no harm": 0, "harm": 0}
    for row in rows:
        outcome, value = str(row["outcome"]), row["value"]
        if isinstance(value, int | float):
            arms[outcome].setdefault(str(row["task"]), []).append(float(value))
        else:
            missing[outcome.replace("_", " ")] += 1
    judge, study, question = key
    return Comparison(
        judge=str(judge),
        study="" if study is None else f"study {study}",
        question=str(question),
        no_harm=arms["no_harm"],
        harm=arms["harm"],
        missing=missing,
    )


# --- what is handed on --------------------------------------------------------------------------------


def measurements(
    table: VerdictTable, *, scales: Sequence[str] = SCALES, settle: Settle | None = None
) -> list[Measurement]:
    """Return one measurement per judge, study and scale, about the judge in general and ready for a ruling.

    The record holds no control (the same ending after another act), so that none of them can be ruled to hold.
    """
    return [_measurement(one, settle) for one in comparisons(table, scales=scales)]


def families(
    table: VerdictTable, *, scales: Sequence[str] = SCALES, settle: Settle | None = None
) -> dict[str, list[Measurement]]:
    """Return the measurements by the family in which they are to be corrected: one for each judge, by its name."""
    grouped: dict[str, list[Measurement]] = {}
    for one in comparisons(table, scales=scales):
        grouped.setdefault(one.judge, []).append(_measurement(one, settle))
    return grouped


def _measurement(comparison: Comparison, settle: Settle | None) -> Measurement:
    estimate = over_scenarios(comparison)
    return Measurement(
        probe="outcome_ratings",
        subject=comparison.name,
        estimate=estimate,
        line=OUTCOME,
        expect=Expectation.INVARIANT,
        unit=Unit.CASE,
        withheld="" if estimate.value is None else too_few(estimate.n, "scenarios"),
        settles=settle(estimate, OUTCOME) if settle else "",
        rule=RECORDED,
        flags=_norm(comparison),
    )


def _norm(comparison: Comparison) -> tuple[str, ...]:
    if comparison.question not in RESPONSE:
        return ()
    return (f"by some norms {comparison.question.lower()} may depend on the harm done; the act was the same",)


def audit(table: VerdictTable) -> list[Finding]:
    """Return one descriptive finding: judges, scales and scenarios side by side, without a ruling."""
    compared = comparisons(table)
    ranked = sorted(compared, key=lambda one: (-(over_scenarios(one).value or 0.0), one.name))
    blocks: tuple[Block, ...] = (_judges_table(ranked), *_figures(compared), _scenarios_table(compared))
    return [
        Finding(
            id="outcome_ratings/overview",
            kind=FindingKind.AUDIT,
            name="outcome_ratings",
            subject=f"{len({one.judge for one in compared})} judges",
            judge="recorded",
            sentence=_sentence(ranked),
            line=OUTCOME,
            blocks=blocks,
        )
    ]


def _sentence(ranked: Sequence[Comparison]) -> str:
    judges, scenarios = {one.judge for one in ranked}, {name for one in ranked for name in one.harm}
    most, least = ranked[0], ranked[-1]
    return (
        f"{len(judges)} judges rated the same acts in {len(scenarios)} scenarios after no harm and after harm: "
        f"P(superiority) of harm reaches from {over_scenarios(least).value or 0:.2f} ({least.name}) "
        f"to {over_scenarios(most).value or 0:.2f} ({most.name})."
    )


def _judges_table(ranked: Sequence[Comparison]) -> TableBlock:
    return TableBlock(
        title="Ratings after harm against ratings after no harm",
        columns=(
            *(
                "judge",
                "study",
                "scale",
                "scenarios",
                "P, mean over scenarios",
                "low",
                "high",
                "p (sign flips)",
            ),
            *("P, all pairs", "Cohen's d", "missing, no harm", "missing, harm"),
        ),
        rows=[_judge_row(one) for one in ranked],
        note=(
            "P is the chance that a rating after harm is higher than one after no harm, ties half: 0.5 is no shift. "
            "Over all pairs, and as Cohen's d, it mixes scenarios, as the source does."
        ),
    )


def _judge_row(one: Comparison) -> list[Cell]:
    general = over_scenarios(one)
    return [
        *(one.judge, one.study, one.question, general.n),
        *(general.value, general.low, general.high, general.p_value),
        *(pooled_superiority(one).value, standardised_difference(one).value),
        *(one.missing["no harm"], one.missing["harm"]),
    ]


def _figures(compared: Sequence[Comparison]) -> list[FigureBlock]:
    """Return one figure per study and scale that rates the act: P by scenario, grouped by judge."""
    panels = dict.fromkeys((one.study, one.question) for one in compared if one.question in ACT)
    return [_figure([one for one in compared if (one.study, one.question) == panel]) for panel in panels]


def _figure(compared: Sequence[Comparison]) -> FigureBlock:
    rows = [
        {"label": scenario, "value": one.value, "low": one.low, "high": one.high, "group": comparison.judge}
        for comparison in compared
        for scenario, one in by_scenario(comparison).items()
    ]
    where = ", ".join(part for part in (compared[0].question, compared[0].study) if part)
    return FigureBlock(
        title=f"P(superiority) of harm by scenario: {where}",
        kind="intervals",
        rows=rows,
        options={
            "lines": [OUTCOME.null - OUTCOME.leak, OUTCOME.null, OUTCOME.null + OUTCOME.leak],
            "x_title": OUTCOME.quantity,
            "domain": [0.0, 1.0],
        },
        caption="A few completions a scenario: the intervals are wide, the agreement between scenarios is the evidence.",
    )


def _scenarios_table(compared: Sequence[Comparison]) -> TableBlock:
    scales = list(dict.fromkeys(one.question for one in compared))
    cells: dict[tuple[str, str, str], dict[str, float | None]] = {}
    for comparison in compared:
        for scenario, one in by_scenario(comparison).items():
            cells.setdefault((comparison.judge, comparison.study, scenario), {})[comparison.question] = (
                one.value
            )
    rows = [[*key, *(values.get(scale) for scale in scales)] for key, values in cells.items()]
    return TableBlock(
        title="P(superiority) of harm by judge and scenario",
        columns=("judge", "study", "scenario", *scales),
        rows=rows,
    )
