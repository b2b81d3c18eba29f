"""Learned sparse weights: terms of a model's vocabulary, searched as words are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from assay.encoder import Reading, without_tokens
from assay.errors import FormatError
from assay.preset import preset_of, refuse_values
from assay.system import PassageView, QueryView, SparseRows
from assay.terms import STEP, TermRecipe, Weighed, term_encoder_of, weighed
from assay.weights import weights_of

_FILES = ("offsets", "term", "weight")


@dataclass(frozen=True)
class LearnedSparse:
    """Passages by the sum over the query's terms of weight times weight; a representer, searched as `bm25` is.

    SPLADE and its kin expand a text to terms that it does not hold; BGE-M3's sparse weights weigh the tokens that it
    holds. Weights are rounded to whole multiples of 2**-14, and what would be 0 is left out, so that sums do not depend
    on their order. Terms are kept with the indexes, by model, reading and text. Code that comes with a model is not
    run, unless `encoder="sentence_transformers('MODEL')"` names it again.

    Args:
        model: A hub id, a folder, or `package:NAME` for a model that a Python package holds.
        revision: Commit of a hub id, or branch or tag; the preset's where empty. What pins weights that are kept is
            the commit.
        encoder: What opens the model, as a call: `bge_m3`, `sentence_transformers`; by its files where empty.
        query_prompt, passage_prompt: What goes before every text, word for word.
        longest: Tokens read; 0 as the model's files say. The rest of a text is cut off, and counted.
        precision: `float32`, `float16` or `bfloat16`.
        batch: Tokens of a batch of passages; queries are encoded one by one.
        text: Which text to read, `plain` or `coref`.
        device: `cpu`, `cuda`, `cuda:1`, `mps`; the best one where empty. No part of the recipe.
        store: Folder in which terms are kept and found again; that of indexes where empty. No part of the recipe.

    Raises:
        UsageError: A value is out of its range.
        UnknownNameError: There is no such precision or text.
    """

    name: ClassVar[str] = "learned_sparse"

    model: str
    _: KW_ONLY
    revision: str = ""
    encoder: str = ""
    query_prompt: str = ""
    passage_prompt: str = ""
    longest: int = 0
    precision: str = "float32"
    batch: int = 2048
    text: str = "plain"
    device: str = field(default="", metadata={"recipe": False})
    store: str = field(default="", metadata={"recipe": False})

    def __post_init__(self) -> None:
        refuse_values(self, {"text": ("plain", "coref")})
        preset = preset_of(self.model)
        if preset is not None and not self.revision:
            object.__setattr__(self, "revision", preset.revision)

    @property
    def reads(self) -> tuple[str, ...]:
        """The text it reads."""
        return (f"text:{self.text}",)

    @cached_property
    def recipe(self) -> TermRecipe:
        """What makes the terms of passages.

        Raises:
            UnavailableError: The model or its revision cannot be had.
            FileError: The folder holds no files.
        """
        weights = weights_of(self.model, revision=self.revision)
        encoder = term_encoder_of(self.encoder, weights.folder)
        reading = Reading(longest=self.longest, precision=self.precision)
        return TermRecipe(encoder, weights, reading, prompt=self.passage_prompt, tokens=self.batch, device=self.device)

    def index(self, passages: PassageView) -> LearnedSparseIndex:
        """The passages' terms, in memory."""
        return self.index_in(passages, None)

    def index_in(self, passages: PassageView, folder: Path | None) -> LearnedSparseIndex:
        """The passages' terms, those found in the folder not made again."""
        texts = without_tokens(passages.texts[self.reads[0]], passages.mask)
        place = Path(self.store) if self.store else folder
        return LearnedSparseIndex(self, weighed(texts, self.recipe, folder=place), place)

    def load(self, folder: Path) -> LearnedSparseIndex:
        """The terms that `LearnedSparseIndex.save` wrote, mapped into memory.

        Raises:
            FormatError: A file is missing or cannot be read.
        """
        try:
            offsets, term, weight = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in _FILES)
        except (OSError, ValueError) as err:
            raise FormatError(f"{folder}: no stored index of learned_sparse ({err}); build it again") from None
        rows = SparseRows(offsets, term, weight, int(term.max(initial=-1)) + 1, STEP)
        return LearnedSparseIndex(self, Weighed(rows, 0, 0, {}), None)


@dataclass(eq=False)
class LearnedSparseIndex:
    """Passages as weighted terms, and the way to bring queries alongside."""

    system: LearnedSparse
    found: Weighed
    folder: Path | None
    asked: Weighed | None = None

    @property
    def rows(self) -> SparseRows:
        """The passages' terms."""
        return self.found.rows

    def encode(self, queries: QueryView) -> SparseRows:
        """The queries' terms, without those that no passage has."""
        recipe = replace(self.system.recipe, prompt=self.system.query_prompt, queries=True)
        self.asked = weighed(without_tokens(queries.texts, queries.mask), recipe, folder=self.folder)
        rows = self.asked.rows
        known = rows.term < self.rows.terms
        offsets = np.concatenate([[0], np.cumsum(known)])[rows.offsets].astype(np.int64)
        return SparseRows(offsets, rows.term[known], rows.weight[known], self.rows.terms, STEP)

    def save(self, folder: Path) -> None:
        """Writes the index as three `.npy` files."""
        arrays: list[npt.NDArray[Any]] = [self.rows.offsets, self.rows.term, self.rows.weight]
        for name, array in zip(_FILES, arrays, strict=True):
            np.save(folder / f"{name}.npy", array, allow_pickle=False)

    @property
    def notes(self) -> Mapping[str, int]:
        """Texts that the model did not read to their end."""
        counts = {"passages longer than the model reads": self.found.cut}
        if self.asked is not None:
            counts["queries longer than the model reads"] = self.asked.cut
        return {name: count for name, count in counts.items() if count}

    @property
    def record(self) -> Mapping[str, str]:
        """What pins the model, and what it says of itself where it was opened."""
        weights = self.system.recipe.weights
        told = self.found.model or (self.asked.model if self.asked is not None else {})
        return {"model": weights.model, "identity": weights.identity, **told}
