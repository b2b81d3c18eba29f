"""Large TREC files as columns: blocks of bytes, scanned by compiled code on all cores.

A plain file is cut at line ends into one part a thread; a compressed file or a pipe is one part. Codes are
those of first appearance in the file, whatever the number of threads and the size of blocks.
"""

from __future__ import annotations

import io
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, BinaryIO, NamedTuple, Protocol

import numpy as np

from assay.errors import FormatError
from assay.formats.files import StrPath, opened, refused
from assay.formats.trec_lines import GRADE_BOUND, MARK, Columns, bare_returns, columns_of_lines, number_of_field
from assay.kernels.trec import Layout, Scan
from assay.kernels.vocabulary import Vocabulary
from assay.texts import Texts

BLOCK = 4 << 20
"""Bytes that one worker holds at a time; a longer line makes its buffer grow."""

SMALL = 4 << 20
"""Below this size the plain reader takes less time than loading the compiled one."""

LONGEST_LINE = 64 << 20


def columns_of_file(
    path: StrPath, layout: Layout, *, block: int = BLOCK, small: int = SMALL, threads: int | None = None
) -> Columns:
    """The columns of a TREC file: plain, gzip or Zstandard.

    Args:
        path: The file.
        layout: Which fields a line has.
        block: Bytes a worker reads at a time.
        small: Files of fewer bytes (decompressed) are read by the plain reader alone.
        threads: Workers for a plain file; None for as many as there are cores. The result does not depend
            on it.

    Raises:
        FileError, FormatError, ScoreError: The file cannot be opened or holds a fault; the message names the
            line.
    """
    place = os.fspath(path)
    with opened(path) as file:
        if not file.seekable():
            head = file.read(small)
            if len(head) < small:
                return columns_of_lines(head, layout, path=place)
            part = _Part(Scan(layout), block)
            part.run(_Stream(head, file), None, first=True)
            return _assembled([part], layout, place)
        size = os.fstat(file.fileno()).st_size
        if size < small:
            return columns_of_lines(file.read(), layout, path=place)
        workers = max(1, min(threads or _cores(), size // block if threads is None else size))
        cuts = _line_starts(file, size, workers)
    return _assembled(_parts(place, layout, cuts, block), layout, place)


class _Fault(NamedTuple):
    """A block with a fault: lines before it in its part, its bytes, and whether the file ends with it."""

    lines: int
    data: bytes
    complete: bool


class _Source(Protocol):
    def readinto(self, buffer: Any, /) -> int | None: ...


@dataclass
class _Part:
    """One worker: reads blocks of its source until the end or the first fault."""

    scan: Scan
    block: int
    mark: bool = False
    fault: _Fault | None = None
    stopped: bool = field(default=False)

    def run(self, source: _Source, length: int | None, *, first: bool) -> None:
        """Reads `length` bytes (None: all) from the source; `first` says that they start the file."""
        buffer = bytearray(self.block + 1)
        kept = 0
        while not self.stopped:
            want = len(buffer) - 1 - kept if length is None else min(length, len(buffer) - 1 - kept)
            got = (source.readinto(memoryview(buffer)[kept : kept + want]) or 0) if want else 0
            length = None if length is None else length - got
            filled = kept + got
            ended = got == 0 or length == 0
            if ended and filled == 0:
                return
            cut = filled if ended else buffer.rfind(b"\n", kept, filled) + 1
            if cut == 0:
                if filled + 1 == len(buffer):
                    if filled > LONGEST_LINE:
                        self.fault = _Fault(self.scan.lines, b"", False)
                        return
                    buffer = buffer + bytes(len(buffer))
                kept = filled
                continue
            if not self._read(buffer, cut, first=first, complete=ended) or ended:
                return
            first = False
            kept = filled - cut
            buffer[:kept] = buffer[cut:filled]

    def _read(self, buffer: bytearray, stop: int, *, first: bool, complete: bool) -> bool:
        """Reads one block of whole lines; False at a fault."""
        closed = stop
        if buffer[stop - 1] != 10:
            buffer[stop] = 10
            closed += 1
        self.mark = self.mark or (first and buffer.startswith(MARK))
        start = len(MARK) if first and self.mark else 0
        if start >= stop:
            return True
        before = self.scan.lines
        if not self._scanned(buffer, start, closed):
            self.fault = _Fault(before, bytes(buffer[:stop]), complete)
            return False
        return True

    def _scanned(self, buffer: bytearray, start: int, stop: int) -> bool:
        read = self.scan.read(np.frombuffer(buffer, np.uint8), start, stop)
        if read is None:
            return False
        if read.wide >= 0 and bare_returns(bytes(buffer[read.wide : buffer.index(b"\n", read.wide)])):
            return False
        for row, begin, end in read.slow.tolist():
            number = number_of_field(bytes(buffer[begin:end]), self.scan.layout)
            if number is None:
                return False
            read.value[row] = number
        return not (self.scan.layout.whole and len(read.value) and np.abs(read.value).max() >= GRADE_BOUND)


class _Stream:
    """Bytes already read, then the rest of a file."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = io.BytesIO(head)
        self._rest = rest

    def readinto(self, buffer: Any, /) -> int:
        return self._head.readinto(buffer) or self._rest.readinto(buffer)  # type: ignore[attr-defined]


def _parts(path: str, layout: Layout, cuts: list[int], block: int) -> list[_Part]:
    parts = [_Part(Scan(layout), block) for _ in cuts[1:]]

    def work(index: int) -> None:
        try:
            with open(path, "rb", buffering=0) as file:
                file.seek(cuts[index])
                parts[index].run(file, cuts[index + 1] - cuts[index], first=index == 0)
        except OSError as err:
            raise refused(err, path, "read") from None
        if parts[index].fault is not None:
            for later in parts[index + 1 :]:
                later.stopped = True

    if len(parts) == 1:
        work(0)
        return parts
    with ThreadPoolExecutor(len(parts)) as pool:
        list(pool.map(work, range(len(parts))))
    return parts


def _assembled(parts: list[_Part], layout: Layout, path: str) -> Columns:
    """One set of columns from all parts, or the error of the first fault."""
    line = 1
    for part in parts:
        if part.fault is not None:
            _raise_fault(part.fault, layout, path=path, first_line=line + part.fault.lines)
        line += part.scan.lines
    scans = [part.scan for part in parts]
    queries, passages = scans[0].queries, scans[0].passages
    query_codes = [None, *(queries.adopted(scan.queries) for scan in scans[1:])]
    passage_codes = [None, *(passages.adopted(scan.passages) for scan in scans[1:])]
    ends = np.cumsum([scan.rows for scan in scans]).tolist()
    passage, value = np.empty(ends[-1], np.int32), np.empty(ends[-1], np.float64)
    starts, owners = [], []
    moves = []
    for scan, end, renamed, codes in zip(scans, ends, query_codes, passage_codes, strict=True):
        rows = slice(end - scan.rows, end)
        starts += [start + rows.start for start in scan.segment_start]
        owners += [owner if renamed is None else renamed[owner] for owner in scan.segment_query]
        moves.append((scan, passage[rows], value[rows], codes))
    with ThreadPoolExecutor(len(moves)) as pool:
        list(pool.map(lambda move: move[0].move_rows(*move[1:]), moves))
    owner = np.concatenate([np.zeros(0, np.int32), *owners])
    new = np.concatenate([[True], owner[1:] != owner[:-1]])[: len(owner)]
    return Columns(
        _texts(queries),
        _texts(passages),
        np.concatenate([np.zeros(0, np.int64), *starts])[new],
        owner[new],
        passage,
        value,
        lines=line - 1,
        comments=sum(scan.comments for scan in scans),
        empty=sum(scan.empty for scan in scans),
        extra=sum(scan.extra for scan in scans),
        mark=parts[0].mark,
    )


def _raise_fault(fault: _Fault, layout: Layout, *, path: str, first_line: int) -> None:
    if not fault.data:
        raise FormatError(f"{path}, line {first_line}: longer than {LONGEST_LINE >> 20} MB, so this is not a TREC file")
    columns_of_lines(fault.data, layout, path=path, first_line=first_line, complete=fault.complete)
    raise FormatError(f"{path}: a line from line {first_line} on cannot be read; check these lines")


def _line_starts(file: BinaryIO, size: int, parts: int) -> list[int]:
    """Places that cut a file into about equal parts of whole lines: `parts` + 1 at most, from 0 to `size`."""
    cuts = [0]
    for part in range(1, parts):
        file.seek(size * part // parts - 1)
        rest = file.readline(LONGEST_LINE)
        if rest.endswith(b"\n") and cuts[-1] < file.tell() < size:
            cuts.append(file.tell())
    return [*cuts, size]


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _texts(vocabulary: Vocabulary) -> Texts:
    return Texts(*vocabulary.columns)
