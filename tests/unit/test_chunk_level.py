"""The chunk-level layout, on a small collection and on real data."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.audits import verify
from assay.errors import DuplicateIdError, FormatError, SpanError, UsageError
from assay.formats import jsonl, shards
from assay.formats.table import column_of
from assay.sources import chunk_level, open_collection

DOCUMENTS: list[dict[str, Any]] = [
    {
        "chunk_id": "a-0",
        "chunk": "four",
        "source_url": "a",
        "title": "A",
        "chunk_idx": 0,
        "chunk_start_char": 0,
        "chunk_end_char": 4,
    },
    {
        "chunk_id": "a-1",
        "chunk": "fives",
        "source_url": "a",
        "title": "A",
        "chunk_idx": 1,
        "chunk_start_char": 5,
        "chunk_end_char": 10,
    },
    {
        "chunk_id": "b-0",
        "chunk": "",
        "source_url": "b",
        "title": "B",
        "chunk_idx": 0,
        "chunk_start_char": 0,
        "chunk_end_char": 0,
    },
]
QUERY: dict[str, Any] = {
    "query": "which?",
    "answer": ["r fi", "x"],
    "score": [1, 2],
    "source_url": ["a", "c"],
    "frag_start_char": [3, 0],
    "frag_end_char": [7, 1],
}


def folder_of(
    folder: Path, *, documents: list[dict[str, Any]] | None = None, queries: list[dict[str, Any]] | None = None
) -> Path:
    jsonl.write_rows(DOCUMENTS if documents is None else documents, folder / "documents.jsonl")
    jsonl.write_rows([QUERY] if queries is None else queries, folder / "queries.jsonl")
    return folder


def changed(row: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {key: value for key, value in {**row, **changes}.items() if value is not None}


def test_a_folder_is_a_collection(tmp_path: Path) -> None:
    found = open_collection(folder_of(tmp_path))
    assert (found.layout, found.name) == ("chunk-level", tmp_path.name)
    task = found.task()
    assert (task.name, task.split) == ("passages", "test")
    assert task.measures == ("nDCG@10", "RR@10", "R@100")
    assert task.views == ("text:plain", "title", "parent", "position", "span")
    assert task.qrels.triples() == [("0", "a-0", 1), ("0", "a-1", 1)]
    assert task.fragments is not None
    assert task.fragments.quotes is None
    assert found.passages[1] == ("a-1", "fives", "A", "a", "")
    assert found.passages.position is not None
    assert found.passages.position.tolist() == [0, 1, 0]
    assert found.counts["chunks with an empty text"] == 1
    assert found.counts["gold fragments of an unknown document"] == 1
    assert found.counts["gold fragments in several chunks"] == 1
    assert json.loads(found.queries.columns["answer"][0]) == QUERY["answer"]


def test_ids_of_queries_are_rows_unless_given(tmp_path: Path) -> None:
    assert list(open_collection(folder_of(tmp_path, queries=[QUERY, QUERY])).queries.ids) == ["0", "1"]
    named = [changed(QUERY, query_id="007"), changed(QUERY, query_id="7")]
    assert list(open_collection(folder_of(tmp_path, queries=named)).queries.ids) == ["007", "7"]
    with pytest.raises(FormatError, match=r"queries\.jsonl:2 \$\.query_id: the query id is empty"):
        open_collection(folder_of(tmp_path, queries=[changed(QUERY, query_id="1"), QUERY]))


def test_inlined_texts_are_matched_by_id(tmp_path: Path) -> None:
    coref = [{"chunk_id": row["chunk_id"], "chunk": f"{row['chunk']}!"} for row in reversed(DOCUMENTS)]
    jsonl.write_rows([*coref, {"chunk_id": "z", "chunk": ""}], folder_of(tmp_path) / "documents_coref.jsonl")
    found = open_collection(tmp_path)
    assert found.passages.texts["coref"].to_list() == ["four!", "fives!", "!"]
    assert found.counts["inlined texts of unknown chunks left out"] == 1
    assert "text:coref" in found.task().views
    jsonl.write_rows(coref[1:], tmp_path / "documents_coref.jsonl")
    with pytest.raises(FormatError, match=r"no text for 1 of 3 chunks \(first: b-0\)"):
        open_collection(tmp_path)


def test_splits_are_apart_and_together(tmp_path: Path) -> None:
    splits = ["train", "test", "test", None, ""]
    queries = [changed(QUERY, query_id=str(row), split=split) for row, split in enumerate(splits)]
    found = open_collection(folder_of(tmp_path, queries=queries))
    tasks = found.tasks["passages"]
    assert {split: list(task.qrels.queries) for split, task in tasks.items()} == {
        "train": ["0"],
        "test": ["1", "2"],
        "all": ["0", "1", "2"],
    }
    assert {split: len(task.fragments or ()) for split, task in tasks.items()} == {"train": 2, "test": 4, "all": 6}
    assert found.counts["queries without a split, in no task"] == 2


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"chunk_end_char": 3}, SpanError, "documents.jsonl:2 $.chunk_end_char: [5, 3) is reversed"),
        ({"chunk_start_char": -1}, SpanError, "documents.jsonl:2 $.chunk_end_char: [-1, 10) is reversed or negative"),
        (
            {"chunk_id": "a-0"},
            DuplicateIdError,
            "chunk id a-0 appears at lines 1 and 2 of documents.jsonl with different text",
        ),
        ({"chunk": None}, FormatError, "documents.jsonl:2 $.chunk: missing"),
        ({"chunk_start_char": "5"}, FormatError, 'documents.jsonl:2 $.chunk_start_char: expected int, got "5"'),
        ({"chunk_id": 7}, FormatError, "documents.jsonl:2 $.chunk_id: expected text, got 7"),
    ],
)
def test_a_broken_chunk_is_named(tmp_path: Path, changes: dict[str, Any], error: type[Exception], said: str) -> None:
    documents = [DOCUMENTS[0], changed(DOCUMENTS[1], **changes), DOCUMENTS[2]]
    with pytest.raises(error) as caught:
        open_collection(folder_of(tmp_path, documents=documents))
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"frag_end_char": [2, 1]}, SpanError, "queries.jsonl:1 $.frag_end_char: [3, 2) is reversed"),
        ({"frag_end_char": [7]}, FormatError, "queries.jsonl:1 $.frag_end_char: 1 values for 2 fragments"),
        ({"source_url": ["a"]}, FormatError, "queries.jsonl:1 $.source_url: 1 values for 2 fragments"),
        ({"score": [1]}, FormatError, "queries.jsonl:1 $.score: 1 values for 2 fragments"),
        ({"score": [1, 0.5]}, FormatError, "queries.jsonl:1 $.score: 0.5 is not a whole number"),
        ({"frag_end_char": ["7", 1]}, FormatError, 'queries.jsonl:1 $.frag_end_char[0]: expected int, got "7"'),
        ({"query": None}, FormatError, "queries.jsonl:1 $.query: missing"),
    ],
)
def test_a_broken_query_is_named(tmp_path: Path, changes: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error) as caught:
        open_collection(folder_of(tmp_path, queries=[changed(QUERY, **changes)]))
    assert str(caught.value).startswith(said)


def test_scores_and_positions_may_be_missing(tmp_path: Path) -> None:
    documents = [changed(row, chunk_idx=None, title=None) for row in reversed(DOCUMENTS)]
    found = open_collection(folder_of(tmp_path, documents=documents, queries=[changed(QUERY, score=None)]))
    assert found.passages.position is not None
    assert found.passages.position.tolist() == [0, 1, 0]
    assert found.passages.titles is None
    assert "title" not in found.task().views
    assert {grade for _, _, grade in found.task().qrels.triples()} == {1}


@pytest.mark.parametrize("suffix", shards.SUFFIXES)
def test_every_format_is_the_same_collection(tmp_path: Path, suffix: str) -> None:
    plain = open_collection(folder_of(tmp_path))
    other = tmp_path / "other"
    other.mkdir()
    kinds = {"chunk_idx": int, "chunk_start_char": int, "chunk_end_char": int}
    shards.write(
        {name: column_of([row[name] for row in DOCUMENTS], kinds.get(name, str)) for name in DOCUMENTS[0]},
        other / f"documents{suffix}",
    )
    lists = {"answer": list[str], "source_url": list[str], "query": str}
    shards.write(
        {name: column_of([QUERY[name]], lists.get(name, list[int])) for name in QUERY}, other / f"queries{suffix}"
    )
    found = open_collection(other)
    assert found.task().qrels.triples() == plain.task().qrels.triples()
    assert found.passages.digest_parts == plain.passages.digest_parts
    assert found.counts == plain.counts
    assert (found.digest == plain.digest) == (suffix == ".jsonl")


def test_a_collection_comes_back(tmp_path: Path) -> None:
    found = open_collection("demo:chunks")
    chunk_level.save(found, tmp_path / "one")
    again = open_collection(tmp_path / "one")
    assert again.counts == found.counts
    assert again.passages.digest_parts == found.passages.digest_parts
    assert again.task().qrels.triples() == found.task().qrels.triples()
    assert {name: column.digest for name, column in again.queries.columns.items()} == {
        name: column.digest for name, column in found.queries.columns.items()
    }
    chunk_level.save(again, tmp_path / "two")
    for name in ("documents.jsonl", "documents_coref.jsonl", "queries.jsonl"):
        assert (tmp_path / "two" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()


def test_a_collection_without_fragments_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs passages with spans and gold fragments"):
        chunk_level.save(open_collection("demo:questions"), tmp_path)


def test_case_U02_stored_text_is_never_normalised(tmp_path: Path) -> None:
    text = "Cafe\u0301 opens"
    document = changed(DOCUMENTS[0], chunk=text, chunk_end_char=len(text))
    query = {"query": "what?", "source_url": ["a"], "frag_start_char": [6], "frag_end_char": [11]}
    found = open_collection(folder_of(tmp_path, documents=[document], queries=[query]))
    assert found.passages.texts["plain"][0] == text
    fragments = found.task().fragments
    assert fragments is not None
    assert text[slice(*fragments.spans[0])] == "opens"
    chunk_level.save(found, tmp_path / "again")
    assert open_collection(tmp_path / "again").passages.texts["plain"][0] == text


def test_an_unknown_layout_says_what_was_looked_for(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(
        UsageError, match=r"(?s)there is: notes\.txt\nlooked for:.*chunk_level: documents\.jsonl"
    ) as caught:
        open_collection(tmp_path)
    assert "parlir: corpus.jsonl" in str(caught.value)
    with pytest.raises(UsageError, match="no such file or folder"):
        open_collection(tmp_path / "none")
    with pytest.raises(UsageError, match="did you mean 'demo:chunks'"):
        open_collection("demo:chunk")


def test_conditionalqa(shared_data: Path) -> None:
    found = open_collection(shared_data / "conditionalqa" / "seed_schema")
    assert (len(found.passages), len(found.queries), found.counts["documents"]) == (7506, 271, 495)
    task = found.task()
    assert len(task.fragments or ()) == 1165
    assert found.counts["gold fragments in one chunk"] == 1165
    assert len(task.qrels) == 1165
    judged = {(query, passage) for query, passage, _ in task.qrels.triples()}
    lines = (shared_data / "conditionalqa" / "qrels.test.tsv").read_text().splitlines()
    assert judged == {(line.split("\t")[0], line.split("\t")[2]) for line in lines}


def test_xquad_in_chunk_columns(shared_data: Path) -> None:
    found = open_collection(shared_data / "xquad" / "en.documents.jsonl")
    assert found.name == "en"
    assert (len(found.passages), len(found.queries)) == (240, 1190)
    assert found.counts["gold fragments in one chunk"] == 1190


def test_inlined_texts_keep_the_offsets_of_their_chunks(tmp_path: Path) -> None:
    coref = [changed(row, chunk=f"{row['chunk']}!") for row in reversed(DOCUMENTS)]
    jsonl.write_rows(coref, folder_of(tmp_path) / "documents_coref.jsonl")
    assert open_collection(tmp_path).passages.texts["coref"].to_list() == ["four!", "fives!", "!"]
    coref[0] = changed(coref[0], chunk_end_char=coref[0]["chunk_end_char"] + 1)
    jsonl.write_rows(coref, tmp_path / "documents_coref.jsonl")
    with pytest.raises(FormatError, match=r"documents_coref\.jsonl:1 \$\.chunk_end_char: \d+ for chunk b-0"):
        open_collection(tmp_path)


def test_inlined_texts_of_unknown_chunks_are_a_warning(tmp_path: Path) -> None:
    coref = [{"chunk_id": row["chunk_id"], "chunk": f"{row['chunk']}!"} for row in DOCUMENTS]
    jsonl.write_rows(coref, folder_of(tmp_path) / "documents_coref.jsonl")

    def verdict() -> str:
        findings = verify(open_collection(tmp_path), only=["offsets-true"])
        return next(f.verdict for f in findings if f.check == "offsets-true/coref-rows")

    assert verdict() == "ok"
    jsonl.write_rows([*coref, {"chunk_id": "z", "chunk": "extra"}], tmp_path / "documents_coref.jsonl")
    assert verdict() == "warning"


def test_answers_are_the_words_of_fragments_only_where_the_manifest_says_so(tmp_path: Path) -> None:
    query = changed(QUERY, source_url=["a"], frag_start_char=[0], frag_end_char=[4], score=[1], answer=["four"])
    folder_of(tmp_path, queries=[query])
    assert open_collection(tmp_path).task().fragments.quotes is None  # type: ignore[union-attr]
    jsonl.write_object({"answer": "quote"}, tmp_path / "build_manifest.json")
    assert [f.verdict for f in verify(open_collection(tmp_path), only=["quotes-true"])] == ["ok"]
    jsonl.write_rows([changed(query, answer=["for!"])], tmp_path / "queries.jsonl")
    assert [f.verdict for f in verify(open_collection(tmp_path), only=["quotes-true"])] == ["error"]
    jsonl.write_rows([changed(query, answer=["four", "more"])], tmp_path / "queries.jsonl")
    with pytest.raises(FormatError, match=r"\$\.answer: 2 values for 1 fragments"):
        open_collection(tmp_path)


def test_what_the_layout_has_no_place_for_is_counted_and_several_tasks_are_refused(tmp_path: Path) -> None:
    found = open_collection(folder_of(tmp_path))
    assert chunk_level.left_out(found) == {}
    dated = replace(found.passages, dates=np.array(["2020-01-01", "NaT", "NaT"], "datetime64[D]"))
    assert chunk_level.left_out(replace(found, passages=dated)) == {"dates of chunks": 1}
    (splits,) = found.tasks.values()
    other = {split: replace(task, name="other") for split, task in splits.items()}
    with pytest.raises(UsageError, match=r"several tasks with fragments \(passages, other\)"):
        chunk_level.save(replace(found, tasks={"passages": splits, "other": other}), tmp_path / "out")
    assert not (tmp_path / "out").exists()
