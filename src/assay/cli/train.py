"""assay train: what is learnt from a split that is not reported on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.arguments import Json, Target, system_at, task_of, where_of
from assay.cli.terminal import show_json, show_line, show_tables, working
from assay.cli.train_models import biencoder, reranker

if TYPE_CHECKING:
    from assay.reports.tables import Table
    from assay.training import FitReport

app = typer.Typer(
    help="Learn from judgements of train and dev, never of test.", no_args_is_help=True, rich_markup_mode=None
)


@app.callback()
def commands() -> None:
    """Learn from judgements of train and dev, never of test."""


@app.command("fusion")
def fusion(
    target: Target,
    system: Annotated[
        str,
        typer.Option(
            "--system", "-s", help="A fusion as a call, such as \"fusion(bm25, titled(bm25), method='minmax')\"."
        ),
    ],
    dev: Annotated[
        str, typer.Option(help="Split to choose on; without a split dev, a sample of train is drawn.")
    ] = "dev",
    measure: Annotated[
        str | None, typer.Option("--measure", "-m", help="Measure to choose by; the task's first one by default.")
    ] = None,
    steps: Annotated[int, typer.Option(min=1, help="Steps into which the range of a weight is cut.")] = 20,
    depth: Annotated[int | None, typer.Option(min=1, help="Passages per query; the task's depth by default.")] = None,
    indexes: Annotated[Path | None, typer.Option(help="Folder in which indexes are kept and found again.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sample of train.")] = 42,
    json: Json = False,
) -> None:
    """Choose the weights of a fusion on dev. Prints the system with its weights, to be given to `assay run`.

    Example: assay train fusion demo:questions/precedent -s "fusion(bm25, bm25('english'), method='minmax')"
    """
    from dataclasses import asdict

    from assay.training import fitted

    made = system_at(system, where_of(None, None, kept=indexes is not None))
    collection, task = task_of(target, None)
    with working("fitting weights"):
        _, report = fitted(
            made,
            collection,
            task.name,
            dev_split=dev,
            measure=measure,
            steps=steps,
            depth=depth,
            seed=seed,
            indexes=indexes,
        )
    if json:
        record: dict[str, Any] = {"fit": asdict(report)}
        record["fit"]["grid"] = [{"weights": w, "mean": mean} for w, mean in report.grid]
        show_json(record)
        return
    show_tables([fit_table(report)])
    show_line(report.system)


app.command("biencoder")(biencoder)
app.command("reranker")(reranker)


def fit_table(report: FitReport) -> Table:
    """The report as a table: the chosen weights, equal ones, and what they were chosen on."""
    from assay.reports.tables import Table

    def shown(value: float | None) -> str:
        return "–" if value is None else f"{value:.4f}"

    equal = ", ".join(f"{1 / len(report.weights):.3g}" for _ in report.weights)
    rows = [("equal", equal, shown(report.equal))]
    if not report.refused:
        rows.insert(0, ("chosen", ", ".join(f"{w:.3g}" for w in report.weights), shown(report.value)))
    notes = [f"chosen on {report.split}: {report.queries} queries, {report.relevant} distinct relevant passages"]
    if report.drawn_from is not None:
        notes.append(f"there is no split dev: drawn from {report.drawn_from} train queries with seed {report.seed}")
    if report.left_out:
        notes.append(f"{report.left_out} queries that are test queries too were left out")
    if report.refused:
        notes.append(f"not fitted: {report.refused}")
    else:
        notes.append("a mean on the split that weights were chosen on is too high: report the mean on test")
    columns = ("weights", "values", f"{report.measure} on {report.split}")
    return Table(f"weights for {report.task}", columns, tuple(rows), tuple(notes))
