"""Cross-lingual queries: which question each asks, whatever column says so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from assay.errors import FormatError
from assay.formats.table import Table
from assay.ids import Ids
from assay.texts import Texts

NAMED = ("query_id", "question_id", "qid", "original_id", "orig_id")
"""Columns that may name the question; `query_id` goes first, and of the others just one may be there."""

LANGUAGES = ("lang", "language", "orig_lang")


def with_questions(table: Table, questions: Ids, counts: dict[str, int]) -> Table:
    """The table of cross-lingual queries with the question of each in `query_id`, and an `_id` of its own.

    Where no column names the question, but each `_id` is that of a question, it names it, and the row's own id
    becomes `QUESTION:LANGUAGE`. What was done is added to `counts`.

    Raises:
        FormatError: No column names the question, or several may.
    """
    there = [name for name in NAMED if name in table]
    if "query_id" in there:
        return table
    if len(there) > 1:
        raise FormatError(
            f"{table.where(0)}: {' and '.join(there)} may both name the question that is asked in another language;"
            " call the one that does query_id"
        )
    if there:
        counts[f"cross-lingual queries whose question is named by {there[0]}"] = len(table)
        columns = {"query_id" if name == there[0] else name: column for name, column in table.columns.items()}
        return replace(table, columns=columns)
    if not len(table):
        return replace(table, columns={**table.columns, "query_id": table.text("_id")})
    ids = table.text("_id")
    unknown = np.flatnonzero(questions.codes(ids) < 0)
    if len(unknown):
        raise FormatError(
            f"{table.where(0)}: no column names the question that is asked in another language ({', '.join(NAMED)}),"
            f" and _id does not either: {ids[int(unknown[0])]!r} is no question ({len(unknown)} such rows); columns"
            f" there: {', '.join(table.columns)}"
        )
    counts["cross-lingual queries that bear their question's id, told apart by their language"] = len(table)
    spoken = next((table.text(name).to_list() for name in LANGUAGES if name in table), ["xling"] * len(table))
    own = Texts.of([f"{id_}:{language}" for id_, language in zip(ids.to_list(), spoken, strict=True)])
    return replace(table, columns={**table.columns, "_id": own, "query_id": ids})
