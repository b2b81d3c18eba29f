"""Rechunking: documents cut anew, gold that follows, and what is left behind counted."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import tiny
from assay.audits import verify
from assay.building.rechunk import documents_of, rechunked
from assay.catalog import made
from assay.collection import Collection
from assay.errors import DataError, UsageError
from assay.evaluation import evaluate
from assay.fragment import Fragments
from assay.ids import Ids
from assay.passage import Passages
from assay.query import Queries
from assay.run import Run
from assay.sources import chunk_level, open_collection
from assay.span import Spans
from assay.task import Task
from assay.texts import Texts


class At:
    """A chunker that returns given spans, whatever the document."""

    name: ClassVar[str] = "at"

    def __init__(self, *rows):
        self.rows = rows

    def spans(self, document):
        return np.array([r for r in self.rows if r[1] <= len(document)], np.int64).reshape(-1, 2)


def collection_of(texts, spans, gold=((0, 0, 1),), **columns):
    """One collection: documents d0, d1, …; gold as (document, start, end) of one query."""
    size = max(s[0] for s in spans) + 1
    parents = Ids.of(f"d{n}" for n in range(size))
    made_ = Passages(
        Ids.of(f"p{n}" for n in range(len(texts))), {"plain": Texts.of(texts), **columns.pop("views", {})}, parents,
        Spans.of(*spans), position=np.arange(len(texts), dtype=np.int32), titles=Texts.of(["Title"] * size), **columns,
    )  # fmt: skip
    queries = Queries(Ids.of(["q"]), {"plain": Texts.of(["what?"])})
    fragments = Fragments(
        queries.ids,
        parents,
        np.zeros(len(gold), np.int32),
        Spans.of(*gold),
        np.arange(1, len(gold) + 1, dtype=np.int32),
    )
    task = Task("passages", "test", queries, made_, tiny.Qrels.of([("q", "p0", 1)]), fragments=fragments)
    views = tuple(f"text:{view}" for view in made_.texts)
    task = replace(task, views=(*views, "title"))
    return Collection("made", "memory", "0" * 64, made_, queries, {"passages": {"test": task}})


def chunks_of(collection):
    """The tiny chunks as a collection."""
    task = tiny.chunk_task()
    return Collection("tiny", "memory", "0" * 64, task.passages, task.pool, {task.name: {task.split: task}})


def test_documents_are_put_together_and_holes_are_counted():
    collection = collection_of(["été", "b😀", "c"], [(0, 0, 3), (0, 4, 6), (1, 2, 3)])
    texts, unknown = documents_of(collection.passages)
    assert texts.to_list() == ["été\nb😀", "\n\nc"]
    assert unknown == 3


def test_a_quote_tells_what_stands_between_passages():
    collection = collection_of(["one", "two", "six"], [(0, 0, 3), (0, 4, 7), (0, 8, 11)], gold=[(0, 2, 5), (0, 0, 99)])
    fragments = replace(collection.task().fragments, quotes=Texts.of(["e|t", "too short"]))
    assert documents_of(collection.passages, fragments)[0].to_list() == ["one|two\nsix"]


@pytest.mark.parametrize(
    ("texts", "spans", "message"),
    [
        (["abc", "xd"], [(0, 0, 3), (0, 2, 4)], "differ from others"),
        (["abc", "d"], [(0, 0, 3), (0, 3, 9)], "not as long as their spans"),
    ],
)
def test_documents_that_cannot_be_put_together_are_an_error(texts, spans, message):
    with pytest.raises(DataError, match=message):
        rechunked(collection_of(texts, spans), made("chunker", "window(1)"))


def test_ids_spans_positions_titles_and_texts():
    collection = collection_of(["one two", "three", "four"], [(0, 0, 7), (0, 8, 13), (1, 0, 4)], gold=[(0, 4, 9)])
    cut, report = rechunked(collection, made("chunker", "window(1)"))
    passages = cut.passages
    assert list(passages.ids) == ["d0-0", "d0-1", "d0-2", "d1-0"]
    assert passages.texts["plain"].to_list() == ["one", "two", "three", "four"]
    assert [tuple(passages.spans[row]) for row in range(4)] == [(0, 3), (4, 7), (8, 13), (0, 4)]
    assert passages.position.tolist() == [0, 1, 2, 0]
    assert passages[3].title == "Title"
    task = cut.task()
    assert task.passages is passages
    assert task.qrels.triples() == [("q", "d0-1", 1), ("q", "d0-2", 1)]
    assert (report.chunks, report.documents, report.characters, report.longest) == (4, 2, 17, 5)
    assert (report.fragments, report.in_none, report.in_one, report.in_several, report.cut) == (1, 0, 0, 1, 1)
    assert (report.mean_length, report.median_length) == (15 / 4, 3.5)
    assert report.covered == 15 / 17
    assert report.read_twice == 0
    assert report.uncovered_filled == 0


def test_the_rule_decides_and_is_named():
    collection = collection_of(["one two three"], [(0, 0, 13)], gold=[(0, 2, 9)])
    for rule, expected in (("any", ["d0-0", "d0-1", "d0-2"]), ("characters>=2", ["d0-1"]), ("whole", [])):
        cut, report = rechunked(collection, made("chunker", "window(1)"), rule=rule)
        assert [passage for _, passage, _ in cut.task().qrels.triples()] == expected
        assert report.rule == cut.manifest["gold_rule"] == rule
        assert list(cut.task().qrels.queries) == ["q"]
        assert report.cut == 1
    assert (
        len({rechunked(collection, made("chunker", "window(1)"), rule=rule)[0].digest for rule in ("any", "whole")})
        == 2
    )


def test_overlap_holes_and_lost_text_are_measured():
    collection = collection_of(["abcdefghij"], [(0, 0, 10)], gold=[(0, 0, 1), (0, 8, 10)])
    _, report = rechunked(collection, At((1, 5), (3, 7), (4, 4)))
    assert report.covered == 0.6
    assert report.read_twice == 0.2
    assert report.uncovered_filled == 4
    assert report.in_none == 2
    assert report.counts["blank chunks left out"] == 1


def test_case_C07():
    """Inlined texts are longer than their spans by design; they stay with their spans or not at all."""
    plain, coref = ["It is free.", "It opens at nine."], ["The permit is free.", "The office opens at nine."]
    collection = collection_of(plain, [(0, 0, 11), (0, 12, 29)], views={"coref": Texts.of(coref)})
    assert not [f for f in verify(collection, only=("offsets-true",)) if f.verdict == "error"]
    same, report = rechunked(collection, made("chunker", "native"))
    assert same.passages.texts["coref"].to_list() == coref
    assert "text:coref" in same.task().views
    assert not [f for f in verify(same, only=("offsets-true",)) if f.verdict == "error"]
    other, report = rechunked(collection, made("chunker", "window(2)"))
    assert set(other.passages.texts) == {"plain"}
    assert other.task().views == ("text:plain", "title")
    assert report.counts["passages of the view 'coref' left out: its texts belong to the old chunks"] == 2


def test_spans_that_stay_the_same_by_another_way_keep_what_belongs_to_them():
    days = np.array(["2020-01-02", "2020-01-03", "2020-01-01"], "datetime64[D]")
    collection = collection_of(
        ["Bb.", "Cc.", "Aa."], [(0, 4, 7), (0, 8, 11), (0, 0, 3)], views={"coref": Texts.of(["B.", "C.", "A."])},
        dates=days, candidate=np.array([True, True, False]), columns={"note": Texts.of(["x", "y", "z"])},
    )  # fmt: skip
    cut, report = rechunked(collection, made("chunker", "sentences(1)"))
    assert cut.passages.texts["coref"].to_list() == ["A.", "B.", "C."]
    assert cut.passages.dates.astype(str).tolist() == ["2020-01-01", "2020-01-02", "2020-01-03"]
    assert cut.passages.candidate.tolist() == [False, True, True]
    assert cut.passages.columns["note"].to_list() == ["z", "x", "y"]
    assert not any("left out" in name and count for name, count in report.counts.items())


def test_what_cannot_follow_is_left_out_and_counted():
    days = np.array(["2020-01-02", "2020-01-02", "2020-01-02", "2020-01-01"], "datetime64[D]")
    collection = collection_of(
        ["a.", "b.", "c.", "d."], [(0, 0, 2), (0, 3, 5), (1, 0, 2), (1, 3, 5)], dates=days,
        candidate=np.array([True, False, True, True]), columns={"note": Texts.of(list("wxyz"))},
    )  # fmt: skip
    cut, report = rechunked(collection, made("chunker", "window(9)"))
    assert cut.passages.dates.astype(str).tolist() == ["2020-01-02", "NaT"]
    assert cut.passages.candidate is None
    assert cut.passages.columns == {}
    assert report.counts["documents whose passages have several dates, now undated"] == 1
    assert report.counts["values of column 'note' left out: they belong to the old chunks"] == 4
    assert report.counts["passages marked as no candidates, now chunks like others"] == 1


def test_collections_without_spans_or_fragments_are_refused():
    task = tiny.task_of([("q", "a", 1)], ["a"])
    plain = Collection("c", "memory", "0" * 64, task.passages, task.pool, {"t": {"test": task}})
    with pytest.raises(UsageError, match="no documents and spans"):
        rechunked(plain, made("chunker", "native"))
    chunks = chunks_of(None)
    bare = {"passages": {"test": replace(chunks.task(), fragments=None)}}
    with pytest.raises(UsageError, match="no task has gold fragments"):
        rechunked(replace(chunks, tasks=bare), made("chunker", "native"))


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 8)), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 8)), max_size=6),
)
def test_gold_follows_by_its_two_line_definition(gold, cuts):
    text = "abcdefghijklmnopqrstuvwxyz012"
    rows = sorted((a, a + n) for a, n in cuts)
    collection = collection_of([text], [(0, 0, len(text))], gold=[(0, a, a + n) for a, n in gold])
    cut, report = rechunked(collection, At(*rows))
    expected = {}
    for grade, (a, n) in enumerate(gold, 1):
        for place, (low, high) in enumerate(rows):
            if min(high, a + n) - max(low, a) >= 1:
                expected[f"d0-{place}"] = max(grade, expected.get(f"d0-{place}", 0))
    assert {passage: grade for _, passage, grade in cut.task().qrels.triples()} == expected
    assert report.in_none + report.in_one + report.in_several == len(gold)


def test_case_E06():
    """A fragment over two chunks is two relevant ids in one chunking and one in another: nDCG differs, spans do not."""
    text = "x" * 100
    collection = collection_of([text], [(0, 0, 100)], gold=[(0, 0, 100)])
    values = []
    for rows, run in (([(0, 100)], ["d0-0"]), ([(0, 50), (50, 100)], ["d0-0"])):
        cut, report = rechunked(collection, At(*rows))
        scores = evaluate(Run.of([("q", passage, 1.0) for passage in run]), cut.task().qrels, ["nDCG@2"])
        values.append(round(float(scores[0].mean), 4))
        read = cut.passages.spans.take(cut.passages.ids.codes(run))
        held = np.zeros(100, bool)
        for row in range(len(read)):
            held[read[row].start : read[row].end] = True
        values.append(float(held.mean()))
        assert cut.task().fragments.spans.lengths.tolist() == [100]
        assert report.cut == len(rows) - 1
    assert values == [1.0, 1.0, 0.6131, 0.5]


def test_a_collection_cut_anew_is_healthy_and_comes_back_from_files(tmp_path):
    chunks = chunks_of(None)
    for as_parquet in (False, True):
        cut, _ = rechunked(chunks, made("chunker", "window(6, overlap=2)"))
        assert not [f for f in verify(cut) if f.verdict == "error"]
        chunk_level.save(cut, tmp_path / str(as_parquet), as_parquet=as_parquet)
        again = open_collection(tmp_path / str(as_parquet))
        assert again.task().qrels.triples() == cut.task().qrels.triples()
        assert again.passages.texts["plain"] == cut.passages.texts["plain"]
        assert list(again.queries.ids) == list(chunks.queries.ids)


def test_splits_stay(tmp_path):
    chunks = open_collection("demo:chunks")
    split = Texts.of(["train" if row % 3 else "test" for row in range(len(chunks.queries))])
    chunk_level.save(
        replace(chunks, queries=replace(chunks.queries, columns={**chunks.queries.columns, "split": split})), tmp_path
    )
    before = open_collection(tmp_path)
    cut, _ = rechunked(before, made("chunker", "sentences(2)"))
    assert list(cut.tasks["passages"]) == ["test", "train", "all"] or set(cut.tasks["passages"]) == {
        "test",
        "train",
        "all",
    }
    for name, task in cut.tasks["passages"].items():
        assert list(task.qrels.queries) == list(before.tasks["passages"][name].qrels.queries)


CHUNKERS = [
    "native", "window(words=120, overlap=20)", "window(characters=500)", "sentences(3, overlap=1)", "sentences(characters=600)",
    "recursive(500)", "semchunk(words=100, overlap=20)", "chonkie('token', size=120, overlap=20, tokenizer='word')",
    "langchain(characters=500, overlap=100)", "llama_index(words=120, overlap=20)",
]  # fmt: skip
PACKAGES = {
    "semchunk": "semchunk",
    "chonkie": "chonkie",
    "langchain": "langchain_text_splitters",
    "llama_index": "llama_index",
}


@pytest.mark.parametrize("call", CHUNKERS)
def test_real_gold_survives_every_chunker(call, shared_data):
    package = PACKAGES.get(call.partition("(")[0])
    if package and find_spec(package) is None:
        pytest.skip(f"{package} is not installed: install the extra chunkers")
    collection = open_collection(shared_data / "conditionalqa" / "seed_schema")
    cut, report = rechunked(collection, made("chunker", call))
    documents = documents_of(collection.passages)[0].to_list()
    spans = cut.passages.spans
    texts = cut.passages.texts["plain"].to_list()
    rows = zip(spans.document.tolist(), spans.start.tolist(), spans.end.tolist(), texts, strict=True)
    assert sum(documents[d][a:b] != text for d, a, b, text in rows) == 0
    assert report.counts.get("chunks not placed", 0) == 0
    assert (report.fragments, report.in_none, report.uncovered_filled) == (1165, 0, 0)
    assert list(cut.task().qrels.queries) == list(collection.task().qrels.queries)
    errors = [
        f.check
        for f in verify(cut, only=("offsets-true", "gold-in-chunks", "ids-unique", "judged-exist"))
        if f.verdict == "error"
    ]
    assert errors == []


def test_what_has_no_place_is_counted_and_shown():
    class Inventing:
        name: ClassVar[str] = "inventing"

        def pieces(self, document):
            return [f"Title: {document}", document]

    _, report = rechunked(collection_of(["one two"], [(0, 0, 7)]), Inventing())
    assert report.counts["chunks not placed"] == 1
    assert report.not_placed == (("d0", "Title: one two"),)
    assert (report.chunks, report.covered) == (1, 1.0)


# The command line


def chunk(*args):
    from assay.cli import app

    return CliRunner().invoke(app, ["chunk", "demo:chunks", *map(str, args)], catch_exceptions=False)


def test_the_command_writes_a_collection_and_prints_what_it_is_like(tmp_path):
    done = chunk("--chunker", "window(words=60, overlap=10)", "--out", tmp_path / "a")
    assert done.exit_code == 0
    assert "cut by window(60, overlap=10)" in done.stdout
    assert "no chunk" in done.stdout
    assert "'coref' left out" in done.stdout
    again = open_collection(tmp_path / "a")
    assert again.layout == "chunk-level"
    assert again.manifest["chunker"]["words"] == 60
    assert again.counts["gold fragments in no chunk"] == 0


def test_the_command_prints_json_and_writes_parquet(tmp_path):
    done = chunk("-c", "native", "--out", tmp_path, "--format", "parquet", "--rule", "whole", "--json")
    record = json.loads(done.stdout)
    assert record["chunks"] == 481
    assert record["rule"] == "whole"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "build_manifest.json", "documents.parquet", "documents_coref.parquet", "queries.parquet",
    ]  # fmt: skip
    again = open_collection(tmp_path)
    assert "coref" in again.passages.texts
    assert again.counts["gold fragments in no chunk"] == record["in_none"] > 0


def test_the_command_replaces_an_earlier_build_whole_and_nothing_else(tmp_path):
    built, other = tmp_path / "built", tmp_path / "other"
    chunk("-c", "native", "--out", built)
    chunk("-c", "window(9)", "--out", built, "--format", "parquet")
    assert sorted(path.name for path in built.iterdir()) == [
        "build_manifest.json", "documents.parquet", "queries.parquet",
    ]  # fmt: skip
    assert "coref" not in open_collection(built).passages.texts
    with pytest.raises(UsageError, match="did you mean 'window'"):
        chunk("-c", "windw(3)", "--out", built)
    with pytest.raises(UsageError, match="did you mean 'parquet'"):
        chunk("-c", "native", "--out", built, "--format", "parqet")
    other.mkdir()
    (other / "mine.txt").write_text("kept", encoding="utf-8")
    with pytest.raises(DataError, match="holds other files"):
        chunk("-c", "native", "--out", other)
    assert [path.name for path in other.iterdir()] == ["mine.txt"]


def test_the_command_never_writes_over_the_collection_that_it_reads(tmp_path):
    from assay.cli import app

    chunk("-c", "native", "--out", tmp_path / "built")
    before = {path.name: path.read_bytes() for path in (tmp_path / "built").iterdir()}
    for out in (tmp_path / "built", tmp_path):
        done = CliRunner().invoke(app, ["chunk", str(tmp_path / "built"), "-c", "window(9)", "--out", str(out)])
        assert isinstance(done.exception, UsageError)
        assert "holds the collection itself" in str(done.exception)
    assert {path.name: path.read_bytes() for path in (tmp_path / "built").iterdir()} == before


def test_what_is_owed_to_a_source_stays_with_its_chunks():
    demo = open_collection("demo:chunks")
    owing = replace(demo, revision="r1", manifest={**demo.manifest, "attribution": "Name them", "counts": {"x": 1}})
    cut, _ = rechunked(owing, made("chunker", "window(9)"))
    assert (cut.manifest["attribution"], cut.manifest["revision"]) == ("Name them", "r1")
    assert "counts" not in cut.manifest


def test_passages_kept_as_they_are_keep_their_views_though_blank_ones_are_left_out():
    coref = {"coref": Texts.of(["A!", "blank!", "B!"])}
    old = collection_of(["a", "  ", "b"], [(0, 0, 1), (0, 2, 4), (0, 5, 6)], views=coref)
    cut, report = rechunked(old, made("chunker", "native"))
    assert cut.passages.texts["coref"].to_list() == ["A!", "B!"]
    assert report.counts["blank chunks left out"] == 1


def test_offsets_that_no_memory_holds_are_refused():
    texts, spans = ["a", "b"], [(0, 0, 1), (0, 10**12, 10**12 + 1)]
    with pytest.raises(DataError, match=r"document 'd0' ends at character 1000000000001, and its passages hold 2"):
        rechunked(collection_of(texts, spans), made("chunker", "native"))
