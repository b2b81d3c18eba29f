"""Searching: the best rows of every query over what a representer made, with eligibility pushed down."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from assay.contract import checked_dense_rows, checked_sparse_rows, refuse_repeated_terms
from assay.eligibility import Eligibility
from assay.errors import ContractError
from assay.system import DenseRows, Offsets, RankedRows, Rows, SparseRows

Seen = tuple[Rows, Rows | None, tuple[Offsets, Rows] | None]


def best_rows(
    passages: SparseRows | DenseRows,
    queries: SparseRows | DenseRows,
    rule: Eligibility,
    *,
    depth: int,
    name: str,
    threads: int = 2,
) -> RankedRows:
    """For each query the `depth` best eligible rows, and every row equal to the last of them.

    Sparse rows without a common term score 0 and are no answer; dense rows always have a score.

    Args:
        passages: The passages as the system `name` represents them.
        queries: The queries in the same space.
        rule: Which rows each query may be answered with.
        depth: Rows a query.
        name: The system, for messages.
        threads: How many threads. The result does not depend on it.

    Raises:
        ContractError: One side is sparse and the other dense, or what `assay.contract` refuses.
    """
    if isinstance(passages, DenseRows) and isinstance(queries, DenseRows):
        return _best_dense(passages, queries, rule, depth=depth, name=name, threads=threads)
    if isinstance(passages, DenseRows) or isinstance(queries, DenseRows):
        raise ContractError(f"{name} returned sparse rows for one side and dense ones for the other; both must be one")
    return _best_sparse(passages, queries, rule, depth=depth, name=name, threads=threads)


def _best_sparse(
    found: SparseRows, asked: SparseRows, rule: Eligibility, *, depth: int, name: str, threads: int
) -> RankedRows:
    from assay.kernels.sparse import Postings, top_rows

    rows = checked_sparse_rows(found, name=name, rows=rule.passages)
    queries = checked_sparse_rows(asked, name=name, rows=rule.queries, terms=rows.terms)
    order, prefix, excluded = search_order(rule)
    postings = Postings.of(rows.offsets, rows.term, rows.weight, terms=rows.terms, order=order)
    refuse_repeated_terms(postings.start, postings.position, name=name)
    by_term = np.lexsort((queries.term, np.repeat(np.arange(len(queries)), np.diff(queries.offsets))))
    refuse_repeated_terms(queries.offsets, queries.term[by_term], name=name)
    step = None if rows.step is None or queries.step is None else rows.step * queries.step
    asks = (queries.offsets, queries.term, queries.weight)
    best = top_rows(postings, *asks, depth=depth, prefix=prefix, excluded=excluded, step=step, threads=threads)
    return RankedRows(*best, whole_ties=True)


def _best_dense(
    found: DenseRows, asked: DenseRows, rule: Eligibility, *, depth: int, name: str, threads: int
) -> RankedRows:
    from assay.kernels.dense import top_rows

    rows = checked_dense_rows(found, name=name, rows=rule.passages)
    queries = checked_dense_rows(asked, name=name, rows=rule.queries, dimensions=rows.matrix.shape[1])
    matrix = queries.matrix if queries.place is None else queries.matrix[queries.place]
    order, prefix, excluded = search_order(rule)
    best = top_rows(
        rows.matrix, matrix, depth=depth, order=order, place=rows.place, prefix=prefix, excluded=excluded,
        threads=threads,
    )  # fmt: skip
    return RankedRows(*best, whole_ties=True)


def search_order(rule: Eligibility) -> Seen:
    """How kernels get eligibility: rows by date, how many of them each query may see, exclusions.

    Returns:
        Candidate rows in ascending date rank; per query how many of the first of them come before
        its cut-off (None without an as-of rule); the exclusions as offsets and rows (None without).

    Example:
        >>> search_order(Eligibility.everything(2, 1))
        (array([0, 1], dtype=int32), None, None)
    """
    rows, visible = rule.nested()
    prefix: npt.NDArray[np.int32] | None = None if rule.rank is None else visible.astype(np.int32)
    if rule.excluded is None or rule.excluded_offsets is None:
        return rows, prefix, None
    return rows, prefix, (rule.excluded_offsets, rule.excluded)
