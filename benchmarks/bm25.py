"""BM25 speed: texts to the 100 best passages of every query, with and without an as-of rule, next to bm25s and tantivy.

python benchmarks/bm25.py [--documents 76536] [--queries 10962] [--depth 100] [--repeat 3] [--json] [--no-peers]

All use two threads and variant lucene, k1 1.2, b 0.75, without stop words and stemmer. Results are compared before a
time is printed: postings and scores with bm25s (1e-4, the same passages but for ties), as-of lists with a
brute-force sum over a sample, and our own lists with those of another block size, another number of threads and
shuffled passages (bit by bit). Ours return every passage that ties with the last; the peers cut. Times are the best
of `repeat`; loading machine code (1 to 20 s the first time ever) is shown apart. tantivy searches a sample.

Unset OPENBLAS_CORETYPE where a machine sets it: `env -u OPENBLAS_CORETYPE python benchmarks/bm25.py`.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from assay.kernels import sparse
from assay.kernels.sparse import Postings, top_rows
from assay.retrieval.bm25 import BM25, BM25Index
from assay.system import PassageView, QueryView, SparseRows
from assay.texts import Texts
from load import Load, made

THREADS = 2
SAMPLE = 500
Found = tuple[Any, Any, Any]


@dataclass
class Best:
    """Named times, the best of some runs each."""

    repeat: int
    seconds: dict[str, float]

    def of(self, name: str, work: Callable[[], Any], repeat: int | None = None) -> Any:
        """What `work` returns, timed."""
        for _ in range(repeat or self.repeat):
            start = time.perf_counter()
            result = work()
            self.seconds[name] = min(time.perf_counter() - start, self.seconds.get(name, np.inf))
        return result


class Ours:
    """The load through the house's own parts."""

    def __init__(self, load: Load, depth: int) -> None:
        self.passages = PassageView(len(load.passages), {"text:plain": Texts.of(load.passages)})
        self.queries = QueryView(Texts.of(load.queries))
        self.order = np.argsort(load.passage_day, kind="stable").astype(np.int32)
        self.prefix = np.searchsorted(load.passage_day[self.order], load.query_day, "left").astype(np.int32)
        self.depth = depth

    def indexed(self) -> BM25Index:
        return BM25().index(self.passages)

    def inverted(self, rows: SparseRows, order: Any = None) -> Postings:
        own = self.order if order is None else order
        return Postings.of(rows.offsets, rows.term, rows.weight, terms=rows.terms, order=own)

    def searched(self, postings: Postings, queries: SparseRows, **how: Any) -> Found:
        return top_rows(
            postings, queries.offsets, queries.term, queries.weight,
            depth=self.depth, step=2.0**-14, **{"threads": THREADS, **how},
        )  # fmt: skip


def main() -> None:
    """Compares, times, prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--documents", type=int, default=76_536)
    parser.add_argument("--queries", type=int, default=10_962)
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--no-peers", action="store_true")
    given = parser.parse_args()
    # Made in a process of its own, whose memory is not counted.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        load = pool.submit(made, given.documents, given.queries).result()
    best = Best(given.repeat, {})
    ours = Ours(load, given.depth)
    before = peak()

    start = time.perf_counter()
    index = ours.indexed()
    encoded, postings = index.encode(ours.queries), ours.inverted(index.rows)
    ours.searched(postings, encoded)
    first, used = time.perf_counter() - start, peak()
    found = best.of("search", lambda: ours.searched(postings, encoded))
    dated = best.of("search as-of", lambda: ours.searched(postings, encoded, prefix=ours.prefix))
    del postings
    index, _ = best.of("tokenise and index", lambda: ((own := ours.indexed()), ours.inverted(own.rows)))
    postings = ours.inverted(index.rows)
    checks = own_checks(ours, load, index, postings, encoded, found, dated)
    peers: dict[str, dict[str, float]] = {}
    if not given.no_peers:
        checks |= against_bm25s(load, ours, index, found, peers, given)
        against_tantivy(load, peers, given)
    report(given, best.seconds, peers, checks, {"first run": first, "peak MB": used, "peak before MB": before})


def own_checks(
    ours: Ours, load: Load, index: BM25Index, postings: Postings, encoded: SparseRows, found: Found, dated: Found
) -> dict[str, Any]:
    """Bits that must not change, and as-of lists against sums by hand."""
    expected, expected_dated = ranked(found), ranked(dated)
    for how in ({"block": 7}, {"threads": 1}):
        same(expected, ranked(ours.searched(postings, encoded, **how)), f"lists with {how}")
    same(expected_dated, ranked(ours.searched(postings, encoded, prefix=ours.prefix, block=13)), "as-of, block of 13")
    shuffled = ours.inverted(index.rows, np.random.RandomState(5).permutation(len(load.passages)).astype(np.int32))
    same(expected, ranked(ours.searched(shuffled, encoded)), "lists of shuffled passages")
    rows, weight = index.rows, index.rows.weight.astype(np.float64)
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.offsets))
    sample = np.random.RandomState(6).choice(len(load.queries), min(20, len(load.queries)), replace=False)
    for query in sample.tolist():
        own = slice(encoded.offsets[query], encoded.offsets[query + 1])
        times = np.zeros(rows.terms)
        times[encoded.term[own]] = encoded.weight[own]
        score = np.bincount(owner, times[rows.term] * weight, minlength=len(rows))
        score[load.passage_day >= load.query_day[query]] = 0
        last = np.sort(score)[-ours.depth] if len(score) >= ours.depth else 0
        wanted = np.flatnonzero((score > 0) & (score >= last))
        cut = slice(dated[0][query], dated[0][query + 1])
        same((wanted, score[wanted]), by_row(dated[1][cut], dated[2][cut]), f"as-of list of query {query}")
    exact = sparse._Load.of(postings, encoded.offsets, encoded.term, encoded.weight, None, None).whole(2.0**-14)
    return {
        "same bits for block, threads, order": True,
        "as-of equals brute force (queries)": len(sample),
        "queries summed in float64": int((~exact).sum()),
        "passages a query": round(len(found[1]) / len(load.queries), 2),
    }


def against_bm25s(
    load: Load, ours: Ours, index: BM25Index, found: Found, peers: dict[str, dict[str, float]], given: Any
) -> dict[str, Any]:
    """bm25s with numba: times, and equal postings and scores."""
    import bm25s

    best = Best(given.repeat, peers.setdefault("bm25s", {}))

    def indexed() -> Any:
        tokens = bm25s.tokenize(load.passages, stopwords=[], show_progress=False)
        peer = bm25s.BM25(k1=1.2, b=0.75, backend="numba")
        peer.index(tokens, show_progress=False)
        return peer

    peer = best.of("tokenise and index", indexed, 1)
    asked = bm25s.tokenize(load.queries, stopwords=[], show_progress=False, return_ids=False)

    def searched() -> Any:
        return peer.retrieve(asked, k=given.depth, n_threads=THREADS, show_progress=False)

    searched()  # compiles
    rows, scores = best.of("search", searched)
    vocabulary = index.vocabulary.to_list()
    theirs = np.diff(peer.scores["indptr"])[[peer.vocab_dict[word] for word in vocabulary]]
    same((np.bincount(index.rows.term, minlength=len(vocabulary)),), (theirs,), "postings a word")
    differ = 0
    for query in range(len(load.queries)):
        own = slice(found[0][query], found[0][query + 1])
        row, score = found[1][own], found[2][own]
        order = np.argsort(-score, kind="stable")[: given.depth]
        if not np.allclose(score[order], scores[query][: len(order)], rtol=1e-4, atol=0):
            raise SystemExit(f"scores of query {query} differ from those of bm25s by more than 1e-4")
        # A passage that only one side has may stand no further from the cut than the tolerance.
        missing = np.setdiff1d(rows[query][scores[query] > scores[query][-1] * (1 + 2e-4)], row)
        differ += len(missing)
    if differ:
        raise SystemExit(f"{differ} passages of bm25s are not in our lists")
    return {"postings": len(index.rows.term), "scores equal those of bm25s within": 1e-4}


def against_tantivy(load: Load, peers: dict[str, dict[str, float]], given: Any) -> None:
    """tantivy, where it is installed: times alone (its length norms are rounded to one byte)."""
    try:
        import tantivy
    except ImportError:
        return
    best = Best(1, peers.setdefault("tantivy", {}))
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("body", stored=False, tokenizer_name="default")
    builder.add_integer_field("row", stored=True)
    schema = builder.build()

    def indexed() -> Any:
        index = tantivy.Index(schema)
        writer = index.writer(512 << 20, THREADS)
        for row, text in enumerate(load.passages):
            writer.add_document(tantivy.Document(body=text, row=row))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        return index

    index = best.of("tokenise and index", indexed)
    searcher, sample = index.searcher(), load.queries[:SAMPLE]
    queries = [index.parse_query(text, ["body"]) for text in sample]

    def searched() -> Any:
        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(lambda query: searcher.search(query, given.depth), queries))

    best.of("search", searched)
    peers["tantivy"]["search"] *= len(load.queries) / len(sample)


def ranked(found: Found) -> tuple[Any, ...]:
    """Lists by score and row."""
    offsets, row, score = found
    order = np.lexsort((row, -score, np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))))
    return offsets, row[order], score[order]


def by_row(row: Any, score: Any) -> tuple[Any, Any]:
    order = np.argsort(row)
    return row[order], score[order]


def same(expected: tuple[Any, ...], found: tuple[Any, ...], what: str) -> None:
    """Stops the benchmark where two results differ in a bit."""
    if not all(np.array_equal(a, b) for a, b in zip(expected, found, strict=True)):
        raise SystemExit(f"{what}: not the same; no time is worth printing")


def peak() -> int:
    """The most memory that this process has used, in MB."""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used >> (20 if sys.platform == "darwin" else 10)


def report(
    given: Any,
    seconds: dict[str, float],
    peers: dict[str, dict[str, float]],
    checks: dict[str, Any],
    more: dict[str, Any],
) -> None:
    """Times, ratios and what was compared, as a table or as JSON."""
    if given.json:
        ratios = {p: {w: round(t / seconds[w], 2) for w, t in own.items()} for p, own in peers.items()}
        print(json.dumps({"seconds": seconds, "peers": peers, "ratios": ratios, "checks": checks, **more}, indent=1))
        return
    print(f"{given.documents} passages, {given.queries} queries, depth {given.depth}, {THREADS} threads")
    for work, own in seconds.items():
        others = [f"{p} {t[work]:.2f} s = {t[work] / own:.1f} x" for p, t in peers.items() if work in t]
        print(f"{work:20s} {own:6.2f} s   {'   '.join(others)}")
    for name, value in {**checks, **more}.items():
        print(f"{name}: {value:.1f}" if isinstance(value, float) and value > 1 else f"{name}: {value}")


if __name__ == "__main__":
    main()
