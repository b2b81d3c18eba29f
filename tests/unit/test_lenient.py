"""lenient(M): equivalent passages count as one answer."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tiny
from assay.errors import UsageError
from assay.evaluation import evaluate, lenient, lenient_scores, only_eligible
from assay.measures import parse
from assay.run import Run


def lenient_mean(run: Run, task, name: str) -> float:
    return lenient_scores(run, task, [parse(name)], resamples=20)[0].mean


def test_case_D04():
    task = tiny.task_of([("q", "ans", 1)], ["ans", "twin"], classes=np.array([0, 0]))
    run = Run.of([("q", "twin", 2.0), ("q", "ans", 1.0)])
    assert evaluate(only_eligible(run, task), task.qrels, [parse("RR@10")], resamples=20)[0].mean == 0.5
    [scores] = lenient_scores(run, task, [parse("RR@10")], resamples=20)
    assert (scores.mean, scores.measure) == (1.0, "lenient(RR@10)")


def test_later_members_leave_the_list():
    task = tiny.task_of([("q", "c", 1)], ["a", "a2", "b", "c"], classes=np.array([0, 0, 2, 3]))
    run = Run.of({"q": {"a": 4.0, "a2": 3.0, "b": 2.0, "c": 1.0}})
    assert [p for _, p, _ in lenient(run, task).run.triples()] == ["a", "b", "c"]
    assert lenient_mean(run, task, "RR") == 1 / 3


def test_the_ideal_is_over_classes():
    task = tiny.task_of([("q", "a", 1), ("q", "a2", 2), ("q", "b", 1)], ["a", "a2", "b"], classes=np.array([0, 0, 2]))
    folded = lenient(Run.of({"q": {"a": 2.0}}), task)
    assert sorted(folded.qrels.triples()) == [("q", "a", 2), ("q", "b", 1)]
    assert lenient_mean(Run.of({"q": {"a": 2.0}}), task, "R@10") == 0.5
    assert lenient_mean(Run.of({"q": {"a": 2.0, "a2": 1.5, "b": 1.0}}), task, "nDCG@10") == 1.0


def test_only_eligible_members_are_credited():
    dates = {"new": "2022-01-01", "old": "2020-01-01", "other": "2020-01-01"}
    task = tiny.task_of([("q", "new", 1)], dates, asked={"q": "2021-01-01"}, classes=np.array([0, 0, 2]))
    assert lenient_mean(Run.of({"q": {"new": 3.0, "other": 2.0}}), task, "RR") == 0.0
    [scores] = lenient_scores(Run.of({"q": {"new": 3.0, "other": 2.0, "old": 1.0}}), task, [parse("RR")], resamples=20)
    assert (scores.mean, scores.counts.gold_ineligible, scores.extras["reachable"]) == (0.5, 0, 1.0)
    apart = replace(task, classes=np.array([0, 1, 2]))
    [scores] = lenient_scores(Run.of({"q": {"old": 1.0}}), apart, [parse("RR")], resamples=20)
    assert (scores.mean, scores.counts.gold_ineligible, scores.extras["reachable"]) == (0.0, 1, 0.0)


def test_the_query_itself_is_no_member():
    task = tiny.task_of([("d1", "d2", 1)], ["d1", "d2", "d3"], classes=np.array([0, 0, 2]), excluded=True)
    folded = lenient(Run.of({"d1": {"d1": 3.0, "d3": 2.0, "d2": 1.0}}), task)
    assert [p for _, p, _ in folded.run.triples()] == ["d3", "d2"]
    assert (folded.reach.eligible.tolist(), folded.reach.judgement_eligible.tolist()) == ([2], [True])
    alone = tiny.task_of([("d1", "d3", 1)], ["d1", "d3"], classes=np.array([0, 1]), excluded=True)
    assert lenient(Run.of({"d1": {"d3": 1.0}}), alone).reach.eligible.tolist() == [1]


def test_judged_passages_outside_the_collection_stay_in_the_denominator():
    task = tiny.task_of([("q", "a", 1), ("q", "ghost", 1), ("q", "ghoul", 1)], ["a", "b"], classes=np.array([0, 0]))
    [scores] = lenient_scores(Run.of({"q": {"b": 1.0}}), task, [parse("R@10")], resamples=20)
    assert scores.mean == 1 / 3
    assert (scores.counts.gold_ineligible, scores.counts.unjudged) == (2, 0)


def test_a_list_shortened_by_the_fold_is_open_where_the_given_one_was_cut_off():
    task = tiny.task_of([("q", "b", 1)], ["a", "a2", "b"], classes=np.array([0, 0, 2]), depth=2)
    run = Run.of({"q": {"a": 2.0, "a2": 1.0}}, depth=2)
    [scores] = lenient_scores(run, task, [parse("RR@10")], resamples=20)
    assert (scores.counts.open, scores.upper.tolist()) == (1, [0.5])


def test_a_task_without_equivalents_is_refused():
    task = tiny.task_of([("q", "a", 1)], ["a"])
    with pytest.raises(UsageError, match="declares no equivalent passages"):
        lenient(Run.of({"q": {"a": 1.0}}), task)


def test_the_dated_task_is_scored_by_its_clusters():
    task = tiny.dated_task()
    run = Run.of([(q, p, float(g)) for q, p, g in task.qrels.triples()])
    [scores] = lenient_scores(run, task, [parse("R@10")], resamples=20)
    assert (scores.mean, scores.interval.unit, scores.interval.units) == (1.0, "cluster", 7)


@settings(deadline=None, max_examples=150)
@given(
    classes=st.lists(st.integers(0, 3), min_size=5, max_size=5),
    shown=st.permutations(range(5)),
    depth=st.integers(0, 5),
    grades=st.dictionaries(st.integers(0, 4), st.sampled_from([0, 1, 2]), min_size=1),
    dates=st.lists(st.sampled_from(["2020-01-01", "2022-01-01", None]), min_size=5, max_size=5),
    excluded=st.booleans(),
)
def test_equal_to_the_definition_read_passage_by_passage(classes, shown, depth, grades, dates, excluded):
    ids = [f"p{i}" for i in range(5)]
    task = tiny.task_of(
        [("p0", ids[p], g) for p, g in grades.items()],
        dict(zip(ids, dates)),
        asked={"p0": "2021-01-01"},
        classes=np.array(classes),
        excluded=excluded,
    )
    run = Run.of({"p0": {ids[p]: float(-i) for i, p in enumerate(shown[:depth])}})
    may = [p for p in range(5) if dates[p] == "2020-01-01" and not (excluded and p == 0)]
    gain: dict[int, int] = {}
    for p, grade in grades.items():
        gain[classes[p]] = max(grade, gain.get(classes[p], -1))
    ranking = list(dict.fromkeys(classes[p] for p in shown[:depth] if p in may))
    ideal = sorted(gain.values(), reverse=True)
    dcg = sum(gain.get(c, 0) / math.log2(i + 2) for i, c in enumerate(ranking))
    best = sum(g / math.log2(i + 2) for i, g in enumerate(ideal))
    [scores] = lenient_scores(run, task, [parse("nDCG")], resamples=20)
    assert math.isclose(scores.mean, dcg / best if best else 0.0)
    folded = lenient(run, task)
    assert folded.reach.eligible.tolist() == [len({classes[p] for p in may})]
    reached = {c for c in gain if any(classes[p] == c for p in may)}
    assert int(folded.reach.judgement_eligible.sum()) == len(reached)
    assert folded.run.lengths.tolist() == [len(ranking)]
