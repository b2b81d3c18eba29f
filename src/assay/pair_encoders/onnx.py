"""ONNX: cross-encoders as ONNX graphs, computed by ONNX Runtime, without PyTorch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from assay.encoder import Prepared, Reading, Weights, needed
from assay.encoders.onnx import LONGEST, PLACES, computed, session
from assay.errors import FileError, FormatError, UsageError
from assay.pairs import Pair


@dataclass(frozen=True)
class OnnxPairs:
    """Opens a cross-encoder in ONNX form, which gives one number a pair, with its tokenizer.

    Args:
        file: The model below its folder; by default `model.onnx` or `onnx/model.onnx`.
        threads: Threads of one process; 0 for as many as OMP_NUM_THREADS says, or else as there are cores. No part of
            the recipe.
    """

    name: ClassVar[str] = "onnx"

    file: str = ""
    threads: int = field(default=0, metadata={"recipe": False})

    @property
    def exports(self) -> tuple[str, ...]:
        """The model's files on a hub."""
        return (f"{self.file}*",) if self.file else tuple(f"{place}*" for place in PLACES)

    def opens(self, folder: Path) -> bool:
        """Whether the folder has a model in ONNX form."""
        return any((folder / place).is_file() for place in PLACES)

    def opened(self, weights: Weights, reading: Reading, *, device: str) -> OnnxPairModel:
        """The model, ready to score.

        Raises:
            UnavailableError: ONNX Runtime or the device is missing.
            FileError: There is no model file or no tokenizer.
            FormatError: The file is no ONNX model, or asks for more than tokens.
            UsageError: A precision is asked for.
        """
        places = (self.file,) if self.file else PLACES
        file = next((weights.folder / place for place in places if (weights.folder / place).is_file()), None)
        if file is None or not (weights.folder / "tokenizer.json").is_file():
            missing = " or ".join(places) if file is None else "tokenizer.json"
            raise FileError(f"{weights.model}: there is no {missing} in {weights.folder}")
        if reading.precision != "float32":
            raise UsageError("an ONNX model has its precision in its file; leave precision out")
        return OnnxPairModel(session(file, weights, self.threads, device), weights, reading)


class OnnxPairModel:
    """A cross-encoder, computed by ONNX Runtime."""

    def __init__(self, opened: Any, weights: Weights, reading: Reading) -> None:
        tokenizers = needed("tokenizers", "dense")
        try:
            self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(weights.folder / "tokenizer.json"))
        except Exception as err:  # noqa: BLE001 - the library raises plain exceptions
            raise FormatError(f"{weights.model}: tokenizer.json cannot be read ({str(err)[:150]})") from None
        self._session = opened
        self._inputs = [one.name for one in opened.get_inputs()]
        self._output = str(opened.get_outputs()[0].name)
        unknown = sorted(set(self._inputs) - {"input_ids", "attention_mask", "token_type_ids"})
        if unknown:
            raise FormatError(f"{weights.model}: the ONNX model takes {', '.join(unknown)}, which tokens do not give")
        self._longest = reading.longest or _longest_of(weights.folder)
        self._pad = (self._tokenizer.padding or {}).get("pad_id", _padding_id(self._tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self.record: Mapping[str, str] = {
            "model": weights.model,
            "identity": weights.identity,
            "encoder": f"onnxruntime {needed('onnxruntime', 'dense').__version__}",
            "device": opened.get_providers()[0],
            "longest": str(self._longest),
        }

    def prepared(self, pairs: Sequence[Pair]) -> Prepared:
        """Tokens of each pair, cut at the longest that is read."""
        read = self._tokenizer.encode_batch(list(pairs))
        whole = np.array([len(own.ids) for own in read], np.int64)
        cut: npt.NDArray[np.bool_] = whole > self._longest
        rows = np.flatnonzero(cut).tolist()
        if rows:
            self._tokenizer.enable_truncation(self._longest, strategy="longest_first")
            try:
                shorter = self._tokenizer.encode_batch([pairs[row] for row in rows])
            finally:
                self._tokenizer.no_truncation()
            for row, own in zip(rows, shorter, strict=True):
                read[row] = own
        return Prepared(np.minimum(whole, self._longest), cut, read)

    def scores(self, prepared: Prepared, rows: Sequence[int]) -> npt.NDArray[np.float32]:
        """The scores of some of the pairs."""
        read = [prepared.items[row] for row in rows]
        width = max(len(own.ids) for own in read)
        feed = {
            "input_ids": np.full((len(read), width), self._pad, np.int64),
            "attention_mask": np.zeros((len(read), width), np.int64),
            "token_type_ids": np.zeros((len(read), width), np.int64),
        }
        for row, own in enumerate(read):
            feed["input_ids"][row, : len(own.ids)] = own.ids
            feed["attention_mask"][row, : len(own.ids)] = 1
            feed["token_type_ids"][row, : len(own.ids)] = own.type_ids
        given = {name: feed[name] for name in self._inputs}
        out = computed(self._session, self._output, given, model=self.record["model"])
        return out[:, 0] if out.ndim == 2 and out.shape[1] == 1 else out


def _padding_id(tokenizer: Any) -> int:
    found = (tokenizer.token_to_id(token) for token in ("[PAD]", "<pad>"))
    return next((own for own in found if own is not None), 0)


def _longest_of(folder: Path) -> int:
    """How many tokens a model reads, as its files say; 512 where none does."""
    try:
        said = json.loads((folder / "tokenizer_config.json").read_text("utf-8")).get("model_max_length", LONGEST)
    except (OSError, ValueError, AttributeError):
        return LONGEST
    return int(said) if isinstance(said, int | float) and 1 < said < 1 << 24 else LONGEST
