"""Binary preference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.judged import Judged, Ranks, Values
from assay.measure import check_parameters, written


@dataclass(frozen=True)
class Bpref:
    """How rarely passages judged not relevant stand above relevant ones; unjudged ones play no part.

    Of `R` relevant and `N` passages judged not relevant, each relevant passage found is worth
    1 - min(x, R) / min(N, R), where `x` of the latter stand above it; the sum is divided by `R`.
    trec_eval's `bpref` (m_bpref.c; Buckley and Voorhees, SIGIR 2004), but for negative grades:
    trec_eval takes a passage with one as not judged, here it is judged not relevant.

    Attributes:
        rel: The lowest grade that is relevant.

    Example:
        Two relevant, three judged not relevant. The first relevant passage has none of these above
        it, the second one: (1 + 1 - 1/2) / 2.

        >>> Bpref().score(Judged.of([[1, None, 0, 1]], ideal=[[1, 1, 0, 0, 0]])).tolist()
        [0.75]
    """

    name: ClassVar[str] = "bpref"
    aliases: ClassVar[tuple[str, ...]] = ("Bpref", "BPref")
    additive: ClassVar[bool] = False
    bounded: ClassVar[bool] = False

    rel: int = 1

    def __post_init__(self) -> None:
        check_parameters(self)

    def __str__(self) -> str:
        return written(self)

    @property
    def cutoff(self) -> None:
        """None: the whole list counts."""
        return

    @property
    def min_grade(self) -> int:
        """The lowest grade that is relevant."""
        return self.rel

    def score(self, judged: Judged) -> Values:
        """One value per query, float64."""
        relevant, worst = self._bounds(judged)
        query, found = judged.hits.query, judged.hits.grade >= self.rel
        above = np.minimum(judged.running(~found), relevant[query])
        kept = 1.0 - above / worst[query]
        return judged.sum(kept * found) / np.maximum(relevant, 1)

    def expected(self, judged: Judged) -> Values:
        """The mean over all orders of tied passages, per query, float64.

        A relevant passage takes each place among the `s` of its tie that are judged not relevant with
        chance 1 / (s + 1). Where the list ends within a tie, ranks are followed one by one.
        """
        relevant, worst = self._bounds(judged)
        groups = judged.groups
        wanted = groups.grade >= self.rel
        found, against = groups.count(wanted), groups.count(~wanted)
        before = groups.before(against)
        limit = relevant[groups.query]
        # Of x = before + 0 .. against, the first `under` are below the limit, the others count as the limit.
        under = np.clip(limit - before, 0, against + 1)
        total = under * before + under * (under - 1) // 2 + (against + 1 - under) * limit
        kept = found * (1.0 - total / ((against + 1) * worst[groups.query]))
        seen = groups.seen(None)
        part = np.flatnonzero((seen < groups.size) & (found > 0))
        chance = found[part] / groups.size[part]
        kept[part] = chance * _kept_in_part(
            before[part], against[part], groups.size[part], seen[part], limit[part], worst[groups.query[part]]
        )
        value = np.bincount(groups.query, weights=kept, minlength=len(judged))
        return value / np.maximum(relevant, 1)

    def _bounds(self, judged: Judged) -> tuple[Ranks, Ranks]:
        """Per query the number of relevant passages, and the divisor of a preference, never 0."""
        relevant = judged.relevant(self.rel)
        return relevant, np.maximum(np.minimum(judged.judged - relevant, relevant), 1)


def _kept_in_part(before: Ranks, against: Ranks, size: Ranks, seen: Ranks, limit: Ranks, worst: Ranks) -> Values:
    """Per tie the sum over its seen ranks of what a relevant passage there is worth on average.

    `chance[:, x]` is the chance that `x` of the `against` others stand above the rank: drawing
    without replacement from the `size - 1` passages beside the relevant one.
    """
    others = np.arange(int(against.max(initial=0)) + 1)
    worth = 1.0 - np.minimum(before[:, None] + others, limit[:, None]) / worst[:, None]
    chance = np.zeros(worth.shape)
    chance[:, 0] = 1.0
    value = np.zeros(len(before))
    for place in range(int(seen.max(initial=0))):
        value += np.where(place < seen, (chance * worth).sum(axis=1), 0.0)
        remaining = np.maximum(against[:, None] - others, 0) / np.maximum(size - 1 - place, 1)[:, None]
        drawn = chance * remaining
        chance = chance - drawn
        chance[:, 1:] += drawn[:, :-1]
    return value
