"""Recall: the share of the relevant passages that is found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.judged import Judged, Values
from assay.measure import check_parameters, written


@dataclass(frozen=True)
class R:
    """Share of the relevant passages that are found.

    trec_eval's `recall` and, without a cutoff, `set_recall` (m_recall.c). `R(capped)@k` divides by
    `k` where more than `k` passages are relevant, so that a perfect list always reaches 1; this is
    another measure and bears another name.

    Attributes:
        rel: The lowest grade that is relevant.
        capped: Divide by the smaller of the cutoff and the number of relevant passages.
        cutoff: How many ranks count; None for all.

    Example:
        Three are relevant; one stands within the first two ranks.

        >>> judged = Judged.of([[1, 0, 1]], ideal=[[1, 1, 1, 0]])
        >>> R(cutoff=2).score(judged).round(4).tolist(), R(capped=True, cutoff=2).score(judged).tolist()
        ([0.3333], [0.5])
    """

    name: ClassVar[str] = "R"
    aliases: ClassVar[tuple[str, ...]] = ("Recall",)
    additive: ClassVar[bool] = True
    bounded: ClassVar[bool] = True

    rel: int = 1
    capped: bool = False
    cutoff: int | None = None

    def __post_init__(self) -> None:
        check_parameters(self, needs_cutoff="without one there is nothing to cap" if self.capped else "")

    def __str__(self) -> str:
        return written(self)

    @property
    def min_grade(self) -> int:
        """The lowest grade that is relevant."""
        return self.rel

    def score(self, judged: Judged) -> Values:
        """One value per query, float64."""
        reachable = judged.relevant(self.rel)
        if self.capped and self.cutoff is not None:
            reachable = np.minimum(reachable, self.cutoff)
        return judged.sum(judged.seen(self.rel, self.cutoff)) / np.maximum(reachable, 1)
