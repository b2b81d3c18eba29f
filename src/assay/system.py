"""Systems: what a retrieval system is handed, what it may return, and the five kinds.

A system sees views and nothing else: no ids, no dates, no judgements, and rows in a seeded
shuffled order. What it returns speaks of rows; the harness turns rows into passages.

The five kinds are told apart by the method they have:

* `Representer.index`: texts to sparse weights or dense rows; the house searches.
* `Searcher.search`: a black box that returns ranked rows.
* `Scorer.score`: scores of given query-passage pairs.
* `Composite.combine`: the ranked rows of other systems, combined.
* `Lens.shown`: the passages as another system is to see them.

A system is a frozen dataclass; its fields are its parameters. `name` is what the command
line calls it, `reads` lists the views that it wants.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from assay.errors import UsageError
from assay.texts import Texts

Rows = npt.NDArray[np.int32]
Offsets = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float32]
Score = npt.NDArray[np.float64]

VIEWS = {
    "text:plain": "the passage's text",
    "text:coref": "the text with antecedents inlined",
    "title": "the title of the passage's document",
    "parent": "an opaque code of the passage's document",
    "position": "the passage's place in its document, from 0",
    "span": "start and end in the document, in code points",
    "link:question": "the texts of the questions that the passage replied to",
}


@dataclass(frozen=True, eq=False)
class Links:
    """Texts linked to rows: row `i` owns `texts[target[offsets[i]:offsets[i + 1]]]`."""

    texts: Texts
    offsets: Offsets
    target: Rows


@dataclass(frozen=True, eq=False)
class PassageView:
    """What a system sees of the passages: the views it declared, row by row.

    `texts` maps `text:…` and `title` to as many rows; `parent` and `position` are int32,
    `span` is int64 of shape (rows, 2). What was not declared is absent or None. `mask` names
    the tokens that stand for masked identifiers, which tokenisers drop.
    """

    size: int
    texts: Mapping[str, Texts]
    parent: Rows | None = None
    position: Rows | None = None
    span: npt.NDArray[np.int64] | None = None
    links: Links | None = None
    mask: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.size

    def only(self, reads: Iterable[str]) -> PassageView:
        """The same rows with the views of `reads` and no others; what is not held stays absent.

        Example:
            >>> view = PassageView(1, {"text:plain": Texts.of(["fee"])}, parent=np.zeros(1, np.int32))
            >>> view.only(["parent"]).texts, view.only(["text:plain"]).parent
            ({}, None)
        """
        wanted = set(reads)
        return PassageView(
            self.size,
            {view: rows for view, rows in self.texts.items() if view in wanted},
            self.parent if "parent" in wanted else None,
            self.position if "position" in wanted else None,
            self.span if "span" in wanted else None,
            self.links if "link:question" in wanted else None,
            self.mask,
        )

    def by_document(self) -> Rows:
        """The rows, document by document, in the order of their places there; needs `parent` and `position`.

        Rows that share a place come in the order of their texts, so that the order of rows does not show.

        Example:
            >>> parent, place = np.array([1, 0, 1], np.int32), np.array([1, 0, 0], np.int32)
            >>> PassageView(3, {}, parent, place).by_document()
            array([1, 2, 0], dtype=int32)
        """
        if self.parent is None or self.position is None:
            return np.arange(self.size, dtype=np.int32)
        keys: list[npt.NDArray[Any]] = [self.position, self.parent]
        order = np.lexsort(keys)
        if ((np.diff(self.parent[order]) == 0) & (np.diff(self.position[order]) == 0)).any():
            listed = [texts for _, texts in sorted(self.texts.items())]
            ranks = [np.argsort(texts.byte_order())[texts.first_rows_in(texts)] for texts in listed]
            order = np.lexsort([*ranks, *keys])
        return order.astype(np.int32)


@dataclass(frozen=True, eq=False)
class QueryView:
    """What a system sees of the queries: their texts, row by row."""

    texts: Texts
    mask: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Weighted terms per row: row `i` owns `term` and `weight` at `offsets[i]:offsets[i + 1]`.

    A term stands once in a row; `terms` is how many terms there are. Where every weight is a
    whole multiple of `step`, sums do not depend on their order; None where no step is given.
    """

    offsets: Offsets
    term: Rows
    weight: Weights
    terms: int
    step: float | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True, eq=False)
class DenseRows:
    """One float32 vector per row: row `i` has `matrix[place[i]]`, or `matrix[i]` where there is no `place`.

    `matrix` has shape (vectors, dimensions), C order; it may be a memory map.
    """

    matrix: npt.NDArray[np.float32]
    place: Rows | None = None

    def __len__(self) -> int:
        return len(self.matrix) if self.place is None else len(self.place)


@dataclass(frozen=True, eq=False)
class RankedRows:
    """Passage rows per query: query `i` owns `row` and `score` at `offsets[i]:offsets[i + 1]`.

    Rows need no order: the house ranks. `whole_ties` says that every row equal to the last one
    of a list is in the list; a black box that cannot promise it leaves it False, and the ties
    it may have cut are counted. `exhausted[i]` says that query `i` has no further rows. `record` tells a
    model behind the scores: its identity, device, versions.
    """

    offsets: Offsets
    row: Rows
    score: Score
    whole_ties: bool = False
    exhausted: npt.NDArray[np.bool_] | None = None
    notes: Mapping[str, int] = field(default_factory=dict)
    record: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def joined(cls, lists: Sequence[tuple[Rows, Score]], **rest: Any) -> RankedRows:
        """One list per `(rows, scores)`, in that order; `rest` are the other fields.

        Example:
            >>> RankedRows.joined([(np.array([4, 2]), np.array([2.0, 1.0])), (np.array([], int), np.array([]))]).offsets
            array([0, 2, 2])
        """
        offsets = np.concatenate([[0], np.cumsum([len(row) for row, _ in lists])]).astype(np.int64)
        rows = np.concatenate([np.zeros(0, np.int32), *(row for row, _ in lists)]).astype(np.int32)
        scores = np.concatenate([np.zeros(0), *(score for _, score in lists)])
        return cls(offsets, rows, scores, **rest)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, query: int) -> tuple[Rows, Score]:
        """Rows and scores of one list."""
        own = slice(self.offsets[query], self.offsets[query + 1])
        return self.row[own], self.score[own]

    def take(self, queries: npt.NDArray[np.int64]) -> RankedRows:
        """The lists of `queries`, in that order; without `exhausted` and notes."""
        count = np.diff(self.offsets)[queries]
        offsets = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
        at = np.arange(offsets[-1]) + np.repeat(self.offsets[queries] - offsets[:-1], count)
        return RankedRows(offsets, self.row[at], self.score[at], self.whole_ties)

    def only(self, keep: npt.NDArray[np.bool_]) -> RankedRows:
        """The lists with only the rows to `keep`, bool per row."""
        offsets = np.concatenate([[0], np.cumsum(keep)]).astype(np.int64)[self.offsets]
        return dataclasses.replace(self, offsets=offsets, row=self.row[keep], score=self.score[keep])

    def best(self, depth: int) -> RankedRows:
        """The best `depth` rows of every list and every row equal to the last of them, in the order given.

        Example:
            >>> RankedRows.joined([(np.array([0, 1, 2, 3]), np.array([1.0, 3.0, 1.0, 2.0]))]).best(3).row.tolist()
            [0, 1, 2, 3]
        """
        length = np.diff(self.offsets)
        least = np.full(len(self), -np.inf)
        # Lists of about one length are cut together, side by side in a matrix at most half of which is empty.
        size = np.frexp(length)[1]
        for one in np.unique(size[length > depth]).tolist():
            lists = np.flatnonzero((size == one) & (length > depth))
            count, width = length[lists], int(length[lists].max())
            owner = np.repeat(np.arange(len(lists)), count)
            column = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
            held = np.full((len(lists), width), -np.inf)
            held[owner, column] = self.score[column + self.offsets[lists][owner]]
            held.partition(width - depth, axis=1)
            least[lists] = held[:, width - depth]
        return self.only(self.score >= np.repeat(least, length))


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores of pairs, what is to be counted beside them, and what tells the model behind them (identity, device)."""

    score: Score
    notes: Mapping[str, int] = field(default_factory=dict)
    record: Mapping[str, str] = field(default_factory=dict)


@runtime_checkable
class System(Protocol):
    """What every system has: a name, and the views it reads."""

    name: ClassVar[str]

    @property
    def reads(self) -> tuple[str, ...]:
        """The views that the system wants; it is passed no others."""
        ...


class Index(Protocol):
    """The passages as a representer sees them, and the way to bring queries alongside.

    One may also have `notes`, counts that go with the run (texts that were cut), and `record`, what made it, such as
    the commit of a model; they are read once the queries are encoded.
    """

    rows: SparseRows | DenseRows

    def encode(self, queries: QueryView) -> SparseRows | DenseRows:
        """The queries in the space of the passages, row by row."""
        ...

    def save(self, folder: Path) -> None:
        """Writes the index as plain `.npy` files into an empty folder."""
        ...


@runtime_checkable
class Representer(System, Protocol):
    """Turns texts into sparse weights or dense rows; the house searches."""

    def index(self, passages: PassageView) -> Index:
        """The passages, represented."""
        ...

    def load(self, folder: Path) -> Index:
        """The index that `Index.save` wrote."""
        ...


@runtime_checkable
class Keeper(Representer, Protocol):
    """A representer that keeps what it makes text by text, so that nothing is made twice."""

    def index_in(self, passages: PassageView, folder: Path | None) -> Index:
        """The passages, represented; what the folder holds is not made again."""
        ...


@runtime_checkable
class Searcher(System, Protocol):
    """A black box that returns ranked rows."""

    def search(self, passages: PassageView, queries: QueryView, *, depth: int) -> RankedRows:
        """For each query the `depth` best rows, and, where it can, every row equal to the last."""
        ...


@runtime_checkable
class Scorer(System, Protocol):
    """Scores query-passage pairs."""

    def score(self, passages: PassageView, queries: QueryView, *, query: Rows, passage: Rows) -> Score | Scored:
        """One score per pair of rows."""
        ...


@runtime_checkable
class Composite(System, Protocol):
    """Combines systems given as values.

    Parts are run as deep as the composite; one that also has a method `part_depths(depth, passages)`
    says, part by part, how deep instead: `passages`, how many there are, stands for the whole list.
    One that hands rows of its parts on, as to a scorer, names in `hands_to` whom; one that only reorders
    what a part found may have a method `candidates(lists)`, the lists that it has to choose from; one that
    takes long a method `keeping(folder)`, the same system, which keeps what it computes there; one that has pairs
    scored a method `scored_by(made)`, the same with `made(scorer)` in place of its scorer.
    """

    @property
    def parts(self) -> tuple[System, ...]:
        """The systems whose lists are combined."""
        ...

    def combine(
        self, lists: Sequence[RankedRows], passages: PassageView, queries: QueryView, *, depth: int
    ) -> RankedRows:
        """One list per query from the parts' lists, in the order of `parts`."""
        ...


@runtime_checkable
class Lens(System, Protocol):
    """Shows another system other passages: longer texts, other texts, or whole documents.

    `reads` are the views of its own; the house adds those of `system`, and searches with `system`
    over what is shown, so that ties, depth and eligibility are those of any system of its kind.
    """

    @property
    def system(self) -> System:
        """The system that sees what is shown."""
        ...

    def shown(self, passages: PassageView) -> tuple[PassageView, Rows | Links | None]:
        """What `system` sees, and whose rows these are.

        With None the rows are the passages, in the same order. With rows, one a passage, they are something
        else, such as documents, and a passage takes the score of its row; every row must then be named by a
        passage. With `passages.links` itself they are the linked questions, in the order of its texts: a
        passage takes the best score of its questions, and no query finds its own.
        """
        ...


def refuse_no_system(name: str, *values: Any) -> None:
    """Raises UsageError where a value that `name` was given as a system is none.

    Example:
        >>> refuse_no_system("titled")
    """
    for value in values:
        if not isinstance(value, System):
            raise UsageError(f"{name}: {value!r} is no system; give one as a call, as in {name}(bm25)")


def refuse_no_model(name: str, model: Any) -> None:
    """Raises UsageError where what the system `name` was given as a model's name is no text.

    Example:
        >>> refuse_no_model("dense", "BAAI/bge-m3")
    """
    if not isinstance(model, str) or not model.strip():
        raise UsageError(f"{name}: model must be a hub id, a folder or package:NAME; found {model!r}")


def refuse_no_count(name: str, least: int, **values: Any) -> None:
    """Raises UsageError where a parameter of the system `name` is no whole number of at least `least`.

    Example:
        >>> refuse_no_count("neighbours", 0, before=1, after=0)
    """
    for field_name, value in values.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise UsageError(f"{name}: {field_name} must be a whole number of at least {least}; found {value!r}")


def spec_of(system: Any) -> dict[str, Any]:
    """The recipe of a plug-in: its name and every field, as plain JSON values.

    A field whose metadata say `recipe: False` (the device to compute on) is no part of it.

    Example:
        >>> @dataclasses.dataclass(frozen=True)
        ... class Echo:
        ...     name: ClassVar[str] = "echo"
        ...     depth: int = 3
        >>> spec_of(Echo())
        {'name': 'echo', 'depth': 3}
    """
    spec: dict[str, Any] = {"name": system.name}
    if dataclasses.is_dataclass(system):
        for part in dataclasses.fields(system):
            if part.metadata.get("recipe", True):
                spec[part.name] = plain(getattr(system, part.name))
    return spec


def plain(value: Any) -> Any:
    """A field of a plug-in as a plain JSON value."""
    if dataclasses.is_dataclass(value) and hasattr(value, "name"):
        return spec_of(value)
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in sorted(value.items())}
    return value if isinstance(value, str | int | float | bool | type(None)) else repr(value)


def spec_hash(spec: Mapping[str, Any]) -> str:
    """Twelve hexadecimal digits of the SHA-256 of a spec with sorted keys."""
    return hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:12]
