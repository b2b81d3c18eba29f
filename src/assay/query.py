"""Queries: what is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from assay.errors import DataError
from assay.ids import Ids
from assay.texts import Texts

Days = npt.NDArray[np.datetime64]


class Query(NamedTuple):
    """One query, where a person looks at one."""

    id: str
    text: str
    date: str = ""


@dataclass(frozen=True, eq=False)
class Queries:
    """Queries as columns; a row number is a query's code.

    `texts` maps a view (`plain`, `raw`, …) to as many rows as there are ids; `dates` is
    datetime64[D] with NaT where there is none; `columns` keeps further text columns by name
    (subject, language, split, …), over which scores can be sliced.
    """

    ids: Ids
    texts: Mapping[str, Texts]
    dates: Days | None = None
    columns: Mapping[str, Texts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sizes = {f"text {view!r}": len(texts) for view, texts in self.texts.items()}
        sizes |= {f"column {name!r}": len(texts) for name, texts in self.columns.items()}
        if self.dates is not None:
            sizes["dates"] = len(self.dates)
        wrong = {name: size for name, size in sizes.items() if size != len(self.ids)}
        if wrong:
            name, size = next(iter(wrong.items()))
            raise DataError(f"{len(self.ids)} queries but {size} rows of {name}; every column needs one row each")

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, code: int) -> Query:
        undated = self.dates is None or np.isnat(self.dates[code])
        return Query(self.ids[code], self.texts["plain"][code], "" if undated else str(self.dates[code]))  # type: ignore[index]

    def __repr__(self) -> str:
        return f"<Queries: {len(self)} rows>"

    def take(self, codes: npt.NDArray[np.integer[Any]]) -> Queries:
        """The queries of `codes`, which must be distinct, in that order."""
        return Queries(
            self.ids.take(codes),
            {view: texts.take(codes) for view, texts in self.texts.items()},
            None if self.dates is None else self.dates[codes],
            {name: texts.take(codes) for name, texts in self.columns.items()},
        )
