"""Columns: passages and queries with fragments back to the tables of the chunk-level layout."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np

from assay.errors import DataError, UsageError
from assay.formats.table import Column, Lists, column_of
from assay.fragment import Fragments
from assay.passage import Passages
from assay.query import Queries

FIRST = ("query_id", "original_query", "query", "answer")
"""Columns of queries that stand before the gold; others that a collection has stand after it."""


def document_columns(passages: Passages, *, view: str = "plain") -> dict[str, Column]:
    """The table `documents`, a row a passage; with another view the same rows with its texts.

    Raises:
        UsageError: The passages have no documents and spans.

    Example:
        >>> from assay.ids import Ids
        >>> from assay.span import Spans
        >>> from assay.texts import Texts
        >>> one = Passages(Ids.of(["d-0"]), {"plain": Texts.of(["four"])}, Ids.of(["d"]), Spans.of((0, 0, 4)))
        >>> list(document_columns(one))
        ['chunk_id', 'chunk', 'source_url', 'chunk_start_char', 'chunk_end_char']
    """
    if passages.spans is None or passages.parents is None:
        raise UsageError("the chunk-level layout needs passages with documents and spans; these passages have none")
    document = passages.spans.document
    columns: dict[str, Column] = {
        "chunk_id": passages.ids.texts,
        "chunk": passages.texts[view],
        "source_url": passages.parents.texts.take(document),
    }
    if passages.titles is not None:
        columns["title"] = passages.titles.take(document)
    if passages.position is not None:
        columns["chunk_idx"] = passages.position.astype(np.int64)
    columns |= {"chunk_start_char": passages.spans.start, "chunk_end_char": passages.spans.end}
    if passages.candidate is not None:
        columns["is_candidate"] = passages.candidate
    return {**columns, **passages.columns}


def query_columns(queries: Queries, fragments: Fragments) -> dict[str, Column]:
    """The table `queries`, a row a query, with its fragments as lists; fragments of other queries are passed over.

    `n_gold`, where the queries have it, is counted anew and written as a number.

    Raises:
        DataError: `n_gold` of a query is not the number of its fragments.
    """
    code = queries.ids.codes(fragments.queries)[fragments.query]
    order = np.argsort(code, kind="stable")[int((code < 0).sum()) :]
    gold = fragments.take(order)
    size = np.bincount(code[order], minlength=len(queries)).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    known: dict[str, Column] = {"query_id": queries.ids.texts, "query": queries.texts["plain"], **queries.columns}
    if "answer" in known:
        known["answer"] = column_of([_listed(text) for text in queries.columns["answer"].to_list()], list[str])
    columns = {name: known.pop(name) for name in FIRST if name in known}
    columns |= {
        "score": Lists(offsets, gold.grade.astype(np.int64)),
        "source_url": Lists(offsets, gold.documents.texts.take(gold.spans.document)),
        "frag_start_char": Lists(offsets, gold.spans.start),
        "frag_end_char": Lists(offsets, gold.spans.end),
    }
    if "n_gold" in known:
        _refuse_miscounted(queries, size.tolist())
        known["n_gold"] = size
    return columns | _last(known)


def _last(columns: Mapping[str, Column]) -> dict[str, Column]:
    """Further columns, `n_gold` first."""
    return {name: columns[name] for name in sorted(columns, key=lambda name: name != "n_gold")}


def _listed(text: str) -> list[str]:
    """A list of answers as readers keep it: JSON of a list of texts; any other text is one answer."""
    try:
        found = json.loads(text) if text else []
    except ValueError:
        return [text]
    return found if isinstance(found, list) and all(isinstance(item, str) for item in found) else [text]


def _refuse_miscounted(queries: Queries, sizes: list[int]) -> None:
    said = queries.columns["n_gold"].to_list()
    wrong = [row for row, size in enumerate(sizes) if said[row] not in ("", str(size))]
    if wrong:
        row = wrong[0]
        raise DataError(
            f"query {queries.ids[row]}: n_gold says {said[row]}, it has {sizes[row]} fragments ({len(wrong)} such"
            " queries); correct the column or leave it out"
        )
