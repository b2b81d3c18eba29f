"""A program as a system: what it is handed, what it may write, and what goes wrong."""

from __future__ import annotations

import json
import shlex
import sys

import numpy as np
import pytest

from assay.catalog import system
from assay.errors import ContractError, FormatError, ScoreError, UnavailableError, UnknownIdError, UsageError
from assay.retrieval.command import Command
from assay.system import PassageView, QueryView, Searcher, spec_of
from assay.texts import Texts

PASSAGES = PassageView(
    3,
    {"text:plain": Texts.of(["fee and tax", "visa\nfée", ""]), "title": Texts.of(["A", "B", "C"])},
    parent=np.array([7, 7, 8], np.int32),
)
QUERIES = QueryView(Texts.of(["tax fee", "visa"]))

OVERLAP = """
import argparse, json
parser = argparse.ArgumentParser()
for name in ("--in", "--queries", "--depth", "--out"):
    parser.add_argument(name)
args = vars(parser.parse_args())
passages = [json.loads(line) for line in open(args["in"], encoding="utf-8")]
queries = [json.loads(line) for line in open(args["queries"], encoding="utf-8")]
with open(args["out"], "w") as out:
    for query in queries:
        for passage in passages:
            score = len(set(query["text"].split()) & set(passage["text"].split()))
            if score:
                out.write(LINE)
"""
TREC = "f\"{query['id']}\\tQ0  {passage['id']} 0 {score} mine\\n\""
JSONL = 'json.dumps({"query": query["id"], "passage": passage["id"], "score": score}) + "\\n"'


def script(tmp_path, text):
    path = tmp_path / "my_system.py"
    path.write_text(text)
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(path))}"


def overlap(tmp_path, line=TREC, **fields):
    call = script(tmp_path, OVERLAP.replace("LINE", line))
    return Command(f"{call} --in {{passages}} --queries {{queries}} --depth {{depth}} --out {{run}}", **fields)


def doing(tmp_path, body, **fields):
    """A program that runs `body` with the names passages, queries, run, depth."""
    head = "import sys, json, os\npassages, queries, run, depth = sys.argv[1:]\n"
    head += "first = [json.loads(next(open(p)))['id'] for p in (queries, passages)]\n"
    return Command(f"{script(tmp_path, head + body)} {{passages}} {{queries}} {{run}} {{depth}}", **fields)


@pytest.mark.parametrize("line", [TREC, JSONL])
def test_run_comes_back_as_rows(tmp_path, line):
    found = overlap(tmp_path, line).search(PASSAGES, QUERIES, depth=2)
    assert found.offsets.tolist() == [0, 1, 2]
    assert found.row.tolist() == [0, 1]
    assert found.score.tolist() == [2.0, 1.0]
    assert (found.row.dtype, found.score.dtype) == (np.int32, np.float64)
    assert not found.whole_ties
    assert found.exhausted.tolist() == [True, True]


def test_script_of_the_present_folder_is_found(tmp_path, monkeypatch):
    overlap(tmp_path)
    monkeypatch.chdir(tmp_path)
    command = f"{shlex.quote(sys.executable)} my_system.py --in {{passages}} --queries {{queries}} --out {{run}}"
    assert Command(command).search(PASSAGES, QUERIES, depth=2).row.tolist() == [0, 1]


def test_program_sees_random_ids_the_views_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_COLLECTION", "/somewhere/qrels")
    monkeypatch.setenv("GIVEN", "7")
    seen = tmp_path / "seen.json"
    body = (
        f"json.dump([open(passages).read(), open(queries).read(), dict(os.environ), os.listdir('.'), depth],"
        f" open({str(seen)!r}, 'w'))\nopen(run, 'w').close()\n"
    )
    system = doing(tmp_path, body, views=("text:plain", "title", "parent"), variables=("GIVEN",))
    assert len(system.search(PASSAGES, QUERIES, depth=5).row) == 0
    passages, queries, variables, files, depth = json.loads(seen.read_text())
    records = [json.loads(line) for line in passages.splitlines()]
    assert [{k: v for k, v in record.items() if k != "id"} for record in records] == [
        {"text": "fee and tax", "title": "A", "parent": 7},
        {"text": "visa\nfée", "title": "B", "parent": 7},
        {"text": "", "title": "C", "parent": 8},
    ]
    assert [set(json.loads(line)) for line in queries.splitlines()] == [{"id", "text"}] * 2
    ids = [record["id"] for record in records]
    assert len(set(ids)) == 3
    assert all(len(own) == 16 for own in ids)
    assert "SECRET_COLLECTION" not in variables
    assert variables["GIVEN"] == "7"
    assert "PWD" not in variables
    assert files == []
    assert depth == "5"


def test_ids_follow_the_seed(tmp_path):
    def ids(seed):
        seen = tmp_path / "ids"
        doing(tmp_path, f"open({str(seen)!r}, 'w').write(str(first))\nopen(run, 'w').close()", seed=seed).search(
            PASSAGES, QUERIES, depth=1
        )
        return seen.read_text()

    assert ids(1) == ids(1) != ids(2)


def test_missing_program():
    with pytest.raises(UnavailableError, match="there is no program 'no-such-program'"):
        Command("no-such-program {passages} {queries} {run}").search(PASSAGES, QUERIES, depth=1)


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        ("print('one\\ntwo', file=sys.stderr); sys.exit(3)", ContractError, r"status 3:\n  one\n  two"),
        ("sys.exit(4)", ContractError, "nothing on standard error"),
        ("pass", ContractError, "wrote no run"),
        ("open(run, 'w').write(f'{first[0]} Q0 nobody 1 1.0 t\\n')", UnknownIdError, "line 1: passage 'nobody'"),
        ("open(run, 'w').write(f'\\nnobody Q0 {first[1]} 1 1.0 t\\n')", UnknownIdError, "line 2: query 'nobody'"),
        ("open(run, 'w').write(f'{first[0]} Q0 {first[1]} 1 nan t\\n')", ScoreError, "line 1: score nan"),
        ("open(run, 'w').write(f'{first[0]} Q0 {first[1]} 1 high t\\n')", FormatError, "'high' is not a number"),
        ("open(run, 'w').write(f'{first[0]} Q0 {first[1]} 1 1.0 t\\n' * 2)", ContractError, "line 2: .* stands twice"),
        ("open(run, 'w').write('a b c\\n')", FormatError, "line 1: 3 columns"),
        ("open(run, 'w').write('{\"query\": 1}\\n')", FormatError, "field 'passage' is missing"),
        ("open(run, 'w').write('{\"query\": \\n')", FormatError, "line 1: not JSON"),
    ],
)
def test_what_goes_wrong_is_told(tmp_path, body, error, message):
    with pytest.raises(error, match=message):
        doing(tmp_path, body).search(PASSAGES, QUERIES, depth=1)


def test_program_that_takes_too_long_is_stopped_with_its_children(tmp_path):
    body = "import subprocess; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"
    with pytest.raises(ContractError, match="within 1 seconds and was stopped"):
        doing(tmp_path, body, timeout=1).search(PASSAGES, QUERIES, depth=1)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"command": "x {passages} {queries}"}, r"\{run\} is missing"),
        ({"command": "x 'y {passages} {queries} {run}"}, "close the quote"),
        ({"command": "x {passages} {queries} {run}", "views": ("dates",)}, "views must be"),
        ({"command": "x {passages} {queries} {run}", "views": ("title",)}, "views must be one text"),
        ({"command": "x {passages} {queries} {run}", "timeout": 0}, "timeout"),
    ],
)
def test_bad_parameters(fields, message):
    with pytest.raises(UsageError, match=message):
        Command(**fields)


def test_written_as_a_call():
    made = system("command('run me {passages} {queries} {run}', timeout=5)")
    assert isinstance(made, Searcher)
    assert spec_of(made)["timeout"] == 5
