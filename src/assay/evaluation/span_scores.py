"""Scores for chunkings: how much of the gold is read, at what cost, whatever the chunks are.

Characters are counted as unions of half-open spans, so that no overlap earns twice and nothing passes 1. The
definitions published with the first evaluation of chunkers (Smith and Troynikov, "Evaluating Chunking Strategies
for Retrieval", Chroma, 2024) add lengths up instead; they bear `sum` in their names.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.errors import DataError, UsageError
from assay.evaluation.chunking import Chunking, ratio
from assay.evaluation.eligible import only_eligible
from assay.evaluation.intervals import mean_interval
from assay.evaluation.reading import Gold, Lists, Reading
from assay.evaluation.span_measure import Budget, SpanMeasure, chunking_measure
from assay.judged import Mask, Ranks, Values
from assay.run import Run
from assay.scores import Counts, Scores
from assay.task import Task

TIE_ORDERS = 100
"""Random orders of equal scores behind best, worst and expected values, at most."""

TIE_ROWS = 20_000_000
"""Rows put in order for one measure, after which fewer orders have to do, but not fewer than ten."""

SAME = 1e-12


def span_scores(
    run: Run,
    task: Task,
    measures: Sequence[SpanMeasure | str],
    *,
    extra: npt.NDArray[np.integer[Any]] | None = None,
    seed: int = 0,
    resamples: int = 10_000,
    method: str = "bca",
) -> list[Scores]:
    """One `Scores` per span measure, in the order asked, over all queries of the task's qrels.

    The mean goes over all queries as in `evaluate`: a query that the run lacks, an empty list and a query without
    gold score 0 and are counted. Best, worst and expected values are the extremes and the mean over `TIE_ORDERS`
    (fewer for very many rows) seeded random orders of equal scores, with the house's order among the extremes. Only
    queries are tried whose tie lies across the end of what is read; for `DFR`, any tie within it. Measures of a
    chunking alone do not depend on the run.

    `upper` bounds recall, fragment recall and DFR where a list was cut off before the budget was spent; the other
    measures have none, since reading on can lower them.

    `extras` of the scores: `mean_best`, `mean_worst`, `mean_expected`, `mean_upper`, `mean_with_relevant` as in
    `evaluate`; `reachable`, the most that any run can have with these chunks (recall, fragment recall, DFR);
    `gold_characters`, all gold together; `characters_read`, the mean over queries; `short_lists`, lists that were
    cut off before the budget was spent; `gold_fragments`, `empty_fragments` (zero length, in no denominator) and
    `unknown_fragments` (no chunk is of their document); `expected_from_orders` where orders were tried.

    Args:
        run: A run in any ids and of any eligibility; `only_eligible` is applied.
        task: With gold fragments, and passages with spans.
        measures: What to compute, as values or by name (`recall@4000chars`).
        extra: Per passage the characters that are read before its own, such as a prepended title; int64. They cost,
            in budgets of characters and in `precision(read)`, and are never gold.
        seed: Of the interval and of the orders.
        resamples: Bootstrap samples.
        method: `bca` or `percentile`.

    Raises:
        UsageError: The task has no fragments or spans; a name is not that of a span measure; `extra` is not one
            length of at least 0 a passage, or stands beside a budget of words.
        DataError: There is no judged query, or no query of the run is judged.

    Example:
        Two chunks share 20 of the 100 gold characters.

        >>> from assay.fragment import Fragments
        >>> from assay.ids import Ids
        >>> from assay.passage import Passages
        >>> from assay.qrels import Qrels
        >>> from assay.query import Queries
        >>> from assay.span import Spans
        >>> from assay.texts import Texts
        >>> d, q, both = Ids.of(["d"]), Ids.of(["q"]), Texts.of(["x" * 60, "x" * 60])
        >>> chunks = Passages(Ids.of(["a", "b"]), {"plain": both}, d, Spans.of((0, 0, 60), (0, 40, 100)))
        >>> gold = Fragments(q, d, np.zeros(1, np.int32), Spans.of((0, 0, 100)), np.ones(1, np.int32))
        >>> pool = Queries(q, {"plain": Texts.of(["?"])})
        >>> task = Task("t", "test", pool, chunks, Qrels.of([("q", "a", 1), ("q", "b", 1)]), fragments=gold)
        >>> run = Run.of([("q", "a", 2.0), ("q", "b", 1.0)])
        >>> for scores in span_scores(run, task, ["recall@2chunks", "precision(read)@2chunks", "recall@80chars"]):
        ...     print(scores.measure, round(scores.mean, 4))
        recall@2chunks 1.0
        precision(read)@2chunks 0.8333
        recall@80chars 0.6
    """
    wanted = [_span_measure(measure) for measure in measures]
    if len(task.qrels.queries) == 0:
        raise DataError("the qrels hold no query: there is nothing to take a mean over")
    gold = Gold.of(task)
    words = any(m.budget is not None and m.budget.unit == "words" for m in wanted)
    checked = _checked_extra(extra, len(task.passages), words=words)
    deepest = run.depth or int(np.diff(run.offsets).max(initial=1))
    eligible = only_eligible(run, task, depth=max(1, deepest))
    reader = _Reader(task, gold, eligible, Lists.of(eligible, task, extra=checked, words=words), checked)
    return [_scores(m, reader, seed=seed, resamples=resamples, method=method) for m in wanted]


def _span_measure(measure: SpanMeasure | str) -> SpanMeasure:
    found = chunking_measure(measure) if isinstance(measure, str) else measure
    if not isinstance(found, SpanMeasure):
        raise UsageError(f"{measure!r} is no span measure; write it as in recall@4000chars, or use evaluate")
    return found


def _checked_extra(extra: npt.NDArray[np.integer[Any]] | None, passages: int, *, words: bool) -> Ranks | None:
    if extra is None:
        return None
    if len(extra) != passages or (len(extra) and int(extra.min()) < 0):
        raise UsageError(f"extra characters are one length of at least 0 for each of the {passages} passages")
    if words:
        raise UsageError("extra characters cannot be told in words: use a budget of chars or chunks")
    return extra.astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Reader:
    """A run and the gold of a task, made ready once for all measures."""

    task: Task
    gold: Gold
    run: Run
    lists: Lists
    extra: Ranks | None

    @cached_property
    def chunking(self) -> Chunking:
        return Chunking.of(self.task, self.gold, self.extra)

    @cached_property
    def useful(self) -> Mask:
        """Whether a row's chunk holds gold of its query, bool per row of the lists."""
        query, passage = self.chunking.pairs
        width = len(self.task.passages) + 1
        return np.isin(self.lists.query * width + self.lists.passage, query * width + passage)

    @cached_property
    def cut_off(self) -> Mask:
        """Whether something could follow in a judged query's list, bool per query."""
        rows = self.task.qrels.queries.codes(self.run.queries)
        if len(rows) and not (rows >= 0).any():
            raise DataError(
                f"none of the {len(rows)} queries of the run is among the {self.gold.queries} judged ones: the run has"
                f" {self.run.queries[0]!r}, the qrels have {self.task.qrels.queries[0]!r}; make the ids equal"
            )
        cut = np.zeros(self.gold.queries, np.bool_)
        cut[rows[rows >= 0]] = ~self.run.ended[rows >= 0]
        return cut

    def unspent(self, budget: Budget | None) -> Values:
        """Per query what of the budget its list leaves, at least 0; infinite without a budget."""
        if budget is None:
            return np.full(self.gold.queries, math.inf)
        spent = np.bincount(
            self.lists.query, weights=self.lists.costs(budget.unit) * self.lists.inside, minlength=self.gold.queries
        )
        return np.maximum(0.0, budget.amount - spent)


def _scores(measure: SpanMeasure, reader: _Reader, **interval: Any) -> Scores:
    gold, task = reader.gold, reader.task
    short = reader.cut_off & (reader.unspent(measure.budget) > 0)
    extras: dict[str, float] = {}
    if measure.reads:
        reading = reader.lists.read(measure.budget, gold)
        value = _value(measure, reading)
        best, worst, expected = _over_orders(measure, value, reader, extras, seed=interval["seed"])
        upper = _upper(measure, value, reading, reader, short)
        extras |= {"characters_read": float(reading.read.mean()), "short_lists": float(short.sum())}
        if measure.name == "recall" or measure.of_fragments:
            extras["reachable"] = _mean(_at_most(measure, reader))
    else:
        value = _of_chunking(measure, reader.chunking)
        best = worst = expected = value
        upper = value
    answerable = gold.characters > 0
    extras |= {"mean_best": _mean(best), "mean_worst": _mean(worst), "mean_expected": _mean(expected)}
    extras |= {} if upper is None else {"mean_upper": _mean(upper)}
    extras |= {"mean_with_relevant": _mean(value[answerable])} if answerable.any() else {}
    extras |= {"gold_characters": float(gold.characters.sum()), "gold_fragments": float(len(gold.query))}
    extras |= {"empty_fragments": float(gold.empty), "unknown_fragments": float(gold.unknown)}
    opened = 0 if upper is None else int(np.sum(upper > value + SAME))
    return Scores(
        str(measure),
        task.qrels.queries,
        value,
        best,
        worst,
        expected,
        mean_interval(value, clusters=task.clusters, **interval),
        _counts(reader, ties=int(np.sum(best - worst > SAME)), opened=opened),
        upper=upper,
        clusters=task.clusters,
        extras=extras,
    )


def _value(measure: SpanMeasure, reading: Reading) -> Values:
    """The measure of what was read, per query."""
    gold = reading.gold
    if measure.of_fragments:
        found = reading.found_at(measure.share)
        return _of_fragments(measure, gold, found.astype(np.float64))
    if measure.name == "recall":
        return ratio(reading.covered, gold.summed if measure.form == "sum" else gold.characters)
    if measure.name == "precision":
        wholes = {"union": reading.distinct, "read": reading.read, "sum": reading.summed}
        return ratio(reading.covered, wholes[measure.form])
    if measure.form == "sum":
        read = np.bincount(gold.query, weights=reading.covered_of_fragments, minlength=gold.queries)
        return ratio(reading.covered, reading.summed + gold.summed - read)
    return ratio(reading.covered, np.where(gold.characters > 0, reading.with_gold, 0))


def _of_fragments(measure: SpanMeasure, gold: Gold, rank: Values) -> Values:
    """Fragment recall or DFR from the rank at which each fragment is found, 0 where it never is."""
    if measure.name == "fragment_recall":
        weight, credit = np.ones(len(rank)), (rank > 0).astype(np.float64)
    else:
        weight = gold.grade.astype(np.float64)
        credit = np.where(rank > 0, weight / np.log2(1.0 + np.maximum(rank, 1.0)), 0.0)
    found = np.bincount(gold.query, weights=credit, minlength=gold.queries)
    return ratio(found, np.bincount(gold.query, weights=weight, minlength=gold.queries))


def _of_chunking(measure: SpanMeasure, chunking: Chunking) -> Values:
    if measure.budget is not None:
        return chunking.ceiling(measure.budget)
    return chunking.omega() if measure.form == "omega" else chunking.reachable()


def _over_orders(
    measure: SpanMeasure, value: Values, reader: _Reader, extras: dict[str, float], *, seed: int
) -> tuple[Values, Values, Values]:
    """Best, worst and mean value per query over random orders of equal scores."""
    lists = _in_doubt(measure, reader)
    if len(lists) == 0:
        return value, value, value
    orders = max(10, min(TIE_ORDERS, TIE_ROWS // len(lists)))
    extras["expected_from_orders"] = float(orders)
    rows, random = np.unique(lists.query), np.random.default_rng(seed)
    best, worst, total = value[rows].copy(), value[rows].copy(), np.zeros(len(rows))
    for _ in range(orders):
        other = _value(measure, lists.shuffled(random).read(measure.budget, reader.gold))[rows]
        best, worst, total = np.maximum(best, other), np.minimum(worst, other), total + other
    return _changed(value, rows, best), _changed(value, rows, worst), _changed(value, rows, total / orders)


def _in_doubt(measure: SpanMeasure, reader: _Reader) -> Lists:
    """The lists of the queries in which an order of equal scores could matter, down to where reading ends."""
    lists = reader.lists
    unit = "chunks" if measure.budget is None else measure.budget.unit
    amount = math.inf if measure.budget is None else measure.budget.amount
    before, after = lists.spent(unit)
    tie = lists.tie
    first = np.searchsorted(tie, tie, "left")
    last = np.searchsorted(tie, tie, "right") - 1
    begun = (before[first] < amount) & lists.inside[first] & (first < last)
    # A tie that is read as a whole gives the same union in any order, but other ranks.
    cut = (after[last] > amount) | ~lists.inside[last]
    doubtful = begun if measure.name == "DFR" else begun & cut
    if measure.name == "recall" or measure.of_fragments:
        doubtful = doubtful & reader.useful
        # Chunks without gold matter to these measures by the place they take, which costs nothing to work out.
        lists = replace(lists, shown=reader.useful)
    return lists.take(np.isin(lists.query, lists.query[doubtful]) & (before[first] < amount))


def _at_most(measure: SpanMeasure, reader: _Reader) -> Values:
    """Per query the most that any run could have with these chunks."""
    gold, chunking = reader.gold, reader.chunking
    if not measure.of_fragments:
        return ratio(chunking.covered, gold.summed if measure.form == "sum" else gold.characters)
    return _of_fragments(measure, gold, _coverable(measure, reader).astype(np.float64))


def _coverable(measure: SpanMeasure, reader: _Reader) -> Mask:
    """Whether all chunks together hold enough of a fragment, bool per fragment."""
    return np.asarray(reader.chunking.covered_of_fragments >= reader.gold.enough(measure.share))


def _upper(measure: SpanMeasure, value: Values, reading: Reading, reader: _Reader, short: Mask) -> Values | None:
    """What a query could have had, had its list gone on; None for a measure that reading on could lower."""
    if not (measure.name == "recall" or measure.of_fragments):
        return None
    if not short.any():
        return value
    gold = reader.gold
    if measure.of_fragments:
        rank = reading.found_at(measure.share).astype(np.float64)
        length = np.bincount(reader.lists.query, weights=reader.lists.inside, minlength=gold.queries)
        follows = (rank == 0) & _coverable(measure, reader)
        could = _of_fragments(measure, gold, np.where(follows, length[gold.query] + 1.0, rank))
    else:
        more = (reader.chunking.covered - reading.covered).astype(np.float64)
        if measure.budget is not None and measure.budget.unit == "chars":
            more = np.minimum(more, reader.unspent(measure.budget))
        could = ratio(reading.covered + more, gold.summed if measure.form == "sum" else gold.characters)
    return np.where(short & (could > value + SAME), could, value)


def _counts(reader: _Reader, *, ties: int, opened: int) -> Counts:
    run, gold = reader.run, reader.gold
    asked = reader.task.qrels.queries.codes(run.queries) >= 0
    return Counts(
        queries=gold.queries,
        missing=gold.queries - int(asked.sum()),
        empty=int(np.sum(run.lengths[asked] == 0)),
        without_relevant=int(np.sum(gold.characters == 0)),
        ties=ties,
        ineligible_removed=run.counts.get("ineligible_removed", 0),
        open=opened,
        extra=int(np.sum(~asked)),
        cut_ties=run.counts.get("cut_ties", 0),
        unknown_removed=run.counts.get("unknown_removed", 0),
    )


def _changed(value: Values, rows: Ranks, other: Values) -> Values:
    changed = value.copy()
    changed[rows] = other
    return changed


def _mean(values: Values) -> float:
    return math.fsum(values.tolist()) / len(values)
