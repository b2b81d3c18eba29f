"""Dense search by products of bytes: the bits of the definition, whatever the numbers, their order and the guesses."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.kernels import dense, dense_bytes
from assay.kernels.dense import DenseLoad, top_rows, top_rows_by_bytes, top_rows_by_floats, top_rows_numpy
from assay.kernels.dense_bytes import lists_by_bytes, pays
from assay.kernels.visible import Visible
from assay.kernels.vnni import has_byte_products
from dense_loads import brute, load_of, loads

pytestmark = pytest.mark.skipif(not has_byte_products(), reason="this processor has no AVX-512 VNNI")


def same_bits(found, defined):
    return all(ours.dtype == other.dtype and np.array_equal(ours, other) for ours, other in zip(found, defined))


def load_for(rows, queries, *, order=None, prefix=None, excluded=None):
    order = np.arange(len(rows), dtype=np.int32) if order is None else order
    return DenseLoad(rows, queries, Visible.of(order, prefix, excluded, queries=len(queries)), order)


@settings(max_examples=80, deadline=None)
@given(loads(most=300, asked=30), st.sampled_from([1, 13, 512]), st.sampled_from([1, 2]), st.sampled_from([None, 1, 4]))
def test_bytes_have_the_bits_of_the_definition(load, block, threads, parts):
    made = load_of(load)
    found = top_rows_by_bytes(made, depth=load["depth"], block=block, threads=threads, parts=parts)
    assert same_bits(found, top_rows_numpy(made, depth=load["depth"]))


@st.composite
def awkward(draw):
    """Vectors whose numbers lie orders of magnitude apart, by row and by dimension, some of them equal or zero."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size, queries, dimensions = draw(st.integers(1, 400)), draw(st.integers(1, 30)), draw(st.integers(1, 21))
    made = []
    for count in (size, queries):
        vectors = rng.standard_normal((count, dimensions)) * 10.0 ** rng.integers(-2, 3, (count, 1))
        vectors *= 10.0 ** rng.integers(0, draw(st.sampled_from([1, 4, 8])), dimensions)
        vectors *= 10.0 ** draw(st.sampled_from([-44, -38, -30, 0, 12]))
        vectors[rng.random(count) < 0.1] = 0
        if draw(st.booleans()):
            vectors = np.round(vectors)
        if draw(st.booleans()):
            vectors += draw(st.sampled_from([-1000.0, 3.0]))
        made.append(vectors.astype(np.float32))
    rows, asked = made
    rows[rng.random(size) < 0.2] = rows[0]
    return rows, asked, draw(st.integers(1, 40))


@settings(max_examples=80, deadline=None)
@given(awkward(), st.sampled_from([1, 8]))
def test_numbers_that_bytes_hold_badly(load, parts):
    rows, queries, depth = load
    made = load_for(rows, queries)
    defined = top_rows_numpy(made, depth=depth)
    assert same_bits(top_rows_by_bytes(made, depth=depth, block=512, threads=2, parts=parts), defined)
    assert same_bits(top_rows_by_floats(made, depth=depth, block=512, threads=2), defined)


def some(seed, *, rows=6000, queries=50, dimensions=33):
    rng = np.random.default_rng(seed)
    return rng, *(rng.standard_normal((count, dimensions)).astype(np.float32) for count in (rows, queries))


def test_order_prefix_and_exclusions_over_many_parts_and_shelves(monkeypatch):
    rng, rows, queries = some(1)
    rows[500:700] = rows[3]
    excluded = np.arange(51) * 3, rng.integers(0, 6000, 150).astype(np.int32)
    load = load_for(
        rows, queries, order=rng.permutation(6000)[:5500].astype(np.int32),
        prefix=rng.integers(0, 6001, 50).astype(np.int32), excluded=excluded,
    )  # fmt: skip
    defined = top_rows_numpy(load, depth=20)
    plain = lists_by_bytes(load, depth=20, block=24, threads=2, parts=None)
    assert len(plain[1]) == 0
    assert same_bits(top_rows_by_bytes(load, depth=20, block=24, threads=2), defined)
    for size in (36 * 1024, 36 * 1500):
        monkeypatch.setattr(dense_bytes, "_SHELF_BYTES", size)
        assert same_bits(top_rows_by_bytes(load, depth=20, block=512, threads=1, parts=8), defined)


def test_best_rows_may_be_excluded():
    _, rows, queries = some(2, queries=20)
    load = load_for(rows, queries)
    offsets, found, _ = top_rows_by_bytes(load, depth=300, block=512, threads=2)
    less = load_for(rows, queries, excluded=(offsets, found))
    assert same_bits(top_rows_by_bytes(less, depth=20, block=512, threads=2, parts=4), top_rows_numpy(less, depth=20))


def test_a_wrong_guess_costs_time_alone():
    """The best rows stand where the guess is made from, so that it is too good."""
    rng, rows, queries = some(3, queries=30)
    rows[::8] += 3 * queries[:1]
    rows[1::8] -= 3 * queries[:1]
    queries[:20] = queries[0] + rng.standard_normal((20, 33)).astype(np.float32) / 8
    load = load_for(rows, queries)
    left = lists_by_bytes(load, depth=700, block=512, threads=2, parts=8)[1]
    assert 0 < len(left) < 30
    assert same_bits(top_rows_by_bytes(load, depth=700, block=512, threads=2, parts=8), top_rows_numpy(load, depth=700))


def test_a_query_that_everything_ties_for_is_left_to_floats():
    _, rows, queries = some(4, rows=50_000, queries=13, dimensions=6)
    queries[5] = 0
    load = load_for(rows, queries)
    assert lists_by_bytes(load, depth=9, block=512, threads=2, parts=None)[1].tolist() == [5]
    offsets, row, score = top_rows_by_bytes(load, depth=9, block=512, threads=2)
    assert offsets[6] - offsets[5] == 50_000
    assert not score[offsets[5] : offsets[6]].any()
    assert same_bits((offsets, row, score), top_rows_by_floats(load, depth=9, block=512, threads=2))


def test_numbers_beyond_float32_are_scored_as_defined():
    rows = np.array([[3e38, 3e38], [3e38, -3e38], [1.0, 1.0]], np.float32)
    load = load_for(rows, rows)
    assert same_bits(top_rows_by_bytes(load, depth=1, block=512, threads=2), top_rows_numpy(load, depth=1))


def test_queries_that_see_nothing():
    _, rows, queries = some(5, rows=40, queries=3)
    load = load_for(rows, queries, prefix=np.zeros(3, np.int32))
    assert top_rows_by_bytes(load, depth=2, block=512, threads=2)[0].tolist() == [0, 0, 0, 0]


def test_error_covers_every_product_of_bytes():
    _, rows, queries = some(6, rows=70, queries=12, dimensions=10)
    rows[:, 3] *= 50
    load = load_for(rows, queries)
    with ThreadPoolExecutor(1) as pool:
        panels = dense_bytes._Panels.of(load, rows.mean(axis=0), 0, 70, 2, pool)
    asked = dense_bytes._Asked.of(queries, panels)
    held = panels.words.reshape(-1, 3, 32).transpose(0, 2, 1).copy().view(np.uint8).reshape(-1, 12).astype(int) - 128
    signed = asked.words.reshape(3, 12).T.copy().view(np.int8).reshape(12, 12).astype(int)
    for place, position in enumerate(panels.position):
        for query in range(12 if position >= 0 else 0):
            true = sum(
                Fraction(float(a)) * (Fraction(float(b)) - Fraction(float(c)))
                for a, b, c in zip(queries[query], rows[position], panels.centre)
            )
            product = int(signed[query] @ held[place]) * Fraction(float(panels.step.ravel()[place]))
            error = asked.error[query] + float(asked.length[0, query]) * float(panels.rest.ravel()[place])
            assert abs(true / Fraction(float(asked.unit[query])) - product) <= error


def test_a_large_load_is_searched_by_bytes(monkeypatch):
    rng, rows, queries = some(7, queries=300)
    how = {"depth": 5, "order": rng.permutation(6000).astype(np.int32)}
    monkeypatch.setattr(dense, "SMALL_NANOSECONDS", 0)
    by_floats = top_rows(rows, queries, **how)
    monkeypatch.setattr(dense_bytes, "_PAYS_PRODUCTS", 1)

    def refused(*_, **__):
        raise AssertionError("searched by floats")

    monkeypatch.setattr(dense, "top_rows_by_floats", refused)
    assert same_bits(top_rows(rows, queries, **how), by_floats)


@pytest.mark.parametrize(("depth", "queries"), [(6000, 300), (5, 20)])
def test_where_bytes_do_not_pay(monkeypatch, depth, queries):
    _, rows, asked = some(8, queries=queries)
    monkeypatch.setattr(dense_bytes, "_PAYS_PRODUCTS", 1)
    assert not pays(load_for(rows, asked), depth=depth)


def test_matrices_with_gaps_and_memory_maps(tmp_path):
    _, rows, queries = some(9, rows=3000, dimensions=40)
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    for cut, asked in ((slice(0, 24), queries), (slice(0, 40), queries), (slice(3, 20), queries)):
        defined = top_rows_numpy(load_for(rows[:, cut], asked[:, cut]), depth=6)
        found = top_rows_by_bytes(load_for(mapped[:, cut], asked[:, cut]), depth=6, block=512, threads=2)
        assert same_bits(found, defined)


def test_brute_force_agrees():
    load = {
        "rows": np.array([[1, 2], [3, 4], [3, 4], [-1, 0]], np.float32), "queries": np.array([[1, 1]], np.float32),
        "order": np.arange(4, dtype=np.int32), "place": None, "prefix": None, "excluded": None, "depth": 1,
    }  # fmt: skip
    offsets, row, score = top_rows_by_bytes(load_of(load), depth=1, block=1, threads=1)
    assert (offsets.tolist(), dict(zip(row.tolist(), score.tolist()))) == ([0, 2], brute(load)[0])
