"""Splits that share no query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.audit import Finding, split_pairs
from assay.collection import Collection


@dataclass(frozen=True)
class SplitsDisjoint:
    """No query is judged in two splits of a task.

    Checks:
        The judged query ids of each two splits of a task have none in common.

    Why it matters:
        What is fitted on the train split has seen the answers to a shared query of the test split.

    Known limits:
        Ids only: one question under two ids is the business of `splits-twins`. Passages are shared by
        design.

    Example:
        Query `q7` is judged in `train` and in `test`.

    What to do:
        Leave the query in one split alone; where splits are made by date, make the boundary a day that
        belongs to one side.
    """

    name: ClassVar[str] = "splits-disjoint"

    def inspect(self, collection: Collection) -> Iterator[Finding]:
        """One finding if all is well, else one per task and pair of splits."""
        expected = "no query in two splits of a task"
        pairs, faults = 0, []
        for name, splits in collection.tasks.items():
            for (one, first), (two, second) in split_pairs(splits):
                pairs += 1
                shared = np.flatnonzero(first.qrels.queries.codes(second.qrels.queries) >= 0)
                if len(shared):
                    queries = second.qrels.queries
                    faults.append(
                        Finding.of(
                            f"{self.name}/{name}/{one}-{two}",
                            len(shared),
                            verdict="error",
                            expected=expected,
                            found=f"{len(shared)} of {len(queries)} queries of {two} are in {one} too",
                            offenders=(f"query {queries[i]!r}" for i in shared.tolist()),
                            advice="keep each of them in one split alone",
                        )
                    )
        if not pairs:
            yield Finding.skipped(self.name, "no task has two splits", expected=expected)
        elif faults:
            yield from faults
        else:
            yield Finding(self.name, "ok", expected, f"none in {pairs} pairs of splits")
