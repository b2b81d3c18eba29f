"""Eligibility against its definition in two lines, for rules of every make."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assay.eligibility import Eligibility
from assay.errors import EligibilityError
from assay.searching import search_order
from tiny import dated_task, days, task_of

quick = settings(deadline=None)
DAYS = ("2021-01-01", "2021-01-02", "2021-02-01", "2022-01-01")


@dataclass(frozen=True)
class Rule:
    """What a rule is made from."""

    passages: int
    queries: int
    published: tuple[str | None, ...] | None
    asked: tuple[str, ...]
    candidate: tuple[bool, ...] | None
    excluded: tuple[tuple[int, ...], ...] | None

    def allows(self, query: int, passage: int) -> bool:
        """The definition."""
        day = DAYS[0] if self.published is None else self.published[passage]
        dated = self.published is None or (day is not None and day < self.asked[query])
        return (
            dated
            and (self.candidate is None or self.candidate[passage])
            and (self.excluded is None or passage not in self.excluded[query])
        )

    def table(self) -> list[list[bool]]:
        return [[self.allows(q, p) for p in range(self.passages)] for q in range(self.queries)]

    def built(self) -> Eligibility:
        made = Eligibility.everything(self.passages, self.queries)
        if self.published is not None:
            made = Eligibility.as_of(days(self.published), days(self.asked))
        if self.candidate is not None:
            made = made.only(np.array(self.candidate, bool))
        if self.excluded is not None:
            made = made.without(*flat(self.excluded))
        return made


def flat(lists: tuple[tuple[int, ...], ...]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.concatenate([[0], np.cumsum([len(x) for x in lists])]).astype(np.int64)
    return offsets, np.array([p for x in lists for p in x], np.int32)


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    n, m = draw(st.integers(0, 7)), draw(st.integers(0, 4))

    def rows(values: st.SearchStrategy, size: int) -> st.SearchStrategy:
        return st.lists(values, min_size=size, max_size=size).map(tuple)

    of_one = st.lists(st.integers(0, n - 1), max_size=4).map(tuple) if n else st.just(())
    return Rule(
        n,
        m,
        draw(st.none() | rows(st.sampled_from((*DAYS, None)), n)),
        draw(rows(st.sampled_from(DAYS), m)),
        draw(st.none() | rows(st.booleans(), n)),
        draw(st.none() | rows(of_one, m)),
    )


SAME_DAY = Rule(3, 2, (DAYS[1], DAYS[0], None), (DAYS[1], DAYS[2]), (True, True, True), ((1, 1), ()))


@quick
@given(rules())
@example(SAME_DAY)
def test_mask_allows_and_counts_follow_the_definition(rule: Rule) -> None:
    made, table = rule.built(), rule.table()
    assert [made.mask(q).tolist() for q in range(rule.queries)] == table
    query, passage = np.divmod(np.arange(rule.queries * rule.passages), max(1, rule.passages))
    assert made.allows(query, passage).tolist() == [may for row in table for may in row]
    assert made.allows(query[::-1], passage[::-1]).tolist() == [may for row in table for may in row][::-1]
    assert made.counts().tolist() == [sum(row) for row in table]
    assert made.counts().dtype == np.int64
    if made.unrestricted:
        assert all(map(all, table))


@quick
@given(rules(), st.randoms(use_true_random=False))
@example(SAME_DAY, None)
def test_permuted_is_the_rule_of_permuted_rows(rule: Rule, random: object) -> None:
    passages, queries = list(range(rule.passages)), list(range(rule.queries))
    if random is not None:
        random.shuffle(passages)  # type: ignore[attr-defined]
        random.shuffle(queries)  # type: ignore[attr-defined]
    made = rule.built().permuted(np.array(passages, np.int64), np.array(queries, np.int64))
    expected = [[rule.allows(q, p) for p in passages] for q in queries]
    assert [made.mask(i).tolist() for i in range(rule.queries)] == expected
    assert made.counts().tolist() == [sum(row) for row in expected]


@quick
@given(rules())
@example(SAME_DAY)
def test_search_order_and_nested_say_what_mask_says(rule: Rule) -> None:
    made = rule.built()
    rows, prefix, excluded = search_order(made)
    nested, visible = made.nested()
    assert rows.tolist() == nested.tolist()
    for q in range(rule.queries):
        seen = set(rows[: len(rows) if prefix is None else prefix[q]].tolist())
        assert seen == set(nested[: visible[q]].tolist())
        if excluded is not None:
            seen -= set(excluded[1][excluded[0][q] : excluded[0][q + 1]].tolist())
        assert sorted(seen) == np.flatnonzero(made.mask(q)).tolist()


@quick
@given(rules(), st.data())
def test_exclusions_and_candidates_add_up(rule: Rule, data: st.DataObject) -> None:
    if not rule.passages:
        return
    more = tuple(tuple(data.draw(st.lists(st.integers(0, rule.passages - 1), max_size=3))) for _ in range(rule.queries))
    other = np.array(data.draw(st.lists(st.booleans(), min_size=rule.passages, max_size=rule.passages)), bool)
    made = rule.built().without(*flat(more)).only(other)
    for q in range(rule.queries):
        expected = [rule.allows(q, p) and bool(other[p]) and p not in more[q] for p in range(rule.passages)]
        assert made.mask(q).tolist() == expected
    assert made.counts().tolist() == [int(made.mask(q).sum()) for q in range(rule.queries)]


@quick
@given(rules(), st.data())
@example(SAME_DAY, None)
def test_a_group_is_eligible_when_one_of_its_passages_is(rule: Rule, data: st.DataObject | None) -> None:
    groups: tuple[tuple[int, ...], ...] = ((0, 1), (2,), (), (1, 1))
    if data is not None:
        member = st.lists(st.integers(0, rule.passages - 1), max_size=4).map(tuple) if rule.passages else st.just(())
        groups = tuple(data.draw(st.lists(member, max_size=5)))
    made = rule.built().grouped(*flat(groups))
    assert (made.passages, made.queries) == (len(groups), rule.queries)
    for q in range(rule.queries):
        assert made.mask(q).tolist() == [any(rule.allows(q, p) for p in group) for group in groups]


def test_the_same_day_is_too_late_and_undated_is_never() -> None:
    rule = Eligibility.as_of(days(["2021-03-01", "2021-02-28", None]), days(["2021-03-01", "2030-01-01"]))
    assert rule.mask(0).tolist() == [False, True, False]
    assert rule.mask(1).tolist() == [True, True, False]


def test_a_time_of_day_does_not_count() -> None:
    published = np.array(["2021-03-01T09:00", "2021-02-28T23:59"], "datetime64[m]")
    rule = Eligibility.as_of(published, np.array(["2021-03-01T12:00"], "datetime64[m]"))
    assert rule.mask(0).tolist() == [False, True]


def test_undated_query_under_an_as_of_rule_is_an_error() -> None:
    with pytest.raises(EligibilityError, match=r"1 queries have no date.*row 2"):
        Eligibility.as_of(days(["2021-01-01"]), days(["2021-01-01", None]))


def test_no_passage_is_dated() -> None:
    assert Eligibility.as_of(days([None, None]), days(["2021-01-01"])).counts().tolist() == [0]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"candidate": np.ones(2, bool)}, "candidate has 2 rows; 3 are due"),
        ({"rank": np.zeros(3, np.int32)}, "come together"),
        ({"rank": np.zeros(3, np.int32), "cutoff": np.zeros(1, np.int32)}, "cutoff has 1 rows; 2 are due"),
        ({"excluded": np.zeros(0, np.int32)}, "come together"),
        ({"excluded": np.array([0], np.int32), "excluded_offsets": np.array([0, 1])}, "excluded_offsets has 2 rows"),
        ({"excluded": np.array([-1], np.int32), "excluded_offsets": np.array([0, 1, 1])}, "from -1 to -1 of 3"),
        ({"excluded": np.array([3], np.int32), "excluded_offsets": np.array([0, 1, 1])}, "from 3 to 3 of 3"),
    ],
)
def test_parts_that_do_not_fit_are_refused(parts: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(EligibilityError, match=message):
        Eligibility(3, 2, **parts)


def test_a_tasks_rule_is_by_day_for_the_judged_queries_alone() -> None:
    task = dated_task()
    for row, query in enumerate(task.queries.ids):
        asked = task.asked[task.pool.ids.code(query)]  # type: ignore[index]
        assert task.eligibility.mask(row).tolist() == (task.passages.dates < asked).tolist()


def test_own_passage_is_excluded_by_id() -> None:
    task = task_of([("d1", "d1copy", 1), ("q", "d1", 1)], ["d1copy", "d1", "d9"], excluded=True)
    assert task.eligibility.mask(0).tolist() == [True, False, True]
    assert task.eligibility.mask(1).tolist() == [True, True, True]


def test_mask_is_a_copy() -> None:
    rule = Eligibility.everything(4, 1).only(np.ones(4, bool))
    rule.mask(0)[:] = False
    assert rule.mask(0).all()
