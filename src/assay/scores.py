"""Scores: what a run is worth under a measure, query by query, with everything that qualifies it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from assay.ids import Ids

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """A mean with its interval.

    Attributes:
        mean: Mean over `n` queries.
        low, high: Ends of the interval at `level`.
        n: Queries.
        units: Units resampled: `n` queries, or as many clusters.
        unit: `query` or `cluster`.
        method: `bca`, `percentile` or `exact`.
        level, seed, resamples: How it was made.
        note: What to know before quoting it, else empty.
    """

    mean: float
    low: float
    high: float
    n: int
    units: int
    unit: str = "query"
    method: str = "bca"
    level: float = 0.95
    seed: int = 0
    resamples: int = 10_000
    note: str = ""


@dataclass(frozen=True)
class Counts:
    """What stands beside every mean, in queries unless said otherwise.

    Attributes:
        queries: Queries of the qrels, over which the mean goes.
        missing: Absent from the run; they score 0.
        empty: Answered with an empty list; they score 0.
        without_relevant: Without a relevant judgement; they score 0.
        unjudged: Passages in the top k without a judgement, summed over queries.
        ties: Queries whose value depends on the order of equal scores.
        ineligible_removed: Rows that the eligibility rule took out of a given run.
        gold_ineligible: Relevant passages that no system may return (they stay in the denominator).
        open: Queries whose list ended early, so that their value is a lower bound.
        extra: Queries of the run that are not judged.
        cut_ties: Lists of a black box that end in a tie, which may go on past the end.
        unknown_removed: Rows of a given run that are no passage of the collection.
    """

    queries: int
    missing: int = 0
    empty: int = 0
    without_relevant: int = 0
    unjudged: int = 0
    ties: int = 0
    ineligible_removed: int = 0
    gold_ineligible: int = 0
    open: int = 0
    extra: int = 0
    cut_ties: int = 0
    unknown_removed: int = 0


@dataclass(frozen=True, eq=False)
class Scores:
    """One measure of one run: a value per judged query, and what qualifies their mean.

    `value`, `best`, `worst` and `expected` are float64 per query of `queries`: in the house's order,
    and in the best, worst and average order of passages with equal scores. `upper` is the upper
    bound of open queries (equal to `value` elsewhere), or None where the measure has none. `clusters`
    gives each query's resampling unit, None where queries are independent.
    """

    measure: str
    queries: Ids
    value: Values
    best: Values
    worst: Values
    expected: Values
    interval: Interval
    counts: Counts
    upper: Values | None = None
    clusters: npt.NDArray[np.int64] | None = None
    extras: Mapping[str, float] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.value)

    @property
    def mean(self) -> float:
        """Mean over all queries of the qrels."""
        return self.interval.mean

    def __repr__(self) -> str:
        return f"<Scores {self.measure}: {self.mean:.4f} [{self.interval.low:.4f}, {self.interval.high:.4f}]>"
