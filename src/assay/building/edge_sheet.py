"""Edge sheet: drawn citations as a sheet for a person to judge, and the verdicts that come back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay.building.meta_edges import Edge, MetaEdges, Stratum, beginning, meta_edges
from assay.building.sampling import allocated, drawn
from assay.collection import Collection
from assay.errors import FileError, FormatError, UsageError
from assay.formats import jsonl
from assay.formats.sheet import Sheet, read_sheet, separator_of, write_sheet
from assay.texts import Texts

YES, NO, UNSURE = "yes", "no", "unsure"
VERDICTS = (YES, NO, UNSURE)
COLUMNS = (
    "row",
    "key",
    "source",
    "referral",
    "phrase",
    "sentence",
    "cited text",
    "question",
    "verdict",
    "note",
)
SIDECAR = ".sample.json"
"""Stands in the place of the sheet's suffix in the name of the file beside it."""
_KIND = "citation edges"
_LONGEST, _BEGINNING = 2000, 300


@dataclass(frozen=True)
class Sample:
    """A draw of edges.

    Attributes:
        collection, digest: What was drawn from.
        seed, minimum: How.
        sizes: How many edges each stratum has in the collection, strata in their order.
        rows: Key and stratum of each edge drawn, in the order of the sheet.
    """

    collection: str
    digest: str
    seed: int
    minimum: int
    sizes: Mapping[Stratum, int]
    rows: Mapping[str, Stratum]

    @property
    def taken(self) -> dict[Stratum, int]:
        """How many edges of each stratum were drawn."""
        found = Counter(self.rows.values())
        return {stratum: found[stratum] for stratum in self.sizes}


def sidecar_of(sheet: Path) -> Path:
    """The file beside a sheet that says how it was drawn.

    Example:
        >>> sidecar_of(Path("sheet.tsv")).name
        'sheet.sample.json'
    """
    return sheet.with_suffix(SIDECAR)


def write_sample(
    collection: Collection, folder: Path, out: Path, *, n: int, seed: int, minimum: int = 3
) -> tuple[Sample, MetaEdges]:
    """Draws edges of a collection and writes them as a sheet, with a file beside it that says how.

    Args:
        collection: An opened question-level collection.
        folder: Where its tables are.
        out: The sheet, `.tsv` or `.csv`; it must not be there, for verdicts in it would be lost.
        n: How many edges; all there are where it is more.
        seed: Of the draw.
        minimum: The least from each stratum, as far as there are so many.

    Returns:
        The sample, and all edges.

    Raises:
        UsageError: The sheet is there already, `n` is less than the number of strata, or there are no edges.
    """
    separator_of(out)
    there = next((path for path in (out, sidecar_of(out)) if path.exists()), None)
    if there is not None:
        raise UsageError(f"{there} is there already, perhaps with verdicts; name another sheet or take it away")
    edges = meta_edges(collection, folder)
    sizes = edges.strata
    place = {stratum: at for at, stratum in enumerate(sizes)}
    strata = np.asarray([place[edge.stratum] for edge in edges.edges], np.int64)
    counts = allocated(list(sizes.values()), n, minimum=minimum)
    rows = drawn([edge.key for edge in edges.edges], strata, counts=counts, seed=seed)
    taken = [edges.edges[row] for row in rows.tolist()]
    sample = Sample(
        collection.name, collection.digest, seed, minimum, sizes, {edge.key: edge.stratum for edge in taken}
    )
    write_sheet(COLUMNS, _rows(collection, taken), out)
    jsonl.write_object(_record(sample), sidecar_of(out))
    return sample, edges


def _rows(collection: Collection, taken: Sequence[Edge]) -> list[tuple[str, ...]]:
    asked = collection.queries.ids.codes(Texts.of([edge.query_id for edge in taken])).tolist()
    cited = collection.passages.ids.codes(Texts.of([edge.doc_id for edge in taken])).tolist()
    return [
        (
            str(number),
            edge.key,
            edge.stratum.source,
            edge.stratum.referral,
            edge.phrase,
            edge.sentence if len(edge.sentence) <= _LONGEST else f"{edge.sentence[:_LONGEST]}…",
            beginning(collection.passages.texts, passage, _BEGINNING),
            beginning(collection.queries.texts, query, _BEGINNING),
            "",
            "",
        )
        for number, (edge, query, passage) in enumerate(zip(taken, asked, cited, strict=True), 1)
    ]


def _record(sample: Sample) -> dict[str, Any]:
    taken, place = sample.taken, {stratum: at for at, stratum in enumerate(sample.sizes)}
    return {
        "sample": _KIND,
        "collection": sample.collection,
        "digest": sample.digest,
        "seed": sample.seed,
        "minimum": sample.minimum,
        "strata": [
            {**stratum._asdict(), "edges": size, "drawn": taken[stratum]} for stratum, size in sample.sizes.items()
        ],
        "rows": [{"key": key, "stratum": place[stratum]} for key, stratum in sample.rows.items()],
    }


def read_sample(sheet: Path) -> Sample:
    """The draw that a sheet was made by, from the file beside it.

    Raises:
        FileError: It is not there.
        FormatError: It is not what `write_sample` writes.
    """
    place = sidecar_of(sheet)
    if not place.is_file():
        raise FileError(
            f"there is no {place.name} beside {sheet}: it says how the sheet was drawn; put it back, or name the sheet"
            " that it belongs to first"
        )
    found = jsonl.read_object(place)
    try:
        if found["sample"] != _KIND:
            raise KeyError("sample")
        strata = [Stratum(*(str(one[name]) for name in Stratum._fields)) for one in found["strata"]]
        sizes = {stratum: int(one["edges"]) for stratum, one in zip(strata, found["strata"], strict=True)}
        rows = {str(one["key"]): strata[one["stratum"]] for one in found["rows"]}
        return Sample(
            str(found["collection"]), str(found["digest"]), int(found["seed"]), int(found["minimum"]), sizes, rows
        )
    except (KeyError, TypeError, ValueError, IndexError) as err:
        raise FormatError(
            f"{place.name}: not the record of a sheet of citations ({type(err).__name__}: {err}); it was changed, or"
            " belongs to something else: draw again"
        ) from None


def read_verdicts(path: Path, sample: Sample) -> dict[str, str]:
    """What a judge says of each edge drawn: `yes`, `no`, `unsure`, or nothing yet; keys in the order of the draw.

    Rows may stand in any order. Other columns than `key` and `verdict` are not looked at.

    Raises:
        FormatError: A row is missing, stands twice or was not drawn, or a verdict is another word.
    """
    sheet = read_sheet(path, needs=("key", "verdict"))
    keys = sheet.column("key")
    verdicts = [verdict.strip().lower() for verdict in sheet.column("verdict")]
    first: dict[str, int] = {}
    for row, key in enumerate(keys):
        if key not in sample.rows:
            others = sum(other not in sample.rows for other in keys)
            raise FormatError(
                f"{sheet.where(row, 'key')}: {key!r} was not drawn ({others} such rows); score the sheet beside the"
                " record that it was drawn with, and leave the keys as they were"
            )
        if key in first:
            raise FormatError(
                f"{sheet.where(row, 'key')}: {key!r} stands at line {sheet.lines[first[key]]} already"
                f" ({len(keys) - len(set(keys))} repeated rows); keep one of them"
            )
        first[key] = row
    missing = [key for key in sample.rows if key not in first]
    if missing:
        raise FormatError(
            f"{path.name}: {len(missing)} of {len(sample.rows)} rows are missing, the first is {missing[0]!r}; put them"
            " back, with an empty verdict where there is none"
        )
    _refuse_other_words(sheet, verdicts)
    return {key: verdicts[first[key]] for key in sample.rows}


def _refuse_other_words(sheet: Sheet, verdicts: Sequence[str]) -> None:
    wrong = [row for row, verdict in enumerate(verdicts) if verdict and verdict not in VERDICTS]
    if wrong:
        raise FormatError(
            f"{sheet.where(wrong[0], 'verdict')}: {verdicts[wrong[0]]!r} is no verdict ({len(wrong)} such rows); write"
            f" {', '.join(VERDICTS)} or nothing"
        )
