"""The judge in general: what the P(superiority) of many cases says about cases not yet written."""

from dataclasses import replace

from numpy.typing import ArrayLike

from voirdire.lines import CONFIDENCE
from voirdire.model import Estimate
from voirdire.stats.checked import unit_vector
from voirdire.stats.shares import mean_share

NO_SHIFT = 0.5
"""P(superiority) where variant and base score alike."""


def superiority_over_cases(
    superiorities: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    level: float = CONFIDENCE,
    seed: int = 0,
    unit: str = "case",
) -> Estimate:
    """Return the mean P(superiority) over cases, with a t interval over cases and a sign-flip test of 0.5.

    superiorities: one P per case, shape (n,), n >= 1, each in [0, 1]; a case of 0.5 is a tie. What was drawn is the
    case: repeats within one only sharpen its P. `clusters`: cases that share a source, shape (n,). For the rest see
    `mean_share`. Raises DataError for empty input.
    """
    values = unit_vector(superiorities, name="superiorities")
    mean = mean_share(values, null=NO_SHIFT, clusters=clusters, level=level, seed=seed, unit=unit)
    return replace(mean, method=mean.method.replace("mean share", "mean P(superiority) over cases"))
