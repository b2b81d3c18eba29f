"""Real failures of other tools that measures must not repeat."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from assay.evaluation.judge import judge
from assay.measures import parse
from assay.qrels import Qrels
from assay.run import Run


def values(name: str, run: Any, qrels: list[tuple[str, str, int]]) -> list[float]:
    return parse(name).score(judge(Run.of(run), Qrels.of(qrels))).tolist()


def mean(name: str, run: Any, qrels: list[tuple[str, str, int]]) -> float:
    return float(np.mean(values(name, run, qrels)))


@pytest.mark.parametrize(("other", "rr", "ndcg"), [("a", 1.0, 1.0), ("z", 0.5, 0.0)])
def test_case_T01(other, rr, ndcg):
    run, qrels = [("q", "m", 1.0), ("q", other, 1.0)], [("q", "m", 1)]
    assert values("RR", run, qrels) == [rr]
    assert values("nDCG@1", run, qrels) == [ndcg]
    assert judge(Run.of(run), Qrels.of(qrels)).tied.tolist() == [True]


def test_case_T02():
    run, qrels = [("q", "m", 1.0), ("q", "a", 1.0)], [("q", "m", 1)]
    for name in ("RR", "RR@1", "RR@10", "P@1", "Success@1"):
        assert values(name, run, qrels) == [1.0], name


def test_case_T05():
    run, qrels = [("q", "rel", 0.900000001), ("q", "zzz", 0.9)], [("q", "rel", 1)]
    assert values("RR", run, qrels) == [1.0]
    assert judge(Run.of(run), Qrels.of(qrels)).tied.tolist() == [False]
    narrow = [(q, p, float(np.float32(s))) for q, p, s in run]
    assert values("RR", narrow, qrels) == [0.5]


def test_case_T06():
    assert values("P@1", [("q", "zoo", 1.0), ("q", "été", 1.0)], [("q", "été", 1)]) == [1.0]


def test_case_G01():
    run = [("q", "a", 3.0), ("q", "b", 2.0), ("q", "z", 1.0)]
    qrels = [("q", "a", 1), ("q", "b", 3), ("q", "c", 2)]
    assert values("nDCG@3", run, qrels) == [pytest.approx(0.6075, abs=5e-5)]
    assert values("nDCG(gain=exp)@3", run, qrels) == [pytest.approx(0.5767, abs=5e-5)]
    assert str(parse("nDCG(gain=exp)@3")) != str(parse("nDCG@3"))


def test_case_G02():
    run, qrels = [("q", "a", 2.0), ("q", "b", 1.0)], [("q", "a", -1), ("q", "b", 2)]
    assert values("nDCG", run, qrels) == [pytest.approx(0.6309, abs=5e-5)]
    assert values("P@1", run, qrels) == [0.0]
    assert values("Judged@2", run, qrels) == [1.0]
    assert values("bpref", run, qrels) == [0.0]


def test_case_G04():
    run, qrels = [("q", "a", 2.0), ("q", "b", 1.0)], [("q", "a", 1), ("q", "b", 2)]
    assert values("AP(rel=2)", run, qrels) == [0.5]
    assert values("RR(rel=2)", run, qrels) == [0.5]
    assert values("P(rel=2)@1", run, qrels) == [0.0]
    assert values("nDCG", run, qrels) == [pytest.approx(0.8597, abs=5e-5)]


def test_case_G05():
    run = [("q", f"d{i:02d}", 20.0 - i) for i in range(10)]
    qrels = [("q", f"d{i:02d}", 1) for i in range(20)]
    expected = {"R@10": 0.5, "R(capped)@10": 1.0, "nDCG@10": 1.0, "P@10": 1.0, "Rprec": 0.5}
    assert {name: values(name, run, qrels)[0] for name in expected} == pytest.approx(expected)


def test_case_G06():
    run = [("q", "rel" if i == 11 else f"d{i}", 20.0 - i) for i in range(1, 20)]
    assert values("RR", run, [("q", "rel", 1)]) == [pytest.approx(1 / 11)]
    assert values("RR@10", run, [("q", "rel", 1)]) == [0.0]
    assert values("RR@11", run, [("q", "rel", 1)]) == [pytest.approx(1 / 11)]


def test_case_G07():
    run, qrels = [("q", "a", 2.0), ("q", "b", 1.0)], [("q", "a", 1), ("q", "b", 1)]
    assert values("P@5", run, qrels) == [0.4]
    assert values("R@5", run, qrels) == [1.0]


def test_case_G08():
    run = [("E-1", "a", 2.0), ("P-1", "x", 2.0), ("P-1", "b", 1.0)]
    qrels = [("E-1", "a", 1), ("P-1", "b", 1)]
    for name in ("nDCG(gain=exp)@10", "nDCG@10"):
        assert values(name, run, qrels) == pytest.approx([1.0, 0.6309], abs=5e-5)
        assert mean(name, run, qrels) == pytest.approx(0.8155, abs=5e-5)


def test_case_Q04():
    run, qrels = [("q1", "a", 1.0), ("q2", "b", 1.0)], [("q1", "a", 1), ("q2", "b", 0)]
    for name in ("nDCG", "AP", "P@1"):
        assert values(name, run, qrels) == [1.0, 0.0]
    assert judge(Run.of(run), Qrels.of(qrels)).relevant().tolist() == [1, 0]


def test_case_Q05():
    for name in ("RR", "nDCG", "R@10"):
        assert values(name, {"q": {}}, [("q", "a", 1)]) == [0.0]


def test_case_X01():
    run, qrels = Run.of([("q", "a", 2.0), ("q", "z", 1.0)]), Qrels.of([("q", "a", 1), ("q", "b", 1)])
    measures = [parse("nDCG@1"), parse("nDCG@2")]
    judged = judge(run, qrels)
    for _ in range(2):
        found = [measure.score(judged)[0] for measure in measures]
        assert found == pytest.approx([1.0, 0.6131], abs=5e-5)
        assert [measure.score(judge(run, qrels))[0] for measure in measures] == found


def test_case_X05():
    run = [("q1", "a", 1.0), ("q2", "b0", 1.0)]
    qrels = [("q1", "a", 1), *(("q2", f"b{i}", 1) for i in range(4))]
    assert mean("R@10", run, qrels) == 0.625
    found, relevant = values("NumRet(rel=1)", run, qrels), judge(Run.of(run), Qrels.of(qrels)).relevant()
    assert sum(found) / relevant.sum() == 0.4
