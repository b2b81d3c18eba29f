"""Tables: results and findings as titles, headings and rows of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.audit import Finding
from assay.experiment import Compared, Result
from assay.reports.notices import notices
from assay.scores import Scores


@dataclass(frozen=True)
class Table:
    """Rows of text under headings, with lines of notes below."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def number(value: float, digits: int = 4) -> str:
    """A number as shown: four decimals, or a dash where there is none."""
    return "–" if value != value else f"{value:.{digits}f}"


def counted(n: int, kind: str = "") -> str:
    """A number of queries in words.

    Example:
        >>> counted(1), counted(2, "open ")
        ('1 query', '2 open queries')
    """
    return f"{n} {kind}{'query' if n == 1 else 'queries'}"


def interval_text(scores: Scores) -> str:
    """A mean with its interval, as in `0.4063 [0.3838, 0.4289]`."""
    i = scores.interval
    return f"{number(i.mean)} [{number(i.low)}, {number(i.high)}]"


def results_table(results: Sequence[Result]) -> list[Table]:
    """One table for each collection, task and split: a row a system, a column a measure."""
    groups: dict[tuple[str, str, str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.collection, result.digest, result.task, result.split), []).append(result)
    versions = {(collection, digest) for collection, digest, _, _ in groups}
    named = [collection for collection, _ in versions]
    return [_group_table(key, group, several=named.count(key[0]) > 1) for key, group in groups.items()]


def chunkings_table(shown: Sequence[Result], results: Sequence[Result]) -> list[Table]:
    """The table of results across chunkings, and beside it the measures that count each chunking's own passages."""
    kept = {s.measure for r in shown for s in r.scores}
    own = [
        replace(
            r,
            system=across.system,
            scores=tuple(_under_rule(s, r.gold_rule) for s in r.scores if s.measure not in kept),
        )
        for across, r in zip(shown, results, strict=True)
    ]
    beside = _group_table(("each over its own gold passages", "", "", ""), [r for r in own if r.scores], several=False)
    note = "chunkings differ in the passages that these count, and in how many are gold: read down, not across"
    tables = results_table(shown)
    return [*tables, replace(beside, notes=(note, *beside.notes))] if beside.rows else tables


def _under_rule(scores: Scores, rule: str) -> Scores:
    """Scores whose measure says by which rule passages are gold."""
    return replace(scores, measure=f"{scores.measure} [gold: {rule or 'as judged'}]")


def _group_table(key: tuple[str, str, str, str], group: list[Result], *, several: bool) -> Table:
    collection, digest, task, split = key
    names = list(dict.fromkeys(s.measure for r in group for s in r.scores))
    rows = []
    for result in group:
        by_name = {s.measure: s for s in result.scores}
        rows.append((result.system, *(interval_text(by_name[m]) if m in by_name else "–" for m in names)))
    counts = group[0].scores[0].counts if group and group[0].scores else None
    title = collection if collection == task or not task else f"{collection}/{task}"
    title += f"@{digest[:12]}" if several else ""
    title += f", split {split}" if split else ""
    if counts is not None:
        title += f": {counted(counts.queries)}"
    notes = list(dict.fromkeys(note for result in group for note in _notes(result)))
    return Table(title, ("system", *names), tuple(rows), (*_method_notes(group), *notes))


def _method_notes(group: list[Result]) -> list[str]:
    intervals = {
        f"{100 * i.level:.0f} % intervals: {i.method} bootstrap, {i.resamples} resamples of {i.units} "
        f"{'clusters' if i.unit == 'cluster' else 'queries'}, seed {i.seed}"
        for r in group
        for i in (s.interval for s in r.scores)
        if i.method != "exact" and i.resamples
    }
    notes = {f"{r.system}: {s.measure}: {s.interval.note}" for r in group for s in r.scores if s.interval.note}
    return [*sorted(intervals), *sorted(notes)]


def _notes(result: Result) -> list[str]:
    lines = []
    for s in result.scores[:1]:
        c = s.counts
        for count, words in (
            (c.missing, "queries missing from the run score 0"),
            (c.empty, "queries answered with an empty list score 0"),
            (c.without_relevant, "queries without a relevant judgement score 0"),
            (c.extra, "queries of the run are not judged and not counted"),
            (c.ineligible_removed, "ineligible rows removed before the cut"),
            (c.unknown_removed, "rows removed before the cut: no passage of the collection has their id"),
            (c.gold_ineligible, "relevant passages that no system may return"),
            (c.cut_ties, "lists of a black box end in a tie that may go on"),
        ):
            if count:
                lines.append(f"{result.system}: {count} {words}")
    lines += [f"{result.system}: {n} {w}" for key, w in FILE_NOTES.items() if (n := result.run.counts.get(key, 0))]
    lines += [f"{result.system}: {line}" for line in notices(result)]
    lines += _reading_notes(result)
    for s in result.scores:
        if s.counts.ties:
            lines.append(
                f"{result.system}: {s.measure} depends on ties in {counted(s.counts.ties)}: worst "
                f"{number(s.worst.mean())}, expected {number(s.expected.mean())}, best {number(s.best.mean())}"
            )
        if s.counts.open and s.upper is not None:
            lines.append(
                f"{result.system}: {s.measure} is a lower bound in {counted(s.counts.open, 'open ')}; upper bound of "
                f"the mean {number(s.upper.mean())}"
            )
    return lines


FILE_NOTES = {
    "repeated_dropped": "lines that repeat a passage for a query left out, the first of each kept",
    "extra_fields": "lines with more than six fields: the rest was read as part of the tag",
    "scattered_queries": "queries whose lines do not stand together, joined",
    "float32_ties": "neighbours have scores that only float64 tells apart: tools with float32 order them by id",
    "byte_order_mark": "byte-order mark at the start of the file, left out",
}
"""What reading a run file noticed, by the names in `Run.counts`, in words."""


def _reading_notes(result: Result) -> list[str]:
    """Gold that cannot count, and how much was read where no budget of characters says it."""
    lines = []
    of_chunking = [s.extras for s in result.scores if "gold_fragments" in s.extras]
    for extras in of_chunking[:1]:
        for key, words in (
            ("empty_fragments", "gold fragments of zero length are in no denominator"),
            ("unknown_fragments", "gold fragments lie in documents without a chunk; they stay in every denominator"),
        ):
            if extras[key]:
                lines.append(f"{result.system}: {extras[key]:.0f} {words}")
    return lines + [
        f"{result.system}: {s.measure} reads {s.extras['characters_read']:.0f} characters a query"
        for s in result.scores
        if "characters_read" in s.extras and not s.measure.endswith("chars")
    ]


def comparisons_table(compared: Sequence[Compared]) -> list[Table]:
    """One table for each family: a row a pair, with difference, interval, p and wins."""
    tables = []
    several = len({family.collection for family in compared}) > 1
    for family in compared:
        rows = []
        for measure, c in zip(family.measures, family.family.comparisons, strict=True):
            t = c.test
            rows.append(
                (
                    measure,
                    f"{c.first} − {c.second}",
                    f"{t.difference:+.4f} [{t.interval.low:+.4f}, {t.interval.high:+.4f}]",
                    p_value(t.p),
                    p_value(c.p_adjusted),
                    f"{t.wins} / {t.ties} / {t.losses}",
                    number(t.detectable),
                )
            )
        first = family.family.comparisons[0].test
        unit = "clusters of queries" if first.interval.unit == "cluster" else "queries"
        note = (
            f"paired sign-flip tests over {first.units} {unit}, {len(rows)} in the family, corrected by "
            f"{family.family.correction.capitalize()}; detectable: smallest difference found with 80 % power, "
            "uncorrected"
        )
        few = [note] if not first.interval.note else [note, first.interval.note]
        where = f"{family.collection}/{family.task}" if several else family.task
        title = f"Compared on {where}" + (f", split {family.split}" if family.split else "")
        headings = ("measure", "pair", "difference", "p", "p corrected", "wins / ties / losses", "detectable")
        tables.append(Table(title, headings, tuple(rows), tuple(few)))
    return tables


def p_value(p: float) -> str:
    """A p-value as shown: four decimals, never 0."""
    return "< 0.0001" if p < 0.0001 else number(p)


def slices_table(results: Sequence[Result], slices: Sequence[Mapping[str, Any]], column: str) -> list[Table]:
    """One table a run: a row for each value of a query column, a column a measure."""
    tables = []
    for result, parts in zip(results, slices, strict=False):
        measures = list(parts)
        values = list(parts[measures[0]]) if measures else []
        rows, notes = [], []
        for value in values:
            cells = [parts[m][value] for m in measures]
            notes += [f"{value or '(none)'}: {note}" for note in dict.fromkeys(c["note"] for c in cells) if note]
            numbers = ([number(_or_nan(c[k])) for k in ("mean", "low", "high")] for c in cells)
            shown = (f"{mean} [{low}, {high}]" for mean, low, high in numbers)
            units = "" if cells[0]["units"] == cells[0]["n"] else f" in {cells[0]['units']} clusters"
            rows.append((value or "(none)", f"{cells[0]['n']}{units}", *shown))
        headings = (column, "queries", *measures)
        tables.append(Table(f"{result.system} by {column}", headings, tuple(rows), tuple(notes)))
    return tables


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else value


VERDICTS = {"ok": "ok", "note": "note", "warning": "WARNING", "error": "ERROR", "skipped": "–"}


def findings_table(name: str, findings: Sequence[Finding]) -> Table:
    """What `verify` found: a row a check, offenders and advice below."""
    rows = tuple((VERDICTS[f.verdict], f.check, f.expected, f.found) for f in findings)
    notes = []
    for f in findings:
        if f.verdict in ("warning", "error", "note"):
            shown = "; ".join(f.offenders)
            more = f" and {f.count - len(f.offenders)} more" if f.count > len(f.offenders) > 0 else ""
            notes.append(f"{f.check}: {shown}{more}{' → ' if shown else ''}{f.advice}")
    return Table(name, ("", "check", "expected", "found"), rows, tuple(notes))
