"""Question matching: earlier questions like the query, and the answers that they received."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from assay.errors import ViewError
from assay.system import Links, PassageView, System, refuse_no_system


@dataclass(frozen=True)
class QuestionMatching:
    """Shows a system earlier questions in place of passages; each passage has the best score of its questions. A lens.

    Passages are answers, linked to the questions that they replied to. A question may be found once an answer linked to
    it may be returned, and never by the query that asks it. Questions are grouped to answers before the cut, so that
    an answer to several questions stands once. Tasks without an as-of rule refuse it: the query's own question would
    be found, and with it the answer.

    Args:
        system: What searches the questions: any system that reads `text:plain`.

    Raises:
        UsageError: This is no system.

    Example:
        >>> import numpy as np
        >>> from assay.catalog import system
        >>> from assay.texts import Texts
        >>> links = Links(Texts.of(["Who pays?", "When?"]), np.array([0, 2]), np.array([0, 1], np.int32))
        >>> passages = PassageView(1, {"text:plain": Texts.of(["I do, today."])}, links=links)
        >>> questions, owner = QuestionMatching(system("bm25")).shown(passages)
        >>> questions.texts["text:plain"].to_list(), owner is links
        (['Who pays?', 'When?'], True)
    """

    name: ClassVar[str] = "question_matching"
    reads: ClassVar[tuple[str, ...]] = ("link:question",)

    system: System

    def __post_init__(self) -> None:
        refuse_no_system(self.name, self.system)

    def shown(self, passages: PassageView) -> tuple[PassageView, Links]:
        """The linked questions, and the links that say whose they are.

        Raises:
            ViewError: The passages have no links.
        """
        links = passages.links
        if links is None:
            raise ViewError(f"{self.name} needs the view 'link:question', which these passages do not have")
        return PassageView(len(links.texts), {"text:plain": links.texts}, mask=passages.mask), links
