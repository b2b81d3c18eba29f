"""Runs and judgements in every format."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import DataError, DuplicateIdError, FormatError, ScoreError
from assay.formats import json_runs
from assay.formats.runs import read_qrels, read_run, write_run
from assay.run import Run

ID = st.text(st.characters(exclude_categories=["Cs", "Z", "Cc", "Cf"], exclude_characters="#"), min_size=1, max_size=5)
SCORE = st.floats(allow_nan=False, allow_infinity=False)
RUNS = st.dictionaries(ID, st.dictionaries(ID, SCORE, min_size=1, max_size=5), max_size=5)
SUFFIXES = [".trec", ".json", ".jsonl", ".parquet", ".trec.gz", ".json.zst", ".jsonl.gz"]


def put(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


@settings(max_examples=60, deadline=None)
@given(RUNS, st.sampled_from(SUFFIXES))
def test_a_run_comes_back_from_every_format(scores: dict[str, dict[str, float]], suffix: str) -> None:
    run = Run.of(scores)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / f"run{suffix}"
        assert write_run(run, place) == 0
        assert sorted(read_run(place).triples()) == sorted(run.triples())
        assert list(read_run(place).queries) == list(run.queries)


def test_only_json_keeps_an_empty_list(tmp_path: Path) -> None:
    run = Run.of({"q": {"a": 1.0}, "r": {}})
    assert write_run(run, tmp_path / "run.json") == 0
    assert list(read_run(tmp_path / "run.json").queries) == ["q", "r"]
    for name in ("run.trec", "run.jsonl", "run.parquet"):
        assert write_run(run, tmp_path / name) == 1
        assert list(read_run(tmp_path / name).queries) == ["q"]


def test_rows_past_the_depth_are_not_written(tmp_path: Path) -> None:
    run = Run.of([("q", "a", 2.0), ("q", "b", 1.0), ("q", "c", 1.0)], depth=2)
    for suffix in SUFFIXES:
        write_run(run, tmp_path / f"run{suffix}")
        assert len(read_run(tmp_path / f"run{suffix}")) == 2


def test_case_I10_ids_are_text(tmp_path: Path) -> None:
    qrels = read_qrels(put(tmp_path, "a.qrels", "001 0 a 1\n1 0 b 1\n1e5 0 c 1\nNA 0 d 1\n"))
    assert list(qrels.queries) == ["001", "1", "1e5", "NA"]
    again = read_qrels(put(tmp_path, "a.tsv", "001\ta\t1\n1\tb\t1\n1e5\tc\t1\nNA\td\t1\n"))
    assert list(again.queries) == ["001", "1", "1e5", "NA"]


def test_rows_may_call_the_passage_otherwise(tmp_path: Path) -> None:
    for name in ("passage_id", "doc_id", "corpus_id"):
        row = json.dumps({"query_id": "q", name: "a", "score": 1, "rank": 9})
        assert read_run(put(tmp_path, "run.jsonl", row + "\n")).triples() == [("q", "a", 1.0)]
        assert read_qrels(put(tmp_path, "qrels.jsonl", row + "\n")).triples() == [("q", "a", 1)]


def test_judgements_may_be_an_object(tmp_path: Path) -> None:
    assert read_qrels(put(tmp_path, "q.json", '{"q": {"a": 2, "b": 0}}')).triples() == [("q", "a", 2), ("q", "b", 0)]
    with pytest.raises(FormatError, match=r"q\.json: grade of .* is 0\.5, not a whole number"):
        read_qrels(put(tmp_path, "q.json", '{"q": {"a": 0.5}}'))


def test_a_run_of_one_query_is_not_taken_for_a_row(tmp_path: Path) -> None:
    assert read_run(put(tmp_path, "run.json", '{"query_id": {"score": 1.5}}')).triples() == [("query_id", "score", 1.5)]
    assert read_run(put(tmp_path, "run.json", '{\n  "q": {"a": 1}\n}')).triples() == [("q", "a", 1.0)]


def test_an_empty_file_holds_nothing(tmp_path: Path) -> None:
    assert len(read_qrels(put(tmp_path, "a.tsv", ""))) == 0
    assert len(read_qrels(put(tmp_path, "a.tsv", "\n\n"))) == 0
    assert len(read_run(put(tmp_path, "a.trec", ""))) == 0


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ('{"q": {"a": 1, "a": 2}}', DuplicateIdError, "run.json: key 'a' stands twice"),
        ('{"q": {"a": 1}, "q": {"b": 1}}', DuplicateIdError, "run.json: key 'q' stands twice"),
        ('{"q": {"a:b": 1, "a:b": 1}}', DuplicateIdError, "run.json: key 'a:b' stands twice"),
        ('{"q": {"a": "1"}}', FormatError, 'run.json $.q.a: expected a number, got "1"'),
        ('{"q": {"a": true}}', FormatError, "run.json $.q.a: expected a number, got true"),
        ('{"q": [1]}', FormatError, "run.json $.q: expected an object of scores, got [1]"),
        ('{"q": {"a": NaN}}', FormatError, "run.json: not JSON"),
        ('{"q": {"a": 1}', FormatError, "run.json: not JSON"),
        ('{"q": {"a": 1' + "0" * 400 + "}}", ScoreError, "run.json: int too large"),
        ('{"q": ' + "[" * 9999 + "]" * 9999 + "}", FormatError, "run.json: not JSON"),
        ("[1]", FormatError, "run.json: expected an object"),
    ],
)
def test_a_broken_json_run_is_named(tmp_path: Path, text: str, error: type[DataError], said: str) -> None:
    with pytest.raises(error) as caught:
        json_runs.read_run(put(tmp_path, "run.json", text))
    assert str(caught.value).startswith(said)


def test_colons_in_ids_are_no_duplicates(tmp_path: Path) -> None:
    assert len(read_run(put(tmp_path, "run.json", '{"q:1": {"a:b": 1, "c": 2}}'))) == 2


@pytest.mark.parametrize(
    ("row", "error", "said"),
    [
        ('{"query_id":"q","passage_id":"a"}', FormatError, "no column score"),
        ('{"query_id":"q","score":1}', FormatError, "no column passage_id"),
        ('{"query_id":7,"passage_id":"a","score":1}', FormatError, "run.jsonl:1 $.query_id: expected text, got 7"),
        ('{"query_id":"q","passage_id":"a","score":"1"}', FormatError, 'run.jsonl:1 $.score: expected number, got "1"'),
    ],
)
def test_a_broken_row_is_named(tmp_path: Path, row: str, error: type[DataError], said: str) -> None:
    with pytest.raises(error) as caught:
        read_run(put(tmp_path, "run.jsonl", row + "\n"))
    assert said in str(caught.value)


def test_a_row_without_score_or_id_is_named(tmp_path: Path) -> None:
    good = '{"query_id":"q","passage_id":"a","score":1}\n'
    with pytest.raises(ScoreError, match=r"run\.jsonl:2 \$\.score: the score is missing"):
        read_run(put(tmp_path, "run.jsonl", good + '{"query_id":"q","passage_id":"b"}\n'))
    with pytest.raises(FormatError, match=r"run\.jsonl:2 \$\.passage_id: the id is missing"):
        read_run(put(tmp_path, "run.jsonl", good + '{"query_id":"q","score":1}\n'))
    with pytest.raises(DuplicateIdError, match=r"run\.jsonl: passage 'a' stands twice"):
        read_run(put(tmp_path, "run.jsonl", good + good))


def test_trec_runs_are_read_and_named(tmp_path: Path) -> None:
    assert read_run(put(tmp_path, "r.txt", "q Q0 a 1 2.5 tag\n")).triples() == [("q", "a", 2.5)]
    with pytest.raises(DataError):
        read_run(put(tmp_path, "r.txt", "q a 2.5\n"))


@pytest.mark.parametrize("query", ["{", "{}", '{"a', '{"a":', "{q"])
def test_a_query_id_may_start_with_a_brace(tmp_path: Path, query: str) -> None:
    run = Run.of({query: {"p": 1.0, "r": 0.5}})
    write_run(run, tmp_path / "run.trec")
    assert read_run(tmp_path / "run.trec").triples() == run.triples()
