"""Adapter to semchunk, which cuts at the most telling separator of many."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

from assay.chunker import one_of, whole_numbers
from assay.errors import UnavailableError, UsageError


@dataclass(frozen=True)
class Semchunk:
    """The chunks of `semchunk.chunkerify`; their places are found and proven by the house.

    Args:
        characters, words: The most that a chunk may have; exactly one is given. Words are what blanks separate.
        overlap: How many of these the next chunk repeats.

    Raises:
        UsageError: Not exactly one size, or an overlap that is negative or not smaller.

    Example:
        >>> Semchunk(characters=500).characters
        500
    """

    name: ClassVar[str] = "semchunk"

    characters: int = 0
    words: int = 0
    overlap: int = 0

    def __post_init__(self) -> None:
        one_of(self.name, characters=self.characters, words=self.words)
        overlap: Any = self.overlap
        if not whole_numbers(overlap) or not 0 <= overlap < (self.characters or self.words):
            raise UsageError(f"semchunk: overlap must be a whole number from 0, below the size; found {overlap!r}")

    def pieces(self, document: str) -> list[str]:
        """The texts of one document's chunks.

        Raises:
            UnavailableError: The package is not installed.
        """
        try:
            package: Any = import_module("semchunk")
        except ImportError:
            raise UnavailableError("semchunk is not installed; install assay[chunkers]") from None
        counter = len if self.characters else _words
        cut = package.chunkerify(counter, self.characters or self.words, memoize=False)
        return list(cut(document, overlap=self.overlap or None))


def _words(text: str) -> int:
    return len(text.split())
