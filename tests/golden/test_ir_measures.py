"""Values that ir_measures publishes with its tests."""

from __future__ import annotations

import pytest

from assay.evaluation.judge import judge
from assay.formats.trec import read_qrels, read_run
from assay.judged import Judged
from assay.measures import parse
from assay.qrels import Qrels
from assay.run import Run

CWL = {
    "AP": [0.7087, 0.7438, 0.3068],
    "P@1": [1.0, 1.0, 0.0],
    "P@5": [0.6, 0.6, 0.0],
    "P@10": [0.5, 0.6, 0.4],
    "P@20": [0.25, 0.3, 0.2],
    "RR": [1.0, 1.0, 0.1667],
    "RBP(p=0.9)": [0.3501, 0.3996, 0.1988],
}

TOY = {
    "nDCG(gain=exp)@20": [0.6201, 0.35099],
    "nDCG(gain=exp)@2": [0.17377, 0.38685],
    "Judged@10": [1.0, 0.25],
    "Judged@3": [1.0, 0.3333],
    "Judged@1": [1.0, 0.0],
}


@pytest.fixture(scope="module")
def cwl(shared_data) -> Judged:
    folder = shared_data / "ir_measures"
    qrels = read_qrels(folder / "cwl.qrels")
    assert list(qrels.queries) == ["T1", "T2", "T3"]
    return judge(read_run(folder / "cwl.run"), qrels)


@pytest.mark.parametrize("name", CWL)
def test_cwl(name, cwl):
    assert parse(name).score(cwl) == pytest.approx(CWL[name], abs=5e-5)


@pytest.mark.parametrize("name", TOY)
def test_toy(name):
    qrels = {"q0": {"D0": 0, "D1": 1, "D2": 1, "D3": 2, "D4": 0}, "q1": {"D0": 1, "D3": 2, "D5": 2}}
    run = {
        "q0": {"D0": 0.8, "D2": 0.7, "D3": 0.4, "D1": 0.3, "D4": 0.1},
        "q1": {"D1": 0.8, "D3": 0.7, "D2": 0.4, "D4": 0.3},
    }
    judged = judge(Run.of(run), Qrels.of((q, p, g) for q, grades in qrels.items() for p, g in grades.items()))
    assert parse(name).score(judged) == pytest.approx(TOY[name], abs=5e-5)
