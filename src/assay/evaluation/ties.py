"""Ties: what a measure is worth in the house's order of equal scores, and in all the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.judged import Judged, Values
from assay.measure import Measure, TieAware

SAMPLED_ORDERS = 1000
"""Random orders behind an expectation that no closed form gives."""


@dataclass(frozen=True, eq=False)
class TieValues:
    """One measure in the house's, the best, the worst and the average order of equal scores.

    Attributes:
        value, best, worst, expected: Per query, float64. `expected` is the mean over all orders.
        note: How the expectation was made where it is not exact, else empty.
    """

    value: Values
    best: Values
    worst: Values
    expected: Values
    note: str = ""


def tie_values(measure: Measure, judged: Judged, *, seed: int = 0, orders: int = SAMPLED_ORDERS) -> TieValues:
    """What `measure` is worth for every query under each order of passages with equal scores.

    The expectation is exact for a measure that knows it (`TieAware`) and for a weighted sum over hits
    (`additive`). For any other it is the mean over `orders` random orders, and the note says so; its best
    and worst values are those of the orders by grade, which need not be its extremes.

    Args:
        measure: Any measure.
        judged: A judged run.
        seed: Of the random orders, where they are needed.
        orders: How many of them.

    Example:
        Two passages of equal score, one of them relevant.

        >>> from assay.evaluation.judge import judge
        >>> from assay.measures import parse
        >>> from assay.qrels import Qrels
        >>> from assay.run import Run
        >>> judged = judge(Run.of([("q", "a", 1.0), ("q", "b", 1.0)]), Qrels.of([("q", "a", 1)]))
        >>> values = tie_values(parse("RR"), judged)
        >>> values.value.tolist(), values.best.tolist(), values.worst.tolist(), values.expected.tolist()
        ([0.5], [1.0], [0.5], [0.75])
    """
    value = measure.score(judged)
    tied = judged.tied
    if not tied.any():
        return TieValues(value, value, value, value)
    best, worst = measure.score(judged.best()), measure.score(judged.worst())
    note = ""
    if isinstance(measure, TieAware):
        expected = measure.expected(judged)
    elif measure.additive:
        expected = measure.score(judged.spread(measure.cutoff))
    else:
        random = np.random.default_rng(seed)
        expected = np.zeros(len(judged))
        for _ in range(orders):
            expected += measure.score(judged.shuffled(random)) / orders
        note = f"expectation over ties: mean of {orders:,} random orders, seed {seed}"
    # A list without a tie has one order; a sum in another sequence could still differ in its last bits.
    best, worst, expected = (np.where(tied, other, value) for other in (best, worst, expected))
    return TieValues(value, best, worst, expected, note)
