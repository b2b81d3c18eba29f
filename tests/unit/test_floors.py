"""Floors and ceilings: random, constant, recency, popularity, oracle."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tiny
from assay.errors import UnknownNameError, UsageError
from assay.evaluation import (
    constant_run,
    evaluate,
    floors,
    judge,
    oracle_run,
    popularity_run,
    random_expectation,
    random_run,
    reach_of,
    recency_run,
)
from assay.measures import parse
from assay.qrels import Qrels


def shown(run) -> dict[str, list[str]]:
    lists: dict[str, list[str]] = {query: [] for query in run.queries}
    for query, passage, _ in run.triples():
        lists[query].append(passage)
    return lists


def assert_eligible(run, task):
    query = np.repeat(np.arange(len(run.queries)), np.diff(run.offsets))
    assert run.queries == task.queries.ids
    assert task.eligibility.allows(query, run.passage).all()


EVERY = [lambda t: random_run(t, seed=1), constant_run, oracle_run, recency_run, popularity_run]


@pytest.mark.parametrize("made", EVERY)
@pytest.mark.parametrize("depth", [1, 3, 100])
def test_every_floor_answers_all_queries_with_eligible_passages_alone(made, depth):
    task = tiny.dated_task(depth=depth)
    run = made(task)
    assert_eligible(run, task)
    assert (run.depth, run.lengths.max()) == (depth, min(depth, run.lengths.max()))


@pytest.mark.parametrize("made", [lambda t: random_run(t, seed=1), constant_run, oracle_run])
def test_floors_without_dates_work_on_chunks_and_exclude_the_query_itself(made):
    run = made(tiny.chunk_task())
    assert run.queries == tiny.chunk_task().queries.ids
    task = tiny.task_of([("a", "b", 1), ("b", "a", 1)], ["a", "b", "c"], excluded=True)
    assert_eligible(made(task), task)
    assert all(query not in found for query, found in shown(made(task)).items())


# Random


def test_random_shows_all_eligible_passages_once_where_there_are_few():
    task = tiny.task_of([("a", "b", 1), ("b", "c", 1)], ["a", "b", "c"], excluded=True)
    lists = shown(random_run(task, seed=5))
    assert {q: sorted(found) for q, found in lists.items()} == {"a": ["b", "c"], "b": ["a", "c"]}


def test_random_depends_on_the_seed_alone():
    task = tiny.chunk_task(depth=5)
    assert random_run(task, seed=1).triples() == random_run(task, seed=1).triples()
    assert random_run(task, seed=1).triples() != random_run(task, seed=2).triples()
    with pytest.raises(UsageError, match="at least 0"):
        random_run(task, seed=-1)


def test_random_draws_every_passage_equally_often():
    task = tiny.task_of([(f"q{i}", "p0", 1) for i in range(2000)], [f"p{i}" for i in range(5)], depth=2)
    drawn = Counter(passage for _, passage, _ in random_run(task, seed=0).triples())
    assert all(abs(n - 800) < 100 for n in drawn.values())
    first = Counter(found[0] for found in shown(random_run(task, seed=0)).values())
    assert all(abs(n - 400) < 80 for n in first.values())


def test_the_expectation_of_one_among_four():
    task = tiny.task_of([("q", "a", 1)], ["a", "b", "c", "d"])
    assert np.allclose(random_expectation(task, parse("RR")), 25 / 48)
    assert np.allclose(random_expectation(task, parse("RR"), depth=2), (1 + 1 / 2) / 4)
    assert np.allclose(random_expectation(task, parse("R@2")), 0.5)


@pytest.mark.parametrize("depth", [1, 4, 100])
def test_the_expectation_is_the_mean_over_many_random_runs(depth):
    task = tiny.dated_task(depth=depth)
    drawn = [judge(random_run(task, seed=seed), task.qrels) for seed in range(1000)]
    for name in ("RR@10", "nDCG@10", "R@5", "AP", "P@3", "Success@4"):
        found = [parse(name).score(judged) for judged in drawn]
        spread = np.std(found, axis=0) / math.sqrt(len(found))
        difference = np.abs(np.mean(found, axis=0) - random_expectation(task, parse(name)))
        assert (difference < 5 * spread + 1e-9).all(), name


def test_the_expectation_of_what_is_out_of_reach_is_0():
    dates = {"new": "2022-01-01", "old": "2020-01-01"}
    task = tiny.task_of([("q", "new", 1), ("ghost", "old", 1)], dates, queries=["q"], asked={"q": "2021-01-01"})
    assert random_expectation(task, parse("R@10")).tolist() == [0.0, 0.0]


# Oracle


def test_the_oracle_gets_what_is_reachable():
    task = tiny.task_of(
        [("q", "a", 1), ("q", "b", 2), ("q", "c", 0), ("q", "ghost", 3), ("r", "a", 1), ("s", "b", 1)],
        {"a": "2020-01-01", "b": "2022-01-01", "c": "2020-01-01"},
        asked={"q": "2023-01-01", "r": "2021-01-01", "s": "2021-01-01"},
    )
    run = oracle_run(task)
    assert shown(run) == {"q": ["b", "a"], "r": ["a"], "s": []}
    for scores in evaluate(run, task.qrels, [parse("nDCG@10"), parse("R@10")], reach=reach_of(task), resamples=20):
        assert scores.mean == scores.extras["reachable"] < 1


# Recency


def test_recency_shows_the_newest_eligible_first_and_ties_by_day():
    dates = {"a": "2020-01-02", "b": "2020-01-01", "c": "2020-01-02", "d": "2020-01-05", "e": "2020-01-03", "u": None}
    task = tiny.task_of([("q", "a", 1), ("r", "a", 1)], dates, asked={"q": "2020-01-05", "r": "2020-01-02"})
    assert shown(recency_run(task)) == {"q": ["e", "c", "a", "b"], "r": ["b"]}
    run = recency_run(task, depth=2)
    assert shown(run) == {"q": ["e", "c", "a"], "r": ["b"]}
    assert run.lengths.tolist() == [2, 1]


def test_recency_without_an_as_of_rule_puts_undated_passages_last():
    task = tiny.task_of([("q", "a", 1)], {"a": "2020-01-02", "u": None, "b": "2020-01-03"})
    assert shown(recency_run(task)) == {"q": ["b", "a", "u"]}


def test_recency_needs_dates():
    with pytest.raises(UsageError, match="no dates"):
        recency_run(tiny.chunk_task())


# Popularity


def test_popularity_counts_earlier_citations_alone():
    dates = {"a": "2020-01-01", "b": "2020-01-01", "c": "2020-01-20"}
    pairs = [("q1", "a", 1), ("q2", "a", 1), ("q2", "b", 1), ("q3", "b", 1), ("q4", "b", 0), ("q5", "c", 1)]
    asked = {"q1": "2020-01-10", "q2": "2020-01-11", "q3": "2020-01-11", "q4": "2020-01-12", "q5": "2020-01-30"}
    run = popularity_run(tiny.task_of(pairs, dates, asked=asked))
    assert shown(run) == {"q1": [], "q2": ["a"], "q3": ["a"], "q4": ["b", "a"], "q5": ["b", "a"]}
    assert [math.floor(score) for query, _, score in run.triples() if query == "q5"] == [2, 2]


def test_a_citation_is_known_when_the_answer_that_makes_it_is_out():
    """q07 was asked on 10 January 2022 and answered on the 17th; q08 was asked on 7 February."""
    task = tiny.dated_task()
    assert shown(popularity_run(task))["q08"] == ["a03", "a02", "a01"]
    dates = task.passages.dates.copy()
    dates[6] = np.datetime64("2022-02-07")
    late = replace(task, passages=replace(task.passages, dates=dates))
    assert shown(popularity_run(late))["q08"] == ["a02", "a01"]
    dates[6] = np.datetime64("NaT")
    never = replace(task, passages=replace(task.passages, dates=dates))
    assert shown(popularity_run(never))["q12"][-1] == "a03"
    assert {p: math.floor(s) for q, p, s in popularity_run(never).triples() if q == "q12"}["a03"] == 1


def test_popularity_takes_other_splits_along():
    task = tiny.dated_task()
    alone, both = popularity_run(task), popularity_run(task, earlier=[Qrels.of([("q03", "b01", 1), ("q05", "a01", 1)])])
    assert "b01" not in shown(alone)["q06"]
    assert "b01" in shown(both)["q06"]
    assert {p: math.floor(s) for q, p, s in both.triples() if q == "q06"}["a01"] == 1


def test_popularity_needs_an_as_of_rule():
    with pytest.raises(UsageError, match="no as-of rule"):
        popularity_run(tiny.chunk_task())


DAYS = ["2020-01-01", "2020-01-02", "2020-01-03", "2020-01-04"]


@settings(deadline=None, max_examples=100)
@given(
    dates=st.lists(st.sampled_from([*DAYS, None]), min_size=4, max_size=4),
    asked=st.lists(st.sampled_from(DAYS), min_size=4, max_size=4),
    pairs=st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1),
)
def test_popularity_is_equal_to_its_definition_read_pair_by_pair(dates, asked, pairs):
    passages = dict(zip("abcd", dates))
    days = {f"q{i}": day for i, day in enumerate(asked)}
    task = tiny.task_of([(f"q{q}", "abcd"[p], 1) for q, p in sorted(pairs)], passages, asked=days)
    expected = {}
    for query in task.queries.ids:
        counts = Counter("abcd"[p] for q, p in pairs if days[f"q{q}"] < days[query])
        expected[query] = {p: n for p, n in counts.items() if passages[p] is not None and passages[p] < days[query]}
    found: dict[str, dict[str, int]] = {query: {} for query in task.queries.ids}
    for query, passage, score in popularity_run(task).triples():
        found[query][passage] = math.floor(score)
    assert found == expected
    for query, list_ in shown(popularity_run(task, depth=2)).items():
        best = sorted(expected[query], key=lambda p: (expected[query][p], passages[p], p), reverse=True)
        assert list_[:2] == best[:2]


def test_the_newest_come_first_among_equally_cited():
    dates = {"a": "2020-01-01", "b": "2020-01-03", "c": "2020-01-02", "d": "2020-01-02"}
    pairs = [("q", "a", 1), ("q", "b", 1), ("q", "c", 1), ("q", "d", 1), ("p", "a", 1), ("r", "a", 0)]
    task = tiny.task_of(pairs, dates, asked={"p": "2020-02-01", "q": "2020-02-01", "r": "2020-03-01"})
    assert shown(popularity_run(task))["r"] == shown(constant_run(task))["r"] == ["a", "b", "d", "c"]


def test_a_short_list_is_filled_from_far_below():
    dates = {f"p{i:02}": f"2020-01-{28 - i:02}" for i in range(20)}
    pairs = [(f"q{i}", f"p{j:02}", 1) for j in range(20) for i in range(40 - 2 * j)]
    asked = {f"q{i}": "2020-01-10" for i in range(40)}
    task = tiny.task_of(pairs, dates, asked=asked)
    assert shown(constant_run(task, depth=1))["q0"] == ["p19"]


def test_constant_is_one_list_for_all():
    task = tiny.task_of([("q", "a", 1), ("r", "a", 1), ("s", "b", 1), ("t", "c", 0)], ["a", "b", "c"])
    assert shown(constant_run(task)) == {query: ["a", "b"] for query in "qrst"}


def test_one_passage_finds_44_of_59_pairs_of_the_uk_citations(shared_data):
    folder = shared_data / "uk_written_questions" / "session_2023-24"
    pairs = []
    for split in ("train", "dev", "test"):
        for line in (folder / "qrels" / f"cite_{split}.tsv").read_text().splitlines():
            query, _, passage, grade = line.split("\t")
            pairs.append((query, passage, int(grade)))
    records = [json.loads(line) for line in (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()]
    dates = {record["_id"]: record["date"] for record in records}
    task = tiny.task_of(pairs, dates, asked={query: dates[f"{query}-ASW"] for query, _, _ in pairs})
    [constant] = evaluate(constant_run(task), task.qrels, [parse("R@1")], resamples=20)
    (one, found), *_ = Counter(passage for _, passage, _ in pairs).most_common(1)
    assert (len(pairs), found) == (59, 44)
    assert_eligible(constant_run(task), task)
    assert all(found[0] == one for query, found in shown(constant_run(task)).items() if (query, one, 1) in pairs)
    # One query that may not be answered with it gets the next passage, which is its gold.
    assert round(constant.extras["micro"] * len(pairs)) == 45
    [popular] = evaluate(popularity_run(task), task.qrels, [parse("R@1")], resamples=20)
    assert 0 < popular.extras["micro"] < constant.extras["micro"]


# Names


def test_floors_go_by_name():
    task = tiny.dated_task()
    for text in ("random", "random(seed=3)", " random( seed = 3 ) ", "oracle", "recency", "popularity()", "constant"):
        assert_eligible(floors.named(text)(task), task)
    assert floors.named("random(seed=3)")(task).triples() == random_run(task, seed=3).triples()
    with pytest.raises(UnknownNameError, match="did you mean 'oracle'"):
        floors.named("oracel")
    for wrong in ("oracle(seed=1)", "random(depth=3)", "random(seed=x)", "oracle)"):
        with pytest.raises(UsageError):
            floors.named(wrong)
