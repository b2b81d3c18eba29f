"""A question-level build as a folder to upload and to open: tables, judgements, card, datasheet, licence, checksums.

corpus.jsonl queries.jsonl queries_xling.jsonl equivalents.jsonl precedent_meta.jsonl unresolved_citations.jsonl
qrels/TASK_SPLIT.tsv  qrels_jsonl/TASK_SPLIT.jsonl
data/CONFIG/SPLIT-…   the configs of the card, in Parquet: a reader of JSON Lines takes days for points in time
textonly/             the same texts under random ids
README.md DATASHEET.md LICENSE.md build_manifest.json SHA256SUMS
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay import __version__
from assay.audits.manifest_true import ManifestTrue
from assay.building.built import Built
from assay.building.text_only import text_only, write_text_only
from assay.collection import Collection
from assay.errors import DataError, UsageError
from assay.formats import jsonl, trec
from assay.formats.digest import digest_of, file_digest
from assay.formats.files import refused, replacing
from assay.formats.folders import MANIFEST, replacing_folder
from assay.publishing.about import About
from assay.publishing.card import write_card
from assay.publishing.datasheet import datasheet_text, open_questions
from assay.publishing.files import Config, configs_of, refuse_place, sums_of, write_sums
from assay.publishing.notices import licence_text
from assay.publishing.question_card import card_of
from assay.publishing.question_rows import built_of
from assay.publishing.question_tables import (
    DATA,
    TEXT_ONLY,
    TableOf,
    judged_tables,
    refuse_unlike,
    tables_of,
    write_table,
)
from assay.publishing.same_questions import refuse_unread
from assay.qrels import Qrels
from assay.sources import parlir

LAYOUT = "question-level"
DATASHEET, LICENCE = "DATASHEET.md", "LICENSE.md"
MAPPING = "textonly-ids.jsonl"


@dataclass(frozen=True)
class QuestionReport:
    """What was written.

    Attributes:
        folder: Where it is.
        configs: The tables of the card.
        rows: Rows of every JSON Lines file, by its name.
        empty: Judgement files without a line, which are in no config.
        mapping: The file that maps the ids of the text-only export to those of the collection.
        open_questions: Keys of the datasheet's questions that nobody has answered.
        left_out: What the layout has no place for, by kind; empty for a build.
        digest: The digest that the published collection has when it is opened.
    """

    folder: Path
    configs: tuple[Config, ...]
    rows: Mapping[str, int]
    empty: tuple[str, ...]
    mapping: Path
    open_questions: tuple[str, ...]
    left_out: Mapping[str, int]
    digest: str


def write_build(
    built: Built,
    folder: Path,
    *,
    about: About | None = None,
    text_only_seed: int = 1,
    mapping: Path | None = None,
) -> QuestionReport:
    """Writes a build as a folder that `datasets` and `assay` load, whole or not at all.

    The files are read back, row by row and as a collection, before the folder takes its place. Equal builds give equal
    bytes with one version of Arrow.

    Args:
        built: The build.
        folder: Missing, empty, or an earlier build.
        about: What card and datasheet say besides; by default the manifest's `about`. Languages that it lacks are those
            of the source, and of the questions in other languages.
        text_only_seed: With which the ids of the text-only export are drawn.
        mapping: The file for those ids, outside the folder; by default `FOLDER-mapping/textonly-ids.jsonl` beside it.

    Raises:
        FormatError: A value is of another type than its column, or an id cannot stand in a TREC file.
        UsageError: There are no judgements, a name is none that readers take, the folder is a git checkout, or the
            mapping would lie within it.
        DataError: There is nothing to publish, or the files would not give what was written.
        FileError: The folder holds other things, or cannot be written.
    """
    refuse_place(folder, collection="")
    place, said = _mapping_place(folder, mapping), _about(built, about)
    # Every fault of the rows is told before anything is written.
    tables, judged = tables_of(built), dict(judged_tables(built))
    rows = {table.file: len(table.rows) for table in (*tables, *judged.values())}
    with _drafted(place) as draft, replacing_folder(folder) as part:
        _write_tables(tables, judged, part)
        _write_notices(built, said, part)
        jsonl.write_object(_manifest(built, said, rows, text_only_seed=text_only_seed), part / MANIFEST)
        opened = _read_back(built, [*tables, *judged.values()], part)
        write_text_only(text_only(opened, seed=text_only_seed), part / TEXT_ONLY, mapping=draft)
        digest = _write_card(opened, part)
    return QuestionReport(
        folder,
        configs=tuple(configs_of(folder, below=DATA)),
        rows=rows,
        empty=tuple(table.file for table in judged.values() if not table.rows),
        mapping=place,
        open_questions=tuple(open_questions(said)),
        left_out=built.manifest.get("left_out_by_publishing", {}),
        digest=digest,
    )


def publish_questions(
    collection: Collection,
    folder: Path,
    *,
    about: About | None = None,
    text_only_seed: int = 1,
    mapping: Path | None = None,
) -> QuestionReport:
    """Writes an open collection with question tasks as the folder that `write_build` makes of a build.

    Args:
        collection: Dated questions and replies, with judgements.
        folder: Missing, empty, or an earlier build; not that of the collection.
        about: As for `write_build`.
        text_only_seed: As for `write_build`.
        mapping: As for `write_build`.

    Raises:
        UsageError: As `write_build`; also where the collection has gold fragments, or the folder is its own.
        DataError, FileError: As `write_build`.
    """
    refuse_place(folder, collection=collection.place)
    built = built_of(collection)
    return write_build(built, folder, about=about, text_only_seed=text_only_seed, mapping=mapping)


def _mapping_place(folder: Path, mapping: Path | None) -> Path:
    whole = folder.resolve()
    place = whole.with_name(f"{whole.name}-mapping") / MAPPING if mapping is None else mapping
    if place.resolve().is_relative_to(whole):
        raise UsageError(f"{place} lies within {folder}; keep the mapping of ids apart from the texts")
    if place.is_dir():
        raise UsageError(f"{place} is a folder; name a file for the mapping of ids")
    return place


@contextmanager
def _drafted(place: Path) -> Iterator[Path]:
    """A file to fill, which takes the place of another when the block, and all within it, ends without an error."""
    apart = not place.parent.exists()
    draft = place.with_name(f".{place.name}.{secrets.token_hex(6)}.part")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise refused(err, place, "write") from None
    try:
        yield draft
        try:
            os.replace(draft, place)
        except OSError as err:
            raise refused(err, place, "write") from None
    finally:
        draft.unlink(missing_ok=True)
        if apart and not any(place.parent.iterdir()):
            place.parent.rmdir()


def _about(built: Built, about: About | None) -> About:
    said = about if about is not None else About.of(built.manifest.get("about", {}), place="the manifest's about")
    origin = built.origin
    if origin.languages and not said.languages:
        crossing = sorted({row["lang"] for row in built.tables.queries_xling} - set(origin.languages))
        said = replace(said, languages=(*origin.languages, *crossing))
    return said.filled(title=origin.name, licence=origin.licence, attribution=origin.attribution)


def _write_tables(tables: list[TableOf], judged: Mapping[str, TableOf], part: Path) -> None:
    for folder in ("qrels", "qrels_jsonl"):
        (part / folder).mkdir()
    for table in (*tables, *judged.values()):
        write_table(table, part)
    for name, table in judged.items():
        qrels = Qrels.of((row["query_id"], row["doc_id"], row["relevance"]) for row in table.rows)
        trec.write_qrels(qrels, part / "qrels" / f"{name}.tsv", separator="\t")


def _write_notices(built: Built, about: About, part: Path) -> None:
    texts = {
        LICENCE: licence_text(built.origin, licence=about.licence, attribution=about.attribution),
        DATASHEET: datasheet_text(built, about),
    }
    for name, text in texts.items():
        with replacing(part / name) as stream:
            stream.write(text.encode("utf-8"))


def _manifest(built: Built, about: About, rows: Mapping[str, int], *, text_only_seed: int) -> dict[str, Any]:
    """The manifest but for the sums of the files."""
    origin = built.origin
    kept = {key: value for key, value in built.manifest.items() if key not in ("files", "about")}
    return {
        **kept,
        "name": origin.name,
        "layout": LAYOUT,
        "assay": __version__,
        "source": origin.source,
        "revision": origin.revision,
        "licence": about.licence,
        "attribution": about.attribution,
        "modified": origin.modified,
        "source_parameters": dict(origin.parameters),
        "publishing": {"text_only_seed": text_only_seed},
        "about": about.record(),
        "rows": dict(rows),
    }


def _write_card(opened: Collection, part: Path) -> str:
    """Writes the manifest with the sums of the other files, the card, and all sums; the collection's digest then."""
    sums = {name: digest for name, digest in sums_of(part).items() if name != MANIFEST}
    manifest = {**opened.manifest, "files": sums}
    jsonl.write_object(manifest, part / MANIFEST)
    files = {**opened.files, MANIFEST: file_digest(part / MANIFEST)}
    final = replace(opened, manifest=manifest, files=files, digest=digest_of(files))
    write_card(card_of(final, configs_of(part, below=DATA)), part)
    write_sums(part)
    return final.digest


def _read_back(built: Built, tables: list[TableOf], part: Path) -> Collection:
    """The collection in the files, which is the one that was written.

    Raises:
        DataError: It is not.
    """
    for table in tables:
        refuse_unlike(table, part)
    opened = parlir.load(part)
    refuse_unread(built, opened)
    for finding in ManifestTrue().inspect(opened):
        if finding.verdict == "error":
            wrong = "; ".join(finding.offenders)
            raise DataError(
                f"{built.origin.name}: the manifest is not true of the files ({wrong}); nothing was published"
            )
    return opened
