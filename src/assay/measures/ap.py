"""Average precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.judged import Judged, Values
from assay.measure import check_parameters, written


@dataclass(frozen=True)
class AP:
    """Precision at the rank of each relevant passage found, summed, over all relevant passages.

    trec_eval's `map` and, with a cutoff, `map_cut` (m_map.c, m_map_cut.c): the denominator is the
    number of relevant passages, also where the cutoff is smaller.

    Attributes:
        rel: The lowest grade that is relevant.
        cutoff: How many ranks count; None for all.

    Example:
        Relevant at ranks 1 and 3 of three relevant passages: (1/1 + 2/3) / 3.

        >>> AP().score(Judged.of([[1, 0, 1]], ideal=[[1, 1, 1, 0]])).round(4).tolist()
        [0.5556]
    """

    name: ClassVar[str] = "AP"
    aliases: ClassVar[tuple[str, ...]] = ("MAP",)
    additive: ClassVar[bool] = False
    bounded: ClassVar[bool] = True

    rel: int = 1
    cutoff: int | None = None

    def __post_init__(self) -> None:
        check_parameters(self)

    def __str__(self) -> str:
        return written(self)

    @property
    def min_grade(self) -> int:
        """The lowest grade that is relevant."""
        return self.rel

    def score(self, judged: Judged) -> Values:
        """One value per query, float64."""
        found = judged.seen(self.rel, self.cutoff)
        precision = judged.running(found) / judged.hits.rank
        return judged.sum(precision * found) / np.maximum(judged.relevant(self.rel), 1)

    def expected(self, judged: Judged) -> Values:
        """The mean over all orders of tied passages, per query, float64.

        In a tie of `n` passages from rank `a` on, `r` of them relevant and `c` relevant above it, rank
        `k` holds a relevant passage with chance r/n, and then 1 + c + (k - a)(r - 1)/(n - 1) relevant
        ones stand at `k` or above (McSherry and Najork, ECIR 2008, section 4). Summed over ranks, this
        takes differences of harmonic numbers.
        """
        groups = judged.groups
        relevant = groups.count(groups.grade >= self.rel)
        first, size, seen = groups.first, groups.size, groups.seen(self.cutoff)
        above = groups.before(relevant) + 1
        slope = (relevant - 1) / np.maximum(size - 1, 1)
        deepest = int((first + seen).max(initial=1))
        harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, deepest + 1))])
        inverse = np.where(size == 1, seen / first, harmonic[first + seen - 1] - harmonic[first - 1])
        total = relevant / size * (above * inverse + slope * (seen - first * inverse))
        value = np.bincount(groups.query, weights=total, minlength=len(judged))
        return value / np.maximum(judged.relevant(self.rel), 1)
