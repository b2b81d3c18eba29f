"""Grades that mean something everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.audit import Finding, judgements, labelled_tasks
from assay.collection import Collection


@dataclass(frozen=True)
class GradesPlain:
    """No grade is negative; which grades there are.

    Checks:
        Per task and split, judgements with a grade below 0.

    Why it matters:
        Collections use negative grades for spam or for broken pages. trec_eval takes them as judged and not
        relevant; other tools take them as gains below zero.

    Known limits:
        Does not judge whether grades are used evenly.

    Example:
        `q1 0 page7 -2`: judged as junk.

    What to do:
        Nothing, if they mean "not relevant"; write 0 if you export to tools that subtract them.
    """

    name: ClassVar[str] = "grades-plain"

    def inspect(self, collection: Collection) -> Iterator[Finding]:
        """One finding if all is well, else one per task and split."""
        grades: set[int] = set()
        notes, total = [], 0
        for label, task in labelled_tasks(collection):
            judged = judgements(task)
            total += len(judged.grade)
            grades |= set(np.unique(judged.grade).tolist())
            negative = np.flatnonzero(judged.grade < 0)
            finding = Finding.of(
                f"{self.name}/{label}",
                len(negative),
                verdict="note",
                expected="grades of 0 and up",
                found=f"{len(negative)} of {len(judged.grade)} judgements have a negative grade: judged, not relevant",
                offenders=(
                    f"query {task.qrels.queries[int(judged.query[i])]!r}: grade {int(judged.grade[i])}"
                    for i in negative.tolist()
                ),
                advice="write 0 when you export to tools that subtract negative gains",
            )
            notes += [finding] if finding.count else []
        if not total:
            yield Finding.skipped(self.name, "there are no judgements", expected="grades of 0 and up")
        elif notes:
            yield from notes
        else:
            found = f"{total} judgements with the grades {', '.join(map(str, sorted(grades)))}"
            yield Finding(self.name, "ok", "grades of 0 and up", found)
