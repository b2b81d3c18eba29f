"""Compiled loops over bytes of vectors: rows made bytes, and rows near a query found by them.

Parts of `assay.kernels.dense_bytes`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from assay.kernels.jit import compiled
from assay.kernels.tiles import reached_by
from assay.kernels.visible import Codes
from assay.kernels.vnni import QUERIES, ROWS, byte_products, lowest_bit

Whole = NDArray[np.int64]
Real = NDArray[np.float64]
_SMALLEST = 2.0**-126


@compiled(fastmath=("reassoc", "contract", "nsz"))
def fill_panels(
    rows: NDArray[np.float32], row: Codes, centre: NDArray[np.float32], first: int, last: int, panels: Codes,
    step: NDArray[np.float32], rest: NDArray[np.float32],
) -> tuple[float, float]:  # fmt: skip
    """Fills panels `first` to `last` with bytes of `rows[row[place]] - centre`; a place whose `row` is negative stays.

    A row is divided by its step, so that its largest number is 127, rounded, and 128 added. `rest` gets the length of
    what this has left, rounded up.

    Returns:
        The largest length of these rows as they are, and less the centre.
    """
    dimensions = rows.shape[1]
    bytes_ = np.full((dimensions + 3) // 4 * 4, 128, np.uint8)
    words = bytes_.view(np.int32)
    longest, moved = 0.0, 0.0
    for place in range(first * ROWS, last * ROWS):
        if row[place] < 0:
            continue
        vector, length, own, largest = rows[row[place]], 0.0, 0.0, 0.0
        for at in range(dimensions):
            value = np.float64(vector[at])
            length += value * value
            value -= np.float64(centre[at])
            own += value * value
            largest = max(largest, abs(value))
        unit = np.float32(max(largest / 127.0, _SMALLEST))
        wide, left = np.float64(unit), 0.0
        each = 1.0 / wide
        for at in range(dimensions):
            value = np.float64(vector[at]) - np.float64(centre[at])
            # Rounding by cutting off: what is cut is positive.
            near = min(np.int32(value * each + 128.5), np.int32(255))
            value -= wide * np.float64(near - 128)
            left += value * value
            bytes_[at] = near
        panel, lane = place // ROWS, place % ROWS
        step[panel, lane], rest[panel, lane] = unit, math.sqrt(left) * (1 + 2.0**-22) + _SMALLEST
        for word in range(len(words)):
            panels[panel, word * ROWS + lane] = words[word]
        longest, moved = max(longest, length), max(moved, own)
    return math.sqrt(longest), math.sqrt(moved)


@compiled()
def near_rows(
    panels: Codes, step: NDArray[np.float32], rest: NDArray[np.float32], first: Whole, groups: Codes, start: Codes,
    length: NDArray[np.float32], limit: Whole, wanted: Whole, error: Real, noise: Real, tile: int,
    floor: NDArray[np.float32], count: Whole, value: NDArray[np.float32], place: Codes, guess: Real,
) -> None:  # fmt: skip
    """Lists for each query the places whose products are not below its floor, which rises after some of the parts.

    Part `c` of the rows, panels `first[c]` to `first[c + 1]`, holds every position whose remainder by the number of
    parts is `c`, in ascending order; query `q` may see positions below `limit[q]`. So each part is an even share of
    what a query sees, and after some parts it can be guessed how good the last of the `wanted[q]` best will be:
    `guess[q]`, less `noise[q]`. The floor is that less `error[q]`; what a row's own bytes add to the error is
    `length[q]` times its `rest`. A query whose list is full gets the floor infinity.

    Shapes: `panels` and what follows it as `byte_products` has them; `value` and `place` (queries, room); the other
    arrays have one number a query, with as many queries as fill the groups. `tile` panels are held near.
    """
    parts, size = len(first) - 1, len(groups)
    score, mask = np.empty(QUERIES * ROWS, np.float32), np.empty(QUERIES, np.uint32)
    seen = np.empty(QUERIES, np.int64)
    for part in range(parts):
        for low in range(first[part], first[part + 1], tile):
            for group in range(size):
                longest = 0
                for own in range(QUERIES):
                    seen[own] = (limit[group * QUERIES + own] - part + parts - 1) // parts
                    longest = max(longest, seen[own])
                high = min(low + tile, first[part] + (longest + ROWS - 1) // ROWS)
                near_group(
                    panels, step, rest, first[part], low, high, groups, group, start, length, seen, floor, count, value,
                    place, score, mask,
                )  # fmt: skip
        done = part + 1
        if done & (done - 1) == 0 or done == parts:
            by_query = length.ravel(), rest.ravel(), floor.ravel()
            raise_floors(done / parts, wanted, error, noise, *by_query, count, value, place, guess)


@compiled()
def near_group(
    panels: Codes, step: NDArray[np.float32], rest: NDArray[np.float32], first: int, low: int, high: int,
    groups: Codes, group: int, start: Codes, length: NDArray[np.float32], seen: Whole, floor: NDArray[np.float32],
    count: Whole, value: NDArray[np.float32], place: Codes, score: NDArray[np.float32], mask: NDArray[np.uint32],
) -> None:  # fmt: skip
    """Adds to the lists of a group what panels `low` to `high` hold, of a part that begins at the panel `first`.

    Of this part, query `i` of the group sees the first `seen[i]` rows. `score` and `mask` are room for products.
    """
    words, room = groups.shape[1] // QUERIES, value.shape[1]
    for panel in range(low, high):
        hit = byte_products(panels, panel, groups, group, words, start, step, rest, length, floor, score, mask)
        begin = (panel - first) * ROWS
        while hit != 0:
            own = lowest_bit(hit)
            hit &= hit - np.uint64(1)
            bits, query = np.uint64(mask[own]), group * QUERIES + own
            held = count[query]
            while bits != 0:
                lane = lowest_bit(bits)
                bits &= bits - np.uint64(1)
                if begin + lane < seen[own] and held < room:
                    value[query, held] = score[own * ROWS + lane]
                    place[query, held] = panel * ROWS + lane
                    held += 1
            count[query] = held
            if held == room:
                floor[group, own] = np.inf


@compiled()
def raise_floors(
    share: float, wanted: Whole, error: Real, noise: Real, length: NDArray[np.float32], rest: NDArray[np.float32],
    floor: NDArray[np.float32], count: Whole, value: NDArray[np.float32], place: Codes, guess: Real,
) -> None:  # fmt: skip
    """Guesses, from an even share of what each query sees, a product that the last of the wanted is not below.

    What a query holds that is below its new floor is dropped.
    """
    for query in range(len(count)):
        # As many as lie in a random share, and five standard deviations more.
        likely = wanted[query] * share
        rank = math.ceil(likely + 5.0 * math.sqrt(likely * (1.0 - share))) + (3 if share < 1.0 else 0)
        if floor[query] < np.inf and rank <= count[query]:
            best = np.float64(reached_by(value[query], count[query], rank)) - noise[query]
            low = best - error[query]
            rounded = np.float32(low - abs(low) * 2.0**-22)
            if rounded > floor[query]:
                floor[query], guess[query] = rounded, best
                free = 0
                for at in range(count[query]):
                    held, where = value[query, at], place[query, at]
                    value[query, free], place[query, free] = held, where
                    free += held + length[query] * rest[where] >= rounded
                count[query] = free
