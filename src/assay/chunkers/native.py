"""The passages that a collection has already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.span import Spans


@dataclass(frozen=True)
class Native:
    """The collection's own passages, by document and start.

    Example:
        >>> Native().chosen(Spans.of((1, 0, 4), (0, 5, 9), (0, 0, 4))).start.tolist()
        [0, 5, 0]
    """

    name: ClassVar[str] = "native"

    def chosen(self, own: Spans) -> Spans:
        """All of them."""
        return own.take(np.lexsort((own.end, own.start, own.document)))
