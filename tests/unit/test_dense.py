"""Top rows over dense vectors: the definition, the compiled form, and what must not change the bits."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.kernels import dense, dense_floats
from assay.kernels.dense import DenseLoad, scores_of, top_rows, top_rows_by_floats, top_rows_numpy
from assay.kernels.tiles import reached_by
from assay.kernels.visible import Visible
from dense_loads import as_dicts, brute, load_of, loads


@given(loads())
def test_definition_is_brute_force(load):
    assert as_dicts(top_rows_numpy(load_of(load), depth=load["depth"])) == brute(load)


@settings(max_examples=60, deadline=None)
@given(loads(), st.sampled_from([1, 3, 512]), st.sampled_from([1, 2]))
def test_compiled_form_has_the_bits_of_the_definition(load, block, threads):
    made = load_of(load)
    assert made.slack(made.longest()) is not None
    found = top_rows_by_floats(made, depth=load["depth"], block=block, threads=threads)
    for ours, defined in zip(found, top_rows_numpy(made, depth=load["depth"])):
        assert np.array_equal(ours, defined)


def test_many_tiles_and_shelves(monkeypatch):
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((700, 16)).astype(np.float32)
    rows[300:340] = rows[3]
    queries = rng.standard_normal((40, 16)).astype(np.float32)
    visible = Visible.of(
        rng.permutation(700).astype(np.int32), rng.integers(0, 701, 40).astype(np.int32), None, queries=40
    )
    load = DenseLoad(rows, queries, visible, visible.order)
    defined = top_rows_numpy(load, depth=5)
    monkeypatch.setattr(dense_floats, "_TILE", 64)
    monkeypatch.setattr(dense_floats, "_SHELF_BYTES", 4 * 16 * 128)
    found = top_rows_by_floats(load, depth=5, block=16, threads=2)
    assert all(np.array_equal(ours, other) for ours, other in zip(found, defined))


def test_order_of_rows_changes_nothing():
    rng = np.random.default_rng(2)
    rows, queries = (rng.standard_normal((n, 33)).astype(np.float32) for n in (500, 20))
    shuffle = rng.permutation(500)
    plain = as_dicts(top_rows(rows, queries, depth=7, order=np.arange(500, dtype=np.int32)))
    load = DenseLoad(
        rows[shuffle],
        queries,
        Visible.of(np.arange(500, dtype=np.int32), None, None, queries=20),
        np.arange(500, dtype=np.int32),
    )
    other = as_dicts(top_rows_by_floats(load, depth=7, block=64, threads=2))
    assert [{int(shuffle[row]): score for row, score in one.items()} for one in other] == plain


def test_score_is_exact_where_float64_can_hold_it():
    rng = np.random.default_rng(3)
    for dimensions in (1, 5, 8, 40):
        row, query = (rng.integers(-9, 10, dimensions).astype(np.float32) for _ in range(2))
        assert scores_of(row[None], query)[0] == int(np.dot(row.astype(int), query.astype(int)))


@given(st.lists(st.tuples(*[st.floats(-4, 4, width=32)] * 2), min_size=1, max_size=40))
def test_score_is_within_a_few_roundings_of_the_true_sum(pairs):
    row, query = (np.array(side, np.float32) for side in zip(*pairs))
    true = sum((Fraction(float(a)) * Fraction(float(b)) for a, b in pairs), Fraction(0))
    size = sum(abs(float(a) * float(b)) for a, b in pairs)
    assert abs(scores_of(row[None], query)[0] - float(true)) <= len(pairs) * 2.0**-52 * size + 1e-300


def test_slack_covers_the_error_of_any_float32_product():
    rng = np.random.default_rng(4)
    rows, queries = (rng.standard_normal((n, 300)).astype(np.float32) for n in (200, 30))
    order = np.arange(200, dtype=np.int32)
    load = DenseLoad(rows, queries, Visible.of(order, None, None, queries=30), order)
    slack = load.slack(load.longest())
    exact = np.stack([scores_of(rows, query) for query in queries])
    one_by_one = np.zeros((30, 200), np.float32)
    for at in range(300):
        one_by_one += queries[:, [at]] * rows[:, at]
    for product in (queries @ rows.T, one_by_one):
        assert (2 * np.abs(product - exact) <= slack[:, None]).all()


def test_lengths_beyond_float32_are_scored_as_defined():
    rows = np.array([[3e38, 3e38], [3e38, -3e38], [1.0, 1.0]], np.float32)
    order = np.arange(3, dtype=np.int32)
    load = DenseLoad(rows, rows[:1], Visible.of(order, None, None, queries=1), order)
    assert load.slack(load.longest()) is None
    offsets, row, score = top_rows(rows, rows[:1], depth=1, order=order)
    assert (offsets.tolist(), row.tolist()) == ([0, 1], [0])
    assert math.isfinite(score[0])


def test_nothing_to_search_or_to_return():
    rows, none = np.ones((3, 2), np.float32), np.zeros((0, 2), np.float32)
    order = np.arange(3, dtype=np.int32)
    assert top_rows(rows, none, depth=2, order=order)[0].tolist() == [0]
    assert top_rows(rows, rows[:2], depth=0, order=order)[0].tolist() == [0, 0, 0]
    assert top_rows(rows, rows[:2], depth=2, order=order[:0])[0].tolist() == [0, 0, 0]
    assert top_rows(rows, rows[:1], depth=9, order=order, prefix=np.array([0], np.int32))[0].tolist() == [0, 0]


def test_a_memory_map_is_searched_like_an_array(tmp_path):
    rng = np.random.default_rng(6)
    rows = rng.standard_normal((300, 8)).astype(np.float32)
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    order = rng.permutation(300).astype(np.int32)
    visible = Visible.of(order, None, None, queries=9)
    held, kept = (DenseLoad(matrix, rows[:9], visible, order) for matrix in (rows, mapped))
    for ours, other in zip(top_rows_by_floats(kept, depth=4, block=4, threads=2), top_rows_numpy(held, depth=4)):
        assert np.array_equal(ours, other)


@pytest.mark.parametrize("seconds", [0, 10**12])
def test_small_and_large_loads_agree(monkeypatch, seconds):
    rng = np.random.default_rng(7)
    rows, queries = (rng.standard_normal((n, 12)).astype(np.float32) for n in (90, 11))
    order = np.arange(90, dtype=np.int32)
    monkeypatch.setattr(dense, "SMALL_NANOSECONDS", seconds)
    found = top_rows(rows, queries, depth=3, order=order, excluded=(np.arange(12), np.arange(11, dtype=np.int32)))
    assert as_dicts(found) == brute(
        {"rows": rows, "queries": queries, "order": order, "place": None, "prefix": None, "depth": 3,
         "excluded": (np.arange(12), np.arange(11, dtype=np.int32))}
    )  # fmt: skip


@given(st.lists(st.floats(-(2.0**99), 2.0**99, width=32), min_size=1, max_size=50), st.integers(1, 50))
def test_a_number_that_so_many_values_reach(values, rank):
    held = np.array(values, np.float32)
    found = reached_by(held, len(held), min(rank, len(held)))
    assert (held >= found).sum() >= min(rank, len(held))
    apart = np.arange(1000, dtype=np.float32)
    assert (apart >= reached_by(apart, 1000, rank)).sum() == rank
