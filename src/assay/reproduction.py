"""Reproductions: published numbers as data, what this machine can run of them, and whether it comes out the same.

A publication is a TOML file, its own under `published/` or one of yours: for each number the system as a call, the
collection, task, split and measure, the value, and what it takes. What the machine lacks something for is said in its
row; it is no failure.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from assay import catalog
from assay.collection import Collection
from assay.errors import FormatError, UnavailableError, UnknownNameError, UsageError, ViewError
from assay.experiment import Judging, Result
from assay.formats.declared import TABLES, Keys, read_toml, refuse_unknown
from assay.network import torch_device
from assay.outcome import result_of
from assay.scores import Interval
from assay.sources import open_collection

_KEYS: dict[str, Keys] = {
    "": {
        "title": str,
        "source": str,
        "collection": str,
        "obtained": str,
        "passages": int,
        "digits": int,
        "tolerance": float,
        "number": TABLES,
    },
    "number": {
        "collection": str,
        "task": str,
        "split": str,
        "measure": str,
        "value": float,
        "systems": (str, list[str]),
        "queries": int,
        "gpu": bool,
        "hub": bool,
        "hours": float,
        "cannot": str,
        "note": str,
    },
}
Told = Callable[[str], None]


@dataclass(frozen=True)
class Published:
    """One published number.

    Attributes:
        collection: A path or a name; empty: that of the publication.
        task, split, measure, value: What was published.
        systems: Calls that may have given it; several where the source does not say which.
        queries: How many queries it is a mean over; 0 where the source does not say.
        gpu, hub, hours: What it takes: a GPU, a model of the hub, about how many hours.
        cannot: Why no system can give it; empty where one can.
        note: What to know of it.
    """

    collection: str
    task: str
    split: str
    measure: str
    value: float
    systems: tuple[str, ...]
    queries: int = 0
    gpu: bool = False
    hub: bool = False
    hours: float = 0.0
    cannot: str = ""
    note: str = ""

    @property
    def needs(self) -> tuple[str, ...]:
        """What it takes besides the collection, in words.

        Example:
            >>> Published("", "answer", "test", "RR@10", 0.5, ("bm25",), gpu=True, hours=0.5).needs
            ('a GPU', 'about 0.5 hours')
        """
        hours = f"about {self.hours:g} hour{'' if self.hours == 1 else 's'}" if self.hours else ""
        needs = ("a GPU" if self.gpu else "", "a model of the hub" if self.hub else "", hours)
        return tuple(need for need in needs if need)


@dataclass(frozen=True)
class Publication:
    """Numbers that were published together.

    Attributes:
        name, title, source: What it is called, and where the numbers stand.
        collection: The collection that they were got on, a path or a name; empty where there is none by name.
        obtained: How the collection can be had, in words.
        passages: How many passages it has; 0 where the source does not say.
        digits: Decimals to which the numbers were rounded.
        tolerance: How far off a value may be; None: the published value must lie in the interval of what is found.
        numbers: The numbers.
    """

    name: str
    title: str
    numbers: tuple[Published, ...]
    source: str = ""
    collection: str = ""
    obtained: str = ""
    passages: int = 0
    digits: int = 4
    tolerance: float | None = None


class Verdict(Enum):
    """What came of a published number."""

    INSIDE = "inside"
    OUTSIDE = "OUTSIDE"
    OTHER = "another collection"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Attempt:
    """What one system got; where it did not run, or on another collection, the reason."""

    system: str
    verdict: Verdict
    reason: str = ""
    interval: Interval | None = None
    spec: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Checked:
    """A published number and what every system that may have given it got; `collection` is where."""

    number: Published
    collection: str
    attempts: tuple[Attempt, ...]

    @property
    def verdict(self) -> Verdict:
        """That of the best attempt: a number is inside where it is so for one of the systems that may have given it."""
        found = {attempt.verdict for attempt in self.attempts}
        return next(verdict for verdict in Verdict if verdict in found)


@dataclass(frozen=True)
class Reproduced:
    """What came of a publication."""

    publication: Publication
    checked: tuple[Checked, ...]

    def count(self, verdict: Verdict) -> int:
        """How many numbers there are of a verdict."""
        return sum(checked.verdict is verdict for checked in self.checked)


def publications() -> list[str]:
    """The names of the publications that come with this version.

    Example:
        >>> publications()
        ['conditionalqa', 'demo', 'parlir']
    """
    held = files("assay") / "published"
    return sorted(entry.name.removesuffix(".toml") for entry in held.iterdir() if entry.name.endswith(".toml"))


def publication_of(name: str) -> Publication:
    """The publication of that name, or in the TOML file at that path.

    Raises:
        UnknownNameError: There is none; near names are offered.
        FileError, FormatError: The file cannot be read, or a key of it is missing, unknown or wrong.
    """
    if name.endswith(".toml"):
        return _read(Path(name))
    if name not in publications():
        raise UnknownNameError.of("reproduction", name, publications())
    with as_file(files("assay") / "published" / f"{name}.toml") as path:
        return _read(path)


def _read(path: Path) -> Publication:
    stated = read_toml(path)
    refuse_unknown(stated, _KEYS[""], path.name)
    numbers = [_number(path, at, table) for at, table in enumerate(stated.pop("number", []), 1)]
    if not numbers:
        raise FormatError(f"{path.name}: there is no [[number]]; write one for each number to reproduce")
    return Publication(path.stem, stated.pop("title", path.stem), tuple(numbers), **stated)


def _number(path: Path, at: int, table: dict[str, Any]) -> Published:
    place = f"{path.name} [[number]] {at}"
    refuse_unknown(table, _KEYS["number"], place)
    missing = [key for key in ("measure", "value") if key not in table]
    if missing:
        raise FormatError(f"{place}: {missing[0]} is missing")
    if ("systems" in table) == ("cannot" in table):
        raise FormatError(f"{place}: say either systems (calls) or cannot (why there is no system for it)")
    try:
        Judging((table["measure"],)).of(())
    except UsageError as err:
        raise type(err)(f"{place} measure: {err}") from None
    calls = table.get("systems", [])
    usual = {"collection": "", "task": "", "split": ""}
    return Published(**{**usual, **table, "systems": (calls,) if isinstance(calls, str) else tuple(calls)})


def reproduce(
    asked: Publication | str,
    *,
    collection: str | None = None,
    out: str | os.PathLike[str] | None = None,
    indexes: Path | None = None,
    told: Told = lambda _: None,
) -> Reproduced:
    """What this machine gets for each number of a publication.

    Args:
        asked: The publication, its name, or the path of its TOML file.
        collection: Where the collection is, a path or a name; by default where the publication says.
        out: Folder of results; what is stored there already is not run again.
        indexes: Folder in which indexes are kept and found again.
        told: Called with a line on what is being done.

    Raises:
        UnknownNameError: There is no such publication.
        UsageError: `collection` is none, or the numbers are on several collections.
        DataError: The collection is wrong.

    Example:
        >>> number = Published("demo:chunks", "passages", "test", "RR@10", 0.5, ("bm52",))
        >>> [checked] = reproduce(Publication("mine", "Mine", (number,))).checked
        >>> checked.verdict.value, checked.attempts[0].reason[:45]
        ('not run', 'not available in this version: there is no sy')
    """
    wanted = asked if isinstance(asked, Publication) else publication_of(asked)
    if collection is not None and len({n.collection for n in wanted.numbers}) > 1:
        raise UsageError(f"the numbers of {wanted.name} are on several collections; leave --collection out")
    if collection is not None:
        wanted = replace(
            wanted, collection=collection, numbers=tuple(replace(n, collection="") for n in wanted.numbers)
        )
    bench = _Bench(wanted, None if out is None else Path(out), indexes, told)
    if collection is not None:
        bench.opened(collection)
    return Reproduced(wanted, tuple(bench.checked()))


@dataclass
class _Bench:
    """Where a publication is reproduced: every collection is opened once, every system runs once."""

    wanted: Publication
    out: Path | None
    indexes: Path | None
    told: Told
    collections: dict[str, Collection | UnavailableError] = field(default_factory=dict)
    tried: dict[tuple[str, str, str, str], Result | str] = field(default_factory=dict)

    def opened(self, place: str) -> Collection:
        """The collection at a place; one that cannot be had is asked for once."""
        if place not in self.collections:
            self.told(f"reading {place}")
            try:
                self.collections[place] = open_collection(place, told=self.told)
            except UnavailableError as err:
                self.collections[place] = err
        held = self.collections[place]
        if isinstance(held, UnavailableError):
            raise held
        return held

    def checked(self) -> Iterator[Checked]:
        for at, number in enumerate(self.wanted.numbers, 1):
            self.told(f"{at} of {len(self.wanted.numbers)}: {number.measure} {number.value} on {number.task}")
            place = number.collection or self.wanted.collection
            if number.cannot:
                yield Checked(number, place, (Attempt("", Verdict.NOT_RUN, number.cannot),))
                continue
            yield Checked(number, place, tuple(self._attempt(place, number, call) for call in number.systems))

    def _attempt(self, place: str, number: Published, call: str) -> Attempt:
        key = (place, number.task, number.split, call)
        if key not in self.tried:
            self.tried[key] = self._result(place, number, call)
        got = self.tried[key]
        if isinstance(got, str):
            return Attempt(call, Verdict.NOT_RUN, got)
        interval = got.scores_of(Judging((number.measure,)).names(())[0]).interval
        other = self._other(number, interval, self.opened(place))
        if other:
            return Attempt(call, Verdict.OTHER, other, interval, got.spec)
        inside = _inside(number.value, interval, self.wanted)
        return Attempt(call, Verdict.INSIDE if inside else Verdict.OUTSIDE, "", interval, got.spec)

    def _result(self, place: str, number: Published, call: str) -> Result | str:
        """What a system got under every measure that is asked of it there, or why it did not run."""
        alike = [n for n in self.wanted.numbers if (n.task, n.split) == (number.task, number.split)]
        asked = tuple(
            n.measure for n in alike if call in n.systems and (n.collection or self.wanted.collection) == place
        )
        try:
            system = catalog.system(call)
            if number.gpu and self._no_gpu:
                return self._no_gpu
            if not place:
                return f"needs the collection: {self.wanted.obtained or 'name it'}, then --collection"
            held = self.opened(place)
        except UnknownNameError as err:
            return f"not available in this version: {err}"
        except UnavailableError as err:
            return str(err)
        try:
            task = held.task(number.task or None, split=number.split or None)
            judging = Judging(tuple(dict.fromkeys(asked)))
            return result_of((held, task), system, judging=judging, out=self.out, indexes=self.indexes)[0]
        except (UnavailableError, UnknownNameError, ViewError) as err:
            return str(err)

    @cached_property
    def _no_gpu(self) -> str:
        """Why there is no GPU to compute on; empty where there is one."""
        try:
            return "" if torch_device("") == "cuda" else "PyTorch finds no GPU on this machine"
        except UnavailableError as err:
            return str(err)

    def _other(self, number: Published, interval: Interval, held: Collection) -> str:
        """How the collection differs from the published one; empty where it does not, as far as the source says."""
        for what, here, there in (
            ("passages", len(held.passages), self.wanted.passages),
            ("queries", interval.n, number.queries),
        ):
            if there and here != there:
                return f"{here:,} {what} here, {there:,} there"
        return ""


def _inside(value: float, interval: Interval, of: Publication) -> bool:
    """Whether a published value and a found one agree, as far as the published one was rounded."""
    if of.tolerance is not None:
        return abs(interval.mean - value) <= of.tolerance + 1e-12
    half = 0.5 * 10.0**-of.digits + 1e-12
    low, high = (interval.mean, interval.mean) if interval.low != interval.low else (interval.low, interval.high)
    return low - half <= value <= high + half
