"""Measures how often the halo audit is right: false alarms, power, coverage, over simulated tables with a planted truth.

    python -m tools.halo_characteristics [--tables 1000] [--seed 1] [--write]

A simulated table goes through the same audit and the same conclusions as a real one. Systems differ in what they solve, in
how their failures look (halo), or in both; the judge sees quality, style and noise. `--write` puts the tables into
docs/calibration.md.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist

import numpy as np
import polars as pl
from numpy.random import Generator
from numpy.typing import NDArray

from voirdire.audits._halo_calibration import calibrated, rows_of
from voirdire.audits._halo_resolution import by_formula, known_of
from voirdire.audits._halo_spread import Compared, measurement
from voirdire.audits._halo_table import Answers, Grouping, answers_of
from voirdire.engine.conclude import conclude
from voirdire.lines import ALPHA
from voirdire.model import Ruling, VerdictTable
from voirdire.stats.proportion import clopper_pearson_interval
from voirdire.stats.resolution import resolution_limit

PAGE = Path(__file__).parents[1] / "docs" / "calibration.md"
BEGIN = "<!-- halo characteristics: written by tools/halo_characteristics.py -->"
END = "<!-- halo characteristics: end -->"

SPREAD_OF_RATES = (0.15, 0.55)
GAP, NOISE, BASE, HARD = 0.30, 0.08, 0.35, 0.03
NEARNESS = 0.06
"""Score points by which a failure that lies one standard deviation nearer to passing scores higher."""

MANY_TASKS = 20_000
"""Tasks of the table that the true noise of one task is taken from."""

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """One kind of table. `halo`: standard deviation of the systems' styles, drawn anew for each table.

    `capable`: systems solve between 15 and 55 %, else all 35 %. `near`: the judge sees how near a failure is. `labels`: share
    of answers executed where offsets are measured.
    """

    name: str
    halo: float = 0.0
    capable: bool = True
    near: bool = False
    systems: int = 8
    tasks: int = 200
    labels: float = 0.2


WORLDS = (
    World("all alike", capable=False),
    World("systems differ in what they solve"),
    World("they differ, and better ones miss by less, which the judge sees", near=True),
    World("they differ, four systems", systems=4),
    World("they differ, 60 tasks", tasks=60),
    World("halo 0.03", halo=0.03),
    World("halo 0.06", halo=0.06),
    World("halo 0.10", halo=0.10),
    World("halo 0.10, all solve alike", halo=0.10, capable=False),
    World("halo 0.10, four systems", halo=0.10, systems=4),
    World("halo 0.10, and better ones miss by less", halo=0.10, near=True),
)


@dataclass(frozen=True)
class Table:
    """One simulated table: answers, which of them are executed in the second part, planted styles and true solve rates."""

    answers: Answers
    executed: NDArray[np.bool_]
    styles: Vector
    rates: Vector


def simulated(world: World, rng: Generator) -> Table:
    """Return one table of a world. Scores that would leave 0 to 1 are rare and cut."""
    shape = (world.systems, world.tasks)
    low, high = SPREAD_OF_RATES if world.capable else (0.35, 0.35)
    rates = rng.permutation(np.linspace(low, high, world.systems))
    limits = np.array([NormalDist().inv_cdf(rate) for rate in rates.tolist()])
    hard = rng.standard_normal(world.tasks)
    trouble = np.sqrt(0.5) * (hard + rng.standard_normal(shape))
    excess = trouble - limits[:, None]
    passed = excess < 0
    styles = world.halo * rng.standard_normal(world.systems)
    seen = BASE + GAP * passed + styles[:, None] - HARD * hard + NOISE * rng.standard_normal(shape)
    if world.near:
        seen = seen - NEARNESS * np.where(passed, 0.0, excess - 0.8)
    frame = pl.DataFrame(
        {
            "system": [f"s{k:02}" for k in range(world.systems) for _ in range(world.tasks)],
            "task": [f"t{t:04}" for _ in range(world.systems) for t in range(world.tasks)],
            "judge": ["simulated"] * passed.size,
            "value": np.clip(seen, 0, 1).ravel(),
            "truth_status": np.where(passed, "passed", "failed").ravel(),
            "target_passed": passed.astype(int).ravel(),
            "target_total": np.ones(passed.size, dtype=int),
            "tests_passed": passed.astype(int).ravel(),
            "tests_total": np.ones(passed.size, dtype=int),
        }
    )
    return Table(
        answers_of(VerdictTable(frame))[0], (rng.random(shape) < world.labels).ravel(), styles, rates
    )


@dataclass(frozen=True)
class Rates:
    """What became of the tables of one world. `limits`: tables with a resolution limit that has an interval."""

    world: World
    rulings: Counter[str]
    rejected: int
    tables: int
    deviation: float
    covered: int
    offsets: int
    differences_covered: int
    differences: int
    limits_covered: int
    limits: int


def measured(world: World, tables: int, seed: int) -> Rates:
    """Return the rulings on all tables of one world, and how often intervals hold what was planted."""
    true = true_limit(world, seed)
    limits: list[bool] = []
    rng = np.random.default_rng([seed, WORLDS.index(world)])
    rulings: Counter[str] = Counter()
    deviations, rejected, covered, offsets, right, pairs = [], 0, 0, 0, 0, 0
    for _ in range(tables):
        table = simulated(world, rng)
        found = conclude(
            [measurement(Compared("judge", table.answers, Grouping.SYSTEM))], judge="simulated", family="one"
        )[0]
        rulings[str(found.ruling)] += 1
        if found.estimate is not None and found.estimate.value is not None:
            deviations.append(found.estimate.value)
            rejected += (found.estimate.p_value or 1.0) <= ALPHA
        hit, of, hit_pairs, of_pairs = offsets_covered(table)
        covered, offsets, right, pairs = covered + hit, offsets + of, right + hit_pairs, pairs + of_pairs
        limit = by_formula(known_of(table.answers)).success
        if true is not None and limit.low is not None and limit.high is not None:
            limits.append(limit.low <= true <= limit.high)
    middle = float(np.median(deviations)) if deviations else 0.0
    return Rates(
        world, rulings, rejected, tables, middle, covered, offsets, right, pairs, sum(limits), len(limits)
    )


def true_limit(world: World, seed: int) -> float | None:
    """Return the difference of solve rates that is ranked rightly 95 times in 100, from the planted style and gap.

    What one task adds is measured on one long table without a halo. None where the judge sees how near a failure is:
    what passing is worth is then not one number.
    """
    if world.near:
        return None
    rng = np.random.default_rng([seed, WORLDS.index(world), 1])
    long = simulated(replace(world, halo=0.0, tasks=MANY_TASKS), rng)
    noise = by_formula(known_of(long.answers)).noise
    return resolution_limit(world.halo, noise, world.tasks, gap=GAP)


def offsets_covered(table: Table) -> tuple[int, int, int, int]:
    """Return how many offsets' intervals hold the planted ones, of how many, and the same for differences of rates.

    Rates are the true ones, of which the table's tasks are a sample.
    """
    rows = rows_of(table.answers)
    truth = rows.passed
    found = calibrated(rows.of(np.ones(len(truth), dtype=bool), np.where(table.executed, truth, np.nan)))
    planted = table.styles - table.styles.mean()
    offsets = [found.offset(name) for name in found.systems]
    told = [one for one in zip(offsets, planted, strict=True) if one[0].low is not None]
    hit = sum((one.low or 0.0) <= style <= (one.high or 0.0) for one, style in told)
    rates = table.rates.tolist()
    hit_pairs = of_pairs = 0
    for first in range(len(rates)):
        for second in range(first):
            difference = found.difference(found.systems[first], found.systems[second])
            if difference.low is not None and difference.high is not None:
                of_pairs += 1
                hit_pairs += difference.low <= rates[first] - rates[second] <= difference.high
    return hit, len(told), int(hit_pairs), of_pairs


def page(rows: Sequence[Rates], seed: int) -> str:
    """Return what is written between the two marks of docs/calibration.md."""
    tables = rows[0].tables
    lines = [
        BEGIN,
        "",
        f"`python -m tools.halo_characteristics --tables {tables} --seed {seed}`: {tables:,} simulated tables a row, 8 systems on 200 tasks",
        "unless the row says otherwise; passing is worth 0.30 score points, noise is 0.08, styles are drawn anew for each table. The upper",
        "95 % bound stands behind a share of leaks. *Offsets* and *differences* are the shares of 95 % intervals that hold the planted",
        "style, and the true difference of two systems' solve rates, with 20 % of answers executed; *limit* the share that hold the true",
        "resolution limit, where the judge ranks at all. *Leaks* also needs a deviation of at least 0.05. Where better systems miss by less,",
        "a style is not one number and offsets hold it less often, and there is not one limit.",
        "",
        "| table | test rejects | leaks (upper bound) | holds | unresolved or blind | median deviation | offsets covered | differences covered | limit covered |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        *(_row(one) for one in rows),
        "",
        END,
    ]
    return "\n".join(lines)


def _row(one: Rates) -> str:
    leaks, holds = one.rulings[Ruling.LEAKS.value], one.rulings[Ruling.HOLDS.value]
    bound = clopper_pearson_interval(leaks, one.tables, level=0.90)[1]
    left = one.tables - leaks - holds
    return (
        f"| {one.world.name} | {_percent(one.rejected / one.tables)} | {_percent(leaks / one.tables)} ({100 * bound:.1f}) | {_percent(holds / one.tables)} | "
        f"{_percent(left / one.tables)} | {one.deviation:.3f} | {_percent(one.covered / max(1, one.offsets))} | "
        f"{_percent(one.differences_covered / max(1, one.differences))} | "
        f"{_percent(one.limits_covered / one.limits) if one.limits else ''} |"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def written(text: str, part: str) -> str:
    """Return a page's text with the part between the marks replaced."""
    before, mark, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise SystemExit(f"{PAGE} has no place for the tables")
    return f"{before}{part}{after}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure every world, print the tables, and write them into the page if asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args(arguments)
    rows = []
    for world in WORLDS:
        rows.append(measured(world, given.tables, given.seed))
        print(_row(rows[-1]), file=sys.stderr, flush=True)
    part = page(rows, given.seed)
    print(part)
    if given.write:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), part), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
