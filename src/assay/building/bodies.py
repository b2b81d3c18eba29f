"""Bodies: many texts masked, and what they name, in one scan a block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.building.citations import Anchor, CitationRules, citations_in, printed_in
from assay.building.edges import Cited
from assay.building.house import House
from assay.building.masking import TOKEN, masked_texts
from assay.texts import Texts

_BLOCK = 1 << 13


@dataclass(frozen=True)
class Bodies:
    """Texts after masking.

    Attributes:
        masked: Each text with its ids and addresses masked; the very string it was where nothing is.
        cited: Texts that name a record, by row.
        counts: How many stretches of each kind were masked, and in how many texts (`texts`).
    """

    masked: Sequence[str]
    cited: Sequence[Cited]
    counts: Mapping[str, int]


def read_bodies(
    texts: Sequence[str],
    house: House,
    *,
    anchors: Sequence[Sequence[Anchor]] = (),
    days: npt.NDArray[np.datetime64] | None = None,
    rules: CitationRules | None = None,
    token: str = TOKEN,
) -> Bodies:
    """Texts masked, with their citations as they were before.

    Args:
        texts: Bodies, unmasked.
        house: Whose ids are looked for.
        anchors: Links of the source, one sequence a text; none at all where left out.
        days: The day of each text, datetime64[D], NaT where unknown.
        rules: What is a citation.
        token: What stands for what is masked.

    Example:
        >>> from assay.building.houses import EUROPEAN_PARLIAMENT
        >>> found = read_bodies(["Nothing.", "See the reply to E-000001/2020."], EUROPEAN_PARLIAMENT)
        >>> found.masked[1], found.cited[0].citations[0].ids, found.counts
        ('See the reply to [MASKED].', ('E-9-2020-000001',), {'ids': 1, 'texts': 1})
    """
    masked: list[str] = []
    cited: list[Cited] = []
    counts: dict[str, int] = {}
    # In blocks, so that what a scan needs besides the texts stays small.
    for start in range(0, len(texts), _BLOCK):
        block = texts[start : start + _BLOCK]
        packed = Texts.of(block)
        of_block = None if days is None else days[start : start + _BLOCK]
        links = {row: given for row, given in enumerate(anchors[start : start + _BLOCK]) if given}
        printed = printed_in(packed, house, days=of_block)
        for row, found in citations_in(packed, house, anchors=links, days=of_block, rules=rules, printed=printed):
            cited.append(Cited(start + row, block[row], found))
        done, kinds = masked_texts(packed, house, anchors=links, days=of_block, token=token, printed=printed)
        masked += [old if old == new else new for old, new in zip(block, done, strict=True)]
        changed = sum(old is not new for old, new in zip(block, masked[start:], strict=True))
        for kind, count in (*kinds.items(), *([("texts", changed)] if changed else [])):
            counts[kind] = counts.get(kind, 0) + count
    return Bodies(masked, cited, dict(sorted(counts.items())))
