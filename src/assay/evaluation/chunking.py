"""What a chunking allows, whatever a run returns: precision-omega, reachable recall, a ceiling of recall."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.evaluation.reach import allowed, judged_rows
from assay.evaluation.reading import Gold
from assay.evaluation.span_measure import Budget
from assay.judged import Ranks, Values
from assay.kernels.spans import union_lengths
from assay.span import Spans
from assay.task import Task


@dataclass(frozen=True, eq=False)
class Chunking:
    """The chunks of a task that overlap gold of a query and may be returned for it.

    `fragment` and `passage` are aligned: rows of the gold and of the task's passages. `extra` is as in `Lists`.
    """

    gold: Gold
    spans: Spans
    fragment: Ranks
    passage: Ranks
    extra: Ranks

    @classmethod
    def of(cls, task: Task, gold: Gold, extra: Ranks | None = None) -> Chunking:
        """The pairs of fragments and eligible chunks that share a character."""
        spans = task.passages.spans or Spans.of()
        wanted = np.zeros(int(max(spans.document.max(initial=0), gold.spans.document.max(initial=0))) + 1, np.bool_)
        wanted[gold.spans.document] = True
        rows = np.flatnonzero((spans.document >= 0) & wanted[np.maximum(spans.document, 0)])
        fragment, at = gold.spans.overlaps(spans.take(rows))
        passage = rows[at].astype(np.int64)
        may = allowed(task, judged_rows(task)[gold.query[fragment]], passage)
        return cls(
            gold,
            spans,
            fragment[may],
            passage[may],
            np.zeros(len(spans), np.int64) if extra is None else extra,
        )

    @cached_property
    def pairs(self) -> tuple[Ranks, Ranks]:
        """Every query with every chunk that overlaps its gold, once: query rows and passage codes."""
        width = len(self.spans) + 1
        key = np.unique(self.gold.query[self.fragment] * width + self.passage)
        return key // width, key % width

    @cached_property
    def _unions(self) -> tuple[Ranks, Ranks]:
        """Per query the characters of these chunks, and of these chunks and its gold."""
        query, passage = self.pairs
        s = self.spans.take(passage)
        return (
            union_lengths(query, s.document, s.start, s.end, owners=self.gold.queries),
            self.gold.held_with(query, s),
        )

    @property
    def covered(self) -> Ranks:
        """Per query the characters of gold inside any chunk, int64."""
        held, with_gold = self._unions
        return held + self.gold.characters - with_gold

    @cached_property
    def covered_of_fragments(self) -> Ranks:
        """Per fragment its characters inside any chunk, int64."""
        f, p, gold = self.fragment, self.passage, self.gold.spans
        start = np.maximum(gold.start[f], self.spans.start[p])
        end = np.minimum(gold.end[f], self.spans.end[p])
        return union_lengths(f, np.zeros_like(f), start, end, owners=len(gold))

    def omega(self) -> Values:
        """Per query the gold in chunks over the union of these chunks with the gold (Smith and Troynikov, 2024)."""
        return ratio(self.covered, self._unions[1])

    def reachable(self) -> Values:
        """Per query the share of its gold that lies inside any chunk."""
        return ratio(self.covered, self.gold.characters)

    def ceiling(self, budget: Budget) -> Values:
        """Per query the recall of a greedy reader who knows the gold; a lower bound of the best recall there is.

        Each step takes the chunk with the most new gold (per chunk, or per character that it costs), the first in
        the collection where several are equal. At a number of chunks that do not overlap this is the best recall.
        """
        query, passage = self.pairs
        best = np.zeros(self.gold.queries)
        borders = np.searchsorted(query, np.arange(self.gold.queries + 1))
        gold_order = np.argsort(self.gold.query, kind="stable")
        gold_borders = np.searchsorted(self.gold.query[gold_order], np.arange(self.gold.queries + 1))
        for row in np.flatnonzero(np.diff(borders)).tolist():
            chunks = passage[borders[row] : borders[row + 1]]
            gold = gold_order[gold_borders[row] : gold_borders[row + 1]]
            best[row] = _greedy(self.spans.take(chunks), self.gold.spans.take(gold), self.extra[chunks], budget)
        return ratio(best, self.gold.characters)


def _greedy(chunks: Spans, gold: Spans, extra: Ranks, budget: Budget) -> int:
    """The characters of gold that a greedy choice of chunks covers within the budget."""
    low, start, end = _on_one_axis(chunks, gold)
    length = chunks.lengths
    covered = np.zeros(len(start), np.bool_)
    unread = np.ones(len(chunks), np.bool_)
    left, total = budget.amount, 0
    while left > 0 and unread.any():
        cost, own = np.ones(len(chunks), np.int64), length
        if budget.unit == "chars":
            cost = np.minimum(length + extra, left)
            own = np.clip(cost - extra, 0, length)
        inside = np.clip(np.minimum(end, (low + own)[:, None]) - np.maximum(start, low[:, None]), 0, None)
        gain = np.where(unread, np.where(covered, 0, inside).sum(1), 0)
        best = int(np.argmax(gain / np.maximum(cost, 1)))
        if gain[best] == 0:
            break
        total += int(gain[best])
        # Only the chunk that ends the budget can hold a segment in part, and none is chosen after it.
        covered |= inside[best] > 0
        unread[best] = False
        left -= int(cost[best])
    return total


def _on_one_axis(chunks: Spans, gold: Spans) -> tuple[Ranks, Ranks, Ranks]:
    """Starts of the chunks, and the gold as segments that no chunk or fragment begins or ends in.

    Documents are laid one behind the other.
    """
    _, place = np.unique(np.concatenate([chunks.document, gold.document]), return_inverse=True)
    base = place.reshape(-1) * (int(max(chunks.end.max(initial=0), gold.end.max(initial=0))) + 1)
    mine, theirs = base[: len(chunks)], base[len(chunks) :]
    low, high = theirs + gold.start, theirs + gold.end
    edges = np.unique(np.concatenate([mine + chunks.start, mine + chunks.end, low, high]))
    start, end = edges[:-1], edges[1:]
    held = ((low[:, None] <= start) & (end <= high[:, None])).any(0)
    return mine + chunks.start, start[held], end[held]


def ratio(part: Values | Ranks, whole: Values | Ranks) -> Values:
    """The one over the other, float64; 0 where there is no whole."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=np.asarray(whole) > 0)
