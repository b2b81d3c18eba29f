"""Weights: how much each part of a fusion counts, chosen on judged queries that are not reported on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from assay import measures
from assay.call import short_call
from assay.collection import Collection
from assay.errors import UsageError
from assay.evaluation import judge
from assay.evaluation.span_measure import FORMS
from assay.harness import retrieve_each
from assay.measure import Measure
from assay.task import Task
from assay.training.handed import handed

LEAST_QUERIES = 30
LEAST_PASSAGES = 10
"""With fewer queries, or fewer distinct relevant passages, weights are not fitted: a few texts would decide."""

MOST_POINTS = 2_000
SAME = 1e-12


@dataclass(frozen=True)
class FitReport:
    """What was fitted, on what, and how it came out.

    Attributes:
        system: The system with its weights, as a call.
        weights: One number a part; their sum is 1.
        refused: Why the weights are equal and not fitted; empty where they are fitted.
        task, split: What they were chosen on.
        drawn_from, seed: Of how many train queries the split was drawn, and with what seed; None for a dev split.
        queries, relevant: Judged queries, and distinct relevant passages among their judgements.
        left_out: Queries of the split that are test queries too.
        measure, depth: What was compared.
        value, equal: Its mean with these weights and with equal ones; None where nothing was fitted.
        grid: Every tried tuple of weights with its mean, in the order of the grid.
    """

    system: str
    weights: tuple[float, ...]
    refused: str
    task: str
    split: str
    drawn_from: int | None
    seed: int | None
    queries: int
    relevant: int
    left_out: int
    measure: str
    depth: int
    value: float | None
    equal: float | None
    grid: tuple[tuple[tuple[float, ...], float], ...] = ()


def fitted(
    system: Any,
    collection: Collection,
    task_name: str | None = None,
    *,
    dev_split: str = "dev",
    measure: str | None = None,
    steps: int = 20,
    depth: int | None = None,
    seed: int = 42,
    indexes: Path | None = None,
) -> tuple[Any, FitReport]:
    """The system with the convex weights that do best on dev, and the report of the fit.

    Every tuple of multiples of 1 / `steps` that add up to 1 is tried; parts are searched once. Of tuples whose means
    are equal within 1e-12 the one nearest to equal weights is taken, and of those equally near the one whose first
    weight is the greatest (then the second, …). So the result is the same on every machine.

    Args:
        system: A combination with a field `weights`, such as `fusion(bm25, bm25('english'), method='minmax')`.
        collection: Where the task is from; `assay.training.handed` takes from it what may be seen.
        task_name: The task; may be left out where there is one.
        dev_split: The split to choose on; without a dev split a sample of train is drawn.
        measure: What to compare the means of; the task's first measure by default.
        steps: Into how many steps the range of a weight is cut.
        depth: Passages per query; the task's depth by default.
        seed: Of the sample.
        indexes: Folder of kept indexes.

    Raises:
        UsageError: The system has no weights to fit, the grid is too large, the split may not be seen, or the measure
            is one of chunkings.
        UnknownNameError: There is no such task, split or measure.
    """
    parts = getattr(system, "parts", ())
    if len(parts) < 2 or not hasattr(system, "weights"):
        raise UsageError(
            f"{short_call(system)} has no weights to fit; give a fusion, as in"
            " fusion(bm25, titled(bm25), method='minmax')"
        )
    given = handed(collection, task_name, split=dev_split, seed=seed)
    task = given.task
    wanted = passage_measure(measure or task.measures[0])
    deep = task.depth if depth is None else depth
    queries, relevant = len(task.rows), _relevant(task)
    refused = _refusal(queries, relevant)
    equal = (1 / len(parts),) * len(parts)
    means: list[tuple[tuple[float, ...], float]] = []
    if not refused:
        tried = [*grid(len(parts), steps), equal]
        runs = retrieve_each(task, (replace(system, weights=w) for w in tried), depth=deep, indexes=indexes)
        means = [
            (weights, float(np.mean(wanted.score(judge(run, task.qrels)))))
            for weights, run in zip(tried, runs, strict=True)
        ]
    best = chosen(means[:-1]) if means else equal
    made = replace(system, weights=best)
    report = FitReport(
        system=short_call(made),
        weights=best,
        refused=refused,
        task=task.name,
        split=given.split,
        drawn_from=given.drawn_from,
        seed=given.seed,
        queries=queries,
        relevant=relevant,
        left_out=given.left_out,
        measure=str(wanted),
        depth=deep,
        value=dict(means)[best] if means else None,
        equal=means[-1][1] if means else None,
        grid=tuple(means[:-1]),
    )
    return made, report


def grid(parts: int, steps: int) -> list[tuple[float, ...]]:
    """Every tuple of `parts` multiples of 1 / `steps` that add up to 1, the greatest first weight first.

    Raises:
        UsageError: `steps` is less than 1, or there are more than 2,000 of them.

    Example:
        >>> grid(2, 4)
        [(1.0, 0.0), (0.75, 0.25), (0.5, 0.5), (0.25, 0.75), (0.0, 1.0)]
        >>> len(grid(3, 20))
        231
    """
    if steps < 1:
        raise UsageError(f"steps must be at least 1, found {steps}")
    points: list[tuple[float, ...]] = []
    for point in _compositions(steps, parts):
        if len(points) == MOST_POINTS:
            raise UsageError(f"{steps} steps for {parts} parts make more than {MOST_POINTS} tuples; take fewer steps")
        points.append(tuple(share / steps for share in point))
    return points


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (total,)
        return
    for first in range(total, -1, -1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)


def chosen(means: list[tuple[tuple[float, ...], float]]) -> tuple[float, ...]:
    """The weights with the best mean; of equal means those nearest to equal weights, then the greatest.

    Example:
        >>> chosen([((1.0, 0.0), 0.5), ((0.75, 0.25), 0.5), ((0.25, 0.75), 0.5), ((0.0, 1.0), 0.4)])
        (0.75, 0.25)
    """
    top = max(mean for _, mean in means)
    level = [weights for weights, mean in means if mean >= top - SAME]
    return min(level, key=lambda w: (round(sum((x - 1 / len(w)) ** 2 for x in w), 12), tuple(-x for x in w)))


def passage_measure(name: str) -> Measure:
    """The measure to choose by.

    Raises:
        UsageError: It is one of chunkings.
        UnknownNameError: There is none of that name.
    """
    if name.split("@")[0].split("(")[0].strip() in (*FORMS, "documents"):
        raise UsageError(f"{name}: weights are chosen by a measure of passages, such as nDCG@10 or R@100")
    return measures.parse(name)


def _relevant(task: Task) -> int:
    return len(np.unique(task.qrels.passage[task.qrels.grade >= 1]))


def _refusal(queries: int, relevant: int) -> str:
    """Why weights must not be fitted; empty where they may."""
    if queries < LEAST_QUERIES:
        return f"{queries} queries to choose on, fewer than {LEAST_QUERIES}: equal weights"
    if relevant < LEAST_PASSAGES:
        return f"{relevant} distinct relevant passages to choose on, fewer than {LEAST_PASSAGES}: equal weights"
    return ""
