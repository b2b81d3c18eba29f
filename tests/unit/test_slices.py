"""slices: means by the values of a query column."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tiny
from assay.edges import Edges
from assay.errors import DataError, UnknownNameError
from assay.evaluation import evaluate, mean_interval, slices, task_slices
from assay.evaluation.slices import citation_columns
from assay.ids import Ids
from assay.measures import parse
from assay.qrels import Qrels
from assay.query import Queries
from assay.run import Run
from assay.sources import open_collection
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


def cited(task):
    """q05 cites with a link, q06 in words, q07 in both ways, q08 (two answers) by two links, q12 once of two."""
    edges = [
        ("q05", "a01", "hyperlink", "yes"),
        ("q06", "a02", "text", "no"),
        ("q07", "a03", "text", "no"),
        ("q07", "a03", "hyperlink", "no"),
        ("q08", "a01", "hyperlink", "no"),
        ("q08", "a05", "hyperlink", "yes"),
        ("q12", "a10", "url", "no"),
        ("q09", "b01", "url", "no"),
    ]
    return Edges(
        np.array([task.pool.ids.code(q) for q, *_ in edges]),
        np.array([task.passages.ids.code(p) for _, p, *_ in edges]),
        {"source": Texts.of(s for *_, s, _ in edges), "referral": Texts.of(r for *_, r in edges)},
    )


def labels(task, column):
    """The slice of every query, found through scores that tell queries apart."""
    scores = scores_of(task)
    numbered = replace(scores, value=2.0 ** np.arange(len(scores)))
    found = task_slices(numbered, task, column=column, resamples=2)
    names = {}
    for name, part in found.items():
        total = round(part.mean * part.n)
        names |= {q: name for row, q in enumerate(scores.queries) if total >> row & 1}
    assert sum(part.n for part in found.values()) == len(scores) == len(names)
    return names, list(found)


def test_citations_make_slices_with_each_query_in_one():
    task = tiny.dated_task()
    task = replace(task, edges=cited(task))
    assert citation_columns(task) == ("citation_age", "citation_source", "citation_referral")
    assert labels(task, "citation_source") == (
        {
            "q05": "hyperlink",
            "q06": "text",
            "q07": "mixed",
            "q08": "hyperlink",
            "q09": "",
            "q10": "",
            "q11": "",
            "q12": "url",
        },
        ["", "hyperlink", "text", "url", "mixed"],
    )
    assert labels(task, "citation_referral")[0]["q08"] == "mixed"
    assert labels(task, "citation_referral")[0]["q05"] == "yes"


def test_ages_are_days_to_the_cut_off_in_bins_in_their_order():
    # Days: q05 154 (a01), q06 203, q07 308, q08 392 and 231, q09 441 and 231, q10 224, q11 and q12 several.
    task = tiny.dated_task()
    found, order = labels(task, "citation_age")
    assert found == {
        "q05": "91-365 days",
        "q06": "91-365 days",
        "q07": "91-365 days",
        "q08": "mixed",
        "q09": "mixed",
        "q10": "91-365 days",
        "q11": "mixed",
        "q12": "mixed",
    }
    assert order == ["91-365 days", "mixed"]
    ages = {"n": 0, "a": 1, "b": 7, "c": 8, "d": 30, "e": 31, "f": 90, "g": 91, "h": 365, "i": 366}
    day = np.datetime64("2022-01-01")
    one = tiny.task_of(
        [(f"q{name}", f"p{name}", 1) for name in ages] + [("qu", "pu", 1), ("q0", "pa", 0), ("qx", "gone", 1)],
        {**{f"p{name}": str(day - age) for name, age in ages.items()}, "pu": None},
        asked={f"q{name}": str(day) for name in [*ages, "u", "0", "x"]},
    )
    scores = evaluate(Run.of({"qa": {"pa": 1.0}}), one.qrels, [parse("RR@10")], resamples=2)[0]
    found = {name: part.n for name, part in task_slices(scores, one, column="citation_age", resamples=2).items()}
    assert found == {
        "": 3,
        "not earlier": 1,
        "1-7 days": 2,
        "8-30 days": 2,
        "31-90 days": 2,
        "91-365 days": 2,
        "over 365 days": 1,
    }
    assert list(found)[:3] == ["", "not earlier", "1-7 days"]


def test_a_query_in_another_language_has_the_citations_of_its_question():
    task = tiny.dated_task()
    question = np.arange(12)
    question[8] = 4
    task = replace(task, edges=cited(task), question=question, qrels=Qrels.of([("q09", "a01", 1), ("q06", "a02", 1)]))
    scores = evaluate(Run.of({"q09": {"a01": 1.0}}), task.qrels, [parse("RR@10")], resamples=2)[0]
    found = task_slices(scores, task, column="citation_source", resamples=2)
    assert {name: part.mean for name, part in found.items()} == {"hyperlink": 1.0, "text": 0.0}


def test_what_a_task_does_not_tell_is_no_column():
    task = tiny.dated_task()
    assert citation_columns(task) == ("citation_age",)
    assert citation_columns(tiny.chunk_task()) == citation_columns(replace(task, asked=None)) == ()
    with pytest.raises(UnknownNameError, match="did you mean 'citation_age'"):
        task_slices(scores_of(task), task, column="citation_ages")
    with pytest.raises(UnknownNameError, match="column of the queries"):
        task_slices(scores_of(task), task, column="citation_source")
    own = replace(task, pool=replace(task.pool, columns={"citation_age": task.pool.columns["subject"]}))
    assert list(task_slices(scores_of(task), own, column="citation_age", resamples=2)) == [
        "health",
        "transport",
        "water",
    ]


def test_edges_of_uneven_columns_are_refused():
    with pytest.raises(DataError, match="2 citing queries but 1 rows of source"):
        Edges(np.zeros(2, np.int64), np.zeros(2, np.int64), {"source": Texts.of(["text"])})


def test_slices_of_uk_citations(shared_data: Path):
    collection = open_collection(shared_data / "uk_written_questions" / "session_2023-24")
    task = collection.task("cite", split="all")
    [scores] = evaluate(Run.of({"wq-2023-12-04-4950": {"x": 1.0}}), task.qrels, [parse("RR@10")], resamples=2)
    counts = {
        column: {name: part.n for name, part in task_slices(scores, task, column=column, resamples=2).items()}
        for column in citation_columns(task)
    }
    assert counts == UK_CITE


UK_CITE = {
    "citation_age": {"1-7 days": 52, "8-30 days": 6},
    "citation_source": {"hyperlink": 3, "text": 55},
    "citation_referral": {"no": 2, "yes": 56},
}
