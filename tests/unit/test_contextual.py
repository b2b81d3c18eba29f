"""Contextual systems: each equals its inner system over texts built by hand, and stays exact under eligibility."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay import catalog
from assay.errors import ContractError, UnavailableError, UsageError, ViewError
from assay.harness import retrieve
from assay.ids import Ids
from assay.passage import Passages
from assay.qrels import Qrels
from assay.query import Queries
from assay.run import Run
from assay.span import Spans
from assay.system import PassageView, QueryView, RankedRows
from assay.task import Task
from assay.texts import Texts
from tiny import DOCUMENTS, chunk_task, days

DEEP = 100
WORDS = ["fee", "tax", "visa", "rent", "form", "court"]


def triples(run: Run) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {q: {} for q in run.queries}
    for q, p, s in run.triples():
        found[q][p] = s
    return found


def over(task: Task, texts: list[str], system: str = "bm25", **rest: Any) -> Run:
    """The run of a passage system over other texts, passage by passage."""
    changed = replace(task.passages, texts={"plain": Texts.of(texts)})
    return retrieve(replace(task, passages=changed), system, **rest)


def same(a: Run, b: Run) -> bool:
    return a.triples() == b.triples()


@st.composite
def worlds(draw: st.DrawFn) -> Task:
    """Up to four documents of up to four passages, in any order, some dated, under an as-of rule or none."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    places = [(d, p) for d, size in enumerate(sizes) for p in range(size)]
    places = draw(st.permutations(places))
    text = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
    texts = [draw(text) for _ in places]
    day = st.sampled_from(["2021-01-01", "2021-01-02", "2021-01-03"])
    dated = draw(st.booleans())
    queries = [draw(text.filter(bool)) for _ in range(draw(st.integers(1, 3)))]
    ids = [f"q{i}" for i in range(len(queries))]
    asked = days(draw(day) for _ in queries) if dated else None
    return Task(
        name="world",
        split="test",
        pool=Queries(Ids.of(ids), {"plain": Texts.of(queries)}, asked),
        passages=Passages(
            Ids.of(f"d{d}-{p}" for d, p in places),
            {"plain": Texts.of(texts), "coref": Texts.of(f"{t} fee" for t in texts)},
            parents=Ids.of(f"d{d}" for d in range(len(sizes))),
            spans=Spans.of(*[(d, 10 * p, 10 * p + 9) for d, p in places]),
            position=np.array([p for _, p in places], np.int32),
            titles=Texts.of(draw(text) for _ in sizes),
            dates=days(draw(day | st.none()) for _ in places) if dated else None,
        ),
        qrels=Qrels.of([(q, "d0-0", 1) for q in ids]),
        views=("text:plain", "text:coref", "title", "parent", "position", "span"),
        asked=asked,
    )


def parts_of(task: Task) -> tuple[list[str], list[int], list[int], list[str]]:
    """Texts, documents, places and titles, passage by passage."""
    columns = task.passages
    assert columns.spans is not None
    assert columns.position is not None
    assert columns.titles is not None
    document = columns.spans.document.tolist()
    titles = columns.titles.to_list()
    return columns.texts["plain"].to_list(), document, columns.position.tolist(), [titles[d] for d in document]


def joined_documents(task: Task) -> dict[int, str]:
    texts, document, place, _ = parts_of(task)
    rows = sorted(range(len(texts)), key=lambda i: (document[i], place[i]))
    return {d: "\n".join(texts[i] for i in rows if document[i] == d) for d in document}


quick = settings(max_examples=60, deadline=None)


@quick
@given(worlds(), st.integers(1, 5), st.integers(0, 3))
def test_titled_is_bm25_over_titles_and_texts(task: Task, depth: int, seed: int) -> None:
    texts, _, _, titles = parts_of(task)
    longer = [f"{title} {text}" for title, text in zip(titles, texts)]
    assert same(retrieve(task, "titled(bm25)", depth=depth, seed=seed), over(task, longer, depth=depth))


@quick
@given(worlds(), st.integers(0, 2), st.integers(0, 2), st.integers(1, 5))
def test_neighbours_is_bm25_over_windows(task: Task, before: int, after: int, depth: int) -> None:
    texts, document, place, _ = parts_of(task)
    windows = []
    for d, p in zip(document, place):
        inside = [(q, text) for e, q, text in zip(document, place, texts) if e == d and p - before <= q <= p + after]
        windows.append(" ".join(text for _, text in sorted(inside)))
    made = retrieve(task, f"neighbours(bm25, before={before}, after={after})", depth=depth, seed=5)
    assert same(made, over(task, windows, depth=depth))


@quick
@given(worlds())
def test_lenses_work_from_the_outside_in(task: Task) -> None:
    texts, document, place, titles = parts_of(task)
    after = {(d, p): text for d, p, text in zip(document, place, texts)}
    windows = [f"{text} {after.get((d, p + 1), '')}" for d, p, text in zip(document, place, texts)]
    made = retrieve(task, "neighbours(titled(bm25), before=0)")
    assert same(made, over(task, [f"{title} {text}" for title, text in zip(titles, windows)]))
    # The other way round every neighbour brings its title along.
    full = {(d, p): f"{title} {text}" for d, p, title, text in zip(document, place, titles, texts)}
    windows = [f"{full[d, p]} {full.get((d, p + 1), '')}" for d, p in zip(document, place)]
    assert same(retrieve(task, "titled(neighbours(bm25, before=0))"), over(task, windows))


@quick
@given(worlds())
def test_coref_is_the_other_text(task: Task) -> None:
    assert triples(retrieve(task, "coref(bm25)")) == triples(retrieve(task, "bm25(text='coref')"))
    assert retrieve(task, "coref(bm25)").spec["reads"] == ["text:coref", "text:plain"]


@quick
@given(worlds(), st.integers(1, 6), st.integers(0, 3))
def test_documents_gives_passages_the_score_of_their_document(task: Task, depth: int, seed: int) -> None:
    expected = document_scores(task)
    ids, document = list(task.passages.ids), parts_of(task)[1]
    made = triples(retrieve(task, "documents(bm25)", depth=depth, seed=seed))
    for row, query in enumerate(task.queries.ids):
        may = task.eligibility.mask(row)
        scores = {
            p: expected[query][d] for i, (p, d) in enumerate(zip(ids, document)) if may[i] and d in expected[query]
        }
        last = sorted(scores.values(), reverse=True)[:depth][-1:]
        assert made[query] == {p: s for p, s in scores.items() if s >= last[0]}


def document_scores(task: Task) -> dict[str, dict[int, float]]:
    """BM25 over joined documents, without any rule: scores by query and document."""
    whole = joined_documents(task)
    documents = replace(
        task,
        passages=Passages(Ids.of(map(str, whole)), {"plain": Texts.of(whole.values())}),
        asked=None,
        views=("text:plain",),
    )
    run = retrieve(documents, "bm25", depth=DEEP)
    return {q: {int(d): s for d, s in found.items()} for q, found in triples(run).items()}


def top(scores: Mapping[Any, float], count: int) -> dict[Any, float]:
    """The best and all that tie with the last of them."""
    last = sorted(scores.values(), reverse=True)[:count][-1:]
    return {key: s for key, s in scores.items() if s >= last[0]}


def own_scores(task: Task, depth: int) -> dict[str, dict[str, float]]:
    return triples(retrieve(task, "bm25", depth=depth))


def seen_documents(task: Task, query: int) -> set[int]:
    """Documents with a passage that the query may be answered with."""
    return {d for d, may in zip(parts_of(task)[1], task.eligibility.mask(query)) if may}


@quick
@given(worlds(), st.integers(1, 3), st.integers(1, 6))
def test_hierarchy_is_the_passages_of_the_best_documents(task: Task, count: int, depth: int) -> None:
    whole, own = document_scores(task), own_scores(task, DEEP)
    of = dict(zip(task.passages.ids, parts_of(task)[1]))
    made = triples(retrieve(task, f"hierarchy(documents(bm25), bm25, depth={count})", depth=depth, seed=3))
    for row, query in enumerate(task.queries.ids):
        best = top({d: s for d, s in whole[query].items() if d in seen_documents(task, row)}, count)
        assert made[query] == top({p: s for p, s in own[query].items() if of[p] in best}, depth)


@quick
@given(worlds(), st.integers(1, 3), st.sampled_from(["minmax", "minmax(dapr)"]))
def test_document_fusion_is_the_mean_of_both_scales(task: Task, count: int, method: str) -> None:
    def scaled(found: Mapping[Any, float]) -> dict[Any, float]:
        low, high = min(found.values()), max(found.values())
        gap = (high - low) / (len(found) - 1) if method == "minmax" and len(found) > 1 else 0.0
        return {k: 1.0 if low == high else (s - low + gap) / (high - low + gap) for k, s in found.items()}

    of = dict(zip(task.passages.ids, parts_of(task)[1]))
    whole, own = document_scores(task), own_scores(task, DEEP)
    call = f"document_fusion(bm25, documents(bm25), weights=(0.25, 0.75), method='{method}', depth={count})"
    made = triples(retrieve(task, call, depth=DEEP, seed=1))
    for row, query in enumerate(task.queries.ids):
        assert set(made[query]) == set(own[query])
        if own[query]:
            documents = top({d: s for d, s in whole[query].items() if d in seen_documents(task, row)}, count)
            mine, theirs = scaled(own[query]), scaled(documents)
            expected = {p: 0.25 * s + 0.75 * theirs.get(of[p], 0.0) for p, s in mine.items()}
            assert made[query] == pytest.approx(expected, rel=1e-12)


@dataclass(frozen=True)
class Fixed:
    """A black box with one list, whatever is asked."""

    scores: Mapping[str, float]
    name: ClassVar[str] = "fixed"
    reads: ClassVar[tuple[str, ...]] = ("text:plain",)

    def search(self, passages: PassageView, queries: QueryView, *, depth: int) -> RankedRows:
        place = {text: row for row, text in enumerate(passages.texts["text:plain"])}
        order = sorted(self.scores, key=lambda p: -self.scores[p])[:depth]
        rows = np.array([place[p] for p in order], np.int32), np.array([self.scores[p] for p in order])
        return RankedRows.joined([rows] * len(queries))


def test_case_E07() -> None:
    # Three documents are asked for: the best three chunks are all of A, and would leave it alone.
    chunks = {"A~0": 0.9, "A~1": 0.8, "A~2": 0.7, "B~0": 0.6, "C~0": 0.5, "D~0": 0.4}
    ids = list(chunks)
    names = sorted({i[0] for i in ids})
    task = Task(
        name="e07",
        split="test",
        pool=Queries(Ids.of(["q"]), {"plain": Texts.of(["q"])}),
        passages=Passages(
            Ids.of(ids),
            {"plain": Texts.of(ids)},
            parents=Ids.of(names),
            spans=Spans.of(*[(names.index(i[0]), int(i[2]), int(i[2]) + 1) for i in ids]),
            position=np.array([int(i[2]) for i in ids], np.int32),
        ),
        qrels=Qrels.of([("q", "A~0", 1)]),
        views=("text:plain", "parent", "position"),
    )
    box = Fixed(chunks)
    hierarchy = catalog.known("system")["hierarchy"](box, box, depth=3)
    for depth in (5, 3):
        run = retrieve(task, hierarchy, depth=depth)
        assert [p for _, p, _ in run.triples()] == ids[:depth]
    assert {p[0] for _, p, _ in retrieve(task, hierarchy, depth=6).triples()} == {"A", "B", "C"}


def test_an_index_behind_a_lens_is_kept_and_found_again(tmp_path: Path) -> None:
    task = chunk_task()
    plain = retrieve(task, "titled(bm25)")
    assert same(plain, retrieve(task, "titled(bm25)", indexes=tmp_path))
    held = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")}
    assert len(list(tmp_path.iterdir())) == 1
    assert same(plain, retrieve(task, "titled(bm25)", indexes=tmp_path))
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")} == held
    # Other texts, another index.
    assert same(retrieve(task, "bm25"), retrieve(task, "bm25", indexes=tmp_path))
    assert len(list(tmp_path.iterdir())) == 2


def test_what_a_system_behind_a_lens_sees_is_what_it_declares() -> None:
    seen: list[PassageView] = []

    @dataclass(frozen=True)
    class Spy:
        name: ClassVar[str] = "spy"
        reads: ClassVar[tuple[str, ...]] = ("text:plain",)

        def search(self, passages: PassageView, queries: QueryView, *, depth: int) -> RankedRows:
            seen.append(passages)
            return RankedRows.joined([(np.arange(1), np.ones(1))] * len(queries))

    known = catalog.known("system")
    run = retrieve(chunk_task(), known["titled"](known["documents"](known["neighbours"](Spy()))))
    assert run.spec["reads"] == ["parent", "position", "text:plain", "title"]
    assert set(seen[0].texts) == {"text:plain"}
    assert (seen[0].parent, seen[0].position, seen[0].span, seen[0].links) == (None, None, None, None)
    assert len(seen[0]) == len(DOCUMENTS)
    with pytest.raises(ValueError, match="read-only"):
        seen[0].texts["text:plain"].buffer[0] = 65


def test_a_view_that_the_task_does_not_allow_is_named() -> None:
    task = replace(chunk_task(), views=("text:plain", "parent"))
    with pytest.raises(ViewError, match="titled reads the view 'title'"):
        retrieve(task, "titled(bm25)")
    with pytest.raises(ViewError, match="neighbours reads the view 'position'"):
        retrieve(task, "fusion(bm25, neighbours(bm25))")
    with pytest.raises(ViewError, match="bm25 reads the view 'text:coref'"):
        retrieve(replace(task, views=(*task.views, "title")), "titled(bm25(text='coref'))")


def test_a_documents_view_is_the_whole_document_in_order() -> None:
    task = chunk_task()
    seen: list[PassageView] = []

    @dataclass(frozen=True)
    class Spy:
        name: ClassVar[str] = "spy"
        reads: ClassVar[tuple[str, ...]] = ("text:plain", "title", "parent", "position", "span")

        def search(self, passages: PassageView, queries: QueryView, *, depth: int) -> RankedRows:
            seen.append(passages)
            return RankedRows.joined([(np.arange(1), np.ones(1))] * len(queries))

    run = retrieve(task, catalog.known("system")["documents"](Spy()), depth=2)
    view = seen[0]
    found = dict(zip(view.texts["title"], view.texts["text:plain"]))
    assert found == {title: "\n".join(sentences) for title, sentences in DOCUMENTS.values()}
    assert view.position is not None
    assert view.span is not None
    assert view.position.tolist() == [0] * 5
    assert view.span[:, 0].tolist() == [0] * 5
    lengths = [sum(len(s) + 1 for s in text.split("\n")) - 1 for text in view.texts["text:plain"]]
    assert view.span[:, 1].tolist() == lengths
    # One document is found for each query: its four passages tie.
    assert np.diff(run.offsets).tolist() == [4] * 6


@dataclass(frozen=True)
class Showing:
    """A lens that shows what it is told."""

    made: Any
    system: Any
    name: ClassVar[str] = "showing"
    reads: ClassVar[tuple[str, ...]] = ()

    def shown(self, passages: PassageView) -> Any:
        return self.made(passages)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda p: p, "shows PassageView; a pair"),
        (lambda p: (p, p, p), "shows tuple; a pair"),
        (lambda p: (PassageView(p.size, {}), None), "does not show the view 'text:plain'"),
        (lambda p: (PassageView(3, {"text:plain": Texts.of("ab")}), None), "shows 2 rows of the view"),
        (lambda p: (PassageView(2, {"text:plain": Texts.of("ab")}), None), "shows 2 rows for 20 passages"),
        (lambda p: (PassageView(2, {"text:plain": Texts.of("ab")}), [0, 1]), "gives 2 of 20 passages a row"),
        (lambda p: (PassageView(2, {"text:plain": Texts.of("ab")}), [2] * 20), "gives 20 of 20 passages a row, of 2"),
        (lambda p: (PassageView(2, {"text:plain": Texts.of("ab")}), [1] * 20), "1 rows that belong to no passage"),
        (lambda p: (PassageView(2, {"text:plain": Texts.of("ab")}), [0.5] * 20), "whole numbers"),
    ],
)
def test_a_lens_that_breaks_the_contract_is_named(made: Any, message: str) -> None:
    with pytest.raises(ContractError, match=message):
        retrieve(chunk_task(), Showing(made, catalog.system("bm25")))


def test_depths_that_a_composite_says_are_checked() -> None:
    @dataclass(frozen=True)
    class Odd:
        depths: Any
        name: ClassVar[str] = "odd"
        reads: ClassVar[tuple[str, ...]] = ()
        parts: ClassVar[tuple[Any, ...]] = (catalog.system("bm25"),)

        def part_depths(self, depth: int, passages: int) -> Any:
            return self.depths

        def combine(self, lists: Any, passages: PassageView, queries: QueryView, *, depth: int) -> RankedRows:
            return lists[0]

    assert len(retrieve(chunk_task(), Odd((3,)), depth=3)) > 0
    for depths in ((), (1, 1), (0,), (1.5,)):
        with pytest.raises(ContractError, match="for 1 parts"):
            retrieve(chunk_task(), Odd(depths))


def test_passages_that_share_a_place_are_ordered_by_text() -> None:
    task = chunk_task()
    crowded = replace(task, passages=replace(task.passages, position=np.zeros(20, np.int32)))
    for call in ("neighbours(bm25)", "documents(bm25)", "titled(neighbours(bm25, before=3))"):
        runs = [retrieve(crowded, call, seed=seed) for seed in range(3)]
        assert same(runs[0], runs[1])
        assert same(runs[0], runs[2])


def test_keyphrases_stand_in_front_of_every_passage_of_their_document() -> None:
    yake = pytest.importorskip("yake")
    task = chunk_task()
    texts, document, _, _ = parts_of(task)
    extractor = yake.KeywordExtractor(lan="en", n=3, top=4)
    phrases = {
        d: " ".join(phrase for phrase, _ in extractor.extract_keywords(text))
        for d, text in joined_documents(task).items()
    }
    assert any("ferry" in found for found in phrases.values())
    longer = [f"{phrases[d]} {text}" for d, text in zip(document, texts)]
    assert same(retrieve(task, "keyphrases(bm25, count=4)"), over(task, longer))
    assert not same(retrieve(task, "keyphrases(bm25, count=4)"), retrieve(task, "bm25"))


def test_keyphrases_without_the_package_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yake", None)
    with pytest.raises(UnavailableError, match=r"pip install 'assay\[context\]'"):
        retrieve(chunk_task(), "keyphrases(bm25)")


@pytest.mark.heavy
def test_context_helps_on_conditionalqa(shared_data: Path) -> None:
    from assay.evaluation import evaluate
    from assay.sources import conditionalqa
    from assay.training import fitted

    collection = conditionalqa.load(shared_data / "conditionalqa")
    task = collection.task("passages")

    def means(system: Any) -> list[float]:
        run = retrieve(task, system)
        return [round(s.mean, 3) for s in evaluate(run, task.qrels, ["nDCG@10", "R@100"], resamples=1)]

    english = "bm25('english')"
    mixed = catalog.system(f"document_fusion({english}, documents({english}))")
    table = {
        call: means(call.replace("B", english))
        for call in (
            "B",
            "titled(B)",
            "neighbours(B)",
            "hierarchy(documents(B), B)",
            "document_fusion(B, documents(B))",
        )
    }
    best, report = fitted(mixed, collection, measure="nDCG@10")
    table["fitted"] = means(best)
    assert table == {
        "B": [0.299, 0.604],
        "titled(B)": [0.417, 0.814],
        "neighbours(B)": [0.412, 0.776],
        "hierarchy(documents(B), B)": [0.335, 0.808],
        "document_fusion(B, documents(B))": [0.429, 0.773],
        "fitted": [0.464, 0.780],
    }
    assert (report.split, report.queries, report.weights, report.left_out) == ("dev", 271, (0.25, 0.75), 0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("titled('bm25')", "'bm25' is no system"),
        ("coref(1)", "1 is no system"),
        ("titled", "parameters are system"),
        ("neighbours(bm25, before=-1)", "before must be a whole number of at least 0"),
        ("neighbours(bm25, after=1.5)", "after must be a whole number"),
        ("keyphrases(bm25, count=0)", "count must be a whole number of at least 1"),
        ("hierarchy(documents(bm25), bm25, depth=0)", "depth must be a whole number of at least 1"),
        ("hierarchy(documents(bm25), 4)", "4 is no system"),
        ("document_fusion(bm25, documents(bm25), weights=(1, 2, 3))", "weights must be 2 numbers"),
        ("document_fusion(bm25, documents(bm25), method='rrf')", "no method of document_fusion 'rrf'"),
        ("document_fusion(bm25, documents(bm25), depth=True)", "depth must be a whole number"),
        ("documents(None)", "None is no system"),
    ],
)
def test_what_cannot_be_made_is_refused(call: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        catalog.system(call)
