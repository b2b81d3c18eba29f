"""A question-level build from records to files: seconds and peak memory, and whether time is linear in the records.

python benchmarks/build.py [--records 155000] [--repeat 2] [--json]

Records are made up (`records.py`), stored, and built in fresh processes at a sixteenth, a quarter and all of the size:
assembled in memory, then written as a folder to upload and read back. Beside the wall time stands the processor's,
which other work on the machine disturbs less; the ratio says how many times more of it a record takes than at the
smallest size. Before anything is printed, the builds of each size must have made the same tables.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from run import measured

PARTS = (16, 4, 1)


def one_build(source: Path, folder: Path, write: bool) -> dict[str, Any]:
    """Seconds of each step of one build, and a digest of what it made."""
    from assay.building.assemble import BuildRules, assemble
    from assay.building.records import Records
    from records import HOUSE, ORIGIN

    with open(source, "rb") as file:
        questions, answers = pickle.load(file)
    start, began = time.perf_counter(), time.process_time()
    built = assemble(Records(HOUSE, ORIGIN, questions, answers), rules=BuildRules())
    found: dict[str, Any] = {"records": len(questions) + len(answers)}
    found["assemble"] = (time.perf_counter() - start, time.process_time() - began)
    if write:
        from assay.publishing.question_level import write_build

        start, began = time.perf_counter(), time.process_time()
        write_build(built, folder)
        found["write"] = (time.perf_counter() - start, time.process_time() - began)
    else:
        digest = hashlib.sha256()
        for part in (built.tables.corpus, built.tables.queries, built.tables.equivalents, built.tables.precedent_meta):
            for row in part:
                digest.update(json.dumps(row).encode())
        found["digest"] = digest.hexdigest()
    return found


def store(records: int, place: Path) -> None:
    """Writes made-up records of every size, each in a file of its own."""
    from records import records as made

    for part in PARTS:
        found = made(records // part)
        with open(place / f"{part}.pickle", "wb") as file:
            pickle.dump((found.questions, found.answers), file)


def measure(place: Path, part: int, write: bool, repeat: int) -> dict[str, Any]:
    """The quickest of some builds of one size, and the highest of their memory peaks."""
    results = []
    for n in range(repeat):
        command = [sys.executable, __file__, "--source", str(place / f"{part}.pickle"), *(["--write"] if write else [])]
        results.append(measured([*command, "--folder", str(place / f"{part}-{write}-{n}")], dict(os.environ)))
    if len({result.get("digest") for result, _, _ in results}) > 1:
        raise SystemExit("two builds made different tables")
    seconds, used = min(result["write" if write else "assemble"] for result, _, _ in results)
    return {
        "records": results[0][0]["records"],
        "seconds": seconds,
        "cpu_seconds": used,
        "peak_gb": max(peak for _, _, peak in results),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=155_000)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--source", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--write", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.source is not None:
        print(json.dumps(one_build(given.source, given.folder, given.write)))
        return
    if given.store is not None:
        store(given.records, given.store)
        return
    table: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        # In a process of its own: the peak memory of a child counts that of its parent before the start.
        maker = [sys.executable, __file__, "--store", str(place), "--records", str(given.records)]
        subprocess.run(maker, check=True)
        for step, write in (("assemble", False), ("write", True)):
            table[step] = [measure(place, part, write, given.repeat) for part in PARTS]
    if given.json:
        print(json.dumps(table))
        return
    for step, rows in table.items():
        first = rows[0]["cpu_seconds"] / rows[0]["records"]
        for row in rows:
            linear = row["cpu_seconds"] / row["records"] / first
            print(
                f"{step:9} {row['records']:8,} records  {row['seconds']:7.2f} s  "
                f"({row['cpu_seconds']:.2f} s of processor)  peak {row['peak_gb']:.2f} GB  {linear:.2f} of linear"
            )


if __name__ == "__main__":
    main()
