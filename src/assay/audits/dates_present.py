"""Dates where an as-of rule needs them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from assay.audit import Finding, labelled_tasks
from assay.collection import Collection
from assay.task import Task

Days = npt.NDArray[np.datetime64]


@dataclass(frozen=True)
class DatesPresent:
    """Passages and queries are dated where a task goes by dates, and their dates are plausible.

    Checks:
        Under an as-of rule every asked query has a date; passages without one are counted. Dates of
        passages and queries lie in the years from `earliest` to `latest`.

    Why it matters:
        An undated passage is never eligible under an as-of rule: it silently cannot be found. An undated
        query cannot be asked at all. A date like 0001-01-01 or 9999-12-31 stands for an unknown one and
        lets everything in, or nothing.

    Known limits:
        A wrong but plausible date cannot be seen. A text that was changed later must not carry the earlier
        date; that is not visible here.

    Example:
        A passage without a date in a task that searches answers published before the question.

    What to do:
        Fill the date in from the source, or count the record among those left out. Leave unknown dates empty.
    """

    name: ClassVar[str] = "dates-present"
    earliest: int = 1800
    latest: int = 2099

    def inspect(self, collection: Collection) -> Iterator[Finding]:
        """Findings on undated queries and passages per task, and on implausible years."""
        tasks, faults = 0, []
        for label, task in labelled_tasks(collection):
            if task.asked is not None:
                tasks += 1
                faults += [finding for finding in self._undated(label, task, task.asked) if finding.count]
        yield from faults
        if tasks and not faults:
            found = f"all asked queries and all passages, in {tasks} tasks and splits with an as-of rule"
            yield Finding(f"{self.name}/tasks", "ok", "dates where an as-of rule needs them", found)
        dated = tasks > 0
        passages, queries = collection.passages, collection.queries
        for part, dates, ids in (("passages", passages.dates, passages.ids), ("queries", queries.dates, queries.ids)):
            if dates is None:
                continue
            dated = True
            years = dates.astype("datetime64[Y]").astype(np.int64) + 1970
            odd = np.flatnonzero(~np.isnat(dates) & ((years < self.earliest) | (years > self.latest)))
            yield Finding.of(
                f"{self.name}/{part}",
                len(odd),
                verdict="warning",
                expected=f"dates from {self.earliest} to {self.latest}",
                found=f"{len(odd)} of {int((~np.isnat(dates)).sum())} dated {part} lie outside; "
                f"{int(np.isnat(dates).sum())} have no date",
                offenders=(f"{ids[row]!r}: {dates[row]}" for row in odd.tolist()),
                advice="leave unknown dates empty",
            )
        if not dated:
            yield Finding.skipped(self.name, "nothing is dated", expected="dates where an as-of rule needs them")

    def _undated(self, label: str, task: Task, asked: Days) -> Iterator[Finding]:
        queries = np.flatnonzero(np.isnat(asked[task.rows]))
        yield Finding.of(
            f"{self.name}/{label}/queries",
            len(queries),
            verdict="error",
            expected="a date for every asked query",
            found=f"{len(queries)} of {len(task.rows)} asked queries have none",
            offenders=(f"query {task.queries.ids[row]!r}" for row in queries.tolist()),
            advice="date them, or leave them out of the task and count them",
        )
        size, dates = len(task.passages), task.passages.dates
        passages = np.arange(size) if dates is None else np.flatnonzero(np.isnat(dates))
        yield Finding.of(
            f"{self.name}/{label}/passages",
            len(passages),
            verdict="error" if size and len(passages) == size else "note",
            expected="a date for every passage",
            found=f"{len(passages)} of {size} passages have none and are never eligible",
            offenders=(f"passage {task.passages.ids[row]!r}" for row in passages.tolist()),
            advice="date them from the source, or say how many are out of reach",
        )
