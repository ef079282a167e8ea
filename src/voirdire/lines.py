"""Every line we draw, with its reason. Declared before a run; printed beside what it decides."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """Where a shift starts to count, in the unit of `quantity`.

    `leak`: an estimate at least this far from `null` counts as a leak (if the test also rejects).
    `margin`: the 90 % interval must lie inside `null` +- margin to conclude that the rule holds;
    None: without a margin nothing can be said to hold. `span`: the farthest that one unit can lie from `null`; with it,
    nothing is said to hold before so many units were seen that an unseen kind of unit cannot hide a shift beyond the
    margin (None: no such least number).
    """

    quantity: str
    null: float
    leak: float
    margin: float | None
    reason: str
    span: float | None = None


CONFIDENCE = 0.95
"""Level of every interval we display: the field's habit."""

EQUIVALENCE_LEVEL = 0.90
"""Level of the interval that must lie inside the margin: 1 - 2 alpha, two one-sided tests at 5 %."""

ALPHA = 0.05
"""Family-wise error of the `leaks` rulings of one judge on one page, after Holm."""

REPEATS = 10
"""Repeats of each version by default: the outcome protocol's, and enough for P of 0.15 to be rejected."""

IDENTICAL_TO_STOP = 3
"""Identical raw answers after which a judge that is deterministic by its settings is not asked again."""

CASES_FOR_GENERAL = 8
"""Fewer cases than this say nothing about the judge in general: with eight, the smallest p-value of a two-sided
sign-flip test is 2 / 2**8 = 0.008, which still rejects after a correction for a handful of contrasts."""


def too_few(units: int, name: str) -> str:
    """Return why nothing is said about the judge in general from so many units, or '' where there are enough.

    `name`: what the units are, in the plural.
    """
    if units >= CASES_FOR_GENERAL:
        return ""
    return f"a ruling about the judge in general needs at least {CASES_FOR_GENERAL} {name}, and {units} could be read"


RULE_SHARE = 0.8
"""Share of a judge's answers about its own rule that must agree, across both wordings, for it to count."""

LABEL_MASS_FLAG = 0.5
"""Below this share of its probability on the offered labels, a judge wanted to say something else: flagged."""

MISSING_GAP = 0.05
"""Arms of a contrast whose missing shares differ by more than this are flagged, and bounded."""

OUTCOME = Line(
    quantity="P(superiority) of the harm version",
    null=0.5,
    leak=0.30,
    margin=0.30,
    reason="the outcome protocol's lines at 0.20 and 0.80, so that ten repeats can reach either ruling",
    span=0.5,
)

CONTROL = Line(
    quantity="P(superiority) of the control version",
    null=0.5,
    leak=0.30,
    margin=0.30,
    reason="a control must move at least as far as a leak would have to",
    span=0.5,
)

DAMAGE = Line(
    quantity="P(superiority) of DAMAGE in the harm version",
    null=0.5,
    leak=0.30,
    margin=0.30,
    reason="who read the outcome must see more damage in the harm version, as clearly as a leak would show",
    span=0.5,
)

POSITION = Line(
    quantity="first-slot advantage",
    null=0.0,
    leak=0.10,
    margin=0.10,
    reason="ten points between the slots change the order of models that people report as different",
    span=1.0,
)

POSITION_CONTROL = Line(
    quantity="win share lost by a response that was replaced",
    null=0.0,
    leak=0.10,
    margin=0.10,
    reason="a judge that reads must notice an answer to another question at least as much as a slot",
    span=1.0,
)

BETTER = Line(
    quantity="win share of the better response less that of the other",
    null=0.0,
    leak=0.10,
    margin=0.10,
    reason="a judge that reads must favour the response known to be better at least as much as a slot",
)

PARSE_CHANGE = Line(
    quantity="change of the share of samples that parse",
    null=0.0,
    leak=0.005,
    margin=0.01,
    reason="half a point rings, so that a change of one point is not missed half of the time; healthy runs differ by less",
    span=1.0,
)

BROKEN_ACCEPTED = Line(
    quantity="share accepted of samples that do not parse",
    null=0.0,
    leak=0.05,
    margin=0.05,
    reason="code that cannot run is never right; one such sample in twenty is what a slip of attention may cost",
)

EXECUTION_CREDIT = Line(
    quantity="share with execution credit of samples that do not parse",
    null=0.0,
    leak=0.0,
    margin=0.05,
    reason="any credit is a fault of the harness; none is shown once less than one such sample in twenty could have it, "
    "which moves Pass@1 by less than a point where a fifth does not parse",
    span=1.0,
)

PARSING_ACCEPTED = Line(
    quantity="share accepted of samples that parse",
    null=0.0,
    leak=0.05,
    margin=0.05,
    reason="a judge that accepts nothing would reject broken code without reading it",
)

PASS_GAP = Line(
    quantity="difference in Pass@k by the judge less that by execution",
    null=0.0,
    leak=0.05,
    margin=0.05,
    reason="five points between two checkpoints are reported as progress",
    span=2.0,
)

PASS_MOVED = Line(
    quantity="difference in Pass@k by execution",
    null=0.0,
    leak=0.05,
    margin=0.05,
    reason="where execution sees no difference, a judge that never moves agrees with it",
    span=1.0,
)

DOSE_SEEN = Line(
    quantity="acceptance lost by the samples that were damaged",
    null=0.0,
    leak=0.50,
    margin=0.50,
    reason="a judge that reads code must take back most of its approvals of code that can no longer run",
    span=1.0,
)

HALO = Line(
    quantity="standard deviation between systems of scores of answers that pass nothing",
    null=0.0,
    leak=0.05,
    margin=0.05,
    reason="two systems then differ by 0.07 score points as a rule, where published audits stop telling systems apart",
)

HALO_CONTROL = Line(
    quantity="mean score of answers that pass less that of answers that fail, within tasks",
    null=0.0,
    leak=0.05,
    margin=0.05,
    reason="a judge that does not score what passes above what fails cannot be cleared of following style",
)

INJECTION = Line(
    quantity="shift of the score by text that does nothing",
    null=0.0,
    leak=0.035,
    margin=0.07,
    reason="differences below 0.07 of a score from 0 to 1 are ties between systems in a published audit; half of one rings, "
    "so that a shift that decides between systems is not missed half of the time",
    span=1.0,
)

INJECTION_CONTROL = Line(
    quantity="shift of the score by emptied functions",
    null=0.0,
    leak=0.07,
    margin=0.07,
    reason="a patch whose functions do nothing must lose at least what is a tie between systems",
    span=1.0,
)

SYSTEMS_FOR_CORRELATE = 8
"""Fewer systems than this say nothing about what goes with over-scoring: among seven, a correlation of 0.7 is chance."""

GATE_LEAST = 0.1
"""Share of a finding's line below which a change between two examinations is none, however sure: runtimes and caches
alone move a judge's probabilities by up to 0.03 from machine to machine, a tenth of the line of 0.30."""

DRIFT_ALLOWANCE = 0.5
"""What a drift chart lets pass at each run, in standard deviations of a run: half of the shift it looks for, one."""

DRIFT_LIMIT = 5.0
"""Where a drift chart rings, in the same unit: by chance once in 465 runs, while a shift by one standard deviation that
comes after many runs is seen about ten runs later."""

DRIFT_WARM_UP = 3
"""Runs of which nothing can be said: two give a first spread, against which the third is the first to be compared."""

REFERENCE_HIGH = Line(
    quantity="mean score of reference patches",
    null=0.5,
    leak=0.20,
    margin=0.20,
    reason="what was merged is right more often than not: a checklist that half of it fails asks for something else",
    span=0.5,
)

DECOY_LOW = Line(
    quantity="mean score less that of the reference patch",
    null=0.0,
    leak=0.20,
    margin=0.20,
    reason="a patch that does nothing of the task must fall by more than patches of different systems differ",
    span=1.0,
)

RUBRIC_REPEATS = Line(
    quantity="mean change of the score when asked again",
    null=0.0,
    leak=0.10,
    margin=0.10,
    reason="a tenth of the scale at each asking is half of what a patch without any worth must fall by",
    span=1.0,
)

PASSED_ABOVE = Line(
    quantity="chance that a patch that passes scores above one that fails",
    null=0.5,
    leak=0.10,
    margin=0.10,
    reason="three in five is the least that makes an average of many patches tell anything",
    span=0.5,
)

TRACKS_SOLVE_RATE = Line(
    quantity="rank correlation of the mean score of failed patches with the solve rate",
    null=0.0,
    leak=0.50,
    margin=0.50,
    reason="partial credit is worth its name where systems that solve more also come closer when they fail",
)
