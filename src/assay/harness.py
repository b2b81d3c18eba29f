"""Harness: runs a system on a task without showing it the answers.

The harness hands out the views that a system declares and the task allows, in a seeded shuffled
order, searches for systems that only represent, pushes eligibility down or filters what a black box
returns, checks the contract, and ranks. It is the only place where passage rows become passages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import assay
from assay import catalog
from assay.contract import (
    checked_ranked_rows,
    checked_scores,
    checked_shown,
    checked_sparse_rows,
    part_depths,
    refuse_repeated_terms,
)
from assay.eligibility import Eligibility
from assay.errors import UsageError
from assay.indexes import index_of
from assay.run import Run
from assay.system import (
    Composite,
    DenseRows,
    Lens,
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
from assay.views import views_read

Rows = npt.NDArray[np.int64]

_ROWS_AT_ONCE = 1 << 24
"""A black box is asked for about so many rows in one call, so that deep lists fit into memory."""


def retrieve(
    task: Task, system: System | str, *, depth: int | None = None, seed: int = 0, indexes: Path | None = None
) -> Run:
    """The run of a system on a task: at its depth the best passages and all that tie with the last.

    Args:
        task: What is asked and what may be used.
        system: One of the five kinds of `assay.system`, or a known one written as a call.
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
    return next(retrieve_each(task, [system], depth=depth, seed=seed, indexes=indexes))


def retrieve_each(
    task: Task,
    systems: Iterable[System | str],
    *,
    depth: int | None = None,
    seed: int = 0,
    indexes: Path | None = None,
) -> Iterator[Run]:
    """The run of each system in turn, as `retrieve` makes it; parts that combinations share are searched once.

    Shared are parts that are the same object, as in `dataclasses.replace(fusion, weights=…)`.
    """
    if not isinstance(task, Task):
        raise UsageError(
            f"a run answers a task, found {type(task).__name__}; take one from a collection, as in "
            "assay.open('demo:chunks').task('passages')"
        )
    depth = task.depth if depth is None else depth
    if depth < 1 or seed < 0:
        raise UsageError(f"depth must be at least 1 and seed at least 0, found {depth} and {seed}")
    desk = _Desk(task, seed, indexes)
    for system in systems:
        made: System = catalog.system(system) if isinstance(system, str) else system
        reads = views_read(task, made)
        yield _run(desk, made, desk.rows_of(made, depth), depth=depth, reads=reads)


def _run(desk: _Desk, made: System, lists: RankedRows, *, depth: int, reads: tuple[str, ...]) -> Run:
    """The lists as a run: queries in the order of the task, rows as passages."""
    task = desk.task
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
            "seed": desk.seed,
            "version": assay.__version__,
        },
        counts=dict(lists.notes),
        distinct=True,
    )


@dataclass(frozen=True)
class _Desk:
    """Where views are handed out: one task, shuffled once. What is handed out is read-only.

    Behind a lens, `seen` is what it shows in place of the task's passages; where rows are `grouped`, they are no
    passages, and nothing is ineligible yet.
    """

    task: Task
    seed: int
    indexes: Path | None
    seen: PassageView | None = None
    grouped: bool = False
    found: dict[tuple[int, int], tuple[System, RankedRows]] = field(default_factory=dict)
    behind: dict[int, tuple[Lens, _Desk, npt.NDArray[np.int32] | None]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many rows there are to search."""
        return len(self.task.passages) if self.seen is None else len(self.seen)

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
        if self.grouped:
            return Eligibility.everything(self.size, len(self.task.rows))
        return self.task.eligibility.permuted(self.passage_order, self.query_order)

    def queries(self, rows: Rows | None = None) -> QueryView:
        """The queries' texts, shuffled; only those of `rows` where given."""
        order = self.query_order if rows is None else self.query_order[rows]
        return QueryView(_sealed_texts(self.task.queries.texts[self.task.query_view].take(order)), self.task.mask)

    def passages(self, reads: Collection[str]) -> PassageView:
        """The views that a system declared, and no others."""
        if self.seen is not None:
            return self.seen.only(reads)
        columns, order = self.task.passages, self.passage_order
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
        if self.size == 0 or len(self.task.rows) == 0:
            return RankedRows.joined([(np.zeros(0, np.int32), np.zeros(0))] * len(self.task.rows))
        if isinstance(system, Representer):
            return self._represented(system, depth)
        if isinstance(system, Searcher):
            return self._searched(system, depth)
        if isinstance(system, Composite):
            return self._combined(system, depth)
        if isinstance(system, Scorer):
            return self._scored(system, depth)
        if isinstance(system, Lens):
            return self._through(system, depth)
        raise UsageError(
            f"{system.name} is of no kind: a representer has the methods index and load, a searcher search, a scorer"
            " score, a composite combine and parts, a lens shown and system"
        )

    def _represented(self, system: Representer, depth: int) -> RankedRows:
        from assay.kernels.sparse import Postings, top_rows

        index, asked = index_of(system, self.passages(system.reads), self.indexes), self.queries()
        encoded = index.encode(asked)
        if isinstance(index.rows, DenseRows) or isinstance(encoded, DenseRows):
            raise UsageError(f"{system.name} returns dense rows, which this version cannot search")
        rows = checked_sparse_rows(index.rows, name=system.name, rows=self.size)
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

    def _searched(self, system: Searcher, depth: int) -> RankedRows:
        passages = self.passages(system.reads)

        def ask(rows: Rows, deep: int) -> RankedRows:
            found = system.search(passages, self.queries(rows), depth=deep)
            return checked_ranked_rows(found, name=system.name, queries=len(rows), passages=len(passages))

        return self._answered(ask, depth)

    def _combined(self, system: Composite, depth: int) -> RankedRows:
        passages, told = self.passages(system.reads), _Told()

        def ask(rows: Rows, deep: int) -> RankedRows:
            # Parts are first as deep as the run: a fusion at depth 100 is one of lists of depth 100.
            least = max(depth, deep - 1)
            depths = part_depths(system, least, passages=self.size)
            lists = [self._part(part, deep) for part, deep in zip(system.parts, depths, strict=True)]
            given = [RankedRows.joined([part[i] for i in rows.tolist()], whole_ties=part.whole_ties) for part in lists]
            found = system.combine(given, passages, self.queries(rows), depth=deep)
            found = checked_ranked_rows(found, name=system.name, queries=len(rows), passages=len(passages))
            return replace(found, notes=Counter(found.notes) + told(deep, lists))

        return self._answered(ask, depth)

    def _part(self, system: System, depth: int) -> RankedRows:
        """Rows of a part, searched once: it may be asked for again, by blocks of queries or with other weights."""
        if (id(system), depth) not in self.found:
            self.found[id(system), depth] = system, self.rows_of(system, depth)
        return self.found[id(system), depth][1]

    def _through(self, lens: Lens, depth: int) -> RankedRows:
        """Rows of the system behind a lens; where it sees no passages, each passage has the score of its row there."""
        if id(lens) not in self.behind:
            reads = views_read(self.task, lens.system)
            given = lens.shown(self.passages({*reads, *lens.reads}))
            seen, rows = checked_shown(given, name=lens.name, passages=self.size, reads=reads)
            desk = replace(self, seen=_sealed_view(seen), grouped=self.grouped or rows is not None, found={}, behind={})
            self.behind[id(lens)] = lens, desk, rows
        _, below, owner = self.behind[id(lens)]
        if owner is None:
            return below.rows_of(lens.system, depth)
        members = np.argsort(owner, kind="stable").astype(np.int32)
        starts = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=below.size))])
        told = _Told()

        def ask(rows: Rows, deep: int) -> RankedRows:
            found = below._part(lens.system, deep)
            lists = [_spread(*found[query], starts=starts, members=members) for query in rows.tolist()]
            ended = (np.diff(found.offsets)[rows] < deep) | (deep >= below.size)
            return RankedRows.joined(lists, whole_ties=found.whole_ties, exhausted=ended, notes=told(deep, [found]))

        return self._answered(ask, depth)

    def _answered(self, ask: Callable[[Rows, int], RankedRows], depth: int) -> RankedRows:
        """Asks deeper, doubling, for the queries that lack eligible rows, until they have them or their lists end.

        One row more than the depth is asked for: it shows whether the last rows tie across the cut.
        """
        n, lists = self.size, dict[int, tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]]()
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
        passages, queries, n = self.passages(system.reads), self.queries(), self.size
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


class _Told:
    """What parts noted, once for every depth that they were run at, however many blocks of queries there are."""

    def __init__(self) -> None:
        self._depths: set[int] = set()

    def __call__(self, deep: int, lists: Iterable[RankedRows]) -> Counter[str]:
        notes: Counter[str] = Counter()
        for part in () if deep in self._depths else lists:
            notes.update(part.notes)
        self._depths.add(deep)
        return notes


def _spread(
    row: npt.NDArray[np.int32], score: npt.NDArray[np.float64], *, starts: Rows, members: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    """Rows `members[starts[r]:starts[r + 1]]` for each `r`, with the score of `r`."""
    count = starts[row + 1] - starts[row]
    at = np.arange(count.sum()) + np.repeat(starts[row] - (np.cumsum(count) - count), count)
    return members[at], np.repeat(score, count)


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


def _sealed_view(view: PassageView) -> PassageView:
    for array in (view.parent, view.position, view.span):
        if array is not None:
            _sealed(array)
    for texts in view.texts.values():
        _sealed_texts(texts)
    return view
