"""Sentence Transformers: sparse encoders of that library, such as SPLADE, computed with PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from assay.encoder import Prepared, Reading, Weights, needed, prepared_by, read_json
from assay.errors import FormatError
from assay.network import opened_torch
from assay.terms import Terms


@dataclass(frozen=True)
class SentenceTransformersTerms:
    """Opens sparse encoders of Sentence Transformers, and masked language models, which it reads as SPLADE.

    Args:
        run_code: The model's name again, where its own Python code may be run; empty: no code of a model is run.
    """

    name: ClassVar[str] = "sentence_transformers"

    run_code: str = ""

    def opens(self, folder: Path) -> bool:
        """Whether the folder has a configuration and weights that PyTorch reads."""
        return (folder / "config.json").is_file() or (folder / "modules.json").is_file()

    def opened(self, weights: Weights, reading: Reading, *, device: str) -> SparseModel:
        """The model on a device.

        Raises:
            UnavailableError: The library or the device is missing.
            FormatError: The files are no such model.
            UsageError: `run_code` names another model.
        """
        return SparseModel(weights, reading, device, run_code=self.run_code)


class SparseModel:
    """A sparse encoder, computed by PyTorch."""

    def __init__(self, weights: Weights, reading: Reading, device: str, *, run_code: str) -> None:
        torch, library = needed("torch", "dense"), needed("sentence_transformers", "dense")
        _refuse_untaught(weights)
        model = opened_torch(
            weights,
            reading,
            device,
            run_code=run_code,
            make=lambda library: library.SparseEncoder,
            what="sparse encoder",
        )
        self._model, self._tokenizer = model, model.tokenizer
        self._longest = int(reading.longest or model.max_seq_length or self._tokenizer.model_max_length)
        model.max_seq_length = self._longest
        self.terms = int(model.get_embedding_dimension() or len(self._tokenizer))
        self.record: Mapping[str, str] = {
            "model": weights.model,
            "identity": weights.identity,
            "encoder": f"sentence_transformers {library.__version__}, torch {torch.__version__}",
            "device": str(model.device),
            "longest": str(self._longest),
            "precision": reading.precision,
        }

    def prepared(self, texts: Sequence[str]) -> Prepared:
        """Tokens of each text, counted as they are read."""
        counted = prepared_by(self._tokenizer, texts, longest=self._longest)
        return Prepared(counted.lengths, counted.cut, list(texts))

    def weights(self, prepared: Prepared, rows: Sequence[int], *, queries: bool) -> list[Terms]:
        """The terms of some of the texts: places of the vocabulary."""
        asked = [prepared.items[row] for row in rows]
        encode = self._model.encode_query if queries else self._model.encode_document
        found = encode(asked, batch_size=len(asked), show_progress_bar=False, convert_to_sparse_tensor=False)
        lists = []
        for own in found.float().cpu().numpy():
            term = np.flatnonzero(own)
            lists.append((term.astype(np.int32), own[term]))
        return lists


def _refuse_untaught(weights: Weights) -> None:
    """Raises FormatError where nothing in the files weighs terms; the library would fill such a part in by chance."""
    told = read_json(weights.folder / "config.json")
    named = told.get("architectures") if isinstance(told, dict) else None
    if not (weights.folder / "modules.json").is_file() and not any("MaskedLM" in str(own) for own in named or ()):
        raise FormatError(
            f"{weights.model} is no learned sparse model: no masked language model, and no modules.json; name one such"
            " as SPLADE"
        )
