"""Reach: how much of the gold any system could return, and how much a run that ended early may have missed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.errors import UsageError
from assay.judged import Hits, Judged
from assay.qrels import Qrels
from assay.task import Task

Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Reach:
    """What may be returned, for the queries and judgements of one qrels table.

    Attributes:
        eligible: Eligible passages, int64 per judged query.
        judgement_eligible: Whether the judged passage exists and may be returned, bool per row of the qrels.

    Example:
        >>> reach = Reach(np.array([3, 0]), np.array([True, False]))
        >>> reach.eligible.tolist()
        [3, 0]
    """

    eligible: Rows
    judgement_eligible: Mask

    def fits(self, qrels: Qrels) -> None:
        """Raises UsageError unless this was made for qrels of that shape."""
        if len(self.eligible) != len(qrels.queries) or len(self.judgement_eligible) != len(qrels):
            raise UsageError(
                f"a reach over {len(self.eligible)} queries and {len(self.judgement_eligible)} judgements does not fit"
                f" qrels of {len(qrels.queries)} and {len(qrels)}; make it from the same task with reach_of"
            )


def judged_rows(task: Task) -> npt.NDArray[np.int32]:
    """For each query of the qrels its row in `task.queries`, int32; -1 where the pool does not hold it."""
    known = task.pool.ids.codes(task.qrels.queries) >= 0
    return np.where(known, np.cumsum(known) - 1, -1).astype(np.int32)


def reach_of(task: Task) -> Reach:
    """What the task's eligibility leaves to be found.

    A judged passage that the collection does not hold is not eligible. A judged query that the pool does not
    hold cannot be asked: nothing is eligible for it.

    Raises:
        EligibilityError: An as-of rule meets an undated query.
    """
    qrels, rows = task.qrels, judged_rows(task)
    eligible = np.zeros(len(rows), np.int64)
    eligible[rows >= 0] = task.eligibility.counts()[rows[rows >= 0]]
    return Reach(
        eligible,
        allowed(task, rows[qrels.query], task.passages.ids.codes(qrels.passages)[qrels.passage]),
    )


def allowed(task: Task, query: npt.NDArray[np.integer[Any]], passage: npt.NDArray[np.integer[Any]]) -> Mask:
    """For aligned rows of `task.queries` and of passages, whether each pair is eligible; -1 never is."""
    known = (query >= 0) & (passage >= 0)
    if known.all():
        return task.eligibility.allows(query, passage)
    may = np.zeros(len(query), np.bool_)
    may[known] = task.eligibility.allows(query[known], passage[known])
    return may


def reachable(judged: Judged, qrels: Qrels, reach: Reach) -> Judged:
    """The lists that return every eligible judged passage and nothing else, highest grade first.

    What a measure gives for them is the most that any system can have; passages that are not eligible stay
    in the ideal order, and so in every denominator.
    """
    query, grade = qrels.query[reach.judgement_eligible], qrels.grade[reach.judgement_eligible]
    order = np.lexsort((-grade.astype(np.int64), query))
    query, grade = query[order], grade[order]
    lengths = np.bincount(query, minlength=len(judged)).astype(np.int64)
    rank = _place(query, lengths) + 1
    hits = Hits(query, rank, grade, rank, rank)
    return replace(judged, hits=hits, lengths=lengths, beyond=Hits.none())


def extended(judged: Judged, qrels: Qrels, *, ended: Mask, reach: Reach | None = None) -> tuple[Rows, Judged]:
    """The best that could have followed in lists that were cut off, with the rows of those queries.

    The relevant passages that a list lacks follow its last rank, highest grade first, as far as eligible
    passages exist outside the list. A measure that only gains by them has its upper bound there; where that
    is above the value, the query is open.

    Args:
        judged: The lists as they are.
        qrels: The judgements that they were read against.
        ended: Whether a query's list ended for want of further passages, or is absent; bool per query.
        reach: Which judged passages are eligible; None: all.

    Returns:
        Rows of the queries with such passages, ascending, and their longer lists.
    """
    query, grade = _unretrieved(judged, qrels, reach=reach)
    more = ~ended[query]
    if reach is not None:
        outside = reach.eligible - judged.lengths
        more &= _place(query, np.bincount(query, minlength=len(judged))) < outside[query]
    query, grade = query[more], grade[more]
    rows, query = np.unique(query, return_inverse=True)
    lists = only(judged, rows)
    added = np.bincount(query, minlength=len(rows)).astype(np.int64)
    rank = lists.lengths[query] + 1 + _place(query, added)
    hits = Hits.ordered([lists.hits, Hits(query, rank, grade, rank, rank)])
    return rows, replace(lists, hits=hits, lengths=lists.lengths + added, beyond=Hits.none())


def only(judged: Judged, queries: Rows) -> Judged:
    """The lists of `queries` (rows, ascending and distinct), as if there were no others."""
    place = np.full(len(judged), -1, np.int64)
    place[queries] = np.arange(len(queries))

    def taken(hits: Hits) -> Hits:
        rows = hits.take(place[hits.query] >= 0)
        return replace(rows, query=place[rows.query])

    count = judged.judged[queries]
    offsets = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    at = np.arange(offsets[-1]) + np.repeat(judged.judged_offsets[queries] - offsets[:-1], count)
    return Judged(taken(judged.hits), judged.lengths[queries], offsets, judged.judged_grades[at], taken(judged.beyond))


def _unretrieved(judged: Judged, qrels: Qrels, *, reach: Reach | None) -> tuple[Rows, npt.NDArray[np.int32]]:
    """Query and grade of each relevant eligible passage outside the lists, by query, highest grade first.

    Judged lists know grades, not passages, so as many of each grade are taken away as the list holds.
    """
    wanted = qrels.grade >= 1
    if reach is not None:
        wanted &= reach.judgement_eligible
    query, grade = qrels.query[wanted], qrels.grade[wanted]
    order = np.lexsort((-grade.astype(np.int64), query))
    query, grade = query[order], grade[order]
    width = 1 + int(grade.max(initial=0))
    key = query * width + (width - 1 - grade)
    found = judged.hits.take(judged.hits.grade >= 1)
    held = np.sort(found.query * width + (width - 1 - np.minimum(found.grade, width - 1)))
    first = np.searchsorted(key, key, "left")
    taken = np.searchsorted(held, key, "right") - np.searchsorted(held, key, "left")
    left = np.arange(len(key)) - first >= taken
    return query[left], grade[left]


def _place(query: Rows, count: Rows) -> Rows:
    """The place, from 0, of each row within its query; rows are ordered by query."""
    starts: Rows = np.cumsum(count) - count
    return np.arange(len(query)) - starts[query]
