"""Gold projection of 12 million passages and 30,000 fragments, beside an interval join in DuckDB and in polars.

python benchmarks/gold.py [--passages 12000000] [--fragments 30000] [--repeat 3] [--json] [--no-peers]

Passages are made with NumPy: documents of 4 to 20 passages, most of them side by side, one in ten overlapping the one
before it, one in twenty holding it whole. Fragments of 1 to 800 characters lie in documents drawn with replacement,
three to a query. Each size (1x, 10x, 100x) runs in a process of its own, so that its peak memory is its own.

Every side makes the judgements: each query with each passage that shares a character with its gold, and the highest
score. Ours starts from documents named as text and returns qrels with counts for every fragment; the peers get
integer codes, in tables that they hold already. Before a time is printed, all judgements are compared. Times are the
best of `repeat`.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.building.gold import Projection, project
from assay.fragment import Fragments
from assay.ids import Ids
from assay.passage import Passages
from assay.span import Spans
from assay.texts import Texts

Column = npt.NDArray[np.int64]


def named(letter: str, numbers: Column) -> Ids:
    """Ids of a letter and eight digits, made without a Python string."""
    table = np.full((len(numbers), 9), ord(letter), np.uint8)
    for place in range(8):
        table[:, 8 - place] = numbers // 10**place % 10 + ord("0")
    return Ids(Texts(table.reshape(-1), np.arange(len(numbers) + 1, dtype=np.int64) * 9))


def passages_of(count: int, *, seed: int = 0) -> Passages:
    rng = np.random.default_rng(seed)
    size = rng.integers(4, 21, count // 12 + 1)
    document = np.repeat(np.arange(len(size)), size)[:count]
    count = len(document)
    first = np.searchsorted(document, document)
    end = np.cumsum(rng.integers(100, 900, count))
    start = np.concatenate([[0], end[:-1]])
    base = start[first]
    kind, second = rng.integers(0, 20, count), np.arange(count) > first
    start = np.where(second & (kind < 2), start - 50, start)
    start = np.where(second & (kind == 2), np.concatenate([[0], start[:-1]]), start)
    texts = Texts(np.zeros(0, np.uint8), np.zeros(count + 1, np.int64))
    spans = Spans(document, np.maximum(start - base, 0), end - base)
    parents = named("d", np.arange(int(document[-1]) + 1))
    return Passages(named("p", np.arange(count)), {"plain": texts}, parents=parents, spans=spans)


def fragments_of(count: int, passages: Passages, *, seed: int = 1) -> Fragments:
    """Gold whose documents have an order of their own."""
    assert passages.parents is not None
    assert passages.spans is not None
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, len(passages.parents), count)
    documents, code = np.unique(drawn, return_inverse=True)
    order = rng.permutation(len(documents))
    place = np.argsort(order)[code.reshape(-1)].astype(np.int64)
    last = np.searchsorted(passages.spans.document, drawn, "right") - 1
    start = (rng.random(count) * passages.spans.end[last]).astype(np.int64)
    spans = Spans(place, start, start + rng.integers(1, 801, count))
    query = (np.arange(count) // 3).astype(np.int32)
    queries = named("q", np.arange(int(query[-1]) + 1))
    return Fragments(queries, named("d", documents[order]), query, spans, rng.integers(1, 4, count).astype(np.int32))


def best(work: Callable[[], Any], repeat: int) -> tuple[Any, float]:
    """What `work` returns, and the least seconds that it took."""
    seconds = np.inf
    for _ in range(repeat):
        begin = time.perf_counter()
        result = work()
        seconds = min(seconds, time.perf_counter() - begin)
    return result, float(seconds)


def peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def judgements(projection: Projection) -> npt.NDArray[np.int64]:
    """Query, passage row and grade of every judgement, by query and passage."""
    qrels = projection.qrels
    query = np.repeat(np.arange(len(qrels.queries)), np.diff(qrels.offsets))
    table = np.stack([query, qrels.passage, qrels.grade], axis=1).astype(np.int64)
    return table[np.lexsort((table[:, 1], table[:, 0]))]


def columns_of(fragments: Fragments, passages: Passages) -> tuple[dict[str, Any], dict[str, Any]]:
    assert passages.parents is not None
    assert passages.spans is not None
    own = passages.spans
    document = passages.parents.codes(fragments.documents)[fragments.spans.document].astype(np.int64)
    left = {"passage": np.arange(len(own)), "document": own.document, "low": own.start, "high": own.end}
    right = {
        "query": fragments.query.astype(np.int64),
        "document": document,
        "start": fragments.spans.start,
        "stop": fragments.spans.end,
        "grade": fragments.grade.astype(np.int64),
    }
    return left, right


def with_duckdb(left: dict[str, Any], right: dict[str, Any]) -> Callable[[], Any]:
    import duckdb
    import pyarrow as pa

    connection = duckdb.connect()
    for name, columns in (("given_passages", left), ("given_fragments", right)):
        connection.register(name, pa.table(columns))
    connection.execute("CREATE TABLE passages AS SELECT * FROM given_passages")
    connection.execute("CREATE TABLE fragments AS SELECT * FROM given_fragments")
    asked = """
        SELECT query, passage, max(grade) AS grade
        FROM fragments JOIN passages ON fragments.document = passages.document AND low < stop AND start < high
        GROUP BY query, passage ORDER BY query, passage
    """
    return lambda: connection.execute(asked).fetchnumpy()


def with_polars(left: dict[str, Any], right: dict[str, Any]) -> Callable[[], Any]:
    import polars as pl

    passages, fragments = pl.DataFrame(left), pl.DataFrame(right)
    inside = (pl.col("low") < pl.col("stop")) & (pl.col("start") < pl.col("high"))

    def work() -> Any:
        joined = fragments.lazy().join(passages.lazy(), on="document").filter(inside)
        found = joined.group_by("query", "passage").agg(pl.col("grade").max()).sort("query", "passage").collect()
        return {name: found[name].to_numpy() for name in ("query", "passage", "grade")}

    return work


def measured(count: int, fragments: int, repeat: int, *, peers: bool) -> dict[str, float]:
    passages = passages_of(count)
    gold = fragments_of(fragments, passages)
    held = peak_gb()
    projection, seconds = best(lambda: project(gold, passages), repeat)
    several = int((projection.chunks > 1).sum())
    record: dict[str, float] = {
        "passages": len(passages),
        "fragments": len(gold),
        "judgements": len(projection.qrels),
        "in_none": int((projection.chunks == 0).sum()),
        "in_several": several,
        "input_GB": held,
        "peak_GB": peak_gb(),
        "project_s": seconds,
        "project_M_s": len(passages) / 1e6 / seconds,
    }
    if peers:
        mine, columns = judgements(projection), columns_of(gold, passages)
        for name, made in (("duckdb", with_duckdb), ("polars", with_polars)):
            found, slow = best(made(*columns), repeat)
            theirs = np.stack([np.asarray(found[key], np.int64) for key in ("query", "passage", "grade")], axis=1)
            if not np.array_equal(mine, theirs):
                raise SystemExit(f"{name}: {len(theirs)} judgements, {len(mine)} of ours, and they are not the same")
            record |= {f"{name}_s": slow, f"{name}_ratio": slow / seconds}
    return record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=12_000_000, help="passages at 100x")
    parser.add_argument("--fragments", type=int, default=30_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", action="store_true", help="only this size, in this process")
    options = parser.parse_args()
    if options.one:
        record = measured(options.passages, options.fragments, options.repeat, peers=not options.no_peers)
        print(json.dumps(record))
        return
    records = {}
    for times in (1, 10, 100):
        size = options.passages * times // 100
        words = ["--one", "--passages", size, "--fragments", options.fragments, "--repeat", options.repeat]
        words += ["--no-peers"] if options.no_peers else []
        done = subprocess.run([sys.executable, __file__, *map(str, words)], stdout=subprocess.PIPE, check=True)
        records[f"{times}x"] = json.loads(done.stdout)
    if options.json:
        print(json.dumps(records, indent=2))
        return
    for name in records["1x"]:
        print(f"{name:14}" + "".join(f"{records[size][name]:16,.3f}" for size in records))


if __name__ == "__main__":
    main()
