"""assay build: collections made from what others publish."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.arguments import Json
from assay.cli.terminal import show_json, show_tables, working

app = typer.Typer(help="Make a collection from files that others publish.", no_args_is_help=True, rich_markup_mode=None)

SHOWN = 10

Out = Annotated[Path, typer.Option(help="Folder to write; an earlier build there is replaced whole or not at all.")]


@app.command("conditionalqa")
def conditionalqa_command(
    raw: Annotated[Path, typer.Option(help="Folder with documents.json, train.json and dev.json.")],
    out: Out,
    cleaner: Annotated[
        str, typer.Option(help="How tags are taken out: dapr (what is published) or careful (known HTML tags alone).")
    ] = "dapr",
    json: Json = False,
) -> None:
    """Build ConditionalQA from its original files, as DAPR does.

    Example: assay build conditionalqa --raw ConditionalQA/v1_0 --out conditionalqa
    """
    from assay.sources import conditionalqa

    with working(f"building {out}"):
        made = conditionalqa.load(raw, cleaner=cleaner)
        conditionalqa.save(made, out)
    differing = made.manifest["cleaners_differ"]
    record = {"collection": str(out), "revision": made.revision, "cleaner": cleaner, "counts": dict(made.counts)}
    notes = []
    if differing:
        more = f" and {len(differing) - SHOWN} more" if len(differing) > SHOWN else ""
        notes = [f"the cleaners differ on {', '.join(differing[:SHOWN])}{more}; all are in build_manifest.json"]
    _show({**record, "cleaners_differ": differing}, notes, json=json)


@app.command("dapr")
def dapr_command(
    subset: Annotated[str, typer.Option(help="ConditionalQA, Genomics, MIRACL, MSMARCO or NaturalQuestions.")],
    out: Out,
    revision: Annotated[
        str | None,
        typer.Option(help="Commit of the data set, or online also a branch or tag. Default: a pinned commit."),
    ] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Use the cache alone, for exactly that commit.")] = False,
    json: Json = False,
) -> None:
    """Build a subset of DAPR from the Hugging Face hub.

    Example: assay build dapr --subset ConditionalQA --out dapr-conditionalqa
    """
    from assay.sources import dapr

    with _telling() as told:
        built = dapr.build(subset, out, revision=revision or dapr.REVISION, offline=offline, told=told)
    record = {"collection": str(out), "revision": built.commit, "counts": dict(built.counts)}
    _show(record, [f"of {dapr.REPO} at commit {built.commit}"], json=json)


@contextmanager
def _telling() -> Iterator[Callable[[str], None]]:
    """Shows on a terminal which file is being read."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status("asking the hub") as status:
        yield lambda line: status.update(escape(line))


def _show(record: Mapping[str, Any], notes: list[str], *, json: bool) -> None:
    if json:
        show_json(dict(record))
        return
    from assay.reports.tables import Table

    rows = tuple((name, f"{number:,}") for name, number in record["counts"].items())
    show_tables([Table(f"built {record['collection']}", ("count", "number"), rows, tuple(notes))])
