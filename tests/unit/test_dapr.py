"""DAPR from a hub on loopback: shards, gold, candidates, inlined texts, pinned and offline."""

from __future__ import annotations

import json
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay import download
from assay.errors import DigestError, DuplicateIdError, FormatError, UnavailableError, UnknownNameError
from assay.sources import dapr, open_collection
from hub import Hub, Repo

TOTAL = {"d": 3, "e": 2}


def passage(document: str, number: int, text: str, *, candidate: bool = True) -> dict[str, Any]:
    return {
        "_id": f"{document}-{number}",
        "text": text,
        "title": document.upper(),
        "doc_id": document,
        "paragraph_no": number,
        "total_paragraphs": TOTAL[document],
        "is_candidate": candidate,
    }


# The document d goes over the border of two shards; e begins behind it, its paragraphs swapped.
SHARDS = [
    [passage("d", 0, "four"), passage("d", 1, "😀é", candidate=False)],
    [passage("d", 2, ""), passage("e", 1, "last"), passage("e", 0, "first")],
]
QUERIES = {"train": [("t1", "why"), ("t2", "unjudged")], "test": [("q1", "what"), ("q2", "who")]}
QRELS = {"train": [("t1", "d-2", 1)], "test": [("q1", "e-1", 1), ("q1", "d-1", 2), ("q2", "d-0", 1)]}


def parquet(rows: list[dict[str, Any]]) -> bytes:
    stream = BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), stream)
    return stream.getvalue()


def lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def files_of(
    *, shards: Any = SHARDS, coref: Any = None, queries: Any = QUERIES, qrels: Any = QRELS, name: str = "MSMARCO"
) -> dict[str, bytes]:
    found = {f"{name}/corpus/test-{n:05}-of-{len(shards):05}.parquet": parquet(rows) for n, rows in enumerate(shards)}
    for split, rows in queries.items():
        found[f"{name}/queries/{split}.parquet"] = parquet([{"_id": id_, "text": text} for id_, text in rows])
    for split, judged in qrels.items():
        rows = [{"query_id": query, "corpus_id": passage, "score": score} for query, passage, score in judged]
        found[f"{name}/qrels/{split}.parquet"] = parquet(rows)
    if coref is not None:
        found[f"{name}/corpus_coref/0000.parquet"] = parquet(coref)
    return {**found, "README.md": b"#", "Genomics/corpus/0000.parquet": b"never fetched"}


def inlined(*, without: str = "", extra: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    rows = [{**row, "text": f"{row['text']}!"} for shard in reversed(SHARDS) for row in shard if row["_id"] != without]
    return [*rows, *({"_id": id_, "text": "?"} for id_ in extra)]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda _: None)


@pytest.fixture
def repo(hub: Hub) -> Repo:
    return hub.repo(dapr.REPO)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_subset_is_a_collection(repo: Repo, tmp_path: Path) -> None:
    commit = repo.commit(files_of(coref=inlined()))
    told: list[str] = []
    built = dapr.build("MSMARCO", tmp_path / "out", revision="main", told=told.append)
    assert built.commit == commit
    assert any(line.startswith("MSMARCO/corpus/test-00001-of-00002.parquet (2 of 2") for line in told)
    found = open_collection(tmp_path / "out")
    passages = found.passages
    assert list(passages.ids) == ["d-0", "d-1", "d-2", "e-0", "e-1"]
    assert passages.spans is not None
    # d is `four`, newline, two characters, newline, nothing; e is `first`, newline, `last`.
    assert passages.spans.start.tolist() == [0, 5, 8, 0, 6]
    assert passages.spans.end.tolist() == [4, 7, 8, 5, 10]
    assert passages.candidate is not None
    assert passages.candidate.tolist() == [True, False, True, True, True]
    assert passages.texts["coref"].to_list() == ["four!", "😀é!", "!", "first!", "last!"]
    assert passages[4] == ("e-1", "last", "E", "e", "")
    assert {s: task.qrels.triples() for s, task in found.tasks["passages"].items()} == {
        "train": [],
        "test": [("q1", "d-1", 2), ("q1", "e-1", 1), ("q2", "d-0", 1)],
        "all": [("q1", "d-1", 2), ("q1", "e-1", 1), ("q2", "d-0", 1)],
    }
    assert found.task("passages", split="test").eligibility.counts().tolist() == [4, 4]
    assert (found.revision, found.licence) == (commit, "Apache-2.0")
    assert found.source == "https://huggingface.co/datasets/UKPLab/dapr"
    assert dict(built.counts) == {
        "documents": 2,
        "chunks": 5,
        "chunks with an empty text": 1,
        "candidates": 4,
        "documents with another number of passages than total_paragraphs says": 0,
        "inlined texts": 5,
        "inlined texts that are empty": 0,
        "queries": 4,
        "queries of train": 2,
        "queries of test": 2,
        "queries without a judgement": 1,
        "judgements": 4,
        "judgements with a score below 1": 0,
        "judgements of an empty passage, which nothing can find": 1,
    }


def test_case_P06_built_again_offline_byte_by_byte(hub: Hub, repo: Repo, tmp_path: Path) -> None:
    """Offline, the pinned commit builds again although a newer one is in the cache; another one is an error."""
    old = repo.commit(files_of())
    newer = [[passage("e", 0, "newer"), passage("e", 1, "text")]]
    new = repo.commit(files_of(shards=newer, qrels={"test": [("q1", "e-0", 1)]}))
    unseen = repo.commit(files_of(shards=newer))
    dapr.build("MSMARCO", tmp_path / "online", revision=old)
    dapr.build("MSMARCO", tmp_path / "newer", revision=new)
    hub.asked.clear()
    dapr.build("MSMARCO", tmp_path / "offline", revision=old, offline=True)
    assert content(tmp_path / "offline") == content(tmp_path / "online") != content(tmp_path / "newer")
    assert open_collection(tmp_path / "offline").revision == old
    with pytest.raises(UnavailableError, match=rf"{unseen} is not in the cache"):
        dapr.build("MSMARCO", tmp_path / "offline", revision=unseen, offline=True)
    assert content(tmp_path / "offline") == content(tmp_path / "online")


def test_offline_a_file_that_was_not_fetched_is_named(repo: Repo, tmp_path: Path) -> None:
    commit = repo.commit(files_of())
    download.hub_commit(dapr.REPO, revision=commit)
    with pytest.raises(
        UnavailableError, match=r"queries/train\.parquet is not in the cache, and nothing may be fetched"
    ):
        dapr.build("MSMARCO", tmp_path / "out", revision=commit, offline=True)
    assert not (tmp_path / "out").exists()


def test_only_what_is_needed_is_fetched(hub: Hub, repo: Repo, tmp_path: Path) -> None:
    repo.commit(files_of())
    dapr.build("MSMARCO", tmp_path / "out", revision="main")
    assert sum(path.startswith("/cdn/") and method == "GET" for method, path, _ in hub.asked) == 6
    assert not any("Genomics" in path or "README" in path for _, path, _ in hub.asked)


def test_an_interrupted_build_leaves_what_was_there(hub: Hub, repo: Repo, tmp_path: Path) -> None:
    repo.commit(files_of())
    dapr.build("MSMARCO", tmp_path / "out", revision="main")
    before = content(tmp_path / "out")
    repo.commit(files_of(coref=inlined()))
    hub.fault(503, "/cdn/", times=100)
    with pytest.raises(UnavailableError, match="what is complete is not fetched twice"):
        dapr.build("MSMARCO", tmp_path / "out", revision="main")
    assert content(tmp_path / "out") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "out"]
    hub.faults.clear()
    dapr.build("MSMARCO", tmp_path / "out", revision="main")
    assert "documents_coref.parquet" in content(tmp_path / "out")


def test_a_corrupted_shard_is_found(hub: Hub, repo: Repo, tmp_path: Path) -> None:
    repo.commit(files_of())
    hub.fault("corrupt", "/cdn/", times=2)
    with pytest.raises(DigestError, match="came twice with SHA-256"):
        dapr.build("MSMARCO", tmp_path / "out", revision="main")
    assert not (tmp_path / "out").exists()
    dapr.build("MSMARCO", tmp_path / "out", revision="main")


def test_json_lines_and_the_other_folders(repo: Repo, tmp_path: Path) -> None:
    repo.commit(
        {
            "ConditionalQA-corpus/test/0000.jsonl": lines([row for shard in SHARDS for row in shard]),
            "ConditionalQA-queries/test/0000.jsonl": lines([{"_id": "q1", "text": "what", "note": "x"}]),
            "ConditionalQA-qrels/test/0000.jsonl": lines([{"query_id": "q1", "corpus_id": "d-0", "score": 0}]),
        }
    )
    built = dapr.build("ConditionalQA", tmp_path / "out", revision="main")
    assert open_collection(tmp_path / "out").task().qrels.triples() == [("q1", "d-0", 0)]
    assert built.counts["judgements with a score below 1"] == 1
    assert built.counts["values of column 'note' left out"] == 1


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"coref": inlined(without="d-1")}, FormatError, r"corpus_coref lacks 1 passages of the corpus \(d-1\) and has 0 that the corpus lacks \(none\)"),
        ({"coref": inlined(extra=("x-1", "x-2"))}, FormatError, r"lacks 0 passages of the corpus \(none\) and has 2 that the corpus lacks \(x-1, x-2\)"),
        ({"coref": [*inlined(), *inlined()]}, DuplicateIdError, "an inlined passage stands twice"),
        ({"qrels": {"test": [("q1", "d-9", 1)]}}, FormatError, r"lacks 1 of 1 judged passages \(first: d-9\)"),
        ({"qrels": {"test": [("q9", "d-0", 1)]}}, FormatError, r"test\.parquet row 1 \$\.query_id: 'q9': no such query"),
        ({"qrels": {"test": [("t1", "d-0", 1)]}}, FormatError, r"'t1': this query is of another split"),
        ({"qrels": {"test": [("q1", "d-0", 1), ("q1", "d-0", 1)]}}, DuplicateIdError, r"passage 'd-0' is judged twice for query 'q1' \(1 such"),
        ({"qrels": {"test": [("q1", "d-0", 0.5)]}}, FormatError, r"\$\.score: .*0\.5.*: grades are whole numbers"),
        ({"queries": {**QUERIES, "dev": [("q1", "other")]}}, DuplicateIdError, r"query id q1 appears at .* with different text"),
        ({"shards": [SHARDS[0], [*SHARDS[1], SHARDS[1][1]]]}, FormatError, r"paragraph 1 of document e stands twice"),
        ({"shards": list(reversed(SHARDS))}, FormatError, r"paragraph 0 of document d comes after paragraph 2; shards must"),
        ({"shards": [SHARDS[0], [*SHARDS[1], {**passage("e", 2, ""), "_id": "d-0"}]]}, DuplicateIdError, r"passage id 'd-0' stands at rows 1 and 6"),
        ({"shards": [[{**SHARDS[0][0], "_id": 1}]]}, FormatError, r"\$\._id: expected text, the column holds int64"),
        ({"shards": [[{"_id": "d-0", "text": "x"}]]}, FormatError, "no column 'doc_id'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(
    repo: Repo, tmp_path: Path, changes: dict[str, Any], error: type[Exception], said: str
) -> None:
    repo.commit(files_of(**changes))
    with pytest.raises(error, match=said):
        dapr.build("MSMARCO", tmp_path / "out", revision="main")
    assert not (tmp_path / "out").exists()


def test_a_document_cut_short_is_counted(repo: Repo, tmp_path: Path) -> None:
    repo.commit(files_of(shards=[SHARDS[0], SHARDS[1][:2]]))
    built = dapr.build("MSMARCO", tmp_path / "out", revision="main")
    assert built.counts["documents with another number of passages than total_paragraphs says"] == 1


def test_files_that_are_no_whole_set(repo: Repo, tmp_path: Path) -> None:
    whole = files_of()
    repo.commit({path: data for path, data in whole.items() if "00001-of" not in path})
    with pytest.raises(FormatError, match=r"test-00000-of-00002\.parquet are no complete set of numbered files"):
        dapr.build("MSMARCO", tmp_path / "out", revision="main")
    repo.commit({**whole, "MSMARCO/corpus/0000.parquet": parquet(SHARDS[0])})
    with pytest.raises(FormatError, match=r"corpus/0000\.parquet, .* are no complete set"):
        dapr.build("MSMARCO", tmp_path / "out", revision="main")
    with pytest.raises(UnknownNameError, match=r"there is no table of UKPLab/dapr@.* 'MIRACL/corpus'"):
        dapr.build("MIRACL", tmp_path / "out", revision="main")
    with pytest.raises(UnknownNameError, match="no subset of DAPR 'MSMarco'; did you mean 'MSMARCO'"):
        dapr.build("MSMarco", tmp_path / "out")


def run_command(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    from assay.__main__ import main

    monkeypatch.setattr(sys, "argv", ["assay", "build", *words])
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


def test_the_commands(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commit = repo.commit(files_of())
    words = ["dapr", "--subset", "MSMARCO", "--out", str(tmp_path / "out")]
    assert run_command(monkeypatch, *words, "--revision", "main", "--json") == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["revision"], record["counts"]["chunks"]) == (commit, 5)
    assert run_command(monkeypatch, *words, "--revision", commit, "--offline") == 0
    assert f"at commit {commit}" in capsys.readouterr().out
    assert run_command(monkeypatch, *words, "--offline") == 4
    assert f"{dapr.REVISION} is not in the cache" in capsys.readouterr().err
    raw = tmp_path / "raw"
    raw.mkdir()
    contents = ["<p>a < b, c > d</p>", "<p>e</p>"]
    (raw / "documents.json").write_text(json.dumps([{"url": "u", "title": "U", "contents": contents}]))
    for name in ("train", "dev"):
        found = {"id": name, "url": "u", "scenario": "s", "question": "q", "evidences": contents}
        (raw / f"{name}.json").write_text(json.dumps([found]))
    words = ["conditionalqa", "--raw", str(raw), "--out", str(tmp_path / "built")]
    assert run_command(monkeypatch, *words) == 0
    assert "the cleaners differ on 0-0; all are in build_manifest.json" in capsys.readouterr().out
    assert run_command(monkeypatch, *words, "--cleaner", "careful", "--json") == 0
    assert json.loads(capsys.readouterr().out)["cleaners_differ"] == ["0-0"]
    assert open_collection(tmp_path / "built").passages.texts["plain"][0] == "a < b, c > d"
