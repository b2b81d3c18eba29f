"""Normalised discounted cumulative gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from assay.errors import DataError, UsageError
from assay.judged import Grades, Judged, Values
from assay.measure import check_parameters, written

Gain = Literal["linear", "exp"]

HIGHEST_EXPONENT = 900
"""float64 ends near 2^1024; sums over many passages need room."""


@dataclass(frozen=True)
class NDCG:
    """Gains of the passages found, discounted by log2(rank + 1), over those of the best order.

    trec_eval's `ndcg` and, with a cutoff, `ndcg_cut` (m_ndcg.c, m_ndcg_cut.c; Järvelin and
    Kekäläinen, TOIS 2002): the gain is the grade. `gain=exp` takes 2^grade - 1 (Burges and others,
    ICML 2005). Grades of 0 and below have gain 0. The grades themselves weigh: there is no lowest
    relevant grade, as trec_eval's `-l` does not change its value either.

    Attributes:
        gain: `linear` or `exp`.
        cutoff: How many ranks count, in the list and in the best order; None for all.

    Example:
        Grade 1 at rank 1, grade 3 at rank 2: (1 + 3 / log2 3) / (3 + 1 / log2 3).

        >>> NDCG().score(Judged.of([[1, 3]], ideal=[[3, 1]])).round(4).tolist()
        [0.7967]
    """

    name: ClassVar[str] = "nDCG"
    aliases: ClassVar[tuple[str, ...]] = ("NDCG",)
    additive: ClassVar[bool] = True
    bounded: ClassVar[bool] = True

    gain: Gain = "linear"
    cutoff: int | None = None

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.gain not in get_args(Gain):
            raise UsageError(f"nDCG: gain must be {' or '.join(get_args(Gain))}, found {self.gain!r}")

    def __str__(self) -> str:
        return written(self)

    @property
    def min_grade(self) -> int:
        """The lowest grade with a gain."""
        return 1

    def score(self, judged: Judged) -> Values:
        """One value per query, float64.

        Raises:
            DataError: A grade is too high for an exponential gain.
        """
        hits = judged.hits
        gained = self._gains(hits.grade) / np.log2(hits.rank + 1.0)
        ideal = self._gains(judged.judged_grades) / np.log2(judged.ideal_rank + 1.0)
        if self.cutoff is not None:
            ideal *= judged.ideal_rank <= self.cutoff
        total = judged.ideal_sum(ideal)
        found = judged.sum(gained * judged.seen(1, self.cutoff))
        return np.divide(found, total, out=np.zeros(len(judged)), where=total > 0)

    def _gains(self, grade: Grades) -> Values:
        positive = np.maximum(grade, 0).astype(np.float64)
        if self.gain == "linear":
            return positive
        highest = positive.max(initial=0.0)
        if highest > HIGHEST_EXPONENT:
            raise DataError(
                f"nDCG(gain=exp): a judgement has grade {highest:.0f}, and sums of 2^{highest:.0f} are out of range;"
                " use nDCG, or grades on a smaller scale"
            )
        return np.exp2(positive) - 1.0
