"""Simulated tables for the halo audit: systems with known solve rates and styles on shared tasks."""

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import polars as pl

from voirdire.audits._halo_table import Answers, answers_of
from voirdire.model import VerdictTable

STILL = (0.0,) * 6
STYLED = (0.14, -0.10, 0.10, -0.14, 0.08, -0.08)
RATES = (0.20, 0.45, 0.35, 0.25, 0.50, 0.30)


def frame(
    styles: Sequence[float] = STILL,
    *,
    rates: Sequence[float] = RATES,
    tasks: int = 80,
    gap: float = 0.3,
    noise: float = 0.06,
    seed: int = 0,
) -> pl.DataFrame:
    """Return one row per system and task: the judge sees quality, style and noise, and tests see quality."""
    rng = np.random.default_rng(seed)
    shape = (len(rates), tasks)
    limits = np.array([NormalDist().inv_cdf(rate) for rate in rates])
    hard = rng.standard_normal(tasks)
    passed = (np.sqrt(0.5) * (hard + rng.standard_normal(shape)) < limits[:, None]).ravel()
    score = 0.4 + gap * passed.reshape(shape) + np.array(styles)[:, None] - 0.03 * hard
    score = np.clip(score + noise * rng.standard_normal(shape), 0, 1).ravel()
    system = [f"s{k}" for k in range(shape[0]) for _ in range(tasks)]
    return pl.DataFrame(
        {
            "system": system,
            "author": [f"m{int(name[1:]) // 3}" for name in system],
            "harness": [f"h{int(name[1:]) % 3}" for name in system],
            "task": [f"t{t:03}" for _ in range(shape[0]) for t in range(tasks)],
            "repository": [f"r{t % 2}" for _ in range(shape[0]) for t in range(tasks)],
            "judge": ["simulated"] * len(score),
            "value": score,
            "truth_status": np.where(passed, "passed", "failed"),
            "target_passed": passed.astype(int),
            "target_total": np.ones(len(score), dtype=int),
            "tests_passed": passed.astype(int) + 1,
            "tests_total": np.full(len(score), 3),
            "text": [
                f"def f(x):\n{'    # a note' + chr(10) if name in ('s0', 's2', 's4') else ''}    return x + {number}\n"
                for number, name in enumerate(system)
            ],
        }
    )


def answers(styles: Sequence[float] = STILL, **how: object) -> Answers:
    return answers_of(VerdictTable(frame(styles, **how)))[0]  # type: ignore[arg-type]
