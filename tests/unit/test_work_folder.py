"""Work folders as commands use them: the same bytes for chunks, experiments and runs, or one clear error."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from assay import catalog
from assay.errors import DataError, UnavailableError, UsageError
from assay.executor import Work
from assay.executors.local import Local
from assay.experiment_file import Entry, Experiment, Target
from assay.harness import retrieve
from assay.outcome import run_experiment
from assay.plan import MANIFEST, Plan, run_shard
from assay.retrieval.dense import Dense
from assay.sources import open_collection
from assay.task import Task
from assay.weights import identities_of, identity_of
from commands import assay, ok, refused
from conftest import ROOT
from hub import Hub
from shard_work import Here, Told
from tiny import chunk_task
from word_model import WordVectors, word_model_folder

TASK = "demo:questions/precedent"
FEW = ("--resamples", "50")
TWO = ("--executor", "local(workers=2)", "--shards", "3")


@pytest.fixture(autouse=True)
def _found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests"))
    monkeypatch.setitem(catalog.known("encoder"), WordVectors.name, WordVectors)


def bytes_below(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def until_done(*words: object, work: Path) -> int:
    """Calls a command as a script of jobs does, all its shards between two calls; how often it was called."""
    for called in range(1, 20):
        ended = assay(*words, "--executor", "array", "--shards", 3, "--work", work)
        if ended.code == 0:
            return called
        assert ended.code == 4, ended
        assert f"assay shard {work} --shard" in ended.out + ended.err
        ok("shard", work, "--shard", "1/1")
    raise AssertionError("it does not end")


# ---------------------------------------------------------------- gold, and experiments


CHUNK = ("chunk", "demo:chunks", "--chunker", "window(words=40, overlap=10)", "--rule", "characters>=20")


def test_chunks_have_the_same_gold_over_shards(tmp_path: Path) -> None:
    plain = ok(*CHUNK, "--out", tmp_path / "plain", "--json").json
    cut = ok(*CHUNK, "--out", tmp_path / "cut", "--json", *TWO, "--work", tmp_path / "work").json
    # How many fragments are in no chunk, in one, in several, and cut: what the gold came to.
    assert {**cut, "out": ""} == {**plain, "out": ""}
    assert plain["in_several"] > 0
    assert bytes_below(tmp_path / "cut") == bytes_below(tmp_path / "plain")
    told = ok(*CHUNK, "--out", tmp_path / "again", *TWO, "--work", tmp_path / "work").out
    assert "gold: 3 shards, 0 of them run now by local; attempts repeated: 0" in told
    assert until_done(*CHUNK, "--out", tmp_path / "jobs", work=tmp_path / "other") > 1
    assert bytes_below(tmp_path / "jobs") == bytes_below(tmp_path / "plain")


EXPERIMENT = """
collections = "demo:questions"
tasks = ["answer", "precedent"]
resamples = 50
[systems]
plain = "bm25"
both = "fusion(bm25, bm25('english'))"
questions = {call = "question_matching(bm25)", tasks = "precedent"}
"""


def test_an_experiment_over_shards_stores_the_same_bytes(tmp_path: Path) -> None:
    path = tmp_path / "e.toml"
    path.write_text(EXPERIMENT)
    told = ok("run", path, "--out", tmp_path / "plain", "--json").json
    cut = ("run", path, "--out", tmp_path / "cut", "--json", *TWO, "--work", tmp_path / "work")
    assert {**ok(*cut).json, "report": None} == {**told, "report": None}
    assert bytes_below(tmp_path / "cut") == bytes_below(tmp_path / "plain")
    assert ok(*cut).json["found"] == 5
    assert "bm25, lists: 3 shards, 0 of them run now by local" in ok("run", path, *TWO, "--work", tmp_path / "work").out


def test_an_experiment_of_jobs_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "e.toml"
    path.write_text(EXPERIMENT)
    ok("run", path, "--out", tmp_path / "plain")
    assert until_done("run", path, "--out", tmp_path / "jobs", work=tmp_path / "work") > 2
    assert bytes_below(tmp_path / "jobs") == bytes_below(tmp_path / "plain")


# ---------------------------------------------------------------- what is no part of a plan


@dataclass(frozen=True)
class Half:
    """Runs the first of the shards, and stops."""

    name: ClassVar[str] = "half"

    def run(self, plan: Plan, numbers: Sequence[int], told: Callable[[str], None]) -> None:
        run_shard(str(plan.folder), numbers[0])
        raise UnavailableError("stopped")


def half_done(task: Task, system: Any, folder: Path) -> None:
    with pytest.raises(UnavailableError, match="stopped"):
        retrieve(task, system, work=Work(folder, Half(), 3))


@pytest.mark.parametrize("executor", [Here(), Local(workers=3)], ids=lambda one: one.name)
def test_another_device_or_executor_takes_the_work_up(tmp_path: Path, executor: Any) -> None:
    task, system = chunk_task(), Told(device="one")
    half_done(task, system, tmp_path)
    work = Work(tmp_path, executor, 3)
    run = retrieve(task, replace(system, device="two"), work=work)
    assert ["2 of them run now" in note for note in work.notes] == [True]
    assert run.models == ({"model": "m", "identity": "w", "device": "one, two"},)
    whole = retrieve(task, system)
    assert (run.spec, run.passage.tobytes(), run.score.tobytes()) == (
        whole.spec,
        whole.passage.tobytes(),
        whole.score.tobytes(),
    )


def test_workers_with_other_weights_under_one_name_are_an_error(tmp_path: Path) -> None:
    task = chunk_task()
    half_done(task, Told(weights="old"), tmp_path)
    with pytest.raises(DataError, match=r"2 different models under one name \(identity new, old\)"):
        retrieve(task, Told(weights="new"), work=Work(tmp_path, Here(), 3))


def test_a_dense_system_is_taken_up_on_another_device(tmp_path: Path) -> None:
    task, folder = chunk_task(), word_model_folder(tmp_path / "model")
    half_done(task, Dense(str(folder), encoder="word_vectors", device="cuda:7"), tmp_path / "work")
    work = Work(tmp_path / "work", Here(), 3)
    retrieve(task, Dense(str(folder), encoder="word_vectors", device="cpu", workers=2), work=work)
    assert ["2 of them run now" in note for note in work.notes] == [True]


# ---------------------------------------------------------------- weights


def test_shards_of_other_weights_are_not_taken_up(tmp_path: Path) -> None:
    task, folder = chunk_task(), word_model_folder(tmp_path / "model")
    system = Dense(str(folder), encoder="word_vectors")
    half_done(task, system, tmp_path / "work")
    word_model_folder(folder, longest=3)
    work = Work(tmp_path / "work", Here(), 3)
    run, whole = retrieve(task, system, work=work), retrieve(task, system)
    assert ["3 of them run now" in note for note in work.notes] == [True]
    assert (run.passage.tobytes(), run.models) == (whole.passage.tobytes(), whole.models)


def test_results_of_other_weights_are_not_found(tmp_path: Path) -> None:
    folder = word_model_folder(tmp_path / "model")
    systems = (Entry.of("bm25"), Entry("dense", f"dense({str(folder)!r}, encoder='word_vectors')"))
    asked = Experiment("e", (Target("demo:chunks"),), systems, resamples=50)
    first = run_experiment(asked, out=tmp_path / "r")
    assert (first.found, run_experiment(asked, out=tmp_path / "r").found) == (0, 2)
    word_model_folder(folder, longest=3)
    again = run_experiment(asked, out=tmp_path / "r")
    assert again.found == 1
    assert again.results[1].run.models != first.results[1].run.models
    assert run_experiment(asked, out=tmp_path / "r").found == 2
    # What cannot be looked at cannot be told apart: the results stay, as on a machine without the model.
    (folder / "words.json").unlink()
    assert run_experiment(asked, out=tmp_path / "r").found == 2


def test_a_branch_that_moved_on_is_another_model(hub: Hub) -> None:
    repo = hub.repo("owner/net")
    old = repo.commit({"config.json": b"{}", "model.safetensors": b"old"})
    assert identity_of("owner/net") == old
    new = repo.commit({"config.json": b"{}", "model.safetensors": b"new"})
    dense = Dense("owner/net", query_model="owner/net")
    assert identities_of((dense,)) == {"owner/net": new}
    hub.asked.clear()
    assert identity_of("owner/net", revision=old) == old
    assert hub.asked == []


# ---------------------------------------------------------------- what goes wrong


def test_more_shards_than_passages(tmp_path: Path) -> None:
    whole = ok("run", "demo:chunks", "--json", *FEW).json
    passages = len(open_collection("demo:chunks").passages)
    told = ok("run", "demo:chunks", "--json", *FEW, "--shards", 2 * passages + 1, "--work", tmp_path / "work").json
    assert told == whole


def test_two_runs_in_one_folder_at_once(tmp_path: Path) -> None:
    ok("run", TASK, "--out", tmp_path / "plain", *FEW)
    words = [sys.executable, "-m", "assay", "run", TASK, *FEW, *TWO, "--work", str(tmp_path / "work")]
    both = [
        subprocess.Popen([*words, "--out", str(tmp_path / name)], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        for name in ("one", "two")
    ]
    ended = [(process.communicate(timeout=300)[1], process.returncode) for process in both]
    assert ended == [(b"", 0), (b"", 0)]
    assert bytes_below(tmp_path / "one") == bytes_below(tmp_path / "two") == bytes_below(tmp_path / "plain")


def test_a_result_that_another_run_tidied_away_is_no_error(tmp_path: Path) -> None:
    """A run that ends removes what is half written, and another one may be at it."""
    plan = Plan(tmp_path / "plan", "work", "shard_work:tidied", "of", (0, 1)).written(lambda _: {})
    run_shard(str(plan.folder), 0)
    assert plan.is_done(0)


def test_a_worker_of_another_version_is_refused(tmp_path: Path) -> None:
    plan = Plan(tmp_path / "plan", "work", "shard_work:doubled", "of", (0, 1)).written(lambda _: {})
    told = json.loads((plan.folder / MANIFEST).read_text())
    (plan.folder / MANIFEST).write_text(json.dumps({**told, "version": "0.0.1"}))
    with pytest.raises(UnavailableError, match=r"has version .* of Assay, and the plan was made by 0\.0\.1; install"):
        run_shard(str(plan.folder), 0)
    with pytest.raises(UnavailableError, match=r"the plan was made by 0\.0\.1"):
        Local(1).run(replace(plan), [0], print)
    refused("shard", tmp_path, "--shard", "1/1", code=4, says=r"the plan was made by 0\.0\.1")
    with pytest.raises(UsageError, match=r"another plan \(other version of Assay\)"):
        plan.written(lambda _: {})


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_work_folder_that_cannot_be(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("a file")
    refused("run", TASK, *TWO, "--work", tmp_path / place, code=3, says="file")
    refused(*CHUNK, "--out", tmp_path / "out", *TWO, "--work", tmp_path / place, code=3, says="file")
    assert not (tmp_path / "out").exists()


def test_a_disk_that_is_full_for_the_driver(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "assay", "run", TASK, *FEW, *TWO, "--work", str(tmp_path / "work")]
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # noqa: E731
    ended = subprocess.run(words, capture_output=True, text=True, preexec_fn=limit, check=False)
    assert ended.returncode == 3
    assert ended.stdout == ""
    assert ended.stderr.startswith("error: cannot write ")
    assert ended.stderr.count("\n") == 1
    assert "no space left" in ended.stderr
    whole = ok("run", TASK, "--json", *FEW).json
    assert ok("run", TASK, "--json", *FEW, *TWO, "--work", tmp_path / "work").json == whole


@pytest.mark.parametrize("harm", [MANIFEST, "where.json", "inputs", "results"])
def test_a_torn_file_between_two_runs(tmp_path: Path, harm: str) -> None:
    words = ("run", TASK, "--json", *FEW, *TWO, "--work", tmp_path / "work")
    whole = ok(*words).json
    torn = [path for path in (tmp_path / "work").rglob("*") if path.is_file() and harm in (path.name, path.parent.name)]
    assert torn
    for path in torn:
        path.write_bytes(path.read_bytes()[:20])
    if harm == MANIFEST:
        refused(*words[:2], *words[3:], code=3, says="manifest.json is torn .* delete .*, it is made again")
    else:
        assert ok(*words).json == whole


@pytest.mark.heavy
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "tcp://no-such-host.invalid:1", "nonsense", "x://y:1"])
def test_no_dask_cluster_at_the_address(tmp_path: Path, address: str) -> None:
    pytest.importorskip("distributed", reason="the extra `scale` is not installed")
    words = [sys.executable, "-m", "assay", "run", TASK, *FEW, "--executor", f"dask('{address}', patience=1)"]
    words += ["--work", str(tmp_path / "work")]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False, env=dict(os.environ))
    assert (ended.returncode, ended.stdout) == (4, ""), ended.stderr
    assert f"error: no Dask workers at {address}" in ended.stderr
    assert "Traceback" not in ended.stderr
