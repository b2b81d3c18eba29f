"""Metadata of the European Parliament: facts of details, and a folder of fetched files as records."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.building.funnel import Funnel
from assay.building.records import Records
from assay.errors import DigestError, FileError, FormatError, UsageError
from assay.sources.europarl.metadata import (
    AnswerFacts,
    Oddities,
    QuestionFacts,
    answer_facts,
    day_of_brussels,
    question_facts,
    rdf_facts,
    type_of,
    works,
)
from assay.sources.europarl.organisations import organisation
from assay.sources.europarl.records import records
from assay.sources.europarl.sample import from_sample
from europarl_files import docx_bytes, pdf_bytes, xhtml_bytes

BASE = "eli/dl/doc/"


def odd() -> Oddities:
    return Oddities(Funnel())


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ("2022-01-02T23:00:00.000Z", date(2022, 1, 3)),
        ("2022-01-02T23:00:00+00:00", date(2022, 1, 3)),
        ("2022-07-01T22:00:00.000Z", date(2022, 7, 2)),
        ("2022-07-01T21:59:59Z", date(2022, 7, 1)),
        ("2024-07-25T18:51:58+02:00", date(2024, 7, 25)),
        ("2024-07-16", date(2024, 7, 16)),
        ("2024-07-16T00:00:00", date(2024, 7, 16)),
        ("2024-02-30", None),
        ("16.7.2024", None),
        ("", None),
        (None, None),
        (20240716, None),
    ],
)
def test_days_of_brussels(said: Any, day: date | None) -> None:
    assert day_of_brussels(said) == day


def test_a_system_without_time_zones_says_what_to_install() -> None:
    code = (
        "import sys, zoneinfo\nsys.modules['tzdata'] = None\nzoneinfo.reset_tzpath([])\n"
        "from assay.sources.europarl.metadata import day_of_brussels\n"
        "print(day_of_brussels('2024-07-16'))\ntry:\n    day_of_brussels('2022-01-02T23:00:00Z')\n"
        "except Exception as err:\n    print(type(err).__name__, err)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    plain, said = done.stdout.splitlines()
    assert plain == "2024-07-16"
    assert said.startswith("UnavailableError")
    assert "pip install tzdata" in said


@given(st.dates(date(1990, 1, 1), date(2037, 12, 31)))
def test_midnight_in_brussels_is_the_day_whatever_the_season(day: date) -> None:
    from datetime import datetime, time
    from zoneinfo import ZoneInfo

    midnight = datetime.combine(day, time(), ZoneInfo("Europe/Brussels")).astimezone(ZoneInfo("UTC"))
    assert day_of_brussels(midnight.isoformat()) == day_of_brussels(day.isoformat()) == day


@pytest.mark.parametrize(
    ("codes", "name"),
    [
        (["COM", "CE", "EU_COMMISSION", "org/COM", "org/EU-COMMISSION"], "Commission"),
        (["CS", "CONSIL", "EU_COUNCIL", "org/CS"], "Council"),
        (
            ["VP", "VPHR", "VP-HR", "HRVP", "HR_VP", "HRUFASP", "EU_VPHR", "EEAS", "VP/HR",
             "EU_REPRESENT_HIGH_PRESIDENT_COMMISSION_VICE", "EU-REPRESENT-HIGH-PRESIDENT-COMMISSION-VICE"],
            "High Representative",
        ),
        (["EU_PARLIAMENT", "", "COMX", "org/", "28390", "ECB"], None),
    ],
)  # fmt: skip
def test_organisations(codes: list[str], name: str | None) -> None:
    assert {organisation(code) for code in codes} == {name}


def work(id_: str = "E-9-2022-000001", **more: Any) -> dict[str, Any]:
    """A question's detail."""
    return {
        "id": f"{BASE}{id_}",
        "identifier": id_,
        "document_date": "2022-01-03",
        "work_type": "def/ep-document-types/QUESTION_WRITTEN",
        "parliamentary_term": "org/ep-9",
        "creator": ["person/28390", "org/EU_PARLIAMENT"],
        "title_dcterms": {"en": "Fees", "es": "Tasas"},
        "workHadParticipation": [
            {"participation_role": "def/ep-roles/AUTHOR", "had_participant_person": "person/28390"},
            {"participation_role": ["def/ep-roles/ADDRESSEE"], "had_participant_organization": "org/CS"},
        ],
    } | more


def reply(id_: str = "E-9-2022-000001-ASW", **more: Any) -> dict[str, Any]:
    """An answer's detail."""
    return {
        "id": f"{BASE}{id_}",
        "identifier": id_,
        "document_date": "2022-02-16",
        "work_type": "def/ep-document-types/QUESTION_WRITTEN_ANSWER",
        "answers_to": f"{BASE}{id_.removesuffix('-ASW')}",
        "creator": ["org/EU_COUNCIL"],
        "title_dcterms": {"en": "Answer for question E-000001/22"},
    } | more


def test_facts_of_a_question() -> None:
    facts = question_facts(work(originalLanguage="authority/language/SPA", inverse_answers_to=reply()), odd())
    assert facts == QuestionFacts(
        "E-9-2022-000001",
        date(2022, 1, 3),
        "QUESTION_WRITTEN",
        "9",
        {"en": "Fees", "es": "Tasas"},
        {},
        ("28390",),
        ("CS",),
        ("es",),
        ("en", "es"),
        (AnswerFacts("E-9-2022-000001-ASW", date(2022, 2, 16), ("E-9-2022-000001",), ("EU_COUNCIL",)),),
    )
    assert facts.original() == ("es", "declared")


def test_headers_of_expressions_come_in_lines_and_files_by_language() -> None:
    one = {
        "id": f"{BASE}E-9-2022-000001/en",
        "title": {"en": "Fees"},
        "title_alternative": {
            "en": "Question for written answer E-000001/2022 - to the Council - Rule 138 - A. Low-Lee (PPE)"
        },
        "is_embodied_by": [
            {"is_exemplified_by": "distribution/x_en.docx"},
            {"is_exemplified_by": "distribution/x_en.pdf"},
        ],
    }
    two = {"language": "http://a/language/SPA", "title_alternative": {"es": "Pregunta<br/>al Consejo <br/>"}}
    facts = question_facts(work(is_realized_by=[one, two, "bare"]), odd())
    assert facts.headers == {
        "en": "Question for written answer E-000001/2022\nto the Council\nRule 138\nA. Low-Lee (PPE)",
        "es": "Pregunta\nal Consejo",
    }
    assert facts.files == {"en": ("distribution/x_en.docx", "distribution/x_en.pdf"), "es": ()}


@pytest.mark.parametrize(
    ("languages", "originals", "found"),
    [
        (("en", "es"), (), ("es", "deduced")),
        (("en",), (), ("en", "deduced")),
        (("en", "es", "it"), (), ("", "")),
        (("es",), (), ("", "")),
        ((), (), ("", "")),
        (("en", "cs"), ("en",), ("en", "declared")),
        (("en", "cs"), ("en", "cs"), ("", "")),
    ],
)
def test_the_language_of_the_original(languages: Any, originals: Any, found: tuple[str, str]) -> None:
    assert QuestionFacts("E-9-2022-000001", languages=languages, originals=originals).original() == found


@pytest.mark.parametrize(
    ("reference", "id_", "kind"),
    [
        ("def/ep-document-types/QUESTION_WRITTEN", "E-9-2022-000001", "QUESTION_WRITTEN"),
        ("def/ep-document-types/QUESTION_WRITTEN_PRIORITY", "P-9-2022-000001", "QUESTION_WRITTEN_PRIORITY"),
        ("QUEST_WRITTEN", "E-9-2022-000001", "QUESTION_WRITTEN"),
        ("http://a/def/QUEST_WRITTEN", "P-9-2022-000001", "QUESTION_WRITTEN_PRIORITY"),
        (["def/INTERPELLATION_MINOR"], "G-9-2022-000001", "INTERPELLATION_MINOR"),
        (None, "E-9-2022-000001", ""),
    ],
)
def test_types_by_their_old_and_new_names(reference: Any, id_: str, kind: str) -> None:
    assert type_of(reference, id_) == kind


@pytest.mark.parametrize("value", [f"{BASE}E-1", [f"{BASE}E-1"], [{"id": f"{BASE}E-1"}], [f"{BASE}E-1", f"{BASE}E-1"]])
def test_what_an_answer_answers_may_be_one_or_a_list(value: Any) -> None:
    facts = answer_facts(reply(answers_to=value), odd())
    assert facts is not None
    assert facts.answers == ("E-1",)


@pytest.mark.parametrize("nested", [f"{BASE}E-9-2022-000001-ASW", {"id": f"{BASE}E-9-2022-000001-ASW"}])
def test_a_bare_answer_is_told_by_its_id(nested: Any) -> None:
    assert answer_facts(nested, odd()) == AnswerFacts("E-9-2022-000001-ASW", bare=True)


def test_annexes_are_left_out_and_counted() -> None:
    found = odd()
    assert answer_facts({"id": f"{BASE}E-9-2022-000001-ASW-ANN01"}, found) is None
    assert answer_facts(reply("E-9-2022-000002-ASW", work_type="def/ANNEX"), found) is None
    assert found.funnel.dropped("answers", "annex") == 2


def test_what_is_missing_or_unexpected_is_counted_and_kept() -> None:
    found = odd()
    facts = question_facts(
        {"identifier": "E-9-2022-000001", "document_date": "soon", "originalLanguage": ["x/KLI", "x/SPA", "x/POR"]},
        found,
    )
    assert (facts.id, facts.date, facts.originals, facts.addressees) == ("E-9-2022-000001", None, ("es", "pt"), ())
    question_facts(work(document_date="2030-01-03"), found)
    question_facts(work(document_date=None), found)
    answer_facts(reply(work_type="def/NEW"), found)
    assert {step: sorted(one.dropped) for step, one in found.funnel.steps.items() if one.dropped} == {
        "field document_date": ["missing", "no date: soon", "years away from the year of the id"],
        "field originalLanguage": ["no official language: KLI", "several"],
        "field work_type of answers": ["unknown type NEW"],
    }


@pytest.mark.parametrize("found", [{"error": "Too many"}, {"data": "x"}, {}])
def test_a_response_without_records_is_an_error(found: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match=r"questions/2022-1\.json \$\.data: no list of records"):
        works(found, "questions/2022-1.json")


def test_facts_of_the_older_rdf() -> None:
    row = {
        "id": "P-9-2022-000026", "work_type": "QUEST_WRITTEN", "date_raw": "2022-01-02T23:00:00+00:00",
        "titles": {"en": "Fees"}, "title_alternative": {"en": "Question<br/>to the Commission"}, "languages": ["en", "it"],
        "docx": {"en": "https://a.eu/x_en.docx"}, "term": "ep-9", "participation": [["ADDRESSEE", "COM", ""], ["AUT", "7", "A. Low"]],
        "original_language": [], "answers": [{"id": "P-9-2022-000026-ASW", "date_raw": "2022-03-28T22:00:00Z",
        "creator": ["COM", "7"], "answers_to": ["P-9-2022-000026", "E-9-2022-000030"]}],
    }  # fmt: skip
    facts = rdf_facts(row, odd())
    assert (facts.date, facts.type, facts.term) == (date(2022, 1, 3), "QUESTION_WRITTEN_PRIORITY", "9")
    assert (facts.addressees, facts.authors, facts.original()) == (("COM",), ("7",), ("it", "deduced"))
    [answer] = facts.answers
    assert (answer.date, answer.answers, answer.organisations) == (
        date(2022, 3, 29),
        ("P-9-2022-000026", "E-9-2022-000030"),
        ("COM",),
    )


# A folder


def folder(place: Path, files: dict[str, bytes | Any]) -> Path:
    """A folder as a build fills it: bytes as they are, anything else as a response."""
    place.mkdir()
    lines = []
    for name, what in files.items():
        data = what if isinstance(what, bytes) else json.dumps(what).encode()
        path = place / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        line = {"url": f"https://a.eu/{name}", "file": name, "sha256": hashlib.sha256(data).hexdigest(), "status": 200}
        lines.append(json.dumps(line | {"bytes": len(data)}))
    (place / "fetched.jsonl").write_text("\n".join(lines) + "\n")
    return place


def question(number: int, text: str = "Why?", *, kind: Any = docx_bytes) -> bytes:
    body = [
        f"Question for written answer E-{number:06d}/2022",
        "to the Council",
        "Subject: Fees",
        text,
        "Submitted: 3.1.2022",
    ]
    return bytes(kind(body))


def answer(text: str = "It acts.", *, kind: Any = docx_bytes) -> bytes:
    return bytes(kind(["EN", "E-000001/2022", "Reply", "(16.2.2022)", text]))


SPAN = {"first": date(2022, 1, 1), "last": date(2022, 12, 31)}


def read(place: Path, files: dict[str, Any], **more: Any) -> Records:
    return records(folder(place / "fetched", files), **(SPAN | more))


def test_a_question_with_its_answer_and_versions(tmp_path: Path) -> None:
    one = work(
        inverse_answers_to=[reply()],
        is_realized_by=[
            {"id": f"{BASE}E-9-2022-000001/en", "is_embodied_by": [{"is_exemplified_by": "distribution/q_en.docx"}]}
        ],
    )
    cited = docx_bytes(
        ["EN", "E-000001/2022", "Reply", "(16.2.2022)", "It acts as said."],
        link=("said", "https://data.europarl.europa.eu/eli/dl/doc/E-9-2020-000001"),
    )
    found = read(
        tmp_path,
        {
            "questions/2022-1.json": {"data": [one], "@context": []},
            "files/E-9-2022-000001_en.docx": question(1),
            "files/E-9-2022-000001_es.xhtml": xhtml_bytes(["al Consejo", "Asunto: Tasas", "¿Por qué?"]),
            "files/E-9-2022-000001-ASW_en.docx": cited,
            "files/E-9-2022-000001-ASW-ANN01_en.docx": b"x",
        },
    )
    [asked], [said] = found.questions, found.answers
    assert (asked.id, asked.date, asked.text, asked.subject) == ("E-9-2022-000001", date(2022, 1, 3), "Why?", "Fees")
    assert asked.header == "Question for written answer E-000001/2022\n\nto the Council"
    assert (asked.addressee, asked.author, asked.term, asked.orig_lang, asked.context) == (
        "Council",
        "28390",
        "9",
        "es",
        False,
    )
    assert asked.source_url == "https://data.europarl.europa.eu/distribution/q_en.docx"
    assert [(one.language, one.text, one.subject) for one in asked.versions] == [("es", "¿Por qué?", "Tasas")]
    assert (said.id, said.date, said.text, said.answers) == (
        "E-9-2022-000001-ASW",
        date(2022, 2, 16),
        "It acts as said.",
        ("E-9-2022-000001",),
    )
    assert said.institution == "Council"
    [anchor] = said.anchors
    assert said.text[anchor.start : anchor.end] == "said"
    assert "Answer for question" not in asked.text + asked.subject + said.text + said.header
    record = found.funnel.record()
    assert (record["read as docx"]["kept"], record["read as xhtml"]["kept"]) == (2, 1)
    assert record["field names of files"]["dropped"]["annex"]["count"] == 1
    assert (found.origin.licence, found.origin.revision[:7]) == ("CC-BY-4.0", "sha256:")
    assert found.origin.attribution.startswith("© European Union, 2022")
    assert found.origin.parameters == {"first": "2022-01-01", "last": "2022-12-31"}


def test_the_next_format_is_tried_and_the_last_one_dropped_is_counted(tmp_path: Path) -> None:
    many = [work(f"E-9-2022-00000{n}") for n in range(1, 6)]
    found = read(
        tmp_path,
        {
            "questions/2022-1.json": {"data": many},
            "files/E-9-2022-000001_en.docx": question(1)[:-40],
            "files/E-9-2022-000001_en.xhtml": question(1, "By XHTML?", kind=xhtml_bytes),
            "files/E-9-2022-000002_en.docx": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
            "files/E-9-2022-000002_en.xhtml": b"<p></p>",
            "files/E-9-2022-000002_en.pdf": question(2, "By PDF?", kind=pdf_bytes),
            "files/E-9-2022-000003_en.docx": b"no",
            "files/E-9-2022-000004_en.docx": bytes(docx_bytes(["to the Council", "Subject: Fees"])),
            "files/E-9-2022-000005_fr.docx": question(5),
            "files/README": b"x",
        },
    )
    assert [one.text for one in found.questions] == ["By XHTML?", "By PDF?"]
    record = found.funnel.record()
    assert {why: told["examples"] for why, told in record["texts of questions"]["dropped"].items()} == {
        "no readable text": ["E-9-2022-000003_en"],
        "nothing below the header": ["E-9-2022-000004_en"],
        "no text in English": ["E-9-2022-000005_en"],
    }
    assert set(record["read as docx"]["dropped"]) == {
        "a truncated or damaged ZIP archive",
        "encrypted or of the old Word format (an OLE container)",
        "not a ZIP archive",
    }
    assert set(record["read as xhtml"]["dropped"]) == {"page without text"}
    assert record["cut from texts of questions: day of submission"]["kept"] == 2


def test_a_joint_answer_is_one_and_keeps_the_order_of_the_source(tmp_path: Path) -> None:
    joint = reply("P-9-2022-000026-ASW", answers_to=[f"{BASE}P-9-2022-000026", f"{BASE}E-9-2022-000030"])
    asked = [
        work("E-9-2022-000030", inverse_answers_to=[joint]),
        work("P-9-2022-000026", work_type="def/QUESTION_WRITTEN_PRIORITY", inverse_answers_to=joint),
    ]
    files = {f"files/{one['identifier']}_en.docx": question(1) for one in asked}
    found = read(
        tmp_path, {"questions/2022-1.json": {"data": asked}, "files/P-9-2022-000026-ASW_en.docx": answer()} | files
    )
    [said] = found.answers
    assert said.answers == ("P-9-2022-000026", "E-9-2022-000030")
    assert [one.id for one in found.questions] == ["E-9-2022-000030", "P-9-2022-000026"]


def test_an_answer_that_names_nothing_is_linked_by_the_question_and_counted(tmp_path: Path) -> None:
    one = work(inverse_answers_to=[reply(answers_to=None)])
    two = work(
        "E-9-2022-000002", inverse_answers_to=[reply("E-9-2022-000002-ASW", answers_to=[f"{BASE}E-9-2022-000009"])]
    )
    files = {
        f"files/E-9-2022-00000{n}{end}_en.docx": make
        for n in (1, 2)
        for end, make in (("", question(n)), ("-ASW", answer()))
    }
    found = read(tmp_path, {"questions/2022-1.json": {"data": [one, two]}} | files)
    assert [said.answers for said in found.answers] == [("E-9-2022-000001",), ("E-9-2022-000009", "E-9-2022-000002")]
    assert set(found.funnel.record()["field answers_to"]["dropped"]) == {
        "missing, linked by the question that names it",
        "leaves out a question that names it",
    }


def test_a_bare_answer_is_found_in_its_own_document(tmp_path: Path) -> None:
    asked = [
        work(inverse_answers_to=[{"id": f"{BASE}E-9-2022-000001-ASW"}]),
        work("E-9-2022-000002", inverse_answers_to=f"{BASE}E-9-2022-000002-ASW"),
    ]
    files = {
        f"files/E-9-2022-00000{n}{end}_en.docx": make
        for n in (1, 2)
        for end, make in (("", question(n)), ("-ASW", answer()))
    }
    found = read(
        tmp_path,
        {"questions/2022-1.json": {"data": asked}, "documents/E-9-2022-000001-ASW.json": {"data": [reply()]}} | files,
    )
    assert [one.id for one in found.answers] == ["E-9-2022-000001-ASW"]
    assert found.funnel.record()["answers of the source"]["dropped"] == {
        "named by its id alone, without a document": {"count": 1, "examples": ["E-9-2022-000002-ASW"]}
    }


def test_earlier_questions_are_there_for_their_answers(tmp_path: Path) -> None:
    def early(id_: str, day: str, **more: Any) -> dict[str, Any]:
        return work(
            id_, document_date="2021-11-02", inverse_answers_to=[reply(f"{id_}-ASW", document_date=day)], **more
        )

    asked = [
        early("E-9-2021-000001", "2021-12-20"),
        early("E-9-2021-000002", "2021-11-20"),
        early("E-9-2021-000003", "2022-01-20"),
        work("E-9-2021-000004", document_date="2021-11-02"),
        work("E-9-2022-000005"),
        work("E-9-2023-000006", document_date="2023-01-02"),
        work("E-9-2022-000007", document_date=None),
    ]
    files = {f"files/{one['identifier']}_{lang}.docx": question(1) for one in asked for lang in ("en", "es")}
    files["files/E-9-2021-000001-ASW_en.docx"] = answer()
    place = folder(tmp_path / "fetched", {"questions/2022-1.json": {"data": asked}} | files)
    found = records(place, context_from=date(2021, 12, 1), **SPAN)
    assert [(one.id, one.context, len(one.versions)) for one in found.questions] == [
        ("E-9-2021-000001", True, 0),
        ("E-9-2022-000005", False, 1),
    ]
    record = found.funnel.record()
    assert {why: told["count"] for why, told in record["questions of the source"]["dropped"].items()} == {
        "tabled after the last day": 1,
        "tabled before the first day, not answered in the context": 2,
        "undated": 1,
    }
    assert record["context"]["dropped"]["its answer cannot be read"]["examples"] == ["E-9-2021-000003"]
    assert [one.id for one in records(place, **SPAN).questions] == ["E-9-2022-000005"]


def test_other_kinds_repeated_records_and_error_bodies_are_counted(tmp_path: Path) -> None:
    asked = [
        work(),
        work("O-9-2022-000002", work_type="def/QUESTION_ORAL"),
        work("E-9-2022-000003", work_type="def/NEW_KIND"),
        work("E-9-2022-000004", work_type=None),
        work("B-9-2022-000005", work_type="def/NEW_KIND"),
        {"id": f"{BASE}a-page"},
    ]
    files = {f"files/{one['id'].removeprefix(BASE)}_en.docx": question(1) for one in asked}
    found = read(
        tmp_path,
        {
            "questions/2022-2.json": {"data": [work(), work(document_date="2022-01-04")]},
            "questions/2022-1.json": {"data": asked},
            "questions/2022-3.json": {"error": "Too many requests"},
            "questions/2022-4.json": b"<html>",
        }
        | files,
    )
    assert [one.id for one in found.questions] == ["E-9-2022-000001", "E-9-2022-000003", "E-9-2022-000004"]
    record = found.funnel.record()
    assert {why: told["count"] for why, told in record["questions of the source"]["dropped"].items()} == {
        "no id of a question": 1,
        "no written question: NEW_KIND": 1,
        "no written question: QUESTION_ORAL": 1,
    }
    assert set(record["field work_type"]["dropped"]) == {"unknown: NEW_KIND", "missing"}
    assert {why: told["count"] for why, told in record["field id"]["dropped"].items()} == {
        "the same record once more": 1,
        "another record once more": 1,
    }
    assert sum(told["count"] for told in record["responses"]["dropped"].values()) == 2


def test_an_addressee_is_never_guessed(tmp_path: Path) -> None:
    bare = work(workHadParticipation=[], inverse_answers_to=[reply()])
    new = [{"participation_role": "def/ADDRESSEE", "had_participant_organization": ["org/ECB", "org/COM"]}]
    asked = [
        bare,
        work("E-9-2022-000002", workHadParticipation=new),
        work("E-9-2022-000003", workHadParticipation=None),
    ]
    files = {f"files/{one['identifier']}_en.docx": question(1) for one in asked}
    found = read(tmp_path, {"questions/2022-1.json": {"data": asked}} | files)
    assert [(one.addressee, one.other["addressee_code"]) for one in found.questions] == [
        ("Council", "EU_COUNCIL"),
        ("Commission", "ECB; COM"),
        ("", ""),
    ]
    assert set(found.funnel.record()["field addressee"]["dropped"]) == {
        "missing",
        "missing, taken from who answered",
        "unknown code ECB",
    }


def test_the_same_folder_gives_the_same_records_and_another_one_another_revision(tmp_path: Path) -> None:
    files = {"questions/2022-1.json": {"data": [work()]}, "files/E-9-2022-000001_en.docx": question(1)}
    one, two = read(tmp_path, files), records(tmp_path / "fetched", **SPAN)
    assert one == two
    (tmp_path / "other").mkdir()
    other = read(tmp_path / "other", files | {"files/E-9-2022-000001_en.docx": question(1, "How?")})
    assert one.origin.revision != other.origin.revision


def test_what_a_folder_must_be(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="there is no folder"):
        records(tmp_path / "absent", **SPAN)
    with pytest.raises(FileError, match=r"fetched\.jsonl"):
        records(tmp_path, **SPAN)
    place = folder(tmp_path / "a", {"questions/2022-1.json": {"data": [work()]}})
    with pytest.raises(UsageError, match="swap them"):
        records(place, first=date(2022, 2, 1), last=date(2022, 1, 1))
    with pytest.raises(UsageError, match="for context"):
        records(place, context_from=date(2022, 1, 1), **SPAN)
    (place / "questions" / "2022-1.json").write_text("{}")
    with pytest.raises(DigestError, match=r"questions/2022-1\.json"):
        records(place, **SPAN)


def test_a_long_read_says_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.sources.europarl.records._OFTEN", 1)
    said: list[str] = []
    asked = work(inverse_answers_to=[reply()])
    files = {"files/E-9-2022-000001_en.docx": question(1), "files/E-9-2022-000001-ASW_en.docx": answer()}
    read(tmp_path, {"questions/2022-1.json": {"data": [asked]}} | files, told=said.append)
    assert said == ["1 of 1 questions read", "1 of 1 answers read"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", r"questions\.jsonl:2: no JSON"),
        ("[]", r"questions\.jsonl:2: expected a JSON object"),
        ('{"answers": []}', r"questions\.jsonl:2 \$\.id: missing"),
    ],
)
def test_a_sample_with_a_bad_line_says_which(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "questions.jsonl").write_text('{"id": "E-9-2022-000001", "answers": []}\n' + line + "\n")
    with pytest.raises(FormatError, match=said):
        from_sample(tmp_path)
    with pytest.raises(FileError, match="there is no file"):
        from_sample(tmp_path / "absent")


def test_a_sample_takes_texts_where_there_are_any(tmp_path: Path) -> None:
    row = {"id": "E-9-2022-000001", "date_raw": "2022-01-02T23:00:00Z", "titles": {"en": "Fees"}, "languages": ["en"],
           "answers": [{"id": "E-9-2022-000001-ASW", "date_raw": "2022-02-15T23:00:00Z", "answers_to": ["E-9-2022-000001"]}]}  # fmt: skip
    text = {
        "id": "E-9-2022-000001",
        "subject": "Fees",
        "text": "Subject: Fees\n\nWhy?",
        "answer": {"id": "E-9-2022-000001-ASW", "text": "Reply\n(16.2.2022)\n\nSo."},
    }
    (tmp_path / "questions.jsonl").write_text(
        json.dumps(row) + "\n\n" + json.dumps(row | {"id": "E-9-2022-000002", "answers": []})
    )
    (tmp_path / "texts_en").mkdir()
    (tmp_path / "texts_en" / "a.jsonl").write_text(json.dumps(text))
    found = from_sample(tmp_path)
    assert [(one.id, one.text) for one in found.questions] == [("E-9-2022-000001", "Why?"), ("E-9-2022-000002", "Fees")]
    assert [(one.text, one.cut, one.answers) for one in found.answers] == [("So.", False, ("E-9-2022-000001",))]
