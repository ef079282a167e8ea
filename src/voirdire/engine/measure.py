"""From trials to measurements: what moved, by how much, how surely, and what was missing.

A probe with unit REPEAT gives one measurement per case, from its repeats, and one about the judge, from the cases; a
probe with unit ITEM gives one, from the items.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from voirdire.engine.advice import settle_by_cases, settle_by_items, settle_by_repeats
from voirdire.engine.arms import (
    Arm,
    Compared,
    Span,
    arm_of,
    counted,
    nothing_read,
    span_of,
    superiority,
)
from voirdire.engine.evidence import case_blocks, cases_figure, label_mass_flags
from voirdire.lines import too_few
from voirdire.model import (
    Estimate,
    Expectation,
    Measurement,
    Probe,
    Side,
    StatedRule,
    Trial,
    Unit,
)
from voirdire.questions import Question
from voirdire.stats.cases import superiority_over_cases
from voirdire.stats.paired import McNemarTest, paired_mean, paired_proportion

JUDGE = "judge"
"""The subject of a ruling about the judge in general."""


def measure(
    probe: Probe,
    trials: Sequence[Trial],
    *,
    questions: Sequence[Question],
    deterministic: bool,
    rule: StatedRule | None = None,
    earlier_looks: Mapping[str, int | None] | None = None,
) -> list[Measurement]:
    """Return the measurements of one probe, those of single cases first.

    `questions`: what the judge was asked, for the ends of its scale. `deterministic`: by the judge's settings.
    `earlier_looks`: per item, the number of repeats at which a ruling was last seen.
    """
    if probe.unit is Unit.ITEM:
        return [_over_items(probe, trials, span_of(questions, probe.question), rule)]
    looks = earlier_looks or {}
    compared = Compared(probe.question, probe.measure, span_of(questions, probe.question), deterministic)
    cases = [
        replace(
            _one_case(probe, trial, replace(compared, look=looks.get(trial.item.id)), questions),
            rule=rule,
        )
        for trial in trials
    ]
    return [*cases, replace(_over_cases(probe, cases), rule=rule)]


def _about(
    probe: Probe, subject: str, unit: Unit, estimate: Estimate, control: Estimate, settles: str
) -> Measurement:
    """Return a measurement with all that comes from the probe alone."""
    check = probe.check
    return Measurement(
        probe=probe.name,
        subject=subject,
        estimate=estimate,
        line=probe.line,
        expect=probe.expect,
        unit=unit,
        control=control,
        control_line=probe.control.line,
        control_expect=probe.control.expect,
        check_line=check.line if check else None,
        check_expect=check.expect if check else Expectation.HIGHER,
        settles=settles,
        references=probe.references,
    )


# --- one case, from its repeats -----------------------------------------------------------------------


def _one_case(probe: Probe, trial: Trial, compared: Compared, questions: Sequence[Question]) -> Measurement:
    estimate = superiority(trial.base, trial.variant, compared)
    control = superiority(trial.control_base, trial.control_variant, replace(compared, look=None))
    settles = settle_by_repeats(estimate, probe.line)
    return replace(
        _about(probe, trial.item.id, Unit.REPEAT, estimate, control, settles),
        check=_checked(probe, trial, compared, questions),
        flags=label_mass_flags([trial]),
        blocks=case_blocks(probe, trial),
    )


def _checked(
    probe: Probe, trial: Trial, compared: Compared, questions: Sequence[Question]
) -> Estimate | None:
    if probe.check is None:
        return None
    span = span_of(questions, probe.check.question)
    other = Compared(probe.check.question, probe.check.measure, span, compared.deterministic)
    return superiority(trial.base, trial.variant, other)


# --- the judge in general, from cases -------------------------------------------------------------------


def _over_cases(probe: Probe, cases: Sequence[Measurement]) -> Measurement:
    estimate = _mean_of({case.subject: case.estimate for case in cases})
    control = _mean_of({case.subject: case.control for case in cases if case.control is not None})
    checks = {case.subject: case.check for case in cases if case.check is not None}
    settles = settle_by_cases(estimate, probe.line)
    return replace(
        _about(probe, JUDGE, Unit.CASE, estimate, control, settles),
        check=_mean_of(checks) if checks else None,
        withheld=too_few(estimate.n, "cases"),
        blocks=(cases_figure(probe, cases),) if estimate.n else (),
    )


def _mean_of(by_case: Mapping[str, Estimate]) -> Estimate:
    estimates = list(by_case.values())
    values = [estimate.value for estimate in estimates if estimate.value is not None]
    over = superiority_over_cases(values) if values else Estimate(None, note="no case could be read")
    return replace(
        over,
        unit="cases",
        bounds=_mean_bounds(estimates),
        missing=_summed([estimate.missing for estimate in estimates]),
        asked=_summed([estimate.asked for estimate in estimates]),
        by_unit={case: estimate.value for case, estimate in by_case.items()},
        read_by_unit={
            case: _share_read(sum(estimate.missing.values()), sum(estimate.asked.values()))
            for case, estimate in by_case.items()
        },
    )


def _share_read(missing: int, asked: int) -> float:
    return (asked - missing) / asked if asked else 0.0


def _summed(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    arms = {arm: None for one in counts for arm in one}
    return {arm: sum(one.get(arm, 0) for one in counts) for arm in arms}


def _mean_bounds(estimates: Sequence[Estimate]) -> tuple[float, float] | None:
    """Return the mean of the cases' own bounds; a case of which nothing was read may lie anywhere."""
    if not estimates:
        return None
    pairs = [_bounds_of(estimate) for estimate in estimates]
    return (sum(low for low, _ in pairs) / len(pairs), sum(high for _, high in pairs) / len(pairs))


def _bounds_of(estimate: Estimate) -> tuple[float, float]:
    if estimate.value is None:
        return (0.0, 1.0)
    return estimate.bounds or (estimate.value, estimate.value)


# --- the judge, from items ------------------------------------------------------------------------------


def _over_items(probe: Probe, trials: Sequence[Trial], span: Span, rule: StatedRule | None) -> Measurement:
    estimate = _shift(probe, [(trial.base, trial.variant) for trial in trials], span)
    control = _shift(probe, [(trial.control_base, trial.control_variant) for trial in trials], span)
    settles = settle_by_items(estimate, probe.line)
    return replace(
        _about(probe, JUDGE, Unit.ITEM, estimate, control, settles),
        withheld=too_few(estimate.n, "items"),
        rule=rule,
        flags=label_mass_flags(trials),
        blocks=probe.describe(trials) if probe.describe else (),
    )


def _shift(probe: Probe, pairs: Sequence[tuple[Side, Side]], span: Span) -> Estimate:
    """Return the mean shift from base to variant over items that were read on both sides."""
    arms = [tuple(arm_of(side, probe.question, probe.measure) for side in pair) for pair in pairs]
    both: list[tuple[Arm, Arm]] = [(base, variant) for base, variant in arms]
    shifts = [variant.mean - base.mean if base.values and variant.values else None for base, variant in both]
    read = [shift for shift in shifts if shift is not None]
    if read:
        estimate = replace(_mean_shift(read, span), bounds=_shift_bounds(both, span), unit="items")
    else:
        estimate = Estimate(None, unit="items", note=nothing_read(both))
    names = [base.item.id for base, _ in pairs]
    return replace(
        counted(estimate, both),
        by_unit=dict(zip(names, shifts, strict=True)),
        read_by_unit={
            name: _share_read(base.missing + variant.missing, base.asked + variant.asked)
            for name, (base, variant) in zip(names, both, strict=True)
        },
    )


def _mean_shift(shifts: Sequence[float], span: Span) -> Estimate:
    """Return the mean shift: of whole choices as a paired difference of proportions, else as a mean of differences."""
    if span == (0.0, 1.0) and all(shift in (-1.0, 0.0, 1.0) for shift in shifts):
        plus, minus = shifts.count(1.0), shifts.count(-1.0)
        return paired_proportion(plus, minus, len(shifts) - plus - minus, test=McNemarTest.EXACT)
    return paired_mean(shifts, span=span[1] - span[0])


def _shift_bounds(arms: Sequence[tuple[Arm, Arm]], span: Span) -> tuple[float, float] | None:
    asked = [(base, variant) for base, variant in arms if base.asked and variant.asked]
    if not asked:
        return None
    low = sum(variant.mean_with(span[0]) - base.mean_with(span[1]) for base, variant in asked) / len(asked)
    high = sum(variant.mean_with(span[1]) - base.mean_with(span[0]) for base, variant in asked) / len(asked)
    return (low, high)
