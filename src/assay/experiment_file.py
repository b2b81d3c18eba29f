"""Experiments as data: which systems run on which tasks, with which seeds and measures, as a TOML file says it.

The keys are in docs/experiments.md. A key that is not known, a name that stands twice and a system, measure or floor
that does not exist are errors when the file is read, before anything runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay import catalog
from assay.call import short_call
from assay.errors import FormatError, UnavailableError, UnknownNameError, UsageError
from assay.evaluation import floors
from assay.evaluation.intervals import METHODS
from assay.experiment import Judging
from assay.formats.declared import TABLES, Keys, read_toml, refuse_unknown
from assay.sources import is_name

SUFFIX = ".toml"
_TEXTS = (str, list[str])
_KEYS: dict[str, Keys] = {
    "": {
        "name": str,
        "collections": _TEXTS,
        "collection": TABLES,
        "tasks": _TEXTS,
        "splits": _TEXTS,
        "systems": (str, list[str], dict),
        "floors": _TEXTS,
        "measures": _TEXTS,
        "seeds": (int, list[int]),
        "depth": int,
        "interval": str,
        "resamples": int,
        "tests": (bool, dict),
    },
    "collection": {"place": str, "tasks": _TEXTS, "splits": _TEXTS},
    "system": {"call": str, "tasks": _TEXTS},
    "tests": {"baseline": str, "all_measures": bool},
}


@dataclass(frozen=True)
class Target:
    """A task that systems run on.

    Attributes:
        collection: A path or a name.
        task: Empty for the only task of the collection.
        split: Empty for the task's usual split.
    """

    collection: str
    task: str = ""
    split: str = ""


@dataclass(frozen=True)
class Entry:
    """A system of an experiment.

    Attributes:
        name: What it is called in tables.
        call: The system as a call.
        tasks: The only tasks that it runs on; empty: all.
    """

    name: str
    call: str
    tasks: tuple[str, ...] = ()

    @classmethod
    def of(cls, call: str) -> Entry:
        """A system that is called by the shortest call that makes it.

        Example:
            >>> Entry.of("bm25(k1=1.2)").name
            'bm25'
        """
        return cls(_shortest(call), call)


@dataclass(frozen=True)
class Paired:
    """Which paired tests are made on each task and split, corrected together.

    Attributes:
        baseline: The system that all others are compared with; empty: all pairs.
        all_measures: Whether every measure is tested; else the first alone.
    """

    baseline: str = ""
    all_measures: bool = False


@dataclass(frozen=True)
class Experiment:
    """An experiment: everything that is run, and how it is judged.

    Attributes:
        name: What it is called; its report is `NAME.html`.
        targets: Tasks, in the order of the tables.
        systems: In the order of the rows.
        floors: Floors and ceilings beside them, by name.
        measures: By name; empty: each task's own.
        seeds: Seeds of the order in which rows are handed out; the first one is that of intervals and tests too.
        depth: Passages per query; None: each task's own.
        interval, resamples: As in `experiment.Judging`.
        tests: Which tests; None: none.

    Raises:
        UsageError: A value is out of range, a list is empty, or something stands twice.
        UnknownNameError: There is no such system, measure, floor or interval, or the baseline is none of the systems.

    Example:
        >>> Experiment("e", (Target("demo:chunks"),), (Entry.of("bm25"),)).seeds
        (0,)
    """

    name: str
    targets: tuple[Target, ...]
    systems: tuple[Entry, ...]
    floors: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (0,)
    depth: int | None = None
    interval: str = "bca"
    resamples: int = 10_000
    tests: Paired | None = field(default_factory=Paired)

    def __post_init__(self) -> None:
        if not self.name or self.name.startswith(".") or {"/", "\\"} & set(self.name):
            raise UsageError(f"name: {self.name!r} is no file's name; write letters and digits, as in 'baselines'")
        for key, values in (("collections", self.targets), ("systems", self.systems), ("seeds", self.seeds)):
            if not values:
                raise UsageError(f"{key}: there is none; an experiment needs at least one")
        _check_systems(self.systems)
        _refuse_twice("collections", [_written(target) for target in self.targets])
        _refuse_twice("seeds", self.seeds)
        _refuse_twice("measures", [_checked("measures", _measure_name, measure) for measure in self.measures])
        _refuse_twice("floors", [_checked("floors", _floor_name, floor) for floor in self.floors])
        for key, value, least in (
            ("seeds", min(self.seeds), 0),
            ("depth", 1 if self.depth is None else self.depth, 1),
            ("resamples", self.resamples, 1),
        ):
            if value < least:
                raise UsageError(f"{key}: must be at least {least}, found {value}")
        if self.interval not in METHODS:
            raise UnknownNameError(f"interval: {UnknownNameError.of('interval', self.interval, METHODS)}")
        names = [entry.name for entry in self.systems]
        if self.tests is not None and self.tests.baseline and self.tests.baseline not in names:
            raise UnknownNameError(f"[tests] baseline: {UnknownNameError.of('system', self.tests.baseline, names)}")

    @property
    def judging(self) -> Judging:
        """How runs are judged."""
        return Judging(self.measures, self.interval, self.resamples, self.seeds[0])


def _written(target: Target) -> str:
    return f"{target.collection}/{target.task or '(its only task)'}, split {target.split or 'test'},"


def _checked(key: str, made: Callable[[str], str], text: str) -> str:
    """What is made of a text of a key; an error names the key."""
    try:
        return made(text)
    except UsageError as err:
        raise type(err)(f"{key}: {err}") from None


def _measure_name(text: str) -> str:
    return Judging((text,)).names(())[0]


def _floor_name(text: str) -> str:
    floors.named(text)
    return text.strip()


def _check_systems(systems: Sequence[Entry]) -> None:
    calls: dict[str, str] = {}
    _refuse_twice("systems", [entry.name for entry in systems])
    for entry in systems:
        call = _checked("systems", _shortest, entry.call)
        if call in calls:
            raise UsageError(f"systems: {calls[call]} and {entry.name} are one system, {call}; take one of them out")
        calls[call] = entry.name


def _shortest(call: str) -> str:
    """The shortest call of a system; as it is written where this machine lacks what it takes to make it."""
    try:
        return short_call(catalog.system(call))
    except UnavailableError:
        return call.strip()


def _refuse_twice(key: str, values: Sequence[Any]) -> None:
    twice = next((value for at, value in enumerate(values) if value in values[:at]), None)
    if twice is not None:
        raise UsageError(f"{key}: {twice} stands twice; take one of them out")


def read_experiment(path: str | os.PathLike[str]) -> Experiment:
    """The experiment that a TOML file declares; its paths are relative to the file.

    Raises:
        FileError: The file cannot be read.
        FormatError: It is not TOML, or a value is of the wrong type; the message names file and key.
        UsageError: A value is out of range, is missing or stands twice.
        UnknownNameError: A key, system, measure, floor or interval is not known; near names are offered.
    """
    file = Path(path)
    stated = read_toml(file)
    refuse_unknown(stated, _KEYS[""], file.name)
    plain = {key: stated[key] for key in ("depth", "interval", "resamples") if key in stated}
    several: dict[str, Any] = {key: _listed(stated[key]) for key in ("floors", "measures", "seeds") if key in stated}
    systems = _systems(stated, file.name)
    targets = _targets(stated, file)
    tests = _tests(stated.get("tests", True), file.name)
    try:
        return Experiment(stated.get("name", file.stem), targets, systems, tests=tests, **several, **plain)
    except UsageError as err:
        raise type(err)(f"{file.name}: {err}") from None


def _listed(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list) else (value,)


def _systems(stated: Mapping[str, Any], place: str) -> tuple[Entry, ...]:
    if "systems" not in stated:
        raise FormatError(f"{place}: systems is missing; name them, as in systems = ['bm25', \"bm25('english')\"]")
    given = stated["systems"]
    if not isinstance(given, dict):
        return tuple(Entry(_checked(f"{place}: systems", _shortest, call), call) for call in _listed(given))
    return tuple(_named(name, value, place) for name, value in given.items())


def _named(name: str, value: Any, place: str) -> Entry:
    if isinstance(value, str):
        return Entry(name, value)
    if not isinstance(value, dict):
        raise FormatError(f"{place} [systems] {name}: expected a call as a text, or a table with call, got {value!r}")
    refuse_unknown(value, _KEYS["system"], f"{place} [systems.{name}]")
    if "call" not in value:
        raise FormatError(f"{place} [systems.{name}]: call is missing; write the system, as in call = 'bm25'")
    return Entry(name, value["call"], _listed(value.get("tasks", [])))


def _targets(stated: Mapping[str, Any], file: Path) -> tuple[Target, ...]:
    if ("collections" in stated) == ("collection" in stated):
        raise FormatError(f"{file.name}: say either collections (a list of places) or [[collection]] (tables)")
    shared = {key: stated[key] for key in ("tasks", "splits") if key in stated}
    tables = stated.get("collection", [{"place": place} for place in _listed(stated.get("collections", []))])
    targets: list[Target] = []
    for number, table in enumerate(tables, 1):
        refuse_unknown(table, _KEYS["collection"], f"{file.name} [[collection]] {number}")
        if not table.get("place"):
            raise FormatError(f"{file.name} [[collection]] {number}: place is missing; write a path or a name")
        asked = {**shared, **table}
        targets += _tasks_of(_found_from(file, table["place"]), asked.get("tasks"), asked.get("splits"))
    return tuple(targets)


def _tasks_of(place: str, tasks: Any, splits: Any) -> Iterable[Target]:
    for task in _listed("" if tasks is None else tasks):
        for split in _listed("" if splits is None else splits):
            yield Target(place, task, split)


def _found_from(file: Path, place: str) -> str:
    """A place as seen from here: a name as it is, a path from the folder of the file."""
    return place if is_name(place) else os.path.join(os.path.dirname(file), os.path.expanduser(place))


def _tests(value: bool | dict[str, Any], place: str) -> Paired | None:
    if isinstance(value, bool):
        return Paired() if value else None
    refuse_unknown(value, _KEYS["tests"], f"{place} [tests]")
    return Paired(value.get("baseline", ""), value.get("all_measures", False))
