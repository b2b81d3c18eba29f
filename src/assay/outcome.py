"""Outcomes: what came of an experiment. What is stored already is read, everything else is run and stored."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from assay import catalog, experiment
from assay.call import placed, short_call
from assay.collection import Collection
from assay.errors import DataError, UnavailableError, UnknownNameError, UsageError, ViewError
from assay.evaluation import floors
from assay.executor import Work
from assay.experiment import Compared, Judging, Result
from assay.experiment_file import Entry, Experiment, Target, read_experiment
from assay.formats.results import SPEC
from assay.harness import recipe_of
from assay.run import Run
from assay.scores import Scores
from assay.sources import open_collection
from assay.system import System
from assay.task import Task
from assay.views import views_read
from assay.weights import identities_of

Told = Callable[[str], None]


@dataclass(frozen=True)
class NotRun:
    """A system that could not run on a task, with the reason; `system` is empty where the collection is not there."""

    system: str
    collection: str
    task: str
    split: str
    reason: str


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of an experiment.

    Attributes:
        experiment: What was asked.
        results: A result for each system that ran, by task, system and seed in the order asked for.
        floors: The floors and ceilings beside them.
        not_run: What this machine lacks something for.
        compared: The paired tests, of the first seed; a family for each task and split with two systems.
        found: How many results were stored already and not run again.
        opened: The collections, by the places that they were opened from.
    """

    experiment: Experiment
    results: tuple[Result, ...]
    floors: tuple[Result, ...]
    not_run: tuple[NotRun, ...]
    compared: tuple[Compared, ...]
    found: int
    opened: Mapping[str, Collection]

    @property
    def shown(self) -> tuple[Result, ...]:
        """Systems, then floors."""
        return (*self.results, *self.floors)


def run_experiment(
    asked: Experiment | str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    indexes: Path | None = None,
    work: Work | None = None,
    where: Mapping[str, Any] = MappingProxyType({}),
    told: Told = lambda _: None,
) -> Outcome:
    """The outcome of an experiment, or of a file that declares one.

    A result that `out` holds with the same recipe and weights on the same files is read and not run; each further one
    is stored as soon as it is there, so that what was stopped goes on where it stopped. Systems and collections for
    which this machine lacks something are listed, and the others run. Collections stay open until the end.

    Args:
        asked: The experiment, or the path of its TOML file.
        out: Folder of results; None stores none, and finds none.
        indexes: Folder in which indexes are kept and found again.
        work: Where and by whom representers are run in shards; results are the same.
        where: Fields that say where systems compute and keep what they made (`assay.call.placed`).
        told: Called with a line on what is being done.

    Raises:
        UsageError: The file is wrong, a task cannot have a floor, or a collection is not there.
        UnknownNameError: A collection lacks a task or split.
        ViewError: A task refuses a system; nothing has run then.
        DataError: A collection is wrong, or a system broke its contract.

    Example:
        >>> from assay.experiment_file import Entry
        >>> made = run_experiment(Experiment("e", (Target("demo:chunks"),), (Entry.of("bm25"),), resamples=50))
        >>> [(r.system, r.task) for r in made.results]
        [('bm25', 'passages')]
    """
    wanted = asked if isinstance(asked, Experiment) else read_experiment(asked)
    bench = _Bench(wanted, None if out is None else Path(out), indexes, where, told, work)
    bench.open_all()
    runs = bench.checked_runs()
    beside = [(made, *opened) for opened in bench.tasks.values() for made in bench.floors_of(opened[1])]
    results = list(bench.results_of(runs))
    lowest = [experiment.judged_run(run, c, task, judging=wanted.judging) for run, c, task in beside]
    tested = [result for run, result in results if run.seed == wanted.seeds[0]]
    return Outcome(
        wanted,
        tuple(result for _, result in results),
        tuple(lowest),
        tuple(bench.not_run),
        tuple(_compared(tested, wanted)),
        bench.found,
        bench.opened,
    )


@dataclass(frozen=True)
class _Asked:
    """One run that is asked for."""

    entry: Entry
    target: Target
    seed: int
    label: str


@dataclass
class _Bench:
    """Where an experiment is done: what is open, what could not be had."""

    wanted: Experiment
    out: Path | None
    indexes: Path | None
    where: Mapping[str, Any]
    told: Told
    work: Work | None
    opened: dict[str, Collection] = field(default_factory=dict)
    tasks: dict[Target, tuple[Collection, Task]] = field(default_factory=dict)
    not_run: list[NotRun] = field(default_factory=list)
    found: int = 0

    def open_all(self) -> None:
        """Opens the collections and finds the tasks; a collection that cannot be had is noted."""
        for target in self.wanted.targets:
            place = target.collection
            try:
                if place not in self.opened:
                    self.told(f"reading {place}")
                    self.opened[place] = open_collection(place, told=self.told)
            except UnavailableError as err:
                self.not_run.append(NotRun("", place, target.task, target.split, str(err)))
                continue
            collection = self.opened[place]
            task = collection.task(target.task or None, split=target.split or None)
            # Two spellings of one path, or a task named here and meant by default there.
            key = (collection.digest, task.name, task.split)
            if any(key == (c.digest, other.name, other.split) for c, other in self.tasks.values()):
                raise UsageError(f"collections: {place}/{task.name}, split {task.split}, stands twice; take one out")
            self.tasks[target] = collection, task

    @cached_property
    def systems(self) -> dict[str, System]:
        """The systems by their names; those that this machine cannot make are noted."""
        made: dict[str, System] = {}
        for entry in self.wanted.systems:
            try:
                made[entry.name] = placed(catalog.system(entry.call), **self.where)
            except UnavailableError as err:
                for target, (collection, task) in self.tasks.items():
                    if _runs_on(entry, target, task):
                        self.not_run.append(NotRun(entry.name, collection.name, task.name, task.split, str(err)))
        return made

    def checked_runs(self) -> list[_Asked]:
        """All runs in order; a task that refuses a system, or a name of a task that there is not, ends it all."""
        several, asked = len(self.wanted.seeds) > 1, []
        known = {t.name for _, t in self.tasks.values()} | {t.task for t in self.wanted.targets if t.task}
        for entry in self.wanted.systems:
            for name in entry.tasks:
                if name not in known:
                    raise UnknownNameError(f"system {entry.name}: {UnknownNameError.of('task', name, known)}")
        for target, (collection, task) in self.tasks.items():
            for entry in self.wanted.systems:
                if entry.name not in self.systems or not _runs_on(entry, target, task):
                    continue
                try:
                    views_read(task, self.systems[entry.name])
                except ViewError as err:
                    raise ViewError(
                        f"system {entry.name} on {collection.name}/{task.name}: {err} (to run it on other tasks alone, "
                        f"write [systems] {entry.name} = {{call = …, tasks = […]}})"
                    ) from None
                for seed in self.wanted.seeds:
                    label = f"{entry.name}, seed {seed}" if several else entry.name
                    asked.append(_Asked(entry, target, seed, label))
        return asked

    def floors_of(self, task: Task) -> Iterator[Run]:
        """The floors and ceilings on a task."""
        return (floors.named(name)(task) for name in self.wanted.floors)

    def results_of(self, runs: list[_Asked]) -> Iterator[tuple[_Asked, Result]]:
        """Each result with what was asked; what cannot run is noted."""
        for number, run in enumerate(runs, 1):
            collection, task = self.tasks[run.target]
            self.told(f"{number} of {len(runs)}: {run.label} on {collection.name}/{task.name}, split {task.split}")
            try:
                result, was_there = result_of(
                    (collection, task),
                    self.systems[run.entry.name],
                    judging=self.wanted.judging,
                    depth=self.wanted.depth,
                    seed=run.seed,
                    out=self.out,
                    indexes=self.indexes,
                    work=self.work,
                )
            except UnavailableError as err:
                self.not_run.append(NotRun(run.label, collection.name, task.name, task.split, str(err)))
                continue
            self.found += was_there
            yield run, replace(result, system=run.label)


def _runs_on(entry: Entry, target: Target, task: Task) -> bool:
    return not entry.tasks or task.name in entry.tasks or target.task in entry.tasks


def _compared(results: list[Result], wanted: Experiment) -> list[Compared]:
    """The families of tests for which at least two systems ran, the baseline among them where there is one."""
    if wanted.tests is None:
        return []
    first = f", seed {wanted.seeds[0]}" if len(wanted.seeds) > 1 else ""
    baseline = wanted.tests.baseline + first if wanted.tests.baseline else None
    groups: dict[tuple[str, ...], list[Result]] = {}
    for r in results:
        groups.setdefault((r.collection, r.digest, r.task, r.split), []).append(r)
    testable = [
        r
        for group in groups.values()
        if len(group) > 1 and (baseline is None or baseline in [r.system for r in group])
        for r in group
    ]
    if not testable:
        return []
    return experiment.comparisons(
        testable, judging=wanted.judging, baseline=baseline, all_measures=wanted.tests.all_measures
    )


def result_of(
    asked: tuple[Collection, Task],
    system: System,
    *,
    judging: Judging,
    depth: int | None = None,
    seed: int = 0,
    out: Path | None = None,
    indexes: Path | None = None,
    work: Work | None = None,
) -> tuple[Result, bool]:
    """The result of a system on a task of a collection, and whether it was stored below `out` already.

    A stored run that was judged otherwise is judged again and not run. A stored result that is damaged, or that other
    weights made than those that a model's name stands for now, is made anew.

    Raises:
        UnavailableError: What the system needs is missing.
        DataError: The system broke its contract, or there is nothing to search.
    """
    collection, task = asked
    if out is not None:
        before = _stored(out, asked, system, depth=task.depth if depth is None else depth, seed=seed)
        if before is not None and _judged_alike(before, judging, task):
            names = judging.names(task.measures)
            return replace(before, scores=tuple(before.scores_of(name) for name in names)), True
        if before is not None:
            again = experiment.judged_run(before.run, collection, task, judging=judging, label=short_call(system))
            experiment.store(again, out)
            return again, True
    how: dict[str, Any] = {"depth": depth, "seed": seed, "indexes": indexes, "work": work}
    made = experiment.run_system(collection, task, system, judging=judging, **how)
    if out is not None:
        experiment.store(made, out)
    return made, False


def _stored(out: Path, asked: tuple[Collection, Task], system: System, *, depth: int, seed: int) -> Result | None:
    """The stored result of the same recipe on the same files, as if it had been run now."""
    collection, task = asked
    # As a file gives it back: lists where the system has tuples.
    spec = json.loads(json.dumps(recipe_of(system, views_read(task, system), depth=depth, seed=seed)))
    made = Run.of({}, name=system.name, spec=spec)
    wanted = Result(
        short_call(system), collection.name, task.name, task.split, made, (), collection.digest, spec, collection.place
    )
    place = out / wanted.folder
    if not (place / SPEC).is_file():
        return None
    with suppress(DataError):
        [found] = experiment.stored(place)
        same = (found.digest, found.task, found.split, found.spec) == (wanted.digest, task.name, task.split, spec)
        same = same and _weights_alike(found.run, system)
        return replace(found, system=wanted.system, place=wanted.place) if same else None
    return None


def _weights_alike(run: Run, system: System) -> bool:
    """Whether a run's models are what their names stand for now; True where that cannot be told on this machine."""
    made = {
        (record.get(f"{whose}model"), record.get(f"{whose}identity", "").partition(",")[0])
        for record in run.models
        for whose in ("", "query ")
    }
    known = {model for model, identity in made if identity}
    try:
        now = identities_of(system) if known else {}
    except (UnavailableError, DataError):
        return True
    return all((model, identity) in made for model, identity in now.items() if model in known)


def _judged_alike(before: Result, judging: Judging, task: Task) -> bool:
    """Whether a stored result has the scores asked for, with the intervals asked for."""
    have = {scores.measure: scores for scores in before.scores}
    return all(name in have and _alike(have[name], judging) for name in judging.names(task.measures))


def _alike(scores: Scores, judging: Judging) -> bool:
    made = scores.interval
    # An interval without resampling is the same for every request.
    drawn = made.resamples == judging.resamples and made.seed == judging.seed and made.method == judging.method
    return drawn or (made.resamples == 0 and made.seed == judging.seed)
