"""Rank-biased precision."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from assay.errors import UsageError
from assay.judged import Judged, Values
from assay.measure import check_parameters, is_chance, written


@dataclass(frozen=True)
class RBP:
    """What a reader gains who goes on to the next rank with chance `p`: (1 - p) times the sum of p^(rank - 1).

    The sum goes over relevant passages (Moffat and Zobel, TOIS 2008). trec_eval's `rbp` has p = 0.9,
    and weighs by grade where grades pass 1 (m_rbp.c); here grades only decide what is relevant.

    Attributes:
        p: Chance to go on, above 0 and below 1.
        rel: The lowest grade that is relevant.
        cutoff: How many ranks count; None for all.

    Example:
        Relevant at ranks 1 and 2: 0.5 * (1 + 0.5).

        >>> RBP(p=0.5).score(Judged.of([[1, 1, 0]], ideal=[[1, 1, 0]])).tolist()
        [0.75]
    """

    name: ClassVar[str] = "RBP"
    aliases: ClassVar[tuple[str, ...]] = ()
    additive: ClassVar[bool] = True
    bounded: ClassVar[bool] = False

    p: float = field(default=0.8, metadata={"always": True})
    rel: int = 1
    cutoff: int | None = None

    def __post_init__(self) -> None:
        check_parameters(self)
        if not is_chance(self.p):
            raise UsageError(f"RBP: p, the chance to go on, must lie between 0 and 1, found {self.p!r}")

    def __str__(self) -> str:
        return written(self)

    @property
    def min_grade(self) -> int:
        """The lowest grade that is relevant."""
        return self.rel

    def score(self, judged: Judged) -> Values:
        """One value per query, float64."""
        weight = np.power(self.p, judged.hits.rank - 1.0)
        return (1.0 - self.p) * judged.sum(weight * judged.seen(self.rel, self.cutoff))
