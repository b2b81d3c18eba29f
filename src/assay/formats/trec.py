"""TREC runs and qrels: read, written, and looked over.

A run has lines ``query Q0 passage rank score tag``, qrels have ``query 0 passage grade``; see
``assay.formats.trec_lines`` for the form of a line. Files may be plain, gzip or Zstandard. Ids are text. The
rank column is not read, as in trec_eval: the order comes from the scores, and `lint_run` says where the two
disagree.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from assay.errors import DuplicateIdError, FormatError
from assay.formats.files import StrPath, opened, replacing
from assay.formats.trec_blocks import columns_of_file
from assay.formats.trec_lines import MARK, Columns
from assay.ids import Ids
from assay.kernels import ranking
from assay.kernels.trec import QRELS, RANKS, RUN
from assay.qrels import Qrels
from assay.run import Run

Rows = npt.NDArray[np.int64]
_TEXTS = {
    "byte_order_mark": "byte-order marks, which other tools take for part of the first id",
    "comment_lines": "comment lines",
    "empty_lines": "empty lines",
    "extra_fields": "lines with more than six fields: the tag holds blanks, or an id does",
    "scattered_queries": "queries whose lines are not together",
    "float32_ties": "neighbours with scores so close that tools comparing float32 see a tie",
}
_BLOCK = 1 << 15
_UNWRITABLE = re.compile("[ \t\n\r\v\f\0]")


@dataclass(frozen=True)
class Note:
    """Something noticed in a file that is no error: what it is, how often, and the first lines where it is.

    `kind` is a name for programs, `text` says it to a reader.
    """

    kind: str
    count: int
    text: str
    lines: tuple[int, ...] = ()

    def __str__(self) -> str:
        where = f" (lines {', '.join(map(str, self.lines))})" if self.lines else ""
        return f"{self.text}: {self.count}{where}"


def read_run(path: StrPath, *, name: str | None = None, keep_first: bool = False) -> Run:
    r"""The run in a TREC file, ranked.

    Args:
        path: The file: plain, gzip or Zstandard.
        name: Name of the run; None takes the tag of the first line, or the file's name where it has no lines.
        keep_first: Of rows that repeat a passage for a query, keep the first in the file instead of raising.

    Returns:
        A run of unknown depth. `counts` holds what was noticed, where it is not zero: `byte_order_mark`,
        `comment_lines`, `empty_lines`, `extra_fields` (lines with more than six; the rest is the tag),
        `scattered_queries` (lines not together) and `repeated_dropped` (by `keep_first`). An empty file is a
        run without queries.

    Raises:
        FileError: The file cannot be read.
        FormatError: A line is not as it should be; the message names it.
        ScoreError: A score is not finite.
        DuplicateIdError: A passage stands twice for a query; the message names both lines.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     place = Path(folder) / "run.txt"
        ...     _ = place.write_text("q Q0 a 1 1.5 mine\nq\tQ0  b 2 2e0 mine\r\n")
        ...     run = read_run(place)
        >>> run.name, run.triples()
        ('mine', [('q', 'b', 2.0), ('q', 'a', 1.5)])
    """
    columns = columns_of_file(path, RUN)
    counts = _counts(columns)
    offsets, order = _grouped(columns)
    passage, score = columns.passage, columns.value
    if order is not None:
        passage, score = passage[order], score[order]
    queries, passages = Ids(columns.queries), Ids(columns.passages)
    again = ranking.repeated_passage(offsets, passage, passages=len(passages))
    if again is not None:
        repeated = ranking.repeats(offsets, passage)
        if not keep_first:
            _raise_repeated(path, queries[again[0]], passages[again[1]], int(repeated.sum()))
        counts["repeated_dropped"] = int(repeated.sum())
        passage, score = passage[~repeated], score[~repeated]
        offsets = np.concatenate([[0], np.cumsum(~repeated)]).astype(np.int64)[offsets]
    return Run.ranked(
        queries,
        passages,
        offsets=offsets,
        passage=passage,
        score=score,
        distinct=True,
        owned=True,
        name=name if name is not None else _first_tag(path),
        counts=counts,
    )


def read_qrels(path: StrPath) -> Qrels:
    r"""The judgements in a TREC qrels file.

    Lines have exactly four fields, the last an integer grade, which may be negative. An empty file is qrels
    without rows.

    Raises:
        FileError: The file cannot be read.
        FormatError: A line is not as it should be; the message names it.
        DuplicateIdError: A pair is judged twice; the message names both lines.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     place = Path(folder) / "qrels.txt"
        ...     _ = place.write_text("001 0 doc#7 1\n1 0 b -1\n")
        ...     read_qrels(place).triples()
        [('001', 'doc#7', 1), ('1', 'b', -1)]
    """
    columns = columns_of_file(path, QRELS)
    offsets, order = _grouped(columns)
    passage = columns.passage if order is None else columns.passage[order]
    queries, passages = Ids(columns.queries), Ids(columns.passages)
    again = ranking.repeated_passage(offsets, passage, passages=len(passages))
    if again is not None:
        count = int(ranking.repeats(offsets, passage).sum())
        _raise_repeated(path, queries[again[0]], passages[again[1]], count, judged=True)
    grade = columns.value if order is None else columns.value[order]
    return Qrels(queries, passages, offsets, passage, grade.astype(np.int32))


def write_run(run: Run, path: StrPath) -> int:
    """How many queries of the run have no rows and so no line in the file, after it is written.

    Rows past the depth are left out. Scores have as many digits as it takes to read the same float64. The tag
    is the run's name with blanks put as ``_``. The suffix `.gz` or `.zst` compresses.

    Raises:
        FormatError: An id is empty or holds a blank or a NUL, or a query id starts with ``#``.
        FileError: The file cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     place = Path(folder) / "run.txt"
        ...     left_out = write_run(Run.of([("q", "a", 1e-7), ("q", "b", 0.5)], name="my run"), place)
        ...     print(place.read_text(), end="")
        q Q0 b 1 0.5 my_run
        q Q0 a 2 1e-07 my_run
    """
    run = run.cut()
    tag = re.sub(r"[ \t\n\r\v\f\0]+", "_", run.name) or "run"
    queries = _writable(run.queries, "query")
    passages = _writable(run.passages, "passage")
    count = np.diff(run.offsets)

    def chunks() -> Iterator[str]:
        for row in np.flatnonzero(count).tolist():
            part = slice(int(run.offsets[row]), int(run.offsets[row + 1]))
            rows = zip(run.passage[part].tolist(), run.score[part].tolist(), strict=True)
            yield "".join(
                f"{queries[row]} Q0 {passages[p]} {rank} {score!r} {tag}\n" for rank, (p, score) in enumerate(rows, 1)
            )

    _write(path, chunks())
    return int((count == 0).sum())


def write_qrels(qrels: Qrels, path: StrPath, *, separator: str = " ") -> int:
    """How many queries of the qrels have no judgement and so no line in the file, after it is written.

    Fields are apart by `separator`, a blank or a tab; readers take both.

    Raises:
        FormatError: An id is empty or holds a blank or a NUL, or a query id starts with ``#``.
        FileError: The file cannot be written.
    """
    queries = _writable(qrels.queries, "query")
    passages = _writable(qrels.passages, "passage")
    rows = zip(qrels.query.tolist(), qrels.passage.tolist(), qrels.grade.tolist(), strict=True)
    _write(path, (separator.join((queries[q], "0", passages[p], f"{grade}\n")) for q, p, grade in rows))
    return int((np.diff(qrels.offsets) == 0).sum())


def lint_run(path: StrPath) -> list[Note]:
    """What is odd in a TREC run without being an error.

    Reads the file several times, so it must not be a pipe. Looked for: a byte-order mark, comments, empty lines,
    blanks in the tag, queries whose lines are not together, passages that repeat within a query, a rank column
    that is not whole numbers, disagrees with the scores or repeats a rank, and scores that differ as float64 but
    not as float32 (tools that compare float32 see a tie there).

    Raises:
        FileError, FormatError, ScoreError: As `read_run`; repeated passages are noted, not raised.
    """
    columns = columns_of_file(path, RUN)
    notes = [Note(kind, count, _TEXTS[kind]) for kind, count in _counts(columns).items()]
    offsets, order = _grouped(columns)
    rows = np.arange(len(columns.value)) if order is None else order
    repeated = np.sort(rows[ranking.repeats(offsets, columns.passage[rows])])
    if len(repeated):
        text = "rows that repeat a passage of the same query"
        notes.append(Note("repeated_passages", len(repeated), text, _lines_of_rows(path, repeated[:3], columns)))
    try:
        ranks = columns_of_file(path, RANKS).value
    except FormatError as err:
        return [*notes, Note("rank_column", 1, f"the rank column does not hold whole numbers ({err})")]
    notes += _rank_notes(path, columns, offsets, rows, ranks)
    close = float32_ties(read_run(path, keep_first=True))
    if close:
        notes.append(Note("float32_ties", close, _TEXTS["float32_ties"]))
    return notes


def float32_ties(run: Run) -> int:
    """Neighbours in ranked lists whose scores differ as float64 and are equal as float32.

    Example:
        >>> float32_ties(Run.of([("q", "rel", 0.900000001), ("q", "zzz", 0.9)]))
        1
    """
    starts, count = run.offsets[1:-1], 0
    # In blocks that stay in the cache: this passes over every run that is read.
    for low in range(0, len(run) - 1, _BLOCK):
        score = run.score[low : low + _BLOCK + 1]
        with np.errstate(over="ignore"):
            single = score.astype(np.float32)
        close = (single[1:] == single[:-1]) & (score[1:] != score[:-1])
        first, last = np.searchsorted(starts, (low + 1, low + len(score)))
        close[starts[first:last] - low - 1] = False
        count += int(close.sum())
    return count


def _counts(columns: Columns) -> dict[str, int]:
    noticed = {
        "byte_order_mark": int(columns.mark),
        "comment_lines": columns.comments,
        "empty_lines": columns.empty,
        "extra_fields": columns.extra,
        "scattered_queries": _scattered(columns),
    }
    return {kind: count for kind, count in noticed.items() if count}


def _scattered(columns: Columns) -> int:
    return int((np.bincount(columns.segment_query) > 1).sum()) if len(columns.segment_query) else 0


def _grouped(columns: Columns) -> tuple[Rows, Rows | None]:
    """Borders of the lists, and the order of rows that puts lists together (None: they are together)."""
    rows = len(columns.value)
    borders = np.append(columns.segment_start, rows)
    queries = len(columns.queries)
    if len(columns.segment_start) == queries:
        return borders, None
    length = np.diff(borders)
    by_query = np.argsort(columns.segment_query, kind="stable")
    offsets = np.zeros(queries + 1, np.int64)
    np.cumsum(np.bincount(columns.segment_query, length, queries).astype(np.int64), out=offsets[1:])
    taken = length[by_query]
    starts = np.cumsum(taken) - taken
    order = np.arange(rows) - np.repeat(starts, taken) + np.repeat(columns.segment_start[by_query], taken)
    return offsets, order


def _rank_notes(
    path: StrPath, columns: Columns, offsets: Rows, rows: Rows, ranks: npt.NDArray[np.float64]
) -> list[Note]:
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    by_rank = rows[np.lexsort((ranks[rows], owner))]
    same_list = owner[1:] == owner[:-1]
    score, rank = columns.value[by_rank], ranks[by_rank]
    notes = []
    rising = np.flatnonzero(same_list & (score[1:] > score[:-1]) & (rank[1:] > rank[:-1]))
    if len(rising):
        first = np.unique([by_rank[rising[:3]], by_rank[rising[:3] + 1]])
        text = "rows that the rank column puts below a row with a lower score; the score counts"
        notes.append(Note("rank_disagrees", len(rising), text, _lines_of_rows(path, first, columns)))
    level = np.flatnonzero(same_list & (rank[1:] == rank[:-1]))
    if len(level):
        first = np.unique(by_rank[level[:3] + 1])
        text = "rows whose rank stands twice in their list; the rank is not read"
        notes.append(Note("repeated_ranks", len(level), text, _lines_of_rows(path, first, columns)))
    return notes


def _lines_of_rows(path: StrPath, rows: Rows, columns: Columns) -> tuple[int, ...]:
    """Line numbers of rows (ascending), which count neither comments nor empty lines."""
    if columns.comments + columns.empty == 0:
        return tuple(int(row) + 1 for row in rows)
    wanted = set(rows.tolist())
    found: list[int] = []
    for row, (number, _) in enumerate(_rows(path)):
        if row in wanted:
            found.append(number)
            if len(found) == len(wanted):
                break
    return tuple(found)


def _rows(path: StrPath) -> Iterator[tuple[int, list[bytes]]]:
    """Line number and fields of every line that is neither a comment nor empty."""
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            fields = (line.removeprefix(MARK) if number == 1 else line).split()
            if fields and not fields[0].startswith(b"#"):
                yield number, fields


def _first_tag(path: StrPath) -> str:
    # A pipe cannot be read a second time.
    if Path(path).is_file():
        for _, fields in _rows(path):
            return b" ".join(fields[5:]).decode("utf-8", "backslashreplace")
    return Path(os.fspath(path)).name.split(".")[0] or "run"


def _raise_repeated(path: StrPath, query: str, passage: str, count: int, *, judged: bool = False) -> NoReturn:
    pair = [query.encode(), passage.encode()]
    rows = _rows(path) if Path(path).is_file() else iter(())
    lines = [str(number) for number, fields in rows if fields[0:3:2] == pair]
    where = f", lines {' and '.join(lines[:2])}" if lines else ""
    others = f"; {count} such lines in all" if count > 1 else ""
    what = "is judged twice for" if judged else "is a duplicate for"
    advice = (
        "keep one judgement a pair" if judged else "remove the repeats, or keep the first of each with --keep-first"
    )
    raise DuplicateIdError(f"{os.fspath(path)}: passage {passage} {what} query {query}{where}{others}; {advice}")


def _writable(ids: Ids, what: str) -> list[str]:
    listed = ids.texts.to_list()
    for id_ in listed:
        if not id_ or _UNWRITABLE.search(id_):
            kind = "is empty" if not id_ else "holds a blank or a NUL"
            raise FormatError(f"{what} id {id_!r} {kind}, which TREC files cannot express; rename it")
        if what == "query" and id_.startswith("#"):
            raise FormatError(f"query id {id_!r} starts with '#', which makes its lines comments; rename it")
    return listed


def _write(path: StrPath, chunks: Iterable[str]) -> None:
    first = True
    with replacing(path) as file:
        for chunk in chunks:
            data = chunk.encode("utf-8")
            # A blank keeps an id's own U+FEFF at the start of the file from being read as a byte-order mark.
            file.write(b" " + data if first and data.startswith(MARK) else data)
            first = False
