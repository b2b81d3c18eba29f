"""assay shard: the part of a job in an array, over the shards that a command with `--work` planned."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.arguments import Json
from assay.cli.terminal import show_json, show_line, working

if TYPE_CHECKING:
    from assay.executor import Work

SHARDS = 8
"""How many there are where nobody says."""


def work_of(executor: str | None, *, shards: int | None, work: Path | None, indexes: Path | None = None) -> Work | None:
    """Where and by whom shards are run, as the options of a command say; None without a work folder.

    Raises:
        UsageError: A work folder is missing, or there is also one of indexes.
    """
    from assay import catalog
    from assay.errors import UsageError
    from assay.executor import Work

    if work is None:
        if executor is not None or shards is not None:
            raise UsageError("shards are kept in a folder: name it, as in --work shards")
        return None
    if indexes is not None:
        raise UsageError("--work keeps what --indexes would: leave out --indexes")
    return Work(work, catalog.made("executor", executor or "local"), shards or SHARDS)


def command(
    work: Annotated[Path, typer.Argument(help="The folder that --work named.")],
    shard: Annotated[str, typer.Option(help="Which part of how many, such as 3/8; parts are counted from 1.")],
    json: Json = False,
) -> None:
    """Run one part of the shards in a work folder. What a job of an array does.

    Example: assay shard work --shard 1/2
    """
    from assay.errors import UsageError
    from assay.plan import plans_below, run_shard, share_of

    part, _, parts = shard.partition("/")
    if not (part.isascii() and part.isdigit() and parts.isascii() and parts.isdigit()):
        raise UsageError(f"--shard {shard!r} is no part of so many; write it as in 3/8")
    told = []
    for plan in plans_below(work):
        own = share_of(plan, int(part), int(parts))
        due = [number for number in own if not plan.is_done(number)]
        for number in due:
            with working(f"{plan.what}: shard {number + 1} of {len(plan)}"):
                run_shard(str(plan.folder), number)
        told.append({"work": plan.what, "folder": str(plan.folder), "shards": len(own), "run": len(due)})
    if json:
        show_json({"plans": told})
        return
    for one in told:
        show_line(f"{one['work']}: {one['run']} of {one['shards']} shards run, the others were done ({one['folder']})")
