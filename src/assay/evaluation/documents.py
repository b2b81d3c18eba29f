"""Document scores: passage measures over documents. Chunks are grouped first, and cut then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from assay.errors import UsageError
from assay.evaluation.lenient import lenient_scores
from assay.evaluation.span_measure import DocumentMeasure, SpanMeasure
from assay.evaluation.span_scores import span_scores
from assay.ids import Ids
from assay.qrels import Qrels
from assay.run import Run
from assay.scores import Scores
from assay.task import Task


def document_scores(run: Run, task: Task, measures: Sequence[DocumentMeasure], **options: Any) -> list[Scores]:
    """One `Scores` per measure over documents, named `documents(RR@10)`, in the order asked.

    A document stands where its first chunk stands, later chunks of it leave the list, and only then does the
    measure cut, so that k documents are looked at however long they are. A document's grade is the highest of its
    fragments, also of those in no chunk, so that gold is the same for every chunking; without fragments it is the
    highest of its judged passages. A document may be returned when any of its passages may.

    Args:
        run: A run over passages, in any ids and of any eligibility.
        task: Whose passages have documents.
        measures: What to compute.
        **options: `seed`, `resamples`, `method`, as for `evaluate`.

    Raises:
        UsageError: The passages have no documents.
    """
    parent = task.passages.parent
    if parent is None:
        raise UsageError(f"the passages of {task.name} have no documents to be grouped to; use passage measures")
    qrels = task.qrels if task.fragments is None else _document_gold(task)
    grouped = replace(task, classes=parent.astype(np.int64), qrels=qrels)
    scores = lenient_scores(run, grouped, [one.measure for one in measures], **options)
    return [replace(one, measure=str(asked)) for one, asked in zip(scores, measures, strict=True)]


def chunking_scores(
    run: Run, task: Task, measures: Sequence[SpanMeasure | DocumentMeasure], **options: Any
) -> list[Scores]:
    """Span and document measures together, each under its own name; spans first, then documents."""
    spans = [one for one in measures if isinstance(one, SpanMeasure)]
    documents = [one for one in measures if isinstance(one, DocumentMeasure)]
    scores = span_scores(run, task, spans, **options) if spans else []
    return scores + (document_scores(run, task, documents, **options) if documents else [])


def _document_gold(task: Task) -> Qrels:
    """One judgement per query and document of its fragments, under the document's first passage.

    A document without a passage is judged under an id that no passage has.
    """
    fragments, passages, asked = task.fragments, task.passages, task.qrels.queries
    if fragments is None or passages.parents is None or passages.parent is None:
        return task.qrels
    first = np.full(len(passages.parents) + 1, -1, np.int64)
    first[passages.parent[::-1]] = np.arange(len(passages))[::-1]
    code = passages.parents.codes(fragments.documents)
    row = np.where(code >= 0, first[code], -1)
    lost = np.flatnonzero(row < 0)
    used, place = np.unique(row[row >= 0], return_inverse=True)
    names = passages.ids.take(used).texts.to_list()
    names += [f"document without a passage: {fragments.documents[int(d)]}" for d in lost]
    judged = np.empty(len(row), np.int64)
    judged[row >= 0] = place.reshape(-1)
    judged[lost] = len(used) + np.arange(len(lost))
    query = asked.codes(fragments.queries).astype(np.int64)[fragments.query]
    document, grade = judged[fragments.spans.document], fragments.grade
    order = np.lexsort((-grade.astype(np.int64), document, query))
    order = order[(query[order] >= 0) & (fragments.spans.lengths[order] > 0)]
    query, document, grade = query[order], document[order], grade[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (query[1:] != query[:-1]) | (document[1:] != document[:-1])
    return Qrels.from_columns(asked, Ids.of(names), query=query[new], passage=document[new], grade=grade[new])
