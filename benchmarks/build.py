"""A question-level build from records to files: seconds and peak memory, and whether time is linear in the records.

python benchmarks/build.py [--records 155000] [--repeat 1] [--json]

Records are made up (`records.py`), stored, and built in fresh processes at a sixteenth, a quarter and all of the size:
assembled in memory, then written as a folder to upload and read back. Beside the wall time stands the processor's
(of the process and its children), which other work on the machine disturbs less; the ratio says how many times more of
it a record takes than at the smallest size. Before anything is printed, all builds of a size must have one digest.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from run import measured

PARTS = (16, 4, 1)
STEPS = ("assemble", "write")


def _processor() -> float:
    return time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def one_build(source: Path, folder: Path) -> dict[str, Any]:
    """Seconds of wall and processor and the peak memory so far of each step of one build, and its digest."""
    from assay.building.assemble import BuildRules, assemble
    from assay.building.records import Records
    from assay.publishing.question_level import write_build
    from records import HOUSE, ORIGIN

    with open(source, "rb") as file:
        questions, answers = pickle.load(file)
    records = Records(HOUSE, ORIGIN, questions, answers)
    found: dict[str, Any] = {"records": len(questions) + len(answers)}
    made: list[Any] = [records]
    for step, work in zip(
        STEPS, (lambda it: assemble(it, rules=BuildRules()), lambda it: write_build(it, folder)), strict=True
    ):
        start, began = time.perf_counter(), _processor()
        made.append(work(made[-1]))
        wall, used = time.perf_counter() - start, _processor() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
        found[step] = {"seconds": wall, "processor_seconds": used, "peak_gb": peak}
    return {**found, "digest": made[-1].digest}


def store(records: int, place: Path) -> None:
    """Writes made-up records of every size, each in a file of its own."""
    from records import records as made

    for part in PARTS:
        found = made(records // part)
        with open(place / f"{part}.pickle", "wb") as file:
            pickle.dump((found.questions, found.answers), file)


def measure(place: Path, part: int, repeat: int) -> list[dict[str, Any]]:
    """Per step the quickest of some builds of one size, and the highest of their memory peaks."""
    builds = []
    for _ in range(repeat):
        with tempfile.TemporaryDirectory(dir=place) as folder:
            command = [
                sys.executable,
                __file__,
                "--source",
                str(place / f"{part}.pickle"),
                "--folder",
                f"{folder}/made",
            ]
            builds.append(measured(command, dict(os.environ))[0])
    if len({build["digest"] for build in builds}) > 1:
        raise SystemExit("two builds of the same records differ")
    return [
        {"step": step, "records": builds[0]["records"]}
        | {key: min(build[step][key] for build in builds) for key in ("seconds", "processor_seconds")}
        | {"peak_gb": max(build[step]["peak_gb"] for build in builds)}
        for step in STEPS
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=155_000)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--source", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.source is not None:
        print(json.dumps(one_build(given.source, given.folder)))
        return
    if given.store is not None:
        store(given.records, given.store)
        return
    table: dict[str, list[dict[str, Any]]] = {step: [] for step in STEPS}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        # In a process of its own: the peak memory of a child counts that of its parent before the start.
        maker = [sys.executable, __file__, "--store", str(place), "--records", str(given.records)]
        subprocess.run(maker, check=True)
        for part in PARTS:
            for row in measure(place, part, given.repeat):
                first = table[row["step"]][0] if table[row["step"]] else row
                each = row["processor_seconds"] / row["records"]
                row["linear"] = each / (first["processor_seconds"] / first["records"])
                table[row["step"]].append(row)
    if given.json:
        print(json.dumps(table))
        return
    for step, rows in table.items():
        for row in rows:
            print(
                f"{step:9} {row['records']:8,} records  {row['seconds']:7.2f} s  "
                f"({row['processor_seconds']:.2f} s of processor)  peak {row['peak_gb']:.2f} GB  "
                f"{row['linear']:.2f} of linear"
            )


if __name__ == "__main__":
    main()
