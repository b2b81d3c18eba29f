"""Alignment: where the pieces that a chunker returned stand in the document that it was given.

Chunkers change what they cut: they strip and fold blanks, decompose letters, lower-case, drop punctuation and markup,
and the same words may stand in a document many times. A piece is placed by the forms of a text, the nearest first:

* as it is;
* without blanks (what `str.isspace` says, so also line ends, tabs and no-break spaces);
* besides, in one form of every character: NFKD, case-folded, without invisible format characters;
* besides, letters, marks and digits alone;
* as words in the same order between which the document has others (markup, links).

Every span is proven: the document's stretch and the piece are equal in the form by which the piece was placed. Starts
never go backwards. Work grows with the length of the document and its pieces: a piece is sought near the one before
it, and far away only by sums over 16 characters, made once.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from assay.kernels.forms import ANCHOR, FORMS, Form, WordPlaces, anchor, filled, folded, words_in

Column = npt.NDArray[np.int64]

HOW = ("exact", "blank-folded", "normalised", "with gaps", "blank", "not placed")
"""How a piece was placed, by its code in `Alignment.how`; the last two have no span."""
_BLANK, _LOST = 4, 5
_COUNTED = (
    "chunks placed exactly",
    "chunks placed after folding blanks",
    "chunks placed after folding case and forms of characters",
    "chunks placed with gaps",
    "blank chunks left out",
    "chunks not placed",
)

_SLACK = 4096
_GAP_WORDS = 64
_TRIED = 16
_STARTS = 64
_ALONE = 12
_LETTERS = 3
_Span = tuple[int, int]
_Found = tuple[int, int, int]
_NOT_BLANK = re.compile(r"\S|\Z")


@dataclass(frozen=True, eq=False)
class Alignment:
    """Where each piece stands in the document.

    Attributes:
        document, pieces: What was aligned.
        spans: int64 of shape (pieces, 2), code points, half-open; (-1, -1) for what has no span.
        how: Per piece a row of `HOW`, int8.
    """

    document: str
    pieces: tuple[str, ...]
    spans: Column
    how: npt.NDArray[np.int8]

    @property
    def placed(self) -> Column:
        """Rows of pieces that have a span."""
        return np.flatnonzero(self.how < _BLANK)

    @property
    def lost(self) -> Column:
        """Rows of pieces that stand nowhere after the piece before them."""
        return np.flatnonzero(self.how == _LOST)

    @cached_property
    def uncovered(self) -> Column:
        """Stretches of the document in no span, int64 of shape (stretches, 2)."""
        edge = np.flatnonzero(np.diff(np.concatenate([[1], self._covered > 0, [1]]).astype(np.int8)))
        return edge.reshape(-1, 2).astype(np.int64)

    @cached_property
    def uncovered_filled(self) -> int:
        """Characters in no span that are no blanks."""
        return sum(not c.isspace() for s, e in self.uncovered.tolist() for c in self.document[s:e])

    @property
    def repeated(self) -> int:
        """Pieces that start where the piece before them starts."""
        start = self.spans[self.placed, 0]
        return int((start[1:] == start[:-1]).sum())

    @property
    def counts(self) -> dict[str, int]:
        """How many pieces were placed how, and what stands in no span."""
        found = {name: int((self.how == code).sum()) for code, name in enumerate(_COUNTED)}
        found["chunks that start where the one before starts"] = self.repeated
        found["characters in no chunk"] = int((self.uncovered[:, 1] - self.uncovered[:, 0]).sum())
        found["characters in no chunk that are no blanks"] = self.uncovered_filled
        return found

    @cached_property
    def _covered(self) -> Column:
        return covered(self.spans[self.placed], len(self.document))


def covered(spans: Column, size: int) -> Column:
    """How many of the spans hold each of `size` characters, int64.

    Example:
        >>> covered(np.array([[0, 2], [1, 3]]), 4).tolist()
        [1, 2, 1, 0]
    """
    change = np.bincount(spans[:, 0], minlength=size + 1) - np.bincount(spans[:, 1], minlength=size + 1)
    return np.cumsum(change[:size])


def aligned(document: str, pieces: Sequence[str]) -> Alignment:
    r"""Where the pieces, given in the order of the document, stand in it.

    Pieces may overlap and repeat one another. Where a text stands in several places, a piece follows the one before
    it without a gap if it can; if a piece then finds no place, or text is left over, the nearest places are tried
    as well and the better of both is kept: fewer pieces without a place, fewer characters in no piece, fewer equal
    starts, fewer characters twice.

    Args:
        document: The text that was cut, as it is stored.
        pieces: What a chunker returned for it; empty and blank ones get no span.

    Example:
        Blanks were stripped and a line break folded; "fee" stands twice.

        >>> found = aligned("The fee.\n\n  A  fee\nfor dogs ", ["The fee.", "A fee", "for dogs", "cats"])
        >>> found.spans.tolist(), [HOW[code] for code in found.how]
        ([[0, 8], [12, 18], [19, 27], [-1, -1]], ['exact', 'blank-folded', 'exact', 'not placed'])
    """
    search = _Search(document, pieces)
    made = search.run(contiguous=True)
    if len(made.lost) or made.uncovered_filled or made.repeated:
        made = min(made, search.run(contiguous=False), key=_loss)
    return made


def proven(document: str, piece: str, span: tuple[int, int], how: int) -> bool:
    """Whether a piece stands at a span in the way that `how` (a row of `HOW`) says.

    Example:
        >>> proven("A  fee", "A fee", (0, 6), 0), proven("A  fee", "A fee", (0, 6), 1)
        (False, True)
    """
    there = document[slice(*span)]
    if how == 0:
        return there == piece
    if how == 1:
        return there.split() == piece.split()
    if how == 2:
        return folded(there) == folded(piece)
    rest = iter(words_in(there))
    return how == 3 and all(word in rest for word in words_in(piece))


def _loss(found: Alignment) -> tuple[int, int, int, int]:
    twice = int(np.maximum(found._covered - 1, 0).sum())
    return len(found.lost), found.uncovered_filled, found.repeated, twice


class _Search:
    """One document and its pieces, and the forms of them made so far."""

    def __init__(self, document: str, pieces: Sequence[str]) -> None:
        self.document = document
        self.pieces = tuple(pieces)
        self._forms: dict[int, Form] = {}

    def form(self, level: int) -> Form:
        if level not in self._forms:
            self._forms[level] = Form(self.document, self.pieces, level)
        return self._forms[level]

    @cached_property
    def words(self) -> WordPlaces:
        return WordPlaces.of(self.form(3).source)

    def run(self, *, contiguous: bool) -> Alignment:
        spans = np.full((len(self.pieces), 2), -1, np.int64)
        how = np.full(len(self.pieces), _LOST, np.int8)
        last = before = (-1, 0)
        placed = -1
        for row, piece in enumerate(self.pieces):
            if not piece or piece.isspace():
                how[row] = _BLANK
                continue
            found = self._near(row, last, contiguous)
            if found is None and placed >= 0:
                earlier = self._earlier(placed, before, last)
                found = self._near(row, earlier, contiguous) if earlier else None
                if earlier and found:
                    spans[placed], how[placed], last = earlier, 0, earlier
            found = found or self._far(row, last, contiguous) or self._with_gaps(row, last)
            wide = self._widened(piece, found, last[0]) if found else last
            how[row] = self._how(piece, wide) if found else _LOST
            if how[row] != _LOST:
                before, last, placed = last, wide, row
                spans[row] = wide
        return Alignment(self.document, self.pieces, spans, how)

    def _earlier(self, row: int, before: _Span, last: _Span) -> _Span | None:
        """An earlier place of a piece already placed, inside the one before it: the overlap alone, cut once more."""
        piece = self.pieces[row]
        at = self.document.find(piece, max(0, before[0] + 1), max(0, last[0]) + len(piece))
        return (at, at + len(piece)) if 0 <= at < last[0] else None

    def _near(self, row: int, last: _Span, contiguous: bool) -> _Found | None:
        """The place of a piece behind the one before it, or else the first near it in any form."""
        behind = last[1]
        match = _NOT_BLANK.search(self.document, behind, min(len(self.document), behind + _SLACK))
        filled = match.start() if match else behind
        levels = range(len(FORMS))
        best = (self._at(0, row, filled) if contiguous else None) or self._first(0, row, last)
        if best is not None and best[0] <= filled:
            return best
        if contiguous:
            for found in (self._at(level, row, filled) for level in levels[1:]):
                if found is not None:
                    return found
        for level in levels[1:]:
            found = self._first(level, row, last)
            if found is not None and (best is None or found[0] < best[0]):
                best = found
        return best

    def _at(self, level: int, row: int, offset: int) -> _Found | None:
        """The place of a piece if it stands at `offset`."""
        form = self.form(level)
        key, first = form.pieces[row], form.at(offset)
        return self._whole(form, first, len(key)) if key and form.text.startswith(key, first) else None

    def _first(self, level: int, row: int, last: _Span) -> _Found | None:
        """The first place of a piece that starts and ends after the one before; if none, that does not start before."""
        form = self.form(level)
        key = form.pieces[row]
        if not key:
            return None
        behind, again = form.at(last[1]), form.at(max(0, last[0]))
        ends_later = behind - len(key) + 1
        stop = behind + 5 * len(key) + _SLACK
        for low in (max(form.at(last[0] + 1), ends_later), max(again, ends_later), again):
            at = form.text.find(key, low, stop)
            for _ in range(_TRIED):
                if at < 0:
                    break
                found = self._whole(form, at, len(key))
                if found is not None:
                    return found
                at = form.text.find(key, at + 1, stop)
        return None

    def _whole(self, form: Form, first: int, size: int) -> _Found | None:
        """The span of a match that cuts no character, and, if it is letters alone and few, no word."""
        span = form.span(first, first + size)
        if span is None:
            return None
        if form.level == _LETTERS and size < _ALONE:
            before, after = self.document[max(0, span[0] - 1) : span[0]], self.document[span[1] : span[1] + 1]
            if before.isalnum() or after.isalnum():
                return None
        return *span, form.level

    def _far(self, row: int, last: _Span, contiguous: bool) -> _Found | None:
        """A place far behind, if the next piece follows it there: one stray piece must not take all others along."""
        for level in (2, _LETTERS):
            form = self.form(level)
            key = form.pieces[row]
            if len(key) < ANCHOR:
                continue
            places = form.anchors.get(anchor(key), [])
            low = bisect_left(places, form.at(last[1]))
            for at in places[low : low + _TRIED]:
                span = form.span(at, at + len(key)) if form.text.startswith(key, at) else None
                if span and self._followed(row, span, contiguous):
                    return *span, level
        return None

    def _followed(self, row: int, span: _Span, contiguous: bool) -> bool:
        after = next((r for r in range(row + 1, len(self.pieces)) if self.pieces[r].strip()), None)
        return after is None or self._near(after, span, contiguous) is not None

    def _with_gaps(self, row: int, last: _Span) -> _Found | None:
        """The shortest near stretch that holds the words of a piece in order, with others between them."""
        wanted, words = words_in(self.pieces[row]), self.words
        if len(wanted) < 2:
            return None
        behind = int(np.searchsorted(words.start, last[1]))
        again = int(np.searchsorted(words.start, max(0, last[0])))
        stop = min(len(words.words), behind + _SLACK // 4)
        for low in (behind, again):
            best: _Span | None = None
            for first in _places(words.words, wanted[0], low, stop):
                found = _shortest(words.words, wanted, first)
                later = found is not None and int(words.end[found[1]]) > last[1]
                if found is not None and later and (best is None or found[1] - found[0] < best[1] - best[0]):
                    best = found
            if best is not None:
                return int(words.start[best[0]]), int(words.end[best[1]]), _LETTERS
        return None

    def _widened(self, piece: str, found: _Found, lowest: int) -> _Span:
        """The span with those ends of the piece that its form leaves out, as far as the document has them there too."""
        start, end, level = found
        document, low = self.document, max(0, lowest)
        first, last = _ends(piece, FORMS[level] if level else filled)
        lead, tail = piece[:first], piece[last + 1 :]
        return start - _shared(document[max(low, start - _SLACK) : start][::-1], lead[::-1]), end + _shared(
            document[end : end + _SLACK], tail
        )

    def _how(self, piece: str, span: _Span) -> int:
        return next((how for how in range(_BLANK) if proven(self.document, piece, span, how)), _LOST)


def _places(words: list[str], word: str, low: int, stop: int) -> Iterator[int]:
    """The first places of a word."""
    for _ in range(_STARTS):
        try:
            low = words.index(word, low, stop)
        except ValueError:
            return
        yield low
        low += 1


def _shortest(words: list[str], wanted: list[str], first: int) -> _Span | None:
    """First and last of the shortest stretch of words that ends soonest and holds the wanted ones in order."""
    at = first
    furthest = first + 3 * len(wanted) + 2
    for word in wanted[1:]:
        try:
            at = words.index(word, at + 1, min(furthest, at + 2 + _GAP_WORDS))
        except ValueError:
            return None
    last, start = at, at + 1
    for word in reversed(wanted):
        start -= 1
        while words[start] != word:
            start -= 1
    return start, last


def _ends(piece: str, form: Callable[[str], str]) -> _Span:
    """The first and the last character of a piece that its form has; there is one."""
    first = next(place for place, c in enumerate(piece) if form(c))
    return first, next(place for place in range(len(piece) - 1, -1, -1) if form(piece[place]))


def _shared(there: str, rest: str) -> int:
    """How many characters of `there` the characters of `rest` reach, in order, over blanks that only one has."""
    reached = at = 0
    for c in rest:
        while at < len(there) and there[at] != c and there[at].isspace() and not c.isspace():
            at += 1
        if at < len(there) and there[at] == c:
            at += 1
            reached = at
        elif not c.isspace():
            break
    return reached
