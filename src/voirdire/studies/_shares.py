"""Shares of answers as estimates, with what could not be read counted beside them."""

from dataclasses import replace

from voirdire.model import Estimate
from voirdire.stats.proportion import wilson


def share_of(count: int, of: int, *, missing: int, arm: str) -> Estimate:
    """Return `count` of `of` as a share with Wilson's interval; None where nothing was read. `arm` names the answers."""
    if not of:
        return Estimate(
            None, unit=arm, missing={arm: missing}, asked={arm: missing}, note="nothing could be read"
        )
    estimate = wilson(count, of)
    return replace(estimate, unit=arm, missing={arm: missing}, asked={arm: of + missing})
