"""Deepening: asks for longer lists until no query lacks rows that it may be answered with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from assay.system import RankedRows

Rows = npt.NDArray[np.int64]

ROWS_AT_ONCE = 1 << 24
"""A black box is asked for about so many rows in one call, so that deep lists fit into memory."""


def answered(
    ask: Callable[[Rows, int], RankedRows],
    eligible: Callable[[RankedRows, Rows], RankedRows],
    *,
    queries: int,
    depth: int,
    rows: int,
    first: int,
) -> RankedRows:
    """The best `depth` eligible rows of every query: asks deeper, doubling, as long as a list could still bring some.

    Deeper, all queries are asked again: those that lack rows alone would tell by and by which passages are too new for
    which queries.

    Args:
        ask: The lists of some queries, so and so deep.
        eligible: These without what the rule forbids.
        queries: How many queries there are.
        depth: Rows a query, and all that tie with the last.
        rows: How many rows there are at most.
        first: How many rows are asked for at first: more than the depth, so that it shows whether the last ones tie
            across the cut.
    """
    lists = dict[int, tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]]()
    notes, whole = Counter({"cut_ties": 0}), True
    every, deep = np.arange(queries), min(first, rows)
    while len(lists) < len(every):
        width = max(1, ROWS_AT_ONCE // deep)
        for block in (every[low : low + width] for low in range(0, len(every), width)):
            found = ask(block, deep)
            over = np.full(len(block), deep >= rows) if found.exhausted is None else found.exhausted | (deep >= rows)
            kept = eligible(found, block)
            enough = np.diff(kept.offsets) >= depth + (not found.whole_ties)
            best = kept.best(depth)
            for i, query in enumerate(block.tolist()):
                if query in lists or not (over[i] or enough[i]):
                    continue
                lists[query] = best[i]
                if not over[i] and not found.whole_ties:
                    notes["cut_ties"] += int(best[i][1].min() == found[i][1].min())
            whole &= found.whole_ties
            notes.update(found.notes)
        deep = min(2 * deep, rows)
    return RankedRows.joined([lists[query] for query in range(len(lists))], whole_ties=whole, notes=notes)


def ended(found: RankedRows, deep: int) -> npt.NDArray[np.bool_]:
    """Which lists hold all that there is: those shorter than was asked for, and those that are said to."""
    short = np.diff(found.offsets) < deep
    return short if found.exhausted is None else short | found.exhausted


class Told:
    """What parts noted, once for every depth that they were run at, however many blocks of queries there are."""

    def __init__(self) -> None:
        self._depths: set[int] = set()

    def __call__(self, deep: int, lists: Iterable[RankedRows]) -> Counter[str]:
        """The notes of lists that were asked for so deep; none the second time."""
        notes: Counter[str] = Counter()
        for part in () if deep in self._depths else lists:
            notes.update(part.notes)
        self._depths.add(deep)
        return notes
