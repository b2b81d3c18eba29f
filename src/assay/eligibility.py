"""Eligibility: which passages a query may be answered with. The one rule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.errors import EligibilityError

Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Eligibility:
    """A candidate mask, one date rank per passage with one cut-off per query, and exclusions.

    A passage is eligible for a query when it is a `candidate` AND its `rank` is below the query's
    `cutoff` AND it is not among the query's exclusions. Parts that are None forbid nothing.
    `candidate` is bool and `rank` int32, one per passage; `cutoff` is int32, one per query; query `i`
    excludes `excluded[excluded_offsets[i]:excluded_offsets[i + 1]]`.

    Example:
        >>> rule = Eligibility.as_of(np.array(["2020-01-01", "2021-01-01", "NaT"], "datetime64[D]"),
        ...                          np.array(["2021-01-01", "2022-01-01"], "datetime64[D]"))
        >>> rule.mask(0).tolist(), rule.mask(1).tolist()
        ([True, False, False], [True, True, False])
    """

    passages: int
    queries: int
    candidate: npt.NDArray[np.bool_] | None = None
    rank: Codes | None = None
    cutoff: Codes | None = None
    excluded_offsets: npt.NDArray[np.int64] | None = None
    excluded: Codes | None = None

    def __post_init__(self) -> None:
        parts = (
            ("candidate", self.candidate, self.passages),
            ("rank", self.rank, self.passages),
            ("cutoff", self.cutoff, self.queries),
            ("excluded_offsets", self.excluded_offsets, self.queries + 1),
        )
        for name, part, size in parts:
            if part is not None and len(part) != size:
                raise EligibilityError(f"{name} has {len(part)} rows; {size} are due")
        if (self.rank is None) != (self.cutoff is None) or (self.excluded is None) != (self.excluded_offsets is None):
            raise EligibilityError("rank and cutoff come together, and so do excluded and excluded_offsets")
        if self.excluded is not None and len(self.excluded):
            low, high = int(self.excluded.min()), int(self.excluded.max())
            if low < 0 or high >= self.passages:
                raise EligibilityError(f"exclusions name rows from {low} to {high} of {self.passages} passages")

    @classmethod
    def everything(cls, passages: int, queries: int) -> Eligibility:
        """All passages for all queries."""
        return cls(passages, queries)

    @classmethod
    def as_of(cls, published: npt.NDArray[np.datetime64], asked: npt.NDArray[np.datetime64]) -> Eligibility:
        """Passages `published` on a day strictly before the day `asked`; undated ones never.

        Args:
            published: datetime64 per passage, NaT where undated; a time of day is dropped.
            asked: datetime64 per query; a time of day is dropped.

        Raises:
            EligibilityError: A query has no date.
        """
        published, asked = published.astype("datetime64[D]"), asked.astype("datetime64[D]")
        undated = np.flatnonzero(np.isnat(asked))
        if len(undated):
            raise EligibilityError(
                f"{len(undated)} queries have no date, which an as-of rule needs (first: row {int(undated[0]) + 1})"
            )
        days = np.unique(published[~np.isnat(published)])
        rank = np.searchsorted(days, published).astype(np.int32)
        cutoff = np.searchsorted(days, asked, side="left").astype(np.int32)
        rank[np.isnat(published)] = np.iinfo(np.int32).max
        return cls(len(published), len(asked), rank=rank, cutoff=cutoff)

    def only(self, candidate: npt.NDArray[np.bool_]) -> Eligibility:
        """The same rule among `candidate` passages alone."""
        both = candidate if self.candidate is None else candidate & self.candidate
        return Eligibility(
            self.passages, self.queries, both, self.rank, self.cutoff, self.excluded_offsets, self.excluded
        )

    def without(self, offsets: npt.NDArray[np.int64], passage: Codes) -> Eligibility:
        """The same rule with further passages excluded per query (query `i`: `offsets[i]:offsets[i + 1]`)."""
        made = Eligibility(self.passages, self.queries, self.candidate, self.rank, self.cutoff, offsets, passage)
        if self.excluded is None or self.excluded_offsets is None:
            return made
        count = np.append(np.diff(self.excluded_offsets), np.diff(offsets))
        owner = np.repeat(np.tile(np.arange(self.queries), 2), count)
        both = np.append(self.excluded, passage)[np.argsort(owner, kind="stable")]
        return replace(made, excluded_offsets=self.excluded_offsets + offsets, excluded=both)

    def grouped(self, offsets: npt.NDArray[np.int64], passage: Codes) -> Eligibility:
        """The rule over groups of passages: a group is eligible for a query when one of its passages is.

        Group `i` holds `passage[offsets[i]:offsets[i + 1]]`; a passage may be in several, and one without any is
        never eligible.

        Example:
            >>> rule = Eligibility.as_of(np.array(["2021-01-01", "2020-01-01"], "datetime64[D]"),
            ...                          np.array(["2020-06-01"], "datetime64[D]"))
            >>> rule.grouped(np.array([0, 2, 3]), np.array([0, 1, 0], np.int32)).mask(0).tolist()
            [True, False]
        """
        groups = len(offsets) - 1
        owner = np.repeat(np.arange(groups), np.diff(offsets))
        may = np.ones(len(passage), np.bool_) if self.candidate is None else self.candidate[passage]
        held = np.bincount(owner[may], minlength=groups) > 0
        rank = None
        if self.rank is not None:
            rank = np.full(groups, np.iinfo(np.int32).max, np.int32)
            np.minimum.at(rank, owner[may], self.rank[passage[may]])
        made = Eligibility(groups, self.queries, None if held.all() else held, rank, self.cutoff)
        if self.excluded is None or self.excluded_offsets is None:
            return made
        # A group leaves a query only where every passage of it that the query could have is excluded.
        query = np.repeat(np.arange(self.queries), np.diff(self.excluded_offsets))
        by_passage = np.argsort(passage, kind="stable")
        at, entry = _stretches(np.searchsorted(passage[by_passage], np.arange(self.passages + 1)), self.excluded)
        touched = np.unique(query[at] * groups + owner[by_passage[entry]])
        query, group = np.divmod(touched, max(1, groups))
        at, entry = _stretches(offsets, group)
        left = np.bincount(at[self.allows(query[at], passage[entry])], minlength=len(touched)) > 0
        borders = np.searchsorted(query[~left], np.arange(self.queries + 1)).astype(np.int64)
        return made.without(borders, group[~left].astype(np.int32))

    @property
    def unrestricted(self) -> bool:
        """Whether everything is eligible for every query."""
        return self.candidate is None and self.rank is None and self.excluded is None

    def mask(self, query: int) -> npt.NDArray[np.bool_]:
        """Eligible passages of one query, bool per passage."""
        eligible = np.ones(self.passages, np.bool_) if self.candidate is None else self.candidate.copy()
        if self.rank is not None and self.cutoff is not None:
            eligible &= self.rank < self.cutoff[query]
        if self.excluded is not None and self.excluded_offsets is not None:
            eligible[self.excluded[self.excluded_offsets[query] : self.excluded_offsets[query + 1]]] = False
        return eligible

    def allows(
        self, query: npt.NDArray[np.integer[Any]], passage: npt.NDArray[np.integer[Any]]
    ) -> npt.NDArray[np.bool_]:
        """For aligned query and passage codes, whether each pair is eligible."""
        eligible = np.ones(len(passage), np.bool_) if self.candidate is None else self.candidate[passage]
        if self.rank is not None and self.cutoff is not None:
            eligible = eligible & (self.rank[passage] < self.cutoff[query])
        if self.excluded is not None and self.excluded_offsets is not None:
            # Mostly a query excludes itself alone, and one comparison per pair does; a search would take far longer.
            count = np.diff(self.excluded_offsets)
            padded = np.append(self.excluded, np.int32(-1))
            for place in range(int(count.max(initial=0))):
                own = padded[np.where(place < count, self.excluded_offsets[:-1] + place, len(self.excluded))]
                eligible = eligible & (own[query] != passage)
        return eligible

    def counts(self) -> npt.NDArray[np.int64]:
        """How many passages are eligible, int64 per query."""
        if self.rank is None or self.cutoff is None:
            base = np.full(self.queries, self.passages if self.candidate is None else self.candidate.sum(), np.int64)
        else:
            ranks = np.sort(self.rank if self.candidate is None else self.rank[self.candidate])
            base = np.searchsorted(ranks, self.cutoff, "left").astype(np.int64)
        if self.excluded is not None and self.excluded_offsets is not None:
            without = Eligibility(self.passages, self.queries, self.candidate, self.rank, self.cutoff)
            owner = np.repeat(np.arange(self.queries), np.diff(self.excluded_offsets))
            pair = np.unique(owner * self.passages + self.excluded)
            owner, passage = np.divmod(pair, max(1, self.passages))
            base = base - np.bincount(owner[without.allows(owner, passage)], minlength=self.queries)
        return base

    def nested(self) -> tuple[Codes, npt.NDArray[np.int64]]:
        """Passages in an order in which those eligible for a query come first, and how many those are.

        Exclusions are not applied: query `i` may be answered with the first `n[i]` passages of the order less
        its exclusions. The order is by date rank, then by row; passages that are no candidates are not in it.

        Example:
            >>> rule = Eligibility.as_of(np.array(["2021-01-01", "NaT", "2020-01-01"], "datetime64[D]"),
            ...                          np.array(["2021-01-01", "2022-01-01"], "datetime64[D]"))
            >>> [part.tolist() for part in rule.nested()]
            [[2, 0, 1], [1, 2]]
        """
        rows = np.arange(self.passages) if self.candidate is None else np.flatnonzero(self.candidate)
        if self.rank is not None:
            rows = rows[np.argsort(self.rank[rows], kind="stable")]
        bare = Eligibility(self.passages, self.queries, self.candidate, self.rank, self.cutoff)
        return rows.astype(np.int32), bare.counts()

    def between(self, low: int, high: int) -> Eligibility:
        """The same rule for the passages `low` to `high` alone: new row `i` is old row `low + i`.

        Example:
            >>> rule = Eligibility.everything(4, 1).without(np.array([0, 2]), np.array([0, 3], np.int32))
            >>> rule.between(2, 4).mask(0).tolist()
            [True, False]
        """
        offsets, excluded = None, None
        if self.excluded is not None and self.excluded_offsets is not None:
            inside = (self.excluded >= low) & (self.excluded < high)
            offsets = np.concatenate([[0], np.cumsum(inside)]).astype(np.int64)[self.excluded_offsets]
            excluded = self.excluded[inside] - np.int32(low)
        return Eligibility(
            high - low,
            self.queries,
            None if self.candidate is None else self.candidate[low:high],
            None if self.rank is None else self.rank[low:high],
            self.cutoff,
            offsets,
            excluded,
        )

    def permuted(self, passages: npt.NDArray[np.integer[Any]], queries: npt.NDArray[np.integer[Any]]) -> Eligibility:
        """The same rule for rows in another order: new row `i` is old row `passages[i]` (`queries[i]`).

        `passages` is a permutation; `queries` may be any rows.
        """
        place = np.full(self.passages, -1, np.int32)
        place[passages] = np.arange(len(passages), dtype=np.int32)
        offsets, excluded = None, None
        if self.excluded is not None and self.excluded_offsets is not None:
            count = np.diff(self.excluded_offsets)[queries]
            offsets = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
            at = np.arange(offsets[-1]) - np.repeat(offsets[:-1], count)
            excluded = place[self.excluded[at + np.repeat(self.excluded_offsets[queries], count)]]
        return Eligibility(
            len(passages),
            len(queries),
            None if self.candidate is None else self.candidate[passages],
            None if self.rank is None else self.rank[passages],
            None if self.cutoff is None else self.cutoff[queries],
            offsets,
            excluded,
        )


def _stretches(
    offsets: npt.NDArray[np.int64], wanted: npt.NDArray[np.integer[Any]]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Every entry of the lists `wanted`: which of these each belongs to, and its place."""
    count = offsets[wanted + 1] - offsets[wanted]
    at = np.repeat(np.arange(len(wanted)), count)
    return at, np.arange(len(at)) - np.repeat(np.cumsum(count) - count, count) + offsets[wanted][at]
