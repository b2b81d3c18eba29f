"""assay compare: which system is better, and how sure that is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.arguments import Json, Measures, Method, Resamples, Seed, Split, judging_of, task_of
from assay.cli.terminal import show_json, show_tables, working


def command(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RESULTS_OR_RUNS...", help="Result folders of `assay run --out`, or run files."),
    ],
    task: Annotated[str | None, typer.Option(metavar="COLLECTION/TASK", help="Judge run files on this task.")] = None,
    qrels: Annotated[Path | None, typer.Option(help="Judge run files against these judgements.")] = None,
    split: Split = None,
    measure: Measures = None,
    baseline: Annotated[
        str | None, typer.Option(help="Compare with this system alone; by default all pairs are one family.")
    ] = None,
    all_measures: Annotated[
        bool, typer.Option(help="Test every measure, all in one family; by default the first alone.")
    ] = False,
    across_chunkings: Annotated[
        bool,
        typer.Option(help="Compare different chunkings of the same documents, by measures that do not count chunks."),
    ] = False,
    interval: Method = "bca",
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Compare systems on the same queries. Paired tests with Holm's correction, differences with intervals.

    Example: assay compare results
    """
    from assay import experiment
    from assay.errors import UsageError
    from assay.reports import records
    from assay.reports.tables import chunkings_table, comparisons_table, results_table

    judging = judging_of(measure, interval, resamples, seed)
    if split is not None and task is None:
        raise UsageError("--split needs --task: results and judgements in a file are of one split already")
    with working("comparing"):
        results = experiment.gathered(
            runs, judging=judging, task=None if task is None else task_of(task, split), qrels=qrels
        )
        shown = experiment.across_chunkings(results, whole=bool(measure)) if across_chunkings else results
        compared = experiment.comparisons(shown, judging=judging, baseline=baseline, all_measures=all_measures)
    if json:
        show_json(
            {
                "results": [records.result_record(r) for r in results],
                "comparisons": [records.comparison_record(c) for c in compared],
            }
        )
        return
    table = chunkings_table(shown, results) if across_chunkings else results_table(results)
    show_tables([*table, *comparisons_table(compared)])
