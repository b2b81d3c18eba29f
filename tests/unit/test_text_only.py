"""The text-only export: nothing but texts under random ids, and the same values when a run over it comes home."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.building.text_only import read_mapping, text_only, translated_run, write_text_only
from assay.errors import UnknownIdError, UsageError
from assay.evaluation.judge import judge
from assay.evaluation.ties import tie_values
from assay.measures import parse
from assay.qrels import Qrels
from assay.run import Run
from assay.sources import open_collection


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture
def export(tmp_path: Path) -> tuple[Path, Path]:
    folder, mapping = tmp_path / "out", tmp_path / "apart" / "ids.jsonl"
    write_text_only(text_only(open_collection("demo:questions"), seed=7), folder, mapping=mapping)
    return folder, mapping


def test_the_export_holds_texts_alone(export: tuple[Path, Path]) -> None:
    folder, mapping = export
    full = open_collection("demo:questions")
    assert sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())[:4] == [
        "corpus.jsonl",
        "evaluator/passages.jsonl",
        "evaluator/queries.jsonl",
        "qrels/answer_dev.tsv",
    ]
    corpus, queries = rows(folder / "corpus.jsonl"), rows(folder / "queries.jsonl")
    assert {tuple(row) for row in corpus + queries} == {("_id", "text")}
    assert sorted(row["text"] for row in corpus) == sorted(full.passages.texts["plain"])
    assert sorted(row["text"] for row in queries) == sorted(full.queries.texts["plain"])
    # The order is that of the random ids.
    assert [row["_id"] for row in corpus] == sorted(row["_id"] for row in corpus)
    named = read_mapping(mapping)
    assert set(named["passage"].values()) == set(full.passages.ids)
    assert set(named["query"].values()) == set(full.queries.ids)
    everything = "".join(path.read_text("utf-8") for path in folder.rglob("*.*") if path.is_file())
    assert not [id_ for id_ in [*full.passages.ids, *full.queries.ids] if id_ in everything]


def test_dates_lie_with_the_evaluator(export: tuple[Path, Path]) -> None:
    folder, mapping = export
    full = open_collection("demo:questions")
    named = read_mapping(mapping)
    dates = dict(zip(full.passages.ids, np.datetime_as_string(full.passages.dates), strict=True))
    assert {named["passage"][row["_id"]]: row["date"] for row in rows(folder / "evaluator" / "passages.jsonl")} == {
        id_: None if day == "NaT" else day for id_, day in dates.items()
    }
    before = {named["query"][row["_id"]]: row["before"] for row in rows(folder / "evaluator" / "queries.jsonl")}
    task = full.task("cite", split="test")
    for id_, day in zip(task.pool.ids, task.asked if task.asked is not None else [], strict=True):
        assert before[id_].get("cite") == (None if np.isnat(day) else str(day))
    assert all("answer" not in days for days in before.values())
    assert "date" not in (folder / "corpus.jsonl").read_text("utf-8").split('"text"')[0]


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    full = open_collection("demo:questions")
    written = []
    for place, seed in (("a", 7), ("b", 7), ("c", 8)):
        write_text_only(text_only(full, seed=seed), tmp_path / place, mapping=tmp_path / f"{place}.jsonl")
        folder = tmp_path / place
        files = {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
        written.append((files, (tmp_path / f"{place}.jsonl").read_bytes()))
    assert written[0] == written[1]
    assert written[0][0]["corpus.jsonl"] != written[2][0]["corpus.jsonl"]


def test_ids_are_distinct_and_say_nothing_of_the_order() -> None:
    made = text_only(open_collection("demo:questions"), seed=1)
    names = [*made.passages, *made.queries]
    assert len(set(names)) == len(names)
    ranks = np.argsort(made.passage_order)
    assert abs(np.corrcoef(ranks, np.arange(len(ranks)))[0, 1]) < 0.25


def test_the_mapping_is_kept_apart(tmp_path: Path) -> None:
    made = text_only(open_collection("demo:questions"), seed=1)
    with pytest.raises(UsageError, match="apart"):
        write_text_only(made, tmp_path / "out", mapping=tmp_path / "out" / "ids.jsonl")
    with pytest.raises(UnknownIdError, match="no query 'q'"):
        translated_run(Run.of([("q", "p", 1.0)]), {"query": {}, "passage": {}})


def test_a_run_over_the_export_has_the_same_expected_values(export: tuple[Path, Path]) -> None:
    """Ids differ, so the order of ties does; the expectation over tie orders does not."""
    folder, mapping = export
    named = read_mapping(mapping)
    random = np.random.default_rng(3)
    corpus = [row["_id"] for row in rows(folder / "corpus.jsonl")]
    for name in ("answer_test", "cite_test"):
        lines = [line.split("\t") for line in (folder / "qrels" / f"{name}.tsv").read_text("utf-8").splitlines()]
        qrels = Qrels.of([(query, passage, int(grade)) for query, _, passage, grade in lines])
        full = open_collection("demo:questions").task(*[name.split("_")[0]], split="test")
        run = Run.of(
            {
                query: {passage: float(random.integers(0, 4)) for passage in random.choice(corpus, 30, replace=False)}
                | ({lines[0][2]: 3.0} if row % 2 else {})
                for row, query in enumerate(qrels.queries)
            }
        )
        home = translated_run(run, named)
        assert set(home.queries) == set(full.qrels.queries)
        for measure in ("RR@10", "nDCG@10", "R@10"):
            there = tie_values(parse(measure), judge(run, qrels))
            here = tie_values(parse(measure), judge(home, full.qrels))
            place = {id_: row for row, id_ in enumerate(full.qrels.queries)}
            back = [place[named["query"][query]] for query in qrels.queries]
            np.testing.assert_allclose(there.expected, here.expected[back], rtol=0, atol=1e-12)
