"""Start-up: `assay --help` warm, and the first run of the demo beside the second.

    python benchmarks/startup.py [--json]

The first run is taken with an empty cache of compiled code and of bytecode, in a copy of the package.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import assay


def seconds(command: list[str], **environment: str) -> float:
    """Wall seconds of a command that must succeed."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **environment})
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    program = [sys.executable, "-m", "assay"]
    seconds([*program, "--help"])
    helps = [seconds([*program, "--help"]) for _ in range(9)]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(assay.__file__).parent
        shutil.copytree(source, Path(folder) / "assay", ignore=shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc"))
        fresh = {"PYTHONPATH": folder, "NUMBA_CACHE_DIR": str(Path(folder) / "numba")}
        demo = [*program, "demo", "--out", str(Path(folder) / "out")]
        first = seconds(demo, **fresh)
        later = [seconds(demo, **fresh) for _ in range(5)]
        compiled = len(list(Path(folder).rglob("*.nbc")))
    record = {
        "help_seconds": statistics.median(helps),
        "demo_first_seconds": first,
        "demo_seconds": statistics.median(later),
        "functions_compiled_by_the_demo": compiled,
    }
    if arguments.json:
        print(json.dumps(record))
        return
    print(f"assay --help, warm, median of 9:   {record['help_seconds']:.3f} s   (at most 0.2)")
    print(f"assay demo, first run ever:        {first:.2f} s")
    print(f"assay demo, median of 5 later:     {record['demo_seconds']:.2f} s   (under 2; first at most 5 s slower)")
    print(f"functions compiled by the demo:    {compiled}   (none)")


if __name__ == "__main__":
    main()
