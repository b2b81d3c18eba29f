"""The datasheet: DATASHEET.md, with the questions of Gebru et al. 2018 (Datasheets for Datasets).

What the build knows is filled in from its tables and its manifest. What only a person knows is taken from the table
`[datasheet]` of `About`; a question without an answer is shown as open, with its key.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from assay.building.built import Built
from assay.building.question_tasks import AS_OF, RULES
from assay.building.removals import Row
from assay.publishing.about import QUESTIONS, About
from assay.publishing.card import table

_MOST = 25
"""Values shown in a table of counts; the rest is summed up."""


def open_questions(about: About) -> list[str]:
    """Keys of the questions that nobody has answered yet, in the order of the datasheet."""
    return [key for key in QUESTIONS if not about.datasheet.get(key, "").strip()]


def datasheet_text(built: Built, about: About) -> str:
    """The whole datasheet as Markdown."""
    sections = {
        "Motivation": _asked(about, "purpose", "creators", "funding"),
        "Composition": [*_composition(built), *_asked(about, "sensitive", "errors")],
        "Collection process": [*_collection(built), *_asked(about, "people", "ethics", "consent")],
        "Preprocessing, cleaning, labelling": _preprocessing(built),
        "Uses": [*_uses(built), *_asked(about, "used", "unsuitable")],
        "Distribution": [*_distribution(built, about), *_asked(about, "distribution")],
        "Maintenance": [*_maintenance(), *_asked(about, "maintainer", "updates", "contributions")],
    }
    parts = [f"# Datasheet of {about.title or built.origin.name}"]
    left = open_questions(about)
    if left:
        parts.append(f"Open, for the publisher to answer: {', '.join(f'`{key}`' for key in left)}.")
    for heading, answers in sections.items():
        parts += [f"## {heading}", *answers]
    return "\n\n".join(parts) + "\n"


def _answered(question: str, answer: str) -> str:
    return f"**{question}**\n\n{answer.strip()}"


def _asked(about: About, *keys: str) -> Iterator[str]:
    """Questions for a person, with the answers given."""
    for key in keys:
        yield _answered(
            QUESTIONS[key], about.datasheet.get(key, "").strip() or f"*Open: key `{key}` of `[datasheet]`.*"
        )


def _composition(built: Built) -> Iterator[str]:
    found = built.tables
    rows = [
        ("replies", "`corpus`", len(found.corpus)),
        ("questions", "`queries`", len(found.queries)),
        ("questions in another language", "`queries_xling`", len(found.queries_xling)),
        ("questions with equivalents", "`equivalents`", len(found.equivalents)),
        ("citations", "`precedent_meta`", len(found.precedent_meta)),
        ("citations of what is not here", "`unresolved_citations`", len(built.unresolved)),
    ]
    yield _answered("What do the instances stand for, and how many are there?", table(("what", "file", "rows"), rows))
    dated = [_dates("replies", found.corpus), _dates("questions", found.queries)]
    yield _answered("Which time do they cover?", table(("what", "from", "to", "undated"), dated))
    parts = [
        part
        for heading, rows_, name in (
            ("questions by split", found.queries, "split"),
            ("questions by kind", found.queries, "type"),
            ("questions by term", found.queries, "term"),
            ("questions by language of the original", found.queries, "orig_lang"),
            ("questions in another language, by language", found.queries_xling, "lang"),
            ("replies by institution", found.corpus, "institution"),
        )
        for part in _counted(heading, rows_, name)
    ]
    yield _answered("How are they distributed?", "\n\n".join(parts) or "No column tells.")
    yield _answered("Which relations between instances are made explicit, and which labels are there?", _tasks(built))
    missing = list(_missing("corpus", found.corpus)) + list(_missing("queries", found.queries))
    told = table(("table", "column", "null or empty", "of"), missing) if missing else "None."
    yield _answered("Is anything missing from individual instances?", told)
    named = sum(1 for row in found.queries if row.get("author"))
    yield _answered(
        "Are there recommended splits, and does it stand alone?",
        "The column `split` of `queries` and the judgements of each split are by date of the question, as the manifest"
        " says. Nothing outside this folder is needed to use it; `source_url` leads to the originals.",
    )
    yield _answered("Does it name people?", f"{named:,} of {len(found.queries):,} questions name who asked.")


def _dates(what: str, rows: Sequence[Row]) -> tuple[str, str, str, int]:
    days = [str(row["date"]) for row in rows if row.get("date")]
    return what, min(days, default="–"), max(days, default="–"), len(rows) - len(days)


def _counted(heading: str, rows: Iterable[Row], name: str) -> Iterator[str]:
    """A table of how often each value of a column stands there; nothing where the column is empty."""
    counts = Counter("–" if row.get(name) in (None, "") else str(row[name]) for row in rows)
    if set(counts) <= {"–"}:
        return
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown: list[tuple[str, int]] = ordered[:_MOST]
    if len(ordered) > _MOST:
        shown.append((f"{len(ordered) - _MOST} more", sum(count for _, count in ordered[_MOST:])))
    yield table((heading, "rows"), shown)


def _tasks(built: Built) -> str:
    rules: Mapping[str, Any] = {**AS_OF, **dict(built.manifest.get("as_of") or {})}
    rows = []
    for name, judgements in (built.tables.qrels or {}).items():
        task, _, split = name.rpartition("_")
        rule = RULES.get(str(rules.get(task)), "none")
        rows.append((f"`{task}`", f"`{split}`", len({query for query, _, _ in judgements}), len(judgements), rule))
    return (
        "A judgement says that a reply is relevant to a question:\n\n"
        + table(("task", "split", "questions", "judgements", "as-of rule"), rows)
        + "\n\n`equivalents` ties questions and replies that say the same, `precedent_meta` has every citation behind a"
        " judgement."
    )


def _missing(what: str, rows: Sequence[Row]) -> Iterator[tuple[str, str, int, int]]:
    for name in dict.fromkeys(name for row in rows for name in row):
        empty = sum(1 for row in rows if row.get(name) in (None, "", [], ()))
        if empty:
            yield f"`{what}`", f"`{name}`", empty, len(rows)


def _collection(built: Built) -> Iterator[str]:
    origin = built.origin
    facts = [("source", origin.source), ("revision", origin.revision), *sorted(origin.parameters.items())]
    listed = table(("what", "is"), [(name, value) for name, value in facts if value])
    yield _answered("How were the records acquired, and from where?", listed)
    yield _answered("Were all records taken, or a sample?", _funnel(built))


def _funnel(built: Built) -> str:
    """What each step of the build was given, kept and dropped."""
    steps = built.manifest.get("funnel")
    if not isinstance(steps, Mapping) or not steps:
        return "The manifest has no record of what the steps of the build dropped."
    rows: list[tuple[object, ...]] = []
    for name, step in steps.items():
        rows.append((name, step.get("in", ""), step.get("kept", ""), ""))
        for reason, drop in (step.get("dropped") or {}).items():
            count = drop.get("count", "") if isinstance(drop, Mapping) else drop
            rows.append((f"{name}: {reason}", "", "", count))
    return "Every step counts what it was given, kept and dropped:\n\n" + table(("step", "in", "kept", "dropped"), rows)


def _preprocessing(built: Built) -> Iterator[str]:
    yield _answered("What was done to the texts?", built.origin.modified or "Not stated by the source.")
    mask = built.manifest.get("mask_token")
    tokens = [mask] if isinstance(mask, str) else list(mask or ())
    texts = [*built.tables.corpus, *built.tables.queries]
    raw = sum(1 for row in texts if row.get("raw_text"))
    said = f"Identifiers in `text` stand as {', '.join(f'`{t}`' for t in tokens)}. " if tokens else ""
    kept = f"`raw_text` has the text before masking ({raw:,} of {len(texts):,} rows); systems may not read it."
    yield _answered("Is the raw text kept?", said + kept)
    parameters = built.manifest.get("parameters")
    if isinstance(parameters, Mapping) and parameters:
        shown = [(f"`{name}`", f"`{json.dumps(value, ensure_ascii=False)}`") for name, value in parameters.items()]
        yield _answered("With which parameters?", table(("parameter", "value"), shown))


def _uses(built: Built) -> Iterator[str]:
    names = list(dict.fromkeys(name.rpartition("_")[0] for name in built.tables.qrels or {}))
    listed = ", ".join(f"`{name}`" for name in names)
    yield _answered(
        "What is it for?",
        f"Finding official replies to a question: the tasks {listed}. A task with an as-of rule may be answered with"
        " replies of earlier days alone; who evaluates without that rule measures something else.",
    )


def _distribution(built: Built, about: About) -> Iterator[str]:
    licence = about.licence or built.origin.licence or "Not stated by the source."
    yield _answered("Under which licence?", f"{licence}; `LICENSE.md` has the notices.")


def _maintenance() -> Iterator[str]:
    yield _answered(
        "How can a record be taken out?",
        "By a line in `removals.jsonl` of the next build. A published revision stays as it is; the next one leaves the"
        " record and all that depends on it out, and says how many and why.",
    )
