"""ConditionalQA as DAPR makes it: raw files of our own with every trap, and the real partial corpus."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from assay.building.tags import without_any_tag, without_html_tags
from assay.errors import DuplicateIdError, FileError, FormatError, UnknownNameError, UsageError
from assay.sources import conditionalqa, open_collection

PUBLISHED_DOCUMENTS = ["chunk_id", "chunk", "source_url", "title", "chunk_idx", "chunk_start_char", "chunk_end_char"]
PUBLISHED_QUERIES = [
    "original_query",
    "query",
    "answer",
    "score",
    "source_url",
    "frag_start_char",
    "frag_end_char",
    "n_gold",
]
HARBOUR, MARKET = "https://example.org/harbour", "https://example.org/market"
DOCUMENTS: list[dict[str, Any]] = [
    {
        "url": HARBOUR,
        "title": "Harbour <dues>",
        "contents": [
            "<h1>Dues</h1>",
            "<p>Boats &amp; barges pay</p>",
            "<p></p>",
            "<li>If income < 100 and savings > 50 pounds, ask.</li>",
            "<p>Boats &amp; barges pay</p>",
            "<p> Größe 😀 counts. </p>",
        ],
    },
    {"url": MARKET, "title": "Market", "contents": ["<p>Stalls open at six.</p>"]},
]


def example(id_: str, *evidences: str, url: str = HARBOUR) -> dict[str, Any]:
    return {
        "id": id_,
        "url": url,
        "scenario": f"I am {id_}. ",
        "question": "What do I pay?",
        "answers": [],
        "not_answerable": not evidences,
        "evidences": list(evidences),
    }


TRAIN = [
    example("train-0", "<p> Größe 😀 counts. </p>", "<h1>Dues</h1>", "<h1>Dues</h1>"),
    example("train-1"),
    example("train-2", "<p>Stalls open at six.</p>", url=MARKET),
    example("train-3", "<p></p>"),
]
DEV = [
    example("dev-0", "<p>Boats &amp; barges pay</p>"),
    example("dev-1", "<li>If income < 100 and savings > 50 pounds, ask.</li>"),
]


def folder_of(folder: Path, *, documents: Any = None, train: Any = None, dev: Any = None) -> Path:
    folder.mkdir(exist_ok=True)
    found = {"documents": documents or DOCUMENTS, "train": train or TRAIN, "dev": dev or DEV}
    for name, value in found.items():
        (folder / f"{name}.json").write_text(json.dumps(value), "utf-8")
    return folder


def rows_of(path: Path) -> list[dict[str, Any]]:
    # Lines end at \n alone: a text may hold U+2028.
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def test_documents_and_passages_are_those_of_the_file(tmp_path: Path) -> None:
    found = conditionalqa.load(folder_of(tmp_path / "raw"))
    passages = found.passages
    assert list(passages.ids) == ["0-0", "0-1", "0-2", "0-3", "0-4", "0-5", "1-0"]
    assert passages.texts["plain"].to_list() == [
        "Dues",
        "Boats &amp; barges pay",
        "",
        "If income  50 pounds, ask.",
        "Boats &amp; barges pay",
        "Größe 😀 counts.",
        "Stalls open at six.",
    ]
    assert passages.spans is not None
    # Dues 0-4, barges 5-27, nothing at 28, the eaten sentence 29-55, barges 56-78, Größe 79-94.
    assert passages.spans.start.tolist() == [0, 5, 28, 29, 56, 79, 0]
    assert passages.spans.end.tolist() == [4, 27, 28, 55, 78, 94, 19]
    document = "\n".join(passages.texts["plain"].to_list()[:6])
    assert [document[a:b] for a, b in zip([0, 5, 28, 29, 56, 79], [4, 27, 28, 55, 78, 94])] == document.split("\n")
    assert list(passages.parents or ()) == ["0", "1"]
    assert passages.titles is not None
    assert passages.titles.to_list() == ["Harbour <dues>", "Market"]
    assert passages.position is not None
    assert passages.position.tolist() == [0, 1, 2, 3, 4, 5, 0]


def test_gold_is_the_first_copy_and_counted(tmp_path: Path) -> None:
    found = conditionalqa.load(folder_of(tmp_path / "raw"))
    task = found.task("passages", split="all")
    assert task.qrels.triples() == [
        ("train-0", "0-0", 1),
        ("train-0", "0-5", 1),
        ("train-2", "1-0", 1),
        ("dev-0", "0-1", 1),
        ("dev-1", "0-3", 1),
    ]
    # train-3 stays asked: its gold is empty, and nothing can find it.
    assert list(task.qrels.queries) == ["train-0", "train-2", "train-3", "dev-0", "dev-1"]
    assert task.fragments is not None
    assert task.fragments.quotes is not None
    assert task.fragments.quotes.to_list() == [
        "Dues",
        "Größe 😀 counts.",
        "Stalls open at six.",
        "",
        "Boats &amp; barges pay",
        "If income  50 pounds, ask.",
    ]
    assert {name: number for name, number in found.counts.items() if number} == {
        "documents": 2,
        "chunks": 7,
        "chunks with an empty text": 1,
        "chunks that the two cleaners read differently": 1,
        "examples without evidence, left out": 1,
        "evidences": 7,
        "evidences of a passage that another evidence names too": 1,
        "gold passages whose text stands again in their document, first copy taken": 1,
        "queries": 5,
        "gold fragments empty after cleaning, which nothing can find": 1,
        "gold fragments": 6,
        "gold fragments in no chunk": 1,
        "gold fragments in one chunk": 5,
        "gold fragments of zero length": 1,
    }
    assert found.manifest["cleaners_differ"] == ["0-3"]


def test_queries_and_splits(tmp_path: Path) -> None:
    found = conditionalqa.load(folder_of(tmp_path / "raw"))
    # Raw, unstripped: the scenario ends in a blank, and one more joins.
    assert found.queries.texts["plain"][0] == "I am train-0.  What do I pay?"
    labelled = ["train-0", "train-2", "train-3"]
    dev = random.Random(42).sample(labelled, 2)
    splits = dict(zip(found.queries.ids, found.queries.columns["split"]))
    assert {id_ for id_, split in splits.items() if split == "dev"} == set(dev)
    assert [id_ for id_, split in splits.items() if split == "test"] == ["dev-0", "dev-1"]
    assert [id_ for id_, split in splits.items() if split == "train"] == [id_ for id_ in labelled if id_ not in dev]
    with pytest.raises(FormatError, match="2 test queries and 1 labelled train queries"):
        conditionalqa.load(folder_of(tmp_path / "few", train=TRAIN[:2]))


def test_case_C06(tmp_path: Path) -> None:
    """`<.*?>` eats what stands between two signs; the careful cleaner takes known tags alone."""
    raw = "You qualify if income < 100 and savings > 50 pounds."
    assert without_any_tag(raw) == "You qualify if income  50 pounds."
    assert without_html_tags(raw) == raw
    found = conditionalqa.load(folder_of(tmp_path / "raw"), cleaner="careful")
    assert found.passages.texts["plain"][3] == "If income < 100 and savings > 50 pounds, ask."
    assert found.passages.texts["plain"][2] == ""
    assert found.manifest["cleaners_differ"] == ["0-3"]
    assert found.counts["gold fragments empty after cleaning, which nothing can find"] == 1
    with pytest.raises(UnknownNameError, match="no cleaner 'carefull'; did you mean 'careful'"):
        conditionalqa.load(tmp_path / "raw", cleaner="carefull")


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("<a href=\"x>y\" class='b'>go</a><br/>", "go"),
        ("<TD colspan=2>1 < 2</TD>", "1 < 2"),
        ("keep <b and c> d", "keep <b and c> d"),
        ("<pp>stay</pp> &lt;p&gt;", "<pp>stay</pp> &lt;p&gt;"),
        ("<p\n>over lines</p>", "over lines"),
        ("a <", "a <"),
    ],
)
def test_the_careful_cleaner_knows_a_tag(raw: str, text: str) -> None:
    assert without_html_tags(raw) == text


def changed(examples: list[dict[str, Any]], at: int, **changes: Any) -> list[dict[str, Any]]:
    found = copy.deepcopy(examples)
    found[at] = {key: value for key, value in {**found[at], **changes}.items() if value is not None}
    return found


@pytest.mark.parametrize(
    ("files", "error", "said"),
    [
        ({"dev": changed(DEV, 0, evidences=["<p>Dues</p>"])}, FormatError, r"dev\.json \$\[0\]\.evidences: .*<p>Dues</p>.* of example dev-0 is no paragraph of https://example\.org/harbour \(1 such"),
        ({"dev": changed(DEV, 1, url="https://example.org/x")}, FormatError, r"dev\.json \$\[1\]\.url: there is no document https://example\.org/x for example dev-1 \(1 such"),
        ({"documents": [*DOCUMENTS, DOCUMENTS[0]]}, DuplicateIdError, r"https://example\.org/harbour is the url of documents 0, 2; one is meant"),
        ({"dev": changed(DEV, 0, evidences="<h1>Dues</h1>")}, FormatError, r"dev\.json \$\[0\]\.evidences: expected a list of texts"),
        ({"dev": changed(DEV, 0, question=None)}, FormatError, r"dev\.json \$\[0\]\.question: expected text, got nothing"),
        ({"documents": changed(DOCUMENTS, 1, contents=["a", 1])}, FormatError, r"documents\.json \$\[1\]\.contents: expected a list of texts"),
        ({"documents": changed(DOCUMENTS, 1, contents=["a", "b\ud83d"])}, FormatError, r"documents\.json \$\[1\]\.contents\[1\]: a lone surrogate \(U\+D83D\) at character 1"),
        ({"train": {"a": 1}}, FormatError, r"train\.json: expected a list of objects"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path: Path, files: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        conditionalqa.load(folder_of(tmp_path / "raw", **files))


def test_case_D03_an_example_with_two_texts(tmp_path: Path) -> None:
    dev = changed(DEV, 1, id="train-2")
    with pytest.raises(
        DuplicateIdError,
        match=r"query id train-2 appears at train\.json \$\[2\] and dev\.json \$\[1\] with different text",
    ):
        conditionalqa.load(folder_of(tmp_path / "raw", dev=dev))


def test_files_that_are_missing_or_no_json(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "raw")
    (folder / "dev.json").write_text("[{]")
    with pytest.raises(FormatError, match=r"dev\.json: not JSON"):
        conditionalqa.load(folder)
    (folder / "dev.json").unlink()
    with pytest.raises(UsageError, match=r"raw lacks dev\.json; looked for: documents\.json"):
        conditionalqa.load(folder)


def test_saved_in_the_published_columns_and_byte_identical(tmp_path: Path) -> None:
    found = conditionalqa.load(folder_of(tmp_path / "raw"))
    conditionalqa.save(found, tmp_path / "one")
    conditionalqa.save(conditionalqa.load(tmp_path / "raw"), tmp_path / "two")
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == ["build_manifest.json", "documents.parquet", "queries.parquet"]
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name
    documents, queries = (pq.read_table(tmp_path / "one" / f"{name}.parquet") for name in ("documents", "queries"))
    assert documents.column_names == PUBLISHED_DOCUMENTS
    assert queries.column_names == ["query_id", *PUBLISHED_QUERIES, "split"]
    assert queries.slice(0, 1).to_pylist() == [
        {
            "query_id": "train-0",
            "original_query": "I am train-0.  What do I pay?",
            "query": "I am train-0.  What do I pay?",
            "answer": ["Dues", "Größe 😀 counts."],
            "score": [1, 1],
            "source_url": ["0", "0"],
            "frag_start_char": [0, 79],
            "frag_end_char": [4, 94],
            "n_gold": 2,
            "split": found.queries.columns["split"][0],
        }
    ]
    assert str(queries.schema.field("answer").type) == "list<element: string>"


def test_what_was_saved_is_the_collection(tmp_path: Path) -> None:
    found = conditionalqa.load(folder_of(tmp_path / "raw"))
    conditionalqa.save(found, tmp_path / "built")
    again = open_collection(tmp_path / "built")
    assert again.layout == "chunk-level"
    assert again.passages.ids == found.passages.ids
    assert again.passages.texts == found.passages.texts
    assert again.licence == "BSD-2-Clause AND OGL-UK-3.0"
    assert again.manifest["attribution"].startswith("Contains public sector information")
    assert again.queries.columns["answer"] == found.queries.columns["answer"]
    for split, task in found.tasks["passages"].items():
        assert again.task("passages", split=split).qrels.triples() == task.qrels.triples()


def test_the_folder_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    found = conditionalqa.load(folder_of(tmp_path / "raw"))
    other = tmp_path / "other"
    other.mkdir()
    (other / "precious.txt").write_text("mine")
    with pytest.raises(FileError, match=r"holds other files, and no build_manifest\.json"):
        conditionalqa.save(found, other)
    assert [path.name for path in other.iterdir()] == ["precious.txt"]
    built = tmp_path / "built"
    conditionalqa.save(found, built)
    (built / "stale.parquet").write_text("")
    conditionalqa.save(found, built)
    assert not (built / "stale.parquet").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["built", "other", "raw"]
    with pytest.raises(FileError, match="is a file where a folder is meant"):
        conditionalqa.save(found, other / "precious.txt")


def test_the_real_partial_corpus(shared_data: Path, tmp_path: Path) -> None:
    found = conditionalqa.load(shared_data / "conditionalqa")
    task = found.task("passages")
    assert (task.split, len(task.qrels.queries), len(task.qrels)) == ("test", 271, 1165)
    assert (found.counts["documents"], found.counts["chunks"]) == (495, 7506)
    assert found.counts["examples without evidence, left out"] == 14
    assert found.counts["gold fragments in one chunk"] == found.counts["gold fragments"] == 1165 + 9106
    assert found.revision == conditionalqa.REVISION
    sizes = {split: len(part.qrels.queries) for split, part in found.tasks["passages"].items()}
    assert sizes == {"train": 1975, "dev": 271, "test": 271, "all": 2517}
    lines = (shared_data / "conditionalqa" / "qrels.test.tsv").read_text().splitlines()
    expected = [(query, passage, int(grade)) for query, _, passage, grade in (line.split("\t") for line in lines)]
    assert sorted(task.qrels.triples()) == sorted(expected)
    labelled = [row["_id"] for row in rows_of(shared_data / "conditionalqa" / "queries.train.jsonl")]
    assert set(found.tasks["passages"]["dev"].qrels.queries) == set(random.Random(42).sample(labelled, 271))


def test_the_real_partial_corpus_saved(shared_data: Path, tmp_path: Path) -> None:
    """Its documents and test queries are, row by row, those of the published columns."""
    conditionalqa.save(conditionalqa.load(shared_data / "conditionalqa"), tmp_path / "built")
    schema = shared_data / "conditionalqa" / "seed_schema"
    documents = rows_of(schema / "documents.jsonl")
    assert pq.read_table(tmp_path / "built" / "documents.parquet").to_pylist() == documents
    queries = {row["query_id"]: row for row in rows_of(schema / "queries.jsonl")}
    built = [
        row for row in pq.read_table(tmp_path / "built" / "queries.parquet").to_pylist() if row.pop("split") == "test"
    ]
    assert [row["query_id"] for row in built] == list(queries)
    for row in built:
        expected = queries[row["query_id"]]
        lists = ("answer", "score", "source_url", "frag_start_char", "frag_end_char")
        assert {k: v for k, v in row.items() if k not in lists} == {k: v for k, v in expected.items() if k not in lists}
        rows, wanted = (sorted(zip(*(found[name] for name in lists))) for found in (row, expected))
        assert rows == wanted
