"""One proportion: how often something happened in n independent trials."""

import math

from voirdire.errors import DataError
from voirdire.lines import CONFIDENCE, EQUIVALENCE_LEVEL
from voirdire.model import Estimate
from voirdire.stats.checked import count, proper_level
from voirdire.stats.quantiles import normal_critical


def wilson(
    successes: int, n: int, *, null: float | None = None, level: float = CONFIDENCE, unit: str = "item"
) -> Estimate:
    """Return a proportion in [0, 1] with Wilson's score interval, the default for a single proportion.

    successes: count, 0 to n; n: trials, at least 1. `null`: a proportion in (0, 1) to test against, exactly and two
    sided. The interval keeps a width at 0 and n. Raises DataError for no trial. Wilson 1927, doi:10.2307/2276774.
    """
    hits, trials = _hits_of_trials(successes, n)
    low, high = wilson_interval(hits, trials, level=level)
    inner_low, inner_high = wilson_interval(hits, trials, level=EQUIVALENCE_LEVEL)
    return Estimate(
        value=hits / trials,
        low=low,
        high=high,
        level=level,
        n=trials,
        unit=unit,
        method="proportion; Wilson interval" + _test_name(null),
        inner_low=inner_low,
        inner_high=inner_high,
        p_value=None if null is None else binomial_p(hits, trials, null=null),
    )


def clopper_pearson(
    successes: int, n: int, *, null: float | None = None, level: float = CONFIDENCE, unit: str = "item"
) -> Estimate:
    """Return a proportion in [0, 1] with the exact interval, which covers at least `level` whatever the truth.

    Arguments and errors as for `wilson`. Clopper and Pearson 1934, doi:10.2307/2331986.
    """
    hits, trials = _hits_of_trials(successes, n)
    low, high = clopper_pearson_interval(hits, trials, level=level)
    inner_low, inner_high = clopper_pearson_interval(hits, trials, level=EQUIVALENCE_LEVEL)
    return Estimate(
        value=hits / trials,
        low=low,
        high=high,
        level=level,
        n=trials,
        unit=unit,
        method="proportion; Clopper-Pearson interval" + _test_name(null),
        inner_low=inner_low,
        inner_high=inner_high,
        p_value=None if null is None else binomial_p(hits, trials, null=null),
    )


def wilson_interval(successes: int, n: int, *, level: float) -> tuple[float, float]:
    """Return Wilson's interval of `successes` in `n` >= 1 trials, ends in [0, 1]."""
    z = normal_critical(proper_level(level))
    share = successes / n
    widening = 1 + z * z / n
    centre = (share + z * z / (2 * n)) / widening
    reach = z / widening * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, min(centre - reach, share)), min(1.0, max(centre + reach, share))


def clopper_pearson_interval(successes: int, n: int, *, level: float) -> tuple[float, float]:
    """Return the exact interval of `successes` in `n` >= 1 trials, ends in [0, 1]."""
    from scipy.special import betaincinv

    tail = (1 - proper_level(level)) / 2
    low = float(betaincinv(successes, n - successes + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, n - successes, 1 - tail)) if successes < n else 1.0
    return low, high


def rule_of_three(n: int, *, level: float = CONFIDENCE) -> float:
    """Return the largest share that `n` >= 1 trials without a single success leave possible at `level`, one sided.

    1 - (1 - level)**(1/n), in (0, 1]: about 3 / n at 95 %. Hanley and Lippman-Hand 1983, doi:10.1001/jama.1983.03330370053031.
    """
    trials = count(n, name="n", at_least=1)
    return -math.expm1(math.log1p(-proper_level(level)) / trials)


def binomial_p(successes: int, n: int, *, null: float) -> float:
    """Return the exact two-sided p value of a true share of `null`: twice the smaller tail, at most 1."""
    from scipy.special import bdtr, bdtrc

    if not 0 < null < 1:
        raise DataError(f"a share of {null:g} cannot be tested", hint="test a share strictly between 0 and 1")
    at_most = float(bdtr(successes, n, null))
    at_least = float(bdtrc(successes - 1, n, null)) if successes else 1.0
    return max(min(1.0, 2 * min(at_most, at_least)), math.ulp(0.0))


def _hits_of_trials(successes: int, n: int) -> tuple[int, int]:
    trials = count(n, name="n", at_least=1)
    hits = count(successes, name="successes")
    if hits > trials:
        raise DataError(f"{hits} successes in {trials} trials", hint="pass successes first, then all trials")
    return hits, trials


def _test_name(null: float | None) -> str:
    return "" if null is None else f"; exact binomial p against {null:g}"
