"""Slices: scores by any column of the queries, and by what the citations behind a task are like."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.errors import UnknownNameError
from assay.evaluation.intervals import mean_interval
from assay.evaluation.reach import judged_rows
from assay.query import Queries
from assay.scores import Interval, Scores
from assay.task import Task

Labels = npt.NDArray[np.object_]

AGES = (
    (0, "not earlier"),
    (7, "1-7 days"),
    (30, "8-30 days"),
    (90, "31-90 days"),
    (365, "91-365 days"),
)
OLDER = "over 365 days"
"""Bins of `citation_age`: the most days of each, and what is beyond them all."""

MIXED = "mixed"
AGE = "citation_age"
OF_EDGES = {"citation_source": "source", "citation_referral": "referral"}


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
    rows = queries.ids.codes(scores.queries)
    label = np.full(len(rows), "", object)
    label[rows >= 0] = queries.columns[column].take(rows[rows >= 0]).to_list()
    return _by_label(scores, label, sorted(set(label.tolist())), clusters=clusters, **interval)


def task_slices(scores: Scores, task: Task, *, column: str, **interval: Any) -> dict[str, Interval]:
    """As `slices` over the queries of a task, whose citations make further columns.

    * `citation_age`: days from the cited passage to the day before which passages must be dated, in bins; for tasks
      with an as-of rule. Gold that is not earlier than that day has a bin of its own.
    * `citation_source`, `citation_referral`: how the citation was found, and whether the reply only refers to the other
      one; where the collection tells (`task.edges`).

    Each query is in one slice: one whose relevant passages, or their citations, are of several kinds is `mixed`, one
    about which nothing is known `""`. A query in another language has the citations of its question. A column of
    the queries by one of these names comes first.

    Args:
        scores: Of one run on the task, under one measure.
        task: What was asked.
        column: One of these, or of `task.pool.columns`.
        **interval: `clusters` and what else `slices` takes.

    Raises:
        UnknownNameError: No such column; near names are offered.
    """
    known = [*task.pool.columns, *citation_columns(task)]
    if column not in known:
        raise UnknownNameError.of("column of the queries", column, known)
    if column in task.pool.columns:
        return slices(scores, task.pool, column=column, **interval)
    query, kind = _ages(task) if column == AGE else _edge_kinds(task, OF_EDGES[column])
    label = _one_each(query, kind, queries=len(task.qrels.queries))
    order = [name for _, name in AGES] + [OLDER] if column == AGE else sorted(set(kind))
    row = task.qrels.queries.codes(scores.queries)
    own = np.where(row >= 0, label[row], "")
    return _by_label(scores, own, ["", *(v for v in order if v), MIXED], **interval)


def citation_columns(task: Task) -> tuple[str, ...]:
    """The columns that the citations behind a task make.

    Example:
        >>> from assay.sources import open_collection
        >>> citation_columns(open_collection("demo:questions").task("answer", split="test"))
        ()
    """
    dated = task.asked is not None and task.passages.dates is not None
    told = () if task.edges is None else task.edges.columns
    return (*((AGE,) if dated else ()), *(name for name, column in OF_EDGES.items() if column in told))


def _by_label(
    scores: Scores, label: Labels, order: Sequence[str], *, clusters: npt.NDArray[Any] | None = None, **interval: Any
) -> dict[str, Interval]:
    """The interval of every label that a query has, in that order."""
    clusters = scores.clusters if clusters is None else clusters
    found = {}
    for name in order:
        own = label == name
        if own.any():
            part = None if clusters is None else clusters[own]
            found[name] = mean_interval(scores.value[own], clusters=part, **interval)
    return found


def _one_each(query: npt.NDArray[np.integer[Any]], kind: Iterable[str], *, queries: int) -> Labels:
    """Per query its one kind, `mixed` where it has several, empty where it has none."""
    label = np.full(queries, "", object)
    for row, name in zip(query.tolist(), kind, strict=True):
        if name:
            label[row] = name if label[row] in ("", name) else MIXED
    return label


def _relevant(task: Task) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Row in the qrels, row in the pool and passage of every relevant judgement that the collection holds."""
    qrels = task.qrels
    asked = judged_rows(task)[qrels.query]
    passage = task.passages.ids.codes(qrels.passages)[qrels.passage]
    held = (qrels.grade >= 1) & (asked >= 0) & (passage >= 0)
    return qrels.query[held].astype(np.int64), task.rows[asked[held]].astype(np.int64), passage[held].astype(np.int64)


def _ages(task: Task) -> tuple[npt.NDArray[np.int64], list[str]]:
    query, row, passage = _relevant(task)
    if task.asked is None or task.passages.dates is None:
        return query[:0], []
    days = task.asked[row].astype("datetime64[D]") - task.passages.dates[passage].astype("datetime64[D]")
    known = ~np.isnat(days)
    names = [*(name for _, name in AGES), OLDER]
    place = np.searchsorted([most for most, _ in AGES], days[known].astype(np.int64), "left")
    return query[known], [names[at] for at in place.tolist()]


def _edge_kinds(task: Task, column: str) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Query of the qrels and kind of every citation that is a relevant judgement."""
    query, row, passage = _relevant(task)
    if task.edges is None:
        return query[:0], []
    size = max(1, len(task.passages))
    edge = task.edges.query * size + task.edges.passage
    order = np.argsort(edge, kind="stable")
    wanted = task.questions[row] * size + passage
    low, high = (np.searchsorted(edge[order], wanted, side) for side in ("left", "right"))
    at = np.arange((high - low).sum()) + np.repeat(low - (np.cumsum(high - low) - (high - low)), high - low)
    return np.repeat(query, high - low), task.edges.columns[column].take(order[at]).to_list()
