"""Number of passages retrieved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.judged import Judged, Values
from assay.measure import check_parameters, written


@dataclass(frozen=True)
class NumRet:
    """How many passages were retrieved; with `rel`, how many of at least that grade.

    trec_eval's `num_ret` and, with `rel=1`, `num_rel_ret` (m_num_ret.c, m_num_rel_ret.c); the names
    are ir_measures'. A count, not a share.

    Attributes:
        rel: The lowest grade that is counted; None counts every passage, judged or not.

    Example:
        >>> judged = Judged.of([[1, None, 0]], ideal=[[1, 0]])
        >>> NumRet().score(judged).tolist(), NumRet(rel=1).score(judged).tolist()
        ([3.0], [1.0])
    """

    name: ClassVar[str] = "NumRet"
    aliases: ClassVar[tuple[str, ...]] = ()
    additive: ClassVar[bool] = True
    bounded: ClassVar[bool] = False

    rel: int | None = None

    def __post_init__(self) -> None:
        check_parameters(self)

    def __str__(self) -> str:
        return written(self)

    @property
    def cutoff(self) -> None:
        """None: the whole list counts."""
        return

    @property
    def min_grade(self) -> int:
        """The lowest grade that is counted, 1 where every passage is."""
        return 1 if self.rel is None else self.rel

    def score(self, judged: Judged) -> Values:
        """One value per query, float64."""
        if self.rel is None:
            return judged.lengths.astype(np.float64)
        return judged.sum(judged.seen(self.rel, None))
