"""Blindness: systems that look for the answers find nothing, and cannot change what they were given."""

from __future__ import annotations

import gc
import json
import shlex
import sys
import types
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import assay
from assay.eligibility import Eligibility
from assay.errors import ViewError
from assay.evaluation import evaluate, mean_interval, random_expectation
from assay.formats import jsonl
from assay.fragment import Fragments
from assay.harness import retrieve
from assay.ids import Ids
from assay.measures import parse
from assay.passage import Passages
from assay.qrels import Qrels
from assay.query import Queries
from assay.run import Run
from assay.sources import open_collection
from assay.system import VIEWS, PassageView, QueryView, RankedRows, SparseRows
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


# ---------------------------------------------------------------- what a question-level collection must not show

SECRET_DAYS = ("2037-03-04", "2038-05-06", "2039-07-08")
"""Days whose numbers are larger than any other number in so small a collection."""


def secret(kind: str, row: int) -> str:
    return f"zq{kind}{row}qz"


SECRETS_OF_ROWS = ("id", "header", "subject", "raw", "url", "split", "answer", "own", "author")


@pytest.fixture
def planted_task(tmp_path: Path) -> Task:
    """Three questions and replies with a planted word in every column that no system may see."""
    rows = range(3)
    jsonl.write_rows(
        [
            {
                "_id": secret("answer", row),
                "text": f"The reply speaks of buses {row}.",
                "raw_text": secret("raw", row),
                "date": SECRET_DAYS[row],
                "answers": [secret("id", row), *([secret("id", 0)] if row == 2 else [])],
                "header": secret("header", row),
                "source_url": secret("url", row),
            }
            for row in rows
        ],
        tmp_path / "corpus.jsonl",
    )
    jsonl.write_rows(
        [
            {
                "_id": secret("id", row),
                "text": f"What of buses {row}?",
                "raw_text": secret("raw", row + 3),
                "subject": secret("subject", row),
                "date": SECRET_DAYS[row],
                "answer": secret("answer", row),
                "header": secret("header", row + 3),
                "source_url": secret("url", row + 3),
                "author": secret("author", row),
                "split": secret("split", row),
                "joint_size": 987654321,
            }
            for row in rows
        ],
        tmp_path / "queries.jsonl",
    )
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "precedent_test.tsv").write_text(
        "".join(f"{secret('id', row)} 0 {secret('answer', row - 1)} 1\n" for row in (1, 2))
    )
    return open_collection(tmp_path).task("precedent")


@dataclass(frozen=True)
class SpyLens:
    """Keeps all that it is handed, and shows it on."""

    seen: list[Any]
    system: Any
    reads: tuple[str, ...]
    name: ClassVar[str] = "spy-lens"

    def shown(self, passages: PassageView) -> Any:
        self.seen.append(passages)
        return passages, None


@dataclass(frozen=True)
class SpyIndex:
    """Every row holds one term."""

    seen: list[Any]
    rows: SparseRows

    def encode(self, queries: QueryView) -> SparseRows:
        self.seen.append(queries)
        return one_term(len(queries))

    def save(self, folder: Path) -> None:
        raise NotImplementedError


def one_term(size: int) -> SparseRows:
    return SparseRows(np.arange(size + 1), np.zeros(size, np.int32), np.ones(size, np.float32), 1)


@dataclass(frozen=True)
class SpyRepresenter:
    """Keeps all that it is handed, as a representer."""

    seen: list[Any]
    reads: tuple[str, ...]
    name: ClassVar[str] = "spy-representer"

    def index(self, passages: PassageView) -> SpyIndex:
        self.seen.append(passages)
        return SpyIndex(self.seen, one_term(len(passages)))

    def load(self, folder: Path) -> SpyIndex:
        raise NotImplementedError


def planted_in(things: list[Any]) -> set[str]:
    """Planted words, days and numbers among texts, bytes, arrays and numbers."""
    words = [secret(kind, row) for kind in SECRETS_OF_ROWS for row in range(6)] + list(SECRET_DAYS)
    numbers = {987654321, *(int(np.datetime64(day).astype(int)) for day in SECRET_DAYS)}
    found = set()
    for thing in things:
        if isinstance(thing, np.ndarray) and thing.dtype.kind in "iuf":
            found |= {str(n) for n in numbers if (thing == n).any()}
        if isinstance(thing, int) and thing in numbers:
            found.add(str(thing))
        whole = thing.tobytes() if isinstance(thing, np.ndarray) else thing
        whole = whole.encode() if isinstance(whole, str) else whole
        if isinstance(whole, bytes | bytearray):
            found |= {word for word in words if word.encode() in whole}
    return found


def test_the_planted_words_are_in_the_collection(planted_task: Task) -> None:
    # Else not to find them would say nothing.
    found = planted_in(list(reachable(planted_task)))
    kinds = {kind for kind in SECRETS_OF_ROWS if any(secret(kind, row) in found for row in range(6))}
    assert kinds == {*SECRETS_OF_ROWS} - {"own"}
    assert {str(int(np.datetime64(day).astype(int))) for day in SECRET_DAYS} <= {
        str(int(x)) for x in np.asarray(planted_task.passages.dates).astype(int)
    }


def test_no_planted_word_is_reachable_from_what_any_kind_of_system_gets(planted_task: Task) -> None:
    views, seen = ("text:plain", "link:question"), []
    spy = Spy(seen, views)
    matching = assay.system_of("question_matching(bm25)")
    for system in (
        spy,
        SpyScorer(seen, views),
        SpyRepresenter(seen, views),
        SpyComposite(seen, views, (spy, SpyRepresenter(seen, views))),
        SpyLens(seen, spy, views),
        SpyLens(seen, matching, views),
        replace(matching, system=Spy(seen, ("text:plain",))),
        replace(matching, system=SpyRepresenter(seen, ("text:plain",))),
    ):
        retrieve(planted_task, system, depth=2)
    things = list(reachable(seen))
    assert len(seen) > 15
    assert planted_in(things) == set()
    # Nothing that could be called or looked into for more: no function, closure, frame or generator.
    running = (types.FunctionType, types.CellType, types.FrameType, types.GeneratorType, types.MethodType)
    held = [x for thing in things for x in gc.get_referents(thing) if not isinstance(thing, type)]
    assert not [x for x in held if isinstance(x, running)]


def test_a_program_finds_no_planted_word_in_all_that_it_can_read(planted_task: Task, tmp_path: Path) -> None:
    script, told = tmp_path / "look.py", tmp_path / "told.json"
    script.write_text(
        "import glob, json, os, sys\n"
        "files = [open(f, encoding='utf-8').read() for f in sys.argv[1:3]]\n"
        "here = [(f, open(f, encoding='utf-8').read()) for f in glob.glob('**', recursive=True) if os.path.isfile(f)]\n"
        f"json.dump([sys.argv, dict(os.environ), files, here, sys.stdin.read()], open({str(told)!r}, 'w'))\n"
        "open(sys.argv[4], 'w').write('')\n"
    )
    line = f"{shlex.quote(sys.executable)} -S {shlex.quote(str(script))} {{passages}} {{queries}} {{depth}} {{run}}"
    for call, word in ((f"command({line!r})", "reply"), (f"question_matching(command({line!r}))", "What of")):
        retrieve(planted_task, call)
        assert word in told.read_text()
        assert planted_in([told.read_text()]) == set()
        assert len(json.loads(told.read_text())) == 5


# ---------------------------------------------------------------- adversaries that guess


@dataclass(frozen=True)
class Coarse:
    """Gives all passages one score, so that ids alone order them."""

    name: ClassVar[str] = "coarse"
    reads: ClassVar[tuple[str, ...]] = ()

    def search(self, passages: PassageView, queries: QueryView, *, depth: int) -> RankedRows:
        rows = np.arange(len(passages))
        return RankedRows.joined([(rows, np.ones(len(rows)))] * len(queries), whole_ties=True)


@dataclass(frozen=True)
class LinkOrder:
    """Ranks by the rows of the linked questions, lowest first, or by the first of them as they come."""

    first: bool
    name: ClassVar[str] = "link-order"
    reads: ClassVar[tuple[str, ...]] = ("link:question",)

    def search(self, passages: PassageView, queries: QueryView, *, depth: int) -> RankedRows:
        links = passages.links
        assert links is not None
        score = np.full(len(passages), -1e6)
        for row in range(len(passages)):
            own = links.target[links.offsets[row] : links.offsets[row + 1]]
            if len(own):
                score[row] = -float(own[0] if self.first else own.max())
        return RankedRows.joined([(np.arange(len(passages)), score)] * len(queries))


@dataclass(frozen=True)
class Remembering:
    """Shows chance lists first and remembers who is asked for again: what stood in those lists is new.

    Asked deeper, it ranks the newest first; the house takes what is too new away. It knows queries by their texts,
    and keeps what it learns over calls, depths and runs.
    """

    seed: int
    known: dict[str, Any] = field(default_factory=lambda: {"depth": 1 << 30, "shown": Counter(), "again": Counter()})
    name: ClassVar[str] = "remembering"
    reads: ClassVar[tuple[str, ...]] = ("text:plain",)

    def search(self, passages: PassageView, queries: QueryView, *, depth: int) -> RankedRows:
        texts, asked, known = passages.texts["text:plain"].to_list(), queries.texts.to_list(), self.known
        random = np.random.default_rng([self.seed, depth, sum(known["shown"].values())])
        if depth <= known["depth"]:
            score = random.random((len(asked), len(texts)))
            known["lists"] = {q: [texts[r] for r in np.argsort(-own)[:depth]] for q, own in zip(asked, score)}
        else:
            for query, listed in known.pop("lists", {}).items():
                known["shown"].update(listed)
                known["again"].update(listed if query in asked else ())
            newness = np.array([known["again"][t] / known["shown"][t] if known["shown"][t] else 1.0 for t in texts])
            score = newness + 1e-6 * random.random((len(asked), len(texts)))
        known["depth"] = depth
        rows = np.argsort(-score)[:, :depth]
        return RankedRows.joined([(own, scores[own]) for own, scores in zip(rows, score)])


@dataclass(frozen=True)
class Counting:
    """A composite that counts in how many lists a passage is: what is in few of them is new."""

    parts: ClassVar[tuple[Any, ...]] = (Coarse(),)
    name: ClassVar[str] = "counting"
    reads: ClassVar[tuple[str, ...]] = ()

    def combine(self, lists: Any, passages: PassageView, queries: QueryView, *, depth: int) -> RankedRows:
        seen = np.bincount(lists[0].row, minlength=len(passages))
        return replace(lists[0], score=-seen[lists[0].row].astype(np.float64))


@cache
def newest_first() -> Task:
    """Sixty replies on sixty days, linked to a question each; the newest reply that a query may have is right."""
    passages = {f"p{i:02}": str(np.datetime64("2021-01-01") + i) for i in range(60)}
    asked = {f"q{i:03}": str(np.datetime64("2021-01-11") + i // 4) for i in range(200)}
    gold = [
        (q, f"p{(np.datetime64(day) - np.datetime64('2021-01-01')).astype(int) - 1:02}", 1) for q, day in asked.items()
    ]
    task = task_of(gold, passages, asked=asked, views=("text:plain", "link:question"))
    links = replace(task.passages, link_offsets=np.arange(61), link_query=np.arange(60, dtype=np.int32))
    return replace(task, passages=links)


def at_chance(task: Task, systems: Any, *, measure: str, depth: int, seeds: int) -> tuple[float, float, float]:
    """Low end, exact expectation of a random run, and high end of the mean over seeds (99.9 %)."""
    found = [
        evaluate(retrieve(task, systems(seed), depth=depth, seed=seed), task.qrels, [measure], resamples=1)[0].mean
        for seed in range(seeds)
    ]
    chance = float(random_expectation(task, parse(measure), depth=depth).mean())
    interval = mean_interval(np.array(found), level=0.999, resamples=2000, seed=0, method="percentile")
    return interval.low, chance, interval.high


GUESSERS: dict[str, Any] = {
    "row": lambda seed: First(1.0),
    "last row": lambda seed: First(-1.0),
    "same row": lambda seed: Diagonal(),
    "seed": Unshuffler,
    "first link": lambda seed: LinkOrder(True),
    "last link": lambda seed: LinkOrder(False),
    "asked again": Remembering,
    "in few lists": lambda seed: Counting(),
}
BY_ROW = [name for name in GUESSERS if name != "in few lists"]


@pytest.mark.parametrize("name", BY_ROW)
def test_no_guess_from_what_is_handed_out_beats_chance(name: str) -> None:
    low, chance, high = at_chance(newest_first(), GUESSERS[name], measure="RR", depth=10, seeds=40)
    assert low <= chance <= high
    assert high - low < 0.12


def test_a_guess_from_lists_is_a_tie_throughout() -> None:
    # Were lists handed out without what is too new, this would be right for every query.
    task = newest_first()
    [scores] = evaluate(retrieve(task, Counting(), depth=60), task.qrels, ["RR"], resamples=1)
    assert scores.expected == pytest.approx(random_expectation(task, parse("RR"), depth=60))


def test_what_is_learnt_from_being_asked_again_is_worth_nothing() -> None:
    # Were queries that lack rows asked for again alone, this would be right more than twice as often as chance.
    task, found = newest_first(), []
    for seed in range(20):
        learner = Remembering(seed)
        for depth in (3, 2, 1, 1, 1):
            run = retrieve(task, learner, depth=depth, seed=seed)
        found.append(evaluate(run, task.qrels, ["RR"], resamples=1)[0].mean)
    chance = float(random_expectation(task, parse("RR"), depth=1).mean())
    interval = mean_interval(np.array(found), level=0.999, resamples=2000, seed=0, method="percentile")
    assert interval.low <= chance <= interval.high


@cache
def demo_task(name: str) -> Task:
    return open_collection("demo:questions").task(name, split="all")


@pytest.mark.parametrize("task", ["precedent", "cite", "citehc"])
@pytest.mark.parametrize("name", BY_ROW)
def test_no_guess_beats_chance_on_the_demo(task: str, name: str) -> None:
    low, chance, high = at_chance(demo_task(task), GUESSERS[name], measure="RR", depth=100, seeds=30)
    assert low <= chance <= high


@pytest.mark.parametrize("task", ["answer", "precedent", "cite", "citehc"])
def test_coarse_scores_gain_nothing_but_the_order_of_ids_which_is_shown(task: str) -> None:
    asked = demo_task(task)
    refuse_gain_by_ties(asked)


def refuse_gain_by_ties(task: Task) -> None:
    """One score for all: the expectation over ties is chance, exactly, and best and worst say how far ids could go."""
    run = retrieve(task, Coarse(), depth=100)
    for scores in evaluate(run, task.qrels, ["RR@10", "R@10", "nDCG@10"], resamples=1):
        chance = random_expectation(task, parse(scores.measure))
        assert scores.expected == pytest.approx(chance, abs=1e-9)
        assert (scores.worst <= chance + 1e-9).all()
        assert (scores.best >= chance - 1e-9).all()
        assert scores.counts.ties > 0
        assert scores.extras["mean_expected"] == pytest.approx(chance.mean())


UK = "uk_written_questions/session_2023-24"


@pytest.mark.parametrize("name", BY_ROW)
def test_no_guess_beats_chance_on_uk_questions(shared_data: Path, name: str) -> None:
    task = assay.open(shared_data / UK).task("followup", split="all")
    low, chance, high = at_chance(task, GUESSERS[name], measure="R@100", depth=100, seeds=12)
    assert low <= chance <= high


@pytest.mark.parametrize("name", ["cite", "followup"])
def test_coarse_scores_on_uk_questions(shared_data: Path, name: str) -> None:
    refuse_gain_by_ties(assay.open(shared_data / UK).task(name, split="all"))
