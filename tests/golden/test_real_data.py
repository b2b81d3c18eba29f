"""BM25 on real collections: the reference values of both presets, and what ties do to them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import assay
from assay.collection import Collection


@cache
def opened(path: Path) -> Collection:
    return assay.open(path)


def means(
    collection: Collection, task_name: str, split: str, system: str, measures: list[str], *, as_of: bool = True
) -> list[float]:
    task = collection.task(task_name, split=split)
    task = task if as_of else task.without_as_of()
    run = assay.retrieve(task, system)
    return [s.mean for s in assay.evaluate(run, task.qrels, measures, resamples=100)]


UK = "uk_written_questions/session_2023-24"
CQA = "conditionalqa/seed_schema"
PLAIN = [
    # The reference of each data set's own page: BM25 lucene, k1 1.2, b 0.75, plain words, ties by id descending.
    (UK, "answer", "dev", {"RR@10": 0.3893}, True),
    (UK, "answer", "test", {"RR@10": 0.4063, "R@10": 0.6109}, True),
    (UK, "followup", "all", {"R@10": 0.755}, True),
    (UK, "followup", "all", {"R@10": 0.585}, False),
    (UK, "followup", "test", {"R@10": 0.745}, True),
    (UK, "followup", "test", {"R@10": 0.569}, False),
    (CQA, "passages", "test", {"nDCG@10": 0.2174, "RR@10": 0.2999, "R@100": 0.5081}, True),
    ("xquad/xquad.en.json", "passages", "test", {"RR@10": 0.9487, "R@10": 0.9916}, True),
]


@pytest.mark.parametrize(("place", "task", "split", "expected", "as_of"), PLAIN)
def test_plain_preset(
    shared_data: Path, place: str, task: str, split: str, expected: dict[str, float], as_of: bool
) -> None:
    found = means(opened(shared_data / place), task, split, "bm25", list(expected), as_of=as_of)
    assert found == pytest.approx(list(expected.values()), abs=0.0005)


def test_ties_on_uk_answers(shared_data: Path) -> None:
    task = opened(shared_data / UK).task("answer", split="test")
    [scores] = assay.evaluate(assay.retrieve(task, "bm25"), task.qrels, ["RR@10"], resamples=100)
    assert (scores.worst.mean(), scores.best.mean()) == pytest.approx((0.383, 0.432), abs=0.0005)
