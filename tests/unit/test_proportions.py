"""Shares with intervals, and agreement of two judges: against scipy, hand-computed tables and exact coverage."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from assay.errors import DataError, UsageError
from assay.evaluation.agreement import kappa
from assay.evaluation.proportions import stratified, wilson
from assay.evaluation.verdicts import agreement_of, precision_of


@given(
    st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.sampled_from([0.8, 0.95, 0.99])
)
def test_wilson_is_that_of_scipy(found: tuple[int, int], level: float) -> None:
    yes, n = found
    theirs = binomtest(yes, n).proportion_ci(level, method="wilson")
    assert wilson(yes, n, level=level) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_wilson_by_hand() -> None:
    # 15 of 20 with z = 1.96: (0.75 + 3.8416/40 ± 1.96 sqrt(0.1875/20 + 3.8416/1600)) / (1 + 3.8416/20).
    half = 1.96 * math.sqrt(0.1875 / 20 + 3.8416 / 1600)
    by_hand = [(0.75 + 3.8416 / 40 + sign * half) / (1 + 3.8416 / 20) for sign in (-1, 1)]
    assert wilson(15, 20) == pytest.approx(by_hand, abs=2e-5)
    assert wilson(0, 10)[0] == 0.0
    assert wilson(10, 10)[1] == 1.0
    assert all(math.isnan(end) for end in wilson(0, 0))


def test_wilson_refuses_what_is_no_share() -> None:
    with pytest.raises(DataError, match="5 of 4"):
        wilson(5, 4)
    with pytest.raises(UsageError, match="between 0 and 1"):
        wilson(1, 4, level=95)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(0, 50)), min_size=1, max_size=6))
def test_a_stratified_share_is_the_weighted_mean_and_lies_in_its_interval(strata: list[tuple[int, int, int]]) -> None:
    yes, n = [a for a, _, _ in strata], [a + b for a, b, _ in strata]
    sizes = [total + more for total, (_, _, more) in zip(n, strata)]
    found = stratified(yes, n, sizes)
    seen = [(s, a / b) for s, a, b in zip(sizes, yes, n) if b]
    if not seen:
        assert math.isnan(found.value)
        assert found.unseen == sum(sizes)
        return
    assert found.value == pytest.approx(sum(s * p for s, p in seen) / sum(s for s, _ in seen))
    assert -1e-12 <= found.low <= found.value + 1e-12
    assert found.value - 1e-12 <= found.high <= 1 + 1e-12
    assert (found.yes, found.n, found.size) == (sum(yes), sum(n), sum(sizes))
    assert found.unseen == sum(sizes) - sum(s for s, _ in seen)
    assert ("too few to conclude" in found.note) == (sum(n) < 30)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 1000))
def test_one_stratum_has_wilsons_interval_exactly(yes: int, no: int, more: int) -> None:
    found = stratified([yes], [yes + no], [yes + no + more])
    assert (found.low, found.high) == wilson(yes, yes + no) or yes + no == 0


def coverage(shares: tuple[float, float], n: tuple[int, int], sizes: tuple[int, int]) -> float:
    """The exact chance that the interval of two strata holds the true share, over all outcomes."""
    true, covered = np.average(shares, weights=sizes), 0.0
    for yes in product(range(n[0] + 1), range(n[1] + 1)):
        found = stratified(yes, n, sizes)
        chance = math.prod(binom.pmf(y, size, p) for y, size, p in zip(yes, n, shares))
        covered += chance * (found.low <= true <= found.high)
    return covered


def test_the_stratified_interval_covers() -> None:
    shares = [(0.95, 0.7), (0.9, 0.9), (0.5, 0.99), (0.8, 0.6), (0.99, 0.98)]
    drawn = [((20, 20), (500, 500)), ((40, 5), (900, 100)), ((15, 30), (700, 300))]
    found = [coverage(p, n, sizes) for p in shares for n, sizes in drawn]
    # Wilson's own interval falls to 0.9 near 1, where few outcomes are likely.
    assert min(found) >= 0.9
    assert np.mean(found) >= 0.945


def test_strata_must_fit() -> None:
    with pytest.raises(DataError, match="one value a stratum"):
        stratified([1, 2], [3], [3, 4])
    with pytest.raises(DataError, match="stratum 1 has more answers"):
        stratified([1, 2], [3, 5], [3, 4])


def test_kappa_of_a_table_by_hand() -> None:
    # 45 + 30 of 100 agree; by chance 0.6 * 0.55 + 0.4 * 0.45 = 0.51.
    found = kappa([[45, 15], [10, 30]])
    assert (found.observed, found.expected) == pytest.approx((0.75, 0.51))
    assert found.kappa == pytest.approx((0.75 - 0.51) / (1 - 0.51))
    assert np.asarray(found.prevalence) == pytest.approx(np.array([[0.6, 0.55], [0.4, 0.45]]))
    assert (found.n, found.note) == (100, "")


TABLES = st.integers(2, 4).flatmap(
    lambda size: st.lists(st.lists(st.integers(1, 60), min_size=size, max_size=size), min_size=size, max_size=size)
)


@given(TABLES)
def test_kappa_is_that_of_two_lines_and_its_error_that_of_the_delta_method(table: list[list[int]]) -> None:
    counts = np.asarray(table, float)

    def plain(p: np.ndarray) -> float:
        # With weights 1 off the diagonal: 1 - disagreement seen / disagreement expected.
        apart = 1 - np.eye(len(p))
        return 1 - (p * apart).sum() / (np.outer(p.sum(1), p.sum(0)) * apart).sum()

    p, step = counts / counts.sum(), 1e-6
    found = kappa(table)
    assert found.kappa == pytest.approx(plain(p))
    slopes = np.empty(p.size)
    for at in range(p.size):
        moved = np.zeros(p.size)
        moved[at] = step
        up, down = p + moved.reshape(p.shape), p - moved.reshape(p.shape)
        slopes[at] = (_unnormed(up) - _unnormed(down)) / (2 * step)
    spread = slopes @ (np.diag(p.ravel()) - np.outer(p, p)) @ slopes / counts.sum()
    assert found.error == pytest.approx(math.sqrt(spread), rel=1e-4, abs=1e-7)


def _unnormed(p: np.ndarray) -> float:
    expected = p.sum(1) @ p.sum(0)
    return float((np.trace(p) - expected) / (1 - expected))


def test_kappa_where_it_says_nothing() -> None:
    one = kappa([[12, 0], [0, 0]])
    assert math.isnan(one.kappa)
    assert one.observed == 1.0
    assert one.note == "both judges took one category alone: kappa says nothing; too few to conclude: 12 judged by both"
    perfect = kappa([[20, 0], [0, 20]])
    assert (perfect.kappa, perfect.error) == (1.0, 0.0)
    assert perfect.note == "the judges agree throughout: zero width is not certainty"
    none = kappa([[0, 0], [0, 0]])
    assert none.n == 0
    assert math.isnan(none.kappa)
    assert kappa([[0, 20], [20, 0]]).kappa == pytest.approx(-1.0)


def test_kappa_needs_a_square_table() -> None:
    for table in ([[1, 2]], [[1, -1], [0, 0]]):
        with pytest.raises(DataError, match="no table of two judges"):
            kappa(table)


STRATA = {key: ("cite+precedent" if key < "d" else "cite", "text") for key in "abcdefg"}
SIZES = {("cite+precedent", "text"): 30, ("cite", "text"): 70, ("none", "url"): 10}


def test_precision_weights_strata_and_counts_what_is_open() -> None:
    said = dict(zip("abcdefg", ["yes", "yes", "no", "yes", "unsure", "", "no"]))
    found = precision_of(said, STRATA, sizes=SIZES, parts=["tasks", "source"])
    assert (found.yes, found.no, found.unsure, found.unjudged) == (3, 2, 1, 1)
    assert found.overall.value == pytest.approx(0.3 * 2 / 3 + 0.7 * 1 / 2)
    assert found.overall.unseen == 10
    assert found.drawn.value == pytest.approx(3 / 5)
    assert (found.drawn.low, found.drawn.high) == wilson(3, 5)
    assert found.if_unsure_no == pytest.approx(0.3 * 2 / 3 + 0.7 * 1 / 3)
    assert found.if_unsure_yes == pytest.approx(0.3 * 2 / 3 + 0.7 * 2 / 3)
    assert list(found.groups) == [
        ("tasks", "cite"), ("tasks", "none"), ("tasks", "precedent"), ("source", "text"), ("source", "url")
    ]  # fmt: skip
    assert found.groups["tasks", "cite"].size == 100
    assert found.groups["tasks", "precedent"].value == pytest.approx(2 / 3)
    assert found.strata["none", "url"].n == 0
    assert "too few to conclude: 5 decided" in found.overall.note


def test_agreement_counts_rows_that_one_judge_left_open() -> None:
    first = dict(zip("abcdef", ["yes", "yes", "no", "unsure", "", "no"]))
    second = dict(zip("fedcba", ["yes", "yes", "yes", "no", "yes", "yes"]))
    both = agreement_of(first, second)
    assert both.table == {("", "yes"): 1, ("no", "no"): 1, ("no", "yes"): 1, ("unsure", "yes"): 1, ("yes", "yes"): 2}
    assert (both.agreement.n, both.undecided) == (4, 2)
    assert both.agreement.observed == pytest.approx(3 / 4)
    with pytest.raises(DataError, match="not the same"):
        agreement_of(first, {"a": "yes"})
