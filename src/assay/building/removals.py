"""Removals: records taken out of a build on request, with all that depends on them.

`removals.jsonl` has a line a record, `{"_id": "…", "reason": "…"}`. Revisions that are published stay as they are; the
next build leaves the records out and says how many and why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.building.funnel import Funnel
from assay.errors import DuplicateIdError, FormatError
from assay.formats import jsonl
from assay.formats.table import Field

Row = Mapping[str, Any]
Judgement = tuple[str, str, int]

STEP = "removals"


@dataclass(frozen=True)
class BuildTables:
    """The tables of a question-level build, as rows.

    Attributes:
        corpus: Replies: `_id`, `answers` (ids of questions), and more.
        queries: Questions: `_id`, `answer` (id of the reply), and more.
        queries_xling: Questions in another language: `_id`, `query_id`, and more.
        equivalents: `_id` of a question, and lists of ids.
        precedent_meta: Citations: `query_id`, `doc_id`, and more.
        qrels: Judgements `(query, passage, grade)` by `TASK_SPLIT`.
    """

    corpus: Sequence[Row]
    queries: Sequence[Row]
    queries_xling: Sequence[Row] = ()
    equivalents: Sequence[Row] = ()
    precedent_meta: Sequence[Row] = ()
    qrels: Mapping[str, Sequence[Judgement]] | None = None


def read_removals(path: Path) -> dict[str, str]:
    """Id to reason, from `removals.jsonl`; empty where there is no such file.

    Raises:
        FormatError: A line has no id or no reason.
        DuplicateIdError: An id stands twice.
    """
    if not path.is_file():
        return {}
    table = jsonl.read_table(path, {"_id": Field(str), "reason": Field(str)})
    found: dict[str, str] = {}
    for row, (id_, reason) in enumerate(zip(table.text("_id"), table.text("reason"), strict=True)):
        if not id_.strip() or not reason.strip():
            raise FormatError(
                f"{table.where(row, '_id' if reason.strip() else 'reason')}: empty; a removal has an id and a reason"
            )
        if id_ in found:
            raise DuplicateIdError(f"{table.where(row, '_id')}: {id_!r} is removed twice; keep one line an id")
        found[id_] = reason
    return found


def without_removed(tables: BuildTables, removals: Mapping[str, str], funnel: Funnel) -> BuildTables:
    """The tables without the removed records and without what depends on them; every drop is in the funnel.

    A question takes with it its texts in other languages, its judgements, its citations, its mention among equivalents,
    and its reply if that answers no other question. A reply takes with it its judgements and citations; its questions
    stay, without an answer. An id that names no record is counted under its own reason.

    Example:
        >>> tables = BuildTables(
        ...     corpus=[{"_id": "a", "answers": ["q"]}, {"_id": "b", "answers": ["r"]}],
        ...     queries=[{"_id": "q", "answer": "a"}, {"_id": "r", "answer": "b"}],
        ...     qrels={"answer_test": [("q", "a", 1), ("r", "b", 1)]},
        ... )
        >>> funnel = Funnel()
        >>> left = without_removed(tables, {"q": "asked for"}, funnel)
        >>> [row["_id"] for row in left.corpus], left.qrels, funnel.dropped("removals")
        (['b'], {'answer_test': [('r', 'b', 1)]}, 3)
    """
    if not removals:
        return tables
    known = {str(row["_id"]) for part in (tables.corpus, tables.queries, tables.queries_xling) for row in part}
    unknown = sorted(set(removals) - known)
    if unknown:
        funnel.drop(f"{STEP}/ids that name no record", "unknown id", unknown)
    gone = dict(removals)
    for row in tables.corpus:
        asked = listed(row.get("answers"))
        if asked and all(id_ in removals for id_ in asked):
            gone.setdefault(str(row["_id"]), f"answers only what was removed: {removals[asked[0]]}")

    def kept(rows: Sequence[Row], part: str, named: Callable[[Row], Sequence[str]]) -> list[Row]:
        found = []
        for row in rows:
            hit = next((id_ for id_ in named(row) if id_ in gone), None)
            if hit is None:
                found.append(row)
            else:
                funnel.drop(STEP, f"{part}: {gone[hit]}", str(row.get("_id", hit)))
        return found

    left = replace(
        tables,
        corpus=[_without_links(row, gone) for row in kept(tables.corpus, "corpus", lambda row: [row["_id"]])],
        queries=[_without_answer(row, gone) for row in kept(tables.queries, "queries", lambda row: [row["_id"]])],
        queries_xling=kept(tables.queries_xling, "queries_xling", lambda row: [row["_id"], row["query_id"]]),
        equivalents=[
            _without_links(row, gone) for row in kept(tables.equivalents, "equivalents", lambda row: [row["_id"]])
        ],
        precedent_meta=kept(tables.precedent_meta, "precedent_meta", lambda row: [row["query_id"], row["doc_id"]]),
        qrels=None if tables.qrels is None else _judged(tables.qrels, gone, _translated(tables, gone), funnel),
    )
    funnel.keep(STEP, len(left.corpus) + len(left.queries) + len(left.queries_xling))
    return left


def listed(value: Any) -> list[str]:
    """Ids in a field that holds one id, a list of them, or nothing.

    Example:
        >>> listed("a"), listed(["a", "b"]), listed(None), listed("")
        (['a'], ['a', 'b'], [], [])
    """
    if isinstance(value, str):
        return [value] if value else []
    return [] if value is None else [str(one) for one in value]


def _translated(tables: BuildTables, gone: Mapping[str, str]) -> dict[str, str]:
    """Questions in another language that go with theirs, and why."""
    return {str(row["_id"]): gone[row["query_id"]] for row in tables.queries_xling if row["query_id"] in gone}


def _judged(
    qrels: Mapping[str, Iterable[Judgement]], gone: Mapping[str, str], translated: Mapping[str, str], funnel: Funnel
) -> dict[str, list[Judgement]]:
    left: dict[str, list[Judgement]] = {}
    why = {**translated, **gone}
    for name, judgements in qrels.items():
        left[name] = []
        for query, passage, grade in judgements:
            hit = query if query in why else passage
            if hit in why:
                funnel.drop(STEP, f"qrels {name}: {why[hit]}", f"{query} {passage}")
            else:
                left[name].append((query, passage, grade))
    return left


def _without_links(row: Row, gone: Mapping[str, str]) -> Row:
    """The row without removed ids in its lists."""
    changed = {
        name: [one for one in value if one not in gone]
        for name, value in row.items()
        if isinstance(value, list | tuple) and any(one in gone for one in value if isinstance(one, str))
    }
    return {**row, **changed} if changed else row


def _without_answer(row: Row, gone: Mapping[str, str]) -> Row:
    return {**row, "answer": None} if row.get("answer") in gone else row
