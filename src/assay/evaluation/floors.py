"""Floors and ceilings: runs that take no retrieval at all, made by the evaluator, who sees the whole task."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.errors import UnknownNameError, UsageError
from assay.evaluation.reach import allowed, judged_rows, reach_of
from assay.evaluation.ties import tie_values
from assay.judged import Hits, Judged, Values
from assay.measure import Measure
from assay.qrels import Qrels
from assay.run import Run
from assay.task import Task

Rows = npt.NDArray[np.int64]
Found = tuple[npt.NDArray[np.integer[Any]], npt.NDArray[np.floating[Any]]]


def named(text: str) -> Callable[[Task], Run]:
    """The floor of that name, to be called with a task.

    Names: `random`, `random(seed=1)`, `constant`, `oracle`, `recency`, `popularity`.

    Raises:
        UnknownNameError: There is no such floor.
        UsageError: The text cannot be read, or has parameters that the floor does not take.

    Example:
        >>> named("random(seed=3)").keywords
        {'seed': 3}
    """
    found = re.fullmatch(r"\s*(\w+)\s*(?:\(\s*(?:seed\s*=\s*(\d+))?\s*\))?\s*", text)
    name = found[1] if found else re.split(r"\W", text.strip(), maxsplit=1)[0]
    if name not in FLOORS:
        raise UnknownNameError.of("floor", name, FLOORS)
    seed = found[2] if found else None
    if found is None or (seed is not None and name != "random"):
        raise UsageError(f"floor {text!r} cannot be read; write {name}{'(seed=1)' if name == 'random' else ''}")
    return partial(random_run, seed=int(seed or 0)) if name == "random" else partial(FLOORS[name])


def random_run(task: Task, *, seed: int, depth: int | None = None) -> Run:
    """Eligible passages drawn at random for every query, without repetition.

    Args:
        task: What is asked.
        seed: At least 0; equal seeds give equal runs.
        depth: Passages per query; None: the task's depth.

    Raises:
        UsageError: The seed is negative or the depth below 1.
    """
    if seed < 0:
        raise UsageError(f"seed is {seed}: must be at least 0")
    depth = task.depth if depth is None else depth
    order, count = task.eligibility.nested()
    spare = _exclusions(task)
    random = np.random.default_rng(seed)

    def drawn() -> Iterator[Found]:
        for seen, more in zip(count.tolist(), spare.tolist(), strict=True):
            places = random.choice(seen, min(seen, depth + more), replace=False)
            yield order[places], np.arange(len(places), 0.0, -1.0)

    made = _run(task, drawn(), name=f"random(seed={seed})", depth=depth)
    return replace(made, spec={**made.spec, "drawn": seed})


def random_expectation(task: Task, measure: Measure, *, depth: int | None = None) -> Values:
    """The expected value of `random_run` over all seeds, per query of the qrels, float64.

    Exact for a measure that knows its expectation over tie orders: all eligible passages of a query are one
    tie, cut at the depth.

    Args:
        task: What is asked.
        measure: What to compute.
        depth: How deep the random lists are; None: the task's depth.

    Example:
        See `tests/unit/test_floors.py`: one relevant passage among four has an expected `RR` of 25/48.
    """
    qrels, reach = task.qrels, reach_of(task)
    query, grade = qrels.query[reach.judgement_eligible], qrels.grade[reach.judgement_eligible]
    first = np.ones(len(query), np.int64)
    starts = np.searchsorted(query, query)
    hits = Hits(query, np.arange(len(query)) - starts + 1, grade, first, reach.eligible[query])
    lengths = np.minimum(reach.eligible, task.depth if depth is None else depth)
    inside = hits.rank <= lengths[query]
    ideal = qrels.grade[np.lexsort((-qrels.grade.astype(np.int64), qrels.query))]
    judged = Judged(hits.take(inside), lengths, qrels.offsets, ideal, hits.take(~inside))
    return tie_values(measure, judged).expected


def drawn_expectations(run: Run, task: Task, measures: Sequence[Measure]) -> dict[str, float]:
    """The exact mean over all seeds of each measure, by its printed name; empty unless the run is of `random_run`."""
    if "drawn" not in run.spec:
        return {}
    return {str(m): float(random_expectation(task, m, depth=run.depth).mean()) for m in measures}


def oracle_run(task: Task, *, depth: int | None = None) -> Run:
    """The eligible relevant passages of every query and no others, highest grade first.

    Its scores are the most that a system can have; gold that is not eligible is out of its reach too.

    Args:
        task: What is asked.
        depth: How deep; None: the task's depth.
    """
    qrels = task.qrels
    code = task.passages.ids.codes(qrels.passages)[qrels.passage]

    def gold() -> Iterator[Found]:
        for row in np.flatnonzero(judged_rows(task) >= 0).tolist():
            own = slice(int(qrels.offsets[row]), int(qrels.offsets[row + 1]))
            wanted = (qrels.grade[own] >= 1) & (code[own] >= 0)
            yield code[own][wanted], qrels.grade[own][wanted].astype(np.float64)

    return _run(task, gold(), name="oracle", depth=task.depth if depth is None else depth)


def recency_run(task: Task, *, depth: int | None = None) -> Run:
    """The newest eligible passages of every query; passages of one day are tied.

    A passage without a date, where such may be returned at all, comes after all others.

    Args:
        task: What is asked.
        depth: How deep; None: the task's depth.

    Raises:
        UsageError: The passages have no dates.
    """
    depth = task.depth if depth is None else depth
    dates = task.passages.dates
    if dates is None or np.isnat(dates).all():
        raise UsageError(f"{task.name}: its passages have no dates, so none is the newest")
    oldest = dates[~np.isnat(dates)].min()
    day = np.where(np.isnat(dates), -1.0, (dates - oldest).astype(np.float64))
    order, count = task.eligibility.nested()
    if task.asked is None:
        order = order[np.argsort(day[order], kind="stable")]
    ascending = day[order]
    spare = _exclusions(task)

    def newest() -> Iterator[Found]:
        for seen, more in zip(count.tolist(), spare.tolist(), strict=True):
            start = max(0, seen - depth - more)
            if start:
                start = int(np.searchsorted(ascending[:seen], ascending[start], "left"))
            yield order[start:seen], ascending[start:seen]

    return _run(task, newest(), name="recency", depth=depth)


def constant_run(task: Task, *, depth: int | None = None) -> Run:
    """The same list for every query: the passages with the most relevant judgements in this very split.

    Among equally frequent ones the newest come first, where passages have dates. It knows the answers, as
    `oracle_run` does, but not the query. Where it scores well, few passages hold most of the gold, and a mean
    over queries says little about finding things. Passages that are not eligible for a query are left out of
    its list.

    Args:
        task: What is asked.
        depth: How deep; None: the task's depth.
    """
    depth = task.depth if depth is None else depth
    _, cited = _citations(task, ())
    passages, count = np.unique(cited, return_counts=True)
    score = count + _newness(task)[passages]
    lists = (_top_eligible(task, row, passages, score, depth=depth) for row in range(len(task.rows)))
    return _run(task, lists, name="constant", depth=depth)


def popularity_run(task: Task, *, earlier: Iterable[Qrels] = (), depth: int | None = None) -> Run:
    """For every query the eligible passages that were cited most often before it, by number of citations.

    A citation is a relevant pair of the qrels: the answer to query `c` cites passage `p`. It counts for query
    `q` when that answer could be known to `q`, so that no later citation makes a passage popular:

    * where passages link to the queries that they reply to, when an answer linked to `c` is dated before the
      as-of day of `q`, as everything that `q` may be answered with;
    * for a `c` without such a link, when the as-of day of `c` is before the as-of day of `q`. That is the same
      rule where tasks are asked as of the answer's own date. Where they are asked as of the question's date,
      the answer may be a few days younger than its question, and the floor may be a little too high.

    The citations of `q` itself never count. Among equally cited passages the newest come first, and those of
    one day are tied. Passages without a citation are not returned, so that lists are short for the first
    queries.

    Args:
        task: What is asked, under an as-of rule.
        earlier: Qrels of further splits over the same pool, whose citations count under the same rule.
        depth: How deep; None: the task's depth.

    Raises:
        UsageError: The task has no as-of rule: nothing is earlier than anything.
    """
    if task.asked is None:
        raise UsageError(f"{task.name} has no as-of rule, so no citation is earlier than a query; leave popularity out")
    depth = task.depth if depth is None else depth
    asked = task.asked[task.rows]
    citing, cited = _citations(task, earlier)
    known = _known_from(task, citing)
    dated = ~np.isnat(known)
    citing, cited, known = citing[dated], cited[dated], known[dated]
    order = np.argsort(known, kind="stable")
    citing, cited, known = citing[order], cited[order], known[order]
    passages, cited = np.unique(cited, return_inverse=True)
    newness = _newness(task)[passages]
    reached = np.searchsorted(known, asked, "left")

    def popular() -> Iterator[Found]:
        at, counts = 0, np.zeros(len(passages), np.float64)
        lists: dict[int, Found] = {}
        for row in np.argsort(reached, kind="stable").tolist():
            np.add.at(counts, cited[at : reached[row]], 1.0)
            at = int(reached[row])
            own = np.flatnonzero(citing[:at] == task.rows[row])
            others = counts - np.bincount(cited[own], minlength=len(passages)) if len(own) else counts
            some = np.flatnonzero(others)
            lists[row] = _top_eligible(task, row, passages[some], others[some] + newness[some], depth=depth)
        yield from (lists[row] for row in range(len(asked)))

    return _run(task, popular(), name="popularity", depth=depth)


def _citations(task: Task, earlier: Iterable[Qrels]) -> tuple[Rows, Rows]:
    """Row in the pool of each citing query and row of the passage that it cites."""
    pairs = []
    for qrels in (task.qrels, *earlier):
        query = task.pool.ids.codes(qrels.queries)[qrels.query].astype(np.int64)
        passage = task.passages.ids.codes(qrels.passages)[qrels.passage].astype(np.int64)
        counts = (qrels.grade >= 1) & (query >= 0) & (passage >= 0)
        pairs.append(np.stack([query[counts], passage[counts]]))
    citing, cited = np.unique(np.concatenate(pairs, axis=1), axis=1)
    return citing, cited


def _known_from(task: Task, citing: Rows) -> npt.NDArray[np.datetime64]:
    """The day on which the answer to each citing query was published, or else its own as-of day."""
    passages, asked = task.passages, task.asked
    never = np.datetime64("9999-12-31", "D")
    day = np.full(len(task.pool), never)
    unlinked = np.ones(len(task.pool), np.bool_)
    if passages.link_offsets is not None and passages.link_query is not None and passages.dates is not None:
        dates = np.where(np.isnat(passages.dates), never, passages.dates)
        np.minimum.at(day, passages.link_query, np.repeat(dates, np.diff(passages.link_offsets)))
        unlinked[passages.link_query] = False
    if asked is not None:
        day[unlinked] = asked[unlinked]
    return day[citing]


def _newness(task: Task) -> Values:
    """A number in [0, 1) per passage that rises with its day; 0 where there is no date."""
    dates = task.passages.dates
    if dates is None or np.isnat(dates).all():
        return np.zeros(len(task.passages))
    dated = ~np.isnat(dates)
    oldest, newest = dates[dated].min(), dates[dated].max()
    day = np.where(dated, (dates - oldest).astype(np.float64) + 1.0, 0.0)
    return day / (float((newest - oldest).astype(np.int64)) + 2.0)


def _top_eligible(task: Task, row: int, passages: Rows, score: Values, *, depth: int) -> Found:
    """At least the `depth` best eligible ones of `passages` and those that tie with the last of them."""
    width = 2 * depth
    while True:
        best = np.arange(len(passages))
        if width < len(passages):
            best = np.flatnonzero(score >= np.partition(score, -width)[-width])
        best = best[allowed(task, np.full(len(best), row), passages[best])]
        if len(best) >= depth or width >= len(passages):
            return passages[best], score[best]
        width *= 4


def _exclusions(task: Task) -> Rows:
    """Passages excluded per query, int64."""
    rule = task.eligibility
    if rule.excluded_offsets is None:
        return np.zeros(rule.queries, np.int64)
    return np.diff(rule.excluded_offsets)


def _run(task: Task, lists: Iterator[Found], *, name: str, depth: int) -> Run:
    """A run over `task.queries` from one list of passages and scores each, of which the eligible ones stay."""
    if depth < 1:
        raise UsageError(f"depth is {depth}: a list holds at least 1 passage")
    found = list(lists)
    length = np.array([len(passage) for passage, _ in found], np.int64)
    passage = np.concatenate([np.zeros(0, np.int32), *(passage for passage, _ in found)]).astype(np.int32)
    score = np.concatenate([np.zeros(0), *(score for _, score in found)])
    offsets = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
    ranked = Run.ranked(
        task.queries.ids,
        task.passages.ids,
        offsets=offsets,
        passage=passage,
        score=score,
        name=name,
        spec={"name": name, "depth": depth},
    )
    query = np.repeat(np.arange(len(length)), np.diff(ranked.offsets))
    return ranked.keep(allowed(task, query, ranked.passage)).to_depth(depth)


FLOORS: dict[str, Callable[..., Run]] = {
    "random": random_run,
    "constant": constant_run,
    "oracle": oracle_run,
    "recency": recency_run,
    "popularity": popularity_run,
}
"""Floors and ceilings by name."""
