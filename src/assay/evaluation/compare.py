"""Comparison: several systems on the same queries under one measure, tested as one family."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations

import numpy as np

from assay.errors import DataError, UsageError
from assay.evaluation.intervals import Clusters
from assay.evaluation.significance import Family, compare_family
from assay.ids import Ids
from assay.judged import Values
from assay.scores import Scores


def compare(
    scores: Mapping[str, Scores],
    *,
    pairs: Iterable[tuple[str, str]] | None = None,
    clusters: Clusters | None = None,
    correction: str = "holm",
    resamples: int = 10_000,
    seed: int = 0,
) -> Family:
    """Difference, interval, wins, ties, losses and adjusted p of each pair, corrected as one family.

    The scores must be of one measure on one split: all over the same queries, which are matched by id, in any
    order. Ask for one family per task, split and headline measure.

    Args:
        scores: By name of the system.
        pairs: The pairs of names to test, all of them in one call; None: every pair in the order given.
        clusters: One label per query of the first scores; None: the clusters that the first scores hold.
        correction: `holm` or `bonferroni`.
        resamples: Sign vectors and bootstrap samples per pair.
        seed: Any integer.

    Raises:
        UsageError: Fewer than two systems, or scores of different measures.
        DataError: A query is scored for one system and not for another.
        UnknownNameError: A pair names a system that has no scores.
    """
    if len(scores) < 2:
        raise UsageError(f"a comparison needs at least 2 systems, there are {len(scores)}")
    measures = {one.measure for one in scores.values()}
    if len(measures) > 1:
        raise UsageError(f"scores of different measures cannot be compared: {', '.join(sorted(measures))}")
    first = next(iter(scores))
    queries = scores[first].queries
    values = {name: _aligned(one, queries, between=(first, name)) for name, one in scores.items()}
    return compare_family(
        values,
        combinations(scores, 2) if pairs is None else pairs,
        clusters=scores[first].clusters if clusters is None else clusters,
        correction=correction,
        resamples=resamples,
        seed=seed,
    )


def _aligned(scores: Scores, queries: Ids, *, between: tuple[str, str]) -> Values:
    """The values in the order of `queries`."""
    rows = scores.queries.codes(queries)
    absent = np.flatnonzero(rows < 0)
    further = np.flatnonzero(queries.codes(scores.queries) < 0)
    if len(absent) or len(further):
        name, ids, row = (between[0], queries, absent) if len(absent) else (between[1], scores.queries, further)
        raise DataError(
            f"{between[0]} and {between[1]} are not scored on the same queries: {len(absent)} are scored for"
            f" {between[0]} alone, {len(further)} for {between[1]} alone (such as {ids[int(row[0])]!r} for {name});"
            " evaluate both runs against the same qrels"
        )
    return scores.value[rows]
