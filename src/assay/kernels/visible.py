"""Which rows each query of a search may be answered with, by their positions in one order of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
Offsets = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Visible:
    """Query `q` may see the first `limit[q]` positions of `order`, but for those that are taken out.

    Attributes:
        order: Rows in the order of positions, int32.
        limit: How many positions each query may see, int32.
        out_offsets: Query `q` must not get `out_position[out_offsets[q]:out_offsets[q + 1]]`, int64.
        out_position: Positions taken out, int32.
    """

    order: Codes
    limit: Codes
    out_offsets: Offsets
    out_position: Codes

    @classmethod
    def of(cls, order: Codes, prefix: Codes | None, excluded: tuple[Offsets, Codes] | None, *, queries: int) -> Visible:
        """From a prefix of the order per query (None for all of it) and excluded rows with their offsets.

        Example:
            >>> order, gone = np.array([4, 2], np.int32), (np.array([0, 1]), np.array([2], np.int32))
            >>> seen = Visible.of(order, None, gone, queries=1)
            >>> seen.limit, seen.out_position
            (array([2], dtype=int32), array([1], dtype=int32))
        """
        size = len(order)
        limit = np.full(queries, size) if prefix is None else np.clip(prefix, 0, size)
        out_offsets, out_position = np.zeros(queries + 1, np.int64), np.zeros(0, np.int32)
        if excluded is not None and len(excluded[1]):
            rows = excluded[1]
            place = np.full(max(int(rows.max()), int(order.max(initial=0))) + 1, -1, np.int32)
            place[order] = np.arange(size, dtype=np.int32)
            out_position = place[rows]
            held = out_position >= 0
            out_offsets = np.concatenate([[0], np.cumsum(held)])[excluded[0]].astype(np.int64)
            out_position = out_position[held]
        return cls(order, limit.astype(np.int32), out_offsets, out_position)

    def by_limit(self, queries: NDArray[np.int64]) -> NDArray[np.int64]:
        """Some queries by how much they see, so that those of a block see about as much."""
        return queries[np.argsort(self.limit[queries], kind="stable")]

    def out(self, query: int) -> Codes:
        """The positions taken out for one query, within what it sees."""
        own = self.out_position[self.out_offsets[query] : self.out_offsets[query + 1]]
        inside: Codes = own[own < self.limit[query]]
        return inside
