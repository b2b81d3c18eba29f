"""Equivalents: equal texts, near ones found by MinHash as brute force finds them, boilerplate never among them."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.building import near as near_module
from assay.building.equivalents import (
    boilerplate,
    duplicate_answer,
    equivalents,
    members_of,
    near_duplicate_answer,
    twin_question,
)
from assay.building.houses import EUROPEAN_PARLIAMENT as EP
from assay.building.houses import UK_PARLIAMENT as UK
from assay.building.near import EquivalentRules, near_duplicates, shingles_of
from assay.errors import UsageError
from assay.texts import Texts

SHORT = EquivalentRules(min_characters=3)


def shingle_set(text: str, size: int = 5) -> set[tuple[str, ...]]:
    words = text.lower().split()
    if len(words) < size:
        return {tuple(words)} if words else set()
    return {tuple(words[i : i + size]) for i in range(len(words) - size + 1)}


def brute(texts: list[str], similarity: float) -> dict[tuple[int, int], float]:
    sets = [shingle_set(text) for text in texts]
    found = {}
    for a, b in combinations(range(len(texts)), 2):
        if sets[a] and sets[b]:
            value = len(sets[a] & sets[b]) / len(sets[a] | sets[b])
            if value >= similarity - 1e-12:
                found[a, b] = value
    return found


def made(seed: int, count: int, length: int, alphabet: int) -> list[str]:
    """Texts, half of them copies of others with a few words changed."""
    random = np.random.default_rng(seed)
    texts: list[list[int]] = []
    for row in range(count):
        if row < count // 2:
            texts.append(random.integers(0, alphabet, random.integers(length // 2, length + 1)).tolist())
        else:
            words = list(texts[int(random.integers(0, count // 2))])
            for place in random.integers(0, len(words), random.integers(0, 4)).tolist():
                words[place] = int(random.integers(0, alphabet))
            texts.append(words)
    return [" ".join(f"w{word}" for word in words) for words in texts]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_near_duplicates_are_those_of_brute_force(seed: int) -> None:
    texts = made(seed, 240, 160, 3000)
    found = near_duplicates(Texts.of(texts))
    expected = brute(texts, 0.8)
    assert len(expected) > 40
    pairs = set(found.all_pairs())
    assert pairs <= set(expected)
    # The chance to miss one of them is below 0.0004 a pair at 0.8, and far less above.
    assert len(set(expected) - pairs) <= 1
    for (a, b), value in zip(found.pairs.tolist(), found.similarity.tolist(), strict=True):
        assert value == pytest.approx(expected[a, b], abs=1e-12)


@settings(deadline=None, max_examples=80)
@given(
    st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=12).map(" ".join), max_size=10),
    st.sampled_from([0.5, 0.8, 1.0]),
)
def test_many_bands_miss_nothing(texts: list[str], similarity: float) -> None:
    rules = EquivalentRules(similarity=similarity, bands=120, rows=1)
    found = near_duplicates(Texts.of(texts), rules)
    assert sorted(found.all_pairs()) == sorted(brute(texts, similarity))


def test_the_result_depends_on_neither_batches_nor_order(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = made(5, 120, 80, 900)
    whole = near_duplicates(Texts.of(texts))
    monkeypatch.setattr(near_module, "_BATCH", 64)
    again = near_duplicates(Texts.of(texts))
    assert again.pairs.tolist() == whole.pairs.tolist()
    assert again.similarity.tolist() == whole.similarity.tolist()
    order = np.random.default_rng(0).permutation(len(texts))
    shuffled = near_duplicates(Texts.of([texts[row] for row in order.tolist()]))
    back = {(min(order[a], order[b]), max(order[a], order[b])) for a, b in shuffled.all_pairs()}
    assert back == set(whole.all_pairs())


def test_equal_sets_of_shingles_stand_for_each_other() -> None:
    base = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    texts = [base, f"{base}!", f"{base} more", base.upper(), "", "other words altogether in this text"]
    found = near_duplicates(Texts.of(texts))
    assert found.first.tolist() == [0, 0, 2, 0, -1, 5]
    assert sorted(found.all_pairs()) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    assert found.pairs.tolist() == [[0, 2]]
    assert near_duplicates(Texts.of(texts), keep=np.array([1, 0, 1, 0, 0, 1], bool)).first.tolist() == [
        0, -1, 2, -1, -1, 5,
    ]  # fmt: skip


def test_texts_shorter_than_a_shingle_are_one() -> None:
    offsets, hashes = shingles_of(Texts.of(["a b", "a b", "b a", "a b c d e", "a b c d"]))
    assert np.diff(offsets).tolist() == [1, 1, 1, 1, 1]
    assert [len(set(hashes[:2].tolist())), len(set(hashes.tolist()))] == [1, 4]
    for empty in (Texts.of([]), Texts.of(["", "."])):
        assert near_duplicates(empty).pairs.shape == (0, 2)


@pytest.mark.parametrize("wrong", [{"similarity": 0.2}, {"similarity": 1.1}, {"bands": 0}, {"rows": 0}, {"shingle": 0}])
def test_rules_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="similarity"):
        EquivalentRules(**wrong)


def test_duplicates_are_equal_unmasked_long_enough_and_no_boilerplate() -> None:
    texts = Texts.of(["The fee  is set.", "The fee is set. ", "The fee is Set.", "No.", "No.", "The fee is set."])
    rules = EquivalentRules(min_characters=10)
    assert duplicate_answer(texts, rules).tolist() == [0, 0, 2, 3, 4, 0]
    holding = np.array([0, 1, 0, 0, 0, 0], bool)
    assert duplicate_answer(texts, rules, boilerplate=holding).tolist() == [0, 1, 2, 3, 4, 0]
    # Blanks do not make a text long.
    assert duplicate_answer(Texts.of(["No." + " " * 30, "No."]), rules).tolist() == [0, 1]


def test_boilerplate_in_front_does_not_hide_a_class() -> None:
    texts = Texts.of(["The fee is set.", "The fee is set.", "The fee is set."])
    rules = EquivalentRules(min_characters=10)
    labels = duplicate_answer(texts, rules, boilerplate=np.array([1, 0, 0], bool))
    assert labels[1] == labels[2] != labels[0]


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("I refer the hon. Member to the answer I gave on 10 November 2023 to Question 614.", True),
        ("I refer back to my previous answer to UIN 5635 on 14th December.", True),
        ("It has not proved possible to respond to the hon. Member in the time available before Prorogation.", True),
        ("It is taking time to collate the required information. I will write to her.", True),
        ("The fee is set yearly by the agency.", False),
        ("Pursuant to the answer to Question 614, the fee was set.", False),
        (
            "I refer the hon. Member to the answer to Question 614. " + "The fee is set by the agency every year. " * 8,
            False,
        ),
        ("", False),
    ],
)
def test_boilerplate_of_the_uk(text: str, holds: bool) -> None:
    assert boilerplate(Texts.of([text, "x"]), UK).tolist() == [holds, False]


def test_boilerplate_of_the_european_parliament() -> None:
    texts = [
        "The Commission would refer the Honourable Member to its answer to Written Question E-1/2020.",
        "The Commission is collecting the information it needs to answer the question. It will communicate its findings as soon as"
        " possible.",
        "The Commission acts on fees.",
    ]
    assert boilerplate(Texts.of(texts), EP).tolist() == [True, True, False]


def test_twins_are_equal_near_or_answered_together() -> None:
    base = "what does the commission intend to do about the fees of ferries to the islands of the north this year"
    texts = Texts.of([base, base, base + " indeed", "who pays for the bridge of the town", "why is it so in this town"])
    assert twin_question(texts, SHORT).tolist() == [[0, 1], [0, 2]]
    assert twin_question(texts, SHORT, near=False).tolist() == [[0, 1]]
    joint = np.array([-1, -1, -1, 7, 7])
    assert twin_question(texts, SHORT, near=False, answered_together=joint).tolist() == [[0, 1], [3, 4]]


def test_all_types_together_with_the_thresholds_recorded() -> None:
    answer = (
        "the agency sets the fees of the ferries every year after it has heard the towns on both shores of the lake"
    )
    answers = [
        answer,
        answer,
        answer + " again",
        "I refer to my answer to PQ 123.",
        "I refer to my answer to PQ 124.",
        answer,
    ]
    questions = ["Who sets fees of ferries?"] * 2 + [f"Question of number {word}" for word in ("a", "b", "c", "d")]
    cut = np.array([0, 0, 0, 0, 0, 1], bool)
    rules = EquivalentRules(min_characters=10)
    found = equivalents(Texts.of(questions), Texts.of(answers), UK, rules=rules, cut=cut)
    assert found.twin_question == {0: [1], 1: [0]}
    assert found.duplicate_answer == {0: [1], 1: [0]}
    assert found.near_duplicate_answer == {0: [2], 1: [2], 2: [0, 1]}
    assert found.boilerplate.tolist() == [3, 4]
    assert found.record["rules"]["similarity"] == 0.8
    assert found.record["answers cut short, nobody's equivalents"] == 1
    assert members_of(np.array([3, 4, 3, 3])) == {0: [2, 3], 2: [0, 3], 3: [0, 2]}


def test_the_identical_answers_in_czech(shared_data: Any) -> None:
    import json

    path = shared_data / "ep_questions" / "texts_cs" / "questions_answers_cs.jsonl"
    answers = [json.loads(line)["answer"] for line in path.read_text("utf-8").splitlines()]
    texts = Texts.of([answer["text"] for answer in answers])
    same = members_of(duplicate_answer(texts))
    assert {answers[a]["id"]: [answers[b]["id"] for b in rows] for a, rows in same.items()} == {
        "E-9-2021-000675-ASW": ["E-9-2021-000676-ASW"],
        "E-9-2021-000676-ASW": ["E-9-2021-000675-ASW"],
    }
    assert [sorted((answers[a]["id"], answers[b]["id"])) for a, b in near_duplicate_answer(texts).all_pairs()] == [
        ["E-9-2021-000675-ASW", "E-9-2021-000676-ASW"]
    ]


def test_holding_replies_of_a_month_are_no_duplicates(shared_data: Any) -> None:
    from assay.formats import jsonl

    corpus = jsonl.read_table(shared_data / "uk_written_questions" / "session_2023-24" / "corpus.jsonl", {})
    texts = corpus.text("raw_text")
    empty = boilerplate(texts, UK)
    held = {texts[row] for row in np.flatnonzero(empty).tolist()}
    assert "I refer back to my previous answer to UIN 5635 on 14th December." in held
    assert "It has not proved possible to respond to the hon. Member in the time available before Prorogation." in held
    assert (
        "The requested information is not held centrally and could be provided only at disproportionate cost."
        not in held
    )
    labels = duplicate_answer(texts, boilerplate=empty)
    assert (labels[empty] == np.flatnonzero(empty)).all()
    assert len(members_of(labels)) > 50


WORDED = st.lists(st.text("ab é\u2003", max_size=40), max_size=12)


@settings(max_examples=60)
@given(WORDED)
def test_blocks_and_parts_of_tables_change_nothing(listed: list[str]) -> None:
    texts = Texts.of(listed)
    whole = (*near_module.word_hashes(texts), *shingles_of(texts, SHORT), duplicate_answer(texts, SHORT))
    pairs = near_duplicates(texts, SHORT).pairs
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near_module, "_BLOCK_BYTES", 16)
        patch.setattr(near_module, "_PART_BITS", 4)
        cut = (*near_module.word_hashes(texts), *shingles_of(texts, SHORT), duplicate_answer(texts, SHORT))
        assert near_duplicates(texts, SHORT).pairs.tolist() == pairs.tolist()
        blocks = list(near_module.in_blocks(texts))
    assert [part.tolist() for part in cut] == [part.tolist() for part in whole]
    assert [text for _, block in blocks for text in block.to_list()] == listed
    assert [first for first, _ in blocks] == np.cumsum([0, *(len(block) for _, block in blocks)])[:-1].tolist()


def test_what_a_source_calls_a_holding_reply_is_boilerplate() -> None:
    fees = "The fees are set each year by the port authority after a hearing."
    found = equivalents(Texts.of([]), Texts.of([fees] * 3), EP, holding=np.asarray([False, True, False]))
    assert found.boilerplate.tolist() == [1]
    assert found.duplicate_answer == {0: [2], 2: [0]}
