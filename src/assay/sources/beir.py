"""BEIR: `corpus.jsonl`, `queries.jsonl` and `qrels/SPLIT.tsv`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from assay.building.splits import with_all
from assay.collection import Collection
from assay.errors import FormatError
from assay.formats import beir, jsonl, shards
from assay.formats.digest import digest_of, file_digests
from assay.formats.runs import read_qrels
from assay.formats.table import Column, Field, Table
from assay.ids import Ids
from assay.passage import Passages
from assay.query import Queries
from assay.span import Spans
from assay.task import Task

LOOKS_FOR = "corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv (test.tsv, dev.tsv, …), as BEIR has them"
TASK = "retrieval"
MEASURES = ("nDCG@10", "R@100", "RR@10")

_CORPUS = {"_id": Field(str), "text": Field(str), "title": Field(str, required=False)}
_QUERIES = {"_id": Field(str), "text": Field(str)}


def recognises(path: Path) -> bool:
    """Whether a folder has this layout."""
    return all(shards.files_of(path, name) for name in ("corpus", "queries")) and bool(_splits(path))


def load(path: Path) -> Collection:
    """The collection in a folder; its task is `retrieval`, with the splits that `qrels/` has.

    Every passage is a document of its own, so that its title is a view. A query that has the id of a passage does not
    get that passage: it is the query's own text.

    Raises:
        FormatError: A file, line or field cannot be read as what it should be.
        DuplicateIdError: An id stands twice, or a pair is judged twice.
    """
    corpus_files, query_files = shards.files_of(path, "corpus"), shards.files_of(path, "queries")
    splits = _splits(path)
    corpus, asked = shards.read(corpus_files, _CORPUS), shards.read(query_files, _QUERIES)
    passages = _passages(corpus)
    ids = asked.ids("_id", what="query", text="text")
    queries = Queries(ids, {"plain": asked.text("text")}, columns=asked.others(_QUERIES))
    own = int((passages.ids.codes(queries.ids) >= 0).sum())
    judged = {split: read_qrels(file) for split, file in splits.items()}
    tasks = {
        split: Task(
            name=TASK,
            split=split,
            pool=queries,
            passages=passages,
            qrels=qrels,
            views=("text:plain", *(["title"] if passages.titles is not None else [])),
            measures=MEASURES,
            excluded=own > 0,
            rule="not the query's own passage" if own else "",
        )
        for split, qrels in judged.items()
        if len(qrels)
    }
    counts = {
        **corpus.noted("corpus"),
        **asked.noted("queries"),
        "passages": len(passages),
        "passages with an empty text": int((corpus.text("text").byte_lengths == 0).sum()),
        "queries": len(queries),
        "queries with an empty text": int((asked.text("text").byte_lengths == 0).sum()),
        "queries with the id of a passage, which is kept from them": own,
        "judgement files without a line": sum(len(qrels) == 0 for qrels in judged.values()),
        "judged queries that the collection lacks": _unknown(queries.ids, [q.queries for q in judged.values()]),
        "judged passages that the collection lacks": _unknown(passages.ids, [q.passages for q in judged.values()]),
    }
    digests = file_digests(path, [*corpus_files, *query_files, *splits.values()])
    return Collection(
        name=path.resolve().name,
        layout="beir",
        digest=digest_of(digests),
        files=digests,
        passages=passages,
        queries=queries,
        tasks={TASK: with_all(tasks)} if tasks else {},
        counts=counts,
    )


def save(collection: Collection, path: Path) -> None:
    """Writes passages, queries and the judgements of one task as BEIR has them.

    Splits named `all` are not written, for loading makes them; dates, spans and links have no place in this layout.

    Raises:
        FormatError: The collection has several tasks, or an id holds a tab or a line end.
    """
    if len(collection.tasks) > 1:
        raise FormatError(f"{collection.name} has tasks {', '.join(collection.tasks)}; the BEIR layout holds one task")
    (path / "qrels").mkdir(parents=True, exist_ok=True)
    passages, queries = collection.passages, collection.queries
    columns: dict[str, Column] = {"_id": passages.ids.texts, "text": passages.texts["plain"]}
    if passages.titles is not None and passages.spans is not None:
        columns["title"] = passages.titles.take(passages.spans.document)
    jsonl.write_table({**columns, **passages.columns}, path / "corpus.jsonl")
    jsonl.write_table(
        {"_id": queries.ids.texts, "text": queries.texts["plain"], **queries.columns}, path / "queries.jsonl"
    )
    for splits in collection.tasks.values():
        for split, task in splits.items():
            if split != "all" or len(splits) == 1:
                beir.write_qrels(task.qrels, path / "qrels" / f"{split}.tsv")


def _splits(path: Path) -> dict[str, Path]:
    """The judgement file of every split, train before dev before test before others."""
    folder = path / "qrels"
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    named = {file.name.split(".")[0]: file for file in found if ".tsv" in file.suffixes and file.is_file()}
    order = {name: place for place, name in enumerate(("train", "dev", "test"))}
    return {name: named[name] for name in sorted(named, key=lambda name: (order.get(name, len(order)), name))}


def _passages(corpus: Table) -> Passages:
    ids = corpus.ids("_id", what="passage", text="text")
    columns = corpus.others(_CORPUS)
    plain = corpus.text("text")
    if "title" not in corpus:
        return Passages(ids, {"plain": plain}, columns=columns)
    spans = Spans(np.arange(len(ids), dtype=np.int64), np.zeros(len(ids), np.int64), plain.lengths)
    return Passages(ids, {"plain": plain}, parents=ids, spans=spans, titles=corpus.text("title"), columns=columns)


def _unknown(known: Ids, named: list[Ids]) -> int:
    return sum(int((known.codes(ids) < 0).sum()) for ids in named)
