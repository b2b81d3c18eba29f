"""Judgements of several splits together."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.building.splits import union
from assay.errors import DataError
from assay.qrels import Qrels

PAIRS = st.dictionaries(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), st.integers(0, 2), max_size=6)


@settings(deadline=None)
@given(st.lists(PAIRS, max_size=4))
def test_a_union_is_that_of_dictionaries(parts: list[dict[tuple[str, str], int]]) -> None:
    merged: dict[tuple[str, str], int] = {}
    clash = False
    for part in parts:
        for pair, grade in part.items():
            clash = clash or merged.setdefault(pair, grade) != grade
    qrels = [Qrels.of((q, p, g) for (q, p), g in part.items()) for part in parts]
    if clash:
        with pytest.raises(DataError, match="a pair has one grade"):
            union(qrels)
        return
    found = union(qrels)
    assert {(q, p): g for q, p, g in found.triples()} == merged
    assert list(found.queries) == list(dict.fromkeys(q for part in qrels for q in part.queries))
