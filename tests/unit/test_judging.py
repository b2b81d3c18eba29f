"""Reading a run against judgements: both forms of the kernel, and what `judge` makes of its rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.evaluation.judge import judge
from assay.ids import Ids
from assay.kernels import judging
from assay.qrels import Qrels
from assay.run import Run
from assay.texts import Texts


def by_definition(run: Run, qrels: Qrels) -> tuple[list, list, list]:
    """Hits, lengths and hits beyond the depth, from strings and loops."""
    lists: dict[str, list[tuple[str, float]]] = {q: [] for q in run.queries}
    for query, passage, score in run.triples():
        lists[query].append((passage, score))
    grades = {(q, p): g for q, p, g in qrels.triples()}
    hits, lengths, beyond = [], [], []
    for row, query in enumerate(qrels.queries):
        ranked = lists.get(query, [])
        length = len(ranked) if run.depth is None else min(run.depth, len(ranked))
        lengths.append(length)
        for rank, (passage, score) in enumerate(ranked, start=1):
            if (query, passage) not in grades:
                continue
            same = [r for r, (_, other) in enumerate(ranked, start=1) if other == score]
            hit = (row, rank, grades[query, passage], same[0], same[-1])
            if rank <= length:
                hits.append(hit)
            elif same[0] <= length:
                beyond.append(hit)
    return hits, lengths, beyond


def columns(hits) -> list[tuple[int, ...]]:
    arrays = (hits.query, hits.rank, hits.grade, hits.first, hits.last)
    return list(zip(*(array.tolist() for array in arrays), strict=True))


@st.composite
def runs_and_qrels(draw):
    queries, passages = [f"q{i}" for i in range(4)], [f"p{i}" for i in range(9)]
    results = {
        query: draw(st.dictionaries(st.sampled_from(passages), st.sampled_from([0.0, -0.0, 1.0, 2.5]), max_size=9))
        for query in draw(st.lists(st.sampled_from([*queries, "extra"]), unique=True))
    }
    pairs = st.tuples(st.sampled_from([*queries, "lost"]), st.sampled_from([*passages, "ghost"]))
    judgements = draw(st.dictionaries(pairs, st.integers(-1, 3)))
    run = Run.of(results, depth=draw(st.none() | st.integers(1, 9)))
    return run, Qrels.of((q, p, g) for (q, p), g in judgements.items())


@given(runs_and_qrels())
def test_judge_is_its_definition(case):
    run, qrels = case
    judged = judge(run, qrels)
    hits, lengths, beyond = by_definition(run, qrels)
    assert columns(judged.hits) == hits
    assert judged.lengths.tolist() == lengths
    assert columns(judged.beyond) == beyond
    ideal = [sorted((g for q, _, g in qrels.triples() if q == query), reverse=True) for query in qrels.queries]
    assert judged.judged_grades.tolist() == [grade for grades in ideal for grade in grades]
    assert judged.ideal_rank.tolist() == [rank for grades in ideal for rank in range(1, len(grades) + 1)]


@settings(max_examples=60, deadline=None)
@given(runs_and_qrels(), st.integers(1, 3))
def test_both_forms_of_the_kernel_are_equal(case, threads):
    run, qrels = case
    given_ = {
        "lists": run.queries.codes(qrels.queries).astype(np.int64),
        "judged_offsets": qrels.offsets,
        "judged": run.passages.codes(qrels.passages)[qrels.passage],
        "passages": len(run.passages),
    }
    plain = judging.judged_rows_numpy(run.offsets, run.passage, run.score, **given_)
    compiled = judging.judged_rows_compiled(run.offsets, run.passage, run.score, threads=threads, **given_)
    for one, other in zip(plain, compiled, strict=True):
        assert one.dtype == other.dtype == np.int64
        assert one.tolist() == other.tolist()


@pytest.mark.parametrize("judgements", [2, 40])
def test_both_forms_are_equal_on_long_lists(judgements):
    random = np.random.default_rng(judgements)
    queries, depth, passages = 50, 700, 2000
    passage = np.concatenate([random.permutation(passages)[:depth] for _ in range(queries)]).astype(np.int32)
    score = np.sort(random.integers(0, 90, (queries, depth)), axis=1)[:, ::-1].astype(np.float64).ravel()
    judged = np.concatenate([random.permutation(passages)[:judgements] for _ in range(queries)]).astype(np.int32)
    judged[random.random(len(judged)) < 0.1] = -1
    given_ = {
        "lists": random.permutation(np.append(np.arange(queries - 1), -1)),
        "judged_offsets": np.arange(queries + 1) * judgements,
        "judged": judged,
        "passages": passages,
    }
    offsets = np.arange(queries + 1) * depth
    plain = judging.judged_rows_numpy(offsets, passage, score, **given_)
    assert len(plain[0]) > queries * judgements // 10
    for threads in (1, 2, 5):
        compiled = judging.judged_rows_compiled(offsets, passage, score, threads=threads, **given_)
        for one, other in zip(plain, compiled, strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_large_run_takes_the_compiled_form(monkeypatch):
    asked = []
    monkeypatch.setattr(judging, "SMALL_ROWS", 2)
    monkeypatch.setattr(
        judging, "judged_rows_compiled", lambda *a, **k: asked.append("compiled") or judging.judged_rows_numpy(*a, **k)
    )
    qrels = Qrels.of([("q", "a", 1)])
    judge(Run.of([("q", "a", 1.0), ("q", "b", 2.0)]), qrels)
    assert asked == []
    judge(Run.of([("q", "a", 1.0), ("q", "b", 2.0), ("q", "c", 3.0)]), qrels)
    assert asked == ["compiled"]


def test_the_same_ids_need_no_text():
    """Shared id tables are joined by code: the texts are not read."""

    class Mute(Texts):
        def first_rows_in(self, other):
            raise AssertionError("texts were compared")

    ids = Ids(Mute(Texts.of(["a", "b"]).buffer, Texts.of(["a", "b"]).offsets))
    run = Run.ranked(
        ids, ids, offsets=np.array([0, 1, 2]), passage=np.array([1, 0], np.int32), score=np.array([1.0, 2.0])
    )
    qrels = Qrels.from_columns(ids, ids, query=np.array([0, 1]), passage=np.array([1, 1]), grade=np.array([1, 1]))
    assert columns(judge(run, qrels).hits) == [(0, 1, 1, 1, 1)]


def test_only_what_ties_with_the_last_rank_is_beyond():
    scores = {"a": 5.0, "b": 4.0, "c": 4.0, "d": 4.0, "e": 1.0}
    judged = judge(Run.of({"q": scores}, depth=2), Qrels.of([("q", p, 1) for p in "abcde"]))
    assert judged.lengths.tolist() == [2]
    assert columns(judged.hits) == [(0, 1, 1, 1, 1), (0, 2, 1, 2, 4)]
    assert columns(judged.beyond) == [(0, 3, 1, 2, 4), (0, 4, 1, 2, 4)]


def test_nothing_at_all():
    judged = judge(Run.of([]), Qrels.of([]))
    assert (len(judged), len(judged.hits), judged.relevant().tolist()) == (0, 0, [])
    judged = judge(Run.of([]), Qrels.of([("q", "a", 1)]))
    assert (judged.lengths.tolist(), len(judged.hits), judged.relevant().tolist()) == ([0], 0, [1])
    judged = judge(Run.of([("q", "a", 1.0)]), Qrels.of([]))
    assert (len(judged), len(judged.hits)) == (0, 0)
