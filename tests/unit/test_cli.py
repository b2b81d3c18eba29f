"""The command line: what it prints, what it writes, and how it ends."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ukparl_raw
from assay import experiment
from assay.cli import app
from assay.formats import runs, trec
from assay.sources import chunk_level, open_collection
from assay.texts import Texts
from commands import Ended, assay, documented, keys_of, ok, refused
from conftest import ROOT

COMMANDS = [command.name for command in app.registered_commands]
GROUPS = {group.name: group.typer_instance for group in app.registered_groups}
GROUPED = [f"{group} {command.name}" for group, inner in GROUPS.items() for command in inner.registered_commands]
NEED_A_HUB = {
    "build europarl": "tests/unit/test_europarl_build.py runs it against a stand-in of the interface",
    "build dapr": "tests/unit/test_dapr.py runs it against a stand-in of the hub",
    "train biencoder": "tests/unit/test_training.py runs it where the extra `dense` is installed",
    "train reranker": "tests/unit/test_training.py runs it where the extra `dense` is installed",
    "fetch": "tests/unit/test_parlir_releases.py runs it against a stand-in of the hub",
}
FEW = ("--resamples", "200")
ANSWER = "demo:questions/answer"
DEMO = Path(sys.modules["assay.sources"].__path__[0]) / "demo"
FORMATS = [f".{kind}{packed}" for kind in ("trec", "json", "jsonl") for packed in ("", ".gz", ".zst")] + [".parquet"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with results of two systems in `results`, their runs in every format, and `qrels.txt`."""
    folder = tmp_path_factory.mktemp("made")
    ok("run", ANSWER, "-s", "bm25", "-s", "bm25('english')", "--out", folder / "results", *FEW)
    for result in experiment.stored(folder / "results"):
        name = "plain" if result.system == "bm25" else "english"
        for suffix in FORMATS:
            runs.write_run(result.run, folder / f"{name}{suffix}")
    trec.write_qrels(open_collection("demo:questions").task("answer").qrels, folder / "qrels.txt")
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of this test's own, with copies of the runs and judgements; the working folder too."""
    for name in ("plain.trec", "english.trec", "plain.json", "plain.jsonl", "plain.parquet", "qrels.txt"):
        shutil.copy(made / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files_below(folder: Path) -> dict[str, bytes]:
    """The bytes of every file that is not hidden."""
    found = (p for p in sorted(folder.rglob("*")) if p.is_file())
    named = {p.relative_to(folder).as_posix(): p for p in found}
    return {name: p.read_bytes() for name, p in named.items() if not re.search(r"(^|/)\.", name)}


# ---------------------------------------------------------------- help


def conditionalqa_files(folder: Path) -> None:
    """The smallest files in the original format, with a passage that the cleaners read differently."""
    folder.mkdir(parents=True)
    contents = ["<p>Pay if income < 100 and savings > 50.</p>", "<p>It is free.</p>"]
    (folder / "documents.json").write_text(json.dumps([{"url": "u", "title": "Fees", "contents": contents}]))
    for name in ("train", "dev"):
        asked = {"id": name, "url": "u", "scenario": "I row.", "question": "What do I pay?", "evidences": contents}
        (folder / f"{name}.json").write_text(json.dumps([asked]))


def files_of_examples(made: Path, here: Path) -> None:
    """What the examples in the help and in docs/cli.md take for granted."""
    shutil.copytree(made / "results", here / "results")
    shutil.copy(made / "plain.trec.gz", here / "run.trec.gz")
    conditionalqa_files(here / "ConditionalQA" / "v1_0")
    ukparl_raw.month(here / "raw")
    ok("chunk", "demo:chunks", "--chunker", "sentences(2)", "--out", here / "built")
    resolver = "import sys\nfor line in sys.stdin:\n    print(line, end='')\n"
    (here / "my_resolver.py").write_text(resolver)
    ok("publish", "chunk-level", "demo:chunks", "--out", here / "corvane")
    ok("publish", "question-level", "demo:questions", "--out", here / "tea", "--mapping", here / "ids.jsonl")
    ok("sample", "edges", "demo:questions", "--out", here / "drawn.tsv")
    assert assay("run", ANSWER, "--executor", "array", "--shards", 2, "--work", here / "work").code == 4


@pytest.mark.parametrize("command", [*COMMANDS, *GROUPED])
def test_help_has_an_example_that_runs(command: str, made: Path, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join(ok(*command.split(), "--help").out.split())
    example = re.search(r"Example: assay (.*?) (?=Arguments:|Options:)", text)
    assert example, text
    words = shlex.split(example[1])
    assert " ".join(words[: command.count(" ") + 1]) == command
    if command in NEED_A_HUB:
        pytest.skip(NEED_A_HUB[command])
    # `python` in a resolver's call is the one that runs the tests.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    files_of_examples(made, here)
    assert assay(*words).code == 0


def test_help_fits_a_narrow_terminal_and_names_every_command() -> None:
    shown = ok("--help").out
    assert all(re.search(rf"^  {name}  +[A-Z][^.]+\.", shown, re.M) for name in (*COMMANDS, *GROUPS))
    for group in GROUPS:
        shown = ok(group, "--help").out
        for command in GROUPED:
            of, _, name = command.partition(" ")
            assert (re.search(rf"^  {name}  +[A-Z][^.]+\.$", shown, re.M) is not None) == (of == group), command
    for command in (*COMMANDS, *GROUPS, *GROUPED):
        assert max(map(len, ok(*command.split(), "--help").out.split("\n"))) <= 80


def test_no_command_shows_the_help() -> None:
    ended = assay()
    assert ended.code == 2
    assert "Commands:" in ended.err
    assert "error:" not in ended.err


# ---------------------------------------------------------------- JSON and its documentation


NUMBERS = """
[[number]]
collection = "demo:chunks"
measure = "RR@10"
value = 0.7
systems = "bm25"
hours = 0.1
"""
RESULT, COMPARISON = "A result as JSON", "A comparison in JSON".replace(" in ", " as ")


@pytest.mark.parametrize("command", [command for command in COMMANDS if command not in NEED_A_HUB])
def test_json_holds_the_documented_keys_and_no_others(command: str, made: Path, here: Path) -> None:
    words: dict[str, list[Any]] = {
        "demo": ["--out", "out"],
        "info": ["demo:questions"],
        "verify": ["demo:questions"],
        "chunk": ["demo:chunks", "--chunker", "window(words=60, overlap=10)", "--out", "chunked"],
        "run": [ANSWER, "--floor", "random", "--by", "subject", *FEW],
        "evaluate": [ANSWER, "plain.trec", "--by", "subject", "-m", "RR@10", *FEW],
        "compare": [made / "results", *FEW],
        "report": [made / "results", "--collection", "demo:chunks"],
        "shard": ["work", "--shard", "1/1"],
        "reproduce": ["numbers.toml"],
    }
    (here / "numbers.toml").write_text(NUMBERS)
    if command == "shard":
        assert assay("run", ANSWER, "--executor", "array", "--work", here / "work").code == 4
    shared = {
        "run": [RESULT],
        "evaluate": [RESULT],
        "compare": [RESULT, COMPARISON],
        "demo": [RESULT, COMPARISON],
    }
    found = set(keys_of(ok(command, *words[command], "--json").json))
    wanted = set().union(*(documented(section) for section in (f"assay {command}", *shared.get(command, ()))))
    assert found == wanted


def with_dev(folder: Path) -> Path:
    """The passages of demo:chunks, with half of the queries for choosing."""
    chunks = open_collection("demo:chunks")
    split = Texts.of(["dev" if row % 2 else "test" for row in range(len(chunks.queries))])
    queries = replace(chunks.queries, columns={**chunks.queries.columns, "split": split})
    chunk_level.save(replace(chunks, queries=queries), folder)
    return folder


MAY_BE_EMPTY = {
    "build ukparl": {"leaks.examples[].in", "leaks.examples[].text", "leaks.examples[].record"},
    "publish chunk-level": {"left_out{}"},
    "publish check": {"findings[].offenders[]"},
    "publish question-level": {"left_out{}", "empty[]"},
    "publish agree": {
        "measures[].missing[]",
        *(
            f"measures[].{kind}[].{key}"
            for kind in ("differing", "reordered")
            for key in ("query", "full", "text_only")
        ),
    },
}


@pytest.mark.parametrize("command", [command for command in GROUPED if command not in NEED_A_HUB])
def test_json_of_commands_in_groups_holds_the_documented_keys(command: str, here: Path) -> None:
    conditionalqa_files(here / "raw")
    ok("publish", "chunk-level", "demo:chunks", "--out", "corvane")
    ok("publish", "question-level", "demo:questions", "--out", "tea")
    ok("sample", "edges", "demo:questions", "--out", "sheet.tsv")
    mixed = "fusion(bm25, bm25('english'), method='minmax')"
    words: dict[str, list[Any]] = {
        "build conditionalqa": ["--raw", "raw", "--out", "conditionalqa"],
        "build ukparl": ["--raw", ukparl_raw.month(here / "months"), "--out", "uk"],
        "build coref": ["demo:chunks", "--anew", "--resolver", "identity", "--out", "told"],
        "publish chunk-level": ["demo:chunks", "--out", "again"],
        "publish check": ["corvane"],
        "publish question-level": ["demo:questions", "--out", "asked"],
        "publish agree": [
            *("demo:questions", "tea/textonly", "--task", "cite", "--mapping", "tea-mapping/textonly-ids.jsonl"),
        ],
        "sample edges": ["demo:questions", "--out", "again.tsv"],
        "sample score": ["sheet.tsv", "sheet.tsv"],
        "train fusion": [with_dev(here / "split"), "-s", mixed, "--steps", 2],
    }
    found = set(keys_of(ok(*command.split(), *words[command], "--json").json))
    wanted = documented(f"assay {command}")
    assert found <= wanted
    assert wanted - found <= MAY_BE_EMPTY.get(command, set())


def test_every_command_and_option_in_the_documentation_exists() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^## assay (.+)$", text, re.M)) == sorted([*COMMANDS, *GROUPED])
    for command, body in re.findall(r"^## assay (.+?)$(.*?)(?=^## |\Z)", text, re.M | re.S):
        taken = ok(*command.split(), "--help").out
        named = re.findall(r"^\* (`-.*?):", body, re.M)
        for option in (option for names in named for option in re.findall(r"`(--[\w-]+)`", names)):
            assert option in taken, (command, option)
        if command in GROUPED:
            # Every option is named; those that all commands share stand in a section of their own.
            own = set(re.findall(r"(--[a-z][\w-]*)", taken.partition("Options:")[2])) - {"--json", "--help"}
            assert own - {"--system"} <= set(re.findall(r"--[\w-]+", body)), command
    assert documented("What commands share") == {"error.kind", "error.message", "error.exit_code"}


def test_json_of_a_result_has_the_promised_values() -> None:
    [result] = ok("run", ANSWER, "-m", "RR@10", *FEW, "--json").json["results"]
    assert (result["system"], result["task"], result["split"]) == ("bm25", "answer", "test")
    one = result["measures"]["RR@10"]
    assert 0 < one["low"] < one["mean"] < one["high"] < 1
    assert one["n"] == result["counts"]["queries"] == 106
    assert one["ties"] > 0


# ---------------------------------------------------------------- exit codes


def test_exit_code_1_for_findings() -> None:
    assert assay("verify", "demo:questions").code == 0
    strict = assay("verify", "demo:questions", "--strict", "--json")
    assert strict.code == 1
    assert strict.json["ok"] is False


def test_exit_code_4_for_a_program_that_is_missing() -> None:
    refused(
        "run",
        ANSWER,
        "-s",
        "command('no-such-program-anywhere {passages} {queries} {run}')",
        code=4,
        says="no-such-program-anywhere",
    )


NAMES = [
    (["run", "demo:questions/anser"], "no task of demo:questions 'anser'; did you mean 'answer'"),
    (["run", "demo:question/answer"], "did you mean 'demo:questions'"),
    (["run", ANSWER, "--split", "tset"], "did you mean 'test'"),
    (["run", ANSWER, "-m", "nDGC@10"], "did you mean 'nDCG'"),
    (["run", ANSWER, "-m", "R(rell=2)@10"], "did you mean 'rel'"),
    (["run", ANSWER, "-m", "R@0"], "cutoff must be a whole number of at least 1"),
    (["run", ANSWER, "-s", "bm52"], "did you mean 'bm25'"),
    (["run", ANSWER, "-s", "bm25(varient='lucene')"], "no parameter of bm25 'varient'; did you mean 'variant'"),
    (["run", ANSWER, "-s", "bm25(k1=-1)"], "k1 must be a number, 0 or more"),
    (["run", ANSWER, "-s", "bm25("], "write it as a call"),
    (["run", ANSWER, "--floor", "recensy"], "did you mean 'recency'"),
    (["run", ANSWER, "--interval", "bcaa"], "did you mean 'bca'"),
    (["run", ANSWER, "--depth", "0"], "--depth.*greater than or equal to 1; see assay run --help"),
    (["run", ANSWER, "--depth", "many"], "--depth.*integer"),
    (["run", ANSWER, "--seed", "-1"], "--seed.*greater than or equal to 0"),
    (["run", ANSWER, "--resamples", "0"], "--resamples"),
    (["run", ANSWER, "--dpeth", "3"], "--dpeth.*--depth"),
    (["run"], "COLLECTION/TASK.*see assay run --help"),
    (["rnu"], "rnu.*run"),
    (["run", "demo:questions"], "several tasks, name one: answer"),
    (["run", "nowhere/answer"], "no such file or folder"),
    (["run", ""], "name is empty"),
    (["run", "/"], "looked for"),
    (["run", "demo:chunks/passages", "--floor", "recency"], "no dates"),
    (["verify", "demo:chunks", "--only", "ids-uniqe"], "did you mean 'ids-unique'"),
    (["info", "qrels.txt"], "no collection of a known layout"),
    (["info", "nowhere"], "no such file or folder"),
    (["evaluate", ANSWER, "plain.trec", "--by", "subjct"], "did you mean 'subject'"),
    (["evaluate", "plain.trec"], "name a task and at least one run file"),
    (["evaluate", "--qrels", "qrels.txt", "plain.trec", "--by", "subject"], "need a collection"),
    (["evaluate", "--qrels", "qrels.txt", "plain.trec", "--split", "dev"], "need a collection"),
    (["compare", "plain.trec"], "--task COLLECTION/TASK or --qrels FILE"),
    (["compare", "plain.trec", "--qrels", "qrels.txt"], "give at least two"),
    (["compare", "plain.trec", "english.trec", "--qrels", "qrels.txt", "--task", ANSWER], "not both"),
    (["sample", "edges", "demo:chunks", "--out", "s.tsv"], "has no table precedent_meta"),
    (["sample", "edges", "demo:questions", "--out", "s.xlsx"], r"\.tsv or \.csv"),
    (["sample", "edges", "demo:questions", "--out", "s.tsv", "--n", "2"], "a draw of 2 from 15 strata"),
]


@pytest.mark.parametrize(("words", "says"), NAMES, ids=[" ".join(words)[:60] for words, _ in NAMES])
def test_exit_code_2_for_a_wrong_request(words: list[str], says: str, here: Path) -> None:
    before = files_below(here)
    refused(*words, code=2, says=says)
    assert files_below(here) == before


def test_stored_results_keep_to_the_measures_and_baseline_asked_for(made: Path) -> None:
    refused("compare", made / "results", "-m", "P@5", code=2, says="not scored by P@5; it has RR@10")
    refused("compare", made / "results", "--baseline", "bm52", code=2, says="did you mean 'bm25'")
    [family] = ok("compare", made / "results", "-m", "NDCG@10", *FEW, "--json").json["comparisons"]
    assert [pair["measure"] for pair in family["pairs"]] == ["nDCG@10"]


# ---------------------------------------------------------------- bad files


def cut(path: Path, name: str, keep: float = 0.5) -> str:
    """A file that ends in the middle of what `path` holds."""
    data = path.read_bytes()
    (Path.cwd() / name).write_bytes(data[: int(len(data) * keep) + 3])
    return name


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_run_that_is_cut_in_the_middle(suffix: str, made: Path, here: Path) -> None:
    name = cut(made / f"plain{suffix}", f"half{suffix}")
    refused("evaluate", ANSWER, name, code=3, says=rf"half{suffix}.*(cut short|ends in the middle|not JSON|Parquet)")


BYTES = {
    "noise": np.random.default_rng(0).bytes(3000),
    "zeros": bytes(64),
    "deep JSON": b'{"q":' + b"[" * 100_000,
    "deep JSON lines": b'{"query_id":"q","passage_id":' + b"[" * 100_000,
    "words": b"these are no results at all",
    "decimal comma": b"q Q0 a 1 0,9 r\n",
    "not finite": b"q Q0 a 1 nan r\n",
}


@pytest.mark.parametrize("kind", BYTES)
def test_bytes_that_are_no_run_and_no_judgements(kind: str, here: Path) -> None:
    (here / "odd").write_bytes(BYTES[kind])
    refused("evaluate", ANSWER, "odd", code=3, says=r"odd")
    refused("evaluate", "--qrels", "odd", "plain.trec", code=3, says=r"odd")


def test_an_empty_run_and_empty_judgements(here: Path) -> None:
    (here / "none.trec").write_bytes(b"")
    (here / "none.json").write_bytes(b"{}")
    (here / "head.tsv").write_bytes(b"query-id\tcorpus-id\tscore\n")
    for name in ("none.trec", "none.json"):
        refused("evaluate", ANSWER, name, code=3, says=f"{name} holds no results")
        refused("compare", "plain.trec", name, "--qrels", "qrels.txt", code=3, says=f"{name} holds no results")
    for name in ("none.trec", "head.tsv"):
        refused("evaluate", "--qrels", name, "plain.trec", code=3, says="hold no query")


def test_a_folder_for_a_file_and_a_file_for_a_folder(made: Path, here: Path) -> None:
    (here / "folder").mkdir()
    refused("evaluate", ANSWER, "folder", code=3, says="folder is a folder where a file is meant")
    refused("evaluate", "--qrels", "folder", "plain.trec", code=3, says="folder is a folder where a file is meant")
    refused("report", made / "results", "--out", "folder", code=3, says="folder is a folder where a file is meant")
    refused("report", "plain.trec", code=3, says="plain.trec is a file; name a folder of results")
    refused("report", "folder", code=3, says="folder holds no results")
    refused("report", made / "results", "--out", "plain.trec/page.html", code=3, says="plain.trec is.* a file")
    refused("run", ANSWER, *FEW, "--out", "plain.trec", code=3, says="plain.trec.* is a file, not a folder")
    refused("run", ANSWER, *FEW, "--indexes", "plain.trec", code=3, says="plain.trec is.* a file")
    assert (here / "plain.trec").read_bytes() == (made / "plain.trec").read_bytes()


def test_a_missing_file(here: Path) -> None:
    refused("evaluate", ANSWER, "missing.trec", code=3, says="no file missing.trec")
    refused("evaluate", "--qrels", "missing.txt", "plain.trec", code=3, says="no file missing.txt")
    refused("compare", "missing", code=2, says="missing is a run file")
    refused("report", "missing", code=3, says="no folder missing")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_no_permission(here: Path) -> None:
    (here / "plain.trec").chmod(0)
    refused("evaluate", ANSWER, "plain.trec", code=3, says="no permission to read plain.trec")
    (here / "closed").mkdir(mode=0o500)
    refused("run", ANSWER, *FEW, "--out", "closed", code=3, says="no permission to write")


def test_passages_that_the_collection_lacks_are_counted_and_all_of_them_are_an_error(here: Path) -> None:
    lines = (here / "plain.trec").read_text().splitlines()
    half = [re.sub(r"Q0 \S+", f"Q0 ghost{n}", line) if n % 5 == 0 else line for n, line in enumerate(lines)]
    (here / "half.trec").write_text("\n".join(half) + "\n")
    lost = (len(lines) + 4) // 5
    [result] = ok("evaluate", ANSWER, "half.trec", *FEW, "--json").json["results"]
    assert result["counts"]["unknown_removed"] == lost
    assert (
        f"{lost} rows removed before the cut: no passage of the collection has their id"
        in ok("evaluate", ANSWER, "half.trec", *FEW).out
    )
    all_lost = [re.sub(r"Q0 \S+", f"Q0 ghost{n}", line) for n, line in enumerate(lines)]
    (here / "lost.trec").write_text("\n".join(all_lost) + "\n")
    refused("evaluate", ANSWER, "lost.trec", code=3, says="none of the .* rows .*'ghost0'.*make the ids equal")


def test_case_Q02(here: Path) -> None:
    (here / "q").write_text("12.1 0 a 1\n")
    (here / "r").write_text("12 Q0 a 1 1.0 r\n")
    refused("evaluate", "--qrels", "q", "r", code=3, says=r"'12'.*'12\.1'.*make the ids equal")


def test_case_D01(here: Path) -> None:
    (here / "q").write_text("q 0 a 1\n")
    (here / "r").write_text("q Q0 a 1 3 r\nq Q0 a 2 2 r\n")
    refused("evaluate", "--qrels", "q", "r", code=3, says="passage a is a duplicate for query q, lines 1 and 2")


def test_case_T07(here: Path) -> None:
    (here / "q").write_text("q 0 a 1\n")
    (here / "r").write_text("q Q0 a 1 0.1 r\nq Q0 b 2 0.9 r\n")
    [result] = ok("evaluate", "--qrels", "q", "r", "-m", "RR", "--json").json["results"]
    assert result["measures"]["RR"]["mean"] == 0.5
    assert result["measures"]["RR"]["low"] is None


def test_case_I10(here: Path) -> None:
    (here / "q").write_text("001 0 a 1\n1 0 b 1\n1e5 0 c 1\nNA 0 d 1\n")
    (here / "r").write_text("001 Q0 a 1 1 r\n1 Q0 b 1 1 r\n1e5 Q0 c 1 1 r\nNA Q0 d 1 1 r\n")
    [result] = ok("evaluate", "--qrels", "q", "r", "-m", "RR", *FEW, "--json").json["results"]
    assert result["measures"]["RR"]["mean"] == 1.0
    assert result["measures"]["RR"]["n"] == 4


DAMAGE: dict[str, tuple[Callable[[Path], None], int, str]] = {
    "cut": (
        lambda f: f.joinpath("documents.jsonl").write_bytes(documents()[:3000]) and None,
        3,
        r"documents.jsonl:\d+",
    ),
    "noise": (lambda f: f.joinpath("queries.jsonl").write_bytes(BYTES["noise"]) and None, 3, "queries.jsonl:1"),
    "deep": (lambda f: f.joinpath("queries.jsonl").write_bytes(BYTES["deep JSON"]) and None, 3, "queries.jsonl:1"),
    "no passages": (lambda f: f.joinpath("documents.jsonl").write_bytes(b"") and None, 3, "holds no passages"),
    "no queries": (lambda f: f.joinpath("queries.jsonl").write_bytes(b"") and None, 3, "no query"),
    "a missing file": (lambda f: f.joinpath("queries.jsonl").unlink(), 2, "no collection of a known layout"),
}


def documents() -> bytes:
    return (DEMO / "chunks" / "documents.jsonl").read_bytes()


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_collection(kind: str, here: Path) -> None:
    shutil.copytree(DEMO / "chunks", here / "damaged")
    damage, code, says = DAMAGE[kind]
    damage(here / "damaged")
    refused("run", "damaged/passages", *FEW, "--out", "out", code=code, says=says)
    assert not (here / "out").exists()


@pytest.mark.parametrize("part", ["spec.json", "run.parquet", "scores.parquet"])
def test_a_damaged_result_folder(part: str, made: Path, here: Path) -> None:
    shutil.copytree(made / "results", here / "results")
    victim = sorted((here / "results").rglob(part))[0]
    for data in (victim.read_bytes()[:100], BYTES["noise"], b"{}", b"[]", b""):
        victim.write_bytes(data)
        refused("compare", "results", code=3, says=f"{victim.parent.name}.*{part}")
    if part != "spec.json":
        victim.unlink()
        refused("report", "results", code=3, says=f"{victim.parent.name}.*{part}")


# ---------------------------------------------------------------- the main job


def test_run_writes_a_result_folder_that_reads_back_equal(here: Path) -> None:
    ok("run", ANSWER, "-m", "RR@10", "-m", "MRR@10", "-m", "nDCG@10", "--out", "out", *FEW)
    [spec] = sorted((here / "out").rglob("spec.json"))
    collection = open_collection("demo:questions")
    named = spec.relative_to(here / "out").parts
    assert named[:2] == (f"demo-questions@{collection.digest[:12]}", "answer.test")
    assert re.fullmatch(r"bm25-[0-9a-f]{12}", named[2])
    assert {p.name for p in spec.parent.iterdir()} == {"spec.json", "run.parquet", "scores.parquet"}
    [back] = experiment.stored(here / "out")
    from assay import catalog

    judging = experiment.Judging(("RR@10", "nDCG@10"), resamples=200)
    made = experiment.run_system(collection, collection.task("answer"), catalog.system("bm25"), judging=judging)
    assert (back.system, back.collection, back.task, back.split) == ("bm25", "demo:questions", "answer", "test")
    assert (back.digest, back.spec, back.place) == (made.digest, made.spec, made.place)
    assert back.run.triples() == made.run.triples()
    assert (back.run.depth, back.run.name) == (made.run.depth, made.run.name)
    assert [s.measure for s in back.scores] == ["RR@10", "nDCG@10"]
    for one, other in zip(back.scores, made.scores, strict=True):
        assert list(one.queries) == list(other.queries)
        for name in ("value", "best", "worst", "expected", "upper", "clusters"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        assert (one.interval, one.counts, dict(one.extras)) == (other.interval, other.counts, dict(other.extras))


def measures_of(ended: Ended) -> list[Any]:
    return [result["measures"] for result in ended.json["results"]]


def test_evaluate_equals_run_for_every_format(made: Path) -> None:
    [plain] = measures_of(ok("run", ANSWER, "--json", *FEW))
    files = [made / f"plain{suffix}" for suffix in FORMATS]
    for judged in measures_of(ok("evaluate", ANSWER, *files, "--json", *FEW)):
        assert judged == plain


def test_evaluate_against_bare_judgements_gives_the_same_values(made: Path) -> None:
    asked = ("-m", "RR@10", "-m", "nDCG@10", "-m", "R@10", "--json", *FEW)
    [plain] = measures_of(ok("run", ANSWER, *asked))
    files = [made / f"plain{suffix}" for suffix in FORMATS]
    judged = measures_of(ok("evaluate", "--qrels", made / "qrels.txt", *files, *asked))
    for name in ("RR@10", "nDCG@10", "R@10"):
        assert {m[name]["mean"] for m in judged} == {plain[name]["mean"]}
        assert {m[name]["ties"] for m in judged} == {plain[name]["ties"]}


def test_runs_of_one_name_are_told_apart_and_stored_apart(here: Path) -> None:
    shown = ok("evaluate", ANSWER, "plain.trec", "english.trec", "--out", "out", *FEW, "--json").json
    assert [r["system"] for r in shown["results"]] == ["bm25 (plain.trec)", "bm25 (english.trec)"]
    back = experiment.stored(here / "out")
    assert {r.system for r in back} == {"bm25 (plain.trec)", "bm25 (english.trec)"}
    [family] = ok("compare", "out", "--baseline", "bm25 (plain.trec)", *FEW, "--json").json["comparisons"]
    assert [pair["second"] for pair in family["pairs"]] == ["bm25 (english.trec)"]


def test_results_against_other_judgements_of_one_name_are_not_mixed(here: Path) -> None:
    ok("evaluate", "--qrels", "qrels.txt", "plain.trec", "--out", "out", *FEW)
    text = (here / "qrels.txt").read_text().splitlines(keepends=True)
    (here / "qrels.txt").write_text("".join(text[1:]))
    ok("evaluate", "--qrels", "qrels.txt", "plain.trec", "--out", "out", *FEW)
    assert len(experiment.stored(here / "out")) == 2
    refused("compare", "out", code=2, says="no two systems on one task and split")


@pytest.mark.parametrize("name", [".hidden", "..", "a/b", "x" * 300, "ä" * 200])
def test_a_result_of_any_name_is_found_again(name: str, here: Path) -> None:
    (here / "r.trec").write_text((here / "plain.trec").read_text().replace(" bm25\n", f" {name}\n"))
    ok("evaluate", ANSWER, "r.trec", "-m", "RR", "--out", "out", *FEW)
    [back] = experiment.stored(here / "out")
    assert back.system == name
    assert [p.name for p in (here / "out").iterdir()] == [p.name for p in (here / "out").glob("demo-questions@*")]


def test_results_are_found_from_any_working_folder(made: Path, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / ".hidden" / "deep").mkdir(parents=True)
    shutil.copytree(made / "results", here / ".hidden" / "results")
    monkeypatch.chdir(here / ".hidden" / "deep")
    assert len(ok("compare", "../results", *FEW, "--json").json["results"]) == 2


def test_compare_of_run_files_equals_compare_of_results(made: Path) -> None:
    def pair(*words: object) -> dict[str, Any]:
        [family] = ok("compare", *words, "-m", "RR@10", *FEW, "--json").json["comparisons"]
        [one] = family["pairs"]
        flip = 1 if "english" in one["second"] else -1
        return {"difference": flip * one["difference"], "p": one["p"], "n": one["n"]}

    results = pair(made / "results")
    assert results["difference"] < 0
    files = (made / "plain.trec.gz", made / "english.jsonl.zst")
    by_task = pair(*files, "--task", ANSWER)
    assert by_task == pytest.approx(results, abs=1e-12)
    by_qrels = pair(*files, "--qrels", made / "qrels.txt")
    assert by_qrels["difference"] == pytest.approx(results["difference"], abs=1e-12)


def test_equal_inputs_give_equal_bytes(here: Path) -> None:
    for name in ("one", "two"):
        words = ("run", ANSWER, "-s", "bm25", "-s", "bm25('english')", *FEW)
        ok(*words, "--out", here / name / "results")
        ok("report", here / name / "results", "--out", here / name / "report.html")
    one, two = files_below(here / "one"), files_below(here / "two")
    assert len(one) == 7
    assert one == two


def test_report_of_a_moved_collection(made: Path, here: Path) -> None:
    refused("report", made / "results", "--collection", "nowhere", code=2, says="no collection nowhere")
    assert not (here / "report.html").exists()
    changed = ok("report", made / "results", "--collection", "demo:chunks")
    assert "without ranked passages: demo:chunks has changed since" in changed.out


def test_a_floor_that_cannot_be_had_stops_before_anything_is_written(here: Path) -> None:
    refused("run", "demo:chunks/passages", "--floor", "recency", "--out", "out", code=2, says="no dates")
    assert not (here / "out").exists()


# ---------------------------------------------------------------- terminals and pipes

PROGRAM = [sys.executable, "-m", "assay"]


def environment(**changes: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR")}
    return {**kept, "TERM": "xterm", "PYTHONWARNINGS": "error", **changes}


def on_terminal(*command: object, columns: int) -> str:
    """What a program writes on a terminal of that width, without colours."""
    import pty
    import termios

    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (50, columns))
    with subprocess.Popen(list(map(str, command)), stdout=follower, stderr=follower, env=environment()) as process:
        os.close(follower)
        seen = b""
        with contextlib.suppress(OSError):
            while block := os.read(leader, 1 << 16):
                seen += block
        os.close(leader)
    assert process.returncode == 0, seen
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", seen.decode()).replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [120, 80, 56])
def test_tables_fit_the_terminal_and_keep_every_number(columns: int, made: Path) -> None:
    shown = on_terminal(*PROGRAM, "compare", made / "results", *FEW, columns=columns)
    assert max(map(len, shown.split("\n"))) <= columns
    whole = ok("compare", made / "results", *FEW).out
    intervals = re.findall(r"\[\S+, \S+\]", whole)
    assert len(intervals) == 7
    assert sorted(re.findall(r"\[\S+, \S+\]", shown)) == sorted(intervals)
    assert all(word in shown for word in ("difference", "p corrected", "detectable", "bm25('english')"))


def test_a_pipe_gets_whole_tables_without_colours(made: Path) -> None:
    done = subprocess.run([*PROGRAM, "compare", made / "results", *FEW], capture_output=True, env=environment())
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\x1b" not in done.stdout
    rows = [line for line in done.stdout.decode().split("\n") if "[" in line]
    assert all(re.search(r"\d \[\S+, \S+\]", row) for row in rows)
    assert len(rows) == 3


def test_progress_shows_on_a_terminal_alone() -> None:
    code = "import time; from assay.cli.terminal import working\nwith working('busy'): time.sleep(2.4)"
    assert "busy …" in on_terminal(sys.executable, "-c", code, columns=80)
    quick = code.replace("2.4", "0.1")
    assert on_terminal(sys.executable, "-c", quick, columns=80) == ""
    piped = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment())
    assert (piped.returncode, piped.stdout, piped.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    ("words", "code"),
    [("info demo:chunks --json", 0), ("verify demo:questions", 0), ("verify demo:questions --strict", 1)],
)
def test_a_reader_that_leaves_early(words: str, code: int) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with subprocess.Popen(
        [*PROGRAM, *words.split()], stdout=writing, stderr=subprocess.PIPE, env=environment()
    ) as process:
        os.close(writing)
        _, err = process.communicate()
    assert (process.returncode, err) == (code, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_output_that_cannot_be_written() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*PROGRAM, "info", "demo:chunks"], stdout=full, stderr=subprocess.PIPE, env=environment())
    assert done.returncode == 3
    assert done.stderr == b"error: cannot write the output: No space left on device\n"


def test_a_terminal_that_cannot_show_every_character(made: Path) -> None:
    latin = environment(PYTHONIOENCODING="latin-1")
    words = [*PROGRAM, "compare", str(made / "results"), *FEW]
    assert subprocess.run(words, capture_output=True, env=latin).returncode == 0
    done = subprocess.run([*words, "--json"], capture_output=True, env=latin)
    assert len(json.loads(done.stdout.decode("latin-1"))["results"]) == 2


@pytest.mark.parametrize("json_too", [False, True])
def test_ctrl_c_ends_with_one_line(json_too: bool, here: Path) -> None:
    code = "import assay.__main__ as m, time, assay.sources as s; s.open_collection = lambda n, told: (print('on', flush=True),"
    code += " time.sleep(20)); m.main()"
    words = [sys.executable, "-c", code, "info", "demo:chunks", *(["--json"] if json_too else [])]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"on\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert re.fullmatch(rb"error: stopped.*\n", err)
    assert (json.loads(out)["error"]["exit_code"] == 130) if json_too else (out == b"")
