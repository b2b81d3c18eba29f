"""Every id stands once."""

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
class IdsUnique:
    """Every passage, query and document has an id of its own.

    Checks:
        No id of a passage, a query or a document stands in two rows. Where one does, the finding says
        whether the two rows have the same text.

    Why it matters:
        A judgement names an id. With two texts behind one id nobody can say which of them was judged,
        and tools differ in which one they keep.

    Known limits:
        Ids are compared byte by byte: `7` and `07` are two ids, and so are two spellings of `é`.

    Example:
        Query `44` is "ferry to the island" in row 1 and "rent a boat" in row 2: an error.

    What to do:
        Give one of the two another id, or leave one out, and judge again what was judged under that id.
    """

    name: ClassVar[str] = "ids-unique"

    def inspect(self, collection: Collection) -> Iterator[Finding]:
        """One finding each for passages, queries and documents."""
        passages, queries = collection.passages, collection.queries
        yield self._unique("passages", "passage", passages.ids, passages.texts.get("plain"))
        yield self._unique("queries", "query", queries.ids, queries.texts.get("plain"))
        if passages.parents is not None:
            yield self._unique("documents", "document", passages.parents, None)

    def _unique(self, part: str, what: str, ids: Ids, texts: Texts | None) -> Finding:
        first = ids.texts.first_rows_in(ids.texts)
        again = np.flatnonzero(first != np.arange(len(ids)))

        def shown(row: int) -> str:
            story = f"{what} id {ids[row]!r} appears at rows {int(first[row]) + 1} and {row + 1}"
            if texts is None:
                return story
            return f"{story} with {'the same' if texts[int(first[row])] == texts[row] else 'different'} text"

        return Finding.of(
            f"{self.name}/{part}",
            len(again),
            verdict="error",
            expected=f"every {what} id once",
            found=f"{len(ids)} rows, {len(ids) - len(again)} different ids",
            offenders=map(shown, again.tolist()),
            advice=f"rename or leave out one of each two {part}",
        )
