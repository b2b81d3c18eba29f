"""Compiled loops over tiles of dot products: one row a query, one column a position.

Parts of `assay.kernels.dense`, which holds their definition (`top_rows_numpy`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.kernels.jit import compiled
from assay.kernels.tiles import STRIP, kth_largest, strip_maxima
from assay.kernels.visible import Codes, Offsets

LANES = 8


@compiled()
def drop_out(product: NDArray[Any], base: int, queries: Offsets, offsets: Offsets, position: Codes) -> None:
    """Puts each query's excluded positions below all others, where they lie in the tile from `base` on."""
    for place in range(len(queries)):
        for at in range(offsets[queries[place]], offsets[queries[place] + 1]):
            if 0 <= position[at] - base < product.shape[1]:
                product[place, position[at] - base] = -np.inf


@compiled()
def keep_near(
    product: NDArray[Any], base: int, limit: Codes, depth: int, slack: NDArray[Any], low: NDArray[Any],
    count: NDArray[np.int64], value: NDArray[Any], position: Codes,
) -> None:  # fmt: skip
    """Adds each query's rows of a tile to those it keeps, and raises `low`, below which no row can be among the best.

    `low` is the `depth`-th best product so far less `slack`. Query `i` may see positions below `limit[i]`. `value` and
    `position` need room for a whole tile more; once a query holds twice the depth they are cut.
    """
    tops, heap = np.empty((product.shape[1] + STRIP - 1) // STRIP, product.dtype), np.empty(depth, product.dtype)
    for place in range(len(product)):
        sums, end = product[place], max(0, min(product.shape[1], limit[place] - base))
        strips = strip_maxima(sums, end, tops)
        if low[place] == -np.inf and depth <= strips:
            # Each of the `depth` best strips holds a row that is not below the `depth`-th best strip.
            low[place] = kth_largest(tops, strips, heap) - slack[place]
        floor, size = low[place], count[place]
        for strip in range(strips):
            if tops[strip] >= floor:
                for at in range(strip * STRIP, min(end, strip * STRIP + STRIP)):
                    if sums[at] >= floor and sums[at] > -np.inf:
                        value[place, size] = sums[at]
                        position[place, size] = base + at
                        size += 1
        count[place] = size
        if size >= 2 * depth:
            _cut(place, slack[place], heap, low, count, value, position)


@compiled()
def cut_near(
    depth: int, slack: NDArray[Any], low: NDArray[Any], count: NDArray[np.int64], value: NDArray[Any], position: Codes
) -> None:
    """Cuts what each query keeps to its `depth` best rows and every row that is not more than `slack` below them."""
    heap = np.empty(depth, value.dtype)
    for place in range(len(count)):
        if count[place] > depth:
            _cut(place, slack[place], heap, low, count, value, position)


@compiled()
def _cut(
    place: int, slack: Any, heap: NDArray[Any], low: NDArray[Any], count: NDArray[np.int64], value: NDArray[Any],
    position: Codes,
) -> None:  # fmt: skip
    size = count[place]
    floor = kth_largest(value[place], size, heap) - slack
    free = 0
    for at in range(size):
        if value[place, at] >= floor:
            value[place, free] = value[place, at]
            position[place, free] = position[place, at]
            free += 1
    low[place] = floor
    count[place] = free


@compiled(fastmath=("contract",))
def exact_scores(
    rows: NDArray[np.float32], vector: Codes, queries: NDArray[np.float32], count: NDArray[np.int64], position: Codes,
    score: NDArray[np.float64],
) -> None:  # fmt: skip
    """The score, as `assay.kernels.dense` defines it, of each position that a query keeps.

    The vector of position `p` is `rows[vector[p]]`. A product of two float32 numbers is exact in float64, so that
    contracting it with the addition changes no bit.
    """
    dimensions = rows.shape[1]
    whole = dimensions // LANES * LANES
    lanes, wide = np.zeros(LANES), np.empty(dimensions)
    for query in range(len(count)):
        for at in range(dimensions):
            wide[at] = queries[query, at]
        for number in range(count[query]):
            row = rows[vector[position[query, number]]]
            lanes[:] = 0.0
            for first in range(0, whole, LANES):
                for lane in range(LANES):
                    lanes[lane] += np.float64(row[first + lane]) * wide[first + lane]
            for at in range(whole, dimensions):
                lanes[at - whole] += np.float64(row[at]) * wide[at]
            score[query, number] = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + (
                (lanes[1] + lanes[5]) + (lanes[3] + lanes[7])
            )
