"""Given runs under a task's eligibility rule: forbidden rows leave before the cut."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from assay.errors import DataError, UsageError
from assay.evaluation.reach import allowed, judged_rows
from assay.run import Run
from assay.task import Task


def only_eligible(run: Run, task: Task, *, depth: int | None = None) -> Run:
    """The run with only the rows that the task allows, cut to `depth`, over the collection's passages.

    First every row goes that is no passage of the collection or that the eligibility rule forbids for its
    query (its own passage by id, never by its place), then the lists are cut; rows that tie with the last one
    stay behind the cut, as in every run. Queries that are not judged keep their rows: no rule is defined for
    them, and evaluation ignores them. A judged query that the pool does not hold loses all rows, for nothing
    is eligible for it.

    `counts` of the result gain `ineligible_removed` and `unknown_removed`, in rows; `exhausted` is set, so that
    a list that is short only because the given one was cut off is known as open.

    Args:
        run: A run in ids, as read from a file.
        task: Whose passages and rule.
        depth: How deep the lists may be, at most the run's own depth; None: that, or the task's where the
            run's is unknown.

    Raises:
        DataError: No passage id of the run is in the collection.
        UsageError: The depth is less than 1.

    Example:
        >>> from assay.ids import Ids
        >>> from assay.passage import Passages
        >>> from assay.qrels import Qrels
        >>> from assay.query import Queries
        >>> from assay.texts import Texts
        >>> passages, pool = Texts.of(["d1", "d1copy", "d9"]), Texts.of(["d1"])
        >>> queries, searched = Queries(Ids(pool), {"plain": pool}), Passages(Ids(passages), {"plain": passages})
        >>> task = Task("twins", "test", queries, searched, Qrels.of([("d1", "d1copy", 1)]), excluded=True)
        >>> run = Run.of([("d1", "d1copy", 1.0), ("d1", "d1", 1.0), ("d1", "d9", 0.2)])
        >>> [passage for _, passage, _ in only_eligible(run, task).triples()]
        ['d1copy', 'd9']
    """
    if depth is None:
        depth = task.depth if run.depth is None else run.depth
    if depth < 1:
        raise UsageError(f"depth is {depth}: a list holds at least 1 passage")
    passage = _collection_rows(run, task)
    owner = np.repeat(np.arange(len(run.queries), dtype=np.int32), np.diff(run.offsets))
    judged = task.qrels.queries.codes(run.queries)
    query = np.where(judged >= 0, judged_rows(task)[judged], -1)
    known = passage >= 0
    may = known & ((judged < 0)[owner] | allowed(task, query[owner], passage))
    all_may = bool(may.all())
    kept = replace(
        run if all_may else run.keep(may),
        passages=task.passages.ids,
        passage=passage if all_may else passage[may],
        exhausted=run.ended,
        counts={
            **run.counts,
            "ineligible_removed": run.counts.get("ineligible_removed", 0) + int(np.sum(known & ~may)),
            "unknown_removed": run.counts.get("unknown_removed", 0) + int(np.sum(~known)),
        },
    )
    return kept.to_depth(depth)


def _collection_rows(run: Run, task: Task) -> npt.NDArray[np.int32]:
    """For each row of the run its passage's row in the collection, -1 where there is none."""
    ids = task.passages.ids
    codes = ids.codes(run.passages)
    if len(run) and not (codes[run.passage] >= 0).any():
        shown = ", ".join(repr(run.passages[int(row)]) for row in dict.fromkeys(run.passage[:3].tolist()))
        raise DataError(
            f"none of the {len(run)} rows of the run is a passage of the collection: the run has {shown}, the"
            f" collection has {', '.join(repr(ids[row]) for row in range(min(3, len(ids))))}; make the ids equal"
        )
    return codes[run.passage]
