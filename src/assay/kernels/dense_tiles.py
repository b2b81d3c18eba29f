"""Compiled loops over tiles of dot products: one row a query, one column a position.

Parts of `assay.kernels.dense`, which holds their definition (`top_rows_numpy`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.kernels.jit import compiled
from assay.kernels.lanes import LANES, SIDE_BY_SIDE, lane_sums
from assay.kernels.tiles import STRIP, kth_largest, reached_by, strip_maxima
from assay.kernels.visible import Codes, Offsets

_LOWEST = -1.7e308
NEAR = 4096
"""So many vectors lie in a processor's cache while the lists of all queries go over them."""


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
def score_lists(
    rows: NDArray[np.float32], row: Codes, queries: NDArray[np.float32], own: NDArray[np.int64], offsets: Offsets,
    place: Codes, tile: int, score: NDArray[np.float64],
) -> None:  # fmt: skip
    """The score, as `assay.kernels.dense` defines it, of each place in the list of each query.

    List `i` belongs to query `own[i]`, stands in `place` from `offsets[i]` to `offsets[i + 1]`, and ascends; the vector
    of place `p` is `rows[row[p]]`. So that vectors are read from memory once for all queries, lists are worked off by
    tiles of places. A product of two float32 numbers is exact in float64, so that contracting it with the addition
    changes no bit.
    """
    dimensions = rows.shape[1]
    blocks = dimensions // LANES
    cursor, wide, sums = offsets[:-1].copy(), np.empty(dimensions), np.empty(SIDE_BY_SIDE * LANES)
    for high in range(tile, len(row) + tile, tile):
        for number in range(len(own)):
            at, end = cursor[number], offsets[number + 1]
            if at == end or place[at] >= high:
                continue
            for dimension in range(dimensions):
                wide[dimension] = queries[own[number], dimension]
            while at < end and place[at] < high:
                lane_sums(rows, _four(row, place, at, end), _four(row, place, at + 4, end), wide, blocks, sums)
                for side in range(min(SIDE_BY_SIDE, end - at)):
                    first = side * LANES
                    for dimension in range(blocks * LANES, dimensions):
                        product = np.float64(rows[row[place[at + side]], dimension]) * wide[dimension]
                        sums[first + dimension % LANES] += product
                    score[at + side] = ((sums[first] + sums[first + 4]) + (sums[first + 2] + sums[first + 6])) + (
                        (sums[first + 1] + sums[first + 5]) + (sums[first + 3] + sums[first + 7])
                    )
                at = min(at + SIDE_BY_SIDE, end)
            cursor[number] = at


@compiled(inline=True)
def _four(row: Codes, place: Codes, at: int, end: int) -> tuple[np.int64, np.int64, np.int64, np.int64]:
    """The rows of four places of a list that ends before `end`; the last one stands in for those past it."""
    last = end - 1
    return (
        np.int64(row[place[min(at, last)]]), np.int64(row[place[min(at + 1, last)]]),
        np.int64(row[place[min(at + 2, last)]]), np.int64(row[place[min(at + 3, last)]]),
    )  # fmt: skip


@compiled()
def drop_listed(
    own: NDArray[np.int64], offsets: Offsets, place: Codes, score: NDArray[np.float64], out_offsets: Offsets,
    out_place: Codes,
) -> None:  # fmt: skip
    """Puts each query's excluded places below all others, where its list holds them; lists ascend."""
    for number in range(len(own)):
        for out in range(out_offsets[own[number]], out_offsets[own[number] + 1]):
            low, high = offsets[number], offsets[number + 1]
            while low < high:
                middle = (low + high) // 2
                if place[middle] < out_place[out]:
                    low = middle + 1
                else:
                    high = middle
            if low < offsets[number + 1] and place[low] == out_place[out]:
                score[low] = -np.inf


@compiled()
def cut_lists(
    depth: int, offsets: Offsets, place: Codes, score: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Moves each list's `depth` best, and every one equal to the last of them, to its front, in their order.

    Returns how many these are, and the score of the last of them: minus infinity where there are fewer.
    """
    count, last = np.zeros(len(offsets) - 1, np.int64), np.full(len(offsets) - 1, -np.inf)
    heap = np.empty(depth, np.float64)
    for number in range(len(count)):
        start, end = offsets[number], offsets[number + 1]
        end = _gathered(place, score, start, end, _LOWEST)
        if end - start >= depth:
            end = _gathered(place, score, start, end, reached_by(score[start:end], end - start, depth))
            last[number] = kth_largest(score[start:end], end - start, heap)
        count[number] = _gathered(place, score, start, end, last[number]) - start
    return count, last


@compiled(inline=True)
def _gathered(place: Codes, score: NDArray[np.float64], start: int, end: int, low: float) -> int:
    """Moves those of a part that are not below `low` to its front; returns their end."""
    free = start
    for at in range(start, end):
        held, where = score[at], place[at]
        score[free], place[free] = held, where
        free += held >= low
    return free
