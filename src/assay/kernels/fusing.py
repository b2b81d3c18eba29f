"""Fusing: scores of different systems on one scale, lists added up, passages grouped before the cut.

Lists come as offsets, rows and scores. What a score becomes depends on the scores of its list alone, never on the
order of its rows; sums over lists run in the order of the lists. So results have the same bits for any shuffle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from assay.errors import UnknownNameError, UsageError

Offsets = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]
Score = npt.NDArray[np.float64]

METHODS = ("rrf", "minmax", "zscore", "minmax(dapr)")
"""How scores come on one scale; docs/definitions.md says what each does."""


def normalised(offsets: Offsets, score: Score, *, method: str = "minmax", k: float = 60.0) -> Score:
    """Scores of every list on one scale, where 0 is what a passage outside the list has.

    * `rrf`: 1 / (k + rank). Ranks count from 1, and equal scores share the best of their ranks (Cormack et al. 2009).
    * `minmax`: the best gets 1 and 0 lies one mean gap below the last: of n passages the last gets 1 / n.
    * `zscore`: the standard score z (over the list, population) as 1 / (1 + exp(-z)).
    * `minmax(dapr)`: the best gets 1 and the last 0, as in DAPR; being last then counts as not being found.

    All but `rrf` map a list of one passage, or of equal scores, to 1; all but `minmax(dapr)` give every passage
    more than 0, and none gives more than 1.

    Raises:
        UnknownNameError: There is no such method.

    Example:
        >>> borders, scores = np.array([0, 3, 4]), np.array([9.0, 5.0, 7.0, 2.0])
        >>> normalised(borders, scores).round(3).tolist()
        [1.0, 0.333, 0.667, 1.0]
        >>> normalised(borders, scores, method="minmax(dapr)").tolist()
        [1.0, 0.0, 0.5, 1.0]
    """
    if method not in METHODS:
        raise UnknownNameError.of("method of fusion", method, METHODS)
    if method == "rrf":
        ranks = shared_ranks(offsets, score).astype(np.float64)
        return 1.0 / (ranks + k)
    if len(score) == 0:
        return np.zeros(0)
    filled = np.flatnonzero(np.diff(offsets))
    size = np.diff(offsets)[filled]
    own = np.repeat(np.arange(len(filled)), size)
    # On a scale of 1, so that neither differences overflow nor gaps vanish. Powers of 2 round nothing.
    exponent = np.frexp(np.maximum.reduceat(np.abs(score), offsets[filled]))[1]
    scaled = np.ldexp(score, -exponent[own])
    low, high = np.minimum.reduceat(scaled, offsets[filled]), np.maximum.reduceat(scaled, offsets[filled])
    made = np.ones(len(score))
    varied = (high > low)[own]
    if method == "zscore":
        mean, spread = _moments(offsets[filled], size, scaled)
        z = (scaled - mean[own])[varied] / spread[own][varied]
        made[varied] = 1.0 / (1.0 + np.exp(-np.maximum(z, -700.0)))
        return made
    gap = (high - low) / np.maximum(size - 1, 1) if method == "minmax" else np.zeros(len(filled))
    made[varied] = ((scaled - low[own] + gap[own])[varied]) / (high - low + gap)[own][varied]
    return made


def _moments(starts: Offsets, size: Offsets, score: Score) -> tuple[Score, Score]:
    """Mean and standard deviation of each list; `fsum` rounds once, so that the order of rows does not matter."""
    mean, spread = np.zeros(len(starts)), np.zeros(len(starts))
    for at, (start, n) in enumerate(zip(starts.tolist(), size.tolist(), strict=True)):
        own = score[start : start + n]
        mean[at] = math.fsum(own.tolist()) / n
        spread[at] = math.sqrt(math.fsum(((own - mean[at]) ** 2).tolist()) / n)
    return mean, spread


def shared_ranks(offsets: Offsets, score: Score) -> Offsets:
    """The rank of every row in its list, from 1; equal scores share the best of their ranks.

    Example:
        >>> shared_ranks(np.array([0, 4, 5]), np.array([2.0, 7.0, 2.0, 1.0, 3.0])).tolist()
        [2, 1, 2, 4, 1]
    """
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((-score, owner))
    place = np.arange(len(score)) - offsets[owner] + 1
    falls = np.ones(len(score), np.bool_)
    falls[1:] = (score[order][1:] != score[order][:-1]) | (owner[1:] != owner[:-1])
    first = np.maximum.accumulate(np.where(falls, np.arange(len(score)), 0))
    rank = np.empty(len(score), np.int64)
    rank[order] = place[first]
    return rank


def fused(
    lists: Sequence[tuple[Offsets, Rows, Score]], weights: Sequence[float], *, rows: int
) -> tuple[Offsets, Rows, Score]:
    """The weighted sums of the scores that rows have in several lists; what a list lacks adds 0.

    Args:
        lists: Offsets, rows and scores of each system, over the same queries; a row stands once in a list.
        weights: One number of at least 0 for each; a system with weight 0 adds nothing, not even its rows.
        rows: How many rows there are.

    Returns:
        Offsets, rows in ascending order, and scores.

    Example:
        >>> a = np.array([0, 2]), np.array([4, 7], np.int32), np.array([1.0, 0.5])
        >>> b = np.array([0, 1]), np.array([7], np.int32), np.array([1.0])
        >>> [part.tolist() for part in fused([a, b], [1.0, 0.25], rows=9)]
        [[0, 2], [4, 7], [1.0, 0.75]]
    """
    queries = len(lists[0][0]) - 1
    used = [(found, weight) for found, weight in zip(lists, weights, strict=True) if weight]
    keys = [row_keys(offsets, row, rows=rows) for (offsets, row, _), _ in used]
    distinct, place = np.unique(np.concatenate([np.zeros(0, np.int64), *keys]), return_inverse=True)
    total, start = np.zeros(len(distinct)), 0
    for (_, _, score), weight in used:
        total[place[start : start + len(score)]] += weight * score
        start += len(score)
    offsets = np.searchsorted(distinct, np.arange(queries + 1) * max(1, rows)).astype(np.int64)
    return offsets, (distinct % max(1, rows)).astype(np.int32), total


def best_groups(offsets: Offsets, row: Rows, score: Score, *, group: Rows) -> tuple[Offsets, Rows, Score]:
    """Per list the groups of its rows, each with its best score; row `r` is of group `group[r]`.

    Example:
        >>> parents = np.array([0, 0, 1, 2], np.int32)
        >>> found = np.array([0, 3]), np.array([1, 0, 2], np.int32), np.array([0.9, 0.8, 0.3])
        >>> [part.tolist() for part in best_groups(*found, group=parents)]
        [[0, 2], [0, 1], [0.9, 0.3]]
    """
    groups = int(group.max(initial=-1)) + 1
    keys = row_keys(offsets, group[row], rows=groups)
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    best = np.maximum.reduceat(score[order], starts) if len(starts) else np.zeros(0)
    distinct = keys[order][starts]
    borders = np.searchsorted(distinct, np.arange(len(offsets)) * max(1, groups)).astype(np.int64)
    return borders, (distinct % max(1, groups)).astype(np.int32), best


def spread_best(
    offsets: Offsets, row: Rows, score: Score, *, starts: Offsets, member: Rows, members: int
) -> tuple[Offsets, Rows, Score]:
    """Per list the members of its rows, each with the best score of a row that it is in.

    Row `r` has `member[starts[r]:starts[r + 1]]`, of `members` that there are; a member may be in several rows.

    Example:
        >>> starts, member = np.array([0, 2, 3]), np.array([4, 5, 5], np.int32)
        >>> found = np.array([0, 2]), np.array([0, 1], np.int32), np.array([0.5, 2.0])
        >>> [part.tolist() for part in spread_best(*found, starts=starts, member=member, members=6)]
        [[0, 2], [4, 5], [0.5, 2.0]]
    """
    count = starts[row + 1] - starts[row]
    at = np.arange(count.sum()) + np.repeat(starts[row] - (np.cumsum(count) - count), count)
    longer = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)[offsets]
    group = np.arange(members, dtype=np.int32)
    return best_groups(longer, member[at], np.repeat(score, count), group=group)


def row_keys(offsets: Offsets, row: Rows, *, rows: int) -> Offsets:
    """One number per list and row: `list * rows + row`, int64.

    Example:
        >>> row_keys(np.array([0, 1, 2]), np.array([4, 4], np.int32), rows=5).tolist()
        [4, 9]
    """
    owner = np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))
    return owner * max(1, rows) + row


def checked_weights(weights: Sequence[float], *, parts: int, name: str) -> tuple[float, ...]:
    """Weights as numbers: one for each part, 0 or more, not all 0.

    Raises:
        UsageError: They are not.

    Example:
        >>> checked_weights([1, 0.5], parts=2, name="fusion")
        (1.0, 0.5)
    """
    good = isinstance(weights, list | tuple) and len(weights) == parts and all(map(_is_weight, weights))
    if not good or not any(weights):
        raise UsageError(
            f"{name}: weights must be {parts} numbers, one for each part, 0 or more and not all 0; found {weights!r}"
        )
    return tuple(map(float, weights))


def _is_weight(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
