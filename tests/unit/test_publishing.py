"""Publishing: folders that read back as they were, cards that their files prove, and cards that lie."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay import audits
from assay.collection import Collection
from assay.errors import DataError, FileError, FormatError, UsageError
from assay.formats import front_matter, jsonl, shards
from assay.publishing import About, check, chunk_level, publish
from assay.publishing.files import configs_of, write_split
from assay.qrels import Qrels
from assay.sources import open_collection
from assay.texts import Texts

ABOUT = About(title="Corvane", languages=("en",), licence="Apache-2.0")


def query(number: int, split: str, *fragments: tuple[str, int, int], answer: list[str] | None = None) -> dict[str, Any]:
    return {
        "query_id": f"q{number}",
        "query": f"what is {number}?",
        "answer": [f"word {number}"] if answer is None else answer,
        "score": [1 + n for n, _ in enumerate(fragments)],
        "source_url": [f[0] for f in fragments],
        "frag_start_char": [f[1] for f in fragments],
        "frag_end_char": [f[2] for f in fragments],
        "split": split,
    }


QUERIES = [
    query(0, "train", ("a", 0, 3)),
    query(1, "test", ("a", 3, 7), ("b", 0, 2)),
    query(2, "train", ("b", 1, 4)),
    query(3, "dev", ("b", 9, 10)),
    query(4, "test"),
]


def small(
    folder: Path, queries: list[dict[str, Any]] | None = None, *, ids: dict[tuple[str, int], str] | None = None
) -> Collection:
    """Two documents of two chunks, and queries in three splits that stand mixed."""
    texts = {"a": ["Größe", "😀 two"], "b": ["It is free.", "last"]}
    named = ids or {(document, place): f"{document}-{place}" for document in texts for place in (0, 1)}
    rows, inlined = [], []
    for document, pieces in texts.items():
        start = 0
        for place, text in enumerate(pieces):
            row = {"chunk_id": named[document, place], "chunk": text, "source_url": document, "title": document.upper()}
            row |= {"chunk_idx": place, "chunk_start_char": start, "chunk_end_char": start + len(text)}
            rows.append(row)
            inlined.append({**row, "chunk": text.replace("It is", "The permit is")})
            start += len(text) + 1
    folder.mkdir(parents=True, exist_ok=True)
    jsonl.write_rows(rows, folder / "documents.jsonl")
    jsonl.write_rows(inlined, folder / "documents_coref.jsonl")
    jsonl.write_rows(QUERIES if queries is None else queries, folder / "queries.jsonl")
    return open_collection(folder)


def failed(folder: Path) -> dict[str, tuple[str, ...]]:
    return {finding.check: finding.offenders for finding in check(folder) if finding.verdict == "error"}


def content(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def rows_of(folder: Path, config: str, split: str) -> list[dict[str, Any]]:
    files = sorted((folder / config).glob(f"{split}-*"))
    return [row for file in files for row in pq.read_table(file).to_pylist()]


def edited(folder: Path, old: str, new: str, name: str = "README.md") -> None:
    text = (folder / name).read_text("utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1), "utf-8")


# What is written


def test_a_published_folder_has_the_published_columns_split_by_split(tmp_path: Path) -> None:
    report = publish(small(tmp_path / "in"), tmp_path / "out", about=ABOUT)
    assert [(c.name, {s: split.rows for s, split in c.splits.items()}) for c in report.configs] == [
        ("documents", {"test": 4}),
        ("documents_coref", {"test": 4}),
        ("queries", {"dev": 1, "test": 2, "train": 2}),
    ]
    documents = {
        "chunk_id": "string",
        "chunk": "string",
        "source_url": "string",
        "title": "string",
        "chunk_idx": "int64",
        "chunk_start_char": "int64",
        "chunk_end_char": "int64",
    }
    assert list(report.configs[0].columns.items()) == list(documents.items())
    assert report.configs[1].columns == report.configs[0].columns
    assert report.configs[2].columns == {
        "query_id": "string",
        "query": "string",
        "answer": "list<string>",
        "score": "list<int64>",
        "source_url": "list<string>",
        "frag_start_char": "list<int64>",
        "frag_end_char": "list<int64>",
    }
    assert sorted(content(tmp_path / "out")) == [
        "README.md",
        "SHA256SUMS",
        "build_manifest.json",
        "documents/test-00000-of-00001.parquet",
        "documents_coref/test-00000-of-00001.parquet",
        "queries/dev-00000-of-00001.parquet",
        "queries/test-00000-of-00001.parquet",
        "queries/train-00000-of-00001.parquet",
    ]
    assert rows_of(tmp_path / "out", "queries", "test")[0] == {k: v for k, v in QUERIES[1].items() if k != "split"}
    assert rows_of(tmp_path / "out", "documents_coref", "test")[2]["chunk"] == "The permit is free."
    assert not failed(tmp_path / "out")


def test_a_published_folder_reads_back_equal(tmp_path: Path) -> None:
    collection = small(tmp_path / "in")
    report = publish(collection, tmp_path / "out", about=ABOUT)
    back = open_collection(tmp_path / "out")
    assert back.digest == report.digest
    assert back.licence == "Apache-2.0"
    for view in ("plain", "coref"):
        assert back.passages.texts[view] == collection.passages.texts[view]
    assert back.passages.ids == collection.passages.ids
    assert sorted(back.queries.ids) == sorted(collection.queries.ids)
    assert set(back.tasks["passages"]) == set(collection.tasks["passages"]) == {"train", "dev", "test", "all"}
    for split, task in collection.tasks["passages"].items():
        assert sorted(back.tasks["passages"][split].qrels.triples()) == sorted(task.qrels.triples())
    assert back.tasks["passages"]["test"].qrels.triples() == [("q1", "a-0", 1), ("q1", "a-1", 1), ("q1", "b-0", 2)]
    again = publish(back, tmp_path / "again")
    assert (
        content(tmp_path / "again")["README.md"].split(b"## Provenance")[0]
        == content(tmp_path / "out")["README.md"].split(b"## Provenance")[0]
    )
    assert [c.columns for c in again.configs] == [c.columns for c in report.configs]
    for name in ("documents", "queries"):
        one, two = tmp_path / "out" / name, tmp_path / "again" / name
        assert content(one) == content(two)


def test_the_demo_collection_survives(tmp_path: Path) -> None:
    demo = open_collection("demo:chunks")
    report = publish(demo, tmp_path / "out", about=ABOUT)
    back = open_collection(tmp_path / "out")
    assert back.queries.ids == demo.queries.ids
    assert back.queries.columns["kind"] == demo.queries.columns["kind"]
    assert back.queries.columns["answer"].to_list() == demo.queries.columns["answer"].to_list()
    assert back.task().qrels.triples() == demo.task().qrels.triples()
    assert [f.cells[2:] for f in report.figures] == [(146, 174, 0, 170, 4, 183)] * 2
    assert rows_of(tmp_path / "out", "queries", "test")[0]["n_gold"] == 1
    assert not failed(tmp_path / "out")
    verdicts = {f.check: f.verdict for f in audits.verify(back, only=["manifest-true"])}
    assert verdicts == {"manifest-true/counts": "ok", "manifest-true/files": "ok"}
    card = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert "`half-judged/passages/test`" in card, "a warning of the audits stands in the card"


def test_real_data_keep_their_known_figures(tmp_path: Path, shared_data: Path) -> None:
    report = publish(open_collection(shared_data / "conditionalqa" / "seed_schema"), tmp_path / "out", about=ABOUT)
    assert [f.cells[2:] for f in report.figures] == [(271, 1165, 0, 1165, 0, 1165)]
    assert list(report.configs[1].columns) == [
        "query_id", "original_query", "query", "answer", "score", "source_url", "frag_start_char", "frag_end_char", "n_gold",
    ]  # fmt: skip
    assert not failed(tmp_path / "out")
    sums = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=tmp_path / "out", check=False)
    assert sums.returncode == 0


def test_a_rebuild_is_byte_identical_and_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    collection = small(tmp_path / "in")
    publish(collection, tmp_path / "one", about=ABOUT)
    publish(small(tmp_path / "in"), tmp_path / "two", about=ABOUT)
    assert content(tmp_path / "one") == content(tmp_path / "two")
    publish(small(tmp_path / "other", QUERIES[:3]), tmp_path / "one", about=ABOUT)
    assert not (tmp_path / "one" / "queries" / "dev-00000-of-00001.parquet").exists()
    publish(collection, tmp_path / "one", about=ABOUT)
    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_a_failure_leaves_the_earlier_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(small(tmp_path / "in"), tmp_path / "out", about=ABOUT)
    before = content(tmp_path / "out")

    def full(_: Path) -> None:
        raise FileError("no space left")

    monkeypatch.setattr(chunk_level, "write_sums", full)
    with pytest.raises(FileError, match="no space"):
        publish(small(tmp_path / "other", QUERIES[:3]), tmp_path / "out", about=ABOUT)
    assert content(tmp_path / "out") == before
    assert {p.name for p in tmp_path.iterdir()} == {"in", "other", "out"}


def test_large_tables_are_shards_that_read_back(tmp_path: Path) -> None:
    collection = open_collection("demo:chunks")
    report = publish(collection, tmp_path / "out", about=ABOUT, shard_bytes=30_000)
    files = report.configs[0].splits["test"].files
    assert [f.name for f in files] == [f"test-{n:05d}-of-{len(files):05d}.parquet" for n in range(len(files))]
    assert len(files) >= 3
    assert sum(pq.read_metadata(f).num_rows for f in files) == report.configs[0].rows == 481
    back = open_collection(tmp_path / "out")
    assert back.passages.ids == collection.passages.ids
    assert back.task().qrels.triples() == collection.task().qrels.triples()
    assert not failed(tmp_path / "out")
    files[1].unlink()
    with pytest.raises(FormatError, match=f"{len(files) - 1} of {len(files)} shards"):
        open_collection(tmp_path / "out")
    assert "first missing: 1" in failed(tmp_path / "out")["card/text"][0]


def test_row_groups_are_of_one_size(tmp_path: Path) -> None:
    write_split({"n": np.arange(25_000)}, tmp_path / "numbers", "test")
    metadata = pq.read_metadata(tmp_path / "numbers" / "test-00000-of-00001.parquet")
    assert [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)] == [10_000, 10_000, 5_000]
    (config,) = configs_of(tmp_path)
    assert (config.rows, config.columns) == (25_000, {"n": "int64"})


def test_shards_are_apart_by_split(tmp_path: Path) -> None:
    for split, rows in (("dev", 1), ("train", 2)):
        for shard in range(rows):
            name = f"queries/{split}-{shard:05d}-of-{rows:05d}.jsonl"
            (tmp_path / "queries").mkdir(exist_ok=True)
            jsonl.write_rows([{"x": split}], tmp_path / name)
    files = shards.files_of(tmp_path, "queries")
    assert [shards.split_of(file, "queries") for file in files] == ["dev", "train", "train"]
    assert shards.split_of(Path("queries/part-00000-of-00002.parquet"), "queries") == ""
    assert shards.split_of(Path("queries/queries-00000-of-00002.parquet"), "queries") == ""
    assert shards.split_of(Path("other/train-00000-of-00002.parquet"), "queries") == ""
    files[1].unlink()
    with pytest.raises(FormatError, match="1 of 2 shards like train-00001"):
        shards.files_of(tmp_path, "queries")


# What is left out, and what is refused


def test_what_the_layout_has_no_place_for_is_counted(tmp_path: Path) -> None:
    collection = small(tmp_path / "in", [*QUERIES, query(9, "", ("a", 0, 2))])
    dates = np.array(["2024-01-02", "NaT", "NaT", "2024-01-03"], "datetime64[D]")
    passages = replace(collection.passages, dates=dates, texts={**collection.passages.texts, "raw": Texts.of("abcd")})
    report = publish(replace(collection, passages=passages), tmp_path / "out", about=ABOUT)
    left = {"queries without a split": 1, "dates of chunks": 2, "texts of the view 'raw' of chunks": 4}
    assert report.left_out == left
    assert "left out: dates of chunks | 2 |" in (tmp_path / "out" / "README.md").read_text("utf-8")
    assert "q9" not in open_collection(tmp_path / "out").queries.ids


@pytest.mark.parametrize(("split", "says"), [("all", "cannot be called 'all'"), ("train-v2", "'train-v2' is no name")])
def test_splits_that_readers_refuse_are_refused(split: str, says: str, tmp_path: Path) -> None:
    collection = small(tmp_path / "in", [query(0, split, ("a", 0, 3)), query(1, "test", ("a", 0, 3))])
    with pytest.raises(UsageError, match=says):
        publish(collection, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_own_folder_and_foreign_folders_are_refused(tmp_path: Path) -> None:
    collection = small(tmp_path / "in")
    with pytest.raises(UsageError, match="holds the collection itself"):
        publish(collection, tmp_path / "in")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(FileError, match="holds other files"):
        publish(collection, tmp_path / "mine")
    publish(collection, tmp_path / "out")
    (tmp_path / "out" / ".git").mkdir()
    with pytest.raises(UsageError, match="is a git checkout, which would be lost"):
        publish(collection, tmp_path / "out")
    with pytest.raises(UsageError, match="needs passages with spans and gold fragments"):
        publish(open_collection("demo:questions"), tmp_path / "out")


def test_judgements_that_fragments_do_not_give_are_refused(tmp_path: Path) -> None:
    collection = small(tmp_path / "in")
    task = collection.tasks["passages"]["test"]
    fewer = replace(task, qrels=Qrels.of([("q1", "a-0", 1)]))
    changed = replace(collection, tasks={"passages": {**collection.tasks["passages"], "test": fewer}})
    with pytest.raises(UsageError, match=r"not those that its fragments give by the rule any \(split test\)"):
        publish(changed, tmp_path / "out")


def test_the_gold_rule_of_a_manifest_is_kept_and_said(tmp_path: Path) -> None:
    small(tmp_path / "in")
    jsonl.write_object({"gold_rule": "whole"}, tmp_path / "in" / "build_manifest.json")
    report = publish(open_collection(tmp_path / "in"), tmp_path / "out", about=ABOUT)
    test = next(f for f in report.figures if f.split == "test")
    assert (test.fragments, test.in_none, test.in_one) == (2, 1, 1), "a fragment over two chunks is whole in none"
    card = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert "at least one character and all of the fragment's characters with it (rule `whole`)" in card
    assert not failed(tmp_path / "out")


def test_a_wrong_count_of_fragments_is_refused(tmp_path: Path) -> None:
    collection = small(tmp_path / "in", [{**QUERIES[0], "n_gold": 7}, QUERIES[1] | {"n_gold": 2}])
    with pytest.raises(DataError, match="query q0: n_gold says 7, it has 1 fragments"):
        publish(collection, tmp_path / "out")


# Cases


def test_case_C07_inlined_texts_are_published_with_the_plain_offsets(tmp_path: Path) -> None:
    publish(small(tmp_path / "in"), tmp_path / "out", about=ABOUT)
    plain, coref = (rows_of(tmp_path / "out", name, "test")[2] for name in ("documents", "documents_coref"))
    assert (plain["chunk"], plain["chunk_start_char"], plain["chunk_end_char"]) == ("It is free.", 0, 11)
    assert (coref["chunk"], coref["chunk_start_char"], coref["chunk_end_char"]) == ("The permit is free.", 0, 11)
    findings = audits.verify(open_collection(tmp_path / "out"), only=["offsets-true"])
    assert {f.verdict for f in findings} == {"ok"}
    card = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert "`documents_coref` has the chunks and offsets of `documents`" in card


def test_case_P05(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "test.jsonl").write_text('{"_id": "1", "text": "x"}\n')
    card = {
        "language": ["en"],
        "license": "mit",
        "configs": [{"config_name": "corpus", "data_files": [{"split": "test", "path": "data/test.jsonl"}]}],
        "dataset_info": [
            {
                "config_name": "corpus",
                "features": [{"name": "_id", "dtype": "string"}, {"name": "text", "dtype": "string"}],
                "splits": [{"name": "test", "num_bytes": 1, "num_examples": 5}],
            }
        ],
    }
    (tmp_path / "README.md").write_text(front_matter.written(card))
    findings = {f.check: f for f in check(tmp_path)}
    assert findings["card/rows"].offenders == ("card says 5 rows for corpus/test, files have 1",)
    assert "generated from the files" in findings["card/rows"].advice
    card["dataset_info"][0]["splits"][0]["num_examples"] = 1  # type: ignore[index]
    (tmp_path / "README.md").write_text(front_matter.written(card))
    assert not failed(tmp_path)
    (tmp_path / "README.md").write_text(front_matter.written({**card, "dataset_info": card["dataset_info"][0]}))  # type: ignore[index]
    assert not failed(tmp_path), "a single config needs no list"


def test_case_P05_in_a_published_folder(tmp_path: Path) -> None:
    publish(small(tmp_path / "in"), tmp_path / "out", about=ABOUT)
    edited(tmp_path / "out", "num_examples: 4", "num_examples: 5")
    wrong = failed(tmp_path / "out")
    assert set(wrong) == {"card/rows", "card/sums", "card/text"}
    assert wrong["card/rows"] == ("card says 5 rows for documents/test, files have 4",)
    assert wrong["card/sums"] == ("README.md was changed",)
    assert set(wrong["card/text"]) == {"card: num_examples: 5", "files: num_examples: 4"}


def test_case_P08_a_list_that_is_empty_in_a_split_keeps_its_type(tmp_path: Path) -> None:
    queries = [query(0, "train", ("a", 0, 3), answer=["x"]), query(1, "test", ("a", 0, 3), answer=[]), query(2, "test")]
    publish(small(tmp_path / "in", [*queries[:2], {**queries[2], "answer": []}]), tmp_path / "out", about=ABOUT)
    for split in ("train", "test"):
        schema = pq.read_schema(tmp_path / "out" / "queries" / f"{split}-00000-of-00001.parquet")
        assert schema.field("answer").type == pa.list_(pa.field("element", pa.string()))
    assert not failed(tmp_path / "out")
    file = tmp_path / "out" / "queries" / "test-00000-of-00001.parquet"
    table = pq.read_table(file)
    nulls = pa.array([[] for _ in range(table.num_rows)], pa.list_(pa.null()))
    pq.write_table(table.set_column(table.column_names.index("answer"), "answer", nulls), file)
    wrong = failed(tmp_path / "out")
    assert wrong["card/types"] == (f"queries/{file.name}: column answer holds list<null>, the card says list<string>",)


def test_numbers_and_days_in_the_place_of_ids_are_told(tmp_path: Path) -> None:
    publish(small(tmp_path / "in"), tmp_path / "out", about=ABOUT)
    file = tmp_path / "out" / "documents" / "test-00000-of-00001.parquet"
    table = pq.read_table(file)
    pq.write_table(table.set_column(0, "chunk_id", pa.array([1, 2, 3, 4])), file)
    edited(tmp_path / "out", "- name: chunk_id\n    dtype: string", "- name: chunk_id\n    dtype: int64")
    assert failed(tmp_path / "out")["card/types"] == (
        f"documents/{file.name}: column chunk_id holds int64; ids and dates are text",
    )


def test_every_lie_of_a_card_is_told(tmp_path: Path) -> None:
    publish(small(tmp_path / "in"), tmp_path / "out", about=ABOUT)
    whole = content(tmp_path / "out")
    lies = {
        "num_bytes: ": ("num_bytes: 1", "card/sizes"),
        "download_size: ": ("download_size: 1", "card/sizes"),
        "n<1K": ("1K<n<10K", "card/sizes"),
        "path: documents/test-*": ("path: documents/tset-*", "card/files"),
        "split: dev": ("split: all", "card/files"),
        "list: string": ("list: int64", "card/types"),
        "- name: title\n    dtype: string\n  ": ("", "card/types"),
        "- en": ("- no", "card/texts"),
        "license: apache-2.0": ("license: 2.0", "card/texts"),
        "| `train` | `documents` | 2 | 2 |": ("| `train` | `documents` | 3 | 2 |", "card/text"),
    }
    for old, (new, told) in lies.items():
        edited(tmp_path / "out", old, new)
        assert told in failed(tmp_path / "out"), old
        (tmp_path / "out" / "README.md").write_bytes(whole["README.md"])
    assert not failed(tmp_path / "out")
    (tmp_path / "out" / "notes.jsonl").write_text("{}\n")
    wrong = failed(tmp_path / "out")
    assert wrong["card/files"] == ("notes.jsonl is in no config",)
    assert wrong["card/sums"] == ("notes.jsonl is not in SHA256SUMS",)


def test_a_card_that_cannot_be_read_is_one_finding(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="there is no folder"):
        check(tmp_path / "nowhere")
    assert "no file" in failed(tmp_path)["card/readable"][0]
    (tmp_path / "README.md").write_text("# Only a title\n")
    assert "no front matter" in failed(tmp_path)["card/readable"][0]
    (tmp_path / "README.md").write_text("---\nconfigs: [\n---\n")
    assert "not YAML" in failed(tmp_path)["card/readable"][0]
    (tmp_path / "README.md").write_text("---\nlanguage: en\nlanguage: de\n---\n")
    assert failed(tmp_path)["card/readable"] == ("README.md:3: the key 'language' stands twice",)


@pytest.mark.parametrize(
    "front",
    ["configs: 3", "configs:\n- a", "configs:\n- config_name: a\n  data_files: 3", "dataset_info: x", "dataset_info:\n- 1",
     "configs:\n- config_name: a\n  data_files:\n  - split: test\n    path: /etc/hosts",
     "dataset_info:\n  splits: 3\n  features: 4\nconfigs:\n- data_files: README.md"],
)  # fmt: skip
def test_odd_cards_are_findings_and_no_traceback(front: str, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(f"---\n{front}\n---\n")
    assert any(f.verdict in ("error", "warning") for f in check(tmp_path))


# The command line


def assay(*words: object, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Exit code and output of a command."""
    from assay.__main__ import main

    with mock.patch.object(sys, "argv", ["assay", "publish", *map(str, words)]), pytest.raises(SystemExit) as end:
        main()
    told = capsys.readouterr()
    return int(end.value.code or 0), told.out, told.err


def test_the_commands_publish_and_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small(tmp_path / "in")
    about = tmp_path / "about.toml"
    about.write_text('title = "Guides"\nlanguages = ["de"]\ntags = ["on"]\n')
    out = tmp_path / "out"
    words = ("chunk-level", tmp_path / "in", "--out", out, "--about", about, "--language", "no", "--licence", "MIT")
    code, printed, err = assay(*words, "--json", capsys=capsys)
    assert (code, err) == (0, "")
    told = json.loads(printed)
    assert sorted(told) == ["digest", "folder", "gold", "left_out", "tables"]
    assert told["digest"] == open_collection(out).digest
    assert told["tables"][-1] == {
        "config": "queries",
        "split": "train",
        "rows": 2,
        "bytes": (out / "queries" / "train-00000-of-00001.parquet").stat().st_size,
        "files": 1,
    }
    assert {g["split"]: g["gold_chunks"] for g in told["gold"] if g["view"] == "plain"} == {
        "dev": 1,
        "test": 3,
        "train": 2,
    }
    front, body = front_matter.read(out / "README.md")
    assert (front["pretty_name"], front["language"], front["license"], front["tags"]) == (
        "Guides",
        ["no"],
        "mit",
        ["on"],
    )
    assert body.startswith("\n# Guides\n")
    code, printed, _ = assay(*words, capsys=capsys)
    assert code == 0
    assert f"the card is {out / 'README.md'}" in printed

    code, printed, _ = assay("check", out, capsys=capsys)
    assert code == 0
    assert "the card says what the files hold" in printed
    edited(out, "num_examples: 4", "num_examples: 5")
    code, printed, _ = assay("check", out, capsys=capsys)
    assert code == 1
    assert "card says 5 rows for documents/test, files have 4" in printed
    code, printed, _ = assay("check", out, "--json", capsys=capsys)
    told = json.loads(printed)
    assert (code, told["ok"], told["folder"]) == (1, False, str(out))
    assert {f["check"] for f in told["findings"] if f["verdict"] == "error"} == {"card/rows", "card/sums", "card/text"}


def test_the_commands_refuse_with_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small(tmp_path / "in")
    for words, code, says in (
        (("chunk-level", tmp_path / "in", "--out", tmp_path / "in"), 2, "holds the collection itself"),
        (("chunk-level", "demo:questions", "--out", tmp_path / "out"), 2, "needs passages with spans"),
        (("chunk-level", tmp_path / "in", "--out", tmp_path / "out", "--language", "English"), 2, "no language code"),
        (
            ("chunk-level", tmp_path / "in", "--out", tmp_path / "out", "--about", tmp_path / "no.toml"),
            3,
            "there is no file",
        ),
        (("check", tmp_path / "nowhere"), 3, "there is no folder"),
    ):
        ended, out, err = assay(*words, capsys=capsys)
        assert (ended, out) == (code, ""), words
        assert err.startswith("error: ")
        assert says in err
    assert not (tmp_path / "out").exists()


# With the library that people load with

LOAD = """
import json, sys
import datasets
datasets.disable_progress_bars()
folder, cache, *configs = sys.argv[1:]
told = {}
for config in configs:
    try:
        loaded = datasets.load_dataset(folder, config, cache_dir=cache)
    except Exception as err:
        told[config] = type(err).__name__
        continue
    told[config] = {
        split: {"rows": part.to_list(), "types": {n: str(t) for n, t in part.features.items()},
                "bytes": part.data.nbytes, "said": part.info.splits[split].num_bytes}
        for split, part in loaded.items()
    }
print(json.dumps(told))
"""


def loaded(folder: Path, cache: Path, *configs: str) -> Any:
    """What `datasets` reads, in a process of its own that no network and no cache of the user reaches."""
    variables = {"HF_HOME": str(cache), "HF_DATASETS_CACHE": str(cache / "datasets"), "HF_HUB_OFFLINE": "1"}
    words = [sys.executable, "-c", LOAD, str(folder), str(cache / "datasets"), *configs]
    done = subprocess.run(words, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_case_P01_edited_files_are_read_as_they_are(tmp_path: Path) -> None:
    """Also P03 and P08: ids like dates stay text, an empty list column keeps its type in every split."""
    queries = [{**q, "answer": []} if q["split"] == "test" else q for q in QUERIES]
    days = {("a", 0): "2024-01-01", ("a", 1): "2024-01-02", ("b", 0): "2024-01-03", ("b", 1): "2024-01-04"}
    collection = small(tmp_path / "in", queries, ids=days)
    out = tmp_path / "out"
    report = publish(collection, out, about=ABOUT)
    names = [config.name for config in report.configs]
    told = loaded(out, tmp_path / "cache", *names)
    for config in report.configs:
        assert set(told[config.name]) == set(config.splits)
        for split, part in told[config.name].items():
            assert part["rows"] == rows_of(out, config.name, split)
            assert part["said"] == config.splits[split].size
            assert "Null" not in str(part["types"])
            assert "timestamp" not in str(part["types"])
    assert told["documents"]["test"]["rows"][0]["chunk_id"] == "2024-01-01"
    assert {part["types"]["answer"] for part in told["queries"].values()} == {"List(Value('string'))"}

    file = out / "documents" / "test-00000-of-00001.parquet"
    table = pq.read_table(file)
    new = pa.array(["new", *table["chunk"].to_pylist()[1:]])
    pq.write_table(table.set_column(1, "chunk", new), file)
    wrong = failed(out)
    assert f"documents/{file.name} was changed" in wrong["card/sums"], "our check reads the file, and no cache"
    again = loaded(out, tmp_path / "fresh", "documents")
    assert again["documents"]["test"]["rows"][0]["chunk"] == "new"

    shutil.rmtree(out)
    publish(collection, out, about=ABOUT)
    edited(out, "num_examples: 4", "num_examples: 5")
    assert loaded(out, tmp_path / "third", "documents") == {"documents": "NonMatchingSplitsSizesError"}
    assert failed(out)["card/rows"] == ("card says 5 rows for documents/test, files have 4",)
