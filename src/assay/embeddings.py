"""Embeddings: vectors of texts, made once and kept on disk.

A folder (`assay.store`) holds the vectors of one recipe: model, reading, prompt. Equal texts share a row.

Texts are encoded in windows, from long to short, and written window by window. Which texts share a batch depends on the
texts alone, so that vectors have the same bits for any order of rows, any number of processes, and after a kill.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from assay.encoder import PADDED, Model, Opening, Vectors, batches
from assay.errors import DataError, UnavailableError
from assay.progress import Pace
from assay.store import Store, folder_name, text_digest
from assay.system import DenseRows, spec_of
from assay.texts import Texts

WINDOW = 1024
"""Texts encoded between two writes; at most so many are made again after a kill."""

CACHE = "ASSAY_CACHE"
"""The variable that names the folder of what is kept from run to run."""


def default_folder() -> Path:
    """Where vectors are kept if nobody names a folder: `embeddings` in $ASSAY_CACHE, or else in the user's cache."""
    named, cache = os.environ.get(CACHE), os.environ.get("XDG_CACHE_HOME")
    place = Path(named) if named else (Path(cache) if cache else Path.home() / ".cache") / "assay"
    return place / "embeddings"


@dataclass(frozen=True)
class Recipe:
    """What makes vectors: the model, how it is opened and read, and the words before every text.

    Attributes:
        opening: Opens the model, where texts are missing.
        prompt: Goes before each text, without a blank of its own.
        tokens: How many tokens a batch may have once its texts are filled up.
    """

    opening: Opening
    prompt: str = ""
    tokens: int = 4096

    def record(self) -> dict[str, Any]:
        """All that the vectors depend on, as plain values; the device is not among them."""
        return {
            "model": self.opening.weights.model,
            "identity": self.opening.weights.identity,
            "encoder": spec_of(self.opening.encoder),
            "reading": asdict(self.opening.reading),
            "prompt": self.prompt,
            "tokens": self.tokens,
        }


@dataclass(frozen=True, eq=False)
class Embedded:
    """Vectors of texts.

    Attributes:
        rows: One vector a text; equal texts share one.
        cut: How many texts are longer than the model reads.
        made: How many texts were encoded now; the others were found.
        padded: The share of padding in what was encoded.
        model: What the model said of itself when it made vectors last.
    """

    rows: DenseRows
    cut: int
    made: int
    padded: float
    model: Mapping[str, str]


def embedded(texts: Texts, recipe: Recipe, *, folder: Path | None = None, workers: int = 1) -> Embedded:
    """The vectors of texts; those that the folder lacks are made now.

    Args:
        texts: What is encoded.
        recipe: What encodes it.
        folder: Below it the vectors of each recipe have a folder; None keeps them in memory.
        workers: Processes that encode, each with the model. The vectors are those of one process.

    Raises:
        DataError: The model returned numbers that are not finite, or another number of them.
        UnavailableError: A process was killed, mostly for want of memory; what was made until then is kept.
        FileError: The folder cannot be written; what was made until then is kept.
        DigestError: A kept row is not what was written.
        FormatError: The folder holds vectors of another recipe.
    """
    listed = texts.to_list()
    digests = np.array([text_digest(text) for text in listed], "V16")
    distinct, first, place = np.unique(digests, return_index=True, return_inverse=True)
    with Store.opened(None if folder is None else folder / folder_name(recipe.record()), recipe.record()) as store:
        missing = store.places(distinct) < 0
        made = _fill(store, recipe, listed, first[missing], workers=workers)
        at = store.places(distinct)[place.reshape(-1)]
        rows = DenseRows(store.matrix(), at.astype(np.int32))
        told_of = store.described(made.model)
        return Embedded(rows, int(store.entries["cut"][at].sum()), made.texts, made.padded, told_of)


@dataclass(frozen=True, eq=False)
class _Window:
    """Some texts encoded: their vectors, tokens read, which were cut, places once filled up, and the model's record."""

    vectors: Vectors
    tokens: npt.NDArray[np.int64]
    cut: npt.NDArray[np.bool_]
    places: int
    record: Mapping[str, str]


@dataclass(frozen=True)
class _Made:
    """What encoding took: how many texts, the share of padding, and the model's own record."""

    texts: int = 0
    padded: float = 0.0
    model: Mapping[str, str] = field(default_factory=dict)


def _fill(store: Store, recipe: Recipe, listed: Sequence[str], rows: npt.NDArray[np.int64], *, workers: int) -> _Made:
    """Encodes some of the texts, window by window, and appends what comes out."""
    if not len(rows):
        return _Made()
    # Texts of a window are about equally long; their order depends on the texts alone.
    keys = sorted((-len(_bytes(listed[row])), text_digest(listed[row]), row) for row in rows.tolist())
    digests, order = np.array([digest for _, digest, _ in keys], "V16"), [row for *_, row in keys]
    borders = range(0, len(order), WINDOW)
    asked = ([recipe.prompt + listed[row] for row in order[low : low + WINDOW]] for low in borders)
    tokens, places = 0, 0
    pace = Pace(recipe.opening.weights.model, len(order), "texts encoded")
    record: Mapping[str, str] = {}
    # With Python's own closing, a fault here ends the processes at once instead of at the end of all their work.
    with closing(_encoded(recipe, asked, count=len(borders), workers=workers)) as windows:
        for low, found in zip(borders, windows, strict=True):
            own = digests[low : low + WINDOW]
            record = found.record
            store.append(own, found.vectors, tokens=found.tokens, cut=found.cut)
            tokens, places = tokens + int(found.tokens.sum()), places + found.places
            pace.tell(low + len(own))
    return _Made(len(order), 1 - tokens / places if places else 0.0, record)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _encoded(
    recipe: Recipe, asked: Iterable[Sequence[str]], *, count: int, workers: int
) -> Generator[_Window, None, None]:
    """The windows encoded, in their order; here, or by processes that are handed a few of them in advance."""
    if workers <= 1 or count < 2:
        model = opened(recipe.opening)
        for texts in asked:
            yield _encoded_window(model, texts, recipe.tokens)
        return
    from concurrent.futures import Future, ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    workers, waiting = min(workers, count), deque[Future[_Window]]()
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_begin, initargs=(recipe, workers))
    try:
        for texts in asked:
            waiting.append(pool.submit(_in_worker, texts))
            if len(waiting) > 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise UnavailableError(
            f"{recipe.opening.weights.model}: a process that encodes was killed, mostly for want of memory; use fewer"
            " workers or a smaller batch and run it again: what was made until then is kept"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


@lru_cache(maxsize=1)
def opened(opening: Opening) -> Model:
    """The model, ready; the last one stays open, as queries mostly follow passages."""
    return opening.open()


_WORKER: list[Recipe | Model] = []
"""In a worker process: the recipe, then also the model."""


def _begin(recipe: Recipe, workers: int) -> None:
    os.environ["OMP_NUM_THREADS"] = str(max(1, (os.cpu_count() or 1) // workers))
    _WORKER[:] = [recipe]


def _in_worker(texts: Sequence[str]) -> _Window:
    # Opened here and not at the beginning: what goes wrong then would reach nobody.
    recipe = cast(Recipe, _WORKER[0])
    if len(_WORKER) == 1:
        _WORKER.append(recipe.opening.open())
    return _encoded_window(cast(Model, _WORKER[1]), texts, recipe.tokens)


def _encoded_window(model: Model, texts: Sequence[str], tokens: int) -> _Window:
    """Texts in batches; one of no tokens at all has a vector of zeros, without asking the model."""
    prepared = model.prepared(texts)
    vectors = np.zeros((len(texts), model.dimensions), np.float32)
    some, places = np.flatnonzero(prepared.lengths), 0
    for part in batches(prepared.lengths[some], tokens=tokens, padded=PADDED).rows:
        rows = some[part]
        found = np.asarray(model.encode(prepared, rows.tolist()))
        if found.shape != (len(rows), model.dimensions):
            raise DataError(
                f"the model returned numbers of shape {found.shape} for {len(rows)} texts; {model.dimensions} a text"
                " are due"
            )
        broken = np.flatnonzero(~np.isfinite(found).all(axis=1))
        if len(broken):
            text = texts[int(rows[broken[0]])]
            raise DataError(
                f"the model returned NaN or infinite numbers for {len(broken)} texts, the first {text[:60]!r}; nothing"
                " of this batch is kept. Half precision can overflow: try precision='float32'"
            )
        vectors[rows] = found
        places += len(rows) * int(prepared.lengths[rows].max())
    return _Window(vectors, prepared.lengths, prepared.cut, places, model.record)
