"""Declared: a file `assay.toml` that names tables, columns and tasks, so that any tables can be a collection.

The keys are in docs/collection-formats.md. A key that is not known is an error, and so is a column that is named and
not there: a slip of the pen must not turn into a collection without dates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.building.question_tasks import RULES
from assay.building.splits import fragment_tasks, with_all
from assay.building.tables import (
    FRAGMENT_ROLES,
    PASSAGE_ROLES,
    QUERY_ROLES,
    fields_of,
    fragments_of,
    links_of,
    passages_of,
)
from assay.building.ties import Pairs, chains, cluster_labels, shared_passage
from assay.collection import Collection
from assay.errors import FormatError, UnknownIdError, UnknownNameError
from assay.formats import shards
from assay.formats.declared import Keys, read_toml, refuse_unknown
from assay.formats.digest import digest_of, file_digests
from assay.formats.runs import read_qrels
from assay.formats.table import Field, Table
from assay.fragment import Fragments
from assay.ids import Ids
from assay.passage import Passages
from assay.query import Queries
from assay.span import Spans
from assay.task import Task
from assay.texts import Texts

LOOKS_FOR = "assay.toml, which names tables, columns and tasks"
FILE = "assay.toml"

_TEXTS = (str, list[str])
_KEYS: dict[str, Keys] = {
    "": {
        "name": str,
        "licence": str,
        "source": str,
        "revision": str,
        "mask": _TEXTS,
        "passages": dict,
        "queries": dict,
        "fragments": dict,
        "ties": dict,
        "tasks": dict,
    },
    "passages": {"files": _TEXTS, "views": dict, **dict.fromkeys(PASSAGE_ROLES, str)},
    "queries": {"files": _TEXTS, "views": dict, **dict.fromkeys(QUERY_ROLES, str)},
    "view": {"files": _TEXTS, "id": str, "text": str},
    "fragments": dict.fromkeys(FRAGMENT_ROLES, str),
    "ties": {"columns": _TEXTS, "joint_answer": bool, "shared_passage": bool},
    "task": {
        "qrels": (str, dict),
        "gold": str,
        "as_of": str,
        "views": list[str],
        "measures": list[str],
        "depth": int,
        "exclude_own": bool,
        "query_view": str,
    },
}


def recognises(path: Path) -> bool:
    """Whether a path is a file `assay.toml` or a folder with one."""
    return (path / FILE).is_file() or (path.name == FILE and path.is_file())


def load(path: Path) -> Collection:
    """The collection that an `assay.toml` declares.

    Raises:
        FormatError: The file is not TOML, a value is of the wrong type, or a table is wrong.
        UnknownNameError: A key, column or view is not known; near names are offered.
        UnknownIdError: A further table of queries has no text for one of them.
    """
    file = path if path.is_file() else path / FILE
    declared = _declared(file)
    counts: dict[str, int] = {}
    stated, asked = _Stated(file.parent, declared, "passages"), _Stated(file.parent, declared, "queries")
    table = stated.table({})
    gold = _fragment_names(declared)
    lists = asked.table(fields_of(gold, FRAGMENT_ROLES))
    queries = _queries(asked, lists, counts)
    elsewhere = {view: _Elsewhere(file.parent, view, spec) for view, spec in asked.elsewhere.items()}
    more = {view: one.texts(queries, counts) for view, one in elsewhere.items()}
    queries = replace(queries, texts={**queries.texts, **more})
    passages = _passages(stated, table, queries.ids, counts)
    fragments = fragments_of(lists, gold, queries.ids) if gold else None
    own = passages.ids.codes(lists.text(asked.names["answer"])) if "answer" in asked.names else None
    material = _Material(file.parent, declared, passages, queries, fragments, own)
    tasks = {name: material.task(name) for name in declared["tasks"]}
    asked_in = [own for one in elsewhere.values() for own in one.files]
    read = [file, *stated.files, *asked.files, *asked_in, *material.judged]
    digests = file_digests(file.parent, read)
    return Collection(
        name=declared.get("name") or file.resolve().parent.name,
        layout="toml",
        digest=digest_of(digests),
        files=digests,
        passages=passages,
        queries=queries,
        tasks=tasks,
        manifest=declared,
        licence=declared.get("licence", ""),
        source=declared.get("source", ""),
        revision=declared.get("revision", ""),
        counts={**counts, **table.noted("passages"), **lists.noted("queries")},
        tied=material.tied,
    )


def _declared(file: Path) -> dict[str, Any]:
    """The keys of the file, every one of them known and of its type."""
    declared = read_toml(file)
    refuse_unknown(declared, _KEYS[""], FILE)
    for name in ("passages", "queries", "tasks"):
        if name not in declared:
            raise FormatError(f"{FILE}: there is no [{name}]; a collection needs passages, queries and tasks")
    for name in ("passages", "queries", "fragments", "ties"):
        refuse_unknown(declared.get(name, {}), _KEYS[name], f"{FILE} [{name}]")
    for name, spec in declared["tasks"].items():
        if not isinstance(spec, dict):
            raise FormatError(f"{FILE} [tasks]: {name} must be a table, [tasks.{name}]")
        refuse_unknown(spec, _KEYS["task"], f"{FILE} [tasks.{name}]")
    if not declared["tasks"]:
        raise FormatError(f"{FILE} [tasks]: there is no task; a collection needs one, [tasks.NAME]")
    return declared


class _Stated:
    """A table as it is declared: its files, and which column has which role or view."""

    def __init__(self, folder: Path, declared: Mapping[str, Any], kind: str) -> None:
        spec = declared[kind]
        self.place = f"{FILE} [{kind}]"
        self.roles = PASSAGE_ROLES if kind == "passages" else QUERY_ROLES
        self.names: dict[str, str] = {role: spec[role] for role in self.roles if role in spec}
        views = spec.get("views", {})
        for view, said in views.items():
            if not isinstance(said, str if kind == "passages" else str | dict):
                wanted = "a column" if kind == "passages" else "a column, or a table with files, id and text"
                raise FormatError(f"{self.place} views.{view}: expected {wanted}, got {said!r}")
        self.views: dict[str, str] = {view: said for view, said in views.items() if isinstance(said, str)}
        self.elsewhere: dict[str, Any] = {view: said for view, said in views.items() if view not in self.views}
        missing = [key for key in ("files", "text", *(["id"] if kind == "passages" else [])) if key not in spec]
        if missing:
            raise FormatError(f"{self.place}: {missing[0]} is missing; say {', '.join(missing)}")
        self.files = _files(folder, spec["files"], self.place)

    def table(self, more: Mapping[str, Field]) -> Table:
        """The table, with every column that is named."""
        fields = {**fields_of(self.names, self.roles), **{column: Field(str) for column in self.views.values()}, **more}
        table = shards.read(self.files, fields)
        for column in fields:
            if column not in table:
                place = f"{self.place}, {self.files[0].name}"
                raise UnknownNameError(f"{place}: {UnknownNameError.of('column', column, table.columns)}")
        return table

    def texts(self, table: Table) -> dict[str, Texts]:
        """The text views."""
        return {"plain": table.text(self.names["text"]), **{v: table.text(column) for v, column in self.views.items()}}


class _Elsewhere:
    """Texts of queries in a table of their own, such as the same questions in another language."""

    def __init__(self, folder: Path, view: str, spec: Mapping[str, Any]) -> None:
        self.view, self.place = view, f"{FILE} [queries] views.{view}"
        refuse_unknown(spec, _KEYS["view"], self.place)
        missing = [key for key in _KEYS["view"] if key not in spec]
        if missing:
            raise FormatError(f"{self.place}: {missing[0]} is missing; say files, id, text")
        self.id, self.text = spec["id"], spec["text"]
        self.files = _files(folder, spec["files"], self.place)

    def texts(self, queries: Queries, counts: dict[str, int]) -> Texts:
        """The texts of all queries, in their order; those of other queries are left out and counted."""
        table = shards.read(self.files, {self.id: Field(str), self.text: Field(str)})
        rows = table.ids(self.id, what="query", text=self.text).codes(queries.ids).astype(np.int64)
        missing = np.flatnonzero(rows < 0)
        if len(missing):
            raise UnknownIdError(
                f"{self.place}: {self.files[0].name} has no text for {len(missing)} of {len(rows)} queries"
                f" (first: {queries.ids[int(missing[0])]}); every query needs one"
            )
        counts[f"texts of queries in view {self.view!r} left out, of no query here"] = len(table) - len(rows)
        return table.text(self.text).take(rows)


def _files(folder: Path, named: str | list[str], place: str) -> tuple[Path, ...]:
    """The files of a table: named whole, or as a table's name (`documents`)."""
    found: list[Path] = []
    for name in _listed(named):
        if not (folder / name).resolve().is_relative_to(folder.resolve()):
            raise FormatError(f"{place} files: {name} lies outside the folder of {FILE}; put it beside {FILE}")
        files = ((folder / name),) if (folder / name).is_file() else shards.files_of(folder, name)
        if not files:
            raise FormatError(f"{place} files: there is no file or table {name} in {folder}")
        found += files
    return tuple(found)


def _listed(value: str | list[str] | None) -> list[str]:
    return [value] if isinstance(value, str) else list(value or [])


def _fragment_names(declared: Mapping[str, Any]) -> dict[str, str]:
    gold: dict[str, str] = declared.get("fragments", {})
    missing = [role for role in ("document", "start", "end") if role not in gold]
    if gold and missing:
        raise FormatError(f"{FILE} [fragments]: {', '.join(missing)} missing; fragments need document, start and end")
    return gold


def _queries(asked: _Stated, table: Table, counts: dict[str, int]) -> Queries:
    names = asked.names
    ids = Ids.of(map(str, range(len(table))))
    if "id" in names:
        ids = table.ids(names["id"], what="query", text=names["text"])
    columns = table.others([*(name for role, name in names.items() if role != "answer"), *asked.views.values()])
    if "split" in names:
        columns["split"] = table.text(names["split"])
        counts["queries without a split"] = int((columns["split"].byte_lengths == 0).sum())
    counts["queries"] = len(ids)
    dates = table.array(names["date"]) if "date" in names else None
    if dates is not None:
        counts["undated queries"] = int(np.isnat(dates).sum())
    return Queries(ids, asked.texts(table), dates, columns)


def _passages(stated: _Stated, table: Table, questions: Ids, counts: dict[str, int]) -> Passages:
    names = stated.names
    placed = [role for role in ("document", "start", "end") if role in names]
    if len(placed) == 3:
        passages = passages_of(table, names, counts)
    elif placed:
        raise FormatError(
            f"{stated.place}: {', '.join(placed)} without the others; name document, start and end, or none"
        )
    else:
        passages = _alone(table, names)
    counts["passages"] = len(passages)
    dates = table.array(names["date"]) if "date" in names else None
    if dates is not None:
        counts["undated passages"] = int(np.isnat(dates).sum())
    offsets, linked = None, None
    if "answers" in names:
        offsets, linked, unknown = links_of(table.lists(names["answers"]), questions)
        counts["links to unknown questions left out"] = unknown
    columns = table.others([*names.values(), *stated.views.values()])
    return replace(
        passages,
        texts=stated.texts(table),
        dates=dates,
        link_offsets=offsets,
        link_query=linked,
        columns=columns,
    )


def _alone(table: Table, names: Mapping[str, str]) -> Passages:
    """Passages without documents; where they have titles, each is a document of its own."""
    ids = table.ids(names["id"], what="passage", text=names["text"])
    texts = {"plain": table.text(names["text"])}
    candidate = table.array(names["candidate"]) if "candidate" in names else None
    if "title" not in names:
        return Passages(ids, texts, candidate=candidate)
    spans = Spans(np.arange(len(ids), dtype=np.int64), np.zeros(len(ids), np.int64), texts["plain"].lengths)
    return Passages(ids, texts, parents=ids, spans=spans, titles=table.text(names["title"]), candidate=candidate)


class _Material:
    """What tasks are made of."""

    def __init__(
        self,
        folder: Path,
        declared: Mapping[str, Any],
        passages: Passages,
        queries: Queries,
        fragments: Fragments | None,
        own: npt.NDArray[np.int32] | None,
    ) -> None:
        self.folder, self.declared = folder, declared
        self.passages, self.queries, self.fragments, self.own = passages, queries, fragments, own
        self.judged: list[Path] = []
        self.tied = self._ties()

    def task(self, name: str) -> dict[str, Task]:
        """The task of that name, by split."""
        spec, place = self.declared["tasks"][name], f"{FILE} [tasks.{name}]"
        if ("qrels" in spec) == ("gold" in spec):
            raise FormatError(f"{place}: say either qrels (files) or gold (a rule for fragments, such as 'any')")
        splits = self._projected(name, spec, place) if "gold" in spec else self._read(name, spec, place)
        changes: dict[str, Any] = {"views": self._views(spec, place), "mask": tuple(_listed(self.declared.get("mask")))}
        if "measures" in spec:
            changes["measures"] = tuple(spec["measures"])
        if "depth" in spec:
            changes["depth"] = spec["depth"]
        view = changes["query_view"] = spec.get("query_view", "plain")
        if view not in self.queries.texts:
            raise UnknownNameError(f"{place}: {UnknownNameError.of('view of queries', view, self.queries.texts)}")
        changes["excluded"] = spec.get("exclude_own", False)
        changes["asked"], changes["rule"] = self._asked(spec, place)
        return {split: replace(task, **changes, ties=self._clusters(task)) for split, task in splits.items()}

    def _projected(self, name: str, spec: Mapping[str, Any], place: str) -> dict[str, Task]:
        if self.fragments is None:
            raise FormatError(f"{place} gold: there is no [fragments]")
        return fragment_tasks(name, self.fragments, passages=self.passages, queries=self.queries, rule=spec["gold"])

    def _read(self, name: str, spec: Mapping[str, Any], place: str) -> dict[str, Task]:
        named = {"test": spec["qrels"]} if isinstance(spec["qrels"], str) else spec["qrels"]
        splits: dict[str, Task] = {}
        for split, file in named.items():
            if not isinstance(file, str) or not (self.folder / file).is_file():
                raise FormatError(f"{place} qrels.{split}: there is no file {file!r} in {self.folder}")
            self.judged.append(self.folder / file)
            qrels = read_qrels(self.folder / file)
            splits[split] = Task(name=name, split=split, pool=self.queries, passages=self.passages, qrels=qrels)
        return with_all(splits)

    def _views(self, spec: Mapping[str, Any], place: str) -> tuple[str, ...]:
        """The allowed views: those named, else the text and the structure that is there."""
        passages = self.passages
        there = ["text:plain"]
        there += [] if passages.titles is None else ["title"]
        there += [] if passages.position is None else ["parent", "position", "span"]
        known = [*there, *(f"text:{view}" for view in passages.texts)]
        if passages.link_query is not None:
            known.append("link:question")
            # Without an as-of rule it would lead from a query's own question to its answer.
            there += ["link:question"] if "as_of" in spec else []
        for view in spec.get("views", []):
            if view not in known:
                raise UnknownNameError(f"{place} views: {UnknownNameError.of('view', view, known)}")
        return tuple(spec.get("views", there))

    def _asked(self, spec: Mapping[str, Any], place: str) -> tuple[npt.NDArray[np.datetime64] | None, str]:
        which = spec.get("as_of")
        if which is None:
            return None, ""
        if which not in RULES:
            raise UnknownNameError(f"{place}: {UnknownNameError.of('as-of rule', which, RULES)}")
        if self.passages.dates is None:
            raise FormatError(f"{place} as_of: [passages] names no date")
        if which == "query":
            if self.queries.dates is None:
                raise FormatError(f"{place} as_of: [queries] names no date")
            return self.queries.dates, RULES[which]
        if self.own is None:
            raise FormatError(f"{place} as_of: [queries] names no answer, whose date would be the limit")
        days = np.full(len(self.queries), "NaT", "datetime64[D]")
        days[self.own >= 0] = self.passages.dates[self.own[self.own >= 0]]
        return days, RULES[which]

    def _ties(self) -> dict[str, Pairs]:
        spec = self.declared.get("ties", {})
        tied: dict[str, Pairs] = {}
        for name in _listed(spec.get("columns")):
            if name not in self.queries.columns:
                raise UnknownNameError(f"{FILE} [ties]: {UnknownNameError.of('column', name, self.queries.columns)}")
            texts = self.queries.columns[name]
            rows = np.flatnonzero(texts.byte_lengths > 0)
            tied[name] = chains(texts.first_rows_in(texts)[rows], rows)
        passages = self.passages
        if spec.get("joint_answer") and passages.link_offsets is not None and passages.link_query is not None:
            owners = np.repeat(np.arange(len(passages)), np.diff(passages.link_offsets))
            tied["joint_answer"] = chains(owners, passages.link_query.astype(np.int64))
        return tied

    def _clusters(self, task: Task) -> npt.NDArray[np.int64] | None:
        shares = self.declared.get("ties", {}).get("shared_passage", False)
        if not self.tied and not shares:
            return None
        shared = [shared_passage(self.queries.ids, task.qrels)] if shares else []
        return cluster_labels(len(self.queries), [*self.tied.values(), *shared])
