"""Text-only export: texts under random ids, with the dates and as-of days that the evaluator keeps beside them.

    corpus.jsonl, queries.jsonl       `_id`, `text`
    qrels/TASK_SPLIT.tsv              judgements
    evaluator/passages.jsonl          `_id`, `date`
    evaluator/queries.jsonl           `_id`, `date`, `before`: task to the day before which passages must be dated
    text_only.json                    mask tokens, and the as-of rule in words of every task that has one

Systems get the view `text:plain` and nothing else; there are no links, no classes of equivalent passages and no ties.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.building.question_tasks import headline_measures
from assay.building.splits import with_all
from assay.collection import Collection
from assay.errors import FormatError
from assay.formats import jsonl
from assay.formats.digest import digest_of, file_digests
from assay.formats.rows import read_jsonl
from assay.formats.runs import read_qrels
from assay.formats.table import Field, Table
from assay.ids import Ids
from assay.passage import Passages
from assay.qrels import Qrels
from assay.query import Queries
from assay.sources.parlir import qrels_files, words_of
from assay.task import Task

LOOKS_FOR = "text_only.json, corpus.jsonl, queries.jsonl and evaluator/passages.jsonl, evaluator/queries.jsonl"

_RECORD = "text_only.json"
_NAMES = ("corpus.jsonl", "queries.jsonl", "evaluator/passages.jsonl", "evaluator/queries.jsonl")

Days = npt.NDArray[np.datetime64]


def recognises(path: Path) -> bool:
    """Whether a folder has this layout."""
    return all((path / name).is_file() for name in (_RECORD, *_NAMES))


def load(path: Path) -> Collection:
    """The collection in a text-only export, with the as-of rules of the collection that was exported.

    Raises:
        FormatError: A file, line or field cannot be read as what it should be, or an id of the evaluator's files is not
            that of a text.
        DuplicateIdError: An id stands twice.
    """
    record = jsonl.read_object(path / _RECORD)
    texts = {"_id": Field(str), "text": Field(str)}
    corpus, asked = (jsonl.read_table(path / name, texts) for name in _NAMES[:2])
    ids = corpus.ids("_id", what="passage", text="text"), asked.ids("_id", what="query", text="text")
    dated = [_dates(path / name, mine) for name, mine in zip(_NAMES[2:], ids, strict=True)]
    passages = Passages(ids[0], {"plain": corpus.text("text")}, dates=dated[0])
    queries = Queries(ids[1], {"plain": asked.text("text")}, dated[1])
    rules = _rules(record)
    before = _before(path / _NAMES[3], ids[1], rules)
    judged = qrels_files(path)
    tasks: dict[str, dict[str, Task]] = {}
    counts = {"passages": len(passages), "queries": len(queries)}
    for name, split, file in judged:
        qrels = read_qrels(file)
        if len(qrels) == 0:
            counts["judgement files without a line"] = counts.get("judgement files without a line", 0) + 1
            continue
        task = _task(name, split, queries=queries, passages=passages, qrels=qrels)
        task = replace(task, mask=words_of(record.get("mask_token")))
        if name in rules:
            task = replace(task, asked=before[name], rule=rules[name])
        tasks.setdefault(name, {})[split] = task
    read = [path / _RECORD, *(path / name for name in _NAMES), *(file for _, _, file in judged)]
    digests = file_digests(path, read)
    return Collection(
        name=path.resolve().name,
        layout="text-only",
        digest=digest_of(digests),
        files=digests,
        passages=passages,
        queries=queries,
        tasks={name: with_all(splits) for name, splits in tasks.items()},
        manifest=record,
        counts=counts,
    )


def _task(name: str, split: str, *, queries: Queries, passages: Passages, qrels: Qrels) -> Task:
    measures = headline_measures(name)
    return Task(name=name, split=split, pool=queries, passages=passages, qrels=qrels, measures=measures)


def _dates(file: Path, ids: Ids) -> Days:
    """The day of every text, by its row."""
    table = jsonl.read_table(file, {"_id": Field(str), "date": Field(date, required=False)})
    rows = ids.codes(_checked(table, ids, file))
    days = np.full(len(ids), "NaT", "datetime64[D]")
    if "date" in table:
        days[rows] = table.array("date")
    return days


def _checked(table: Table, ids: Ids, file: Path) -> Ids:
    """The ids of an evaluator's file, which are those of the texts."""
    named = table.ids("_id", what=file.stem)
    unknown = np.flatnonzero(ids.codes(named) < 0)
    if len(unknown):
        row = int(unknown[0])
        raise FormatError(
            f"{table.where(row, '_id')}: there is no text with the id {named[row]!r} ({len(unknown)} such rows); the"
            " files belong to different exports"
        )
    return named


def _before(file: Path, ids: Ids, rules: Mapping[str, str]) -> dict[str, Days]:
    """Per task with a rule the day before which passages must be dated, by row of the queries."""
    days = {name: np.full(len(ids), "NaT", "datetime64[D]") for name in rules}
    place = {id_: row for row, id_ in enumerate(ids)}
    for number, row in enumerate(read_jsonl(file), 1):
        told = row.get("before") or {}
        if not isinstance(told, dict):
            raise FormatError(f"{file.name}:{number} $.before: expected an object of task to day, got {told!r}")
        for name, day in told.items():
            if name not in days:
                raise FormatError(f"{file.name}:{number} $.before: {_RECORD} names no rule for the task {name!r}")
            days[name][place[row["_id"]]] = _day(day, f"{file.name}:{number} $.before.{name}")
    return days


def _day(written: Any, place: str) -> np.datetime64:
    try:
        day = date.fromisoformat(written)
    except (TypeError, ValueError):
        day = None
    if day is None or day.isoformat() != written:
        raise FormatError(f"{place}: {written!r} is not an ISO date, YYYY-MM-DD")
    return np.datetime64(day, "D")


def _rules(record: Mapping[str, Any]) -> dict[str, str]:
    rules = record.get("as_of")
    if not isinstance(rules, dict) or not all(isinstance(rule, str) for rule in rules.values()):
        raise FormatError(f"{_RECORD} $.as_of: expected an object of task to its rule in words; export again")
    return rules
