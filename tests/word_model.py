"""A small model of tokens' vectors that needs NumPy alone: real files, an encoder of the catalogue, nothing random.

Tokens are up to four characters of a word; each has a vector of its own, and what the model gives is that vector and a
quarter of the mean of all that are read with it, so that vectors of tokens depend on what stands around them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from assay.encoder import Counts, Prepared, Reading, TokenVectors, Vectors, Weights, refuse_long

WIDTH = 16
READ: Counter[str] = Counter()
"""How often each text was read token by token."""


def word_model_folder(folder: Path, *, longest: int = 24, pooling: str = "mean") -> Path:
    """A folder with the model's files."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "words.json").write_text(json.dumps({"longest": longest, "pooling": pooling}))
    return folder


@dataclass(frozen=True)
class WordVectors:
    """Opens a folder with `words.json`."""

    name: ClassVar[str] = "word_vectors"

    def opens(self, folder: Path) -> bool:
        return (folder / "words.json").is_file()

    def opened(self, weights: Weights, reading: Reading, *, device: str) -> WordModel:
        said = json.loads((weights.folder / "words.json").read_text())
        return WordModel(reading.longest or said["longest"], reading.pooling or said["pooling"])


class WordModel:
    """Vectors of pieces of words."""

    dimensions = WIDTH
    record: Mapping[str, str] = {"encoder": "word_vectors"}

    def __init__(self, longest: int, pooling: str = "mean") -> None:
        self.longest, self.pooling = longest, pooling

    def token_spans(self, text: str) -> tuple[Counts, Counts]:
        spans = [found.span() for found in re.finditer(r"\S{1,4}", text)]
        made = np.array(spans, np.int64).reshape(-1, 2)
        return made[:, 0], made[:, 1]

    def room(self) -> int:
        return self.longest - 2

    def states(self, text: str, most: int | None = None) -> Vectors:
        """The vectors of all tokens that are read, with one in front and one behind."""
        pieces = ["<", *(text[a:b] for a, b in zip(*self.token_spans(text)))][: None if most is None else most - 1]
        own = np.stack([vector_of(piece) for piece in [*pieces, ">"]])
        return (own + own.mean(axis=0) / 4).astype(np.float32)

    def prepared(self, texts: Sequence[str]) -> Prepared:
        whole = np.array([len(self.token_spans(text)[0]) + 2 for text in texts], np.int64)
        return Prepared(np.minimum(whole, self.longest), whole > self.longest, list(texts))

    def encode(self, prepared: Prepared, rows: Sequence[int]) -> Vectors:
        states = [self.states(prepared.items[row], self.longest) for row in rows]
        pooled = [own.mean(axis=0) if self.pooling == "mean" else own[0] for own in states]
        return self.finished(np.stack(pooled))

    def tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        READ.update(texts)
        found: list[TokenVectors] = []
        for text in texts:
            spans = np.stack(self.token_spans(text), axis=1)
            refuse_long([range(len(spans) + 2)], self.longest)
            padded: Any = np.concatenate([[[0, 0]], spans, [[0, 0]]])
            found.append(TokenVectors.of(self.states(text), padded, [1, *[0] * len(spans), 1]))
        return found

    def finished(self, vectors: Vectors) -> Vectors:
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def vector_of(piece: str) -> Vectors:
    """Numbers between -1 and 1 that depend on the piece alone."""
    words = np.frombuffer(blake2b(piece.encode(), digest_size=4 * WIDTH).digest(), "<u4")
    return (words / 2**31 - 1).astype(np.float32)
