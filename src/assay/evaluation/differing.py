"""Where two runs of one recipe part: passages that one list holds and the other does not, and by how much."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.errors import DataError
from assay.run import Run


@dataclass(frozen=True)
class Differing:
    """A passage that only one of two lists holds.

    Attributes:
        query, passage: Their ids.
        only_in: 0 for the first run, 1 for the second.
        gap: How far its score lies above the last score of the list that lacks it; infinite where that list is not
            as deep as was asked, for it had room.
    """

    query: str
    passage: str
    only_in: int
    gap: float


def differing(one: Run, other: Run) -> list[Differing]:
    """Every passage that stands in one list and not in the other, by query; ties with the last row are in the lists.

    Vectors of a model depend in their last bits on the batch that a text was in, and so do scores. Two runs have the
    same passages but for rounding where every gap is as small as such a difference (about 1e-6 for vectors of length
    1): the passages change places at the cut alone.

    Raises:
        DataError: The runs answer different queries.

    Example:
        >>> found = [[("q", "a", 2.0), ("q", "b", 1.5)], [("q", "a", 2.0), ("q", "c", 1.5)]]
        >>> [(d.passage, d.only_in, d.gap) for d in differing(*(Run.of(rows, depth=2) for rows in found))]
        [('b', 0, 0.0), ('c', 1, 0.0)]
    """
    if sorted(one.queries.texts) != sorted(other.queries.texts):
        raise DataError("the two runs answer different queries; compare runs of one task")
    lists = [_lists(run) for run in (one, other)]
    found = []
    for query in one.queries.texts:
        for at in (0, 1):
            own, theirs = lists[at][query], lists[1 - at][query]
            full = len(theirs) >= ((one, other)[1 - at].depth or 1)
            last = min(theirs.values()) if full else -np.inf
            found += [Differing(query, p, at, score - last) for p, score in own.items() if p not in theirs]
    return found


def _lists(run: Run) -> dict[str, dict[str, float]]:
    lists: dict[str, dict[str, float]] = {query: {} for query in run.queries.texts}
    for query, passage, score in run.triples():
        lists[query][passage] = score
    return lists
