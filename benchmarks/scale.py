"""Sharded BM25 on one and on two workers of a Dask cluster, next to the run in one piece.

python benchmarks/scale.py [--documents 765360] [--queries 10962] [--words 200] [--query-words 130]
                           [--shards 16] [--depth 100] [--repeat 1] [--folder DIR] [--json]

The load is ten times that of `benchmarks/bm25.py`, under an as-of rule. First the runs are compared, on a tenth of
the passages: in one piece, in shards here, and on two workers of which one is killed; then each timed run with the
run in one piece, byte by byte. Only then are times printed: from the task to its run, with a scheduler and workers
that run already, one thread and one BLAS thread each, and an empty work folder. Below each time stands what it is made
of; CPU seconds are those of that time alone. Of them the last line is made: how much faster two workers would be on
cores that do nothing else, were the driver's part not shared out at all.

Reckoned from a fifth of the load, not measured: six minutes on two quiet cores, and 12 GB of memory. Unset
OPENBLAS_CORETYPE where a machine sets it: `env -u OPENBLAS_CORETYPE python benchmarks/scale.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from assay.executor import Executor, Work
from assay.executors.dask import Dask
from assay.executors.local import ONE_THREAD, Local
from assay.harness import retrieve
from assay.ids import Ids
from assay.passage import Passages
from assay.qrels import Qrels
from assay.query import Queries
from assay.run import Run
from assay.task import Task
from assay.texts import Texts
from load import made

MAIN = 76_536


def task_of(documents: int, queries: int, given: argparse.Namespace) -> Task:
    """The load as a task under an as-of rule."""
    load = made(documents, queries, words=given.words, query_words=given.query_words)
    first = np.datetime64("2009-07-01")
    asked = first + load.query_day
    pool, ids = Ids(Texts.of([f"q{i}" for i in range(queries)])), Ids(Texts.of([f"d{i}" for i in range(documents)]))
    texts = Texts.of(load.passages)
    load.passages.clear()
    return Task(
        name="precedent",
        split="test",
        pool=Queries(pool, {"plain": Texts.of(load.queries)}, asked, {}),
        passages=Passages(ids, {"plain": texts}, dates=first + load.passage_day),
        qrels=Qrels.from_columns(
            pool, ids, query=np.arange(queries), passage=load.gold, grade=np.ones(queries, np.int32)
        ),
        asked=asked,
    )


@contextmanager
def cluster(workers: int) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of a scheduler, and its workers: processes with one thread each, ready for work."""
    from distributed import Client

    environment = {**os.environ, **ONE_THREAD}
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "scheduler.json"
        quiet: dict[str, Any] = {"env": environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        start = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--dashboard-address", ":0"]
        processes = [subprocess.Popen([*start, "--scheduler-file", str(told)], **quiet)]
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1", "--no-dashboard"]
        worker += ["--memory-limit", "0", "--no-nanny", "--local-directory", folder, "--scheduler-file", str(told)]
        processes += [subprocess.Popen(worker, **quiet) for _ in range(workers)]
        try:
            while not (told.exists() and told.read_text().endswith("}")):
                time.sleep(0.1)
            address = json.loads(told.read_text())["address"]
            with Client(address) as client:
                client.wait_for_workers(workers, timeout=60)
                # Modules and machine code are loaded before the clock runs, as in a cluster that is in use.
                client.run(lambda: __import__("assay.sharded"))
            yield address, processes[1:]
        finally:
            for process in processes:
                process.kill()
                process.wait()


def same(one: Run, other: Run) -> bool:
    """Whether two runs have the same bytes."""
    columns = ("offsets", "passage", "score")
    return one.spec == other.spec and all(getattr(one, c).tobytes() == getattr(other, c).tobytes() for c in columns)


def sharded(task: Task, executor: Executor, shards: int, depth: int, folder: Path) -> tuple[Run, float, list[str]]:
    """The run in shards, its seconds, and what was noted."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        work = Work(Path(place), executor, shards)
        start = time.perf_counter()
        run = retrieve(task, "bm25", depth=depth, work=work)
        seconds = time.perf_counter() - start
        return run, seconds, [*work.notes, *passes(Path(place), task)]


def passes(place: Path, task: Task) -> list[str]:
    """How long each pass took, from the times of its files, and how large they are."""
    found = []
    for manifest in sorted(place.rglob("manifest.json"), key=lambda path: path.stat().st_mtime):
        folder = manifest.parent
        done = [path.stat().st_mtime for path in (folder / "results").glob("*.done")]
        size = {
            part: sum(path.stat().st_size for path in (folder / part).iterdir()) / len(task.passages)
            for part in ("inputs", "results")
        }
        found.append(
            f"{folder.name.partition('-')[0]}: {max(done) - manifest.stat().st_mtime:.1f} s,"
            f" {size['inputs']:.0f} and {size['results']:.0f} bytes a passage in and out"
        )
    return found


def cpu(process: int | str = "self") -> float:
    """CPU seconds of a process so far."""
    told = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


def peak(process: int | str) -> str:
    """The most memory that a process has held so far."""
    told = Path(f"/proc/{process}/status").read_text()
    return next(f"{int(line.split()[1]) / 1024**2:.1f} GB" for line in told.splitlines() if line.startswith("VmHWM"))


def with_one_killed(task: Task, shards: int, depth: int, folder: Path) -> tuple[Run, list[str]]:
    """The run on two workers, one of which is killed as soon as a shard is done."""
    with cluster(2) as (address, workers):
        gone = threading.Event()

        def kill(line: str) -> None:
            if "done by" in line and not gone.is_set():
                gone.set()
                workers[0].send_signal(signal.SIGKILL)

        with tempfile.TemporaryDirectory(dir=folder) as place:
            work = Work(Path(place), Dask(address), shards, told=kill)
            run = retrieve(task, "bm25", depth=depth, work=work)
            if workers[0].poll() is None:
                raise SystemExit("no worker was killed")
            return run, work.notes


def compared(given: argparse.Namespace) -> None:
    """Ends the program where a run differs on a tenth of the passages."""
    task = task_of(max(1, given.documents // 10), max(1, given.queries // 10), given)
    whole = retrieve(task, "bm25", depth=given.depth)
    for shards in (1, given.shards, 7):
        if not same(whole, sharded(task, Local(2), shards, given.depth, given.folder)[0]):
            raise SystemExit(f"the run over {shards} shards differs from the run in one piece")
    run, notes = with_one_killed(task, given.shards, given.depth, given.folder)
    if not same(whole, run):
        raise SystemExit("the run with a killed worker differs from the run in one piece")
    print(f"equal: one piece, shards of three plans, and two Dask workers of which one was killed ({notes[0]})")


def main() -> None:
    """Compares, times, prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--documents", type=int, default=10 * MAIN)
    parser.add_argument("--queries", type=int, default=10_962)
    parser.add_argument("--words", type=int, default=200, help="of a passage")
    parser.add_argument("--query-words", type=int, default=130)
    parser.add_argument("--shards", type=int, default=16)
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    compared(given)
    task = task_of(given.documents, given.queries, given)
    start = time.perf_counter()
    whole = retrieve(task, "bm25", depth=given.depth)
    seconds: dict[str, float] = {"in one piece, two threads": time.perf_counter() - start}
    notes: dict[str, list[str]] = {}
    used: dict[int, tuple[float, float]] = {}
    for workers in (1, 2):
        name = f"dask, {workers} worker{'s' if workers > 1 else ''}"
        for _ in range(given.repeat):
            with cluster(workers) as (address, processes):
                before = [cpu(), *(cpu(process.pid) for process in processes)]
                run, taken, told = sharded(task, Dask(address), given.shards, given.depth, given.folder)
                after = [cpu(), *(cpu(process.pid) for process in processes)]
                peaks = [peak(process.pid) for process in processes]
            here, *there = (late - early for late, early in zip(after, before, strict=True))
            used[workers] = here, sum(there)
            told.append(f"CPU seconds: {here:.1f} here, {' and '.join(f'{one:.1f}' for one in there)} of workers")
            notes[name] = [*told, f"peak memory: {peak('self')} here, {', '.join(peaks)} of workers"]
            if not same(whole, run):
                raise SystemExit(f"{name}: the run differs from the run in one piece")
            seconds[name] = min(taken, seconds.get(name, np.inf))
    ratio = seconds["dask, 1 worker"] / seconds["dask, 2 workers"]
    by_cpu = sum(used[1]) / (used[2][0] + used[2][1] / 2)
    if given.json:
        print(json.dumps({"seconds": seconds, "ratio": ratio, "ratio_by_cpu": by_cpu, "notes": notes}, indent=1))
        return
    print(f"{given.documents} passages, {given.queries} queries, depth {given.depth}, {given.shards} shards")
    for name, taken in seconds.items():
        print(f"{name:28} {taken:8.1f} s")
        for note in notes.get(name, ()):
            print(f"    {note}")
    print(f"one worker / two workers     {ratio:8.2f}")
    print(f"by CPU seconds, idle cores   {by_cpu:8.2f}")


if __name__ == "__main__":
    main()
