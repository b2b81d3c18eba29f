"""Gold fragments meet passages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from assay.audit import Finding, labelled_tasks
from assay.collection import Collection
from assay.fragment import Fragments
from assay.passage import Passages
from assay.span import Spans
from assay.texts import Texts


@dataclass(frozen=True)
class GoldInChunks:
    """Every gold fragment lies in a passage; how many lie in one, and how many in several.

    Checks:
        In each text view, how many fragments meet no passage, exactly one, or several. A passage meets a
        fragment when both share at least one character of one document; a passage whose text is blank in
        a view meets nothing in it.

    Why it matters:
        A fragment in no passage can never be found. A fragment over several passages makes each of them
        gold, though none holds all of it.

    Known limits:
        Counts fragments as given: two equal fragments count twice.

    Example:
        ConditionalQA's 1,165 fragments each meet exactly one chunk. A fragment in the newline between two
        chunks meets none.

    What to do:
        Cut passages so that they cover the gold, or say which fragments no chunking of this kind can reach.
    """

    name: ClassVar[str] = "gold-in-chunks"

    def inspect(self, collection: Collection) -> Iterator[Finding]:
        """Per task, split and view the fragments with no passage (a fault) and the other counts."""
        expected = "every fragment in a passage"
        seen = False
        for label, task in labelled_tasks(collection):
            passages, fragments = task.passages, task.fragments
            if fragments is None or not len(fragments) or passages.spans is None or passages.parents is None:
                continue
            seen = True
            for view in sorted(set(passages.texts) - {"raw"}):
                yield self._met(f"{self.name}/{label}/{view}", passages, fragments, passages.texts[view])
        if not seen:
            yield Finding.skipped(self.name, "no task has fragments and passages with offsets", expected=expected)

    def _met(self, check: str, passages: Passages, fragments: Fragments, texts: Texts) -> Finding:
        met = _meetings(passages, fragments, texts)
        none, one = np.flatnonzero(met == 0), int((met == 1).sum())

        def shown(row: int) -> str:
            span = fragments.spans[row]
            document = fragments.documents[int(fragments.spans.document[row])]
            query = fragments.queries[int(fragments.query[row])]
            return f"query {query!r}: [{span.start}, {span.end}) of document {document!r}"

        several = len(met) - one - len(none)
        return Finding.of(
            check if len(none) == 0 else f"{check}/none",
            len(none),
            verdict="error",
            expected="every fragment in a passage",
            found=f"{len(met)} fragments: {len(none)} in no passage, {one} in exactly one, {several} in several",
            offenders=map(shown, none.tolist()),
            advice="cut passages so that they cover these characters, or correct the fragments' offsets",
        )


def _meetings(passages: Passages, fragments: Fragments, texts: Texts) -> npt.NDArray[np.int64]:
    """How many passages with a text each fragment meets."""
    met = np.zeros(len(fragments), np.int64)
    if passages.parents is None or passages.spans is None:
        return met
    code = passages.parents.codes(fragments.documents).astype(np.int64)[fragments.spans.document]
    known = np.flatnonzero(code >= 0)
    filled = np.flatnonzero(texts.byte_lengths > 0)
    gold = Spans(code[known], fragments.spans.start[known], fragments.spans.end[known])
    here, _ = gold.overlaps(passages.spans.take(filled))
    met[known] = np.bincount(here, minlength=len(known))
    return met
