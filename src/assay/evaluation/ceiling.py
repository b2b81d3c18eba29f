"""Ceiling: what a system that only reorders could have reached at most, with what it had to choose from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from assay.evaluation.judge import judge
from assay.evaluation.ties import tie_values
from assay.measure import Measure
from assay.qrels import Qrels
from assay.run import Run
from assay.scores import Scores


@dataclass(frozen=True)
class Ceiling:
    """What candidates hold, and what their best order is worth.

    Attributes:
        held: Relevant passages among the candidates of their queries.
        relevant: Relevant passages of the judgements.
        recall: The mean over all queries of the judgements of the share that the candidates hold; 0 for a query
            without a relevant passage.
        means: By the measure's printed name, the mean with the candidates in their best order and all passages below
            them as they are.
    """

    held: int
    relevant: int
    recall: float
    means: dict[str, float]

    def extras(self, measure: Measure) -> dict[str, float]:
        """The figures that stand beside the scores of a measure."""
        counts = {"candidates_held": float(self.held), "candidates_relevant": float(self.relevant)}
        return {"ceiling": self.means[str(measure)], "candidate_recall": self.recall, **counts}


def _keys(run: Run) -> npt.NDArray[np.int64]:
    """One number a row, from its query and passage."""
    owner = np.repeat(np.arange(len(run.queries), dtype=np.int64), np.diff(run.offsets))
    return owner * len(run.passages) + run.passage


def _grades(run: Run, qrels: Qrels) -> npt.NDArray[np.int64]:
    """The grade of each row, int64; 0 where it is not judged."""
    owner = np.repeat(np.arange(len(run.queries)), np.diff(run.offsets))
    query = qrels.queries.codes(run.queries).astype(np.int64)[owner]
    passage = qrels.passages.codes(run.passages).astype(np.int64)[run.passage]
    width = len(qrels.passages) + 1
    judged = np.repeat(np.arange(len(qrels.queries), dtype=np.int64), np.diff(qrels.offsets)) * width + qrels.passage
    order = np.argsort(judged)
    asked = np.where((query >= 0) & (passage >= 0), query * width + passage, -1)
    at = np.minimum(np.searchsorted(judged[order], asked), max(0, len(judged) - 1))
    found = np.zeros(len(run), np.int64)
    if len(judged):
        known = judged[order][at] == asked
        found[known] = qrels.grade[order][at[known]]
    return found


def ceiling(run: Run, candidates: Run, qrels: Qrels, measures: Sequence[Measure]) -> Ceiling:
    """What the run could have reached at most, had it put its candidates in their best order.

    The ideal of a measure stays that of all judgements: what the first stage missed is not forgiven.

    Args:
        run: The run as it is evaluated, of the same queries and passages.
        candidates: What it had to choose from.
        qrels: The judgements.
        measures: What to compute.

    Example:
        One of two relevant passages is a candidate, and was already put first.

        >>> from assay.measures import parse
        >>> run = Run.of({"q": {"p1": 2.0, "x": 1.0}})
        >>> found = ceiling(run, run, Qrels.of([("q", "p1", 1), ("q", "p2", 1)]), [parse("nDCG@10")])
        >>> round(found.means["nDCG@10"], 4), found.recall, found.held, found.relevant
        (0.6131, 0.5, 1, 2)
    """
    size = len(candidates.passages)
    keys = _keys(candidates)
    tail = ~np.isin(_keys(run), keys)
    grades = _grades(candidates, qrels)
    lists = [(np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0))]
    lists.append((keys // size, candidates.passage, 1.0 + grades.clip(0)))
    rank = np.arange(len(run)) - np.repeat(run.offsets[:-1], np.diff(run.offsets))
    lists.append((_keys(run)[tail] // size, run.passage[tail], -rank[tail].astype(np.float64)))
    owner, passage, score = (np.concatenate(column) for column in zip(*lists, strict=True))
    order = np.argsort(owner, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(run.queries)))]).astype(np.int64)
    best = Run.ranked(
        run.queries, run.passages, offsets=offsets, passage=passage[order], score=score[order], depth=run.depth
    )
    judged = judge(best, qrels)
    means = {str(m): float(tie_values(m, judged).best.mean()) for m in measures}
    held = np.bincount(qrels.queries.codes(run.queries)[keys // size][grades >= 1], minlength=len(qrels.queries))
    relevant = np.bincount(qrels.query[qrels.grade >= 1], minlength=len(qrels.queries))
    recall = float((held / np.maximum(relevant, 1)).mean())
    return Ceiling(int(held.sum()), int(relevant.sum()), recall, means)


def with_ceiling(scores: Sequence[Scores], run: Run, qrels: Qrels, measures: Sequence[Measure]) -> list[Scores]:
    """The scores of a run; where it chose from candidates, what they allow is among the extras."""
    if run.candidates is None:
        return list(scores)
    found = ceiling(run, run.candidates, qrels, measures)
    return [replace(s, extras={**s.extras, **found.extras(m)}) for s, m in zip(scores, measures, strict=True)]
