"""Terms: weights that a model gives to the words of its own vocabulary, made once a text and kept on disk.

An encoder of terms is a plug-in: a frozen dataclass with a `name`, whose `opened` gives a `TermModel`. What it gives is
kept as embeddings are (`assay.store`), in rows of 64 terms and their weights: a text has as many as it needs, one after
the other, the first of them last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Protocol, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

from assay import catalog
from assay.encoder import PADDED, Prepared, Reading, Weights, batches
from assay.errors import DataError, UsageError
from assay.progress import Pace
from assay.store import Store, folder_name, text_digest
from assay.system import SparseRows, spec_of
from assay.texts import Texts

STEP = 2.0**-14
"""Weights are whole multiples of this, so that sums of products do not depend on their order."""

WIDTH = 64
WINDOW = 128
"""Texts between two writes; at most so many are encoded again after a kill."""

Terms = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]


class TermModel(Protocol):
    """A model that is ready to weigh terms."""

    terms: int
    record: Mapping[str, str]
    """What tells the model and the way it is read, for results: identity, versions, device."""

    def prepared(self, texts: Sequence[str]) -> Prepared:
        """The texts as the model reads them, in the same order."""
        ...

    def weights(self, prepared: Prepared, rows: Sequence[int], *, queries: bool) -> list[Terms]:
        """One batch: the terms of some of the texts, each once, and their weights above 0."""
        ...


@runtime_checkable
class TermEncoder(Protocol):
    """What opens models of one kind."""

    name: ClassVar[str]

    def opens(self, folder: Path) -> bool:
        """Whether a model's files are of this kind."""
        ...

    def opened(self, weights: Weights, reading: Reading, *, device: str) -> TermModel:
        """The model, ready; `device` is empty for the best one that there is."""
        ...


@dataclass(frozen=True)
class TermRecipe:
    """What makes terms of queries, or of passages.

    Attributes:
        encoder: Opens the model, where texts are missing.
        weights: Its files.
        reading: How it reads; pooling, padding and length of vectors say nothing here.
        prompt: Goes before each text.
        queries: Whether texts are queries, which are encoded one by one, so that none depends on another.
        tokens: How many tokens a batch of passages may have once it is filled up.
        device: Where it computes; no part of the record.
    """

    encoder: TermEncoder
    weights: Weights
    reading: Reading
    prompt: str = ""
    queries: bool = False
    tokens: int = 2048
    device: str = ""

    def record(self) -> dict[str, Any]:
        """All that the weights depend on, as plain values."""
        return {
            "model": self.weights.model,
            "identity": self.weights.identity,
            "term_encoder": spec_of(self.encoder),
            "reading": asdict(self.reading),
            "prompt": self.prompt,
            "queries": self.queries,
            "tokens": 1 if self.queries else self.tokens,
            "step": STEP,
        }


@dataclass(frozen=True, eq=False)
class Weighed:
    """Weighted terms of texts.

    Attributes:
        rows: The terms of each text, ascending, with weights that are whole multiples of `STEP`.
        cut: How many texts are longer than the model reads.
        made: How many texts were encoded now.
        model: What the model said of itself when it encoded last; empty where that is not known.
    """

    rows: SparseRows
    cut: int
    made: int
    model: Mapping[str, str]


def weighed(texts: Texts, recipe: TermRecipe, *, terms: int = 0, folder: Path | None = None) -> Weighed:
    """The weighted terms of texts; those that the folder lacks are made now.

    Args:
        texts: What is encoded.
        recipe: What encodes it.
        terms: How many terms there are, where another table says so; 0: one more than the highest found.
        folder: Below it each recipe has a folder; None keeps them in memory.

    Raises:
        DataError: The model returned weights that are not finite or below 0, or a term twice.
        FileError: The folder cannot be written; what was made until then is kept.
        DigestError: A kept row is not what was written.
        FormatError: The folder holds terms of another recipe.
    """
    listed = texts.to_list()
    digests = np.array([text_digest(text) for text in listed], "V16")
    distinct, first, place = np.unique(digests, return_index=True, return_inverse=True)
    place = place.reshape(-1)
    place_of = None if folder is None else folder / folder_name(recipe.record())
    with Store.opened(place_of, recipe.record(), width=2 * WIDTH) as store:
        missing = [listed[row] for row in first[store.places(distinct) < 0].tolist()]
        record = store.described(_fill(store, recipe, missing))
        at = store.places(distinct)
        matrix = store.matrix()
        found = [_joined(matrix, int(own)) for own in at]
        cut = int((store.entries["cut"][at[place]] > 0).sum())
    lists = [found[own] for own in place.tolist()]
    offsets = np.concatenate([[0], np.cumsum([len(term) for term, _ in lists])]).astype(np.int64)
    term = np.concatenate([np.zeros(0, np.int32), *(term for term, _ in lists)])
    weight = np.concatenate([np.zeros(0, np.float32), *(weight for _, weight in lists)])
    highest = max(terms, int(term.max(initial=-1)) + 1)
    return Weighed(SparseRows(offsets, term, weight, highest, STEP), cut, len(missing), record)


def _joined(matrix: npt.NDArray[np.float32], last: int) -> Terms:
    """The terms of a text whose first row is `last`: its other rows come right before it."""
    count = int(matrix[last, 0])
    rows = matrix[last - (count + WIDTH) // WIDTH + 1 : last + 1]
    flat = np.concatenate([rows[-1:], rows[:-1]]).reshape(-1, 2, WIDTH)
    term = flat[:, 0].reshape(-1)[1 : count + 1].astype(np.int32)
    return term, np.ascontiguousarray(flat[:, 1].reshape(-1)[1 : count + 1])


def _pieces(text: str, found: Terms) -> tuple[list[bytes], npt.NDArray[np.float32]]:
    """The rows of a text, the first of them last, with their digests; the first begins with the number of terms."""
    term, weight = found
    size = (len(term) + WIDTH) // WIDTH
    flat = np.zeros((2, size * WIDTH), np.float32)
    flat[0, 0] = len(term)
    flat[0, 1 : len(term) + 1], flat[1, 1 : len(term) + 1] = term, weight
    rows = flat.reshape(2, size, WIDTH).transpose(1, 0, 2).reshape(size, 2 * WIDTH)
    own = text_digest(text)
    further = [sha256(own + part.to_bytes(4, "big")).digest()[:16] for part in range(1, size)]
    return [*further, own], np.concatenate([rows[1:], rows[:1]])


def _fill(store: Store, recipe: TermRecipe, missing: Sequence[str]) -> Mapping[str, str]:
    """Encodes texts window by window, and keeps what comes out; what the model says of itself."""
    if not missing:
        return {}
    model = recipe.encoder.opened(recipe.weights, recipe.reading, device=recipe.device)
    pace = Pace(recipe.weights.model, len(missing), "texts encoded")
    # Texts of a window are about equally long; their order depends on the texts alone.
    ordered = sorted(missing, key=lambda text: (-len(text.encode("utf-8", "surrogatepass")), text_digest(text)))
    for low in range(0, len(ordered), WINDOW):
        window = ordered[low : low + WINDOW]
        prepared = model.prepared([recipe.prompt + text for text in window])
        tokens = 1 if recipe.queries else recipe.tokens
        found: dict[int, Terms] = {}
        for part in batches(prepared.lengths, tokens=tokens, padded=PADDED).rows:
            rows = part.tolist()
            lists = model.weights(prepared, rows, queries=recipe.queries)
            found.update((row, _rounded(own, window[row])) for row, own in zip(rows, lists, strict=True))
        made = [_pieces(window[row], found[row]) for row in range(len(window))]
        size = [len(names) for names, _ in made]
        store.append(
            np.array([name for names, _ in made for name in names], "V16"),
            np.concatenate([rows for _, rows in made]),
            tokens=np.repeat(prepared.lengths, size),
            cut=np.repeat(prepared.cut, size),
        )
        pace.tell(low + len(window))
    return model.record


def _rounded(found: Terms, text: str) -> Terms:
    """Terms in ascending order, with weights that are whole multiples of the step; what would be 0 is left out."""
    term, weight = np.asarray(found[0], np.int64), np.asarray(found[1], np.float64)
    if not np.isfinite(weight).all() or (weight < 0).any() or len(np.unique(term)) != len(term):
        raise DataError(
            f"the model gave weights that are not finite, below 0, or a term twice, for {text[:60]!r}; nothing of this"
            " batch is kept. Half precision can overflow: try precision='float32'"
        )
    steps = np.rint(weight / STEP)
    order = np.argsort(term)
    order = order[steps[order] > 0]
    return term[order].astype(np.int32), (steps[order] * STEP).astype(np.float32)


def term_encoder_of(call: str, folder: Path) -> TermEncoder:
    """The encoder of terms written as a call, or the first that opens a folder's files.

    Raises:
        UnknownNameError: There is no such encoder.
        UsageError: No encoder opens these files.
    """
    if call:
        return cast(TermEncoder, catalog.made("term_encoder", call))
    for name in catalog.known("term_encoder"):
        made = cast(TermEncoder, catalog.made("term_encoder", name))
        if made.opens(folder):
            return made
    files = ", ".join(sorted(path.name for path in folder.iterdir())[:12])
    raise UsageError(
        f"nothing opens the files in {folder} as a model that weighs terms; they are {files}. Known:"
        f" {', '.join(catalog.known('term_encoder'))}"
    )
