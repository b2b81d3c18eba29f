"""Text-only export: a collection whose ids, order and fields say nothing, so that a system has texts alone to go by.

    corpus.jsonl, queries.jsonl       `_id` (random), `text` (masked), in the order of the new ids
    qrels/TASK_SPLIT.tsv              judgements under the new ids
    evaluator/passages.jsonl          `_id`, `date`: for the as-of rules
    evaluator/queries.jsonl           `_id`, `date`, and `before`: task to the day before which passages must be dated
    text_only.json                    counts, seed, mask tokens, and the as-of rule in words of every task that has one

The mapping of the ids is written elsewhere, to be kept apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.building.splits import ALL
from assay.collection import Collection
from assay.errors import UnknownIdError, UsageError
from assay.formats import jsonl
from assay.formats.files import replacing
from assay.ids import Ids
from assay.run import Run
from assay.task import Task
from assay.texts import Texts

Order = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TextOnly:
    """A text-only export in memory.

    Attributes:
        collection: What is exported.
        passages, queries: New ids by row of the collection.
        passage_order, query_order: Rows in the order of the new ids, in which they are written.
        seed: What the ids were drawn with.
    """

    collection: Collection
    passages: Ids
    queries: Ids
    passage_order: Order
    query_order: Order
    seed: int


def text_only(collection: Collection, *, seed: int) -> TextOnly:
    """The collection under random ids: equal seeds and collections give equal ids.

    New ids are `p` or `q` and ten hexadecimal digits. They depend on the seed and the row alone, not on the old id,
    date or text: what they and their order show is chance.

    Example:
        >>> from assay.sources import open_collection
        >>> made = text_only(open_collection("demo:questions"), seed=7)
        >>> len(made.passages[0]), made.passages[0][0], made.queries[0][0]
        (11, 'p', 'q')
    """
    source = np.random.Generator(np.random.PCG64(seed))
    passages = _random_ids("p", len(collection.passages), source)
    queries = _random_ids("q", len(collection.queries), source)
    return TextOnly(collection, passages, queries, passages.texts.byte_order(), queries.texts.byte_order(), seed)


def _random_ids(letter: str, count: int, source: np.random.Generator) -> Ids:
    drawn = np.zeros(0, np.int64)
    while len(drawn) < count:
        # Distinct numbers in the order in which they were drawn.
        more = np.concatenate([drawn, source.integers(0, 1 << 40, count - len(drawn) + 8)])
        drawn = more[np.sort(np.unique(more, return_index=True)[1])]
    return Ids(Texts.of([f"{letter}{number:010x}" for number in drawn[:count].tolist()]))


def write_text_only(made: TextOnly, folder: Path, *, mapping: Path) -> dict[str, Any]:
    """Writes the export, and the mapping of ids to a file outside it; what is in `text_only.json`.

    Args:
        made: The export.
        folder: Where it goes; made if need be.
        mapping: The file for the mapping, JSON Lines with `kind`, `_id` (new) and `original`.

    Raises:
        UsageError: The mapping would lie within the export.
    """
    folder, mapping = Path(folder), Path(mapping)
    if mapping.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"{mapping} lies within the export {folder}; keep the mapping of ids apart from the texts")
    for place in (folder / "qrels", folder / "evaluator", mapping.parent):
        place.mkdir(parents=True, exist_ok=True)
    found = made.collection
    jsonl.write_rows(_texts(made.passages, found.passages.texts["plain"], made.passage_order), folder / "corpus.jsonl")
    jsonl.write_rows(_texts(made.queries, found.queries.texts["plain"], made.query_order), folder / "queries.jsonl")
    jsonl.write_rows(_passage_dates(made), folder / "evaluator" / "passages.jsonl")
    jsonl.write_rows(_query_dates(made), folder / "evaluator" / "queries.jsonl")
    judged = {}
    for name, lines in _judgements(made):
        with replacing(folder / "qrels" / f"{name}.tsv") as stream:
            stream.write("".join(lines).encode("utf-8"))
        judged[name] = len(lines)
    jsonl.write_rows(_mapping(made), mapping)
    tokens = {token for splits in found.tasks.values() for task in splits.values() for token in task.mask}
    firsts = {name: _first(splits) for name, splits in found.tasks.items()}
    record = {
        "passages": len(made.passages),
        "queries": len(made.queries),
        "judgements": judged,
        "mask_token": sorted(tokens),
        "as_of": {name: task.rule for name, task in sorted(firsts.items()) if task.asked is not None},
        "seed": made.seed,
        "views": ["text:plain"],
    }
    jsonl.write_object(record, folder / "text_only.json")
    return record


def _first(splits: Mapping[str, Task]) -> Task:
    return next(iter(splits.values()))


def _texts(ids: Ids, texts: Texts, order: Order) -> Iterator[dict[str, Any]]:
    names, plain = ids.texts.to_list(), texts.to_list()
    return ({"_id": names[row], "text": plain[row]} for row in order.tolist())


def _passage_dates(made: TextOnly) -> Iterator[dict[str, Any]]:
    names = made.passages.texts.to_list()
    days = _days(made.collection.passages.dates, len(names))
    return ({"_id": names[row], "date": days[row]} for row in made.passage_order.tolist())


def _query_dates(made: TextOnly) -> Iterator[dict[str, Any]]:
    names = made.queries.texts.to_list()
    days = _days(made.collection.queries.dates, len(names))
    rules = {}
    for name, splits in sorted(made.collection.tasks.items()):
        task = _first(splits)
        if task.asked is not None:
            asked = np.append(task.asked, np.datetime64("NaT"))
            rules[name] = _days(asked[task.pool.ids.codes(made.collection.queries.ids)], len(names))
    for row in made.query_order.tolist():
        before = {name: day for name, asked in rules.items() if (day := asked[row]) is not None}
        yield {"_id": names[row], "date": days[row], "before": before}


def _days(dates: npt.NDArray[np.datetime64] | None, rows: int) -> list[str | None]:
    """The ISO date of each row; None where it has none."""
    if dates is None:
        return [None] * rows
    written = dates.astype("datetime64[D]").astype(str).tolist()
    return [None if day == "NaT" else day for day in written]


def _judgements(made: TextOnly) -> Iterator[tuple[str, list[str]]]:
    """Name and lines of every judgement file, sorted; judgements of ids that exist nowhere are left out."""
    names = made.queries.texts.to_list(), made.passages.texts.to_list()
    for task, splits in sorted(made.collection.tasks.items()):
        for split, one in sorted(splits.items()):
            if split == ALL and len(splits) > 1:
                continue
            query = made.collection.queries.ids.codes(one.qrels.queries)[one.qrels.query]
            passage = made.collection.passages.ids.codes(one.qrels.passages)[one.qrels.passage]
            rows = zip(query.tolist(), passage.tolist(), one.qrels.grade.tolist(), strict=True)
            yield (
                f"{task}_{split}",
                sorted(f"{names[0][q]}\t0\t{names[1][p]}\t{grade}\n" for q, p, grade in rows if q >= 0 and p >= 0),
            )


def _mapping(made: TextOnly) -> Iterator[dict[str, str]]:
    found = made.collection
    for kind, new, old, order in (
        ("passage", made.passages, found.passages.ids, made.passage_order),
        ("query", made.queries, found.queries.ids, made.query_order),
    ):
        names, originals = new.texts.to_list(), old.texts.to_list()
        yield from ({"kind": kind, "_id": names[row], "original": originals[row]} for row in order.tolist())


def read_mapping(path: Path) -> dict[str, dict[str, str]]:
    """New id to the original one, for `passage` and for `query`."""
    from assay.formats.table import Field

    table = jsonl.read_table(path, {"kind": Field(str), "_id": Field(str), "original": Field(str)})
    found: dict[str, dict[str, str]] = {"passage": {}, "query": {}}
    for kind, new, original in zip(table.text("kind"), table.text("_id"), table.text("original"), strict=True):
        found.setdefault(kind, {})[new] = original
    return found


def translated_run(run: Run, mapping: Mapping[str, Mapping[str, str]]) -> Run:
    """A run over the export with the original ids, ranked anew: ties are broken by id, so their order may change.

    Raises:
        UnknownIdError: The run has an id that the mapping lacks.
    """
    results: dict[str, dict[str, float]] = {_original(mapping, "query", query): {} for query in run.queries}
    for query, passage, score in run.triples():
        results[mapping["query"][query]][_original(mapping, "passage", passage)] = score
    return Run.of(results, depth=run.depth, name=run.name, exhausted=run.exhausted)


def _original(mapping: Mapping[str, Mapping[str, str]], kind: str, id_: str) -> str:
    try:
        return mapping[kind][id_]
    except KeyError:
        raise UnknownIdError(f"the mapping has no {kind} {id_!r}; use that of the export that was searched") from None
