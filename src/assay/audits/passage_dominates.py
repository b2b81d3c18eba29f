"""One passage that answers many queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.audit import Finding, judgements, own_splits
from assay.collection import Collection


@dataclass(frozen=True)
class PassageDominates:
    """No single passage answers a large part of a task's queries.

    Checks:
        For each task, over all its splits, the passage that is relevant to the most queries. It dominates
        where it answers at least `at_least` queries and more than the share `share` of them.

    Why it matters:
        A system that always returns this one passage, whatever is asked, gets that share for free: a mean
        over such a task says little about retrieval.

    Known limits:
        Looks at one passage at a time; ten passages that share a task among them are not reported.

    Example:
        In the task `cite` of a month of UK written questions one answer is gold in 44 of 59 pairs: returning
        it always beats BM25.

    What to do:
        Show the scores of `popularity` beside yours, resample by shared gold, or report a mean per passage.
    """

    name: ClassVar[str] = "passage-dominates"
    share: float = 0.1
    at_least: int = 5

    def inspect(self, collection: Collection) -> Iterator[Finding]:
        """One finding per task that has gold."""
        seen = False
        for name, splits in collection.tasks.items():
            counts: dict[str, int] = {}
            pairs, queries = 0, 0
            for task in own_splits(splits).values():
                gold = judgements(task).relevant.present
                pairs, queries = pairs + len(gold.query), queries + len(np.unique(gold.query))
                many = np.bincount(gold.passage, minlength=1)
                for row in np.argsort(-many, kind="stable")[:100].tolist():
                    if many[row]:
                        passage = task.passages.ids[row]
                        counts[passage] = counts.get(passage, 0) + int(many[row])
            if pairs:
                seen = True
                yield self._largest(name, counts, pairs=pairs, queries=queries)
        if not seen:
            expected = "no passage that answers a large part of the queries"
            yield Finding.skipped(self.name, "no task has gold that exists", expected=expected)

    def _largest(self, task: str, counts: dict[str, int], *, pairs: int, queries: int) -> Finding:
        largest = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        dominant = [(p, n) for p, n in largest if n >= self.at_least and n > self.share * queries]
        passage, most = largest[0]
        return Finding.of(
            f"{self.name}/{task}",
            len(dominant),
            verdict="warning",
            expected=f"no passage relevant to {self.at_least} queries and more than {self.share:.0%} of them",
            found=f"the most frequent, {passage!r}, is gold in {most} of {pairs} pairs ({most / queries:.1%} of "
            f"{queries} queries)",
            offenders=(f"passage {p!r}: {n} of {queries} queries" for p, n in dominant),
            advice="a system that always returns it scores as much: show that floor beside the scores",
        )
