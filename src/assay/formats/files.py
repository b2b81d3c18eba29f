"""Files of bytes: opened whatever compresses them, and replaced whole or not at all.

`opened` recognises gzip and Zstandard by their first bytes, so a wrong suffix does no harm. `replacing` writes
under a temporary name in the folder of the target and renames at the end: a full disk or a killed process
leaves the old file as it was. Whatever the operating system refuses becomes a `FileError` with the path and
what to do.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import os
import secrets
import shutil
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from assay.errors import FileError, FormatError

StrPath = str | os.PathLike[str]

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
_BUFFER = 1 << 16
_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextlib.contextmanager
def opened(path: StrPath) -> Iterator[BinaryIO]:
    """The bytes of a file, decompressed if it is gzip or Zstandard by its content.

    Yields:
        A buffered binary file: `read`, `readinto`, `readline` and iteration over lines work for all three. Only
        a plain file can seek.

    Raises:
        FileError: There is no such file, it is a folder, or it may not be read.
        FormatError: A compressed file is cut short or damaged; raised while reading.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     place = Path(folder) / "a.txt"      # gzip in fact, in spite of the name
        ...     _ = place.write_bytes(gzip.compress(b"one"))
        ...     with opened(place) as file:
        ...         file.read()
        b'one'
    """
    with contextlib.ExitStack() as stack:
        try:
            plain = cast(io.BufferedReader, stack.enter_context(open(path, "rb", buffering=_BUFFER)))
            magic = plain.peek(4)[:4]
        except OSError as err:
            raise refused(err, path, "read") from None
        if not magic and compression_of_name(path):
            raise FormatError(
                f"{os.fspath(path)} is empty, but its name says {compression_of_name(path)}: fetch or write it again"
            )
        if magic.startswith(GZIP):
            source: Any = stack.enter_context(gzip.GzipFile(fileobj=plain, mode="rb"))
        elif magic == ZSTD:
            import pyarrow as pa

            source = stack.enter_context(pa.CompressedInputStream(pa.PythonFile(plain, mode="r"), "zstd"))
        else:
            yield plain
            return
        reader = io.BufferedReader(_Decompressed(source, os.fspath(path)), _BUFFER)
        yield cast(BinaryIO, stack.enter_context(reader))


@contextlib.contextmanager
def replacing(path: StrPath) -> Iterator[BinaryIO]:
    """A binary file to write, which takes the place of `path` when the block ends without an error.

    The target's suffix decides on compression: `.gz`, `.zst` or none. The bytes depend on what is written
    alone (no clock, no name in the gzip header). A link is followed, and its target replaced; permissions of
    an existing file stay. A device or a pipe such as `/dev/stdout` is written directly.

    Raises:
        FileError: The folder is missing or may not be written, the target is a folder, the disk is full.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     place = Path(folder) / "a.txt"
        ...     with replacing(place) as file:
        ...         _ = file.write(b"whole")
        ...     place.read_bytes(), len(list(Path(folder).iterdir()))
        (b'whole', 1)
    """
    with _whole(path) as raw, _compressing(raw, path) as file:
        yield file


@contextlib.contextmanager
def _whole(path: StrPath) -> Iterator[BinaryIO]:
    """As `replacing`, for bytes that are written as they are."""
    target = Path(os.path.realpath(path))
    mode = _mode(target, path)
    if mode is not None and not stat.S_ISREG(mode):
        with _translated(path), open(target, "wb") as direct:
            yield direct
        return
    part = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.part")
    try:
        with _translated(path):
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
            with open(descriptor, "wb", buffering=_BUFFER) as raw:
                if mode is not None:
                    os.chmod(part, stat.S_IMODE(mode))
                yield raw
                raw.flush()
                os.fsync(raw.fileno())
            os.replace(part, target)
            _sync_folder(target.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def copy_whole(source: StrPath, target: StrPath) -> None:
    """Copies a file's bytes as they are, whatever the suffixes; `target` is replaced whole or not at all.

    Raises:
        FileError: The source cannot be read, the folder is missing, the target is a folder, the disk is full.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     one, other = Path(folder) / "a.txt", Path(folder) / "b.gz"
        ...     _ = one.write_bytes(b"plain")
        ...     copy_whole(one, other)
        ...     other.read_bytes()
        b'plain'
    """
    try:
        stream = open(source, "rb", buffering=_BUFFER)  # noqa: SIM115 - closed below
    except OSError as err:
        raise refused(err, source, "read") from None
    with stream, _whole(target) as copy:
        shutil.copyfileobj(stream, copy, 1 << 20)


def compression_of_name(path: StrPath) -> str | None:
    """`"gzip"`, `"zstd"` or None, by the suffix alone.

    Example:
        >>> compression_of_name("run.trec.GZ"), compression_of_name("run.trec")
        ('gzip', None)
    """
    return {".gz": "gzip", ".zst": "zstd"}.get(Path(path).suffix.lower())


def refused(err: OSError, path: StrPath, verb: str) -> FileError:
    """The error for what the operating system refused: path, reason, what to do.

    Args:
        err: The error of the operating system.
        path: The file that the user named.
        verb: What was tried: "read" or "write".
    """
    place = os.fspath(path)
    if isinstance(err, FileNotFoundError):
        if verb == "read":
            return FileError(f"there is no file {place}; check the path")
        return FileError(f"cannot write {place}: the folder {Path(place).parent} does not exist; make it first")
    if isinstance(err, IsADirectoryError):
        return FileError(f"{place} is a folder where a file is meant; name a file in it")
    if isinstance(err, NotADirectoryError):
        return FileError(f"cannot {verb} {place}: a part of its path is a file, not a folder; check the path")
    if isinstance(err, PermissionError) or err.errno == errno.EROFS:
        return FileError(f"no permission to {verb} {place}; change its permissions or choose another place")
    if err.errno in _DISK:
        return FileError(
            f"cannot write {place}: no space left ({err.strerror}); free some space or choose another disk;"
            " the file that stood there before is unchanged"
        )
    return FileError(f"cannot {verb} {place}: {err.strerror or err}")


class _Decompressed(io.RawIOBase):
    """A decompressing stream whose faults name the file."""

    def __init__(self, source: Any, path: str) -> None:
        super().__init__()
        self._source = source
        self._path = path

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        try:
            data = self._source.read(len(buffer))
        except (EOFError, zlib.error, OSError) as err:
            cut = isinstance(err, EOFError) or "runcated" in str(err)
            what = "ends in the middle of its compressed data" if cut else f"holds damaged compressed data ({err})"
            raise FormatError(f"{self._path} {what}; fetch or write it again") from None
        buffer[: len(data)] = data
        return len(data)


@contextlib.contextmanager
def _compressing(raw: BinaryIO, path: StrPath) -> Iterator[BinaryIO]:
    compression = compression_of_name(path)
    if compression == "gzip":
        with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0) as packed:
            yield cast(BinaryIO, packed)
    elif compression == "zstd":
        import pyarrow as pa

        # Arrow closes what it writes to, and the file must stay open for fsync.
        sink = pa.PythonFile(_Kept(raw), mode="w")
        with pa.CompressedOutputStream(sink, "zstd") as stream, io.BufferedWriter(_Compressed(stream)) as buffered:
            yield cast(BinaryIO, buffered)
    else:
        yield raw


class _Kept(io.RawIOBase):
    """A file that passes writes on and outlives its own closing."""

    def __init__(self, raw: BinaryIO) -> None:
        super().__init__()
        self._raw = raw

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        return self._raw.write(data)


class _Compressed(io.RawIOBase):
    """The writing end of Arrow's compressing stream as a Python file."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self._stream.write(bytes(data))
        return len(data)


def _mode(target: Path, path: StrPath) -> int | None:
    """The mode bits of the target, None where nothing stands there."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    except OSError as err:
        raise refused(err, path, "write") from None
    if stat.S_ISDIR(mode):
        raise refused(IsADirectoryError(), path, "write")
    return mode


@contextlib.contextmanager
def _translated(path: StrPath) -> Iterator[None]:
    """Turns refusals that concern the target into FileError; others, from the caller's own block, pass."""
    try:
        yield
    except OSError as err:
        own = err.filename is None or str(err.filename).endswith(".part") or str(err.filename) == os.fspath(path)
        if own:
            raise refused(err, path, "write") from None
        raise


def _sync_folder(folder: Path) -> None:
    """Makes the rename last through a power cut, where the system offers it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
