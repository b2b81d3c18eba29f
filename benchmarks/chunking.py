"""Chunking speed: windows of words beside langchain's recursive splitter, and alignment at one and ten times the text.

python benchmarks/chunking.py [--megabytes 100] [--align 1] [--repeat 3] [--json] [--no-peers]

Texts are made: words whose frequencies fall with their rank, sentences, paragraphs. Both sides return texts. Before a
time is printed: every window equals its document's stretch, and both cover the same characters but for blanks.
The splitter gets the windows' mean length in characters. Alignment places blank-folded, overlapping pieces of one
long text, and so many characters a second are shown for both lengths: linear work shows the same figure twice. Times
are the best of `repeat`; the peer runs once.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from assay.align import aligned
from assay.chunker import Chunked, chunked
from assay.chunkers.window import Window
from assay.texts import Texts

WINDOW = Window(words=120, overlap=20)
DOCUMENT_BYTES = 20_000


def made(size: int, *, seed: int = 0, mark: str = "") -> list[str]:
    """Documents of about `size` characters together; `mark` is a character that some words get."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("etaoinshrdlu"))
    words = ["".join(rng.choice(letters, n)) for n in rng.integers(2, 10, 20_000)]
    words = [w.replace("e", mark) if mark else w for w in words]
    weight = 1 / (np.arange(len(words)) + 3.0)
    cumulated = np.cumsum(weight / weight.sum())
    # A sentence has about 17 words, a paragraph about 100, as in encyclopaedic prose.
    ends = np.array([" "] * 88 + [", "] * 6 + [". "] * 4 + [".\n", ".\n\n"])
    documents: list[str] = []
    total = 0
    while total < size:
        count = DOCUMENT_BYTES // 6
        drawn = np.searchsorted(cumulated, rng.random(count)).clip(0, len(words) - 1).tolist()
        tails = ends[rng.integers(0, len(ends), count)].tolist()
        documents.append("".join([words[w] + tail for w, tail in zip(drawn, tails, strict=True)]).rstrip())
        total += len(documents[-1]) + 1
    return documents


def best(work: Callable[[], Any], repeat: int) -> tuple[Any, float]:
    """What `work` returns, and the least seconds that it took."""
    seconds = np.inf
    for _ in range(repeat):
        start = time.perf_counter()
        result = work()
        seconds = min(seconds, time.perf_counter() - start)
    return result, float(seconds)


def filled(spans: np.ndarray, document: str) -> int:
    """Characters in some span that are no blanks."""
    held = np.zeros(len(document) + 1, np.int64)
    np.add.at(held, spans[:, 0], 1)
    np.add.at(held, spans[:, 1], -1)
    inside = np.cumsum(held[:-1]) > 0
    return sum(not c.isspace() for c, here in zip(document, inside.tolist(), strict=True) if here)


def check_windows(found: Chunked, documents: list[str]) -> None:
    texts = found.texts.to_list()
    rows = zip(found.spans.document.tolist(), found.spans.start.tolist(), found.spans.end.tolist(), texts, strict=True)
    for document, start, end, text in rows:
        if documents[document][start:end] != text:
            raise SystemExit(f"a window of document {document} is not its stretch [{start}, {end})")


def check_coverage(found: Chunked, documents: list[str], pieces: list[list[str]]) -> None:
    """Both cover all that is no blank, in a sample of documents."""
    for row in range(0, len(documents), max(1, len(documents) // 50)):
        own = found.spans.take(np.flatnonzero(found.spans.document == row))
        whole = sum(not c.isspace() for c in documents[row])
        ours = filled(np.stack([own.start, own.end], axis=1), documents[row])
        placed = aligned(documents[row], pieces[row])
        theirs = filled(placed.spans[placed.placed], documents[row])
        if not ours == theirs == whole:
            raise SystemExit(f"document {row}: {whole} characters, we cover {ours}, the peer {theirs}")


def windows(megabytes: float, repeat: int, *, peers: bool, mark: str = "") -> dict[str, float]:
    documents = made(int(megabytes * 1e6), mark=mark)
    texts = Texts.of(documents)
    size = len(texts.buffer) / 1e6
    # Fresh texts each time, so that no length is remembered from the run before.
    found, seconds = best(lambda: chunked(WINDOW, Texts(texts.buffer, texts.offsets)), repeat)
    check_windows(found, documents)
    record = {"MB": size, "chunks": len(found), "window_s": seconds, "window_MB_s": size / seconds}
    if peers:
        from langchain_text_splitters import RecursiveCharacterTextSplitter

        mean = int(found.spans.lengths.mean())
        for name, overlap in (("langchain", 0), ("langchain_overlap", mean // 6)):
            splitter = RecursiveCharacterTextSplitter(chunk_size=mean, chunk_overlap=overlap)
            pieces, slow = best(lambda s=splitter: [s.split_text(d) for d in documents], 1)
            if not overlap:
                check_coverage(found, documents, pieces)
            record |= {f"{name}_s": slow, f"{name}_MB_s": size / slow, f"{name}_ratio": slow / seconds}
    return record


def alignment(megabytes: float, repeat: int) -> dict[str, float]:
    record = {}
    for times in (1, 10):
        text = "\n".join(made(int(megabytes * 1e6 * times)))
        words = text.split()
        pieces = [" ".join(words[at : at + 120]) for at in range(0, len(words), 100)]
        exact = [text[at : at + 700] for at in range(0, len(text), 600)]
        for name, given in (("folded", pieces), ("exact", exact)):
            found, seconds = best(lambda t=text, g=given: aligned(t, g), repeat)
            if len(found.lost) or found.uncovered_filled:
                raise SystemExit(f"{name}: {len(found.lost)} pieces not placed, {found.uncovered_filled} left over")
            record[f"{name}_{times}x_s"] = seconds
            record[f"{name}_{times}x_MB_s"] = len(text) / 1e6 / seconds
    return record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--align", type=float, default=1, help="megabytes of the shorter text to align")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    record = {
        "windows, ASCII": windows(options.megabytes, options.repeat, peers=not options.no_peers),
        "windows, Greek": windows(options.megabytes / 10, options.repeat, peers=not options.no_peers, mark="ε"),
        "alignment": alignment(options.align, options.repeat),
    }
    if options.json:
        print(json.dumps(record, indent=2))
        return
    for name, values in record.items():
        print(name)
        for key, value in values.items():
            print(f"  {key:24} {value:12.3f}")


if __name__ == "__main__":
    main()
