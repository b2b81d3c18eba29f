"""Rechunking: a collection's documents cut anew, with gold projected on the new chunks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.align import covered
from assay.building.documents import UNKNOWN, Documents, code_points, stretches
from assay.building.gold import Projection, Rule, project
from assay.building.gold_shards import project_sharded
from assay.call import call_of
from assay.chunker import AnyChunker, Chunked, chunked, filled_rows
from assay.collection import Collection
from assay.errors import DataError, UsageError
from assay.executor import Work
from assay.fragment import Fragments
from assay.ids import Ids
from assay.kernels.characters import tabled, text_of
from assay.passage import Passages
from assay.span import Spans
from assay.system import spec_of
from assay.task import Task
from assay.texts import Texts

Column = npt.NDArray[np.int64]

_LINE_FEED = 10
_KEPT = ("attribution", "about", "answer")
"""What a manifest says that is true of any chunking: whom to name, what a card says, what answers are."""

_MOST_UNKNOWN = 100
_ROOM = 1_000_000
"""A document may be so many times as long as its passages together, and so much longer."""


@dataclass(frozen=True)
class ChunkingReport:
    """What a chunking is like, and what became of the gold.

    Attributes:
        chunker: The chunker as a call.
        rule: The gold rule's name.
        documents, characters: What was cut.
        chunks: How many chunks there are.
        mean_length, median_length, longest: Of chunks, in characters.
        covered: Characters that lie in some chunk, as a share of all.
        uncovered_filled: Characters in no chunk that are no blanks.
        read_twice: Characters of chunks beyond the first time, as a share of all characters of documents.
        fragments, in_none, in_one, in_several: Gold fragments, and how many meet no, one or several chunks by the rule.
        cut: Gold fragments that no single chunk holds whole, though some chunk meets them.
        counts: How chunks were placed, and what was left out, with reasons as keys.
        not_placed: Up to ten chunks that stand nowhere in their document, as (document, text).
    """

    chunker: str
    rule: str
    documents: int
    characters: int
    chunks: int
    mean_length: float
    median_length: float
    longest: int
    covered: float
    uncovered_filled: int
    read_twice: float
    fragments: int
    in_none: int
    in_one: int
    in_several: int
    cut: int
    counts: Mapping[str, int]
    not_placed: tuple[tuple[str, str], ...] = ()

    def record(self) -> dict[str, Any]:
        """The report as plain values."""
        return asdict(self)


def rechunked(
    collection: Collection, chunker: AnyChunker, *, rule: Rule | str = "any", work: Work | None = None
) -> tuple[Collection, ChunkingReport]:
    """The collection with its documents cut by a chunker, and what the chunking is like.

    Documents are put together from the passages; a character that no passage holds (the newline between two chunks,
    say) is taken from a quote of the gold where one has it, else as a line feed, and counted. New passages are called
    `<document>-<number>`, in the order of their documents. Queries, splits, and clusters stay; gold is projected anew
    from the fragments of each task. Views other than `plain`, and columns of passages, stay only if the new spans are
    the old ones; else they are left out and counted.

    Args:
        collection: A collection with spans and gold fragments.
        chunker: A chunker of any kind.
        rule: When a chunk is gold for a fragment.
        work: Where and by whom gold is projected in shards; None does it here, in one piece. The result is the same.

    Raises:
        UsageError: The passages have no spans, or no task has fragments, or there is no such rule.
        DataError: Passages disagree about the text they share, or are not as long as their spans.
        ContractError: The chunker broke its contract.
    """
    passages = collection.passages
    rule = Rule.named(rule) if isinstance(rule, str) else rule
    if passages.spans is None or passages.parents is None:
        raise UsageError(f"{collection.name}: its passages have no documents and spans, so they cannot be cut anew")
    gold = [task.fragments for splits in collection.tasks.values() for task in splits.values()]
    documents, unknown = documents_of(passages, *(fragments for fragments in gold if fragments is not None))
    found = chunked(chunker, documents, own=passages.spans)
    counts = dict(found.counts)
    counts["document characters that nothing holds, taken as line feeds"] = unknown
    made = _passages(passages, found, counts)
    projected = project if work is None else partial(project_sharded, work=work)
    tasks = _tasks(collection, made, counts, partial(projected, rule=rule))
    if not tasks:
        raise UsageError(f"{collection.name}: no task has gold fragments, so its gold cannot follow new chunks")
    spec = spec_of(chunker)
    whole = max((fragments for fragments in gold if fragments is not None), key=len)
    met = [projected(whole, made, rule=one).chunks for one in (rule, Rule.named("any"), Rule.named("whole"))]
    report = _report(found, documents, met, made, rule=rule, call=_call(chunker, spec), counts=counts)
    recipe = {"chunker": spec, "gold_rule": str(rule), "cut_from": collection.digest}
    return (
        replace(
            collection,
            layout="chunk-level",
            digest=hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest(),
            passages=made,
            tasks=tasks,
            manifest={
                "name": collection.name,
                "licence": collection.licence,
                "source": collection.source,
                "revision": collection.revision,
                **{key: collection.manifest[key] for key in _KEPT if key in collection.manifest},
                **recipe,
            },
            counts=counts,
            files={},
        ),
        report,
    )


def documents_of(passages: Passages, *gold: Fragments) -> tuple[Texts, int]:
    r"""The text of every document, and how many characters of them neither passages nor quotes of gold hold.

    Line feeds stand in the place of these.

    Raises:
        DataError: Passages disagree about the text they share, or are not as long as their spans.

    Example:
        >>> passages = Passages(Ids.of(["d-0", "d-1"]), {"plain": Texts.of(["ab", "c"])}, Ids.of(["d"]),
        ...                     Spans.of((0, 0, 2), (0, 3, 4)))
        >>> texts, unknown = documents_of(passages)
        >>> texts.to_list(), unknown
        (['ab\nc'], 1)
    """
    spans, plain = passages.spans, passages.texts["plain"]
    if spans is None or passages.parents is None:
        raise UsageError("these passages have no documents and spans")
    wrong = np.flatnonzero((plain.lengths != spans.lengths) | (spans.document < 0))
    _refuse_mostly_unknown(passages, spans)
    found = Documents.of(plain, spans, wanted=np.ones(len(passages.parents), np.bool_))
    for rows, what in (
        (wrong, "are not as long as their spans"),
        (found.conflicts, "differ from others in their place"),
    ):
        if len(rows):
            raise DataError(
                f"{len(rows)} passages {what} (first: {passages.ids[int(rows[0])]!r}): documents cannot be put"
                " together; see what assay verify says of offsets"
            )
    codes = found.characters.copy()
    for fragments in gold:
        _fill_from_quotes(codes, found, passages.parents, fragments=fragments)
    holes = codes == UNKNOWN
    codes[holes] = _LINE_FEED
    cuts = [0, *np.cumsum(found.length).tolist()]
    return Texts.of(text_of(codes[a:b]) for a, b in pairwise(cuts)), int(holes.sum())


def _refuse_mostly_unknown(passages: Passages, spans: Spans) -> None:
    """Raises DataError where offsets are so far apart that almost nothing of a document is known."""
    held, end = np.zeros(len(passages.parents or ()), np.int64), np.zeros(len(passages.parents or ()), np.int64)
    known = spans.document >= 0
    np.add.at(held, spans.document[known], spans.lengths[known])
    np.maximum.at(end, spans.document[known], spans.end[known])
    far = np.flatnonzero(end > _MOST_UNKNOWN * (held + 1) + _ROOM)
    if len(far) and passages.parents is not None:
        row = int(far[0])
        raise DataError(
            f"document {passages.parents[row]!r} ends at character {end[row]}, and its passages hold {held[row]}"
            f" ({len(far)} such documents): it cannot be put together; correct the offsets of its passages"
        )


def _fill_from_quotes(codes: npt.NDArray[np.int32], found: Documents, parents: Ids, *, fragments: Fragments) -> None:
    """Writes the characters that a fragment's quote knows in the place of unknown ones."""
    quotes, spans = fragments.quotes, fragments.spans
    if quotes is None or not len(fragments):
        return
    document = parents.codes(fragments.documents)[spans.document].astype(np.int64)
    inside = (document >= 0) & (quotes.lengths == spans.lengths) & (spans.end <= found.length[document])
    rows = np.flatnonzero(inside)
    at = stretches(found.place[document[rows]] + spans.start[rows], spans.lengths[rows])
    known = code_points(quotes.take(rows))
    unknown = codes[at] == UNKNOWN
    codes[at[unknown]] = known[unknown]


def _passages(old: Passages, found: Chunked, counts: dict[str, int]) -> Passages:
    """The chunks as passages; what belongs to the old ones stays if the spans are the same."""
    spans, parents = found.spans, old.parents
    if parents is None or old.spans is None:
        raise UsageError("these passages have no documents and spans")
    size = np.bincount(spans.document, minlength=len(parents))
    position = np.arange(len(spans), dtype=np.int64) - np.repeat(np.cumsum(size) - size, size)
    names = parents.texts.to_list()
    pairs = zip(spans.document.tolist(), position.tolist(), strict=True)
    made = Passages(
        Ids.of((f"{names[document]}-{number}" for document, number in pairs), what="chunk"),
        {"plain": found.texts},
        parents=parents,
        spans=spans,
        position=position.astype(np.int32),
        titles=old.titles,
        dates=_document_dates(old, spans, counts),
    )
    if old.link_query is not None:
        counts["links from passages to questions left out"] = len(old.link_query)
    rows = _rows_of_old(old, old.spans, spans)
    if rows is None:
        for view in sorted(set(old.texts) - {"plain"}):
            counts[f"passages of the view {view!r} left out: its texts belong to the old chunks"] = len(old)
        for name in sorted(old.columns):
            counts[f"values of column {name!r} left out: they belong to the old chunks"] = len(old)
        if old.candidate is not None:
            counts["passages marked as no candidates, now chunks like others"] = int((~old.candidate).sum())
        return made
    return replace(
        made,
        texts={view: texts.take(rows) for view, texts in old.texts.items()},
        candidate=None if old.candidate is None else old.candidate[rows],
        dates=None if old.dates is None else old.dates[rows],
        columns={name: column.take(rows) for name, column in old.columns.items()},
    )


def _rows_of_old(old: Passages, own: Spans, new: Spans) -> Column | None:
    """For each new span the row of the passage that has it; None unless they are all those that are not blank."""
    rows = _same_rows(own, new)
    if rows is None and len(new) < len(own):
        filled = filled_rows(old.texts["plain"])
        found = _same_rows(own.take(filled), new)
        rows = None if found is None else filled[found]
    return rows


def _same_rows(old: Spans, new: Spans) -> Column | None:
    """For each new span the row of the old one that is equal; None if the spans are not the same ones."""
    if len(old) != len(new):
        return None
    order, place = (np.lexsort((s.end, s.start, s.document)) for s in (old, new))
    same = all(
        np.array_equal(getattr(old, name)[order], getattr(new, name)[place]) for name in ("document", "start", "end")
    )
    if not same:
        return None
    rows = np.empty(len(new), np.int64)
    rows[place] = order
    return rows


def _document_dates(old: Passages, spans: Spans, counts: dict[str, int]) -> npt.NDArray[np.datetime64] | None:
    """Each chunk's date where all passages of its document have the same; a document with several has none."""
    if old.dates is None or old.spans is None or old.parents is None:
        return None
    days = old.dates.astype("datetime64[D]").astype(np.int64)
    low = np.full(len(old.parents), np.iinfo(np.int64).max)
    high = np.full(len(old.parents), np.iinfo(np.int64).min)
    np.minimum.at(low, old.spans.document, days)
    np.maximum.at(high, old.spans.document, days)
    one = low == high
    counts["documents whose passages have several dates, now undated"] = int((low < high).sum())
    dates = np.where(one, low, np.iinfo(np.int64).min).astype("datetime64[D]")
    return dates[spans.document]


def _tasks(
    collection: Collection, passages: Passages, counts: dict[str, int], projected: Callable[..., Projection]
) -> dict[str, dict[str, Task]]:
    """Every task that has fragments, over the new passages."""
    tasks: dict[str, dict[str, Task]] = {}
    views = {f"text:{view}" for view in passages.texts}
    for name, splits in collection.tasks.items():
        for split, task in splits.items():
            if task.fragments is None:
                key = "tasks without gold fragments left out"
                counts[key] = counts.get(key, 0) + 1
                continue
            projection = projected(task.fragments, passages)
            tasks.setdefault(name, {})[split] = replace(
                task,
                passages=passages,
                qrels=projection.qrels,
                views=tuple(v for v in task.views if not v.startswith(("text:", "link:")) or v in views),
                classes=None,
                notes=projection.counts,
            )
    return tasks


def _report(
    found: Chunked,
    documents: Texts,
    gold: Sequence[Column],
    passages: Passages,
    *,
    rule: Rule,
    call: str,
    counts: dict[str, int],
) -> ChunkingReport:
    """The report; `gold` says per fragment how many chunks are gold by the rule, share a character, hold it whole."""
    size, parents = documents.lengths, passages.parents
    characters = int(size.sum())
    place = (np.cumsum(size) - size)[found.spans.document]
    times = covered(np.stack([place + found.spans.start, place + found.spans.end], axis=1), characters)
    length = found.spans.lengths
    held, met, whole = gold
    return ChunkingReport(
        chunker=call,
        rule=str(rule),
        documents=len(documents),
        characters=characters,
        chunks=len(found),
        mean_length=float(length.mean()) if len(length) else 0.0,
        median_length=float(np.median(length)) if len(length) else 0.0,
        longest=int(length.max(initial=0)),
        covered=float((times > 0).sum() / characters) if characters else 1.0,
        uncovered_filled=_filled_at(documents, np.flatnonzero(times == 0)),
        read_twice=float((length.sum() - (times > 0).sum()) / characters) if characters else 0.0,
        fragments=len(held),
        in_none=int((held == 0).sum()),
        in_one=int((held == 1).sum()),
        in_several=int((held > 1).sum()),
        cut=int(((met > 0) & (whole == 0)).sum()),
        counts=counts,
        not_placed=tuple((parents[row], text) for row, text in found.lost) if parents is not None else (),
    )


def _call(chunker: AnyChunker, spec: Mapping[str, Any]) -> str:
    """The chunker as a call, without what it would be by default."""
    own: Any = chunker
    usual = {f.name: f.default for f in fields(own) if f.default is not MISSING} if is_dataclass(own) else {}
    first = next((key for key in spec if key != "name"), "")
    usual.pop(first if spec.get(first) else "", None)
    return call_of(spec, {key: list(value) if isinstance(value, tuple) else value for key, value in usual.items()})


def _filled_at(documents: Texts, at: Column) -> int:
    """How many of these characters of all documents, one after another, are no blanks."""
    codes = code_points(documents)[at]
    return int((tabled(codes, str.isspace) == 0).sum())
