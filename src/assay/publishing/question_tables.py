"""Tables of a question-level folder: which files and configs there are, their columns, types and meanings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.building.built import CORPUS, EQUIVALENTS, META, QUERIES, XLING, Built
from assay.building.removals import Row
from assay.errors import DataError, UsageError
from assay.formats import rows as typed
from assay.publishing.files import refuse_split

DATA = "data"
"""The folder of the configs' Parquet files."""

TEXT_ONLY = "textonly"
UNRESOLVED = ("citing_id", "cited", "source", "reason")
JUDGED = {"query_id": typed.STRING, "doc_id": typed.STRING, "relevance": typed.INTEGER}

MEANINGS = {
    "_id": "id of the row's reply or question",
    "text": "the text, identifiers masked: the only one that systems may read",
    "raw_text": "the text before masking",
    "date": "when the reply was published or the question was asked, as `YYYY-MM-DD`",
    "institution": "who replied",
    "answers": "ids of the questions that the reply answers",
    "header": "what stood above the text",
    "source_url": "where it was published",
    "subject": "its subject line",
    "type": "kind of question, as the house calls it",
    "term": "term or session",
    "addressee": "who was asked",
    "author": "who asked",
    "orig_lang": "language of the original",
    "orig_lang_src": "what says so",
    "answer": "id of the reply",
    "split": "`train`, `dev` or `test`; null where the question is in no task",
    "joint_size": "how many questions the reply answers",
    "query_id": "id of the question",
    "lang": "language of this text of the question",
    "doc_id": "id of the reply",
    "relevance": "grade of the judgement; 1 and up is relevant",
}

_LISTS = frozenset(("answers", *EQUIVALENTS[1:], "tasks"))
_BOOLS = frozenset(("referral", "in_footnote"))
_TASK = re.compile(r"[A-Za-z0-9][\w-]*", re.ASCII)


def kinds_of_columns(columns: Sequence[str]) -> dict[str, str]:
    """The type of every column that the layout knows.

    Example:
        >>> kinds_of_columns(("_id", "answers", "joint_size", "referral"))
        {'_id': 'string', 'answers': 'list<string>', 'joint_size': 'int64', 'referral': 'bool'}
    """
    special = dict.fromkeys(_LISTS, typed.STRINGS) | dict.fromkeys(_BOOLS, typed.BOOL) | {"joint_size": typed.INTEGER}
    return {name: special.get(name, typed.STRING) for name in columns}


@dataclass(frozen=True)
class TableOf:
    """One table of rows.

    Attributes:
        file: Its JSON Lines file.
        rows: Its rows.
        kinds: Column to type.
        config: The config that has it in Parquet; empty where none has.
        split: The split of that config.
    """

    file: str
    rows: Sequence[Row] = field(repr=False)
    kinds: Mapping[str, str]
    config: str = ""
    split: str = ""

    @property
    def parquet(self) -> str:
        """Its Parquet file; nothing where it has no config, or no row, for `datasets` refuses an empty split."""
        shard = f"{self.split}-00000-of-00001.parquet"
        return f"{DATA}/{self.config}/{shard}" if self.config and self.rows else ""


def tables_of(built: Built) -> list[TableOf]:
    """The tables of a build but for the judgements.

    Raises:
        FormatError: A value is of another type than its column; the message names table, row and column.
        DataError: There is no reply or no question.
    """
    found = built.tables
    for what, rows in (("reply", found.corpus), ("question", found.queries)):
        if not rows:
            raise DataError(f"{built.origin.name}: there is no {what}, so there is nothing to publish")
    made = [
        _table("corpus", found.corpus, CORPUS, required=("_id", "text"), config=("corpus", "corpus")),
        _table("queries", found.queries, QUERIES, required=("_id", "text"), config=("queries", "queries")),
        _table(
            "queries_xling",
            found.queries_xling,
            XLING,
            required=("_id", "query_id", "text"),
            config=("queries-xling", "queries"),
        ),
        _table("equivalents", found.equivalents, EQUIVALENTS, required=("_id",)),
        _table("precedent_meta", found.precedent_meta, META),
        _table("unresolved_citations", built.unresolved, UNRESOLVED),
    ]
    return made


def _table(
    name: str,
    rows: Sequence[Row],
    columns: Sequence[str],
    *,
    required: Sequence[str] = (),
    config: tuple[str, str] = ("", ""),
) -> TableOf:
    kinds = typed.kinds_of(rows, kinds_of_columns(columns), what=name, required=required)
    return TableOf(f"{name}.jsonl", rows, kinds, *config)


def judged_tables(built: Built) -> Iterator[tuple[str, TableOf]]:
    """`TASK_SPLIT` and the table of its judgements, in the order of the build.

    Raises:
        UsageError: There are no judgements, or a name is none that files and readers take.
        FormatError: An id is no text, or a grade no whole number.
    """
    if not built.tables.qrels:
        raise UsageError(f"{built.origin.name} has no judgements; a question-level folder needs qrels/TASK_SPLIT")
    for name, judgements in built.tables.qrels.items():
        task, _, split = name.rpartition("_")
        if not _TASK.fullmatch(task):
            raise UsageError(f"{name!r} is no TASK_SPLIT of letters, digits, underscores and hyphens; rename it")
        refuse_split(split)
        rows: list[dict[str, Any]] = [{"query_id": q, "doc_id": d, "relevance": grade} for q, d, grade in judgements]
        typed.kinds_of(rows, JUDGED, what=f"qrels {name}", required=JUDGED)
        yield name, TableOf(f"qrels_jsonl/{name}.jsonl", rows, JUDGED, f"qrels-{task}", split)


def write_table(table: TableOf, folder: Path) -> None:
    """Writes a table as JSON Lines, and as Parquet where a config has it.

    Raises:
        FormatError: A text holds a lone surrogate.
        FileError: A file cannot be written.
    """
    typed.write_jsonl(table.rows, table.kinds, folder / table.file)
    if table.parquet:
        (folder / table.parquet).parent.mkdir(parents=True, exist_ok=True)
        typed.write_parquet(table.rows, table.kinds, folder / table.parquet)


def refuse_unlike(table: TableOf, folder: Path) -> None:
    """Raises DataError where a file of the table does not give the rows that were written to it."""
    readers = {table.file: typed.read_jsonl, **({table.parquet: typed.read_parquet} if table.parquet else {})}
    for name, read in readers.items():
        there = iter(read(folder / name))
        for number, row in enumerate(typed.whole(table.rows, table.kinds), 1):
            if next(there, None) != row:
                raise DataError(f"{name} row {number} would read back differently; nothing was published")
        if next(there, None) is not None:
            raise DataError(f"{name} has more than the {len(table.rows)} rows written; nothing was published")


def in_no_config(name: str) -> bool:
    """Whether a table of a published folder belongs to no config: what is there for `assay` and not for `datasets`.

    Example:
        >>> [in_no_config(n) for n in ("corpus.jsonl", "textonly/corpus.jsonl", "data/corpus/a.parquet")]
        [True, True, False]
    """
    return not name.startswith(f"{DATA}/")
