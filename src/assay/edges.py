"""Edges: which query cites which passage, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from assay.errors import DataError
from assay.texts import Texts


@dataclass(frozen=True, eq=False)
class Edges:
    """Citations: row `i` says that query `query[i]` cites passage `passage[i]`.

    Codes are int64 rows of a task's pool and of its passages. `columns` says of each citation how it was made
    (`source`, `referral`), by which scores can be sliced. A pair may stand in several rows.

    Example:
        >>> edges = Edges(np.array([0, 0]), np.array([7, 9]), {"source": Texts.of(["text", "hyperlink"])})
        >>> len(edges), list(edges.columns)
        (2, ['source'])
    """

    query: npt.NDArray[np.int64]
    passage: npt.NDArray[np.int64]
    columns: Mapping[str, Texts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sizes = {"passages": len(self.passage), **{name: len(texts) for name, texts in self.columns.items()}}
        for name, size in sizes.items():
            if size != len(self.query):
                raise DataError(f"{len(self.query)} citing queries but {size} rows of {name}; an edge needs one each")

    def __len__(self) -> int:
        return len(self.query)
