"""Fills a folder from the interface, and tells what is in one that was filled; what is there is not asked again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from assay.building.funnel import Funnel
from assay.errors import DataError, UnavailableError
from assay.sources.europarl.bodies import GRAPH, Kind
from assay.sources.europarl.client import BASE, Client, Manners, Refused
from assay.sources.europarl.folder import Folder, held_in
from assay.sources.europarl.months import Months
from assay.sources.europarl.walk import ENGLISH, Fetched, Step, Walk

STEP = "fetch"

_FAILURES = 3
"""Things in a row that fail at every try before the interface itself counts as failing."""


def fetch(
    place: Path,
    *,
    months: Months,
    languages: Sequence[str] | None = None,
    base: str = BASE,
    manners: Manners | None = None,
    told: Callable[[Step], None] = lambda _: None,
) -> Fetched:
    """Fills a folder with everything that a build of some months needs, and counts it.

    A fetch that is stopped, by a kill too, is taken up by the next one. What lies in the folder is a snapshot: it is
    not asked again, so that a later state needs another folder.

    Args:
        place: The folder; it is made where it is missing.
        months: Which months.
        languages: Languages in which texts of questions are fetched beside English; None for all in which they exist.
        base: Address of the interface.
        manners: How to behave.
        told: Called with how far it is.

    Raises:
        UnavailableError: The interface does not answer; says what is there already.
        UsageError: Another process fills the folder, or the address is none.
        FileError: The folder holds something else or cannot be written.
    """
    at = Step("lists", 0, 0)

    def tell(step: Step) -> None:
        nonlocal at
        at = step
        told(step)

    def note(line: str) -> None:
        told(Step(at.what, at.done, at.total, line))

    with Client(base, manners=manners, told=note) as client, Folder(place) as folder:
        work = Walk(folder.held, client.base, _Online(client, folder), tell)
        try:
            done = work.all(months, _with_english(languages))
            return replace(done, requests=client.requests)
        except UnavailableError as err:
            of = f" of {at.total:,}" if at.total else ""
            raise UnavailableError(
                f"{err}. Already in {place}: {at.done:,}{of} {at.what} and all that comes before them,"
                f" {len(folder.held.files):,} files; the same command goes on from there"
            ) from None


def fetched(place: Path, *, months: Months, languages: Sequence[str] | None = None) -> Fetched:
    """What is in a folder that `fetch` has filled for some months; asks nothing and writes nothing.

    Raises:
        FileError: The folder is missing or was not filled by a fetch.
        FormatError: A line of its record is none.
        DigestError: A file is not what came.
        DataError: Something that the months need was never fetched.
    """
    held = held_in(place)
    absent = _Absent()
    done = Walk(held, held.base, absent, lambda _: None).all(months, _with_english(languages))
    if absent.files:
        raise DataError(
            f"{place} was not filled for all of this: {len(absent.files):,} things are missing, the first one"
            f" {absent.files[0]}; build once with --cache {place} in place of --offline, which goes on from there"
        )
    return done


def count_in(done: Fetched, funnel: Funnel) -> None:
    """Adds a step to a funnel: files that were wanted, and what was not to be had, by reason."""
    funnel.keep(STEP, done.kept)
    for why, asked in done.refused.items():
        funnel.drop(STEP, why, asked)


def _with_english(languages: Sequence[str] | None) -> set[str] | None:
    return None if languages is None else {ENGLISH, *languages}


class _Online:
    """Gets what is missing from the interface, and keeps it; `failures` counts things in a row that failed."""

    asks_again = True

    def __init__(self, client: Client, folder: Folder) -> None:
        self.client = client
        self.folder = folder
        self.failures = 0

    def bring(self, url: str, file: str, kind: Kind, *, batch: bool) -> bool:
        try:
            reply = self.client.get(url, kind, patience=2 if batch else None)
            if reply.status == 204 and not file.startswith("lists/"):
                raise Refused(204, "status 204, nothing there")
        except Refused as err:
            if file.startswith("lists/"):
                raise UnavailableError(f"{self.client.root} refuses a page of a list, {file}: {err.why}") from None
            if err.status == 406 and kind is GRAPH:
                raise UnavailableError(f"{self.client.root} does not offer {kind.accept} (status 406)") from None
            self.folder.refuse(url, status=err.status, why=err.why)
            self.failures += not batch and not self._lasting(url)
            if self.failures >= _FAILURES:
                raise UnavailableError(
                    f"{self.client.root} fails for one thing after another, {_FAILURES} in a row: {err.why}"
                ) from None
            return False
        self.failures = 0
        self.folder.keep(url, file, reply)
        return True

    def _lasting(self, url: str) -> bool:
        line = self.folder.held.refusal(url)
        return line is not None and line.lasting


class _Absent:
    """Gets nothing; `files` are what was missing."""

    asks_again = False

    def __init__(self) -> None:
        self.files: list[str] = []

    def bring(self, url: str, file: str, kind: Kind, *, batch: bool) -> bool:  # noqa: ARG002
        self.files.append(file)
        return False
