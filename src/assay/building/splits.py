"""Splits: judgements and tasks, apart by split and all together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from assay.building.gold import Rule, project
from assay.errors import DataError
from assay.formats.table import joined
from assay.fragment import Fragments
from assay.ids import Ids
from assay.passage import Passages
from assay.qrels import Qrels
from assay.query import Queries
from assay.task import Task
from assay.texts import Texts

ALL = "all"
"""The split that holds the judgements of all others."""


def union(parts: Iterable[Qrels]) -> Qrels:
    """The judgements of several qrels together, queries in the order in which they appear.

    A pair that stands in several of them with one grade is kept once.

    Raises:
        DataError: A pair has different grades.

    Example:
        >>> union([Qrels.of([("q", "a", 1)]), Qrels.of([("r", "b", 2), ("q", "a", 1)])]).triples()
        [('q', 'a', 1), ('r', 'b', 2)]
    """
    parts = list(parts)
    if not parts:
        return Qrels.of([])
    queries, query_codes = Ids.distinct(cast(Texts, joined([part.queries.texts for part in parts])))
    passages, passage_codes = Ids.distinct(cast(Texts, joined([part.passages.texts for part in parts])))
    query = query_codes[_stacked([part.query for part in parts], [len(part.queries) for part in parts])].astype(
        np.int64
    )
    passage = passage_codes[_stacked([part.passage for part in parts], [len(part.passages) for part in parts])]
    grade = np.concatenate([part.grade for part in parts])
    _, first, place = np.unique(
        query.astype(np.int64) * len(passages) + passage, return_index=True, return_inverse=True
    )
    other = np.flatnonzero(grade != grade[first][place.reshape(-1)])
    if len(other):
        row = int(other[0])
        raise DataError(
            f"passage {passages[int(passage[row])]!r} has different grades for query {queries[int(query[row])]!r} in"
            f" different splits ({len(other)} such rows); a pair has one grade"
        )
    kept = np.sort(first)
    return Qrels.from_columns(queries, passages, query=query[kept], passage=passage[kept], grade=grade[kept])


def _stacked(codes: Sequence[npt.NDArray[np.integer[Any]]], sizes: list[int]) -> npt.NDArray[np.int64]:
    """Codes of several vocabularies as codes of the vocabularies one after the other."""
    starts = np.cumsum([0, *sizes])[:-1]
    return np.concatenate([code.astype(np.int64) + start for code, start in zip(codes, starts, strict=True)])


def with_all(tasks: Mapping[str, Task]) -> dict[str, Task]:
    """Tasks by split, and with them the split `all` where there are several.

    Example:
        >>> with_all({})
        {}
    """
    if len(tasks) < 2 or ALL in tasks:
        return dict(tasks)
    last = list(tasks.values())[-1]
    return {**tasks, ALL: replace(last, split=ALL, qrels=union(task.qrels for task in tasks.values()))}


def fragment_tasks(
    name: str, fragments: Fragments, *, passages: Passages, queries: Queries, rule: Rule | str = "any"
) -> dict[str, Task]:
    """The task of finding the passages in which fragments lie, by split.

    The column `split` of the queries says what is in which split; a query with no split there is in none. Without that
    column all queries are in `test`. `notes` holds the counts of the projection.
    """
    projection = project(fragments, passages, rule=rule)
    qrels = projection.qrels
    views = ["text:plain", *(["text:coref"] if "coref" in passages.texts else [])]
    views += [*(["title"] if passages.titles is not None else []), "parent", "position", "span"]
    whole = Task(
        name=name,
        split=ALL,
        pool=queries,
        passages=passages,
        qrels=qrels,
        views=tuple(views),
        measures=("nDCG@10", "RR@10", "R@100"),
        gold_rule=str(projection.rule),
        fragments=fragments,
        notes=projection.counts,
    )
    split = queries.columns.get("split")
    if split is None:
        return {"test": replace(whole, split="test")}
    return _apart(whole, split)


def _apart(whole: Task, split: Texts) -> dict[str, Task]:
    """The task of every split, and of all together where there are several."""
    of_query = np.asarray(split.to_list(), np.object_)
    judged = of_query[whole.pool.ids.codes(whole.qrels.queries)]
    fragments = whole.fragments
    tasks: dict[str, Task] = {}
    for name in dict.fromkeys(of_query[of_query != ""].tolist()):
        mine = None if fragments is None else fragments.take(np.flatnonzero(of_query[fragments.query] == name))
        rows = np.flatnonzero(judged == name)
        if len(rows):
            tasks[name] = replace(whole, split=name, qrels=whole.qrels.take(rows), fragments=mine)
    if len(tasks) > 1 and ALL not in tasks:
        rows = np.flatnonzero(judged != "")
        mine = None if fragments is None else fragments.take(np.flatnonzero(of_query[fragments.query] != ""))
        tasks[ALL] = replace(whole, qrels=whole.qrels.take(rows), fragments=mine)
    return tasks
