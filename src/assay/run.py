"""Runs: what a system returned for each query. The one place where results are ranked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.errors import DuplicateIdError, FormatError, ScoreError
from assay.ids import Ids
from assay.kernels import ranking
from assay.texts import Texts


@dataclass(frozen=True, eq=False)
class Run:
    """Ranked passages per query; query `i` owns `passage` and `score` at `offsets[i]:offsets[i + 1]`.

    The order is trec_eval's: score descending, compared as float64, then id descending by UTF-8
    bytes. `queries` are those that the system answered, in file order; one with an empty list is
    answered, one that is absent is missing. `passages` is the vocabulary of `passage` (int32).
    `depth` is how deep the run was asked to be, None where unknown: rows of a list past the depth
    are there only because they tie with the last one (see `cut`). `exhausted` says, bool per query,
    whether the system had nothing further to return; None: where the list is shorter than the depth.
    `models` says of each model that took part what pins it and how it was read.
    `candidates` is what a system that only reorders had to choose from, over the same queries and passages.
    Make runs with `of` or `ranked`, which check and rank; a run never changes.

    Example:
        >>> run = Run.of([("q", "a", 1.0), ("q", "m", 1.0), ("q", "z", 2.0)])
        >>> [passage for _, passage, _ in run.triples()]
        ['z', 'm', 'a']
    """

    queries: Ids
    passages: Ids
    offsets: npt.NDArray[np.int64]
    passage: npt.NDArray[np.int32]
    score: npt.NDArray[np.float64]
    depth: int | None = None
    name: str = "run"
    spec: Mapping[str, Any] = field(default_factory=dict)
    models: tuple[Mapping[str, str], ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    exhausted: npt.NDArray[np.bool_] | None = None
    candidates: Run | None = None

    @classmethod
    def ranked(
        cls,
        queries: Ids,
        passages: Ids,
        *,
        offsets: npt.NDArray[np.int64],
        passage: npt.NDArray[np.int32],
        score: npt.NDArray[np.float64],
        distinct: bool = False,
        owned: bool = False,
        **rest: Any,
    ) -> Run:
        """A run from lists in any order, checked and ranked.

        Args:
            queries: Ids of the answered queries.
            passages: Ids that `passage` refers to.
            offsets: Borders of the lists, one more than there are queries.
            passage: Codes, int32.
            score: Scores, float64.
            distinct: The caller has made sure that no passage repeats within a list.
            owned: The caller gives up `passage` and `score`, which may then be ordered where they are.
            **rest: `depth`, `name`, `spec`, `counts`, `exhausted`, `candidates`.

        Raises:
            ScoreError: A score is not finite.
            DuplicateIdError: A passage stands twice in a list.
        """
        bad = np.flatnonzero(~np.isfinite(score))
        if len(bad):
            query = int(np.searchsorted(offsets, bad[0], "right")) - 1
            raise ScoreError(
                f"score of ({queries[query]}, {passages[int(passage[bad[0]])]}) is {score[bad[0]]}, not a finite"
                f" number ({len(bad)} such scores)"
            )
        again = None if distinct else ranking.repeated_passage(offsets, passage, passages=len(passages))
        if again is not None:
            raise DuplicateIdError(
                f"passage {passages[again[1]]!r} stands twice for query {queries[again[0]]!r};"
                " a list holds a passage once"
            )
        score = score.astype(np.float64, copy=False)
        passage, score = ranking.ranked(
            offsets, passage.astype(np.int32, copy=False), score, passages.rank, in_place=owned
        )
        return cls(queries, passages, offsets, passage, score, **rest)

    @classmethod
    def of(cls, results: Iterable[tuple[str, str, float]] | Mapping[str, Mapping[str, float]], **rest: Any) -> Run:
        """A run from `(query id, passage id, score)` triples or `{query: {passage: score}}`.

        A query that maps to an empty dictionary is answered with an empty list.

        Raises:
            FormatError: A row is no triple, or an id no string.
            ScoreError: A score is no finite number.
            DuplicateIdError: A passage stands twice for a query.
        """
        queries: dict[str, int] = {}
        passages: dict[str, int] = {}
        if isinstance(results, Mapping):
            bare = next((q for q, found in results.items() if not isinstance(found, Mapping)), None)
            if bare is not None:
                found = type(results[bare]).__name__
                raise FormatError(f"query {bare!r} maps to {found}; a mapping of passages to scores is due")
            queries = {q: i for i, q in enumerate(results)}
            results = [(q, p, s) for q, found in results.items() for p, s in found.items()]
        rows = []
        for result in results:
            try:
                q, p, s = result
                score = float(s)
            except (TypeError, ValueError):
                raise FormatError(f"result {result!r} is not (query id, passage id, score as a number)") from None
            rows.append((queries.setdefault(q, len(queries)), passages.setdefault(p, len(passages)), score))
        query = np.asarray([r[0] for r in rows], np.int64)
        order = np.argsort(query, kind="stable")
        offsets = np.zeros(len(queries) + 1, np.int64)
        np.cumsum(np.bincount(query, minlength=len(queries)), out=offsets[1:])
        return cls.ranked(
            Ids(Texts.of(queries)),
            Ids(Texts.of(passages)),
            offsets=offsets,
            passage=np.asarray([r[1] for r in rows], np.int32)[order],
            score=np.asarray([r[2] for r in rows], np.float64)[order],
            **rest,
        )

    def __len__(self) -> int:
        return len(self.passage)

    def __repr__(self) -> str:
        return f"<Run {self.name}: {len(self)} rows of {len(self.queries)} queries>"

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Rows per query down to the depth, int64: rows past it only tie with the last."""
        length = np.diff(self.offsets)
        return length if self.depth is None else np.minimum(length, self.depth)

    @property
    def ended(self) -> npt.NDArray[np.bool_]:
        """Whether each list ended for want of further passages, bool per query.

        Where `exhausted` is not known, a list has ended when it is shorter than the depth; where that
        is not known either, the longest list counts as the depth.
        """
        if self.exhausted is not None:
            return self.exhausted
        length = np.diff(self.offsets)
        depth = int(length.max(initial=0)) if self.depth is None else self.depth
        return length < max(1, depth)

    def cut(self) -> Run:
        """The run without the rows past its depth."""
        length = self.lengths
        if self.depth is None or length.sum() == len(self):
            return self
        offsets = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
        at = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - self.offsets[:-1], length)
        return replace(self, offsets=offsets, passage=self.passage[at], score=self.score[at])

    def to_depth(self, depth: int) -> Run:
        """The run as it would be, had it been asked to be only `depth` deep (at least 1).

        Rows equal to the last one inside stay behind the cut; a run that is less deep stays as it is.
        """
        if self.depth is not None and self.depth <= depth:
            return self
        length = np.diff(self.offsets)
        place = np.arange(len(self)) - np.repeat(self.offsets[:-1], length)
        # An empty list repeats no row, so that the row before its start is never read.
        last = np.repeat(self.offsets[:-1] + np.minimum(length, depth) - 1, length)
        exhausted = None if self.exhausted is None else self.exhausted & (length <= depth)
        return self.keep((place < depth) | (self.score == self.score[last]), depth=depth, exhausted=exhausted)

    def keep(self, wanted: npt.NDArray[np.bool_], **changes: Any) -> Run:
        """The run with only the rows where `wanted` (bool per row); lists stay, if empty."""
        offsets = np.concatenate([[0], np.cumsum(wanted)]).astype(np.int64)[self.offsets]
        return replace(self, offsets=offsets, passage=self.passage[wanted], score=self.score[wanted], **changes)

    def triples(self) -> list[tuple[str, str, float]]:
        """Every row as `(query id, passage id, score)` in rank order."""
        queries, passages = self.queries.texts.to_list(), self.passages.texts.to_list()
        owner = np.repeat(np.arange(len(self.queries)), np.diff(self.offsets))
        rows = zip(owner.tolist(), self.passage.tolist(), self.score.tolist(), strict=True)
        return [(queries[q], passages[p], s) for q, p, s in rows]
