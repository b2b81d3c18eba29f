"""Sources: what turns files into a collection, one module a layout.

Each module has `LOOKS_FOR` (what it needs, in words), `recognises(path)` and `load(path)`, and `save(collection, path)`
where the layout can be written. Where several recognise a path, the first of `LAYOUTS` takes it: a declared layout
before a guessed one, and the one that needs more before the one that needs less.
"""

from __future__ import annotations

import importlib
import os
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from types import ModuleType

from assay.collection import Collection
from assay.errors import UnknownNameError, UsageError
from assay.formats.files import refused

LAYOUTS = ("toml", "squad", "chunk_level", "parlir", "beir")
"""Modules of this package in the order in which they are asked."""

DEMOS = ("chunks", "questions")


def open_collection(path_or_name: str | os.PathLike[str]) -> Collection:
    """The collection at a path, or `demo:chunks` or `demo:questions`, which come with the project.

    Raises:
        UsageError: No layout recognises what is there; the message says what each looked for.
        DataError: The files are of a known layout and wrong.

    Example:
        >>> open_collection("demo:chunks").layout
        'chunk-level'
    """
    name = os.fspath(path_or_name)
    return replace(_opened(name), place=name if name.startswith("demo:") else str(Path(name).expanduser().resolve()))


def _opened(name: str) -> Collection:
    if name.startswith("demo:"):
        return _demo(name.removeprefix("demo:"))
    path = Path(name).expanduser()
    if not path.exists():
        demos = ", ".join(f"demo:{demo}" for demo in DEMOS)
        raise UsageError(f"there is no collection {name}: no such file or folder; collections of the project: {demos}")
    try:
        for layout in _layouts():
            if layout.recognises(path):
                collection: Collection = layout.load(path)
                return collection
    except OSError as err:
        raise refused(err, err.filename or path, "read") from None
    looked = "\n".join(f"  {module.__name__.rpartition('.')[2]}: {module.LOOKS_FOR}" for module in _layouts())
    if path.is_file():
        there = "a file; judgements in a file are given with --qrels, runs after the task"
    else:
        there = ", ".join(sorted(entry.name for entry in path.iterdir())[:12]) or "nothing"
    raise UsageError(f"{name} is no collection of a known layout; there is: {there}\nlooked for:\n{looked}")


def _layouts() -> list[ModuleType]:
    return [importlib.import_module(f"{__name__}.{name}") for name in LAYOUTS]


def _demo(name: str) -> Collection:
    if name not in DEMOS:
        raise UnknownNameError.of("collection of the project", f"demo:{name}", [f"demo:{demo}" for demo in DEMOS])
    with as_file(files(f"{__name__}.demo") / name) as folder:
        return replace(open_collection(folder), name=f"demo:{name}")
