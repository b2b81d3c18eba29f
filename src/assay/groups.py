"""Groups: the rows that a lens shows in place of passages, and which passages each stands for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.kernels.fusing import spread_best
from assay.system import Links, Offsets, RankedRows, Rows


@dataclass(frozen=True, eq=False)
class Groups:
    """Row `r` stands for passages `member[starts[r]:starts[r + 1]]`; a passage may be in several rows, or in none."""

    starts: Offsets
    member: Rows

    @classmethod
    def of(cls, owner: Rows | Links, *, rows: int) -> Groups:
        """From the one row of every passage, or from the questions that passages link to.

        Example:
            >>> made = Groups.of(np.array([1, 0, 1], np.int32), rows=2)
            >>> made.starts.tolist(), made.member.tolist()
            ([0, 1, 3], [1, 0, 2])
        """
        if isinstance(owner, Links):
            target, passage = owner.target, np.repeat(np.arange(len(owner.offsets) - 1), np.diff(owner.offsets))
        else:
            target, passage = owner, np.arange(len(owner))
        starts = np.concatenate([[0], np.cumsum(np.bincount(target, minlength=rows))]).astype(np.int64)
        return cls(starts, passage[np.argsort(target, kind="stable")].astype(np.int32))

    def spread(self, found: RankedRows, *, members: int) -> RankedRows:
        """The lists with passages in place of rows, each with the best score of its rows."""
        rows = (found.offsets, found.row, found.score)
        made = spread_best(*rows, starts=self.starts, member=self.member, members=members)
        return RankedRows(*made, whole_ties=found.whole_ties)

    def enough(self, count: int) -> int:
        """How many rows are sure to stand for `count` passages, were all of them wanted; at most four times as many.

        However the rows are chosen, fewer passages could only be had from those that are in most rows. Where few
        passages are in very many rows a list of this length mostly does, and the rest is asked for.

        Example:
            >>> joint = Groups(np.array([0, 1, 2, 3, 4]), np.array([0, 0, 0, 1], np.int32))
            >>> joint.enough(2)
            4
        """
        most = np.sort(np.bincount(self.member))[::-1]
        return min(int(most[: count - 1].sum()) + 1 + max(0, count - 1 - len(most)), 4 * count)


def own_rows(questions: Offsets, *, shown: Offsets, asked: Offsets) -> tuple[Offsets, Rows]:
    """Which shown queries ask the same question as each asked one, as offsets and rows of `shown`.

    Args:
        questions: Per query the code of its question.
        shown: The queries shown.
        asked: The queries that ask.

    Example:
        >>> own_rows(np.array([0, 1, 1]), shown=np.array([1, 0]), asked=np.array([2, 1, 0]))
        (array([0, 1, 2, 3]), array([0, 0, 1], dtype=int32))
    """
    order = np.argsort(questions[shown], kind="stable")
    held, wanted = questions[shown][order], questions[asked]
    low, high = np.searchsorted(held, wanted, "left"), np.searchsorted(held, wanted, "right")
    offsets = np.concatenate([[0], np.cumsum(high - low)]).astype(np.int64)
    at = np.arange(offsets[-1]) + np.repeat(low - offsets[:-1], high - low)
    return offsets, order[at].astype(np.int32)
