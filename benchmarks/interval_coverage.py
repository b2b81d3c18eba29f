"""How often the 95 % interval of `mean_interval` holds the true mean, by simulation.

    python benchmarks/interval_coverage.py [--sets 2000] [--resamples 2000] [--method bca] [--processes 2] [--json]

Every cell draws `--sets` data sets of n queries from a distribution whose mean is known, asks for the interval,
and counts how often it holds that mean. A cell of 2,000 sets has a standard error of 0.5 points. Values are

- reciprocal ranks: 0, 1/10, ..., 1/2, 1, most of the mass on 0 and 1;
- binary: 0 or 1;
- continuous: Beta with most of the mass near 0 and 1, like average precision.

`independent` queries are drawn one by one. `twins` come in clusters of one and two, in turn, with the same value
for both; the clusters are declared. `undeclared` are the same twins resampled as if they were independent, for
one mean.

(The file is not called `coverage.py`: numba imports a package of that name where it can.)

Ends with status 1 if a cell with n >= 300 of `independent` or `twins` lies outside 93 to 97 %.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from assay.evaluation.intervals import mean_interval
from assay.kernels import resampling

Floats = NDArray[np.float64]
SIZES = (10, 20, 30, 50, 100, 300, 1000)
MEANS = (0.1, 0.3, 0.5, 0.7, 0.9)
KINDS = ("reciprocal ranks", "binary", "continuous")
TIES = ("independent", "twins", "undeclared")
RECIPROCALS = np.array([0.0, *(1.0 / rank for rank in range(10, 0, -1))])


@dataclass(frozen=True)
class Cell:
    """One kind of data set."""

    kind: str
    ties: str
    mean: float
    n: int


@dataclass(frozen=True)
class Coverage:
    """What one cell gave: shares of the sets, and the mean width of the intervals."""

    cell: Cell
    covered: float
    below: float
    above: float
    width: float


def reciprocal_weights(mean: float) -> Floats:
    """Probabilities of `RECIPROCALS` with this mean: a typical shape, tilted exponentially."""
    shape = np.array([0.35, *(0.25 / 9 / rank * 4 for rank in range(10, 1, -1)), 0.4])

    def tilted(tilt: float) -> Floats:
        weights = shape * np.exp(tilt * RECIPROCALS)
        return np.asarray(weights / weights.sum())

    low, high = -50.0, 50.0
    for _ in range(200):
        middle = (low + high) / 2
        if tilted(middle) @ RECIPROCALS < mean:
            low = middle
        else:
            high = middle
    return tilted(low)


def draws(kind: str, mean: float, *, shape: tuple[int, int], random: np.random.Generator) -> Floats:
    if kind == "binary":
        return (random.random(shape) < mean).astype(np.float64)
    if kind == "continuous":
        return random.beta(1.5 * mean, 1.5 * (1.0 - mean), shape)
    return random.choice(RECIPROCALS, shape, p=reciprocal_weights(mean))


def coverage(cell: Cell, *, sets: int, resamples: int, method: str) -> Coverage:
    # The compiled form has the bits of the NumPy one, and thousands of small intervals are a large load.
    resampling.SMALL_DRAWS = 0
    key = [KINDS.index(cell.kind), cell.ties != "independent", round(1000 * cell.mean), cell.n]
    random = np.random.default_rng(key)
    sizes = np.tile([1, 2], cell.n)
    sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), cell.n)) + 1]
    clusters = np.repeat(np.arange(len(sizes)), sizes)[: cell.n]
    units = cell.n if cell.ties == "independent" else len(sizes)
    table = draws(cell.kind, cell.mean, shape=(sets, units), random=random)
    below = above = 0
    width = 0.0
    for row, values in enumerate(table):
        interval = mean_interval(
            values if cell.ties == "independent" else values[clusters],
            clusters=clusters if cell.ties == "twins" else None,
            method=method,
            resamples=resamples,
            seed=row,
        )
        # An end that equals the mean but for rounding holds it.
        below += interval.high < cell.mean - 1e-12
        above += interval.low > cell.mean + 1e-12
        width += interval.high - interval.low
    return Coverage(cell, 1.0 - (below + above) / sets, below / sets, above / sets, width / sets)


def outside(found: Coverage) -> bool:
    return found.cell.n >= 300 and found.cell.ties != "undeclared" and not 0.93 <= found.covered <= 0.97


def table(results: list[Coverage]) -> str:
    by_cell = {result.cell: result for result in results}
    lines = [
        "| values | queries | mean | " + " | ".join(f"n = {n}" for n in SIZES) + " |",
        "|---|---|--:|" + "--:|" * len(SIZES),
    ]
    for kind in KINDS:
        for ties in TIES:
            for mean in MEANS:
                if Cell(kind, ties, mean, SIZES[0]) not in by_cell:
                    continue
                found = [by_cell[Cell(kind, ties, mean, n)] for n in SIZES]
                cells = [f"**{100 * f.covered:.1f}**" if outside(f) else f"{100 * f.covered:.1f}" for f in found]
                lines.append(f"| {kind} | {ties} | {mean} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=2_000)
    parser.add_argument("--resamples", type=int, default=2_000)
    parser.add_argument("--method", choices=("bca", "percentile"), default="bca")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    wanted = parser.parse_args()
    rows = [(ties, mean) for ties in TIES for mean in MEANS if ties != "undeclared" or mean == 0.5]
    cells = [Cell(kind, ties, mean, n) for kind in KINDS for ties, mean in rows for n in reversed(SIZES)]
    one = partial(coverage, sets=wanted.sets, resamples=wanted.resamples, method=wanted.method)
    with ProcessPoolExecutor(wanted.processes) as pool:
        results = list(pool.map(one, cells))
    failed = [result for result in results if outside(result)]
    if wanted.json:
        print(json.dumps([asdict(result) for result in results], indent=1))
    else:
        error = 100 * math.sqrt(0.95 * 0.05 / wanted.sets)
        print(f"Coverage in % of the 95 % {wanted.method} interval; standard error of a cell {error:.1f}.\n")
        print(table(results))
        print(f"\n{len(failed)} cells with n >= 300 outside 93 to 97 %.")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
