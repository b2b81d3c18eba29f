"""Raw files of the questions interface: months of records, and the long texts fetched beside them."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from assay.errors import FileError, FormatError
from assay.formats.files import GZIP, compression_of_name, opened
from assay.formats.table import quoted

_MONTH = re.compile(r"(?:commons|lords)-\d{4}-\d\d\.json(?:\.gz)?")
_LONG = re.compile(r"longform-\d{4}-\d\d\.sqlite")
_DAY = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?")
_BOM = b"\xef\xbb\xbf"


class Value(NamedTuple):
    """The fields of a record, and where it stands."""

    place: str
    fields: dict[str, Any]

    def text(self, name: str) -> str:
        """A text that must be there.

        Raises:
            FormatError: There is none, or half a character stands in it.
        """
        found = self.fields.get(name)
        if not isinstance(found, str):
            raise FormatError(f"{self.place}.{name}: expected text, got {_said(found)}")
        try:
            found.encode("utf-8")
        except UnicodeEncodeError as err:
            sign = ord(found[err.start])
            raise FormatError(
                f"{self.place}.{name}: a lone surrogate (U+{sign:04X}) at character {err.start}; repair the text"
            ) from None
        return found

    def maybe(self, name: str) -> str:
        """A text, empty where the record has none."""
        return "" if self.fields.get(name) is None else self.text(name)

    def mark(self, name: str) -> bool:
        """Yes or no; no where the record does not say."""
        found = self.fields.get(name)
        if not isinstance(found, bool | None):
            raise FormatError(f"{self.place}.{name}: expected true or false, got {_said(found)}")
        return bool(found)

    def day(self, name: str) -> date | None:
        """A day, None where the record has none; the interface gives London's, without a zone.

        Raises:
            FormatError: What stands there is no ISO date.
        """
        text = self.maybe(name)
        if not text:
            return None
        with suppress(ValueError):
            if _DAY.fullmatch(text):
                return date.fromisoformat(text[:10])
        raise FormatError(f"{self.place}.{name}: expected an ISO date such as 2023-12-18, got {quoted(text)}")


class Long(NamedTuple):
    """The long texts of a question and its answer; empty where they were not fetched."""

    question: str
    answer: str


def raw_files(folder: Path) -> tuple[list[Path], list[Path]]:
    """The months of records and the files of long texts in a folder, in order of their names.

    Raises:
        FileError: There is no such folder, or no month in it.
    """
    if not folder.is_dir():
        raise FileError(f"there is no folder {folder}; name the folder with commons-YYYY-MM.json.gz")
    names = sorted(path for path in folder.iterdir() if path.is_file())
    months = [path for path in names if _MONTH.fullmatch(path.name)]
    if not months:
        raise FileError(
            f"{folder} holds no commons-YYYY-MM.json.gz or lords-YYYY-MM.json.gz (nor either as .json), but"
            f" {len(names)} other files; check the path"
        )
    return months, [path for path in names if _LONG.fullmatch(path.name)]


def month_values(path: Path) -> list[Value]:
    """The records of a month, a list of objects with a `value` each.

    Raises:
        FormatError: The file is cut short, damaged, not UTF-8 or not JSON, or a record has no `value`.
    """
    with opened(path) as stream:
        data = stream.read()
    kind = ""
    if compression_of_name(path) == "gzip" and not _begins_as_gzip(path):
        kind = " (nor gzip, as its name says)"
    try:
        found = json.loads(data.removeprefix(_BOM).decode("utf-8"))
    except UnicodeDecodeError as err:
        raise FormatError(
            f"{path.name}: byte 0x{data[err.start]:02X} at byte {err.start} is not UTF-8{kind}; fetch the file again"
        ) from None
    except json.JSONDecodeError as err:
        raise FormatError(
            f"{path.name}: not JSON{kind}: {err.msg} at line {err.lineno}, character {err.colno}; fetch the file again"
        ) from None
    except RecursionError:
        raise FormatError(f"{path.name}: not a list of records, but nested too deeply; fetch the file again") from None
    if not isinstance(found, list):
        raise FormatError(f"{path.name}: expected a list of records, got {_said(found)}")
    return [_value(path, number, item) for number, item in enumerate(found, 1)]


def long_texts(path: Path) -> Iterator[tuple[str, Long]]:
    """Record ids and their long texts, from a table `Dict(key, value)` of JSON objects, by id.

    The file is opened as one that nobody changes, so that nothing is written beside it.

    Raises:
        FormatError: It is no such file, a row is not such an object, or changes wait in a log beside it.
    """
    log = path.with_name(f"{path.name}-wal")
    if log.is_file() and log.stat().st_size:
        raise FormatError(
            f"{log.name}: {log.stat().st_size} bytes of changes are not in {path.name} yet; close the program that"
            " writes it, or run its wal_checkpoint, and try again"
        )
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as base:
            base.text_factory = bytes
            rows = base.execute("SELECT key, value FROM Dict ORDER BY key").fetchall()
    except sqlite3.Error as err:
        raise FormatError(
            f"{path.name}: not an SQLite file with a table Dict(key, value) ({err}); fetch the file again"
        ) from None
    for key, value in rows:
        yield _long(path, key, value)


def _long(path: Path, key: Any, value: Any) -> tuple[str, Long]:
    name = key.decode("utf-8", "replace") if isinstance(key, bytes) else str(key)
    place = f"{path.name} Dict[{name}]"
    if not name.isdecimal():
        raise FormatError(f"{place}: the key is no record id; expected digits")
    try:
        found = json.loads(value.decode("utf-8")) if isinstance(value, bytes) else value
    except (ValueError, RecursionError) as err:
        raise FormatError(f"{place}: the value is not JSON in UTF-8 ({err}); fetch the file again") from None
    if not isinstance(found, dict):
        raise FormatError(f"{place}: expected an object with question_text and answer_text, got {_said(found)}")
    fields = Value(place, found)
    return name, Long(fields.maybe("question_text"), fields.maybe("answer_text"))


def _value(path: Path, number: int, item: Any) -> Value:
    found = item.get("value") if isinstance(item, dict) else None
    if not isinstance(found, dict):
        got = _said(item if found is None else found)
        raise FormatError(f"{path.name} record {number}.value: expected an object, got {got}")
    return Value(f"{path.name} record {number}", found)


def _begins_as_gzip(path: Path) -> bool:
    with open(path, "rb") as stream:
        return stream.read(2) == GZIP


def _said(value: Any) -> str:
    return "nothing" if value is None else quoted(value)
