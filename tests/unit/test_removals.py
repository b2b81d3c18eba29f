"""Removals take with them what depends on them, and everything dropped is counted; the funnel loses nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.building.funnel import Funnel
from assay.building.removals import BuildTables, listed, read_removals, without_removed
from assay.errors import DataError, DuplicateIdError, FormatError

TABLES = BuildTables(
    corpus=[
        {"_id": "a1", "answers": ["q1"], "text": "One."},
        {"_id": "a2", "answers": ["q2", "q3"], "text": "Joint."},
        {"_id": "a4", "answers": "q4", "text": "Four."},
    ],
    queries=[{"_id": f"q{n}", "answer": a} for n, a in ((1, "a1"), (2, "a2"), (3, "a2"), (4, "a4"), (5, None))],
    queries_xling=[{"_id": "q1@fr", "query_id": "q1"}, {"_id": "q4@fr", "query_id": "q4"}],
    equivalents=[
        {"_id": "q1", "twin_question": ["q2", "q4"], "duplicate_answer": ["a4"]},
        {"_id": "q4", "twin_question": ["q1"], "duplicate_answer": ["a1"]},
    ],
    precedent_meta=[{"query_id": "q2", "doc_id": "a1"}, {"query_id": "q4", "doc_id": "a2"}],
    qrels={
        "answer_test": [("q1", "a1", 1), ("q2", "a2", 1), ("q3", "a2", 1), ("q4", "a4", 1), ("q1@fr", "a1", 1)],
        "cite_dev": [("q2", "a1", 1), ("q4", "a2", 2)],
    },
)


def test_nothing_removed_changes_nothing() -> None:
    funnel = Funnel()
    assert without_removed(TABLES, {}, funnel) is TABLES
    assert funnel.record() == {}


def test_a_question_takes_its_reply_and_all_that_depends_on_both() -> None:
    funnel = Funnel()
    left = without_removed(TABLES, {"q1": "asked for"}, funnel)
    assert [row["_id"] for row in left.corpus] == ["a2", "a4"]
    assert [row["_id"] for row in left.queries] == ["q2", "q3", "q4", "q5"]
    assert [row["_id"] for row in left.queries_xling] == ["q4@fr"]
    assert left.equivalents == [{"_id": "q4", "twin_question": [], "duplicate_answer": []}]
    assert left.precedent_meta == [{"query_id": "q4", "doc_id": "a2"}]
    assert left.qrels == {
        "answer_test": [("q2", "a2", 1), ("q3", "a2", 1), ("q4", "a4", 1)],
        "cite_dev": [("q4", "a2", 2)],
    }
    dropped = funnel.record()["removals"]["dropped"]
    assert {reason: drop["count"] for reason, drop in dropped.items()} == {
        "corpus: answers only what was removed: asked for": 1,
        "equivalents: asked for": 1,
        "precedent_meta: answers only what was removed: asked for": 1,
        "qrels answer_test: asked for": 2,
        "qrels cite_dev: answers only what was removed: asked for": 1,
        "queries: asked for": 1,
        "queries_xling: asked for": 1,
    }
    assert dropped["queries: asked for"]["examples"] == ["q1"]


def test_a_joint_reply_stays_while_it_answers_a_question() -> None:
    left = without_removed(TABLES, {"q2": "privacy"}, Funnel())
    assert [row["answers"] for row in left.corpus] == [["q1"], ["q3"], "q4"]
    both = without_removed(TABLES, {"q2": "privacy", "q3": "privacy"}, Funnel())
    assert [row["_id"] for row in both.corpus] == ["a1", "a4"]


def test_a_reply_leaves_its_questions_without_an_answer() -> None:
    left = without_removed(TABLES, {"a2": "withdrawn"}, Funnel())
    assert [row["answer"] for row in left.queries] == ["a1", None, None, "a4", None]
    assert left.qrels == {
        "answer_test": [("q1", "a1", 1), ("q4", "a4", 1), ("q1@fr", "a1", 1)],
        "cite_dev": [("q2", "a1", 1)],
    }


def test_an_id_that_names_no_record_is_counted() -> None:
    funnel = Funnel()
    without_removed(TABLES, {"zz": "gone", "a1": "asked for"}, funnel)
    assert funnel.record()["removals/ids that name no record"]["dropped"] == {
        "unknown id": {"count": 1, "examples": ["zz"]}
    }


IDS = [*(row["_id"] for row in TABLES.corpus), *(row["_id"] for row in TABLES.queries), "q1@fr"]


@settings(deadline=None)
@given(st.sets(st.sampled_from(IDS)))
def test_no_removed_id_is_left_anywhere(removed: set[str]) -> None:
    left = without_removed(TABLES, dict.fromkeys(removed, "r"), Funnel())

    def all_ids(value: Any) -> set[str]:
        if isinstance(value, str):
            return {value}
        if isinstance(value, dict):
            return set().union(*(all_ids(v) for v in value.values()), set())
        return set().union(*(all_ids(v) for v in value), set()) if isinstance(value, list | tuple) else set()

    tables = (left.corpus, left.queries, left.queries_xling, left.equivalents, left.precedent_meta, left.qrels)
    assert not removed & set().union(*map(all_ids, tables))
    # Nothing dangles: what is judged exists.
    known = {row["_id"] for part in tables[:3] for row in part}
    for judgements in (left.qrels or {}).values():
        assert {id_ for query, passage, _ in judgements for id_ in (query, passage)} <= known


def test_removals_are_read(tmp_path: Path) -> None:
    path = tmp_path / "removals.jsonl"
    assert read_removals(path) == {}
    path.write_text('{"_id": "q1", "reason": "asked for"}\n{"_id": "007", "reason": "privacy"}\n')
    assert read_removals(path) == {"q1": "asked for", "007": "privacy"}
    path.write_text('{"_id": "q1", "reason": " "}\n')
    with pytest.raises(FormatError, match=r"removals\.jsonl.*1.*reason"):
        read_removals(path)
    path.write_text('{"_id": "q1"}\n')
    with pytest.raises(FormatError, match="reason"):
        read_removals(path)
    path.write_text('{"_id": "q1", "reason": "a"}\n{"_id": "q1", "reason": "b"}\n')
    with pytest.raises(DuplicateIdError, match="removed twice"):
        read_removals(path)


def test_lists_of_ids() -> None:
    assert [listed(value) for value in (None, "", "a", ["a"], ("a", "b"))] == [[], [], ["a"], ["a"], ["a", "b"]]


def test_the_funnel_counts_everything_once() -> None:
    funnel = Funnel(most=2)
    funnel.drop("dates", "undated", ["q1", "q2", "q3"])
    funnel.drop("dates", "in the future", "q4")
    funnel.drop("dates", "nothing at all", [])
    funnel.keep("dates", 6)
    funnel.keep("links")
    assert funnel.dropped("dates") == 4
    assert funnel.dropped("dates", "undated") == 3
    assert funnel.dropped("never") == 0
    funnel.check("dates", 10)
    with pytest.raises(DataError, match="given 12 records, kept 6 and dropped 4: 2 are lost"):
        funnel.check("dates", 12)
    with pytest.raises(DataError, match="1 are counted twice"):
        funnel.check("dates", 9)
    assert funnel.record() == {
        "dates": {
            "in": 10,
            "kept": 6,
            "dropped": {
                "in the future": {"count": 1, "examples": ["q4"]},
                "undated": {"count": 3, "examples": ["q1", "q2"]},
            },
        },
        "links": {"in": 1, "kept": 1, "dropped": {}},
    }
    assert funnel.lines()[2] == "  - 3 undated (q1, q2, …)"
