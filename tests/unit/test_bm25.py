"""BM25: the five variants against plain floats and bm25s, the house's search, and real data."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.call import call_of
from assay.catalog import system
from assay.errors import FormatError, UnknownNameError, UsageError
from assay.kernels.sparse import Postings, top_rows
from assay.retrieval.bm25 import BM25, STEP, VARIANTS
from assay.system import PassageView, QueryView, Representer, spec_of
from assay.texts import Texts

WORDS = ["fee", "tax", "visa", "rent", "work", "the"]
documents = st.lists(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), min_size=1, max_size=12)
questions = st.lists(st.sampled_from([*WORDS, "unknown"]), max_size=8).map(" ".join)


def view(texts, **more):
    return PassageView(len(texts), {"text:plain": Texts.of(texts)}, **more)


def search(bm25, texts, queries, *, depth=10):
    """Passage rows and scores of each query, found by the house."""
    index = bm25.index(view(texts))
    return searched(index, queries, depth=depth)


def searched(index, queries, *, depth=10):
    rows, asked = index.rows, index.encode(QueryView(Texts.of(queries)))
    order = np.arange(len(rows), dtype=np.int32)
    lists = Postings.of(rows.offsets, rows.term, rows.weight, terms=rows.terms, order=order)
    offsets, row, score = top_rows(lists, asked.offsets, asked.term, asked.weight, depth=depth, step=rows.step)
    return [
        dict(zip(row[a:b].tolist(), score[a:b].tolist())) for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist())
    ]


def plain_scores(texts, query, variant, k1, b, delta):
    """Scores of every document that holds a word of the query, as the papers write them."""
    lists = [t.split() for t in texts]
    n, mean = len(lists), sum(map(len, lists)) / len(lists)
    found = {}
    for row, words in enumerate(lists):
        for word in query.split():
            tf, df = words.count(word), sum(word in other for other in lists)
            if not tf:
                continue
            norm = 1 - b + b * len(words) / mean
            shifted = tf / norm + delta
            found[row] = (
                found.get(row, 0.0)
                + {
                    "lucene": lambda tf=tf, df=df, norm=norm: (
                        math.log(1 + (n - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * norm)
                    ),
                    "robertson": lambda tf=tf, df=df, norm=norm: (
                        max(0, math.log((n - df + 0.5) / (df + 0.5))) * tf / (tf + k1 * norm)
                    ),
                    "atire": lambda tf=tf, df=df, norm=norm: math.log(n / df) * (k1 + 1) * tf / (tf + k1 * norm),
                    "bm25l": lambda df=df, c=shifted: math.log((n + 1) / (df + 0.5)) * (k1 + 1) * c / (k1 + c),
                    "bm25+": lambda tf=tf, df=df, norm=norm: (
                        math.log((n + 1) / df) * ((k1 + 1) * tf / (tf + k1 * norm) + delta)
                    ),
                }[variant]()
            )
    return found


@settings(deadline=None)
@given(
    texts=documents,
    query=questions,
    variant=st.sampled_from(sorted(VARIANTS)),
    k1=st.floats(0, 3),
    b=st.floats(0, 1),
    delta=st.floats(0.01, 2),
)
def test_scores_equal_plain_floats(texts, query, variant, k1, b, delta):
    own = delta if variant in ("bm25l", "bm25+") else None
    (found,) = search(BM25(variant=variant, k1=k1, b=b, delta=own), texts, [query], depth=100)
    expected = plain_scores(texts, query, variant, k1, b, delta)
    assert found.keys() == expected.keys()
    for row, score in expected.items():
        assert found[row] == pytest.approx(score, rel=1e-4, abs=len(query.split()) * STEP)
        assert found[row] > 0
        assert found[row] % STEP == 0


@settings(max_examples=25, deadline=None)
@given(texts=documents.filter(lambda texts: any(texts)), query=questions, variant=st.sampled_from(sorted(VARIANTS)))
def test_scores_equal_bm25s(texts, query, variant):
    """bm25s adds to every document what a count of 0 gives in bm25l and bm25+: taken off here."""
    import bm25s

    peer = bm25s.BM25(method=variant, k1=1.2, b=0.75, delta=0.5)
    peer.index([t.split() for t in texts], show_progress=False)
    known = [w for w in query.split() if w in peer.vocab_dict]
    theirs = peer.get_scores(known) if known else np.zeros(len(texts))
    (found,) = search(
        BM25(variant=variant, delta=0.5 if variant in ("bm25l", "bm25+") else None), texts, [query], depth=100
    )
    for row, text in enumerate(texts):
        absent = 0.0
        if variant in ("bm25l", "bm25+"):
            absent = sum(float(peer.nonoccurrence_array[peer.vocab_dict[w]]) for w in known if w not in text.split())
        assert found.get(row, 0.0) == pytest.approx(theirs[row] - absent, rel=1e-4, abs=(len(known) + 1) * STEP)


def test_case_B01():
    (found,) = search(BM25(), ["fee tax", "fee visa", "visa tax", "rent"], ["fee"])
    idf = math.log(1 + (4 - 2 + 0.5) / (2 + 0.5))
    assert idf == pytest.approx(0.6931, abs=1e-4)
    assert found == {row: pytest.approx(idf * 1 / (1 + 1.2 * (0.25 + 0.75 * 2 / 1.75)), rel=1e-4) for row in (0, 1)}
    for variant in VARIANTS:
        (found,) = search(BM25(variant=variant), ["fee", "fee", "fee tax"], ["fee"])
        assert sorted(found) == [0, 1, 2]
        assert min(found.values()) > 0


@pytest.mark.parametrize("variant", sorted(VARIANTS))
def test_case_B03(variant):
    assert search(BM25(variant=variant), ["", "", ""], ["cat"]) == [{}]
    assert search(BM25(variant=variant), [], ["cat"]) == [{}]
    assert search(BM25(variant=variant), ["", "cat"], ["cat", "", "dog"])[0].keys() == {1}
    assert search(BM25(variant=variant), ["", "cat"], ["cat", "", "dog"])[1:] == [{}, {}]


def test_case_B04():
    assert BM25().index(view(["vitamin D and C"])).vocabulary.to_list() == ["and", "c", "d", "vitamin"]


def test_repeated_query_words_count():
    once, twice = search(BM25(), ["fee tax", "visa"], ["fee", "fee fee"])
    assert twice == {0: 2 * once[0]}


def test_more_passages_wanted_than_there_are():
    assert search(BM25(), ["fee", "tax"], ["fee tax"], depth=1000)[0].keys() == {0, 1}


def test_mask_tokens_are_no_words():
    index = BM25().index(view(["see [MASKED]", "masked ball"], mask=("[MASKED]",)))
    asked = index.encode(QueryView(Texts.of(["[MASKED]", "masked"]), ("[MASKED]",)))
    assert np.diff(asked.offsets).tolist() == [0, 1]
    assert index.vocabulary.to_list() == ["ball", "masked", "see"]


def test_language_adds_stop_words_and_stemmer():
    texts = ["the taxes", "a visa"]
    assert BM25("english").index(view(texts)).vocabulary.to_list() == ["tax", "visa"]
    assert BM25("english", stemmer="").index(view(texts)).vocabulary.to_list() == ["taxes", "visa"]
    assert BM25("english", stop_words=()).index(view(texts)).vocabulary.to_list() == ["a", "tax", "the", "visa"]
    assert BM25(stop_words=("the",)).index(view(texts)).vocabulary.to_list() == ["a", "taxes", "visa"]


def test_other_text_and_whole_cjk_runs():
    both = PassageView(1, {"text:coref": Texts.of(["日本語"])})
    bm25 = BM25(text="coref", cjk="words")
    assert bm25.reads == ("text:coref",)
    assert bm25.index(both).vocabulary.to_list() == ["日本語"]


def test_weights_do_not_depend_on_the_order_of_passages():
    texts = [" ".join(np.random.default_rng(i).choice(WORDS, 9)) for i in range(50)]
    order = np.random.default_rng(1).permutation(50)
    (one,) = search(BM25(), texts, ["fee tax"], depth=7)
    (two,) = search(BM25(), [texts[i] for i in order], ["fee tax"], depth=7)
    assert {int(order[row]): score for row, score in two.items()} == one


@pytest.mark.parametrize("texts", [["fee tax tax", "", "visa été"], ["", ""], []])
def test_saved_index_is_the_same_mapped(tmp_path, texts):
    bm25 = BM25("english")
    index = bm25.index(view(texts))
    index.save(tmp_path)
    again = bm25.load(tmp_path)
    for part in ("offsets", "term", "weight"):
        np.testing.assert_array_equal(getattr(again.rows, part), getattr(index.rows, part), strict=True)
    assert again.vocabulary == index.vocabulary
    assert (again.rows.terms, again.rows.step) == (index.rows.terms, STEP)
    assert searched(again, ["tax", "été"]) == searched(index, ["tax", "été"])
    assert isinstance(again.rows.weight, np.memmap)
    assert {path.suffix for path in tmp_path.iterdir()} == {".npy"}


def test_missing_file_of_a_stored_index(tmp_path):
    with pytest.raises(FormatError, match=r"offsets\.npy: not an array of a stored bm25 index"):
        BM25().load(tmp_path)


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"variant": "lucen"}, UnknownNameError, "did you mean 'lucene'"),
        ({"language": "englsh"}, UnknownNameError, "did you mean 'english'"),
        ({"k1": -1}, UsageError, "k1 must be a number, 0 or more"),
        ({"k1": math.nan}, UsageError, "k1"),
        ({"k1": "1"}, UsageError, "k1"),
        ({"b": 1.5}, UsageError, "b must be a number, from 0 to 1"),
        ({"delta": 1.0}, UsageError, "delta belongs to"),
        ({"variant": "bm25+", "delta": -1.0}, UsageError, "delta"),
        ({"stemmer": "klingon"}, UsageError, "no stemmer"),
        ({"stop_words": "the"}, UsageError, "stop_words"),
        ({"cjk": "trigrams"}, UnknownNameError, "cjk"),
        ({"text": "raw"}, UnknownNameError, "text"),
    ],
)
def test_bad_parameters(fields, error, message):
    with pytest.raises(error, match=message):
        BM25(**fields)


def test_written_as_a_call():
    made = system("bm25('english', k1=0.9)")
    assert made == BM25("english", k1=0.9)
    assert isinstance(made, Representer)
    assert call_of(spec_of(BM25(variant="bm25+")), spec_of(BM25())) == "bm25(variant='bm25+', delta=1.0)"


def ordered(found, ids):
    """Ids by score, then id, both falling."""
    return [ids[row] for row in sorted(found, key=lambda r: (found[r], ids[r].encode()), reverse=True)]


def mean_ndcg(lists, gold, cutoff=10):
    def dcg(grades):
        return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))

    values = []
    for ranked, grades in zip(lists, gold):
        ideal = dcg(sorted(grades.values(), reverse=True)[:cutoff])
        values.append(dcg([grades.get(own, 0) for own in ranked[:cutoff]]) / ideal)
    return sum(values) / len(values)


def json_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(("call", "expected"), [("bm25", 0.2174), ("bm25('english')", 0.2992)])
def test_presets_on_conditionalqa(shared_data, call, expected):
    folder = shared_data / "conditionalqa"
    passages, queries = json_lines(folder / "passages.jsonl"), json_lines(folder / "queries.test.jsonl")
    gold = {query["_id"]: {} for query in queries}
    for line in (folder / "qrels.test.tsv").read_text().splitlines():
        query, _, passage, grade = line.split()
        gold[query][passage] = int(grade)
    found = search(system(call), [p["text"] for p in passages], [q["text"] for q in queries], depth=100)
    ids = [p["_id"] for p in passages]
    lists = [ordered(own, ids) for own in found]
    assert mean_ndcg(lists, [gold[q["_id"]] for q in queries]) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(("language", "cjk", "expected"), [("zh", "bigrams", 0.9535), ("zh", "words", 0.1095)])
def test_chinese_needs_pairs(shared_data, language, cjk, expected):
    data = json.loads((shared_data / "xquad" / f"xquad.{language}.json").read_text(encoding="utf-8"))["data"]
    paragraphs = [p for article in data for p in article["paragraphs"]]
    asked = [(row, qa["question"]) for row, p in enumerate(paragraphs) for qa in p["qas"]]
    found = search(BM25(cjk=cjk), [p["context"] for p in paragraphs], [q for _, q in asked])
    ids = [f"p{row:03d}" for row in range(len(paragraphs))]
    total = 0.0
    for (row, _), own in zip(asked, found):
        ranked = ordered(own, ids)[:10]
        total += 1 / (ranked.index(ids[row]) + 1) if ids[row] in ranked else 0.0
    assert total / len(asked) == pytest.approx(expected, abs=5e-5)
