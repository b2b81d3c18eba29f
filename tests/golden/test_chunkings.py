"""Chunkings of real documents: gold in exactly one chunk, in two views, and scores for every chunker."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import assay
from assay.__main__ import main
from assay.building.gold import project
from assay.building.rechunk import documents_of, rechunked
from assay.catalog import made
from assay.collection import Collection
from assay.evaluation import span_scores
from conftest import ROOT

RESOLVER = """
import json, re, sys
for line in sys.stdin:
    row = json.loads(line)
    told = [re.sub("^You ", "The person who asks ", text) for text in row["passages"]]
    print(json.dumps({"id": row["id"], "passages": told}))
"""
CHUNKERS = {
    "native": "",
    "window(words=60, overlap=10)": "",
    "window(characters=400, overlap=40)": "",
    "sentences(3)": "",
    "recursive(400)": "",
    "semchunk(words=60)": "semchunk",
    "langchain(characters=400)": "langchain_text_splitters",
    "llama_index(words=60, overlap=10)": "llama_index.core",
    "chonkie('sentence', size=400)": "chonkie",
}
MEASURES = [f"{of}@{n}chars" for n in (1000, 4000) for of in ("recall", "precision(union)", "precision(read)", "IoU")]


def assay_ends_well(monkeypatch: pytest.MonkeyPatch, *words: object) -> None:
    monkeypatch.setattr(sys, "argv", ["assay", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code, words


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("conditionalqa")


@pytest.fixture(scope="module")
def built(shared_data: Path, folder: Path) -> Collection:
    """ConditionalQA as the command builds it from the files as they are published."""
    with pytest.MonkeyPatch.context() as patch:
        assay_ends_well(
            patch, "build", "conditionalqa", "--raw", shared_data / "conditionalqa", "--out", folder / "plain"
        )
    return assay.open(folder / "plain")


def test_every_fragment_lies_in_exactly_one_chunk_in_both_views(
    built: Collection, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "resolver.py").write_text(RESOLVER, encoding="utf-8")
    program = f"command({shlex.join([sys.executable, str(folder / 'resolver.py')])!r})"
    assay_ends_well(monkeypatch, "build", "coref", folder / "plain", "--resolver", program, "--out", folder / "coref")
    told = assay.open(folder / "coref")
    for collection in (built, told):
        task = collection.task()
        assert (task.split, len(task.qrels.queries), len(task.qrels)) == ("test", 271, 1165)
        assert task.fragments is not None
        assert project(task.fragments, task.passages).chunks.tolist() == [1] * 1165
    for name in ("document", "start", "end"):
        assert np.array_equal(getattr(built.passages.spans, name), getattr(told.passages.spans, name))
    plain, coref = (told.passages.texts[view] for view in ("plain", "coref"))
    differing = sum(one != other for one, other in zip(plain, coref, strict=True))
    assert differing == sum(text.startswith("You ") for text in plain) > 100
    assert (coref.lengths != told.passages.spans.lengths).sum() == differing
    found = {f.check: f for f in assay.verify(told, only=("gold-in-chunks", "offsets-true"))}
    for view in ("plain", "coref"):
        gold = found[f"gold-in-chunks/passages/test/{view}"]
        assert (gold.verdict, gold.found) == (
            "ok",
            "1165 fragments: 0 in no passage, 1165 in exactly one, 0 in several",
        )
    assert {f.verdict for f in found.values()} == {"ok"}


@pytest.mark.parametrize("call", CHUNKERS)
def test_scores_of_real_documents_cut_anew(call: str, built: Collection) -> None:
    package = CHUNKERS[call]
    if package and find_spec(package.partition(".")[0]) is None:
        pytest.skip(f"{package} is not installed: pip install 'assay[chunkers]'")
    cut, report = rechunked(built, made("chunker", call))
    task, spans = cut.task(), cut.passages.spans
    assert task.fragments is not None
    assert spans is not None
    documents = documents_of(built.passages)[0].to_list()
    places = zip(
        spans.document.tolist(), spans.start.tolist(), spans.end.tolist(), cut.passages.texts["plain"], strict=True
    )
    assert sum(documents[document][start:end] != text for document, start, end, text in places) == 0
    assert report.counts.get("chunks not placed", 0) == 0
    assert report.uncovered_filled == 0
    assert (len(task.fragments), int((project(task.fragments, task.passages).chunks == 0).sum())) == (1165, 0)

    run = assay.retrieve(task, "bm25")
    scores = {s.measure: s for s in span_scores(run, task, MEASURES, resamples=200)}
    for name, one in scores.items():
        assert len(one.value) == 271, name
        assert one.value.min() >= 0, name
        assert one.value.max() <= 1, name
        assert 0 < one.interval.low < one.mean < one.interval.high < 1, name
        assert one.extras["gold_characters"] == sum(task.fragments.spans.lengths), name
    for n in (1000, 4000):
        recall, union, read, iou = (
            scores[f"{of}@{n}chars"] for of in ("recall", "precision(union)", "precision(read)", "IoU")
        )
        assert (read.value <= union.value + 1e-12).all()
        assert (iou.value <= np.minimum(recall.value, union.value) + 1e-12).all()
        assert recall.extras["characters_read"] <= n
    assert (scores["recall@1000chars"].value <= scores["recall@4000chars"].value + 1e-12).all()


def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("conditionalqa_table", ROOT / "examples" / "conditionalqa_table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.heavy
def test_the_example_prints_its_tables(shared_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example().main([str(shared_data / "conditionalqa"), "--resamples", "200"])
    shown = capsys.readouterr().out
    assert "271 queries, 1165 gold fragments: 0 in no chunk, 1165 in exactly one, 0 in several" in shown
    assert "weights 0.15, 0.85 chosen on dev, 271 queries" in shown
    assert "0.2174 [" in shown
    lines = shown.split("\n")
    cut = [line for line in lines if " 0 of " in line]
    assert len(cut) >= 6
    assert sum(line.startswith("  bm25 on ") for line in lines) == len(cut)
