"""R-precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.judged import Judged, Values
from assay.measure import check_parameters, written


@dataclass(frozen=True)
class Rprec:
    """Share of relevant passages in the first `R` ranks, `R` being how many there are.

    trec_eval's `Rprec` (m_Rprec.c). Precision and recall are equal there.

    Attributes:
        rel: The lowest grade that is relevant.

    Example:
        Two are relevant, one of them within the first two ranks.

        >>> Rprec().score(Judged.of([[1, 0, 1]], ideal=[[1, 1, 0]])).tolist()
        [0.5]
    """

    name: ClassVar[str] = "Rprec"
    aliases: ClassVar[tuple[str, ...]] = ("RPrec",)
    additive: ClassVar[bool] = True
    bounded: ClassVar[bool] = True

    rel: int = 1

    def __post_init__(self) -> None:
        check_parameters(self)

    def __str__(self) -> str:
        return written(self)

    @property
    def cutoff(self) -> None:
        """None: each query has its own."""
        return

    @property
    def min_grade(self) -> int:
        """The lowest grade that is relevant."""
        return self.rel

    def score(self, judged: Judged) -> Values:
        """One value per query, float64."""
        relevant = judged.relevant(self.rel)
        within = judged.hits.rank <= relevant[judged.hits.query]
        return judged.sum(within & judged.seen(self.rel, None)) / np.maximum(relevant, 1)
