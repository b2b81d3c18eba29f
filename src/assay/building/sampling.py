"""Sampling: a seeded draw from strata, the same whatever the order of what is drawn from."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from assay.errors import UsageError

Integers = npt.NDArray[np.int64]


def allocated(sizes: Sequence[int] | Integers, n: int, *, minimum: int = 3) -> Integers:
    """How many of `n` fall to each stratum: in proportion to its size, but at least `minimum`, at most all it has.

    Where `n` is too small for that minimum, it is lowered to what every stratum can get. Fractions go to the strata
    with the largest ones (largest remainder), the earlier stratum first among equals.

    Args:
        sizes: Size of each stratum, none of them 0.
        n: How many in all; all there are where `n` is more.
        minimum: The least of each stratum.

    Raises:
        UsageError: `n` is less than the number of strata, or the minimum is less than 1.

    Example:
        >>> allocated([90, 9, 1], 20).tolist()
        [16, 3, 1]
    """
    size = np.asarray(sizes, np.int64)
    if minimum < 1 or n < len(size):
        raise UsageError(
            f"a draw of {n} from {len(size)} strata with at least {minimum} each: take a minimum of 1 or more, and at"
            f" least {len(size)} in all"
        )
    if not len(size):
        return size
    n = min(n, int(size.sum()))
    least = np.minimum(size, min(minimum, n // len(size)))
    exact = size * (n / int(size.sum()))
    raised = exact < least
    while True:
        # What the small strata are given beyond their share, the others give in proportion.
        share = (n - int(least[raised].sum())) / max(1, int(size[~raised].sum()))
        exact = np.where(raised, least, share * size)
        more = exact < least - 1e-9
        if not more.any():
            break
        raised |= more
    count: Integers = np.floor(exact + 1e-9).astype(np.int64)
    order = np.argsort(-np.round(exact - count, 9), kind="stable")
    count[order[: n - int(count.sum())]] += 1
    return count


def drawn(keys: Sequence[str], strata: Integers, *, counts: Integers, seed: int) -> Integers:
    """Rows drawn from each stratum, in an order that tells nothing of it.

    A row's place is the SHA-256 of the seed and its key, so that a draw depends on neither the order nor the number of
    other rows, and a larger draw with the same seed holds the smaller one wherever no stratum's count falls.

    Args:
        keys: A name for each row, none of them twice.
        strata: The stratum of each row.
        counts: How many to draw from each stratum.
        seed: Any whole number.

    Example:
        >>> rows = drawn(list("abcdef"), np.array([0, 0, 0, 1, 1, 1]), counts=np.array([2, 1]), seed=1)
        >>> len(rows), int((rows < 3).sum())
        (3, 2)
    """
    places = [hashlib.sha256(f"{seed}\n{key}".encode()).digest() for key in keys]
    order = np.asarray(sorted(range(len(keys)), key=places.__getitem__), np.int64)
    within = np.zeros(len(keys), np.int64)
    for stratum in range(len(counts)):
        mine = order[strata[order] == stratum]
        within[mine] = np.arange(len(mine))
    rows: Integers = order[within[order] < counts[strata[order]]]
    return rows
