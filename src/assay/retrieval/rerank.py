"""Re-ranking: the best of a first stage, in the order of what scores pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from assay import catalog
from assay.contract import checked_scored
from assay.errors import UsageError
from assay.system import (
    Offsets,
    PassageView,
    QueryView,
    RankedRows,
    Score,
    Scorer,
    System,
    refuse_no_count,
    refuse_no_system,
)


@dataclass(frozen=True)
class Rerank:
    """The best passages of a first stage, scored anew pair by pair; below them its own order stays. A composite.

    Each query has its own candidates: its best `depth` passages and all that tie with the last of them. No pair is
    scored but of a query with one of these, and nothing joins its list. `reranked` says what the passages below get.

    Args:
        system: The first stage: any system.
        model: What scores pairs: any scorer, or the name of a model, short for `cross_encoder(name)`.
        depth: How many passages of each query are scored.

    Raises:
        UsageError: The first stage is no system, the model neither a name nor a scorer, or the depth below 1.

    Example:
        >>> from assay.catalog import system
        >>> system("rerank(bm25, model='owner/name', depth=20)").model.name
        'cross_encoder'
    """

    name: ClassVar[str] = "rerank"

    system: System
    model: System | str = ""
    depth: int = 100

    def __post_init__(self) -> None:
        refuse_no_system(self.name, self.system)
        refuse_no_count(self.name, 1, depth=self.depth)
        if isinstance(self.model, str) and self.model:
            object.__setattr__(self, "model", catalog.known("system")["cross_encoder"](self.model))
        if not isinstance(self.model, Scorer):
            raise UsageError(
                f"rerank: model must be the name of a model or a system that scores pairs, as in"
                f" rerank(bm25, model='OWNER/NAME'); found {self.model!r}"
            )

    @property
    def reads(self) -> tuple[str, ...]:
        """What the scorer reads."""
        return self.scorer.reads

    @property
    def scorer(self) -> Scorer:
        """What scores the pairs."""
        if not isinstance(self.model, Scorer):
            raise UsageError(f"rerank: {self.model!r} scores no pairs")
        return self.model

    @property
    def parts(self) -> tuple[System]:
        """The first stage."""
        return (self.system,)

    @property
    def hands_to(self) -> tuple[System]:
        """The scorer, which is handed rows of the first stage, and may hand them on."""
        return (self.scorer,)

    def keeping(self, folder: Path) -> Rerank:
        """The same, whose scorer keeps scores below a folder, where it can."""
        keeping: Callable[[Path], System] | None = getattr(self.scorer, "keeping", None)
        return self if keeping is None else replace(self, model=keeping(folder))

    def scored_by(self, made: Callable[[Scorer], Scorer]) -> Rerank:
        """The same, with what is made of the scorer in its place."""
        return replace(self, model=made(self.scorer))

    def part_depths(self, depth: int, passages: int) -> list[int]:  # noqa: ARG002
        """As deep as the run, or as what is scored."""
        return [max(depth, self.depth)]

    def candidates(self, lists: Sequence[RankedRows]) -> RankedRows:
        """What is scored: the best `depth` passages of each query and all that tie with the last."""
        return lists[0].best(self.depth)

    def combine(
        self,
        lists: Sequence[RankedRows],
        passages: PassageView,
        queries: QueryView,
        *,
        depth: int,  # noqa: ARG002
    ) -> RankedRows:
        """The first stage's passages with new scores."""
        [first] = lists
        chosen = self.candidates(lists)
        query = np.repeat(np.arange(len(chosen), dtype=np.int32), np.diff(chosen.offsets))
        found = self.scorer.score(passages, queries, query=query, passage=chosen.row)
        scored = checked_scored(found, name=self.scorer.name, size=len(query))
        least = np.full(len(first), np.inf)
        np.minimum.at(least, query, chosen.score)
        inside = first.score >= np.repeat(least, np.diff(first.offsets))
        score = reranked(first.offsets, first.score, inside, scored.score)
        return replace(first, score=score, notes=scored.notes, record=scored.record)


def reranked(offsets: Offsets, score: Score, chosen: npt.NDArray[np.bool_], new: Score) -> Score:
    """Scores of lists of which some rows are scored anew and all others stay below them, in their old order.

    A row scored anew has its new score as it is, so that equal ones stay equal. Of the others the best get the
    lowest new score of their list, rounded down to a whole number, less 1; the next ones less 2, and so on: rows that
    were equal stay equal. Where numbers are so large (2**52) that 1 is lost, it is two units in the last place.

    Args:
        offsets: Borders of the lists.
        score: The old scores.
        chosen: Which rows are scored anew; at least one of each list that is not empty.
        new: The new scores, of these rows, in their order.

    Example:
        >>> old, chosen = np.array([9.0, 8.0, 3.0, 2.0, 3.0]), np.array([True, True, False, False, False])
        >>> reranked(np.array([0, 5]), old, chosen, np.array([-0.5, 4.0])).tolist()
        [-0.5, 4.0, -2.0, -3.0, -2.0]
    """
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    lowest = np.full(len(offsets) - 1, np.inf)
    np.minimum.at(lowest, owner[chosen], new)
    found = np.empty(len(score))
    found[chosen] = new
    below = np.flatnonzero(~chosen)
    below = below[np.lexsort((-score[below], owner[below]))]
    if len(below):
        first = np.concatenate([[True], np.diff(owner[below]) > 0])
        falls = first | np.concatenate([[True], np.diff(score[below]) < 0])
        place = np.cumsum(falls)
        place -= np.repeat(place[first] - 1, np.diff(np.append(np.flatnonzero(first), len(below))))
        base = np.floor(lowest[owner[below]])
        found[below] = base - place * np.maximum(1.0, 2 * np.spacing(np.abs(base)))
    return found
