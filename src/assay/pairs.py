"""Pairs: scores of a query and a passage read together by a model, computed once and kept on disk.

An encoder of pairs is a plug-in: a frozen dataclass with a `name`, whose `opened` gives a `PairModel`. What it scores
is kept as embeddings are (`assay.store`), one row a pair. A pair is known by its two texts, so that it is scored once,
whatever list it stands in and however deep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Protocol, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

from assay import catalog
from assay.encoder import Prepared, Reading, Weights, batches
from assay.errors import DataError, UsageError
from assay.progress import Pace
from assay.store import Store, folder_name, text_digest
from assay.system import Rows, Score, spec_of
from assay.texts import Texts

WINDOW = 128
"""About so many pairs are scored between two writes; at most so many are scored again after a kill."""

PADDED = 0.1
"""The greatest share of filled-up places in a batch: the pairs of one query are too few for less."""

Pair = tuple[str, str]


class PairModel(Protocol):
    """A model that is ready to score pairs."""

    record: Mapping[str, str]
    """What tells the model and the way it is read, for results: identity, versions, device."""

    def prepared(self, pairs: Sequence[Pair]) -> Prepared:
        """Queries and passages as the model reads them, in the same order."""
        ...

    def scores(self, prepared: Prepared, rows: Sequence[int]) -> npt.NDArray[np.float32]:
        """One batch: a score for each of some of the pairs, before any activation, shape (rows,)."""
        ...


@runtime_checkable
class PairEncoder(Protocol):
    """What opens models of one kind."""

    name: ClassVar[str]

    def opens(self, folder: Path) -> bool:
        """Whether a model's files are of this kind."""
        ...

    def opened(self, weights: Weights, reading: Reading, *, device: str) -> PairModel:
        """The model, ready; `device` is empty for the best one that there is."""
        ...


@dataclass(frozen=True)
class PairRecipe:
    """What makes scores: the model, how it is opened and read.

    Attributes:
        encoder: Opens the model, where scores are missing.
        weights: Its files.
        reading: How it reads; pooling, padding and length of vectors say nothing here.
        tokens: How many tokens a batch may have once its pairs are filled up.
        device: Where it computes; no part of the record.
    """

    encoder: PairEncoder
    weights: Weights
    reading: Reading
    tokens: int = 8192
    device: str = ""

    def record(self) -> dict[str, Any]:
        """All that the scores depend on, as plain values."""
        return {
            "model": self.weights.model,
            "identity": self.weights.identity,
            "pair_encoder": spec_of(self.encoder),
            "reading": asdict(self.reading),
            "tokens": self.tokens,
        }


@dataclass(frozen=True, eq=False)
class PairScores:
    """Scores of pairs.

    Attributes:
        score: One a pair, float64.
        cut: Which pairs are longer than what the model reads, bool.
        made: How many pairs were scored now; the others were found, or are the same.
        model: What the model said of itself when it scored last; empty where that is not known.
    """

    score: Score
    cut: npt.NDArray[np.bool_]
    made: int
    model: Mapping[str, str]


def pair_scores(
    queries: Texts,
    passages: Texts,
    recipe: PairRecipe,
    *,
    pairs: tuple[Rows, Rows],
    folder: Path | None = None,
) -> PairScores:
    """The scores of pairs; those that the folder lacks are made now.

    Batches hold pairs of one query, by length and then by the passage's text: the scores of a query depend neither on
    other queries nor on the order of rows. Where some of its pairs are found and others made, the last bits of a score
    may be those of another batch.

    Args:
        queries: What is asked.
        passages: What may answer.
        recipe: What scores.
        pairs: Rows of queries and of passages, aligned.
        folder: Below it the scores of each recipe have a folder; None keeps them in memory.

    Raises:
        DataError: The model returned numbers that are not finite, or another number of them.
        FileError: The folder cannot be written; what was made until then is kept.
        DigestError: A kept score is not what was written.
        FormatError: The folder holds scores of another recipe.
    """
    query, passage = pairs
    asked, read = _digests(queries, query), _digests(passages, passage)
    both = [(asked[q], read[p]) for q, p in zip(query.tolist(), passage.tolist(), strict=True)]
    keys = np.array([blake2b(q + p, digest_size=16).digest() for q, p in both], "V16")
    distinct, first, place = np.unique(keys, return_index=True, return_inverse=True)

    def text_of(at: int) -> Pair:
        return queries[int(query[at])], passages[int(passage[at])]

    place_of = None if folder is None else folder / folder_name(recipe.record())
    with Store.opened(place_of, recipe.record(), width=1) as store:
        missing = store.places(distinct) < 0
        # By the texts alone, so that the order of rows does not show.
        todo = sorted(first[missing].tolist(), key=lambda at: both[at])
        record = _fill(store, recipe, todo, keys, asked_by=query, text_of=text_of)
        at = store.places(distinct)[place.reshape(-1)]
        score = store.matrix()[at, 0].astype(np.float64)
        return PairScores(score, store.entries["cut"][at] > 0, len(todo), store.described(record))


def _digests(texts: Texts, rows: Rows) -> dict[int, bytes]:
    return {row: text_digest(texts[row]) for row in np.unique(rows).tolist()}


def _fill(
    store: Store,
    recipe: PairRecipe,
    todo: Sequence[int],
    keys: npt.NDArray[Any],
    *,
    asked_by: Rows,
    text_of: Callable[[int], Pair],
) -> Mapping[str, str]:
    """Scores some of the pairs, query by query, and keeps what comes out; what the model says of itself."""
    if not todo:
        return {}
    model, done, pace = opened_pairs(recipe), 0, Pace(recipe.weights.model, len(todo), "pairs scored")
    for window in _windows(todo, asked_by):
        flat = [at for own in window for at in own]
        prepared = model.prepared([text_of(at) for at in flat])
        score, start = np.empty((len(flat), 1), np.float32), 0
        for own in window:
            inside = np.arange(start, start + len(own))
            for part in batches(prepared.lengths[inside], tokens=recipe.tokens, padded=PADDED).rows:
                rows = inside[part]
                score[rows, 0] = _checked(model.scores(prepared, rows.tolist()), [text_of(flat[r]) for r in rows])
            start += len(own)
        store.append(keys[flat], score, tokens=np.maximum(prepared.lengths, 1), cut=prepared.cut)
        done += len(flat)
        pace.tell(done)
    return model.record


def _windows(todo: Sequence[int], asked_by: Rows) -> Iterator[list[list[int]]]:
    """Pairs by query, in groups of about so many pairs as are written at once."""
    window: list[list[int]] = []
    for at in todo:
        if window and asked_by[window[-1][-1]] == asked_by[at]:
            window[-1].append(at)
            continue
        if sum(map(len, window)) >= WINDOW:
            yield window
            window = []
        window.append([at])
    yield window


def _checked(found: Any, pairs: Sequence[Pair]) -> npt.NDArray[np.float32]:
    score = np.asarray(found, np.float32)
    if score.shape != (len(pairs),):
        raise DataError(f"the model returned numbers of shape {score.shape} for {len(pairs)} pairs; one a pair is due")
    broken = np.flatnonzero(~np.isfinite(score))
    if len(broken):
        query, passage = pairs[int(broken[0])]
        raise DataError(
            f"the model returned NaN or infinite numbers for {len(broken)} pairs, the first {query[:40]!r} with"
            f" {passage[:40]!r}; nothing of this batch is kept. Half precision can overflow: try precision='float32'"
        )
    return score


@lru_cache(maxsize=1)
def opened_pairs(recipe: PairRecipe) -> PairModel:
    """The model of a recipe, ready; the last one stays open."""
    return recipe.encoder.opened(recipe.weights, recipe.reading, device=recipe.device)


def pair_encoder_of(call: str, folder: Path) -> PairEncoder:
    """The encoder of pairs written as a call, or the first that opens a folder's files.

    Raises:
        UnknownNameError: There is no such encoder.
        UsageError: No encoder opens these files.
    """
    if call:
        return cast(PairEncoder, catalog.made("pair_encoder", call))
    for name in sorted(catalog.known("pair_encoder"), reverse=True):
        made = cast(PairEncoder, catalog.made("pair_encoder", name))
        if made.opens(folder):
            return made
    files = ", ".join(sorted(path.name for path in folder.iterdir())[:12])
    raise UsageError(
        f"nothing opens the files in {folder} as a model that scores pairs; they are {files}. Known:"
        f" {', '.join(catalog.known('pair_encoder'))}"
    )
