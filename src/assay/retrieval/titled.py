"""Titled: passages with the title of their document in front."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from assay.system import PassageView, Rows, System, refuse_no_system
from assay.texts import Texts


@dataclass(frozen=True)
class Titled:
    """Shows a system every passage with its document's title and a blank in front; a lens.

    Args:
        system: What searches the longer texts: any system.

    Raises:
        UsageError: This is no system.

    Example:
        >>> from assay.catalog import system
        >>> titles = Texts.of(["Visa", ""])
        >>> passages = PassageView(2, {"text:plain": Texts.of(["It costs £9.", "It is free."]), "title": titles})
        >>> Titled(system("bm25")).shown(passages)[0].texts["text:plain"].to_list()
        ['Visa It costs £9.', 'It is free.']
    """

    name: ClassVar[str] = "titled"
    reads: ClassVar[tuple[str, ...]] = ("title",)

    system: System

    def __post_init__(self) -> None:
        refuse_no_system(self.name, self.system)

    def shown(self, passages: PassageView) -> tuple[PassageView, Rows | None]:
        """The passages with longer texts; a passage without a title keeps its own."""
        titles = [f"{title} " if title else "" for title in passages.texts["title"]]
        longer = {
            view: Texts.of(title + text for title, text in zip(titles, texts, strict=True))
            for view, texts in passages.texts.items()
            if view.startswith("text:")
        }
        return replace(passages, texts={**passages.texts, **longer}), None
