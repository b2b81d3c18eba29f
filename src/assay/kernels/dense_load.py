"""What dense search is asked for, and the definition of what it finds.

Parts of `assay.kernels.dense`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from assay.kernels.lanes import LANES
from assay.kernels.visible import Codes, Offsets, Visible

Vectors = NDArray[np.float32]
Score = NDArray[np.float64]
Found = tuple[Offsets, Codes, Score]

LARGEST = 1e30
"""Products of lengths beyond this could overflow in float32; such loads are scored as defined."""

_UNIT = 2.0**-24
_TINY = 2.0**-126
_TILE = 4096


@dataclass(frozen=True, eq=False)
class DenseLoad:
    """Queries against vectors: what each may see, and at which place of `rows` the vector of each position stands."""

    rows: Vectors
    queries: Vectors
    visible: Visible
    vector: Codes

    @property
    def products(self) -> int:
        """How many numbers are multiplied with another."""
        return int(self.rows.shape[1]) * int(self.visible.limit.sum(dtype=np.int64))

    def longest(self) -> float:
        """The length of the longest vector of all positions, within float64's rounding."""
        held = (self.rows[self.vector[low : low + _TILE]] for low in range(0, len(self.vector), _TILE))
        return max(float(lengths(part).max(initial=0.0)) for part in held)

    def slack(self, longest: float) -> Vectors | None:
        """Per query twice the error of a float32 product with any row, rounded up; None where one could overflow."""
        length = lengths(self.queries)
        if not float(length.max()) * max(longest, 1.0) < LARGEST or not longest < LARGEST:
            return None
        dimensions = self.rows.shape[1]
        share = dimensions * _UNIT
        # A little more for the lengths' own rounding, and the smallest normal number for products that underflow.
        error = 2 * (share / (1 - share)) * length * longest * (1 + 2**-20) + 2 * dimensions * _TINY
        slack: Vectors = np.nextafter(error.astype(np.float32), np.float32(np.inf))
        return slack

    def without_gaps(self) -> DenseLoad:
        """The same with matrices whose rows follow each other in memory."""
        return replace(self, rows=np.ascontiguousarray(self.rows), queries=np.ascontiguousarray(self.queries))

    def only(self, queries: NDArray[np.int64]) -> DenseLoad:
        """The same for some of the queries, in the order given."""
        seen = self.visible
        count = np.diff(seen.out_offsets)[queries]
        offsets = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
        out = seen.out_position[ragged(seen.out_offsets[queries], count)]
        visible = Visible(seen.order, seen.limit[queries], offsets, out)
        return DenseLoad(self.rows, self.queries[queries], visible, self.vector)


def ragged(start: NDArray[np.int64], count: NDArray[np.int64]) -> NDArray[np.int64]:
    """`count[i]` numbers from `start[i]` on, for one `i` after the other.

    Example:
        >>> ragged(np.array([7, 2]), np.array([1, 3])).tolist()
        [7, 2, 3, 4]
    """
    found: NDArray[np.int64] = np.arange(int(count.sum())) + np.repeat(start - (np.cumsum(count) - count), count)
    return found


def lengths(vectors: Vectors) -> Score:
    """The length of each vector."""
    found: Score = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    return found


def scores_of(rows: Vectors, query: NDArray[np.floating]) -> Score:
    """The definition of a score: each row with one query.

    Example:
        >>> scores_of(np.array([[1, 2, 3]], np.float32), np.array([4, 5, 6], np.float32))
        array([32.])
    """
    dimensions = rows.shape[1]
    wide = np.zeros((len(rows), -(-dimensions // LANES) * LANES))
    np.multiply(rows, query.astype(np.float64), out=wide[:, :dimensions])
    lanes = np.zeros((len(rows), LANES))
    for first in range(0, wide.shape[1], LANES):
        lanes += wide[:, first : first + LANES]
    pairs = lanes[:, :4] + lanes[:, 4:]
    total: Score = (pairs[:, 0] + pairs[:, 2]) + (pairs[:, 1] + pairs[:, 3])
    return total


def top_rows_numpy(load: DenseLoad, *, depth: int) -> Found:
    """The definition of `top_rows`."""
    return assembled(load, [defined_lists(load, depth=depth)])


def defined_lists(load: DenseLoad, *, depth: int) -> Lists:
    """The definition of what queries find: all scores of a query, and those not below the `depth`-th."""
    seen, visible = load.rows[load.vector], load.visible
    positions, found = [], []
    for query, vector in enumerate(load.queries):
        limit = int(visible.limit[query])
        score = np.concatenate(
            [np.zeros(0), *(scores_of(seen[low : min(low + _TILE, limit)], vector) for low in range(0, limit, _TILE))]
        )
        score[visible.out(query)] = -np.inf
        best = np.flatnonzero(score > -np.inf)
        if depth < len(best):
            best = best[score[best] >= np.partition(score[best], len(best) - depth)[len(best) - depth]]
        positions.append(best)
        found.append(score[best])
    count = np.array([len(best) for best in positions], np.int64)
    position = np.concatenate(positions).astype(np.int32, copy=False)
    return Lists(np.arange(len(count)), count, position, np.concatenate(found))


@dataclass(frozen=True, eq=False)
class Lists:
    """What some queries found: how many positions each, and these with their scores, query after query."""

    queries: NDArray[np.int64]
    count: NDArray[np.int64]
    position: Codes
    score: Score


def assembled(load: DenseLoad, parts: Iterable[Lists]) -> Found:
    """One list per query from lists of queries in any order."""
    held = list(parts)
    offsets = np.zeros(len(load.queries) + 1, np.int64)
    for part in held:
        offsets[part.queries + 1] = part.count
    np.cumsum(offsets, out=offsets)
    rows, scores = np.empty(offsets[-1], np.int32), np.empty(offsets[-1])
    for part in held:
        at = ragged(offsets[part.queries], part.count)
        rows[at], scores[at] = load.visible.order[part.position], part.score
    return offsets, rows, scores
