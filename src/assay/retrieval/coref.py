"""Coref: passages with antecedents inlined, where the collection has such texts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from assay.system import PassageView, Rows, System, refuse_no_system


@dataclass(frozen=True)
class Coref:
    """Shows a system the view `text:coref` where it reads `text:plain`; a lens.

    Args:
        system: What searches the other texts: any system.

    Raises:
        UsageError: This is no system.

    Example:
        >>> from assay.catalog import system
        >>> from assay.texts import Texts
        >>> texts = {"text:plain": Texts.of(["It costs £9."]), "text:coref": Texts.of(["The visa costs £9."])}
        >>> Coref(system("bm25")).shown(PassageView(1, texts))[0].texts["text:plain"].to_list()
        ['The visa costs £9.']
    """

    name: ClassVar[str] = "coref"
    reads: ClassVar[tuple[str, ...]] = ("text:coref",)

    system: System

    def __post_init__(self) -> None:
        refuse_no_system(self.name, self.system)

    def shown(self, passages: PassageView) -> tuple[PassageView, Rows | None]:
        """The passages with other texts."""
        return replace(passages, texts={**passages.texts, "text:plain": passages.texts["text:coref"]}), None
