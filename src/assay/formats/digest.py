"""Digests of files: what a collection's digest is made of."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
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


def files_digest(folder: Path, files: Iterable[Path]) -> str:
    """SHA-256 over the names (relative to `folder`, with `/`) and contents of files, as hexadecimal text.

    It is the digest of one line a file, sorted by name: digest, two blanks, name, newline; as `sha256sum` prints them.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as name:
        ...     _ = (Path(name) / "a.txt").write_bytes(b"one")
        ...     files_digest(Path(name), [Path(name) / "a.txt"])[:12]
        '982a5d10047b'
    """
    named = dict(sorted((path.relative_to(folder).as_posix(), path) for path in files))
    # Hashing lets other threads run, and the largest files decide how long it takes.
    with ThreadPoolExecutor(2) as pool:
        digests = list(pool.map(file_digest, named.values()))
    lines = "".join(f"{digest}  {name}\n" for digest, name in zip(digests, named, strict=True))
    return hashlib.sha256(lines.encode()).hexdigest()
