"""Ids and further columns that give relevant passages away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.audit import Finding, labelled_tasks
from assay.collection import Collection
from assay.evaluation import evaluate, random_expectation, reach_of
from assay.harness import retrieve
from assay.measures import parse
from assay.task import Task
from assay.texts import Texts

MEASURE, DEPTH, MOST = "RR@10", 10, 500
CLEAR, LEAST = 2.0, 0.05


@dataclass(frozen=True)
class IdsSilent:
    """Ids, and columns that queries and passages share, do not tell which passage is relevant.

    Checks:
        Per task and split, passages are ranked by the likeness of their id to the query's (groups of three characters,
        `bm25`), and by that of every column that both have under one name. A ranking counts as telling where its RR@10
        lies two standard deviations and 0.05 above that of a random one.

    Why it matters:
        An answer whose id is that of its question and `-ASW` is found by its id alone. Systems here see no ids and no
        columns, but whoever is handed the published files sees them.

    Known limits:
        At most 500 queries of a split, evenly chosen. Likeness is of characters: ids that follow on each other tell as
        much and are not found. A column of the queries that names its answer is gold, not a leak, and is not looked at.

    Example:
        Query `E-1`, relevant passage `E-1-ASW`.

    What to do:
        Compare only systems that do not read the column; hand out the text-only export, whose ids are random.
    """

    name: ClassVar[str] = "ids-silent"

    def inspect(self, collection: Collection) -> Iterator[Finding]:
        """One finding if all is well, else one per task, split and column."""
        expected, looked, told = "no better than chance", 0, 0
        # Tasks share their columns, which are cut up once.
        cut: dict[int, Texts] = {}
        for label, task in labelled_tasks(collection):
            if not len(task.rows) or (task.asked is not None and np.isnat(task.asked[task.rows]).any()):
                continue
            part = _sampled(task)
            for column, asked, held in _columns(part):
                looked += 1
                for texts in (asked, held):
                    if id(texts) not in cut:
                        cut[id(texts)] = _in_threes(texts)
                mean, chance, clear = _likeness(part, cut[id(asked)], cut[id(held)])
                if not clear:
                    continue
                told += 1
                yield Finding(
                    f"{self.name}/{label}/{column}",
                    "note",
                    expected,
                    f"{column} alone has {MEASURE} {mean:.4f}, chance {chance:.4f}, over {len(part.rows)} queries",
                    len(part.rows),
                    (),
                    f"systems here never see it; do not hand out {column} with the texts, or use the text-only export",
                )
        if not looked:
            yield Finding.skipped(self.name, "no task has queries that may be asked", expected=expected)
        elif not told:
            yield Finding(self.name, "ok", expected, f"{looked} rankings by ids and shared columns tell nothing")


def _sampled(task: Task) -> Task:
    """The task with at most `MOST` of its queries."""
    known = np.flatnonzero(task.pool.ids.codes(task.qrels.queries) >= 0)
    chosen = known[np.unique(np.linspace(0, len(known) - 1, min(MOST, len(known))).astype(np.int64))]
    return replace(task, qrels=task.qrels.take(chosen), mask=(), query_view="plain", views=("text:plain",))


def _columns(task: Task) -> Iterator[tuple[str, Texts, Texts]]:
    yield "id", task.pool.ids.texts, task.passages.ids.texts
    for name, texts in sorted(task.pool.columns.items()):
        if name in task.passages.columns:
            yield name, texts, task.passages.columns[name]


def _likeness(task: Task, asked: Texts, held: Texts) -> tuple[float, float, bool]:
    """RR@10 over all orders of ties, that of chance, and whether the one is clearly above the other.

    Args:
        task: What is asked.
        asked: The column of the pool, in threes.
        held: That of the passages, in threes.
    """
    pool = replace(task.pool, texts={"plain": asked})
    passages = replace(task.passages, texts={"plain": held})
    run = retrieve(replace(task, pool=pool, passages=passages), "bm25", depth=DEPTH)
    [scores] = evaluate(run, task.qrels, [MEASURE], resamples=1)
    chance = random_expectation(task, parse(MEASURE), depth=DEPTH)
    # With one relevant passage among n the mean square of RR is 1/n + 1/4n + ... + 1/100n; with g at most g times that.
    eligible = np.maximum(1, reach_of(task).eligible)
    gold = np.bincount(task.qrels.query[task.qrels.grade >= 1], minlength=len(chance))
    squares = np.cumsum(1 / np.arange(1, DEPTH + 1) ** 2)[np.minimum(eligible, DEPTH) - 1]
    spread = float(np.sqrt(np.maximum(np.minimum(1.0, squares * gold / eligible) - chance**2, 0.0).sum()))
    gain = float((scores.expected - chance).sum())
    clear = gain > CLEAR * spread and gain > LEAST * len(chance)
    return float(scores.expected.mean()), float(chance.mean()), bool(clear)


def _in_threes(texts: Texts) -> Texts:
    """Each text as words that stand for its stretches of three characters, or for the whole of a shorter one."""
    return Texts.of(
        " ".join(text[at : at + 3].encode().hex() for at in range(max(1, len(text) - 2)) if text) for text in texts
    )
