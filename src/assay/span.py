"""Spans: half-open stretches of a document's characters, and tables of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from assay.errors import SpanError

Column = npt.NDArray[np.int64]


class Span(NamedTuple):
    """Characters `[start, end)` of one document, in code points.

    Example:
        >>> Span(0, 10).shared(Span(10, 20)), Span(0, 10).shared(Span(9, 20))
        (0, 1)
    """

    start: int
    end: int

    def shared(self, other: Span) -> int:
        """Characters that both hold; touching spans share none."""
        return max(0, min(self.end, other.end) - max(self.start, other.start))


@dataclass(frozen=True, eq=False)
class Spans:
    """A table of half-open spans `[start, end)`, in code points, one row each.

    `document`, `start` and `end` are int64 columns; `document` is a code. A span of zero
    length is kept, overlaps nothing, and is reported by `empty`.

    Example:
        >>> spans = Spans.of((0, 0, 40), (0, 40, 90))
        >>> spans.lengths.tolist()
        [40, 50]
    """

    document: Column
    start: Column
    end: Column

    def __post_init__(self) -> None:
        if not len(self.document) == len(self.start) == len(self.end):
            raise SpanError(f"span columns differ in length: {len(self.document)}, {len(self.start)}, {len(self.end)}")
        bad = np.flatnonzero((self.start < 0) | (self.end < self.start))
        if len(bad):
            row = int(bad[0])
            raise SpanError(
                f"span at row {row + 1}: [{self.start[row]}, {self.end[row]}) is reversed or negative"
                f" ({len(bad)} such spans); ends must not lie before starts"
            )

    @classmethod
    def of(cls, *rows: tuple[int, int, int]) -> Spans:
        """A table from `(document, start, end)` triples."""
        table = np.asarray(rows, np.int64).reshape(-1, 3)
        return cls(table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy())

    def __len__(self) -> int:
        return len(self.document)

    def __getitem__(self, row: int) -> Span:
        return Span(int(self.start[row]), int(self.end[row]))

    @property
    def lengths(self) -> Column:
        """Characters of each span, int64."""
        return self.end - self.start

    @property
    def empty(self) -> Column:
        """Rows of zero length."""
        return np.flatnonzero(self.end == self.start)

    def take(self, rows: npt.NDArray[np.integer[Any]]) -> Spans:
        """The spans of `rows`, in that order."""
        return Spans(self.document[rows], self.start[rows], self.end[rows])

    def overlaps(self, other: Spans, *, min_characters: int = 1) -> tuple[Column, Column]:
        """Pairs of rows that share at least `min_characters` characters of one document.

        A pair shares `min(ends) - max(starts)` characters. Works for nested and overlapping
        spans on both sides, in any order.

        Returns:
            Rows here and rows of `other`, aligned, by row here, then by row of `other`.

        Example:
            Two chunks meet at character 40; the second span touches only one of them.

            >>> here, there = Spans.of((0, 35, 50), (0, 40, 60)).overlaps(Spans.of((0, 0, 40), (0, 40, 90)))
            >>> here.tolist(), there.tolist()
            ([0, 0, 1], [0, 1, 1])
        """
        if len(self) == 0 or len(other) == 0:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        width = 2 + int(max(other.end.max(), self.end.max()))
        order, other = _by_start(other, width)
        document, start, end = other.document, other.start, other.end
        # The largest end so far within a document never falls, so a binary search finds the first
        # row whose reach passes the start, although ends themselves are unordered when spans nest.
        base = self.document * width
        reach = np.maximum.accumulate(document * width + end)
        first = np.searchsorted(reach, base + self.start, "right")
        last = np.searchsorted(document * width + start, base + self.end, "left")
        count = np.maximum(last - first, 0)
        here = np.repeat(np.arange(len(self), dtype=np.int64), count)
        at = np.arange(len(here)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first, count)
        shared = np.minimum(end[at], self.end[here]) - np.maximum(start[at], self.start[here])
        keep = (shared >= max(1, min_characters)) & (document[at] == self.document[here])
        here, there = here[keep], at[keep]
        if order is None:
            return here, there
        there = order[there]
        by_row = np.lexsort((there, here))
        return here[by_row], there[by_row]


def _by_start(spans: Spans, width: int) -> tuple[Column | None, Spans]:
    """Spans by document and start, and the rows that they come from; None where they lie so already."""
    key = spans.document * width + spans.start
    if bool((key[1:] >= key[:-1]).all()):
        return None, spans
    order = np.argsort(key, kind="stable")
    return order, spans.take(order)
