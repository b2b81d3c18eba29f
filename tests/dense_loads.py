"""Loads of dense search for tests, and what each must find, by two loops."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from assay.kernels.dense import DenseLoad, scores_of
from assay.kernels.visible import Visible


@st.composite
def loads(draw, most=60, asked=8):
    """Vectors with many equal and nearly equal ones, an order of some of them, queries, and what they may see."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size, queries = draw(st.integers(1, most)), draw(st.integers(1, asked))
    dimensions = draw(st.sampled_from([1, 2, 7, 8, 9, 24, 33]))
    scale = draw(st.sampled_from([1e-20, 1.0, 1e9]))
    base = rng.standard_normal((4, dimensions)).astype(np.float32)
    rows = base[rng.integers(0, 4, size)]
    near = rng.random(size) < 0.5
    rows[near] = np.nextafter(rows[near], np.float32(np.inf))
    far = rng.random(size) < 0.3
    rows[far] = rng.standard_normal((int(far.sum()), dimensions))
    rows = (rows * np.float32(scale)).astype(np.float32)
    place = rng.integers(0, size, draw(st.integers(1, most))).astype(np.int32) if draw(st.booleans()) else None
    count = size if place is None else len(place)
    order = rng.permutation(count)[: rng.integers(1, count + 1)].astype(np.int32)
    excluded = None
    if draw(st.booleans()):
        lists = [rng.permutation(count)[: rng.integers(0, 4)] for _ in range(queries)]
        excluded = np.cumsum([0, *map(len, lists)]), np.concatenate([*lists, []]).astype(np.int32)
    vectors = rng.standard_normal((queries, dimensions)).astype(np.float32)
    vectors[rng.random(queries) < 0.2] = 0
    return {
        "rows": rows,
        "queries": vectors,
        "order": order,
        "place": place,
        "prefix": rng.integers(0, count + 2, queries).astype(np.int32) if draw(st.booleans()) else None,
        "excluded": excluded,
        "depth": draw(st.integers(1, 9)),
    }


def brute(load):
    """Every score by two loops, and the rows not below the depth-th."""
    rows, place, prefix, excluded = load["rows"], load["place"], load["prefix"], load["excluded"]
    found = []
    for q, vector in enumerate(load["queries"]):
        limit = len(load["order"]) if prefix is None else prefix[q]
        gone = set() if excluded is None else set(excluded[1][excluded[0][q] : excluded[0][q + 1]].tolist())
        seen = [row for row in load["order"][:limit].tolist() if row not in gone]
        scores = {row: scores_of(rows[[row if place is None else place[row]]], vector)[0] for row in seen}
        best = sorted(scores.values(), reverse=True)[: load["depth"]]
        found.append({row: score for row, score in scores.items() if score >= best[-1]})
    return found


def as_dicts(found):
    offsets, row, score = found
    assert (offsets.dtype, row.dtype, score.dtype) == (np.int64, np.int32, np.float64)
    dicts = [dict(zip(row[a:b].tolist(), score[a:b].tolist())) for a, b in pairwise(offsets)]
    assert sum(map(len, dicts)) == len(row)
    return dicts


def load_of(load):
    visible = Visible.of(load["order"], load["prefix"], load["excluded"], queries=len(load["queries"]))
    vector = load["order"] if load["place"] is None else load["place"][load["order"]]
    return DenseLoad(load["rows"], load["queries"], visible, vector)
