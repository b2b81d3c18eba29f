"""Judge: a run read against judgements, once for all measures."""

from __future__ import annotations

import numpy as np

from assay.judged import Grades, Hits, Judged
from assay.kernels import judging
from assay.qrels import Qrels
from assay.run import Run


def judge(run: Run, qrels: Qrels) -> Judged:
    """The grades that the run's passages have, by rank, for every query of the qrels.

    Queries and passages are joined by id. A query that is missing from the run has a list of length 0;
    queries of the run without a judgement are left out. Rows past the depth of the run are outside
    its lists; where they tie with the last row inside, the judged ones are `beyond`, and take part in
    the tie orders. The borders of a tie (`first`, `last`) are those of the whole tie, so `last` may lie
    past the end of a list.

    Args:
        run: Ranked lists.
        qrels: Judgements; their queries, in their order, are those of the result.

    Example:
        >>> run = Run.of([("q", "a", 2.0), ("q", "b", 1.0), ("q", "c", 1.0)])
        >>> judged = judge(run, Qrels.of([("q", "b", 1), ("q", "d", 2), ("r", "a", 1)]))
        >>> judged.hits.rank.tolist(), judged.hits.first.tolist(), judged.hits.last.tolist()
        ([3], [2], [3])
        >>> judged.lengths.tolist()
        [3, 0]
    """
    lists = run.queries.codes(qrels.queries).astype(np.int64)
    row, judgement, first, last = judging.judged_rows(
        run.offsets,
        run.passage,
        run.score,
        lists=lists,
        judged_offsets=qrels.offsets,
        judged=_codes(run, qrels),
        passages=len(run.passages),
    )
    query = np.searchsorted(qrels.offsets, judgement, "right") - 1
    start = run.offsets[lists[query]]
    lengths = np.zeros(len(lists), np.int64)
    lengths[lists >= 0] = run.lengths[lists[lists >= 0]]
    hits = Hits(query, row - start + 1, qrels.grade[judgement], first - start + 1, last - start + 1)
    inside = hits.rank <= lengths[query]
    # A row past the depth whose tie begins past it as well could not come in under any order.
    straddles = ~inside & (hits.first <= lengths[query])
    return Judged(hits.take(inside), lengths, qrels.offsets, _descending(qrels), hits.take(straddles))


def _codes(run: Run, qrels: Qrels) -> Grades:
    """The run's code of each judged passage, int32; -1 where the run knows none."""
    if run.passages is qrels.passages:
        return qrels.passage
    code: Grades = run.passages.codes(qrels.passages)[qrels.passage]
    return code


def _descending(qrels: Qrels) -> Grades:
    """The grades of each query from the highest down."""
    rises = qrels.grade[1:] > qrels.grade[:-1]
    borders = qrels.offsets[1:-1]
    rises[borders[(borders > 0) & (borders < len(qrels))] - 1] = False
    if not rises.any():
        return qrels.grade
    return qrels.grade[np.lexsort((-qrels.grade.astype(np.int64), qrels.query))]
