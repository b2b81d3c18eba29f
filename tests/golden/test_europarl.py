"""The European Parliament's open data sample of 2022, and its interface's details, as facts and records."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from assay.building.citations import citations
from assay.building.equivalents import duplicate_answer, equivalents
from assay.building.funnel import Funnel
from assay.building.houses import EUROPEAN_PARLIAMENT
from assay.building.identifiers import resolved
from assay.building.links import linked
from assay.building.near import EquivalentRules
from assay.building.records import Records
from assay.sources.europarl.metadata import Oddities, QuestionFacts, question_facts, rdf_facts, works
from assay.sources.europarl.organisations import organisation
from assay.sources.europarl.sample import from_sample
from assay.texts import Texts

JOINT = {
    "E-9-2021-005720-ASW": {"E-9-2021-005720", "E-9-2022-000464", "E-9-2022-000576"},
    "E-9-2022-000032-ASW": {"E-9-2022-000032", "E-9-2022-000033"},
    "E-9-2022-000082-ASW": {"E-9-2022-000082", "E-9-2022-000095", "E-9-2022-000185"},
    "E-9-2022-000127-ASW": {"E-9-2022-000127", "E-9-2022-000130"},
    "E-9-2022-000181-ASW": {"E-9-2022-000181", "E-9-2022-000294"},
    "E-9-2022-000275-ASW": {"E-9-2022-000275", "E-9-2022-000276"},
    "E-9-2022-000386-ASW": {"E-9-2022-000386", "E-9-2022-000444"},
    "P-9-2022-000026-ASW": {"E-9-2022-000030", "P-9-2022-000026"},
}


@cache
def read(folder: Path) -> Records:
    return from_sample(folder)


@pytest.fixture
def folder(shared_data: Path) -> Path:
    return shared_data / "ep_questions"


def rows(folder: Path, name: str = "questions.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines()]


def of_the_sample(folder: Path) -> tuple[Any, Any]:
    """The questions of the sample's metadata, and the answers to them."""
    found = read(folder)
    ids = {row["id"] for row in rows(folder)}
    questions = [one for one in found.questions if one.id in ids]
    return questions, [one for one in found.answers if ids & set(one.answers)]


def test_400_questions_link_to_388_answers(folder: Path) -> None:
    questions, answers = of_the_sample(folder)
    assert (len(questions), len(answers)) == (400, 388)
    replied = {id_ for one in answers for id_ in one.answers}
    assert len({one.id for one in questions} & replied) == 395
    assert {one.id: set(one.answers) for one in answers if len(one.answers) > 1} == JOINT
    assert {one.text for one in answers} == {""}
    assert all(one.cut for one in answers)
    assert sum(one.type == "QUESTION_WRITTEN_PRIORITY" for one in questions) == sum(
        one.id.startswith("P-") for one in questions
    )


def test_the_links_of_a_build_are_those_of_the_source(folder: Path) -> None:
    found = read(folder)
    links = linked(found, Funnel())
    asked = {links.answers[row].id: {links.questions[one].id for one in rows_} for row, rows_ in enumerate(links.asked)}
    # Their other questions are not in the sample.
    assert asked["E-9-2021-005720-ASW"] == {"E-9-2022-000464"}
    assert asked["P-9-2022-000026-ASW"] == {"E-9-2022-000030"}
    assert asked["E-9-2022-000082-ASW"] == JOINT["E-9-2022-000082-ASW"]


def test_every_date_is_the_day_in_brussels(folder: Path) -> None:
    questions, answers = of_the_sample(folder)
    told = {row["id"]: date.fromisoformat(row["date"]) for row in rows(folder)}
    told |= {one["id"]: date.fromisoformat(one["date"]) for row in rows(folder) for one in row["answers"]}
    assert {one.id: one.date for one in (*questions, *answers)} == told
    in_utc = [date.fromisoformat(row["date_raw"][:10]) for row in rows(folder)]
    assert all((told[row["id"]] - day).days == 1 for row, day in zip(rows(folder), in_utc))
    first = min(one.date for one in questions)
    assert (first, max(one.date for one in questions)) == (date(2022, 1, 3), date(2022, 2, 3))


def test_all_organisations_have_a_name(folder: Path) -> None:
    found = read(folder)
    questions, _ = of_the_sample(folder)
    assert Counter(one.addressee for one in questions) == {
        "Commission": 367,
        "High Representative": 23,
        "Council": 10,
    }
    assert (found.funnel.dropped("field addressee"), found.funnel.dropped("field institution")) == (0, 0)
    codes = set()
    for path in sorted((folder / "ttl").glob("*.ttl.gz")):
        codes |= set(re.findall(r"corporate-body/([\w-]+)", gzip.decompress(path.read_bytes()).decode("utf-8")))
    assert {code: organisation(code) for code in codes} == {
        "COM": "Commission",
        "CONSIL": "Council",
        "HRUFASP": "High Representative",
        "EP": None,  # who publishes; nobody asks the Parliament
    }


def test_languages_of_the_originals_are_deduced_where_there_are_two(folder: Path) -> None:
    questions, _ = of_the_sample(folder)
    says = Counter(one.orig_lang_src for one in questions)
    assert says == {"deduced": 378, "": 22}
    assert Counter(one.orig_lang for one in questions)["en"] == 10
    assert {one.orig_lang for one in questions if len(one.orig_lang) not in (0, 2)} == set()


def test_details_of_the_interface_say_what_the_older_rdf_says(folder: Path) -> None:
    name = "questions_detail_2022.derived.json"
    funnel = Funnel()
    old = {row["id"]: rdf_facts(row, Oddities(funnel)) for row in rows(folder)}
    new = [
        question_facts(work, Oddities(funnel))
        for work in works(json.loads((folder / "api_samples" / name).read_text("utf-8")), name)
    ]
    assert len(new) == 32

    def facts(one: QuestionFacts) -> Any:
        answers = [(a.id, a.date, set(a.answers), a.organisations, a.bare) for a in one.answers]
        return (
            one.id,
            one.date,
            one.type,
            one.term,
            one.titles,
            set(one.authors),
            one.addressees,
            one.languages,
            answers,
        )

    assert [facts(one) for one in new] == [facts(old[one.id]) for one in new]
    assert all(one.original() == old[one.id].original() for one in new)
    assert [step for step in funnel.steps if funnel.dropped(step)] == []


def test_a_detail_of_2024(folder: Path) -> None:
    name = "question_E-10-2024-001357.quoted.json"
    found = Oddities(Funnel())
    [work] = works(json.loads((folder / "api_samples" / name).read_text("utf-8")), name)
    facts = question_facts(work, found)
    assert (facts.id, facts.date, facts.term) == ("E-10-2024-001357", date(2024, 7, 16), "10")
    assert (facts.addressees, facts.authors, facts.original()) == (("CS",), ("257083",), ("pt", "declared"))
    assert facts.languages == ("en", "pt")
    assert facts.headers["en"].splitlines()[1:3] == ["to the Council", "Rule 144"]
    assert [path.rpartition(".")[2] for path in facts.files["en"]] == ["docx", "pdf"]
    [answer] = facts.answers
    assert (answer.id, answer.date, answer.answers) == (
        "E-10-2024-001357-ASW",
        date(2025, 2, 26),
        ("E-10-2024-001357",),
    )


def test_headers_and_footers_of_the_13_full_texts_are_cut(folder: Path) -> None:
    found = read(folder)
    told = {row["id"]: row for row in rows(folder, "texts_cs/questions_answers_cs.jsonl")}
    questions = [one for one in found.questions if one.id in told]
    answers = {id_: one for one in found.answers for id_ in one.answers}
    assert len(questions) == 13
    for one in questions:
        row = told[one.id]
        assert one.subject == row["subject"]
        assert not re.search(r"^(?:Předmět|Subject)|Předložení", one.text)
        body = row["text"].partition("\n\n")[2]
        assert one.text == re.sub(r"\n\nPředložení: [\d.]+$", "", body)
        said = answers[one.id]
        header, last, text = row["answer"]["text"].partition(")\n\n")
        assert (said.header, said.text) == (header + last.strip(), text)
        assert said.date == date.fromisoformat(row["answer"]["date"])
    assert found.funnel.record()["texts of questions"]["kept"] == 13


def test_the_day_of_the_portal_is_kept_against_that_of_the_header(folder: Path) -> None:
    [one] = [one for one in read(folder).answers if one.id == "E-9-2023-000563-ASW"]
    assert (one.date, one.header) == (date(2023, 5, 26), "Odpověď\n\n(24.5.2023)")


def test_a_question_cites_an_answer_in_its_text(folder: Path) -> None:
    found = read(folder)
    known = {one.id for one in found.questions}
    titles = {row["id"] for row in rows(folder)}
    cited = {}
    for one in (one for one in (*found.questions, *found.answers) if one.id not in titles):
        ids = [
            (c.form, c.answer, resolved(c.ids, known)) for c in citations(one.text, EUROPEAN_PARLIAMENT, day=one.date)
        ]
        if ids:
            cited[one.id] = ids
    assert cited == {"E-9-2023-003484": [("slash", True, "E-9-2022-001280")]}


def test_two_answers_of_one_text_are_equivalents(folder: Path) -> None:
    found = read(folder)
    texts = Texts.of([one.text for one in found.answers])
    same = duplicate_answer(texts, EquivalentRules())
    ids = [one.id for one in found.answers]
    groups = Counter(same.tolist())
    [row] = [row for row, count in groups.items() if count > 1]
    assert [ids[place] for place, first in enumerate(same.tolist()) if first == row] == [
        "E-9-2021-000675-ASW",
        "E-9-2021-000676-ASW",
    ]


def test_one_subject_asked_of_two_is_no_pair_of_duplicates(folder: Path) -> None:
    found = read(folder)
    full = [one for one in found.answers if one.text]
    asked = {one.id: one for one in found.questions}
    questions = [asked[one.answers[0]] for one in full]
    told = equivalents(
        Texts.of([one.text for one in questions]), Texts.of([one.text for one in full]), EUROPEAN_PARLIAMENT
    )
    pairs = {
        frozenset((full[row].id, full[other].id)) for row, others in told.duplicate_answer.items() for other in others
    }
    assert pairs == {frozenset(("E-9-2021-000675-ASW", "E-9-2021-000676-ASW"))}
    one, two = asked["E-9-2023-000563"], asked["E-9-2023-000564"]
    assert one.subject == two.subject
    assert (one.addressee, two.addressee) == ("Council", "High Representative")
