"""Outcomes of experiments and of reproductions, as tables and as plain JSON values."""

from __future__ import annotations

from typing import Any

from assay.experiment_file import Entry
from assay.outcome import NotRun, Outcome
from assay.reports import records
from assay.reports.tables import Table, comparisons_table, number, results_table
from assay.reproduction import Attempt, Checked, Publication, Published, Reproduced, Verdict


def outcome_tables(outcome: Outcome) -> list[Table]:
    """A table for each task and split, one for each family of tests, and one of what could not run."""
    named = [(entry.name, entry.call) for entry in outcome.experiment.systems if _says_more(entry)]
    legend = [Table("Systems", ("name", "system"), tuple(named))] if named else []
    return [
        *results_table(outcome.shown),
        *comparisons_table(outcome.compared),
        *legend,
        *_not_run_table(outcome.not_run),
    ]


def _says_more(entry: Entry) -> bool:
    return Entry.of(entry.call).name != entry.name


def _not_run_table(not_run: tuple[NotRun, ...]) -> list[Table]:
    """What did not run, and below it why: a line a reason, however many rows it is true of."""
    rows = tuple((n.system or "(every system)", _where(n)) for n in not_run)
    notes = _by_reason([(n.reason, n.system or _where(n)) for n in not_run])
    return [Table("Not run on this machine", ("system", "task"), rows, tuple(notes))] if rows else []


def _where(n: NotRun) -> str:
    return n.collection + (f"/{n.task}" if n.task else "") + (f", split {n.split}" if n.split else "")


def outcome_record(outcome: Outcome) -> dict[str, Any]:
    """An outcome as plain JSON values with stable keys."""
    return {
        "experiment": outcome.experiment.name,
        "systems": [{"name": entry.name, "call": entry.call} for entry in outcome.experiment.systems],
        "results": [records.result_record(r) for r in outcome.shown],
        "comparisons": [records.comparison_record(c) for c in outcome.compared],
        "not_run": [
            {"system": n.system, "collection": n.collection, "task": n.task, "split": n.split, "reason": n.reason}
            for n in outcome.not_run
        ],
        "found": outcome.found,
    }


def reproduced_tables(reproduced: Reproduced) -> list[Table]:
    """One table: a row for each system that may have given a number, with what was expected and what was found."""
    of = reproduced.publication
    several = len({checked.collection for checked in reproduced.checked}) > 1
    rows = [
        (
            f"{checked.collection}/{checked.number.task}" if several else checked.number.task,
            checked.number.measure,
            attempt.system or "–",
            number(checked.number.value, of.digits),
            *_found_cells(of, checked.number, attempt),
            attempt.verdict.value,
        )
        for checked in reproduced.checked
        for attempt in checked.attempts
    ]
    told = ", ".join(f"{reproduced.count(verdict)} {verdict.value.lower()}" for verdict in Verdict)
    rule = "the published value, as it was rounded, lies in the interval of what was found"
    if of.tolerance is not None:
        rule = f"what was found differs by {of.tolerance:g} at most"
    notes = [f"{len(reproduced.checked)} numbers: {told}", f"inside: {rule}", *_reasons(reproduced)]
    headings = ("task", "measure", "system", "expected", "found", "difference", "verdict")
    title = of.title + (
        "" if several or not reproduced.checked[0].collection else f" on {reproduced.checked[0].collection}"
    )
    return [Table(title, headings, tuple(rows), tuple(notes))]


def _found_cells(of: Publication, told: Published, attempt: Attempt) -> tuple[str, str]:
    if attempt.interval is None:
        return "–", "–"
    found, digits = attempt.interval, max(4, of.digits)
    mean, low, high = (number(value, digits) for value in (found.mean, found.low, found.high))
    return f"{mean} [{low}, {high}]", f"{found.mean - told.value:+.{digits}f}"


def _reasons(reproduced: Reproduced) -> list[str]:
    """What to know of the numbers, and why systems did not run: a line each, however many rows it is true of."""
    of = reproduced.publication
    lines = [f"source: {of.source}"] if of.source else []
    lines += [f"{_told(of, c.number)}: {c.number.note}" for c in reproduced.checked if c.number.note]
    told = []
    for checked in reproduced.checked:
        for attempt in checked.attempts:
            if attempt.reason:
                needs = checked.number.needs if attempt.verdict is Verdict.NOT_RUN else ()
                reason = attempt.reason + (f"; it takes {', '.join(needs)}" if needs else "")
                told.append((reason, attempt.system or _told(of, checked.number)))
    return lines + _by_reason(told)


def _by_reason(told: list[tuple[str, str]]) -> list[str]:
    """A line for each reason, after the names that it was given for."""
    reasons: dict[str, dict[str, None]] = {}
    for reason, name in told:
        reasons.setdefault(reason, {})[name] = None
    return [f"{_shortened(list(names))}: {reason}" for reason, names in reasons.items()]


def _shortened(names: list[str]) -> str:
    return ", ".join(names) if len(names) < 3 else f"{len(names)} systems, {names[0]} first"


def _told(of: Publication, told: Published) -> str:
    return f"{told.task} {told.measure} {number(told.value, of.digits)}"


def reproduced_record(reproduced: Reproduced) -> dict[str, Any]:
    """What came of a publication as plain JSON values with stable keys."""
    of = reproduced.publication
    return {
        "reproduction": of.name,
        "title": of.title,
        "source": of.source,
        "tolerance": of.tolerance,
        "inside": reproduced.count(Verdict.INSIDE),
        "outside": reproduced.count(Verdict.OUTSIDE),
        "another_collection": reproduced.count(Verdict.OTHER),
        "not_run": reproduced.count(Verdict.NOT_RUN),
        "numbers": [
            {
                "collection": checked.collection,
                "task": checked.number.task,
                "split": checked.number.split,
                "measure": checked.number.measure,
                "expected": checked.number.value,
                "verdict": checked.verdict.value.lower(),
                "needs": list(checked.number.needs),
                "note": checked.number.note,
                "systems": [_attempt_record(checked, attempt) for attempt in checked.attempts],
            }
            for checked in reproduced.checked
        ],
    }


def _attempt_record(checked: Checked, attempt: Attempt) -> dict[str, Any]:
    found = attempt.interval
    values = (None, None, None) if found is None else (found.mean, found.low, found.high)
    mean, low, high = (None if value is None or value != value else value for value in values)
    return {
        "system": attempt.system,
        "found": mean,
        "low": low,
        "high": high,
        "difference": None if mean is None else mean - checked.number.value,
        "verdict": attempt.verdict.value.lower(),
        "reason": attempt.reason,
        "spec": dict(attempt.spec),
    }
