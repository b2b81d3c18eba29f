"""assay build ukparl: written questions of the UK Parliament with their answers, from raw files by month."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.arguments import Json
from assay.cli.question_builds import Out, Removals, day_of, record_of, removals_of, show_build
from assay.cli.terminal import show_json, working


def command(
    raw: Annotated[Path, typer.Option(help="Folder with commons-YYYY-MM.json.gz and longform-YYYY-MM.sqlite.")],
    out: Out,
    train_until: Annotated[str, typer.Option(help="Last day of train, by the day of the question.")] = "2023-12-07",
    dev_until: Annotated[str, typer.Option(help="Last day of dev; later questions are test.")] = "2023-12-11",
    removals: Removals = None,
    corrections: Annotated[
        str,
        typer.Option(
            help="Text of an answer that was corrected later: original (where the source has it) or corrected, each"
            " with its own day."
        ),
    ] = "original",
    json: Json = False,
) -> None:
    """Build the written questions of the UK Parliament. Masked, linked, split by the day of the question.

    The boundaries of the splits are those of December 2023; give your own for other months.

    Example: assay build ukparl --raw raw --out uk --train-until 2023-12-07 --dev-until 2023-12-11
    """
    from datetime import date

    from assay.building.assemble import BuildRules, assemble
    from assay.publishing.question_level import write_build
    from assay.sources import ukparl

    rules = BuildRules(train_until=day_of(train_until, "--train-until"), dev_until=day_of(dev_until, "--dev-until"))
    gone = removals_of(removals)
    with working(f"reading {raw}") as told:
        read = ukparl.records(raw, corrections=ukparl.corrections_of(corrections))
        told(f"linking and masking {len(read.questions):,} questions")
        built = assemble(read, rules=rules, removals=gone, today=date.today())
        told(f"writing {out}")
        report = write_build(built, out)
    record = {**record_of(report, built), "corrections": corrections}
    if json:
        show_json(record)
        return
    show_build(record)
