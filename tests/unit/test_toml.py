"""Declared collections: the documented example, strict keys, errors with places."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from assay.errors import AssayError, DuplicateIdError, FormatError, UnknownIdError, UnknownNameError
from assay.formats import jsonl
from assay.harness import retrieve
from assay.sources import open_collection, toml

DOCS = Path(__file__).resolve().parents[2] / "docs" / "collection-formats.md"


def example() -> str:
    blocks = re.findall(r"```toml\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert len(blocks) == 1
    return blocks[0]


PASSAGES: list[dict[str, Any]] = [
    {
        "key": "p1",
        "body": "four",
        "inlined": "the four",
        "page": "a",
        "from": 0,
        "to": 4,
        "heading": "A",
        "published": "2020-01-01",
        "replies_to": "q1",
    },
    {
        "key": "p2",
        "body": "fives",
        "inlined": "fives",
        "page": "a",
        "from": 5,
        "to": 10,
        "heading": "A",
        "published": "2020-02-01",
        "replies_to": ["q1", "q2"],
    },
    {
        "key": "q1",
        "body": "own",
        "inlined": "own",
        "page": "b",
        "from": 0,
        "to": 3,
        "heading": "B",
        "published": None,
        "replies_to": [],
    },
]
QUERIES: list[dict[str, Any]] = [
    {"key": "q1", "question": "one?", "asked": "2020-03-01", "own": "p2", "part": "test", "group": "x", "pages": ["a"], "starts": [3], "ends": [7], "grades": [2], "words": ["r\nfi"]},
    {"key": "q2", "question": "two?", "asked": "2020-01-15", "own": "p2", "part": "dev", "group": "", "pages": ["b"], "starts": [0], "ends": [2], "grades": [1], "words": ["ow"]},
    {"key": "q3", "question": "three?", "asked": "2020-01-15", "own": "", "part": None, "group": "x", "pages": [], "starts": [], "ends": [], "grades": [], "words": []},
]  # fmt: skip


def folder_of(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    jsonl.write_rows(PASSAGES, folder / "texts.jsonl")
    jsonl.write_rows(QUERIES, folder / "questions.jsonl")
    (folder / "dev.qrels").write_text("q2 0 p1 1\n")
    (folder / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tp1\t1\nq1\tp2\t1\n")
    (folder / "assay.toml").write_text(text)
    return folder


def test_the_documented_example_is_a_collection(tmp_path: Path) -> None:
    found = open_collection(folder_of(tmp_path / "set", example()))
    assert (found.layout, found.name, found.licence) == ("toml", "harbour-guides", "CC-BY-4.0")
    assert {name: list(splits) for name, splits in found.tasks.items()} == {
        "fragments": ["test", "dev", "all"],
        "precedent": ["dev", "test", "all"],
    }
    gold, precedent = found.task("fragments"), found.task("precedent")
    assert gold.qrels.triples() == [("q1", "p1", 2), ("q1", "p2", 2)]
    assert gold.measures == ("nDCG@10", "R@100")
    assert gold.views == ("text:plain", "title", "parent", "position", "span")
    assert gold.fragments is not None
    assert gold.fragments.quotes is not None
    assert gold.fragments.quotes.to_list() == ["r\nfi"]
    assert gold.eligibility.unrestricted
    assert gold.mask == ("[MASKED]",)
    assert (precedent.views, precedent.depth) == (("text:plain", "link:question"), 50)
    assert precedent.rule == "passage date < question date"
    assert precedent.eligibility.mask(0).tolist() == [True, True, False]
    assert found.task("precedent", split="dev").eligibility.mask(0).tolist() == [True, False, False]
    assert precedent.qrels.triples() == [("q1", "p1", 1), ("q1", "p2", 1)]
    assert found.passages.texts["coref"].to_list() == ["the four", "fives", "own"]
    assert found.passages[0] == ("p1", "four", "A", "a", "2020-01-01")
    assert {kind: pairs.tolist() for kind, pairs in found.tied.items()} == {"group": [[0, 2]], "joint_answer": [[0, 1]]}
    assert precedent.ties is not None
    assert precedent.ties.tolist() == [0, 0, 0]
    assert found.counts["undated passages"] == 1
    assert found.counts["queries without a split"] == 1
    assert open_collection(tmp_path / "set" / "assay.toml").digest == found.digest


def test_the_documented_keys_are_the_keys() -> None:
    text = DOCS.read_text().partition("| section | required | optional |")[2]
    for kind, keys in toml._KEYS.items():
        section = {"": "top", "task": "`tasks.NAME`", "view": "`queries.views.NAME`"}.get(kind, f"`{kind}`")
        row = next(line for line in text.splitlines() if line.startswith(f"| {section} |"))
        assert set(re.findall(r"`(\w+)`", row.split("|", 2)[2])) == set(keys), kind


def test_a_declaration_goes_before_a_guess(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "set", example())
    jsonl.write_rows([], folder / "corpus.jsonl")
    jsonl.write_rows([], folder / "queries.jsonl")
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("")
    assert open_collection(folder).layout == "toml"


def test_views_of_a_task_are_only_those_named(tmp_path: Path) -> None:
    text = example().replace('views = ["text:plain", "link:question"]', 'views = ["text:coref"]')
    assert open_collection(folder_of(tmp_path / "set", text)).task("precedent").views == ("text:coref",)


@pytest.mark.parametrize(
    ("old", "new", "error", "said"),
    [
        (
            'licence = "CC',
            'license = "CC',
            UnknownNameError,
            "assay.toml: there is no key 'license'; did you mean 'licence'?",
        ),
        (
            'date = "published"',
            'dates = "published"',
            UnknownNameError,
            "assay.toml [passages]: there is no key 'dates'; did you mean 'date'",
        ),
        (
            'date = "published"',
            'date = "publishd"',
            UnknownNameError,
            "assay.toml [passages], texts.jsonl: there is no column 'publishd'; did you mean 'published'",
        ),
        ('id = "key"', 'id = "ky"', FormatError, "texts.jsonl:1 $.ky: missing"),
        (
            'as_of = "query"',
            'as_of = "querry"',
            UnknownNameError,
            "assay.toml [tasks.precedent]: there is no as-of rule 'querry'; did you mean 'query'",
        ),
        (
            '"link:question"]',
            '"link:questions"]',
            UnknownNameError,
            "assay.toml [tasks.precedent] views: there is no view 'link:questions'",
        ),
        (
            "depth = 50",
            'depth = "50"',
            FormatError,
            "assay.toml [tasks.precedent] depth: expected a whole number, got '50'",
        ),
        (
            "depth = 50",
            "depth = true",
            FormatError,
            "assay.toml [tasks.precedent] depth: expected a whole number, got True",
        ),
        ('gold = "any"', 'gold = "some"', AssayError, "there is no gold rule 'some'"),
        ('gold = "any"', "", FormatError, "assay.toml [tasks.fragments]: say either qrels (files) or gold"),
        (
            '"texts.jsonl"',
            '"text.jsonl"',
            FormatError,
            "assay.toml [passages] files: there is no file or table text.jsonl",
        ),
        (
            '"texts.jsonl"',
            '"../x.jsonl"',
            FormatError,
            "assay.toml [passages] files: ../x.jsonl lies outside the folder",
        ),
        (
            '"dev.qrels"',
            '"de.qrels"',
            FormatError,
            "assay.toml [tasks.precedent] qrels.dev: there is no file 'de.qrels'",
        ),
        ('start = "from"\n', "", FormatError, "assay.toml [passages]: document, end without the others"),
        ('start = "starts"\n', "", FormatError, "assay.toml [fragments]: start missing"),
        (
            'columns = ["group"]',
            'columns = ["groups"]',
            UnknownNameError,
            "assay.toml [ties]: there is no column 'groups'; did you mean 'group'",
        ),
        ('text = "body"', "", FormatError, "assay.toml [passages]: text is missing"),
        ('date = "asked"', "", FormatError, "assay.toml [tasks.precedent] as_of: [queries] names no date"),
        ("[queries]", "[query]", UnknownNameError, "assay.toml: there is no key 'query'; did you mean 'queries'"),
        ('name = "h', "name = h", FormatError, "assay.toml: not TOML"),
    ],
)
def test_a_slip_is_named(tmp_path: Path, old: str, new: str, error: type[Exception], said: str) -> None:
    assert old in example()
    with pytest.raises(error) as caught:
        open_collection(folder_of(tmp_path / "set", example().replace(old, new, 1)))
    assert said in str(caught.value)


def test_passages_without_documents_may_have_titles(tmp_path: Path) -> None:
    declared = tomllib.loads(example())
    assert declared["passages"]["title"] == "heading"
    text = '[passages]\nfiles = "texts.jsonl"\nid = "key"\ntext = "body"\ntitle = "heading"\n'
    text += (
        '[queries]\nfiles = "questions.jsonl"\ntext = "question"\n[tasks.t]\nqrels = "rows.qrels"\nas_of = "answer"\n'
    )
    folder = folder_of(tmp_path / "set", text)
    (folder / "rows.qrels").write_text("0 0 p1 1\n")
    with pytest.raises(FormatError, match=r"as_of: \[passages\] names no date"):
        open_collection(folder)
    (folder / "assay.toml").write_text(text.replace('as_of = "answer"\n', ""))
    found = open_collection(folder)
    assert found.name == "set"
    assert found.task().views == ("text:plain", "title")
    assert found.task().qrels.triples() == [("0", "p1", 1)]
    assert found.passages[0].title == "A"
    assert list(found.queries.ids) == ["0", "1", "2"]


def test_the_limit_may_be_the_own_answer(tmp_path: Path) -> None:
    text = example().replace('as_of = "query"', 'as_of = "answer"')
    task = open_collection(folder_of(tmp_path / "set", text)).task("precedent")
    assert task.eligibility.mask(0).tolist() == [True, False, False]
    with pytest.raises(FormatError, match="names no answer"):
        open_collection(folder_of(tmp_path / "set", text.replace('answer = "own"', "")))


# ---------------------------------------------------------------- queries in another language


CROSSED = """
[passages]
files = "texts.jsonl"
id = "key"
text = "body"
document = "page"
start = "from"
end = "to"

[queries]
files = "questions.jsonl"
id = "key"
text = "question"

[queries.views]
upper = { files = "other.jsonl", id = "name", text = "asks" }

[fragments]
document = "pages"
start = "starts"
end = "ends"

[tasks.own]
gold = "any"

[tasks.other]
gold = "any"
query_view = "upper"
"""
OTHER = [{"name": row["key"], "asks": row["question"].upper()} for row in reversed(QUERIES)]


def crossed_of(folder: Path, others: list[dict[str, Any]], text: str = CROSSED) -> Path:
    folder_of(folder, text)
    jsonl.write_rows(others, folder / "other.jsonl")
    return folder


def test_queries_have_further_texts_in_tables_of_their_own(tmp_path: Path) -> None:
    place = crossed_of(tmp_path / "set", [{"name": "q9", "asks": "WHO?"}, *OTHER])
    found = open_collection(place)
    assert found.queries.texts["upper"].to_list() == ["ONE?", "TWO?", "THREE?"]
    assert found.counts["texts of queries in view 'upper' left out, of no query here"] == 1
    own, other = found.task("own"), found.task("other")
    assert list(own.qrels.queries) == list(other.qrels.queries) == ["q1", "q2"]
    assert (own.query_view, other.query_view) == ("plain", "upper")
    assert "other.jsonl" in found.files
    # A word of the table alone finds its passage only where systems are handed that text.
    shouted = [{**row, "asks": {"q1": "fives", "q2": "own"}.get(row["name"], "")} for row in OTHER]
    told = open_collection(crossed_of(tmp_path / "told", shouted))
    assert told.digest != found.digest
    found_by = {name: [row[:2] for row in retrieve(told.task(name), "bm25").triples()] for name in ("own", "other")}
    assert found_by == {"own": [], "other": [("q1", "p2"), ("q2", "q1")]}


@pytest.mark.parametrize(
    ("change", "others", "kind", "says"),
    [
        ({}, OTHER[1:], UnknownIdError, r"views.upper: other.jsonl has no text for 1 of 3 queries \(first: q3\)"),
        ({}, [*OTHER, OTHER[0]], DuplicateIdError, "q3"),
        ({'text = "asks"': 'text = "aks"'}, OTHER, FormatError, "aks"),
        ({', text = "asks"': ""}, OTHER, FormatError, "views.upper: text is missing; say files, id, text"),
        ({"files = \"other": "flies = \"other"}, OTHER, UnknownNameError, "did you mean 'files'"),
        ({"other.jsonl": "gone.jsonl"}, OTHER, FormatError, "views.upper files: there is no file or table gone.jsonl"),
        ({'{ files = "other.jsonl", id = "name", text = "asks" }': "3"}, OTHER, FormatError, "views.upper: expected a col"),
        ({'end = "to"': 'end = "to"\nviews = { x = { files = "a" } }'}, OTHER, FormatError, r"\[passages\] views.x: expected a c"),
    ],
)  # fmt: skip
def test_tables_of_further_texts_that_cannot_be_used(
    change: dict[str, str], others: list[dict[str, Any]], kind: type[Exception], says: str, tmp_path: Path
) -> None:
    text = CROSSED
    for old, new in change.items():
        assert old in text
        text = text.replace(old, new)
    with pytest.raises(kind, match=says):
        open_collection(crossed_of(tmp_path / "set", others, text))
