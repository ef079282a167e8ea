"""The mean of shares: one number between 0 and 1 per unit, such as an agreement, a win rate or a P."""

from dataclasses import replace

from numpy.typing import ArrayLike

from voirdire.errors import DataError
from voirdire.lines import CONFIDENCE
from voirdire.model import Estimate
from voirdire.stats.checked import unit_vector
from voirdire.stats.paired import paired_mean


def mean_share(
    shares: ArrayLike,
    *,
    null: float | None = None,
    clusters: ArrayLike | None = None,
    level: float = CONFIDENCE,
    seed: int = 0,
    unit: str = "item",
) -> Estimate:
    """Return the mean of shares with a t interval over units and, where `null` is given, a sign-flip test of it.

    shares: one per unit, shape (n,), n >= 1, each in [0, 1]; where all are 0 or 1 `proportion.wilson` is sharper.
    `null`: the mean to test, in (0, 1), about which shares are taken to be symmetric; None: nothing is tested.
    `clusters`: units that share a source, shape (n,). Intervals end at 0 and 1, beyond which no mean lies: cutting
    there loses no coverage. Where all units show the same share the interval allows for units not drawn (see
    `paired_mean`). One unit gives no interval. Raises DataError for empty input.
    """
    values = unit_vector(shares, name="shares")
    centre = 0.5 if null is None else null
    if not 0 < centre < 1:
        raise DataError(f"a mean of {centre:g} cannot be tested", hint="test one strictly between 0 and 1")
    span = max(centre, 1 - centre)
    shift = paired_mean(values - centre, clusters=clusters, span=span, level=level, seed=seed, unit=unit)
    interval, test = shift.method.removeprefix("mean difference; ").rpartition("; ")[::2]
    parts = ("mean share", interval, "" if null is None else f"{test} against {centre:g}")
    return replace(
        shift,
        value=_share(shift.value, centre),
        low=_share(shift.low, centre),
        high=_share(shift.high, centre),
        inner_low=_share(shift.inner_low, centre),
        inner_high=_share(shift.inner_high, centre),
        p_value=None if null is None else shift.p_value,
        method="; ".join(part for part in parts if part),
    )


def _share(shift: float | None, centre: float) -> float | None:
    return None if shift is None else min(1.0, max(0.0, centre + shift))
