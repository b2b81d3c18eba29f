"""The command line: one file per command. Heavy imports wait until a command runs."""

from __future__ import annotations

import typer

from assay.cli import build, build_coref, chunk, compare, demo, evaluate, info, publish, report, run, train, verify

app = typer.Typer(
    name="assay",
    help="Builds, checks, runs, judges and publishes retrieval test collections.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for command in (demo, info, verify, chunk, run, evaluate, compare, report):
    app.command(command.__name__.rsplit(".", 1)[1])(command.command)
build.app.command("coref")(build_coref.command)
app.add_typer(build.app, name="build")
app.add_typer(publish.app, name="publish")
app.add_typer(train.app, name="train")
