"""The bootstrap as one matrix: how often each top-level unit was drawn in each resample.

The matrix is drawn once and shared: one product with it resamples every column at once, and statistics that stay
comparable use the same draws. Only what was drawn is resampled: items, cases or problems, or the clusters they come
in; never the rows below them. For plain means the t interval of `paired` is the default and this the check; it serves
what is not a mean.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from voirdire.errors import DataError
from voirdire.lines import CONFIDENCE, EQUIVALENCE_LEVEL
from voirdire.model import Estimate
from voirdire.stats.checked import Vector, cluster_index, count, finite_vector, proper_level
from voirdire.stats.quantiles import normal_critical, normal_quantile, normal_share

RESAMPLES = 10_000
"""Resamples by default: the ends of a 95 % interval are then known to about 2 % of its width."""

_BLOCK = 400_000
"""Counts handled at once: as floats they fit a processor's cache, whatever the size of the whole matrix."""

Matrix = NDArray[np.float64]


class BootstrapInterval(StrEnum):
    """How resampled values become an interval. BCA and STUDENTIZED are offered for means."""

    PERCENTILE = "percentile"
    BASIC = "basic"
    BCA = "BCa"
    STUDENTIZED = "studentized"


@dataclass(frozen=True)
class Resampling:
    """Draws with replacement: `counts[b, g]` says how often top-level unit g is in resample b, shape (B, G).

    `clusters[i]` is the top-level unit of row i, shape (N,); without clusters each row is its own.
    """

    counts: NDArray[np.uint16]
    clusters: NDArray[np.intp]
    seed: int

    @property
    def units(self) -> int:
        """Return G, the number of top-level units."""
        return int(self.counts.shape[1])

    def blocks(self) -> Iterator[Matrix]:
        """Yield the counts as floats, a few resamples at a time."""
        rows = max(1, _BLOCK // self.units)
        for start in range(0, len(self.counts), rows):
            yield self.counts[start : start + rows].astype(np.float64)

    def weights(self) -> Iterator[Matrix]:
        """Yield the weight of each row in each resample, a few resamples at a time."""
        for block in self.blocks():
            yield block[:, self.clusters]


def draw(
    rows: int, *, seed: int, resamples: int = RESAMPLES, clusters: ArrayLike | None = None
) -> Resampling:
    """Return seeded draws for `rows` >= 1 rows, or for the clusters that they come in (shape (rows,)).

    Raises DataError for no rows, no resamples or more than 65,535 of one unit's draws to count.
    """
    count(rows, name="rows", at_least=1)
    count(resamples, name="resamples", at_least=1)
    index = np.arange(rows) if clusters is None else cluster_index(clusters, rows)
    units = int(index.max()) + 1
    if units > np.iinfo(np.uint16).max:
        raise DataError(f"{units} units are too many to resample by counts", hint="use the t interval there")
    generator = np.random.default_rng(seed)
    counts = np.empty((resamples, units), dtype=np.uint16)
    at_once = max(1, _BLOCK // units)
    for start in range(0, resamples, at_once):
        drawn = min(at_once, resamples - start)
        chosen = generator.integers(0, units, size=(drawn, units), dtype=np.uint16)
        places = chosen + np.arange(drawn)[:, None] * units
        counted = np.bincount(places.ravel(), minlength=drawn * units)
        counts[start : start + drawn] = counted.reshape(drawn, units)
    return Resampling(counts=counts, clusters=index, seed=seed)


def resampled_means(columns: ArrayLike, resampling: Resampling) -> Matrix:
    """Return the mean of each column in each resample, shape (B, K).

    columns: shape (N, K), or (N,) for one, finite; N rows as drawn.
    """
    sums, sizes = _by_unit(_matrix(columns, resampling), resampling)
    return np.concatenate([(block @ sums) / (block @ sizes)[:, None] for block in resampling.blocks()])


def bootstrap_means(
    columns: ArrayLike,
    resampling: Resampling,
    *,
    interval: BootstrapInterval = BootstrapInterval.PERCENTILE,
    level: float = CONFIDENCE,
    unit: str = "item",
) -> tuple[Estimate, ...]:
    """Return one Estimate per column: its mean, with the bootstrap interval asked for and the inner 90 % one.

    columns: shape (N, K), or (N,) for one, any unit. A column whose units do not vary gets the point alone: no
    resample can show what was not drawn. Resamples without spread have no studentized value; they are left out and
    counted in the note. Raises DataError where rows and draws do not match. Efron and Tibshirani 1993, chapters 12-14.
    """
    proper_level(level)
    table = _matrix(columns, resampling)
    values = table.mean(axis=0)
    replicates = resampled_means(table, resampling)
    sums, sizes = _by_unit(table, resampling)
    influence = sums - sizes[:, None] * values
    varies = _varying(influence, table)
    studentized = (
        _studentized(table, resampling, values=values, replicates=replicates)
        if interval is BootstrapInterval.STUDENTIZED
        else replicates
    )
    return tuple(
        _mean_estimate(
            float(values[k]),
            replicates=replicates[:, k],
            studentized=studentized[:, k],
            influence=influence[:, k],
            rows=len(table),
            resampling=resampling,
            interval=interval,
            level=level,
            unit=unit,
        )
        if varies[k]
        else _point_alone(float(values[k]), rows=len(table), interval=interval, level=level, unit=unit)
        for k in range(table.shape[1])
    )


def bootstrap_statistic(
    statistic: Callable[[Matrix], ArrayLike],
    resampling: Resampling,
    *,
    interval: BootstrapInterval = BootstrapInterval.PERCENTILE,
    level: float = CONFIDENCE,
    unit: str = "item",
) -> Estimate:
    """Return any statistic of weighted rows with its percentile or basic interval.

    `statistic` takes weights of shape (b, N) and returns b values; weights of 1 give the estimate. A resample in which
    it is undefined (nan) is left out and counted in the note. Raises DataError for another interval, or where the
    statistic is undefined on the data themselves.
    """
    proper_level(level)
    rows = len(resampling.clusters)
    value = float(np.asarray(statistic(np.ones((1, rows))), dtype=np.float64)[0])
    if math.isnan(value):
        raise DataError("the statistic is undefined on the data", hint="there is nothing to resample")
    drawn = np.concatenate([np.asarray(statistic(block), dtype=np.float64) for block in resampling.weights()])
    defined = drawn[~np.isnan(drawn)]
    lost = len(drawn) - len(defined)
    if not len(defined):
        raise DataError("the statistic is undefined in every resample", hint="it needs more units")
    (low, high), (inner_low, inner_high) = (
        replicate_interval(value, defined, interval=interval, level=of) for of in (level, EQUIVALENCE_LEVEL)
    )
    return Estimate(
        value=value,
        low=low,
        high=high,
        level=level,
        n=rows,
        unit=_counted(unit, resampling),
        method=_method(interval, resampling),
        inner_low=inner_low,
        inner_high=inner_high,
        note=f"undefined in {lost} of {len(drawn)} resamples, which are left out" if lost else "",
    )


def replicate_interval(
    value: float, replicates: ArrayLike, *, interval: BootstrapInterval, level: float
) -> tuple[float, float]:
    """Return the percentile or basic interval of `value` from its resampled values, shape (B,)."""
    drawn = finite_vector(replicates, name="replicates")
    low, high = (float(end) for end in np.quantile(drawn, _tails(proper_level(level))))
    if interval is BootstrapInterval.PERCENTILE:
        return low, high
    if interval is BootstrapInterval.BASIC:
        return 2 * value - high, 2 * value - low
    raise DataError(
        f"the {interval} interval needs more than resampled values", hint="choose percentile or basic"
    )


# --- the means of columns ---------------------------------------------------------------------------


def _matrix(columns: ArrayLike, resampling: Resampling) -> Matrix:
    table = np.asarray(columns, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or len(table) != len(resampling.clusters):
        raise DataError(
            f"'columns' has shape {table.shape} for draws of {len(resampling.clusters)} rows",
            hint="draw for as many rows as the table has",
        )
    if not np.isfinite(table).all():
        raise DataError("'columns' holds values that are not finite", hint="leave missing answers out")
    return table


def _by_unit(table: Matrix, resampling: Resampling) -> tuple[Matrix, Vector]:
    """Return the sums of the columns and the number of rows, by top-level unit."""
    if resampling.units == len(table):
        sums = np.empty_like(table)
        sums[resampling.clusters] = table
        return sums, np.ones(len(table))
    sums = np.zeros((resampling.units, table.shape[1]))
    np.add.at(sums, resampling.clusters, table)
    return sums, np.bincount(resampling.clusters, minlength=resampling.units).astype(np.float64)


def _varying(influence: Matrix, table: Matrix) -> NDArray[np.bool_]:
    """Return by column whether its top-level units differ by more than rounding."""
    return np.asarray(np.abs(influence).max(axis=0) > 1e-12 * np.abs(table).max(axis=0))


def _studentized(table: Matrix, resampling: Resampling, *, values: Vector, replicates: Matrix) -> Matrix:
    """Return each resample's distance from the estimate in its own standard errors; nan without spread."""
    sums, sizes = _by_unit(table - values, resampling)
    moved = replicates - values
    variances = np.concatenate(
        [
            _weighted_variance(block, sums, sizes, moved[start : start + len(block)])
            for start, block in _numbered(resampling.blocks())
        ]
    )
    floor = 1e-18 * np.abs(table - values).max(axis=0) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(variances > floor, moved / np.sqrt(np.maximum(variances, 0)), np.nan)


def _numbered(blocks: Iterator[Matrix]) -> Iterator[tuple[int, Matrix]]:
    start = 0
    for block in blocks:
        yield start, block
        start += len(block)


def _weighted_variance(block: Matrix, sums: Matrix, sizes: Vector, moved: Matrix) -> Matrix:
    """Return the variance of each resample's mean, units as drawn: sum of squared residuals over rows squared."""
    units = block.shape[1]
    squares = block @ (sums * sums) - 2 * moved * (block @ (sums * sizes[:, None]))
    squares += moved**2 * (block @ (sizes * sizes))[:, None]
    rows = (block @ sizes)[:, None]
    return np.asarray(squares / rows**2 * units / max(units - 1, 1))


def _mean_estimate(
    value: float,
    *,
    replicates: Vector,
    studentized: Vector,
    influence: Vector,
    rows: int,
    resampling: Resampling,
    interval: BootstrapInterval,
    level: float,
    unit: str,
) -> Estimate:
    ratios = studentized[np.isfinite(studentized)]
    error = math.sqrt(float(influence @ influence) * len(influence) / (len(influence) - 1)) / rows

    def ends(of: float) -> tuple[float, float]:
        if interval is BootstrapInterval.BCA:
            return _bca_interval(value, replicates, influence, level=of)
        if interval is BootstrapInterval.STUDENTIZED:
            low, high = np.quantile(ratios, _tails(of))
            return value - float(high) * error, value - float(low) * error
        return replicate_interval(value, replicates, interval=interval, level=of)

    (low, high), (inner_low, inner_high) = ends(level), ends(EQUIVALENCE_LEVEL)
    lost = len(studentized) - len(ratios)
    return Estimate(
        value=value,
        low=low,
        high=high,
        level=level,
        n=rows,
        unit=_counted(unit, resampling),
        method=_method(interval, resampling),
        inner_low=inner_low,
        inner_high=inner_high,
        note=f"{lost} of {len(studentized)} resamples have no spread and are left out" if lost else "",
    )


def _bca_interval(
    value: float, replicates: Vector, influence: Vector, *, level: float
) -> tuple[float, float]:
    """Return the bias-corrected and accelerated interval. Efron 1987, doi:10.1080/01621459.1987.10478410."""
    rounding = 1e-9 * float(replicates.std())
    ties = np.abs(replicates - value) <= rounding
    below = float((replicates < value - rounding).mean() + ties.mean() / 2)
    shift = normal_quantile(min(max(below, 0.5 / len(replicates)), 1 - 0.5 / len(replicates)))
    acceleration = float((influence**3).sum() / (6 * (influence @ influence) ** 1.5))
    z = normal_critical(level)
    shares = [
        normal_share(shift + (shift + side) / max(1 - acceleration * (shift + side), 1e-9))
        for side in (-z, z)
    ]
    low, high = np.quantile(replicates, shares)
    return float(low), float(high)


def _point_alone(
    value: float, *, rows: int, interval: BootstrapInterval, level: float, unit: str
) -> Estimate:
    return Estimate(
        value=value,
        level=level,
        n=rows,
        unit=unit,
        method=f"mean; {interval} bootstrap",
        note="no unit differs from another: resampling shows nothing, and no interval is given",
    )


def _tails(level: float) -> tuple[float, float]:
    return (1 - level) / 2, (1 + level) / 2


def _counted(unit: str, resampling: Resampling) -> str:
    clustered = resampling.units < len(resampling.clusters)
    return f"{unit} in {resampling.units} clusters" if clustered else unit


def _method(interval: BootstrapInterval, resampling: Resampling) -> str:
    drawn = "clusters" if resampling.units < len(resampling.clusters) else "units"
    return f"{interval} bootstrap, {len(resampling.counts):,} resamples of {drawn}, seed {resampling.seed}"
