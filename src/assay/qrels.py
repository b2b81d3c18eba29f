"""Qrels: which passage is relevant to which query, and how much."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.errors import DuplicateIdError, FormatError
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
    def of(cls, judgements: Iterable[tuple[str, str, float]] | Mapping[str, Mapping[str, float]]) -> Qrels:
        """Qrels from `(query id, passage id, grade)` triples, in any order, or `{query: {passage: grade}}`.

        A query that maps to an empty dictionary is judged, with nothing relevant.

        Raises:
            FormatError: A row is no triple, an id no string, or a grade no whole number.
            DuplicateIdError: A pair is judged twice.
        """
        queries: dict[str, int] = {}
        passages: dict[str, int] = {}
        grades = []
        if isinstance(judgements, Mapping):
            bare = next((q for q, judged in judgements.items() if not isinstance(judged, Mapping)), None)
            if bare is not None:
                raise FormatError(f"query {bare!r} maps to {type(judgements[bare]).__name__}; a mapping is due")
            queries = {q: row for row, q in enumerate(judgements)}
            judgements = [(q, p, grade) for q, judged in judgements.items() for p, grade in judged.items()]
        rows = []
        for judgement in judgements:
            try:
                q, p, grade = judgement
                whole = int(grade)
            except (TypeError, ValueError, OverflowError):
                raise FormatError(f"judgement {judgement!r} is not (query id, passage id, whole grade)") from None
            if whole != grade or abs(whole) >= 1 << 31:
                raise FormatError(
                    f"grade of ({q}, {p}) is {grade!r}, not a whole number below 2**31; map the values to whole grades"
                )
            rows.append((queries.setdefault(q, len(queries)), passages.setdefault(p, len(passages))))
            grades.append(whole)
        table = np.asarray(rows, np.int64).reshape(-1, 2)
        return cls.from_columns(
            Ids(Texts.of(queries)),
            Ids(Texts.of(passages)),
            query=table[:, 0],
            passage=table[:, 1],
            grade=np.asarray(grades, np.int64),
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
        made = cls(queries, passages, offsets, passage[order].astype(np.int32), grade[order].astype(np.int32))
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
