"""Fusion: scales, sums, missing lists and ties, against a small definition over dictionaries."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay import catalog
from assay.call import short_call
from assay.errors import UnknownNameError, UsageError
from assay.harness import retrieve, retrieve_each
from assay.kernels.fusing import METHODS, best_groups, fused, normalised, shared_ranks
from assay.retrieval.fusion import Fusion
from assay.system import PassageView, QueryView, RankedRows
from tiny import chunk_task, dated_task, task_of

quick = settings(max_examples=150, deadline=None)
List = dict[str, float]


@dataclass(frozen=True)
class Fixed:
    """A black box with a list for every query text, all of it, whatever the depth; ids are texts."""

    lists: Mapping[str, Mapping[str, float]]
    asked: Any = None
    name: ClassVar[str] = "fixed"
    reads: ClassVar[tuple[str, ...]] = ("text:plain",)

    def search(self, passages: PassageView, queries: QueryView, *, depth: int) -> RankedRows:
        if self.asked is not None:
            self.asked.append(depth)
        place = {text: row for row, text in enumerate(passages.texts["text:plain"])}
        found = [self.lists.get(query, {}) for query in queries.texts]
        rows = [(np.array([place[p] for p in own], np.int32), np.array(list(own.values()), float)) for own in found]
        return RankedRows.joined(rows, whole_ties=True)


def fusing(*lists: Mapping[str, Mapping[str, float]], **parameters: Any) -> dict[str, dict[str, float]]:
    """What fusing the lists gives, by query and passage, for any order of the rows."""
    queries = sorted({query for own in lists for query in own})
    passages = sorted({p for own in lists for found in own.values() for p in found})
    task = task_of([(query, passages[0], 1) for query in queries], passages)
    system = Fusion(*(Fixed(own) for own in lists), **parameters)
    runs = [retrieve(task, system, depth=50, seed=seed) for seed in (0, 1)]
    assert runs[0].triples() == runs[1].triples()
    return {q: {p: s for x, p, s in runs[0].triples() if x == q} for q in queries}


def ranks(*ids: str) -> List:
    return {p: -float(place) for place, p in enumerate(ids)}


def defined(found: List, method: str) -> List:
    """The definition of every scale, passage by passage."""
    if not found:
        return {}
    scores = list(found.values())
    low, high, n = min(scores), max(scores), len(scores)
    if method == "rrf":
        return {p: 1 / (60 + 1 + sum(other > s for other in scores)) for p, s in found.items()}
    if low == high:
        return dict.fromkeys(found, 1.0)
    if method == "zscore":
        mean, spread = statistics.fmean(scores), statistics.pstdev(scores)
        return {p: 1 / (1 + math.exp(-(s - mean) / spread)) for p, s in found.items()}
    below = low - (high - low) / (n - 1) if method == "minmax" else low
    return {p: (s - below) / (high - below) for p, s in found.items()}


def scale(found: List, method: str) -> List:
    scores = normalised(np.array([0, len(found)]), np.array(list(found.values()), np.float64), method=method)
    return dict(zip(found, scores.tolist()))


def test_case_F01() -> None:
    found = fusing({"q": ranks("d1", "d2")}, {"q": ranks("d3", "d2")})["q"]
    assert {p: round(s, 6) for p, s in found.items()} == {"d2": 0.032258, "d1": 0.016393, "d3": 0.016393}
    assert next(iter(found)) == "d2"
    assert found["d1"] == found["d3"]
    later = fusing({"q": ranks("d1", "d2")}, {"q": ranks("d3", "d2")}, k=0)["q"]
    assert later == {"d1": 1.0, "d2": 1.0, "d3": 1.0}


def test_case_F02() -> None:
    a, b = {"q": {"d1": 9.0, "d2": 5.0}}, {"q": {"d3": 0.9, "d2": 0.5}}
    # The last of two gets a half from each: it is found, which is more than not to be found.
    assert fusing(a, b, method="minmax")["q"] == {"d1": 1.0, "d2": 1.0, "d3": 1.0}
    assert fusing(a, b, method="minmax(dapr)")["q"] == {"d1": 1.0, "d2": 0.0, "d3": 1.0}
    for method in ("minmax", "zscore", "minmax(dapr)"):
        assert scale({"d1": 9.0}, method) == {"d1": 1.0}
        assert scale({"d1": 9.0, "d2": 9.0}, method) == {"d1": 1.0, "d2": 1.0}
    longer = {"q": {"d1": 9.0, "d4": 8.0, "d5": 7.0, "d2": 6.0}}
    assert fusing(longer, {"q": {"d3": 0.9, "d2": 0.8, "d6": 0.1}}, method="minmax")["q"]["d2"] > 1.0


def test_case_F03() -> None:
    for method in METHODS:
        found = fusing({"q1": ranks("d1"), "q2": ranks("d1")}, {"q1": ranks("d3")}, method=method)
        assert list(found["q2"]) == ["d1"]
        assert sorted(found["q1"]) == ["d1", "d3"]
        assert found["q1"]["d1"] == found["q1"]["d3"] == found["q2"]["d1"]
    nothing = fusing({"q1": ranks("d1"), "q2": {}}, {"q1": ranks("d1"), "q2": {}})
    assert nothing["q2"] == {}


finite = st.floats(allow_nan=False, allow_infinity=False)
few = st.sampled_from([0.0, 1.0, 1.5, -3.0, 1e-300, 7.25])
scored = st.dictionaries(st.sampled_from("abcdefgh"), few | finite, max_size=8)
smooth = st.dictionaries(
    st.sampled_from("abcdefgh"), few.filter(lambda x: x != 1e-300) | st.floats(-1e3, 1e3), max_size=8
)


@quick
@given(scored, st.sampled_from(METHODS))
def test_every_passage_found_has_more_than_nothing_and_at_most_one(found: List, method: str) -> None:
    made = scale(found, method)
    assert all(s <= 1.0 for s in made.values())
    assert all(s > 0.0 or method == "minmax(dapr)" for s in made.values())
    assert all(s >= 0.0 for s in made.values())
    for a, b in ((a, b) for a in found for b in found):
        assert made[a] == made[b] or found[a] != found[b]
        assert made[a] >= made[b] or found[a] < found[b]


@quick
@given(smooth, st.sampled_from(METHODS))
def test_scales_are_those_of_the_definition(found: List, method: str) -> None:
    spread = max(found.values(), default=0.0) - min(found.values(), default=0.0)
    if 0 < spread < 1e-6 * max(map(abs, found.values())):
        return  # the definition itself loses its digits there
    expected = defined(found, method)
    assert scale(found, method) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@quick
@given(st.lists(scored, min_size=1, max_size=4), scored, st.sampled_from(METHODS), st.floats(0, 5))
def test_another_system_never_lowers_what_it_finds(lists: list[List], more: List, method: str, weight: float) -> None:
    rows = {p: row for row, p in enumerate("abcdefgh")}

    def total(parts: list[List], weights: list[float]) -> List:
        columns = []
        for part in parts:
            offsets, score = np.array([0, len(part)]), np.array(list(part.values()), np.float64)
            row = np.array([rows[p] for p in part], np.int32)
            columns.append((offsets, row, normalised(offsets, score, method=method)))
        _, row, score = fused(columns, weights, rows=8)
        return dict(zip(("abcdefgh"[r] for r in row.tolist()), score.tolist()))

    before, after = total(lists, [1.0] * len(lists)), total([*lists, more], [1.0] * len(lists) + [weight])
    assert set(before) | (set(more) if weight else set()) == set(after)
    assert all(after[p] >= s for p, s in before.items())
    if method != "minmax(dapr)" and weight > 1e-9:
        assert all(after[p] > before.get(p, 0.0) for p in more if before.get(p, 0.0) < 1e-3)


@quick
@given(
    st.lists(st.fixed_dictionaries(dict.fromkeys(("q1", "q2", "q3"), scored)), min_size=2, max_size=3),
    st.sampled_from(METHODS),
    st.lists(st.sampled_from([0.0, 0.25, 1.0, 3.0]), min_size=3, max_size=3),
)
def test_fused_lists_are_the_sums_of_the_definition(
    lists: list[dict[str, List]], method: str, weights: list[float]
) -> None:
    weights = [*weights[: len(lists) - 1], 1.0]
    if not any(found for own in lists for found in own.values()):
        return
    made = fusing(*lists, method=method, weights=weights)
    for query in ("q1", "q2", "q3"):
        expected: List = {}
        for own, weight in zip(lists, weights):
            for p, s in scale(own[query], method).items():
                if weight:
                    expected[p] = expected.get(p, 0.0) + weight * s
        assert made[query] == expected


@quick
@given(scored, st.sampled_from(METHODS), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_bit(found: List, method: str, random: Any) -> None:
    shuffled = list(found.items())
    random.shuffle(shuffled)
    made, again = scale(found, method), scale(dict(shuffled), method)
    assert {p: np.float64(s).tobytes() for p, s in made.items()} == {
        p: np.float64(s).tobytes() for p, s in again.items()
    }


def test_equal_scores_share_the_best_of_their_ranks() -> None:
    borders = np.array([0, 5, 5, 6])
    assert shared_ranks(borders, np.array([3.0, 9.0, 3.0, 1.0, 3.0, 8.0])).tolist() == [2, 1, 2, 5, 2, 1]
    # A tie inside a part stays a tie, whatever the order in which rows were handed out.
    task = chunk_task()
    for method in METHODS:
        runs = [retrieve(task, f"fusion(bm25, titled(bm25), method='{method}')", seed=s) for s in range(4)]
        assert len({run.score.tobytes() for run in runs}) == 1
        assert len({run.passage.tobytes() for run in runs}) == 1


def test_lists_without_rows() -> None:
    nothing = np.zeros(3, np.int64), np.zeros(0, np.int32), np.zeros(0)
    for method in METHODS:
        assert normalised(nothing[0], nothing[2], method=method).tolist() == []
    assert [part.tolist() for part in fused([nothing, nothing], [1.0, 2.0], rows=0)] == [[0, 0, 0], [], []]
    assert [part.tolist() for part in best_groups(*nothing, group=np.zeros(0, np.int32))] == [[0, 0, 0], [], []]


def test_a_part_that_counts_nothing_adds_no_passage() -> None:
    found = fusing({"q": ranks("a")}, {"q": ranks("b", "a")}, weights=(1, 0))["q"]
    assert list(found) == ["a"]


def test_parts_are_as_deep_as_the_run_or_deeper_where_asked() -> None:
    names = [f"p{i:02}" for i in range(40)]
    task = task_of([("q", "p00", 1)], names)
    asked: list[int] = []
    box = Fixed({"q": {p: 40.0 - i for i, p in enumerate(names)}}, asked)
    retrieve(task, Fusion(box, Fixed({}), method="minmax"), depth=3)
    shallow = max(asked)
    retrieve(task, Fusion(box, Fixed({}), method="minmax", depth=20), depth=3)
    assert shallow == 4
    assert max(asked) == 21


def test_shared_parts_are_searched_once() -> None:
    task = task_of([("q", "a", 1)], ["a", "b", "c"])
    asked: list[int] = []
    one = Fusion(Fixed({"q": ranks("a", "b")}, asked), Fixed({"q": ranks("c")}), method="minmax")
    weights = [(0.9, 0.1), (0.5, 0.5), (0.1, 0.9)]
    runs = list(retrieve_each(task, [replace(one, weights=w) for w in weights], depth=3))
    assert len(asked) == 1
    assert [run.triples() for run in runs] == [
        retrieve(task, replace(one, weights=w), depth=3).triples() for w in weights
    ]
    assert [run.spec["system"]["weights"] for run in runs] == [list(w) for w in weights]


def test_eligibility_holds_for_what_parts_find() -> None:
    task = dated_task()
    run = retrieve(task, "fusion(bm25, bm25('english'), method='minmax')", depth=3)
    owner = np.repeat(np.arange(len(run.queries)), np.diff(run.offsets))
    assert task.eligibility.allows(owner, run.passage).all()
    assert (run.lengths == 3).any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("fusion(bm25)", "two systems or more"),
        ("fusion", "two systems or more"),
        ("fusion(bm25, 3)", "3 is no system"),
        ("fusion(bm25, bm25, method='max')", "no method of fusion 'max'"),
        ("fusion(bm25, bm25, weights=(1,))", "weights must be 2 numbers"),
        ("fusion(bm25, bm25, weights=(1, -1))", "weights must be 2 numbers"),
        ("fusion(bm25, bm25, weights=(0, 0))", "not all 0"),
        ("fusion(bm25, bm25, weights=(1, 'a'))", "weights must be 2 numbers"),
        ("fusion(bm25, bm25, k=-1)", "k must be a number"),
        ("fusion(bm25, bm25, depth=0)", "depth must be a whole number of at least 1"),
    ],
)
def test_what_cannot_be_fused_is_refused(call: str, message: str) -> None:
    with pytest.raises((UsageError, UnknownNameError), match=message):
        catalog.system(call)


def test_a_fusion_is_written_as_it_is_read() -> None:
    call = "fusion(bm25, titled(bm25('english')), method='minmax', weights=[0.35, 0.65])"
    assert short_call(catalog.system(call)) == call
    assert short_call(catalog.system("fusion([bm25, bm25(k1=0.9)])")) == "fusion(bm25, bm25(k1=0.9))"
