"""Proportions: shares of yes among answers of yes and no, with Wilson's interval; also over strata.

Wilson (1927), "Probable inference, the law of succession, and statistical inference". Over strata the ends come from
those of the strata, as in Zou, Huang and Zhang (2009), "A note on confidence interval estimation for a linear function
of binomial proportions" (Computational Statistics & Data Analysis 53).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from assay.errors import DataError, UsageError
from assay.evaluation.intervals import FEW_UNITS

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Proportion:
    """A share with its interval.

    Attributes:
        yes, n: Answers of yes, and of yes or no.
        value, low, high: The share and the ends of its interval; nan where n is 0.
        size: How many things it speaks of.
        unseen: How many of them lie in strata without an answer; `value` does not speak of these.
        note: What to know before quoting it; empty where there is nothing.
    """

    yes: int
    n: int
    value: float
    low: float
    high: float
    size: int
    unseen: int
    note: str


def wilson(yes: int, n: int, *, level: float = 0.95) -> tuple[float, float]:
    """The ends of Wilson's score interval for `yes` of `n`; nan where `n` is 0.

    Raises:
        DataError: `yes` does not lie from 0 to `n`.
        UsageError: The level does not lie between 0 and 1.

    Example:
        >>> [round(end, 4) for end in wilson(8, 10)]
        [0.4902, 0.9433]
    """
    if not 0 < level < 1:
        raise UsageError(f"level is {level}: must be between 0 and 1, such as 0.95")
    if not 0 <= yes <= n:
        raise DataError(f"{yes} of {n} is no share: yes must lie from 0 to n")
    if not n:
        return math.nan, math.nan
    z2 = NormalDist().inv_cdf((1 + level) / 2) ** 2
    centre = (yes + z2 / 2) / (n + z2)
    half = math.sqrt(z2 * (yes * (n - yes) / n + z2 / 4)) / (n + z2)
    # At 0 and 1 both parts are equal, which rounding must not hide.
    return (0.0 if yes == 0 else centre - half), (1.0 if yes == n else centre + half)


def stratified(
    yes: Sequence[int] | Integers, n: Sequence[int] | Integers, sizes: Sequence[int] | Integers, *, level: float = 0.95
) -> Proportion:
    """The share of yes over strata, each weighted by its size.

    With W the size of a stratum over the sum of sizes, p its share and [l, u] its Wilson interval, the value is the sum
    of W p, the lower end lies the square root of the sum of (W (p - l))^2 below it, the upper end the square root of
    the sum of (W (u - p))^2 above. With one stratum that is Wilson's interval. There is no correction for a finite
    population: the interval speaks of things made like these. A stratum without an answer takes no part, and its size
    is `unseen`.

    Args:
        yes: Answers of yes in each stratum.
        n: Answers of yes or no in each stratum.
        sizes: How many things each stratum has.
        level: Coverage aimed at.

    Raises:
        DataError: The three differ in length, or a stratum has more answers than things.

    Example:
        >>> found = stratified([9, 1], [10, 2], [900, 100])
        >>> round(found.value, 4), round(found.low, 3), round(found.high, 3)
        (0.86, 0.583, 0.944)
    """
    said, asked, size = (np.asarray(values, np.int64) for values in (yes, n, sizes))
    if not said.shape == asked.shape == size.shape or said.ndim != 1:
        raise DataError(f"yes, n and sizes have shapes {said.shape}, {asked.shape}, {size.shape}: one value a stratum")
    if (asked > size).any():
        raise DataError(f"stratum {int(np.argmax(asked > size))} has more answers than things; check the sizes")
    seen = asked > 0
    total, covered = int(size.sum()), int(size[seen].sum())
    count, positive = int(asked.sum()), int(said.sum())
    if not count:
        return Proportion(0, 0, math.nan, math.nan, math.nan, total, total, _note(0, total))
    weight = size[seen] / covered
    share = said[seen] / asked[seen]
    ends = np.asarray(
        [wilson(a, b, level=level) for a, b in zip(said[seen].tolist(), asked[seen].tolist(), strict=True)]
    )
    value = float(weight @ share)
    below, above = np.linalg.norm(weight * (share - ends[:, 0])), np.linalg.norm(weight * (ends[:, 1] - share))
    # Equal in exact arithmetic where there is one stratum.
    low, high = ends[0].tolist() if len(ends) == 1 else (value - float(below), value + float(above))
    return Proportion(positive, count, value, low, high, total, total - covered, _note(count, total - covered))


def _note(n: int, unseen: int) -> str:
    few = f"too few to conclude: {n} decided" if n < FEW_UNITS else ""
    return "; ".join(part for part in (few, f"{unseen} lie in strata without an answer" if unseen else "") if part)
