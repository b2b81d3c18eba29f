"""Gold that its query may be answered with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.audit import Finding, Judgements, judgements, labelled_tasks
from assay.collection import Collection
from assay.evaluation.reach import judged_rows
from assay.task import Task


@dataclass(frozen=True)
class GoldEligible:
    """Every relevant passage is eligible for its query.

    Checks:
        Per task and split, each relevant judgement points at a passage that is a candidate, is dated before
        the query's cut-off where there is an as-of rule, and is not kept from the query as its own.

    Why it matters:
        What is not eligible is never returned, so that the query cannot reach a full score; often it shows
        that the citation or the date behind the judgement is wrong.

    Known limits:
        Nothing is said where a query has no date at all: see `dates-present`. Judgements of passages that
        do not exist are left to `judged-exist`.

    Example:
        A question of 2020-01-01 has the gold `g` of 2020-06-01: the answer is newer than the question.

    What to do:
        Correct the date, or drop the judgement and count it. Scores keep it in the denominator and print
        the best score within reach.
    """

    name: ClassVar[str] = "gold-eligible"

    def inspect(self, collection: Collection) -> Iterator[Finding]:
        """One finding if all is well, else one per task and split."""
        expected = "relevant passages that are eligible for their query"
        total, faults = 0, []
        for label, task in labelled_tasks(collection):
            if task.asked is not None and np.isnat(task.asked[task.rows]).any():
                faults.append(Finding.skipped(f"{self.name}/{label}", "some queries have no date", expected=expected))
                continue
            finding, checked = self._eligible(label, task)
            total += checked
            faults += [finding] if finding.count else []
        if faults:
            yield from faults
        elif not total:
            yield Finding.skipped(self.name, "no task has a relevant judgement", expected=expected)
        else:
            yield Finding(self.name, "ok", expected, f"all of {total} relevant judgements")

    def _eligible(self, label: str, task: Task) -> tuple[Finding, int]:
        gold = judgements(task).relevant.present
        row = judged_rows(task)
        refused = np.flatnonzero(~task.eligibility.allows(row[gold.query], gold.passage))
        one = len(refused) == 1
        finding = Finding.of(
            f"{self.name}/{label}",
            len(refused),
            verdict="error",
            expected="relevant passages that are eligible for their query",
            found=f"{len(refused)} of {len(gold.query)} relevant judgements point{'s' if one else ''} at a passage "
            f"that is not eligible for its query ({len(np.unique(gold.query[refused]))} queries)",
            offenders=(_why(task, gold, i) for i in refused.tolist()),
            advice="correct the dates or drop the judgements; until then these queries cannot reach a full score",
        )
        return finding, len(gold.query)


def _why(task: Task, gold: Judgements, at: int) -> str:
    query, asked, passage = int(gold.query[at]), int(gold.asked[at]), int(gold.passage[at])
    pair = f"({task.qrels.queries[query]}, {task.passages.ids[passage]})"
    if task.passages.candidate is not None and not task.passages.candidate[passage]:
        return f"{pair}: not a candidate"
    if task.asked is not None and (task.passages.dates is None or np.isnat(task.passages.dates[passage])):
        return f"{pair}: the passage has no date"
    if task.asked is not None and task.passages.dates is not None:
        date, cutoff = task.passages.dates[passage], task.asked[asked]
        if date >= cutoff:
            return f"{pair}: dated {date}, not before {cutoff}"
    return f"{pair}: the query's own passage"
