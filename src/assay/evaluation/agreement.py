"""Agreement of two judges: Cohen's kappa with its interval, and the counts that it must not be quoted without.

Cohen (1960), "A coefficient of agreement for nominal scales"; the standard error is that of Fleiss, Cohen and Everitt
(1969), "Large sample standard errors of kappa and weighted kappa", equation 13.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from assay.errors import DataError
from assay.evaluation.intervals import FEW_UNITS


@dataclass(frozen=True)
class Agreement:
    """How far two judges agree.

    Attributes:
        n: Things that both judged.
        observed: The share on which they agree.
        expected: The share on which they would agree by chance, given how often each takes each category.
        kappa: (observed - expected) / (1 - expected); nan where both took one category alone.
        error: Its standard error for large n, nan where kappa is.
        low, high: Ends of the interval, cut at -1 and 1.
        prevalence: For each category the shares in which the first and the second judge took it.
        note: What to know before quoting it; empty where there is nothing.
    """

    n: int
    observed: float
    expected: float
    kappa: float
    error: float
    low: float
    high: float
    prevalence: tuple[tuple[float, float], ...]
    note: str


def kappa(table: Sequence[Sequence[int]], *, level: float = 0.95) -> Agreement:
    """Cohen's kappa of a square table of counts: row the first judge's category, column the second's.

    Raises:
        DataError: The table is not square, or a count is negative.

    Example:
        >>> found = kappa([[20, 5], [10, 15]])
        >>> round(found.observed, 2), round(found.expected, 2), round(found.kappa, 2), round(found.error, 4)
        (0.7, 0.5, 0.4, 0.127)
    """
    counts = np.asarray(table, np.float64)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1] or (counts < 0).any():
        raise DataError(
            f"a table of shape {counts.shape} is no table of two judges: give counts, as many rows as columns"
        )
    n = int(counts.sum())
    if not n:
        nan = math.nan
        return Agreement(0, nan, nan, nan, nan, nan, nan, ((nan, nan),) * len(counts), _note(0, nan, nan))
    p = counts / n
    rows, columns = p.sum(axis=1), p.sum(axis=0)
    observed, expected = float(np.trace(p)), float(rows @ columns)
    prevalence = tuple(zip(rows.tolist(), columns.tolist(), strict=True))
    if math.isclose(expected, 1.0):
        nan = math.nan
        return Agreement(n, observed, expected, nan, nan, nan, nan, prevalence, _note(n, observed, nan))
    value = (observed - expected) / (1 - expected)
    agreed = np.diag(p) @ ((1 - expected) - (rows + columns) * (1 - observed)) ** 2
    apart = p * (columns[:, None] + rows[None, :]) ** 2
    apart_sum = (1 - observed) ** 2 * (apart.sum() - np.trace(apart))
    spread = agreed + apart_sum - (observed * expected - 2 * expected + observed) ** 2
    error = math.sqrt(max(0.0, float(spread)) / n) / (1 - expected) ** 2
    half = NormalDist().inv_cdf((1 + level) / 2) * error
    note = _note(n, observed, value)
    return Agreement(
        n, observed, expected, value, error, max(-1.0, value - half), min(1.0, value + half), prevalence, note
    )


def _note(n: int, observed: float, value: float) -> str:
    parts = []
    if n and value != value:
        parts.append("both judges took one category alone: kappa says nothing")
    elif observed == 1.0:
        parts.append("the judges agree throughout: zero width is not certainty")
    if n < FEW_UNITS:
        parts.append(f"too few to conclude: {n} judged by both")
    return "; ".join(parts)
