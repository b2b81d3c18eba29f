"""Ties: which queries are not independent of each other."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from assay.ids import Ids
from assay.kernels.components import component_labels
from assay.qrels import Qrels

Pairs = npt.NDArray[np.int64]
"""Rows tied two by two, shape (pairs, 2)."""

NO_PAIRS: Pairs = np.zeros((0, 2), np.int64)


def chains(group: npt.NDArray[np.int64], member: npt.NDArray[np.int64]) -> Pairs:
    """Pairs that tie the members of every group: each member with the next one of its group.

    Args:
        group: The group of each row.
        member: What is in the group.

    Example:
        >>> chains(np.array([7, 8, 7, 7]), np.array([0, 1, 2, 3])).tolist()
        [[0, 2], [2, 3]]
    """
    order = np.argsort(group, kind="stable")
    group, member = group[order], member[order]
    same = group[1:] == group[:-1]
    return np.stack([member[:-1][same], member[1:][same]], axis=1).astype(np.int64)


def shared_passage(queries: Ids, qrels: Qrels) -> Pairs:
    """Rows of `queries` that have a relevant passage (grade 1 and up) in common.

    Judged queries that are not among `queries` are left out.
    """
    row = queries.codes(qrels.queries)[qrels.query].astype(np.int64)
    keep = (qrels.grade >= 1) & (row >= 0)
    return chains(qrels.passage[keep].astype(np.int64), row[keep])


def cluster_labels(n: int, kinds: Iterable[Pairs]) -> npt.NDArray[np.int64]:
    """The cluster of each of `n` queries under several kinds of ties, int64.

    Example:
        >>> cluster_labels(4, [np.array([[0, 1]]), np.array([[1, 3]])]).tolist()
        [0, 0, 1, 0]
    """
    pairs = np.concatenate([NO_PAIRS, *kinds])
    return component_labels(n, pairs[:, 0], pairs[:, 1])
