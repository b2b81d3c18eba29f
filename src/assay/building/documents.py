"""Documents put together again from the passages that were cut from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.span import Spans
from assay.texts import Texts

Column = npt.NDArray[np.int64]
UNKNOWN = -1


@dataclass(frozen=True, eq=False)
class Documents:
    """The characters of documents, as far as passages hold them.

    `characters[place[d] + i]` is the code point at offset `i` of document `d`, int32, `UNKNOWN` where no
    passage lies (the newline between two chunks, say). `place` is -1 for documents that were not asked for.
    `conflicts` are the rows of passages that hold another text than a later passage in the same place.
    """

    characters: npt.NDArray[np.int32]
    place: Column
    length: Column
    conflicts: Column

    @classmethod
    def of(cls, texts: Texts, spans: Spans, *, wanted: npt.NDArray[np.bool_]) -> Documents:
        """The `wanted` documents (bool, one per document code), from texts and their spans, row by row.

        A passage whose text is not as long as its span, or whose document has no code, takes no part.

        Example:
            >>> cut = Spans.of((0, 0, 2), (0, 3, 5))
            >>> Documents.of(Texts.of(["ab", "cd"]), cut, wanted=np.array([True])).text(0, 0, 5)
            'ab…cd'
        """
        length = np.zeros(len(wanted), np.int64)
        known = spans.document >= 0
        np.maximum.at(length, spans.document[known], spans.end[known])
        place = np.cumsum(np.where(wanted, length, 0)) - np.where(wanted, length, 0)
        place = np.where(wanted, place, -1)
        fits = known & (texts.lengths == spans.lengths)
        rows = np.flatnonzero(fits & wanted[np.maximum(spans.document, 0)])
        characters = np.full(int(length[wanted].sum()), UNKNOWN, np.int32)
        codes = code_points(texts.take(rows))
        at = stretches(place[spans.document[rows]] + spans.start[rows], spans.lengths[rows])
        characters[at] = codes
        owner = np.repeat(rows, spans.lengths[rows])
        return cls(characters, place, length, np.unique(owner[characters[at] != codes]))

    def holds(self, quotes: Texts, spans: Spans) -> npt.NDArray[np.bool_]:
        """Whether each span holds its quote; characters that no passage has agree with anything.

        Spans must lie inside documents that were asked for.
        """
        right: npt.NDArray[np.bool_] = quotes.lengths == spans.lengths
        rows = np.flatnonzero(right)
        there = self.characters[stretches(self.place[spans.document[rows]] + spans.start[rows], spans.lengths[rows])]
        wrong = (there != code_points(quotes.take(rows))) & (there != UNKNOWN)
        right[np.repeat(rows, spans.lengths[rows])[wrong]] = False
        return right

    def text(self, document: int, start: int, end: int) -> str:
        """The characters `[start, end)` of one document, with `…` for unknown ones."""
        place = int(self.place[document])
        return "".join(chr(c) if c >= 0 else "…" for c in self.characters[place + start : place + end].tolist())


def code_points(texts: Texts) -> npt.NDArray[np.int32]:
    """The characters of all texts, one after another, int32."""
    return np.frombuffer(texts.buffer.tobytes().decode("utf-8").encode("utf-32-le"), "<i4").astype(np.int32, copy=False)


def stretches(start: Column, length: Column) -> Column:
    """`start[i], start[i] + 1, …` for `length[i]` numbers each, one after another.

    Example:
        >>> stretches(np.array([5, 0]), np.array([2, 1])).tolist()
        [5, 6, 0]
    """
    before = np.cumsum(length) - length
    at: Column = np.arange(int(length.sum()), dtype=np.int64) + np.repeat(start - before, length)
    return at
