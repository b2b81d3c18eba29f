"""Audits: what looks at a collection from the side, and what it finds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, islice
from typing import ClassVar, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from assay.collection import Collection
from assay.task import Task

Verdict = Literal["ok", "note", "warning", "error", "skipped"]
SHOWN = 5
UNION = "all"


@dataclass(frozen=True)
class Finding:
    """The outcome of one check.

    Attributes:
        check: The audit's name, or a part of it (`gold-in-chunks/none`).
        verdict: `ok`; `note` (worth knowing); `warning` (a score may mislead); `error` (the collection is
            wrong); `skipped` (nothing to check here, `found` says why).
        expected, found: In words, with numbers.
        count: Offenders in all.
        offenders: The first of them, ready to print.
        advice: What to do; empty for `ok`.
    """

    check: str
    verdict: Verdict
    expected: str
    found: str
    count: int = 0
    offenders: tuple[str, ...] = ()
    advice: str = ""

    @classmethod
    def of(
        cls,
        check: str,
        count: int,
        *,
        verdict: Verdict,
        expected: str,
        found: str,
        offenders: Iterable[str] = (),
        advice: str = "",
    ) -> Finding:
        """The verdict where something was counted, with the first `SHOWN` offenders; `ok` where nothing was.

        `offenders` is read no further than needed.

        Example:
            >>> Finding.of("ids-unique", 0, verdict="error", expected="no id twice", found="7 ids").verdict
            'ok'
        """
        if not count:
            return cls(check, "ok", expected, found)
        return cls(check, verdict, expected, found, int(count), tuple(islice(offenders, SHOWN)), advice)

    @classmethod
    def skipped(cls, check: str, why: str, *, expected: str) -> Finding:
        """The finding of an audit that has nothing to look at, and why."""
        return cls(check, "skipped", expected, why)


class Judgements(NamedTuple):
    """The judgements of a task as aligned columns.

    `query` counts the judged queries; `asked` is the row in the task's pool and `passage` the row in its
    passages, -1 where there is none; `grade` as in the qrels.
    """

    query: npt.NDArray[np.int64]
    asked: npt.NDArray[np.int64]
    passage: npt.NDArray[np.int64]
    grade: npt.NDArray[np.int64]

    @property
    def relevant(self) -> Judgements:
        """The judgements with a grade of 1 and up."""
        keep = self.grade >= 1
        return Judgements(self.query[keep], self.asked[keep], self.passage[keep], self.grade[keep])

    @property
    def present(self) -> Judgements:
        """The judgements whose query and passage both exist."""
        keep = (self.asked >= 0) & (self.passage >= 0)
        return Judgements(self.query[keep], self.asked[keep], self.passage[keep], self.grade[keep])


def judgements(task: Task) -> Judgements:
    """Every judgement of a task, with rows in place of ids."""
    query = task.qrels.query
    asked = task.pool.ids.codes(task.qrels.queries).astype(np.int64)
    passage = task.passages.ids.codes(task.qrels.passages).astype(np.int64)
    return Judgements(query, asked[query], passage[task.qrels.passage], task.qrels.grade.astype(np.int64))


def own_splits(splits: Mapping[str, Task]) -> dict[str, Task]:
    """The splits of a task without the split `all`, which repeats the others where there are others.

    Example:
        >>> list(own_splits({})), UNION
        ([], 'all')
    """
    return {split: task for split, task in splits.items() if split != UNION or len(splits) == 1}


def split_pairs(splits: Mapping[str, Task]) -> Iterator[tuple[tuple[str, Task], tuple[str, Task]]]:
    """Every two own splits of a task, in the order in which splits are used: train first and test last.

    Folders list them in any order, and what is said of two depends on which one is fitted on.

    Example:
        >>> from assay.audit import split_pairs
        >>> [(one, two) for (one, _), (two, _) in split_pairs(dict.fromkeys(("dev", "test", "train")))]
        [('train', 'dev'), ('train', 'test'), ('dev', 'test')]
    """
    use = {"train": 0, "test": 2}
    return combinations(sorted(own_splits(splits).items(), key=lambda item: use.get(item[0], 1)), 2)


def labelled_tasks(collection: Collection) -> Iterator[tuple[str, Task]]:
    """Every task and own split of a collection, named as in `cite/test`."""
    for name, splits in collection.tasks.items():
        for split, task in own_splits(splits).items():
            yield f"{name}/{split}", task


@runtime_checkable
class Audit(Protocol):
    """A frozen dataclass in one file of `assay.audits`; its docstring has fixed headings.

    The headings are Checks, Why it matters, Known limits, Example, What to do.
    """

    name: ClassVar[str]

    def inspect(self, collection: Collection) -> Iterator[Finding]:
        """What was found: at least one finding, also when all is well."""
        ...
