"""Share of judged passages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.judged import Judged, Values
from assay.measure import check_parameters, written


@dataclass(frozen=True)
class JudgedShare:
    """Share of the first `cutoff` ranks that hold a judged passage, whatever its grade.

    A list that ends early is divided by its length, an empty list is 0: the value says how much of
    what was returned is known, not how good it is. ir_measures' `Judged`. Negative grades are
    judgements here; trec_eval takes them as not judged (form_res_rels.c).

    Attributes:
        cutoff: How many ranks count; None for all.

    Example:
        >>> JudgedShare(cutoff=3).score(Judged.of([[1, None, 0, None]], ideal=[[1, 0]])).round(4).tolist()
        [0.6667]
    """

    name: ClassVar[str] = "Judged"
    aliases: ClassVar[tuple[str, ...]] = ()
    additive: ClassVar[bool] = True
    bounded: ClassVar[bool] = False

    cutoff: int | None = None

    def __post_init__(self) -> None:
        check_parameters(self)

    def __str__(self) -> str:
        return written(self)

    @property
    def min_grade(self) -> int:
        """The lowest grade that is relevant anywhere; it plays no part here."""
        return 1

    def score(self, judged: Judged) -> Values:
        """One value per query, float64."""
        ranks = judged.lengths if self.cutoff is None else np.minimum(judged.lengths, self.cutoff)
        seen = judged.hits.rank <= ranks[judged.hits.query]
        return judged.sum(seen) / np.maximum(ranks, 1)
