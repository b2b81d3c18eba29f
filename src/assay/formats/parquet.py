"""Parquet: tables of columns, with ids and dates as strings.

Reading never guesses: a column of numbers in the place of ids is an error, and dates that were stored as date or
timestamp come back as days. Writing declares every id and date as string, so that no reader takes them for numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, get_args, get_origin

import numpy as np

from assay.errors import FormatError
from assay.formats.files import StrPath, opened, replacing
from assay.formats.table import Column, Field, Lists, Part, Table, days_of, no_column
from assay.texts import Texts


def read_table(path: StrPath, fields: Mapping[str, Field]) -> Table:
    """The rows of a Parquet file as columns.

    A column that `fields` does not name is kept as text where it holds strings, numbers, booleans or dates; other such
    columns are left out and counted.

    Raises:
        FileError: The file cannot be read.
        FormatError: The file is not Parquet, or a column is missing, of another type, or null where it must not be.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    place = Path(path)
    with opened(path):
        pass
    try:
        names = pq.read_schema(place).names
        if len(set(names)) != len(names):
            raise FormatError(f"{place.name}: a column name stands twice among {', '.join(names)}; rename one")
        stored = pq.read_table(place, partitioning=None)
        # Arrow takes the bytes of texts as they are; only a full check finds what is not UTF-8.
        stored.validate(full=True)
    except (pa.ArrowException, OSError) as err:
        reason = str(err).partition("\n")[0]
        raise FormatError(f"{place.name}: not a Parquet file that can be read ({reason}); write it again") from None
    part = Part(place, 0, word=" row ")
    places = Table(stored.num_rows, {}, (part,))
    columns: dict[str, Column] = {}
    counts: dict[str, int] = {}
    for name, wanted in fields.items():
        if name in stored.column_names:
            columns[name] = _column(stored[name], wanted, places, name)
        elif wanted.required:
            raise no_column(place, name, stored.column_names)
    for name in stored.column_names:
        if name not in fields:
            text = _as_text(stored[name])
            if text is None:
                counts[f"values of column {name!r} left out (lists or objects)"] = stored.num_rows
            else:
                columns[name] = text
    return Table(stored.num_rows, columns, (part,), counts)


@dataclass(frozen=True)
class Stored:
    """What a Parquet file holds, as its own bytes say.

    Attributes:
        rows: How many.
        size: Bytes of the rows in memory, as Arrow counts them.
        columns: Name to type, in words that `datasets` knows: `string`, `int64`, `bool`, `float64`, `list<string>`.
    """

    rows: int
    size: int
    columns: Mapping[str, str]


def described(path: StrPath) -> Stored:
    """What a Parquet file holds; its row groups are read one by one.

    Raises:
        FileError: The file cannot be read.
        FormatError: The file is not Parquet.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with opened(path):
        pass
    try:
        with pq.ParquetFile(path) as file:
            groups = range(file.metadata.num_row_groups)
            size = sum(file.read_row_group(group).nbytes for group in groups)
            return Stored(file.metadata.num_rows, size, {f.name: _type_in_words(f.type) for f in file.schema_arrow})
    except (pa.ArrowException, OSError) as err:
        reason = str(err).partition("\n")[0]
        raise FormatError(f"{Path(path).name}: not a Parquet file that can be read ({reason})") from None


def _type_in_words(kind: Any) -> str:
    import pyarrow as pa

    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"list<{_type_in_words(kind.value_type)}>"
    return {"double": "float64", "float": "float32", "halffloat": "float16"}.get(str(kind), str(kind))


def write_table(columns: Mapping[str, Column], path: StrPath, *, row_group: int = 1 << 20) -> None:
    """Writes columns of equal length as Parquet; texts and days as string, NaN and NaT as null.

    The bytes depend on the columns, the rows of a row group and the version of Arrow alone.

    Raises:
        FileError: The file cannot be written.
        FormatError: The columns differ in length.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    sizes = {name: len(column) for name, column in columns.items()}
    if len(set(sizes.values())) > 1:
        raise FormatError(f"columns differ in length: {sizes}")
    table = pa.table({name: _to_arrow(column) for name, column in columns.items()})
    with replacing(path) as stream:
        pq.write_table(table, stream, compression="zstd", row_group_size=row_group)


def _to_arrow(column: Column) -> Any:
    import pyarrow as pa

    if isinstance(column, Texts):
        return _narrow(column.to_arrow())
    if isinstance(column, Lists):
        return pa.ListArray.from_arrays(pa.array(column.offsets.astype(np.int32)), _to_arrow(column.values))
    if column.dtype.kind == "M":
        return pa.array(
            [None if day == "NaT" else day for day in np.datetime_as_string(column, unit="D").tolist()], pa.string()
        )
    return pa.array(column, from_pandas=True)


def _narrow(array: Any) -> Any:
    """The array as string where its bytes fit 32-bit offsets, which more readers know than large_string."""
    import pyarrow as pa

    return array.cast(pa.string()) if array.nbytes < 2**31 - 8 * len(array) else array


def _column(stored: Any, wanted: Field, places: Table, name: str) -> Column:
    """A stored column as what is wanted."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(stored.type):
        stored = stored.cast(stored.type.value_type)
    kind = wanted.type
    if stored.null_count:
        if wanted.required:
            row = int(pc.index(stored.is_null(), True).as_py())
            raise FormatError(
                f"{places.where(row, name)}: null ({stored.null_count} such rows); every row needs a value"
            )
        stored = _filled(stored, kind)
    if kind == str | list[str]:
        if _is_text(stored.type):
            texts = _texts(stored)
            return Lists(np.arange(len(texts) + 1, dtype=np.int64), texts)
        kind = list[str]
    if get_origin(kind) is list:
        return _lists(stored, get_args(kind)[0], places, name)
    return _flat(stored, kind, places, name)


def _flat(stored: Any, kind: Any, places: Table, name: str) -> Column:
    import pyarrow as pa

    if kind is date:
        return days_of(Texts.from_arrow(_day_texts(stored, places, name)), places, name)
    if kind is str and _is_text(stored.type):
        return _texts(stored)
    if kind is bool and pa.types.is_boolean(stored.type):
        return np.asarray(stored.to_numpy(), np.bool_)
    if kind is int and pa.types.is_integer(stored.type):
        return np.asarray(stored.to_numpy(), np.int64)
    if kind is float and (pa.types.is_floating(stored.type) or pa.types.is_integer(stored.type)):
        return np.asarray(stored.to_numpy(), np.float64)
    path = places.parts[0].path.name
    word = {str: "text", int: "int", float: "number", bool: "true or false"}[kind]
    advice = "; write ids and texts as string columns" if kind is str else ""
    raise FormatError(f"{path} $.{name}: expected {word}, the column holds {stored.type}{advice}")


def _lists(stored: Any, kind: Any, places: Table, name: str) -> Lists:
    import pyarrow as pa

    array = stored.combine_chunks() if isinstance(stored, pa.ChunkedArray) else stored
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks else pa.array([], stored.type)
    if not (pa.types.is_list(array.type) or pa.types.is_large_list(array.type)):
        raise FormatError(f"{places.parts[0].path.name} $.{name}: expected lists, the column holds {array.type}")
    offsets = array.offsets.to_numpy().astype(np.int64)
    values = array.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
    if values.null_count:
        raise FormatError(f"{places.parts[0].path.name} $.{name}: {values.null_count} nulls inside lists")
    return Lists(offsets - offsets[0], _flat(values, kind, places, name))  # type: ignore[arg-type]


def _filled(stored: Any, kind: Any) -> Any:
    """The column with nulls replaced by what is empty."""
    import pyarrow as pa

    nested = pa.types.is_list(stored.type) or pa.types.is_large_list(stored.type)
    if pa.types.is_null(stored.type):
        empty = {str: "", date: "", int: 0, float: float("nan"), bool: False}.get(kind, [])
        known = {str: pa.string(), date: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
        item = known.get((get_args(kind) or (str,))[0], pa.string())
        return pa.chunked_array([pa.array([empty] * len(stored), known.get(kind, pa.list_(item)))])
    if nested:
        return pa.chunked_array([pa.array([value or [] for value in stored.to_pylist()], stored.type)])
    if _is_text(stored.type):
        return stored.fill_null("")
    if pa.types.is_boolean(stored.type):
        return stored.fill_null(False)
    if pa.types.is_temporal(stored.type):
        return stored
    return stored.cast(pa.float64()).fill_null(float("nan")) if kind is float else stored.fill_null(0)


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _day_texts(stored: Any, places: Table, name: str) -> Any:
    """Days as text, empty where null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if _is_text(stored.type):
        return stored
    if pa.types.is_timestamp(stored.type):
        floored = pc.floor_temporal(stored, unit="day")
        late = pc.sum(pc.not_equal(floored, stored)).as_py() or 0
        if late or stored.type.tz:
            raise FormatError(
                f"{places.parts[0].path.name} $.{name}: timestamps with a time of day or zone,"
                f" whose day depends on a time zone; store days as text, YYYY-MM-DD"
            )
        stored = stored.cast(pa.date32())
    if not pa.types.is_date(stored.type):
        raise FormatError(f"{places.parts[0].path.name} $.{name}: expected ISO dates, the column holds {stored.type}")
    return stored.cast(pa.string()).fill_null("")


def _as_text(stored: Any) -> Texts | None:
    """A column of scalars as text; None for other columns."""
    import pyarrow as pa

    kind = stored.type
    if pa.types.is_dictionary(kind):
        stored = stored.cast(kind.value_type)
        kind = stored.type
    if pa.types.is_floating(kind):
        stored = pa.array(["" if value is None else repr(value) for value in stored.to_pylist()], pa.string())
    elif pa.types.is_null(kind):
        stored = pa.array([""] * len(stored), pa.string())
    elif pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_temporal(kind):
        stored = stored.cast(pa.string())
    elif not _is_text(kind):
        return None
    return _texts(stored.fill_null(""))


def _texts(stored: Any) -> Texts:
    """Texts of a string column; one of more than 2 GB does not fit the offsets of its own type."""
    import pyarrow as pa

    return Texts.from_arrow(stored.cast(pa.large_string()) if stored.nbytes >= 2**31 else stored)
