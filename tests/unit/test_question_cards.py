"""Cards over JSON Lines and over question-level folders: what `publish check` sees, and what `datasets` reads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.audit import Finding
from assay.building.built import Built
from assay.building.records import Origin
from assay.building.removals import BuildTables
from assay.errors import FormatError
from assay.formats import front_matter, jsonl
from assay.formats.json_types import held
from assay.formats.rows import kinds_of, read_jsonl, read_parquet, write_jsonl, write_parquet
from assay.publishing import About, check, publish_questions, write_build
from assay.publishing.files import write_sums
from assay.sources import open_collection

CORPUS = [{"_id": "a", "text": "one", "date": "2024-01-02", "answers": []}]
TYPES = {"_id": "string", "text": "string", "date": "string", "answers": "list<string>"}


def carded(folder: Path, rows: list[dict[str, Any]], types: dict[str, str] | None, *, told: int | None = None) -> Path:
    """A folder with one JSON Lines config and a card written by hand; without `types` it declares none."""
    folder.mkdir(parents=True, exist_ok=True)
    jsonl.write_rows(rows, folder / "corpus.jsonl")
    info: dict[str, Any] = {"config_name": "corpus"}
    if types is not None:
        features = [
            {"name": n, "list": k[5:-1]} if k.startswith("list<") else {"name": n, "dtype": k} for n, k in types.items()
        ]
        info["features"] = features
    info["splits"] = [{"name": "test", "num_bytes": 1, "num_examples": len(rows) if told is None else told}]
    front: dict[str, Any] = {
        "language": ["en"],
        "license": "mit",
        "configs": [{"config_name": "corpus", "data_files": [{"split": "test", "path": "corpus.jsonl"}]}],
        "dataset_info": [info],
    }
    (folder / "README.md").write_text(front_matter.written(front), "utf-8")
    return folder


def found(folder: Path) -> dict[str, Finding]:
    return {finding.check: finding for finding in check(folder)}


def test_case_P02_a_number_in_the_place_of_an_id(tmp_path: Path) -> None:
    folder = carded(tmp_path, [{"_id": 1, "text": "x"}, {"_id": "2", "text": "y"}], None)
    assert "corpus/corpus.jsonl: _id must be text: line 1 has a number" in found(folder)["card/types"].offenders
    folder = carded(tmp_path, [{"_id": "1", "text": "x"}, {"_id": 2, "text": "y"}], {"_id": "string", "text": "string"})
    assert found(folder)["card/types"].offenders == ("corpus/corpus.jsonl: _id must be text: line 2 has a number",)


def test_case_A03_days_without_a_declared_type(tmp_path: Path) -> None:
    folder = carded(tmp_path, CORPUS, None)
    assert found(folder)["card/types"].offenders == (
        "corpus/corpus.jsonl: date reads as a timestamp, for the card declares no type; declare string",
        "corpus/corpus.jsonl: answers is a list that is empty in every row, for which readers make up a type; declare it",
    )
    told = found(carded(tmp_path, CORPUS, TYPES))
    assert (told["card/types"].verdict, told["card/times"].verdict) == ("ok", "warning")
    assert told["card/times"].offenders == ("corpus/corpus.jsonl: every text of date reads as a day",)


def test_case_P03_ids_like_days(tmp_path: Path) -> None:
    folder = carded(tmp_path, [{"_id": "2024-01-02", "text": "x"}], None)
    assert found(folder)["card/types"].offenders == (
        "corpus/corpus.jsonl: _id reads as a timestamp, for the card declares no type; declare string",
    )


def test_case_P05_rows_of_json_lines(tmp_path: Path) -> None:
    told = found(carded(tmp_path, CORPUS, TYPES, told=5))
    assert told["card/rows"].offenders == ("card says 5 rows for corpus/test, files have 1",)


@pytest.mark.parametrize(
    ("rows", "types", "says"),
    [
        ([{"_id": "a", "text": None}], None, "text is null in every row, for which readers make up a type; declare it"),
        ([{"_id": "a", "n": 1}, {"_id": "b", "n": "x"}], None, "n holds int and string; give every value one type"),
        ([{"_id": "a", "n": "x"}], {"_id": "string", "n": "int64"}, "n holds string in line 1, the card says int64"),
        ([{"_id": "a", "n": 1.5}], {"_id": "string", "n": "int64"}, "n holds float in line 1, the card says int64"),
        ([{"_id": "a", "n": 1}], {"_id": "string", "n": "string"}, "n holds int in line 1, the card says string"),
        (
            [{"_id": "a", "n": [1]}],
            {"_id": "string", "n": "list<string>"},
            "n holds list<int> in line 1, the card says",
        ),
        ([{"_id": "a", "n": 1}], {"_id": "string"}, "column n holds int, the card says nothing of it"),
        ([{"_id": "a"}], {"_id": "string", "n": "int64"}, "no column n"),
        ([{"_id": ["a"]}], None, "_id must be text: line 1 has a list"),
    ],
)
def test_every_row_is_held_against_the_card(
    rows: list[dict[str, Any]], types: dict[str, str] | None, says: str, tmp_path: Path
) -> None:
    [offender] = found(carded(tmp_path, rows, types))["card/types"].offenders
    assert says in offender


def test_rows_that_fit_are_fine(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"_id": "a", "date": "2024-01-02", "n": 1, "x": 1, "b": True, "l": ["2024-01-02"], "z": None},
        {"_id": "b", "date": "unknown", "n": None, "x": 0.5, "b": None, "l": None, "z": None},
    ]
    types = {"_id": "string", "date": "string", "n": "int64", "x": "float64", "b": "bool", "l": "list<string>"}
    told = found(carded(tmp_path, rows, {**types, "z": "string"}))
    assert {f.verdict for f in told.values()} <= {"ok", "skipped"}
    without = found(carded(tmp_path, [{k: v for k, v in row.items() if k != "z"} for row in rows], None))
    assert without["card/types"].verdict == "ok"


def test_a_line_that_is_no_object(tmp_path: Path) -> None:
    folder = carded(tmp_path, CORPUS, TYPES)
    (folder / "corpus.jsonl").write_text("\ufeff\n[1]\n", "utf-8")
    [finding] = check(folder)
    assert finding.check == "card/readable"
    assert "corpus.jsonl:2: not a JSON object" in finding.offenders[0]


# Rows with types

CHARACTERS = st.characters(codec="utf-8")
VALUES = st.one_of(st.none(), st.text(CHARACTERS, max_size=5))
ROWS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "a": VALUES,
            "n": st.none() | st.integers(-(2**63), 2**63 - 1),
            "b": st.none() | st.booleans(),
            "l": st.none() | st.lists(st.text(CHARACTERS, max_size=3), max_size=3),
        },
    ),
    max_size=6,
)


@given(rows=ROWS)
def test_both_formats_give_the_rows_back(rows: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("rows")
    kinds = kinds_of(rows, {"a": "string", "n": "int64", "b": "bool", "l": "list<string>"}, what="rows")
    whole = [{name: row.get(name) for name in kinds} for row in rows]
    write_jsonl(rows, kinds, folder / "a.jsonl")
    write_parquet(rows, kinds, folder / "a.parquet")
    assert list(read_jsonl(folder / "a.jsonl")) == whole
    assert list(read_parquet(folder / "a.parquet")) == whole
    assert held(folder / "a.jsonl").rows == len(rows)


def test_rows_of_one_column_have_one_type() -> None:
    with pytest.raises(FormatError, match=r"corpus row 2 \$\.x: expected text, got 1 \(1 such rows\)"):
        kinds_of([{"x": "a"}, {"x": 1}], {}, what="corpus")
    with pytest.raises(FormatError, match=r"corpus row 1 \$\.x: expected text, got date"):
        kinds_of([{"x": __import__("datetime").date(2024, 1, 2)}], {}, what="corpus")


# With the library that people load with

LOAD = """
import json, sys
import datasets
datasets.disable_progress_bars()
folder, cache, *configs = sys.argv[1:]
told = {}
for config in configs:
    loaded = datasets.load_dataset(folder, config, cache_dir=cache)
    told[config] = {
        split: {"rows": part.to_list(), "types": {n: str(t) for n, t in part.features.items()},
                "said": part.info.splits[split].num_bytes}
        for split, part in loaded.items()
    }
print(json.dumps(told))
"""


def loaded(folder: Path, cache: Path, *configs: str) -> Any:
    """What `datasets` reads, in a process of its own, from an empty cache and without a network."""
    variables = {"HF_HOME": str(cache), "HF_DATASETS_CACHE": str(cache / "datasets"), "HF_HUB_OFFLINE": "1"}
    words = [sys.executable, "-c", LOAD, str(folder), str(cache / "datasets"), *configs]
    done = subprocess.run(words, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def test_case_P01_every_config_has_the_rows_of_the_files(tmp_path: Path) -> None:
    """Also A03, P03 and P08: days stay days as text, null columns and empty lists have their types."""
    report = publish_questions(open_collection("demo:questions"), tmp_path / "tea", about=About(languages=("en",)))
    told = loaded(report.folder, tmp_path / "cache", *(config.name for config in report.configs))
    files = {"corpus": "corpus.jsonl", "queries": "queries.jsonl", "queries-xling": "queries_xling.jsonl"}
    for config in report.configs:
        assert set(told[config.name]) == set(config.splits)
        for split, part in told[config.name].items():
            task = config.name.removeprefix("qrels-")
            assert part["rows"] == lines(report.folder / files.get(config.name, f"qrels_jsonl/{task}_{split}.jsonl"))
            assert part["said"] == config.splits[split].size
            assert "Null" not in str(part["types"])
            assert "timestamp" not in str(part["types"])
    assert told["corpus"]["corpus"]["rows"][0]["date"] == "2020-12-22"
    assert told["corpus"]["corpus"]["types"]["answers"] == "List(Value('string'))"
    assert told["queries"]["queries"]["types"]["joint_size"] == "Value('int64')"

    # An edited file is seen as it is now, whatever a cache holds.
    file = report.folder / "corpus.jsonl"
    file.write_bytes(file.read_bytes().replace(b"hopper dredger", b"HOPPER DREDGER", 1))
    wrong = {f.check: f.offenders for f in check(report.folder) if f.verdict == "error"}
    assert wrong["card/sums"] == ("corpus.jsonl was changed",)


def test_columns_without_a_value_and_splits_without_a_line_load(tmp_path: Path) -> None:
    tables = BuildTables(
        corpus=[{"_id": "2020-01-01", "text": "reply"}],
        queries=[{"_id": "2020-01-02", "text": "question"}],
        qrels={"answer_dev": [], "answer_test": [("2020-01-02", "2020-01-01", 1)], "cite_test": []},
    )
    built = Built(tables, {}, Origin("bare", "", "", "CC0-1.0", "", ""))
    report = write_build(built, tmp_path / "out", about=About(languages=("en",)))
    told = loaded(report.folder, tmp_path / "cache", "corpus", "queries", "qrels-answer")
    assert told["corpus"]["corpus"]["rows"] == lines(report.folder / "corpus.jsonl")
    assert told["queries"]["queries"]["rows"] == lines(report.folder / "queries.jsonl")
    assert told["qrels-answer"]["test"]["rows"][0]["query_id"] == "2020-01-02"
    assert list(told["qrels-answer"]) == ["test"]
    assert {str(kind) for name, kind in told["queries"]["queries"]["types"].items() if name != "joint_size"} == {
        "Value('string')"
    }
    assert {f.verdict for f in check(report.folder)} == {"ok"}


def test_case_P05_a_lie_in_a_question_level_card(tmp_path: Path) -> None:
    folder = publish_questions(
        open_collection("demo:questions"), tmp_path / "tea", about=About(languages=("en",))
    ).folder
    card = folder / "README.md"
    card.write_text(card.read_text("utf-8").replace("num_examples: 199", "num_examples: 5", 1), "utf-8")
    write_sums(folder)
    wrong = {f.check: f.offenders for f in check(folder) if f.verdict == "error"}
    assert set(wrong) == {"card/rows", "card/text"}
    assert wrong["card/rows"] == ("card says 5 rows for corpus/corpus, files have 199",)


def test_a_table_that_no_config_has_is_told_in_a_folder_of_another_kind(tmp_path: Path) -> None:
    folder = carded(tmp_path, CORPUS, TYPES)
    jsonl.write_rows(CORPUS, folder / "more.jsonl")
    assert found(folder)["card/files"].offenders == ("more.jsonl is in no config",)


def test_days_in_json_lines_come_back_with_a_time(tmp_path: Path) -> None:
    """Why the configs are Parquet: a declared string does not keep `datasets` from reading a day as a point in time."""
    told = loaded(carded(tmp_path / "by-hand", CORPUS, TYPES), tmp_path / "cache", "corpus")
    assert told["corpus"]["test"]["types"]["date"] == "Value('string')"
    assert told["corpus"]["test"]["rows"][0]["date"] == "2024-01-02 00:00:00"
