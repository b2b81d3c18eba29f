from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from assay.errors import DataError, ScoreError, UnknownNameError, UsageError
from assay.evaluation.intervals import mean_interval, units_of
from assay.kernels.resampling import resampled_sums
from assay.scores import Interval

RECIPROCALS = [0.0, *(1 / rank for rank in range(1, 11))]


def _scores(kind: str, n: int) -> np.ndarray:
    random = np.random.default_rng(n)
    if kind == "reciprocal":
        return random.choice(RECIPROCALS, n, p=[0.4, 0.3, *[0.3 / 9] * 9])
    if kind == "binary":
        return (random.random(n) < 0.3).astype(float)
    return random.beta(0.5, 0.9, n)


def test_case_S04():
    values = [1, 1, 0, 1]
    means = [np.mean(draw) for draw in itertools.product(values, repeat=4)]
    low, high = np.quantile(means, [0.025, 0.975])
    interval = mean_interval(values, method="percentile", seed=3)
    assert (interval.mean, interval.low, interval.high) == (0.75, low, high) == (0.75, 0.25, 1.0)
    assert (interval.seed, interval.method, interval.resamples) == (3, "percentile", 10_000)
    assert interval == mean_interval(values, method="percentile", seed=3)


def test_case_S04_all_equal_is_not_certainty():
    none = mean_interval([0.0] * 20)
    assert (none.low, round(none.high, 4), none.method) == (0.0, 0.1684, "exact")
    # Clopper and Pearson's upper bound for 0 of 20, by the beta distribution.
    assert none.high == pytest.approx(stats.beta.ppf(0.975, 1, 20))
    every = mean_interval([1.0] * 20)
    assert (every.low, every.high) == (pytest.approx(1 - none.high), 1.0)
    assert "too few to conclude" in none.note
    assert "too few" not in mean_interval([0.0] * 30).note
    half = mean_interval([0.5] * 40)
    assert (half.low, half.high) == (0.5, 0.5)
    assert "not certainty" in half.note


@pytest.mark.parametrize("kind", ["reciprocal", "binary", "average precision"])
@pytest.mark.parametrize("n", [25, 200, 3000])
@pytest.mark.parametrize(("method", "theirs"), [("bca", "BCa"), ("percentile", "percentile")])
def test_ends_agree_with_scipy(kind, n, method, theirs):
    values = _scores(kind, n)
    got = mean_interval(values, method=method)
    want = stats.bootstrap(
        (values,), np.mean, n_resamples=10_000, batch=500, method=theirs, rng=np.random.default_rng(1)
    ).confidence_interval
    # An end of either moves by some 0.06 standard errors with its seed; discrete means may jump by one step.
    margin = 0.3 * values.std() / n**0.5 + (1 / n if kind == "binary" else 0)
    assert got.low == pytest.approx(want.low, abs=margin)
    assert got.high == pytest.approx(want.high, abs=margin)
    assert got.mean == pytest.approx(values.mean(), rel=1e-14)
    assert (got.n, got.units, got.unit, got.method) == (n, n, "query", method)


def test_clusters_agree_with_scipy_on_ratio_of_sums():
    random = np.random.default_rng(4)
    sizes = random.integers(1, 6, 150)
    clusters = np.repeat(np.arange(150), sizes)
    values = np.clip(random.random(150)[clusters] + 0.2 * random.standard_normal(len(clusters)), 0, 1)
    sums = np.bincount(clusters, weights=values)

    def ratio(numerator, denominator, axis=-1):
        return numerator.sum(axis=axis) / denominator.sum(axis=axis)

    for method, theirs in (("bca", "BCa"), ("percentile", "percentile")):
        got = mean_interval(values, clusters=clusters, method=method)
        want = stats.bootstrap(
            (sums, sizes.astype(float)),
            ratio,
            paired=True,
            n_resamples=10_000,
            method=theirs,
            rng=np.random.default_rng(2),
        ).confidence_interval
        margin = 0.15 * (want.high - want.low) / 3.92 + 0.1 * (want.high - want.low)
        assert got.low == pytest.approx(want.low, abs=margin)
        assert got.high == pytest.approx(want.high, abs=margin)
        assert (got.n, got.units, got.unit) == (len(values), 150, "cluster")


def _bca_by_hand(sums, sizes, *, seed: int) -> np.ndarray:
    """The textbook's formulas on the same resamples, leaving out one unit after the other."""
    mean = sums.sum() / sizes.sum()
    means = resampled_sums(sums, resamples=10_000, seed=seed) / resampled_sums(sizes, resamples=10_000, seed=seed)
    ties = np.isclose(means, mean, rtol=0, atol=1e-10)
    bias = stats.norm.ppf((np.sum((means < mean) & ~ties) + 0.5 * ties.sum()) / 10_000)
    without = np.array([np.delete(sums, unit).sum() / np.delete(sizes, unit).sum() for unit in range(len(sums))])
    moved = without.mean() - without
    acceleration = np.sum(moved**3) / (6 * np.sum(moved**2) ** 1.5)
    z = bias + stats.norm.ppf([0.025, 0.975])
    return np.quantile(means, stats.norm.cdf(bias + z / (1 - acceleration * z)))


@pytest.mark.parametrize("kind", ["reciprocal", "binary", "average precision"])
def test_bca_is_the_textbook_formula(kind):
    values = np.sort(_scores(kind, 24) ** 2)
    got = mean_interval(values, seed=5)
    assert (got.low, got.high) == pytest.approx(_bca_by_hand(values, np.ones(24), seed=5), abs=1e-9)
    sizes = np.repeat([1, 2, 4], 8)
    twins = mean_interval(np.repeat(values[::-1], sizes), clusters=np.repeat(np.arange(24), sizes), seed=5)
    sums = sizes * values[::-1]
    order = np.lexsort((sums, sizes))
    by_hand = _bca_by_hand(sums[order], sizes[order].astype(float), seed=5)
    assert (twins.low, twins.high) == pytest.approx(by_hand, abs=1e-9)


def test_twins_widen_the_interval():
    values = _scores("average precision", 200)
    alone = mean_interval(values)
    twins = np.repeat(values, 2)
    ignored = mean_interval(twins)
    declared = mean_interval(twins, clusters=np.repeat(np.arange(200), 2))
    assert declared.high - declared.low == pytest.approx(alone.high - alone.low, rel=0.05)
    assert ignored.high - ignored.low == pytest.approx((alone.high - alone.low) / 2**0.5, rel=0.05)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(RECIPROCALS), min_size=2, max_size=60), st.randoms(), st.integers(0, 9))
def test_the_order_of_queries_changes_nothing(values, random, seed):
    labels = [str(random.randrange(7)) for _ in values]
    order = list(range(len(values)))
    random.shuffle(order)
    shuffled = [values[place] for place in order]
    renamed = [f"x{labels[place]}" for place in order]
    for before, after in (
        (mean_interval(values, resamples=200, seed=seed), mean_interval(shuffled, resamples=200, seed=seed)),
        (
            mean_interval(values, clusters=labels, resamples=200, seed=seed),
            mean_interval(shuffled, clusters=renamed, resamples=200, seed=seed),
        ),
    ):
        assert str(before) == str(after)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=50), st.sampled_from(["bca", "percentile"]))
def test_the_interval_lies_within_the_values_and_holds_the_mean(values, method):
    interval = mean_interval(values, method=method)
    slack = 1e-12
    assert min(values) - slack <= interval.low <= interval.high <= max(values) + slack or (interval.method == "exact")
    if len(values) >= 10:
        assert interval.low - slack <= interval.mean <= interval.high + slack


@given(st.lists(st.floats(0, 1), min_size=2, max_size=40))
def test_clusters_of_one_query_change_no_number(values):
    alone = mean_interval(values, resamples=100)
    single = mean_interval(values, clusters=range(len(values)), resamples=100)
    assert (alone.low, alone.high, alone.mean) == (single.low, single.high, single.mean)


def test_narrower_level_is_nested_and_seeds_matter():
    values = _scores("average precision", 100)
    wide, narrow = mean_interval(values), mean_interval(values, level=0.8)
    assert wide.low < narrow.low < narrow.high < wide.high
    assert mean_interval(values, seed=1).low != wide.low


def test_mirrored_values_give_a_mirrored_interval():
    values = _scores("average precision", 60)
    one, other = mean_interval(values), mean_interval(1 - values)
    assert one.low == pytest.approx(1 - other.high, abs=0.01)
    assert one.high == pytest.approx(1 - other.low, abs=0.01)


def test_none_and_one_query():
    none = mean_interval([])
    assert (none.n, none.units, none.note) == (0, 0, "no query; too few to conclude: 0 units")
    assert all(math.isnan(end) for end in (none.mean, none.low, none.high))
    one = mean_interval([0.25])
    assert (one.mean, one.n, one.units) == (0.25, 1, 1)
    assert math.isnan(one.low)
    assert math.isnan(one.high)
    assert one.note == "one unit: nothing to resample; too few to conclude: 1 unit"
    failed = mean_interval([0.0])
    assert (failed.low, failed.high) == (0.0, pytest.approx(0.975))
    cluster = mean_interval([0.25, 0.5, 0.1], clusters=["a", "a", "a"])
    assert (cluster.n, cluster.units, math.isnan(cluster.low)) == (3, 1, True)


def test_one_outlier_does_not_break_bca():
    interval = mean_interval([0.0] * 400 + [1.0])
    assert 0.0 <= interval.low < interval.mean < interval.high < 0.03


def test_sums_of_clusters_round_the_same_in_any_order():
    sums = {units_of(values, clusters=["a"] * 3).sums[0] for values in itertools.permutations([1e16, 1.0, -1e16])}
    assert len(sums) == 1


def test_units_are_summed_and_sorted():
    units = units_of([0.5, 0.25, 1.0, 0.25], clusters=["a", "b", "a", "c"])
    assert units.sums.tolist() == [0.25, 0.25, 1.5]
    assert units.sizes.tolist() == [1.0, 1.0, 2.0]
    assert (units.n, units.mean, units.unit) == (4, 0.5, "cluster")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: mean_interval([0.5, math.nan, math.nan]), ScoreError, "2 of 3 .* nan at position 1"),
        (lambda: mean_interval([0.5, math.inf]), ScoreError, "inf at position 1"),
        (lambda: mean_interval([[0.5]]), DataError, "shape"),
        (lambda: mean_interval(["a"]), DataError, "not a vector of numbers"),
        (lambda: mean_interval([0.5, 0.1], clusters=["a"]), DataError, "one label per query"),
        (lambda: mean_interval([0.5], method="bsa"), UnknownNameError, "did you mean 'bca'"),
        (lambda: mean_interval([0.5], level=95), UsageError, "level is 95"),
        (lambda: mean_interval([0.5], resamples=0), UsageError, "resamples is 0"),
    ],
)
def test_faults_are_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_an_interval_is_immutable():
    with pytest.raises(AttributeError):
        mean_interval([0.5, 0.1]).low = 0.0
    assert Interval.__dataclass_params__.frozen
