"""Fragments: gold stretches of documents, per query, whatever the chunking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.errors import SpanError
from assay.ids import Ids
from assay.span import Spans
from assay.texts import Texts


@dataclass(frozen=True, eq=False)
class Fragments:
    """Gold spans: row `i` says that `spans[i]` answers query `query[i]` with grade `grade[i]`.

    `queries` and `documents` hold the ids; `query` is int32, `spans.document` a code of
    `documents`, `grade` int32. `quotes`, where given, is the text that each span must hold.
    """

    queries: Ids
    documents: Ids
    query: npt.NDArray[np.int32]
    spans: Spans
    grade: npt.NDArray[np.int32]
    quotes: Texts | None = None

    def __post_init__(self) -> None:
        if not len(self.query) == len(self.spans) == len(self.grade):
            raise SpanError(
                f"fragment columns differ in length: {len(self.query)} queries, {len(self.spans)} spans, "
                f"{len(self.grade)} grades"
            )

    def __len__(self) -> int:
        return len(self.query)

    def take(self, rows: npt.NDArray[np.integer[Any]]) -> Fragments:
        """The fragments of `rows`, in that order; queries and documents keep their codes."""
        quotes = None if self.quotes is None else self.quotes.take(rows)
        spans = self.spans.take(rows)
        return Fragments(self.queries, self.documents, self.query[rows], spans, self.grade[rows], quotes)
