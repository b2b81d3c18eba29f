"""The question-level layout, on a small collection and on real data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.errors import DuplicateIdError, EligibilityError, FormatError
from assay.formats import jsonl
from assay.sources import open_collection, parlir

CORPUS: list[dict[str, Any]] = [
    {"_id": "a1", "text": "One.", "raw_text": "One 1.", "date": "2020-01-10", "answers": "q1"},
    {"_id": "a2", "text": "Two.", "raw_text": "Two 2.", "date": "2020-02-10", "answers": ["q2", "q3"]},
    {"_id": "a3", "text": "", "raw_text": "", "date": None, "answers": ["q9", ""]},
]
QUERIES: list[dict[str, Any]] = [
    {
        "_id": "q1",
        "text": "one?",
        "raw_text": "one 1?",
        "date": "2020-01-01",
        "answer": "a1",
        "split": "train",
        "topic": "x",
    },
    {
        "_id": "q2",
        "text": "two?",
        "raw_text": "two?",
        "date": "2020-02-01",
        "answer": "a2",
        "split": "test",
        "topic": "y",
    },
    {
        "_id": "q3",
        "text": "three?",
        "raw_text": "three?",
        "date": "2020-02-02",
        "answer": "a2",
        "split": "test",
        "topic": "",
    },
    {
        "_id": "q4",
        "text": "four?",
        "raw_text": "four?",
        "date": "2020-01-05",
        "answer": None,
        "split": None,
        "topic": "",
    },
]
QRELS = {"answer_train": "q1 0 a1 1\n", "answer_test": "q2\t0\ta2\t1\nq3\t0\ta2\t1\n", "precedent_test": "q2 0 a1 1\n"}


def folder_of(
    folder: Path,
    *,
    corpus: list[dict[str, Any]] | None = None,
    queries: list[dict[str, Any]] | None = None,
    qrels: dict[str, str] | None = None,
    manifest: dict[str, Any] | None = None,
    equivalents: list[dict[str, Any]] | None = None,
    xling: list[dict[str, Any]] | None = None,
) -> Path:
    (folder / "qrels").mkdir(parents=True)
    jsonl.write_rows(CORPUS if corpus is None else corpus, folder / "corpus.jsonl")
    jsonl.write_rows(QUERIES if queries is None else queries, folder / "queries.jsonl")
    for name, text in (QRELS if qrels is None else qrels).items():
        (folder / "qrels" / f"{name}.tsv").write_text(text)
    if manifest is not None:
        jsonl.write_object(manifest, folder / "build_manifest.json")
    if equivalents is not None:
        jsonl.write_rows(equivalents, folder / "equivalents.jsonl")
    if xling is not None:
        jsonl.write_rows(xling, folder / "queries_xling.jsonl")
    return folder


def test_a_folder_is_a_collection(tmp_path: Path) -> None:
    found = open_collection(folder_of(tmp_path / "set"))
    assert (found.layout, found.name) == ("parlir", "set")
    assert {name: list(splits) for name, splits in found.tasks.items()} == {
        "answer": ["train", "test", "all"],
        "precedent": ["test"],
    }
    answer, precedent = found.task("answer"), found.task("precedent")
    assert (answer.measures, precedent.measures) == (("RR@10", "nDCG@10", "R@10"), ("R@10", "R@100", "RR@10"))
    assert (answer.views, precedent.views) == (("text:plain",), ("text:plain", "link:question"))
    assert answer.eligibility.unrestricted
    assert precedent.rule == "passage date < question date"
    assert precedent.eligibility.mask(0).tolist() == [True, False, False]
    assert found.task("answer", split="all").qrels.triples() == [("q1", "a1", 1), ("q2", "a2", 1), ("q3", "a2", 1)]
    assert found.task("precedent", split="all").split == "test"
    assert found.counts["undated passages"] == 1
    assert found.counts["passages with an empty text"] == 1
    assert found.counts["queries without a split, in no task"] == 1
    assert found.counts["links to unknown questions left out"] == 1
    assert found.counts["passages that reply to several questions"] == 1
    assert answer.ties is None
    assert answer.classes is None
    assert found.passages.texts["raw"][0] == "One 1."
    assert found.passages.link_offsets is not None
    assert found.passages.link_query is not None
    assert found.passages.link_offsets.tolist() == [0, 1, 3, 3]
    assert found.passages.link_query.tolist() == [0, 1, 2]
    assert found.queries.columns["topic"].to_list() == ["x", "y", "", ""]


RULES = {
    "answer": "",
    "answerlenient": "",
    "precedent": "passage date < question date",
    "precedenthc": "passage date < question date",
    "followup": "passage date < question date",
    "cite": "passage date < date of the query's own answer",
    "citehc": "passage date < date of the query's own answer",
}


def test_each_task_has_its_rule_and_earlier_questions_are_an_extra_of_those_with_one(tmp_path: Path) -> None:
    xling = [{"_id": "q2@fr", "query_id": "q2", "text": "?"}]
    qrels = {f"{task}_test": "q2 0 a1 1\n" for task in RULES}
    found = open_collection(folder_of(tmp_path / "set", qrels=qrels, xling=xling))
    assert list(found.tasks) == [*RULES, *(f"{task}_xling" for task in RULES)]
    for name, splits in found.tasks.items():
        task, rule = splits["test"], RULES[name.removesuffix("_xling")]
        assert task.rule == rule
        assert (task.asked is None) == (rule == "")
        assert task.views == (("text:plain",) if rule == "" else ("text:plain", "link:question"))
        assert task.questions.tolist() == [0, 1, 2, 3, 1]
    bare = [{key: value for key, value in row.items() if key != "answers"} for row in CORPUS]
    without = open_collection(folder_of(tmp_path / "bare", corpus=bare, qrels=qrels))
    assert {task.views for splits in without.tasks.values() for task in splits.values()} == {("text:plain",)}


META: list[dict[str, Any]] = [
    {"query_id": "q2", "doc_id": "a1", "source": "hyperlink", "referral": True},
    {"query_id": "q3", "doc_id": "a1", "source": "text", "referral": False},
    {"query_id": "q3", "doc_id": "a1", "source": "question_text", "referral": False},
    {"query_id": "q3", "doc_id": "gone", "source": "text", "referral": False},
]


def test_citations_are_those_of_their_tasks(tmp_path: Path) -> None:
    qrels = {f"{task}_test": "q2 0 a1 1\nq3 0 a1 1\n" for task in ("answer", "cite", "followup")}
    told = [{**row, "tasks": ["followup"] if row["source"] == "hyperlink" else ["cite", "citehc"]} for row in META]
    for name, rows, cite, followup in (
        ("guessed", META, ["hyperlink", "text"], ["question_text"]),
        ("told", told, ["text", "question_text"], ["hyperlink"]),
    ):
        folder = folder_of(tmp_path / name, qrels=qrels)
        jsonl.write_rows(rows, folder / "precedent_meta.jsonl")
        found = open_collection(folder)
        assert found.counts["citations in precedent_meta"] == 4
        assert found.task("answer").edges is None
        for task, sources in (("cite", cite), ("followup", followup)):
            edges = found.task(task).edges
            assert edges is not None
            assert edges.columns["source"].to_list() == sources
            assert (edges.passage == 0).all()
        cited = found.task("cite").edges
        assert cited is not None
        if name == "guessed":
            assert cited.query.tolist() == [1, 2]
            assert cited.columns["referral"].to_list() == ["yes", "no"]
        parlir.save(found, tmp_path / f"{name} again")
        again = open_collection(tmp_path / f"{name} again").task("cite").edges
        assert again is not None
        assert [again.query.tolist(), again.columns["source"].to_list()] == [cited.query.tolist(), cite]


@pytest.mark.parametrize("task", ["precedent", "precedenthc", "followup"])
def test_passages_before_the_question(tmp_path: Path, task: str) -> None:
    queries = [{**QUERIES[0], "date": "2020-01-10"}, {**QUERIES[1], "date": "2020-01-11"}]
    found = open_collection(
        folder_of(tmp_path / "set", queries=queries, qrels={f"{task}_test": "q1 0 a1 1\nq2 0 a1 1\n"})
    )
    assert [found.task(task).eligibility.mask(row).tolist() for row in (0, 1)] == [[False] * 3, [True, False, False]]


@pytest.mark.parametrize("task", ["cite", "citehc"])
def test_passages_before_the_own_answer(tmp_path: Path, task: str) -> None:
    found = open_collection(folder_of(tmp_path / "set", qrels={f"{task}_test": "q1 0 a1 1\nq2 0 a1 1\n"}))
    assert [found.task(task).eligibility.mask(row).tolist() for row in (0, 1)] == [[False] * 3, [True, False, False]]
    assert found.task(task).rule == "passage date < date of the query's own answer"


def test_the_own_answer_may_be_known_by_its_link_alone(tmp_path: Path) -> None:
    queries = [{key: value for key, value in row.items() if key != "answer"} for row in QUERIES]
    found = open_collection(folder_of(tmp_path / "set", queries=queries, qrels={"cite_test": "q2 0 a1 1\nq4 0 a1 1\n"}))
    asked = found.task("cite").asked
    assert asked is not None
    assert asked.astype(str).tolist() == ["2020-01-10", "2020-02-10", "2020-02-10", "NaT"]
    with pytest.raises(EligibilityError, match=r"1 of \d+ judged queries have no date"):
        _ = found.task("cite").eligibility


def test_case_A04_a_date_that_is_not_iso_is_an_error_and_undated_passages_are_counted(tmp_path: Path) -> None:
    corpus = [{"_id": "a", "text": "x", "date": "2024-9-30"}, {"_id": "b", "text": "y", "date": None}]
    queries = [{"_id": "q", "text": "?", "date": "2024-10-01"}]
    qrels = {"precedent_test": "q 0 a 1\n"}
    with pytest.raises(FormatError, match=r'corpus\.jsonl:1 \$\.date: "2024-9-30" is not an ISO date'):
        open_collection(folder_of(tmp_path / "bad", corpus=corpus, queries=queries, qrels=qrels))
    corpus[0]["date"] = "2024-09-30"
    found = open_collection(folder_of(tmp_path / "good", corpus=corpus, queries=queries, qrels=qrels))
    assert found.task().eligibility.mask(0).tolist() == [True, False]
    assert found.counts["undated passages"] == 1


def test_case_D03_a_query_with_two_texts_is_named(tmp_path: Path) -> None:
    queries = [{"_id": "44", "text": "ferry to the island"}, {"_id": "44", "text": "rent a boat"}]
    with pytest.raises(
        DuplicateIdError, match=r"query id 44 appears at lines 1 and 2 of queries\.jsonl with different text"
    ):
        open_collection(folder_of(tmp_path / "set", queries=queries))


def test_empty_judgement_files_are_said_and_make_no_task(tmp_path: Path) -> None:
    found = open_collection(folder_of(tmp_path / "set", qrels={**QRELS, "cite_test": "", "precedent_dev": "\n"}))
    assert "cite" not in found.tasks
    assert list(found.tasks["precedent"]) == ["test"]
    assert found.counts["judgement files without a line"] == 2


def test_judgements_may_be_rows(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "set", qrels={})
    (folder / "qrels_jsonl").mkdir()
    (folder / "qrels_jsonl" / "answer_dev.jsonl").write_text('{"query_id":"q1","doc_id":"a1","score":1}\n')
    assert open_collection(folder).task(split="dev").qrels.triples() == [("q1", "a1", 1)]


def test_unknown_ids_and_tasks_are_counted(tmp_path: Path) -> None:
    found = open_collection(
        folder_of(tmp_path / "set", qrels={"answer_test": "q8 0 a8 1\n", "other_test": "q1 0 a1 1\n"})
    )
    assert found.counts["judged queries that the collection lacks"] == 1
    assert found.counts["judged passages that the collection lacks"] == 1
    assert found.counts["task other has no known as-of rule: no cut-off"] == 1


def test_ties_are_what_the_collection_declares(tmp_path: Path) -> None:
    twins = [{"_id": "q1", "twin_question": ["q4", "gone"], "duplicate_answer": []}]
    found = open_collection(folder_of(tmp_path / "all", equivalents=twins))
    assert {kind: pairs.tolist() for kind, pairs in found.tied.items()} == {
        "twin_question": [[0, 3]],
        "joint_answer": [[1, 2]],
    }
    ties = found.task("answer").ties
    assert ties is not None
    assert ties.tolist() == [0, 1, 1, 0]
    assert found.counts["twin_question pairs with an unknown id left out"] == 1
    some = open_collection(folder_of(tmp_path / "some", equivalents=twins, manifest={"ties": ["twin_question"]}))
    clusters = some.task("answer", split="all").clusters
    assert clusters is not None
    assert len(set(clusters.tolist())) == 3
    none = open_collection(folder_of(tmp_path / "none", manifest={"mask_token": "[MASKED]", "licence": "CC0-1.0"}))
    assert none.task("answer").ties is None
    assert none.task("answer").mask == ("[MASKED]",)
    assert none.licence == "CC0-1.0"


def test_a_twin_may_be_named_by_its_answer(tmp_path: Path) -> None:
    found = open_collection(folder_of(tmp_path / "set", equivalents=[{"_id": "q1", "twin_question": ["a2"]}]))
    assert found.tied["twin_question"].tolist() == [[0, 1]]


def test_queries_that_share_a_passage_are_tied_in_their_task(tmp_path: Path) -> None:
    qrels = {"precedent_test": "q2 0 a1 1\nq3 0 a1 0\nq4 0 a1 1\n", "followup_test": "q2 0 a1 1\n"}
    found = open_collection(folder_of(tmp_path / "set", qrels=qrels, manifest={"ties": ["shared_passage"]}))
    shared, alone = found.task("precedent").ties, found.task("followup").ties
    assert shared is not None
    assert alone is not None
    assert shared.tolist() == [0, 1, 2, 1]
    assert alone.tolist() == [0, 1, 2, 3]


def test_duplicates_are_classes_and_boilerplate_is_not(tmp_path: Path) -> None:
    rows = [{"_id": "q1", "duplicate_answer": ["a2"]}, {"_id": "q2", "duplicate_answer": ["a3"]}]
    found = open_collection(folder_of(tmp_path / "all", equivalents=rows))
    classes = found.task("answer").classes
    assert classes is not None
    assert classes.tolist() == [0, 0, 0]
    found = open_collection(folder_of(tmp_path / "some", equivalents=rows, manifest={"boilerplate": ["a3"]}))
    classes = found.task("answer").classes
    assert classes is not None
    assert classes.tolist() == [0, 0, 1]
    assert found.counts["duplicate answers left out of classes as boilerplate"] == 1
    rows[0]["boilerplate"] = ["a2"]
    found = open_collection(folder_of(tmp_path / "none", equivalents=rows))
    classes = found.task("answer").classes
    assert classes is not None
    assert classes.tolist() == [0, 1, 2]


def test_cross_lingual_queries_have_the_judgements_of_their_questions(tmp_path: Path) -> None:
    xling = [
        {"_id": f"{q}@{language}", "query_id": q, "text": "?", "language": language}
        for q, language in [("q2", "fr"), ("q1", "fr"), ("q2", "el")]
    ]
    found = open_collection(folder_of(tmp_path / "set", xling=xling))
    assert len(found.queries) == 7
    assert sorted(found.task("answer_xling", split="all").qrels.triples()) == [
        ("q1@fr", "a1", 1),
        ("q2@el", "a2", 1),
        ("q2@fr", "a2", 1),
    ]
    precedent = found.task("precedent_xling")
    assert precedent.rule == "passage date < question date"
    assert precedent.eligibility.mask(0).tolist() == [True, False, False]
    clusters = precedent.clusters
    assert clusters is not None
    assert len(set(clusters.tolist())) == 1
    assert found.queries.columns["question"].to_list() == ["", "", "", "", "q2", "q1", "q2"]
    assert found.queries.columns["topic"].to_list() == ["x", "y", "", "", "", "", ""]
    with pytest.raises(FormatError, match=r"queries_xling\.jsonl:1 \$\.query_id: there is no question 'q7'"):
        open_collection(folder_of(tmp_path / "bad", xling=[{"_id": "x", "query_id": "q7", "text": "?"}]))


def test_the_manifest_may_change_rules(tmp_path: Path) -> None:
    found = open_collection(folder_of(tmp_path / "set", manifest={"as_of": {"precedent": None, "answer": "query"}}))
    assert found.task("precedent").eligibility.unrestricted
    assert not found.task("answer").eligibility.unrestricted
    with pytest.raises(FormatError, match=r"build_manifest\.json \$\.as_of: expected an object"):
        open_collection(folder_of(tmp_path / "worse", manifest={"as_of": "query"}))
    with pytest.raises(FormatError, match="no as-of rule 'reply'"):
        open_collection(folder_of(tmp_path / "bad", manifest={"as_of": {"precedent": "reply"}}))


@pytest.mark.parametrize("name", ["demo:questions", "uk"])
def test_a_collection_comes_back(tmp_path: Path, name: str, request: pytest.FixtureRequest) -> None:
    if name == "uk":
        name = str(request.getfixturevalue("shared_data") / "uk_written_questions" / "session_2023-24")
    found = open_collection(name)
    parlir.save(found, tmp_path / "one")
    again = open_collection(tmp_path / "one")
    assert list(again.tasks) == list(found.tasks)
    for task, splits in found.tasks.items():
        assert list(again.tasks[task]) == list(splits)
        for split, one in splits.items():
            two = again.task(task, split=split)
            assert two.qrels.triples() == one.qrels.triples()
            assert np.array_equal(two.ties if two.ties is not None else [], one.ties if one.ties is not None else [])
            assert np.array_equal(
                two.classes if two.classes is not None else [], one.classes if one.classes is not None else []
            )
            assert np.array_equal(two.eligibility.counts(), one.eligibility.counts())
    assert again.passages.digest_parts == found.passages.digest_parts
    parlir.save(again, tmp_path / "two")
    assert open_collection(tmp_path / "two").digest == again.digest


def test_uk_questions(shared_data: Path) -> None:
    found = open_collection(shared_data / "uk_written_questions" / "session_2023-24")
    assert (len(found.passages), len(found.queries)) == (2989, 2989)
    assert {split: len(task.qrels) for split, task in found.tasks["answer"].items()} == {
        "train": 1164,
        "dev": 455,
        "test": 1370,
        "all": 2989,
    }
    followup = found.task("followup", split="all")
    assert (len(followup.qrels.queries), len(followup.qrels)) == (53, 57)
    assert len(found.task("followup").qrels.queries) == 51
    cite = found.task("cite", split="all")
    assert (len(cite.qrels.queries), len(cite.qrels)) == (58, 59)
    assert len(found.task("precedent").qrels) == 4
    assert found.counts["judgement files without a line"] == 3
    for task in (followup, cite, found.task("precedent")):
        gold = task.eligibility.allows(
            np.arange(len(task.rows))[task.qrels.query],
            found.passages.ids.codes(task.qrels.passages)[task.qrels.passage],
        )
        assert gold.all()
    # The reply cited by 44 of them ties those into one cluster.
    clusters = cite.clusters
    assert clusters is not None
    assert np.bincount(clusters).max() >= 44
