"""Sums of resampled values: bootstrap draws and sign flips.

Every draw is a function of the seed and of its place alone: word `w` of the stream is SplitMix64 of
``start + w`` (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014), so any
number of threads, any split of the work and both forms of a kernel give the same bits. Sums run in a fixed
order.

- `resampled_sums`: draws with replacement. A small load takes the NumPy definition and compiles nothing; a
  large one takes the compiled form, on all cores.
- `resampled_count_sums`: the same distribution for few distinct values, by drawing how often each value
  comes.
- `random_sign_sums`, `all_sign_sums`: sums under sign flips. NumPy alone: eleven signs are looked up at once
  in a table of their 2,048 sums, so no compiled form is needed.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from assay.kernels.jit import compiled

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]

SMALL_DRAWS = 1 << 23
"""Up to this many draws the NumPy definition takes about 0.04 s, far less than loading a compiled kernel."""

EXACT_UNITS = 20
"""Up to this many units every sign pattern is tried: 2**20 sums take about 10 ms."""

_MASK = (1 << 64) - 1
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_S27, _S30, _S31, _S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
_LANES = 8
_WORDS = _LANES // 2
_SIGN_BITS = 11
_SIGN_GROUPS = 64 // _SIGN_BITS


def resampled_sums(values: Floats, *, resamples: int, seed: int, threads: int | None = None) -> Floats:
    """Sums of `resamples` bootstrap samples, each of ``len(values)`` draws with replacement.

    Two vectors of one length resampled with one seed are drawn at the same places, so sums and sizes of
    clusters can be resampled in two calls.

    Args:
        values: One value per unit, shape (n,), 1 <= n < 2**32. The result depends on their order: sort them
            first where it must not.
        resamples: How many samples, R.
        seed: Any integer.
        threads: How many threads a large load may use; None for as many as there are cores. The bits of the
            result do not depend on it.

    Returns:
        Shape (R,), float64.

    Example:
        >>> resampled_sums(np.array([2.0, 2.0, 2.0]), resamples=2, seed=0).tolist()
        [6.0, 6.0]
    """
    if len(values) * resamples <= SMALL_DRAWS:
        return resampled_sums_numpy(values, resamples=resamples, seed=seed)
    return resampled_sums_compiled(values, resamples=resamples, seed=seed, threads=threads)


def resampled_sums_numpy(values: Floats, *, resamples: int, seed: int) -> Floats:
    """The definition of `resampled_sums`.

    Sample `r` reads the words ``r * W`` to ``(r + 1) * W`` of the stream, four words for eight values. The
    low half of a word gives the even lane, the high half the odd one; a half `h` draws place ``h * n >> 32``
    (bias below n / 2**32). Eight lanes are summed apart, then in pairs.
    """
    n = len(values)
    blocks = -(-n // _LANES)
    rows = np.arange(resamples, dtype=np.uint64)[:, None] * np.uint64(blocks * _WORDS)
    words: Words = np.empty((resamples, _WORDS), dtype=np.uint64)
    places = np.empty((resamples, _LANES), dtype=np.uint64)
    lanes = np.zeros((resamples, _LANES))
    first: Words = np.add(rows, np.arange(_WORDS, dtype=np.uint64), dtype=np.uint64)
    first += np.uint64(_start(seed, stream=1))
    for block in range(blocks):
        _mix(first + np.uint64(block * _WORDS), out=words)
        np.bitwise_and(words, _LOW_HALF, out=places[:, 0::2])
        np.right_shift(words, _S32, out=places[:, 1::2])
        places *= np.uint64(n)
        places >>= _S32
        width = min(_LANES, n - block * _LANES)
        lanes[:, :width] += values[places[:, :width].view(np.int64)]
    return _lane_totals(lanes)


def resampled_sums_compiled(values: Floats, *, resamples: int, seed: int, threads: int | None = None) -> Floats:
    """The compiled form of `resampled_sums`: the same bits for any number of threads."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    start = np.uint64(_start(seed, stream=1))
    lanes = np.zeros((resamples, _LANES))
    # A thread costs as much to start as a million draws.
    workers = threads or min(_cores(), len(values) * resamples // 1_000_000)
    workers = max(1, min(workers, resamples))
    if workers == 1:
        _draw_lanes(values, start, 0, lanes)
        return _lane_totals(lanes)
    # An empty share first: the kernel is compiled once, here, and not by threads that wait for each other.
    _draw_lanes(values, start, 0, lanes[:0])
    cuts = [resamples * worker // workers for worker in range(workers + 1)]
    with ThreadPoolExecutor(workers) as pool:
        shares = [pool.submit(_draw_lanes, values, start, low, lanes[low:high]) for low, high in pairwise(cuts)]
        for share in shares:
            share.result()
    return _lane_totals(lanes)


def resampled_count_sums(values: Floats, counts: NDArray[np.int64], *, resamples: int, seed: int) -> Floats:
    """Sums of bootstrap samples of a vector with few distinct values, drawn as counts of these values.

    The distribution is that of `resampled_sums` for independent units; the draws are not the same ones. Costs
    about 0.1 ms a thousand resamples and value, whatever the number of units.

    Args:
        values: The distinct values, shape (k,).
        counts: How many units have each value, shape (k,), all at least 1.
        resamples: How many samples, R.
        seed: Any integer.

    Returns:
        Shape (R,), float64.

    Example:
        >>> resampled_count_sums(np.array([0.5]), np.array([4]), resamples=2, seed=0).tolist()
        [2.0, 2.0]
    """
    n = int(counts.sum())
    # NumPy promises the stream of its older generator for good, that of `Generator` for one version only.
    draws = np.random.RandomState(_start(seed, stream=2) >> 32).multinomial(n, counts / n, size=resamples)
    sums = np.zeros(resamples)
    for column, value in enumerate(values):
        sums += draws[:, column] * value
    return sums


def random_sign_sums(magnitudes: Floats, *, resamples: int, seed: int) -> Floats:
    """Sums of the values under `resamples` random sign vectors, each sign + or - with probability 1/2.

    Args:
        magnitudes: One value per unit, shape (m,), m >= 1. Leave zeros out: they change nothing.
        resamples: How many sign vectors, R.
        seed: Any integer.

    Returns:
        Shape (R,), float64.

    Example:
        >>> sorted(set(random_sign_sums(np.array([1.0, 2.0]), resamples=50, seed=0).tolist()))
        [-3.0, -1.0, 1.0, 3.0]
    """
    groups = -(-len(magnitudes) // _SIGN_BITS)
    blocks = -(-groups // _SIGN_GROUPS)
    first = np.arange(resamples, dtype=np.uint64) * np.uint64(blocks) + np.uint64(_start(seed, stream=3))
    sums = np.zeros(resamples)
    words: Words = np.empty(resamples, dtype=np.uint64)
    mask = np.uint64((1 << _SIGN_BITS) - 1)
    for group in range(groups):
        block, place = divmod(group, _SIGN_GROUPS)
        if place == 0:
            _mix(first + np.uint64(block), out=words)
        # A short last group leaves the high bits of its pattern out: the table has only as many entries.
        table = _sign_table(magnitudes[group * _SIGN_BITS : (group + 1) * _SIGN_BITS])
        patterns = (words >> np.uint64(place * _SIGN_BITS)) & mask & np.uint64(len(table) - 1)
        sums += table[patterns.view(np.int64)]
    return sums


def all_sign_sums(magnitudes: Floats) -> Floats:
    """Sums of the values under every sign vector whose first sign is +; the others are their negatives.

    Args:
        magnitudes: One value per unit, shape (m,), 1 <= m <= `EXACT_UNITS`.

    Returns:
        Shape (2 ** (m - 1),), float64.

    Example:
        >>> all_sign_sums(np.array([4.0, 2.0, 1.0])).tolist()
        [1.0, 5.0, 3.0, 7.0]
    """
    return np.asarray(magnitudes[0] + _sign_table(magnitudes[1:]))


def _sign_table(magnitudes: Floats) -> Floats:
    """Sums under all sign vectors; bit i of the row number is the sign of value i, 1 for +."""
    table = np.zeros(1)
    for magnitude in magnitudes:
        table = np.concatenate([table - magnitude, table + magnitude])
    return table


@compiled()
def _draw_lanes(values: Floats, start: np.uint64, first: int, lanes: Floats) -> None:
    n = np.uint64(len(values))
    full = len(values) // 8
    blocks = (len(values) + 7) // 8
    words = np.uint64(blocks * 4)
    for row in range(len(lanes)):
        a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = 0.0
        base = start + np.uint64(first + row) * words
        for block in range(full):
            w0 = _word(base + np.uint64(4 * block))
            w1 = _word(base + np.uint64(4 * block + 1))
            w2 = _word(base + np.uint64(4 * block + 2))
            w3 = _word(base + np.uint64(4 * block + 3))
            a0 += values[((w0 & _LOW_HALF) * n) >> _S32]
            a1 += values[((w0 >> _S32) * n) >> _S32]
            a2 += values[((w1 & _LOW_HALF) * n) >> _S32]
            a3 += values[((w1 >> _S32) * n) >> _S32]
            a4 += values[((w2 & _LOW_HALF) * n) >> _S32]
            a5 += values[((w2 >> _S32) * n) >> _S32]
            a6 += values[((w3 & _LOW_HALF) * n) >> _S32]
            a7 += values[((w3 >> _S32) * n) >> _S32]
        sums = lanes[row]
        sums[0], sums[1], sums[2], sums[3] = a0, a1, a2, a3
        sums[4], sums[5], sums[6], sums[7] = a4, a5, a6, a7
        for lane in range(len(values) - full * 8):
            word = _word(base + np.uint64(4 * full + lane // 2))
            half = word & _LOW_HALF if lane % 2 == 0 else word >> _S32
            sums[lane] += values[(half * n) >> _S32]


@compiled(inline=True)
def _word(place: np.uint64) -> np.uint64:
    word = place * _GOLDEN
    word = (word ^ (word >> _S30)) * _FIRST
    word = (word ^ (word >> _S27)) * _SECOND
    return word ^ (word >> _S31)


def _mix(places: Words, *, out: Words) -> None:
    np.multiply(places, _GOLDEN, out=out)
    for shift, factor in ((_S30, _FIRST), (_S27, _SECOND)):
        out ^= out >> shift
        out *= factor
    out ^= out >> _S31


def _start(seed: int, *, stream: int) -> int:
    """Where the words of a seed start; far apart for neighbouring seeds, and for draws and signs."""
    word = (seed * int(_GOLDEN) + stream * int(_FIRST)) & _MASK
    for _ in range(2):
        word = ((word ^ (word >> 30)) * int(_FIRST)) & _MASK
        word = ((word ^ (word >> 27)) * int(_SECOND)) & _MASK
        word ^= word >> 31
    return word


def _lane_totals(lanes: Floats) -> Floats:
    pairs = lanes[:, 0::2] + lanes[:, 1::2]
    return np.asarray((pairs[:, 0] + pairs[:, 1]) + (pairs[:, 2] + pairs[:, 3]))


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
