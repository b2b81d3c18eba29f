"""Queries that are passages themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from assay.audit import Finding, labelled_tasks
from assay.collection import Collection


@dataclass(frozen=True)
class SelfRetrieval:
    """No query can find itself among the passages.

    Checks:
        Per task and split, queries with the id of a passage while the task does not exclude a query's own
        passage; and queries whose text is, character by character, the text of a passage.

    Why it matters:
        Such a query finds itself first. Its scores fall, often by a third, or rise where the query's copy
        counts as right; tools differ in whether they drop it.

    Known limits:
        Equal texts only; a query that stands inside a longer passage is not found.

    Example:
        Query `d1` over passages that include `d1`: RR@10 is 0.5 with it and 1.0 without.

    What to do:
        Set `excluded` for the task, so that a query's own passage is kept from it before the cut.
    """

    name: ClassVar[str] = "self-retrieval"

    def inspect(self, collection: Collection) -> Iterator[Finding]:
        """One finding if all is well, else one per task, split and kind."""
        expected = "no query among the passages"
        total, notes = 0, []
        compared: dict[tuple[int, int], npt.NDArray[np.int64]] = {}
        for label, task in labelled_tasks(collection):
            ids = task.queries.ids
            total += len(ids)
            own = task.passages.ids.codes(ids)
            by_id = np.zeros(0, np.int64) if task.excluded else np.flatnonzero(own >= 0)
            asked, plain = task.pool.texts.get(task.query_view), task.passages.texts.get("plain")
            by_text = np.zeros(0, np.int64)
            if asked is not None and plain is not None:
                # Tasks share texts; each pair of texts is compared once.
                pair = (id(asked), id(plain))
                if pair not in compared:
                    compared[pair] = np.where(asked.byte_lengths > 0, asked.first_rows_in(plain), -1)
                same = compared[pair][task.rows]
                by_text = np.flatnonzero((same >= 0) & ((same != own) | (not task.excluded)))
            for part, rows, story in (
                ("id", by_id, "have the id of a passage that the task does not exclude"),
                ("text", by_text, "have the text of a passage"),
            ):
                finding = Finding.of(
                    f"{self.name}/{label}/{part}",
                    len(rows),
                    verdict="note",
                    expected=expected,
                    found=f"{len(rows)} of {len(ids)} queries {story}",
                    offenders=(f"query {ids[row]!r}" for row in rows.tolist()),
                    advice="exclude a query's own passage, or say that it stays in",
                )
                notes += [finding] if finding.count else []
        if not total:
            yield Finding.skipped(self.name, "no query is asked", expected=expected)
        elif notes:
            yield from notes
        else:
            yield Finding(self.name, "ok", expected, f"none of {total} asked queries")
