"""Blindness: systems that look for the answers find nothing, and cannot change what they were given."""

from __future__ import annotations

import gc
import types
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from assay.eligibility import Eligibility
from assay.errors import ViewError
from assay.fragment import Fragments
from assay.harness import retrieve
from assay.ids import Ids
from assay.passage import Passages
from assay.qrels import Qrels
from assay.query import Queries
from assay.run import Run
from assay.system import VIEWS, PassageView, QueryView, RankedRows
from assay.task import Task
from assay.texts import Texts
from tiny import chunk_task, dated_task, task_of

EVERY_VIEW = (
    (chunk_task(), ("text:plain", "text:coref", "title", "parent", "position", "span")),
    (dated_task(), ("text:plain", "link:question")),
)
SECRETS = (Qrels, Task, Ids, Passages, Queries, Eligibility, Fragments, Run)


def by_number(passages: PassageView, queries: QueryView, place: np.ndarray) -> RankedRows:
    """Every passage, best first where `place` is nearest to the place of the query."""
    rows = np.arange(len(passages))
    return RankedRows.joined([(rows, -np.abs(place - query).astype(np.float64)) for query in range(len(queries))])


@dataclass(frozen=True)
class Diagonal:
    """Guesses that the nth query is answered by the nth passage."""

    name: ClassVar[str] = "diagonal"
    reads: ClassVar[tuple[str, ...]] = ()

    def search(self, passages: PassageView, queries: QueryView, *, depth: int) -> RankedRows:
        return by_number(passages, queries, np.arange(len(passages)))


@dataclass(frozen=True)
class Unshuffler:
    """Knows the seed and undoes the order that the seed alone would give."""

    seed: int
    name: ClassVar[str] = "unshuffler"
    reads: ClassVar[tuple[str, ...]] = ()

    def search(self, passages: PassageView, queries: QueryView, *, depth: int) -> RankedRows:
        place = np.random.default_rng([self.seed, 0]).permutation(len(passages))
        found = by_number(passages, queries, place)
        order = np.random.default_rng([self.seed, 1]).permutation(len(queries))
        return RankedRows.joined([found[int(query)] for query in order])


@dataclass(frozen=True)
class First:
    """Ranks by row number, the first row first, or the last."""

    sign: float
    name: ClassVar[str] = "first"
    reads: ClassVar[tuple[str, ...]] = ()

    def search(self, passages: PassageView, queries: QueryView, *, depth: int) -> RankedRows:
        rows = np.arange(len(passages))
        return RankedRows.joined([(rows, self.sign * rows)] * len(queries))


def reciprocal_ranks(run: Run, gold: dict[str, str]) -> list[float]:
    found = []
    for row, query in enumerate(run.queries):
        own = [run.passages[int(p)] for p in run.passage[run.offsets[row] : run.offsets[row + 1]]]
        found.append(1 / (1 + own.index(gold[query])))
    return found


@pytest.mark.parametrize("make", [lambda s: Diagonal(), Unshuffler, lambda s: First(1.0), lambda s: First(-1.0)])
def test_row_numbers_are_worth_no_more_than_chance(make: Any) -> None:
    # The nth query is answered by the nth passage: in file order, Diagonal would have 1.0 everywhere.
    size = 20
    gold = {f"q{i:02}": f"p{i:02}" for i in range(size)}
    task = task_of([(q, p, 1) for q, p in gold.items()], gold.values())
    values = [np.mean(reciprocal_ranks(retrieve(task, make(seed), depth=size, seed=seed), gold)) for seed in range(150)]
    chance = np.mean(1 / np.arange(1, size + 1))
    assert abs(np.mean(values) - chance) < 0.02
    assert max(values) < 0.6


def test_the_same_adversaries_win_where_nothing_is_shuffled(monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.harness import _Desk

    monkeypatch.setattr(_Desk, "_shuffled", lambda desk, what, rows: rows)
    gold = {f"q{i:02}": f"p{i:02}" for i in range(20)}
    task = task_of([(q, p, 1) for q, p in gold.items()], gold.values())
    assert reciprocal_ranks(retrieve(task, Diagonal(), depth=20), gold) == [1.0] * 20


@dataclass(frozen=True)
class Spy:
    """Keeps all that it is handed, as a searcher."""

    seen: list[Any]
    reads: tuple[str, ...]
    name: ClassVar[str] = "spy"

    def search(self, passages: PassageView, queries: QueryView, *, depth: int) -> RankedRows:
        self.seen.extend([passages, queries])
        return RankedRows.joined([(np.arange(len(passages)), np.ones(len(passages)))] * len(queries))


@dataclass(frozen=True)
class SpyScorer:
    """Keeps all that it is handed, as a scorer."""

    seen: list[Any]
    reads: tuple[str, ...]
    name: ClassVar[str] = "spy-scorer"

    def score(self, passages: PassageView, queries: QueryView, *, query: np.ndarray, passage: np.ndarray) -> np.ndarray:
        self.seen.extend([passages, queries, query, passage])
        return np.ones(len(query))


@dataclass(frozen=True)
class SpyComposite:
    """Keeps all that it is handed, as a composite."""

    seen: list[Any]
    reads: tuple[str, ...]
    parts: tuple[Any, ...]
    name: ClassVar[str] = "spy-composite"

    def combine(self, lists: Any, passages: PassageView, queries: QueryView, *, depth: int) -> RankedRows:
        self.seen.extend([*lists, passages, queries])
        return lists[0]


def reachable(start: Any) -> Iterator[Any]:
    """Everything that references, attributes and array bases lead to, but no classes, modules or functions."""
    code = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType)
    seen, waiting = set(), [start]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, code):
            continue
        seen.add(id(thing))
        yield thing
        waiting += gc.get_referents(thing)
        waiting += list(vars(thing).values()) if hasattr(thing, "__dict__") else []
        if is_dataclass(thing):
            waiting += [getattr(thing, f.name) for f in fields(thing)]
        if isinstance(thing, np.ndarray):
            waiting += [thing.base, *(thing.tolist() if thing.dtype == object else [])]
        if isinstance(thing, memoryview):
            waiting.append(thing.obj)


def secrets_in(start: Any, task: Task) -> list[str]:
    """What `reachable` finds that no system may have."""
    ids = {*task.pool.ids, *task.passages.ids, *(task.passages.parents or ())}
    # Documents of the tiny task are called by words of their texts, so only whole ids are looked for there.
    printed = [i.encode() for i in (*task.pool.ids, *task.passages.ids)]
    found = []
    for thing in reachable(start):
        if isinstance(thing, SECRETS):
            found.append(type(thing).__name__)
        if isinstance(thing, str) and thing in ids:
            found.append(f"id {thing}")
        if isinstance(thing, Texts) and set(thing.to_list()) & ids:
            found.append("ids as texts")
        if isinstance(thing, np.ndarray) and thing.dtype.kind in "MO":
            found.append(f"array of {thing.dtype}")
        if isinstance(thing, np.ndarray | bytes | bytearray):
            whole = thing.tobytes() if isinstance(thing, np.ndarray) else bytes(thing)
            found += [f"bytes of {i!r}" for i in printed if i in whole]
    return found


@pytest.mark.parametrize(("task", "views"), EVERY_VIEW, ids=["chunks", "dated"])
def test_nothing_reachable_from_what_a_system_gets_is_an_answer(task: Task, views: tuple[str, ...]) -> None:
    seen: list[Any] = []
    spy = Spy(seen, views)
    for system in (spy, SpyScorer(seen, views), SpyComposite(seen, views, (spy,))):
        retrieve(task, system, depth=3)
    assert len(seen) > 7
    things = list(reachable(seen))
    assert sum(isinstance(x, np.ndarray) for x in things) > 10
    assert secrets_in(seen, task) == []


@pytest.mark.parametrize(
    "planted",
    [
        lambda t: t.qrels,
        lambda t: {"deep": [t]},
        lambda t: t.passages.ids.texts,
        lambda t: t.pool.ids[0],
        lambda t: np.array(["2021-01-01"], "datetime64[D]"),
        lambda t: np.frombuffer(b"xx" + t.passages.ids[0].encode(), np.uint8)[:1],
        lambda t: replace(PassageView(1, {}), parent=np.array([t.pool.ids[0]], object)),
    ],
)
def test_the_search_for_answers_finds_planted_ones(planted: Any) -> None:
    task = dated_task()
    assert secrets_in([planted(task)], task)


@pytest.mark.parametrize(("task", "views"), EVERY_VIEW, ids=["chunks", "dated"])
def test_a_view_that_was_not_declared_is_absent(task: Task, views: tuple[str, ...]) -> None:
    for declared in ((), *((view,) for view in views), views):
        seen: list[Any] = []
        retrieve(task, Spy(seen, declared), depth=3)
        passages, queries = seen[:2]
        assert set(passages.texts) == {v for v in declared if v.startswith("text:") or v == "title"}
        held = {
            "parent": passages.parent,
            "position": passages.position,
            "span": passages.span,
            "link:question": passages.links,
        }
        assert {name for name, column in held.items() if column is not None} == set(declared) & set(held)
        assert {f.name for f in fields(passages)} == {"size", "texts", "parent", "position", "span", "links", "mask"}
        assert {f.name for f in fields(queries)} == {"texts", "mask"}


@pytest.mark.parametrize(("task", "views"), EVERY_VIEW, ids=["chunks", "dated"])
def test_a_view_that_the_task_does_not_allow_is_refused(task: Task, views: tuple[str, ...]) -> None:
    for view in VIEWS:
        if view not in task.views:
            with pytest.raises(ViewError, match=view):
                retrieve(task, Spy([], (view,)))
    for view in ("ids", "date", "qrels", "text:", "text:raw"):
        with pytest.raises(ViewError, match="no view"):
            retrieve(task, Spy([], (view,)))


def arrays_in(start: Any) -> list[np.ndarray]:
    return [x for x in reachable(start) if isinstance(x, np.ndarray) and x.size]


@dataclass(frozen=True)
class Vandal:
    """Overwrites every array that it was handed, by force where it is read-only."""

    forced: list[int]
    reads: tuple[str, ...]
    name: ClassVar[str] = "vandal"

    def search(self, passages: PassageView, queries: QueryView, *, depth: int) -> RankedRows:
        found = RankedRows.joined([(np.arange(len(passages)), np.ones(len(passages)))] * len(queries))
        for array in arrays_in([passages, queries]):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = array.flat[0]
            try:
                array.setflags(write=True)
                array[...] = array.flat[0]
                self.forced.append(1)
            except ValueError:
                continue
        return found


@pytest.mark.parametrize(("task", "views"), EVERY_VIEW, ids=["chunks", "dated"])
def test_a_system_that_writes_into_what_it_is_given_changes_neither_task_nor_other_systems(
    task: Task, views: tuple[str, ...]
) -> None:
    seen: list[Any] = []
    spy = Spy(seen, views)
    retrieve(task, spy, depth=3)
    before = {id(a): a.copy() for a in arrays_in(task)}
    handed = [x.tobytes() for x in arrays_in(seen)]
    own = [a for a in arrays_in(task) if a.dtype != object]
    assert not any(np.shares_memory(a, b) for a in arrays_in(seen) for b in own)

    seen.clear()
    vandal = Vandal([], views)
    retrieve(task, SpyComposite([], views, (vandal, spy, vandal)), depth=3)
    assert [x.tobytes() for x in arrays_in(seen[:2])] == handed
    assert all(
        np.array_equal(a, before[id(a)], equal_nan=a.dtype.kind in "fM") for a in arrays_in(task) if id(a) in before
    )
    assert vandal.forced or len(before) == 0


def test_neither_a_scorer_nor_a_black_box_learns_what_is_eligible() -> None:
    task, seen = dated_task(), []
    retrieve(task, SpyScorer(seen, ()), depth=1)
    pairs = [(q.tolist(), p.tolist()) for q, p in zip(seen[2::4], seen[3::4])]
    size = len(task.passages)
    assert pairs == [([row] * size, list(range(size))) for row in range(len(task.queries))]


def test_opaque_parents_say_nothing_about_the_order_of_documents() -> None:
    task, orders = chunk_task(), set()
    for seed in range(30):
        seen: list[Any] = []
        retrieve(task, Spy(seen, ("text:plain", "parent")), depth=3, seed=seed)
        code = dict(zip(seen[0].texts["text:plain"], seen[0].parent.tolist()))
        first = [code[text] for text in task.passages.texts["plain"].to_list()[::4]]
        orders.add(tuple(np.argsort(first).tolist()))
    assert len(orders) > 20
