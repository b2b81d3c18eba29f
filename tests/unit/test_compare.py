"""compare: several systems on the same queries, one family."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assay.errors import DataError, UnknownNameError, UsageError
from assay.evaluation import compare, evaluate
from assay.measures import parse
from assay.qrels import Qrels
from assay.run import Run


def scores_of(values: dict[str, int], measure: str = "RR@10", clusters=None):
    """Scores over the queries of `values`, 1 / value each; 0 where it is 0."""
    run = Run.of({q: {"rel" if i + 1 == v else f"x{i}": -float(i) for i in range(v)} for q, v in values.items()})
    return evaluate(run, Qrels.of([(q, "rel", 1) for q in values]), [parse(measure)], resamples=20, clusters=clusters)[
        0
    ]


GOOD = {f"q{i}": 1 for i in range(6)}
POOR = {f"q{i}": 2 for i in range(6)}


def test_all_pairs_are_one_family():
    family = compare({"a": scores_of(GOOD), "b": scores_of(POOR), "c": scores_of(GOOD)}, resamples=50)
    pairs = {(c.first, c.second): c for c in family.comparisons}
    assert list(pairs) == [("a", "b"), ("a", "c"), ("b", "c")]
    ab, ac = pairs["a", "b"], pairs["a", "c"]
    assert (ab.test.difference, ab.test.wins, ab.test.ties, ab.test.losses) == (0.5, 6, 0, 0)
    assert (ab.test.p, ab.p_adjusted) == (2 / 64, 6 / 64)
    assert (ac.test.p, ac.p_adjusted, ac.test.ties) == (1.0, 1.0, 6)
    assert family.correction == "holm"


def test_asking_for_fewer_pairs_corrects_for_fewer():
    scores = {"a": scores_of(GOOD), "b": scores_of(POOR), "c": scores_of(GOOD)}
    [only] = compare(scores, pairs=[("b", "a")], resamples=50).comparisons
    assert (only.first, only.test.difference, only.p_adjusted) == ("b", -0.5, 2 / 64)


def test_values_are_matched_by_query_id():
    ranks = {"q1": 1, "q2": 2, "q3": 4, "q4": 0}
    other = dict(reversed(ranks.items()))
    test = compare({"a": scores_of(ranks), "b": scores_of(other)}, resamples=50).comparisons[0].test
    assert (test.wins, test.ties, test.losses, test.difference) == (0, 4, 0, 0.0)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ({"q1": 1, "q2": 1}, {"q1": 1}, "1 are scored for a alone, 0 for b alone (such as 'q2' for a)"),
        ({"q1": 1}, {"q1": 1, "q3": 1, "q2": 1}, "0 are scored for a alone, 2 for b alone (such as 'q3' for b)"),
    ],
)
def test_different_queries_are_refused(first, second, words):
    with pytest.raises(DataError) as caught:
        compare({"a": scores_of(first), "b": scores_of(second)})
    assert words in str(caught.value)


def test_different_measures_are_refused():
    with pytest.raises(UsageError, match=r"different measures.*R@10, RR@10"):
        compare({"a": scores_of(GOOD), "b": scores_of(GOOD, "R@10")})


def test_one_system_is_no_comparison():
    with pytest.raises(UsageError, match="at least 2 systems, there are 1"):
        compare({"a": scores_of(GOOD)})


def test_an_unknown_name_in_a_pair_is_refused():
    with pytest.raises(UnknownNameError, match="'bm26'; did you mean 'bm25'"):
        compare({"bm25": scores_of(GOOD), "dense": scores_of(GOOD)}, pairs=[("bm26", "dense")])


def test_the_unit_is_the_cluster_that_the_scores_hold():
    clusters = np.array([0, 0, 0, 1, 1, 1])
    scores = {"a": scores_of(GOOD, clusters=clusters), "b": scores_of(POOR, clusters=clusters)}
    test = compare(scores, resamples=50).comparisons[0].test
    assert (test.units, test.n, test.p) == (2, 6, 0.5)
    independent = {name: replace(one, clusters=None) for name, one in scores.items()}
    assert compare(independent, resamples=50).comparisons[0].test.units == 6
    assert compare(independent, clusters=clusters, resamples=50).comparisons[0].test.units == 2
