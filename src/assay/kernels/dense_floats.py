"""Dense search by float32 products of blocks of queries and tiles of rows.

Parts of `assay.kernels.dense`. However BLAS orders its sums, a product is off by at most `d u / (1 - d u)` times the
lengths of both vectors, for `d` dimensions and `u = 2**-24` (Higham, Accuracy and Stability of Numerical Algorithms,
2002, section 3.1). Rows that could be among the best within that error are kept and scored as defined.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import local
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.kernels.blas import one_blas_thread
from assay.kernels.dense_load import DenseLoad, Lists, Vectors, ragged
from assay.kernels.dense_tiles import NEAR, cut_lists, drop_out, keep_near, score_lists
from assay.kernels.visible import Codes, Visible

_TILE = 4096
_SHELF_BYTES = 64 << 20


@dataclass(frozen=True, eq=False)
class _Kept:
    """What a block of queries keeps from shelf to shelf: per query a floor, and rows that are not below it.

    `value` and `position` have shape (queries, room); query `i` uses the first `count[i]` places.
    """

    low: Vectors
    count: NDArray[np.int64]
    value: Vectors
    position: Codes

    @classmethod
    def empty(cls, queries: int) -> _Kept:
        low = np.full(queries, -np.inf, np.float32)
        return cls(
            low, np.zeros(queries, np.int64), np.zeros((queries, 0), np.float32), np.zeros((queries, 0), np.int32)
        )

    def with_room(self, more: int, buffers: local) -> _Kept:
        """The same in a worker's own memory, with room for `more` rows a query."""
        used = int(self.count.max(initial=0))
        shape = (len(self.count), used + more)
        value, position = _buffer(buffers, "value", shape, np.float32), _buffer(buffers, "place", shape, np.int32)
        value[:, :used], position[:, :used] = self.value[:, :used], self.position[:, :used]
        return _Kept(self.low, self.count, value, position)

    def trimmed(self) -> _Kept:
        """The same in memory of its own, without room."""
        used = int(self.count.max(initial=0))
        return _Kept(self.low, self.count, self.value[:, :used].copy(), self.position[:, :used].copy())


def lists_by_floats(load: DenseLoad, *, depth: int, slack: Vectors, block: int, threads: int) -> list[Lists]:
    """What every query finds; `slack` is the load's."""
    rows, queries, visible = load.rows, load.queries, load.visible
    sequence = visible.by_limit(np.arange(len(queries)))
    blocks = [sequence[low : low + block] for low in range(0, len(sequence), block)]
    vectors = [np.ascontiguousarray(queries[own]) for own in blocks]
    kept = [_Kept.empty(len(own)) for own in blocks]
    buffers = local()
    last = int(visible.limit.max())
    shelf = max(_TILE, _SHELF_BYTES // (4 * max(1, rows.shape[1])) // _TILE * _TILE)
    with one_blas_thread(), ThreadPoolExecutor(max(1, threads)) as pool:
        for base in range(0, last, shelf):
            held = _shelf(rows, load.vector[base : min(base + shelf, last)])

            def searched(number: int, base: int = base, held: Vectors = held) -> None:
                own = blocks[number]
                job = _Job(visible, own, depth, slack[own], buffers)
                kept[number] = job.over(held, base, vectors[number], kept[number])

            waiting = [n for n, own in enumerate(blocks) if int(visible.limit[own[-1]]) > base]
            list(pool.map(searched, waiting[::-1]))

        def rescored(number: int) -> Lists:
            found = kept[number]
            inside = np.arange(found.position.shape[1]) < found.count[:, None]
            offsets = np.concatenate([[0], np.cumsum(found.count)])
            place = found.position[inside]
            score = np.empty(len(place))
            score_lists(rows, load.vector, queries, blocks[number], offsets, place, NEAR, score)
            count, _ = cut_lists(depth, offsets, place, score)
            best = ragged(offsets[:-1], count)
            return Lists(blocks[number], count, place[best], score[best])

        return list(pool.map(rescored, range(len(blocks))))


def _shelf(rows: Vectors, wanted: Codes) -> Vectors:
    """Some vectors in the order asked for; a view where they lie so."""
    first = int(wanted[0])
    if np.array_equal(wanted, np.arange(first, first + len(wanted), dtype=wanted.dtype)):
        return np.ascontiguousarray(rows[first : first + len(wanted)])
    return np.ascontiguousarray(rows[wanted])


@dataclass(frozen=True, eq=False)
class _Job:
    """A block of queries against shelves of rows."""

    visible: Visible
    queries: NDArray[np.int64]
    depth: int
    slack: Vectors
    buffers: local

    def over(self, held: Vectors, base: int, vectors: Vectors, kept: _Kept) -> _Kept:
        """What is kept after a shelf that begins at the position `base`."""
        limit = self.visible.limit[self.queries]
        end = min(len(held), int(limit[-1]) - base)
        for low in range(0, end, _TILE):
            high = min(low + _TILE, end)
            # Queries stand by their limits: those that see nothing of this tile come first.
            first = int(np.searchsorted(limit, base + low, side="right"))
            width = len(vectors) - first
            kept = kept.with_room(high - low, self.buffers) if kept.value.shape[1] < _room(kept, high - low) else kept
            product = _buffer(self.buffers, "product", (width, high - low), np.float32)
            np.matmul(vectors[first:], held[low:high].T, out=product)
            at = slice(first, None)
            out = self.visible.out_offsets, self.visible.out_position
            drop_out(product, base + low, self.queries[at], *out)
            keep_near(
                product, base + low, limit[at], self.depth, self.slack[at],
                kept.low[at], kept.count[at], kept.value[at], kept.position[at],
            )  # fmt: skip
        return kept.trimmed()


def _room(kept: _Kept, more: int) -> int:
    return int(kept.count.max(initial=0)) + more


def _buffer(buffers: local, name: str, shape: tuple[int, int], kind: Any) -> NDArray[Any]:
    """A matrix over the worker's own memory, which is kept from tile to tile."""
    held = getattr(buffers, name, None)
    need = shape[0] * shape[1]
    if held is None or len(held) < need:
        held = np.empty(need, kind)
        setattr(buffers, name, held)
    matrix: NDArray[Any] = held[:need].reshape(shape)
    return matrix
