"""Measures what calibration recovers of a planted halo, beside public estimators on the same draws.

    python -m tools.planted_halo [--draws 400] [--world sharp --share 0.1 ...] [--keep FILE] [--write]

Four systems work on the same 200 tasks; the judge sees quality, the system's style and noise; tests were executed on few
rows. Each estimator gives the four solve rates. `--write` puts the table into docs/calibration.md. PPI++ and cje-eval
are the packages `ppi-python` and `cje-eval` (requirements/bench.txt); one that is missing is named as not installed.
Set OMP_NUM_THREADS=1: the matrices are small. `--keep` holds finished cells, so that a stopped run goes on.
"""

import argparse
import json
import logging
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module, metadata, util
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from voirdire.stats.calibrated_rates import calibrated_rates

PAGE = Path(__file__).parents[1] / "docs" / "calibration.md"
BEGIN = "<!-- planted halo: written by tools/planted_halo.py -->"
END = "<!-- planted halo: end -->"

RATES = np.array([0.16, 0.33, 0.30, 0.36])
OFFSETS = np.array([0.12, -0.05, 0.00, 0.02])
SYSTEMS, TASKS = len(RATES), 200
FIRST_SEED = 1000
FEWEST_LABELS = 3
"""A draw in which a system has fewer labels is left out for every estimator."""

WORLDS: Mapping[str, str] = {
    "sharp": "the judge tells passes from failures very well (gap 0.50, noise 0.08)",
    "plain": "it tells them well (gap 0.35, noise 0.15)",
    "weak": "it tells them badly (gap 0.12, noise 0.22)",
    "difficulty": "as plain, and the style offset grows with the difficulty of the task",
    "tasks": "as plain, and a task that is executed is executed for every system",
    "chosen": "as plain, and rows that the judge scored high are executed more often, with known chances",
}
SHARES = (0.10, 0.30)

FLOOR, OURS = "all labels (floor)", "voirdire"
PEERS = ("labels only", "published offset rule", "PPI++", "cje-eval")
PACKAGES = {"PPI++": ("ppi_py", "ppi-python"), "cje-eval": ("cje", "cje-eval")}

WITHIN_BEST = 1.10
LEAST_COVERAGE = 0.92
BELOW_FLOOR = 0.02

Vector = NDArray[np.float64]
Rates = NDArray[np.float64]
"""Value, low and high end of each system's rate, shape (4, 3); nan where an estimator gives no interval."""


@dataclass(frozen=True)
class Draw:
    """One drawn table: success, score, whether executed, chance of being executed; each of shape (4, 200)."""

    passed: Vector
    score: Vector
    executed: NDArray[np.bool_]
    chance: Vector


@dataclass(frozen=True)
class Cell:
    """What one estimator reached in one world at one share of labels. None: it gives no intervals."""

    world: str
    share: float
    estimator: str
    draws: int
    error: float
    order: float
    coverage: float | None
    width: float | None


# --- the worlds ---------------------------------------------------------------------------------------


def drawn(world: str, share: float, rng: Generator) -> Draw:
    """Return one table of a world, with about `share` of its rows executed."""
    hard = rng.normal(size=TASKS)
    trouble = np.sqrt(0.5) * (hard + rng.normal(size=(SYSTEMS, TASKS)))
    limits = np.quantile(rng.normal(size=200_000), RATES)
    passed = (trouble < limits[:, None]).astype(np.float64)
    gap, noise = {"sharp": (0.50, 0.08), "weak": (0.12, 0.22)}.get(world, (0.35, 0.15))
    style = OFFSETS[:, None] * (1 + 0.8 * hard if world == "difficulty" else np.ones(TASKS))
    seen = 0.40 + gap * passed + style + noise * rng.normal(size=passed.shape) - 0.05 * hard
    score = np.clip(seen, 0, 1)
    chance = np.full(passed.shape, share)
    if world == "tasks":
        return Draw(passed, score, np.repeat(rng.random((1, TASKS)) < share, SYSTEMS, axis=0), chance)
    if world == "chosen":
        chance = np.clip(2 * share * np.where(score > np.median(score), 1.0, 0.1), 0.02, 1.0)
    return Draw(passed, score, rng.random(passed.shape) < chance, chance)


def draws_of(world: str, share: float, number: int) -> list[Draw]:
    """Return the draws of a cell in which every system has labels enough; the same for every estimator."""
    made = [drawn(world, share, np.random.default_rng(FIRST_SEED + seed)) for seed in range(number)]
    return [one for one in made if one.executed.sum(axis=1).min() >= FEWEST_LABELS]


# --- the estimators -----------------------------------------------------------------------------------


def floor(one: Draw) -> Rates:
    """Return the rates with every row executed: what is left is the chance of which tasks were drawn."""
    return _means([one.passed[k] for k in range(SYSTEMS)])


def labels_only(one: Draw) -> Rates:
    """Return the share of executed rows that passed."""
    return _means([one.passed[k][one.executed[k]] for k in range(SYSTEMS)])


def _means(samples: Sequence[Vector]) -> Rates:
    value = np.array([sample.mean() for sample in samples])
    reach = np.array([1.96 * sample.std(ddof=1) / np.sqrt(len(sample)) for sample in samples])
    return np.column_stack([value, value - reach, value + reach])


def offset_rule(one: Draw) -> Rates:
    """Return the mean score less the mean of score minus truth on executed rows; the rule has no intervals."""
    above = [(one.score[k] - one.passed[k])[one.executed[k]].mean() for k in range(SYSTEMS)]
    nothing = np.full(SYSTEMS, np.nan)
    return np.column_stack([one.score.mean(axis=1) - np.array(above), nothing, nothing])


def ppi_plus(one: Draw) -> Rates:
    """Return power-tuned prediction-powered means, system by system."""
    ppi: Any = import_module("ppi_py")
    rows = []
    for k in range(SYSTEMS):
        executed = one.executed[k]
        given = (one.passed[k][executed], one.score[k][executed], one.score[k][~executed])
        low, high = ppi.ppi_mean_ci(*given, alpha=0.05)
        rows.append([_number(ppi.ppi_mean_pointestimate(*given)), _number(low), _number(high)])
    return np.array(rows)


def _number(value: object) -> float:
    return float(np.ravel(np.asarray(value, dtype=np.float64))[0])


def cje_direct(one: Draw) -> Rates:
    """Return what cje-eval's direct mode gives for the four systems."""
    cje: Any = import_module("cje")
    fresh = {
        f"s{k}": [
            {
                "prompt_id": f"t{task}",
                "judge_score": float(one.score[k, task]),
                "oracle_label": float(one.passed[k, task]) if one.executed[k, task] else None,
            }
            for task in range(TASKS)
        ]
        for k in range(SYSTEMS)
    }
    result = cje.analyze_dataset(fresh_draws_data=fresh)
    low, high = result.confidence_interval(0.05)
    named = list(result.metadata["target_policies"])
    places = [named.index(f"s{k}") for k in range(SYSTEMS)]
    return np.array([[result.estimates[at], low[at], high[at]] for at in places], dtype=np.float64)


def ours(one: Draw, *, weighted: bool) -> Rates:
    """Return what `calibrated_rates` gives; weighted: it is told the chances."""
    found = calibrated_rates(
        [f"s{k}" for k in range(SYSTEMS) for _ in range(TASKS)],
        np.tile(np.arange(TASKS), SYSTEMS),
        one.score.ravel(),
        np.where(one.executed, one.passed, np.nan).ravel(),
        chance=one.chance.ravel() if weighted else None,
    )
    rates = [found.rate(f"s{k}") for k in range(SYSTEMS)]
    return np.array([[rate.value, rate.low, rate.high] for rate in rates], dtype=np.float64)


ESTIMATORS: Mapping[str, Callable[[Draw], Rates]] = {
    FLOOR: floor,
    "labels only": labels_only,
    "published offset rule": offset_rule,
    "PPI++": ppi_plus,
    "cje-eval": cje_direct,
}


def installed(estimator: str) -> bool:
    """Whether the package behind an estimator, if any, is there."""
    return estimator not in PACKAGES or util.find_spec(PACKAGES[estimator][0]) is not None


# --- a cell -------------------------------------------------------------------------------------------


def cell(world: str, share: float, estimator: str, draws: Sequence[Draw]) -> Cell:
    """Return how one estimator does over the draws of a cell."""
    if estimator == OURS:
        found = np.array([ours(one, weighted=world == "chosen") for one in draws])
    else:
        found = np.array([ESTIMATORS[estimator](one) for one in draws])
    value, low, high = found[:, :, 0], found[:, :, 1], found[:, :, 2]
    first, second = np.triu_indices(SYSTEMS, 1)
    agree = np.sign(value[:, first] - value[:, second]) * np.sign(RATES[first] - RATES[second])
    intervals = bool(np.isfinite(low).all())
    return Cell(
        world=world,
        share=share,
        estimator=estimator,
        draws=len(draws),
        error=float(np.sqrt(((value - RATES) ** 2).mean())),
        order=float((agree.mean() + 1) / 2),
        coverage=float(((low <= RATES) & (high >= RATES)).mean()) if intervals else None,
        width=float((high - low).mean()) if intervals else None,
    )


def measured(worlds: Sequence[str], shares: Sequence[float], number: int, keep: Path | None) -> list[Cell]:
    """Return every cell, those of the file `keep` taken as they are where they have as many draws."""
    known = {_key(one): one for one in _kept(keep)}
    cells = []
    for world in worlds:
        for share in shares:
            draws = draws_of(world, share, number)
            for estimator in (FLOOR, OURS, *PEERS):
                if not installed(estimator):
                    continue
                key = (world, share, estimator, len(draws))
                # Ours is always computed anew: it is what changes.
                made = known.get(key) if estimator != OURS else None
                cells.append(made or cell(world, share, estimator, draws))
                if keep is not None:
                    known[key] = cells[-1]
                    keep.write_text(json.dumps([asdict(one) for one in known.values()]), encoding="utf-8")
                print(_said(cells[-1]), file=sys.stderr, flush=True)
    return cells


def _key(one: Cell) -> tuple[str, float, str, int]:
    return one.world, one.share, one.estimator, one.draws


def _kept(keep: Path | None) -> list[Cell]:
    if keep is None or not keep.exists():
        return []
    return [Cell(**row) for row in json.loads(keep.read_text(encoding="utf-8"))]


def _said(one: Cell) -> str:
    return f"{one.world} {one.share:.0%} {one.estimator}: {_figures(one)}"


# --- what is held to what -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Held:
    """One cell of ours held to the criteria: what falls short, in words; () where nothing does."""

    own: Cell
    short: tuple[str, ...]


def held(cells: Sequence[Cell], world: str, share: float) -> Held:
    """Return our cell with what it falls short of: the best peer's error, and the floor's coverage."""
    here = {one.estimator: one for one in cells if (one.world, one.share) == (world, share)}
    own, least = here[OURS], here[FLOOR]
    best = min((one for name, one in here.items() if name in PEERS), key=lambda one: one.error)
    short = []
    if own.error > WITHIN_BEST * best.error:
        short.append(f"error {own.error:.3f} is more than 10 % above {best.estimator}'s {best.error:.3f}")
    wanted = max(LEAST_COVERAGE, (least.coverage or 0.0) - BELOW_FLOOR)
    if (own.coverage or 0.0) < wanted:
        short.append(f"coverage {own.coverage or 0:.3f} is below {wanted:.3f}")
    return Held(own, tuple(short))


def mean_errors(cells: Sequence[Cell]) -> dict[str, float]:
    """Return each estimator's mean error over the cells that are scored together: all but `chosen`."""
    together = [one for one in cells if one.world != "chosen"]
    names = list(dict.fromkeys(one.estimator for one in together))
    return {name: float(np.mean([one.error for one in together if one.estimator == name])) for name in names}


# --- the page -----------------------------------------------------------------------------------------


def page(cells: Sequence[Cell]) -> str:
    """Return what is written between the two marks of docs/calibration.md."""
    names = [FLOOR, OURS, *(name for name in PEERS if installed(name))]
    worlds = [world for world in WORLDS if any(one.world == world for one in cells)]
    places = [(world, share) for world in worlds for share in SHARES if _has(cells, world, share)]
    verdicts = {place: held(cells, *place) for place in places}
    lines = [
        BEGIN,
        "",
        f"{max(one.draws for one in cells):,} draws a cell, seeds from {FIRST_SEED}. Each entry: root mean square error of the four",
        "rates / share of the six pairs in the right order (a tie counts half) / coverage of 95 % intervals.",
        "",
        *(f"- **{world}**: {WORLDS[world]}." for world in worlds),
        "",
        f"| world, labels | {' | '.join(names)} | held to the criteria |",
        f"| --- | {' | '.join('---' for _ in names)} | --- |",
        *(_row(cells, place, names, verdicts[place]) for place in places),
        "",
        *_averages(cells),
        "",
        "**The criteria.** In every cell our error is at most 10 % above that of the best peer; on average over the cells (`chosen`",
        "apart) it is below each peer's; our coverage is at least 0.92, and not more than 0.02 below the floor's on the same draws.",
        *_shortfalls(verdicts),
        *_about_chosen(places),
        *_about_peers(),
        "",
        END,
    ]
    return "\n".join(lines)


def _has(cells: Sequence[Cell], world: str, share: float) -> bool:
    return any((one.world, one.share) == (world, share) for one in cells)


def _row(cells: Sequence[Cell], place: tuple[str, float], names: Sequence[str], verdict: Held) -> str:
    world, share = place
    here = {one.estimator: one for one in cells if (one.world, one.share) == place}
    shown = [
        _figures(here[name]) if name != OURS else f"**{_figures(here[name])}**"
        for name in names
        if name in here
    ]
    said = "falls short: " + "; ".join(verdict.short) if verdict.short else "met"
    return f"| {world}, {share:.0%} | {' | '.join(shown)} | {said} |"


def _figures(one: Cell) -> str:
    covered = "-" if one.coverage is None else f"{one.coverage:.3f}"
    return f"{one.error:.3f} / {one.order:.2f} / {covered}"


def _averages(cells: Sequence[Cell]) -> list[str]:
    means = mean_errors(cells)
    others = ", ".join(f"{name} {mean:.4f}" for name, mean in means.items() if name not in (OURS, FLOOR))
    beaten = all(means[OURS] < mean for name, mean in means.items() if name not in (OURS, FLOOR))
    return [
        f"Mean error over the cells without `chosen`: ours {means[OURS]:.4f}; {others}; floor {means[FLOOR]:.4f}."
        f" Ours is {'the lowest of them' if beaten else '**not** below each of them'}."
    ]


def _shortfalls(verdicts: Mapping[tuple[str, float], Held]) -> list[str]:
    short = [f"{world} {share:.0%}" for (world, share), one in verdicts.items() if one.short]
    if not short:
        return ["No cell falls short."]
    return [f"Cells that fall short: {', '.join(short)}."]


def _about_chosen(places: Sequence[tuple[str, float]]) -> list[str]:
    if not any(world == "chosen" for world, _ in places):
        return []
    return [
        "",
        "In `chosen` the peers run as published, without the chances with which rows were executed, and are biased; ours is told",
        "them. Without known chances `voirdire halo` says that it cannot calibrate such labels.",
    ]


def _about_peers() -> list[str]:
    versions = [
        f"{package} {metadata.version(package)}"
        if installed(name)
        else f"{package} (not installed: left out)"
        for name, (_, package) in PACKAGES.items()
    ]
    return ["", f"Peers: {', '.join(versions)}; labels only and the published rule by their formulas."]


def written(text: str, part: str) -> str:
    """Return a page's text with the part between the marks replaced."""
    before, mark, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise SystemExit(f"{PAGE} has no place for the table")
    return f"{before}{part}{after}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked, print it, and write it into the page if asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--world", action="append", choices=list(WORLDS))
    parser.add_argument("--share", action="append", type=float)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args(arguments)
    logging.disable(logging.WARNING)
    for name, (_, package) in PACKAGES.items():
        if not installed(name):
            print(f"{name}: {package} is not installed, left out", file=sys.stderr)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cells = measured(given.world or list(WORLDS), given.share or SHARES, given.draws, given.keep)
    part = page(cells)
    print(part)
    if given.write:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), part), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
