"""Bad input to everything about chunks, through the commands: one error or one finding each, and nothing half written."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import numpy as np
import pytest

import assay as package
from assay.__main__ import main
from assay.building.rechunk import rechunked
from assay.catalog import made
from assay.chunker import chunked
from assay.errors import ContractError, DataError
from assay.formats import jsonl
from assay.texts import Texts

TEXT = "The fee is five.\nIt is due in May."
CHUNKS = [
    {"chunk_id": "a-0", "chunk": TEXT[:16], "source_url": "a", "chunk_idx": 0, "chunk_start_char": 0, "chunk_end_char": 16},
    {"chunk_id": "a-1", "chunk": TEXT[17:], "source_url": "a", "chunk_idx": 1, "chunk_start_char": 17, "chunk_end_char": 34},
]  # fmt: skip
QUERY = {
    "query_id": "q", "query": "When is it due?", "answer": ["May"], "score": [1], "source_url": ["a"], "frag_start_char": [30],
    "frag_end_char": [33],
}  # fmt: skip


def folder_of(folder: Path, *, chunks: list[dict[str, Any]] | None = None, **changes: Any) -> Path:
    folder.mkdir(exist_ok=True)
    jsonl.write_rows(chunks or CHUNKS, folder / "documents.jsonl")
    jsonl.write_rows([{**QUERY, **changes}], folder / "queries.jsonl")
    return folder


def run(*words: object) -> tuple[int, Any]:
    """Exit code and JSON of a command."""
    out, err = io.StringIO(), io.StringIO()
    given = ["assay", *map(str, words), "--json"]
    printed = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
    with mock.patch.object(sys, "argv", given), printed[0], printed[1], pytest.raises(SystemExit) as end:
        main()
    assert "Traceback" not in err.getvalue()
    return int(end.value.code or 0), json.loads(out.getvalue())


def errors_of(folder: Path) -> dict[str, str]:
    """What `assay verify` calls an error."""
    code, record = run("verify", folder)
    found = {f["check"]: f["found"] for f in record["findings"] if f["verdict"] == "error"}
    assert code == int(bool(found))
    return found


def test_good_input_is_good(tmp_path: Path) -> None:
    assert errors_of(folder_of(tmp_path)) == {}


@pytest.mark.parametrize(
    ("changes", "check", "said"),
    [
        ({"frag_end_char": [90]}, "past-the-end", "1 of 1 fragments: they end after their document ends"),
        ({"frag_start_char": [60], "frag_end_char": [90]}, "past-the-end", "1 of 1 fragments: they end after"),
        ({"frag_end_char": [30]}, "empty", "1 of 1 fragments: they have zero length"),
        ({"source_url": ["nowhere"]}, "unknown-document", "1 of 1 fragments: no passage is of their document"),
    ],
)
def test_a_fragment_that_is_no_stretch_of_its_document(
    tmp_path: Path, changes: dict[str, Any], check: str, said: str
) -> None:
    folder = folder_of(tmp_path / "in", **changes)
    assert errors_of(folder)[f"fragments-in-documents/passages/test/{check}"].startswith(said)
    # Nothing is lost on the way: a chunking has the fragment in its counts, and the query in its qrels.
    code, record = run("chunk", folder, "--chunker", "window(words=3)", "--out", tmp_path / "out")
    assert (code, record["fragments"]) == (0, 1)
    assert record["in_none"] == (0 if changes == {"frag_end_char": [90]} else 1)
    cut = package.open(tmp_path / "out").task()
    assert list(cut.qrels.queries) == ["q"]
    [scores] = package.run_system(
        package.open(tmp_path / "out"), cut, package.system_of("bm25"), judging=_judging("recall@100chars")
    ).scores
    # The end of a document is all that can be read of a fragment that goes on behind it; no length, no gold.
    assert 0 <= scores.value[0] < 1
    assert scores.extras["gold_fragments"] + scores.extras["empty_fragments"] == 1


def _judging(*measures: str) -> Any:
    from assay.experiment import Judging

    return Judging(measures, resamples=10)


def test_native_passages_that_overlap(tmp_path: Path) -> None:
    wide = {
        **CHUNKS[0],
        "chunk_id": "a-2",
        "chunk": TEXT[11:34],
        "chunk_idx": 2,
        "chunk_start_char": 11,
        "chunk_end_char": 34,
    }
    folder = folder_of(tmp_path / "in", chunks=[CHUNKS[0], {**wide, "chunk_idx": 1}, {**CHUNKS[1], "chunk_idx": 2}])
    assert errors_of(folder) == {}
    collection = package.open(folder)
    assert collection.task().qrels.triples() == [("q", "a-2", 1), ("q", "a-1", 1)]
    code, record = run("chunk", folder, "--chunker", "native", "--out", tmp_path / "native")
    assert (code, record["chunks"], record["in_several"], record["cut"]) == (0, 3, 1, 0)
    assert record["read_twice"] == pytest.approx((5 + 17) / 34)
    cut, report = rechunked(collection, made("chunker", "window(characters=10)"))
    assert "".join(cut.passages.texts["plain"]).replace("\n", "") == TEXT.replace("\n", "")
    assert report.characters == 34
    # Where two passages tell different texts of one place, there is no document to cut.
    wrong = folder_of(tmp_path / "wrong", chunks=[CHUNKS[0], {**wide, "chunk": "x" * 23}])
    assert "offsets-true/overlap" in errors_of(wrong)
    with pytest.raises(DataError, match=r"1 passages differ from others in their place \(first: 'a-0'\)"):
        rechunked(package.open(wrong), made("chunker", "native"))


LOOP = "while True: pass"
CRASH = "raise SystemExit('out of ink')"
FOREIGN = (
    "import json, sys\n"
    "for line in sys.stdin: print(json.dumps({'id': json.loads(line)['id'], 'chunks': ['not in there']}))"
)
ENDLESS = "while True: print('x' * 100000)"


@pytest.mark.parametrize(
    ("program", "options", "said"),
    [
        (CRASH, "", "ended with status 1:\n  out of ink"),
        (LOOP, ", timeout=0.5", "did not end within 0.5 seconds and was stopped"),
        (FOREIGN, "", "1 chunks stand nowhere in their documents after the chunk before them .*'not in there'"),
        (ENDLESS, "", "wrote more than .* bytes and was stopped"),
    ],
)
def test_a_chunker_that_crashes_loops_or_returns_text_that_is_not_there(
    program: str, options: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.chunkers.command._MOST_BYTES", 1 << 16)
    call = f"command({shlex.join([sys.executable, '-c', program])!r}{options})"
    code, record = run("chunk", folder_of(tmp_path / "in"), "--chunker", call, "--out", tmp_path / "out")
    assert code == 3
    assert record["error"]["kind"] == "ContractError"
    assert re.search(said, record["error"]["message"]), record
    assert not (tmp_path / "out").exists()


def crashing(method: str) -> Any:
    def fails(self: Any, given: Any) -> Any:
        raise ValueError("out of ink")

    return type("Crashing", (), {"name": "crashing", "__annotations__": {"name": ClassVar[str]}, method: fails})()


@pytest.mark.parametrize(
    ("method", "place"),
    [("spans", "document 0"), ("pieces", "document 0"), ("spans_of", "these documents"), ("chosen", "these passages")],
)
def test_a_chunker_in_this_process_that_crashes(method: str, place: str, tmp_path: Path) -> None:
    own = package.open(folder_of(tmp_path)).passages.spans
    with pytest.raises(ContractError, match=f"crashing failed on {place}: ValueError: out of ink; this is an error"):
        chunked(crashing(method), Texts.of([TEXT]), own=own)


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_a_crash_that_is_not_the_chunkers_stays_what_it_is(error: type[BaseException]) -> None:
    class Full:
        name: ClassVar[str] = "full"

        def spans(self, document: str) -> np.ndarray:
            raise error

    with pytest.raises(error):
        chunked(Full(), Texts.of(["a"]))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (lambda coref: coref[1:], r"documents_coref has no text for 1 of 2 chunks \(first: a-0\)"),
        (lambda coref: [*coref, coref[0]], "a-0"),
    ],
)
def test_inlined_texts_of_other_passages(tmp_path: Path, rows: Callable[[list[Any]], list[Any]], said: str) -> None:
    folder = folder_of(tmp_path)
    coref = [{"chunk_id": row["chunk_id"], "chunk": f"Told: {row['chunk']}"} for row in CHUNKS]
    jsonl.write_rows(rows(coref), folder / "documents_coref.jsonl")
    code, record = run("info", folder)
    assert code == 3
    assert re.search(said, record["error"]["message"])
    jsonl.write_rows([*coref, {"chunk_id": "z-0", "chunk": "extra"}], folder / "documents_coref.jsonl")
    code, record = run("info", folder)
    assert code == 0
    assert record["counts"]["inlined texts of unknown chunks left out"] == 1


def test_a_card_whose_counts_are_wrong(tmp_path: Path) -> None:
    code, _ = run("publish", "chunk-level", folder_of(tmp_path / "in"), "--out", tmp_path / "out", "--language", "en")
    assert code == 0
    card = tmp_path / "out" / "README.md"
    card.write_text(card.read_text("utf-8").replace("num_examples: 2", "num_examples: 5"), "utf-8")
    code, record = run("publish", "check", tmp_path / "out")
    wrong = [f for f in record["findings"] if f["verdict"] == "error" and f["check"] == "card/rows"]
    assert (code, record["ok"], len(wrong)) == (1, False, 1)
    assert "5" in wrong[0]["offenders"][0]
    assert "2" in wrong[0]["offenders"][0]


def test_evidence_that_is_not_in_its_document_and_a_query_without_one(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "documents.json").write_text(json.dumps([{"url": "u", "title": "U", "contents": ["<p>a</p>"]}]))
    asked = {"id": "train-0", "url": "u", "scenario": "s", "question": "q", "evidences": ["<p>a</p>"]}
    (raw / "train.json").write_text(json.dumps([asked]))
    for changes, said in (
        ({"evidences": ["<p>b</p>"]}, '<p>b</p>" of example dev-0 is no paragraph of u (1 such'),
        ({"url": "v"}, "there is no document v for example dev-0 (1 such"),
    ):
        (raw / "dev.json").write_text(json.dumps([{**asked, "id": "dev-0", **changes}]))
        code, record = run("build", "conditionalqa", "--raw", raw, "--out", tmp_path / "out")
        assert (code, said in record["error"]["message"]) == (3, True), record
        assert not (tmp_path / "out").exists()
