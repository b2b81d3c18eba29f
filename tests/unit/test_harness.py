"""The harness: depth, ties, eligibility and the contract, against brute force over scripted systems."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import assay.harness
from assay.errors import ContractError, UsageError, ViewError
from assay.harness import retrieve
from assay.ids import Ids
from assay.query import Queries
from assay.run import Run
from assay.system import DenseRows, PassageView, QueryView, RankedRows, SparseRows
from assay.task import Task
from assay.texts import Texts
from tiny import ANSWERS, chunk_task, dated_task, task_of

quick = settings(max_examples=60, deadline=None)
Table = Mapping[tuple[str, str], float]


def text_scores(table: Table, passages: PassageView, queries: QueryView) -> np.ndarray:
    """What a table of (query text, passage text) says of each pair of rows; NaN where it says nothing."""
    listed = passages.texts["text:plain"].to_list()
    rows = [[table.get((q, p), np.nan) for p in listed] for q in queries.texts.to_list()]
    return np.array(rows, np.float64).reshape(len(queries), len(passages))


@dataclass(frozen=True)
class Scripted:
    """A black box that answers from a table; `whole` says whether it returns all ties with the last."""

    table: Table
    whole: bool = False
    kind: type = np.float64
    asked: Any = None
    name: ClassVar[str] = "scripted"
    reads: ClassVar[tuple[str, ...]] = ("text:plain",)

    def search(self, passages: PassageView, queries: QueryView, *, depth: int) -> RankedRows:
        if self.asked is not None:
            self.asked.append((len(queries), depth))
        lists = []
        for scores in text_scores(self.table, passages, queries):
            row = np.flatnonzero(~np.isnan(scores))
            row = row[np.argsort(-scores[row], kind="stable")]
            if len(row) > depth:
                last = scores[row[depth - 1]]
                row = row[scores[row] >= last] if self.whole else row[:depth]
            lists.append((row, scores[row].astype(self.kind)))
        return replace(RankedRows.joined(lists), whole_ties=self.whole)


@dataclass(frozen=True)
class Judge:
    """A scorer that answers from a table, 0 where that says nothing."""

    table: Table
    kind: type = np.float64
    name: ClassVar[str] = "judge"
    reads: ClassVar[tuple[str, ...]] = ("text:plain",)

    def score(self, passages: PassageView, queries: QueryView, *, query: np.ndarray, passage: np.ndarray) -> np.ndarray:
        return np.nan_to_num(text_scores(self.table, passages, queries))[query, passage].astype(self.kind)


@dataclass(frozen=True)
class Held:
    """An index over fixed sparse rows: the terms of a text are its letters, or what `change` makes of them."""

    rows: Any
    encoded: Callable[[QueryView], Any]
    saved: bytes = b""

    def encode(self, queries: QueryView) -> Any:
        return self.encoded(queries)

    def save(self, folder: Path) -> None:
        (folder / "texts").write_bytes(self.saved)


def letters(texts: Texts) -> SparseRows:
    bags = [sorted({ord(c) for c in text if ord(c) < 128}) for text in texts]
    offsets = np.concatenate([[0], np.cumsum([len(b) for b in bags])]).astype(np.int64)
    term = np.array([t for b in bags for t in b], np.int32)
    return SparseRows(offsets, term, np.ones(len(term), np.float32), 128, 1.0)


@dataclass(frozen=True)
class Letters:
    """A representer: how many different letters a passage shares with the query."""

    rows: Callable[[SparseRows], Any] = lambda rows: rows
    encoded: Callable[[SparseRows], Any] = lambda rows: rows
    reads: tuple[str, ...] = ("text:plain",)
    built: Any = None
    name: ClassVar[str] = "letters"

    def index(self, passages: PassageView) -> Held:
        if self.built is not None:
            self.built.append(len(passages))
        rows = self.rows(letters(passages.texts["text:plain"]))
        return Held(rows, lambda queries: self.encoded(letters(queries.texts)))

    def load(self, folder: Path) -> Held:
        raise AssertionError("nothing was kept")


@dataclass(frozen=True)
class Sum:
    """A composite: the sum of its parts' scores, cut to the depth asked for, or whole."""

    parts: tuple[Any, ...]
    whole: bool = True
    name: ClassVar[str] = "sum"
    reads: ClassVar[tuple[str, ...]] = ()

    def combine(self, lists: list[RankedRows], passages: PassageView, queries: QueryView, *, depth: int) -> RankedRows:
        made = []
        for query in range(len(queries)):
            total: dict[int, float] = {}
            for rows, scores in (part[query] for part in lists):
                for row, score in zip(rows.tolist(), scores.tolist()):
                    total[row] = total.get(row, 0.0) + score
            order = sorted(total, key=lambda row: -total[row])[: None if self.whole else depth]
            made.append((np.array(order, np.int32), np.array([total[row] for row in order], np.float64)))
        return RankedRows.joined(made, whole_ties=self.whole, notes={"combined": len(queries)})


@dataclass(frozen=True)
class HouseSum(Sum):
    """The same as one of the house's own, which is handed lists of eligible rows alone."""

    __module__ = "assay.retrieval.sum"


def expected(task: Task, table: Table, depth: int) -> list[tuple[str, str, float]]:
    """Every scored pair that is eligible, ranked, cut at the depth with all that ties with the last."""
    rows = []
    for row, query in enumerate(task.queries.ids):
        may = task.eligibility.mask(row)
        scored = [(table[query, p], p) for code, p in enumerate(task.passages.ids) if may[code] and (query, p) in table]
        scored.sort(key=lambda x: (x[0], x[1].encode()), reverse=True)
        last = scored[min(depth, len(scored)) - 1][0] if scored else 0.0
        rows += [(query, p, score) for score, p in scored if score >= last]
    return rows


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Task, dict[tuple[str, str], float], int]:
    """A task of up to nine passages under some rule, a table with many ties, a depth."""
    passages = [f"p{i}" for i in range(draw(st.integers(1, 9)))]
    queries = [f"q{i}" for i in range(draw(st.integers(1, 4)))] + draw(st.sampled_from([[], ["p0"]]))
    dated = draw(st.booleans())
    day = st.sampled_from(["2021-01-01", "2021-01-02", "2021-01-03"])
    task = task_of(
        [(q, "p0", 1) for q in queries],
        {p: draw(day | st.none()) for p in passages} if dated else passages,
        asked={q: draw(day) for q in queries} if dated else None,
        excluded=draw(st.booleans()),
        candidate=draw(
            st.none() | st.lists(st.booleans(), min_size=len(passages), max_size=len(passages)).map(np.array)
        ),
    )
    table = {
        (q, p): s
        for q in queries
        for p in passages
        if (s := draw(st.sampled_from([None, 0.0, 1.0, 1.5, 2.0]))) is not None
    }
    return task, table, draw(st.integers(1, 11))


@quick
@given(worlds(), st.integers(0, 3))
def test_a_searcher_that_keeps_ties_gives_the_filtered_list_of_a_full_scorer(world: Any, seed: int) -> None:
    task, table, depth = world
    run = retrieve(task, Scripted(table, whole=True), depth=depth, seed=seed)
    assert run.triples() == expected(task, table, depth)
    assert run.counts["cut_ties"] == 0
    assert list(run.queries) == list(task.queries.ids)


@quick
@given(worlds(), st.integers(0, 3))
def test_a_scorer_gives_every_eligible_pair_cut_at_the_depth(world: Any, seed: int) -> None:
    task, table, depth = world
    full = {(q, p): table.get((q, p), 0.0) for q in task.queries.ids for p in task.passages.ids}
    assert retrieve(task, Judge(table), depth=depth, seed=seed).triples() == expected(task, full, depth)


@quick
@given(worlds(), st.integers(0, 3))
def test_a_representer_gives_the_filtered_list_of_a_full_scorer(world: Any, seed: int) -> None:
    task, _, depth = world
    shared = {(q, p): float(n) for q in task.queries.ids for p in task.passages.ids if (n := len(set(q) & set(p)))}
    assert retrieve(task, Letters(), depth=depth, seed=seed).triples() == expected(task, shared, depth)


@quick
@given(worlds(), st.integers(0, 3))
def test_a_searcher_that_cuts_ties_is_exact_but_for_the_lists_it_counts(world: Any, seed: int) -> None:
    task, table, depth = world
    run, exact = retrieve(task, Scripted(table), depth=depth, seed=seed), expected(task, table, depth)
    found = run.triples()
    assert set(found) <= set(exact)
    lists = {
        q: (sorted(s for x, _, s in found if x == q), sorted(s for x, _, s in exact if x == q)) for q in run.queries
    }
    short = sum(len(mine) < len(whole) for mine, whole in lists.values())
    assert short <= run.counts["cut_ties"]
    for mine, whole in lists.values():
        # Only rows that tie with the last one may be missing.
        assert mine[::-1][:depth] == whole[::-1][:depth]
        assert set(mine) == set(whole)


def test_a_tie_across_the_cut_is_counted_and_one_at_the_end_is_not() -> None:
    task = task_of([("q", "a", 1), ("r", "a", 1), ("s", "a", 1)], ["a", "b", "c", "d"])
    tied = {("q", p): 1.0 for p in "abcd"}
    fallen = {("r", p): s for p, s in zip("abcd", (4.0, 3.0, 2.0, 1.0))}
    ended = {("s", "a"): 1.0, ("s", "b"): 1.0}
    run = retrieve(task, Scripted(tied | fallen | ended), depth=2)
    assert run.counts == {"cut_ties": 1}
    assert run.lengths.tolist() == [2, 2, 2]
    assert retrieve(task, Scripted(fallen), depth=2).counts == {"cut_ties": 0}
    assert retrieve(task, Scripted(tied), depth=4).counts == {"cut_ties": 0}
    assert retrieve(task, Scripted(tied, whole=True), depth=2).counts == {"cut_ties": 0}


def test_a_row_that_left_cannot_hide_a_tie_at_the_cut() -> None:
    # Asked for two, the box returns the forbidden x and one of the tied; only a deeper look shows the tie.
    task = task_of([("x", "a", 1)], ["x", "a", "b", "c"], excluded=True)
    table = {("x", "x"): 9.0, ("x", "a"): 1.0, ("x", "b"): 1.0, ("x", "c"): 1.0}
    run = retrieve(task, Scripted(table, whole=True), depth=1)
    assert [p for _, p, _ in run.triples()] == ["c", "b", "a"]
    cutting: list[tuple[int, int]] = []
    run = retrieve(task, Scripted(table, asked=cutting), depth=1)
    assert (run.counts["cut_ties"], len(run)) == (0, 3)
    assert cutting == [(1, 2), (1, 4)]


def test_a_black_box_is_asked_deeper_for_all_queries_so_that_it_cannot_tell_which_lack_rows() -> None:
    names = [f"p{i}" for i in range(16)]
    dates = dict.fromkeys(names, "2022-01-01") | {"p15": "2020-01-01", "p14": "2020-01-01"}
    task = task_of([("old", "p15", 1), ("new", "p0", 1)], dates, asked={"old": "2021-01-01", "new": "2023-01-01"})
    table = {(q, p): 100.0 - i for i, p in enumerate(names) for q in ("old", "new")}
    asked: list[tuple[int, int]] = []
    run = retrieve(task, Scripted(table, asked=asked), depth=2)
    assert run.triples() == [("old", "p14", 86.0), ("old", "p15", 85.0), ("new", "p0", 100.0), ("new", "p1", 99.0)]
    assert asked == [(2, 3), (2, 6), (2, 12), (2, 16)]


def test_case_A01() -> None:
    docs = {"new1": "2024-05-01", "new2": "2024-04-01", "old": "2023-01-01"}
    task = task_of([("q", "old", 1)], docs, asked={"q": "2024-03-01"})
    run = retrieve(task, Scripted({("q", "new1"): 3.0, ("q", "new2"): 2.0, ("q", "old"): 1.0}), depth=2)
    assert run.triples() == [("q", "old", 1.0)]


def test_case_A04() -> None:
    task = task_of([("q", "a", 1)], {"a": "2024-09-30", "b": None}, asked={"q": "2024-10-01"})
    assert retrieve(task, Scripted({("q", "a"): 1.0, ("q", "b"): 2.0})).triples() == [("q", "a", 1.0)]


def test_case_T04() -> None:
    task = task_of([("d1", "d1copy", 1)], ["d1copy", "d1", "d9"], excluded=True)
    table = {("d1", "d1copy"): 1.0, ("d1", "d1"): 1.0, ("d1", "d9"): 0.2}
    for system in (Scripted(table), Scripted(table, whole=True), Judge(table)):
        for seed in range(5):
            assert [p for _, p, _ in retrieve(task, system, depth=2, seed=seed).triples()] == ["d1copy", "d9"]


def test_case_L01() -> None:
    table = {("d1", "d1"): 3.0, ("d1", "d2"): 2.0, ("d1", "d3"): 1.0}
    kept = task_of([("d1", "d2", 1)], ["d1", "d2", "d3"])
    assert retrieve(kept, Scripted(table), depth=2).triples() == [("d1", "d1", 3.0), ("d1", "d2", 2.0)]
    # The list is still two long: the box was asked for more.
    removed = task_of([("d1", "d2", 1)], ["d1", "d2", "d3"], excluded=True)
    assert retrieve(removed, Scripted(table), depth=2).triples() == [("d1", "d2", 2.0), ("d1", "d3", 1.0)]


@quick
@given(worlds(), st.integers(0, 3))
def test_a_composite_of_a_searcher_and_a_representer(world: Any, seed: int) -> None:
    task, table, depth = world
    shared = {(q, p): float(n) for q in task.queries.ids for p in task.passages.ids if (n := len(set(q) & set(p)))}
    summed: dict[tuple[str, str], float] = {}
    for part in (table, shared):
        for q, p, s in expected(task, part, depth):
            summed[q, p] = summed.get((q, p), 0.0) + s
    run = retrieve(task, HouseSum((Scripted(table, whole=True), Letters())), depth=depth, seed=seed)
    assert run.triples() == expected(task, summed, depth)
    assert run.spec["reads"] == ["text:plain"]
    assert run.spec["system"]["parts"][1]["name"] == "letters"


@quick
@given(worlds(), st.integers(0, 3))
def test_a_composite_of_others_is_handed_whole_lists_and_filtered_after(world: Any, seed: int) -> None:
    task, table, depth = world
    found = retrieve(task, Sum((Scripted(table, whole=True),)), depth=depth, seed=seed)
    assert found.triples() == expected(task, table, depth)


def test_notes_of_nested_composites_add_up() -> None:
    task = task_of([("q", "a", 1)], ["a", "b", "c"])
    tied = Scripted({("q", p): 1.0 for p in "abc"})
    run = retrieve(task, HouseSum((HouseSum((tied,)), tied)), depth=1)
    assert run.counts == {"cut_ties": 2, "combined": 2}
    assert retrieve(task, HouseSum((Letters(),)), depth=1).counts == {"cut_ties": 0, "combined": 1}
    assert (
        retrieve(
            task, HouseSum((Scripted(dict.fromkeys([("q", p) for p in "abc"], 1.0), whole=True),), whole=False), depth=1
        ).counts["cut_ties"]
        == 1
    )


@dataclass(frozen=True)
class Everything:
    """A composite that ignores its parts and returns the first rows by text, eligible or not."""

    parts: ClassVar[tuple[Any, ...]] = ()
    name: ClassVar[str] = "everything"
    reads: ClassVar[tuple[str, ...]] = ("text:plain",)

    def combine(self, lists: Any, passages: PassageView, queries: QueryView, *, depth: int) -> RankedRows:
        order = np.argsort(passages.texts["text:plain"].to_list())[:depth]
        return RankedRows.joined([(order, 100.0 - np.arange(len(order)))] * len(queries))


def test_a_composite_that_returns_rows_of_its_own_is_asked_deeper_too() -> None:
    dates = {f"p{i}": "2022-01-01" for i in range(8)} | {"p8": "2020-01-01", "p9": "2020-01-01"}
    task = task_of([("q", "p8", 1)], dates, asked={"q": "2021-01-01"})
    assert [p for _, p, _ in retrieve(task, Everything(), depth=2).triples()] == ["p8", "p9"]


def test_float32_scores_are_widened_and_never_rounded() -> None:
    task = task_of([("q", "a", 1)], ["a", "b"])
    table = {("q", "a"): 0.1, ("q", "b"): 0.1 + 1e-12}
    for system in (Scripted(table, kind=np.float32), Judge(table, kind=np.float32)):
        run = retrieve(task, system, depth=1)
        assert run.score.dtype == np.float64
        assert run.triples() == [("q", "b", float(np.float32(0.1))), ("q", "a", float(np.float32(0.1)))]
    assert [p for _, p, _ in retrieve(task, Judge(table), depth=1).triples()] == ["b"]
    whole = retrieve(task, Judge({("q", "a"): 3.0, ("q", "b"): 4.0}, kind=np.int32), depth=1)
    assert whole.triples() == [("q", "b", 4.0)]


@dataclass(frozen=True)
class Answers:
    """A black box that returns what it is told, whatever it is asked."""

    found: Any
    name: ClassVar[str] = "answers"
    reads: ClassVar[tuple[str, ...]] = ("text:plain",)

    def search(self, passages: PassageView, queries: QueryView, *, depth: int) -> Any:
        return self.found


TWO = task_of([("q", "a", 1), ("r", "a", 1)], ["a", "b", "c"])


def test_python_lists_and_wide_rows_are_taken() -> None:
    run = retrieve(TWO, Answers(RankedRows([0, 1, 3], [0, 1, 2], [2, 1.5, 1])))  # type: ignore[arg-type]
    assert run.score.tolist() in ([2.0, 1.5, 1.0], [1.5, 1.0, 2.0])
    assert run.passage.dtype == np.int32
    assert len(retrieve(TWO, Answers(RankedRows([0, 0, 0], [], [])))) == 0  # type: ignore[arg-type]
    assert len(retrieve(TWO, Answers(RankedRows(np.array([0, 1, 1]), np.array([2], np.uint64), np.ones(1))))) == 1


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (None, "returned NoneType; RankedRows are due"),
        (([0, 0, 0], [], []), "returned tuple"),
        (RankedRows([0, 1], [0], [1.0]), r"2 offsets over 1 rows for 2 lists; 3 are due"),
        (RankedRows([0, 1, 1], [0, 1], [1.0, 1.0]), "3 offsets over 2 rows"),
        (RankedRows([1, 1, 2], [0, 1], [1.0, 1.0]), "3 offsets over 2 rows"),
        (RankedRows([0, 2, 1], [0], [1.0]), "3 offsets over 1 rows"),
        (RankedRows([0, 1.5, 2], [0, 1], [1.0, 1.0]), "offsets must be whole numbers, found float64"),
        (RankedRows([0, 1, 2], [0, 1], [1.0]), "1 scores for 2 rows"),
        (RankedRows([0, 1, 2], [0, 3], [1.0, 1.0]), "row 3 of 3 passages"),
        (RankedRows([0, 1, 2], [0, -1], [1.0, 1.0]), "row -1 of 3 passages"),
        (RankedRows([0, 1, 2], [0, 2**40], [1.0, 1.0]), f"row {2**40} of 3"),
        (RankedRows([0, 1, 2], [0.0, 1.0], [1.0, 1.0]), "rows must be whole numbers, found float64"),
        (RankedRows([0, 2, 2], [1, 1], [1.0, 2.0]), "row 1 twice in the list of query row 0"),
        (RankedRows([0, 1, 2], [0, 1], [1.0, float("nan")]), "1 scores that are not finite"),
        (RankedRows([0, 1, 2], [0, 1], [float("inf"), float("nan")]), "2 scores that are not finite"),
        (RankedRows([0, 1, 2], [0, 1], ["1", "2"]), "scores of type <U1"),
        (RankedRows([0, 1, 2], [0, 1], [2**53 + 1, 1]), r"past 2\*\*53"),
        (RankedRows([0, 1, 2], [[0], [1]], [1.0, 1.0]), "must be one-dimensional"),
        (RankedRows([0, 1, 2], [[0], [1, 2]], [1.0, 1.0]), "not an array of numbers"),
        (RankedRows([0, 1, 2], [0, 1], [1.0, 1.0], exhausted=[True]), "`exhausted` of shape"),
    ],
)
def test_a_broken_contract_is_named(found: Any, message: str) -> None:
    with pytest.raises(ContractError, match=message):
        retrieve(TWO, Answers(found))


@pytest.mark.parametrize("score", [[1.0], np.array([1.0, np.nan, 0.0]), "abc", None, np.ones((3, 1))])
def test_a_scorers_broken_contract_is_named(score: Any) -> None:
    @dataclass(frozen=True)
    class Scores:
        name: ClassVar[str] = "scores"
        reads: ClassVar[tuple[str, ...]] = ()

        def score(self, passages: Any, queries: Any, *, query: Any, passage: Any) -> Any:
            return score

    with pytest.raises(ContractError, match="scores"):
        retrieve(TWO, Scores(), depth=1)


def swapped(**changes: Any) -> Callable[[SparseRows], SparseRows]:
    return lambda rows: replace(rows, **{k: v(rows) if callable(v) else v for k, v in changes.items()})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: None, "SparseRows are due"),
        (swapped(offsets=lambda r: r.offsets[:-1]), "offsets over"),
        (swapped(term=lambda r: r.term + 128), "terms from"),
        (swapped(term=lambda r: r.term - 127), "terms from -"),
        (swapped(term=lambda r: np.full_like(r.term, 97)), None),
        (swapped(weight=lambda r: r.weight * np.nan), "not finite"),
        (swapped(weight=lambda r: r.weight[1:]), "weights of type"),
        (swapped(weight=lambda r: r.weight + 0.1), "not finite float32|whole multiple"),
        (swapped(weight=lambda r: r.weight * np.float32(0.3)), "whole multiple"),
        (swapped(step=3.0, weight=lambda r: r.weight * 3), "no power of 2"),
        (swapped(step=0.0), "no power of 2"),
    ],
)
def test_sparse_rows_that_break_the_contract_are_named(change: Any, message: str | None) -> None:
    task = task_of([("ab", "ab", 1)], ["ab", "ac", "bc"])
    for system in (Letters(rows=change), Letters(encoded=change)):
        with pytest.raises(ContractError, match=message or "twice in a row"):
            retrieve(task, system)


SIGNS = "0123p"


@dataclass(frozen=True)
class Signs:
    """Texts as counts of some signs; `change` breaks what it returns for the passages."""

    change: Any = None
    shared: bool = False
    name: ClassVar[str] = "signs"
    reads: ClassVar[tuple[str, ...]] = ("text:plain",)

    def rows(self, texts: Texts) -> DenseRows:
        made = np.array([[text.count(v) for v in SIGNS] for text in texts.to_list()], np.float32).reshape(
            -1, len(SIGNS)
        )
        if not self.shared:
            return DenseRows(made)
        distinct, place = np.unique(made, axis=0, return_inverse=True)
        return DenseRows(distinct, place.reshape(-1).astype(np.int32))

    def index(self, passages: PassageView) -> Any:
        made = self.rows(passages.texts["text:plain"])
        return Pair(made if self.change is None else self.change(made), self)

    def load(self, folder: Path) -> Any:
        raise NotImplementedError


@dataclass(frozen=True)
class Pair:
    rows: DenseRows
    system: Signs

    def encode(self, queries: QueryView) -> DenseRows:
        return self.system.rows(queries.texts)

    def save(self, folder: Path) -> None:
        raise NotImplementedError


@quick
@given(world=worlds(), seed=st.integers(0, 3), shared=st.booleans())
def test_a_dense_representer_gives_the_filtered_list_of_a_full_scorer(world: Any, seed: int, shared: bool) -> None:
    task, _, depth = world
    texts = (task.passages.texts["plain"].to_list(), task.queries.texts["plain"].to_list())
    counts = [np.array([[text.count(v) for v in SIGNS] for text in side]).reshape(-1, len(SIGNS)) for side in texts]
    table = {(q, p): float(counts[1][i] @ counts[0][j]) for i, q in enumerate(texts[1]) for j, p in enumerate(texts[0])}
    run = retrieve(task, Signs(shared=shared), depth=depth, seed=seed)
    assert run.triples() == expected(task, table, depth)
    assert "cut_ties" not in run.counts


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: DenseRows(rows.matrix.astype(np.float64)), "float64 of shape"),
        (lambda rows: DenseRows(rows.matrix[0]), "float32 of shape"),
        (lambda rows: DenseRows(rows.matrix[:1]), "1 vectors for 3 rows"),
        (lambda rows: DenseRows(rows.matrix[:, :4]), "5 dimensions for passages of 4"),
        (lambda rows: DenseRows(rows.matrix, np.array([0, 1, 3], np.int32)), "places from 0 to 3 of 3"),
        (lambda rows: DenseRows(rows.matrix + np.float32(np.nan)), "NaN or infinite"),
        (lambda rows: letters(Texts.of(["a", "b", "c"])), "sparse rows for one side and dense"),
    ],
)
def test_dense_rows_that_break_the_contract_are_named(change: Any, message: str) -> None:
    with pytest.raises(ContractError, match=message):
        retrieve(TWO, Signs(change=change))


def test_what_is_no_system_is_refused() -> None:
    @dataclass(frozen=True)
    class Idle:
        name: ClassVar[str] = "idle"
        reads: ClassVar[tuple[str, ...]] = ()

    with pytest.raises(UsageError, match="of no kind"):
        retrieve(TWO, Idle())
    with pytest.raises(UsageError, match="int is no system"):
        retrieve(TWO, 25)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no system 'bm52'"):
        retrieve(TWO, "bm52")
    with pytest.raises(UsageError, match="tuple of views"):
        retrieve(TWO, Letters(reads="text:plain"))  # type: ignore[arg-type]


@pytest.mark.parametrize(("depth", "seed"), [(0, 0), (-1, 0), (5, -1)])
def test_depth_and_seed_have_bounds(depth: int, seed: int) -> None:
    with pytest.raises(UsageError, match="depth must be at least 1 and seed at least 0"):
        retrieve(TWO, Letters(), depth=depth, seed=seed)


def test_views_are_checked_for_parts_too_and_before_anything_runs() -> None:
    built: list[int] = []
    with pytest.raises(
        ViewError, match=r"letters reads the view 'title', which task tiny does not allow; allowed: text:plain"
    ):
        retrieve(TWO, Sum((Letters(built=built), Letters(reads=("title",)))))
    with pytest.raises(ViewError, match="'text:ids', which is no view"):
        retrieve(TWO, Letters(reads=("text:ids",)))
    with pytest.raises(ViewError, match="which the passages of tiny do not have"):
        retrieve(replace(TWO, views=("text:plain", "position")), Letters(reads=("text:plain", "position")))
    assert built == []


def test_no_passages_and_no_queries_are_empty_runs() -> None:
    bare = task_of([("q", "a", 1)], [])
    nobody = task_of([("q", "a", 1)], ["a"], queries=[])
    fails = Answers(None)
    for system in (fails, Letters(), Judge({}), Sum((fails, Letters()))):
        run = retrieve(bare, system)
        assert (list(run.queries), len(run)) == (["q"], 0)
        run = retrieve(nobody, system)
        assert (list(run.queries), len(run)) == ([], 0)
        with pytest.raises(ViewError):
            retrieve(replace(bare, views=()), Letters())


def test_depth_past_the_collection_and_none_eligible() -> None:
    task = task_of([("q", "a", 1)], {"a": "2022-01-01", "b": None}, asked={"q": "2021-01-01"})
    table = {("q", "a"): 1.0, ("q", "b"): 2.0}
    for system in (Scripted(table), Scripted(table, whole=True), Judge(table), Letters(), Sum((Scripted(table),))):
        assert len(retrieve(task, system, depth=1000)) == 0
    assert len(retrieve(TWO, Scripted({("q", p): 1.0 for p in "abc"}), depth=1000)) == 3


def test_a_list_that_is_said_to_be_exhausted_is_not_asked_deeper() -> None:
    task = task_of(
        [("q", "a", 1)], {"a": "2022-01-01", "b": "2020-01-01", "c": "2022-01-01"}, asked={"q": "2021-01-01"}
    )
    calls: list[int] = []

    @dataclass(frozen=True)
    class Ends:
        name: ClassVar[str] = "ends"
        reads: ClassVar[tuple[str, ...]] = ()

        def search(self, passages: PassageView, queries: QueryView, *, depth: int) -> RankedRows:
            calls.append(depth)
            return RankedRows.joined([(np.arange(2), np.ones(2))], exhausted=np.ones(1, bool))

    run = retrieve(task, Ends(), depth=1)
    assert calls == [2]
    assert run.counts["cut_ties"] == 0


def test_queries_keep_the_order_of_the_qrels_whatever_the_seed() -> None:
    task = dated_task()
    runs = [retrieve(task, Letters(), depth=4, seed=seed) for seed in range(6)]
    assert all(list(run.queries) == list(task.qrels.queries) for run in runs)
    assert all(run.triples() == runs[0].triples() for run in runs)
    assert {run.spec["seed"] for run in runs} == set(range(6))


def test_small_blocks_give_the_same_run(monkeypatch: pytest.MonkeyPatch) -> None:
    task = dated_task()
    table = {
        (q, p): float((i * 7 + j * 3) % 5)
        for i, q in enumerate(task.queries.texts["plain"])
        for j, p in enumerate(task.passages.texts["plain"])
    }
    for system in (Scripted(table, whole=True), Scripted(table), Sum((Scripted(table, whole=True), Letters()))):
        whole = retrieve(task, system, depth=3)
        monkeypatch.setattr(assay.deepening, "ROWS_AT_ONCE", 8)
        assert retrieve(task, system, depth=3).triples() == whole.triples()
        monkeypatch.undo()


@dataclass(frozen=True)
class Kept:
    """A representer whose index is kept: it writes its letters and counts how often it is built."""

    built: Any
    reads: tuple[str, ...] = ("text:plain",)
    name: ClassVar[str] = "kept"

    def index(self, passages: PassageView) -> Held:
        self.built.append("index")
        texts = passages.texts["text:plain"]
        return Held(letters(texts), lambda q: letters(q.texts), json.dumps(texts.to_list()).encode())

    def load(self, folder: Path) -> Held:
        self.built.append("load")
        return Held(letters(Texts.of(json.loads((folder / "texts").read_bytes()))), lambda q: letters(q.texts))


class Log(list[str]):
    """A list that a spec cannot see into."""

    def __iter__(self) -> Any:
        return iter(())


def test_indexes_are_kept_and_found_again_and_differ_where_a_view_does(tmp_path: Path) -> None:
    task = chunk_task()
    system = Kept(Log())
    first = retrieve(task, system, indexes=tmp_path)
    again = retrieve(task, system, indexes=tmp_path)
    assert system.built == ["index", "load"]
    assert first.triples() == again.triples() == retrieve(task, Letters()).triples()
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]

    placed = Kept(Log(), ("text:plain", "position"))
    retrieve(task, placed, indexes=tmp_path)
    moved = replace(task, passages=replace(task.passages, position=task.passages.position[::-1].copy()))
    retrieve(moved, placed, indexes=tmp_path)
    assert placed.built == ["index", "index"]
    assert len(list(tmp_path.iterdir())) == 3


def test_an_index_that_cannot_be_kept_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    class Broken(Held):
        def save(self, folder: Path) -> None:
            (folder / "half").write_text("x")
            raise OSError("disk full")

    @dataclass(frozen=True)
    class Fails(Letters):
        def index(self, passages: PassageView) -> Held:
            made = super().index(passages)
            return Broken(made.rows, made.encoded)

    with pytest.raises(OSError, match="disk full"):
        retrieve(TWO, Fails(), indexes=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_links_lead_to_the_questions_and_hold_no_others() -> None:
    task, seen = dated_task(), {}

    @dataclass(frozen=True)
    class Linked:
        name: ClassVar[str] = "linked"
        reads: ClassVar[tuple[str, ...]] = ("text:plain", "link:question")

        def search(self, passages: PassageView, queries: QueryView, *, depth: int) -> RankedRows:
            links = passages.links
            for row, text in enumerate(passages.texts["text:plain"]):
                own = links.target[links.offsets[row] : links.offsets[row + 1]]
                seen[text] = [links.texts[int(i)] for i in own]
            seen["all"] = sorted(links.texts)
            return RankedRows.joined([(np.zeros(0, np.int32), np.zeros(0))] * len(queries))

    retrieve(task, Linked(), seed=3)
    questions = dict(zip(task.pool.ids, task.pool.texts["plain"]))
    assert all(seen[text] == ([] if q is None else [questions[q]]) for _, _, text, q in ANSWERS)
    assert seen["all"] == sorted(questions.values())
    fewer = replace(task.passages, link_query=np.zeros_like(task.passages.link_query))
    retrieve(replace(task, passages=fewer), Linked())
    assert seen["all"] == [questions["q01"]]


def test_views_say_what_the_collection_says_row_by_row() -> None:
    task, seen = chunk_task(), {}

    @dataclass(frozen=True)
    class Looks:
        name: ClassVar[str] = "looks"
        reads: ClassVar[tuple[str, ...]] = ("text:plain", "title", "parent", "position", "span")

        def search(self, passages: PassageView, queries: QueryView, *, depth: int) -> RankedRows:
            for row, text in enumerate(passages.texts["text:plain"]):
                start, end = passages.span[row].tolist()
                seen[text] = (
                    passages.texts["title"][row],
                    int(passages.position[row]),
                    start,
                    end,
                    int(passages.parent[row]),
                )
            return RankedRows.joined([(np.zeros(0, np.int32), np.zeros(0))] * len(queries))

    retrieve(task, Looks(), seed=5)
    columns, codes = task.passages, {}
    for code, text in enumerate(columns.texts["plain"]):
        document = int(columns.spans.document[code])
        title, position, start, end, opaque = seen[text]
        assert (title, position) == (columns.titles[document], int(columns.position[code]))
        assert (start, end) == (int(columns.spans.start[code]), int(columns.spans.end[code]))
        assert codes.setdefault(document, opaque) == opaque
    assert len(set(codes.values())) == len(codes) == 5


def test_the_query_view_of_the_task_is_what_systems_read() -> None:
    pool = Queries(Ids.of(["q"]), {"plain": Texts.of(["zzz"]), "raw": Texts.of(["a"])})
    task = replace(task_of([("q", "a", 1)], ["a", "b"]), pool=pool, query_view="raw")
    assert retrieve(task, Letters()).triples() == [("q", "a", 1.0)]


@quick
@given(worlds())
@example((task_of([("q", "a", 1)], ["a"]), {("q", "a"): 1.0}, 1))
def test_a_run_is_a_run(world: Any) -> None:
    task, table, depth = world
    run = retrieve(task, Scripted(table, whole=True), depth=depth)
    again = Run.of(run.triples())
    assert again.triples() == run.triples()
    assert run.depth == depth
    assert run.cut().lengths.tolist() == np.minimum(np.diff(run.offsets), depth).tolist()
