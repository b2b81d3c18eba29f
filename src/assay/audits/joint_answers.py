"""Passages that are gold in several splits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.audit import Finding, judgements, split_pairs
from assay.collection import Collection
from assay.task import Task


@dataclass(frozen=True)
class JointAnswers:
    """How many relevant passages two splits of a task share.

    Checks:
        For each two splits of a task, the passages that are relevant to a query of both, and the queries of
        the later split that they answer.

    Why it matters:
        Passages are shared between splits by design. An answer that train already points at is easier to
        find for a system that was fitted there.

    Known limits:
        Counts passages by id; copies of a text are the business of `half-judged`.

    Example:
        One official answer replies to a question of December (train) and to one of January (dev).

    What to do:
        Nothing in general; report the score without these queries beside the score when you fit on train.
    """

    name: ClassVar[str] = "joint-answers"

    def inspect(self, collection: Collection) -> Iterator[Finding]:
        """One finding if no passage is shared, else one per task and pair of splits."""
        expected = "no passage relevant in two splits"
        pairs, notes = 0, []
        for name, splits in collection.tasks.items():
            for (one, first), (two, second) in split_pairs(splits):
                pairs += 1
                finding = self._shared(f"{self.name}/{name}/{one}-{two}", first, second)
                notes += [finding] if finding.count else []
        if not pairs:
            yield Finding.skipped(self.name, "no task has two splits", expected=expected)
        elif notes:
            yield from notes
        else:
            yield Finding(self.name, "ok", expected, f"none in {pairs} pairs of splits")

    def _shared(self, check: str, first: Task, second: Task) -> Finding:
        mine, gold = judgements(first).relevant.present, judgements(second).relevant.present
        known = first.passages is second.passages
        own = np.unique(gold.passage)
        translated = own if known else first.passages.ids.codes(second.passages.ids.take(own)).astype(np.int64)
        shared = own[np.isin(translated, mine.passage)]
        queries = len(np.unique(gold.query[np.isin(gold.passage, shared)]))
        return Finding.of(
            check,
            len(shared),
            verdict="note",
            expected="no passage relevant in two splits",
            found=f"{len(shared)} passages are relevant in {first.split} and in {second.split}; they answer {queries} "
            f"queries of {second.split}",
            offenders=(f"passage {second.passages.ids[row]!r}" for row in shared.tolist()),
            advice=f"after fitting on {first.split}, report {second.split} without these queries too",
        )
