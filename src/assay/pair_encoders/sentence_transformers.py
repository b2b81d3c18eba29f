"""Sentence Transformers: cross-encoders of that library, computed with PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from assay.encoder import Prepared, Reading, Weights, needed
from assay.errors import FormatError
from assay.network import opened_torch, refuse_unfitted
from assay.pairs import Pair

UNFITTED = (
    "nothing makes one number of a pair, so it is no re-ranker yet; name a cross-encoder, or fit one from it with"
    " `assay train reranker`"
)


@dataclass(frozen=True)
class SentenceTransformersPairs:
    """Opens cross-encoders of Sentence Transformers: models of Transformers with one number a pair.

    Args:
        run_code: The model's name again, where its own Python code may be run; empty: no code of a model is run.
    """

    name: ClassVar[str] = "sentence_transformers"

    run_code: str = ""

    def opens(self, folder: Path) -> bool:
        """Whether the folder has a configuration and weights that PyTorch reads."""
        weights = (*folder.glob("*.safetensors"), *folder.glob("pytorch_model*.bin"))
        return (folder / "config.json").is_file() and bool(weights)

    def opened(self, weights: Weights, reading: Reading, *, device: str) -> CrossEncoderModel:
        """The model on a device.

        Raises:
            UnavailableError: The library or the device is missing.
            FormatError: The files are no such model, or one with several numbers a pair.
            UsageError: `run_code` names another model.
        """
        return CrossEncoderModel(weights, reading, device, run_code=self.run_code)


class CrossEncoderModel:
    """A cross-encoder, computed by PyTorch."""

    def __init__(self, weights: Weights, reading: Reading, device: str, *, run_code: str) -> None:
        torch, library = needed("torch", "dense"), needed("sentence_transformers", "dense")
        model = opened_torch(
            weights,
            reading,
            device,
            run_code=run_code,
            make=lambda library: library.CrossEncoder,
            what="cross-encoder",
            options={"max_length": reading.longest or None},
        )
        if int(model.num_labels) != 1:
            raise FormatError(f"{weights.model} gives {model.num_labels} numbers a pair; a re-ranker gives one")
        refuse_unfitted(weights, model, use=UNFITTED)
        self._model, self._plain = model, torch.nn.Identity()
        positions = getattr(model.config, "max_position_embeddings", None)
        self._longest = min(int(own) for own in (reading.longest, model.tokenizer.model_max_length, positions) if own)
        self.record: Mapping[str, str] = {
            "model": weights.model,
            "identity": weights.identity,
            "encoder": f"sentence_transformers {library.__version__}, torch {torch.__version__}",
            "device": str(model.device),
            "longest": str(self._longest),
            "precision": reading.precision,
        }

    def prepared(self, pairs: Sequence[Pair]) -> Prepared:
        """Tokens of each pair, counted as they are read."""
        lengths = self._lengths(pairs, truncation=True)
        # Only pairs that fill the model up can have been cut.
        full = np.flatnonzero(lengths >= self._longest)
        cut = np.zeros(len(pairs), np.bool_)
        cut[full] = self._lengths([pairs[row] for row in full.tolist()], truncation=False) > self._longest
        return Prepared(lengths, cut, list(pairs))

    def _lengths(self, pairs: Sequence[Pair], *, truncation: bool) -> npt.NDArray[np.int64]:
        if not pairs:
            return np.zeros(0, np.int64)
        limit = {"truncation": True, "max_length": self._longest} if truncation else {"truncation": False}
        read = self._model.tokenizer([q for q, _ in pairs], [p for _, p in pairs], verbose=False, **limit)
        return np.array([len(ids) for ids in read["input_ids"]], np.int64)

    def scores(self, prepared: Prepared, rows: Sequence[int]) -> npt.NDArray[np.float32]:
        """The scores of some of the pairs."""
        asked = [prepared.items[row] for row in rows]
        found: npt.NDArray[np.float32] = self._model.predict(
            asked, batch_size=len(asked), activation_fn=self._plain, show_progress_bar=False
        )
        return found.astype(np.float32, copy=False)
