"""Document fusion: passages found, with the score of their document mixed in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.errors import UnknownNameError
from assay.kernels.fusing import best_groups, checked_weights, normalised, row_keys
from assay.system import PassageView, QueryView, RankedRows, System, refuse_no_count, refuse_no_system

METHODS = ("minmax", "minmax(dapr)")


@dataclass(frozen=True)
class DocumentFusion:
    """Passages in the order of a mean of their own score and their document's, both min-max normalised; a composite.

    Documents have the best score of their passages in the second list (with `documents(…)` all of them have their
    document's), are grouped first and then cut: the best `depth` and all that tie with the last are found. Only
    passages of the first list are ranked, and those whose document is not found get 0 for it (DAPR, Wang et al. 2024).

    Args:
        passages: What searches passages: any system.
        documents: What searches documents, such as `documents(bm25)`: any system.
        weights: Of the passage's score and the document's.
        method: `minmax`, or `minmax(dapr)`, which gives the last passage and the last document 0.
        depth: How many documents are found, and how deep passages are searched at least.

    Raises:
        UsageError: One of both is no system, or a parameter is out of its range.
        UnknownNameError: There is no such method.
    """

    name: ClassVar[str] = "document_fusion"
    reads: ClassVar[tuple[str, ...]] = ("parent",)

    passages: System
    documents: System
    weights: tuple[float, ...] = (0.5, 0.5)
    method: str = "minmax"
    depth: int = 1000

    def __post_init__(self) -> None:
        refuse_no_system(self.name, *self.parts)
        object.__setattr__(self, "weights", checked_weights(self.weights, parts=2, name=self.name))
        if self.method not in METHODS:
            raise UnknownNameError.of("method of document_fusion", str(self.method), METHODS)
        refuse_no_count(self.name, 1, depth=self.depth)

    @property
    def parts(self) -> tuple[System, System]:
        """What searches passages, and what searches documents."""
        return self.passages, self.documents

    def part_depths(self, depth: int, passages: int) -> list[int]:
        """Passages as deep as the run, or `depth`; every document, which is cut once they are grouped."""
        return [max(depth, self.depth), passages]

    def combine(
        self,
        lists: Sequence[RankedRows],
        passages: PassageView,
        queries: QueryView,  # noqa: ARG002
        *,
        depth: int,  # noqa: ARG002
    ) -> RankedRows:
        """The passages of the first list with mixed scores."""
        parent = np.zeros(len(passages), np.int32) if passages.parent is None else passages.parent
        own, whole = lists
        found = RankedRows(*best_groups(whole.offsets, whole.row, whole.score, group=parent)).best(self.depth)
        size = int(parent.max(initial=-1)) + 1
        known = row_keys(found.offsets, found.row, rows=size)
        wanted = row_keys(own.offsets, parent[own.row], rows=size)
        at = np.minimum(np.searchsorted(known, wanted), max(0, len(known) - 1))
        worth = np.zeros(len(wanted))
        if len(known):
            held = known[at] == wanted
            worth[held] = normalised(found.offsets, found.score, method=self.method)[at[held]]
        mine = normalised(own.offsets, own.score, method=self.method)
        score = self.weights[0] * mine + self.weights[1] * worth
        return replace(own, score=score, whole_ties=own.whole_ties and whole.whole_ties, notes={})
