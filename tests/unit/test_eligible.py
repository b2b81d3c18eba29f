"""only_eligible: what a given run may show under a task's rule, removed before the cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tiny
from assay.errors import DataError, UsageError
from assay.evaluation import evaluate, only_eligible
from assay.measures import parse
from assay.run import Run


def mean(run: Run, task, name: str) -> float:
    return evaluate(run, task.qrels, [parse(name)], resamples=20)[0].mean


def test_case_A01():
    task = tiny.task_of(
        [("q", "old", 1)],
        {"new1": "2024-05-01", "new2": "2024-04-01", "old": "2023-01-01"},
        asked={"q": "2024-03-01"},
        depth=2,
    )
    given_run = Run.of([("q", "new1", 3.0), ("q", "new2", 2.0), ("q", "old", 1.0)])
    kept = only_eligible(given_run, task)
    assert kept.triples() == [("q", "old", 1.0)]
    assert mean(kept, task, "RR") == 1.0
    assert mean(only_eligible(given_run.to_depth(2), task), task, "RR") == 0.0
    assert kept.counts["ineligible_removed"] == 2
    assert kept.depth == 2


def test_case_T04():
    task = tiny.task_of([("d1", "d1copy", 1)], ["d1copy", "d1", "d9"], excluded=True)
    kept = only_eligible(Run.of([("d1", "d1copy", 1.0), ("d1", "d1", 1.0), ("d1", "d9", 0.2)]), task)
    assert [passage for _, passage, _ in kept.triples()] == ["d1copy", "d9"]
    assert mean(kept, task, "RR") == 1.0


def test_case_L01():
    given_run = Run.of([("d1", "d1", 3.0), ("d1", "d2", 2.0)])
    values = {}
    for name, excluded in (("kept", False), ("removed", True)):
        task = tiny.task_of([("d1", "d2", 1)], ["d1", "d2"], excluded=excluded)
        kept = only_eligible(given_run, task)
        values |= {f"{name}.{m}": round(mean(kept, task, m), 4) for m in ("RR@10", "nDCG@10")}
    assert values == {"kept.RR@10": 0.5, "kept.nDCG@10": 0.6309, "removed.RR@10": 1.0, "removed.nDCG@10": 1.0}


def test_rows_outside_the_collection_are_counted_apart():
    task = tiny.task_of([("q", "a", 1)], {"a": "2020-01-01", "b": "2022-01-01"}, asked={"q": "2021-01-01"})
    kept = only_eligible(Run.of([("q", "ghost", 3.0), ("q", "b", 2.0), ("q", "a", 1.0)]), task)
    assert kept.triples() == [("q", "a", 1.0)]
    assert (kept.counts["ineligible_removed"], kept.counts["unknown_removed"]) == (1, 1)
    assert kept.passages is task.passages.ids


def test_a_run_of_another_collection_is_refused_with_both_forms_of_id():
    task = tiny.task_of([("q", "a-1", 1)], ["a-1", "a-2"])
    with pytest.raises(DataError, match=r"'1'.*'a-1', 'a-2'"):
        only_eligible(Run.of([("q", "1", 1.0), ("q", "2", 0.5)]), task)


def test_an_empty_run_stays_empty():
    task = tiny.task_of([("q", "a", 1)], ["a"])
    assert only_eligible(Run.of({"q": {}}), task).triples() == []
    assert only_eligible(Run.of([]), task).triples() == []


def test_undated_passages_are_never_eligible_as_of():
    task = tiny.task_of([("q", "a", 1)], {"a": "2020-01-01", "undated": None}, asked={"q": "2021-01-01"})
    assert [p for _, p, _ in only_eligible(Run.of({"q": {"undated": 2.0, "a": 1.0}}), task).triples()] == ["a"]


def test_queries_that_are_not_judged_keep_their_rows():
    task = tiny.task_of([("q", "a", 1)], ["a", "b"], queries=["q", "other"])
    run = Run.of([("other", "b", 1.0), ("q", "a", 1.0), ("unheard", "a", 1.0)])
    assert sorted(only_eligible(run, task).triples()) == sorted(run.triples())


def test_a_judged_query_outside_the_pool_loses_its_rows():
    task = tiny.task_of([("q", "a", 1), ("ghost", "a", 1)], ["a"], queries=["q"])
    kept = only_eligible(Run.of([("ghost", "a", 1.0), ("q", "a", 1.0)]), task)
    assert (kept.triples(), kept.counts["ineligible_removed"]) == ([("q", "a", 1.0)], 1)


def test_rows_that_tie_with_the_last_stay_behind_the_cut():
    task = tiny.task_of([("q", "a", 1)], ["a", "b", "c", "d"], depth=2)
    kept = only_eligible(Run.of({"q": {"a": 3.0, "b": 1.0, "c": 1.0, "d": 0.5}}), task)
    assert [p for _, p, _ in kept.triples()] == ["a", "c", "b"]
    assert kept.lengths.tolist() == [2]


def test_the_depth_asked_for_is_at_most_the_runs_own():
    task = tiny.task_of([("q", "a", 1)], ["a", "b", "c"], depth=2)
    run = Run.of({"q": {"a": 3.0, "b": 2.0, "c": 1.0}})
    assert len(only_eligible(run, task)) == 2
    assert len(only_eligible(run, task, depth=3)) == 3
    assert only_eligible(run.to_depth(1), task, depth=3).triples() == [("q", "a", 3.0)]
    with pytest.raises(UsageError, match="at least 1"):
        only_eligible(run, task, depth=0)


def test_counts_add_up_over_two_filters():
    task = tiny.task_of([("q", "a", 1)], ["a", "b"], candidate=np.array([True, False]))
    once = only_eligible(Run.of({"q": {"a": 2.0, "b": 1.0}}), task)
    again = only_eligible(once, task)
    assert again.triples() == once.triples()
    assert again.counts["ineligible_removed"] == 1
    assert again.ended.tolist() == once.ended.tolist()


PASSAGES = [f"p{i}" for i in range(6)]
DAYS = ["2020-01-01", "2020-01-02", "2020-01-03", None]


@settings(deadline=None, max_examples=150)
@given(
    dates=st.lists(st.sampled_from(DAYS), min_size=6, max_size=6),
    asked=st.lists(st.sampled_from(DAYS[:3]), min_size=2, max_size=2),
    candidate=st.lists(st.booleans(), min_size=6, max_size=6),
    lists=st.lists(
        st.dictionaries(st.sampled_from([*PASSAGES, "ghost"]), st.sampled_from([1.0, 2.0, 3.0])), min_size=2, max_size=2
    ),
    depth=st.integers(1, 4),
    excluded=st.booleans(),
)
def test_equal_to_the_rule_read_row_by_row(dates, asked, candidate, lists, depth, excluded):
    queries = ["p0", "p1"]
    task = tiny.task_of(
        [(q, "p2", 1) for q in queries],
        dict(zip(PASSAGES, dates)),
        asked=dict(zip(queries, asked)),
        candidate=np.array(candidate),
        excluded=excluded,
    )
    if all(p == "ghost" for found in lists for p in found):
        lists = [{**found, "p3": 1.0} for found in lists]
    run = Run.of(dict(zip(queries, lists)))
    expected = []
    for q, day, found in zip(queries, asked, lists):
        may = {p: s for p, s in found.items() if p in PASSAGES and candidate[int(p[1])] and not (excluded and p == q)}
        may = {p: s for p, s in may.items() if dates[int(p[1])] is not None and dates[int(p[1])] < day}
        ranking = sorted(may, key=lambda p: (may[p], p), reverse=True)
        expected += [(q, p, may[p]) for i, p in enumerate(ranking) if i < depth or may[p] == may[ranking[depth - 1]]]
    assert only_eligible(run, task, depth=depth).triples() == expected


@settings(deadline=None, max_examples=100)
@given(
    dates=st.lists(st.sampled_from(DAYS), min_size=6, max_size=6),
    asked=st.sampled_from(DAYS[:3]),
    candidate=st.lists(st.booleans(), min_size=6, max_size=6),
)
def test_nested_order_and_counts_are_those_of_the_masks(dates, asked, candidate):
    task = tiny.task_of([("q", "p0", 1)], dict(zip(PASSAGES, dates)), asked={"q": asked}, candidate=np.array(candidate))
    order, count = task.eligibility.nested()
    assert sorted(order[: count[0]].tolist()) == np.flatnonzero(task.eligibility.mask(0)).tolist()
