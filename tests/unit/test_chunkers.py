"""Chunkers: what each cuts, the proof of what strangers return, and what goes wrong."""

from __future__ import annotations

import json
import shlex
import sys
import time
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.catalog import made
from assay.chunker import chunked, cut, stripped
from assay.chunkers.command import Command
from assay.chunkers.recursive import Recursive
from assay.chunkers.sentences import Sentences
from assay.chunkers.window import Window
from assay.errors import ContractError, FormatError, UnavailableError, UnknownIdError, UnknownNameError, UsageError
from assay.span import Spans
from assay.texts import Texts

WORDS = st.text(st.sampled_from("ab., \n\r\t\u00a0\u2003\x1cé日本。、ア한😀\u0301A１"), max_size=50)


def texts(chunker, document):
    return [document[a:b] for a, b in chunker.spans(document).tolist()]


# Windows


def words_by_definition(document):
    """Blank-separated runs; in them each CJK character begins a word, and so does a letter after CJK."""
    cjk, sign = set("日本ア한"), set("。、")
    found = []
    for place, c in enumerate(document):
        before = document[place - 1] if place else " "
        starts = before.isspace() or c in cjk or (before in cjk | sign and c.isalnum())
        if c.isspace():
            continue
        if starts:
            found.append([place, place + 1])
        else:
            found[-1][1] = place + 1
    return found


@given(st.lists(WORDS, max_size=4), st.integers(1, 4), st.integers(0, 3))
def test_windows_of_words_are_their_definition(documents, size, overlap):
    overlap = min(overlap, size - 1)
    expected = []
    for row, document in enumerate(documents):
        words = words_by_definition(document)
        first = 0
        while words:
            last = min(first + size, len(words))
            expected.append((row, words[first][0], words[last - 1][1]))
            if last == len(words):
                break
            first += size - overlap
    found = Window(words=size, overlap=overlap).spans_of(Texts.of(documents))
    assert list(zip(found.document.tolist(), found.start.tolist(), found.end.tolist())) == expected


def test_ascii_alone_and_beside_other_scripts_is_cut_alike():
    plain = ["a b\x0bc\x1cd\x1fe f,g", "", "  ", "x"]
    alone, beside = (Window(words=1).spans_of(Texts.of(rows)) for rows in (plain, [*plain, "é"]))
    assert alone.start.tolist() == beside.start.tolist()[:-1]


def test_documents_of_several_blocks_do_not_run_together():
    rng = np.random.default_rng(0)
    documents = ["".join(rng.choice(list("abc \n"), 300_000)) for _ in range(30)]
    whole = Window(words=50, overlap=5).spans_of(Texts.of(documents))
    for row in (0, 13, 29):
        assert (
            whole.start[whole.document == row].tolist()
            == Window(words=50, overlap=5).spans(documents[row])[:, 0].tolist()
        )


def test_long_runs_of_blanks_are_passed_over():
    blanks = " \n" * 5000
    for document in (f"a b{blanks}c{blanks}", f"é b{blanks}c{blanks}"):
        assert texts(Window(words=2), document) == [document[:3], "c"]
    found = Window(words=2).spans_of(Texts.of([f"a{blanks}", blanks, f"{blanks}b"]))
    assert (found.document.tolist(), found.start.tolist(), found.end.tolist()) == ([0, 2], [0, 10000], [1, 10001])


def test_windows_of_characters():
    assert texts(Window(characters=3, overlap=1), "añbcdef") == ["añb", "bcd", "def"]


@pytest.mark.parametrize(
    "call", ["window", "window(3, characters=4)", "window(3, overlap=3)", "window(3, overlap=-1)", "window(tokens=3)",
             "window(3, tokenizer='x')", "window('3')", "window(2.5)"],
)  # fmt: skip
def test_windows_that_make_no_sense_are_refused(call):
    with pytest.raises(UsageError):
        made("chunker", call)


@pytest.fixture
def tokenizer_file(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    model = tokenizers.models.WordPiece({"[UNK]": 0, "fee": 1, "##s": 2, "the": 3, "日": 4}, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return tmp_path / "tokenizer.json"


def test_windows_of_tokens_take_offsets_from_the_tokenizer(tokenizer_file):
    document = "The  FEES, été 日 fee"
    assert texts(Window(tokens=2, tokenizer=str(tokenizer_file)), document) == ["The  FEE", "S,", "été 日", "fee"]
    assert Window(tokens=2, tokenizer=str(tokenizer_file)).spans("").tolist() == []


def test_a_tokenizer_that_is_none_is_an_error(tmp_path):
    pytest.importorskip("tokenizers")
    with pytest.raises(FormatError, match="there is no tokenizer file"):
        Window(tokens=2, tokenizer=str(tmp_path / "none.json")).spans("a")
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(FormatError, match="no tokenizer file that can be read"):
        Window(tokens=2, tokenizer=str(tmp_path / "bad.json")).spans("a")


# Sentences


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("One. Two! Three? Four… Five", ["One.", "Two!", "Three?", "Four…", "Five"]),
        ("Dr. Lee met J. R. Smith, e.g. in May.  He left.", ["Dr. Lee met J. R. Smith, e.g. in May.", "He left."]),
        (
            "See art. 5 and p. 7. It costs 3.50 pounds. No. 5 pays.",
            ["See art. 5 and p. 7.", "It costs 3.50 pounds.", "No. 5 pays."],
        ),
        ("The answer is no. Then pay.", ["The answer is no.", "Then pay."]),
        ("Das ist z.B. gut. Am 3. mai ist es so weit.", ["Das ist z.B. gut.", "Am 3. mai ist es so weit."]),
        ("日本語の文。「はい。」次の文！終", ["日本語の文。", "「はい。」", "次の文！", "終"]),
        ("هل هذا مجاني؟ نعم.", ["هل هذا مجاني؟", "نعم."]),
        ("यह शुल्क है। दूसरा वाक्य॥", ["यह शुल्क है।", "दूसरा वाक्य॥"]),
        ('He said "Pay." Then left.', ['He said "Pay."', "Then left."]),
        ("A heading\r\n\r\nA text\nthat goes on.", ["A heading", "A text\nthat goes on."]),
        ("www.gov.uk is v1.2 of it.", ["www.gov.uk is v1.2 of it."]),
        (" \n ", []),
    ],
)
def test_sentences_end_where_they_end(document, expected):
    assert texts(Sentences(sentences=1), document) == expected


def test_sentences_are_counted_and_overlap():
    document = "A1. B2. C3. D4. E5."
    assert texts(Sentences(sentences=2), document) == ["A1. B2.", "C3. D4.", "E5."]
    assert texts(Sentences(sentences=3, overlap=1), document) == ["A1. B2. C3.", "C3. D4. E5."]


@given(WORDS, st.integers(1, 12))
def test_sentences_fit_in_so_many_characters(document, limit):
    spans = Sentences(characters=limit).spans(document)
    assert (spans[:, 1] - spans[:, 0] <= limit).all()


# Recursive


@given(WORDS, st.integers(1, 12))
def test_recursive_chunks_fit_and_join_what_fits(document, limit):
    chunker = Recursive(limit, separators=("\n", " "))
    spans = chunker.spans(document).tolist()
    assert all(b - a <= limit for a, b in spans)
    assert "".join("".join(document[a:b] for a, b in spans).split()) == "".join(document.split())
    if len(document) <= limit:
        assert len(spans) <= 1


def test_recursive_cuts_at_the_coarsest_separator_first():
    document = "aa bb\ncc dd\n\nee ff gg hh"
    assert texts(Recursive(11, separators=("\n\n", "\n", " ")), document) == ["aa bb\ncc dd", "ee ff gg hh"]
    assert texts(Recursive(8, separators=("\n\n", "\n", " ")), document) == ["aa bb", "cc dd", "ee ff gg", "hh"]
    assert texts(Recursive(3, separators=()), "abcdefg") == ["abc", "def", "g"]


@pytest.mark.parametrize(
    "call", ["recursive(0)", "recursive('5')", "recursive(5, separators=[''])", "recursive(5, separators='x')"]
)
def test_recursive_refuses_what_makes_no_sense(call):
    with pytest.raises(UsageError):
        made("chunker", call)


# The proof of what chunkers return


class _Returning:
    name: ClassVar[str] = "returning"

    def __init__(self, found):
        self.found = found

    def spans(self, document):
        return self.found


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([[0, 9]], "ends before"),
        ([[2, 1]], "reversed"),
        ([[-1, 2]], "reversed or negative"),
        ([[1, 2], [0, 2]], "before the chunk that precedes it"),
        ([0, 2], "shape"),
        ([[0.0, 1.5]], "whole numbers"),
        ([[0], [1, 2]], "no table"),
    ],
)
def test_spans_that_break_the_contract_are_refused(found, message):
    with pytest.raises(ContractError, match=message):
        chunked(_Returning(found), Texts.of(["Größe"]))


def test_offsets_that_count_bytes_are_refused():
    with pytest.raises(ContractError, match="code points"):
        chunked(_Returning([[0, len("Größe".encode())]]), Texts.of(["Größe"]))


def test_case_C05():
    """A chunk of zero length is left out and counted, its neighbours stay."""
    found = chunked(_Returning([[0, 2], [2, 2], [2, 5]]), Texts.of(["Größe"]))
    assert found.texts.to_list() == ["Gr", "öße"]
    assert found.counts["blank chunks left out"] == 1


def test_case_C06():
    """Text between < and > stays: nothing is taken for a tag, and gold cannot fall into what was eaten."""
    raw = "You qualify if income < 100 and savings > 50 pounds."
    for call in ("window(3)", "sentences(1)", "recursive(12)", "native"):
        found = chunked(made("chunker", call), Texts.of([raw]), own=Spans.of((0, 0, len(raw))))
        assert " ".join(" ".join(found.texts).split()) == raw
    assert len(chunked(made("chunker", "window(3)"), Texts.of([""]))) == 0


class _Pieces:
    name: ClassVar[str] = "pieces"

    def __init__(self, *pieces):
        self.found = pieces[0] if len(pieces) == 1 and not isinstance(pieces[0], str) else list(pieces)

    def pieces(self, document):
        return self.found


def test_texts_without_offsets_are_placed_and_what_has_no_place_is_reported():
    found = chunked(_Pieces("The fee", "is\ndue", "never", ""), Texts.of(["The  fee is due."]))
    assert found.texts.to_list() == ["The  fee", "is due"]
    assert found.counts["chunks not placed"] == 1
    assert found.counts["blank chunks left out"] == 1
    assert found.lost == ((0, "never"),)


@pytest.mark.parametrize("wrong", [None, {"a": 1}, [1, 2], [b"a"]])
def test_texts_that_are_none_are_refused(wrong):
    with pytest.raises(ContractError, match="a list of texts"):
        chunked(_Pieces(wrong), Texts.of(["a"]))


def test_what_is_no_chunker_is_refused():
    with pytest.raises(UsageError, match="no chunker"):
        chunked(object(), Texts.of(["a"]))
    with pytest.raises(UsageError, match="there are none"):
        chunked(made("chunker", "native"), Texts.of(["a"]))


@given(st.lists(WORDS, max_size=4), st.data())
def test_cut_is_a_slice(documents, data):
    rows = []
    for row, document in enumerate(documents):
        at = st.integers(0, len(document))
        rows += [(row, *sorted(pair)) for pair in data.draw(st.lists(st.tuples(at, at), max_size=3))]
    found = cut(Texts.of(documents), Spans.of(*rows))
    assert found.to_list() == [documents[d][a:b] for d, a, b in rows]


@given(WORDS)
def test_stripped_is_strip(document):
    found = stripped(document, [(0, len(document))]).tolist()
    assert [document[a:b] for a, b in found] == ([document.strip()] if document.strip() else [])


# A program as a chunker


def program(tmp_path, body, **fields):
    """A program that does `body` for each row."""
    path = tmp_path / "my_chunker.py"
    path.write_text(
        f"import json, sys\nfor line in sys.stdin.buffer:\n    row = json.loads(line)\n    {body}\n", encoding="utf-8"
    )
    return Command(f"{shlex.quote(sys.executable)} {shlex.quote(str(path))}", **fields)


DOCUMENTS = Texts.of(["The fee.\r\nThe fee is due. ", "", "日本語 の 文😀"])


def test_a_program_returns_chunks_or_spans(tmp_path):
    halves = "n = len(row['text']); print(json.dumps({'id': row['id'], 'spans': [[0, n // 2], [n // 2, n]]}))"
    pieces = "print(json.dumps({'id': row['id'], 'chunks': row['text'].split()}))"
    for body, first in ((halves, "The fee.\r\nThe"), (pieces, "The")):
        found = chunked(program(tmp_path, body), DOCUMENTS)
        assert found.texts[0] == first
        listed = DOCUMENTS.to_list()
        rows = zip(
            found.spans.document.tolist(), found.spans.start.tolist(), found.spans.end.tolist(), found.texts.to_list()
        )
        assert all(listed[d][a:b] == text for d, a, b, text in rows)


def test_a_program_sees_random_ids_and_texts_alone(tmp_path):
    body = f"open({str(tmp_path / 'seen')!r}, 'a').write(json.dumps(row) + '\\n'); print(json.dumps({{'id': row['id'], 'spans': []}}))"
    for _ in range(2):
        assert len(chunked(program(tmp_path, body), DOCUMENTS)) == 0
    rows = [json.loads(line) for line in (tmp_path / "seen").read_text().splitlines()]
    assert len({row["id"] for row in rows}) == 6
    assert [set(row) for row in rows] == [{"id", "text"}] * 6
    assert [row["text"] for row in rows] == DOCUMENTS.to_list() * 2


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        ("raise ValueError('out of ink')", ContractError, "out of ink"),
        ("sys.exit(3)", ContractError, "status 3"),
        ("pass", ContractError, "no line for document 1"),
        ("print('nonsense')", FormatError, "line 1: not JSON"),
        ("print('[1]')", FormatError, "no object with an id"),
        ("print(json.dumps({'id': row['id']}))", FormatError, "either spans or chunks"),
        ("print(json.dumps({'id': 'other', 'spans': []}))", UnknownIdError, "'other' is no id"),
        ("print(json.dumps({'id': row['id'], 'spans': []}) * 2)", FormatError, "not JSON"),
        ("[print(json.dumps({'id': row['id'], 'spans': []})) for _ in 'ab']", ContractError, "stands there twice"),
        ("print(json.dumps({'id': row['id'], 'spans': [[0, 99]]}))", ContractError, "code points"),
        ("print(json.dumps({'id': row['id'], 'spans': [[0, 1.5]]}))", FormatError, "whole numbers"),
        ("print(json.dumps({'id': row['id'], 'spans': [[0, 0], [0, True]]}))", FormatError, "whole numbers"),
        ("print(json.dumps({'id': row['id'], 'chunks': 'text'}))", FormatError, "list of texts"),
        ("print(json.dumps({'id': row['id'], 'chunks': ['not there']}))", ContractError, "'not there'"),
        (
            "print(json.dumps({'id': row['id'], 'spans': [[3, 4], [0, 1]] if row['text'] else []}))",
            ContractError,
            "before the chunk",
        ),
    ],
)
def test_what_a_program_may_do_wrong_is_named(tmp_path, body, error, message):
    with pytest.raises(error, match=message):
        chunked(program(tmp_path, body), DOCUMENTS)


def test_some_chunks_may_be_allowed_to_have_no_place(tmp_path):
    body = "print(json.dumps({'id': row['id'], 'chunks': ['not there']}))"
    assert len(chunked(program(tmp_path, body, unplaced=3), DOCUMENTS)) == 0


def test_a_program_that_never_ends_is_stopped(tmp_path):
    start = time.monotonic()
    with pytest.raises(ContractError, match="within 1 seconds"):
        chunked(program(tmp_path, "import time; time.sleep(600)", timeout=1), DOCUMENTS)
    assert time.monotonic() - start < 60


def test_a_program_that_writes_without_end_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.chunkers.command._MOST_BYTES", 1 << 16)
    with pytest.raises(ContractError, match="without end"):
        chunked(program(tmp_path, "[print('x' * 9999) for _ in iter(int, 1)]", timeout=100), DOCUMENTS)


def test_a_program_that_is_not_there(tmp_path):
    with pytest.raises(UnavailableError, match="no program"):
        chunked(Command("no-such-chunker-anywhere"), DOCUMENTS)
    assert len(chunked(Command("no-such-chunker-anywhere"), Texts.of([]))) == 0


@pytest.mark.parametrize(
    "call", ["command('')", "command('a \"b')", "command('x', timeout=0)", "command('x', unplaced=-1)"]
)
def test_command_refuses_what_makes_no_sense(call):
    with pytest.raises(UsageError):
        made("chunker", call)


# Adapters


@pytest.mark.parametrize(
    ("call", "package"),
    [
        ("semchunk(characters=9)", "semchunk"),
        ("chonkie", "chonkie"),
        ("langchain", "langchain_text_splitters"),
        ("llama_index", "llama_index.core.node_parser"),
        ("window(tokens=3, tokenizer='t.json')", "tokenizers"),
    ],
)
def test_a_missing_package_says_what_to_install(call, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UnavailableError, match=r"assay\[chunkers\]"):
        chunked(made("chunker", call), Texts.of(["one two"]))


@pytest.mark.parametrize("call", ["chonkie('tokn')", "langchain('recursiv')", "llama_index('sentences')"])
def test_kinds_have_near_names(call):
    with pytest.raises(UnknownNameError, match="did you mean"):
        made("chunker", call)


def test_wrong_offsets_of_a_package_are_never_read():
    """Chonkie's token chunker over words, with overlap: texts placed where they stand."""
    pytest.importorskip("chonkie")
    document = "alpha  beta gamma\n\ndelta alpha  beta " * 4
    found = chunked(made("chunker", "chonkie('token', size=6, overlap=2, tokenizer='word')"), Texts.of([document]))
    assert found.counts["chunks placed exactly"] == len(found) > 3
    assert (np.diff(found.spans.start) > 0).all()
    assert found.spans.end[-1] >= len(document.rstrip())
