"""Rows: objects whose columns have declared types, as JSON Lines and Parquet, written with nulls and read back whole.

A type is one of `string`, `int64`, `float64`, `bool` and `list<string>`, in the words of `datasets`; every value may be
null. So a column that is null in every row, or a list that is empty in every row, has its type all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from assay.errors import FormatError
from assay.formats import jsonl
from assay.formats.files import StrPath, opened, replacing
from assay.formats.table import quoted

Kinds = Mapping[str, str]

STRING, INTEGER, FLOAT, BOOL, STRINGS = "string", "int64", "float64", "bool", "list<string>"
_OF: dict[str, frozenset[type]] = {
    STRING: frozenset((str,)),
    INTEGER: frozenset((int,)),
    FLOAT: frozenset((float, int)),
    BOOL: frozenset((bool,)),
    STRINGS: frozenset((list, tuple)),
}
_WORDS = {
    STRING: "text",
    INTEGER: "a whole number",
    FLOAT: "a number",
    BOOL: "true or false",
    STRINGS: "a list of texts",
}
_GROUP = 10_000


def kinds_of(
    rows: Sequence[Mapping[str, Any]], known: Kinds, *, what: str, required: Iterable[str] = ()
) -> dict[str, str]:
    """The type of every column: those of `known` first, in order, then what the rows have besides, as first met.

    A further column is `string` where every row has null there.

    Args:
        rows: The rows; a column that a row lacks is null in it.
        known: Columns that the table has in any case, with their types.
        what: What the rows are called in messages: `corpus`.
        required: Columns that are null in no row.

    Raises:
        FormatError: A value is of another type than its column, two rows disagree on a further column, or a required
            value is null; the message names the row, counted from 1.

    Example:
        >>> kinds_of([{"_id": "a", "uin": None}, {"_id": "b", "cut": True}], {"_id": "string"}, what="corpus")
        {'_id': 'string', 'uin': 'string', 'cut': 'bool'}
    """
    kinds = dict(known)
    for name in dict.fromkeys(name for row in rows for name in row):
        kinds.setdefault(name, "")
    must = set(required)
    for name, kind in kinds.items():
        values = [row.get(name) for row in rows]
        met = set(map(type, values))
        kinds[name] = kind = kind or next((k for k, types in _OF.items() if met & types), STRING)
        if not met <= (_OF[kind] if name in must else _OF[kind] | {type(None)}):
            raise _wrong(values, kind, place=f"{what} row", name=name, null=name not in must)
        if kind == STRINGS:
            _refuse_items(values, what=what, name=name)
    return kinds


def _wrong(values: list[Any], kind: str, *, place: str, name: str, null: bool) -> FormatError:
    wrong = [row for row, v in enumerate(values) if not (type(v) in _OF[kind] or (null and v is None))]
    said = values[wrong[0]]
    shown = quoted(said) if isinstance(said, str | int | float | bool | list | dict | None) else type(said).__name__
    return FormatError(
        f"{place} {wrong[0] + 1} $.{name}: expected {_WORDS[kind]}, got {shown} ({len(wrong)} such rows); write ids and"
        " dates as text, and give every value of a column one type"
    )


def _refuse_items(values: list[Any], *, what: str, name: str) -> None:
    for row, value in enumerate(values):
        bad = next((item for item in (value or ()) if not isinstance(item, str)), "")
        if not isinstance(bad, str):
            raise FormatError(f"{what} row {row + 1} $.{name}: a list of texts holds {quoted(bad)}; write it as text")


def whole(rows: Iterable[Mapping[str, Any]], kinds: Kinds) -> Iterator[dict[str, Any]]:
    """The rows with every column in order, null where a row lacks it.

    Example:
        >>> list(whole([{"b": ("x",)}], {"a": "string", "b": "list<string>"}))
        [{'a': None, 'b': ['x']}]
    """
    lists = [name for name, kind in kinds.items() if kind == STRINGS]
    for row in rows:
        full = {name: row.get(name) for name in kinds}
        for name in lists:
            if type(full[name]) is tuple:
                full[name] = list(full[name] or ())
        yield full


def write_jsonl(rows: Iterable[Mapping[str, Any]], kinds: Kinds, path: StrPath) -> None:
    """Writes rows as JSON Lines, every column in every line.

    Raises:
        FormatError: A text holds a lone surrogate, which UTF-8 cannot write.
        FileError: The file cannot be written.
    """
    jsonl.write_rows(whole(rows, kinds), path)


def write_parquet(rows: Iterable[Mapping[str, Any]], kinds: Kinds, path: StrPath) -> None:
    """Writes rows as Parquet in groups of 10,000, every column with its type, whatever the rows hold.

    The bytes depend on rows, types and the version of Arrow alone.

    Raises:
        FileError: The file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrow = {STRING: pa.string(), INTEGER: pa.int64(), FLOAT: pa.float64(), BOOL: pa.bool_()}
    schema = pa.schema(
        [(name, pa.list_(pa.string()) if kind == STRINGS else arrow[kind]) for name, kind in kinds.items()]
    )
    with replacing(path) as stream, pq.ParquetWriter(stream, schema, compression="zstd") as writer:
        remaining = iter(rows)
        while group := list(islice(remaining, _GROUP)):
            columns = [pa.array([row.get(field.name) for row in group], field.type) for field in schema]
            writer.write_table(pa.table(columns, schema=schema), row_group_size=_GROUP)


def read_jsonl(path: StrPath) -> Iterator[dict[str, Any]]:
    """The rows of a JSON Lines file as they stand there, one by one.

    Raises:
        FormatError: A line is no JSON object.
    """
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    with opened(path) as stream:
        for number, line in enumerate(stream, 1):
            try:
                yield decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
                raise FormatError(f"{Path(path).name}:{number}: not a JSON object ({err})") from None


def read_parquet(path: StrPath) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file, one by one."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(_GROUP):
            yield from batch.to_pylist()
