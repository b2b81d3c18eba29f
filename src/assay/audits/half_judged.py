"""Copies of one text of which only some are judged relevant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from assay.audit import Finding, judgements, labelled_tasks
from assay.collection import Collection
from assay.evaluation.reach import judged_rows
from assay.task import Task

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class HalfJudged:
    """Passages with one text are judged alike for a query.

    Checks:
        Passages whose texts are equal after folding blanks form a group; unmasked texts (the view `raw`)
        are compared where there are some. For a query under which one of the group is relevant, all of the
        group should be; else the group is half judged.

    Why it matters:
        The right answer under the other id counts as a miss: the same text is right once and wrong once.

    Known limits:
        Equal texts only. Texts that their source cut short, holding replies and bare referrals are equal
        without being the same answer. Where an as-of rule or a candidate mask keeps a copy from the query,
        the copy is left out of the group.

    Example:
        `ans` "Fees are set yearly." is relevant and `twin` "Fees are  set yearly." is not judged: a system
        that returns `twin` first has RR@10 0.5 strictly, and 1.0 leniently.

    What to do:
        Judge the copies too, drop them from the collection, or report a lenient score beside the strict one.
    """

    name: ClassVar[str] = "half-judged"

    def inspect(self, collection: Collection) -> Iterator[Finding]:
        """One finding if all is well, else one per task and split."""
        expected = "equal texts judged alike"
        seen, faults = 0, []
        for label, task in labelled_tasks(collection):
            texts = task.passages.texts.get("raw", task.passages.texts.get("plain"))
            if texts is None:
                continue
            gold = judgements(task).relevant.present
            seen += len(gold.query)
            group = texts.same_text
            query, copies, missing = _half(task, gold.query, gold.passage, group)
            groups = len(np.unique(copies))
            finding = Finding.of(
                f"{self.name}/{label}",
                len(query),
                verdict="warning",
                expected=expected,
                found=f"{len(query)} times a text is relevant under one id and not under another "
                f"({groups} groups of equal texts, {len(np.unique(query))} queries)",
                offenders=_shown(task, query, group=group, missing=list(zip(copies.tolist(), missing, strict=True))),
                advice="judge the copies too, or report a lenient score in which equal texts count as one",
            )
            faults += [finding] if finding.count else []
        if not seen:
            yield Finding.skipped(self.name, "no task has a relevant judgement", expected=expected)
        elif faults:
            yield from faults
        else:
            yield Finding(self.name, "ok", expected, f"for all of {seen} relevant judgements")


def _half(task: Task, query: Rows, passage: Rows, group: Rows) -> tuple[Rows, Rows, list[list[int]]]:
    """Queries and groups of which not all eligible members are relevant, with those members."""
    size = np.bincount(group, minlength=len(group))
    width = max(1, len(group))
    relevant = np.unique(query * width + passage)
    asked, leader = np.divmod(np.unique((query * width + group[passage])[size[group[passage]] > 1]), width)
    order = np.argsort(group, kind="stable")
    count = size[leader]
    first = np.searchsorted(group[order], leader) - (np.cumsum(count) - count)
    pair = np.repeat(np.arange(len(leader)), count)
    member = order[np.arange(len(pair)) + first[pair]]
    missing = ~np.isin(asked[pair] * width + member, relevant)
    if task.asked is None or not np.isnat(task.asked[task.rows]).any():
        row = judged_rows(task)
        missing &= task.eligibility.allows(row[asked[pair]], member)
    pair, member = pair[missing], member[missing]
    half, start = np.unique(pair, return_index=True)
    members = [part.tolist() for part in np.split(member, start[1:])] if len(half) else []
    return asked[half], leader[half], members


def _shown(task: Task, query: Rows, *, group: Rows, missing: list[tuple[int, list[int]]]) -> Iterator[str]:
    ids, judged = task.passages.ids, judgements(task).relevant.present
    for q, (g, others) in zip(query.tolist(), missing, strict=True):
        mine = judged.passage[(judged.query == q) & (group[judged.passage] == g)].tolist()
        rest = ", ".join(repr(ids[p]) for p in others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
        yield f"query {task.qrels.queries[q]!r}: {', '.join(repr(ids[p]) for p in mine)} relevant, {rest} not"
