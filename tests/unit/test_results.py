"""Result folders: read back equal, and always whole, whatever happens to those who write them."""

from __future__ import annotations

import contextlib
import errno
import random
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay import experiment
from assay.errors import FileError, FormatError
from assay.formats import results
from assay.formats.results import read_result, write_result
from assay.ids import Ids
from assay.run import Run
from assay.scores import Counts, Interval, Scores
from assay.sources import open_collection

WRITER = """
import itertools, sys, time
from pathlib import Path
import numpy as np
from assay.formats.results import write_result
from assay.ids import Ids
from assay.run import Run
from assay.scores import Counts, Interval, Scores

def write(folder, value, queries=300):
    names = [f"q{n}" for n in range(queries)]
    run = Run.of({q: {f"p{n}": value for n in range(10)} for q in names}, name="s")
    values = np.full(queries, value)
    interval = Interval(value, value, value, queries, queries)
    scores = Scores("RR", Ids.of(names), values, values, values, values, interval=interval, counts=Counts(queries))
    write_result(Path(folder), spec={"system": "s", "value": value}, run=run, scores=[scores])
"""
LOOP = (
    WRITER
    + """
for number, value in enumerate(itertools.cycle(map(float, sys.argv[2].split(",")))):
    write(sys.argv[1], value)
    if number == 0:
        print("on", flush=True)
    time.sleep(0.002)
"""
)


def value_of(folder: Path) -> float:
    """The one value that a whole result folder holds in its spec, its run and its scores."""
    assert {p.name for p in folder.iterdir()} == {"spec.json", "run.parquet", "scores.parquet"}
    return read_value(folder)


def read_value(folder: Path) -> float:
    spec, run, [scores] = read_result(folder)
    assert len(run) == 3000
    assert len(scores) == 300
    values = {spec["value"], scores.interval.mean, *run.score.tolist(), *scores.value.tolist()}
    assert len(values) == 1
    return float(values.pop())


def written(folder: Path, value: float) -> None:
    namespace: dict[str, Any] = {}
    exec(WRITER, namespace)
    namespace["write"](folder, value)


@contextlib.contextmanager
def writer(folder: Path, values: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that writes a result folder over and over, and has written it once; killed at the end."""
    with subprocess.Popen([sys.executable, "-c", LOOP, str(folder), values], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"on\n"
            yield process
        finally:
            process.kill()


def test_what_is_written_reads_back_equal(tmp_path: Path) -> None:
    run = Run.of({"q1": {"a": 2.0, "b": 1.0}, "q2": {}, "ü": {"b": 0.1}}, name="mine", depth=10, counts={"odd": 3})
    names, low = Ids.of(["q1", "q2", "ü", "q4"]), np.array([0.0, 0.0, 0.25, 0.0])
    interval = Interval(0.5, float("nan"), 1.0, 4, 2, unit="cluster", note="two units")
    one = Scores(
        "nDCG@10",
        names,
        low + 0.5,
        low + 0.6,
        low,
        low + 0.3,
        interval=interval,
        counts=Counts(4, missing=1, empty=1, unknown_removed=7),
        upper=np.array([0.5, np.nan, 1.0, 0.5]),
        clusters=np.array([0, 0, 1, 1]),
        extras={"micro": 0.25, "none": float("nan")},
    )
    plain = Scores("AP", names, low, low, low, low, interval=Interval(0.1, 0.0, 0.2, 4, 4), counts=Counts(4))
    write_result(
        tmp_path / "r", spec={"system": "mine", "counts": {"odd": 3}, "run": {"k1": 0.9}}, run=run, scores=[one, plain]
    )
    spec, back, scores = read_result(tmp_path / "r")
    assert spec["run"] == {"k1": 0.9}
    assert back.triples() == run.triples()
    assert sorted(back.queries) == sorted(run.queries)
    assert (back.depth, back.name, dict(back.counts), dict(back.spec)) == (10, "mine", {"odd": 3}, {"k1": 0.9})
    assert [s.measure for s in scores] == ["nDCG@10", "AP"]
    for made, kept in zip((one, plain), scores, strict=True):
        assert list(made.queries) == list(kept.queries)
        for name in ("value", "best", "worst", "expected", "upper", "clusters"):
            np.testing.assert_array_equal(getattr(made, name), getattr(kept, name))
        assert made.counts == kept.counts
        assert str(made.interval) == str(kept.interval)
        assert str(made.extras) == str(kept.extras)


def test_an_earlier_result_is_replaced_and_nothing_else_stays(tmp_path: Path) -> None:
    for value in (1.0, 2.0):
        written(tmp_path / "r", value)
        assert value_of(tmp_path / "r") == value
    assert {p.name for p in tmp_path.iterdir()} == {"r", ".lock"}


@pytest.mark.parametrize("exchanged", [True, False])
def test_a_full_disk_leaves_the_old_result(exchanged: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not exchanged:
        monkeypatch.setattr(results, "_exchanged", lambda one, other: False)
    written(tmp_path / "r", 1.0)
    written(tmp_path / "r", 2.0)

    def full(*_: Any, **__: Any) -> None:
        (tmp_path / ".r.part").mkdir()
        (tmp_path / ".r.part" / "run.parquet").write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device", str(tmp_path / ".r.part" / "run.parquet"))

    monkeypatch.setattr(results, "_write_draft", full)
    with pytest.raises(FileError, match=r"cannot write .*/r: no space left .* free some space"):
        written(tmp_path / "r", 3.0)
    assert value_of(tmp_path / "r") == 2.0
    assert {p.name for p in tmp_path.iterdir()} == {"r", ".lock"}


def test_what_a_killed_writer_left_is_no_result_and_goes_with_the_next_writing(tmp_path: Path) -> None:
    written(tmp_path / "r", 1.0)
    for kind in ("part", "old"):
        shutil.copytree(tmp_path / "r", tmp_path / f".r.{kind}")
    shutil.copytree(tmp_path / "r", tmp_path / ".other.part")
    (tmp_path / "r" / "spec.json").unlink()
    with pytest.raises(FormatError, match="no whole result folder"):
        read_result(tmp_path / "r")
    with pytest.raises(Exception, match="holds no results"):
        experiment.stored(tmp_path)
    written(tmp_path / "r", 2.0)
    assert value_of(tmp_path / "r") == 2.0
    # Another place's leftovers may belong to a writer on a file system that this process does not lock.
    assert {p.name for p in tmp_path.iterdir()} == {"r", ".lock", ".other.part"}


def test_a_writer_killed_between_two_steps_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "r", 1.0)
    (tmp_path / "r").rename(tmp_path / ".r.old")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(results, "_write_draft", full)
    with pytest.raises(FileError):
        written(tmp_path / "r", 2.0)
    assert value_of(tmp_path / "r") == 1.0


@pytest.mark.heavy
def test_a_kill_at_any_moment_leaves_a_whole_result(tmp_path: Path) -> None:
    folder, chance = tmp_path / "below" / "r", random.Random(7)
    for _ in range(15):
        with writer(folder, "1,2"):
            time.sleep(chance.uniform(0.0, 0.1))
        assert value_of(folder) in (1.0, 2.0)
    written(folder, 3.0)
    assert value_of(folder) == 3.0
    assert {p.name for p in folder.parent.iterdir()} == {"r", ".lock"}


def test_two_writers_of_one_folder_and_a_reader(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    with writer(folder, "1,2") as one, writer(folder, "3,4") as other:
        until, seen = time.monotonic() + 3.0, set()
        while time.monotonic() < until:
            seen.add(read_value(folder))
        assert (one.poll(), other.poll()) == (None, None)
    assert len(seen) > 1
    assert seen <= {1.0, 2.0, 3.0, 4.0}


# ---------------------------------------------------------------- a disk that is full, in a process of its own

LIMITED = """
import resource, sys
limit = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
"""


def limited(limit: int, code: str, *words: object) -> subprocess.CompletedProcess[str]:
    """Python code run where no file may grow past `limit` bytes, as on a disk that fills up."""
    script = LIMITED + textwrap.dedent(code)
    command = [sys.executable, "-B", "-c", script, str(limit), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True)


ASSAY = "from assay.__main__ import main; sys.argv[0] = 'assay'; main()"


def bytes_below(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_a_disk_that_fills_up_while_a_result_or_a_report_is_written(tmp_path: Path) -> None:
    out, page = tmp_path / "out", tmp_path / "report.html"
    words = ("run", "demo:questions/answer", "--resamples", "50", "--out", out)
    assert limited(10**9, ASSAY, *words).returncode == 0
    page.write_text("the old one")
    before = bytes_below(tmp_path)
    tries = [(limit, words) for limit in (50, 3_000, 20_000)] + [(5_000, ("report", out, "--out", page))]
    for limit, tried in tries:
        done = limited(limit, ASSAY, *tried)
        assert (done.returncode, done.stdout) == (3, ""), done.stderr
        assert done.stderr.startswith("error: cannot write ")
        assert "no space left" in done.stderr
        assert done.stderr.count("\n") == 1
        assert bytes_below(tmp_path) == before


def test_a_disk_that_fills_up_while_a_collection_and_a_run_are_written(tmp_path: Path) -> None:
    from assay.sources import beir

    collection = open_collection("demo:chunks")
    beir.save(collection, tmp_path / "c")
    before = bytes_below(tmp_path)
    code = """
    from assay.errors import FileError
    from assay.formats.runs import write_run
    from assay.run import Run
    from assay.sources import beir, open_collection
    from pathlib import Path
    folder = Path(sys.argv[1])
    run = Run.of({"q": {f"passage{n}": n / 7 for n in range(3000)}})
    wanted = [lambda: beir.save(open_collection("demo:chunks"), folder / "c")]
    wanted += [lambda n=n: write_run(run, folder / n) for n in ("a.trec", "a.trec.gz", "a.json", "a.jsonl.zst", "a.parquet")]
    for number, write in enumerate(wanted):
        try:
            write()
        except FileError as err:
            assert "no space left" in str(err), err
        else:
            raise SystemExit(f"nothing was refused at {number}")
    """
    done = limited(2_000, code, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert bytes_below(tmp_path) == before
