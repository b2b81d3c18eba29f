"""assay evaluate: judge run files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.arguments import By, Json, KeepFirst, Measures, Method, Resamples, Seed, Split, judging_of, task_of
from assay.cli.terminal import show_json, show_tables, working


def command(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="[COLLECTION/TASK] RUN...", help="A task and run files, or run files alone with --qrels."
        ),
    ],
    qrels: Annotated[
        Path | None, typer.Option(help="Judgements, where there is no collection: TREC, TSV, JSONL or Parquet.")
    ] = None,
    split: Split = None,
    measure: Measures = None,
    by: By = None,
    keep_first: KeepFirst = False,
    out: Annotated[Path | None, typer.Option(help="Folder for spec, run and per-query scores.")] = None,
    interval: Method = "bca",
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Judge run files of any format. TREC, JSON, JSONL or Parquet; plain, .gz or .zst.

    Example: assay evaluate --qrels qrels.txt run.trec.gz -m RR@10 -m nDCG@10
    """
    from assay import experiment
    from assay.errors import UsageError
    from assay.reports import records
    from assay.reports.tables import results_table, slices_table

    judging = judging_of(measure, interval, resamples, seed)
    if qrels is None and len(arguments) < 2:
        raise UsageError("name a task and at least one run file, or give --qrels and run files")
    if qrels is not None and (by is not None or split is not None):
        raise UsageError("--by and --split need a collection: judgements in a file have neither columns nor splits")
    slices = []
    with working("reading and judging"):
        if qrels is not None:
            paths = [Path(a) for a in arguments]
            results = experiment.judged_run_files(paths, judging=judging, qrels=qrels, keep_first=keep_first)
        else:
            named = task_of(arguments[0], split)
            paths = [Path(a) for a in arguments[1:]]
            results = experiment.judged_run_files(paths, judging=judging, task=named, keep_first=keep_first)
            if by is not None:
                slices = [records.slices_record(result, named[1], by, judging=judging) for result in results]
    if out is not None:
        for result in results:
            experiment.store(result, out)
    if json:
        shown = [records.result_record(r) for r in results]
        for record, part in zip(shown, slices, strict=False):
            record["slices"] = part
        show_json({"results": shown})
        return
    show_tables([*results_table(results), *slices_table(results, slices, by or "")])
