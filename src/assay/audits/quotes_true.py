"""Gold fragments hold the words they quote."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.audit import Finding, labelled_tasks
from assay.building.documents import Documents
from assay.collection import Collection
from assay.fragment import Fragments
from assay.passage import Passages


@dataclass(frozen=True)
class QuotesTrue:
    """Every fragment's quote is what its document holds between its offsets.

    Checks:
        Where fragments come with the words that they mark, `document[start:end]` is equal to those words,
        character by character, in the plain view.

    Why it matters:
        Offsets that count bytes or UTF-16, or that were made on a text that was normalised or re-cut later,
        are right for plain English and wrong after the first other character.

    Known limits:
        The document is put together from its passages: characters that no passage holds (the newline
        between two passages) agree with anything. Fragments outside their documents are left to
        `fragments-in-documents`.

    Example:
        The quote "b" of the text "a😀b" is at `[2, 3)`; UTF-16 would say `[3, 4)` and UTF-8 `[5, 6)`.

    What to do:
        Convert the offsets to code points of the stored text; never normalise a text that has offsets.
    """

    name: ClassVar[str] = "quotes-true"

    def inspect(self, collection: Collection) -> Iterator[Finding]:
        """One finding if all is well, else one per task and split."""
        expected = "document[start:end] equal to the quote"
        if collection.manifest.get("offsets") == "locator":
            yield Finding.skipped(self.name, "the manifest says that offsets are locators", expected=expected)
            return
        total, outside, faults = 0, 0, []
        for label, task in labelled_tasks(collection):
            fragments, spans = task.fragments, task.passages.spans
            if fragments is None or fragments.quotes is None or spans is None:
                continue
            checked, finding = self._compared(label, task.passages, fragments)
            total, outside = total + checked, outside + len(fragments) - checked
            faults += [finding] if finding.count else []
        if not total:
            yield Finding.skipped(self.name, "no fragment has a quote and a document", expected=expected)
        elif faults:
            yield from faults
        else:
            left = f"; {outside} outside their documents were left out" if outside else ""
            yield Finding(self.name, "ok", expected, f"all of {total} quotes{left}")

    def _compared(self, label: str, passages: Passages, fragments: Fragments) -> tuple[int, Finding]:
        parents, spans, quotes = passages.parents, passages.spans, fragments.quotes
        if parents is None or spans is None or quotes is None:
            return 0, Finding(self.name, "ok", "", "")
        code = parents.codes(fragments.documents).astype(np.int64)[fragments.spans.document]
        wanted = np.zeros(len(parents), np.bool_)
        wanted[code[code >= 0]] = True
        documents = Documents.of(passages.texts["plain"], spans, wanted=wanted)
        inside = np.flatnonzero((code >= 0) & (fragments.spans.end <= documents.length[code]))
        # The same fragments over the codes of the collection's documents.
        placed = type(spans)(code[inside], fragments.spans.start[inside], fragments.spans.end[inside])
        wrong = np.flatnonzero(~documents.holds(quotes.take(inside), placed))

        def shown(row: int) -> str:
            span, of = placed[row], int(placed.document[row])
            there = documents.text(of, span.start, min(span.end, span.start + 60))
            query = fragments.queries[int(fragments.query[inside[row]])]
            return (
                f"query {query!r}: [{span.start}, {span.end}) of document {parents[of]!r} holds {there!r}, "
                f"the quote is {quotes[int(inside[row])][:60]!r}"
            )

        return len(inside), Finding.of(
            f"{self.name}/{label}",
            len(wrong),
            verdict="error",
            expected="document[start:end] equal to the quote",
            found=f"{len(wrong)} of {len(inside)} quotes differ",
            offenders=map(shown, wrong.tolist()),
            advice="count offsets in code points of the text as stored, and make them again if the text was changed",
        )
