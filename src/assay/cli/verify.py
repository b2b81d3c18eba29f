"""assay verify: is the collection what it says?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from assay.cli.arguments import Json, collection_of
from assay.cli.terminal import show_json, show_tables, working


def command(
    collection: Annotated[str, typer.Argument(help="A path, demo:chunks, demo:questions or parlir@v1.0.")],
    only: Annotated[list[str] | None, typer.Option(help="Run this check alone; repeat for more.")] = None,
    strict: Annotated[bool, typer.Option(help="Warnings count as findings too.")] = False,
    json: Json = False,
) -> None:
    """Check a collection: ids, gold, offsets, dates, splits, leaks. Exits 1 where something is wrong.

    Example: assay verify demo:chunks
    """
    from assay import audits
    from assay.reports.tables import findings_table

    opened = collection_of(collection)
    with working("checking"):
        findings = audits.verify(opened, only=tuple(only or ()))
    bad = [f for f in findings if f.verdict == "error" or (strict and f.verdict == "warning")]
    if json:
        checks = [asdict(f) for f in findings]
        show_json({"collection": opened.name, "digest": opened.digest, "ok": not bad, "findings": checks})
    else:
        show_tables([findings_table(f"{opened.name}: {len(findings)} checks, {len(bad)} failed", findings)])
    if bad:
        raise typer.Exit(1)
