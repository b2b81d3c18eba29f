"""Tables to nouns: passages with spans and queries with fragments, from columns named by their roles.

A role (`id`, `text`, `document`, `start`, …) is what a column is for; which column has it is said by `names`, role to
column.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

import numpy as np
import numpy.typing as npt

from assay.errors import FormatError, SpanError
from assay.formats.table import Field, Lists, Table
from assay.fragment import Fragments
from assay.ids import Ids
from assay.passage import Passages
from assay.span import Spans
from assay.texts import Texts

Names = Mapping[str, str]

PASSAGE_ROLES = {
    "id": Field(str),
    "text": Field(str),
    "document": Field(str),
    "title": Field(str, required=False),
    "position": Field(int, required=False),
    "start": Field(int),
    "end": Field(int),
    "candidate": Field(bool, required=False),
    "date": Field(date, required=False),
    "answers": Field(str | list[str], required=False),
}
QUERY_ROLES = {
    "id": Field(str, required=False),
    "text": Field(str),
    "date": Field(date, required=False),
    "answer": Field(str, required=False),
    "split": Field(str, required=False),
}
FRAGMENT_ROLES = {
    "document": Field(list[str]),
    "start": Field(list[int]),
    "end": Field(list[int]),
    "score": Field(list[float], required=False),
    "quote": Field(list[str], required=False),
}
UNKNOWN_INLINED = "inlined texts of unknown chunks left out"
"""The count of inlined texts whose passage does not exist."""


def fields_of(names: Names, roles: Mapping[str, Field]) -> dict[str, Field]:
    """What each named column must hold.

    Example:
        >>> fields_of({"id": "chunk_id"}, PASSAGE_ROLES)["chunk_id"].required
        True
    """
    return {column: roles[role] for role, column in names.items()}


def spans_of(table: Table, names: Names) -> tuple[Ids, Spans]:
    """The documents of passages, in order of first appearance, and the span of each passage.

    Raises:
        SpanError: A span ends before it starts, or starts below 0.
    """
    parents, document = Ids.distinct(table.text(names["document"]))
    start, end = table.array(names["start"]), table.array(names["end"])
    _refuse_reversed(table, start, end, rows=np.arange(len(table)), name=names["end"])
    return parents, Spans(document.astype(np.int64), start, end)


def passages_of(table: Table, names: Names, counts: dict[str, int]) -> Passages:
    """Passages from a table with documents and spans; what was met is added to `counts`.

    Raises:
        DuplicateIdError: An id stands twice.
        SpanError: A span ends before it starts, or starts below 0.
    """
    ids = table.ids(names["id"], what="chunk", text=names["text"])
    parents, spans = spans_of(table, names)
    plain = table.text(names["text"])
    counts |= {
        "documents": len(parents),
        "chunks": len(ids),
        "chunks with an empty text": int((plain.byte_lengths == 0).sum()),
        "chunks of zero length": len(spans.empty),
    }
    candidate = names.get("candidate", "")
    return Passages(
        ids,
        {"plain": plain},
        parents=parents,
        spans=spans,
        position=_positions(table, spans, names.get("position", "")),
        titles=_titles(table, parents, spans, name=names.get("title", ""), counts=counts),
        candidate=table.array(candidate) if candidate in table else None,
        columns=table.others(names.values()),
    )


def _titles(table: Table, parents: Ids, spans: Spans, *, name: str, counts: dict[str, int]) -> Texts | None:
    """One title a document: that of its first passage."""
    if name not in table:
        return None
    named = table.text(name)
    first = np.full(len(parents), len(table), np.int64)
    np.minimum.at(first, spans.document, np.arange(len(table)))
    titles = named.take(first)
    differs = titles.first_rows_in(titles)[spans.document] != named.first_rows_in(titles)
    counts["chunks whose title differs from their document's first"] = int(differs.sum())
    return titles


def _positions(table: Table, spans: Spans, name: str) -> npt.NDArray[np.int32]:
    """Each passage's place in its document from 0: as stored, else by start."""
    if name in table:
        return table.array(name).astype(np.int32)
    order = np.lexsort((spans.end, spans.start, spans.document))
    size = np.bincount(spans.document)
    position = np.empty(len(spans), np.int32)
    position[order] = np.arange(len(spans)) - np.repeat(np.cumsum(size) - size, size)
    return position


def links_of(links: Lists, questions: Ids) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], int]:
    """Borders and query codes of the links from passages to questions, and how many name no question.

    Example:
        >>> links = Lists(np.array([0, 2, 2, 3]), Texts.of(["q2", "x", "q1"]))
        >>> offsets, query, unknown = links_of(links, Ids.of(["q1", "q2"]))
        >>> offsets.tolist(), query.tolist(), unknown
        ([0, 1, 1, 2], [1, 0], 1)
    """
    named = links.values if isinstance(links.values, Texts) else Texts.of([])
    code = questions.codes(named)
    offsets = np.concatenate([[0], np.cumsum(code >= 0)]).astype(np.int64)[links.offsets]
    return offsets, code[code >= 0], int(((code < 0) & (named.byte_lengths > 0)).sum())


def fragments_of(table: Table, names: Names, queries: Ids) -> Fragments:
    """Gold fragments from lists in the table of queries, row by row; a missing score is 1.

    Raises:
        FormatError: The lists of a query differ in length, or a score is not a whole number.
        SpanError: A span ends before it starts, or starts below 0.
    """
    lists = {role: table.lists(name) for role, name in names.items() if name in table}
    lists = {role: found for role, found in lists.items() if role not in ("score", "quote") or found.offsets[-1]}
    _refuse_uneven(table, names, lists)
    start, end, source = lists["start"], lists["end"], lists["document"]
    owner = start.owner
    starts, ends = np.asarray(start.values, np.int64), np.asarray(end.values, np.int64)
    _refuse_reversed(table, starts, ends, rows=owner, name=names["end"])
    documents, document = Ids.distinct(source.values if isinstance(source.values, Texts) else Texts.of([]))
    grade = _grades(table, names, lists["score"]) if "score" in lists else np.ones(len(owner), np.int32)
    quotes = lists["quote"].values if "quote" in lists else None
    return Fragments(
        queries,
        documents,
        owner.astype(np.int32),
        Spans(document.astype(np.int64), starts, ends),
        grade,
        quotes if isinstance(quotes, Texts) else None,
    )


def _refuse_uneven(table: Table, names: Names, lists: Mapping[str, Lists]) -> None:
    size = np.diff(lists["start"].offsets)
    for role, column in lists.items():
        wrong = np.flatnonzero(np.diff(column.offsets) != size)
        if len(wrong):
            row = int(wrong[0])
            raise FormatError(
                f"{table.where(row, names[role])}: {np.diff(column.offsets)[row]} values for {size[row]} fragments"
                f" ({len(wrong)} such rows); the lists of a query need one value a fragment"
            )


def _grades(table: Table, names: Names, scores: Lists) -> npt.NDArray[np.int32]:
    score = np.asarray(scores.values, np.float64)
    broken = np.flatnonzero(~(score == np.rint(score)) | (np.abs(score) >= 2**31))
    if len(broken):
        at = int(broken[0])
        place = table.where(int(scores.owner[at]), names["score"])
        raise FormatError(f"{place}: {score[at]} is not a whole number; grades are whole numbers below 2**31")
    return score.astype(np.int32)


def _refuse_reversed(
    table: Table, start: npt.NDArray[np.int64], end: npt.NDArray[np.int64], *, rows: npt.NDArray[np.int64], name: str
) -> None:
    bad = np.flatnonzero((start < 0) | (end < start))
    if len(bad):
        at = int(bad[0])
        raise SpanError(
            f"{table.where(int(rows[at]), name)}: [{start[at]}, {end[at]}) is reversed or negative ({len(bad)} such"
            " spans); ends must not lie before starts"
        )
