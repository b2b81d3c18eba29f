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
    siblings, a folder `name/` of shards.

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


def _refuse_missing(found: list[Path]) -> None:
    numbers = [match for path in found if (match := re.search(r"-(\d+)-of-(\d+)\.", path.name))]
    if not numbers:
        return
    total = int(numbers[0][2])
    missing = sorted(set(range(total)) - {int(match[1]) for match in numbers})
    if missing or len(numbers) != total:
        raise FormatError(
            f"{found[0].parent.name}: {len(numbers)} of {total} shards like {found[0].name} are there"
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
