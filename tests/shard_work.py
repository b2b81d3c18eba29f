"""Functions for shards, and a dense system, that workers of tests import: they need a module of this name."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar
from zlib import crc32

import numpy as np

from assay.errors import FormatError
from assay.plan import Arrays, Plan, Shard, run_shard
from assay.system import DenseRows, PassageView, QueryView, SparseRows
from assay.texts import Texts


@dataclass(frozen=True)
class Here:
    """Runs shards in this process, one after the other."""

    name: ClassVar[str] = "here"

    def run(self, plan: Plan, numbers: Sequence[int], told: Callable[[str], None]) -> None:
        for number in numbers:
            told(f"shard {number + 1} done by {run_shard(str(plan.folder), number)}")


def doubled(shard: Shard) -> Arrays:
    """Twice its input, and what all shards were given."""
    return {"doubled": 2 * shard.own["row"], "shared": shard.shared["shared"]}


def large(shard: Shard) -> Arrays:
    """About 1 MB."""
    return {"large": np.full(1 << 17, shard.number, np.int64)}


def dies_once(shard: Shard) -> Arrays:
    """As `doubled`; the process of shard 1 dies at the first attempt."""
    print("a line that nobody asked for")
    if shard.number == 1 and len(shard.plan.attempts()[1]) == 1:
        os._exit(9)
    return doubled(shard)


def always_dies(shard: Shard) -> Arrays:
    """Nothing."""
    os._exit(9)


def breaks_once(shard: Shard) -> Arrays:
    """As `doubled`; shard 1 fails at the first attempt."""
    if shard.number == 1 and len(shard.plan.attempts()[1]) == 1:
        raise OSError("the network is gone")
    return doubled(shard)


def refuses(shard: Shard) -> Arrays:
    """Nothing: what it is given is wrong, and would be wrong again."""
    raise FormatError(f"shard {shard.number} holds no numbers")


def tidied(shard: Shard) -> Arrays:
    """An array; while it is written, another run does the shard, ends, and removes what is half written."""
    return _Tidied(shard)


class _Tidied(dict[str, Any]):
    def __init__(self, shard: Shard) -> None:
        super().__init__(row=np.arange(3))
        self.shard = shard

    def __getitem__(self, name: str) -> Any:
        self.shard.plan._keep(self.shard.number, {name: np.arange(3)})
        self.shard.plan.tidy()
        return super().__getitem__(name)


def waits(shard: Shard) -> Arrays:
    """As `doubled`; shards from 2 on wait for a file `go` in the plan's folder."""
    while shard.number >= 2 and not (shard.plan.folder / "go").exists():
        time.sleep(0.02)
    return doubled(shard)


@dataclass(frozen=True)
class Vectors:
    """Words as vectors, a text as their sum: dense, and each row by its own text alone."""

    name: ClassVar[str] = "vectors"
    reads: ClassVar[tuple[str, ...]] = ("text:plain",)

    dimensions: int = 5

    def index(self, passages: PassageView) -> VectorIndex:
        return VectorIndex(self, self.rows_of(passages.texts["text:plain"]))

    def load(self, folder: Path) -> VectorIndex:
        return VectorIndex(self, DenseRows(np.load(folder / "rows.npy")))

    def rows_of(self, texts: Texts) -> DenseRows:
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in enumerate(texts.to_list()):
            for word in text.lower().split():
                rows[row] += np.random.RandomState(crc32(word.encode())).standard_normal(self.dimensions)
        return DenseRows(rows)


@dataclass(frozen=True)
class VectorIndex:
    system: Vectors
    rows: DenseRows

    def encode(self, queries: QueryView) -> DenseRows:
        return self.system.rows_of(queries.texts)

    def save(self, folder: Path) -> None:
        np.save(folder / "rows.npy", self.rows.matrix)


@dataclass(frozen=True)
class Unweighted:
    """Sparse, without saying whether a weight depends on other passages."""

    name: ClassVar[str] = "unweighted"
    reads: ClassVar[tuple[str, ...]] = ("text:plain",)

    def index(self, passages: PassageView) -> UnweightedIndex:
        n = len(passages)
        return UnweightedIndex(SparseRows(np.arange(n + 1), np.zeros(n, np.int32), np.ones(n, np.float32), 1))

    def load(self, folder: Path) -> UnweightedIndex:
        raise NotImplementedError


@dataclass(frozen=True)
class UnweightedIndex:
    rows: SparseRows

    def encode(self, queries: QueryView) -> SparseRows:
        n = len(queries)
        return SparseRows(np.arange(n + 1), np.zeros(n, np.int32), np.ones(n, np.float32), 1)

    def save(self, folder: Path) -> None:
        (folder / "nothing").touch()


@dataclass(frozen=True)
class ByText:
    """Sparse, each text by itself: how often it holds each letter."""

    name: ClassVar[str] = "by-text"
    reads: ClassVar[tuple[str, ...]] = ("text:plain",)

    def index(self, passages: PassageView) -> ByTextIndex:
        return self.index_in(passages, None)

    def index_in(self, passages: PassageView, folder: Path | None) -> ByTextIndex:
        return ByTextIndex(letters(passages.texts["text:plain"]))

    def load(self, folder: Path) -> ByTextIndex:
        raise NotImplementedError


@dataclass(frozen=True)
class ByTextIndex:
    rows: SparseRows

    def encode(self, queries: QueryView) -> SparseRows:
        return letters(queries.texts)

    def save(self, folder: Path) -> None:
        (folder / "nothing").touch()


def letters(texts: Texts) -> SparseRows:
    """Letters from a to z with how often a text holds each, but for a factor that no sum is exact with."""
    rows = [[(ord(c) - 97, text.count(c) * 0.1) for c in "abcdefghijklmnopqrstuvwxyz" if c in text] for text in texts]
    flat = [entry for row in rows for entry in row]
    term, weight = np.array([t for t, _ in flat], np.int32), np.array([w for _, w in flat], np.float32)
    return SparseRows(np.concatenate([[0], np.cumsum([len(row) for row in rows])]), term, weight, 26)


@dataclass(frozen=True)
class Told(Vectors):
    """As `Vectors`, with a device, and an index that says where it was made and by which weights."""

    name: ClassVar[str] = "told"

    device: str = field(default="", metadata={"recipe": False})
    weights: str = field(default="", metadata={"recipe": False})

    def index(self, passages: PassageView) -> ToldIndex:
        return ToldIndex(self, self.rows_of(passages.texts["text:plain"]))

    def index_in(self, passages: PassageView, folder: Path | None) -> ToldIndex:
        return self.index(passages)


@dataclass(frozen=True)
class ToldIndex(VectorIndex):
    system: Told

    @property
    def record(self) -> dict[str, str]:
        return {"model": "m", "identity": self.system.weights or "w", "device": self.system.device}
