"""Reciprocal rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.judged import Judged, Values
from assay.measure import check_parameters, written


@dataclass(frozen=True)
class RR:
    """One over the rank of the first relevant passage; 0 where there is none.

    trec_eval's `recip_rank` (m_recip_rank.c); its mean is also called MRR. A cutoff makes a first
    relevant passage below it count as none, as trec_eval does with `-M`.

    Attributes:
        rel: The lowest grade that is relevant.
        cutoff: How many ranks count; None for all.

    Example:
        The first relevant passage stands at rank 2.

        >>> RR().score(Judged.of([[0, 1, 2]], ideal=[[2, 1, 0]])).tolist()
        [0.5]
    """

    name: ClassVar[str] = "RR"
    aliases: ClassVar[tuple[str, ...]] = ("MRR",)
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
        return 1.0 / judged.first_rank(judged.seen(self.rel, self.cutoff))

    def expected(self, judged: Judged) -> Values:
        """The mean over all orders of tied passages, per query, float64.

        The topmost tie with a relevant passage decides: of its `n` passages, `r` are relevant, and the
        first of these stands at place `i` with the chance that the `i - 1` places above it hold none
        (McSherry and Najork, ECIR 2008, section 4).
        """
        groups = judged.groups
        relevant = groups.count(groups.grade >= self.rel)
        rows = np.flatnonzero(relevant)
        query, top = np.unique(groups.query[rows], return_index=True)
        rows = rows[top]
        first, size, relevant = groups.first[rows], groups.size[rows], relevant[rows]
        places = np.minimum(groups.seen(self.cutoff)[rows], size - relevant + 1)
        value = np.zeros(len(judged))
        none_above = np.ones(len(rows))
        for step in range(int(places.max(initial=0))):
            more = places > step
            query, first, size, relevant, places = query[more], first[more], size[more], relevant[more], places[more]
            chance = relevant / (size - step)
            value[query] += none_above[more] * chance / (first + step)
            none_above = none_above[more] * (1.0 - chance)
        return value
