"""The folder that is filled from the interface: what came lies there as it came, with one line a request.

    lists/<year>-<work type>-to-<month>-<offset>.json   which questions there are; empty where the list ends
    questions/<year>-<n>.json                           details of questions
    documents/<id>.json                                 details of answers that a question only names
    files/<id>_<lang>.<ending>                          texts
    fetched.jsonl                                       url, file, sha256, status, bytes, and why nothing was kept

A thing is done once its line stands, and its file was written whole before that. So a kill costs what was in flight.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from assay.errors import DigestError, FileError, FormatError, UsageError
from assay.formats.digest import file_digest
from assay.formats.files import refused, replacing
from assay.sources.europarl.client import Reply

RECORD = "fetched.jsonl"
PARTS = ("lists", "questions", "documents", "files")
SHOWN = 5


@dataclass(frozen=True)
class Line:
    """One request that is done.

    Attributes:
        url: What was asked for.
        file: Where it lies, relative to the folder; empty where nothing was kept.
        sha256: Digest of that file; empty where nothing was kept.
        status: The status of the response, or as `Refused` gives it.
        bytes: Size of the file.
        why: Why nothing was kept; empty where something was.
    """

    url: str
    file: str
    sha256: str
    status: int
    bytes: int
    why: str = ""

    @property
    def lasting(self) -> bool:
        """Whether a refusal is not worth asking again.

        Example:
            >>> Line("u", "", "", 404, 0, "status 404").lasting, Line("u", "", "", 500, 0, "status 500").lasting
            (True, False)
        """
        return self.status not in (200, 408) and self.status < 500

    @property
    def asked(self) -> str:
        """What one thing was asked for: an id or the name of a file; empty where it was a batch.

        Example:
            >>> Line("https://a.eu/api/v2/documents/E-9-2022-000001-ASW?format=x", "", "", 404, 0).asked
            'E-9-2022-000001-ASW'
        """
        name = unquote(urlsplit(self.url).path).rpartition("/")[2]
        return "" if "," in name else name


class Held:
    """What a folder holds, by its lines.

    Attributes:
        place: The folder.
        damaged: Files that are missing or not what came; they are not held.

    Raises:
        FormatError: A line of the record is none.
    """

    def __init__(self, place: Path, record: bytes) -> None:
        self.place = place
        self._kept: dict[str, Line] = {}
        self._refused: dict[str, Line] = {}
        for line in _lines(record, place / RECORD):
            self.add(line)
        self.damaged = [file for file, line in self._kept.items() if not _is_whole(place / file, line)]
        for file in self.damaged:
            del self._kept[file]

    @property
    def files(self) -> list[str]:
        """Files that were kept, in the order in which they came."""
        return list(self._kept)

    @property
    def base(self) -> str:
        """The address of the interface that filled the folder; empty where nothing was listed."""
        [url, *_] = [line.url for file, line in self._kept.items() if file.startswith("lists/")] or [""]
        return url.rpartition("/parliamentary-questions")[0]

    def has(self, line: Line) -> bool:
        """Whether this very line stands."""
        return line in (self._kept.get(line.file), self._refused.get(line.url))

    def add(self, line: Line) -> None:
        """Takes a line for the last word on its file or address."""
        if line.file:
            self._kept[line.file] = line
            self._refused.pop(line.url, None)
        else:
            self._refused[line.url] = line

    def holds(self, file: str) -> bool:
        """Whether a file was kept."""
        return file in self._kept

    def refusal(self, url: str) -> Line | None:
        """The line of an earlier refusal of an address."""
        return self._refused.get(url)

    def read(self, file: str) -> bytes:
        """The bytes of a file that was kept."""
        try:
            return (self.place / file).read_bytes()
        except OSError as err:
            raise refused(err, self.place / file, "read") from None


class Folder:
    """A folder that this process alone fills; a context. `held` is what is in it.

    Args:
        place: The folder; it is made where it is missing.

    Raises:
        UsageError: Another process fills it.
        FileError: It holds something else, or cannot be written.
        FormatError: Its record is damaged.
    """

    def __init__(self, place: Path) -> None:
        self.place = place
        self._stream = _begun(place)
        try:
            _lock(self._stream, place)
            self._stream.seek(0)
            whole = self._stream.read()
            end = whole.rfind(b"\n") + 1
            if end < len(whole):
                # The line that a kill has torn; what it told of is asked for again.
                self._stream.truncate(end)
            self._stream.seek(0, os.SEEK_END)
            self.held = Held(place, whole[:end])
        except BaseException:
            self._stream.close()
            raise

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, at: TracebackType | None) -> None:
        self._stream.close()

    def keep(self, url: str, file: str, reply: Reply) -> None:
        """Writes what came whole, then its line."""
        with replacing(self.place / file) as stream:
            stream.write(reply.body)
        self._add(Line(url, file, hashlib.sha256(reply.body).hexdigest(), reply.status, len(reply.body)))

    def refuse(self, url: str, *, status: int, why: str) -> None:
        """Writes the line of something that is not to be had; once, however often it is met."""
        line = Line(url, "", "", status, 0, why)
        if not self.held.has(line):
            self._add(line)

    def _add(self, line: Line) -> None:
        try:
            self._stream.write(json.dumps(asdict(line)).encode() + b"\n")
            self._stream.flush()
        except OSError as err:
            raise refused(err, self.place / RECORD, "write") from None
        self.held.add(line)


def held_in(place: Path) -> Held:
    """What a folder holds that was filled before; nothing is written.

    Raises:
        FileError: There is no such folder, or nothing in it was fetched.
        FormatError: A line of its record is none.
        DigestError: A file is missing or not what came.
    """
    record = place / RECORD
    if not place.is_dir():
        raise FileError(f"there is no folder {place}; name one that an earlier build has filled")
    if not record.is_file():
        raise FileError(
            f"{place} holds no {RECORD}: nothing was fetched into it; name a folder that a build has filled"
        )
    try:
        whole = record.read_bytes()
    except OSError as err:
        raise refused(err, record, "read") from None
    held = Held(place, whole[: whole.rfind(b"\n") + 1])
    if held.damaged:
        more = f" and {len(held.damaged) - SHOWN} more" if len(held.damaged) > SHOWN else ""
        raise DigestError(
            f"{place}: {', '.join(held.damaged[:SHOWN])}{more}: missing or not what came ({len(held.damaged)} files);"
            f" build once with --cache {place} in place of --offline, which fetches them again"
        )
    return held


def _begun(place: Path) -> BinaryIO:
    record = place / RECORD
    if place.exists() and not place.is_dir():
        raise FileError(f"{place} is a file where a folder is meant; name a folder")
    if place.is_dir() and not record.is_file() and any(place.iterdir()):
        raise FileError(f"{place} holds other files, and no {RECORD}; name a new or empty folder")
    try:
        place.mkdir(parents=True, exist_ok=True)
        # The record comes first, so that a kill never leaves folders that look like those of somebody else.
        stream = open(record, "a+b")  # noqa: SIM115 - it stays open as long as the folder is held
    except OSError as err:
        raise refused(err, place, "write") from None
    try:
        for part in PARTS:
            (place / part).mkdir(exist_ok=True)
        for left in place.glob("*/.*.part"):
            left.unlink()
    except OSError as err:
        stream.close()
        raise refused(err, place, "write") from None
    return stream


def _lock(stream: BinaryIO, place: Path) -> None:
    try:
        import fcntl
    except ImportError:  # a system without such locks
        return
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise UsageError(f"{place} is being filled by another process; wait for it or name another folder") from None


def _lines(whole: bytes, record: Path) -> Iterator[Line]:
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            found = Line(**json.loads(line))
            parts = found.file.split("/")
            whole_line = (not found.file or (parts[0] in PARTS and len(parts) == 2)) and found.bytes >= 0
        except (ValueError, TypeError, AttributeError):
            whole_line = False
        if not whole_line:
            raise FormatError(
                f"{record}:{number}: no line of a request; take that line out, and what it names is fetched again"
            )
        yield found


def _is_whole(path: Path, line: Line) -> bool:
    return path.is_file() and path.stat().st_size == line.bytes and file_digest(path) == line.sha256
