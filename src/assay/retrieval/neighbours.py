"""Neighbours: passages with those before and after them in their document."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.system import PassageView, Rows, System, refuse_no_count, refuse_no_system
from assay.texts import Texts


@dataclass(frozen=True)
class Neighbours:
    """Shows a system every passage between its neighbours in the same document, with blanks between; a lens.

    Neighbours are those in the order of `position`, whether or not a query may be answered with them.

    Args:
        system: What searches the longer texts: any system.
        before: How many passages before it, where there are as many.
        after: How many passages after it.

    Raises:
        UsageError: This is no system, or a number is not whole or below 0.

    Example:
        >>> from assay.catalog import system
        >>> passages = PassageView(
        ...     3, {"text:plain": Texts.of(["c", "a", "b"])}, np.zeros(3, np.int32), np.array([2, 0, 1], np.int32)
        ... )
        >>> Neighbours(system("bm25"), after=0).shown(passages)[0].texts["text:plain"].to_list()
        ['b c', 'a', 'a b']
    """

    name: ClassVar[str] = "neighbours"
    reads: ClassVar[tuple[str, ...]] = ("parent", "position")

    system: System
    before: int = 1
    after: int = 1

    def __post_init__(self) -> None:
        refuse_no_system(self.name, self.system)
        refuse_no_count(self.name, 0, before=self.before, after=self.after)

    def shown(self, passages: PassageView) -> tuple[PassageView, Rows | None]:
        """The passages with longer texts."""
        parent, order = passages.parent, passages.by_document()
        if parent is None:
            return passages, None
        owner = parent[order]
        at = np.arange(len(order))
        low = np.maximum(np.searchsorted(owner, owner, "left"), at - self.before).tolist()
        high = np.minimum(np.searchsorted(owner, owner, "right"), at + self.after + 1).tolist()
        back = np.argsort(order)
        longer = {}
        for view, texts in passages.texts.items():
            if view.startswith("text:"):
                listed = texts.take(order).to_list()
                windows = [" ".join(filter(None, listed[a:b])) for a, b in zip(low, high, strict=True)]
                longer[view] = Texts.of(windows[row] for row in back.tolist())
        return replace(passages, texts={**passages.texts, **longer}), None
