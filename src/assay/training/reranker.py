"""Re-rankers: a model that reads a query and a passage together, fitted to score relevant pairs higher.

Two losses: `listwise`, the cross-entropy of the relevant passage among its negatives, and `binary`, whether each pair
is one of relevance. Either sees a query with its own negatives alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.call import short_call
from assay.collection import Collection
from assay.encoder import Weights, batches, needed, without_tokens
from assay.errors import FormatError, UnknownNameError, UsageError
from assay.network import quiet_loading, torch_device
from assay.preset import preset_of
from assay.retrieval.cross_encoder import CrossEncoder
from assay.retrieval.rerank import Rerank
from assay.system import System, refuse_no_count
from assay.task import Task
from assay.training.course import Fit, Schedule, Told, deterministic
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
from assay.weights import weights_of

Rows = npt.NDArray[np.int64]
LOSSES = ("listwise", "binary")
SCORES = "scores"
"""Folder beside a model in the folder of work, with what it scored of dev."""
TOKENS = 8192
"""Tokens of a forward pass once its pairs are filled up; a batch takes several."""


@dataclass(frozen=True)
class RerankerRecipe:
    """How a re-ranker is fitted.

    Attributes:
        first: The first stage whose candidates are re-ranked on dev, as a call.
        depth: How many of them are scored.
        schedule: Epochs, batches, rates, seed.
        mining: Where negatives come from; its system may be another one than the first stage.
        loss: `listwise` or `binary`.
        longest: Tokens of a pair that the fit reads; 0 as the base. The fitted model reads as its base does.

    Raises:
        UnknownNameError: There is no such loss.
        UsageError: The depth is below 1, the length below 0, or there are no negatives.
    """

    first: str = "bm25"
    depth: int = 20
    schedule: Schedule = field(default_factory=lambda: Schedule(batch=16))
    mining: Mining = field(default_factory=lambda: Mining(last=20))
    loss: str = "listwise"
    longest: int = 0

    def __post_init__(self) -> None:
        if self.loss not in LOSSES:
            raise UnknownNameError.of("loss of a re-ranker", self.loss, LOSSES)
        refuse_no_count("reranker", 1, depth=self.depth)
        refuse_no_count("reranker", 0, longest=self.longest)
        if not self.mining.count:
            raise UsageError("a re-ranker learns from negatives: take at least one a pair")


def trained_reranker(
    collection: Collection,
    task_name: str | None = None,
    *,
    base: CrossEncoder,
    out: Path,
    recipe: RerankerRecipe | None = None,
    request: Request | None = None,
    told: Told = silent,
) -> TrainReport:
    """A re-ranker fitted on train, the epoch chosen on dev, written as a folder that `rerank` opens.

    The base may be a cross-encoder, or any model of Transformers, a bi-encoder among them, which then gets a new last
    layer. The value before the fit is that of the first stage alone. Otherwise it is as `trained_biencoder`.

    Args:
        collection: Where the task is from; `assay.training.handed` takes from it what may be seen.
        task_name: The task; may be left out where there is one.
        base: The model to begin with.
        out: A new folder, or that of an earlier fit.
        recipe: How; the defaults of `RerankerRecipe` otherwise.
        request: What to choose by, and how many train queries to take.
        told: Is told how far it is.

    Raises:
        UsageError: There is no train or no dev split, or this base cannot be fitted.
        FileError: The folder cannot be written.
        FormatError: A fit with another recipe broke off in the folder of work.
        UnavailableError: PyTorch, Sentence Transformers or the base is missing.
    """
    recipe, request = recipe or RerankerRecipe(), request or Request()
    first = request.beside(recipe.first)
    target = place_of(out)
    given = request.thinned(lesson(collection, task_name, until=request.until))
    choice = Choice.of(given, request)
    if base.precision != "float32":
        raise UsageError(f"a fit needs float32, found precision {base.precision!r}; leave it out")
    weights = weights_of(base.model, revision=base.revision)
    negatives = mined(given, recipe.mining, request, told)
    if not len(negatives.negative):
        raise UsageError(f"{given.train.task.name}: no pair has a negative; draw from more ranks")
    plan = plan_of("reranker", base, weights.identity, given, negatives, choice) | {"recipe": asdict(recipe)}
    network = _network(weights, base, recipe.schedule.seed)
    longest = recipe.longest or base.longest or int(network.tokenizer.model_max_length)
    learner = RerankerLearner(network, negatives, _texts(given.train.task, base), recipe.loss, longest)
    dev, work = _Dev(choice, first, base, recipe.depth), work_of(target)
    course = Fit(learner, recipe.schedule, dev, work, plan, told).course()
    system = short_call(Rerank(first, dev.model(target), recipe.depth))
    report = report_of(plan, course, choice, given, negatives, out=target, system=system)
    known = preset_of(base.model)
    written(report, course.folder, target, licence="" if known is None else known.licence)
    return report


@dataclass(eq=False)
class RerankerLearner:
    """A cross-encoder and the loss of a batch of pairs.

    Args:
        network: The base, as Sentence Transformers holds it.
        negatives: Pairs with their negatives.
        texts: Queries and passages as they are read, by row.
        kind: Which loss.
        longest: Tokens of a pair.
    """

    network: Any
    negatives: Negatives
    texts: tuple[Sequence[str], Sequence[str]]
    kind: str
    longest: int

    def __post_init__(self) -> None:
        # A pair without a negative says nothing about an order.
        self._rows = np.flatnonzero(np.diff(self.negatives.offsets))
        self.size = len(self._rows)

    def loss(self, rows: Rows) -> Any:
        """The mean loss of some pairs."""
        torch = needed("torch", "dense")
        functional = torch.nn.functional
        rows = self._rows[rows]
        lists = [np.concatenate([self.negatives.positive[[row]], self.negatives.of(row)]) for row in rows.tolist()]
        query = np.repeat(self.negatives.query[rows], list(map(len, lists)))
        score = self._scores(query, np.concatenate(lists))
        borders = np.cumsum([0, *map(len, lists)]).tolist()
        if self.kind == "binary":
            relevant = torch.zeros_like(score)
            relevant[borders[:-1]] = 1.0
            return functional.binary_cross_entropy_with_logits(score, relevant)
        each = [-functional.log_softmax(score[low:high], 0)[0] for low, high in pairwise(borders)]
        return torch.stack(each).mean()

    def save(self, folder: Path) -> None:
        """Writes the model."""
        with quiet_loading():
            self.network.save(str(folder), create_model_card=False)

    def _scores(self, query: Rows, passage: Rows) -> Any:
        """The scores of pairs, in their order; long and short ones are not filled up together."""
        torch, device = needed("torch", "dense"), self.network.device
        queries, passages = self.texts
        asked, found = [queries[row] for row in query.tolist()], [passages[row] for row in passage.tolist()]
        cut: dict[str, Any] = {"truncation": "longest_first", "max_length": self.longest}
        read = self.network.tokenizer(asked, found, verbose=False, **cut)
        groups = batches(np.array([len(ids) for ids in read["input_ids"]], np.int64), tokens=TOKENS).rows
        made = []
        for group in groups:
            own = {name: [ids[row] for row in group.tolist()] for name, ids in read.items()}
            batch = self.network.tokenizer.pad(own, return_tensors="pt")
            out = self.network({name: value.to(device) for name, value in batch.items()})
            made.append(out["scores"].reshape(-1))
        back = np.argsort(np.concatenate(groups))
        return torch.cat(made)[torch.from_numpy(back).to(device)]


@dataclass(frozen=True)
class _Dev:
    """The first stage, and what becomes of its candidates."""

    choice: Choice
    first: System
    base: CrossEncoder
    depth: int

    def before(self) -> float:
        """The value of the first stage alone."""
        return self.choice.value(self.first)

    def of(self, folder: Path) -> float:
        """The value with the model in a folder; scores are kept beside it, so that none is made again after a kill."""
        keeping = replace(self.model(folder), store=str(folder.with_name(SCORES)))
        return self.choice.value(Rerank(self.first, keeping, self.depth))

    def model(self, folder: Path) -> CrossEncoder:
        """The model in a folder as the base is read."""
        return replace(self.base, model=str(folder), revision="", store="")


def _network(weights: Weights, base: CrossEncoder, seed: int) -> Any:
    """The base with one number a pair; what it lacks is drawn from the seed."""
    torch, library = needed("torch", "dense"), needed("sentence_transformers", "dense")
    place = torch_device(base.device)
    with quiet_loading(), deterministic(place):
        torch.manual_seed(seed)
        try:
            network = library.CrossEncoder(str(weights.folder), num_labels=1, device=place, local_files_only=True)
        except (OSError, ValueError, KeyError, RuntimeError) as err:
            said = (str(err).strip().splitlines() or [type(err).__name__])[0][:200]
            raise FormatError(f"{weights.model}: {weights.folder} is no model for a cross-encoder ({said})") from None
    return network.float()


def _texts(task: Task, base: CrossEncoder) -> tuple[list[str], list[str]]:
    """Queries and passages as `cross_encoder` reads them."""
    queries = without_tokens(task.queries.texts[task.query_view], task.mask)
    passages = without_tokens(task.passages.texts[base.text], task.mask)
    return [base.query_prompt + text for text in queries], [base.passage_prompt + text for text in passages]
