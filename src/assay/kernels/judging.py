"""Judging: where the judged passages of each query stand in its ranked list, and what they tie with.

`judged_rows` takes the NumPy definition for a small run and compiles nothing; a large run takes the
compiled form, on all cores. Both give the same arrays.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from assay.kernels.jit import compiled

Rows = NDArray[np.int64]
Codes = NDArray[np.int32]
Score = NDArray[np.float64]
Found = tuple[Rows, Rows, Rows, Rows]

SMALL_ROWS = 1 << 22
"""Up to this many rows the NumPy definition takes about 0.04 s, far less than loading a compiled kernel."""

FEW = 4
"""Up to this many judgements a list is compared with all of them at once, without a table of the vocabulary."""

BLOCK = 128
"""Rows compared before looking whether one of them matched."""


def judged_rows(
    offsets: Rows, passage: Codes, score: Score, *, lists: Rows, judged_offsets: Rows, judged: Codes, passages: int
) -> Found:
    """Rows of the run that hold a judged passage of their query, with the borders of their ties.

    Args:
        offsets: Borders of the ranked lists.
        passage: Passages of the lists, in rank order.
        score: Their scores, falling within each list.
        lists: For each judged query its list, -1 where it has none.
        judged_offsets: Borders of each query's judgements.
        judged: Passage of each judgement, -1 where the run knows no such passage; distinct within a query.
        passages: Size of the vocabulary of `passage`.

    Returns:
        `(row, judgement, first, last)`, int64 each, by query and row: the row, the judgement that it
        matches, and the first and last row of its list with an equal score, both inclusive.

    Example:
        One list of passages 5, 7, 6, the last two of equal score; passages 6 and 9 are judged.

        >>> found = judged_rows(
        ...     np.array([0, 3]), np.array([5, 7, 6], np.int32), np.array([2.0, 1.0, 1.0]),
        ...     lists=np.array([0]), judged_offsets=np.array([0, 2]), judged=np.array([9, 6], np.int32), passages=10)
        >>> [column.tolist() for column in found]
        [[2], [1], [1], [2]]
    """
    form = judged_rows_numpy if len(passage) <= SMALL_ROWS else judged_rows_compiled
    return form(offsets, passage, score, lists=lists, judged_offsets=judged_offsets, judged=judged, passages=passages)


def judged_rows_numpy(
    offsets: Rows, passage: Codes, score: Score, *, lists: Rows, judged_offsets: Rows, judged: Codes, passages: int
) -> Found:
    """The definition of `judged_rows`."""
    query = np.repeat(np.arange(len(lists)), np.diff(judged_offsets))
    judgement = np.flatnonzero((judged >= 0) & (lists[query] >= 0))
    wanted = np.zeros(passages + 1, np.bool_)
    wanted[judged[judgement]] = True
    row = np.flatnonzero(wanted[passage])
    owner = np.searchsorted(offsets, row, "right") - 1
    key = lists[query[judgement]] * (passages + 1) + judged[judgement]
    order = np.argsort(key)
    asked = owner * (passages + 1) + passage[row]
    place = np.minimum(np.searchsorted(key[order], asked), max(0, len(key) - 1))
    match = key[order][place] == asked if len(key) else np.zeros(len(row), np.bool_)
    row, judgement = row[match], judgement[order][place[match]]
    by_query = np.lexsort((row, query[judgement]))
    row, judgement = row[by_query], judgement[by_query]
    borders = np.ones(len(score) + 1, np.bool_)
    borders[1:-1] = score[1:] != score[:-1]
    borders[offsets] = True
    edge = np.flatnonzero(borders)
    after = np.searchsorted(edge, row, "right")
    return row, judgement, edge[after - 1], edge[after] - 1


def judged_rows_compiled(
    offsets: Rows,
    passage: Codes,
    score: Score,
    *,
    lists: Rows,
    judged_offsets: Rows,
    judged: Codes,
    passages: int,
    threads: int | None = None,
) -> Found:
    """The compiled form of `judged_rows`; the result does not depend on `threads` (None: one per core)."""
    columns = tuple(np.full(len(judged), -1, np.int64) for _ in range(4))
    many = bool((np.diff(judged_offsets) > FEW).any())
    workers = max(1, threads or os.cpu_count() or 1)
    length = np.where(lists >= 0, offsets[lists + 1] - offsets[lists], 0)
    work = np.cumsum(length)
    share = np.arange(1, workers) * (work[-1] if len(work) else 0) // workers
    cuts = [0, *np.searchsorted(work, share).tolist(), len(lists)]

    def part(low: int, high: int) -> None:
        # Each thread has a table of its own; the places it holds are cleared after every list.
        table = np.zeros(passages if many else 1, np.int32)
        _scan(offsets, passage, score, lists, judged_offsets, judged, table, low, high, *columns)

    parts = [(low, high) for low, high in pairwise(cuts) if low < high]
    if len(parts) < 2:
        for low, high in parts:
            part(low, high)
    else:
        with ThreadPoolExecutor(len(parts)) as pool:
            for done in [pool.submit(part, low, high) for low, high in parts]:
                done.result()
    found = np.flatnonzero(columns[0] >= 0)
    row, judgement, first, last = (column[found] for column in columns)
    return row, judgement, first, last


@compiled()
def _scan(
    offsets: Rows,
    passage: Codes,
    score: Score,
    lists: Rows,
    judged_offsets: Rows,
    judged: Codes,
    table: Codes,
    low: int,
    high: int,
    row: Rows,
    judgement: Rows,
    first: Rows,
    last: Rows,
) -> None:
    """Fills the slots of queries `low` to `high`; a query's slots are those of its judgements, from the front."""
    for query in range(low, high):
        if lists[query] < 0:
            continue
        start, stop = offsets[lists[query]], offsets[lists[query] + 1]
        begin, end = judged_offsets[query], judged_offsets[query + 1]
        if end - begin <= FEW:
            slot = _rows_of_few(passage, start, stop, judged, begin, end, row, judgement)
        else:
            slot = _rows_of_many(passage, start, stop, judged, begin, end, table, row, judgement)
        _tie_borders(score, start, stop, begin, slot, row, first, last)


@compiled()
def _rows_of_few(
    passage: Codes, start: int, stop: int, judged: Codes, begin: int, end: int, row: Rows, judgement: Rows
) -> int:
    """Compares every row with up to `FEW` passages at once; returns the slot after the last one filled."""
    a = judged[begin] if begin < end else np.int32(-1)
    b = judged[begin + 1] if begin + 1 < end else a
    c = judged[begin + 2] if begin + 2 < end else a
    d = judged[begin + 3] if begin + 3 < end else a
    missing = 0
    for j in range(begin, end):
        if judged[j] >= 0:
            missing += 1
    slot = begin
    at = start
    while at < stop and missing > 0:
        block = min(at + BLOCK, stop)
        # No branch in this loop: that is what lets eight rows be compared in one instruction.
        match = 0
        for i in range(at, block):
            p = passage[i]
            match |= (p == a) | (p == b) | (p == c) | (p == d)
        if match:
            for i in range(at, block):
                for j in range(begin, end):
                    if judged[j] == passage[i]:
                        row[slot] = i
                        judgement[slot] = j
                        slot += 1
                        missing -= 1
        at = block
    return slot


@compiled()
def _rows_of_many(
    passage: Codes, start: int, stop: int, judged: Codes, begin: int, end: int, table: Codes, row: Rows, judgement: Rows
) -> int:
    """Looks every row up in a table of the vocabulary, left empty; returns the slot after the last one filled."""
    missing = 0
    for j in range(begin, end):
        if judged[j] >= 0:
            table[judged[j]] = j - begin + 1
            missing += 1
    slot = begin
    for i in range(start, stop):
        if missing == 0:
            break
        here = table[passage[i]]
        if here:
            row[slot] = i
            judgement[slot] = begin + here - 1
            slot += 1
            missing -= 1
    for j in range(begin, end):
        if judged[j] >= 0:
            table[judged[j]] = 0
    return slot


@compiled()
def _tie_borders(
    score: Score, start: int, stop: int, begin: int, slot: int, row: Rows, first: Rows, last: Rows
) -> None:
    """The first and last row of equal score for each filled slot; each tie is walked once."""
    for s in range(begin, slot):
        if s > begin and row[s] <= last[s - 1]:
            first[s], last[s] = first[s - 1], last[s - 1]
            continue
        i = row[s]
        while i > start and score[i - 1] == score[i]:
            i -= 1
        first[s] = i
        i = row[s]
        while i + 1 < stop and score[i + 1] == score[i]:
            i += 1
        last[s] = i
