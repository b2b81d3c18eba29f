"""Whole sentences, so many or as many as fit in so many characters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from assay.chunker import one_of, stripped, whole_numbers
from assay.errors import UsageError

Column = npt.NDArray[np.int64]

_CLOSING = "\"'”’»›)\\]}」』）】》"
_BORDER = re.compile(
    rf"""
    [.!?…؟۔।॥։።]+ [{_CLOSING}]* (?=\s)      # a full stop before a blank
  | [。！？｡︒]+ [{_CLOSING}]*                          # a CJK full stop needs no blank
  | (?:\r?\n[^\S\n]*){{2,}}                              # a paragraph ends its last sentence
    """,
    re.VERBOSE,
)
_WORD_BEFORE = re.compile(r"[^\s(\[\"'“‘«]*\Z")
_NEXT = re.compile(r"\s*[\"'“‘«(\[]*(.?)", re.DOTALL)
_ALWAYS = re.compile(
    r"mrs?|ms|dr|prof|st|[sj]r|gen|col|capt|lt|sgt|rev|hon|gov|sen|rep|e\.g|i\.e|cf|viz|vs|[ds]\.[hou]|z\.[bt]|u\.a"
    r"|vgl|bzw|ggf|evtl|inkl|hrsg|mme|mlle|p\.ex|sra|srta|dña|uds?|pág|núm"
)
"""Words whose full stop ends no sentence, without it, in lower case."""
_AT_TIMES = re.compile(
    r"nos?|nr|figs?|pp?|pg|paras?|sec|arts?|ch|vols?|eds?|abs|dept|est|approx|ca|etc|al|usw|inc|ltd|co|corp|bros"
    r"|[ap]\.m|u\.[sk]|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|str|tel"
)
"""Words whose full stop ends no sentence where a small letter or a digit follows."""


@dataclass(frozen=True)
class Sentences:
    """Chunks of so many `sentences`, or of as many as fit in so many `characters`.

    A sentence ends after `. ! ? …` and their like in other scripts before a blank, after a CJK full stop wherever it
    stands, and at an empty line. A full stop after a title, an initial or `e.g.` ends none; neither does one after
    another abbreviation (English, German, French, Spanish), a number or a single letter where a small letter
    follows. A sentence of more than `characters` is cut at blanks, or where there are none, after so many.

    Args:
        sentences, characters: The size; exactly one is given.
        overlap: How many sentences the next chunk repeats; with `sentences` alone, and smaller.

    Raises:
        UsageError: Not exactly one size, or a wrong overlap.

    Example:
        >>> text = "Dr. Lee pays, e.g. in May. It is free! 是的。好。"
        >>> [text[a:b] for a, b in Sentences(sentences=1).spans(text).tolist()]
        ['Dr. Lee pays, e.g. in May.', 'It is free!', '是的。', '好。']
    """

    name: ClassVar[str] = "sentences"

    sentences: int = 0
    characters: int = 0
    overlap: int = 0

    def __post_init__(self) -> None:
        one_of(self.name, sentences=self.sentences, characters=self.characters)
        overlap: Any = self.overlap
        most = max(1, self.sentences) - 1
        if not whole_numbers(overlap) or not 0 <= overlap <= most:
            raise UsageError(f"sentences: overlap must be a whole number from 0 to {most}; found {overlap!r}")

    def spans(self, document: str) -> Column:
        """The chunks of one document."""
        found = stripped(document, list(pairwise([0, *_borders(document), len(document)])))
        if self.characters:
            return np.asarray(list(self._packed(document, found)), np.int64).reshape(-1, 2)
        step = self.sentences - self.overlap
        last = max(1, len(found) - self.overlap)
        first = np.arange(0, last if len(found) else 0, step)
        end = np.minimum(first + self.sentences, len(found)) - 1
        return np.stack([found[first, 0], found[end, 1]], axis=1)

    def _packed(self, document: str, found: Column) -> Iterator[tuple[int, int]]:
        """Neighbouring sentences together while they fit."""
        held: tuple[int, int] | None = None
        for start, end in found.tolist():
            if held is not None and end - held[0] <= self.characters:
                held = held[0], end
                continue
            if held is not None:
                yield held
            *whole, held = _shortened(document, start, end, self.characters)
            yield from whole
        if held is not None:
            yield held


def _borders(document: str) -> Iterator[int]:
    """Where sentences end."""
    for match in _BORDER.finditer(document):
        if match[0] != "." or _is_border(document, match):
            yield match.end()


def _is_border(document: str, match: re.Match[str]) -> bool:
    """Whether a single full stop ends a sentence."""
    before = _WORD_BEFORE.search(document, max(0, match.start() - 40), match.start())
    word = before[0].lower() if before else ""
    following = _NEXT.match(document, match.end())
    after = following[1] if following is not None else ""
    if _ALWAYS.fullmatch(word) or (len(word) == 1 and before is not None and before[0].isupper()):
        return False
    short = _AT_TIMES.fullmatch(word) is not None
    if short and after.isdigit():
        return False
    return not (after.islower() and (short or word[-1:].isdigit() or len(word) == 1 or "." in word))


def _shortened(document: str, start: int, end: int, limit: int) -> Iterator[tuple[int, int]]:
    """A sentence in parts of at most `limit` characters."""
    while end - start > limit:
        cut = next((at for at in range(start + limit, start, -1) if document[at].isspace()), start + limit)
        yield start, start + len(document[start:cut].rstrip())
        start = cut + len(document[cut:end]) - len(document[cut:end].lstrip())
    yield start, end
