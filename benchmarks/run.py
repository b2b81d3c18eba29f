"""The main load through the command line: `assay run` from files to the table, time and peak memory.

python benchmarks/run.py [--documents 76536] [--queries 10962] [--repeat 3] [--json]

Writes the load as a dated question collection, then runs `assay run … --system bm25` in fresh processes: the first
one with an empty cache of compiled code, the others with it. Task `answer` searches everything, `precedent` only
what was published before the question. Values are checked against each other before anything is printed: every
run of a task must print the same JSON.

Unset OPENBLAS_CORETYPE where a machine sets it: `env -u OPENBLAS_CORETYPE python benchmarks/run.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from load import Load, made

TASKS = ("answer", "precedent")


def written(load: Load, folder: Path) -> None:
    """Writes the load in the layout of dated questions."""
    first = np.datetime64("2009-07-01")
    with open(folder / "corpus.jsonl", "w") as file:
        for i, (text, day) in enumerate(zip(load.passages, load.passage_day.tolist(), strict=True)):
            file.write(json.dumps({"_id": f"d{i}", "text": text, "date": str(first + day)}) + "\n")
    with open(folder / "queries.jsonl", "w") as file:
        for i, (text, day) in enumerate(zip(load.queries, load.query_day.tolist(), strict=True)):
            row = {"_id": f"q{i}", "text": text, "date": str(first + day), "split": "test"}
            file.write(json.dumps(row) + "\n")
    (folder / "qrels").mkdir()
    for task in TASKS:
        lines = "".join(f"q{i}\t0\td{gold}\t1\n" for i, gold in enumerate(load.gold.tolist()))
        (folder / "qrels" / f"{task}_test.tsv").write_text(lines)


def measured(command: list[str], environment: dict[str, str]) -> tuple[dict[str, Any], float, float]:
    """What a command printed as JSON, its wall seconds, and its peak memory in GB."""
    read, write = os.pipe()
    start = time.perf_counter()
    child = os.posix_spawn(command[0], command, environment, file_actions=[(os.POSIX_SPAWN_DUP2, write, 1)])
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        output = pipe.read()
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return json.loads(output), seconds, usage.ru_maxrss / 1024**2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=76_536)
    parser.add_argument("--queries", type=int, default=10_962)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", type=Path, help="only write the collection into this folder")
    arguments = parser.parse_args()
    if arguments.write is not None:
        written(made(arguments.documents, arguments.queries), arguments.write)
        return
    record: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "main").mkdir()
        # In a process of its own: the peak memory of a child counts that of its parent before the start.
        maker = [sys.executable, __file__, "--write", str(place / "main")]
        sizes = ["--documents", str(arguments.documents), "--queries", str(arguments.queries)]
        subprocess.run([*maker, *sizes], check=True)
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(place / "numba")}
        for task in TASKS:
            command = [sys.executable, "-m", "assay", "run", str(place / "main" / task), "--system", "bm25", "--json"]
            runs = [measured(command, environment) for _ in range(1 + arguments.repeat)]
            if any(output != runs[0][0] for output, _, _ in runs):
                raise SystemExit(f"{task}: two runs printed different results")
            means = {m: v["mean"] for m, v in runs[0][0]["results"][0]["measures"].items()}
            later = sorted(seconds for _, seconds, _ in runs[1:])
            record[task] = {
                "first_seconds": runs[0][1],
                "seconds": later[len(later) // 2],
                "peak_gb": max(peak for _, _, peak in runs),
                "means": means,
            }
    if arguments.json:
        print(json.dumps(record))
        return
    for task, r in record.items():
        means = ", ".join(f"{name} {mean:.4f}" for name, mean in r["means"].items())
        print(
            f"{task}: {r['seconds']:.2f} s from start to table, first run {r['first_seconds']:.2f} s, "
            f"peak {r['peak_gb']:.2f} GB ({means})"
        )


if __name__ == "__main__":
    main()
