"""Measures how often the replay's alarm rings: false alarms, power for a change of one point, coverage.

    python -m tools.replay_characteristics [--runs 1000] [--seed 1] [--write]

A simulated checkpoint fails to parse with a chance of its own on each problem; in the second pass the chance is the same, or
one point higher on every problem, or higher by more on a few. Both passes go through the same function as real samples.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from voirdire.audits._replay_parsing import share_change
from voirdire.audits._replay_rulings import ruled
from voirdire.lines import ALPHA, PARSE_CHANGE
from voirdire.model import Ruling
from voirdire.stats.proportion import clopper_pearson_interval

PAGE = Path(__file__).parents[1] / "docs" / "replay-characteristics.md"
Chances = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """One kind of checkpoint. `rate`: mean chance of not parsing; `spread`: of a beta, small is uneven over problems.

    `shift`: by how much the mean rises in the second pass; `touched`: the share of problems on which it does.
    """

    problems: int
    samples: tuple[int, int]
    rate: float
    spread: float
    shift: float = 0.0
    touched: float = 1.0


SIZES = ((60, (10, 10)), (164, (32, 128)), (421, (10, 10)), (421, (32, 128)))
RATES = ((0.004, 1.0), (0.004, 20.0), (0.05, 2.0))
CHANGES = ((0.0, 1.0), (0.01, 1.0), (0.01, 0.1), (0.05, 0.2))

WORLDS = tuple(
    World(problems, samples, rate, spread, shift, touched)
    for problems, samples in SIZES
    for rate, spread in RATES
    for shift, touched in CHANGES
)


@dataclass(frozen=True)
class Rates:
    """What became of the runs of one world, as shares of all."""

    world: World
    runs: int
    rejected: float
    rang: float
    held: float
    covered: float


def measured(world: World, runs: int, seed: int) -> Rates:
    """Simulate one world and count."""
    generator = np.random.default_rng([seed, WORLDS.index(world) if world in WORLDS else 0])
    rejected = rang = held = covered = 0
    for _ in range(runs):
        first, second = _chances(world, generator)
        shares = [
            1 - generator.binomial(n, chance) / n
            for n, chance in zip(world.samples, (first, second), strict=True)
        ]
        estimate = share_change(*shares)
        ruling = ruled(estimate, PARSE_CHANGE)
        truth = float((first - second).mean())
        rejected += (estimate.p_value or 1.0) <= ALPHA
        rang += ruling is Ruling.LEAKS
        held += ruling is Ruling.HOLDS
        covered += (
            estimate.low is not None and estimate.high is not None and estimate.low <= truth <= estimate.high
        )
    return Rates(world, runs, rejected / runs, rang / runs, held / runs, covered / runs)


def _chances(world: World, generator: Generator) -> tuple[Chances, Chances]:
    chance = generator.beta(world.rate * world.spread, (1 - world.rate) * world.spread, size=world.problems)
    touched = np.zeros(world.problems)
    touched[: round(world.touched * world.problems)] = world.shift / world.touched
    return chance, np.minimum(1.0, chance + generator.permutation(touched))


def page(found: Sequence[Rates]) -> str:
    """Return the page."""
    runs = found[0].runs
    low, high = clopper_pearson_interval(round(0.05 * runs), runs, level=0.95)
    lines = [
        "# How often the alarm of a replay is right",
        "",
        "<!-- Written by `python -m tools.replay_characteristics --write`; do not edit. -->",
        "",
        f"The alarm compares the share of samples that parse in two passes of one checkpoint, problem by problem. {runs:,} simulated",
        f"pairs of passes for each row; a share of 0.05 is known to [{low:.3f}, {high:.3f}]. *Rejects*: the sign-flip test of no change at",
        f"5 %. *Rings*: it rejects and the change is at least {100 * PARSE_CHANGE.leak:g} point (before the correction over a page's contrasts).",
        f"*Holds*: the 90 % interval lies within {100 * (PARSE_CHANGE.margin or 0):g} point. *Covers*: the 95 % interval holds the true change.",
        "Where a few problems fail much more often than others (spread 1) the test is the more careful; it never rings much more often",
        "than it should.",
        "",
        "| problems | samples | not parsing | spread | change | rejects | rings | holds | covers |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for one in found:
        world = one.world
        change = "none" if not world.shift else f"{100 * world.shift:g} on {world.touched:.0%} of problems"
        lines.append(
            f"| {world.problems} | {world.samples[0]}, {world.samples[1]} | {100 * world.rate:g} % | {world.spread:g} | {change} "
            f"| {one.rejected:.3f} | {one.rang:.3f} | {one.held:.3f} | {one.covered:.3f} |"
        )
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Measure every world and print the page; with --write put it into the docs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args(arguments)
    text = page([measured(world, given.runs, given.seed) for world in WORLDS])
    print(text)
    if given.write:
        PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
