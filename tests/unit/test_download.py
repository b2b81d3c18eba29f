"""Downloads, against a hub on loopback: pinned, proven, resumed, offline."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from assay.download import hub_commit, hub_file, hub_files
from assay.errors import DigestError, UnavailableError, UnknownNameError
from hub import Hub, Repo

NAME = "group/set"
BIG = bytes(range(256)) * 400
FILES = {"README.md": b"# one\n", "a/corpus/0000.parquet": BIG, "a/qrels/test.parquet": b"qrels", "b.txt": b"bee"}
TAG_OBJECT = "f" * 40


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda _: None)


@pytest.fixture
def repo(hub: Hub) -> Repo:
    return hub.repo(NAME)


def left_half(tmp_path: Path) -> list[Path]:
    cache = tmp_path / "cache"
    return [path for path in cache.rglob("*") if path.suffix in (".incomplete", ".part")]


def test_a_revision_is_stored_as_its_commit(hub: Hub, repo: Repo) -> None:
    commit = repo.commit(FILES, "v1", TAG_OBJECT)
    for revision in ("main", "v1", TAG_OBJECT, commit):
        found = hub_commit(NAME, revision=revision)
        assert found.id == commit
    assert sorted(found.asked) == [TAG_OBJECT, "main", "v1"]
    assert {path: entry.size for path, entry in found.files.items()} == {
        path: len(data) for path, data in FILES.items()
    }
    assert found.files["a/corpus/0000.parquet"].sha256 == hashlib.sha256(BIG).hexdigest()
    assert found.matching(["a/*"]) == ["a/corpus/0000.parquet", "a/qrels/test.parquet"]


def test_files_come_with_their_digests(hub: Hub, repo: Repo) -> None:
    commit = repo.commit(FILES)
    told: list[str] = []
    found = hub_files(NAME, ["a/*", "README.md"], revision="main", told=told.append)
    assert found.commit == commit
    assert {path: place.read_bytes() for path, place in found.files.items()} == {
        p: d for p, d in FILES.items() if p != "b.txt"
    }
    assert found.digests == {path: hashlib.sha256(FILES[path]).hexdigest() for path in found.files}
    assert told[1] == "file 2 of 3: a/corpus/0000.parquet, 0.1 MB"
    assert hub_commit(NAME, revision=commit).files["README.md"].sha256 == found.digests["README.md"]


def test_a_cached_commit_needs_no_hub(hub: Hub, repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = repo.commit(FILES)
    first = hub_files(NAME, ["*"], revision="main")
    hub.asked.clear()
    assert hub_files(NAME, ["*"], revision=commit) == first
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert hub_file(NAME, "b.txt", revision=commit).read_bytes() == b"bee"
    assert hub.asked == []


def test_case_P06(hub: Hub, repo: Repo) -> None:
    """Offline, a pinned commit is that commit or an error, never the newest one in the cache."""
    old = repo.commit({"b.txt": b"A"})
    new = repo.commit({"b.txt": b"B, newer"})
    unseen = repo.commit({"b.txt": b"C, never fetched"})
    for commit in (old, new):
        hub_file(NAME, "b.txt", revision=commit)
    hub.asked.clear()
    assert hub_files(NAME, ["*"], revision=old, offline=True).commit == old
    assert hub_file(NAME, "b.txt", revision=old, offline=True).read_bytes() == b"A"
    assert hub_file(NAME, "b.txt", revision=new, offline=True).read_bytes() == b"B, newer"
    with pytest.raises(UnavailableError, match=rf"{unseen} is not in the cache.*Commits there: .*{old}"):
        hub_file(NAME, "b.txt", revision=unseen, offline=True)
    assert hub.asked == []


def test_offline_a_moving_name_is_refused_and_its_commit_named(repo: Repo) -> None:
    commit = repo.commit(FILES)
    hub_file(NAME, "b.txt", revision="main")
    with pytest.raises(UnavailableError, match=f"main is not in the cache as a commit.*it was commit {commit}"):
        hub_file(NAME, "b.txt", revision="main", offline=True)
    with pytest.raises(UnavailableError, match=r"README\.md is not in the cache, and nothing may be fetched offline"):
        hub_file(NAME, "README.md", revision=commit, offline=True)
    with pytest.raises(UnavailableError, match="Commits there: none"):
        hub_file("group/other", "b.txt", revision=commit, offline=True)


def test_a_broken_line_is_taken_up_again(hub: Hub, repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 1024)
    commit = repo.commit(FILES)
    hub.fault("drop", "/cdn/")
    assert hub_file(NAME, "a/corpus/0000.parquet", revision=commit).read_bytes() == BIG
    ranges = [asked[2] for asked in hub.asked if asked[1].startswith("/cdn/") and asked[0] == "GET"]
    assert ranges == ["", f"bytes={len(BIG) // 2}-"]
    assert not left_half(tmp_path)


@pytest.mark.parametrize(("kind", "said"), [(503, "503"), ("drop", "closed")])
def test_a_line_that_stays_broken_leaves_nothing_half(
    hub: Hub, repo: Repo, tmp_path: Path, kind: str | int, said: str
) -> None:
    commit = repo.commit(FILES)
    hub.fault(kind, "/cdn/", times=100)
    with pytest.raises(UnavailableError, match=rf"does not answer as it should .*{said}.*try again"):
        hub_file(NAME, "a/corpus/0000.parquet", revision=commit)
    assert not left_half(tmp_path)
    assert not list((tmp_path / "cache").rglob("0000.parquet"))
    hub.faults.clear()
    assert hub_file(NAME, "a/corpus/0000.parquet", revision=commit).read_bytes() == BIG


@pytest.mark.parametrize("path", ["a/corpus/0000.parquet", "b.txt"])
def test_corrupted_bytes_are_found(hub: Hub, repo: Repo, tmp_path: Path, path: str) -> None:
    commit = repo.commit(FILES)
    place = "/cdn/" if path.endswith("parquet") else f"/resolve/{commit}/{path}"
    hub.fault("corrupt", place)
    assert hub_file(NAME, path, revision=commit).read_bytes() == FILES[path]
    other = repo.commit({**FILES, path: FILES[path] + b"!"})
    hub.fault("corrupt", "/cdn/" if path.endswith("parquet") else f"/resolve/{other}/{path}", times=2)
    with pytest.raises(DigestError, match=rf"{path} came twice with (SHA-256|Git blob) .* nothing of it was kept"):
        hub_file(NAME, path, revision=other)
    assert not (tmp_path / "cache" / "datasets--group--set" / "snapshots" / other / path).exists()
    assert hub_file(NAME, path, revision=other).read_bytes() == FILES[path] + b"!"


@pytest.mark.parametrize("damage", [b"x" * len(BIG), b"short"])
def test_a_damaged_cache_is_found_and_mended_online_only(hub: Hub, repo: Repo, damage: bytes) -> None:
    commit = repo.commit(FILES)
    place = hub_file(NAME, "a/corpus/0000.parquet", revision=commit)
    place.resolve().write_bytes(damage)
    with pytest.raises(
        DigestError, match=r"(SHA-256|5 bytes).*the cached file is damaged\. Run once without --offline"
    ):
        hub_file(NAME, "a/corpus/0000.parquet", revision=commit, offline=True)
    assert hub_file(NAME, "a/corpus/0000.parquet", revision=commit).read_bytes() == BIG


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("place", ["/revision/", "/tree/", "/resolve/", "/cdn/"])
def test_a_busy_hub_is_asked_again(hub: Hub, repo: Repo, status: int, place: str) -> None:
    repo.commit(FILES)
    hub.fault(status, place)
    hub.fault(status, place, method="HEAD")
    assert hub_file(NAME, "a/corpus/0000.parquet", revision="main").read_bytes() == BIG
    assert not hub.faults[0].times or not hub.faults[1].times


def test_what_the_hub_lacks_is_named(hub: Hub, repo: Repo) -> None:
    repo.commit(FILES)
    with pytest.raises(UnavailableError, match="group/none@main: the hub has no such dataset"):
        hub_commit("group/none", revision="main")
    with pytest.raises(UnavailableError, match="group/set@v9: the hub has no such revision"):
        hub_commit(NAME, revision="v9")
    with pytest.raises(UnknownNameError, match=r"there is no file of group/set@\w{12} 'c\.txt'; did you mean 'b\.txt'"):
        hub_file(NAME, "c.txt", revision="main")
    with pytest.raises(UnknownNameError, match="'z/\\* or y'"):
        hub_files(NAME, ["z/*", "y"], revision="main")


def test_a_path_that_leads_out_is_refused(repo: Repo) -> None:
    repo.commit({**FILES, "a/../../../b.txt": b"out"})
    with pytest.raises(DigestError, match=r"the hub lists 'a/\.\./\.\./\.\./b\.txt', which leads out"):
        hub_commit(NAME, revision="main")


def test_no_hub_at_all(monkeypatch: pytest.MonkeyPatch, hub: Hub) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(UnavailableError, match=r"http://127\.0\.0\.1:9 does not answer.*Check the connection"):
        hub_commit(NAME, revision="main")


def test_a_record_that_cannot_be_read_is_made_anew(hub: Hub, repo: Repo, tmp_path: Path) -> None:
    commit = repo.commit(FILES)
    hub_file(NAME, "b.txt", revision=commit)
    record = tmp_path / "cache" / "datasets--group--set" / "assay" / f"{commit}.json"
    assert json.loads(record.read_text())["files"]["b.txt"]["sha256"] == hashlib.sha256(b"bee").hexdigest()
    record.write_text('{"files"')
    assert hub_file(NAME, "b.txt", revision=commit).read_bytes() == b"bee"
    assert json.loads(record.read_text())["commit"] == commit


def test_a_cache_that_cannot_be_written_is_named(
    hub: Hub, repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit(FILES)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "file"))
    with pytest.raises(UnavailableError, match=r"cannot write to the cache .*set HF_HUB_CACHE"):
        hub_commit(NAME, revision="main")


def test_importing_loads_no_client() -> None:
    code = "import sys, assay.download\nprint('huggingface_hub' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
