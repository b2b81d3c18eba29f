"""Sentence Transformers: models of that library, computed with PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from assay.encoder import Counts, Prepared, Reading, TokenVectors, Vectors, Weights, prepared_by, refuse_long
from assay.errors import UsageError
from assay.network import opened_torch


@dataclass(frozen=True)
class SentenceTransformers:
    """Opens any model of Sentence Transformers, and any of Transformers that gives vectors of tokens.

    Args:
        run_code: The model's name again, where its own Python code may be run; empty: no code of a model is run.
    """

    name: ClassVar[str] = "sentence_transformers"

    run_code: str = ""

    def opens(self, folder: Path) -> bool:
        """Whether the folder has a configuration and weights that PyTorch reads."""
        return (folder / "config.json").is_file() or (folder / "modules.json").is_file()

    def opened(self, weights: Weights, reading: Reading, *, device: str) -> SentenceModel:
        """The model on a device.

        Raises:
            UnavailableError: The library or the device is missing.
            UsageError: `run_code` names another model.
        """
        return SentenceModel(opened_torch(weights, reading, device, run_code=self.run_code), weights, reading)


class SentenceModel:
    """A model of tokens' vectors with a pooling, computed by PyTorch."""

    def __init__(self, model: Any, weights: Weights, reading: Reading) -> None:
        import sentence_transformers
        import torch

        self._model = model
        modules = list(model)
        pools = [at for at, module in enumerate(modules) if type(module).__name__ == "Pooling"]
        if len(pools) != 1 or pools[0] != 1:
            names = ", ".join(type(module).__name__ for module in modules)
            raise UsageError(
                f"{weights.model}: a transformer and one pooling are due, this model has {names}; write an encoder of"
                " its own for it"
            )
        self._states, self._after = modules[0], modules[2:]
        said = str(getattr(modules[1], "pooling_mode", "mean"))
        self.pooling = reading.pooling or {"lasttoken": "last"}.get(said, said)
        if self.pooling not in ("cls", "mean", "last"):
            raise UsageError(f"{weights.model}: its pooling {said!r} is not known here; give pooling='mean'")
        tokenizer = model.tokenizer
        tokenizer.padding_side = reading.padding or tokenizer.padding_side
        self._tokenizer = tokenizer
        if not getattr(modules[1], "include_prompt", True):
            raise UsageError(f"{weights.model} leaves prompts out of its pooling; write an encoder of its own for it")
        limit = int(model.max_seq_length or tokenizer.model_max_length)
        self._longest = reading.longest or limit
        room = getattr(getattr(modules[0], "config", None), "max_position_embeddings", None) or limit
        if self._longest > max(limit, int(room)):
            raise UsageError(
                f"{weights.model} reads {max(limit, int(room))} tokens at most, {self._longest} are asked for; give"
                f" longest={limit}"
            )
        normalises = any(type(module).__name__ == "Normalize" for module in self._after)
        self._normalise = normalises if reading.normalise is None else reading.normalise
        self._after = [module for module in self._after if type(module).__name__ != "Normalize"]
        self.dimensions = int(model.get_embedding_dimension())
        self.record: Mapping[str, str] = {
            "model": weights.model,
            "identity": weights.identity,
            "encoder": f"sentence_transformers {sentence_transformers.__version__}, torch {torch.__version__}",
            "device": str(model.device),
            "pooling": self.pooling,
            "padding": str(tokenizer.padding_side),
            "longest": str(self._longest),
            "normalise": str(self._normalise).lower(),
            "precision": reading.precision,
        }

    def prepared(self, texts: Sequence[str]) -> Prepared:
        """Tokens of each text, cut at the longest that is read."""
        return prepared_by(self._tokenizer, texts, longest=self._longest)

    def encode(self, prepared: Prepared, rows: Sequence[int]) -> Vectors:
        """The vectors of some of the texts."""
        import torch

        with torch.inference_mode():
            vectors = self.vectors([prepared.items[row] for row in rows])
        found: Vectors = vectors.float().cpu().numpy()
        return found

    def vectors(self, ids: Sequence[Sequence[int]]) -> Any:
        """The vectors of texts given as tokens: a tensor, through which a fit may reach the weights."""
        states, mask = self._token_states(ids)
        return self._finished(self._pooled(states, mask))

    @property
    def network(self) -> Any:
        """The model as the library holds it."""
        return self._model

    def _token_states(self, ids: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        batch = self._tokenizer.pad({"input_ids": [list(own) for own in ids]}, return_tensors="pt")
        batch = {name: value.to(self._model.device) for name, value in batch.items()}
        out = self._states(dict(batch))
        return out["token_embeddings"], batch["attention_mask"]

    def _pooled(self, states: Any, mask: Any) -> Any:
        import torch

        if self.pooling == "mean":
            # Half precision overflows in sums.
            weight = mask.unsqueeze(-1).float()
            return ((states.float() * weight).sum(1) / weight.sum(1).clamp(min=1)).to(states.dtype)
        first = mask.argmax(1)
        at = first if self.pooling == "cls" else first + mask.sum(1) - 1
        return states[torch.arange(len(states), device=states.device), at]

    def _finished(self, vectors: Any) -> Any:
        import torch

        for module in self._after:
            vectors = module({"sentence_embedding": vectors})["sentence_embedding"]
        return torch.nn.functional.normalize(vectors.float(), dim=1) if self._normalise else vectors

    def room(self) -> int:
        """How many tokens of a text are read."""
        return self._longest - int(self._tokenizer.num_special_tokens_to_add())

    def token_spans(self, text: str) -> tuple[Counts, Counts]:
        """Where the tokens of a text start and end."""
        found = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        spans = np.array(found["offset_mapping"], np.int64).reshape(-1, 2)
        return spans[:, 0], spans[:, 1]

    def tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        """The vectors of each text's tokens."""
        import torch

        read = self._tokenizer(
            list(texts), return_offsets_mapping=True, return_special_tokens_mask=True, truncation=False, verbose=False
        )
        refuse_long(read["input_ids"], self._longest)
        with torch.inference_mode():
            states, mask = self._token_states(read["input_ids"])
        found = []
        for row, own in enumerate(states.float().cpu().numpy()):
            inside = np.flatnonzero(mask[row].cpu().numpy())
            spans = np.array(read["offset_mapping"][row], np.int64)
            found.append(TokenVectors.of(own[inside], spans, read["special_tokens_mask"][row]))
        return found

    def finished(self, vectors: Vectors) -> Vectors:
        """Pooled vectors as the model leaves them: its last layers, and length 1 where it normalises."""
        import torch

        with torch.inference_mode():
            done: Vectors = self._finished(torch.from_numpy(vectors).to(self._model.device)).float().cpu().numpy()
        return done
