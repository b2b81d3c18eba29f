"""Releases of ParlIR: the shipped table, and a small release of the same layout on a hub on loopback."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import assay
from assay import download
from assay.__main__ import main
from assay.commits import Commit, Entry
from assay.download import pinned_commit, room_for
from assay.errors import (
    DataError,
    DigestError,
    FileError,
    FormatError,
    UnavailableError,
    UnknownNameError,
    UsageError,
)
from assay.reproduction import Publication, Published, Verdict, reproduce
from assay.sources import folder_of, is_name, open_collection
from assay.sources.parlir_releases import RELEASES, V1_COUNTS, Kind, Release, figures_of, institution_of
from assay.sources.releases import (
    mapping_of,
    open_release,
    release_commit,
    release_file,
    release_files,
    release_folder,
    release_of,
)
from hub import Hub, Repo

REPO = "group/made"
TAG = "a1" * 20
NAME, TEXTS, FILES = "parlir@made", "parlir@made-textonly", "parlir@made-evidence"


def answer(number: int, date: str, institution: str, asked: list[str]) -> dict[str, Any]:
    return {
        "_id": f"a{number}",
        "text": f"Answer {number} on fisheries, see [MASKED].",
        "raw_text": f"Answer {number} on fisheries, see E-1/2020.",
        "date": date,
        "institution": institution,
        "answers": asked,
        "header": "",
        "source_url": f"https://example.org/a{number}",
    }


def question(number: int, date: str, split: str | None, reply: str) -> dict[str, Any]:
    return {
        "_id": f"q{number}",
        "subject": f"Nets {number}",
        "text": f"Question {number} on fisheries?",
        "raw_text": f"Question {number} on fisheries?",
        "date": date,
        "source_url": f"https://example.org/q{number}",
        "type": "E",
        "term": 9,
        "addressee": "Commission",
        "author": ["A", "B"],
        "orig_lang": "fr",
        "orig_lang_src": "api",
        "answer": reply,
        "header": "",
        "split": split,
        "joint_size": 1,
    }


CORPUS = [
    answer(1, "2020-02-01", "Commission", ["q1"]),
    answer(2, "2021-02-01", "Council", ["q2"]),
    answer(3, "2022-02-01", "Commission", ["q3", "q4"]),
    answer(4, "2019-02-01", "", ["q5"]),
]
QUERIES = [
    question(1, "2020-01-01", "train", "a1"),
    question(2, "2021-01-01", "dev", "a2"),
    question(3, "2022-01-01", "test", "a3"),
    question(4, "2022-01-02", "test", "a3"),
    question(5, "2019-01-01", None, "a4"),
]
XLING = [
    {"_id": "x3", "query_id": "q3", "lang": "de", "text": "Frage zur Fischerei?", "raw_text": "Frage zur Fischerei?"},
    {"_id": "x4", "query_id": "q4", "lang": "it", "text": "Domanda sulla pesca?", "raw_text": "Domanda sulla pesca?"},
]
QRELS = {
    "answer_train": "q1 0 a1 1\n",
    "answer_dev": "q2 0 a2 1\n",
    "answer_test": "q3 0 a3 1\nq4 0 a3 1\n",
    "precedent_test": "q3 0 a1 1\nq3 0 a2 1\n",
}
COUNTS = {
    "answers": 4,
    "answers of Commission": 2,
    "answers of Council": 1,
    "answers of unknown": 1,
    "questions with a split": 4,
    "questions of test": 2,
    "queries of answer/test": 2,
    "pairs of answer/test": 2,
    "queries of precedent/test": 1,
    "pairs of precedent/test": 2,
    "cross-lingual texts": 2,
    "languages of cross-lingual texts": 2,
}
RUN = b"q3 Q0 a3 1 2.0 stored\nq3 Q0 a1 2 1.0 stored\nq4 Q0 a2 1 1.0 stored\nq4 Q0 a3 2 0.5 stored\n"


def lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def collection_files(**changed: bytes | None) -> dict[str, bytes]:
    """The files below the release's folder, without the manifest."""
    found: dict[str, bytes | None] = {
        "corpus.jsonl": lines(CORPUS),
        "queries.jsonl": lines(QUERIES),
        "queries_xling.jsonl": lines(XLING),
        "equivalents.jsonl": lines([{"_id": "q3", "twin_question": ["q4"], "duplicate_answer": [], "boilerplate": []}]),
        "precedent_meta.jsonl": lines([{"query_id": "q3", "doc_id": "a1"}, {"query_id": "q3", "doc_id": "a2"}]),
        **{f"qrels/{name}.tsv": text.encode() for name, text in QRELS.items()},
        **{name.replace("__", "/").replace("_jsonl", ".jsonl"): data for name, data in changed.items()},
    }
    return {name: data for name, data in found.items() if data is not None}


def released(files: Mapping[str, bytes], manifest: Any = None) -> dict[str, bytes]:
    """The whole repository: the release with its manifest, siblings that are never needed, and other folders."""
    stated = (
        {"name": "made", "files": {name: sha(data) for name, data in files.items()}} if manifest is None else manifest
    )
    stream = BytesIO()
    pq.write_table(pa.Table.from_pylist([{"_id": "other"}]), stream)
    below = {**files, "build_manifest.json": json.dumps(stated).encode(), "corpus.parquet": stream.getvalue()}
    below["qrels_jsonl/answer_test.jsonl"] = b'{"query_id": "q3", "passage_id": "a1", "score": 1}\n'
    texts = {
        "corpus.jsonl": lines([{"_id": "p1", "text": "One."}, {"_id": "p2", "text": "Two."}]),
        "queries.jsonl": lines([{"_id": "r1", "text": "Which?"}]),
        "qrels/answer_test.tsv": b"r1 0 p2 1\n",
        "evaluator/passages.jsonl": lines([{"_id": "p1", "date": "2020-01-01"}, {"_id": "p2", "date": "2020-01-02"}]),
        "evaluator/queries.jsonl": lines([{"_id": "r1", "date": "2020-01-01", "before": {}}]),
        "corpus.parquet": b"never fetched",
    }
    return {
        "README.md": b"# card\n",
        **{f"v0/{name}": data for name, data in below.items()},
        **{f"v0/textonly/{name}": data for name, data in texts.items()},
        "v0/textonly-provenance/mapping.jsonl": lines([{"kind": "passage", "_id": "p1", "original": "a1"}]),
        "v0/experiments/bm25/answer_test.trec": RUN,
        "v0/experiments/bm25/a[1].trec": RUN,
        "v0/experiments/dense/vectors.parquet": bytes(range(256)) * 400,
    }


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda _: None)


@pytest.fixture
def hub(hub: Hub) -> Hub:
    hub.page = 50
    return hub


@pytest.fixture
def repo(hub: Hub) -> Repo:
    return hub.repo(REPO)


@pytest.fixture
def publish(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Publishes files as the releases of these tests; what it returns is the commit."""

    def published(files: Mapping[str, bytes], counts: Mapping[str, int] = COUNTS) -> str:
        commit = repo.commit(files, TAG)
        for name, folder, kind, mapping in (
            (NAME, "v0", Kind.COLLECTION, ""),
            (TEXTS, "v0/textonly", Kind.TEXTS, "v0/textonly-provenance"),
            (FILES, "v0/experiments", Kind.FILES, ""),
        ):
            promised = counts if kind is Kind.COLLECTION else {}
            made = Release(name, REPO, TAG, commit[:12], folder, kind, promised, mapping)
            monkeypatch.setitem(RELEASES, name, made)
        return commit

    return published


def fetched(hub: Hub) -> set[str]:
    """The files that were asked for, as paths in the repository."""
    asked = {path for _, path, _ in hub.asked if "/resolve/" in path}
    return {path.split("/resolve/")[1].partition("/")[2] for path in asked}


def command(*words: object) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    argv = ["assay", *map(str, words)]
    with mock.patch("sys.argv", argv), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0), out.getvalue(), err.getvalue()
    raise AssertionError("the program did not exit")


# ---------------------------------------------------------------- the shipped table


def test_the_counts_of_v1_add_up() -> None:
    counts = V1_COUNTS
    institutions = ("Commission", "High Representative", "Council", "unknown")
    assert sum(counts[f"answers of {name}"] for name in institutions) == counts["answers"] == 76_536
    splits = [counts[f"questions of {split}"] for split in ("train", "dev", "test")]
    assert sum(splits) == counts["questions with a split"] == 78_309
    assert splits == [counts[f"pairs of answer/{split}"] for split in ("train", "dev", "test")]
    for split in ("train", "dev", "test"):
        assert counts[f"pairs of answerlenient/{split}"] > counts[f"pairs of answer/{split}"]
        for task in ("precedent", "cite"):
            # A referral is a citation, and what may be cited before the question may be cited before the reply.
            assert counts[f"pairs of {task}hc/{split}"] < counts[f"pairs of {task}/{split}"]
            assert counts[f"queries of {task}hc/{split}"] < counts[f"queries of {task}/{split}"]
            assert counts[f"queries of {task}/{split}"] <= counts[f"pairs of {task}/{split}"]
        assert counts[f"pairs of precedent/{split}"] < counts[f"pairs of cite/{split}"]
    assert len(counts) == 41


def test_the_shipped_releases_are_pinned() -> None:
    assert list(RELEASES) == ["parlir@v1.0", "parlir@v1.0-textonly", "parlir@v1.0-evidence-r5"]
    assert [release.kind for release in RELEASES.values()] == [Kind.COLLECTION, Kind.TEXTS, Kind.FILES]
    for name, release in RELEASES.items():
        assert (release.name, release.repo) == (name, "NaiveNeuron/parlir")
        assert len(release.tag) == 40
        assert len(release.begins) == 12
        assert set(release.tag + release.begins) <= set("0123456789abcdef")
        # A tag object is no commit.
        assert not release.tag.startswith(release.begins)
    assert len({release.tag for release in RELEASES.values()} | {r.begins for r in RELEASES.values()}) == 6


def test_an_unknown_release_is_told_near_names() -> None:
    with pytest.raises(UnknownNameError, match=r"no release 'parlir@v1'; did you mean 'parlir@v1.0'"):
        assay.open("parlir@v1")
    with pytest.raises(UnknownNameError, match=r"did you mean 'parlir@v1.0'"):
        open_collection("ParlIR@v1.0")
    with pytest.raises(UsageError, match=r"no collection parlir: .*parlir@v1\.0"):
        open_collection("parlir")
    with pytest.raises(
        UsageError, match=r"single files, .* and no collection: assay fetch parlir@v1\.0-evidence-r5 --list"
    ):
        open_collection("parlir@v1.0-evidence-r5")
    with pytest.raises(UsageError, match=r"parlir@v1\.0 has no mapping of ids; parlir@v1\.0-textonly has one"):
        mapping_of("parlir@v1.0")
    assert [is_name(name) for name in ("parlir@v2", "./parlir@v2", "parlir@v2/answer", "RR@10")] == [True, *[False] * 3]
    assert release_of("parlir@v1.0").folder == "v1.0"


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Commission", "Commission"),
        ("European Commission", "Commission"),
        ("EU_COMMISSION", "Commission"),
        ("COM", "Commission"),
        ("High Representative", "High Representative"),
        ("Vice-President of the Commission / High Representative", "High Representative"),
        ("EU_REPRESENT_HIGH_PRESIDENT_COMMISSION_VICE", "High Representative"),
        ("VPHR", "High Representative"),
        ("HR/VP", "High Representative"),
        ("hr_vp", "High Representative"),
        ("VP-HR", "High Representative"),
        ("EEAS", "High Representative"),
        ("Council", "Council"),
        ("CONSIL", "Council"),
        ("", "unknown"),
        ("Unknown", "unknown"),
        ("unknown authority", "unknown authority"),
        ("Court of Auditors", "Court of Auditors"),
    ],
)
def test_institutions_by_text_or_code(said: str, name: str) -> None:
    assert institution_of(said) == name


# ---------------------------------------------------------------- a collection


def test_a_release_is_a_collection(hub: Hub, publish: Any) -> None:
    commit = publish(released(collection_files()))
    told: list[str] = []
    found = open_collection(NAME, told=told.append)
    assert (found.name, found.place, found.layout, found.revision) == (NAME, NAME, "parlir", commit)
    assert found.source == f"https://huggingface.co/datasets/{REPO}"
    assert {name: found.counts[name] for name in found.counts if "compared" in name or "does not list" in name} == {
        "files compared with build_manifest.json": 9,
        "files that build_manifest.json does not list": 1,
        "counts compared with the card": 12,
    }
    assert found.counts["queries without a split, in no task"] == 1
    assert found.counts["citations in precedent_meta"] == 2
    # Neither siblings in another format, nor what lies in other folders.
    assert fetched(hub) == {f"v0/{name}" for name in (*collection_files(), "build_manifest.json")}
    assert f"file 2 of 10: v0/corpus.jsonl, {len(lines(CORPUS)) / 1e6:.1f} MB" in told
    assert figures_of(found) == {
        **COUNTS,
        "questions of train": 1,
        "questions of dev": 1,
        **{f"{what} of answer/{split}": 1 for what in ("queries", "pairs") for split in ("train", "dev")},
        "queries of answer_xling/test": 2,
        "pairs of answer_xling/test": 2,
        "queries of precedent_xling/test": 1,
        "pairs of precedent_xling/test": 2,
    }
    with folder_of(found) as folder:
        assert folder == release_folder(NAME)
        assert sorted(path.name for path in folder.iterdir() if path.is_file()) == sorted(
            {name.split("/")[0] for name in collection_files() if "/" not in name} | {"build_manifest.json"}
        )


def test_opened_again_it_asks_for_nothing(hub: Hub, publish: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(released(collection_files()))
    first = open_release(NAME)
    hub.asked.clear()
    assert open_release(NAME).digest == first.digest
    assert open_release(NAME, offline=True).revision == first.revision
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert open_collection(NAME).digest == first.digest
    assert hub.asked == []


def test_case_P06_offline_only_the_published_commit(hub: Hub, repo: Repo, publish: Any, tmp_path: Path) -> None:
    """Offline, the published commit is opened or nothing is, though a newer one is in the cache."""
    publish(released(collection_files()))
    newer = repo.commit(released(collection_files(corpus_jsonl=lines(CORPUS[:3]))))
    download.hub_files(REPO, ["v0/*"], revision="main")
    hub.asked.clear()
    with pytest.raises(UnavailableError, match=rf"is not in the cache as a commit.*Commits there: {newer}"):
        open_release(NAME, offline=True)
    assert hub.asked == []
    assert open_release(NAME).counts["passages"] == 4
    assert open_release(NAME, offline=True).counts["passages"] == 4
    hub.asked.clear()
    with pytest.raises(UnavailableError, match=r"textonly/corpus\.jsonl is not in the cache"):
        open_release(TEXTS, offline=True)
    assert hub.asked == []


def test_offline_with_an_empty_cache(hub: Hub, publish: Any) -> None:
    publish(released(collection_files()))
    with pytest.raises(UnavailableError, match="Commits there: none"):
        open_release(NAME, offline=True)
    assert hub.asked == []


def test_a_tag_that_was_moved(hub: Hub, repo: Repo, publish: Any) -> None:
    commit = publish(released(collection_files()))
    newer = repo.commit(released(collection_files(corpus_jsonl=lines(CORPUS[:3]))), TAG)
    with pytest.raises(DigestError, match=rf"leads to commit {newer}, but commit {commit[:12]}… was published"):
        open_release(NAME)
    assert fetched(hub) == set()
    # Where the hub still finds the commit by its beginning, that is the one.
    repo.names[commit[:12]] = commit
    assert open_release(NAME).revision == commit


def test_a_release_that_was_taken_back(hub: Hub, repo: Repo, publish: Any) -> None:
    commit = publish(released(collection_files()))
    del repo.names[TAG]
    with pytest.raises(UnavailableError, match=f"knows neither revision {TAG} nor commit {commit[:12]}"):
        open_release(NAME)
    hub.repos.clear()
    with pytest.raises(UnavailableError, match="the hub has no such dataset, or it may be read with a token alone"):
        open_release(NAME)


@pytest.mark.parametrize("status", [401, 403])
def test_a_release_that_may_not_be_read(hub: Hub, publish: Any, status: int) -> None:
    publish(released(collection_files()))
    hub.fault(status, "/api/datasets/", times=9)
    with pytest.raises(UnavailableError, match=REPO):
        open_release(NAME)


@pytest.mark.parametrize("shape", ["digests", "objects", "list", "names in the repository", "prefixed"])
def test_digests_of_the_manifest_in_every_shape(publish: Any, shape: str) -> None:
    files = collection_files()
    right: Any = {name: sha(data) for name, data in files.items()}
    said = {
        "digests": lambda d: d,
        "objects": lambda d: {name: {"sha256": value, "rows": 4} for name, value in d.items()},
        "list": lambda d: [{"path": name, "sha256": value, "bytes": 1} for name, value in d.items()],
        "names in the repository": lambda d: {f"v0/{name}": value.upper() for name, value in d.items()},
        "prefixed": lambda d: {f"./{name}": f"sha256:{value}" for name, value in d.items()},
    }[shape]
    publish(released(files, {"files": said(right)}))
    found = open_release(NAME)
    assert found.counts["files compared with build_manifest.json"] == 9
    assert found.manifest["files"] == right
    wrong = {**right, "qrels/answer_dev.tsv": "0" * 64}
    publish(released(files, {"files": said(wrong)}))
    with pytest.raises(DigestError, match=r"1 of 10 files .*\n  v0/qrels/answer_dev\.tsv: [0-9a-f]{64}, listed 0{64}"):
        open_release(NAME)


@pytest.mark.parametrize(
    "files", ["none", ["corpus.jsonl"], {"corpus.jsonl": "abc"}, [{"sha256": "0" * 64}], {"./": "0" * 64}, {"a": 1}]
)
def test_digests_of_the_manifest_in_no_known_shape(publish: Any, files: Any) -> None:
    publish(released(collection_files(), {"files": files}))
    with pytest.raises(FormatError, match=r"v0/build_manifest\.json \$\.files: "):
        open_release(NAME)


def test_a_manifest_without_digests_is_counted(publish: Any) -> None:
    publish(released(collection_files(), {"name": "made", "files": {"corpus.jsonl": {"rows": 4}}}))
    assert open_release(NAME).counts["files that build_manifest.json does not list"] == 10


def test_counts_that_are_not_those_of_the_card(publish: Any) -> None:
    publish(released(collection_files(corpus_jsonl=lines([{**row, "institution": "Council"} for row in CORPUS]))))
    with pytest.raises(DataError) as caught:
        open_release(NAME)
    first, *rows = str(caught.value).split("\n")
    assert first.startswith("parlir@made: 3 of 12 counts of group/made@")
    assert rows[:4] == [
        "  answers of Commission: expected 2, found nothing to count (differs)",
        "  answers of Council: expected 1, found 4 (differs)",
        "  answers of unknown: expected 1, found nothing to count (differs)",
        "  answers: expected 4, found 4 (agrees)",
    ]
    assert len(rows) == 12


@pytest.mark.parametrize("missing", ["corpus", "queries", "queries_xling", "equivalents", "precedent_meta"])
def test_a_table_that_is_missing(publish: Any, hub: Hub, missing: str) -> None:
    files = {
        k: v for k, v in released(collection_files()).items() if k not in (f"v0/{missing}.jsonl", "v0/corpus.parquet")
    }
    publish(files)
    with pytest.raises(FileError, match=rf"parlir@made: .* has no {missing} in v0/; there is: "):
        open_release(NAME)
    assert fetched(hub) == set()


def test_judgements_or_the_manifest_that_are_missing(publish: Any) -> None:
    files = released(collection_files())
    publish({name: data for name, data in files.items() if "v0/qrels" not in name})
    with pytest.raises(FileError, match=r"has no qrels/TASK_SPLIT\.tsv in v0/"):
        open_release(NAME)
    publish({name: data for name, data in files.items() if name != "v0/build_manifest.json"})
    with pytest.raises(FileError, match=r"has no build_manifest\.json in v0/"):
        open_release(NAME)
    publish({name: data for name, data in files.items() if name != "v0/qrels/precedent_test.tsv"})
    with pytest.raises(FileError, match=r"lists qrels/precedent_test\.tsv, which .* does not have \(1 in all\)"):
        open_release(NAME)


def test_tables_in_parquet_and_judgements_as_rows(hub: Hub, publish: Any) -> None:
    stream = BytesIO()
    pq.write_table(pa.Table.from_pylist(CORPUS), stream)
    files = released(collection_files())
    del files["v0/corpus.jsonl"], files["v0/qrels/answer_test.tsv"]
    files["v0/corpus.parquet"] = stream.getvalue()
    rows = [{"query_id": "q3", "passage_id": "a3", "score": 1}, {"query_id": "q4", "passage_id": "a3", "score": 1}]
    files["v0/qrels_jsonl/answer_test.jsonl"] = lines(rows)
    publish(files)
    found = open_release(NAME)
    assert {"v0/corpus.parquet", "v0/qrels_jsonl/answer_test.jsonl"} <= fetched(hub)
    assert found.task("answer").qrels.triples() == [("q3", "a3", 1), ("q4", "a3", 1)]


def test_numbered_shards(hub: Hub, publish: Any) -> None:
    files = released(collection_files())
    del files["v0/corpus.jsonl"], files["v0/corpus.parquet"]
    parts = {f"v0/corpus-{n:05}-of-00002.jsonl": lines(CORPUS[2 * n : 2 * n + 2]) for n in range(2)}
    publish({**files, **parts})
    assert open_release(NAME).counts["passages"] == 4
    assert set(parts) <= fetched(hub)


def test_a_line_that_breaks_is_taken_up_where_it_broke(
    hub: Hub, publish: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 8)
    publish(released(collection_files()))
    hub.fault("drop", "v0/corpus.jsonl")
    assert open_release(NAME).counts["passages"] == 4
    ranges = [how for method, path, how in hub.asked if method == "GET" and path.endswith("v0/corpus.jsonl")]
    assert ranges == ["", f"bytes={len(lines(CORPUS)) // 2}-"]
    assert [path for path in (tmp_path / "cache").rglob("*") if path.suffix in (".incomplete", ".part")] == []


def test_a_hub_that_fails_in_the_middle_is_asked_for_the_rest_alone(hub: Hub, publish: Any) -> None:
    publish(released(collection_files()))
    hub.fault(500, "v0/queries.jsonl", times=99)
    with pytest.raises(UnavailableError, match=r"queries\.jsonl.*what is complete is not fetched twice"):
        open_release(NAME)
    hub.faults.clear()
    hub.asked.clear()
    assert open_release(NAME).counts["passages"] == 4
    assert "v0/queries.jsonl" in fetched(hub)
    assert "v0/corpus.jsonl" not in fetched(hub)


def test_a_file_that_was_damaged_in_the_cache(hub: Hub, publish: Any) -> None:
    publish(released(collection_files()))
    place = release_folder(NAME) / "corpus.jsonl"
    open_release(NAME)
    place.resolve().write_bytes(lines(CORPUS)[:-1] + b" ")
    with pytest.raises(DigestError, match="the cached file is damaged"):
        open_release(NAME, offline=True)
    assert open_release(NAME).counts["passages"] == 4


# ---------------------------------------------------------------- pins and room


def test_a_pinned_commit_is_found_by_its_beginning(hub: Hub, repo: Repo) -> None:
    commit = repo.commit({"a": b"1"}, TAG)
    assert pinned_commit(REPO, revision=TAG, begins=commit[:12]).id == commit
    hub.asked.clear()
    # Neither the tag's id nor its beginning is a commit that a cache could resolve; the record knows both.
    assert pinned_commit(REPO, revision="b2" * 20, begins=commit[:12], offline=True).asked == (TAG,)
    assert hub.asked == []
    with pytest.raises(UnavailableError, match="not in the cache as a commit"):
        pinned_commit(REPO, revision=TAG, begins="f" * 12, offline=True)


def test_no_room_for_a_download(hub: Hub, tmp_path: Path) -> None:
    commit = Commit(REPO, "0" * 40, {"big": Entry(10**18), "small": Entry(5)})
    assert room_for(commit, ["small"]) == 5
    with pytest.raises(UnavailableError, match=r"1,000,000,000,000\.0 MB must be fetched, and .* has room for"):
        room_for(commit, ["big", "small"])


# ---------------------------------------------------------------- texts alone


def test_a_text_only_release_and_its_mapping(hub: Hub, publish: Any) -> None:
    commit = publish(released(collection_files()))
    found = open_collection(TEXTS)
    assert (found.name, found.revision, list(found.passages.ids)) == (TEXTS, commit, ["p1", "p2"])
    assert found.task("answer").qrels.triples() == [("r1", "p2", 1)]
    names = (
        "corpus.jsonl",
        "queries.jsonl",
        "qrels/answer_test.tsv",
        "evaluator/passages.jsonl",
        "evaluator/queries.jsonl",
    )
    assert fetched(hub) == {*(f"v0/textonly/{name}" for name in names), "v0/build_manifest.json"}
    mapping = mapping_of(TEXTS)
    assert {name: json.loads(place.read_text())["original"] for name, place in mapping.items()} == {
        "mapping.jsonl": "a1"
    }
    hub.asked.clear()
    assert mapping_of(TEXTS, offline=True) == mapping
    assert hub.asked == []


def test_a_text_only_release_that_the_manifest_above_knows_better(publish: Any) -> None:
    files = released(collection_files(), {"files": {"textonly/corpus.jsonl": "0" * 64}})
    publish(files)
    with pytest.raises(DigestError, match=r"v0/textonly/corpus\.jsonl"):
        open_release(TEXTS)
    publish({name: data for name, data in files.items() if "provenance" not in name})
    with pytest.raises(FileError, match="has no file in v0/textonly-provenance/"):
        mapping_of(TEXTS)


# ---------------------------------------------------------------- single files


def test_single_files_are_listed_and_fetched(hub: Hub, publish: Any, tmp_path: Path) -> None:
    publish(released(collection_files()))
    assert [(file.path, file.size, file.place) for file in release_files(FILES)] == [
        ("bm25/a[1].trec", len(RUN), None),
        ("bm25/answer_test.trec", len(RUN), None),
        ("dense/vectors.parquet", 102_400, None),
    ]
    assert [file.path for file in release_files(FILES, matching="bm25/an*")] == ["bm25/answer_test.trec"]
    assert fetched(hub) == set()
    announced: list[str] = []
    for path in ("bm25/answer_test.trec", "v0/experiments/bm25/a[1].trec"):
        found = release_file(FILES, path, announced=lambda file: announced.append(file.path))
        assert found.place is not None
        assert (found.place.read_bytes(), found.sha256) == (RUN, sha(RUN))
    assert announced == ["bm25/answer_test.trec", "bm25/a[1].trec"]
    assert "v0/experiments/dense/vectors.parquet" not in fetched(hub)
    hub.asked.clear()
    copied = release_file(FILES, "bm25/answer_test.trec", out=tmp_path / "run.gz", offline=True)
    # Bytes as they are, whatever the suffix.
    assert (tmp_path / "run.gz").read_bytes() == RUN
    assert copied.place == tmp_path / "run.gz"
    assert hub.asked == []
    with pytest.raises(UnknownNameError, match=r"did you mean 'bm25/answer_test\.trec'"):
        release_file(FILES, "bm25/answers_test.trec")
    with pytest.raises(UnknownNameError, match="no file of parlir@made-evidence 'x/"):
        release_files(FILES, matching="x/*")
    for out in (tmp_path, tmp_path / "none" / "run"):
        with pytest.raises(FileError):
            release_file(FILES, "bm25/answer_test.trec", out=out)
    assert [path for path in tmp_path.iterdir() if path.suffix == ".part"] == []


def test_a_large_file_is_taken_up_where_it_broke(hub: Hub, publish: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 1024)
    publish(released(collection_files()))
    hub.fault("drop", "/cdn/")
    assert release_file(FILES, "dense/vectors.parquet").size == 102_400
    assert [how for method, path, how in hub.asked if method == "GET" and "/cdn/" in path] == ["", "bytes=51200-"]


def test_a_single_file_that_the_manifest_knows_better(publish: Any) -> None:
    files = released(collection_files())
    manifest = {"files": {"bm25/answer_test.trec": "0" * 64}}
    publish({**files, "v0/experiments/build_manifest.json": json.dumps(manifest).encode()})
    with pytest.raises(DigestError, match=r"(?s)1 of 1 files .*answer_test\.trec"):
        release_file(FILES, "bm25/answer_test.trec")
    assert release_file(FILES, "bm25/a[1].trec").sha256 == sha(RUN)


# ---------------------------------------------------------------- the command line


def test_commands_take_a_release(hub: Hub, publish: Any, tmp_path: Path) -> None:
    commit = publish(released(collection_files()))
    code, out, err = command("info", NAME, "--json")
    assert (code, err) == (0, "")
    assert (json.loads(out)["collection"], json.loads(out)["revision"]) == (NAME, commit)
    hub.asked.clear()
    assert command("verify", NAME, "--only", "manifest-true")[0] == 0
    few = ("--resamples", 20, "--json")
    code, out, err = command("run", f"{NAME}/answer", "--out", tmp_path / "results", *few)
    assert (code, err) == (0, "")
    assert json.loads(out)["results"][0]["collection"] == NAME
    run = tmp_path / "stored.trec"
    assert command("fetch", FILES, "bm25/answer_test.trec", "--out", run)[0] == 0
    code, out, _ = command("evaluate", f"{NAME}/answer", run, "-m", "RR@10", *few)
    # Found first for one question, second for the other.
    assert json.loads(out)["results"][0]["measures"]["RR@10"]["mean"] == 0.75
    assert command("report", tmp_path / "results", "--out", tmp_path / "page.html")[0] == 0
    assert fetched(hub) == {"v0/experiments/bm25/answer_test.trec"}


def test_fetch_prints_what_docs_say(hub: Hub, publish: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = publish(released(collection_files()))
    code, out, err = command("fetch", FILES, "--list", "--json")
    assert (code, err) == (0, "")
    listed = json.loads(out)
    assert (listed["release"], listed["revision"]) == (FILES, commit)
    assert [list(row) for row in listed["files"]] == [["path", "bytes", "sha256", "place"]] * 3
    assert {row["place"] for row in listed["files"]} == {""}
    code, out, err = command("fetch", FILES, "--list", "dense/*")
    assert "1 files, 0.1 MB, at commit" in out
    monkeypatch.setattr("assay.cli.fetch.ANNOUNCED", 10)
    code, out, err = command("fetch", FILES, "bm25/answer_test.trec", "--json")
    assert (code, err) == (0, "fetching bm25/answer_test.trec, 0.0 MB\n")
    (row,) = json.loads(out)["files"]
    assert Path(row["place"]).read_bytes() == RUN
    assert command("fetch", FILES, "bm25/answer_test.trec", "--offline")[2] == ""
    docs = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
    section = docs.partition("## assay fetch\n")[2].partition("\n## ")[0]
    for key in ("release", "revision", *(f"files[].{key}" for key in row)):
        assert f"`{key}`" in section


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ((FILES,), 2, f"name a file of {FILES}; assay fetch {FILES} --list shows them"),
        ((FILES, "--list", "--out", "x"), 2, "--list fetches nothing"),
        ((FILES, "bm25/nothing"), 2, "there is no file of parlir@made-evidence 'bm25/nothing'"),
        (("parlir@v0", "--list"), 2, "there is no release 'parlir@v0'"),
        ((FILES, "bm25/a[1].trec", "--offline"), 4, "is not in the cache as a commit"),
    ],
)
def test_wrong_requests_to_fetch(publish: Any, words: tuple[str, ...], code: int, says: str) -> None:
    publish(released(collection_files()))
    ended = command("fetch", *words)
    assert ended[0] == code
    assert ended[1] == ""
    assert says in ended[2]
    assert "Traceback" not in ended[2]


def test_a_command_with_an_unknown_release(publish: Any) -> None:
    publish(released(collection_files()))
    code, _, err = command("info", "parlir@mad")
    assert code == 2
    assert "did you mean 'parlir@made'" in err
    assert command("run", NAME)[0] == 2


def test_the_commit_of_a_release(publish: Any) -> None:
    commit = publish(released(collection_files()))
    made = release_of(NAME)
    assert release_commit(made).id == commit
    with pytest.raises(UnavailableError):
        release_commit(replace(made, tag="c" * 40, begins="d" * 12))


def test_numbers_of_a_release_are_reproduced(publish: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    numbers = (
        Published("", "answer", "test", "RR@10", 0.75, ("bm25", "bm25('english')"), queries=2),
        Published("", "precedent", "test", "R@10", 1.0, ("question_matching(bm25)",), queries=1),
        Published("", "precedent", "test", "R@10", 0.9, ("dense('BAAI/bge-m3')",), queries=1, gpu=True, hub=True),
    )
    made = Publication("made", "Made", numbers, collection=NAME, passages=4, digits=3)
    # Before it is published, no row runs, and each says so.
    monkeypatch.setitem(RELEASES, NAME, Release(NAME, REPO, TAG, "f" * 12, "v0", Kind.COLLECTION))
    before = reproduce(made)
    assert [c.verdict for c in before.checked] == [Verdict.NOT_RUN] * 3
    assert REPO in before.checked[0].attempts[0].reason
    publish(released(collection_files()))
    found = reproduce(made, out=tmp_path / "results")
    assert [a.interval and a.interval.mean for c in found.checked for a in c.attempts] == [0.75, 0.75, 1.0, None]
    assert [c.verdict for c in found.checked] == [Verdict.INSIDE, Verdict.INSIDE, Verdict.NOT_RUN]
    assert [a.interval and a.interval.n for a in found.checked[0].attempts] == [2, 2]
    assert found.checked[2].attempts[0].reason
    other = reproduce(replace(made, passages=76_536))
    assert [c.verdict for c in other.checked] == [Verdict.OTHER, Verdict.OTHER, Verdict.NOT_RUN]
