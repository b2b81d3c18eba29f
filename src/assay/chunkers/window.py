"""Windows of so many words, characters or tokens, all documents at once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar
from unicodedata import category

import numpy as np
import numpy.typing as npt

from assay.chunker import one_of, whole_numbers
from assay.errors import FormatError, UnavailableError, UsageError
from assay.kernels.characters import code_points, tabled
from assay.span import Spans
from assay.texts import Texts

Column = npt.NDArray[np.int64]

_BLOCK = 1 << 18
"""Bytes treated at once: what is made of them fits the cache."""
_THREADS = 2
_SHORT_RUN = 4

_SIGN, _LETTER, _CJK, _CJK_SIGN = 1, 2, 3, 4
_CJK_RANGES = (
    (0x1100, 0x11FF), (0x3005, 0x3007), (0x3021, 0x3029), (0x3031, 0x3035), (0x3038, 0x303C), (0x3041, 0x30FF),
    (0x3131, 0x318F), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA960, 0xA97F), (0xAC00, 0xD7FF),
    (0xF900, 0xFAFF), (0xFF66, 0xFFDC), (0x1AFF0, 0x1B16F), (0x20000, 0x3FFFF),
)  # fmt: skip
_CJK_SIGN_RANGES = ((0x3000, 0x303F), (0xFE30, 0xFE4F), (0xFF00, 0xFFEF))


@dataclass(frozen=True)
class Window:
    """Windows of `words`, `characters` or `tokens`, each `overlap` of them into the one before.

    A word is a run of characters that are no blanks (`str.isspace`), so that signs stay with their words. A CJK
    character (Han, Hiragana, Katakana, Hangul) counts as a word of its own, with the signs that follow it. Windows of
    words and of tokens begin and end with one; windows of characters are cut anywhere between two code points. The last
    window may be shorter; none lies in the one before.

    Args:
        words, characters, tokens: The size; exactly one is given.
        overlap: How many of these the next window repeats; smaller than the size.
        tokenizer: For tokens, the file of a tokenizer (`tokenizer.json`) that tells offsets.

    Raises:
        UsageError: Not exactly one size, or an overlap that is negative or not smaller.

    Example:
        >>> Window(words=2, overlap=1).spans("The fee, or 日本。").tolist()
        [[0, 8], [4, 11], [9, 13], [12, 15]]
    """

    name: ClassVar[str] = "window"

    words: int = 0
    characters: int = 0
    tokens: int = 0
    overlap: int = 0
    tokenizer: str = ""

    def __post_init__(self) -> None:
        unit = one_of(self.name, words=self.words, characters=self.characters, tokens=self.tokens)
        overlap: Any = self.overlap
        if not whole_numbers(overlap) or not 0 <= overlap < self._size:
            raise UsageError(f"window: overlap must be a whole number from 0 to {self._size - 1}; found {overlap!r}")
        if (unit == "tokens") != bool(self.tokenizer):
            raise UsageError(
                "window: tokens need tokenizer='…/tokenizer.json', and only they; words and characters do not"
            )

    @property
    def _size(self) -> int:
        return self.words or self.characters or self.tokens

    def spans(self, document: str) -> Column:
        """The windows of one document."""
        found = self.spans_of(Texts.of([document]))
        return np.stack([found.start, found.end], axis=1)

    def spans_of(self, documents: Texts) -> Spans:
        """The windows of all documents.

        Raises:
            UnavailableError: Tokens are asked for and the package tokenizers is not installed.
            FormatError: The tokenizer's file cannot be read.
        """
        if self.tokens:
            return self._of_tokens(documents)
        if self.characters:
            document, first, last = self._windows(documents.lengths)
            return Spans(document, first, last)
        # What numpy does over a block it does without Python's lock.
        with ThreadPoolExecutor(_THREADS) as pool:
            parts = list(pool.map(lambda rows: self._of_words(documents, rows), _blocks(documents)))
        columns = [np.concatenate([np.zeros(0, np.int64), *(part[k] for part in parts)]) for k in range(3)]
        return Spans(*columns)

    def _windows(self, size: Column) -> tuple[Column, Column, Column]:
        """Document, first and end (in units) of every window over documents of these sizes."""
        step = self._size - self.overlap
        count = np.where(size > 0, 1 + np.maximum(size - self._size + step - 1, 0) // step, 0)
        document = np.repeat(np.arange(len(size), dtype=np.int64), count)
        number = np.arange(len(document), dtype=np.int64) - np.repeat(np.cumsum(count) - count, count)
        first = number * step
        return document, first, np.minimum(first + self._size, size[document])

    def _of_words(self, documents: Texts, rows: slice) -> tuple[Column, Column, Column]:
        borders = documents.offsets[rows.start : rows.stop + 1]
        data = documents.buffer[borders[0] : borders[-1]]
        if data.max(initial=0) < 0x80:
            kind, borders = _filled(data), borders - borders[0]
        else:
            kind = tabled(code_points(data.tobytes().decode("utf-8")), _kind)
            borders = np.concatenate([[0], np.cumsum(documents.lengths[rows])]).astype(np.int64)
        start = _word_starts(kind, borders)
        base = np.searchsorted(start, borders)
        document, first, last = self._windows(np.diff(base))
        offset, own = borders[document], base[document]
        # A window ends with the last character before its next word (of whatever document) that is no blank.
        behind = np.where(own + last < len(start), start[np.minimum(own + last, len(start) - 1)], len(kind))
        end = _before_blanks(kind, behind)
        return document + rows.start, start[own + first] - offset, end - offset

    def _of_tokens(self, documents: Texts) -> Spans:
        encoder = _tokenizer(self.tokenizer)
        parts: list[tuple[Column, Column, Column]] = []
        for row, text in enumerate(documents):
            offsets = np.asarray(encoder.encode(text, add_special_tokens=False).offsets, np.int64).reshape(-1, 2)
            offsets = offsets[offsets[:, 1] > offsets[:, 0]]
            _, first, last = self._windows(np.array([len(offsets)]))
            # Some tokenizers give several tokens of one character its whole span, out of order by one.
            start, end = np.maximum.accumulate(offsets[:, 0]), np.maximum.accumulate(offsets[:, 1])
            parts.append((np.full(len(first), row, np.int64), start[first], end[last - 1]))
        columns = [np.concatenate([np.zeros(0, np.int64), *(part[k] for part in parts)]) for k in range(3)]
        return Spans(*columns)


def _tokenizer(path: str) -> Any:
    try:
        from importlib import import_module

        tokenizers: Any = import_module("tokenizers")
    except ImportError:
        raise UnavailableError("window: tokens need the package tokenizers; install assay[chunkers]") from None
    if not Path(path).is_file():
        raise FormatError(f"window: there is no tokenizer file {path}; name a tokenizer.json")
    try:
        return tokenizers.Tokenizer.from_file(path)
    except Exception as err:  # noqa: BLE001 - the package raises bare Exception
        raise FormatError(f"window: {path} is no tokenizer file that can be read: {err}") from None


def _blocks(documents: Texts) -> Iterator[slice]:
    """Rows of documents of about `_BLOCK` bytes together."""
    goals = np.arange(documents.offsets[0] + _BLOCK, documents.offsets[-1], _BLOCK)
    inner = np.searchsorted(documents.offsets, goals, "left")
    for first, last in pairwise(np.unique(np.concatenate([[0], inner, [len(documents)]])).tolist()):
        yield slice(first, last)


def _filled(data: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """1 for each ASCII character that is no blank, as `str.isspace` has it."""
    blank: npt.NDArray[np.bool_] = data == 0x20
    blank |= (data - 0x09) < 5
    blank |= (data - 0x1C) < 4
    np.logical_not(blank, out=blank)
    return blank.view(np.uint8)


def _before_blanks(kind: npt.NDArray[np.uint8], end: Column) -> Column:
    """Ends moved back over the blanks before them."""
    for _ in range(_SHORT_RUN):
        blank = np.flatnonzero(kind[end - 1] == 0)
        if not len(blank):
            return end
        end[blank] -= 1
    filled = np.flatnonzero(kind)
    return filled[np.searchsorted(filled, end) - 1] + 1


def _word_starts(kind: npt.NDArray[np.uint8], borders: Column) -> Column:
    """Where words start; no word goes over the border of two documents."""
    starts = np.empty(len(kind), np.bool_)
    if kind.max(initial=0) <= 1:
        np.greater(kind[1:], kind[:-1], out=starts[1:])
    else:
        starts[1:] = (kind[1:] > 0) & (kind[:-1] == 0)
        starts[1:] |= (kind[1:] == _CJK) | ((kind[1:] == _LETTER) & (kind[:-1] >= _CJK))
    first = borders[borders < len(kind)]
    starts[first] = kind[first] > 0
    return np.flatnonzero(starts)


def _kind(character: str) -> int:
    if character.isspace():
        return 0
    code, sort = ord(character), category(character)[0]
    if sort in "LN" and any(low <= code <= high for low, high in _CJK_RANGES):
        return _CJK
    if sort in "PS" and any(low <= code <= high for low, high in _CJK_SIGN_RANGES):
        return _CJK_SIGN
    return _LETTER if sort in "LN" else _SIGN
