"""Two chunkings of the same documents in one table: from files to tests, through the command line."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.__main__ import main
from assay.errors import DataError, UsageError
from assay.evaluation import comparable_scores, span_scores


def joined_in_pairs(source: Path, target: Path) -> Path:
    """The collection in `source` with each pair of neighbouring passages of a document joined by the newline between
    them; queries and fragments as they are."""
    target.mkdir(parents=True)
    pairs: list[dict[str, Any]] = []
    for line in (source / "documents.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        last = pairs[-1] if pairs else None
        gap = row["chunk_start_char"] - last["chunk_end_char"] if last else 0
        if last and last["source_url"] == row["source_url"] and row["chunk_idx"] % 2 == 1 and gap == 1:
            last["chunk"] += "\n" + row["chunk"]
            last["chunk_end_char"] = row["chunk_end_char"]
        else:
            pairs.append(row)
    (target / "documents.jsonl").write_text("".join(json.dumps(row) + "\n" for row in pairs), "utf-8")
    (target / "queries.jsonl").write_bytes((source / "queries.jsonl").read_bytes())
    return target


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    demo = Path(assay.__file__).parent / "sources" / "demo" / "chunks"
    return joined_in_pairs(demo, tmp_path_factory.mktemp("collections") / "pairs")


def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of an `assay` command."""
    monkeypatch.setattr(sys, "argv", ["assay", *map(str, words)])
    code = 0
    try:
        main()
    except SystemExit as end:
        code = 0 if end.code is None else int(end.code)
    said = capsys.readouterr()
    return code, said.out, said.err


NAMES = ("recall@600chars", "IoU@5chunks", "DFR(t=1)", "documents(RR@10)")


@pytest.fixture
def results(pairs: Path, tmp_path: Path, capsys: Any, monkeypatch: Any) -> Path:
    options = [word for name in ("nDCG@10", *NAMES) for word in ("-m", name)]
    for target in ("demo:chunks", str(pairs)):
        code, _, err = command(
            capsys,
            monkeypatch,
            "run",
            target,
            "-s",
            "bm25",
            *options,
            "--resamples",
            "200",
            "--out",
            str(tmp_path / "results"),
        )
        assert code == 0, err
    return tmp_path / "results"


def test_joined_passages_are_the_same_text(pairs: Path) -> None:
    one, other = assay.open("demo:chunks"), assay.open(pairs)
    assert len(other.passages) < len(one.passages)
    assert (other.passages.spans.lengths == other.passages.texts["plain"].lengths).all()
    names = ["recall@100000chars", "recall(reachable)"]
    for scores in zip(*(span_scores(c.retrieve(), c.task, names) for c in (Whole(one), Whole(other)))):
        assert scores[0].extras["gold_characters"] == scores[1].extras["gold_characters"]
        # The joined passages hold the newline between them as well, and so at least as much of any fragment.
        assert (scores[0].value <= scores[1].value + 1e-12).all()


class Whole:
    """A collection's task, and a run that returns everything for every query."""

    def __init__(self, collection: assay.Collection) -> None:
        self.task = collection.task("passages")

    def retrieve(self) -> assay.Run:
        ids = list(self.task.passages.ids)
        return assay.Run.of({q: dict.fromkeys(ids, 1.0) for q in self.task.qrels.queries})


def test_chunkings_are_compared_in_one_table(results: Path, capsys: Any, monkeypatch: Any) -> None:
    code, out, _ = command(
        capsys, monkeypatch, "compare", results, "--across-chunkings", "--all-measures", "--resamples", "200"
    )
    assert code == 0
    assert "2 chunkings/passages, split test: 146 queries" in out
    assert re.search(r"bm25 on demo:chunks +0\.\d{4} \[", out)
    assert re.search(r"bm25 on pairs +0\.\d{4} \[", out)
    assert "each over its own gold passages" in out
    assert "nDCG@10 [gold: any]" in out
    assert "read down, not across" in out
    assert len(re.findall(r"IoU@5chunks reads \d+ characters a query", out)) == 2
    assert len(re.findall(r"bm25 on demo:chunks − bm25 on pairs", out)) == len(NAMES)


def test_the_paired_test_is_that_of_the_queries_values(results: Path, capsys: Any, monkeypatch: Any) -> None:
    code, out, _ = command(
        capsys,
        monkeypatch,
        "compare",
        results,
        "--across-chunkings",
        "-m",
        NAMES[0],
        "--json",
        "--resamples",
        "200",
        "--baseline",
        "bm25 on pairs",
    )
    assert code == 0
    said = json.loads(out)
    assert {r["collection"] for r in said["results"]} == {"demo:chunks", "pairs"}
    assert len({r["digest"] for r in said["results"]}) == 2
    means = {r["collection"]: r["measures"][NAMES[0]]["mean"] for r in said["results"]}
    [family] = said["comparisons"]
    [pair] = family["pairs"]
    assert (pair["first"], pair["second"], pair["n"]) == ("bm25 on pairs", "bm25 on demo:chunks", 146)
    assert pair["difference"] == pytest.approx(means["pairs"] - means["demo:chunks"])
    assert pair["wins"] + pair["ties"] + pair["losses"] == 146
    assert pair["losses"] > 0


def test_measures_that_count_passages_are_refused(results: Path, capsys: Any, monkeypatch: Any) -> None:
    code, out, err = command(capsys, monkeypatch, "compare", results, "--across-chunkings", "-m", "nDCG@10")
    assert code == 2
    assert "cannot be compared across chunkings" in err + out
    assert "recall@4000chars" in err + out


def test_without_the_option_chunkings_stay_apart(results: Path, capsys: Any, monkeypatch: Any) -> None:
    code, out, err = command(capsys, monkeypatch, "compare", results)
    assert code == 2
    assert "--across-chunkings" in err + out
    one = next(p for p in results.iterdir() if p.name.startswith("pairs"))
    code, out, err = command(capsys, monkeypatch, "compare", one, "--across-chunkings")
    assert code == 2
    assert "one chunking" in err + out


def test_other_gold_is_an_error(pairs: Path) -> None:
    task = assay.open(pairs).task("passages")
    run = assay.retrieve(task, "bm25")
    scores = span_scores(run, task, ["recall@600chars"], resamples=10)
    changed = [replace(scores[0], extras={**scores[0].extras, "gold_characters": 1.0})]
    with pytest.raises(DataError, match="same documents"):
        comparable_scores([("a", scores), ("b", changed)])
    strict = assay.evaluate(run, task.qrels, ["RR@10"], resamples=10)
    assert comparable_scores([("a", [*scores, *strict])]) == [tuple(scores)]
    for whole, given in ((True, [*scores, *strict]), (False, strict)):
        with pytest.raises(UsageError, match=r"RR@10 of a cannot be compared"):
            comparable_scores([("a", given)], whole=whole)


def test_span_measures_stand_beside_ordinary_ones(pairs: Path, tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    task = assay.open(pairs).task("passages")
    assay.write_run(assay.retrieve(task, "bm25"), tmp_path / "run.trec")
    words = [
        "evaluate",
        str(pairs),
        str(tmp_path / "run.trec"),
        "-m",
        "recall@600chars",
        "-m",
        "RR@10",
        "-m",
        "documents(RR@10)",
    ]
    code, out, _ = command(capsys, monkeypatch, *words, "--json", "--resamples", "50", "--by", "kind")
    assert code == 0
    [record] = json.loads(out)["results"]
    assert list(record["measures"]) == ["recall@600chars", "RR@10", "documents(RR@10)"]
    assert set(record["slices"]["recall@600chars"]) == {"amount", "deadline", "eligibility", "procedure"}
    (tmp_path / "qrels.txt").write_text("q 0 a 1\n")
    code, out, err = command(
        capsys,
        monkeypatch,
        "evaluate",
        "--qrels",
        tmp_path / "qrels.txt",
        tmp_path / "run.trec",
        "-m",
        "recall@600chars",
    )
    assert code == 2
    assert "needs a collection" in err + out
    code, out, err = command(capsys, monkeypatch, "run", "demo:questions/answer", "-m", "recall@600chars")
    assert code == 2
    assert "no gold fragments" in err + out
    code, out, err = command(capsys, monkeypatch, "run", pairs, "-m", "recall@600")
    assert code == 2
    assert "recall@4000chars" in err + out


def test_real_documents_chunked_in_two_ways(shared_data: Path, tmp_path: Path) -> None:
    """ConditionalQA: pairs of passages read more for the same gold, and no score of either leaves [0, 1]."""
    source = shared_data / "conditionalqa" / "seed_schema"
    names = [
        "recall@1000chars",
        "recall@5chunks",
        "precision(read)@5chunks",
        "IoU@5chunks",
        "DFR(t>0)",
        "precision(omega)",
        "recall(reachable)",
    ]
    values = []
    for place in (source, joined_in_pairs(source, tmp_path / "pairs")):
        task = assay.open(place).task("passages")
        found = span_scores(assay.retrieve(task, "bm25"), task, names, resamples=50)
        assert all(((s.value >= 0) & (s.value <= 1)).all() for s in found)
        assert found[0].counts.queries == 271
        values.append({s.measure: s for s in found})
    single, double = values
    assert single["recall@1000chars"].extras["gold_characters"] == double["recall@1000chars"].extras["gold_characters"]
    assert double["recall@5chunks"].extras["characters_read"] > 1.3 * single["recall@5chunks"].extras["characters_read"]
    assert double["precision(omega)"].mean < single["precision(omega)"].mean
    assert (double["recall(reachable)"].value >= single["recall(reachable)"].value - 1e-12).all()
