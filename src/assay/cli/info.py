"""assay info: what a collection holds."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.arguments import Json, collection_of
from assay.cli.terminal import show_json, show_tables


def command(
    collection: Annotated[str, typer.Argument(help="A path, demo:chunks, demo:questions or parlir@v1.0.")],
    json: Json = False,
) -> None:
    """Show what a collection holds. Tasks, splits, counts, licence, digest.

    Example: assay info demo:questions
    """
    from assay.reports.tables import Table

    opened = collection_of(collection)
    tasks = [t for splits in opened.tasks.values() for t in splits.values()]
    if json:
        show_json(
            {
                "collection": opened.name,
                "layout": opened.layout,
                "digest": opened.digest,
                "licence": opened.licence,
                "source": opened.source,
                "revision": opened.revision,
                "passages": len(opened.passages),
                "queries": len(opened.queries),
                "tasks": [
                    {
                        "task": t.name,
                        "split": t.split,
                        "queries": len(t.qrels.queries),
                        "judgements": len(t.qrels),
                        "as_of": t.rule,
                        "views": list(t.views),
                        "measures": list(t.measures),
                    }
                    for t in tasks
                ],
                "counts": dict(opened.counts),
            }
        )
        return
    title = f"{opened.name} ({opened.layout}), {len(opened.passages)} passages, {len(opened.queries)} queries"
    rows = tuple(
        (t.name, t.split, str(len(t.qrels.queries)), str(len(t.qrels)), t.rule or "all", " ".join(t.measures))
        for t in tasks
    )
    about = [f"licence {opened.licence}" if opened.licence else "", f"digest {opened.digest}"]
    counts = [f"{k.replace('_', ' ')}: {v}" for k, v in opened.counts.items()]
    headings = ("task", "split", "queries", "judgements", "eligible", "measures")
    show_tables([Table(title, headings, rows, tuple(x for x in (*about, *counts) if x))])
