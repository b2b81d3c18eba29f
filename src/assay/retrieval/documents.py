"""Documents: whole documents searched, each passage with the score of its document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.system import PassageView, Rows, System, refuse_no_system
from assay.texts import Texts


@dataclass(frozen=True)
class Documents:
    r"""Shows a system whole documents in place of passages; a lens.

    A document is its passages in order, with newlines between, all of them, whether or not a query may be answered
    with each. Every passage has the score of its document, so that those of one document are tied: of use as a part
    of `document_fusion`, `hierarchy` or `fusion`.

    Args:
        system: What searches the documents: any system that reads texts, titles, parents, positions or spans.

    Raises:
        UsageError: This is no system.

    Example:
        >>> from assay.catalog import system
        >>> parent, position = np.array([0, 1, 0], np.int32), np.array([1, 0, 0], np.int32)
        >>> passages = PassageView(3, {"text:plain": Texts.of(["b", "c", "a"])}, parent, position)
        >>> documents, owner = Documents(system("bm25")).shown(passages)
        >>> documents.texts["text:plain"].to_list(), owner.tolist()
        (['a\nb', 'c'], [0, 1, 0])
    """

    name: ClassVar[str] = "documents"
    reads: ClassVar[tuple[str, ...]] = ("parent", "position")

    system: System

    def __post_init__(self) -> None:
        refuse_no_system(self.name, self.system)

    def shown(self, passages: PassageView) -> tuple[PassageView, Rows | None]:
        """The documents, and the row of each passage's document."""
        if passages.parent is None:
            return passages, None
        distinct, owner = np.unique(passages.parent, return_inverse=True)
        order = passages.by_document()
        count = np.bincount(owner, minlength=len(distinct))
        starts = np.cumsum(count) - count
        texts = {}
        for view, held in passages.texts.items():
            if view == "title":
                texts[view] = held.take(order[starts])
            else:
                listed = held.take(order).to_list()
                pieces = zip(starts.tolist(), (starts + count).tolist(), strict=True)
                texts[view] = Texts.of("\n".join(listed[a:b]) for a, b in pieces)
        span = passages.span
        if span is not None and len(starts):
            ordered = span[order]
            ends = np.maximum.reduceat(ordered[:, 1], starts)
            span = np.stack([np.minimum.reduceat(ordered[:, 0], starts), ends], axis=1)
        own = np.arange(len(distinct), dtype=np.int32)
        shown = PassageView(len(distinct), texts, own, np.zeros(len(distinct), np.int32), span, None, passages.mask)
        return shown, owner.astype(np.int32)
