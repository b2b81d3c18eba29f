"""Qrels: which passage is relevant to which query, and how much."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.errors import DuplicateIdError
from assay.ids import Ids
from assay.texts import Texts


@dataclass(frozen=True, eq=False)
class Qrels:
    """Judgements: query `i` owns `passage` and `grade` at `offsets[i]:offsets[i + 1]`.

    `queries` are the judged queries in file order, `passages` the judged passages' ids (their own
    vocabulary: a judged passage need not exist in a collection). `passage` is int32, `grade` int32;
    a grade of 1 and up is relevant, 0 and below is judged not relevant.

    Example:
        >>> qrels = Qrels.of([("q1", "a", 1), ("q2", "b", 0), ("q1", "c", -1)])
        >>> qrels.offsets.tolist(), qrels.grade.tolist(), list(qrels.queries)
        ([0, 2, 3], [1, -1, 0], ['q1', 'q2'])
    """

    queries: Ids
    passages: Ids
    offsets: npt.NDArray[np.int64]
    passage: npt.NDArray[np.int32]
    grade: npt.NDArray[np.int32]

    @classmethod
    def of(cls, judgements: Iterable[tuple[str, str, int]]) -> Qrels:
        """Qrels from `(query id, passage id, grade)` triples, in any order."""
        queries: dict[str, int] = {}
        passages: dict[str, int] = {}
        rows = [
            (queries.setdefault(q, len(queries)), passages.setdefault(p, len(passages)), grade)
            for q, p, grade in judgements
        ]
        table = np.asarray(rows, np.int64).reshape(-1, 3)
        return cls.from_columns(
            Ids(Texts.of(queries)), Ids(Texts.of(passages)), query=table[:, 0], passage=table[:, 1], grade=table[:, 2]
        )

    @classmethod
    def from_columns(
        cls,
        queries: Ids,
        passages: Ids,
        *,
        query: npt.NDArray[np.integer[Any]],
        passage: npt.NDArray[np.integer[Any]],
        grade: npt.NDArray[np.integer[Any]],
    ) -> Qrels:
        """Qrels from aligned columns of codes, in any order.

        Raises:
            DuplicateIdError: A pair is judged twice.
        """
        order = np.argsort(query, kind="stable")
        offsets = np.zeros(len(queries) + 1, np.int64)
        np.cumsum(np.bincount(query, minlength=len(queries)), out=offsets[1:])
        made = cls(
            queries, passages, offsets, passage[order].astype(np.int32), grade[order].astype(np.int32)
        )
        key = np.sort(query.astype(np.int64) * max(1, len(passages)) + passage)
        again = np.flatnonzero(key[1:] == key[:-1])
        if len(again):
            q, p = divmod(int(key[again[0]]), max(1, len(passages)))
            raise DuplicateIdError(
                f"passage {passages[p]!r} is judged twice for query {queries[q]!r} ({len(again)} such pairs);"
                " keep one judgement a pair"
            )
        return made

    def __len__(self) -> int:
        return len(self.passage)

    def __repr__(self) -> str:
        return f"<Qrels: {len(self)} judgements of {len(self.queries)} queries>"

    @property
    def query(self) -> npt.NDArray[np.int64]:
        """The query row of every judgement, int64."""
        return np.repeat(np.arange(len(self.queries)), np.diff(self.offsets))

    def take(self, rows: npt.NDArray[np.integer[Any]]) -> Qrels:
        """The judgements of the queries at `rows`, in that order; passages keep their codes."""
        count = np.diff(self.offsets)[rows]
        offsets = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
        at = np.arange(offsets[-1]) - np.repeat(offsets[:-1], count) + np.repeat(self.offsets[rows], count)
        return Qrels(self.queries.take(rows), self.passages, offsets, self.passage[at], self.grade[at])

    def triples(self) -> list[tuple[str, str, int]]:
        """Every judgement as `(query id, passage id, grade)`, by query."""
        queries, passages = self.queries.texts.to_list(), self.passages.texts.to_list()
        rows = zip(self.query.tolist(), self.passage.tolist(), self.grade.tolist(), strict=True)
        return [(queries[q], passages[p], g) for q, p, g in rows]
