"""Byte strings as codes in order of first appearance: the hash table of the compiled readers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.kernels.jit import compiled

Bytes = NDArray[np.uint8]
Codes = NDArray[np.int32]
Counts = NDArray[np.int64]
Words = NDArray[np.uint64]
Item = TypeVar("Item", bound=np.generic)


@dataclass
class Vocabulary:
    """Distinct byte strings with codes in order of first appearance.

    `table` is a hash table of pairs: a string's key and its code + 1 (0: free). A key is the string itself up
    to eight bytes, a hash beyond. `keys` has them by code, `pool` the bytes of code `c` at
    ``borders[c]:borders[c + 1]``; `size` is the number of strings and of bytes.
    """

    table: Words = field(default_factory=lambda: np.zeros(1 << 13, np.uint64))
    keys: Words = field(default_factory=lambda: np.zeros(1 << 12, np.uint64))
    pool: Bytes = field(default_factory=lambda: np.empty(1 << 16, np.uint8))
    borders: Counts = field(default_factory=lambda: np.zeros((1 << 12) + 1, np.int64))
    size: Counts = field(default_factory=lambda: np.zeros(2, np.int64))

    def __len__(self) -> int:
        return int(self.size[0])

    @property
    def arrays(self) -> tuple[Words, Words, Bytes, Counts, Counts]:
        """What the compiled functions take."""
        return self.table, self.keys, self.pool, self.borders, self.size

    def make_room(self, strings: int, length: int) -> None:
        """Room for `strings` more strings of `length` bytes in all."""
        count, used = int(self.size[0]), int(self.size[1])
        if used + length > len(self.pool):
            self.pool = _grown(self.pool, used, max(2 * len(self.pool), used + length))
        if 3 * (count + strings) > len(self.table):
            slots = 1 << (2 * (count + strings)).bit_length()
            self.keys = _grown(self.keys, count, slots)
            self.borders = _grown(self.borders, count + 1, slots + 1)
            self.table = np.zeros(2 * slots, np.uint64)
            rehashed(self.table, self.keys, count)

    def adopted(self, other: Vocabulary) -> Codes:
        """The codes here of every string of `other`, int32; new strings are added."""
        codes = np.empty(len(other), np.int32)
        self.make_room(len(other), int(other.size[1]))
        interned(other.pool, other.borders, other.keys, codes, *self.arrays)
        return codes

    @property
    def columns(self) -> tuple[Bytes, Counts]:
        """Bytes and borders of the strings by code."""
        return self.pool[: self.size[1]].copy(), self.borders[: self.size[0] + 1].copy()


def _grown(array: NDArray[Item], used: int, length: int) -> NDArray[Item]:
    """An array of `length` whose first `used` items are those of `array`."""
    grown = np.empty(length, array.dtype)
    grown[:used] = array[:used]
    return grown


@compiled()
def rehashed(table: Words, keys: Words, count: int) -> None:
    """Enters `count` distinct strings into an empty table."""
    slots = len(table) // 2
    for code in range(count):
        place = _place(keys[code], slots)
        while table[2 * place + 1] != 0:
            place = (place + 1) & (slots - 1)
        table[2 * place] = keys[code]
        table[2 * place + 1] = code + 1


@compiled()
def interned(
    data: Bytes, starts: Counts, data_keys: Words, codes: Codes,
    table: Words, keys: Words, pool: Bytes, borders: Counts, size: Counts,
) -> None:  # fmt: skip
    """Writes the code of every string ``data[starts[i]:starts[i + 1]]``; the table must have room."""
    for row in range(len(codes)):
        codes[row] = code_of(data, starts[row], starts[row + 1], data_keys[row], table, keys, pool, borders, size)


@compiled()
def code_of(
    data: Bytes, start: np.int64, stop: np.int64, key: np.uint64,
    table: Words, keys: Words, pool: Bytes, borders: Counts, size: Counts,
) -> np.int64:  # fmt: skip
    """The code of ``data[start:stop]``, a new one if need be; -1 if these bytes are not UTF-8."""
    length = stop - start
    code = known_code(data, start, length, key, table, pool, borders)
    if code >= 0:
        return code
    if not _utf8(data, start, stop):
        return np.int64(-1)
    slots = len(table) // 2
    place = _place(key, slots)
    while table[2 * place + 1] != 0:
        place = (place + 1) & (slots - 1)
    code = np.int64(size[0])
    used = size[1]
    for k in range(length):
        pool[used + k] = data[start + k]
    borders[code + 1] = used + length
    keys[code] = key
    size[0] = code + 1
    size[1] = used + length
    table[2 * place] = key
    table[2 * place + 1] = code + 1
    return code


@compiled(inline=True)
def known_code(
    data: Bytes, start: np.int64, length: np.int64, key: np.uint64, table: Words, pool: Bytes, borders: Counts
) -> np.int64:
    """The code of a string, or -1 if it is new."""
    slots = len(table) // 2
    place = _place(key, slots)
    while True:
        code = np.int64(table[2 * place + 1]) - 1
        if code < 0:
            return code
        if table[2 * place] == key:
            known = borders[code]
            if borders[code + 1] - known == length:
                k = 0 if length > 8 else length
                while k < length and pool[known + k] == data[start + k]:
                    k += 1
                if k == length:
                    return code
        place = (place + 1) & (slots - 1)


@compiled(inline=True)
def _place(key: np.uint64, slots: int) -> np.int64:
    """The first place in a table to look for a key."""
    mixed = key * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(slots - 1))


@compiled()
def _utf8(data: Bytes, start: np.int64, stop: np.int64) -> bool:
    """Whether bytes are UTF-8 (Unicode Standard, table 3-7)."""
    at = start
    while at < stop:
        lead = data[at]
        at += 1
        if lead < 0x80:
            continue
        if lead < 0xC2 or lead > 0xF4:
            return False
        more = 1 if lead < 0xE0 else (2 if lead < 0xF0 else 3)
        if at + more > stop:
            return False
        least = 0xA0 if lead == 0xE0 else (0x90 if lead == 0xF0 else 0x80)
        most = 0x9F if lead == 0xED else (0x8F if lead == 0xF4 else 0xBF)
        if data[at] < least or data[at] > most:
            return False
        for k in range(1, more):
            if data[at + k] & 0xC0 != 0x80:
                return False
        at += more
    return True
