"""Success: whether any relevant passage is found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.judged import Judged, Values
from assay.measure import check_parameters, written


@dataclass(frozen=True)
class Success:
    """1 where a relevant passage is found, else 0.

    trec_eval's `success` (m_success.c); others call it hit rate.

    Attributes:
        rel: The lowest grade that is relevant.
        cutoff: How many ranks count; None for all.

    Example:
        >>> judged = Judged.of([[0, 1], [1, 0]], ideal=[[1, 0], [1, 0]])
        >>> Success(cutoff=1).score(judged).tolist()
        [0.0, 1.0]
    """

    name: ClassVar[str] = "Success"
    aliases: ClassVar[tuple[str, ...]] = ("HitRate",)
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
        return (judged.sum(judged.seen(self.rel, self.cutoff)) > 0).astype(np.float64)

    def expected(self, judged: Judged) -> Values:
        """The mean over all orders of tied passages, per query, float64.

        A tie is seen whole, not at all, or in part. Of the last kind there is one per list: `s` of its
        `n` ranks are seen, and its `r` relevant passages are all unseen with chance C(n-s, r) / C(n, r).
        """
        groups = judged.groups
        relevant = groups.count(groups.grade >= self.rel)
        size, seen = groups.size, groups.seen(self.cutoff)
        found = ((seen > 0) & (relevant > 0)).astype(np.float64)
        part = np.flatnonzero((found > 0) & (seen < size))
        # C(n-s, r) / C(n, r) is symmetric in r and s: the shorter product is taken.
        few, many = np.minimum(relevant, seen)[part], np.maximum(relevant, seen)[part]
        unseen = np.ones(len(part))
        for step in range(int(few.max(initial=0))):
            factor = np.maximum(size[part] - many - step, 0) / np.maximum(size[part] - step, 1)
            unseen = np.where(step < few, unseen * factor, unseen)
        found[part] = 1.0 - unseen
        value = np.zeros(len(judged))
        np.maximum.at(value, groups.query, found)
        return value
