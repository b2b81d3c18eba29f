"""Question level, as in ParlIR: dated questions, official replies, and tasks that ask for replies.

A folder with the tables `corpus` and `queries`, judgements in `qrels/TASK_SPLIT.tsv` (or `qrels_jsonl/`), and perhaps
`queries_xling`, `equivalents`, `precedent_meta` and `build_manifest.json`. Columns, tasks and their as-of rules are in
docs/collection-formats.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from assay.building import task_edges
from assay.building.crossing import with_questions
from assay.building.question_tasks import AS_OF, SHARED, XLING, Questions, question_tasks
from assay.building.splits import ALL
from assay.building.tables import links_of
from assay.building.ties import Pairs, chains
from assay.collection import Collection
from assay.errors import FormatError
from assay.formats import jsonl, shards, trec
from assay.formats.digest import digest_of, file_digests
from assay.formats.folders import MANIFEST
from assay.formats.runs import read_qrels
from assay.formats.table import Column, Field, Lists, Table, empty_texts, joined
from assay.ids import Ids
from assay.kernels.components import component_labels
from assay.passage import Passages
from assay.qrels import Qrels
from assay.query import Queries
from assay.texts import Texts

LOOKS_FOR = "corpus.jsonl, queries.jsonl and qrels/TASK_SPLIT.tsv (answer_test.tsv, precedent_dev.tsv, …)"

TWINS, JOINT = "twin_question", "joint_answer"
_QRELS = re.compile(r"(?P<task>[^.]+)_(?P<split>[^._]+)\.(?:tsv|txt|qrels|jsonl)(?:\.gz|\.zst)?", re.IGNORECASE)
_CORPUS = {
    "_id": Field(str),
    "text": Field(str),
    "raw_text": Field(str, required=False),
    "date": Field(date, required=False),
    "answers": Field(str | list[str], required=False),
}
_QUERIES = {
    "_id": Field(str),
    "text": Field(str),
    "raw_text": Field(str, required=False),
    "date": Field(date, required=False),
    "answer": Field(str, required=False),
}
_XLING = {"_id": Field(str), "text": Field(str), "raw_text": Field(str, required=False)}
_EQUIVALENTS = {
    "_id": Field(str),
    "twin_question": Field(list[str], required=False),
    "duplicate_answer": Field(list[str], required=False),
    "boilerplate": Field(list[str], required=False),
}
_TABLES = ("corpus", "queries", "queries_xling", "equivalents", "precedent_meta")


def recognises(path: Path) -> bool:
    """Whether a folder has this layout."""
    tables = all(shards.files_of(path, name) for name in ("corpus", "queries"))
    return tables and bool(qrels_files(path))


def load(path: Path) -> Collection:
    """The collection in a folder, with one task a name in `qrels/` and `TASK_xling` for cross-lingual queries.

    Undated passages stay undated and are counted; questions without a split are loaded, counted, and in no task; a
    judgement file without a line is counted and makes no task.

    Raises:
        FormatError: A file, line or field cannot be read as what it should be; a date is not an ISO date.
        DuplicateIdError: An id stands twice.
    """
    files = {name: shards.files_of(path, name) for name in _TABLES}
    judged = qrels_files(path)
    manifest_file = path / MANIFEST
    manifest = jsonl.read_object(manifest_file) if manifest_file.is_file() else {}
    counts: dict[str, int] = {}
    corpus = _table(files["corpus"], _CORPUS, counts)
    asked = _table(files["queries"], _QUERIES, counts)
    xling = _table(files["queries_xling"], _XLING, counts) if files["queries_xling"] else None
    queries, question = _queries(asked, xling, counts)
    passages = _passages(corpus, queries.ids, counts)
    equivalents = _table(files["equivalents"], _EQUIVALENTS, counts) if files["equivalents"] else None
    questions = Questions(
        queries,
        question,
        passages,
        own=_own_answers(asked, passages),
        mask=words_of(manifest.get("mask_token")),
        as_of=_rules(manifest),
    )
    if files["precedent_meta"]:
        meta = _table(files["precedent_meta"], task_edges.FIELDS, {})
        counts["citations in precedent_meta"] = len(meta)
        as_of = [task for task, rule in {**AS_OF, **questions.as_of}.items() if rule is not None]
        edges = task_edges.task_edges(meta, queries.ids, passages.ids, tasks=as_of)
        questions = replace(questions, edges=edges)
    questions = _with_ties(questions, equivalents, manifest, counts)
    tasks = question_tasks(questions, _judgements(judged, questions, counts))
    read = [file for found in files.values() for file in found] + [file for _, _, file in judged]
    digests = file_digests(path, [*read, *([manifest_file] if manifest else [])])
    return Collection(
        name=str(manifest.get("name") or path.resolve().name),
        layout="parlir",
        digest=digest_of(digests),
        files=digests,
        passages=passages,
        queries=queries,
        tasks=tasks,
        manifest=manifest,
        licence=str(manifest.get("licence", manifest.get("license", ""))),
        source=str(manifest.get("source", "")),
        revision=str(manifest.get("revision", manifest.get("version", ""))),
        counts=counts,
        tied=questions.tied,
    )


def _table(files: tuple[Path, ...], fields: Mapping[str, Field], counts: dict[str, int]) -> Table:
    """A table read, and what was met on the way counted under the file's name."""
    table = shards.read(files, fields)
    counts |= table.noted(files[0].name.split(".")[0])
    return table


def qrels_files(path: Path) -> list[tuple[str, str, Path]]:
    """Task, split and file of every judgement file; the TREC form where both forms are there."""
    found: dict[tuple[str, str], Path] = {}
    for folder in (path / "qrels_jsonl", path / "qrels"):
        for file in sorted(folder.iterdir()) if folder.is_dir() else ():
            named = _QRELS.fullmatch(file.name)
            if named and file.is_file():
                found[named["task"], named["split"]] = file
    order = {name: place for place, name in enumerate((*AS_OF, "train", "dev", "test"))}
    last = len(order)
    keys = sorted(found, key=lambda key: (order.get(key[0], last), key[0], order.get(key[1], last), key[1]))
    return [(task, split, found[task, split]) for task, split in keys]


def _queries(asked: Table, xling: Table | None, counts: dict[str, int]) -> tuple[Queries, npt.NDArray[np.int64]]:
    """Questions, below them the cross-lingual ones; and for each row the row of its question."""
    ids = asked.ids("_id", what="query", text="text")
    dates = asked.array("date") if "date" in asked else None
    columns = asked.others(_QUERIES)
    if "answer" in asked:
        columns["answer"] = asked.text("answer")
    queries = Queries(ids, _views(asked), dates, columns)
    counts["queries"] = len(ids)
    counts["queries with an empty text"] = int((asked.text("text").byte_lengths == 0).sum())
    counts["undated queries"] = len(ids) if dates is None else int(np.isnat(dates).sum())
    split = columns.get("split")
    if split is not None:
        counts["queries without a split, in no task"] = int((split.byte_lengths == 0).sum())
    rows = np.arange(len(ids))
    if xling is None:
        return queries, rows
    xling = with_questions(xling, ids, counts)
    named = xling.text("query_id")
    question = ids.codes(named).astype(np.int64)
    unknown = np.flatnonzero(question < 0)
    if len(unknown):
        row = int(unknown[0])
        raise FormatError(
            f"{xling.where(row, 'query_id')}: there is no question {named[row]!r} ({len(unknown)} such rows);"
            " a cross-lingual query needs its question in queries"
        )
    counts["cross-lingual queries"] = len(xling)
    return _below(queries, xling, question), np.concatenate([rows, question])


def _below(queries: Queries, xling: Table, question: npt.NDArray[np.int64]) -> Queries:
    """The queries with the cross-lingual ones below; columns that only one side has are empty on the other."""
    n, more = len(queries), len(xling)
    own = xling.ids("_id", what="cross-lingual query", text="text")
    ids = Ids(_joined(queries.ids.texts, own.texts))
    ids.refuse_duplicates("query id")
    texts = {view: _joined(text, _views(xling).get(view, empty_texts(more))) for view, text in queries.texts.items()}
    others = {**xling.others((*_XLING, "query_id")), "question": xling.text("query_id")}
    columns = {
        name: _joined(queries.columns.get(name, empty_texts(n)), others.get(name, empty_texts(more)))
        for name in dict.fromkeys([*queries.columns, *others])
    }
    dates = None if queries.dates is None else np.concatenate([queries.dates, queries.dates[question]])
    return Queries(ids, texts, dates, columns)


def _joined(above: Texts, below: Texts) -> Texts:
    return cast(Texts, joined([above, below]))


def _views(table: Table) -> dict[str, Texts]:
    """The masked text, and the text before masking where it is there."""
    return {"plain": table.text("text"), **({"raw": table.text("raw_text")} if "raw_text" in table else {})}


def _passages(corpus: Table, questions: Ids, counts: dict[str, int]) -> Passages:
    ids = corpus.ids("_id", what="passage", text="text")
    dates = corpus.array("date") if "date" in corpus else None
    counts["passages"] = len(ids)
    counts["passages with an empty text"] = int((corpus.text("text").byte_lengths == 0).sum())
    counts["undated passages"] = len(ids) if dates is None else int(np.isnat(dates).sum())
    offsets, linked = None, None
    if "answers" in corpus:
        offsets, linked, unknown = links_of(corpus.lists("answers"), questions)
        counts["links to unknown questions left out"] = unknown
        counts["passages that reply to several questions"] = int((np.diff(offsets) > 1).sum())
    return Passages(
        ids, _views(corpus), dates=dates, link_offsets=offsets, link_query=linked, columns=corpus.others(_CORPUS)
    )


def _owners(passages: Passages) -> npt.NDArray[np.int64]:
    """The passage of every link, int64."""
    if passages.link_offsets is None:
        return np.zeros(0, np.int64)
    return np.repeat(np.arange(len(passages)), np.diff(passages.link_offsets))


def _own_answers(asked: Table, passages: Passages) -> npt.NDArray[np.int64]:
    """Per question the row of its own answer, or -1: as the question names it, else the first that links to it."""
    own = np.full(len(asked), -1, np.int64)
    if passages.link_query is not None:
        owners, linked = _owners(passages)[::-1], passages.link_query[::-1]
        inside = linked < len(asked)
        own[linked[inside]] = owners[inside]
    if "answer" in asked:
        named = passages.ids.codes(asked.text("answer")).astype(np.int64)
        own = np.where(named >= 0, named, own)
    return own


def _with_ties(
    questions: Questions, equivalents: Table | None, manifest: Mapping[str, Any], counts: dict[str, int]
) -> Questions:
    """The questions with what ties them: the kinds that the manifest names, all where it names none."""
    kinds = (TWINS, JOINT, SHARED) if equivalents is not None else ()
    declared = words_of(manifest["ties"]) if "ties" in manifest else kinds
    tied: dict[str, Pairs] = {}
    passages = questions.passages
    if TWINS in declared:
        tied[TWINS] = _twins(questions, equivalents, counts)
    if JOINT in declared and passages.link_query is not None:
        tied[JOINT] = chains(_owners(passages), passages.link_query.astype(np.int64))
    classes = None
    if equivalents is not None and "duplicate_answer" in equivalents:
        classes = _classes(questions, equivalents, words_of(manifest.get("boilerplate")), counts)
    return replace(questions, tied=tied, shares=SHARED in declared, classes=classes)


def _twins(questions: Questions, equivalents: Table | None, counts: dict[str, int]) -> Pairs:
    """Pairs of twin questions; a twin is named by its own id or by that of its answer."""
    if equivalents is None or TWINS not in equivalents:
        return np.zeros((0, 2), np.int64)
    ids, passages = questions.queries.ids, questions.passages
    lists = equivalents.lists(TWINS)
    named = lists.values if isinstance(lists.values, Texts) else Texts.of([])
    left = ids.codes(equivalents.text("_id"))[lists.owner].astype(np.int64)
    right = ids.codes(named).astype(np.int64)
    asks = np.full(len(passages) + 1, -1, np.int64)
    owned = np.flatnonzero(questions.own >= 0)[::-1]
    asks[questions.own[owned]] = owned
    right = np.where(right >= 0, right, asks[passages.ids.codes(named)])
    known = (left >= 0) & (right >= 0)
    counts[f"{TWINS} pairs with an unknown id left out"] = int((~known).sum())
    return np.stack([left[known], right[known]], axis=1)


def _listed(table: Table | None, name: str, ids: tuple[Ids, Ids], counts: dict[str, int]) -> Pairs:
    """Pairs of the row that `_id` names and each row that a list names; unknown ids are left out and counted."""
    if table is None or name not in table:
        return np.zeros((0, 2), np.int64)
    lists = table.lists(name)
    left = ids[0].codes(table.text("_id"))[lists.owner]
    right = ids[1].codes(lists.values if isinstance(lists.values, Texts) else Texts.of([]))
    known = (left >= 0) & (right >= 0)
    counts[f"{name} pairs with an unknown id left out"] = int((~known).sum())
    return np.stack([left[known], right[known]], axis=1).astype(np.int64)


def _classes(
    questions: Questions, equivalents: Table, boilerplate: tuple[str, ...], counts: dict[str, int]
) -> npt.NDArray[np.int64]:
    """The class of every passage: its duplicates and theirs; boilerplate replies are alone in theirs."""
    ids = questions.passages.ids
    pairs = _listed(equivalents, "duplicate_answer", (questions.queries.ids, ids), counts)
    own = questions.own[questions.question[pairs[:, 0]]]
    holding = np.zeros(len(ids) + 1, np.bool_)
    holding[ids.codes(boilerplate)] = True
    if "boilerplate" in equivalents:
        listed = _listed(equivalents, "boilerplate", (questions.queries.ids, ids), counts)
        holding[listed[:, 1]] = True
        holding[questions.own[questions.question[listed[:, 0]]]] = True
    holding[-1] = True
    kept = ~holding[own] & ~holding[pairs[:, 1]]
    counts["duplicate answers left out of classes as boilerplate"] = int((~kept).sum())
    return component_labels(len(ids), own[kept], pairs[:, 1][kept])


def _judgements(
    judged: list[tuple[str, str, Path]], questions: Questions, counts: dict[str, int]
) -> list[tuple[str, str, Qrels]]:
    """The judgements of every file that has any."""
    read: list[tuple[str, str, Qrels]] = []
    unknown_queries = unknown_passages = 0
    for task, split, file in judged:
        qrels = read_qrels(file)
        if len(qrels) == 0:
            counts["judgement files without a line"] = counts.get("judgement files without a line", 0) + 1
        unknown_queries += int((questions.queries.ids.codes(qrels.queries) < 0).sum())
        unknown_passages += int((questions.passages.ids.codes(qrels.passages) < 0).sum())
        if task not in AS_OF and task not in questions.as_of:
            counts[f"task {task} has no known as-of rule: no cut-off"] = 1
        read.append((task, split, qrels))
    counts["judged queries that the collection lacks"] = unknown_queries
    counts["judged passages that the collection lacks"] = unknown_passages
    return read


def _rules(manifest: Mapping[str, Any]) -> dict[str, str | None]:
    """The as-of rules that a manifest names, task to rule."""
    rules = manifest.get("as_of", {})
    if not isinstance(rules, dict) or not all(rule is None or isinstance(rule, str) for rule in rules.values()):
        raise FormatError(f"{MANIFEST} $.as_of: expected an object of task to 'query', 'answer' or null")
    return rules


def words_of(value: Any) -> tuple[str, ...]:
    """A text or list of texts of a manifest as a tuple."""
    if isinstance(value, str):
        return (value,)
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


def save(collection: Collection, path: Path) -> None:
    """Writes a collection as `corpus.jsonl`, `queries.jsonl`, `qrels/`, and what else it has of the layout's files.

    Not written, for loading makes them: splits named `all`, cross-lingual tasks, and ties by joint answer or shared
    passage. Classes of equivalent passages become duplicates of the first one's question. Of citations the source, the
    tasks and whether they are referrals are kept.

    Raises:
        FormatError: An id cannot stand in a TREC file.
    """
    (path / "qrels").mkdir(parents=True, exist_ok=True)
    passages, queries = collection.passages, collection.queries
    corpus: dict[str, Column] = {"_id": passages.ids.texts, **_stored(passages.texts)}
    corpus |= {} if passages.dates is None else {"date": passages.dates}
    if passages.link_offsets is not None and passages.link_query is not None:
        corpus["answers"] = Lists(passages.link_offsets, queries.ids.texts.take(passages.link_query))
    jsonl.write_table({**corpus, **passages.columns}, path / "corpus.jsonl")
    named = queries.columns.get("question", empty_texts(len(queries)))
    own, crossing = np.flatnonzero(named.byte_lengths == 0), np.flatnonzero(named.byte_lengths > 0)
    _write_queries(queries.take(own), path / "queries.jsonl", leave_out=("question",))
    if len(crossing):
        _write_queries(queries.take(crossing), path / "queries_xling.jsonl", leave_out=("answer", "split", "date"))
    for name, splits in collection.tasks.items():
        for split, task in splits.items():
            if not name.endswith(XLING) and (split != ALL or len(splits) == 1):
                trec.write_qrels(task.qrels, path / "qrels" / f"{name}_{split}.tsv")
    equivalents = _equivalents(collection)
    if equivalents:
        jsonl.write_rows(equivalents, path / "equivalents.jsonl")
    tasks = (task for splits in collection.tasks.values() for task in splits.values())
    edges = {task.name.removesuffix(XLING): task.edges for task in tasks if task.edges is not None}
    if edges:
        rows = task_edges.edge_rows(queries.ids, passages.ids, edges)
        jsonl.write_rows(rows, path / "precedent_meta.jsonl")
    if collection.manifest:
        jsonl.write_object(collection.manifest, path / MANIFEST)


def _stored(texts: Mapping[str, Texts]) -> dict[str, Column]:
    return {"text": texts["plain"], **({"raw_text": texts["raw"]} if "raw" in texts else {})}


def _write_queries(queries: Queries, path: Path, *, leave_out: tuple[str, ...]) -> None:
    columns: dict[str, Column] = {"_id": queries.ids.texts, **_stored(queries.texts)}
    if queries.dates is not None and "date" not in leave_out:
        columns["date"] = queries.dates
    for name, column in queries.columns.items():
        if name not in leave_out:
            columns["query_id" if name == "question" else name] = column
    jsonl.write_table(columns, path)


def _equivalents(collection: Collection) -> list[dict[str, Any]]:
    """Rows of question, its twins, and the passages that say the same as its answer."""
    ids, passages = collection.queries.ids, collection.passages
    rows: dict[int, dict[str, Any]] = {}

    def row(query: int) -> dict[str, Any]:
        return rows.setdefault(query, {"_id": ids[query], TWINS: [], "duplicate_answer": []})

    for left, right in collection.tied.get(TWINS, np.zeros((0, 2), np.int64)).tolist():
        row(left)[TWINS].append(ids[right])
    classes = next((task.classes for splits in collection.tasks.values() for task in splits.values()), None)
    if classes is not None and passages.link_query is not None:
        asks = dict(zip(_owners(passages).tolist(), passages.link_query.tolist(), strict=True))
        for one, other in chains(classes, np.arange(len(classes))).tolist():
            if one in asks:
                row(asks[one])["duplicate_answer"].append(passages.ids[other])
    return [rows[query] for query in sorted(rows)]
