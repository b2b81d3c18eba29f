"""Cross-encoders: models that read a query and a passage together and give one number."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from assay.encoder import Reading, without_tokens
from assay.pairs import PairEncoder, PairRecipe, pair_encoder_of, pair_scores
from assay.preset import refuse_values
from assay.system import PassageView, QueryView, Rows, Scored
from assay.texts import Texts
from assay.weights import exports_of, weights_of


@dataclass(frozen=True)
class CrossEncoder:
    """Scores of pairs by a model that reads both texts; a scorer, most of all for `rerank`.

    By itself it scores every passage of a collection for every query. Scores are what the model gives before any
    activation, which would only press high ones together. A pair that is longer than what the model reads is cut at the
    end of the longer text, token by token: that is the passage, unless the query takes more than half; such pairs are
    counted. Code that comes with a model is not run, unless `encoder="sentence_transformers('MODEL')"` names it again.

    Args:
        model: A hub id, a folder, or `package:NAME` for a model that a Python package holds.
        revision: Commit of a hub id, or branch or tag; what pins scores that are kept is the commit.
        encoder: What opens the model, as a call: `sentence_transformers`, `onnx`; by its files where empty.
        query_prompt, passage_prompt: What goes before every text, word for word.
        longest: Tokens of a pair that are read; 0 as the model's files say.
        precision: `float32`, `float16` or `bfloat16`.
        batch: Tokens of a batch.
        text: Which text to read, `plain` or `coref`.
        device: `cpu`, `cuda`, `cuda:1`, `mps`; the best one where empty. No part of the recipe.
        store: Folder in which scores are kept and found again; that of indexes where empty. No part of the recipe.

    Raises:
        UsageError: A value is out of its range.
        UnknownNameError: There is no such precision or text.
    """

    name: ClassVar[str] = "cross_encoder"

    model: str
    _: KW_ONLY
    revision: str = ""
    encoder: str = ""
    query_prompt: str = ""
    passage_prompt: str = ""
    longest: int = 0
    precision: str = "float32"
    batch: int = 8192
    text: str = "plain"
    device: str = field(default="", metadata={"recipe": False})
    store: str = field(default="", metadata={"recipe": False})

    def __post_init__(self) -> None:
        refuse_values(self, {"text": ("plain", "coref")})

    @property
    def reads(self) -> tuple[str, ...]:
        """The text it reads."""
        return (f"text:{self.text}",)

    @property
    def hands_to(self) -> tuple[PairEncoder]:
        """The encoder, which is handed the texts of pairs."""
        return (self.recipe.encoder,)

    def keeping(self, folder: Path) -> CrossEncoder:
        """The same, which keeps scores below a folder, unless it has one already."""
        return self if self.store else replace(self, store=str(folder))

    @cached_property
    def recipe(self) -> PairRecipe:
        """What makes the scores.

        Raises:
            UnavailableError: The model or its revision cannot be had, or there is no such folder.
            FileError: The folder holds no files.
        """
        weights = weights_of(self.model, revision=self.revision, exports=exports_of("pair_encoder", self.encoder))
        reading = Reading(longest=self.longest, precision=self.precision)
        return PairRecipe(pair_encoder_of(self.encoder, weights.folder), weights, reading, self.batch, self.device)

    def score(self, passages: PassageView, queries: QueryView, *, query: Rows, passage: Rows) -> Scored:
        """The scores of pairs, and how many pairs are longer than what is read."""
        found = pair_scores(
            _prompted(self.query_prompt, without_tokens(queries.texts, queries.mask)),
            _prompted(self.passage_prompt, without_tokens(passages.texts[self.reads[0]], passages.mask)),
            self.recipe,
            pairs=(query, passage),
            folder=Path(self.store) if self.store else None,
        )
        cut = int(found.cut.sum())
        weights = self.recipe.weights
        record = {"model": weights.model, "identity": weights.identity, **found.model}
        return Scored(found.score, {"pairs longer than the model reads": cut} if cut else {}, record)


def _prompted(prompt: str, texts: Texts) -> Texts:
    return Texts.of([prompt + text for text in texts]) if prompt else texts
