"""Harness: runs a system on a task without showing it the answers.

The harness hands out the views that a system declares and the task allows, in a seeded shuffled
order, searches for systems that only represent, pushes eligibility down or filters what a black box
returns, checks the contract, and ranks. It is the only place where passage rows become passages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import assay
from assay import catalog
from assay.call import parts_within
from assay.contract import (
    checked_ranked_rows,
    checked_scored,
    checked_shown,
    part_depths,
)
from assay.deepening import Told, answered, ended
from assay.eligibility import Eligibility
from assay.errors import UsageError
from assay.executor import Work
from assay.groups import Groups, own_rows
from assay.indexes import index_of
from assay.run import Run
from assay.searching import best_rows
from assay.sharded import sharded_rows
from assay.sharded_pairs import spread
from assay.system import (
    Composite,
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
from assay.views import sealed, sealed_texts, sealed_view, views_read

Rows = npt.NDArray[np.int64]

_HOUSE = ("assay.retrieval.", "assay.pair_encoders.")
"""Where composites, and what they hand rows on to, live that may see lists of eligible rows alone."""


def retrieve(
    task: Task,
    system: System | str,
    *,
    depth: int | None = None,
    seed: int = 0,
    indexes: Path | None = None,
    work: Work | None = None,
) -> Run:
    """The run of a system on a task: at its depth the best passages and all that tie with the last.

    Args:
        task: What is asked and what may be used.
        system: One of the five kinds of `assay.system`, or a known one written as a call.
        depth: Passages per query; the task's depth by default.
        seed: Seed of the order in which rows are handed out, 0 or more. A system keeps the contract when
            the run is the same for every seed.
        indexes: Folder in which indexes are kept and found again by fingerprint; None keeps none.
        work: Where representers are indexed and searched in shards, and by whom; None does it here, in one piece.
            The run is the same.

    Returns:
        A run over the task's queries and passages. `counts` has what the system and its parts noted, added up
        over all calls; `cut_ties` counts lists of a black box whose tie at the depth may go on past its end.

    Raises:
        UsageError: The depth is less than 1, the seed negative, or this is no system.
        ViewError: The system reads a view that the task does not allow or its collection does not hold.
        ContractError: The system returned rows out of range, repeated, or with scores not finite.
    """
    return next(retrieve_each(task, [system], depth=depth, seed=seed, indexes=indexes, work=work))


def retrieve_each(
    task: Task,
    systems: Iterable[System | str],
    *,
    depth: int | None = None,
    seed: int = 0,
    indexes: Path | None = None,
    work: Work | None = None,
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
    if indexes is not None and work is not None:
        raise UsageError("shards keep their indexes in the work folder: leave out the folder of indexes")
    desk = _Desk(task, seed, indexes, work)
    for system in systems:
        made: System = catalog.system(system) if isinstance(system, str) else system
        reads = views_read(task, made)
        yield _run_of(desk, made, depth=depth, reads=reads)


def recipe_of(system: System, reads: Iterable[str], *, depth: int, seed: int) -> dict[str, Any]:
    """What makes a run, as plain JSON values: the system with all its fields, the views read, depth, seed, version."""
    return {
        "system": spec_of(system),
        "reads": list(reads),
        "depth": depth,
        "seed": seed,
        "version": assay.__version__,
    }


def _run_of(desk: _Desk, made: System, *, depth: int, reads: tuple[str, ...]) -> Run:
    """The run of a system, with its recipe, and with what it had to choose from, where it only reorders."""
    lists = desk.rows_of(made, depth)
    candidates = desk.candidates_of(made, depth)
    return _run(
        desk,
        lists,
        depth=depth,
        name=made.name,
        spec=recipe_of(made, reads, depth=depth, seed=desk.seed),
        counts=dict(lists.notes),
        models=desk.models_of(made),
        candidates=None if candidates is None else _run(desk, candidates, name="candidates"),
    )


def _run(desk: _Desk, lists: RankedRows, **rest: Any) -> Run:
    """The lists as a run: queries in the order of the task, rows as passages."""
    back = np.argsort(desk.query_order)
    count = np.diff(lists.offsets)[back]
    borders = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    at = np.arange(borders[-1]) + np.repeat(lists.offsets[back] - borders[:-1], count)
    return Run.ranked(
        desk.task.queries.ids,
        desk.task.passages.ids,
        offsets=borders,
        passage=desk.passage_order[lists.row[at]].astype(np.int32),
        score=lists.score[at],
        distinct=True,
        **rest,
    )


@dataclass(frozen=True)
class _Desk:
    """Where views are handed out: one task, shuffled once. What is handed out is read-only.

    Behind a lens, `seen` is what it shows in place of the task's passages; where its rows are no passages, `rule` is
    the rule over them.
    """

    task: Task
    seed: int
    indexes: Path | None
    work: Work | None = None
    seen: PassageView | None = None
    rule: Eligibility | None = None
    found: dict[tuple[int, int], tuple[System, RankedRows]] = field(default_factory=dict)
    behind: dict[int, tuple[Lens, _Desk, Groups | None]] = field(default_factory=dict)
    models: list[tuple[System, dict[str, str]]] = field(default_factory=list)

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
        if self.rule is not None:
            return self.rule
        return self.task.eligibility.permuted(self.passage_order, self.query_order)

    def queries(self, rows: Rows | None = None) -> QueryView:
        """The queries' texts, shuffled; only those of `rows` where given."""
        order = self.query_order if rows is None else self.query_order[rows]
        return QueryView(sealed_texts(self.task.queries.texts[self.task.query_view].take(order)), self.task.mask)

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
                parent = sealed(self._shuffled(2, np.arange(len(distinct)))[own].astype(np.int32))
            if "span" in reads:
                span = sealed(np.stack([columns.spans.start[order], columns.spans.end[order]], axis=1))
        if "position" in reads and columns.position is not None:
            position = sealed(columns.position[order])
        texts = {view: sealed_texts(rows) for view, rows in texts.items()}
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
        place = np.zeros(len(self.task.pool), np.int32)
        place[self.linked] = np.arange(len(self.linked), dtype=np.int32)
        target = place[passages.link_query[at]]
        # Questions of one passage come in shuffled order too: as stored, the first one would be the oldest.
        target = target[np.lexsort((target, np.repeat(np.arange(len(count)), count)))]
        texts = sealed_texts(self.task.pool.texts[self.task.query_view].take(self.linked))
        return Links(texts, sealed(offsets), sealed(target))

    @cached_property
    def linked(self) -> Rows:
        """Rows of the pool that passages link to, in the order in which systems see them."""
        linked = self.task.passages.link_query
        return self._shuffled(3, np.unique(np.zeros(0, np.int32) if linked is None else linked))

    @cached_property
    def _unruled(self) -> _Desk:
        """The same rows, all of them eligible for every query."""
        everything = Eligibility.everything(self.size, len(self.task.rows))
        return replace(self, rule=everything, found={}, behind={})

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
        if self.work is not None:
            seen, asked = self.passages(system.reads), self.queries()
            found = sharded_rows(system, seen, asked, self.eligibility, depth=depth, work=self.work)
            self._told_by(system, found.record)
            return found
        index, asked = index_of(system, self.passages(system.reads), self.indexes), self.queries()
        found = best_rows(index.rows, index.encode(asked), self.eligibility, depth=depth, name=system.name)
        self._told_by(system, getattr(index, "record", {}))
        return replace(found, notes={**found.notes, **getattr(index, "notes", {})})

    def _searched(self, system: Searcher, depth: int) -> RankedRows:
        passages = self.passages(system.reads)

        def ask(rows: Rows, deep: int) -> RankedRows:
            found = system.search(passages, self.queries(rows), depth=deep)
            found = checked_ranked_rows(found, name=system.name, queries=len(rows), passages=len(passages))
            return replace(found, exhausted=ended(found, deep))

        return self._answered(ask, depth)

    def _combined(self, system: Composite, depth: int) -> RankedRows:
        passages, told, desk = self.passages(system.reads), Told(), self._behind(system)
        combining = self._spreading(system)

        def ask(rows: Rows, deep: int) -> RankedRows:
            # Parts are first as deep as the run: a fusion at depth 100 is one of lists of depth 100.
            least = max(depth, deep - 1) if desk is self else deep
            depths = part_depths(system, least, passages=self.size)
            lists = [desk._part(part, deep) for part, deep in zip(system.parts, depths, strict=True)]
            given = [part.take(rows) for part in lists]
            found = combining.combine(given, passages, self.queries(rows), depth=deep)
            found = checked_ranked_rows(found, name=system.name, queries=len(rows), passages=len(passages))
            self._told_by(system, found.record)
            return replace(found, exhausted=ended(found, deep), notes=Counter(found.notes) + told(deep, lists))

        return self._answered(ask, depth)

    def _behind(self, system: Composite) -> _Desk:
        """Where the parts of a composite are run.

        Lists without what is too new would tell others than the house, query by query, how old every passage is.
        """
        told: list[Any] = [system]
        for one in told:
            told += getattr(one, "hands_to", ())
        return self if all(type(one).__module__.startswith(_HOUSE) for one in told) else self._unruled

    def _told_by(self, system: System, record: Mapping[str, str]) -> None:
        """Keeps what the model of a system says of itself."""
        if record:
            self.models.append((system, dict(record)))

    def models_of(self, system: System) -> tuple[dict[str, str], ...]:
        """What the models of a system and its parts said of themselves, each once."""
        own = {id(part) for part in parts_within(system)}
        told = [record for part, record in self.models if id(part) in own]
        return tuple(record for at, record in enumerate(told) if record not in told[:at])

    def _keeping(self, system: Any) -> Any:
        """The same system, which keeps what takes long beside the indexes, where it can and they are kept."""
        keeping = getattr(system, "keeping", None)
        return system if keeping is None or self.indexes is None else keeping(self.indexes)

    def _spreading(self, system: Composite) -> Any:
        """The same composite, whose pairs are scored in shards, where it has pairs scored and there is such work."""
        scored_by, work = getattr(system, "scored_by", None), self.work
        if scored_by is None or work is None:
            return self._keeping(system)
        return scored_by(lambda scorer: spread(scorer, work))

    def candidates_of(self, system: System, depth: int) -> RankedRows | None:
        """The eligible rows that a composite, or one behind lenses, had to choose from, where it only reorders.

        Cheap after `rows_of`.
        """
        if self.size == 0 or len(self.task.rows) == 0:
            return None
        everyone: Rows = np.arange(len(self.task.rows), dtype=np.int32)
        if isinstance(system, Lens):
            _, below, groups = self.behind[id(system)]
            found = below.candidates_of(system.system, depth)
            if found is None or groups is None:
                return found
            return self._eligible(groups.spread(found, members=self.size), everyone)
        chosen = getattr(system, "candidates", None)
        if chosen is None or not isinstance(system, Composite):
            return None
        desk, depths = self._behind(system), part_depths(system, depth, passages=self.size)
        lists = [desk._part(part, deep) for part, deep in zip(system.parts, depths, strict=True)]
        found = checked_ranked_rows(chosen(lists), name=system.name, queries=len(self.task.rows), passages=self.size)
        return self._eligible(found, everyone)

    def _part(self, system: System, depth: int) -> RankedRows:
        """Rows of a part, searched once: it may be asked for again, by blocks of queries or with other weights."""
        if (id(system), depth) not in self.found:
            self.found[id(system), depth] = system, self.rows_of(system, depth)
        return self.found[id(system), depth][1]

    def _through(self, lens: Lens, depth: int) -> RankedRows:
        """Rows of the system behind a lens; where it sees no passages, each passage has the score of its row there."""
        if id(lens) not in self.behind:
            reads = views_read(self.task, lens.system)
            handed = self.passages({*reads, *lens.reads})
            given = lens.shown(handed)
            seen, owner = checked_shown(given, name=lens.name, passages=self.size, reads=reads, links=handed.links)
            groups = None if owner is None else Groups.of(owner, rows=len(seen))
            rule = self.rule
            if groups is not None:
                rule = self.eligibility.grouped(groups.starts, groups.member)
            if rule is not None and isinstance(owner, Links):
                asked = self.task.rows[self.query_order].astype(np.int64)
                rule = rule.without(*own_rows(self.task.questions, shown=self.linked, asked=asked))
            desk = replace(self, seen=sealed_view(seen), rule=rule, found={}, behind={})
            self.behind[id(lens)] = lens, desk, groups
        _, below, groups = self.behind[id(lens)]
        if groups is None or below.size == 0:
            return below.rows_of(lens.system, depth)
        told = Told()

        def ask(rows: Rows, deep: int) -> RankedRows:
            found = below._part(lens.system, deep)
            given = found.take(rows)
            spread = groups.spread(given, members=self.size)
            return replace(spread, exhausted=ended(given, deep), notes=told(deep, [found]))

        return self._answered(ask, depth, rows=below.size, first=groups.enough(depth + 1))

    def _answered(
        self, ask: Callable[[Rows, int], RankedRows], depth: int, *, rows: int | None = None, first: int | None = None
    ) -> RankedRows:
        """Rows of `ask`, asked deeper until no query lacks eligible ones; of the `rows` that there are at `first`."""
        n = self.size if rows is None else rows
        first = depth + 1 if first is None else first
        return answered(ask, self._eligible, queries=len(self.task.rows), depth=depth, rows=n, first=first)

    def _scored(self, system: Scorer, depth: int) -> RankedRows:
        """Every pair is scored, query by query: which ones are eligible would tell the scorer about dates."""
        passages, queries, n = self.passages(system.reads), self.queries(), self.size
        lists, notes, scorer = [], Counter[str](), self._keeping(system)
        for query in range(len(queries)):
            pair = {"query": np.full(n, query, np.int32), "passage": np.arange(n, dtype=np.int32)}
            scored = checked_scored(scorer.score(passages, queries, **pair), name=system.name, size=n)
            row = np.flatnonzero(self.eligibility.mask(query)).astype(np.int32)
            lists.append(RankedRows.joined([(row, scored.score[row])]).best(depth)[0])
            notes.update(scored.notes)
            self._told_by(system, scored.record)
        return RankedRows.joined(lists, whole_ties=True, notes=notes)

    def _eligible(self, found: RankedRows, query_rows: Rows) -> RankedRows:
        """The lists without what the rule forbids; list `i` belongs to query `query_rows[i]`."""
        if self.eligibility.unrestricted:
            return found
        owner = np.repeat(query_rows, np.diff(found.offsets))
        return found.only(self.eligibility.allows(owner, found.row))
