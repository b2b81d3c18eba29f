"""The UK questions of December 2023, built from the raw files, beside the first build that is published with them."""

from __future__ import annotations

import json
from collections import Counter
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.audit import Finding
from assay.building.assemble import BuildRules, assemble
from assay.building.built import Built
from assay.formats.digest import file_digests
from assay.publishing.question_level import write_build
from assay.sources.ukparl import records

HOME = "uk_written_questions"
RULES = BuildRules(train_until=date(2023, 12, 7), dev_until=date(2023, 12, 11))
CORRECTED = {
    "wq-2023-12-01-4772-ASW": ("2023-12-11", "2024-01-12"),
    "wq-2023-12-04-5132-ASW": ("2023-12-06", "2023-12-21"),
    "wq-2023-12-06-5542-ASW": ("2023-12-11", "2023-12-18"),
    "wq-2023-12-11-6124-ASW": ("2023-12-19", "2024-01-10"),
    "wq-2023-12-12-6404-ASW": ("2023-12-18", "2024-01-23"),
    "wq-2023-12-14-7024-ASW": ("2023-12-19", "2024-02-21"),
    "wq-2023-12-15-7214-ASW": ("2024-01-08", "2024-01-12"),
    "wq-2023-12-18-7408-ASW": ("2024-01-08", "2024-01-19"),
}
"""Corrected answers: the day of the first answer, and that of the correction."""


@cache
def built(home: Path) -> Built:
    return assemble(records(home / HOME / "raw"), rules=RULES)


@cache
def reference(home: Path, name: str) -> dict[str, dict[str, Any]]:
    lines = (home / HOME / "session_2023-24" / f"{name}.jsonl").read_text("utf-8").splitlines()
    return {row["_id"]: row for row in map(json.loads, lines)}


@pytest.fixture(scope="module")
def folder(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("ukparl") / "uk"
    write_build(built(shared_data), place)
    return place


def pairs_of(path: Path) -> set[tuple[str, str]]:
    rows = (line.split("\t") for line in path.read_text().splitlines())
    return {(row[0], row[2]) for row in rows}


def flat(text: str) -> str:
    return " ".join(text.replace("|", " ").split())


def test_counts_beside_those_published(shared_data: Path) -> None:
    made = built(shared_data)
    corpus, queries, qrels = made.tables.corpus, made.tables.queries, made.tables.qrels or {}
    assert (len(corpus), len(queries)) == (2989, 2989)
    assert sum(row["truncated"] for row in corpus) == 1717
    assert sum(row["is_correction"] for row in corpus) == 8
    assert [len(qrels[f"answer_{split}"]) for split in ("train", "dev", "test")] == [1164, 455, 1370]
    sizes = {}
    for task in ("cite", "precedent", "followup"):
        rows = [row for split in ("train", "dev", "test") for row in qrels[f"{task}_{split}"]]
        sizes[task] = len({query for query, _, _ in rows}), len(rows)
    assert sizes == {"cite": (58, 59), "precedent": (4, 4), "followup": (53, 57)}
    days = [row["date"] for row in queries], [row["date"] for row in corpus]
    assert (min(days[0]), max(days[0])) == ("2023-12-01", "2023-12-19")
    assert (min(days[1]), max(days[1])) == ("2023-12-05", "2024-05-24")
    # Published are 306 and 111: ours masks numbers of the Lords and, above all, every address.
    masked = [sum("[MASKED]" in row["text"] for row in rows) for rows in (queries, corpus)]
    assert masked == [311, 249]


def test_judgements_are_those_published(shared_data: Path) -> None:
    for name in ("answer", "cite", "precedent", "followup"):
        for split in ("train", "dev", "test"):
            ours = {(query, doc) for query, doc, _ in (built(shared_data).tables.qrels or {})[f"{name}_{split}"]}
            assert ours == pairs_of(shared_data / HOME / "session_2023-24" / "qrels" / f"{name}_{split}.tsv")


def test_records_are_those_published_but_for_blanks_cells_and_days(shared_data: Path) -> None:
    made = built(shared_data)
    old = reference(shared_data, "queries")
    for row in made.tables.queries:
        same = ("raw_text", "date", "addressee", "uin", "answer", "split")
        assert [row[name] for name in same] == [old[row["_id"]][name] for name in same]
    # The first build keeps blanks at the end of a heading.
    assert sum(row["subject"] != old[row["_id"]]["subject"] for row in made.tables.queries) == 9
    assert all(flat(row["subject"]) == flat(old[row["_id"]]["subject"]) for row in made.tables.queries)
    old = reference(shared_data, "corpus")
    differing = [row for row in made.tables.corpus if row["raw_text"] != old[row["_id"]]["raw_text"]]
    # Cells apart by bars, and no-break blanks collapsed; the words are the same.
    assert len(differing) == 64
    assert sum("|" in row["raw_text"] for row in differing) == 39
    assert all(flat(row["raw_text"]) == flat(old[row["_id"]]["raw_text"]) for row in differing)
    same = ("truncated", "is_correction", "institution", "source_url")
    assert all([row[name] for name in same] == [old[row["_id"]][name] for name in same] for row in made.tables.corpus)


@pytest.mark.parametrize("rule", ["original", "corrected"])
def test_a_corrected_text_has_the_day_of_its_correction(shared_data: Path, rule: Any) -> None:
    # The source no longer gives the first texts, so both rules come to the same.
    found = records(shared_data / HOME / "raw", corrections=rule)
    assert {one.id: str(one.date) for one in found.answers if one.correction} == {
        id_: day for id_, (_, day) in CORRECTED.items()
    }
    old = reference(shared_data, "corpus")
    other = {
        one.id: (old[one.id]["date"], str(one.date)) for one in found.answers if str(one.date) != old[one.id]["date"]
    }
    assert other == CORRECTED


def test_twins_are_those_answered_together_and_more(shared_data: Path) -> None:
    made = built(shared_data).tables.equivalents
    twins = {row["_id"]: set(row["twin_question"]) for row in made}
    together = 0
    for id_, row in reference(shared_data, "equivalents").items():
        # The first build names twins by their answers.
        named = {one.removesuffix("-ASW") for one in row["twin_question"]}
        together += bool(named)
        assert named <= twins.get(id_, set()), id_
    assert together == 778
    assert sum(bool(found) for found in twins.values()) == 790
    boilerplate = {id_ for row in made for id_ in row["boilerplate"]}
    assert "wq-2023-12-08-6007-ASW" in boilerplate
    assert not any(set(row["duplicate_answer"]) & boilerplate for row in made)


def test_known_faults_of_the_first_build_are_mended(shared_data: Path) -> None:
    made = built(shared_data)
    texts = {row["_id"]: row["text"] for part in (made.tables.queries, made.tables.corpus) for row in part}
    assert "Question (a) [MASKED] tabled by" in texts["wq-2023-12-18-7292"]
    assert "questions-statements" not in texts["wq-2023-12-07-5891-ASW"]
    assert "response: [MASKED]. [MASKED] was" in texts["wq-2023-12-07-5844-ASW"]
    assert made.manifest["equivalents"]["answers cut short, nobody's equivalents"] == 1717


def test_what_masking_leaves(shared_data: Path) -> None:
    masking = built(shared_data).manifest["masking"]
    # "we have issued 5242 certificates": a number by chance.
    assert [leak["text"] for leak in masking["leaks"]["examples"]] == ["5242"]
    assert (masking["leaks"]["leaking"], masking["leaks"]["texts"]) == (1, 5978)
    assert masking["planted"] == {"planted": 1000, "found": 1000}


def test_every_record_is_accounted_for(shared_data: Path) -> None:
    found = records(shared_data / HOME / "raw")
    found.funnel.check("records", 2989)
    found.funnel.check("long texts", 840)
    assert found.funnel.dropped("long texts") == 0
    assert found.origin.revision.startswith("5d71eb08078d")
    assert Counter(one.holding for one in found.answers) == {False: 2989}
    assert sum(bool(one.other["holding_date"]) for one in found.answers) == 60


def test_a_rebuild_gives_the_same_bytes(folder: Path, shared_data: Path, tmp_path: Path) -> None:
    write_build(assemble(records(shared_data / HOME / "raw"), rules=RULES), tmp_path / "again")
    before, after = (
        file_digests(place, (path for path in place.rglob("*") if path.is_file()))
        for place in (folder, tmp_path / "again")
    )
    assert before == after
    assert len(before) > 20


def findings(folder: Path) -> list[Finding]:
    return list(assay.verify(assay.open(folder)))


def test_verify_finds_the_passage_that_dominates_and_no_error(folder: Path) -> None:
    found = findings(folder)
    assert [one.check for one in found if one.verdict == "error"] == []
    dominating = {one.check: one for one in found if one.check.startswith("passage-dominates")}
    cite = dominating["passage-dominates/cite"]
    assert cite.verdict == "warning"
    assert "wq-2023-12-06-5635-ASW" in cite.found
    assert "44 of 59 pairs" in cite.found
    assert dominating["passage-dominates/answer"].verdict == "ok"


@pytest.mark.parametrize(
    ("task", "split", "measure", "published", "ours"),
    [
        # Other texts alone: addresses masked, cells apart.
        ("answer", "dev", "RR@10", 0.3893, 0.3905),
        ("answer", "test", "RR@10", 0.4063, 0.4046),
        ("answer", "test", "R@10", 0.6109, 0.6131),
        # The mask token is declared and no longer searched for, which lifts the first build too, from 0.755 to 0.793.
        # The rest is one query of 53, wq-2023-12-13-6936: its answer rises from place 11 to 10, because an answer that
        # was corrected in January is no longer there to be found in December.
        ("followup", "all", "R@10", 0.755, 0.8113),
    ],
)
def test_bm25_beside_the_published_values(
    folder: Path, task: str, split: str, measure: str, published: float, ours: float
) -> None:
    asked = assay.open(folder).task(task, split=split)
    [scores] = assay.evaluate(assay.retrieve(asked, "bm25"), asked.qrels, [measure], resamples=100)
    assert scores.mean == pytest.approx(ours, abs=0.0005)
    assert abs(scores.mean - published) < (0.06 if task == "followup" else 0.003)
