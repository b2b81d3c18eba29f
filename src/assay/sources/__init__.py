"""Sources: what turns files into a collection, one module a layout.

Each module has `LOOKS_FOR` (what it needs, in words), `recognises(path)` and `load(path)`, and `save(collection, path)`
where the layout can be written. Where several recognise a path, the first of `LAYOUTS` takes it: a declared layout
before a guessed one, and the one that needs more before the one that needs less.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from types import ModuleType

from assay.collection import Collection
from assay.errors import UnknownNameError, UsageError
from assay.formats.files import refused
from assay.sources.parlir_releases import RELEASES, is_release

LAYOUTS = ("toml", "squad", "chunk_level", "text_only", "parlir", "beir")
"""Modules of this package in the order in which they are asked."""

DEMOS = ("chunks", "questions")


def open_collection(
    path_or_name: str | os.PathLike[str], *, told: Callable[[str], None] = lambda _: None
) -> Collection:
    """The collection at a path, or of a name: `demo:chunks`, `demo:questions`, or a release such as `parlir@v1.0`.

    A release is fetched from the hub once, at the commit that was published; a folder of such a name is opened as
    `./parlir@v1.0`.

    Args:
        path_or_name: A path or a name.
        told: Called with a line on what is being fetched.

    Raises:
        UsageError: No layout recognises what is there; the message says what each looked for.
        DataError: The files are of a known layout and wrong, or a release is not what was published.
        UnavailableError: A release cannot be fetched.

    Example:
        >>> open_collection("demo:chunks").layout
        'chunk-level'
    """
    name = os.fspath(path_or_name)
    return replace(_opened(name, told), place=name if is_name(name) else str(Path(name).expanduser().resolve()))


def is_name(path_or_name: str) -> bool:
    """Whether this is a name of the project and not a path: that of a built-in collection or of a release.

    Example:
        >>> is_name("demo:chunks"), is_name("parlir@v1.0"), is_name("./parlir@v1.0"), is_name("parlir@v1.0/answer")
        (True, True, False, False)
    """
    return path_or_name.startswith("demo:") or is_release(path_or_name)


def _opened(name: str, told: Callable[[str], None]) -> Collection:
    if name.startswith("demo:"):
        return _demo(name.removeprefix("demo:"))
    if is_release(name):
        released: Collection = _releases().open_release(name, told=told)
        return released
    path = Path(name).expanduser()
    if not path.exists():
        names = ", ".join([*(f"demo:{demo}" for demo in DEMOS), *RELEASES])
        raise UsageError(f"there is no collection {name}: no such file or folder; collections of the project: {names}")
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


@contextmanager
def folder_of(collection: Collection) -> Iterator[Path]:
    """The folder in which an opened collection stands, for tables beside those that make it.

    Example:
        >>> with folder_of(open_collection("demo:questions")) as folder:
        ...     folder.name
        'questions'
    """
    if collection.place.startswith("demo:"):
        with as_file(files(f"{__name__}.demo") / collection.place.removeprefix("demo:")) as folder:
            yield folder
    elif is_release(collection.place):
        yield _releases().release_folder(collection.place)
    else:
        yield Path(collection.place)


def _releases() -> ModuleType:
    # It opens folders by this module.
    return importlib.import_module(f"{__name__}.releases")


def _layouts() -> list[ModuleType]:
    return [importlib.import_module(f"{__name__}.{name}") for name in LAYOUTS]


def _demo(name: str) -> Collection:
    if name not in DEMOS:
        raise UnknownNameError.of("collection of the project", f"demo:{name}", [f"demo:{demo}" for demo in DEMOS])
    with as_file(files(f"{__name__}.demo") / name) as folder:
        return replace(open_collection(folder), name=f"demo:{name}")
