"""assay build europarl, from a stand-in of the interface to a collection that systems run on."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from assay.cli import build_europarl
from assay.sources import open_collection
from commands import Ended, assay, documented, keys_of, ok, refused
from europarl_stand_in import Fault, Portal, StandIn, quarter

MONTHS = ("--from", "2024-01", "--to", "2024-03", "--context-from", "2023-10")
QUICK = ("--pause", "0", "--wait", "0.001")
LATER_SPLITS = ("--train-until", "2024-01-31", "--dev-until", "2024-02-15")


@pytest.fixture(autouse=True)
def _direct(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.chdir(tmp_path)


def built(stand_in: StandIn, *more: object, out: str = "built", months: tuple[str, ...] = MONTHS) -> Ended:
    return ok("build", "europarl", *months, "--out", out, "--base-url", stand_in.base, *QUICK, *more)


def files_of(folder: str | Path) -> dict[str, bytes]:
    root = Path(folder)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def rows_of(folder: str, file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (Path(folder) / file).read_text().splitlines()]


def test_a_quarter_is_built_rebuilt_offline_and_run() -> None:
    with StandIn(quarter()) as stand_in:
        told = built(stand_in, *LATER_SPLITS, "--json").json
        assert told["fetched"]["folder"] == str(Path("built-fetched").resolve())
        assert told["fetched"]["requests"] == len(stand_in.calls)
        calls = len(stand_in.calls)
        again = ok(
            "build", "europarl", *MONTHS, "--out", "again", "--offline", "built-fetched", *LATER_SPLITS, "--json"
        ).json
        assert len(stand_in.calls) == calls
    assert files_of("again") == files_of("built")
    assert files_of("again-mapping") == files_of("built-mapping")
    assert {**again["fetched"], "requests": 0} == {**told["fetched"], "folder": "built-fetched", "requests": 0}

    queries = {row["_id"]: row for row in rows_of("built", "queries.jsonl")}
    corpus = {row["_id"]: row for row in rows_of("built", "corpus.jsonl")}
    assert {row["split"] for row in queries.values()} == {"train", "dev", "test", None}
    context = {id_ for id_, row in queries.items() if row["split"] is None}
    assert context == {f"E-9-2023-00300{n}" for n in range(8)}
    assert {queries[id_]["answer"] for id_ in context} <= set(corpus)
    assert sorted(corpus["E-9-2024-000001-ASW"]["answers"]) == ["E-9-2024-000001", "E-9-2024-000004", "P-9-2024-000005"]
    # Bare ids, an XHTML page and a PDF alone: question and answer.
    for id_ in ("E-9-2024-000006", "E-9-2024-000007", "E-9-2024-000008", "E-9-2024-000009", "E-9-2024-000010"):
        assert queries[id_]["answer"] == f"{id_}-ASW"
        assert corpus[f"{id_}-ASW"]["text"]
    assert {row["lang"] for row in rows_of("built", "queries_xling.jsonl")} == {"de"}
    assert "\nlanguage:\n- en\n- de\n" in Path("built/README.md").read_text("utf-8")

    collection = open_collection("built")
    assert {"answer", "precedent"} <= set(collection.tasks)
    results = ok("run", "built/answer", "--system", "bm25", "--resamples", "100", "--json").json["results"]
    assert results[0]["counts"]["queries"] > 10
    assert ok("run", "built/precedent", "--resamples", "100", "--json").json["results"][0]["counts"]["queries"] > 5
    assert assay("verify", "built").code in (0, 1)


def test_json_holds_the_documented_keys_and_no_others() -> None:
    with StandIn(quarter(40)) as stand_in:
        stand_in.refused = {"E-9-2024-000003"}
        found = set(keys_of(built(stand_in, "--json").json))
    wanted = documented("assay build europarl")
    assert found <= wanted
    assert wanted - found <= {"leaks.examples[].in", "leaks.examples[].text", "leaks.examples[].record"}


def test_what_was_not_to_be_had_stands_in_the_funnel_online_and_offline() -> None:
    with StandIn(quarter(24), Fault("000002_en", 404, times=99), Fault("000004_en", 500, times=99)) as stand_in:
        stand_in.refused = {"E-9-2024-000003"}
        built(stand_in)
    ok("build", "europarl", *MONTHS, "--out", "again", "--offline", "built-fetched")
    funnel = json.loads(Path("built/build_manifest.json").read_text())["funnel"]
    dropped = {why: (drop["count"], drop["examples"]) for why, drop in funnel["fetch"]["dropped"].items()}
    assert dropped == {
        "status 403": (1, ["E-9-2024-000003"]),
        "status 404": (2, ["E-9-2024-000002_en.docx", "E-9-2024-000002_en.pdf"]),
        "status 500": (2, ["E-9-2024-000004_en.docx", "E-9-2024-000004_en.pdf"]),
    }
    assert funnel["texts of questions"]["dropped"]["no text in English"]["count"] == 2
    assert files_of("again") == files_of("built")


def test_nothing_of_the_clock_is_in_a_build(monkeypatch: pytest.MonkeyPatch) -> None:
    portal = quarter(20)
    portal.reply(portal.ask(500, date(2024, 3, 1)), after=365 * 900)
    with StandIn(portal) as stand_in:
        built(stand_in)
    text = Path("built/build_manifest.json").read_text()
    assert str(date.today()) not in text
    assert json.loads(text)["funnel"]["answers read"]["dropped"] == {
        "dated in the future": {"count": 1, "examples": ["E-9-2024-000500-ASW"]}
    }
    assert "E-9-2024-000500-ASW" not in {row["_id"] for row in rows_of("built", "corpus.jsonl")}


def test_a_cache_of_ones_own_serves_several_builds() -> None:
    with StandIn(quarter()) as stand_in:
        built(stand_in, "--cache", "raw", out="one", months=("--from", "2024-01", "--to", "2024-01"))
        calls = len(stand_in.calls)
        built(stand_in, "--cache", "raw", out="two")
        more = len(stand_in.calls) - calls
        stand_in.calls.clear()
        built(stand_in, "--cache", "fresh", out="three")
        assert more < len(stand_in.calls)
    assert not Path("one-fetched").exists()
    assert {path.name for path in Path("raw/files").iterdir()} == {path.name for path in Path("fresh/files").iterdir()}
    # Another order of batches, and the same collection.
    assert rows_of("two", "queries.jsonl") == rows_of("three", "queries.jsonl")
    assert rows_of("two", "corpus.jsonl") == rows_of("three", "corpus.jsonl")


def test_languages_are_those_asked_for_whatever_the_folder_holds() -> None:
    with StandIn(quarter(12)) as stand_in:
        built(stand_in, "--languages", "en", out="english")
        built(stand_in, out="all")
    ok("build", "europarl", *MONTHS, "--out", "again", "--offline", "all-fetched", "--languages", "en")
    assert rows_of("english", "queries_xling.jsonl") == rows_of("again", "queries_xling.jsonl") == []
    assert {row["lang"] for row in rows_of("all", "queries_xling.jsonl")} == {"de"}
    assert json.loads(Path("again/build_manifest.json").read_text())["parameters"]["source"]["languages"] == "en"


def test_removals_leave_out_what_they_name() -> None:
    Path("removals.jsonl").write_text('{"_id": "E-9-2024-000002", "reason": "on request"}\n')
    with StandIn(quarter(12)) as stand_in:
        built(stand_in, "--removals", "removals.jsonl")
    assert "E-9-2024-000002" not in {row["_id"] for row in rows_of("built", "queries.jsonl")}


def test_months_without_questions_leave_nothing_half() -> None:
    with StandIn(quarter(12)) as stand_in:
        base = ("--base-url", stand_in.base, *QUICK)
        for months in (("--from", "2024-05", "--to", "2024-06"), ("--from", "2022-05", "--to", "2022-05")):
            says = refused(
                "build", "europarl", *months, "--out", "empty", *base, code=3, says="so nothing was built; name other"
            )
            assert re.search(r"no question with an English text from 202\d-05-01 to 202\d", says)
        assert not Path("empty").exists()
        assert not Path("empty-mapping").exists()
        only = Portal()
        only.ask(1, date(2024, 5, 6), languages=("de",))
        stand_in.portal, stand_in.files = only, only.files()
        refused(
            "build", "europarl", "--from", "2024-05", "--to", "2024-05", "--out", "empty", "--cache", "other", *base,
            code=3, says=r"\(1 listed for their years, 1 in these months\)",
        )  # fmt: skip
    assert not Path("empty").exists()


def test_an_outage_ends_with_4_and_the_same_command_goes_on() -> None:
    with StandIn(quarter(12), Fault("distribution", 503, times=5, after=9)) as stand_in:
        words = ("build", "europarl", *MONTHS, "--out", "built", "--base-url", stand_in.base, *QUICK)
        ended = assay(*words)
        assert ended.code == 4
        assert ended.err.count("\n") == 1
        assert re.search(
            r"after 5 tries: status 503\. Already in .*built-fetched: 9 of \d+ texts.*goes on from there", ended.err
        )
        assert not Path("built").exists()
        ok(*words)
        built(stand_in, out="whole")
    assert files_of("built") == files_of("whole")


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("--from", "2024-03", "--to", "2024-01"), 2, "--to 2024-01 lies before --from 2024-03"),
        (("--from", "2999-01", "--to", "2999-01"), 2, "2999-01 is not over yet"),
        (("--from", "2003-01", "--to", "2024-01"), 2, "before July 2004"),
        ((*MONTHS, "--train-until", "2024"), 2, "no ISO date"),
        ((*MONTHS, "--train-until", "2024-02-01", "--dev-until", "2024-01-01"), 2, "train ends"),
        ((*MONTHS, "--languages", "en,dee"), 2, "there is no official language 'dee'; did you mean 'de'"),
        ((*MONTHS, "--removals", "none.jsonl"), 3, r"there is no file none\.jsonl"),
        ((*MONTHS, "--offline", "none"), 3, "there is no folder none"),
        ((*MONTHS, "--offline", "here"), 3, r"here holds no fetched\.jsonl"),
        ((*MONTHS, "--offline", "a", "--cache", "b"), 2, "leave one of them out"),
        ((*MONTHS, "--cache", "out"), 2, "lie within each other"),
        ((*MONTHS, "--cache", "out/raw"), 2, "lie within each other"),
        ((*MONTHS, "--cache", "."), 2, "lie within each other"),
        ((*MONTHS, "--cache", "here"), 3, r"here holds other files, and no fetched\.jsonl"),
        ((*MONTHS, "--base-url", "http://example.org"), 2, "not encrypted"),
        ((*MONTHS, "--pause", "0.1"), 2, r"is owed 0\.7 seconds"),
        ((*MONTHS, "--pause", "-1"), 2, "--pause"),
    ],
)
def test_wrong_requests_are_told_before_anything_is_asked(words: tuple[str, ...], code: int, says: str) -> None:
    Path("here").mkdir()
    Path("here/mine.txt").write_text("mine")
    refused("build", "europarl", "--out", "out", *words, code=code, says=says)
    assert {path.name for path in Path().iterdir()} == {"here"}


def test_a_folder_of_others_is_refused_before_hours_of_fetching() -> None:
    Path("out").mkdir()
    Path("out/mine.txt").write_text("mine")
    with StandIn(quarter(12)) as stand_in:
        words = ("build", "europarl", *MONTHS, "--out", "out", "--base-url", stand_in.base, *QUICK)
        refused(*words, code=3, says="out holds other files")
        assert stand_in.calls == []


def test_the_command_asks_where_the_client_asks() -> None:
    from assay.sources.europarl.client import BASE

    assert build_europarl.BASE == BASE
