"""Tasks over dated questions and replies: which rule of time each has, and what ties its queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from assay.building.splits import with_all
from assay.building.ties import Pairs, chains, cluster_labels, shared_passage
from assay.edges import Edges
from assay.errors import FormatError
from assay.passage import Passages
from assay.qrels import Qrels
from assay.query import Queries
from assay.task import Task

Rows = npt.NDArray[np.int64]
Days = npt.NDArray[np.datetime64]

AS_OF: dict[str, str | None] = {
    "answer": None,
    "answerlenient": None,
    "precedent": "query",
    "precedenthc": "query",
    "followup": "query",
    "cite": "answer",
    "citehc": "answer",
}
"""Task to the day before which a passage must be dated: that of the query, of its own answer, or none."""

RULES = {"query": "passage date < question date", "answer": "passage date < date of the query's own answer"}
SHARED = "shared_passage"
XLING = "_xling"


@dataclass(frozen=True, eq=False)
class Questions:
    """Questions and replies, ready to be judged.

    Attributes:
        queries: Questions, and below them queries that ask them in another language.
        question: Per query the row of its question, itself for a question, int64.
        passages: The replies.
        own: Per question the row of its own answer, -1 where there is none, int64.
        tied: Pairs of queries tied, by kind.
        shares: Whether queries with a relevant passage in common are tied too.
        classes: Per passage its class of equivalent passages; None where none are known.
        mask: Tokens that stand for masked identifiers.
        as_of: What changes in `AS_OF`.
        edges: Task to the citations behind its judgements.
    """

    queries: Queries
    question: Rows
    passages: Passages
    own: Rows
    tied: Mapping[str, Pairs] = field(default_factory=dict)
    shares: bool = False
    classes: Rows | None = None
    mask: tuple[str, ...] = ()
    as_of: Mapping[str, str | None] = field(default_factory=dict)
    edges: Mapping[str, Edges] = field(default_factory=dict)

    @property
    def own_days(self) -> Days:
        """Per query the day of its question's own answer, NaT where unknown."""
        days = np.full(len(self.question), "NaT", "datetime64[D]")
        own = self.own[self.question]
        if self.passages.dates is not None:
            days[own >= 0] = self.passages.dates[own[own >= 0]]
        return days

    @property
    def translated(self) -> Rows:
        """Rows of the queries that ask a question in another language."""
        return np.flatnonzero(self.question != np.arange(len(self.question)))

    def asked(self, task: str) -> tuple[Days | None, str]:
        """Per query the day before which passages must be dated, and the rule in words.

        Raises:
            FormatError: The rule named for the task is unknown.
        """
        base = task.removesuffix(XLING)
        which = {**AS_OF, **self.as_of}.get(base)
        if which is None:
            return None, ""
        if which not in RULES:
            raise FormatError(f"task {base}: there is no as-of rule {which!r}; rules are {', '.join(RULES)} or null")
        undated = np.full(len(self.queries), "NaT", "datetime64[D]")
        days = self.own_days if which == "answer" else self.queries.dates
        return (undated if days is None else days), RULES[which]


def headline_measures(task: str) -> tuple[str, ...]:
    """The headline measures of a task by its name: of the first hit for replies, else of what is found.

    Example:
        >>> headline_measures("answerlenient"), headline_measures("cite_xling")
        (('RR@10', 'nDCG@10', 'R@10'), ('R@10', 'R@100', 'RR@10'))
    """
    return ("RR@10", "nDCG@10", "R@10") if task.startswith("answer") else ("R@10", "R@100", "RR@10")


def question_tasks(questions: Questions, judged: Iterable[tuple[str, str, Qrels]]) -> dict[str, dict[str, Task]]:
    """Task to split to task, for judgements given as task, split and qrels.

    A task with several splits has the split `all` too; where questions are asked in other languages, each task has a
    cross-lingual twin, `TASK_xling`, in which those queries have the judgements of their questions. Empty qrels make
    no task.
    """
    tasks: dict[str, dict[str, Task]] = {}
    crossing: dict[str, dict[str, Task]] = {}
    for name, split, qrels in judged:
        if len(qrels):
            tasks.setdefault(name, {})[split] = _task(questions, name, split=split, qrels=qrels)
            crossed = _crossed(questions, qrels)
            if len(crossed):
                twin = _task(questions, f"{name}{XLING}", split=split, qrels=crossed)
                crossing.setdefault(f"{name}{XLING}", {})[split] = twin
    return {name: _tied(questions, with_all(splits)) for name, splits in {**tasks, **crossing}.items()}


def _task(questions: Questions, name: str, *, split: str, qrels: Qrels) -> Task:
    asked, rule = questions.asked(name)
    # Without an as-of rule the link view would lead from a query's own question to its answer.
    linked = asked is not None and questions.passages.link_query is not None
    return Task(
        name=name,
        split=split,
        pool=questions.queries,
        passages=questions.passages,
        qrels=qrels,
        views=("text:plain", *(["link:question"] if linked else [])),
        measures=headline_measures(name),
        asked=asked,
        rule=rule,
        question=questions.question,
        edges=questions.edges.get(name.removesuffix(XLING)),
        classes=questions.classes,
        mask=questions.mask,
    )


def _crossed(questions: Questions, qrels: Qrels) -> Qrels:
    """The judgements of the cross-lingual queries: those of their questions."""
    rows = questions.translated
    place = np.full(len(questions.queries), -1, np.int64)
    code = questions.queries.ids.codes(qrels.queries)
    place[code[code >= 0]] = np.flatnonzero(code >= 0)
    judged = place[questions.question[rows]]
    rows, judged = rows[judged >= 0], judged[judged >= 0]
    return replace(qrels.take(judged), queries=questions.queries.ids.take(rows))


def _tied(questions: Questions, splits: dict[str, Task]) -> dict[str, Task]:
    """The tasks with their clusters, where queries are tied."""
    kinds = list(questions.tied.values())
    if len(questions.translated):
        kinds.append(chains(questions.question, np.arange(len(questions.question))))
    if not kinds and not questions.shares:
        return splits
    tied = {}
    for split, task in splits.items():
        shared = [shared_passage(questions.queries.ids, task.qrels)] if questions.shares else []
        tied[split] = replace(task, ties=cluster_labels(len(questions.queries), [*kinds, *shared]))
    return tied
