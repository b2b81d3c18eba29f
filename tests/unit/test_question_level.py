"""Question-level folders: every column, nulls, empty lists and tasks, notices, and a text-only export that agrees."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow.parquet as pq
import pytest

from assay import audits, experiment
from assay.__main__ import main
from assay.building.built import CORPUS, EQUIVALENTS, META, QUERIES, TASKS, XLING, Built
from assay.building.records import Origin
from assay.building.removals import BuildTables
from assay.building.text_only import read_mapping
from assay.catalog import system
from assay.errors import AssayError, DataError, DuplicateIdError, FileError, FormatError, UnknownIdError, UsageError
from assay.formats import front_matter, jsonl
from assay.formats.runs import read_qrels
from assay.publishing import About, agreement, check, publish, publish_questions, write_build
from assay.publishing.about import QUESTIONS, read_about
from assay.publishing.question_tables import UNRESOLVED
from assay.sources import open_collection

EUROPE = Origin(
    name="EP questions",
    source="https://data.europarl.europa.eu",
    revision="2024-01-02",
    licence="CC-BY-4.0",
    attribution="© European Union, EP Open Data Portal",
    modified="Identifiers are masked.",
    parameters={"term": "9"},
)
WESTMINSTER = replace(
    EUROPE,
    name="UK questions",
    licence="CC-BY-4.0 AND LicenseRef-OPL-3.0",
    attribution="Contains Parliamentary information licensed under the Open Parliament Licence v3.0.",
)
ABOUT = About(languages=("no",), tags=("2176502",))
ODD = ('E-9-2020-000001/"x"', "E-9-2020-000002é", "2020-01-03", "{4}", "=5+1")
"""Ids of questions: quotes, letters beyond ASCII, a day, a brace, a formula."""


def reply(number: int, day: str | None, *answers: str, **rest: Any) -> dict[str, Any]:
    row = dict.fromkeys(CORPUS) | {"_id": f"{ODD[number]}-ASW", "text": f"reply {number} [MASKED]", "date": day}
    return row | {"raw_text": f"reply {number} E-1", "answers": list(answers)} | rest


def question(number: int, day: str, split: str | None, **rest: Any) -> dict[str, Any]:
    row = dict.fromkeys(QUERIES) | {"_id": ODD[number], "text": f"question {number}", "date": day, "split": split}
    return row | {"raw_text": f"question\u2028{number}", "answer": f"{ODD[number]}-ASW", "joint_size": 1} | rest


def tiny(origin: Origin = EUROPE, *, tables: Mapping[str, Any] | None = None, **manifest: Any) -> Built:
    """Five questions and replies, each column of the layout null somewhere and most everywhere."""
    qrels: dict[str, list[tuple[str, str, int]]] = {
        f"{task}_{split}": [] for task in TASKS for split in ("train", "dev", "test")
    } | {
        "answer_train": [(ODD[0], f"{ODD[0]}-ASW", 1), (ODD[1], f"{ODD[1]}-ASW", 1)],
        "answer_test": [(ODD[4], f"{ODD[4]}-ASW", 1)],
        "cite_test": [(ODD[4], f"{ODD[0]}-ASW", 2), (ODD[4], f"{ODD[3]}-ASW", 1)],
        "precedent_test": [(ODD[4], f"{ODD[0]}-ASW", 1)],
    }
    meta = dict.fromkeys(META) | {"query_id": ODD[4], "doc_id": f"{ODD[0]}-ASW", "referral": True, "tasks": ["cite"]}
    days = ("2020-01-01", "2020-01-02", "2020-01-03", "2020-01-04", "2020-06-05")
    replied = ("2020-02-01", "2020-02-02", None, "2020-06-05", "2020-07-05")
    whole: dict[str, Any] = {
        "corpus": [reply(n, day, ODD[n], cut=n == 1) for n, day in enumerate(replied)],
        "queries": [question(n, day, "test" if n == 4 else "train" if n < 2 else None) for n, day in enumerate(days)],
        "queries_xling": [dict.fromkeys(XLING) | {"_id": "x@fr", "query_id": ODD[4], "lang": "fr", "text": "quatre"}],
        "equivalents": [{"_id": ODD[0], **{name: [] for name in EQUIVALENTS[1:]}}],
        "precedent_meta": [meta],
        "qrels": qrels,
    }
    told = {"mask_token": "[MASKED]", "counts": {"corpus": 5, "queries": 5}, "funnel": FUNNEL, **manifest}
    unresolved = [{"citing_id": ODD[3], "cited": "E-1/99", "source": "text", "reason": "unknown"}]
    return Built(BuildTables(**{**whole, **(tables or {})}), told, origin, unresolved)


FUNNEL = {"link": {"in": 6, "kept": 5, "dropped": {"answers nothing": {"count": 1, "examples": ["E-7"]}}}}


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def content(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def failed(folder: Path) -> dict[str, tuple[str, ...]]:
    return {finding.check: finding.offenders for finding in check(folder) if finding.verdict == "error"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "out"
    write_build(tiny(), folder, about=ABOUT)
    return folder


# What is written


def test_every_file_has_every_column_in_order(made: Path) -> None:
    columns = {
        "corpus": (*CORPUS, "cut"),
        "queries": QUERIES,
        "queries_xling": XLING,
        "equivalents": EQUIVALENTS,
        "precedent_meta": META,
        "unresolved_citations": UNRESOLVED,
    }
    for name, wanted in columns.items():
        found = rows(made / f"{name}.jsonl")
        assert found
        assert {tuple(row) for row in found} == {wanted}, name
    built = tiny().tables
    assert rows(made / "corpus.jsonl") == built.corpus
    assert rows(made / "queries.jsonl") == built.queries
    assert rows(made / "corpus.jsonl")[0]["header"] is None


def test_null_and_empty_columns_keep_their_types(made: Path) -> None:
    corpus = pq.read_table(made / "data" / "corpus" / "corpus-00000-of-00001.parquet")
    assert {name: str(corpus.schema.field(name).type) for name in ("_id", "date", "header", "cut")} == {
        "_id": "string",
        "date": "string",
        "header": "string",
        "cut": "bool",
    }
    assert corpus["header"].null_count == 5
    assert corpus.to_pylist() == rows(made / "corpus.jsonl")
    queries = pq.read_table(made / "data" / "queries" / "queries-00000-of-00001.parquet")
    assert str(queries.schema.field("joint_size").type) == "int64"
    assert queries.to_pylist() == rows(made / "queries.jsonl")


def test_case_P08_lists_that_are_empty_everywhere_are_lists_of_text(tmp_path: Path) -> None:
    corpus = [{**row, "answers": []} for row in tiny().tables.corpus]
    write_build(tiny(tables={"corpus": corpus}), tmp_path / "out", about=ABOUT)
    table = pq.read_table(tmp_path / "out" / "data" / "corpus" / "corpus-00000-of-00001.parquet")
    assert str(table.schema.field("answers").type) == "list<element: string>"
    front, _ = front_matter.read(tmp_path / "out" / "README.md")
    [info] = [one for one in front["dataset_info"] if one["config_name"] == "corpus"]
    assert {"name": "answers", "list": "string"} in info["features"]
    assert not failed(tmp_path / "out")


def test_judgements_stand_in_both_forms(made: Path) -> None:
    assert (made / "qrels" / "cite_test.tsv").read_text(
        "utf-8"
    ) == f"{ODD[4]}\t0\t{ODD[0]}-ASW\t2\n{ODD[4]}\t0\t{ODD[3]}-ASW\t1\n"
    assert rows(made / "qrels_jsonl" / "cite_test.jsonl")[0] == {
        "query_id": ODD[4],
        "doc_id": f"{ODD[0]}-ASW",
        "relevance": 2,
    }
    names = [f"{task}_{split}" for task in TASKS for split in ("train", "dev", "test")]
    for name in names:
        one, two = (
            read_qrels(made / part / f"{name}.{end}") for part, end in (("qrels", "tsv"), ("qrels_jsonl", "jsonl"))
        )
        assert one.triples() == two.triples() == tiny().tables.qrels[name]  # type: ignore[index]


def test_empty_tasks_are_written_and_in_no_config(made: Path, tmp_path: Path) -> None:
    assert (made / "qrels" / "followup_test.tsv").read_bytes() == b""
    assert (made / "qrels_jsonl" / "followup_test.jsonl").read_bytes() == b""
    front, text = front_matter.read(made / "README.md")
    splits = {c["config_name"]: [f["split"] for f in c["data_files"]] for c in front["configs"]}
    assert splits == {
        "corpus": ["corpus"],
        "queries": ["queries"],
        "queries-xling": ["queries"],
        "qrels-answer": ["test", "train"],
        "qrels-cite": ["test"],
        "qrels-precedent": ["test"],
    }
    assert "`followup_test`" in text
    assert "`answer_dev`" in text
    nothing = dict.fromkeys(tiny().tables.qrels or {}, ())
    bare = {"qrels": nothing, "queries_xling": [], "equivalents": [], "precedent_meta": []}
    report = write_build(tiny(tables=bare), tmp_path / "bare", about=ABOUT)
    assert [config.name for config in report.configs] == ["corpus", "queries"]
    assert len(report.empty) == len(nothing)
    assert (tmp_path / "bare" / "equivalents.jsonl").read_bytes() == b""
    assert not failed(tmp_path / "bare")


def test_the_manifest_and_the_sums_are_true(made: Path) -> None:
    manifest = jsonl.read_object(made / "build_manifest.json")
    there = {name: hashlib.sha256(data).hexdigest() for name, data in content(made).items()}
    apart = {"build_manifest.json", "README.md", "SHA256SUMS"}
    assert manifest["files"] == {name: digest for name, digest in there.items() if name not in apart}
    assert manifest["publishing"] == {"text_only_seed": 1}
    assert manifest["source_parameters"] == {"term": "9"}
    assert manifest["funnel"] == FUNNEL
    assert manifest["rows"]["corpus.jsonl"] == 5
    done = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=made, capture_output=True, check=False)
    assert done.returncode == 0
    assert {f.verdict for f in check(made)} == {"ok"}
    assert not [
        f for f in audits.verify(open_collection(made), only=["manifest-true", "ids-unique"]) if f.verdict == "error"
    ]


def test_a_rebuild_has_equal_bytes_and_another_seed_other_ids(made: Path, tmp_path: Path) -> None:
    write_build(tiny(), tmp_path / "out", about=ABOUT)
    write_build(tiny(), tmp_path / "out", about=ABOUT)
    assert content(tmp_path / "out") == content(made)
    assert content(tmp_path / "out-mapping") == content(made.with_name("out-mapping"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "out-mapping"]
    write_build(tiny(), tmp_path / "other", about=ABOUT, text_only_seed=2, mapping=tmp_path / "ids.jsonl")
    assert (tmp_path / "other" / "textonly" / "corpus.jsonl").read_bytes() != content(made)["textonly/corpus.jsonl"]
    assert len(rows(tmp_path / "ids.jsonl")) == 11


def test_it_opens_as_what_was_built(made: Path) -> None:
    opened = open_collection(made)
    assert (opened.name, opened.licence, opened.revision) == ("EP questions", "CC-BY-4.0", "2024-01-02")
    assert list(opened.passages.ids) == [f"{id_}-ASW" for id_ in ODD]
    assert opened.counts["undated passages"] == 1
    assert opened.task("cite").rule == "passage date < date of the query's own answer"
    assert opened.task("cite_xling").qrels.triples()[0] == ("x@fr", f"{ODD[0]}-ASW", 2)
    assert opened.task("precedent").mask == ("[MASKED]",)


# Notices, datasheet, card


@pytest.mark.parametrize(
    ("origin", "named"),
    [
        (EUROPE, ["creativecommons.org/licenses/by/4.0", "© European Union", "Identifiers are masked."]),
        (WESTMINSTER, ["creativecommons.org/licenses/by/4.0", "open-parliament-licence", "Contains Parliamentary"]),
        (replace(EUROPE, licence="", attribution="", modified=""), ["No licence is stated", "states no change"]),
    ],
)
def test_licences_have_their_notices(origin: Origin, named: list[str], tmp_path: Path) -> None:
    write_build(tiny(origin), tmp_path / "out", about=ABOUT)
    text = (tmp_path / "out" / "LICENSE.md").read_text("utf-8")
    assert [part for part in named if part not in text] == []
    assert not failed(tmp_path / "out")


def test_case_P07_texts_of_the_card_stay_texts(made: Path) -> None:
    """A language that YAML reads as false, a tag of digits, a revision like a day."""
    front, _ = front_matter.read(made / "README.md")
    assert (front["language"], front["tags"], front["revision"]) == (["no"], ["2176502"], "2024-01-02")
    text = (made / "README.md").read_text("utf-8")
    assert "- 'no'\n" in text
    assert "revision: '2024-01-02'" in text


def test_case_P06_the_revision_that_was_read_is_recorded(made: Path) -> None:
    assert jsonl.read_object(made / "build_manifest.json")["revision"] == EUROPE.revision
    assert open_collection(made).revision == EUROPE.revision
    assert "| revision | 2024-01-02 |" in (made / "README.md").read_text("utf-8")


def test_the_datasheet_counts_and_leaves_open_what_nobody_said(made: Path, tmp_path: Path) -> None:
    text = (made / "DATASHEET.md").read_text("utf-8")
    for heading in ("Motivation", "Composition", "Collection process", "Uses", "Distribution", "Maintenance"):
        assert f"\n## {heading}\n" in text
    assert "\n## Preprocessing, cleaning, labelling\n" in text
    assert "| replies | 2020-02-01 | 2020-07-05 | 1 |" in text
    assert "| link: answers nothing |  |  | 1 |" in text
    assert "| `corpus` | `header` | 5 | 5 |" in text
    assert all(f"key `{key}` of `[datasheet]`" in text for key in QUESTIONS)
    file = tmp_path / "about.toml"
    file.write_text('languages = ["en"]\n[datasheet]\nfunding = "Nobody."\nmaintainer = "The library"\n', "utf-8")
    report = write_build(tiny(), tmp_path / "out", about=read_about(file))
    assert set(QUESTIONS) - set(report.open_questions) == {"funding", "maintainer"}
    text = (tmp_path / "out" / "DATASHEET.md").read_text("utf-8")
    assert "Nobody." in text
    assert "key `funding` of" not in text
    assert {f.verdict for f in check(tmp_path / "out")} == {"ok"}, "the answers are in the manifest too"


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ('[datasheet]\nfundin = "x"\n', "funding"),
        ("[datasheet]\nfunding = 1\n", "about.toml $.datasheet.funding: expected text, got 1"),
        ('datasheet = "x"\n', "about.toml $.datasheet: expected a table"),
    ],
)
def test_wrong_answers_of_the_datasheet(written: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "about.toml").write_text(written)
    with pytest.raises(AssayError, match=says.replace("$", r"\$")):
        read_about(tmp_path / "about.toml")


def test_the_page_lists_every_question_of_the_datasheet() -> None:
    page = (Path(__file__).parents[2] / "docs" / "datasheet.md").read_text("utf-8")
    table = page.partition("[datasheet]\n")[2].partition("```")[0]
    assert [line.split(" = ")[0] for line in table.splitlines()] == list(QUESTIONS)


# What is refused


def changed(table: str, row: int, **values: Any) -> dict[str, Any]:
    found = list(getattr(tiny().tables, table))
    found[row] = {**found[row], **values}
    return {table: found}


@pytest.mark.parametrize(
    ("tables", "error", "says"),
    [
        (changed("corpus", 1, _id=7), FormatError, r"corpus row 2 \$\._id: expected text, got 7 \(1 such rows\)"),
        (changed("queries", 4, date=20200605), FormatError, r"queries row 5 \$\.date: expected text, got 20200605"),
        (changed("queries", 0, joint_size="1"), FormatError, r'\$\.joint_size: expected a whole number, got "1"'),
        (changed("queries", 0, joint_size=True), FormatError, r"\$\.joint_size: expected a whole number, got true"),
        (changed("corpus", 0, answers="q"), FormatError, r"\$\.answers: expected a list of texts"),
        (changed("corpus", 0, answers=[1]), FormatError, r"\$\.answers: a list of texts holds 1"),
        (changed("corpus", 0, text=None), FormatError, r"corpus row 1 \$\.text: expected text, got null"),
        (changed("corpus", 4, cut="no"), FormatError, r"\$\.cut"),
        (changed("corpus", 0, text="\ud83d"), FormatError, r"corpus\.jsonl:1: a text has a lone surrogate \(U\+D83D\)"),
        (
            changed("corpus", 0, date="1 March"),
            FormatError,
            r"corpus\.jsonl:1 \$\.date: \"1 March\" is not an ISO date",
        ),
        (changed("corpus", 1, _id=f"{ODD[0]}-ASW"), DuplicateIdError, "lines 1 and 2 of corpus.jsonl"),
        ({"corpus": []}, DataError, "there is no reply"),
        ({"queries": []}, DataError, "there is no question"),
        ({"qrels": None}, UsageError, "has no judgements"),
        ({"qrels": {"answer/x_test": []}}, UsageError, "no TASK_SPLIT"),
        ({"qrels": {"answer_all": []}}, UsageError, "a split cannot be called 'all'"),
        ({"qrels": {"answer_test": [("q", "p", 1.5)]}}, FormatError, r"qrels answer_test row 1 \$\.relevance"),
        ({"qrels": {"answer_test": [("a b", "p", 1)]}}, FormatError, "holds a blank"),
        ({"qrels": {"answer_test": [("q", "p", 1), ("q", "p", 1)]}}, DuplicateIdError, "judged twice"),
    ],
)
def test_a_faulty_build_is_told_and_nothing_is_written(
    tables: dict[str, Any], error: type[AssayError], says: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=says):
        write_build(tiny(tables=tables), tmp_path / "out", about=ABOUT)
    assert not (tmp_path / "out").exists()
    assert list(tmp_path.iterdir()) == []


def test_a_manifest_that_lies_is_told_and_the_earlier_folder_stays(made: Path, tmp_path: Path) -> None:
    write_build(tiny(), tmp_path / "out", about=ABOUT)
    with pytest.raises(DataError, match="manifest says 6 rows for corpus, files have 5"):
        write_build(tiny(counts={"corpus": 6}), tmp_path / "out", about=ABOUT)
    assert content(tmp_path / "out") == content(made)
    assert content(tmp_path / "out-mapping") == content(made.with_name("out-mapping"))


def test_places_that_are_refused(made: Path, tmp_path: Path) -> None:
    (tmp_path / "git" / ".git").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for place, error, says in (
        ("git", UsageError, "is a git checkout"),
        ("other", FileError, "holds other files"),
        ("file", FileError, "is a file"),
    ):
        with pytest.raises(error, match=says):
            write_build(tiny(), tmp_path / place, about=ABOUT)
    with pytest.raises(UsageError, match="holds the collection itself"):
        publish_questions(open_collection(made), made)
    with pytest.raises(UsageError, match="holds the collection itself"):
        publish_questions(open_collection(made), made.parent)
    with pytest.raises(UsageError, match="keep the mapping of ids apart"):
        write_build(tiny(), tmp_path / "out", mapping=tmp_path / "out" / "textonly" / "ids.jsonl")
    with pytest.raises(FileError, match="cannot write"):
        write_build(tiny(), tmp_path / "out", mapping=tmp_path / "file" / "ids.jsonl")
    with pytest.raises(UsageError, match="is a folder"):
        write_build(tiny(), tmp_path / "out", mapping=tmp_path / "other")
    assert (tmp_path / "other" / "letter.txt").read_text() == "mine"
    assert not (tmp_path / "out").exists()


# Collections that are open


def test_a_collection_is_published_with_all_that_it_has(tmp_path: Path) -> None:
    demo = open_collection("demo:questions")
    report = publish_questions(demo, tmp_path / "tea", about=About(languages=("en",)))
    opened = open_collection(tmp_path / "tea")
    assert opened.digest == report.digest
    assert not failed(tmp_path / "tea")
    assert list(opened.queries.ids) == list(demo.queries.ids)
    assert opened.passages.texts["plain"] == demo.passages.texts["plain"]
    for name, splits in demo.tasks.items():
        for split, task in splits.items():
            mine = opened.task(name, split=split)
            assert sorted(mine.qrels.triples()) == sorted(task.qrels.triples())
            assert (mine.rule, mine.measures, mine.mask) == (task.rule, task.measures, task.mask)
            assert (mine.clusters == task.clusters).all()  # type: ignore[union-attr]
            assert (mine.classes == task.classes).all()  # type: ignore[union-attr]
    assert rows(tmp_path / "tea" / "queries_xling.jsonl")[0]["lang"] == "fr"
    assert rows(tmp_path / "tea" / "precedent_meta.jsonl")[0]["referral"] is True
    assert {row["joint_size"] for row in rows(tmp_path / "tea" / "queries.jsonl")} >= {1, 2}
    again = publish_questions(opened, tmp_path / "again", about=About(languages=("en",)))
    assert rows(again.folder / "queries.jsonl") == rows(tmp_path / "tea" / "queries.jsonl")


def test_collections_without_a_place_in_the_layout(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="publish chunk-level"):
        publish_questions(open_collection("demo:chunks"), tmp_path / "out")
    demo = open_collection("demo:questions")
    with pytest.raises(UsageError, match="nothing to publish"):
        publish_questions(replace(demo, tasks={}), tmp_path / "out")
    task = replace(demo.task("cite"), rule="by moonlight")
    with pytest.raises(UsageError, match="no as-of rule 'by moonlight'"):
        publish_questions(replace(demo, tasks={"cite": {"test": task}}), tmp_path / "out")
    free = replace(demo.task("cite"), asked=None, rule="")
    few = replace(demo, layout="toml", tasks={"cite": {"test": free}})
    publish_questions(few, tmp_path / "out")
    opened = open_collection(tmp_path / "out")
    assert opened.task("cite").asked is None
    assert jsonl.read_object(tmp_path / "out" / "build_manifest.json")["left_out_by_publishing"]


# The text-only export


def results(full: Any, folder: Path, task: str) -> tuple[experiment.Result, experiment.Result]:
    judging = experiment.Judging(resamples=1)
    opened = [full, open_collection(folder)]
    one, two = (experiment.run_system(c, c.task(task, split="test"), system("bm25"), judging=judging) for c in opened)
    return one, two


@pytest.fixture(scope="module")
def tea(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tea") / "tea"
    publish_questions(open_collection("demo:questions"), folder)
    return folder


def test_the_export_opens_with_the_rules_of_time(tea: Path) -> None:
    export, full = open_collection(tea / "textonly"), open_collection(tea)
    assert (export.layout, list(export.tasks)) != ("parlir", [])
    assert set(export.tasks) == set(full.tasks)
    mapping = read_mapping(tea.with_name("tea-mapping") / "textonly-ids.jsonl")
    for name, splits in full.tasks.items():
        for split, task in splits.items():
            mine = export.task(name, split=split)
            assert (mine.rule, mine.measures, mine.mask) == (task.rule, task.measures, task.mask)
            assert mine.views == ("text:plain",)
            home = sorted((mapping["query"][q], mapping["passage"][p], grade) for q, p, grade in mine.qrels.triples())
            assert home == sorted(task.qrels.triples())
            if task.asked is not None and mine.asked is not None:
                days = dict(zip(task.pool.ids, task.asked.tolist(), strict=True))
                theirs = {mapping["query"][q]: d for q, d in zip(mine.pool.ids, mine.asked.tolist(), strict=True)}
                assert theirs == days


@pytest.mark.parametrize("task", ["answer", "precedent", "cite", "cite_xling"])
def test_the_export_agrees_with_its_collection(tea: Path, task: str) -> None:
    mapping = read_mapping(tea.with_name("tea-mapping") / "textonly-ids.jsonl")
    full, text_only = results(open_collection("demo:questions"), tea / "textonly", task)
    found = agreement(full, text_only, mapping)
    assert [one.measure for one in found] == [s.measure for s in full.scores]
    assert all(one.holds for one in found)
    assert {one.queries for one in found} == {len(full.scores[0].queries)}


def test_a_difference_is_found_and_named(tea: Path) -> None:
    mapping = read_mapping(tea.with_name("tea-mapping") / "textonly-ids.jsonl")
    full, text_only = results(open_collection("demo:questions"), tea / "textonly", "cite")
    first = full.scores[0]
    value = first.expected.copy()
    value[3] += 0.5
    lied = replace(full, scores=(replace(first, expected=value), *full.scores[1:]))
    one, *others = agreement(lied, text_only, mapping)
    assert [d.query for d in one.differing] == [first.queries[3]]
    assert not one.holds
    assert all(other.holds for other in others)
    with pytest.raises(UsageError, match="different tasks"):
        agreement(replace(full, task="answer"), text_only, mapping)
    with pytest.raises(UsageError, match="share no measure"):
        agreement(replace(full, scores=()), text_only, mapping)
    with pytest.raises(UnknownIdError, match="the mapping has no query"):
        agreement(full, text_only, {"query": {}, "passage": {}})


def test_ties_of_real_questions_agree_too(shared_data: Path, tmp_path: Path) -> None:
    full = open_collection(shared_data / "uk_written_questions" / "session_2023-24")
    report = publish_questions(full, tmp_path / "uk")
    mapping = read_mapping(report.mapping)
    for task, tied in (("followup", 0), ("answer", 50)):
        found = agreement(*results(full, tmp_path / "uk" / "textonly", task), mapping)
        assert all(one.holds for one in found)
        assert max(len(one.reordered) for one in found) >= tied


def test_the_command_ends_with_1_where_the_export_differs(
    tea: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mapping = tea.with_name("tea-mapping") / "textonly-ids.jsonl"
    folder = tmp_path / "textonly"
    for file, data in content(tea / "textonly").items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(data)
    jsonl.write_rows([{**row, "text": "nothing"} for row in rows(folder / "corpus.jsonl")], folder / "corpus.jsonl")
    words = [
        "assay",
        "publish",
        "agree",
        "demo:questions",
        str(folder),
        "--mapping",
        str(mapping),
        "--task",
        "precedent",
    ]
    with mock.patch.object(sys, "argv", words), pytest.raises(SystemExit) as end:
        main()
    printed = capsys.readouterr().out
    assert end.value.code == 1
    assert "RR@10 differs: QW-2022-" in printed
    assert "the same expected value" not in printed
    with pytest.raises(UsageError, match="no reply says which question it answers"):
        publish_questions(open_collection(folder), tmp_path / "out")


@pytest.mark.parametrize(
    ("name", "line", "says"),
    [
        ("evaluator/passages.jsonl", {"_id": "p", "date": None}, "there is no text with the id 'p'"),
        ("evaluator/queries.jsonl", {"before": {"cite": "1 May"}}, r"\$\.before\.cite: '1 May' is not an ISO date"),
        ("evaluator/queries.jsonl", {"before": {"zite": "2020-01-01"}}, "names no rule for the task 'zite'"),
        ("evaluator/queries.jsonl", {"before": 3}, "expected an object of task to day"),
        ("text_only.json", {"as_of": 3}, "expected an object of task to its rule"),
    ],
)
def test_a_faulty_export_is_told(name: str, line: dict[str, Any], says: str, made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "textonly"
    for file, data in content(made / "textonly").items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(data)
    open_collection(folder)
    if name.endswith("jsonl"):
        found = rows(folder / name)
        jsonl.write_rows([{**found[0], **line}, *found[1:]], folder / name)
    else:
        jsonl.write_object({**jsonl.read_object(folder / name), **line}, folder / name)
    with pytest.raises(AssayError, match=says):
        open_collection(folder)


def test_a_chunk_level_folder_is_no_place_for_questions_alone(tmp_path: Path) -> None:
    """An earlier build of either kind is replaced whole: nothing of it is left."""
    publish(open_collection("demo:chunks"), tmp_path / "out", about=About(languages=("en",)))
    write_build(tiny(), tmp_path / "out", about=ABOUT)
    assert not (tmp_path / "out" / "documents").exists()
    assert not failed(tmp_path / "out")
