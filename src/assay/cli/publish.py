"""assay publish: a collection as a folder to upload, with a card that its files prove."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.arguments import Json, Measures, Split, collection_of
from assay.cli.terminal import show_json, show_line, show_tables, working

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.collection import Collection
    from assay.publishing import About, Agreement
    from assay.reports.tables import Table

app = typer.Typer(
    help="Write a collection as a folder to upload, with a card made from its files; or check such a card.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Out = Annotated[Path, typer.Option(help="Folder to write; an earlier one is replaced whole or not at all.")]
AboutFile = Annotated[
    Path | None, typer.Option("--about", help="TOML file with title, summary, languages, licence, citation and more.")
]
Title = Annotated[str, typer.Option(help="What people call it.")]
Language = Annotated[list[str] | None, typer.Option(help="Code such as en or no; repeat for more.")]
Licence = Annotated[str, typer.Option(help="As SPDX writes it: CC-BY-4.0, 'MIT AND OGL-UK-3.0'.")]


def _about(opened: Collection, about: Path | None, given: dict[str, Any]) -> About:
    """What the card says besides the files: options before the file, the file before the manifest."""
    from dataclasses import replace

    from assay.publishing import About, read_about

    if about is not None:
        said = read_about(about)
    else:
        said = About.of(opened.manifest.get("about", {}), place="the manifest's about")
    return replace(said, **{name: value for name, value in given.items() if value})


@app.command("chunk-level")
def chunk_level_command(
    collection: Annotated[str, typer.Argument(help="A path or demo:chunks; chunks with offsets, gold fragments.")],
    out: Out,
    about: AboutFile = None,
    title: Title = "",
    language: Language = None,
    licence: Licence = "",
    json: Json = False,
) -> None:
    """Publish chunks, queries and gold fragments. Parquet, a card, a manifest, checksums; read back before it counts.

    Example: assay publish chunk-level demo:chunks --out corvane --language en --licence Apache-2.0
    """
    from assay import publishing
    from assay.reports.tables import Table

    opened = collection_of(collection)
    said = _about(opened, about, {"title": title, "languages": tuple(language or ()), "licence": licence})
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


@app.command("question-level")
def question_level_command(
    collection: Annotated[str, typer.Argument(help="A path or demo:questions; dated questions and replies.")],
    out: Out,
    about: AboutFile = None,
    title: Title = "",
    language: Language = None,
    licence: Licence = "",
    mapping: Annotated[
        Path | None, typer.Option(help="File for the ids of the text-only export; by default in OUT-mapping.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the ids of the text-only export.")] = 1,
    json: Json = False,
) -> None:
    """Publish questions, replies and judgements. Tables, card, datasheet, licence, text-only export, checksums.

    Example: assay publish question-level demo:questions --out tea --language en --licence Apache-2.0
    """
    from assay import publishing
    from assay.reports.tables import Table

    opened = collection_of(collection)
    said = _about(opened, about, {"title": title, "languages": tuple(language or ()), "licence": licence})
    with working(f"publishing {out}"):
        report = publishing.publish_questions(opened, out, about=said, text_only_seed=seed, mapping=mapping)
    if json:
        show_json(
            {
                "folder": str(report.folder),
                "digest": report.digest,
                "configs": [
                    {"config": c.name, "split": name, "rows": s.rows}
                    for c in report.configs
                    for name, s in c.splits.items()
                ],
                "files": [{"file": name, "rows": rows} for name, rows in report.rows.items()],
                "empty": list(report.empty),
                "mapping": str(report.mapping),
                "open_questions": list(report.open_questions),
                "left_out": dict(report.left_out),
            }
        )
        return
    notes = [f"digest {report.digest}", *(f"left out: {name}: {n}" for name, n in report.left_out.items())]
    notes.append(f"ids of the text-only export: {report.mapping}; keep that file to yourself")
    if report.open_questions:
        notes.append(f"open in DATASHEET.md, for --about to answer: {', '.join(report.open_questions)}")
    notes.append(f"the card is {report.folder / 'README.md'}; look at it, then upload the folder as it is")
    rows = tuple((name, str(count)) for name, count in report.rows.items())
    show_tables([Table(f"published {report.folder}", ("file", "rows"), rows, tuple(notes))])


@app.command("agree")
def agree_command(
    full: Annotated[str, typer.Argument(help="The collection that was exported: a path or demo:questions.")],
    text_only: Annotated[Path, typer.Argument(metavar="TEXTONLY", help="Its text-only export.")],
    mapping: Annotated[Path, typer.Option(help="The file that maps the export's ids to those of the collection.")],
    task: Annotated[str, typer.Option(help="The task.")],
    system: Annotated[str, typer.Option("--system", "-s", help="A system as a call; it reads texts alone.")] = "bm25",
    split: Split = None,
    measure: Measures = None,
    json: Json = False,
) -> None:
    """Compare an export with its collection. Runs a system on both; exits 1 where expected values differ.

    Example: assay publish agree demo:questions tea/textonly --mapping ids.jsonl --task cite
    """
    from assay import catalog, experiment
    from assay.building.text_only import read_mapping
    from assay.publishing import agreement

    named, judging = read_mapping(mapping), experiment.Judging(tuple(measure or ()), resamples=1)
    results = []
    for place in (full, str(text_only)):
        opened = collection_of(place)
        chosen = opened.task(task, split=split)
        with working(f"running {system} on {place}"):
            results.append(experiment.run_system(opened, chosen, catalog.system(system), judging=judging))
    found = agreement(results[0], results[1], named)
    holds = all(one.holds for one in found)
    if json:
        show_json(
            {
                "task": task,
                "split": results[0].split,
                "system": system,
                "holds": holds,
                "measures": list(map(asdict, found)),
            }
        )
    else:
        show_tables([_agreement_table(found, f"{system} on {task}, split {results[0].split}")])
        if holds:
            show_line("the export gives the same expected value for every query")
    if not holds:
        raise typer.Exit(1)


def _agreement_table(found: Sequence[Agreement], title: str) -> Table:
    """A line a measure; queries whose values differ stand below."""
    from assay.reports.tables import Table

    columns = ("measure", "queries", "in one only", "expected value differs", "value differs by order of ids")
    rows, notes = [], []
    for one in found:
        counts = (len(part) for part in (one.missing, one.differing, one.reordered))
        rows.append((one.measure, str(one.queries), *map(str, counts)))
        if one.missing:
            notes.append(f"{one.measure}, in one only: {', '.join(one.missing)}")
        if one.reordered:
            notes.append(f"{one.measure} differs by order of ids: {', '.join(d.query for d in one.reordered)}")
        notes += [f"{one.measure} differs: {d.query} ({d.full} and {d.text_only})" for d in one.differing]
    return Table(title, columns, tuple(rows), tuple(notes))


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
