"""ONNX Runtime: models exported to ONNX, float or int8, without PyTorch."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from assay.encoder import POOLINGS, Counts, Prepared, Reading, TokenVectors, Vectors, Weights, needed, refuse_long
from assay.errors import DataError, FileError, FormatError, UnavailableError, UsageError
from assay.weights import own_reading, weights_of

PLACES = ("model.onnx", "onnx/model.onnx")
LONGEST = 512
"""Tokens read where neither the call nor the model's files say."""


@dataclass(frozen=True)
class Onnx:
    """Opens a model in ONNX form with its tokenizer.

    Args:
        file: The model below its folder; by default `model.onnx` or `onnx/model.onnx`.
        tokenizer: Where `tokenizer.json` lies, as a model is named; by default beside the model.
        threads: Threads of one process; 0 for as many as OMP_NUM_THREADS says, or else as there are cores. No part of
            the recipe.
    """

    name: ClassVar[str] = "onnx"

    file: str = ""
    tokenizer: str = ""
    threads: int = field(default=0, metadata={"recipe": False})

    @property
    def exports(self) -> tuple[str, ...]:
        """The model's files on a hub."""
        return (f"{self.file}*",) if self.file else tuple(f"{place}*" for place in PLACES)

    def opens(self, folder: Path) -> bool:
        """Whether the folder has a model in ONNX form and no other."""
        others = (*folder.glob("*.safetensors"), *folder.glob("pytorch_model*.bin"))
        return not others and any((folder / place).is_file() for place in PLACES)

    def pinned(self, weights: Weights) -> Weights:
        """The weights with an identity that covers a tokenizer from elsewhere."""
        if not self.tokenizer:
            return weights
        digest = sha256(_tokenizer_at(weights, weights_of(self.tokenizer).folder).read_bytes()).hexdigest()
        return replace(weights, identity=f"{weights.identity}, tokenizer {digest}")

    def opened(self, weights: Weights, reading: Reading, *, device: str) -> OnnxModel:
        """The model, ready to encode.

        Raises:
            UnavailableError: ONNX Runtime or the device is missing.
            FileError: There is no model file or no tokenizer.
            FormatError: The file is no ONNX model, or gives nothing that can be pooled.
        """
        places = (self.file,) if self.file else PLACES
        file = next((weights.folder / place for place in places if (weights.folder / place).is_file()), None)
        if file is None:
            raise FileError(f"{weights.model}: there is no {' or '.join(places)} in {weights.folder}")
        folder = weights_of(self.tokenizer).folder if self.tokenizer else weights.folder
        tokenizer = _tokenizer_at(weights, folder)
        if reading.precision != "float32":
            raise UsageError("an ONNX model has its precision in its file; leave precision out")
        own = own_reading(weights.folder)
        given = Reading(
            reading.pooling or own.pooling,
            reading.padding or own.padding,
            reading.longest or own.longest or LONGEST,
            own.normalise if reading.normalise is None else reading.normalise,
        )
        return OnnxModel(session(file, weights, self.threads, device), tokenizer, weights, given)


def _tokenizer_at(weights: Weights, folder: Path) -> Path:
    if not (folder / "tokenizer.json").is_file():
        raise FileError(
            f"{weights.model}: there is no tokenizer.json in {folder}; name a model that has it, as in"
            " encoder=\"onnx(tokenizer='package:NAME')\""
        )
    return folder / "tokenizer.json"


def session(file: Path, weights: Weights, threads: int, device: str) -> Any:
    """An ONNX model on a device, ready to be run.

    Raises:
        UnavailableError: ONNX Runtime or the device is missing.
        FormatError: The file is no ONNX model.
    """
    runtime = needed("onnxruntime", "dense")
    options = runtime.SessionOptions()
    # The runtime itself does not heed it, and processes beside each other would each take all cores.
    said = os.environ.get("OMP_NUM_THREADS", "")
    options.intra_op_num_threads = threads or (int(said) if said.isdigit() else 0)
    options.log_severity_level = 3
    wanted = {"": "CPUExecutionProvider", "cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
    kind, _, number = device.partition(":")
    provider = wanted.get(kind)
    if provider not in runtime.get_available_providers() or (number and not number.isdigit()):
        raise UnavailableError(f"ONNX Runtime has no device {device!r} here; leave it out, or give device='cpu'")
    try:
        place = (provider, {"device_id": number}) if number and kind == "cuda" else provider
        return runtime.InferenceSession(str(file), options, providers=[place])
    except Exception as err:  # noqa: BLE001 - the runtime's own errors share no base class
        raise FormatError(f"{weights.model}: {file} is no ONNX model that can be read ({str(err)[:150]})") from None


def computed(session: Any, output: str, given: Mapping[str, npt.NDArray[np.int64]], *, model: str) -> Vectors:
    """One output of an ONNX model for token ids, float32.

    Raises:
        DataError: The model does not compute them.
    """
    try:
        [found] = session.run([output], given)
    except Exception as err:  # noqa: BLE001 - the runtime's own errors share no base class
        width = next(iter(given.values())).shape[1]
        raise DataError(
            f"{model}: ONNX Runtime cannot compute texts of {width} tokens ({str(err)[:150]}); the model may read"
            " fewer: give longest"
        ) from None
    return np.asarray(found, np.float32)


class OnnxModel:
    """A model in ONNX form, pooled and normalised here."""

    def __init__(self, session: Any, tokenizer: Path, weights: Weights, reading: Reading) -> None:
        tokenizers = needed("tokenizers", "dense")
        self._session, self._model = session, weights.model
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer))
        except Exception as err:  # noqa: BLE001 - the library raises plain exceptions
            raise FormatError(f"{weights.model}: {tokenizer} cannot be read ({str(err)[:150]})") from None
        known = (self._tokenizer.token_to_id(token) for token in ("[PAD]", "<pad>"))
        padding = self._tokenizer.padding or {}
        self._pad = int(padding.get("pad_id", next((own for own in known if own is not None), 0)))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._inputs = {one.name for one in session.get_inputs()}
        outputs = {one.name: len(one.shape) for one in session.get_outputs()}
        self._output = next((name for name, axes in outputs.items() if axes == 3), "")
        whole = next((name for name, axes in outputs.items() if axes == 2), "")
        self._pooled = not self._output
        self._output = self._output or whole
        unknown = self._inputs - {"input_ids", "attention_mask", "token_type_ids"}
        if not self._output or unknown or "input_ids" not in self._inputs:
            raise FormatError(
                f"{weights.model}: the ONNX model takes {', '.join(sorted(self._inputs))} and gives"
                f" {', '.join(outputs)}; token ids in and vectors of tokens or texts out are due"
            )
        if not self._pooled and reading.pooling not in POOLINGS:
            raise UsageError(
                f"{weights.model} gives vectors of tokens, and its files do not say which of {', '.join(POOLINGS)}"
                " makes one of them; give pooling='mean' if that is how it was trained"
            )
        self.pooling = reading.pooling
        self._longest = reading.longest
        self._normalise = bool(reading.normalise)
        self._left = reading.padding == "left"
        self.dimensions = int(self._run([self._tokenizer.encode("a").ids]).shape[-1])
        self.record: Mapping[str, str] = {
            "model": weights.model,
            "identity": weights.identity,
            "encoder": f"onnxruntime {needed('onnxruntime', 'dense').__version__}",
            "device": session.get_providers()[0],
            "pooling": "the model's own" if self._pooled else self.pooling,
            "padding": "left" if self._left else "right",
            "longest": str(self._longest),
            "normalise": str(self._normalise).lower(),
        }

    def prepared(self, texts: Sequence[str]) -> Prepared:
        """Tokens of each text, cut at the longest that is read; the tokens that the model adds stay."""
        read = self._tokenizer.encode_batch(list(texts))
        whole = np.array([len(one.ids) for one in read], np.int64)
        cut: npt.NDArray[np.bool_] = whole > self._longest
        items = [one.ids for one in read]
        if cut.any():
            rows = np.flatnonzero(cut).tolist()
            self._tokenizer.enable_truncation(self._longest)
            try:
                shorter = self._tokenizer.encode_batch([texts[row] for row in rows])
            finally:
                self._tokenizer.no_truncation()
            for row, one in zip(rows, shorter, strict=True):
                items[row] = one.ids
        return Prepared(np.minimum(whole, self._longest), cut, items)

    def encode(self, prepared: Prepared, rows: Sequence[int]) -> Vectors:
        """The vectors of some of the texts."""
        ids = [prepared.items[row] for row in rows]
        found = self._run(ids)
        if not self._pooled:
            found = self._pooled_states(found, np.array([len(own) for own in ids]))
        return self.finished(found)

    def finished(self, vectors: Vectors) -> Vectors:
        """Pooled vectors, brought to length 1 where the model normalises."""
        if self._normalise:
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return np.ascontiguousarray(vectors, np.float32)

    def _run(self, ids: Sequence[Sequence[int]]) -> Vectors:
        """What the model gives for token ids, filled up to the longest of them."""
        width = max((len(own) for own in ids), default=0)
        filled = np.full((len(ids), width), self._pad, np.int64)
        mask = np.zeros((len(ids), width), np.int64)
        for row, own in enumerate(ids):
            at = slice(width - len(own), width) if self._left else slice(0, len(own))
            filled[row, at], mask[row, at] = own, 1
        given = {"input_ids": filled, "attention_mask": mask, "token_type_ids": np.zeros_like(filled)}
        return computed(self._session, self._output, {name: given[name] for name in self._inputs}, model=self._model)

    def _pooled_states(self, states: Vectors, lengths: Counts) -> Vectors:
        width = states.shape[1]
        first = width - lengths if self._left else np.zeros(len(lengths), np.int64)
        if self.pooling == "mean":
            place = np.arange(width)
            inside = (place >= first[:, None]) & (place < (first + lengths)[:, None])
            sums = np.einsum("ijk,ij->ik", states, inside.astype(np.float32))
            return np.asarray(sums / np.maximum(lengths, 1)[:, None].astype(np.float32), np.float32)
        at = first if self.pooling == "cls" else first + lengths - 1
        return np.asarray(states[np.arange(len(states)), at])

    def room(self) -> int:
        """How many tokens of a text are read."""
        return self._longest - int(self._tokenizer.num_special_tokens_to_add(False))

    def token_spans(self, text: str) -> tuple[Counts, Counts]:
        """Where the tokens of a text start and end."""
        spans = np.array(self._tokenizer.encode(text, add_special_tokens=False).offsets, np.int64).reshape(-1, 2)
        return spans[:, 0], spans[:, 1]

    def tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        """The vectors of each text's tokens."""
        if self._pooled:
            raise UsageError("this ONNX model gives one vector a text; vectors of tokens need another export of it")
        read = self._tokenizer.encode_batch(list(texts))
        refuse_long([one.ids for one in read], self._longest)
        found = []
        for one, states in zip(read, self._run([one.ids for one in read]), strict=True):
            own = states[len(states) - len(one.ids) :] if self._left else states[: len(one.ids)]
            found.append(TokenVectors.of(own, np.array(one.offsets, np.int64), one.special_tokens_mask))
        return found
