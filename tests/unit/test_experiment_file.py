"""Experiments as TOML: what a file says, and one clear error for everything that it may get wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay import catalog
from assay.errors import AssayError, FileError, FormatError, UnknownNameError, UsageError
from assay.experiment_file import Entry, Experiment, Paired, Target, read_experiment
from conftest import ROOT

LEAST = 'collections = "demo:chunks"\nsystems = "bm25"\n'


def read(text: str, folder: Path) -> Experiment:
    (folder / "e.toml").write_text(text, encoding="utf-8")
    return read_experiment(folder / "e.toml")


def test_the_least_that_a_file_may_say(tmp_path: Path) -> None:
    assert read(LEAST, tmp_path) == Experiment("e", (Target("demo:chunks"),), (Entry("bm25", "bm25"),))


def test_everything_that_a_file_may_say(tmp_path: Path) -> None:
    found = read(
        """
        name = "all"
        collections = ["demo:questions", "own"]
        tasks = ["answer", "precedent"]
        splits = ["dev", "test"]
        floors = ["random(seed=2)", "oracle"]
        measures = ["MRR@10", "R@100"]
        seeds = [1, 2]
        depth = 50
        interval = "percentile"
        resamples = 99
        [systems]
        plain = "bm25"
        questions = {call = "question_matching(bm25)", tasks = "precedent"}
        [tests]
        baseline = "plain"
        all_measures = true
        """,
        tmp_path,
    )
    assert found.name == "all"
    places = ("demo:questions", f"{tmp_path}/own")
    assert found.targets == tuple(
        Target(place, task, split) for place in places for task in ("answer", "precedent") for split in ("dev", "test")
    )
    assert found.systems == (
        Entry("plain", "bm25"),
        Entry("questions", "question_matching(bm25)", ("precedent",)),
    )
    assert (found.floors, found.measures) == (("random(seed=2)", "oracle"), ("MRR@10", "R@100"))
    assert (found.seeds, found.depth, found.interval, found.resamples) == ((1, 2), 50, "percentile", 99)
    assert found.tests == Paired("plain", all_measures=True)
    assert (found.judging.seed, found.judging.resamples, found.judging.method) == (1, 99, "percentile")


def test_collections_with_tasks_of_their_own(tmp_path: Path) -> None:
    found = read(
        'systems = "bm25"\nsplits = "dev"\ntests = false\n'
        '[[collection]]\nplace = "demo:questions"\ntasks = ["answer"]\n'
        '[[collection]]\nplace = "demo:chunks"\nsplits = "test"\n',
        tmp_path,
    )
    assert found.targets == (Target("demo:questions", "answer", "dev"), Target("demo:chunks", "", "test"))
    assert found.tests is None


def test_paths_are_seen_from_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inner").mkdir()
    text = 'collections = ["../here", "/absolute", "./parlir@v1.0", "parlir@v1.0", "~/own"]\nsystems = "bm25"\n'
    monkeypatch.setenv("HOME", "/home/x")
    found = [t.collection for t in read(text, tmp_path / "inner").targets]
    inner = f"{tmp_path}/inner"
    assert found == [f"{inner}/../here", "/absolute", f"{inner}/./parlir@v1.0", "parlir@v1.0", "/home/x/own"]
    monkeypatch.chdir(tmp_path / "inner")
    assert [t.collection for t in read_experiment("e.toml").targets][2] == "./parlir@v1.0"


def test_systems_in_a_list_bear_their_shortest_call(tmp_path: Path) -> None:
    found = read('collections = "demo:chunks"\nsystems = ["bm25(k1=1.2)", "titled(bm25())"]\n', tmp_path)
    assert [entry.name for entry in found.systems] == ["bm25", "titled(bm25)"]


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.toml")), ids=lambda path: path.name)
def test_the_examples_are_experiments(path: Path) -> None:
    asked = read_experiment(path)
    assert asked.targets
    assert [catalog.system(entry.call).name for entry in asked.systems]


COLLECTION = 'systems = "bm25"\n[[collection]]\n'
WRONG = [
    ("collections = [", FormatError, r"e\.toml: not TOML \(Invalid value"),
    (LEAST + "\x00", FormatError, r"e\.toml: not TOML \(.*line 3, column 1"),
    ("\xff", None, "not TOML"),
    (LEAST + 'measure = "RR@10"', UnknownNameError, r"e\.toml: there is no key 'measure'; did you mean 'measures'"),
    (LEAST + "depth = '50'", FormatError, r"e\.toml depth: expected a whole number, got '50'"),
    (LEAST + "depth = true", FormatError, "expected a whole number, got True"),
    (LEAST + "depth = 0", UsageError, r"e\.toml: depth: must be at least 1, found 0"),
    (LEAST + "resamples = 0", UsageError, "resamples: must be at least 1, found 0"),
    (LEAST + "seeds = []", UsageError, "seeds: there is none"),
    (LEAST + "seeds = [-1]", UsageError, "seeds: must be at least 0, found -1"),
    (LEAST + "seeds = [1, 1]", UsageError, "seeds: 1 stands twice"),
    (LEAST + "seeds = [1.5]", FormatError, "seeds: expected a whole number or a list of whole numbers"),
    (LEAST + "seeds = [true]", FormatError, "seeds: expected a whole number or a list of whole numbers"),
    (LEAST + "tasks = [1]", FormatError, r"tasks: expected a text or a list of texts, got \[1\]"),
    (LEAST + "splits = 1", FormatError, "splits: expected a text or a list of texts"),
    (LEAST + "tasks = []", UsageError, "collections: there is none"),
    (LEAST + "tasks = ['a', 'a']", UsageError, "collections: demo:chunks/a, split test, stands twice"),
    (LEAST + "interval = 'bcaa'", UnknownNameError, "interval: there is no interval 'bcaa'; did you mean 'bca'"),
    (
        LEAST + "measures = 'nDGC@10'",
        UnknownNameError,
        r"e\.toml: measures: there is no measure 'nDGC'; did you mean 'nDCG'",
    ),
    (LEAST + "measures = ['RR@10', 'MRR@10']", UsageError, "measures: RR@10 stands twice"),
    (LEAST + "floors = 'recensy'", UnknownNameError, "floors: there is no floor 'recensy'; did you mean 'recency'"),
    (LEAST + "floors = ['oracle', 'oracle']", UsageError, "floors: oracle stands twice"),
    (LEAST + "name = 'a/b'", UsageError, "name: 'a/b' is no file's name"),
    (LEAST + "name = ''", UsageError, "name: '' is no file's name"),
    (LEAST + "tests = 'all'", FormatError, "tests: expected true or false or a table"),
    (LEAST + "[tests]\nbaselin = 'bm25'", UnknownNameError, r"e\.toml \[tests\]: .*did you mean 'baseline'"),
    (LEAST + "[tests]\nbaseline = 'bm52'", UnknownNameError, r"\[tests\] baseline: .*did you mean 'bm25'"),
    (LEAST + "[tests]\nall_measures = 1", FormatError, r"e\.toml \[tests\] all_measures: expected true or false"),
    (LEAST + "[[collection]]\nplace = 'demo:chunks'", FormatError, r"say either collections .* or \[\[collection\]\]"),
    ("systems = 'bm25'", FormatError, "say either collections"),
    ("systems = 'bm25'\ncollections = []", UsageError, "collections: there is none"),
    (COLLECTION, FormatError, r"e\.toml \[\[collection\]\] 1: place is missing"),
    (COLLECTION + "place = ''", FormatError, "place is missing"),
    (COLLECTION + "palce = 'x'", UnknownNameError, r"\[\[collection\]\] 1: .*did you mean 'place'"),
    ("collection = 'x'\nsystems = 'bm25'", FormatError, "collection: expected a list of tables, got 'x'"),
    ("collections = 'demo:chunks'", FormatError, r"e\.toml: systems is missing"),
    ("collections = 'demo:chunks'\nsystems = []", UsageError, "systems: there is none"),
    ("collections = 'demo:chunks'\nsystems = 'bm52'", UnknownNameError, r"systems: .*did you mean 'bm25'"),
    ("collections = 'demo:chunks'\nsystems = ['bm25(']", UsageError, r"systems: .*write it as a call"),
    ("collections = 'demo:chunks'\nsystems = 'bm25(k1=-1)'", UsageError, "k1 must be a number"),
    ("collections = 'demo:chunks'\nsystems = ['bm25', 'bm25()']", UsageError, "systems: bm25 stands twice"),
    (
        "collections = 'demo:chunks'\n[systems]\na = 'bm25'\nb = 'bm25(k1=1.2)'",
        UsageError,
        "systems: a and b are one system, bm25",
    ),
    ("collections = 'demo:chunks'\n[systems]\na = 'bm52'", UnknownNameError, "systems: .*did you mean 'bm25'"),
    ("collections = 'demo:chunks'\n[systems]\na = 1", FormatError, r"\[systems\] a: expected a call as a text"),
    ("collections = 'demo:chunks'\n[systems.a]\ntasks = 'x'", FormatError, r"\[systems\.a\]: call is missing"),
    (
        "collections = 'demo:chunks'\n[systems.a]\ncal = 'bm25'",
        UnknownNameError,
        r"\[systems\.a\]: .*did you mean 'call'",
    ),
]


@pytest.mark.parametrize(("text", "kind", "says"), WRONG, ids=[says[:50] for _, _, says in WRONG])
def test_what_is_wrong_is_named(text: str, kind: type[AssayError] | None, says: str, tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_bytes(text.encode("latin-1" if kind is None else "utf-8"))
    with pytest.raises(kind or FormatError) as caught:
        read_experiment(tmp_path / "e.toml")
    assert re.search(says, str(caught.value), re.S), caught.value
    assert str(caught.value).startswith("e.toml")


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="there is no file"):
        read_experiment(tmp_path / "none.toml")


def test_an_experiment_made_in_python_is_checked_too() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'bm25'"):
        Experiment("e", (Target("demo:chunks"),), (Entry("x", "bm52"),))
    with pytest.raises(UsageError, match="seeds: there is none"):
        Experiment("e", (Target("demo:chunks"),), (Entry.of("bm25"),), seeds=())
