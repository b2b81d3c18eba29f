"""Keyphrases: passages with what their document is about in front."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from assay.errors import UnavailableError
from assay.system import PassageView, Rows, System, refuse_no_count, refuse_no_system
from assay.texts import Texts


@dataclass(frozen=True)
class Keyphrases:
    """Shows a system every passage with the keyphrases of its document and a blank in front; a lens.

    They are found by YAKE (Campos et al. 2020, "YAKE! Keyword extraction from single documents using multiple local
    features"), by statistics of the document alone: no model, no tagger. DAPR took ten of TopicRank, which needs a
    tagger's model.

    Args:
        system: What searches the longer texts: any system.
        count: Keyphrases a document, where it has as many.
        language: The language of YAKE's stop words, as two letters.
        words: Words a phrase, at most.

    Raises:
        UsageError: This is no system, or a number is not whole or below 1.
        UnavailableError: The package yake is not installed; when the passages are shown.
    """

    name: ClassVar[str] = "keyphrases"
    reads: ClassVar[tuple[str, ...]] = ("parent", "position")

    system: System
    count: int = 10
    language: str = "en"
    words: int = 3

    def __post_init__(self) -> None:
        refuse_no_system(self.name, self.system)
        refuse_no_count(self.name, 1, count=self.count, words=self.words)

    def shown(self, passages: PassageView) -> tuple[PassageView, Rows | None]:
        """The passages with longer texts."""
        extractor = self._extractor()
        parent, order = passages.parent, passages.by_document()
        if parent is None:
            return passages, None
        starts = np.flatnonzero(np.diff(parent[order], prepend=-1))
        longer = {}
        for view, texts in passages.texts.items():
            if view.startswith("text:"):
                listed = texts.take(order).to_list()
                ends = [*starts[1:].tolist(), len(order)]
                found = {}
                for a, b in zip(starts.tolist(), ends, strict=True):
                    phrases = extractor.extract_keywords("\n".join(listed[a:b]))
                    found[int(parent[order[a]])] = "".join(f"{phrase} " for phrase, _ in phrases)
                own = zip(parent.tolist(), texts, strict=True)
                longer[view] = Texts.of(found[document] + text for document, text in own)
        return replace(passages, texts={**passages.texts, **longer}), None

    def _extractor(self) -> Any:
        try:
            import yake
        except ImportError:
            raise UnavailableError(
                "keyphrases needs the package yake, which is not installed: pip install 'assay[context]'"
            ) from None
        return yake.KeywordExtractor(lan=self.language, n=self.words, top=self.count)
