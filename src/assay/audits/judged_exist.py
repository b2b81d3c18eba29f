"""Judgements point at passages and queries that exist."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.audit import Finding, Judgements, judgements, labelled_tasks
from assay.collection import Collection
from assay.task import Task


@dataclass(frozen=True)
class JudgedExist:
    """Every judged passage is in the collection, and every judged query too.

    Checks:
        Each judgement of each task and split names a passage and a query that the collection holds. Where
        one does not, the finding says how many, and the best R@10 that is still within reach.

    Why it matters:
        No system can find a passage that is not there: every score is capped without a word, and more for
        some systems than for others.

    Known limits:
        The best reachable score counts what exists; what no query may be answered with is the business of
        `gold-eligible`.

    Example:
        Query `q` has the relevant passages `a` and `ghost`, and the collection holds `a` and `b` alone:
        one dangling judgement, and R@10 can reach 0.5000 at most.

    What to do:
        Add what is missing, or drop the judgements and say so beside the scores.
    """

    name: ClassVar[str] = "judged-exist"

    def inspect(self, collection: Collection) -> Iterator[Finding]:
        """One finding if all is well, else one per task and split and kind."""
        total, dangling = 0, []
        for label, task in labelled_tasks(collection):
            judged = judgements(task)
            total += len(judged.query)
            both = self._passages(label, task, judged), self._queries(label, task, judged)
            dangling += [finding for finding in both if finding.count]
        if not collection.tasks:
            yield Finding.skipped(self.name, "the collection has no tasks", expected="judged passages that exist")
        elif dangling:
            yield from dangling
        else:
            yield Finding(self.name, "ok", "judged passages and queries that exist", f"all of {total} judgements")

    def _passages(self, label: str, task: Task, judged: Judgements) -> Finding:
        missing = np.flatnonzero(judged.passage < 0)
        ids = task.qrels
        return Finding.of(
            f"{self.name}/{label}/passages",
            len(missing),
            verdict="error",
            expected="judged passages that exist",
            found=f"{_counted(len(missing), 'dangling judgement')} of {len(judged.query)}: no such passage; "
            f"R@10 can reach {_best_recall(judged, len(ids.queries)):.4f} at most",
            offenders=(
                f"query {ids.queries[int(judged.query[i])]!r}: passage {ids.passages[int(ids.passage[i])]!r} "
                f"(grade {int(judged.grade[i])})"
                for i in missing.tolist()
            ),
            advice="add the missing passages or drop their judgements, and say which",
        )

    def _queries(self, label: str, task: Task, judged: Judgements) -> Finding:
        missing = np.unique(judged.query[judged.asked < 0])
        return Finding.of(
            f"{self.name}/{label}/queries",
            len(missing),
            verdict="error",
            expected="judged queries that exist",
            found=f"{len(missing)} of {len(task.qrels.queries)} judged queries do not exist; each scores 0; "
            f"R@10 can reach {_best_recall(judged, len(task.qrels.queries)):.4f} at most",
            offenders=(f"query {task.qrels.queries[i]!r}" for i in missing.tolist()),
            advice="add the missing queries or drop their judgements",
        )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _best_recall(judged: Judgements, queries: int, cutoff: int = 10) -> float:
    relevant = np.bincount(judged.relevant.query, minlength=queries)
    within = np.bincount(judged.relevant.present.query, minlength=queries)
    return float((np.minimum(within, cutoff) / np.maximum(relevant, 1)).sum() / max(1, queries))
