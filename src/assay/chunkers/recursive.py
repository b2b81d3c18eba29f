"""Chunks of at most so many characters, cut at the first separator that helps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from assay.chunker import stripped, whole_numbers
from assay.errors import UsageError

Column = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Recursive:
    r"""Chunks of at most `characters`, cut at the first of `separators` that occurs, and finer where need be.

    Neighbouring parts are joined while they fit together. A separator ends the part before it. Where no separator is
    left, a part is cut after so many characters. Blanks at the ends of chunks are left out.

    Args:
        characters: The most that a chunk may have.
        separators: Texts to cut at, the coarsest first.

    Raises:
        UsageError: The size is no whole number above 0, or a separator is empty.

    Example:
        >>> text = "One two.\n\nThree four five."
        >>> [text[a:b] for a, b in Recursive(12).spans(text).tolist()]
        ['One two.', 'Three four', 'five.']
    """

    name: ClassVar[str] = "recursive"

    characters: int = 1000
    separators: tuple[str, ...] = ("\n\n", "\r\n\r\n", "\n", ". ", "。", "！", "？", " ")

    def __post_init__(self) -> None:
        size: Any = self.characters
        if not whole_numbers(size) or size < 1:
            raise UsageError(f"recursive: characters must be a whole number above 0; found {size!r}")
        given: Any = self.separators
        if not isinstance(given, list | tuple) or not all(isinstance(s, str) and s for s in given):
            raise UsageError(f"recursive: separators must be a list of texts that are not empty; found {given!r}")

    def spans(self, document: str) -> Column:
        """The chunks of one document."""
        return stripped(document, list(self._cut(document, 0, len(document), 0)))

    def _cut(self, document: str, start: int, end: int, level: int) -> Iterator[tuple[int, int]]:
        if end - start <= self.characters:
            yield start, end
            return
        if level == len(self.separators):
            for at in range(start, end, self.characters):
                yield at, min(end, at + self.characters)
            return
        first = at = start
        for after in _ends(document, start, end, self.separators[level]):
            # Blanks at the end of a chunk are left out, so a separator of blanks need not fit in.
            if len(document[first:after].rstrip()) > self.characters:
                if at > first:
                    yield first, at
                first = at
                if after - at > self.characters:
                    yield from self._cut(document, at, after, level + 1)
                    first = after
            at = after
        if first < end:
            yield first, end


def _ends(document: str, start: int, end: int, separator: str) -> Iterator[int]:
    """Where the parts between separators end, the separator included."""
    at = document.find(separator, start, end)
    while at >= 0:
        yield at + len(separator)
        at = document.find(separator, at + len(separator), end)
    yield end
