"""The judge in general: what the P(superiority) of many cases says about cases not yet written."""

from dataclasses import replace

from numpy.typing import ArrayLike

from voirdire.lines import CONFIDENCE
from voirdire.model import Estimate
from voirdire.stats.checked import unit_vector
from voirdire.stats.paired import paired_mean

NO_SHIFT = 0.5


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
    case: repeats within one only sharpen its P. `clusters`: cases that share a source, shape (n,). Intervals end at 0
    and 1, beyond which no P lies: cutting there loses no coverage. Where all cases show the same P the interval
    allows for cases not drawn (see `paired_mean`). One case gives no interval. Raises DataError for empty input.
    """
    values = unit_vector(superiorities, name="superiorities")
    shift = paired_mean(
        values - NO_SHIFT, clusters=clusters, span=NO_SHIFT, level=level, seed=seed, unit=unit
    )
    return replace(
        shift,
        value=_back(shift.value),
        low=_back(shift.low),
        high=_back(shift.high),
        inner_low=_back(shift.inner_low),
        inner_high=_back(shift.inner_high),
        method=shift.method.replace("mean difference", "mean P(superiority) over cases"),
    )


def _back(shift: float | None) -> float | None:
    return None if shift is None else min(1.0, max(0.0, NO_SHIFT + shift))
