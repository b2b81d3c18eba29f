r"""JSON Lines: one JSON object a line, read with types and written with round-trip values.

Lines end at `\n` alone; U+2028, U+0085 and form feed are parts of a text. A text is kept code point by code point: no
normalisation, no stripping. Ids are text: a number in the place of a text is an error, never converted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, BinaryIO, get_args, get_origin

import msgspec
import numpy as np

from assay.errors import FormatError
from assay.formats.files import StrPath, opened, replacing
from assay.formats.table import (
    Column,
    Field,
    GrowingTexts,
    Integers,
    Part,
    Table,
    column_of,
    days_of,
    joined,
    plain_values,
    quoted,
)

_BLOCK = 1 << 20
_MARK = b"\xef\xbb\xbf"
_WORDS = {str: "text", int: "int", float: "number", bool: "true or false", date: "text with an ISO date"}
_INT64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_DECODED = {date: str, int: _INT64, list[int]: list[_INT64]}
_TEXTS = (str, date, Any)
_EMPTY: dict[Any, Any] = {str: "", int: 0, float: float("nan"), bool: False, date: ""}


def read_table(path: StrPath, fields: Mapping[str, Field]) -> Table:
    r"""The rows of a JSON Lines file (plain, gzip or Zstandard) as columns.

    A column that `fields` does not name is kept as text where its values are strings, numbers or booleans (written as
    JSON does); lists and objects in such columns are left out and counted. Blank lines are skipped. A byte-order mark
    is stripped and counted.

    Args:
        path: The file.
        fields: What columns must hold.

    Raises:
        FileError: The file cannot be read.
        FormatError: A line is not a JSON object, or a field is missing or of another type; the message names the file,
            the line and the field.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     place = Path(folder) / "queries.jsonl"
        ...     _ = place.write_bytes(b'{"_id": "01", "text": "why", "n": 2}\n')
        ...     table = read_table(place, {"_id": Field(str), "text": Field(str)})
        >>> table.text("_id")[0], table.text("n")[0]
        ('01', '2')
    """
    with opened(path) as stream:
        reading = _Reading(Path(path), fields)
        for block in _blocks(stream):
            reading.take(block)
    return reading.table()


def write_table(columns: Mapping[str, Column], path: StrPath) -> None:
    """Writes columns of equal length as JSON Lines, keys in the order of `columns`.

    The suffix decides on compression. Numbers are written with round-trip digits, NaN and NaT as null.

    Raises:
        FileError: The file cannot be written.
        FormatError: The columns differ in length.
    """
    sizes = {name: len(column) for name, column in columns.items()}
    if len(set(sizes.values())) > 1:
        raise FormatError(f"columns differ in length: {sizes}")
    names = list(columns)
    values = [plain_values(column) for column in columns.values()]
    write_rows((dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)), path)


def write_rows(rows: Iterable[Mapping[str, Any]], path: StrPath) -> None:
    """Writes objects as JSON Lines, in order.

    Raises:
        FormatError: A text holds a lone surrogate, which UTF-8 cannot write.
        FileError: The file cannot be written.
    """
    encode = msgspec.json.Encoder().encode
    written = 0
    try:
        with replacing(path) as stream:
            for row in rows:
                stream.write(encode(row))
                stream.write(b"\n")
                written += 1
    except UnicodeEncodeError as err:
        raise _surrogate(err, f"{Path(path).name}:{written + 1}") from None


def write_object(found: Mapping[str, Any], path: StrPath) -> None:
    """Writes one JSON object, indented by two, keys in their order.

    Raises:
        FormatError: A text holds a lone surrogate, which UTF-8 cannot write.
        FileError: The file cannot be written.
    """
    try:
        encoded = msgspec.json.encode(found)
    except UnicodeEncodeError as err:
        raise _surrogate(err, Path(path).name) from None
    with replacing(path) as stream:
        stream.write(msgspec.json.format(encoded, indent=2))
        stream.write(b"\n")


def _surrogate(err: UnicodeEncodeError, place: str) -> FormatError:
    return FormatError(
        f"{place}: a text has a lone surrogate (U+{ord(err.object[err.start]):04X}) at character {err.start}, after"
        f" {quoted(err.object[max(0, err.start - 20) : err.start])}: it cannot be written as UTF-8; repair the text"
    )


def read_object(path: StrPath) -> dict[str, Any]:
    """The one JSON object that a file holds (a manifest).

    Raises:
        FormatError: The file does not hold one JSON object.
    """
    with opened(path) as stream:
        data = stream.read()
    try:
        return msgspec.json.decode(data.removeprefix(_MARK), type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
        raise FormatError(f"{Path(path).name}: not one JSON object ({err})") from None


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    """Whole lines of about 1 MB at a time; only the last line may lack its end."""
    while data := stream.read(_BLOCK):
        yield data if data.endswith(b"\n") else data + stream.readline()


class _Reading:
    """A file being read: the row type so far, the pieces of its columns, and where each row stands."""

    def __init__(self, path: Path, fields: Mapping[str, Field]) -> None:
        self.path = path
        self.fields = dict(fields)
        self.size = path.stat().st_size
        self.texts = {name: GrowingTexts() for name, wanted in fields.items() if wanted.type in _TEXTS}
        self.pieces: dict[str, list[Column]] = {name: [] for name in fields}
        self.present: set[str] = set()
        self.nested: dict[str, int] = {}
        self.rows = 0
        self.lines = 0
        self.numbers: list[Integers] = []
        self.counts: dict[str, int] = {}
        self.decoder = _decoder(self.fields)

    def take(self, block: bytes) -> None:
        """Adds the rows of some whole lines."""
        if self.lines == 0 and block.startswith(_MARK):
            block = block.removeprefix(_MARK)
            self.counts["byte-order mark stripped"] = 1
        n_lines = block.count(b"\n") + (not block.endswith(b"\n"))
        rows = self._rows(block)
        if rows is None or len(rows) != n_lines:
            rows, numbers = self._line_by_line(block)
        else:
            numbers = np.arange(self.lines + 1, self.lines + 1 + n_lines)
        self.lines += n_lines
        self.numbers.append(numbers)
        for place, (name, wanted) in enumerate(self.fields.items()):
            self._add(name, wanted, list(map(attrgetter(f"c{place}"), rows)))
        if self.rows == 0:
            for column in self.texts.values():
                column.scale(1.1 * self.size / max(1, len(block)))
        self.rows += len(rows)

    def _rows(self, block: bytes) -> list[Any] | None:
        """The rows of a block, new fields learnt; None where a line is at fault."""
        try:
            rows: list[Any] = self.decoder.decode_lines(block)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
            return self._rows(block) if "unknown field" in str(err) and self._learnt(block) else None
        return rows

    def _learnt(self, block: bytes) -> bool:
        """Whether a block has fields that were not known; they are from now on."""
        try:
            found = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode_lines(block)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
        new = [name for name in dict.fromkeys(name for row in found for name in row) if name not in self.fields]
        for name in new:
            self.fields[name] = Field(Any, required=False)
            self.texts[name] = GrowingTexts(self.rows)
        self.decoder = _decoder(self.fields)
        return bool(new)

    def _line_by_line(self, block: bytes) -> tuple[list[Any], Integers]:
        rows, numbers = [], []
        lines = block.split(b"\n")
        for number, line in enumerate(lines, self.lines + 1):
            if not line.strip():
                continue
            try:
                rows.append(self.decoder.decode(line))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
                if "unknown field" in str(err) and self._learnt(line):
                    return self._line_by_line(block)
                last = number == self.lines + len(lines)
                raise _explained(err, line, place=f"{self.path.name}:{number}", wanted=self.fields, last=last) from None
            numbers.append(number)
        return rows, np.asarray(numbers, np.int64)

    def _add(self, name: str, wanted: Field, values: list[Any]) -> None:
        """Adds values to a column; None becomes what is empty there."""
        missing = not wanted.required and None in values
        if not wanted.required and (not missing or any(value is not None for value in values)) and values:
            self.present.add(name)
        if wanted.type is Any:
            values, nested = _scalars_as_text(values)
            if nested:
                self.nested[name] = self.nested.get(name, 0) + nested
        elif missing:
            empty = _EMPTY.get(wanted.type, [])
            values = [empty if value is None else value for value in values]
        if wanted.type in _TEXTS:
            self.texts[name].add(values)
        else:
            self.pieces[name].append(column_of(values, wanted.type))

    def table(self) -> Table:
        """Everything read."""
        numbers = np.concatenate(self.numbers) if self.numbers else np.zeros(0, np.int64)
        part = Part(self.path, 0, None if self.lines == self.rows else numbers)
        places = Table(self.rows, {}, (part,))
        columns: dict[str, Column] = {}
        for name, wanted in self.fields.items():
            if self.nested.get(name):
                self.counts[f"values of column {name!r} left out (lists or objects)"] = self.nested[name]
            if (wanted.required or name in self.present) and self.nested.get(name, 0) < max(1, self.rows):
                columns[name] = self._column(name, wanted.type, places)
        return Table(self.rows, columns, (part,), self.counts)

    def _column(self, name: str, kind: Any, places: Table) -> Column:
        if kind in _TEXTS:
            texts = self.texts.pop(name).texts()
            return days_of(texts, places, name) if kind is date else texts
        return joined(self.pieces.pop(name) or [column_of([], kind)])


def _decoder(fields: Mapping[str, Field]) -> Any:
    """A decoder of rows with these fields; a field that is not among them stops it."""
    specs: list[tuple[str, Any, Any]] = []
    for place, wanted in enumerate(fields.values()):
        kind = _DECODED.get(wanted.type, wanted.type)
        kind = kind if wanted.required or kind is Any else kind | None
        specs.append((f"c{place}", kind, msgspec.NODEFAULT if wanted.required else None))
    names = {f"c{place}": name for place, name in enumerate(fields)}
    row = msgspec.defstruct("Row", specs, rename=names, forbid_unknown_fields=True, kw_only=True, gc=False)
    return msgspec.json.Decoder(row)


def _scalars_as_text(values: list[Any]) -> tuple[list[str], int]:
    """Scalars as JSON writes them, null as nothing; and how many were lists or objects, which become empty."""
    kinds = set(map(type, values))
    if kinds <= {str}:
        return values, 0
    if kinds <= {bool}:
        return ["true" if value else "false" for value in values], 0
    encode = msgspec.json.encode
    nested = sum(isinstance(value, list | dict) for value in values)
    return [
        value
        if type(value) is str
        else ""
        if value is None or isinstance(value, list | dict)
        else encode(value).decode()
        for value in values
    ], nested


def _explained(err: Exception, line: bytes, *, place: str, wanted: Mapping[str, Field], last: bool) -> FormatError:
    """The error of a line: its place and field, what was expected, what stands there."""
    try:
        row = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return FormatError(f"{place}{_malformed(line, err, last)}")
    message = str(err)
    if not isinstance(row, dict):
        return FormatError(f"{place}: expected a JSON object, got {quoted(row)}")
    missing = re.search(r"missing required field `(.*?)`", message)
    if missing:
        name = missing[1]
        near = ", ".join(map(repr, row)) or "none"
        return FormatError(
            f"{place} $.{name}: missing; every row needs it ({_word(wanted[name].type)}); fields: {near}"
        )
    path = re.search(r"at `\$\.(.*)`$", message)
    name = next((n for n in wanted if path and (path[1] == n or path[1].startswith(f"{n}["))), "")
    if not path or not name:
        return FormatError(f"{place}: {message}")
    value, kind = row[name], wanted[name].type
    for step in re.findall(r"\[(\d+)\]", path[1][len(name) :]):
        value, kind = value[int(step)], (get_args(kind) or (kind,))[-1]
        kind = get_args(kind)[0] if get_origin(kind) is list else kind
    advice = "; write ids and texts as JSON strings" if kind is str and isinstance(value, int | float) else ""
    return FormatError(f"{place} $.{path[1]}: expected {_word(kind)}, got {quoted(value)}{advice}")


def _word(kind: Any) -> str:
    """A type in words."""
    if kind in _WORDS:
        return _WORDS[kind]
    if get_origin(kind) is list:
        return f"list of {_word(get_args(kind)[0])}"
    return " or ".join(_word(part) for part in get_args(kind)) or str(kind)


def _malformed(line: bytes, err: Exception, last: bool) -> str:
    """Why a line is not JSON."""
    if b"\0" in line or line.startswith((b"PAR1", b"PK\x03\x04", b"ARROW1")):
        return ": binary data, not JSON Lines; check the file's format"
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as bad:
        return f": byte 0x{line[bad.start]:02X} at byte {bad.start} of the line is not UTF-8; save the file as UTF-8"
    constants: list[str] = []
    try:
        found = json.loads(text, parse_constant=constants.append)
    except json.JSONDecodeError as bad:
        if (last and bad.pos >= len(text.rstrip()) - 1) or "Unterminated" in bad.msg:
            return (
                f": the line ends in the middle of its JSON{', and so does the file' if last else ''}; write it again"
            )
        return f": not JSON: {bad.msg} at character {bad.pos}"
    except RecursionError:
        return ": nested too deeply"
    for field, value in _texts(found):
        place = next((i for i, c in enumerate(value) if 0xD800 <= ord(c) <= 0xDFFF), None)
        if place is not None:
            return (
                f" $.{field}: lone surrogate U+{ord(value[place]):04X} at character {place}; it cannot be written as"
                " UTF-8: repair the text"
            )
    if constants:
        return f": {constants[0]} is not JSON; write null or a finite number"
    return f": not JSON ({err})"


def _texts(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every text in a JSON value, object keys included, with its path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _texts(inner, f"{path}[{place}]")
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield path, key
            yield from _texts(inner, f"{path}.{key}" if path else key)
