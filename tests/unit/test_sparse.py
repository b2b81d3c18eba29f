"""Top rows over sparse weights: the definition, the compiled form, and what must not change the bits."""

from __future__ import annotations

from itertools import pairwise
from threading import Barrier, Thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.kernels import postings as postings_module
from assay.kernels import sparse
from assay.kernels.blas import one_blas_thread
from assay.kernels.postings import Postings, counted_rows_compiled, counted_rows_numpy
from assay.kernels.sparse import top_rows

STEP = 2.0**-14
TERMS = 12


@st.composite
def loads(draw, rows=40, queries=6):
    """Sparse rows, an order of some of them, queries, and what they may see."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    size = draw(st.integers(0, rows))
    asked = draw(st.integers(0, queries))
    levels = draw(st.sampled_from([1, 3, 100_000]))

    def sparse_rows(count, high):
        lists = [rng.permutation(TERMS)[: rng.integers(0, TERMS + 1)] for _ in range(count)]
        offsets = np.cumsum([0, *map(len, lists)])
        term = np.concatenate([np.zeros(0, np.int64), *lists]).astype(np.int32)
        return offsets, term, rng.integers(1, high + 1, len(term))

    offsets, term, weight = sparse_rows(size, levels)
    query = sparse_rows(asked, 3)
    order = rng.permutation(size)[: rng.integers(0, size + 1)].astype(np.int32)
    prefix = rng.integers(0, size + 2, asked).astype(np.int32) if draw(st.booleans()) else None
    excluded = None
    if draw(st.booleans()) and size:
        lists = [rng.permutation(size)[: rng.integers(0, 4)] for _ in range(asked)]
        gone = np.concatenate([np.zeros(0, np.int64), *lists]).astype(np.int32)
        excluded = np.cumsum([0, *map(len, lists)]), gone
    return {
        "rows": (offsets, term, (weight * STEP).astype(np.float32)),
        "order": order,
        "query": (query[0], query[1], query[2].astype(np.float32)),
        "sees": {"prefix": prefix, "excluded": excluded},
        "depth": draw(st.integers(0, 8)),
    }


def brute(load):
    """Every score by two loops, and the rows not below the depth-th."""
    offsets, term, weight = load["rows"]
    cuts, own, times = load["query"]
    prefix, excluded = load["sees"]["prefix"], load["sees"]["excluded"]
    found = []
    for q in range(len(cuts) - 1):
        asked = dict(zip(own[cuts[q] : cuts[q + 1]].tolist(), times[cuts[q] : cuts[q + 1]].tolist()))
        limit = len(load["order"]) if prefix is None else prefix[q]
        gone = set() if excluded is None else set(excluded[1][excluded[0][q] : excluded[0][q + 1]].tolist())
        scores = {}
        for row in load["order"][:limit].tolist():
            entries = range(offsets[row], offsets[row + 1])
            scores[row] = sum(asked.get(int(term[e]), 0) * float(weight[e]) for e in entries) * (row not in gone)
        best = sorted((s for s in scores.values() if s > 0), reverse=True)[: load["depth"]]
        found.append({r: s for r, s in scores.items() if best and s > 0 and s >= best[-1]})
    return found


def as_dicts(found):
    offsets, row, score = found
    assert offsets.dtype == np.int64
    assert row.dtype == np.int32
    assert score.dtype == np.float64
    lists = [slice(a, b) for a, b in pairwise(offsets)]
    dicts = [dict(zip(row[own].tolist(), score[own].tolist())) for own in lists]
    assert sum(map(len, dicts)) == len(row)
    return dicts


def made(load):
    return Postings.of(*load["rows"], terms=TERMS, order=load["order"])


def compiled(load, monkeypatch, **how):
    with monkeypatch.context() as patch:
        patch.setattr(sparse, "SMALL_NANOSECONDS", -1)
        return top_rows(made(load), *load["query"], depth=load["depth"], **load["sees"], **how)


@settings(deadline=None)
@given(load=loads())
def test_definition_equals_brute_force(load):
    assert as_dicts(top_rows(made(load), *load["query"], depth=load["depth"], **load["sees"])) == brute(load)


@settings(max_examples=60, deadline=None)
@given(
    load=loads(),
    block=st.sampled_from([1, 2, 5, 64]),
    threads=st.integers(1, 3),
    step=st.sampled_from([STEP, None]),
    tile=st.sampled_from([1, 33, 4096]),
)
def test_compiled_form_equals_definition(load, block, threads, step, tile):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse, "_DENSE_QUERIES", block)  # sometimes with columns, sometimes without
        patch.setattr(sparse, "_TILE", tile)
        found = compiled(load, patch, block=block, threads=threads, step=step)
    assert as_dicts(found) == brute(load)


@settings(max_examples=40, deadline=None)
@given(load=loads())
def test_compiled_inversion_equals_definition(load):
    one = Postings.of_numpy(*load["rows"], terms=TERMS, order=load["order"])
    two = Postings.of_compiled(*load["rows"], terms=TERMS, order=load["order"])
    for part in ("start", "position", "weight", "order", "largest"):
        np.testing.assert_array_equal(getattr(one, part), getattr(two, part), strict=True)


@settings(max_examples=40, deadline=None)
@given(lists=st.lists(st.lists(st.integers(0, TERMS - 1), max_size=9), max_size=9))
def test_counted_rows_in_both_forms(lists):
    offsets = np.cumsum([0, *map(len, lists)])
    term = np.asarray([t for own in lists for t in own], np.int32)
    expected = [[(t, own.count(t)) for t in dict.fromkeys(own)] for own in lists]
    for form in (counted_rows_numpy, counted_rows_compiled):
        moved, found, count = form(offsets, term, terms=TERMS)
        pairs = list(zip(found.tolist(), count.tolist()))
        assert [pairs[a:b] for a, b in pairwise(moved)] == expected
        assert (moved.dtype, found.dtype, count.dtype) == (np.int64, np.int32, np.int32)


def large_load(seed=0, size=3000, queries=150, terms=400):
    """A load with frequent and rare terms, dates and repeated rows."""
    rng = np.random.default_rng(seed)

    def sparse_rows(count, mean):
        lists = [np.unique((terms * rng.random(rng.poisson(mean)) ** 3).astype(np.int32)) for _ in range(count)]
        return np.cumsum([0, *map(len, lists)]), np.concatenate(lists)

    offsets, term = sparse_rows(size, 30)
    cuts, own = sparse_rows(queries, 25)
    return {
        "rows": (offsets, term, (rng.integers(1, 2**16, len(term)) * STEP).astype(np.float32)),
        "order": rng.permutation(size).astype(np.int32),
        "query": (cuts, own, rng.integers(1, 4, len(own)).astype(np.float32)),
        "sees": {"prefix": rng.integers(0, size + 1, queries).astype(np.int32), "excluded": None},
        "terms": terms,
    }


def ranked(found):
    """Lists by score, then row: what the order of the work must not change."""
    offsets, row, score = found
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((row, -score, owner))
    return offsets.tolist(), row[order].tolist(), score[order].tobytes()


@pytest.mark.parametrize("step", [STEP, None])
@pytest.mark.parametrize("heavy_queries", [1.0, 500.0])
def test_same_bits_for_any_block_threads_and_order(monkeypatch, step, heavy_queries):
    """Whole multiples, weights without a step, and queries past the bound of float32."""
    load = large_load()
    offsets, term, weight = load["rows"]
    if step is None:
        weight = (weight * np.float32(1 / 3)).astype(np.float32)
    cuts, own, times = load["query"]
    times = times * np.where(np.arange(len(times)) % 7 == 0, heavy_queries, 1.0)
    how = {"depth": 20, "step": step}
    lists = Postings.of(offsets, term, weight, terms=load["terms"], order=load["order"])
    expected = ranked(top_rows(lists, cuts, own, times, **how))
    monkeypatch.setattr(sparse, "SMALL_NANOSECONDS", -1)
    for block, threads in ((64, 2), (7, 3), (1, 1), (1000, 2)):
        assert ranked(top_rows(lists, cuts, own, times, **how, block=block, threads=threads)) == expected
    shuffled = Postings.of(offsets, term, weight, terms=load["terms"], order=load["order"][::-1].copy())
    assert ranked(top_rows(shuffled, cuts, own, times, **how)) == expected
    reverse = np.concatenate([np.arange(a, b)[::-1] for a, b in pairwise(cuts)])
    assert ranked(top_rows(lists, cuts, own[reverse], times[reverse], **how)) == expected


def test_frequent_terms_become_columns_and_prefixes_hold(monkeypatch):
    load = large_load(1)
    lists = Postings.of(*load["rows"], terms=load["terms"], order=load["order"])
    expected = ranked(top_rows(lists, *load["query"], depth=10, step=STEP, **load["sees"]))
    whole = sparse._Load.of(lists, *load["query"], load["sees"]["prefix"], None)
    dense = sparse._Dense.of(whole, np.arange(len(whole)))
    assert 0 < len(dense.matrix) < load["terms"]
    monkeypatch.setattr(sparse, "SMALL_NANOSECONDS", -1)
    assert ranked(top_rows(lists, *load["query"], depth=10, step=STEP, **load["sees"])) == expected
    monkeypatch.setattr(sparse, "_TILE", 100)
    monkeypatch.setattr(sparse, "_KEPT_BYTES", 1000)
    assert ranked(top_rows(lists, *load["query"], depth=10, step=STEP, **load["sees"])) == expected


def test_sums_past_the_bound_of_float32_stay_exact(monkeypatch):
    """2**24 + 1 steps are no float32: such a query is summed in float64."""
    rows = (
        np.array([0, 2, 4]),
        np.array([0, 1, 0, 1], np.int32),
        np.array([2.0**10, STEP, 2.0**10, 2 * STEP], np.float32),
    )
    lists = Postings.of(*rows, terms=2, order=np.arange(2, dtype=np.int32))
    monkeypatch.setattr(sparse, "SMALL_NANOSECONDS", -1)
    _, row, score = top_rows(lists, np.array([0, 2]), np.arange(2, dtype=np.int32), np.ones(2), depth=1, step=STEP)
    assert row.tolist() == [1]
    assert score.tolist() == [2.0**10 + 2 * STEP]


def test_every_row_equal_to_the_last_is_returned():
    rows = np.arange(6), np.zeros(5, np.int32), np.array([2, 1, 1, 1, 0.5], np.float32)
    lists = Postings.of(*rows, terms=1, order=np.arange(5, dtype=np.int32))
    query = np.array([0, 1]), np.zeros(1, np.int32), np.ones(1)
    assert top_rows(lists, *query, depth=2)[1].tolist() == [0, 1, 2, 3]
    assert top_rows(lists, *query, depth=9)[1].tolist() == [0, 1, 2, 3, 4]


def test_small_loads_compile_nothing(monkeypatch):
    def refuse(*_args, **_kwargs):
        raise AssertionError("compiled")

    monkeypatch.setattr(sparse, "top_rows_compiled", refuse)
    monkeypatch.setattr(postings_module, "counted_rows_compiled", refuse)
    monkeypatch.setattr(Postings, "of_compiled", refuse)
    load = large_load()
    lists = Postings.of(*load["rows"], terms=load["terms"], order=load["order"])
    postings_module.counted_rows(np.array([0, 2]), np.array([1, 1], np.int32), terms=2)
    assert len(top_rows(lists, *load["query"], depth=10, step=STEP)[1]) >= 10


def test_blas_threads_come_back_after_overlapping_use():
    from threadpoolctl import ThreadpoolController

    def threads():
        return [lib.num_threads for lib in ThreadpoolController().select(user_api="blas").lib_controllers]

    before = threads()
    if not before:
        pytest.skip("no BLAS library is loaded")
    entered, left = Barrier(2), Barrier(2)
    seen = []

    def first():
        with one_blas_thread():
            entered.wait()
        left.wait()

    def second():
        with one_blas_thread():
            entered.wait()
            left.wait()  # the first has left; this one still multiplies
            with one_blas_thread():
                pass
            seen.append(threads())

    workers = [Thread(target=first), Thread(target=second)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert seen == [[1] * len(before)]
    assert threads() == before


def test_blas_threads_come_back_after_an_error():
    from threadpoolctl import ThreadpoolController

    before = [lib.num_threads for lib in ThreadpoolController().select(user_api="blas").lib_controllers]
    with pytest.raises(ValueError, match="inside"), one_blas_thread():
        raise ValueError("inside")
    after = [lib.num_threads for lib in ThreadpoolController().select(user_api="blas").lib_controllers]
    assert after == before
