"""Question-level builds under bad luck and bad input: hostile texts, full disks, Ctrl-C, folders in use, removals."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import assay
from assay.building.assemble import BuildRules, assemble
from assay.building.built import Built
from assay.building.houses import EUROPEAN_PARLIAMENT
from assay.building.records import AnswerRecord, Origin, QuestionRecord, Records, Version
from assay.errors import AssayError, FormatError
from assay.publishing.question_level import write_build
from commands import ok, refused
from ukparl_raw import month, record, written

ORIGIN = Origin("made up", "nowhere", "1", "CC0-1.0", "Nobody.", "Nothing.")
RULES = BuildRules(planted=10)
SPLITS = ("--train-until", "2023-12-07", "--dev-until", "2023-12-10")


def content(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def lengthy(folder: Path, n: int) -> Path:
    """A month of questions that differ in every word."""
    said = [" ".join(f"{number * place % 977}w" for place in range(60)) for number in range(1, n + 1)]
    return written(folder, [record(str(n), questionText=f"To ask {text}?") for n, text in enumerate(said, 1)])


# ---------------------------------------------------------------- any records


HOSTILE = (
    "",
    " \t\n",
    "\ud83d",
    "a\0b",
    "\u202e\u200f\ufeffsee E-000001/2020\u202c",
    "see the answers to E-000001/2020, 000002/2020 and E-000001/2020",
    "Written Question E-000001/2020E-000002/2020-ASW/000003",
    "https://www.europarl.europa.eu/doceo/document/E-9-2020-000001-ASW_EN.html/E-9-2020-000002",
    "[MASKED] [1] (1) ¹\n[1] See E-000001/2020.\n[1] See E-1/20.",
    "\r\n\u2028\u2029\x85\x1c.",
    "E-1/20 " * 200,
    '"\\"},{"_id":"x"}',
)
FAIR = st.one_of(
    st.sampled_from([text for text in HOSTILE if "\ud83d" not in text]),
    st.text("E-/0129 \n.[]", max_size=60),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
)
NUMBERS = st.integers(1, 4)
ODD = st.sampled_from(["E-9-2020-000001-de", "E-9-2020-000001", "a b", "a\tb", "a\nb", "", "\ud800", "a\0b", "\u202e"])


@st.composite
def some_records(draw: st.DrawFn) -> tuple[list[QuestionRecord], list[AnswerRecord]]:
    """A few questions and answers with hostile texts; of four builds, one also has odd ids, dates and surrogates."""
    odd = draw(st.integers(0, 3)) == 0
    texts = st.one_of(FAIR, st.just("\ud83d")) if odd else FAIR

    def name(end: str) -> str:
        plain = NUMBERS.map(lambda number: f"E-9-2020-{number:06d}{end}")
        return draw(st.one_of(plain, ODD) if odd else plain)

    def day(first: int) -> date | None:
        plain = st.dates(date(2020, 1, first), date(2020, 1, 9))
        return draw(st.one_of(plain, st.sampled_from([None, date.min, date.max])) if odd else plain)

    questions = [
        QuestionRecord(
            name(""),
            day(1),
            draw(texts),
            **{field: draw(texts) for field in ("subject", "header", "source_url", "author")},
            context=draw(st.booleans()),
            together=draw(st.sampled_from(["", "g"])),
            versions=tuple(Version(language, draw(texts), draw(texts)) for language in draw(LANGUAGES)),
        )
        for _ in range(draw(NUMBERS))
    ]
    answers = [
        AnswerRecord(
            name("-ASW"),
            day(5),
            draw(texts),
            tuple(name("") for _ in range(draw(NUMBERS))),
            **{field: draw(texts) for field in ("institution", "header", "source_url")},
            holding=draw(st.booleans()),
            cut=draw(st.booleans()),
        )
        for _ in range(draw(NUMBERS))
    ]
    # Two records with one id are an error; most builds are to go on.
    one_each = {one.id: one for one in questions}.values(), {one.id: one for one in answers}.values()
    return (questions, answers) if odd else (list(one_each[0]), list(one_each[1]))


LANGUAGES = st.sets(st.sampled_from(["de", "fr"])).map(sorted)


def is_whole(made: Built, questions: list[QuestionRecord], answers: list[AnswerRecord]) -> None:
    """Every record is in the tables or was dropped under a reason."""
    steps = made.manifest["funnel"]
    for step in steps.values():
        assert step["in"] == step["kept"] + sum(drop["count"] for drop in step["dropped"].values())
    assert steps["questions read"]["in"] == len(questions)
    assert steps["answers read"]["in"] == len(answers)
    assert steps["questions linked"]["kept"] == len(made.tables.queries)
    assert steps["answers linked"]["kept"] == len(made.tables.corpus)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(some_records())
def test_any_records_make_a_build_that_reads_back_or_one_clear_error(
    records: tuple[list[QuestionRecord], list[AnswerRecord]],
) -> None:
    questions, answers = records
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "made"
        try:
            made = assemble(Records(EUROPEAN_PARLIAMENT, ORIGIN, questions, answers), rules=RULES)
            is_whole(made, questions, answers)
            write_build(made, folder)
        except AssayError:
            assert list(Path(name).iterdir()) == []
            return
        opened = assay.open(folder)
        assert list(opened.passages.ids) == [row["_id"] for row in made.tables.corpus]
        assert list(opened.passages.texts["plain"]) == [row["text"] for row in made.tables.corpus]


def test_a_text_of_a_megabyte_on_one_line_is_a_text(tmp_path: Path) -> None:
    line = "word " * 180_000 + "x" * 100_000
    questions = [QuestionRecord("q", date(2020, 1, 1), line, subject="E-1/20 " * 200)]
    answers = [AnswerRecord("a", date(2020, 1, 2), "E-000001/2020, " * 200 + "1" * 100_000, ("q",))]
    write_build(assemble(Records(EUROPEAN_PARLIAMENT, ORIGIN, questions, answers), rules=RULES), tmp_path / "made")
    opened = assay.open(tmp_path / "made")
    assert (opened.queries.texts["plain"][0], len(opened.passages)) == (line, 1)


@pytest.mark.parametrize("name", ["a\nb", "a\tb", "a b", ""])
def test_ids_that_cannot_stand_in_a_trec_file_are_refused(tmp_path: Path, name: str) -> None:
    questions = [QuestionRecord(name, date(2020, 1, 1), "Why?")]
    answers = [AnswerRecord("a", date(2020, 1, 2), "So.", (name,))]
    with pytest.raises(FormatError, match=r"blank|empty"):
        write_build(assemble(Records(EUROPEAN_PARLIAMENT, ORIGIN, questions, answers), rules=RULES), tmp_path / "made")
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- bad luck


def test_a_full_disk_leaves_the_earlier_build_and_nothing_else(tmp_path: Path) -> None:
    place = tmp_path / "made"
    ok("build", "ukparl", "--raw", month(tmp_path / "raw"), "--out", place)
    before, there = content(tmp_path), sorted(tmp_path.iterdir())
    raw = lengthy(tmp_path / "more" / "raw", 600)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        says = rf"cannot write {place}/corpus\.jsonl: no space left"
        refused("build", "ukparl", "--raw", raw, "--out", place, code=3, says=says)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert sorted(path for path in tmp_path.iterdir() if path.name != "more") == there
    assert {name: data for name, data in content(tmp_path).items() if not name.startswith("more/")} == before


# Presses Ctrl-C on itself as soon as the first file is being written; another process could come too late for that.
STOPPED = """
import os, signal, sys, threading, time
from pathlib import Path
from assay.__main__ import main
def stop():
    while not list(Path(sys.argv[-1]).parent.glob(".uk.*.part/corpus.jsonl")):
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=stop, daemon=True).start()
main()
"""


def test_a_build_stopped_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    raw, out = lengthy(tmp_path / "raw", 2_000), tmp_path / "made" / "uk"
    words = [sys.executable, "-c", STOPPED, "build", "ukparl", "--raw", str(raw), "--out", str(out)]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _, err = child.communicate(timeout=120)
    assert child.returncode == 130
    assert b"Traceback" not in err
    assert list(tmp_path.iterdir()) == [raw, out.parent] or list(tmp_path.iterdir()) == [out.parent, raw]
    assert list(out.parent.iterdir()) == []


def test_a_folder_that_another_process_has_open_is_replaced_under_it(tmp_path: Path) -> None:
    place = tmp_path / "uk"
    ok("build", "ukparl", "--raw", month(tmp_path / "one"), "--out", place)
    code = (
        "import assay, sys\nopened = assay.open(sys.argv[1])\nprint('open', flush=True)\nsys.stdin.read()\n"
        "print(opened.digest, *opened.passages.texts['plain'], sep='|')"
    )
    words = [sys.executable, "-c", code, str(place)]
    child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "open\n"
    earlier = assay.open(place)
    ok("build", "ukparl", "--raw", lengthy(tmp_path / "two", 3), "--out", place)
    told, _ = child.communicate("", timeout=120)
    assert told.strip() == "|".join([earlier.digest, *earlier.passages.texts["plain"]])
    assert len(assay.open(place).passages) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two", "uk", "uk-mapping"]


# ---------------------------------------------------------------- places and removals


def test_a_folder_with_other_files_is_no_place_for_a_build(tmp_path: Path) -> None:
    raw = month(tmp_path / "raw")
    before = content(raw)
    for place in (raw, tmp_path):
        refused("build", "ukparl", "--raw", raw, "--out", place, code=3, says="holds other files")
    assert content(raw) == before
    assert os.listdir(tmp_path) == ["raw"]


def test_removals_of_unknown_ids_and_of_the_last_test_query(tmp_path: Path) -> None:
    raw, gone = month(tmp_path / "raw"), tmp_path / "gone.jsonl"
    gone.write_text('{"_id": "wq-1", "reason": "asked for"}\n{"_id": "wq-2023-12-11-5001", "reason": "asked for"}\n')
    words = ("build", "ukparl", "--raw", raw, "--out", tmp_path / "uk", *SPLITS, "--removals", gone)
    told = ok(*words, "--json").json
    drops = {(step["step"], drop["reason"]): drop["examples"] for step in told["funnel"] for drop in step["dropped"]}
    assert drops["removals/ids that name no record", "unknown id"] == ["wq-1"]
    assert drops["removals", "queries: asked for"] == ["wq-2023-12-11-5001"]
    assert {one["queries"] for one in told["judgements"] if one["split"] == "test"} == {0}
    assert sorted(assay.open(tmp_path / "uk").tasks["answer"]) == ["train"]


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ('{"_id": "a", "reason": " "}', r"gone\.jsonl:1 \$\.reason: empty"),
        ('{"_id": "", "reason": "b"}', r"gone\.jsonl:1 \$\._id: empty"),
        ('{"_id": "a", "reason": null}', r"gone\.jsonl:1 \$\.reason: expected text, got null"),
        ('{"_id": "a", "reason": "b"}\n{"_id": "a", "reason": "c"}', "'a' is removed twice"),
        ('{"_id": "a"', r"gone\.jsonl:1: the line ends in the middle"),
    ],
)
def test_removals_that_cannot_be_read(tmp_path: Path, lines: str, says: str) -> None:
    (tmp_path / "gone.jsonl").write_text(lines)
    words = ("--raw", month(tmp_path / "raw"), "--out", tmp_path / "uk", "--removals", tmp_path / "gone.jsonl")
    refused("build", "ukparl", *words, code=3, says=says)
    assert sorted(os.listdir(tmp_path)) == ["gone.jsonl", "raw"]


def test_removing_everything_is_told(tmp_path: Path) -> None:
    raw, gone = written(tmp_path / "raw", [record("1")]), tmp_path / "gone.jsonl"
    gone.write_text('{"_id": "wq-2023-12-04-1", "reason": "asked for"}\n')
    words = ("--raw", raw, "--out", tmp_path / "uk", "--removals", gone)
    refused("build", "ukparl", *words, code=3, says="there is no reply, so there is nothing to publish")
    assert sorted(os.listdir(tmp_path)) == ["gone.jsonl", "raw"]


def test_an_empty_month_adds_nothing(tmp_path: Path) -> None:
    raw = written(written(tmp_path / "raw", [record("1")]), [], name="commons-2024-01.json.gz")
    told = ok("build", "ukparl", "--raw", raw, "--out", tmp_path / "uk", "--json").json
    assert told["counts"]["corpus.jsonl"] == 1
    empty = written(tmp_path / "empty", [])
    refused("build", "ukparl", "--raw", empty, "--out", tmp_path / "no", code=3, says="none of which holds a record")
