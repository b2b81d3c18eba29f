"""Ranking: score descending, then id descending. The one order of results.

Each function has a NumPy definition, which small loads take and the tests compare with, and a compiled form
for large loads: one pass to check the order, insertion sort for lists that are nearly in order (as files of
runs are), and merge sort for a list that turns out not to be.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from assay.kernels.jit import compiled

Offsets = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Score = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

LARGE = 1 << 21
"""From this many rows on a check by compiled code is faster, loading it included."""

LARGE_SORT = 1 << 21
"""From this many rows of unordered lists on they are sorted by compiled code, which takes a second to compile once."""


def unordered_lists(offsets: Offsets, passage: Codes, score: Score, id_rank: Codes) -> npt.NDArray[np.int64]:
    """Lists whose rows do not fall by score, then by id rank.

    `id_rank` is the place of each passage's id in UTF-8 byte order; it is read for equal scores only.
    """
    if len(score) < LARGE:
        return unordered_lists_numpy(offsets, passage, score, id_rank)
    return unordered_lists_compiled(offsets, passage, score, id_rank)


def unordered_lists_numpy(offsets: Offsets, passage: Codes, score: Score, id_rank: Codes) -> npt.NDArray[np.int64]:
    """The definition of `unordered_lists`."""
    if len(score) < 2:
        return np.zeros(0, np.int64)
    wrong = score[1:] > score[:-1]
    tied = np.flatnonzero(score[1:] == score[:-1])
    wrong[tied] = id_rank[passage[tied + 1]] > id_rank[passage[tied]]
    borders = offsets[1:-1]
    wrong[borders[(borders > 0) & (borders < len(score))] - 1] = False
    return np.unique(np.searchsorted(offsets, np.flatnonzero(wrong), "right") - 1)


def unordered_lists_compiled(offsets: Offsets, passage: Codes, score: Score, id_rank: Codes) -> npt.NDArray[np.int64]:
    """The compiled form of `unordered_lists`."""
    wrong = np.zeros(len(offsets) - 1, np.bool_)
    _mark_unordered(offsets, passage, score, id_rank, wrong)
    return np.flatnonzero(wrong).astype(np.int64)


def ranked(
    offsets: Offsets, passage: Codes, score: Score, id_rank: Codes, *, in_place: bool = False
) -> tuple[Codes, Score]:
    """Passages and scores with every list ordered by score, then by id rank, both descending.

    Lists already in order are not touched; where all are, the arrays given are returned. With `in_place` the caller
    gives its arrays up, and large ones are ordered where they are.

    Example:
        >>> rows, scores = ranked(np.array([0, 3]), np.array([7, 9, 8], np.int32), np.array([1., 2., 1.]),
        ...                       np.arange(10, dtype=np.int32))
        >>> rows.tolist()
        [9, 8, 7]
    """
    lists = unordered_lists(offsets, passage, score, id_rank)
    if len(lists) == 0:
        return passage, score
    if int((offsets[lists + 1] - offsets[lists]).sum()) < LARGE_SORT:
        return ranked_lists_numpy(lists, offsets, passage, score, id_rank)
    return ranked_lists_compiled(lists, offsets, passage, score, id_rank, in_place=in_place)


def ranked_lists_numpy(
    lists: npt.NDArray[np.int64], offsets: Offsets, passage: Codes, score: Score, id_rank: Codes
) -> tuple[Codes, Score]:
    """Copies of passages and scores with `lists` put in order; the definition."""
    count = offsets[lists + 1] - offsets[lists]
    starts = np.cumsum(count) - count
    at = np.arange(count.sum()) - np.repeat(starts, count) + np.repeat(offsets[lists], count)
    owner = np.repeat(np.arange(len(lists)), count)
    order = at[np.lexsort((-id_rank[passage[at]].astype(np.int64), -score[at], owner))]
    passage, score = passage.copy(), score.copy()
    passage[at], score[at] = passage[order], score[order]
    return passage, score


def ranked_lists_compiled(
    lists: npt.NDArray[np.int64],
    offsets: Offsets,
    passage: Codes,
    score: Score,
    id_rank: Codes,
    *,
    threads: int | None = None,
    in_place: bool = False,
) -> tuple[Codes, Score]:
    """The compiled form of `ranked_lists_numpy`; lists are shared out among threads."""
    if not in_place:
        passage, score = passage.copy(), score.copy()
    count = offsets[lists + 1] - offsets[lists]
    parts = np.array_split(lists, max(1, min(threads or os.cpu_count() or 1, len(lists))))

    def work(part: npt.NDArray[np.int64]) -> None:
        _sort_lists(part, offsets, passage, score, id_rank, np.empty(count.max(), np.int32), np.empty(count.max()))

    if len(parts) == 1:
        work(parts[0])
    else:
        with ThreadPoolExecutor(len(parts)) as pool:
            list(pool.map(work, parts))
    return passage, score


def repeated_passage(offsets: Offsets, passage: Codes, *, passages: int) -> tuple[int, int] | None:
    """The first `(list, passage)` that stands twice in a list, or None.

    The first list with a repeated passage, and of these the one with the lowest code.
    """
    if len(passage) < LARGE:
        return repeated_passage_numpy(offsets, passage, passages=passages)
    return repeated_passage_compiled(offsets, passage, passages=passages)


def repeated_passage_numpy(offsets: Offsets, passage: Codes, *, passages: int) -> tuple[int, int] | None:
    """The definition of `repeated_passage`."""
    owner = np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))
    key = np.sort(owner * max(1, passages) + passage)
    again = np.flatnonzero(key[1:] == key[:-1])
    if len(again) == 0:
        return None
    owner_row, code = divmod(int(key[again[0]]), max(1, passages))
    return owner_row, code


def repeated_passage_compiled(offsets: Offsets, passage: Codes, *, passages: int) -> tuple[int, int] | None:
    """The compiled form of `repeated_passage`."""
    found = np.full(2, -1, np.int64)
    _find_repeat(offsets, passage, np.full(max(1, passages), -1, np.int32), found)
    return None if found[0] < 0 else (int(found[0]), int(found[1]))


def repeats(offsets: Offsets, passage: Codes) -> Mask:
    """For every row, whether its passage stands earlier in the same list.

    Example:
        >>> repeats(np.array([0, 3, 4]), np.array([5, 6, 5, 5], np.int32)).tolist()
        [False, False, True, False]
    """
    owner = np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))
    order = np.lexsort((passage, owner))
    again = np.zeros(len(passage), np.bool_)
    if len(order):
        same = (passage[order[1:]] == passage[order[:-1]]) & (owner[order[1:]] == owner[order[:-1]])
        again[order[1:][same]] = True
    return again


@compiled()
def _mark_unordered(offsets: Offsets, passage: Codes, score: Score, id_rank: Codes, wrong: Mask) -> None:
    for row in range(len(wrong)):
        for at in range(offsets[row] + 1, offsets[row + 1]):
            if score[at] > score[at - 1] or (
                score[at] == score[at - 1] and id_rank[passage[at]] > id_rank[passage[at - 1]]
            ):
                wrong[row] = True
                break


@compiled()
def _find_repeat(offsets: Offsets, passage: Codes, mark: Codes, found: Offsets) -> None:
    for row in range(len(offsets) - 1):
        for at in range(offsets[row], offsets[row + 1]):
            code = passage[at]
            if mark[code] == row and (found[0] < 0 or code < found[1]):
                found[0] = row
                found[1] = code
            mark[code] = row
        if found[0] >= 0:
            return


@compiled()
def _sort_lists(
    lists: npt.NDArray[np.int64],
    offsets: Offsets,
    passage: Codes,
    score: Score,
    id_rank: Codes,
    spare_passage: Codes,
    spare_score: Score,
) -> None:
    """Orders the rows of each list in place; stable."""
    for row in lists:
        start = offsets[row]
        stop = offsets[row + 1]
        if _inserted(start, stop, 8 * (stop - start), passage, score, id_rank):
            continue
        # Runs of 16 by insertion, then merged in pairs until one is left.
        for low in range(start, stop, 16):
            _inserted(low, min(low + 16, stop), 1 << 30, passage, score, id_rank)
        width = 16
        while width < stop - start:
            for low in range(start, stop, 2 * width):
                middle = min(low + width, stop)
                _merged(low, middle, min(middle + width, stop), passage, score, id_rank, spare_passage, spare_score)
            width *= 2


@compiled()
def _inserted(start: int, stop: int, budget: int, passage: Codes, score: Score, id_rank: Codes) -> bool:
    """Insertion sort; False, with rows in a different order but none lost, after more than `budget` moves."""
    for at in range(start + 1, stop):
        s = score[at]
        p = passage[at]
        to = at
        while to > start and (score[to - 1] < s or (score[to - 1] == s and id_rank[passage[to - 1]] < id_rank[p])):
            score[to] = score[to - 1]
            passage[to] = passage[to - 1]
            to -= 1
        score[to] = s
        passage[to] = p
        budget -= at - to
        if budget < 0:
            return False
    return True


@compiled()
def _merged(
    start: int,
    middle: int,
    stop: int,
    passage: Codes,
    score: Score,
    id_rank: Codes,
    spare_passage: Codes,
    spare_score: Score,
) -> None:
    """Merges two ordered neighbours in place; of equals the left one comes first."""
    length = middle - start
    for k in range(length):
        spare_passage[k] = passage[start + k]
        spare_score[k] = score[start + k]
    left = 0
    right = middle
    to = start
    while left < length and right < stop:
        s, t = spare_score[left], score[right]
        if s > t or (s == t and id_rank[spare_passage[left]] >= id_rank[passage[right]]):
            passage[to] = spare_passage[left]
            score[to] = s
            left += 1
        else:
            passage[to] = passage[right]
            score[to] = t
            right += 1
        to += 1
    while left < length:
        passage[to] = spare_passage[left]
        score[to] = spare_score[left]
        left += 1
        to += 1
