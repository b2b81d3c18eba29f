"""Every chunker, found by the catalogue: each chunk is what its document holds, in any script, and nothing goes back."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.building.rechunk import documents_of
from assay.call import call_of
from assay.catalog import known, made
from assay.chunker import AnyChunker, chunked
from assay.errors import UsageError
from assay.sources import open_collection
from assay.span import Spans
from assay.system import spec_of
from assay.texts import Texts

NAMES = sorted(known("chunker"))
NEEDS = {
    "semchunk": "semchunk",
    "chonkie": "chonkie",
    "langchain": "langchain_text_splitters",
    "llama_index": "llama_index",
}

PROGRAM = (
    "import json, sys\n"
    "for line in sys.stdin.buffer:\n"
    "    row = json.loads(line)\n"
    "    print(json.dumps({'id': row['id'], 'chunks': row['text'].split()}))\n"
)
CALLS = {
    "chonkie": ["chonkie('token', size=9, overlap=3)", "chonkie('token', size=3, overlap=1, tokenizer='word')",
                "chonkie('sentence', size=20)", "chonkie('recursive', size=20)"],
    "command": [f"command({shlex.join([sys.executable, '-c', PROGRAM])!r})"],
    "langchain": ["langchain(characters=12, overlap=4)", "langchain('character', characters=10, separators=[' '])"],
    "llama_index": ["llama_index(words=4, overlap=1)", "llama_index('token', words=4, overlap=2)"],
    "native": ["native"],
    "recursive": ["recursive(12)", "recursive(3, separators=['. ', ' '])"],
    "semchunk": ["semchunk(characters=12)", "semchunk(words=3, overlap=1)"],
    "sentences": ["sentences(2, overlap=1)", "sentences(characters=15)"],
    "window": ["window(3, overlap=1)", "window(characters=7, overlap=2)", "window(words=1)"],
}  # fmt: skip
"""Parameters with small sizes; a new chunker adds its own line here."""

PIECES = [
    "The fee is due. ", "the fee", " ", "\r\n", "\n\n", "\n", "e.g. Dr. A. Lee! ", "a", "  ", "été ", "Größe? ", "😀", "日本語の文。",
    "二番目", "한국어 문장. ", "हिन्दी वाक्य। ", "نص عربي؟ ", "\u00a0", "\u3000", "cafe\u0301 ", "İstanbul ", "<b>x</b> ", "…", "٣ ", "\u200b",
]  # fmt: skip
DOCUMENTS = st.lists(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), max_size=4)
FIXED = [
    "", " \r\n\t", "one", "bread bread", "fee " * 40, "x" * 50, "a\r\nb\r\n\r\nc d e f", "  First.\n\n  Second.  \n\nThird.",
    "日本語の文。二番目の文。三番目。", "المادة ١. الرسوم مستحقة. المادة ٢.", "Η ελληνική γλώσσα. Έχει τόνους· πολλούς.",
    "Das ist z. B. gut. Nr. 5 zahlt 3,50 €. Am 3. Mai ist es so weit.", "<p>You qualify if income < 100 and savings > 50.</p>",
    "A😀b 👩‍👩‍👧 c.", "no\u00a0break\u2003blanks", "Cafe\u0301 Cafe\u0301 Café",
]  # fmt: skip


def calls() -> list[str]:
    return [call for name in NAMES for call in CALLS.get(name, [name])]


def chunker_of(call: str) -> AnyChunker:
    name = call.partition("(")[0]
    if name in NEEDS and find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is not installed: install the extra chunkers")
    return made("chunker", call)


def own_of(documents: list[str]) -> Spans:
    """Two passages a document, as a collection might have them."""
    rows = [
        (row, *span)
        for row, text in enumerate(documents)
        for span in ((0, len(text) // 2), (len(text) // 2, len(text)))
    ]
    return Spans.of(*rows)


def prove(chunker: AnyChunker, documents: list[str]) -> int:
    """The number of chunks, each proven against its document."""
    found = chunked(chunker, Texts.of(documents), own=own_of(documents))
    texts = found.texts.to_list()
    table = zip(found.spans.document.tolist(), found.spans.start.tolist(), found.spans.end.tolist(), texts, strict=True)
    for document, start, end, text in table:
        assert documents[document][start:end] == text
        assert text.strip()
    same = np.diff(found.spans.document) == 0
    assert (np.diff(found.spans.document) >= 0).all()
    assert (np.diff(found.spans.start)[same] >= 0).all()
    return len(texts)


def test_every_chunker_has_calls_to_be_tested_with() -> None:
    assert set(NAMES) == set(CALLS)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_frozen_and_documented(name: str) -> None:
    cls = known("chunker")[name]
    assert cls.__dataclass_params__.frozen
    assert cls.__doc__
    assert "Example:" in cls.__doc__


@pytest.mark.parametrize("call", calls())
def test_its_spec_is_a_call_that_makes_it_again(call: str) -> None:
    chunker = chunker_of(call)
    assert made("chunker", call_of(spec_of(chunker))) == chunker


@pytest.mark.parametrize("call", calls())
def test_chunks_are_what_their_documents_hold(call: str) -> None:
    chunker = chunker_of(call)
    assert prove(chunker, FIXED) >= len(FIXED) - 2
    assert prove(chunker, []) == 0


@pytest.mark.parametrize("call", [call for call in calls() if not call.startswith("command")])
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(documents=DOCUMENTS)
def test_chunks_of_any_documents_are_what_these_hold(call: str, documents: list[str]) -> None:
    prove(chunker_of(call), documents)


@pytest.mark.parametrize(
    "call", [c for c in calls() if c.partition("(")[0] in ("window", "sentences", "recursive", "native")]
)
@settings(max_examples=40, deadline=None)
@given(documents=DOCUMENTS)
def test_the_house_s_own_leave_nothing_but_blanks_out(call: str, documents: list[str]) -> None:
    found = chunked(chunker_of(call), Texts.of(documents), own=own_of(documents))
    for row, text in enumerate(documents):
        held = set()
        for at in np.flatnonzero(found.spans.document == row).tolist():
            held |= set(range(int(found.spans.start[at]), int(found.spans.end[at])))
        assert not "".join(c for place, c in enumerate(text) if place not in held).strip()


@pytest.mark.parametrize("call", calls())
def test_a_document_is_cut_alike_alone_and_among_others(call: str) -> None:
    chunker = chunker_of(call)
    documents = Texts.of(FIXED)
    together = chunked(chunker, documents, own=own_of(FIXED))
    for row in range(0, len(FIXED), 5):
        alone = chunked(chunker, Texts.of([FIXED[row]]), own=own_of([FIXED[row]]))
        mine = np.flatnonzero(together.spans.document == row)
        assert together.spans.take(mine).start.tolist() == alone.spans.start.tolist()


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("command", "native")])
def test_a_size_out_of_range_is_refused(name: str) -> None:
    size = next(f.name for f in dataclasses.fields(known("chunker")[name]) if f.name in ("characters", "size", "words"))
    for wrong in (0, -3):
        with pytest.raises(UsageError):
            made("chunker", f"{name}({size}={wrong})")


@pytest.mark.parametrize("language", ["ar", "de", "el", "en", "es", "ro", "zh"])
def test_real_documents_in_seven_languages(language: str, shared_data) -> None:
    passages = open_collection(shared_data / "xquad" / f"xquad.{language}.json").passages
    documents, _ = documents_of(passages)
    listed = documents.to_list()
    for call in calls():
        if call.startswith("command"):
            continue
        name = call.partition("(")[0]
        if name in NEEDS and find_spec(NEEDS[name]) is None:
            continue
        chunker = made("chunker", call)
        found = chunked(chunker, documents, own=passages.spans)
        texts = found.texts.to_list()
        at = zip(found.spans.document.tolist(), found.spans.start.tolist(), found.spans.end.tolist(), strict=True)
        wrong = sum(listed[d][s:e] != text for (d, s, e), text in zip(at, texts, strict=True))
        assert (call, wrong, found.counts.get("chunks not placed", 0)) == (call, 0, 0)
        assert len(texts) >= len(listed)
