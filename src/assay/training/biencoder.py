"""Bi-encoders: a model of texts as vectors, fitted so that a query lies near its relevant passages.

The loss is multiple-negatives ranking (Henderson et al. 2017): of a query's relevant passage, its own negatives and all
other passages of the batch, the relevant one is to have the highest score. A passage of the batch that may not be a
negative of the query (`assay.training.negatives`) takes no part in that query's loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.call import short_call
from assay.collection import Collection
from assay.encoder import Prepared, batches, needed, without_tokens
from assay.encoders.sentence_transformers import SentenceModel, SentenceTransformers
from assay.errors import UsageError
from assay.network import quiet_loading
from assay.preset import STORED, Preset, preset_of, preset_text
from assay.retrieval.dense import Dense
from assay.training.course import SAME, Epoch, Fit, Schedule, Told
from assay.training.handed import lesson
from assay.training.negatives import Mining, Negatives
from assay.training.trained import (
    Choice,
    Request,
    TrainReport,
    mined,
    place_of,
    plan_of,
    report_of,
    silent,
    work_of,
    written,
)

Rows = npt.NDArray[np.int64]

TOKENS = 8192
"""Tokens of a forward pass once its texts are filled up; a batch's passages take several."""


@dataclass(frozen=True)
class BiencoderRecipe:
    """How a bi-encoder is fitted.

    Attributes:
        schedule: Epochs, batches, rates, seed.
        mining: Where each pair's own negatives come from.
        temperature: What scores are divided by; with vectors of length 1, 0.05 is usual.
        longest: Tokens of a text that the fit reads; 0 as the base. The fitted model reads as its base does.

    Raises:
        UsageError: The temperature is not above 0, or the length below 0.
    """

    schedule: Schedule = field(default_factory=Schedule)
    mining: Mining = field(default_factory=Mining)
    temperature: float = 0.05
    longest: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.temperature < float("inf") or self.longest < 0:
            raise UsageError(
                f"temperature {self.temperature}, longest {self.longest}: a temperature above 0 and a length of at"
                " least 0 are due"
            )


def trained_biencoder(
    collection: Collection,
    task_name: str | None = None,
    *,
    base: Dense,
    out: Path,
    recipe: BiencoderRecipe | None = None,
    request: Request | None = None,
    told: Told = silent,
) -> TrainReport:
    """A bi-encoder fitted on train, the epoch chosen on dev, written as a folder that `dense` opens.

    Where no epoch does better on dev than the base, the folder holds the base as it was, and the report says so. A fit
    that was killed leaves its whole epochs in a folder beside `out`, whose name ends in `.training`; the same call goes
    on from there and ends with the same weights.

    Args:
        collection: Where the task is from; `assay.training.handed` takes from it what may be seen.
        task_name: The task; may be left out where there is one.
        base: The model to begin with, with its prompts and reading, which the fitted one keeps.
        out: A new folder, or that of an earlier fit.
        recipe: How; the defaults of `BiencoderRecipe` otherwise.
        request: What to choose by, and how many train queries to take.
        told: Is told how far it is.

    Raises:
        UsageError: There is no train or no dev split, or this base cannot be fitted.
        FileError: The folder cannot be written.
        FormatError: A fit with another recipe broke off in the folder of work.
        UnavailableError: PyTorch, Sentence Transformers or the base is missing.
    """
    recipe, request = recipe or BiencoderRecipe(), request or Request()
    target = place_of(out)
    given = request.thinned(lesson(collection, task_name, until=request.until))
    choice = Choice.of(given, request)
    _refuse_base(base)
    negatives = mined(given, recipe.mining, request, told)
    opening = base.recipe(queries=False).opening
    plan = plan_of("biencoder", base, opening.weights.identity, given, negatives, choice) | {"recipe": asdict(recipe)}
    # Only the fit may read less of a text; what is written reads as the base does.
    reading = replace(opening.reading, longest=recipe.longest or opening.reading.longest)
    model = replace(opening, reading=reading).open()
    if not isinstance(model, SentenceModel):
        raise UsageError(f"{short_call(base)} is not opened by Sentence Transformers, and cannot be fitted")
    preset = _preset(base, model)
    learner = BiencoderLearner(model, negatives, _texts(given.train.task, base), recipe.temperature, preset)
    dev = _Dev(choice, base)
    work = work_of(target)
    course = Fit(learner, recipe.schedule, dev, work, plan, told).course()
    folder = course.folder
    if course.best.value <= course.before + SAME:
        course = replace(course, best=Epoch(0, 0.0, course.before))
        folder = work / "base"
        if not folder.exists():
            _save(opening.open(), preset, folder)
    report = report_of(plan, course, choice, given, negatives, out=target, system=f"dense({str(target)!r})")
    written(report, folder, target, licence=preset.licence)
    return report


@dataclass(eq=False)
class BiencoderLearner:
    """A bi-encoder and the loss of a batch of pairs.

    Args:
        model: The base, opened.
        negatives: Pairs with their negatives.
        texts: Queries and passages as they are read, prompts in front, by row.
        temperature: What scores are divided by.
        preset: How the fitted model is to be read.
    """

    model: SentenceModel
    negatives: Negatives
    texts: tuple[Sequence[str], Sequence[str]]
    temperature: float
    preset: Preset

    def __post_init__(self) -> None:
        self.network, self.size = self.model.network, len(self.negatives)
        queries, passages = self.texts
        self._queries = _Tokens.of(self.model, queries, np.unique(self.negatives.query))
        wanted = np.unique(np.concatenate([self.negatives.positive, self.negatives.negative]))
        self._passages = _Tokens.of(self.model, passages, wanted)

    def loss(self, rows: Rows) -> Any:
        """The mean over pairs of the cross-entropy of the relevant passage among all that may stand beside it."""
        torch = needed("torch", "dense")
        query, own = self.negatives.query[rows], self.negatives.positive[rows]
        columns = np.unique(np.concatenate([own, *(self.negatives.of(row) for row in rows.tolist())]))
        label = np.searchsorted(columns, own)
        may = self.negatives.exclusions.in_batch(query, columns)
        may[np.arange(len(rows)), label] = True
        device = self.network.device
        asked, found = self._vectors(self._queries, query), self._vectors(self._passages, columns)
        scores = asked @ found.T / self.temperature
        scores = scores.masked_fill(~torch.from_numpy(may).to(device), float("-inf"))
        return torch.nn.functional.cross_entropy(scores, torch.from_numpy(label).to(device))

    def save(self, folder: Path) -> None:
        """Writes the model with its preset."""
        _save(self.model, self.preset, folder)

    def _vectors(self, tokens: _Tokens, rows: Rows) -> Any:
        """The vectors of some texts, in their order; long and short ones are not filled up together."""
        torch = needed("torch", "dense")
        places = np.searchsorted(tokens.rows, rows)
        groups = batches(tokens.prepared.lengths[places], tokens=TOKENS).rows
        made = [self.model.vectors([tokens.prepared.items[int(at)] for at in places[group]]) for group in groups]
        back = np.argsort(np.concatenate(groups))
        return torch.cat(made)[torch.from_numpy(back).to(self.network.device)]


@dataclass(frozen=True, eq=False)
class _Tokens:
    """Some texts as the model reads them; `rows` is sorted."""

    rows: Rows
    prepared: Prepared

    @classmethod
    def of(cls, model: SentenceModel, texts: Sequence[str], rows: Rows) -> _Tokens:
        return cls(rows, model.prepared([texts[row] for row in rows.tolist()]))


@dataclass(frozen=True)
class _Dev:
    """The base and what becomes of it, searched by the house."""

    choice: Choice
    base: Dense

    def before(self) -> float:
        """The base's value."""
        return self.choice.value(self.base)

    def of(self, folder: Path) -> float:
        """The value of the model in a folder."""
        return self.choice.value(Dense(str(folder), batch=self.base.batch, device=self.base.device))


def _refuse_base(base: Dense) -> None:
    if base.query_model:
        raise UsageError(f"{base.model} has an encoder of its own for queries ({base.query_model}); one is fitted here")
    if base.precision != "float32":
        raise UsageError(f"a fit needs float32, found precision {base.precision!r}; leave it out")
    recipe = base.recipe(queries=False)
    if not isinstance(recipe.opening.encoder, SentenceTransformers):
        raise UsageError(
            f"{base.model} is opened by {recipe.opening.encoder.name}; only models that Sentence Transformers opens can"
            " be fitted"
        )


def _texts(task: Any, base: Dense) -> tuple[list[str], list[str]]:
    """Queries and passages as `dense` reads them."""
    queries = without_tokens(task.queries.texts[task.query_view], task.mask)
    passages = without_tokens(task.passages.texts["plain"], task.mask)
    asked, read = base.recipe(queries=True).prompt, base.recipe(queries=False).prompt
    return [asked + text for text in queries], [read + text for text in passages]


def _preset(base: Dense, model: SentenceModel) -> Preset:
    known = preset_of(base.model)
    return Preset(
        dimensions=model.dimensions,
        reading=base.recipe(queries=False).opening.reading,
        source=f"fitted from {base.model}, and read as it is",
        licence="" if known is None else known.licence,
        query_prompt=base.query_prompt or "",
        passage_prompt=base.passage_prompt or "",
        task=base.task,
    )


def _save(model: Any, preset: Preset, folder: Path) -> None:
    with quiet_loading():
        model.network.save(str(folder), create_model_card=False)
    (folder / STORED).write_text(preset_text(preset), encoding="utf-8")
