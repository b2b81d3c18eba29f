"""What every system must do. The suite finds systems through the catalogue: a new file is tested without a new test.

A system whose fields all have defaults is tested as its name makes it. One that needs more has a line in `CALLS`,
which may also name variants.
"""

from __future__ import annotations

import dataclasses
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay import catalog
from assay.call import call_of, short_call
from assay.harness import retrieve
from assay.ids import Ids
from assay.passage import Passages
from assay.qrels import Qrels
from assay.query import Queries
from assay.run import Run
from assay.span import Spans
from assay.system import VIEWS, Composite, Lens, Representer, Scorer, Searcher, System, spec_hash, spec_of
from assay.task import Task
from assay.texts import Texts
from pair_model import WordPairs, WordTerms, pair_model_folder
from tiny import chunk_task, dated_task
from word_model import WordVectors, word_model_folder

CALLS = {
    "bm25": ("bm25", "bm25('english')", "bm25(variant='bm25+', k1=0.9, text='coref')", "bm25(variant='robertson')"),
    "coref": ("coref(bm25)",),
    "cross_encoder": (
        "cross_encoder({pairs!r})",
        "cross_encoder({pairs!r}, longest=6, batch=20, passage_prompt='a: ')",
    ),
    "dense": (
        "dense({words!r})",
        "dense({words!r}, query_prompt='ask: ', passage_prompt='told: ', longest=9, batch=64)",
        "titled(dense({words!r}))",
        "question_matching(dense({words!r}))",
        "fusion(bm25, documents(dense({words!r})), method='minmax')",
    ),
    "documents": ("documents(bm25)", "documents(titled(bm25('english')))", "documents(command({program!r}))"),
    "document_fusion": (
        "document_fusion(bm25, documents(bm25))",
        "document_fusion(neighbours(bm25), bm25, weights=(0.3, 0.7), method='minmax(dapr)', depth=2)",
    ),
    "fusion": (
        "fusion(bm25, bm25('english'))",
        "fusion(bm25, titled(bm25), documents(bm25), method='minmax', weights=(0.2, 0, 0.8))",
        "fusion(bm25, neighbours(bm25), method='zscore', depth=7)",
        "fusion(bm25, command({program!r}), method='minmax(dapr)')",
        "fusion(bm25, question_matching(bm25))",
    ),
    "hierarchy": ("hierarchy(documents(bm25), bm25, depth=2)", "hierarchy(bm25, titled(bm25))"),
    "keyphrases": ("keyphrases(bm25)", "keyphrases(bm25('english'), count=2, words=1)"),
    "late_chunking": (
        "late_chunking({words!r})",
        "late_chunking({words!r}, window=5, overlap=2, passage_prompt='about: ')",
        "titled(late_chunking({words!r}))",
        "document_fusion(late_chunking({words!r}), documents(late_chunking({words!r})))",
    ),
    "neighbours": ("neighbours(bm25)", "neighbours(bm25(text='coref'), before=0, after=2)"),
    "learned_sparse": ("learned_sparse({pairs!r})", "titled(learned_sparse({pairs!r}, longest=4))"),
    "question_matching": (
        "question_matching(bm25)",
        "question_matching(command({program!r}))",
        "question_matching(fusion(bm25, bm25('english'), depth=50))",
    ),
    "rerank": (
        "rerank(bm25, model={pairs!r})",
        "rerank(fusion(bm25, neighbours(bm25)), model=cross_encoder({pairs!r}, text='coref'), depth=2)",
        "rerank(command({program!r}), model={pairs!r}, depth=3)",
        "rerank(rerank(learned_sparse({pairs!r}), model={pairs!r}), model={pairs!r}, depth=1)",
    ),
    "titled": (
        "titled(bm25)",
        "titled(neighbours(bm25))",
        "titled(command({program!r}))",
        "titled(fusion(bm25, bm25('english')))",
        "titled(rerank(bm25, model={pairs!r}, depth=3))",
    ),
    "command": ("command({program!r})", "command({program!r}, views=('text:coref', 'title', 'parent', 'position'))"),
}
NAMES = sorted({cls.name for cls in catalog.known("system").values()})
SYSTEMS = [call for name in NAMES for call in CALLS.get(name, (name,))]
SEEDS = (1, 2, 7)

PROGRAM = """
import json, sys
passages, queries, depth, run = sys.argv[1:]
held = [json.loads(line) for line in open(passages, encoding="utf-8")]
with open(run, "w", encoding="utf-8") as out:
    for line in open(queries, encoding="utf-8"):
        query = json.loads(line)
        words = set(query["text"].lower().split())
        found = sorted(((len(words & set(p["text"].lower().split())), p["id"]) for p in held), reverse=True)
        last = found[min(int(depth), len(found)) - 1][0] if found else 0
        for rank, (score, own) in enumerate((x for x in found if x[0] >= last), 1):
            out.write(f"{query['id']} Q0 {own} {rank} {score} words\\n")
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A command line that ranks by shared words and returns every tie with the last."""
    script = tmp_path_factory.mktemp("program") / "words.py"
    script.write_text(PROGRAM)
    return f"{shlex.quote(sys.executable)} -S {shlex.quote(str(script))} {{passages}} {{queries}} {{depth}} {{run}}"


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The folder of a small model that the catalogue has an encoder for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(catalog.known("encoder"), WordVectors.name, WordVectors)
        yield str(word_model_folder(tmp_path_factory.mktemp("words")))


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The folder of small models of pairs and of terms that the catalogue has encoders for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(catalog.known("pair_encoder"), WordPairs.name, WordPairs)
        patch.setitem(catalog.known("term_encoder"), WordTerms.name, WordTerms)
        yield str(pair_model_folder(tmp_path_factory.mktemp("pairs")))


@pytest.fixture(params=SYSTEMS)
def system(request: pytest.FixtureRequest, program: str, words: str, pairs: str) -> Any:
    call = request.param
    return catalog.system(call.format(program=program, words=words, pairs=pairs) if "{" in call else call)


def tasks() -> list[Task]:
    """Prose without a rule, dated replies, a rule of every kind at once, a query that is in the collection."""
    chunks, dated = chunk_task(), dated_task()
    texts = {**dated.passages.texts, "coref": dated.passages.texts["plain"]}
    mixed = np.arange(len(dated.passages)) % 5 != 0
    some = replace(dated.passages, texts=texts, candidate=mixed)
    own = replace(
        chunks,
        pool=Queries(chunks.passages.ids, {"plain": chunks.passages.texts["plain"]}),
        qrels=Qrels.of([("ferry-0", "ferry-1", 1), ("school-3", "school-0", 1), ("bridge-1", "bridge-0", 1)]),
        excluded=True,
    )
    return [chunks, dated, replace(dated, passages=some, views=(*dated.views, "text:coref"), excluded=True), own]


def readable(system: Any) -> list[Task]:
    found = [task for task in tasks() if set(all_reads(system)) <= set(task.views)]
    assert found, f"{system.name} reads {system.reads}: no task of the suite allows that, add one"
    return found


def all_reads(system: Any) -> set[str]:
    return {*system.reads, *(view for part in behind(system) for view in all_reads(part))}


def behind(system: Any) -> tuple[Any, ...]:
    """The systems that a composite combines, or that a lens shows passages to."""
    return (system.system,) if isinstance(system, Lens) else getattr(system, "parts", ())


def combines(system: Any) -> bool:
    """Whether scores may depend on how deep parts are."""
    return isinstance(system, Composite) or any(map(combines, behind(system)))


def same(a: Run, b: Run) -> bool:
    return (
        np.array_equal(a.offsets, b.offsets)
        and np.array_equal(a.passage, b.passage)
        and a.score.tobytes() == b.score.tobytes()
    )


def with_texts(task: Task, *, queries: list[str] | None = None, passages: dict[int, str] | None = None) -> Task:
    """The task with other texts: of its pool, and of some rows of its passages in every view."""
    if queries is not None:
        listed = [queries[i % len(queries)] for i in range(len(task.pool))]
        task = replace(task, pool=replace(task.pool, texts={"plain": Texts.of(listed)}))
    for row, text in (passages or {}).items():
        texts = {
            v: Texts.of([text if i == row else t for i, t in enumerate(x)]) for v, x in task.passages.texts.items()
        }
        task = replace(task, passages=replace(task.passages, texts=texts))
    return task


def first_passages(task: Task, count: int) -> Task:
    """The task over its first passages alone."""
    columns, rows = task.passages, np.arange(count)
    links = None if columns.link_offsets is None else columns.link_offsets[: count + 1]
    passages = Passages(
        columns.ids.take(rows),
        {view: texts.take(rows) for view, texts in columns.texts.items()},
        columns.parents,
        None if columns.spans is None else columns.spans.take(rows),
        None if columns.position is None else columns.position[rows],
        columns.titles,
        None if columns.dates is None else columns.dates[rows],
        None if columns.candidate is None else columns.candidate[rows],
        links,
        None if links is None or columns.link_query is None else columns.link_query[: links[-1]],
    )
    return replace(task, passages=passages)


def test_every_system_is_in_the_suite_and_is_of_one_kind(system: Any) -> None:
    assert dataclasses.is_dataclass(system)
    assert type(system).__dataclass_params__.frozen
    assert isinstance(system, System)
    assert catalog.known("system")[system.name] is type(system)
    assert sum(isinstance(system, kind) for kind in (Representer, Searcher, Scorer, Composite, Lens)) == 1
    assert set(system.reads) <= set(VIEWS)
    assert isinstance(system.reads, tuple)


def test_spec_makes_the_system_again(system: Any) -> None:
    spec = spec_of(system)
    for written in (call_of(spec), call_of(spec, {}), short_call(system)):
        again = catalog.system(written)
        assert again == system
        assert spec_hash(spec_of(again)) == spec_hash(spec)


def test_the_same_run_twice_and_for_any_order_of_rows(system: Any) -> None:
    for task in readable(system):
        first = retrieve(task, system, depth=4)
        assert same(first, retrieve(task, system, depth=4))
        assert all(same(first, retrieve(task, system, depth=4, seed=seed)) for seed in SEEDS)
        assert list(first.queries) == list(task.queries.ids)


def test_a_query_does_not_depend_on_the_queries_beside_it(system: Any) -> None:
    task = readable(system)[0]
    whole = retrieve(task, system, depth=4).triples()
    for query in list(task.qrels.queries)[:2]:
        alone = replace(task, qrels=Qrels.of([(query, task.passages.ids[0], 1)]))
        assert retrieve(alone, system, depth=4).triples() == [row for row in whole if row[0] == query]


def test_depth_and_every_tie_with_the_last(system: Any) -> None:
    for task in readable(system):
        full = retrieve(task, system, depth=len(task.passages))
        for depth in (1, 2, 5):
            run = retrieve(task, system, depth=depth, seed=depth)
            # What is behind a system is asked more than once where lists are too short, and counted each time.
            assert run.counts.get("cut_ties", 0) <= len(run.queries) * (3 if behind(system) else 1)
            for row in range(len(run.queries)):
                own, every = (
                    (
                        r.passage[r.offsets[row] : r.offsets[row + 1]].tolist(),
                        r.score[r.offsets[row] : r.offsets[row + 1]],
                    )
                    for r in (run, full)
                )
                assert len(own[0]) >= min(depth, len(every[0]))
                assert len(own[0]) <= depth or (own[1][depth - 1 :] == own[1][-1]).all()
                if not combines(system) and len(every[0]) > depth:
                    # The scores of a combination may depend on how deep its parts are.
                    assert own[0] == every[0][: int((every[1] >= every[1][depth - 1]).sum())]


def test_only_eligible_passages_and_none_twice(system: Any) -> None:
    for task in readable(system):
        for depth in (1, 3, 100):
            run = retrieve(task, system, depth=depth)
            owner = np.repeat(np.arange(len(run.queries)), np.diff(run.offsets))
            assert task.eligibility.allows(owner, run.passage).all()
            assert len(set(zip(owner.tolist(), run.passage.tolist()))) == len(run)
            assert np.isfinite(run.score).all()


def test_eligibility_comes_before_the_cut(system: Any) -> None:
    if combines(system):
        pytest.skip("the scores of a combination may depend on how deep its parts are")
    for task in readable(system):
        full, run = retrieve(task, system, depth=len(task.passages)), retrieve(task, system, depth=2)
        assert np.minimum(np.diff(full.offsets), 2).tolist() == run.lengths.tolist()


@pytest.mark.parametrize(
    "queries", [["", "  ", "?!"], ["\u00a0", "—", "\U0001f600"], ["ferry " * 300, "the", "the the"]]
)
def test_empty_strange_and_long_queries(system: Any, queries: list[str]) -> None:
    for task in readable(system):
        strange = with_texts(task, queries=queries)
        assert same(retrieve(strange, system, depth=3), retrieve(strange, system, depth=3, seed=5))


def test_empty_and_equal_passages(system: Any) -> None:
    for task in readable(system):
        strange = with_texts(
            task, passages={0: "", 3: " ", 5: task.passages.texts["plain"][6], 7: "été 東京 \U0001f600"}
        )
        assert same(retrieve(strange, system, depth=3), retrieve(strange, system, depth=3, seed=5))
        nothing = with_texts(task, passages=dict.fromkeys(range(len(task.passages)), ""))
        assert same(retrieve(nothing, system, depth=3), retrieve(nothing, system, depth=3, seed=5))


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_passages_and_a_depth_past_them(system: Any, count: int) -> None:
    for task in readable(system):
        few = first_passages(task, count)
        run = retrieve(few, system, depth=1000)
        assert same(run, retrieve(few, system, depth=1000, seed=3))
        assert list(run.queries) == list(few.queries.ids)
        assert (np.diff(run.offsets) <= count).all()


def test_no_queries(system: Any) -> None:
    task = readable(system)[0]
    nobody = replace(task, qrels=Qrels.of([("nobody", task.passages.ids[0], 1)]))
    assert len(retrieve(nobody, system).queries) == 0


def test_something_is_found(system: Any) -> None:
    run = retrieve(readable(system)[0], system, depth=5)
    assert len(run) >= len(run.queries)
    assert len(set(run.score.tolist())) > 1


def test_a_kept_index_gives_the_same_run(system: Any, tmp_path: Path) -> None:
    if not isinstance(system, Representer):
        pytest.skip("only representers have an index")
    for number, task in enumerate(readable(system)):
        plain, place = retrieve(task, system, depth=4), tmp_path / str(number)
        assert same(plain, retrieve(task, system, depth=4, indexes=place))
        held = {p: p.stat().st_mtime_ns for p in place.rglob("*")}
        assert same(plain, retrieve(task, system, depth=4, indexes=place))
        assert {p: p.stat().st_mtime_ns for p in place.rglob("*")} == held
        assert same(plain, retrieve(task, system, depth=4, seed=9, indexes=place))


def test_the_first_passages_of_a_task_are_what_they_were() -> None:
    # The suite's own tool: columns of any kind stay aligned.
    few = first_passages(chunk_task(), 5)
    assert list(few.passages.ids) == ["ferry-0", "ferry-1", "ferry-2", "ferry-3", "school-0"]
    assert few.passages.spans is not None
    assert few.passages[4].title == "School meals"
    assert isinstance(few.passages.spans, Spans)
    assert isinstance(few.passages.ids, Ids)
