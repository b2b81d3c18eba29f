"""Lenient scores: equivalent passages count as one answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.eligibility import Eligibility
from assay.errors import UsageError
from assay.evaluation.eligible import only_eligible
from assay.evaluation.evaluate import evaluate
from assay.evaluation.reach import Reach, judged_rows
from assay.ids import Ids
from assay.measure import Measure
from assay.qrels import Qrels
from assay.run import Run
from assay.scores import Scores
from assay.task import Task

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Lenient:
    """A run and judgements in which every class of equivalent passages is one passage.

    Attributes:
        run: The lists without the later members of a class; the first one stands for it.
        qrels: One judgement per query and class, under the id of the member that the run returned first,
            or of the judged member with the highest grade.
        reach: Eligible classes, where a class may be returned when any member may.
    """

    run: Run
    qrels: Qrels
    reach: Reach


def lenient(run: Run, task: Task) -> Lenient:
    """The run and the task's judgements with equivalent passages folded into one.

    The class of a query's judged passage has the highest grade of its judged members and is credited at the
    rank of the first member that the run returns, judged or not; later members of any class leave the list.
    Only eligible passages are members: what a query may not be answered with is neither credited nor takes a
    rank. A judged class without an eligible member stays in the denominator, as such gold does in strict scores,
    and lowers `reachable`. A judged passage that the collection does not hold is a class of its own.

    Members of a class that tie with each other leave one row in the tie.

    Args:
        run: A run in any ids and of any eligibility; `only_eligible` is applied here.
        task: With `classes`.

    Raises:
        UsageError: The task knows no equivalents.
    """
    if task.classes is None:
        raise UsageError(
            f"{task.name} declares no equivalent passages: lenient scores need them; report the strict ones alone"
        )
    strict = only_eligible(run, task)
    folded = strict.keep(_first_members(strict, task.classes))
    query, class_, grade, passage = _judged_classes(task, task.classes)
    shown = _first_shown(folded, task, classes=task.classes, query=query, class_=class_)
    # Judged passages outside the collection keep their own ids; their codes follow the collection's.
    size = len(task.passages)
    used, codes = np.unique(np.where(shown >= 0, shown, passage), return_inverse=True)
    ghosts = task.qrels.passages.take(used[used >= size] - size)
    ids = Ids.of([*task.passages.ids.take(used[used < size]), *ghosts])
    qrels = Qrels.from_columns(task.qrels.queries, ids, query=query, passage=codes, grade=grade)
    return Lenient(folded, qrels, _class_reach(task, task.classes, query=query, class_=class_))


def lenient_scores(run: Run, task: Task, measures: Sequence[Measure], **options: Any) -> list[Scores]:
    """One `Scores` per measure over classes of equivalent passages, named `lenient(RR@10)`.

    Args:
        run: A run in any ids and of any eligibility.
        task: With `classes`.
        measures: What to compute.
        **options: `seed`, `resamples`, `method`, as for `evaluate`; queries are resampled by the task's clusters.

    Raises:
        UsageError: The task knows no equivalents.
    """
    over = lenient(run, task)
    scores = evaluate(over.run, over.qrels, measures, clusters=task.clusters, reach=over.reach, **options)
    return [replace(one, measure=f"lenient({one.measure})") for one in scores]


def _first_members(run: Run, classes: Rows) -> npt.NDArray[np.bool_]:
    """Rows that are the first of their class in their list, bool per row."""
    owner = np.repeat(np.arange(len(run.queries)), np.diff(run.offsets))
    key = owner * (int(classes.max(initial=0)) + 1) + classes[run.passage]
    _, first = np.unique(key, return_index=True)
    wanted = np.zeros(len(run), np.bool_)
    wanted[first] = True
    return wanted


def _judged_classes(task: Task, classes: Rows) -> tuple[Rows, Rows, npt.NDArray[np.int32], Rows]:
    """Query, class, grade and best judged member of every judged class.

    Judged passages that the collection does not hold have codes and classes past those of the collection.
    """
    qrels, size = task.qrels, len(task.passages)
    code = task.passages.ids.codes(qrels.passages).astype(np.int64)
    ghost = code < 0
    class_ = int(classes.max(initial=-1)) + 1 + np.arange(len(code))
    class_[~ghost] = classes[code[~ghost]]
    code = np.where(ghost, size + np.arange(len(code)), code)
    query, of_row, member = qrels.query, class_[qrels.passage], code[qrels.passage]
    order = np.lexsort((-qrels.grade.astype(np.int64), of_row, query))
    query, of_row = query[order], of_row[order]
    first = np.ones(len(order), np.bool_)
    first[1:] = (query[1:] != query[:-1]) | (of_row[1:] != of_row[:-1])
    return query[first], of_row[first], qrels.grade[order][first], member[order][first]


def _first_shown(run: Run, task: Task, *, classes: Rows, query: Rows, class_: Rows) -> Rows:
    """The passage with which the run shows each (query, class), -1 where it does not."""
    width = int(max(classes.max(initial=0), class_.max(initial=0))) + 1
    owner = task.qrels.queries.codes(run.queries).astype(np.int64)
    owner = np.repeat(owner, np.diff(run.offsets))
    asked = owner >= 0
    key = owner[asked] * width + classes[run.passage[asked]]
    order = np.argsort(key)
    key, passage = key[order], run.passage[asked][order]
    wanted = query * width + class_
    if len(key) == 0:
        return np.full(len(wanted), -1, np.int64)
    at = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
    return np.where(key[at] == wanted, passage[at], -1).astype(np.int64)


def _class_reach(task: Task, classes: Rows, *, query: Rows, class_: Rows) -> Reach:
    """Eligible classes per judged query, and which judged classes are."""
    rows = judged_rows(task)
    eligible = np.zeros(len(rows), np.int64)
    members = _Members.of(task.eligibility, classes)
    asked = rows >= 0
    eligible[asked] = members.classes()[rows[asked]]
    known = (rows[query] >= 0) & (class_ < members.top)
    may = np.zeros(len(query), np.bool_)
    may[known] = members.eligible(rows[query[known]].astype(np.int64), class_[known]) > 0
    return Reach(eligible, may)


@dataclass(frozen=True, eq=False)
class _Members:
    """Classes of passages under an eligibility rule.

    `key` is class and place of every candidate in the order of `Eligibility.nested`, ascending, so that the
    members eligible for a query, exclusions aside, are a stretch of it; `in_order` is the class at each place
    and `count` how many places a query sees. `gone_query` and `gone_class` say which members of those are
    excluded from which query.
    """

    key: Rows
    in_order: Rows
    count: Rows
    gone_query: Rows
    gone_class: Rows
    top: int
    width: int

    @classmethod
    def of(cls, rule: Eligibility, classes: Rows) -> _Members:
        order, count = rule.nested()
        width = len(order) + 1
        gone_query, gone_class = np.zeros(0, np.int64), np.zeros(0, np.int64)
        if rule.excluded is not None and rule.excluded_offsets is not None:
            place = np.full(rule.passages, width, np.int64)
            place[order] = np.arange(len(order))
            owner = np.repeat(np.arange(rule.queries), np.diff(rule.excluded_offsets))
            pair = np.unique(owner * rule.passages + rule.excluded)
            gone_query, passage = np.divmod(pair, max(1, rule.passages))
            within = place[passage] < count[gone_query]
            gone_query, gone_class = gone_query[within], classes[passage[within]]
        return cls(
            np.sort(classes[order] * width + np.arange(len(order))),
            classes[order],
            count,
            gone_query,
            gone_class,
            int(classes.max(initial=-1)) + 1,
            width,
        )

    def eligible(self, query: Rows, class_: Rows) -> Rows:
        """Eligible members of each class for each query, aligned."""
        low = np.searchsorted(self.key, class_ * self.width)
        members = np.searchsorted(self.key, class_ * self.width + self.count[query]) - low
        gone, wanted = np.sort(self.gone_query * self.top + self.gone_class), query * self.top + class_
        return members - (np.searchsorted(gone, wanted, "right") - np.searchsorted(gone, wanted, "left"))

    def classes(self) -> Rows:
        """Classes with an eligible member, per query."""
        _, first = np.unique(self.in_order, return_index=True)
        whole = np.searchsorted(np.sort(first), self.count)
        pair = np.unique(self.gone_query * max(1, self.top) + self.gone_class)
        query, class_ = np.divmod(pair, max(1, self.top))
        emptied = query[self.eligible(query, class_) == 0]
        return whole - np.bincount(emptied, minlength=len(whole))
