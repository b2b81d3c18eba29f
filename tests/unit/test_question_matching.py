"""Question matching against its definition: for every eligible answer the best of its questions, but the query's own."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import assay
from assay import catalog
from assay.errors import ContractError, UsageError, ViewError
from assay.evaluation import evaluate
from assay.harness import retrieve
from assay.ids import Ids
from assay.kernels.fusing import spread_best
from assay.passage import Passages
from assay.qrels import Qrels
from assay.query import Queries
from assay.reports.notices import notices
from assay.sources import open_collection
from assay.system import Links, PassageView, QueryView, RankedRows
from assay.task import Task
from assay.texts import Texts
from tiny import chunk_task, dated_task, days

DAYS = ("2021-01-01", "2021-01-02", "2021-02-01", "2022-01-01")
WORDS = ("bus fare", "bus", "fare cap cap", "sewage spill", "spill fare", "", "bus bus cap")
Found = dict[tuple[str, str], float]


@dataclass(frozen=True)
class Shared:
    """A black box: how many words query and passage share; it keeps ties whole, or cuts them."""

    whole: bool = True
    name: ClassVar[str] = "shared"
    reads: ClassVar[tuple[str, ...]] = ("text:plain",)

    def search(self, passages: PassageView, queries: QueryView, *, depth: int) -> RankedRows:
        bags = [set(text.split()) for text in passages.texts["text:plain"]]
        lists = []
        for query in queries.texts:
            score = np.array([float(len(set(query.split()) & bag)) for bag in bags])
            kept = np.argsort(-score, kind="stable")[:depth]
            if self.whole and len(kept):
                kept = np.flatnonzero(score >= score[kept[-1]])
            lists.append((kept[score[kept] > 0], score[kept][score[kept] > 0]))
        return RankedRows.joined(lists, whole_ties=self.whole)


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    """Few questions, some asked again in another language, answers to none, one or several of them on few days."""
    n, more, m = draw(st.integers(1, 9)), draw(st.integers(0, 2)), draw(st.integers(1, 7))
    question = [*range(n), *(draw(st.integers(0, n - 1)) for _ in range(more))]
    texts = [draw(st.sampled_from(WORDS)) for _ in question]
    links = [draw(st.lists(st.integers(0, n + more - 1), max_size=8, unique=True)) for _ in range(m)]
    asked = days([draw(st.sampled_from(DAYS)) for _ in question])
    return task_of(
        texts,
        links,
        asked=asked,
        question=question,
        dated=[draw(st.sampled_from((*DAYS[:3], None))) for _ in links],
        candidate=draw(st.none() | st.lists(st.booleans(), min_size=m, max_size=m)),
    )


def task_of(
    texts: list[str],
    links: list[list[int]],
    *,
    asked: Any,
    dated: list[str | None],
    question: list[int] | None = None,
    candidate: list[bool] | None = None,
) -> Task:
    answers = Ids.of(f"a{i}" for i in range(len(links)))
    queries = Ids.of(f"q{i}" for i in range(len(texts)))
    return Task(
        "cite",
        "test",
        Queries(queries, {"plain": Texts.of(texts)}, asked),
        Passages(
            answers,
            {"plain": Texts.of(f"reply {i}" for i in range(len(links)))},
            dates=days(dated),
            candidate=None if candidate is None else np.array(candidate),
            link_offsets=np.concatenate([[0], np.cumsum([len(x) for x in links])]).astype(np.int64),
            link_query=np.array([row for x in links for row in x], np.int32),
        ),
        Qrels.of([(query, answers[0], 1) for query in queries]),
        views=("text:plain", "link:question"),
        asked=asked,
        question=None if question is None else np.array(question, np.int64),
    )


def linked_scores(task: Task, system: Any) -> dict[tuple[int, int], float]:
    """Scores of every linked question for every query, by row of the pool: the questions searched as passages."""
    rows = np.unique(task.passages.link_query)
    plain = {"plain": task.pool.texts["plain"].take(rows)}
    searched = replace(task, passages=Passages(task.pool.ids.take(rows), plain), views=("text:plain",), asked=None)
    run = retrieve(searched, system, depth=max(1, len(rows))) if len(rows) else []
    return {(task.pool.ids.code(q), task.pool.ids.code(p)): s for q, p, s in (run.triples() if len(rows) else [])}


def brute(task: Task, system: Any) -> Found:
    """The definition."""
    scored, found = linked_scores(task, system), {}
    for row, query in enumerate(task.rows.tolist()):
        for answer in np.flatnonzero(task.eligibility.mask(row)).tolist():
            links = task.passages.link_query[slice(*task.passages.link_offsets[answer : answer + 2])].tolist()
            others = [q for q in links if task.questions[q] != task.questions[query] and (query, q) in scored]
            if others:
                found[task.pool.ids[query], task.passages.ids[answer]] = max(scored[query, q] for q in others)
    return found


def cut(task: Task, found: Found, depth: int) -> Found:
    """The best of every query, and all that tie with the last."""
    kept = {}
    for query in task.queries.ids:
        own = sorted((s for (q, _), s in found.items() if q == query), reverse=True)
        kept |= {(q, p): s for (q, p), s in found.items() if q == query and s >= own[:depth][-1]}
    return kept


def table(run: Any) -> Found:
    return {(q, p): s for q, p, s in run.triples()}


JOINT = task_of(
    ["bus fare", "bus", "bus fare cap", "bus bus"],
    [[0, 1, 2, 3], [0], [2, 1], [3], []],
    asked=days(["2022-01-01"] * 4),
    dated=["2021-01-01", "2021-02-01", None, "2022-01-01", "2021-01-01"],
)


@given(tasks(), st.integers(1, 4), st.integers(0, 5))
@example(JOINT, 1, 0)
@example(JOINT, 2, 3)
def test_bm25_over_questions_is_the_definition(task: Task, depth: int, seed: int) -> None:
    run = retrieve(task, "question_matching(bm25)", depth=depth, seed=seed)
    assert table(run) == cut(task, brute(task, "bm25"), depth)


@given(tasks(), st.integers(1, 4), st.integers(0, 5), st.booleans())
@example(JOINT, 1, 0, False)
def test_so_is_a_black_box_over_questions(task: Task, depth: int, seed: int, whole: bool) -> None:
    run = retrieve(task, catalog.known("system")["question_matching"](Shared(whole)), depth=depth, seed=seed)
    wanted = cut(task, brute(task, Shared()), depth)
    found = table(run)
    assert found == wanted if whole else set(found.items()) <= set(wanted.items())
    for query in task.queries.ids:
        best = sorted((s for (q, _), s in found.items() if q == query), reverse=True)
        assert best[:depth] == sorted((s for (q, _), s in wanted.items() if q == query), reverse=True)[:depth]


def reciprocal(lists: list[Found], k: int = 60) -> Found:
    total: Found = {}
    for found in lists:
        for (query, one), score in found.items():
            rank = 1 + sum(s > score for (q, _), s in found.items() if q == query)
            total[query, one] = total.get((query, one), 0.0) + 1 / (k + rank)
    return total


@given(tasks(), st.integers(1, 4), st.integers(0, 5))
@example(JOINT, 2, 1)
def test_it_may_stand_in_a_fusion(task: Task, depth: int, seed: int) -> None:
    call = "fusion(question_matching(bm25), bm25, question_matching(bm25('english')), depth=1000)"
    run = retrieve(task, call, depth=depth, seed=seed)
    parts = [brute(task, "bm25"), table(retrieve(task, "bm25", depth=1000)), brute(task, "bm25('english')")]
    wanted = cut(task, reciprocal(parts), depth)
    assert table(run) == pytest.approx(wanted)


@given(tasks(), st.integers(1, 4), st.integers(0, 5))
@example(JOINT, 2, 1)
def test_a_fusion_may_search_the_questions(task: Task, depth: int, seed: int) -> None:
    # Ranks count questions that the query may see, so each query has a world of its own.
    run = retrieve(task, "question_matching(fusion(bm25, bm25('english'), depth=1000))", depth=depth, seed=seed)
    wanted: Found = {}
    for row, query in enumerate(task.rows.tolist()):
        answers = np.flatnonzero(task.eligibility.mask(row)).tolist()
        links = {a: task.passages.link_query[slice(*task.passages.link_offsets[a : a + 2])].tolist() for a in answers}
        seen = {q for own in links.values() for q in own if task.questions[q] != task.questions[query]}
        lists = []
        for call in ("bm25", "bm25('english')"):
            scored = linked_scores(task, call)
            lists.append({("", str(q)): s for (asks, q), s in scored.items() if asks == query and q in seen})
        fused = reciprocal(lists)
        for answer, own in links.items():
            scores = [fused["", str(q)] for q in own if ("", str(q)) in fused]
            wanted |= {(task.pool.ids[query], task.passages.ids[answer]): max(scores)} if scores else {}
    assert table(run) == pytest.approx(cut(task, wanted, depth))


PROGRAM = """
import json, sys
passages, queries, depth, run = sys.argv[1:]
held = [json.loads(line) for line in open(passages, encoding="utf-8")]
with open(run, "w", encoding="utf-8") as out:
    for line in open(queries, encoding="utf-8"):
        query = json.loads(line)
        words = set(query["text"].split())
        found = sorted(((len(words & set(p["text"].split())), p["id"]) for p in held), reverse=True)
        found = [x for x in found if x[0]]
        last = found[min(int(depth), len(found)) - 1][0] if found else 0
        for rank, (score, own) in enumerate((x for x in found if x[0] >= last), 1):
            out.write(f"{query['id']} Q0 {own} {rank} {score} shared\\n")
"""


@pytest.mark.parametrize("seed", [0, 3])
def test_a_program_over_questions_is_the_definition_too(tmp_path: Path, seed: int) -> None:
    script = tmp_path / "shared.py"
    script.write_text(PROGRAM)
    line = f"{shlex.quote(sys.executable)} -S {shlex.quote(str(script))} {{passages}} {{queries}} {{depth}} {{run}}"
    run = retrieve(JOINT, f"question_matching(command({line!r}))", depth=3, seed=seed)
    assert table(run) == cut(JOINT, brute(JOINT, Shared()), 3)
    assert len(run)


def test_a_question_is_found_on_the_day_after_its_first_answer() -> None:
    # q0 has an answer of January and one of February; q1 asks in between, q2 after both, q3 on the very day.
    task = task_of(
        ["bus fare", "bus", "fare", "bus"],
        [[0], [0]],
        asked=days(["2020-01-01", "2021-01-02", "2022-01-01", "2021-01-01"]),
        dated=["2021-01-01", "2021-02-01"],
    )
    found = table(retrieve(task, "question_matching(bm25)"))
    assert set(found) == {("q1", "a0"), ("q2", "a0"), ("q2", "a1")}
    assert found["q2", "a0"] == found["q2", "a1"]


def test_a_query_never_finds_its_own_question_nor_one_in_another_language_its_question() -> None:
    # Under cite a question may have an earlier answer of its own; equal texts of others are found all the same.
    task = task_of(
        ["bus fare", "bus fare", "Busfahrt fare"],
        [[0], [1]],
        asked=days(["2022-01-01"] * 3),
        dated=["2021-01-01"] * 2,
        question=[0, 1, 0],
    )
    assert set(table(retrieve(task, "question_matching(bm25)"))) == {("q0", "a1"), ("q1", "a0"), ("q2", "a1")}
    assert ("q2", "a0") in table(retrieve(replace(task, question=None), "question_matching(bm25)"))


def test_many_questions_of_one_answer_do_not_hide_the_others() -> None:
    # Forty better questions lead to one answer: a list of questions cut at the depth would hold nothing else.
    texts = ["bus", *["bus"] * 40, "bus spill spill spill", "bus spill spill cap fare"]
    links = [list(range(1, 41)), [41], [42]]
    task = task_of(texts, links, asked=days(["2022-01-01"] * 43), dated=["2021-01-01"] * 3)
    run = retrieve(replace(task, qrels=Qrels.of([("q0", "a1", 1)])), "question_matching(bm25)", depth=2)
    assert [p for _, p, _ in run.triples()] == ["a0", "a1"]


def test_no_linked_question_gives_empty_lists() -> None:
    task = task_of(["bus", "bus"], [[], []], asked=days(["2022-01-01"] * 2), dated=["2021-01-01"] * 2)
    assert np.diff(retrieve(task, "question_matching(bm25)").offsets).tolist() == [0, 0]


@pytest.mark.parametrize("name", ["answer", "answerlenient"])
def test_tasks_without_an_as_of_rule_refuse_it(name: str) -> None:
    task = replace(dated_task(), name=name, asked=None)
    for call in ("question_matching(bm25)", "fusion(bm25, question_matching(bm25))"):
        with pytest.raises(ViewError, match=f"as in task {name}, a query's own question leads to its answer"):
            retrieve(task, call)
    with pytest.raises(ViewError, match="as in task questions/precedent-without-as-of"):
        retrieve(dated_task().without_as_of(), "question_matching(bm25)")


def test_a_collection_without_links_says_so() -> None:
    task = dated_task()
    bare = replace(task, passages=replace(task.passages, link_offsets=None, link_query=None), views=("text:plain",))
    with pytest.raises(ViewError, match=r"not linked to the questions .* text-only export never is"):
        retrieve(bare, "question_matching(bm25)")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("question_matching(titled(bm25))", "reads the view 'title', which task"),
        ("question_matching(question_matching(bm25))", "does not show the view 'link:question'"),
        ("question_matching(bm25(text='coref'))", "reads the view 'text:coref'"),
    ],
)
def test_what_questions_do_not_have_is_refused(call: str, message: str) -> None:
    with pytest.raises(UsageError if "reads" in message else ContractError, match=message):
        retrieve(dated_task(), call)


def test_it_is_no_system_without_one() -> None:
    with pytest.raises(UsageError, match="4 is no system"):
        catalog.system("question_matching(4)")
    with pytest.raises(ViewError, match="these passages do not have"):
        catalog.system("question_matching(bm25)").shown(PassageView(0, {}))


@dataclass(frozen=True)
class Showing:
    """A lens that shows what it is told."""

    made: Any
    system: Any
    name: ClassVar[str] = "showing"
    reads: ClassVar[tuple[str, ...]] = ("link:question",)

    def shown(self, passages: PassageView) -> Any:
        return self.made(passages)


def relinked(view: PassageView, **changes: Any) -> PassageView:
    assert view.links is not None
    return replace(view, links=replace(view.links, **changes))


def test_a_lens_in_front_may_change_the_texts_of_questions_and_nothing_else() -> None:
    inner = catalog.system("question_matching(bm25)")
    task = dated_task()

    def shouted(view: PassageView) -> Any:
        assert view.links is not None
        return relinked(view, texts=Texts.of(text.upper() for text in view.links.texts)), None

    assert table(retrieve(task, Showing(shouted, inner))) == table(retrieve(task, inner))
    for made in (
        lambda v: (relinked(v, target=v.links.target[::-1].copy()), None),
        lambda v: (relinked(v, texts=Texts.of([*v.links.texts, "more"])), None),
        lambda v: (v, np.arange(len(v))),
    ):
        with pytest.raises(ContractError, match="links that are not those of the passages"):
            retrieve(task, Showing(made, inner))


def test_questions_shown_must_be_all_of_them_and_the_links_those_given() -> None:
    system = catalog.system("bm25")
    few = PassageView(1, {"text:plain": Texts.of(["bus"])})
    with pytest.raises(ContractError, match="shows 1 rows for 12 linked questions"):
        retrieve(dated_task(), Showing(lambda v: (few, v.links), system))
    copied = Links(Texts.of([]), np.zeros(21, np.int64), np.zeros(0, np.int32))
    with pytest.raises(ContractError, match=r"one-dimensional|not an array|whole numbers"):
        retrieve(dated_task(), Showing(lambda v: (few, copied), system))


def test_a_result_says_that_questions_were_read() -> None:
    from assay.experiment import Judging, run_system

    collection = open_collection("demo:questions")
    judging = Judging(("R@10",), resamples=50)
    lines = {}
    for call in ("bm25", "question_matching(bm25)"):
        result = run_system(collection, collection.task("cite"), catalog.system(call), judging=judging)
        assert ("link:question" in result.spec["reads"]) == (call != "bm25")
        lines[call] = [line for line in notices(result) if "link:question" in line]
    assert lines == {
        "bm25": [],
        "question_matching(bm25)": [
            "reads the view link:question: texts of the questions that earlier answers replied to"
        ],
    }


def test_chunks_have_no_questions() -> None:
    with pytest.raises(ViewError, match="under an as-of rule alone"):
        retrieve(chunk_task(), "question_matching(bm25)")


def test_members_get_the_best_score_of_their_rows_list_by_list() -> None:
    starts, member = np.array([0, 2, 2, 3]), np.array([1, 0, 1], np.int32)
    lists = np.array([0, 2, 2, 3]), np.array([0, 2, 1], np.int32), np.array([1.0, 5.0, 2.0])
    found = spread_best(*lists, starts=starts, member=member, members=2)
    assert [part.tolist() for part in found] == [[0, 2, 2, 2], [0, 1], [1.0, 5.0]]


UK = "uk_written_questions/session_2023-24"


@cache
def uk(folder: Path) -> Any:
    return assay.open(folder / UK)


def uk_means(folder: Path, name: str) -> Iterator[tuple[float, float, float]]:
    task = uk(folder).task(name, split="all")
    for call in ("bm25", "question_matching(bm25)"):
        [scores] = evaluate(retrieve(task, call), task.qrels, ["R@10"], clusters=task.clusters)
        yield tuple(round(x, 4) for x in (scores.interval.mean, scores.interval.low, scores.interval.high))


def test_uk_followup_and_cite(shared_data: Path) -> None:
    assert list(uk_means(shared_data, "followup")) == [(0.7547, 0.6047, 0.8772), (0.8679, 0.7360, 0.9556)]
    assert list(uk_means(shared_data, "cite")) == [(0.1466, 0.0193, 0.7000), (0.9828, 0.9784, 1.0000)]


def test_uk_runs_are_the_definition(shared_data: Path) -> None:
    task = uk(shared_data).task("followup", split="all")
    wanted = cut(task, brute(task, "bm25"), 20)
    assert table(retrieve(task, "question_matching(bm25)", depth=20)) == wanted
    assert table(retrieve(task, "question_matching(bm25)", depth=20, seed=4)) == wanted
