"""BM25: word counts weighted by rarity and length.

The five variants of Kamphuis et al., "Which BM25 do you mean?" (ECIR 2020), with the weight of a word that
stands `tf` times in a passage of `L` words, where passages have `A` words in the mean, `df` of `N` hold the word,
and ``K = k1 * (1 - b + b * L / A)``:

========== ==================================== =======================================================
variant    rarity                               count
========== ==================================== =======================================================
lucene     log(1 + (N - df + 0.5) / (df + 0.5)) tf / (tf + K)
robertson  log((N - df + 0.5) / (df + 0.5))     tf / (tf + K)
atire      log(N / df)                          (k1 + 1) tf / (tf + K)
bm25l      log((N + 1) / (df + 0.5))            (k1 + 1) (c + delta) / (k1 + c + delta), c = k1 tf / K
bm25+      log((N + 1) / df)                    (k1 + 1) tf / (tf + K) + delta
========== ==================================== =======================================================

The rarity of `robertson` is not let below 0. Passages without any word count in `N` and `A`. In `bm25l` and
`bm25+` a word that a passage lacks adds nothing to it (Lv & Zhai 2011); bm25s adds there what a count of 0
would give, a constant for every passage of a query, so that its `delta` cannot move a passage in `bm25+`.

Weights are rounded to whole multiples of 2**-14, and never to 0: a passage that holds a word of the query is
always found. Scores stay within 1e-4 of plain floats, relative, or within half a multiple a word where they are
tiny.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from assay.errors import FormatError, UnknownNameError, UsageError
from assay.kernels.postings import counted_rows
from assay.stopwords import STOP_WORDS
from assay.system import PassageView, QueryView, SparseRows
from assay.texts import Texts
from assay.words import WordRules, one_vocabulary, words_of

Floats = npt.NDArray[np.float64]
Arrays = Mapping[str, npt.NDArray[Any]]

STEP = 2.0**-14
"""Weights are whole multiples of this, so that float32 sums below 1,024 are exact in any order."""

_ENTRIES = 1 << 18
_FILES = ("offsets", "term", "weight", "vocabulary_buffer", "vocabulary_offsets")


@dataclass(frozen=True)
class _Variant:
    """A variant: rarity from (N, df), the count's part from (tf, L / A, k1, b, delta), and the usual delta."""

    rarity: Callable[[float, Floats], Floats]
    count: Callable[[Floats, Floats, float, float, float], Floats]
    delta: float = 0.0


def _plain_count(tf: Floats, length: Floats, k1: float, b: float, delta: float) -> Floats:  # noqa: ARG001
    return tf / (tf + k1 * (1 - b + b * length))


def _raised_count(tf: Floats, length: Floats, k1: float, b: float, delta: float) -> Floats:
    return (k1 + 1) * tf / (tf + k1 * (1 - b + b * length)) + delta


def _shifted_count(tf: Floats, length: Floats, k1: float, b: float, delta: float) -> Floats:
    shifted = tf / (1 - b + b * length) + delta
    return (k1 + 1) * shifted / (k1 + shifted)


VARIANTS: dict[str, _Variant] = {
    "lucene": _Variant(lambda n, df: np.log1p((n - df + 0.5) / (df + 0.5)), _plain_count),
    "robertson": _Variant(lambda n, df: np.log(np.maximum(1.0, (n - df + 0.5) / (df + 0.5))), _plain_count),
    "atire": _Variant(lambda n, df: np.log(n / df), _raised_count),
    "bm25l": _Variant(lambda n, df: np.log((n + 1) / (df + 0.5)), _shifted_count, 0.5),
    "bm25+": _Variant(lambda n, df: np.log((n + 1) / df), _raised_count, 1.0),
}


@dataclass(frozen=True)
class BM25:
    """BM25 over words; a representer.

    Args:
        language: Empty for words as they are; a language, such as "english", adds its stop words and its
            Snowball stemmer.
        variant: One of `VARIANTS`.
        k1: How soon repeats of a word stop to count, 0 or more.
        b: How much the length of a passage counts, from 0 to 1.
        delta: What `bm25l` and `bm25+` grant to any passage that holds a word; None for 0.5 and 1.
        stemmer: A Snowball stemmer, "" for none, None for that of the language.
        stop_words: Words to drop, () for none, None for those of the language.
        cjk: "bigrams" cuts Chinese, Japanese and Korean into pairs of characters, "words" leaves runs whole.
        text: Which text to read, "plain" or "coref".

    Raises:
        UsageError: A parameter is out of its range.

    Example:
        >>> passages = PassageView(3, {"text:plain": Texts.of(["fee and tax", "visa", ""])})
        >>> index = BM25().index(passages)
        >>> [round(weight, 3) for weight in index.rows.weight.tolist()]
        [0.295, 0.295, 0.295, 0.497]
        >>> index.encode(QueryView(Texts.of(["tax, tax and rent"]))).weight.tolist()
        [2.0, 1.0]
    """

    name: ClassVar[str] = "bm25"

    language: str = ""
    variant: str = "lucene"
    k1: float = 1.2
    b: float = 0.75
    delta: float | None = None
    stemmer: str | None = None
    stop_words: tuple[str, ...] | None = None
    cjk: str = "bigrams"
    text: str = "plain"

    def __post_init__(self) -> None:
        _one_of("variant of bm25", self.variant, VARIANTS)
        _one_of("cjk of bm25", self.cjk, ("bigrams", "words"))
        _one_of("text of bm25", self.text, ("plain", "coref"))
        if self.language:
            _one_of("language of bm25", self.language, STOP_WORDS)
        _number("k1", self.k1, math.inf)
        _number("b", self.b, 1.0)
        usual = VARIANTS[self.variant].delta
        if self.delta is None:
            # The value in use, so that a recorded run names it.
            object.__setattr__(self, "delta", usual or None)
        elif not usual:
            raise UsageError(f"bm25: delta belongs to bm25l and bm25+, not to {self.variant}; leave it out")
        else:
            _number("delta", self.delta, math.inf)
        words: Any = self.stop_words
        if words is not None and not (isinstance(words, tuple) and all(isinstance(w, str) for w in words)):
            raise UsageError(f"bm25: stop_words must be a list of words, found {words!r}")
        _ = self.rules

    @property
    def reads(self) -> tuple[str, ...]:
        """The text it reads."""
        return (f"text:{self.text}",)

    @property
    def rules(self) -> WordRules:
        """How it makes words."""
        stop_words = STOP_WORDS.get(self.language, ()) if self.stop_words is None else self.stop_words
        stemmer = self.language if self.stemmer is None else self.stemmer
        return WordRules(self.cjk == "bigrams", stop_words, stemmer)

    def index(self, passages: PassageView) -> BM25Index:
        """The weights of the passages' words."""
        counted = self.counted(passages)
        return self.weighted(counted, self.merged([counted]))

    def counted(self, passages: PassageView, *, threads: int = 2) -> Arrays:
        """The words of passages, how often each passage holds them, how many passages do, and how long passages are."""
        words = words_of(passages.texts[self.reads[0]], self.rules, mask=passages.mask, threads=threads)
        terms = len(words.vocabulary)
        offsets, term, count = counted_rows(words.offsets, words.code, terms=terms)
        return {
            "words": words.vocabulary.buffer,
            "word_offsets": words.vocabulary.offsets,
            "holders": np.bincount(term, minlength=terms).astype(np.int64),
            "lengths": np.diff(words.offsets),
            "offsets": offsets,
            "term": term,
            "count": count,
        }

    def merged(self, parts: Iterable[Arrays]) -> Arrays:
        """The rarity of every word over all parts, how many passages there are, and how many words they have."""
        vocabularies, holders, size, total = [], [], 0, 0
        for part in parts:
            vocabularies.append(Texts(part["words"], part["word_offsets"]))
            holders.append(part["holders"])
            lengths = part["lengths"]
            size, total = size + len(lengths), total + int(lengths.sum())
        whole, places = one_vocabulary(vocabularies)
        held = np.zeros(len(whole), np.int64)
        for own, place in zip(holders, places, strict=True):
            held[place] += own
        # Taken once, over all words: what a logarithm rounds to may differ from machine to machine.
        rarity = VARIANTS[self.variant].rarity(float(size), held.astype(np.float64)) if len(held) else np.zeros(0)
        totals = np.array([size, total], np.int64)
        return {"words": whole.buffer, "word_offsets": whole.offsets, "rarity": rarity, "totals": totals}

    def weighted(self, counted: Arrays, sums: Arrays, *, threads: int = 2) -> BM25Index:
        """The index of a part of the passages; its vocabulary is that of the part."""
        vocabulary = Texts(counted["words"], counted["word_offsets"])
        whole, rarity = Texts(sums["words"], sums["word_offsets"]), sums["rarity"]
        if whole != vocabulary:
            rarity = rarity[vocabulary.first_rows_in(whole)]
        size, total = sums["totals"].tolist()
        offsets, term, count, lengths = (counted[name] for name in ("offsets", "term", "count", "lengths"))
        share = lengths / (total / size) if total else np.zeros(len(lengths))
        weight = self._weights(offsets, term, count, share, rarity, threads)
        return BM25Index(SparseRows(offsets, term, weight, len(vocabulary), STEP), vocabulary, self.rules, threads)

    def load(self, folder: Path) -> BM25Index:
        """The index that `BM25Index.save` wrote, mapped into memory, not read.

        Raises:
            FormatError: A file is missing or cannot be read.
        """
        offsets, term, weight, buffer, cuts = (_stored(Path(folder) / f"{part}.npy") for part in _FILES)
        vocabulary = Texts(buffer, cuts)
        return BM25Index(SparseRows(offsets, term, weight, len(vocabulary), STEP), vocabulary, self.rules)

    def _weights(
        self,
        offsets: npt.NDArray[np.int64],
        term: npt.NDArray[np.int32],
        count: npt.NDArray[np.int32],
        share: Floats,
        rarity: Floats,
        threads: int,
    ) -> npt.NDArray[np.float32]:
        """The rounded weight of every entry, by parts that fit the cache."""
        weight = np.empty(len(term), np.float32)
        if len(term) == 0:
            return weight
        variant = VARIANTS[self.variant]
        owners = np.diff(offsets)
        goals = np.arange(0, len(term), _ENTRIES)
        cuts = np.unique(np.concatenate([np.searchsorted(offsets, goals, "right") - 1, [len(share)]])).tolist()

        def part(rows: tuple[int, int]) -> None:
            own = slice(offsets[rows[0]], offsets[rows[1]])
            longer = np.repeat(share[rows[0] : rows[1]], owners[rows[0] : rows[1]])
            exact = variant.count(count[own].astype(np.float64), longer, self.k1, self.b, self.delta or 0.0)
            exact *= rarity[term[own]]
            exact /= STEP
            np.rint(exact, out=exact)
            np.maximum(exact, 1.0, out=exact)
            exact *= STEP
            weight[own] = exact

        with ThreadPoolExecutor(max(1, threads)) as pool:
            list(pool.map(part, pairwise(cuts)))
        return weight


@dataclass(frozen=True, eq=False)
class BM25Index:
    """The passages as weighted words: `rows` speaks of rows of `vocabulary`."""

    rows: SparseRows
    vocabulary: Texts
    rules: WordRules
    threads: int = 2

    def encode(self, queries: QueryView) -> SparseRows:
        """The queries as counts of the words that the passages have; other words are left out."""
        words = words_of(queries.texts, self.rules, mask=queries.mask, threads=self.threads)
        offsets, own, count = counted_rows(words.offsets, words.code, terms=len(words.vocabulary))
        term = words.vocabulary.first_rows_in(self.vocabulary)[own]
        known = term >= 0
        kept = np.concatenate([[0], np.cumsum(known)])[offsets].astype(np.int64)
        weight = count[known].astype(np.float32)
        return SparseRows(kept, term[known].astype(np.int32), weight, len(self.vocabulary), 1.0)

    def save(self, folder: Path) -> None:
        """Writes the index as five `.npy` files into an existing folder."""
        rows, vocabulary = self.rows, self.vocabulary
        arrays: list[npt.NDArray[Any]] = [rows.offsets, rows.term, rows.weight]
        arrays += [vocabulary.buffer, vocabulary.offsets]
        for part, array in zip(_FILES, arrays, strict=True):
            np.save(Path(folder) / f"{part}.npy", array, allow_pickle=False)


def _stored(path: Path) -> npt.NDArray[Any]:
    """An array of a stored index, mapped into memory."""
    try:
        array: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as err:
        raise FormatError(f"{path}: not an array of a stored bm25 index ({err}); build the index again") from None
    return array


def _one_of(kind: str, value: str, known: Any) -> None:
    if value not in known:
        raise UnknownNameError.of(kind, str(value), known)


def _number(field: str, value: Any, most: float) -> None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not good or not 0 <= value <= most:
        limit = "0 or more" if most == math.inf else f"from 0 to {most:g}"
        raise UsageError(f"bm25: {field} must be a number, {limit}; found {value!r}")
