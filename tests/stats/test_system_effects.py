"""How far systems lie apart: against plain formulas, planted spreads, exchange within tasks."""

import numpy as np
import pytest
from numpy.typing import NDArray

from voirdire.errors import DataError
from voirdire.stats.clustered_mean import clustered_mean
from voirdire.stats.system_effects import (
    SystemEffects,
    mean_effects,
    slope_beside,
    spread_of,
    within_task_effects,
)

Vector = NDArray[np.float64]


def planted(
    seed: int, styles: list[float], *, tasks: int = 120, kept: float = 0.6, noise: float = 0.2
) -> tuple[list[str], list[str], Vector]:
    """Return answers of systems on random tasks, whose difficulty spreads scores far more than styles do."""
    rng = np.random.default_rng(seed)
    hard = rng.normal(size=tasks)
    system, task, score = [], [], []
    for place, style in enumerate(styles):
        for one in np.flatnonzero(rng.random(tasks) < kept).tolist():
            system.append(f"s{place}")
            task.append(f"t{one}")
            score.append(0.5 + style + hard[one] + noise * rng.normal())
    return system, task, np.array(score)


def test_within_tasks_two_systems_differ_by_the_mean_paired_difference() -> None:
    found = within_task_effects(["a", "b", "a", "b", "a"], [1, 1, 2, 2, 3], [0.5, 0.2, 0.9, 0.4, 0.0])
    assert found.tasks == 2
    assert found.effects.tolist() == pytest.approx([0.2, -0.2])
    difference = found.difference(0, 1)
    assert difference.value == pytest.approx(0.4)
    assert difference.n == 2
    assert np.sqrt(found.covariance[0, 0] * 4) == pytest.approx(np.std([0.3, 0.5], ddof=1) / np.sqrt(2))


def test_it_is_least_squares_with_dummies() -> None:
    system, task, score = planted(3, [0.1, 0.0, -0.2, 0.05])
    found = within_task_effects(system, task, score)
    names, tasks = sorted(set(system)), sorted(set(task))
    design = np.column_stack(
        [[one == name for one in system] for name in names]
        + [[one == name for one in task] for name in tasks]
    ).astype(float)
    fitted = np.linalg.lstsq(design, score, rcond=None)[0][: len(names)]
    assert found.effects == pytest.approx(fitted - fitted.mean())


def test_task_mix_moves_means_and_not_effects_within_tasks() -> None:
    hard = {f"t{n}": n / 10 for n in range(10)}
    system = ["a"] * 6 + ["b"] * 6
    task = [f"t{n}" for n in (*range(6), *range(4, 10))]
    score = [hard[name] for name in task]
    assert mean_effects(system, task, score).difference(1, 0).value == pytest.approx(0.4)
    assert within_task_effects(system, task, score).difference(1, 0).value == pytest.approx(0, abs=1e-12)


def test_systems_that_share_no_task_with_the_rest_are_named() -> None:
    found = within_task_effects(
        ["a", "b", "a", "b", "c", "d"], [1, 1, 2, 2, 3, 3], [0.1, 0.2, 0.3, 0.5, 0.0, 1.0]
    )
    assert found.systems == ("a", "b")
    assert found.apart == ("c", "d")


@pytest.mark.parametrize(
    ("system", "task", "said"),
    [
        (["a", "a"], [1, 2], "there is one system, 'a'"),
        (["a", "b"], [1, 2], "no task has answers of two systems"),
    ],
)
def test_what_cannot_be_compared_is_said(system: list[str], task: list[int], said: str) -> None:
    with pytest.raises(DataError, match=said):
        within_task_effects(system, task, [0.1, 0.2])


def test_standard_errors_are_those_of_repeated_draws() -> None:
    styles = [0.1, 0.0, -0.1, 0.02, 0.05]
    drawn = [within_task_effects(*planted(seed, styles)) for seed in range(150)]
    spread = np.std([one.effects for one in drawn], axis=0, ddof=1)
    said = np.sqrt(np.mean([np.diag(one.covariance) for one in drawn], axis=0))
    assert said == pytest.approx(spread, rel=0.2)


def test_exchanging_within_tasks_keeps_each_tasks_scores() -> None:
    system, task, score = planted(1, [0.0, 0.3, 0.0])
    found = within_task_effects(system, task, score)
    drawn = found.exchanged(seed=0, permutations=400)
    assert drawn.shape == (400, 3)
    assert np.abs(drawn.mean(axis=0)).max() < 0.01
    assert np.abs(found.effects).max() > 3 * drawn.std()
    assert (drawn == found.exchanged(seed=0, permutations=400)).all()


def spreads(styles_of: float, number: int) -> list[float]:
    values = []
    for seed in range(number):
        styles = (styles_of * np.random.default_rng(seed + 500).normal(size=7)).tolist()
        found = within_task_effects(*planted(seed, styles))
        deviation = spread_of(found, permutations=9).deviation
        assert deviation.value is not None
        assert deviation.low is not None
        assert deviation.high is not None
        assert deviation.low <= deviation.value <= deviation.high
        values.append(deviation.value**2 if deviation.value else 0.0)
    return values


def test_the_deviation_is_without_what_sampling_adds() -> None:
    assert np.sqrt(np.mean(spreads(0.08, 60))) == pytest.approx(0.08, rel=0.15)
    plain = within_task_effects(*planted(1, [0.0] * 7)).effects.std(ddof=1)
    assert np.sqrt(np.mean(spreads(0.0, 60))) < plain


def test_the_interval_of_the_deviation_covers() -> None:
    hits = 0
    for seed in range(100):
        styles = (0.06 * np.random.default_rng(seed + 900).normal(size=7)).tolist()
        deviation = spread_of(within_task_effects(*planted(seed, styles)), permutations=9).deviation
        hits += (deviation.low or 0.0) <= 0.06 <= (deviation.high or 0.0)
    assert hits >= 89


def test_exchange_rejects_as_often_as_it_says_where_there_is_nothing() -> None:
    rejected = sum(
        (
            spread_of(
                within_task_effects(*planted(seed, [0.0] * 5)), seed=seed, permutations=99
            ).deviation.p_value
            or 1
        )
        <= 0.05
        for seed in range(200)
    )
    assert rejected <= 20


def test_the_range_by_chance_stands_beside_the_range() -> None:
    nothing = spread_of(within_task_effects(*planted(2, [0.0] * 8)), permutations=199)
    assert nothing.widest == pytest.approx(nothing.widest_by_chance, rel=0.6)
    real = spread_of(within_task_effects(*planted(2, [0.3, *[0.0] * 7])), permutations=199)
    assert real.widest > 3 * real.widest_by_chance


def flat(effects: list[float]) -> SystemEffects:
    system = [f"s{place}" for place in range(len(effects)) for _ in range(40)]
    task = [t for _ in effects for t in range(40)]
    noise = 0.01 * np.random.default_rng(0).normal(size=len(task))
    return within_task_effects(system, task, np.repeat(effects, 40) + noise)


def test_what_rises_with_the_covariate_is_taken_off_and_what_falls_is_kept() -> None:
    rates = [0.1, 0.2, 0.3, 0.4, 0.5]
    rising = flat([0.1, 0.2, 0.3, 0.4, 0.5])
    assert spread_of(rising, permutations=99).widest == pytest.approx(0.4, abs=0.02)
    beyond = spread_of(rising, covariate=rates, permutations=99)
    assert beyond.explained == pytest.approx(1.0, abs=0.05)
    assert beyond.deviation.value == pytest.approx(0, abs=0.01)
    falling = spread_of(flat([0.5, 0.4, 0.3, 0.2, 0.1]), covariate=rates, permutations=99)
    assert falling.explained == 0
    assert falling.widest == pytest.approx(0.4, abs=0.02)
    assert falling.deviation.p_value == pytest.approx(0.01)


def test_two_systems_show_no_spread_of_differences() -> None:
    pair = spread_of(flat([0.1, 0.2]), permutations=99).deviation
    assert pair.low is None
    assert "one difference" in pair.note
    nothing = spread_of(flat([0.1, 0.2]), covariate=[0.1, 0.2], permutations=99).deviation
    assert nothing.value is None
    assert nothing.p_value is None


def test_the_slope_beside_tasks_and_systems() -> None:
    rng = np.random.default_rng(4)
    system, task, score = planted(5, [0.3, -0.2, 0.1], noise=0.05)
    passed = (rng.random(len(score)) < 0.4).astype(float)
    slope = slope_beside(system, task, passed, score + 0.25 * passed)
    assert slope.value == pytest.approx(0.25, abs=0.03)
    assert slope.low is not None
    assert slope.high is not None
    assert slope.low < 0.25 < slope.high
    assert slope_beside(system, task, np.ones(len(score)), score).value is None


def test_a_mean_counts_tasks_and_not_answers() -> None:
    values, tasks = [0.0, 0.0, 1.0, 1.0, 0.5, 0.5], [1, 1, 2, 2, 3, 3]
    found = clustered_mean(values, tasks)
    alone = clustered_mean(values[::2], tasks[::2])
    assert found.value == alone.value == 0.5
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high))
    assert clustered_mean([], []).value is None
    assert clustered_mean([0.5, 0.5], [1, 2]).low is None
    cut = clustered_mean([0.0, 1.0], [1, 2], within=(0, 1))
    assert (cut.low, cut.high) == (0, 1)
