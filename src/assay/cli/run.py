"""assay run: from a collection and a system to a table with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.arguments import Json, Measures, Method, Resamples, Seed, Split, Target, judging_of, task_of
from assay.cli.terminal import show_json, show_line, show_tables, working

FLOORS = "random, constant, oracle, recency, popularity"


def command(
    target: Target,
    system: Annotated[
        list[str] | None,
        typer.Option(
            "--system", "-s", help="A system as a call, such as bm25 or \"bm25('english', k1=0.9)\"; repeat for more."
        ),
    ] = None,
    split: Split = None,
    measure: Measures = None,
    floor: Annotated[list[str] | None, typer.Option(help=f"Also show a floor or ceiling: {FLOORS}.")] = None,
    depth: Annotated[int | None, typer.Option(min=1, help="Passages per query; the task's depth by default.")] = None,
    without_as_of: Annotated[
        bool, typer.Option(help="Switch the task's as-of rule off, to show what it does.")
    ] = False,
    keep_mask: Annotated[
        bool, typer.Option("--keep-mask", help="Let tokenisers read the mask token as a word, to show what it does.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for spec, run and per-query scores.")] = None,
    indexes: Annotated[Path | None, typer.Option(help="Folder in which indexes are kept and found again.")] = None,
    interval: Method = "bca",
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Run systems on a task. Retrieves, judges, stores, and prints a table with intervals.

    Example: assay run demo:questions/precedent --system bm25 --floor recency --out results
    """
    from assay import catalog, experiment
    from assay.evaluation import floors
    from assay.reports import records
    from assay.reports.tables import results_table

    systems = [catalog.system(text) for text in system or ["bm25"]]
    wanted = [floors.named(name) for name in floor or ()]
    judging = judging_of(measure, interval, resamples, seed)
    collection, task = task_of(target, split)
    task = task.without_as_of() if without_as_of else task
    task = task.mask_kept() if keep_mask else task
    # Floors first: one that the task cannot have ends the command before any system has run.
    lowest = [make(task) for make in wanted]
    results = []
    for made in systems:
        with working(f"running {made.name}"):
            results.append(
                experiment.run_system(collection, task, made, judging=judging, depth=depth, seed=seed, indexes=indexes)
            )
        if out is not None:
            experiment.store(results[-1], out)
    results += [experiment.judged_run(run, collection, task, judging=judging) for run in lowest]
    if json:
        show_json({"results": [records.result_record(r) for r in results]})
        return
    show_tables(results_table(results))
    if out is not None:
        show_line(f"stored below {out}: " + ", ".join(str(r.folder) for r in results[: len(systems)]))
