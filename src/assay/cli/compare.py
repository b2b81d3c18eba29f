"""assay compare: which system is better, and how sure that is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.arguments import Json, Measures, Method, Resamples, Seed, Split, judging_of, task_of
from assay.cli.terminal import show_json, show_tables, working


def command(
    runs: Annotated[list[Path], typer.Argument(metavar="RESULTS_OR_RUNS...", help="Result folders of `assay run --out`, or run files.")],
    task: Annotated[str | None, typer.Option(metavar="COLLECTION/TASK", help="Judge run files on this task.")] = None,
    qrels: Annotated[Path | None, typer.Option(help="Judge run files against these judgements.")] = None,
    split: Split = None,
    measure: Measures = None,
    baseline: Annotated[str | None, typer.Option(help="Compare with this system alone; by default all pairs are one family.")] = None,
    all_measures: Annotated[bool, typer.Option(help="Test every measure, all in one family; by default the first alone.")] = False,
    interval: Method = "bca",
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Compare systems on the same queries: paired tests with Holm's correction, differences with intervals.

    Example: assay compare results
    """
    from assay import experiment
    from assay.reports.tables import comparisons_table, results_table

    judging = judging_of(measure, interval, resamples, seed)
    with working("comparing"):
        results = experiment.gathered(
            runs, judging=judging, task=None if task is None else task_of(task, split), qrels=qrels
        )
        compared = experiment.comparisons(results, judging=judging, baseline=baseline, all_measures=all_measures)
    if json:
        show_json({"results": [experiment.record(r) for r in results], "comparisons": [experiment.comparison_record(c) for c in compared]})
        return
    show_tables([*results_table(results), *comparisons_table(compared)])
