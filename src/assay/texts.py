"""Texts: strings in one UTF-8 buffer with offsets, shared with Arrow without a copy."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any
from unicodedata import category

import numpy as np
import numpy.typing as npt

from assay.errors import FormatError

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]
Rows = npt.NDArray[np.integer[Any]]

# ASCII characters that no other script's letter case-folds to: equal words have equal ones.
_KEY = b"bcdegmopqruvxz0123456789BCDEGMOPQRUVXZ"
_KEYS = bytes(range(256)).lower()
_KEPT = bytes(byte in _KEY for byte in range(256))
_DROPPED = bytes(byte for byte in range(256) if byte not in _KEY)
_BLANKS = bytes(0x20 if 0x09 <= byte <= 0x0D or 0x1C <= byte <= 0x20 else byte for byte in range(256))
_WIDE_BLANKS = {
    0xC2: (b"\x85", b"\xa0"),
    0xE1: (b"\x9a\x80",),
    0xE2: (*(bytes((0x80, tail)) for tail in (*range(0x80, 0x8B), 0xA8, 0xA9, 0xAF)), b"\x81\x9f"),
    0xE3: (b"\x80\x80",),
}


def _rows_of_packed(texts: Texts, other: Texts) -> npt.NDArray[np.int64] | None:
    """`texts.first_rows_in(other)` for short rows; None where two different rows have one hash."""
    if len(other) == 0:
        return np.full(len(texts), -1, np.int64)
    key, (keys, order) = texts._hashes, other._by_hash
    place = np.minimum(np.searchsorted(keys, key), len(order) - 1)
    row, same_hash = order[place], keys[place] == key
    same = same_hash & (texts.byte_lengths == other.byte_lengths[row])
    # Rows of equal length have nothing but zeros in the words that only one side has.
    for mine, theirs in zip(texts._packed, other._packed, strict=False):
        same &= mine == theirs[row]
    return np.where(same, row, -1) if np.array_equal(same, same_hash) else None


def numbers_of(array: Any) -> npt.NDArray[Any]:
    """The values of an Arrow array or chunked array of numbers without nulls, as a NumPy array.

    Arrow's own ways to NumPy and back import pandas where it is installed, which takes longer than most commands.
    """
    if hasattr(array, "chunks"):
        parts = [numbers_of(chunk) for chunk in array.chunks]
        return np.concatenate(parts) if parts else np.zeros(0, array.type.to_pandas_dtype())
    dtype = np.dtype(array.type.to_pandas_dtype())
    if len(array) == 0:
        return np.zeros(0, dtype)
    return np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * dtype.itemsize)


def arrow_of(numbers: npt.NDArray[Any]) -> Any:
    """An Arrow array over the same memory as a NumPy array of numbers."""
    import pyarrow as pa

    numbers = np.ascontiguousarray(numbers)
    return pa.Array.from_buffers(pa.from_numpy_dtype(numbers.dtype), len(numbers), [None, pa.py_buffer(numbers)])


def _marked(mask: npt.NDArray[np.bool_], offsets: Offsets) -> Offsets:
    """How many bytes of each row are marked, int64."""
    counts = np.zeros(len(offsets) - 1, np.int64)
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled):
        counts[filled] = np.add.reduceat(mask.view(np.int8), offsets[filled], dtype=np.int32)
    return counts


PACKED_BYTES = 40
"""Rows of at most so many bytes are compared as packed numbers, which needs no Arrow."""


@dataclass(frozen=True, eq=False)
class Texts:
    """Immutable strings: row `i` is `buffer[offsets[i]:offsets[i + 1]]` in UTF-8.

    `buffer` is uint8, `offsets` int64 with one entry more than there are rows.

    Example:
        >>> texts = Texts.of(["a", "", "été"])
        >>> len(texts), texts[2], texts.offsets.tolist()
        (3, 'été', [0, 1, 1, 6])
    """

    buffer: Bytes
    offsets: Offsets

    @classmethod
    def of(cls, strings: Iterable[str]) -> Texts:
        """Texts holding `strings`.

        Raises:
            FormatError: A string holds a lone surrogate, which UTF-8 cannot write, or is no string.
        """
        listed = strings if isinstance(strings, list | tuple) else list(strings)
        try:
            encoded = [s.encode("utf-8") for s in listed]
        except UnicodeEncodeError as err:
            raise FormatError(
                f"a text has a lone surrogate (U+{ord(err.object[err.start]):04X}) at character {err.start}: "
                "it cannot be written as UTF-8; repair the text"
            ) from None
        except AttributeError:
            row = next(row for row, s in enumerate(listed) if not isinstance(s, str))
            raise FormatError(
                f"ids and texts are strings, found {listed[row]!r} in row {row + 1}; write numbers as text, as in '7'"
            ) from None
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), offsets)

    @classmethod
    def from_arrow(cls, array: Any) -> Texts:
        """Texts over an Arrow string array or chunked array; a single array is not copied.

        Raises:
            FormatError: A value is null, or the column does not hold strings.
        """
        import pyarrow as pa

        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
            raise FormatError(f"a text column must hold strings, found {array.type}")
        if array.null_count:
            raise FormatError(f"a text column has {array.null_count} nulls")
        width = np.int64 if pa.types.is_large_string(array.type) else np.int32
        _, offset_buffer, data = array.buffers()
        if len(array) == 0:
            return cls(np.zeros(0, np.uint8), np.zeros(1, np.int64))
        starts = np.frombuffer(offset_buffer, width, len(array) + 1, array.offset * np.dtype(width).itemsize)
        offsets = starts.astype(np.int64, copy=False)
        buffer = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
        if offsets[0] or offsets[-1] != len(buffer):
            buffer = buffer[offsets[0] : offsets[-1]]
            offsets = offsets - offsets[0]
        return cls(buffer, offsets)

    def to_arrow(self) -> Any:
        """An Arrow large_string array over the same memory."""
        import pyarrow as pa

        return pa.LargeStringArray.from_buffers(len(self), pa.py_buffer(self.offsets), pa.py_buffer(self.buffer))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> str:
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of {len(self)} texts")
        row %= len(self)
        return self.buffer[self.offsets[row] : self.offsets[row + 1]].tobytes().decode("utf-8")

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_list())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Texts):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.buffer, other.buffer)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Texts: {len(self)} rows, {len(self.buffer)} bytes>"

    def to_list(self) -> list[str]:
        """The rows as Python strings."""
        data, cut = self.buffer.tobytes(), self.offsets.tolist()
        return [data[a:b].decode("utf-8") for a, b in pairwise(cut)]

    def take(self, rows: Rows) -> Texts:
        """The texts of `rows` (integers), in that order."""
        if len(rows) < 1024:
            pieces = [self.buffer[self.offsets[r] : self.offsets[r + 1]] for r in rows.tolist()]
            offsets = np.zeros(len(rows) + 1, np.int64)
            np.cumsum([len(p) for p in pieces], out=offsets[1:])
            return Texts(np.concatenate(pieces) if pieces else np.zeros(0, np.uint8), offsets)

        return Texts.from_arrow(self.to_arrow().take(arrow_of(rows)))

    @cached_property
    def byte_lengths(self) -> Offsets:
        """Bytes of each row, int64."""
        return np.diff(self.offsets)

    @cached_property
    def lengths(self) -> Offsets:
        """Code points of each row, int64: bytes that do not continue a character."""
        if self.buffer.max(initial=0) < 0x80:
            return self.byte_lengths
        if len(self.buffer) < 1 << 20:
            return _marked((self.buffer & 0xC0) != 0x80, self.offsets)
        import pyarrow.compute as pc

        lengths: Offsets = numbers_of(pc.utf8_length(self.to_arrow())).astype(np.int64)
        return lengths

    @cached_property
    def utf16_lengths(self) -> Offsets:
        """UTF-16 units of each row, int64: characters beyond U+FFFF take two."""
        return self.lengths + _marked(self.buffer >= 0xF0, self.offsets)

    @cached_property
    def same_text(self) -> Offsets:
        """For each row, the first row with the same text after folding blanks, int64.

        A run of blanks (what `str.split` splits at) counts as one blank, and at the ends as none.

        Example:
            >>> Texts.of(["set yearly", " set  yearly", "Set yearly"]).same_text.tolist()
            [0, 0, 2]
        """
        folded = self.with_folded_blanks()
        return folded.first_rows_in(folded)

    @cached_property
    def same_words(self) -> Offsets:
        """For each row, the first row with the same text after folding case, blanks and punctuation, int64.

        Letters, marks and digits of any script count, after `str.casefold`; composed and decomposed
        characters stay different. A text without any of them is like no other.

        Example:
            >>> Texts.of(["What is the  fee?", "what is the fee", "Who pays?", "?", "!"]).same_words.tolist()
            [0, 0, 2, 3, 4]
        """
        # Equal texts have equal keys, so only the few rows whose key stands twice are compared in full.
        data = self.buffer.tobytes()
        counts = _marked(np.frombuffer(data.translate(_KEPT), np.bool_), self.offsets)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        keys = Texts(np.frombuffer(data.translate(_KEYS, _DROPPED), np.uint8), offsets)
        first = keys.first_rows_in(keys)
        rows = np.flatnonzero(np.bincount(first, minlength=len(self))[first] > 1)
        near = self.take(rows)
        same = near.first_rows_in(near)
        distinct = np.unique(same)
        seen: dict[str, int] = {}
        place = np.arange(len(near), dtype=np.int64)
        for row, text in zip(distinct.tolist(), near.take(distinct).to_list(), strict=True):
            words = "".join([c for c in text.casefold() if c.isalnum() or (c > "\x7f" and category(c)[0] == "M")])
            place[row] = seen.setdefault(words, row) if words else -1
        found = np.arange(len(self), dtype=np.int64)
        worded = place[same] >= 0
        found[rows[worded]] = rows[place[same][worded]]
        return found

    def with_folded_blanks(self) -> Texts:
        r"""The same texts with every run of blanks as one blank, and none at the ends.

        Example:
            >>> Texts.of([" a \u2003 b ", "c", "  "]).with_folded_blanks().to_list()
            ['a b', 'c', '']
        """
        data = np.frombuffer(bytearray(self.buffer).translate(_BLANKS), np.uint8)
        for lead, tails in _WIDE_BLANKS.items():
            at = np.flatnonzero(self.buffer == lead)
            for tail in tails:
                hit = at
                for step, byte in enumerate(tail, 1):
                    hit = hit[self.buffer[hit + step] == byte]
                for step in range(len(tail) + 1):
                    data[hit + step] = 0x20
        blank = data == 0x20
        folded = Texts(data, self.offsets)._without(np.flatnonzero(blank[1:] & blank[:-1]) + 1)
        filled = folded.offsets[:-1] < folded.offsets[1:]
        ends = np.concatenate([folded.offsets[:-1][filled], folded.offsets[1:][filled] - 1])
        return folded._without(np.unique(ends[folded.buffer[ends] == 0x20]))

    def _without(self, at: Offsets) -> Texts:
        if not len(at):
            return self
        return Texts(np.delete(self.buffer, at), self.offsets - np.searchsorted(at, self.offsets))

    def byte_order(self) -> npt.NDArray[np.int64]:
        """Rows in ascending UTF-8 byte order (equal to code point order), stable."""
        if len(self) < 1024:
            data, cut = self.buffer.tobytes(), self.offsets.tolist()
            keys = [data[a:b] for a, b in pairwise(cut)]
            return np.asarray(sorted(range(len(self)), key=keys.__getitem__), np.int64)
        if self._short:
            return np.lexsort((self.byte_lengths, *reversed(self._packed)))
        import pyarrow.compute as pc

        order: npt.NDArray[np.int64] = numbers_of(pc.array_sort_indices(self.to_arrow())).astype(np.int64)
        return order

    def first_rows_in(self, other: Texts) -> npt.NDArray[np.int64]:
        """For each row here, the first row of `other` with the same text, or -1."""
        if len(self) + len(other) < 2048:
            first: dict[str, int] = {}
            for row, text in enumerate(other.to_list()):
                first.setdefault(text, row)
            return np.asarray([first.get(text, -1) for text in self.to_list()], np.int64).reshape(-1)
        if self._short and other._short and max(len(self), len(other)) < 1 << 18:
            found = _rows_of_packed(self, other)
            if found is not None:
                return found
        import pyarrow.compute as pc

        def places(of: Texts, among: Texts) -> npt.NDArray[np.int64]:
            found = pc.index_in(of.to_arrow(), value_set=among.to_arrow())
            rows: npt.NDArray[np.int64] = numbers_of(found.fill_null(-1)).astype(np.int64)
            return rows

        if len(self) * 4 > len(other):
            return places(self, other)
        # A table of the few is made and asked for the many: making one of the many costs several times as much.
        place = places(other, self)
        rows = np.flatnonzero(place >= 0)[::-1]
        first_rows = np.full(len(self), -1, np.int64)
        # Backwards, so that of several equal rows the first one is written last.
        first_rows[place[rows]] = rows
        return first_rows[places(self, self)]

    @property
    def _short(self) -> bool:
        """Whether every row is short enough to be packed into a few words, as ids are."""
        return bool(self.byte_lengths.max(initial=0) <= PACKED_BYTES)

    @cached_property
    def _packed(self) -> list[npt.NDArray[np.uint64]]:
        """The bytes of each row, eight to an unsigned number, first byte highest, filled up with zeros."""
        lengths = self.byte_lengths
        padded = np.concatenate([self.buffer, np.zeros(PACKED_BYTES + 8, np.uint8)])
        columns = []
        for first in range(0, max(1, int(lengths.max(initial=0))), 8):
            place = np.arange(first, first + 8)
            block = padded[self.offsets[:-1, None] + place]
            block[place >= lengths[:, None]] = 0
            columns.append(block.view(">u8").ravel().astype(np.uint64))
        return columns

    @cached_property
    def _hashes(self) -> npt.NDArray[np.uint64]:
        """A hash of each row, the same for equal rows whatever stands beside them."""
        mixed = np.zeros(len(self), np.uint64)
        # From the last word on: the zeros that fill up a short row then leave no trace.
        for column in (*reversed(self._packed), self.byte_lengths.astype(np.uint64)):
            mixed = (mixed ^ column) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        return mixed

    @cached_property
    def _by_hash(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
        """The hashes in ascending order, and the row of each; equal ones in the order of rows."""
        order = np.argsort(self._hashes, kind="stable")
        return self._hashes[order], order

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the rows and their borders, as hexadecimal text."""
        sha = hashlib.sha256(np.ascontiguousarray(self.offsets).view(np.uint8).data)
        sha.update(np.ascontiguousarray(self.buffer).data)
        return sha.hexdigest()
