"""Cross-lingual queries: whatever column names their question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.collection import Collection
from assay.errors import FormatError
from assay.formats import jsonl
from assay.sources import open_collection, parlir

ROWS = [{"_id": "x1", "text": "warum?", "lang": "de"}, {"_id": "x2", "text": "dlaczego?", "lang": "pl"}]


def opened(folder: Path, rows: list[dict[str, Any]]) -> Collection:
    (folder / "qrels").mkdir(parents=True)
    jsonl.write_rows([{"_id": "a1", "text": "So."}], folder / "corpus.jsonl")
    jsonl.write_rows([{"_id": id_, "text": "why?", "answer": "a1"} for id_ in ("q1", "q2")], folder / "queries.jsonl")
    (folder / "qrels" / "answer_test.tsv").write_text("q1 0 a1 1\nq2 0 a1 1\n")
    jsonl.write_rows(rows, folder / "queries_xling.jsonl")
    return open_collection(folder)


@pytest.mark.parametrize("name", ["query_id", "question_id", "qid", "original_id", "orig_id"])
def test_one_column_names_the_question(tmp_path: Path, name: str) -> None:
    found = opened(tmp_path / "set", [{**row, name: f"q{2 - place}"} for place, row in enumerate(ROWS)])
    assert found.task("answer_xling").qrels.triples() == [("x1", "a1", 1), ("x2", "a1", 1)]
    assert found.queries.columns["question"].to_list() == ["", "", "q2", "q1"]
    assert name not in found.queries.columns
    counted = f"cross-lingual queries whose question is named by {name}"
    assert found.counts.get(counted) == (None if name == "query_id" else 2)
    parlir.save(found, tmp_path / "copy")
    assert open_collection(tmp_path / "copy").queries.columns["question"].to_list() == ["", "", "q2", "q1"]


def test_query_id_goes_first(tmp_path: Path) -> None:
    found = opened(tmp_path / "set", [{**row, "query_id": "q1", "qid": "other"} for row in ROWS])
    assert found.queries.columns["question"].to_list() == ["", "", "q1", "q1"]
    assert found.queries.columns["qid"].to_list() == ["", "", "other", "other"]


def test_rows_that_bear_the_id_of_their_question(tmp_path: Path) -> None:
    rows = [{**ROWS[0], "_id": "q1"}, {**ROWS[1], "_id": "q1"}, {**ROWS[1], "_id": "q2"}]
    found = opened(tmp_path / "set", rows)
    assert list(found.queries.ids) == ["q1", "q2", "q1:de", "q1:pl", "q2:pl"]
    assert found.task("answer_xling").qrels.triples() == [("q1:de", "a1", 1), ("q1:pl", "a1", 1), ("q2:pl", "a1", 1)]
    assert found.counts["cross-lingual queries that bear their question's id, told apart by their language"] == 3
    bare = opened(tmp_path / "bare", [{"_id": "q1", "text": "warum?"}])
    assert list(bare.queries.ids) == ["q1", "q2", "q1:xling"]


def test_a_row_without_its_question(tmp_path: Path) -> None:
    with pytest.raises(
        FormatError, match=r"queries_xling\.jsonl:2 \$\.query_id: there is no question '' \(1 such rows\)"
    ):
        opened(tmp_path / "set", [{**ROWS[0], "query_id": "q1"}, ROWS[1]])


def test_no_rows(tmp_path: Path) -> None:
    assert list(opened(tmp_path / "set", []).tasks) == ["answer"]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"qid": "q1", "orig_id": "q2"}, r"queries_xling\.jsonl:1: qid and orig_id may both name the question"),
        ({}, r"no column names the question .*, and _id does not either: 'x1' is no question \(2 such rows\); columns"),
        ({"qid": "q9"}, r"queries_xling\.jsonl:1 \$\.query_id: there is no question 'q9' \(2 such rows\)"),
    ],
)
def test_questions_that_cannot_be_told(tmp_path: Path, more: dict[str, Any], says: str) -> None:
    with pytest.raises(FormatError, match=says):
        opened(tmp_path / "set", [{**row, **more} for row in ROWS])
