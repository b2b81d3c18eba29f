"""Tables by name in a folder: one file or shards, JSON Lines or Parquet, compressed or not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from assay.errors import FormatError, UsageError
from assay.formats import jsonl, parquet
from assay.formats.table import Column, Field, Table, stacked

JSONL = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".ndjson")
SUFFIXES = (*JSONL, ".parquet")

_NUMBERED = re.compile(r"(.+)-(\d+)-of-(\d+)\.")


def suffix_of(path: Path) -> str:
    """The suffix that names a table's format (`.jsonl.gz`), or nothing.

    Example:
        >>> suffix_of(Path("documents-00000-of-00003.jsonl.gz"))
        '.jsonl.gz'
    """
    return next((suffix for suffix in SUFFIXES if path.name.lower().endswith(suffix)), "")


def files_of(folder: Path, name: str) -> tuple[Path, ...]:
    """The files of the table `name` in a folder, in order; none where there is no such table.

    Looked for, the first that is there: `name.jsonl` (or another suffix), `name-00000-of-00003.parquet` and its
    siblings, a folder `name/` of shards, which may be those of several splits (`name/train-00000-of-00001.parquet`).

    Raises:
        FormatError: A shard is missing.
    """
    for suffix in SUFFIXES:
        if (folder / f"{name}{suffix}").is_file():
            return (folder / f"{name}{suffix}",)
    if not folder.is_dir():
        return ()
    numbered = re.compile(re.escape(name) + r"-(\d+)-of-(\d+)\.")
    found = sorted(path for path in folder.iterdir() if suffix_of(path) and numbered.match(path.name))
    if not found and (folder / name).is_dir():
        found = sorted(path for path in (folder / name).iterdir() if suffix_of(path) and not path.name.startswith("."))
    _refuse_missing(found)
    return tuple(found)


def split_of(path: Path, name: str) -> str:
    """The split that a shard of the table `name` is named for: `train` for `queries/train-00000-of-00002.parquet`.

    Nothing where the file does not lie in a folder of the table's name, or is named for the table, `part` or `data`.

    Example:
        >>> split_of(Path("queries/train-00000-of-00002.parquet"), "queries")
        'train'
    """
    found = _NUMBERED.match(path.name)
    named = found is not None and path.parent.name == name and found[1] not in (name, "part", "data")
    return found[1] if found is not None and named else ""


def _refuse_missing(found: list[Path]) -> None:
    series: dict[str, list[tuple[Path, int, int]]] = {}
    for path in found:
        if match := _NUMBERED.match(path.name):
            series.setdefault(match[1], []).append((path, int(match[2]), int(match[3])))
    for shards in series.values():
        first, _, total = shards[0]
        missing = sorted(set(range(total)) - {number for _, number, _ in shards})
        if missing or len(shards) != total:
            raise FormatError(
                f"{first.parent.name}: {len(shards)} of {total} shards like {first.name} are there"
                f" (first missing: {missing[0] if missing else 'none, one stands twice'}); fetch the rest"
            )


def read(files: tuple[Path, ...], fields: Mapping[str, Field]) -> Table:
    """The rows of a table's files, one below the other."""
    readers = {".parquet": parquet.read_table}
    return stacked([readers.get(suffix_of(path), jsonl.read_table)(path, fields) for path in files])


def write(columns: Mapping[str, Column], path: Path) -> None:
    """Writes columns in the format of the suffix.

    Raises:
        UsageError: The suffix names no format of tables.
    """
    if not suffix_of(path):
        raise UsageError(f"{path.name}: tables are written as {', '.join(SUFFIXES)}")
    if suffix_of(path) == ".parquet":
        parquet.write_table(columns, path)
    else:
        jsonl.write_table(columns, path)
