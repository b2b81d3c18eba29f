"""assay chunk: the documents of a collection cut anew."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.arguments import ExecutorCall, Json, Shards, WorkFolder, collection_of, refuse_own_folder
from assay.cli.shard import work_of
from assay.cli.terminal import show_json, show_line, show_tables, working

if TYPE_CHECKING:
    from assay.building.rechunk import ChunkingReport
    from assay.reports.tables import Table

_FORMATS = ("jsonl", "parquet")
_SHOWN = 80


def command(
    collection: Annotated[str, typer.Argument(help="A path, or demo:chunks.")],
    chunker: Annotated[
        str,
        typer.Option("--chunker", "-c", help='A chunker as a call, such as native or "window(words=120, overlap=20)".'),
    ],
    out: Annotated[Path, typer.Option(help="Folder to write; an earlier build is replaced whole or not at all.")],
    rule: Annotated[
        str, typer.Option(help="When a chunk is gold for a fragment: any, characters>=20, share>=0.5, whole.")
    ] = "any",
    form: Annotated[str, typer.Option("--format", help="Files to write: jsonl or parquet.")] = "jsonl",
    executor: ExecutorCall = None,
    shards: Shards = None,
    work: WorkFolder = None,
    json: Json = False,
) -> None:
    """Cut a collection's documents anew, with its gold. Says what the chunking is like.

    Example: assay chunk demo:chunks --chunker "window(words=60, overlap=10)" --out chunked
    """
    from dataclasses import replace

    from assay import catalog
    from assay.building.gold import Rule
    from assay.building.rechunk import rechunked
    from assay.errors import UnknownNameError
    from assay.formats import jsonl
    from assay.formats.digest import file_digests
    from assay.formats.folders import MANIFEST, replacing_folder
    from assay.sources import chunk_level

    if form not in _FORMATS:
        raise UnknownNameError.of("format", form, _FORMATS)
    wanted, made = Rule.named(rule), catalog.made("chunker", chunker)
    at = work_of(executor, shards=shards, work=work)
    opened = collection_of(collection)
    refuse_own_folder(opened, out)
    with replacing_folder(out) as part:
        with working(f"cutting with {made.name}") as told:
            here = None if at is None else replace(at, told=told)
            cut, report = rechunked(opened, made, rule=wanted, work=here)
        chunk_level.save(cut, part, as_parquet=form == "parquet")
        jsonl.write_object({**cut.manifest, "files": file_digests(part, part.iterdir())}, part / MANIFEST)
    unwritten = {f"{what}, left out of the files": n for what, n in chunk_level.left_out(cut).items()}
    report = replace(report, counts={**report.counts, **unwritten})
    if json:
        show_json({"collection": opened.name, "out": str(out), **report.record()})
        return
    show_tables([_table(opened.name, report)])
    for note in () if at is None else at.notes:
        show_line(note)
    show_line(f"written to {out}")


def _table(name: str, report: ChunkingReport) -> Table:
    from assay.reports.tables import Table

    rows = (
        ("chunks", f"{report.chunks} of {report.documents} documents, {report.characters} characters"),
        ("length", f"{report.mean_length:.1f} mean, {report.median_length:.0f} median, {report.longest} longest"),
        ("in chunks", f"{report.covered:.2%} of the characters; {report.uncovered_filled} others are no blanks"),
        ("read twice", f"{report.read_twice:.2%} of the characters"),
        ("gold fragments", f"{report.fragments}, rule {report.rule}"),
        ("", f"{report.in_none} in no chunk, {report.in_one} in one, {report.in_several} in several"),
        ("", f"{report.cut} cut: in no chunk as a whole"),
    )
    notes = [f"{what}: {count}" for what, count in report.counts.items() if count]
    notes += [f"not placed, of {document}: {text[:_SHOWN]!r}" for document, text in report.not_placed[:3]]
    return Table(f"{name} cut by {report.chunker}", ("what", "is"), rows, tuple(notes))
