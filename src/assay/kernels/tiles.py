"""Compiled loops over tiles of scores: one row a query, one column a position.

Parts of `assay.kernels.sparse`, which holds their definition (`top_rows_numpy`): scores are added up, excluded
positions taken out, and the best rows kept from tile to tile.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.kernels.jit import compiled
from assay.kernels.postings import Codes, Offsets, Weights

STRIP = 32
"""A strip of positions is skipped by its largest score; it is part of the compiled code."""
_HALVINGS = 14


@compiled()
def scatter_lists(
    score: NDArray[Any], base: int, end: int, cursor: Offsets, stop: Offsets, row: Codes, factor: NDArray[Any],
    position: Codes, weight: Weights,
) -> None:  # fmt: skip
    """Adds the part of each list that lies in a tile (positions `base` to `end`) to its query's scores.

    List `i` belongs to row `row[i]` of `score`, is multiplied by `factor[i]`, and stands in the postings from
    `cursor[i]` to `stop[i]`; the cursor moves on to the first position past the tile.
    """
    for number in range(len(cursor)):
        at, last = cursor[number], stop[number]
        if at == last or position[at] >= end:
            continue
        sums, times = score[row[number]], factor[number]
        while at < last:
            # An unsigned index spares the look whether it counts from the end, a third of the time here.
            place = position[np.uint64(at)]
            if place >= end:
                break
            sums[np.uint64(place - base)] += times * weight[np.uint64(at)]
            at += 1
        cursor[number] = at


@compiled()
def drop_positions(
    score: NDArray[Any], base: int, queries: NDArray[np.int64], offsets: Offsets, position: Codes
) -> None:
    """Sets the scores of each query's excluded positions to 0, where they lie in the tile from `base` on."""
    for place in range(len(queries)):
        for at in range(offsets[queries[place]], offsets[queries[place] + 1]):
            if 0 <= position[at] - base < score.shape[1]:
                score[place, position[at] - base] = 0


@compiled()
def strip_maxima(sums: NDArray[Any], end: int, tops: NDArray[Any]) -> int:
    """Puts the largest of each strip of the first `end` scores into `tops`; how many strips there are."""
    full = end // STRIP
    for strip in range(full):
        # A fixed length lets a maximum run over whole registers.
        top = sums[strip * STRIP]
        for at in range(strip * STRIP, strip * STRIP + STRIP):
            top = sums[at] if sums[at] > top else top
        tops[strip] = top
    if full * STRIP < end:
        # Written out: the library's maximum of a slice takes half a second to compile.
        top = sums[full * STRIP]
        for at in range(full * STRIP, end):
            top = sums[at] if sums[at] > top else top
        tops[full] = top
        full += 1
    return full


@compiled()
def keep_best(
    score: NDArray[Any], base: int, limit: Codes, depth: int, low: NDArray[Any], count: NDArray[np.int64],
    value: NDArray[Any], position: NDArray[np.int32],
) -> None:  # fmt: skip
    """Adds each query's rows of a tile to those it keeps, and raises `low`, below which no row can be kept.

    Query `i` may see positions below `limit[i]`. `value` and `position` need room for a whole tile more.
    """
    tops, heap = np.empty((score.shape[1] + STRIP - 1) // STRIP, score.dtype), np.empty(depth, score.dtype)
    for place in range(len(score)):
        sums, end = score[place], max(0, min(score.shape[1], limit[place] - base))
        strips = strip_maxima(sums, end, tops)
        if low[place] == 0 and 0 < depth <= strips:
            # Each of the `depth` best strips holds a row that is not below the `depth`-th best strip.
            best = kth_largest(tops, strips, heap)
            low[place] = best if best > 0 else low[place]
        floor, size = low[place], count[place]
        for strip in range(strips):
            if tops[strip] >= floor and tops[strip] > 0:
                for at in range(strip * STRIP, min(end, strip * STRIP + STRIP)):
                    if sums[at] >= floor and sums[at] > 0:
                        value[place, size] = sums[at]
                        position[place, size] = base + at
                        size += 1
        count[place] = size
        if size > depth + depth // 2 + STRIP:
            _cut(place, heap, low, count, value, position)


@compiled()
def cut_to_best(
    depth: int, low: NDArray[Any], count: NDArray[np.int64], value: NDArray[Any], position: NDArray[np.int32]
) -> None:
    """Cuts what each query keeps to its `depth` best rows and every row equal to the last of them."""
    heap = np.empty(depth, value.dtype)
    for place in range(len(count)):
        if count[place] > depth:
            _cut(place, heap, low, count, value, position)


@compiled()
def kth_largest(values: NDArray[Any], size: int, heap: NDArray[Any]) -> Any:
    """The k-th largest of the first `size` values, where the heap has k places and `size` is at least k."""
    depth = len(heap)
    for place in range(depth):
        heap[place] = values[place]
    for place in range(depth // 2 - 1, -1, -1):
        _sift(heap, place, heap[place])
    for at in range(depth, size):
        if values[at] > heap[0]:
            _sift(heap, 0, values[at])
    return heap[0]


@compiled()
def reached_by(values: NDArray[Any], size: int, rank: int) -> Any:
    """A number that at least `rank` of the first `size` finite values reach, and hardly more where they lie apart.

    Found by halving: counting takes no decisions, so that it is much faster than to find the value of that rank.
    """
    low, high = values[0], values[0]
    for at in range(size):
        low, high = min(low, values[at]), max(high, values[at])
    for _ in range(_HALVINGS):
        middle = low / 2 + high / 2
        reaching = 0
        for at in range(size):
            reaching += values[at] >= middle
        if reaching >= rank:
            low = middle
        else:
            high = middle
    return low


@compiled()
def _sift(heap: NDArray[Any], place: int, value: Any) -> None:
    child = 2 * place + 1
    while child < len(heap):
        if child + 1 < len(heap) and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[place] = heap[child]
        place = child
        child = 2 * place + 1
    heap[place] = value


@compiled()
def _cut(
    place: int, heap: NDArray[Any], low: NDArray[Any], count: NDArray[np.int64], value: NDArray[Any],
    position: NDArray[np.int32],
) -> None:  # fmt: skip
    size = count[place]
    floor = kth_largest(value[place], size, heap)
    free = 0
    for at in range(size):
        if value[place, at] >= floor:
            value[place, free] = value[place, at]
            position[place, free] = position[place, at]
            free += 1
    low[place] = floor
    count[place] = free
