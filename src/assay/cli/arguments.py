"""Arguments that several commands share, and what they stand for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from assay.collection import Collection
    from assay.experiment import Judging
    from assay.task import Task

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document with stable keys instead of tables.")]
Split = Annotated[
    str | None, typer.Option(help="Split of the task; its test split by default, `all` for all together.")
]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure", "-m", help="Measure such as RR@10, 'R(rel=2)@100'; repeat for more. Default: the task's."
    ),
]
KeepFirst = Annotated[
    bool, typer.Option("--keep-first", help="Where a run repeats a passage for a query, keep its first line.")
]
By = Annotated[
    str | None,
    typer.Option(
        help="Also show means for each value of this query column, or citation_age, citation_source, citation_referral."
    ),
]
Resamples = Annotated[int, typer.Option(min=1, help="Bootstrap samples and random sign vectors.")]
Seed = Annotated[
    int, typer.Option(min=0, help="Seed of the bootstrap, of the tests and of the order in which rows are handed out.")
]
Device = Annotated[
    str | None, typer.Option(help="Where models compute: cpu, cuda, cuda:1 or mps; the best that there is by default.")
]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes in which models encode passages; 1 by default.")]
ExecutorCall = Annotated[
    str | None,
    typer.Option(
        "--executor",
        help="Run in shards, by local, dask, ray or array, as a call such as local(workers=4); needs --work.",
    ),
]
Shards = Annotated[int | None, typer.Option(min=1, help="How many shards the work is cut into; 8 by default.")]
WorkFolder = Annotated[
    Path | None, typer.Option("--work", help="Folder of shards; a run that broke off is taken up there.")
]
Method = Annotated[str, typer.Option("--interval", help="Interval: bca or percentile.")]
Target = Annotated[
    str, typer.Argument(metavar="COLLECTION/TASK", help="A path, demo:NAME or parlir@v1.0, a slash, and a task's name.")
]


def collection_of(name: str) -> Collection:
    """The collection at a path or of a built-in name."""
    from assay.cli.terminal import working
    from assay.errors import UsageError
    from assay.sources import open_collection

    if not name.strip():
        raise UsageError("the collection's name is empty: write a path, demo:chunks or demo:questions")
    with working(f"reading {name}") as told:
        return open_collection(name, told=told)


def task_of(target: str, split: str | None) -> tuple[Collection, Task]:
    """The collection and the task that `COLLECTION/TASK` names; the task may be left out where there is one."""
    from assay.sources import is_name

    whole = target.rstrip("/") or target
    if Path(whole).exists() or (is_name(whole) and "/" not in whole):
        collection = collection_of(whole)
        return collection, collection.task(split=split)
    if whole.endswith(".toml"):
        from assay.errors import FileError

        raise FileError(f"{whole}: there is no such file; name an experiment, or COLLECTION/TASK")
    place, _, name = whole.rpartition("/")
    if not place:
        from assay.errors import UsageError

        raise UsageError(
            f"{target!r} is no COLLECTION/TASK: write a path or demo:NAME, a slash, and a task, as in"
            " demo:questions/answer"
        )
    collection = collection_of(place)
    return collection, collection.task(name, split=split)


def where_of(device: str | None, workers: int | None, *, kept: bool) -> dict[str, Any]:
    """Where models compute and keep what they made, by the names of the fields that say so (`assay.call.placed`).

    Args:
        device: As given; None for the best one.
        workers: As given; None for one process.
        kept: Whether another folder keeps what is made, so that the user's cache is left alone.
    """
    from assay.embeddings import default_folder

    where = {"device": device, "workers": workers, "store": None if kept else str(default_folder())}
    return {name: value for name, value in where.items() if value is not None}


def system_at(text: str, where: dict[str, Any]) -> Any:
    """The system written as a call, computed where the options say.

    Raises:
        UsageError: It has no model that could compute there.
    """
    from dataclasses import fields

    from assay import catalog
    from assay.call import parts_within, placed
    from assay.errors import UsageError

    made = catalog.system(text)
    known = {own.name for part in parts_within(made) for own in fields(part) if not own.metadata.get("recipe", True)}
    for name in ("device", "workers"):
        if name in where and name not in known:
            raise UsageError(f"{text} has no model that would heed --{name}; leave it out")
    return placed(made, **where)


def refuse_own_folder(collection: Collection, out: Path) -> None:
    """Raises UsageError where what is made of a collection would take the place of the collection itself."""
    from assay.sources import is_name

    if not collection.place or is_name(collection.place):
        return
    place = Path(collection.place).resolve()
    if out.resolve() in (place, *place.parents):
        from assay.errors import UsageError

        raise UsageError(f"{out} holds the collection itself; name another folder")


def judging_of(measures: list[str] | None, method: str, resamples: int, seed: int) -> Judging:
    """How to judge, as the options say; an unknown measure or method ends the command at once."""
    from assay.errors import UnknownNameError
    from assay.experiment import Judging

    if method not in ("bca", "percentile"):
        raise UnknownNameError.of("interval", method, ("bca", "percentile"))
    judging = Judging(tuple(measures or ()), method, resamples, seed)
    judging.of(())
    return judging
