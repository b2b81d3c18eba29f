"""Sheets: tables that a person fills in with a spreadsheet, and what comes back from it.

Written with a byte-order mark, so that spreadsheets read UTF-8, and with no cell that one of them would take for a
formula. Read back whatever a spreadsheet made of it: another separator, other line ends, quoted cells, UTF-16.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.errors import FormatError, UsageError
from assay.formats.files import StrPath, opened, replacing

SEPARATORS = {".tsv": "\t", ".csv": ","}
"""What separates cells, by the suffix of a sheet."""
_STARTS = "=+-@'＝＋－＠"
_BREAKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_ANY_SEPARATOR = ("\t", ";", ",")


@dataclass(frozen=True)
class Sheet:
    """Rows of a sheet.

    Attributes:
        path: Where it was read.
        columns: Headings, in the order of the sheet.
        rows: Cells of each row as texts, one a heading.
        lines: The line at which each row begins.
    """

    path: Path
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]

    def column(self, name: str) -> list[str]:
        """The cells under a heading.

        Raises:
            FormatError: There is no such heading.
        """
        if name not in self.columns:
            raise FormatError(
                f"{self.path.name}:1: no column {name!r} among {', '.join(self.columns)}; leave the headings"
            )
        at = self.columns.index(name)
        return [row[at] for row in self.rows]

    def where(self, row: int, name: str = "") -> str:
        """The place of a row, and of a cell in it: `sheet.tsv:3 verdict`."""
        return f"{self.path.name}:{self.lines[row]} {name}".rstrip()


def folded_cell(text: str) -> str:
    r"""A text on one line: every run of blanks, line ends and control characters is one blank.

    Example:
        >>> folded_cell("one\n\ttwo ")
        'one two'
    """
    return _BREAKS.sub(" ", text).strip(" ")


def guarded(text: str) -> str:
    """A cell that no spreadsheet takes for a formula: an apostrophe stands before `=`, `+`, `-`, `@` and itself.

    Example:
        >>> guarded("=1+1"), guarded("'tis"), guarded("plain")
        ("'=1+1", "''tis", 'plain')
    """
    return f"'{text}" if text[:1] and text[0] in _STARTS else text


def unguarded(cell: str) -> str:
    """What `guarded` was given; a cell that a person began with an apostrophe stays as it is.

    Example:
        >>> unguarded("'=1+1"), unguarded("''tis"), unguarded("'tis")
        ('=1+1', "'tis", "'tis")
    """
    return cell[1:] if cell[:1] == "'" and cell[1:2] and cell[1] in _STARTS else cell


def separator_of(path: StrPath) -> str:
    """What separates the cells of a sheet to write, by its suffix.

    Raises:
        UsageError: The suffix is neither `.tsv` nor `.csv`.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SEPARATORS:
        raise UsageError(f"{path}: a sheet is written as {' or '.join(SEPARATORS)}; name it so")
    return SEPARATORS[suffix]


def write_sheet(columns: Sequence[str], rows: Iterable[Sequence[str]], path: StrPath) -> None:
    """Writes a sheet; texts are folded to one line and guarded.

    Raises:
        UsageError: The suffix is neither `.tsv` nor `.csv`.
        FileError: The file cannot be written.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator_of(path), lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([guarded(folded_cell(cell)) for cell in row] for row in rows)
    with replacing(path) as stream:
        stream.write(codecs.BOM_UTF8 + text.getvalue().encode("utf-8"))


def read_sheet(path: StrPath, *, needs: Sequence[str]) -> Sheet:
    """A sheet as a person left it.

    The separator is the one under which the first line has the headings asked for. Rows without a filled cell are
    passed over, and columns that a person added are kept.

    Args:
        path: The file; tabs, semicolons or commas; UTF-8 with or without a mark, or UTF-16 with one.
        needs: Headings that must be there.

    Raises:
        FileError: The file cannot be read.
        FormatError: It is a workbook, is not UTF-8, lacks a heading, or a row has more cells than headings.
    """
    place = Path(path)
    with opened(path) as stream:
        text = _decoded(stream.read(), place)
    skip = 1 if re.match(r"sep=.\r?\n", text) else 0
    body = text.split("\n", 1)[1] if skip else text
    separator = next((s for s in _ANY_SEPARATOR if set(needs) <= set(_first_row(body, s))), "")
    if not separator:
        found = folded_cell(body.partition("\n")[0])[:80]
        raise FormatError(
            f"{place.name}:{1 + skip}: no columns {', '.join(needs)} under any separator (tab, semicolon, comma); the"
            f" first line is {found!r}; leave the headings as they were and save as text"
        )
    return _rows(place, body, separator, skip)


def _rows(place: Path, body: str, separator: str, skip: int) -> Sheet:
    reader = csv.reader(io.StringIO(body, newline=""), delimiter=separator, strict=True)
    rows, lines, line = [], [], 1 + skip
    columns: tuple[str, ...] = ()
    try:
        for cells in reader:
            begins, line = line, reader.line_num + 1 + skip
            if not columns:
                columns = tuple(cell.strip() for cell in cells)
                continue
            if not any(cell.strip() for cell in cells):
                continue
            if any(cell.strip() for cell in cells[len(columns) :]):
                raise FormatError(
                    f"{place.name}:{begins}: {len(cells)} cells under {len(columns)} headings; put text that holds the"
                    " separator in double quotes, or move it into the column note"
                )
            padded = [*cells, *[""] * (len(columns) - len(cells))][: len(columns)]
            rows.append(tuple(unguarded(cell.strip()) for cell in padded))
            lines.append(begins)
    except csv.Error as err:
        raise FormatError(f"{place.name}:{line}: {err}; a double quote is open: save the sheet again") from None
    return Sheet(place, columns, tuple(rows), tuple(lines))


def _first_row(body: str, separator: str) -> list[str]:
    first = body.partition("\n")[0].rstrip("\r")
    return [cell.strip() for cell in next(csv.reader([first], delimiter=separator), [])]


def _decoded(data: bytes, place: Path) -> str:
    if data.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise FormatError(f"{place.name} is a workbook; save it as text: CSV UTF-8 or tab-separated")
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as err:
        line = data.count(b"\n", 0, err.start) + 1
        raise FormatError(
            f"{place.name}:{line}: byte 0x{data[err.start]:02X} is not {'UTF-16' if wide else 'UTF-8'}; save the sheet"
            " as CSV UTF-8"
        ) from None
