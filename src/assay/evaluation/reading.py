"""Reading: the gold of every query in characters, and what of a ranked list is read within a budget."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from assay.errors import UsageError
from assay.evaluation.span_measure import Budget
from assay.judged import Mask, Ranks
from assay.kernels.spans import first_ranks, union_lengths
from assay.run import Run
from assay.span import Spans
from assay.task import Task
from assay.texts import Texts
from assay.words import word_ends, words_of


@dataclass(frozen=True, eq=False)
class Gold:
    """The fragments of judged queries that hold at least one character and have a grade of at least 1.

    `query` is a row of the qrels, `spans.document` a code of the passages' documents or, for a document that no
    passage is of, a code past them: such gold cannot be reached and stays in every denominator.

    Attributes:
        queries: How many queries there are, with and without gold.
        query, spans, grade: One row a fragment.
        empty: Fragments of zero length, which are in no denominator.
        unknown: Fragments of a document that no passage is of.
    """

    queries: int
    query: Ranks
    spans: Spans
    grade: npt.NDArray[np.int32]
    empty: int = 0
    unknown: int = 0

    @classmethod
    def of(cls, task: Task) -> Gold:
        """The gold of a task.

        Raises:
            UsageError: The task has no fragments, or its passages have no spans.
        """
        fragments, passages = task.fragments, task.passages
        if fragments is None or passages.spans is None or passages.parents is None:
            raise UsageError(
                f"{task.name} has no gold fragments with spans: scores for chunkings need them; use passage measures"
                " such as R@10"
            )
        asked = task.qrels.queries.codes(fragments.queries).astype(np.int64)
        query = asked[fragments.query] if len(fragments) else np.zeros(0, np.int64)
        code = passages.parents.codes(fragments.documents).astype(np.int64)
        code = np.where(code >= 0, code, len(passages.parents) + np.arange(len(code)))
        document = code[fragments.spans.document]
        mine = (query >= 0) & (fragments.grade >= 1)
        rows = np.flatnonzero(mine & (fragments.spans.lengths > 0))
        spans = Spans(document[rows], fragments.spans.start[rows], fragments.spans.end[rows])
        return cls(
            len(task.qrels.queries),
            query[rows],
            spans,
            fragments.grade[rows],
            empty=int(np.sum(mine & (fragments.spans.lengths == 0))),
            unknown=int(np.sum(document[rows] >= len(passages.parents))),
        )

    @cached_property
    def characters(self) -> Ranks:
        """Per query the characters in the union of its gold, int64."""
        return self.held_with(np.zeros(0, np.int64), Spans.of())

    @cached_property
    def summed(self) -> Ranks:
        """Per query the lengths of its fragments added up, overlaps counted again, int64."""
        return np.bincount(self.query, weights=self.spans.lengths, minlength=self.queries).astype(np.int64)

    def enough(self, share: float) -> npt.NDArray[np.float64]:
        """Per fragment the characters that make it found: `share` of it, at least one."""
        return np.asarray(np.maximum(share * self.spans.lengths - 1e-9, 0.5))

    def held_with(self, query: Ranks, spans: Spans) -> Ranks:
        """Per query the characters in the union of its gold and of further spans, int64."""
        here, there = self.spans, spans
        return union_lengths(
            np.concatenate([self.query, query]),
            np.concatenate([here.document, there.document]),
            np.concatenate([here.start, there.start]),
            np.concatenate([here.end, there.end]),
            owners=self.queries,
        )


@dataclass(frozen=True, eq=False)
class Lists:
    """Ranked passages of judged queries, one row each, by query and rank.

    `passage` are codes of the task's passages; `inside` is false for rows past the depth, which are there only
    because they tie with the last one. Per passage of the task, `extra` holds characters that are read with it and
    are not its own, and `words` how many words it has (0 for passages in no list; None: not counted). Where `shown`
    (bool per row) is given, only these rows appear in a reading, though all are paid for.
    """

    query: Ranks
    passage: Ranks
    score: npt.NDArray[np.float64]
    inside: Mask
    spans: Spans
    extra: Ranks
    texts: Texts
    words: Ranks | None = None
    shown: Mask | None = None

    @classmethod
    def of(cls, run: Run, task: Task, *, extra: Ranks | None = None, words: bool = False) -> Lists:
        """The lists of the judged queries of a run over the task's passages, in the order of the qrels."""
        spans = task.passages.spans
        if spans is None:
            raise UsageError(f"the passages of {task.name} have no spans")
        judged = task.qrels.queries.codes(run.queries).astype(np.int64)
        length = np.diff(run.offsets)
        place = np.arange(len(run)) - np.repeat(run.offsets[:-1], length)
        query = np.repeat(judged, length)
        rows = np.argsort(query, kind="stable")[int(np.sum(query < 0)) :]
        passage, texts = run.passage[rows].astype(np.int64), task.passages.texts["plain"]
        return cls(
            query[rows],
            passage,
            run.score[rows],
            (place < np.repeat(run.lengths, length))[rows],
            spans,
            np.zeros(len(spans), np.int64) if extra is None else extra,
            texts,
            _word_counts(texts, passage) if words else None,
        )

    def __len__(self) -> int:
        return len(self.query)

    @cached_property
    def first(self) -> Ranks:
        """For every row the first row of its query."""
        return np.searchsorted(self.query, self.query).astype(np.int64)

    @cached_property
    def tie(self) -> Ranks:
        """For every row the number of its tie: rows of one query with one score."""
        new = np.ones(len(self), np.bool_)
        new[1:] = (self.query[1:] != self.query[:-1]) | (self.score[1:] != self.score[:-1])
        return np.cumsum(new) - 1

    def take(self, rows: Ranks | Mask) -> Lists:
        """The lists with only `rows`, which keep their order."""
        columns = {name: getattr(self, name)[rows] for name in ("query", "passage", "score", "inside")}
        return replace(self, **columns, shown=None if self.shown is None else self.shown[rows])

    def shuffled(self, random: np.random.Generator) -> Lists:
        """The lists in one order of equal scores at random."""
        order = np.lexsort((random.random(len(self)), self.tie))
        return replace(self, passage=self.passage[order], shown=None if self.shown is None else self.shown[order])

    def costs(self, unit: str) -> Ranks:
        """What reading each row costs, int64."""
        if unit == "chunks":
            return np.ones(len(self), np.int64)
        if unit == "chars":
            return self.spans.lengths[self.passage] + self.extra[self.passage]
        if self.words is None:
            raise UsageError("a budget of words needs the words of the chunks counted: make the lists with words=True")
        return self.words[self.passage]

    def spent(self, unit: str) -> tuple[Ranks, Ranks]:
        """What was read of its list before each row, and up to its end, int64."""
        cost = self.costs(unit)
        after = np.cumsum(cost)
        before = after - cost
        start = before[self.first]
        return before - start, after - start

    def read(self, budget: Budget | None, gold: Gold) -> Reading:
        """What is read in rank order until the budget is spent; of the last chunk only what is left of it."""
        unit = "chunks" if budget is None else budget.unit
        before, _ = self.spent(unit)
        left = (np.iinfo(np.int64).max if budget is None else budget.amount) - before
        rows = np.flatnonzero(self.inside & (left > 0) & (True if self.shown is None else self.shown))
        passage = self.passage[rows]
        start, length, extra = self.spans.start[passage], self.spans.lengths[passage], self.extra[passage]
        own = length
        if unit == "chars":
            extra = np.minimum(extra, left[rows])
            own = np.minimum(length, left[rows] - extra)
        elif unit == "words":
            own = length.copy()
            for at in np.flatnonzero(self.costs(unit)[rows] > left[rows]).tolist():
                end = word_ends(self.texts[int(passage[at])])[int(left[rows[at]]) - 1]
                own[at] = min(end, int(length[at]))
        spans = Spans(self.spans.document[passage], start, start + own)
        rank = rows - self.first[rows] + 1
        return Reading(gold, self.query[rows], rank, spans, own + extra)


def _word_counts(texts: Texts, passage: Ranks) -> Ranks:
    counts = np.zeros(len(texts), np.int64)
    used = np.unique(passage)
    counts[used] = np.diff(words_of(texts.take(used)).offsets)
    return counts


@dataclass(frozen=True, eq=False)
class Reading:
    """What was read of every query's list: one row a chunk, as far as it was read.

    `cost` are the characters that reading the row took, those of titles and neighbours included.
    """

    gold: Gold
    query: Ranks
    rank: Ranks
    spans: Spans
    cost: Ranks

    def _per_query(self, values: Ranks) -> Ranks:
        return np.bincount(self.query, weights=values, minlength=self.gold.queries).astype(np.int64)

    @cached_property
    def read(self) -> Ranks:
        """Per query the characters read; what is read twice counts twice."""
        return self._per_query(self.cost)

    @cached_property
    def summed(self) -> Ranks:
        """Per query the lengths of the chunks read, without what was read beside them."""
        return self._per_query(self.spans.lengths)

    @cached_property
    def distinct(self) -> Ranks:
        """Per query the different characters of documents that were read."""
        s = self.spans
        return union_lengths(self.query, s.document, s.start, s.end, owners=self.gold.queries)

    @cached_property
    def with_gold(self) -> Ranks:
        """Per query the characters that were read or are gold."""
        return self.gold.held_with(self.query, self.spans)

    @property
    def covered(self) -> Ranks:
        """Per query the characters of gold that were read."""
        return self.distinct + self.gold.characters - self.with_gold

    @cached_property
    def _pieces(self) -> tuple[Ranks, Ranks, Ranks, Ranks]:
        """Fragment, start, end and rank of every stretch of a fragment that lies in a chunk read for its query."""
        gold = self.gold
        document = np.concatenate([gold.spans.document, self.spans.document])
        key = np.concatenate([gold.query, self.query]) * (int(document.max(initial=0)) + 1) + document
        # A document of one query is an axis of its own: fragments are looked for in their own query's chunks alone.
        axis = np.unique(key, return_inverse=True)[1].reshape(-1).astype(np.int64)
        cut = len(gold.query)
        fragment, row = replace(gold.spans, document=axis[:cut]).overlaps(replace(self.spans, document=axis[cut:]))
        start = np.maximum(gold.spans.start[fragment], self.spans.start[row])
        end = np.minimum(gold.spans.end[fragment], self.spans.end[row])
        return fragment, start, end, self.rank[row]

    @cached_property
    def covered_of_fragments(self) -> Ranks:
        """Per fragment the characters of it that were read, int64."""
        fragment, start, end, _ = self._pieces
        return union_lengths(fragment, np.zeros_like(fragment), start, end, owners=len(self.gold.query))

    def found_at(self, share: float) -> Ranks:
        """Per fragment the first rank at which `share` of it was read, int64; 0 where that never is.

        A share of 0 asks for one character.
        """
        fragment, start, end, rank = self._pieces
        return first_ranks(fragment, start, end, rank, needed=self.gold.enough(share))
