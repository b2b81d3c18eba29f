"""Built: a question-level collection in memory, ready to be written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.building.records import Origin
from assay.building.removals import BuildTables, Row

CORPUS = ("_id", "text", "raw_text", "date", "institution", "answers", "header", "source_url")
"""Columns of `corpus` in order; further ones of a house come after them."""
QUERIES = (
    "_id",
    "subject",
    "text",
    "raw_text",
    "date",
    "source_url",
    "type",
    "term",
    "addressee",
    "author",
    "orig_lang",
    "orig_lang_src",
    "answer",
    "header",
    "split",
    "joint_size",
)
"""Columns of `queries` in order; further ones of a house come after them."""
XLING = ("_id", "query_id", "lang", "subject", "text", "raw_text", "source_url")
EQUIVALENTS = ("_id", "twin_question", "duplicate_answer", "near_duplicate_answer", "boilerplate")
META = (
    "query_id",
    "doc_id",
    "citing_id",
    "source",
    "form",
    "referral",
    "phrase",
    "in_footnote",
    "sentence",
    "query_date",
    "citing_date",
    "cited_date",
    "tasks",
)
"""Columns of `precedent_meta`, a row an edge: `citing_id` names the reply, or the question where that one cites;
`tasks` lists the tasks in which the edge is a judgement."""
TASKS = ("answer", "answerlenient", "precedent", "precedenthc", "cite", "citehc", "followup")


@dataclass(frozen=True)
class Built:
    """A question-level collection, whole.

    Attributes:
        tables: Its tables as rows with the columns above, values absent in a house None; judgements by `TASK_SPLIT`.
        manifest: What `build_manifest.json` says but for the files' digests: counts, parameters, funnel, as-of rules,
            mask token, ties.
        origin: Where the records come from.
        unresolved: Citations that name no record of the collection: `citing_id`, `cited`, `source`, `reason`.
    """

    tables: BuildTables
    manifest: Mapping[str, Any]
    origin: Origin
    unresolved: Sequence[Row] = ()
