"""Lines of a TREC file as columns: the plain reader, which defines the format and words every fault.

Small files are read with it alone. Large ones are read by ``assay.formats.trec_blocks``, which hands any block
that it cannot vouch for to the reader here.

The format: fields between any run of ASCII blanks (space, tab, CR, vertical tab, form feed), lines between line
feeds, UTF-8. A byte-order mark at the start is dropped. A line whose first field starts with ``#`` is a
comment, and a line of blanks counts for nothing; ``#`` within an id is part of the id.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from assay.errors import DataError, FormatError, ScoreError
from assay.kernels.trec import MANY_FIELDS, QRELS, RUN, Layout
from assay.texts import Texts

MARK = b"\xef\xbb\xbf"
GRADE_BOUND = 1 << 31
_NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WHOLE = re.compile(rb"[+-]?[0-9]+")
_NOT_FINITE = re.compile(rb"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_HEADERS = (b"query-id", b"query_id", b"qid")
_COMMA = re.compile(rb"[+-]?[0-9]*,[0-9]+")


@dataclass(frozen=True, eq=False)
class Columns:
    """A TREC file as columns: passage codes (int32) and numbers (float64), one of each per row, in file order.

    Rows from ``segment_start[i]`` to the next start belong to the query with code ``segment_query[i]``; two
    neighbouring segments have different queries. Codes are rows of `queries` and `passages`, in order of
    first appearance. `comments`, `empty` and `extra` count comment lines, empty lines and lines with more
    fields than needed; `mark` tells of a byte-order mark.
    """

    queries: Texts
    passages: Texts
    segment_start: npt.NDArray[np.int64]
    segment_query: npt.NDArray[np.int32]
    passage: npt.NDArray[np.int32]
    value: npt.NDArray[np.float64]
    lines: int
    comments: int
    empty: int
    extra: int
    mark: bool


def columns_of_lines(data: bytes, layout: Layout, *, path: str, first_line: int = 1, complete: bool = True) -> Columns:
    """The columns of the lines in `data`.

    Args:
        data: Whole lines; the last may lack its line feed.
        layout: Which fields a line has.
        path: Name of the file, for messages.
        first_line: Number of the first line; a byte-order mark is looked for in line 1 alone.
        complete: `data` reaches to the end of the file.

    Raises:
        FormatError: A line has the wrong number of fields, a number that is none, or bytes that are not text.
        ScoreError: A score is not finite. Both name the first such line and count those in `data`.

    Example:
        >>> from assay.kernels.trec import RUN
        >>> columns = columns_of_lines(b"q Q0 a 1 2.5 r", RUN, path="run")
        >>> list(columns.passages), columns.value.tolist()
        (['a'], [2.5])
    """
    mark = first_line == 1 and data.startswith(MARK)
    lines = data[len(MARK) * mark :].split(b"\n")
    open_end = bool(lines[-1])
    if not open_end:
        lines.pop()
    queries: dict[bytes, int] = {}
    passages: dict[bytes, int] = {}
    starts: list[int] = []
    owners: list[int] = []
    passage: list[int] = []
    value: list[float] = []
    faults: list[tuple[int, DataError]] = []
    comments = empty = extra = 0
    binary = b"\0" in data
    for number, line in enumerate(lines, first_line):
        fields = line.split()
        if binary or len(fields) != layout.fields or fields[0].startswith(b"#"):
            comment = bool(fields) and fields[0].startswith(b"#")
            if (comment or not fields) and b"\0" not in line:
                comments += comment
                empty += not comment
                continue
            refusal = _refusal(line, fields, layout)
            if refusal:
                faults.append((number, FormatError(refusal)))
                continue
            extra += len(fields) > layout.fields
        found = number_of_field(fields[layout.value], layout)
        query, code = queries.get(fields[0]), passages.get(fields[2])
        if found is None or query is None or code is None:
            try:
                found = _wanted(found, fields, layout)
                query, code = _entered(fields[0], queries), _entered(fields[2], passages)
            except DataError as err:
                faults.append((number, err))
                continue
        if not owners or owners[-1] != query:
            starts.append(len(passage))
            owners.append(query)
        passage.append(code)
        value.append(found)
    if faults:
        last = first_line + len(lines) - 1
        short = open_end and len(lines[-1].split()) < layout.fields
        _raise_first(faults, path=path, last=last, cut=complete and short and faults[0][0] == last)
    return Columns(
        texts_of_bytes(list(queries)),
        texts_of_bytes(list(passages)),
        np.asarray(starts, np.int64),
        np.asarray(owners, np.int32),
        np.asarray(passage, np.int32),
        np.asarray(value, np.float64),
        lines=len(lines),
        comments=comments,
        empty=empty,
        extra=extra,
        mark=mark,
    )


def number_of_field(field: bytes, layout: Layout) -> float | None:
    """The number in a field, or None where it holds none that `layout` allows.

    Example:
        >>> from assay.kernels.trec import RUN
        >>> number_of_field(b"1E-08", RUN), number_of_field(b"1_0", RUN), number_of_field(b"inf", RUN)
        (1e-08, None, None)
    """
    try:
        number = float(int(field)) if layout.whole else float(field)
    except (ValueError, OverflowError):
        return None
    # Python takes digits apart at underscores, and nan and inf for numbers.
    if b"_" in field or not math.isfinite(number) or (layout.whole and abs(number) >= GRADE_BOUND):
        return None
    return number


def bare_returns(line: bytes) -> bool:
    """Whether a line is in truth many lines that end with carriage returns alone."""
    return b"\r" in line.strip() and len(line.split()) >= MANY_FIELDS


def texts_of_bytes(rows: Sequence[bytes]) -> Texts:
    """Texts from rows that are known to be UTF-8."""
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows)), out=offsets[1:])
    return Texts(np.frombuffer(b"".join(rows), np.uint8), offsets)


def _refusal(line: bytes, fields: list[bytes], layout: Layout) -> str:
    """What is wrong with a line's form, if anything is."""
    if b"\0" in line:
        return "a NUL byte: this is binary data or UTF-16, not text; save the file as UTF-8"
    if len(fields) < layout.fields or (layout.exact and len(fields) != layout.fields):
        return _wrong_count(fields, layout)
    if bare_returns(line):
        return (
            f"{len(fields)} fields with carriage returns between them: lines must end with a line feed;"
            " convert the file's line ends"
        )
    return ""


def _wanted(number: float | None, fields: list[bytes], layout: Layout) -> float:
    if number is None:
        raise _wrong_number(fields, layout)
    return number


def _entered(id_: bytes, known: dict[bytes, int]) -> int:
    """The code of an id, entered if it is new and text."""
    if id_ not in known:
        _refuse_other_bytes(id_)
        known[id_] = len(known)
    return known[id_]


def _wrong_count(fields: list[bytes], layout: Layout) -> str:
    expected = "query 0 passage grade" if layout.exact else "query Q0 passage rank score tag"
    what = f"{len(fields)} field{'s' * (len(fields) != 1)}, {layout.fields} expected ({expected})"
    hint = _hint(fields, layout)
    return f"{what}: {hint}" if hint else what


def _hint(fields: list[bytes], layout: Layout) -> str:
    """What a line with the wrong number of fields may be in truth, and what to do; empty where nothing tells."""
    line = b" ".join(fields)
    if fields[0] in _HEADERS:
        return "this looks like a table with a header, not a TREC file"
    if line.startswith((b"{", b"[")):
        return "this looks like JSON; a JSON run is one object, query to passage to score"
    if line.count(b",") >= 2 and len(fields) < 3:
        return "commas stand between the fields; write blanks or tabs instead"
    if layout.exact and len(fields) >= RUN.fields and fields[1].upper() == b"Q0":
        return "this looks like a run where judgements are meant; are the two files swapped?"
    if layout.exact and len(fields) > layout.fields:
        return "an id may hold a blank, which TREC files cannot express; rename it"
    if not layout.exact and len(fields) == QRELS.fields and fields[1] == b"0" and _WHOLE.fullmatch(fields[3]):
        return "this looks like judgements where a run is meant; are the two files swapped?"
    if layout.exact and len(fields) == 3 and _WHOLE.fullmatch(fields[2]):
        return "judgements of three columns need tabs between them; else put a 0 after the query"
    if not layout.exact and len(fields) == 3 and number_of_field(fields[2], RUN) is not None:
        return "three columns are no TREC run; add Q0, the rank and a tag, or write JSON Lines"
    return ""


def _wrong_number(fields: list[bytes], layout: Layout) -> DataError:
    field = fields[layout.value]
    if layout.whole:
        kind = "grade" if layout.exact else "rank"
        number = number_of_field(field, layout._replace(whole=False))
        if number is not None and number.is_integer() and abs(number) < GRADE_BOUND:
            return FormatError(f"{kind} {_shown(field)} is not written as an integer; write {int(number)}")
        if _WHOLE.fullmatch(field):
            return FormatError(f"{kind} {_shown(field)} is too large; integers below 2**31 are allowed")
        advice = "this looks like a header, leave it out" if fields[0] in _HEADERS else "map the values to whole grades"
        return FormatError(f"{kind} {_shown(field)} is not an integer; {advice}")
    if _NOT_FINITE.fullmatch(field) or _NUMBER.fullmatch(field):
        pair = f"({_plain(fields[0])}, {_plain(fields[2])})"
        return ScoreError(f"score of {pair} is {_plain(field)}, not a finite number; correct or drop the row")
    hint = "; write a decimal point, not a comma" if _COMMA.fullmatch(field) else "; an id may hold a blank"
    hint = hint if len(fields) > layout.fields or b"," in field else "; correct the fifth field"
    return FormatError(f"score {_shown(field)} is not a number{hint}")


def _refuse_other_bytes(id_: bytes) -> None:
    try:
        id_.decode("utf-8")
    except UnicodeDecodeError as err:
        raise FormatError(
            f"id {_shown(id_)} is not UTF-8 (byte 0x{id_[err.start]:02X}); convert the file to UTF-8"
        ) from None


def _raise_first(faults: list[tuple[int, DataError]], *, path: str, last: int, cut: bool) -> NoReturn:
    number, err = faults[0]
    end = "; the file ends within this line, so it may be cut short" if cut else ""
    more = f" ({len(faults)} lines with faults up to line {last})" if len(faults) > 1 else ""
    raise type(err)(f"{path}, line {number}: {err}{end}{more}") from None


def _shown(field: bytes) -> str:
    return repr(_plain(field))


def _plain(field: bytes) -> str:
    text = field.decode("utf-8", "backslashreplace")
    return text if len(text) <= 60 else f"{text[:57]}..."
