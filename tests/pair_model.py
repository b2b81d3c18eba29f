"""Small models that need NumPy alone: one that scores pairs, and one that weighs terms; real files, nothing random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from assay.encoder import Prepared, Reading, Weights
from assay.pairs import Pair
from assay.terms import Terms

LONGEST = 24


def pair_model_folder(folder: Path) -> Path:
    """A folder with the files of both models."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pairs.txt").write_text("words in common\n")
    (folder / "terms.txt").write_text("words\n")
    return folder


@dataclass(frozen=True)
class WordPairs:
    """Opens a folder with `pairs.txt`."""

    name: ClassVar[str] = "word_pairs"

    def opens(self, folder: Path) -> bool:
        return (folder / "pairs.txt").is_file()

    def opened(self, weights: Weights, reading: Reading, *, device: str) -> WordPairModel:
        return WordPairModel(reading.longest or LONGEST)


class WordPairModel:
    """The share of a passage's words that the query has, both cut as pairs are."""

    record: Mapping[str, str] = {"encoder": "word_pairs"}

    def __init__(self, longest: int) -> None:
        self.longest = longest

    def prepared(self, pairs: Sequence[Pair]) -> Prepared:
        words = [(q.lower().split(), p.lower().split()) for q, p in pairs]
        lengths = np.array([len(q) + len(p) for q, p in words], np.int64)
        kept = [(q, p[: max(0, self.longest - len(q))]) for q, p in words]
        return Prepared(np.minimum(lengths, self.longest), lengths > self.longest, kept)

    def scores(self, prepared: Prepared, rows: Sequence[int]) -> Any:
        asked = [prepared.items[row] for row in rows]
        return np.array([len(set(q) & set(p)) / (1 + len(p)) for q, p in asked], np.float32)


@dataclass(frozen=True)
class WordTerms:
    """Opens a folder with `terms.txt`."""

    name: ClassVar[str] = "word_terms"

    def opens(self, folder: Path) -> bool:
        return (folder / "terms.txt").is_file()

    def opened(self, weights: Weights, reading: Reading, *, device: str) -> WordTermModel:
        return WordTermModel(reading.longest or LONGEST)


class WordTermModel:
    """Words as terms, the root of how often each stands as its weight."""

    terms = 1 << 20
    record: Mapping[str, str] = {"encoder": "word_terms"}

    def __init__(self, longest: int) -> None:
        self.longest = longest

    def prepared(self, texts: Sequence[str]) -> Prepared:
        words = [text.lower().split() for text in texts]
        lengths = np.array([len(own) for own in words], np.int64)
        return Prepared(np.minimum(lengths, self.longest), lengths > self.longest, [w[: self.longest] for w in words])

    def weights(self, prepared: Prepared, rows: Sequence[int], *, queries: bool) -> list[Terms]:
        return [self._counted(prepared.items[row]) for row in rows]

    def _counted(self, words: Sequence[str]) -> Terms:
        codes = [int.from_bytes(blake2b(word.encode(), digest_size=3).digest(), "big") % self.terms for word in words]
        term, count = np.unique(np.array(codes, np.int32), return_counts=True)
        return term, np.sqrt(count).astype(np.float32)
