"""Page: results as one self-contained HTML file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import assay
from assay.collection import Collection
from assay.errors import AssayError
from assay.experiment import Compared, Result
from assay.formats.files import replacing
from assay.reports.tables import comparisons_table, number, results_table
from assay.sources import open_collection
from assay.task import MASK_KEPT, WITHOUT_AS_OF, Task

SHOWN_RANKS = 10
SHOWN_CHARACTERS = 700


def write(
    results: Sequence[Result],
    out: Path,
    *,
    collection: str | None = None,
    opened: Mapping[str, Collection] | None = None,
    compared: Sequence[Compared] = (),
    queries: int = 200,
) -> dict[str, Any]:
    """Writes the page and returns what it holds: bytes, results, queries_shown, missing.

    Args:
        results: Results of any tasks.
        out: The HTML file; replaced as a whole.
        collection: Where the collection is now, if not where it was.
        opened: Collections already open, by the place they were opened from.
        compared: Families of paired tests, shown with the task and split that they belong to.
        queries: Queries whose ranked passages are shown, at most, for each task and split.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    library = _Library(dict(opened or {}), collection)
    groups = [_group(i, key, group, library, queries) for i, (key, group) in enumerate(_grouped(results).items())]
    for group in groups:
        tests = [c for c in compared if (c.collection, c.task, c.split) == group["key"]]
        group["tests"] = comparisons_table(tests)
    environment = Environment(
        loader=PackageLoader("assay.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    text = environment.get_template("report.html.j2").render(groups=groups, version=assay.__version__)
    data = text.encode("utf-8")
    out.parent.mkdir(parents=True, exist_ok=True)
    with replacing(out) as file:
        file.write(data)
    return {
        "bytes": len(data),
        "results": len(results),
        "queries_shown": sum(g["shown"] for g in groups),
        "missing": library.missing,
    }


def _grouped(results: Sequence[Result]) -> dict[tuple[str, str, str, str], list[Result]]:
    groups: dict[tuple[str, str, str, str], list[Result]] = {}
    for r in results:
        groups.setdefault((r.collection, r.digest, r.task, r.split), []).append(r)
    return groups


@dataclass
class _Library:
    """Collections behind results, opened when a page needs their texts."""

    opened: dict[str, Collection]
    moved: str | None

    def __post_init__(self) -> None:
        self.missing: list[str] = []

    def task(self, result: Result) -> Task | None:
        """The task of a result, or None where its collection is not to be had as it was."""
        place = self.moved or result.place
        if not place:
            return None
        try:
            if place not in self.opened:
                self.opened[place] = open_collection(place)
            found = self.opened[place]
            if found.digest != result.digest:
                self.missing.append(
                    f"{place} has changed since: its digest is {found.digest[:12]}, not {result.digest[:12]}"
                )
                return None
            name = result.task.removesuffix(MASK_KEPT).removesuffix(WITHOUT_AS_OF)
            task = found.task(name, split=result.split)
            task = task.without_as_of() if WITHOUT_AS_OF in result.task else task
            return task.mask_kept() if result.task.endswith(MASK_KEPT) else task
        except AssayError as err:
            self.missing.append(str(err))
            return None


def _group(
    index: int, key: tuple[str, str, str, str], group: list[Result], library: _Library, limit: int
) -> dict[str, Any]:
    """Everything the template needs for one task and split."""
    before = len(library.missing)
    task = library.task(group[0])
    measures = [s.measure for s in group[0].scores]
    lists = {} if task is None else _query_lists(task, group, limit)
    data = {
        "systems": [r.system for r in group],
        "measures": measures,
        "queries": _query_rows(task, group, measures),
        "lists": lists,
        "passages": {} if task is None else _passage_texts(task, lists),
    }
    table = results_table(group)[0]
    return {
        "id": f"g{index}",
        "key": (key[0], key[2], key[3]),
        "title": f"{key[0]}/{key[2]}" if key[0] != key[2] else key[0],
        "split": key[3],
        "digest": key[1],
        "rule": task.rule if task is not None else "",
        "table": _cells(group, measures),
        "measures": measures,
        "notes": table.notes,
        "forests": [_forest(group, m) for m in measures],
        "shown": len(lists),
        "all": len(group[0].scores[0]) if group[0].scores else 0,
        "missing": library.missing[before:],
        "specs": [(r.system, json.dumps(r.spec, indent=1, sort_keys=True, ensure_ascii=False)) for r in group],
        "data": json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"),
    }


def _cells(group: list[Result], measures: list[str]) -> list[dict[str, Any]]:
    rows = []
    best = {m: max((r.scores_of(m).mean for r in group if _has(r, m)), default=0.0) for m in measures}
    for result in group:
        cells = []
        for m in measures:
            if not _has(result, m):
                cells.append({"mean": "–", "interval": "", "best": False})
                continue
            s = result.scores_of(m)
            cells.append(
                {
                    "mean": number(s.mean),
                    "interval": f"{number(s.interval.low)} – {number(s.interval.high)}",
                    "best": len(group) > 1 and s.mean == best[m],
                }
            )
        rows.append({"system": result.system, "cells": cells})
    return rows


def _has(result: Result, measure: str) -> bool:
    return any(s.measure == measure for s in result.scores)


def _forest(group: list[Result], measure: str) -> dict[str, Any]:
    """Coordinates of a forest plot: a dot a system, its interval, and the range over tie orders."""
    rows = [(r.system, r.scores_of(measure)) for r in group if _has(r, measure)]
    ends = [v for _, s in rows for v in (s.interval.low, s.interval.high, float(s.worst.mean()), float(s.best.mean()))]
    ends = [v for v in ends if v == v] or [0.0, 1.0]
    low, high = min(ends), max(ends)
    step = _step(max(high - low, 1e-6))
    low = math.floor(low / step) * step
    high = max(math.ceil(high / step) * step, low + step)
    left, width, row_height = 150, 262, 28

    def x(value: float) -> float:
        return round(left + width * (value - low) / (high - low), 1)

    marks = []
    for i, (system, s) in enumerate(rows):
        marks.append(
            {
                "system": system if len(system) <= 22 else system[:21] + "…",
                "full": system,
                "y": 18 + i * row_height,
                "mean": x(s.mean),
                "low": x(s.interval.low) if s.interval.low == s.interval.low else x(s.mean),
                "high": x(s.interval.high) if s.interval.high == s.interval.high else x(s.mean),
                "worst": x(float(s.worst.mean())),
                "best": x(float(s.best.mean())),
                "text": f"{number(s.mean)} [{number(s.interval.low)}, {number(s.interval.high)}]",
            }
        )
    count = round((high - low) / step)
    digits = max(1, math.ceil(-math.log10(step) - 1e-9))
    ticks = [{"x": x(low + i * step), "label": f"{low + i * step:.{digits}f}"} for i in range(count + 1)]
    return {
        "measure": measure,
        "marks": marks,
        "ticks": ticks,
        "height": 18 + len(rows) * row_height + 22,
        "bottom": 8 + len(rows) * row_height,
        "width": left + width + 190,
        "text_x": left + width + 12,
    }


def _step(width: float) -> float:
    """A round distance of ticks, so that there are about five."""
    raw = width / 5
    base = math.pow(10.0, math.floor(math.log10(raw)))
    return min(base * m for m in (1.0, 2.0, 5.0, 10.0) if base * m >= raw - 1e-12)


def _query_rows(task: Task | None, group: list[Result], measures: list[str]) -> list[list[Any]]:
    """Per judged query: id, text, and for each measure the value of every system."""
    if not group[0].scores:
        return []
    queries = group[0].scores[0].queries
    texts = [""] * len(queries)
    if task is not None:
        codes = task.pool.ids.codes(queries)
        view = task.pool.texts[task.query_view]
        texts = [view[int(c)][:SHOWN_CHARACTERS] if c >= 0 else "" for c in codes]
    columns = []
    for m in measures:
        for r in group:
            if not _has(r, m):
                columns.append(np.full(len(queries), np.nan))
                continue
            s = r.scores_of(m)
            columns.append(s.value[s.queries.codes(queries)])
    rows: list[list[Any]] = []
    for i, id_ in enumerate(queries):
        values = [None if c[i] != c[i] else round(float(c[i]), 4) for c in columns]
        rows.append([id_, texts[i], [values[k * len(group) : (k + 1) * len(group)] for k in range(len(measures))]])
    return rows


def _query_lists(task: Task, group: list[Result], limit: int) -> dict[str, Any]:
    """Ranked passages of the queries on which systems differ most, then of those that fare worst."""
    values = np.stack([r.scores[0].value for r in group if r.scores and len(r.scores[0]) == len(group[0].scores[0])])
    order = np.lexsort((values.mean(0), -(values.max(0) - values.min(0))))[:limit]
    queries = group[0].scores[0].queries
    asked = {q: i for i, q in enumerate(task.queries.ids)}
    qrels_of = {q: i for i, q in enumerate(task.qrels.queries)}
    shown: dict[str, Any] = {}
    for row in order.tolist():
        id_ = queries[row]
        if id_ in asked:
            shown[id_] = _one_query(task, group, asked[id_], qrels_of[id_])
    return shown


def _one_query(task: Task, group: list[Result], asked: int, judged: int) -> dict[str, Any]:
    id_ = task.qrels.queries[judged]
    a, b = task.qrels.offsets[judged], task.qrels.offsets[judged + 1]
    grades = {
        task.qrels.passages[int(p)]: int(g) for p, g in zip(task.qrels.passage[a:b], task.qrels.grade[a:b], strict=True)
    }
    found: set[str] = set()
    lists = []
    for result in group:
        run = result.run
        codes = run.queries.codes([id_])
        rows = []
        if codes[0] >= 0:
            start, end = run.offsets[codes[0]], run.offsets[codes[0] + 1]
            ids = [run.passages[int(p)] for p in run.passage[start : min(end, start + SHOWN_RANKS)]]
            mapped = task.passages.ids.codes(ids)
            for k, (p, code) in enumerate(zip(ids, mapped.tolist(), strict=True)):
                allowed = code >= 0 and bool(task.eligibility.allows(np.asarray([asked]), np.asarray([code]))[0])
                rows.append([p, round(float(run.score[start + k]), 4), grades.get(p), allowed])
            found.update(p for p in ids)
        lists.append(rows)
    missed = [p for p, g in grades.items() if g >= 1 and p not in found]
    codes = task.passages.ids.codes(missed) if missed else np.zeros(0, np.int32)
    missed_rows = []
    for p, code in zip(missed, codes.tolist(), strict=True):
        allowed = code >= 0 and bool(task.eligibility.allows(np.asarray([asked]), np.asarray([code]))[0])
        missed_rows.append([p, grades[p], allowed, code >= 0])
    return {"lists": lists, "missed": missed_rows, "marks": _gold_marks(task, id_)}


def _gold_marks(task: Task, query_id: str) -> dict[str, list[list[int]]]:
    """For chunks that hold gold characters, where in their text these are."""
    fragments, spans = task.fragments, task.passages.spans
    if fragments is None or spans is None or task.passages.parents is None or query_id not in fragments.queries:
        return {}
    rows = np.flatnonzero(fragments.query == fragments.queries.code(query_id))
    documents = task.passages.parents.codes([fragments.documents[int(d)] for d in fragments.spans.document[rows]])
    marks: dict[str, list[list[int]]] = {}
    for row, document in zip(rows.tolist(), documents.tolist(), strict=True):
        start, end = int(fragments.spans.start[row]), int(fragments.spans.end[row])
        hit = np.flatnonzero((spans.document == document) & (spans.start < end) & (spans.end > start))
        for p in hit.tolist():
            cut = [
                max(start, int(spans.start[p])) - int(spans.start[p]),
                min(end, int(spans.end[p])) - int(spans.start[p]),
            ]
            marks.setdefault(task.passages.ids[p], []).append(cut)
    return {p: sorted(cuts) for p, cuts in marks.items()}


def _passage_texts(task: Task, lists: Mapping[str, Any]) -> dict[str, list[str]]:
    """Title, date and text of every passage shown."""
    wanted = dict.fromkeys(
        [r[0] for q in lists.values() for rows in q["lists"] for r in rows]
        + [r[0] for q in lists.values() for r in q["missed"]]
    )
    codes = task.passages.ids.codes(list(wanted))
    shown = {}
    for id_, code in zip(wanted, codes.tolist(), strict=True):
        if code >= 0:
            passage = task.passages[code]
            text = passage.text if len(passage.text) <= SHOWN_CHARACTERS else passage.text[:SHOWN_CHARACTERS] + " …"
            shown[id_] = [passage.title, passage.date, text]
    return shown
