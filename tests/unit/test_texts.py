"""Texts: strings in a buffer behave as a list of strings."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import FormatError
from assay.texts import Texts

strings = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), max_size=30)


@given(strings)
def test_rows_lengths_and_order_are_those_of_python(rows: list[str]) -> None:
    texts = Texts.of(rows)
    assert texts.to_list() == rows == list(texts)
    assert [texts[i] for i in range(len(rows))] == rows
    assert texts.lengths.tolist() == [len(r) for r in rows]
    assert texts.utf16_lengths.tolist() == [len(r.encode("utf-16-le")) // 2 for r in rows]
    assert texts.byte_order().tolist() == sorted(range(len(rows)), key=lambda i: rows[i].encode())


@given(strings, strings, st.data())
def test_take_and_lookup(rows: list[str], other: list[str], data: st.DataObject) -> None:
    texts = Texts.of(rows)
    if rows:
        picked = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=20))
        assert texts.take(np.asarray(picked, np.int64)).to_list() == [rows[i] for i in picked]
    want = [other.index(r) if r in other else -1 for r in rows]
    assert texts.first_rows_in(Texts.of(other)).tolist() == want


def test_large_and_small_paths_agree() -> None:
    rng = np.random.default_rng(0)
    rows = ["".join(chr(c) for c in rng.choice([97, 98, 233, 0x4E2D, 0x1F642], n)) for n in rng.integers(0, 5, 3000)]
    texts = Texts.of(rows)
    picked = rng.integers(0, 3000, 2500)
    assert texts.take(picked).to_list() == [rows[i] for i in picked]
    assert [rows[i].encode() for i in texts.byte_order()] == sorted(r.encode() for r in rows)
    first: dict[str, int] = {}
    for i, r in enumerate(rows):
        first.setdefault(r, i)
    assert texts.first_rows_in(texts).tolist() == [first[r] for r in rows]
    long = Texts.of(["é" * 400_000, "", "a" * 300_000])
    assert long.lengths.tolist() == [400_000, 0, 300_000]


@pytest.mark.parametrize(("few", "many"), [(300, 9000), (9000, 300), (0, 9000)])
def test_first_rows_are_found_whichever_side_is_larger(few: int, many: int) -> None:
    rng = np.random.default_rng(0)
    one, other = (Texts.of([f"é{n}" for n in rng.integers(0, 4000, size)]) for size in (few, many))
    first: dict[str, int] = {}
    for row, text in enumerate(other):
        first.setdefault(text, row)
    assert one.first_rows_in(other).tolist() == [first.get(text, -1) for text in one]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_arrow_both_ways(kind: pa.DataType) -> None:
    array = pa.array(["a", "", "été", "a"]).cast(kind)
    assert Texts.from_arrow(array).to_list() == ["a", "", "été", "a"]
    assert Texts.from_arrow(array.slice(1, 2)).to_list() == ["", "été"]
    assert Texts.from_arrow(pa.chunked_array([array, array])).to_list() == ["a", "", "été", "a"] * 2
    assert Texts.from_arrow(array.slice(0, 0)).to_list() == []
    assert Texts.from_arrow(array).to_arrow().to_pylist() == ["a", "", "été", "a"]


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(FormatError, match=r"lone surrogate \(U\+D83D\) at character 4"):
        Texts.of(["fine", "bad \ud83d end"])
    with pytest.raises(FormatError, match="1 nulls"):
        Texts.from_arrow(pa.array(["a", None]))
    with pytest.raises(FormatError, match="must hold strings, found int64"):
        Texts.from_arrow(pa.array([1]))
    with pytest.raises(IndexError):
        Texts.of(["a"])[1]


def test_digest_tells_rows_apart_that_share_bytes() -> None:
    assert Texts.of(["ab", "c"]).digest != Texts.of(["a", "bc"]).digest
    assert Texts.of(["ab", "c"]).digest == Texts.of(["ab", "c"]).digest
    assert Texts.of(["ab", "c"]) != Texts.of(["a", "bc"])


def test_short_and_long_rows_take_different_ways_to_one_order() -> None:
    rng = np.random.default_rng(1)
    letters = ["a", "b", "\x00", "é", "中", "-"]
    rows = ["".join(rng.choice(letters, n)) for n in rng.integers(0, 12, 4000)]
    short, long = Texts.of(rows), Texts.of([*rows, "z" * 100])
    assert short._short
    assert not long._short
    by_bytes = sorted(range(len(rows)), key=lambda i: rows[i].encode())
    assert short.byte_order().tolist() == by_bytes
    assert [i for i in long.byte_order().tolist() if i < len(rows)] == by_bytes
    asked = Texts.of([*rows[::3], *(r + "x" for r in rows[:1000])])
    want = long.take(np.arange(len(rows))).first_rows_in(long)
    assert short.first_rows_in(short).tolist() == want.tolist()
    assert asked.first_rows_in(short).tolist() == asked.first_rows_in(long).tolist()
    assert Texts.of([]).first_rows_in(short).tolist() == []
    assert short.first_rows_in(Texts.of([])).tolist() == [-1] * len(rows)
