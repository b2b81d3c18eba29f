"""Exact top rows over dense vectors, with every row that is equal to the last.

A score is the dot product of two float32 vectors, taken in float64: products of float32 numbers are exact there, and
are added up in eight sums by dimension modulo 8, in ascending order, which are then added pairwise. So a score depends
on its two vectors alone.

The fast forms find candidates with cheaper products whose error is bounded, and score these as defined: products of
bytes where the processor has an instruction for them and the load is large (`dense_bytes.py`), else float32 products
(`dense_floats.py`). Which of them it was, the size of blocks, the number of threads and the order of rows change no bit
of the result.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from assay.kernels.dense_bytes import lists_by_bytes, pays
from assay.kernels.dense_floats import lists_by_floats
from assay.kernels.dense_load import (
    DenseLoad,
    Found,
    Lists,
    Vectors,
    assembled,
    defined_lists,
    scores_of,
    top_rows_numpy,
)
from assay.kernels.visible import Codes, Offsets, Visible

__all__ = ["DenseLoad", "scores_of", "top_rows", "top_rows_by_bytes", "top_rows_by_floats", "top_rows_numpy"]

SMALL_NANOSECONDS = 1_000_000_000
"""A load that the definition is expected to do in this time compiles nothing."""


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
    depth = min(depth, len(order))
    if 3 * load.products <= SMALL_NANOSECONDS:
        return top_rows_numpy(load, depth=depth)
    found = top_rows_by_bytes if pays(load, depth=depth) else top_rows_by_floats
    return found(load, depth=depth, block=block, threads=threads)


def top_rows_by_floats(load: DenseLoad, *, depth: int, block: int, threads: int) -> Found:
    """The same bits as the definition, by float32 products."""
    load = load.without_gaps()
    return assembled(load, _by_floats(load, load.longest(), depth=depth, block=block, threads=threads))


def top_rows_by_bytes(load: DenseLoad, *, depth: int, block: int, threads: int, parts: int | None = None) -> Found:
    """The same bits as the definition, by products of bytes, and by float32 products for queries that need them.

    Rows are searched in `parts`, each spread evenly over them: None for a number that suits them.
    """
    load = load.without_gaps()
    lists, left, longest = lists_by_bytes(load, depth=depth, block=block, threads=threads, parts=parts)
    if len(left):
        others = _by_floats(load.only(left), longest, depth=depth, block=block, threads=threads)
        lists += [replace(part, queries=left[part.queries]) for part in others]
    return assembled(load, lists)


def _by_floats(load: DenseLoad, longest: float, *, depth: int, block: int, threads: int) -> list[Lists]:
    slack = load.slack(longest)
    if slack is None:
        return [defined_lists(load, depth=depth)]
    return lists_by_floats(load, depth=depth, slack=slack, block=block, threads=threads)
