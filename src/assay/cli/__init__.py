"""The command line: one file per command. Heavy imports wait until a command runs."""

from __future__ import annotations

import typer

from assay.cli import compare, demo, evaluate, info, report, run, verify

app = typer.Typer(
    name="assay",
    help="Builds, checks, runs, judges and publishes retrieval test collections.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for command in (demo, info, verify, run, evaluate, compare, report):
    app.command(command.__name__.rsplit(".", 1)[1])(command.command)
