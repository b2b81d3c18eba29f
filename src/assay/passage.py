"""Passages: the stretches of text that a collection is searched for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from assay.errors import DataError
from assay.ids import Ids
from assay.span import Spans
from assay.texts import Texts

Codes = npt.NDArray[np.int32]
Days = npt.NDArray[np.datetime64]


class Passage(NamedTuple):
    """One passage, where a person looks at one."""

    id: str
    text: str
    title: str = ""
    document: str = ""
    date: str = ""


@dataclass(frozen=True, eq=False)
class Passages:
    """A collection's passages as columns; a row number is a passage's code.

    `texts` maps a view (`plain`, `coref`, `raw`, …) to as many rows as there are ids. `parents`
    are the documents' ids, `spans` (document code, start, end in code points) places each passage in
    its document, `position` is its rank there from 0, `titles` has one row per document. `dates` is
    datetime64[D], NaT where a passage has no date. `candidate` marks what may be retrieved.
    `link` holds, per passage, rows of the collection's queries that it replies to. `columns`
    keeps further text columns by name.
    """

    ids: Ids
    texts: Mapping[str, Texts]
    parents: Ids | None = None
    spans: Spans | None = None
    position: Codes | None = None
    titles: Texts | None = None
    dates: Days | None = None
    candidate: npt.NDArray[np.bool_] | None = None
    link_offsets: npt.NDArray[np.int64] | None = None
    link_query: Codes | None = None
    columns: Mapping[str, Texts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sizes = {f"text {view!r}": len(texts) for view, texts in self.texts.items()}
        sizes |= {f"column {name!r}": len(texts) for name, texts in self.columns.items()}
        for name in ("spans", "position", "dates", "candidate"):
            column = getattr(self, name)
            if column is not None:
                sizes[name] = len(column)
        wrong = {name: size for name, size in sizes.items() if size != len(self.ids)}
        if wrong:
            name, size = next(iter(wrong.items()))
            raise DataError(f"{len(self.ids)} passages but {size} rows of {name}; every column needs one row each")

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, code: int) -> Passage:
        document = int(self.spans.document[code]) if self.spans is not None else -1
        return Passage(
            self.ids[code],
            self.texts["plain"][code],
            self.titles[document] if self.titles is not None and document >= 0 else "",
            self.parents[document] if self.parents is not None and document >= 0 else "",
            "" if self.dates is None or np.isnat(self.dates[code]) else str(self.dates[code]),
        )

    def __repr__(self) -> str:
        return f"<Passages: {len(self)} rows, views {', '.join(sorted(self.texts))}>"

    @property
    def parent(self) -> Codes | None:
        """Each passage's document as a code, int32; None without documents."""
        return None if self.spans is None else self.spans.document.astype(np.int32)

    @cached_property
    def digest_parts(self) -> dict[str, Any]:
        """What a system could read, as digests: equal parts give equal indexes."""
        return {view: texts.digest for view, texts in sorted(self.texts.items())}
