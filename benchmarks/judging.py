"""Judging speed: arrays to five measures with their tie orders, next to pytrec_eval from dictionaries in memory.

python benchmarks/judging.py [--queries 10962] [--depth 1000] [--passages 76536] [--repeat 5]

The run holds `queries` lists of `depth` passages with BM25-like scores, rounded so that some of them tie; a query has
one to three judged passages. Values of both are compared before any time is printed: pytrec_eval reads the same lists
with scores that fall by rank, because it compares scores as float32. Times are the best of `repeat`; the first run of
the kernel, which loads its machine code, is not among them.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from assay.evaluation.judge import judge
from assay.evaluation.ties import tie_values
from assay.ids import Ids
from assay.measures import parse
from assay.qrels import Qrels
from assay.run import Run
from assay.texts import Texts
from timing import seconds

MEASURES = {"RR": "recip_rank", "nDCG@10": "ndcg_cut_10", "R@100": "recall_100", "AP": "map", "P@10": "P_10"}


def made(queries: int, depth: int, passages: int, seed: int = 0) -> tuple[Run, Qrels]:
    """A run and qrels of the given size; half of the judged passages are in their list."""
    random = np.random.default_rng(seed)
    starts = random.integers(0, passages, queries)
    # Steps that have no divisor in common with the vocabulary walk through it without repeating a passage.
    steps = random.choice([s for s in range(1, 4 * 1009) if np.gcd(s, passages) == 1], queries)
    passage = ((starts[:, None] + steps[:, None] * np.arange(depth)) % passages).astype(np.int32)
    score = np.sort(random.gamma(2.0, 4.0, (queries, depth)).round(3), axis=1)[:, ::-1]
    query_ids = Ids(Texts.of([f"q{q}" for q in range(queries)]))
    passage_ids = Ids(Texts.of([f"p{p:07d}" for p in range(passages)]))
    run = Run.ranked(
        query_ids,
        passage_ids,
        offsets=np.arange(queries + 1) * depth,
        passage=passage.ravel(),
        score=np.ascontiguousarray(score).ravel(),
        distinct=True,
        depth=depth,
    )
    count = random.integers(1, 4, queries)
    owner = np.repeat(np.arange(queries), count)
    place = random.integers(0, depth, len(owner))
    found = run.passage[owner * depth + place]
    code = np.where(random.random(len(owner)) < 0.5, found, random.integers(0, passages, len(owner)))
    _, kept = np.unique(owner * passages + code, return_index=True)
    qrels = Qrels.from_columns(
        query_ids, passage_ids, query=owner[kept], passage=code[kept], grade=random.integers(1, 3, len(kept))
    )
    return run, qrels


def scored(run: Run, qrels: Qrels) -> dict[str, Any]:
    """What is timed: judge once, then each measure in the house's, the best, the worst and the average order."""
    judged = judge(run, qrels)
    return {name: tie_values(parse(name), judged) for name in MEASURES}


def main() -> None:
    parser = argparse.ArgumentParser(description="arrays to five measures with ties, next to pytrec_eval")
    parser.add_argument("--queries", type=int, default=10_962)
    parser.add_argument("--depth", type=int, default=1000)
    parser.add_argument("--passages", type=int, default=76_536)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    run, qrels = made(given.queries, given.depth, given.passages)
    values = scored(run, qrels)
    tied = int(judge(run, qrels).tied.sum())
    print(f"{len(run):,} rows, {len(qrels):,} judgements, {tied:,} queries with a tied hit")
    ours = seconds(lambda: scored(run, qrels), given.repeat)
    reading = seconds(lambda: judge(run, qrels), given.repeat)
    print(f"assay        {ours:8.3f} s   (judge {reading:.3f} s, five measures with ties {ours - reading:.3f} s)")

    import pytrec_eval

    ids = run.passages.texts.to_list()
    falling = [float(given.depth - rank) for rank in range(given.depth)]
    lists = {
        query: dict(zip((ids[p] for p in run.passage[a : a + given.depth].tolist()), falling, strict=True))
        for query, a in zip(run.queries, run.offsets.tolist(), strict=False)
    }
    grades: dict[str, dict[str, int]] = {}
    for query, passage, grade in qrels.triples():
        grades.setdefault(query, {})[passage] = grade
    evaluator = pytrec_eval.RelevanceEvaluator(grades, {"recip_rank", "ndcg_cut.10", "recall.100", "map", "P.10"})
    rival = evaluator.evaluate(lists)
    for name, theirs in MEASURES.items():
        expected = np.asarray([rival[query][theirs] for query in run.queries])
        np.testing.assert_allclose(values[name].value, expected, rtol=0, atol=1e-9, err_msg=name)
    print(f"equal values for {len(MEASURES)} measures of {len(run.queries):,} queries")
    rivals = seconds(lambda: evaluator.evaluate(lists), max(1, given.repeat // 2))
    print(f"pytrec_eval  {rivals:8.3f} s   (from dictionaries, no tie orders)")
    print(f"ratio        {rivals / ours:8.1f}")


if __name__ == "__main__":
    main()
