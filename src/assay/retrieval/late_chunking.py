"""Late chunking: passages as means of the vectors that their tokens have in the whole document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from assay.embeddings import Embedded, Recipe, embedded
from assay.encoder import Reading, Weights, without_tokens
from assay.errors import UsageError
from assay.preset import filled, preset_of, refuse_task, refuse_values
from assay.system import DenseRows, PassageView, QueryView, refuse_no_count
from assay.weights import own_reading, vector_recipe
from assay.windows import Document, LateRecipe, pooled_chunks, refuse_other_pooling

TOKENLESS = "passages without a token, encoded alone"
MISFIT = "passages not as long as their span, encoded alone"
DIFFERENT = "passages that differ from others in their place, encoded alone"
_INSIDE = ""

Place = tuple[int, int]


@dataclass(frozen=True)
class LateChunking:
    """Passages by late chunking: each is the mean of the vectors that its tokens have in its document; a representer.

    Documents are put together from their passages, which may overlap and need not cover them: characters that no
    passage holds are one line feed, however many they are. The model reads a document whole, or in overlapping windows
    where it is longer than what is read, and nothing is cut off (`assay.windows` has the rules). Queries are encoded as
    they are. A passage without a token, one that is not as long as its span (because a lens changed it), and one that
    differs from others in its place cannot be found in the document: it is encoded alone, as `dense` does, and counted.

    Vectors are kept with the indexes, by model, reading, document and span.

    Args:
        model: A hub id, a folder, or `package:NAME` for a model that a Python package holds; one that pools by mean.
        task: The sentence that models with an instruction put before queries.
        revision: Commit of a hub id, or branch or tag; what is recorded is the commit.
        encoder: What opens the model, as a call: `sentence_transformers`, `onnx`; by its files where empty.
        query_prompt: What goes before queries, word for word; None as in the preset, or else in the model's own files.
        passage_prompt: What goes before every window of a document; None likewise.
        longest: Tokens read at once, those that the model adds among them; 0 as in the preset or the model's files.
        normalise: Whether vectors are brought to length 1; None as in the preset or the model's files.
        precision: `float32`, `float16` or `bfloat16`.
        window: Tokens of a document in a window; 0 for as many as the model reads.
        overlap: Tokens that two windows share; None for half a window.
        force: Whether a model that pools otherwise is used nevertheless; the run's counts and record say so.
        batch: Tokens of a batch.
        device: `cpu`, `cuda`, `cuda:1`, `mps`; the best one where empty. No part of the recipe.
        store: Folder in which vectors are kept and found again; that of indexes where empty. No part of the recipe.

    Raises:
        UsageError: A value is out of its range, or the model is known to pool otherwise and is not forced.
        UnknownNameError: There is no such precision.
    """

    name: ClassVar[str] = "late_chunking"
    reads: ClassVar[tuple[str, ...]] = ("text:plain", "parent", "span")

    model: str
    task: str = ""
    _: KW_ONLY
    revision: str = ""
    encoder: str = ""
    query_prompt: str | None = None
    passage_prompt: str | None = None
    longest: int = 0
    normalise: bool | None = None
    precision: str = "float32"
    window: int = 0
    overlap: int | None = None
    force: bool = False
    batch: int = 4096
    device: str = field(default="", metadata={"recipe": False})
    store: str = field(default="", metadata={"recipe": False})

    def __post_init__(self) -> None:
        self._check()
        preset = preset_of(self.model)
        if preset is not None:
            if not self.force:
                refuse_other_pooling(self.model, preset.reading.pooling)
            for name, value in filled(preset, self).items():
                object.__setattr__(self, name, value)
        refuse_task("late_chunking", self.model, query_prompt=self.query_prompt, task=self.task)

    def _check(self) -> None:
        refuse_values(self, {})
        shared = 0 if self.overlap is None else self.overlap
        refuse_no_count("late_chunking", 0, window=self.window, overlap=shared)
        force: Any = self.force
        if not isinstance(force, bool):
            raise UsageError(f"late_chunking: force must be True or False; found {force!r}")
        if self.window and shared >= self.window:
            raise UsageError(f"late_chunking: overlap={shared} must be less than window={self.window}")

    def index(self, passages: PassageView) -> LateIndex:
        """The passages' vectors, in memory."""
        return self.index_in(passages, None)

    def index_in(self, passages: PassageView, folder: Path | None) -> LateIndex:
        """The passages' vectors; documents of which the folder has all passages are not read again.

        Raises:
            UsageError: Passages have no documents or spans, or the model cannot be used.
        """
        folder = Path(self.store) if self.store else folder
        recipe = LateRecipe(self.recipe(queries=False), self.window, self.overlap, self.force)
        opening = recipe.plain.opening
        pooling = opening.reading.pooling or own_reading(opening.weights.folder).pooling
        if not self.force:
            refuse_other_pooling(self.model, pooling)
        whole = Whole.of(passages)
        found = pooled_chunks(whole.documents, recipe, folder=folder)
        inside = whole.inside[~found.bare]
        notes = Counter(whole.notes)
        notes[TOKENLESS] += len(whole.inside) - len(inside)
        if pooling not in ("", "mean"):
            notes[f"passages pooled by mean though the model pools by {pooling!r}"] = len(inside)
        alone = np.setdiff1d(np.arange(len(passages)), inside)
        place = np.zeros(len(passages), np.int32)
        place[inside] = found.place[~found.bare]
        rows, said = DenseRows(found.matrix, place), dict(found.model)
        if len(alone):
            texts = without_tokens(passages.texts["text:plain"].take(alone), passages.mask)
            plain = embedded(texts, recipe.plain, folder=folder)
            rows, said = _joined(rows, inside, plain.rows, alone), {**plain.model, **said}
            notes["passages longer than the model reads"] = plain.cut
        return LateIndex(self, rows, folder, recipe.plain, notes, said, pooling)

    def load(self, folder: Path) -> LateIndex:
        """The vectors that `LateIndex.save` wrote."""
        matrix, place = np.load(folder / "vectors.npy", mmap_mode="r"), np.load(folder / "place.npy")
        return LateIndex(
            self,
            DenseRows(matrix, place),
            Path(self.store) if self.store else None,
            self.recipe(queries=False),
            {},
            {},
            "",
        )

    def recipe(self, *, queries: bool, weights: Weights | None = None) -> Recipe:
        """What makes the vectors of queries, or of passages that are encoded alone.

        Args:
            queries: Which of the two.
            weights: The model's files, where they are known.

        Raises:
            UnavailableError: The model or its revision cannot be had.
            FileError: The folder holds no files.
        """
        preset = preset_of(self.model)
        reading = Reading() if preset is None else preset.reading
        reading = replace(reading, longest=self.longest, normalise=self.normalise, precision=self.precision)
        other = ("" if preset is None else preset.query_model, "")
        return vector_recipe(self, reading, queries=queries, query_model=other, weights=weights)


@dataclass(eq=False)
class LateIndex:
    """Passages as vectors, and the way to bring queries alongside."""

    system: LateChunking
    rows: DenseRows
    folder: Path | None
    recipe: Recipe
    counts: Mapping[str, int]
    model: Mapping[str, str]
    pooling: str
    asked: Embedded | None = None

    def encode(self, queries: QueryView) -> DenseRows:
        """The queries' vectors."""
        texts = without_tokens(queries.texts, queries.mask)
        self.asked = embedded(texts, self._asking, folder=self.folder)
        return self.asked.rows

    @cached_property
    def _asking(self) -> Recipe:
        """What makes the vectors of queries."""
        return self.system.recipe(queries=True, weights=self.recipe.opening.weights)

    def save(self, folder: Path) -> None:
        """Writes the vectors as `.npy` files."""
        place = self.rows.place
        np.save(folder / "vectors.npy", self.rows.matrix)
        np.save(folder / "place.npy", np.arange(len(self.rows), dtype=np.int32) if place is None else place)

    @property
    def notes(self) -> Mapping[str, int]:
        """Passages that were encoded alone or pooled otherwise than the model does, and queries that were cut."""
        cut = 0 if self.asked is None else self.asked.cut
        counts = {**self.counts, "queries longer than the model reads": cut}
        return {name: count for name, count in counts.items() if count}

    @property
    def record(self) -> Mapping[str, str]:
        """What pins the model, how it was read, how passages were pooled; and what it said of itself."""
        weights, system = self.recipe.opening.weights, self.system
        size = f"{system.window} tokens" if system.window else "as many tokens as the model reads"
        shared = "half a window" if system.overlap is None else f"{system.overlap} tokens"
        late = f"mean over a passage's tokens in its document, read in windows of {size} with an overlap of {shared}"
        if self.pooling not in ("", "mean"):
            late += f"; forced, for the model pools by {self.pooling!r}"
        told = {"model": weights.model, "identity": weights.identity, **self.model, "late chunking": late}
        told |= {"query prompt": self._asking.prompt, "passage prompt": self.recipe.prompt}
        return {name: value for name, value in told.items() if value}


@dataclass(frozen=True, eq=False)
class Whole:
    """Documents put together from passages.

    Attributes:
        documents: Their texts, with the spans of passages there.
        inside: The row of the passage that each span of each document belongs to, document by document.
        notes: How many passages have no place in a document, by reason.
    """

    documents: Sequence[Document]
    inside: npt.NDArray[np.int64]
    notes: Mapping[str, int]

    @classmethod
    def of(cls, passages: PassageView) -> Whole:
        r"""The documents of a view; their order is that of the opaque codes.

        Raises:
            UsageError: Passages have no documents or spans.

        Example:
            >>> from assay.texts import Texts
            >>> texts, span = Texts.of(["cd", "bc", "f"]), np.array([[2, 4], [1, 3], [9, 10]])
            >>> whole = Whole.of(PassageView(3, {"text:plain": texts}, parent=np.zeros(3, np.int32), span=span))
            >>> whole.documents[0].text, whole.documents[0].spans.tolist(), whole.inside.tolist()
            ('bcd\nf', [[0, 2], [1, 3], [4, 5]], [1, 0, 2])
        """
        if passages.parent is None or passages.span is None:
            raise UsageError("late_chunking: passages without documents and spans cannot be put together; take dense")
        texts = passages.texts["text:plain"].to_list()
        starts, ends = passages.span[:, 0].tolist(), passages.span[:, 1].tolist()
        order = np.argsort(passages.parent, kind="stable")
        borders = np.flatnonzero(np.diff(passages.parent[order])) + 1
        documents, inside, notes = [], [], dict[str, int]()
        for rows in np.split(order, borders) if len(order) else ():
            own = sorted((starts[row], ends[row], texts[row], row) for row in rows.tolist())
            text, placed = _put_together(own)
            for (*_, row), (_, reason) in zip(own, placed, strict=True):
                if reason:
                    notes[reason] = notes.get(reason, 0) + 1
                else:
                    inside.append(row)
            spans = [place for place, reason in placed if not reason]
            documents.append(Document(_blanked(text, passages.mask), np.array(spans, np.int64).reshape(-1, 2)))
        return cls(documents, np.array(inside, np.int64), notes)


def _put_together(passages: Iterable[tuple[int, int, str, int]]) -> tuple[str, list[tuple[Place, str]]]:
    """A document from passages in the order of their spans: its text, and the place of each or why it has none."""
    pieces: list[str] = []
    piece, first, base = "", 0, 0
    placed: list[tuple[Place, str]] = []
    for start, end, text, _ in passages:
        if len(text) != end - start or not text:
            placed.append(((0, 0), MISFIT if text or end > start else TOKENLESS))
            continue
        if not piece or start > first + len(piece):
            if piece:
                pieces.append(piece)
                base += len(piece) + 1
            piece, first = text, start
        else:
            known = piece[start - first : end - first]
            if not text.startswith(known):
                placed.append(((0, 0), DIFFERENT))
                continue
            piece += text[len(known) :]
        at = base + start - first
        placed.append(((at, at + len(text)), _INSIDE))
    return "\n".join([*pieces, piece]), placed


def _blanked(text: str, mask: tuple[str, ...]) -> str:
    """The text with blanks in place of the tokens that stand for masked identifiers: spans stay what they are."""
    for token in mask:
        text = text.replace(token, " " * len(token))
    return text


def _joined(
    held: DenseRows, inside: npt.NDArray[np.int64], other: DenseRows, alone: npt.NDArray[np.int64]
) -> DenseRows:
    """One matrix for the passages `inside` documents, by `held`, and for those `alone`, row by row of `other`."""
    places = [rows.place if rows.place is not None else np.arange(len(rows)) for rows in (held, other)]
    used, at = np.unique(places[0][inside], return_inverse=True)
    rest, own = np.unique(places[1], return_inverse=True)
    place = places[0].astype(np.int32)
    place[inside], place[alone] = at.reshape(-1), len(used) + own.reshape(-1)
    matrix = other.matrix[rest] if not len(used) else np.concatenate([held.matrix[used], other.matrix[rest]])
    return DenseRows(np.ascontiguousarray(matrix), place)
