"""Exact top rows over sparse weights, with every row that is equal to the last.

A score is the sum of query weight times row weight over the query's terms, in ascending order of terms, in
float64. Where all weights are whole multiples of a `step`, query weights are whole numbers and no sum can pass
2**24 steps, a float32 sum in any order has the same value; this is what makes the fast form exact: frequent
terms are columns of a matrix multiplied for a block of queries at once (BLAS), the others are scattered over
their lists, tile by tile of rows, so that the scores of a block stay in the cache. Queries that could pass the
bound, and weights without a step, are summed in float64 in the order of the definition. So the result has the
same bits for any block size, number of threads and order of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import local
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.kernels.blas import one_blas_thread
from assay.kernels.postings import Codes, Offsets, Postings, Weights, counted_rows
from assay.kernels.tiles import STRIP, cut_to_best, drop_positions, keep_best, scatter_lists
from assay.kernels.visible import Visible

__all__ = ["Postings", "counted_rows", "top_rows", "top_rows_compiled", "top_rows_numpy"]

Score = NDArray[np.float64]
Found = tuple[Offsets, Codes, Score]

SMALL_NANOSECONDS = 1_000_000_000
"""A load that the definition is expected to do in this time compiles nothing."""

_EXACT_STEPS = 1 << 24
_DENSE_BYTES = 256 << 20
_KEPT_BYTES = 32 << 20
_DENSE_QUERIES = 64
_SLOW_BLOCK = 8
_DENSE_SHARE = 0.02
_TILE = 16384


def top_rows(
    postings: Postings,
    query_offsets: Offsets,
    query_term: Codes,
    query_weight: NDArray[Any],
    *,
    depth: int,
    prefix: Codes | None = None,
    excluded: tuple[Offsets, Codes] | None = None,
    step: float | None = None,
    block: int = 128,
    threads: int = 2,
) -> Found:
    """For each query the `depth` best rows with a score above 0, and every row equal to the last of them.

    Args:
        postings: The rows, inverted.
        query_offsets: Query `q` owns `query_term` and `query_weight` at `query_offsets[q]:query_offsets[q + 1]`.
        query_term: Terms of the postings, int32; a term stands once in a query.
        query_weight: Weights of the queries' terms, finite.
        depth: How many rows a query gets at least, where it has that many; 0 gives none.
        prefix: Query `q` is answered from the first `prefix[q]` rows of `postings.order`; None for all.
        excluded: Offsets and rows (not positions): the rows that query `q` must not get.
        step: What all weights of the postings are whole multiples of; None where there is none. Of use where it
            is a power of two and a query's weights are whole numbers.
        block: How many queries are multiplied at once. The result does not depend on it.
        threads: How many threads. The result does not depend on it.

    Returns:
        Offsets (int64), rows (int32) and scores (float64). A query's rows stand in the order of
        `postings.order`, not by score.

    Example:
        >>> rows = np.array([0, 1, 2, 3]), np.zeros(3, np.int32), np.array([1, 2, 1], np.float32)
        >>> lists = Postings.of(*rows, terms=1, order=np.arange(3, dtype=np.int32))
        >>> query = np.array([0, 1]), np.zeros(1, np.int32), np.array([3.0])
        >>> [found.tolist() for found in top_rows(lists, *query, depth=2)]
        [[0, 3], [0, 1, 2], [3.0, 6.0, 3.0]]
    """
    if depth < 1 or len(query_offsets) < 2:
        return np.zeros(len(query_offsets), np.int64), np.zeros(0, np.int32), np.zeros(0)
    load = _Load.of(postings, query_offsets, query_term, query_weight, prefix, excluded)
    if load.nanoseconds <= SMALL_NANOSECONDS:
        return top_rows_numpy(load, depth=depth)
    return top_rows_compiled(load, depth=depth, step=step, block=block, threads=threads)


@dataclass(frozen=True, eq=False)
class _Load:
    """Queries against postings: terms ascending in each query, what each may see."""

    postings: Postings
    offsets: Offsets
    term: Codes
    weight: Score
    visible: Visible

    @classmethod
    def of(
        cls,
        postings: Postings,
        offsets: Offsets,
        term: Codes,
        weight: NDArray[Any],
        prefix: Codes | None,
        excluded: tuple[Offsets, Codes] | None,
    ) -> _Load:
        queries = len(offsets) - 1
        owner = np.repeat(np.arange(queries), np.diff(offsets))
        order = np.argsort(owner * postings.terms + term)
        return cls(
            postings,
            np.ascontiguousarray(offsets, np.int64),
            np.ascontiguousarray(term[order], np.int32),
            np.ascontiguousarray(weight[order], np.float64),
            Visible.of(postings.order, prefix, excluded, queries=queries),
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def nanoseconds(self) -> int:
        """About how long the definition takes."""
        touched = int(np.diff(self.postings.start)[self.term].sum())
        seen = int(self.visible.limit.sum(dtype=np.int64))
        return 6000 * len(self.term) + 8 * touched + 20_000 * len(self) + 4 * seen

    def whole(self, step: float | None) -> NDArray[np.bool_]:
        """Queries whose float32 sums are exact in any order."""
        if step is None or np.frexp(step)[0] != 0.5:
            return np.zeros(len(self), np.bool_)
        steps = np.abs(self.weight) * (self.postings.largest[self.term] / step)
        bound = np.concatenate([[0.0], np.cumsum(steps)])
        fits = bound[self.offsets[1:]] - bound[self.offsets[:-1]] <= _EXACT_STEPS - 1
        broken = np.concatenate([[0], np.cumsum(self.weight != np.rint(self.weight))])
        exact: NDArray[np.bool_] = fits & (broken[self.offsets[1:]] == broken[self.offsets[:-1]])
        return exact


def top_rows_numpy(load: _Load, *, depth: int) -> Found:
    """The definition of `top_rows`: all scores of a query, and those not below the `depth`-th."""
    postings, rows, scores = load.postings, [], []
    for query in range(len(load)):
        limit = int(load.visible.limit[query])
        score = np.zeros(limit)
        for entry in range(load.offsets[query], load.offsets[query + 1]):
            own = slice(postings.start[load.term[entry]], postings.start[load.term[entry] + 1])
            position = postings.position[own]
            end = len(position) if limit == len(postings.order) else int(np.searchsorted(position, limit))
            # A row stands once in a list, so each place is added to once.
            score[position[:end]] += load.weight[entry] * postings.weight[own][:end].astype(np.float64)
        score[load.visible.out(query)] = 0.0
        best = np.flatnonzero(score > 0)
        if depth < len(best):
            last = np.partition(score[best], len(best) - depth)[len(best) - depth]
            best = best[score[best] >= last]
        rows.append(postings.order[best])
        scores.append(score[best])
    offsets = np.zeros(len(load) + 1, np.int64)
    np.cumsum([len(found) for found in rows], out=offsets[1:])
    return offsets, np.concatenate(rows).astype(np.int32, copy=False), np.concatenate(scores)


def top_rows_compiled(load: _Load, *, depth: int, step: float | None, block: int, threads: int) -> Found:
    """The compiled form of `top_rows`: the same bits."""
    whole = load.whole(step)
    # Queries of one block share the longest of their prefixes.
    fast, slow = (load.visible.by_limit(np.flatnonzero(chosen)) for chosen in (whole, ~whole))
    dense = _Dense.of(load, fast)
    buffers = local()

    def answered(job: tuple[NDArray[np.int64], bool]) -> tuple[NDArray[np.int64], Found]:
        queries, exact = job
        return queries, _answered(load, dense if exact else None, queries, depth, buffers)

    # Slow queries first, few at a time: the workers then end together.
    jobs = [(part, False) for part in _blocks(load, slow, min(block, _SLOW_BLOCK), depth)]
    jobs += [(part, True) for part in _blocks(load, fast, block, depth)]
    with one_blas_thread(), ThreadPoolExecutor(max(1, threads)) as pool:
        parts = list(pool.map(answered, jobs))
    return _assembled(len(load), load.postings.order, parts)


def _blocks(load: _Load, queries: NDArray[np.int64], block: int, depth: int) -> Iterator[NDArray[np.int64]]:
    """Blocks of queries whose best rows fit into a worker's memory."""
    kept = 16 * max(1, min(2 * depth, len(load.postings.order)))
    size = max(1, min(block, _KEPT_BYTES // kept))
    for low in range(0, len(queries), size):
        yield queries[low : low + size]


@dataclass(frozen=True, eq=False)
class _Dense:
    """Frequent terms as columns: `column[t]` is the term's row in `matrix`, or -1."""

    column: Codes
    matrix: Weights
    weight: Weights

    @classmethod
    def of(cls, load: _Load, queries: NDArray[np.int64]) -> _Dense:
        """The columns that are cheaper to multiply than to scatter, in no more memory than is set apart."""
        postings, size = load.postings, max(1, len(load.postings.order))
        column = np.full(postings.terms, -1, np.int32)
        chosen = np.zeros(0, np.int64)
        if len(queries) >= _DENSE_QUERIES:
            asked = np.bincount(load.term, minlength=postings.terms) / len(load)
            share = asked * (np.diff(postings.start) / size)
            chosen = np.flatnonzero(share > _DENSE_SHARE)
            room = _DENSE_BYTES // (4 * size)
            chosen = np.sort(chosen[np.argsort(-share[chosen], kind="stable")][:room])
        column[chosen] = np.arange(len(chosen), dtype=np.int32)
        matrix = np.zeros((len(chosen), len(postings.order)), np.float32)
        for place, term in enumerate(chosen.tolist()):
            own = slice(postings.start[term], postings.start[term + 1])
            matrix[place, postings.position[own]] = postings.weight[own]
        weight = np.zeros((len(load), len(chosen)), np.float32)
        owner = np.repeat(np.arange(len(load)), np.diff(load.offsets))
        held = column[load.term] >= 0
        weight[owner[held], column[load.term[held]]] = load.weight[held]
        return cls(column, matrix, weight)


def _answered(load: _Load, dense: _Dense | None, queries: NDArray[np.int64], depth: int, buffers: local) -> Found:
    """Offsets, positions and scores of some queries' best rows."""
    limit = load.visible.limit[queries]
    kind = np.float64 if dense is None else np.float32
    multiplied = dense is not None and len(dense.matrix) > 0
    factors = dense.weight[queries] if dense is not None else np.zeros((0, 0), np.float32)
    lists = _Lists.of(load, dense, queries)
    kept = _Kept.empty(len(queries), kind, min(int(limit.max()), 2 * depth + STRIP + _TILE))
    for base in range(0, int(limit.max()), _TILE):
        stop = min(base + _TILE, int(limit.max()))
        score = _buffer(buffers, kind, len(queries), stop - base)
        if multiplied and dense is not None:
            np.matmul(factors, dense.matrix[:, base:stop], out=score)
        else:
            score[:] = 0
        scatter_lists(
            score, base, stop, lists.cursor, lists.stop, lists.row, lists.factor,
            load.postings.position, load.postings.weight,
        )  # fmt: skip
        drop_positions(score, base, queries, load.visible.out_offsets, load.visible.out_position)
        kept = kept.with_room(stop - base)
        keep_best(score, base, limit, depth, kept.low, kept.count, kept.value, kept.position)
    return _collected(kept, depth)


@dataclass(frozen=True, eq=False)
class _Lists:
    """The lists that a block of queries is scattered over, query by query, terms ascending.

    List `i` is read for the block's query `row[i]` with `factor[i]`; it stands in the postings from `cursor[i]`,
    which moves on from tile to tile, to `stop[i]`.
    """

    cursor: Offsets
    stop: Offsets
    row: Codes
    factor: NDArray[Any]

    @classmethod
    def of(cls, load: _Load, dense: _Dense | None, queries: NDArray[np.int64]) -> _Lists:
        first, count = load.offsets[queries], load.offsets[queries + 1] - load.offsets[queries]
        ends = np.cumsum(count)
        at = np.arange(ends[-1]) + np.repeat(first - (ends - count), count)
        row = np.repeat(np.arange(len(queries), dtype=np.int32), count)
        if dense is not None:
            light = dense.column[load.term[at]] < 0
            at, row = at[light], row[light]
        term, start = load.term[at], load.postings.start
        factor = load.weight[at].astype(np.float64 if dense is None else np.float32)
        return cls(start[term], start[term + 1], row, factor)


@dataclass(frozen=True, eq=False)
class _Kept:
    """Each query's best rows so far: at least the `depth` best, and every row equal to the last of them.

    No row with a score below `low` can be among them any more.
    """

    low: NDArray[Any]
    count: NDArray[np.int64]
    value: NDArray[Any]
    position: NDArray[np.int32]

    @classmethod
    def empty(cls, queries: int, kind: Any, room: int) -> _Kept:
        value, position = np.empty((queries, room), kind), np.empty((queries, room), np.int32)
        return cls(np.zeros(queries, kind), np.zeros(queries, np.int64), value, position)

    def with_room(self, more: int) -> _Kept:
        """The same with room for `more` rows a query."""
        need = int(self.count.max()) + more
        have = self.value.shape[1]
        if need <= have:
            return self
        value, position = (np.empty((len(a), need + have), a.dtype) for a in (self.value, self.position))
        value[:, :have], position[:, :have] = self.value, self.position
        return _Kept(self.low, self.count, value, position)


def _collected(kept: _Kept, depth: int) -> Found:
    """Offsets, positions and scores of what is kept in the end."""
    cut_to_best(depth, kept.low, kept.count, kept.value, kept.position)
    offsets = np.zeros(len(kept.count) + 1, np.int64)
    np.cumsum(kept.count, out=offsets[1:])
    count = kept.count.tolist()
    position = np.concatenate([own[:size] for own, size in zip(kept.position, count, strict=True)])
    value = np.concatenate([own[:size] for own, size in zip(kept.value, count, strict=True)])
    return offsets, position, value.astype(np.float64)


def _buffer(buffers: local, kind: Any, rows: int, width: int) -> NDArray[Any]:
    """A matrix over the worker's own memory, which is kept from tile to tile."""
    held = getattr(buffers, "memory", None)
    need = rows * width * np.dtype(kind).itemsize
    if held is None or len(held) < need:
        held = buffers.memory = np.empty(need, np.uint8)
    matrix: NDArray[Any] = held[:need].view(kind).reshape(rows, width)
    return matrix


def _assembled(queries: int, order: Codes, parts: list[tuple[NDArray[np.int64], Found]]) -> Found:
    """One list per query from blocks of queries in any order."""
    offsets = np.zeros(queries + 1, np.int64)
    for part, (cuts, _, _) in parts:
        offsets[part + 1] = np.diff(cuts)
    np.cumsum(offsets, out=offsets)
    rows, scores = np.empty(offsets[-1], np.int32), np.empty(offsets[-1])
    while parts:
        part, (cuts, position, best) = parts.pop()
        found = order[position]
        for query, low, high in zip(part.tolist(), cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            rows[offsets[query] : offsets[query + 1]] = found[low:high]
            scores[offsets[query] : offsets[query + 1]] = best[low:high]
    return offsets, rows, scores
