"""assay build coref: a second text of every passage, with antecedents written in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.arguments import Json, collection_of, refuse_own_folder
from assay.cli.terminal import show_json, show_tables, working


def command(
    collection: Annotated[str, typer.Argument(help="A path or name; chunks with offsets, gold fragments.")],
    resolver: Annotated[
        str, typer.Option(help="What rewrites passages, as a call: \"command('python my_resolver.py')\".")
    ],
    out: Annotated[Path, typer.Option(help="Folder to write; an earlier build is replaced whole or not at all.")],
    anew: Annotated[bool, typer.Option("--anew", help="Replace inlined texts that are there already.")] = False,
    json: Json = False,
) -> None:
    """Add a text with antecedents inlined. Every passage gets one, at the same offsets.

    Example: assay build coref built --resolver "command('python my_resolver.py')" --out built-coref
    """
    from assay.building import coref
    from assay.formats import jsonl
    from assay.formats.digest import file_digests
    from assay.formats.folders import MANIFEST, replacing_folder
    from assay.reports.tables import Table
    from assay.sources import chunk_level

    chosen = coref.resolver_of(resolver)
    opened = collection_of(collection)
    refuse_own_folder(opened, out)
    with working(f"resolving with {resolver}"):
        made = coref.with_coref(opened, chosen, anew=anew)
        with replacing_folder(out) as part:
            chunk_level.save(made, part)
            digests = file_digests(part, part.iterdir())
            facts = {"name": made.name, "licence": made.licence, "source": made.source, "revision": made.revision}
            jsonl.write_object({**facts, **made.manifest, "files": digests}, part / MANIFEST)
    record = {
        "collection": str(out),
        "resolver": made.manifest["coref"]["resolver"],
        "passages": len(made.passages),
        "passages_that_differ": made.manifest["coref"]["passages_that_differ"],
    }
    if json:
        show_json(record)
        return
    row = tuple(str(value) for value in record.values())
    show_tables([Table(f"built {out}", tuple(name.replace("_", " ") for name in record), (row,))])
