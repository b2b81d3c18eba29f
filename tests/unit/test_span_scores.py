"""Scores for chunkings against sets of characters, and what holds for any chunking."""

from __future__ import annotations

import math
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.building.gold import project
from assay.errors import DataError, UnknownNameError, UsageError
from assay.evaluation import evaluate
from assay.evaluation.documents import chunking_scores, document_scores
from assay.evaluation.span_measure import Budget, DocumentMeasure, SpanMeasure, chunking_measure
from assay.evaluation.span_scores import span_scores
from assay.fragment import Fragments
from assay.ids import Ids
from assay.kernels.spans import first_ranks, union_lengths
from assay.passage import Passages
from assay.qrels import Qrels
from assay.query import Queries
from assay.run import Run
from assay.scores import Scores
from assay.span import Span, Spans
from assay.task import Task
from assay.texts import Texts
from assay.words import word_ends, words_of

TEXT = "a bc d'ef 日本語 ghi, j klm n 한국 op été x\u0301y z "
DOCUMENTS = ["d0", "d1", "d2"]
Triple = tuple[int, int, int]


def made(
    chunks: list[Triple],
    gold: list[tuple[int, Triple, int]],
    lists: dict[str, list[tuple[int, float]]],
    depth: int | None = None,
    **changes: Any,
) -> tuple[Task, Run]:
    """A task of three queries over documents that all hold `TEXT`, and a run; chunk `i` is `p<i>` (a document without
    chunks may be named by gold)."""
    spans, queries = Spans.of(*chunks), Ids.of(["q0", "q1", "q2"])
    ids = Ids.of(f"p{row:02}" for row in range(len(chunks)))
    texts = Texts.of((TEXT * 3)[start:end] for _, start, end in chunks)
    # Codes of documents differ between passages and fragments.
    passages = Passages(ids, {"plain": texts}, Ids.of(DOCUMENTS), spans)
    order = [2, 0, 1, 3]
    named = Ids.of([(*DOCUMENTS, "elsewhere")[i] for i in order])
    fragments = Fragments(
        queries,
        named,
        np.array([q for q, _, _ in gold], np.int32),
        Spans.of(*((order.index(d), start, end) for _, (d, start, end), _ in gold)),
        np.array([grade for _, _, grade in gold], np.int32),
    )
    judged = project(fragments, passages).qrels
    qrels = Qrels.from_columns(
        queries,
        judged.passages,
        query=queries.codes(judged.queries)[judged.query],
        passage=judged.passage,
        grade=judged.grade,
    )
    pool = Queries(queries, {"plain": Texts.of(["?"] * 3)})
    task = Task("t", "test", pool, passages, qrels, fragments=fragments, **changes)
    run = Run.of({q: {f"p{row:02}": score for row, score in found} for q, found in lists.items()}, depth=depth)
    return task, run


def scored(task: Task, run: Run, *names: str, **options: Any) -> dict[str, Scores]:
    return {s.measure: s for s in span_scores(run, task, names, resamples=10, **options)}


def ranked(*rows: int) -> list[tuple[int, float]]:
    return [(row, float(-place)) for place, row in enumerate(rows)]


# The definitions, over sets of (document, character).


def characters(spans: list[Triple]) -> set[tuple[int, int]]:
    return {(d, c) for d, start, end in spans for c in range(start, end)}


def cut(chunks: list[Triple], budget: str, amount: int, extra: list[int]) -> tuple[list[Triple], int]:
    """What is read of chunks in rank order, and what it costs in characters."""
    read, cost, left = [], 0, amount
    for (d, start, end), more in zip(chunks, extra):
        if left <= 0:
            break
        if budget == "chunks":
            read.append((d, start, end))
            cost, left = cost + more + end - start, left - 1
        elif budget == "chars":
            seen = min(left, more + end - start)
            read.append((d, start, start + max(0, seen - more)))
            cost, left = cost + seen, left - seen
        else:
            ends = word_ends((TEXT * 3)[start:end])
            stop = end if len(ends) <= left else start + ends[left - 1]
            read.append((d, start, stop))
            cost, left = cost + stop - start, left - min(left, len(ends))
    return read, cost


def defined(name: str, read: list[Triple], cost: int, gold: list[tuple[Triple, int]]) -> float:
    held, wanted = characters(read), characters([span for span, _ in gold])
    hit, summed = len(held & wanted), sum(end - start for _, start, end in read)
    fragments = [(characters([span]), grade) for span, grade in gold if span[1] < span[2]]

    def rank(fragment: set[tuple[int, int]], share: float) -> float:
        for place in range(1, len(read) + 1):
            if len(characters(read[:place]) & fragment) >= max(1, share * len(fragment)):
                return place
        return math.inf

    def over(part: float, whole: float) -> float:
        return part / whole if whole else 0.0

    head, _, form = name.rstrip(")").partition("(")
    if head in ("DFR", "fragment_recall"):
        share = 0.0 if form == "t>0" else float(form[2:])
        ranks = [(rank(f, share), grade) for f, grade in fragments]
        if head == "DFR":
            return over(sum(g / math.log2(1 + r) for r, g in ranks), sum(g for _, g in ranks))
        return over(sum(r < math.inf for r, _ in ranks), len(ranks))
    if not wanted:
        return 0.0
    return {
        "recall": lambda: over(hit, len(wanted)),
        "recall(sum)": lambda: over(hit, sum(len(f) for f, _ in fragments)),
        "precision(union)": lambda: over(hit, len(held)),
        "precision(read)": lambda: over(hit, cost),
        "precision(sum)": lambda: over(hit, summed),
        "IoU": lambda: over(hit, len(held | wanted)),
        "IoU(sum)": lambda: over(hit, summed + sum(len(f - held) for f, _ in fragments)),
    }[name]()


READ = ["recall", "recall(sum)", "precision(union)", "precision(read)", "precision(sum)", "IoU", "IoU(sum)"]
OF_FRAGMENTS = [f"{head}({form})" for head in ("DFR", "fragment_recall") for form in ("t=1", "t=0.5", "t>0")]
CHUNK = st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(0, 25)).map(lambda r: (r[0], r[1], r[1] + r[2]))
GOLD = st.tuples(
    st.integers(0, 2),
    st.tuples(st.integers(0, 3), st.integers(0, 40), st.integers(0, 15)).map(lambda r: (r[0], r[1], r[1] + r[2])),
    st.integers(0, 3),
)


@st.composite
def cases(draw: Any, chunks: Any = None) -> tuple[list[Triple], list[Any], dict[str, list[tuple[int, float]]]]:
    cuts = draw(st.lists(CHUNK, min_size=1, max_size=8)) if chunks is None else chunks
    rows = st.lists(st.integers(0, len(cuts) - 1), unique=True, max_size=len(cuts))
    lists = draw(st.dictionaries(st.sampled_from(["q0", "q1", "q2"]), rows, min_size=1))
    return cuts, draw(st.lists(GOLD, max_size=6)), {q: ranked(*found) for q, found in lists.items()}


@settings(deadline=None, max_examples=150)
@given(
    cases(),
    st.sampled_from(["chunks", "chars", "words"]),
    st.integers(1, 30),
    st.lists(st.integers(0, 6), min_size=8, max_size=8),
)
def test_scores_are_the_definition(case: Any, unit: str, amount: int, extra: list[int]) -> None:
    chunks, gold, lists = case
    task, run = made(chunks, gold, lists)
    extra = [0] * 8 if unit == "words" else extra
    names = [f"{name}@{amount}{unit}" for name in READ + OF_FRAGMENTS] + OF_FRAGMENTS
    given_extra = None if unit == "words" else np.array(extra[: len(chunks)])
    found = scored(task, run, *names, extra=given_extra)
    for query in range(3):
        rows = [row for row, _ in lists.get(f"q{query}", [])]
        mine = [(span, grade) for q, span, grade in gold if q == query and grade >= 1]
        for name in names:
            head, _, budget = name.partition("@")
            limit = (unit, amount) if budget else ("chunks", 99)
            read, cost = cut([chunks[r] for r in rows], *limit, [extra[r] for r in rows])
            assert found[name].value[query] == pytest.approx(defined(head, read, cost, mine)), name


@settings(deadline=None, max_examples=100)
@given(cases())
def test_a_chunking_alone_is_the_definition(case: Any) -> None:
    chunks, gold, lists = case
    task, run = made(chunks, gold, lists)
    found = scored(
        task, run, "precision(omega)", "recall(reachable)", "recall(ceiling)@2chunks", "recall(ceiling)@9chars"
    )
    for query in range(3):
        wanted = characters([span for q, span, grade in gold if q == query and grade >= 1])
        useful = [chunk for chunk in chunks if characters([chunk]) & wanted]
        covered = len(characters(useful) & wanted)
        whole = len(wanted) or 1
        assert found["recall(reachable)"].value[query] == pytest.approx(covered / whole)
        assert found["precision(omega)"].value[query] == pytest.approx(
            covered / (len(characters(useful) | wanted) or 1)
        )
        best = max(
            (len(characters(list(pair)) & wanted) for pair in combinations([*useful, (0, 0, 0), (0, 0, 0)], 2)),
            default=0,
        )
        two = found["recall(ceiling)@2chunks"].value[query] * whole
        # Greedy choice covers at least 1 - 1/e of the best cover (Nemhauser, Wolsey, Fisher, 1978).
        assert (1 - 1 / math.e) * best - 1e-9 <= two <= best + 1e-9
        nine = max(
            (
                len(characters(cut(list(p), "chars", 9, [0] * 8)[0]) & wanted)
                for p in permutations(useful, min(len(useful), 3))
            ),
            default=0,
        )
        if len(useful) <= 3:
            assert found["recall(ceiling)@9chars"].value[query] * whole <= nine + 1e-9


@settings(deadline=None, max_examples=100)
@given(cases(), st.integers(1, 40), st.integers(1, 40), st.sampled_from(["chunks", "chars", "words"]))
def test_what_holds_for_any_chunking(case: Any, one: int, other: int, unit: str) -> None:
    chunks, gold, lists = case
    task, run = made(chunks, gold, lists)
    low, high = sorted((one, other))
    names = [f"{name}@{b}{unit}" for name in READ + OF_FRAGMENTS for b in {low, high}]
    found = {name: s.value for name, s in scored(task, run, *names, "recall(reachable)", "precision(omega)").items()}
    for value in found.values():
        assert ((value >= 0) & (value <= 1)).all()
    for budget in {low, high}:
        recall, precision = found[f"recall@{budget}{unit}"], found[f"precision(union)@{budget}{unit}"]
        assert (found[f"IoU@{budget}{unit}"] <= np.minimum(recall, precision) + 1e-12).all()
        assert (found[f"precision(read)@{budget}{unit}"] <= precision + 1e-12).all()
        assert (recall <= found["recall(reachable)"] + 1e-12).all()
        assert (found[f"fragment_recall(t=1)@{budget}{unit}"] <= found[f"fragment_recall(t>0)@{budget}{unit}"]).all()
    for name in ["recall", "recall(sum)", *OF_FRAGMENTS]:
        assert (found[f"{name}@{low}{unit}"] <= found[f"{name}@{high}{unit}"] + 1e-12).all()


@settings(deadline=None, max_examples=60)
@given(cases(), st.data())
def test_a_chunk_in_two_adjacent_halves_changes_nothing_at_a_budget_of_characters(case: Any, data: Any) -> None:
    chunks, gold, lists = case
    halved, rows = [], []
    for d, start, end in chunks:
        middle = data.draw(st.integers(start, end))
        rows.append((len(halved), len(halved) + 1))
        halved += [(d, start, middle), (d, middle, end)]
    names = [f"{name}@{b}chars" for name in READ for b in (3, 10, 50)]
    whole = scored(*made(chunks, gold, lists), *names)
    split = {q: ranked(*(half for row, _ in found for half in rows[row])) for q, found in lists.items()}
    parts = scored(*made(halved, gold, split), *names)
    for name in names:
        assert np.allclose(whole[name].value, parts[name].value)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.data())
def test_no_run_beats_the_ceiling_of_disjoint_chunks(lengths: list[int], data: Any) -> None:
    ends = np.cumsum(lengths).tolist()
    chunks = [(0, end - length, end) for length, end in zip(lengths, ends)]
    chunks, gold, lists = data.draw(cases(chunks))
    k = data.draw(st.integers(1, 6))
    found = scored(*made(chunks, gold, lists), f"recall@{k}chunks", f"recall(ceiling)@{k}chunks")
    assert (found[f"recall@{k}chunks"].value <= found[f"recall(ceiling)@{k}chunks"].value + 1e-12).all()


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 20), st.integers(0, 9)), max_size=12))
def test_unions_are_sets_of_characters(rows: list[tuple[int, int, int, int]]) -> None:
    owner, axis, start, length = np.array(rows, np.int64).reshape(-1, 4).T
    found = union_lengths(owner, axis, start, start + length, owners=4)
    sets = [{(a, c) for o, a, s, n in rows if o == own for c in range(s, s + n)} for own in range(4)]
    assert found.tolist() == [len(held) for held in sets]


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 20), st.integers(0, 9), st.integers(1, 9)), max_size=12),
    st.lists(st.integers(1, 25), min_size=3, max_size=3),
)
def test_first_ranks_are_found(rows: list[tuple[int, int, int, int]], needed: list[int]) -> None:
    owner, start, length, rank = np.array(rows, np.int64).reshape(-1, 4).T
    found = first_ranks(owner, start, start + length, rank, needed=np.array(needed, np.float64))
    for own in range(3):
        ranks = [
            r
            for r in range(1, 10)
            if len({c for o, s, n, at in rows if o == own and at <= r for c in range(s, s + n)}) >= needed[own]
        ]
        assert found[own] == (ranks[0] if ranks else 0)


@settings(deadline=None)
@given(st.text("ab_ -.,'日本語한é\u0301\u0130ßΣ\n\u00a0𝒳ก", max_size=30))
def test_words_end_where_they_are_counted(text: str) -> None:
    ends = word_ends(text)
    assert len(ends) == len(words_of(Texts.of([text])).code)
    assert ends == sorted(ends)
    assert all(0 < end <= len(text) for end in ends)
    for number, end in enumerate(ends, 1):
        assert len(words_of(Texts.of([text[:end]])).code) >= number


# Cases from the field.


def test_case_E01() -> None:
    """Overlapping chunks are joined: characters covered and characters read are two numbers."""
    task, run = made([(0, 0, 60), (0, 40, 100)], [(0, (0, 0, 100), 1)], {"q0": ranked(0, 1)})
    names = ["recall@2chunks", "precision(union)@2chunks", "IoU@2chunks", "precision(read)@2chunks"]
    found = scored(task, run, *names)
    assert [round(found[name].value[0], 4) for name in names] == [1.0, 1.0, 1.0, 0.8333]


def test_case_E03() -> None:
    """A chunk that only touches gold does not contain any of it."""
    assert Span(0, 10).shared(Span(10, 20)) == 0
    task, run = made([(0, 10, 20)], [(0, (0, 0, 10), 1)], {"q0": ranked(0)})
    names = ("recall@1chunks", "IoU@1chunks", "IoU(sum)@1chunks", "precision(omega)", "DFR(t>0)", "recall(reachable)")
    assert [s.value[0] for s in scored(task, run, *names).values()] == [0.0] * 6
    assert len(task.qrels) == 0


def test_case_E05() -> None:
    """Two overlapping chunks with the same fragment find one fragment of two."""
    gold = [(0, (0, 0, 10), 1), (0, (0, 50, 60), 1)]
    task, run = made([(0, 0, 20), (0, 5, 25)], gold, {"q0": ranked(0, 1)})
    found = scored(task, run, "fragment_recall(t=1)@2chunks", "fragment_recall(t>0)@2chunks", "DFR(t>0)@2chunks")
    assert [s.value[0] for s in found.values()] == [0.5, 0.5, 0.5]
    assert evaluate(run, task.qrels, ["P@2"], resamples=10)[0].value[0] == 1.0


def test_case_E06() -> None:
    """nDCG changes with the chunking alone; what is read does not."""
    gold = [(0, (0, 0, 100), 1)]
    one, run_one = made([(0, 0, 100)], gold, {"q0": ranked(0)})
    two, run_two = made([(0, 0, 50), (0, 50, 100)], gold, {"q0": ranked(0)})
    assert evaluate(run_one, one.qrels, ["nDCG@2"], resamples=10)[0].value[0] == 1.0
    assert round(evaluate(run_two, two.qrels, ["nDCG@2"], resamples=10)[0].value[0], 4) == 0.6131
    name = "recall@2chunks"
    assert scored(one, run_one, name)[name].value[0] == 1.0
    assert scored(two, run_two, name)[name].value[0] == 0.5
    equal = "recall@50chars"
    assert scored(one, run_one, equal)[equal].value[0] == scored(two, run_two, equal)[equal].value[0] == 0.5


def test_case_E07() -> None:
    """Chunks are grouped to documents first, and cut then: three documents are looked at, not one."""
    chunks = [(0, 0, 5), (0, 5, 10), (0, 10, 15), (1, 0, 5), (2, 0, 5)]
    gold = [(0, (0, 0, 5), 1), (0, (1, 0, 5), 1), (0, (2, 40, 45), 2), (1, (3, 0, 5), 1)]
    task, run = made(chunks, gold, {"q0": [(0, 0.9), (1, 0.8), (2, 0.7), (3, 0.6), (4, 0.5)]})
    wanted = [
        DocumentMeasure(m.measure)
        for m in map(chunking_measure, ("documents(R@3)", "documents(P@3)", "documents(R@1)"))
        if isinstance(m, DocumentMeasure)
    ]
    found = document_scores(run, task, wanted, resamples=10)
    assert [s.measure for s in found] == ["documents(R@3)", "documents(P@3)", "documents(R@1)"]
    # Document d2 is gold although its fragment lies in no chunk; q1's document has no chunk at all.
    assert [s.value[0] for s in found] == [1.0, 1.0, pytest.approx(1 / 3)]
    assert found[0].value[1] == 0.0
    assert (found[0].counts.queries, found[0].counts.missing, found[0].counts.without_relevant) == (3, 2, 1)
    assert (
        chunking_scores(run, task, [chunking_measure("recall@1chunks"), *wanted], resamples=10)[0].measure
        == "recall@1chunks"
    )
    # Without grouping, the first three ranks are one document.
    assert evaluate(run, task.qrels, ["R@3"], resamples=10)[0].value[0] == 0.5


def test_documents_need_no_fragments() -> None:
    task, run = made([(0, 0, 5), (1, 0, 5)], [(0, (1, 0, 5), 2)], {"q0": ranked(0, 1)})
    bare = Task(task.name, task.split, task.pool, task.passages, task.qrels)
    for one in (task, bare):
        [scores] = document_scores(run, one, [chunking_measure("documents(RR@10)")], resamples=10)
        assert scores.value.tolist() == [0.5, 0.0, 0.0]
    flat = Task("t", "test", task.pool, Passages(task.passages.ids, task.passages.texts), task.qrels)
    with pytest.raises(UsageError, match="no documents"):
        document_scores(run, flat, [], resamples=10)


def test_a_document_has_the_highest_grade_of_its_fragments() -> None:
    """Fragments of zero length make no document gold, whatever their grade."""
    gold = [(0, (0, 0, 5), 1), (0, (0, 5, 9), 3), (0, (0, 2, 4), 2), (0, (1, 0, 5), 1), (1, (1, 3, 3), 3)]
    task, run = made([(0, 0, 9), (1, 0, 9)], gold, {"q0": ranked(1, 0), "q1": ranked(1)})
    [scores] = document_scores(run, task, [chunking_measure("documents(nDCG@10)")], resamples=10)
    best = 3 + 1 / math.log2(3)
    assert scores.value.tolist() == [pytest.approx((1 + 3 / math.log2(3)) / best), 0.0, 0.0]
    assert scores.counts.without_relevant == 2


# Counts, ties, bounds.


def test_what_qualifies_a_mean_is_counted() -> None:
    gold = [(0, (0, 0, 10), 1), (0, (0, 5, 5), 1), (0, (3, 0, 10), 1), (1, (0, 0, 10), 0)]
    task, run = made([(0, 0, 10)], gold, {"q0": ranked(0), "q1": [], "stranger": ranked(0)})
    scores = scored(task, run, "recall@5chunks")["recall@5chunks"]
    assert scores.value.tolist() == [0.5, 0.0, 0.0]
    c = scores.counts
    assert (c.queries, c.missing, c.empty, c.without_relevant, c.extra) == (3, 1, 1, 2, 1)
    assert {
        k: scores.extras[k] for k in ("gold_characters", "gold_fragments", "empty_fragments", "unknown_fragments")
    } == {
        "gold_characters": 20,
        "gold_fragments": 2,
        "empty_fragments": 1,
        "unknown_fragments": 1,
    }
    assert scores.extras["mean_with_relevant"] == 0.5
    assert scores.extras["reachable"] == pytest.approx(0.5 / 3)
    assert scores.extras["characters_read"] == pytest.approx(10 / 3)
    assert scores.interval.n == 3


def test_equal_scores_are_tried_in_other_orders() -> None:
    chunks = [(0, 0, 10), (0, 20, 30), (0, 40, 50)]
    task, run = made(
        chunks,
        [(0, (0, 0, 10), 1), (1, (0, 0, 10), 1)],
        {"q0": [(0, 1.0), (1, 1.0)], "q1": [(0, 2.0), (1, 1.0), (2, 1.0)]},
    )
    scores = scored(
        task, run, "recall@1chunks", "recall@2chunks", "DFR(t=1)@2chunks", "recall@5chars", "precision(omega)"
    )
    one = scores["recall@1chunks"]
    # The higher id stands first in the house's order.
    assert (one.value[0], one.worst[0], one.best[0]) == (0.0, 0.0, 1.0)
    assert 0.3 < one.expected[0] < 0.7
    assert (one.counts.ties, one.extras["expected_from_orders"]) == (1, 100)
    assert (scores["recall@2chunks"].counts.ties, scores["recall@2chunks"].value[0]) == (0, 1.0)
    dfr = scores["DFR(t=1)@2chunks"]
    assert (dfr.value[0], dfr.worst[0], dfr.best[0]) == (
        pytest.approx(1 / math.log2(3)),
        pytest.approx(1 / math.log2(3)),
        1.0,
    )
    assert scores["recall@5chars"].best[0] == 0.5
    assert scores["precision(omega)"].counts.ties == 0
    assert one.expected.tolist() == scored(task, run, "recall@1chunks")["recall@1chunks"].expected.tolist()


@settings(deadline=None, max_examples=60)
@given(
    st.lists(CHUNK, min_size=3, max_size=3),
    st.lists(GOLD, min_size=1, max_size=4),
    st.lists(st.sampled_from([1.0, 2.0]), min_size=3, max_size=3),
    st.sampled_from(
        [*(f"{name}@{b}" for name in READ + OF_FRAGMENTS for b in ("1chunks", "2chunks", "12chars")), "DFR(t=1)"]
    ),
)
def test_best_and_worst_are_those_of_all_orders(chunks: Any, gold: Any, scores: list[float], name: str) -> None:
    task, run = made(chunks, gold, {"q0": list(enumerate(scores))})
    found = scored(task, run, name)[name]
    head, _, budget = name.partition("@")
    unit, amount = (budget.lstrip("0123456789"), int(budget.rstrip("chunkars"))) if budget else ("chunks", 99)
    mine = [(span, grade) for q, span, grade in gold if q == 0 and grade >= 1]
    orders = [p for p in permutations(range(3)) if [scores[row] for row in p] == sorted(scores, reverse=True)]
    values = [defined(head, *cut([chunks[row] for row in p], unit, amount, [0] * 3), mine) for p in orders]
    assert (found.worst[0], found.best[0]) == (pytest.approx(min(values)), pytest.approx(max(values)))
    assert found.expected[0] == pytest.approx(sum(values) / len(values), abs=0.3 * (max(values) - min(values)) + 1e-9)
    assert found.counts.ties == (max(values) - min(values) > 1e-12)


def test_a_tie_at_the_depth_is_a_tie() -> None:
    chunks = [(0, 0, 10), (0, 20, 30)]
    task, run = made(chunks, [(0, (0, 0, 10), 1)], {"q0": [(0, 1.0), (1, 1.0)]}, depth=1)
    scores = scored(task, run, "recall@5chunks")["recall@5chunks"]
    assert (scores.value[0], scores.best[0], scores.counts.ties) == (0.0, 1.0, 1)


def test_a_list_that_was_cut_off_has_an_upper_bound() -> None:
    chunks = [(0, 0, 10), (0, 10, 20), (0, 20, 30)]
    gold = [(0, (0, 0, 30), 1), (0, (0, 0, 10), 2), (1, (0, 0, 10), 1)]
    task, run = made(chunks, gold, {"q0": ranked(0), "q1": ranked(0)}, depth=1)
    found = scored(
        task,
        run,
        "recall@15chars",
        "recall@3chunks",
        "recall@10chars",
        "DFR(t=1)",
        "IoU@3chunks",
        "fragment_recall(t=1)@2chunks",
    )
    assert [found[n].upper[0] for n in ("recall@15chars", "recall@3chunks", "recall@10chars")] == [
        pytest.approx(0.5),
        1.0,
        pytest.approx(1 / 3),
    ]
    assert found["recall@15chars"].counts.open == 1
    assert found["recall@10chars"].counts.open == 0
    assert found["DFR(t=1)"].value[0] == pytest.approx(2 / 3)
    assert found["DFR(t=1)"].upper[0] == pytest.approx((2 + 1 / math.log2(3)) / 3)
    assert found["fragment_recall(t=1)@2chunks"].upper.tolist() == [1.0, 1.0, 0.0]
    assert found["IoU@3chunks"].upper is None
    assert found["IoU@3chunks"].extras["short_lists"] == 2


def test_what_may_not_be_returned_is_neither_read_nor_reachable() -> None:
    chunks = [(0, 0, 10), (0, 10, 20)]
    task, run = made(chunks, [(0, (0, 0, 20), 1)], {"q0": ranked(0, 1)})
    allowed = Passages(
        task.passages.ids,
        task.passages.texts,
        task.passages.parents,
        task.passages.spans,
        candidate=np.array([False, True]),
    )
    half = Task("t", "test", task.pool, allowed, task.qrels, fragments=task.fragments)
    found = scored(half, run, "recall@2chunks", "recall(reachable)", "precision(omega)", "recall(ceiling)@2chunks")
    assert [s.value[0] for s in found.values()] == [0.5] * 4
    assert found["recall@2chunks"].counts.ineligible_removed == 1


def test_a_title_costs() -> None:
    """Ten characters of title before each chunk: the budget of 25 ends inside the second chunk."""
    task, run = made([(0, 0, 10), (0, 10, 20)], [(0, (0, 0, 20), 1)], {"q0": ranked(0, 1)})
    names = (
        "recall@25chars",
        "precision(read)@25chars",
        "precision(sum)@2chunks",
        "precision(read)@2chunks",
        "recall(ceiling)@25chars",
    )
    assert [round(s.value[0], 4) for s in scored(task, run, *names, extra=np.array([10, 10])).values()] == [
        0.5,
        0.4,
        1.0,
        0.5,
        0.5,
    ]
    assert [round(s.value[0], 4) for s in scored(task, run, *names).values()] == [1.0, 1.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("extra", [np.array([1]), np.array([1, -1]), np.array([1, 1, 1])])
def test_extra_characters_are_checked(extra: Any) -> None:
    task, run = made([(0, 0, 10), (0, 10, 20)], [], {"q0": ranked(0)})
    with pytest.raises(UsageError, match="one length of at least 0"):
        scored(task, run, "recall@5chars", extra=extra)


def test_requests_that_make_no_sense_say_why() -> None:
    task, run = made([(0, 0, 10), (0, 10, 20)], [(0, (0, 0, 5), 1)], {"q0": ranked(0)})
    with pytest.raises(UsageError, match="words"):
        scored(task, run, "recall@5words", extra=np.array([1, 1]))
    with pytest.raises(UsageError, match="no gold fragments"):
        scored(Task("t", "test", task.pool, task.passages, task.qrels), run, "recall@5chars")
    with pytest.raises(UsageError, match="no span measure"):
        scored(task, run, "RR@10")
    with pytest.raises(DataError, match="make the ids equal"):
        scored(task, Run.of({"other": {"p00": 1.0}}), "recall@5chars")


# Names.


@pytest.mark.parametrize(
    "name",
    [f"{n}@{b}" for n in READ + OF_FRAGMENTS for b in ("1chunks", "4000chars", "500words")]
    + OF_FRAGMENTS
    + ["precision(omega)", "recall(reachable)", "recall(ceiling)@5chunks", "documents(RR@10)", "documents(R(rel=2)@5)"],
)
def test_names_come_back(name: str) -> None:
    measure = chunking_measure(name)
    assert str(measure) == name
    assert chunking_measure(f" {name} ") == measure


def test_other_spellings_are_one_measure() -> None:
    assert chunking_measure("recall@4000 characters") == SpanMeasure("recall", "", Budget(4000, "chars"))
    assert chunking_measure("DFR@10chunks") == chunking_measure("DFR( t = 1.0 )@10chunk")
    assert chunking_measure("DFR(t=.5)") == chunking_measure("DFR(t=0.50)")
    for other in ("RR@10", "lenient(RR@10)", "R(rel=2)@100", "nDCG(gain=exp)@10", "", "@", "(", "bpref"):
        assert chunking_measure(other) is None


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("recall@10", UsageError, "R@10"),
        ("recall@0chars", UsageError, "at least 1"),
        ("recall@", UsageError, "recall@4000chars"),
        ("recall@5pages", UsageError, "recall@5chunks"),
        ("recall", UsageError, "needs a budget"),
        ("precision@5chunks", UsageError, r"precision\(union\)"),
        ("recall(foo)@5chunks", UsageError, "ceiling"),
        ("DFR(t=2)@5chunks", UsageError, "t>0"),
        ("DFR(t=0)@5chunks", UsageError, "t>0"),
        ("precision(omega)@5chunks", UsageError, "leave the budget out"),
        ("recall(ceiling)@5words", UsageError, "chunks or chars"),
        ("Recall@40chars", UnknownNameError, "did you mean 'recall'"),
        ("documents(XX@10)", UnknownNameError, "XX"),
        ("documents@10", UsageError, "in the brackets"),
    ],
)
def test_a_name_that_cannot_be_read_says_what_to_write(name: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        chunking_measure(name)
