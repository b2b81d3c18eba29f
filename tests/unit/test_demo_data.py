"""The two collections that ship with the package hold what their columns say."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import pytest

DEMO = Path(__file__).parents[2] / "src" / "assay" / "sources" / "demo"
CHUNKS = DEMO / "chunks"
QUESTIONS = DEMO / "questions"
TASKS = ("answer", "answerlenient", "cite", "citehc", "precedent", "precedenthc")
SPLITS = ("train", "dev", "test")
IDENTIFIER = re.compile(r"QW\W?\d{4}|\d{4}[-\u2010-\u2015]\d{4}|https?:|assembly\.example", re.IGNORECASE)

Row = dict[str, Any]
Pairs = set[tuple[str, str]]


def rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def manifest() -> Row:
    content: Row = json.loads((QUESTIONS / "build_manifest.json").read_text(encoding="utf-8"))
    return content


def qrels(task: str, split: str) -> Pairs:
    lines = (QUESTIONS / "qrels" / f"{task}_{split}.tsv").read_text(encoding="utf-8").splitlines()
    fields = [line.split("\t") for line in lines]
    assert all(len(row) == 4 and row[1] == "0" and row[3] == "1" for row in fields)
    assert len({(row[0], row[2]) for row in fields}) == len(fields)
    return {(row[0], row[2]) for row in fields}


def document_texts() -> dict[str, str]:
    parts: dict[str, list[str]] = {}
    for row in rows(CHUNKS / "documents.jsonl"):
        parts.setdefault(row["source_url"], []).append(row["chunk"])
    return {source: "\n".join(chunks) for source, chunks in parts.items()}


def questions() -> dict[str, Row]:
    return {row["_id"]: row for row in rows(QUESTIONS / "queries.jsonl")}


def replies() -> dict[str, Row]:
    return {row["_id"]: row for row in rows(QUESTIONS / "corpus.jsonl")}


def test_demo_is_small() -> None:
    data = [path for path in DEMO.rglob("*") if path.suffix in {".jsonl", ".tsv", ".json", ".md"}]
    assert len(data) == 30
    assert sum(path.stat().st_size for path in data) < 700_000


def test_every_line_is_one_object_in_utf8() -> None:
    for path in DEMO.rglob("*.jsonl"):
        raw = path.read_bytes()
        assert raw.endswith(b"\n"), path
        assert b"\r" not in raw, path
        assert not raw.startswith(b"\xef\xbb\xbf"), path
        # str.splitlines also cuts at U+2028 and its kind, which would split a record
        assert raw.count(b"\n") == len(raw.decode("utf-8").splitlines()), path


def test_chunk_offsets_are_code_points_of_the_joined_document() -> None:
    texts = document_texts()
    places: dict[str, tuple[int, int]] = {}
    for row in rows(CHUNKS / "documents.jsonl"):
        start, end = row["chunk_start_char"], row["chunk_end_char"]
        assert texts[row["source_url"]][start:end] == row["chunk"]
        assert row["chunk"] == row["chunk"].strip() != ""
        index, before = places.get(row["source_url"], (-1, -1))
        assert (row["chunk_idx"], start) == (index + 1, before + 1)
        assert row["chunk_id"] == f"{row['source_url'].rsplit('/', 1)[1]}-{row['chunk_idx']}"
        places[row["source_url"]] = (row["chunk_idx"], end)


def test_chunk_documents_are_many_contiguous_and_titled() -> None:
    documents = rows(CHUNKS / "documents.jsonl")
    order = [row["source_url"] for row in documents]
    runs = [source for at, source in enumerate(order) if at == 0 or order[at - 1] != source]
    assert len(runs) == len(set(runs)) >= 32
    assert len({row["chunk_id"] for row in documents}) == len(documents) >= 320
    assert len({(row["source_url"], row["title"]) for row in documents}) == len(runs)


def test_coref_view_has_the_same_rows_and_offsets() -> None:
    plain, coref = rows(CHUNKS / "documents.jsonl"), rows(CHUNKS / "documents_coref.jsonl")
    assert [{**row, "chunk": ""} for row in plain] == [{**row, "chunk": ""} for row in coref]
    pronoun = re.compile(r"\b(it|they|them|she|he)\b", re.IGNORECASE)
    changed = [a["chunk"] != b["chunk"] for a, b in zip(plain, coref, strict=True) if pronoun.search(a["chunk"])]
    assert sum(changed) > len(changed) / 2 > 50
    assert any(a["chunk"] == b["chunk"] for a, b in zip(plain, coref, strict=True))


def test_fragments_lie_in_their_documents() -> None:
    texts = document_texts()
    queries = rows(CHUNKS / "queries.jsonl")
    assert len({row["query_id"] for row in queries}) == len(queries) >= 66
    columns = ("answer", "score", "source_url", "frag_start_char", "frag_end_char")
    for row in queries:
        assert {len(row[column]) for column in columns} == {row["n_gold"]}
        assert 1 <= row["n_gold"] <= 4
        assert row["kind"] in {"amount", "deadline", "eligibility", "procedure"}
        assert row["query"]
        assert row["original_query"]
        for answer, score, source, start, end in zip(*(row[column] for column in columns), strict=True):
            assert 0 <= start < end <= len(texts[source])
            assert texts[source][start:end] == answer
            assert score in {1, 2}
        assert len(set(zip(row["source_url"], row["frag_start_char"], strict=True))) == row["n_gold"]


def test_chunks_show_each_feature() -> None:
    queries = rows(CHUNKS / "queries.jsonl")
    answers = [answer for row in queries for answer in row["answer"]]
    assert sum("\n" in answer for answer in answers) >= 3
    assert {row["n_gold"] for row in queries} == {1, 2, 3, 4}
    assert {score for row in queries for score in row["score"]} == {1, 2}
    texts = "\n".join(document_texts().values())
    assert len(texts.encode("utf-8")) > len(texts)
    assert any(ord(letter) > 0xFFFF for letter in texts)
    assert "e\u0301" in texts


def test_repeated_notices_are_gold_in_one_document() -> None:
    sources: dict[str, set[str]] = {}
    for row in rows(CHUNKS / "documents.jsonl"):
        if len(row["chunk"]) > 60:
            sources.setdefault(row["chunk"], set()).add(row["source_url"])
    repeated = {text for text, where in sources.items() if len(where) > 1}
    assert len(repeated) == 3
    gold = Counter(answer for row in rows(CHUNKS / "queries.jsonl") for answer in row["answer"] if answer in repeated)
    assert sorted(gold.values()) == [1, 1]


def test_question_and_reply_ids_resolve_both_ways() -> None:
    asked, answered = questions(), replies()
    assert len(asked) == len(rows(QUESTIONS / "queries.jsonl")) >= 170
    assert len(answered) == len(rows(QUESTIONS / "corpus.jsonl")) >= 155
    assert {i: row["answer"] for i, row in asked.items()} == {
        question: i for i, row in answered.items() for question in row["answers"]
    }
    assert all(re.fullmatch(r"QW-\d{4}-\d{4}", i) and i[3:7] == row["date"][:4] for i, row in asked.items())
    assert all(i == row["answers"][0] + "-R" for i, row in answered.items())
    joint = [row for row in answered.values() if len(row["answers"]) > 1]
    assert len(joint) == manifest()["joint_answers"] >= 6


def test_replies_follow_their_questions_by_20_to_90_days() -> None:
    answered = replies()
    for row in questions().values():
        tabled, published = date.fromisoformat(row["date"]), date.fromisoformat(answered[row["answer"]]["date"])
        assert 20 <= (published - tabled).days <= 90
        assert row["date"] == tabled.isoformat()


def test_splits_agree_with_the_boundaries() -> None:
    bounds = manifest()["splits"]
    assert tuple(bounds) == SPLITS
    for row in questions().values():
        inside = [name for name, span in bounds.items() if span["from"] <= row["date"] <= span["to"]]
        assert inside == ([] if row["split"] is None else [row["split"]])
    counts = Counter(row["split"] for row in questions().values())
    assert counts[None] == manifest()["counts"]["no_split"] > 0


@pytest.mark.parametrize("name", ["queries.jsonl", "corpus.jsonl", "queries_xling.jsonl"])
def test_masked_text_holds_no_identifier(name: str) -> None:
    token = manifest()["mask_token"]
    masked = 0
    for row in rows(QUESTIONS / name):
        assert not IDENTIFIER.search(row["text"]), row["_id"]
        assert (token in row["text"]) == (IDENTIFIER.search(row["raw_text"]) is not None)
        assert re.search(rf"{re.escape(token)}(, | and |, and ){re.escape(token)}", row["text"]) is None
        # Between the tokens nothing may have changed
        pieces = [re.escape(piece) for piece in row["text"].split(token)]
        assert re.fullmatch(".+?".join(pieces), row["raw_text"])
        masked += token in row["text"]
    assert masked > 0


def test_citations_in_text_are_exactly_the_edges() -> None:
    asked, found = questions(), set()
    unresolved = set()
    for row in replies().values():
        for link, number in re.findall(r"(https\S+/)?(QW[-\u2011]\d{4}[-\u2011]\d{4})", row["raw_text"]):
            cited = number.replace("\u2011", "-")
            for citing in row["answers"]:
                source = "hyperlink" if link else "text"
                if cited not in asked:
                    unresolved.add((citing, cited, source))
                elif asked[cited]["answer"] != row["_id"]:
                    found.add((citing, asked[cited]["answer"], source))
    edges = rows(QUESTIONS / "precedent_meta.jsonl")
    assert {(row["query_id"], row["doc_id"], row["source"]) for row in edges} == found
    assert len(edges) == len(found) == manifest()["counts"]["citations"]
    assert {row["source"] for row in edges} == {"text", "hyperlink"}
    left = rows(QUESTIONS / "unresolved_citations.jsonl")
    assert {(row["query_id"], row["cited"], row["source"]) for row in left} == unresolved


def test_citation_columns_agree_with_the_records() -> None:
    asked, answered = questions(), replies()
    for row in rows(QUESTIONS / "precedent_meta.jsonl"):
        reply = answered[asked[row["query_id"]]["answer"]]
        assert row["cited_answered"] == answered[row["doc_id"]]["date"]
        assert row["citing_tabled"] == asked[row["query_id"]]["date"]
        assert row["citing_answered"] == reply["date"]
        assert row["context"] in reply["raw_text"]
        assert row["referral"] == ("I refer" in row["context"])
        named = re.search(r"\b\d{1,2} [A-Z][a-z]+ \d{4}\b", row["context"])
        day = date.fromisoformat(row["cited_answered"])
        expected = "none" if named is None else "answered"
        assert row["date_check"] == expected
        assert named is None or named.group() == f"{day.day} {day:%B %Y}"


def test_answer_qrels_are_the_own_replies() -> None:
    equivalents = {row["_id"]: row for row in rows(QUESTIONS / "equivalents.jsonl")}
    for split in SPLITS:
        own = {(i, row["answer"]) for i, row in questions().items() if row["split"] == split}
        extra = {(i, other) for i, _ in own if i in equivalents for other in equivalents[i]["duplicate_answer"]}
        assert qrels("answer", split) == own
        assert qrels("answerlenient", split) == own | extra
    assert len(qrels("answer", "test")) >= 60
    assert any(qrels("answerlenient", split) > qrels("answer", split) for split in SPLITS)


def test_citation_qrels_follow_from_edges_and_dates() -> None:
    asked = questions()
    expected: dict[tuple[str, str | None], Pairs] = {}
    for row in rows(QUESTIONS / "precedent_meta.jsonl"):
        pair = (row["query_id"], row["doc_id"])
        for task, limit in (("precedent", row["citing_tabled"]), ("cite", row["citing_answered"])):
            if row["cited_answered"] < limit:
                for name in (task, task + "hc") if row["referral"] else (task,):
                    expected.setdefault((name, asked[pair[0]]["split"]), set()).add(pair)
    for task in ("precedent", "precedenthc", "cite", "citehc"):
        for split in SPLITS:
            assert qrels(task, split) == expected.get((task, split), set()), (task, split)
    queries = {split: {query for query, _ in qrels("precedent", split)} for split in SPLITS}
    assert sum(map(len, queries.values())) >= 24
    assert len(queries["test"]) >= 10


def test_some_citations_are_kept_out_by_each_date_rule() -> None:
    edges = rows(QUESTIONS / "precedent_meta.jsonl")
    assert any(row["citing_tabled"] <= row["cited_answered"] < row["citing_answered"] for row in edges)
    assert any(row["cited_answered"] == row["citing_answered"] for row in edges)


def test_equivalents_are_equal_texts_without_boilerplate() -> None:
    asked, answered = questions(), replies()
    boilerplate = set(manifest()["boilerplate"])
    listed = {row["_id"]: row for row in rows(QUESTIONS / "equivalents.jsonl")}
    for i, row in asked.items():
        twins = sorted(j for j, other in asked.items() if j != i and other["raw_text"] == row["raw_text"])
        reply = answered[row["answer"]]
        same = [j for j, other in answered.items() if j != reply["_id"] and other["raw_text"] == reply["raw_text"]]
        duplicates = [] if reply["_id"] in boilerplate else sorted(same)
        entry = listed.get(i, {"twin_question": [], "duplicate_answer": []})
        assert (entry["twin_question"], entry["duplicate_answer"]) == (twins, duplicates)
    pairs = [(asked[i], asked[j]) for i, row in listed.items() for j in row["twin_question"]]
    assert any(a["answer"] == b["answer"] for a, b in pairs)
    assert any(answered[a["answer"]]["raw_text"] != answered[b["answer"]]["raw_text"] for a, b in pairs)
    assert any(a["split"] != b["split"] for a, b in pairs)


def test_boilerplate_is_holding_replies_and_bare_referrals() -> None:
    texts = Counter(row["raw_text"] for row in replies().values() if row["_id"] in set(manifest()["boilerplate"]))
    holding = "The information is being collected and will be laid before the Assembly."
    assert texts[holding] >= 3
    assert sum("I refer the Member" in text for text in texts) >= 2


def test_second_language_points_at_questions() -> None:
    asked, translated = questions(), rows(QUESTIONS / "queries_xling.jsonl")
    assert len({row["_id"] for row in translated}) == len(translated) >= 24
    for row in translated:
        assert row["_id"] == f"{row['query_id']}@{row['language']}"
        assert row["language"] == "fr"
        assert row["raw_text"] != asked[row["query_id"]]["raw_text"]


def test_manifest_counts_are_the_files() -> None:
    content = manifest()
    counts = content["counts"]
    assert (counts["questions"], counts["replies"]) == (len(questions()), len(replies()))
    assert counts["queries_xling"] == len(rows(QUESTIONS / "queries_xling.jsonl"))
    assert set(content["as_of"]) == set(TASKS)
    assert {path.stem for path in (QUESTIONS / "qrels").iterdir()} == set(counts["qrels"])
    for task in TASKS:
        for split in SPLITS:
            pairs = qrels(task, split)
            assert counts["qrels"][f"{task}_{split}"] == {"queries": len({q for q, _ in pairs}), "pairs": len(pairs)}
    assert content["ties"] == ["twin_question", "joint_answer"]
