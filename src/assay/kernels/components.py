"""Connected components: what hangs together through pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.integer[Any]]
Labels = npt.NDArray[np.int64]


def component_labels(n: int, left: Codes, right: Codes) -> Labels:
    """The component of each of `n` rows under pairs that tie rows, int64.

    Components are numbered from 0 by their lowest row. Rounds of pointer jumping: every root takes the lowest root
    that a pair ties it to, until no pair has two roots.

    Args:
        n: How many rows there are.
        left: One row of each pair.
        right: The other row; a row tied to itself changes nothing.

    Example:
        >>> component_labels(5, np.array([0, 3]), np.array([2, 2])).tolist()
        [0, 1, 0, 0, 2]
    """
    root = np.arange(n, dtype=np.int64)
    left, right = np.asarray(left, np.int64), np.asarray(right, np.int64)
    while True:
        a, b = root[left], root[right]
        apart = a != b
        if not apart.any():
            break
        left, right, a, b = left[apart], right[apart], a[apart], b[apart]
        np.minimum.at(root, np.maximum(a, b), np.minimum(a, b))
        while True:
            up = root[root]
            if np.array_equal(up, root):
                break
            root = up
    return np.unique(root, return_inverse=True)[1].astype(np.int64).reshape(-1)
