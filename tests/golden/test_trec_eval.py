"""trec_eval's own test files: every measure that both have, to the four decimals printed there."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from assay.evaluation.judge import judge
from assay.evaluation.ties import tie_values
from assay.formats.trec import read_qrels, read_run
from assay.judged import Judged
from assay.measures import parse

NAMES = {
    "num_ret": "NumRet",
    "num_rel_ret": "NumRet(rel=1)",
    "map": "AP",
    "Rprec": "Rprec",
    "bpref": "bpref",
    "recip_rank": "RR",
    "ndcg": "nDCG",
    "rbp": "RBP(p=0.9)",
    "set_recall": "R",
}
AT_RANKS = {"P": "P", "recall": "R", "ndcg_cut": "nDCG", "map_cut": "AP", "success": "Success"}

# file of values, qrels, run, lowest relevant grade, depth, measures compared at least
FILES = {
    "aq": ("out.test.aq", "qrels.test", "results.test", 1, None, 40),
    "with comments": ("out.test.aq", "qrels.test.with-comments", "results.test", 1, None, 40),
    "aqc": ("out.test.aqc", "qrels.test", "results.trunc", 1, None, 40),
    "aqcM": ("out.test.aqcM", "qrels.test", "results.trunc", 1, 100, 40),
    "aql": ("out.test.aql", "qrels.rel_level", "results.test", 2, None, 40),
    "a": ("out.test.a", "qrels.test", "results.test", 1, None, 40),
    "comment": ("out.comment.test", "qrels.comment.test", "results.comment.test.gz", 1, None, 15),
    "parameters": ("out.test.meas_params", "qrels.test", "results.test", 1, None, 11),
}

# Where the value differs on purpose.
DIFFERENT = {
    # trec_eval's rbp weighs by grade over the highest grade and knows no lowest relevant grade (-l).
    "aql": {("RBP(p=0.9, rel=2)", "301"), ("RBP(p=0.9, rel=2)", "all")},
}


def house_name(theirs: str, level: int) -> str | None:
    """Our name of trec_eval's measure, None where it is not among ours."""
    name = NAMES.get(theirs)
    at = re.fullmatch(r"(P|recall|ndcg_cut|map_cut|success)_(\d+)", theirs)
    if at:
        name = f"{AT_RANKS[at[1]]}@{at[2]}"
    if name is None or level == 1 or name.startswith("nDCG") or name == "NumRet":
        return name
    base, _, cutoff = name.partition("@")
    base = base.replace("rel=1", f"rel={level}")
    if "rel=" not in base:
        base = f"{base[:-1]}, rel={level})" if base.endswith(")") else f"{base}(rel={level})"
    return f"{base}@{cutoff}" if cutoff else base


def judged(folder: Path, qrels_name: str, run_name: str, depth: int | None) -> tuple[list[str], Judged]:
    qrels, run = read_qrels(folder / qrels_name), read_run(folder / run_name)
    return list(qrels.queries), judge(replace(run, depth=depth), qrels)


@pytest.mark.parametrize("case", FILES)
def test_values_of_trec_eval(case, shared_data):
    out, qrels_name, run_name, level, depth, at_least = FILES[case]
    folder = shared_data / "trec_eval"
    queries, lists = judged(folder, qrels_name, run_name, depth)
    asked = {query for query in queries if case in ("aqc", "aqcM") or lists.lengths[queries.index(query)]}
    rows = [row for row, query in enumerate(queries) if query in asked]
    compared, wrong = set(), {}
    for theirs, query, printed in map(str.split, (folder / out).read_text().splitlines()):
        name = house_name(theirs, level)
        if name is None:
            continue
        value = parse(name).score(lists)[rows]
        total = theirs in ("num_ret", "num_rel_ret")
        ours = value[rows.index(queries.index(query))] if query != "all" else value.sum() if total else value.mean()
        compared.add(theirs)
        if abs(ours - float(printed)) > 0.5e-4 + 1e-9:
            wrong[name, query] = (float(printed), round(float(ours), 4))
    assert wrong.keys() == DIFFERENT.get(case, set()), wrong
    assert len(compared) >= at_least


def test_ties_are_broken_as_trec_eval_does(shared_data):
    """A tie at rank 67 of topic 301 moves AP in the sixth decimal, so the binding of trec_eval is asked."""
    import pytrec_eval

    folder = shared_data / "trec_eval"
    queries, lists = judged(folder, "qrels.test", "results.test", None)
    values = tie_values(parse("AP"), lists)
    assert values.best[0] - values.worst[0] > 1e-6
    qrels: dict[str, dict[str, int]] = {query: {} for query in queries}
    for query, passage, grade in read_qrels(folder / "qrels.test").triples():
        qrels[query][passage] = grade
    run: dict[str, dict[str, float]] = {query: {} for query in queries}
    for query, passage, score in read_run(folder / "results.test").triples():
        run[query][passage] = score
    rival = pytrec_eval.RelevanceEvaluator(qrels, {"map"}).evaluate(run)
    assert values.value == pytest.approx([rival[query]["map"] for query in queries], abs=1e-12)
