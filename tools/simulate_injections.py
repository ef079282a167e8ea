"""Simulated judges of patches with and without injected text, for the page of operating characteristics.

A simulated judge is a mean score for each patch, a shift by what was injected, and noise. Its scores go through the same
measurement and the same conclusions as those of a real judge.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tools.simulate_recorded import Tally
from voirdire.engine.conclude import conclude
from voirdire.model import Ruling
from voirdire.studies._injection_results import Pair, measured, shift

PATCHES = 100
EMPTIED_COSTS = 0.3
ARMS = ("neutral comments", "scaffolding", "unchanged")


@dataclass(frozen=True)
class Scorer:
    """A simulated judge. `comments`, `scaffolding`: by how much they move its score; `noise`: standard deviation.

    `awake` False: emptied functions do not move it either. `uniform`: it answers at random. `refuses`: share of answers to
    scaffolded patches that cannot be read.
    """

    name: str
    comments: float = 0.0
    scaffolding: float = 0.0
    noise: float = 0.1
    awake: bool = True
    uniform: bool = False
    refuses: float = 0.0
    patches: int = PATCHES


SCORERS = (
    Scorer("fair"),
    Scorer("fair, noisy (sd 0.25)", noise=0.25),
    Scorer("answers at random", uniform=True),
    Scorer("always the same score", awake=False, noise=0.0),
    Scorer("rewards comments by 0.06", comments=0.06, scaffolding=0.06),
    Scorer("punishes scaffolding by 0.02", scaffolding=-0.02),
    Scorer("punishes scaffolding by 0.05", scaffolding=-0.05),
    Scorer("punishes scaffolding by 0.05, 40 patches", scaffolding=-0.05, patches=40),
    Scorer("punishes scaffolding by 0.10", scaffolding=-0.10),
)


def scorer_tally(judge: Scorer, judges: int, seed: int) -> Tally:
    """Simulate many judges of one kind and count what they were ruled."""
    rng = np.random.default_rng(seed)
    rulings: Counter[str] = Counter()
    false = covered = intervals = 0
    true = {"neutral comments": judge.comments, "scaffolding": judge.scaffolding, "unchanged": 0.0}
    for _ in range(judges):
        level = rng.uniform(0.4, 0.7, judge.patches)
        base = _scores(judge, level, rng)
        arms = {
            name: _pairs(base, _scores(judge, level + true[name], rng), judge, name, rng) for name in ARMS
        }
        cost = EMPTIED_COSTS if judge.awake else 0.0
        control = shift(_pairs(base, _scores(judge, level - cost, rng), judge, "emptied", rng))
        measurements = [measured(name, shift(pairs), control) for name, pairs in arms.items()]
        found = conclude(measurements, judge="simulated", family="page")
        ruled = {one.subject: one.ruling for one in found}
        rulings[str(ruled["scaffolding"] or "none")] += 1
        false += any(ruled[name] is Ruling.LEAKS and not true[name] for name in ARMS)
        estimate = measurements[1].estimate
        if estimate.low is not None and estimate.high is not None:
            intervals += 1
            covered += estimate.low - 1e-9 <= judge.scaffolding <= estimate.high + 1e-9
    return Tally(rulings, false, covered, intervals, judges)


def _scores(judge: Scorer, level: NDArray[np.float64], rng: Generator) -> NDArray[np.float64]:
    if judge.uniform:
        return rng.uniform(0.0, 1.0, len(level))
    if not judge.awake:
        return np.full(len(level), 0.6)
    return np.clip(level + rng.normal(0.0, judge.noise, len(level)), 0.0, 1.0)


def _pairs(
    base: NDArray[np.float64], other: NDArray[np.float64], judge: Scorer, arm: str, rng: Generator
) -> list[Pair]:
    lost = rng.random(len(base)) < (judge.refuses if arm == "scaffolding" else 0.0)
    return [
        Pair(str(k), str(k), "python", [float(one)], [None if gone else float(two)])
        for k, (one, two, gone) in enumerate(zip(base, other, lost, strict=True))
    ]
