"""Files of a published folder: one folder a config, shards named for their split, and what they hold.

`queries/train-00000-of-00002.parquet` is a shard of the split `train` of the config `queries`. What a card says of
rows, bytes and types is read from these files, never remembered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from assay.errors import FormatError, UsageError
from assay.formats import parquet, shards
from assay.formats.digest import file_digest
from assay.formats.files import opened, replacing
from assay.formats.table import Column, Lists
from assay.sources import is_name
from assay.texts import Texts

CARD = "README.md"
SUMS = "SHA256SUMS"
SHARD_BYTES = 400_000_000
ROW_GROUP = 10_000

_SPLIT = re.compile(r"\w+(\.\w+)*", re.ASCII)
_SHARD = re.compile(r"(?P<split>.+)-\d{5}-of-\d{5}\.parquet")


@dataclass(frozen=True)
class Split:
    """One split of a config: its files in order, rows, bytes in memory, bytes on disk, and what the card calls them."""

    files: tuple[Path, ...]
    rows: int
    size: int
    stored: int
    pattern: str


@dataclass(frozen=True)
class Config:
    """One table of a published folder: its splits by name, and the type of every column."""

    name: str
    splits: Mapping[str, Split]
    columns: Mapping[str, str]

    @property
    def rows(self) -> int:
        """Rows of all splits."""
        return sum(split.rows for split in self.splits.values())

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return sum(split.size for split in self.splits.values())

    @property
    def stored(self) -> int:
        """Bytes on disk, which are those to fetch."""
        return sum(split.stored for split in self.splits.values())


def refuse_split(name: str) -> None:
    """Raises UsageError where a split's name is none that `datasets` takes.

    Example:
        >>> refuse_split("train")
        >>> refuse_split("all")
        Traceback (most recent call last):
        ...
        assay.errors.UsageError: a split cannot be called 'all', which readers take for all splits; rename it
    """
    if name == "all":
        raise UsageError("a split cannot be called 'all', which readers take for all splits; rename it")
    if not _SPLIT.fullmatch(name):
        raise UsageError(
            f"{name!r} is no name for a split; readers take letters, digits, underscores and dots between them"
        )


def write_split(columns: Mapping[str, Column], folder: Path, split: str, *, shard_bytes: int = SHARD_BYTES) -> None:
    """Writes the rows of one split as shards of at most about `shard_bytes` bytes in memory, rows evenly spread."""
    refuse_split(split)
    folder.mkdir(parents=True, exist_ok=True)
    rows = len(next(iter(columns.values())))
    count = max(1, min(rows, -(-sum(map(_bytes, columns.values())) // shard_bytes)))
    borders = [rows * number // count for number in range(count + 1)]
    for number, (first, last) in enumerate(pairwise(borders)):
        part = {name: _between(column, first, last) for name, column in columns.items()}
        file = folder / f"{split}-{number:05d}-of-{count:05d}.parquet"
        parquet.write_table(part, file, row_group=ROW_GROUP)


def refuse_place(folder: Path, *, collection: str) -> None:
    """Raises UsageError where a folder to write holds the collection at the place `collection`, or is a git checkout.

    Args:
        folder: What would be replaced.
        collection: Where the collection was opened from; nothing, or a name such as `demo:chunks`, is no folder.
    """
    if collection and not is_name(collection):
        place = Path(collection).resolve()
        if folder.resolve() in (place, *place.parents):
            raise UsageError(f"{folder} holds the collection itself; publish it to another folder")
    if (folder / ".git").exists():
        raise UsageError(f"{folder} is a git checkout, which would be lost; publish beside it and copy the files over")


def configs_of(folder: Path, *, below: str = "") -> list[Config]:
    """What the Parquet files below a folder hold, by config in alphabetical order; splits in that order too.

    Args:
        folder: The published folder.
        below: The folder in it that has a folder for each config; itself by default.

    Raises:
        FormatError: A shard is missing, is not Parquet, or has other columns or types than its siblings.
    """
    configs = []
    parent = folder / below
    for place in sorted(path for path in parent.iterdir() if path.is_dir() and not path.name.startswith(".")):
        found: dict[str, list[Path]] = {}
        for file in shards.files_of(parent, place.name):
            named = _SHARD.fullmatch(file.name)
            if named is None:
                raise FormatError(f"{place.name}/{file.name}: shards are named SPLIT-00000-of-00001.parquet")
            found.setdefault(named["split"], []).append(file)
        if found:
            configs.append(_config(place.name, found, place.relative_to(folder).as_posix()))
    return configs


def sums_of(folder: Path) -> dict[str, str]:
    """SHA-256 of every file below a folder by its name, sorted; the list of sums itself and hidden files are left out.

    Raises:
        FileError: A file cannot be read.
    """
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    shown = [name for name in names if name != SUMS and not any(p.startswith(".") for p in name.split("/"))]
    return {name: file_digest(folder / name) for name in shown}


def write_sums(folder: Path) -> None:
    """Writes the list of sums, which `sha256sum --check SHA256SUMS` reads."""
    lines = [f"{digest}  {name}\n" for name, digest in sums_of(folder).items()]
    with replacing(folder / SUMS) as stream:
        stream.write("".join(lines).encode())


def read_sums(folder: Path) -> dict[str, str]:
    """The list of sums as written.

    Raises:
        FileError: There is no such list.
        FormatError: A line is not a digest, two blanks and a name.
    """
    with opened(folder / SUMS) as stream:
        lines = stream.read().decode("utf-8", "replace").splitlines()
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        digest, blanks, name = line.partition("  ")
        if not blanks or not re.fullmatch(r"[0-9a-f]{64}", digest) or not name:
            raise FormatError(f"{SUMS}:{number}: expected a SHA-256, two blanks and a file's name")
        found[name] = digest
    return found


def _config(name: str, found: Mapping[str, list[Path]], place: str) -> Config:
    splits: dict[str, Split] = {}
    columns: Mapping[str, str] = {}
    first = ""
    for split, files in sorted(found.items()):
        held = [parquet.described(file) for file in files]
        for file, one in zip(files, held, strict=True):
            columns, first = (columns, first) if first else (one.columns, file.name)
            if list(one.columns.items()) != list(columns.items()):
                differing = dict(set(one.columns.items()) ^ set(columns.items())) or {"their order": ""}
                raise FormatError(
                    f"{name}/{file.name}: other columns or types than {first} ({', '.join(sorted(differing))}); every"
                    " file of a table needs the same ones"
                )
        splits[split] = Split(
            tuple(files),
            sum(h.rows for h in held),
            sum(h.size for h in held),
            sum(f.stat().st_size for f in files),
            f"{place}/{split}-*",
        )
    return Config(name, splits, columns)


def _bytes(column: Column) -> int:
    if isinstance(column, Lists):
        return _bytes(column.values) + column.offsets.nbytes
    return len(column.buffer) + column.offsets.nbytes if isinstance(column, Texts) else int(column.nbytes)


def _between(column: Column, first: int, last: int) -> Column:
    """The rows `[first, last)` of a column."""
    if isinstance(column, Lists):
        a, b = int(column.offsets[first]), int(column.offsets[last])
        values = _between(column.values, a, b)
        return Lists(column.offsets[first : last + 1] - a, values)  # type: ignore[arg-type]
    if isinstance(column, Texts):
        a, b = int(column.offsets[first]), int(column.offsets[last])
        return Texts(column.buffer[a:b], np.ascontiguousarray(column.offsets[first : last + 1] - a))
    return column[first:last]
