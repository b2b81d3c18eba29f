"""Runs and judgements in any format: told by what the file holds, written by its suffix.

| what | told by | holds |
|---|---|---|
| TREC | neither of the others | `query Q0 passage rank score tag`; `query 0 passage grade` |
| JSON | first character `{`, more than one line or an object of objects | `{query: {passage: score}}` |
| JSON Lines | first line is an object with `query_id` | `query_id`, `passage_id` (or `doc_id`, `corpus_id`), `score` |
| Parquet | its first bytes | the same columns |
| BEIR | three fields by tabs, or its header (judgements) | `query-id`, `corpus-id`, `score` |
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from assay.errors import DuplicateIdError, FormatError, ScoreError
from assay.formats import beir, json_runs, jsonl, parquet, shards, trec
from assay.formats.files import StrPath, opened
from assay.formats.table import Column, Field, Table
from assay.ids import Ids
from assay.qrels import Qrels
from assay.run import Run

_PASSAGE = ("passage_id", "doc_id", "corpus_id", "docid", "pid", "passage-id", "corpus-id")
_QUERY = ("query_id", "qid", "query-id")
_GRADE = ("score", "grade", "relevance", "label")
_SNIFFED = 1 << 16
_OBJECT = re.compile(rb'\{\s*(\}\s*$|"(?:[^"\\]|\\.)*"\s*(:\s*[\[{"\-0-9tfn]|:?\s*$))')


def read_run(path: StrPath, *, keep_first: bool = False) -> Run:
    """The run in a file of any format; a `rank` column is not read, for scores alone rank.

    `counts` holds what was noticed (`assay.formats.trec.read_run`), and `float32_ties` where neighbours have scores
    that differ as float64 and not as float32: tools that compare float32 order them by id.

    Args:
        path: A file, plain or compressed.
        keep_first: Of TREC lines that repeat a passage for a query, keep the first instead of raising; the others
            are counted as `repeated_dropped`.

    Raises:
        FileError: The file cannot be read.
        FormatError: A line or field cannot be read; the message names it.
        DuplicateIdError: A passage stands twice for a query.
        ScoreError: A score is not finite.
    """
    run = _run_in(path, keep_first=keep_first)
    close = trec.float32_ties(run)
    return replace(run, counts={**run.counts, "float32_ties": close}) if close else run


def _run_in(path: StrPath, *, keep_first: bool) -> Run:
    kind = _kind(path)
    if kind == "json":
        return json_runs.read_run(path)
    if kind in ("jsonl", "parquet"):
        return _run_of(_table(path, kind, last=("score",), number=float), path)
    return trec.read_run(path, keep_first=keep_first)


def read_qrels(path: StrPath) -> Qrels:
    """The judgements in a file of any format; a file without a line holds none.

    Raises:
        FileError: The file cannot be read.
        FormatError: A line or field cannot be read; the message names it.
        DuplicateIdError: A pair is judged twice.
    """
    kind = _kind(path)
    if kind == "empty":
        return Qrels.of([])
    if kind == "json":
        return _qrels_of_object(path)
    if kind in ("jsonl", "parquet"):
        return _qrels_of(_table(path, kind, last=_GRADE, number=float), path)
    if kind == "beir":
        return beir.read_qrels(path)
    return trec.read_qrels(path)


def write_run(run: Run, path: StrPath) -> int:
    """How many queries with an empty list the file cannot tell of, after the run is written.

    The suffix decides: JSON (`.json`), JSON Lines (`.jsonl`), Parquet (`.parquet`), or else TREC; `.gz` and `.zst`
    compress. Rows past the depth, which only tie with the last one, are not written. JSON Lines and Parquet have the
    columns `query_id`, `passage_id`, `rank`, `score`. Only JSON can say that a query was answered with nothing.

    Raises:
        FileError: The file cannot be written.
        FormatError: An id cannot stand in a TREC file.
    """
    run = run.cut()
    place = Path(path)
    if shards.suffix_of(place):
        shards.write(_columns(run), place)
        return int((np.diff(run.offsets) == 0).sum())
    if ".json" in place.suffixes[-2:]:
        json_runs.write_run(run, path)
        return 0
    return trec.write_run(run, path)


def write_qrels(qrels: Qrels, path: StrPath) -> int:
    """How many judged queries without a judgement the file cannot tell of, after the judgements are written.

    The suffix decides: JSON (`.json`), JSON Lines (`.jsonl`), Parquet (`.parquet`), BEIR's table (`.tsv`), or else
    TREC; `.gz` and `.zst` compress. JSON Lines and Parquet have the columns `query_id`, `passage_id`, `score`.

    Raises:
        FileError: The file cannot be written.
        FormatError: An id cannot stand in a file of that format.
    """
    place = Path(path)
    silent = int((np.diff(qrels.offsets) == 0).sum())
    if shards.suffix_of(place):
        columns: dict[str, Column] = {
            "query_id": qrels.queries.texts.take(qrels.query),
            "passage_id": qrels.passages.texts.take(qrels.passage),
            "score": qrels.grade.astype(np.int64),
        }
        shards.write(columns, place)
        return silent
    suffixes = [suffix.lower() for suffix in place.suffixes[-2:]]
    if ".json" in suffixes:
        json_runs.write_object(_by_query(qrels), path)
        return 0
    if ".tsv" in suffixes:
        beir.write_qrels(qrels, path)
        return silent
    return trec.write_qrels(qrels, path)


def _by_query(qrels: Qrels) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {query: {} for query in qrels.queries}
    for query, passage, grade in qrels.triples():
        found[query][passage] = grade
    return found


def _kind(path: StrPath) -> str:
    """`parquet`, `json`, `jsonl`, `beir`, `empty`, or `trec` where it is none of these."""
    with opened(path) as stream:
        start = stream.read(_SNIFFED)
    if start.startswith(b"PAR1"):
        return "parquet"
    start = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start:
        return "empty"
    line = start.partition(b"\n")[0].rstrip(b"\r")
    # An id may start with a brace too: JSON goes on with a key and the start of its value.
    if _OBJECT.match(start):
        return "jsonl" if _is_row(line) else "json"
    fields = line.decode("utf-8", "replace").split("\t")
    return "beir" if beir.is_header(fields) or len(fields) == 3 else "trec"


def _is_row(line: bytes) -> bool:
    """Whether a line is a whole object with a query's id as text."""
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # Text that goes on past what was sniffed, or is spread over lines, names its keys all the same.
        return any(line.startswith(b'{"%s":"' % name.encode()) for name in _QUERY)
    return isinstance(found, dict) and any(isinstance(found.get(name), str | int | float) for name in _QUERY)


def _table(path: StrPath, kind: str, *, last: tuple[str, ...], number: Any) -> dict[str, Any]:
    """The table of a run or of judgements, under the names `query`, `passage`, `number`."""
    read: Callable[..., Table] = parquet.read_table if kind == "parquet" else jsonl.read_table
    names = {"query": _QUERY, "passage": _PASSAGE, "number": last}
    optional = {name: Field(str, required=False) for name in (*_QUERY, *_PASSAGE)}
    optional |= {name: Field(number, required=False) for name in last}
    table = read(path, optional)
    chosen: dict[str, str] = {}
    for role, known in names.items():
        found = next((name for name in known if name in table), None)
        if found is None and len(table):
            raise FormatError(
                f"{Path(path).name}: no column {' or '.join(known[:3])} among {', '.join(table.columns) or 'none'}"
            )
        chosen[role] = found or known[0]
    return {"table": table, **chosen}


def _codes(found: dict[str, Any]) -> tuple[Ids, Ids, Any, Any, Any]:
    table: Table = found["table"]
    if len(table) == 0:
        none = Ids.of([])
        return none, none, np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    for role in ("query", "passage"):
        missing = np.flatnonzero(table.text(found[role]).byte_lengths == 0)
        if len(missing):
            place = table.where(int(missing[0]), found[role])
            raise FormatError(f"{place}: the id is missing ({len(missing)} such rows)")
    queries, query = Ids.distinct(table.text(found["query"]))
    passages, passage = Ids.distinct(table.text(found["passage"]))
    return queries, passages, query.astype(np.int64), passage.astype(np.int64), table.array(found["number"])


def _run_of(found: dict[str, Any], path: StrPath) -> Run:
    queries, passages, query, passage, score = _codes(found)
    bad = np.flatnonzero(~np.isfinite(score))
    if len(bad):
        place = found["table"].where(int(bad[0]), found["number"])
        raise ScoreError(f"{place}: the score is missing or not a finite number ({len(bad)} such rows)")
    order = np.argsort(query, kind="stable")
    offsets = np.zeros(len(queries) + 1, np.int64)
    np.cumsum(np.bincount(query, minlength=len(queries)), out=offsets[1:])
    name = Path(path).name
    try:
        return Run.ranked(
            queries,
            passages,
            offsets=offsets,
            passage=passage[order].astype(np.int32),
            score=score[order],
            name=name.split(".")[0],
        )
    except DuplicateIdError as err:
        raise DuplicateIdError(f"{name}: {err}") from None


def _qrels_of(found: dict[str, Any], path: StrPath) -> Qrels:
    queries, passages, query, passage, grade = _codes(found)
    bad = np.flatnonzero(~(np.rint(grade) == grade) | (np.abs(grade) >= 2**31))
    if len(bad):
        place = found["table"].where(int(bad[0]), found["number"])
        raise FormatError(
            f"{place}: the grade is missing or not a whole number ({len(bad)} such rows);"
            " map the values to whole grades"
        )
    try:
        return Qrels.from_columns(queries, passages, query=query, passage=passage, grade=grade.astype(np.int32))
    except DuplicateIdError as err:
        raise DuplicateIdError(f"{Path(path).name}: {err}") from None


def _qrels_of_object(path: StrPath) -> Qrels:
    """Judgements written as `{query: {passage: grade}}`."""
    found = json_runs.read_object(path)
    try:
        return Qrels.of(found)
    except FormatError as err:
        raise FormatError(f"{Path(path).name}: {err}") from None


def _columns(run: Run) -> dict[str, Column]:
    length = np.diff(run.offsets)
    owner = np.repeat(np.arange(len(run.queries)), length)
    rank = np.arange(len(run)) - np.repeat(run.offsets[:-1], length) + 1
    return {
        "query_id": run.queries.texts.take(owner),
        "passage_id": run.passages.texts.take(run.passage),
        "rank": rank,
        "score": run.score,
    }
