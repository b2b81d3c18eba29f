"""Folders that are written whole or not at all, as single files are by `assay.formats.files`."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.errors import FileError
from assay.formats.files import refused

MANIFEST = "build_manifest.json"


@contextmanager
def replacing_folder(path: Path, *, mark: str = MANIFEST) -> Iterator[Path]:
    """An empty folder to fill, which takes the place of `path` when the block ends without an error.

    Only a folder that is missing, empty or an earlier build (it holds a build manifest) is replaced; until the end it
    stays as it was.

    Args:
        path: The folder.
        mark: The file that tells an earlier build from anything else.

    Raises:
        FileError: `path` is a file or a folder that holds something else, or nothing can be written beside it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as name:
        ...     with replacing_folder(Path(name) / "built") as part:
        ...         _ = (part / "a.txt").write_text("one")
        ...     [place.as_posix() for place in (Path(name) / "built").iterdir()][0][-11:]
        'built/a.txt'
    """
    target = replaceable(path, mark=mark)
    part = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    try:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            part.mkdir()
        except OSError as err:
            raise refused(err, path, "write") from None
        yield part
        _swap(part, target)
    except FileError as err:
        # Nobody knows the folder by the name that it has until it is whole.
        raise type(err)(str(err).replace(os.fspath(part), os.fspath(path))) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def replaceable(path: Path, *, mark: str = MANIFEST) -> Path:
    """Where a folder to write really is, links followed, once it may be replaced.

    Raises:
        FileError: `path` is a file, or a folder that holds something else than an earlier build.
    """
    target = Path(os.path.realpath(path.expanduser()))
    if target.exists() and not target.is_dir():
        raise FileError(f"{path} is a file where a folder is meant; name a folder")
    if target.is_dir() and any(target.iterdir()) and not (target / mark).is_file():
        raise FileError(f"{path} holds other files, and no {mark} of an earlier build; name a new or empty folder")
    return target


def _swap(part: Path, target: Path) -> None:
    """Puts the new folder in the place of the old one; the old one comes back where that fails."""
    old = part.with_suffix(".old")
    try:
        if target.is_dir():
            os.rename(target, old)
        try:
            os.rename(part, target)
        except OSError:
            if old.is_dir():
                os.rename(old, target)
            raise
    except OSError as err:
        raise refused(err, target, "write") from None
    shutil.rmtree(old, ignore_errors=True)
