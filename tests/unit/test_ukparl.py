"""The source of UK written questions, on made-up raw files."""

from __future__ import annotations

import gzip
import json
import os
import re
import sqlite3
import stat
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import assay
from assay.building.assemble import BuildRules, assemble
from assay.building.records import AnswerRecord, QuestionRecord, Records
from assay.errors import AssayError, DuplicateIdError, FileError, FormatError, UnknownNameError
from assay.publishing.question_level import write_build
from assay.sources.ukparl import ATTRIBUTION, records
from assay.sources.ukparl.plain import plain_text
from commands import ok, refused
from ukparl_raw import LONG, MONTH, month, record, written

RULES = BuildRules(train_until=date(2023, 12, 7), dev_until=date(2023, 12, 11), planted=20)


def only(folder: Path, value: dict[str, Any], **given: Any) -> tuple[QuestionRecord, AnswerRecord, Records]:
    """The one question and answer of a folder with one record."""
    found = records(written(folder, [value], long=given.pop("long", None)), **given)
    [question], [answer] = found.questions, found.answers
    return question, answer, found


# ---------------------------------------------------------------- what is read


def test_a_record_becomes_a_question_and_its_answer(tmp_path: Path) -> None:
    question, answer, found = only(tmp_path, record("4801", heading=" Harbours:  Fees\r\n", isNamedDay=True))
    assert (question.id, question.date, question.term) == ("wq-2023-12-04-4801", date(2023, 12, 4), "2023-24")
    assert (question.subject, question.addressee, question.type) == ("Harbours: Fees", "Ministry of Tides", "named day")
    assert (question.cited_as, question.together, question.other) == ("2023-24/4801", "", {"uin": "4801"})
    assert question.source_url == "https://questions-statements.parliament.uk/written-questions/detail/2023-12-04/4801"
    assert (answer.id, answer.date, answer.answers) == ("wq-2023-12-04-4801-ASW", date(2023, 12, 11), (question.id,))
    assert (answer.institution, answer.cut, answer.holding, answer.correction) == (
        "Ministry of Tides",
        False,
        False,
        False,
    )
    assert answer.other == {"truncated": False, "is_correction": False, "holding_date": ""}
    assert (question.author, found.origin.licence, found.origin.attribution) == ("", "CC-BY-4.0", ATTRIBUTION)
    assert "Open Parliament Licence v3.0" in ATTRIBUTION
    assert found.origin.parameters == {"corrections": "original", "files": MONTH}
    assert "4679" not in repr(found)
    assert "4362" not in repr(found)


def test_the_revision_is_that_of_all_raw_files(tmp_path: Path) -> None:
    first = records(written(tmp_path / "a", [record("1")], long={})).origin.revision
    assert records(written(tmp_path / "b", [record("1")], long={})).origin.revision == first
    assert records(written(tmp_path / "c", [record("1")], long={7: {}})).origin.revision != first


def test_withdrawn_and_unanswered_questions_are_counted_with_reasons(tmp_path: Path) -> None:
    values = [
        record("11"),
        record("12", isWithdrawn=True, questionText=None),
        record("13", answered=None, answerText=None),
        record("14", answerText="<p>\u00a0</p>"),
        record("15", questionText=" "),
        record("11"),
    ]
    found = records(written(tmp_path, values, long={1_000_012: {"answer_text": "x"}, 5: {"answer_text": "x"}}))
    assert [one.id for one in found.questions] == ["wq-2023-12-04-11"]
    assert found.funnel.steps["records"].dropped == {
        "the same record again": 1,
        "withdrawn": 1,
        "unanswered": 2,
        "question without a text": 1,
    }
    assert found.funnel.steps["records"].examples["withdrawn"] == ["wq-2023-12-04-12"]
    assert found.funnel.steps["long texts"].dropped == {"of a record left out": 1, "of no record in these files": 1}
    found.funnel.check("records", len(values))


def test_several_months_and_houses_in_either_form(tmp_path: Path) -> None:
    written(tmp_path, [record("1")], name="commons-2023-12.json")
    written(tmp_path, [record("HL1", "2024-01-08", "2024-01-10")], name="lords-2024-01.json.gz")
    written(tmp_path, [], name="commons-2024-01.json.gz")
    (tmp_path / "notes.txt").write_text("none of ours")
    found = records(tmp_path)
    assert [one.id for one in found.questions] == ["wq-2023-12-04-1", "wq-2024-01-08-HL1"]
    assert found.questions[1].cited_as == "2023-24/HL1"
    assert found.origin.name == "UK Parliament written questions, 2023-12 to 2024-01"
    assert found.funnel.steps["files"].dropped == {"holds no record": 1}


# ---------------------------------------------------------------- long and cut texts

BEGIN = "The fee is set by the board of each harbour. " * 6


def test_a_long_text_takes_the_place_of_a_cut_one(tmp_path: Path) -> None:
    whole = f"<p>{BEGIN}</p><p>See <a href='https://a.eu/x'>this</a>.</p>"
    asked = "To ask whether " + "it is so and " * 30
    value = record("7", answerText=f"{BEGIN[:255]}...", questionText=asked[:255])
    question, answer, found = only(
        tmp_path, value, long={1_000_007: {"answer_text": whole, "question_text": f"{asked}at all."}}
    )
    assert answer.text == f"{BEGIN.strip()}\nSee this."
    [anchor] = answer.anchors
    assert (answer.text[anchor.start : anchor.end], anchor.target) == ("this", "https://a.eu/x")
    assert (question.text, answer.cut) == (f"{asked}at all.", False)
    assert found.funnel.steps["long texts"].kept == 1
    assert found.funnel.steps["questions cut short by the source"].kept == 0


def test_a_cut_text_without_a_long_one_is_flagged(tmp_path: Path) -> None:
    question, answer, found = only(tmp_path, record("7", answerText=f"{BEGIN[:255]}...", questionText="x" * 255))
    assert (answer.cut, answer.other["truncated"], len(question.text)) == (True, True, 255)
    assert found.funnel.steps["answers cut short by the source"].kept == 1
    assert found.funnel.steps["questions cut short by the source"].kept == 1


def test_a_short_answer_may_end_in_dots(tmp_path: Path) -> None:
    assert not only(tmp_path, record("7", answerText="It depends..."))[1].cut


def test_a_long_text_of_another_version_is_left_alone_and_counted(tmp_path: Path) -> None:
    value = record("7", answerText=f"{BEGIN[:255]}...")
    _, answer, found = only(tmp_path, value, long={1_000_007: {"answer_text": "<p>Something else.</p>"}})
    assert (answer.cut, answer.text) == (True, f"{BEGIN[:255]}...")
    assert found.funnel.steps["long texts"].dropped == {"begins otherwise than the text that it should go on with": 1}


# ---------------------------------------------------------------- corrections and holding replies


@pytest.mark.parametrize(
    ("rule", "original", "text", "day", "correction"),
    [
        ("original", "It is 4.", "It is 4.", date(2023, 12, 11), False),
        ("corrected", "It is 4.", "It is 5.", date(2024, 1, 9), True),
        # The first text is not there: the corrected one must not bear its day.
        ("original", "", "It is 5.", date(2024, 1, 9), True),
        ("corrected", "", "It is 5.", date(2024, 1, 9), True),
    ],
)
def test_a_text_and_its_day_belong_together(
    tmp_path: Path, rule: Any, original: str, text: str, day: date, correction: bool
) -> None:
    value = record(
        "7",
        answerText="It is 5.",
        originalAnswerText=original,
        answerIsCorrection=True,
        dateAnswerCorrected="2024-01-09T00:00:00",
    )
    _, answer, found = only(tmp_path, value, corrections=rule)
    assert (answer.text, answer.date, answer.correction) == (text, day, correction)
    assert answer.other["is_correction"] is correction
    assert found.origin.parameters["corrections"] == rule
    assert found.funnel.steps["answers corrected later"].kept == 1
    assert found.funnel.steps["answers with the corrected text"].kept == int(correction)


def test_a_correction_of_unknown_day_is_undated(tmp_path: Path) -> None:
    _, answer, found = only(tmp_path, record("7", answerIsCorrection=True))
    assert (answer.date, answer.correction) == (None, True)
    built = assemble(found, rules=RULES)
    assert built.manifest["funnel"]["answers read"]["dropped"]["undated"]["count"] == 1


def test_holding_replies_are_flagged(tmp_path: Path) -> None:
    held = record("7", answered=None, answerIsHolding=True, dateHoldingAnswer="2023-12-08T00:00:00")
    _, answer, _ = only(tmp_path / "held", held)
    assert (answer.holding, answer.date, answer.other["holding_date"]) == (True, date(2023, 12, 8), "2023-12-08")
    _, answer, _ = only(tmp_path / "later", record("7", dateHoldingAnswer="2023-12-08T00:00:00"))
    assert (answer.holding, answer.date, answer.other["holding_date"]) == (False, date(2023, 12, 11), "2023-12-08")


def test_there_is_no_third_rule_for_corrections(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'corrected'"):
        only(tmp_path, record("7"), corrections="correct")


# ---------------------------------------------------------------- a build


def test_a_build_of_a_month(tmp_path: Path) -> None:
    built = assemble(records(month(tmp_path / "raw")), rules=RULES)
    queries = {row["_id"]: row for row in built.tables.queries}
    assert {id_: row["split"] for id_, row in queries.items()} == {
        "wq-2023-12-01-4801": "train",
        "wq-2023-12-04-4902": "train",
        "wq-2023-12-04-4903": "train",
        "wq-2023-12-11-5001": "dev",
    }
    qrels = built.tables.qrels or {}
    pair = ("wq-2023-12-11-5001", "wq-2023-12-01-4801-ASW", 1)
    assert qrels["cite_dev"] == qrels["precedent_dev"] == qrels["citehc_dev"] == [pair]
    assert queries["wq-2023-12-04-4902"]["joint_size"] == 1
    twins = {row["_id"]: row["twin_question"] for row in built.tables.equivalents}
    assert "wq-2023-12-04-4903" in twins["wq-2023-12-04-4902"]
    texts = {row["_id"]: row["text"] for row in built.tables.corpus}
    assert texts["wq-2023-12-11-5001-ASW"] == "I refer the hon. Member to the answer to Question [MASKED]."
    assert built.manifest["funnel"]["records"]["dropped"]["unanswered"]["count"] == 1
    write_build(built, tmp_path / "out")
    opened = assay.open(tmp_path / "out")
    assert {name: len(splits["dev"].qrels) for name, splits in opened.tasks.items() if "dev" in splits} == {
        "answer": 1,
        "answerlenient": 1,
        "precedent": 1,
        "precedenthc": 1,
        "cite": 1,
        "citehc": 1,
    }


def test_questions_answered_together_are_twins_whatever_they_ask(tmp_path: Path) -> None:
    values = [
        record(
            "1",
            questionText="To ask how many ferries sail to the northern isles in winter months.",
            groupedQuestions=["2"],
        ),
        record(
            "2",
            questionText="To ask whether lighthouses at the southern coast are painted white.",
            groupedQuestions=["1"],
        ),
        record("3", questionText="To ask what the Government makes of the depth of estuaries this year."),
    ]
    built = assemble(records(written(tmp_path, values)), rules=RULES)
    assert [(row["_id"], row["twin_question"]) for row in built.tables.equivalents] == [
        ("wq-2023-12-04-1", ["wq-2023-12-04-2"]),
        ("wq-2023-12-04-2", ["wq-2023-12-04-1"]),
    ]
    assert [one.together for one in records(tmp_path).questions] == ["2023-24/1", "2023-24/1", ""]


def test_an_answer_before_its_question_is_counted_by_the_build(tmp_path: Path) -> None:
    found = records(written(tmp_path, [record("1", "2023-12-12", "2023-12-05"), record("2")]))
    built = assemble(found, rules=RULES)
    assert [row["_id"] for row in built.tables.queries] == ["wq-2023-12-04-2"]
    assert built.manifest["funnel"]["answers linked"]["dropped"]["dated before a question of it"]["count"] == 1


# ---------------------------------------------------------------- the command


def test_the_command_builds_and_tells(tmp_path: Path) -> None:
    folder = month(tmp_path / "raw")
    (tmp_path / "gone.jsonl").write_text('{"_id": "wq-2023-12-04-4903", "reason": "asked for"}\n')
    words = ["build", "ukparl", "--raw", folder, "--out", tmp_path / "uk", "--removals", tmp_path / "gone.jsonl"]
    told = ok(*words, "--train-until", "2023-12-01", "--dev-until", "2023-12-04", "--json").json
    assert (told["counts"]["queries.jsonl"], told["corrections"]) == (3, "original")
    sizes = {one["split"]: one["queries"] for one in told["judgements"] if one["task"] == "answer"}
    assert sizes == {"train": 1, "dev": 1, "test": 1}
    removed = [drop for step in told["funnel"] if step["step"] == "removals" for drop in step["dropped"]]
    assert {drop["reason"] for drop in removed} >= {"queries: asked for"}
    assert assay.open(tmp_path / "uk").digest == told["digest"]
    shown = ok(*words).out
    assert "what was kept and dropped" in shown
    assert "unanswered" in shown


def test_a_date_in_the_future_is_dropped_and_the_clock_is_nowhere_in_a_build(tmp_path: Path) -> None:
    raw = written(tmp_path / "raw", [record("1"), record("2", answered="2999-01-01"), record("3", "2999-01-01", None)])
    told = ok("build", "ukparl", "--raw", raw, "--out", tmp_path / "uk", "--json").json
    dropped = {(step["step"], drop["reason"]): drop["count"] for step in told["funnel"] for drop in step["dropped"]}
    assert dropped == {
        ("records", "unanswered"): 1,
        ("answers read", "dated in the future"): 1,
        ("questions linked", "no answer"): 1,
    }
    assert "\nlanguage:\n- en\n" in (tmp_path / "uk" / "README.md").read_text("utf-8")
    files = [path for path in (tmp_path / "uk").rglob("*") if path.suffix in (".json", ".jsonl", ".md")]
    assert not any(str(date.today()) in path.read_text("utf-8") for path in files)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--train-until", "7.12.2023"], 2, "--train-until: '7.12.2023' is no ISO date"),
        (["--train-until", "2024-01-01"], 2, "train ends 2024-01-01"),
        (["--corrections", "first"], 2, "there is no rule for corrections 'first'"),
        (["--removals", "none.jsonl"], 3, "there is no file none.jsonl"),
        (["--raw", "nowhere"], 3, "there is no folder nowhere"),
    ],
)
def test_bad_requests_end_with_one_message(tmp_path: Path, words: list[str], code: int, message: str) -> None:
    raw = month(tmp_path / "raw")
    refused("build", "ukparl", "--raw", raw, "--out", tmp_path / "uk", *words, code=code, says=re.escape(message))
    assert not (tmp_path / "uk").exists()


# ---------------------------------------------------------------- plain text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<p>One&nbsp;&amp; two\u202f  three</p>\n<p></p><p>four<br>five</p>", "One & two three\nfour\nfive"),
        ("<table><tr><td></td><td>2022</td></tr><tr><td><p>Sea</p><p>Land</p></td><td>1</td></tr></table>after", "| 2022\nSea Land | 1\nafter"),
        ("<table><tr><td> </td><td><p> </p></td></tr><tr><th>a<th>b</table>", "a | b"),
        ("<table><tr><td>a<table><tr><td>b</td><td>c</td></tr></table></td><td>d</td></tr></table>", "a b c | d"),
        ("<td>a</td><td>b</td>", "a | b"),
        ("<ul><li>one</li><li>two</li></ul>three", "one\ntwo\nthree"),
        ("<p>6<sup>th</sup> of H<sub>2</sub>O</p>", "6th of H2O"),
        ("<p>a</p><script>var x = '<p>no</p>';</script><style>p {}</style><!-- no --><p>b</p>", "a\nb"),
        ("<p><![if !supportLists]>1.<![endif]> one</p>", "1. one"),
        ("income <5 % & R&D <x> stay; a  b\r\n\r\nc", "income <5 % & R&D <x> stay; a b\nc"),
        ("&lt;p&gt;", "<p>"),
        ("", ""),
    ],
)  # fmt: skip
def test_html_becomes_plain_text(source: str, text: str) -> None:
    assert plain_text(source).text == text


def test_links_are_spans_of_the_plain_text() -> None:
    found = plain_text(
        "<p>See <a href='/a'> the  <b>one</b></a>, <a name='x'>no</a>, <a href='/b'></a><a href='/c'>two<a href='/d'>three</p>"
    )
    assert [(found.text[a:b], target) for a, b, target in found.anchors] == [
        ("the one", "/a"),
        ("two", "/c"),
        ("three", "/d"),
    ]


PIECES = st.sampled_from(
    ["<p>", "</p>", "<td>", "</td>", "<tr>", "</tr>", "<table>", "</table>", "<a href='/x'>", "</a>", "<script>", "</script>",
     "<br/>", "<li>", "<![", "<!", "<?", "&amp;", "&", "<", ">", "one", " ", "\u00a0", "|", "two words", "<!--", "-->"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=25))
def test_any_html_gives_lines_without_blanks_at_their_ends(pieces: list[str]) -> None:
    found = plain_text("".join(pieces))
    for line in found.text.split("\n") if found.text else []:
        assert line
        assert line == " ".join(line.split())
    for start, end, target in found.anchors:
        assert 0 <= start < end <= len(found.text)
        assert found.text[start:end].strip() == found.text[start:end]
        assert target == "/x"


# ---------------------------------------------------------------- bad input


def unread(folder: Path, kind: type[AssayError], **given: Any) -> str:
    with pytest.raises(kind) as caught:
        records(folder, **given)
    return str(caught.value)


def changed(**fields: Any) -> dict[str, Any]:
    made = record("4801")
    made["value"] |= fields
    return made


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"links": []}, f"{MONTH} record 2.value: expected an object, got {{\"links\": []}}"),
        (7, f"{MONTH} record 2.value: expected an object, got 7"),
        (changed(uin=None), f"{MONTH} record 2.uin: expected text, got nothing"),
        (changed(uin=4801), f"{MONTH} record 2.uin: expected text, got 4801"),
        (changed(uin="abc"), f"{MONTH} record 2.uin: expected digits, perhaps after HL, got \"abc\""),
        (changed(dateTabled=None), f"{MONTH} record 2.dateTabled: expected an ISO date, got null"),
        (changed(dateTabled="04/12/2023"), f"{MONTH} record 2.dateTabled: expected an ISO date such as 2023-12-18, got \"04/12/2023\""),
        (changed(dateAnswered="2023-13-01T00:00:00"), f"{MONTH} record 2.dateAnswered: expected an ISO date such as"),
        (changed(questionText=None), f"{MONTH} record 2.questionText: expected text, got nothing"),
        (changed(answerText=["x"]), f"{MONTH} record 2.answerText: expected text, got [\"x\"]"),
        (changed(answerText="half \ud83d"), f"{MONTH} record 2.answerText: a lone surrogate (U+D83D) at character 5"),
        (changed(isWithdrawn="no"), f"{MONTH} record 2.isWithdrawn: expected true or false, got \"no\""),
        (changed(groupedQuestions="4802"), f"{MONTH} record 2.groupedQuestions: expected a list of numbers as text, got \"4802\""),
    ],
)  # fmt: skip
def test_a_bad_record_is_named_with_its_field(tmp_path: Path, value: Any, message: str) -> None:
    assert message in unread(written(tmp_path, [record("1"), value]), FormatError)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"no gzip", f"{MONTH}: not JSON (nor gzip, as its name says): Expecting value at line 1, character 1"),
        (gzip.compress(b"[" + b'{"value": 1}, ' * 50, mtime=0)[:-12], "ends in the middle of its compressed data"),
        (gzip.compress(b'[{"value": {', mtime=0), f"{MONTH}: not JSON: Expecting property name"),
        (gzip.compress(b'{"results": []}', mtime=0), f'{MONTH}: expected a list of records, got {{"results": []}}'),
        (gzip.compress('[{"value": "é"}]'.encode("latin-1"), mtime=0), f"{MONTH}: byte 0xE9 at byte 12 is not UTF-8"),
        (gzip.compress(b"[" * 200_000, mtime=0), f"{MONTH}: not"),
        (gzip.compress(b"[]", mtime=0), "1 files, none of which holds a record"),
        (b"", "is empty"),
    ],
)
def test_a_bad_month_is_named(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / MONTH).write_bytes(data)
    assert message in unread(tmp_path, FormatError)


def test_plain_json_under_the_name_of_gzip_is_read(tmp_path: Path) -> None:
    (tmp_path / MONTH).write_bytes(b"\xef\xbb\xbf" + json.dumps([record("1")]).encode())
    assert len(records(tmp_path).questions) == 1


def test_a_folder_without_months(tmp_path: Path) -> None:
    assert "there is no folder" in unread(tmp_path / "none", FileError)
    (tmp_path / "december.json").write_text("[]")
    assert "1 other files" in unread(tmp_path, FileError)


def test_a_question_that_stands_twice_and_differs(tmp_path: Path) -> None:
    written(tmp_path, [record("1"), record("1", "2023-12-05")])
    found = records(tmp_path)
    assert [one.cited_as for one in found.questions] == ["", ""]
    assert found.funnel.dropped("numbers") == 2
    written(tmp_path, [record("1", heading="Other")], name="commons-2024-01.json")
    told = unread(tmp_path, DuplicateIdError)
    assert f"commons-2024-01.json record 1: question 1 of 2023-12-04 stands in {MONTH} record 1 too" in told
    assert "differs in heading" in told


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE TABLE Other (key, value)", f"{LONG}: not an SQLite file with a table Dict(key, value) (no such table: Dict)"),
        ("CREATE TABLE Dict (id, text)", "no such column: key"),
        ("CREATE TABLE Dict AS SELECT 'x' AS key, '{}' AS value", f"{LONG} Dict[x]: the key is no record id"),
        ("CREATE TABLE Dict AS SELECT '7' AS key, '{' AS value", f"{LONG} Dict[7]: the value is not JSON in UTF-8"),
        ("CREATE TABLE Dict AS SELECT '7' AS key, x'7B22E9227D' AS value", f"{LONG} Dict[7]: the value is not JSON in UTF-8"),
        ("CREATE TABLE Dict AS SELECT '7' AS key, '[]' AS value", f"{LONG} Dict[7]: expected an object"),
        ("CREATE TABLE Dict AS SELECT '7' AS key, '{\"answer_text\": 5}' AS value", f"{LONG} Dict[7].answer_text: expected text, got 5"),
    ],
)  # fmt: skip
def test_bad_long_texts_are_named(tmp_path: Path, statement: str, message: str) -> None:
    written(tmp_path, [record("1")])
    with closing(sqlite3.connect(tmp_path / LONG)) as base, base:
        base.execute(statement)
    assert message in unread(tmp_path, FormatError)


def test_a_file_that_is_no_sqlite(tmp_path: Path) -> None:
    written(tmp_path, [record("1")])
    (tmp_path / LONG).write_bytes(b"not a database" * 100)
    assert f"{LONG}: not an SQLite file" in unread(tmp_path, FormatError)
    (tmp_path / LONG).write_bytes(b"")
    assert "no such table: Dict" in unread(tmp_path, FormatError)


def test_changes_that_wait_beside_the_long_texts_are_not_passed_over(tmp_path: Path) -> None:
    written(tmp_path, [record("1")], long={})
    (tmp_path / f"{LONG}-wal").write_bytes(b"")
    assert len(records(tmp_path).questions) == 1
    (tmp_path / f"{LONG}-wal").write_bytes(b"changes")
    assert f"7 bytes of changes are not in {LONG} yet" in unread(tmp_path, FormatError)


def test_long_texts_of_two_files_must_agree(tmp_path: Path) -> None:
    written(tmp_path, [record("1")], long={1_000_001: {"answer_text": "a"}})
    (tmp_path / LONG).rename(tmp_path / "longform-2023-11.sqlite")
    written(tmp_path, [record("1")], long={1_000_001: {"answer_text": "b"}})
    assert f"{LONG} Dict[1000001]: an earlier file has other texts" in unread(tmp_path, DuplicateIdError)


def test_nothing_is_written_beside_the_raw_files(tmp_path: Path) -> None:
    folder = written(tmp_path / "a#b %3F ?", [record("1")], long={1_000_001: {}})
    with closing(sqlite3.connect(folder / LONG)) as base:
        base.execute("PRAGMA journal_mode=WAL")
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert len(records(folder).questions) == 1
        assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before
    finally:
        folder.chmod(0o755)
    assert os.access(folder, os.W_OK)
