"""Digests of files: what a collection's digest is made of."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from assay.formats.files import StrPath, refused


def file_digest(path: StrPath) -> str:
    """SHA-256 of a file's bytes, as hexadecimal text.

    Raises:
        FileError: The file cannot be read.
    """
    try:
        with open(path, "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as err:
        raise refused(err, path, "read") from None


def file_digests(folder: Path, files: Iterable[Path]) -> dict[str, str]:
    """SHA-256 of each file by its name relative to `folder` (with `/`), in order of the names."""
    named = dict(sorted((path.relative_to(folder).as_posix(), path) for path in files))
    # Hashing lets other threads run, and the largest files decide how long it takes.
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(named, pool.map(file_digest, named.values()), strict=True))


def digest_of(digests: Mapping[str, str]) -> str:
    """SHA-256 over names and contents of files, as hexadecimal text.

    It is the digest of one line a file, sorted by name: digest, two blanks, name, newline; as `sha256sum` prints them.

    Args:
        digests: SHA-256 of each file by its name, as `file_digests` gives them.

    Example:
        >>> digest_of({"a.txt": hashlib.sha256(b"one").hexdigest()})[:12]
        '982a5d10047b'
    """
    lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items()))
    return hashlib.sha256(lines.encode()).hexdigest()
