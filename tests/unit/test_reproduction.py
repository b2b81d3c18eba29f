"""Reproductions: the numbers that are shipped, what runs of them here, and what a row says where nothing does."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay import catalog
from assay.errors import AssayError, FileError, FormatError, UnavailableError, UnknownNameError, UsageError
from assay.experiment import Judging
from assay.outcome import result_of
from assay.reports.outcomes import reproduced_record, reproduced_tables
from assay.reproduction import (
    Publication,
    Published,
    Verdict,
    publication_of,
    publications,
    reproduce,
)
from assay.sources import chunk_level, open_collection
from commands import assay as command
from commands import documented, keys_of, ok, refused

CHUNKS = Published("demo:chunks", "passages", "test", "RR@10", 0.7019, ("bm25",), queries=146)


def mine(*numbers: Published, **changes: Any) -> Publication:
    return Publication("mine", "Mine", numbers, **changes)


def one(number: Published, **changes: Any) -> tuple[Verdict, str]:
    [checked] = reproduce(mine(number, **changes)).checked
    return checked.verdict, checked.attempts[0].reason


# ---------------------------------------------------------------- what is shipped


def test_the_built_in_collections_give_what_is_pinned() -> None:
    record = ok("reproduce", "demo", "--json").json
    assert record["outside"] == record["not_run"] == record["another_collection"] == 0
    assert record["inside"] == len(record["numbers"]) == 33
    assert {n["collection"] for n in record["numbers"]} == {"demo:chunks", "demo:questions"}
    assert max(abs(s["difference"]) for n in record["numbers"] for s in n["systems"]) <= 5e-7


@pytest.mark.parametrize("name", publications())
def test_what_is_shipped_can_be_read_and_its_systems_made(name: str) -> None:
    shipped = publication_of(name)
    assert shipped.title
    assert shipped.source
    for number in shipped.numbers:
        assert number.split == "test"
        assert number.queries > 0
        assert round(number.value, shipped.digits) == number.value
        assert bool(number.systems) != bool(number.cannot)
        for call in number.systems:
            try:
                catalog.system(call)
            except UnavailableError:
                assert number.gpu


def test_the_published_numbers() -> None:
    parlir = publication_of("parlir")
    assert (parlir.collection, parlir.passages) == ("parlir@v1.0", 76_536)
    found = {(n.task, n.measure, n.value) for n in parlir.numbers}
    assert {value for task, measure, value in found if (task, measure) == ("answer", "RR@10")} == {
        *(0.547, 0.525, 0.714, 0.989, 0.76),
    }
    assert {value for task, measure, value in found if (task, measure) == ("precedent", "R@10")} == {
        *(0.534, 0.585, 0.632, 0.712, 0.725),
    }
    [dragon] = publication_of("conditionalqa").numbers
    assert (dragon.task, dragon.measure, dragon.value) == ("passages", "nDCG@10", 0.21796)


def test_without_hub_or_gpu_every_row_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name in ("parlir", "conditionalqa"):
        record = ok("reproduce", name, "--json").json
        assert record["not_run"] == len(record["numbers"])
        for number in record["numbers"]:
            assert number["verdict"] == "not run"
            assert all(s["reason"] and s["found"] is None and s["difference"] is None for s in number["systems"])
    shown = ok("reproduce", "parlir").out
    assert "10 numbers: 0 inside, 0 outside, 0 another collection, 10 not run" in shown
    assert "a GPU, a model of the hub, about 2 hours" in shown
    # Six presets of BM25, and as many of question matching, for one reason.
    assert re.search(r"12 systems, bm25 first: .*is not in the cache", shown)


def test_conditionalqa_says_how_to_get_the_collection() -> None:
    number = replace(publication_of("conditionalqa").numbers[0], systems=("bm25",), gpu=False)
    [checked] = reproduce(replace(publication_of("conditionalqa"), numbers=(number,))).checked
    assert checked.attempts[0].reason == (
        "needs the collection: assay build dapr --subset ConditionalQA --out FOLDER, then --collection"
    )


# ---------------------------------------------------------------- verdicts


def test_inside_the_interval_as_far_as_it_was_rounded() -> None:
    task = open_collection("demo:chunks").task()
    made, _ = result_of((open_collection("demo:chunks"), task), catalog.system("bm25"), judging=Judging(("RR@10",)))
    low, high = made.scores[0].interval.low, made.scores[0].interval.high
    for value, digits, verdict in (
        (low, 6, Verdict.INSIDE),
        (high, 6, Verdict.INSIDE),
        (low - 0.0004, 3, Verdict.INSIDE),
        (low - 0.0006, 3, Verdict.OUTSIDE),
        (high + 0.0004, 3, Verdict.INSIDE),
        (high + 0.0006, 3, Verdict.OUTSIDE),
    ):
        assert one(replace(CHUNKS, value=value), digits=digits) == (verdict, "")


def test_within_the_tolerance() -> None:
    assert one(CHUNKS, tolerance=0.00005)[0] is Verdict.INSIDE
    assert one(replace(CHUNKS, value=0.70), tolerance=0.00005)[0] is Verdict.OUTSIDE


def test_one_of_several_systems_is_enough() -> None:
    number = replace(CHUNKS, value=0.8, systems=("bm25", "bm25('english')", "bm52"))
    publication = mine(number)
    [checked] = reproduce(publication).checked
    assert [a.verdict for a in checked.attempts] == [Verdict.OUTSIDE, Verdict.OUTSIDE, Verdict.NOT_RUN]
    assert checked.verdict is Verdict.OUTSIDE
    [checked] = reproduce(replace(publication, numbers=(replace(number, value=0.75),))).checked
    assert [a.verdict for a in checked.attempts] == [Verdict.INSIDE, Verdict.OUTSIDE, Verdict.NOT_RUN]
    assert checked.verdict is Verdict.INSIDE


def test_another_collection_is_no_failure() -> None:
    verdict, reason = one(replace(CHUNKS, value=0.1, queries=271))
    assert (verdict, reason) == (Verdict.OTHER, "146 queries here, 271 there")
    verdict, reason = one(replace(CHUNKS, value=0.1), passages=69_199)
    assert (verdict, reason) == (Verdict.OTHER, "481 passages here, 69,199 there")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"systems": ("bm52",)}, "not available in this version: there is no system 'bm52'; did you mean 'bm25'"),
        ({"systems": ("bm25(k9=1)",)}, "not available in this version: there is no parameter of bm25 'k9'"),
        ({"systems": ("command('no-such-program {passages} {queries} {run}')",)}, "no program 'no-such-program'"),
        ({"task": "answer"}, "no task of demo:chunks 'answer'"),
        ({"split": "dev"}, "no split of demo:chunks/passages 'dev'"),
        ({"systems": ("question_matching(bm25)",)}, "link:question"),
        ({"systems": (), "cannot": "reads dates"}, "reads dates"),
    ],
)
def test_a_row_that_cannot_run_says_why(changes: dict[str, Any], says: str) -> None:
    verdict, reason = one(replace(CHUNKS, **changes))
    assert verdict is Verdict.NOT_RUN
    assert says in reason


def test_a_system_is_run_once_for_all_its_measures(tmp_path: Path) -> None:
    numbers = (CHUNKS, replace(CHUNKS, measure="nDCG@10", value=0.698), replace(CHUNKS, measure="MRR@10"))
    lines: list[str] = []
    found = reproduce(mine(*numbers), out=tmp_path, told=lines.append)
    assert [c.verdict for c in found.checked] == [Verdict.INSIDE] * 3
    assert len(list(tmp_path.rglob("spec.json"))) == 1
    assert lines[:2] == ["1 of 3: RR@10 0.7019 on passages", "reading demo:chunks"]
    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*.parquet")}
    assert reproduced_record(reproduce(mine(*numbers), out=tmp_path)) == reproduced_record(found)
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*.parquet")} == before


def test_the_collection_may_lie_elsewhere(tmp_path: Path) -> None:
    chunk_level.save(open_collection("demo:chunks"), tmp_path / "own")
    [checked] = reproduce(mine(CHUNKS), collection=str(tmp_path / "own")).checked
    assert (checked.collection, checked.verdict) == (str(tmp_path / "own"), Verdict.INSIDE)
    with pytest.raises(UsageError, match="no such file or folder"):
        reproduce(mine(CHUNKS), collection=str(tmp_path / "none"))
    with pytest.raises(UsageError, match="on several collections; leave --collection out"):
        reproduce("demo", collection="demo:chunks")


def test_the_table_shows_expected_found_and_difference() -> None:
    [table] = reproduced_tables(reproduce(mine(CHUNKS, digits=4, source="here")))
    assert table.headings == ("task", "measure", "system", "expected", "found", "difference", "verdict")
    [row] = table.rows
    assert row[:4] == ("passages", "RR@10", "bm25", "0.7019")
    assert re.fullmatch(r"0\.7019 \[0\.\d{4}, 0\.\d{4}\]", row[4])
    assert row[5:] == ("-0.0000", "inside")
    assert table.title == "Mine on demo:chunks"
    assert table.notes[:3] == (
        "1 numbers: 1 inside, 0 outside, 0 another collection, 0 not run",
        "inside: the published value, as it was rounded, lies in the interval of what was found",
        "source: here",
    )


# ---------------------------------------------------------------- files of one's own

NUMBER = '[[number]]\ncollection = "demo:chunks"\nmeasure = "RR@10"\nvalue = 0.7019\nsystems = "bm25"\n'


def test_numbers_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("tolerance = 0.0001\n" + NUMBER + "hours = 1\n")
    record = ok("reproduce", path, "--json").json
    assert (record["reproduction"], record["inside"]) == ("mine", 1)
    assert set(keys_of(record)) == documented("assay reproduce")
    path.write_text("tolerance = 0.0001\n" + NUMBER.replace("0.7019", "0.6"))
    ended = command("reproduce", path)
    assert (ended.code, ended.err) == (1, "")
    assert "OUTSIDE" in ended.out


WRONG = [
    ("", FormatError, "there is no [[number]]"),
    ("number = [", FormatError, "not TOML"),
    ("titel = 'x'\n" + NUMBER, UnknownNameError, "did you mean 'title'"),
    ("digits = 1.5\n" + NUMBER, FormatError, "digits: expected a whole number"),
    (NUMBER + "valu = 1", UnknownNameError, "[[number]] 1: there is no key 'valu'; did you mean 'value'"),
    (NUMBER + "gpu = 1", FormatError, "[[number]] 1 gpu: expected true or false"),
    (NUMBER + "cannot = 'x'", FormatError, "[[number]] 1: say either systems (calls) or cannot"),
    (NUMBER + NUMBER.replace("systems", "note"), FormatError, "[[number]] 2: say either systems"),
    (NUMBER.replace("value = 0.7019", ""), FormatError, "[[number]] 1: value is missing"),
    (NUMBER.replace('measure = "RR@10"', ""), FormatError, "[[number]] 1: measure is missing"),
    (NUMBER.replace("0.7019", "'0.7'"), FormatError, "[[number]] 1 value: expected a number"),
    (NUMBER.replace("RR@10", "nDGC@10"), UnknownNameError, "[[number]] 1 measure: there is no measure 'nDGC'"),
    (NUMBER.replace('"bm25"', "[1]"), FormatError, "[[number]] 1 systems: expected a text or a list of texts"),
]


@pytest.mark.parametrize(("text", "kind", "says"), WRONG, ids=[says for _, _, says in WRONG])
def test_what_is_wrong_is_named(text: str, kind: type[AssayError], says: str, tmp_path: Path) -> None:
    (tmp_path / "n.toml").write_text(text)
    with pytest.raises(kind) as caught:
        publication_of(str(tmp_path / "n.toml"))
    assert says in str(caught.value)
    assert str(caught.value).startswith("n.toml")


def test_unknown_publications(tmp_path: Path) -> None:
    refused("reproduce", "parlr", code=2, says="no reproduction 'parlr'; did you mean 'parlir'")
    with pytest.raises(FileError):
        publication_of(str(tmp_path / "none.toml"))
