"""Windows: documents read whole by a model, in overlapping windows where they are long, and pooled by chunk.

This is late chunking (Günther et al. 2024, "Late Chunking: Contextual Chunk Embeddings Using Long-Context Embedding
Models", arXiv 2409.04701): the model reads the document, and the vector of a chunk is the mean of the vectors of its
tokens. As there, the tokens that the model or a prompt puts in front count with a chunk that holds the first token of
the document, and those behind with one that holds its last, so that a chunk that is the whole document has the vector
that the model gives its text.

Long documents ("long late chunking" there) are read in overlapping windows. Each token is taken from the window where
it stands further from a border: the cut is in the middle of what two windows share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.embeddings import Recipe
from assay.encoder import PADDED, Counts, Model, TokenModel, TokenVectors, Vectors, batches
from assay.errors import DataError, UsageError
from assay.progress import Pace
from assay.store import Store, folder_name, text_digest

Spans = npt.NDArray[np.int64]
BYTES_A_TOKEN = 4
"""Documents are handed to the model together until they have so many bytes for each token of a batch."""


@dataclass(frozen=True, eq=False)
class Document:
    """A document's text, and where its chunks lie: int64, shape (chunks, 2), half-open, code points."""

    text: str
    spans: Spans


@dataclass(frozen=True)
class LateRecipe:
    """What makes vectors of chunks.

    Attributes:
        plain: How the model reads texts.
        window: Tokens of a document in a window; 0 for as many as the model reads.
        overlap: Tokens that two windows share; None for half a window.
        force: Whether a model is used that does not pool by mean.
    """

    plain: Recipe
    window: int = 0
    overlap: int | None = None
    force: bool = False

    def record(self) -> dict[str, Any]:
        """All that the vectors depend on, as plain values."""
        late = {"window": self.window, "overlap": self.overlap, "pooling": "mean", "force": self.force}
        return {**self.plain.record(), "late_chunking": late}


@dataclass(frozen=True, eq=False)
class Pooled:
    """Vectors of chunks.

    Attributes:
        matrix: float32, one row a vector.
        place: The row of each chunk, document by document, int64.
        bare: Which chunks hold no token, bool; their rows mean nothing.
        made: How many documents were read now.
        model: What the model says of itself; empty where it was not opened.
    """

    matrix: Vectors
    place: npt.NDArray[np.int64]
    bare: npt.NDArray[np.bool_]
    made: int
    model: Mapping[str, str]


@dataclass(frozen=True)
class Window:
    """A part of a document that is read at once.

    Attributes:
        text: What is read: the prompt, and the document from character `start` on.
        prompt: How many characters the prompt has.
        start: Where the part starts in the document.
        low, high: Tokens that end behind `low` and start before `high` in the document are taken from here.
        tokens: How many tokens are read, without those that the model adds.
        first, last: Whether the document starts and ends here.
    """

    text: str
    prompt: int
    start: int
    low: int
    high: int
    tokens: int
    first: bool
    last: bool


@dataclass(frozen=True)
class Reader:
    """A model, and how much of a document it is handed at once.

    Attributes:
        model: What gives vectors of tokens.
        size: Tokens of a document in a window.
        overlap: Tokens that two windows share.
        prompt: Goes before every window.
        beside: Tokens of the prompt.
    """

    model: TokenModel
    size: int
    overlap: int
    prompt: str = ""
    beside: int = 0

    @classmethod
    def of(cls, model: Model, recipe: LateRecipe) -> Reader:
        """A reader with the sizes that are asked for, or that the model allows.

        Raises:
            UsageError: The model gives no vectors of tokens, pools otherwise, or reads less than is asked for.
        """
        name = recipe.plain.opening.weights.model
        if not isinstance(model, TokenModel):
            raise UsageError(f"late_chunking: {name} gives no vectors of tokens; take a model that does")
        if not recipe.force:
            refuse_other_pooling(name, model.pooling)
        prompt = recipe.plain.prompt
        beside = len(model.token_spans(prompt)[0]) if prompt else 0
        room = model.room() - beside
        size = recipe.window or room
        if not 1 <= size <= room:
            raise UsageError(
                f"late_chunking: {name} reads {room} tokens of a document beside the prompt; found window={size}"
            )
        overlap = size // 2 if recipe.overlap is None else recipe.overlap
        if overlap >= size:
            raise UsageError(f"late_chunking: overlap must be less than the {size} tokens of a window; found {overlap}")
        return cls(model, size, overlap, prompt, beside)

    def windows(self, document: str) -> list[Window]:
        """The windows of a document; none where it has no token.

        Borders lie between tokens of the whole document. Each part is then split by the tokenizer on its own, which can
        give more tokens than planned: it is made shorter until it fits. Where two windows split what they share
        differently, the second one goes on behind the last token that is taken from the first.

        Raises:
            DataError: A single token of the document is split into more tokens than a window has.
        """
        start, end = self.model.token_spans(document)
        if not len(start):
            return []
        ranges: list[tuple[int, int]] = []
        texts: list[tuple[int, str, int]] = []
        low = done = 0
        while done < len(start):
            low, done, text, tokens = self._fitting(document, (start, end), low, done)
            ranges.append((low, done))
            texts.append((_first_character(start, low), text, tokens))
            # The last window is a whole one, too: further back where the document ends.
            low = max(low + 1, min(done - self.overlap, len(start) - self.size))
        cuts = [*(int(start[(after[0] + own[1] + 1) // 2]) for own, after in pairwise(ranges)), len(document) + 1]
        found: list[Window] = []
        low = 0
        for number, (at, text, tokens) in enumerate(texts):
            ends = (number == 0, number == len(texts) - 1)
            window = Window(text, len(self.prompt), at, low, cuts[number], tokens, *ends)
            _, _, behind = taken(window, *self.model.token_spans(text), characters=len(document))
            low = max(low, int(behind.max(initial=0)))
            found.append(window)
        return found

    def _fitting(self, document: str, spans: tuple[Counts, Counts], low: int, done: int) -> tuple[int, int, str, int]:
        """The window from token `low` on: where it starts and ends, its text, its tokens.

        It has at least one token that no window had yet, `done` being how many had one.
        """
        start, end = spans
        most, high = self.size + self.beside, min(len(start), low + self.size)
        while True:
            last = len(document) if high == len(start) else int(end[high - 1])
            text = self.prompt + document[_first_character(start, low) : last]
            tokens = len(self.model.token_spans(text)[0])
            if tokens <= most:
                return low, high, text, tokens
            if high > done + 1:
                high = max(done + 1, high - (tokens - most))
            elif low < done:
                low = min(done, low + tokens - most)
            else:
                raise DataError(
                    f"late_chunking: the tokenizer splits {text[len(self.prompt) :][:60]!r}, one token of a document,"
                    f" into {tokens} tokens when it stands alone; a window holds {most}: take a larger window"
                )


def _first_character(start: Counts, token: int) -> int:
    """Where a part of a document that begins with a token starts; what stands before the first one belongs to it."""
    return int(start[token]) if token else 0


def taken(window: Window, start: Counts, end: Counts, *, characters: int) -> tuple[Counts, Counts, Counts]:
    """The tokens that are taken from a window: their rows, and where each starts and ends in the document.

    Tokens of the prompt are none of them. A token of no characters has the one that it stands before, or the last.

    Args:
        window: What was read.
        start: Where each of its tokens starts in what was read.
        end: Where each ends there.
        characters: How many the document has.
    """
    shift = window.start - window.prompt
    front = (start < window.prompt) & (end <= window.prompt)
    first = np.maximum(start + shift, window.start)
    last = np.maximum(end + shift, np.minimum(first, characters - 1) + 1)
    own = np.flatnonzero(~front & (last > window.low) & (first < window.high))
    return own, np.minimum(first[own], characters - 1), last[own]


@dataclass(eq=False)
class Sums:
    """Sums of token vectors by chunk, as the windows of a document come in."""

    document: Document
    total: npt.NDArray[np.float64] | None = None
    count: npt.NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.count = np.zeros(len(self.document.spans), np.int64)

    def add(self, window: Window, read: TokenVectors) -> None:
        """Adds the tokens that are taken from a window to the chunks that they share a character with."""
        if self.total is None:
            self.total = np.zeros((len(self.count), read.vectors.shape[1]))
        own, start, end = taken(window, read.start, read.end, characters=len(self.document.text))
        if not len(own):
            return
        low, high = self.document.spans[:, 0], self.document.spans[:, 1]
        rows = np.flatnonzero((low < end.max()) & (high > start.min()) & (high > low))
        inside = (start < high[rows, None]) & (end > low[rows, None])
        self._add(rows, inside, read.vectors[own])
        if window.first:
            front = (read.start < window.prompt) & (read.end <= window.prompt)
            added = np.concatenate([read.before, read.vectors[front]])
            self._add(rows, np.repeat(inside[:, :1], len(added), 1), added)
        if window.last:
            self._add(rows, np.repeat(inside[:, -1:], len(read.after), 1), read.after)

    def _add(self, rows: npt.NDArray[np.int64], inside: npt.NDArray[np.bool_], vectors: Vectors) -> None:
        if self.total is not None:
            self.total[rows] += inside.astype(np.float64) @ vectors.astype(np.float64)
        self.count[rows] += inside.sum(axis=1)


def pooled_chunks(documents: Sequence[Document], recipe: LateRecipe, *, folder: Path | None = None) -> Pooled:
    """The vectors of chunks; documents with a chunk that the folder lacks are read now.

    Args:
        documents: Texts and the spans of their chunks, which may overlap.
        recipe: What makes the vectors.
        folder: Below it the vectors of each recipe have a folder; None keeps them in memory.

    Raises:
        UsageError: The model gives no vectors of tokens, pools otherwise, or reads less than is asked for.
        DataError: The model returned numbers that are not finite.
        FileError: The folder cannot be written; what was made until then is kept.
        DigestError: A kept row is not what was written.
    """
    record = recipe.record()
    keys = [chunk_keys(document) for document in documents]
    flat = np.concatenate([np.zeros(0, "V16"), *keys])
    with Store.opened(None if folder is None else folder / folder_name(record), record) as store:
        borders = np.cumsum([0, *map(len, keys)])[1:-1]
        lacking = [bool(own.any()) for own in np.split(store.places(flat) < 0, borders)]
        blocks = [block for block in _blocks(documents, recipe.plain.tokens) if any(lacking[row] for row in block)]
        said: Mapping[str, str] = {}
        if blocks:
            model = recipe.plain.opening.open()
            reader = Reader.of(model, recipe)
            said, pace = model.record, Pace(recipe.plain.opening.weights.model, len(blocks), "groups of documents read")
            for done, block in enumerate(blocks, 1):
                _read(
                    store, reader, [documents[row] for row in block], tokens=recipe.plain.tokens, width=model.dimensions
                )
                pace.tell(done)
        place = store.places(flat)
        bare: npt.NDArray[np.bool_] = store.entries["tokens"][place] == 0
        return Pooled(store.matrix(), place, bare, sum(map(len, blocks)), said)


def chunk_keys(document: Document) -> npt.NDArray[Any]:
    """Sixteen bytes for each chunk: of the text of its document, and of its span there."""
    whole = text_digest(document.text)
    made = [blake2b(whole + span.tobytes(), digest_size=16).digest() for span in document.spans.astype("<i8")]
    return np.array(made, "V16")


def refuse_other_pooling(model: str, pooling: str) -> None:
    """Raises UsageError where a model does not pool by mean; nothing is known of one without a pooling."""
    if pooling not in ("", "mean"):
        raise UsageError(
            f"late_chunking: the vector of a chunk is the mean of its tokens, and {model} was trained to pool by"
            f" {pooling!r}; take another model, or give force=True, which the result will say"
        )


def _blocks(documents: Sequence[Document], tokens: int) -> Iterator[list[int]]:
    """Documents that are read together; their order and their company depend on the texts alone.

    Whether chunks of them are missing changes neither, so that vectors made after a kill have the same bits.
    """
    order = sorted(
        (-len(document.text.encode("utf-8", "surrogatepass")), text_digest(document.text), row)
        for row, document in enumerate(documents)
    )
    block: list[int] = []
    size, before = 0, b""
    for length, digest, row in order:
        if size >= tokens * BYTES_A_TOKEN and digest != before:
            yield block
            block, size = [], 0
        block.append(row)
        size, before = size - (length if digest != before else 0), digest
    if block:
        yield block


def _read(store: Store, reader: Reader, documents: Iterable[Document], *, tokens: int, width: int) -> None:
    """Reads some documents and appends the vectors of those chunks that the store lacks."""
    spans: dict[str, list[Spans]] = {}
    for document in documents:
        spans.setdefault(document.text, []).append(document.spans)
    sums = [Sums(Document(text, np.unique(np.concatenate(own), axis=0))) for text, own in spans.items()]
    planned = [(one, window) for one in sums for window in reader.windows(one.document.text)]
    lengths = np.array([window.tokens for _, window in planned], np.int64)
    for rows in batches(lengths, tokens=tokens, padded=PADDED).rows:
        parts = [planned[row] for row in rows.tolist()]
        for (one, window), read in zip(parts, reader.model.tokens([window.text for _, window in parts]), strict=True):
            one.add(window, read)
    keys = np.concatenate([np.zeros(0, "V16"), *(chunk_keys(one.document) for one in sums)])
    count = np.concatenate([np.zeros(0, np.int64), *(one.count for one in sums)])
    vectors = np.zeros((len(count), width), np.float32)
    if count.any():
        vectors[count > 0] = _finished(reader.model, sums)
    missing = store.places(keys) < 0
    cut = np.zeros(int(missing.sum()), np.bool_)
    store.append(keys[missing], vectors[missing], tokens=count[missing], cut=cut)


def _finished(model: TokenModel, sums: Sequence[Sums]) -> Vectors:
    """The means of all chunks that hold a token, as the model leaves them."""
    means = [one.total[one.count > 0] / one.count[one.count > 0, None] for one in sums if one.total is not None]
    done = model.finished(np.concatenate(means).astype(np.float32))
    wrong = int((~np.isfinite(done).all(axis=1)).sum())
    if wrong:
        raise DataError(
            f"the model returned NaN or infinite numbers for the tokens of {wrong} chunks; nothing of them is kept."
            " Half precision can overflow: try precision='float32'"
        )
    return done
