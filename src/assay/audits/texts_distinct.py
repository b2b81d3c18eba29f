"""Texts that stand in several rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.audit import Finding
from assay.collection import Collection
from assay.ids import Ids
from assay.texts import Texts


@dataclass(frozen=True)
class TextsDistinct:
    """How many passages, and how many queries, share their text with another.

    Checks:
        Groups of passages, and groups of queries, whose plain texts are equal after folding blanks. Empty
        texts are left to `texts-filled`.

    Why it matters:
        Copies take places in every ranked list, and equal queries are not independent: intervals that take
        them as such are too narrow.

    Known limits:
        Equality only. Masking can make different texts equal (a referral to one answer and to another).

    Example:
        133 texts stand in more than one passage of ConditionalQA: headings and boilerplate of several pages.

    What to do:
        Nothing, where they are part of the source; give twin questions as ties, so that they are resampled
        together; see `half-judged` for copies that change scores.
    """

    name: ClassVar[str] = "texts-distinct"

    def inspect(self, collection: Collection) -> Iterator[Finding]:
        """One finding on passages, one on queries."""
        yield self._distinct("passages", "passage", collection.passages.ids, collection.passages.texts.get("plain"))
        yield self._distinct("queries", "query", collection.queries.ids, collection.queries.texts.get("plain"))

    def _distinct(self, part: str, what: str, ids: Ids, texts: Texts | None) -> Finding:
        expected = "a text of its own in every row"
        if texts is None or not len(texts):
            return Finding.skipped(f"{self.name}/{part}", f"there are no plain {what} texts", expected=expected)
        same = texts.same_text
        size = np.bincount(same, minlength=len(same))
        first = np.flatnonzero((size > 1) & (texts.byte_lengths > 0))
        rows = int(size[first].sum())

        def shown(row: int) -> str:
            group = np.flatnonzero(same == row).tolist()
            more = f" and {len(group) - 3} more" if len(group) > 3 else ""
            return f"{', '.join(repr(ids[r]) for r in group[:3])}{more}: {' '.join(texts[row].split())[:60]!r}"

        return Finding.of(
            f"{self.name}/{part}",
            len(first),
            verdict="note",
            expected=expected,
            found=f"{len(first)} texts stand in several rows ({rows} of {len(same)} rows)",
            offenders=map(shown, first.tolist()),
            advice="look whether they belong to the source; tie equal queries, so that they are resampled together",
        )
