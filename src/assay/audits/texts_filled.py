"""Texts that are not empty."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from assay.audit import Finding, judgements, labelled_tasks
from assay.collection import Collection
from assay.ids import Ids
from assay.texts import Texts


@dataclass(frozen=True)
class TextsFilled:
    """No passage and no query is empty or blank.

    Checks:
        In every view, each passage and each query has at least one character that is not a blank. Relevant
        passages without text are reported apart.

    Why it matters:
        No system can find an empty passage or answer an empty query; often a clean-up took the text away.

    Known limits:
        A text of punctuation alone, or of a single mask token, counts as filled.

    Example:
        `<p></p>` without its tags is empty. A clean-up that drops everything between `<` and `>` also eats
        the middle of "income < 100 and savings > 50 pounds".

    What to do:
        Look at the raw text: if it holds words, repair the clean-up; if not, leave the record out and count it.
    """

    name: ClassVar[str] = "texts-filled"

    def inspect(self, collection: Collection) -> Iterator[Finding]:
        """One finding per view of passages and of queries, and one on empty gold."""
        passages, queries = collection.passages, collection.queries
        for view, texts in sorted(passages.texts.items()):
            yield self._filled(f"passages/{view}", "passage", passages.ids, texts)
        for view, texts in sorted(queries.texts.items()):
            yield self._filled(f"queries/{view}", "query", queries.ids, texts)
        yield from self._gold(collection)

    def _filled(self, part: str, what: str, ids: Ids, texts: Texts) -> Finding:
        rows = _blank(texts)
        return Finding.of(
            f"{self.name}/{part}",
            len(rows),
            verdict="warning",
            expected="a text in every row",
            found=f"{len(rows)} of {len(texts)} are empty or blank",
            offenders=(f"{what} {ids[row]!r} (row {row + 1})" for row in rows.tolist()),
            advice="repair the clean-up that emptied them, or leave them out and count them",
        )

    def _gold(self, collection: Collection) -> Iterator[Finding]:
        for label, task in labelled_tasks(collection):
            empty = np.zeros(len(task.passages) + 1, np.bool_)
            if "plain" in task.passages.texts:
                empty[_blank(task.passages.texts["plain"])] = True
            gold = judgements(task).relevant.present
            hit = np.flatnonzero(empty[gold.passage])
            if len(hit):
                yield Finding.of(
                    f"{self.name}/{label}/gold",
                    len(hit),
                    verdict="error",
                    expected="relevant passages that have a text",
                    found=f"{len(hit)} relevant judgements point at a passage without text: unreachable",
                    offenders=(
                        f"query {task.qrels.queries[int(gold.query[i])]!r}: "
                        f"passage {task.passages.ids[int(gold.passage[i])]!r}"
                        for i in hit.tolist()
                    ),
                    advice="repair the passages' texts, or drop the judgements and say so",
                )


def _blank(texts: Texts) -> npt.NDArray[np.int64]:
    """Rows without anything but blanks; only short rows can be, and are looked at."""
    short = np.flatnonzero(texts.byte_lengths <= 256)
    rows: npt.NDArray[np.int64] = short[texts.take(short).with_folded_blanks().byte_lengths == 0]
    return rows
