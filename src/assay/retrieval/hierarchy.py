"""Hierarchy: documents first, then the passages inside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.kernels.fusing import best_groups, row_keys
from assay.system import PassageView, QueryView, RankedRows, System, refuse_no_count, refuse_no_system


@dataclass(frozen=True)
class Hierarchy:
    """The passages of the best documents, in the order of a passage system; a composite.

    Documents have the best score of their passages in the first list (with `documents(…)` all of them have their
    document's), are grouped first and then cut: the best `depth` and all that tie with the last. A document counts
    where a query may be answered with one of its passages. Both lists are whole, so that what is returned is exact;
    they hold every passage that shares a word with a query.

    Args:
        documents: What finds documents, such as `documents(bm25)`: any system.
        passages: What ranks the passages inside them: any system.
        depth: How many documents.

    Raises:
        UsageError: One of both is no system, or the depth is not a whole number of at least 1.
    """

    name: ClassVar[str] = "hierarchy"
    reads: ClassVar[tuple[str, ...]] = ("parent",)

    documents: System
    passages: System
    depth: int = 10

    def __post_init__(self) -> None:
        refuse_no_system(self.name, *self.parts)
        refuse_no_count(self.name, 1, depth=self.depth)

    @property
    def parts(self) -> tuple[System, System]:
        """What finds documents, and what ranks passages."""
        return self.documents, self.passages

    def part_depths(self, depth: int, passages: int) -> list[int]:  # noqa: ARG002
        """Whole lists: documents are grouped before they are cut, and passages chosen from all there are."""
        return [passages, passages]

    def combine(
        self,
        lists: Sequence[RankedRows],
        passages: PassageView,
        queries: QueryView,
        *,
        depth: int,  # noqa: ARG002
    ) -> RankedRows:
        """The passages of the second list that lie in the best documents of the first."""
        parent = np.zeros(len(passages), np.int32) if passages.parent is None else passages.parent
        whole, own = lists
        best = RankedRows(*best_groups(whole.offsets, whole.row, whole.score, group=parent)).best(self.depth)
        size = int(parent.max(initial=-1)) + 1
        inside = np.isin(row_keys(own.offsets, parent[own.row], rows=size), row_keys(best.offsets, best.row, rows=size))
        kept = own.only(inside)
        ended = np.ones(len(queries), np.bool_)
        return replace(kept, whole_ties=own.whole_ties and whole.whole_ties, exhausted=ended, notes={})
