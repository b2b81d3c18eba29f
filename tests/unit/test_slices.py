"""slices: means by the values of a query column."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tiny
from assay.errors import UnknownNameError
from assay.evaluation import evaluate, mean_interval, slices
from assay.ids import Ids
from assay.measures import parse
from assay.query import Queries
from assay.run import Run
from assay.texts import Texts


def scores_of(task):
    run = Run.of({"q05": {"a01": 1.0}, "q06": {"b01": 2.0, "a02": 1.0}, "q07": {"a03": 1.0}, "q12": {"a08": 1.0}})
    return evaluate(run, task.qrels, [parse("RR@10")], clusters=task.clusters, resamples=50)[0]


def test_each_value_has_its_own_n_mean_and_interval():
    task = tiny.dated_task()
    scores = scores_of(task)
    found = slices(scores, task.pool, column="subject", resamples=50)
    assert {name: (part.n, part.mean) for name, part in found.items()} == {
        "health": (2, 0.5),
        "transport": (4, 0.5),
        "water": (2, 0.25),
    }
    assert list(found) == sorted(found)
    assert sum(part.n for part in found.values()) == len(scores)
    assert all("too few to conclude" in part.note for part in found.values())


def test_a_slice_is_the_interval_of_its_values_and_clusters():
    task = tiny.dated_task()
    scores = scores_of(task)
    part = slices(scores, task.pool, column="subject", resamples=50, seed=3)["transport"]
    rows = [list(scores.queries).index(q) for q in ("q05", "q08", "q10", "q12")]
    assert part == mean_interval(scores.value[rows], clusters=task.clusters[rows], resamples=50, seed=3)
    assert (part.units, part.unit) == (3, "cluster")
    alone = slices(scores, task.pool, column="subject", clusters=np.arange(8), resamples=50)["transport"]
    assert alone.units == 4


def test_queries_without_a_value_are_in_the_empty_slice():
    task = tiny.dated_task()
    known = Queries(Ids.of(["q06", "q05"]), {"plain": Texts.of(["", ""])}, columns={"party": Texts.of(["", "x"])})
    found = slices(scores_of(task), known, column="party", resamples=50)
    assert {name: part.n for name, part in found.items()} == {"": 7, "x": 1}
    assert found["x"].mean == 1.0
    assert math.isclose(found[""].mean, (0.5 + 1 + 1) / 7)


def test_an_unknown_column_is_refused_with_near_names():
    task = tiny.dated_task()
    with pytest.raises(UnknownNameError, match="did you mean 'subject'"):
        slices(scores_of(task), task.pool, column="subjct")
