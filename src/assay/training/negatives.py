"""Negatives: what a fit is told not to find.

A negative is eligible under the task for its query and dated within the train period; it is never a positive of the
query, a member of a positive's class, or a near-duplicate of a positive. That holds for mined negatives and for the
passages of other queries in a batch.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from assay.building.near import near_duplicates
from assay.eligibility import Eligibility
from assay.errors import UsageError
from assay.run import Run
from assay.task import Task
from assay.training.handed import Lesson

Rows = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]

UNDATED, LATE, INELIGIBLE = "undated", "dated after the train period", "not eligible for the query"
POSITIVE, SAME, NEAR = "relevant to the query", "of the class of a relevant one", "near-duplicate of a relevant one"


@dataclass(frozen=True)
class Mining:
    """How negatives are drawn from the ranked passages of a system.

    Attributes:
        system: What ranks them, as a call.
        count: Negatives of each pair of a query and a relevant passage.
        first, last: The ranks to draw from, from 1; ranks are those among passages that the rule and the train period
            allow, relevant ones too.
        seed: Of the draw.

    Raises:
        UsageError: The ranks are none, or the count is below 0.
    """

    system: str = "bm25"
    count: int = 4
    first: int = 1
    last: int = 100
    seed: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.first <= self.last or self.count < 0:
            raise UsageError(
                f"negatives: {self.count} from ranks {self.first} to {self.last}; ranks count from 1 and go up, and the"
                " count is 0 or more"
            )


@dataclass(frozen=True, eq=False)
class Exclusions:
    """What may be a negative of which query.

    Attributes:
        rule: The task's rule, among passages of the train period alone.
        forbidden: Query * passages + passage of each pair that is forbidden for what the passage says, sorted.
        passages: How many there are.
    """

    rule: Eligibility
    forbidden: Rows
    passages: int

    def allows(self, query: Rows, passage: Rows) -> Marks:
        """For aligned rows of queries and passages, whether the passage may be a negative of the query."""
        return self.rule.allows(query, passage) & ~np.isin(query * self.passages + passage, self.forbidden)

    def in_batch(self, query: Rows, passage: Rows) -> Marks:
        """Which passages of a batch may be negatives of which of its queries, shape (queries, passages)."""
        pairs = np.repeat(query, len(passage)), np.tile(passage, len(query))
        return self.allows(*pairs).reshape(len(query), len(passage))


@dataclass(frozen=True, eq=False)
class Negatives:
    """Pairs to fit on, each with its negatives.

    Pair `i` is of the query `query[i]` (a row of the task's queries) and the relevant passage `positive[i]`; its
    negatives are `negative[offsets[i]:offsets[i + 1]]`, by rank.

    Attributes:
        exclusions: What else may stand against these queries: passages that occur here.
        counts: What was left out, and why.
        digest: SHA-256 over the ids of all pairs and negatives.
    """

    query: Rows
    positive: Rows
    offsets: Rows
    negative: Rows
    exclusions: Exclusions
    digest: str
    counts: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.query)

    def of(self, row: int) -> Rows:
        """The negatives of a pair."""
        return self.negative[self.offsets[row] : self.offsets[row + 1]]


def mining_task(lesson: Lesson) -> Task:
    """The train task with only the passages that were dated within the train period: what a miner may find."""
    task = lesson.train.task
    if lesson.until is None or task.passages.dates is None:
        return task
    within = task.passages.dates <= lesson.until
    if task.passages.candidate is not None:
        within &= task.passages.candidate
    return replace(task, passages=replace(task.passages, candidate=within))


def drawn(lesson: Lesson, run: Run, mining: Mining) -> Negatives:
    """Pairs of the train split with negatives drawn from a run.

    Each query has its own draw, from the seed and its id: it does not depend on other queries. All pairs of a query
    share its negatives.

    Args:
        lesson: What may be seen.
        run: Of any system on `mining_task(lesson)`; rows that may be no negatives are left out and counted.
        mining: How many, and from which ranks.

    Raises:
        UsageError: There is no pair to fit on.
    """
    task = lesson.train.task
    judged, relevant, counts = _relevant(task)
    # What may not be the answer is nothing to fit on, but like any relevant passage no negative.
    may = task.eligibility.allows(judged, relevant)
    query, positive = judged[may], relevant[may]
    counts["relevant passages that are not eligible"] = int((~may).sum())
    counts["queries without a relevant passage"] = len(task.rows) - len(np.unique(query))
    counts = +counts
    if not len(query):
        raise UsageError(f"{task.name}: no query of train has a relevant passage that it may be answered with")
    lists = _windows(task, run, mining)
    asked = np.unique(query)
    found = np.concatenate([np.zeros(0, np.int64), *(lists[q] for q in asked.tolist())])
    in_play = np.unique(np.concatenate([relevant, found]))
    exclusions, reasons = _excluded(lesson, judged, relevant, in_play)
    chosen: dict[int, Rows] = {}
    for own in asked.tolist():
        listed = lists[own]
        may = exclusions.allows(np.full(len(listed), own), listed)
        counts.update(_reason(lesson, reasons, own, int(passage)) for passage in listed[~may])
        chosen[own] = _draw(listed[may], mining, task.queries.ids[own])
    short = sum(len(rows) < mining.count for rows in chosen.values())
    if short:
        counts[f"queries with fewer than {mining.count} negatives"] = short
    each = [chosen[q] for q in query.tolist()]
    offsets = np.cumsum([0, *map(len, each)]).astype(np.int64)
    negative = np.concatenate([np.zeros(0, np.int64), *each])
    digest = _digest(task, query, positive, each)
    return Negatives(query, positive, offsets, negative, exclusions, digest, dict(sorted(counts.items())))


def _relevant(task: Task) -> tuple[Rows, Rows, Counter[str]]:
    """Rows of queries and of their relevant passages; what the collection lacks of them."""
    counts: Counter[str] = Counter()
    codes = task.pool.ids.codes(task.qrels.queries)
    counts["judged queries that the collection lacks"] = int((codes < 0).sum())
    row_of = np.full(len(codes), -1, np.int64)
    row_of[codes >= 0] = np.arange(int((codes >= 0).sum()))
    good = task.qrels.grade >= 1
    query = row_of[task.qrels.query[good]]
    passage = task.passages.ids.codes(task.qrels.passages)[task.qrels.passage[good]].astype(np.int64)
    held = (query >= 0) & (passage >= 0)
    counts["relevant passages that the collection lacks"] = int((passage < 0).sum())
    return query[held], passage[held], counts


def _windows(task: Task, run: Run, mining: Mining) -> dict[int, Rows]:
    """The passages of each query at the ranks to draw from."""
    lists = run.queries.codes(task.queries.ids).tolist()
    codes = task.passages.ids.codes(run.passages).astype(np.int64)
    found = {}
    for row, own in enumerate(lists):
        low, high = (run.offsets[own], run.offsets[own + 1]) if own >= 0 else (0, 0)
        passages = codes[run.passage[low:high]][mining.first - 1 : mining.last]
        found[row] = passages[passages >= 0]
    return found


def _excluded(
    lesson: Lesson, query: Rows, positive: Rows, in_play: Rows
) -> tuple[Exclusions, tuple[dict[int, set[int]], dict[int, set[int]], dict[int, set[int]]]]:
    """What the relevant passages of each query forbid among the passages in play, by reason."""
    task = lesson.train.task
    same, near = _same_class(task, in_play), _near(task, in_play)
    positives: dict[int, set[int]] = {}
    for q, p in zip(query.tolist(), positive.tolist(), strict=True):
        positives.setdefault(q, set()).add(p)
    by_class = {q: {m for p in own for m in same.get(p, ())} for q, own in positives.items()}
    by_text = {q: {m for p in own for m in near.get(p, ())} for q, own in positives.items()}
    size = len(task.passages)
    keys = [q * size + p for q in positives for p in positives[q] | by_class[q] | by_text[q]]
    rule = mining_task(lesson).eligibility
    return Exclusions(rule, np.unique(np.array(keys, np.int64)), size), (positives, by_class, by_text)


def _same_class(task: Task, rows: Rows) -> dict[int, list[int]]:
    if task.classes is None:
        return {}
    members: dict[int, list[int]] = {}
    labels = task.classes[rows].tolist()
    for row, label in zip(rows.tolist(), labels, strict=True):
        members.setdefault(label, []).append(row)
    return {row: members[label] for row, label in zip(rows.tolist(), labels, strict=True) if len(members[label]) > 1}


def _near(task: Task, rows: Rows) -> dict[int, list[int]]:
    """Near-duplicates among some passages, by their unmasked texts where those are held."""
    texts = task.passages.texts.get("raw", task.passages.texts["plain"])
    found: dict[int, list[int]] = {}
    for left, right in near_duplicates(texts.take(rows)).all_pairs():
        one, other = int(rows[left]), int(rows[right])
        found.setdefault(one, []).append(other)
        found.setdefault(other, []).append(one)
    return found


def _reason(
    lesson: Lesson, reasons: tuple[dict[int, set[int]], dict[int, set[int]], dict[int, set[int]]], query: int, row: int
) -> str:
    """Why a passage is no negative of a query: the first reason that holds."""
    for name, held in zip((POSITIVE, SAME, NEAR), reasons, strict=True):
        if row in held.get(query, ()):
            return name
    dates = lesson.train.task.passages.dates
    if lesson.until is not None and dates is not None:
        if np.isnat(dates[row]):
            return UNDATED
        if dates[row] > lesson.until:
            return LATE
    return INELIGIBLE


def _draw(rows: Rows, mining: Mining, query: str) -> Rows:
    if len(rows) <= mining.count:
        return rows
    own = int.from_bytes(sha256(query.encode("utf-8", "surrogatepass")).digest()[:8], "little")
    places = np.random.default_rng([mining.seed, own]).choice(len(rows), mining.count, replace=False)
    return rows[np.sort(places)]


def _digest(task: Task, query: Rows, positive: Rows, each: list[Rows]) -> str:
    whole = sha256()
    for q, p, rows in zip(query.tolist(), positive.tolist(), each, strict=True):
        ids = [task.queries.ids[q], task.passages.ids[p], *(task.passages.ids[int(row)] for row in rows)]
        whole.update(("\t".join(ids) + "\n").encode("utf-8", "surrogatepass"))
    return whole.hexdigest()
