from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from assay.kernels import resampling
from assay.kernels.resampling import (
    all_sign_sums,
    random_sign_sums,
    resampled_count_sums,
    resampled_sums,
    resampled_sums_compiled,
    resampled_sums_numpy,
)

MASK = (1 << 64) - 1


def _splitmix(place: int) -> int:
    word = (place * 0x9E3779B97F4A7C15) & MASK
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word ^ (word >> 31)


def _places(n: int, *, sample: int, seed: int) -> list[int]:
    """Drawn places by the words of the docstring, in Python integers."""
    start = resampling._start(seed, stream=1)
    blocks = (n + 7) // 8
    drawn = []
    for word in range(blocks * 4):
        value = _splitmix((start + sample * blocks * 4 + word) & MASK)
        drawn += [(value & 0xFFFFFFFF) * n >> 32, (value >> 32) * n >> 32]
    return drawn[:n]


def test_splitmix_has_the_published_first_word():
    # The reference implementation, seeded with 1234567, starts with 6457827717110365317.
    assert _splitmix((1234567 * pow(0x9E3779B97F4A7C15, -1, 1 << 64) + 1) & MASK) == 6457827717110365317


@pytest.mark.parametrize("n", [1, 3, 8, 13, 29])
def test_draws_are_the_words_of_the_stream(n):
    values = 2.0 ** np.arange(n)
    got = resampled_sums_numpy(values, resamples=4, seed=7)
    want = [sum(2.0**place for place in _places(n, sample=sample, seed=7)) for sample in range(4)]
    assert got.tolist() == want


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 70),
    resamples=st.integers(1, 40),
    seed=st.integers(-5, 2**70),
    threads=st.integers(1, 5),
)
def test_compiled_form_has_the_bits_of_the_definition(n, resamples, seed, threads):
    values = np.random.default_rng(n).standard_normal(n)
    want = resampled_sums_numpy(values, resamples=resamples, seed=seed)
    got = resampled_sums_compiled(values, resamples=resamples, seed=seed, threads=threads)
    assert got.tobytes() == want.tobytes()


def test_large_loads_have_the_bits_of_the_definition_for_any_threads(monkeypatch):
    values = np.random.default_rng(0).random(1001)
    want = resampled_sums_numpy(values, resamples=300, seed=1)
    monkeypatch.setattr(resampling, "SMALL_DRAWS", 1000)
    for threads in (1, 2, 3, 7):
        assert resampled_sums(values, resamples=300, seed=1, threads=threads).tobytes() == want.tobytes()


def test_small_loads_compile_nothing():
    code = (
        "import sys, numpy as np\n"
        "from assay.evaluation.intervals import mean_interval\n"
        "from assay.evaluation.significance import paired_test\n"
        "values = np.linspace(0, 1, 300)\n"
        "mean_interval(values); paired_test(values, values[::-1] ** 2)\n"
        "print([name for name in ('numba', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_unit_is_drawn_equally_often_and_independently():
    n, resamples = 13, 20_000
    counts = np.array([resampled_sums_numpy(np.eye(n)[unit], resamples=resamples, seed=11) for unit in range(n)])
    assert counts.sum(axis=0).tolist() == [n] * resamples
    assert stats.chisquare(counts.sum(axis=1)).pvalue > 1e-4
    # Counts of two units are those of a multinomial: variance n p (1 - p), covariance -n p p.
    covariance = np.cov(counts)
    assert np.diag(covariance) == pytest.approx(np.full(n, 1 - 1 / n), abs=0.05)
    assert covariance[~np.eye(n, dtype=bool)] == pytest.approx(-1 / n, abs=0.05)


def test_neighbouring_seeds_are_unrelated():
    values = np.random.default_rng(1).random(50)
    first, second = (resampled_sums_numpy(values, resamples=20_000, seed=seed) for seed in (0, 1))
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.03
    assert not set(first.tolist()) & set(second.tolist())


def test_two_vectors_with_one_seed_are_drawn_at_the_same_places():
    values = np.random.default_rng(2).random(33)
    doubled = resampled_sums(2.0 * values, resamples=50, seed=4)
    assert doubled.tolist() == (2.0 * resampled_sums(values, resamples=50, seed=4)).tolist()


def test_counting_values_and_drawing_units_agree_in_distribution():
    values, counts = np.array([0.0, 0.1, 0.5, 1.0]), np.array([20, 5, 10, 5])
    counted = resampled_count_sums(values, counts, resamples=20_000, seed=3)
    drawn = resampled_sums(np.repeat(values, counts), resamples=20_000, seed=3)
    assert stats.ks_2samp(counted, drawn).pvalue > 1e-4
    assert counted.tolist() == resampled_count_sums(values, counts, resamples=20_000, seed=3).tolist()


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=9))
def test_all_signs_are_tried_once(values):
    magnitudes = np.array(values, dtype=np.float64)
    want = sorted(
        sum(sign * value for sign, value in zip((1, *signs), values))
        for signs in itertools.product((-1, 1), repeat=len(values) - 1)
    )
    assert sorted(all_sign_sums(magnitudes).tolist()) == want


@pytest.mark.parametrize("count", [1, 3, 11, 12, 55, 56, 130])
def test_random_signs_are_fair_and_independent(count):
    resamples = 20_000
    signs = np.array([random_sign_sums(np.eye(count)[unit], resamples=resamples, seed=5) for unit in range(count)])
    assert set(signs.ravel().tolist()) == {-1.0, 1.0}
    correlations = signs @ signs.T / resamples
    assert np.abs(signs.mean(axis=1)).max() < 5 / resamples**0.5
    assert np.abs(correlations - np.eye(count)).max() < 5.5 / resamples**0.5
    weights = np.arange(1.0, count + 1)
    assert random_sign_sums(weights, resamples=resamples, seed=5) == pytest.approx(weights @ signs)


def test_random_signs_follow_the_exact_distribution():
    magnitudes = np.random.default_rng(6).random(12)
    exact = np.concatenate([all_sign_sums(magnitudes), -all_sign_sums(magnitudes)])
    drawn = random_sign_sums(magnitudes, resamples=20_000, seed=8)
    for quantile in (0.01, 0.1, 0.5, 0.9, 0.99):
        assert np.mean(drawn <= np.quantile(exact, quantile)) == pytest.approx(quantile, abs=0.012)
