from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from assay.errors import DataError, ScoreError, UnknownNameError, UsageError
from assay.evaluation.intervals import mean_interval
from assay.evaluation.significance import bonferroni, compare_family, holm, paired_test


def _enumerated_p(differences) -> float:
    observed = abs(sum(differences))
    sums = [
        abs(sum(sign * value for sign, value in zip(signs, differences)))
        for signs in itertools.product((-1, 1), repeat=len(differences))
    ]
    return float(np.mean([total >= observed - 1e-9 for total in sums]))


def test_case_S01():
    p_values = [0.01, 0.02, 0.03, 0.04, 0.05]
    assert bonferroni(p_values) == pytest.approx([0.05, 0.1, 0.15, 0.2, 0.25])
    assert holm(p_values) == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.09])
    with pytest.raises(ScoreError, match=r"1 of 2 .* nan at position 1"):
        holm([0.01, math.nan])
    with pytest.raises(UsageError, match="'base' is paired with itself"):
        compare_family({"base": [0.1], "new": [0.2]}, [("new", "base"), ("base", "base")])


def test_case_S03():
    test = paired_test([0.1, 0.2, 0.3], [0.0, 0.0, 0.0])
    assert (test.p, test.smallest_p, test.exact) == (0.25, 0.25, True)
    assert (test.nonzero_units, test.resamples) == (3, 8)
    assert "too few to conclude" in test.interval.note


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from([-0.5, -0.25, 0.0, 0.1, 0.2, 0.3, 1.0]), min_size=1, max_size=9))
def test_few_differences_are_enumerated(differences):
    test = paired_test(differences, [0.0] * len(differences), resamples=10)
    assert test.exact
    assert test.p == pytest.approx(_enumerated_p(differences))
    assert test.p >= test.smallest_p
    assert test.wins + test.ties + test.losses == test.n == len(differences)


def _pair(n: int, *, effect: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    first = random.beta(0.5, 0.9, n)
    changed = random.random(n) < 0.6
    second = np.where(changed, np.clip(first + effect + 0.1 * random.standard_normal(n), 0, 1), first)
    return first, second


@pytest.mark.parametrize(("n", "effect"), [(12, 0.05), (60, 0.02), (300, 0.01), (300, 0.0)])
def test_p_agrees_with_scipy(n, effect):
    first, second = _pair(n, effect=effect)
    got = paired_test(first, second)
    want = stats.permutation_test(
        (first, second),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=10_000,
        rng=np.random.default_rng(1),
    ).pvalue
    margin = 1e-12 if n == 12 else 5 * math.sqrt(max(want * (1 - want), 1e-4) / 10_000) * 2**0.5
    assert got.p == pytest.approx(want, abs=margin)
    assert got.exact is (n == 12)
    assert got.difference == pytest.approx(np.mean(first - second))


def test_p_of_many_units_counts_the_observed_pattern():
    test = paired_test(np.linspace(0.1, 0.9, 40), np.zeros(40), resamples=999)
    assert (test.p, test.smallest_p, test.resamples, test.exact) == (0.001, 0.001, 999, False)


def test_twenty_units_are_exact_and_twenty_one_are_not():
    values = np.linspace(0.1, 0.9, 21)
    assert paired_test(values[:20], np.zeros(20)).p == 2.0**-19
    assert not paired_test(values, np.zeros(21)).exact
    zeros = np.zeros(500)
    padded = np.concatenate([values[:20], zeros])
    assert paired_test(padded, np.zeros(520)).p == 2.0**-19


def test_equal_within_rounding_is_a_tie():
    first = np.array([0.1 + 0.2, 0.5, 0.7])
    test = paired_test(first, [0.3, 0.5, 0.7])
    assert (test.p, test.wins, test.ties, test.losses) == (1.0, 0, 3, 0)
    assert (test.nonzero_units, test.smallest_p, test.difference) == (0, 1.0, 0.0)
    assert "not certainty" in test.interval.note
    assert math.isnan(test.detectable)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1000), st.integers(2, 60), st.randoms())
def test_order_of_queries_and_systems_changes_no_p(seed, n, random):
    first, second = _pair(n, effect=0.02, seed=seed)
    order = list(range(n))
    random.shuffle(order)
    test = paired_test(first, second, resamples=300, seed=seed)
    shuffled = paired_test(first[order], second[order], resamples=300, seed=seed)
    swapped = paired_test(second, first, resamples=300, seed=seed)
    assert str(test) == str(shuffled)
    assert swapped.p == test.p
    assert (swapped.wins, swapped.losses) == (test.losses, test.wins)
    assert swapped.difference == -test.difference


def test_interval_is_that_of_the_mean_difference():
    first, second = _pair(200, effect=0.02)
    got = paired_test(first, second, seed=5).interval
    want = mean_interval(first - second, seed=5)
    assert (got.low, got.high) == pytest.approx((want.low, want.high), abs=1e-12)


def test_clusters_flip_together():
    first, second = _pair(12, effect=0.1)
    twins = paired_test(np.repeat(first, 2), np.repeat(second, 2), clusters=np.repeat(np.arange(12), 2))
    alone = paired_test(first, second)
    assert twins.p == alone.p
    assert (twins.n, twins.units, twins.nonzero_units) == (24, 12, alone.nonzero_units)
    assert twins.difference == pytest.approx(alone.difference)
    assert twins.detectable == pytest.approx(alone.detectable)
    assert (twins.wins, twins.losses) == (2 * alone.wins, 2 * alone.losses)
    cancelled = paired_test([0.5, 0.1], [0.1, 0.5], clusters=["a", "a"])
    assert (cancelled.p, cancelled.nonzero_units, cancelled.wins, cancelled.losses) == (1.0, 0, 1, 1)


def test_p_is_uniform_where_systems_are_equal():
    random = np.random.default_rng(2)
    values = random.standard_normal((400, 40))
    p_values = [paired_test(row, np.zeros(40), resamples=199).p for row in values]
    assert stats.kstest(p_values, "uniform").pvalue > 1e-3


def test_detectable_difference_is_found_with_the_stated_power():
    few = np.array([0.1, 0.3, -0.2, 0.6])
    assert paired_test(few, np.zeros(4)).detectable == pytest.approx(2.801585 * few.std(ddof=1) / 2, rel=1e-6)
    random = np.random.default_rng(3)
    n, spread = 100, 0.2
    detectable = paired_test(spread * random.standard_normal(20_000), np.zeros(20_000)).detectable
    assert detectable == pytest.approx((1.959964 + 0.841621) * spread / 20_000**0.5, rel=0.03)
    effect = 2.801585 * spread / n**0.5
    found = [
        paired_test(effect + spread * random.standard_normal(n), np.zeros(n), resamples=499).p <= 0.05
        for _ in range(400)
    ]
    assert np.mean(found) == pytest.approx(0.8, abs=0.07)


@given(st.lists(st.floats(0, 1), max_size=12))
def test_corrections_are_monotone_and_never_smaller(p_values):
    stepwise, single = holm(p_values), bonferroni(p_values)
    order = np.argsort(p_values, kind="stable")
    assert np.all(np.diff(stepwise[order]) >= 0)
    assert np.all((np.array(p_values) <= stepwise) & (stepwise <= single) & (single <= 1))


def test_a_family_is_corrected_as_one():
    systems = {name: _pair(50, effect=0.0, seed=seed)[1] for seed, name in enumerate("abcd")}
    pairs = [("a", "b"), ("a", "c"), ("d", "a")]
    family = compare_family(systems, iter(pairs), seed=1)
    assert [(pair.first, pair.second) for pair in family.comparisons] == pairs
    tests = [paired_test(systems[first], systems[second], seed=1) for first, second in pairs]
    assert [pair.test for pair in family.comparisons] == tests
    assert [pair.p_adjusted for pair in family.comparisons] == holm([test.p for test in tests]).tolist()
    single = compare_family(systems, pairs, correction="bonferroni", seed=1)
    assert [pair.p_adjusted for pair in single.comparisons] == bonferroni([t.p for t in tests]).tolist()
    assert (family.correction, single.correction) == ("holm", "bonferroni")
    assert compare_family(systems, []).comparisons == ()


def test_none_and_one_query():
    none = paired_test([], [])
    assert (none.p, none.n, math.isnan(none.difference)) == (1.0, 0, True)
    one = paired_test([0.5], [0.25])
    assert (one.p, one.smallest_p, one.difference, one.wins) == (1.0, 1.0, 0.25, 1)


SYSTEMS = {"bm25": [0.1, 0.2], "dense": [0.2, 0.1]}


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: paired_test([0.1], [0.1, 0.2]), DataError, "1 values against 2"),
        (lambda: paired_test([0.1], [math.nan]), ScoreError, "second: 1 of 1"),
        (lambda: paired_test([0.1], [0.1], resamples=0), UsageError, "resamples is 0"),
        (lambda: holm([0.1, 1.5]), ScoreError, "outside 0 to 1, the first is 1.5 at position 1"),
        (lambda: compare_family(SYSTEMS, [("bm25", "dence")]), UnknownNameError, "did you mean 'dense'"),
        (lambda: compare_family(SYSTEMS, [], correction="bh"), UnknownNameError, "correction 'bh'"),
        (
            lambda: compare_family(SYSTEMS, [("bm25", "dense"), ("dense", "bm25")]),
            UsageError,
            "asked for twice",
        ),
    ],
)
def test_faults_are_named(call, error, words):
    with pytest.raises(error, match=words):
        call()
