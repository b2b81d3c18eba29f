"""Encoders: what turns texts into vectors, and how a model is to be read.

An encoder is a plug-in: a frozen dataclass with a `name`, whose `opened` gives a `Model`. Models are handed texts in
batches of about equal length; what they return is float32, one row a text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from assay.errors import DataError, FormatError, UnavailableError
from assay.texts import Texts

Vectors = npt.NDArray[np.float32]
Counts = npt.NDArray[np.int64]

POOLINGS = ("cls", "mean", "last")
PRECISIONS = ("float32", "float16", "bfloat16")
PADDED = 0.02
"""The greatest share of filled-up places in a batch of texts."""


@dataclass(frozen=True)
class Reading:
    """How a model reads texts; what is empty, 0 or None is as the model's own files say.

    Attributes:
        pooling: `cls`, `mean` or `last`: which of the tokens' vectors stand for the text.
        padding: `left` or `right`: at which side shorter texts of a batch are filled up.
        longest: Tokens read; the rest of a text is cut off, and counted.
        normalise: Whether vectors are brought to length 1.
        precision: What is computed in: `float32`, `float16` or `bfloat16`.
    """

    pooling: str = ""
    padding: str = ""
    longest: int = 0
    normalise: bool | None = None
    precision: str = "float32"


@dataclass(frozen=True)
class Weights:
    """A model's files.

    Attributes:
        model: What it was called: a hub id, a folder, or `package:NAME`.
        folder: Where its files lie.
        identity: What pins them: the hub's commit, or the SHA-256 of the files.
    """

    model: str
    folder: Path
    identity: str


@dataclass(frozen=True, eq=False)
class Prepared:
    """Texts as a model reads them.

    Attributes:
        lengths: How many tokens of each text are read, int64.
        cut: Which texts are longer than what is read, bool.
        items: What the model made of each text; its own business.
    """

    lengths: Counts
    cut: npt.NDArray[np.bool_]
    items: Sequence[Any]


@dataclass(frozen=True, eq=False)
class TokenVectors:
    """The vectors of a text's tokens.

    Attributes:
        vectors: float32, shape (tokens, dimensions), before pooling and normalisation.
        start, end: The span of each token in the text, half-open, code points, int64.
        before, after: The vectors of the tokens that the model adds in front and behind.
    """

    vectors: Vectors
    start: Counts
    end: Counts
    before: Vectors
    after: Vectors

    @classmethod
    def of(cls, vectors: Vectors, spans: Counts, added: Sequence[int]) -> TokenVectors:
        """From the vectors of all tokens with their spans, and for each whether the model added it."""
        own = np.flatnonzero(np.array(added) == 0)
        first, last = (int(own[0]), int(own[-1]) + 1) if len(own) else (len(vectors), len(vectors))
        spans = np.asarray(spans, np.int64).reshape(-1, 2)[own]
        return cls(np.ascontiguousarray(vectors[own]), spans[:, 0], spans[:, 1], vectors[:first], vectors[last:])


class Model(Protocol):
    """A model that is ready to encode."""

    dimensions: int
    record: Mapping[str, str]
    """What tells the model and the way it is read, for results: identity, versions, device."""

    def prepared(self, texts: Sequence[str]) -> Prepared:
        """The texts as the model reads them, in the same order."""
        ...

    def encode(self, prepared: Prepared, rows: Sequence[int]) -> Vectors:
        """One batch: the vectors of some of the texts, shape (rows, dimensions)."""
        ...


@runtime_checkable
class TokenModel(Protocol):
    """A model that also gives the vectors of tokens, as late chunking needs them."""

    pooling: str

    def tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        """The vectors of each text's tokens; a text longer than what the model reads is an error."""
        ...

    def token_spans(self, text: str) -> tuple[Counts, Counts]:
        """Where the tokens of a text of any length start and end."""
        ...

    def room(self) -> int:
        """How many tokens of a text are read, without those that the model adds."""
        ...

    def finished(self, vectors: Vectors) -> Vectors:
        """Pooled vectors as the model leaves them: its last layers, and length 1 where it normalises."""
        ...


@runtime_checkable
class Encoder(Protocol):
    """What opens models of one kind.

    One that reads files beside the model's own may have a method `pinned(weights)`, the weights with an identity that
    covers those files too, and one that reads other weights than PyTorch's from a hub has `exports`, their patterns.
    """

    name: ClassVar[str]

    def opens(self, folder: Path) -> bool:
        """Whether a model's files are of this kind."""
        ...

    def opened(self, weights: Weights, reading: Reading, *, device: str) -> Model:
        """The model, ready; `device` is empty for the best one that there is."""
        ...


@dataclass(frozen=True)
class Opening:
    """How to open a model: what a worker of its own is handed, too."""

    encoder: Encoder
    weights: Weights
    reading: Reading
    device: str = ""

    def open(self) -> Model:
        """The model, ready to encode."""
        return self.encoder.opened(self.weights, self.reading, device=self.device)


@dataclass(frozen=True)
class Batches:
    """Batches of texts of about equal length.

    Attributes:
        rows: The texts of each batch.
        padded: The share of filled-up places in all of them.
    """

    rows: tuple[npt.NDArray[np.int64], ...]
    padded: float


def batches(lengths: Counts, *, tokens: int, padded: float = 1.0) -> Batches:
    """Texts by falling length, in batches of at least one text each.

    The order depends on the lengths and the order of the texts alone, so that equal texts give equal batches.

    Args:
        lengths: Tokens of each text.
        tokens: How many tokens a batch may have once its texts are filled up to the longest.
        padded: The greatest share of filled-up places in a batch; small batches cost less than large gaps.

    Example:
        >>> made = batches(np.array([2, 9, 2, 8]), tokens=18)
        >>> [rows.tolist() for rows in made.rows], round(made.padded, 4)
        ([[1, 3], [0, 2]], 0.0455)
        >>> [rows.tolist() for rows in batches(np.array([2, 9, 2, 8]), tokens=18, padded=0.05).rows]
        [[1], [3], [0, 2]]
    """
    order = np.argsort(-lengths, kind="stable")
    sizes = np.maximum(lengths[order], 1)
    found, start, places = [], 0, 0
    while start < len(order):
        longest = int(sizes[start])
        own = sizes[start : start + max(1, tokens // longest)]
        # The share grows with every shorter text, so that those within it come first.
        within = np.cumsum(own) >= (1 - padded) * longest * np.arange(1, len(own) + 1)
        count = int(within.sum())
        found.append(order[start : start + count])
        places += count * longest
        start += count
    return Batches(tuple(found), 1 - float(sizes.sum()) / places if places else 0.0)


def read_json(path: Path) -> Any:
    """What a JSON file holds; None where there is none.

    Raises:
        FormatError: It is no JSON.
    """
    if not path.is_file():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as err:
        raise FormatError(f"{path} is no JSON ({err}); fetch the model again") from None


def needed(package: str, extra: str) -> Any:
    """A package of an extra.

    Raises:
        UnavailableError: It is not installed.
    """
    from importlib import import_module

    try:
        return import_module(package)
    except ImportError as err:
        raise UnavailableError(
            f"{package} is not installed ({first_line(err)}); install it with: pip install 'assay[{extra}]'"
        ) from None


def without_tokens(texts: Texts, mask: tuple[str, ...]) -> Texts:
    """The texts without the tokens that stand for masked identifiers.

    Example:
        >>> without_tokens(Texts.of(["see [MASKED] now"]), ("[MASKED]",)).to_list()
        ['see now']
    """
    if not mask:
        return texts
    made = []
    for text in texts.to_list():
        for token in mask:
            if token in text:
                text = " ".join(text.replace(token, " ").split())
        made.append(text)
    return Texts.of(made)


def prepared_by(tokenizer: Any, texts: Sequence[str], *, longest: int) -> Prepared:
    """Texts as token ids of a tokenizer of Transformers, cut at `longest`, and which of them are cut."""
    if not texts:
        return Prepared(np.zeros(0, np.int64), np.zeros(0, np.bool_), [])
    read = tokenizer(list(texts), truncation=True, max_length=longest, verbose=False)["input_ids"]
    lengths = np.array([len(ids) for ids in read], np.int64)
    # Only texts that fill the model up can have been cut.
    full = np.flatnonzero(lengths >= longest)
    cut = np.zeros(len(read), np.bool_)
    if len(full):
        whole = tokenizer([texts[row] for row in full.tolist()], truncation=False, verbose=False)["input_ids"]
        cut[full] = [len(ids) > longest for ids in whole]
    return Prepared(lengths, cut, read)


def refuse_long(read: Sequence[Sequence[int]], longest: int) -> None:
    """Raises DataError where a text has more tokens than a model reads."""
    over = max((len(ids) for ids in read), default=0)
    if over > longest:
        raise DataError(f"a text of {over} tokens was handed whole to a model that reads {longest}; cut it first")


def first_line(err: BaseException) -> str:
    """The first line of what an error says, not too long."""
    return (str(err).strip().splitlines() or [type(err).__name__])[0][:200]
