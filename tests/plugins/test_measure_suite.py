"""What every measure must do. The suite finds measures through the catalogue: a new file is tested without a new test."""

from __future__ import annotations

import dataclasses
from itertools import chain, permutations, product

import numpy as np
import pytest
import pytrec_eval

from assay import catalog
from assay.errors import UsageError
from assay.evaluation.judge import judge
from assay.evaluation.ties import tie_values
from assay.judged import Judged
from assay.measure import Measure, TieAware
from assay.measures import parse
from assay.qrels import Qrels
from assay.run import Run

COUNTS = ("NumRet",)
FROM_TREC_EVAL = {
    "RR": "recip_rank",
    "nDCG": "ndcg",
    "nDCG@1": "ndcg_cut_1",
    "nDCG@4": "ndcg_cut_4",
    "AP": "map",
    "AP@4": "map_cut_4",
    "R": "set_recall",
    "R@1": "recall_1",
    "R@4": "recall_4",
    "P@1": "P_1",
    "P@4": "P_4",
    "Success@1": "success_1",
    "Success@4": "success_4",
    "Rprec": "Rprec",
    "bpref": "bpref",
    "NumRet": "num_ret",
    "NumRet(rel=1)": "num_rel_ret",
}


def variants() -> list[str]:
    """Every measure with and without a cutoff, a lowest relevant grade, and each of its switches."""
    found = []
    for cls in sorted(set(catalog.known("measure").values()), key=lambda cls: cls.name):
        given = [""]
        for field in dataclasses.fields(cls):
            if field.name == "rel":
                given += ["(rel=2)"]
            elif field.default is False:
                given += [f"({field.name})"]
        if cls.name == "nDCG":
            given += ["(gain=exp)"]
        count = len(found)
        for parameters, cutoff in product(given, ("", "@1", "@3", "@10")):
            try:
                parse(f"{cls.name}{parameters}{cutoff}")
            except UsageError:
                continue
            found.append(f"{cls.name}{parameters}{cutoff}")
        if len(found) == count:
            raise AssertionError(f"no variant of {cls.name} can be written")
    return found


@pytest.fixture(params=variants())
def measure(request) -> Measure:
    return parse(request.param)


def lists(seed: int, *, queries: int = 60, length: int = 12) -> Judged:
    """Random lists without ties: grades from -1 to 3, passages without a judgement, relevant ones not found."""
    random = np.random.default_rng(seed)
    found, ideal = [], []
    for _ in range(queries):
        grades = [
            None if random.random() < 0.3 else int(random.choice([-1, 0, 1, 2, 3], p=[0.1, 0.4, 0.3, 0.1, 0.1]))
            for _ in range(random.integers(0, length + 1))
        ]
        found.append(grades)
        more = random.choice([-1, 0, 1, 2, 3], random.integers(0, 5)).tolist()
        ideal.append([g for g in grades if g is not None] + more)
    return Judged.of(found, ideal=ideal)


def test_the_catalogue_holds_the_measures_of_the_field():
    names = {"RR", "nDCG", "P", "R", "AP", "Success", "Rprec", "bpref", "RBP", "Judged", "NumRet"}
    assert names <= set(catalog.known("measure"))
    assert {"MRR", "MAP", "Recall", "Precision"} <= set(catalog.known("measure"))


def test_is_a_measure(measure):
    assert isinstance(measure, Measure)
    assert measure.additive or isinstance(measure, TieAware)
    assert measure.min_grade >= 1


def test_its_name_parses_back(measure):
    assert parse(str(measure)) == measure
    assert str(parse(str(measure))) == str(measure)


def test_every_alias_names_the_same_measure(measure):
    for alias in measure.aliases:
        assert parse(alias + str(measure).removeprefix(measure.name)) == measure


def test_every_value_is_a_share(measure):
    value = measure.score(lists(1))
    assert value.dtype == np.float64
    assert value.shape == (60,)
    assert np.isfinite(value).all()
    assert (value >= 0.0).all()
    if measure.name not in COUNTS:
        assert (value <= 1.0 + 1e-12).all()
        assert value.max() > 0.0


def test_no_passage_has_a_value_of_its_own(measure):
    """A query missing from the run, an empty list and a list without a judged passage score 0."""
    judged = Judged.of([[], [None, None], [], []], ideal=[[2, 1], [1], [0], []])
    value = measure.score(judged)
    if str(measure) == "NumRet":
        assert value.tolist() == [0.0, 2.0, 0.0, 0.0]
    else:
        assert value.tolist() == [0.0] * 4


def test_a_query_without_a_relevant_passage_scores_zero(measure):
    value = measure.score(Judged.of([[0, 0, -1, None]], ideal=[[0, 0, -1, -2]]))
    assert measure.name in ("Judged", "NumRet") or value.tolist() == [0.0]


def test_an_unjudged_tail_changes_nothing(measure):
    """Measures that count what is returned are the exception."""
    judged = lists(2)
    longer = dataclasses.replace(judged, lengths=judged.lengths + 7)
    before, after = measure.score(judged), measure.score(longer)
    if str(measure) == "NumRet":
        assert (after == before + 7).all()
    elif measure.name == "Judged":
        assert (after <= before).all()
    else:
        assert after.tolist() == before.tolist()


def test_nothing_is_kept_between_calls(measure):
    first, other = lists(3), lists(4)
    value = measure.score(first).copy()
    measure.score(other)
    assert measure.score(first).tolist() == value.tolist()


def tied_run(random: np.random.Generator) -> tuple[Run, Qrels, Judged]:
    """A list with ties, cut inside a tie now and then, and all orders of it as lists without ties."""
    length = int(random.integers(1, 7))
    score = np.sort(random.integers(1, int(random.integers(2, 5)), length))[::-1].tolist()
    grades = [None if random.random() < 0.3 else int(random.integers(-1, 4)) for _ in range(length)]
    depth = None if random.random() < 0.3 else int(random.integers(1, length + 1))
    if depth is not None:
        length = max(i + 1 for i in range(length) if score[i] >= score[depth - 1])
    names = [f"p{place}" for place in random.permutation(length)]
    judgements = [("q", name, grade) for name, grade in zip(names, grades, strict=False) if grade is not None]
    judgements += [("q", f"x{i}", int(random.integers(0, 3))) for i in range(random.integers(1, 4))]
    run = Run.of([("q", n, float(s)) for n, s in zip(names, score, strict=False)], depth=depth)
    levels = sorted(set(score[:length]), reverse=True)
    ties = [[g for g, s in zip(grades, score, strict=True) if s == level] for level in levels]
    orders = [list(chain(*order))[:depth] for order in product(*map(permutations, ties))]
    ideal = [grade for _, _, grade in judgements]
    return run, Qrels.of(judgements), Judged.of(orders, ideal=[ideal] * len(orders))


CASES = [tied_run(np.random.default_rng(seed)) for seed in range(80)]


def test_every_order_of_ties_is_accounted_for(measure):
    """Best, worst and expected values are the largest, the smallest and the mean over all orders."""
    cut = 0
    for run, qrels, orders in CASES:
        judged = judge(run, qrels)
        cut += len(judged.beyond) > 0
        values, all_values = tie_values(measure, judged), measure.score(orders)
        assert values.best[0] == pytest.approx(all_values.max(), abs=1e-12)
        assert values.worst[0] == pytest.approx(all_values.min(), abs=1e-12)
        assert values.expected[0] == pytest.approx(all_values.mean(), abs=1e-12)
        assert np.isclose(all_values, values.value[0], rtol=0, atol=1e-12).any()
        assert values.note == ""
    assert cut > 10


def test_queries_do_not_touch_each_other(measure):
    """All tied lists judged at once have the values that they have alone."""
    triples, judgements, alone = [], [], []
    for number, (run, qrels, _) in enumerate(CASES):
        if run.depth is None:
            triples += [(f"q{number}", passage, score) for _, passage, score in run.triples()]
            judgements += [(f"q{number}", passage, grade) for _, passage, grade in qrels.triples()]
            alone.append(tie_values(measure, judge(run, qrels)))
    together = tie_values(measure, judge(Run.of(triples), Qrels.of(judgements)))
    for column in ("value", "best", "worst", "expected"):
        np.testing.assert_allclose(getattr(together, column), [getattr(one, column)[0] for one in alone], atol=1e-12)


def random_run(seed: int) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    random = np.random.default_rng(seed)
    run, qrels = {}, {}
    for query in range(40):
        names = random.permutation(30)
        scores = random.permutation(1000)[:20] / 8.0
        run[f"q{query}"] = {f"p{n}": float(s) for n, s in zip(names[: random.integers(1, 20)], scores, strict=False)}
        judged = random.permutation(30)[: random.integers(1, 25)]
        qrels[f"q{query}"] = {f"p{n}": int(g) for n, g in zip(judged, random.integers(0, 4, len(judged)), strict=True)}
    return run, qrels


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("name", FROM_TREC_EVAL)
def test_trec_eval_gives_the_same(name, level):
    measure = parse(name)
    if level == 2 and "rel" in {field.name for field in dataclasses.fields(measure)} and name != "NumRet":
        measure = dataclasses.replace(measure, rel=2)
    run, qrels = random_run(level)
    theirs = FROM_TREC_EVAL[name]
    asked = theirs if theirs in pytrec_eval.supported_measures else ".".join(theirs.rsplit("_", 1))
    rival = pytrec_eval.RelevanceEvaluator(qrels, {asked}, relevance_level=level).evaluate(run)
    judged = Qrels.of((q, p, g) for q, grades in qrels.items() for p, g in grades.items())
    value = measure.score(judge(Run.of(run), judged))
    np.testing.assert_allclose(value, [rival[query][theirs] for query in judged.queries], rtol=0, atol=1e-12)


def test_a_cutoff_never_raises_reciprocal_rank():
    for seed in range(5):
        judged = lists(seed)
        whole = parse("RR").score(judged)
        for cutoff in (1, 2, 5):
            assert (parse(f"RR@{cutoff}").score(judged) <= whole).all()


@pytest.mark.parametrize("rel", [1, 2])
def test_at_rank_one_three_measures_are_one(rel):
    for run, qrels, _ in CASES:
        values = [tie_values(parse(f"{name}(rel={rel})@1"), judge(run, qrels)) for name in ("RR", "P", "Success")]
        for column in ("value", "best", "worst", "expected"):
            assert len({round(float(getattr(one, column)[0]), 12) for one in values}) == 1
