"""assay build europarl: written questions of the European Parliament, from its interface or a filled folder."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.arguments import Json
from assay.cli.question_builds import Out, Removals, day_of, record_of, removals_of, show_build
from assay.cli.terminal import show_json, working

if TYPE_CHECKING:
    from assay.building.records import Records
    from assay.sources.europarl.client import Manners
    from assay.sources.europarl.months import Months
    from assay.sources.europarl.walk import Fetched, Step

BASE = "https://data.europarl.europa.eu/api/v2"


@dataclass(frozen=True)
class _Place:
    """Where the raw files are, and how they get there; without manners nothing is fetched."""

    folder: Path
    base: str
    manners: Manners | None


def command(
    first: Annotated[str, typer.Option("--from", help="First month of the questions, such as 2024-01.")],
    last: Annotated[str, typer.Option("--to", help="Last month of the questions; months are taken whole.")],
    out: Out,
    context_from: Annotated[
        str | None,
        typer.Option(help="First month of the answers to earlier questions, which are searched and ask nothing."),
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Folder that is filled from the interface. Default: OUT-fetched beside OUT.")
    ] = None,
    offline: Annotated[
        Path | None, typer.Option(help="A folder that was filled before; nothing is fetched then.")
    ] = None,
    languages: Annotated[
        str | None, typer.Option(help="Languages of questions beside English, such as de,fr. Default: all there are.")
    ] = None,
    removals: Removals = None,
    train_until: Annotated[str, typer.Option(help="Last day of train, by the day of the question.")] = "2021-12-31",
    dev_until: Annotated[str, typer.Option(help="Last day of dev; later questions are test.")] = "2023-12-31",
    base_url: Annotated[str, typer.Option(help="Address of the interface.")] = BASE,
    pause: Annotated[float, typer.Option(min=0, help="Least seconds between two calls.")] = 0.7,
    wait: Annotated[
        float, typer.Option(min=0, help="Seconds before a call is tried again; they double, four times in all.")
    ] = 30.0,
    json: Json = False,
) -> None:
    """Build the written questions of the European Parliament. Fetched politely, masked, linked, split by day.

    A fetch that was stopped goes on where it was. The folder that it fills is a snapshot: what is in it is not asked
    for again.

    Example: assay build europarl --from 2024-01 --to 2024-03 --context-from 2019-07 --out europarl-2024
    """
    from datetime import date

    from assay.building.assemble import BuildRules, assemble
    from assay.publishing.question_level import write_build
    from assay.sources.europarl.client import Manners
    from assay.sources.europarl.months import months_of

    today = date.today()
    months = months_of(first, last, context_from=context_from, today=today)
    rules = BuildRules(train_until=day_of(train_until, "--train-until"), dev_until=day_of(dev_until, "--dev-until"))
    spoken = _languages(languages)
    gone = removals_of(removals)
    folder = _raw_folder(out, cache, offline)
    place = _Place(folder, base_url, Manners(pause=pause, wait=wait) if offline is None else None)
    fetched = _fetched(place, months, spoken)
    with working(f"reading {place.folder}") as told:
        read = _read(place.folder, months, fetched, spoken=spoken, told=told)
        told(f"linking and masking {len(read.questions):,} questions")
        built = assemble(read, rules=rules, removals=gone, today=today)
        told(f"writing {out}")
        report = write_build(built, out)
    record = {**record_of(report, built), "fetched": {"folder": str(place.folder), **fetched.counts()}}
    if json:
        show_json(record)
        return
    counts = ", ".join(f"{name} {count:,}" for name, count in fetched.counts().items())
    show_build(record, notes=(f"raw files are in {place.folder}: {counts}",))


def _languages(written: str | None) -> tuple[str, ...] | None:
    """The languages that an option lists, each an official one."""
    if written is None:
        return None
    from assay.errors import UnknownNameError
    from assay.sources.europarl.metadata import LANGUAGES

    found = tuple(dict.fromkeys(name.strip().lower() for name in written.split(",") if name.strip()))
    for name in found:
        if name not in LANGUAGES.values():
            raise UnknownNameError.of("official language", name, LANGUAGES.values())
    return found


def _raw_folder(out: Path, cache: Path | None, offline: Path | None) -> Path:
    """The folder of raw files; neither within what is written nor around it."""
    from assay.errors import UsageError
    from assay.formats.folders import replaceable
    from assay.publishing.files import refuse_place

    if cache is not None and offline is not None:
        raise UsageError("--offline fetches nothing, so --cache has nothing to fill; leave one of them out")
    # A fetch takes hours; what would refuse its end is told before it begins.
    refuse_place(out, collection="")
    target = replaceable(out)
    folder = offline or cache or target.with_name(f"{target.name}-fetched")
    raw = folder.resolve()
    if raw == target or raw in target.parents or target in raw.parents:
        raise UsageError(
            f"{folder} and {out} lie within each other, and {out} is replaced whole; name two folders apart"
        )
    return folder


def _fetched(place: _Place, months: Months, spoken: tuple[str, ...] | None) -> Fetched:
    """What the months need, fetched where that is asked for."""
    from assay.sources.europarl.fetch import fetch, fetched

    if place.manners is None:
        with working(f"checking {place.folder}"):
            return fetched(place.folder, months=months, languages=spoken)
    with _progress() as told:
        return fetch(place.folder, months=months, languages=spoken, base=place.base, manners=place.manners, told=told)


def _read(
    folder: Path,
    months: Months,
    fetched: Fetched,
    *,
    spoken: tuple[str, ...] | None,
    told: Callable[[str], None],
) -> Records:
    """Records of the months, in the languages that were asked for."""
    from assay.errors import DataError
    from assay.sources.europarl.fetch import count_in
    from assay.sources.europarl.records import records

    found = records(folder, first=months.first, last=months.last, context_from=months.context_from, told=told)
    count_in(fetched, found.funnel)
    if all(question.context for question in found.questions):
        raise DataError(
            f"no question with an English text from {months.first} to {months.last} is in {folder} ({fetched.listed:,}"
            f" listed for their years, {fetched.questions:,} in these months), so nothing was built; name other months"
        )
    questions = [
        replace(one, versions=tuple(each for each in one.versions if spoken is None or each.language in spoken))
        for one in found.questions
    ]
    told_languages = {} if spoken is None else {"languages": ",".join(sorted(spoken))}
    origin = replace(found.origin, parameters={**found.origin.parameters, **told_languages})
    return replace(found, questions=questions, origin=origin)


@contextmanager
def _progress() -> Iterator[Callable[[Step], None]]:
    """Shows on a terminal how far a fetch is, with an estimate of what is left."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        tasks = {}

        def told(step: Step) -> None:
            if step.what not in tasks:
                tasks[step.what] = progress.add_task(step.what, total=None)
            shown = f"{step.what}: {escape(step.note)}" if step.note else step.what
            progress.update(tasks[step.what], completed=step.done, total=step.total or None, description=shown)

        yield told
