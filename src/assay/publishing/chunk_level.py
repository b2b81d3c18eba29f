"""A chunk-level collection as a folder to upload: Parquet files, a card made from them, a manifest and checksums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from assay import __version__
from assay.audit import own_splits
from assay.building.columns import document_columns, query_columns
from assay.building.gold import Rule
from assay.collection import Collection
from assay.formats import jsonl
from assay.formats.folders import MANIFEST, replacing_folder
from assay.fragment import Fragments
from assay.publishing.about import About
from assay.publishing.card import (
    citation_section,
    front_of,
    licence_section,
    table,
    tables_section,
    text_of,
    write_card,
)
from assay.publishing.figures import Figures, checks_section, figures_of, rule_of
from assay.publishing.files import SHARD_BYTES, Config, configs_of, refuse_place, refuse_split, write_split, write_sums
from assay.publishing.same import refuse_changed
from assay.query import Queries
from assay.sources import chunk_level

LAYOUT = "chunk-level"
CORPUS_SPLIT = "test"
"""The one split of documents: all splits of queries search the same ones."""

MEANINGS = {
    "chunk_id": "id of the chunk",
    "chunk": "its text; in `documents_coref` with antecedents inlined, so that it may be longer than its offsets say",
    "source_url": "id of the document; in `queries` a list, one value a fragment",
    "title": "title of the document",
    "chunk_idx": "place of the chunk in its document, from 0",
    "chunk_start_char": "where the chunk begins in its document, in code points",
    "chunk_end_char": "where it ends, exclusive",
    "is_candidate": "false where the chunk must not be retrieved",
    "query_id": "id of the query",
    "original_query": "the query before any change",
    "query": "the query",
    "answer": "the words that answer it",
    "score": "grade of each fragment",
    "frag_start_char": "where each fragment begins in its document, in code points",
    "frag_end_char": "where each ends, exclusive",
    "n_gold": "how many fragments there are",
}


@dataclass(frozen=True)
class Report:
    """What was published.

    Attributes:
        folder: Where it is.
        configs: The tables as written.
        figures: Queries, fragments and chunks that hold them, by split and view.
        left_out: What the layout has no place for, by kind.
        digest: The digest that the published collection has when it is opened.
    """

    folder: Path
    configs: tuple[Config, ...]
    figures: tuple[Figures, ...]
    left_out: Mapping[str, int]
    digest: str


def publish(
    collection: Collection, folder: Path, *, about: About | None = None, shard_bytes: int = SHARD_BYTES
) -> Report:
    """Writes a collection as a folder that `datasets` and `assay` load.

    Written are `documents/`, `queries/` (a split a set of shards) and, where there is that view, `documents_coref/`,
    all Parquet; `README.md`, made from these files; `build_manifest.json`; and `SHA256SUMS`. The files are read back
    and compared with the collection before the folder takes its place, whole or not at all. Equal collections give
    equal bytes with one version of Arrow.

    Args:
        collection: Passages with spans, and a task with gold fragments.
        folder: Missing, empty, or an earlier build.
        about: What the card says besides; by default what the collection's manifest holds.
        shard_bytes: About how many bytes in memory a file may hold.

    Raises:
        UsageError: No spans, no gold fragments, judgements that fragments do not give, a split with a name that readers
            refuse, or the folder is that of the collection itself or a git checkout.
        FileError: The folder holds other things, or cannot be written.
    """
    fragments = chunk_level.gold_of(collection)
    refuse_place(folder, collection=collection.place)
    said = about if about is not None else About.of(collection.manifest.get("about", {}), place="the manifest's about")
    said = said.filled(
        title=collection.name,
        licence=collection.licence,
        attribution=str(collection.manifest.get("attribution", "")),
    )
    with replacing_folder(folder) as part:
        left_out = _write_tables(collection, fragments, part, shard_bytes)
        _write_manifest(collection, said, left_out, part)
        opened = chunk_level.load(part)
        refuse_changed(collection, opened)
        configs, figures = configs_of(part), figures_of(opened)
        write_card(card_of(opened, configs, figures), part)
        write_sums(part)
    placed = tuple(configs_of(folder))
    return Report(folder, placed, tuple(figures), left_out, opened.digest)


def card_of(opened: Collection, configs: list[Config], figures: list[Figures]) -> str:
    """The card of a published collection, from its files and its manifest alone."""
    about = About.of(opened.manifest.get("about", {}), place="the manifest's about")
    front = front_of(about, configs, source=opened.source, revision=opened.revision)
    return text_of(
        about,
        front,
        {
            "Tables": tables_section(configs, MEANINGS),
            "Gold": _gold_section(figures, Rule.named(rule_of(opened))),
            "Checks": checks_section(opened),
            "Provenance": _provenance_section(about, opened),
            "Licence": licence_section(about),
            "Citation": citation_section(about),
        },
    )


def _write_tables(collection: Collection, fragments: Fragments, part: Path, shard_bytes: int) -> dict[str, int]:
    passages, queries = collection.passages, collection.queries
    by_split, unsplit = _by_split(queries)
    for view, name in (("plain", "documents"), ("coref", "documents_coref")):
        if view in passages.texts:
            columns = document_columns(passages, view=view)
            write_split(columns, part / name, CORPUS_SPLIT, shard_bytes=shard_bytes)
    for split, rows in by_split.items():
        mine = queries.take(rows)
        columns = query_columns(
            Queries(mine.ids, mine.texts, columns={n: c for n, c in mine.columns.items() if n != "split"}), fragments
        )
        write_split(columns, part / "queries", split, shard_bytes=shard_bytes)
    return {**({"queries without a split": unsplit} if unsplit else {}), **chunk_level.left_out(collection)}


def _by_split(queries: Queries) -> tuple[dict[str, npt.NDArray[np.int64]], int]:
    """Rows of queries by split, and how many queries have none."""
    named = queries.columns.get("split")
    split = np.asarray(["test"] * len(queries) if named is None else named.to_list(), np.object_)
    names = list(dict.fromkeys(name for name in split.tolist() if name))
    for name in names:
        refuse_split(name)
    return {name: np.flatnonzero(split == name) for name in names}, int((split == "").sum())


def _write_manifest(collection: Collection, about: About, left_out: Mapping[str, int], part: Path) -> None:
    """Writes the manifest: what the collection said of itself, and what the files written hold."""
    opened = chunk_level.load(part)
    (name, splits), *_ = opened.tasks.items()
    counts = {
        "documents": opened.counts["documents"],
        "chunks": len(opened.passages),
        "queries": len(opened.queries),
        name: {split: len(task.qrels) for split, task in own_splits(splits).items()},
    }
    kept = {key: value for key, value in collection.manifest.items() if key not in ("counts", "files", "about")}
    manifest = {
        **kept,
        "name": str(kept.get("name", collection.name)),
        "layout": LAYOUT,
        "assay": __version__,
        "source": collection.source,
        "revision": collection.revision,
        "licence": about.licence,
        "published_from": {"name": collection.name, "layout": collection.layout, "digest": collection.digest},
        "about": about.record(),
        "left_out_by_publishing": dict(left_out),
        "counts": counts,
        "files": dict(opened.files),
    }
    jsonl.write_object(manifest, part / MANIFEST)


def _gold_section(figures: list[Figures], rule: Rule) -> str:
    inlined = any(figure.view == "coref" for figure in figures)
    coref = " `documents_coref` has the chunks and offsets of `documents`." if inlined else ""
    headings = ("split", "text", "queries", "fragments", "in no chunk", "in one chunk", "in several", "gold chunks")
    return "\n\n".join(
        (
            "Offsets are half-open and count code points of the document. A chunk is gold for a query when it lies in"
            f" the document of one of the query's fragments and shares {_enough(rule)} with it (rule `{rule}`); its"
            f" grade is the highest score of these fragments.{coref} Counted in the files; a chunk without a text holds"
            " no fragment:",
            table(headings, (figure.cells for figure in figures)),
        )
    )


def _enough(rule: Rule) -> str:
    """What a chunk must share with a fragment, in words."""
    words = "at least one character" if rule.characters == 1 else f"at least {rule.characters} characters"
    if rule.share:
        words += f" and {'all' if rule.share == 1 else f'at least {rule.share:.0%}'} of the fragment's characters"
    return words


def _provenance_section(about: About, opened: Collection) -> str:
    origin = opened.manifest.get("published_from", {})
    name, layout, digest = (str(origin.get(key, "")) for key in ("name", "layout", "digest"))
    facts = [
        ("source", opened.source),
        ("revision", opened.revision),
        ("published from", f"{name} ({layout}), digest `{digest}`" if name else ""),
        ("digest of these files", f"`{opened.digest}`"),
    ]
    facts += [(f"left out: {name}", f"{n:,}") for name, n in opened.manifest.get("left_out_by_publishing", {}).items()]
    listed = table(("what", "is"), [(name, value) for name, value in facts if value])
    checked = (
        "`SHA256SUMS` holds the SHA-256 of every file (`sha256sum --check SHA256SUMS`); `assay publish check` compares"
        " this card with the files."
    )
    return "\n\n".join(part for part in (about.provenance.strip(), listed, checked) if part)
