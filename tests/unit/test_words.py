"""Words: a definition in plain Python, and what must not change the codes."""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay import words as words_module
from assay.errors import UsageError
from assay.stopwords import STOP_WORDS
from assay.texts import Texts
from assay.words import WordRules, stemmers, words_of


@cache
def is_word(character):
    return character == "_" or unicodedata.category(character)[0] in "LMN"


@cache
def is_cjk(character):
    """By the names of the characters, not by the ranges of the module; all four scripts, and what binds them."""
    name = unicodedata.name(character, "")
    return bool(
        re.match(
            r"(HALFWIDTH |FULLWIDTH )?(CJK (UNIFIED|COMPATIBILITY) IDEOGRAPH|HIRAGANA|HENTAIGANA|KATAKANA|HANGUL)"
            r"|(COMBINING|HALFWIDTH) KATAKANA|COMBINING KATAKANA-HIRAGANA|HANGZHOU NUMERAL"
            r"|IDEOGRAPHIC (ITERATION|CLOSING|NUMBER)|VERTICAL (KANA|IDEOGRAPHIC)|MASU",
            name,
        )
    )


def plain_words(text, *, bigrams=True):
    """The definition: runs of word characters, lower-cased, CJK runs as pairs."""
    runs = "".join(c if is_word(c) else " " for c in text).split()
    found = []
    for word in map(str.lower, runs):
        if not bigrams:
            found.append(word)
            continue
        marked = "".join(("\0" if is_cjk(a) != is_cjk(b) else "") + b for a, b in zip(" " + word, word))
        for piece in filter(None, marked.replace("\0", " ").split()):
            pairs = len(piece) > 1 and is_cjk(piece[0])
            found += [piece[i : i + 2] for i in range(len(piece) - 1)] if pairs else [piece]
    return found


def all_words(texts, rules=None, **how):
    words = words_of(Texts.of(texts), rules, **how)
    assert words.code.dtype == np.int32
    assert words.offsets.dtype == np.int64
    vocabulary = words.vocabulary.to_list()
    assert vocabulary == sorted(set(vocabulary), key=str.encode)
    return [words.of(row) for row in range(len(words))]


# Characters that Python's tables know; Arrow's tables are at least as new and agree on them.
characters = st.characters(exclude_categories=("Cs", "Cn", "Co"))
mixed = st.text(st.one_of(characters, st.sampled_from("aÄ1_ .,'-日本カなー한σΣİ’\u0301\n\x00\x85\xa0")), max_size=30)


@settings(deadline=None)
@given(texts=st.lists(mixed, max_size=6), bigrams=st.booleans())
def test_words_equal_the_definition(texts, bigrams):
    assert all_words(texts, WordRules(bigrams)) == [plain_words(t, bigrams=bigrams) for t in texts]


def test_every_character_of_pythons_tables():
    known = [chr(c) for c in range(sys.maxunicode + 1) if unicodedata.category(chr(c)) not in ("Cs", "Cn", "Co")]
    texts = [" ".join(f"a {c} {c}{c}b" for c in known[at : at + 100]) for at in range(0, len(known), 100)]
    words = words_of(Texts.of(texts))
    vocabulary = words.vocabulary.to_list()
    for row, text in enumerate(texts):
        own = words.code[words.offsets[row] : words.offsets[row + 1]].tolist()
        assert [vocabulary[code] for code in own] == plain_words(text)


@settings(deadline=None)
@given(texts=st.lists(mixed, max_size=8), threads=st.integers(1, 3), size=st.sampled_from([1, 7, 1 << 21]))
def test_codes_do_not_depend_on_chunks_threads_or_order(texts, threads, size):
    expected = words_of(Texts.of(texts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words_module, "CHUNK_BYTES", size)
        found = words_of(Texts.of(texts), threads=threads)
    assert found.vocabulary == expected.vocabulary
    np.testing.assert_array_equal(found.offsets, expected.offsets, strict=True)
    np.testing.assert_array_equal(found.code, expected.code, strict=True)
    back = words_of(Texts.of(texts[::-1]))
    assert back.vocabulary == expected.vocabulary
    assert [back.of(row) for row in range(len(back))][::-1] == [found.of(row) for row in range(len(found))]


def test_case_B04():
    assert all_words(["vitamin D and C"]) == [["vitamin", "d", "and", "c"]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" ... ", []),
        ("Don't snake_case C3PO 3.14", ["don", "t", "snake_case", "c3po", "3", "14"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("ΟΔΟΣ ΟΔΟΣ.Α", ["οδος", "οδος", "α"]),
        ("İstanbul ẞ", ["i̇stanbul", "ß"]),
        ("“quoted”–dash", ["quoted", "dash"]),
        ("日本語", ["日本", "本語"]),
        ("Windows10を使う", ["windows10", "を使", "使う"]),
        ("中", ["中"]),
        ("한국어 문서", ["한국", "국어", "문서"]),
        ("データベース", ["デー", "ータ", "タベ", "ベー", "ース"]),
        ("你好，世界", ["你好", "世界"]),
    ],
)
def test_words_by_hand(text, expected):
    assert all_words([text]) == [expected]


def test_sliced_texts_are_read_from_their_own_rows():
    import pyarrow as pa

    sliced = Texts.from_arrow(pa.array(["zero", "one Two", "three"])[1:])
    words = words_of(sliced)
    assert words.vocabulary.to_list() == ["one", "three", "two"]


def test_stop_words_and_stemmer():
    rules = WordRules(stop_words=("The", "running"), stemmer="english")
    assert all_words(["The taxes, the runs and RUNNING of tax"], rules) == [["tax", "run", "and", "of", "tax"]]


def test_no_texts():
    words = words_of(Texts.of([]))
    assert (len(words), len(words.vocabulary), words.code.dtype) == (0, 0, np.int32)


@pytest.mark.parametrize(
    ("mask", "text", "expected"),
    [
        (["[MASKED]"], "see [MASKED] and masked", ["see", "and", "masked"]),
        (["[MASKED]"], "E-12[MASKED]34", ["e", "12", "34"]),
        (["MASKED"], "MASKED unmasked UNMASKED masked", ["unmasked", "unmasked", "masked"]),
        (["<id>", "<id> <id>"], "a <id> <id>b", ["a", "b"]),
        (["某某"], "見某某人", ["見", "人"]),
        (["[X]", "[XY]"], "[XY] [X]", []),
    ],
)
def test_mask_tokens_leave_no_word(mask, text, expected):
    assert all_words([text], mask=mask) == [expected]


def test_empty_mask_token_is_refused():
    with pytest.raises(UsageError, match="mask token is empty"):
        words_of(Texts.of(["a"]), mask=[""])


def test_unknown_stemmer_is_refused():
    with pytest.raises(UsageError, match="no stemmer 'klingon'"):
        WordRules(stemmer="klingon")


@pytest.mark.parametrize("language", sorted(STOP_WORDS))
def test_stop_words_are_words_of_a_language_with_a_stemmer(language):
    words = STOP_WORDS[language]
    assert language in stemmers()
    assert len(set(words)) == len(words)
    assert [plain_words(word) for word in words] == [[word] for word in words]
