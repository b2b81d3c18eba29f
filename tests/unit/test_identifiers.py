"""Identifiers: every printed form to one id, look-alikes left alone, the fast scan equal to the plain one."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.building.house import Form, House, Parts, Period, folded, printed_forms
from assay.building.houses import EUROPEAN_PARLIAMENT, UK_PARLIAMENT, uin_of
from assay.building.identifiers import identifiers, identifiers_in, resolved, url_ids, urls
from assay.texts import Texts

EP, UK = EUROPEAN_PARLIAMENT, UK_PARLIAMENT
HOUSES = {"ep": EP, "uk": UK}


def named(text: str, house: House = EP, **rest: Any) -> list[str]:
    return [one.ids[0] for one in identifiers(text, house, **rest)]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("E-003604/2026", ["E-10-2026-003604"]),
        ("E-003205-15", ["E-8-2015-003205"]),
        ("E-003205-2015", ["E-8-2015-003205"]),
        ("E-000302/15", ["E-8-2015-000302"]),
        ("P\u201110522/2010", ["P-7-2010-010522"]),
        ("E\u201106543/2011", ["E-7-2011-006543"]),
        ("question\u00a0E-001234/2020", ["E-9-2020-001234"]),
        ("E\u00a0-\u00a0001234\u00a0/\u00a02020", ["E-9-2020-001234"]),
        ("E 1234/2020", ["E-9-2020-001234"]),
        ("E\u00a0001234/2020(ASW)", ["E-9-2020-001234"]),
        ("E 1234/20, 1235/20 and P 000012/2021", ["E-9-2020-001234", "E-9-2020-001235", "P-9-2021-000012"]),
        ("E-001667/2021/rev.1", ["E-9-2021-001667"]),
        ("E-006135/2011(ASW)", ["E-7-2011-006135"]),
        ("E-006135/2011 (ASW)", ["E-7-2011-006135"]),
        ("n°E-004819/2020", ["E-9-2020-004819"]),
        ("n° E-4819/20", ["E-9-2020-004819"]),
        ("E-1340/00", ["E-5-2000-001340"]),
        ("Written Question No 1649/91", ["E-3-1991-001649"]),
        ("the answers to Written Questions Nos 505/90 and 547/90", ["E-3-1990-000505", "E-3-1990-000547"]),
        ("CELEX 92000E0025", ["E-5-2000-000025"]),
        ("E-2 8 9/95", ["E-4-1995-000289"]),
        ("E-l 762/95", ["E-4-1995-001762"]),
        ("E-9-2020-004819", ["E-9-2020-004819"]),
        ("E-9-2020-004819-ASW", ["E-9-2020-004819"]),
        ("P-10-2024-002001", ["P-10-2024-002001"]),
        ("O-000012/2020", ["O-9-2020-000012"]),
        ("e-003604/2026", ["E-10-2026-003604"]),
        ("H-0123/05", ["H-6-2005-000123"]),
        ("E-\u00ad004819/20\u200b20", ["E-9-2020-004819"]),
        ("Ｅ－００４８１９／２０２０", ["E-9-2020-004819"]),
    ],
)
def test_printed_forms_of_the_european_parliament(text: str, ids: list[str]) -> None:
    assert named(text) == ids
    assert named(f"As said (see {text}).") == ids


@pytest.mark.parametrize(
    ("url", "id_", "answer"),
    [
        ("https://www.europarl.europa.eu/doceo/document/E-9-2020-004819_EN.html", "E-9-2020-004819", False),
        ("http://www.europarl.europa.eu/doceo/document/E-9-2020-004819-ASW_EN.html", "E-9-2020-004819", True),
        ("https://europarl.europa.eu/doceo/document/E-9-2020-004819-ASW_EN.pdf", "E-9-2020-004819", True),
        ("https://www.europarl.europa.eu/doceo/document/E-9-2020-004819_EN.html?redirect", "E-9-2020-004819", False),
        (
            "http://www.europarl.europa.eu/sides/getDoc.do?pubRef=-//EP//TEXT+WQ+E-2012-007390+0+DOC+XML+V0//EN",
            "E-7-2012-007390",
            False,
        ),
        (
            "http://www.europarl.europa.eu/sides/getDoc.do?pubRef=-%2F%2FEP%2F%2FTEXT%2BWQ%2BE-2012-007390%2B0%2BDOC",
            "E-7-2012-007390",
            False,
        ),
        (
            "http://www.europarl.europa.eu/sides/getAllAnswers.do?reference=E-2011-007160&language=EN",
            "E-7-2011-007160",
            True,
        ),
        ("https://data.europarl.europa.eu/eli/dl/doc/E-10-2024-001357-ASW", "E-10-2024-001357", True),
        (
            "https://data.europarl.europa.eu/distribution/reds_iMaQp/E-10-2024-001357/E-10-2024-001357_en.docx",
            "E-10-2024-001357",
            False,
        ),
        ("https://eur-lex.europa.eu/legal-content/EN/TXT/?uri=CELEX:92000E0025", "E-5-2000-000025", False),
    ],
)
def test_addresses_of_the_european_parliament(url: str, id_: str, answer: bool) -> None:
    assert url_ids(url, EP) == ((id_,), answer)
    found = identifiers(f"See {url}, there.", EP)
    assert [(one.ids, one.form, one.answer, one.start, one.end) for one in found] == [
        ((id_,), "url", answer, 4, 4 + len(url))
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Directive 2014/53/EU and Directive 2000/60/EC",
        "Regulation (EC) No 1649/91 on questions",
        "Commission Regulation No 1649/91",
        "COM(2020) 123 final, SWD(2020)0123",
        "page E 12/2020, Annex E 123/20, Case E 1234/2020",
        "Case E-15/10, Case C-121/21 and T-123/20",
        "C-389/20 P, ECLI:EU:C:2022:74",
        "Petition No 0123/2019 and petition 0123/2019",
        "OJ C 123, 12.3.2020, p. 15; OJ L 327/1",
        "Council Decision 1999/468/EC and A9-0123/2020",
        "Written statement, Directive No 53/14",
        "the E-40 road, E-numbers E-330 and E-331, E-2020",
        "see question 5 of 12/2020",
        "PE681.203v01-00",
        "https://www.europarl.europa.eu/news/en/press-room",
        "https://example.org/E-9-2020-004819",
        "E-000000/2020",
        "E-001234/1812",
        "E-11-2020-004819 and E-9-1999-004819",
    ],
)
def test_lookalikes_are_no_ids(text: str) -> None:
    assert identifiers(text, EP) == []


@pytest.mark.parametrize(
    "text",
    [
        "In its proposal (see E-004819/2020), it",
        "The Directive (E\u201104819/2020)",
        "its decision, answer E-9-2020-004819-ASW",
        "on Regulation 1/2020, which E-004819/20 named",
        "the procedure in E-4819/2020",
    ],
)
def test_no_word_before_hides_an_id_that_nothing_else_looks_like(text: str) -> None:
    assert named(text) == ["E-9-2020-004819"]
    assert [row for row, _, _ in identifiers_in(Texts.of(["", text]), EP)] == [1]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("E-000001/2020, 000002/2020 and P-3/20", ["E-9-2020-000001", "E-9-2020-000002", "P-9-2020-000003"]),
        ("P-000001/2020, 000002 and 000003/2021", ["P-9-2020-000001", "P-9-2020-000002", "P-9-2021-000003"]),
        ("E-000001/2020 and E-000002", ["E-9-2020-000001", "E-9-2020-000002"]),
        # A year is no item; an item without an opening id is none; a new sentence ends a list.
        ("E-000001/2020 and 2021 reports", ["E-9-2020-000001"]),
        ("000002/2020 and 000003/2020", []),
        ("E-000001/2020. 000002/2020 was another", ["E-9-2020-000001"]),
        ("E-000001/2020 and Directive 2014/53/EU", ["E-9-2020-000001"]),
    ],
)
def test_lists_inherit_only_from_a_full_id(text: str, ids: list[str]) -> None:
    assert named(text) == ids


def test_items_know_their_place_in_a_list() -> None:
    found = identifiers("E-1/2020, 2/2020 and P-3/20; then E-9/2021", EP)
    assert [one.item for one in found] == [0, 1, 2, 0]
    assert [one.form for one in found] == ["slash", "inherited", "slash", "slash"]


def test_a_day_tells_the_term_where_the_year_does_not() -> None:
    assert identifiers("E-001234/2024", EP)[0].ids == ("E-10-2024-001234", "E-9-2024-001234")
    assert identifiers("E-001234/2024", EP, day=date(2024, 7, 15))[0].ids == ("E-9-2024-001234",)
    assert identifiers("E-001234/2019", EP, day=date(2019, 7, 1))[0].ids == ("E-8-2019-001234",)
    assert [EP.period_of(date(2014, 6, 30)), EP.period_of(date(2014, 7, 1))] == ["7", "8"]
    assert [EP.period_of(date(2019, 7, 1)), EP.period_of(date(2019, 7, 2))] == ["8", "9"]
    assert EP.period_of(date(1950, 1, 1)) == ""
    assert resolved(("E-10-2024-001234", "E-9-2024-001234"), {"E-9-2024-001234"}) == "E-9-2024-001234"
    assert resolved(("x",), set()) is None


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Question 4823.", ["2023-24/4823"]),
        ("question 4823.", ["2023-24/4823"]),
        ("Question (a) 5477 and (b) 5478 tabled by", ["2023-24/5477", "2023-24/5478"]),
        ("to Questions 5901, 5897 and 5898, on what", ["2023-24/5901", "2023-24/5897", "2023-24/5898"]),
        ("PQs 5054 and 5055 could", ["2023-24/5054", "2023-24/5055"]),
        ("PQ 4875 and PQ 4876.", ["2023-24/4875", "2023-24/4876"]),
        ("PQ93 on 14 November 2023", ["2023-24/93"]),
        ("WPQ 4645 on 1 December 2023", ["2023-24/4645"]),
        ("answer to Question UIN 195098 on 6 September 2023", ["2022-23/195098"]),
        ("Parliamentary Question Number 3703", ["2023-24/3703"]),
        ("(UIN 194829), noting", ["2023-24/194829"]),
        ("Official Report, House of Lords, PQ HL571, this", ["2023-24/HL571"]),
        ("Question HL5679,on Prisoners", ["2023-24/HL5679"]),
        ("my previous answer provided to 186813 on 9 June 2023", ["2022-23/186813"]),
        ("the Answer of 26 June 2023 to Question 190334, whether", ["2022-23/190334"]),
        ("https://questions-statements.parliament.uk/written-questions/detail/2023-11-21/2956The", ["2023-24/2956"]),
        ("https://questions-statements.parliament.uk/written-questions/detail/2023-06-26/HL8422", ["2022-23/HL8422"]),
        (
            "to Questions 102528 on Stoves: Regulation and 102529 on Stoves: Labels",
            ["2023-24/102528", "2023-24/102529"],
        ),
        ("Question 4,359 and UIN: 190,334", ["2023-24/4359", "2023-24/190334"]),
        ("Questions 4,359, 4,360 and 14,361", ["2023-24/4359", "2023-24/4360", "2023-24/14361"]),
        ("PQs 5901,5897 and 5898", ["2023-24/5901", "2023-24/5897", "2023-24/5898"]),
        ("Question 5477, 1,500 officers; Question 4,359 people; Question 1,234,567", ["2023-24/5477"]),
        ("UIN 5635 and 12 others", ["2023-24/5635"]),
        ("question of 12 December 2023", []),
        ("Question 1813, 21 November", ["2023-24/1813"]),
        ("questions 1 and 2 of the survey", []),
        ("Question 12 of the consultation", []),
        (
            "the standard response: 203976 and HL10597. Hl10597 was",
            ["2023-24/203976", "2023-24/HL10597", "2023-24/HL10597"],
        ),
        ("at a cost of £203976 and HL rules, or 300 HLS", []),
        ("Statement (HCWS161) and £5,000 in question 2,000 times", []),
    ],
)
def test_printed_forms_of_the_uk_parliament(text: str, ids: list[str]) -> None:
    assert named(text, UK, day=date(2024, 1, 10)) == ids


def test_a_uin_means_a_session() -> None:
    assert uin_of("7292", date(2023, 12, 18)) == "2023-24/7292"
    assert uin_of("7292", date(2023, 10, 1)) == "2022-23/7292"
    undated = identifiers("UIN 7292", UK)[0].ids
    assert undated[0] == "2026-27/7292"
    assert "2023-24/7292" in undated


def test_a_third_house_is_one_value() -> None:
    def read(match: re.Match[str]) -> Parts:
        return Parts(int(match["number"]), period=match["period"])

    bundestag = House(
        name="Bundestag",
        periods=(Period("19", date(2017, 10, 24)), Period("20", date(2021, 10, 26))),
        forms=(Form("printed", re.compile(r"(?P<period>\d\d)/(?P<number>\d{1,5})(?!\d)"), read),),
        canonical=lambda house, parts, day: (f"{parts.period}/{parts.number}",) if parts.period in {"19", "20"} else (),
        joiner=re.compile(r",\s|\sund\s"),
        item=re.compile(r"(?P<number>\d{3,5})(?!\d)"),
        lookalike=re.compile(r"Seite\s$"),
        printed={"printed": "{period}/{number}"},
    )
    text = "auf Drucksache 19/1234, 1235 und 20/77, siehe Seite 19/20 und 12/5"
    assert named(text, bundestag) == ["19/1234", "19/1235", "20/77"]
    rows = list(identifiers_in(Texts.of(["nichts", text]), bundestag))
    assert [(row, [one.ids[0] for one in found]) for row, _, found in rows] == [(1, ["19/1234", "19/1235", "20/77"])]


def test_spans_are_those_of_the_text_itself() -> None:
    text = "😀 see\u00ad P\u201110\u200b522/2010, end"
    (one,) = identifiers(text, EP)
    assert text[one.start : one.end] == "P\u201110\u200b522/2010"
    plain, places = folded(text)
    assert len(places) == len(plain) + 1


def test_addresses_end_where_their_sentence_does() -> None:
    text = "(https://a.eu/x_(y)), 'www.b.eu/z'. europarl.europa.eu/doceo/E-9-2020-000001; HTTPS://C.EU!"
    assert [text[a:b] for a, b in urls(text, EP)] == [
        "https://a.eu/x_(y)",
        "www.b.eu/z",
        "europarl.europa.eu/doceo/E-9-2020-000001",
        "HTTPS://C.EU",
    ]
    glued = "GOV.UK (www.gov.uk)However, [https://a.eu/x]So"
    assert [glued[a:b] for a, b in urls(glued)] == ["www.gov.uk", "https://a.eu/x"]


PIECES = st.one_of(
    st.sampled_from(
        [
            "E-", "P\u2011", "E-1/2020", "000123/2020", " and ", ", ", "No ", "Nos ", "Question ", "question (a) ", "PQ", "UIN ",
            "HL", "5477", "12", "2023", "/", "-", "(ASW)", "/rev.1", "9", "1999E0025", "E-2 8 9/95", "E-l 762/94", "Directive ",
            "https://www.europarl.europa.eu/doceo/document/", "E-9-2020-004819", "\u00a0", "\u00ad", "\u200b", "Ｅ", "１", "é", "😀",
            "(EC) No ", "question (EU) Nos ", "Question(s) No ", "1649/91", "%2B",
            "parliament.uk/2023-12-18/7292", "on 5 June 2023", " to 186813 on 9 ", ".", "\n", "n°", "Anfrage Nr. ", "x", " and ", "102529 on Stoves", "Questions 102528 on ", "e-000001/2020",
        ]
    ),
    st.text(max_size=4),
)  # fmt: skip
TEXT = (
    st.lists(PIECES, max_size=14)
    .map("".join)
    .filter(lambda text: max(text, default="") <= "\ud7ff" or text.isprintable())
)


@settings(deadline=None, max_examples=300)
@given(st.lists(TEXT, max_size=4), st.sampled_from(sorted(HOUSES)))
def test_the_fast_scan_finds_what_the_plain_one_finds(texts: list[str], name: str) -> None:
    house = HOUSES[name]
    texts = [text.encode("utf-8", "ignore").decode() for text in texts]
    expected = [(row, text, found) for row, text in enumerate(texts) if (found := identifiers(text, house))]
    assert list(identifiers_in(Texts.of(texts), house)) == expected


@settings(deadline=None, max_examples=150)
@given(
    st.sampled_from(sorted(HOUSES)),
    st.integers(100, 9999),
    st.dates(date(2014, 7, 2), date(2025, 6, 1)),
    st.sampled_from(["", "padding text " * 30, "é😀 " * 20]),
    st.data(),
)
def test_planted_ids_are_found_in_every_form(name: str, number: int, day: date, around: str, data: Any) -> None:
    house = HOUSES[name]
    letter = data.draw(st.sampled_from(house.letters))
    parts = Parts(number, day.year, letter, house.period_of(day), day)
    wanted = set(house.canonical(house, parts, day))
    for form, printed in printed_forms(house, parts).items():
        text = f"{around}the answer to {printed}; {around}"
        found = identifiers(text, house, day=day)
        assert len(found) == 1, (form, text)
        if "{letter}" in house.printed[form]:
            assert wanted & set(found[0].ids), (form, found)
        else:
            assert {id_[1:] for id_ in wanted} & {id_[1:] for id_ in found[0].ids}, (form, found)
        days = np.asarray([day], "datetime64[D]")
        assert [rows for _, _, rows in identifiers_in(Texts.of([text]), house, days=days)] == [found]


def test_the_full_texts_in_czech_hold_one_id(shared_data: Any) -> None:
    from assay.formats import jsonl
    from assay.formats.table import Field

    table = jsonl.read_table(
        shared_data / "ep_questions" / "texts_cs" / "questions_answers_cs.jsonl", {"_id": Field(str, required=False)}
    )
    texts = table.text("text").to_list()
    assert len(texts) == 13
    found = list(identifiers_in(Texts.of(texts), EP))
    assert [[one.ids for one in ids] for _, _, ids in found] == [[("E-9-2022-001280",)]]
    assert table.text("id")[found[0][0]] == "E-9-2023-003484"
    assert found[0][2][0].answer
