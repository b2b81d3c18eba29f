"""assay report: results as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.arguments import Json, collection_of
from assay.cli.terminal import show_json, show_line, working


def command(
    results: Annotated[Path, typer.Argument(help="Folder of results, as `assay run --out` writes it.")],
    out: Annotated[Path, typer.Option(help="The HTML file to write.")] = Path("report.html"),
    collection: Annotated[str | None, typer.Option(help="Where the collection is now, if it was moved.")] = None,
    queries: Annotated[int, typer.Option(min=0, help="Queries whose ranked passages are shown, at most.")] = 200,
    json: Json = False,
) -> None:
    """Write results as one HTML page. Tables with intervals, forest plots, per-query values, ranked passages.

    Example: assay report results --out report.html
    """
    from assay import experiment
    from assay.reports import page

    opened = None if collection is None else {collection: collection_of(collection)}
    with working("writing the report"):
        found = experiment.stored(results)
        several = len({(r.collection, r.task, r.split) for r in found}) < len(found)
        compared = experiment.comparisons(found) if several else []
        written = page.write(found, out, collection=collection, opened=opened, compared=compared, queries=queries)
    if json:
        show_json(written)
        return
    shown = f"{written['results']} results, {written['queries_shown']} queries shown"
    show_line(f"wrote {out} ({written['bytes'] / 1024:.0f} KiB, {shown})")
    for missing in dict.fromkeys(written["missing"]):
        show_line(f"without ranked passages: {missing}")
