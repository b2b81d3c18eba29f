"""Adapter to llama-index's sentence and token splitters, whose offsets were withdrawn as often wrong."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

from assay.chunker import whole_numbers
from assay.errors import UnavailableError, UnknownNameError, UsageError

_KINDS = {"sentence": "SentenceSplitter", "token": "TokenTextSplitter"}
_SENTENCE = re.compile(r".+?(?:[.!?…。！？।؟]+[\"'”’»)\]]*\s+|[。！？]|\Z)", re.DOTALL)


@dataclass(frozen=True)
class LlamaIndex:
    """The chunks of a splitter of llama-index-core; their places are found and proven by the house.

    The package counts in words that blanks separate here (its own counter loads a vocabulary from the net), and gets
    its sentences from stops (its own loads a model).

    Args:
        kind: `sentence` (SentenceSplitter) or `token` (TokenTextSplitter).
        words: The size that chunks should have at most.
        overlap: How many words the next chunk may repeat.

    Raises:
        UnknownNameError: There is no such kind.
        UsageError: A size or overlap out of range.

    Example:
        >>> LlamaIndex(words=200).kind
        'sentence'
    """

    name: ClassVar[str] = "llama_index"

    kind: str = "sentence"
    words: int = 200
    overlap: int = 0

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise UnknownNameError.of("kind of llama_index", self.kind, _KINDS)
        if not whole_numbers(self.words, self.overlap) or self.words < 1 or not 0 <= self.overlap < self.words:
            raise UsageError(
                "llama_index: words must be a whole number above 0 and overlap from 0 and smaller;"
                f" found {self.words!r}, {self.overlap!r}"
            )

    def pieces(self, document: str) -> list[str]:
        """The texts of one document's chunks.

        Raises:
            UnavailableError: The package is not installed.
        """
        try:
            package: Any = import_module("llama_index.core.node_parser")
        except ImportError:
            raise UnavailableError("llama-index-core is not installed; install assay[chunkers]") from None
        rest = {"chunking_tokenizer_fn": _SENTENCE.findall} if self.kind == "sentence" else {}
        make = getattr(package, _KINDS[self.kind])
        return list(
            make(chunk_size=self.words, chunk_overlap=self.overlap, tokenizer=str.split, **rest).split_text(document)
        )
