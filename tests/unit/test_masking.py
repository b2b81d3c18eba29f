"""Masking: nothing that names a record stays; the rest of the text does. Leaks are counted by other means."""

from __future__ import annotations

import json
import math
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.building import leaks
from assay.building.citations import Anchor
from assay.building.house import Parts, printed_forms
from assay.building.houses import EUROPEAN_PARLIAMENT as EP
from assay.building.houses import UK_PARLIAMENT as UK
from assay.building.leaks import leak_rate, planted_recall
from assay.building.masking import body_of, masked, masked_texts
from assay.errors import UsageError
from assay.texts import Texts

HOUSES = {"ep": EP, "uk": UK}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("See E-1/2020.", "See [MASKED]."),
        ("See E-000001/2020, 000002/2020 and P-3/20 on this.", "See [MASKED] on this."),
        ("See E-1/2020 and also https://a.eu/x, both.", "See [MASKED], both."),
        ("Written Questions Nos 505/90 and 547/90.", "Written Questions Nos [MASKED]."),
        ("Question E-1/2020, Question E-2/2020 and P\u20113/20.", "Question [MASKED]."),
        ("In E-1/2020. E-2/2020 is another.", "In [MASKED]. [MASKED] is another."),
        ("In E-1/2020 of May and E-2/2020 of June.", "In [MASKED] of May and [MASKED] of June."),
        ("91999E0025 (OJ C 123, 1.2.2000, p. 15)", "[MASKED]"),
        ("text PE681.203v01-00 end", "text [MASKED] end"),
        ("Body.\nSupporter[1]: Jane Low (Party)\nQuestion reference: E-1/2020", "Body.\n[MASKED]"),
        (
            "Body.\nSupporters[1]:\nJane Low (PPE), Al Top (S&D),\nBo Lee (Greens/EFA)\n\nEnd.",
            "Body.\n[MASKED]\n\nEnd.",
        ),
        ("Body.\nSupporter\nJane Low (NI)\nAl Top (ECR)\nWhy?", "Body.\n[MASKED]\nWhy?"),
        (
            "Body.\n[1] This question is supported by Members other than the author: Jane Low,\nAl Top (NI)\nPE681",
            "Body.\n[MASKED]\nPE681",
        ),
        (
            "Supporters of fees (EU) say so.\nIt is supported by us (EU)",
            "Supporters of fees (EU) say so.\nIt is supported by us (EU)",
        ),
        ("See E 001234/2020 on this.", "See [MASKED] on this."),
        ("Questions E-000001, E\u2011000002 and e-000003/2020.", "Questions [MASKED]."),
        ("Directive 2014/53/EU stays, and so does 12/2020.", "Directive 2014/53/EU stays, and so does 12/2020."),
        ("nothing", "nothing"),
        ("", ""),
    ],
)
def test_what_is_masked(text: str, left: str) -> None:
    assert masked(text, EP).text == left
    assert masked_texts(Texts.of([text, "x", text]), EP)[0] == [left, "x", left]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("to respond to Question (a) 5477 and (b) 5478 tabled by", "to respond to Question (a) [MASKED] tabled by"),
        ("to Questions 5901, 5897 and 5898, on what", "to Questions [MASKED], on what"),
        ("in response to PQ 4875 and PQ 4876.", "in response to PQ [MASKED]."),
        ("to Question 4,359 on fees", "to Question [MASKED] on fees"),
        ("to Questions 4,359, 4,360 and 14,361.", "to Questions [MASKED]."),
        ("to PQs 5901,5897 and 5898.", "to PQs [MASKED]."),
        (
            "to Question 5477, 1,500 officers and Question 1,000 people",
            "to Question [MASKED], 1,500 officers and Question 1,000 people",
        ),
        ("(UIN 194829), noting", "(UIN [MASKED]), noting"),
        (
            "at https://questions-statements.parliament.uk/written-questions/detail/2023-11-21/2956 today",
            "at [MASKED] today",
        ),
        ("The £5,000 of 2023 in Statement HCWS161.", "The £5,000 of 2023 in Statement HCWS161."),
    ],
)
def test_what_is_masked_in_the_uk(text: str, left: str) -> None:
    assert masked(text, UK, day=date(2024, 1, 1)).text == left


def test_links_of_the_source_are_masked_where_they_lead_to_a_record() -> None:
    text = "as said here and there"
    anchors = [
        Anchor(8, 12, "https://www.europarl.europa.eu/doceo/document/E-9-2020-000003_EN.html"),
        Anchor(17, 22, "https://example.org/"),
    ]
    found = masked(text, EP, anchors=anchors)
    assert (found.text, found.counts) == ("as said [MASKED] and there", {"links": 1})
    assert masked_texts(Texts.of(["", text]), EP, anchors={1: anchors}) == (["", found.text], {"links": 1})


@pytest.mark.parametrize("token", ["", " ", "E-1/2020", "https://a.eu"])
def test_a_token_must_not_read_as_an_id(token: str) -> None:
    with pytest.raises(UsageError, match="mask token"):
        masked("text", EP, token=token)
    with pytest.raises(UsageError, match="mask token"):
        masked_texts(Texts.of([]), EP, token=token)


@pytest.mark.parametrize(
    ("text", "body", "subject"),
    [
        (
            "Question for written answer E-001357/2024/rev.1\nto the Council\nRule 144\nA. Low (Left)\n"
            "Subject: Fees: a question\n\nWhat are fees?\n\nPE763.351v01-00\nSubmitted: 16.7.2024",
            "What are fees?",
            "Fees: a question",
        ),
        ("Předmět: Důl Turów – žaloba\n\nKdy?", "Kdy?", "Důl Turów – žaloba"),
        ("EN\nE-001357/2024\nAnswer given by Mr Low\non behalf of the European Commission\n(2.12.2024)\n\nIt acts.", "It acts.", ""),
        ("Joint answer given by Ms Low\non behalf of the Commission\n(12 .1.2021)\nWe act.\n\nOn behalf of all.", "We act.\n\nOn behalf of all.", ""),
        ("Odpověď\n\n(24.5.2023)\n\nRada jedná.", "Rada jedná.", ""),
        ("EN\nE-1/2020\nReply\n(8 June 2020)\n\nThe Council acts.", "The Council acts.", ""),
        ("A text without a header. Subject: of a sentence.", "A text without a header. Subject: of a sentence.", ""),
        ("(2.12.2020)", "(2.12.2020)", ""),
        ("", "", ""),
    ],
)  # fmt: skip
def test_headers_and_footers_are_cut(text: str, body: str, subject: str) -> None:
    found = body_of(text, EP)
    assert (text[found.start : found.end], found.subject) == (body, subject)


def test_headers_of_the_full_texts_in_czech_are_cut(shared_data: Any) -> None:
    from assay.formats import jsonl

    rows = (shared_data / "ep_questions" / "texts_cs" / "questions_answers_cs.jsonl").read_text("utf-8").splitlines()
    assert len(rows) == 13
    table = jsonl.read_table(shared_data / "ep_questions" / "texts_cs" / "questions_answers_cs.jsonl", {})
    subjects = []
    for text in table.text("text"):
        body = body_of(text, EP)
        subjects.append(body.subject)
        assert not text[body.start : body.end].startswith(("Předmět", "Subject"))
    assert subjects == table.text("subject").to_list()
    for row in rows:
        text = json.loads(row)["answer"]["text"]
        body = body_of(text, EP)
        head = text[: body.start].strip().splitlines()
        assert re.fullmatch(r"\(\d{1,2}\.\d{1,2}\.\d{4}\)", head[-1])
        assert not re.search("^(Odpověď|jménem)", text[body.start : body.end], re.M)


@settings(deadline=None, max_examples=120)
@given(
    st.sampled_from(sorted(HOUSES)),
    st.lists(st.integers(100, 9999), min_size=1, max_size=4),
    st.dates(date(2014, 7, 2), date(2025, 6, 1)),
    st.sampled_from(["", "Some words before it. ", "é😀 ünder "]),
    st.data(),
)
def test_planted_ids_are_masked_in_every_form(name: str, numbers: list[int], day: date, around: str, data: Any) -> None:
    house = HOUSES[name]
    letter = data.draw(st.sampled_from(house.letters))
    printed = []
    for number in numbers:
        forms = printed_forms(house, Parts(number, day.year, letter, house.period_of(day), day))
        printed.append(forms[data.draw(st.sampled_from(sorted(forms)))])
    text = f"{around}the answer to {' and '.join(printed)} says so. {around}"
    left = masked(text, house, day=day).text
    assert not re.search(r"\d", left), left
    assert left.startswith(f"{around}the answer to ")
    assert left.endswith(f"says so. {around}")
    assert masked_texts(Texts.of([text]), house)[0] == [masked(text, house).text]


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=60), st.sampled_from(sorted(HOUSES)))
def test_a_text_without_ids_stays_as_it_is(text: str, name: str) -> None:
    text = re.sub(r"[\d./]|:|www|\d", "", text.encode("utf-8", "ignore").decode())
    if not any(c.isdigit() for c in text) and "OJ" not in text:
        assert masked(text, HOUSES[name]).text == text


@pytest.mark.parametrize(
    ("text", "strings"),
    [
        ("I refer to the answer to E-4819/2020.", ["4819/2020"]),
        ("I refer to the answer to E\u20114819\u00a0/\u00a020.", ["4819 / 20"]),
        ("the answer E-9-2020-004819", ["2020-004819"]),
        ("the reply 2020-004819 alone", []),
        ("E-4819/2020 without any such word", []),
        (f"the answer{'.' * 61} E-4819/2020", []),
        ("the answer to E-4818/2020 is of no record", []),
        ("the answer on Directive 4819/20", []),
        ("https://a.eu/x is a record's own", ["https://a.eu/x"]),
        ("https://other.eu/E-9-2020-004819.html has an id", ["https://other.eu/E-9-2020-004819.html"]),
        ("https://other.eu/y is not", []),
        ("the answer to [MASKED]", []),
    ],
)
def test_leaks(text: str, strings: list[str]) -> None:
    found = leak_rate([text, "clean"], ["E-9-2020-004819", "E-9-2020-004819-ASW"], record_urls=["http://www.a.eu/x/"])
    assert [leak.text for leak in found.leaks] == strings
    assert found.rate == (0.5 if strings else 0.0)


def test_numbers_alone_leak_where_they_stand_for_one_record() -> None:
    ids = ["wq-2023-12-06-5477", "wq-2023-12-06-5477-ASW", "wq-2023-12-01-12", "wq-2024-12-01-12", "wq-2023-12-06-2020"]
    texts = [
        "plans to respond to Question (a) 5477",
        "Question 12",
        "the answer of £5477 and 5,477",
        "question of 2020",
        "PQ 2020",
        "Questions 5,477 and 4,819/2020",
    ]
    found = leak_rate(texts, ids, alone=True)
    assert [(leak.row, leak.text) for leak in found.leaks] == [(0, "5477"), (4, "2020"), (5, "5,477")]
    assert leak_rate(texts, ids).leaking == 0
    assert math.isnan(leak_rate([], ids).rate)


@given(st.text("0123456789,, a/", max_size=30))
def test_numbers_with_commas_are_found_in_stretches_as_in_the_whole_text(text: str) -> None:
    whole = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+")
    assert leaks._runs(text) == [match.span() for match in whole.finditer(text)]


def test_leaks_are_counted_without_the_patterns_of_masking() -> None:
    """What masking would not find is still a leak."""
    text = "answer to e.4819_2020"
    assert masked(text, EP).text == text
    assert leak_rate([text], ["E-9-2020-004819"]).leaking == 1
    source = Path(leaks.__file__).read_text("utf-8")
    assert "identifiers(" not in source


@pytest.mark.parametrize("name", sorted(HOUSES))
def test_recall_on_planted_ids(name: str) -> None:
    found = planted_recall(HOUSES[name], seed=1)
    assert (found.recall, found.planted, found.missed) == (1.0, 1000, ())
    assert set(found.forms) == set(HOUSES[name].printed)
    assert planted_recall(HOUSES[name], seed=1) == found
    assert planted_recall(HOUSES[name], seed=1, n=0).recall != 1


def test_recall_counts_what_is_missed() -> None:
    from dataclasses import replace

    blind = replace(EP, printed={"slash": "{letter}-{number}/{year}", "odd": "{letter}~{number}"})
    found = planted_recall(blind, seed=3, n=10)
    assert found.forms == {"slash": (5, 5), "odd": (0, 5)}
    assert found.recall == 0.5
    assert len(found.missed) == 5
    with pytest.raises(UsageError, match="no printed form"):
        planted_recall(replace(EP, printed={}), seed=1)


def test_a_month_of_the_uk_parliament_after_masking(shared_data: Any) -> None:
    from assay.formats import jsonl

    folder = shared_data / "uk_written_questions" / "session_2023-24"
    tables = [jsonl.read_table(folder / f"{name}.jsonl", {}) for name in ("queries", "corpus")]
    ids = [id_ for table in tables for id_ in table.text("_id")]
    addresses = tables[1].text("source_url").to_list()
    raw = [text for table in tables for text in table.text("raw_text")]
    done, counts = masked_texts(Texts.of(raw), UK)
    found = leak_rate(done, ids, record_urls=addresses, alone=True)
    # "we have issued 5242 certificates": a number by chance near "referring".
    assert [leak.text for leak in found.leaks] == ["5242"]
    assert leak_rate(raw, ids, record_urls=addresses, alone=True).leaking > 100
    first_build = [text for table in tables for text in table.text("text")]
    assert {leak.text for leak in leak_rate(first_build, ids, record_urls=addresses, alone=True).leaks} >= {
        "5477",
        "5478",
    }
    assert counts["ids"] > 400
