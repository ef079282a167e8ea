"""Measures how often a drift chart rings by chance, and how soon it sees a drift.

    python -m tools.drift_characteristics [--series 1000] [--seed 1] [--write]

Simulated anchors answer in every run; the run's mean goes through the same chart as that of real anchors.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from voirdire.lines import DRIFT_ALLOWANCE, DRIFT_LIMIT
from voirdire.stats.control_chart import control_chart
from voirdire.stats.proportion import clopper_pearson_interval

PAGE = Path(__file__).parents[1] / "docs" / "drift-characteristics.md"
LONGEST = 4_000
"""Runs after which a series that has not rung is ended: about one in two thousand."""

YEAR = 52
AFTER = 60
"""Runs that a drift is given to be seen."""

Means = NDArray[np.float64]
Draw = Callable[[Generator, int], Means]


@dataclass(frozen=True)
class World:
    """One kind of anchor set: `draw` gives the means of so many steady runs, `deviation` is that of one of them."""

    name: str
    draw: Draw
    deviation: float


def _normal(generator: Generator, runs: int) -> Means:
    return generator.normal(size=runs)


def _scores(generator: Generator, runs: int) -> Means:
    """Ten anchors scored 0 to 10, each around its own place."""
    places = np.linspace(2, 8, 10)
    scores = np.clip(np.rint(generator.normal(places, 1.0, size=(runs, 10))), 0, 10)
    return np.asarray(scores.mean(axis=1), dtype=np.float64)


def _verdicts(generator: Generator, runs: int) -> Means:
    """Twenty anchors answered yes or no, most of them with a chance of 0.9."""
    chances = np.r_[np.full(14, 0.9), np.full(6, 0.3)]
    return np.asarray((generator.random((runs, 20)) < chances).mean(axis=1), dtype=np.float64)


def _one_anchor(generator: Generator, runs: int) -> Means:
    """One anchor with a skewed score."""
    return generator.exponential(size=runs)


WORLDS = (
    World("normal means", _normal, 1.0),
    World("10 anchors, scores 0 to 10", _scores, float(np.sqrt(1 + 1 / 12) / np.sqrt(10))),
    World("20 anchors, yes or no", _verdicts, float(np.sqrt(14 * 0.09 + 6 * 0.21) / 20)),
    World("one anchor, skewed score", _one_anchor, 1.0),
)
STEADY = (5, 10, 30, 100)
SHIFTS = (0.5, 1.0, 2.0, 3.0)


@dataclass(frozen=True)
class Steady:
    """Steady series of one world: the mean number of runs until the chart rings, its interval, rings within a year."""

    world: World
    mean: float
    low: float
    high: float
    median: float
    within_year: float
    never: int


def steady(world: World, series: int, generator: Generator) -> Steady:
    """Simulate series in which nothing changes."""
    lengths = np.array([_rang_in(world.draw(generator, LONGEST)) or LONGEST for _ in range(series)])
    error = 1.96 * lengths.std(ddof=1) / np.sqrt(series)
    return Steady(
        world=world,
        mean=float(lengths.mean()),
        low=float(lengths.mean() - error),
        high=float(lengths.mean() + error),
        median=float(np.median(lengths)),
        within_year=float((lengths <= YEAR).mean()),
        never=int((lengths == LONGEST).sum()),
    )


def _rang_in(means: Means) -> int | None:
    """Return the number of the run in which the chart rang, from 1."""
    alarm = control_chart(means).alarm
    return None if alarm is None else alarm.at + 1


@dataclass(frozen=True)
class Seen:
    """Series of normal means that shift: the share seen within `AFTER` runs, and the median runs until then."""

    steady: int
    shift: float
    share: float
    median: float | None


def seen(before: int, shift: float, series: int, generator: Generator) -> Seen:
    """Simulate series that shift after `before` steady runs; those that rang earlier are drawn again."""
    delays: list[float] = []
    while len(delays) < series:
        means = _normal(generator, before + AFTER)
        means[before:] += shift
        rang = _rang_in(means)
        if rang is None or rang > before:
            delays.append(np.inf if rang is None else rang - before)
    found = np.array(delays)
    median = float(np.median(found))
    return Seen(before, shift, float(np.isfinite(found).mean()), median if np.isfinite(median) else None)


def _seen_exactly(before: int) -> str:
    """Return how soon the chart sees a change where nothing had ever varied."""
    rang = _rang_in(np.r_[np.zeros(before), np.ones(AFTER)])
    return f"seen in run {rang - before} of the new scores" if rang else "not seen"


def page(still: Sequence[Steady], moved: Sequence[Seen], series: int) -> str:
    """Return the page."""
    low, high = clopper_pearson_interval(series // 2, series, level=0.95)
    lines = [
        "# How often a drift chart rings",
        "",
        "<!-- Written by `python -m tools.drift_characteristics --write`; do not edit. -->",
        "",
        "`voirdire check --anchors` puts each run's mean over the anchors on a two-sided, self-starting CUSUM chart: a run is",
        f"compared with all runs before it, the sum lets pass {DRIFT_ALLOWANCE:g} standard deviations a run, and beyond {DRIFT_LIMIT:g} it rings.",
        f"{series:,} simulated series a row.",
        "",
        "## Nothing drifts",
        "",
        "| anchors | runs until it rings, mean | 95 % interval | median | rings within 52 runs |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {one.world.name} | {one.mean:.0f} | [{one.low:.0f}, {one.high:.0f}] | {one.median:.0f} | {100 * one.within_year:.1f} % |"
        for one in still
    ]
    unended = sum(one.never for one in still)
    lines += [
        "",
        f"A series ends after {LONGEST:,} runs; {unended:,} of {series * len(still):,} had not rung by then and count as that long.",
        "The theory for normal means is 465 runs. A set of anchors asked once a week rings about once in nine years; a single",
        "anchor with a skewed score rings far more often: use ten or more anchors.",
        "",
        "## The scores shift",
        "",
        "Normal means; the shift is in standard deviations of a run's mean. *Seen*: the chart rings within",
        f"{AFTER} runs of the shift. A share of a half is known to [{low:.3f}, {high:.3f}].",
        "",
        "| steady runs before | shift | seen | median runs until seen |",
        "| --- | --- | --- | --- |",
    ]
    lines += [
        f"| {one.steady} | {one.shift:g} | {100 * one.share:.1f} % | {f'{one.median:.0f}' if one.median is not None else f'more than {AFTER}'} |"
        for one in moved
    ]
    lines += [
        "",
        "A shift that comes early is soon part of what later runs are compared with, so a chart needs some thirty steady runs",
        "before it sees a shift by one standard deviation as a rule; a large shift is seen at once or hardly.",
        "",
        "A judge that gave the same scores in every run and then others, for good: "
        + "; ".join(f"after {before} equal runs {_seen_exactly(before)}" for before in (5, 10, 30, 100))
        + ".",
    ]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Measure every world and print the page; with --write put it into the docs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--series", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args(arguments)
    generator = np.random.default_rng(given.seed)
    still = [steady(world, given.series, generator) for world in WORLDS]
    moved = [seen(before, shift, given.series, generator) for before in STEADY for shift in SHIFTS]
    text = page(still, moved, given.series)
    print(text)
    if given.write:
        PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
