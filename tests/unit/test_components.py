"""Connected components and what is made of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.building.ties import chains, cluster_labels, shared_passage
from assay.ids import Ids
from assay.kernels.components import component_labels
from assay.qrels import Qrels


@settings(deadline=None)
@given(st.integers(1, 30), st.data())
def test_labels_are_those_of_a_search(n: int, data: st.DataObject) -> None:
    pairs = data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=40))
    table = np.array(pairs, np.int64).reshape(-1, 2)
    expected = list(range(n))
    for _ in range(n):
        for left, right in pairs:
            low = min(expected[left], expected[right])
            expected = [low if label in (expected[left], expected[right]) else label for label in expected]
    order = {label: place for place, label in enumerate(sorted(set(expected)))}
    assert component_labels(n, table[:, 0], table[:, 1]).tolist() == [order[label] for label in expected]


def test_a_long_chain_is_one_component() -> None:
    rng = np.random.RandomState(0)
    order = rng.permutation(20000)
    labels = component_labels(20000, order[:-1], order[1:])
    assert labels.max() == 0


def test_queries_with_a_passage_in_common_are_tied() -> None:
    qrels = Qrels.of([("a", "x", 1), ("b", "x", 1), ("c", "x", 0), ("d", "y", 2), ("gone", "y", 1), ("a", "y", 1)])
    pairs = shared_passage(Ids.of(["a", "b", "c", "d"]), qrels)
    assert cluster_labels(4, [pairs]).tolist() == [0, 0, 1, 0]


def test_no_ties_are_clusters_of_one() -> None:
    assert cluster_labels(3, []).tolist() == [0, 1, 2]
    assert chains(np.zeros(0, np.int64), np.zeros(0, np.int64)).shape == (0, 2)
