"""assay reproduce: published numbers beside what this machine gets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.arguments import Json
from assay.cli.terminal import show_json, show_tables, working


def command(
    publication: Annotated[
        str, typer.Argument(metavar="NAME", help="parlir, conditionalqa or demo, or a TOML file of numbers of yours.")
    ],
    collection: Annotated[
        str | None, typer.Option(help="Where the collection is: a path or a name; by default as published.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of results; what is there is not run again.")] = None,
    indexes: Annotated[Path | None, typer.Option(help="Folder in which indexes are kept and found again.")] = None,
    json: Json = False,
) -> None:
    """Reproduce published numbers. Runs what this machine can, and shows expected, found, and whether they agree.

    Example: assay reproduce demo
    """
    from assay.reports.outcomes import reproduced_record, reproduced_tables
    from assay.reproduction import Verdict, publication_of, reproduce

    wanted = publication_of(publication)
    with working(f"reproducing {wanted.title}") as told:
        reproduced = reproduce(wanted, collection=collection, out=out, indexes=indexes, told=told)
    if json:
        show_json(reproduced_record(reproduced))
    else:
        show_tables(reproduced_tables(reproduced))
    if reproduced.count(Verdict.OUTSIDE):
        raise typer.Exit(1)
