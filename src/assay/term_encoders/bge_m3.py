"""BGE-M3: the sparse weights of BAAI/bge-m3 and of models built like it.

A linear layer (`sparse_linear.pt`, one number a token) over the last states of the tokens, what is below 0 set to 0; a
token that stands several times has its highest weight; the tokens that begin and end a text, fill it up or stand for
unknown characters have none (Chen et al., "BGE M3-Embedding", 2024, section 3.2, and the model's own toolkit).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from assay.encoder import Prepared, Reading, Weights, first_line, needed, prepared_by
from assay.errors import FormatError
from assay.network import quiet_loading, refuse_code, refuse_no_tokenizer, torch_device
from assay.terms import Terms

HEAD = "sparse_linear.pt"


@dataclass(frozen=True)
class BgeM3:
    """Opens models with a head of sparse weights, as BGE-M3 has."""

    name: ClassVar[str] = "bge_m3"

    def opens(self, folder: Path) -> bool:
        """Whether the head is there."""
        return (folder / HEAD).is_file() and (folder / "config.json").is_file()

    def opened(self, weights: Weights, reading: Reading, *, device: str) -> BgeM3Model:
        """The model on a device.

        Raises:
            UnavailableError: The library or the device is missing.
            FileError: There is no tokenizer beside the weights.
            FormatError: The files are no such model.
        """
        return BgeM3Model(weights, reading, device)


class BgeM3Model:
    """A model of tokens' states with a head of one number a token, computed by PyTorch."""

    def __init__(self, weights: Weights, reading: Reading, device: str) -> None:
        torch, library = needed("torch", "dense"), needed("transformers", "dense")
        kind = {"float16": torch.float16, "bfloat16": torch.bfloat16}.get(reading.precision, torch.float32)
        place, folder = torch_device(device), str(weights.folder)
        refuse_code(weights)
        refuse_no_tokenizer(weights)
        with quiet_loading():
            try:
                self._tokenizer: Any = library.AutoTokenizer.from_pretrained(folder, local_files_only=True)
                model: Any = library.AutoModel.from_pretrained(folder, local_files_only=True, dtype=kind)
                head = torch.load(weights.folder / HEAD, map_location=place, weights_only=True)
                self._weight, self._bias = head["weight"].to(place, kind), head["bias"].to(place, kind)
            except Exception as err:  # noqa: BLE001 - unpickling and loading raise errors of many kinds
                said = first_line(err)
                raise FormatError(f"{weights.model}: {folder} is no model with sparse weights ({said})") from None
        self._model = model.to(place).eval()
        if tuple(self._weight.shape) != (1, int(model.config.hidden_size)):
            raise FormatError(
                f"{weights.model}: {HEAD} has a weight of shape {tuple(self._weight.shape)} over states of"
                f" {model.config.hidden_size} numbers; (1, {model.config.hidden_size}) is due"
            )
        told = self._tokenizer
        special = (told.cls_token_id, told.eos_token_id, told.sep_token_id, told.pad_token_id, told.unk_token_id)
        self._special = np.unique([own for own in special if own is not None])
        room = int(getattr(model.config, "max_position_embeddings", told.model_max_length))
        self._longest = int(reading.longest or min(told.model_max_length, room))
        self.terms = int(model.config.vocab_size)
        self.record: Mapping[str, str] = {
            "model": weights.model,
            "identity": weights.identity,
            "encoder": f"transformers {library.__version__}, torch {torch.__version__}",
            "device": str(model.device),
            "longest": str(self._longest),
            "precision": reading.precision,
        }

    def prepared(self, texts: Sequence[str]) -> Prepared:
        """Tokens of each text, cut at the longest that is read."""
        return prepared_by(self._tokenizer, texts, longest=self._longest)

    def weights(self, prepared: Prepared, rows: Sequence[int], *, queries: bool) -> list[Terms]:  # noqa: ARG002
        """The terms of some of the texts: token ids."""
        import torch

        ids = [prepared.items[row] for row in rows]
        batch = self._tokenizer.pad({"input_ids": [list(own) for own in ids]}, return_tensors="pt")
        batch = {name: value.to(self._model.device) for name, value in batch.items()}
        with torch.inference_mode():
            states = self._model(**batch).last_hidden_state
            given = torch.relu(states @ self._weight[0] + self._bias[0]).float().cpu().numpy()
        mask = batch["attention_mask"].cpu().numpy() > 0
        return [self._highest(np.asarray(own), given[row][mask[row]]) for row, own in enumerate(ids)]

    def _highest(self, ids: Any, weight: Any) -> Terms:
        kept = ~np.isin(ids, self._special) & (weight != 0)
        term, place = np.unique(ids[kept], return_inverse=True)
        highest = np.full(len(term), -np.inf, np.float32)
        np.maximum.at(highest, place.reshape(-1), weight[kept])
        return term.astype(np.int32), highest
