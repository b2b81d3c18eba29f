"""Characters: texts as code points, other forms of them that know where they come from, and rolling sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int32]
Places = npt.NDArray[np.int64]
Sums = npt.NDArray[np.uint64]

_BASE = np.uint64(0x9E3779B97F4A7C15)


class Mapped(NamedTuple):
    """A text in another form: character `i` of it comes from character `source[i]` of the text.

    `before[j]` is how many characters of the form come from the text's first `j` characters.
    """

    codes: Codes
    source: Places
    before: Places

    @property
    def text(self) -> str:
        """The form as a string."""
        return text_of(self.codes)


def code_points(text: str) -> Codes:
    """The characters of a text as int32; lone surrogates count as one each.

    Example:
        >>> code_points("a😀").tolist()
        [97, 128512]
    """
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<i4").astype(np.int32, copy=False)


def text_of(codes: Codes) -> str:
    """The text with these characters."""
    return codes.astype("<i4", copy=False).tobytes().decode("utf-32-le", "surrogatepass")


def tabled(codes: Codes, value: Callable[[str], int]) -> npt.NDArray[np.uint8]:
    """A small number per character; `value` is asked once for every different one.

    Example:
        >>> tabled(code_points("a b"), str.isspace).tolist()
        [0, 1, 0]
    """
    present = _present(codes)
    table = np.zeros(int(codes.max(initial=0)) + 1, np.uint8)
    table[present] = [value(chr(code)) for code in present.tolist()]
    return table[codes]


def mapped(codes: Codes, form: Callable[[str], str]) -> Mapped:
    """Every character replaced by its form (none, one or several characters), and where each comes from.

    Example:
        >>> made = mapped(code_points("ﬁ x"), lambda c: {"ﬁ": "fi", " ": ""}.get(c, c))
        >>> made.text, made.source.tolist(), made.before.tolist()
        ('fix', [0, 0, 2], [0, 2, 2, 3])
    """
    present = _present(codes)
    size = int(codes.max(initial=0)) + 1
    forms = [form(chr(code)) for code in present.tolist()]
    length, first = np.zeros(size, np.int32), np.zeros(size, np.int64)
    length[present] = [len(text) for text in forms]
    first[present] = np.cumsum(length[present]) - length[present]
    flat = code_points("".join(forms))
    count = length[codes]
    before = np.zeros(len(codes) + 1, np.int64)
    np.cumsum(count, out=before[1:])
    if not len(count) or count.max() <= 1:
        source = np.flatnonzero(count)
        return Mapped(flat[first[codes[source]]], source, before)
    source = np.repeat(np.arange(len(codes), dtype=np.int64), count)
    within = np.arange(len(source), dtype=np.int64) - before[source]
    return Mapped(flat[first[codes[source]] + within], source, before)


def rolling_sums(codes: Codes, doublings: int) -> Sums:
    """For each place a sum over the `2**doublings` characters from there; equal stretches have equal sums.

    Places too near to the end have none. Unequal stretches rarely have equal sums: compare what is found.

    Example:
        >>> sums = rolling_sums(code_points("abab"), 1)
        >>> len(sums), sums[0] == sums[2], sums[0] == sums[1]
        (3, np.True_, np.False_)
    """
    sums = codes.astype(np.uint64)
    factor, step = _BASE, 1
    for _ in range(doublings):
        sums = sums[: max(0, len(sums) - step)] * factor + sums[step:]
        with np.errstate(over="ignore"):
            factor = factor * factor
        step *= 2
    return sums


def _present(codes: Codes) -> Places:
    """The different characters, ascending."""
    seen = np.zeros(int(codes.max(initial=0)) + 1, np.bool_)
    seen[codes] = True
    return np.flatnonzero(seen)
