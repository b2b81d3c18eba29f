"""Handed: the judgements that a fit gets. No other module of this package reads a collection's tasks.

Fit on train, choose on dev, report on test: what is handed out never holds a judgement of a query of the test split,
nor a citation behind one.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

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
        task: The task with the judgements of these queries alone, without gold spans and citations; its pool holds no
            other query, unless passages link to queries.
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


@dataclass(frozen=True, eq=False)
class Lesson:
    """What a model is fitted on, what it is chosen on, and where both come from.

    Attributes:
        train: The judgements to fit on; no query of dev is among them.
        dev: Those to choose on.
        until: The last day of the train period, datetime64[D]; None where passages have no dates.
        until_from: What says so: `as given`, `the manifest`, `the latest train query`, or nothing.
        collection, digest, licence: Where the texts are from.
    """

    train: Handed
    dev: Handed
    until: np.datetime64 | None
    until_from: str
    collection: str
    digest: str
    licence: str


def lesson(collection: Collection, task_name: str | None = None, *, until: str = "") -> Lesson:
    """The train split to fit on and the dev split to choose on, without any query of test.

    Args:
        collection: Where the task is from.
        task_name: Its name; may be left out where there is one.
        until: The last day of the train period, as YYYY-MM-DD. By default what the manifest says (`splits`, `train`,
            `to`), else the day of the latest train query.

    Raises:
        UsageError: There is no train or no dev split, nothing is judged there, or the train period is not known.
        UnknownNameError: There is no such task.
    """
    splits = _splits(collection, task_name)
    for name in (_TRAIN, _DEV):
        if name not in splits:
            raise UsageError(
                f"{collection.name} has no split {name!r} of this task; it has {', '.join(sorted(splits)) or 'none'}."
                " A model is fitted on train and chosen on dev: add judgements under these names"
            )
    dev = handed(collection, task_name, split=_DEV)
    train = handed(collection, task_name, split=_TRAIN)
    apart = np.flatnonzero(dev.task.qrels.queries.codes(train.task.qrels.queries) < 0)
    left = len(train.task.qrels.queries) - len(apart)
    if left:
        train = replace(train, task=_only(train.task, apart), left_out=train.left_out + left)
    for one in (train, dev):
        if not len(one.task.rows):
            raise UsageError(
                f"{collection.name}: no query of the split {one.split!r} is judged and not one of test too; nothing can"
                " be learnt from it"
            )
    day, said = _train_end(train.task, collection.manifest, until)
    return Lesson(train, dev, day, said, collection.name, collection.digest, collection.licence)


def qrels_digest(task: Task) -> str:
    """SHA-256 over a task's judgements, one line each, sorted, as hexadecimal text."""
    lines = sorted(f"{query}\t{passage}\t{grade}\n" for query, passage, grade in task.qrels.triples())
    return sha256("".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def _train_end(task: Task, manifest: Mapping[str, Any], until: str) -> tuple[np.datetime64 | None, str]:
    """The last day of the train period, and what says so."""
    if task.passages.dates is None or np.isnat(task.passages.dates).all():
        if until:
            raise UsageError(f"passages of {task.name} have no dates: leave the end of the train period out")
        return None, ""
    if until:
        return _day(until, "the end of the train period"), "as given"
    splits = manifest.get("splits")
    train = splits.get(_TRAIN) if isinstance(splits, Mapping) else None
    if isinstance(train, Mapping) and train.get("to"):
        return _day(str(train["to"]), "splits.train.to of the manifest"), "the manifest"
    dates = task.queries.dates
    if dates is None or np.isnat(dates).all():
        raise UsageError(
            f"{task.name}: passages have dates, train queries have none, so that the end of the train period is not"
            " known; give it (--until YYYY-MM-DD)"
        )
    return np.datetime64(dates[~np.isnat(dates)].max(), "D"), "the latest train query"


def _day(text: str, what: str) -> np.datetime64:
    day: np.datetime64
    try:
        day = np.datetime64(text, "D")
    except ValueError:
        day = np.datetime64("NaT", "D")
    if np.isnat(day):
        raise UsageError(f"{what} must be a day such as 2021-12-31, found {text!r}")
    return day


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
        return replace(task, qrels=qrels, fragments=None, edges=None)
    codes = task.pool.ids.codes(qrels.queries)
    own = codes[codes >= 0]
    return replace(
        task,
        pool=task.pool.take(own),
        qrels=qrels,
        fragments=None,
        edges=None,
        asked=None if task.asked is None else task.asked[own],
        ties=None if task.ties is None else task.ties[own],
    )
