"""Slices: scores by any column of the queries."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from assay.errors import UnknownNameError
from assay.evaluation.intervals import mean_interval
from assay.query import Queries
from assay.scores import Interval, Scores


def slices(
    scores: Scores,
    queries: Queries,
    *,
    column: str,
    clusters: npt.NDArray[Any] | None = None,
    **interval: Any,
) -> dict[str, Interval]:
    """The mean with its interval for every value of a column, by value in ascending order.

    An `Interval` holds n and mean besides its ends; a slice of fewer than 30 units says so in its note. Made
    from the values stored per query, so nothing is evaluated again. The n of all slices add up to the number
    of scored queries: one that `queries` does not hold, or that has no value there, is in the slice `""`.

    Args:
        scores: Of one run under one measure.
        queries: Any table that holds the scored queries, such as `task.pool`; matched by id.
        column: One of `queries.columns`.
        clusters: One label per scored query; None: the clusters that the scores hold.
        **interval: `method`, `level`, `resamples`, `seed`, as for `mean_interval`.

    Raises:
        UnknownNameError: No such column; near names are offered.
    """
    if column not in queries.columns:
        raise UnknownNameError.of("column of the queries", column, queries.columns)
    clusters = scores.clusters if clusters is None else clusters
    rows = queries.ids.codes(scores.queries)
    found = rows >= 0
    label = np.full(len(rows), "", object)
    label[found] = queries.columns[column].take(rows[found]).to_list()
    values, code = np.unique(label.astype(str), return_inverse=True)
    return {
        str(name): mean_interval(
            scores.value[code == row], clusters=None if clusters is None else clusters[code == row], **interval
        )
        for row, name in enumerate(values)
    }
