"""Ids: text outside, row numbers inside, byte order for ties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import DuplicateIdError, UnknownIdError
from assay.ids import Ids
from assay.texts import Texts

ids = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), unique=True, max_size=30)


@given(ids, ids)
def test_codes_and_rank(mine: list[str], others: list[str]) -> None:
    table = Ids.of(mine)
    assert [table.code(i) for i in mine] == list(range(len(mine)))
    want = [mine.index(o) if o in mine else -1 for o in others]
    assert table.codes(others).tolist() == want
    assert table.codes(Texts.of(others)).tolist() == want
    assert table.codes(Ids.of(others)).tolist() == want
    by_bytes = sorted(mine, key=lambda i: i.encode())
    assert [by_bytes.index(i) for i in mine] == table.rank.tolist()


def test_ids_stay_text() -> None:
    table = Ids.of(["001", "1", "1e5", "NA", "2024-01-02"])
    assert table.codes(["1", "01", "100000.0"]).tolist() == [1, -1, -1]
    assert list(table)[-1] == "2024-01-02"


def test_duplicates_name_both_rows() -> None:
    with pytest.raises(DuplicateIdError, match="query id 'b' stands at rows 2 and 4"):
        Ids.of(["a", "b", "c", "b"], what="query id")


def test_an_unknown_id_is_named() -> None:
    with pytest.raises(UnknownIdError, match="no id 'x'"):
        Ids.of(["a"]).code("x")
    assert "a" in Ids.of(["a"])
    assert "x" not in Ids.of(["a"])


def test_equality_is_by_content() -> None:
    assert Ids.of(["a", "b"]) == Ids.of(["a", "b"])
    assert Ids.of(["a", "b"]) != Ids.of(["b", "a"])
