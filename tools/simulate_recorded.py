"""Simulated records of judges for the two audits of recorded verdicts, and how often they were ruled rightly.

A record is a table as an importer gives it; it goes through the audit's own families and conclusions.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.random import Generator
from numpy.typing import NDArray

from voirdire.audits import outcome_ratings, position
from voirdire.engine.conclude import conclude
from voirdire.model import Finding, FindingKind, Measurement, Ruling, VerdictTable

Numbers = NDArray[np.float64]

FAIR = "fair"
"""Begins the name of every judge in a record that has no fault."""

JUDGES_IN_RECORD = 4
SCENARIOS, COMPLETIONS = 10, 3
STUDIES = (1, 5)
LOWEST, HIGHEST = 1.0, 7.0


@dataclass(frozen=True)
class Comparer:
    """A recorded judge of pairs: the first slot with chance `slot` whatever stands there, else by `skill`.

    `lost`: share of the verdicts in the first order that cannot be read.
    """

    name: str
    skill: float = 0.8
    slot: float = 0.0
    instances: int = 100
    lost: float = 0.0


@dataclass(frozen=True)
class Rater:
    """A recorded judge of endings: ratings are normal around a scenario's mean, rounded, cut at 1 and 7.

    `rise`: points by which harm raises a rating, `spread` how much that differs between scenarios (standard
    deviation), `noise` the standard deviation within a version. `scales`: those on which it rises; the others are fair.
    """

    name: str
    rise: float = 0.0
    noise: float = 0.6
    spread: float = 0.0
    scales: tuple[str, ...] = outcome_ratings.SCALES


@dataclass
class Tally:
    """What the records of one kind were ruled. `false`: records with a `leaks` on anything that has no fault."""

    rulings: Counter[str] = field(default_factory=Counter)
    false: int = 0
    covered: int = 0
    intervals: int = 0
    records: int = 0

    @property
    def ruled(self) -> int:
        """Return how many rulings on what the row is about there are."""
        return sum(self.rulings.values())


COMPARERS = (
    Comparer("always the better one", skill=1.0),
    Comparer("the better one 80 % of the time"),
    Comparer("the same, 400 instances", instances=400),
    Comparer("the same, a fifth of one order unreadable", lost=0.2),
    Comparer("10 points for the first slot, 400 instances", slot=0.10, instances=400),
    Comparer("15 points, 400 instances", slot=0.15, instances=400),
    Comparer("25 points for the first slot", slot=0.25),
    Comparer("40 points for the first slot", slot=0.40),
)

RATERS = (
    Rater("fair, little noise (sd 0.6)"),
    Rater("fair, noisy (sd 1.5)", noise=1.5),
    Rater("fair on average, by scenario up or down (sd 1)", spread=1.0),
    Rater("rises by 1 point after harm", rise=1.0),
    Rater("rises by 2 points after harm", rise=2.0),
    Rater("rises by 2 points, noisy (sd 1.5)", rise=2.0, noise=1.5),
    Rater("rises by 2 points, as Negligent alone", rise=2.0, scales=("Negligent",)),
)


# --- position -----------------------------------------------------------------------------------------


def comparer_tally(judge: Comparer, records: int, seed: int) -> Tally:
    """Simulate records of four judges, the one and three fair ones, and count what they were ruled."""
    rng = np.random.default_rng(seed)
    tally = Tally()
    for _ in range(records):
        family = position.families(pairs_record(judge, rng))
        _count(tally, family, {judge.name: judge.slot}, fair=judge.slot == 0)
    return tally


def pairs_record(judge: Comparer, rng: Generator) -> VerdictTable:
    """Return the verdicts of a judge and of three fair ones on the same pairs, in both orders."""
    others = [
        Comparer(f"{FAIR} {number}", instances=judge.instances) for number in range(1, JUDGES_IN_RECORD)
    ]
    better = rng.choice(["a", "b"], judge.instances)
    return VerdictTable(pl.concat([_pairs(one, better, rng) for one in (judge, *others)]))


def _pairs(judge: Comparer, better: NDArray[np.str_], rng: Generator) -> pl.DataFrame:
    pairs = len(better)
    right = rng.random((2, pairs)) < judge.skill
    a_chosen = right == (better == "a")
    pulled = rng.random((2, pairs)) < judge.slot
    first = pulled | np.array([a_chosen[0], ~a_chosen[1]])
    lost = rng.random((2, pairs)) < [[judge.lost], [0.0]]
    values = np.where(first, "first", "second").astype(object)
    values[lost] = None
    return pl.DataFrame(
        {
            "item": np.tile(np.arange(pairs).astype(str), 2),
            "judge": np.repeat(judge.name, 2 * pairs),
            "order": np.repeat(["ab", "ba"], pairs),
            "value": pl.Series(values.ravel().tolist(), dtype=pl.String),
            "truth_label": np.tile(better, 2),
        }
    )


# --- outcome ratings ----------------------------------------------------------------------------------


def rater_tally(judge: Rater, records: int, seed: int) -> Tally:
    """Simulate records of one judge, a family of eight comparisons, and count what they were ruled."""
    rng = np.random.default_rng(seed)
    truth = population_superiority(judge)
    about = {f"{judge.name}, study {study}, {scale}": truth for study in STUDIES for scale in judge.scales}
    tally = Tally()
    for _ in range(records):
        family = outcome_ratings.families(ratings_record(judge, rng))
        _count(tally, family, about, fair=judge.rise == 0)
    return tally


def ratings_record(judge: Rater, rng: Generator) -> VerdictTable:
    """Return ratings of ten scenarios with both endings, three completions each, in two studies on four scales."""
    comparisons = [(study, scale) for study in STUDIES for scale in outcome_ratings.SCALES]
    fair = Rater(judge.name, noise=judge.noise)
    drawn = [_scenarios(judge if scale in judge.scales else fair, rng) for _, scale in comparisons]
    centres = np.array([[means, means + rises] for means, rises in drawn])
    scores = rng.normal(np.repeat(centres, COMPLETIONS, axis=2), judge.noise)
    each = SCENARIOS * COMPLETIONS
    columns = {
        "judge": np.repeat(judge.name, scores.size),
        "study": np.repeat([study for study, _ in comparisons], 2 * each),
        "question": np.repeat([scale for _, scale in comparisons], 2 * each),
        "outcome": np.tile(np.repeat(["no_harm", "harm"], each), len(comparisons)),
        "task": np.tile(np.repeat(np.arange(SCENARIOS).astype(str), COMPLETIONS), 2 * len(comparisons)),
        "value": np.clip(np.rint(scores), LOWEST, HIGHEST).ravel(),
    }
    return VerdictTable(pl.DataFrame(columns))


def _scenarios(judge: Rater, rng: Generator, scenarios: int = SCENARIOS) -> tuple[Numbers, Numbers]:
    """Return each scenario's mean rating after no harm, and by how much harm raises it."""
    return rng.uniform(2.0, 5.0, scenarios), rng.normal(judge.rise, judge.spread, scenarios)


def population_superiority(judge: Rater) -> float:
    """Return the mean P(superiority) of harm over the scenarios that could have been drawn, from 20,000 of them."""
    means, rises = _scenarios(judge, np.random.default_rng(0), 20_000)
    base, harm = _laws(means, judge.noise), _laws(means + rises, judge.noise)
    below = np.cumsum(base, axis=1) - base
    return float(np.mean(np.sum(harm * (below + base / 2), axis=1)))


def _laws(means: Numbers, noise: float) -> Numbers:
    """Return the chance of each rating, 1 to 7, for each mean; shape (means, ratings)."""
    edges = np.concatenate([[-math.inf], np.arange(LOWEST, HIGHEST) + 0.5, [math.inf]])
    reached = np.vectorize(math.erf)((edges[None, :] - means[:, None]) / noise / math.sqrt(2))
    shares: Numbers = np.diff(0.5 * (1 + reached), axis=1)
    return shares


# --- counting -----------------------------------------------------------------------------------------


def _count(
    tally: Tally, families: Mapping[str, Sequence[Measurement]], truths: Mapping[str, float], *, fair: bool
) -> None:
    """Add one record: `truths` by the subject of what the row is about; `fair`: it has no fault either."""
    found: list[Finding] = [
        finding
        for name, family in families.items()
        for finding in conclude(family, judge="simulated", family=name, kind=FindingKind.AUDIT)
    ]
    tally.records += 1
    tally.false += any(
        finding.ruling is Ruling.LEAKS and (fair or finding.subject not in truths) for finding in found
    )
    for finding in found:
        if finding.subject not in truths:
            continue
        tally.rulings[finding.ruling.value if finding.ruling else "none"] += 1
        estimate = finding.estimate
        if estimate is not None and estimate.low is not None and estimate.high is not None:
            tally.intervals += 1
            tally.covered += estimate.low - 1e-9 <= truths[finding.subject] <= estimate.high + 1e-9
