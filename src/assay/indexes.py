"""Indexes: those of representers, built, or found again in a folder by fingerprint."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

import assay
from assay.errors import DigestError
from assay.system import Index, Keeper, PassageView, Representer, System, spec_of

Arrays = Mapping[str, npt.NDArray[Any]]

COMPLETE = "complete"
"""The file that says that an index was written whole: the digest of the others."""


@runtime_checkable
class Counting(Representer, Protocol):
    """A representer whose sparse weights depend on the other passages through sums alone, so that it works in parts.

    `index(passages)` must be what `weighted` makes of all passages as one part: the same terms, by the same words,
    with the same bits of every weight, however passages are cut into parts.
    """

    def counted(self, passages: PassageView, *, threads: int = 2) -> Arrays:
        """What a part holds, before anything is known of the others."""
        ...

    def merged(self, parts: Iterable[Arrays]) -> Arrays:
        """The sums over all parts, each as `counted` made it."""
        ...

    def weighted(self, counted: Arrays, sums: Arrays, *, threads: int = 2) -> Index:
        """The index of a part, given the sums."""
        ...


def index_of(system: Representer, passages: PassageView, folder: Path | None = None) -> Index:
    """The index of a system over the passages that it sees; kept in `folder` and found again there.

    A kept index is used where the recipe of the system, all that it sees and the version are the same. A keeper finds
    what it has made before by itself, text by text.

    Raises:
        DigestError: The files of a kept index have changed since they were written.
    """
    if isinstance(system, Keeper):
        return system.index_in(passages, folder)
    if folder is None:
        return system.index(passages)
    place = folder / f"{system.name}-{fingerprint(system, passages)}"
    if (place / COMPLETE).exists():
        if (place / COMPLETE).read_text("ascii") != _stored_digest(place):
            raise DigestError(f"{place}: the kept index is not what was written; delete that folder, it is built again")
        return system.load(place)
    index = system.index(passages)
    _keep(index, place)
    return index


def fingerprint(system: System, passages: PassageView) -> str:
    """Hexadecimal digits that differ where an index could: the recipe, all that the system sees, the version."""
    texts = {view: rows.digest for view, rows in sorted(passages.texts.items())}
    recipe = {"spec": spec_of(system), "size": len(passages), "texts": texts, "mask": passages.mask}
    sha = sha256(json.dumps({**recipe, "version": assay.__version__}, sort_keys=True).encode())
    parts = {name: getattr(passages, name) for name in ("parent", "position", "span")}
    if passages.links is not None:
        sha.update(passages.links.texts.digest.encode())
        parts |= {"links": passages.links.offsets, "linked": passages.links.target}
    for name, array in parts.items():
        if array is not None:
            sha.update(f"{name} {array.dtype} ".encode())
            sha.update(np.ascontiguousarray(array).tobytes())
    return sha.hexdigest()[:24]


def _stored_digest(folder: Path) -> str:
    """SHA-256 over names and contents of an index's files."""
    sha = sha256()
    for file in sorted(folder.iterdir()):
        if file.name != COMPLETE:
            with open(file, "rb") as stream:
                sha.update(f"{file.name} {file_digest(stream, 'sha256').hexdigest()}\n".encode())
    return sha.hexdigest()


def _keep(index: Index, folder: Path) -> None:
    """Writes an index beside its final place and renames it; what another process kept stays."""
    import shutil
    import tempfile

    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        index.save(draft)
        (draft / COMPLETE).write_text(_stored_digest(draft), "ascii")
        draft.rename(folder)
    except OSError:
        if not (folder / COMPLETE).exists():
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
