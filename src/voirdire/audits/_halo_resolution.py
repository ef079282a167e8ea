"""Which differences between systems a judge can tell at all: the resolution limit, and ranks in which less is a tie."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from voirdire.audits._halo_table import RANKED_FROM, Answers, Grouping, columns
from voirdire.blocks import Block, Cell, FigureBlock, TableBlock, TextBlock
from voirdire.errors import DataError
from voirdire.lines import CONFIDENCE
from voirdire.model import Estimate, Finding, FindingKind

if TYPE_CHECKING:
    import polars as pl

    from voirdire.stats.rank_sets import Ranks
    from voirdire.stats.resolution import Arm
    from voirdire.stats.system_effects import SystemEffects

FEWEST_FOR_ARM = 5
"""Passing and failing answers of a system that its place among mixtures needs, each."""

FEWEST_SYSTEMS = 3
FEW, DRAWS_OF_FEW, DRAWS_OF_MANY = 20, 100_000, 20_000
"""Up to so many systems the critical value of ranks is drawn more finely."""

HALF_TAIL = 0.975
"""Level of the intervals of style and gap, so that both hold together at 95 %."""


@dataclass(frozen=True)
class Limit:
    """The smallest true difference that is ranked rightly at 95 %.

    `success`, `points`: by the normal formula, as a share of success and in score points. `floor`: what no number of tasks
    removes, as a share of success. `mixtures`, `pairs`: model-free, as a share of success. `gap`: score points between passing
    and failing. `style`: standard deviation of offsets. `right`: observed pairs in the right order, of how many, below and
    from the limit.
    """

    success: Estimate
    points: Estimate
    floor: float | None
    mixtures: Estimate
    pairs: Estimate
    gap: Estimate
    style: Estimate
    noise: float
    tasks: int
    right: tuple[tuple[float, int], tuple[float, int]]

    @property
    def tie(self) -> float:
        """Score points below which two systems are a tie; infinite where the judge was not shown to rank at all."""
        if self.success.value is None or self.points.value is None:
            return math.inf
        return self.points.value


def limit_of(answers: Answers, *, seed: int = 0) -> Limit | str:
    """Return the limit of one judge, or why it cannot be found."""
    from voirdire.stats.resolution import resolution_floor

    frame = known_of(answers)
    if frame["system"].n_unique() < FEWEST_SYSTEMS:
        return f"fewer than {FEWEST_SYSTEMS} systems have {RANKED_FROM} scored answers with known truth"
    try:
        found = by_formula(frame, seed=seed)
    except DataError as error:
        return str(error)
    gap, style = found.gap.value or 0.0, found.style.value or 0.0
    ranks_at_all = found.success.value is not None
    return Limit(
        success=found.success,
        points=found.points,
        floor=resolution_floor(style, gap=gap) if ranks_at_all and gap else None,
        mixtures=_by_mixtures(_beside_tasks(frame, found.effects, gap), tasks=found.tasks, seed=seed),
        pairs=_by_pairs(frame, seed=seed),
        gap=found.gap,
        style=found.style,
        noise=found.noise,
        tasks=found.tasks,
        right=_right(frame, found.success.value),
    )


@dataclass(frozen=True)
class Formula:
    """The limit by the normal formula as for `Limit`, and what goes into it. `effects`: of systems, solving apart."""

    success: Estimate
    points: Estimate
    gap: Estimate
    style: Estimate
    noise: float
    tasks: int
    effects: "SystemEffects"


def known_of(answers: Answers) -> "pl.DataFrame":
    """Return the scored answers with known truth of the systems that have enough of them."""
    return _enough(answers.scored.filter(answers.scored["known"]))


def by_formula(frame: "pl.DataFrame", *, seed: int = 0) -> Formula:
    """Return the limit by the normal formula; DataError where the systems share too few tasks."""
    from voirdire.stats.resolution import limit_estimate
    from voirdire.stats.system_effects import slope_beside, spread_of, within_task_effects

    given = columns(frame, Grouping.SYSTEM)
    passed = columns(frame, Grouping.SYSTEM, value="truth_passed").value
    gap = slope_beside(given.group, given.task, passed, given.value, level=HALF_TAIL)
    effects = within_task_effects(given.group, given.task, given.value - (gap.value or 0.0) * passed)
    scores = within_task_effects(given.group, given.task, given.value)
    style = spread_of(effects, seed=seed, permutations=1, level=HALF_TAIL).deviation
    noise = math.sqrt(float(scores.residual @ scores.residual) / max(1, _freedom(scores)))
    tasks = _tasks_a_pair(frame)
    return Formula(
        success=limit_estimate(style, gap, noise=noise, tasks=tasks),
        points=limit_estimate(style, gap, noise=noise, tasks=tasks, in_points=True),
        gap=gap,
        style=style,
        noise=noise,
        tasks=tasks,
        effects=effects,
    )


def _enough(frame: "pl.DataFrame") -> "pl.DataFrame":
    counts = frame.group_by("system").len()
    kept = counts.filter(counts["len"] >= RANKED_FROM)["system"].to_list()
    return frame.filter(frame["system"].is_in(kept))


def _freedom(found: "SystemEffects") -> int:
    return len(found.score) - found.tasks - len(found.systems) + 1


def _tasks_a_pair(frame: "pl.DataFrame") -> int:
    """Return how many tasks two systems share as a rule: the median over pairs that share any."""
    from itertools import combinations
    from statistics import median

    tasks = [set(part["task"].to_list()) for part in frame.partition_by("system")]
    shared = [len(one & other) for one, other in combinations(tasks, 2)]
    return max(1, round(median([n for n in shared if n] or [1])))


def _beside_tasks(frame: "pl.DataFrame", effects: "SystemEffects", gap: float) -> "pl.DataFrame":
    """Return the answers with the level of their task taken off: what some systems were given must not count as style."""
    import polars as pl

    own = dict(zip(effects.systems, effects.effects.tolist(), strict=True))
    joined = frame.filter(pl.col("system").is_in(list(own)))
    left = (
        pl.col("value")
        - gap * pl.col("truth_passed").cast(pl.Float64)
        - pl.col("system").replace_strict(own, return_dtype=pl.Float64)
    )
    level = left.mean().over("task")
    return joined.with_columns(pl.col("value") - level + left.mean())


def _arms(frame: "pl.DataFrame") -> "list[Arm]":
    from voirdire.stats.resolution import Arm

    arms = []
    for part in frame.partition_by("system", maintain_order=True):
        passing = part.filter(part["truth_passed"])["value"].to_numpy()
        failing = part.filter(~part["truth_passed"])["value"].to_numpy()
        if min(len(passing), len(failing)) < FEWEST_FOR_ARM:
            continue
        arms.append(
            Arm(
                passed=float(passing.mean()),
                failed=float(failing.mean()),
                passed_error=float(passing.std(ddof=1)) / math.sqrt(len(passing)),
                failed_error=float(failing.std(ddof=1)) / math.sqrt(len(failing)),
                passed_spread=float(passing.std(ddof=1)),
                failed_spread=float(failing.std(ddof=1)),
            )
        )
    return arms


def _by_mixtures(frame: "pl.DataFrame", *, tasks: int, seed: int) -> Estimate:
    from voirdire.stats.resolution import limit_by_mixtures, resampled_limit

    arms = _arms(frame)
    plain = Estimate(
        value=None,
        n=len(arms),
        unit="systems",
        method="pairs of systems at mixtures of their own passing and failing answers; systems resampled",
    )
    if len(arms) < FEWEST_SYSTEMS:
        return replace(
            plain,
            note=f"fewer than {FEWEST_SYSTEMS} systems have {FEWEST_FOR_ARM} passing and failing answers",
        )
    value = limit_by_mixtures(arms, tasks=tasks)
    low, high, none = resampled_limit(
        lambda drawn: limit_by_mixtures([arms[place] for place in drawn], tasks=tasks), len(arms), seed=seed
    )
    note = (
        f"in {none} of 400 resamples not even passing all against failing all is ranked rightly"
        if none
        else ""
    )
    if value is None:
        return replace(plain, note="not even passing all against failing all is ranked rightly at 95 %")
    return replace(plain, value=value, low=low, high=high, note=note)


@dataclass(frozen=True)
class _Means:
    rate: float
    score: float


def _means(frame: "pl.DataFrame") -> list[_Means]:
    """Return each system's solve rate and score beside tasks, where systems share them, else their plain means."""
    from voirdire.stats.system_effects import mean_effects, within_task_effects

    scores = columns(frame, Grouping.SYSTEM)
    passed = columns(frame, Grouping.SYSTEM, value="truth_passed")
    make = within_task_effects
    if make(scores.group, scores.task, scores.value).apart:
        make = mean_effects
    found = [make(one.group, one.task, one.value).effects for one in (passed, scores)]
    return [_Means(float(rate), float(score)) for rate, score in zip(*found, strict=True)]


def _by_pairs(frame: "pl.DataFrame", *, seed: int) -> Estimate:
    from itertools import combinations

    from voirdire.stats.resolution import limit_by_pairs, resampled_limit

    means = _means(frame)

    def limit(places: Sequence[int]) -> float | None:
        pairs = [(means[one], means[other]) for one, other in combinations(places, 2) if one != other]
        return limit_by_pairs(
            [one.rate - other.rate for one, other in pairs], [one.score - other.score for one, other in pairs]
        )

    plain = Estimate(
        value=None,
        n=len(means),
        unit="systems",
        method="probit of right order on true difference over observed pairs; systems resampled",
    )
    value = limit(range(len(means)))
    if value is None:
        return replace(plain, note="right order does not become likelier with the true difference")
    low, high, none = resampled_limit(lambda drawn: limit(drawn.tolist()), len(means), seed=seed)
    note = f"no rise in {none} of 400 resamples" if none else ""
    return replace(plain, value=value, low=low, high=high, note=note)


def _right(frame: "pl.DataFrame", limit: float | None) -> tuple[tuple[float, int], tuple[float, int]]:
    """Return how many observed pairs the judge orders rightly, of how many, below the limit and from it on."""
    from itertools import combinations

    counts = {False: [0.0, 0], True: [0.0, 0]}
    for one, other in combinations(_means(frame), 2):
        true, judged = one.rate - other.rate, one.score - other.score
        if true == 0:
            continue
        beyond = limit is not None and abs(true) >= limit
        counts[beyond][0] += 1.0 if true * judged > 0 else 0.5 if judged == 0 else 0.0
        counts[beyond][1] += 1
    below, above = counts[False], counts[True]
    return (below[0], int(below[1])), (above[0], int(above[1]))


# --- ranks --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ranking:
    """The systems by score and, where their truth is known, by solve rate, with what is apart in each."""

    systems: tuple[str, ...]
    means: tuple[float | None, ...]
    effects: tuple[float, ...]
    by_score: "Ranks"
    with_ties: "Ranks"
    rates: tuple[float | None, ...]
    by_truth: "Ranks | None"


def ranking_of(answers: Answers, tie: float, *, seed: int = 0) -> Ranking | str:
    """Return the ranking of the systems with enough scored answers; differences below `tie` score points are ties."""
    import polars as pl

    from voirdire.stats.rank_sets import rank_sets
    from voirdire.stats.system_effects import within_task_effects

    frame = _enough(answers.scored)
    if frame["system"].n_unique() < 2:
        return f"fewer than two systems have {RANKED_FROM} scored answers"
    given = columns(frame, Grouping.SYSTEM)
    try:
        found = within_task_effects(given.group, given.task, given.value)
    except DataError as error:
        return str(error)
    draws = DRAWS_OF_FEW if len(found.systems) <= FEW else DRAWS_OF_MANY
    by_score = rank_sets(found.effects, found.covariance, seed=seed, draws=draws)
    with_ties = rank_sets(found.effects, found.covariance, tie=tie, critical=by_score.critical)
    means = dict(frame.group_by("system").agg(pl.col("value").mean()).iter_rows())
    run = frame.filter(frame["known"])
    rates = dict(run.group_by("system").agg(pl.col("truth_passed").mean()).iter_rows())
    return Ranking(
        systems=found.systems,
        means=tuple(means.get(name) for name in found.systems),
        effects=tuple(float(one) for one in found.effects),
        by_score=by_score,
        with_ties=with_ties,
        rates=tuple(rates.get(name) for name in found.systems),
        by_truth=_by_truth(run, found.systems, seed=seed),
    )


def _by_truth(run: "pl.DataFrame", systems: Sequence[str], *, seed: int) -> "Ranks | None":
    from voirdire.stats.rank_sets import rank_sets
    from voirdire.stats.system_effects import within_task_effects

    if run["system"].n_unique() < len(systems):
        return None
    given = columns(run.filter(run["system"].is_in(list(systems))), Grouping.SYSTEM, value="truth_passed")
    try:
        found = within_task_effects(given.group, given.task, given.value)
    except DataError:
        return None
    draws = DRAWS_OF_FEW if len(systems) <= FEW else DRAWS_OF_MANY
    same = found.systems == tuple(systems)
    return rank_sets(found.effects, found.covariance, seed=seed, draws=draws) if same else None


# --- findings -----------------------------------------------------------------------------------------


def findings(answers: Answers, limit: Limit | str, *, seed: int = 0) -> list[Finding]:
    """Return the resolution limit, and the ranks in which all below it is a tie."""
    tie = math.inf if isinstance(limit, str) else limit.tie
    return [_limit_finding(answers, limit), *_rank_finding(answers, tie, seed=seed)]


def _limit_finding(answers: Answers, limit: Limit | str) -> Finding:
    if isinstance(limit, str):
        sentence, estimate = f"No resolution limit: {limit}.", None
        blocks: tuple[Block, ...] = ()
    else:
        estimate, blocks = limit.success, (_limit_table(limit), *_rightness(limit))
        sentence = _limit_sentence(limit)
    return Finding(
        id=f"resolution/judge/{answers.judge}",
        kind=FindingKind.AUDIT,
        name="resolution",
        subject="judge",
        judge=answers.judge,
        sentence=sentence,
        estimate=estimate,
        blocks=blocks,
    )


def _limit_sentence(limit: Limit) -> str:
    if limit.success.value is None:
        return f"No difference between systems is ranked rightly at 95 %: {limit.success.note}."
    success, points = limit.success, limit.points
    return (
        f"With {limit.tasks} tasks the judge ranks two systems rightly at 95 % when they lie at least "
        f"{_percent(success.value)} [{_percent(success.low)}, {_percent(success.high)}] percentage points of success apart, "
        f"or {points.value or 0:.3f} [{points.low or 0:.3f}, {points.high or 0:.3f}] score points; less is a tie."
    )


def _percent(share: float | None) -> str:
    return "?" if share is None else f"{100 * share:.1f}" if share <= 1 else "over 100"


def _limit_table(limit: Limit) -> TableBlock:
    asked = (
        ("formula, share of success", limit.success),
        ("formula, score points", limit.points),
        ("mixtures of systems' own answers, share of success", limit.mixtures),
        ("observed pairs of systems, share of success", limit.pairs),
        ("gap between passing and failing, score points", limit.gap),
        ("style: deviation of systems' offsets, score points", limit.style),
    )
    rows: list[list[Cell]] = [
        [name, one.value, one.low, one.high, one.method, one.note] for name, one in asked
    ]
    rows.append(
        ["floor with any number of tasks, share of success", limit.floor, None, None, "normal formula", ""]
    )
    rows.append(
        ["noise of one task, score points", limit.noise, None, None, "residual beside tasks and systems", ""]
    )
    return TableBlock(
        title="Resolution limit: the smallest true difference that is ranked rightly at 95 %",
        columns=("what", "value", "low", "high", "method", "note"),
        rows=rows,
        note=(
            f"For {limit.tasks} tasks a system. Intervals of gap and style are at 97.5 % each, so that those of the formula hold at "
            "95 %. A limit over 1 means that no difference there can be is enough. Few systems make every one of these wide."
        ),
    )


def _rightness(limit: Limit) -> list[TextBlock]:
    (below, n_below), (above, n_above) = limit.right
    if not n_below + n_above:
        return []
    return [
        TextBlock(
            f"Observed pairs of systems in the right order: {below:g} of {n_below} below the limit, {above:g} of {n_above} "
            "from it on (a tied score counts half).",
            title="Observed pairs",
        )
    ]


def _rank_finding(answers: Answers, tie: float, *, seed: int) -> list[Finding]:
    found = ranking_of(answers, tie, seed=seed)
    blocks: tuple[Block, ...] = ()
    if isinstance(found, str):
        sentence = f"No ranks: {found}."
    else:
        sentence = _rank_sentence(answers, found, tie)
        blocks = (_rank_table(found, tie), _rank_figure(found))
    return [
        Finding(
            id=f"rank_sets/judge/{answers.judge}",
            kind=FindingKind.AUDIT,
            name="rank_sets",
            subject="judge",
            judge=answers.judge,
            sentence=sentence,
            blocks=blocks,
            references=(
                "Mogstad, Romano, Shaikh and Wilhelm 2024, Inference for Ranks, doi:10.1093/restud/rdad006",
            ),
        )
    ]


def _rank_sentence(answers: Answers, found: Ranking, tie: float) -> str:
    n = len(found.systems)
    pairs, apart = n * (n - 1) // 2, int(found.with_ties.above.sum())
    said = (
        "no limit is known, so every pair is a tie"
        if math.isinf(tie)
        else f"less than {tie:.3f} score points is a tie"
    )
    wrong = _contradicted(found)
    against = "" if wrong is None or not apart else f" In {wrong} of them executed tests show the opposite."
    return (
        f"By the scores of {answers.judge}, {apart} of {pairs} pairs of systems are apart ({said}).{against}"
    )


def _contradicted(found: Ranking) -> int | None:
    if found.by_truth is None:
        return None
    return int((found.with_ties.above & found.by_truth.above.T).sum())


def _rank_table(found: Ranking, tie: float) -> TableBlock:
    order = sorted(range(len(found.systems)), key=lambda place: -found.effects[place])
    truth = found.by_truth
    rows: list[list[Cell]] = [
        [
            *(found.systems[place], found.means[place], found.effects[place]),
            *(_ranks(found.with_ties, place), found.with_ties.letters[place]),
            *(_ranks(found.by_score, place), found.by_score.letters[place]),
            found.rates[place],
            *((_ranks(truth, place), truth.letters[place]) if truth else (None, None)),
        ]
        for place in order
    ]
    return TableBlock(
        title="Ranks by score and by executed tests",
        columns=(
            *("system", "mean score", "score beside tasks", "ranks", "letters"),
            *("ranks without the limit", "letters without the limit"),
            *("solve rate", "ranks by tests", "letters by tests"),
        ),
        rows=rows,
        note=(
            f"Ranks: all those a system may have, simultaneously at {CONFIDENCE:.0%} (critical value "
            f"{found.by_score.critical:.3f}); sharing a letter: not told apart. "
            + (
                "Without a resolution limit all are ties."
                if math.isinf(tie)
                else f"Differences below {tie:.3f} score points are ties."
            )
            + " Choosing the best answer within a task is safer than comparing averages over tasks."
        ),
    )


def _ranks(ranks: "Ranks", place: int) -> str:
    first, last = ranks.sets[place]
    return str(first) if first == last else f"{first} to {last}"


def _rank_figure(found: Ranking) -> FigureBlock:
    order = sorted(range(len(found.systems)), key=lambda place: -found.effects[place])
    return FigureBlock(
        title="Ranks that each system may have, by score",
        kind="intervals",
        rows=[
            {
                "label": found.systems[place],
                "value": sum(found.with_ties.sets[place]) / 2,
                "low": float(found.with_ties.sets[place][0]),
                "high": float(found.with_ties.sets[place][1]),
            }
            for place in order
        ],
        options={"x_title": "rank, 1 is the highest"},
    )
