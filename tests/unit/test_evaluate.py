"""evaluate: means over all judged queries, what is counted beside them, ties, bounds and reach."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tiny
from assay.errors import DataError, UsageError
from assay.evaluation import Reach, evaluate, judge, only_eligible, reach_of, unjudged_queries
from assay.ids import Ids
from assay.measures import parse
from assay.qrels import Qrels
from assay.run import Run
from assay.scores import Scores
from assay.texts import Texts


def scored(run, qrels, *names: str, **rest) -> dict[str, Scores]:
    """Scores by the names asked for; few resamples, for no test here looks at an interval."""
    found = evaluate(run, qrels, [parse(name) for name in names], resamples=rest.pop("resamples", 20), **rest)
    return dict(zip(names, found))


def run_of(*triples, **rest) -> Run:
    return Run.of(list(triples), **rest)


# The mean and its counts


def test_case_Q01():
    run = run_of(("q1", "a", 1.0), ("q2", "x", 2.0), ("q2", "b", 1.0))
    scores = scored(run, Qrels.of([("q1", "a", 1), ("q2", "b", 1), ("q3", "c", 1)]), "RR")["RR"]
    assert scores.mean == 0.5
    assert scores.value.tolist() == [1.0, 0.5, 0.0]
    assert (scores.counts.queries, scores.counts.missing, scores.counts.empty) == (3, 1, 0)


def test_case_Q02():
    with pytest.raises(DataError, match=r"'12'.*'12\.1'"):
        scored(run_of(("12", "a", 1.0)), Qrels.of([("12.1", "a", 1)]), "RR")


def test_a_run_without_any_query_scores_0():
    scores = scored(Run.of([]), Qrels.of([("q", "a", 1)]), "RR")["RR"]
    assert (scores.mean, scores.counts.missing) == (0.0, 1)


def test_qrels_without_a_query_are_refused():
    with pytest.raises(DataError, match="no query"):
        scored(run_of(("q", "a", 1.0)), Qrels.of([]), "RR")


def test_case_Q04():
    found = scored(
        run_of(("q1", "a", 1.0), ("q2", "b", 1.0)), Qrels.of([("q1", "a", 1), ("q2", "b", 0)]), "nDCG", "AP", "P@1"
    )
    for scores in found.values():
        assert scores.mean == 0.5
        assert scores.counts.queries == 2
        assert scores.counts.without_relevant == 1
        assert scores.extras["mean_with_relevant"] == 1.0


def test_without_relevant_goes_by_the_measures_own_grade():
    found = scored(run_of(("q", "a", 1.0)), Qrels.of([("q", "a", 1)]), "R(rel=2)@10", "R@10")
    assert [scores.counts.without_relevant for scores in found.values()] == [1, 0]
    assert "mean_with_relevant" not in found["R(rel=2)@10"].extras


def test_case_Q05():
    found = scored(Run.of({"q": {}}), Qrels.of([("q", "a", 1)]), "RR", "nDCG", "R@10")
    for scores in found.values():
        assert (scores.mean, scores.counts.empty, scores.counts.missing) == (0.0, 1, 0)


def test_case_Q06():
    run, qrels = run_of(("q1", "a", 1.0), ("q2", "b", 1.0)), Qrels.of([("q1", "a", 1)])
    scores = scored(run, qrels, "nDCG")["nDCG"]
    assert (scores.mean, scores.counts.queries, scores.counts.extra) == (1.0, 1, 1)
    assert unjudged_queries(run, qrels) == ["q2"]


def test_case_Q07():
    task = tiny.task_of([("q", "a", 1), ("q", "ghost", 1)], ["a", "b"])
    found = scored(run_of(("q", "a", 1.0)), task.qrels, "nDCG@10", "R@10", reach=reach_of(task))
    assert round(found["nDCG@10"].mean, 4) == 0.6131
    assert round(found["nDCG@10"].extras["reachable"], 4) == 0.6131
    assert found["R@10"].mean == found["R@10"].extras["reachable"] == 0.5
    assert found["R@10"].counts.gold_ineligible == 1


def test_case_A05():
    task = tiny.task_of([("q", "g", 1)], {"g": "2020-06-01", "old": "2019-01-01"}, asked={"q": "2020-01-01"})
    reach = reach_of(task)
    assert reach.eligible.tolist() == [1]
    assert reach.judgement_eligible.tolist() == [False]
    run = only_eligible(run_of(("q", "g", 2.0), ("q", "old", 1.0)), task)
    scores = scored(run, task.qrels, "R@10", reach=reach)["R@10"]
    assert (scores.mean, scores.extras["reachable"], scores.counts.gold_ineligible) == (0.0, 0.0, 1)
    assert (scores.counts.ineligible_removed, scores.counts.without_relevant, scores.counts.open) == (1, 0, 0)


def test_a_judged_query_outside_the_pool_reaches_nothing():
    task = tiny.task_of([("ghost", "a", 1), ("q", "a", 1)], ["a", "b"], queries=["q"])
    reach = reach_of(task)
    assert (reach.eligible.tolist(), reach.judgement_eligible.tolist()) == ([0, 2], [False, True])
    assert scored(run_of(("q", "a", 1.0)), task.qrels, "RR", reach=reach)["RR"].extras["reachable"] == 0.5


def test_unjudged_are_counted_down_to_the_cutoff():
    run = run_of(*[("q", f"p{i}", float(-i)) for i in range(10)], ("r", "x", 1.0))
    qrels = Qrels.of([("q", "p1", 1), ("q", "p4", 0), ("r", "y", 1)])
    found = scored(run, qrels, "R@3", "R@5", "R@100", "RR")
    assert [scores.counts.unjudged for scores in found.values()] == [2 + 1, 3 + 1, 8 + 1, 8 + 1]


def test_means_stand_in_the_order_asked_and_each_over_all_queries():
    run, qrels = run_of(("a", "p", 1.0)), Qrels.of([("a", "p", 1), ("b", "p", 1), ("c", "p", 1)])
    found = evaluate(run, qrels, [parse("RR"), parse("P@1")], resamples=20)
    assert [scores.measure for scores in found] == ["RR", "P@1"]
    assert all(math.isclose(scores.mean, 1 / 3) for scores in found)
    assert all(scores.interval.n == 3 for scores in found)


def test_clusters_are_resampled_and_kept():
    run, qrels = run_of(("a", "p", 1.0)), Qrels.of([("a", "p", 1), ("b", "p", 1), ("c", "p", 1)])
    clusters = np.array([0, 0, 1])
    scores = scored(run, qrels, "RR", clusters=clusters)["RR"]
    assert (scores.interval.unit, scores.interval.units, scores.interval.n) == ("cluster", 2, 3)
    assert scores.clusters is clusters


def test_case_X05():
    qrels = Qrels.of([("q1", "a", 1), *[("q2", f"b{i}", 1) for i in range(4)]])
    found = scored(run_of(("q1", "a", 1.0), ("q2", "b0", 1.0), ("q2", "x", 0.5)), qrels, "R@10", "P@10", "RR@10")
    assert found["R@10"].mean == 0.625
    assert found["R@10"].extras["micro"] == 0.4
    assert found["P@10"].extras["micro"] == 2 / 3
    assert "micro" not in found["RR@10"].extras


# State


def test_case_X01():
    run, qrels = run_of(("q", "a", 2.0), ("q", "z", 1.0)), Qrels.of([("q", "a", 1), ("q", "b", 1)])
    for _ in range(2):
        found = scored(run, qrels, "nDCG@1", "nDCG@2")
        assert [round(scores.mean, 4) for scores in found.values()] == [1.0, 0.6131]


def test_case_L02():
    run = Run.of({"d1": {"d1": 3.0, "d2": 2.0}})
    task = tiny.task_of([("d1", "d2", 1)], ["d1", "d2"], excluded=True)
    before, arrays = run.triples(), [run.offsets.copy(), run.passage.copy(), run.score.copy()]
    values = []
    for _ in range(2):
        kept = only_eligible(run, task)
        values.append([scores.mean for scores in scored(kept, task.qrels, "RR@10", "nDCG@10").values()])
    assert values == [[1.0, 1.0], [1.0, 1.0]]
    assert run.triples() == before
    for now, then in zip([run.offsets, run.passage, run.score], arrays):
        assert np.array_equal(now, then)


def test_case_X03():
    queries, depth = 1000, 1000
    rng = np.random.default_rng(0)
    ids = Ids(Texts.of(f"p{i}" for i in range(5000)))
    asked = Ids(Texts.of(f"q{i}" for i in range(queries)))
    run = Run.ranked(
        asked,
        ids,
        offsets=np.arange(queries + 1, dtype=np.int64) * depth,
        passage=np.concatenate([rng.permutation(5000)[:depth] for _ in range(queries)]).astype(np.int32),
        score=np.tile(np.arange(depth, 0, -1.0) // 2, queries),
    )
    qrels = Qrels.from_columns(
        asked,
        ids,
        query=np.repeat(np.arange(queries), 10),
        passage=np.concatenate([rng.permutation(5000)[:10] for _ in range(queries)]),
        grade=np.tile([1, 0], 5 * queries),
    )
    measures = [parse("nDCG@10"), parse("R@100")]
    peaks = {}
    tracemalloc.start()
    try:
        for call in range(1, 51):
            tracemalloc.reset_peak()
            evaluate(run, qrels, measures, resamples=5)
            peaks[call] = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peaks[50] <= 1.1 * peaks[2]


def test_the_import_loads_nothing_heavy():
    code = "import sys, assay.evaluation; print(sorted({'numba', 'scipy', 'pyarrow', 'msgspec'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


# Ties


TIED = st.lists(
    st.tuples(st.sampled_from(range(6)), st.sampled_from([0.0, 1.0, 2.0])), unique_by=lambda row: row[0], max_size=6
)
GRADES = st.dictionaries(st.sampled_from(range(7)), st.sampled_from([0, 1, 2]), min_size=1)


def all_orders(rows: list[tuple[int, float]]) -> list[list[int]]:
    """Every ranking that the scores allow."""
    groups = [[p for p, s in rows if s == score] for score in sorted({s for _, s in rows}, reverse=True)]
    orders = [[]]
    for group in groups:
        orders = [[*order, *part] for order in orders for part in itertools.permutations(group)]
    return orders


@settings(deadline=None, max_examples=60)
@given(
    lists=st.lists(st.tuples(TIED, GRADES), min_size=1, max_size=3), name=st.sampled_from(["RR", "AP", "nDCG@3", "R@2"])
)
def test_tie_values_are_those_over_all_orders(lists, name):
    run = Run.of({f"q{i}": {str(p): s for p, s in rows} for i, (rows, _) in enumerate(lists)})
    qrels = Qrels.of([(f"q{i}", str(p), g) for i, (_, grades) in enumerate(lists) for p, g in grades.items()])
    scores = scored(run, qrels, name)[name]
    depending = 0
    for i, (rows, _) in enumerate(lists):
        values = []
        for order in all_orders(rows):
            strict = Run.of({f"q{i}": {str(p): float(-place) for place, p in enumerate(order)}})
            values.append(parse(name).score(judge(strict, qrels))[i])
        assert np.isclose(scores.best[i], max(values))
        assert np.isclose(scores.worst[i], min(values))
        assert np.isclose(scores.expected[i], np.mean(values))
        depending += max(values) - min(values) > 1e-12
    assert scores.counts.ties == depending
    assert scores.extras["mean_best"] == math.fsum(scores.best.tolist()) / len(scores)


# Lists that were cut off


def test_a_list_that_was_cut_off_is_open_and_one_that_ended_is_not():
    run = Run.of({"full": {"x": 3.0, "y": 2.0}, "short": {"x": 1.0}})
    qrels = Qrels.of([("full", "a", 1), ("short", "a", 1), ("missing", "a", 1)])
    scores = scored(run, qrels, "RR@10")["RR@10"]
    assert scores.counts.open == 1
    assert scores.upper.tolist() == [1 / 3, 0.0, 0.0]
    assert math.isclose(scores.extras["mean_upper"], 1 / 9)


def test_open_needs_a_relevant_passage_that_could_change_the_value():
    run = Run.of({"q": {"a": 3.0, "x": 2.0}}, depth=2)
    qrels = Qrels.of([("q", "a", 1), ("q", "b", 1)])
    found = scored(run, qrels, "RR@10", "R@10", "R@2")
    assert [scores.counts.open for scores in found.values()] == [0, 1, 0]
    assert [scores.upper.tolist() for scores in found.values()] == [[1.0], [1.0], [0.5]]


def test_open_needs_eligible_passages_outside_the_list():
    run = Run.of({"q": {"x": 3.0, "y": 2.0}}, depth=2)
    qrels = Qrels.of([("q", "a", 1), ("q", "b", 2)])
    for outside, upper in [(0, 0.0), (1, 0.5), (2, 1.0), (9, 1.0)]:
        reach = Reach(np.array([2 + outside]), np.array([True, True]))
        scores = scored(run, qrels, "R@10", reach=reach)["R@10"]
        assert (scores.counts.open, scores.upper.tolist()) == (int(upper > 0), [upper])
    reach = Reach(np.array([9]), np.array([True, False]))
    assert scored(run, qrels, "R@10", reach=reach)["R@10"].upper.tolist() == [0.5]


def test_a_list_that_shrank_by_the_filter_is_open():
    task = tiny.task_of(
        [("q", "old", 1)], {"new": "2024-05-01", "old": "2023-01-01", "older": "2022-01-01"}, asked={"q": "2024-03-01"}
    )
    cut_off = only_eligible(run_of(("q", "new", 2.0), ("q", "older", 1.0), depth=2), task)
    scores = scored(cut_off, task.qrels, "RR@10", reach=reach_of(task))["RR@10"]
    assert (scores.counts.open, scores.upper.tolist()) == (1, [0.5])
    ended = only_eligible(run_of(("q", "new", 2.0), ("q", "older", 1.0), depth=3), task)
    scores = scored(ended, task.qrels, "RR@10", reach=reach_of(task))["RR@10"]
    assert (scores.counts.open, scores.upper.tolist()) == (0, [0.0])


def test_a_measure_that_is_not_bounded_has_no_upper_value():
    run = Run.of({"q": {"x": 3.0}}, depth=1)
    for name in ("bpref", "Judged@10", "RBP"):
        scores = scored(run, Qrels.of([("q", "a", 1)]), name)[name]
        assert (scores.upper, scores.counts.open) == (None, 0)
        assert "mean_upper" not in scores.extras


@settings(deadline=None, max_examples=80)
@given(
    shown=st.permutations(range(6)),
    depth=st.integers(1, 5),
    grades=GRADES,
    name=st.sampled_from(["RR@4", "AP", "nDCG@4", "R@3", "P@4", "Success@3"]),
)
def test_upper_is_the_best_of_all_continuations(shown, depth, grades, name):
    """The whole collection is passages 0 to 5; every order of what the list lacks could have followed."""
    grades = {p: g for p, g in grades.items() if p < 6} or {0: 1}
    qrels = Qrels.of([("q", str(p), g) for p, g in grades.items()])
    run = Run.of({"q": {str(p): float(-place) for place, p in enumerate(shown[:depth])}}, depth=depth)
    reach = Reach(np.array([6]), np.ones(len(qrels), bool))
    scores = scored(run, qrels, name, reach=reach)[name]
    orders = [[*shown[:depth], *rest] for rest in itertools.permutations(shown[depth:])]
    runs = [Run.of({"q": {str(p): float(-place) for place, p in enumerate(order)}}) for order in orders]
    best = max(parse(name).score(judge(one, qrels))[0] for one in runs)
    assert math.isclose(scores.upper[0], best)
    assert scores.counts.open == int(best > scores.mean + 1e-12)


def test_a_reach_of_other_qrels_is_refused():
    with pytest.raises(UsageError, match="does not fit"):
        scored(
            run_of(("q", "a", 1.0)), Qrels.of([("q", "a", 1)]), "RR", reach=Reach(np.array([1, 1]), np.array([True]))
        )


def test_reachable_is_what_the_ideal_list_of_eligible_passages_gets():
    task = tiny.task_of(
        [("q", "a", 1), ("q", "b", 2), ("q", "c", 0), ("r", "a", 1)],
        {"a": "2020-01-01", "b": "2022-01-01", "c": "2020-01-01"},
        asked={"q": "2021-01-01", "r": "2019-01-01"},
    )
    found = scored(Run.of({"q": {"a": 1.0}}), task.qrels, "nDCG@10", "RR", "P@2", reach=reach_of(task))
    assert math.isclose(found["nDCG@10"].extras["reachable"], 0.5 * 1 / (2 + 1 / math.log2(3)))
    assert found["RR"].extras["reachable"] == 0.5
    assert found["P@2"].extras["reachable"] == 0.25
