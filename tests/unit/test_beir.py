"""BEIR: tables by tabs without quoting, and the folder layout."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import DuplicateIdError, FormatError
from assay.formats import beir as tables
from assay.formats import jsonl
from assay.formats.runs import read_qrels
from assay.qrels import Qrels
from assay.sources import beir, open_collection

ID = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r\ufeff"), min_size=1, max_size=6)


def qrels_of(folder: Path, text: str) -> Qrels:
    (folder / "test.tsv").write_bytes(text.encode())
    return tables.read_qrels(folder / "test.tsv")


def collection(folder: Path, *, qrels: str = "query-id\tcorpus-id\tscore\nq1\td1\t2\n") -> Path:
    jsonl.write_rows(
        [{"_id": "d1", "title": "Ferries", "text": "They leave at eight."}, {"_id": "d2", "title": "", "text": ""}],
        folder / "corpus.jsonl",
    )
    jsonl.write_rows(
        [{"_id": "q1", "text": "when?", "metadata": {}}, {"_id": "d2", "text": "x"}], folder / "queries.jsonl"
    )
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text(qrels)
    return folder


def test_case_I12_there_is_no_quoting(tmp_path: Path) -> None:
    qrels = qrels_of(tmp_path, 'query-id\tcorpus-id\tscore\n"q1\td1\t1\nq2\td2\t1\n')
    assert len(qrels) == 2
    assert qrels.queries[0] == '"q1'
    assert read_qrels(tmp_path / "test.tsv").triples() == qrels.triples()


def test_case_I15_no_field_is_too_long(tmp_path: Path) -> None:
    (tmp_path / "corpus.tsv").write_text("d1\t" + "x" * 200000 + "\n")
    table = tables.read_corpus(tmp_path / "corpus.tsv")
    assert len(table) == 1
    assert table.text("text").lengths.tolist() == [200000]


@pytest.mark.parametrize("header", ["", "query-id\tcorpus-id\tscore\n", "\ufeffquery-id\tcorpus-id\tscore\r\n"])
def test_the_header_may_be_there_or_not(tmp_path: Path, header: str) -> None:
    assert qrels_of(tmp_path, f"{header}q1\td1\t1\nq2\td1\t0\n").triples() == [("q1", "d1", 1), ("q2", "d1", 0)]


def test_four_fields_and_floats_that_are_whole_are_read(tmp_path: Path) -> None:
    assert qrels_of(tmp_path, "q1\t0\td1\t-1\nq1\t0\td2\t2.0\n").triples() == [("q1", "d1", -1), ("q1", "d2", 2)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("q1\td1\n", "test.tsv:1: 2 fields by tabs, 3 expected"),
        ("q1\td1\t1\nq2\td1\thigh\n", "test.tsv:2: grade 'high' is not a whole number"),
        ("q1\td1\t0.5\n", "test.tsv:1: grade '0.5' is not a whole number"),
        ("q1\td1\tinf\n", "test.tsv:1: grade 'inf' is not a whole number"),
        ("\td1\t1\n", "test.tsv:1: an id is empty"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(FormatError) as caught:
        qrels_of(tmp_path, text)
    assert str(caught.value).startswith(said)


def test_a_pair_judged_twice_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DuplicateIdError, match=r"test\.tsv: .*judged twice"):
        qrels_of(tmp_path, "q1\td1\t1\nq1\td1\t1\n")


@settings(max_examples=30, deadline=None)
@given(
    st.dictionaries(st.tuples(ID, ID), st.integers(-2, 5), max_size=8), st.sampled_from([".tsv", ".tsv.gz", ".tsv.zst"])
)
def test_judgements_come_back(pairs: dict[tuple[str, str], int], suffix: str) -> None:
    pairs = {(q, p): g for (q, p), g in pairs.items() if q.strip() or p.strip()}
    qrels = Qrels.of((q, p, g) for (q, p), g in pairs.items())
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / f"test{suffix}"
        tables.write_qrels(qrels, place)
        assert tables.read_qrels(place).triples() == qrels.triples()


def test_an_id_with_a_tab_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="holds a tab"):
        tables.write_qrels(Qrels.of([("q\t1", "d", 1)]), tmp_path / "a.tsv")


def test_a_folder_is_a_collection(tmp_path: Path) -> None:
    found = open_collection(collection(tmp_path))
    assert found.layout == "beir"
    task = found.task()
    assert (task.name, task.split, task.qrels.triples()) == ("retrieval", "test", [("q1", "d1", 2)])
    assert task.views == ("text:plain", "title")
    assert found.passages[0].title == "Ferries"
    assert found.counts["passages with an empty text"] == 1
    assert found.counts["queries: values of column 'metadata' left out (lists or objects)"] == 1


def test_a_query_does_not_get_its_own_passage(tmp_path: Path) -> None:
    found = open_collection(collection(tmp_path, qrels="q1\td1\t1\nd2\td1\t1\n"))
    task = found.task()
    assert found.counts["queries with the id of a passage, which is kept from them"] == 1
    assert [task.eligibility.mask(row).tolist() for row in range(2)] == [[True, True], [True, False]]


def test_a_collection_comes_back(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    found = open_collection(collection(tmp_path / "one"))
    beir.save(found, tmp_path / "two")
    again = open_collection(tmp_path / "two")
    assert again.task().qrels.triples() == found.task().qrels.triples()
    assert again.passages.texts["plain"] == found.passages.texts["plain"]
    assert again.passages.titles == found.passages.titles
    beir.save(again, tmp_path / "three")
    assert open_collection(tmp_path / "three").digest == again.digest


def test_judgements_of_unknown_ids_are_counted(tmp_path: Path) -> None:
    found = open_collection(collection(tmp_path, qrels="q1\td1\t1\nq9\td9\t1\n"))
    assert found.counts["judged queries that the collection lacks"] == 1
    assert found.counts["judged passages that the collection lacks"] == 1
