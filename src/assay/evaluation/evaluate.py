"""Evaluation: a run against judgements under measures, with everything that qualifies the means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.errors import DataError, UsageError
from assay.evaluation.intervals import mean_interval
from assay.evaluation.judge import judge
from assay.evaluation.reach import Mask, Reach, Rows, extended, only, reachable
from assay.evaluation.ties import SAMPLED_ORDERS, tie_values
from assay.ids import Ids
from assay.judged import Judged, Values
from assay.measure import Measure
from assay.measures import parse
from assay.qrels import Qrels
from assay.run import Run
from assay.scores import Counts, Scores

# Two values of one query that differ by less are equal: sums over hits in another order differ in their last bits.
SAME = 1e-12


def evaluate(
    run: Run,
    qrels: Qrels,
    measures: Sequence[Measure | str],
    *,
    clusters: npt.NDArray[np.int64] | None = None,
    reach: Reach | None = None,
    seed: int = 0,
    resamples: int = 10_000,
    method: str = "bca",
) -> list[Scores]:
    """One `Scores` per measure, in the order asked, each over all queries of the qrels.

    The mean is trec_eval's with `-c`: a query that the run lacks, an empty list and a query without a relevant
    judgement score 0, and all three are counted. Queries of the run that are not judged are counted (`extra`)
    and otherwise ignored. Beside each value stand the values in the best and the worst order of passages with
    equal scores and the mean over those orders. The run is not changed, nor is anything kept between calls.

    `upper` is the value that a query could have had, had its list not been cut off: the relevant passages
    outside it follow its last rank. It is `value` where the list ended by itself or holds enough, and None for
    a measure that what is missing could also lower. A list ended by itself where `run.ended` says so.

    `extras` of the scores: `mean_best`, `mean_worst`, `mean_expected`, `mean_upper`; `mean_with_relevant`
    over queries with a relevant judgement; `micro` for `R` (relevant passages found over all there are) and
    `P` (over all ranks filled, down to the cutoff); `reachable`, where `reach` is given, the most that any
    system can have, given which judged passages may be returned; `expected_from_orders`, where the expectation
    over ties is no exact one, how many random orders it is the mean of; `not_bounded`, for a measure without
    `upper`, how many queries have a list that was cut off before the cutoff while relevant passages are missing.

    Args:
        run: Ranked lists; under an eligibility rule those of `only_eligible`.
        qrels: The judgements of one split.
        measures: What to compute, as values or by name (`RR@10`); a single name is a list of one.
        clusters: One label per query of the qrels, resampled together (`task.clusters`); None: independent.
        reach: What may be returned (`reach_of`); None for bare files, where everything judged counts as such.
        seed: Of the interval, and of random tie orders where a measure needs them.
        resamples: Bootstrap samples.
        method: `bca` or `percentile`.

    Raises:
        DataError: No query of the run is judged, or there is no judged query.
        UsageError: The reach was made for other qrels, or run and qrels are no such things.

    Example:
        >>> run = Run.of([("q1", "a", 1.0), ("q2", "x", 2.0), ("q2", "b", 1.0)])
        >>> qrels = Qrels.of([("q1", "a", 1), ("q2", "b", 1), ("q3", "c", 1)])
        >>> [scores] = evaluate(run, qrels, ["RR"], resamples=100)
        >>> scores.value.tolist(), scores.mean, scores.counts.missing
        ([1.0, 0.5, 0.0], 0.5, 1)
    """
    _refuse_others(run, qrels)
    reading = _Reading(run, qrels, reach)
    reading.check()
    asked = [measures] if isinstance(measures, str) else measures
    wanted = [parse(measure) if isinstance(measure, str) else measure for measure in asked]
    return [
        _scores(measure, reading, clusters=clusters, seed=seed, resamples=resamples, method=method)
        for measure in wanted
    ]


def unjudged_queries(run: Run, qrels: Qrels) -> list[str]:
    """Queries of the run that the qrels do not hold, in the order of the run.

    Example:
        >>> unjudged_queries(Run.of({"q1": {"a": 1.0}, "q2": {"a": 1.0}}), Qrels.of([("q1", "a", 1)]))
        ['q2']
    """
    return [run.queries[row] for row in np.flatnonzero(qrels.queries.codes(run.queries) < 0).tolist()]


def _refuse_others(run: object, qrels: object) -> None:
    """Raises UsageError where the two are swapped, or are what a run or qrels can be made from."""
    if isinstance(run, Qrels) and isinstance(qrels, Run):
        raise UsageError("the run and the qrels are swapped: write evaluate(run, qrels, measures)")
    if not isinstance(run, Run):
        raise UsageError(f"a run is needed, found {type(run).__name__}; make one with read_run or Run.of")
    if not isinstance(qrels, Qrels):
        raise UsageError(
            f"qrels are needed, found {type(qrels).__name__}; take task.qrels, or make them with read_qrels or Qrels.of"
        )


@dataclass(frozen=True, eq=False)
class _Reading:
    """A run read against qrels once, for all measures."""

    run: Run
    qrels: Qrels
    reach: Reach | None

    def check(self) -> None:
        if self.reach is not None:
            self.reach.fits(self.qrels)
        if len(self.qrels.queries) == 0:
            raise DataError("the qrels hold no query: there is nothing to take a mean over")
        if len(self.run.queries) and not (self.code >= 0).any():
            raise DataError(
                f"none of the {len(self.run.queries)} queries of the run is among the {len(self.qrels.queries)} judged"
                f" ones: the run has {_shown(self.run.queries)}, the qrels have {_shown(self.qrels.queries)};"
                " make the ids equal, or take the qrels of the same split"
            )

    @cached_property
    def code(self) -> npt.NDArray[np.int32]:
        """For each query of the run its row in the qrels, -1 where it is not judged."""
        return self.qrels.queries.codes(self.run.queries)

    @cached_property
    def judged(self) -> Judged:
        return judge(self.run, self.qrels)

    @cached_property
    def ended(self) -> Mask:
        """Whether nothing could follow in a judged query's list: it ended by itself, or there is none."""
        ended = np.ones(len(self.qrels.queries), np.bool_)
        ended[self.code[self.code >= 0]] = self.run.ended[self.code >= 0]
        return ended

    @cached_property
    def tied(self) -> tuple[Rows, Judged]:
        """Rows of the queries in which a judged passage is tied, and their lists."""
        rows = np.flatnonzero(self.judged.tied)
        return rows, only(self.judged, rows)

    @cached_property
    def further(self) -> tuple[Rows, Judged]:
        return extended(self.judged, self.qrels, ended=self.ended, reach=self.reach)

    @cached_property
    def reachable(self) -> Judged | None:
        return None if self.reach is None else reachable(self.judged, self.qrels, self.reach)


def _shown(ids: Ids) -> str:
    listed = ", ".join(repr(ids[row]) for row in range(min(3, len(ids))))
    return listed + (", …" if len(ids) > 3 else "")


def _scores(measure: Measure, reading: _Reading, *, clusters: npt.NDArray[np.int64] | None, **interval: Any) -> Scores:
    judged = reading.judged
    value = measure.score(judged)
    rows, lists = reading.tied
    ties = tie_values(measure, lists, seed=interval["seed"])
    best, worst, mean = (_changed(value, rows, other) for other in (ties.best, ties.worst, ties.expected))
    upper = _upper(measure, value, reading)
    extras = _extras(measure, reading, value, mean_best=best, mean_worst=worst, mean_expected=mean, mean_upper=upper)
    if ties.note:
        extras["expected_from_orders"] = SAMPLED_ORDERS
    if upper is None and _cut_short(measure, reading).any():
        extras["not_bounded"] = int(_cut_short(measure, reading).sum())
    return Scores(
        str(measure),
        reading.qrels.queries,
        value,
        best,
        worst,
        mean,
        mean_interval(value, clusters=clusters, **interval),
        _counts(measure, reading, ties=int(np.sum(np.abs(best - worst) > SAME)), opened=_above(upper, value)),
        upper=upper,
        clusters=clusters,
        extras=extras,
    )


def _changed(value: Values, rows: Rows, other: Values) -> Values:
    if len(rows) == 0:
        return value
    changed = value.copy()
    changed[rows] = other
    return changed


def _upper(measure: Measure, value: Values, reading: _Reading) -> Values | None:
    if not measure.bounded:
        return None
    if not _cut_short(measure, reading).any():
        return value
    rows, longer = reading.further
    could = measure.score(longer)
    return _changed(value, rows, np.where(could > value[rows] + SAME, could, value[rows]))


def _cut_short(measure: Measure, reading: _Reading) -> Mask:
    """Which of the lists in `reading.further` end before the measure stops looking, bool per list."""
    rows, _ = reading.further
    return reading.judged.lengths[rows] < (math.inf if measure.cutoff is None else measure.cutoff)


def _above(upper: Values | None, value: Values) -> int:
    return 0 if upper is None else int(np.sum(upper > value))


def _counts(measure: Measure, reading: _Reading, *, ties: int, opened: int) -> Counts:
    judged, run, reach = reading.judged, reading.run, reading.reach
    length = judged.lengths if measure.cutoff is None else np.minimum(judged.lengths, measure.cutoff)
    seen = int(np.sum(judged.hits.rank <= length[judged.hits.query]))
    forbidden = 0
    if reach is not None:
        forbidden = int(np.sum((reading.qrels.grade >= measure.min_grade) & ~reach.judgement_eligible))
    asked = reading.code >= 0
    return Counts(
        queries=len(judged),
        missing=len(judged) - int(asked.sum()),
        empty=int(np.sum(run.lengths[asked] == 0)),
        without_relevant=int(np.sum(judged.relevant(measure.min_grade) == 0)),
        unjudged=int(length.sum()) - seen,
        ties=ties,
        ineligible_removed=run.counts.get("ineligible_removed", 0),
        gold_ineligible=forbidden,
        open=opened,
        extra=int(np.sum(~asked)),
        cut_ties=run.counts.get("cut_ties", 0),
        unknown_removed=run.counts.get("unknown_removed", 0),
    )


def _extras(measure: Measure, reading: _Reading, value: Values, **means: Values | None) -> dict[str, float]:
    extras = {name: _mean(values) for name, values in means.items() if values is not None}
    answerable = reading.judged.relevant(measure.min_grade) > 0
    if answerable.any():
        extras["mean_with_relevant"] = _mean(value[answerable])
    micro = _micro(measure, reading.judged)
    if micro is not None:
        extras["micro"] = micro
    if reading.reachable is not None:
        extras["reachable"] = _mean(measure.score(reading.reachable))
    return extras


def _mean(values: Values) -> float:
    return math.fsum(values.tolist()) / len(values)


def _micro(measure: Measure, judged: Judged) -> float | None:
    """The measure over all judgements at once instead of query by query; None where that has no meaning."""
    if measure.name not in ("R", "P"):
        return None
    length = judged.lengths if measure.cutoff is None else np.minimum(judged.lengths, measure.cutoff)
    hits = judged.hits
    found = int(np.sum((hits.grade >= measure.min_grade) & (hits.rank <= length[hits.query])))
    total = int(judged.relevant(measure.min_grade).sum() if measure.name == "R" else length.sum())
    return found / total if total else None
