"""assay run: from a collection and a system, or a file that names several, to a table with intervals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.arguments import (
    By,
    Device,
    ExecutorCall,
    Json,
    Measures,
    Method,
    Resamples,
    Seed,
    Shards,
    Split,
    Workers,
    WorkFolder,
    judging_of,
    system_at,
    task_of,
    where_of,
)
from assay.cli.run_experiment import is_experiment, refuse_others, show_experiment
from assay.cli.shard import work_of
from assay.cli.terminal import show_json, show_line, show_tables, working

FLOORS = "random, constant, oracle, recency, popularity"


def command(
    context: typer.Context,
    target: Annotated[
        str,
        typer.Argument(
            metavar="COLLECTION/TASK",
            help="A path, demo:NAME or parlir@v1.0, a slash, and a task's name; or a TOML file, an experiment.",
        ),
    ],
    system: Annotated[
        list[str] | None,
        typer.Option(
            "--system", "-s", help="A system as a call, such as bm25 or \"bm25('english', k1=0.9)\"; repeat for more."
        ),
    ] = None,
    split: Split = None,
    measure: Measures = None,
    floor: Annotated[list[str] | None, typer.Option(help=f"Also show a floor or ceiling: {FLOORS}.")] = None,
    by: By = None,
    depth: Annotated[int | None, typer.Option(min=1, help="Passages per query; the task's depth by default.")] = None,
    without_as_of: Annotated[
        bool, typer.Option(help="Switch the task's as-of rule off, to show what it does.")
    ] = False,
    keep_mask: Annotated[
        bool, typer.Option("--keep-mask", help="Let tokenisers read the mask token as a word, to show what it does.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for spec, run and per-query scores.")] = None,
    indexes: Annotated[Path | None, typer.Option(help="Folder in which indexes are kept and found again.")] = None,
    executor: ExecutorCall = None,
    device: Device = None,
    workers: Workers = None,
    shards: Shards = None,
    work: WorkFolder = None,
    interval: Method = "bca",
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    skip_unavailable: Annotated[
        bool, typer.Option(help="Of an experiment: exit with 0 although something cannot run on this machine.")
    ] = False,
    json: Json = False,
) -> None:
    """Run systems on a task, or an experiment. Retrieves, judges, stores, and prints a table with intervals.

    Example: assay run demo:questions/precedent --system bm25 --floor recency --out results
    """
    refuse_others(context, experiment=is_experiment(target))
    at = work_of(executor, shards=shards, work=work, indexes=indexes)
    where = where_of(device, workers, kept=indexes is not None or work is not None)
    if is_experiment(target):
        how_shown: dict[str, Any] = {"skip_unavailable": skip_unavailable, "json": json}
        show_experiment(target, out=out, indexes=indexes, work=at, where=where, **how_shown)
        return
    from assay import experiment
    from assay.call import parts_within
    from assay.evaluation import floors
    from assay.reports import records
    from assay.reports.tables import results_table, slices_table

    systems = [system_at(text, where) for text in system or ["bm25"]]
    wanted = [floors.named(name) for name in floor or ()]
    judging = judging_of(measure, interval, resamples, seed)
    collection, task = task_of(target, split)
    task = task.without_as_of() if without_as_of else task
    task = task.mask_kept() if keep_mask else task
    # Floors first: one that the task cannot have ends the command before any system has run.
    lowest = [make(task) for make in wanted]
    results = []
    for made in systems:
        with working(f"running {made.name}") as told:
            here = None if at is None else replace(at, told=told)
            how: dict[str, Any] = {"depth": depth, "seed": seed, "indexes": indexes, "work": here}
            results.append(experiment.run_system(collection, task, made, judging=judging, **how))
        if out is not None:
            experiment.store(results[-1], out)
    results += [experiment.judged_run(run, collection, task, judging=judging) for run in lowest]
    slices = [] if by is None else [records.slices_record(r, task, by, judging=judging) for r in results]
    if json:
        shown = [records.result_record(r) for r in results]
        for record, part in zip(shown, slices, strict=False):
            record["slices"] = part
        show_json({"results": shown})
        return
    show_tables([*results_table(results), *slices_table(results, slices, by or "")])
    for note in () if at is None else at.notes:
        show_line(note)
    kept = {part.store for made in systems for part in parts_within(made) if hasattr(part, "store")}
    for folder in sorted(kept - {""}):
        show_line(f"what models made is kept in {folder} and not made again")
    if out is not None:
        show_line(f"stored below {out}: " + ", ".join(str(r.folder) for r in results[: len(systems)]))
