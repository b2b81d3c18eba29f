"""assay publish: a collection as a folder to upload, with a card that its files prove."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.arguments import Json, collection_of
from assay.cli.terminal import show_json, show_line, show_tables, working

app = typer.Typer(
    help="Write a collection as a folder to upload, with a card made from its files; or check such a card.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("chunk-level")
def chunk_level_command(
    collection: Annotated[str, typer.Argument(help="A path or demo:chunks; chunks with offsets, gold fragments.")],
    out: Annotated[Path, typer.Option(help="Folder to write; an earlier one is replaced whole or not at all.")],
    about: Annotated[
        Path | None, typer.Option(help="TOML file with title, summary, languages, licence, citation and more.")
    ] = None,
    title: Annotated[str, typer.Option(help="What people call it.")] = "",
    language: Annotated[list[str] | None, typer.Option(help="Code such as en or no; repeat for more.")] = None,
    licence: Annotated[str, typer.Option(help="As SPDX writes it: CC-BY-4.0, 'MIT AND OGL-UK-3.0'.")] = "",
    json: Json = False,
) -> None:
    """Publish chunks, queries and gold fragments. Parquet, a card, a manifest, checksums; read back before it counts.

    Example: assay publish chunk-level demo:chunks --out corvane --language en --licence Apache-2.0
    """
    from dataclasses import replace

    from assay import publishing
    from assay.reports.tables import Table

    opened = collection_of(collection)
    if about is not None:
        said = publishing.read_about(about)
    else:
        said = publishing.About.of(opened.manifest.get("about", {}), place="the manifest's about")
    given: dict[str, Any] = {"title": title, "languages": tuple(language or ()), "licence": licence}
    said = replace(said, **{name: value for name, value in given.items() if value})
    with working(f"publishing {out}"):
        report = publishing.publish(opened, out, about=said)
    tables = [
        {"config": c.name, "split": name, "rows": s.rows, "bytes": s.stored, "files": len(s.files)}
        for c in report.configs
        for name, s in c.splits.items()
    ]
    if json:
        gold = [asdict(figure) for figure in report.figures]
        show_json(
            {
                "folder": str(report.folder),
                "digest": report.digest,
                "tables": tables,
                "gold": gold,
                "left_out": dict(report.left_out),
            }
        )
        return
    rows = tuple(tuple(str(value) for value in row.values()) for row in tables)
    notes = [f"digest {report.digest}", *(f"left out: {name}: {n}" for name, n in report.left_out.items())]
    notes.append(f"the card is {report.folder / 'README.md'}; look at it, then upload the folder as it is")
    show_tables([Table(f"published {report.folder}", tuple(tables[0]), rows, tuple(notes))])


@app.command("check")
def check_command(
    folder: Annotated[Path, typer.Argument(help="A folder with README.md and the files that it speaks of.")],
    json: Json = False,
) -> None:
    """Compare a card with the files beside it. Rows, types, sizes, sums; exits 1 where the card is wrong.

    Example: assay publish check corvane
    """
    from assay import publishing
    from assay.reports.tables import findings_table

    with working("checking"):
        findings = publishing.check(folder)
    bad = [f for f in findings if f.verdict == "error"]
    if json:
        show_json({"folder": str(folder), "ok": not bad, "findings": [asdict(f) for f in findings]})
    else:
        show_tables([findings_table(f"{folder}: {len(findings)} checks, {len(bad)} failed", findings)])
        if not bad:
            show_line("the card says what the files hold")
    if bad:
        raise typer.Exit(1)
