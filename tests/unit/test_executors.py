"""Executors: shards are run again where a worker is lost, and what comes out is the same."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from assay import catalog
from assay.errors import FormatError, UnavailableError
from assay.executor import Executor, Work
from assay.executors.array import Array
from assay.executors.local import Local
from assay.plan import Plan
from commands import assay, ok, refused
from conftest import ROOT

TESTS = ROOT / "tests"
FEW = ("--resamples", "50")
TASK = "demo:questions/precedent"
NEEDS = {"dask": "distributed", "ray": "ray"}


@pytest.fixture(autouse=True)
def _workers_find_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(TESTS))


def plan_of(folder: Path, function: str, shards: int = 3) -> Plan:
    return Plan(folder / "plan", "work", f"shard_work:{function}", "of", tuple(range(shards + 1)))


def own_rows(number: int) -> dict[str, np.ndarray]:
    return {"row": np.array([number])}


def shared() -> dict[str, np.ndarray]:
    return {"shared": np.array([7])}


def doubled(executor: Executor, folder: Path, function: str, shards: int = 3, told: Callable = print) -> list[int]:
    """What the shards of a plan came to."""
    work = Work(folder, executor, shards, told=told)
    return [int(part["doubled"][0]) for part in work.done(plan_of(folder, function, shards), own_rows, shared)]


def tries(folder: Path) -> list[int]:
    return [len(who) for who in Plan.read(folder / "plan").attempts().values()]


def until(true: Callable[[], bool], seconds: float = 60) -> None:
    """Waits for something that another process does."""
    last = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < last, "it did not happen"
        time.sleep(0.02)


def program(text: str, *arguments: object) -> list[str]:
    """A command that runs a few lines of Python over the functions of this module's plan."""
    before = """
    import sys
    from pathlib import Path
    sys.path.insert(0, {tests!r} + "/unit")
    sys.path.insert(0, {tests!r})
    from test_executors import doubled
    from assay import catalog
    """
    lines = textwrap.dedent(before).format(tests=str(TESTS)) + "if __name__ == '__main__':\n"
    return [sys.executable, "-c", lines + textwrap.indent(textwrap.dedent(text), "    "), *map(str, arguments)]


# ---------------------------------------------------------------- local


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_local_runs_every_shard(tmp_path: Path, workers: int) -> None:
    assert doubled(Local(workers), tmp_path, "doubled", 4) == [0, 2, 4, 6]
    assert tries(tmp_path) == [1, 1, 1, 1]


@pytest.mark.parametrize("function", ["dies_once", "breaks_once"])
def test_local_tries_again_where_a_process_dies_or_fails(tmp_path: Path, function: str) -> None:
    lines: list[str] = []
    assert doubled(Local(2, retries=1), tmp_path, function, told=lines.append) == [0, 2, 4]
    assert tries(tmp_path) == [1, 2, 1]
    [line] = [line for line in lines if "failed" in line]
    reason = {"dies_once": "the process ended with status 9", "breaks_once": "OSError: the network is gone"}[function]
    assert line.startswith("work: shard 2 of 3 failed by process ")
    assert line.endswith(f"attempt 1: {reason}")


def test_local_gives_up_after_as_many_attempts_as_it_may_make(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=r"work: shard 1 of 1 failed 3 times, .* status 9; the others are kept"):
        doubled(Local(1, retries=2), tmp_path, "always_dies", 1)
    assert tries(tmp_path) == [3]


def test_local_does_not_repeat_what_would_fail_again(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"^shard 0 holds no numbers$"):
        doubled(Local(1), tmp_path, "refuses", 2)
    assert tries(tmp_path) == [1, 0]


def test_local_takes_up_what_a_killed_driver_left(tmp_path: Path) -> None:
    code = "doubled(catalog.made('executor', 'local(workers=3)'), Path(sys.argv[1]), 'waits', 4)"
    driver = subprocess.Popen(program(code, tmp_path), stdout=subprocess.DEVNULL)
    results = tmp_path / "plan" / "results"
    attempts = tmp_path / "plan" / "attempts"
    try:
        until(lambda: all((results / f"0000{n}.done").exists() for n in (0, 1)) and (attempts / "00002").exists())
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    before = {path.name: path.stat().st_mtime_ns for path in results.iterdir()}
    (tmp_path / "plan" / "go").touch()
    assert doubled(Local(2), tmp_path, "waits", 4) == [0, 2, 4, 6]
    assert tries(tmp_path)[:2] == [1, 1]
    assert {name: (results / name).stat().st_mtime_ns for name in before if name[0] != "."} == {
        name: at for name, at in before.items() if name[0] != "."
    }


def test_a_full_disk_is_one_error_and_the_work_is_taken_up(tmp_path: Path) -> None:
    code = """
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 19, 1 << 19))
    from assay.errors import AssayError
    try:
        doubled(catalog.made('executor', 'local(workers=1)'), Path(sys.argv[1]), 'large', 2)
    except AssayError as err:
        print(type(err).__name__, err)
    """
    told = subprocess.run(program(code, tmp_path), capture_output=True, text=True, check=True)
    assert told.stderr == ""
    assert "FileError cannot write" in told.stdout
    assert "no space left" in told.stdout.splitlines()[-1]
    assert tries(tmp_path) == [1, 0]
    assert list((tmp_path / "plan" / "results").iterdir()) == []
    work = Work(tmp_path, Local(2), 2)
    found = work.done(plan_of(tmp_path, "large", 2), own_rows, shared)
    assert [int(part["large"][-1]) for part in found] == [0, 1]


# ---------------------------------------------------------------- arrays, and the command line


def test_array_says_what_is_to_be_run(tmp_path: Path) -> None:
    with pytest.raises(
        UnavailableError, match=r"3 of 3 shards in .*plan are to be run; run `assay shard .* --shard I/N`"
    ):
        doubled(Array(), tmp_path, "doubled")


def test_an_array_of_jobs_gives_the_same_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = ("run", TASK, "--json", *FEW)
    sharded = (*run, "--executor", "array", "--shards", 5, "--work", "work")
    for stage in ("counts", "lists"):
        ended = assay(*sharded)
        assert (ended.code, ended.json["error"]["kind"]) == (4, "UnavailableError")
        assert stage in ended.json["error"]["message"]
        for part in (1, 2, 3):
            told = ok("shard", "work", "--shard", f"{part}/3", "--json").json["plans"]
            assert [plan["run"] for plan in told] == [0, len(range(part - 1, 5, 3))][-len(told) :]
    assert ok(*sharded).json == ok(*run).json


def test_a_sharded_run_stores_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plain = ok("run", TASK, "--out", "plain", *FEW).out
    told = ok("run", TASK, "--out", "sharded", "--executor", "local(workers=2)", "--work", "work", *FEW).out
    assert told.startswith(plain.partition("stored below")[0])
    assert "bm25, lists: 8 shards, 8 of them run now by local; attempts repeated: 0, workers in all: 2" in told
    files = [
        {p.relative_to(d): p.read_bytes() for p in Path(d).rglob("*") if p.is_file()} for d in ("plain", "sharded")
    ]
    assert files[0] == files[1]
    assert {"spec.json", "run.parquet", "scores.parquet"} <= {path.name for path in files[0]}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--executor", "local"), "name it, as in --work shards"),
        (("--shards", "3"), "name it, as in --work shards"),
        (("--work", "w", "--indexes", "i"), "leave out --indexes"),
        (("--work", "w", "--executor", "dsak"), "no executor 'dsak'; did you mean 'dask'"),
        (("--work", "w", "--executor", "local(workers=0)"), "workers must be a whole number of at least 1; found 0"),
        (("--work", "w", "--executor", "dask(retries=-1)"), "retries must be a whole number of at least 0; found -1"),
        (("--work", "w", "--executor", "ray(gpus='one')"), "gpus must be a number, 0 or more; found 'one'"),
    ],
)
def test_a_request_that_cannot_be(words: tuple[str, ...], says: str) -> None:
    refused("run", TASK, *words, code=2, says=says)


@pytest.mark.parametrize(
    ("shard", "says"),
    [
        ("3", "is no part"),
        ("a/b", "is no part"),
        ("0/2", "counted from 1"),
        ("3/2", "counted from 1"),
        ("²/2", "no part"),
    ],
)
def test_a_part_that_cannot_be(tmp_path: Path, shard: str, says: str) -> None:
    plan_of(tmp_path, "doubled").written(own_rows, shared)
    refused("shard", tmp_path, "--shard", shard, code=2, says=says)


def test_a_folder_without_plans(tmp_path: Path) -> None:
    refused("shard", tmp_path / "none", "--shard", "1/1", code=2, says="holds no plan of shards")


def test_executors_are_what_they_must_be() -> None:
    for name, cls in catalog.known("executor").items():
        made = catalog.made("executor", name)
        assert isinstance(made, Executor)
        assert (made.name, made) == (name, cls())


# ---------------------------------------------------------------- clusters


def needed(package: str) -> None:
    if importlib.util.find_spec(NEEDS[package]) is None:
        pytest.skip(
            f"{package} is not installed: python -m pip install 'assay[{'scale' if package == 'dask' else package}]'"
        )


@contextmanager
def dask_cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler's address, and its two workers, each a process that nobody starts again."""
    needed("dask")
    told = folder / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    start = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-nanny", "--nthreads", "1", "--no-dashboard"]
    worker += ["--memory-limit", "0", "--local-directory", str(folder)]
    where = ["--scheduler-file", str(told)]
    processes = [subprocess.Popen([*start, "--dashboard-address", "127.0.0.1:0", *where], **quiet)]
    processes += [subprocess.Popen([*worker, *where], **quiet) for _ in range(2)]
    try:
        until(lambda: told.exists() and told.read_text().endswith("}"))
        yield json.loads(told.read_text())["address"], processes[1:]
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.heavy
def test_dask_gives_the_shard_of_a_killed_worker_to_another(tmp_path: Path) -> None:
    code = "print(doubled(catalog.made('executor', sys.argv[2]), Path(sys.argv[1]), 'waits', 6, told=str))"
    attempts = tmp_path / "plan" / "attempts"
    with dask_cluster(tmp_path) as (address, workers):
        driver = subprocess.Popen(program(code, tmp_path, f"dask('{address}')"), stdout=subprocess.PIPE, text=True)
        # Shards from 2 on wait, one a worker.
        until(lambda: sum((attempts / f"0000{n}").exists() for n in range(2, 6)) == 2)
        lost = workers[0].pid
        [number] = [
            n for n, who in Plan.read(tmp_path / "plan").attempts().items() if n > 1 and f":{lost}" in "".join(who)
        ]
        os.kill(lost, signal.SIGKILL)
        workers[0].wait()
        (tmp_path / "plan" / "go").touch()
        out, _ = driver.communicate(timeout=120)
    assert out.splitlines() == ["[0, 2, 4, 6, 8, 10]"]
    assert tries(tmp_path) == [2 if n == number else 1 for n in range(6)]


@pytest.mark.heavy
def test_a_run_on_dask_with_a_killed_worker_has_the_same_bytes(tmp_path: Path) -> None:
    ok("run", TASK, "--out", tmp_path / "plain", *FEW)
    with dask_cluster(tmp_path) as (address, workers):
        words = [sys.executable, "-m", "assay", "run", TASK, "--out", str(tmp_path / "sharded"), *FEW]
        words += ["--executor", f"dask('{address}')", "--shards", "16", "--work", str(tmp_path / "work")]
        driver = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        begun = lambda: "".join(p.read_text() for p in (tmp_path / "work").rglob("attempts/*"))  # noqa: E731
        until(lambda: f":{workers[1].pid}\n" in begun())
        os.kill(workers[1].pid, signal.SIGKILL)
        out, _ = driver.communicate(timeout=120)
    assert driver.returncode == 0
    assert "bm25, lists: 16 shards" in out
    files = [
        {p.relative_to(d): p.read_bytes() for p in d.rglob("*") if p.is_file()}
        for d in (tmp_path / "plain", tmp_path / "sharded")
    ]
    assert files[0] == files[1]


@pytest.mark.heavy
@pytest.mark.parametrize("call", ["dask(workers=2, retries=2)", "ray(workers=2)"])
def test_a_cluster_of_ones_own_outlives_a_dead_process_and_passes_errors_on(tmp_path: Path, call: str) -> None:
    needed(call.partition("(")[0])
    code = """
    from assay.errors import AssayError
    executor = catalog.made('executor', sys.argv[2])
    print(doubled(executor, Path(sys.argv[1]), 'dies_once', told=str))
    try:
        doubled(executor, Path(sys.argv[1]) / 'other', 'refuses', told=str)
    except AssayError as err:
        print(type(err).__name__, err)
    """
    told = subprocess.run(program(code, tmp_path, call), capture_output=True, text=True, timeout=300)
    assert told.stdout.splitlines()[0] == "[0, 2, 4]", told.stderr
    assert told.stdout.splitlines()[1].startswith("FormatError shard ")
    assert tries(tmp_path)[1] == 2


@pytest.mark.heavy
@pytest.mark.parametrize("call", ["dask('tcp://127.0.0.1:9', patience=1)", "ray('127.0.0.1:9')"])
def test_no_cluster_at_the_address(tmp_path: Path, call: str) -> None:
    needed(call.partition("(")[0])
    code = """
    from assay.errors import AssayError
    try:
        doubled(catalog.made('executor', sys.argv[2]), Path(sys.argv[1]), 'doubled')
    except AssayError as err:
        print(type(err).__name__, err)
    """
    told = subprocess.run(program(code, tmp_path, call), capture_output=True, text=True, timeout=300)
    assert "UnavailableError no " in told.stdout, told.stderr
