"""Re-ranking: each query only its own candidates, the first stage's order below, and what the candidates allow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import catalog, evaluation, experiment
from assay.call import short_call
from assay.errors import ContractError, UsageError
from assay.evaluation.ceiling import ceiling
from assay.harness import retrieve
from assay.measures import parse
from assay.qrels import Qrels
from assay.reports.notices import notices
from assay.retrieval.rerank import Rerank, reranked
from assay.run import Run
from assay.system import PassageView, QueryView, RankedRows, Rows, Score, Scored, System, spec_of
from assay.task import Task
from assay.texts import Texts
from tiny import chunk_task, dated_task

Pairs = list[tuple[str, str]]


@dataclass(frozen=True)
class Overlap:
    """Scores a pair by the share of the passage's words that the query has; keeps which pairs it was asked for."""

    name: ClassVar[str] = "overlap"
    reads: ClassVar[tuple[str, ...]] = ("text:plain",)

    asked: Pairs = field(default_factory=list, compare=False)

    def score(self, passages: PassageView, queries: QueryView, *, query: Rows, passage: Rows) -> Score:
        pairs = [(queries.texts[q], passages.texts["text:plain"][p]) for q, p in zip(query.tolist(), passage.tolist())]
        self.asked.extend(pairs)
        return np.array([_share(*pair) for pair in pairs], np.float64)


def _share(query: str, passage: str) -> float:
    words = passage.lower().split()
    return len(set(query.lower().split()) & set(words)) / max(1, len(words))


class House(Overlap):
    """The same, as if it were one of the house's own, which are handed eligible rows alone."""


House.__module__ = "assay.retrieval.house"


@dataclass(frozen=True)
class Fixed:
    """A first stage that returns what it is told, by text."""

    name: ClassVar[str] = "fixed"
    reads: ClassVar[tuple[str, ...]] = ("text:plain",)

    lists: dict[str, dict[str, float]]

    def search(self, passages: PassageView, queries: QueryView, *, depth: int) -> RankedRows:
        held = passages.texts["text:plain"].to_list()
        found = []
        for text in queries.texts:
            own = self.lists.get(text, {})
            rows = np.array([row for row, passage in enumerate(held) if passage in own], np.int32)
            found.append((rows, np.array([own[held[row]] for row in rows], np.float64)))
        return RankedRows.joined(found, whole_ties=True, exhausted=np.ones(len(queries), np.bool_))


@dataclass(frozen=True)
class Told:
    """A scorer that returns what it is told."""

    name: ClassVar[str] = "told"
    reads: ClassVar[tuple[str, ...]] = ("text:plain",)

    value: object

    def score(self, passages: PassageView, queries: QueryView, *, query: Rows, passage: Rows) -> Score:
        return self.value if not callable(self.value) else self.value(len(query))  # type: ignore[return-value]


def small(passages: list[str], queries: list[str]) -> Task:
    """A task without rule over a few texts, whose ids are the texts."""
    task = chunk_task()
    ids = type(task.passages.ids)(Texts.of(passages))
    asked = type(task.pool.ids)(Texts.of(queries))
    qrels = Qrels.of([(q, passages[0], 1) for q in queries])
    return Task(
        "small",
        "test",
        type(task.pool)(asked, {"plain": Texts.of(queries)}),
        type(task.passages)(ids, {"plain": Texts.of(passages)}),
        qrels,
    )


def lists_of(run: Run) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {query: [] for query in run.queries}
    for query, passage, _ in run.triples():
        found[query].append(passage)
    return found


def same(a: Run, b: Run) -> bool:
    return a.triples() == b.triples() and a.score.tobytes() == b.score.tobytes()


def test_case_R01() -> None:
    # Re-ranking pooled the candidates of all queries: a query got what its first stage never returned.
    task = small(["a", "b"], ["q1", "q2"])
    first = Fixed({"q1": {"a": 1.0}, "q2": {"b": 1.0}})
    scores = {("q1", "a"): 0.1, ("q1", "b"): 0.9, ("q2", "a"): 0.9, ("q2", "b"): 0.1}

    @dataclass(frozen=True)
    class Given(Overlap):
        def score(self, passages: PassageView, queries: QueryView, *, query: Rows, passage: Rows) -> Score:
            super().score(passages, queries, query=query, passage=passage)
            return np.array([scores[pair] for pair in self.asked[-len(query) :]])

    given_scores = Given()
    run = retrieve(task, Rerank(first, given_scores, depth=10))
    assert run.triples() == [("q1", "a", 0.1), ("q2", "b", 0.1)]
    assert set(given_scores.asked) == {("q1", "a"), ("q2", "b")}


def test_case_R02() -> None:
    # What the first stage missed stays in the ideal: a perfect re-ranker over half of the gold is not perfect.
    qrels = Qrels.of([("q", "p1", 1), ("q", "p2", 1)])
    first, best = Run.of({"q": {"x": 2.0, "p1": 1.0}}), Run.of({"q": {"p1": 2.0, "x": 1.0}})
    [scores] = evaluation.evaluate(best, qrels, ["nDCG@10"], resamples=10)
    assert scores.mean == pytest.approx(1 / (1 + 1 / np.log2(3)), abs=1e-12)
    assert round(scores.mean, 4) == 0.6131
    found = ceiling(first, first, qrels, [parse("nDCG@10")])
    assert (found.recall, found.held, found.relevant) == (0.5, 1, 2)
    assert found.means["nDCG@10"] == scores.mean


lists = st.lists(st.lists(st.tuples(st.integers(-3, 3), st.integers(-4, 4)), max_size=9), min_size=1, max_size=4)


@given(lists, st.integers(1, 6), st.sampled_from([1.0, 0.37, 2.0**60, 1e300]))
def test_the_rule_on_any_lists(made: list[list[tuple[int, int]]], depth: int, scale: float) -> None:
    """Chosen rows by new score, all others after them by old score, ties as they were."""
    found = RankedRows.joined(
        [(np.arange(len(own), dtype=np.int32), np.array([s for s, _ in own], np.float64)) for own in made]
    )
    new = [np.array([n for _, n in own], np.float64) * scale for own in made]
    least = [sorted((s for s, _ in own), reverse=True)[:depth][-1] if own else 0 for own in made]
    chosen = [np.array([s >= low for s, _ in own], np.bool_) for own, low in zip(made, least)]
    flat = np.concatenate(chosen)
    score = reranked(found.offsets, found.score, flat, np.concatenate(new)[flat])
    assert np.isfinite(score).all()
    for at, own in enumerate(made):
        keys = [(1, new[at][i]) if chosen[at][i] else (0, float(own[i][0])) for i in range(len(own))]
        mine = score[found.offsets[at] : found.offsets[at + 1]]
        for i, one in enumerate(keys):
            assert not chosen[at][i] or mine[i] == new[at][i]
            for j, other in enumerate(keys):
                assert (one < other) == (mine[i] < mine[j])
                assert (one == other) == (mine[i] == mine[j])


@pytest.mark.parametrize("depth", [1, 3, 100])
def test_only_own_candidates_are_scored_and_the_rest_keeps_its_order(depth: int) -> None:
    for task in (chunk_task(), dated_task()):
        scorer, bm25 = House(), catalog.system("bm25")
        first = retrieve(task, bm25, depth=1000)
        run = retrieve(task, Rerank(bm25, scorer, depth=depth), depth=1000)
        text = dict(zip(task.passages.ids, task.passages.texts["plain"]))
        asked = dict(zip(task.queries.ids, task.queries.texts["plain"]))
        wanted: set[tuple[str, str]] = set()
        for query, before in lists_of(first).items():
            scores = [s for q, _, s in first.triples() if q == query]
            count = sum(s >= scores[min(depth, len(scores)) - 1] for s in scores) if scores else 0
            after = lists_of(run)[query]
            assert sorted(before) == sorted(after)
            assert set(before[:count]) == set(after[:count])
            assert before[count:] == after[count:]
            new = [s for q, _, s in run.triples() if q == query]
            assert new[:count] == [_share(asked[query], text[passage]) for passage in after[:count]]
            # Ties below the depth are those of the first stage.
            assert [a == b for a, b in zip(scores[count:], scores[count + 1 :])] == [
                a == b for a, b in zip(new[count:], new[count + 1 :])
            ]
            wanted |= {(asked[query], text[passage]) for passage in before[:count]}
        assert set(scorer.asked) == wanted


def test_a_strangers_scorer_is_not_told_what_is_too_new() -> None:
    # It gets pairs of whole lists; what a query may not be answered with leaves afterwards.
    task = dated_task()
    scorer = Overlap()
    run = retrieve(task, Rerank(catalog.system("bm25"), scorer, depth=3), depth=5)
    owner = np.repeat(np.arange(len(run.queries)), np.diff(run.offsets))
    assert task.eligibility.allows(owner, run.passage).all()
    free = Overlap()
    retrieve(task.without_as_of(), Rerank(catalog.system("bm25"), free, depth=3), depth=5)
    assert set(scorer.asked) == set(free.asked)
    assert run.candidates is not None
    owner = np.repeat(np.arange(len(run.queries)), np.diff(run.candidates.offsets))
    assert task.eligibility.allows(owner, run.candidates.passage).all()


def test_the_same_run_for_any_order_of_rows_and_any_first_depth() -> None:
    for task in (chunk_task(), dated_task()):
        system = Rerank(catalog.system("bm25"), Overlap(), depth=4)
        first = retrieve(task, system, depth=6)
        assert all(same(first, retrieve(task, system, depth=6, seed=seed)) for seed in (1, 2, 7))
        deep = retrieve(task, system, depth=1000)
        for query, passages in lists_of(first).items():
            assert passages[:6] == lists_of(deep)[query][: len(passages[:6])]


def test_a_tie_across_the_depth_is_scored_whole() -> None:
    task = small(["fee one", "fee two", "fee fee fee", "tax"], ["fee"])
    first = Fixed({"fee": {"fee one": 2.0, "fee two": 1.0, "fee fee fee": 1.0, "tax": 0.5}})
    scorer = Overlap()
    run = retrieve(task, Rerank(first, scorer, depth=2))
    assert {passage for _, passage in scorer.asked} == {"fee one", "fee two", "fee fee fee"}
    assert [(p, s) for _, p, s in run.triples()] == [
        ("fee two", 0.5),
        ("fee one", 0.5),
        ("fee fee fee", 1 / 3),
        ("tax", -1.0),
    ]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (lambda n: np.full(n, np.nan), "not finite"),
        (lambda n: np.zeros(n + 1), "scores for"),
        (lambda n: np.zeros((n, 2)), "one-dimensional"),
        (lambda n: ["high"] * n, "numbers are due"),
    ],
)
def test_scores_that_are_none_are_one_error(value: object, words: str) -> None:
    with pytest.raises(ContractError, match=words) as caught:
        retrieve(chunk_task(), Rerank(catalog.system("bm25"), Told(value), depth=3))
    assert "told" in str(caught.value)


def test_notes_of_a_scorer_are_counted_and_its_model_recorded() -> None:
    task = chunk_task()
    told = Told(lambda n: Scored(np.arange(n, dtype=np.float64), {"pairs cut": 2}, {"model": "m", "identity": "1"}))
    for system in (Rerank(catalog.system("bm25"), told, depth=3), told):
        run = retrieve(task, system, depth=5)
        assert run.counts["pairs cut"] == (2 if isinstance(system, Rerank) else 2 * len(task.queries))
        assert list(run.models) == [{"model": "m", "identity": "1"}]


def test_what_is_no_rerank() -> None:
    for call, words in (
        ("rerank('bm25', model='a/b')", "no system"),
        ("rerank(bm25)", "name of a model"),
        ("rerank(bm25, model=bm25)", "scores pairs"),
        ("rerank(bm25, model='a/b', depth=0)", "at least 1"),
        ("rerank(bm25, model='a/b', depth=2.5)", "at least 1"),
    ):
        with pytest.raises(UsageError, match=words):
            catalog.system(call)


def test_it_is_written_as_it_is_made() -> None:
    made = catalog.system("rerank(fusion(bm25, bm25('english')), model='owner/name', depth=20)")
    assert short_call(made) == "rerank(fusion(bm25, bm25('english')), model=cross_encoder('owner/name'), depth=20)"
    assert catalog.system(short_call(made)) == made
    assert spec_of(made)["model"]["name"] == "cross_encoder"


def brute_ceiling(run: Run, candidates: Run, qrels: Qrels, name: str) -> float:
    """The candidates by grade, then the rest of the run."""
    lists, chosen = lists_of(run), lists_of(candidates)
    grades = {q: dict(zip(*_judged(qrels, q))) for q in qrels.queries}
    order = {}
    for query, own in lists.items():
        mine = sorted(chosen[query], key=lambda p: -max(0, grades.get(query, {}).get(p, 0)))
        listed = [*mine, *(p for p in own if p not in chosen[query])]
        order[query] = {p: float(len(listed) - at) for at, p in enumerate(listed)}
    return evaluation.evaluate(Run.of(order), qrels, [name], resamples=10)[0].mean


def _judged(qrels: Qrels, query: str) -> tuple[list[str], list[int]]:
    row = list(qrels.queries).index(query)
    own = slice(int(qrels.offsets[row]), int(qrels.offsets[row + 1]))
    return [qrels.passages[int(code)] for code in qrels.passage[own]], qrels.grade[own].tolist()


@pytest.mark.parametrize("depth", [1, 2, 5, 50])
def test_the_ceiling_is_the_best_order_of_the_candidates(depth: int) -> None:
    for task in (chunk_task(), dated_task()):
        run = retrieve(task, Rerank(catalog.system("bm25"), Overlap(), depth=depth), depth=100)
        assert run.candidates is not None
        names = ["RR@10", "nDCG@10", "R@3", "P@2", "AP"]
        found = ceiling(run, run.candidates, task.qrels, [parse(name) for name in names])
        for name in names:
            assert found.means[name] == pytest.approx(brute_ceiling(run, run.candidates, task.qrels, name), abs=1e-12)
            got = evaluation.evaluate(run, task.qrels, [name], resamples=10)[0].best.mean()
            assert found.means[name] >= got - 1e-12


def test_a_run_less_deep_than_its_candidates_still_knows_them() -> None:
    task = chunk_task()
    run = retrieve(task, Rerank(catalog.system("bm25"), Overlap(), depth=50), depth=1)
    assert run.candidates is not None
    deep = retrieve(task, catalog.system("bm25"), depth=50)
    assert {q: set(p) for q, p in lists_of(run.candidates).items()} == {q: set(p) for q, p in lists_of(deep).items()}
    found = ceiling(run, run.candidates, task.qrels, [parse("RR@10"), parse("R@10")])
    assert found.means["R@10"] <= found.recall
    assert found.means["RR@10"] > 0


def test_the_ceiling_stands_in_the_result_and_below_the_table() -> None:
    import assay

    collection = assay.open("demo:chunks")
    task = collection.task("passages")
    result = experiment.run_system(collection, task, Rerank(catalog.system("bm25"), Overlap(), depth=5))
    for scores in result.scores:
        assert {"ceiling", "candidate_recall", "candidates_held", "candidates_relevant"} <= set(scores.extras)
        assert scores.extras["ceiling"] >= scores.extras["mean_best"] - 1e-12
    [line] = [line for line in notices(result) if line.startswith("candidates hold")]
    assert "in their best order: " in line
    plain = experiment.run_system(collection, task, catalog.system("bm25"))
    assert not any("ceiling" in s.extras for s in plain.scores)
    assert not any("candidates" in line for line in notices(plain))


@dataclass(frozen=True)
class Same:
    """A lens that shows what is there."""

    system: System
    name: ClassVar[str] = "same"
    reads: ClassVar[tuple[str, ...]] = ()

    def shown(self, passages: PassageView) -> tuple[PassageView, None]:
        return passages, None


def test_a_re_ranker_behind_lenses_has_its_ceiling_too() -> None:
    import assay

    collection = assay.open("demo:chunks")
    task = collection.task("passages")
    made = catalog.known("system")
    plain = retrieve(task, Rerank(catalog.system("bm25"), Overlap(), depth=5))
    for lens in (made["titled"], lambda inner: made["titled"](made["neighbours"](inner))):
        system = lens(Rerank(catalog.system("bm25"), Overlap(), depth=5))
        run = retrieve(task, system)
        first = retrieve(task, lens(catalog.system("bm25")), depth=5)
        assert run.candidates is not None
        assert {q: set(p) for q, p in lists_of(run.candidates).items()} == {
            q: set(p) for q, p in lists_of(first).items()
        }
        result = experiment.run_system(collection, task, system)
        assert any(line.startswith("candidates hold") for line in notices(result))
        assert all(scores.extras["ceiling"] >= scores.extras["mean_best"] - 1e-12 for scores in result.scores)
    # A lens over documents: every passage of a document that was a candidate is one.
    system = made["documents"](Rerank(catalog.system("bm25"), Overlap(), depth=2))
    run = retrieve(task, system)
    assert run.candidates is not None
    chosen = lists_of(retrieve(task, made["documents"](catalog.system("bm25")), depth=1000))
    parent = dict(zip(task.passages.ids, task.passages.spans.document.tolist()))  # type: ignore[union-attr]
    for query, own in lists_of(run.candidates).items():
        documents = {parent[p] for p in own}
        assert set(own) == {p for p in chosen[query] if parent[p] in documents}
        assert len(documents) >= min(2, len({parent[p] for p in chosen[query]}))
    assert plain.candidates is not None
    assert retrieve(task, made["titled"](catalog.system("bm25"))).candidates is None


def test_candidates_behind_a_lens_are_eligible() -> None:
    task = dated_task()
    run = retrieve(task, Same(Rerank(catalog.system("bm25"), Overlap(), depth=50)))
    assert run.candidates is not None
    owner = np.repeat(np.arange(len(run.queries)), np.diff(run.candidates.offsets))
    assert task.eligibility.allows(owner, run.candidates.passage).all()


def test_a_query_without_candidates_and_unjudged_queries() -> None:
    task = small(["fee one", "tax"], ["fee", "rent"])
    run = retrieve(task, Rerank(catalog.system("bm25"), Overlap(), depth=3))
    assert run.candidates is not None
    assert lists_of(run)["rent"] == []
    found = ceiling(run, run.candidates, task.qrels, [parse("RR@10")])
    assert (found.held, found.relevant, found.recall, found.means["RR@10"]) == (1, 2, 0.5, 0.5)
    other = ceiling(run, run.candidates, Qrels.of([("nobody", "tax", 1)]), [parse("RR@10")])
    assert (other.held, other.recall, other.means["RR@10"]) == (0, 0.0, 0.0)


def test_a_composite_of_re_rankers() -> None:
    # A re-ranked list is a list as any other: it can be fused, searched through a lens, and re-ranked again.
    task = chunk_task()
    inner = Rerank(catalog.system("bm25"), Overlap(), depth=6)
    outer = Rerank(inner, Overlap(), depth=2)
    assert lists_of(retrieve(task, inner, depth=9)) == lists_of(retrieve(task, outer, depth=9))
    fused = type(catalog.system("fusion(bm25, bm25)"))(inner, catalog.system("bm25"))
    assert same(retrieve(task, fused, depth=5), retrieve(task, fused, depth=5, seed=3))


def floats(values: list[float]) -> npt.NDArray[np.float64]:
    return np.array(values, np.float64)


def test_scores_by_hand() -> None:
    offsets = np.array([0, 3, 3, 5])
    chosen = np.array([True, False, False, True, True])
    got = reranked(offsets, floats([5, 4, 4, 2, 1]), chosen, floats([0.25, -7, 2**53]))
    assert got.tolist() == [0.25, -1.0, -1.0, -7.0, 2.0**53]
    huge = reranked(np.array([0, 3]), floats([3, 2, 1]), np.array([True, False, False]), floats([-(2.0**60)]))
    assert -(2.0**60) > huge[1] > huge[2]
