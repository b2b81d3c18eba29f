"""Gold projection against its two-line definition, and what became of each fragment."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.building.gold import Rule, project
from assay.building.offsets import bytes_of, found_ignoring_case, from_bytes, from_utf16, utf16_of
from assay.errors import SpanError, UsageError
from assay.fragment import Fragments
from assay.ids import Ids
from assay.passage import Passages
from assay.span import Spans
from assay.texts import Texts

SPAN = st.tuples(st.integers(0, 3), st.integers(0, 20), st.integers(0, 12)).map(lambda r: (r[0], r[1], r[1] + r[2]))
FRAGMENT = st.tuples(
    st.integers(0, 3), st.tuples(st.integers(0, 4), st.integers(0, 20), st.integers(0, 12)), st.integers(0, 3)
)
DOCUMENTS = ["d0", "d1", "d2", "d3", "d4"]


def passages_of(spans: list[tuple[int, int, int]]) -> Passages:
    ids = Ids.of(f"p{row}" for row in range(len(spans)))
    texts = Texts.of(["x"] * len(spans))
    # Documents in another order than the fragments' own, and one that fragments name is missing.
    parents = Ids.of(["d3", "d1", "d0", "d2"])
    return Passages(ids, {"plain": texts}, parents=parents, spans=Spans.of(*spans))


def fragments_of(rows: list[tuple[int, tuple[int, int, int], int]]) -> Fragments:
    spans = Spans.of(*((document, start, start + length) for _, (document, start, length), _ in rows))
    query = np.array([row[0] for row in rows], np.int32)
    return Fragments(
        Ids.of(["q0", "q1", "q2", "q3"]), Ids.of(DOCUMENTS), query, spans, np.array([row[2] for row in rows], np.int32)
    )


@settings(deadline=None)
@given(
    st.lists(SPAN, max_size=12),
    st.lists(FRAGMENT, max_size=10),
    st.builds(Rule, st.integers(1, 4), st.sampled_from([0.0, 0.1, 0.5, 1.0])),
)
def test_it_is_the_definition(
    spans: list[tuple[int, int, int]], rows: list[tuple[int, tuple[int, int, int], int]], rule: Rule
) -> None:
    passages, fragments = passages_of(spans), fragments_of(rows)
    projection = project(fragments, passages, rule=rule)
    expected: dict[tuple[str, str], int] = {}
    chunks = [0] * len(rows)
    for row, (query, (document, start, length), grade) in enumerate(rows):
        for code, (parent, low, high) in enumerate(spans):
            shared = min(high, start + length) - max(low, start)
            if passages.parents[parent] == DOCUMENTS[document] and shared >= max(
                rule.characters, rule.share * length - 1e-9
            ):
                chunks[row] += 1
                pair = (f"q{query}", f"p{code}")
                expected[pair] = max(grade, expected.get(pair, grade))
    assert {(q, p): g for q, p, g in projection.qrels.triples()} == expected
    assert projection.chunks.tolist() == chunks
    assert set(projection.qrels.queries) == {f"q{query}" for query, _, _ in rows}
    assert projection.unknown.tolist() == [row for row, r in enumerate(rows) if r[1][0] == 4]
    assert projection.empty.tolist() == [row for row, r in enumerate(rows) if r[1][2] == 0]


def test_touching_chunks_share_nothing() -> None:
    passages = passages_of([(2, 0, 10), (2, 10, 20)])
    assert project(fragments_of([(0, (0, 5, 5), 1)]), passages).qrels.triples() == [("q0", "p0", 1)]
    assert project(fragments_of([(0, (0, 9, 2), 1)]), passages).chunks.tolist() == [2]


def test_a_query_whose_fragments_meet_no_chunk_is_still_judged() -> None:
    projection = project(
        fragments_of([(1, (0, 90, 5), 1), (2, (4, 0, 5), 1), (3, (0, 5, 0), 2)]), passages_of([(2, 0, 10)])
    )
    assert list(projection.qrels.queries) == ["q1", "q2", "q3"]
    assert len(projection.qrels) == 0
    assert projection.missed.tolist() == [0, 1, 2]
    assert projection.counts == {
        "gold fragments": 3,
        "gold fragments in no chunk": 3,
        "gold fragments in one chunk": 0,
        "gold fragments in several chunks": 0,
        "gold fragments of an unknown document": 1,
        "gold fragments of zero length": 1,
    }


def test_the_highest_score_is_the_grade() -> None:
    rows = [(0, (0, 0, 5), 1), (0, (0, 2, 5), 3), (0, (0, 4, 5), 2)]
    assert project(fragments_of(rows), passages_of([(2, 0, 10)])).qrels.triples() == [("q0", "p0", 3)]


@pytest.mark.parametrize(
    "name", ["any", "whole", "characters>=20", "share>=0.5", "characters>=3,share>=0.5", "characters>=3,whole"]
)
def test_a_rule_prints_as_it_is_named(name: str) -> None:
    assert str(Rule.named(name)) == name


@pytest.mark.parametrize(
    "name", ["", "some", "characters>=", "share>=1.5", "characters>=0", "any,whole", ",whole", "whole,whole"]
)
def test_a_rule_that_is_not_known_is_an_error(name: str) -> None:
    with pytest.raises(UsageError, match="rule"):
        Rule.named(name)


def test_passages_without_spans_have_no_gold() -> None:
    bare = Passages(Ids.of(["a"]), {"plain": Texts.of(["x"])})
    with pytest.raises(UsageError, match="documents and spans"):
        project(fragments_of([]), bare)


def test_case_U01_offsets_in_other_units_are_converted() -> None:
    text = "a😀b"
    at = text.index("b")
    assert (at, utf16_of(text, at), bytes_of(text, at)) == (2, 3, 5)
    assert (from_utf16(text, 3), from_bytes(text, 5)) == (2, 2)


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), st.integers(0, 12))
def test_offsets_come_back(text: str, at: int) -> None:
    at = min(at, len(text))
    assert from_utf16(text, utf16_of(text, at)) == at
    assert from_bytes(text, bytes_of(text, at)) == at


@pytest.mark.parametrize(
    "call",
    [lambda: from_utf16("😀", 1), lambda: from_bytes("é", 1), lambda: from_bytes("a", 2), lambda: utf16_of("a", 2)],
)
def test_an_offset_inside_a_character_is_an_error(call: object) -> None:
    with pytest.raises(SpanError):
        call()  # type: ignore[operator]


def test_case_U04_a_match_is_placed_in_the_text_as_stored() -> None:
    text = "İstanbul fee"
    assert text.lower().index("fee") == 10
    found = found_ignoring_case(text, "fee")
    assert found is not None
    assert found.start == 9
    assert text[found.start : found.end] == "fee"
    assert found_ignoring_case(text, "fare") is None
