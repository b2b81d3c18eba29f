"""Adapter to langchain's text splitters, which tell no ends and at times wrong starts."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

from assay.chunker import whole_numbers
from assay.errors import UnavailableError, UnknownNameError, UsageError

_KINDS = {"recursive": "RecursiveCharacterTextSplitter", "character": "CharacterTextSplitter"}


@dataclass(frozen=True)
class Langchain:
    """The chunks of a splitter of langchain-text-splitters; their places are found and proven by the house.

    Args:
        kind: `recursive` (RecursiveCharacterTextSplitter) or `character` (CharacterTextSplitter).
        characters: The size that chunks should have at most.
        overlap: How many characters the next chunk may repeat.
        separators: Texts to cut at, the coarsest first; the package's own if empty.

    Raises:
        UnknownNameError: There is no such kind.
        UsageError: A size or overlap out of range, or several separators for `character`.

    Example:
        >>> Langchain(characters=500, overlap=50).kind
        'recursive'
    """

    name: ClassVar[str] = "langchain"

    kind: str = "recursive"
    characters: int = 1000
    overlap: int = 0
    separators: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise UnknownNameError.of("kind of langchain", self.kind, _KINDS)
        fits = whole_numbers(self.characters, self.overlap) and self.characters >= 1
        if not fits or not 0 <= self.overlap < self.characters:
            raise UsageError(
                "langchain: characters must be a whole number above 0 and overlap from 0 and smaller;"
                f" found {self.characters!r}, {self.overlap!r}"
            )
        if self.kind == "character" and len(self.separators) > 1:
            raise UsageError("langchain: the kind character takes one separator")

    def pieces(self, document: str) -> list[str]:
        """The texts of one document's chunks.

        Raises:
            UnavailableError: The package is not installed.
        """
        try:
            package: Any = import_module("langchain_text_splitters")
        except ImportError:
            raise UnavailableError("langchain-text-splitters is not installed; install assay[chunkers]") from None
        given: dict[str, Any] = {}
        if self.separators:
            given = (
                {"separators": list(self.separators)} if self.kind == "recursive" else {"separator": self.separators[0]}
            )
        make = getattr(package, _KINDS[self.kind])
        splitter = make(chunk_size=self.characters, chunk_overlap=self.overlap, **given)
        # It logs a warning for every chunk that is longer than asked; how long chunks are is in the house's report.
        logger = logging.getLogger("langchain_text_splitters.base")
        level = logger.level
        logger.setLevel(logging.ERROR)
        try:
            return list(splitter.split_text(document))
        finally:
            logger.setLevel(level)
