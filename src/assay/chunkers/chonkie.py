"""Adapter to chonkie's token, sentence and recursive chunkers."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

from assay.chunker import whole_numbers
from assay.errors import UnavailableError, UnknownNameError, UsageError

_KINDS = {"token": "TokenChunker", "sentence": "SentenceChunker", "recursive": "RecursiveChunker"}


@dataclass(frozen=True)
class Chonkie:
    """The chunks of one of chonkie's chunkers; their places are found and proven by the house.

    The offsets that the package tells are not read: those of its TokenChunker over words are wrong.

    Args:
        kind: `token`, `sentence` or `recursive`.
        size: The most that a chunk may have, in what `tokenizer` makes.
        overlap: How many of these the next chunk repeats; not for `recursive`.
        tokenizer: `character`, `word` or another of the package's own tokenizers.

    Raises:
        UnknownNameError: There is no such kind.
        UsageError: A size or overlap out of range.

    Example:
        >>> Chonkie("sentence", size=400).tokenizer
        'character'
    """

    name: ClassVar[str] = "chonkie"

    kind: str = "token"
    size: int = 1000
    overlap: int = 0
    tokenizer: str = "character"

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise UnknownNameError.of("kind of chonkie", self.kind, _KINDS)
        size, overlap = self.size, self.overlap
        fits = whole_numbers(size, overlap) and size >= 1 and 0 <= overlap < size
        if not fits or (overlap and self.kind == "recursive"):
            raise UsageError(
                "chonkie: size must be a whole number above 0 and overlap from 0 and smaller, 0 for recursive;"
                f" found {size!r}, {overlap!r}"
            )

    def pieces(self, document: str) -> list[str]:
        """The texts of one document's chunks.

        Raises:
            UnavailableError: The package, or what its tokenizer needs, is not installed.
        """
        try:
            package: Any = import_module("chonkie")
            made = self._chunker(package)
        except ImportError as err:
            raise UnavailableError(f"chonkie: {err}; install assay[chunkers]") from None
        return [chunk.text for chunk in made.chunk(document)] if document.strip() else []

    def _chunker(self, package: Any) -> Any:
        rest = {} if self.kind == "recursive" else {"chunk_overlap": self.overlap}
        return getattr(package, _KINDS[self.kind])(tokenizer=self.tokenizer, chunk_size=self.size, **rest)
