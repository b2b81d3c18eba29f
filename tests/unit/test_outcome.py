"""Experiments that are run: one table, resumed where they stopped, the same from the command line and from Python."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay
from assay import experiment
from assay.errors import UnknownNameError, UsageError, ViewError
from assay.experiment_file import Entry, Experiment, Paired, Target, read_experiment
from assay.outcome import run_experiment
from assay.reports.outcomes import outcome_record, outcome_tables
from assay.sources import chunk_level, open_collection
from commands import assay as command
from commands import documented, keys_of, ok, refused
from conftest import ROOT

GONE = "command('no-such-program {passages} {queries} {run}')"
FEW = {"resamples": 200}
TWO = (Entry.of("bm25"), Entry.of("bm25('english')"))
TEXT = """
collections = "demo:questions"
tasks = ["answer", "precedent"]
floors = "random"
resamples = 200
[systems]
plain = "bm25"
english = "bm25('english')"
questions = {call = "question_matching(bm25)", tasks = "precedent"}
[tests]
baseline = "english"
"""


def made(**changes: Any) -> Experiment:
    given = {"name": "e", "targets": (Target("demo:questions", "answer"),), "systems": TWO, **FEW}
    return Experiment(**(given | changes))


def written(folder: Path, text: str = TEXT) -> Path:
    (folder / "e.toml").write_text(text, encoding="utf-8")
    return folder / "e.toml"


def states(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file below a folder of results, with what shows that it was written again."""
    found = (p for p in sorted(folder.rglob("*.*")) if p.is_file() and p.name != ".lock")
    return {str(p.relative_to(folder)): (p.stat().st_ino, p.stat().st_mtime_ns) for p in found}


# ---------------------------------------------------------------- one table a task


def test_the_tables_hold_systems_in_order_with_floors_below(tmp_path: Path) -> None:
    outcome = run_experiment(written(tmp_path))
    answer, precedent, *rest = outcome_tables(outcome)
    assert answer.title == "demo:questions/answer, split test: 106 queries"
    assert [row[0] for row in answer.rows] == ["plain", "english", "random(seed=0)"]
    assert [row[0] for row in precedent.rows] == ["plain", "english", "questions", "random(seed=0)"]
    assert answer.headings == ("system", "RR@10", "nDCG@10", "R@10")
    assert all(re.fullmatch(r"0\.\d{4} \[0\.\d{4}, 0\.\d{4}\]", cell) for row in answer.rows for cell in row[1:])
    assert [table.title for table in rest] == [
        "Compared on answer, split test",
        "Compared on precedent, split test",
        "Systems",
    ]
    assert [row[1] for row in rest[0].rows] == ["english − plain"]
    assert [row[1] for row in rest[1].rows] == ["english − plain", "english − questions"]
    assert rest[2].rows[2] == ("questions", "question_matching(bm25)")


def test_an_experiment_gives_what_single_runs_give(tmp_path: Path) -> None:
    outcome = run_experiment(made(seeds=(3,), measures=("RR@5",), interval="percentile", depth=20))
    words = ("-s", "bm25", "-s", "bm25('english')", "-m", "RR@5", "--seed", 3, "--interval", "percentile")
    told = ok("run", "demo:questions/answer", *words, "--depth", 20, "--resamples", 200, "--json").json
    assert json.loads(json.dumps(outcome_record(outcome)["results"])) == told["results"]


def test_python_and_the_command_line_agree(tmp_path: Path) -> None:
    path = written(tmp_path)
    told = ok("run", path, "--out", tmp_path / "cli", "--json").json
    outcome = assay.run_experiment(path, out=tmp_path / "python")
    record = json.loads(json.dumps(outcome_record(outcome)))
    assert told == {**record, "report": str(tmp_path / "cli" / "e.html")}
    stored = {place.relative_to(tmp_path / "cli") for place in (tmp_path / "cli").rglob("*.parquet")}
    assert len(stored) == 2 * 5
    for name in stored:
        assert (tmp_path / "cli" / name).read_bytes() == (tmp_path / "python" / name).read_bytes()


def test_json_has_the_documented_keys(tmp_path: Path) -> None:
    path = written(tmp_path, TEXT.replace("plain =", f'gone = "{GONE}"\nplain ='))
    ended = command("run", path, "--out", tmp_path / "r", "--json")
    assert (ended.code, ended.err) == (4, "")
    sections = ("An experiment as JSON", "A result as JSON", "A comparison as JSON")
    assert set(keys_of(ended.json)) == set().union(*map(documented, sections))
    assert {n["task"]: n["system"] for n in ended.json["not_run"]} == {"answer": "gone", "precedent": "gone"}
    [why] = {n["reason"] for n in ended.json["not_run"]}
    assert command("run", path, "--out", tmp_path / "r").out.count(f"· gone: {why}") == 1
    skipped = ok("run", path, "--out", tmp_path / "r", "--json", "--skip-unavailable").json
    assert skipped == {**ended.json, "found": 5}


def test_the_page_shows_every_system(tmp_path: Path) -> None:
    shown = ok("run", written(tmp_path), "--out", tmp_path / "r").out
    page = (tmp_path / "r" / "e.html").read_text("utf-8")
    assert all(name in page for name in ("plain", "english", "questions"))
    assert "5 results, 0 of them found as they were stored" in shown
    assert f"the report is {tmp_path / 'r' / 'e.html'}" in shown


def test_tests_are_of_the_first_seed_and_seeds_are_told() -> None:
    outcome = run_experiment(made(seeds=(1, 2), tests=Paired("bm25")))
    assert [r.system for r in outcome.results] == [
        *("bm25, seed 1", "bm25, seed 2", "bm25('english'), seed 1", "bm25('english'), seed 2")
    ]
    [family] = outcome.compared
    assert [(c.first, c.second) for c in family.family.comparisons] == [("bm25, seed 1", "bm25('english'), seed 1")]
    # The contract of a system: the order in which rows are handed out does not show.
    one, other = outcome.results[:2]
    assert one.scores[0].value.tolist() == other.scores[0].value.tolist()
    assert one.scores[0].interval.seed == other.scores[0].interval.seed == 1


def test_all_measures_in_one_family_or_no_tests_at_all() -> None:
    [family] = run_experiment(made(tests=Paired(all_measures=True))).compared
    assert family.measures == ("RR@10", "nDCG@10", "R@10")
    assert run_experiment(made(tests=None)).compared == ()
    assert run_experiment(made(systems=TWO[:1])).compared == ()


def test_several_collections(tmp_path: Path) -> None:
    chunk_level.save(open_collection("demo:chunks"), tmp_path / "own")
    path = written(
        tmp_path, 'collections = ["demo:chunks", "own"]\nsystems = ["bm25", "bm25(k1=0.9)"]\nresamples = 50\n'
    )
    outcome = run_experiment(path, out=tmp_path / "r")
    assert [r.collection for r in outcome.results] == ["demo:chunks"] * 2 + ["own"] * 2
    assert len(outcome.compared) == 2
    assert [table.title for table in outcome_tables(outcome)[2:4]] == [
        "Compared on demo:chunks/passages, split test",
        "Compared on own/passages, split test",
    ]
    assert run_experiment(path, out=tmp_path / "r").found == 4


# ---------------------------------------------------------------- what cannot run


def test_what_this_machine_lacks_is_listed_and_the_rest_runs() -> None:
    systems = (Entry("gone", GONE), *TWO)
    outcome = run_experiment(made(systems=systems, tests=Paired("gone")))
    assert [r.system for r in outcome.results] == ["bm25", "bm25('english')"]
    [missing] = outcome.not_run
    assert (missing.system, missing.collection, missing.task, missing.split) == (
        *("gone", "demo:questions", "answer", "test"),
    )
    assert "no program 'no-such-program'" in missing.reason
    # The baseline is not there: no test says otherwise.
    assert outcome.compared == ()
    *_, table = outcome_tables(outcome)
    assert table.rows == (("gone", "demo:questions/answer, split test"),)
    assert table.notes == (f"gone: {missing.reason}",)


@pytest.mark.parametrize("call", ["dense('not-fitted-yet')", "rerank(bm25, model='./not-fitted-yet')"])
def test_a_model_that_is_not_fitted_yet_is_listed_and_the_rest_runs(call: str) -> None:
    outcome = run_experiment(made(systems=(Entry("tuned", call), *TWO)))
    assert [r.system for r in outcome.results] == ["bm25", "bm25('english')"]
    [missing] = outcome.not_run
    assert missing.system == "tuned"
    assert "there is no folder" in missing.reason


def test_a_collection_that_cannot_be_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    targets = (Target("parlir@v1.0", "answer"), Target("demo:questions", "answer"))
    outcome = run_experiment(made(targets=targets))
    assert [(n.system, n.collection, n.task) for n in outcome.not_run] == [("", "parlir@v1.0", "answer")]
    assert [r.collection for r in outcome.results] == ["demo:questions"] * 2
    assert outcome_tables(outcome)[-1].rows[0][:2] == ("(every system)", "parlir@v1.0/answer")


# ---------------------------------------------------------------- wrong requests, before anything runs

REFUSED = [
    ('tasks = "anser"', UnknownNameError, "no task of demo:questions 'anser'; did you mean 'answer'"),
    ('tasks = "answer"\nsplits = "tset"', UnknownNameError, "did you mean 'test'"),
    ("", UsageError, "has several tasks, name one"),
    ('tasks = "answer"\nsplits = ["", "test"]', UsageError, "demo:questions/answer, split test, stands twice"),
    ('tasks = "answer"\nfloors = "recency"', None, ""),
]


@pytest.mark.parametrize(("text", "kind", "says"), REFUSED)
def test_tasks_that_are_not_there(text: str, kind: type[Exception] | None, says: str, tmp_path: Path) -> None:
    path = written(tmp_path, f'collections = "demo:questions"\nsystems = "bm25"\nresamples = 50\n{text}\n')
    if kind is None:
        assert [r.system for r in run_experiment(path).floors] == ["recency"]
        return
    with pytest.raises(kind, match=says):
        run_experiment(path, out=tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_a_system_that_a_task_refuses_ends_it_before_anything_runs(tmp_path: Path) -> None:
    entries = (*TWO, Entry("questions", "question_matching(bm25)"))
    with pytest.raises(ViewError, match=r"system questions on demo:questions/answer: .*tasks = \["):
        run_experiment(made(systems=entries), out=tmp_path / "r")
    assert not (tmp_path / "r").exists()
    with pytest.raises(UnknownNameError, match="system x: there is no task 'anser'; did you mean 'answer'"):
        run_experiment(made(systems=(Entry("x", "bm25", ("anser",)),)))


def test_a_floor_that_a_task_cannot_have(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no dates"):
        run_experiment(made(targets=(Target("demo:chunks"),), floors=("recency",)), out=tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_a_collection_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="no such file or folder"):
        run_experiment(made(targets=(Target("nowhere"),)))


def test_options_that_an_experiment_says_itself(tmp_path: Path) -> None:
    path = written(tmp_path)
    refused(
        "run", path, "-s", "bm25", "--seed", "0", code=2, says="--system, --seed cannot be given with .*the file itself"
    )
    refused("run", "demo:questions/answer", "--skip-unavailable", code=2, says="only an experiment, a TOML file")
    refused("run", tmp_path / "none.toml", code=3, says="none.toml: there is no such file; name an experiment")
    refused(
        "run",
        written(tmp_path, TEXT + "[test]\n"),
        code=2,
        says=r"e\.toml: there is no key 'test'; did you mean 'tests'",
    )
    refused("run", written(tmp_path, "systems = "), code=3, says=r"e\.toml: not TOML")


# ---------------------------------------------------------------- resuming


def test_what_is_stored_is_not_run_again(tmp_path: Path) -> None:
    first = run_experiment(made(), out=tmp_path)
    before = states(tmp_path)
    lines: list[str] = []
    again = run_experiment(made(), out=tmp_path, told=lines.append)
    assert (first.found, again.found) == (0, 2)
    assert states(tmp_path) == before
    assert outcome_record(again) == {**outcome_record(first), "found": 2}
    assert lines == [
        "reading demo:questions",
        "1 of 2: bm25 on demo:questions/answer, split test",
        "2 of 2: bm25('english') on demo:questions/answer, split test",
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"measures": ("R@5", "RR@10")},
        {"resamples": 201},
        {"interval": "percentile"},
    ],
)
def test_a_stored_run_is_judged_as_asked(changes: dict[str, Any], tmp_path: Path) -> None:
    run_experiment(made(), out=tmp_path)
    again = run_experiment(made(**changes), out=tmp_path)
    assert again.found == 2
    assert outcome_record(again) == {**outcome_record(run_experiment(made(**changes))), "found": 2}
    assert run_experiment(made(**changes), out=tmp_path).found == 2


@pytest.mark.parametrize("changes", [{"seeds": (1,)}, {"depth": 7}, {"systems": (Entry.of("bm25(b=0.5)"),)}])
def test_another_recipe_is_run(changes: dict[str, Any], tmp_path: Path) -> None:
    run_experiment(made(), out=tmp_path)
    assert run_experiment(made(**changes), out=tmp_path).found == 0


def test_results_on_files_that_were_changed_are_run_again(tmp_path: Path) -> None:
    collection = open_collection("demo:chunks")
    chunk_level.save(collection, tmp_path / "own")
    asked = made(targets=(Target(str(tmp_path / "own")),))
    assert run_experiment(asked, out=tmp_path / "r").found == 0
    chunk_level.save(replace(collection, queries=collection.queries.take(np.arange(146)[::-1])), tmp_path / "own")
    assert run_experiment(asked, out=tmp_path / "r").found == 0
    assert run_experiment(asked, out=tmp_path / "r").found == 2


@pytest.mark.parametrize("part", ["spec.json", "run.parquet", "scores.parquet"])
def test_a_damaged_result_is_made_anew(part: str, tmp_path: Path) -> None:
    first = run_experiment(made(), out=tmp_path)
    broken = tmp_path / first.results[0].folder / part
    broken.write_bytes(broken.read_bytes()[:100])
    again = run_experiment(made(), out=tmp_path)
    assert again.found == 1
    assert outcome_record(again) == {**outcome_record(first), "found": 1}
    assert run_experiment(made(), out=tmp_path).found == 2


def test_a_stored_result_bears_the_call_and_not_the_experiments_name(tmp_path: Path) -> None:
    run_experiment(made(systems=(Entry("mine", "bm25"),)), out=tmp_path)
    assert [r.system for r in experiment.stored(tmp_path)] == ["bm25"]
    assert run_experiment(made(systems=(Entry("yours", "bm25()"),)), out=tmp_path).results[0].system == "yours"


WAITS = """
import json, os, sys, time
here = os.path.dirname(os.path.abspath(sys.argv[0]))
open(os.path.join(here, "reached"), "w").close()
while not os.path.exists(os.path.join(here, "go")):
    time.sleep(0.01)
passages = [json.loads(line) for line in open(sys.argv[1])]
first = min(passages, key=lambda p: (len(p["text"]), p["text"]))
with open(sys.argv[3], "w") as run:
    for line in open(sys.argv[2]):
        run.write(json.dumps({"query": json.loads(line)["id"], "passage": first["id"], "score": 1.0}) + chr(10))
"""


def test_a_killed_experiment_goes_on_where_it_stopped(tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text(WAITS)
    call = f"command({shlex.quote(f'{sys.executable} {tmp_path}/waits.py {{passages}} {{queries}} {{run}}')})"
    systems = json.dumps(["bm25", "bm25('english')", call, "bm25(k1=0.9)"])
    path = written(
        tmp_path, f'collections = "demo:questions"\ntasks = "answer"\nresamples = 200\nsystems = {systems}\n'
    )
    words = [sys.executable, "-m", "assay", "run", str(path), "--out", str(tmp_path / "r")]
    started = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while not (tmp_path / "reached").exists():
        assert started.poll() is None, started.stderr and started.stderr.read()
        time.sleep(0.01)
    started.send_signal(signal.SIGKILL)
    assert started.wait() == -signal.SIGKILL
    assert started.stderr is not None
    started.stderr.close()
    (tmp_path / "go").touch()
    before = states(tmp_path / "r")
    assert sum(name.endswith("spec.json") for name in before) == 2
    again = run_experiment(path, out=tmp_path / "r")
    assert again.found == 2
    assert [r.system for r in again.results] == [entry.name for entry in read_experiment(path).systems]
    after = states(tmp_path / "r")
    assert {name: after[name] for name in before} == before
    assert sum(name.endswith("spec.json") for name in after) == 4
    assert outcome_record(run_experiment(path)) == {**outcome_record(again), "found": 0}


def test_the_example_runs(tmp_path: Path) -> None:
    shown = ok("run", ROOT / "examples" / "experiment.toml", "--out", tmp_path / "r").out
    assert "7 results, 0 of them found as they were stored" in shown
    assert (tmp_path / "r" / "answers.html").is_file()
