"""The card of a question-level folder, made from its files and its manifest alone."""

from __future__ import annotations

from assay.audit import own_splits
from assay.building.question_tasks import XLING
from assay.collection import Collection
from assay.publishing.about import About
from assay.publishing.card import citation_section, front_of, licence_section, table, tables_section, text_of
from assay.publishing.figures import checks_section
from assay.publishing.files import Config
from assay.publishing.question_tables import MEANINGS

HOLD = {
    "corpus.jsonl": "replies",
    "queries.jsonl": "questions",
    "queries_xling.jsonl": "questions in another language; `query_id` names the question",
    "equivalents.jsonl": "per question its twins, and replies that say what its own says",
    "precedent_meta.jsonl": "every citation behind a judgement",
    "unresolved_citations.jsonl": "citations of what is not here, with the reason",
}

READ_TEXTS = (
    "gold-elsewhere",
    "half-judged",
    "ids-silent",
    "masking-leaks",
    "self-retrieval",
    "splits-twins",
    "texts-distinct",
)
"""Audits that read every text or id, which would take longer than the build's own writing; `assay verify` runs them."""


def card_of(opened: Collection, configs: list[Config]) -> str:
    """The card of a published collection.

    Args:
        opened: The collection in the folder.
        configs: What its Parquet files hold.
    """
    about = About.of(opened.manifest.get("about", {}), place="the manifest's about")
    ordered = sorted(configs, key=lambda config: (config.name.startswith("qrels-"), config.name))
    front = front_of(about, ordered, source=opened.source, revision=opened.revision)
    return text_of(
        about,
        front,
        {
            "Tasks": _tasks_section(opened),
            "Configs": tables_section(ordered, MEANINGS),
            "Files": _files_section(opened),
            "Checks": checks_section(opened, without=READ_TEXTS),
            "Provenance": _provenance_section(about, opened),
            "Licence": licence_section(about) + "\n\n`LICENSE.md` has the notices and what was changed.",
            "Citation": citation_section(about),
        },
    )


def _tasks_section(opened: Collection) -> str:
    rows = [
        (f"`{name}`", f"`{split}`", len(task.qrels.queries), len(task.qrels), task.rule or "none")
        for name, splits in opened.tasks.items()
        if not name.endswith(XLING)
        for split, task in own_splits(splits).items()
    ]
    said = (
        "A judgement says that a reply is relevant to a question. Under an as-of rule a reply may be found if it is"
        " dated so; without the rule another thing is measured."
    )
    crossing = sorted(name for name in opened.tasks if name.endswith(XLING))
    named = ", ".join(f"`{name}`" for name in crossing)
    twins = f" Questions in another language have the judgements of their question: {named}." if crossing else ""
    return f"{said}{twins}\n\n" + table(("task", "split", "questions", "judgements", "as-of rule"), rows)


def _files_section(opened: Collection) -> str:
    rows = {name: int(count) for name, count in dict(opened.manifest.get("rows", {})).items()}
    listed = table(("file", "rows", "holds"), [(f"`{n}`", rows[n], holds) for n, holds in HOLD.items() if n in rows])
    judged = {name: count for name, count in rows.items() if name not in HOLD}
    empty = [name for name, count in judged.items() if not count]
    parts = [
        "The configs are Parquet. The same rows, and tables that no config has, are JSON Lines for programs that open"
        " the folder, such as `assay`:",
        listed,
        f"Each of the {len(judged)} judgement files is there as `qrels_jsonl/TASK_SPLIT.jsonl` and, in TREC's form"
        " apart by tabs, as `qrels/TASK_SPLIT.tsv`.",
    ]
    if empty:
        named = ", ".join(f"`{name.removeprefix('qrels_jsonl/').removesuffix('.jsonl')}`" for name in empty)
        parts.append(f"Without a judgement, and so in no config: {named}.")
    parts.append(
        "`textonly/` has the masked texts under random ids, and the dates for the evaluator; which id stands for which"
        " is not published. Columns are in every row, null where the source has nothing."
    )
    return "\n\n".join(parts)


def _provenance_section(about: About, opened: Collection) -> str:
    origin = opened.manifest.get("published_from", {})
    name, layout, digest = (str(origin.get(key, "")) for key in ("name", "layout", "digest"))
    facts = [
        ("source", opened.source),
        ("revision", opened.revision),
        ("published from", f"{name} ({layout}), digest `{digest}`" if name else ""),
        ("changed", str(opened.manifest.get("modified", ""))),
        ("digest of these files", f"`{opened.digest}`"),
    ]
    left = opened.manifest.get("left_out_by_publishing", {})
    facts += [(f"left out: {kind}", f"{count:,}") for kind, count in left.items()]
    listed = table(("what", "is"), [fact for fact in facts if fact[1]])
    checked = (
        "`DATASHEET.md` tells how it was made. `SHA256SUMS` holds the SHA-256 of every file (`sha256sum --check"
        " SHA256SUMS`); `assay publish check` compares this card with the files."
    )
    return "\n\n".join(part for part in (about.provenance.strip(), listed, checked) if part)
