"""The record of a question-level build: what `build_manifest.json` says, but for the files' digests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from assay.building.funnel import Funnel
from assay.building.house import House
from assay.building.leaks import leak_rate, planted_recall
from assay.building.links import Links
from assay.building.question_tasks import AS_OF, SHARED
from assay.building.records import Records
from assay.building.removals import BuildTables

TIES = ("twin_question", "joint_answer", SHARED)
_EXAMPLES = 5


def manifest_of(
    records: Records,
    tables: BuildTables,
    *,
    links: Links,
    rules: Mapping[str, Any],
    funnel: Funnel,
    masked: Mapping[str, Mapping[str, int]],
    equivalents: Mapping[str, Any],
    apart: Mapping[str, Sequence[Sequence[str]]],
) -> dict[str, Any]:
    """What a build was told, what it counted, and what is left over in its texts.

    Args:
        records: What the source read.
        tables: What came out.
        links: The links of the records.
        rules: The rules of the build by name.
        funnel: What every step kept and dropped.
        masked: How many stretches of each kind were masked, by table.
        equivalents: The rules and counts of equivalents.
        apart: Groups of questions that belong together and lie in several splits, by kind.
    """
    origin = records.origin
    return {
        "name": origin.name,
        "source": origin.source,
        "revision": origin.revision,
        "licence": origin.licence,
        "attribution": origin.attribution,
        "modified": origin.modified,
        "house": records.house.name,
        "mask_token": rules["token"],
        "as_of": dict(AS_OF),
        "ties": list(TIES),
        "splits": {
            "train": {"to": rules["train_until"]},
            "dev": {"after": rules["train_until"], "to": rules["dev_until"]},
            "test": {"after": rules["dev_until"]},
        },
        "parameters": {"source": dict(sorted(origin.parameters.items())), "build": dict(rules)},
        "counts": _counts(tables),
        "institutions": _tally(row["institution"] for row in tables.corpus),
        "languages": {
            "queries": _tally(row["orig_lang"] for row in tables.queries),
            "queries_xling": _tally(row["lang"] for row in tables.queries_xling),
        },
        "funnel": funnel.record(),
        "noted": {name: _some(ids) for name, ids in links.noted.items()},
        "apart": {name: _some([" ".join(group) for group in groups]) for name, groups in apart.items()},
        "equivalents": dict(equivalents),
        "masking": {"masked": {name: dict(counts) for name, counts in masked.items()}}
        | _left_over(records.house, tables, n=rules["planted"], seed=rules["seed"]),
    }


def _counts(tables: BuildTables) -> dict[str, Any]:
    """Rows of every table; pairs and queries of every list of judgements."""
    return {
        "corpus": len(tables.corpus),
        "queries": len(tables.queries),
        "no_split": sum(row["split"] is None for row in tables.queries),
        "queries_xling": len(tables.queries_xling),
        "citations": len(tables.precedent_meta),
        "qrels": {
            name: {"queries": len({query for query, _, _ in pairs}), "pairs": len(pairs)}
            for name, pairs in (tables.qrels or {}).items()
        },
    }


def _left_over(house: House, tables: BuildTables, *, n: int, seed: int) -> dict[str, Any]:
    """What leads to a record in masked texts, and how many planted ids masking finds."""
    known = [str(row["_id"]) for part in (tables.corpus, tables.queries) for row in part]
    urls = {row["source_url"] for part in (tables.corpus, tables.queries) for row in part if row["source_url"]}
    ids = [row["_id"] for part in (tables.corpus, tables.queries, tables.queries_xling) for row in part]
    # Where ids are printed without their period, the number by itself leads to the record.
    leaks = leak_rate(_masked_texts(tables), known, record_urls=sorted(urls), alone=house.dated)
    planted = planted_recall(house, seed=seed, n=n) if house.printed else None
    return {
        "leaks": {
            "texts": leaks.texts,
            "leaking": leaks.leaking,
            "rate": leaks.leaking / leaks.texts if leaks.texts else None,
            "examples": [
                {"in": ids[leak.row], "text": leak.text, "record": leak.record} for leak in leaks.leaks[:_EXAMPLES]
            ],
        },
        "planted": None if planted is None else {"planted": planted.planted, "found": planted.found},
    }


def _masked_texts(tables: BuildTables) -> Iterator[str]:
    """Every masked text; a question's subject line stands above its text."""
    yield from (row["text"] for row in tables.corpus)
    for part in (tables.queries, tables.queries_xling):
        yield from (f"{row['subject'] or ''}\n\n{row['text']}" for row in part)


def _tally(values: Iterable[str | None]) -> dict[str, int]:
    return dict(sorted(Counter(value or "unknown" for value in values).items()))


def _some(found: Sequence[str]) -> dict[str, Any]:
    return {"count": len(found), "examples": list(found[:_EXAMPLES])}
