"""Tests: whether two systems differ by more than chance would give, on the same queries.

The paired randomisation test under sign flips (Fisher, "The Design of Experiments", 1935, section 21; for
retrieval Smucker, Allan, Carterette, CIKM 2007), over the units of `assay.evaluation.intervals`, with a
correction for all the pairs that were asked for together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import DataError, ScoreError, UnknownNameError, UsageError
from assay.evaluation.intervals import (
    TIE,
    Clusters,
    Request,
    Units,
    bootstrap_interval,
    finite_values,
    units_of,
)
from assay.kernels.resampling import EXACT_UNITS, all_sign_sums, random_sign_sums
from assay.scores import Interval

Floats = NDArray[np.float64]

POWER = 0.8
"""Power at which the smallest detectable difference is given."""


@dataclass(frozen=True, slots=True)
class PairedTest:
    """What the queries say about the difference of two systems.

    Attributes:
        difference: Mean of the first less mean of the second; nan where there is no query.
        interval: Bootstrap interval of the mean difference, with its method and seed.
        p: Two-sided p-value; 1 where no unit differs.
        exact: Whether every sign pattern was tried, so that p has no sampling error.
        wins: Queries on which the first is better.
        ties: Queries on which both are equal within 1e-12.
        losses: Queries on which the first is worse.
        n: Number of queries.
        units: Number of units: queries, or clusters.
        nonzero_units: Units whose difference is not zero; only they can move p.
        detectable: Smallest mean difference that a test at 1 - level would find with 80 % power; nan where
            the differences have no spread. Uncorrected: in a family more is needed.
        smallest_p: Smallest p that any differences on these non-zero units could give.
        resamples: Sign vectors drawn, or tried where exact.
        seed: Seed of the sign vectors and of the bootstrap.
    """

    difference: float
    interval: Interval
    p: float
    exact: bool
    wins: int
    ties: int
    losses: int
    n: int
    units: int
    nonzero_units: int
    detectable: float
    smallest_p: float
    resamples: int
    seed: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """One pair of a family.

    Attributes:
        first: Name of the first system.
        second: Name of the second.
        test: Their paired test.
        p_adjusted: The p-value corrected for the whole family.
    """

    first: str
    second: str
    test: PairedTest
    p_adjusted: float


@dataclass(frozen=True, slots=True)
class Family:
    """All pairs that were asked for together, corrected together.

    Attributes:
        comparisons: One per pair, in the order asked for.
        correction: Name of the correction, such as ``"holm"``.
    """

    comparisons: tuple[Comparison, ...]
    correction: str


def paired_test(
    first: ArrayLike,
    second: ArrayLike,
    *,
    clusters: Clusters | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> PairedTest:
    """The paired test of two systems on the same queries, with interval, wins and power.

    Units with a difference of zero cannot move the sum, so only the others are flipped: every pattern up to
    20 of them (p is exact), otherwise R random ones and p = (b + 1) / (R + 1) with b as extreme as observed
    (Phipson and Smyth, 2010). The p-value depends neither on the order of the queries nor on that of the
    systems. The smallest detectable difference is the normal one, (z(0.975) + z(0.8)) times the standard
    error over units.

    Args:
        first: One finite value per query, shape (n,).
        second: Values of the other system for the same queries in the same order, shape (n,).
        clusters: One label per query, or None where queries are independent.
        resamples: Random sign vectors, and bootstrap samples of the interval.
        seed: Any integer.

    Raises:
        ScoreError: A value is nan or infinite.
        DataError: Lengths differ.
        UsageError: Fewer than 1 resamples.

    Example:
        >>> test = paired_test([0.1, 0.2, 0.3], [0.0, 0.0, 0.0])
        >>> test.p, test.smallest_p, test.exact, test.wins
        (0.25, 0.25, True, 3)
    """
    request = Request(resamples=resamples, seed=seed)
    better, worse = finite_values(first, name="first"), finite_values(second, name="second")
    if better.shape != worse.shape:
        raise DataError(f"{len(better)} values against {len(worse)}: both systems need the same queries")
    differences = better - worse
    differences[np.abs(differences) <= TIE] = 0.0
    units = units_of(differences, clusters=clusters)
    magnitudes = np.sort(np.abs(units.sums[np.abs(units.sums) > TIE]))
    exact = len(magnitudes) <= EXACT_UNITS
    p, tried = _sign_flip_p(magnitudes, observed=float(units.sums.sum()), request=request)
    return PairedTest(
        difference=units.mean,
        interval=bootstrap_interval(units, request),
        p=p,
        exact=exact,
        wins=int(np.count_nonzero(differences > 0.0)),
        ties=int(np.count_nonzero(differences == 0.0)),
        losses=int(np.count_nonzero(differences < 0.0)),
        n=units.n,
        units=len(units.sums),
        nonzero_units=len(magnitudes),
        detectable=_detectable_difference(units, level=request.level),
        smallest_p=min(1.0, 2.0 ** (1 - len(magnitudes))) if exact else 1.0 / (resamples + 1),
        resamples=tried,
        seed=seed,
    )


def _sign_flip_p(magnitudes: Floats, *, observed: float, request: Request) -> tuple[float, int]:
    """The two-sided p-value, and how many sign vectors it stands on."""
    if len(magnitudes) == 0:
        return 1.0, 1
    # A pattern that gives the observed sum in another order of addition must count as equal.
    bound = abs(observed) - TIE * max(1.0, float(magnitudes.sum()))
    if len(magnitudes) <= EXACT_UNITS:
        sums = all_sign_sums(magnitudes)
        return float(np.mean(np.abs(sums) >= bound)), 2 * len(sums)
    sums = random_sign_sums(magnitudes, resamples=request.resamples, seed=request.seed)
    extreme = int(np.count_nonzero(np.abs(sums) >= bound))
    return (extreme + 1) / (request.resamples + 1), request.resamples


def _detectable_difference(units: Units, *, level: float) -> float:
    count = len(units.sums)
    if count < 2:
        return math.nan
    residuals = units.sums - units.mean * units.sizes
    error = math.sqrt(count / (count - 1) * float(np.sum(residuals**2))) / units.n
    if error <= TIE:
        return math.nan
    normal = NormalDist()
    return (normal.inv_cdf(1.0 - (1.0 - level) / 2.0) + normal.inv_cdf(POWER)) * error


def holm(p_values: ArrayLike) -> Floats:
    """The p-values corrected for being one family, step by step (Holm, 1979).

    The smallest of m is multiplied by m, the next by m - 1, and so on; none is smaller than the one before
    it, none larger than 1.

    Args:
        p_values: Shape (m,), each in [0, 1].

    Raises:
        ScoreError: A p-value is nan or outside [0, 1]: what was not tested is no member of the family.

    Example:
        >>> holm([0.04, 0.01]).tolist()
        [0.04, 0.02]
    """
    p = _checked_p(p_values)
    order = np.argsort(p, kind="stable")
    factors = np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * p[order]))
    return adjusted


def bonferroni(p_values: ArrayLike) -> Floats:
    """The p-values multiplied by their number, at most 1 (Dunn, 1961).

    Args:
        p_values: Shape (m,), each in [0, 1].

    Raises:
        ScoreError: A p-value is nan or outside [0, 1].

    Example:
        >>> bonferroni([0.04, 0.75]).tolist()
        [0.08, 1.0]
    """
    p = _checked_p(p_values)
    return np.asarray(np.minimum(1.0, len(p) * p))


CORRECTIONS: Mapping[str, Callable[[ArrayLike], Floats]] = {"holm": holm, "bonferroni": bonferroni}
"""Corrections by name."""


def compare_family(
    values: Mapping[str, ArrayLike],
    pairs: Iterable[tuple[str, str]],
    *,
    clusters: Clusters | None = None,
    correction: str = "holm",
    resamples: int = 10_000,
    seed: int = 0,
) -> Family:
    """All requested pairs of systems, tested and corrected as one family.

    One family is what was asked for one task, split and headline measure. A pair's own test does not depend
    on which other pairs are asked for; its corrected p-value does.

    Args:
        values: Per-query values by system name, each of shape (n,), all over the same queries in one order.
        pairs: Pairs of names. Each pair once, in either order; no system against itself.
        clusters: One label per query, or None.
        correction: One of `CORRECTIONS`.
        resamples: Sign vectors and bootstrap samples per pair.
        seed: Any integer, the same for every pair.

    Raises:
        UnknownNameError: A name or a correction that is not there.
        UsageError: A pair of a system with itself, or a pair given twice.
        ScoreError: A value is nan or infinite.
        DataError: Lengths differ.

    Example:
        >>> scores = {"a": [1.0, 1.0, 1.0], "b": [0.0, 0.0, 0.0], "c": [0.0, 0.0, 1.0]}
        >>> family = compare_family(scores, [("a", "b"), ("a", "c")])
        >>> [(pair.second, pair.test.p, pair.p_adjusted) for pair in family.comparisons]
        [('b', 0.25, 0.5), ('c', 0.5, 0.5)]
    """
    if correction not in CORRECTIONS:
        raise UnknownNameError.of("correction", correction, CORRECTIONS)
    wanted = _checked_pairs(tuple(pairs), names=values)
    tests = [
        paired_test(values[first], values[second], clusters=clusters, resamples=resamples, seed=seed)
        for first, second in wanted
    ]
    adjusted = CORRECTIONS[correction]([test.p for test in tests])
    comparisons = tuple(
        Comparison(first=first, second=second, test=test, p_adjusted=float(p))
        for (first, second), test, p in zip(wanted, tests, adjusted, strict=True)
    )
    return Family(comparisons=comparisons, correction=correction)


def _checked_pairs(pairs: Sequence[tuple[str, str]], *, names: Mapping[str, ArrayLike]) -> Sequence[tuple[str, str]]:
    seen = set()
    for first, second in pairs:
        for name in (first, second):
            if name not in names:
                raise UnknownNameError.of("system", name, names)
        if first == second:
            raise UsageError(f"{first!r} is paired with itself: a baseline is no test against itself, leave it out")
        pair = frozenset((first, second))
        if pair in seen:
            raise UsageError(f"the pair {first!r}, {second!r} is asked for twice: a family counts each pair once")
        seen.add(pair)
    return pairs


def _checked_p(p_values: ArrayLike) -> Floats:
    p = finite_values(p_values, name="p-values")
    bad = np.flatnonzero((p < 0.0) | (p > 1.0))
    if len(bad):
        raise ScoreError(
            f"p-values: {len(bad)} of {len(p)} lie outside 0 to 1, the first is {p[bad[0]]} at position {bad[0]}"
        )
    return p
