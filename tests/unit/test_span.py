"""Spans: half-open, and one overlap rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import SpanError
from assay.span import Span, Spans

rows = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 25), st.integers(0, 10)).map(lambda t: (t[0], t[1], t[1] + t[2])),
    max_size=12,
)


@given(rows, rows, st.integers(1, 4))
def test_overlaps_are_those_of_the_definition(
    mine: list[tuple[int, int, int]], others: list[tuple[int, int, int]], least: int
) -> None:
    here, there = Spans.of(*mine).overlaps(Spans.of(*others), min_characters=least)
    want = [
        (i, j)
        for i, (d, a, b) in enumerate(mine)
        for j, (e, c, f) in enumerate(others)
        if d == e and min(b, f) - max(a, c) >= least
    ]
    assert list(zip(here.tolist(), there.tolist(), strict=True)) == want


def test_touching_spans_share_nothing() -> None:
    assert Span(0, 10).shared(Span(10, 20)) == 0
    assert Span(0, 10).shared(Span(9, 20)) == 1
    assert Span(0, 0).shared(Span(0, 5)) == 0


def test_zero_length_is_kept_and_reported() -> None:
    spans = Spans.of((0, 3, 3), (0, 1, 5))
    assert spans.empty.tolist() == [0]
    assert spans.lengths.tolist() == [0, 4]


@pytest.mark.parametrize("row", [(0, 5, 4), (0, -1, 3)])
def test_reversed_and_negative_spans_are_refused(row: tuple[int, int, int]) -> None:
    with pytest.raises(SpanError, match="row 2"):
        Spans.of((0, 0, 1), row)
