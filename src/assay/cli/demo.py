"""assay demo: the main job on the two built-in collections."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.arguments import Json
from assay.cli.terminal import show_json, show_line, show_tables

ROUNDS = (
    ("demo:chunks", "passages", ("bm25", "bm25('english')"), ("random", "oracle")),
    ("demo:questions", "answer", ("bm25", "bm25('english')"), ("random",)),
    ("demo:questions", "precedent", ("bm25", "bm25('english')"), ("recency", "popularity")),
)


def command(
    out: Annotated[Path, typer.Option(help="Folder for results and the report.")] = Path("demo-results"),
    json: Json = False,
) -> None:
    """Run the built-in collections end to end. Verifies, retrieves, judges, compares, and writes a report.

    Example: assay demo --out demo-results
    """
    from assay import audits, catalog, experiment
    from assay.evaluation import floors
    from assay.reports import page, records
    from assay.reports.tables import comparisons_table, results_table
    from assay.sources import open_collection

    opened = {name: open_collection(name) for name in dict.fromkeys(r[0] for r in ROUNDS)}
    checks = {name: audits.verify(c) for name, c in opened.items()}
    shown, kept = [], []
    for name, task_name, systems, extra in ROUNDS:
        collection = opened[name]
        task = collection.task(task_name)
        for text in systems:
            result = experiment.run_system(collection, task, catalog.system(text))
            experiment.store(result, out)
            shown.append(result)
            kept.append(result)
        shown += [experiment.judged_run(floors.named(f)(task), collection, task) for f in extra]
    compared = experiment.comparisons(kept)
    written = page.write(kept, out / "report.html", opened=opened, compared=compared)
    errors = {name: sum(f.verdict == "error" for f in found) for name, found in checks.items()}
    if json:
        show_json(
            {
                "results": [records.result_record(r) for r in shown],
                "comparisons": [records.comparison_record(c) for c in compared],
                "verify_errors": errors,
                "report": str(out / "report.html"),
                "report_bytes": written["bytes"],
            }
        )
    else:
        for name, found in checks.items():
            show_line(f"verified {name}: {len(found)} checks, {errors[name]} errors")
        show_tables([*results_table(shown), *comparisons_table(compared)])
        show_line(f"results and report below {out}: open {out / 'report.html'} in a browser")
    if any(errors.values()):
        raise typer.Exit(1)
