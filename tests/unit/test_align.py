"""Alignment: pieces of every kind of damage find their place, and every place is proven by its plain definition."""

from __future__ import annotations

import re
from itertools import pairwise
from unicodedata import normalize

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.align import HOW, aligned, covered, proven
from assay.kernels.characters import code_points, mapped, rolling_sums, tabled, text_of
from assay.kernels.forms import folded, one_form, words_in

ALPHABET = "ab. \n\r\u00a0\u200b\u3000éE\u0301\u0323ßﬁΣς日語。한क्ष😀"
DOCUMENT = st.text(st.sampled_from(ALPHABET), max_size=60)


def spans(document, pieces):
    return aligned(document, pieces).spans.tolist()


def how(document, pieces):
    return [HOW[code] for code in aligned(document, pieces).how]


def check(document, pieces):
    """Every span is proven as it says, inside the document, and none starts before the one before it."""
    found = aligned(document, pieces)
    rows = found.placed
    for row in rows.tolist():
        start, end = found.spans[row].tolist()
        assert 0 <= start < end <= len(document)
        assert proven(document, pieces[row], (start, end), int(found.how[row]))
    assert (np.diff(found.spans[rows, 0]) >= 0).all()
    assert (found.spans[np.setdiff1d(np.arange(len(pieces)), rows)] == -1).all()
    return found


def test_case_C01():
    found = check("bread bread", ["bread", "brea", "bread"])
    assert found.spans[-1].tolist() == [6, 11]
    assert found.spans[:, 0].tolist() == [0, 6, 6]
    assert found.counts["chunks that start where the one before starts"] == 1


def test_case_C02():
    text = "alpha beta gamma delta epsilon zeta"
    pieces = ["alpha beta gamma", "beta gamma delta", "gamma delta epsilon", "delta epsilon zeta"]
    found = check(text, pieces)
    assert found.spans[:, 0].tolist() == [0, 6, 11, 17]
    assert set(found.how.tolist()) == {0}


def test_case_C03():
    found = check("  First.\n\n  Second.  \n\nThird.", ["First.", "Second.", "Third."])
    assert found.spans.tolist() == [[2, 8], [12, 19], [23, 29]]
    assert found.uncovered.tolist() == [[0, 2], [8, 12], [19, 23]]
    assert found.uncovered_filled == 0


def test_case_C05():
    found = check("Größe", ["Gr", "", "öße"])
    assert found.spans.tolist() == [[0, 2], [-1, -1], [2, 5]]
    assert found.counts["blank chunks left out"] == 1
    assert found.lost.tolist() == []


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (["aa"] * 3, [[0, 2], [2, 4], [4, 6]]),
        (["aa"] * 5, [[0, 2], [1, 3], [2, 4], [3, 5], [4, 6]]),
        (["aaaa", "aa"], [[0, 4], [4, 6]]),
        (["aaaaaa", "aaa", "aaa"], None),
    ],
)
def test_repeated_text_is_covered_whole(pieces, expected):
    found = check("aaaaaa", pieces)
    assert len(found.lost) == 0
    assert found.uncovered_filled == 0
    assert expected is None or found.spans.tolist() == expected


@pytest.mark.parametrize(
    ("document", "pieces", "kinds"),
    [
        ("one\r\ntwo\u00a0 three", ["one two three"], ["blank-folded"]),
        ("one\r\ntwo", ["one\ntwo"], ["blank-folded"]),
        ("Cafe\u0301 opens", ["Café opens"], ["normalised"]),
        ("Café ﬁne №5", ["CAFÉ FINE No5"], ["normalised"]),
        ("co\u00adop\ufeff shop", ["coop shop"], ["normalised"]),
        ("don't stop, please", ["don ' t stop , please"], ["normalised"]),
        ("The **fee** (2024) – is due", ["The fee 2024 is due"], ["with gaps"]),
        (
            "Pay the <b>whole</b> fee at <a href='x.html'>the desk</a>.",
            ["Pay the whole fee", "at the desk."],
            ["with gaps"] * 2,
        ),
        ("# Fees\n\n* one\n* two\n", ["Fees one", "two"], ["with gaps", "exact"]),
        ("日本語の文。二番目", ["日本語の文", "二番目"], ["exact"] * 2),
    ],
)
def test_damage_is_seen_through_and_named(document, pieces, kinds):
    check(document, pieces)
    assert how(document, pieces) == kinds


def test_signs_at_the_ends_of_a_piece_belong_to_it():
    document = "See “the  (fee)”  now, and (see below) ** more **."
    found = check(document, ["See “the (fee)”", "now and (see below)", "** more **."])
    assert [document[a:b] for a, b in found.spans] == ["See “the  (fee)”", "now, and (see below)", "** more **."]


def test_blanks_at_the_ends_of_a_piece_belong_to_it_where_the_document_has_them():
    document = "one  two \n three"
    assert spans(document, ["one ", " two \n ", "\tthree "]) == [[0, 4], [4, 11], [11, 16]]


def test_a_stray_piece_is_reported_and_takes_no_other_along():
    document = (
        "Summary of fees. "
        + "Fees are due in May. " * 3
        + "x " * 9000
        + "A summary of what was never said here stands apart."
    )
    pieces = ["Summary of fees.", "a summary of what was never said here", "Fees are due in May.", "No such words."]
    found = check(document, pieces)
    assert how(document, pieces) == ["exact", "not placed", "exact", "not placed"]
    assert found.counts["chunks not placed"] == 2


def test_a_dropped_section_is_passed_over():
    middle = "".join(f"row {number} of the table; " for number in range(4000))
    document = f"The fee is due. {middle}Appeals go to the court. The court sits in May."
    found = check(document, ["The fee is due.", "Appeals go to the court.", "The court sits in May."])
    assert len(found.lost) == 0
    assert found.counts["characters in no chunk that are no blanks"] == sum(not c.isspace() for c in middle)


def test_an_overlap_that_is_a_chunk_of_its_own_is_no_later_word():
    document = "Joe Mansueto, ο  ιδιοκτήτης του και ο φίλος"
    pieces = ["Mansueto, ο", "ο", "ιδιοκτήτης", "του"]
    found = check(document, pieces)
    assert found.spans.tolist() == [[4, 15], [14, 15], [17, 27], [28, 31]]


@pytest.mark.parametrize(("document", "piece"), [("ﬁne", "f"), ("½ x", "1"), ("x\u0301\u0323", "\u0323x")])
def test_no_character_is_cut_in_two(document, piece):
    assert check(document, [piece]).lost.tolist() == [0]


@pytest.mark.parametrize(
    ("document", "piece", "span"),
    [("ﬁx f", "F", [3, 4]), ("e\u0301\u0323 e\u0323", "E\u0323", [4, 6])],
)
def test_a_match_that_would_cut_a_character_is_passed_over(document, piece, span):
    assert check(document, [piece]).spans.tolist() == [span]


def test_a_short_piece_is_no_part_of_a_word():
    assert how("because (a) it is", ["a)", "it"]) == ["exact", "exact"]
    assert how("because - it is", ["*a*", "it"]) == ["not placed", "exact"]


@given(DOCUMENT, st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), max_size=12))
def test_pieces_cut_from_the_document_all_find_a_place(document, steps):
    start = end = 0
    pieces = []
    for forward, longer in steps:
        start, end = start + forward, end + longer
        if start < end <= len(document) and not document[start:end].isspace():
            pieces.append(document[start:end])
    found = check(document, pieces)
    assert len(found.lost) == 0


@given(
    DOCUMENT, st.lists(st.integers(0, 60), max_size=6), st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]), st.booleans()
)
def test_folded_and_normalised_pieces_find_a_place(document, cuts, form, lower):
    # Cut before a base character, so that a form does not reach over the border.
    borders = sorted(
        {
            0,
            len(document),
            *(c for c in cuts if c <= len(document) and one_form(document[c : c + 1] or "x")[:1].isalnum()),
        }
    )
    borders = [b for b in borders if b in (0, len(document)) or not re.match("[\u0301\u0323\u094d\u0937]", document[b])]
    pieces = []
    for a, b in pairwise(borders):
        piece = re.sub(r"\s+", " ", normalize(form, document[a:b])).strip()
        piece = piece.lower() if lower else piece
        if folded(piece):
            pieces.append(piece)
    found = check(document, pieces)
    assert len(found.lost) == 0


@given(DOCUMENT, st.lists(st.text(st.sampled_from(ALPHABET), max_size=6), max_size=8))
def test_any_pieces_are_proven_or_reported(document, pieces):
    found = check(document, pieces)
    assert sum(found.counts[name] for name in list(found.counts)[: len(HOW)]) == len(pieces)


@given(DOCUMENT)
def test_uncovered_and_covered_make_the_document(document):
    found = aligned(document, document.split()[::2])
    holes = np.concatenate([np.zeros(0, int), *(np.arange(a, b) for a, b in found.uncovered)])
    inside = np.concatenate([np.zeros(0, int), *(np.arange(a, b) for a, b in found.spans[found.placed])])
    assert sorted({*holes.tolist(), *inside.tolist()}) == list(range(len(document)))
    assert not set(holes.tolist()) & set(inside.tolist())


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)).map(sorted), max_size=5))
def test_covered_counts_every_character(rows):
    table = np.array(rows, np.int64).reshape(-1, 2)
    assert covered(table, 8).tolist() == [sum(a <= c < b for a, b in rows) for c in range(8)]


@given(DOCUMENT)
def test_forms_of_characters_know_their_source(document):
    codes = code_points(document)
    assert text_of(codes) == document
    made = mapped(codes, one_form)
    assert made.text == "".join(map(one_form, document))
    assert [one_form(document[s]) for s in dict.fromkeys(made.source.tolist())] == [
        f for f in map(one_form, document) if f
    ]
    assert made.before.tolist() == [len("".join(map(one_form, document[:j]))) for j in range(len(document) + 1)]
    assert tabled(codes, str.isspace).tolist() == [c.isspace() for c in document]
    sums = rolling_sums(codes, 1)
    pairs = [document[i : i + 2] for i in range(len(document) - 1)]
    assert [(a == b) for a in sums.tolist() for b in sums.tolist()] == [(a == b) for a in pairs for b in pairs]


@given(DOCUMENT)
def test_folding_is_its_definition(document):
    kept = "".join(c for c in document if not c.isspace() and c != "\u200b")
    assert folded(document) == normalize("NFKD", normalize("NFKD", kept).casefold())


def test_words_end_at_signs_and_at_cjk_characters():
    assert words_in("don't <b>日本</b> x2 한국") == [
        "don",
        "t",
        "b",
        *map(folded, "日本"),
        "b",
        "x2",
        *map(folded, "한국"),
    ]
