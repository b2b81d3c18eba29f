"""DAPR: document-aware passage retrieval, from its data set on the Hugging Face hub to a chunk-level folder.

Of a subset are read the tables `corpus`, `queries`, `qrels` and, where there is one, `corpus_coref`: Parquet or JSON
Lines below `SUBSET/TABLE/` (or `SUBSET-TABLE/`). The corpus goes through shard by shard, for that of MS MARCO is larger
than most memories; what is kept of it are its ids, and one number a document.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from assay.commits import Commit
from assay.download import hub_commit, hub_files
from assay.errors import DuplicateIdError, FormatError, UnknownNameError
from assay.formats import jsonl, parquet, shards
from assay.formats.digest import file_digests
from assay.formats.folders import MANIFEST, replacing_folder
from assay.formats.table import Column, Field, Lists, Table, joined, stacked
from assay.ids import Ids
from assay.texts import Texts

REPO = "UKPLab/dapr"
REVISION = "67ae3daa13596700976d20605630f5f9db3bd732"
"""A commit that has every subset; builds are pinned to it unless they name another."""

LICENCE = "Apache-2.0"
SUBSETS = ("ConditionalQA", "Genomics", "MIRACL", "MSMARCO", "NaturalQuestions")
SPLITS = ("train", "dev", "test")

_CORPUS = {
    "_id": Field(str),
    "text": Field(str),
    "title": Field(str, required=False),
    "doc_id": Field(str),
    "paragraph_no": Field(int),
    "total_paragraphs": Field(int, required=False),
    "is_candidate": Field(bool, required=False),
}
_COREF = {"_id": Field(str), "text": Field(str)}
_QUERIES = {"_id": Field(str), "text": Field(str)}
_QRELS = {"query_id": Field(str), "corpus_id": Field(str), "score": Field(float)}

Column64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Built:
    """What was built: the folder, the commit that it is of, and what was met on the way."""

    folder: Path
    commit: str
    counts: Mapping[str, int]


@dataclass(frozen=True)
class _Hub:
    """One commit, whose files are fetched when they are read."""

    commit: Commit
    offline: bool
    told: Callable[[str], None]
    digests: dict[str, str] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)

    def tables(self, paths: list[str], fields: Mapping[str, Field], *, known: Iterable[str] = ()) -> Iterator[Table]:
        """The rows of files, one table a file; columns that are neither `fields` nor `known` are counted."""
        for place, path in enumerate(paths, 1):
            size = self.commit.files[path].size / 1e6
            self.told(f"{path} ({place} of {len(paths)}, {size:.1f} MB)")
            got = hub_files(self.commit.repo, [path], revision=self.commit.id, offline=self.offline)
            self.digests.update(got.digests)
            table = shards.read((got.files[path],), fields)
            for name in set(table.columns) - set(fields) - set(known):
                self.left_out[f"values of column {name!r} left out"] += len(table)
            self.left_out.update(table.counts)
            yield table


def build(
    subset: str,
    out: Path,
    *,
    revision: str = REVISION,
    offline: bool = False,
    told: Callable[[str], None] = lambda _: None,
) -> Built:
    """A chunk-level folder of one subset, which `open_collection` reads; its task is `passages`.

    Every judged passage is a gold fragment: its span in the document made by joining its passages, in paragraph order,
    with one newline. Fetched files stay in the hub's cache, so that the same commit builds again offline, byte by byte.

    Args:
        subset: A name in `SUBSETS`.
        out: The folder; it is replaced whole or not at all.
        revision: A commit, or online also a branch or tag.
        offline: Whether to use the cache alone.
        told: Called with a line on what is being read.

    Raises:
        UnknownNameError: There is no such subset.
        FormatError: A file lacks a column, paragraphs are out of order, a judged passage or query is missing, or the
            inlined passages are not those of the corpus.
        DuplicateIdError: An id stands twice, or a pair is judged twice.
        UnavailableError, DigestError: As `assay.download` has them.
    """
    if subset not in SUBSETS:
        raise UnknownNameError.of("subset of DAPR", subset, SUBSETS)
    hub = _Hub(hub_commit(REPO, revision=revision, offline=offline), offline, told)
    paths = {table: _paths(hub.commit, subset, table) for table in ("corpus", "queries", "qrels")}
    coref = _paths(hub.commit, subset, "corpus_coref", required=False)
    queries = _read_queries(hub, paths["queries"])
    judged = _read_qrels(hub, paths["qrels"], queries)
    with replacing_folder(out) as part:
        corpus = _Corpus(_Gold.of(judged))
        for place, table in enumerate(hub.tables(paths["corpus"], _CORPUS)):
            parquet.write_table(corpus.taken(table), part / _shard("documents", place, len(paths["corpus"])))
        ids = corpus.ids()
        if coref:
            corpus.counts |= _write_coref(hub, coref, ids, part)
        _refuse_unfound(corpus.gold)
        parquet.write_table(_query_columns(queries, judged, corpus.gold), part / "queries.parquet")
        corpus.counts |= _counts(queries, judged, corpus) | dict(sorted(hub.left_out.items()))
        jsonl.write_object(_manifest(subset, hub, corpus.counts, part), part / MANIFEST)
    return Built(out, hub.commit.id, corpus.counts)


def _paths(commit: Commit, subset: str, table: str, *, required: bool = True) -> list[str]:
    """The files of a table, in order.

    Raises:
        UnknownNameError: There is none.
        FormatError: A numbered file is missing, or two sets of files stand side by side.
    """
    found = commit.matching([f"{subset}/{table}/*", f"{subset}-{table}/*"])
    found = [path for path in found if shards.suffix_of(Path(path))]
    if required and not found:
        raise UnknownNameError.of(f"table of {commit.repo}@{commit.id[:12]}", f"{subset}/{table}", commit.files)
    by_split = table in ("queries", "qrels")
    for split in dict.fromkeys(map(_split, found)) if by_split else [""]:
        named = [path for path in found if not by_split or _split(path) == split]
        numbers = [match for path in named if (match := re.search(r"-(\d+)-of-(\d+)\b", path))]
        totals = {int(match[2]) for match in numbers}
        if numbers and (len(numbers) != len(named) or totals != {len(numbers)}):
            raise FormatError(
                f"{commit.repo}@{commit.id[:12]}: {', '.join(named[:4])} are no complete set of numbered files; take"
                " another revision"
            )
    return found


def _split(path: str) -> str:
    """The split that a file's name, or its folder, begins with (`test-00000-of-00002.parquet`, `test/0000.parquet`)."""
    place = PurePosixPath(path)
    return next((s for s in SPLITS if place.name.startswith(s) or place.parent.name == s), "")


def _shard(name: str, place: int, total: int) -> str:
    return f"{name}.parquet" if total == 1 else f"{name}-{place:05}-of-{total:05}.parquet"


def _read_queries(hub: _Hub, paths: list[str]) -> Table:
    """The queries of all splits below each other, with a column `split`."""
    ordered = sorted(paths, key=lambda path: (SPLITS.index(_split(path)) if _split(path) else -1, path))
    for path in ordered:
        if not _split(path):
            raise FormatError(f"{path}: its name begins with no split ({', '.join(SPLITS)})")
    tables = list(hub.tables(ordered, _QUERIES))
    split = [_split(path) for path, table in zip(ordered, tables, strict=True) for _ in range(len(table))]
    whole = stacked(tables)
    return Table(len(whole), {**whole.columns, "split": Texts.of(split)}, whole.parts, whole.counts)


def _read_qrels(hub: _Hub, paths: list[str], queries: Table) -> Table:
    """The judgements of all splits; each of a query that there is, in that query's split.

    Raises:
        FormatError: A query is missing or of another split, or a score is not a whole number.
        DuplicateIdError: A pair is judged twice.
    """
    tables = list(hub.tables(paths, _QRELS))
    whole = stacked(tables)
    code = queries.ids("_id", what="query", text="text").codes(whole.text("query_id"))
    _refuse(whole, code < 0, "query_id", "no such query in the queries of this subset")
    split = Texts.of([_split(path) for path, table in zip(paths, tables, strict=True) for _ in range(len(table))])
    own = queries.text("split").take(code.astype(np.int64))
    splits = Ids.of(("", *SPLITS))
    _refuse(whole, splits.codes(own) != splits.codes(split), "query_id", "this query is of another split")
    score = whole.array("score")
    _refuse(whole, score != np.rint(score), "score", "grades are whole numbers")
    pairs = Texts.of(f"{q}\t{p}" for q, p in zip(code.tolist(), whole.text("corpus_id").to_list(), strict=True))
    again = np.flatnonzero(pairs.first_rows_in(pairs) != np.arange(len(whole)))
    if len(again):
        raise DuplicateIdError(
            f"{whole.where(int(again[0]))}: passage {whole.text('corpus_id')[int(again[0])]!r} is judged twice for"
            f" query {whole.text('query_id')[int(again[0])]!r} ({len(again)} such pairs)"
        )
    return Table(len(whole), {**whole.columns, "query": code.astype(np.int64)}, whole.parts, whole.counts)


def _refuse(table: Table, bad: npt.NDArray[np.bool_], name: str, why: str) -> None:
    rows = np.flatnonzero(bad)
    if len(rows):
        row = int(rows[0])
        column = table.columns[name]
        value = column[row] if isinstance(column, Texts) else table.array(name)[row]
        raise FormatError(f"{table.where(row, name)}: {value!r}: {why} ({len(rows)} such rows)")


@dataclass
class _Gold:
    """The judged passages: where each stands, once it was met in the corpus (`document` is empty until then)."""

    ids: Ids
    document: list[str]
    start: Column64
    end: Column64
    text: list[str]
    met: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, judged: Table) -> _Gold:
        ids, _ = Ids.distinct(judged.text("corpus_id"))
        n = len(ids)
        return cls(ids, [""] * n, np.zeros(n, np.int64), np.zeros(n, np.int64), [""] * n, np.zeros(n, np.bool_))

    def meet(self, ids: Texts, columns: Mapping[str, Column]) -> None:
        """Notes the places of judged passages among the rows of a shard."""
        code = self.ids.codes(ids)
        rows = np.flatnonzero(code >= 0)
        texts, documents = (cast(Texts, columns[name]) for name in ("chunk", "source_url"))
        for row in rows.tolist():
            self.text[code[row]], self.document[code[row]] = texts[row], documents[row]
        self.start[code[rows]] = cast(Any, columns["chunk_start_char"])[rows]
        self.end[code[rows]] = cast(Any, columns["chunk_end_char"])[rows]
        self.met[code[rows]] = True


class _Corpus:
    """The corpus as it goes by: ids so far, and how far each document has come."""

    def __init__(self, gold: _Gold) -> None:
        self.gold = gold
        self.counts = {"documents": 0, "chunks": 0, "chunks with an empty text": 0}
        self._ids: list[Column] = []
        self._open: dict[str, tuple[int, int, int]] = {}
        self._promised: dict[str, int] = {}

    def taken(self, table: Table) -> dict[str, Column]:
        """A shard in the columns of the chunk-level layout, by document and paragraph."""
        documents, code = Ids.distinct(table.text("doc_id"))
        number = table.array("paragraph_no")
        order = np.lexsort((number, code))
        code, number = code[order], number[order]
        ids, text = table.text("_id").take(order), table.text("text").take(order)
        border = np.flatnonzero(np.concatenate([[True], code[1:] != code[:-1]])) if len(code) else np.zeros(0, np.int64)
        twice = np.flatnonzero((code[1:] == code[:-1]) & (number[1:] == number[:-1]))
        if len(twice):
            row = int(order[twice[0] + 1])
            raise FormatError(
                f"{table.where(row, 'paragraph_no')}: paragraph {table.array('paragraph_no')[row]} of document"
                f" {table.text('doc_id')[row]} stands twice ({len(twice)} such rows)"
            )
        size = np.diff(np.append(border, len(code)))
        before = np.cumsum(text.lengths + 1) - (text.lengths + 1)
        offset = np.zeros(len(border), np.int64)
        for place, (at, rows, name) in enumerate(zip(border.tolist(), size.tolist(), documents, strict=True)):
            last, end, met = self._open.get(name, (-1, 0, 0))
            if met and int(number[at]) <= last:
                raise FormatError(
                    f"{table.where(int(order[at]), 'paragraph_no')}: paragraph {number[at]} of document {name} comes"
                    f" after paragraph {last}; shards must hold the paragraphs of a document in order"
                )
            offset[place] = end - before[at]
            stop = int(before[at + rows - 1] + text.lengths[at + rows - 1]) + 1
            self._open[name] = (int(number[at + rows - 1]), end + stop - int(before[at]), met + rows)
        start = before + np.repeat(offset, size)
        if "total_paragraphs" in table:
            totals = table.array("total_paragraphs")[order][border]
            self._promised.update(zip(documents, totals.tolist(), strict=True))
        return self._counted(table, order, ids, start=start, text=text)

    def _counted(self, table: Table, order: Column64, ids: Texts, *, start: Column64, text: Texts) -> dict[str, Column]:
        columns: dict[str, Column] = {
            "chunk_id": ids,
            "chunk": text,
            "source_url": table.text("doc_id").take(order),
            **({"title": table.text("title").take(order)} if "title" in table else {}),
            "chunk_idx": table.array("paragraph_no")[order],
            "chunk_start_char": start,
            "chunk_end_char": start + text.lengths,
        }
        if "is_candidate" in table:
            columns["is_candidate"] = table.array("is_candidate")[order]
            self.counts["candidates"] = self.counts.get("candidates", 0) + int(table.array("is_candidate").sum())
        self.counts["chunks"] += len(table)
        self.counts["chunks with an empty text"] += int((text.byte_lengths == 0).sum())
        self._ids.append(ids)
        self.gold.meet(ids, columns)
        return columns

    def ids(self) -> Ids:
        """Every id, which must be unique; and what can be said of documents now."""
        found = Ids(cast(Texts, joined(self._ids)))
        found.refuse_duplicates("passage id")
        short = sum(self._open[name][2] != total for name, total in self._promised.items())
        self.counts["documents"] = len(self._open)
        self.counts["documents with another number of passages than total_paragraphs says"] = short
        return found


def _refuse_unfound(gold: _Gold) -> None:
    lost = np.flatnonzero(~gold.met)
    if len(lost):
        raise FormatError(
            f"the corpus lacks {len(lost)} of {len(gold.ids)} judged passages (first: {gold.ids[int(lost[0])]});"
            " judgements and corpus must be of one revision"
        )


def _write_coref(hub: _Hub, paths: list[str], ids: Ids, part: Path) -> dict[str, int]:
    """Writes the inlined texts; they must be of the passages of the corpus, each once."""
    met = np.zeros(len(ids), np.bool_)
    empty, extra = 0, []
    for place, table in enumerate(hub.tables(paths, _COREF, known=_CORPUS)):
        named = table.text("_id")
        code = ids.codes(named)
        extra += named.take(np.flatnonzero(code < 0)).to_list()
        known = code[code >= 0].astype(np.int64)
        if len(np.unique(known)) != len(known) or met[known].any():
            raise DuplicateIdError(
                f"{table.parts[0].path.name}: an inlined passage stands twice; every id must be unique"
            )
        met[known] = True
        empty += int((table.text("text").byte_lengths == 0).sum())
        columns: dict[str, Column] = {"chunk_id": named, "chunk": table.text("text")}
        parquet.write_table(columns, part / _shard("documents_coref", place, len(paths)))
    missing = np.flatnonzero(~met)
    if len(missing) or extra:
        first = [ids[int(row)] for row in missing[:5]]
        raise FormatError(
            f"corpus_coref lacks {len(missing)} passages of the corpus ({', '.join(first) or 'none'}) and has"
            f" {len(extra)} that the corpus lacks ({', '.join(extra[:5]) or 'none'}); both must be of one revision"
        )
    return {"inlined texts": len(ids), "inlined texts that are empty": empty}


def _query_columns(queries: Table, judged: Table, gold: _Gold) -> dict[str, Column]:
    """The queries with their gold, in the order of documents and paragraphs as the corpus has them."""
    code = gold.ids.codes(judged.text("corpus_id")).astype(np.int64)
    query = judged.array("query")
    documents, document = Ids.distinct(Texts.of(gold.document))
    order = np.lexsort((gold.start[code], document[code], query))
    code = code[order]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(query, minlength=len(queries)))]).astype(np.int64)
    return {
        "query_id": queries.text("_id"),
        "original_query": queries.text("text"),
        "query": queries.text("text"),
        "answer": Lists(offsets, Texts.of(gold.text).take(code)),
        "score": Lists(offsets, judged.array("score")[order].astype(np.int64)),
        "source_url": Lists(offsets, documents.texts.take(document[code])),
        "frag_start_char": Lists(offsets, gold.start[code]),
        "frag_end_char": Lists(offsets, gold.end[code]),
        "n_gold": np.diff(offsets),
        "split": queries.text("split"),
    }


def _counts(queries: Table, judged: Table, corpus: _Corpus) -> dict[str, int]:
    gold = corpus.gold
    code = gold.ids.codes(judged.text("corpus_id"))
    split = queries.text("split").to_list()
    return {
        "queries": len(queries),
        **{f"queries of {name}": split.count(name) for name in SPLITS if name in split},
        "queries without a judgement": len(queries) - len(np.unique(judged.array("query"))),
        "judgements": len(judged),
        "judgements with a score below 1": int((judged.array("score") < 1).sum()),
        "judgements of an empty passage, which nothing can find": int((gold.end == gold.start)[code].sum()),
    }


def _manifest(subset: str, hub: _Hub, counts: Mapping[str, int], part: Path) -> dict[str, Any]:
    return {
        "name": f"dapr-{subset.lower()}",
        "source": f"https://huggingface.co/datasets/{REPO}",
        "revision": hub.commit.id,
        "licence": LICENCE,
        "answer": "quote",
        "upstream": dict(sorted(hub.digests.items())),
        "built": dict(counts),
        "files": file_digests(part, part.iterdir()),
    }
