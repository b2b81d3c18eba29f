"""Chunkers: what cuts documents, the four kinds, and the proof of what they return.

The four kinds are told apart by the method they have:

* `Chunker.spans`: the spans of one document.
* `BatchChunker.spans_of`: the spans of many documents at once.
* `PieceChunker.pieces`: the texts of one document's chunks, without offsets or with offsets not to be trusted; the
  house finds where they stand.
* `PassageChunker.chosen`: spans chosen among the passages that a collection has already.

A chunker is a frozen dataclass; its fields are its parameters. `name` is what the command line calls it. Spans count
code points, half-open; within a document starts never go backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from assay.align import aligned
from assay.errors import AssayError, ContractError, UsageError
from assay.span import Spans
from assay.texts import Texts

Column = npt.NDArray[np.int64]

_ASCII_BLANK = np.array([chr(byte).isspace() for byte in range(128)] + [True] * 128)
"""A first byte that may begin a blank: ASCII blanks, and whatever is not ASCII and must be looked at."""


@runtime_checkable
class Chunker(Protocol):
    """Cuts one document."""

    name: ClassVar[str]

    def spans(self, document: str) -> Column:
        """Start and end of each chunk, int64 of shape (chunks, 2), in code points."""
        ...


@runtime_checkable
class BatchChunker(Protocol):
    """Cuts many documents at once."""

    name: ClassVar[str]

    def spans_of(self, documents: Texts) -> Spans:
        """The chunks of all documents, by document; the code of a document is its row."""
        ...


@runtime_checkable
class PieceChunker(Protocol):
    """Returns texts, whose place the house finds."""

    name: ClassVar[str]

    def pieces(self, document: str) -> list[str]:
        """The texts of the chunks, in the order of the document."""
        ...


@runtime_checkable
class PassageChunker(Protocol):
    """Chooses among passages that exist."""

    name: ClassVar[str]

    def chosen(self, own: Spans) -> Spans:
        """The spans to keep, by document, of those that a collection has."""
        ...


AnyChunker = Chunker | BatchChunker | PieceChunker | PassageChunker


@dataclass(frozen=True, eq=False)
class Chunked:
    """Chunks of documents: each text is what its document holds at its span.

    Attributes:
        spans: By document; the code of a document is its row.
        texts: The chunks' texts.
        counts: Chunks by how they were placed, and what was left out.
        lost: Up to ten chunks that were not placed, as (row of the document, text).
    """

    spans: Spans
    texts: Texts
    counts: Mapping[str, int]
    lost: tuple[tuple[int, str], ...] = ()

    def __len__(self) -> int:
        return len(self.spans)


def chunked(chunker: AnyChunker, documents: Texts, *, own: Spans | None = None) -> Chunked:
    """The chunks of documents, each proven against its document; blank ones are left out and counted.

    Args:
        chunker: A chunker of any kind.
        documents: What to cut.
        own: The passages that exist, by rows of `documents`; only a chunker that chooses among them needs it.

    Raises:
        ContractError: The chunker failed, or returned spans of another shape, out of range, or that go backwards.
        UsageError: It chooses among passages and there are none, or it is no chunker.

    Example:
        >>> class Halves:
        ...     name: ClassVar[str] = "halves"
        ...     def spans(self, document: str) -> Column:
        ...         return np.array([[0, len(document) // 2], [len(document) // 2, len(document)]])
        >>> made = chunked(Halves(), Texts.of(["été!", " x"]))
        >>> made.texts.to_list(), made.spans.start.tolist(), made.counts
        (['ét', 'é!', 'x'], [0, 2, 1], {'blank chunks left out': 1})
    """
    counts: dict[str, int] = {}
    lost: list[tuple[int, str]] = []
    if isinstance(chunker, BatchChunker):
        spans = _asked(chunker.name, "these documents", chunker.spans_of, documents)
    elif isinstance(chunker, Chunker):
        made = (_asked(chunker.name, f"document {row}", chunker.spans, text) for row, text in enumerate(documents))
        spans = _joined([_column(found, chunker.name) for found in made])
    elif isinstance(chunker, PieceChunker):
        spans = _of_pieces(chunker, documents, counts, lost)
    elif isinstance(chunker, PassageChunker):
        if own is None:
            raise UsageError(f"{chunker.name} chooses among passages that exist, and there are none")
        spans = _asked(chunker.name, "these passages", chunker.chosen, own)
    else:
        raise UsageError(f"{chunker!r} is no chunker: it has none of spans, spans_of, pieces, chosen")
    refuse_wrong_spans(spans, documents, name=chunker.name)
    texts = cut(documents, spans)
    filled = filled_rows(texts)
    counts["blank chunks left out"] = counts.get("blank chunks left out", 0) + len(spans) - len(filled)
    if len(filled) < len(spans):
        spans, texts = spans.take(filled), texts.take(filled)
    return Chunked(spans, texts, counts, tuple(lost[:10]))


def refuse_wrong_spans(spans: Spans, documents: Texts, *, name: str) -> None:
    """Raises ContractError where spans leave their documents, or are not by document and start."""
    size = documents.lengths
    known = (spans.document >= 0) & (spans.document < len(documents))
    outside = np.flatnonzero(~known | (spans.end > size[np.where(known, spans.document, 0)] if len(size) else ~known))
    if len(outside):
        row = int(outside[0])
        raise ContractError(
            f"{name}: chunk {row + 1} is [{spans.start[row]}, {spans.end[row]}) of document {spans.document[row]},"
            f" which ends before ({len(outside)} such chunks); offsets count code points of the text as it was given"
        )
    step = np.diff(spans.document)
    back = np.flatnonzero((step < 0) | ((step == 0) & (np.diff(spans.start) < 0)))
    if len(back):
        row = int(back[0]) + 1
        raise ContractError(
            f"{name}: chunk {row + 1} starts at {spans.start[row]}, before the chunk that precedes it"
            f" ({len(back)} such chunks); return chunks in the order of the document"
        )


def cut(documents: Texts, spans: Spans) -> Texts:
    """The text of every span; spans lie by document and inside it.

    Example:
        >>> cut(Texts.of(["aéb"]), Spans.of((0, 0, 2), (0, 1, 3))).to_list()
        ['aé', 'éb']
    """
    first = np.searchsorted(spans.document, np.arange(len(documents) + 1)).astype(np.int64)
    start, end = spans.start.copy(), spans.end.copy()
    for row in np.flatnonzero((documents.lengths != documents.byte_lengths) & (np.diff(first) > 0)).tolist():
        data = documents.buffer[documents.offsets[row] : documents.offsets[row + 1]]
        place = np.append(np.flatnonzero((data & 0xC0) != 0x80), len(data))
        mine = slice(first[row], first[row + 1])
        start[mine], end[mine] = place[start[mine]], place[end[mine]]
    base = documents.offsets[spans.document]
    whole: Any = np.ascontiguousarray(documents.buffer).data
    offsets = np.zeros(len(spans) + 1, np.int64)
    np.cumsum(end - start, out=offsets[1:])
    pieces = [whole[a:b] for a, b in zip((base + start).tolist(), (base + end).tolist(), strict=True)]
    return Texts(np.frombuffer(b"".join(pieces), np.uint8), offsets)


def stripped(document: str, spans: Sequence[tuple[int, int]]) -> Column:
    """Spans without the blanks at their ends, int64 of shape (spans, 2); blank ones are left out.

    Example:
        >>> stripped(" a b ", [(0, 2), (2, 3), (3, 5)]).tolist()
        [[1, 2], [3, 4]]
    """
    kept = []
    for start, end in spans:
        text = document[start:end]
        inner = text.strip()
        if inner:
            begin = start + len(text) - len(text.lstrip())
            kept.append((begin, begin + len(inner)))
    return np.asarray(kept, np.int64).reshape(-1, 2)


def one_of(name: str, **sizes: int) -> str:
    """The one size that is given (not 0) among several.

    Raises:
        UsageError: None or several are given, or one is negative.

    Example:
        >>> one_of("window", words=120, characters=0)
        'words'
    """
    given = [word for word, size in sizes.items() if size]
    if len(given) != 1 or not whole_numbers(sizes[given[0]]) or sizes[given[0]] < 1:
        raise UsageError(
            f"{name}: give one of {', '.join(sizes)}, a whole number above 0, as in {name}({next(iter(sizes))}=120)"
        )
    return given[0]


def whole_numbers(*values: object) -> bool:
    """Whether all of them are whole numbers; True and False are none.

    Example:
        >>> whole_numbers(3, 0), whole_numbers(3, True), whole_numbers("3")
        (True, False, False)
    """
    return all(isinstance(value, int) and not isinstance(value, bool) for value in values)


def _asked(name: str, place: str, ask: Callable[[Any], Any], given: Any) -> Any:
    """What a chunker returns; where it fails by itself, one error that says so."""
    try:
        return ask(given)
    except (AssayError, OSError, MemoryError):
        raise
    except Exception as err:
        raise ContractError(
            f"{name} failed on {place}: {type(err).__name__}: {err}; this is an error of the chunker, or of the package"
            " that it calls"
        ) from err


def _of_pieces(chunker: PieceChunker, documents: Texts, counts: dict[str, int], lost: list[tuple[int, str]]) -> Spans:
    """Where a chunker's texts stand."""
    columns = []
    for row, document in enumerate(documents):
        pieces: Any = _asked(chunker.name, f"document {row}", chunker.pieces, document)
        if not isinstance(pieces, list | tuple) or not all(isinstance(piece, str) for piece in pieces):
            raise ContractError(
                f"{chunker.name} returned {type(pieces).__name__} for document {row}; a list of texts is due"
            )
        found = aligned(document, pieces)
        columns.append(found.spans[found.placed])
        for name, count in found.counts.items():
            if name.startswith(("chunks", "blank")):
                counts[name] = counts.get(name, 0) + count
        lost += [(row, pieces[at]) for at in found.lost.tolist()]
    return _joined(columns)


def _column(found: Any, name: str) -> Column:
    try:
        array = np.asarray(found)
    except (TypeError, ValueError) as err:
        raise ContractError(f"{name} returned no table of spans: {err}") from None
    if array.size == 0:
        return np.zeros((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise ContractError(
            f"{name} returned an array of {array.dtype} and shape {array.shape}; whole numbers of shape (chunks, 2)"
            " are due"
        )
    column: Column = array.astype(np.int64, copy=False)
    bad = np.flatnonzero((column[:, 0] < 0) | (column[:, 1] < column[:, 0]))
    if len(bad):
        start, end = column[bad[0]].tolist()
        raise ContractError(
            f"{name}: chunk {bad[0] + 1} is [{start}, {end}), reversed or negative ({len(bad)} such chunks)"
        )
    return column


def _joined(columns: list[Column]) -> Spans:
    table = np.concatenate([np.zeros((0, 2), np.int64), *columns])
    document = np.repeat(np.arange(len(columns), dtype=np.int64), [len(column) for column in columns])
    return Spans(document, table[:, 0].copy(), table[:, 1].copy())


def filled_rows(texts: Texts) -> Column:
    """Rows of texts that hold more than blanks."""
    filled = texts.byte_lengths > 0
    rows = np.flatnonzero(filled)
    doubtful = rows[_ASCII_BLANK[texts.buffer[texts.offsets[rows]]]]
    filled[doubtful] = [not text.isspace() for text in texts.take(doubtful)]
    return np.flatnonzero(filled)
