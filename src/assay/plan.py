"""Plans: work cut into shards that any process may do, each once, in files that survive a kill.

A plan is a folder. `manifest.json` says what is to be done: a function by name, its plain parameters, the borders of
the shards, and the digest of every file of input. Shard `i` is done when `results/0000i.done` holds the digest of
`results/0000i.npz` and that of the manifest. Results are written under a temporary name and renamed, the marker after
them; so a shard whose process was killed, or whose file was torn or comes from elsewhere, is simply not done.
`where.json` says what changes no result, such as a device; it is no part of the plan, and the last word counts.

Executors only decide where `run_shard` is called. Its result depends on the plan and the number alone.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import platform
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import assay
from assay.errors import DigestError, FileError, UnavailableError, UsageError
from assay.formats.digest import file_digest
from assay.formats.files import refused, replacing
from assay.kernels.blas import one_blas_thread

Arrays = Mapping[str, npt.NDArray[Any]]
Given = Callable[[int], Arrays]
"""The input of a shard, by its number."""

MANIFEST = "manifest.json"
WHERE = "where.json"
SHARED = "shared"
_WRITERS = 2
_MEANT = {"what": "work", "function": "function", "of": "texts, queries or system", "borders": "borders of shards"}
_MEANT |= {"version": "version of Assay"}


def even_borders(rows: int, shards: int) -> tuple[int, ...]:
    """Borders of `shards` runs of rows whose lengths differ by one at most; some are empty where rows are few.

    Raises:
        UsageError: There is to be no shard.

    Example:
        >>> even_borders(7, 3)
        (0, 2, 4, 7)
    """
    if shards < 1:
        raise UsageError(f"work is cut into at least 1 shard, found {shards}")
    return tuple(rows * shard // shards for shard in range(shards + 1))


@dataclass(frozen=True)
class Plan:
    """Work in shards.

    Attributes:
        folder: Where its files are; every worker must see it under this path.
        what: The work in a few words, for people.
        function: `module:name` of a function from a `Shard` to arrays by name.
        of: A digest of all that goes in, so that a plan of something else is not taken for this one.
        borders: Shard `i` has the rows `borders[i]` to `borders[i + 1]`.
        parameters: Plain JSON values for the function.
        where: Plain JSON values for the function that change no result; two plans that differ in them are one.
    """

    folder: Path
    what: str
    function: str
    of: str
    borders: tuple[int, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    where: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.borders) - 1

    @classmethod
    def read(cls, folder: Path) -> Plan:
        """The plan in a folder.

        Raises:
            FileError: There is none, or it cannot be read.
            DigestError: Its manifest is torn or none.
        """
        told = _manifest(folder)
        plan = (told["what"], told["function"], told["of"], tuple(told["borders"]), told["parameters"])
        return cls(folder, *plan, _read_json(folder / WHERE) if (folder / WHERE).exists() else {})

    @property
    def told(self) -> dict[str, Any]:
        """What the manifest says of the plan, but for its inputs."""
        return {
            "what": self.what,
            "function": self.function,
            "of": self.of,
            "borders": list(self.borders),
            "parameters": dict(self.parameters),
            "version": assay.__version__,
        }

    def written(self, given: Given, shared: Callable[[], Arrays] = dict) -> Plan:
        """The plan, with its inputs and then its manifest in the folder; what is there whole is left as it is.

        Raises:
            UsageError: The folder holds another plan; says what differs.
            FileError: The disk is full, or the folder cannot be written.
            DigestError: A manifest is torn.
        """
        kept: dict[str, str] = {}
        if (self.folder / MANIFEST).exists():
            kept = _manifest(self.folder)["inputs"]
            self._refuse_another()

        def input_of(name: str) -> str:
            path = self.folder / "inputs" / f"{name}.npz"
            if name not in kept or not path.exists() or file_digest(path) != kept[name]:
                _write_arrays(path, shared() if name == SHARED else given(int(name)))
                return file_digest(path)
            return kept[name]

        names = [SHARED, *map(_number, range(len(self)))]
        # Sums of bytes, digests and writing let other threads run.
        with ThreadPoolExecutor(_WRITERS) as pool:
            inputs = dict(zip(names, pool.map(input_of, names), strict=True))
        if self.where:
            _write_json(self.folder / WHERE, self.where)
        _write_json(self.folder / MANIFEST, {**self.told, "inputs": inputs})
        return self

    def _refuse_another(self) -> None:
        there, own = _manifest(self.folder), json.loads(json.dumps(self.told))
        differ = [name for name in own if there[name] != own[name]]
        if len(there["borders"]) != len(own["borders"]):
            shards = f"{len(there['borders']) - 1} shards, and {len(self)} are asked for"
            raise UsageError(f"{self.folder} holds a plan of {shards}; ask for as many, or name another work folder")
        if differ:
            named = ", ".join(_MEANT.get(name, name) for name in differ)
            raise UsageError(f"{self.folder} holds another plan (other {named}); name another work folder")

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the manifest."""
        return file_digest(self.folder / MANIFEST)

    def is_done(self, number: int) -> bool:
        """Whether a shard's result is there, whole, and that of this plan."""
        path, marker = self._result(number), self._result(number).with_suffix(".done")
        try:
            told = marker.read_text("ascii").split()
        except (OSError, UnicodeDecodeError):
            return False
        return len(told) == 2 and told[1] == self.digest and path.exists() and told[0] == file_digest(path)

    def due(self) -> list[int]:
        """Numbers of the shards that are to be run; every file that is there is read for it."""
        return [number for number in range(len(self)) if not self.is_done(number)]

    def result(self, number: int) -> Arrays:
        """What a shard came to; arrays are read as they are asked for.

        Raises:
            DigestError: The file is torn or gone since it was written.
        """
        return _Stored(self._result(number))

    def tidy(self) -> None:
        """Removes what processes that were killed left half written."""
        for left in (self.folder / "results").glob(".*.part"):
            left.unlink(missing_ok=True)

    def attempts(self) -> dict[int, list[str]]:
        """Who began each shard, in order: a process that was killed is named here and nowhere else."""
        found = {}
        for number in range(len(self)):
            path = self.folder / "attempts" / _number(number)
            found[number] = path.read_text("utf-8", "replace").split() if path.exists() else []
        return found

    def _result(self, number: int) -> Path:
        return self.folder / "results" / f"{_number(number)}.npz"

    def _note(self, number: int, who: str) -> None:
        path = self.folder / "attempts" / _number(number)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as stream:
                stream.write(f"{who}\n")
        except OSError as err:
            raise refused(err, path, "write") from None

    def _keep(self, number: int, made: Arrays) -> None:
        path = self._result(number)
        _write_arrays(path, made)
        with replacing(path.with_suffix(".done")) as stream:
            stream.write(f"{file_digest(path)} {self.digest}\n".encode())


@dataclass(frozen=True)
class Shard:
    """What a function of a plan is called with: rows `low` to `high`, and where inputs are."""

    plan: Plan
    number: int

    @property
    def low(self) -> int:
        """The first row."""
        return self.plan.borders[self.number]

    @property
    def high(self) -> int:
        """The row after the last one."""
        return self.plan.borders[self.number + 1]

    @property
    def own(self) -> Arrays:
        """The input of this shard."""
        return _Stored(self.plan.folder / "inputs" / f"{_number(self.number)}.npz")

    @property
    def shared(self) -> Arrays:
        """The input of every shard."""
        return _Stored(self.plan.folder / "inputs" / f"{SHARED}.npz")

    def before(self, name: str) -> Arrays:
        """What the shard of this number came to in the plan `name` beside this one."""
        return Plan.read(self.plan.folder.parent / name).result(self.number)


def run_shard(folder: str, number: int) -> str:
    """Runs one shard of the plan in `folder`, unless it is done; returns who ran it. What executors call.

    Raises:
        UnavailableError: This is another version of Assay than the one that made the plan.
        AssayError: What the function raised, or the disk is full.
    """
    plan, who = Plan.read(Path(folder)), f"{platform.node()}:{os.getpid()}"
    planned = _manifest(plan.folder)["version"]
    if planned != assay.__version__:
        raise UnavailableError(
            f"{plan.what}: {who} has version {assay.__version__} of Assay, and the plan was made by {planned};"
            " install the same version there, and run the command again"
        )
    if plan.is_done(number):
        return who
    plan._note(number, who)
    module, _, name = plan.function.partition(":")
    with one_blas_thread():
        made = getattr(importlib.import_module(module), name)(Shard(plan, number))
    try:
        plan._keep(number, made)
    except FileError:
        # Another run in the same folder may have done the shard, and tidied up behind it.
        if not plan.is_done(number):
            raise
    return who


def _number(number: int) -> str:
    return f"{number:05d}"


def _write_arrays(path: Path, arrays: Arrays) -> None:
    """One file of arrays by name; its bytes depend on them alone."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise refused(err, path, "write") from None
    with replacing(path) as stream:
        keep: Any = np.savez
        keep(stream, **{name: np.asarray(arrays[name]) for name in sorted(arrays)})


class _Stored(Mapping[str, npt.NDArray[Any]]):
    """The arrays of a file, each read when it is asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        with self._opened() as file:
            array: npt.NDArray[Any] = file[name]
            return array

    def __iter__(self) -> Iterator[str]:
        with self._opened() as file:
            yield from file.files

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        try:
            with self._path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
                yield file
        except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as err:
            raise DigestError(
                f"{self._path}: not what was written ({err}); run the command again, it is made again"
            ) from None


def _manifest(folder: Path) -> dict[str, Any]:
    told = _read_json(folder / MANIFEST)
    wanted = {"what", "function", "of", "borders", "parameters", "version", "inputs"}
    if set(told) != wanted or not isinstance(told["borders"], list):
        raise DigestError(_torn(folder / MANIFEST))
    return told


def _torn(path: Path) -> str:
    return f"{path} is torn or no manifest of shards; delete {path.parent}, it is made again"


def _read_json(path: Path) -> dict[str, Any]:
    try:
        told = json.loads(path.read_text("utf-8"))
    except OSError as err:
        raise refused(err, path, "read") from None
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise DigestError(_torn(path))
    return told


def _write_json(path: Path, told: Mapping[str, Any]) -> None:
    """Writes the file unless it says that already."""
    data = (json.dumps(told, sort_keys=True, indent=1) + "\n").encode()
    if not path.exists() or path.read_bytes() != data:
        with replacing(path) as stream:
            stream.write(data)


def plans_below(folder: Path) -> list[Plan]:
    """Every plan in a work folder, by path.

    Raises:
        UsageError: There is none.
    """
    found = [Plan.read(path.parent) for path in sorted(folder.rglob(MANIFEST))]
    if not found:
        raise UsageError(f"{folder} holds no plan of shards; a command with --work {folder} makes one")
    return found


def share_of(plan: Plan, part: int, parts: int) -> list[int]:
    """The shards that part `part` (from 1) of `parts` runs: every `parts`-th one.

    Example:
        >>> share_of(Plan(Path(), "", "", "", (0, 1, 2, 3)), 1, 2)
        [0, 2]
    """
    if not 1 <= part <= parts:
        raise UsageError(f"part {part}/{parts} is none: parts are counted from 1, as in 1/{max(1, parts)}")
    return list(range(part - 1, len(plan), parts))


def digest_of_arrays(*arrays: npt.NDArray[Any] | None, text: str = "") -> str:
    """SHA-256 over a text and over arrays with their types and shapes.

    Example:
        >>> digest_of_arrays(None, text="a") == digest_of_arrays(text="a")
        False
    """
    sha = hashlib.sha256(text.encode())
    for array in arrays:
        sha.update(b"none" if array is None else f"{array.dtype}{array.shape}".encode())
        if array is not None:
            sha.update(np.ascontiguousarray(array).view(np.uint8).data)
    return sha.hexdigest()
