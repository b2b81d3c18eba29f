"""Parquet and shards: types, dates, missing columns, folders of files."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.errors import FileError, FormatError, UsageError
from assay.formats import jsonl, parquet, shards
from assay.formats.table import Field, plain_values


def stored(folder: Path, name: str = "documents.parquet", **columns: Any) -> Path:
    pq.write_table(pa.table(columns), folder / name)
    return folder / name


def test_case_A03_both_formats_give_the_same_dates(tmp_path: Path) -> None:
    fields = {"_id": Field(str), "date": Field(date)}
    (tmp_path / "corpus.jsonl").write_text('{"_id":"1","text":"x","date":"2024-01-02"}\n')
    rows = jsonl.read_table(tmp_path / "corpus.jsonl", fields)
    assert rows.array("date").dtype == np.dtype("datetime64[D]")
    parquet.write_table(rows.columns, tmp_path / "corpus.parquet")
    assert pq.read_schema(tmp_path / "corpus.parquet").field("date").type == pa.string()
    again = parquet.read_table(tmp_path / "corpus.parquet", fields)
    as_stored = [
        again,
        parquet.read_table(stored(tmp_path, "d.parquet", _id=["1"], date=pa.array([date(2024, 1, 2)])), fields),
        parquet.read_table(stored(tmp_path, "t.parquet", _id=["1"], date=pa.array([datetime(2024, 1, 2)])), fields),
    ]
    for table in as_stored:
        assert table.array("date").dtype == rows.array("date").dtype
        assert table.array("date").tolist() == rows.array("date").tolist()


def test_a_time_of_day_is_no_date(tmp_path: Path) -> None:
    place = stored(tmp_path, date=pa.array([datetime(2024, 1, 1, 23)]))
    with pytest.raises(FormatError, match="time of day or zone"):
        parquet.read_table(place, {"date": Field(date)})


def test_numbers_are_no_ids(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"documents\.parquet \$\._id: expected text, the column holds int64"):
        parquet.read_table(stored(tmp_path, _id=[1, 2]), {"_id": Field(str)})


def test_a_missing_column_is_named_with_near_ones(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no column 'chunk_id' among chunkid, text; is it 'chunkid'"):
        parquet.read_table(stored(tmp_path, chunkid=["a"], text=["b"]), {"chunk_id": Field(str)})


def test_a_null_is_named_with_its_row(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"documents\.parquet row 2 \$\._id: null \(1 such rows\)"):
        parquet.read_table(stored(tmp_path, _id=["a", None]), {"_id": Field(str)})


def test_other_columns_are_kept_as_text(tmp_path: Path) -> None:
    place = stored(
        tmp_path,
        _id=["a", "b"],
        n=[1, None],
        x=[0.1, 2.0],
        b=[True, False],
        d=pa.array([date(2024, 1, 2), None]),
        c=pa.array(["x", "y"]).dictionary_encode(),
        nothing=pa.nulls(2),
        nested=[[1], []],
    )
    table = parquet.read_table(place, {"_id": Field(str)})
    found = {name: plain_values(column) for name, column in table.columns.items()}
    assert found == {
        "_id": ["a", "b"],
        "n": ["1", ""],
        "x": ["0.1", "2.0"],
        "b": ["true", "false"],
        "d": ["2024-01-02", ""],
        "c": ["x", "y"],
        "nothing": ["", ""],
    }
    assert table.counts == {"values of column 'nested' left out (lists or objects)": 2}


def test_nulls_of_optional_columns_read_as_empty(tmp_path: Path) -> None:
    place = stored(
        tmp_path,
        s=["a", None],
        n=pa.array([None, 3], pa.int32()),
        x=[None, 0.5],
        b=[None, True],
        l=pa.array([None, ["q"]]),
        d=["2024-01-02", None],
        none=pa.nulls(2),
    )
    kinds = {"s": str, "n": int, "x": float, "b": bool, "l": list[str], "d": date, "none": list[int]}
    table = parquet.read_table(place, {name: Field(kind, required=False) for name, kind in kinds.items()})
    found = {name: plain_values(column) for name, column in table.columns.items()}
    assert found == {
        "s": ["a", ""],
        "n": [0, 3],
        "x": [None, 0.5],
        "b": [False, True],
        "l": [[], ["q"]],
        "d": ["2024-01-02", None],
        "none": [[], []],
    }


def test_lists_in_several_row_groups_keep_their_borders(tmp_path: Path) -> None:
    rows = [[i] * (i % 3) for i in range(50)]
    pq.write_table(pa.table({"l": pa.array(rows, pa.large_list(pa.int16()))}), tmp_path / "a.parquet", row_group_size=7)
    table = parquet.read_table(tmp_path / "a.parquet", {"l": Field(list[int])})
    assert table.lists("l").to_list() == rows


def test_what_is_not_parquet_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b'{"_id":"1"}\n')
    with pytest.raises(FormatError, match=r"a\.parquet: not a Parquet file"):
        parquet.read_table(tmp_path / "a.parquet", {})
    with pytest.raises(FileError):
        parquet.read_table(tmp_path / "none.parquet", {})


def test_a_name_that_stands_twice_is_said(tmp_path: Path) -> None:
    pq.write_table(pa.table([pa.array(["x"]), pa.array(["y"])], names=["a", "a"]), tmp_path / "a.parquet")
    with pytest.raises(FormatError, match=r"a\.parquet: a column name stands twice among a, a"):
        parquet.read_table(tmp_path / "a.parquet", {})


def test_bytes_that_are_not_utf8_are_found(tmp_path: Path) -> None:
    broken = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe"))
    pq.write_table(pa.table({"a": broken}), tmp_path / "a.parquet")
    with pytest.raises(FormatError, match="Invalid UTF8"):
        parquet.read_table(tmp_path / "a.parquet", {"a": Field(str)})


@pytest.mark.parametrize(
    "names",
    [
        ["documents-00000-of-00002.parquet", "documents-00001-of-00002.parquet"],
        ["documents/part-0.parquet", "documents/part-1.parquet"],
        ["documents/train-00000-of-00002.jsonl.zst", "documents/train-00001-of-00002.jsonl.zst"],
    ],
)
def test_shards_are_one_table(tmp_path: Path, names: list[str]) -> None:
    (tmp_path / "documents").mkdir()
    for number, name in enumerate(names):
        shards.write({"_id": parquet_ids(number), "n": np.arange(2)}, tmp_path / name)
    files = shards.files_of(tmp_path, "documents")
    assert [file.relative_to(tmp_path).as_posix() for file in files] == names
    table = shards.read(files, {"_id": Field(str), "n": Field(int)})
    assert table.text("_id").to_list() == ["0a", "0b", "1a", "1b"]
    assert table.array("n").tolist() == [0, 1, 0, 1]
    assert table.where(2).startswith(files[1].name)
    assert table.where(2).endswith("1")


def parquet_ids(number: int) -> Any:
    from assay.texts import Texts

    return Texts.of([f"{number}a", f"{number}b"])


def test_a_missing_shard_is_said(tmp_path: Path) -> None:
    for number in (0, 2):
        shards.write({"_id": parquet_ids(number)}, tmp_path / f"documents-0000{number}-of-00003.parquet")
    with pytest.raises(FormatError, match=r"2 of 3 shards .* \(first missing: 1\)"):
        shards.files_of(tmp_path, "documents")


def test_a_text_column_may_be_missing_from_a_shard(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"_id":"1","extra":"x"}\n')
    (tmp_path / "b.jsonl").write_text('{"_id":"2"}\n')
    table = shards.read((tmp_path / "a.jsonl", tmp_path / "b.jsonl"), {"_id": Field(str)})
    assert table.text("extra").to_list() == ["x", ""]


def test_tables_are_written_by_suffix_alone(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"a\.csv: tables are written as"):
        shards.write({"_id": parquet_ids(0)}, tmp_path / "a.csv")
