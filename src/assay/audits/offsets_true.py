"""Passages stand where their offsets say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from assay.audit import Finding
from assay.building.documents import Documents
from assay.building.tables import UNKNOWN_INLINED
from assay.collection import Collection
from assay.passage import Passages
from assay.span import Spans
from assay.texts import Texts

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class OffsetsTrue:
    """Every passage's text is what its document holds between its offsets.

    Checks:
        In the plain view: no passage has a span of zero length; a passage is as long as its span, in code
        points; passages that overlap agree about the text they share; no two passages have the same span;
        in the order of their positions, starts never go back. Other views (`coref`, say) may be longer or
        shorter than their spans by design: of those the bounds alone are looked at, which all views share.

    Why it matters:
        Gold is projected by offsets. A shift of one character gives a fragment to the wrong passage, or to
        none.

    Known limits:
        The document is put together from its passages: a shift of all of them by the same number of
        characters cannot be seen, and neither can the text between passages. A collection whose manifest
        says `"offsets": "locator"` is held to the bounds alone in the plain view too.

    Example:
        Passage "Größe" with the span `[0, 7)`: five code points, seven bytes in UTF-8. If every faulty
        passage fits the bytes, the finding says that the offsets count bytes.

    What to do:
        Convert byte or UTF-16 offsets to code points; take offsets from the splitter itself and never find
        a passage's text again by searching; do not strip or normalise text after it was cut.
    """

    name: ClassVar[str] = "offsets-true"

    def inspect(self, collection: Collection) -> Iterator[Finding]:
        """Findings on zero length, length, shared text, equal spans and order, and one per further view."""
        passages = collection.passages
        spans, texts = passages.spans, passages.texts.get("plain")
        if spans is None or texts is None:
            yield Finding.skipped(
                self.name, "passages have no offsets", expected="document[start:end] equal to the passage"
            )
            return
        yield self._empty(passages, spans)
        if collection.manifest.get("offsets") == "locator":
            yield self._locator("plain", len(passages))
        else:
            yield self._lengths(passages, spans, texts)
            yield self._shared(passages, spans, texts)
        yield self._same_span(passages, spans)
        if passages.position is not None:
            yield self._order(passages, spans, passages.position)
        for view in sorted(set(passages.texts) - {"plain", "raw"}):
            yield self._locator(view, len(passages))
        if "coref" in passages.texts:
            yield self._inlined(collection.counts.get(UNKNOWN_INLINED, 0), len(passages))

    def _locator(self, view: str, size: int) -> Finding:
        found = f"{size} passages with the same bounds; their texts may differ from the document by design"
        return Finding(f"{self.name}/{view}", "ok", "bounds only", found)

    def _inlined(self, unknown: int, size: int) -> Finding:
        return Finding.of(
            f"{self.name}/coref-rows",
            unknown,
            verdict="warning",
            expected="inlined texts of these passages alone",
            found=f"{unknown} inlined texts, beside those of {size} passages, are of no passage and were left out",
            advice="make the inlined texts anew from these passages: those of another chunking do not fit",
        )

    def _empty(self, passages: Passages, spans: Spans) -> Finding:
        return Finding.of(
            f"{self.name}/empty",
            len(spans.empty),
            verdict="error",
            expected="no passage of zero length",
            found=f"{len(spans.empty)} of {len(passages)} passages have zero length and can hold no gold",
            offenders=(_placed(passages, spans, row) for row in spans.empty.tolist()),
            advice="leave such passages out; if they come from a border inside a character, cut at characters",
        )

    def _lengths(self, passages: Passages, spans: Spans, texts: Texts) -> Finding:
        wrong = np.flatnonzero((texts.lengths != spans.lengths) & (spans.lengths > 0))
        return Finding.of(
            f"{self.name}/length",
            len(wrong),
            verdict="error",
            expected="passages as long as their spans, in code points",
            found=f"{len(passages) - len(wrong)} of {len(passages)} passages are"
            f"{_unit(texts.take(wrong), spans.take(wrong))}",
            offenders=(
                f"{_placed(passages, spans, row)} has {int(texts.lengths[row])} characters, its span "
                f"{int(spans.lengths[row])}"
                for row in wrong.tolist()
            ),
            advice="count offsets in code points of the text as stored, and do not strip passages after cutting",
        )

    def _shared(self, passages: Passages, spans: Spans, texts: Texts) -> Finding:
        documents = len(passages.parents) if passages.parents is not None else int(spans.document.max(initial=-1)) + 1
        overlapping, gaps = _neighbours(spans, documents)
        conflicts = Documents.of(texts, spans, wanted=overlapping).conflicts
        return Finding.of(
            f"{self.name}/overlap",
            len(conflicts),
            verdict="error",
            expected="passages that overlap agree about the text they share",
            found=f"{len(conflicts)} passages differ from another in the same place; {int(overlapping.sum())} of "
            f"{documents} documents have overlaps; {gaps} gaps are wider than one character",
            offenders=(_placed(passages, spans, row) for row in conflicts.tolist()),
            advice="cut all passages of a document from one text, and count their offsets in it",
        )

    def _same_span(self, passages: Passages, spans: Spans) -> Finding:
        order = np.lexsort((spans.end, spans.start, spans.document))
        key = np.stack([spans.document, spans.start, spans.end])[:, order]
        again = order[1:][(key[:, 1:] == key[:, :-1]).all(axis=0) & (key[1, 1:] < key[2, 1:]) & (key[0, 1:] >= 0)]
        return Finding.of(
            f"{self.name}/twice",
            len(again),
            verdict="error",
            expected="a span of its own for every passage",
            found=f"{len(again)} passages have the span of another",
            offenders=(_placed(passages, spans, row) for row in np.sort(again).tolist()),
            advice="take offsets from the splitter: a search for the text finds an earlier copy of it",
        )

    def _order(self, passages: Passages, spans: Spans, position: npt.NDArray[np.int32]) -> Finding:
        order = np.lexsort((position, spans.document))
        document, start = spans.document[order], spans.start[order]
        back = order[1:][(document[1:] == document[:-1]) & (start[1:] < start[:-1])]
        return Finding.of(
            f"{self.name}/order",
            len(back),
            verdict="error",
            expected="starts that never go back",
            found=f"{len(back)} passages start before the passage that precedes them",
            offenders=(_placed(passages, spans, row) for row in back.tolist()),
            advice="number passages in the order in which they stand in their document",
        )


def _placed(passages: Passages, spans: Spans, row: int) -> str:
    document = int(spans.document[row])
    known = passages.parents is not None and document >= 0
    of = f" of {passages.parents[document]!r}" if known and passages.parents is not None else ""
    return f"passage {passages.ids[row]!r} [{int(spans.start[row])}, {int(spans.end[row])}){of}"


def _unit(texts: Texts, spans: Spans) -> str:
    if not len(texts):
        return ""
    if np.array_equal(texts.byte_lengths, spans.lengths):
        return "; the others are as long as their UTF-8 bytes: these offsets count bytes, not code points"
    if np.array_equal(texts.utf16_lengths, spans.lengths):
        return "; the others are as long as their UTF-16 units: these offsets count UTF-16, not code points"
    return ""


def _neighbours(spans: Spans, documents: int) -> tuple[npt.NDArray[np.bool_], int]:
    """Documents with passages that overlap (bool per document), and gaps wider than one character."""
    overlapping = np.zeros(documents, np.bool_)
    rows = np.flatnonzero(spans.document >= 0)
    order = rows[np.lexsort((spans.start[rows], spans.document[rows]))]
    if not len(order):
        return overlapping, 0
    document, start, end = spans.document[order], spans.start[order], spans.end[order]
    width = int(end.max()) + 1
    reach = np.maximum.accumulate(document * width + end)[:-1] - document[1:] * width
    same = document[1:] == document[:-1]
    overlapping[document[1:][same & (start[1:] < reach)]] = True
    return overlapping, int((same & (start[1:] > reach + 1)).sum())
