"""Solve rate against mean score, and how far systems lie apart on answers that pass nothing.

The spread is given raw, on the tasks that all compared systems attempted, and within tasks (one level for every task). A
spread that goes up with the solve rate may be nearer misses of better systems; the rest cannot be.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from voirdire.audits._halo_table import (
    RANKED_FROM,
    STRATUM_OF,
    Answers,
    Grouping,
    Stratum,
    Zero,
    columns,
    ranked_groups,
)
from voirdire.blocks import Block, Cell, FigureBlock, TableBlock, TextBlock
from voirdire.errors import DataError
from voirdire.lines import HALO, HALO_CONTROL, too_few
from voirdire.model import Estimate, Expectation, Measurement, StatedRule, Unit

if TYPE_CHECKING:
    import polars as pl

    from voirdire.stats.system_effects import Spread, SystemEffects

PERMUTATIONS = 999
"""Exchanges within tasks behind a ruling."""

TABLE_PERMUTATIONS = 499
"""The same behind a row of a table."""

FEWEST_SYSTEMS = 3
MORE_SYSTEMS = "More systems, rather than more tasks: how far few systems spread says little about others."
RECORDED = StatedRule(permits=None, agree=0, asked=0, missing=0, note="an audit of scores: nobody was asked")

WAYS = ("raw", "shared tasks", "within task")
"""How a spread is taken: see the text above."""


@dataclass(frozen=True)
class Group:
    """One group of answers: how much it solves, and its mean scores by stratum."""

    name: str
    solved: Estimate
    scores: Mapping[Stratum, Estimate]


def groups_of(answers: Answers, grouping: Grouping, *, near_misses: bool = True) -> list[Group]:
    """Return every group's solve rate and mean scores, by falling solve rate. Intervals count tasks."""
    found = []
    for part in answers.frame.partition_by(grouping.value, maintain_order=True):
        one = Answers(answers.judge, part)
        scores = {stratum: _mean(one.stratum(stratum, near_misses=near_misses)) for stratum in Stratum}
        found.append(Group(str(part[grouping.value][0]), solve_rate(part), scores))
    return sorted(found, key=lambda one: (-(one.solved.value or 0.0), one.name))


def solve_rate(frame: "pl.DataFrame") -> Estimate:
    """Return the share of answers that pass, of those that were run; broken environments are no failures."""
    from voirdire.stats.clustered_mean import clustered_mean

    run = frame.filter(frame["known"])
    passed = run["truth_passed"].cast(float).to_numpy()
    return clustered_mean(passed, run["task"].to_numpy(), within=(0.0, 1.0))


def _mean(frame: "pl.DataFrame") -> Estimate:
    from voirdire.stats.clustered_mean import clustered_mean

    return clustered_mean(frame["value"].to_numpy(), frame["task"].to_numpy(), within=(0.0, 1.0))


# --- spreads ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spreads:
    """Spreads of one set of answers in one grouping, by way; a reason stands where one cannot be had.

    `whole`: as it is; `beyond`: without what goes up with the solve rate. `apart`: groups that no chain of shared tasks joins
    to the others.
    """

    title: str
    answers: int
    groups: tuple[str, ...]
    whole: Mapping[str, "Spread | str"]
    beyond: Mapping[str, "Spread | str"]
    apart: tuple[str, ...] = ()


def spreads_of(
    answers: Answers,
    grouping: Grouping,
    zero: Zero,
    *,
    near_misses: bool,
    title: str,
    seed: int = 0,
    permutations: int = TABLE_PERMUTATIONS,
) -> Spreads:
    """Return the spreads between groups with enough zero-pass answers to be ranked."""
    stratum = answers.stratum(STRATUM_OF[zero], near_misses=near_misses)
    ranked = ranked_groups(stratum, grouping)
    frame = stratum.filter(stratum[grouping.value].is_in(ranked))
    rates = quality_of(answers, grouping, ranked)
    whole: dict[str, Spread | str] = {}
    beyond: dict[str, Spread | str] = {}
    apart: tuple[str, ...] = ()
    for way in WAYS:
        found = effects_of(answers, frame, grouping, ranked, way=way)
        if isinstance(found, str):
            whole[way] = beyond[way] = found
            continue
        apart = found.apart if way == "within task" else apart
        whole[way] = _spread(found, None, seed=seed, permutations=permutations)
        beyond[way] = _spread(found, rates, seed=seed, permutations=permutations)
    return Spreads(title, frame.height, tuple(ranked), whole, beyond, apart)


def _spread(
    found: "SystemEffects", rates: Mapping[str, float] | None, *, seed: int, permutations: int
) -> "Spread":
    from voirdire.stats.system_effects import spread_of

    covariate = [rates[name] for name in found.systems] if rates else None
    return spread_of(found, covariate=covariate, seed=seed, permutations=permutations)


def effects_of(
    answers: Answers, frame: "pl.DataFrame", grouping: Grouping, ranked: Sequence[str], *, way: str
) -> "SystemEffects | str":
    """Return the effects of the ranked groups on the scores of `frame`, or why there are none."""
    from voirdire.stats.system_effects import mean_effects, within_task_effects

    if len(ranked) < 2:
        return f"fewer than two {grouping.plural} have {RANKED_FROM} such answers"
    if way == "shared tasks":
        shared = shared_tasks(answers, grouping, ranked)
        frame = frame.filter(frame["task"].is_in(list(shared)))
        if frame[grouping.value].n_unique() < len(ranked):
            return f"not every compared {grouping.noun} has such an answer on the {len(shared)} shared tasks"
    given = columns(frame, grouping)
    try:
        make = within_task_effects if way == "within task" else mean_effects
        return make(given.group, given.task, given.value)
    except DataError as error:
        return str(error)


def shared_tasks(answers: Answers, grouping: Grouping, groups: Sequence[str]) -> set[str]:
    """Return the tasks that every one of some groups attempted, whatever came of it."""
    import polars as pl

    attempted = answers.frame.filter(pl.col(grouping.value).is_in(list(groups)))
    counts = attempted.group_by("task").agg(pl.col(grouping.value).n_unique().alias("n"))
    return set(counts.filter(pl.col("n") == len(groups))["task"].to_list())


def quality_of(answers: Answers, grouping: Grouping, groups: Sequence[str]) -> dict[str, float] | None:
    """Return each group's solve rate beside the tasks that it was given; None where fewer than two groups were run.

    Groups that share no tasks with the others keep their plain rate.
    """
    from voirdire.stats.system_effects import within_task_effects

    run = answers.frame.filter(answers.frame["known"] & answers.frame[grouping.value].is_in(list(groups)))
    plain = {
        str(part[grouping.value][0]): float(part["truth_passed"].cast(float).to_numpy().mean())
        for part in run.partition_by(grouping.value)
    }
    if len(plain) < 2 or set(plain) != set(groups):
        return None
    given = columns(run, grouping, value="truth_passed")
    try:
        found = within_task_effects(given.group, given.task, given.value)
    except DataError:
        return plain
    if found.apart:
        return plain
    middle = sum(plain.values()) / len(plain)
    return {name: middle + float(effect) for name, effect in zip(found.systems, found.effects, strict=True)}


def pass_gap(answers: Answers) -> Estimate:
    """Return the mean score of answers that pass less that of those that fail, within tasks that have both."""
    import polars as pl

    from voirdire.stats.paired import paired_mean

    run = answers.scored.filter(pl.col("known"))
    by_task = (
        run.group_by("task", maintain_order=True)
        .agg(
            pl.col("value").filter(pl.col("truth_passed")).mean().alias("passing"),
            pl.col("value").filter(~pl.col("truth_passed")).mean().alias("failing"),
        )
        .drop_nulls()
        .sort("task")
    )
    if not by_task.height:
        return Estimate(None, unit="tasks", note="no task has an answer that passes and one that fails")
    return paired_mean((by_task["passing"] - by_task["failing"]).to_numpy(), span=1.0, unit="tasks")


# --- what is ruled on ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Compared:
    """One comparison that gets a ruling: all systems, or the harnesses of one model.

    By the first definition of zero pass, mechanical near-misses set apart.
    """

    subject: str
    answers: Answers
    grouping: Grouping

    @cached_property
    def stratum(self) -> "pl.DataFrame":
        """Return the answers of those with enough to be ranked."""
        frame = self.answers.stratum(Stratum.ZERO_TARGET, near_misses=False)
        return frame.filter(frame[self.grouping.value].is_in(ranked_groups(frame, self.grouping)))

    @cached_property
    def ranked(self) -> list[str]:
        """Return those with enough answers to be ranked."""
        return ranked_groups(self.stratum, self.grouping)

    @cached_property
    def effects(self) -> "SystemEffects | str":
        """Return the effects within tasks, or why there are none."""
        return effects_of(self.answers, self.stratum, self.grouping, self.ranked, way="within task")

    def beyond(self, *, seed: int) -> "Spread | str":
        """Return the spread within tasks without what goes up with the solve rate."""
        if isinstance(self.effects, str):
            return self.effects
        rates = quality_of(self.answers, self.grouping, self.ranked)
        return _spread(self.effects, rates, seed=seed, permutations=PERMUTATIONS)


def compared(answers: Answers) -> list[Compared]:
    """Return what is ruled on: the systems, and the harnesses of every model that ran in three ranked ones."""
    found = [Compared("judge", answers, Grouping.SYSTEM)]
    for model in answers.models_with_harnesses():
        one = Compared(f"harnesses of {model}", answers.of_model(model), Grouping.HARNESS)
        if len(one.ranked) >= FEWEST_SYSTEMS:
            found.append(one)
    return found


def measurement(one: Compared, *, seed: int = 0) -> Measurement:
    """Return the spread within tasks beyond the solve rate, ready for a ruling."""
    spread = one.beyond(seed=seed)
    if isinstance(spread, str):
        estimate = Estimate(None, unit="tasks", note=spread)
        withheld = spread
    else:
        estimate = spread.deviation
        withheld = _withheld(spread)
    return Measurement(
        probe="zero_pass",
        subject=one.subject,
        estimate=replace(
            estimate, missing=one.answers.missing(one.grouping), asked=one.answers.asked(one.grouping)
        ),
        line=HALO,
        expect=Expectation.INVARIANT,
        unit=Unit.ITEM,
        control=pass_gap(one.answers),
        control_line=HALO_CONTROL,
        control_expect=Expectation.HIGHER,
        withheld=withheld,
        settles=MORE_SYSTEMS,
        rule=RECORDED,
        flags=_flags(one, spread),
    )


def _withheld(spread: "Spread") -> str:
    if spread.systems < FEWEST_SYSTEMS:
        return f"a spread between {spread.systems} systems is one difference; a ruling needs {FEWEST_SYSTEMS} systems"
    return too_few(spread.tasks, "tasks with two ranked systems")


def _flags(one: Compared, spread: "Spread | str") -> tuple[str, ...]:
    flags = []
    if not isinstance(one.effects, str) and one.effects.apart:
        flags.append(f"no chain of shared tasks joins {', '.join(one.effects.apart)} to the others: left out")
    if not isinstance(spread, str) and spread.explained > 0:
        flags.append(
            f"{spread.explained:.2f} score points a point of solve rate were taken off: better systems may miss by less, "
            "and a halo that goes with the solve rate cannot be told from that"
        )
    return tuple(flags)


# --- blocks -------------------------------------------------------------------------------------------


def blocks_of(answers: Answers, *, seed: int = 0) -> tuple[Block, ...]:
    """Return every table of solve rates, scores and spreads."""
    groupings = answers.groupings()
    held = answers.models_with_harnesses()
    tables: list[Block] = [
        *_near_misses(answers),
        *(_groups_table(answers, one, f"by {one.noun}") for one in groupings),
        *_figure(answers),
        *(
            _groups_table(answers.of_model(model), Grouping.HARNESS, f"harnesses of {model}")
            for model in held
        ),
        *_pairs_of_harnesses(answers, held),
        _spreads_table(answers, groupings, held, seed=seed),
        *_by_repository(answers, seed=seed),
        *_listed(answers),
    ]
    return tuple(tables)


ZERO_NAMES = {Stratum.ZERO_TARGET: "zero pass", Stratum.ZERO_ANY: "none passes"}


def _groups_table(answers: Answers, grouping: Grouping, title: str) -> TableBlock:
    alike = answers.frame["zero_target"].equals(answers.frame["zero_any"])
    strata = [Stratum.ZERO_TARGET] if alike else list(ZERO_NAMES)
    alone = {group.name: group for group in groups_of(answers, grouping, near_misses=False)}
    columns = [grouping.noun, "run", "solve rate", "low", "high", "scored", "mean", "failed", "mean, failed"]
    for name in (ZERO_NAMES[stratum] for stratum in strata):
        columns += [name, f"mean, {name}", f"{name}, low", f"{name}, high", f"mean, {name}, apart"]
    return TableBlock(
        title=f"Solve rate against mean score, {title}",
        columns=columns,
        rows=[_group_row(group, alone[group.name], strata) for group in groups_of(answers, grouping)],
        note=(
            "Zero pass: no test passes that had to start passing; none passes: no test at all"
            + (", which are the same answers here. " if alike else ". ")
            + "Apart: with mechanical near-misses set apart. Intervals count tasks. "
            f"With fewer than {RANKED_FROM} zero-pass answers a mean is listed, not ranked."
        ),
    )


def _group_row(group: Group, apart: Group, strata: Sequence[Stratum]) -> list[Cell]:
    every, failed = group.scores[Stratum.ALL], group.scores[Stratum.FAILED]
    row: list[Cell] = [
        *(group.name, group.solved.n, group.solved.value, group.solved.low, group.solved.high),
        *(every.n, every.value, failed.n, failed.value),
    ]
    for stratum in strata:
        zero = group.scores[stratum]
        row += [zero.n, zero.value, zero.low, zero.high, apart.scores[stratum].value]
    return row


def _figure(answers: Answers) -> list[FigureBlock]:
    groups = [one for one in groups_of(answers, Grouping.SYSTEM) if one.solved.value is not None]
    rows: list[dict[str, Cell]] = []
    for group in groups:
        zero = group.scores[Stratum.ZERO_TARGET]
        rows.append(_point(group.name, "solve rate", group.solved))
        if zero.n >= RANKED_FROM:
            rows.append(_point(group.name, "mean score, zero pass", zero))
    if len(groups) < 2:
        return []
    return [
        FigureBlock(
            title="Solve rate, and mean score where nothing passes",
            kind="intervals",
            rows=rows,
            options={"x_title": "share solved; score", "domain": [0.0, 1.0]},
            caption="Systems by falling solve rate. Scores of answers that pass nothing should not differ by system.",
        )
    ]


def _point(label: str, group: str, one: Estimate) -> dict[str, Cell]:
    return {
        "label": label,
        "group": group,
        "value": one.value,
        "low": one.value if one.low is None else one.low,
        "high": one.value if one.high is None else one.high,
    }


def _near_misses(answers: Answers) -> list[Block]:
    import polars as pl

    counts = (
        answers.frame.filter(pl.col("near_miss").is_not_null())
        .group_by("system", "near_miss")
        .agg(pl.len(), pl.col("value").mean())
        .sort("near_miss", "system")
    )
    if not counts.height:
        return [
            TextBlock(
                "No answer failed for a mechanical reason that the table names.",
                title="Mechanical near-misses",
            )
        ]
    return [
        TableBlock(
            title="Mechanical near-misses, set apart",
            columns=("system", "why", "answers", "mean score"),
            rows=[list(row) for row in counts.iter_rows()],
            note=(
                "They pass nothing, yet not because of what they say: an import, a bracket, a context line. Rulings and the "
                "columns 'near-misses apart' leave them out; a broken environment is never counted as a failure to solve."
            ),
        )
    ]


def _spreads_table(
    answers: Answers, groupings: Sequence[Grouping], held: Sequence[str], *, seed: int
) -> TableBlock:
    asked: list[tuple[str, Answers, Grouping]] = [(one.plural, answers, one) for one in groupings]
    asked += [(f"harnesses of {model}", answers.of_model(model), Grouping.HARNESS) for model in held]
    rows: list[list[Cell]] = []
    for title, part, grouping in asked:
        for zero, near_misses, said in _definitions(part):
            found = spreads_of(part, grouping, zero, near_misses=near_misses, title=title, seed=seed)
            rows += [_spread_row(title, said, found, way) for way in WAYS]
    return TableBlock(
        title="Spread between systems where nothing passes",
        columns=(
            *("compared", "answers taken", "way", "groups", "tasks", "answers"),
            *("max - min", "max - min by chance", "deviation", "low", "high", "p"),
            *("deviation beyond solve rate", "beyond, low", "beyond, high", "beyond, p", "why not"),
        ),
        rows=rows,
        note=(
            "Max - min grows with the number of systems by itself: beside it stands its mean when answers are exchanged at random "
            "within tasks. The deviation is the standard deviation between systems without what sampling adds. Shared tasks: "
            "those that all compared attempted. Within task: one level for every task, tasks with two compared groups. Beyond "
            f"solve rate: without what goes up with it. Compared are those with {RANKED_FROM} such answers."
        ),
    )


def _pairs_of_harnesses(answers: Answers, held: Sequence[str]) -> list[TableBlock]:
    """Return every difference between two harnesses of one model, where nothing passes, within tasks."""
    from itertools import combinations

    rows: list[list[Cell]] = []
    for model in held:
        part = answers.of_model(model)
        frame = part.stratum(Stratum.ZERO_TARGET, near_misses=False)
        ranked = ranked_groups(frame, Grouping.HARNESS)
        found = effects_of(
            part, frame.filter(frame["harness"].is_in(ranked)), Grouping.HARNESS, ranked, way="within task"
        )
        if isinstance(found, str):
            continue
        rates = quality_of(part, Grouping.HARNESS, ranked) or {}
        for one, other in combinations(range(len(found.systems)), 2):
            first, second = found.systems[one], found.systems[other]
            difference = found.difference(one, other)
            solved = rates[first] - rates[second] if rates else None
            rows.append(
                [
                    *(model, first, second, difference.n, difference.value, difference.low, difference.high),
                    *(solved, difference.note),
                ]
            )
    if not rows:
        return []
    return [
        TableBlock(
            title="Harnesses of one model where nothing passes, within tasks",
            columns=(
                *("model", "harness", "less harness", "tasks", "difference in score", "low", "high"),
                *("difference in solve rate", "note"),
            ),
            rows=rows,
            note="The model is the same, and so is what was achieved: nothing. What is left is how it was written.",
        )
    ]


def _definitions(answers: Answers) -> list[tuple[Zero, bool, str]]:
    """Return the sets of answers that differ: both definitions, near-misses apart and not."""
    seen: set[tuple[str, ...]] = set()
    found = []
    for zero in Zero:
        for near_misses in (False, True):
            frame = answers.stratum(STRATUM_OF[zero], near_misses=near_misses)
            key = tuple(frame["item"].to_list())
            if key in seen:
                continue
            seen.add(key)
            said = f"{zero.value}; near-misses {'included' if near_misses else 'apart'}"
            found.append((zero, near_misses, said))
    return found


def _spread_row(title: str, said: str, found: Spreads, way: str) -> list[Cell]:
    whole, beyond = found.whole[way], found.beyond[way]
    if isinstance(whole, str) or isinstance(beyond, str):
        return [title, said, way, len(found.groups), *([None] * 12), str(whole)]
    one, other = whole.deviation, beyond.deviation
    return [
        *(title, said, way, whole.systems, whole.tasks, whole.rows),
        *(whole.widest, whole.widest_by_chance, one.value, one.low, one.high, one.p_value),
        *(other.value, other.low, other.high, other.p_value, other.note),
    ]


def _by_repository(answers: Answers, *, seed: int) -> list[TableBlock]:
    import polars as pl

    names = answers.frame["repository"].drop_nulls().unique().sort().to_list()
    if len(names) < 2:
        return []
    rows: list[list[Cell]] = []
    for name in names:
        part = Answers(answers.judge, answers.frame.filter(pl.col("repository") == name))
        found = spreads_of(part, Grouping.SYSTEM, Zero.TARGET, near_misses=False, title=str(name), seed=seed)
        within = found.whole["within task"]
        zero = part.stratum(Stratum.ZERO_TARGET, near_misses=False)
        cells: list[Cell] = [
            str(name),
            zero["task"].n_unique(),
            zero.height,
            float(zero["value"].to_numpy().mean()) if zero.height else None,
            len(found.groups),
        ]
        if isinstance(within, str):
            cells += [None, None, None, None, within]
        else:
            deviation = within.deviation
            cells += [
                within.widest,
                within.widest_by_chance,
                deviation.value,
                deviation.p_value,
                deviation.note,
            ]
        rows.append(cells)
    return [
        TableBlock(
            title="Spread where nothing passes, by repository, within tasks",
            columns=(
                *("repository", "tasks", "zero pass", "mean score", "ranked systems"),
                *("max - min", "by chance", "deviation", "p", "why not"),
            ),
            rows=rows,
        )
    ]


def _listed(answers: Answers) -> list[TextBlock]:
    """Return which systems are listed and not ranked."""
    stratum = answers.stratum(Stratum.ZERO_TARGET, near_misses=False)
    ranked = set(ranked_groups(stratum, Grouping.SYSTEM))
    counts = dict(stratum.group_by("system").len().iter_rows())
    below = sorted(str(name) for name in answers.frame["system"].unique() if name not in ranked)
    if not below:
        return []
    said = ", ".join(f"{name} ({counts.get(name, 0)})" for name in below)
    return [
        TextBlock(
            f"Fewer than {RANKED_FROM} zero-pass answers, listed above and not ranked: {said}.",
            title="Not ranked",
        )
    ]
