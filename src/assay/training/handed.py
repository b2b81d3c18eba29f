"""Handed: the judgements that a fit gets. No other module of this package reads a collection's tasks.

Fit on train, choose on dev, report on test: what is handed out never holds a judgement of a query of the test split.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from assay.collection import Collection
from assay.errors import UnknownNameError, UsageError
from assay.task import Task

HELD_OUT = "test"
"""The split that no fit may see."""

_EVERYTHING = "all"
_DEV, _TRAIN = "dev", "train"


@dataclass(frozen=True, eq=False)
class Handed:
    """A task to fit or choose on, and where its queries come from.

    Attributes:
        task: The task with the judgements of these queries alone, without gold spans; its pool holds no other
            query, unless passages link to queries.
        split: The split that they are of: `dev`, or `dev of train` where they were drawn from it.
        drawn_from: Of how many train queries they were drawn; None where there is a dev split.
        seed: Of the draw; None where there is a dev split.
        left_out: Queries of the split that are test queries too, of any task, and therefore left out.
    """

    task: Task
    split: str
    drawn_from: int | None
    seed: int | None
    left_out: int


def handed(collection: Collection, task_name: str | None = None, *, split: str = _DEV, seed: int = 42) -> Handed:
    """The task to choose on: the split asked for, or, without a dev split, a sample of train.

    The sample is DAPR's: `random.Random(seed).sample` of the train queries in the order of their judgements, as many as
    the test split has, but never more than half of train. A query that is also judged in the test split, of
    this task or of another one, is left out.

    Args:
        collection: Where the task is from.
        task_name: Its name; may be left out where there is one.
        split: The split to choose on. `test`, and `all`, which holds it, are refused.
        seed: Of the sample.

    Raises:
        UsageError: The test split was asked for, or there is neither a dev split nor a train split to draw from.
        UnknownNameError: There is no such task or split.
    """
    if split in (HELD_OUT, _EVERYTHING):
        raise UsageError(f"a fit never sees the split {split!r}: fit on train, choose on dev, report on test")
    splits = _splits(collection, task_name)
    test = splits[HELD_OUT].qrels.queries if HELD_OUT in splits else None
    held_out = [s[HELD_OUT].qrels.queries for s in collection.tasks.values() if HELD_OUT in s]
    drawn = split == _DEV and _DEV not in splits
    if drawn and _TRAIN not in splits:
        raise UsageError(
            f"{collection.name} has no split {_DEV!r}, nor {_TRAIN!r} to draw one from; it has"
            f" {', '.join(sorted(splits)) or 'none'}: name another one, or add judgements to choose on"
        )
    name = _TRAIN if drawn else split
    if name not in splits:
        raise UnknownNameError.of(f"split of {collection.name}", split, splits)
    task = splits[name]
    asked = task.qrels.queries
    free = np.ones(len(asked), np.bool_)
    for queries in held_out:
        free &= queries.codes(asked) < 0
    kept = np.flatnonzero(free)
    left_out = len(asked) - len(kept)
    if not drawn:
        return Handed(_only(task, kept), name, None, None, left_out)
    wanted = len(kept) // 2 if test is None else min(len(test), len(kept) // 2)
    chosen = random.Random(seed).sample(kept.tolist(), wanted)
    return Handed(_only(task, np.asarray(chosen, np.int64)), f"{_DEV} of {name}", len(kept), seed, left_out)


def _splits(collection: Collection, task_name: str | None) -> Mapping[str, Task]:
    name = next(iter(collection.tasks)) if task_name is None and len(collection.tasks) == 1 else task_name
    if name is None:
        raise UsageError(f"{collection.name} has several tasks, name one: {', '.join(collection.tasks)}")
    if name not in collection.tasks:
        raise UnknownNameError.of(f"task of {collection.name}", name, collection.tasks)
    return collection.tasks[name]


def _only(task: Task, rows: npt.NDArray[np.int64]) -> Task:
    """The task with the judgements, and where nothing links to the pool the queries, of these rows of its qrels."""
    qrels = task.qrels.take(rows)
    if task.passages.link_query is not None:
        return replace(task, qrels=qrels, fragments=None)
    codes = task.pool.ids.codes(qrels.queries)
    own = codes[codes >= 0]
    return replace(
        task,
        pool=task.pool.take(own),
        qrels=qrels,
        fragments=None,
        asked=None if task.asked is None else task.asked[own],
        ties=None if task.ties is None else task.ties[own],
    )
