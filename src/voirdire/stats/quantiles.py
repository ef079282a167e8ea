"""Critical values and tail probabilities that several statistics share."""

import math
from statistics import NormalDist

_STANDARD = NormalDist()


def normal_critical(level: float) -> float:
    """Return z with a share `level` of the standard normal between -z and z."""
    return _STANDARD.inv_cdf(0.5 + level / 2)


def normal_quantile(share: float) -> float:
    """Return the standard normal quantile of a share in (0, 1)."""
    return _STANDARD.inv_cdf(share)


def normal_share(z: float) -> float:
    """Return the share of the standard normal below `z`."""
    return _STANDARD.cdf(z)


def t_critical(level: float, df: float) -> float:
    """Return t with a share `level` of Student's t on `df` > 0 degrees of freedom between -t and t."""
    from scipy.special import stdtrit

    return float(stdtrit(df, 0.5 + level / 2))


def t_two_sided(statistic: float, df: float) -> float:
    """Return the two-sided p value of a t statistic on `df` > 0 degrees of freedom, in (0, 1]."""
    from scipy.special import stdtr

    return max(min(1.0, 2 * float(stdtr(df, -abs(statistic)))), math.ulp(0.0))


def t_upper_tail(statistic: float, df: float) -> float:
    """Return the share of Student's t on `df` > 0 degrees of freedom above `statistic`."""
    from scipy.special import stdtr

    return float(stdtr(df, -statistic))
