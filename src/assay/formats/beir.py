"""Tab-separated tables without quoting, as in BEIR: judgements and corpora, and the names of BEIR's columns.

A field is all that stands between two tabs: a quote is a character like any other. A first line that names the columns
(`query-id`, `corpus-id`, `score`) is recognised by its words and skipped; without it, it is a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from assay.errors import DuplicateIdError, FormatError
from assay.formats.files import StrPath, opened, replacing
from assay.formats.table import Part, Table, column_of
from assay.qrels import Qrels

HEADER = ("query-id", "corpus-id", "score")
_HEADERS = ({"query-id", "query_id", "qid"}, {"corpus-id", "corpus_id", "doc_id", "docid", "passage_id", "pid"})


def read_qrels(path: StrPath) -> Qrels:
    """The judgements in a file of `query, passage, grade` (BEIR) or `query, iteration, passage, grade` (TREC), by tabs.

    Raises:
        FormatError: A line has another number of fields, an empty id, or a grade that is not a whole number.
        DuplicateIdError: A pair is judged twice.
    """
    name = Path(path).name
    judgements = []
    for line, fields in _lines(path):
        if line == 1 and is_header(fields):
            continue
        if len(fields) not in (3, 4):
            raise FormatError(f"{name}:{line}: {len(fields)} fields by tabs, 3 expected (query, passage, grade)")
        query, passage, grade = fields[0], fields[-2], fields[-1].strip()
        if not query or not passage:
            raise FormatError(f"{name}:{line}: an id is empty")
        try:
            judgements.append((query, passage, _grade(grade)))
        except ValueError:
            raise FormatError(
                f"{name}:{line}: grade {grade!r} is not a whole number; map the values to whole grades"
            ) from None
    try:
        return Qrels.of(judgements)
    except DuplicateIdError as err:
        raise DuplicateIdError(f"{name}: {err}") from None


def write_qrels(qrels: Qrels, path: StrPath) -> None:
    """Writes judgements with BEIR's header line.

    Raises:
        FormatError: An id holds a tab or a line end, which the format cannot carry.
    """
    with replacing(path) as stream:
        stream.write(("\t".join(HEADER) + "\n").encode())
        for query, passage, grade in qrels.triples():
            for id_ in (query, passage):
                if any(character in id_ for character in "\t\n\r"):
                    raise FormatError(
                        f"id {id_!r} holds a tab or line end, which tab-separated judgements cannot carry"
                    )
            stream.write(f"{query}\t{passage}\t{grade}\n".encode())


def read_corpus(path: StrPath) -> Table:
    """Ids and texts of a file of `id, text` or `id, title, text` by tabs; no field is too long.

    Returns:
        A table of `_id`, `text` and, with three fields, `title`.

    Raises:
        FormatError: A line has another number of fields.
    """
    name = Path(path).name
    rows: list[list[str]] = []
    for line, fields in _lines(path):
        if len(fields) not in (2, 3) or (rows and len(fields) != len(rows[0])):
            raise FormatError(f"{name}:{line}: {len(fields)} fields by tabs, {len(rows[0]) if rows else 2} expected")
        rows.append(fields)
    columns = {"_id": column_of([row[0] for row in rows], str), "text": column_of([row[-1] for row in rows], str)}
    if rows and len(rows[0]) == 3:
        columns["title"] = column_of([row[1] for row in rows], str)
    return Table(len(rows), columns, (Part(Path(path), 0),))


def is_header(fields: list[str]) -> bool:
    """Whether the first two fields name columns.

    Example:
        >>> is_header(["query-id", "corpus-id", "score"]), is_header(["q1", "d1", "1"])
        (True, False)
    """
    return len(fields) >= 2 and all(
        field.strip().lower() in names for field, names in zip(fields, _HEADERS, strict=False)
    )


def _grade(text: str) -> int:
    """A grade; `1.0` is taken as 1, for exports from tables of floats write it so."""
    if not re.fullmatch(r"[+-]?[0-9]{1,9}(\.0*)?", text):
        raise ValueError(text)
    return int(text.partition(".")[0])


def _lines(path: StrPath) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of every line that is not blank."""
    with opened(path) as stream:
        for number, line in enumerate(stream, 1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError as err:
                raise FormatError(f"{Path(path).name}:{number}: byte 0x{line[err.start]:02X} is not UTF-8") from None
            if text.strip():
                yield number, text.split("\t")
