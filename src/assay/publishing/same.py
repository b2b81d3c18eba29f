"""Sameness: whether files read back give the collection that was written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from assay.audit import own_splits
from assay.collection import Collection
from assay.errors import DataError, UsageError
from assay.fragment import Fragments
from assay.passage import Passages
from assay.qrels import Qrels
from assay.query import Queries
from assay.task import Task
from assay.texts import Texts


def refuse_changed(written: Collection, read: Collection) -> None:
    """Raises where a chunk-level collection does not come back from its files as it was.

    Compared are ids, texts, titles, spans and order of the chunks; ids, texts and answers of the queries that have a
    split; fragments and judgements of every split.

    Raises:
        UsageError: The judgements are not those that the fragments give by the manifest's gold rule: the layout has no
            place for others.
        DataError: Anything else differs.
    """
    changed = [name for name, one, two in _passages(written.passages, read.passages) if one != two]
    changed += _queries(written.queries, read.queries)
    tasks = [splits for splits in written.tasks.values() if any(t.fragments is not None for t in splits.values())]
    back = own_splits(next(iter(read.tasks.values())))
    for splits in tasks:
        for split, task in own_splits(splits).items():
            other = back.get(split)
            if other is None or _gold(task) != _gold(other):
                changed.append(f"fragments of split {split}")
            elif _judged(task.qrels) != _judged(other.qrels):
                raise UsageError(
                    f"{written.name}/{task.name}: its judgements are not those that its fragments give by the rule"
                    f" {read.manifest.get('gold_rule', 'any')} (split {split}); name the rule as gold_rule in the"
                    " manifest, or publish only what fragments give"
                )
    if changed:
        raise DataError(f"{written.name}: {', '.join(changed)} would read back differently; nothing was published")


def _passages(one: Passages, two: Passages) -> Iterator[tuple[str, Any, Any]]:
    yield "ids of chunks", one.ids, two.ids
    for view in sorted({"plain", "coref"} & (set(one.texts) | set(two.texts))):
        yield f"texts {view} of chunks", one.texts.get(view), two.texts.get(view)
    for passages in (one, two):
        if passages.spans is None or passages.parents is None:
            raise UsageError("the chunk-level layout needs passages with documents and spans")
    for name in ("document", "start", "end"):
        yield f"{name} of chunks", _placed(one, name), _placed(two, name)
    if one.titles is not None:
        yield "titles", _titles(one), _titles(two)
    if one.position is not None:
        yield "places of chunks", one.position.tolist(), None if two.position is None else two.position.tolist()
    if one.candidate is not None:
        yield "candidates", one.candidate.tolist(), None if two.candidate is None else two.candidate.tolist()
    for name, column in sorted(one.columns.items()):
        yield f"column {name} of chunks", column, two.columns.get(name)


def _placed(passages: Passages, name: str) -> Any:
    spans, parents = passages.spans, passages.parents
    if spans is None or parents is None:
        return None
    return parents.texts.take(spans.document) if name == "document" else getattr(spans, name).tolist()


def _titles(passages: Passages) -> Any:
    spans, titles = passages.spans, passages.titles
    return None if spans is None or titles is None else titles.take(spans.document)


def _queries(one: Queries, two: Queries) -> list[str]:
    """What of the queries with a split does not come back."""
    split = one.columns.get("split")
    kept = np.arange(len(one)) if split is None else np.flatnonzero(split.byte_lengths > 0)
    rows = two.ids.codes(one.ids.take(kept))
    if len(kept) != len(two) or (rows < 0).any():
        return ["ids of queries"]
    before, after = one.take(kept), two.take(rows)
    same: list[tuple[str, Texts, Texts | None]] = [("texts of queries", before.texts["plain"], after.texts["plain"])]
    same += [
        (f"column {name} of queries", column, after.columns.get(name))
        for name, column in sorted(before.columns.items())
        if name not in ("answer", "n_gold") and not (name == "split" and "split" not in after.columns)
    ]
    return [name for name, first, second in same if first != second]


def _gold(task: Task) -> list[tuple[str, str, int, int, int]]:
    fragments = task.fragments
    return [] if fragments is None else sorted(_rows(fragments))


def _rows(fragments: Fragments) -> Iterator[tuple[str, str, int, int, int]]:
    queries, documents = fragments.queries.texts.to_list(), fragments.documents.texts.to_list()
    columns = (fragments.query, fragments.spans.document, fragments.spans.start, fragments.spans.end, fragments.grade)
    for query, document, start, end, grade in zip(*(column.tolist() for column in columns), strict=True):
        yield queries[query], documents[document], start, end, grade


def _judged(qrels: Qrels) -> list[tuple[str, str, int]]:
    return sorted(qrels.triples())
