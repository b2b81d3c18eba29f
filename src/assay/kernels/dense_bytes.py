"""Dense search by products of bytes.

Parts of `assay.kernels.dense`. Vectors are rounded to bytes, rows after a centre has been taken from them, which moves
all scores of a query alike. By the Cauchy-Schwarz inequality a product of bytes is off by at most

    |q - q'| |x| + |q'| |x - x'|

for a query `q`, a row `x` and their rounded forms `q'` and `x'`. These lengths are measured, so the bound holds
whatever the numbers are; where bytes hold them badly it is large and more rows are candidates.

How good the last row of a query will be is guessed from an even share of the rows, and rows whose product and error lie
below the guess are dropped. The rest are scored as defined. Where `depth` of them are not below the guess, no dropped
row can be among the best; where fewer are, or where there are too many candidates, the query is left to
`dense_floats.py`. So the guess costs time where it is wrong, and changes nothing.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.kernels.dense_load import LARGEST, DenseLoad, Lists, Vectors, ragged
from assay.kernels.dense_panels import Real, Whole, fill_panels, near_rows
from assay.kernels.dense_tiles import NEAR, cut_lists, drop_listed, score_lists
from assay.kernels.visible import Codes
from assay.kernels.vnni import QUERIES, ROWS, has_byte_products

_PAYS_PRODUCTS, _PAYS_QUERIES, _PAYS_SHARE = 50_000_000_000, 200, 32
_MOST_DIMENSIONS = 1 << 16
"""Sums of more products of bytes could leave 32 bits."""
_PART = 1024
_SHELF_BYTES = 256 << 20
_TOGETHER = 4096
_SAMPLE = 4096
_TILE_BYTES = 400 << 10
_NOISE = 3.0
"""Where errors are random, a product is hardly off by more than this times the bound by the root of the dimensions."""
_NARROW = 1e-9
"""More than the relative rounding of any sum in float64 here."""


def pays(load: DenseLoad, *, depth: int) -> bool:
    """Whether this processor can multiply bytes, and a load is worth compiling that and making its rows bytes."""
    return (
        load.products >= _PAYS_PRODUCTS
        and len(load.queries) >= _PAYS_QUERIES
        and depth <= int(load.visible.limit.max()) // _PAYS_SHARE
        and load.rows.shape[1] <= _MOST_DIMENSIONS
        and has_byte_products()
    )


def lists_by_bytes(
    load: DenseLoad, *, depth: int, block: int, threads: int, parts: int | None
) -> tuple[list[Lists], Whole, float]:
    """What queries find; the queries that are left; and the length of the longest row.

    Rows are searched in so many `parts`; None for some of a thousand or two thousand rows.
    """
    visible, last = load.visible, int(load.visible.limit.max())
    if not last:
        return [], np.zeros(0, np.int64), 0.0
    shelf = max(_PART, _SHELF_BYTES // (load.rows.shape[1] + 3))
    centre = _centre(load, last)
    best, left = np.full(len(load.queries), -np.inf), np.zeros(len(load.queries), bool)
    found: list[Lists] = []
    longest = 0.0
    with ThreadPoolExecutor(max(1, threads)) as pool:
        for base in range(0, last, shelf):
            panels = _Panels.of(load, centre, base, min(base + shelf, last), parts, pool)
            longest = max(longest, panels.longest)
            if not longest < LARGEST:
                return [], np.arange(len(left)), longest
            own = visible.by_limit(np.flatnonzero(~left & (visible.limit > base)))
            search = _Search(load, panels, depth, best, panels.place_of(visible.out_position))
            near = list(pool.map(search.near, _cut(own, max(1, block // QUERIES) * QUERIES)[::-1]))
            for lists, lowest, proven in pool.map(search.settled, _together(near, max(1, threads))):
                best[lists.queries] = np.maximum(best[lists.queries], lowest)
                left[lists.queries] = ~proven
                found.append(lists)
    if last > shelf or left.any():
        found = [_merged(found, ~left, depth)]
    return found, np.flatnonzero(left), longest


def _centre(load: DenseLoad, last: int) -> Vectors:
    """The mean of some rows, in float32."""
    some = load.vector[: last : max(1, last // _SAMPLE)]
    centre: Vectors = load.rows[some].mean(axis=0, dtype=np.float64).astype(np.float32)
    return centre


def _together(near: list[_Near], threads: int) -> list[list[_Near]]:
    """Blocks of queries for which rows are read once, as many times as there are threads or a multiple of it."""
    queries = sum(len(part.queries) for part in near)
    count = -(-queries // (_TOGETHER * threads)) * threads
    size = -(-len(near) // max(1, count))
    return [near[low : low + size] for low in range(0, len(near), max(1, size))]


def _merged(found: list[Lists], proven: NDArray[np.bool_], depth: int) -> Lists:
    """The best of what all shelves gave, of queries that are proven."""
    query = np.concatenate([np.repeat(part.queries, part.count) for part in found])
    position, score = (np.concatenate([getattr(part, name) for part in found]) for name in ("position", "score"))
    # Shelves ascend by position, and so do the lists of each.
    order = np.argsort(query, kind="stable")
    order = order[proven[query[order]]]
    own, place, score = np.flatnonzero(proven), position[order], score[order]
    offsets = np.concatenate([[0], np.bincount(query[order], minlength=len(proven))[own]]).cumsum()
    count, _ = cut_lists(depth, offsets, place, score)
    kept = ragged(offsets[:-1], count)
    return Lists(own, count, place[kept], score[kept])


def _cut(queries: Whole, size: int) -> list[Whole]:
    return [queries[low : low + size] for low in range(0, len(queries), size)]


@dataclass(frozen=True, eq=False)
class _Panels:
    """Rows as bytes, from the position `base` on, part after part; a part takes every position of one remainder.

    Attributes:
        base: The first position.
        size: How many positions.
        first: The first panel of each part, and the end of the last one.
        position: The position at each place, int32; -1 where there is none.
        row: The same for rows of the load's matrix.
        words: int32, shape (panels, words of four dimensions times `ROWS`).
        step: float32, shape (panels, `ROWS`): what one unit of a row's bytes stands for.
        rest: float32, shape (panels, `ROWS`): the length of what the bytes of a row leave, or more.
        centre: What has been taken from all rows.
        longest: The largest length of a row.
        moved: The same less the centre.
    """

    base: int
    size: int
    first: Whole
    position: Codes
    row: Codes
    words: Codes
    step: Vectors
    rest: Vectors
    centre: Vectors
    longest: float
    moved: float

    @classmethod
    def of(
        cls, load: DenseLoad, centre: Vectors, base: int, end: int, parts: int | None, pool: ThreadPoolExecutor
    ) -> _Panels:
        size = end - base
        parts = parts or 1 << max(0, (size // _PART).bit_length() - 1)
        held = (size - np.arange(parts) + parts - 1) // parts
        first = np.concatenate([[0], np.cumsum(-(-held // ROWS))]).astype(np.int64)
        count = int(first[-1])
        position = np.full(count * ROWS, -1, np.int32)
        for part in range(parts):
            start = int(first[part]) * ROWS
            position[start : start + held[part]] = np.arange(base + part, end, parts)
        row = np.where(position < 0, np.int32(-1), load.vector[position]).astype(np.int32)
        words = _aligned((count, -(-load.rows.shape[1] // 4) * ROWS))
        step, rest = np.zeros((2, count, ROWS), np.float32)

        def filled(low: int) -> tuple[float, float]:
            return fill_panels(load.rows, row, centre, low, min(low + ROWS, count), words, step, rest)

        sizes = np.array(list(pool.map(filled, range(0, count, ROWS)))).max(axis=0)
        return cls(base, size, first, position, row, words, step, rest, centre, *sizes.tolist())

    def place_of(self, position: Codes) -> Codes:
        """The place of each position; -1 where it is not among these rows."""
        at, parts = position - self.base, len(self.first) - 1
        place = self.first[at % parts] * ROWS + at // parts
        return np.where((at >= 0) & (at < self.size), place, -1).astype(np.int32)


def _aligned(shape: tuple[int, int]) -> Codes:
    """Memory for whole numbers that begins where a cache line does; what it holds is undefined."""
    size = 4 * shape[0] * shape[1]
    held = np.empty(size + 64, np.uint8)
    start = -held.ctypes.data % 64
    return held[start : start + size].view(np.int32).reshape(shape)


@dataclass(frozen=True, eq=False)
class _Asked:
    """Queries as bytes, in groups; numbers that are not whole are in units of each query's bytes.

    Attributes:
        words: int32, shape (groups, words of four dimensions times `QUERIES`).
        start: int32, shape (groups, `QUERIES`): what takes the rows' added 128 away again.
        unit: What one unit of a query's bytes stands for.
        centre: The product with what has been taken from all rows.
        error: How far at most a product of bytes is from that of the vectors less the centre, beside what is left of
            a row times `length`.
        length: float32, shape (groups, `QUERIES`).
    """

    words: Codes
    start: Codes
    unit: Real
    centre: Real
    error: Real
    length: Vectors

    @classmethod
    def of(cls, queries: Vectors, panels: _Panels) -> _Asked:
        count, dimensions = queries.shape
        groups, words = -(-count // QUERIES), -(-dimensions // 4)
        wide = queries.astype(np.float64)
        largest = np.abs(wide).max(axis=1, initial=0.0)
        unit = np.where(largest > 0, largest / 127, 1.0)
        near = np.rint(wide / unit[:, None])
        bytes_ = np.zeros((groups * QUERIES, words * 4), np.int8)
        bytes_[:count, :dimensions] = near
        start = -128 * bytes_.sum(axis=1, dtype=np.int32)
        turned = bytes_.view(np.int32).reshape(groups, QUERIES, words).transpose(0, 2, 1)
        centre = np.einsum("ij,j->i", wide, panels.centre.astype(np.float64))
        wide -= near * unit[:, None]
        rest, length = (np.sqrt(np.einsum("ij,ij->i", part, part)) for part in (wide, near))
        rest /= unit
        # Beside the bytes' own error: steps in float32, and sums in float64, those of the definition among them.
        error = rest * panels.moved * (1 + _NARROW) + 2.0**-21 * length * (panels.moved + float(panels.rest.max()))
        error += 2 * _NARROW * (rest + length) * (panels.longest + panels.moved)
        filled = np.zeros((groups, QUERIES), np.float32)
        filled.reshape(-1)[:count] = length * (1 + 2.0**-22)
        return cls(
            np.ascontiguousarray(turned).reshape(groups, -1),
            start.reshape(groups, QUERIES),
            unit,
            centre,
            error,
            filled,
        )


@dataclass(frozen=True, eq=False)
class _Near:
    """Per query how many places could be among the best, and these in ascending order.

    `bound` is a score that no row reaches which is not among the places; `full` says that a query had too many.
    """

    queries: Whole
    count: Whole
    place: Codes
    bound: Real
    full: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Search:
    """All queries against some rows.

    `best` is per query a score that `depth` rows elsewhere reach; `out_place` is where excluded positions stand.
    """

    load: DenseLoad
    panels: _Panels
    depth: int
    best: Real
    out_place: Codes

    def near(self, own: Whole) -> _Near:
        """The places that could be among the best."""
        panels, seen = self.panels, self.load.visible
        asked = _Asked.of(self.load.queries[own], panels)
        room = min(panels.size, max(panels.size // 8, 8 * self.depth, 4 * _PART)) + 1
        shape = asked.start.shape
        size = shape[0] * shape[1]
        limit, wanted, error, noise = np.zeros(size, np.int64), np.full(size, self.depth), *np.zeros((2, size))
        limit[: len(own)] = np.minimum(seen.limit[own] - panels.base, panels.size)
        wanted[: len(own)] += np.diff(seen.out_offsets)[own]
        error[: len(own)] = asked.error
        noise[:] = (error + asked.length.ravel() * panels.rest.mean()) * _NOISE / np.sqrt(self.load.rows.shape[1])
        floor = np.full(size, np.inf, np.float32)
        lowest = (self.best[own] - asked.centre) / asked.unit - asked.error
        floor[: len(own)] = lowest - np.abs(lowest) * 2.0**-22
        count, guess = np.zeros(size, np.int64), np.full(size, -np.inf)
        value, place = np.empty((size, room), np.float32), np.empty((size, room), np.int32)
        tile = max(1, _TILE_BYTES // panels.words[0].nbytes)
        near_rows(
            panels.words, panels.step, panels.rest, panels.first, asked.words, asked.start, asked.length, limit, wanted,
            error, noise, tile, floor.reshape(shape), count, value, place, guess,
        )  # fmt: skip
        full = floor[: len(own)] == np.inf
        count = np.where(full, 0, count[: len(own)])
        inside = np.arange(count.max(initial=0)) < count[:, None]
        bound = asked.centre + asked.unit * guess[: len(own)]
        return _Near(own, count, place[: len(own), : inside.shape[1]][inside], bound, full)

    def settled(self, near: list[_Near]) -> tuple[Lists, Real, NDArray[np.bool_]]:
        """The best of these rows; the score of each query's last; whether no row that was dropped could be one."""
        own = np.concatenate([part.queries for part in near])
        offsets = np.concatenate([[0], *(part.count for part in near)]).cumsum()
        place = np.concatenate([part.place for part in near])
        bound, full = (np.concatenate([getattr(part, name) for part in near]) for name in ("bound", "full"))
        score = np.empty(len(place))
        score_lists(self.load.rows, self.panels.row, self.load.queries, own, offsets, place, NEAR, score)
        drop_listed(own, offsets, place, score, self.load.visible.out_offsets, self.out_place)
        count, last = cut_lists(self.depth, offsets, place, score)
        kept = ragged(offsets[:-1], count)
        position = self.panels.position[place[kept]]
        kept = kept[np.argsort(np.repeat(np.arange(len(own)), count) << 32 | position)]
        proven = ~full & ((bound == -np.inf) | (np.maximum(last, self.best[own]) >= bound))
        return Lists(own, count, self.panels.position[place[kept]], score[kept]), last, proven
