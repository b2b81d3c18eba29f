"""Candidates among the passages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.audit import Finding, judgements, labelled_tasks
from assay.collection import Collection


@dataclass(frozen=True)
class CandidatesPresent:
    """Where passages are marked as candidates, there are some, and judgements are about them.

    Checks:
        A candidate mask marks at least one passage. Judged passages that are not candidates are counted.

    Why it matters:
        What is no candidate is never searched. A mask that marks nothing makes every list empty; a judged
        passage outside it tells of a mask and judgements that were made apart.

    Known limits:
        Relevant passages outside the mask are an error of `gold-eligible`; here all judgements are counted.

    Example:
        MS MARCO's `is_candidate` marks the passages that may be retrieved; the rest gives context.

    What to do:
        Mark judged passages as candidates, or drop their judgements.
    """

    name: ClassVar[str] = "candidates-present"

    def inspect(self, collection: Collection) -> Iterator[Finding]:
        """One finding on the mask, and one per task and split with judgements outside it."""
        mask = collection.passages.candidate
        expected = "candidates among the passages"
        if mask is None:
            yield Finding.skipped(self.name, "no passage is marked: all are candidates", expected=expected)
            return
        number = int(mask.sum())
        yield Finding.of(
            self.name,
            int(number == 0),
            verdict="error",
            expected=expected,
            found=f"{number} of {len(mask)} passages are candidates",
            advice="mark the passages that may be retrieved",
        )
        for label, task in labelled_tasks(collection):
            if task.passages.candidate is None:
                continue
            judged = judgements(task).present
            outside = np.flatnonzero(~task.passages.candidate[judged.passage])
            if len(outside):
                yield Finding.of(
                    f"{self.name}/{label}",
                    len(outside),
                    verdict="note",
                    expected="judged passages that are candidates",
                    found=f"{len(outside)} of {len(judged.query)} judgements are about passages that are no candidates",
                    offenders=(
                        f"query {task.qrels.queries[int(judged.query[i])]!r}: "
                        f"passage {task.passages.ids[int(judged.passage[i])]!r} (grade {int(judged.grade[i])})"
                        for i in outside.tolist()
                    ),
                    advice="mark them as candidates or drop their judgements",
                )
