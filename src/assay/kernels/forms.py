"""Forms: a text without blanks, with every character in one form, or as letters alone, and where each stands in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from unicodedata import category, normalize

import numpy as np
import numpy.typing as npt

from assay.kernels.characters import Mapped, code_points, mapped, rolling_sums, tabled

Column = npt.NDArray[np.int64]

_DOUBLINGS = 4
ANCHOR = 1 << _DOUBLINGS
"""Characters of a stretch that is sought anywhere in a text at once."""
_CJK = re.compile(
    "[\u1100-\u11ff\u3005-\u30ff\u3400-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]"
)


def folded(text: str) -> str:
    """A text in the third form: NFKD, case-folded, without blanks and format characters.

    Example:
        >>> folded("ﬁnal\u00a0FEE"), folded("Café") == folded("Cafe\u0301")
        ('finalfee', True)
    """
    return normalize("NFKD", "".join(map(one_form, text)))


def words_in(text: str) -> list[str]:
    """The words that a piece with gaps is compared by: runs of letters, marks and digits, folded; a CJK character each.

    Example:
        >>> words_in("<b>Bold</b> 日本")
        ['b', 'bold', 'b', '日', '本']
    """
    return WordPlaces.of(mapped(code_points(text), letters)).words


def filled(character: str) -> str:
    """The character, or nothing for a blank."""
    return "" if character.isspace() else character


def one_form(character: str) -> str:
    """The character decomposed and case-folded; nothing for a blank or an invisible format character."""
    if character.isascii():
        return "" if character.isspace() else character.lower()
    form = normalize("NFKD", normalize("NFKD", character).casefold())
    return "".join(c for c in form if not c.isspace() and category(c) != "Cf")


def letters(character: str) -> str:
    """The letters, marks and digits that the character is made of, in one form."""
    return "".join(c for c in one_form(character) if category(c)[0] in "LMN")


def unchanged(character: str) -> str:
    """The character."""
    return character


FORMS: tuple[Callable[[str], str], ...] = (unchanged, filled, one_form, letters)


class Form:
    """The document and its pieces in one form: `text`, and where in the document its characters stand."""

    def __init__(self, document: str, pieces: Sequence[str], level: int) -> None:
        self.level = level
        self.document = document
        self.text = document
        self.reordered = False
        self.pieces = [piece.strip() for piece in pieces]
        if level:
            self.source = mapped(code_points(document), FORMS[level])
            raw = self.source.text
            self.text = self._ordered(raw)
            self.reordered = self.text != raw
            joined = mapped(code_points("".join(pieces)), FORMS[level])
            text, cuts = joined.text, joined.before[[0, *accumulate(map(len, pieces))]].tolist()
            self.pieces = [self._ordered(text[a:b]) for a, b in pairwise(cuts)]

    def _ordered(self, text: str) -> str:
        """Marks in their canonical order; the text is decomposed, so its length stays."""
        return normalize("NFKD", text) if self.level > 1 and not text.isascii() else text

    def at(self, offset: int) -> int:
        """The place here of the document's character at `offset`, or of the next that has one."""
        if not self.level:
            return offset
        return int(self.source.before[min(offset, len(self.source.before) - 1)])

    def span(self, first: int, last: int) -> tuple[int, int] | None:
        """The characters of the document behind `[first, last)`; None if a character would be cut in two."""
        if not self.level:
            return first, last
        start, end = int(self.source.source[first]), int(self.source.source[last - 1]) + 1
        if self.at(start) != first or self.at(end) != last:
            return None
        # Marks that changed places stand elsewhere than `source` says; a match may end among them.
        if (
            self.reordered
            and self._ordered("".join(map(FORMS[self.level], self.document[start:end]))) != self.text[first:last]
        ):
            return None
        return start, end

    @cached_property
    def anchors(self) -> dict[int, list[int]]:
        """Where the first `ANCHOR` characters of pieces stand, by their `anchor`."""
        wanted = np.array([anchor(key) for key in self.pieces if len(key) >= ANCHOR], np.uint64)
        sums = rolling_sums(code_points(self.text), _DOUBLINGS)
        at = np.flatnonzero(np.isin(sums, wanted))
        places: dict[int, list[int]] = {}
        for place, key in zip(at.tolist(), sums[at].tolist(), strict=True):
            places.setdefault(key, []).append(place)
        return places


@dataclass(frozen=True, eq=False)
class WordPlaces:
    """Words in order, and where each starts and ends in the text they are from."""

    words: list[str]
    start: Column
    end: Column

    @classmethod
    def of(cls, form: Mapped) -> WordPlaces:
        """The words of a text's letters: they end where the text has another sign, and after a CJK character."""
        text = normalize("NFKD", form.text)
        if not text:
            return cls([], np.zeros(0, np.int64), np.zeros(0, np.int64))
        alone = tabled(form.codes, lambda c: _CJK.match(c) is not None).astype(np.bool_)
        marks = tabled(form.codes, lambda c: category(c)[0] == "M").astype(np.bool_)
        new = np.ones(len(text), np.bool_)
        step = np.diff(form.source)
        new[1:] = (step > 1) | ((step == 1) & (alone[1:] | alone[:-1]) & ~marks[1:])
        first = np.flatnonzero(new)
        cuts = [*first.tolist(), len(text)]
        words = [text[a:b] for a, b in pairwise(cuts)]
        return cls(words, form.source[first], form.source[np.append(first[1:], len(text)) - 1] + 1)


def anchor(key: str) -> int:
    """The sum over the first `ANCHOR` characters of a text that has as many."""
    return int(rolling_sums(code_points(key[:ANCHOR]), _DOUBLINGS)[0])
