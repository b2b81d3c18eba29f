"""Harness: runs a system on a task without showing it the answers.

The harness hands out the views that a system declares and the task allows, in a seeded shuffled
order, searches for systems that only represent, pushes eligibility down or filters what a black box
returns, checks the contract, and ranks. It is the only place where passage rows become passages.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import assay
from assay import catalog
from assay.contract import checked_ranked_rows, checked_scores, checked_sparse_rows, refuse_repeated_terms
from assay.eligibility import Eligibility
from assay.errors import UsageError, ViewError
from assay.run import Run
from assay.system import (
    VIEWS,
    Composite,
    DenseRows,
    Index,
    Links,
    PassageView,
    QueryView,
    RankedRows,
    Representer,
    Scorer,
    Searcher,
    System,
    spec_of,
)
from assay.task import Task
from assay.texts import Texts

Rows = npt.NDArray[np.int64]

_ROWS_AT_ONCE = 1 << 24
"""A black box is asked for about so many rows in one call, so that deep lists fit into memory."""


def retrieve(
    task: Task, system: System | str, *, depth: int | None = None, seed: int = 0, indexes: Path | None = None
) -> Run:
    """The run of a system on a task: at its depth the best passages and all that tie with the last.

    Args:
        task: What is asked and what may be used.
        system: One of the four kinds of `assay.system`, or a known one written as a call.
        depth: Passages per query; the task's depth by default.
        seed: Seed of the order in which rows are handed out, 0 or more. A system keeps the contract when
            the run is the same for every seed.
        indexes: Folder in which indexes are kept and found again by fingerprint; None keeps none.

    Returns:
        A run over the task's queries and passages. `counts` has what the system and its parts noted, added up
        over all calls; `cut_ties` counts lists of a black box whose tie at the depth may go on past its end.

    Raises:
        UsageError: The depth is less than 1, the seed negative, or this is no system.
        ViewError: The system reads a view that the task does not allow or its collection does not hold.
        ContractError: The system returned rows out of range, repeated, or with scores not finite.
    """
    depth = task.depth if depth is None else depth
    if depth < 1 or seed < 0:
        raise UsageError(f"depth must be at least 1 and seed at least 0, found {depth} and {seed}")
    made: System = catalog.system(system) if isinstance(system, str) else system
    reads = views_read(task, made)
    desk = _Desk(task, seed, indexes)
    lists = desk.rows_of(made, depth)
    back = np.argsort(desk.query_order)
    count = np.diff(lists.offsets)[back]
    borders = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    at = np.arange(borders[-1]) + np.repeat(lists.offsets[back] - borders[:-1], count)
    return Run.ranked(
        task.queries.ids,
        task.passages.ids,
        offsets=borders,
        passage=desk.passage_order[lists.row[at]].astype(np.int32),
        score=lists.score[at],
        depth=depth,
        name=made.name,
        spec={
            "system": spec_of(made),
            "reads": list(reads),
            "depth": depth,
            "seed": seed,
            "version": assay.__version__,
        },
        counts=dict(lists.notes),
        distinct=True,
    )


def views_read(task: Task, system: System) -> tuple[str, ...]:
    """The views that a system and its parts read on a task, sorted.

    Raises:
        UsageError: This is no system.
        ViewError: The task does not allow a view, or its collection does not hold it.
    """
    reads: Any = getattr(system, "reads", None)
    if not isinstance(reads, tuple | list) or not isinstance(system, System):
        raise UsageError(f"{type(system).__name__} is no system: `name` is a text, `reads` a tuple of views")
    held = _views_held(task)
    for view in system.reads:
        if view not in VIEWS:
            raise ViewError(f"{system.name} reads {view!r}, which is no view; views are {', '.join(VIEWS)}")
        if view not in task.views:
            raise ViewError(
                f"{system.name} reads the view {view!r}, which task {task.name} does not allow; "
                f"allowed: {', '.join(task.views)}"
            )
        if view not in held:
            raise ViewError(f"{system.name} reads the view {view!r}, which the passages of {task.name} do not have")
    parts = system.parts if isinstance(system, Composite) else ()
    return tuple(sorted({*system.reads, *(view for part in parts for view in views_read(task, part))}))


def _views_held(task: Task) -> set[str]:
    columns = task.passages
    held = {f"text:{view}" for view in columns.texts}
    if columns.spans is not None:
        held |= {"parent", "span"} if columns.titles is None else {"parent", "span", "title"}
    if columns.position is not None:
        held.add("position")
    if columns.link_offsets is not None and columns.link_query is not None:
        held.add("link:question")
    return held


@dataclass(frozen=True)
class _Desk:
    """Where views are handed out: one task, shuffled once. What is handed out are copies, and read-only."""

    task: Task
    seed: int
    indexes: Path | None

    def _shuffled(self, what: int, rows: Rows) -> Rows:
        """The rows in an order that depends on the ids too: the seed alone does not undo it."""
        ids = sha256(f"{self.task.passages.ids.texts.digest} {self.task.pool.ids.texts.digest}".encode())
        return np.random.default_rng([self.seed, what, int(ids.hexdigest(), 16)]).permutation(rows)

    @cached_property
    def passage_order(self) -> Rows:
        """Passage codes in the order in which systems see them."""
        return self._shuffled(0, np.arange(len(self.task.passages)))

    @cached_property
    def query_order(self) -> Rows:
        """Rows of the task's queries in the order in which systems see them."""
        return self._shuffled(1, np.arange(len(self.task.queries)))

    @cached_property
    def eligibility(self) -> Eligibility:
        """The task's rule over shuffled rows."""
        return self.task.eligibility.permuted(self.passage_order, self.query_order)

    def queries(self, rows: Rows | None = None) -> QueryView:
        """The queries' texts, shuffled; only those of `rows` where given."""
        order = self.query_order if rows is None else self.query_order[rows]
        return QueryView(_sealed_texts(self.task.queries.texts[self.task.query_view].take(order)), self.task.mask)

    def passages(self, system: System) -> PassageView:
        """The views that the system declared, and no others."""
        columns, order, reads = self.task.passages, self.passage_order, system.reads
        texts = {view: columns.texts[view[5:]].take(order) for view in reads if view.startswith("text:")}
        parent = position = span = None
        if columns.spans is not None:
            document = columns.spans.document[order]
            if "title" in reads and columns.titles is not None:
                texts["title"] = columns.titles.take(document)
            if "parent" in reads:
                distinct, own = np.unique(document, return_inverse=True)
                parent = _sealed(self._shuffled(2, np.arange(len(distinct)))[own].astype(np.int32))
            if "span" in reads:
                span = _sealed(np.stack([columns.spans.start[order], columns.spans.end[order]], axis=1))
        if "position" in reads and columns.position is not None:
            position = _sealed(columns.position[order])
        texts = {view: _sealed_texts(rows) for view, rows in texts.items()}
        links = self._links() if "link:question" in reads else None
        return PassageView(len(columns), texts, parent, position, span, links, self.task.mask)

    def _links(self) -> Links | None:
        """The texts of the questions that each passage replied to, their rows shuffled too."""
        passages, order = self.task.passages, self.passage_order
        if passages.link_offsets is None or passages.link_query is None:
            return None
        count = np.diff(passages.link_offsets)[order]
        offsets = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
        at = np.arange(offsets[-1]) + np.repeat(passages.link_offsets[order] - offsets[:-1], count)
        linked = self._shuffled(3, np.unique(passages.link_query))
        place = np.zeros(len(self.task.pool), np.int32)
        place[linked] = np.arange(len(linked), dtype=np.int32)
        texts = _sealed_texts(self.task.pool.texts[self.task.query_view].take(linked))
        return Links(texts, _sealed(offsets), _sealed(place[passages.link_query[at]]))

    def rows_of(self, system: System, depth: int) -> RankedRows:
        """Eligible rows of a system of any kind: the best `depth` and all that tie with the last."""
        if len(self.task.passages) == 0 or len(self.task.rows) == 0:
            return RankedRows.joined([(np.zeros(0, np.int32), np.zeros(0))] * len(self.task.rows))
        if isinstance(system, Representer):
            return self._represented(system, depth)
        if isinstance(system, Searcher):
            return self._searched(system, depth)
        if isinstance(system, Composite):
            return self._combined(system, depth)
        if isinstance(system, Scorer):
            return self._scored(system, depth)
        raise UsageError(
            f"{system.name} is of no kind: a representer has the methods index and load, a searcher search, a scorer"
            " score, a composite combine and parts"
        )

    def _represented(self, system: Representer, depth: int) -> RankedRows:
        from assay.kernels.sparse import Postings, top_rows

        index, asked = self._index(system), self.queries()
        encoded = index.encode(asked)
        if isinstance(index.rows, DenseRows) or isinstance(encoded, DenseRows):
            raise UsageError(f"{system.name} returns dense rows, which this version cannot search")
        rows = checked_sparse_rows(index.rows, name=system.name, rows=len(self.task.passages))
        queries = checked_sparse_rows(encoded, name=system.name, rows=len(asked), terms=rows.terms)
        order, prefix, excluded = search_order(self.eligibility)
        postings = Postings.of(rows.offsets, rows.term, rows.weight, terms=rows.terms, order=order)
        refuse_repeated_terms(postings.start, postings.position, name=system.name)
        by_term = np.lexsort((queries.term, np.repeat(np.arange(len(asked)), np.diff(queries.offsets))))
        refuse_repeated_terms(queries.offsets, queries.term[by_term], name=system.name)
        offsets, row, score = top_rows(
            postings,
            queries.offsets,
            queries.term,
            queries.weight,
            depth=depth,
            prefix=prefix,
            excluded=excluded,
            step=None if rows.step is None or queries.step is None else rows.step * queries.step,
        )
        return RankedRows(offsets, row, score, whole_ties=True)

    def _index(self, system: Representer) -> Index:
        passages = self.passages(system)
        if self.indexes is None:
            return system.index(passages)
        folder = self.indexes / f"{system.name}-{_fingerprint(system, passages)}"
        if (folder / "complete").exists():
            return system.load(folder)
        index = system.index(passages)
        _keep(index, folder)
        return index

    def _searched(self, system: Searcher, depth: int) -> RankedRows:
        passages = self.passages(system)

        def ask(rows: Rows, deep: int) -> RankedRows:
            found = system.search(passages, self.queries(rows), depth=deep)
            return checked_ranked_rows(found, name=system.name, queries=len(rows), passages=len(passages))

        return self._answered(ask, depth)

    def _combined(self, system: Composite, depth: int) -> RankedRows:
        passages = self.passages(system)

        def ask(rows: Rows, deep: int) -> RankedRows:
            # Parts are first as deep as the run: a fusion at depth 100 is one of lists of depth 100.
            lists = [self.rows_of(part, max(depth, deep - 1)) for part in system.parts]
            given = [RankedRows.joined([part[i] for i in rows.tolist()], whole_ties=part.whole_ties) for part in lists]
            found = system.combine(given, passages, self.queries(rows), depth=deep)
            found = checked_ranked_rows(found, name=system.name, queries=len(rows), passages=len(passages))
            notes = Counter(found.notes)
            for part in lists:
                notes.update(part.notes)
            return replace(found, notes=notes)

        return self._answered(ask, depth)

    def _answered(self, ask: Callable[[Rows, int], RankedRows], depth: int) -> RankedRows:
        """Asks deeper, doubling, for the queries that lack eligible rows, until they have them or their lists end.

        One row more than the depth is asked for: it shows whether the last rows tie across the cut.
        """
        n, lists = len(self.task.passages), dict[int, tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]]()
        notes, whole = Counter({"cut_ties": 0}), True
        wanted, deep = np.arange(len(self.task.rows)), min(depth + 1, n)
        while len(wanted):
            lacking: list[int] = []
            width = max(1, _ROWS_AT_ONCE // deep)
            for block in (wanted[low : low + width] for low in range(0, len(wanted), width)):
                found = ask(block, deep)
                length = np.diff(found.offsets)
                ended = (length < deep) | (deep >= n)
                if found.exhausted is not None:
                    ended |= found.exhausted
                kept = self._eligible(found, block)
                enough = np.diff(kept.offsets) >= depth + (not found.whole_ties)
                best = kept.best(depth)
                for i, query in enumerate(block.tolist()):
                    if not ended[i] and not enough[i]:
                        lacking.append(query)
                        continue
                    lists[query] = best[i]
                    if not ended[i] and not found.whole_ties:
                        notes["cut_ties"] += int(best[i][1].min() == found[i][1].min())
                whole &= found.whole_ties
                notes.update(found.notes)
            wanted, deep = np.asarray(lacking, np.int64), min(2 * deep, n)
        return RankedRows.joined([lists[query] for query in range(len(lists))], whole_ties=whole, notes=notes)

    def _scored(self, system: Scorer, depth: int) -> RankedRows:
        """Every pair is scored, query by query: which ones are eligible would tell the scorer about dates."""
        passages, queries, n = self.passages(system), self.queries(), len(self.task.passages)
        lists = []
        for query in range(len(queries)):
            pair = {"query": np.full(n, query, np.int32), "passage": np.arange(n, dtype=np.int32)}
            score = checked_scores(system.score(passages, queries, **pair), name=system.name, size=n)
            row = np.flatnonzero(self.eligibility.mask(query)).astype(np.int32)
            lists.append(RankedRows.joined([(row, score[row])]).best(depth)[0])
        return RankedRows.joined(lists, whole_ties=True)

    def _eligible(self, found: RankedRows, query_rows: Rows) -> RankedRows:
        """The lists without what the rule forbids; list `i` belongs to query `query_rows[i]`."""
        if self.eligibility.unrestricted:
            return found
        owner = np.repeat(query_rows, np.diff(found.offsets))
        return found.only(self.eligibility.allows(owner, found.row))


def search_order(
    rule: Eligibility,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32] | None, tuple[Rows, npt.NDArray[np.int32]] | None]:
    """How kernels get eligibility: rows by date, how many of them each query may see, exclusions.

    Returns:
        Candidate rows in ascending date rank; per query how many of the first of them come before
        its cut-off (None without an as-of rule); the exclusions as offsets and rows (None without).

    Example:
        >>> search_order(Eligibility.everything(2, 1))
        (array([0, 1], dtype=int32), None, None)
    """
    rows, visible = rule.nested()
    prefix = None if rule.rank is None else visible.astype(np.int32)
    if rule.excluded is None or rule.excluded_offsets is None:
        return rows, prefix, None
    return rows, prefix, (rule.excluded_offsets, rule.excluded)


def _sealed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.setflags(write=False)
    return array


def _sealed_texts(texts: Texts) -> Texts:
    return Texts(_sealed(texts.buffer), _sealed(texts.offsets))


def _fingerprint(system: System, passages: PassageView) -> str:
    """Hexadecimal digits that differ where an index could: the recipe, all that the system sees, the version."""
    texts = {view: rows.digest for view, rows in sorted(passages.texts.items())}
    recipe = {"spec": spec_of(system), "size": len(passages), "texts": texts, "mask": passages.mask}
    sha = sha256(json.dumps({**recipe, "version": assay.__version__}, sort_keys=True).encode())
    parts = {name: getattr(passages, name) for name in ("parent", "position", "span")}
    if passages.links is not None:
        sha.update(passages.links.texts.digest.encode())
        parts |= {"links": passages.links.offsets, "linked": passages.links.target}
    for name, array in parts.items():
        if array is not None:
            sha.update(f"{name} {array.dtype} ".encode())
            sha.update(np.ascontiguousarray(array).tobytes())
    return sha.hexdigest()[:24]


def _keep(index: Index, folder: Path) -> None:
    """Writes an index beside its final place and renames it; what another process kept stays."""
    import shutil
    import tempfile

    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        index.save(draft)
        (draft / "complete").touch()
        draft.rename(folder)
    except OSError:
        if not (folder / "complete").exists():
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
