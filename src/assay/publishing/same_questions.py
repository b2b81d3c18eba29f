"""Sameness of a question-level build: whether its folder, opened as a collection, is what was built."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from assay.audit import own_splits
from assay.building.built import Built
from assay.building.removals import Row, listed
from assay.collection import Collection
from assay.errors import DataError
from assay.texts import Texts

_BLOCK = 10_000


def refuse_unread(built: Built, read: Collection) -> None:
    """Raises DataError where a build does not come back from its files as a collection.

    Compared are ids, texts, dates and order of replies and questions, which questions a reply answers, and every
    judgement.
    """
    changed = list(_changed(built, read))
    if changed:
        raise DataError(
            f"{built.origin.name}: {', '.join(changed)} would read back differently from the folder; nothing was"
            " published"
        )


def _changed(built: Built, read: Collection) -> Iterator[str]:
    found, passages, queries = built.tables, read.passages, read.queries
    asked = [*found.queries, *found.queries_xling]
    if (len(passages), len(queries)) != (len(found.corpus), len(asked)):
        yield "the numbers of replies and questions"
        return
    yield from _texts("replies", found.corpus, {"_id": passages.ids.texts, **_views(passages.texts)})
    yield from _texts("questions", asked, {"_id": queries.ids.texts, **_views(queries.texts)})
    for what, rows, days in (("replies", found.corpus, passages.dates), ("questions", found.queries, queries.dates)):
        if _days(rows) != _days_read(days, len(rows)):
            yield f"dates of {what}"
    if _links(built, read) != _links_read(read):
        yield "links from replies to questions"
    judged = {
        f"{n}_{split}": task.qrels for n, splits in read.tasks.items() for split, task in own_splits(splits).items()
    }
    for name, judgements in (found.qrels or {}).items():
        there = judged[name].triples() if name in judged else []
        if sorted(there) != sorted((q, p, int(grade)) for q, p, grade in judgements):
            yield f"judgements of {name}"


def _views(texts: Any) -> dict[str, Texts]:
    return {"text": texts["plain"], **({"raw_text": texts["raw"]} if "raw" in texts else {})}


def _texts(what: str, rows: Sequence[Row], there: dict[str, Texts]) -> Iterator[str]:
    """Columns that differ, compared block by block, so that a second copy of all texts is never in memory."""
    for name, column in there.items():
        for first in range(0, len(rows), _BLOCK):
            block = rows[first : first + _BLOCK]
            written = Texts.of([row.get(name) or "" for row in block])
            if written != column.take(np.arange(first, first + len(block))):
                yield f"{name} of {what}"
                break


def _days(rows: Sequence[Row]) -> list[str]:
    return [row.get("date") or "NaT" for row in rows]


def _days_read(days: Any, rows: int) -> list[str]:
    read: list[str] = ["NaT"] * rows if days is None else days[:rows].astype(str).tolist()
    return read


def _links(built: Built, read: Collection) -> list[list[str]]:
    """Per reply the questions that it answers, those alone that are here."""
    known = set(read.queries.ids)
    return [[id_ for id_ in listed(row.get("answers")) if id_ in known] for row in built.tables.corpus]


def _links_read(read: Collection) -> list[list[str]]:
    passages = read.passages
    if passages.link_offsets is None or passages.link_query is None:
        return [[] for _ in range(len(passages))]
    named = read.queries.ids.texts.take(passages.link_query).to_list()
    return [named[a:b] for a, b in pairwise(passages.link_offsets.tolist())]
