"""Citations: sources, referral or mention with the phrase that decided, footnotes tied to their sentence."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.building.citations import (
    Anchor,
    CitationRules,
    citations,
    citations_in,
    decided,
    footnotes,
    sentence_around,
)
from assay.building.houses import EUROPEAN_PARLIAMENT as EP
from assay.building.houses import UK_PARLIAMENT as UK
from assay.texts import Texts


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        (
            "The Commission would refer the Honourable Member to its answer to Written Question E-1/2020.",
            "would refer the Honourable Member to",
        ),
        ("The Commission refers the Honourable Members to its previous reply to E-1/2020.", "refers the Honourable Members to"),
        ("The Honourable Member is invited to refer to the reply to E-1/2020.", "The Honourable Member is invited to refer to"),
        ("The Honourable Member is referred to the answer to question E-1/2020.", "The Honourable Member is referred to"),
        ("The Honourable Member may wish to note this. See the answer to E-1/2020.", "See"),
        ("The matter is described elsewhere; see E-1/2020.", "see"),
        (
            "The Commission draws the Honourable Member’s attention to its answer to Question E-1/2020.",
            "draws the Honourable Member’s attention to",
        ),
        (
            "The Council would draw the attention of the Honourable Members to its replies to Questions P-1/2020 and E-2/2020.",
            "draw the attention of the Honourable Members to",
        ),
        ("In its answer to E-1/2020, to which the Honourable Member is referred, it said so.", "to which the Honourable Member is referred"),
        ("The Commission would refer to its answer to Written Question E-1/2020.", "would refer to"),
        ("The Commission refers to its answer to Written Question E-1/2020.", "Commission refers to"),
    ],
)  # fmt: skip
def test_referrals(text: str, phrase: str) -> None:
    found = citations(text, EP)
    assert [(one.referral, one.phrase) for one in found] == [(True, phrase)] * len(found)
    assert found


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("As stated in its answer to Question E-1/2020, the Commission acts.", "As stated in"),
        ("Further to its answer to Question E-1/2020, the Commission acts.", "Further to"),
        ("Following up Question E-1/2020, what was done?", "Following up"),
        ("The question refers to Written Question E-1/2020.", "refers to"),
        ("The Member refers to the answer to E-1/2020.", "refers to"),
        ("In its reply to E-1/2020 the Commission said that it acts.", "In its reply to"),
        ("The Commission refers the Honourable Member to Directive 2014/53/EU, mentioned in its answer to E-1/2020.", "mentioned in"),
        ("The Member saw E-1/2020.", ""),
    ],
)  # fmt: skip
def test_mentions(text: str, phrase: str) -> None:
    (found,) = citations(text, EP)
    assert (found.referral, found.phrase) == (False, phrase)


def test_as_already_stated_is_a_switch() -> None:
    text = "As already stated in its answer to E-1/2020, the Commission acts."
    assert [one.referral for one in citations(text, EP)] == [False]
    (switched,) = citations(text, EP, rules=CitationRules(already_stated=True))
    assert (switched.referral, switched.phrase) == (True, "As already stated in")


@pytest.mark.parametrize(
    ("text", "referral"),
    [
        ("I refer the hon. Member to the answer I gave on 10 November 2023 to Question 614.", True),
        ("I refer back to my previous answer to UIN 5635 on 14th December.", True),
        ("I refer the right hon. Member to the answer I gave her on 21 November 2023, to Question 1813.", True),
        ("I refer the Honourable Member to PQ 191749.", True),
        ("I refer to my answer to WPQ 4645 on 1 December 2023.", True),
        ("I refer the hon. Member for Ely to the answers I gave on 12 and 13 September 2023 to Questions 198306 and 198308.", True),
        ("To ask the Minister, pursuant to the Answer of 4 December 2023 to Question 4359, in how many buildings.", False),
        ("To ask the Minister, with reference to the Answer of 26 June 2023 to Question 190334, what he did.", False),
        ("The information requested in PQs 5054 and 5055 could only be obtained at disproportionate cost.", False),
    ],
)  # fmt: skip
def test_referrals_of_the_uk_parliament(text: str, referral: bool) -> None:
    found = citations(text, UK, day=date(2023, 12, 20))
    assert found
    assert {one.referral for one in found} == {referral}


def test_three_sources_are_told_apart() -> None:
    text = "See E-1/2020, https://www.europarl.europa.eu/doceo/document/E-9-2020-000002_EN.html, this one and E-4/2020."
    start = text.index("this one")
    own = text.index("E-4/2020")
    url = "https://www.europarl.europa.eu/doceo/document/E-9-2020-00000{}-ASW_EN.html"
    anchors = [
        Anchor(start, start + 8, url.format(3)),
        Anchor(own, own + 8, url.format(4)),
        Anchor(0, 3, "https://example.org/E-9-2020-000009"),
    ]
    found = citations(text, EP, anchors=anchors)
    assert [(one.ids[0][-1], one.source) for one in found] == [
        ("1", "text"),
        ("2", "url"),
        ("3", "hyperlink"),
        # The printed id within the link to the same record is that link.
        ("4", "hyperlink"),
    ]
    assert [one.answer for one in found] == [False, False, True, True]


NOTED = (
    "The Commission gave figures[1]. It refers the Honourable Member to its earlier reply[2]. It acts.\n\n"
    "[1] See reply to Written Question E-000001/2020.\n\n[2] https://www.europarl.europa.eu/doceo/document/P-9-2020-000002-ASW_EN.html"
)


def test_a_footnote_belongs_to_the_sentence_of_its_mark() -> None:
    first, second = citations(NOTED, EP)
    assert (first.note, first.referral, first.phrase) == (True, True, "See")
    assert NOTED[slice(*first.sentence)] == "The Commission gave figures[1]."
    assert (second.note, second.referral, second.phrase) == (True, True, "refers the Honourable Member to")
    assert NOTED[slice(*second.sentence)] == "It refers the Honourable Member to its earlier reply[2]."
    apart = citations(NOTED, EP, rules=CitationRules(footnotes=False))
    assert [one.note for one in apart] == [False, False]


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("Said[1].\n[1] One.\n[2] Unmarked.", ["[1] One."]),
        ("Said¹ and².\n\n¹ One.\n² Two.", ["¹ One.", "² Two."]),
        ("Said(1).\n\n(1) One,\nin two lines.", ["(1) One,\nin two lines."]),
        ("(1) First point.\n(2) Second point.", []),
        ("[1] Nothing before.", []),
        ("", []),
    ],
)
def test_footnotes(text: str, notes: list[str]) -> None:
    assert [text[note.start : note.end] for note in footnotes(text)] == notes


@pytest.mark.parametrize(
    "sentence",
    [
        "See Written Question No. 5 of Mr. Low and hon. Members.",
        "Why is Art. 5 of Reg. 3 so?",
        "In 2.5 % of cases it is so, e.g. here, i.e. there.",
        "It is said so[1].",
        "He said: “It is so.”",
    ],
)
def test_sentences(sentence: str) -> None:
    text = f"It was before. {sentence} Then it ends.\n\nAnother paragraph."
    start = text.index(sentence)
    for at in range(start + 1, start + len(sentence) - 4, 5):
        assert text[slice(*sentence_around(text, at, at + 1))] == sentence, at


def test_a_phrase_of_another_sentence_does_not_decide() -> None:
    text = "I refer the hon. Member to the answer I gave her. Question 4359 was about buildings."
    (found,) = citations(text, UK, day=date(2023, 12, 20))
    assert (found.referral, text[slice(*found.sentence)]) == (False, "Question 4359 was about buildings.")
    assert decided("", "") == (False, "")


SENTENCES = st.lists(
    st.sampled_from(
        [
            "See E-1/2020.", "It refers the Member to its answer to P\u20112/2021[1].", "\n\n", "[1] E-000003/2022", "Ünder é 😀.",
            "Question 4823 and 4824.", "I refer to UIN 5635.", "Directive 2014/53/EU.", "No. ", "\u00a0", "\u00ad",
        ]
    ),
    max_size=8,
).map(" ".join)  # fmt: skip


@settings(deadline=None, max_examples=150)
@given(st.lists(SENTENCES, max_size=4), st.sampled_from(["ep", "uk"]))
def test_the_fast_scan_finds_the_same_citations(texts: list[str], name: str) -> None:
    house = EP if name == "ep" else UK
    days = np.full(len(texts), np.datetime64("2024-03-01"))
    expected = [(row, found) for row, t in enumerate(texts) if (found := citations(t, house, day=date(2024, 3, 1)))]
    assert list(citations_in(Texts.of(texts), house, days=days)) == expected
    for row, found in expected:
        for one in found:
            low, high = one.sentence
            assert 0 <= low <= high <= len(texts[row])
            assert one.note or low <= one.start < one.end <= high


def test_rows_with_nothing_but_a_link_are_found() -> None:
    link = Anchor(0, 4, "https://www.europarl.europa.eu/doceo/document/E-9-2020-000003_EN.html")
    found = list(citations_in(Texts.of(["none", "here it is"]), EP, anchors={1: [link]}))
    assert [(row, one.ids, one.source) for row, rows in found for one in rows] == [
        (1, ("E-9-2020-000003",), "hyperlink")
    ]


def test_the_citation_in_the_czech_texts(shared_data: Any) -> None:
    from assay.formats import jsonl

    table = jsonl.read_table(shared_data / "ep_questions" / "texts_cs" / "questions_answers_cs.jsonl", {})
    texts = table.text("text")
    ((row, (one,)),) = citations_in(texts, EP)
    assert (table.text("id")[row], one.ids, one.answer) == ("E-9-2023-003484", ("E-9-2022-001280",), True)
    assert texts[row][slice(*one.sentence)].startswith(
        "Komise ve své odpovědi na parlamentní otázku E-001280/2022(ASW)"
    )
    assert texts[row][slice(*one.sentence)].endswith("rozhodne o dalších krocích.")


def test_the_citations_of_a_month_of_the_uk_parliament(shared_data: Any) -> None:
    """What the first build found is found; what it missed is found too."""
    from assay.formats import jsonl

    folder = shared_data / "uk_written_questions" / "session_2023-24"
    corpus = jsonl.read_table(folder / "corpus.jsonl", {})
    meta = jsonl.read_table(folder / "precedent_meta.jsonl", {})
    days = np.asarray(corpus.text("date").to_list(), "datetime64[D]")
    cited = {
        (corpus.text("answers")[row], id_)
        for row, found in citations_in(corpus.text("raw_text"), UK, days=days)
        for one in found
        for id_ in one.ids
        if id_.startswith("2023-24/")
    }
    columns = ("query_id", "doc_id", "source")
    edges = list(zip(*(meta.text(name) for name in columns), strict=True))
    printed = [(q, f"2023-24/{d.split('-')[4]}") for q, d, source in edges if source == "text"]
    assert len(printed) == 61
    missing = [edge for edge in printed if edge not in cited]
    assert missing == []
