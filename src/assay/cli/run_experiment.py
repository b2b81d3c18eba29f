"""What `assay run` does with a file that declares an experiment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from assay.cli.terminal import show_json, show_line, show_tables, working

if TYPE_CHECKING:
    from assay.executor import Work

_WHERE = ("device", "workers", "executor", "shards", "work")
TAKEN = ("target", "out", "indexes", *_WHERE, "skip_unavailable", "json")
"""Parameters of `assay run` that an experiment leaves to the command line; it says the others itself."""


def is_experiment(target: str) -> bool:
    """Whether a target is a file that declares an experiment; `assay.toml` declares a collection."""
    path = Path(target)
    return path.suffix == ".toml" and path.name != "assay.toml" and path.is_file()


def refuse_others(context: typer.Context, *, experiment: bool) -> None:
    """Raises UsageError where an option is given that the experiment says itself, or that only experiments have."""
    from assay.errors import UsageError

    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    wrong = [name for name in given if (name not in TAKEN if experiment else name == "skip_unavailable")]
    if wrong:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in wrong)
        told = "the file itself says what runs, and how" if experiment else "only an experiment, a TOML file, takes it"
        raise UsageError(f"{options} cannot be given with {context.params['target']}: {told}")


def show_experiment(
    target: str,
    *,
    out: Path | None,
    indexes: Path | None,
    work: Work | None,
    where: dict[str, Any],
    skip_unavailable: bool,
    json: bool,
) -> None:
    """Runs an experiment and prints its tables; with `out` also writes its page.

    Exits with 4 where something could not run on this machine, unless that is to be skipped.
    """
    from assay.outcome import run_experiment
    from assay.reports import page
    from assay.reports.outcomes import outcome_record, outcome_tables

    with working(f"running {target}") as told:
        here = None if work is None else replace(work, told=told)
        outcome = run_experiment(target, out=out, indexes=indexes, work=here, where=where, told=told)
    report = None if out is None or not outcome.results else out / f"{outcome.experiment.name}.html"
    if report is not None:
        with working("writing the report"):
            page.write(outcome.results, report, opened=dict(outcome.opened), compared=outcome.compared)
    if json:
        show_json({**outcome_record(outcome), "report": None if report is None else str(report)})
    else:
        show_tables(outcome_tables(outcome))
        for note in () if work is None else work.notes:
            show_line(note)
        show_line(f"{len(outcome.results)} results, {outcome.found} of them found as they were stored")
        if report is not None:
            show_line(f"stored below {out}; the report is {report}")
    if outcome.not_run and not skip_unavailable:
        raise typer.Exit(4)
