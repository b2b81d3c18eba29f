"""An encoder for tests that needs NumPy alone: letters of a text in pairs, counted, at length 1.

With `uneven` a vector also shows, in its last digits, how many texts stood in its batch, as real models do; so equal
bytes prove equal batches.
"""

from __future__ import annotations

import itertools
import os
import signal
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np

from assay import catalog
from assay.embeddings import Recipe
from assay.encoder import Opening, Prepared, Reading, Vectors, Weights
from assay.errors import UnavailableError

ASKED: list[str] = []
"""Every text that was encoded in this process."""


@dataclass(frozen=True)
class Letters:
    name: ClassVar[str] = "letters"

    dimensions: int = 24
    uneven: bool = False
    broken: str = ""
    pause: float = field(default=0.0, metadata={"recipe": False})

    def opens(self, folder: Path) -> bool:
        return (folder / "letters.txt").is_file()

    def opened(self, weights: Weights, reading: Reading, *, device: str) -> LettersModel:
        return LettersModel(self, weights, reading, device)


class Dying(Letters):
    """Its process is killed as soon as it opens a model."""

    def opened(self, weights: Weights, reading: Reading, *, device: str) -> LettersModel:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


class Absent(Letters):
    """Its device is not there."""

    def opened(self, weights: Weights, reading: Reading, *, device: str) -> LettersModel:
        raise UnavailableError("there is no device 'cuda' on this machine")


class LettersModel:
    def __init__(self, encoder: Letters, weights: Weights, reading: Reading, device: str) -> None:
        self.encoder, self.longest = encoder, reading.longest or 50
        # A model for queries may have another number of dimensions: it is the number in its file.
        place = weights.folder / "letters.txt"
        said = place.read_text("ascii").strip() if place.is_file() else ""
        self.dimensions = int(said) if said.isdigit() else encoder.dimensions
        self.record: Mapping[str, str] = {
            "model": weights.model,
            "identity": weights.identity,
            "encoder": "letters 1",
            "device": device or "cpu",
            "longest": str(self.longest),
        }

    def prepared(self, texts: Sequence[str]) -> Prepared:
        words = [text.split() for text in texts]
        whole = np.array([len(own) for own in words], np.int64)
        return Prepared(np.minimum(whole, self.longest), whole > self.longest, [own[: self.longest] for own in words])

    def encode(self, prepared: Prepared, rows: Sequence[int]) -> Vectors:
        time.sleep(self.encoder.pause)
        found = np.zeros((len(rows), self.dimensions), np.float32)
        for at, row in enumerate(rows):
            text = " ".join(prepared.items[row])
            ASKED.append(text)
            for pair in itertools.pairwise(text):
                found[at, zlib.crc32("".join(pair).lower().encode()) % self.dimensions] += 1
            if self.encoder.broken and self.encoder.broken in text:
                found[at, 0] = np.nan
        norm = np.sqrt((found.astype(np.float64) ** 2).sum(axis=1, keepdims=True))
        found = (found / np.maximum(norm, 1e-9)).astype(np.float32)
        return found * np.float32(1 + 1e-6 * len(rows)) if self.encoder.uneven else found


def recipe(encoder: Letters | None = None, *, tokens: int = 64, longest: int = 0, **rest: Any) -> Recipe:
    """A recipe with this encoder; `rest` goes to the weights or is the prompt."""
    prompt = rest.pop("prompt", "")
    weights = Weights(**{"model": "tests/letters", "folder": Path("nowhere"), "identity": "one", **rest})
    return Recipe(Opening(encoder or Letters(), weights, Reading(longest=longest)), prompt, tokens)


@contextmanager
def registered(*classes: type[Any]) -> Iterator[None]:
    """A block in which the catalogue knows this encoder, and others where given, as of a package of somebody else."""
    with patch.dict(catalog.known("encoder"), {cls.name: cls for cls in (Letters, *classes)}):
        yield


def model_folder(place: Path, dimensions: int = 24) -> Path:
    """A folder that this encoder opens as a model."""
    place.mkdir(parents=True, exist_ok=True)
    (place / "letters.txt").write_text(f"{dimensions}\n", encoding="ascii")
    return place
