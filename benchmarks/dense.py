"""Dense search speed: the 100 best passages of every query by dot product, next to faiss flat, plain NumPy and PyTorch.

python benchmarks/dense.py [--documents 76536] [--queries 10962] [--dimensions 384 1024] [--repeat 3] [--no-peers]
    [--floats]

All use two threads and random unit vectors. Results are compared before a time is printed: ours with the definition
(float64, bit by bit, a sample of queries, as-of too), with another block size, one thread, shuffled passages and the
search by float32 products (bit by bit), and with each peer (scores within 1e-4; a passage that only one side has lies
within that of the cut). Ours return every passage that ties with the last and scores in float64; the peers cut and
return float32. Passages lie on disk as a memory map while ours are timed. `--floats` times the search by float32
products too, which is taken where a processor has no instruction for products of bytes. Its share of the machine's peak
is that of the product as it makes it (tiles of 512 queries and 4,096 passages on two threads) in that of large square
float32 products on two threads; the operations of the whole search, candidates and their scores included, are set
against the same peak.

Unset OPENBLAS_CORETYPE where a machine sets it: `env -u OPENBLAS_CORETYPE python benchmarks/dense.py`.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from assay.kernels.blas import one_blas_thread
from assay.kernels.dense import DenseLoad, top_rows, top_rows_by_floats, top_rows_numpy
from assay.kernels.dense_bytes import pays
from assay.kernels.visible import Visible
from timing import seconds

THREADS = 2
SAMPLE = 12


def main() -> None:
    """Compares, times, prints; each number of dimensions in a process of its own, so that its memory is seen."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--documents", type=int, default=76_536)
    parser.add_argument("--queries", type=int, default=10_962)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[384, 1024])
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--floats", action="store_true")
    given = parser.parse_args()
    found = {}
    for dimensions in given.dimensions:
        with tempfile.TemporaryDirectory() as folder:
            for work in (ours, *([] if given.no_peers else [peers])):
                with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                    found.setdefault(dimensions, {}).update(pool.submit(work, given, dimensions, folder).result())
        show(given, dimensions, found[dimensions])
    if given.json:
        print(json.dumps(found, indent=1))


def vectors(given: Any, dimensions: int) -> tuple[Any, Any, Any]:
    """Passages, queries, and how many of the passages each query may see under an as-of rule."""
    random = np.random.default_rng(1)
    made = []
    for count in (given.documents, given.queries):
        rows = random.standard_normal((count, dimensions), dtype=np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        made.append(rows)
    prefix = random.integers(0, given.documents + 1, given.queries).astype(np.int32)
    return made[0], made[1], prefix


def ours(given: Any, dimensions: int, folder: str) -> dict[str, Any]:
    """Times of ours over a memory map, after the checks of its bits; what was found is stored for the peers."""
    rows, queries, prefix = vectors(given, dimensions)
    order = np.random.default_rng(2).permutation(given.documents).astype(np.int32)
    sample = np.random.default_rng(3).permutation(given.queries)[:SAMPLE]
    defined = {
        name: top_rows_numpy(
            DenseLoad(rows, queries[sample], Visible.of(order, seen, None, queries=len(sample)), order),
            depth=given.depth,
        )
        for name, seen in (("all", None), ("as-of", prefix[sample]))
    }
    np.save(f"{folder}/rows.npy", rows)
    product = rate_of_tiles(rows, queries)
    del rows
    before = peak()
    mapped = np.load(f"{folder}/rows.npy", mmap_mode="r")

    def searched(**how: Any) -> Any:
        return top_rows(mapped, queries, depth=given.depth, order=order, **{"threads": THREADS, **how})

    load = DenseLoad(mapped, queries, Visible.of(order, None, None, queries=len(queries)), order)

    def by_floats() -> Any:
        return top_rows_by_floats(load, depth=given.depth, block=512, threads=THREADS)

    found, dated = searched(), searched(prefix=prefix)
    for name, lists in (("all", found), ("as-of", dated)):
        for at, query in enumerate(sample.tolist()):
            if as_dict(lists, query) != as_dict(defined[name], at):
                raise SystemExit(f"{name}: query {query} differs from the definition; no time is worth printing")
    for how in ({"block": 100}, {"threads": 1}, {"order": np.arange(given.documents, dtype=np.int32)}):
        other = top_rows(mapped, queries, **{"depth": given.depth, "order": order, "threads": THREADS, **how})
        for one, two in zip(ranked(found), ranked(other), strict=True):
            if not np.array_equal(one, two):
                raise SystemExit(f"lists differ with {how}; no time is worth printing")
    most = peak()
    if not all(np.array_equal(one, two) for one, two in zip(found, by_floats(), strict=True)):
        raise SystemExit("lists differ from those by float32 products; no time is worth printing")
    np.savez(f"{folder}/found.npz", *found)
    times = {
        "search": seconds(searched, given.repeat),
        "search as-of": seconds(lambda: searched(prefix=prefix), given.repeat),
    }
    if given.floats:
        times["by float32"] = seconds(by_floats, given.repeat)
    product["search G/s"] = 2e-9 * given.documents * given.queries * dimensions / times["search"]
    by_bytes = pays(load, depth=given.depth)
    return {"ours": times, "bytes": by_bytes, "product": product, "peak MB": most, "peak MB before": before}


def rate_of_tiles(rows: Any, queries: Any) -> dict[str, float]:
    """Billions of operations a second: the kernel's products, and large square ones; each on two threads."""
    tile, block, side = rows[:4096], queries[:512], 3072
    # Two of them: a product with itself would be taken for a symmetric one, which is half the work.
    square, other = np.random.default_rng(4).standard_normal((2, side, side), dtype=np.float32)

    def turns(left: Any, right: Any, count: int) -> float:
        out = [np.empty((len(left), len(right)), np.float32) for _ in range(THREADS)]

        def multiplied(thread: int) -> None:
            for _ in range(count):
                np.matmul(left, right.T, out=out[thread])

        def both() -> None:
            with ThreadPoolExecutor(THREADS) as pool:
                list(pool.map(multiplied, range(THREADS)))

        with one_blas_thread():
            both()
            return 2e-9 * len(left) * len(right) * left.shape[1] * count * THREADS / seconds(both, 3)

    tiles, peak_rate = turns(block, tile, 30), turns(square, other, 2)
    return {"tiles GFLOP/s": tiles, "peak GFLOP/s": peak_rate, "share": tiles / peak_rate}


def peers(given: Any, dimensions: int, folder: str) -> dict[str, Any]:
    """Times of the peers, each compared with ours first."""
    rows, queries, _ = vectors(given, dimensions)
    held = np.load(f"{folder}/found.npz")
    found = tuple(held[name] for name in held.files)
    times: dict[str, float] = {}
    for name, work in (("numpy", plain_numpy), ("faiss flat", faiss_flat), ("torch", plain_torch)):
        search = work(rows, queries, given.depth)
        if search is None:
            continue
        row, score = search()
        refuse_other(name, found, row, score)
        times[name] = seconds(search, given.repeat)
    return {"peers": times}


def plain_numpy(rows: Any, queries: Any, depth: int) -> Any:
    """Products of 512 queries at once with everything, then a partition; BLAS with two threads."""
    from threadpoolctl import threadpool_limits

    def search() -> Any:
        found = []
        with threadpool_limits(THREADS, user_api="blas"):
            for low in range(0, len(queries), 512):
                product = queries[low : low + 512] @ rows.T
                best = np.argpartition(product, -depth, axis=1)[:, -depth:]
                found.append((best, np.take_along_axis(product, best, 1)))
        return tuple(np.concatenate(part) for part in zip(*found, strict=True))

    return search


def faiss_flat(rows: Any, queries: Any, depth: int) -> Any:
    """faiss' exact index, where it is installed."""
    try:
        import faiss
    except ImportError:
        return None
    faiss.omp_set_num_threads(THREADS)
    index = faiss.IndexFlatIP(rows.shape[1])
    index.add(rows)

    def search() -> Any:
        score, row = index.search(queries, depth)
        return row, score

    return search


def plain_torch(rows: Any, queries: Any, depth: int) -> Any:
    """PyTorch's product and top k of 512 queries at once, where it is installed."""
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(THREADS)
    left, right = torch.from_numpy(queries), torch.from_numpy(rows)

    def search() -> Any:
        found = []
        for low in range(0, len(queries), 512):
            best = torch.topk(left[low : low + 512] @ right.T, depth, dim=1)
            found.append((best.indices.numpy(), best.values.numpy()))
        return tuple(np.concatenate(part) for part in zip(*found, strict=True))

    return search


def refuse_other(name: str, found: Any, row: Any, score: Any) -> None:
    """Stops the benchmark where a peer's lists differ by more than rounding."""
    offsets, own_row, own_score = found
    for query in range(len(offsets) - 1):
        own = slice(offsets[query], offsets[query + 1])
        best = np.sort(own_score[own])[::-1][: row.shape[1]]
        if not np.allclose(np.sort(score[query])[::-1], best, rtol=1e-4, atol=1e-5):
            raise SystemExit(f"{name}: scores of query {query} differ; no time is worth printing")
        only = np.setdiff1d(row[query], own_row[own])
        if len(only) and (score[query][np.isin(row[query], only)] > best[-1] + 1e-5).any():
            raise SystemExit(f"{name}: passages of query {query} differ; no time is worth printing")


def ranked(found: Any) -> Any:
    """Lists by score and row."""
    offsets, row, score = found
    order = np.lexsort((row, -score, np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))))
    return offsets, row[order], score[order]


def as_dict(found: Any, query: int) -> dict[int, float]:
    """One list as row to score."""
    own = slice(found[0][query], found[0][query + 1])
    return dict(zip(found[1][own].tolist(), found[2][own].tolist(), strict=True))


def peak() -> int:
    """The most memory that this process has used, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> (20 if sys.platform == "darwin" else 10)


def show(given: Any, dimensions: int, found: dict[str, Any]) -> None:
    """A table of times and ratios."""
    if given.json:
        return
    times = found["ours"]
    print(f"{given.documents} passages, {given.queries} queries, {dimensions} dimensions, depth {given.depth}")
    for name, own in times.items():
        print(f"  {name:14s} {own:6.2f} s")
    for name, other in found.get("peers", {}).items():
        print(f"  {name:14s} {other:6.2f} s = {other / times['search']:.2f} x ours")
    rates, way = found["product"], "products of bytes" if found["bytes"] else "float32 products"
    print(
        f"  search by {way}: {rates['search G/s']:.0f} billion operations/s ="
        f" {rates['search G/s'] / rates['peak GFLOP/s']:.2f} x the float32 peak\n"
        f"  float32 product {rates['tiles GFLOP/s']:.0f} GFLOP/s of {rates['peak GFLOP/s']:.0f} = {rates['share']:.0%};"
        f" peak memory {found['peak MB']} MB ({found['peak MB before']} before the search)"
    )


if __name__ == "__main__":
    main()
