"""Near-duplicates: pairs of texts whose sets of word shingles are alike, found by MinHash and verified exactly.

MinHash is that of Broder (1997), in bands as in Leskovec, Rajaraman & Ullman, Mining of Massive Datasets, chapter 3.
Shingles are 64-bit hashes; Jaccard similarities are exact on the sets of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.building.ties import NO_PAIRS, Pairs
from assay.errors import UsageError
from assay.texts import Texts

Hashes = npt.NDArray[np.uint64]
Offsets = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]

_BATCH = 1 << 18
_TABLE_BITS, _PART_BITS = 26, 22
_BLOCK_BYTES = 1 << 21
_FOLD = bytes(b if b >= 0x80 else ord(chr(b).lower()) if chr(b).isalnum() or b == 0x5F else 0x20 for b in range(256))
_KEPT_BYTES = np.asarray([(1 << 8 * n) - 1 for n in range(9)], np.uint64)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class EquivalentRules:
    """Thresholds, as they are recorded in a manifest.

    Attributes:
        min_characters: Shorter texts (blanks folded) are nobody's equivalent.
        similarity: The least Jaccard similarity of near-duplicates.
        shingle: Words a shingle; a shorter text is one shingle.
        bands, rows: The signature has `bands` x `rows` values; texts that agree in all rows of a band
            are compared. Two texts of similarity s meet with the chance 1 - (1 - s^rows)^bands: 0.9996 at 0.8.
        boilerplate_characters: A referral whose text besides is shorter than this is a pure one.
        seed: Of the hash functions.
    """

    min_characters: int = 40
    similarity: float = 0.8
    shingle: int = 5
    bands: int = 20
    rows: int = 5
    boilerplate_characters: int = 240
    seed: int = 1

    def __post_init__(self) -> None:
        if not 0.5 <= self.similarity <= 1 or min(self.shingle, self.bands, self.rows) < 1 or self.min_characters < 0:
            raise UsageError(
                f"similarity {self.similarity}, shingle {self.shingle}, bands {self.bands}, rows {self.rows},"
                f" min_characters {self.min_characters}; similarity lies from 0.5 to 1, the others from 1 (0) up"
            )

    def record(self) -> dict[str, Any]:
        """The rules by name, for a manifest."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Near:
    """Pairs of near-duplicates.

    Attributes:
        pairs: Rows, the lower one first, sorted, shape (pairs, 2), int64. Equal sets of shingles appear once: row
            `first[i]` stands for all rows with the same set as row `i`.
        similarity: The Jaccard similarity of each pair, float64.
        first: Per row the first row with the same set of shingles, int64; -1 for rows left out.
        compared: How many pairs were compared exactly.
    """

    pairs: Pairs
    similarity: npt.NDArray[np.float64]
    first: Rows
    compared: int

    def all_pairs(self) -> Iterator[tuple[int, int]]:
        """Every pair of rows that are near or have equal sets, the lower one first."""
        members: dict[int, list[int]] = {}
        for row, first in enumerate(self.first.tolist()):
            if first >= 0:
                members.setdefault(first, []).append(row)
        for same in members.values():
            yield from ((a, b) for place, a in enumerate(same) for b in same[place + 1 :])
        for left, right in self.pairs.tolist():
            yield from ((min(a, b), max(a, b)) for a in members[left] for b in members[right])


def shingles_of(texts: Texts, rules: EquivalentRules | None = None) -> tuple[Offsets, Hashes]:
    """Per text the borders of its shingles, and a 64-bit hash of each shingle.

    A text of fewer words than a shingle is one shingle; one without a word has none.

    Example:
        >>> offsets, hashes = shingles_of(Texts.of(["a b c d e f", "B, c (d) e f", "", "a"]))
        >>> offsets.tolist(), bool(hashes[1] == hashes[2])
        ([0, 2, 3, 3, 4], True)
    """
    rules = rules or EquivalentRules()
    counts, hashes = [np.zeros(1, np.int64)], [np.zeros(0, np.uint64)]
    for _, part in in_blocks(texts):
        offsets, found = _shingles(part, rules)
        counts.append(np.diff(offsets))
        hashes.append(found)
    return np.cumsum(np.concatenate(counts)), np.concatenate(hashes)


def _shingles(texts: Texts, rules: EquivalentRules) -> tuple[Offsets, Hashes]:
    """The borders and hashes of the shingles of a few texts."""
    borders, words = _word_hashes(texts, rules.seed)
    n_words = np.diff(borders)
    count = np.where(n_words >= rules.shingle, n_words - rules.shingle + 1, np.minimum(n_words, 1))
    offsets = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    rolled = np.zeros(len(words), np.uint64)
    for step in range(rules.shingle):
        last = max(0, len(words) - step)
        rolled[:last] = rolled[:last] * _FACTOR + words[step:]
    at = np.arange(offsets[-1]) + np.repeat(borders[:-1] - offsets[:-1], count)
    hashes = _mixed(rolled[at], rules.seed + 1)
    for row in np.flatnonzero((n_words > 0) & (n_words < rules.shingle)).tolist():
        whole = np.zeros(1, np.uint64)
        for word in words[borders[row] : borders[row + 1]]:
            whole = whole * _FACTOR + word
        hashes[offsets[row]] = _mixed(whole, rules.seed + 2)[0]
    return offsets, hashes


def word_hashes(texts: Texts, *, seed: int = 1) -> tuple[Offsets, Hashes]:
    """Per text the borders of its words, and a 64-bit hash of each word.

    A word is a run of ASCII letters (case folded), digits, and characters beyond ASCII other than general punctuation,
    signs of Latin-1 and wide blanks. It is read eight bytes at a time, straight from the buffer. The one tokeniser for
    retrieval is `assay.words.words_of`; this one differs from it (no vocabulary, no cutting of Chinese or Japanese, no
    case beyond ASCII) because it takes well under half the time, and shingles need no more than equal words to be
    equal.

    Example:
        >>> borders, hashes = word_hashes(Texts.of(["The fee", "THE – “fee”!"]))
        >>> borders.tolist(), bool((hashes[:2] == hashes[2:]).all())
        ([0, 2, 4], True)
    """
    counts, hashes = [np.zeros(1, np.int64)], [np.zeros(0, np.uint64)]
    for _, part in in_blocks(texts):
        borders, found = _word_hashes(part, seed)
        counts.append(np.diff(borders))
        hashes.append(found)
    return np.cumsum(np.concatenate(counts)), np.concatenate(hashes)


def in_blocks(texts: Texts) -> Iterator[tuple[int, Texts]]:
    """The texts in blocks of whole rows, each with its first row: what a pass needs besides them then stays small.

    Example:
        >>> [(first, block.to_list()) for first, block in in_blocks(Texts.of(["a", "b"]))]
        [(0, ['a', 'b'])]
    """
    ends = np.arange(texts.offsets[0], texts.offsets[-1], _BLOCK_BYTES)
    cuts = np.unique([0, *np.searchsorted(texts.offsets, ends).tolist(), len(texts)])
    for first, last in pairwise(cuts.tolist()):
        offsets = texts.offsets[first : last + 1]
        yield first, Texts(texts.buffer[offsets[0] : offsets[-1]], offsets - offsets[0])


def _word_hashes(texts: Texts, seed: int) -> tuple[Offsets, Hashes]:
    """The borders and hashes of the words of a few texts."""
    data = np.frombuffer(bytearray(texts.buffer.tobytes().translate(_FOLD)), np.uint8)
    _blank_out(texts.buffer, data)
    worded = data != 0x20
    # A word begins after a blank or with its row, and ends before a blank or with its row.
    before = np.zeros(len(data) + 1, np.bool_)
    before[1:] = worded
    after = np.append(worded, False)
    begins, ends = after & ~before, before & ~after
    both = texts.offsets[after[texts.offsets] & before[texts.offsets]]
    begins[both] = ends[both] = True
    at, end = np.flatnonzero(begins), np.flatnonzero(ends)
    borders = np.searchsorted(at, texts.offsets).astype(np.int64)
    # Eight bytes from every place; the buffer is padded so that the last ones can be read too.
    padded = np.concatenate([data, np.zeros(8, np.uint8)])
    eight = np.ndarray((len(data) + 1,), np.dtype("<u8"), padded.data, 0, (1,))
    hashes = np.zeros(len(at), np.uint64)
    rows, left = np.arange(len(at)), end - at
    while len(rows):
        part = eight[at] & _KEPT_BYTES[np.minimum(left, 8)]
        hashes[rows] = _mixed(hashes[rows] * _FACTOR + part, seed)
        more = left > 8
        rows, at, left = rows[more], at[more] + 8, left[more] - 8
    return borders, hashes


def _blank_out(raw: npt.NDArray[np.uint8], data: npt.NDArray[np.uint8]) -> None:
    """Makes general punctuation (U+2000 to U+206F), signs of Latin-1 (U+0080 to U+00BF) and U+3000 blank, in place."""
    for lead, second, size in ((0xE2, (0x80, 0x81), 3), (0xC2, range(0x80, 0xC0), 2), (0xE3, (0x80,), 3)):
        at = np.flatnonzero(raw == lead)
        at = at[np.isin(raw[at + 1], list(second))]
        if lead == 0xE3:
            at = at[raw[at + 2] == 0x80]
        for step in range(size):
            data[at + step] = 0x20


def _mixed(values: Hashes, seed: int) -> Hashes:
    """Well-mixed 64-bit values (the finaliser of SplitMix64), a bijection."""
    mixed = values + np.uint64((seed * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) & (2**64 - 1))
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def near_duplicates(texts: Texts, rules: EquivalentRules | None = None, *, keep: Marks | None = None) -> Near:
    """Pairs of texts whose word shingles have at least the similarity of the rules.

    A text most of whose shingles no other text has cannot be near to any, and is left out before MinHash; that filter
    loses nothing. What MinHash brings together is compared exactly, on the sets of shingles as 64-bit hashes.

    Args:
        texts: Unmasked texts.
        rules: Thresholds and signature.
        keep: Rows to look at; all by default.

    Example:
        >>> day = "the council adopted its position on the matter on a monday in the month of may after some debate"
        >>> near = near_duplicates(Texts.of([day, day + " indeed", "another text of a few words in all"]))
        >>> near.pairs.tolist(), near.similarity.round(3).tolist()
        ([[0, 1]], [0.938])
    """
    rules = rules or EquivalentRules()
    offsets, hashes = shingles_of(texts, rules)
    wanted = np.diff(offsets) > 0
    if keep is not None:
        wanted &= keep
    rows = _promising(offsets, hashes, wanted, rules.similarity)
    sets = _Sets.of(offsets, hashes, rows)
    first, distinct = sets.first_alike()
    of_row = np.full(len(texts), -1, np.int64)
    of_row[wanted] = np.flatnonzero(wanted)
    of_row[rows] = rows[first]
    candidates = _met(sets, distinct, rules)
    similarity = sets.similarity(candidates)
    good = similarity >= rules.similarity - 1e-12
    return Near(rows[candidates[good]].reshape(-1, 2), similarity[good], of_row, len(candidates))


def _promising(offsets: Offsets, hashes: Hashes, wanted: Marks, similarity: float) -> Rows:
    """Rows that may have a near-duplicate: at least the share `similarity` of their shingles stands elsewhere too."""
    size = np.diff(offsets)
    bits = int(np.clip(np.ceil(np.log2(max(2, 2 * len(hashes)))), 10, _TABLE_BITS))
    slot = (hashes >> np.uint64(64 - bits)).astype(np.int32)
    # Rows that are not wanted may raise a count: they can only let more rows through.
    elsewhere = np.zeros(len(slot), np.bool_)
    # A part of the table at a time: a small one stays in the cache of the processor.
    low = min(bits, _PART_BITS)
    for part in range(1 << (bits - low)):
        at = np.flatnonzero(slot >> low == part)
        own = slot[at] & ((1 << low) - 1)
        elsewhere[at] = np.bincount(own, minlength=1 << low)[own] > 1
    shared = np.zeros(len(size), np.int64)
    filled = np.flatnonzero(size)
    if len(filled):
        shared[filled] = np.add.reduceat(elsewhere, offsets[filled], dtype=np.int64)
    # A shingle repeated within its text counts as found elsewhere, so the number of repeats is in doubt: it is safe to
    # ask of the sum of all that at least the share of all stands elsewhere, since repeats only add to it.
    return np.flatnonzero(wanted & (shared >= similarity * size - 1e-9) & (size > 0)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Sets:
    """Sets of shingles: set `i` is `codes[offsets[i]:offsets[i + 1]]`, sorted and distinct."""

    offsets: Offsets
    codes: Hashes

    @classmethod
    def of(cls, offsets: Offsets, hashes: Hashes, rows: Rows) -> _Sets:
        size = np.diff(offsets)[rows]
        starts = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        at = np.arange(starts[-1]) + np.repeat(offsets[rows] - starts[:-1], size)
        owner = np.repeat(np.arange(len(rows)), size)
        values = hashes[at]
        order = _ordered(values, owner)
        values, owner = values[order], owner[order]
        new = np.ones(len(values), np.bool_)
        new[1:] = (values[1:] != values[:-1]) | (owner[1:] != owner[:-1])
        count = np.bincount(owner[new], minlength=len(rows))
        return cls(np.concatenate([[0], np.cumsum(count)]).astype(np.int64), values[new])

    @property
    def sizes(self) -> Offsets:
        return np.diff(self.offsets)

    def first_alike(self) -> tuple[Rows, Rows]:
        """Per set the first equal one, and the sets that are their own first."""
        n = len(self.offsets) - 1
        if not n:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        views = Texts(self.codes.view(np.uint8), self.offsets * 8)
        data = views.buffer.tobytes()
        seen: dict[bytes, int] = {}
        cut = views.offsets.tolist()
        first = np.asarray([seen.setdefault(data[cut[i] : cut[i + 1]], i) for i in range(n)], np.int64)
        return first, np.flatnonzero(first == np.arange(n)).astype(np.int64)

    def similarity(self, pairs: Pairs) -> npt.NDArray[np.float64]:
        """The Jaccard similarity of each pair, exactly."""
        sizes = self.sizes
        found = np.zeros(len(pairs), np.float64)
        weight = sizes[pairs].sum(axis=1) if len(pairs) else np.zeros(0, np.int64)
        batch = np.cumsum(weight) // (8 * _BATCH)
        for part in np.split(np.arange(len(pairs)), np.flatnonzero(np.diff(batch)) + 1) if len(pairs) else []:
            common = self._common(pairs[part])
            found[part] = common / (weight[part] - common)
        return found

    def _common(self, pairs: Pairs) -> npt.NDArray[np.int64]:
        flat = pairs.ravel()
        size = self.sizes[flat]
        starts = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        at = np.arange(starts[-1]) + np.repeat(self.offsets[flat] - starts[:-1], size)
        owner = np.repeat(np.arange(len(flat)) // 2, size)
        values = self.codes[at]
        order = _ordered(values, owner)
        values, owner = values[order], owner[order]
        twice = (values[1:] == values[:-1]) & (owner[1:] == owner[:-1])
        return np.bincount(owner[1:][twice], minlength=len(pairs)).astype(np.int64)


def _ordered(values: Hashes, owner: Rows) -> Rows:
    """The order by owner (in ascending order already), then by value."""
    shift = np.uint64(max(1, int(owner[-1]).bit_length()) if len(owner) else 1)
    key = (owner.astype(np.uint64) << (np.uint64(64) - shift)) | (values >> shift)
    order: Rows = np.argsort(key)
    key, values = key[order], values[order]
    # One sort of single numbers is several times faster; the bits that found no room rarely matter.
    if ((key[1:] == key[:-1]) & (values[1:] != values[:-1])).any():
        order = order[np.lexsort((values, key))]
    return order


def _met(sets: _Sets, distinct: Rows, rules: EquivalentRules) -> Pairs:
    """Pairs of distinct sets whose signatures agree in a band and whose sizes allow the similarity; sorted."""
    sizes = sets.sizes
    found = [NO_PAIRS]
    signature = _signatures(sets, distinct, rules)
    for band in range(rules.bands):
        part = signature[:, band * rules.rows : (band + 1) * rules.rows]
        key = np.zeros(len(distinct), np.uint64)
        for row in range(rules.rows):
            key = _mixed(key * _FACTOR + part[:, row], row)
        found.append(_pairs_in_groups(key, sizes[distinct], rules.similarity))
    places = np.unique(np.concatenate(found), axis=0)
    return distinct[places].reshape(-1, 2)


def _pairs_in_groups(key: Hashes, size: Offsets, similarity: float) -> Pairs:
    """All pairs with one key; within a group sorted by size, a row meets those that are not too much longer."""
    order = np.lexsort((np.arange(len(key)), size, key))
    key, size = key[order], size[order]
    found = [NO_PAIRS]
    at = np.arange(len(key))
    for step in range(1, len(key)):
        low = at[: len(at)]
        low = low[low + step < len(key)]
        together = (key[low] == key[low + step]) & (size[low] >= similarity * size[low + step] - 1e-9)
        at = low[together]
        if not len(at):
            break
        found.append(np.sort(np.stack([order[at], order[at + step]], axis=1), axis=1).astype(np.int64))
    return np.concatenate(found)


def _signatures(sets: _Sets, rows: Rows, rules: EquivalentRules) -> Hashes:
    """MinHash values, shape (rows, bands x rows of a band), uint64."""
    n = rules.bands * rules.rows
    signature = np.zeros((len(rows), n), np.uint64)
    size = sets.sizes[rows]
    batch = np.cumsum(size) // _BATCH
    # Odd factors make multiplications bijections; the upper half of the product orders the shingles at random.
    factor = _mixed(np.arange(n, dtype=np.uint64), rules.seed + 7) | np.uint64(1)
    for part in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(batch)) + 1) if len(rows) else []:
        own = size[part]
        starts = np.concatenate([[0], np.cumsum(own)]).astype(np.int64)
        at = np.arange(starts[-1]) + np.repeat(sets.offsets[rows[part]] - starts[:-1], own)
        codes = sets.codes[at]
        for column in range(n):
            turned = codes * factor[column]
            turned ^= turned >> np.uint64(32)
            turned *= factor[column - 1]
            signature[part, column] = np.minimum.reduceat(turned, starts[:-1])
    return signature
