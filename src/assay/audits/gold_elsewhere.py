"""Gold whose text stands in other passages too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from assay.audit import Finding, judgements, labelled_tasks
from assay.collection import Collection
from assay.span import Spans
from assay.task import Task

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class GoldElsewhere:
    """How much gold has a text that also stands in another passage.

    Checks:
        Per task and split: the fragments (or the relevant judgements, where there are no fragments) whose
        passage has the text of another passage, after folding blanks.

    Why it matters:
        A system that reads the passage's text alone cannot tell the right one from its copies; which of
        them comes first is chance. No system of that kind can reach a full score.

    Known limits:
        Equal texts only; passages that differ in a word are told apart. A system that also reads the title
        or the neighbours may tell copies apart.

    Example:
        44 of ConditionalQA's 1,165 fragments, in 31 queries, have a text that stands in another passage.

    What to do:
        Say so beside the scores, judge the copies too, or report a lenient score in which copies count.
    """

    name: ClassVar[str] = "gold-elsewhere"

    def inspect(self, collection: Collection) -> Iterator[Finding]:
        """One finding if all is well, else one per task and split."""
        expected = "gold that no other passage repeats"
        total, faults = 0, []
        for label, task in labelled_tasks(collection):
            if "plain" not in task.passages.texts:
                continue
            fragments = task.fragments is not None and task.passages.spans is not None
            query, passage, unit, units = _gold_of_fragments(task) if fragments else _gold_of_judgements(task)
            total += units
            same = task.passages.texts["plain"].same_text
            copies = np.bincount(same, minlength=len(same))[same] - 1
            hit = np.flatnonzero(copies[passage] > 0)
            first = hit[np.unique(unit[hit], return_index=True)[1]]
            queries = len(np.unique(query[first]))
            finding = Finding.of(
                f"{self.name}/{label}",
                len(first),
                verdict="note",
                expected=expected,
                found=f"{len(first)} of {units} {'fragments' if fragments else 'relevant judgements'}, in {queries} "
                "queries, have a text that also stands in another passage",
                offenders=_shown(task, query[first], passage[first], copies),
                advice="report it, judge the copies too, or count copies as one in a lenient score",
            )
            faults += [finding] if finding.count else []
        if not total:
            yield Finding.skipped(self.name, "there is no gold", expected=expected)
        elif faults:
            yield from faults
        else:
            yield Finding(self.name, "ok", expected, f"all of {total} fragments or judgements")


def _gold_of_judgements(task: Task) -> tuple[Rows, Rows, Rows, int]:
    gold = judgements(task).relevant.present
    return gold.query, gold.passage, np.arange(len(gold.query)), len(gold.query)


def _gold_of_fragments(task: Task) -> tuple[Rows, Rows, Rows, int]:
    """Query (code of the qrels), passage and fragment for every passage that a fragment meets."""
    fragments, parents, spans = task.fragments, task.passages.parents, task.passages.spans
    if fragments is None or parents is None or spans is None:
        return _gold_of_judgements(task)
    code = parents.codes(fragments.documents).astype(np.int64)[fragments.spans.document]
    known = np.flatnonzero(code >= 0)
    gold = Spans(code[known], fragments.spans.start[known], fragments.spans.end[known])
    here, passage = gold.overlaps(spans)
    judged = task.qrels.queries.codes(fragments.queries).astype(np.int64)[fragments.query]
    return judged[known[here]], passage, known[here], len(fragments)


def _shown(task: Task, query: Rows, passage: Rows, copies: Rows) -> Iterator[str]:
    for q, p in zip(query.tolist(), passage.tolist(), strict=True):
        asked = task.qrels.queries[q] if q >= 0 else "?"
        yield f"query {asked!r}: passage {task.passages.ids[p]!r} stands in {int(copies[p])} more"
