"""Tables: what a file of rows holds, as columns, whatever the file's format."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, cast, get_args, get_origin

import numpy as np
import numpy.typing as npt

from assay.errors import DuplicateIdError, FormatError
from assay.ids import Ids
from assay.texts import Texts

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Days = npt.NDArray[np.datetime64]

_ARRAYS = {int: np.int64, float: np.float64, bool: np.bool_}


@dataclass(frozen=True, eq=False)
class Lists:
    """One list a row: row `i` is `values[offsets[i]:offsets[i + 1]]`; `values` is a flat column."""

    offsets: Integers
    values: Texts | npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def owner(self) -> Integers:
        """The row of every value, int64."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.offsets))

    def to_list(self) -> list[list[Any]]:
        """The rows as Python lists."""
        flat, cut = plain_values(self.values), self.offsets.tolist()
        return [flat[a:b] for a, b in pairwise(cut)]


Column = Texts | npt.NDArray[Any] | Lists


@dataclass(frozen=True)
class Field:
    """What a column must hold.

    Attributes:
        type: `str`, `int`, `float`, `bool`, `date` (ISO text), `list[str]`, `list[int]`, `list[float]`,
            or `str | list[str]` (read as lists).
        required: Every row must have a value. Otherwise a missing value or null reads as `""`, 0, NaN, False, NaT or
            the empty list, and a column that no row has is not in the table.
    """

    type: Any
    required: bool = True


@dataclass(frozen=True)
class Part:
    """Rows of a table that come from one file.

    `first` is the table's row at which the file starts; `lines` the line of each of its rows, None where row `i` is on
    line `i + 1`; `word` is what a row is called in messages (`:` for lines, ` row ` for tables without lines).
    """

    path: Path
    first: int
    lines: Integers | None = None
    word: str = ":"

    def place(self, row: int) -> str:
        """Where the file's row `row` stands: `queries.jsonl:71`."""
        line = row + 1 if self.lines is None else int(self.lines[row])
        return f"{self.path.name}{self.word}{line}"


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length, with the places of their rows for messages.

    `counts` says what was left out or met on the way, with reasons as keys.
    """

    rows: int
    columns: Mapping[str, Column]
    parts: tuple[Part, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.rows

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __repr__(self) -> str:
        return f"<Table: {self.rows} rows of {', '.join(self.columns)}>"

    def text(self, name: str) -> Texts:
        """A text column."""
        return cast(Texts, self.columns[name])

    def array(self, name: str) -> npt.NDArray[Any]:
        """A column of numbers, flags or days."""
        return cast(npt.NDArray[Any], self.columns[name])

    def lists(self, name: str) -> Lists:
        """A column of lists."""
        return cast(Lists, self.columns[name])

    def where(self, row: int, name: str = "") -> str:
        """The place of a row, and of a field in it: `queries.jsonl:71 $.frag_end_char`."""
        part = max((p for p in self.parts if p.first <= row), key=lambda p: p.first, default=None)
        place = f"row {row + 1}" if part is None else part.place(row - part.first)
        return f"{place} $.{name}" if name else place

    def ids(self, name: str, *, what: str, text: str = "") -> Ids:
        """A text column as ids.

        Args:
            name: The column.
            what: What an id names, for messages: "query", "passage".
            text: A text column; a repeated id is said to have the same or a different text there.

        Raises:
            FormatError: An id is empty.
            DuplicateIdError: An id stands twice; the message names it and both places.
        """
        ids = Ids(self.text(name))
        empty = np.flatnonzero(ids.texts.byte_lengths == 0)
        if len(empty):
            raise FormatError(f"{self.where(int(empty[0]), name)}: the {what} id is empty ({len(empty)} such rows)")
        first = ids.texts.first_rows_in(ids.texts)
        again = np.flatnonzero(first != np.arange(len(ids)))
        if len(again):
            raise self._repeated(ids, int(first[again[0]]), int(again[0]), what=what, text=text, number=len(again))
        return ids

    def _repeated(self, ids: Ids, one: int, two: int, *, what: str, text: str, number: int) -> DuplicateIdError:
        texts = self.columns.get(text)
        same = "" if not isinstance(texts, Texts) else " with the same text"
        if isinstance(texts, Texts) and texts[one] != texts[two]:
            same = " with different text"
        first, _, line = self.where(one).rpartition(":")
        second, _, other = self.where(two).rpartition(":")
        place = (
            f"lines {line} and {other} of {first}"
            if first and first == second
            else f"{self.where(one)} and {self.where(two)}"
        )
        return DuplicateIdError(
            f"{what} id {ids[one]} appears at {place}{same} ({number} repeated in all); every {what} id must be unique"
        )

    def noted(self, what: str) -> dict[str, int]:
        """The counts, each under what the table is (`queries: byte-order mark stripped`)."""
        return {f"{what}: {reason}": number for reason, number in self.counts.items()}

    def others(self, fields: Iterable[str]) -> dict[str, Texts]:
        """The text columns that are not among `fields`."""
        known = set(fields)
        return {n: c for n, c in self.columns.items() if n not in known and isinstance(c, Texts)}


def stacked(tables: list[Table]) -> Table:
    """Tables below each other; a text column that one of them lacks reads as empty there.

    Raises:
        FormatError: A column that is not text is missing from one of them.
    """
    if len(tables) == 1:
        return tables[0]
    names = list(dict.fromkeys(name for table in tables for name in table.columns))
    columns = {name: joined([t.columns.get(name, empty_texts(len(t))) for t in tables]) for name in names}
    parts: list[Part] = []
    counts: dict[str, int] = {}
    first = 0
    for table in tables:
        parts += [Part(p.path, p.first + first, p.lines, p.word) for p in table.parts]
        first += len(table)
        for reason, number in table.counts.items():
            counts[reason] = counts.get(reason, 0) + number
    return Table(first, columns, tuple(parts), counts)


def column_of(values: list[Any], kind: Any) -> Column:
    """A column of Python values; `kind` is a `Field`'s type.

    Example:
        >>> column_of(["a", ["b", "c"]], str | list[str]).to_list()
        [['a'], ['b', 'c']]
    """
    if kind is str:
        return _texts_of(values)
    if kind in _ARRAYS:
        return np.asarray(values, _ARRAYS[kind]).reshape(-1)
    if get_origin(kind) is not list:
        values = [[value] if isinstance(value, str) else value for value in values]
        kind = list[str]
    offsets = np.zeros(len(values) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, values), np.int64, len(values)), out=offsets[1:])
    flat = column_of(list(chain.from_iterable(values)), get_args(kind)[0])
    return Lists(offsets, cast(Any, flat))


def _texts_of(values: list[str]) -> Texts:
    growing = GrowingTexts()
    growing.add(values)
    return growing.texts()


class GrowingTexts:
    """Texts that grow in one buffer, so that reading a long file needs its texts once and not twice.

    The strings must be free of lone surrogates, which a reader of UTF-8 has made sure of.
    """

    def __init__(self, rows: int = 0) -> None:
        self._buffer = np.empty(0, np.uint8)
        self._size = 0
        self._sizes: list[Integers] = [np.zeros(rows + 1, np.int64)]

    def scale(self, factor: float) -> None:
        """Makes room for `factor` times what is there; memory that is never written costs nothing."""
        self._reserve(int(self._size * factor))

    def add(self, values: list[str]) -> None:
        """Adds rows."""
        encoded = list(map(str.encode, values))
        data = np.frombuffer(b"".join(encoded), np.uint8)
        end = self._size + len(data)
        if end > len(self._buffer):
            self._reserve(2 * end)
        self._buffer[self._size : end] = data
        self._size = end
        self._sizes.append(np.fromiter(map(len, encoded), np.int64, len(encoded)))

    def _reserve(self, capacity: int) -> None:
        if capacity > len(self._buffer):
            grown = np.empty(capacity, np.uint8)
            grown[: self._size] = self._buffer[: self._size]
            self._buffer = grown

    def texts(self) -> Texts:
        """All rows."""
        buffer = self._buffer[: self._size]
        buffer.flags.writeable = False
        return Texts(buffer, np.cumsum(np.concatenate(self._sizes)))


def empty_texts(rows: int) -> Texts:
    """As many empty texts."""
    return Texts(np.zeros(0, np.uint8), np.zeros(rows + 1, np.int64))


def joined(columns: list[Column]) -> Column:
    """Columns of one kind below each other.

    Raises:
        FormatError: They are of different kinds.
    """
    if len(columns) == 1:
        return columns[0]
    if all(isinstance(c, Texts) for c in columns):
        texts = cast(list[Texts], columns)
        return Texts(np.concatenate([t.buffer for t in texts]), _joined_offsets([t.offsets for t in texts]))
    if all(isinstance(c, Lists) for c in columns):
        lists = cast(list[Lists], columns)
        values = joined([c.values for c in lists])
        return Lists(_joined_offsets([c.offsets for c in lists]), cast(Any, values))
    if any(isinstance(c, Texts | Lists) for c in columns):
        raise FormatError("a column holds different kinds of values in different shards; write the shards alike")
    return np.concatenate(cast(list[npt.NDArray[Any]], columns))


def _joined_offsets(parts: list[Integers]) -> Integers:
    lengths = np.concatenate([np.diff(part) for part in parts])
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])


def days_of(texts: Texts, table: Table, name: str) -> Days:
    """ISO dates as datetime64[D]; empty text is NaT.

    Raises:
        FormatError: A text is not `YYYY-MM-DD`; a time of day is refused too, for its day depends on a time zone.
    """
    days = np.full(len(texts), "NaT", "datetime64[D]")
    sizes = texts.byte_lengths
    good = sizes == 10
    dated = texts if good.all() else texts.take(np.flatnonzero(good))
    if good.any():
        distinct, inverse = np.unique(np.frombuffer(dated.buffer, "S10"), return_inverse=True)
        days[good] = np.asarray([_day(written) for written in distinct.tolist()], "datetime64[D]")[inverse]
    bad = np.flatnonzero((sizes > 0) & np.isnat(days))
    if len(bad):
        row = int(bad[0])
        raise FormatError(
            f"{table.where(row, name)}: {quoted(texts[row])} is not an ISO date, YYYY-MM-DD ({len(bad)} such values);"
            " write dates with four, two and two digits and no time of day"
        )
    return days


def _day(written: bytes) -> np.datetime64:
    """The day that ten bytes name, or NaT."""
    text = written.decode("ascii", "replace")
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return np.datetime64("NaT", "D")
    # Other ISO forms of ten characters exist (2024-W01-1) that a reader would not take for this one.
    return np.datetime64(day if day.isoformat() == text else "NaT", "D")


def plain_values(column: Column) -> list[Any]:
    """A column's values as Python objects: str, int, float, bool, lists; days as ISO text, NaT and NaN as None."""
    if isinstance(column, Texts | Lists):
        return column.to_list()
    if column.dtype.kind == "M":
        return [None if t == "NaT" else t for t in np.datetime_as_string(column, unit="D").tolist()]
    values: list[Any] = column.tolist()
    if column.dtype.kind == "f":
        return [None if v != v else v for v in values]
    return values


def quoted(value: Any) -> str:
    """A value as JSON writes it, cut at 40 characters."""
    import json

    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:39]}…"


def no_column(path: Path, name: str, known: Iterable[str]) -> FormatError:
    """The error for a file without a required column; near names are offered."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=2, cutoff=0.6)
    hint = f"; is it {' or '.join(repr(n) for n in near)}?" if near else ""
    return FormatError(f"{path.name}: no column {name!r} among {', '.join(names) or 'none'}{hint}")
