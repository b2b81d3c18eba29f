"""Runs: ranked once, checked, and never changed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import DuplicateIdError, ScoreError
from assay.qrels import Qrels
from assay.run import Run

results = st.dictionaries(
    st.text("qrst", min_size=1, max_size=2),
    st.dictionaries(
        st.text("abé中", min_size=1, max_size=2), st.sampled_from([-1.0, 0.0, 0.5, 0.5000000001, 2.0]), max_size=6
    ),
    max_size=4,
)


@given(results)
def test_the_order_is_score_then_id_both_descending(found: dict[str, dict[str, float]]) -> None:
    want = [
        (q, p, s)
        for q in found
        for p, s in sorted(found[q].items(), key=lambda item: (item[1], item[0].encode()), reverse=True)
    ]
    assert Run.of(found).triples() == want


@given(results, st.integers(1, 3))
def test_cut_keeps_the_depth_and_only_ties_stand_past_it(found: dict[str, dict[str, float]], depth: int) -> None:
    run = Run.of(found, depth=depth)
    cut = run.cut()
    assert cut.lengths.tolist() == [min(depth, len(found[q])) for q in found]
    assert [t[1] for t in cut.triples()] == [
        p for q in found for p, _ in sorted(found[q].items(), key=lambda i: (i[1], i[0].encode()), reverse=True)[:depth]
    ]


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -float("inf")])
def test_a_score_that_is_no_number_is_refused(score: float) -> None:
    with pytest.raises(ScoreError, match=r"score of \(q, b\)"):
        Run.of([("q", "a", 1.0), ("q", "b", score)])


def test_a_passage_stands_once_in_a_list() -> None:
    with pytest.raises(DuplicateIdError, match="passage 'a' stands twice for query 'q2'"):
        Run.of([("q1", "a", 1.0), ("q2", "a", 1.0), ("q2", "a", 2.0)])


def test_a_run_does_not_change() -> None:
    run = Run.of([("q", "a", 1.0)])
    with pytest.raises(dataclasses.FrozenInstanceError):
        run.depth = 3  # type: ignore[misc]


def test_an_empty_list_is_an_answer_and_a_missing_query_is_none() -> None:
    run = Run.of({"q1": {}, "q2": {"a": 1.0}})
    assert list(run.queries) == ["q1", "q2"]
    assert run.lengths.tolist() == [0, 1]


def test_qrels_keep_order_and_refuse_a_pair_judged_twice() -> None:
    qrels = Qrels.of([("q2", "a", 1), ("q1", "b", -1), ("q2", "c", 0)])
    assert qrels.triples() == [("q2", "a", 1), ("q2", "c", 0), ("q1", "b", -1)]
    assert qrels.take(np.asarray([1])).triples() == [("q1", "b", -1)]
    with pytest.raises(DuplicateIdError, match="'a' is judged twice for query 'q'"):
        Qrels.of([("q", "a", 1), ("q", "a", 0)])
