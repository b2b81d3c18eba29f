"""Precision: the share of the first ranks that is relevant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from assay.judged import Judged, Values
from assay.measure import check_parameters, written


@dataclass(frozen=True)
class P:
    """Share of the first `cutoff` ranks that hold a relevant passage.

    trec_eval's `P` (m_P.c): a list that ends early is divided by the cutoff all the same.

    Attributes:
        rel: The lowest grade that is relevant.
        cutoff: How many ranks count; needed.

    Example:
        >>> P(cutoff=5).score(Judged.of([[1, 1]], ideal=[[1, 1]])).tolist()
        [0.4]
    """

    name: ClassVar[str] = "P"
    aliases: ClassVar[tuple[str, ...]] = ("Precision",)
    additive: ClassVar[bool] = True
    bounded: ClassVar[bool] = True

    rel: int = 1
    cutoff: int | None = None

    def __post_init__(self) -> None:
        check_parameters(self, needs_cutoff="it is the share of that many ranks")

    def __str__(self) -> str:
        return written(self)

    @property
    def min_grade(self) -> int:
        """The lowest grade that is relevant."""
        return self.rel

    def score(self, judged: Judged) -> Values:
        """One value per query, float64."""
        return judged.sum(judged.seen(self.rel, self.cutoff)) / (self.cutoff or 1)
