"""Task edges: the citations of a table `precedent_meta`, task by task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.edges import Edges
from assay.formats.table import Field, Table, empty_texts
from assay.ids import Ids
from assay.texts import Texts

FIELDS = {
    "query_id": Field(str, required=False),
    "doc_id": Field(str, required=False),
    "source": Field(str, required=False),
    "referral": Field(bool, required=False),
    "tasks": Field(str | list[str], required=False),
}
_TOLD = ("source", "referral")
FOLLOWUP, IN_QUESTION = "followup", "question_text"
"""The task whose citations stand in the question itself, and how tables without `tasks` call those."""


def task_edges(table: Table, queries: Ids, passages: Ids, *, tasks: Iterable[str]) -> Mapping[str, Edges]:
    """Task to its citations, with columns `source` and `referral` (`yes` or `no`) where the table has them.

    The column `tasks` says of which tasks a citation is; in a table without it those of source `question_text` are of
    `followup`, and all others of every other task. Citations of or by unknown records are left out.
    """
    if "query_id" not in table or "doc_id" not in table:
        return {}
    query = queries.codes(table.text("query_id")).astype(np.int64)
    passage = passages.codes(table.text("doc_id")).astype(np.int64)
    columns = {"source": table.text("source")} if "source" in table else {}
    if "referral" in table:
        columns["referral"] = Texts.of(("no", "yes")[flag] for flag in table.array("referral").tolist())
    found = {}
    for task in tasks:
        rows = np.flatnonzero(_of_task(table, task) & (query >= 0) & (passage >= 0))
        found[task] = Edges(query[rows], passage[rows], {name: texts.take(rows) for name, texts in columns.items()})
    return found


def edge_rows(queries: Ids, passages: Ids, edges: Mapping[str, Edges]) -> list[dict[str, Any]]:
    """Rows of a table `precedent_meta` that `task_edges` reads as these edges: one a citation, with its tasks."""
    tasks: dict[tuple[Any, ...], list[str]] = {}
    for task, found in edges.items():
        told = [found.columns[name].to_list() if name in found.columns else [None] * len(found) for name in _TOLD]
        for row in zip(found.query.tolist(), found.passage.tolist(), *told, strict=True):
            if task not in tasks.setdefault(row, []):
                tasks[row].append(task)
    rows = []
    for (query, passage, source, referral), names in sorted(tasks.items(), key=lambda one: one[0][:2]):
        made = {"query_id": queries[query], "doc_id": passages[passage], "source": source, "tasks": names}
        rows.append(made if referral is None else {**made, "referral": referral == "yes"})
    return rows


def _of_task(table: Table, task: str) -> npt.NDArray[np.bool_]:
    if "tasks" in table:
        return np.array([task in row for row in table.lists("tasks").to_list()], np.bool_)
    source = table.text("source") if "source" in table else empty_texts(len(table))
    asked = np.array([one == IN_QUESTION for one in source], np.bool_)
    return asked if task == FOLLOWUP else ~asked
