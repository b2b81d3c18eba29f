"""Columns of a TREC file: ids as codes and one number a line, from blocks of bytes.

The compiled form of the line reader in ``assay.formats.trec_lines``, which is the definition. It reads whole
lines from a buffer, any blanks between fields, and stops at the first line that it cannot vouch for; the
definition reads that block again and says what is wrong. Numbers that need Python's ``float`` are listed with
their place and put in afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.kernels.decimals import decimal, powers
from assay.kernels.jit import compiled
from assay.kernels.vocabulary import Vocabulary, code_of, known_code

Bytes = NDArray[np.uint8]
Codes = NDArray[np.int32]
Counts = NDArray[np.int64]
Words = NDArray[np.uint64]
Floats = NDArray[np.float64]
DONE, FAULT, FULL = 0, 1, 2
LINES, ROWS, SEGMENTS, SLOW, COMMENTS, EMPTY, EXTRA, PLACE, WIDE, STATE = range(10)
"""Places in the array of counts that `scanned_lines` keeps; WIDE is the place of a line with many fields."""

MANY_FIELDS = 12
_ONE, _SIXTEEN = np.uint64(1), np.uint64(16)
PIECE = 1 << 21


class Layout(NamedTuple):
    """Which fields a line has: ids in the first and the third, a number at `value`.

    `fields` is how many a line must have (`exact`) or have at least; `whole` asks for an integer.
    """

    fields: int
    value: int
    exact: bool
    whole: bool


RUN = Layout(fields=6, value=4, exact=False, whole=False)
RANKS = Layout(fields=6, value=3, exact=False, whole=True)
QRELS = Layout(fields=4, value=3, exact=True, whole=True)


class Block(NamedTuple):
    """What is left to look at in a block that has been read.

    Attributes:
        value: The block's numbers; those in `slow` are still to be written.
        slow: Shape (n, 3): row in `value`, start and stop of a number in the buffer that needs ``float``.
        wide: Place of a line with very many fields, or -1.
    """

    value: Floats
    slow: Counts
    wide: int


@dataclass
class Scan:
    """What one worker has read: columns in pieces of many rows, segments one array per block, and counts."""

    layout: Layout
    queries: Vocabulary = field(default_factory=Vocabulary)
    passages: Vocabulary = field(default_factory=Vocabulary)
    segment_start: list[Counts] = field(default_factory=list)
    segment_query: list[Codes] = field(default_factory=list)
    rows: int = 0
    lines: int = 0
    comments: int = 0
    empty: int = 0
    extra: int = 0
    _passage: list[Codes] = field(default_factory=list)
    _value: list[Floats] = field(default_factory=list)
    _used: list[int] = field(default_factory=list)
    _slow: Counts = field(default_factory=lambda: np.empty((0, 3), np.int64))

    def read(self, buffer: Bytes, start: int, stop: int) -> Block | None:
        """Reads the lines of ``buffer[start:stop]``, which ends with a line feed, and keeps their columns.

        Returns:
            What the caller has to look at; None where the block has a fault, and then nothing more may be read.
        """
        most = (stop - start) // (2 * self.layout.fields) + 1
        passage, value = self._room(most)
        segment_start, segment_query = np.empty(most, np.int64), np.empty(most, np.int32)
        if len(self._slow) < most:
            self._slow = np.empty((most, 3), np.int64)
        counts = np.zeros(STATE, np.int64)
        counts[PLACE], counts[WIDE] = start, -1
        layout, tables = self.layout, powers()
        while True:
            state = scanned_lines(
                buffer, stop, layout.fields, layout.value, layout.exact, layout.whole,
                passage, value, segment_start, segment_query, self._slow, counts,
                *self.queries.arrays, *self.passages.arrays, *tables,
            )  # fmt: skip
            if state != FULL:
                break
            place = int(counts[PLACE])
            length = int(np.argmax(buffer[place:stop] == 10))
            for vocabulary in (self.queries, self.passages):
                vocabulary.make_room(1, length)
        if state == FAULT:
            return None
        rows, segments = int(counts[ROWS]), int(counts[SEGMENTS])
        self.segment_start.append(segment_start[:segments] + self.rows)
        self.segment_query.append(segment_query[:segments].copy())
        self._used[-1] += rows
        self.rows += rows
        self.lines += int(counts[LINES])
        self.comments += int(counts[COMMENTS])
        self.empty += int(counts[EMPTY])
        self.extra += int(counts[EXTRA])
        return Block(value[:rows], self._slow[: counts[SLOW]], int(counts[WIDE]))

    def move_rows(self, passage: Codes, value: Floats, codes: Codes | None) -> None:
        """Writes the columns into arrays of `rows` rows and lets go of them piece by piece.

        Args:
            passage: Where to write passage codes.
            value: Where to write numbers.
            codes: New code for each code of `passages`; None to keep them.
        """
        end = self.rows
        while self._used:
            used = self._used.pop()
            start = end - used
            piece = self._passage.pop()[:used]
            if codes is None:
                passage[start:end] = piece
            else:
                np.take(codes, piece, out=passage[start:end], mode="clip")
            value[start:end] = self._value.pop()[:used]
            end = start

    def _room(self, rows: int) -> tuple[Codes, Floats]:
        """Where the next `rows` rows may be written."""
        if not self._used or len(self._passage[-1]) - self._used[-1] < rows:
            length = max(rows, PIECE)
            self._passage.append(np.empty(length, np.int32))
            self._value.append(np.empty(length, np.float64))
            self._used.append(0)
        return self._passage[-1][self._used[-1] :], self._value[-1][self._used[-1] :]


@compiled()
def scanned_lines(
    data: Bytes, stop: int, fields: int, at_value: int, exact: bool, whole: bool,
    passage: Codes, value: Floats, segment_start: Counts, segment_query: Codes,
    slow: Counts, counts: Counts,
    q_table: Words, q_keys: Words, q_pool: Bytes, q_borders: Counts, q_size: Counts,
    p_table: Words, p_keys: Words, p_pool: Bytes, p_borders: Counts, p_size: Counts,
    high: Words, low: Words, ten: Floats, two: Floats,
) -> int:  # fmt: skip
    """Reads lines into columns until the end (DONE), a fault (FAULT), or a vocabulary without room (FULL).

    `counts` is read and kept up to date, so that a call after FULL goes on where the last one stopped. A row
    belongs to the last segment that starts at or before it.
    """
    at = counts[PLACE]
    row = counts[ROWS]
    segment = counts[SEGMENTS]
    lines = 0
    query = at
    query_length = np.int64(-1)
    state = 0
    line = at
    while at < stop:
        line = at
        at = _past_blanks(data, at)
        if data[at] == 10 or data[at] == 35:
            counts[EMPTY if data[at] == 10 else COMMENTS] += 1
            while data[at] != 10 and data[at] != 0:
                at += 1
            if data[at] == 0:
                state = 1
                break
            lines += 1
            at += 1
            continue
        start = at
        same = 0
        while same < query_length and data[query + same] == data[start + same]:
            same += 1
        if same == query_length and _is_blank(data[start + same]):
            at = start + same
            new = False
        else:
            q_key, at = _key(data, at)
            new = True
        query = start
        query_length = at - start
        at = _past_blanks(data, at)
        found = 1
        if data[at] != 10 and data[at] != 0:
            at = _past_blanks(data, _past_field(data, at))
            found = 2
        first = at
        p_key, at = _key(data, at)
        length = at - first
        at = _past_blanks(data, at)
        if length > 0:
            found = 3
            if at_value == 4 and data[at] != 10 and data[at] != 0:
                at = _past_blanks(data, _past_field(data, at))
                found = 4
        begin = at
        number = 0.0
        end = np.int64(-1)
        if found == at_value:
            if whole:
                number, end = _integer(data, at)
            else:
                number, end = decimal(data, at, high, low, ten, two)
        told = end >= 0 and (_is_blank(data[end]) or data[end] == 10)
        if told:
            at = _past_blanks(data, end)
            found += 1
        while data[at] != 10 and data[at] != 0:
            end = _past_field(data, at)
            at = _past_blanks(data, end)
            found += 1
            if found == at_value + 1:
                slow[counts[SLOW], 2] = end
        if data[at] == 0 or found < fields or (exact and found != fields):
            state = 1
            break
        if 3 * (q_size[0] + 1) > len(q_table) or q_size[1] + query_length > len(q_pool):
            state = 2
            break
        if 3 * (p_size[0] + 1) > len(p_table) or p_size[1] + length > len(p_pool):
            state = 2
            break
        if new:
            code = code_of(data, query, query + query_length, q_key, q_table, q_keys, q_pool, q_borders, q_size)
            if code < 0:
                state = 1
                break
            if segment == 0 or segment_query[segment - 1] != code:
                segment_start[segment] = row
                segment_query[segment] = code
                segment += 1
        code = known_code(data, first, length, p_key, p_table, p_pool, p_borders)
        if code < 0:
            code = code_of(data, first, first + length, p_key, p_table, p_keys, p_pool, p_borders, p_size)
            if code < 0:
                state = 1
                break
        passage[row] = code
        value[row] = number
        if not told:
            slow[counts[SLOW], 0] = row
            slow[counts[SLOW], 1] = begin
            counts[SLOW] += 1
        if found != fields:
            counts[EXTRA] += 1
            if found >= 12 and counts[WIDE] < 0:
                counts[WIDE] = line
        lines += 1
        row += 1
        at += 1
    counts[LINES] += lines
    counts[PLACE] = line
    counts[ROWS] = row
    counts[SEGMENTS] = segment
    return state


@compiled(inline=True)
def _key(data: Bytes, start: np.int64) -> tuple[np.uint64, np.int64]:
    """The key of the field that starts at ``data[start]``, and where it ends."""
    at = np.uint64(start)
    word = np.uint64(0)
    folded = np.uint64(0)
    room = 8
    while data[at] > 32 or not (_is_blank(data[at]) or data[at] == 10 or data[at] == 0):
        if room == 0:
            folded = (folded ^ word) * np.uint64(0xD6E8FEB86659FD93)
            folded ^= folded >> np.uint64(32)
            word = np.uint64(0)
            room = 8
        word = (word << np.uint64(8)) | np.uint64(data[at])
        room -= 1
        at += _ONE
    return folded ^ word, np.int64(at)


@compiled(inline=True)
def _is_blank(byte: int) -> bool:
    """Whether a byte is a blank: space, tab, vertical tab, form feed, carriage return."""
    return byte == 32 or (9 <= byte <= 13 and byte != 10)


@compiled(inline=True)
def _past_blanks(data: Bytes, start: np.int64) -> np.int64:
    at = np.uint64(start)
    while _is_blank(data[at]):
        at += _ONE
    return np.int64(at)


@compiled(inline=True)
def _past_field(data: Bytes, start: np.int64) -> np.int64:
    at = np.uint64(start)
    while data[at] > 32 or not (_is_blank(data[at]) or data[at] == 10 or data[at] == 0):
        at += _ONE
    return np.int64(at)


@compiled(inline=True)
def _integer(data: Bytes, start: np.int64) -> tuple[float, np.int64]:
    """The integer of up to 15 digits that starts at ``data[start]``, and where it ends (-1: there is none)."""
    at = np.uint64(start)
    negative = data[at] == 45
    if negative or data[at] == 43:
        at += _ONE
    first = at
    number = np.int64(0)
    while 48 <= data[at] <= 57 and at - first < _SIXTEEN:
        number = number * 10 + np.int64(data[at]) - 48
        at += _ONE
    if at == first or at - first == _SIXTEEN:
        return 0.0, np.int64(-1)
    return float(-number if negative else number), np.int64(at)
