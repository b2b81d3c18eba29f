"""Exact top rows over dense vectors, with every row that is equal to the last.

A score is the dot product of two float32 vectors, taken in float64: products of float32 numbers are exact there, and
are added up in eight sums by dimension modulo 8, in ascending order, which are then added pairwise. So a score depends
on its two vectors alone.

The fast form finds candidates with float32 products (BLAS) of blocks of queries and tiles of rows. However BLAS orders
its sums, a product is off by at most `d u / (1 - d u)` times the lengths of both vectors, for `d` dimensions and
`u = 2**-24` (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1). Rows that could be among the
best within that error are kept and scored as defined. So the result has the same bits for any block size, number of
threads and order of rows.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import local
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.kernels.blas import one_blas_thread
from assay.kernels.dense_tiles import LANES, cut_near, drop_out, exact_scores, keep_near
from assay.kernels.visible import Codes, Offsets, Visible

Vectors = NDArray[np.float32]
Score = NDArray[np.float64]
Found = tuple[Offsets, Codes, Score]

SMALL_NANOSECONDS = 1_000_000_000
"""A load that the definition is expected to do in this time compiles nothing."""

_UNIT = 2.0**-24
_TINY = 2.0**-126
_LARGEST = 1e30
"""Products of lengths beyond this could overflow in float32; such loads are scored as defined."""
_TILE = 4096
_SHELF_BYTES = 64 << 20


def top_rows(
    rows: Vectors,
    queries: Vectors,
    *,
    depth: int,
    order: Codes,
    place: Codes | None = None,
    prefix: Codes | None = None,
    excluded: tuple[Offsets, Codes] | None = None,
    block: int = 512,
    threads: int = 2,
) -> Found:
    """For each query the `depth` best rows by dot product, and every row equal to the last of them.

    Args:
        rows: Vectors, shape (vectors, dimensions), finite; may be a memory map, which is read in parts.
        queries: Vectors, shape (queries, dimensions), finite.
        depth: How many rows a query gets at least, where it may see that many; 0 gives none.
        order: The rows that may be searched, int32, each once.
        place: Row `r` has the vector `rows[place[r]]`; None where it has `rows[r]`.
        prefix: Query `q` is answered from the first `prefix[q]` rows of `order`; None for all.
        excluded: Offsets and rows: the rows that query `q` must not get.
        block: How many queries are multiplied at once. The result does not depend on it.
        threads: How many threads. The result does not depend on it.

    Returns:
        Offsets (int64), rows (int32) and scores (float64). A query's rows stand in the order of `order`, not by score.

    Example:
        >>> rows = np.array([[1, 0], [0, 1], [1, 0]], np.float32)
        >>> query = np.array([[2, 1]], np.float32)
        >>> [found.tolist() for found in top_rows(rows, query, depth=1, order=np.arange(3, dtype=np.int32))]
        [[0, 2], [0, 2], [2.0, 2.0]]
    """
    visible = Visible.of(order, prefix, excluded, queries=len(queries))
    if depth < 1 or not len(queries) or not len(order):
        return np.zeros(len(queries) + 1, np.int64), np.zeros(0, np.int32), np.zeros(0)
    load = DenseLoad(rows, queries, visible, order if place is None else place[order])
    slack = load.slack() if load.nanoseconds > SMALL_NANOSECONDS else None
    if slack is None:
        return top_rows_numpy(load, depth=depth)
    return top_rows_compiled(load, depth=depth, slack=slack, block=block, threads=threads)


@dataclass(frozen=True, eq=False)
class DenseLoad:
    """Queries against vectors: what each may see, and at which place of `rows` the vector of each position stands."""

    rows: Vectors
    queries: Vectors
    visible: Visible
    vector: Codes

    @property
    def nanoseconds(self) -> int:
        """About how long the definition takes."""
        seen = int(self.visible.limit.sum(dtype=np.int64))
        return 3 * int(self.rows.shape[1]) * seen

    def slack(self) -> Vectors | None:
        """Per query twice the error of a float32 product with any row, rounded up; None where one could overflow."""
        held = (self.rows[self.vector[low : low + _TILE]] for low in range(0, len(self.vector), _TILE))
        longest = max(float(_lengths(part).max(initial=0.0)) for part in held)
        length = _lengths(self.queries)
        if not float(length.max()) * max(longest, 1.0) < _LARGEST or not longest < _LARGEST:
            return None
        dimensions = self.rows.shape[1]
        share = dimensions * _UNIT
        # A little more for the lengths' own rounding, and the smallest normal number for products that underflow.
        error = 2 * (share / (1 - share)) * length * longest * (1 + 2**-20) + 2 * dimensions * _TINY
        slack: Vectors = np.nextafter(error.astype(np.float32), np.float32(np.inf))
        return slack


def _lengths(vectors: Vectors) -> Score:
    lengths: Score = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    return lengths


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
    """The definition of `top_rows`: all scores of a query, and those not below the `depth`-th."""
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
    offsets = np.zeros(len(load.queries) + 1, np.int64)
    np.cumsum([len(best) for best in positions], out=offsets[1:])
    return offsets, visible.order[np.concatenate(positions)].astype(np.int32, copy=False), np.concatenate(found)


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


def top_rows_compiled(load: DenseLoad, *, depth: int, slack: Vectors, block: int, threads: int) -> Found:
    """The compiled form of `top_rows`: the same bits."""
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

        def rescored(number: int) -> tuple[NDArray[np.int64], _Exact]:
            return blocks[number], _Exact.of(kept[number], rows, vectors[number], load.vector, depth)

        parts = list(pool.map(rescored, range(len(blocks))))
    return _assembled(len(queries), visible.order, parts)


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


@dataclass(frozen=True, eq=False)
class _Exact:
    """Per query of a block its rows and their scores as defined, ties with the last included."""

    count: NDArray[np.int64]
    position: Codes
    score: Score

    @classmethod
    def of(cls, kept: _Kept, rows: Vectors, vectors: Vectors, vector: Codes, depth: int) -> _Exact:
        count, position = kept.count.copy(), kept.position.copy()
        score = np.full(position.shape, -np.inf)
        exact_scores(rows, vector, vectors, count, position, score)
        cut_near(depth, np.zeros(len(count)), np.empty(len(count)), count, score, position)
        return cls(count, position, score)


def _buffer(buffers: local, name: str, shape: tuple[int, int], kind: Any) -> NDArray[Any]:
    """A matrix over the worker's own memory, which is kept from tile to tile."""
    held = getattr(buffers, name, None)
    need = shape[0] * shape[1]
    if held is None or len(held) < need:
        held = np.empty(need, kind)
        setattr(buffers, name, held)
    matrix: NDArray[Any] = held[:need].reshape(shape)
    return matrix


def _assembled(queries: int, order: Codes, parts: list[tuple[NDArray[np.int64], _Exact]]) -> Found:
    """One list per query from blocks of queries in any order."""
    offsets = np.zeros(queries + 1, np.int64)
    for own, exact in parts:
        offsets[own + 1] = exact.count
    np.cumsum(offsets, out=offsets)
    rows, scores = np.empty(offsets[-1], np.int32), np.empty(offsets[-1])
    for own, exact in parts:
        inside = np.arange(exact.position.shape[1]) < exact.count[:, None]
        at = np.arange(int(exact.count.sum())) + np.repeat(
            offsets[own] - (np.cumsum(exact.count) - exact.count), exact.count
        )
        rows[at], scores[at] = order[exact.position[inside]], exact.score[inside]
    return offsets, rows, scores
