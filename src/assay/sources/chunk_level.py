"""Chunk level: documents cut into chunks with character offsets, and queries with gold fragments.

A folder with the tables `documents` and `queries` (JSON Lines or Parquet, plain, compressed or in shards), and perhaps
`documents_coref`, the same chunks with antecedents inlined. Columns are listed in docs/collection-formats.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from assay.building.columns import document_columns, query_columns
from assay.building.splits import fragment_tasks
from assay.building.tables import (
    FRAGMENT_ROLES,
    PASSAGE_ROLES,
    UNKNOWN_INLINED,
    fields_of,
    fragments_of,
    passages_of,
)
from assay.collection import Collection
from assay.errors import FormatError, UsageError
from assay.formats import jsonl, parquet, shards
from assay.formats.digest import digest_of, file_digests
from assay.formats.table import Field, Table
from assay.fragment import Fragments
from assay.ids import Ids
from assay.passage import Passages
from assay.query import Queries
from assay.task import Task
from assay.texts import Texts

LOOKS_FOR = "documents.jsonl and queries.jsonl with fragments (or .parquet, .gz, .zst, shards)"
TASK = "passages"

_DOCUMENTS = {
    "id": "chunk_id",
    "text": "chunk",
    "document": "source_url",
    "title": "title",
    "position": "chunk_idx",
    "start": "chunk_start_char",
    "end": "chunk_end_char",
    "candidate": "is_candidate",
}
_FRAGMENTS = {"document": "source_url", "start": "frag_start_char", "end": "frag_end_char", "score": "score"}
_QUERIES = {
    "query_id": Field(str, required=False),
    "query": Field(str),
    "answer": Field(list[str], required=False),
    "split": Field(str, required=False),
    **fields_of(_FRAGMENTS, FRAGMENT_ROLES),
}
_COREF = {
    "chunk_id": Field(str),
    "chunk": Field(str),
    "chunk_start_char": Field(int, required=False),
    "chunk_end_char": Field(int, required=False),
}


def recognises(path: Path) -> bool:
    """Whether a folder, or the documents file of one, has this layout."""
    folder, prefix = _place(path)
    return all(shards.files_of(folder, f"{prefix}{name}") for name in ("documents", "queries"))


def load(path: Path) -> Collection:
    """The collection in a folder; its task is `passages`.

    `path` may also be the documents file: then the tables are those whose names begin like it (`en.documents.jsonl`,
    `en.queries.jsonl`).

    Raises:
        FormatError: A file, line or field cannot be read as what it should be.
        SpanError: A chunk or fragment ends before it starts, or starts below 0.
        DuplicateIdError: An id stands twice.
    """
    folder, prefix = _place(path)
    names = ("documents", "documents_coref", "queries")
    files = {name: shards.files_of(folder, f"{prefix}{name}") for name in names}
    manifest_file = folder / f"{prefix}build_manifest.json"
    manifest = jsonl.read_object(manifest_file) if manifest_file.is_file() else {}
    documents = shards.read(files["documents"], fields_of(_DOCUMENTS, PASSAGE_ROLES))
    asked = _with_splits(shards.read(files["queries"], _QUERIES), f"{prefix}queries")
    counts: dict[str, int] = {**documents.noted("documents"), **asked.noted("queries")}
    passages = passages_of(documents, _DOCUMENTS, counts)
    if files["documents_coref"]:
        coref = _coref(shards.read(files["documents_coref"], _COREF), passages, counts)
        passages = replace(passages, texts={**passages.texts, "coref": coref})
    queries = _queries(asked, counts)
    # A builder that wrote the words of every fragment into `answer` says so; otherwise they may be anything.
    gold = {**_FRAGMENTS, "quote": "answer"} if manifest.get("answer") == "quote" else _FRAGMENTS
    fragments = fragments_of(asked, gold, queries.ids)
    # A collection that was cut anew says by which rule its gold was projected.
    rule = str(manifest.get("gold_rule", "any"))
    tasks = {TASK: fragment_tasks(TASK, fragments, passages=passages, queries=queries, rule=rule)}
    counts |= _task_counts(tasks[TASK], queries)
    read = [file for found in files.values() for file in found] + ([manifest_file] if manifest else [])
    digests = file_digests(folder, read)
    return Collection(
        name=(prefix.rstrip(".-_") or folder.resolve().name),
        layout="chunk-level",
        digest=digest_of(digests),
        files=digests,
        passages=passages,
        queries=queries,
        tasks=tasks,
        manifest=manifest,
        licence=str(manifest.get("licence", manifest.get("license", ""))),
        source=str(manifest.get("source", "")),
        revision=str(manifest.get("revision", "")),
        counts=counts,
    )


def save(collection: Collection, path: Path, *, as_parquet: bool = False) -> None:
    """Writes a collection as `documents.jsonl`, `queries.jsonl` and, where it has that view, `documents_coref.jsonl`.

    What the layout has no place for is not written; `left_out` counts it. The manifest is the caller's.

    Args:
        collection: Passages with spans, and a task with gold fragments.
        path: A folder, made where it is missing.
        as_parquet: Write `.parquet` files in place of `.jsonl`.

    Raises:
        UsageError: The collection has no spans or no gold fragments, or several tasks with fragments.
        DataError: `n_gold` of a query is not the number of its fragments.
    """
    passages, fragments = collection.passages, gold_of(collection)
    path.mkdir(parents=True, exist_ok=True)
    write, suffix = (parquet.write_table, "parquet") if as_parquet else (jsonl.write_table, "jsonl")
    write(document_columns(passages), path / f"documents.{suffix}")
    if "coref" in passages.texts:
        coref = {"chunk_id": passages.ids.texts, "chunk": passages.texts["coref"]}
        write(coref, path / f"documents_coref.{suffix}")
    write(query_columns(collection.queries, fragments), path / f"queries.{suffix}")


def gold_of(collection: Collection) -> Fragments:
    """The fragments of all splits of the one task that the layout has a place for.

    Raises:
        UsageError: The passages have no spans, or not exactly one task has fragments.
    """
    gold = [task for splits in collection.tasks.values() for task in splits.values() if task.fragments is not None]
    if collection.passages.spans is None or collection.passages.parents is None or not gold:
        raise UsageError(f"{collection.name}: the chunk-level layout needs passages with spans and gold fragments")
    if len({task.name for task in gold}) > 1:
        names = ", ".join(dict.fromkeys(task.name for task in gold))
        raise UsageError(f"{collection.name} has several tasks with fragments ({names}); the layout holds one")
    # Splits of a task hold parts of the same fragments; the largest part holds all that the task asks.
    return max((task.fragments for task in gold if task.fragments is not None), key=len)


def left_out(collection: Collection) -> dict[str, int]:
    """What of a collection the layout has no place for, by kind; kinds of which there is nothing are not named."""
    passages, queries = collection.passages, collection.queries
    tasks = [task for splits in collection.tasks.values() for task in splits.values()]
    plain = [splits for splits in collection.tasks.values() if all(t.fragments is None for t in splits.values())]
    found = {
        "dates of chunks": 0 if passages.dates is None else int((~np.isnat(passages.dates)).sum()),
        "dates of queries": 0 if queries.dates is None else int((~np.isnat(queries.dates)).sum()),
        "links from chunks to queries": 0 if passages.link_query is None else len(passages.link_query),
        "tasks without fragments": len(plain),
        "rules of which passages may answer": len({task.rule for task in tasks if task.asked is not None}),
    }
    for view in sorted(set(passages.texts) - {"plain", "coref"}):
        found[f"texts of the view {view!r} of chunks"] = len(passages)
    for view in sorted(set(queries.texts) - {"plain"}):
        found[f"texts of the view {view!r} of queries"] = len(queries)
    return {name: number for name, number in found.items() if number}


def _with_splits(table: Table, name: str) -> Table:
    """The table with the splits that its files are named for, where it has no column of splits."""
    named = [shards.split_of(part.path, name) for part in table.parts]
    if "split" in table or not any(named):
        return table
    sizes = np.diff([part.first for part in table.parts] + [len(table)]).tolist()
    split = Texts.of(split for split, size in zip(named, sizes, strict=True) for _ in range(size))
    return replace(table, columns={**table.columns, "split": split})


def _place(path: Path) -> tuple[Path, str]:
    """The folder, and what the names of its tables begin with."""
    suffix = shards.suffix_of(path)
    stem = path.name[: len(path.name) - len(suffix)]
    if suffix and stem.endswith("documents"):
        return path.parent, stem.removesuffix("documents")
    return path, ""


def _coref(table: Table, passages: Passages, counts: dict[str, int]) -> Texts:
    """The inlined texts in the order of the chunks.

    Raises:
        FormatError: A chunk has none, or the table's offsets are not those of the chunks.
    """
    ids = passages.ids
    rows = table.ids("chunk_id", what="chunk", text="chunk").codes(ids).astype(np.int64)
    missing = np.flatnonzero(rows < 0)
    if len(missing):
        raise FormatError(
            f"documents_coref has no text for {len(missing)} of {len(ids)} chunks (first: {ids[int(missing[0])]});"
            " it must hold the chunks of documents"
        )
    for name in ("start", "end"):
        column = _DOCUMENTS[name]
        own = getattr(passages.spans, name)
        moved = np.flatnonzero(table.array(column)[rows] != own) if column in table else missing
        if len(moved):
            row = int(moved[0])
            there = int(rows[row])
            raise FormatError(
                f"{table.where(there, column)}: {table.array(column)[there]} for chunk {ids[row]}, documents says"
                f" {own[row]} ({len(moved)} such chunks); inlined texts keep the offsets of their chunks"
            )
    counts[UNKNOWN_INLINED] = len(table) - len(ids)
    return table.text("chunk").take(rows)


def _queries(table: Table, counts: dict[str, int]) -> Queries:
    if "query_id" in table:
        ids = table.ids("query_id", what="query", text="query")
    else:
        ids = Ids.of(map(str, range(len(table))))
    texts = table.text("query")
    columns = table.others(_QUERIES)
    if "split" in table:
        columns["split"] = table.text("split")
    if "answer" in table:
        columns["answer"] = Texts.of(json.dumps(row, ensure_ascii=False) for row in table.lists("answer").to_list())
    counts["queries"] = len(ids)
    counts["queries with an empty text"] = int((texts.byte_lengths == 0).sum())
    return Queries(ids, {"plain": texts}, columns=columns)


def _task_counts(tasks: Mapping[str, Task], queries: Queries) -> dict[str, int]:
    whole = max(tasks.values(), key=lambda task: len(task.qrels.queries), default=None)
    counts = {} if whole is None else dict(whole.notes)
    split = queries.columns.get("split")
    counts["queries without a split, in no task"] = 0 if split is None else int((split.byte_lengths == 0).sum())
    judged = 0 if whole is None else len(whole.qrels.queries)
    counts["queries without a fragment or split, in no task"] = len(queries) - judged
    return counts
