"""Rows of a question-level folder from an open collection: what it holds, and the tables that lie beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from assay.audit import own_splits
from assay.building.built import CORPUS, EQUIVALENTS, META, QUERIES, XLING, Built
from assay.building.question_tasks import AS_OF, RULES
from assay.building.question_tasks import XLING as CROSSING
from assay.building.records import Origin
from assay.building.removals import BuildTables, Judgement
from assay.collection import Collection
from assay.errors import UsageError
from assay.formats import shards
from assay.formats.rows import BOOL, STRINGS
from assay.formats.table import Field, Lists, Table, plain_values
from assay.publishing.question_tables import UNRESOLVED, kinds_of_columns
from assay.query import Queries
from assay.sources import folder_of, parlir
from assay.task import Task
from assay.texts import Texts

Rows = list[dict[str, Any]]

_OWN = ("counts", "files", "rows", "publishing", "layout", "assay", "left_out_by_publishing")
"""What a manifest says of the files that it lies beside, and not of the collection."""


def built_of(collection: Collection) -> Built:
    """An open collection as a build: rows from what it holds, and its tables of citations and equivalents as they lie.

    A text that is empty is null. Columns that the layout does not know are text, as they were read.

    Raises:
        UsageError: A task has gold fragments, no task has judgements, or an as-of rule is none that the layout knows.
    """
    _refuse_other(collection)
    beside = _beside(collection)
    tables = BuildTables(
        corpus=_corpus(collection),
        queries=_queries(collection),
        queries_xling=_crossing(collection.queries),
        equivalents=beside["equivalents"],
        precedent_meta=beside["precedent_meta"],
        qrels=_judgements(collection),
    )
    origin = Origin(
        name=str(collection.manifest.get("name", collection.name)),
        source=collection.source,
        revision=collection.revision,
        licence=collection.licence,
        attribution=str(collection.manifest.get("attribution", "")),
        modified=str(collection.manifest.get("modified", "")),
        parameters={str(k): str(v) for k, v in dict(collection.manifest.get("source_parameters", {})).items()},
    )
    return Built(tables, _manifest(collection, tables, beside), origin, beside["unresolved_citations"])


def _refuse_other(collection: Collection) -> None:
    tasks = [task for splits in collection.tasks.values() for task in splits.values()]
    if any(task.fragments is not None for task in tasks):
        raise UsageError(
            f"{collection.name} has gold fragments, for which the question-level layout has no place; use `assay"
            " publish chunk-level`"
        )
    if not tasks:
        raise UsageError(f"{collection.name} has no task with judgements, so there is nothing to publish")


def _beside(collection: Collection) -> dict[str, Rows]:
    """The tables that a reader only counts or takes parts of, as they lie in a question-level folder."""
    wanted = {"equivalents": EQUIVALENTS, "precedent_meta": META, "unresolved_citations": UNRESOLVED}
    if collection.layout != "parlir" or not collection.place:
        return {name: [] for name in wanted}
    with folder_of(collection) as folder:
        return {name: _read(folder, name, columns) for name, columns in wanted.items()}


def _read(folder: Path, name: str, columns: Sequence[str]) -> Rows:
    files = shards.files_of(folder, name)
    types = {STRINGS: list[str], BOOL: bool}
    fields = {n: Field(types.get(kind, str), required=False) for n, kind in kinds_of_columns(columns).items()}
    return _rows(shards.read(files, fields)) if files else []


def _rows(table: Table) -> Rows:
    columns = {name: plain_values(column) for name, column in table.columns.items()}
    texts = [name for name, column in table.columns.items() if isinstance(column, Texts)]
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [_nulled(row, texts) for row in rows]


def _nulled(row: dict[str, Any], texts: Sequence[str]) -> dict[str, Any]:
    """The row with null where a text is empty."""
    return row | {name: None for name in texts if row[name] == "" and name != "text"}


def _listed(columns: Mapping[str, Any], order: Sequence[str]) -> Rows:
    """Rows of columns, those of the layout first."""
    names = [name for name in order if name in columns] + [name for name in columns if name not in order]
    table = Table(len(columns["_id"]), {name: columns[name] for name in names})
    return _rows(table)


def _columns(texts: Mapping[str, Texts], dates: Any, others: Mapping[str, Texts]) -> dict[str, Any]:
    found: dict[str, Any] = {"text": texts["plain"], **({"raw_text": texts["raw"]} if "raw" in texts else {})}
    return found | ({} if dates is None else {"date": dates}) | dict(others)


def _corpus(collection: Collection) -> Rows:
    passages = collection.passages
    columns = {"_id": passages.ids.texts, **_columns(passages.texts, passages.dates, passages.columns)}
    if passages.link_offsets is not None and passages.link_query is not None:
        named = collection.queries.ids.texts.take(passages.link_query)
        columns["answers"] = Lists(passages.link_offsets, named)
    return _listed(columns, CORPUS)


def _own_rows(queries: Queries) -> tuple[Queries, Queries]:
    """The questions, and below them those in another language."""
    named = queries.columns.get("question")
    if named is None:
        return queries, queries.take(np.zeros(0, np.int64))
    return queries.take(np.flatnonzero(named.byte_lengths == 0)), queries.take(np.flatnonzero(named.byte_lengths > 0))


def _filled(queries: Queries, *, leave_out: Sequence[str]) -> dict[str, Texts]:
    """Columns that have a text: questions and those in another language share columns that only one side may have."""
    return {name: column for name, column in queries.columns.items() if name not in leave_out and len(column.buffer)}


def _queries(collection: Collection) -> Rows:
    queries, _ = _own_rows(collection.queries)
    others = _filled(queries, leave_out=("question", "joint_size"))
    rows = _listed({"_id": queries.ids.texts, **_columns(queries.texts, queries.dates, others)}, QUERIES)
    size = _joint_sizes(collection)
    for row in rows:
        row["joint_size"] = size.get(row.get("answer") or "")
    return rows


def _joint_sizes(collection: Collection) -> dict[str, int]:
    """How many questions each reply answers, by its id."""
    passages = collection.passages
    if passages.link_offsets is None:
        return {}
    return dict(zip(passages.ids, np.diff(passages.link_offsets).tolist(), strict=True))


def _crossing(whole: Queries) -> Rows:
    _, queries = _own_rows(whole)
    if not len(queries):
        return []
    others = _filled(queries, leave_out=("question",))
    if "lang" not in others and "language" in others:
        others["lang"] = others.pop("language")
    columns = {
        "_id": queries.ids.texts,
        "query_id": queries.columns["question"],
        **_columns(queries.texts, None, others),
    }
    return _listed(columns, XLING)


def _judgements(collection: Collection) -> dict[str, list[Judgement]]:
    """The judgements of every task and split; files without a line, which make no task, are there too."""
    found: dict[str, list[Judgement]] = {}
    if collection.layout == "parlir" and collection.place:
        with folder_of(collection) as folder:
            found = {f"{task}_{split}": [] for task, split, _ in parlir.qrels_files(folder)}
    for name, splits in collection.tasks.items():
        if not name.endswith(CROSSING):
            found |= {f"{name}_{split}": task.qrels.triples() for split, task in own_splits(splits).items()}
    return found


def _manifest(collection: Collection, tables: BuildTables, beside: Mapping[str, Rows]) -> dict[str, Any]:
    told = {key: value for key, value in collection.manifest.items() if key not in _OWN}
    tasks = [next(iter(splits.values())) for name, splits in collection.tasks.items() if not name.endswith(CROSSING)]
    qrels = cast(Mapping[str, Sequence[Judgement]], tables.qrels)
    counts = {
        "passages": len(tables.corpus),
        "queries": len(tables.queries),
        "queries_xling": len(tables.queries_xling),
        "citations": len(tables.precedent_meta),
        "qrels": {
            name: {"queries": len({query for query, _, _ in judged}), "pairs": len(judged)}
            for name, judged in qrels.items()
            if judged
        },
    }
    kinds = ["twin_question", "joint_answer", "shared_passage"] if beside["equivalents"] else []
    return {
        "mask_token": sorted({token for task in tasks for token in task.mask}),
        "ties": kinds,
        **told,
        "as_of": {**dict(told.get("as_of", {})), **_rules(collection, tasks)},
        "counts": counts,
        "published_from": {
            "name": collection.name,
            "layout": collection.layout,
            "digest": collection.digest,
        },
        "left_out_by_publishing": _left_out(collection),
    }


def _rules(collection: Collection, tasks: Sequence[Task]) -> dict[str, str | None]:
    """Task to the name of its as-of rule, where the layout would take it for another."""
    names = {words: name for name, words in RULES.items()}
    rules: dict[str, str | None] = {}
    for task in tasks:
        if task.asked is not None and task.rule not in names:
            raise UsageError(
                f"{collection.name}/{task.name}: the question-level layout has no as-of rule {task.rule!r}; it knows"
                f" {', '.join(names)}"
            )
        rule = None if task.asked is None else names[task.rule]
        if rule == "answer" and collection.passages.link_offsets is None and "answer" not in collection.queries.columns:
            raise UsageError(
                f"{collection.name}/{task.name}: no reply says which question it answers, from which the layout takes"
                f" the day of the rule {task.rule!r}; publish the collection that this one was made from"
            )
        if rule != AS_OF.get(task.name):
            rules[task.name] = rule
    return rules


def _left_out(collection: Collection) -> dict[str, int]:
    """What the layout has no place for, by kind."""
    passages, queries = collection.passages, collection.queries
    counts = {f"text:{view} of replies": len(passages) for view in passages.texts if view not in ("plain", "raw")}
    counts |= {f"text:{view} of questions": len(queries) for view in queries.texts if view not in ("plain", "raw")}
    for name in ("titles", "spans", "candidate"):
        if getattr(passages, name) is not None:
            counts[f"{name} of replies"] = len(passages)
    if collection.layout != "parlir":
        counts |= {f"pairs tied by {kind}": len(pairs) for kind, pairs in collection.tied.items()}
    return counts
