"""Decimal numbers as the nearest float64, from bytes.

The definition is Python's ``float``. The compiled form gives the same bits or declines, and then the caller
asks ``float``. Two ways, both exact:

- up to 2**53 and a power of ten up to 10**22: one product or quotient of two exact numbers (Clinger: "How to
  read floating point numbers accurately", PLDI 1990);
- else one product of 64 by 128 bits with the truncated power of five (Lemire: "Number parsing at a gigabyte
  per second", Software: Practice and Experience 51, 2021, section 5). Of more than 19 digits the first 19
  are read, and the result stands where it is the same with the last one raised by one.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.kernels.jit import compiled

REACH = 100
"""Decimal exponents from -REACH to REACH are read by the compiled form; the results are far from subnormal."""

_SPAN = 1024
_U0, _U1, _U2, _U3 = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
_U9, _U10, _U32, _U63, _U64 = np.uint64(9), np.uint64(10), np.uint64(32), np.uint64(63), np.uint64(64)
_SIX = np.uint64(6)
_LOW = np.uint64(0xFFFFFFFF)
_FULL = np.uint64(0xFFFFFFFFFFFFFFFF)
_EDGE = np.uint64(0x1FF)
_EXACT = np.uint64(1 << 53)
_TOP = np.uint64(1 << 63)


class Powers(NamedTuple):
    """Tables of powers: of five as 128 bits (`high`, `low`), of ten and of two as float64."""

    high: NDArray[np.uint64]
    low: NDArray[np.uint64]
    ten: NDArray[np.float64]
    two: NDArray[np.float64]


@cache
def powers() -> Powers:
    """The tables that `decimal` reads, made once a process."""
    words = [_power_of_five(q) for q in range(-REACH, REACH + 1)]
    return Powers(
        np.array([w >> 64 for w in words], np.uint64),
        np.array([w & (1 << 64) - 1 for w in words], np.uint64),
        np.array([10.0**q for q in range(23)]),
        np.array([2.0**k for k in range(-_SPAN + 2, _SPAN)]),
    )


def _power_of_five(exponent: int) -> int:
    """The first 128 bits of ``5**exponent``: rounded up from -27 to -1, where ties occur, else cut off."""
    if exponent >= 0:
        shift = int(5**exponent).bit_length() - 128
        return int(5**exponent >> shift if shift > 0 else 5**exponent << -shift)
    value = int(5**-exponent)
    quotient = (1 << (value.bit_length() + 127)) // value
    return quotient + 1 if exponent >= -27 else quotient


@compiled(inline=True)
def decimal(
    data: NDArray[np.uint8],
    start: np.int64,
    high: NDArray[np.uint64],
    low: NDArray[np.uint64],
    ten: NDArray[np.float64],
    two: NDArray[np.float64],
) -> tuple[float, np.int64]:
    """The number ``[+-]digits[.digits][e[+-]digits]`` that starts at ``data[start]``, and where it ends.

    The end is the place of the first byte that is not part of it, or -1 where no such number starts there or
    it needs ``float``. The data must go on with some other byte after the number.
    """
    at = np.uint64(start)
    negative = data[at] == 45
    if negative or data[at] == 43:
        at += _U1
    word = _U0
    digits = 0
    exponent = np.int64(0)
    first = at
    point = _FULL
    more = False
    while True:
        digit = np.int64(data[at]) - 48
        if 0 <= digit <= 9:
            if digits < 19:
                word = word * _U10 + np.uint64(digit)
                if word > _U0:
                    digits += 1
            else:
                more = more or digit != 0
                exponent += 1
        elif digit == -2 and point == _FULL:
            point = at
        else:
            break
        at += _U1
    if at - first == (_U1 if point != _FULL else _U0):
        return 0.0, np.int64(-1)
    if point != _FULL:
        exponent -= np.int64(at - point) - 1
    if data[at] == 101 or data[at] == 69:
        at += _U1
        below = data[at] == 45
        if below or data[at] == 43:
            at += _U1
        first = at
        power = np.int64(0)
        while 48 <= data[at] <= 57 and at - first < _SIX:
            power = power * 10 + np.int64(data[at]) - 48
            at += _U1
        if at == first or 48 <= data[at] <= 57:
            return 0.0, np.int64(-1)
        exponent += -power if below else power
    if word == _U0:
        return (-0.0 if negative else 0.0), np.int64(at)
    if not more and word <= _EXACT and -22 <= exponent <= 22:
        value = float(word) * ten[exponent] if exponent >= 0 else float(word) / ten[-exponent]
        return (-value if negative else value), np.int64(at)
    if exponent < -100 or exponent > 100:
        return 0.0, np.int64(-1)
    value, told = _rounded(word, exponent, high, low, two)
    if more and told:
        above, told = _rounded(word + _U1, exponent, high, low, two)
        told = told and above == value
    return (-value if negative else value), (np.int64(at) if told else np.int64(-1))


@compiled()
def _rounded(
    word: np.uint64, exponent: np.int64, high: NDArray[np.uint64], low: NDArray[np.uint64], two: NDArray[np.float64]
) -> tuple[float, bool]:
    """``word * 10**exponent`` rounded to nearest, ties to even; the names are those of the paper."""
    zeros = 0
    w = word
    while w < _TOP:
        w <<= _U1
        zeros += 1
    upper, lower = _product(w, high[exponent + 100])
    if upper & _EDGE == _EDGE:
        carry, _ = _product(w, low[exponent + 100])
        lower += carry
        if carry > lower:
            upper += _U1
    if lower == _FULL and (exponent < -27 or exponent > 55):
        return 0.0, False
    top = upper >> _U63
    shift = top + _U9
    mantissa = upper >> shift
    if lower <= _U1 and -4 <= exponent <= 23 and mantissa & _U3 == _U1 and mantissa << shift == upper:
        mantissa -= _U1
    mantissa = (mantissa + (mantissa & _U1)) >> _U1
    binary = ((217706 * exponent) >> 16) + 63 + np.int64(top) - zeros - 52
    return np.float64(mantissa) * two[binary + 1022], True


@compiled(inline=True)
def _product(x: np.uint64, y: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The upper and the lower 64 bits of ``x * y``."""
    x1, x0, y1, y0 = x >> _U32, x & _LOW, y >> _U32, y & _LOW
    low = x0 * y0
    cross = x0 * y1
    middle = x1 * y0 + (low >> _U32) + (cross & _LOW)
    return x1 * y1 + (middle >> _U32) + (cross >> _U32), (middle << _U32) | (low & _LOW)
