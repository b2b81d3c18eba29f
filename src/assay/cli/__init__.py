"""The command line: one file per command. Heavy imports wait until a command runs."""

from __future__ import annotations

import typer

from assay.cli import (
    build,
    build_coref,
    build_europarl,
    build_ukparl,
    chunk,
    compare,
    demo,
    evaluate,
    fetch,
    info,
    publish,
    report,
    reproduce,
    run,
    sample,
    shard,
    train,
    verify,
)

app = typer.Typer(
    name="assay",
    help="Builds, checks, runs, judges and publishes retrieval test collections.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for command in (demo, info, verify, fetch, chunk, run, shard, evaluate, compare, report, reproduce):
    app.command(command.__name__.rsplit(".", 1)[1])(command.command)
build.app.command("coref")(build_coref.command)
build.app.command("europarl")(build_europarl.command)
build.app.command("ukparl")(build_ukparl.command)
app.add_typer(build.app, name="build")
app.add_typer(publish.app, name="publish")
app.add_typer(sample.app, name="sample")
app.add_typer(train.app, name="train")
