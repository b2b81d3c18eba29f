"""Citation edges of a collection that stands in a folder, as its table `precedent_meta` tells them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from assay.building.splits import ALL
from assay.collection import Collection
from assay.errors import FormatError, UsageError
from assay.formats import shards
from assay.formats.table import Field, Table
from assay.texts import Texts

TABLE = "precedent_meta"
NONE = "none"
"""Stands for a task or split that an edge has none of, and for a source or referral that the table does not tell."""
_FIELDS = {
    "query_id": Field(str),
    "doc_id": Field(str),
    "citing_id": Field(str, required=False),
    "source": Field(str, required=False),
    "form": Field(str, required=False),
    "referral": Field(bool, required=False),
    "phrase": Field(str, required=False),
    "sentence": Field(str, required=False),
    "context": Field(str, required=False),
    "tasks": Field(str | list[str], required=False),
}


class Stratum(NamedTuple):
    """What edges of one kind have in common: task families joined by `+`, source, `yes` or `no`, split of the query."""

    tasks: str
    source: str
    referral: str
    split: str


class Edge(NamedTuple):
    """A citation.

    Attributes:
        key: A name that no other edge of the collection has, made of what it says and not of its place.
        query_id, doc_id: The question and the reply that it is a judgement for.
        stratum: Its kind.
        phrase: The words that decided on its referral; empty where the table does not tell.
        sentence: The sentence in which it stands.
    """

    key: str
    query_id: str
    doc_id: str
    stratum: Stratum
    phrase: str
    sentence: str


@dataclass(frozen=True)
class MetaEdges:
    """All edges of a collection.

    Attributes:
        edges: In the order of their keys, so that the order of the file does not matter.
        counts: What was met on the way, by reason.
    """

    edges: Sequence[Edge]
    counts: Mapping[str, int]

    @property
    def strata(self) -> dict[Stratum, int]:
        """How many edges each stratum has, strata in their order."""
        return dict(sorted(Counter(edge.stratum for edge in self.edges).items()))


def meta_edges(collection: Collection, folder: Path) -> MetaEdges:
    """The edges in a collection's folder.

    The task families of an edge are its column `tasks`; older tables lack it, and the judgements tell: an edge is of
    every task in which its reply is relevant for its question. `precedenthc` counts as `precedent`, `citehc` as `cite`.
    A sentence is the column `sentence`, else `context`.

    Raises:
        UsageError: There is no such table, or it has no rows.
        FormatError: A line or field cannot be read as what it should be.
    """
    files = shards.files_of(folder, TABLE)
    if not files:
        raise UsageError(
            f"{collection.name} has no table {TABLE}: only question-level collections tell their citations"
        )
    table = shards.read(files, _FIELDS)
    if not len(table):
        raise UsageError(f"{collection.name}: {TABLE} has no rows, so there is nothing to draw")
    _refuse_unnamed(table)
    edges, seen = [], Counter[str]()
    for edge in _edges(collection, table):
        seen[edge.key] += 1
        edges.append(edge if seen[edge.key] == 1 else edge._replace(key=f"{edge.key} ({seen[edge.key]})"))
    counts = {
        **table.noted(TABLE),
        "edges": len(edges),
        "edges whose question is unknown": int((collection.queries.ids.codes(table.text("query_id")) < 0).sum()),
        "edges whose reply is unknown": int((collection.passages.ids.codes(table.text("doc_id")) < 0).sum()),
        "edges without a sentence": sum(not edge.sentence for edge in edges),
    }
    return MetaEdges(sorted(edges), counts)


def _edges(collection: Collection, table: Table) -> list[Edge]:
    asked, cited = table.text("query_id").to_list(), table.text("doc_id").to_list()
    tasks = _told(table) if "tasks" in table else _judged(collection, list(zip(asked, cited, strict=True)))
    splits = _splits(collection, asked)
    citing, source, form, phrase, sentence, context = (
        _column(table, name) for name in ("citing_id", "source", "form", "phrase", "sentence", "context")
    )
    sends = [NONE] * len(table)
    if "referral" in table:
        sends = [("no", "yes")[flag] for flag in table.array("referral").tolist()]
    edges = []
    for row in range(len(table)):
        stratum = Stratum(tasks[row], source[row] or NONE, sends[row], splits[row])
        said = sentence[row] or context[row]
        own = [asked[row], cited[row], citing[row], form[row], *stratum, phrase[row], said]
        digest = hashlib.sha256(json.dumps(own).encode()).hexdigest()
        edges.append(
            Edge(f"{asked[row]} > {cited[row]} #{digest[:8]}", asked[row], cited[row], stratum, phrase[row], said)
        )
    return edges


def _refuse_unnamed(table: Table) -> None:
    for name in ("query_id", "doc_id"):
        empty = (table.text(name).byte_lengths == 0).nonzero()[0]
        if len(empty):
            raise FormatError(
                f"{table.where(int(empty[0]), name)}: empty ({len(empty)} such rows); an edge needs both ids"
            )


def _column(table: Table, name: str) -> list[str]:
    return table.text(name).to_list() if name in table else [""] * len(table)


def _family(task: str) -> str:
    return task.removesuffix("hc")


def _told(table: Table) -> list[str]:
    return ["+".join(sorted({_family(task) for task in row if task})) or NONE for row in table.lists("tasks").to_list()]


def _judged(collection: Collection, pairs: Sequence[tuple[str, str]]) -> list[str]:
    """The families in which each pair is a judgement; own answers are no citations, and other languages no new ones."""
    relevant: dict[str, set[tuple[str, str]]] = {}
    for name, splits in collection.tasks.items():
        if name.startswith("answer") or name.endswith("_xling"):
            continue
        found = relevant.setdefault(_family(name), set())
        for split, task in splits.items():
            if split != ALL:
                found |= {(query, passage) for query, passage, grade in task.qrels.triples() if grade > 0}
    return ["+".join(sorted(name for name, found in relevant.items() if pair in found)) or NONE for pair in pairs]


def _splits(collection: Collection, asked: list[str]) -> list[str]:
    split = collection.queries.columns.get("split")
    if split is None:
        return [NONE] * len(asked)
    of_row = [*(name or NONE for name in split.to_list()), NONE]
    # An unknown question is row -1: the last entry.
    return [of_row[row] for row in collection.queries.ids.codes(Texts.of(asked)).tolist()]


def beginning(texts: Mapping[str, Texts], row: int, size: int) -> str:
    """The beginning of an unmasked text, of the masked one where there is no other; empty for row -1.

    Example:
        >>> beginning({"plain": Texts.of(["a [MASKED]"]), "raw": Texts.of(["a UIN 5 here"])}, 0, 7)
        'a UIN 5…'
    """
    text = texts.get("raw", texts["plain"])[row] if row >= 0 else ""
    return text if len(text) <= size else f"{text[:size]}…"
