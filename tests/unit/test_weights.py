"""Fitted weights: chosen on dev by the definition, refused where too little is judged, blind to the test split."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import assay
from assay import catalog
from assay.collection import Collection
from assay.errors import UnknownNameError, UsageError
from assay.harness import retrieve
from assay.ids import Ids
from assay.passage import Passages
from assay.qrels import Qrels
from assay.query import Queries
from assay.system import PassageView, QueryView, RankedRows
from assay.task import Task
from assay.texts import Texts
from assay.training import fitted, handed
from assay.training import weights as weights_module
from assay.training.weights import chosen, grid

WORDS = ["fee", "tax", "visa", "rent", "form", "court", "bus", "ferry", "school", "garden", "meal", "book", "card"]


def collection(
    *, dev: int | None = 40, train: int | None = 60, test: int = 40, relevant: int = 40, seed: int = 0
) -> Collection:
    """Passages of four words, queries of two words; the passage that a query was drawn from is relevant."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, 4)) for _ in range(60)]
    ids = [f"p{i:02}" for i in range(60)]
    passages = Passages(Ids.of(ids), {"plain": Texts.of(texts), "coref": Texts.of(t[::-1] for t in texts)})
    queries: list[tuple[str, str]] = []
    splits: dict[str, list[tuple[str, str, int]]] = {}
    for split, size in (("train", train), ("dev", dev), ("test", test)):
        for number in range(size or 0):
            gold = int(rng.integers(relevant))
            query = f"{split}-{number}"
            queries.append((query, " ".join(rng.choice(texts[gold].split(), 2)) + f" {split}word"))
            splits.setdefault(split, []).append((query, ids[gold], 1))
    pool = Queries(Ids.of(q for q, _ in queries), {"plain": Texts.of(text for _, text in queries)})
    tasks = {
        split: Task(
            "find", split, pool, passages, Qrels.of(rows), views=("text:plain", "text:coref"), measures=("RR@10",)
        )
        for split, rows in splits.items()
    }
    return Collection("made", "made", "0" * 64, passages, pool, {"find": tasks})


@dataclass(frozen=True)
class Recording:
    """A black box that keeps the texts of all queries that it is asked, and ranks by shared words."""

    seen: Any
    shift: int = 0
    name: ClassVar[str] = "recording"
    reads: ClassVar[tuple[str, ...]] = ("text:plain",)

    def search(self, passages: PassageView, queries: QueryView, *, depth: int) -> RankedRows:
        self.seen.extend(queries.texts)
        bags = [set(text.split()[self.shift :]) for text in passages.texts["text:plain"]]
        lists = []
        for query in queries.texts:
            score = np.array([float(len(bag & set(query.split()))) for bag in bags])
            lists.append((np.arange(len(score)), score))
        return RankedRows.joined(lists, whole_ties=True)


def fusion(method: str = "minmax", **rest: Any) -> Any:
    return catalog.known("system")["fusion"](
        catalog.system("bm25"), catalog.system("bm25(b=0, k1=0)"), Recording([], 2), method=method, **rest
    )


def two(method: str = "minmax") -> Any:
    return catalog.known("system")["fusion"](Recording([], 2), catalog.system("bm25"), method=method)


def mean(task: Task, system: Any) -> float:
    return assay.evaluate(retrieve(task, system), task.qrels, ["RR@10"], resamples=1)[0].mean


def test_the_grid_point_with_the_best_mean_on_dev_is_taken() -> None:
    made = collection()
    dev = made.task("find", split="dev")
    system = two()
    best, report = fitted(system, made, "find", steps=10)
    means = {w: mean(dev, replace(system, weights=w)) for w in grid(2, 10)}
    assert {w: pytest.approx(m) for w, m in report.grid} == means
    assert report.value == pytest.approx(max(means.values()))
    assert means[best.weights] == pytest.approx(max(means.values()))
    assert best.weights == report.weights
    assert report.value > report.equal  # type: ignore[operator]
    assert (report.split, report.queries, report.refused, report.drawn_from) == ("dev", 40, "", None)
    assert report.system.endswith(f"bm25, method='minmax', weights={list(best.weights)})")


def test_more_parts_have_a_simplex_of_weights() -> None:
    best, report = fitted(fusion(), collection(), steps=4)
    assert len(report.grid) == 15
    assert sum(best.weights) == pytest.approx(1.0)
    assert report.value == max(m for _, m in report.grid)


def test_the_same_fit_twice_and_for_any_seed_of_rows() -> None:
    made = collection()
    assert fitted(two(), made)[1] == fitted(two(), made)[1]


def test_equal_means_go_toward_equal_weights_and_then_to_the_first() -> None:
    points = grid(2, 20)
    assert chosen([(w, 0.5) for w in points]) == (0.5, 0.5)
    assert chosen([(w, 0.5 if w[0] != 0.5 else 0.4) for w in points]) == (0.55, 0.45)
    assert chosen([(w, 0.5 + 1e-13 * i) for i, w in enumerate(points)]) == (0.5, 0.5)
    assert chosen([(w, 0.5 + 1e-6 * (i == 3)) for i, w in enumerate(points)]) == points[3]
    assert chosen([(w, 0.1) for w in grid(3, 4)]) == (0.5, 0.25, 0.25)
    # Equal parts: every convex sum is the same list, so that the middle is taken.
    twins = catalog.system("fusion(bm25, bm25, method='minmax')")
    assert fitted(twins, collection())[0].weights == (0.5, 0.5)


@pytest.mark.parametrize("changes", [{"dev": 29}, {"relevant": 9}])
def test_too_little_to_choose_on_gives_equal_weights_and_the_reason(changes: dict[str, int]) -> None:
    best, report = fitted(two(), collection(**changes))
    assert best.weights == (0.5, 0.5)
    assert report.refused.endswith("equal weights")
    assert ("29 queries" if "dev" in changes else "distinct relevant passages") in report.refused
    assert (report.value, report.equal, report.grid) == (None, None, ())
    assert fitted(fusion(), collection(**changes))[0].weights == (1 / 3, 1 / 3, 1 / 3)


def test_as_much_as_is_needed_is_fitted() -> None:
    assert fitted(two(), collection(dev=30))[1].refused == ""
    task = collection(relevant=10, dev=200).task("find", split="dev")
    assert len({p for _, p, _ in task.qrels.triples()}) == 10
    assert fitted(two(), collection(relevant=10, dev=200))[1].refused == ""


def test_judged_but_not_relevant_passages_do_not_count() -> None:
    made = collection(relevant=9)
    dev = made.task("find", split="dev")
    more = [(q, f"p{10 + i % 20}", 0) for i, q in enumerate(dev.qrels.queries)]
    dev = replace(dev, qrels=Qrels.of([*dev.qrels.triples(), *more]))
    made = replace(made, tasks={"find": {**made.tasks["find"], "dev": dev}})
    assert "9 distinct relevant passages" in fitted(two(), made)[1].refused


def test_without_dev_a_sample_of_train_is_drawn() -> None:
    made = collection(dev=None, train=120, test=40)
    _, report = fitted(two(), made)
    assert (report.split, report.queries, report.drawn_from, report.seed) == ("dev of train", 40, 120, 42)
    given, again = handed(made), handed(made)
    assert list(given.task.qrels.queries) == list(again.task.qrels.queries)
    assert list(given.task.qrels.queries) != list(handed(made, seed=43).task.qrels.queries)
    assert set(given.task.qrels.queries) < set(made.task("find", split="train").qrels.queries)
    # DAPR's own way of drawing.
    import random

    train = list(made.task("find", split="train").qrels.queries)
    assert list(given.task.qrels.queries) == random.Random(42).sample(train, 40)
    # Half of a small train split is left to train on.
    assert len(handed(collection(dev=None, train=50)).task.queries) == 25


# Test queries cannot reach a fit.


@pytest.mark.parametrize("split", ["test", "all"])
def test_the_test_split_is_refused(split: str) -> None:
    with pytest.raises(UsageError, match="a fit never sees"):
        fitted(two(), collection(), dev_split=split)


@pytest.mark.parametrize("dev", [40, None])
def test_no_test_query_and_no_test_judgement_is_handed_out(dev: int | None) -> None:
    made = collection(dev=dev, train=100)
    test = made.task("find", split="test")
    task = handed(made).task
    for ids in (task.qrels.queries, task.queries.ids, task.pool.ids):
        assert (test.qrels.queries.codes(ids) < 0).all()
    assert task.fragments is None
    seen: list[str] = []
    system = catalog.known("system")["fusion"](Recording(seen), Recording(seen, 2), method="minmax")
    fitted(system, made, steps=2)
    assert len(seen) > 0
    assert not [text for text in seen if "testword" in text]


@pytest.mark.parametrize("dev", [40, None])
def test_other_judgements_of_the_test_split_change_nothing(dev: int | None) -> None:
    made = collection(dev=dev, train=100)
    report = fitted(two(), made)[1]
    test = made.task("find", split="test")
    for change in (
        lambda q: [(query, "p59", 1) for query, _, _ in q],
        lambda q: [(query, p, 0) for query, p, _ in q],
    ):
        other = replace(test, qrels=Qrels.of(change(test.qrels.triples())))
        changed = replace(made, tasks={"find": {**made.tasks["find"], "test": other}})
        assert fitted(two(), changed)[1] == report


def test_a_query_of_both_splits_is_left_out_and_counted() -> None:
    made = collection()
    dev, test = (made.task("find", split=s) for s in ("dev", "test"))
    mixed = replace(dev, qrels=Qrels.of([*dev.qrels.triples(), *test.qrels.triples()[:5]]))
    both = replace(made, tasks={"find": {**made.tasks["find"], "dev": mixed}})
    given, report = handed(both), fitted(two(), both)[1]
    assert given.left_out == report.left_out == 5
    assert list(given.task.qrels.queries) == list(dev.qrels.queries)
    assert replace(report, left_out=0) == fitted(two(), made)[1]
    # The test split under another name has nothing left.
    copied = replace(made, tasks={"find": {**made.tasks["find"], "sample": replace(test, split="sample")}})
    assert len(handed(copied, split="sample").task.queries) == 0
    assert "0 queries" in fitted(two(), copied, dev_split="sample")[1].refused


def test_a_test_query_of_another_task_is_left_out_too() -> None:
    made = collection()
    dev = made.task("find", split="dev")
    held = replace(dev, name="other", split="test", qrels=Qrels.of(dev.qrels.triples()[:7]))
    both = replace(made, tasks={**made.tasks, "other": {"test": held}})
    given = handed(both, "find")
    assert given.left_out == 7
    assert set(given.task.qrels.queries).isdisjoint(held.qrels.queries)
    assert set(given.task.pool.ids).isdisjoint(held.qrels.queries)


@pytest.mark.parametrize("measure", ["recall@1000chars", "DFR(t=1)", "documents(RR@10)", "IoU"])
def test_weights_are_chosen_by_measures_of_passages(measure: str) -> None:
    with pytest.raises(UsageError, match="weights are chosen by a measure of passages"):
        fitted(two(), collection(), measure=measure)


def test_one_module_hands_judgements_to_a_fit() -> None:
    folder = Path(weights_module.__file__).parent
    for path in folder.glob("*.py"):
        if path.name == "handed.py":
            continue
        reached = {n.attr for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Attribute)}
        assert not reached & {"tasks", "fragments"}, path.name
        assert "collection" not in {
            n.value.id
            for n in ast.walk(ast.parse(path.read_text()))
            if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)
        }, path.name


def test_what_cannot_be_fitted_is_refused() -> None:
    made = collection()
    for call in ("bm25", "coref(bm25)", "hierarchy(bm25, bm25)"):
        with pytest.raises(UsageError, match="no weights to fit"):
            fitted(catalog.system(call), made)
    with pytest.raises(UsageError, match="nor 'train' to draw one from"):
        fitted(two(), collection(dev=None, train=None))
    with pytest.raises(UnknownNameError, match="split of made 'dve'"):
        fitted(two(), made, dev_split="dve")
    with pytest.raises(UnknownNameError, match="task of made 'fnid'"):
        fitted(two(), made, "fnid")
    with pytest.raises(UsageError, match="more than 2000"):
        fitted(fusion(), made, steps=100)
    with pytest.raises(UsageError, match="steps must be at least 1"):
        fitted(two(), made, steps=0)


def test_document_fusion_is_fitted_too() -> None:
    task = assay.open("demo:chunks").task("passages")
    demo = replace(assay.open("demo:chunks"), tasks={"passages": {"dev": replace(task, split="dev")}})
    best, report = fitted(catalog.system("document_fusion(bm25, documents(bm25))"), demo, measure="nDCG@10")
    assert report.value >= report.equal  # type: ignore[operator]
    assert report.value == pytest.approx(
        assay.evaluate(retrieve(task, best), task.qrels, ["nDCG@10"], resamples=1)[0].mean
    )


# The command.


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    def run(*words: str) -> tuple[int, str, str]:
        from assay.__main__ import main

        monkeypatch.setattr(sys, "argv", ["assay", *words])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return int(end.value.code or 0), out, err

    return run


def test_the_command_prints_a_system_to_paste(command: Any) -> None:
    call = "fusion(bm25, bm25('english'), method='minmax')"
    code, out, _ = command("train", "fusion", "demo:questions/answer", "-s", call, "--dev", "dev", "--json")
    assert code == 0
    fit = json.loads(out)["fit"]
    assert catalog.system(fit["system"]).weights == tuple(fit["weights"])
    made, report = fitted(catalog.system(call), assay.open("demo:questions"), "answer")
    assert list(made.weights) == fit["weights"]
    assert fit["refused"] == report.refused
    assert set(fit) == set(asdict(report))
    code, out, _ = command("train", "fusion", "demo:questions/answer", "-s", call)
    assert code == 0
    assert out.splitlines()[-1] == fit["system"]


def test_the_table_says_what_was_chosen_and_on_what() -> None:
    from assay.cli.train import fit_table

    made = collection(dev=None, train=100)
    test = made.task("find", split="test").qrels.triples()
    train = made.task("find", split="train")
    shared = replace(train, qrels=Qrels.of([*train.qrels.triples(), *test[:2]]))
    made = replace(made, tasks={"find": {**made.tasks["find"], "train": shared}})
    _, report = fitted(two(), made)
    table = fit_table(report)
    assert [row[0] for row in table.rows] == ["chosen", "equal"]
    assert table.rows[0][2] == f"{report.value:.4f}"
    notes = " ".join(table.notes)
    assert "drawn from 100 train queries with seed 42" in notes
    assert "2 queries that are test queries too were left out" in notes
    assert "report the mean on test" in notes
    refused = fit_table(fitted(two(), collection(dev=5))[1])
    assert [row[::2] for row in refused.rows] == [("equal", "–")]
    assert "not fitted: 5 queries" in " ".join(refused.notes)


def test_the_command_refuses_the_test_split(command: Any) -> None:
    words = ("train", "fusion", "demo:questions/answer", "-s", "fusion(bm25, bm25('english'))", "--dev", "test")
    code, out, err = command(*words)
    assert (code, out) == (2, "")
    assert "a fit never sees the split 'test'" in err
    code, out, err = command(*words[:4], "bm25")
    assert code == 2
    assert "no weights to fit" in err
