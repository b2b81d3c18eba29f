"""Questions of one split that another split asks in the same words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from assay.audit import Finding, split_pairs
from assay.collection import Collection
from assay.query import Queries
from assay.task import Task
from assay.texts import Texts

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class SplitsTwins:
    """No query of a later split repeats the words of a query of an earlier one.

    Checks:
        For each two splits of a task, the queries of the later one whose text, after folding case, blanks
        and punctuation, is the text of a query of the earlier one; and the pairs that the collection itself
        declares as tied (twin questions, joint answers) and that lie in two splits.

    Why it matters:
        A question that was seen with its answer in training is no test.

    Known limits:
        Other words for the same thing are not found. Masking can make two questions equal that named
        different things. Splits are compared in the order in which the task lists them.

    Example:
        Train has "What is the  fee?"; test has "what is the fee" and "Who pays?": one of two test queries,
        a share of 0.5.

    What to do:
        Leave twins out of the train split, keep both in one split, or report test scores without them too.
    """

    name: ClassVar[str] = "splits-twins"

    def inspect(self, collection: Collection) -> Iterator[Finding]:
        """One finding if all is well, else one per task and pair of splits and kind."""
        expected = "no query of a split in the words of another split's"
        pairs, faults = 0, []
        for name, splits in collection.tasks.items():
            for (one, first), (two, second) in split_pairs(splits):
                pairs += 1
                check = f"{self.name}/{name}/{one}-{two}"
                found = [self._worded(check, first, second), *self._declared(check, collection, first, second)]
                faults += [finding for finding in found if finding.count]
        if not pairs:
            yield Finding.skipped(self.name, "no task has two splits", expected=expected)
        elif faults:
            yield from faults
        else:
            yield Finding(self.name, "ok", expected, f"none in {pairs} pairs of splits")

    def _worded(self, check: str, first: Task, second: Task) -> Finding:
        earlier, later = _words(first, second)
        twin: dict[int, int] = dict(zip(earlier[::-1].tolist(), range(len(earlier) - 1, -1, -1), strict=True))
        own = first.queries.ids.codes(second.queries.ids) < 0
        rows = np.flatnonzero(np.isin(later, earlier) & own)
        return Finding.of(
            check,
            len(rows),
            verdict="warning",
            expected="no query of a split in the words of another split's",
            found=f"{len(rows)} of {len(later)} queries of {second.split} (share "
            f"{len(rows) / max(1, len(later)):.4f}) have the words of a query of {first.split}",
            offenders=(
                f"{second.queries.ids[row]!r} as {first.queries.ids[twin[int(later[row])]]!r}" for row in rows.tolist()
            ),
            advice=f"leave them out of {first.split}, or report {second.split} without them too",
        )

    def _declared(self, check: str, collection: Collection, first: Task, second: Task) -> Iterator[Finding]:
        ids = collection.queries.ids
        place = np.zeros(len(ids) + 1, np.int64)
        place[ids.codes(first.qrels.queries)] |= 1
        place[ids.codes(second.qrels.queries)] |= 2
        place[-1] = 0
        for kind, tied in sorted(collection.tied.items()):
            across = tied[(place[tied[:, 0]] | place[tied[:, 1]] == 3) & (place[tied[:, 0]] != 0)]
            across = np.unique(np.sort(across[place[across[:, 1]] != 0], axis=1), axis=0)
            yield Finding.of(
                f"{check}/{kind}",
                len(across),
                verdict="note",
                expected=f"no pair tied as {kind} in two splits",
                found=f"{len(across)} pairs tied as {kind} lie in {first.split} and {second.split}",
                offenders=(f"{ids[a]!r} and {ids[b]!r}" for a, b in across.tolist()),
                advice="resample tied queries together, and keep them in one split if you fit on the other",
            )


def _words(first: Task, second: Task) -> tuple[Rows, Rows]:
    """Codes of the words of both splits' queries: equal codes, equal words."""
    if first.pool is second.pool:
        words = _texts(first.pool, first.query_view).same_words
        return words[first.rows], words[second.rows]
    texts = [*_texts(first.queries, first.query_view), *_texts(second.queries, second.query_view)]
    words = Texts.of(texts).same_words
    return words[: len(first.rows)], words[len(first.rows) :]


def _texts(queries: Queries, view: str) -> Texts:
    return queries.texts[view if view in queries.texts else next(iter(queries.texts))]
