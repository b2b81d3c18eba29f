"""JSON Lines: typed rows, errors with places, round trips."""

from __future__ import annotations

import json
import tempfile
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import DuplicateIdError, FormatError
from assay.formats import jsonl, parquet, shards
from assay.formats.table import Column, Field, Lists, column_of, plain_values
from assay.texts import Texts

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SIZES = st.integers(-(2**63), 2**63 - 1)
ROW = st.fixed_dictionaries(
    {
        "_id": TEXT,
        "n": SIZES,
        "x": st.floats(allow_nan=False, allow_infinity=False),
        "b": st.booleans(),
        "d": st.dates().map(date.isoformat),
        "names": st.lists(TEXT, max_size=3),
        "numbers": st.lists(SIZES, max_size=3),
        "either": st.one_of(TEXT, st.lists(TEXT, max_size=2)),
    }
)
FIELDS = {
    "_id": Field(str),
    "n": Field(int),
    "x": Field(float),
    "b": Field(bool),
    "d": Field(date),
    "names": Field(list[str]),
    "numbers": Field(list[int]),
    "either": Field(str | list[str]),
}


def written(folder: Path, content: bytes | str, name: str = "queries.jsonl") -> Path:
    place = folder / name
    place.write_bytes(content.encode() if isinstance(content, str) else content)
    return place


def failing(folder: Path, content: bytes | str, **fields: Field) -> str:
    with pytest.raises(FormatError) as caught:
        jsonl.read_table(written(folder, content), fields or {"_id": Field(str)})
    return str(caught.value)


@settings(max_examples=40, deadline=None)
@given(rows=st.lists(ROW, max_size=6), suffix=st.sampled_from(shards.SUFFIXES[:3]))
def test_rows_come_back_as_they_were_written(rows: list[dict[str, object]], suffix: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / f"rows{suffix}"
        jsonl.write_rows(rows, place)
        table = jsonl.read_table(place, FIELDS)
        assert len(table) == len(rows)
        for name in FIELDS:
            expected = [row[name] for row in rows]
            if name == "either":
                expected = [[value] if isinstance(value, str) else value for value in expected]
            assert plain_values(table.columns[name]) == expected


@settings(max_examples=40, deadline=None)
@given(rows=st.lists(ROW, max_size=6), suffix=st.sampled_from(shards.SUFFIXES))
def test_columns_come_back_from_every_format(rows: list[dict[str, object]], suffix: str) -> None:
    kinds = {name: wanted.type for name, wanted in FIELDS.items() if name not in ("d", "either")}
    columns: dict[str, Column] = {name: column_of([row[name] for row in rows], kind) for name, kind in kinds.items()}
    columns["d"] = np.array([row["d"] for row in rows], "datetime64[D]")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / f"rows{suffix}"
        shards.write(columns, place)
        table = shards.read((place,), {name: FIELDS[name] for name in columns})
        for name, column in columns.items():
            assert plain_values(table.columns[name]) == plain_values(column)
        shards.write(table.columns, Path(folder) / f"again{suffix}")
        assert (Path(folder) / f"again{suffix}").read_bytes() == place.read_bytes()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(["a", "b", "c"]), TEXT), min_size=1, max_size=8))
def test_columns_may_begin_anywhere(rows: list[dict[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "rows.jsonl"
        jsonl.write_rows(rows, place)
        table = jsonl.read_table(place, {})
        for name in {name for row in rows for name in row}:
            assert table.text(name).to_list() == [row.get(name, "") for row in rows]


def test_many_blocks_are_one_table(tmp_path: Path) -> None:
    rows = [{"_id": str(i), "text": "é" * (i % 977), **({"late": "x"} if i > 3900 else {})} for i in range(4000)]
    place = tmp_path / "corpus.jsonl"
    jsonl.write_rows(rows, place)
    assert place.stat().st_size > 3 << 20
    table = jsonl.read_table(place, {"_id": Field(str), "text": Field(str)})
    assert table.text("text").to_list() == [row["text"] for row in rows]
    assert table.text("late").to_list() == [row.get("late", "") for row in rows]
    assert table.where(3999, "text") == "corpus.jsonl:4000 $.text"


def test_an_error_far_down_names_its_line(tmp_path: Path) -> None:
    rows = [{"_id": str(i), "text": "x" * 900} for i in range(4000)]
    lines = [json.dumps(row) for row in rows]
    lines[3500] = '{"_id": "3500", "text": 7}'
    message = failing(tmp_path, "\n".join(lines), _id=Field(str), text=Field(str))
    assert message.startswith("queries.jsonl:3501 $.text: expected text, got 7")


def test_blank_lines_and_a_mark_keep_line_numbers(tmp_path: Path) -> None:
    place = written(
        tmp_path, b'\xef\xbb\xbf{"_id":"1","x":1}\n\n \r\n{"_id":"2","x":true,"y":[1]}\r\n{"_id":"3","x":null}'
    )
    table = jsonl.read_table(place, {"_id": Field(str)})
    assert table.text("_id").to_list() == ["1", "2", "3"]
    assert table.text("x").to_list() == ["1", "true", ""]
    assert table.where(2) == "queries.jsonl:5"
    assert table.counts["byte-order mark stripped"] == 1
    assert table.counts["values of column 'y' left out (lists or objects)"] == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            b'{"_id":"1"}\n{"_id":"2","te',
            "queries.jsonl:2: the line ends in the middle of its JSON, and so does the file",
        ),
        (b'{"_id":"1"}\n{"_id":"2",\n{"_id":"3"}\n', "queries.jsonl:2: not JSON"),
        (b"PAR1\0\0\0\0\n", "queries.jsonl:1: binary data"),
        (b'{"_id":"\xff"}\n', "queries.jsonl:1: byte 0xFF at byte 8 of the line is not UTF-8"),
        (b"[1]\n", "queries.jsonl:1: expected a JSON object, got [1]"),
        (b'{"_id":null}\n', "queries.jsonl:1 $._id: expected text, got null"),
        (b'{"id":"1"}\n', "queries.jsonl:1 $._id: missing"),
        (b'{"_id":"1","x":NaN}\n', "queries.jsonl:1: NaN is not JSON"),
        (b'{"_id":"1"} {"_id":"2"}\n', "queries.jsonl:1: not JSON: Extra data"),
        (b'{"_id":"1","x":' + b"[" * 9999 + b"]" * 9999 + b"}\n", "queries.jsonl:1: nested too deeply"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    assert failing(tmp_path, content).startswith(said)


def test_a_wrong_type_is_named_with_its_value(tmp_path: Path) -> None:
    assert failing(tmp_path, '{"n":1}\n{"n":"x"}', n=Field(int)).startswith(
        'queries.jsonl:2 $.n: expected int, got "x"'
    )
    assert "$.l[1]: expected int, got 2.5" in failing(tmp_path, '{"l":[1,2.5]}', l=Field(list[int]))
    assert "$.a: expected text or list of text, got 7" in failing(tmp_path, '{"a":7}', a=Field(str | list[str]))
    assert "$.a[0]: expected text, got 7" in failing(tmp_path, '{"a":[7]}', a=Field(str | list[str]))
    assert "$.n: expected int, got 99999999999999999999" in failing(
        tmp_path, '{"n":99999999999999999999}', n=Field(int)
    )
    assert "$.n: expected int, got true" in failing(tmp_path, '{"n":true}', n=Field(int))


def test_a_missing_optional_column_is_absent(tmp_path: Path) -> None:
    fields = {"_id": Field(str), "n": Field(int, required=False), "d": Field(date, required=False)}
    assert "n" not in jsonl.read_table(written(tmp_path, '{"_id":"1"}\n{"_id":"2","n":null}\n'), fields)
    table = jsonl.read_table(written(tmp_path, '{"_id":"1","d":"2024-01-02"}\n{"_id":"2","n":5}\n'), fields)
    assert table.array("n").tolist() == [0, 5]
    assert plain_values(table.columns["d"]) == ["2024-01-02", None]


def test_an_empty_file_is_an_empty_table(tmp_path: Path) -> None:
    table = jsonl.read_table(written(tmp_path, b""), FIELDS)
    assert len(table) == 0
    assert all(len(table.columns[name]) == 0 for name in FIELDS)


@pytest.mark.parametrize(
    "day", ["2024-9-30", "2024-09-31", "30.09.2024", "2024-09-30T00:00:00Z", "2024-W01-1", "2024", "٢٠٢٤-01-01"]
)
def test_a_date_that_is_not_iso_is_named(tmp_path: Path, day: str) -> None:
    message = failing(tmp_path, json.dumps({"d": "2024-01-01"}) + "\n" + json.dumps({"d": day}), d=Field(date))
    assert message.startswith("queries.jsonl:2 $.d: ")
    assert "is not an ISO date" in message


def test_case_I13_lines_end_at_newlines_alone(tmp_path: Path) -> None:
    place = written(tmp_path, '{"_id":"1","text":"a\u2028b\u0085c"}\n{"_id":"2","text":"z"}\n', "corpus.jsonl")
    table = jsonl.read_table(place, {"_id": Field(str), "text": Field(str)})
    assert len(table) == 2
    assert table.text("text")[0] == "a\u2028b\u0085c"


def test_case_I14_a_lone_surrogate_is_named(tmp_path: Path) -> None:
    message = failing(tmp_path, r'{"_id":"1","text":"bad \ud83d end"}', _id=Field(str), text=Field(str))
    assert message.startswith("queries.jsonl:1 $.text: lone surrogate U+D83D at character 4")


@pytest.mark.parametrize("escape", [r"\ud83d", r"\ude00", r"\ud83d\u0041", r"\ude00\ud83d"])
def test_surrogates_out_of_pairs_are_found_anywhere(tmp_path: Path, escape: str) -> None:
    content = '{"_id":"1","text":"fine"}\n{"_id":"2","deep":{"list":["ab' + escape + '"]}}'
    message = failing(tmp_path, content)
    assert message.startswith("queries.jsonl:2 $.deep.list[0]: lone surrogate U+D")
    assert "at character 2" in message


def test_case_P02_a_number_is_no_id(tmp_path: Path) -> None:
    message = failing(tmp_path, '{"_id":1,"text":"x"}\n{"_id":"2","text":"y"}\n')
    assert message.startswith("queries.jsonl:1 $._id: expected text, got 1")
    assert "JSON strings" in message


def test_case_P03_ids_that_look_like_dates_stay_text(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = {"_id": Field(str), "text": Field(str)}
    table = jsonl.read_table(written(tmp_path, '{"_id":"2024-01-02","text":"x"}'), fields)
    assert table.text("_id").to_list() == ["2024-01-02"]
    parquet.write_table(table.columns, tmp_path / "corpus.parquet")
    assert pq.read_schema(tmp_path / "corpus.parquet").field("_id").type == pa.string()
    assert parquet.read_table(tmp_path / "corpus.parquet", fields).text("_id").to_list() == ["2024-01-02"]


def test_case_D03_an_id_with_two_texts_is_named(tmp_path: Path) -> None:
    place = written(tmp_path, '{"_id":"44","text":"ferry to the island"}\n{"_id":"44","text":"rent a boat"}')
    table = jsonl.read_table(place, {"_id": Field(str), "text": Field(str)})
    with pytest.raises(DuplicateIdError, match=r"query id 44 appears at lines 1 and 2 .* with different text"):
        table.ids("_id", what="query", text="text")


def test_the_same_text_twice_is_said(tmp_path: Path) -> None:
    place = written(tmp_path, '{"_id":"44","text":"a"}\n\n{"_id":"44","text":"a"}')
    table = jsonl.read_table(place, {"_id": Field(str), "text": Field(str)})
    with pytest.raises(DuplicateIdError, match=r"lines 1 and 3 of queries\.jsonl with the same text"):
        table.ids("_id", what="query", text="text")


def test_an_empty_id_is_named(tmp_path: Path) -> None:
    table = jsonl.read_table(written(tmp_path, '{"_id":"1"}\n{"_id":""}'), {"_id": Field(str)})
    with pytest.raises(FormatError, match=r"queries\.jsonl:2 \$\._id: the query id is empty"):
        table.ids("_id", what="query")


def test_columns_of_different_length_are_not_written(tmp_path: Path) -> None:
    columns: dict[str, Column] = {"a": Texts.of(["1"]), "b": Lists(np.array([0, 1, 2]), Texts.of(["x", "y"]))}
    with pytest.raises(FormatError, match="differ in length"):
        jsonl.write_table(columns, tmp_path / "a.jsonl")
    assert not (tmp_path / "a.jsonl").exists()


def test_an_object_comes_back(tmp_path: Path) -> None:
    jsonl.write_object({"b": 1, "a": ["é"]}, tmp_path / "m.json")
    assert jsonl.read_object(tmp_path / "m.json") == {"b": 1, "a": ["é"]}
    with pytest.raises(FormatError, match=r"m\.json: not one JSON object"):
        jsonl.read_object(written(tmp_path, "[1]", "m.json"))
