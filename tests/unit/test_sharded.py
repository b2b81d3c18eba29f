"""Sharded search and gold: the same bytes as in one piece, whatever the plan."""

from __future__ import annotations

import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay import catalog
from assay.building.gold import project
from assay.building.gold_shards import project_sharded
from assay.eligibility import Eligibility
from assay.errors import ContractError, UsageError
from assay.executor import Work
from assay.fragment import Fragments
from assay.harness import retrieve
from assay.ids import Ids
from assay.passage import Passages
from assay.retrieval.bm25 import BM25, VARIANTS
from assay.retrieval.cross_encoder import CrossEncoder
from assay.retrieval.rerank import Rerank
from assay.run import Run
from assay.searching import best_rows
from assay.sharded import made_of, merged, plain_of, sharded_rows
from assay.span import Spans
from assay.system import DenseRows, PassageView, QueryView, RankedRows
from assay.task import Task
from assay.texts import Texts
from neural import cross_encoder_folder
from pair_model import WordPairs, pair_model_folder
from shard_work import ByText, Here, Unweighted, Vectors
from tiny import chunk_task, dated_task

WORDS = st.lists(st.sampled_from(["fee", "tax", "Tax", "visa", "日本語", "ferry", "the"]), max_size=8).map(" ".join)
PLAN = settings(max_examples=12, deadline=None)


def by_row(found: RankedRows) -> list[list[tuple[int, float]]]:
    """Each list by row: lists have no order of their own."""
    return [sorted(zip(*(a.tolist() for a in found[q]))) for q in range(len(found))]


def same(one: Run, other: Run) -> bool:
    columns = ("offsets", "passage", "score")
    return all(getattr(one, c).tobytes() == getattr(other, c).tobytes() for c in columns) and (
        (one.spec, one.counts, one.name, one.depth) == (other.spec, other.counts, other.name, other.depth)
    )


@st.composite
def rules(draw: st.DrawFn, passages: int, queries: int) -> Eligibility:
    """Any rule over so many rows."""

    def column(of: st.SearchStrategy[Any], size: int, kind: Any) -> np.ndarray:
        return np.array(draw(st.lists(of, min_size=size, max_size=size)), kind)

    rule = Eligibility(passages, queries)
    if draw(st.booleans()):
        rank, cutoff = (column(st.integers(0, 3), size, np.int32) for size in (passages, queries))
        rule = replace(rule, rank=rank, cutoff=cutoff)
    if draw(st.booleans()):
        rule = rule.only(column(st.booleans(), passages, np.bool_))
    if passages and draw(st.booleans()):
        sets = [sorted(draw(st.sets(st.integers(0, passages - 1), max_size=3))) for _ in range(queries)]
        flat = np.array([row for own in sets for row in own], np.int32)
        rule = rule.without(np.concatenate([[0], np.cumsum([len(own) for own in sets])]).astype(np.int64), flat)
    return rule


@st.composite
def loads(draw: st.DrawFn) -> tuple[PassageView, QueryView, Eligibility]:
    passages, queries = (draw(st.lists(WORDS, min_size=1, max_size=size)) for size in (14, 4))
    view = PassageView(len(passages), {"text:plain": Texts.of(passages)}, mask=draw(st.sampled_from([(), ("visa",)])))
    return view, QueryView(Texts.of(queries), view.mask), draw(rules(len(passages), len(queries)))


@PLAN
@given(loads(), st.integers(1, 6), st.integers(1, 20), st.sampled_from(sorted(VARIANTS)))
def test_bm25_over_any_number_of_shards(load: Any, depth: int, shards: int, variant: str) -> None:
    view, queries, rule = load
    system = BM25(variant=variant)
    index = system.index(view)
    whole = best_rows(index.rows, index.encode(queries), rule, depth=depth, name="bm25")
    with tempfile.TemporaryDirectory() as folder:
        found = sharded_rows(system, view, queries, rule, depth=depth, work=Work(Path(folder), Here(), shards))
    assert by_row(found) == by_row(whole)
    assert found.whole_ties


@PLAN
@given(loads(), st.integers(1, 6), st.integers(1, 20))
def test_dense_over_any_number_of_shards(load: Any, depth: int, shards: int) -> None:
    view, queries, rule = load
    system = Vectors()
    index = system.index(view)
    whole = best_rows(index.rows, index.encode(queries), rule, depth=depth, name="vectors")
    with tempfile.TemporaryDirectory() as folder:
        found = sharded_rows(system, view, queries, rule, depth=depth, work=Work(Path(folder), Here(), shards))
    assert by_row(found) == by_row(whole)


@settings(max_examples=60, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=12), st.data(), st.sampled_from(sorted(VARIANTS)))
def test_weights_of_any_parts_have_the_bits_of_the_whole(texts: list[str], data: Any, variant: str) -> None:
    system = BM25(variant=variant)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(texts)), max_size=4)))
    parts = [texts[low:high] for low, high in zip([0, *cuts], [*cuts, len(texts)])]
    counted = [system.counted(PassageView(len(p), {"text:plain": Texts.of(p)}), threads=1) for p in parts]
    sums = system.merged(counted)

    def weights(index: Any) -> list[dict[str, bytes]]:
        rows, words = index.rows, index.vocabulary.to_list()
        spans = zip(rows.offsets[:-1], rows.offsets[1:])
        return [{words[rows.term[i]]: rows.weight[i].tobytes() for i in range(a, b)} for a, b in spans]

    found = [row for part in counted for row in weights(system.weighted(part, sums))]
    assert found == weights(system.index(PassageView(len(texts), {"text:plain": Texts.of(texts)})))


@given(st.lists(st.lists(st.integers(0, 5), max_size=6), min_size=1, max_size=5), st.integers(1, 4))
def test_the_best_of_parts_are_the_best_of_all(parts: list[list[int]], depth: int) -> None:
    start = np.concatenate([[0], np.cumsum([len(p) for p in parts])])
    lists = [
        RankedRows.joined([(np.arange(low, low + len(p)), np.array(p, float)), (np.arange(0), np.zeros(0))])
        for low, p in zip(start, parts)
    ]
    everything = [score for part in parts for score in part]
    least = sorted(everything, reverse=True)[:depth][-1:] or [0]
    wanted = [(row, score) for row, score in enumerate(everything) if score >= least[0]]
    assert by_row(merged(iter(lists), depth=depth)) == [wanted, []]


def test_no_lists_are_refused() -> None:
    with pytest.raises(ContractError, match="no lists to merge"):
        merged([], depth=1)


@settings(deadline=None)
@given(st.data(), st.integers(0, 9), st.integers(1, 4))
def test_a_rule_between_two_rows(data: Any, passages: int, queries: int) -> None:
    rule = data.draw(rules(passages, queries))
    low = data.draw(st.integers(0, passages))
    high = data.draw(st.integers(low, passages))
    part = rule.between(low, high)
    assert (part.passages, part.queries) == (high - low, queries)
    for query in range(queries):
        assert part.mask(query).tolist() == rule.mask(query)[low:high].tolist()


SYSTEMS = [
    (chunk_task, "bm25"),
    (chunk_task, "titled(bm25('english'))"),
    (chunk_task, "neighbours(bm25)"),
    (chunk_task, "documents(bm25)"),
    (chunk_task, "fusion(bm25, titled(bm25), documents(bm25))"),
    (chunk_task, "hierarchy(documents(bm25), bm25, depth=2)"),
    (dated_task, "bm25(variant='bm25+', k1=0.9)"),
    (dated_task, "question_matching(bm25)"),
    (dated_task, "fusion(bm25, question_matching(bm25))"),
]


@pytest.mark.parametrize(("made", "call"), SYSTEMS, ids=[call for _, call in SYSTEMS])
def test_any_system_around_representers_gives_the_same_run(made: Any, call: str, tmp_path: Path) -> None:
    task = made()
    for shards in (1, 3):
        for seed in (0, 5):
            whole = retrieve(task, call, seed=seed)
            run = retrieve(task, call, seed=seed, work=Work(tmp_path / str(shards), Here(), shards))
            assert same(whole, run)


def test_a_dense_system_gives_the_same_run_and_keeps_vectors(tmp_path: Path) -> None:
    task = dated_task()
    work = Work(tmp_path, Here(), 4)
    assert same(retrieve(task, Vectors(), depth=3), retrieve(task, Vectors(), depth=3, work=work))
    [stores] = tmp_path.glob("vectors-*/made")
    kept = {path: path.read_bytes() for path in stores.rglob("*.npy")}
    assert len(kept) == 4
    assert same(retrieve(task, Vectors(), depth=5), retrieve(task, Vectors(), depth=5, work=work))
    assert {path: path.read_bytes() for path in stores.rglob("*.npy")} == kept


def test_a_sparse_system_that_works_text_by_text_gives_the_same_run(tmp_path: Path) -> None:
    task = chunk_task()
    work = Work(tmp_path, Here(), 3)
    assert same(retrieve(task, ByText(), depth=4), retrieve(task, ByText(), depth=4, work=work))


def test_what_is_counted_serves_every_depth(tmp_path: Path) -> None:
    work = Work(tmp_path, Here(), 2)
    for depth in (2, 3):
        retrieve(chunk_task(), "bm25", depth=depth, work=work)
    assert [note.partition(" of them")[0] for note in work.notes] == [
        "bm25, counts: 2 shards, 2",
        "bm25, lists: 2 shards, 2",
        "bm25, counts: 2 shards, 0",
        "bm25, lists: 2 shards, 2",
    ]


def test_files_of_shards_hold_no_ids_and_no_dates(tmp_path: Path) -> None:
    task = dated_task()
    retrieve(task, "bm25", work=Work(tmp_path, Here(), 2))
    names: set[str] = set()
    for path in tmp_path.rglob("*.npz"):
        with path.open("rb") as stream, np.load(stream) as file:
            names |= set(file.files)
    assert names == {
        *("mask/bytes", "mask/offsets", "text:plain/bytes", "text:plain/offsets", "queries/bytes", "queries/offsets"),
        *("words", "word_offsets", "holders", "lengths", "offsets", "term", "count", "row", "score", "said"),
        *("sums/words", "sums/word_offsets", "sums/rarity", "sums/totals", "rank", "cutoff"),
        *(name for name in ("excluded", "excluded_offsets", "candidate") if name in names),
    }


@dataclass(frozen=True)
class Reader(Vectors):
    """Reads which passages belong together."""

    name: ClassVar[str] = "reader"
    reads: ClassVar[tuple[str, ...]] = ("text:plain", "parent")


@dataclass(frozen=True)
class Holder(Vectors):
    """Has a field that no plain value is."""

    name: ClassVar[str] = "holder"
    held: Any = object


def test_what_cannot_be_sharded_is_refused(tmp_path: Path) -> None:
    work = Work(tmp_path, Here(), 2)
    with pytest.raises(UsageError, match="reader reads parent, which lead to other passages"):
        retrieve(chunk_task(), Reader(), work=work)
    with pytest.raises(UsageError, match="unweighted makes sparse weights and no sums over shards"):
        retrieve(chunk_task(), Unweighted(), work=work)
    with pytest.raises(UsageError, match="is no plain value, which a worker needs"):
        retrieve(chunk_task(), Holder(held={1}), work=work)
    with pytest.raises(UsageError, match="leave out the folder of indexes"):
        retrieve(chunk_task(), "bm25", work=work, indexes=tmp_path)


def test_other_shards_than_those_in_the_folder_are_refused(tmp_path: Path) -> None:
    retrieve(chunk_task(), "bm25", work=Work(tmp_path, Here(), 2))
    with pytest.raises(UsageError, match="holds a plan of 2 shards, and 3 are asked for"):
        retrieve(chunk_task(), "bm25", work=Work(tmp_path, Here(), 3))


@pytest.mark.parametrize(
    "call", ["bm25", "bm25('english', k1=0.9)", "bm25(stop_words=('a', 'b'), variant='bm25l')", "fusion(bm25, bm25)"]
)
def test_a_system_is_made_again_from_plain_values(call: str) -> None:
    system = catalog.system(call)
    assert made_of(plain_of(system)) == system


@st.composite
def golds(draw: st.DrawFn) -> tuple[Fragments, Passages]:
    span = st.tuples(st.integers(0, 4), st.integers(0, 20), st.integers(0, 12))
    gold, held = (draw(st.lists(span, min_size=low, max_size=15)) for low in (0, 1))
    spans = [Spans.of(*((d, s, s + n) for d, s, n in rows)) for rows in (gold, held)]
    queries = np.array([draw(st.integers(0, 2)) for _ in gold], np.int32)
    grades = np.array([draw(st.integers(1, 3)) for _ in gold], np.int32)
    # The passages lack one of the fragments' documents.
    fragments = Fragments(Ids.of(["q0", "q1", "q2"]), Ids.of(list("abcdx")), queries, spans[0], grades)
    ids = [f"p{row}" for row in range(len(held))]
    return fragments, Passages(Ids.of(ids), {"plain": Texts.of(ids)}, Ids.of(list("abcde")), spans[1])


@PLAN
@given(golds(), st.integers(1, 7), st.sampled_from(["any", "characters>=3", "share>=0.5", "whole"]))
def test_gold_over_any_number_of_shards(load: Any, shards: int, rule: str) -> None:
    fragments, passages = load
    whole = project(fragments, passages, rule=rule)
    with tempfile.TemporaryDirectory() as folder:
        found = project_sharded(fragments, passages, rule=rule, work=Work(Path(folder), Here(), shards))
    assert found.qrels.triples() == whole.qrels.triples()
    assert found.counts == whole.counts
    assert found.chunks.tobytes() == whole.chunks.tobytes()
    assert (found.unknown.tolist(), found.empty.tolist()) == (whole.unknown.tolist(), whole.empty.tolist())


def test_gold_needs_spans(tmp_path: Path) -> None:
    task = dated_task()
    fragments = Fragments(Ids.of([]), Ids.of([]), np.zeros(0, np.int32), Spans.of(), np.zeros(0, np.int32))
    with pytest.raises(UsageError, match="need passages with documents and spans"):
        project_sharded(fragments, task.passages, work=Work(tmp_path, Here(), 2))


# ---------------------------------------------------------------- pairs


def reranking(folder: Path, **more: object) -> Any:
    scorer = CrossEncoder(str(pair_model_folder(folder)), encoder="word_pairs", **more)
    return Rerank(catalog.system("bm25"), scorer, depth=4)


@pytest.fixture
def _pair_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(catalog.known("pair_encoder"), WordPairs.name, WordPairs)


def twice(task: Task) -> Task:
    """The task with the text of its first query for every other one too."""
    texts = task.pool.texts["plain"]
    rows = np.where(np.arange(len(texts)) % 2, np.arange(len(texts)), 0)
    return replace(task, pool=replace(task.pool, texts={**task.pool.texts, "plain": texts.take(rows)}))


@pytest.mark.usefixtures("_pair_models")
@pytest.mark.parametrize("shards", [1, 3, 50])
@pytest.mark.parametrize("made", [chunk_task, dated_task, lambda: twice(dated_task())])
def test_reranking_over_any_number_of_shards(made: Any, shards: int, tmp_path: Path) -> None:
    system = reranking(tmp_path / "model", longest=9)
    work = Work(tmp_path / "work", Here(), shards)
    whole, run = retrieve(made(), system), retrieve(made(), system, work=work)
    assert same(whole, run)
    assert (run.counts, run.models) == (whole.counts, whole.models)
    assert "pairs longer than the model reads" in run.counts
    assert whole.candidates is not None
    assert run.candidates is not None
    assert same(whole.candidates, run.candidates)
    assert f"cross_encoder, scores: {shards} shards, {shards} of them run now by here" in "".join(work.notes)
    # Another device takes up what is there.
    again = replace(work, notes=[])
    retrieve(made(), reranking(tmp_path / "model", longest=9, device="cuda:7"), work=again)
    assert f"cross_encoder, scores: {shards} shards, 0 of them run now by here" in "".join(again.notes)


@dataclass(frozen=True)
class ByLength:
    """Scores pairs by the length of the passage; it keeps nothing, so whether others matter cannot be told."""

    name: ClassVar[str] = "by_length"
    reads: ClassVar[tuple[str, ...]] = ("text:plain",)

    def score(self, passages: Any, queries: Any, *, query: Any, passage: Any) -> Any:
        return passages.texts["text:plain"].lengths[passage].astype(np.float64)


def test_a_scorer_that_keeps_nothing_works_here(tmp_path: Path) -> None:
    system = Rerank(catalog.system("bm25"), ByLength(), depth=3)
    work = Work(tmp_path, Here(), 2)
    assert same(retrieve(chunk_task(), system), retrieve(chunk_task(), system, work=work))
    assert {note.partition(":")[0] for note in work.notes} == {"bm25, counts", "bm25, lists"}


@pytest.mark.heavy
def test_a_cross_encoder_gives_the_same_bits_over_shards(tmp_path: Path) -> None:
    system = Rerank(catalog.system("bm25"), CrossEncoder(str(cross_encoder_folder(tmp_path / "model"))), depth=6)
    whole = retrieve(dated_task(), system)
    for shards in (2, 5):
        assert same(whole, retrieve(dated_task(), system, work=Work(tmp_path / f"work-{shards}", Here(), shards)))


# ---------------------------------------------------------------- memory


def most_held(work: Callable[[], object]) -> int:
    """The most bytes that are allocated while something is done."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_case_X03_search_keeps_the_best_of_each_query_alone() -> None:
    """What search holds grows by a few bytes a passage, not by passages times queries, nor by shards times depth."""
    queries, depth = 200, 100
    random = np.random.default_rng(0)
    asked = DenseRows(random.standard_normal((queries, 8), np.float32))
    peaks = []
    for passages in (8192, 4 * 8192):
        rows = DenseRows(random.standard_normal((passages, 8), np.float32))
        rule = Eligibility.everything(passages, queries)
        best_rows(rows, asked, rule, depth=depth, name="x", threads=1)
        peaks.append(most_held(lambda: best_rows(rows, asked, rule, depth=depth, name="x", threads=1)))  # noqa: B023
    assert peaks[1] - peaks[0] < 3 * 8192 * 100

    def lists(shards: int) -> Iterator[RankedRows]:
        offsets = np.arange(0, (queries + 1) * depth, depth)
        for shard in range(shards):
            rows = np.arange(queries * depth, dtype=np.int32) + shard
            yield RankedRows(offsets, rows, np.random.default_rng(shard).random(queries * depth), whole_ties=True)

    few, many = (most_held(lambda n=n: merged(lists(n), depth=depth)) for n in (8, 64))  # type: ignore[misc]
    assert many < 1.2 * few
