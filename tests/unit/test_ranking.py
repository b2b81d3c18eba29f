"""Ranking kernels: the NumPy definition against brute force, and the compiled form against the definition."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.kernels import ranking

SCORES = [0.0, -0.0, 1.0, 1.5, 2.0, -1.0, 1e300, 0.1 + 0.2, 0.3]
Lists = list[list[tuple[int, float]]]
lists_of_rows = st.lists(st.lists(st.tuples(st.integers(0, 7), st.sampled_from(SCORES)), max_size=60), max_size=6)


def arrays(lists: Lists) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    offsets = np.concatenate([[0], np.cumsum([len(rows) for rows in lists])]).astype(np.int64)
    passage = np.array([p for rows in lists for p, _ in rows], np.int32)
    score = np.array([s for rows in lists for _, s in rows], np.float64)
    return offsets, passage, score, np.array([3, 1, 7, 0, 2, 6, 5, 4], np.int32)


def in_order(rows: list[tuple[int, float]], rank: np.ndarray) -> list[tuple[int, float]]:
    return sorted(rows, key=lambda row: (row[1], rank[row[0]]), reverse=True)


@given(lists_of_rows)
@settings(max_examples=200, deadline=None)
def test_ranked_lists_are_in_order_and_stable(lists: Lists) -> None:
    offsets, passage, score, rank = arrays(lists)
    got_passage, got_score = ranking.ranked(offsets, passage, score, rank)
    wanted = [row for rows in lists for row in in_order(rows, rank)]
    assert list(zip(got_passage.tolist(), got_score.tolist())) == wanted
    assert len(ranking.unordered_lists(offsets, got_passage, got_score, rank)) == 0
    wrong = [i for i, rows in enumerate(lists) if not in_place(rows, rank)]
    assert ranking.unordered_lists(offsets, passage, score, rank).tolist() == wrong


def in_place(rows: list[tuple[int, float]], rank: np.ndarray) -> bool:
    keys = [(s, rank[p]) for p, s in rows]
    return all(a >= b for a, b in pairwise(keys))


@given(lists_of_rows, st.integers(1, 4))
@settings(max_examples=200, deadline=None)
def test_compiled_forms_equal_the_definitions(lists: Lists, threads: int) -> None:
    offsets, passage, score, rank = arrays(lists)
    wrong = ranking.unordered_lists_numpy(offsets, passage, score, rank)
    compiled = ranking.unordered_lists_compiled(offsets, passage, score, rank)
    assert (wrong.tolist(), wrong.dtype) == (compiled.tolist(), compiled.dtype)
    if len(wrong):
        one = ranking.ranked_lists_numpy(wrong, offsets, passage, score, rank)
        two = ranking.ranked_lists_compiled(wrong, offsets, passage, score, rank, threads=threads)
        assert one[0].tolist() == two[0].tolist()
        assert one[1].view(np.int64).tolist() == two[1].view(np.int64).tolist()
    found = ranking.repeated_passage_numpy(offsets, passage, passages=8)
    assert found == ranking.repeated_passage_compiled(offsets, passage, passages=8)


@pytest.mark.parametrize("order", ["random", "falling", "rising", "nearly", "tied"])
def test_compiled_sort_of_long_lists(order: str) -> None:
    rng = np.random.default_rng(0)
    lengths = [1, 2, 15, 16, 17, 33, 1000, 4099]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    passage = np.concatenate([rng.permutation(5000)[:n] for n in lengths]).astype(np.int32)
    score = rng.random(len(passage))
    if order == "tied":
        score = np.floor(score * 3)
    elif order != "random":
        score = np.concatenate([np.sort(score[a:b]) for a, b in pairwise(offsets)])
        score = score if order == "rising" else -score
    if order == "nearly":
        score[::50] += 1e-4
    rank = rng.permutation(5000).astype(np.int32)
    lists = np.arange(len(lengths))
    one = ranking.ranked_lists_numpy(lists, offsets, passage, score, rank)
    for threads in (1, 2):
        two = ranking.ranked_lists_compiled(lists, offsets, passage, score, rank, threads=threads)
        assert np.array_equal(one[0], two[0])
        assert np.array_equal(one[1], two[1])


def test_size_chooses_the_form_and_the_result_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    offsets, passage, score, rank = arrays([[(1, 1.0), (2, 2.0), (0, 1.0)], [(5, 1.0), (5, 0.5)]])

    def results() -> list[object]:
        rows, scores = ranking.ranked(offsets, passage, score, rank)
        found = ranking.repeated_passage(offsets, passage, passages=8)
        return [rows.tolist(), scores.tolist(), found, ranking.unordered_lists(offsets, passage, score, rank).tolist()]

    small = results()
    monkeypatch.setattr(ranking, "LARGE", 0)
    monkeypatch.setattr(ranking, "LARGE_SORT", 0)
    assert results() == small
    assert small[2:] == [(1, 5), [0]]


def test_inputs_are_left_alone() -> None:
    offsets, passage, score, rank = arrays([[(1, 1.0), (2, 2.0)], [(3, 2.0), (4, 1.0)]])
    before = passage.copy(), score.copy()
    ranking.ranked_lists_compiled(np.array([0, 1]), offsets, passage, score, rank)
    ranking.ranked(offsets, passage, score, rank)
    assert np.array_equal(before[0], passage)
    assert np.array_equal(before[1], score)
    ordered = arrays([[(2, 2.0), (1, 1.0)]])
    assert ranking.ranked(*ordered)[0] is ordered[1]


@given(lists_of_rows)
@settings(deadline=None)
def test_repeats(lists: Lists) -> None:
    offsets, passage, _, _ = arrays(lists)
    wanted = [p in [other for other, _ in rows[:i]] for rows in lists for i, (p, _) in enumerate(rows)]
    assert ranking.repeats(offsets, passage).tolist() == wanted
    found = ranking.repeated_passage_numpy(offsets, passage, passages=8)
    assert (found is not None) == any(wanted)


def test_nothing_at_all() -> None:
    nothing = (np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0), np.zeros(0, np.int32))
    assert len(ranking.ranked(*nothing)[0]) == 0
    assert ranking.repeated_passage(nothing[0], nothing[1], passages=0) is None
    assert ranking.repeated_passage_compiled(nothing[0], nothing[1], passages=0) is None
    assert ranking.unordered_lists_compiled(*nothing).tolist() == []
