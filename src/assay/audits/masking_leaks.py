"""Masked texts that still name what they answer or cite."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from assay.audit import Finding
from assay.collection import Collection
from assay.texts import Texts

NEAR = 60
_DIGITS = 12
_REACH = 200
"""Bytes that surely hold `NEAR` characters and what folding drops."""
_CUE = re.compile(r"question|\bpqs?(?![a-z])|\buins?(?![a-z])|answer|\brepl(?:y|ies)|\brefer", re.IGNORECASE)
_CUES = ((b"question", 0), (b"pq", 1), (b"uin", 0), (b"answer", 3), (b"repl", 2), (b"refer", 2))
"""Parts of every cue, each with the place of a rare letter."""
_LINKS = ((b"://", 0), (b"www.", 0))
_HIDDEN = (
    (b"\xef\xbc", 0),
    (b"\xef\xbb\xbf", 0),
    (b"\xc2\xad", 1),
    *((b"\xe2\x80" + bytes([tail]), 2) for tail in b"\x8b\x8c\x8d"),
)
"""Starts of full-width digits and of invisible characters: digits are plain only after folding."""
_NUMBER = re.compile(r"([0-9]+)(?:\s?[/-]\s?(\d{4}|\d{2})(?!\w))?(?!\w|[.,:]\d|\s?%)")
_FREE = re.compile(r"(?:^|[^\w/£$€:.,-]|uin|pq|(?:^|\W)q|(?:^|\D)[.,])$", re.IGNORECASE)
"""What may stand before a number that stands for itself."""
_LETTER = re.compile(r"(?:^|\W)[^\W\d]-$")
"""What may stand before a number with its year, too: `E-1234/2022`."""
_JOINTS = np.frombuffer(b"-_.:/\x90\x91\x92\x93\x94\x95", np.uint8)
"""What joins the parts of an id, and the last bytes of other dashes."""
_DIGIT_RUN = re.compile(r"([0-9]+)")
_ANY_START = r"(?:[^\W\d]+[._:/-])*[^\W\d]*"
_FEW = 64
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]{1,11}://|www\.)[^\s<>\"'|]+", re.IGNORECASE)
_FOLDED = {
    **dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff")),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"), "-"),
}
_LOWER = np.arange(256, dtype=np.uint8)
_LOWER[ord("A") : ord("Z") + 1] += 32
_MARKED = np.isin(_LOWER, [*b"0123456789", *(s[rare] for s, rare in (*_CUES, *_LINKS, *_HIDDEN))]).tobytes()


class Leak(NamedTuple):
    """A string of a masked text that gives a record away, and the words around it."""

    text: str
    around: str


@dataclass(frozen=True)
class MaskingLeaks:
    """No masked text still holds the number, the id or the address of a record.

    Checks:
        In the masked views of passages and queries (all but `raw`), strings that resolve to a record of the
        collection after folding Unicode and blanks: a whole id; the last number of an id, or a value of the
        column `uin`, where one record alone bears it; such a number with the year of the id (`1234/2022`).
        All of these count within 60 characters of a cue word (question, PQ, UIN, answer, reply, refer).
        And, anywhere, a URL that is a record's own, lies where the records' own URLs lie, or has a whole id
        in it.

    Why it matters:
        A text that says "I refer to the answer to Question 5477" can be matched by its number alone. What
        looks like retrieval is a look-up.

    Known limits:
        Cue words are English. Ids without a digit are not looked for. A number may be near a cue by chance: look at the
        offenders. A number that could be a year counts only right after a cue.

    Example:
        "when he plans to respond to Question (a) 5477 and (b) 5478", or a link to
        `…/written-questions/detail/[MASKED]`, which still tells that the text cites a record.

    What to do:
        Mask every printed form of a citation, and the whole URL; a list of numbers becomes one token. Then
        count what is left with a second set of patterns.
    """

    name: ClassVar[str] = "masking-leaks"

    def inspect(self, collection: Collection) -> Iterator[Finding]:
        """One finding per masked view of passages and of queries."""
        passages, queries = collection.passages, collection.queries
        masks = {token for splits in collection.tasks.values() for task in splits.values() for token in task.mask}
        if not (masks or "raw" in passages.texts or "raw" in queries.texts):
            yield Finding.skipped(self.name, "no text is masked", expected="masked texts that name no record")
            return
        records = _Records.of(collection)
        for part, ids, views in (("passages", passages.ids, passages.texts), ("queries", queries.ids, queries.texts)):
            for view in sorted(set(views) - {"raw"}):
                yield self._leaks(f"{self.name}/{part}/{view}", ids.texts, views[view], records)

    def _leaks(self, check: str, ids: Texts, texts: Texts, records: _Records) -> Finding:
        found = [(row, leak) for row, piece in _suspects(texts, records) for leak in records.leaks(piece)]
        return Finding.of(
            check,
            len(found),
            verdict="warning",
            expected="masked texts that name no record",
            found=f"{len(found)} strings in {len({row for row, _ in found})} of {len(texts)} texts resolve to a record",
            offenders=(f"{ids[row]!r}: {leak.text!r} in {leak.around!r}" for row, leak in found),
            advice="mask every printed form of an id, and whole URLs",
        )


@dataclass(frozen=True, eq=False)
class _Records:
    """What resolves to a record: whole ids, numbers that one record bears, numbers with a year, URLs.

    `prefix` is where all URLs of records lie, empty where they share no more than a scheme. `endings` are
    the last numbers of all ids.
    """

    ids: frozenset[str]
    numbers: frozenset[int]
    dated: frozenset[tuple[int, int]]
    urls: frozenset[str]
    prefix: str
    endings: npt.NDArray[np.int64]

    @classmethod
    def of(cls, collection: Collection) -> _Records:
        listed = [*collection.passages.ids, *collection.queries.ids]
        bearers: dict[int, set[str]] = {}
        dated: set[tuple[int, int]] = set()
        for id_ in listed:
            *parts, tail = _DIGIT_RUN.split(id_)
            if parts and len(parts[-1]) <= _DIGITS:
                number = int(parts[-1])
                bearers.setdefault(number, set()).add(id_[: len(id_) - len(tail)])
                dated.update((number, int(year)) for year in parts[1:-2:2] if len(year) == 4 and "19" <= year < "21")
        uin = collection.queries.columns.get("uin")
        for id_, value in zip(collection.queries.ids, uin or (), strict=False):
            if value.isdecimal() and len(value) <= _DIGITS:
                # The record is the one whose id ends in this number, where there is such an id.
                bearers.setdefault(int(value), {id_})
        urls = {_plain_url(url) for column in _url_columns(collection) for url in set(column) if "://" in url}
        prefix = _shared_start(min(urls, default=""), max(urls, default="")).rpartition("/")[0]
        return cls(
            frozenset(fold(id_) for id_ in listed if _DIGIT_RUN.search(id_)),
            frozenset(number for number, stems in bearers.items() if len(stems) == 1),
            frozenset(dated),
            frozenset(urls),
            prefix if "." in prefix else "",
            np.asarray(sorted(bearers), np.int64),
        )

    @cached_property
    def alone(self) -> npt.NDArray[np.int64]:
        """Numbers that one record alone bears, sorted."""
        return np.asarray(sorted(self.numbers), np.int64)

    @cached_property
    def token(self) -> re.Pattern[str]:
        """What may be an id with a digit: by what the ids begin with, where they begin alike."""
        starts = {re.split(r"\d", id_, maxsplit=1)[0] for id_ in self.ids}
        few = len(starts) <= _FEW and "" not in starts
        start = f"(?:{'|'.join(map(re.escape, sorted(starts, key=len, reverse=True)))})" if few else _ANY_START
        return re.compile(rf"(?<![\w-]){start}\d(?:[\w.:/-]*\w)?", re.IGNORECASE)

    def leaks(self, text: str) -> Iterator[Leak]:
        """What gives a record away in one text."""
        text = fold(text, lower=False)
        linked = "://" in text or "www." in text.casefold()
        urls = [found.span() for found in _URL.finditer(text)] if linked else []
        for start, end in urls:
            url = _plain_url(text[start:end])
            if url in self.urls or (self.prefix and f"{url}/".startswith(f"{self.prefix}/")) or self._has_id(url):
                yield Leak(text[start:end], _around(text, start, end))
        for start, end in self._strings(text):
            if not any(a <= start < b for a, b in urls):
                yield Leak(text[start:end], _around(text, start, end))

    def _has_id(self, url: str) -> bool:
        return any(part in self.ids for part in re.split(r"[/?#=&_.]", url))

    def _strings(self, text: str) -> Iterator[tuple[int, int]]:
        """Places of ids and numbers near a cue."""
        whole = [m.span() for m in self.token.finditer(text) if m[0].casefold() in self.ids]
        for start, end in whole:
            if _cued(text, start, end):
                yield start, end
        for found in _NUMBER.finditer(text):
            start, end = found.span()
            number, year = int(found[1]), found[2]
            before = text[max(0, start - 4) : start]
            free = _FREE.search(before) or (year is not None and _LETTER.search(before))
            if not free or any(a <= start < b for a, b in whole):
                continue
            if year is None:
                resolves = number in self.numbers
            else:
                resolves = any((number, int(year) + century) in self.dated for century in (0, 1900, 2000))
            if resolves:
                # What could be a year, or years as in 2021-22, counts right after a cue alone.
                doubtful = 1900 <= number < 2100 and not _LETTER.search(before)
                if _cued(text, start, start if doubtful else end, near=12 if doubtful else NEAR):
                    yield start, end


def fold(text: str, *, lower: bool = True) -> str:
    """A text in Unicode form NFKC with plain dashes, single blanks and no invisible characters.

    Example:
        >>> fold("E\u2011001234\u00a0/\u00a022")
        'e-001234 / 22'
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_FOLDED)
    text = " ".join(text.split())
    return text.casefold() if lower else text


def _cued(text: str, start: int, end: int, *, near: int = NEAR) -> bool:
    window = text[max(0, start - near) : end + (near if end > start else 0)]
    return _CUE.search(window) is not None


def _around(text: str, start: int, end: int) -> str:
    return text[max(0, start - 40) : end + 30]


def _shared_start(first: str, last: str) -> str:
    same = 0
    while same < min(len(first), len(last)) and first[same] == last[same]:
        same += 1
    return first[:same]


def _plain_url(url: str) -> str:
    """A URL without scheme, `www.`, closing punctuation and case, so that spellings compare."""
    return url.strip().casefold().rpartition("://")[2].removeprefix("www.").rstrip("/.,;:)]}")


def _url_columns(collection: Collection) -> Iterable[Texts]:
    for columns in (collection.passages.columns, collection.queries.columns):
        yield from (texts for name, texts in columns.items() if name.endswith("url"))


def _suspects(texts: Texts, records: _Records) -> Iterator[tuple[int, str]]:
    """Rows and the stretches of their texts that must be read: around URLs, and around numbers near a cue."""
    data, offsets = texts.buffer, texts.offsets
    marked = np.flatnonzero(np.frombuffer(data.tobytes().translate(_MARKED), np.uint8))
    byte = _LOWER[data[marked]]

    def places(sequences: Iterable[tuple[bytes, int]]) -> npt.NDArray[np.int64]:
        return np.concatenate([_places(data, marked[byte == s[rare]] - rare, s) for s, rare in sequences])

    links, cues = places(_LINKS), np.sort(places(_CUES))
    digits = marked[(byte >= 0x30) & (byte <= 0x39)]
    numbers = np.concatenate([_numbers(data, offsets, digits=digits, records=records), places(_HIDDEN)])
    near = np.searchsorted(cues, numbers + _REACH, "left") > np.searchsorted(cues, numbers - _REACH, "left")
    at = np.sort(np.concatenate([links, numbers[near]]))
    if not len(at):
        return
    row = np.searchsorted(offsets, at, "right") - 1
    start = np.maximum(at - _REACH, offsets[row])
    end = np.minimum(at + _REACH, offsets[row + 1])
    first = np.flatnonzero(np.concatenate([[True], (start[1:] > end[:-1]) | (row[1:] != row[:-1])]))
    last = np.append(first[1:], len(at)) - 1
    for r, low, high in zip(row[first].tolist(), start[first].tolist(), end[last].tolist(), strict=True):
        piece = texts.buffer[low:high].tobytes().decode("utf-8", "ignore")
        # A number that the border of the stretch cuts is no number.
        piece = piece if low == offsets[r] else piece.lstrip("0123456789")
        yield r, piece if high == offsets[r + 1] else piece.rstrip("0123456789")


def _numbers(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], *, digits: npt.NDArray[np.int64], records: _Records
) -> npt.NDArray[np.int64]:
    """Places of numbers that may lead to a record."""
    if not len(digits):
        return digits
    row = np.searchsorted(offsets, digits, "right")
    first = np.flatnonzero(np.concatenate([[True], (np.diff(digits) > 1) | (np.diff(row) > 0)]))
    length = np.diff(np.append(first, len(digits)))
    start = digits[first]
    value = np.zeros(len(start), np.int64)
    for step in range(int(min(_DIGITS, length.max()))):
        inside = length > step
        value[inside] = value[inside] * 10 + data[start[inside] + step] - 0x30
    # A number that several records bear leads to one only as part of an id, or beside a year.
    dated = np.zeros(len(start), np.bool_)
    dated[:-1] = (start[1:] - (start + length)[:-1] <= 5) & np.isin(length[1:], (2, 4))
    before = _LOWER[data[np.maximum(start - 1, 0)]]
    after = _LOWER[data[np.minimum(start + length, len(data) - 1)]]
    part = ((before >= ord("a")) & (before <= ord("z"))) | np.isin(before, _JOINTS)
    worded = (after >= ord("a")) & (after <= ord("z")) & (start + length < len(data))
    leads = (~worded & np.isin(value, records.alone)) | ((part | dated) & np.isin(value, records.endings))
    return start[leads & (length <= _DIGITS)]


def _places(data: npt.NDArray[np.uint8], at: npt.NDArray[np.int64], sequence: bytes) -> npt.NDArray[np.int64]:
    """Those of the places `at` where a lower-case sequence starts, in any case."""
    at = at[(at >= 0) & (at <= len(data) - len(sequence))]
    for step, byte in enumerate(sequence):
        at = at[_LOWER[data[at + step]] == byte]
    return at
