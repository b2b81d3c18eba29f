"""Intervals: how far a mean over queries would move with other queries of the same kind.

The bootstrap of Efron and Tibshirani ("An Introduction to the Bootstrap", 1993, chapters 13 and 14), over the
units that may be taken as independent: queries, or clusters of queries where the collection declares that
some belong together. The result never depends on the order of the queries: values are sorted before they are
drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import DataError, ScoreError, UnknownNameError, UsageError
from assay.kernels.resampling import resampled_count_sums, resampled_sums
from assay.scores import Interval

Floats = NDArray[np.float64]
Clusters = Sequence[Any] | NDArray[Any]

METHODS = ("bca", "percentile")
"""Bootstrap intervals by name."""

FEW_UNITS = 30
"""Below this many units the interval is shown with the words "too few to conclude"."""

TIE = 1e-12
"""Values closer than this are equal."""

_NORMAL = NormalDist()
_FEW_VALUES = 50
# Drawing a count costs as much as drawing this many units one by one.
_UNITS_PER_VALUE = 32


@dataclass(frozen=True, slots=True)
class Units:
    """Values summed over the units of resampling, in an order that the order of the queries cannot change.

    Attributes:
        sums: Sum of the values of each unit, shape (units,), ascending by size, then sum.
        sizes: Number of queries of each unit, shape (units,), as float64.
        n: Number of queries.
        mean: Mean over queries.
        unit: ``"query"`` or ``"cluster"``.
    """

    sums: Floats
    sizes: Floats
    n: int
    mean: float
    unit: Literal["query", "cluster"]


def mean_interval(
    values: ArrayLike,
    *,
    clusters: Clusters | None = None,
    method: str = "bca",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Interval:
    """The mean of a measure over queries with its bootstrap interval.

    Edge cases: no query gives nan throughout. A single unit gives the mean without ends. All values 0 give
    ``[0, 1 - (a/2) ** (1/units)]`` with a = 1 - level (Clopper and Pearson, 1934; an upper bound for any
    measure in [0, 1], since a mean is at most the share of values above 0), all values 1 its mirror. All
    values equal otherwise give zero width and a note. Fewer than 30 units give the note "too few to
    conclude".

    Args:
        values: One value per query, shape (n,), of a measure in [0, 1]. Others are taken too, as long as
            "all 0" or "all 1" does not occur: for differences use
            `assay.evaluation.significance.paired_test`.
        clusters: One label per query, shape (n,); queries with equal labels are drawn together and the mean
            is the sum of sums over the sum of sizes. None: queries are independent.
        method: ``"bca"`` (bias-corrected and accelerated; acceleration from the jackknife over units) or
            ``"percentile"``.
        level: Coverage aimed at, between 0 and 1.
        resamples: Bootstrap samples, R.
        seed: Any integer; one seed, one result, for any number of threads and any order of the queries.

    Raises:
        ScoreError: A value is nan or infinite.
        DataError: Wrong shapes.
        UsageError: Unknown method, level outside (0, 1), fewer than 1 resamples.

    Example:
        >>> interval = mean_interval([1, 1, 0, 1], method="percentile")
        >>> interval.low, interval.mean, interval.high
        (0.25, 0.75, 1.0)
        >>> round(mean_interval([0] * 20).high, 4)
        0.1684
    """
    units = units_of(values, clusters=clusters)
    request = Request(method=method, level=level, resamples=resamples, seed=seed)
    flat = np.asarray(values, dtype=np.float64)
    if len(flat) and (np.all(flat == 0.0) or np.all(flat == 1.0)):
        return _one_sided(units, request)
    return bootstrap_interval(units, request)


@dataclass(frozen=True, slots=True)
class Request:
    """How an interval is asked for; checked when made.

    Attributes:
        method: One of `METHODS`.
        level: Coverage aimed at.
        resamples: Bootstrap samples.
        seed: Any integer.

    Raises:
        UsageError: A field is out of range.
    """

    method: str = "bca"
    level: float = 0.95
    resamples: int = 10_000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UnknownNameError.of("interval method", self.method, METHODS)
        if not 0.0 < self.level < 1.0:
            raise UsageError(f"level is {self.level}: must be between 0 and 1, such as 0.95")
        if self.resamples < 1:
            raise UsageError(f"resamples is {self.resamples}: must be at least 1, such as 10000")


def units_of(values: ArrayLike, *, clusters: Clusters | None = None) -> Units:
    """The values summed over units, checked.

    Args:
        values: One finite value per query, shape (n,).
        clusters: One label per query, or None.

    Raises:
        ScoreError: A value is nan or infinite.
        DataError: Wrong shapes.

    Example:
        >>> units = units_of([0.5, 0.25, 1.0], clusters=["a", "b", "a"])
        >>> units.sums.tolist(), units.sizes.tolist()
        ([0.25, 1.5], [1.0, 2.0])
    """
    flat = finite_values(values, name="values")
    n = len(flat)
    mean = math.fsum(flat.tolist()) / n if n else math.nan
    if clusters is None:
        return Units(sums=np.sort(flat), sizes=np.ones(n), n=n, mean=mean, unit="query")
    labels = np.asarray(clusters)
    if labels.shape != flat.shape:
        raise DataError(f"{n} values but cluster labels of shape {labels.shape}: give one label per query")
    _, codes = np.unique(labels, return_inverse=True)
    # Sorted first, so that the last bits of a cluster's sum do not depend on the order of the queries.
    order = np.argsort(flat, kind="stable")
    sums: Floats = np.bincount(codes[order], weights=flat[order]).astype(np.float64)
    sizes = np.bincount(codes).astype(np.float64)
    order = np.lexsort((sums, sizes))
    return Units(sums=sums[order], sizes=sizes[order], n=n, mean=mean, unit="cluster")


def finite_values(values: ArrayLike, *, name: str) -> Floats:
    """The values as a float64 vector.

    Args:
        values: Numbers, shape (n,).
        name: What they are called in a message.

    Raises:
        ScoreError: A value is nan or infinite.
        DataError: Not a vector of numbers.
    """
    try:
        flat = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name}: not a vector of numbers ({error})") from None
    if flat.ndim != 1:
        raise DataError(f"{name}: shape {flat.shape}, expected one value per query")
    bad = np.flatnonzero(~np.isfinite(flat))
    if len(bad):
        raise ScoreError(
            f"{name}: {len(bad)} of {len(flat)} are not finite, the first is {flat[bad[0]]} "
            f"at position {bad[0]}; leave out queries without a value, or give them one"
        )
    return flat


def bootstrap_interval(units: Units, request: Request) -> Interval:
    """The bootstrap interval of the mean over units, without the rule for "all 0" and "all 1".

    Args:
        units: What is resampled.
        request: Method, level, resamples, seed.

    Example:
        >>> bootstrap_interval(units_of([0.0, 0.0]), Request()).note
        'all units equal: zero width is not certainty; too few to conclude: 2 units'
    """
    if len(units.sums) < 2:
        note = "no query" if units.n == 0 else "one unit: nothing to resample"
        return _interval(units, request, ends=(math.nan, math.nan), note=note, resamples=0)
    tie = TIE * max(1.0, abs(units.mean))
    if np.ptp(units.sums / units.sizes) <= tie:
        note = "all units equal: zero width is not certainty"
        return _interval(units, request, ends=(units.mean, units.mean), note=note, resamples=0)
    means = _resampled_means(units, request)
    tail = (1.0 - request.level) / 2.0
    shares = np.array([tail, 1.0 - tail])
    if request.method == "bca":
        shares = _bca_shares(units, means, shares, tie=tie)
    low, high = np.quantile(means, shares)
    return _interval(units, request, ends=(float(low), float(high)), note="", resamples=request.resamples)


def _resampled_means(units: Units, request: Request) -> Floats:
    if np.all(units.sizes == 1.0):
        distinct, counts = np.unique(units.sums, return_counts=True)
        if len(distinct) <= _FEW_VALUES and len(distinct) * _UNITS_PER_VALUE <= units.n:
            sums = resampled_count_sums(distinct, counts, resamples=request.resamples, seed=request.seed)
        else:
            sums = resampled_sums(units.sums, resamples=request.resamples, seed=request.seed)
        return sums / units.n
    sums = resampled_sums(units.sums, resamples=request.resamples, seed=request.seed)
    return sums / resampled_sums(units.sizes, resamples=request.resamples, seed=request.seed)


def _bca_shares(units: Units, means: Floats, shares: Floats, *, tie: float) -> Floats:
    """Which quantiles of the resampled means are the ends (Efron and Tibshirani, 1993, equation 14.10)."""
    below = np.count_nonzero(means < units.mean - tie)
    equal = np.count_nonzero(np.abs(means - units.mean) <= tie)
    # Half of the ties count as below; a share of 0 or 1 has no normal quantile, so half a resample is kept.
    share = min(max(below + equal / 2.0, 0.5), len(means) - 0.5) / len(means)
    bias = _NORMAL.inv_cdf(share)
    acceleration = _acceleration(units)
    adjusted = []
    for end in shares.tolist():
        z = bias + _NORMAL.inv_cdf(end)
        shrink = 1.0 - acceleration * z
        # Beyond this pole the transformation turns back: the end is then the most extreme resample.
        adjusted.append(_NORMAL.cdf(bias + z / shrink) if shrink > 0.0 else float(z > 0.0))
    return np.array(adjusted)


def _acceleration(units: Units) -> float:
    """Skewness of the mean over its units, from leaving out one unit at a time (ibid., equation 14.15)."""
    left = units.sizes.sum() - units.sizes
    # The mean without one unit, less the mean: computed as a difference so that small ones keep their digits.
    moved = (units.mean * units.sizes - units.sums) / left
    moved = moved.mean() - moved
    spread = float(np.sum(moved**2))
    return float(np.sum(moved**3)) / (6.0 * spread**1.5) if spread > 0.0 else 0.0


def _one_sided(units: Units, request: Request) -> Interval:
    bound = (1.0 - request.level) / 2.0
    width = 1.0 - bound ** (1.0 / len(units.sums))
    if units.mean == 0.0:
        ends, note = (0.0, width), "all values 0: upper bound"
    else:
        ends, note = (1.0 - width, 1.0), "all values 1: lower bound"
    return replace(_interval(units, request, ends=ends, note=note, resamples=0), method="exact")


def _interval(units: Units, request: Request, *, ends: tuple[float, float], note: str, resamples: int) -> Interval:
    count = len(units.sums)
    few = f"too few to conclude: {count} unit{'' if count == 1 else 's'}" if count < FEW_UNITS else ""
    return Interval(
        mean=units.mean,
        low=ends[0],
        high=ends[1],
        n=units.n,
        units=count,
        unit=units.unit,
        method="bca" if request.method == "bca" else "percentile",
        level=request.level,
        seed=request.seed,
        resamples=resamples,
        note="; ".join(part for part in (note, few) if part),
    )
