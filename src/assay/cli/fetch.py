"""assay fetch: files of a release, listed or fetched one by one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.arguments import Json
from assay.cli.terminal import show_json, show_tables, working

if TYPE_CHECKING:
    from assay.sources.releases import ReleaseFile

ANNOUNCED = 100_000_000
"""Bytes from which on a download is announced with its size."""


def command(
    release: Annotated[str, typer.Argument(help="A release, such as parlir@v1.0-evidence-r5.")],
    path: Annotated[str, typer.Argument(help="A file as --list shows it; with --list a pattern.")] = "",
    out: Annotated[
        Path | None, typer.Option(help="File to write, replaced as a whole. Default: it stays in the hub's cache.")
    ] = None,
    only_list: Annotated[bool, typer.Option("--list", help="List files with their sizes; fetch nothing.")] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Use the cache alone, for exactly that commit.")] = False,
    json: Json = False,
) -> None:
    """Fetch a file of a release. Listed with --list, resumed where it broke, compared with its digest.

    Example: assay fetch parlir@v1.0-evidence-r5 --list
    """
    from assay.errors import UsageError
    from assay.reports.tables import Table
    from assay.sources import releases

    if only_list:
        if out is not None:
            raise UsageError("--list fetches nothing, so there is nothing for --out; leave one of them out")
        with working(f"asking the hub for {release}"):
            files = releases.release_files(release, matching=path or "*", offline=offline)
    elif not path:
        raise UsageError(f"name a file of {release}; assay fetch {release} --list shows them")
    else:
        with working(f"fetching {path}") as told:

            def announced(file: ReleaseFile) -> None:
                line = f"fetching {file.path}, {file.size / 1e6:,.1f} MB"
                told(line)
                if file.size >= ANNOUNCED:
                    print(line, file=sys.stderr, flush=True)

            files = [releases.release_file(release, path, out=out, offline=offline, announced=announced)]
    commit = releases.release_commit(releases.release_of(release), offline=offline).id
    if json:
        rows = [{"path": f.path, "bytes": f.size, "sha256": f.sha256, "place": str(f.place or "")} for f in files]
        show_json({"release": release, "revision": commit, "files": rows})
        return
    total = f"{len(files):,} files, {sum(f.size for f in files) / 1e6:,.1f} MB, at commit {commit}"
    rows_shown = tuple((f.path, f"{f.size:,}", f.sha256[:12], str(f.place or "")) for f in files)
    show_tables([Table(release, ("path", "bytes", "SHA-256", "place"), rows_shown, (total,))])
