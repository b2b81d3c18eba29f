r"""Words: the one tokeniser, from texts to codes of words.

A word is a run of letters, marks, digits and underscores, `[\p{L}\p{M}\p{N}_]+`, lower-cased by `str.lower`
word by word (so a final sigma is final in its word). Runs of CJK characters are written without blanks, and
become their overlapping pairs; a CJK character that stands alone is a word. CJK here means the scripts Han,
Hiragana, Katakana and Hangul: Korean has blanks, but its words carry endings that pairs see through, and the
analysers of Lucene treat the four alike.

Texts are cut once and every distinct word is treated once: lower case, pairs, stop words and stems are the
business of the vocabulary, never of the texts. Which characters are letters is Arrow's table (Unicode 15 or
later); how they are lower-cased is Python's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.errors import UsageError
from assay.texts import Texts, numbers_of

Offsets = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]

CHUNK_BYTES = 2 << 20
"""Texts are cut in chunks of this size: large enough for Arrow, small enough for the cache and for threads."""

_BETWEEN_WORDS = r"[^\pL\pM\pN_]+"
_BLANKED = bytes(b if b >= 0x80 or chr(b).isalnum() or chr(b) == "_" else 0x20 for b in range(256))
_CJK = (
    "\u1100-\u11ff\u3005-\u3007\u3021-\u3029\u302e-\u302f\u3031-\u3035\u3038-\u303c\u3041-\u30ff\u3131-\u318f"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U0001aff0-\U0001b16f\U00020000-\U0003ffff"
)
_CJK_CHARACTER = re.compile(f"[{_CJK}]")
_CJK_OR_OTHER_RUN = re.compile(f"[{_CJK}]+|[^{_CJK}]+")


@dataclass(frozen=True)
class WordRules:
    """How words are made from a text.

    `bigrams` turns CJK runs into pairs. `stop_words` are dropped; they are compared in lower case, before
    stemming. `stemmer` is the name of a Snowball stemmer, or empty.

    Raises:
        UsageError: There is no Snowball stemmer of that name.
    """

    bigrams: bool = True
    stop_words: tuple[str, ...] = ()
    stemmer: str = ""

    def __post_init__(self) -> None:
        if self.stemmer and self.stemmer not in stemmers():
            raise UsageError(f"there is no stemmer {self.stemmer!r}; known: {', '.join(stemmers())}")


@dataclass(frozen=True, eq=False)
class Words:
    """The words of texts: text `i` owns `code[offsets[i]:offsets[i + 1]]`, in order, repeated as in the text.

    A code is a row of `vocabulary`, whose rows are distinct and in UTF-8 byte order, so that codes do not
    depend on the order of the texts.
    """

    vocabulary: Texts
    offsets: Offsets
    code: Codes

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def of(self, row: int) -> list[str]:
        """The words of text `row`, in order."""
        vocabulary = self.vocabulary
        return [vocabulary[c] for c in self.code[self.offsets[row] : self.offsets[row + 1]].tolist()]


@dataclass(frozen=True, eq=False)
class _Pieces:
    """What each raw run becomes: run `i` owns `code[offsets[i]:offsets[i + 1]]`."""

    vocabulary: Texts
    offsets: Offsets
    code: Codes


def stemmers() -> list[str]:
    """The names of the Snowball stemmers, sorted."""
    import Stemmer

    return sorted(Stemmer.algorithms())


def words_of(texts: Texts, rules: WordRules | None = None, *, mask: Sequence[str] = (), threads: int = 2) -> Words:
    """The words of every text as codes.

    Args:
        texts: Any number of texts, empty ones allowed.
        rules: How words are made; None for lower-cased words with CJK pairs, no stop words, no stemmer.
        mask: Tokens that stand for masked identifiers, in their exact spelling; they leave no word. A token
            made of word characters alone is dropped where it is a whole word; any other (and any CJK one) is
            cut out wherever it stands, the longest first.
        threads: How many threads cut texts. The result does not depend on it.

    Raises:
        UsageError: A mask token is empty.

    Example:
        >>> words = words_of(Texts.of(["Vitamin D and C", "", "see [MASKED], 日本語"]), mask=["[MASKED]"])
        >>> [words.of(row) for row in range(3)]
        [['vitamin', 'd', 'and', 'c'], [], ['see', '日本', '本語']]
    """
    rules = rules or WordRules()
    cut_out, dropped = _mask_rules(mask)
    with ThreadPoolExecutor(max(1, threads)) as pool:
        parts = list(pool.map(lambda chunk: _raw_words(chunk, cut_out), _chunks(texts)))
    raw, raw_code = _raw_vocabulary([part[0] for part in parts])
    pieces = _pieces(raw, rules, dropped)
    codes: list[Codes] = []
    offsets: list[Offsets] = [np.zeros(1, np.int64)]
    at = total = 0
    for index, (dictionary, indices, cuts) in enumerate(parts):
        parts[index] = None  # type: ignore[call-overload]
        own = raw_code[at : at + len(dictionary)]
        at += len(dictionary)
        code, moved = _final_codes(own[indices], cuts, pieces)
        codes.append(code)
        offsets.append(moved + total)
        total += len(code)
    code = np.concatenate(codes) if codes else np.zeros(0, np.int32)
    return Words(pieces.vocabulary, np.concatenate(offsets), code)


def one_vocabulary(parts: Sequence[Texts]) -> tuple[Texts, list[Codes]]:
    """The distinct words of several vocabularies in UTF-8 byte order, and per part the row there of each of its words.

    Example:
        >>> whole, rows = one_vocabulary([Texts.of(["fee", "tax"]), Texts.of(["fare", "fee"])])
        >>> whole.to_list(), [own.tolist() for own in rows]
        (['fare', 'fee', 'tax'], [[1, 2], [0, 1]])
    """
    import pyarrow as pa

    coded = pa.chunked_array([part.to_arrow() for part in parts], pa.large_string()).combine_chunks()
    coded = coded.dictionary_encode()
    distinct = Texts.from_arrow(coded.dictionary)
    order = distinct.byte_order()
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    ends = np.cumsum([len(part) for part in parts])
    return distinct.take(order), np.split(rank[numbers_of(coded.indices)], ends[:-1])


def word_ends(text: str) -> list[int]:
    """Where each word of a text ends, in code points from its start; as many as `words_of` finds in it.

    Both words of a CJK pair that overlap have their own end, so the words of a text cut after the n-th end are
    its first n words.

    Example:
        >>> word_ends("the fee, 日本語")
        [3, 7, 11, 12]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    ends: list[int] = []
    at = 0
    for found in pc.split_pattern_regex(pa.array([text]), _BETWEEN_WORDS)[0].as_py():
        at = text.index(found, at)
        for run in _CJK_OR_OTHER_RUN.findall(found):
            paired = len(run) > 1 and _CJK_CHARACTER.match(run)
            ends += range(at + 2, at + len(run) + 1) if paired else [at + len(run)]
            at += len(run)
    return ends


def _chunks(texts: Texts) -> list[Any]:
    """The texts as Arrow string arrays of about `CHUNK_BYTES` each, over the same memory."""
    import pyarrow as pa

    if len(texts) == 0:
        return []
    goals = np.arange(texts.offsets[0] + CHUNK_BYTES, texts.offsets[-1], CHUNK_BYTES)
    inner = np.searchsorted(texts.offsets, goals, "left")
    borders = np.unique(np.concatenate([[0], inner, [len(texts)]])).tolist()
    chunks = []
    for first, last in pairwise(borders):
        low, high = int(texts.offsets[first]), int(texts.offsets[last])
        narrow = high - low < 1 << 31
        cuts = (texts.offsets[first : last + 1] - low).astype(np.int32 if narrow else np.int64)
        kind = pa.StringArray if narrow else pa.LargeStringArray
        chunks.append(kind.from_buffers(last - first, pa.py_buffer(cuts), pa.py_buffer(texts.buffer[low:high])))
    return chunks


def _mask_rules(mask: Sequence[str]) -> tuple[list[str], frozenset[str]]:
    """Mask tokens cut out of the texts, and those dropped as whole words."""
    if any(not token for token in mask):
        raise UsageError("a mask token is empty; leave it out or write the token's text")
    whole = frozenset(t for t in mask if re.fullmatch(r"\w+", t) and not _CJK_CHARACTER.search(t))
    return sorted(set(mask) - whole, key=lambda t: (-len(t), t)), whole


def _raw_words(chunk: Any, cut_out: Sequence[str]) -> tuple[Any, Codes, Offsets]:
    """Distinct runs of a chunk between ASCII signs, a code per run, and where each text's runs begin and end."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for token in cut_out:
        chunk = pc.replace_substring(chunk, pattern=token, replacement=" ")
    _, cuts, data = chunk.buffers()
    # ASCII signs become blanks in one table look-up. Other signs are few: they are cut in the vocabulary.
    blanked = pa.py_buffer(data.to_pybytes().translate(_BLANKED) if data is not None else b"")
    lists = pc.ascii_split_whitespace(type(chunk).from_buffers(len(chunk), cuts, blanked))
    coded = lists.flatten().dictionary_encode()
    offsets = numbers_of(lists.offsets).astype(np.int64)
    return coded.dictionary, numbers_of(coded.indices), offsets - offsets[0]


def _raw_vocabulary(dictionaries: Sequence[Any]) -> tuple[Any, Codes]:
    """Distinct runs over all chunks, and the place of every chunk's runs among them."""
    import pyarrow as pa

    # 64-bit offsets: the words of all chunks may pass 2 GiB where texts have no blanks.
    large = [d.cast(pa.large_string()) for d in dictionaries]
    coded = pa.chunked_array(large, pa.large_string()).combine_chunks().dictionary_encode()
    return coded.dictionary, numbers_of(coded.indices)


def _pieces(raw: Any, rules: WordRules, dropped: frozenset[str]) -> _Pieces:
    """The final words of every raw run (an Arrow array of distinct strings)."""
    spelled, offsets = _spelled_words(raw)
    if dropped:
        spelled = ["" if word in dropped else word for word in spelled]
    # No word holds a line feed, and a line feed ends a word for str.lower: one call for all words.
    joined = "\n".join(spelled).lower()
    flat = joined.split("\n") if spelled else []
    if rules.bigrams and not joined.isascii() and _CJK_CHARACTER.search(joined):
        lists = [_cjk_pieces(word) for word in flat]
        offsets = _ends(np.fromiter(map(len, lists), np.int64, len(lists)))[offsets]
        flat = [piece for pieces in lists for piece in pieces]
    place = {word: number for number, word in enumerate(dict.fromkeys(flat))}
    code, vocabulary = _sorted_codes(_final_words(list(place), rules))
    of_piece = code[np.fromiter(map(place.__getitem__, flat), np.int64, len(flat))]
    kept = of_piece >= 0
    return _Pieces(vocabulary, _ends(kept)[offsets], of_piece[kept])


def _spelled_words(raw: Any) -> tuple[list[str], Offsets]:
    """The words of every raw run as they are spelled, some of them empty, and where each run's begin and end."""
    import pyarrow.compute as pc

    runs: list[str] = raw.to_pylist()
    if all(map(str.isascii, runs)):
        return runs, np.arange(len(runs) + 1, dtype=np.int64)
    lists = pc.split_pattern_regex(raw, _BETWEEN_WORDS)
    return lists.flatten().to_pylist(), numbers_of(lists.offsets).astype(np.int64)


def _ends(count: npt.NDArray[Any]) -> Offsets:
    """Offsets of runs of the given lengths."""
    offsets = np.zeros(len(count) + 1, np.int64)
    np.cumsum(count, out=offsets[1:])
    return offsets


def _cjk_pieces(word: str) -> list[str]:
    """The CJK pairs and other runs of a word, in order."""
    pieces: list[str] = []
    for run in _CJK_OR_OTHER_RUN.findall(word):
        if len(run) > 1 and _CJK_CHARACTER.match(run):
            pieces.extend(map("".join, pairwise(run)))
        else:
            pieces.append(run)
    return pieces


def _final_words(words: Sequence[str], rules: WordRules) -> list[str]:
    """Each lower-cased word as it is counted: stemmed, or empty for one that is dropped."""
    stop = {word.lower() for word in rules.stop_words}
    kept = ["" if word in stop else word for word in words] if stop else list(words)
    if rules.stemmer:
        import Stemmer

        kept = Stemmer.Stemmer(rules.stemmer).stemWords(kept)
    return kept


def _sorted_codes(words: Sequence[str]) -> tuple[Codes, Texts]:
    """A code per word by the byte order of the distinct words, -1 for the empty word; and these words."""
    distinct = list(dict.fromkeys(word for word in words if word))
    texts = Texts.of(distinct)
    order = texts.byte_order()
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    place = dict(zip(distinct, rank.tolist(), strict=True))
    place[""] = -1
    return np.fromiter(map(place.__getitem__, words), np.int32, len(words)), texts.take(order)


def _final_codes(raw: Codes, cuts: Offsets, pieces: _Pieces) -> tuple[Codes, Offsets]:
    """Final codes of a chunk's raw words, and the end of every text's words among them."""
    count = np.diff(pieces.offsets)
    if len(count) and count.max() > 1:
        many = count[raw]
        ends = _ends(many)
        within = np.arange(ends[-1]) - np.repeat(ends[:-1], many)
        return pieces.code[np.repeat(pieces.offsets[raw], many) + within], ends[cuts[1:]]
    single = np.full(len(count), -1, np.int32)
    single[count == 1] = pieces.code
    code = single[raw]
    kept = code >= 0
    ends = _ends(kept)
    return code[kept], ends[cuts[1:]]
