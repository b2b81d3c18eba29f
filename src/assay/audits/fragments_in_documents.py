"""Gold fragments lie inside documents that exist."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.audit import Finding, labelled_tasks
from assay.collection import Collection
from assay.fragment import Fragments
from assay.task import Task


@dataclass(frozen=True)
class FragmentsInDocuments:
    """Every gold fragment is a stretch of a document that the collection has.

    Checks:
        Each fragment names a known query and a known document, ends where the document ends or before, and
        is not of zero length.

    Why it matters:
        A fragment past the end, in no document or of zero length overlaps no passage: its query loses gold
        without a word.

    Known limits:
        A document is as long as its last passage says. Text after that passage is not known of.

    Example:
        A fragment `[90, 120)` of a document of 100 characters: its offsets count something else than the
        characters of this text, or the text was changed after the fragments were made.

    What to do:
        Count offsets in code points of the stored text; a fragment of zero length needs a real end.
    """

    name: ClassVar[str] = "fragments-in-documents"

    def inspect(self, collection: Collection) -> Iterator[Finding]:
        """One finding if all is well, else one per task, split and kind of fault."""
        expected = "fragments inside their documents"
        total, faults = 0, []
        for label, task in labelled_tasks(collection):
            if task.fragments is not None:
                total += len(task.fragments)
                faults += [f for f in self._faults(label, task, task.fragments) if f.count]
        if not total:
            yield Finding.skipped(self.name, "no task has fragments", expected=expected)
        elif faults:
            yield from faults
        else:
            yield Finding(self.name, "ok", expected, f"all of {total} fragments")

    def _faults(self, label: str, task: Task, fragments: Fragments) -> Iterator[Finding]:
        parents, spans = task.passages.parents, task.passages.spans
        queries = task.pool.ids.codes(fragments.queries)[fragments.query]
        code = np.full(len(fragments), -1, np.int64)
        lengths = np.zeros(1, np.int64)
        if parents is not None and spans is not None:
            code = parents.codes(fragments.documents).astype(np.int64)[fragments.spans.document]
            lengths = np.zeros(len(parents) + 1, np.int64)
            np.maximum.at(lengths, spans.document[spans.document >= 0], spans.end[spans.document >= 0])
        faults = {
            "unknown-query": (queries < 0, "their query does not exist"),
            "unknown-document": (code < 0, "no passage is of their document"),
            "past-the-end": ((code >= 0) & (fragments.spans.end > lengths[code]), "they end after their document ends"),
            "empty": (fragments.spans.lengths == 0, "they have zero length, overlap nothing and are unreachable"),
        }
        for part, (bad, story) in faults.items():
            rows = np.flatnonzero(bad)
            yield Finding.of(
                f"{self.name}/{label}/{part}",
                len(rows),
                verdict="error",
                expected="fragments inside their documents",
                found=f"{len(rows)} of {len(fragments)} fragments: {story}",
                offenders=(_shown(fragments, row, int(lengths[code[row]])) for row in rows.tolist()),
                advice="make the fragment's document and offsets agree with the stored text, in code points",
            )


def _shown(fragments: Fragments, row: int, length: int) -> str:
    span = fragments.spans[row]
    return (
        f"query {fragments.queries[int(fragments.query[row])]!r}: [{span.start}, {span.end}) of document "
        f"{fragments.documents[int(fragments.spans.document[row])]!r} ({length} characters)"
    )
