"""Postings: counted terms of rows, and the inverted lists of rows in a given order.

- `counted_rows`: terms with their counts from terms in sequence.
- `Postings`: for every term the rows that hold it.

A small load takes the NumPy definition and compiles nothing; a large one takes the compiled form.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.kernels.jit import compiled

Offsets = NDArray[np.int64]
Codes = NDArray[np.int32]
Weights = NDArray[np.float32]

SMALL_ENTRIES = 1 << 21
"""Up to this many entries the NumPy definitions sort in about 0.3 s, less than loading a compiled kernel."""


def counted_rows(offsets: Offsets, term: Codes, *, terms: int) -> tuple[Offsets, Codes, Codes]:
    """Each row's distinct terms, in the order in which they first come, and how often each comes.

    Args:
        offsets: Row `i` owns `term[offsets[i]:offsets[i + 1]]`; int64, from 0 on.
        term: Terms in sequence, int32, from 0 to `terms` - 1.
        terms: How many terms there are.

    Returns:
        Offsets (int64), terms (int32) and counts (int32).

    Example:
        >>> offsets, term, count = counted_rows(np.array([0, 3]), np.array([5, 2, 5], np.int32), terms=6)
        >>> offsets.tolist(), term.tolist(), count.tolist()
        ([0, 2], [5, 2], [2, 1])
    """
    if len(term) <= SMALL_ENTRIES:
        return counted_rows_numpy(offsets, term, terms=terms)
    return counted_rows_compiled(offsets, term, terms=terms)


def counted_rows_numpy(offsets: Offsets, term: Codes, *, terms: int) -> tuple[Offsets, Codes, Codes]:
    """The definition of `counted_rows`."""
    owner = np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))
    key, first, count = np.unique(owner * max(1, terms) + term, return_index=True, return_counts=True)
    order = np.argsort(first)
    row, found = np.divmod(key[order], max(1, terms))
    moved = np.searchsorted(row, np.arange(len(offsets))).astype(np.int64)
    return moved, found.astype(np.int32), count[order].astype(np.int32)


def counted_rows_compiled(offsets: Offsets, term: Codes, *, terms: int) -> tuple[Offsets, Codes, Codes]:
    """The compiled form of `counted_rows`: equal results."""
    moved = np.zeros(len(offsets), np.int64)
    found, count = np.empty(len(term), np.int32), np.empty(len(term), np.int32)
    place = np.full(terms, -1, np.int64)
    _count(np.ascontiguousarray(offsets), np.ascontiguousarray(term), place, moved, found, count)
    return moved, found[: moved[-1]].copy(), count[: moved[-1]].copy()


@dataclass(frozen=True, eq=False)
class Postings:
    """Inverted lists: term `t` owns `position` and `weight` at `start[t]:start[t + 1]`, positions rising.

    A position is a place in `order`, which lists the rows that can be returned. `start` is int64, `position`
    and `order` int32, `weight` float32.
    """

    start: Offsets
    position: Codes
    weight: Weights
    order: Codes

    @classmethod
    def of(cls, offsets: Offsets, term: Codes, weight: Weights, *, terms: int, order: Codes) -> Postings:
        """The postings of the rows listed in `order`; a row that is not listed is not in them.

        Args:
            offsets: Row `i` owns `term` and `weight` at `offsets[i]:offsets[i + 1]`.
            term: A term stands once in a row; int32, from 0 to `terms` - 1.
            weight: float32, finite.
            terms: How many terms there are.
            order: Rows, none twice, in the order in which a prefix makes sense (such as by date).

        Example:
            >>> rows = np.array([0, 1, 2]), np.array([4, 4], np.int32), np.array([1, 2], np.float32)
            >>> lists = Postings.of(*rows, terms=5, order=np.array([1, 0], np.int32))
            >>> lists.position.tolist(), lists.weight.tolist(), lists.start.tolist()
            ([0, 1], [2.0, 1.0], [0, 0, 0, 0, 0, 2])
        """
        made = cls.of_numpy if len(term) <= SMALL_ENTRIES else cls.of_compiled
        return made(offsets, term, weight, terms=terms, order=order)

    @classmethod
    def of_numpy(cls, offsets: Offsets, term: Codes, weight: Weights, *, terms: int, order: Codes) -> Postings:
        """The definition of `Postings.of`: the entries of the rows in order, sorted by term, stable."""
        count = np.diff(offsets)[order]
        ends = np.cumsum(count)
        at = np.arange(count.sum()) + np.repeat(offsets[order] - (ends - count), count)
        position = np.repeat(np.arange(len(order), dtype=np.int32), count)
        by_term = np.argsort(term[at], kind="stable")
        start = np.zeros(terms + 1, np.int64)
        np.cumsum(np.bincount(term[at], minlength=terms), out=start[1:])
        return cls(start, position[by_term], weight[at][by_term], order)

    @classmethod
    def of_compiled(cls, offsets: Offsets, term: Codes, weight: Weights, *, terms: int, order: Codes) -> Postings:
        """The compiled form of `Postings.of`: equal results."""
        offsets, term, weight, order = map(np.ascontiguousarray, (offsets, term, weight, order))
        start = np.zeros(terms + 1, np.int64)
        _count_listed(offsets, term, order, start)
        np.cumsum(start, out=start)
        position = np.empty(start[-1], np.int32)
        inverted = np.empty(start[-1], np.float32)
        _invert(offsets, term, weight, order, start[:-1].copy(), position, inverted)
        return cls(start, position, inverted, order)

    @property
    def terms(self) -> int:
        """How many terms there are."""
        return len(self.start) - 1

    @cached_property
    def largest(self) -> Weights:
        """The largest absolute weight of each term, float32; 0 for a term without rows."""
        found = np.zeros(self.terms, np.float32)
        held = np.flatnonzero(np.diff(self.start))
        if len(held):
            first = self.start[held]
            found[held] = np.maximum(np.maximum.reduceat(self.weight, first), -np.minimum.reduceat(self.weight, first))
        return found


@compiled()
def _count(offsets: Offsets, term: Codes, place: Offsets, moved: Offsets, found: Codes, count: Codes) -> None:
    at = 0
    for row in range(len(offsets) - 1):
        first = at
        for entry in range(offsets[row], offsets[row + 1]):
            code = term[entry]
            # A place before this row's first one is left over from an earlier row.
            if place[code] >= first:
                count[place[code]] += 1
            else:
                place[code] = at
                found[at] = code
                count[at] = 1
                at += 1
        moved[row + 1] = at


@compiled()
def _count_listed(offsets: Offsets, term: Codes, order: Codes, count: Offsets) -> None:
    for row in order:
        for entry in range(offsets[row], offsets[row + 1]):
            count[term[entry] + 1] += 1


@compiled()
def _invert(
    offsets: Offsets,
    term: Codes,
    weight: Weights,
    order: Codes,
    free: Offsets,
    position: Codes,
    inverted: Weights,
) -> None:
    for place in range(len(order)):
        row = order[place]
        for entry in range(offsets[row], offsets[row + 1]):
            at = free[term[entry]]
            free[term[entry]] = at + 1
            position[at] = place
            inverted[at] = weight[entry]
