"""Judged queries that have a relevant passage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.audit import Finding, judgements, labelled_tasks
from assay.collection import Collection


@dataclass(frozen=True)
class QueriesAnswered:
    """Every judged query has at least one relevant passage.

    Checks:
        Per task and split, the judged queries none of whose judgements has a grade of 1 or more.

    Why it matters:
        Such a query scores 0 whatever is returned, and stays in the mean: it lowers every score alike.

    Known limits:
        Does not ask whether the relevant passage exists: see `judged-exist`.

    Example:
        Query `q9` has one judgement, with grade 0.

    What to do:
        Judge it further, leave it out, or report the mean over queries with a relevant passage as well.
    """

    name: ClassVar[str] = "queries-answered"

    def inspect(self, collection: Collection) -> Iterator[Finding]:
        """One finding if all is well, else one per task and split."""
        expected = "a relevant passage for every judged query"
        total, notes = 0, []
        for label, task in labelled_tasks(collection):
            queries = len(task.qrels.queries)
            total += queries
            without = np.flatnonzero(np.bincount(judgements(task).relevant.query, minlength=queries) == 0)
            finding = Finding.of(
                f"{self.name}/{label}",
                len(without),
                verdict="note",
                expected=expected,
                found=f"{len(without)} of {queries} judged queries have none, and score 0 in every mean",
                offenders=(f"query {task.qrels.queries[row]!r}" for row in without.tolist()),
                advice="report the mean over queries with a relevant passage as well",
            )
            notes += [finding] if finding.count else []
        if not total:
            yield Finding.skipped(self.name, "no query is judged", expected=expected)
        elif notes:
            yield from notes
        else:
            yield Finding(self.name, "ok", expected, f"all of {total} judged queries")
