"""What commands share that build question-level collections: days, what is reported, how it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.terminal import show_tables

if TYPE_CHECKING:
    from datetime import date

    from assay.building.built import Built
    from assay.publishing.question_level import QuestionReport

Removals = Annotated[
    Path | None,
    typer.Option(help="JSON Lines with _id and reason: records to leave out, with what depends on them."),
]
Out = Annotated[Path, typer.Option(help="Folder to write; an earlier build is replaced whole or not at all.")]


def day_of(text: str, option: str) -> date:
    """The day that an option names."""
    from datetime import date

    from assay.errors import UsageError

    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{option}: {text!r} is no ISO date; write one such as 2023-12-07") from None


def removals_of(path: Path | None) -> dict[str, str]:
    """Id to reason of records to leave out."""
    from assay.building.removals import read_removals
    from assay.errors import FileError

    if path is not None and not path.is_file():
        raise FileError(f"there is no file {path}; check the path, or leave --removals out")
    return {} if path is None else read_removals(path)


def record_of(report: QuestionReport, built: Built) -> dict[str, Any]:
    """What a build reports as JSON."""
    said = built.manifest
    judged = [
        dict(zip(("task", "split"), name.rsplit("_", 1), strict=True)) | counts
        for name, counts in said["counts"]["qrels"].items()
    ]
    funnel = [
        {"step": name, "in": step["in"], "kept": step["kept"]}
        | {"dropped": [{"reason": reason, **drop} for reason, drop in step["dropped"].items()]}
        for name, step in said["funnel"].items()
    ]
    return {
        "collection": str(report.folder),
        "digest": report.digest,
        "revision": said["revision"],
        "train_until": said["splits"]["train"]["to"],
        "dev_until": said["splits"]["dev"]["to"],
        "counts": {name: rows for name, rows in report.rows.items() if "/" not in name},
        "judgements": judged,
        "funnel": funnel,
        "leaks": said["masking"]["leaks"],
        "planted": said["masking"]["planted"],
        "ids": str(report.mapping),
    }


def show_build(record: Mapping[str, Any], *, notes: tuple[str, ...] = ()) -> None:
    """Shows a build as tables: rows, judgements, what every step kept and dropped."""
    from assay.reports.tables import Table

    counts = tuple((name, f"{n:,}") for name, n in record["counts"].items())
    judged = tuple(
        (one["task"], one["split"], f"{one['queries']:,}", f"{one['pairs']:,}")
        for one in record["judgements"]
        if one["pairs"]
    )
    steps = []
    for step in record["funnel"]:
        steps.append((step["step"], f"{step['in']:,}", f"{step['kept']:,}", "", ""))
        steps += [("", "", "", f"{drop['count']:,}", drop["reason"]) for drop in step["dropped"]]
    leaks, planted = record["leaks"], record["planted"]
    told = (
        f"{leaks['leaking']:,} of {leaks['texts']:,} masked texts may lead to a record; of {planted['planted']:,}"
        f" planted ids, masking found {planted['found']:,}",
        f"the ids of the text-only export are in {record['ids']}; keep that file apart",
    )
    show_tables(
        [
            Table(f"built {record['collection']}", ("file", "rows"), counts, notes),
            Table("judgements", ("task", "split", "queries", "pairs"), judged),
            Table("what was kept and dropped", ("step", "in", "kept", "dropped", "reason"), tuple(steps), told),
        ]
    )
