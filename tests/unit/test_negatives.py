"""Negatives by their definition: eligible, of the train period, and nothing like what is relevant."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.collection import Collection
from assay.errors import UnknownNameError, UsageError
from assay.harness import retrieve
from assay.ids import Ids
from assay.passage import Passages
from assay.qrels import Qrels
from assay.query import Queries
from assay.run import Run
from assay.task import Task
from assay.texts import Texts
from assay.training import Mining, Schedule, drawn, handed, lesson, mining_task
from assay.training.handed import qrels_digest
from assay.training.negatives import INELIGIBLE, LATE, NEAR, POSITIVE, SAME, UNDATED

WORDS = np.array([f"{a}{b}" for a in "bcdfghjklm" for b in ("ad", "el", "in", "os", "ut")])
DAY = np.datetime64("2021-01-01", "D")


def made(
    rng: np.random.Generator, *, size: int = 24, asked: int = 8, dated: bool = True, as_of: bool = True
) -> Collection:
    """Texts of forty words, some with a word more or less than others, some equal in class; queries of three splits."""
    bases = [list(rng.choice(WORDS, 40)) for _ in range(size // 2)]
    texts = [" ".join(bases[i % len(bases)] + list(WORDS[: rng.integers(0, 3)])) for i in range(size)]
    dates = DAY + rng.integers(0, 40, size).astype("timedelta64[D]")
    dates[rng.random(size) < 0.1] = np.datetime64("NaT", "D")
    ids = [f"p{i:02}" for i in range(size)]
    passages = Passages(
        Ids.of(ids),
        {"plain": Texts.of(texts)},
        dates=dates if dated else None,
        candidate=rng.random(size) < 0.9,
    )
    splits: dict[str, list[tuple[str, str, int]]] = {"train": [], "dev": [], "test": []}
    names = [f"{split}-{n}" for split in splits for n in range(asked)]
    for name in names:
        for p in rng.choice(size, 4, replace=False):
            splits[name.split("-")[0]].append((name, ids[p], int(rng.integers(0, 3))))
    days = DAY + rng.integers(10, 50, len(names)).astype("timedelta64[D]")
    pool = Queries(Ids.of(names), {"plain": Texts.of([texts[i % size][:60] for i in range(len(names))])}, days)
    tasks = {
        split: Task(
            "find",
            split,
            pool,
            passages,
            Qrels.of(rows),
            asked=days if as_of and dated else None,
            classes=rng.integers(0, size, size),
        )
        for split, rows in splits.items()
    }
    return Collection("made", "made", "0" * 64, passages, pool, {"find": tasks})


def shingles(text: str) -> set[tuple[str, ...]]:
    words = text.split()
    return {tuple(words[i : i + 5]) for i in range(len(words) - 4)}


def may_be_negative(task: Task, until: Any, query: int, passage: int) -> bool:
    """The definition."""
    texts, dates, own = task.passages.texts["plain"], task.passages.dates, task.queries.ids[query]
    gold = [task.passages.ids.code(p) for q, p, g in task.qrels.triples() if q == own and g >= 1]

    def like(p: int) -> bool:
        a, b = shingles(texts[p]), shingles(texts[passage])
        return p == passage or task.classes[p] == task.classes[passage] or len(a & b) / len(a | b) >= 0.8

    within = until is None or (not np.isnat(dates[passage]) and dates[passage] <= until)
    return bool(task.eligibility.mask(query)[passage]) and bool(within) and not any(map(like, gold))


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_negatives_are_those_of_the_definition(seed: int, dated: bool, as_of: bool) -> None:
    given_ = lesson(made(np.random.default_rng(seed), dated=dated, as_of=as_of), until="2021-01-25" if dated else "")
    task = given_.train.task
    rng = np.random.default_rng(seed)
    # Any list at all: a run of passages that no rule has sifted.
    run = Run.of([(q, p, float(rng.random())) for q in task.queries.ids for p in task.passages.ids])
    found = drawn(given_, run, Mining(count=3, first=2, last=20, seed=seed))
    in_play = np.unique(np.concatenate([found.positive, run.passages.codes(task.passages.ids)]))
    mask = found.exclusions.in_batch(np.arange(len(task.rows)), in_play)
    asked = np.unique(found.query)
    for q in asked.tolist():
        wanted = [may_be_negative(task, given_.until, q, p) for p in in_play.tolist()]
        assert mask[q].tolist() == wanted
    lists = {q: [task.passages.ids.code(p) for own, p, _ in run.triples() if own == task.queries.ids[q]] for q in asked}
    for row, q in enumerate(found.query.tolist()):
        window = [p for p in lists[q][1:20] if may_be_negative(task, given_.until, q, p)]
        assert set(found.of(row).tolist()) <= set(window)
        assert len(found.of(row)) == min(3, len(window))
    reasons = {POSITIVE, SAME, NEAR, LATE, UNDATED, INELIGIBLE}
    left = sum(count for reason, count in found.counts.items() if reason in reasons)
    assert left == sum(19 - sum(may_be_negative(task, given_.until, q, p) for p in lists[q][1:20]) for q in asked)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_a_miner_finds_what_the_period_and_the_rule_allow(seed: int) -> None:
    given_ = lesson(made(np.random.default_rng(seed)), until="2021-01-25")
    task = mining_task(given_)
    run = retrieve(task, "bm25", depth=100)
    found = drawn(given_, run, Mining(count=5, last=100))
    assert not {LATE, UNDATED, INELIGIBLE} & set(found.counts)
    dates = task.passages.dates
    assert dates is not None
    assert (dates[found.negative] <= given_.until).all()


def by_text(negatives: Any, task: Task) -> dict[str, list[int]]:
    return {task.queries.ids[q]: negatives.of(row).tolist() for row, q in enumerate(negatives.query.tolist())}


def test_a_draw_is_seeded_and_each_query_has_its_own() -> None:
    whole = lesson(made(np.random.default_rng(3), dated=False))
    task = whole.train.task
    run = retrieve(task, "bm25", depth=24)
    first, again = (drawn(whole, run, Mining(count=2, last=24, seed=5)) for _ in range(2))
    assert first.digest == again.digest
    assert first.negative.tolist() == again.negative.tolist()
    other = drawn(whole, run, Mining(count=2, last=24, seed=6))
    assert other.digest != first.digest
    fewer = replace(whole, train=replace(whole.train, task=replace(task, qrels=task.qrels.take(np.arange(3)))))
    some = drawn(fewer, retrieve(fewer.train.task, "bm25", depth=24), Mining(count=2, last=24, seed=5))
    held = by_text(first, task)
    assert {q: rows for q, rows in held.items() if q in by_text(some, fewer.train.task)} == by_text(
        some, fewer.train.task
    )


def test_unmasked_texts_say_what_is_a_near_duplicate() -> None:
    one = made(np.random.default_rng(4), dated=False)
    raw = Texts.of(["the same long text of more than five words in all"] * 24)
    passages = replace(one.passages, texts={**one.passages.texts, "raw": raw})
    tasks = {s: replace(t, passages=passages, classes=None) for s, t in one.tasks["find"].items()}
    given_ = lesson(replace(one, tasks={"find": tasks}))
    found = drawn(given_, retrieve(given_.train.task, "bm25", depth=24), Mining())
    assert len(found.negative) == 0
    assert found.counts[NEAR] > 0


# The lesson: what is handed out for a fit.


def test_the_train_period_is_told_or_read() -> None:
    one = made(np.random.default_rng(0))
    latest = one.tasks["find"]["train"].queries.dates
    assert latest is not None
    assert (lesson(one).until, lesson(one).until_from) == (latest.max(), "the latest train query")
    told = replace(one, manifest={"splits": {"train": {"to": "2021-01-20"}}})
    assert (str(lesson(told).until), lesson(told).until_from) == ("2021-01-20", "the manifest")
    assert (str(lesson(told, until="2021-01-02").until), lesson(told, until="2021-01-02").until_from) == (
        "2021-01-02",
        "as given",
    )
    undated = lesson(made(np.random.default_rng(0), dated=False))
    assert (undated.until, undated.until_from) == (None, "")
    with pytest.raises(UsageError, match="must be a day such as"):
        lesson(one, until="soon")
    with pytest.raises(UsageError, match="must be a day such as"):
        lesson(replace(one, manifest={"splits": {"train": {"to": "x"}}}))
    with pytest.raises(UsageError, match="have no dates"):
        lesson(made(np.random.default_rng(0), dated=False), until="2021-01-01")


def test_dates_of_passages_without_dates_of_queries_need_the_period() -> None:
    one = made(np.random.default_rng(0), as_of=False)
    pool = replace(one.queries, dates=None)
    bare = replace(one, tasks={"find": {s: replace(t, pool=pool) for s, t in one.tasks["find"].items()}})
    with pytest.raises(UsageError, match="--until"):
        lesson(bare)
    assert str(lesson(bare, until="2021-02-01").until) == "2021-02-01"


@pytest.mark.parametrize("missing", ["train", "dev"])
def test_a_model_needs_train_and_dev(missing: str) -> None:
    one = made(np.random.default_rng(0))
    splits = {name: task for name, task in one.tasks["find"].items() if name != missing}
    with pytest.raises(UsageError, match=f"no split '{missing}'.*fitted on train and chosen on dev"):
        lesson(replace(one, tasks={"find": splits}))
    with pytest.raises(UnknownNameError, match="task of made"):
        lesson(one, "fnid")


def test_test_queries_and_dev_queries_are_no_train_queries() -> None:
    one = made(np.random.default_rng(0))
    train, dev, test = (one.tasks["find"][s] for s in ("train", "dev", "test"))
    mixed = Qrels.of([*train.qrels.triples(), *dev.qrels.triples()[:8], *test.qrels.triples()[:8]])
    both = replace(one, tasks={"find": {**one.tasks["find"], "train": replace(train, qrels=mixed)}})
    found = lesson(both)
    assert list(found.train.task.qrels.queries) == list(train.qrels.queries)
    assert found.train.left_out == 4
    assert qrels_digest(found.train.task) == qrels_digest(lesson(one).train.task)
    everything = replace(dev, qrels=Qrels.of([*test.qrels.triples()]))
    with pytest.raises(UsageError, match="nothing can be learnt"):
        lesson(replace(one, tasks={"find": {**one.tasks["find"], "dev": everything}}))
    assert found.train.task.edges is None
    assert handed(one).task.edges is None


def test_what_no_pair_is_made_of_is_counted() -> None:
    one = made(np.random.default_rng(0), dated=False)
    train = one.tasks["find"]["train"]
    passages = replace(one.passages, candidate=np.arange(24) != 0)
    rows = [
        ("train-0", "p00", 1),
        ("train-0", "ghost", 1),
        ("train-1", "p01", 0),
        ("train-2", "p02", 1),
        ("nobody", "p03", 1),
    ]
    task = replace(train, passages=passages, qrels=Qrels.of(rows))
    given_ = lesson(replace(one, tasks={"find": {**one.tasks["find"], "train": task}}))
    found = drawn(given_, retrieve(given_.train.task, "bm25", depth=24), Mining(count=50, last=24))
    assert [task.queries.ids[q] for q in found.query] == ["train-2"]
    assert {k: v for k, v in found.counts.items() if k not in (POSITIVE, SAME, NEAR)} == {
        "judged queries that the collection lacks": 1,
        "queries with fewer than 50 negatives": 1,
        "queries without a relevant passage": 2,
        "relevant passages that are not eligible": 1,
        "relevant passages that the collection lacks": 1,
    }
    nothing = replace(train, qrels=Qrels.of([("train-1", "p01", 0)]))
    bare = lesson(replace(one, tasks={"find": {**one.tasks["find"], "train": nothing}}))
    run = retrieve(bare.train.task, "bm25")
    with pytest.raises(UsageError, match="no query of train has a relevant passage"):
        drawn(bare, run, Mining())


# The plan of a fit.


@pytest.mark.parametrize("wrong", [{"first": 0}, {"first": 5, "last": 4}, {"count": -1}])
def test_ranks_to_draw_from_are_checked(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="ranks count from 1"):
        Mining(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong", [{"epochs": 0}, {"batch": 0}, {"patience": 0}, {"seed": -1}, {"rate": 0.0}, {"warmup": 1.5}, {"clip": 0.0}]
)
def test_a_schedule_is_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"due|lies between"):
        Schedule(**wrong)


@given(st.integers(1, 50), st.integers(1, 20), st.integers(1, 5), st.integers(0, 9))
def test_an_epoch_sees_every_pair_once(size: int, batch: int, epoch: int, seed: int) -> None:
    steps = Schedule(batch=batch, seed=seed)
    seen = steps.order(size, epoch)
    assert sorted(np.concatenate(seen).tolist()) == list(range(size))
    assert all(len(rows) == batch for rows in seen[:-1])
    assert [a.tolist() for a in seen] == [b.tolist() for b in steps.order(size, epoch)]


@given(st.integers(1, 100), st.floats(0, 1))
def test_the_rate_rises_and_falls(steps: int, warmup: float) -> None:
    rates = [Schedule(rate=0.5, warmup=warmup).rate_at(step, steps) for step in range(steps)]
    top = int(np.argmax(rates))
    assert all(0 < rate <= 0.5 for rate in rates)
    assert rates[: top + 1] == sorted(rates[: top + 1])
    assert rates[top:] == sorted(rates[top:], reverse=True)
