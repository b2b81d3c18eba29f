"""Intervals and paired tests against scipy, side by side in one run.

    python benchmarks/resampling.py [--json] [--queries 10962] [--resamples 10000] [--repeat 5]

Results are compared first: nothing is timed before both sides agree within Monte-Carlo error. Times are the
best of `--repeat`; a ratio is scipy's time over ours. Compiling, and loading compiled code, is timed apart.

(The file is not called `statistics.py`: it would hide the standard library's module of that name.)
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy import stats

from assay.evaluation.intervals import mean_interval
from assay.evaluation.significance import paired_test

Floats = NDArray[np.float64]
BATCH = 100


@dataclass(frozen=True)
class Row:
    """One comparison: times in seconds, what both sides found, and the ratio aimed at."""

    work: str
    ours: float
    scipy: float
    ratio: float
    goal: float
    first_call: float
    found_ours: list[float]
    found_scipy: list[float]


def reciprocal_ranks(n: int, random: np.random.Generator) -> Floats:
    ranks = random.geometric(0.35, n)
    return np.where((ranks <= 10) & (random.random(n) < 0.85), 1.0 / ranks, 0.0)


def average_precisions(n: int, random: np.random.Generator) -> Floats:
    return random.beta(0.5, 0.9, n)


def scipy_interval(values: Floats, *, method: str, resamples: int) -> list[float]:
    found = stats.bootstrap(
        (values,), np.mean, n_resamples=resamples, batch=BATCH, method=method, rng=np.random.default_rng(1)
    ).confidence_interval
    return [float(found.low), float(found.high)]


def scipy_p(first: Floats, second: Floats, *, resamples: int) -> list[float]:
    found = stats.permutation_test(
        (first, second),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        batch=BATCH,
        rng=np.random.default_rng(1),
    )
    return [float(found.pvalue)]


def our_interval(values: Floats, *, method: str, resamples: int) -> list[float]:
    interval = mean_interval(values, method=method, resamples=resamples)
    return [interval.low, interval.high]


def our_p(first: Floats, second: Floats, *, resamples: int) -> list[float]:
    return [paired_test(first, second, resamples=resamples).p]


def seconds(call: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def compared(
    work: str,
    ours: Callable[[], list[float]],
    theirs: Callable[[], list[float]],
    *,
    margin: float,
    goal: float,
    repeat: int,
) -> Row:
    begun = time.perf_counter()
    found_ours = ours()
    first_call = time.perf_counter() - begun
    found_scipy = theirs()
    worst = max(abs(one - other) for one, other in zip(found_ours, found_scipy, strict=True))
    if not worst <= margin:
        sys.exit(f"{work}: {found_ours} against scipy's {found_scipy}, apart by {worst:.3g} > {margin:.3g}")
    times_ours, times_scipy = [], []
    for _ in range(repeat):
        times_ours.append(seconds(ours))
        times_scipy.append(seconds(theirs))
    best, best_scipy = min(times_ours), min(times_scipy)
    return Row(work, best, best_scipy, best_scipy / best, goal, first_call, found_ours, found_scipy)


def rows(n: int, *, resamples: int, repeat: int) -> list[Row]:
    random = np.random.default_rng(0)
    few, many = reciprocal_ranks(n, random), average_precisions(n, random)
    small = average_precisions(300, random)
    few_other = np.where(random.random(n) < 0.05, reciprocal_ranks(n, random), few)
    # Differences without effect, so that p is far from its floor and the comparison means something.
    many_other = np.clip(many + 0.05 * random.standard_normal(n), 0.0, 1.0)
    many_other += (many - many_other).mean() * 0.7
    found = []
    for name, values, goal in (
        (f"RR@10-like values, {n:,} queries", few, 10.0),
        (f"AP-like values, {n:,} queries", many, 5.0),
        ("AP-like values, 300 queries", small, 1.0),
    ):
        # An end of either side moves by about 0.03 (percentile) to 0.05 (BCa) standard errors with its seed.
        margin = 0.3 * float(values.std()) / math.sqrt(len(values))
        for ours, theirs in (("percentile", "percentile"), ("bca", "BCa")):
            found.append(
                compared(
                    f"{theirs} interval, {name}",
                    partial(our_interval, values, method=ours, resamples=resamples),
                    partial(scipy_interval, values, method=theirs, resamples=resamples),
                    margin=margin,
                    goal=goal,
                    repeat=repeat,
                )
            )
    for name, first, second in (("RR@10-like", few, few_other), ("AP-like", many, many_other)):
        found.append(
            compared(
                f"paired test with interval, {name} values, {n:,} queries",
                partial(our_p, first, second, resamples=resamples),
                partial(scipy_p, first, second, resamples=resamples),
                margin=5 * math.sqrt(2 * 0.25 / resamples),
                goal=10.0,
                repeat=max(1, min(repeat, 2)),
            )
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=10_962)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    wanted = parser.parse_args()
    found = rows(wanted.queries, resamples=wanted.resamples, repeat=wanted.repeat)
    if wanted.json:
        setting = {
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "cores": os.cpu_count(),
            "resamples": wanted.resamples,
        }
        print(json.dumps({"setting": setting, "rows": [asdict(row) for row in found]}, indent=1))
        return
    print("| work | Assay, ms | scipy, ms | scipy / Assay | goal | first call, ms |")
    print("|---|--:|--:|--:|--:|--:|")
    for row in found:
        print(
            f"| {row.work} | {1e3 * row.ours:.1f} | {1e3 * row.scipy:.0f} | {row.ratio:.1f} | "
            f"{row.goal:.0f} | {1e3 * row.first_call:.0f} |"
        )


if __name__ == "__main__":
    main()
