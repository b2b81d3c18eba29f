"""Unions of spans, many at once: how many characters owners hold, and when enough of something was seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.int64]
Codes = npt.NDArray[np.integer[Any]]


def union_lengths(owner: Codes, axis: Codes, start: Column, end: Column, *, owners: int) -> Column:
    """Per owner the characters in the union of its half-open spans, int64; each character counts once.

    Spans may overlap, nest, repeat and come in any order; one of zero length, or that ends before it starts,
    adds nothing.

    Args:
        owner: Whose span it is, from 0 to `owners` - 1.
        axis: What it lies in (a document's code): spans on different axes share nothing.
        start: First characters, not negative.
        end: Ends.
        owners: How many owners there are.

    Example:
        >>> zero = np.zeros(2, np.int64)
        >>> union_lengths(zero, zero, np.array([0, 40]), np.array([60, 100]), owners=2).tolist()
        [100, 0]
    """
    order = np.lexsort((start, axis, owner))
    owner, axis, start, end = owner[order], axis[order], start[order], end[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (owner[1:] != owner[:-1]) | (axis[1:] != axis[:-1])
    # One running maximum serves all groups, for each group lies above the one before it.
    base = np.cumsum(new) * (int(end.max(initial=0)) + 1)
    reach = np.maximum.accumulate(base + np.maximum(end, 0)) - base
    before = np.where(new, 0, np.concatenate([[0], reach[:-1]])) if len(order) else reach
    gained = np.maximum(0, end - np.maximum(start, before))
    return np.bincount(owner, weights=gained, minlength=owners).astype(np.int64)


def first_ranks(owner: Codes, start: Column, end: Column, rank: Column, *, needed: npt.NDArray[np.float64]) -> Column:
    """Per owner the first rank at which its spans of that rank and above hold `needed` characters, int64.

    0 where all of them together do not. The characters held never fall with the rank, so a binary search over
    ranks finds the first one for all owners together.

    Args:
        owner: Whose span it is: a row of `needed`.
        start: First characters, not negative.
        end: Ends.
        rank: From 1.
        needed: Characters per owner, above 0.

    Example:
        Both halves are needed, and the second one stands at rank 5.

        >>> halves = np.array([0, 50]), np.array([50, 100])
        >>> first_ranks(np.array([0, 0]), *halves, np.array([2, 5]), needed=np.array([100.0])).tolist()
        [5]
    """
    owners = len(needed)
    axis = np.zeros(len(owner), np.int64)
    high = np.zeros(owners, np.int64)
    np.maximum.at(high, owner, rank)
    low = np.ones(owners, np.int64)
    enough = union_lengths(owner, axis, start, end, owners=owners) >= needed
    high[~enough] = low[~enough] = 0
    while (low < high).any():
        middle = (low + high) // 2
        seen = rank <= middle[owner]
        held = union_lengths(owner[seen], axis[seen], start[seen], end[seen], owners=owners) >= needed
        high = np.where(held, middle, high)
        low = np.where(held | (low >= high), np.minimum(low, high), middle + 1)
    return high
