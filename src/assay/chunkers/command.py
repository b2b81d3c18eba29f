"""A program as a chunker, in any language: documents in as JSON Lines, chunks out."""

from __future__ import annotations

import json
import secrets
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from assay.align import aligned
from assay.errors import ContractError, FormatError, UnknownIdError, UsageError
from assay.programs import KEPT_VARIABLES, Program, found_from_anywhere, refuse_no_timeout, words_of
from assay.span import Spans
from assay.texts import Texts

Column = npt.NDArray[np.int64]

_SHOWN_CHARACTERS = 60
_MOST_BYTES = 64 << 20
_MOST_TIMES = 64


@dataclass(frozen=True)
class Command:
    """A program that reads documents and writes their chunks.

    It is started once, without a shell, in an empty temporary folder. On its standard input stand lines
    `{"id": …, "text": …}`, UTF-8, ids random; on its standard output it writes for each document one line, in
    any order, with the `id` and either

    * `spans`: `[[start, end], …]`, in code points, half-open, or
    * `chunks`: texts in the order of the document. Where they stand is found by alignment, and proven.

    A word of the command line that names a file here, such as a script, is handed over as a full path.

    Args:
        command: The command line; quoted as in a shell, but neither variables nor wildcards are filled in.
        timeout: Seconds after which the program is stopped.
        unplaced: How many chunks may stand nowhere in their documents before that is an error.

    Raises:
        UsageError: The command line is empty or cannot be read, or a parameter is out of its range.

    Example:
        >>> Command("chunk --size 200").timeout
        600.0
    """

    name: ClassVar[str] = "command"

    command: str
    timeout: float = 600.0
    unplaced: int = 0

    def __post_init__(self) -> None:
        words_of(self.command)
        refuse_no_timeout(self.timeout)
        unplaced: Any = self.unplaced
        if not (isinstance(unplaced, int) and unplaced >= 0):
            raise UsageError(f"command: unplaced must be a whole number from 0; found {unplaced!r}")

    def spans_of(self, documents: Texts) -> Spans:
        """The chunks of all documents.

        Raises:
            UnavailableError: There is no such program.
            ContractError: It failed, took too long, wrote without end, left a document out or gave it twice, or
                returned spans outside the document or texts that do not stand in it.
            FormatError: A line of its output cannot be read.
            UnknownIdError: Its output speaks of an id that it was not given.
        """
        texts = documents.to_list()
        ids: dict[str, int] = {}
        while len(ids) < len(texts):
            ids.setdefault(secrets.token_hex(8), len(ids))
        lines = (json.dumps({"id": own, "text": texts[row]}, ensure_ascii=False) + "\n" for own, row in ids.items())
        output = self._run("".join(lines).encode("utf-8")) if texts else b""
        found: dict[int, Column] = {}
        lost: list[tuple[int, str]] = []
        for number, line in enumerate(output.decode("utf-8", "replace").split("\n"), 1):
            if line.strip():
                record = _record(line, number)
                row = ids.get(record["id"], -1)
                if row < 0:
                    raise UnknownIdError(f"command: line {number}: {record['id']!r} is no id that it was given")
                if row in found:
                    raise ContractError(f"command: line {number}: document {row + 1} stands there twice")
                found[row] = _spans(record, texts[row], number, lost, row)
        missing = [row for row in range(len(texts)) if row not in found]
        if missing:
            raise ContractError(
                f"command: it wrote no line for document {missing[0] + 1} ({len(missing)} of {len(texts)} documents are"
                " missing); write a line for each, with an empty list where there is no chunk"
            )
        self._refuse_lost(lost)
        table = np.concatenate([np.zeros((0, 2), np.int64), *(found[row] for row in range(len(texts)))])
        document = np.repeat(np.arange(len(texts), dtype=np.int64), [len(found[row]) for row in range(len(texts))])
        return Spans(document, table[:, 0].copy(), table[:, 1].copy())

    def _refuse_lost(self, lost: list[tuple[int, str]]) -> None:
        if len(lost) > self.unplaced:
            row, text = lost[0]
            shown = text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
            raise ContractError(
                f"command: {len(lost)} chunks stand nowhere in their documents after the chunk before them (the first,"
                f" of document {row + 1}: {shown!r}); return the document's own words in its order, or allow some:"
                f" unplaced={len(lost)}"
            )

    def _run(self, data: bytes) -> bytes:
        """What the program writes for what it reads."""
        words = [found_from_anywhere(word, first=at == 0) for at, word in enumerate(words_of(self.command))]
        with tempfile.TemporaryDirectory(prefix="assay-") as folder:
            given, made, said, work = (Path(folder) / name for name in ("in", "out", "err", "work"))
            work.mkdir()
            given.write_bytes(data)
            program, most = Program(words, self.timeout), _MOST_BYTES + _MOST_TIMES * len(data)
            program.run(said=said, given=given, made=made, work=work, variables=KEPT_VARIABLES, most=most)
            return made.read_bytes()


def _record(line: str, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as err:
        raise FormatError(f"command: line {number}: not JSON: {err.msg}") from None
    except RecursionError:
        raise FormatError(f"command: line {number}: nested too deeply") from None
    if not isinstance(record, dict) or not isinstance(record.get("id"), str):
        raise FormatError(f"command: line {number}: no object with an id; write id, and spans or chunks")
    if ("spans" in record) == ("chunks" in record):
        raise FormatError(f"command: line {number}: write either spans or chunks, found {', '.join(map(repr, record))}")
    return record


def _spans(record: dict[str, Any], document: str, number: int, lost: list[tuple[int, str]], row: int) -> Column:
    if "chunks" in record:
        chunks = record["chunks"]
        if not isinstance(chunks, list) or not all(isinstance(chunk, str) for chunk in chunks):
            raise FormatError(f"command: line {number}: chunks must be a list of texts")
        placed = aligned(document, chunks)
        lost += [(row, chunks[at]) for at in placed.lost.tolist()]
        return placed.spans[placed.placed]
    spans = record["spans"]
    good = isinstance(spans, list) and all(
        isinstance(span, list) and len(span) == 2 and all(type(at) is int for at in span) for span in spans
    )
    if not good:
        raise FormatError(f"command: line {number}: spans must be a list of [start, end], whole numbers")
    wrong = next((at for at, (start, end) in enumerate(spans) if not 0 <= start <= end <= len(document)), None)
    if wrong is not None:
        raise ContractError(
            f"command: line {number}: chunk {wrong + 1} is {spans[wrong]}, outside a document of {len(document)}"
            " characters; offsets count code points"
        )
    return np.asarray(spans, np.int64).reshape(-1, 2)
