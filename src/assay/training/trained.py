"""Trained models: what a fit is asked, what it came to, and the folder that it leaves.

The folder holds the model as the house opens it, `training.json` with everything that made it, and a card, `README.md`.
It is written whole or not at all.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import assay
from assay import catalog
from assay.call import placed
from assay.encoder import needed
from assay.evaluation import judge
from assay.formats.folders import replaceable, replacing_folder
from assay.harness import retrieve
from assay.measure import Measure
from assay.system import System, spec_of
from assay.task import Task
from assay.training.card import card
from assay.training.course import Course, Epoch, Told
from assay.training.handed import Lesson, qrels_digest
from assay.training.negatives import Mining, Negatives, drawn, mining_task
from assay.training.weights import passage_measure

RECORD, CARD = "training.json", "README.md"


def silent(line: str) -> None:
    """Is told how far it is, and tells nobody."""


@dataclass(frozen=True)
class Request:
    """What else a fit is asked.

    Attributes:
        measure: What to compare values on dev by; the task's first measure where empty.
        depth: Passages per query of dev; the task's depth where 0.
        until: The last day of the train period, YYYY-MM-DD; where empty, what the collection says.
        most_queries: Train queries to fit on at most, a seeded sample; 0 for all.
        seed: Of the sample.
        where: Fields that say where the systems beside the fitted one, which negatives are drawn from and which come
            first, compute and keep what they made (`assay.call.placed`); no part of the recipe.
    """

    measure: str = ""
    depth: int = 0
    until: str = ""
    most_queries: int = 0
    seed: int = 1
    where: Mapping[str, Any] = field(default_factory=dict)

    def beside(self, call: str) -> System:
        """A system beside the fitted one."""
        made: System = placed(catalog.system(call), **self.where)
        return made

    def thinned(self, given: Lesson) -> Lesson:
        """The lesson with as many train queries as asked for."""
        task = given.train.task
        size = len(task.qrels.queries)
        if not self.most_queries or size <= self.most_queries:
            return given
        chosen = sorted(random.Random(self.seed).sample(range(size), self.most_queries))
        thinner = replace(task, qrels=task.qrels.take(np.array(chosen, np.int64)))
        return replace(given, train=replace(given.train, task=thinner, drawn_from=size, seed=self.seed))


@dataclass(frozen=True)
class Choice:
    """How a model is chosen: a measure on dev, at a depth."""

    task: Task
    measure: Measure
    depth: int

    @classmethod
    def of(cls, given: Lesson, request: Request) -> Choice:
        """The choice on dev that is asked for."""
        task = given.dev.task
        return cls(task, passage_measure(request.measure or task.measures[0]), request.depth or task.depth)

    def value(self, system: System) -> float:
        """The mean of a system on dev, as the house runs and judges it."""
        run = retrieve(self.task, system, depth=self.depth)
        return float(np.mean(self.measure.score(judge(run, self.task.qrels))))


@dataclass(frozen=True)
class LeftOut:
    """Something that a fit left out, and how often."""

    reason: str
    count: int


@dataclass(frozen=True)
class TrainReport:
    """A fit: what was fitted, on what, and how it came out.

    Attributes:
        system: The fitted model as a system, to be given to `assay run`.
        kind: `biencoder` or `reranker`.
        out: The model's folder.
        base, base_identity, licence: What was fitted, and what pins it.
        collection, digest, task: Where the judgements are from.
        train, dev, negatives: SHA-256 over the judgements of train and dev, and over pairs and negatives.
        until, until_from: The last day of the train period, and what says so; empty without dates.
        queries, pairs, drawn_from: Train queries, pairs of a query and a relevant passage, and of how many train
            queries they are a sample; None where all were taken.
        mined: Negatives in all.
        dev_queries: Queries of dev.
        left_out: What was left out of the fit, by reason.
        measure, depth: What was compared on dev.
        before: The value on dev before the fit.
        curve: Every epoch with its loss and its value on dev.
        kept: The epoch whose model was kept; 0: the base, for no epoch did better.
        value: Its value on dev.
        stopped: Why there was no further epoch.
        spec: Everything else that the result depends on: the recipe, the base's fields, versions.
    """

    system: str
    kind: str
    out: str
    base: str
    base_identity: str
    licence: str
    collection: str
    digest: str
    task: str
    train: str
    dev: str
    negatives: str
    until: str
    until_from: str
    queries: int
    pairs: int
    drawn_from: int | None
    mined: int
    dev_queries: int
    left_out: tuple[LeftOut, ...]
    measure: str
    depth: int
    before: float
    curve: tuple[Epoch, ...]
    kept: int
    value: float
    stopped: str
    spec: Mapping[str, Any]


def mined(given: Lesson, mining: Mining, request: Request, told: Told) -> Negatives:
    """The pairs of train, with negatives from the ranked passages of the system that is asked for."""
    told(f"mining negatives with {mining.system}")
    task = mining_task(given)
    run = retrieve(task, request.beside(mining.system), depth=mining.last)
    return drawn(given, run, mining)


def plan_of(kind: str, base: Any, identity: str, given: Lesson, negatives: Negatives, choice: Choice) -> dict[str, Any]:
    """All that a fit depends on besides its recipe, as plain values; no path of the result and no device."""
    libraries = {name: needed(name, "dense").__version__ for name in ("torch", "transformers", "sentence_transformers")}
    return {
        "kind": kind,
        "base": spec_of(base),
        "base_identity": identity,
        "collection": given.collection,
        "digest": given.digest,
        "task": given.train.task.name,
        "train": qrels_digest(given.train.task),
        "dev": qrels_digest(given.dev.task),
        "negatives": negatives.digest,
        "until": "" if given.until is None else str(given.until),
        "measure": str(choice.measure),
        "depth": choice.depth,
        "versions": {"assay": assay.__version__, **libraries},
    }


def report_of(
    plan: Mapping[str, Any],
    course: Course,
    choice: Choice,
    given: Lesson,
    negatives: Negatives,
    *,
    out: Path,
    system: str,
) -> TrainReport:
    """The report of a fit that has ended."""
    counts = dict(negatives.counts)
    if given.train.left_out:
        counts["train queries that are queries of dev or test too"] = given.train.left_out
    if given.dev.left_out:
        counts["dev queries that are test queries too"] = given.dev.left_out
    return TrainReport(
        system=system,
        kind=plan["kind"],
        out=str(out),
        base=plan["base"]["model"],
        base_identity=plan["base_identity"],
        licence="",
        collection=plan["collection"],
        digest=plan["digest"],
        task=plan["task"],
        train=plan["train"],
        dev=plan["dev"],
        negatives=plan["negatives"],
        until=plan["until"],
        until_from=given.until_from,
        queries=len(np.unique(negatives.query)),
        pairs=len(negatives),
        drawn_from=given.train.drawn_from,
        mined=len(negatives.negative),
        dev_queries=len(choice.task.rows),
        left_out=tuple(LeftOut(reason, count) for reason, count in sorted(counts.items())),
        measure=plan["measure"],
        depth=plan["depth"],
        before=course.before,
        curve=course.curve,
        kept=course.best.epoch,
        value=course.best.value,
        stopped=course.stopped,
        spec={name: plan[name] for name in ("recipe", "base", "versions")},
    )


def place_of(out: Path) -> Path:
    """Where the model goes, links followed, once it may be written there.

    Raises:
        FileError: Something else than an earlier fit stands there.
    """
    return replaceable(out, mark=RECORD)


def work_of(target: Path) -> Path:
    """Where a fit keeps its whole epochs until it has ended."""
    return target.with_name(f"{target.name}.training")


def written(report: TrainReport, model: Path, target: Path, *, licence: str) -> None:
    """Writes a model's folder with its record and its card, and clears the folder of work away."""
    report = replace(report, licence=licence)
    record = {name: value for name, value in asdict(report).items() if name not in ("out", "system")}
    with replacing_folder(target, mark=RECORD) as part:
        shutil.copytree(model, part, dirs_exist_ok=True)
        (part / RECORD).write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        (part / CARD).write_text(card(record), encoding="utf-8")
    shutil.rmtree(work_of(target), ignore_errors=True)
