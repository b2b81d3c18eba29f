"""Judged: a run read against judgements. All that a measure gets to see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from assay.errors import UsageError

Ranks = npt.NDArray[np.int64]
Grades = npt.NDArray[np.int32]
Values = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Hits:
    """Judged passages in ranked lists, one row each, by query and then by rank.

    `query` is the row of the query, `rank` starts at 1, `grade` may be negative. `first` and `last`
    are the ranks that the hit could take in another order of the passages that tie with it (`first`
    to `last` inclusive; equal to `rank` without a tie).
    """

    query: Ranks
    rank: Ranks
    grade: Grades
    first: Ranks
    last: Ranks

    @classmethod
    def none(cls) -> Hits:
        """No hits."""
        empty = np.zeros(0, np.int64)
        return cls(empty, empty, empty.astype(np.int32), empty, empty)

    @classmethod
    def ordered(cls, parts: Sequence[Hits]) -> Hits:
        """All hits of `parts`, by query and then by rank."""
        columns = ([getattr(part, name) for part in parts] for name in ("query", "rank", "grade", "first", "last"))
        joined = cls(*map(np.concatenate, columns))
        query, rank = joined.query, joined.rank
        falls = (query[1:] < query[:-1]) | ((query[1:] == query[:-1]) & (rank[1:] < rank[:-1]))
        return joined.take(np.lexsort((rank, query))) if falls.any() else joined

    def take(self, rows: Ranks | Mask) -> Hits:
        """The hits at `rows`."""
        return Hits(self.query[rows], self.rank[rows], self.grade[rows], self.first[rows], self.last[rows])

    def __len__(self) -> int:
        return len(self.query)


@dataclass(frozen=True, eq=False)
class TieGroups:
    """Ties that hold a judged passage, one row each, by query and first rank.

    A passage that ties with none is a group of one. Groups without a judged passage have no row.

    Attributes:
        query: Row of the query.
        first, last: Ranks of the group, both inclusive; `last` may lie past the end of the list.
        end: The last rank of the group's list.
        owner: For each judged member, its group.
        grade: For each judged member, its grade.
    """

    query: Ranks
    first: Ranks
    last: Ranks
    end: Ranks
    owner: Ranks
    grade: Grades

    def __len__(self) -> int:
        return len(self.query)

    @property
    def size(self) -> Ranks:
        """Passages of each group, judged or not, int64."""
        return self.last - self.first + 1

    def count(self, wanted: Mask) -> Ranks:
        """Per group how many members are in `wanted` (bool per member), int64."""
        return np.bincount(self.owner[wanted], minlength=len(self))

    def seen(self, cutoff: int | None) -> Ranks:
        """Ranks of each group within the list and down to the cutoff, int64."""
        end = self.end if cutoff is None else np.minimum(self.end, cutoff)
        return np.maximum(np.minimum(self.last, end) - self.first + 1, 0)

    def before(self, count: Ranks) -> Ranks:
        """Per group the sum of `count` over the groups above it in its list, int64."""
        total = np.cumsum(count) - count
        return total - total[np.searchsorted(self.query, self.query)]


@dataclass(frozen=True, eq=False)
class Judged:
    """Grades in rank order, list lengths and the ideal order, for every judged query.

    Only judged passages have rows (`hits`): a passage without a judgement is a rank that no hit
    holds, and a rank past the end of a list is one above `lengths`; neither is a grade. All arrays
    are over the queries of the qrels, a query missing from the run having length 0.

    Attributes:
        hits: Judged passages within the lists, by query and rank.
        lengths: Ranks of each list, int64 per query.
        judged_offsets, judged_grades: Per query all judged grades, found or not, descending.
        beyond: Judged passages past the depth that tie with the last rank; measures do not see them,
            the tie orders do.
        weight: Probability of each hit's row, float64; None means 1 (see `spread`).

    Example:
        Three ranks; rank 2 is not judged. One more relevant passage was not found.

        >>> judged = Judged.of([[1, None, 0]], ideal=[[2, 1, 0]])
        >>> judged.hits.rank.tolist(), judged.lengths.tolist(), judged.relevant(1).tolist()
        ([1, 3], [3], [2])
    """

    hits: Hits
    lengths: Ranks
    judged_offsets: Ranks
    judged_grades: Grades
    beyond: Hits
    weight: Values | None = None

    @classmethod
    def of(cls, lists: list[list[int | None]], *, ideal: list[list[int]]) -> Judged:
        """Judged from grades in rank order (None: not judged) and all judged grades, without ties."""
        rows = [(q, r + 1, g) for q, grades in enumerate(lists) for r, g in enumerate(grades) if g is not None]
        table = np.asarray(rows, np.int64).reshape(-1, 3)
        rank = table[:, 1]
        best = [g for grades in ideal for g in sorted(grades, reverse=True)]
        return cls(
            Hits(table[:, 0], rank, table[:, 2].astype(np.int32), rank, rank),
            np.asarray([len(grades) for grades in lists], np.int64),
            np.concatenate([[0], np.cumsum([len(grades) for grades in ideal])]).astype(np.int64),
            np.asarray(best, np.int32),
            Hits.none(),
        )

    def __len__(self) -> int:
        return len(self.lengths)

    # What measures are made of: sums over hits, first ranks, counts.

    def seen(self, min_grade: int, cutoff: int | None) -> Mask:
        """Hits of at least `min_grade` at or above the rank `cutoff` (None: in the whole list)."""
        wanted = self.hits.grade >= min_grade
        return wanted if cutoff is None else wanted & (self.hits.rank <= cutoff)

    def sum(self, values: Values | Mask) -> Values:
        """Per query the sum of one value a hit, float64."""
        values = np.asarray(values, np.float64)
        if self.weight is not None:
            values = values * self.weight
        total: Values = np.bincount(self.hits.query, weights=values, minlength=len(self)).astype(np.float64)
        return total

    def first_rank(self, wanted: Mask) -> Values:
        """Per query the best rank of a hit in `wanted`, float64; infinity where there is none.

        Raises:
            UsageError: Hits stand for probabilities (see `spread`): no order is there to read.
        """
        self._refuse_spread("first_rank")
        best = np.full(len(self), np.inf)
        query, rank = self.hits.query[wanted], self.hits.rank[wanted]
        top = _starts(query)
        best[query[top]] = rank[top]
        return best

    def running(self, wanted: Mask) -> Ranks:
        """For each hit, how many hits in `wanted` its query has at its rank or above, int64.

        Raises:
            UsageError: Hits stand for probabilities (see `spread`): no order is there to read.
        """
        self._refuse_spread("running")
        total = np.concatenate([[0], np.cumsum(wanted)]).astype(np.int64)
        return total[1:] - total[np.searchsorted(self.hits.query, self.hits.query)]

    def _refuse_spread(self, asked: str) -> None:
        if self.weight is not None:
            raise UsageError(
                f"a measure that says additive = True asked for `{asked}`, which reads an order; a weighted sum over"
                " hits does not: say additive = False, and give the measure a method `expected`"
            )

    def relevant(self, min_grade: int = 1) -> Ranks:
        """Per query how many judged passages have at least `min_grade`, found or not, int64."""
        total = np.concatenate([[0], np.cumsum(self.judged_grades >= min_grade)]).astype(np.int64)
        return total[self.judged_offsets[1:]] - total[self.judged_offsets[:-1]]

    @property
    def judged(self) -> Ranks:
        """Per query how many passages are judged, found or not, int64."""
        return np.diff(self.judged_offsets)

    @cached_property
    def ideal_rank(self) -> Ranks:
        """The rank, from 1, of each of `judged_grades` in the best order, int64."""
        return np.arange(len(self.judged_grades)) - np.repeat(self.judged_offsets[:-1], self.judged) + 1

    def ideal_sum(self, values: Values) -> Values:
        """Per query the sum of one value per judged grade, float64."""
        owner = np.repeat(np.arange(len(self)), self.judged)
        total: Values = np.bincount(owner, weights=values, minlength=len(self)).astype(np.float64)
        return total

    # Other orders of passages with equal scores.

    @cached_property
    def groups(self) -> TieGroups:
        """Ties that hold a judged passage, `beyond` included; what expectations are computed from."""
        hits = Hits.ordered([self.hits, self.beyond])
        new = _starts(hits.query, hits.first)
        query = hits.query[new]
        return TieGroups(query, hits.first[new], hits.last[new], self.lengths[query], np.cumsum(new) - 1, hits.grade)

    @cached_property
    def tied(self) -> Mask:
        """Queries whose list has a judged passage in a tie, bool per query."""
        return np.bincount(self._tied.query, minlength=len(self)) > 0

    @cached_property
    def _tied(self) -> Hits:
        """Hits whose rank another order could change or bring in, by query and rank."""
        return Hits.ordered([self.hits.take(self.hits.first < self.hits.last), self.beyond])

    def best(self) -> Judged:
        """The order that puts higher grades first within every tie, then judged before unjudged.

        No order gives more under a measure that only gains when a higher grade moves up.
        """
        return self._best

    def worst(self) -> Judged:
        """The order that puts unjudged passages first within every tie, then lower grades.

        No order gives less under a measure that only gains when a higher grade moves up.
        """
        return self._worst

    @cached_property
    def _best(self) -> Judged:
        return self._reordered(descending=True)

    @cached_property
    def _worst(self) -> Judged:
        return self._reordered(descending=False)

    def _reordered(self, *, descending: bool) -> Judged:
        tied = self._tied
        if len(tied) == 0:
            return self
        grade = tied.grade.astype(np.int64)
        tied = tied.take(np.lexsort((-grade if descending else grade, tied.first, tied.query)))
        starts = np.flatnonzero(_starts(tied.query, tied.first))
        size = np.diff(np.append(starts, len(tied)))
        place = np.arange(len(tied)) - np.repeat(starts, size)
        top = tied.first if descending else tied.last - np.repeat(size, size) + 1
        return self._moved(replace(tied, rank=top + place))

    def shuffled(self, random: np.random.Generator) -> Judged:
        """One order of the tied passages at random, all orders being equally likely."""
        tied = self._tied
        if len(tied) == 0:
            return self
        new = _starts(tied.query, tied.first)
        starts = np.flatnonzero(new)
        size = (tied.last - tied.first + 1)[starts]
        slot = np.repeat(np.arange(len(starts)), size)
        order = np.lexsort((random.random(len(slot)), slot))
        begin = np.cumsum(size) - size
        group = np.cumsum(new) - 1
        place = np.arange(len(tied)) - starts[group]
        rank = order[begin[group] + place] - begin[group] + tied.first
        return self._moved(replace(tied, rank=rank))

    def _moved(self, moved: Hits) -> Judged:
        """The same lists with the tied hits at other ranks; what falls past the end is beyond."""
        inside = moved.rank <= self.lengths[moved.query]
        still = self.hits.take(self.hits.first == self.hits.last)
        return replace(
            self,
            hits=Hits.ordered([still, moved.take(inside)]),
            beyond=Hits.ordered([moved.take(~inside)]),
        )

    def spread(self, cutoff: int | None = None) -> Judged:
        """Every tied hit at each rank that it could take, weighted with its probability.

        A measure that is a weighted sum over hits gets its expectation over all orders of tied
        passages from this (McSherry and Najork, ECIR 2008). Hits of one grade in one tie share their
        rows, so there are at most as many rows as ranks times distinct grades.

        Args:
            cutoff: Ranks below it are left out; None: the whole list.
        """
        tied = self._tied
        if len(tied) == 0:
            return self
        tied = tied.take(np.lexsort((tied.grade, tied.first, tied.query)))
        starts = np.flatnonzero(_starts(tied.query, tied.first, tied.grade))
        alike = np.diff(np.append(starts, len(tied)))
        tied = tied.take(starts)
        size = tied.last - tied.first + 1
        # Ranks past the end of a list are not made at all: a tie may go on far beyond the depth.
        end = self.lengths[tied.query] if cutoff is None else np.minimum(self.lengths[tied.query], cutoff)
        ranks = np.maximum(np.minimum(tied.last, end) - tied.first + 1, 0)
        row = np.repeat(np.arange(len(tied)), ranks)
        rank = np.arange(len(row)) - np.repeat(np.cumsum(ranks) - ranks, ranks) + tied.first[row]
        still = self.hits.take(self.hits.first == self.hits.last)
        query = np.concatenate([still.query, tied.query[row]])
        at = np.concatenate([still.rank, rank])
        # Nearly sorted already, which a stable sort of one key makes use of.
        order = np.argsort(query * (int(at.max(initial=0)) + 1) + at, kind="stable")
        at = at[order]
        grade = np.concatenate([still.grade, tied.grade[row]])[order]
        weight = np.concatenate([np.ones(len(still)), (alike / size)[row]])[order]
        return replace(self, hits=Hits(query[order], at, grade, at, at), beyond=Hits.none(), weight=weight)


def _starts(*columns: npt.NDArray[np.int64] | Grades) -> Mask:
    """Rows where one of the columns differs from the row above; the first row always."""
    new = np.ones(len(columns[0]), np.bool_)
    if len(new):
        new[1:] = columns[0][1:] != columns[0][:-1]
        for column in columns[1:]:
            new[1:] |= column[1:] != column[:-1]
    return new
