"""From a TREC run file to five measures with intervals, each in a fresh process, next to pytrec_eval and trec_eval.

    python benchmarks/trec.py [--queries 10962] [--depth 1000] [--passages 76536] [--repeat 3]
                              [--folder FOLDER] [--trec-eval PATH] [--no-variants]

Makes a run of `queries` lists of `depth` passages with BM25-like scores of four decimals (so that some tie) and
qrels with one relevant passage a query, or takes those that lie in FOLDER (`run.trec`, `qrels.trec`). Values of
every query are compared with the peers before anything is timed. Then times the whole of a fresh process, from the
start of the interpreter to the printed means: the best of `repeat`, with the peak of memory. One run before the
timed ones puts the file into the page cache and the machine code into its cache. The variants hold the same rows with
tabs, CRLF line ends, two blanks between fields, and all digits of float64 scores.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

MEASURES = {"nDCG@10": "ndcg_cut_10", "RR": "recip_rank", "R@10": "recall_10", "R@100": "recall_100", "AP": "map"}
TREC_EVAL = ["ndcg_cut.10", "recip_rank", "recall.10,100", "map"]

OURS = """
import json, sys
from assay.evaluation import evaluate
from assay.formats.trec import read_qrels, read_run
run, qrels = read_run(sys.argv[1]), read_qrels(sys.argv[2])
scores = evaluate(run, qrels, sys.argv[3].split(","))
print(json.dumps([[s.interval.mean, s.interval.low, s.interval.high] for s in scores]))
if len(sys.argv) > 4:
    rows = {s.measure: dict(zip(s.queries, s.value.tolist())) for s in scores}
    open(sys.argv[4], "w").write(json.dumps(rows))
"""

READ = """
import sys
from assay.formats.trec import read_run
print(len(read_run(sys.argv[1])))
"""

PEER = """
import json, sys
import pytrec_eval
with open(sys.argv[2]) as file:
    qrels = pytrec_eval.parse_qrel(file)
with open(sys.argv[1]) as file:
    run = pytrec_eval.parse_run(file)
names = sys.argv[3].split(",")
found = pytrec_eval.RelevanceEvaluator(qrels, set(names)).evaluate(run)
print(json.dumps([sum(q[n] for q in found.values()) / len(qrels) for n in names]))
if len(sys.argv) > 4:
    open(sys.argv[4], "w").write(json.dumps({n: {q: v[n] for q, v in found.items()} for n in names}))
"""

# A small process of its own: a child's peak starts at that of the process which made it.
WATCH = """
import os, sys, time
quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
start = time.perf_counter()
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, usage = os.wait4(child, 0)
print([time.perf_counter() - start, usage.ru_maxrss])
sys.exit(os.waitstatus_to_exitcode(status))
"""

Scores = dict[str, dict[str, float]]


def lists(queries: int, depth: int, passages: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Passages and falling scores, shape (queries, depth); no passage repeats within a row."""
    random = np.random.default_rng(seed)
    steps = random.choice([s for s in range(1, 4001) if np.gcd(s, passages) == 1], queries)
    starts = random.integers(0, passages, queries)
    passage = (starts[:, None] + steps[:, None] * np.arange(depth)) % passages
    score = np.sort(random.gamma(3.0, 4.0, (queries, depth)), axis=1)[:, ::-1].round(4)
    return passage.astype(np.int64), score


def write_load(folder: Path, queries: int, depth: int, passages: int) -> None:
    """Writes `run.trec` and `qrels.trec`: relevant passages lie near the top, three in ten are not found."""
    random = np.random.default_rng(1)
    passage, score = lists(queries, depth, passages, seed=0)
    rank = np.minimum(random.geometric(0.08, queries) * random.integers(1, 8, queries), depth) - 1
    with open(folder / "run.trec", "w") as run, open(folder / "qrels.trec", "w") as qrels:
        for q in range(queries):
            rows = enumerate(zip(passage[q].tolist(), score[q].tolist(), strict=True), 1)
            run.write("".join(f"q{q} Q0 d{p} {r} {s} bm25\n" for r, (p, s) in rows))
            gold = f"d{passage[q, rank[q]]}" if random.random() < 0.7 else f"x{q}"
            qrels.write(f"q{q} 0 {gold} 1\n")


def write_variants(folder: Path) -> list[Path]:
    """The same run with tabs, with CRLF, with two blanks, and with scores of up to 17 digits."""
    forms: dict[str, Callable[[bytes], bytes]] = {
        "tabs": lambda data: data.replace(b" ", b"\t"),
        "crlf": lambda data: data.replace(b"\n", b"\r\n"),
        "blanks": lambda data: data.replace(b" ", b"  "),
        "digits": _all_digits,
    }
    made = []
    for name, form in forms.items():
        place = folder / f"run.{name}.trec"
        made.append(place)
        with open(folder / "run.trec", "rb") as source, open(place, "wb") as target:
            while lines := source.readlines(1 << 24):
                target.write(form(b"".join(lines)))
    return made


def _all_digits(data: bytes) -> bytes:
    rows = [line.split(b" ") for line in data.splitlines()]
    scores = (np.array([row[4] for row in rows]).astype(np.float64) / 3).tolist()
    return b"".join(
        b"%s Q0 %s %s %s bm25\n" % (row[0], row[2], row[3], repr(score).encode())
        for row, score in zip(rows, scores, strict=True)
    )


def timed(command: list[str], repeat: int) -> tuple[float, int]:
    """Seconds of the fastest of `repeat` runs of a command, and its peak of memory in MB."""
    runs = []
    for _ in range(repeat):
        done = subprocess.run([sys.executable, "-S", "-c", WATCH, *command], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command[:2])} failed: {done.stderr.strip()[-500:]}")
        runs.append(json.loads(done.stdout))
    seconds, kilobytes = min(runs)
    return seconds, kilobytes >> 10


def values(code: str, run: Path, qrels: Path, names: list[str]) -> Scores:
    """Values by measure and query, found in a process of its own."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run([sys.executable, "-c", code, run, qrels, ",".join(names), file.name], check=True)
        loaded: Scores = json.loads(Path(file.name).read_text())
    return loaded


def trec_eval_values(program: str, run: Path, qrels: Path) -> Scores:
    """Values by measure and query as printed by trec_eval, with four decimals."""
    options = [part for name in TREC_EVAL for part in ("-m", name)]
    text = subprocess.run([program, "-q", *options, qrels, run], check=True, capture_output=True, text=True).stdout
    found: Scores = {}
    for line in text.splitlines():
        name, query, value = line.split()
        if query != "all":
            found.setdefault(name, {})[query] = float(value)
    return found


def compare(ours: Scores, peer: Scores, who: str, tolerance: float) -> None:
    """Ends the program where a value differs."""
    for name, peer_name in MEASURES.items():
        theirs = peer[peer_name]
        worst = max((abs(value - theirs.get(query, 0.0)), query) for query, value in ours[name].items())
        if worst[0] > tolerance:
            sys.exit(f"{name} of {worst[1]} differs from {who} by {worst[0]:.6f}")
    print(f"equal to {who}: {len(MEASURES)} measures of {len(ours['AP'])} queries, within {tolerance:g}")


def main() -> None:
    """Makes the load, compares, times, prints."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--queries", type=int, default=10_962)
    options.add_argument("--depth", type=int, default=1000)
    options.add_argument("--passages", type=int, default=76_536)
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--folder", type=Path)
    options.add_argument("--trec-eval")
    options.add_argument("--no-variants", action="store_true")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        run, qrels = folder / "run.trec", folder / "qrels.trec"
        if not (run.exists() and qrels.exists()):
            write_load(folder, given.queries, given.depth, given.passages)
        print(f"{run.stat().st_size / 1e6:.0f} MB")
        ours = values(OURS, run, qrels, list(MEASURES))
        compare(ours, values(PEER, run, qrels, list(MEASURES.values())), "pytrec_eval", 1e-9)
        if given.trec_eval:
            compare(ours, trec_eval_values(given.trec_eval, run, qrels), "trec_eval", 5.1e-5)

        python = [sys.executable, "-c"]
        names, peers = ",".join(MEASURES), ",".join(MEASURES.values())
        rows = [("assay", [*python, OURS, str(run), str(qrels), names])]
        rows.append(("assay, reading alone", [*python, READ, str(run)]))
        rows.append(("pytrec_eval", [*python, PEER, str(run), str(qrels), peers]))
        if given.trec_eval:
            chosen = [part for name in TREC_EVAL for part in ("-m", name)]
            rows.append(("trec_eval", [given.trec_eval, *chosen, str(qrels), str(run)]))
        if not given.no_variants:
            rows += [
                (f"assay, {place.stem.split('.')[-1]}", [*python, OURS, str(place), str(qrels), names])
                for place in write_variants(folder)
            ]
        base = 0.0
        print(f"{'':24s} {'seconds':>8s} {'ratio':>6s} {'peak MB':>8s}")
        for name, command in rows:
            seconds, peak = timed(command, given.repeat)
            base = base or seconds
            print(f"{name:24s} {seconds:8.2f} {seconds / base:6.2f} {peak:8d}")


if __name__ == "__main__":
    main()
