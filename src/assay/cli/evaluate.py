"""assay evaluate: judge run files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.arguments import Json, Measures, Method, Resamples, Seed, Split, judging_of, task_of
from assay.cli.terminal import show_json, show_tables, working


def command(
    arguments: Annotated[
        list[str], typer.Argument(metavar="[COLLECTION/TASK] RUN...", help="A task and run files, or run files alone with --qrels.")
    ],
    qrels: Annotated[Path | None, typer.Option(help="Judgements, where there is no collection: TREC, TSV, JSONL or Parquet.")] = None,
    split: Split = None,
    measure: Measures = None,
    by: Annotated[str | None, typer.Option(help="Also show means for each value of this query column.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for spec, run and per-query scores.")] = None,
    interval: Method = "bca",
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Judge run files of any format (TREC, JSON, JSONL, Parquet; plain, .gz or .zst).

    Example: assay evaluate --qrels qrels.txt run.trec.gz -m RR@10 -m nDCG@10
    """
    from assay import experiment
    from assay.errors import UsageError
    from assay.formats.runs import read_qrels, read_run
    from assay.reports.tables import results_table, slices_table

    judging = judging_of(measure, interval, resamples, seed)
    if qrels is None and len(arguments) < 2:
        raise UsageError("name a task and at least one run file, or give --qrels and run files")
    results, slices = [], []
    with working("reading and judging"):
        if qrels is not None:
            judgements = read_qrels(qrels)
            if by is not None:
                raise UsageError("--by needs a collection: the column is one of its queries'")
            for path in arguments:
                results.append(experiment.judged_files(read_run(path), judgements, name=qrels.name, judging=judging))
        else:
            collection, task = task_of(arguments[0], split)
            for path in arguments[1:]:
                results.append(experiment.judged_run(read_run(path), collection, task, judging=judging))
            if by is not None:
                slices = [experiment.sliced(result, task, by, judging=judging) for result in results]
    if out is not None:
        for result in results:
            experiment.store(result, out)
    if json:
        records = [experiment.record(r) for r in results]
        for rec, part in zip(records, slices, strict=False):
            rec["slices"] = part
        show_json({"results": records})
        return
    show_tables([*results_table(results), *slices_table(results, slices, by or "")])
