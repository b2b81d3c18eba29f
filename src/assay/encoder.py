"""Encoders: what turns texts into vectors, and how a model is to be read.

An encoder is a plug-in: a frozen dataclass with a `name`, whose `opened` gives a `Model`. Models are handed texts in
batches of about equal length; what they return is float32, one row a text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from assay.errors import DataError, FormatError, UnavailableError, UsageError
from assay.texts import Texts

Vectors = npt.NDArray[np.float32]
Counts = npt.NDArray[np.int64]

POOLINGS = ("cls", "mean", "last")
PRECISIONS = ("float32", "float16", "bfloat16")


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


def batches(lengths: Counts, *, tokens: int) -> Batches:
    """Texts by falling length, in batches of at most so many tokens once they are filled up; at least one text each.

    The order depends on the lengths and the order of the texts alone, so that equal texts give equal batches.

    Example:
        >>> made = batches(np.array([2, 9, 2, 8]), tokens=18)
        >>> [rows.tolist() for rows in made.rows], round(made.padded, 4)
        ([[1, 3], [0, 2]], 0.0455)
    """
    order = np.argsort(-lengths, kind="stable")
    sizes = np.maximum(lengths[order], 1)
    found, start = [], 0
    while start < len(order):
        count = max(1, tokens // int(sizes[start]))
        found.append(order[start : start + count])
        start += count
    places = sum(len(rows) * int(max(1, lengths[rows].max())) for rows in found)
    return Batches(tuple(found), 1 - float(np.maximum(lengths, 1).sum()) / places if places else 0.0)


def opened_torch(
    weights: Weights,
    reading: Reading,
    device: str,
    *,
    run_code: str = "",
    make: Callable[[Any], Callable[..., Any]] = lambda library: library.SentenceTransformer,
    what: str = "model",
    options: Mapping[str, Any] | None = None,
) -> Any:
    """A model of Sentence Transformers on a device, ready to be computed with.

    Args:
        weights: Its files.
        reading: Its precision is what is computed in.
        device: Where; empty for the best one that there is.
        run_code: The model's name again, where its own Python code may be run.
        make: The library's class for models of this kind.
        what: What such a model is called, for messages.
        options: What the class is handed besides.

    Raises:
        UnavailableError: The library is not installed, or there is no such device.
        FormatError: The files are no such model.
        UsageError: `run_code` names another model, or none where the model has code of its own.
    """
    if run_code not in ("", weights.model):
        raise UsageError(
            f"run_code names {run_code!r}, the model is {weights.model!r}; code is run for the model that is named, and"
            " for no other"
        )
    torch, library = needed("torch", "dense"), needed("sentence_transformers", "dense")
    place = torch_device(device)
    precision = {"float16": torch.float16, "bfloat16": torch.bfloat16}.get(reading.precision, torch.float32)
    if not run_code:
        refuse_code(weights)
    with quiet_loading():
        try:
            model = make(library)(
                str(weights.folder),
                device=place,
                trust_remote_code=bool(run_code),
                local_files_only=True,
                model_kwargs={"dtype": precision},
                **(options or {}),
            )
        except Exception as err:  # noqa: BLE001 - errors of the libraries below share no base class
            raise FormatError(
                f"{weights.model}: {weights.folder} is no {what} that can be read ({_first_line(err)})"
            ) from None
    return model.eval()


def refuse_code(weights: Weights) -> None:
    """Raises UsageError where a model's files name Python code of their own, which its loading could run.

    The libraries look at such names at different moments and have not always asked before they ran what they found.
    """
    named = [
        *(("auto_map", str(own)) for file in CONFIGURATIONS for own in _entries(weights.folder / file, "auto_map")),
        *(("type", own) for own in _module_types(weights.folder) if not own.startswith("sentence_transformers.")),
    ]
    for path in sorted(weights.folder.glob("*/config.json")):
        named += [(path.parent.name, own) for own in _entries(path, "activation_function") if "torch.nn." not in own]
    if named:
        where, code = named[0]
        raise UsageError(
            f"{weights.model} names code of its own ({where}: {code[:80]}), and code that comes with a model is not"
            f" run. To run it, name the model again: encoder=\"sentence_transformers('{weights.model}')\""
        )


CONFIGURATIONS = ("config.json", "tokenizer_config.json", "processor_config.json", "preprocessor_config.json")


def _module_types(folder: Path) -> list[str]:
    listed = read_json(folder / "modules.json")
    return [str(own.get("type", "")) for own in listed if isinstance(own, dict)] if isinstance(listed, list) else []


def _entries(path: Path, name: str) -> list[str]:
    """What a JSON file says under a name, as texts; nothing where it says nothing."""
    found = read_json(path)
    value = found.get(name) if isinstance(found, dict) else None
    values = list(value.values()) if isinstance(value, dict) else [value]
    return [str(own) for own in values if own]


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


def torch_device(device: str) -> str:
    """The device to compute on: the one asked for, else the best that there is.

    Raises:
        UnavailableError: The one asked for is not there.
    """
    torch = needed("torch", "dense")
    if not device:
        return "cuda" if torch.cuda.is_available() else "cpu"
    kind, colon, number = device.partition(":")
    count = {"cpu": 1, "cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}.get(kind, 0)
    if (colon and not number.isdigit()) or count <= int(number or 0):
        raise UnavailableError(f"there is no device {device!r} on this machine; leave it out, or give device='cpu'")
    return device


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
            f"{package} is not installed ({_first_line(err)}); install it with: pip install 'assay[{extra}]'"
        ) from None


@contextmanager
def quiet_loading() -> Iterator[None]:
    """A block in which Transformers and Sentence Transformers show no bars and warn of nothing that is no fault."""
    import logging

    library = logging.getLogger("sentence_transformers")
    own = library.level
    library.setLevel(logging.ERROR)

    utils = needed("transformers.utils.logging", "dense")
    level, bars = utils.get_verbosity(), utils.is_progress_bar_enabled()
    utils.set_verbosity(logging.ERROR)
    utils.disable_progress_bar()
    try:
        yield
    finally:
        library.setLevel(own)
        utils.set_verbosity(level)
        if bars:
            utils.enable_progress_bar()


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


def _first_line(err: BaseException) -> str:
    return (str(err).strip().splitlines() or [type(err).__name__])[0][:200]
