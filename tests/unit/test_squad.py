"""SQuAD files: offsets in any script, on a small file and on real data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.errors import DuplicateIdError, FormatError
from assay.sources import open_collection, squad


def article(context: str, *answers: tuple[str, int]) -> dict[str, Any]:
    question = {
        "id": "q1",
        "question": "what?",
        "answers": [{"text": text, "answer_start": at} for text, at in answers],
    }
    return {
        "title": "A_title",
        "paragraphs": [{"context": "first", "qas": []}, {"context": context, "qas": [question]}],
    }


def put(folder: Path, *articles: dict[str, Any]) -> Path:
    place = folder / "set.json"
    place.write_text(json.dumps({"data": list(articles), "version": "1.1"}, ensure_ascii=False))
    return place


def test_paragraphs_are_chunks_of_one_document(tmp_path: Path) -> None:
    found = open_collection(put(tmp_path, article("a😀b", ("b", 2), ("b", 2))))
    assert (found.layout, found.name) == ("squad", "set")
    assert list(found.passages.ids) == ["A_title-0", "A_title-1"]
    assert found.passages[1] == ("A_title-1", "a😀b", "A title", "A_title", "")
    fragments = found.task().fragments
    assert fragments is not None
    assert fragments.quotes is not None
    document = "\n".join(found.passages.texts["plain"].to_list())
    assert (
        [document[slice(*fragments.spans[row])] for row in range(len(fragments))] == fragments.quotes.to_list() == ["b"]
    )
    assert found.task().qrels.triples() == [("q1", "A_title-1", 1)]


def test_a_question_without_an_answer_is_counted(tmp_path: Path) -> None:
    found = open_collection(put(tmp_path, article("text")))
    assert found.counts["queries without an answer, not judged"] == 1
    assert len(found.queries) == 1
    assert len(found.task().qrels.queries) == 0


def test_a_broken_field_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"set\.json \$\.data\[0\]\.paragraphs: expected a list, got null"):
        squad.load(put(tmp_path, {"title": "x"}))
    with pytest.raises(
        FormatError, match=r"paragraphs\[1\]\.qas\[0\]\.answers\[0\]\.answer_start: expected an int from 0, got -1"
    ):
        squad.load(put(tmp_path, article("text", ("t", -1))))
    with pytest.raises(FormatError, match=r"\$\.data\[0\]\.title: expected text, got 7"):
        squad.load(put(tmp_path, {"title": 7, "paragraphs": []}))
    with pytest.raises(DuplicateIdError, match="question id 'q1' stands twice"):
        squad.load(put(tmp_path, article("text"), {**article("text"), "title": "other"}))


def test_other_json_is_not_taken_for_it(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"q": {"a": 1}}')
    assert not squad.recognises(tmp_path / "run.json")
    assert not squad.recognises(tmp_path)


@pytest.mark.parametrize("language", ["en", "de", "es", "ro", "el", "zh", "ar"])
def test_xquad(shared_data: Path, language: str) -> None:
    found = open_collection(shared_data / "xquad" / f"xquad.{language}.json")
    assert (len(found.passages), len(found.queries), found.counts["documents"]) == (240, 1190, 48)
    fragments, passages = found.task().fragments, found.passages
    assert fragments is not None
    assert fragments.quotes is not None
    assert passages.spans is not None
    documents: dict[int, list[str]] = {}
    for document, text in zip(passages.spans.document.tolist(), passages.texts["plain"].to_list(), strict=True):
        documents.setdefault(document, []).append(text)
    joined = {document: "\n".join(texts) for document, texts in documents.items()}
    quotes = fragments.quotes.to_list()
    assert len(quotes) == 1190
    for row, quote in enumerate(quotes):
        assert joined[int(fragments.spans.document[row])][slice(*fragments.spans[row])] == quote
    assert found.counts["gold fragments in one chunk"] == 1190


def test_xquad_agrees_with_its_chunk_columns(shared_data: Path) -> None:
    one = open_collection(shared_data / "xquad" / "xquad.en.json").task()
    two = open_collection(shared_data / "xquad" / "en.documents.jsonl").task()
    assert sorted(one.qrels.triples()) == sorted(two.qrels.triples())
