"""Suspects: places in UTF-8 text near which an id of a house may stand, found by looking at bytes.

A scan of many texts asks for these places first and reads only what lies around them. No id may be missed: whatever
`assay.building.identifiers.identifiers` finds in a text lies around a place found here.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]
Set = npt.NDArray[np.bool_]


def _set(members: bytes, *, foreign: bool = False) -> Set:
    """Which bytes are in a set; with `foreign`, also all bytes of characters beyond ASCII."""
    found = np.isin(np.arange(256), list(members))
    return found | (np.arange(256) >= 0x80) if foreign else found


_DIGIT = _set(b"0123456789")
_WORD = _set(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
_HEADS, _LOW_HEADS = _set(b"EPOHG"), _set(b"epohg")
_NUMERO = _set(b"osOSrR.nN")
_N = _set(b"nN")
_CAPITAL = _set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_PLAIN_BLANK = _set(b" \t\r\n\x0b\x0c")
_BLANK = _set(b" \t\r\n\x0b\x0c", foreign=True)
# Between the letter and its first digit stand blanks, dashes, and letters that scans take for digits.
_BETWEEN = _set(b" -\t\r\n\x0b\x0clI", foreign=True)
_STEPS = 16
_REACH = 48


class _Marks:
    """Runs of ASCII digits in a buffer, and the places of other bytes asked for, found in one pass."""

    def __init__(self, data: bytes, others: bytes) -> None:
        table = (_DIGIT | _set(others + b"\xef\xe2\xc2")).astype(np.uint8).tobytes()
        self.buffer = buffer = np.frombuffer(data, np.uint8)
        marked = np.flatnonzero(np.frombuffer(data.translate(table), np.bool_))
        byte = buffer[marked]
        digit = _DIGIT[byte]
        digits = marked[digit]
        first = np.flatnonzero(np.concatenate([[True], np.diff(digits) > 1])) if len(digits) else np.zeros(0, np.int64)
        self.start = digits[first]
        self.end = digits[np.append(first[1:], len(digits)) - 1] + 1 if len(digits) else digits
        self._other, self._byte = marked[~digit], byte[~digit]

    def of(self, word: bytes) -> Places:
        """Where a word stands whose first byte was asked for."""
        at: Places = self._other[self._byte == word[0]]
        at = at[at <= len(self.buffer) - len(word)]
        for step, byte in enumerate(word[1:], 1):
            at = at[self.buffer[at + step] == byte]
        return at

    @property
    def disguised(self) -> Places:
        """Places of full-width characters, which look like plain ones, and of invisible ones."""
        words = (
            b"\xef\xbc",
            b"\xef\xbb\xbf",
            b"\xc2\xad",
            b"\xe2\x80\x8b",
            b"\xe2\x80\x8c",
            b"\xe2\x80\x8d",
            b"\xe2\x81\xa0",
        )
        return np.concatenate([self.of(word) for word in words])

    def back(self, start: Places, over: Set) -> Places:
        """For each place the last one before it whose byte is not in `over`, -1 at the beginning."""
        at = start - 1
        moving = np.arange(len(at))
        for _ in range(_STEPS):
            moving = moving[(at[moving] >= 0) & over[self.buffer[at[moving]]]]
            if not len(moving):
                break
            at[moving] -= 1
        return at

    def at(self, places: Places) -> Bytes:
        """The bytes at places, 0 outside the buffer."""
        inside = (places >= 0) & (places < len(self.buffer))
        return np.where(inside, self.buffer[np.clip(places, 0, len(self.buffer) - 1)], 0).astype(np.uint8)


def european_places(data: bytes) -> Places:
    """Places near which an id of the European Parliament may stand, sorted; its addresses hold ids.

    Example:
        >>> european_places(b"Directive 2014/53/EU, E-12/2020").tolist()
        [24]
    """
    marks = _Marks(data, b"")
    start, end = marks.start, marks.end
    if not len(start):
        return np.unique(marks.disguised)
    before = marks.at(start - 1)
    # Only what a dash, a blank or a letter of a scan precedes is worth a walk back to the letter.
    worth = np.flatnonzero(_BETWEEN[before])
    head = marks.back(start[worth], _BETWEEN)
    letter = marks.at(head)
    plain = _HEADS[letter] | (_LOW_HEADS[letter] & (head == start[worth] - 2) & (before[worth] == ord("-")))
    # Percent-encoded, what stands before it ends in a letter or digit: `%2BE-2012`.
    lettered = worth[plain & (~_WORD[marks.at(head - 1)] | (marks.at(head - 3) == ord("%")))]
    after, beyond = marks.at(end), marks.at(end + 1)
    sloping = np.flatnonzero(((after == ord("/")) & _DIGIT[beyond]) | (after >= 0x80))
    numero = _numero(marks, sloping)
    celex = np.flatnonzero((end - start == 5) & (marks.at(start) == ord("9")) & (_HEADS | _LOW_HEADS)[after])
    return np.unique(np.concatenate([start[lettered], start[numero], start[celex], marks.disguised]))


def _numero(marks: _Marks, rows: Places) -> Places:
    """Those of some runs of digits that `No`, `Nos`, `n°` or `Nr` stands before, and a year after."""
    last = marks.back(marks.start[rows], _BLANK)
    named = _NUMERO[marks.at(last)]
    rows, last = rows[named], last[named]
    found = np.zeros(len(rows), np.bool_)
    for step in range(4):
        named = _N[marks.at(last - step)] & ~_WORD[marks.at(last - step - 1)]
        # `(EC) No 1049/2001` is a regulation.
        other = marks.back(last - step, _PLAIN_BLANK)
        found |= named & ~((marks.at(other) == ord(")")) & _CAPITAL[marks.at(other - 1)] & (other < last - step - 1))
    year_end = marks.end[np.minimum(rows + 1, len(marks.end) - 1)]
    beyond = marks.at(year_end)
    plain = marks.at(marks.end[rows]) < 0x80
    kept: Places = rows[found & ~(plain & (_WORD[beyond] | (beyond == ord("/"))) & ~_rev(marks, year_end))]
    return kept


def _rev(marks: _Marks, at: Places) -> Set:
    """Whether `/rev` or `-ASW` may follow."""
    follows: Set = (marks.at(at) == ord("/")) & np.isin(marks.at(at + 1), list(b"r "))
    return follows


def british_places(data: bytes) -> Places:
    """Places near which an id of the UK Parliament may stand, sorted.

    Example:
        >>> british_places(b"In 2020 it was 5. See PQ 12.").tolist()
        [25]
    """
    marks = _Marks(data, b"QqUH")
    start, end = marks.start, marks.end
    if not len(start):
        return np.unique(marks.disguised)
    words = (b"Quest", b"quest", b"QUEST", b"Qs", b"UIN", b"HL", b"Hl", b"hl")
    # In PQ and WPQ the Q comes last.
    cued = marks.of(b"Q")
    cues = np.sort(np.concatenate([cued[_set(b"P")[marks.at(cued - 1)]], *(marks.of(word) for word in words)]))
    near = np.searchsorted(cues, start, "right") > np.searchsorted(cues, start - _REACH, "left")
    sent = np.zeros(len(start), np.bool_)
    for word in (b" ot", b" dna"):
        after = end - start >= 4
        for step, byte in enumerate(word, 1):
            found = marks.at(start - step)
            after &= (found == byte) | (found >= 0x80)
        sent |= after
    # In an address the number follows the day: `/2023-12-18/7292`, perhaps percent-encoded.
    last = marks.at(start - 1)
    dated = ((last == ord("/")) | (last == ord("."))) & (marks.at(start - 4) == ord("-"))
    dated |= (last == ord("F")) | (last == ord("f")) | (last == ord("L")) | (last == ord("l"))
    return np.unique(np.concatenate([start[near | sent | dated], marks.disguised]))
