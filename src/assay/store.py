"""Store: rows of float32 on disk, each known by a digest, made once and proven when they are read again.

A folder holds the rows of one recipe:

    recipe.json    what made them; a folder of another recipe is refused
    made-by.json   what the model said of itself when it made rows last: versions, device
    vectors.f32    float32 rows of one width, appended
    entries.bin    per row the digest of what it is for, a checksum of both, how many tokens were read, whether a text
                   was cut, and whether it is the last of those that were written together

Rows are written before their entries, so that a process may be killed at any moment: of rows that were written together
all stay or none, and what is torn at the end is cut off and made again. So a run that was killed and goes on makes the
same rows together, with the same bits.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.errors import DataError, DigestError, FileError, FormatError

RECIPE, VECTORS, ENTRIES, WIDTH, MADE_BY = "recipe.json", "vectors.f32", "entries.bin", "dimensions", "made-by.json"

ENTRY = np.dtype([("digest", "V16"), ("check", "<u8"), ("tokens", "<u4"), ("cut", "<u2"), ("last", "<u2")])
Entries = npt.NDArray[Any]
Vectors = npt.NDArray[np.float32]

_PROVEN = 1 << 22
"""Numbers that are proven at once."""


@dataclass(eq=False)
class Store:
    """Rows of one recipe, in a folder that one process holds at a time, or in memory alone.

    Attributes:
        folder: Where they lie; None: in memory.
        width: Numbers a row; 0 as long as there is none and none is known.
    """

    folder: Path | None
    width: int
    _entries: list[Entries] = field(default_factory=list)
    _rows: list[Vectors] = field(default_factory=list)

    @classmethod
    @contextmanager
    def opened(cls, folder: Path | None, record: Mapping[str, Any], *, width: int = 0) -> Iterator[Store]:
        """The store in a folder, made if need be, locked until the block ends.

        Args:
            folder: Where it lies; None keeps rows in memory.
            record: What makes rows, as JSON values; `model` may differ from what the folder was made with.
            width: Numbers a row; 0 where the first rows say it.

        Raises:
            FileError: The folder cannot be written.
            FormatError: It holds rows of another recipe.
            DigestError: A row is not what was written.
        """
        if folder is None:
            yield cls(None, width)
            return
        with ExitStack() as held:
            with _faults_of(folder):
                folder.mkdir(parents=True, exist_ok=True)
                held.enter_context(_locked(held.enter_context(open(folder / "lock", "ab"))))
                _claim(folder, record)
                store = cls._read(folder, width)
            yield store

    @classmethod
    def _read(cls, folder: Path, width: int) -> Store:
        """Cuts off what is torn at the end, and proves the rest."""
        vectors, entries = folder / VECTORS, folder / ENTRIES
        raw = entries.read_bytes() if entries.exists() else b""
        whole = np.frombuffer(raw[: len(raw) // ENTRY.itemsize * ENTRY.itemsize], ENTRY)
        size = vectors.stat().st_size if vectors.exists() else 0
        held = _width_of(folder, rows=len(whole))
        count = min(len(whole), size // (4 * held)) if held else 0
        ends = np.flatnonzero(whole["last"][:count])
        count = int(ends[-1]) + 1 if len(ends) else 0
        for file, kept in ((entries, count * ENTRY.itemsize), (vectors, count * 4 * held)):
            if file.exists() and file.stat().st_size != kept:
                os.truncate(file, kept)
        store = cls(folder, held or width, [whole[:count].copy()])
        rows, step = store.matrix(), max(1, _PROVEN // max(1, held))
        for low in range(0, len(rows), step):
            part = slice(low, low + step)
            known = store.entries[part]
            wrong = np.flatnonzero(_checks(rows[part], known["digest"]) != known["check"])
            if len(wrong):
                raise DigestError(
                    f"{vectors}: row {low + int(wrong[0])} is not what was written; delete the folder, its rows are"
                    " made again"
                )
        return store

    @property
    def entries(self) -> Entries:
        """What is known of each row: `digest`, `check`, `tokens`, `cut`, `last`."""
        if len(self._entries) != 1:
            self._entries = [np.concatenate([np.zeros(0, ENTRY), *self._entries])]
        return self._entries[0]

    def matrix(self) -> Vectors:
        """The rows, float32; as a memory map where they lie in a folder."""
        shape = (len(self.entries), max(1, self.width))
        if not shape[0]:
            return np.zeros(shape, np.float32)
        if self.folder is not None:
            return np.memmap(self.folder / VECTORS, np.float32, "r", shape=shape)
        self._rows = [np.concatenate(self._rows)]
        return self._rows[0]

    def places(self, digests: Entries) -> npt.NDArray[np.int64]:
        """The row of each digest, int64; -1 where there is none."""
        held = self.entries["digest"]
        if not len(held):
            return np.full(len(digests), -1, np.int64)
        order = np.argsort(held, kind="stable")
        at = np.minimum(np.searchsorted(held[order], digests), len(held) - 1)
        found: npt.NDArray[np.int64] = np.where(held[order][at] == digests, order[at], -1)
        return found

    def append(
        self, digests: Entries, rows: Vectors, *, tokens: npt.NDArray[np.int64], cut: npt.NDArray[np.bool_]
    ) -> None:
        """Adds rows, then their entries; after a kill all of them are there, or none.

        Args:
            digests: What each row is for, 16 bytes each.
            rows: float32, shape (rows, width).
            tokens: How many tokens were read for each.
            cut: Whether there were more.

        Raises:
            DataError: The rows are of another width than those that are there.
            FileError: They cannot be written; what was there before is kept.
        """
        if not len(digests):
            return
        rows = np.ascontiguousarray(rows, np.float32)
        if self.width and self.width != rows.shape[1]:
            raise DataError(
                f"{self.folder or 'memory'} holds rows of {self.width} numbers, and rows of {rows.shape[1]} came; the"
                " files of the model have changed: delete the folder, or name another one"
            )
        added = np.zeros(len(digests), ENTRY)
        added["digest"], added["tokens"], added["cut"] = digests, tokens, cut
        added["check"], added["last"][-1] = _checks(rows, added["digest"]), 1
        if self.folder is None:
            self._rows.append(rows)
        else:
            with _faults_of(self.folder):
                if not len(self.entries):
                    (self.folder / WIDTH).write_text(f"{rows.shape[1]}\n", encoding="ascii")
                for name, data in ((VECTORS, rows.tobytes()), (ENTRIES, added.tobytes())):
                    with open(self.folder / name, "ab") as stream:
                        stream.write(data)
        self.width = rows.shape[1]
        self._entries.append(added)

    def described(self, record: Mapping[str, str]) -> Mapping[str, str]:
        """What the model said of itself when it made rows last, kept beside them; `record` where it says so now."""
        if self.folder is None:
            return record
        place = self.folder / MADE_BY
        with _faults_of(self.folder):
            if record:
                draft = self.folder / f".{MADE_BY}.new"
                draft.write_text(json.dumps(dict(record), sort_keys=True, indent=1) + "\n", encoding="utf-8")
                draft.rename(place)
                return record
            try:
                found = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
            except ValueError:
                found = {}
        return {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}


def text_digest(text: str) -> bytes:
    """Sixteen bytes that stand for a text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def folder_name(record: Mapping[str, Any]) -> str:
    """The name of the folder for rows of a recipe.

    What the recipe calls its model is read in it and pins nothing: a model that was moved keeps its digits.

    Example:
        >>> folder_name({"model": "BAAI/bge-m3", "prompt": ""})
        'BAAI-bge-m3-2cdfb8215c590ece'
    """
    pinned = {name: value for name, value in record.items() if name != "model"}
    digest = sha256(json.dumps(pinned, sort_keys=True).encode()).hexdigest()
    return f"{readable_name(str(record['model']))}-{digest[:16]}"


def readable_name(text: str) -> str:
    """A model's name as the beginning of a folder's name.

    Example:
        >>> readable_name("BAAI/bge-m3")
        'BAAI-bge-m3'
    """
    return "".join(c if c.isalnum() or c in "-." else "-" for c in text)[-60:].strip("-.")


def _claim(folder: Path, record: Mapping[str, Any]) -> None:
    """Writes the recipe into a new folder, or compares it."""
    place = folder / RECIPE
    if not place.exists():
        if (folder / ENTRIES).exists() and (folder / ENTRIES).stat().st_size:
            raise FormatError(f"{folder} has rows and no {RECIPE} that says what made them; delete the folder")
        draft = folder / f".{RECIPE}.new"
        draft.write_text(json.dumps(record, sort_keys=True, indent=1) + "\n", encoding="utf-8")
        draft.rename(place)
        return
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
    except ValueError:
        raise FormatError(f"{place}: not JSON; delete the folder, its rows are made again") from None
    plain = json.loads(json.dumps(record))
    other = found if isinstance(found, dict) else {}
    differing = [k for k in sorted({*plain, *other} - {"model"}) if k not in plain or other.get(k, ...) != plain[k]]
    if differing:
        raise FormatError(
            f"{place}: these rows were made with another {' and '.join(differing)}; delete the folder, or name"
            " another one"
        )


def _width_of(folder: Path, *, rows: int) -> int:
    """Numbers a row, as the folder says; 0 where it has no rows.

    Raises:
        FormatError: It has rows and does not say how long they are.
    """
    place = folder / WIDTH
    told = place.read_text("ascii", errors="replace").strip() if place.exists() else ""
    if not rows:
        return 0
    if not told.isdigit() or not int(told):
        raise FormatError(f"{place} does not say how long rows are; delete the folder, its rows are made again")
    return int(told)


def _checks(rows: Vectors, digests: Entries) -> npt.NDArray[np.uint64]:
    """A checksum a row: its words and those of its digest as whole numbers, weighted by their place."""
    own = np.ascontiguousarray(digests).view(np.uint32).reshape(len(rows), 4)
    words = np.concatenate([np.ascontiguousarray(rows).view(np.uint32), own], axis=1).astype(np.uint64)
    weights = np.arange(1, 2 * words.shape[1], 2, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    sums: npt.NDArray[np.uint64] = (words * weights).sum(axis=1, dtype=np.uint64)
    return sums


@contextmanager
def _faults_of(folder: Path) -> Iterator[None]:
    """Raises FileError where the system refuses to read or write a folder."""
    try:
        yield
    except OSError as err:
        raise FileError(f"{folder}: {err.strerror or err}; what was made until then is kept") from None


@contextmanager
def _locked(stream: Any) -> Iterator[None]:
    """Waits until no other process holds the folder; where the system has no such locks, nothing is done."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    fcntl.flock(stream, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(stream, fcntl.LOCK_UN)
